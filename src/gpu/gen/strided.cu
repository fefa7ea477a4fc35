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
static constexpr u32 MAPS = K_C3;
static constexpr u32 TRI = K_C4;
struct Params { u32 groups;
  u32 items;
  u32 elements;
  u32 step;
  u32 origin;
  u32 fill;
  u32 fill_hi;
  i32 k;
  u32 d0; u32 m0; u32 s0; u32 st0; u32 lo0; u32 n0;
  u32 d1; u32 m1; u32 s1; u32 st1; u32 lo1; u32 n1;
  u32 d2; u32 m2; u32 s2; u32 st2; u32 lo2; u32 n2;
  u32 d3; u32 m3; u32 s3; u32 st3; u32 lo3; u32 n3;
};
static __device__ __forceinline__ bool k_kept(u32 tri, u32 item, u32 columns, u32 rows, i32 k) {
  i32 column = i32(item % columns);
  i32 row = i32(item / columns % rows);
  return ((tri == 1u) ? (column - row <= k) : (column - row >= k));
}
extern "C" __global__ void __launch_bounds__(K_C0) strided(const u32 *x, const u32x4 *x4, u32 *y, u32x4 *y4, const u32 *t, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32x4 v[4];
 
#pragma unroll
  for (u32 q = 0u; q < 4u; q += 1u) {
    u32 item = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x + q * p.step;
    if (item < p.items) {
      if (LOG >= 2u) {
        u32 at = p.origin; u32 hit = 1u; { u32 k_rest = item; { u32 k_i = k_rest; if (RANK > (0u) + 1u) { k_rest = __umulhi(k_i, p.m0) >> ((p.s0) & 31u); k_i = k_i - k_rest * (p.d0); } if (MAPS == 1u) { k_i = k_axis((p.s0) >> 8u, k_i, p.lo0, p.n0); if ((p.s0) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st0); } if (RANK > 1u) { { u32 k_i = k_rest; if (RANK > (1u) + 1u) { k_rest = __umulhi(k_i, p.m1) >> ((p.s1) & 31u); k_i = k_i - k_rest * (p.d1); } if (MAPS == 1u) { k_i = k_axis((p.s1) >> 8u, k_i, p.lo1, p.n1); if ((p.s1) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st1); } } if (RANK > 2u) { { u32 k_i = k_rest; if (RANK > (2u) + 1u) { k_rest = __umulhi(k_i, p.m2) >> ((p.s2) & 31u); k_i = k_i - k_rest * (p.d2); } if (MAPS == 1u) { k_i = k_axis((p.s2) >> 8u, k_i, p.lo2, p.n2); if ((p.s2) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st2); } } if (RANK > 3u) { { u32 k_i = k_rest; if (RANK > (3u) + 1u) { k_rest = __umulhi(k_i, p.m3) >> ((p.s3) & 31u); k_i = k_i - k_rest * (p.d3); } if (MAPS == 1u) { k_i = k_axis((p.s3) >> 8u, k_i, p.lo3, p.n3); if ((p.s3) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st3); } } for (u32 k_a = 4u; k_a < RANK; k_a += 1u) { u32 k_w = 6u * (k_a - 4u); { u32 k_i = k_rest; if (RANK > (k_a) + 1u) { k_rest = __umulhi(k_i, t[k_w + 1u]) >> ((t[k_w + 2u]) & 31u); k_i = k_i - k_rest * (t[k_w]); } if (MAPS == 1u) { k_i = k_axis((t[k_w + 2u]) >> 8u, k_i, t[k_w + 4u], t[k_w + 5u]); if ((t[k_w + 2u]) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (t[k_w + 3u]); } } } if (TRI != 0u && !k_kept(TRI, item, p.d0, p.d1, p.k)) { hit = 0u; }
        v[q] = make_uint4(p.fill, p.fill_hi, p.fill, p.fill_hi);
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
            u32 at = p.origin; u32 hit = 1u; { u32 k_rest = element; { u32 k_i = k_rest; if (RANK > (0u) + 1u) { k_rest = __umulhi(k_i, p.m0) >> ((p.s0) & 31u); k_i = k_i - k_rest * (p.d0); } if (MAPS == 1u) { k_i = k_axis((p.s0) >> 8u, k_i, p.lo0, p.n0); if ((p.s0) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st0); } if (RANK > 1u) { { u32 k_i = k_rest; if (RANK > (1u) + 1u) { k_rest = __umulhi(k_i, p.m1) >> ((p.s1) & 31u); k_i = k_i - k_rest * (p.d1); } if (MAPS == 1u) { k_i = k_axis((p.s1) >> 8u, k_i, p.lo1, p.n1); if ((p.s1) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st1); } } if (RANK > 2u) { { u32 k_i = k_rest; if (RANK > (2u) + 1u) { k_rest = __umulhi(k_i, p.m2) >> ((p.s2) & 31u); k_i = k_i - k_rest * (p.d2); } if (MAPS == 1u) { k_i = k_axis((p.s2) >> 8u, k_i, p.lo2, p.n2); if ((p.s2) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st2); } } if (RANK > 3u) { { u32 k_i = k_rest; if (RANK > (3u) + 1u) { k_rest = __umulhi(k_i, p.m3) >> ((p.s3) & 31u); k_i = k_i - k_rest * (p.d3); } if (MAPS == 1u) { k_i = k_axis((p.s3) >> 8u, k_i, p.lo3, p.n3); if ((p.s3) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (p.st3); } } for (u32 k_a = 4u; k_a < RANK; k_a += 1u) { u32 k_w = 6u * (k_a - 4u); { u32 k_i = k_rest; if (RANK > (k_a) + 1u) { k_rest = __umulhi(k_i, t[k_w + 1u]) >> ((t[k_w + 2u]) & 31u); k_i = k_i - k_rest * (t[k_w]); } if (MAPS == 1u) { k_i = k_axis((t[k_w + 2u]) >> 8u, k_i, t[k_w + 4u], t[k_w + 5u]); if ((t[k_w + 2u]) >> 8u == 1u && k_i == 0xffffffffu) { hit = 0u; } } at += k_i * (t[k_w + 3u]); } } } if (TRI != 0u && !k_kept(TRI, element, p.d0, p.d1, p.k)) { hit = 0u; }
            u32 bits = p.fill;
            if (hit == 1u) { bits = x[at >> shift] >> ((at & ((1u << shift) - 1u)) << (3u + LOG)); }
            word = word | ((bits & mask) << (e << (3u + LOG)));
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
