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
static constexpr u32 COLS = K_C3;
static constexpr u32 EACH = K_C4;
static constexpr u32 SIZE_W = K_C5;
static constexpr u32 MASKED = K_C6;
static constexpr u32 TABLED = K_C7;
static constexpr u32 W4 = K_C8;
static constexpr u32 HAS_BIAS = K_C9;
static constexpr u32 STEPPED = K_C10;
struct Params { u32 groups;
  u32 places;
  u32 plane; u32 plane_m; u32 plane_s;
  u32 slice; u32 slice_m; u32 slice_s;
  u32 row; u32 row_m; u32 row_s;
  u32 in_z;
  u32 in_y;
  u32 in_x;
  u32 x_image;
  u32 x_group;
  u32 y_image;
  u32 y_plane;
  u32 y_part;
  u32 w_group;
  u32 w_channel;
  u32 each_out;
  u32 k;
  u32 k_part;
  u32 taps;
  u32 tiles_o;
  u32 tiles_p;
  u32 conv_groups;
};
static __shared__ f32x4 ws[SIZE_W];
static __shared__ f32x4 xs[512];
extern "C" __global__ void __launch_bounds__(K_C0) conv_tile(const u32 *x, const u32 *w, const u32x4 *w4, const u32 *bias, const u32x4 *t, const u32 *tw, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 rest = (blockIdx.y * gridDim.x + blockIdx.x) / p.tiles_o;
  u32 tile_o = (blockIdx.y * gridDim.x + blockIdx.x) - rest * p.tiles_o;
  u32 slab = rest / p.tiles_p;
  u32 tile_p = rest - slab * p.tiles_p;
  u32 part = slab / p.conv_groups;
  u32 conv_group = slab - part * p.conv_groups;
  u32 k0 = part * p.k_part;
  u32 k1 = min(k0 + p.k_part, p.k);
  u32x4 stride = t[0u];
  u32x4 pad = t[1u];
  u32 mine = tile_p * 128u + threadIdx.x % 128u;
  u32 image = k_quotient(mine, p.plane_m, p.plane_s);
  u32 in_image = mine - image * p.plane;
  u32 at_z = k_quotient(in_image, p.slice_m, p.slice_s);
  u32 in_slice = in_image - at_z * p.slice;
  u32 at_y = k_quotient(in_slice, p.row_m, p.row_s);
  u32 start_z = at_z * stride.x - pad.x;
  u32 start_y = at_y * stride.y - pad.y;
  u32 start_x = (in_slice - at_y * p.row) * stride.z - pad.z;
  u32 base = image * p.x_image + conv_group * p.x_group + (start_z * p.in_y + start_y) * p.in_x + start_x;
  u32 mask = 0u;
  if (mine >= p.places) {
    start_z = 0x80000000u;
  } else if (MASKED == 1u) {
    for (u32 i = 0u; i < p.taps; i += 1u) {
      u32x4 d = t[3u + i];
      if ((start_z + (d.x) < p.in_z && start_y + (d.y) < p.in_y && start_x + (d.z) < p.in_x)) { mask = mask | (1u << i); }
    }
  }
  u32 wide = (((((u32)K_C0) / COLS) < 4u) ? (COLS / 4u) : (8u));
  u32 block = threadIdx.x / 32u;
  u32 column = threadIdx.x % 32u % wide + block % (COLS / wide) * wide;
  u32 line = threadIdx.x % 32u / wide + block / (COLS / wide) * min((((u32)K_C0) / COLS), 4u);
  f32 acc[64];
 
#pragma unroll
  for (u32 i = 0u; i < 8u; i += 1u) {
    f32 first = 0.0f;
    u32 channel = tile_o * (8u * (((u32)K_C0) / COLS)) + line + i * (((u32)K_C0) / COLS);
    if (HAS_BIAS == 1u && channel < p.each_out) { first = k_float(bias[(conv_group * p.each_out + channel) >> ((T == 0u) ? (0u) : (1u))], T, conv_group * p.each_out + channel); }
   
#pragma unroll
    for (u32 j = 0u; j < 8u; j += 1u) { acc[i * 8u + j] = first; }
  }
  f32x4 next_x[4];
  f32x4 next_w[2];
  u32 steps = (k1 - min(k0, k1) + 15u) / 16u;
  for (u32 s = 0u; s <= steps; s += 1u) {
    u32 k = k0 + s * 16u;
    if (s < steps) {
     
#pragma unroll
      for (u32 i = 0u; i < 4u; i += 1u) {
        if (i < 512u / ((u32)K_C0)) {
          u32 four = k / 4u + threadIdx.x / 128u + i * (((u32)K_C0) / 128u);
          u32 entry = ((MASKED == 1u) ? (3u + p.taps + 2u * four) : (3u + 4u * four));
          u32x4 offset = t[entry];
          u32x4 met = t[entry + 1u];
          if (MASKED == 1u) {
            met = make_uint4((mask >> met.x) & 1u, (mask >> met.y) & 1u, (mask >> met.z) & 1u, (mask >> met.w) & 1u);
          } else {
            u32x4 d_y = t[entry + 2u];
            u32x4 d_x = t[entry + 3u];
            met = make_uint4((((start_z + (met.x) < p.in_z && start_y + (d_y.x) < p.in_y && start_x + (d_x.x) < p.in_x)) ? (1u) : (0u)), (((start_z + (met.y) < p.in_z && start_y + (d_y.y) < p.in_y && start_x + (d_x.y) < p.in_x)) ? (1u) : (0u)),
                    (((start_z + (met.z) < p.in_z && start_y + (d_y.z) < p.in_y && start_x + (d_x.z) < p.in_x)) ? (1u) : (0u)), (((start_z + (met.w) < p.in_z && start_y + (d_y.w) < p.in_y && start_x + (d_x.w) < p.in_x)) ? (1u) : (0u)));
          }
          f32 v0 = 0.0f; if ((met.x) == 1u) { v0 = k_float(x[(base + (offset.x)) >> ((T == 0u) ? (0u) : (1u))], T, base + (offset.x)); }
          f32 v1 = 0.0f; if ((met.y) == 1u) { v1 = k_float(x[(base + (offset.y)) >> ((T == 0u) ? (0u) : (1u))], T, base + (offset.y)); }
          f32 v2 = 0.0f; if ((met.z) == 1u) { v2 = k_float(x[(base + (offset.z)) >> ((T == 0u) ? (0u) : (1u))], T, base + (offset.z)); }
          f32 v3 = 0.0f; if ((met.w) == 1u) { v3 = k_float(x[(base + (offset.w)) >> ((T == 0u) ? (0u) : (1u))], T, base + (offset.w)); }
          next_x[i] = make_float4(v0, v1, v2, v3);
        }
      }
     
#pragma unroll
      for (u32 i = 0u; i < 2u; i += 1u) {
        u32 item = threadIdx.x + i * ((u32)K_C0);
        if (i * ((u32)K_C0) < 4u * (8u * (((u32)K_C0) / COLS)) && item < 4u * (8u * (((u32)K_C0) / COLS))) {
          u32 channel = tile_o * (8u * (((u32)K_C0) / COLS)) + item / 4u;
          u32 k_w = k + 4u * (item % 4u);
          next_w[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          if (channel < p.each_out && k_w < p.k) {
            u32 w_row = conv_group * p.w_group + channel * p.w_channel;
            if (W4 == 1u) {
              next_w[i] = AS_F4(w4[(w_row + k_w) / 4u]);
            } else {
              f32 w0 = 0.0f; if ((k_w) < p.k) { u32 k_to = w_row + (k_w); if (TABLED == 1u) { k_to = w_row + tw[k_w]; } w0 = k_float(w[(k_to) >> ((TW == 0u) ? (0u) : (1u))], TW, k_to); }
              f32 w1 = 0.0f; if ((k_w + 1u) < p.k) { u32 k_to = w_row + (k_w + 1u); if (TABLED == 1u) { k_to = w_row + tw[k_w + 1u]; } w1 = k_float(w[(k_to) >> ((TW == 0u) ? (0u) : (1u))], TW, k_to); }
              f32 w2 = 0.0f; if ((k_w + 2u) < p.k) { u32 k_to = w_row + (k_w + 2u); if (TABLED == 1u) { k_to = w_row + tw[k_w + 2u]; } w2 = k_float(w[(k_to) >> ((TW == 0u) ? (0u) : (1u))], TW, k_to); }
              f32 w3 = 0.0f; if ((k_w + 3u) < p.k) { u32 k_to = w_row + (k_w + 3u); if (TABLED == 1u) { k_to = w_row + tw[k_w + 3u]; } w3 = k_float(w[(k_to) >> ((TW == 0u) ? (0u) : (1u))], TW, k_to); }
              next_w[i] = make_float4(w0, w1, w2, w3);
            }
          }
        }
      }
    }
    if (s > 0u) {
      for (u32 q = 0u; q < 4u; q += 1u) {
        f32x4 a[8];
       
#pragma unroll
        for (u32 i = 0u; i < 8u; i += 1u) { a[i] = ws[q * (SIZE_W / 4u) + line + i * (((u32)K_C0) / COLS)]; }
       
#pragma unroll
        for (u32 j = 0u; j < 8u; j += 1u) {
          if (j < EACH) {
            f32x4 b = xs[q * 128u + column + j * COLS];
           
#pragma unroll
            for (u32 i = 0u; i < 8u; i += 1u) {
              acc[i * 8u + j] += a[i].x * b.x;
              acc[i * 8u + j] += a[i].y * b.y;
              acc[i * 8u + j] += a[i].z * b.z;
              acc[i * 8u + j] += a[i].w * b.w;
            }
          }
        }
      }
    }
    __syncthreads();
    if (s < steps) {
     
#pragma unroll
      for (u32 i = 0u; i < 4u; i += 1u) {
        if (i < 512u / ((u32)K_C0)) { xs[threadIdx.x + i * ((u32)K_C0)] = next_x[i]; }
      }
     
#pragma unroll
      for (u32 i = 0u; i < 2u; i += 1u) {
        u32 item = threadIdx.x + i * ((u32)K_C0);
        if (i * ((u32)K_C0) < 4u * (8u * (((u32)K_C0) / COLS)) && item < 4u * (8u * (((u32)K_C0) / COLS))) { ws[item % 4u * (SIZE_W / 4u) + item / 4u] = next_w[i]; }
      }
    }
    __syncthreads();
  }
  u32x4 step = t[2u];
 
#pragma unroll
  for (u32 j = 0u; j < 8u; j += 1u) {
    u32 place = tile_p * 128u + column + j * COLS;
    if (j < EACH && place < p.places) {
      u32 whose = k_quotient(place, p.plane_m, p.plane_s);
      u32 to = place - whose * p.plane;
      if (STEPPED == 1u) {
        u32 to_z = k_quotient(to, p.slice_m, p.slice_s);
        u32 in_z = to - to_z * p.slice;
        u32 to_y = k_quotient(in_z, p.row_m, p.row_s);
        to = to_z * step.x + to_y * step.y + (in_z - to_y * p.row) * step.z + step.w;
      }
      to += whose * p.y_image + conv_group * p.each_out * p.y_plane + part * p.y_part;
     
#pragma unroll
      for (u32 i = 0u; i < 8u; i += 1u) {
        u32 channel = tile_o * (8u * (((u32)K_C0) / COLS)) + line + i * (((u32)K_C0) / COLS);
        if (channel < p.each_out) { y[to + channel * p.y_plane] = __float_as_uint(acc[i * 8u + j]); }
      }
    }
  }
}
