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
@id(1) override PARTS : u32 = 1u;
@id(2) override AT_T : u32 = 0u;
@id(3) override LOG : u32 = 2u;
@id(4) override ROUND_T : u32 = 0u;
struct Params { groups : u32,
  items : u32,
  step : u32,
  rows : u32,
  run : u32,
  run_m : u32,
  run_s : u32,
  pitch : u32,
  first : u32,
  inner : u32,
  limit : u32,
  per : u32,
  end0 : u32,
  end1 : u32,
  end2 : u32,
  end3 : u32,
  end4 : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x0 : array<u32>;
@group(0) @binding(1) var<storage, read_write> x1 : array<u32>;
@group(0) @binding(2) var<storage, read_write> x2 : array<u32>;
@group(0) @binding(3) var<storage, read_write> x3 : array<u32>;
@group(0) @binding(4) var<storage, read_write> x4 : array<u32>;
@group(0) @binding(5) var<storage, read_write> x5 : array<u32>;
@group(0) @binding(6) var<storage, read_write> at : array<u32>;
@group(0) @binding(7) var<storage, read_write> y : array<u32>;
@compute @workgroup_size(GROUP) fn place(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  if (ROUND_T != 0u) {
    var v : array<u32, 4>; var to : array<u32, 4>; for (var q : u32 = 0u; q < 4u; q += 1u) { var item : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x + q * p.step; to[q] = 0xffffffffu; if (item < p.items) { var r : u32 = select(k_mulhi(item, p.run_m) >> p.run_s, item, p.run == 1u); var c : u32 = item - r * p.run; var first : u32 = p.first; if (AT_T != 0u) { var k_n : u32 = 0u; if (p.per > 0u) { k_n = (r) / p.per; } var k_at : u32 = u32(k_index(AT_T, at[select((k_n), 2u * (k_n), AT_T == 9u)], at[select((k_n), 2u * (k_n) + 1u, AT_T == 9u)])); first = select(0xffffffffu, first + min(k_at, p.limit) * p.inner, k_at <= p.limit); } if (first != 0xffffffffu) { to[q] = r * p.pitch + first + c; if (PARTS == 1u || (c) < p.end0) { v[q] = (k_narrow(x0[2u * ((r) * select(p.end0, p.run, PARTS == 1u) + (c))], ROUND_T) | (k_narrow(x0[2u * ((r) * select(p.end0, p.run, PARTS == 1u) + (c)) + 1u], ROUND_T) << 16u)); } else { if (PARTS == 2u || (c) < p.end1) { v[q] = (k_narrow(x1[2u * ((r) * (select(p.end1, p.run, PARTS == 2u) - p.end0) + (c) - p.end0)], ROUND_T) | (k_narrow(x1[2u * ((r) * (select(p.end1, p.run, PARTS == 2u) - p.end0) + (c) - p.end0) + 1u], ROUND_T) << 16u)); } else { if (PARTS == 3u || (c) < p.end2) { v[q] = (k_narrow(x2[2u * ((r) * (select(p.end2, p.run, PARTS == 3u) - p.end1) + (c) - p.end1)], ROUND_T) | (k_narrow(x2[2u * ((r) * (select(p.end2, p.run, PARTS == 3u) - p.end1) + (c) - p.end1) + 1u], ROUND_T) << 16u)); } else { if (PARTS == 4u || (c) < p.end3) { v[q] = (k_narrow(x3[2u * ((r) * (select(p.end3, p.run, PARTS == 4u) - p.end2) + (c) - p.end2)], ROUND_T) | (k_narrow(x3[2u * ((r) * (select(p.end3, p.run, PARTS == 4u) - p.end2) + (c) - p.end2) + 1u], ROUND_T) << 16u)); } else { if (PARTS == 5u || (c) < p.end4) { v[q] = (k_narrow(x4[2u * ((r) * (select(p.end4, p.run, PARTS == 5u) - p.end3) + (c) - p.end3)], ROUND_T) | (k_narrow(x4[2u * ((r) * (select(p.end4, p.run, PARTS == 5u) - p.end3) + (c) - p.end3) + 1u], ROUND_T) << 16u)); } else { v[q] = (k_narrow(x5[2u * ((r) * (p.run - p.end4) + (c) - p.end4)], ROUND_T) | (k_narrow(x5[2u * ((r) * (p.run - p.end4) + (c) - p.end4) + 1u], ROUND_T) << 16u)); } } } } } } } } for (var q : u32 = 0u; q < 4u; q += 1u) { if (to[q] != 0xffffffffu) { y[to[q]] = v[q]; } }
  } else { if (LOG == 2u) {
    var v : array<u32, 4>; var to : array<u32, 4>; for (var q : u32 = 0u; q < 4u; q += 1u) { var item : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x + q * p.step; to[q] = 0xffffffffu; if (item < p.items) { var r : u32 = select(k_mulhi(item, p.run_m) >> p.run_s, item, p.run == 1u); var c : u32 = item - r * p.run; var first : u32 = p.first; if (AT_T != 0u) { var k_n : u32 = 0u; if (p.per > 0u) { k_n = (r) / p.per; } var k_at : u32 = u32(k_index(AT_T, at[select((k_n), 2u * (k_n), AT_T == 9u)], at[select((k_n), 2u * (k_n) + 1u, AT_T == 9u)])); first = select(0xffffffffu, first + min(k_at, p.limit) * p.inner, k_at <= p.limit); } if (first != 0xffffffffu) { to[q] = r * p.pitch + first + c; if (PARTS == 1u || (c) < p.end0) { v[q] = x0[(r) * select(p.end0, p.run, PARTS == 1u) + (c)]; } else { if (PARTS == 2u || (c) < p.end1) { v[q] = x1[(r) * (select(p.end1, p.run, PARTS == 2u) - p.end0) + (c) - p.end0]; } else { if (PARTS == 3u || (c) < p.end2) { v[q] = x2[(r) * (select(p.end2, p.run, PARTS == 3u) - p.end1) + (c) - p.end1]; } else { if (PARTS == 4u || (c) < p.end3) { v[q] = x3[(r) * (select(p.end3, p.run, PARTS == 4u) - p.end2) + (c) - p.end2]; } else { if (PARTS == 5u || (c) < p.end4) { v[q] = x4[(r) * (select(p.end4, p.run, PARTS == 5u) - p.end3) + (c) - p.end3]; } else { v[q] = x5[(r) * (p.run - p.end4) + (c) - p.end4]; } } } } } } } } for (var q : u32 = 0u; q < 4u; q += 1u) { if (to[q] != 0xffffffffu) { y[to[q]] = v[q]; } }
  } else {
    var shift : u32 = 2u - LOG;
    var per_word : u32 = 1u << shift;
    var mask : u32 = select(0xffffu, 0xffu, LOG == 0u);
    var touched : u32 = ((p.run + per_word - 2u) >> shift) + 1u;
    for (var item : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x; item < p.items; item += p.step) {
      var row : u32 = item / touched;
      var mine : u32 = p.first; if (AT_T != 0u) { var k_n : u32 = 0u; if (p.per > 0u) { k_n = (row) / p.per; } var k_at : u32 = u32(k_index(AT_T, at[select((k_n), 2u * (k_n), AT_T == 9u)], at[select((k_n), 2u * (k_n) + 1u, AT_T == 9u)])); mine = select(0xffffffffu, mine + min(k_at, p.limit) * p.inner, k_at <= p.limit); }
      var start : u32 = row * p.pitch + mine;
      var word : u32 = (start >> shift) + item - row * touched;
      var g0 : u32 = word << shift;
      if (mine != 0xffffffffu && g0 < start + p.run) {
        var owner : u32 = 1u;
        for (var r : u32 = g0 / p.pitch; r < row; r += 1u) {
          var other : u32 = p.first; if (AT_T != 0u) { var k_n : u32 = 0u; if (p.per > 0u) { k_n = (r) / p.per; } var k_at : u32 = u32(k_index(AT_T, at[select((k_n), 2u * (k_n), AT_T == 9u)], at[select((k_n), 2u * (k_n) + 1u, AT_T == 9u)])); other = select(0xffffffffu, other + min(k_at, p.limit) * p.inner, k_at <= p.limit); }
          if (other != 0xffffffffu && r * p.pitch + other + p.run > g0) { owner = 0u; }
        }
        if (owner == 1u) {
          var bits : u32 = y[word];
          for (var e : u32 = 0u; e < per_word; e += 1u) {
            var r : u32 = (g0 + e) / p.pitch;
            if (r < p.rows) {
              var begin : u32 = p.first; if (AT_T != 0u) { var k_n : u32 = 0u; if (p.per > 0u) { k_n = (r) / p.per; } var k_at : u32 = u32(k_index(AT_T, at[select((k_n), 2u * (k_n), AT_T == 9u)], at[select((k_n), 2u * (k_n) + 1u, AT_T == 9u)])); begin = select(0xffffffffu, begin + min(k_at, p.limit) * p.inner, k_at <= p.limit); }
              var c : u32 = g0 + e - r * p.pitch - begin;
              if (begin != 0xffffffffu && c < p.run) {
                var part : u32 = 0u;
                if (PARTS == 1u || (c) < p.end0) { part = (x0[((r) * select(p.end0, p.run, PARTS == 1u) + (c)) >> shift] >> ((((r) * select(p.end0, p.run, PARTS == 1u) + (c)) & (per_word - 1u)) << (3u + LOG))); } else { if (PARTS == 2u || (c) < p.end1) { part = (x1[((r) * (select(p.end1, p.run, PARTS == 2u) - p.end0) + (c) - p.end0) >> shift] >> ((((r) * (select(p.end1, p.run, PARTS == 2u) - p.end0) + (c) - p.end0) & (per_word - 1u)) << (3u + LOG))); } else { if (PARTS == 3u || (c) < p.end2) { part = (x2[((r) * (select(p.end2, p.run, PARTS == 3u) - p.end1) + (c) - p.end1) >> shift] >> ((((r) * (select(p.end2, p.run, PARTS == 3u) - p.end1) + (c) - p.end1) & (per_word - 1u)) << (3u + LOG))); } else { if (PARTS == 4u || (c) < p.end3) { part = (x3[((r) * (select(p.end3, p.run, PARTS == 4u) - p.end2) + (c) - p.end2) >> shift] >> ((((r) * (select(p.end3, p.run, PARTS == 4u) - p.end2) + (c) - p.end2) & (per_word - 1u)) << (3u + LOG))); } else { if (PARTS == 5u || (c) < p.end4) { part = (x4[((r) * (select(p.end4, p.run, PARTS == 5u) - p.end3) + (c) - p.end3) >> shift] >> ((((r) * (select(p.end4, p.run, PARTS == 5u) - p.end3) + (c) - p.end3) & (per_word - 1u)) << (3u + LOG))); } else { part = (x5[((r) * (p.run - p.end4) + (c) - p.end4) >> shift] >> ((((r) * (p.run - p.end4) + (c) - p.end4) & (per_word - 1u)) << (3u + LOG))); } } } } }
                bits = (bits & ~(mask << (e << (3u + LOG)))) | ((part & mask) << (e << (3u + LOG)));
              }
            }
          }
          y[word] = bits;
        }
      }
    }
  } }
}
