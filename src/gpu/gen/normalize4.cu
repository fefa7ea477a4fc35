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
static __device__ __forceinline__ f32x4 k_low4(u32x4 w, u32 T) {
  if (T == 1u) { return make_float4(k_half((w.x) & 0xffffu), k_half((w.x) >> 16u), k_half((w.y) & 0xffffu), k_half((w.y) >> 16u)); }
  if (T == 2u) {
    return make_float4(__uint_as_float(w.x << 16u), __uint_as_float(w.x & 0xffff0000u), __uint_as_float(w.y << 16u), __uint_as_float(w.y & 0xffff0000u));
  }
  return AS_F4(w);
}
static __device__ __forceinline__ f32x4 k_high4(u32x4 w, u32 T) {
  if (T == 1u) { return make_float4(k_half((w.z) & 0xffffu), k_half((w.z) >> 16u), k_half((w.w) & 0xffffu), k_half((w.w) >> 16u)); }
  return make_float4(__uint_as_float(w.z << 16u), __uint_as_float(w.z & 0xffff0000u), __uint_as_float(w.w << 16u), __uint_as_float(w.w & 0xffff0000u));
}
static __device__ __forceinline__ u32 k_pair(f32 a, f32 b, u32 T) {
  if (0u == 1u && T == 1u) { return 0u; }
  return k_narrow(__float_as_uint(a), T) | (k_narrow(__float_as_uint(b), T) << 16u);
}
static __device__ __forceinline__ u32x4 k_words4(f32x4 low, f32x4 high, u32 T) {
  if (T == 0u) { return AS_U4(low); }
  return make_uint4(k_pair(low.x, low.y, T), k_pair(low.z, low.w, T), k_pair(high.x, high.y, T), k_pair(high.z, high.w, T));
}
static __device__ __forceinline__ f32 k_sum4(f32x4 a) { return (a.x + a.y) + (a.z + a.w); }
static __device__ __forceinline__ f32 k_max4(f32x4 a) { return max(max(a.x, a.y), max(a.z, a.w)); }
static __device__ __forceinline__ f32x4 k_add4(f32x4 a, f32x4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
static __device__ __forceinline__ f32x4 k_less4(f32x4 a, f32 b) { return make_float4(a.x - b, a.y - b, a.z - b, a.w - b); }
static __device__ __forceinline__ f32x4 k_times4(f32x4 a, f32 b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
static __device__ __forceinline__ f32x4 k_mul4(f32x4 a, f32x4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
static constexpr u32 T = K_C1;
static constexpr u32 LANES = K_C2;
static constexpr u32 VECS = K_C3;
static constexpr u32 STAGE = K_C4;
static constexpr u32 CENTRE = K_C5;
static constexpr u32 HAS_RESIDUAL = K_C6;
static constexpr u32 HAS_GAMMA = K_C7;
static constexpr u32 HAS_BETA = K_C8;
static constexpr u32 BY_CHANNEL = K_C9;
static constexpr u32 EVEN = K_C10;
struct Params { u32 groups;
  u32 rows;
  u32 n;
  u32 chunks;
  u32 chunk;
  f32 eps;
  f32 fine;
  f32 coarse;
  u32 sets;
  u32 channels;
  u32 run;
};
static __shared__ f32 red[3u * ((u32)K_C0)];
extern "C" __global__ void __launch_bounds__(K_C0) normalize4(const u32x4 *x, const u32x4 *residual, const u32x4 *gamma4, const u32x4 *beta4, u32x4 *y, u32 *stats, const u32 *gamma, const u32 *beta, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 lane = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES));
  u32 line = (blockIdx.y * gridDim.x + blockIdx.x) * (((u32)K_C0) / LANES) + ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES));
  u32 row = line / p.chunks;
  bool is_row = row < p.rows;
  u32 first = (line - row * p.chunks) * p.chunk;
  u32 count = ((is_row) ? (min(p.chunk, p.n - first)) : (0u));
  u32 base = row * p.n + first + lane;
  f32 origin = 0.0f;
  if (((HAS_RESIDUAL == 1u && CENTRE == 1u) || (EVEN == 1u)) && is_row) {
    f32x4 start = k_low4(x[row * p.n], T);
    origin = start.x * 0.0625f;
  }
  f32x4 v[8];
 
#pragma unroll
  for (u32 j = 0u; j < VECS; j += 1u) {
    if (j * LANES + lane < count) {
      u32x4 w = x[base + j * LANES];
      if (T == 0u) {
        v[j] = k_less4(k_times4(AS_F4(w), 0.0625f), origin);
      } else {
        v[2u * j] = k_less4(k_times4(k_low4(w, T), 0.0625f), origin);
        v[2u * j + 1u] = k_less4(k_times4(k_high4(w, T), 0.0625f), origin);
      }
    }
  }
  u32x4 ahead[2];
  if (HAS_GAMMA == 1u && BY_CHANNEL == 0u && VECS <= 2u && STAGE != 1u) {
   
#pragma unroll
    for (u32 j = 0u; j < 2u; j += 1u) {
      if (j < VECS && j * LANES + lane < count) { ahead[j] = gamma4[first + j * LANES + lane]; }
    }
  }
  if (HAS_RESIDUAL == 1u) {
   
#pragma unroll
    for (u32 j = 0u; j < VECS; j += 1u) {
      if (j * LANES + lane < count) {
        u32x4 w = residual[base + j * LANES];
        if (T == 0u) {
          v[j] = k_add4(v[j], k_times4(AS_F4(w), 0.0625f));
        } else {
          v[2u * j] = k_add4(v[2u * j], k_times4(k_low4(w, T), 0.0625f));
          v[2u * j + 1u] = k_add4(v[2u * j + 1u], k_times4(k_high4(w, T), 0.0625f));
        }
      }
    }
  }
  f32 part = 1.0f / f32(max(count * ((T == 0u) ? (4u) : (8u)), 1u));
  f32 mean = 0.0f;
  f32 rest = 0.0f;
  f32 fine = 0.0f;
  f32 coarse = 0.0f;
  if (STAGE == 2u) {
    u32 k_first = 4u * (row) * p.chunks; u32 k_end = ((is_row) ? (p.chunks) : (0u)); if (is_row) { mean = __uint_as_float(stats[k_first]); } for (u32 c = lane; c < k_end; c += LANES) { u32 at = k_first + 4u * c; f32 d = __uint_as_float(stats[at]) - mean + __uint_as_float(stats[at + 1u]); rest += d * (f32(min(p.chunk, p.n - c * p.chunk)) / f32(p.n)); } if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = rest; if (1u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = rest; } if (1u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = rest; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (1u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } rest = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { rest = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { rest = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
    for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { rest = ((rest) + (SG_XOR(rest, 1u << k_level))); if (1u > 1u) { rest = ((rest) + (SG_XOR(rest, 1u << k_level))); } if (1u > 2u) { rest = ((rest) + (SG_XOR(rest, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = rest; if (1u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = rest; } if (1u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = rest; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); rest = red[k_first]; if (1u > 1u) { rest = red[((u32)K_C0) + k_first]; } if (1u > 2u) { rest = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { rest = ((rest) + (red[k_i])); if (1u > 1u) { rest = ((rest) + (red[((u32)K_C0) + k_i])); } if (1u > 2u) { rest = ((rest) + (red[2u * ((u32)K_C0) + k_i])); } } } } for (u32 c = lane; c < k_end; c += LANES) { u32 at = k_first + 4u * c; f32 k_n = f32((((T == 0u) ? (4u) : (8u))) * min(p.chunk, p.n - c * p.chunk)); f32 d = __uint_as_float(stats[at]) - mean + __uint_as_float(stats[at + 1u]) - rest; fine += __uint_as_float(stats[at + 2u]) + k_n * (d * p.fine) * (d * p.fine); coarse += __uint_as_float(stats[at + 3u]) + k_n * (d * p.coarse) * (d * p.coarse); } if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = fine; if (2u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = coarse; } if (2u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = coarse; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (2u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (2u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } fine = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (2u > 1u) { coarse = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (2u > 2u) { coarse = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
    for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { fine = ((fine) + (SG_XOR(fine, 1u << k_level))); if (2u > 1u) { coarse = ((coarse) + (SG_XOR(coarse, 1u << k_level))); } if (2u > 2u) { coarse = ((coarse) + (SG_XOR(coarse, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = fine; if (2u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = coarse; } if (2u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = coarse; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); fine = red[k_first]; if (2u > 1u) { coarse = red[((u32)K_C0) + k_first]; } if (2u > 2u) { coarse = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { fine = ((fine) + (red[k_i])); if (2u > 1u) { coarse = ((coarse) + (red[((u32)K_C0) + k_i])); } if (2u > 2u) { coarse = ((coarse) + (red[2u * ((u32)K_C0) + k_i])); } } } }
  } else if ((EVEN == 1u)) {
    f32 own = f32(((T == 0u) ? (4u) : (8u)) * VECS);
#pragma unroll
    for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) { mean += k_sum4(v[q]); } mean = mean / own;
#pragma unroll
    for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) { f32x4 d = k_less4(v[q], mean); fine += k_sum4(k_mul4(d, d)); }
#pragma unroll
    for (u32 level = 0u; level < 7u; level += 1u) { if ((1u << level) < LANES && (1u << level) < 32u) { f32 other = SG_XOR(mean, 1u << level); fine += SG_XOR(fine, 1u << level) + (other - mean) * (other - mean) * (0.5f * own); mean = 0.5f * (mean + other); own = own + own; } } if (LANES > 32u) { u32 begin = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = mean; red[((u32)K_C0) + (threadIdx.x >> 5u)] = fine; } __syncthreads(); mean = 0.0f; fine = 0.0f; for (u32 i = begin; i < begin + LANES / 32u; i += 1u) { mean += red[i]; fine += red[((u32)K_C0) + i]; } mean = mean / f32(LANES / 32u); for (u32 i = begin; i < begin + LANES / 32u; i += 1u) { fine += (red[i] - mean) * (red[i] - mean) * own; } } fine = fine * (p.fine * p.fine); coarse = fine;
  } else {
    if (CENTRE == 1u) {
     
#pragma unroll
      for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) {
        if ((((T == 0u) ? (q) : ((q) >> 1u)) * LANES + lane < count)) { mean += k_sum4(v[q]) * part; }
      }
      if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = mean; if (1u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = mean; } if (1u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = mean; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (1u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } mean = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { mean = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { mean = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
      for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { mean = ((mean) + (SG_XOR(mean, 1u << k_level))); if (1u > 1u) { mean = ((mean) + (SG_XOR(mean, 1u << k_level))); } if (1u > 2u) { mean = ((mean) + (SG_XOR(mean, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = mean; if (1u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = mean; } if (1u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = mean; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); mean = red[k_first]; if (1u > 1u) { mean = red[((u32)K_C0) + k_first]; } if (1u > 2u) { mean = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { mean = ((mean) + (red[k_i])); if (1u > 1u) { mean = ((mean) + (red[((u32)K_C0) + k_i])); } if (1u > 2u) { mean = ((mean) + (red[2u * ((u32)K_C0) + k_i])); } } } }
    }
   
#pragma unroll
    for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) {
      if ((((T == 0u) ? (q) : ((q) >> 1u)) * LANES + lane < count)) {
        f32x4 d = k_less4(v[q], mean);
        if (CENTRE == 1u) { rest += k_sum4(d) * part; }
        f32x4 a = k_times4(d, p.fine);
        fine += k_sum4(k_mul4(a, a));
        if (T != 1u) {
          f32x4 b = k_times4(d, p.coarse);
          coarse += k_sum4(k_mul4(b, b));
        }
      }
    }
    if (CENTRE == 1u) { if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = rest; if (3u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = fine; } if (3u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = coarse; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (3u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (3u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } rest = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (3u > 1u) { fine = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (3u > 2u) { coarse = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
    for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { rest = ((rest) + (SG_XOR(rest, 1u << k_level))); if (3u > 1u) { fine = ((fine) + (SG_XOR(fine, 1u << k_level))); } if (3u > 2u) { coarse = ((coarse) + (SG_XOR(coarse, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = rest; if (3u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = fine; } if (3u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = coarse; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); rest = red[k_first]; if (3u > 1u) { fine = red[((u32)K_C0) + k_first]; } if (3u > 2u) { coarse = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { rest = ((rest) + (red[k_i])); if (3u > 1u) { fine = ((fine) + (red[((u32)K_C0) + k_i])); } if (3u > 2u) { coarse = ((coarse) + (red[2u * ((u32)K_C0) + k_i])); } } } } if (__float_as_uint(fine) < 0x7f800000u) { fine = max(fine - f32(count * ((T == 0u) ? (4u) : (8u))) * (rest * p.fine) * (rest * p.fine), 0.0f); } if (__float_as_uint(coarse) < 0x7f800000u) { coarse = max(coarse - f32(count * ((T == 0u) ? (4u) : (8u))) * (rest * p.coarse) * (rest * p.coarse), 0.0f); } } else { if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = fine; if (2u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = coarse; } if (2u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = coarse; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (2u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (2u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } fine = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (2u > 1u) { coarse = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (2u > 2u) { coarse = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
    for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { fine = ((fine) + (SG_XOR(fine, 1u << k_level))); if (2u > 1u) { coarse = ((coarse) + (SG_XOR(coarse, 1u << k_level))); } if (2u > 2u) { coarse = ((coarse) + (SG_XOR(coarse, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = fine; if (2u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = coarse; } if (2u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = coarse; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); fine = red[k_first]; if (2u > 1u) { coarse = red[((u32)K_C0) + k_first]; } if (2u > 2u) { coarse = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { fine = ((fine) + (red[k_i])); if (2u > 1u) { coarse = ((coarse) + (red[((u32)K_C0) + k_i])); } if (2u > 2u) { coarse = ((coarse) + (red[2u * ((u32)K_C0) + k_i])); } } } } }
    if (T == 1u) { coarse = fine; }
  }
  if (STAGE == 1u) {
    if (lane == 0u && is_row) { stats[4u * (line)] = __float_as_uint(mean); stats[4u * (line) + 1u] = __float_as_uint(rest); stats[4u * (line) + 2u] = __float_as_uint(fine); stats[4u * (line) + 3u] = __float_as_uint(coarse); }
  } else {
    bool k_is_fine = ((__float_as_uint(fine) & 0x7fffffffu) < 0x7b7a5ef3u); f32 by = ((k_is_fine) ? (p.fine) : (p.coarse)); f32 scale = rsqrtf(((k_is_fine) ? (fine) : (coarse)) / f32(p.n * ((T == 0u) ? (4u) : (8u))) + p.eps * by * by);
    if (T == 1u) {
      by = by * scale;
      scale = 1.0f;
    }
    u32 channel = row % p.sets * p.channels;
   
#pragma unroll
    for (u32 j = 0u; j < VECS; j += 1u) {
      u32 k = first + j * LANES + lane;
      if (j * LANES + lane < count) {
        u32 q = ((T == 0u) ? (j) : (2u * j));
        f32x4 a = k_times4(k_times4(k_less4(k_less4(v[q], mean), rest), by), scale);
        f32x4 b = a;
        if (T != 0u) { b = k_times4(k_times4(k_less4(k_less4(v[q + 1u], mean), rest), by), scale); }
        if (BY_CHANNEL == 1u) {
          u32 c = channel + k / p.run;
          f32 g = 1.0f;
          if (HAS_GAMMA == 1u) { g = __uint_as_float(k_element(gamma[(c) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, c)); }
          f32 h = 0.0f;
          if (HAS_BETA == 1u) { h = __uint_as_float(k_element(beta[(c) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, c)); }
          a = k_less4(k_times4(a, g), -h);
          b = k_less4(k_times4(b, g), -h);
        } else {
          if (HAS_GAMMA == 1u) {
            u32x4 w = make_uint4(0u, 0u, 0u, 0u);
            if (VECS <= 2u) { w = ahead[j & 1u]; } else { w = gamma4[k]; }
            a = k_mul4(a, k_low4(w, T));
            b = k_mul4(b, k_high4(w, T));
          }
          if (HAS_BETA == 1u) {
            u32x4 w = beta4[k];
            a = k_add4(a, k_low4(w, T));
            b = k_add4(b, k_high4(w, T));
          }
        }
        y[base + j * LANES] = k_words4(a, b, T);
      }
    }
  }
}
