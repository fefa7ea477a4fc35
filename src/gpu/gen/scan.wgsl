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
fn k_fold_split(m : f32, e : u32) -> vec2<u32> {
  var v : f32 = m;
  var at : u32 = e;
  if ((bitcast<u32>(v) & 0x7f800000u) == 0u) {
    v = v * 16777216.0f;
    at = at - 24u;
  }
  var bits : u32 = bitcast<u32>(v);
  var field : u32 = (bits >> 23u) & 0xffu;
  if (field == 0u || field == 0xffu) { return vec2<u32>(bits, 0u); }
  return vec2<u32>((bits & 0x807fffffu) | 0x3f800000u, at + field - 127u);
}
fn k_fold_mul64(a : vec2<u32>, b : vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x * b.x, k_mulhi(a.x, b.x) + a.x * b.y + a.y * b.x);
}
fn k_fold_in(low : u32, high : u32, OP : u32, T : u32) -> vec2<u32> {
  if (OP == 2u || OP == 3u) { return k_keys(low, high, T, 1u, select(0u, 1u, OP == 3u)); }
  if ((T == 0u || T == 1u || T == 2u)) {
    if (OP == 1u) { return k_fold_split(bitcast<f32>(low), 0u); }
    if (OP == 4u) { return vec2<u32>(low, 0u); }
    return vec2<u32>(low, bitcast<u32>(bitcast<f32>(low) * 2.3283064365386963e-10f));
  }
  return vec2<u32>(low, high);
}
fn k_fold(a : vec2<u32>, b : vec2<u32>, OP : u32, T : u32) -> vec2<u32> {
  if (OP == 2u || OP == 3u) {
    if (k_key_above(b, a, T)) { return b; }
    return a;
  }
  if ((T == 0u || T == 1u || T == 2u)) {
    if (OP == 1u) { return k_fold_split(bitcast<f32>(a.x) * bitcast<f32>(b.x), a.y + b.y); }
    var s : f32 = bitcast<f32>(a.x) + bitcast<f32>(b.x);
    var rest : f32 = bitcast<f32>(a.y) + bitcast<f32>(b.y);
    if (OP == 4u) {
      var part : f32 = s - bitcast<f32>(a.x);
      var lost : f32 = (bitcast<f32>(a.x) - (s - part)) + (bitcast<f32>(b.x) - part);
      rest = rest + lost;
    }
    return vec2<u32>(bitcast<u32>(s), bitcast<u32>(rest));
  }
  if (OP == 1u) {
    if (T == 9u) { return k_fold_mul64(a, b); }
    return vec2<u32>(a.x * b.x, 0u);
  }
  if (T == 9u) {
    var low : u32 = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
  }
  return vec2<u32>(a.x + b.x, 0u);
}
fn k_fold_power(e : i32) -> f32 { return bitcast<f32>(u32(e + 127) << 23u); }
fn k_fold_out(a : vec2<u32>, OP : u32, T : u32, count : f32) -> vec2<u32> {
  if (OP == 2u || OP == 3u) {
    var turned : bool = OP == 3u && !((T == 0u || T == 1u || T == 2u) && a.x == 0xffffffffu);
    if (T == 9u) {
      return vec2<u32>(select(a.x, ~a.x, turned), k_key_value(select(a.y, ~a.y, turned), T));
    }
    return vec2<u32>(k_key_value(select(a.x, ~a.x, turned), T), 0u);
  }
  if ((T == 0u || T == 1u || T == 2u)) {
    if (OP == 1u) {
      var e : i32 = clamp(i32(a.y), -300, 300);
      var third : i32 = e / 3;
      var r : f32 = bitcast<f32>(a.x) * k_fold_power(third) * k_fold_power(third);
      return vec2<u32>(bitcast<u32>(r * k_fold_power(e - 2 * third)), 0u);
    }
    if (OP == 4u) {
      if ((a.x & 0x7f800000u) == 0x7f800000u) { return vec2<u32>(a.x, 0u); }
      return vec2<u32>(bitcast<u32>(bitcast<f32>(a.x) + bitcast<f32>(a.y)), 0u);
    }
    if ((a.x & 0x7f800000u) != 0x7f800000u) { return vec2<u32>(bitcast<u32>(bitcast<f32>(a.x) / count), 0u); }
    return vec2<u32>(bitcast<u32>(bitcast<f32>(a.y) / count * 4294967296.0f), 0u);
  }
  return a;
}
@id(1) override T : u32 = 0u;
@id(2) override OP : u32 = 0u;
@id(3) override LANES : u32 = 32u;
@id(4) override STRIDED : u32 = 0u;
@id(5) override EXCLUSIVE : u32 = 0u;
@id(6) override REVERSE : u32 = 0u;
@id(7) override PACKED : u32 = 0u;
@id(8) override CUT : u32 = 0u;
struct Params { groups : u32,
  lines : u32,
  n : u32,
  inner : u32,
  blocks : u32,
  chunks : u32,
  chunk : u32,
  neutral : u32,
  neutral_high : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
@group(0) @binding(2) var<storage, read_write> folds : array<u32>;
var<workgroup> red : array<u32, GROUP>;
var<workgroup> red_high : array<u32, GROUP>;
@compute @workgroup_size(GROUP) fn scan(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var lane : u32 = select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u);
  var group : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.chunks;
  var piece : u32 = (k_wid.y * k_wn.x + k_wid.x) - group * p.chunks;
  var line : u32 = group * (GROUP / LANES) + select(k_lid.x / LANES, k_lid.x % (GROUP / LANES), STRIDED == 1u);
  var is_line : bool = line < p.lines;
  var slab : u32 = line / p.inner;
  var base : u32 = slab * p.n * p.inner + (line - slab * p.inner);
  var carry : vec2<u32> = vec2<u32>(p.neutral, p.neutral_high);
  if (CUT == 1u) {
    for (var c : u32 = lane; c < select(0u, piece, is_line); c += LANES) {
      var at : u32 = 2u * (line * p.chunks + select(c, p.chunks - 1u - c, REVERSE == 1u));
      carry = k_fold(carry, vec2<u32>(folds[at], folds[at + 1u]), OP, T);
    }
    workgroupBarrier(); red[k_lid.x] = carry.x; red_high[k_lid.x] = carry.y; workgroupBarrier(); for (var k_w : u32 = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) < k_w) { var k_b : u32 = k_lid.x + k_w * select(1u, (GROUP / LANES), STRIDED == 1u); carry = k_fold(carry, vec2<u32>(red[k_b], red_high[k_b]), OP, T); red[k_lid.x] = carry.x; red_high[k_lid.x] = carry.y; } workgroupBarrier(); } carry = vec2<u32>(red[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)], red_high[k_lid.x - select(k_lid.x % LANES, k_lid.x / (GROUP / LANES), STRIDED == 1u) * select(1u, (GROUP / LANES), STRIDED == 1u)]);
  }
  var begin : u32 = select(piece, p.chunks - 1u - piece, REVERSE == 1u) * p.chunk;
  var blocks : u32 = min(p.chunk, p.blocks - begin);
  for (var tile : u32 = 0u; tile < blocks; tile += LANES) {
    var turn : u32 = tile + lane;
    var first : u32 = (begin + select(turn, blocks - 1u - turn, REVERSE == 1u)) * 8u;
    var count : u32 = select(0u, min(8u, p.n - first), is_line && turn < blocks);
    var acc : vec2<u32> = vec2<u32>(p.neutral, p.neutral_high);
    for (var e : u32 = 0u; e < count; e += 1u) { acc = k_fold(acc, k_fold_in(select(k_element(x[(select(base + (first + e) * p.inner, 0u, T == 9u)) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, select(base + (first + e) * p.inner, 0u, T == 9u)), x[select(0u, 2u * (base + (first + e) * p.inner), T == 9u)], T == 9u), x[select(0u, 2u * (base + (first + e) * p.inner) + 1u, T == 9u)], OP, T), OP, T); }
    workgroupBarrier();
    red[k_lid.x] = acc.x;
    red_high[k_lid.x] = acc.y;
    workgroupBarrier();
    for (var w : u32 = 1u; w < LANES; w = w << 1u) {
      if (lane >= w) { acc = k_fold(vec2<u32>(red[k_lid.x - w * select(1u, (GROUP / LANES), STRIDED == 1u)], red_high[k_lid.x - w * select(1u, (GROUP / LANES), STRIDED == 1u)]), acc, OP, T); }
      workgroupBarrier();
      red[k_lid.x] = acc.x;
      red_high[k_lid.x] = acc.y;
      workgroupBarrier();
    }
    var before : vec2<u32> = carry;
    if (lane > 0u) { before = k_fold(carry, vec2<u32>(red[k_lid.x - select(1u, (GROUP / LANES), STRIDED == 1u)], red_high[k_lid.x - select(1u, (GROUP / LANES), STRIDED == 1u)]), OP, T); }
    var end : u32 = k_lid.x - lane * select(1u, (GROUP / LANES), STRIDED == 1u) + (LANES - 1u) * select(1u, (GROUP / LANES), STRIDED == 1u);
    carry = k_fold(carry, vec2<u32>(red[end], red_high[end]), OP, T);
    var word : u32 = 0u;
    for (var e : u32 = 0u; e < count; e += 1u) {
      var k : u32 = first + select(e, count - 1u - e, REVERSE == 1u);
      var at : u32 = base + k * p.inner;
      var after : vec2<u32> = k_fold(before, k_fold_in(select(k_element(x[(select(at, 0u, T == 9u)) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, select(at, 0u, T == 9u)), x[select(0u, 2u * (at), T == 9u)], T == 9u), x[select(0u, 2u * (at) + 1u, T == 9u)], OP, T), OP, T);
      var r : vec2<u32> = k_fold_out(before, OP, T, 1.0f);
      if (EXCLUSIVE == 0u) { r = k_fold_out(after, OP, T, 1.0f); }
      before = after;
      if (PACKED == 1u) {
        var shift : u32 = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
        word = k_put(word, T, k, k_narrow(r.x, T));
        var last : u32 = select((1u << shift) - 1u, 0u, REVERSE == 1u);
        if ((k & ((1u << shift) - 1u)) == last) {
          y[at >> shift] = word;
          word = 0u;
        }
      } else {
        if (T == 9u) {
          y[2u * at] = r.x;
          y[2u * at + 1u] = r.y;
        } else {
          y[at] = r.x;
        }
      }
    }
  }
}
