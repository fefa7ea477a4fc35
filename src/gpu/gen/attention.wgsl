fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
fn k_half_bits_of(v : f32) -> u32 {
  var u : u32 = bitcast<u32>(v);
  var a : u32 = u & 0x7fffffffu;
  var normal : u32 = (a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u;
  var small : u32 = bitcast<u32>(bitcast<f32>(a) + 0.5f) - 0x3f000000u;
  var large : u32 = select(0x7c00u, 0x7e00u, a > 0x7f800000u);
  return ((u >> 16u) & 0x8000u) | select(select(normal, large, a >= 0x47800000u), small, a < 0x38800000u);
}
fn k_half_bits(v : f32) -> u32 {
  if (0u == 1u) { return 0u; }
  return k_half_bits_of(v);
}
fn k_leading_bits(v : f32, T : u32) -> f32 { return bitcast<f32>(bitcast<u32>(v) & select(0xffff0000u, 0xffffe000u, T == 1u)); }
fn k_bf16_bits(v : f32) -> u32 {
  var u : u32 = bitcast<u32>(v);
  if ((u & 0x7fffffffu) > 0x7f800000u) { return (u >> 16u) | 0x40u; }
  return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}
fn k_half_value(h : u32) -> f32 { return unpack2x16float(h & 0xffffu).x; }
fn k_element(word : u32, T : u32, i : u32) -> u32 {
  if (T == 1u) { return bitcast<u32>(k_half_value(word >> ((i & 1u) << 4u))); }
  if (T == 2u) { return (word >> ((i & 1u) << 4u)) << 16u; }
  if (T == 6u) { return u32(i32(word << (16u - ((i & 1u) << 4u))) >> 16u); }
  if (T == 4u) { return u32(i32(word << (24u - ((i & 3u) << 3u))) >> 24u); }
  if (T == 5u || T == 10u) { return (word >> ((i & 3u) << 3u)) & 0xffu; }
  return word;
}
fn k_narrow(v : u32, T : u32) -> u32 {
  if (T == 1u) { return k_half_bits(bitcast<f32>(v)); }
  if (T == 2u) { return k_bf16_bits(bitcast<f32>(v)); }
  if (T == 6u) { return v & 0xffffu; }
  if (T == 4u || T == 5u || T == 10u) { return v & 0xffu; }
  return v;
}
fn k_put(word : u32, T : u32, i : u32, bits : u32) -> u32 {
  var s : u32 = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  if (s == 2u) { return word | (bits << ((i & 3u) << 3u)); }
  if (s == 1u) { return word | (bits << ((i & 1u) << 4u)); }
  return bits;
}
fn k_replace(word : u32, T : u32, i : u32, bits : u32) -> u32 {
  var s : u32 = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  if (s == 2u) { return (word & ~(0xffu << ((i & 3u) << 3u))) | (bits << ((i & 3u) << 3u)); }
  if (s == 1u) { return (word & ~(0xffffu << ((i & 1u) << 4u))) | (bits << ((i & 1u) << 4u)); }
  return bits;
}
fn k_index(T : u32, lo : u32, hi : u32) -> i32 {
  if (T == 9u) {
    if (hi != select(0u, 0xffffffffu, (lo >> 31u) == 1u)) { return i32(0x80000000u); }
  }
  return i32(lo);
}
fn k_narrow_pair(a : f32, b : f32, T : u32) -> u32 {
  if (0u == 1u && T == 1u) { return 0u; }
  return select(k_bf16_bits(a), k_half_bits(a), T == 1u) | (select(k_bf16_bits(b), k_half_bits(b), T == 1u) << 16u);
}
fn k_four(w : vec4<u32>, T : u32, second : u32) -> vec4<f32> {
  var a : u32 = select(w.x, w.z, second == 1u);
  var b : u32 = select(w.y, w.w, second == 1u);
  var r : vec4<f32> = bitcast<vec4<f32>>(w);
  if (T == 1u) { r = vec4<f32>(unpack2x16float(a).x, unpack2x16float(a).y, unpack2x16float(b).x, unpack2x16float(b).y); }
  if (T == 2u) { r = vec4<f32>(bitcast<f32>(a << 16u), bitcast<f32>(a & 0xffff0000u), bitcast<f32>(b << 16u), bitcast<f32>(b & 0xffff0000u)); }
  return r;
}
fn k_softcap(s : f32, c : f32) -> f32 { return c - (c + c) / (exp((s + s) / c) + 1.0f); }
@id(1) override T_Q : u32 = 0u;
@id(2) override T_K : u32 = 0u;
@id(3) override T_V : u32 = 0u;
@id(4) override ROWS_EACH : u32 = 1u;
@id(5) override COLS : u32 = 1u;
@id(6) override DEPTH : u32 = 4u;
@id(7) override V_STEP : u32 = 2u;
@id(8) override PIECE : u32 = 512u;
@id(9) override RED : u32 = 1u;
@id(10) override IN_LANES : u32 = 0u;
@id(11) override CAUSAL : u32 = 0u;
@id(12) override HAS_MASK : u32 = 0u;
@id(13) override HAS_BIAS : u32 = 0u;
@id(14) override HAS_CAP : u32 = 0u;
@id(15) override HAS_LEN : u32 = 0u;
@id(16) override EXTRA : u32 = 0u;
@id(17) override PARTIAL : u32 = 0u;
struct Params { groups : u32,
  n_batch : u32, n_q : u32, n_keys : u32, n_kv : u32, heads_per_kv : u32, d : u32, dv : u32, q_place : u32, q_head : u32, k_place : u32, k_head : u32, v_place : u32, v_head : u32, y_place : u32, y_head : u32, bias_batch : u32, bias_head : u32, bias_q : u32, bias_key : u32, len_step : u32, offset_step : u32, window : u32, splits : u32, row_blocks : u32, stats : u32, hidden : u32, scale : f32, softcap : f32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> q : array<u32>;
@group(0) @binding(1) var<storage, read_write> k : array<u32>;
@group(0) @binding(2) var<storage, read_write> v : array<u32>;
@group(0) @binding(3) var<storage, read_write> mask : array<u32>;
@group(0) @binding(4) var<storage, read_write> bias : array<u32>;
@group(0) @binding(5) var<storage, read_write> len : array<u32>;
@group(0) @binding(6) var<storage, read_write> extra : array<u32>;
@group(0) @binding(7) var<storage, read_write> y : array<u32>;
var<workgroup> piece : array<vec4<f32>, PIECE>;
var<workgroup> weight : array<vec4<f32>, (GROUP / 16u) * ROWS_EACH * 17u>;
var<workgroup> red : array<f32, RED>;
var<workgroup> view : array<i32, 2>;
var<workgroup> q_at : array<u32, ((GROUP / 16u) * ROWS_EACH)>;
@compute @workgroup_size(GROUP) fn attention(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var tx : u32 = k_lid.x & 15u;
  var ty : u32 = k_lid.x >> 4u;
  var split : u32 = (k_wid.y * k_wn.x + k_wid.x) % p.splits;
  var head : u32 = ((k_wid.y * k_wn.x + k_wid.x) / p.splits) % p.n_kv;
  var batch : u32 = ((k_wid.y * k_wn.x + k_wid.x) / (p.splits * p.n_kv)) % p.n_batch;
  var row0 : u32 = (p.row_blocks - 1u - (k_wid.y * k_wn.x + k_wid.x) / (p.splits * p.n_kv * p.n_batch)) * ((GROUP / 16u) * ROWS_EACH);
  var n_rows : u32 = p.n_q * p.heads_per_kv;
  var k_base : u32 = batch * p.n_keys * p.n_kv * p.d + head * p.k_head;
  var v_base : u32 = batch * p.n_keys * p.n_kv * p.dv + head * p.v_head;
  if (k_lid.x == 0u) { var k_n : i32 = i32(p.n_keys); if (HAS_LEN == 1u) { k_n = clamp(i32(len[(batch) * p.len_step]), 0, i32(p.n_keys)); } view[0] = k_n; view[1] = k_n - i32(p.n_q); if (EXTRA == 1u) { view[1] = clamp(i32(extra[(batch) * p.offset_step]), -1073741824, 1073741823); } }
  for (var r : u32 = k_lid.x; r < ((GROUP / 16u) * ROWS_EACH); r += GROUP) {
    var row : u32 = row0 + r;
    var at : u32 = batch * n_rows * p.n_kv * p.d + (row / p.heads_per_kv) * p.q_place +
                   (head * p.heads_per_kv + row % p.heads_per_kv) * p.q_head;
    q_at[r] = select(0xffffffffu, at, row < n_rows);
  }
  workgroupBarrier();
  var n_keys : i32 = workgroupUniformLoad(&view[0]);
  var offset : i32 = workgroupUniformLoad(&view[1]);
  var own_first : i32 = i32(row0 / p.heads_per_kv) + offset;
  var own_last : i32 = i32((min(row0 + ((GROUP / 16u) * ROWS_EACH), n_rows) - 1u) / p.heads_per_kv) + offset;
  var begin : i32 = 0;
  var end : i32 = n_keys;
  if (CAUSAL == 1u) {
    end = clamp(own_last + 1, 0, n_keys);
    if (p.window > 0u) { begin = clamp(own_first - i32(p.window) + 1, 0, end); }
  }
  if (p.splits > 1u) {
    var share : u32 = ((u32(end - begin) + p.splits - 1u) / p.splits + 63u) & ~63u;
    begin = min(begin + i32(split * share), end);
    end = min(begin + i32(share), end);
  }
  var acc : array<vec4<f32>, 16>;
  var most : array<f32, 4>;
  var total : array<f32, 4>;
  var own : array<i32, 4>;
  var bias_at : array<u32, 4>;
  for (var i : u32 = 0u; i < ROWS_EACH * COLS; i += 1u) { acc[i] = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); }
  for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) {
    var row : u32 = row0 + ty * ROWS_EACH + i;
    most[i] = (-3.4028234e38f);
    total[i] = 0.0f;
    own[i] = i32(row / p.heads_per_kv) + offset;
    bias_at[i] = batch * p.bias_batch + (head * p.heads_per_kv + row % p.heads_per_kv) * p.bias_head +
                 (row / p.heads_per_kv) * p.bias_q;
    if (row >= n_rows) { bias_at[i] = 0u; }
  }
  for (var key0 : i32 = begin; key0 < end; key0 += 64) {
    var s : array<f32, 16>;
    for (var i : u32 = 0u; i < 4u * ROWS_EACH; i += 1u) { s[i] = 0.0f; }
    for (var d0 : u32 = 0u; d0 < p.d; d0 += 4u * DEPTH) {
      workgroupBarrier();
      for (var u : u32 = k_lid.x; u < (((GROUP / 16u) * ROWS_EACH)) * ((4u * DEPTH) / 4u); u += GROUP) { var line : u32 = u / ((4u * DEPTH) / 4u); var e : u32 = 4u * (u % ((4u * DEPTH) / 4u)); var four : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if (d0 + e < p.d && q_at[line] != 0xffffffffu) { four.x = bitcast<f32>(k_element(q[(q_at[line] + d0 + e) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, q_at[line] + d0 + e)); if (e + 1u < (p.d - d0)) { four.y = bitcast<f32>(k_element(q[((q_at[line] + d0 + e) + 1u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (q_at[line] + d0 + e) + 1u)); } if (e + 2u < (p.d - d0)) { four.z = bitcast<f32>(k_element(q[((q_at[line] + d0 + e) + 2u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (q_at[line] + d0 + e) + 2u)); } if (e + 3u < (p.d - d0)) { four.w = bitcast<f32>(k_element(q[((q_at[line] + d0 + e) + 3u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (q_at[line] + d0 + e) + 3u)); } } piece[line * (DEPTH + 1u) + e / 4u] = four; }
      for (var u : u32 = k_lid.x; u < (64u) * ((4u * DEPTH) / 4u); u += GROUP) { var line : u32 = u / ((4u * DEPTH) / 4u); var e : u32 = 4u * (u % ((4u * DEPTH) / 4u)); var four : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if (d0 + e < p.d && key0 + i32(line) < end) { four.x = bitcast<f32>(k_element(k[(k_base + (u32(key0) + line) * p.k_place + d0 + e) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, k_base + (u32(key0) + line) * p.k_place + d0 + e)); if (e + 1u < (p.d - d0)) { four.y = bitcast<f32>(k_element(k[((k_base + (u32(key0) + line) * p.k_place + d0 + e) + 1u) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, (k_base + (u32(key0) + line) * p.k_place + d0 + e) + 1u)); } if (e + 2u < (p.d - d0)) { four.z = bitcast<f32>(k_element(k[((k_base + (u32(key0) + line) * p.k_place + d0 + e) + 2u) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, (k_base + (u32(key0) + line) * p.k_place + d0 + e) + 2u)); } if (e + 3u < (p.d - d0)) { four.w = bitcast<f32>(k_element(k[((k_base + (u32(key0) + line) * p.k_place + d0 + e) + 3u) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, (k_base + (u32(key0) + line) * p.k_place + d0 + e) + 3u)); } } piece[(((GROUP / 16u) * ROWS_EACH) + line) * (DEPTH + 1u) + e / 4u] = four; }
      workgroupBarrier();
      for (var t : u32 = 0u; t < DEPTH; t += 1u) {
        var b : array<vec4<f32>, 4>;
        for (var c : u32 = 0u; c < 4u; c += 1u) { b[c] = piece[(((GROUP / 16u) * ROWS_EACH) + tx + 16u * c) * (DEPTH + 1u) + t]; }
        for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) {
          var a : vec4<f32> = piece[(ty * ROWS_EACH + i) * (DEPTH + 1u) + t];
          for (var c : u32 = 0u; c < 4u; c += 1u) { s[i * 4u + c] = fma(a.x, b[c].x, s[i * 4u + c]); s[i * 4u + c] = fma(a.y, b[c].y, s[i * 4u + c]); s[i * 4u + c] = fma(a.z, b[c].z, s[i * 4u + c]); s[i * 4u + c] = fma(a.w, b[c].w, s[i * 4u + c]); }
        }
      }
    }
    var whole : bool = key0 + 64 <= end && HAS_MASK == 0u;
    if (CAUSAL == 1u) { whole = whole && ((key0 + 63) <= (own_first) && (p.window == 0u || (key0 + 63) + i32(p.window) > (own_first))) && ((key0) <= (own_last) && (p.window == 0u || (key0) + i32(p.window) > (own_last))); }
    for (var c : u32 = 0u; c < 4u; c += 1u) {
      var j : i32 = key0 + i32(tx + 16u * c);
      var is_key : bool = j < end;
      if (HAS_MASK == 1u) {
        if (is_key) { is_key = k_element(mask[(batch * p.n_keys + u32(j)) >> ((2103828u >> (((10u) & 15u) * 2u)) & 3u)], 10u, batch * p.n_keys + u32(j)) != 0u; }
      }
      for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) {
        s[i * 4u + c] = s[i * 4u + c] * p.scale; if (HAS_CAP == 1u) { s[i * 4u + c] = k_softcap(s[i * 4u + c], p.softcap); } if (HAS_BIAS == 1u) { s[i * 4u + c] = s[i * 4u + c] + bitcast<f32>(k_element(bias[(select(0u, bias_at[i] + u32(j) * p.bias_key, is_key)) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, select(0u, bias_at[i] + u32(j) * p.bias_key, is_key))); }
        if (!whole) {
          var seen : bool = is_key;
          if (CAUSAL == 1u) { seen = seen && ((j) <= (own[i]) && (p.window == 0u || (j) + i32(p.window) > (own[i]))); }
          if (!seen) { s[i * 4u + c] = bitcast<f32>(p.hidden); }
        }
      }
    }
    var top : array<f32, 4>;
    for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) {
      top[i] = max(max(s[i * 4u], s[i * 4u + 1u]), max(s[i * 4u + 2u], s[i * 4u + 3u]));
    }
    if (IN_LANES == 1u) { for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { } } else { for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { red[(ty * ROWS_EACH + i) * 16u + tx] = top[i]; } workgroupBarrier(); for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { top[i] = red[(ty * ROWS_EACH + i) * 16u]; for (var k_i : u32 = 1u; k_i < 16u; k_i += 1u) { top[i] = max(top[i], red[(ty * ROWS_EACH + i) * 16u + k_i]); } } }
    for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) {
      var now : f32 = max(most[i], top[i]);
      var shrink : f32 = exp(most[i] - now);
      var w : vec4<f32> = vec4<f32>(exp(s[i * 4u] - now), exp(s[i * 4u + 1u] - now), exp(s[i * 4u + 2u] - now), exp(s[i * 4u + 3u] - now));
      most[i] = now;
      total[i] = fma(total[i], shrink, (w.x + w.y) + (w.z + w.w));
      for (var n : u32 = 0u; n < COLS; n += 1u) { acc[i * COLS + n].x = acc[i * COLS + n].x * (shrink); acc[i * COLS + n].y = acc[i * COLS + n].y * (shrink); acc[i * COLS + n].z = acc[i * COLS + n].z * (shrink); acc[i * COLS + n].w = acc[i * COLS + n].w * (shrink); }
      weight[(ty * ROWS_EACH + i) * 17u + tx] = w;
    }
    for (var j0 : u32 = 0u; j0 < 16u; j0 += V_STEP) {
      workgroupBarrier();
      for (var u : u32 = k_lid.x; u < (4u * V_STEP) * ((64u * COLS) / 4u); u += GROUP) { var line : u32 = u / ((64u * COLS) / 4u); var e : u32 = 4u * (u % ((64u * COLS) / 4u)); var four : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if (e < p.dv && key0 + i32(j0 + line / 4u + 16u * (line & 3u)) < end) { four.x = bitcast<f32>(k_element(v[(v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e)); if (e + 1u < (p.dv)) { four.y = bitcast<f32>(k_element(v[((v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 1u) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, (v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 1u)); } if (e + 2u < (p.dv)) { four.z = bitcast<f32>(k_element(v[((v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 2u) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, (v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 2u)); } if (e + 3u < (p.dv)) { four.w = bitcast<f32>(k_element(v[((v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 3u) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, (v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 3u)); } } piece[line * (16u * COLS) + e / 4u] = four; }
      workgroupBarrier();
      if (whole && HAS_BIAS == 0u) {
        for (var jj : u32 = 0u; jj < V_STEP; jj += 1u) { var w : array<vec4<f32>, 4>; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { w[i] = weight[(ty * ROWS_EACH + i) * 17u + j0 + jj]; } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 0u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || bitcast<u32>(w[i].x) != 0u) { acc[i * COLS + n].x = fma(w[i].x, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].x, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].x, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].x, val.w, acc[i * COLS + n].w); } } } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 1u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || bitcast<u32>(w[i].y) != 0u) { acc[i * COLS + n].x = fma(w[i].y, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].y, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].y, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].y, val.w, acc[i * COLS + n].w); } } } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 2u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || bitcast<u32>(w[i].z) != 0u) { acc[i * COLS + n].x = fma(w[i].z, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].z, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].z, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].z, val.w, acc[i * COLS + n].w); } } } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 3u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || bitcast<u32>(w[i].w) != 0u) { acc[i * COLS + n].x = fma(w[i].w, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].w, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].w, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].w, val.w, acc[i * COLS + n].w); } } } }
      } else {
        for (var jj : u32 = 0u; jj < V_STEP; jj += 1u) { var w : array<vec4<f32>, 4>; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { w[i] = weight[(ty * ROWS_EACH + i) * 17u + j0 + jj]; } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 0u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || bitcast<u32>(w[i].x) != 0u) { acc[i * COLS + n].x = fma(w[i].x, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].x, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].x, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].x, val.w, acc[i * COLS + n].w); } } } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 1u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || bitcast<u32>(w[i].y) != 0u) { acc[i * COLS + n].x = fma(w[i].y, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].y, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].y, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].y, val.w, acc[i * COLS + n].w); } } } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 2u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || bitcast<u32>(w[i].z) != 0u) { acc[i * COLS + n].x = fma(w[i].z, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].z, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].z, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].z, val.w, acc[i * COLS + n].w); } } } for (var n : u32 = 0u; n < COLS; n += 1u) { var val : vec4<f32> = piece[(jj * 4u + 3u) * (16u * COLS) + n * 16u + tx]; for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || bitcast<u32>(w[i].w) != 0u) { acc[i * COLS + n].x = fma(w[i].w, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].w, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].w, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].w, val.w, acc[i * COLS + n].w); } } } }
      }
    }
  }
  workgroupBarrier();
  if (IN_LANES == 1u) { for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { } } else { for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { red[(ty * ROWS_EACH + i) * 16u + tx] = total[i]; } workgroupBarrier(); for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) { total[i] = red[(ty * ROWS_EACH + i) * 16u]; for (var k_i : u32 = 1u; k_i < 16u; k_i += 1u) { total[i] = ((total[i]) + (red[(ty * ROWS_EACH + i) * 16u + k_i])); } } }
  for (var i : u32 = 0u; i < ROWS_EACH; i += 1u) {
    var row : u32 = row0 + ty * ROWS_EACH + i;
    if (row < n_rows) {
      var h : u32 = head * p.heads_per_kv + row % p.heads_per_kv;
      var to : u32 = batch * n_rows * p.n_kv + (row / p.heads_per_kv) * p.y_place + h * p.y_head;
      var factor : f32 = 1.0f;
      if (PARTIAL == 1u) {
        to = to + split * (p.n_batch * n_rows * p.n_kv);
        if (tx == 0u) {
          y[p.stats + 2u * to] = bitcast<u32>(most[i]);
          y[p.stats + 2u * to + 1u] = bitcast<u32>(total[i]);
        }
      } else {
        var sum : f32 = total[i];
        if (EXTRA == 2u) {
          var sink : f32 = bitcast<f32>(k_element(extra[(h) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, h));
          var now : f32 = max(most[i], sink);
          factor = exp(most[i] - now);
          sum = fma(sum, factor, exp(sink - now));
        }
        factor = select(factor / sum, 0.0f, sum == 0.0f);
      }
      for (var n : u32 = 0u; n < COLS; n += 1u) {
        var col : u32 = (n * 16u + tx) * 4u;
        var r : vec4<f32> = acc[i * COLS + n];
        r.x = r.x * (factor); r.y = r.y * (factor); r.z = r.z * (factor); r.w = r.w * (factor);
        if (PARTIAL == 1u || T_Q == 0u) {
          if (col < p.dv) { y[to * p.dv + col] = bitcast<u32>(r.x); }
          if (col + 1u < p.dv) { y[to * p.dv + col + 1u] = bitcast<u32>(r.y); }
          if (col + 2u < p.dv) { y[to * p.dv + col + 2u] = bitcast<u32>(r.z); }
          if (col + 3u < p.dv) { y[to * p.dv + col + 3u] = bitcast<u32>(r.w); }
        } else {
          if (col < p.dv) { y[(to * p.dv + col) / 2u] = k_narrow_pair(r.x, r.y, T_Q); }
          if (col + 2u < p.dv) { y[(to * p.dv + col) / 2u + 1u] = k_narrow_pair(r.z, r.w, T_Q); }
        }
      }
    }
  }
}
