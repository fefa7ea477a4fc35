fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
@id(1) override LOG : u32 = 2u;
@id(2) override SIDE_LOG : u32 = 6u;
struct Params { groups : u32,
  size_a : u32,
  size_b : u32,
  sa : u32,
  tb : u32,
  tiles_a : u32,
  tiles_b : u32,
  d0 : u32,
  from0 : u32,
  to0 : u32,
  d1 : u32,
  from1 : u32,
  to1 : u32,
  from2 : u32,
  to2 : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> x : array<u32>;
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
var<workgroup> tile : array<u32, 4096>;
fn k_spot(log : u32, side_log : u32, r : u32, c : u32) -> u32 {
  var n : u32 = select(0u, 2u - log, log < 2u);
  var place : u32 = (c >> n) | ((c & ((1u << n) - 1u)) << (side_log - n));
  var shift : u32 = ((r >> n) ^ select(0u, (r & 1u) << 4u, log == 0u)) & 31u;
  return (r << side_log) + (place ^ shift);
}
@compute @workgroup_size(GROUP) fn transpose(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var a0 : u32 = ((k_wid.y * k_wn.x + k_wid.x) % p.tiles_a) << SIDE_LOG;
  var b0 : u32 = ((k_wid.y * k_wn.x + k_wid.x) / p.tiles_a % p.tiles_b) << SIDE_LOG;
  var o : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.tiles_a / p.tiles_b;
  var plane : u32 = (o % p.d0) * p.from0 + (o / p.d0 % p.d1) * p.from1 + (o / p.d0 / p.d1) * p.from2;
  var to : u32 = (o % p.d0) * p.to0 + (o / p.d0 % p.d1) * p.to1 + (o / p.d0 / p.d1) * p.to2;
  var n : u32 = select(0u, 2u - LOG, LOG < 2u);
  var wide : u32 = select(0u, 1u, LOG == 3u);
  var mask : u32 = select(0xffffu, 0xffu, LOG == 0u);
  var words : u32 = 1u << (SIDE_LOG + LOG - 2u);
  var all : u32 = (1u << SIDE_LOG) << (SIDE_LOG + LOG - 2u);
  for (var base : u32 = k_lid.x; base < all; base += 4u * GROUP) {
    var v : array<u32, 4>;
    for (var q : u32 = 0u; q < 4u; q += 1u) {
      var i : u32 = base + q * GROUP;
      var a : u32 = a0 + (i >> (SIDE_LOG + LOG - 2u));
      var c : u32 = i & (words - 1u);
      var b : u32 = b0 + select(c << n, c >> 1u, LOG == 3u);
      v[q] = 0u;
      if (i < all && a < p.size_a && b < p.size_b) {
        var at : u32 = plane + a * p.sa + b;
        v[q] = x[select(at >> n, 2u * at + (c & 1u), LOG == 3u)];
      }
    }
    for (var q : u32 = 0u; q < 4u; q += 1u) {
      var i : u32 = base + q * GROUP;
      var r : u32 = i >> (SIDE_LOG + LOG - 2u);
      var c : u32 = i & (words - 1u);
      if (i < all) {
        if (LOG >= 2u) {
          tile[k_spot(LOG, SIDE_LOG, r, c >> wide) + (c & wide) * (1u << SIDE_LOG) * (1u << SIDE_LOG)] = v[q];
        } else {
          for (var e : u32 = 0u; e < (1u << n); e += 1u) {
            tile[k_spot(LOG, SIDE_LOG, r, (c << n) + e)] = (v[q] >> (e << (3u + LOG))) & mask;
          }
        }
      }
    }
  }
  workgroupBarrier();
  for (var i : u32 = k_lid.x; i < all; i += GROUP) {
    var r : u32 = i >> (SIDE_LOG + LOG - 2u);
    var c : u32 = i & (words - 1u);
    var b : u32 = b0 + r;
    var a : u32 = a0 + select(c << n, c >> 1u, LOG == 3u);
    if (b < p.size_b && a < p.size_a) {
      var at : u32 = to + b * p.tb + a;
      if (LOG >= 2u) {
        y[select(at, 2u * at + (c & 1u), LOG == 3u)] = tile[k_spot(LOG, SIDE_LOG, c >> wide, r) + (c & wide) * (1u << SIDE_LOG) * (1u << SIDE_LOG)];
      } else {
        var word : u32 = 0u;
        for (var e : u32 = 0u; e < (1u << n); e += 1u) {
          word = word | (tile[k_spot(LOG, SIDE_LOG, (c << n) + e, r)] << (e << (3u + LOG)));
        }
        y[at >> n] = word;
      }
    }
  }
}
