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
static constexpr u32 LOG = K_C1;
static constexpr u32 SIDE_LOG = K_C2;
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
static __shared__ u32 tile[4096];
static __device__ __forceinline__ u32 k_spot(u32 log, u32 side_log, u32 r, u32 c) {
  u32 n = ((log < 2u) ? (2u - log) : (0u));
  u32 place = (c >> n) | ((c & ((1u << n) - 1u)) << (side_log - n));
  u32 shift = ((r >> n) ^ ((log == 0u) ? ((r & 1u) << 4u) : (0u))) & 31u;
  return (r << side_log) + (place ^ shift);
}
extern "C" __global__ void __launch_bounds__(K_C0) transpose(const u32 *x, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 a0 = ((blockIdx.y * gridDim.x + blockIdx.x) % p.tiles_a) << SIDE_LOG;
  u32 b0 = ((blockIdx.y * gridDim.x + blockIdx.x) / p.tiles_a % p.tiles_b) << SIDE_LOG;
  u32 o = (blockIdx.y * gridDim.x + blockIdx.x) / p.tiles_a / p.tiles_b;
  u32 n = ((LOG < 2u) ? (2u - LOG) : (0u));
  u32 wide = ((LOG == 3u) ? (1u) : (0u));
  u32 mask = ((LOG == 0u) ? (0xffu) : (0xffffu));
  u32 c = threadIdx.x & ((1u << (SIDE_LOG + LOG - 2u)) - 1u);
  u32 r0 = threadIdx.x >> (SIDE_LOG + LOG - 2u);
  u32 hop = ((u32)K_C0) >> (SIDE_LOG + LOG - 2u);
  u32 rows = (1u << SIDE_LOG) / hop;
  u32 upper = (c & wide) << (2u * SIDE_LOG);
  u32 e0 = ((LOG == 3u) ? (c >> 1u) : (c << n));
  u32 at = (o % p.d0) * p.from0 + (o / p.d0 % p.d1) * p.from1 + (o / p.d0 / p.d1) * p.from2;
  at += (a0 + r0) * p.sa + b0 + e0;
  at = ((LOG == 3u) ? (2u * at + (c & 1u)) : (at >> n));
  u32 step = ((LOG == 3u) ? (2u * hop * p.sa) : (hop * p.sa >> n));
  u32 there = 0u;
  if (b0 + e0 < p.size_b && a0 + r0 < p.size_a) { there = min(rows, (p.size_a - a0 - r0 + hop - 1u) / hop); }
  if (LOG == 1u) {
    at += r0 * p.sa >> 1u;
    there = 0u;
    if (b0 + e0 < p.size_b && a0 + 2u * r0 < p.size_a) {
      there = min(rows / 2u, ((p.size_a - a0) / 2u - r0 + hop - 1u) / hop);
    }
    for (u32 m = 0u; m < rows / 2u; m += 4u) {
      u32 v[8];
     
#pragma unroll
      for (u32 q = 0u; q < 4u; q += 1u) {
        v[2u * q] = 0u;
        v[2u * q + 1u] = 0u;
        if (m + q < there) {
          v[2u * q] = x[at + (m + q) * 2u * step];
          v[2u * q + 1u] = x[at + (m + q) * 2u * step + (p.sa >> 1u)];
        }
      }
     
#pragma unroll
      for (u32 q = 0u; q < 4u; q += 1u) {
        if (m + q < rows / 2u) {
          u32 j = r0 + (m + q) * hop;
          tile[(((e0) << (SIDE_LOG + LOG - 2u)) + ((j) ^ (((e0) >> 1u) & ((1u << (SIDE_LOG + LOG - 2u)) - 1u))))] = (v[2u * q] & 0xffffu) | (v[2u * q + 1u] << 16u);
          tile[(((e0 + 1u) << (SIDE_LOG + LOG - 2u)) + ((j) ^ (((e0 + 1u) >> 1u) & ((1u << (SIDE_LOG + LOG - 2u)) - 1u))))] = (v[2u * q] >> 16u) | (v[2u * q + 1u] & 0xffff0000u);
        }
      }
    }
  } else {
    for (u32 m = 0u; m < rows; m += 4u) {
      u32 v[4];
     
#pragma unroll
      for (u32 q = 0u; q < 4u; q += 1u) {
        v[q] = 0u;
        if (m + q < there) { v[q] = x[at + (m + q) * step]; }
      }
     
#pragma unroll
      for (u32 q = 0u; q < 4u; q += 1u) {
        u32 r = r0 + (m + q) * hop;
        if (LOG >= 2u) {
          tile[k_spot(LOG, SIDE_LOG, r, e0) + upper] = v[q];
        } else {
          for (u32 e = 0u; e < (1u << n); e += 1u) {
            tile[k_spot(LOG, SIDE_LOG, r, e0 + e)] = (v[q] >> (e << (3u + LOG))) & mask;
          }
        }
      }
    }
  }
  __syncthreads();
  u32 to = (o % p.d0) * p.to0 + (o / p.d0 % p.d1) * p.to1 + (o / p.d0 / p.d1) * p.to2;
  to += (b0 + r0) * p.tb + a0 + e0;
  to = ((LOG == 3u) ? (2u * to + (c & 1u)) : (to >> n));
  step = ((LOG == 3u) ? (2u * hop * p.tb) : (hop * p.tb >> n));
  there = 0u;
  if (a0 + e0 < p.size_a && b0 + r0 < p.size_b) { there = min(rows, (p.size_b - b0 - r0 + hop - 1u) / hop); }
  for (u32 m = 0u; m < rows; m += 4u) {
   
#pragma unroll
    for (u32 q = 0u; q < 4u; q += 1u) {
      u32 r = r0 + (m + q) * hop;
      u32 word = 0u;
      if (LOG >= 2u) {
        word = tile[k_spot(LOG, SIDE_LOG, e0, r) + upper];
      } else if (LOG == 1u) {
        word = tile[(((r) << (SIDE_LOG + LOG - 2u)) + ((c) ^ (((r) >> 1u) & ((1u << (SIDE_LOG + LOG - 2u)) - 1u))))];
      } else {
        for (u32 e = 0u; e < (1u << n); e += 1u) {
          word = word | (tile[k_spot(LOG, SIDE_LOG, e0 + e, r)] << (e << (3u + LOG)));
        }
      }
      if (m + q < there) { y[to + (m + q) * step] = word; }
    }
  }
}
