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
@id(1) override T : u32 = 0u;
@id(2) override TY : u32 = 0u;
@id(3) override UNIT : u32 = 1u;
@id(4) override LANES : u32 = 32u;
@id(5) override PER : u32 = 4u;
@id(6) override STRIDED : u32 = 0u;
@id(7) override STAGE : u32 = 0u;
@id(8) override CENTRE : u32 = 1u;
@id(9) override HAS_RESIDUAL : u32 = 0u;
@id(10) override HAS_GAMMA : u32 = 0u;
@id(11) override HAS_BETA : u32 = 0u;
struct Params { groups : u32,
  lines : u32,
  n : u32,
  inner : u32,
  chunks : u32,
  chunk : u32,
  eps : f32,
  fine : f32,
  coarse : f32,
  sets : u32,
  channels : u32,
  run : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> residual : array<u32>;
@group(0) @binding(2) var<storage, read_write> gamma : array<u32>;
@group(0) @binding(3) var<storage, read_write> beta : array<u32>;
@group(0) @binding(4) var<storage, read_write> y : array<u32>;
@group(0) @binding(5) var<storage, read_write> stats : array<u32>;
var<workgroup> red : array<f32, 3u * GROUP>;
@compute @workgroup_size(GROUP) fn normalize(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var lane : u32 = select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u); var block : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.chunks; var piece : u32 = (k_wid.y * k_wn.x + k_wid.x) - block * p.chunks; var line : u32 = block * (GROUP / LANES) + select(k_lid.x / LANES, k_lid.x % (GROUP / LANES), STRIDED == 1u); var is_line : bool = line < p.lines; var first : u32 = piece * p.chunk; var count : u32 = select(0u, min(p.chunk, p.n - first), is_line); var slab : u32 = line / p.inner; var base : u32 = (slab * p.n + first) * p.inner + (line - slab * p.inner); var v : array<f32, 32>;
  var part : f32 = 1.0f / f32(max(count, 1u));
  var mean : f32 = 0.0f;
  var origin : f32 = 0.0f;
  if (HAS_RESIDUAL == 1u && CENTRE == 1u && is_line) {
    origin = bitcast<f32>(k_element(x[(base - first * p.inner) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, base - first * p.inner)) * 0.0625f;
  }
  for (var e : u32 = 0u; e < PER; e += 1u) {
    if ((((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT) < count) {
      var at : u32 = base + (((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT) * p.inner;
      v[e] = bitcast<f32>(k_element(x[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at)) * 0.0625f - origin;
      if (HAS_RESIDUAL == 1u) { v[e] += bitcast<f32>(k_element(residual[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at)) * 0.0625f; }
      mean += v[e] * part;
    }
  }
  var rest : f32 = 0.0f;
  var fine : f32 = 0.0f;
  var coarse : f32 = 0.0f;
  if (STAGE == 2u || CENTRE == 0u) { mean = 0.0f; }
  if (STAGE == 2u) {
    var k_first : u32 = 4u * (line) * p.chunks; var k_end : u32 = select(0u, p.chunks, is_line); if (is_line) { mean = bitcast<f32>(stats[k_first]); } for (var c : u32 = lane; c < k_end; c += LANES) { var at : u32 = k_first + 4u * c; var d : f32 = bitcast<f32>(stats[at]) - mean + bitcast<f32>(stats[at + 1u]); rest += d * (f32(min(p.chunk, p.n - c * p.chunk)) / f32(p.n)); } workgroupBarrier(); red[k_lid.x] = rest; if (1u > 1u) { red[GROUP + k_lid.x] = rest; } if (1u > 2u) { red[2u * GROUP + k_lid.x] = rest; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), STRIDED == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (1u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } rest = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; if (1u > 1u) { rest = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } if (1u > 2u) { rest = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } for (var c : u32 = lane; c < k_end; c += LANES) { var at : u32 = k_first + 4u * c; var k_n : f32 = f32((1u) * min(p.chunk, p.n - c * p.chunk)); var d : f32 = bitcast<f32>(stats[at]) - mean + bitcast<f32>(stats[at + 1u]) - rest; fine += bitcast<f32>(stats[at + 2u]) + k_n * (d * p.fine) * (d * p.fine); coarse += bitcast<f32>(stats[at + 3u]) + k_n * (d * p.coarse) * (d * p.coarse); } workgroupBarrier(); red[k_lid.x] = fine; if (2u > 1u) { red[GROUP + k_lid.x] = coarse; } if (2u > 2u) { red[2u * GROUP + k_lid.x] = coarse; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), STRIDED == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (2u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (2u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } fine = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; if (2u > 1u) { coarse = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } if (2u > 2u) { coarse = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; }
  } else {
    if (CENTRE == 1u) { workgroupBarrier(); red[k_lid.x] = mean; if (1u > 1u) { red[GROUP + k_lid.x] = mean; } if (1u > 2u) { red[2u * GROUP + k_lid.x] = mean; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), STRIDED == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (1u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } mean = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; if (1u > 1u) { mean = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } if (1u > 2u) { mean = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } }
    for (var e : u32 = 0u; e < PER; e += 1u) {
      if ((((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT) < count) {
        var d : f32 = v[e] - mean;
        if (CENTRE == 1u) { rest += (d) * (part); } fine += ((d) * p.fine) * ((d) * p.fine); coarse += ((d) * p.coarse) * ((d) * p.coarse);
      }
    }
    if (CENTRE == 1u) { workgroupBarrier(); red[k_lid.x] = rest; if (3u > 1u) { red[GROUP + k_lid.x] = fine; } if (3u > 2u) { red[2u * GROUP + k_lid.x] = coarse; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), STRIDED == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (3u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (3u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } rest = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; if (3u > 1u) { fine = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } if (3u > 2u) { coarse = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } if (bitcast<u32>(fine) < 0x7f800000u) { fine = max(fine - f32(count) * (rest * p.fine) * (rest * p.fine), 0.0f); } if (bitcast<u32>(coarse) < 0x7f800000u) { coarse = max(coarse - f32(count) * (rest * p.coarse) * (rest * p.coarse), 0.0f); } } else { workgroupBarrier(); red[k_lid.x] = fine; if (2u > 1u) { red[GROUP + k_lid.x] = coarse; } if (2u > 2u) { red[2u * GROUP + k_lid.x] = coarse; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), STRIDED == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (2u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (2u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } fine = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; if (2u > 1u) { coarse = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } if (2u > 2u) { coarse = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]; } }
  }
  if (STAGE == 1u) {
    if (lane == 0u && is_line) { stats[4u * (line * p.chunks + piece)] = bitcast<u32>(mean); stats[4u * (line * p.chunks + piece) + 1u] = bitcast<u32>(rest); stats[4u * (line * p.chunks + piece) + 2u] = bitcast<u32>(fine); stats[4u * (line * p.chunks + piece) + 3u] = bitcast<u32>(coarse); }
  } else {
    var k_is_fine : bool = ((bitcast<u32>(fine) & 0x7fffffffu) < 0x7b7a5ef3u); var by : f32 = select(p.coarse, p.fine, k_is_fine); var scale : f32 = inverseSqrt(select(coarse, fine, k_is_fine) / f32(p.n) + p.eps * by * by);
    var channel : u32 = line % p.sets * p.channels;
    for (var e : u32 = 0u; e < PER; e += 1u) {
      if ((((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT) < count) {
        var r : f32 = (v[e] - mean - rest) * by * scale;
        var c : u32 = channel + (first + (((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT)) / p.run;
        if (HAS_GAMMA == 1u) { r = r * bitcast<f32>(k_element(gamma[(c) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, c)); }
        if (HAS_BETA == 1u) { r = r + bitcast<f32>(k_element(beta[(c) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, c)); }
        v[e] = r;
      }
    }
    for (var e : u32 = 0u; e < PER; e += UNIT) { if ((((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT) < count) { if (UNIT == 2u) { y[(base + (((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT)) >> 1u] = k_narrow(bitcast<u32>(v[e]), TY) | (k_narrow(bitcast<u32>(v[e + 1u]), TY) << 16u); } else { y[base + (((e) / UNIT * LANES + lane) * UNIT + (e) % UNIT) * p.inner] = bitcast<u32>(v[e]); } } }
  }
}
