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
fn k_block_shift(T : u32) -> u32 {
  return select(8u, 5u, T < 17u || T == 23u || T == 25u);
}
fn k_block_zero(T : u32) -> i32 {
  if (T == 12u) { return i32(8u); }
  if (T == 14u) { return i32(16u); }
  if (T == 18u) { return i32(4u); }
  if (T == 21u) { return i32(32u); }
  if (T == 25u) { return i32(12u); }
  if (T == 26u || T == 27u) { return i32(1u); }
  if (T == 16u || T == 22u || T == 23u || T == 24u) { return i32(128u); }
  return i32(0u);
}
fn k_funnel(lo : u32, hi : u32, o : u32) -> u32 {
  var s : u32 = (o & 3u) << 3u;
  return (lo >> s) | ((hi << 1u) << (31u - s));
}
fn k_level(a : u32, b : u32, c : u32, d : u32, code : u32) -> u32 {
  var low : u32 = select(b, a, (code & 4u) == 0u);
  var high : u32 = select(d, c, (code & 4u) == 0u);
  return (select(high, low, (code & 8u) == 0u) >> ((code & 3u) << 3u)) & 0xffu;
}
fn k_iq4_level(c : u32) -> u32 { return k_level(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u, c); }
fn k_mxfp4_level(c : u32) -> u32 { return k_level(0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u, c); }
fn k_iq4_levels(n : u32) -> u32 {
  return k_iq4_level(n & 15u) | (k_iq4_level((n >> 8u) & 15u) << 8u) | (k_iq4_level((n >> 16u) & 15u) << 16u) |
         (k_iq4_level(n >> 24u) << 24u);
}
fn k_mxfp4_levels(n : u32) -> u32 {
  return k_mxfp4_level(n & 15u) | (k_mxfp4_level((n >> 8u) & 15u) << 8u) | (k_mxfp4_level((n >> 16u) & 15u) << 16u) |
         (k_mxfp4_level(n >> 24u) << 24u);
}
fn k_mxfp4_scale(e : u32) -> f32 { return bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << e, e < 2u)); }
fn k_fifths(bits : u32) -> u32 { return (((bits & 15u) * 0x00204081u) & 0x01010101u) << 4u; }
fn k_trits(bytes : u32, k : u32) -> u32 {
  var power : u32 = select(select(select(81u, 27u, k == 3u), 9u, k == 2u), select(3u, 1u, k == 0u), k < 2u);
  var even : u32 = ((bytes & 0x00ff00ffu) * power) & 0x00ff00ffu;
  var odd : u32 = (((bytes >> 8u) & 0x00ff00ffu) * power) & 0x00ff00ffu;
  return (((even * 3u) >> 8u) & 0x00030003u) | ((odd * 3u) & 0x03000300u);
}
fn k_scale_min(s0 : u32, s1 : u32, s2 : u32, j : u32) -> u32 {
  var s : u32 = (j & 3u) << 3u;
  var a : u32 = s0 >> s;
  var b : u32 = s1 >> s;
  var c : u32 = s2 >> s;
  var lo : u32 = select((c & 15u) | ((a >> 2u) & 0x30u), a & 63u, j < 4u);
  return lo | (select(((c >> 4u) & 15u) | ((b >> 2u) & 0x30u), b & 63u, j < 4u) << 16u);
}
fn k_q3_scale(s0 : u32, s1 : u32, s2 : u32, j : u32) -> f32 {
  var low : u32 = (select(s1, s0, (j & 4u) == 0u) >> (((j & 3u) << 3u) + ((j >> 3u) << 2u))) & 15u;
  var high : u32 = (s2 >> (((j & 3u) << 3u) + ((j >> 2u) << 1u))) & 3u;
  return f32(i32(low | (high << 4u)) - i32(32u));
}
fn k_iq4_scale(high : u32, low : u32, j : u32) -> f32 {
  return f32(i32(((low >> (j << 2u)) & 15u) | (((high >> (j << 1u)) & 3u) << 4u)) - i32(32u));
}
fn k_signed(byte : u32) -> f32 { return f32(i32(byte ^ 0x80u) - i32(128u)); }
fn k_block_adds(T : u32) -> bool { return T == 13u || T == 15u || T == 17u || T == 19u || T == 20u; }
fn k_block_value(T : u32, codes : u32, e : u32, scale : f32, add : f32) -> f32 {
  var v : f32 = scale * f32(i32((codes >> (e << 3u)) & 0xffu) - k_block_zero(T));
  if (k_block_adds(T)) { return v + add; }
  return v;
}
@id(1) override T : u32 = 12u;
@id(2) override PLANES : u32 = 0u;
@id(3) override TY : u32 = 0u;
@id(4) override TI : u32 = 0u;
struct Params { groups : u32,
  n : u32,
  n_blocks : u32,
  per : u32,
  experts : u32,
  from_end : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> w : array<u32>;
@group(0) @binding(1) var<storage, read_write> idx : array<u32>;
@group(0) @binding(2) var<storage, read_write> y : array<vec4<u32>>;
@compute @workgroup_size(GROUP) fn decode(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var i : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x;
  var count : u32 = select(2u, 1u, TY == 0u);
  if (i * count < p.n) {
    var made : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u);
    for (var part : u32 = 0u; part < count; part += 1u) {
      var g : u32 = i * count + part;
      var per_block : u32 = k_block_shift(T) - 2u;
      var block : u32 = g >> per_block;
      var there : bool = true;
      if (TI != 0u) {
        var slot : u32 = block / p.per;
        var expert : i32 = k_index(TI, idx[select((slot), 2u * (slot), TI == 9u)], idx[select((slot), 2u * (slot) + 1u, TI == 9u)]);
        if (p.from_end == 1u && expert < 0) { expert = expert + i32(p.experts); }
        there = expert >= 0 && u32(expert) < p.experts;
        block = select(0u, u32(expert), there) * p.per + block - slot * p.per;
      }
      if (there) {
        var codes : u32 = 0u;
        var scale : f32 = 0.0f;
        var add : f32 = 0.0f;
        { add = 0.0f; if (k_block_shift(T) == 5u) { var k_b : u32 = ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u); if (T == 12u || T == 23u) { var k_n : u32 = ((k_funnel(w[((select((block) * (18u) + (2u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((select((block) * (18u) + (2u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (select((block) * (18u) + (2u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu); codes = k_n; if (T == 23u) { codes = k_iq4_levels(k_n); } scale = unpack2x16float(((w[(select((block) * (18u) + (0u), (k_b) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (18u) + (0u), (k_b) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } else if (T == 13u) { codes = ((k_funnel(w[((select((block) * (20u) + (4u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((select((block) * (20u) + (4u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (select((block) * (20u) + (4u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu); scale = unpack2x16float(((w[(select((block) * (20u) + (0u), (k_b) + (block) * (4u), PLANES == 1u)) >> 2u] >> (((select((block) * (20u) + (0u), (k_b) + (block) * (4u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; add = unpack2x16float(((w[(select((block) * (20u) + (2u), (k_b + 2u) + (block) * (4u), PLANES == 1u)) >> 2u] >> (((select((block) * (20u) + (2u), (k_b + 2u) + (block) * (4u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } else if (T == 14u) { codes = ((k_funnel(w[((select((block) * (22u) + (6u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((select((block) * (22u) + (6u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (select((block) * (22u) + (6u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu) | k_fifths(((w[(select((block) * (22u) + (2u), (k_b) + (block) * (4u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 1u)) >> 2u] >> (((select((block) * (22u) + (2u), (k_b) + (block) * (4u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((g & ((1u << per_block) - 1u)) & 1u) << 2u)); scale = unpack2x16float(((w[(select((block) * (22u) + (0u), (k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (22u) + (0u), (k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } else if (T == 15u) { codes = ((k_funnel(w[((select((block) * (24u) + (8u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((select((block) * (24u) + (8u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (select((block) * (24u) + (8u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu) | k_fifths(((w[(select((block) * (24u) + (4u), (k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (4u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 1u)) >> 2u] >> (((select((block) * (24u) + (4u), (k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (4u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((g & ((1u << per_block) - 1u)) & 1u) << 2u)); scale = unpack2x16float(((w[(select((block) * (24u) + (0u), (k_b) + (block) * (4u), PLANES == 1u)) >> 2u] >> (((select((block) * (24u) + (0u), (k_b) + (block) * (4u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; add = unpack2x16float(((w[(select((block) * (24u) + (2u), (k_b + 2u) + (block) * (4u), PLANES == 1u)) >> 2u] >> (((select((block) * (24u) + (2u), (k_b + 2u) + (block) * (4u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } else if (T == 16u) { codes = k_funnel(w[(select((block) * (34u) + (2u), (0u) + (block) * (32u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) << 2u)) >> 2u], w[((select((block) * (34u) + (2u), (0u) + (block) * (32u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) << 2u)) + 3u) >> 2u], select((block) * (34u) + (2u), (0u) + (block) * (32u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) << 2u)) ^ 0x80808080u; scale = unpack2x16float(((w[(select((block) * (34u) + (0u), (((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (34u) + (0u), (((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } else { codes = k_mxfp4_levels(((k_funnel(w[((select((block) * (17u) + (1u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((select((block) * (17u) + (1u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (select((block) * (17u) + (1u), (0u) + (block) * (16u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu)); scale = k_mxfp4_scale(((w[(select((block) * (17u) + (0u), (k_b) + (block) * (1u), PLANES == 1u)) >> 2u] >> (((select((block) * (17u) + (0u), (k_b) + (block) * (1u), PLANES == 1u)) & 3u) << 3u)) & 0xffu)); } } else { if (T == 17u) { var k_sc : u32 = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); var k_s : u32 = ((w[(select((block) * (84u) + (0u), (k_sc) + (block) * (16u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 2u)) >> 2u] >> (((select((block) * (84u) + (0u), (k_sc) + (block) * (16u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 2u)) & 3u) << 3u)) & 0xffu); var k_d : u32 = w[select((block) * (84u) + (80u), (k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + (block) * (4u), PLANES == 1u) >> 2u]; codes = ((k_funnel(w[((select((block) * (84u) + (16u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (84u) + (16u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (84u) + (16u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = unpack2x16float(k_d).x * f32(k_s & 15u); add = -(unpack2x16float(k_d).y * f32(k_s >> 4u)); } else if (T == 18u) { var k_hm : u32 = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); var k_sc : u32 = k_hm + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); var k_s : u32 = select((block) * (110u) + (96u), (k_sc) + (block) * (12u), PLANES == 1u); codes = ((k_funnel(w[((select((block) * (110u) + (32u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (110u) + (32u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (110u) + (32u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u) | (((k_funnel(w[((select((block) * (110u) + (0u), (k_hm) + (block) * (32u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (110u) + (0u), (k_hm) + (block) * (32u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (110u) + (0u), (k_hm) + (block) * (32u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((g & ((1u << per_block) - 1u)) >> 3u)) & 0x01010101u) << 2u); scale = unpack2x16float(((w[(select((block) * (110u) + (108u), (k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (110u) + (108u), (k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x * k_q3_scale(k_funnel(w[(k_s) >> 2u], w[((k_s) + 3u) >> 2u], k_s), k_funnel(w[(k_s + 4u) >> 2u], w[((k_s + 4u) + 3u) >> 2u], k_s + 4u), k_funnel(w[(k_s + 8u) >> 2u], w[((k_s + 8u) + 3u) >> 2u], k_s + 8u), (g & ((1u << per_block) - 1u)) >> 2u); } else if (T == 19u) { var k_h : u32 = select((block) * (144u) + (0u), (((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + (block) * (16u), PLANES == 1u); codes = ((k_funnel(w[((select((block) * (144u) + (16u), (0u) + (block) * (128u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (144u) + (16u), (0u) + (block) * (128u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (144u) + (16u), (0u) + (block) * (128u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu); var k_s : u32 = k_scale_min(w[(k_h >> 2u) + 1u], w[(k_h >> 2u) + 2u], w[(k_h >> 2u) + 3u], (g & ((1u << per_block) - 1u)) >> 3u); var k_d : u32 = w[k_h >> 2u]; scale = unpack2x16float(k_d).x * f32(k_s & 0xffffu); add = -(unpack2x16float(k_d).y * f32(k_s >> 16u)); } else if (T == 20u) { var k_qh : u32 = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); var k_h : u32 = select((block) * (176u) + (0u), (k_qh + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + (block) * (16u), PLANES == 1u); codes = ((k_funnel(w[((select((block) * (176u) + (48u), (0u) + (block) * (128u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (176u) + (48u), (0u) + (block) * (128u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (176u) + (48u), (0u) + (block) * (128u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(w[((select((block) * (176u) + (16u), (k_qh) + (block) * (32u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (176u) + (16u), (k_qh) + (block) * (32u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (176u) + (16u), (k_qh) + (block) * (32u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((g & ((1u << per_block) - 1u)) >> 3u)) & 0x01010101u) << 4u); var k_s : u32 = k_scale_min(w[(k_h >> 2u) + 1u], w[(k_h >> 2u) + 2u], w[(k_h >> 2u) + 3u], (g & ((1u << per_block) - 1u)) >> 3u); var k_d : u32 = w[k_h >> 2u]; scale = unpack2x16float(k_d).x * f32(k_s & 0xffffu); add = -(unpack2x16float(k_d).y * f32(k_s >> 16u)); } else if (T == 21u) { var k_qh : u32 = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); var k_sc : u32 = k_qh + ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); var k_ql : u32 = select((block) * (210u) + (0u), (0u) + (block) * (128u), PLANES == 1u) + (((g & ((1u << per_block) - 1u)) >> 5u) << 6u) + (((g & ((1u << per_block) - 1u)) & 15u) << 2u); codes = ((k_funnel(w[(k_ql) >> 2u], w[((k_ql) + 3u) >> 2u], k_ql) >> ((((g & ((1u << per_block) - 1u)) >> 4u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(w[((select((block) * (210u) + (128u), (k_qh) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (210u) + (128u), (k_qh) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (210u) + (128u), (k_qh) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u) << 4u); scale = unpack2x16float(((w[(select((block) * (210u) + (208u), (k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (210u) + (208u), (k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x * k_signed(((w[(select((block) * (210u) + (192u), (k_sc) + (block) * (16u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 2u)) >> 2u] >> (((select((block) * (210u) + (192u), (k_sc) + (block) * (16u), PLANES == 1u) + ((g & ((1u << per_block) - 1u)) >> 2u)) & 3u) << 3u)) & 0xffu)); } else if (T == 22u) { var k_d : u32 = ((((p.n_blocks) * 256u) + 255u) & 0xffffff00u) + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); codes = w[(select((block) * (292u) + (4u), (0u) + (block) * (256u), PLANES == 1u) >> 2u) + (g & ((1u << per_block) - 1u))] ^ 0x80808080u; scale = bitcast<f32>(w[select((block) * (292u) + (0u), (k_d) + (block) * (4u), PLANES == 1u) >> 2u]); } else if (T == 24u) { var k_h : u32 = select((block) * (136u) + (0u), (((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + (block) * (8u), PLANES == 1u) >> 2u; codes = k_iq4_levels(((k_funnel(w[((select((block) * (136u) + (8u), (0u) + (block) * (128u), PLANES == 1u) + (((g & ((1u << per_block) - 1u)) >> 3u) << 4u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((select((block) * (136u) + (8u), (0u) + (block) * (128u), PLANES == 1u) + (((g & ((1u << per_block) - 1u)) >> 3u) << 4u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (select((block) * (136u) + (8u), (0u) + (block) * (128u), PLANES == 1u) + (((g & ((1u << per_block) - 1u)) >> 3u) << 4u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu)); scale = unpack2x16float(w[k_h]).x * k_iq4_scale(w[k_h] >> 16u, w[k_h + 1u], (g & ((1u << per_block) - 1u)) >> 3u); } else if (T == 26u) { var k_qh : u32 = ((((p.n_blocks) * 48u) + 255u) & 0xffffff00u); var k_at : u32 = select((block) * (54u) + (0u), (0u) + (block) * (48u), PLANES == 1u); if ((g & ((1u << per_block) - 1u)) < 40u) { codes = k_trits(k_funnel(w[(k_at + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[((k_at + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], k_at + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)), (g & ((1u << per_block) - 1u)) >> 3u); } else if ((g & ((1u << per_block) - 1u)) < 60u) { codes = k_trits(k_funnel(w[(k_at + 32u + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[((k_at + 32u + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], k_at + 32u + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)), ((g & ((1u << per_block) - 1u)) - 40u) >> 2u); } else { codes = k_trits(k_funnel(w[(select((block) * (54u) + (48u), (k_qh) + (block) * (4u), PLANES == 1u)) >> 2u], w[((select((block) * (54u) + (48u), (k_qh) + (block) * (4u), PLANES == 1u)) + 3u) >> 2u], select((block) * (54u) + (48u), (k_qh) + (block) * (4u), PLANES == 1u)), (g & ((1u << per_block) - 1u)) - 60u); } scale = unpack2x16float(((w[(select((block) * (54u) + (52u), (k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (54u) + (52u), (k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } else { codes = ((k_funnel(w[((select((block) * (66u) + (0u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((select((block) * (66u) + (0u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (select((block) * (66u) + (0u), (0u) + (block) * (64u), PLANES == 1u)) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = unpack2x16float(((w[(select((block) * (66u) + (64u), (((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) >> 2u] >> (((select((block) * (66u) + (64u), (((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + (block) * (2u), PLANES == 1u)) & 2u) << 3u)) & 0xffffu)).x; } } }
        var v0 : u32 = k_narrow(bitcast<u32>(k_block_value(T, codes, 0u, scale, add)), TY);
        var v1 : u32 = k_narrow(bitcast<u32>(k_block_value(T, codes, 1u, scale, add)), TY);
        var v2 : u32 = k_narrow(bitcast<u32>(k_block_value(T, codes, 2u, scale, add)), TY);
        var v3 : u32 = k_narrow(bitcast<u32>(k_block_value(T, codes, 3u, scale, add)), TY);
        if (TY == 0u) {
          made = vec4<u32>(v0, v1, v2, v3);
        } else if (part == 0u) {
          made = vec4<u32>(v0 | (v1 << 16u), v2 | (v3 << 16u), 0u, 0u);
        } else {
          made = vec4<u32>(made.x, made.y, v0 | (v1 << 16u), v2 | (v3 << 16u));
        }
      }
    }
    y[i] = made;
  }
}
