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
static __device__ __forceinline__ u32 k_pool_enter(u32 bits, u32 is_max) {
  if (is_max == 0u) { return bits; }
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
  return (((bits >> 31u) == 1u) ? (~bits) : (bits | 0x80000000u));
}
static __device__ __forceinline__ u32 k_pool_join(u32 a, u32 b, u32 is_max) {
  return ((is_max == 1u) ? (max(a, b)) : (__float_as_uint(__uint_as_float(a) + __uint_as_float(b))));
}
static __device__ __forceinline__ f32 k_pool_mean(f32 sum, f32 divisor) {
  f32 q = sum / divisor;
  f32 better = q + fma(-q, divisor, sum) / divisor;
  return ((abs(q) < 1.0e37f) ? (better) : (q));
}
static __device__ __forceinline__ u32 k_pool_leave(u32 state, f32 divisor, u32 is_max) {
  if (is_max == 0u) { return ((divisor > 0.0f) ? (__float_as_uint(k_pool_mean(__uint_as_float(state), max(divisor, 1.0f)))) : (0u)); }
  if (state == 0u) { return 0xff800000u; }
  if (state == 0xffffffffu) { return 0x7fc00000u; }
  return (((state >> 31u) == 1u) ? (state & 0x7fffffffu) : (~state));
}
static constexpr u32 T = K_C1;
static constexpr u32 IS_MAX = K_C2;
static constexpr u32 COUNT_PAD = K_C3;
static constexpr u32 LANES = K_C4;
struct Params { u32 groups;
  u32 in_z; u32 in_y; u32 in_x; u32 kernel_z; u32 kernel_y; u32 kernel_x; i32 stride_z; i32 stride_y; i32 stride_x; i32 dilation_z; i32 dilation_y; i32 dilation_x; i32 pad_z; i32 pad_y; i32 pad_x; u32 plane; u32 plane_m; u32 plane_s; u32 slice; u32 slice_m; u32 slice_s; u32 row; u32 row_m; u32 row_s;
  u32 padded_z;
  u32 padded_y;
  u32 padded_x;
  u32 n;
};
static __shared__ u32 most[((u32)K_C0)];
static __shared__ f32 red[((u32)K_C0)];
extern "C" __global__ void __launch_bounds__(K_C0) pool_lanes(const u32 *x, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 shift = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
  u32 w = (blockIdx.y * gridDim.x + blockIdx.x) * (((u32)K_C0) / LANES) + ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES));
  u32 word = 0u;
  for (u32 e = 0u; e < (1u << shift); e += 1u) {
    u32 item = min((w << shift) + e, p.n - 1u);
    u32 plane = k_quotient(item, p.plane_m, p.plane_s); u32 rest = (item) - plane * p.plane; u32 o_z = k_quotient(rest, p.slice_m, p.slice_s); rest = rest - o_z * p.slice; u32 o_y = k_quotient(rest, p.row_m, p.row_s); i32 start_z = i32(o_z) * p.stride_z - p.pad_z; i32 start_y = i32(o_y) * p.stride_y - p.pad_y; i32 start_x = i32(rest - o_y * p.row) * p.stride_x - p.pad_x; u32 first_z = k_first_tap(start_z, p.dilation_z); u32 first_y = k_first_tap(start_y, p.dilation_y); u32 first_x = k_first_tap(start_x, p.dilation_x); u32 end_z = max(first_z, k_end_tap(start_z, p.dilation_z, p.kernel_z, p.in_z)); u32 end_y = max(first_y, k_end_tap(start_y, p.dilation_y, p.kernel_y, p.in_y)); u32 end_x = max(first_x, k_end_tap(start_x, p.dilation_x, p.kernel_x, p.in_x)); f32 divisor = f32(end_z - first_z) * f32(end_y - first_y) * f32(end_x - first_x); if (COUNT_PAD == 1u) { divisor = f32(k_end_tap(start_z, p.dilation_z, p.kernel_z, p.padded_z)) * f32(k_end_tap(start_y, p.dilation_y, p.kernel_y, p.padded_y)) * f32(k_end_tap(start_x, p.dilation_x, p.kernel_x, p.padded_x)); }
    u32 wide = max(end_x - first_x, 1u);
    u32 high = max(end_y - first_y, 1u);
    u32 taps = (end_z - first_z) * (end_y - first_y) * (end_x - first_x);
    u32 state = 0u;
    if ((w << shift) + e < p.n) {
      for (u32 t = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)); t < taps; t += LANES) {
        u32 line = t / wide;
        u32 k = t - line * wide;
        u32 i = line / high;
        u32 at = (((plane * p.in_z + u32(start_z + i32(first_z + i) * p.dilation_z)) * p.in_y + u32(start_y + i32(first_y + line - i * high) * p.dilation_y)) * p.in_x + u32(start_x + i32(first_x + k) * p.dilation_x));
        state = k_pool_join(state, k_pool_enter(k_element(x[(at) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, at), IS_MAX), IS_MAX);
      }
    }
    if (IS_MAX == 1u) {
      if (0u == 1u) { __syncthreads(); most[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = state; if (1u > 1u) { most[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = state; } if (1u > 2u) { most[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = state; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); most[k_a] = max(most[k_a], most[k_b]); if (1u > 1u) { most[((u32)K_C0) + k_a] = max(most[((u32)K_C0) + k_a], most[((u32)K_C0) + k_b]); } if (1u > 2u) { most[2u * ((u32)K_C0) + k_a] = max(most[2u * ((u32)K_C0) + k_a], most[2u * ((u32)K_C0) + k_b]); } } __syncthreads(); } state = most[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { state = most[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { state = most[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
      for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { state = max(state, SG_XOR(state, 1u << k_level)); if (1u > 1u) { state = max(state, SG_XOR(state, 1u << k_level)); } if (1u > 2u) { state = max(state, SG_XOR(state, 1u << k_level)); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { most[(threadIdx.x >> 5u)] = state; if (1u > 1u) { most[((u32)K_C0) + (threadIdx.x >> 5u)] = state; } if (1u > 2u) { most[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = state; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); state = most[k_first]; if (1u > 1u) { state = most[((u32)K_C0) + k_first]; } if (1u > 2u) { state = most[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { state = max(state, most[k_i]); if (1u > 1u) { state = max(state, most[((u32)K_C0) + k_i]); } if (1u > 2u) { state = max(state, most[2u * ((u32)K_C0) + k_i]); } } } }
    } else {
      f32 sum = __uint_as_float(state);
      if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = sum; if (1u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = sum; } if (1u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = sum; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (1u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } sum = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { sum = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { sum = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
      for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { sum = ((sum) + (SG_XOR(sum, 1u << k_level))); if (1u > 1u) { sum = ((sum) + (SG_XOR(sum, 1u << k_level))); } if (1u > 2u) { sum = ((sum) + (SG_XOR(sum, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = sum; if (1u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = sum; } if (1u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = sum; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); sum = red[k_first]; if (1u > 1u) { sum = red[((u32)K_C0) + k_first]; } if (1u > 2u) { sum = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { sum = ((sum) + (red[k_i])); if (1u > 1u) { sum = ((sum) + (red[((u32)K_C0) + k_i])); } if (1u > 2u) { sum = ((sum) + (red[2u * ((u32)K_C0) + k_i])); } } } }
      state = __float_as_uint(sum);
    }
    word = k_put(word, T, e, k_narrow(k_pool_leave(state, divisor, IS_MAX), T));
  }
  if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) == 0u && (w << shift) < p.n) { y[w] = word; }
}
