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
static __device__ __forceinline__ u32 k_axis(u32 mode, u32 i, u32 lo, u32 n) {
  if (mode == 1u) { return ((i - lo < n) ? (i - lo) : (0xffffffffu)); }
  if (mode == 2u) { return ((i < lo) ? (0u) : (min(i - lo, n - 1u))); }
  if (mode == 3u) { return ((i + lo < n) ? (i + lo) : (i + lo - n)); }
  if (mode == 4u) { return (i + lo) % n; }
  if (mode == 5u) {
    u32 k = (i + lo) % (2u * (n - 1u));
    return ((k < n) ? (k) : (2u * (n - 1u) - k));
  }
  return i;
}
static constexpr u32 TU = K_C1;
static constexpr u32 KIND = K_C2;
static constexpr u32 MEET = K_C3;
static constexpr u32 COLUMNS = K_C4;
static constexpr u32 RANK = K_C5;
struct Params { u32 groups;
  u32 lines;
  u32 ranges;
  u32 range_size;
  u32 count;
  u32 u_step;
  u32 stride;
  u32 d0; u32 m0; u32 s0; u32 st0; u32 lo0; u32 n0;
  u32 d1; u32 m1; u32 s1; u32 st1; u32 lo1; u32 n1;
  u32 d2; u32 m2; u32 s2; u32 st2; u32 lo2; u32 n2;
  u32 d3; u32 m3; u32 s3; u32 st3; u32 lo3; u32 n3;
};
static __device__ __forceinline__ u32 k_meet_word(u32 kind, u32 meet, u32 a, u32 b) {
  if (kind == 0u) {
    if (meet == 1u) { return __float_as_uint(__uint_as_float(a) + __uint_as_float(b)); }
    if (meet == 2u) { return __float_as_uint(__uint_as_float(a) * __uint_as_float(b)); }
    if (meet == 3u || meet == 4u) {
      if ((a & 0x7fffffffu) > 0x7f800000u) { return a; }
      if ((b & 0x7fffffffu) > 0x7f800000u) { return b; }
      i32 i = i32((((a >> 31u) == 1u) ? (a ^ 0x7fffffffu) : (a)));
      i32 j = i32((((b >> 31u) == 1u) ? (b ^ 0x7fffffffu) : (b)));
      return (((meet == 3u) == (i > j)) ? (a) : (b));
    }
    return b;
  }
  if (meet == 1u) { return a + b; }
  if (meet == 2u) { return a * b; }
  if (meet == 3u && kind == 1u) { return ((i32(a) > i32(b)) ? (a) : (b)); }
  if (meet == 3u) { return ((a > b) ? (a) : (b)); }
  if (meet == 4u && kind == 1u) { return ((i32(a) < i32(b)) ? (a) : (b)); }
  if (meet == 4u) { return ((a < b) ? (a) : (b)); }
  return b;
}
static __device__ __forceinline__ u32x2 k_meet_long(u32 meet, u32x2 a, u32x2 b) {
  if (meet == 1u) {
    u32 lo = a.x + b.x;
    return make_uint2(lo, a.y + b.y + ((lo < a.x) ? (1u) : (0u)));
  }
  if (meet == 2u) { return make_uint2(a.x * b.x, __umulhi(a.x, b.x) + a.x * b.y + a.y * b.x); }
  if (meet == 3u || meet == 4u) {
    bool larger = i32(a.y) > i32(b.y) || (a.y == b.y && a.x > b.x);
    bool first = larger == (meet == 3u);
    return make_uint2(((first) ? (a.x) : (b.x)), ((first) ? (a.y) : (b.y)));
  }
  return b;
}
static __device__ __forceinline__ u32x2 k_meet(u32 kind, u32 meet, u32x2 a, u32x2 b) {
  if (kind == 3u) { return k_meet_long(meet, a, b); }
  return make_uint2(k_meet_word(kind, meet, a.x, b.x), 0u);
}
static __shared__ u32 list_place[4u * ((u32)K_C0)];
static __shared__ u32 list_lo[4u * ((u32)K_C0)];
static __shared__ u32 list_hi[4u * ((u32)K_C0)];
static __shared__ u32 counts[((u32)K_C0)];
static __shared__ u32 blocks[17u];
extern "C" __global__ void __launch_bounds__(K_C0) scatter_few(const u32 *places, const u32 *u, u32 *y, const u32 *t, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 range = (blockIdx.y * gridDim.x + blockIdx.x) / p.lines;
  u32 base = 0u;
  u32 first = 0u;
  { u32 k_rest = (blockIdx.y * gridDim.x + blockIdx.x) - range * p.lines; { u32 k_i = k_rest; if (RANK > (0u) + 1u) { k_rest = __umulhi(k_i, p.m0) >> (p.s0); k_i = k_i - k_rest * (p.d0); } base += k_i * (p.st0); first += k_i * (p.lo0); } if (RANK > 1u) { { u32 k_i = k_rest; if (RANK > (1u) + 1u) { k_rest = __umulhi(k_i, p.m1) >> (p.s1); k_i = k_i - k_rest * (p.d1); } base += k_i * (p.st1); first += k_i * (p.lo1); } } if (RANK > 2u) { { u32 k_i = k_rest; if (RANK > (2u) + 1u) { k_rest = __umulhi(k_i, p.m2) >> (p.s2); k_i = k_i - k_rest * (p.d2); } base += k_i * (p.st2); first += k_i * (p.lo2); } } if (RANK > 3u) { { u32 k_i = k_rest; if (RANK > (3u) + 1u) { k_rest = __umulhi(k_i, p.m3) >> (p.s3); k_i = k_i - k_rest * (p.d3); } base += k_i * (p.st3); first += k_i * (p.lo3); } } for (u32 k_a = 4u; k_a < RANK; k_a += 1u) { u32 k_w = 6u * (k_a - 4u); { u32 k_i = k_rest; if (RANK > (k_a) + 1u) { k_rest = __umulhi(k_i, t[k_w + 1u]) >> (t[k_w + 2u]); k_i = k_i - k_rest * (t[k_w]); } base += k_i * (t[k_w + 3u]); first += k_i * (t[k_w + 4u]); } } }
  u32 lo = range * p.range_size;
  u32 block = ((u32)K_C0) / 16u;
  u32 mine = 0xffffffffu;
  u32x2 held = make_uint2(0u, 0u);
  for (u32 k0 = 0u; k0 < p.count; k0 += 4u * ((u32)K_C0)) {
    u32 place[4];
    u32 hits = 0u;
   
#pragma unroll
    for (u32 q = 0u; q < 4u; q += 1u) {
      u32 k = k0 + 4u * threadIdx.x + q;
      place[q] = 0xffffffffu;
      if (k < p.count) { place[q] = places[((COLUMNS == 1u) ? (k) : (first + k * p.u_step))]; }
      if (place[q] != 0xffffffffu && place[q] - lo >= p.range_size) { place[q] = 0xffffffffu; }
      if (place[q] != 0xffffffffu) { hits += 1u; }
    }
    counts[threadIdx.x] = hits;
    __syncthreads();
    if (threadIdx.x < 16u) {
      u32 sum = 0u;
      for (u32 i = 0u; i < block; i += 1u) { sum += counts[threadIdx.x * block + i]; }
      blocks[threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0u) {
      u32 sum = 0u;
      for (u32 i = 0u; i < 16u; i += 1u) { sum += blocks[i]; }
      blocks[16] = sum;
    }
    if (hits > 0u) {
      u32 to = 0u;
      for (u32 i = 0u; i < threadIdx.x / block; i += 1u) { to += blocks[i]; }
      for (u32 i = threadIdx.x / block * block; i < threadIdx.x; i += 1u) { to += counts[i]; }
     
#pragma unroll
      for (u32 q = 0u; q < 4u; q += 1u) {
        if (place[q] != 0xffffffffu) {
          u32x2 v = make_uint2(((KIND == 3u) ? (u[((KIND == 3u) ? (2u * (first + (k0 + 4u * threadIdx.x + q) * p.u_step)) : (0u))]) : (k_element(u[(((KIND == 3u) ? (0u) : (first + (k0 + 4u * threadIdx.x + q) * p.u_step))) >> ((2103828u >> (((TU) & 15u) * 2u)) & 3u)], TU, ((KIND == 3u) ? (0u) : (first + (k0 + 4u * threadIdx.x + q) * p.u_step))))), u[((KIND == 3u) ? (2u * (first + (k0 + 4u * threadIdx.x + q) * p.u_step) + 1u) : (0u))]);
          list_place[to] = place[q];
          list_lo[to] = v.x;
          list_hi[to] = v.y;
          to += 1u;
        }
      }
    }
    __syncthreads();
    u32 total = (blocks[16]);
    for (u32 i = 0u; i < total; i += 1u) {
      u32 at = list_place[i];
      if ((at & (((u32)K_C0) - 1u)) == threadIdx.x) {
        if (at != mine) {
          if (mine != 0xffffffffu) { if (KIND == 3u) { y[2u * (base + mine * p.stride)] = held.x; y[2u * (base + mine * p.stride) + 1u] = held.y; } else { y[base + mine * p.stride] = held.x; } }
          held = make_uint2(y[((KIND == 3u) ? (2u * (base + at * p.stride)) : (base + at * p.stride))], y[((KIND == 3u) ? (2u * (base + at * p.stride) + 1u) : (base + at * p.stride))]);
          mine = at;
        }
        held = k_meet(KIND, MEET, held, make_uint2(list_lo[i], list_hi[i]));
      }
    }
    __syncthreads();
  }
  if (mine != 0xffffffffu) { if (KIND == 3u) { y[2u * (base + mine * p.stride)] = held.x; y[2u * (base + mine * p.stride) + 1u] = held.y; } else { y[base + mine * p.stride] = held.x; } }
}
