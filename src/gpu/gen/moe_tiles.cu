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
struct Params { u32 groups;
  u32 experts;
  u32 counts;
  u32 starts;
  u32 height;
  u32 n_tiles;
};
extern "C" __global__ void __launch_bounds__(K_C0) moe_tiles(u32 *rows, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 total = 0u;
  for (u32 e = 0u; e <= p.experts; e += 1u) {
    u32 count = rows[p.counts + e];
    if (e % ((u32)K_C0) == threadIdx.x) {
      u32 start = rows[p.starts + e];
      for (u32 i = 0u; i < count; i += p.height) {
        u32 to = 3u * (total + i / p.height);
        rows[to] = e;
        rows[to + 1u] = start + i;
        rows[to + 2u] = min(p.height, count - i);
      }
    }
    total += (count + p.height - 1u) / p.height;
  }
  for (u32 t = total + threadIdx.x; t < p.n_tiles; t += ((u32)K_C0)) {
    rows[3u * t] = p.experts;
    rows[3u * t + 1u] = 0u;
    rows[3u * t + 2u] = 0u;
  }
}
