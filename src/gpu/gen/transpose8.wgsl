fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
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
@group(0) @binding(0) var<storage, read_write> x : array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> y : array<vec4<u32>>;
@compute @workgroup_size(GROUP) fn transpose8(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var a : u32 = ((k_wid.y * k_wn.x + k_wid.x) % p.tiles_a) * (GROUP / 8u) + k_lid.x / 8u;
  var b : u32 = ((k_wid.y * k_wn.x + k_wid.x) / p.tiles_a % p.tiles_b) * 8u + k_lid.x % 8u;
  var o : u32 = (k_wid.y * k_wn.x + k_wid.x) / p.tiles_a / p.tiles_b;
  if (a < p.size_a && b < p.size_b) {
    var at : u32 = (o % p.d0) * p.from0 + (o / p.d0 % p.d1) * p.from1 + (o / p.d0 / p.d1) * p.from2 + 8u * a * p.sa + b;
    var to : u32 = (o % p.d0) * p.to0 + (o / p.d0 % p.d1) * p.to1 + (o / p.d0 / p.d1) * p.to2 + 8u * b * p.tb + a;
    var v : array<vec4<u32>, 8>;
    for (var i : u32 = 0u; i < 8u; i += 1u) { v[i] = x[at + i * p.sa]; }
    y[to + (2u * 0u) * p.tb] = vec4<u32>(((v[0u].x & 0xffffu) | (v[0u + 1u].x << 16u)), ((v[2u].x & 0xffffu) | (v[2u + 1u].x << 16u)), ((v[4u].x & 0xffffu) | (v[4u + 1u].x << 16u)), ((v[6u].x & 0xffffu) | (v[6u + 1u].x << 16u))); y[to + (2u * 0u + 1u) * p.tb] = vec4<u32>(((v[0u].x >> 16u) | (v[0u + 1u].x & 0xffff0000u)), ((v[2u].x >> 16u) | (v[2u + 1u].x & 0xffff0000u)), ((v[4u].x >> 16u) | (v[4u + 1u].x & 0xffff0000u)), ((v[6u].x >> 16u) | (v[6u + 1u].x & 0xffff0000u)));
    y[to + (2u * 1u) * p.tb] = vec4<u32>(((v[0u].y & 0xffffu) | (v[0u + 1u].y << 16u)), ((v[2u].y & 0xffffu) | (v[2u + 1u].y << 16u)), ((v[4u].y & 0xffffu) | (v[4u + 1u].y << 16u)), ((v[6u].y & 0xffffu) | (v[6u + 1u].y << 16u))); y[to + (2u * 1u + 1u) * p.tb] = vec4<u32>(((v[0u].y >> 16u) | (v[0u + 1u].y & 0xffff0000u)), ((v[2u].y >> 16u) | (v[2u + 1u].y & 0xffff0000u)), ((v[4u].y >> 16u) | (v[4u + 1u].y & 0xffff0000u)), ((v[6u].y >> 16u) | (v[6u + 1u].y & 0xffff0000u)));
    y[to + (2u * 2u) * p.tb] = vec4<u32>(((v[0u].z & 0xffffu) | (v[0u + 1u].z << 16u)), ((v[2u].z & 0xffffu) | (v[2u + 1u].z << 16u)), ((v[4u].z & 0xffffu) | (v[4u + 1u].z << 16u)), ((v[6u].z & 0xffffu) | (v[6u + 1u].z << 16u))); y[to + (2u * 2u + 1u) * p.tb] = vec4<u32>(((v[0u].z >> 16u) | (v[0u + 1u].z & 0xffff0000u)), ((v[2u].z >> 16u) | (v[2u + 1u].z & 0xffff0000u)), ((v[4u].z >> 16u) | (v[4u + 1u].z & 0xffff0000u)), ((v[6u].z >> 16u) | (v[6u + 1u].z & 0xffff0000u)));
    y[to + (2u * 3u) * p.tb] = vec4<u32>(((v[0u].w & 0xffffu) | (v[0u + 1u].w << 16u)), ((v[2u].w & 0xffffu) | (v[2u + 1u].w << 16u)), ((v[4u].w & 0xffffu) | (v[4u + 1u].w << 16u)), ((v[6u].w & 0xffffu) | (v[6u + 1u].w << 16u))); y[to + (2u * 3u + 1u) * p.tb] = vec4<u32>(((v[0u].w >> 16u) | (v[0u + 1u].w & 0xffff0000u)), ((v[2u].w >> 16u) | (v[2u + 1u].w & 0xffff0000u)), ((v[4u].w >> 16u) | (v[4u + 1u].w & 0xffff0000u)), ((v[6u].w >> 16u) | (v[6u + 1u].w & 0xffff0000u)));
  }
}
