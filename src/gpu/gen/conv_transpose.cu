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
static constexpr u32 TW = K_C2;
static constexpr u32 HAS_BIAS = K_C3;
struct Params { u32 groups;
  u32 in_z; u32 in_y; u32 in_x; u32 kernel_z; u32 kernel_y; u32 kernel_x; i32 stride_z; i32 stride_y; i32 stride_x; i32 dilation_z; i32 dilation_y; i32 dilation_x; i32 pad_z; i32 pad_y; i32 pad_x; u32 plane; u32 plane_m; u32 plane_s; u32 slice; u32 slice_m; u32 slice_s; u32 row; u32 row_m; u32 row_s;
  u32 channels; u32 channels_m; u32 channels_s;
  u32 in_channels;
  u32 each_in;
  u32 each_out;
  u32 n;
};
static __device__ __forceinline__ u32 k_source(i32 place, i32 tap, i32 stride) {
  i32 at = place - tap;
  if (at < 0) { return 0xffffffffu; }
  i32 source = at / stride;
  return ((source * stride == at) ? (u32(source)) : (0xffffffffu));
}
extern "C" __global__ void __launch_bounds__(K_C0) conv_transpose(const u32 *x, const u32 *w, const u32 *bias, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 shift = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  u32 index = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x;
  if ((index << shift) < p.n) {
    u32 word = 0u;
    for (u32 e = 0u; e < (1u << shift); e += 1u) {
      u32 item = (index << shift) + e;
      if (item < p.n) {
        u32 plane = k_quotient(item, p.plane_m, p.plane_s);
        u32 rest = item - plane * p.plane;
        u32 o_z = k_quotient(rest, p.slice_m, p.slice_s);
        rest = rest - o_z * p.slice;
        u32 o_y = k_quotient(rest, p.row_m, p.row_s);
        i32 o_x = i32(rest - o_y * p.row);
        u32 image = k_quotient(plane, p.channels_m, p.channels_s);
        u32 channel = plane - image * p.channels;
        u32 group = channel / p.each_out;
        u32 x_first = image * p.in_channels;
        f32 sum = 0.0f;
        for (u32 i = 0u; i < p.kernel_z; i += 1u) {
          u32 z = k_source(i32(o_z) + p.pad_z, i32(i) * p.dilation_z, p.stride_z);
          if (z < p.in_z) {
            for (u32 j = 0u; j < p.kernel_y; j += 1u) {
              u32 v = k_source(i32(o_y) + p.pad_y, i32(j) * p.dilation_y, p.stride_y);
              if (v < p.in_y) {
                for (u32 k = 0u; k < p.kernel_x; k += 1u) {
                  u32 u = k_source(o_x + p.pad_x, i32(k) * p.dilation_x, p.stride_x);
                  if (u < p.in_x) {
                    for (u32 c = group * p.each_in; c < (group + 1u) * p.each_in; c += 1u) {
                      u32 tap = c * p.each_out + channel - group * p.each_out;
                      sum += k_float(x[((((x_first + c) * p.in_z + z) * p.in_y + v) * p.in_x + u) >> ((T == 0u) ? (0u) : (1u))], T, (((x_first + c) * p.in_z + z) * p.in_y + v) * p.in_x + u) *
                             k_float(w[(((tap * p.kernel_z + i) * p.kernel_y + j) * p.kernel_x + k) >> ((TW == 0u) ? (0u) : (1u))], TW, ((tap * p.kernel_z + i) * p.kernel_y + j) * p.kernel_x + k);
                    }
                  }
                }
              }
            }
          }
        }
        if (HAS_BIAS == 1u) { sum += k_float(bias[(channel) >> ((T == 0u) ? (0u) : (1u))], T, channel); }
        word = k_put(word, T, e, k_narrow(__float_as_uint(sum), T));
      }
    }
    y[index] = word;
  }
}
