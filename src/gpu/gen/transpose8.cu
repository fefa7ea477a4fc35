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
  u32 size_a;
  u32 size_b;
  u32 sa;
  u32 tb;
  u32 tiles_a;
  u32 tiles_b;
  u32 d0;
  u32 from0;
  u32 to0;
  u32 d1;
  u32 from1;
  u32 to1;
  u32 from2;
  u32 to2;
};
extern "C" __global__ void __launch_bounds__(K_C0) transpose8(const u32x4 *x, u32x4 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 a = ((blockIdx.y * gridDim.x + blockIdx.x) % p.tiles_a) * (((u32)K_C0) / 8u) + threadIdx.x / 8u;
  u32 b = ((blockIdx.y * gridDim.x + blockIdx.x) / p.tiles_a % p.tiles_b) * 8u + threadIdx.x % 8u;
  u32 o = (blockIdx.y * gridDim.x + blockIdx.x) / p.tiles_a / p.tiles_b;
  if (a < p.size_a && b < p.size_b) {
    u32 at = (o % p.d0) * p.from0 + (o / p.d0 % p.d1) * p.from1 + (o / p.d0 / p.d1) * p.from2 + 8u * a * p.sa + b;
    u32 to = (o % p.d0) * p.to0 + (o / p.d0 % p.d1) * p.to1 + (o / p.d0 / p.d1) * p.to2 + 8u * b * p.tb + a;
    u32x4 v[8];
   
#pragma unroll
    for (u32 i = 0u; i < 8u; i += 1u) { v[i] = x[at + i * p.sa]; }
    y[to + (2u * 0u) * p.tb] = make_uint4(((v[0u].x & 0xffffu) | (v[0u + 1u].x << 16u)), ((v[2u].x & 0xffffu) | (v[2u + 1u].x << 16u)), ((v[4u].x & 0xffffu) | (v[4u + 1u].x << 16u)), ((v[6u].x & 0xffffu) | (v[6u + 1u].x << 16u))); y[to + (2u * 0u + 1u) * p.tb] = make_uint4(((v[0u].x >> 16u) | (v[0u + 1u].x & 0xffff0000u)), ((v[2u].x >> 16u) | (v[2u + 1u].x & 0xffff0000u)), ((v[4u].x >> 16u) | (v[4u + 1u].x & 0xffff0000u)), ((v[6u].x >> 16u) | (v[6u + 1u].x & 0xffff0000u)));
    y[to + (2u * 1u) * p.tb] = make_uint4(((v[0u].y & 0xffffu) | (v[0u + 1u].y << 16u)), ((v[2u].y & 0xffffu) | (v[2u + 1u].y << 16u)), ((v[4u].y & 0xffffu) | (v[4u + 1u].y << 16u)), ((v[6u].y & 0xffffu) | (v[6u + 1u].y << 16u))); y[to + (2u * 1u + 1u) * p.tb] = make_uint4(((v[0u].y >> 16u) | (v[0u + 1u].y & 0xffff0000u)), ((v[2u].y >> 16u) | (v[2u + 1u].y & 0xffff0000u)), ((v[4u].y >> 16u) | (v[4u + 1u].y & 0xffff0000u)), ((v[6u].y >> 16u) | (v[6u + 1u].y & 0xffff0000u)));
    y[to + (2u * 2u) * p.tb] = make_uint4(((v[0u].z & 0xffffu) | (v[0u + 1u].z << 16u)), ((v[2u].z & 0xffffu) | (v[2u + 1u].z << 16u)), ((v[4u].z & 0xffffu) | (v[4u + 1u].z << 16u)), ((v[6u].z & 0xffffu) | (v[6u + 1u].z << 16u))); y[to + (2u * 2u + 1u) * p.tb] = make_uint4(((v[0u].z >> 16u) | (v[0u + 1u].z & 0xffff0000u)), ((v[2u].z >> 16u) | (v[2u + 1u].z & 0xffff0000u)), ((v[4u].z >> 16u) | (v[4u + 1u].z & 0xffff0000u)), ((v[6u].z >> 16u) | (v[6u + 1u].z & 0xffff0000u)));
    y[to + (2u * 3u) * p.tb] = make_uint4(((v[0u].w & 0xffffu) | (v[0u + 1u].w << 16u)), ((v[2u].w & 0xffffu) | (v[2u + 1u].w << 16u)), ((v[4u].w & 0xffffu) | (v[4u + 1u].w << 16u)), ((v[6u].w & 0xffffu) | (v[6u + 1u].w << 16u))); y[to + (2u * 3u + 1u) * p.tb] = make_uint4(((v[0u].w >> 16u) | (v[0u + 1u].w & 0xffff0000u)), ((v[2u].w >> 16u) | (v[2u + 1u].w & 0xffff0000u)), ((v[4u].w >> 16u) | (v[4u + 1u].w & 0xffff0000u)), ((v[6u].w >> 16u) | (v[6u + 1u].w & 0xffff0000u)));
  }
}
