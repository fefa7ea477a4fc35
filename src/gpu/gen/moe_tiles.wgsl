fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
struct Params { groups : u32,
  experts : u32,
  counts : u32,
  starts : u32,
  height : u32,
  n_tiles : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> rows : array<u32>;
@compute @workgroup_size(GROUP) fn moe_tiles(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var total : u32 = 0u;
  for (var e : u32 = 0u; e <= p.experts; e += 1u) {
    var count : u32 = rows[p.counts + e];
    if (e % GROUP == k_lid.x) {
      var start : u32 = rows[p.starts + e];
      for (var i : u32 = 0u; i < count; i += p.height) {
        var to : u32 = 3u * (total + i / p.height);
        rows[to] = e;
        rows[to + 1u] = start + i;
        rows[to + 2u] = min(p.height, count - i);
      }
    }
    total += (count + p.height - 1u) / p.height;
  }
  for (var t : u32 = total + k_lid.x; t < p.n_tiles; t += GROUP) {
    rows[3u * t] = p.experts;
    rows[3u * t + 1u] = 0u;
    rows[3u * t + 2u] = 0u;
  }
}
