fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
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
@id(3) override MAPS : u32 = 0u;
@id(4) override TRI : u32 = 0u;
struct Params { groups : u32,
  items : u32,
  elements : u32,
  step : u32,
  origin : u32,
  fill : u32,
  fill_hi : u32,
  k : i32,
  d0 : u32, m0 : u32, s0 : u32, st0 : u32, lo0 : u32, n0 : u32,
  d1 : u32, m1 : u32, s1 : u32, st1 : u32, lo1 : u32, n1 : u32,
  d2 : u32, m2 : u32, s2 : u32, st2 : u32, lo2 : u32, n2 : u32,
  d3 : u32, m3 : u32, s3 : u32, st3 : u32, lo3 : u32, n3 : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> x4 : array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> y : array<u32>;
@group(0) @binding(3) var<storage, read_write> y4 : array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> t : array<u32>;
fn k_kept(tri : u32, item : u32, columns : u32, rows : u32, k : i32) -> bool {
  var column : i32 = i32(item % columns);
  var row : i32 = i32(item / columns % rows);
  return select(column - row >= k, column - row <= k, tri == 1u);
}
@compute @workgroup_size(GROUP) fn strided(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var v : array<vec4<u32>, 4>;
  for (var q : u32 = 0u; q < 4u; q += 1u) {
    var item : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x + q * p.step;
    if (item < p.items) {
      if (LOG >= 2u) {
        var at : u32 = p.origin; var hit : u32 = 1u; { var k_rest : u32 = item; { var k_i : u32 = k_rest; if (RANK > (0u) + 1u) { k_rest = k_mulhi(k_i, p.m0) >> ((p.s0) & 31u); k_i = k_i - k_rest * (p.d0); } if (MAPS == 1u) { k_i = k_axis((p.s0) >> 8u, k_i, p.lo0, p.n0); if ((p.s0) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st0); } if (RANK > 1u) { { var k_i : u32 = k_rest; if (RANK > (1u) + 1u) { k_rest = k_mulhi(k_i, p.m1) >> ((p.s1) & 31u); k_i = k_i - k_rest * (p.d1); } if (MAPS == 1u) { k_i = k_axis((p.s1) >> 8u, k_i, p.lo1, p.n1); if ((p.s1) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st1); } } if (RANK > 2u) { { var k_i : u32 = k_rest; if (RANK > (2u) + 1u) { k_rest = k_mulhi(k_i, p.m2) >> ((p.s2) & 31u); k_i = k_i - k_rest * (p.d2); } if (MAPS == 1u) { k_i = k_axis((p.s2) >> 8u, k_i, p.lo2, p.n2); if ((p.s2) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st2); } } if (RANK > 3u) { { var k_i : u32 = k_rest; if (RANK > (3u) + 1u) { k_rest = k_mulhi(k_i, p.m3) >> ((p.s3) & 31u); k_i = k_i - k_rest * (p.d3); } if (MAPS == 1u) { k_i = k_axis((p.s3) >> 8u, k_i, p.lo3, p.n3); if ((p.s3) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st3); } } for (var k_a : u32 = 4u; k_a < RANK; k_a += 1u) { var k_w : u32 = 6u * (k_a - 4u); { var k_i : u32 = k_rest; if (RANK > (k_a) + 1u) { k_rest = k_mulhi(k_i, t[k_w + 1u]) >> ((t[k_w + 2u]) & 31u); k_i = k_i - k_rest * (t[k_w]); } if (MAPS == 1u) { k_i = k_axis((t[k_w + 2u]) >> 8u, k_i, t[k_w + 4u], t[k_w + 5u]); if ((t[k_w + 2u]) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (t[k_w + 3u]); } } } if (TRI != 0u && !k_kept(TRI, item, p.d0, p.d1, p.k)) { hit = 0u; }
        v[q] = vec4<u32>(p.fill, p.fill_hi, p.fill, p.fill_hi);
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
            var at : u32 = p.origin; var hit : u32 = 1u; { var k_rest : u32 = element; { var k_i : u32 = k_rest; if (RANK > (0u) + 1u) { k_rest = k_mulhi(k_i, p.m0) >> ((p.s0) & 31u); k_i = k_i - k_rest * (p.d0); } if (MAPS == 1u) { k_i = k_axis((p.s0) >> 8u, k_i, p.lo0, p.n0); if ((p.s0) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st0); } if (RANK > 1u) { { var k_i : u32 = k_rest; if (RANK > (1u) + 1u) { k_rest = k_mulhi(k_i, p.m1) >> ((p.s1) & 31u); k_i = k_i - k_rest * (p.d1); } if (MAPS == 1u) { k_i = k_axis((p.s1) >> 8u, k_i, p.lo1, p.n1); if ((p.s1) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st1); } } if (RANK > 2u) { { var k_i : u32 = k_rest; if (RANK > (2u) + 1u) { k_rest = k_mulhi(k_i, p.m2) >> ((p.s2) & 31u); k_i = k_i - k_rest * (p.d2); } if (MAPS == 1u) { k_i = k_axis((p.s2) >> 8u, k_i, p.lo2, p.n2); if ((p.s2) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st2); } } if (RANK > 3u) { { var k_i : u32 = k_rest; if (RANK > (3u) + 1u) { k_rest = k_mulhi(k_i, p.m3) >> ((p.s3) & 31u); k_i = k_i - k_rest * (p.d3); } if (MAPS == 1u) { k_i = k_axis((p.s3) >> 8u, k_i, p.lo3, p.n3); if ((p.s3) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st3); } } for (var k_a : u32 = 4u; k_a < RANK; k_a += 1u) { var k_w : u32 = 6u * (k_a - 4u); { var k_i : u32 = k_rest; if (RANK > (k_a) + 1u) { k_rest = k_mulhi(k_i, t[k_w + 1u]) >> ((t[k_w + 2u]) & 31u); k_i = k_i - k_rest * (t[k_w]); } if (MAPS == 1u) { k_i = k_axis((t[k_w + 2u]) >> 8u, k_i, t[k_w + 4u], t[k_w + 5u]); if ((t[k_w + 2u]) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (t[k_w + 3u]); } } } if (TRI != 0u && !k_kept(TRI, element, p.d0, p.d1, p.k)) { hit = 0u; }
            var bits : u32 = p.fill;
            if (hit == 1u) { bits = x[at >> shift] >> ((at & ((1u << shift) - 1u)) << (3u + LOG)); }
            word = word | ((bits & mask) << (e << (3u + LOG)));
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
