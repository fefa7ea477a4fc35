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
@id(2) override TO : u32 = 0u;
@id(3) override AXES : u32 = 2u;
@id(4) override MODE : u32 = 0u;
@id(5) override PADDING : u32 = 0u;
@id(6) override ALIGN : u32 = 0u;
struct Params { groups : u32,
  in_z : u32,
  in_y : u32,
  in_x : u32,
  channels : u32,
  places : u32,
  words : u32, words_m : u32, words_s : u32,
  chunks : u32, chunks_m : u32, chunks_s : u32,
  n : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> grid : array<u32>;
@group(0) @binding(2) var<storage, read_write> y : array<u32>;
fn k_fixed(bits : u32) -> vec2<u32> {
  var e : u32 = (bits >> 23u) & 0xffu;
  var m : u32 = (bits & 0x7fffffu) | 0x800000u;
  if (e < 73u || e >= 155u) { return vec2<u32>(0u, 0u); }
  if (e < 91u) { return vec2<u32>(0u, m >> (91u - e)); }
  if (e >= 123u) { return vec2<u32>(m << (e - 123u), 0u); }
  return vec2<u32>((m >> 1u) >> (122u - e), m << (e - 91u));
}
fn k_negate(v : vec2<u32>) -> vec2<u32> { return vec2<u32>(~v.x + select(0u, 1u, v.y == 0u), ~v.y + 1u); }
fn k_place(g : u32, size : u32) -> vec2<u32> {
  var bits : u32 = g;
  if (PADDING == 2u && (bits & 0x7fffffffu) >= 0x5a000000u) { return vec2<u32>(0u, 0u); }
  if ((bits & 0x7fffffffu) >= 0x7f800000u) {
    if (PADDING == 0u) { return vec2<u32>(0x80000000u, 0u); }
    if ((bits & 0x7fffffffu) > 0x7f800000u) { bits = 0xc1000000u; }
  }
  if (PADDING != 2u && (bits & 0x7fffffffu) > 0x41000000u) { bits = (bits & 0x80000000u) | 0x41000000u; }
  var v : vec2<u32> = k_fixed(bits);
  if ((bits >> 31u) == 1u) { v = k_negate(v); }
  v = vec2<u32>(v.x + 0x8000000u, v.y);
  if (PADDING == 2u) { v = vec2<u32>(v.x & 0x1fffffffu, v.y); }
  var below : u32 = v.x >> 31u;
  if (below == 1u) { v = k_negate(v); }
  var span : u32 = select(size, size - 1u, ALIGN == 1u);
  var low : u32 = v.y * span;
  var carry : u32 = k_mulhi(v.y, span);
  var mid : u32 = carry + v.x * span;
  var top : u32 = k_mulhi(v.x, span) + select(0u, 1u, mid < carry);
  var r : vec2<u32> = vec2<u32>((top << 4u) | (mid >> 28u), (mid << 4u) | (low >> 28u) | select(1u, 0u, (low << 4u) == 0u));
  if (below == 1u) { r = k_negate(r); }
  if (ALIGN == 0u) { r = vec2<u32>(r.x - select(0u, 1u, r.y < 0x80000000u), r.y ^ 0x80000000u); }
  return r;
}
fn k_pad_place(at : vec2<u32>, size : u32) -> vec2<u32> {
  var r : vec2<u32> = at;
  if (PADDING == 0u) { return r; }
  if (PADDING == 2u) {
    var turn : u32 = select(2u * size - 1u, 2u * (size - 1u), ALIGN == 1u);
    var middle : u32 = select(0x80000000u, 0u, ALIGN == 1u);
    if ((r.x >> 31u) == 0u && (r.x >= size || (r.x == size - 1u && r.y >= middle))) {
      r = k_negate(vec2<u32>(r.x - turn, r.y));
    }
  }
  if ((r.x >> 31u) == 1u) { return vec2<u32>(0u, 0u); }
  if (r.x >= size - 1u) { return vec2<u32>(size - 1u, 0u); }
  return r;
}
fn k_pad_index(at : u32, size : u32) -> u32 {
  if (PADDING == 0u) { return at; }
  if (PADDING == 1u) { return select(min(at, size - 1u), 0u, (at >> 31u) == 1u); }
  if (size == 1u) { return 0u; }
  if (ALIGN == 1u) {
    var k : u32 = select(at, 0u - at, (at >> 31u) == 1u) % (2u * (size - 1u));
    return min(k, 2u * (size - 1u) - k);
  }
  var k : u32 = select(at, 0u - at - 1u, (at >> 31u) == 1u) % (2u * size);
  return min(k, 2u * size - 1u - k);
}
fn k_cubic(d : f32) -> f32 {
  if (d <= 1.0f) { return (1.25f * d - 2.25f) * d * d + 1.0f; }
  return (((d - 5.0f) * d + 8.0f) * d - 4.0f) * -0.75f;
}
fn k_tap(at : vec2<u32>, i : u32, size : u32) -> vec2<u32> {
  if (MODE == 1u) {
    var r : vec2<u32> = k_pad_place(at, size);
    var up : u32 = select(0u, 1u, r.y > 0x80000000u || (r.y == 0x80000000u && (r.x & 1u) == 1u));
    return vec2<u32>(r.x + up, 0x3f800000u);
  }
  if (MODE == 0u) {
    var r : vec2<u32> = k_pad_place(at, size);
    var f : f32 = f32(r.y) * 2.3283064365386963e-10f;
    return vec2<u32>(r.x + i, bitcast<u32>(select(1.0f - f, f, i == 1u)));
  }
  var t : f32 = f32(at.y) * 2.3283064365386963e-10f;
  return vec2<u32>(k_pad_index(at.x + i - 1u, size), bitcast<u32>(k_cubic(abs(t + 1.0f - f32(i)))));
}
@compute @workgroup_size(GROUP) fn grid_sample(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var index : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x;
  if (index < p.n) {
    var shift : u32 = ((2103828u >> (((TO) & 15u) * 2u)) & 3u);
    var batch : u32 = k_quotient(index, p.words_m, p.words_s);
    var w : u32 = index - batch * p.words;
    var image : u32 = k_quotient(batch, p.chunks_m, p.chunks_s);
    var c_first : u32 = (batch - image * p.chunks) * 8u;
    var c_end : u32 = min(c_first + 8u, p.channels);
    var taps : u32 = select(select(4u, 2u, MODE == 0u), 1u, MODE == 1u);
    var taps_z : u32 = select(1u, taps, AXES == 3u);
    var words : array<u32, 8>;
    for (var c : u32 = 0u; c < 8u; c += 1u) { words[c] = 0u; }
    for (var e : u32 = 0u; e < (1u << shift); e += 1u) {
      var at : u32 = (image * p.places + (w << shift) + e) * AXES;
      var at_x : vec2<u32> = k_place(k_element(grid[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at), p.in_x);
      var at_y : vec2<u32> = k_place(k_element(grid[(at + 1u) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at + 1u), p.in_y);
      var at_z : vec2<u32> = vec2<u32>(0u, 0u);
      if (AXES == 3u) { at_z = k_place(k_element(grid[(at + 2u) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at + 2u), p.in_z); }
      var sums : array<f32, 8>;
      for (var c : u32 = 0u; c < 8u; c += 1u) { sums[c] = 0.0f; }
      for (var i : u32 = 0u; i < taps_z; i += 1u) {
        var z : vec2<u32> = vec2<u32>(0u, 0x3f800000u);
        if (AXES == 3u) { z = k_tap(at_z, i, p.in_z); }
        for (var j : u32 = 0u; j < taps; j += 1u) {
          var v : vec2<u32> = k_tap(at_y, j, p.in_y);
          for (var k : u32 = 0u; k < taps; k += 1u) {
            var u : vec2<u32> = k_tap(at_x, k, p.in_x);
            if (z.x < p.in_z && v.x < p.in_y && u.x < p.in_x) {
              var weight : f32 = bitcast<f32>(z.y) * bitcast<f32>(v.y) * bitcast<f32>(u.y);
              var plane : u32 = image * p.channels + c_first;
              for (var c : u32 = 0u; c < c_end - c_first; c += 1u) {
                sums[c] += weight * k_float(x[((((plane + c) * p.in_z + z.x) * p.in_y + v.x) * p.in_x + u.x) >> select(1u, 0u, T == 0u)], T, (((plane + c) * p.in_z + z.x) * p.in_y + v.x) * p.in_x + u.x);
              }
            }
          }
        }
      }
      for (var c : u32 = 0u; c < 8u; c += 1u) {
        words[c] = k_put(words[c], TO, e, k_narrow(bitcast<u32>(sums[c]), TO));
      }
    }
    for (var c : u32 = c_first; c < c_end; c += 1u) {
      y[(image * p.channels + c) * p.words + w] = words[c - c_first];
    }
  }
}
