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
@id(2) override TW : u32 = 0u;
@id(3) override COLS : u32 = 16u;
@id(4) override EACH : u32 = 8u;
@id(5) override SIZE_W : u32 = 264u;
@id(6) override MASKED : u32 = 1u;
@id(7) override TABLED : u32 = 0u;
@id(8) override W4 : u32 = 0u;
@id(9) override HAS_BIAS : u32 = 0u;
@id(10) override STEPPED : u32 = 0u;
struct Params { groups : u32,
  places : u32,
  plane : u32, plane_m : u32, plane_s : u32,
  slice : u32, slice_m : u32, slice_s : u32,
  row : u32, row_m : u32, row_s : u32,
  in_z : u32,
  in_y : u32,
  in_x : u32,
  x_image : u32,
  x_group : u32,
  y_image : u32,
  y_plane : u32,
  y_part : u32,
  w_group : u32,
  w_channel : u32,
  each_out : u32,
  k : u32,
  k_part : u32,
  taps : u32,
  tiles_o : u32,
  tiles_p : u32,
  conv_groups : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> w : array<u32>;
@group(0) @binding(2) var<storage, read_write> w4 : array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> bias : array<u32>;
@group(0) @binding(4) var<storage, read_write> t : array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> tw : array<u32>;
@group(0) @binding(6) var<storage, read_write> y : array<u32>;
var<workgroup> ws : array<vec4<f32>, SIZE_W>;
var<workgroup> xs : array<vec4<f32>, 512>;
@compute @workgroup_size(GROUP) fn conv_tile(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var rest : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.tiles_o;
  var tile_o : u32 = (k_wid.y * k_wn.x + k_wid.x) - rest * p.tiles_o;
  var slab : u32 = rest / p.tiles_p;
  var tile_p : u32 = rest - slab * p.tiles_p;
  var part : u32 = slab / p.conv_groups;
  var conv_group : u32 = slab - part * p.conv_groups;
  var k0 : u32 = part * p.k_part;
  var k1 : u32 = min(k0 + p.k_part, p.k);
  var stride : vec4<u32> = t[0u];
  var pad : vec4<u32> = t[1u];
  var mine : u32 = tile_p * 128u + k_lid.x % 128u;
  var image : u32 = k_quotient(mine, p.plane_m, p.plane_s);
  var in_image : u32 = mine - image * p.plane;
  var at_z : u32 = k_quotient(in_image, p.slice_m, p.slice_s);
  var in_slice : u32 = in_image - at_z * p.slice;
  var at_y : u32 = k_quotient(in_slice, p.row_m, p.row_s);
  var start_z : u32 = at_z * stride.x - pad.x;
  var start_y : u32 = at_y * stride.y - pad.y;
  var start_x : u32 = (in_slice - at_y * p.row) * stride.z - pad.z;
  var base : u32 = image * p.x_image + conv_group * p.x_group + (start_z * p.in_y + start_y) * p.in_x + start_x;
  var mask : u32 = 0u;
  if (mine >= p.places) {
    start_z = 0x80000000u;
  } else if (MASKED == 1u) {
    for (var i : u32 = 0u; i < p.taps; i += 1u) {
      var d : vec4<u32> = t[3u + i];
      if ((start_z + (d.x) < p.in_z && start_y + (d.y) < p.in_y && start_x + (d.z) < p.in_x)) { mask = mask | (1u << i); }
    }
  }
  var wide : u32 = select(8u, COLS / 4u, (GROUP / COLS) < 4u);
  var block : u32 = k_lid.x / 32u;
  var column : u32 = k_lid.x % 32u % wide + block % (COLS / wide) * wide;
  var line : u32 = k_lid.x % 32u / wide + block / (COLS / wide) * min((GROUP / COLS), 4u);
  var acc : array<f32, 64>;
  for (var i : u32 = 0u; i < 8u; i += 1u) {
    var first : f32 = 0.0f;
    var channel : u32 = tile_o * (8u * (GROUP / COLS)) + line + i * (GROUP / COLS);
    if (HAS_BIAS == 1u && channel < p.each_out) { first = k_float(bias[(conv_group * p.each_out + channel) >> select(1u, 0u, T == 0u)], T, conv_group * p.each_out + channel); }
    for (var j : u32 = 0u; j < 8u; j += 1u) { acc[i * 8u + j] = first; }
  }
  var next_x : array<vec4<f32>, 4>;
  var next_w : array<vec4<f32>, 2>;
  var steps : u32 = (k1 - min(k0, k1) + 15u) / 16u;
  for (var s : u32 = 0u; s <= steps; s += 1u) {
    var k : u32 = k0 + s * 16u;
    if (s < steps) {
      for (var i : u32 = 0u; i < 4u; i += 1u) {
        if (i < 512u / GROUP) {
          var four : u32 = k / 4u + k_lid.x / 128u + i * (GROUP / 128u);
          var entry : u32 = select(3u + 4u * four, 3u + p.taps + 2u * four, MASKED == 1u);
          var offset : vec4<u32> = t[entry];
          var met : vec4<u32> = t[entry + 1u];
          if (MASKED == 1u) {
            met = vec4<u32>((mask >> met.x) & 1u, (mask >> met.y) & 1u, (mask >> met.z) & 1u, (mask >> met.w) & 1u);
          } else {
            var d_y : vec4<u32> = t[entry + 2u];
            var d_x : vec4<u32> = t[entry + 3u];
            met = vec4<u32>(select(0u, 1u, (start_z + (met.x) < p.in_z && start_y + (d_y.x) < p.in_y && start_x + (d_x.x) < p.in_x)), select(0u, 1u, (start_z + (met.y) < p.in_z && start_y + (d_y.y) < p.in_y && start_x + (d_x.y) < p.in_x)),
                    select(0u, 1u, (start_z + (met.z) < p.in_z && start_y + (d_y.z) < p.in_y && start_x + (d_x.z) < p.in_x)), select(0u, 1u, (start_z + (met.w) < p.in_z && start_y + (d_y.w) < p.in_y && start_x + (d_x.w) < p.in_x)));
          }
          var v0 : f32 = 0.0f; if ((met.x) == 1u) { v0 = k_float(x[(base + (offset.x)) >> select(1u, 0u, T == 0u)], T, base + (offset.x)); }
          var v1 : f32 = 0.0f; if ((met.y) == 1u) { v1 = k_float(x[(base + (offset.y)) >> select(1u, 0u, T == 0u)], T, base + (offset.y)); }
          var v2 : f32 = 0.0f; if ((met.z) == 1u) { v2 = k_float(x[(base + (offset.z)) >> select(1u, 0u, T == 0u)], T, base + (offset.z)); }
          var v3 : f32 = 0.0f; if ((met.w) == 1u) { v3 = k_float(x[(base + (offset.w)) >> select(1u, 0u, T == 0u)], T, base + (offset.w)); }
          next_x[i] = vec4<f32>(v0, v1, v2, v3);
        }
      }
      for (var i : u32 = 0u; i < 2u; i += 1u) {
        var item : u32 = k_lid.x + i * GROUP;
        if (i * GROUP < 4u * (8u * (GROUP / COLS)) && item < 4u * (8u * (GROUP / COLS))) {
          var channel : u32 = tile_o * (8u * (GROUP / COLS)) + item / 4u;
          var k_w : u32 = k + 4u * (item % 4u);
          next_w[i] = vec4<f32>(0.0f, 0.0f, 0.0f, 0.0f);
          if (channel < p.each_out && k_w < p.k) {
            var w_row : u32 = conv_group * p.w_group + channel * p.w_channel;
            if (W4 == 1u) {
              next_w[i] = bitcast<vec4<f32>>(w4[(w_row + k_w) / 4u]);
            } else {
              var w0 : f32 = 0.0f; if ((k_w) < p.k) { var k_to : u32 = w_row + (k_w); if (TABLED == 1u) { k_to = w_row + tw[k_w]; } w0 = k_float(w[(k_to) >> select(1u, 0u, TW == 0u)], TW, k_to); }
              var w1 : f32 = 0.0f; if ((k_w + 1u) < p.k) { var k_to : u32 = w_row + (k_w + 1u); if (TABLED == 1u) { k_to = w_row + tw[k_w + 1u]; } w1 = k_float(w[(k_to) >> select(1u, 0u, TW == 0u)], TW, k_to); }
              var w2 : f32 = 0.0f; if ((k_w + 2u) < p.k) { var k_to : u32 = w_row + (k_w + 2u); if (TABLED == 1u) { k_to = w_row + tw[k_w + 2u]; } w2 = k_float(w[(k_to) >> select(1u, 0u, TW == 0u)], TW, k_to); }
              var w3 : f32 = 0.0f; if ((k_w + 3u) < p.k) { var k_to : u32 = w_row + (k_w + 3u); if (TABLED == 1u) { k_to = w_row + tw[k_w + 3u]; } w3 = k_float(w[(k_to) >> select(1u, 0u, TW == 0u)], TW, k_to); }
              next_w[i] = vec4<f32>(w0, w1, w2, w3);
            }
          }
        }
      }
    }
    if (s > 0u) {
      for (var q : u32 = 0u; q < 4u; q += 1u) {
        var a : array<vec4<f32>, 8>;
        for (var i : u32 = 0u; i < 8u; i += 1u) { a[i] = ws[q * (SIZE_W / 4u) + line + i * (GROUP / COLS)]; }
        for (var j : u32 = 0u; j < 8u; j += 1u) {
          if (j < EACH) {
            var b : vec4<f32> = xs[q * 128u + column + j * COLS];
            for (var i : u32 = 0u; i < 8u; i += 1u) {
              acc[i * 8u + j] += a[i].x * b.x;
              acc[i * 8u + j] += a[i].y * b.y;
              acc[i * 8u + j] += a[i].z * b.z;
              acc[i * 8u + j] += a[i].w * b.w;
            }
          }
        }
      }
    }
    workgroupBarrier();
    if (s < steps) {
      for (var i : u32 = 0u; i < 4u; i += 1u) {
        if (i < 512u / GROUP) { xs[k_lid.x + i * GROUP] = next_x[i]; }
      }
      for (var i : u32 = 0u; i < 2u; i += 1u) {
        var item : u32 = k_lid.x + i * GROUP;
        if (i * GROUP < 4u * (8u * (GROUP / COLS)) && item < 4u * (8u * (GROUP / COLS))) { ws[item % 4u * (SIZE_W / 4u) + item / 4u] = next_w[i]; }
      }
    }
    workgroupBarrier();
  }
  var step : vec4<u32> = t[2u];
  for (var j : u32 = 0u; j < 8u; j += 1u) {
    var place : u32 = tile_p * 128u + column + j * COLS;
    if (j < EACH && place < p.places) {
      var whose : u32 = k_quotient(place, p.plane_m, p.plane_s);
      var to : u32 = place - whose * p.plane;
      if (STEPPED == 1u) {
        var to_z : u32 = k_quotient(to, p.slice_m, p.slice_s);
        var in_z : u32 = to - to_z * p.slice;
        var to_y : u32 = k_quotient(in_z, p.row_m, p.row_s);
        to = to_z * step.x + to_y * step.y + (in_z - to_y * p.row) * step.z + step.w;
      }
      to += whose * p.y_image + conv_group * p.each_out * p.y_plane + part * p.y_part;
      for (var i : u32 = 0u; i < 8u; i += 1u) {
        var channel : u32 = tile_o * (8u * (GROUP / COLS)) + line + i * (GROUP / COLS);
        if (channel < p.each_out) { y[to + channel * p.y_plane] = bitcast<u32>(acc[i * 8u + j]); }
      }
    }
  }
}
