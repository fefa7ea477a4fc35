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
static __device__ __forceinline__ u32 k_key_of(u32 bits, u32 T, u32 zeros) {
  if ((T == 0u || T == 1u || T == 2u)) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
    if (zeros == 0u && bits == 0x80000000u) { return 0x80000000u; }
    return ((bits >= 0x80000000u) ? (~bits) : (bits | 0x80000000u));
  }
  if ((T == 4u || T == 6u || T == 7u) || T == 9u) { return bits ^ 0x80000000u; }
  return bits;
}
static __device__ __forceinline__ u32 k_key_value(u32 key, u32 T) {
  if ((T == 0u || T == 1u || T == 2u)) {
    if (key == 0xffffffffu) { return 0x7fc00000u; }
    return ((key >= 0x80000000u) ? (key & 0x7fffffffu) : (~key));
  }
  if ((T == 4u || T == 6u || T == 7u) || T == 9u) { return key ^ 0x80000000u; }
  return key;
}
static __device__ __forceinline__ u32x2 k_keys(u32 low, u32 high, u32 T, u32 zeros, u32 smallest) {
  if (T == 9u) {
    if (smallest == 1u) { return make_uint2(~low, ~k_key_of(high, T, 0u)); }
    return make_uint2(low, k_key_of(high, T, 0u));
  }
  u32 key = k_key_of(low, T, zeros);
  if (smallest == 1u && !((T == 0u || T == 1u || T == 2u) && key == 0xffffffffu)) { key = ~key; }
  return make_uint2(key, 0u);
}
static __device__ __forceinline__ bool k_key_above(u32x2 a, u32x2 b, u32 T) {
  if (T == 9u) { return a.y > b.y || (a.y == b.y && a.x > b.x); }
  return a.x > b.x;
}
static constexpr u32 T = K_C1;
static constexpr u32 SMALLEST = K_C2;
static constexpr u32 LANES = K_C3;
static constexpr u32 STRIDED = K_C4;
static constexpr u32 STAGE = K_C5;
static constexpr u32 TO = K_C6;
static constexpr u32 IS_TOKEN = K_C7;
struct Params { u32 groups;
  u32 lines;
  u32 n;
  u32 inner;
  u32 chunks;
  u32 chunk;
};
static __shared__ u32 red[((u32)K_C0)];
static __shared__ u32 red_high[((u32)K_C0)];
static __shared__ u32 red_at[((u32)K_C0)];
static __device__ __forceinline__ u32x4 k_better(u32x4 a, u32x4 b, u32 T) {
  if (b.z == 0xffffffffu) { return a; }
  if (a.z == 0xffffffffu) { return b; }
  if (a.x == b.x && a.y == b.y) { return make_uint4(a.x, a.y, min(a.z, b.z), 0u); }
  if (k_key_above(make_uint2(b.x, b.y), make_uint2(a.x, a.y), T)) { return b; }
  return a;
}
extern "C" __global__ void __launch_bounds__(K_C0) arg(const u32 *x, u32 *y, u32 *best, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 lane = ((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES));
  u32 block = (blockIdx.y * gridDim.x + blockIdx.x) / p.chunks;
  u32 piece = (blockIdx.y * gridDim.x + blockIdx.x) - block * p.chunks;
  u32 line = block * (((u32)K_C0) / LANES) + ((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES));
  u32 slab = line / p.inner;
  u32 base = slab * p.n * p.inner + (line - slab * p.inner);
  u32 end = ((line < p.lines) ? (min((piece + 1u) * p.chunk, p.n)) : (0u));
  u32x4 a = make_uint4(0u, 0u, 0xffffffffu, 0u);
  for (u32 k = piece * p.chunk + lane; k < end; k += LANES) {
    u32 at = base + k * p.inner;
    u32x4 b = make_uint4(0u, 0u, k, 0u);
    if (STAGE == 2u) {
      b = make_uint4(best[3u * at], best[3u * at + 1u], best[3u * at + 2u], 0u);
    } else {
      u32x2 key = make_uint2(0u, 0u);
      if (T == 9u) {
        key = k_keys(x[2u * at], x[2u * at + 1u], T, 0u, SMALLEST);
      } else {
        key = k_keys(k_element(x[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at), 0u, T, 0u, SMALLEST);
      }
      b = make_uint4(key.x, key.y, k, 0u);
    }
    a = k_better(a, b, T);
  }
  u32 width = ((STRIDED == 1u) ? (1u) : (min(LANES, 32u)));
  for (u32 w = 1u; w < width; w = w << 1u) {
    a = k_better(a, make_uint4(SG_XOR(a.x, w), SG_XOR(a.y, w), SG_XOR(a.z, w), 0u), T);
  }
  __syncthreads();
  red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = a.x;
  red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = a.y;
  red_at[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = a.z;
  __syncthreads();
  for (u32 w = LANES / 2u; w >= width; w = w >> 1u) {
    if (lane < w) {
      u32 other = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + w * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u));
      a = k_better(a, make_uint4(red[other], red_high[other], red_at[other], 0u), T);
      red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = a.x;
      red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = a.y;
      red_at[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = a.z;
    }
    __syncthreads();
  }
  if (lane == 0u && line < p.lines) {
    if (STAGE == 1u) {
      u32 to = 3u * (line * p.chunks + piece);
      best[to] = a.x;
      best[to + 1u] = a.y;
      best[to + 2u] = a.z;
    } else {
      u32 index = ((a.z == 0xffffffffu) ? (0u) : (a.z));
      if (IS_TOKEN == 1u && (k_key_value(a.x, T) & 0x7f800000u) == 0x7f800000u) { index = 0xffffffffu; }
      if (TO == 9u) {
        y[2u * line] = index;
        y[2u * line + 1u] = 0u;
      } else {
        y[line] = index;
      }
    }
  }
}
