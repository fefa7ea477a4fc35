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
fn k_axis(mode : u32, i : u32, lo : u32, n : u32) -> u32 {
  if (mode == 1u) { return select(0xffffffffu, i - lo, i - lo < n); }
  if (mode == 2u) { return select(min(i - lo, n - 1u), 0u, i < lo); }
  if (mode == 3u) { return select(i + lo - n, i + lo, i + lo < n); }
  if (mode == 4u) { return (i + lo) % n; }
  if (mode == 5u) {
    var k : u32 = (i + lo) % (2u * (n - 1u));
    return select(2u * (n - 1u) - k, k, k < n);
  }
  return i;
}
@id(1) override LOG : u32 = 2u;
@id(2) override RANK : u32 = 1u;
@id(3) override DEPTH : u32 = 1u;
@id(4) override IDX_T : u32 = 7u;
struct Params { groups : u32,
  items : u32,
  elements : u32,
  step : u32,
  size : u32,
  stride : u32,
  base : u32,
  d0 : u32, m0 : u32, s0 : u32, st0 : u32, lo0 : u32, n0 : u32,
  d1 : u32, m1 : u32, s1 : u32, st1 : u32, lo1 : u32, n1 : u32,
  d2 : u32, m2 : u32, s2 : u32, st2 : u32, lo2 : u32, n2 : u32,
  d3 : u32, m3 : u32, s3 : u32, st3 : u32, lo3 : u32, n3 : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> x4 : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> idx : array<u32>;
@group(0) @binding(3) var<storage, read_write> y : array<u32>;
@group(0) @binding(4) var<storage, read_write> y4 : array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> t : array<u32>;
@compute @workgroup_size(GROUP) fn pick(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var v : array<vec4<u32>, 4>;
  for (var q : u32 = 0u; q < 4u; q += 1u) {
    var item : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x + q * p.step;
    v[q] = vec4<u32>(0u, 0u, 0u, 0u);
    if (item < p.items) {
      if (LOG >= 2u) {
        var at : u32 = 0u; var hit : u32 = 1u; { var pos : u32 = 0u; { var k_rest : u32 = item; { var k_i : u32 = k_rest; if (RANK > (0u) + 1u) { k_rest = k_mulhi(k_i, p.m0) >> (p.s0); k_i = k_i - k_rest * (p.d0); } at += k_i * (p.st0); pos += k_i * (p.lo0); } if (RANK > 1u) { { var k_i : u32 = k_rest; if (RANK > (1u) + 1u) { k_rest = k_mulhi(k_i, p.m1) >> (p.s1); k_i = k_i - k_rest * (p.d1); } at += k_i * (p.st1); pos += k_i * (p.lo1); } } if (RANK > 2u) { { var k_i : u32 = k_rest; if (RANK > (2u) + 1u) { k_rest = k_mulhi(k_i, p.m2) >> (p.s2); k_i = k_i - k_rest * (p.d2); } at += k_i * (p.st2); pos += k_i * (p.lo2); } } if (RANK > 3u) { { var k_i : u32 = k_rest; if (RANK > (3u) + 1u) { k_rest = k_mulhi(k_i, p.m3) >> (p.s3); k_i = k_i - k_rest * (p.d3); } at += k_i * (p.st3); pos += k_i * (p.lo3); } } for (var k_a : u32 = 4u; k_a < RANK; k_a += 1u) { var k_w : u32 = 6u * (k_a - 4u); { var k_i : u32 = k_rest; if (RANK > (k_a) + 1u) { k_rest = k_mulhi(k_i, t[k_w + 1u]) >> (t[k_w + 2u]); k_i = k_i - k_rest * (t[k_w]); } at += k_i * (t[k_w + 3u]); pos += k_i * (t[k_w + 4u]); } } } for (var c : u32 = 0u; c < DEPTH; c += 1u) { var size : u32 = p.size; var stride : u32 = p.stride; if (DEPTH > 1u) { size = t[p.base + 2u * c]; stride = t[p.base + 2u * c + 1u]; } var k : i32 = k_index(IDX_T, idx[select((pos + c), 2u * (pos + c), IDX_T == 9u)], idx[select((pos + c), 2u * (pos + c) + 1u, IDX_T == 9u)]); var place : u32 = select(u32(k), u32(k) + size, k < 0); if (place >= size) { hit = 0u; } at += place * stride; } }
        if (hit == 1u) {
          if (LOG == 4u) { v[q] = x4[at]; }
          if (LOG == 3u) { v[q] = vec4<u32>(x[2u * at], x[2u * at + 1u], 0u, 0u); }
          if (LOG == 2u) { v[q] = vec4<u32>(x[at], 0u, 0u, 0u); }
        }
      } else {
        var shift : u32 = 2u - LOG;
        var mask : u32 = select(0xffffu, 0xffu, LOG == 0u);
        var word : u32 = 0u;
        for (var e : u32 = 0u; e < (1u << shift); e += 1u) {
          var element : u32 = (item << shift) + e;
          if (element < p.elements) {
            var at : u32 = 0u; var hit : u32 = 1u; { var pos : u32 = 0u; { var k_rest : u32 = element; { var k_i : u32 = k_rest; if (RANK > (0u) + 1u) { k_rest = k_mulhi(k_i, p.m0) >> (p.s0); k_i = k_i - k_rest * (p.d0); } at += k_i * (p.st0); pos += k_i * (p.lo0); } if (RANK > 1u) { { var k_i : u32 = k_rest; if (RANK > (1u) + 1u) { k_rest = k_mulhi(k_i, p.m1) >> (p.s1); k_i = k_i - k_rest * (p.d1); } at += k_i * (p.st1); pos += k_i * (p.lo1); } } if (RANK > 2u) { { var k_i : u32 = k_rest; if (RANK > (2u) + 1u) { k_rest = k_mulhi(k_i, p.m2) >> (p.s2); k_i = k_i - k_rest * (p.d2); } at += k_i * (p.st2); pos += k_i * (p.lo2); } } if (RANK > 3u) { { var k_i : u32 = k_rest; if (RANK > (3u) + 1u) { k_rest = k_mulhi(k_i, p.m3) >> (p.s3); k_i = k_i - k_rest * (p.d3); } at += k_i * (p.st3); pos += k_i * (p.lo3); } } for (var k_a : u32 = 4u; k_a < RANK; k_a += 1u) { var k_w : u32 = 6u * (k_a - 4u); { var k_i : u32 = k_rest; if (RANK > (k_a) + 1u) { k_rest = k_mulhi(k_i, t[k_w + 1u]) >> (t[k_w + 2u]); k_i = k_i - k_rest * (t[k_w]); } at += k_i * (t[k_w + 3u]); pos += k_i * (t[k_w + 4u]); } } } for (var c : u32 = 0u; c < DEPTH; c += 1u) { var size : u32 = p.size; var stride : u32 = p.stride; if (DEPTH > 1u) { size = t[p.base + 2u * c]; stride = t[p.base + 2u * c + 1u]; } var k : i32 = k_index(IDX_T, idx[select((pos + c), 2u * (pos + c), IDX_T == 9u)], idx[select((pos + c), 2u * (pos + c) + 1u, IDX_T == 9u)]); var place : u32 = select(u32(k), u32(k) + size, k < 0); if (place >= size) { hit = 0u; } at += place * stride; } }
            if (hit == 1u) {
              var bits : u32 = x[at >> shift] >> ((at & ((1u << shift) - 1u)) << (3u + LOG));
              word = word | ((bits & mask) << (e << (3u + LOG)));
            }
          }
        }
        v[q] = vec4<u32>(word, 0u, 0u, 0u);
      }
    }
  }
  for (var q : u32 = 0u; q < 4u; q += 1u) {
    var item : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x + q * p.step;
    if (item < p.items) {
      if (LOG == 4u) {
        y4[item] = v[q];
      } else {
        if (LOG == 3u) {
          y[2u * item] = v[q].x;
          y[2u * item + 1u] = v[q].y;
        } else {
          y[item] = v[q].x;
        }
      }
    }
  }
}
