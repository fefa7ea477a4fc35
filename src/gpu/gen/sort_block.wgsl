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
fn k_item(low : u32, high : u32, k : u32, T : u32, descending : u32) -> vec4<u32> {
  var key : u32 = low;
  var top : u32 = 0u;
  if (T == 9u) {
    top = k_key_of(high, T, 0u);
  } else {
    key = k_key_of(low, T, 0u);
  }
  if (descending == 1u) {
    key = ~key;
    top = ~top;
  }
  return vec4<u32>(key, top, k, 0u);
}
fn k_item_before(a : vec4<u32>, b : vec4<u32>, T : u32) -> bool {
  if (T == 9u && a.y != b.y) { return a.y < b.y; }
  if (a.x != b.x) { return a.x < b.x; }
  return a.z < b.z;
}
@id(1) override T : u32 = 0u;
@id(2) override TO : u32 = 0u;
@id(3) override DESCENDING : u32 = 0u;
@id(4) override SIZE : u32 = 64u;
@id(5) override CAPACITY : u32 = 64u;
@id(6) override HIGHS : u32 = 1u;
@id(7) override FROM_ITEMS : u32 = 0u;
@id(8) override FINAL : u32 = 0u;
struct Params { groups : u32,
  lines : u32,
  n : u32,
  inner : u32,
  items : u32,
  pieces : u32,
  take : u32,
  kept : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> from_items : array<u32>;
@group(0) @binding(2) var<storage, read_write> y : array<u32>;
@group(0) @binding(3) var<storage, read_write> to_items : array<u32>;
var<workgroup> keys : array<u32, CAPACITY>;
var<workgroup> highs : array<u32, HIGHS>;
var<workgroup> places : array<u32, CAPACITY>;
@compute @workgroup_size(GROUP) fn sort_block(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  for (var t : u32 = k_lid.x; t < CAPACITY; t += GROUP) {
    var i : u32 = t;
    if ((p.inner > 1u && FROM_ITEMS == 0u && SIZE < CAPACITY)) { i = (t % (CAPACITY / SIZE)) * SIZE + t / (CAPACITY / SIZE); }
    var piece : u32 = (k_wid.y * k_wn.x + k_wid.x) * (CAPACITY / SIZE) + i / SIZE;
    var line : u32 = piece / p.pieces;
    var k : u32 = (piece - line * p.pieces) * SIZE + i % SIZE;
    var item : vec4<u32> = vec4<u32>(0xffffffffu, 0xffffffffu, 0xffffffffu, 0u);
    if (line < p.lines && k < p.items) {
      if (FROM_ITEMS == 1u) {
        item = vec4<u32>(from_items[select(2u, 3u, T == 9u) * (line * p.items + k)], select(0u, from_items[select(2u, 3u, T == 9u) * (line * p.items + k) + 1u], T == 9u), from_items[select(2u, 3u, T == 9u) * (line * p.items + k) + select(2u, 3u, T == 9u) - 1u], 0u);
      } else {
        var slab : u32 = line / p.inner;
        item = k_item(select(k_element(x[(select((slab * p.n + k) * p.inner + (line - slab * p.inner), 0u, T == 9u)) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, select((slab * p.n + k) * p.inner + (line - slab * p.inner), 0u, T == 9u)), x[select(0u, 2u * ((slab * p.n + k) * p.inner + (line - slab * p.inner)), T == 9u)], T == 9u), x[select(0u, 2u * ((slab * p.n + k) * p.inner + (line - slab * p.inner)) + 1u, T == 9u)], k, T, DESCENDING);
      }
    }
    keys[i] = item.x; if (T == 9u) { highs[i] = item.y; } places[i] = item.z;
  }
  workgroupBarrier();
  for (var run : u32 = 2u; run <= SIZE; run = run << 1u) {
    for (var apart : u32 = run >> 1u; apart > 0u; apart = apart >> 1u) {
      for (var t : u32 = k_lid.x; t < CAPACITY / 2u; t += GROUP) {
        var i : u32 = 2u * t - (t & (apart - 1u));
        var j : u32 = i + apart;
        var a : vec4<u32> = vec4<u32>(keys[i], select(0u, highs[select(0u, i, T == 9u)], T == 9u), places[i], 0u);
        var b : vec4<u32> = vec4<u32>(keys[j], select(0u, highs[select(0u, j, T == 9u)], T == 9u), places[j], 0u);
        var up : bool = (i & (SIZE - 1u) & run) == 0u;
        if (k_item_before(b, a, T) == up) {
          keys[i] = b.x; if (T == 9u) { highs[i] = b.y; } places[i] = b.z;
          keys[j] = a.x; if (T == 9u) { highs[j] = a.y; } places[j] = a.z;
        }
      }
      workgroupBarrier();
    }
  }
  for (var t : u32 = k_lid.x; t < CAPACITY; t += GROUP) {
    var i : u32 = t;
    if ((p.inner > 1u && FROM_ITEMS == 0u && SIZE < CAPACITY)) { i = (t % (CAPACITY / SIZE)) * SIZE + t / (CAPACITY / SIZE); }
    var piece : u32 = (k_wid.y * k_wn.x + k_wid.x) * (CAPACITY / SIZE) + i / SIZE;
    var line : u32 = piece / p.pieces;
    var part : u32 = piece - line * p.pieces;
    var rank : u32 = i % SIZE;
    if (line < p.lines && rank < p.take && part * SIZE + rank < p.items) {
      var item : vec4<u32> = vec4<u32>(keys[i], select(0u, highs[select(0u, i, T == 9u)], T == 9u), places[i], 0u);
      if (FINAL == 1u) {
        var slab : u32 = line / p.inner;
        { var to : u32 = ((slab) * p.take + (rank)) * p.inner + (line - slab * p.inner); var source : u32 = ((slab) * p.n + item.z) * p.inner + (line - slab * p.inner); if (TO == 9u) { y[2u * to] = item.z; y[2u * to + 1u] = 0u; } else { if (TO != 0u) { y[to] = item.z; } else { if (T == 9u) { y[2u * to] = x[2u * source]; y[2u * to + 1u] = x[2u * source + 1u]; } else { y[to] = k_element(x[(source) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, source); } } } }
      } else {
        to_items[select(2u, 3u, T == 9u) * (line * p.kept + part * p.take + rank)] = item.x; if (T == 9u) { to_items[3u * (line * p.kept + part * p.take + rank) + 1u] = item.y; } to_items[select(2u, 3u, T == 9u) * (line * p.kept + part * p.take + rank) + select(2u, 3u, T == 9u) - 1u] = item.z;
      }
    }
  }
}
