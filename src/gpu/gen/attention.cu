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
static __device__ __forceinline__ u32 k_narrow_pair(f32 a, f32 b, u32 T) {
  if (0u == 1u && T == 1u) { return 0u; }
  return ((T == 1u) ? (k_half_bits(a)) : (k_bf16_bits(a))) | (((T == 1u) ? (k_half_bits(b)) : (k_bf16_bits(b))) << 16u);
}
static __device__ __forceinline__ f32x4 k_four(u32x4 w, u32 T, u32 second) {
  u32 a = ((second == 1u) ? (w.z) : (w.x));
  u32 b = ((second == 1u) ? (w.w) : (w.y));
  f32x4 r = AS_F4(w);
  if (T == 1u) { r = make_float4(k_half((a) & 0xffffu), k_half((a) >> 16u), k_half((b) & 0xffffu), k_half((b) >> 16u)); }
  if (T == 2u) { r = make_float4(__uint_as_float(a << 16u), __uint_as_float(a & 0xffff0000u), __uint_as_float(b << 16u), __uint_as_float(b & 0xffff0000u)); }
  return r;
}
static __device__ __forceinline__ f32 k_softcap(f32 s, f32 c) { return c - (c + c) / (exp((s + s) / c) + 1.0f); }
static constexpr u32 T_Q = K_C1;
static constexpr u32 T_K = K_C2;
static constexpr u32 T_V = K_C3;
static constexpr u32 ROWS_EACH = K_C4;
static constexpr u32 COLS = K_C5;
static constexpr u32 DEPTH = K_C6;
static constexpr u32 V_STEP = K_C7;
static constexpr u32 PIECE = K_C8;
static constexpr u32 RED = K_C9;
static constexpr u32 IN_LANES = K_C10;
static constexpr u32 CAUSAL = K_C11;
static constexpr u32 HAS_MASK = K_C12;
static constexpr u32 HAS_BIAS = K_C13;
static constexpr u32 HAS_CAP = K_C14;
static constexpr u32 HAS_LEN = K_C15;
static constexpr u32 EXTRA = K_C16;
static constexpr u32 PARTIAL = K_C17;
struct Params { u32 groups;
  u32 n_batch; u32 n_q; u32 n_keys; u32 n_kv; u32 heads_per_kv; u32 d; u32 dv; u32 q_place; u32 q_head; u32 k_place; u32 k_head; u32 v_place; u32 v_head; u32 y_place; u32 y_head; u32 bias_batch; u32 bias_head; u32 bias_q; u32 bias_key; u32 len_step; u32 offset_step; u32 window; u32 splits; u32 row_blocks; u32 stats; u32 hidden; f32 scale; f32 softcap;
};
static __shared__ f32x4 piece[PIECE];
static __shared__ f32x4 weight[(((u32)K_C0) / 16u) * ROWS_EACH * 17u];
static __shared__ f32 red[RED];
static __shared__ i32 view[2];
static __shared__ u32 q_at[((((u32)K_C0) / 16u) * ROWS_EACH)];
extern "C" __global__ void __launch_bounds__(K_C0) attention(const u32 *q, const u32 *k, const u32 *v, const u32 *mask, const u32 *bias, const u32 *len, const u32 *extra, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 tx = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) & 15u;
  u32 ty = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) >> 4u;
  u32 split = (blockIdx.y * gridDim.x + blockIdx.x) % p.splits;
  u32 head = ((blockIdx.y * gridDim.x + blockIdx.x) / p.splits) % p.n_kv;
  u32 batch = ((blockIdx.y * gridDim.x + blockIdx.x) / (p.splits * p.n_kv)) % p.n_batch;
  u32 row0 = (p.row_blocks - 1u - (blockIdx.y * gridDim.x + blockIdx.x) / (p.splits * p.n_kv * p.n_batch)) * ((((u32)K_C0) / 16u) * ROWS_EACH);
  u32 n_rows = p.n_q * p.heads_per_kv;
  u32 k_base = batch * p.n_keys * p.n_kv * p.d + head * p.k_head;
  u32 v_base = batch * p.n_keys * p.n_kv * p.dv + head * p.v_head;
  if (threadIdx.x == 0u) { i32 k_n = i32(p.n_keys); if (HAS_LEN == 1u) { k_n = clamp(i32(len[(batch) * p.len_step]), 0, i32(p.n_keys)); } view[0] = k_n; view[1] = k_n - i32(p.n_q); if (EXTRA == 1u) { view[1] = clamp(i32(extra[(batch) * p.offset_step]), -1073741824, 1073741823); } }
  for (u32 r = threadIdx.x; r < ((((u32)K_C0) / 16u) * ROWS_EACH); r += ((u32)K_C0)) {
    u32 row = row0 + r;
    u32 at = batch * n_rows * p.n_kv * p.d + (row / p.heads_per_kv) * p.q_place +
                   (head * p.heads_per_kv + row % p.heads_per_kv) * p.q_head;
    q_at[r] = ((row < n_rows) ? (at) : (0xffffffffu));
  }
  __syncthreads();
  i32 n_keys = (view[0]);
  i32 offset = (view[1]);
  i32 own_first = i32(row0 / p.heads_per_kv) + offset;
  i32 own_last = i32((min(row0 + ((((u32)K_C0) / 16u) * ROWS_EACH), n_rows) - 1u) / p.heads_per_kv) + offset;
  i32 begin = 0;
  i32 end = n_keys;
  if (CAUSAL == 1u) {
    end = clamp(own_last + 1, 0, n_keys);
    if (p.window > 0u) { begin = clamp(own_first - i32(p.window) + 1, 0, end); }
  }
  if (p.splits > 1u) {
    u32 share = ((u32(end - begin) + p.splits - 1u) / p.splits + 63u) & ~63u;
    begin = min(begin + i32(split * share), end);
    end = min(begin + i32(share), end);
  }
  f32x4 acc[16];
  f32 most[4];
  f32 total[4];
  i32 own[4];
  u32 bias_at[4];
 
#pragma unroll
  for (u32 i = 0u; i < ROWS_EACH * COLS; i += 1u) { acc[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
 
#pragma unroll
  for (u32 i = 0u; i < ROWS_EACH; i += 1u) {
    u32 row = row0 + ty * ROWS_EACH + i;
    most[i] = (-3.4028234e38f);
    total[i] = 0.0f;
    own[i] = i32(row / p.heads_per_kv) + offset;
    bias_at[i] = batch * p.bias_batch + (head * p.heads_per_kv + row % p.heads_per_kv) * p.bias_head +
                 (row / p.heads_per_kv) * p.bias_q;
    if (row >= n_rows) { bias_at[i] = 0u; }
  }
  for (i32 key0 = begin; key0 < end; key0 += 64) {
    f32 s[16];
   
#pragma unroll
    for (u32 i = 0u; i < 4u * ROWS_EACH; i += 1u) { s[i] = 0.0f; }
    for (u32 d0 = 0u; d0 < p.d; d0 += 4u * DEPTH) {
      __syncthreads();
      for (u32 u = threadIdx.x; u < (((((u32)K_C0) / 16u) * ROWS_EACH)) * ((4u * DEPTH) / 4u); u += ((u32)K_C0)) { u32 line = u / ((4u * DEPTH) / 4u); u32 e = 4u * (u % ((4u * DEPTH) / 4u)); f32x4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if (d0 + e < p.d && q_at[line] != 0xffffffffu) { four.x = __uint_as_float(k_element(q[(q_at[line] + d0 + e) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, q_at[line] + d0 + e)); if (e + 1u < (p.d - d0)) { four.y = __uint_as_float(k_element(q[((q_at[line] + d0 + e) + 1u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (q_at[line] + d0 + e) + 1u)); } if (e + 2u < (p.d - d0)) { four.z = __uint_as_float(k_element(q[((q_at[line] + d0 + e) + 2u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (q_at[line] + d0 + e) + 2u)); } if (e + 3u < (p.d - d0)) { four.w = __uint_as_float(k_element(q[((q_at[line] + d0 + e) + 3u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, (q_at[line] + d0 + e) + 3u)); } } piece[line * (DEPTH + 1u) + e / 4u] = four; }
      for (u32 u = threadIdx.x; u < (64u) * ((4u * DEPTH) / 4u); u += ((u32)K_C0)) { u32 line = u / ((4u * DEPTH) / 4u); u32 e = 4u * (u % ((4u * DEPTH) / 4u)); f32x4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if (d0 + e < p.d && key0 + i32(line) < end) { four.x = __uint_as_float(k_element(k[(k_base + (u32(key0) + line) * p.k_place + d0 + e) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, k_base + (u32(key0) + line) * p.k_place + d0 + e)); if (e + 1u < (p.d - d0)) { four.y = __uint_as_float(k_element(k[((k_base + (u32(key0) + line) * p.k_place + d0 + e) + 1u) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, (k_base + (u32(key0) + line) * p.k_place + d0 + e) + 1u)); } if (e + 2u < (p.d - d0)) { four.z = __uint_as_float(k_element(k[((k_base + (u32(key0) + line) * p.k_place + d0 + e) + 2u) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, (k_base + (u32(key0) + line) * p.k_place + d0 + e) + 2u)); } if (e + 3u < (p.d - d0)) { four.w = __uint_as_float(k_element(k[((k_base + (u32(key0) + line) * p.k_place + d0 + e) + 3u) >> ((2103828u >> (((T_K) & 15u) * 2u)) & 3u)], T_K, (k_base + (u32(key0) + line) * p.k_place + d0 + e) + 3u)); } } piece[(((((u32)K_C0) / 16u) * ROWS_EACH) + line) * (DEPTH + 1u) + e / 4u] = four; }
      __syncthreads();
     
#pragma unroll
      for (u32 t = 0u; t < DEPTH; t += 1u) {
        f32x4 b[4];
       
#pragma unroll
        for (u32 c = 0u; c < 4u; c += 1u) { b[c] = piece[(((((u32)K_C0) / 16u) * ROWS_EACH) + tx + 16u * c) * (DEPTH + 1u) + t]; }
       
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) {
          f32x4 a = piece[(ty * ROWS_EACH + i) * (DEPTH + 1u) + t];
         
#pragma unroll
          for (u32 c = 0u; c < 4u; c += 1u) { s[i * 4u + c] = fma(a.x, b[c].x, s[i * 4u + c]); s[i * 4u + c] = fma(a.y, b[c].y, s[i * 4u + c]); s[i * 4u + c] = fma(a.z, b[c].z, s[i * 4u + c]); s[i * 4u + c] = fma(a.w, b[c].w, s[i * 4u + c]); }
        }
      }
    }
    bool whole = key0 + 64 <= end && HAS_MASK == 0u;
    if (CAUSAL == 1u) { whole = whole && ((key0 + 63) <= (own_first) && (p.window == 0u || (key0 + 63) + i32(p.window) > (own_first))) && ((key0) <= (own_last) && (p.window == 0u || (key0) + i32(p.window) > (own_last))); }
   
#pragma unroll
    for (u32 c = 0u; c < 4u; c += 1u) {
      i32 j = key0 + i32(tx + 16u * c);
      bool is_key = j < end;
      if (HAS_MASK == 1u) {
        if (is_key) { is_key = k_element(mask[(batch * p.n_keys + u32(j)) >> ((2103828u >> (((10u) & 15u) * 2u)) & 3u)], 10u, batch * p.n_keys + u32(j)) != 0u; }
      }
     
#pragma unroll
      for (u32 i = 0u; i < ROWS_EACH; i += 1u) {
        s[i * 4u + c] = s[i * 4u + c] * p.scale; if (HAS_CAP == 1u) { s[i * 4u + c] = k_softcap(s[i * 4u + c], p.softcap); } if (HAS_BIAS == 1u) { s[i * 4u + c] = s[i * 4u + c] + __uint_as_float(k_element(bias[(((is_key) ? (bias_at[i] + u32(j) * p.bias_key) : (0u))) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, ((is_key) ? (bias_at[i] + u32(j) * p.bias_key) : (0u)))); }
        if (!whole) {
          bool seen = is_key;
          if (CAUSAL == 1u) { seen = seen && ((j) <= (own[i]) && (p.window == 0u || (j) + i32(p.window) > (own[i]))); }
          if (!seen) { s[i * 4u + c] = __uint_as_float(p.hidden); }
        }
      }
    }
    f32 top[4];
   
#pragma unroll
    for (u32 i = 0u; i < ROWS_EACH; i += 1u) {
      top[i] = max(max(s[i * 4u], s[i * 4u + 1u]), max(s[i * 4u + 2u], s[i * 4u + 3u]));
    }
    if (IN_LANES == 1u) {
#pragma unroll
    for (u32 i = 0u; i < ROWS_EACH; i += 1u) { top[i] = max(top[i], SG_XOR(top[i], 1u)); top[i] = max(top[i], SG_XOR(top[i], 2u)); top[i] = max(top[i], SG_XOR(top[i], 4u)); top[i] = max(top[i], SG_XOR(top[i], 8u)); } } else {
#pragma unroll
    for (u32 i = 0u; i < ROWS_EACH; i += 1u) { red[(ty * ROWS_EACH + i) * 16u + tx] = top[i]; } __syncthreads();
#pragma unroll
    for (u32 i = 0u; i < ROWS_EACH; i += 1u) { top[i] = red[(ty * ROWS_EACH + i) * 16u]; for (u32 k_i = 1u; k_i < 16u; k_i += 1u) { top[i] = max(top[i], red[(ty * ROWS_EACH + i) * 16u + k_i]); } } }
   
#pragma unroll
    for (u32 i = 0u; i < ROWS_EACH; i += 1u) {
      f32 now = max(most[i], top[i]);
      f32 shrink = exp(most[i] - now);
      f32x4 w = make_float4(exp(s[i * 4u] - now), exp(s[i * 4u + 1u] - now), exp(s[i * 4u + 2u] - now), exp(s[i * 4u + 3u] - now));
      most[i] = now;
      total[i] = fma(total[i], shrink, (w.x + w.y) + (w.z + w.w));
     
#pragma unroll
      for (u32 n = 0u; n < COLS; n += 1u) { acc[i * COLS + n].x = acc[i * COLS + n].x * (shrink); acc[i * COLS + n].y = acc[i * COLS + n].y * (shrink); acc[i * COLS + n].z = acc[i * COLS + n].z * (shrink); acc[i * COLS + n].w = acc[i * COLS + n].w * (shrink); }
      weight[(ty * ROWS_EACH + i) * 17u + tx] = w;
    }
    for (u32 j0 = 0u; j0 < 16u; j0 += V_STEP) {
      __syncthreads();
      for (u32 u = threadIdx.x; u < (4u * V_STEP) * ((64u * COLS) / 4u); u += ((u32)K_C0)) { u32 line = u / ((64u * COLS) / 4u); u32 e = 4u * (u % ((64u * COLS) / 4u)); f32x4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if (e < p.dv && key0 + i32(j0 + line / 4u + 16u * (line & 3u)) < end) { four.x = __uint_as_float(k_element(v[(v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e)); if (e + 1u < (p.dv)) { four.y = __uint_as_float(k_element(v[((v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 1u) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, (v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 1u)); } if (e + 2u < (p.dv)) { four.z = __uint_as_float(k_element(v[((v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 2u) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, (v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 2u)); } if (e + 3u < (p.dv)) { four.w = __uint_as_float(k_element(v[((v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 3u) >> ((2103828u >> (((T_V) & 15u) * 2u)) & 3u)], T_V, (v_base + (u32(key0) + j0 + line / 4u + 16u * (line & 3u)) * p.v_place + e) + 3u)); } } piece[line * (16u * COLS) + e / 4u] = four; }
      __syncthreads();
      if (whole && HAS_BIAS == 0u) {
        for (u32 jj = 0u; jj < V_STEP; jj += 1u) { f32x4 w[4];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { w[i] = weight[(ty * ROWS_EACH + i) * 17u + j0 + jj]; }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 0u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || __float_as_uint(w[i].x) != 0u) { acc[i * COLS + n].x = fma(w[i].x, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].x, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].x, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].x, val.w, acc[i * COLS + n].w); } } }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 1u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || __float_as_uint(w[i].y) != 0u) { acc[i * COLS + n].x = fma(w[i].y, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].y, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].y, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].y, val.w, acc[i * COLS + n].w); } } }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 2u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || __float_as_uint(w[i].z) != 0u) { acc[i * COLS + n].x = fma(w[i].z, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].z, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].z, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].z, val.w, acc[i * COLS + n].w); } } }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 3u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(false) || __float_as_uint(w[i].w) != 0u) { acc[i * COLS + n].x = fma(w[i].w, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].w, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].w, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].w, val.w, acc[i * COLS + n].w); } } } }
      } else {
        for (u32 jj = 0u; jj < V_STEP; jj += 1u) { f32x4 w[4];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { w[i] = weight[(ty * ROWS_EACH + i) * 17u + j0 + jj]; }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 0u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || __float_as_uint(w[i].x) != 0u) { acc[i * COLS + n].x = fma(w[i].x, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].x, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].x, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].x, val.w, acc[i * COLS + n].w); } } }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 1u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || __float_as_uint(w[i].y) != 0u) { acc[i * COLS + n].x = fma(w[i].y, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].y, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].y, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].y, val.w, acc[i * COLS + n].w); } } }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 2u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || __float_as_uint(w[i].z) != 0u) { acc[i * COLS + n].x = fma(w[i].z, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].z, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].z, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].z, val.w, acc[i * COLS + n].w); } } }
#pragma unroll
        for (u32 n = 0u; n < COLS; n += 1u) { f32x4 val = piece[(jj * 4u + 3u) * (16u * COLS) + n * 16u + tx];
#pragma unroll
        for (u32 i = 0u; i < ROWS_EACH; i += 1u) { if (!(true) || __float_as_uint(w[i].w) != 0u) { acc[i * COLS + n].x = fma(w[i].w, val.x, acc[i * COLS + n].x); acc[i * COLS + n].y = fma(w[i].w, val.y, acc[i * COLS + n].y); acc[i * COLS + n].z = fma(w[i].w, val.z, acc[i * COLS + n].z); acc[i * COLS + n].w = fma(w[i].w, val.w, acc[i * COLS + n].w); } } } }
      }
    }
  }
  __syncthreads();
  if (IN_LANES == 1u) {
#pragma unroll
  for (u32 i = 0u; i < ROWS_EACH; i += 1u) { total[i] = ((total[i]) + (SG_XOR(total[i], 1u))); total[i] = ((total[i]) + (SG_XOR(total[i], 2u))); total[i] = ((total[i]) + (SG_XOR(total[i], 4u))); total[i] = ((total[i]) + (SG_XOR(total[i], 8u))); } } else {
#pragma unroll
  for (u32 i = 0u; i < ROWS_EACH; i += 1u) { red[(ty * ROWS_EACH + i) * 16u + tx] = total[i]; } __syncthreads();
#pragma unroll
  for (u32 i = 0u; i < ROWS_EACH; i += 1u) { total[i] = red[(ty * ROWS_EACH + i) * 16u]; for (u32 k_i = 1u; k_i < 16u; k_i += 1u) { total[i] = ((total[i]) + (red[(ty * ROWS_EACH + i) * 16u + k_i])); } } }
 
#pragma unroll
  for (u32 i = 0u; i < ROWS_EACH; i += 1u) {
    u32 row = row0 + ty * ROWS_EACH + i;
    if (row < n_rows) {
      u32 h = head * p.heads_per_kv + row % p.heads_per_kv;
      u32 to = batch * n_rows * p.n_kv + (row / p.heads_per_kv) * p.y_place + h * p.y_head;
      f32 factor = 1.0f;
      if (PARTIAL == 1u) {
        to = to + split * (p.n_batch * n_rows * p.n_kv);
        if (tx == 0u) {
          y[p.stats + 2u * to] = __float_as_uint(most[i]);
          y[p.stats + 2u * to + 1u] = __float_as_uint(total[i]);
        }
      } else {
        f32 sum = total[i];
        if (EXTRA == 2u) {
          f32 sink = __uint_as_float(k_element(extra[(h) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, h));
          f32 now = max(most[i], sink);
          factor = exp(most[i] - now);
          sum = fma(sum, factor, exp(sink - now));
        }
        factor = ((sum == 0.0f) ? (0.0f) : (factor / sum));
      }
     
#pragma unroll
      for (u32 n = 0u; n < COLS; n += 1u) {
        u32 col = (n * 16u + tx) * 4u;
        f32x4 r = acc[i * COLS + n];
        r.x = r.x * (factor); r.y = r.y * (factor); r.z = r.z * (factor); r.w = r.w * (factor);
        if (PARTIAL == 1u || T_Q == 0u) {
          if (col < p.dv) { y[to * p.dv + col] = __float_as_uint(r.x); }
          if (col + 1u < p.dv) { y[to * p.dv + col + 1u] = __float_as_uint(r.y); }
          if (col + 2u < p.dv) { y[to * p.dv + col + 2u] = __float_as_uint(r.z); }
          if (col + 3u < p.dv) { y[to * p.dv + col + 3u] = __float_as_uint(r.w); }
        } else {
          if (col < p.dv) { y[(to * p.dv + col) / 2u] = k_narrow_pair(r.x, r.y, T_Q); }
          if (col + 2u < p.dv) { y[(to * p.dv + col) / 2u + 1u] = k_narrow_pair(r.z, r.w, T_Q); }
        }
      }
    }
  }
}
