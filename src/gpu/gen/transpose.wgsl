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
  var n : u32 = select(0u, 2u - LOG, LOG < 2u);
  var wide : u32 = select(0u, 1u, LOG == 3u);
  var mask : u32 = select(0xffffu, 0xffu, LOG == 0u);
  var c : u32 = k_lid.x & ((1u << (SIDE_LOG + LOG - 2u)) - 1u);
  var r0 : u32 = k_lid.x >> (SIDE_LOG + LOG - 2u);
  var hop : u32 = GROUP >> (SIDE_LOG + LOG - 2u);
  var rows : u32 = (1u << SIDE_LOG) / hop;
  var upper : u32 = (c & wide) << (2u * SIDE_LOG);
  var e0 : u32 = select(c << n, c >> 1u, LOG == 3u);
  var at : u32 = (o % p.d0) * p.from0 + (o / p.d0 % p.d1) * p.from1 + (o / p.d0 / p.d1) * p.from2;
  at += (a0 + r0) * p.sa + b0 + e0;
  at = select(at >> n, 2u * at + (c & 1u), LOG == 3u);
  var step : u32 = select(hop * p.sa >> n, 2u * hop * p.sa, LOG == 3u);
  var there : u32 = 0u;
  if (b0 + e0 < p.size_b && a0 + r0 < p.size_a) { there = min(rows, (p.size_a - a0 - r0 + hop - 1u) / hop); }
  if (LOG == 1u) {
    at += r0 * p.sa >> 1u;
    there = 0u;
    if (b0 + e0 < p.size_b && a0 + 2u * r0 < p.size_a) {
      there = min(rows / 2u, ((p.size_a - a0) / 2u - r0 + hop - 1u) / hop);
    }
    for (var m : u32 = 0u; m < rows / 2u; m += 4u) {
      var v : array<u32, 8>;
      for (var q : u32 = 0u; q < 4u; q += 1u) {
        v[2u * q] = 0u;
        v[2u * q + 1u] = 0u;
        if (m + q < there) {
          v[2u * q] = x[at + (m + q) * 2u * step];
          v[2u * q + 1u] = x[at + (m + q) * 2u * step + (p.sa >> 1u)];
        }
      }
      for (var q : u32 = 0u; q < 4u; q += 1u) {
        if (m + q < rows / 2u) {
          var j : u32 = r0 + (m + q) * hop;
          tile[(((e0) << (SIDE_LOG + LOG - 2u)) + ((j) ^ (((e0) >> 1u) & ((1u << (SIDE_LOG + LOG - 2u)) - 1u))))] = (v[2u * q] & 0xffffu) | (v[2u * q + 1u] << 16u);
          tile[(((e0 + 1u) << (SIDE_LOG + LOG - 2u)) + ((j) ^ (((e0 + 1u) >> 1u) & ((1u << (SIDE_LOG + LOG - 2u)) - 1u))))] = (v[2u * q] >> 16u) | (v[2u * q + 1u] & 0xffff0000u);
        }
      }
    }
  } else {
    for (var m : u32 = 0u; m < rows; m += 4u) {
      var v : array<u32, 4>;
      for (var q : u32 = 0u; q < 4u; q += 1u) {
        v[q] = 0u;
        if (m + q < there) { v[q] = x[at + (m + q) * step]; }
      }
      for (var q : u32 = 0u; q < 4u; q += 1u) {
        var r : u32 = r0 + (m + q) * hop;
        if (LOG >= 2u) {
          tile[k_spot(LOG, SIDE_LOG, r, e0) + upper] = v[q];
        } else {
          for (var e : u32 = 0u; e < (1u << n); e += 1u) {
            tile[k_spot(LOG, SIDE_LOG, r, e0 + e)] = (v[q] >> (e << (3u + LOG))) & mask;
          }
        }
      }
    }
  }
  workgroupBarrier();
  var to : u32 = (o % p.d0) * p.to0 + (o / p.d0 % p.d1) * p.to1 + (o / p.d0 / p.d1) * p.to2;
  to += (b0 + r0) * p.tb + a0 + e0;
  to = select(to >> n, 2u * to + (c & 1u), LOG == 3u);
  step = select(hop * p.tb >> n, 2u * hop * p.tb, LOG == 3u);
  there = 0u;
  if (a0 + e0 < p.size_a && b0 + r0 < p.size_b) { there = min(rows, (p.size_b - b0 - r0 + hop - 1u) / hop); }
  for (var m : u32 = 0u; m < rows; m += 4u) {
    for (var q : u32 = 0u; q < 4u; q += 1u) {
      var r : u32 = r0 + (m + q) * hop;
      var word : u32 = 0u;
      if (LOG >= 2u) {
        word = tile[k_spot(LOG, SIDE_LOG, e0, r) + upper];
      } else if (LOG == 1u) {
        word = tile[(((r) << (SIDE_LOG + LOG - 2u)) + ((c) ^ (((r) >> 1u) & ((1u << (SIDE_LOG + LOG - 2u)) - 1u))))];
      } else {
        for (var e : u32 = 0u; e < (1u << n); e += 1u) {
          word = word | (tile[k_spot(LOG, SIDE_LOG, e0 + e, r)] << (e << (3u + LOG)));
        }
      }
      if (m + q < there) { y[to + (m + q) * step] = word; }
    }
  }
}
