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
static __device__ __forceinline__ u32 k_narrow_pair(f32 a, f32 b, u32 T) {
  if (0u == 1u && T == 1u) { return 0u; }
  return ((T == 1u) ? (k_half_bits(a)) : (k_bf16_bits(a))) | (((T == 1u) ? (k_half_bits(b)) : (k_bf16_bits(b))) << 16u);
}
static __device__ __forceinline__ f32x4 k_four(u32x4 w, u32 T, u32 second) {
  u32 a = ((second == 1u) ? (w.z) : (w.x));
  u32 b = ((second == 1u) ? (w.w) : (w.y));
  f32x4 r = AS_F4(w);
  if (T == 1u) { r = make_float4(k_half((a) & 0xffffu), k_half((a) >> 16u), k_half((b) & 0xffffu), k_half((b) >> 16u)); }
  if (T == 2u) { r = make_float4(__uint_as_float(a << 16u), __uint_as_float(a & 0xffff0000u), __uint_as_float(b << 16u), __uint_as_float(b & 0xffff0000u)); }
  return r;
}
static __device__ __forceinline__ f32 k_softcap(f32 s, f32 c) { return c - (c + c) / (exp((s + s) / c) + 1.0f); }
static constexpr u32 T_Q = K_C1;
static constexpr u32 T_Y = K_C2;
static constexpr u32 HAS_SINKS = K_C3;
struct Params { u32 groups;
  u32 rows;
  u32 dv;
  u32 splits;
  u32 stats;
  u32 heads;
  u32 head_rows;
};
static __shared__ f32 red[((u32)K_C0)];
static __shared__ f32 share[256];
static __shared__ f32 sums[2u * ((u32)K_C0)];
extern "C" __global__ void __launch_bounds__(K_C0) attention_combine(const u32 *parts, const u32 *sinks, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 row = (blockIdx.y * gridDim.x + blockIdx.x);
  f32 most = (-3.4028234e38f);
  f32 weight = 0.0f;
  if (threadIdx.x < p.splits) {
    u32 at = p.stats + 2u * (threadIdx.x * p.rows + row);
    most = __uint_as_float(parts[at]);
    weight = __uint_as_float(parts[at + 1u]);
  }
  f32 own = most;
  f32 sink = 0.0f;
  if (HAS_SINKS == 1u) {
    sink = __uint_as_float(k_element(sinks[((row / p.head_rows) % p.heads) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (row / p.head_rows) % p.heads));
    most = max(most, sink);
  }
  most = SG_MAX(most); if (((u32)K_C0) > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = most; } __syncthreads(); most = red[0]; for (u32 k_i = 1u; k_i < ((u32)K_C0) / 32u; k_i += 1u) { most = max(most, red[k_i]); } }
  f32 shrink = exp(own - most);
  if (threadIdx.x < p.splits) { share[threadIdx.x] = shrink; }
  f32 total = weight * shrink;
  if (HAS_SINKS == 1u) {
    if (threadIdx.x == 0u) { total = total + exp(sink - most); }
  }
  __syncthreads();
  total = SG_ADD(total); if (((u32)K_C0) > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = total; } __syncthreads(); total = red[0]; for (u32 k_i = 1u; k_i < ((u32)K_C0) / 32u; k_i += 1u) { total = ((total) + (red[k_i])); } }
  u32 per = 1u << ((2103828u >> (((T_Y) & 15u) * 2u)) & 3u);
  u32 words = p.dv / per;
  u32 width = min(words, ((u32)K_C0));
  u32 slices = ((u32)K_C0) / width;
  u32 slice = threadIdx.x / width;
  for (u32 first = 0u; first < words; first += width) {
    u32 word = first + threadIdx.x % width;
    f32 sum0 = 0.0f;
    f32 sum1 = 0.0f;
    if (word < words && slice < slices) {
      for (u32 s0 = slice; s0 < p.splits; s0 += 4u * slices) {
        f32 part0[4];
        f32 part1[4];
       
#pragma unroll
        for (u32 i = 0u; i < 4u; i += 1u) {
          u32 at = (min(s0 + i * slices, p.splits - 1u) * p.rows + row) * p.dv + word * per;
          part0[i] = __uint_as_float(parts[at]);
          part1[i] = __uint_as_float(parts[at + per - 1u]);
        }
       
#pragma unroll
        for (u32 i = 0u; i < 4u; i += 1u) {
          if (s0 + i * slices < p.splits) {
            sum0 = fma(part0[i], share[s0 + i * slices], sum0);
            sum1 = fma(part1[i], share[s0 + i * slices], sum1);
          }
        }
      }
    }
    __syncthreads();
    sums[threadIdx.x] = sum0;
    sums[((u32)K_C0) + threadIdx.x] = sum1;
    __syncthreads();
    if (word < words && slice == 0u) {
      for (u32 i = 1u; i < slices; i += 1u) {
        sum0 = sum0 + sums[i * width + threadIdx.x];
        sum1 = sum1 + sums[((u32)K_C0) + i * width + threadIdx.x];
      }
      f32 r = ((total == 0.0f) ? (0.0f) : (1.0f / total));
      u32 bits = __float_as_uint(sum0 * r);
      if (per == 2u) { bits = k_narrow_pair(sum0 * r, sum1 * r, T_Y); }
      y[row * words + word] = bits;
    }
  }
}
