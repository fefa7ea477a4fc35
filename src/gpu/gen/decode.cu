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
static __device__ __forceinline__ u32 k_block_shift(u32 T) {
  return ((T < 17u || T == 23u || T == 25u) ? (5u) : (8u));
}
static __device__ __forceinline__ i32 k_block_zero(u32 T) {
  if (T == 12u) { return i32(8u); }
  if (T == 14u) { return i32(16u); }
  if (T == 18u) { return i32(4u); }
  if (T == 21u) { return i32(32u); }
  if (T == 25u) { return i32(12u); }
  if (T == 26u || T == 27u) { return i32(1u); }
  if (T == 16u || T == 22u || T == 23u || T == 24u) { return i32(128u); }
  return i32(0u);
}
static __device__ __forceinline__ u32 k_funnel(u32 lo, u32 hi, u32 o) {
  u32 s = (o & 3u) << 3u;
  return (lo >> s) | ((hi << 1u) << (31u - s));
}
static __device__ __forceinline__ u32 k_level(u32 a, u32 b, u32 c, u32 d, u32 code) {
  u32 low = (((code & 4u) == 0u) ? (a) : (b));
  u32 high = (((code & 4u) == 0u) ? (c) : (d));
  return ((((code & 8u) == 0u) ? (low) : (high)) >> ((code & 3u) << 3u)) & 0xffu;
}
static __device__ __forceinline__ u32 k_iq4_level(u32 c) { return k_level(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u, c); }
static __device__ __forceinline__ u32 k_mxfp4_level(u32 c) { return k_level(0x0f0e0d0cu, 0x18141210u, 0x090a0b0cu, 0x00040608u, c); }
static __device__ __forceinline__ u32 k_iq4_levels(u32 n) {
  return k_iq4_level(n & 15u) | (k_iq4_level((n >> 8u) & 15u) << 8u) | (k_iq4_level((n >> 16u) & 15u) << 16u) |
         (k_iq4_level(n >> 24u) << 24u);
}
static __device__ __forceinline__ u32 k_mxfp4_levels(u32 n) {
  return k_mxfp4_level(n & 15u) | (k_mxfp4_level((n >> 8u) & 15u) << 8u) | (k_mxfp4_level((n >> 16u) & 15u) << 16u) |
         (k_mxfp4_level(n >> 24u) << 24u);
}
static __device__ __forceinline__ f32 k_mxfp4_scale(u32 e) { return __uint_as_float(((e < 2u) ? (0x00200000u << e) : ((e - 1u) << 23u))); }
static __device__ __forceinline__ u32 k_fifths(u32 bits) { return (((bits & 15u) * 0x00204081u) & 0x01010101u) << 4u; }
static __device__ __forceinline__ u32 k_trits(u32 bytes, u32 k) {
  u32 power = ((k < 2u) ? (((k == 0u) ? (1u) : (3u))) : (((k == 2u) ? (9u) : (((k == 3u) ? (27u) : (81u))))));
  u32 even = ((bytes & 0x00ff00ffu) * power) & 0x00ff00ffu;
  u32 odd = (((bytes >> 8u) & 0x00ff00ffu) * power) & 0x00ff00ffu;
  return (((even * 3u) >> 8u) & 0x00030003u) | ((odd * 3u) & 0x03000300u);
}
static __device__ __forceinline__ u32 k_scale_min(u32 s0, u32 s1, u32 s2, u32 j) {
  u32 s = (j & 3u) << 3u;
  u32 a = s0 >> s;
  u32 b = s1 >> s;
  u32 c = s2 >> s;
  u32 lo = ((j < 4u) ? (a & 63u) : ((c & 15u) | ((a >> 2u) & 0x30u)));
  return lo | (((j < 4u) ? (b & 63u) : (((c >> 4u) & 15u) | ((b >> 2u) & 0x30u))) << 16u);
}
static __device__ __forceinline__ f32 k_q3_scale(u32 s0, u32 s1, u32 s2, u32 j) {
  u32 low = ((((j & 4u) == 0u) ? (s0) : (s1)) >> (((j & 3u) << 3u) + ((j >> 3u) << 2u))) & 15u;
  u32 high = (s2 >> (((j & 3u) << 3u) + ((j >> 2u) << 1u))) & 3u;
  return f32(i32(low | (high << 4u)) - i32(32u));
}
static __device__ __forceinline__ f32 k_iq4_scale(u32 high, u32 low, u32 j) {
  return f32(i32(((low >> (j << 2u)) & 15u) | (((high >> (j << 1u)) & 3u) << 4u)) - i32(32u));
}
static __device__ __forceinline__ f32 k_signed(u32 byte) { return f32(i32(byte ^ 0x80u) - i32(128u)); }
static __device__ __forceinline__ bool k_block_adds(u32 T) { return T == 13u || T == 15u || T == 17u || T == 19u || T == 20u; }
static __device__ __forceinline__ f32 k_block_value(u32 T, u32 codes, u32 e, f32 scale, f32 add) {
  f32 v = scale * f32(i32((codes >> (e << 3u)) & 0xffu) - k_block_zero(T));
  if (k_block_adds(T)) { return v + add; }
  return v;
}
static constexpr u32 T = K_C1;
static constexpr u32 PLANES = K_C2;
static constexpr u32 TY = K_C3;
static constexpr u32 TI = K_C4;
struct Params { u32 groups;
  u32 n;
  u32 n_blocks;
  u32 per;
  u32 experts;
  u32 from_end;
};
extern "C" __global__ void __launch_bounds__(K_C0) decode(const u32 *w, const u32 *idx, u32x4 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 i = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x;
  u32 count = ((TY == 0u) ? (1u) : (2u));
  if (i * count < p.n) {
    u32x4 made = make_uint4(0u, 0u, 0u, 0u);
    for (u32 part = 0u; part < count; part += 1u) {
      u32 g = i * count + part;
      u32 per_block = k_block_shift(T) - 2u;
      u32 block = g >> per_block;
      bool there = true;
      if (TI != 0u) {
        u32 slot = block / p.per;
        i32 expert = k_index(TI, idx[((TI == 9u) ? (2u * (slot)) : ((slot)))], idx[((TI == 9u) ? (2u * (slot) + 1u) : ((slot)))]);
        if (p.from_end == 1u && expert < 0) { expert = expert + i32(p.experts); }
        there = expert >= 0 && u32(expert) < p.experts;
        block = ((there) ? (u32(expert)) : (0u)) * p.per + block - slot * p.per;
      }
      if (there) {
        u32 codes = 0u;
        f32 scale = 0.0f;
        f32 add = 0.0f;
        { add = 0.0f; if (k_block_shift(T) == 5u) { u32 k_b = ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u); if (T == 12u || T == 23u) { u32 k_n = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (18u) + (2u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (18u) + (2u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (18u) + (2u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu); codes = k_n; if (T == 23u) { codes = k_iq4_levels(k_n); } scale = k_half((((w[(((PLANES == 1u) ? ((k_b) + (block) * (2u)) : ((block) * (18u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + (block) * (2u)) : ((block) * (18u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (T == 13u) { codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (20u) + (4u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (20u) + (4u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (20u) + (4u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu); scale = k_half((((w[(((PLANES == 1u) ? ((k_b) + (block) * (4u)) : ((block) * (20u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + (block) * (4u)) : ((block) * (20u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); add = k_half((((w[(((PLANES == 1u) ? ((k_b + 2u) + (block) * (4u)) : ((block) * (20u) + (2u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + 2u) + (block) * (4u)) : ((block) * (20u) + (2u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (T == 14u) { codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (22u) + (6u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (22u) + (6u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (22u) + (6u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu) | k_fifths(((w[(((PLANES == 1u) ? ((k_b) + (block) * (4u)) : ((block) * (22u) + (2u))) + ((g & ((1u << per_block) - 1u)) >> 1u)) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + (block) * (4u)) : ((block) * (22u) + (2u))) + ((g & ((1u << per_block) - 1u)) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((g & ((1u << per_block) - 1u)) & 1u) << 2u)); scale = k_half((((w[(((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (22u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (22u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (T == 15u) { codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (24u) + (8u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (24u) + (8u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (24u) + (8u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu) | k_fifths(((w[(((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (4u)) : ((block) * (24u) + (4u))) + ((g & ((1u << per_block) - 1u)) >> 1u)) >> 2u] >> (((((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (4u)) : ((block) * (24u) + (4u))) + ((g & ((1u << per_block) - 1u)) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((g & ((1u << per_block) - 1u)) & 1u) << 2u)); scale = k_half((((w[(((PLANES == 1u) ? ((k_b) + (block) * (4u)) : ((block) * (24u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + (block) * (4u)) : ((block) * (24u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); add = k_half((((w[(((PLANES == 1u) ? ((k_b + 2u) + (block) * (4u)) : ((block) * (24u) + (2u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + 2u) + (block) * (4u)) : ((block) * (24u) + (2u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (T == 16u) { codes = k_funnel(w[(((PLANES == 1u) ? ((0u) + (block) * (32u)) : ((block) * (34u) + (2u))) + ((g & ((1u << per_block) - 1u)) << 2u)) >> 2u], w[((((PLANES == 1u) ? ((0u) + (block) * (32u)) : ((block) * (34u) + (2u))) + ((g & ((1u << per_block) - 1u)) << 2u)) + 3u) >> 2u], ((PLANES == 1u) ? ((0u) + (block) * (32u)) : ((block) * (34u) + (2u))) + ((g & ((1u << per_block) - 1u)) << 2u)) ^ 0x80808080u; scale = k_half((((w[(((PLANES == 1u) ? ((((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (34u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (34u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else { codes = k_mxfp4_levels(((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (17u) + (1u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (17u) + (1u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (16u)) : ((block) * (17u) + (1u)))) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu)); scale = k_mxfp4_scale(((w[(((PLANES == 1u) ? ((k_b) + (block) * (1u)) : ((block) * (17u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + (block) * (1u)) : ((block) * (17u) + (0u)))) & 3u) << 3u)) & 0xffu)); } } else { if (T == 17u) { u32 k_sc = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_s = ((w[(((PLANES == 1u) ? ((k_sc) + (block) * (16u)) : ((block) * (84u) + (0u))) + ((g & ((1u << per_block) - 1u)) >> 2u)) >> 2u] >> (((((PLANES == 1u) ? ((k_sc) + (block) * (16u)) : ((block) * (84u) + (0u))) + ((g & ((1u << per_block) - 1u)) >> 2u)) & 3u) << 3u)) & 0xffu); u32 k_d = w[((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + (block) * (4u)) : ((block) * (84u) + (80u))) >> 2u]; codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (84u) + (16u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (84u) + (16u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (84u) + (16u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = k_half((k_d) & 0xffffu) * f32(k_s & 15u); add = -(k_half((k_d) >> 16u) * f32(k_s >> 4u)); } else if (T == 18u) { u32 k_hm = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_sc = k_hm + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); u32 k_s = ((PLANES == 1u) ? ((k_sc) + (block) * (12u)) : ((block) * (110u) + (96u))); codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (110u) + (32u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (110u) + (32u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (110u) + (32u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u) | (((k_funnel(w[((((PLANES == 1u) ? ((k_hm) + (block) * (32u)) : ((block) * (110u) + (0u)))) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((k_hm) + (block) * (32u)) : ((block) * (110u) + (0u)))) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_hm) + (block) * (32u)) : ((block) * (110u) + (0u)))) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((g & ((1u << per_block) - 1u)) >> 3u)) & 0x01010101u) << 2u); scale = k_half((((w[(((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (110u) + (108u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (110u) + (108u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu) * k_q3_scale(k_funnel(w[(k_s) >> 2u], w[((k_s) + 3u) >> 2u], k_s), k_funnel(w[(k_s + 4u) >> 2u], w[((k_s + 4u) + 3u) >> 2u], k_s + 4u), k_funnel(w[(k_s + 8u) >> 2u], w[((k_s + 8u) + 3u) >> 2u], k_s + 8u), (g & ((1u << per_block) - 1u)) >> 2u); } else if (T == 19u) { u32 k_h = ((PLANES == 1u) ? ((((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + (block) * (16u)) : ((block) * (144u) + (0u))); codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (144u) + (16u)))) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (144u) + (16u)))) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (144u) + (16u)))) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu); u32 k_s = k_scale_min(w[(k_h >> 2u) + 1u], w[(k_h >> 2u) + 2u], w[(k_h >> 2u) + 3u], (g & ((1u << per_block) - 1u)) >> 3u); u32 k_d = w[k_h >> 2u]; scale = k_half((k_d) & 0xffffu) * f32(k_s & 0xffffu); add = -(k_half((k_d) >> 16u) * f32(k_s >> 16u)); } else if (T == 20u) { u32 k_qh = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); u32 k_h = ((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + (block) * (16u)) : ((block) * (176u) + (0u))); codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (176u) + (48u)))) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (176u) + (48u)))) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (176u) + (48u)))) + (((g & ((1u << per_block) - 1u)) >> 4u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(w[((((PLANES == 1u) ? ((k_qh) + (block) * (32u)) : ((block) * (176u) + (16u)))) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((k_qh) + (block) * (32u)) : ((block) * (176u) + (16u)))) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_qh) + (block) * (32u)) : ((block) * (176u) + (16u)))) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((g & ((1u << per_block) - 1u)) >> 3u)) & 0x01010101u) << 4u); u32 k_s = k_scale_min(w[(k_h >> 2u) + 1u], w[(k_h >> 2u) + 2u], w[(k_h >> 2u) + 3u], (g & ((1u << per_block) - 1u)) >> 3u); u32 k_d = w[k_h >> 2u]; scale = k_half((k_d) & 0xffffu) * f32(k_s & 0xffffu); add = -(k_half((k_d) >> 16u) * f32(k_s >> 16u)); } else if (T == 21u) { u32 k_qh = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); u32 k_sc = k_qh + ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_ql = ((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (210u) + (0u))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 6u) + (((g & ((1u << per_block) - 1u)) & 15u) << 2u); codes = ((k_funnel(w[(k_ql) >> 2u], w[((k_ql) + 3u) >> 2u], k_ql) >> ((((g & ((1u << per_block) - 1u)) >> 4u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(w[((((PLANES == 1u) ? ((k_qh) + (block) * (64u)) : ((block) * (210u) + (128u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((k_qh) + (block) * (64u)) : ((block) * (210u) + (128u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_qh) + (block) * (64u)) : ((block) * (210u) + (128u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u) << 4u); scale = k_half((((w[(((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (210u) + (208u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (210u) + (208u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu) * k_signed(((w[(((PLANES == 1u) ? ((k_sc) + (block) * (16u)) : ((block) * (210u) + (192u))) + ((g & ((1u << per_block) - 1u)) >> 2u)) >> 2u] >> (((((PLANES == 1u) ? ((k_sc) + (block) * (16u)) : ((block) * (210u) + (192u))) + ((g & ((1u << per_block) - 1u)) >> 2u)) & 3u) << 3u)) & 0xffu)); } else if (T == 22u) { u32 k_d = ((((p.n_blocks) * 256u) + 255u) & 0xffffff00u) + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); codes = w[(((PLANES == 1u) ? ((0u) + (block) * (256u)) : ((block) * (292u) + (4u))) >> 2u) + (g & ((1u << per_block) - 1u))] ^ 0x80808080u; scale = __uint_as_float(w[((PLANES == 1u) ? ((k_d) + (block) * (4u)) : ((block) * (292u) + (0u))) >> 2u]); } else if (T == 24u) { u32 k_h = ((PLANES == 1u) ? ((((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + (block) * (8u)) : ((block) * (136u) + (0u))) >> 2u; codes = k_iq4_levels(((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (136u) + (8u))) + (((g & ((1u << per_block) - 1u)) >> 3u) << 4u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (136u) + (8u))) + (((g & ((1u << per_block) - 1u)) >> 3u) << 4u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (128u)) : ((block) * (136u) + (8u))) + (((g & ((1u << per_block) - 1u)) >> 3u) << 4u)) + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> ((g & ((1u << per_block) - 1u)) & 4u)) & 0x0f0f0f0fu)); scale = k_half((w[k_h]) & 0xffffu) * k_iq4_scale(w[k_h] >> 16u, w[k_h + 1u], (g & ((1u << per_block) - 1u)) >> 3u); } else if (T == 26u) { u32 k_qh = ((((p.n_blocks) * 48u) + 255u) & 0xffffff00u); u32 k_at = ((PLANES == 1u) ? ((0u) + (block) * (48u)) : ((block) * (54u) + (0u))); if ((g & ((1u << per_block) - 1u)) < 40u) { codes = k_trits(k_funnel(w[(k_at + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[((k_at + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], k_at + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)), (g & ((1u << per_block) - 1u)) >> 3u); } else if ((g & ((1u << per_block) - 1u)) < 60u) { codes = k_trits(k_funnel(w[(k_at + 32u + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) >> 2u], w[((k_at + 32u + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)) + 3u) >> 2u], k_at + 32u + (((g & ((1u << per_block) - 1u)) & 3u) << 2u)), ((g & ((1u << per_block) - 1u)) - 40u) >> 2u); } else { codes = k_trits(k_funnel(w[(((PLANES == 1u) ? ((k_qh) + (block) * (4u)) : ((block) * (54u) + (48u)))) >> 2u], w[((((PLANES == 1u) ? ((k_qh) + (block) * (4u)) : ((block) * (54u) + (48u)))) + 3u) >> 2u], ((PLANES == 1u) ? ((k_qh) + (block) * (4u)) : ((block) * (54u) + (48u)))), (g & ((1u << per_block) - 1u)) - 60u); } scale = k_half((((w[(((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (54u) + (52u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (54u) + (52u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else { codes = ((k_funnel(w[((((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (66u) + (0u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> 2u], w[(((((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (66u) + (0u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + (block) * (64u)) : ((block) * (66u) + (0u)))) + (((g & ((1u << per_block) - 1u)) >> 5u) << 5u) + (((g & ((1u << per_block) - 1u)) & 7u) << 2u)) >> ((((g & ((1u << per_block) - 1u)) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = k_half((((w[(((PLANES == 1u) ? ((((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (66u) + (64u)))) >> 2u] >> (((((PLANES == 1u) ? ((((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + (block) * (2u)) : ((block) * (66u) + (64u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } } }
        u32 v0 = k_narrow(__float_as_uint(k_block_value(T, codes, 0u, scale, add)), TY);
        u32 v1 = k_narrow(__float_as_uint(k_block_value(T, codes, 1u, scale, add)), TY);
        u32 v2 = k_narrow(__float_as_uint(k_block_value(T, codes, 2u, scale, add)), TY);
        u32 v3 = k_narrow(__float_as_uint(k_block_value(T, codes, 3u, scale, add)), TY);
        if (TY == 0u) {
          made = make_uint4(v0, v1, v2, v3);
        } else if (part == 0u) {
          made = make_uint4(v0 | (v1 << 16u), v2 | (v3 << 16u), 0u, 0u);
        } else {
          made = make_uint4(made.x, made.y, v0 | (v1 << 16u), v2 | (v3 << 16u));
        }
      }
    }
    y[i] = made;
  }
}
