fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
@id(1) override IN_MODE : u32 = 0u;
@id(2) override OUT_MODE : u32 = 0u;
@id(3) override INVERSE : u32 = 0u;
@id(4) override BLUE : u32 = 0u;
struct Params { groups : u32,
  rows : u32,
  log_r : u32,
  log_t : u32,
  log_l : u32,
  rows_in : u32,
  rows_out : u32,
  inner : u32,
  n : u32,
  zn : u32,
  n_in : u32,
  n_out : u32,
  scale : f32,
  roots_at : u32,
  low_at : u32,
  low_log : u32,
  high_at : u32,
  turn_at : u32,
  chirp_at : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
@group(0) @binding(2) var<storage, read_write> tw : array<u32>;
@group(0) @binding(3) var<storage, read_write> chirped : array<u32>;
var<workgroup> s_re : array<f32, (GROUP * 8u + GROUP / 4u)>;
var<workgroup> s_im : array<f32, (GROUP * 8u + GROUP / 4u)>;
@compute @workgroup_size(GROUP) fn fft(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var size : u32 = 1u << p.log_r;
  var log_rows : u32 = 0u;
  for (var k : u32 = size; k < 8u * GROUP; k = k << 1u) { log_rows += 1u; }
  var first_row : u32 = (k_wid.y * k_wn.x + k_wid.x) << log_rows;
  for (var e : u32 = k_lid.x; e < 8u * GROUP; e += GROUP) {
    var b : u32 = select(e >> p.log_r, e & ((1u << log_rows) - 1u), p.rows_in == 1u);
    var q : u32 = select(e & (size - 1u), e >> log_rows, p.rows_in == 1u);
    var row : u32 = first_row + b;
    var re : f32 = 0.0f;
    var im : f32 = 0.0f;
    if (row < p.rows) {
      var i : u32 = row % p.inner;
      var t : u32 = row / p.inner & ((1u << p.log_t) - 1u);
      var o : u32 = row / p.inner >> p.log_t;
      var k : u32 = (q << p.log_t) + t;
      if (IN_MODE == 5u || IN_MODE == 6u) {
        var at : u32 = ((o * p.inner + i) << (p.log_t + p.log_r)) + k;
        re = bitcast<f32>(x[2u * at]);
        im = bitcast<f32>(x[2u * at + 1u]);
        if (IN_MODE == 6u) {
          { var k_c : f32 = bitcast<f32>(chirped[2u * k]); var k_s : f32 = bitcast<f32>(chirped[2u * k + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
          { var k_r : f32 = re; re = im; im = k_r; }
        }
      } else if (IN_MODE == 7u) {
        var c : u32 = min(k, (1u << (p.log_t + p.log_r)) - k);
        if (c < p.zn) {
          re = bitcast<f32>(tw[(p.chirp_at) + 2u * (c)]);
          im = -bitcast<f32>(tw[(p.chirp_at) + 2u * (c) + 1u]);
        }
      } else if (k < p.zn) {
        if (IN_MODE == 2u) { var even : f32 = 0.0f; var even_im : f32 = 0.0f; if ((2u * (k)) < p.n_in) { var k_at : u32 = ((o) * p.n_in + (2u * (k))) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { even = bitcast<f32>(x[k_at]); } else { even = bitcast<f32>(x[2u * k_at]); even_im = bitcast<f32>(x[2u * k_at + 1u]); } } var odd : f32 = 0.0f; var odd_im : f32 = 0.0f; if ((2u * (k) + 1u) < p.n_in) { var k_at : u32 = ((o) * p.n_in + (2u * (k) + 1u)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { odd = bitcast<f32>(x[k_at]); } else { odd = bitcast<f32>(x[2u * k_at]); odd_im = bitcast<f32>(x[2u * k_at + 1u]); } } re = even; im = odd; } else if (IN_MODE == 3u) { var from_k : u32 = select(k, p.n - (k), 2u * (k) > p.n); var a_re : f32 = 0.0f; var a_im : f32 = 0.0f; if ((from_k) < p.n_in) { var k_at : u32 = ((o) * p.n_in + (from_k)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { a_re = bitcast<f32>(x[k_at]); } else { a_re = bitcast<f32>(x[2u * k_at]); a_im = bitcast<f32>(x[2u * k_at + 1u]); } } if ((from_k) == 0u || 2u * (from_k) == p.n) { a_im = 0.0f; } re = a_re; im = select(a_im, -a_im, 2u * (k) > p.n); } else if (IN_MODE == 4u) { var a_re : f32 = 0.0f; var a_im : f32 = 0.0f; if ((k) < p.n_in) { var k_at : u32 = ((o) * p.n_in + (k)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { a_re = bitcast<f32>(x[k_at]); } else { a_re = bitcast<f32>(x[2u * k_at]); a_im = bitcast<f32>(x[2u * k_at + 1u]); } } if ((k) == 0u || 2u * (k) == p.n) { a_im = 0.0f; } var b_re : f32 = 0.0f; var b_im : f32 = 0.0f; if ((p.zn - (k)) < p.n_in) { var k_at : u32 = ((o) * p.n_in + (p.zn - (k))) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { b_re = bitcast<f32>(x[k_at]); } else { b_re = bitcast<f32>(x[2u * k_at]); b_im = bitcast<f32>(x[2u * k_at + 1u]); } } if ((p.zn - (k)) == 0u || 2u * (p.zn - (k)) == p.n) { b_im = 0.0f; } var odd_re : f32 = a_re - b_re; var odd_im : f32 = a_im + b_im; { var k_c : f32 = bitcast<f32>(tw[(p.turn_at) + 2u * (k)]); var k_s : f32 = -bitcast<f32>(tw[(p.turn_at) + 2u * (k) + 1u]); var k_r : f32 = odd_re * k_c - odd_im * k_s; odd_im = odd_re * k_s + odd_im * k_c; odd_re = k_r; } re = a_re + b_re - odd_im; im = a_im - b_im + odd_re; } else { var a_re : f32 = 0.0f; var a_im : f32 = 0.0f; if ((k) < p.n_in) { var k_at : u32 = ((o) * p.n_in + (k)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { a_re = bitcast<f32>(x[k_at]); } else { a_re = bitcast<f32>(x[2u * k_at]); a_im = bitcast<f32>(x[2u * k_at + 1u]); } } re = a_re; im = a_im; } if (INVERSE == 1u) { { var k_r : f32 = re; re = im; im = k_r; } }
        if (BLUE > 0u) { { var k_c : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (k)]); var k_s : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (k) + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; } }
      }
      if (p.log_l > 0u) {
        var turns : u32 = q * (t & ((1u << p.log_l) - 1u));
        var low : u32 = turns & ((1u << p.low_log) - 1u);
        var high : u32 = turns >> p.low_log;
        { var k_c : f32 = bitcast<f32>(tw[(p.low_at) + 2u * (low)]); var k_s : f32 = bitcast<f32>(tw[(p.low_at) + 2u * (low) + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
        { var k_c : f32 = bitcast<f32>(tw[(p.high_at) + 2u * (high)]); var k_s : f32 = bitcast<f32>(tw[(p.high_at) + 2u * (high) + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
      }
    }
    s_re[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))] = re;
    s_im[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))] = im;
  }
  workgroupBarrier();
  for (var round : u32 = 0u; round < select(1u, 2u, BLUE == 2u); round += 1u) {
    if (BLUE == 2u && round == 1u) {
      for (var e : u32 = k_lid.x; e < 8u * GROUP; e += GROUP) {
        var k : u32 = e & (size - 1u);
        var re : f32 = s_re[((e) + ((e) >> 5u))];
        var im : f32 = s_im[((e) + ((e) >> 5u))];
        { var k_c : f32 = bitcast<f32>(chirped[2u * k]); var k_s : f32 = bitcast<f32>(chirped[2u * k + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
        s_re[((e) + ((e) >> 5u))] = im;
        s_im[((e) + ((e) >> 5u))] = re;
      }
      workgroupBarrier();
    }
    var bits : u32 = 0u;
    for (var log_l : u32 = 0u; log_l < p.log_r; log_l += bits) {
      bits = min(3u, p.log_r - log_l);
      var log_m : u32 = p.log_r - bits;
      var re : array<f32, 8>;
      var im : array<f32, 8>;
      for (var e : u32 = 0u; e < 8u; e += 1u) {
        var q : u32 = e & ((1u << bits) - 1u);
        var g : u32 = k_lid.x + (e >> bits) * GROUP;
        var t : u32 = g & ((1u << log_m) - 1u);
        var at : u32 = (((g >> log_m << p.log_r) + (q << log_m) + t) + (((g >> log_m << p.log_r) + (q << log_m) + t) >> 5u));
        var turns : u32 = q * (t & ((1u << log_l) - 1u)) << (log_m - log_l);
        re[e] = s_re[at];
        im[e] = s_im[at];
        if (log_l > 0u && q > 0u) { { var k_c : f32 = bitcast<f32>(tw[(p.roots_at) + 2u * (turns)]); var k_s : f32 = bitcast<f32>(tw[(p.roots_at) + 2u * (turns) + 1u]); var k_r : f32 = re[e] * k_c - im[e] * k_s; im[e] = re[e] * k_s + im[e] * k_c; re[e] = k_r; } }
      }
      if (bits == 3u) {
        { var k_r : f32 = re[0] - re[4]; var k_i : f32 = im[0] - im[4]; re[0] = re[0] + re[4]; im[0] = im[0] + im[4]; re[4] = k_r; im[4] = k_i; } { var k_r : f32 = re[1] - re[5]; var k_i : f32 = im[1] - im[5]; re[1] = re[1] + re[5]; im[1] = im[1] + im[5]; re[5] = k_r; im[5] = k_i; } { var k_r : f32 = re[2] - re[6]; var k_i : f32 = im[2] - im[6]; re[2] = re[2] + re[6]; im[2] = im[2] + im[6]; re[6] = k_r; im[6] = k_i; } { var k_r : f32 = re[3] - re[7]; var k_i : f32 = im[3] - im[7]; re[3] = re[3] + re[7]; im[3] = im[3] + im[7]; re[7] = k_r; im[7] = k_i; }
        { var k_r : f32 = re[5]; re[5] = 0.70710678f * (k_r + im[5]); im[5] = 0.70710678f * (im[5] - k_r); } { var k_r : f32 = re[6]; re[6] = im[6]; im[6] = -k_r; } { var k_r : f32 = re[7]; re[7] = 0.70710678f * (im[7] - k_r); im[7] = -0.70710678f * (k_r + im[7]); }
        { var k_r : f32 = re[0] - re[2]; var k_i : f32 = im[0] - im[2]; re[0] = re[0] + re[2]; im[0] = im[0] + im[2]; re[2] = k_r; im[2] = k_i; } { var k_r : f32 = re[1] - re[3]; var k_i : f32 = im[1] - im[3]; re[1] = re[1] + re[3]; im[1] = im[1] + im[3]; re[3] = k_r; im[3] = k_i; } { var k_r : f32 = re[4] - re[6]; var k_i : f32 = im[4] - im[6]; re[4] = re[4] + re[6]; im[4] = im[4] + im[6]; re[6] = k_r; im[6] = k_i; } { var k_r : f32 = re[5] - re[7]; var k_i : f32 = im[5] - im[7]; re[5] = re[5] + re[7]; im[5] = im[5] + im[7]; re[7] = k_r; im[7] = k_i; }
        { var k_r : f32 = re[3]; re[3] = im[3]; im[3] = -k_r; } { var k_r : f32 = re[7]; re[7] = im[7]; im[7] = -k_r; }
        { var k_r : f32 = re[0] - re[1]; var k_i : f32 = im[0] - im[1]; re[0] = re[0] + re[1]; im[0] = im[0] + im[1]; re[1] = k_r; im[1] = k_i; } { var k_r : f32 = re[2] - re[3]; var k_i : f32 = im[2] - im[3]; re[2] = re[2] + re[3]; im[2] = im[2] + im[3]; re[3] = k_r; im[3] = k_i; } { var k_r : f32 = re[4] - re[5]; var k_i : f32 = im[4] - im[5]; re[4] = re[4] + re[5]; im[4] = im[4] + im[5]; re[5] = k_r; im[5] = k_i; } { var k_r : f32 = re[6] - re[7]; var k_i : f32 = im[6] - im[7]; re[6] = re[6] + re[7]; im[6] = im[6] + im[7]; re[7] = k_r; im[7] = k_i; }
      } else if (bits == 2u) {
        { var k_r : f32 = re[0] - re[2]; var k_i : f32 = im[0] - im[2]; re[0] = re[0] + re[2]; im[0] = im[0] + im[2]; re[2] = k_r; im[2] = k_i; } { var k_r : f32 = re[1] - re[3]; var k_i : f32 = im[1] - im[3]; re[1] = re[1] + re[3]; im[1] = im[1] + im[3]; re[3] = k_r; im[3] = k_i; } { var k_r : f32 = re[4] - re[6]; var k_i : f32 = im[4] - im[6]; re[4] = re[4] + re[6]; im[4] = im[4] + im[6]; re[6] = k_r; im[6] = k_i; } { var k_r : f32 = re[5] - re[7]; var k_i : f32 = im[5] - im[7]; re[5] = re[5] + re[7]; im[5] = im[5] + im[7]; re[7] = k_r; im[7] = k_i; }
        { var k_r : f32 = re[3]; re[3] = im[3]; im[3] = -k_r; } { var k_r : f32 = re[7]; re[7] = im[7]; im[7] = -k_r; }
        { var k_r : f32 = re[0] - re[1]; var k_i : f32 = im[0] - im[1]; re[0] = re[0] + re[1]; im[0] = im[0] + im[1]; re[1] = k_r; im[1] = k_i; } { var k_r : f32 = re[2] - re[3]; var k_i : f32 = im[2] - im[3]; re[2] = re[2] + re[3]; im[2] = im[2] + im[3]; re[3] = k_r; im[3] = k_i; } { var k_r : f32 = re[4] - re[5]; var k_i : f32 = im[4] - im[5]; re[4] = re[4] + re[5]; im[4] = im[4] + im[5]; re[5] = k_r; im[5] = k_i; } { var k_r : f32 = re[6] - re[7]; var k_i : f32 = im[6] - im[7]; re[6] = re[6] + re[7]; im[6] = im[6] + im[7]; re[7] = k_r; im[7] = k_i; }
      } else {
        { var k_r : f32 = re[0] - re[1]; var k_i : f32 = im[0] - im[1]; re[0] = re[0] + re[1]; im[0] = im[0] + im[1]; re[1] = k_r; im[1] = k_i; } { var k_r : f32 = re[2] - re[3]; var k_i : f32 = im[2] - im[3]; re[2] = re[2] + re[3]; im[2] = im[2] + im[3]; re[3] = k_r; im[3] = k_i; } { var k_r : f32 = re[4] - re[5]; var k_i : f32 = im[4] - im[5]; re[4] = re[4] + re[5]; im[4] = im[4] + im[5]; re[5] = k_r; im[5] = k_i; } { var k_r : f32 = re[6] - re[7]; var k_i : f32 = im[6] - im[7]; re[6] = re[6] + re[7]; im[6] = im[6] + im[7]; re[7] = k_r; im[7] = k_i; }
      }
      workgroupBarrier();
      for (var e : u32 = 0u; e < 8u; e += 1u) {
        var k : u32 = e & 1u;
        if (bits == 2u) { k = ((e & 1u) << 1u) | ((e >> 1u) & 1u); }
        if (bits == 3u) { k = ((e & 1u) << 2u) | (e & 2u) | (e >> 2u); }
        var g : u32 = k_lid.x + (e >> bits) * GROUP;
        var t : u32 = g & ((1u << log_m) - 1u);
        var j : u32 = t & ((1u << log_l) - 1u);
        var at : u32 = (((g >> log_m << p.log_r) + ((((t >> log_l) << bits) + k) << log_l) + j) + (((g >> log_m << p.log_r) + ((((t >> log_l) << bits) + k) << log_l) + j) >> 5u));
        s_re[at] = re[e];
        s_im[at] = im[e];
      }
      workgroupBarrier();
    }
  }
  if (BLUE == 2u) {
    for (var e : u32 = k_lid.x; e < 8u * GROUP; e += GROUP) {
      var k : u32 = e & (size - 1u);
      if (k < p.zn) {
        var re : f32 = s_im[((e) + ((e) >> 5u))];
        var im : f32 = s_re[((e) + ((e) >> 5u))];
        { var k_c : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (k)]); var k_s : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (k) + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
        s_re[((e) + ((e) >> 5u))] = re;
        s_im[((e) + ((e) >> 5u))] = im;
      }
    }
    workgroupBarrier();
  }
  for (var e : u32 = k_lid.x; e < 8u * GROUP; e += GROUP) {
    var b : u32 = select(e >> p.log_r, e & ((1u << log_rows) - 1u), p.rows_out == 1u);
    var q : u32 = select(e & (size - 1u), e >> log_rows, p.rows_out == 1u);
    var row : u32 = first_row + b;
    if (row < p.rows) {
      var i : u32 = row % p.inner;
      var t : u32 = row / p.inner & ((1u << p.log_t) - 1u);
      var o : u32 = row / p.inner >> p.log_t;
      var j : u32 = t & ((1u << p.log_l) - 1u);
      var k : u32 = ((((t >> p.log_l) << p.log_r) + q) << p.log_l) + j;
      var re : f32 = s_re[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))];
      var im : f32 = s_im[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))];
      if (OUT_MODE == 5u) {
        var at : u32 = ((o * p.inner + i) << (p.log_t + p.log_r)) + k;
        y[2u * at] = bitcast<u32>(re);
        y[2u * at + 1u] = bitcast<u32>(im);
      } else if (k < p.zn) {
        var mirror : u32 = select(p.zn - k, 0u, k == 0u);
        var b_re : f32 = s_re[(((b << p.log_r) + (mirror & (size - 1u))) + (((b << p.log_r) + (mirror & (size - 1u))) >> 5u))];
        var b_im : f32 = s_im[(((b << p.log_r) + (mirror & (size - 1u))) + (((b << p.log_r) + (mirror & (size - 1u))) >> 5u))];
        if (INVERSE == 1u) { { var k_r : f32 = re; re = im; im = k_r; } } if (OUT_MODE == 0u) { if ((k) < p.n_out) { { var k_at : u32 = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = bitcast<u32>((re) * p.scale); y[2u * k_at + 1u] = bitcast<u32>((im) * p.scale); } } } else if (OUT_MODE == 1u) { y[((o) * p.n_out + (k)) * p.inner + (i)] = bitcast<u32>(re * p.scale); } else if (OUT_MODE == 2u) { var k_pair : u32 = ((o) * p.n_out + 2u * (k)) * p.inner + (i); y[k_pair] = bitcast<u32>(re * p.scale); y[k_pair + p.inner] = bitcast<u32>(im * p.scale); } else { var odd_re : f32 = 0.5f * (im + b_im); var odd_im : f32 = -0.5f * (re - b_re); var even_re : f32 = 0.5f * (re + b_re); var even_im : f32 = 0.5f * (im - b_im); if ((k) == 0u) { { var k_at : u32 = ((o) * p.n_out + (p.zn)) * p.inner + (i); y[2u * k_at] = bitcast<u32>((even_re - odd_re) * p.scale); y[2u * k_at + 1u] = bitcast<u32>((even_im - odd_im) * p.scale); } } { var k_c : f32 = bitcast<f32>(tw[(p.turn_at) + 2u * (k)]); var k_s : f32 = bitcast<f32>(tw[(p.turn_at) + 2u * (k) + 1u]); var k_r : f32 = odd_re * k_c - odd_im * k_s; odd_im = odd_re * k_s + odd_im * k_c; odd_re = k_r; } { var k_at : u32 = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = bitcast<u32>((even_re + odd_re) * p.scale); y[2u * k_at + 1u] = bitcast<u32>((even_im + odd_im) * p.scale); } }
      }
    }
  }
}
