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
static __device__ __forceinline__ u32 k_key_of(u32 bits, u32 T, u32 zeros) {
  if ((T == 0u || T == 1u || T == 2u)) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) { return 0xffffffffu; }
    if (zeros == 0u && bits == 0x80000000u) { return 0x80000000u; }
    return ((bits >= 0x80000000u) ? (~bits) : (bits | 0x80000000u));
  }
  if ((T == 4u || T == 6u || T == 7u) || T == 9u) { return bits ^ 0x80000000u; }
  return bits;
}
static __device__ __forceinline__ u32 k_key_value(u32 key, u32 T) {
  if ((T == 0u || T == 1u || T == 2u)) {
    if (key == 0xffffffffu) { return 0x7fc00000u; }
    return ((key >= 0x80000000u) ? (key & 0x7fffffffu) : (~key));
  }
  if ((T == 4u || T == 6u || T == 7u) || T == 9u) { return key ^ 0x80000000u; }
  return key;
}
static __device__ __forceinline__ u32x2 k_keys(u32 low, u32 high, u32 T, u32 zeros, u32 smallest) {
  if (T == 9u) {
    if (smallest == 1u) { return make_uint2(~low, ~k_key_of(high, T, 0u)); }
    return make_uint2(low, k_key_of(high, T, 0u));
  }
  u32 key = k_key_of(low, T, zeros);
  if (smallest == 1u && !((T == 0u || T == 1u || T == 2u) && key == 0xffffffffu)) { key = ~key; }
  return make_uint2(key, 0u);
}
static __device__ __forceinline__ bool k_key_above(u32x2 a, u32x2 b, u32 T) {
  if (T == 9u) { return a.y > b.y || (a.y == b.y && a.x > b.x); }
  return a.x > b.x;
}
static __device__ __forceinline__ u32x2 k_fold_split(f32 m, u32 e) {
  f32 v = m;
  u32 at = e;
  if ((__float_as_uint(v) & 0x7f800000u) == 0u) {
    v = v * 16777216.0f;
    at = at - 24u;
  }
  u32 bits = __float_as_uint(v);
  u32 field = (bits >> 23u) & 0xffu;
  if (field == 0u || field == 0xffu) { return make_uint2(bits, 0u); }
  return make_uint2((bits & 0x807fffffu) | 0x3f800000u, at + field - 127u);
}
static __device__ __forceinline__ u32x2 k_fold_mul64(u32x2 a, u32x2 b) {
  return make_uint2(a.x * b.x, __umulhi(a.x, b.x) + a.x * b.y + a.y * b.x);
}
static __device__ __forceinline__ u32x2 k_fold_in(u32 low, u32 high, u32 OP, u32 T) {
  if (OP == 2u || OP == 3u) { return k_keys(low, high, T, 1u, ((OP == 3u) ? (1u) : (0u))); }
  if ((T == 0u || T == 1u || T == 2u)) {
    if (OP == 1u) { return k_fold_split(__uint_as_float(low), 0u); }
    if (OP == 4u) { return make_uint2(low, 0u); }
    return make_uint2(low, __float_as_uint(__uint_as_float(low) * 2.3283064365386963e-10f));
  }
  return make_uint2(low, high);
}
static __device__ __forceinline__ u32x2 k_fold(u32x2 a, u32x2 b, u32 OP, u32 T) {
  if (OP == 2u || OP == 3u) {
    if (k_key_above(b, a, T)) { return b; }
    return a;
  }
  if ((T == 0u || T == 1u || T == 2u)) {
    if (OP == 1u) { return k_fold_split(__uint_as_float(a.x) * __uint_as_float(b.x), a.y + b.y); }
    f32 s = __uint_as_float(a.x) + __uint_as_float(b.x);
    f32 rest = __uint_as_float(a.y) + __uint_as_float(b.y);
    if (OP == 4u) {
      f32 part = s - __uint_as_float(a.x);
      f32 lost = (__uint_as_float(a.x) - (s - part)) + (__uint_as_float(b.x) - part);
      rest = rest + lost;
    }
    return make_uint2(__float_as_uint(s), __float_as_uint(rest));
  }
  if (OP == 1u) {
    if (T == 9u) { return k_fold_mul64(a, b); }
    return make_uint2(a.x * b.x, 0u);
  }
  if (T == 9u) {
    u32 low = a.x + b.x;
    return make_uint2(low, a.y + b.y + ((low < a.x) ? (1u) : (0u)));
  }
  return make_uint2(a.x + b.x, 0u);
}
static __device__ __forceinline__ f32 k_fold_power(i32 e) { return __uint_as_float(u32(e + 127) << 23u); }
static __device__ __forceinline__ u32x2 k_fold_out(u32x2 a, u32 OP, u32 T, f32 count) {
  if (OP == 2u || OP == 3u) {
    bool turned = OP == 3u && !((T == 0u || T == 1u || T == 2u) && a.x == 0xffffffffu);
    if (T == 9u) {
      return make_uint2(((turned) ? (~a.x) : (a.x)), k_key_value(((turned) ? (~a.y) : (a.y)), T));
    }
    return make_uint2(k_key_value(((turned) ? (~a.x) : (a.x)), T), 0u);
  }
  if ((T == 0u || T == 1u || T == 2u)) {
    if (OP == 1u) {
      i32 e = clamp(i32(a.y), -300, 300);
      i32 third = e / 3;
      f32 r = __uint_as_float(a.x) * k_fold_power(third) * k_fold_power(third);
      return make_uint2(__float_as_uint(r * k_fold_power(e - 2 * third)), 0u);
    }
    if (OP == 4u) {
      if ((a.x & 0x7f800000u) == 0x7f800000u) { return make_uint2(a.x, 0u); }
      return make_uint2(__float_as_uint(__uint_as_float(a.x) + __uint_as_float(a.y)), 0u);
    }
    if ((a.x & 0x7f800000u) != 0x7f800000u) { return make_uint2(__float_as_uint(__uint_as_float(a.x) / count), 0u); }
    return make_uint2(__float_as_uint(__uint_as_float(a.y) / count * 4294967296.0f), 0u);
  }
  return a;
}
static constexpr u32 T = K_C1;
static constexpr u32 OP = K_C2;
static constexpr u32 LANES = K_C3;
static constexpr u32 STRIDED = K_C4;
static constexpr u32 EXCLUSIVE = K_C5;
static constexpr u32 REVERSE = K_C6;
static constexpr u32 PACKED = K_C7;
static constexpr u32 CUT = K_C8;
struct Params { u32 groups;
  u32 lines;
  u32 n;
  u32 inner;
  u32 blocks;
  u32 chunks;
  u32 chunk;
  u32 neutral;
  u32 neutral_high;
};
static __shared__ u32 red[((u32)K_C0)];
static __shared__ u32 red_high[((u32)K_C0)];
extern "C" __global__ void __launch_bounds__(K_C0) scan(const u32 *x, u32 *y, const u32 *folds, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 lane = ((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES));
  u32 group = (blockIdx.y * gridDim.x + blockIdx.x) / p.chunks;
  u32 piece = (blockIdx.y * gridDim.x + blockIdx.x) - group * p.chunks;
  u32 line = group * (((u32)K_C0) / LANES) + ((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES));
  bool is_line = line < p.lines;
  u32 slab = line / p.inner;
  u32 base = slab * p.n * p.inner + (line - slab * p.inner);
  u32x2 carry = make_uint2(p.neutral, p.neutral_high);
  if (CUT == 1u) {
    for (u32 c = lane; c < ((is_line) ? (piece) : (0u)); c += LANES) {
      u32 at = 2u * (line * p.chunks + ((REVERSE == 1u) ? (p.chunks - 1u - c) : (c)));
      carry = k_fold(carry, make_uint2(folds[at], folds[at + 1u]), OP, T);
    }
    __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = carry.x; red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = carry.y; __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); carry = k_fold(carry, make_uint2(red[k_b], red_high[k_b]), OP, T); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = carry.x; red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = carry.y; } __syncthreads(); } carry = make_uint2(red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u))], red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((STRIDED == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]);
  }
  u32 begin = ((REVERSE == 1u) ? (p.chunks - 1u - piece) : (piece)) * p.chunk;
  u32 blocks = min(p.chunk, p.blocks - begin);
  for (u32 tile = 0u; tile < blocks; tile += LANES) {
    u32 turn = tile + lane;
    u32 first = (begin + ((REVERSE == 1u) ? (blocks - 1u - turn) : (turn))) * 8u;
    u32 count = ((is_line && turn < blocks) ? (min(8u, p.n - first)) : (0u));
    u32x2 acc = make_uint2(p.neutral, p.neutral_high);
    for (u32 e = 0u; e < count; e += 1u) { acc = k_fold(acc, k_fold_in(((T == 9u) ? (x[((T == 9u) ? (2u * (base + (first + e) * p.inner)) : (0u))]) : (k_element(x[(((T == 9u) ? (0u) : (base + (first + e) * p.inner))) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, ((T == 9u) ? (0u) : (base + (first + e) * p.inner))))), x[((T == 9u) ? (2u * (base + (first + e) * p.inner) + 1u) : (0u))], OP, T), OP, T); }
    __syncthreads();
    red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = acc.x;
    red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = acc.y;
    __syncthreads();
    for (u32 w = 1u; w < LANES; w = w << 1u) {
      if (lane >= w) { acc = k_fold(make_uint2(red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - w * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u))], red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - w * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]), acc, OP, T); }
      __syncthreads();
      red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = acc.x;
      red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = acc.y;
      __syncthreads();
    }
    u32x2 before = carry;
    if (lane > 0u) { before = k_fold(carry, make_uint2(red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u))], red_high[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]), OP, T); }
    u32 end = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - lane * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u)) + (LANES - 1u) * ((STRIDED == 1u) ? ((((u32)K_C0) / LANES)) : (1u));
    carry = k_fold(carry, make_uint2(red[end], red_high[end]), OP, T);
    u32 word = 0u;
    for (u32 e = 0u; e < count; e += 1u) {
      u32 k = first + ((REVERSE == 1u) ? (count - 1u - e) : (e));
      u32 at = base + k * p.inner;
      u32x2 after = k_fold(before, k_fold_in(((T == 9u) ? (x[((T == 9u) ? (2u * (at)) : (0u))]) : (k_element(x[(((T == 9u) ? (0u) : (at))) >> ((2103828u >> (((T) & 15u) * 2u)) & 3u)], T, ((T == 9u) ? (0u) : (at))))), x[((T == 9u) ? (2u * (at) + 1u) : (0u))], OP, T), OP, T);
      u32x2 r = k_fold_out(before, OP, T, 1.0f);
      if (EXCLUSIVE == 0u) { r = k_fold_out(after, OP, T, 1.0f); }
      before = after;
      if (PACKED == 1u) {
        u32 shift = ((2103828u >> (((T) & 15u) * 2u)) & 3u);
        word = k_put(word, T, k, k_narrow(r.x, T));
        u32 last = ((REVERSE == 1u) ? (0u) : ((1u << shift) - 1u));
        if ((k & ((1u << shift) - 1u)) == last) {
          y[at >> shift] = word;
          word = 0u;
        }
      } else {
        if (T == 9u) {
          y[2u * at] = r.x;
          y[2u * at + 1u] = r.y;
        } else {
          y[at] = r.x;
        }
      }
    }
  }
}
