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
static constexpr u32 TO = K_C2;
static constexpr u32 AXES = K_C3;
static constexpr u32 MODE = K_C4;
static constexpr u32 PADDING = K_C5;
static constexpr u32 ALIGN = K_C6;
struct Params { u32 groups;
  u32 in_z;
  u32 in_y;
  u32 in_x;
  u32 channels;
  u32 places;
  u32 words; u32 words_m; u32 words_s;
  u32 chunks; u32 chunks_m; u32 chunks_s;
  u32 n;
};
static __device__ __forceinline__ u32x2 k_fixed(u32 bits) {
  u32 e = (bits >> 23u) & 0xffu;
  u32 m = (bits & 0x7fffffu) | 0x800000u;
  if (e < 73u || e >= 155u) { return make_uint2(0u, 0u); }
  if (e < 91u) { return make_uint2(0u, m >> (91u - e)); }
  if (e >= 123u) { return make_uint2(m << (e - 123u), 0u); }
  return make_uint2((m >> 1u) >> (122u - e), m << (e - 91u));
}
static __device__ __forceinline__ u32x2 k_negate(u32x2 v) { return make_uint2(~v.x + ((v.y == 0u) ? (1u) : (0u)), ~v.y + 1u); }
static __device__ __forceinline__ u32x2 k_place(u32 g, u32 size) {
  u32 bits = g;
  if (PADDING == 2u && (bits & 0x7fffffffu) >= 0x5a000000u) { return make_uint2(0u, 0u); }
  if ((bits & 0x7fffffffu) >= 0x7f800000u) {
    if (PADDING == 0u) { return make_uint2(0x80000000u, 0u); }
    if ((bits & 0x7fffffffu) > 0x7f800000u) { bits = 0xc1000000u; }
  }
  if (PADDING != 2u && (bits & 0x7fffffffu) > 0x41000000u) { bits = (bits & 0x80000000u) | 0x41000000u; }
  u32x2 v = k_fixed(bits);
  if ((bits >> 31u) == 1u) { v = k_negate(v); }
  v = make_uint2(v.x + 0x8000000u, v.y);
  if (PADDING == 2u) { v = make_uint2(v.x & 0x1fffffffu, v.y); }
  u32 below = v.x >> 31u;
  if (below == 1u) { v = k_negate(v); }
  u32 span = ((ALIGN == 1u) ? (size - 1u) : (size));
  u32 low = v.y * span;
  u32 carry = __umulhi(v.y, span);
  u32 mid = carry + v.x * span;
  u32 top = __umulhi(v.x, span) + ((mid < carry) ? (1u) : (0u));
  u32x2 r = make_uint2((top << 4u) | (mid >> 28u), (mid << 4u) | (low >> 28u) | (((low << 4u) == 0u) ? (0u) : (1u)));
  if (below == 1u) { r = k_negate(r); }
  if (ALIGN == 0u) { r = make_uint2(r.x - ((r.y < 0x80000000u) ? (1u) : (0u)), r.y ^ 0x80000000u); }
  return r;
}
static __device__ __forceinline__ u32x2 k_pad_place(u32x2 at, u32 size) {
  u32x2 r = at;
  if (PADDING == 0u) { return r; }
  if (PADDING == 2u) {
    u32 turn = ((ALIGN == 1u) ? (2u * (size - 1u)) : (2u * size - 1u));
    u32 middle = ((ALIGN == 1u) ? (0u) : (0x80000000u));
    if ((r.x >> 31u) == 0u && (r.x >= size || (r.x == size - 1u && r.y >= middle))) {
      r = k_negate(make_uint2(r.x - turn, r.y));
    }
  }
  if ((r.x >> 31u) == 1u) { return make_uint2(0u, 0u); }
  if (r.x >= size - 1u) { return make_uint2(size - 1u, 0u); }
  return r;
}
static __device__ __forceinline__ u32 k_pad_index(u32 at, u32 size) {
  if (PADDING == 0u) { return at; }
  if (PADDING == 1u) { return (((at >> 31u) == 1u) ? (0u) : (min(at, size - 1u))); }
  if (size == 1u) { return 0u; }
  if (ALIGN == 1u) {
    u32 k = (((at >> 31u) == 1u) ? (0u - at) : (at)) % (2u * (size - 1u));
    return min(k, 2u * (size - 1u) - k);
  }
  u32 k = (((at >> 31u) == 1u) ? (0u - at - 1u) : (at)) % (2u * size);
  return min(k, 2u * size - 1u - k);
}
static __device__ __forceinline__ f32 k_cubic(f32 d) {
  if (d <= 1.0f) { return (1.25f * d - 2.25f) * d * d + 1.0f; }
  return (((d - 5.0f) * d + 8.0f) * d - 4.0f) * -0.75f;
}
static __device__ __forceinline__ u32x2 k_tap(u32x2 at, u32 i, u32 size) {
  if (MODE == 1u) {
    u32x2 r = k_pad_place(at, size);
    u32 up = ((r.y > 0x80000000u || (r.y == 0x80000000u && (r.x & 1u) == 1u)) ? (1u) : (0u));
    return make_uint2(r.x + up, 0x3f800000u);
  }
  if (MODE == 0u) {
    u32x2 r = k_pad_place(at, size);
    f32 f = f32(r.y) * 2.3283064365386963e-10f;
    return make_uint2(r.x + i, __float_as_uint(((i == 1u) ? (f) : (1.0f - f))));
  }
  f32 t = f32(at.y) * 2.3283064365386963e-10f;
  return make_uint2(k_pad_index(at.x + i - 1u, size), __float_as_uint(k_cubic(abs(t + 1.0f - f32(i)))));
}
extern "C" __global__ void __launch_bounds__(K_C0) grid_sample(const u32 *x, const u32 *grid, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 index = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x;
  if (index < p.n) {
    u32 shift = ((2103828u >> (((TO) & 15u) * 2u)) & 3u);
    u32 batch = k_quotient(index, p.words_m, p.words_s);
    u32 w = index - batch * p.words;
    u32 image = k_quotient(batch, p.chunks_m, p.chunks_s);
    u32 c_first = (batch - image * p.chunks) * 8u;
    u32 c_end = min(c_first + 8u, p.channels);
    u32 taps = ((MODE == 1u) ? (1u) : (((MODE == 0u) ? (2u) : (4u))));
    u32 taps_z = ((AXES == 3u) ? (taps) : (1u));
    u32 words[8];
    for (u32 c = 0u; c < 8u; c += 1u) { words[c] = 0u; }
    for (u32 e = 0u; e < (1u << shift); e += 1u) {
      u32 at = (image * p.places + (w << shift) + e) * AXES;
      u32x2 at_x = k_place(k_element(grid[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at), p.in_x);
      u32x2 at_y = k_place(k_element(grid[(at + 1u) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at + 1u), p.in_y);
      u32x2 at_z = make_uint2(0u, 0u);
      if (AXES == 3u) { at_z = k_place(k_element(grid[(at + 2u) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at + 2u), p.in_z); }
      f32 sums[8];
      for (u32 c = 0u; c < 8u; c += 1u) { sums[c] = 0.0f; }
      for (u32 i = 0u; i < taps_z; i += 1u) {
        u32x2 z = make_uint2(0u, 0x3f800000u);
        if (AXES == 3u) { z = k_tap(at_z, i, p.in_z); }
        for (u32 j = 0u; j < taps; j += 1u) {
          u32x2 v = k_tap(at_y, j, p.in_y);
          for (u32 k = 0u; k < taps; k += 1u) {
            u32x2 u = k_tap(at_x, k, p.in_x);
            if (z.x < p.in_z && v.x < p.in_y && u.x < p.in_x) {
              f32 weight = __uint_as_float(z.y) * __uint_as_float(v.y) * __uint_as_float(u.y);
              u32 plane = image * p.channels + c_first;
              for (u32 c = 0u; c < c_end - c_first; c += 1u) {
                sums[c] += weight * k_float(x[((((plane + c) * p.in_z + z.x) * p.in_y + v.x) * p.in_x + u.x) >> ((T == 0u) ? (0u) : (1u))], T, (((plane + c) * p.in_z + z.x) * p.in_y + v.x) * p.in_x + u.x);
              }
            }
          }
        }
      }
      for (u32 c = 0u; c < 8u; c += 1u) {
        words[c] = k_put(words[c], TO, e, k_narrow(__float_as_uint(sums[c]), TO));
      }
    }
    for (u32 c = c_first; c < c_end; c += 1u) {
      y[(image * p.channels + c) * p.words + w] = words[c - c_first];
    }
  }
}
