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
@id(1) override REST : u32 = 0u;
@id(2) override EIGHTS : u32 = 0u;
@id(3) override CROSSED : u32 = 0u;
struct Params { groups : u32,
  k : u32,
  rest : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> y : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> scales : array<u32>;
var<workgroup> red : array<f32, GROUP>;
fn k_finite(v : f32) -> f32 {
  var a : u32 = bitcast<u32>(v) & 0x7fffffffu;
  return bitcast<f32>(select(0u, a, a < 0x7f800000u));
}
fn k_largest(v : vec4<f32>) -> f32 { return max(max(k_finite(v.x), k_finite(v.y)), max(k_finite(v.z), k_finite(v.w))); }
fn k_halves(lo : f32, hi : f32) -> u32 {
  if (0u == 1u) { return 0u; }
  return k_half_bits(lo) | (k_half_bits(hi) << 16u);
}
fn k_left(v : f32) -> f32 {
  return select(v - k_leading_bits(v, 1u), 0.0f, (bitcast<u32>(v) & 0x7f800000u) == 0x7f800000u);
}
fn k_first(v : f32) -> f32 {
  return select(k_leading_bits(v, 1u), v, REST == 0u || (bitcast<u32>(v) & 0x7f800000u) == 0x7f800000u);
}
@compute @workgroup_size(GROUP) fn quant_halves(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var row : u32 = (k_wid.y * k_wn.x + k_wid.x) * (p.k >> 2u);
  var a : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f);
  var b : vec4<f32> = a;
  var most : f32 = 0.0f;
  for (var i : u32 = k_lid.x + GROUP; i < (p.k >> 3u); i += GROUP) {
    if ((i) < (p.k >> 3u)) { a = bitcast<vec4<f32>>(x[row + 2u * (i)]); b = bitcast<vec4<f32>>(x[row + 2u * (i) + 1u]); }
    most = max(most, max(k_largest(a), k_largest(b)));
  }
  if ((k_lid.x) < (p.k >> 3u)) { a = bitcast<vec4<f32>>(x[row + 2u * (k_lid.x)]); b = bitcast<vec4<f32>>(x[row + 2u * (k_lid.x) + 1u]); }
  most = max(most, max(k_largest(a), k_largest(b)));
  workgroupBarrier(); red[k_lid.x] = most; workgroupBarrier(); for (var k_w : u32 = GROUP / 2u; k_w > 0u; k_w = k_w >> 1u) { if (k_lid.x < k_w) { red[k_lid.x] = max(red[k_lid.x], red[k_lid.x + k_w]); } workgroupBarrier(); } most = red[0];
  var e : i32 = clamp(268 - i32(bitcast<u32>(most) >> 23u), 1, 253);
  var by : f32 = bitcast<f32>(u32(e) << 23u);
  for (var i : u32 = k_lid.x; i < (p.k >> 3u); i += GROUP) {
    if (i >= GROUP) { if ((i) < (p.k >> 3u)) { a = bitcast<vec4<f32>>(x[row + 2u * (i)]); b = bitcast<vec4<f32>>(x[row + 2u * (i) + 1u]); } }
    a = vec4<f32>(a.x * by, a.y * by, a.z * by, a.w * by);
    b = vec4<f32>(b.x * by, b.y * by, b.z * by, b.w * by);
    if (CROSSED == 1u) {
      a = vec4<f32>(a.x, a.z, a.y, a.w);
      b = vec4<f32>(b.x, b.z, b.y, b.w);
    }
    var to : u32 = select((row >> 1u) + i, ((((k_wid.y * k_wn.x + k_wid.x) >> 3u) * (p.k >> 3u) + i) << 3u) + ((k_wid.y * k_wn.x + k_wid.x) & 7u), EIGHTS == 1u);
    y[to] = vec4<u32>(k_halves(k_first(a.x), k_first(a.y)), k_halves(k_first(a.z), k_first(a.w)), k_halves(k_first(b.x), k_first(b.y)), k_halves(k_first(b.z), k_first(b.w)));
    if (REST == 1u) {
      y[p.rest + to] = vec4<u32>(k_halves(k_left(a.x), k_left(a.y)), k_halves(k_left(a.z), k_left(a.w)), k_halves(k_left(b.x), k_left(b.y)), k_halves(k_left(b.z), k_left(b.w)));
    }
  }
  if (k_lid.x == 0u) { scales[(k_wid.y * k_wn.x + k_wid.x)] = u32(254 - e) << 23u; }
}
