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
fn k_low4(w : vec4<u32>, T : u32) -> vec4<f32> {
  if (T == 1u) { return vec4<f32>(unpack2x16float(w.x).x, unpack2x16float(w.x).y, unpack2x16float(w.y).x, unpack2x16float(w.y).y); }
  if (T == 2u) {
    return vec4<f32>(bitcast<f32>(w.x << 16u), bitcast<f32>(w.x & 0xffff0000u), bitcast<f32>(w.y << 16u), bitcast<f32>(w.y & 0xffff0000u));
  }
  return bitcast<vec4<f32>>(w);
}
fn k_high4(w : vec4<u32>, T : u32) -> vec4<f32> {
  if (T == 1u) { return vec4<f32>(unpack2x16float(w.z).x, unpack2x16float(w.z).y, unpack2x16float(w.w).x, unpack2x16float(w.w).y); }
  return vec4<f32>(bitcast<f32>(w.z << 16u), bitcast<f32>(w.z & 0xffff0000u), bitcast<f32>(w.w << 16u), bitcast<f32>(w.w & 0xffff0000u));
}
fn k_pair(a : f32, b : f32, T : u32) -> u32 {
  if (0u == 1u && T == 1u) { return 0u; }
  return k_narrow(bitcast<u32>(a), T) | (k_narrow(bitcast<u32>(b), T) << 16u);
}
fn k_words4(low : vec4<f32>, high : vec4<f32>, T : u32) -> vec4<u32> {
  if (T == 0u) { return bitcast<vec4<u32>>(low); }
  return vec4<u32>(k_pair(low.x, low.y, T), k_pair(low.z, low.w, T), k_pair(high.x, high.y, T), k_pair(high.z, high.w, T));
}
fn k_sum4(a : vec4<f32>) -> f32 { return (a.x + a.y) + (a.z + a.w); }
fn k_max4(a : vec4<f32>) -> f32 { return max(max(a.x, a.y), max(a.z, a.w)); }
fn k_add4(a : vec4<f32>, b : vec4<f32>) -> vec4<f32> { return vec4<f32>(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
fn k_less4(a : vec4<f32>, b : f32) -> vec4<f32> { return vec4<f32>(a.x - b, a.y - b, a.z - b, a.w - b); }
fn k_times4(a : vec4<f32>, b : f32) -> vec4<f32> { return vec4<f32>(a.x * b, a.y * b, a.z * b, a.w * b); }
fn k_mul4(a : vec4<f32>, b : vec4<f32>) -> vec4<f32> { return vec4<f32>(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
@id(1) override T : u32 = 0u;
@id(2) override LANES : u32 = 32u;
@id(3) override VECS : u32 = 1u;
@id(4) override STAGE : u32 = 0u;
@id(5) override CENTRE : u32 = 1u;
@id(6) override HAS_RESIDUAL : u32 = 0u;
@id(7) override HAS_GAMMA : u32 = 0u;
@id(8) override HAS_BETA : u32 = 0u;
@id(9) override BY_CHANNEL : u32 = 0u;
@id(10) override EVEN : u32 = 0u;
struct Params { groups : u32,
  rows : u32,
  n : u32,
  chunks : u32,
  chunk : u32,
  eps : f32,
  fine : f32,
  coarse : f32,
  sets : u32,
  channels : u32,
  run : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> residual : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> gamma4 : array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> beta4 : array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> y : array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> stats : array<u32>;
@group(0) @binding(6) var<storage, read_write> gamma : array<u32>;
@group(0) @binding(7) var<storage, read_write> beta : array<u32>;
var<workgroup> red : array<f32, 3u * GROUP>;
@compute @workgroup_size(GROUP) fn normalize4(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var lane : u32 = select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u);
  var line : u32 = (k_wid.y * k_wn.x + k_wid.x) * (GROUP / LANES) + select(k_lid.x / LANES, k_lid.x % (GROUP / LANES), 0u == 1u);
  var row : u32 = line / p.chunks;
  var is_row : bool = row < p.rows;
  var first : u32 = (line - row * p.chunks) * p.chunk;
  var count : u32 = select(0u, min(p.chunk, p.n - first), is_row);
  var base : u32 = row * p.n + first + lane;
  var origin : f32 = 0.0f;
  if (((HAS_RESIDUAL == 1u && CENTRE == 1u) || false) && is_row) {
    var start : vec4<f32> = k_low4(x[row * p.n], T);
    origin = start.x * 0.0625f;
  }
  var v : array<vec4<f32>, 8>;
  for (var j : u32 = 0u; j < VECS; j += 1u) {
    if (j * LANES + lane < count) {
      var w : vec4<u32> = x[base + j * LANES];
      if (T == 0u) {
        v[j] = k_less4(k_times4(bitcast<vec4<f32>>(w), 0.0625f), origin);
      } else {
        v[2u * j] = k_less4(k_times4(k_low4(w, T), 0.0625f), origin);
        v[2u * j + 1u] = k_less4(k_times4(k_high4(w, T), 0.0625f), origin);
      }
    }
  }
  var ahead : array<vec4<u32>, 2>;
  if (HAS_GAMMA == 1u && BY_CHANNEL == 0u && VECS <= 2u && STAGE != 1u) {
    for (var j : u32 = 0u; j < 2u; j += 1u) {
      if (j < VECS && j * LANES + lane < count) { ahead[j] = gamma4[first + j * LANES + lane]; }
    }
  }
  if (HAS_RESIDUAL == 1u) {
    for (var j : u32 = 0u; j < VECS; j += 1u) {
      if (j * LANES + lane < count) {
        var w : vec4<u32> = residual[base + j * LANES];
        if (T == 0u) {
          v[j] = k_add4(v[j], k_times4(bitcast<vec4<f32>>(w), 0.0625f));
        } else {
          v[2u * j] = k_add4(v[2u * j], k_times4(k_low4(w, T), 0.0625f));
          v[2u * j + 1u] = k_add4(v[2u * j + 1u], k_times4(k_high4(w, T), 0.0625f));
        }
      }
    }
  }
  var part : f32 = 1.0f / f32(max(count * select(8u, 4u, T == 0u), 1u));
  var mean : f32 = 0.0f;
  var rest : f32 = 0.0f;
  var fine : f32 = 0.0f;
  var coarse : f32 = 0.0f;
  if (STAGE == 2u) {
    var k_first : u32 = 4u * (row) * p.chunks; var k_end : u32 = select(0u, p.chunks, is_row); if (is_row) { mean = bitcast<f32>(stats[k_first]); } for (var c : u32 = lane; c < k_end; c += LANES) { var at : u32 = k_first + 4u * c; var d : f32 = bitcast<f32>(stats[at]) - mean + bitcast<f32>(stats[at + 1u]); rest += d * (f32(min(p.chunk, p.n - c * p.chunk)) / f32(p.n)); } workgroupBarrier(); red[k_lid.x] = rest; if (1u > 1u) { red[GROUP + k_lid.x] = rest; } if (1u > 2u) { red[2u * GROUP + k_lid.x] = rest; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (1u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } rest = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (1u > 1u) { rest = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (1u > 2u) { rest = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } for (var c : u32 = lane; c < k_end; c += LANES) { var at : u32 = k_first + 4u * c; var k_n : f32 = f32((select(8u, 4u, T == 0u)) * min(p.chunk, p.n - c * p.chunk)); var d : f32 = bitcast<f32>(stats[at]) - mean + bitcast<f32>(stats[at + 1u]) - rest; fine += bitcast<f32>(stats[at + 2u]) + k_n * (d * p.fine) * (d * p.fine); coarse += bitcast<f32>(stats[at + 3u]) + k_n * (d * p.coarse) * (d * p.coarse); } workgroupBarrier(); red[k_lid.x] = fine; if (2u > 1u) { red[GROUP + k_lid.x] = coarse; } if (2u > 2u) { red[2u * GROUP + k_lid.x] = coarse; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (2u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (2u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } fine = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (2u > 1u) { coarse = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (2u > 2u) { coarse = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; }
  } else if (false) {
   
  } else {
    if (CENTRE == 1u) {
      for (var q : u32 = 0u; q < select(2u * VECS, VECS, T == 0u); q += 1u) {
        if ((select((q) >> 1u, q, T == 0u) * LANES + lane < count)) { mean += k_sum4(v[q]) * part; }
      }
      workgroupBarrier(); red[k_lid.x] = mean; if (1u > 1u) { red[GROUP + k_lid.x] = mean; } if (1u > 2u) { red[2u * GROUP + k_lid.x] = mean; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (1u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } mean = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (1u > 1u) { mean = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (1u > 2u) { mean = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; }
    }
    for (var q : u32 = 0u; q < select(2u * VECS, VECS, T == 0u); q += 1u) {
      if ((select((q) >> 1u, q, T == 0u) * LANES + lane < count)) {
        var d : vec4<f32> = k_less4(v[q], mean);
        if (CENTRE == 1u) { rest += k_sum4(d) * part; }
        var a : vec4<f32> = k_times4(d, p.fine);
        fine += k_sum4(k_mul4(a, a));
        if (T != 1u) {
          var b : vec4<f32> = k_times4(d, p.coarse);
          coarse += k_sum4(k_mul4(b, b));
        }
      }
    }
    if (CENTRE == 1u) { workgroupBarrier(); red[k_lid.x] = rest; if (3u > 1u) { red[GROUP + k_lid.x] = fine; } if (3u > 2u) { red[2u * GROUP + k_lid.x] = coarse; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (3u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (3u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } rest = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (3u > 1u) { fine = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (3u > 2u) { coarse = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (bitcast<u32>(fine) < 0x7f800000u) { fine = max(fine - f32(count * select(8u, 4u, T == 0u)) * (rest * p.fine) * (rest * p.fine), 0.0f); } if (bitcast<u32>(coarse) < 0x7f800000u) { coarse = max(coarse - f32(count * select(8u, 4u, T == 0u)) * (rest * p.coarse) * (rest * p.coarse), 0.0f); } } else { workgroupBarrier(); red[k_lid.x] = fine; if (2u > 1u) { red[GROUP + k_lid.x] = coarse; } if (2u > 2u) { red[2u * GROUP + k_lid.x] = coarse; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (2u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (2u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } fine = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (2u > 1u) { coarse = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (2u > 2u) { coarse = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } }
    if (T == 1u) { coarse = fine; }
  }
  if (STAGE == 1u) {
    if (lane == 0u && is_row) { stats[4u * (line)] = bitcast<u32>(mean); stats[4u * (line) + 1u] = bitcast<u32>(rest); stats[4u * (line) + 2u] = bitcast<u32>(fine); stats[4u * (line) + 3u] = bitcast<u32>(coarse); }
  } else {
    var k_is_fine : bool = ((bitcast<u32>(fine) & 0x7fffffffu) < 0x7b7a5ef3u); var by : f32 = select(p.coarse, p.fine, k_is_fine); var scale : f32 = inverseSqrt(select(coarse, fine, k_is_fine) / f32(p.n * select(8u, 4u, T == 0u)) + p.eps * by * by);
    if (T == 1u) {
      by = by * scale;
      scale = 1.0f;
    }
    var channel : u32 = row % p.sets * p.channels;
    for (var j : u32 = 0u; j < VECS; j += 1u) {
      var k : u32 = first + j * LANES + lane;
      if (j * LANES + lane < count) {
        var q : u32 = select(2u * j, j, T == 0u);
        var a : vec4<f32> = k_times4(k_times4(k_less4(k_less4(v[q], mean), rest), by), scale);
        var b : vec4<f32> = a;
        if (T != 0u) { b = k_times4(k_times4(k_less4(k_less4(v[q + 1u], mean), rest), by), scale); }
        if (BY_CHANNEL == 1u) {
          var c : u32 = channel + k / p.run;
          var g : f32 = 1.0f;
          if (HAS_GAMMA == 1u) { g = bitcast<f32>(k_element(gamma[(c) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, c)); }
          var h : f32 = 0.0f;
          if (HAS_BETA == 1u) { h = bitcast<f32>(k_element(beta[(c) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, c)); }
          a = k_less4(k_times4(a, g), -h);
          b = k_less4(k_times4(b, g), -h);
        } else {
          if (HAS_GAMMA == 1u) {
            var w : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u);
            if (VECS <= 2u) { w = ahead[j & 1u]; } else { w = gamma4[k]; }
            a = k_mul4(a, k_low4(w, T));
            b = k_mul4(b, k_high4(w, T));
          }
          if (HAS_BETA == 1u) {
            var w : vec4<u32> = beta4[k];
            a = k_add4(a, k_low4(w, T));
            b = k_add4(b, k_high4(w, T));
          }
        }
        y[base + j * LANES] = k_words4(a, b, T);
      }
    }
  }
}
