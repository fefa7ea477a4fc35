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
fn k_quotient(n : u32, m : u32, s : u32) -> u32 { return k_mulhi(n << 1u, m) >> s; }
fn k_first_tap(start : i32, dilation : i32) -> u32 {
  if (start >= 0) { return 0u; }
  if (dilation == 1) { return u32(-start); }
  return u32((dilation - 1 - start) / dilation);
}
fn k_end_tap(start : i32, dilation : i32, kernel : u32, size : u32) -> u32 {
  var room : i32 = i32(size) - start;
  if (room <= 0) { return 0u; }
  if (dilation == 1) { return min(kernel, u32(room)); }
  return min(kernel, u32((room + dilation - 1) / dilation));
}
fn k_float(word : u32, kind : u32, i : u32) -> f32 {
  if (kind == 0u) { return bitcast<f32>(word); }
  if (kind == 1u) { return unpack2x16float(word >> ((i & 1u) << 4u)).x; }
  return bitcast<f32>((word >> ((i & 1u) << 4u)) << 16u);
}
@id(1) override T : u32 = 0u;
@id(2) override LINEAR : u32 = 0u;
struct Params { groups : u32,
  fours : u32, fours_m : u32, fours_s : u32,
  rows : u32, rows_m : u32, rows_s : u32,
  in_plane : u32,
  n : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> tx : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> ty : array<u32>;
@group(0) @binding(3) var<storage, read_write> y : array<vec4<u32>>;
@compute @workgroup_size(GROUP) fn resize_rows(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var i : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x;
  if (i < p.n) {
    var line : u32 = k_quotient(i, p.fours_m, p.fours_s);
    var column : u32 = i - line * p.fours;
    var plane : u32 = k_quotient(line, p.rows_m, p.rows_s);
    var entry : u32 = 3u * (line - plane * p.rows);
    var lo : u32 = plane * p.in_plane + ty[entry];
    var hi : u32 = plane * p.in_plane + ty[entry + 1u];
    var row_weight : f32 = bitcast<f32>(ty[entry + 2u]);
    var words : u32 = select(1u, 3u, LINEAR == 1u);
    if (T == 0u) {
      var a : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u); { var k_a : vec4<u32> = tx[column * words]; var k_p : vec4<u32> = k_a; var k_w : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if (LINEAR == 1u) { k_p = tx[(column * words) + 1u]; k_w = bitcast<vec4<f32>>(tx[(column * words) + 2u]); } var k_0 : f32 = k_float(x[(lo + (k_a.x)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.x)); if (LINEAR == 1u) { if ((k_w.x) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.x)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.x)); k_0 = k_0 * (1.0f - (k_w.x)) + k_b * (k_w.x); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.x)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.x)); if ((k_w.x) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.x)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.x)); k_c = k_c * (1.0f - (k_w.x)) + k_d * (k_w.x); } k_0 = k_0 * (1.0f - row_weight) + k_c * row_weight; } } var k_1 : f32 = k_float(x[(lo + (k_a.y)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.y)); if (LINEAR == 1u) { if ((k_w.y) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.y)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.y)); k_1 = k_1 * (1.0f - (k_w.y)) + k_b * (k_w.y); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.y)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.y)); if ((k_w.y) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.y)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.y)); k_c = k_c * (1.0f - (k_w.y)) + k_d * (k_w.y); } k_1 = k_1 * (1.0f - row_weight) + k_c * row_weight; } } var k_2 : f32 = k_float(x[(lo + (k_a.z)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.z)); if (LINEAR == 1u) { if ((k_w.z) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.z)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.z)); k_2 = k_2 * (1.0f - (k_w.z)) + k_b * (k_w.z); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.z)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.z)); if ((k_w.z) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.z)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.z)); k_c = k_c * (1.0f - (k_w.z)) + k_d * (k_w.z); } k_2 = k_2 * (1.0f - row_weight) + k_c * row_weight; } } var k_3 : f32 = k_float(x[(lo + (k_a.w)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.w)); if (LINEAR == 1u) { if ((k_w.w) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.w)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.w)); k_3 = k_3 * (1.0f - (k_w.w)) + k_b * (k_w.w); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.w)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.w)); if ((k_w.w) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.w)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.w)); k_c = k_c * (1.0f - (k_w.w)) + k_d * (k_w.w); } k_3 = k_3 * (1.0f - row_weight) + k_c * row_weight; } } a = vec4<u32>(bitcast<u32>(k_0), bitcast<u32>(k_1), bitcast<u32>(k_2), bitcast<u32>(k_3)); }
      y[i] = a;
    } else {
      var a : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u); { var k_a : vec4<u32> = tx[2u * column * words]; var k_p : vec4<u32> = k_a; var k_w : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if (LINEAR == 1u) { k_p = tx[(2u * column * words) + 1u]; k_w = bitcast<vec4<f32>>(tx[(2u * column * words) + 2u]); } var k_0 : f32 = k_float(x[(lo + (k_a.x)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.x)); if (LINEAR == 1u) { if ((k_w.x) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.x)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.x)); k_0 = k_0 * (1.0f - (k_w.x)) + k_b * (k_w.x); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.x)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.x)); if ((k_w.x) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.x)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.x)); k_c = k_c * (1.0f - (k_w.x)) + k_d * (k_w.x); } k_0 = k_0 * (1.0f - row_weight) + k_c * row_weight; } } var k_1 : f32 = k_float(x[(lo + (k_a.y)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.y)); if (LINEAR == 1u) { if ((k_w.y) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.y)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.y)); k_1 = k_1 * (1.0f - (k_w.y)) + k_b * (k_w.y); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.y)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.y)); if ((k_w.y) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.y)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.y)); k_c = k_c * (1.0f - (k_w.y)) + k_d * (k_w.y); } k_1 = k_1 * (1.0f - row_weight) + k_c * row_weight; } } var k_2 : f32 = k_float(x[(lo + (k_a.z)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.z)); if (LINEAR == 1u) { if ((k_w.z) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.z)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.z)); k_2 = k_2 * (1.0f - (k_w.z)) + k_b * (k_w.z); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.z)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.z)); if ((k_w.z) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.z)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.z)); k_c = k_c * (1.0f - (k_w.z)) + k_d * (k_w.z); } k_2 = k_2 * (1.0f - row_weight) + k_c * row_weight; } } var k_3 : f32 = k_float(x[(lo + (k_a.w)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.w)); if (LINEAR == 1u) { if ((k_w.w) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.w)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.w)); k_3 = k_3 * (1.0f - (k_w.w)) + k_b * (k_w.w); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.w)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.w)); if ((k_w.w) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.w)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.w)); k_c = k_c * (1.0f - (k_w.w)) + k_d * (k_w.w); } k_3 = k_3 * (1.0f - row_weight) + k_c * row_weight; } } a = vec4<u32>(bitcast<u32>(k_0), bitcast<u32>(k_1), bitcast<u32>(k_2), bitcast<u32>(k_3)); }
      var b : vec4<u32> = vec4<u32>(0u, 0u, 0u, 0u); { var k_a : vec4<u32> = tx[(2u * column + 1u) * words]; var k_p : vec4<u32> = k_a; var k_w : vec4<f32> = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f); if (LINEAR == 1u) { k_p = tx[((2u * column + 1u) * words) + 1u]; k_w = bitcast<vec4<f32>>(tx[((2u * column + 1u) * words) + 2u]); } var k_0 : f32 = k_float(x[(lo + (k_a.x)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.x)); if (LINEAR == 1u) { if ((k_w.x) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.x)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.x)); k_0 = k_0 * (1.0f - (k_w.x)) + k_b * (k_w.x); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.x)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.x)); if ((k_w.x) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.x)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.x)); k_c = k_c * (1.0f - (k_w.x)) + k_d * (k_w.x); } k_0 = k_0 * (1.0f - row_weight) + k_c * row_weight; } } var k_1 : f32 = k_float(x[(lo + (k_a.y)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.y)); if (LINEAR == 1u) { if ((k_w.y) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.y)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.y)); k_1 = k_1 * (1.0f - (k_w.y)) + k_b * (k_w.y); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.y)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.y)); if ((k_w.y) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.y)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.y)); k_c = k_c * (1.0f - (k_w.y)) + k_d * (k_w.y); } k_1 = k_1 * (1.0f - row_weight) + k_c * row_weight; } } var k_2 : f32 = k_float(x[(lo + (k_a.z)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.z)); if (LINEAR == 1u) { if ((k_w.z) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.z)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.z)); k_2 = k_2 * (1.0f - (k_w.z)) + k_b * (k_w.z); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.z)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.z)); if ((k_w.z) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.z)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.z)); k_c = k_c * (1.0f - (k_w.z)) + k_d * (k_w.z); } k_2 = k_2 * (1.0f - row_weight) + k_c * row_weight; } } var k_3 : f32 = k_float(x[(lo + (k_a.w)) >> select(1u, 0u, T == 0u)], T, lo + (k_a.w)); if (LINEAR == 1u) { if ((k_w.w) > 0.0f) { var k_b : f32 = k_float(x[(lo + (k_p.w)) >> select(1u, 0u, T == 0u)], T, lo + (k_p.w)); k_3 = k_3 * (1.0f - (k_w.w)) + k_b * (k_w.w); } if (row_weight > 0.0f) { var k_c : f32 = k_float(x[(hi + (k_a.w)) >> select(1u, 0u, T == 0u)], T, hi + (k_a.w)); if ((k_w.w) > 0.0f) { var k_d : f32 = k_float(x[(hi + (k_p.w)) >> select(1u, 0u, T == 0u)], T, hi + (k_p.w)); k_c = k_c * (1.0f - (k_w.w)) + k_d * (k_w.w); } k_3 = k_3 * (1.0f - row_weight) + k_c * row_weight; } } b = vec4<u32>(bitcast<u32>(k_0), bitcast<u32>(k_1), bitcast<u32>(k_2), bitcast<u32>(k_3)); }
      y[i] = vec4<u32>(k_narrow(a.x, T) | (k_narrow(a.y, T) << 16u), k_narrow(a.z, T) | (k_narrow(a.w, T) << 16u), k_narrow(b.x, T) | (k_narrow(b.y, T) << 16u), k_narrow(b.z, T) | (k_narrow(b.w, T) << 16u));
    }
  }
}
