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
fn k_key_of(bits : u32, T : u32, zeros : u32) -> u32 {
  if ((T == 0u || T == 1u || T == 2u)) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
    if (zeros == 0u && bits == 0x80000000u) { return 0x80000000u; }
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
  }
  if ((T == 4u || T == 6u || T == 7u) || T == 9u) { return bits ^ 0x80000000u; }
  return bits;
}
fn k_key_value(key : u32, T : u32) -> u32 {
  if ((T == 0u || T == 1u || T == 2u)) {
    if (key == 0xffffffffu) { return 0x7fc00000u; }
    return select(~key, key & 0x7fffffffu, key >= 0x80000000u);
  }
  if ((T == 4u || T == 6u || T == 7u) || T == 9u) { return key ^ 0x80000000u; }
  return key;
}
fn k_keys(low : u32, high : u32, T : u32, zeros : u32, smallest : u32) -> vec2<u32> {
  if (T == 9u) {
    if (smallest == 1u) { return vec2<u32>(~low, ~k_key_of(high, T, 0u)); }
    return vec2<u32>(low, k_key_of(high, T, 0u));
  }
  var key : u32 = k_key_of(low, T, zeros);
  if (smallest == 1u && !((T == 0u || T == 1u || T == 2u) && key == 0xffffffffu)) { key = ~key; }
  return vec2<u32>(key, 0u);
}
fn k_key_above(a : vec2<u32>, b : vec2<u32>, T : u32) -> bool {
  if (T == 9u) { return a.y > b.y || (a.y == b.y && a.x > b.x); }
  return a.x > b.x;
}
@id(1) override T : u32 = 0u;
@id(2) override SMALLEST : u32 = 0u;
@id(3) override LANES : u32 = 32u;
@id(4) override STRIDED : u32 = 0u;
@id(5) override STAGE : u32 = 0u;
@id(6) override TO : u32 = 7u;
@id(7) override IS_TOKEN : u32 = 0u;
struct Params { groups : u32,
  lines : u32,
  n : u32,
  inner : u32,
  chunks : u32,
  chunk : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
@group(0) @binding(2) var<storage, read_write> best : array<u32>;
var<workgroup> red : array<u32, GROUP>;
var<workgroup> red_high : array<u32, GROUP>;
var<workgroup> red_at : array<u32, GROUP>;
fn k_better(a : vec4<u32>, b : vec4<u32>, T : u32) -> vec4<u32> {
  if (b.z == 0xffffffffu) { return a; }
  if (a.z == 0xffffffffu) { return b; }
  if (a.x == b.x && a.y == b.y) { return vec4<u32>(a.x, a.y, min(a.z, b.z), 0u); }
  if (k_key_above(vec2<u32>(b.x, b.y), vec2<u32>(a.x, a.y), T)) { return b; }
  return a;
}
@compute @workgroup_size(GROUP) fn arg(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var lane : u32 = select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u);
  var block : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.chunks;
  var piece : u32 = (k_wid.y * k_wn.x + k_wid.x) - block * p.chunks;
  var line : u32 = block * (GROUP / LANES) + select(k_lid.x / LANES, k_lid.x % (GROUP / LANES), STRIDED == 1u);
  var slab : u32 = line / p.inner;
  var base : u32 = slab * p.n * p.inner + (line - slab * p.inner);
  var end : u32 = select(0u, min((piece + 1u) * p.chunk, p.n), line < p.lines);
  var a : vec4<u32> = vec4<u32>(0u, 0u, 0xffffffffu, 0u);
  for (var k : u32 = piece * p.chunk + lane; k < end; k += LANES) {
    var at : u32 = base + k * p.inner;
    var b : vec4<u32> = vec4<u32>(0u, 0u, k, 0u);
    if (STAGE == 2u) {
      b = vec4<u32>(best[3u * at], best[3u * at + 1u], best[3u * at + 2u], 0u);
    } else {
      var key : vec2<u32> = vec2<u32>(0u, 0u);
      if (T == 9u) {
        key = k_keys(x[2u * at], x[2u * at + 1u], T, 0u, SMALLEST);
      } else {
        key = k_keys(k_element(x[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at), 0u, T, 0u, SMALLEST);
      }
      b = vec4<u32>(key.x, key.y, k, 0u);
    }
    a = k_better(a, b, T);
  }
  var width : u32 = 1u;
  workgroupBarrier();
  red[k_lid.x] = a.x;
  red_high[k_lid.x] = a.y;
  red_at[k_lid.x] = a.z;
  workgroupBarrier();
  for (var w : u32 = LANES / 2u; w >= width; w = w >> 1u) {
    if (lane < w) {
      var other : u32 = k_lid.x + w * select(1u, (GROUP / LANES), STRIDED == 1u);
      a = k_better(a, vec4<u32>(red[other], red_high[other], red_at[other], 0u), T);
      red[k_lid.x] = a.x;
      red_high[k_lid.x] = a.y;
      red_at[k_lid.x] = a.z;
    }
    workgroupBarrier();
  }
  if (lane == 0u && line < p.lines) {
    if (STAGE == 1u) {
      var to : u32 = 3u * (line * p.chunks + piece);
      best[to] = a.x;
      best[to + 1u] = a.y;
      best[to + 2u] = a.z;
    } else {
      var index : u32 = select(a.z, 0u, a.z == 0xffffffffu);
      if (IS_TOKEN == 1u && (k_key_value(a.x, T) & 0x7f800000u) == 0x7f800000u) { index = 0xffffffffu; }
      if (TO == 9u) {
        y[2u * line] = index;
        y[2u * line + 1u] = 0u;
      } else {
        y[line] = index;
      }
    }
  }
}
