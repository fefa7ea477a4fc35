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
@id(3) override HAS_BIAS : u32 = 0u;
@id(4) override KY : u32 = 3u;
@id(5) override KX : u32 = 3u;
@id(6) override SY : u32 = 1u;
@id(7) override SX : u32 = 1u;
@id(8) override DY : u32 = 1u;
@id(9) override DX : u32 = 1u;
struct Params { groups : u32,
  in_y : u32,
  in_x : u32,
  pad_y : u32,
  pad_x : u32,
  out_y : u32,
  words : u32, words_m : u32, words_s : u32,
  blocks : u32, blocks_m : u32, blocks_s : u32,
  channels : u32, channels_m : u32, channels_s : u32,
  each_out : u32,
  n : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> w : array<u32>;
@group(0) @binding(2) var<storage, read_write> bias : array<u32>;
@group(0) @binding(3) var<storage, read_write> y : array<u32>;
@compute @workgroup_size(GROUP) fn conv_depthwise(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var index : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x;
  if (index < p.n) {
    var line : u32 = k_quotient(index, p.words_m, p.words_s);
    var word : u32 = index - line * p.words;
    var plane : u32 = k_quotient(line, p.blocks_m, p.blocks_s);
    var top : u32 = (line - plane * p.blocks) * 4u;
    var image : u32 = k_quotient(plane, p.channels_m, p.channels_s);
    var channel : u32 = plane - image * p.channels;
    var x_plane : u32 = plane;
    if (p.each_out > 1u) { x_plane = plane / p.each_out; }
    var cols : u32 = select(2u, 1u, T == 0u);
    var start_y : u32 = top * SY - p.pad_y;
    var start_x : u32 = word * cols * SX - p.pad_x;
    var acc : array<f32, 8>;
    var first : f32 = 0.0f;
    if (HAS_BIAS == 1u) { first = k_float(bias[(channel) >> select(1u, 0u, T == 0u)], T, channel); }
    for (var i : u32 = 0u; i < 8u; i += 1u) { acc[i] = first; }
    for (var r : u32 = 0u; r < 3u * SY + (KY - 1u) * DY + 1u; r += 1u) {
      if (start_y + r < p.in_y) {
        var at : u32 = (x_plane * p.in_y + start_y + r) * p.in_x + start_x;
        for (var k : u32 = 0u; k < KX; k += 1u) {
          for (var c : u32 = 0u; c < 2u; c += 1u) {
            if (c < cols && start_x + c * SX + k * DX < p.in_x) {
              var v : f32 = k_float(x[(at + c * SX + k * DX) >> select(1u, 0u, T == 0u)], T, at + c * SX + k * DX);
              for (var j : u32 = 0u; j < 4u; j += 1u) {
                if (r >= j * SY && (r - j * SY) % DY == 0u && (r - j * SY) / DY < KY) {
                  acc[c * 4u + j] += v * k_float(w[((channel * KY + (r - j * SY) / DY) * KX + k) >> select(1u, 0u, TW == 0u)], TW, (channel * KY + (r - j * SY) / DY) * KX + k);
                }
              }
            }
          }
        }
      }
    }
    for (var j : u32 = 0u; j < 4u; j += 1u) {
      if (top + j < p.out_y) {
        var to : u32 = (plane * p.out_y + top + j) * p.words + word;
        if (T == 0u) {
          y[to] = bitcast<u32>(acc[j]);
        } else {
          y[to] = k_narrow(bitcast<u32>(acc[j]), T) | (k_narrow(bitcast<u32>(acc[4u + j]), T) << 16u);
        }
      }
    }
  }
}
