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
static __device__ __forceinline__ u32 k_half_bits_of(f32 v) {
  u32 u = __float_as_uint(v);
  u32 a = u & 0x7fffffffu;
  u32 normal = (a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u;
  u32 small = __float_as_uint(__uint_as_float(a) + 0.5f) - 0x3f000000u;
  u32 large = ((a > 0x7f800000u) ? (0x7e00u) : (0x7c00u));
  return ((u >> 16u) & 0x8000u) | ((a < 0x38800000u) ? (small) : (((a >= 0x47800000u) ? (large) : (normal))));
}
static __device__ __forceinline__ u32 k_half_bits(f32 v) {
  if (0u == 1u) { return 0u; }
  return k_half_bits_of(v);
}
static __device__ __forceinline__ f32 k_leading_bits(f32 v, u32 T) { return __uint_as_float(__float_as_uint(v) & ((T == 1u) ? (0xffffe000u) : (0xffff0000u))); }
static __device__ __forceinline__ u32 k_bf16_bits(f32 v) {
  u32 u = __float_as_uint(v);
  if ((u & 0x7fffffffu) > 0x7f800000u) { return (u >> 16u) | 0x40u; }
  return (u + 0x7fffu + ((u >> 16u) & 1u)) >> 16u;
}
static __device__ __forceinline__ f32 k_half_value(u32 h) { return k_half((h & 0xffffu) & 0xffffu); }
static __device__ __forceinline__ u32 k_element(u32 word, u32 T, u32 i) {
  if (T == 1u) { return __float_as_uint(k_half_value(word >> ((i & 1u) << 4u))); }
  if (T == 2u) { return (word >> ((i & 1u) << 4u)) << 16u; }
  if (T == 6u) { return u32(i32(word << (16u - ((i & 1u) << 4u))) >> 16u); }
  if (T == 4u) { return u32(i32(word << (24u - ((i & 3u) << 3u))) >> 24u); }
  if (T == 5u || T == 10u) { return (word >> ((i & 3u) << 3u)) & 0xffu; }
  return word;
}
static __device__ __forceinline__ u32 k_narrow(u32 v, u32 T) {
  if (T == 1u) { return k_half_bits(__uint_as_float(v)); }
  if (T == 2u) { return k_bf16_bits(__uint_as_float(v)); }
  if (T == 6u) { return v & 0xffffu; }
  if (T == 4u || T == 5u || T == 10u) { return v & 0xffu; }
  return v;
}
static __device__ __forceinline__ u32 k_put(u32 word, u32 T, u32 i, u32 bits) {
  u32 s = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  if (s == 2u) { return word | (bits << ((i & 3u) << 3u)); }
  if (s == 1u) { return word | (bits << ((i & 1u) << 4u)); }
  return bits;
}
static __device__ __forceinline__ u32 k_replace(u32 word, u32 T, u32 i, u32 bits) {
  u32 s = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  if (s == 2u) { return (word & ~(0xffu << ((i & 3u) << 3u))) | (bits << ((i & 3u) << 3u)); }
  if (s == 1u) { return (word & ~(0xffffu << ((i & 1u) << 4u))) | (bits << ((i & 1u) << 4u)); }
  return bits;
}
static __device__ __forceinline__ i32 k_index(u32 T, u32 lo, u32 hi) {
  if (T == 9u) {
    if (hi != (((lo >> 31u) == 1u) ? (0xffffffffu) : (0u))) { return i32(0x80000000u); }
  }
  return i32(lo);
}
static constexpr u32 REST = K_C1;
static constexpr u32 EIGHTS = K_C2;
static constexpr u32 CROSSED = K_C3;
struct Params { u32 groups;
  u32 k;
  u32 rest;
};
static __shared__ f32 red[((u32)K_C0)];
static __device__ __forceinline__ f32 k_finite(f32 v) {
  u32 a = __float_as_uint(v) & 0x7fffffffu;
  return __uint_as_float(((a < 0x7f800000u) ? (a) : (0u)));
}
static __device__ __forceinline__ f32 k_largest(f32x4 v) { return max(max(k_finite(v.x), k_finite(v.y)), max(k_finite(v.z), k_finite(v.w))); }
static __device__ __forceinline__ u32 k_halves(f32 lo, f32 hi) {
  if (0u == 1u) { return 0u; }
  return k_half_bits(lo) | (k_half_bits(hi) << 16u);
}
static __device__ __forceinline__ f32 k_left(f32 v) {
  return (((__float_as_uint(v) & 0x7f800000u) == 0x7f800000u) ? (0.0f) : (v - k_leading_bits(v, 1u)));
}
static __device__ __forceinline__ f32 k_first(f32 v) {
  return ((REST == 0u || (__float_as_uint(v) & 0x7f800000u) == 0x7f800000u) ? (v) : (k_leading_bits(v, 1u)));
}
extern "C" __global__ void __launch_bounds__(K_C0) quant_halves(const u32x4 *x, u32x4 *y, u32 *scales, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 row = (blockIdx.y * gridDim.x + blockIdx.x) * (p.k >> 2u);
  f32x4 a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  f32x4 b = a;
  f32 most = 0.0f;
  for (u32 i = threadIdx.x + ((u32)K_C0); i < (p.k >> 3u); i += ((u32)K_C0)) {
    if ((i) < (p.k >> 3u)) { a = AS_F4(x[row + 2u * (i)]); b = AS_F4(x[row + 2u * (i) + 1u]); }
    most = max(most, max(k_largest(a), k_largest(b)));
  }
  if ((threadIdx.x) < (p.k >> 3u)) { a = AS_F4(x[row + 2u * (threadIdx.x)]); b = AS_F4(x[row + 2u * (threadIdx.x) + 1u]); }
  most = max(most, max(k_largest(a), k_largest(b)));
  most = SG_MAX(most); if (((u32)K_C0) > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = most; } __syncthreads(); most = red[0]; for (u32 k_i = 1u; k_i < ((u32)K_C0) / 32u; k_i += 1u) { most = max(most, red[k_i]); } }
  i32 e = clamp(268 - i32(__float_as_uint(most) >> 23u), 1, 253);
  f32 by = __uint_as_float(u32(e) << 23u);
  for (u32 i = threadIdx.x; i < (p.k >> 3u); i += ((u32)K_C0)) {
    if (i >= ((u32)K_C0)) { if ((i) < (p.k >> 3u)) { a = AS_F4(x[row + 2u * (i)]); b = AS_F4(x[row + 2u * (i) + 1u]); } }
    a = make_float4(a.x * by, a.y * by, a.z * by, a.w * by);
    b = make_float4(b.x * by, b.y * by, b.z * by, b.w * by);
    if (CROSSED == 1u) {
      a = make_float4(a.x, a.z, a.y, a.w);
      b = make_float4(b.x, b.z, b.y, b.w);
    }
    u32 to = ((EIGHTS == 1u) ? (((((blockIdx.y * gridDim.x + blockIdx.x) >> 3u) * (p.k >> 3u) + i) << 3u) + ((blockIdx.y * gridDim.x + blockIdx.x) & 7u)) : ((row >> 1u) + i));
    y[to] = make_uint4(k_halves(k_first(a.x), k_first(a.y)), k_halves(k_first(a.z), k_first(a.w)), k_halves(k_first(b.x), k_first(b.y)), k_halves(k_first(b.z), k_first(b.w)));
    if (REST == 1u) {
      y[p.rest + to] = make_uint4(k_halves(k_left(a.x), k_left(a.y)), k_halves(k_left(a.z), k_left(a.w)), k_halves(k_left(b.x), k_left(b.y)), k_halves(k_left(b.z), k_left(b.w)));
    }
  }
  if (threadIdx.x == 0u) { scales[(blockIdx.y * gridDim.x + blockIdx.x)] = u32(254 - e) << 23u; }
}
