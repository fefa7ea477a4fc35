typedef float f32;
typedef unsigned int u32;
typedef int i32;
typedef uint2 u32x2;
typedef uint4 u32x4;
typedef float4 f32x4;
static __device__ __forceinline__ f32x4 AS_F4(u32x4 u) { return make_float4(__uint_as_float(u.x), __uint_as_float(u.y), __uint_as_float(u.z), __uint_as_float(u.w)); }
static __device__ __forceinline__ u32x4 AS_U4(f32x4 f) { return make_uint4(__float_as_uint(f.x), __float_as_uint(f.y), __float_as_uint(f.z), __float_as_uint(f.w)); }
template <class T> static __device__ __forceinline__ T clamp(T x, T lo, T hi) { return min(max(x, lo), hi); }
static __device__ __forceinline__ f32 k_half(u32 h) {
  f32 r;
  unsigned short s = (unsigned short)h;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(s));
  return r;
}
template <class T> static __device__ __forceinline__ T SG_XOR(T x, u32 mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
template <class T> static __device__ __forceinline__ T SG_FROM(T x, u32 lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class T> static __device__ __forceinline__ T SG_ADD(T x) {
  for (u32 m = 16u; m > 0u; m >>= 1u) x += SG_XOR(x, m);
  return x;
}
template <class T> static __device__ __forceinline__ T SG_MAX(T x) {
  for (u32 m = 16u; m > 0u; m >>= 1u) x = max(x, SG_XOR(x, m));
  return x;
}
template <class T> static __device__ __forceinline__ T SG_MIN(T x) {
  for (u32 m = 16u; m > 0u; m >>= 1u) x = min(x, SG_XOR(x, m));
  return x;
}
static constexpr u32 OUT_MODE = K_C1;
static constexpr u32 INVERSE = K_C2;
static constexpr u32 BLUE = K_C3;
struct Params { u32 groups;
  u32 count;
  u32 pitch;
  u32 inner;
  u32 zn;
  u32 n_out;
  f32 scale;
  u32 turn_at;
  u32 chirp_at;
};
extern "C" __global__ void __launch_bounds__(K_C0) fft_out(const u32 *z, u32 *y, const u32 *tw, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 id = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x;
  if (id < p.count) {
    u32 line = id / p.zn;
    u32 k = id - line * p.zn;
    u32 o = line / p.inner;
    u32 i = line - o * p.inner;
    f32 re = __uint_as_float(z[2u * ((line * p.pitch) + (k))]); f32 im = __uint_as_float(z[2u * ((line * p.pitch) + (k)) + 1u]); if (BLUE == 1u) { { f32 k_r = re; re = im; im = k_r; } { f32 k_c = __uint_as_float(tw[(p.chirp_at) + 2u * (k)]); f32 k_s = __uint_as_float(tw[(p.chirp_at) + 2u * (k) + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; } }
    u32 mirror = ((k == 0u) ? (0u) : (p.zn - k));
    f32 b_re = __uint_as_float(z[2u * ((line * p.pitch) + (mirror))]); f32 b_im = __uint_as_float(z[2u * ((line * p.pitch) + (mirror)) + 1u]); if (BLUE == 1u) { { f32 k_r = b_re; b_re = b_im; b_im = k_r; } { f32 k_c = __uint_as_float(tw[(p.chirp_at) + 2u * (mirror)]); f32 k_s = __uint_as_float(tw[(p.chirp_at) + 2u * (mirror) + 1u]); f32 k_r = b_re * k_c - b_im * k_s; b_im = b_re * k_s + b_im * k_c; b_re = k_r; } }
    if (INVERSE == 1u) { { f32 k_r = re; re = im; im = k_r; } } if (OUT_MODE == 0u) { if ((k) < p.n_out) { { u32 k_at = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = __float_as_uint((re) * p.scale); y[2u * k_at + 1u] = __float_as_uint((im) * p.scale); } } } else if (OUT_MODE == 1u) { y[((o) * p.n_out + (k)) * p.inner + (i)] = __float_as_uint(re * p.scale); } else if (OUT_MODE == 2u) { u32 k_pair = ((o) * p.n_out + 2u * (k)) * p.inner + (i); y[k_pair] = __float_as_uint(re * p.scale); y[k_pair + p.inner] = __float_as_uint(im * p.scale); } else { f32 odd_re = 0.5f * (im + b_im); f32 odd_im = -0.5f * (re - b_re); f32 even_re = 0.5f * (re + b_re); f32 even_im = 0.5f * (im - b_im); if ((k) == 0u) { { u32 k_at = ((o) * p.n_out + (p.zn)) * p.inner + (i); y[2u * k_at] = __float_as_uint((even_re - odd_re) * p.scale); y[2u * k_at + 1u] = __float_as_uint((even_im - odd_im) * p.scale); } } { f32 k_c = __uint_as_float(tw[(p.turn_at) + 2u * (k)]); f32 k_s = __uint_as_float(tw[(p.turn_at) + 2u * (k) + 1u]); f32 k_r = odd_re * k_c - odd_im * k_s; odd_im = odd_re * k_s + odd_im * k_c; odd_re = k_r; } { u32 k_at = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = __float_as_uint((even_re + odd_re) * p.scale); y[2u * k_at + 1u] = __float_as_uint((even_im + odd_im) * p.scale); } }
  }
}
