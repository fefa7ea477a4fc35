fn k_mulhi(a : u32, b : u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let m = ah * bl + ((al * bl) >> 16u);
  let n = al * bh + (m & 0xffffu);
  return ah * bh + (m >> 16u) + (n >> 16u);
}
@id(1) override OUT_MODE : u32 = 0u;
@id(2) override INVERSE : u32 = 0u;
@id(3) override BLUE : u32 = 0u;
struct Params { groups : u32,
  count : u32,
  pitch : u32,
  inner : u32,
  zn : u32,
  n_out : u32,
  scale : f32,
  turn_at : u32,
  chirp_at : u32,
}; @group(1) @binding(0) var<uniform> p : Params; @id(0) override GROUP : u32 = 64u;
@group(0) @binding(0) var<storage, read_write> z : array<u32>;
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
@group(0) @binding(2) var<storage, read_write> tw : array<u32>;
@compute @workgroup_size(GROUP) fn fft_out(@builtin(local_invocation_id) k_lid : vec3<u32>, @builtin(workgroup_id) k_wid : vec3<u32>, @builtin(num_workgroups) k_wn : vec3<u32>) { if ((k_wid.y * k_wn.x + k_wid.x) >= p.groups) { return; }
  var id : u32 = (k_wid.y * k_wn.x + k_wid.x) * GROUP + k_lid.x;
  if (id < p.count) {
    var line : u32 = id / p.zn;
    var k : u32 = id - line * p.zn;
    var o : u32 = line / p.inner;
    var i : u32 = line - o * p.inner;
    var re : f32 = bitcast<f32>(z[2u * ((line * p.pitch) + (k))]); var im : f32 = bitcast<f32>(z[2u * ((line * p.pitch) + (k)) + 1u]); if (BLUE == 1u) { { var k_r : f32 = re; re = im; im = k_r; } { var k_c : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (k)]); var k_s : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (k) + 1u]); var k_r : f32 = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; } }
    var mirror : u32 = select(p.zn - k, 0u, k == 0u);
    var b_re : f32 = bitcast<f32>(z[2u * ((line * p.pitch) + (mirror))]); var b_im : f32 = bitcast<f32>(z[2u * ((line * p.pitch) + (mirror)) + 1u]); if (BLUE == 1u) { { var k_r : f32 = b_re; b_re = b_im; b_im = k_r; } { var k_c : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (mirror)]); var k_s : f32 = bitcast<f32>(tw[(p.chirp_at) + 2u * (mirror) + 1u]); var k_r : f32 = b_re * k_c - b_im * k_s; b_im = b_re * k_s + b_im * k_c; b_re = k_r; } }
    if (INVERSE == 1u) { { var k_r : f32 = re; re = im; im = k_r; } } if (OUT_MODE == 0u) { if ((k) < p.n_out) { { var k_at : u32 = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = bitcast<u32>((re) * p.scale); y[2u * k_at + 1u] = bitcast<u32>((im) * p.scale); } } } else if (OUT_MODE == 1u) { y[((o) * p.n_out + (k)) * p.inner + (i)] = bitcast<u32>(re * p.scale); } else if (OUT_MODE == 2u) { var k_pair : u32 = ((o) * p.n_out + 2u * (k)) * p.inner + (i); y[k_pair] = bitcast<u32>(re * p.scale); y[k_pair + p.inner] = bitcast<u32>(im * p.scale); } else { var odd_re : f32 = 0.5f * (im + b_im); var odd_im : f32 = -0.5f * (re - b_re); var even_re : f32 = 0.5f * (re + b_re); var even_im : f32 = 0.5f * (im - b_im); if ((k) == 0u) { { var k_at : u32 = ((o) * p.n_out + (p.zn)) * p.inner + (i); y[2u * k_at] = bitcast<u32>((even_re - odd_re) * p.scale); y[2u * k_at + 1u] = bitcast<u32>((even_im - odd_im) * p.scale); } } { var k_c : f32 = bitcast<f32>(tw[(p.turn_at) + 2u * (k)]); var k_s : f32 = bitcast<f32>(tw[(p.turn_at) + 2u * (k) + 1u]); var k_r : f32 = odd_re * k_c - odd_im * k_s; odd_im = odd_re * k_s + odd_im * k_c; odd_re = k_r; } { var k_at : u32 = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = bitcast<u32>((even_re + odd_re) * p.scale); y[2u * k_at + 1u] = bitcast<u32>((even_im + odd_im) * p.scale); } }
  }
}
