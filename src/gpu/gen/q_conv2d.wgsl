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
fn k_split_bits(bits : u32) -> vec2<u32> {
  var e : u32 = (bits >> 23u) & 0xffu;
  var m : u32 = bits & 0x7fffffu;
  if (e != 0u) { return vec2<u32>(m | 0x800000u, u32(i32(e) - 150)); }
  var up : u32 = 23u - firstLeadingBit(m);
  return vec2<u32>(m << up, u32(-149 - i32(up)));
}
fn k_kind(bits : u32) -> u32 {
  var a : u32 = bits & 0x7fffffffu;
  return select(select(select(0u, 1u, a == 0u), 2u, a == 0x7f800000u), 3u, a > 0x7f800000u);
}
fn k_kind_of(a : u32, b : u32, y : u32) -> u32 {
  if (a == 3u || b == 3u || y == 3u) { return 3u; }
  var none : bool = a == 1u || b == 1u;
  var endless : bool = a == 2u || b == 2u;
  if ((none && endless) || (none && y == 1u) || (endless && y == 2u)) { return 3u; }
  if (none || y == 2u) { return 1u; }
  if (endless || y == 1u) { return 2u; }
  return 0u;
}
fn k_multiplier(a : u32, b : u32, y : u32) -> vec4<u32> {
  var kind : u32 = k_kind_of(k_kind(a), k_kind(b), k_kind(y)) | ((a ^ b ^ y) & 0x80000000u);
  if ((kind & 3u) != 0u) { return vec4<u32>(0u, 0u, 0u, kind); }
  var sa : vec2<u32> = k_split_bits(a & 0x7fffffffu);
  var sb : vec2<u32> = k_split_bits(b & 0x7fffffffu);
  var sy : vec2<u32> = k_split_bits(y & 0x7fffffffu);
  var low : u32 = sa.x * sb.x;
  var rest : u32 = (k_mulhi(sa.x, sb.x) << 8u) | (low >> 24u);
  var q0 : u32 = rest / sy.x;
  var q1 : u32 = 0u;
  rest = rest - q0 * sy.x;
  for (var i : u32 = 0u; i < 7u; i += 1u) {
    rest = rest << 8u;
    if (i < 3u) { rest = rest | ((low >> (16u - 8u * i)) & 0xffu); }
    var digit : u32 = rest / sy.x;
    rest = rest - digit * sy.x;
    q1 = (q1 << 8u) | (q0 >> 24u);
    q0 = (q0 << 8u) | digit;
  }
  var drop : u32 = firstLeadingBit(q1) - 20u;
  var below : u32 = q0 & ((1u << drop) - 1u);
  var tie : u32 = 1u << (drop - 1u);
  var hi : u32 = q1 >> drop;
  var lo : u32 = (q0 >> drop) | (q1 << (32u - drop));
  if (below > tie || (below == tie && (rest != 0u || (lo & 1u) == 1u))) {
    lo = lo + 1u;
    if (lo == 0u) { hi = hi + 1u; }
  }
  return vec4<u32>(hi, lo, u32(i32(sa.y) + i32(sb.y) - i32(sy.y) - 32 + i32(drop)), kind);
}
fn k_to_integer(hi : u32, lo : u32, e : i32) -> u32 {
  if (e >= 0) {
    if (hi != 0u || lo >= 1024u || e > 10) { return select(1024u, 0u, hi == 0u && lo == 0u); }
    return min(lo << u32(e), 1024u);
  }
  if (e < -54) { return 0u; }
  var f : u32 = u32(-e);
  var whole : u32 = 0u;
  var first : u32 = 0u;
  var more : bool = false;
  if (f > 32u) {
    var g : u32 = f - 32u;
    whole = hi >> g;
    first = (hi >> (g - 1u)) & 1u;
    more = (hi & ((1u << (g - 1u)) - 1u)) != 0u || lo != 0u;
  } else {
    if ((select(hi >> (f & 31u), 0u, f == 32u)) != 0u) { return 1024u; }
    whole = select((lo >> (f & 31u)) | (hi << ((32u - f) & 31u)), hi, f == 32u);
    first = (lo >> (f - 1u)) & 1u;
    more = (lo & ((1u << (f - 1u)) - 1u)) != 0u;
  }
  if (first == 1u && (more || (whole & 1u) == 1u)) { whole = whole + 1u; }
  return min(whole, 1024u);
}
fn k_scale_sum(sum : u32, m : vec4<u32>) -> u32 {
  var p0 : u32 = sum * m.y;
  var carry : u32 = k_mulhi(sum, m.y);
  var p1 : u32 = sum * m.x + carry;
  var p2 : u32 = k_mulhi(sum, m.x) + select(0u, 1u, p1 < carry);
  var n : u32 = select(select(0u, 33u + firstLeadingBit(p1 | 1u), p1 != 0u), 65u + firstLeadingBit(p2 | 1u), p2 != 0u);
  if (n <= 53u) { return k_to_integer(p1, p0, i32(m.z)); }
  var drop : u32 = n - 53u;
  var below : u32 = select(p0 & ((1u << (drop & 31u)) - 1u), p0, drop == 32u);
  var tie : u32 = 1u << (drop - 1u);
  var lo : u32 = select((p0 >> (drop & 31u)) | (p1 << ((32u - drop) & 31u)), p1, drop == 32u);
  var hi : u32 = select((p1 >> (drop & 31u)) | (p2 << ((32u - drop) & 31u)), p2, drop == 32u);
  if (below > tie || (below == tie && (lo & 1u) == 1u)) {
    lo = lo + 1u;
    if (lo == 0u) { hi = hi + 1u; }
  }
  return k_to_integer(hi, lo, i32(m.z) + i32(drop));
}
fn k_requantise(sum : u32, m : vec4<u32>, zero : i32, lo : i32, hi : i32) -> i32 {
  var kind : u32 = m.w & 3u;
  var magnitude : u32 = select(sum, 0u - sum, sum >= 0x80000000u);
  if (kind == 3u || (kind == 2u && sum == 0u)) { return 0; }
  var y : u32 = 0u;
  if (kind == 2u) { y = 1024u; }
  if (kind == 0u) { y = k_scale_sum(magnitude, m); }
  var negative : bool = ((sum ^ m.w) >> 31u) == 1u;
  return clamp(select(i32(y), -i32(y), negative) + zero, lo, hi);
}
@id(1) override TX : u32 = 4u;
@id(2) override TW : u32 = 4u;
@id(3) override TY : u32 = 4u;
struct Params { groups : u32,
  count : u32,
  out_channels : u32,
  out_h : u32,
  out_w : u32,
  in_channels : u32,
  in_h : u32,
  in_w : u32,
  in_each : u32,
  out_each : u32,
  kernel_h : u32,
  kernel_w : u32,
  stride_h : i32,
  stride_w : i32,
  dilation_h : i32,
  dilation_w : i32,
  pad_h : i32,
  pad_w : i32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> w : array<u32>;
@group(0) @binding(2) var<storage, read_write> channels : array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> y : array<u32>;
@compute @workgroup_size(GROUP) fn q_conv2d(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var first : u32 = ((k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x) * 4u;
  var lo : i32 = select(-128, 0, TY == 5u);
  if (first < p.count) {
    var word : u32 = 0u;
    for (var e : u32 = 0u; e < 4u; e += 1u) {
      if (first + e < p.count) {
        var row : u32 = (first + e) / p.out_w;
        var place_x : i32 = i32(first + e - row * p.out_w);
        var plane : u32 = row / p.out_h;
        var place_y : i32 = i32(row - plane * p.out_h);
        var image : u32 = plane / p.out_channels;
        var channel : u32 = plane - image * p.out_channels;
        var about : vec4<u32> = channels[2u * channel + 1u];
        var x_plane : u32 = image * p.in_channels + channel / p.out_each * p.in_each;
        var w_at : u32 = channel * p.in_each * p.kernel_h * p.kernel_w;
        var sum : u32 = about.y;
        for (var c : u32 = 0u; c < p.in_each; c += 1u) {
          for (var i : u32 = 0u; i < p.kernel_h; i += 1u) {
            var at_y : i32 = place_y * p.stride_h + i32(i) * p.dilation_h - p.pad_h;
            for (var j : u32 = 0u; j < p.kernel_w; j += 1u) {
              var at_x : i32 = place_x * p.stride_w + i32(j) * p.dilation_w - p.pad_w;
              if (at_y >= 0 && at_y < i32(p.in_h) && at_x >= 0 && at_x < i32(p.in_w)) {
                var place : u32 = ((x_plane + c) * p.in_h + u32(at_y)) * p.in_w + u32(at_x);
                var tap : u32 = w_at + (c * p.kernel_h + i) * p.kernel_w + j;
                sum += (k_element(x[(place) >> ((2103828u >> (((TX) & 15u) * 2u)) & 3u)], TX, place) - about.z) * (k_element(w[(tap) >> ((2103828u >> (((TW) & 15u) * 2u)) & 3u)], TW, tap) - about.x);
              }
            }
          }
        }
        var q : i32 = k_requantise(sum, channels[2u * channel], i32(about.w), lo, lo + 255);
        word = word | ((u32(q) & 0xffu) << (8u * e));
      }
    }
    y[first >> 2u] = word;
  }
}
