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
static __device__ __forceinline__ u32x4 k_item(u32 low, u32 high, u32 k, u32 T, u32 descending) {
  u32 key = low;
  u32 top = 0u;
  if (T == 9u) {
    top = k_key_of(high, T, 0u);
  } else {
    key = k_key_of(low, T, 0u);
  }
  if (descending == 1u) {
    key = ~key;
    top = ~top;
  }
  return make_uint4(key, top, k, 0u);
}
static __device__ __forceinline__ bool k_item_before(u32x4 a, u32x4 b, u32 T) {
  if (T == 9u && a.y != b.y) { return a.y < b.y; }
  if (a.x != b.x) { return a.x < b.x; }
  return a.z < b.z;
}
static constexpr u32 T = K_C1;
static constexpr u32 TO = K_C2;
static constexpr u32 DESCENDING = K_C3;
static constexpr u32 SIZE = K_C4;
static constexpr u32 CAPACITY = K_C5;
static constexpr u32 HIGHS = K_C6;
static constexpr u32 FROM_ITEMS = K_C7;
static constexpr u32 FINAL = K_C8;
struct Params { u32 groups;
  u32 lines;
  u32 n;
  u32 inner;
  u32 items;
  u32 pieces;
  u32 take;
  u32 kept;
};
static __shared__ u32 keys[CAPACITY];
static __shared__ u32 highs[HIGHS];
static __shared__ u32 places[CAPACITY];
extern "C" __global__ void __launch_bounds__(K_C0) sort_block(const u32 *x, const u32 *from_items, u32 *y, u32 *to_items, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  for (u32 t = threadIdx.x; t < CAPACITY; t += ((u32)K_C0)) {
    u32 i = t;
    if ((p.inner > 1u && FROM_ITEMS == 0u && SIZE < CAPACITY)) { i = (t % (CAPACITY / SIZE)) * SIZE + t / (CAPACITY / SIZE); }
    u32 piece = (blockIdx.y * gridDim.x + blockIdx.x) * (CAPACITY / SIZE) + i / SIZE;
    u32 line = piece / p.pieces;
    u32 k = (piece - line * p.pieces) * SIZE + i % SIZE;
    u32x4 item = make_uint4(0xffffffffu, 0xffffffffu, 0xffffffffu, 0u);
    if (line < p.lines && k < p.items) {
      if (FROM_ITEMS == 1u) {
        item = make_uint4(from_items[((T == 9u) ? (3u) : (2u)) * (line * p.items + k)], ((T == 9u) ? (from_items[((T == 9u) ? (3u) : (2u)) * (line * p.items + k) + 1u]) : (0u)), from_items[((T == 9u) ? (3u) : (2u)) * (line * p.items + k) + ((T == 9u) ? (3u) : (2u)) - 1u], 0u);
      } else {
        u32 slab = line / p.inner;
        item = k_item(((T == 9u) ? (x[((T == 9u) ? (2u * ((slab * p.n + k) * p.inner + (line - slab * p.inner))) : (0u))]) : (k_element(x[(((T == 9u) ? (0u) : ((slab * p.n + k) * p.inner + (line - slab * p.inner)))) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, ((T == 9u) ? (0u) : ((slab * p.n + k) * p.inner + (line - slab * p.inner)))))), x[((T == 9u) ? (2u * ((slab * p.n + k) * p.inner + (line - slab * p.inner)) + 1u) : (0u))], k, T, DESCENDING);
      }
    }
    keys[i] = item.x; if (T == 9u) { highs[i] = item.y; } places[i] = item.z;
  }
  __syncthreads();
  for (u32 run = 2u; run <= SIZE; run = run << 1u) {
    for (u32 apart = run >> 1u; apart > 0u; apart = apart >> 1u) {
      for (u32 t = threadIdx.x; t < CAPACITY / 2u; t += ((u32)K_C0)) {
        u32 i = 2u * t - (t & (apart - 1u));
        u32 j = i + apart;
        u32x4 a = make_uint4(keys[i], ((T == 9u) ? (highs[((T == 9u) ? (i) : (0u))]) : (0u)), places[i], 0u);
        u32x4 b = make_uint4(keys[j], ((T == 9u) ? (highs[((T == 9u) ? (j) : (0u))]) : (0u)), places[j], 0u);
        bool up = (i & (SIZE - 1u) & run) == 0u;
        if (k_item_before(b, a, T) == up) {
          keys[i] = b.x; if (T == 9u) { highs[i] = b.y; } places[i] = b.z;
          keys[j] = a.x; if (T == 9u) { highs[j] = a.y; } places[j] = a.z;
        }
      }
      __syncthreads();
    }
  }
  for (u32 t = threadIdx.x; t < CAPACITY; t += ((u32)K_C0)) {
    u32 i = t;
    if ((p.inner > 1u && FROM_ITEMS == 0u && SIZE < CAPACITY)) { i = (t % (CAPACITY / SIZE)) * SIZE + t / (CAPACITY / SIZE); }
    u32 piece = (blockIdx.y * gridDim.x + blockIdx.x) * (CAPACITY / SIZE) + i / SIZE;
    u32 line = piece / p.pieces;
    u32 part = piece - line * p.pieces;
    u32 rank = i % SIZE;
    if (line < p.lines && rank < p.take && part * SIZE + rank < p.items) {
      u32x4 item = make_uint4(keys[i], ((T == 9u) ? (highs[((T == 9u) ? (i) : (0u))]) : (0u)), places[i], 0u);
      if (FINAL == 1u) {
        u32 slab = line / p.inner;
        { u32 to = ((slab) * p.take + (rank)) * p.inner + (line - slab * p.inner); u32 source = ((slab) * p.n + item.z) * p.inner + (line - slab * p.inner); if (TO == 9u) { y[2u * to] = item.z; y[2u * to + 1u] = 0u; } else { if (TO != 0u) { y[to] = item.z; } else { if (T == 9u) { y[2u * to] = x[2u * source]; y[2u * to + 1u] = x[2u * source + 1u]; } else { y[to] = k_element(x[(source) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, source); } } } }
      } else {
        to_items[((T == 9u) ? (3u) : (2u)) * (line * p.kept + part * p.take + rank)] = item.x; if (T == 9u) { to_items[3u * (line * p.kept + part * p.take + rank) + 1u] = item.y; } to_items[((T == 9u) ? (3u) : (2u)) * (line * p.kept + part * p.take + rank) + ((T == 9u) ? (3u) : (2u)) - 1u] = item.z;
      }
    }
  }
}
