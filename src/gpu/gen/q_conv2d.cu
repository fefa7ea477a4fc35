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
static __device__ __forceinline__ u32x2 k_split_bits(u32 bits) {
  u32 e = (bits >> 23u) & 0xffu;
  u32 m = bits & 0x7fffffu;
  if (e != 0u) { return make_uint2(m | 0x800000u, u32(i32(e) - 150)); }
  u32 up = 23u - (31u - (u32)__clz(m));
  return make_uint2(m << up, u32(-149 - i32(up)));
}
static __device__ __forceinline__ u32 k_kind(u32 bits) {
  u32 a = bits & 0x7fffffffu;
  return ((a > 0x7f800000u) ? (3u) : (((a == 0x7f800000u) ? (2u) : (((a == 0u) ? (1u) : (0u))))));
}
static __device__ __forceinline__ u32 k_kind_of(u32 a, u32 b, u32 y) {
  if (a == 3u || b == 3u || y == 3u) { return 3u; }
  bool none = a == 1u || b == 1u;
  bool endless = a == 2u || b == 2u;
  if ((none && endless) || (none && y == 1u) || (endless && y == 2u)) { return 3u; }
  if (none || y == 2u) { return 1u; }
  if (endless || y == 1u) { return 2u; }
  return 0u;
}
static __device__ __forceinline__ u32x4 k_multiplier(u32 a, u32 b, u32 y) {
  u32 kind = k_kind_of(k_kind(a), k_kind(b), k_kind(y)) | ((a ^ b ^ y) & 0x80000000u);
  if ((kind & 3u) != 0u) { return make_uint4(0u, 0u, 0u, kind); }
  u32x2 sa = k_split_bits(a & 0x7fffffffu);
  u32x2 sb = k_split_bits(b & 0x7fffffffu);
  u32x2 sy = k_split_bits(y & 0x7fffffffu);
  u32 low = sa.x * sb.x;
  u32 rest = (__umulhi(sa.x, sb.x) << 8u) | (low >> 24u);
  u32 q0 = rest / sy.x;
  u32 q1 = 0u;
  rest = rest - q0 * sy.x;
  for (u32 i = 0u; i < 7u; i += 1u) {
    rest = rest << 8u;
    if (i < 3u) { rest = rest | ((low >> (16u - 8u * i)) & 0xffu); }
    u32 digit = rest / sy.x;
    rest = rest - digit * sy.x;
    q1 = (q1 << 8u) | (q0 >> 24u);
    q0 = (q0 << 8u) | digit;
  }
  u32 drop = (31u - (u32)__clz(q1)) - 20u;
  u32 below = q0 & ((1u << drop) - 1u);
  u32 tie = 1u << (drop - 1u);
  u32 hi = q1 >> drop;
  u32 lo = (q0 >> drop) | (q1 << (32u - drop));
  if (below > tie || (below == tie && (rest != 0u || (lo & 1u) == 1u))) {
    lo = lo + 1u;
    if (lo == 0u) { hi = hi + 1u; }
  }
  return make_uint4(hi, lo, u32(i32(sa.y) + i32(sb.y) - i32(sy.y) - 32 + i32(drop)), kind);
}
static __device__ __forceinline__ u32 k_to_integer(u32 hi, u32 lo, i32 e) {
  if (e >= 0) {
    if (hi != 0u || lo >= 1024u || e > 10) { return ((hi == 0u && lo == 0u) ? (0u) : (1024u)); }
    return min(lo << u32(e), 1024u);
  }
  if (e < -54) { return 0u; }
  u32 f = u32(-e);
  u32 whole = 0u;
  u32 first = 0u;
  bool more = false;
  if (f > 32u) {
    u32 g = f - 32u;
    whole = hi >> g;
    first = (hi >> (g - 1u)) & 1u;
    more = (hi & ((1u << (g - 1u)) - 1u)) != 0u || lo != 0u;
  } else {
    if ((((f == 32u) ? (0u) : (hi >> (f & 31u)))) != 0u) { return 1024u; }
    whole = ((f == 32u) ? (hi) : ((lo >> (f & 31u)) | (hi << ((32u - f) & 31u))));
    first = (lo >> (f - 1u)) & 1u;
    more = (lo & ((1u << (f - 1u)) - 1u)) != 0u;
  }
  if (first == 1u && (more || (whole & 1u) == 1u)) { whole = whole + 1u; }
  return min(whole, 1024u);
}
static __device__ __forceinline__ u32 k_scale_sum(u32 sum, u32x4 m) {
  u32 p0 = sum * m.y;
  u32 carry = __umulhi(sum, m.y);
  u32 p1 = sum * m.x + carry;
  u32 p2 = __umulhi(sum, m.x) + ((p1 < carry) ? (1u) : (0u));
  u32 n = ((p2 != 0u) ? (65u + (31u - (u32)__clz(p2 | 1u))) : (((p1 != 0u) ? (33u + (31u - (u32)__clz(p1 | 1u))) : (0u))));
  if (n <= 53u) { return k_to_integer(p1, p0, i32(m.z)); }
  u32 drop = n - 53u;
  u32 below = ((drop == 32u) ? (p0) : (p0 & ((1u << (drop & 31u)) - 1u)));
  u32 tie = 1u << (drop - 1u);
  u32 lo = ((drop == 32u) ? (p1) : ((p0 >> (drop & 31u)) | (p1 << ((32u - drop) & 31u))));
  u32 hi = ((drop == 32u) ? (p2) : ((p1 >> (drop & 31u)) | (p2 << ((32u - drop) & 31u))));
  if (below > tie || (below == tie && (lo & 1u) == 1u)) {
    lo = lo + 1u;
    if (lo == 0u) { hi = hi + 1u; }
  }
  return k_to_integer(hi, lo, i32(m.z) + i32(drop));
}
static __device__ __forceinline__ i32 k_requantise(u32 sum, u32x4 m, i32 zero, i32 lo, i32 hi) {
  u32 kind = m.w & 3u;
  u32 magnitude = ((sum >= 0x80000000u) ? (0u - sum) : (sum));
  if (kind == 3u || (kind == 2u && sum == 0u)) { return 0; }
  u32 y = 0u;
  if (kind == 2u) { y = 1024u; }
  if (kind == 0u) { y = k_scale_sum(magnitude, m); }
  bool negative = ((sum ^ m.w) >> 31u) == 1u;
  return clamp(((negative) ? (-i32(y)) : (i32(y))) + zero, lo, hi);
}
static constexpr u32 TX = K_C1;
static constexpr u32 TW = K_C2;
static constexpr u32 TY = K_C3;
struct Params { u32 groups;
  u32 count;
  u32 out_channels;
  u32 out_h;
  u32 out_w;
  u32 in_channels;
  u32 in_h;
  u32 in_w;
  u32 in_each;
  u32 out_each;
  u32 kernel_h;
  u32 kernel_w;
  i32 stride_h;
  i32 stride_w;
  i32 dilation_h;
  i32 dilation_w;
  i32 pad_h;
  i32 pad_w;
};
extern "C" __global__ void __launch_bounds__(K_C0) q_conv2d(const u32 *x, const u32 *w, const u32x4 *channels, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 first = ((blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x) * 4u;
  i32 lo = ((TY == 5u) ? (0) : (-128));
  if (first < p.count) {
    u32 word = 0u;
    for (u32 e = 0u; e < 4u; e += 1u) {
      if (first + e < p.count) {
        u32 row = (first + e) / p.out_w;
        i32 place_x = i32(first + e - row * p.out_w);
        u32 plane = row / p.out_h;
        i32 place_y = i32(row - plane * p.out_h);
        u32 image = plane / p.out_channels;
        u32 channel = plane - image * p.out_channels;
        u32x4 about = channels[2u * channel + 1u];
        u32 x_plane = image * p.in_channels + channel / p.out_each * p.in_each;
        u32 w_at = channel * p.in_each * p.kernel_h * p.kernel_w;
        u32 sum = about.y;
        for (u32 c = 0u; c < p.in_each; c += 1u) {
          for (u32 i = 0u; i < p.kernel_h; i += 1u) {
            i32 at_y = place_y * p.stride_h + i32(i) * p.dilation_h - p.pad_h;
            for (u32 j = 0u; j < p.kernel_w; j += 1u) {
              i32 at_x = place_x * p.stride_w + i32(j) * p.dilation_w - p.pad_w;
              if (at_y >= 0 && at_y < i32(p.in_h) && at_x >= 0 && at_x < i32(p.in_w)) {
                u32 place = ((x_plane + c) * p.in_h + u32(at_y)) * p.in_w + u32(at_x);
                u32 tap = w_at + (c * p.kernel_h + i) * p.kernel_w + j;
                sum += (k_element(x[(place) >> ((2103828u >> (((TX) & 15u) * 2u)) & 3u)], TX, place) - about.z) * (k_element(w[(tap) >> ((2103828u >> (((TW) & 15u) * 2u)) & 3u)], TW, tap) - about.x);
              }
            }
          }
        }
        i32 q = k_requantise(sum, channels[2u * channel], i32(about.w), lo, lo + 255);
        word = word | ((u32(q) & 0xffu) << (8u * e));
      }
    }
    y[first >> 2u] = word;
  }
}
