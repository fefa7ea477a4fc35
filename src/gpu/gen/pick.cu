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
static constexpr u32 LOG = K_C1;
static constexpr u32 RANK = K_C2;
static constexpr u32 DEPTH = K_C3;
static constexpr u32 IDX_T = K_C4;
struct Params { u32 groups;
  u32 items;
  u32 elements;
  u32 step;
  u32 size;
  u32 stride;
  u32 base;
  u32 d0; u32 m0; u32 s0; u32 st0; u32 lo0; u32 n0;
  u32 d1; u32 m1; u32 s1; u32 st1; u32 lo1; u32 n1;
  u32 d2; u32 m2; u32 s2; u32 st2; u32 lo2; u32 n2;
  u32 d3; u32 m3; u32 s3; u32 st3; u32 lo3; u32 n3;
};
extern "C" __global__ void __launch_bounds__(K_C0) pick(const u32 *x, const u32x4 *x4, const u32 *idx, u32 *y, u32x4 *y4, const u32 *t, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32x4 v[4];
 
#pragma unroll
  for (u32 q = 0u; q < 4u; q += 1u) {
    u32 item = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x + q * p.step;
    v[q] = make_uint4(0u, 0u, 0u, 0u);
    if (item < p.items) {
      if (LOG >= 2u) {
        u32 at = 0u; u32 hit = 1u; { u32 pos = 0u; { u32 k_rest = item; { u32 k_i = k_rest; if (RANK > (0u) + 1u) { k_rest = __umulhi(k_i, p.m0) >> (p.s0); k_i = k_i - k_rest * (p.d0); } at += k_i * (p.st0); pos += k_i * (p.lo0); } if (RANK > 1u) { { u32 k_i = k_rest; if (RANK > (1u) + 1u) { k_rest = __umulhi(k_i, p.m1) >> (p.s1); k_i = k_i - k_rest * (p.d1); } at += k_i * (p.st1); pos += k_i * (p.lo1); } } if (RANK > 2u) { { u32 k_i = k_rest; if (RANK > (2u) + 1u) { k_rest = __umulhi(k_i, p.m2) >> (p.s2); k_i = k_i - k_rest * (p.d2); } at += k_i * (p.st2); pos += k_i * (p.lo2); } } if (RANK > 3u) { { u32 k_i = k_rest; if (RANK > (3u) + 1u) { k_rest = __umulhi(k_i, p.m3) >> (p.s3); k_i = k_i - k_rest * (p.d3); } at += k_i * (p.st3); pos += k_i * (p.lo3); } } for (u32 k_a = 4u; k_a < RANK; k_a += 1u) { u32 k_w = 6u * (k_a - 4u); { u32 k_i = k_rest; if (RANK > (k_a) + 1u) { k_rest = __umulhi(k_i, t[k_w + 1u]) >> (t[k_w + 2u]); k_i = k_i - k_rest * (t[k_w]); } at += k_i * (t[k_w + 3u]); pos += k_i * (t[k_w + 4u]); } } } for (u32 c = 0u; c < DEPTH; c += 1u) { u32 size = p.size; u32 stride = p.stride; if (DEPTH > 1u) { size = t[p.base + 2u * c]; stride = t[p.base + 2u * c + 1u]; } i32 k = k_index(IDX_T, idx[((IDX_T == 9u) ? (2u * (pos + c)) : ((pos + c)))], idx[((IDX_T == 9u) ? (2u * (pos + c) + 1u) : ((pos + c)))]); u32 place = ((k < 0) ? (u32(k) + size) : (u32(k))); if (place >= size) { hit = 0u; } at += place * stride; } }
        if (hit == 1u) {
          if (LOG == 4u) { v[q] = x4[at]; }
          if (LOG == 3u) { v[q] = make_uint4(x[2u * at], x[2u * at + 1u], 0u, 0u); }
          if (LOG == 2u) { v[q] = make_uint4(x[at], 0u, 0u, 0u); }
        }
      } else {
        u32 shift = 2u - LOG;
        u32 mask = ((LOG == 0u) ? (0xffu) : (0xffffu));
        u32 word = 0u;
        for (u32 e = 0u; e < (1u << shift); e += 1u) {
          u32 element = (item << shift) + e;
          if (element < p.elements) {
            u32 at = 0u; u32 hit = 1u; { u32 pos = 0u; { u32 k_rest = element; { u32 k_i = k_rest; if (RANK > (0u) + 1u) { k_rest = __umulhi(k_i, p.m0) >> (p.s0); k_i = k_i - k_rest * (p.d0); } at += k_i * (p.st0); pos += k_i * (p.lo0); } if (RANK > 1u) { { u32 k_i = k_rest; if (RANK > (1u) + 1u) { k_rest = __umulhi(k_i, p.m1) >> (p.s1); k_i = k_i - k_rest * (p.d1); } at += k_i * (p.st1); pos += k_i * (p.lo1); } } if (RANK > 2u) { { u32 k_i = k_rest; if (RANK > (2u) + 1u) { k_rest = __umulhi(k_i, p.m2) >> (p.s2); k_i = k_i - k_rest * (p.d2); } at += k_i * (p.st2); pos += k_i * (p.lo2); } } if (RANK > 3u) { { u32 k_i = k_rest; if (RANK > (3u) + 1u) { k_rest = __umulhi(k_i, p.m3) >> (p.s3); k_i = k_i - k_rest * (p.d3); } at += k_i * (p.st3); pos += k_i * (p.lo3); } } for (u32 k_a = 4u; k_a < RANK; k_a += 1u) { u32 k_w = 6u * (k_a - 4u); { u32 k_i = k_rest; if (RANK > (k_a) + 1u) { k_rest = __umulhi(k_i, t[k_w + 1u]) >> (t[k_w + 2u]); k_i = k_i - k_rest * (t[k_w]); } at += k_i * (t[k_w + 3u]); pos += k_i * (t[k_w + 4u]); } } } for (u32 c = 0u; c < DEPTH; c += 1u) { u32 size = p.size; u32 stride = p.stride; if (DEPTH > 1u) { size = t[p.base + 2u * c]; stride = t[p.base + 2u * c + 1u]; } i32 k = k_index(IDX_T, idx[((IDX_T == 9u) ? (2u * (pos + c)) : ((pos + c)))], idx[((IDX_T == 9u) ? (2u * (pos + c) + 1u) : ((pos + c)))]); u32 place = ((k < 0) ? (u32(k) + size) : (u32(k))); if (place >= size) { hit = 0u; } at += place * stride; } }
            if (hit == 1u) {
              u32 bits = x[at >> shift] >> ((at & ((1u << shift) - 1u)) << (3u + LOG));
              word = word | ((bits & mask) << (e << (3u + LOG)));
            }
          }
        }
        v[q] = make_uint4(word, 0u, 0u, 0u);
      }
    }
  }
 
#pragma unroll
  for (u32 q = 0u; q < 4u; q += 1u) {
    u32 item = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x + q * p.step;
    if (item < p.items) {
      if (LOG == 4u) {
        y4[item] = v[q];
      } else {
        if (LOG == 3u) {
          y[2u * item] = v[q].x;
          y[2u * item + 1u] = v[q].y;
        } else {
          y[item] = v[q].x;
        }
      }
    }
  }
}
