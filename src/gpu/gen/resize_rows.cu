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
static __device__ __forceinline__ u32 k_quotient(u32 n, u32 m, u32 s) { return __umulhi(n << 1u, m) >> s; }
static __device__ __forceinline__ u32 k_first_tap(i32 start, i32 dilation) {
  if (start >= 0) { return 0u; }
  if (dilation == 1) { return u32(-start); }
  return u32((dilation - 1 - start) / dilation);
}
static __device__ __forceinline__ u32 k_end_tap(i32 start, i32 dilation, u32 kernel, u32 size) {
  i32 room = i32(size) - start;
  if (room <= 0) { return 0u; }
  if (dilation == 1) { return min(kernel, u32(room)); }
  return min(kernel, u32((room + dilation - 1) / dilation));
}
static __device__ __forceinline__ f32 k_float(u32 word, u32 kind, u32 i) {
  if (kind == 0u) { return __uint_as_float(word); }
  if (kind == 1u) { return k_half((word >> ((i & 1u) << 4u)) & 0xffffu); }
  return __uint_as_float((word >> ((i & 1u) << 4u)) << 16u);
}
static constexpr u32 T = K_C1;
static constexpr u32 LINEAR = K_C2;
struct Params { u32 groups;
  u32 fours; u32 fours_m; u32 fours_s;
  u32 rows; u32 rows_m; u32 rows_s;
  u32 in_plane;
  u32 n;
};
extern "C" __global__ void __launch_bounds__(K_C0) resize_rows(const u32 *x, const u32x4 *tx, const u32 *ty, u32x4 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 i = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x;
  if (i < p.n) {
    u32 line = k_quotient(i, p.fours_m, p.fours_s);
    u32 column = i - line * p.fours;
    u32 plane = k_quotient(line, p.rows_m, p.rows_s);
    u32 entry = 3u * (line - plane * p.rows);
    u32 lo = plane * p.in_plane + ty[entry];
    u32 hi = plane * p.in_plane + ty[entry + 1u];
    f32 row_weight = __uint_as_float(ty[entry + 2u]);
    u32 words = ((LINEAR == 1u) ? (3u) : (1u));
    if (T == 0u) {
      u32x4 a = make_uint4(0u, 0u, 0u, 0u); { u32x4 k_a = tx[column * words]; u32x4 k_p = k_a; f32x4 k_w = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if (LINEAR == 1u) { k_p = tx[(column * words) + 1u]; k_w = AS_F4(tx[(column * words) + 2u]); } f32 k_0 = k_float(x[(lo + (k_a.x)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.x)); if (LINEAR == 1u) { if ((k_w.x) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.x)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.x)); k_0 = k_0 * (1.0f - (k_w.x)) + k_b * (k_w.x); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.x)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.x)); if ((k_w.x) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.x)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.x)); k_c = k_c * (1.0f - (k_w.x)) + k_d * (k_w.x); } k_0 = k_0 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_1 = k_float(x[(lo + (k_a.y)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.y)); if (LINEAR == 1u) { if ((k_w.y) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.y)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.y)); k_1 = k_1 * (1.0f - (k_w.y)) + k_b * (k_w.y); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.y)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.y)); if ((k_w.y) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.y)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.y)); k_c = k_c * (1.0f - (k_w.y)) + k_d * (k_w.y); } k_1 = k_1 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_2 = k_float(x[(lo + (k_a.z)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.z)); if (LINEAR == 1u) { if ((k_w.z) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.z)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.z)); k_2 = k_2 * (1.0f - (k_w.z)) + k_b * (k_w.z); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.z)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.z)); if ((k_w.z) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.z)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.z)); k_c = k_c * (1.0f - (k_w.z)) + k_d * (k_w.z); } k_2 = k_2 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_3 = k_float(x[(lo + (k_a.w)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.w)); if (LINEAR == 1u) { if ((k_w.w) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.w)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.w)); k_3 = k_3 * (1.0f - (k_w.w)) + k_b * (k_w.w); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.w)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.w)); if ((k_w.w) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.w)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.w)); k_c = k_c * (1.0f - (k_w.w)) + k_d * (k_w.w); } k_3 = k_3 * (1.0f - row_weight) + k_c * row_weight; } } a = make_uint4(__float_as_uint(k_0), __float_as_uint(k_1), __float_as_uint(k_2), __float_as_uint(k_3)); }
      y[i] = a;
    } else {
      u32x4 a = make_uint4(0u, 0u, 0u, 0u); { u32x4 k_a = tx[2u * column * words]; u32x4 k_p = k_a; f32x4 k_w = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if (LINEAR == 1u) { k_p = tx[(2u * column * words) + 1u]; k_w = AS_F4(tx[(2u * column * words) + 2u]); } f32 k_0 = k_float(x[(lo + (k_a.x)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.x)); if (LINEAR == 1u) { if ((k_w.x) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.x)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.x)); k_0 = k_0 * (1.0f - (k_w.x)) + k_b * (k_w.x); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.x)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.x)); if ((k_w.x) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.x)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.x)); k_c = k_c * (1.0f - (k_w.x)) + k_d * (k_w.x); } k_0 = k_0 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_1 = k_float(x[(lo + (k_a.y)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.y)); if (LINEAR == 1u) { if ((k_w.y) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.y)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.y)); k_1 = k_1 * (1.0f - (k_w.y)) + k_b * (k_w.y); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.y)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.y)); if ((k_w.y) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.y)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.y)); k_c = k_c * (1.0f - (k_w.y)) + k_d * (k_w.y); } k_1 = k_1 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_2 = k_float(x[(lo + (k_a.z)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.z)); if (LINEAR == 1u) { if ((k_w.z) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.z)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.z)); k_2 = k_2 * (1.0f - (k_w.z)) + k_b * (k_w.z); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.z)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.z)); if ((k_w.z) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.z)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.z)); k_c = k_c * (1.0f - (k_w.z)) + k_d * (k_w.z); } k_2 = k_2 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_3 = k_float(x[(lo + (k_a.w)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.w)); if (LINEAR == 1u) { if ((k_w.w) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.w)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.w)); k_3 = k_3 * (1.0f - (k_w.w)) + k_b * (k_w.w); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.w)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.w)); if ((k_w.w) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.w)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.w)); k_c = k_c * (1.0f - (k_w.w)) + k_d * (k_w.w); } k_3 = k_3 * (1.0f - row_weight) + k_c * row_weight; } } a = make_uint4(__float_as_uint(k_0), __float_as_uint(k_1), __float_as_uint(k_2), __float_as_uint(k_3)); }
      u32x4 b = make_uint4(0u, 0u, 0u, 0u); { u32x4 k_a = tx[(2u * column + 1u) * words]; u32x4 k_p = k_a; f32x4 k_w = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if (LINEAR == 1u) { k_p = tx[((2u * column + 1u) * words) + 1u]; k_w = AS_F4(tx[((2u * column + 1u) * words) + 2u]); } f32 k_0 = k_float(x[(lo + (k_a.x)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.x)); if (LINEAR == 1u) { if ((k_w.x) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.x)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.x)); k_0 = k_0 * (1.0f - (k_w.x)) + k_b * (k_w.x); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.x)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.x)); if ((k_w.x) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.x)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.x)); k_c = k_c * (1.0f - (k_w.x)) + k_d * (k_w.x); } k_0 = k_0 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_1 = k_float(x[(lo + (k_a.y)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.y)); if (LINEAR == 1u) { if ((k_w.y) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.y)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.y)); k_1 = k_1 * (1.0f - (k_w.y)) + k_b * (k_w.y); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.y)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.y)); if ((k_w.y) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.y)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.y)); k_c = k_c * (1.0f - (k_w.y)) + k_d * (k_w.y); } k_1 = k_1 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_2 = k_float(x[(lo + (k_a.z)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.z)); if (LINEAR == 1u) { if ((k_w.z) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.z)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.z)); k_2 = k_2 * (1.0f - (k_w.z)) + k_b * (k_w.z); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.z)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.z)); if ((k_w.z) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.z)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.z)); k_c = k_c * (1.0f - (k_w.z)) + k_d * (k_w.z); } k_2 = k_2 * (1.0f - row_weight) + k_c * row_weight; } } f32 k_3 = k_float(x[(lo + (k_a.w)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_a.w)); if (LINEAR == 1u) { if ((k_w.w) > 0.0f) { f32 k_b = k_float(x[(lo + (k_p.w)) >> ((T == 0u) ? (0u) : (1u))], T, lo + (k_p.w)); k_3 = k_3 * (1.0f - (k_w.w)) + k_b * (k_w.w); } if (row_weight > 0.0f) { f32 k_c = k_float(x[(hi + (k_a.w)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_a.w)); if ((k_w.w) > 0.0f) { f32 k_d = k_float(x[(hi + (k_p.w)) >> ((T == 0u) ? (0u) : (1u))], T, hi + (k_p.w)); k_c = k_c * (1.0f - (k_w.w)) + k_d * (k_w.w); } k_3 = k_3 * (1.0f - row_weight) + k_c * row_weight; } } b = make_uint4(__float_as_uint(k_0), __float_as_uint(k_1), __float_as_uint(k_2), __float_as_uint(k_3)); }
      y[i] = make_uint4(k_narrow(a.x, T) | (k_narrow(a.y, T) << 16u), k_narrow(a.z, T) | (k_narrow(a.w, T) << 16u), k_narrow(b.x, T) | (k_narrow(b.y, T) << 16u), k_narrow(b.z, T) | (k_narrow(b.w, T) << 16u));
    }
  }
}
