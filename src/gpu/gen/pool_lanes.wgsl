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
fn k_pool_enter(bits : u32, is_max : u32) -> u32 {
  if (is_max == 0u) { return bits; }
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}
fn k_pool_join(a : u32, b : u32, is_max : u32) -> u32 {
  return select(bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b)), max(a, b), is_max == 1u);
}
fn k_pool_mean(sum : f32, divisor : f32) -> f32 {
  var q : f32 = sum / divisor;
  var better : f32 = q + fma(-q, divisor, sum) / divisor;
  return select(q, better, abs(q) < 1.0e37f);
}
fn k_pool_leave(state : u32, divisor : f32, is_max : u32) -> u32 {
  if (is_max == 0u) { return select(0u, bitcast<u32>(k_pool_mean(bitcast<f32>(state), max(divisor, 1.0f))), divisor > 0.0f); }
  if (state == 0u) { return 0xff800000u; }
  if (state == 0xffffffffu) { return 0x7fc00000u; }
  return select(~state, state & 0x7fffffffu, (state >> 31u) == 1u);
}
@id(1) override T : u32 = 0u;
@id(2) override IS_MAX : u32 = 0u;
@id(3) override COUNT_PAD : u32 = 0u;
@id(4) override LANES : u32 = 32u;
struct Params { groups : u32,
  in_z : u32, in_y : u32, in_x : u32, kernel_z : u32, kernel_y : u32, kernel_x : u32, stride_z : i32, stride_y : i32, stride_x : i32, dilation_z : i32, dilation_y : i32, dilation_x : i32, pad_z : i32, pad_y : i32, pad_x : i32, plane : u32, plane_m : u32, plane_s : u32, slice : u32, slice_m : u32, slice_s : u32, row : u32, row_m : u32, row_s : u32,
  padded_z : u32,
  padded_y : u32,
  padded_x : u32,
  n : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
var<workgroup> most : array<u32, GROUP>;
var<workgroup> red : array<f32, GROUP>;
@compute @workgroup_size(GROUP) fn pool_lanes(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var shift : u32 = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  var w : u32 = (k_wid.y * k_wn.x + k_wid.x) * (GROUP / LANES) + select(k_lid.x / LANES, k_lid.x % (GROUP / LANES), 0u == 1u);
  var word : u32 = 0u;
  for (var e : u32 = 0u; e < (1u << shift); e += 1u) {
    var item : u32 = min((w << shift) + e, p.n - 1u);
    var plane : u32 = k_quotient(item, p.plane_m, p.plane_s); var rest : u32 = (item) - plane * p.plane; var o_z : u32 = k_quotient(rest, p.slice_m, p.slice_s); rest = rest - o_z * p.slice; var o_y : u32 = k_quotient(rest, p.row_m, p.row_s); var start_z : i32 = i32(o_z) * p.stride_z - p.pad_z; var start_y : i32 = i32(o_y) * p.stride_y - p.pad_y; var start_x : i32 = i32(rest - o_y * p.row) * p.stride_x - p.pad_x; var first_z : u32 = k_first_tap(start_z, p.dilation_z); var first_y : u32 = k_first_tap(start_y, p.dilation_y); var first_x : u32 = k_first_tap(start_x, p.dilation_x); var end_z : u32 = max(first_z, k_end_tap(start_z, p.dilation_z, p.kernel_z, p.in_z)); var end_y : u32 = max(first_y, k_end_tap(start_y, p.dilation_y, p.kernel_y, p.in_y)); var end_x : u32 = max(first_x, k_end_tap(start_x, p.dilation_x, p.kernel_x, p.in_x)); var divisor : f32 = f32(end_z - first_z) * f32(end_y - first_y) * f32(end_x - first_x); if (COUNT_PAD == 1u) { divisor = f32(k_end_tap(start_z, p.dilation_z, p.kernel_z, p.padded_z)) * f32(k_end_tap(start_y, p.dilation_y, p.kernel_y, p.padded_y)) * f32(k_end_tap(start_x, p.dilation_x, p.kernel_x, p.padded_x)); }
    var wide : u32 = max(end_x - first_x, 1u);
    var high : u32 = max(end_y - first_y, 1u);
    var taps : u32 = (end_z - first_z) * (end_y - first_y) * (end_x - first_x);
    var state : u32 = 0u;
    if ((w << shift) + e < p.n) {
      for (var t : u32 = select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u); t < taps; t += LANES) {
        var line : u32 = t / wide;
        var k : u32 = t - line * wide;
        var i : u32 = line / high;
        var at : u32 = (((plane * p.in_z + u32(start_z + i32(first_z + i) * p.dilation_z)) * p.in_y + u32(start_y + i32(first_y + line - i * high) * p.dilation_y)) * p.in_x + u32(start_x + i32(first_x + k) * p.dilation_x));
        state = k_pool_join(state, k_pool_enter(k_element(x[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at), IS_MAX), IS_MAX);
      }
    }
    if (IS_MAX == 1u) {
      workgroupBarrier(); most[k_lid.x] = state; if (1u > 1u) { most[GROUP + k_lid.x] = state; } if (1u > 2u) { most[2u * GROUP + k_lid.x] = state; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); most[k_a] = max(most[k_a], most[k_b]); if (1u > 1u) { most[GROUP + k_a] = max(most[GROUP + k_a], most[GROUP + k_b]); } if (1u > 2u) { most[2u * GROUP + k_a] = max(most[2u * GROUP + k_a], most[2u * GROUP + k_b]); } } workgroupBarrier(); } state = most[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (1u > 1u) { state = most[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (1u > 2u) { state = most[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; }
    } else {
      var sum : f32 = bitcast<f32>(state);
      workgroupBarrier(); red[k_lid.x] = sum; if (1u > 1u) { red[GROUP + k_lid.x] = sum; } if (1u > 2u) { red[2u * GROUP + k_lid.x] = sum; } workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) < k_w) { var k_a : u32 = k_lid.x; var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), 0u == 1u); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[GROUP + k_a] = ((red[GROUP + k_a]) + (red[GROUP + k_b])); } if (1u > 2u) { red[2u * GROUP + k_a] = ((red[2u * GROUP + k_a]) + (red[2u * GROUP + k_b])); } } workgroupBarrier(); } sum = red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; if (1u > 1u) { sum = red[GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; } if (1u > 2u) { sum = red[2u * GROUP + k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) * select(1u, (GROUP / LANES), 0u == 1u)]; }
      state = bitcast<u32>(sum);
    }
    word = k_put(word, T, e, k_narrow(k_pool_leave(state, divisor, IS_MAX), T));
  }
  if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), 0u == 1u) == 0u && (w << shift) < p.n) { y[w] = word; }
}
