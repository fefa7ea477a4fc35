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
static constexpr u32 ROWS = K_C4;
static constexpr u32 LANES = K_C5;
static constexpr u32 K_VECS = K_C6;
static constexpr u32 V_VECS = K_C7;
static constexpr u32 UNROLL = K_C8;
static constexpr u32 CAUSAL = K_C9;
static constexpr u32 HAS_MASK = K_C10;
static constexpr u32 HAS_BIAS = K_C11;
static constexpr u32 HAS_CAP = K_C12;
static constexpr u32 HAS_LEN = K_C13;
static constexpr u32 EXTRA = K_C14;
static constexpr u32 RED = K_C15;
static constexpr u32 QUERY = K_C16;
static constexpr u32 JOINED = K_C17;
static constexpr u32 CAREFUL = K_C18;
static constexpr u32 IN_REGS = K_C19;
static constexpr u32 WHOLE = K_C20;
struct Params { u32 groups;
  u32 n_batch; u32 n_q; u32 n_keys; u32 n_kv; u32 heads_per_kv; u32 d; u32 dv; u32 q_place; u32 q_head; u32 k_place; u32 k_head; u32 v_place; u32 v_head; u32 y_place; u32 y_head; u32 bias_batch; u32 bias_head; u32 bias_q; u32 bias_key; u32 len_step; u32 offset_step; u32 window; u32 splits; u32 row_blocks; u32 stats; u32 hidden; f32 scale; f32 softcap;
};
static __shared__ f32x4 query[QUERY];
static __shared__ f32x4 joined[JOINED];
static __shared__ f32 stat[2u * (((u32)K_C0) / LANES)];
static __shared__ f32 red[RED];
static __shared__ i32 view[2];
extern "C" __global__ void __launch_bounds__(K_C0) attention_decode(const u32 *q, const u32x4 *k, const u32x4 *v, const u32 *mask, const u32 *bias, const u32 *len, const u32 *extra, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 lane = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES;
  u32 team = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES;
  u32 split = (blockIdx.y * gridDim.x + blockIdx.x) % p.splits;
  u32 head = ((blockIdx.y * gridDim.x + blockIdx.x) / p.splits) % p.n_kv;
  u32 batch = ((blockIdx.y * gridDim.x + blockIdx.x) / (p.splits * p.n_kv)) % p.n_batch;
  u32 row0 = ((blockIdx.y * gridDim.x + blockIdx.x) / (p.splits * p.n_kv * p.n_batch)) * ROWS;
  u32 n_rows = p.n_q * p.heads_per_kv;
  u32 q_base = batch * n_rows * p.n_kv * p.d + head * p.heads_per_kv * p.q_head;
  f32x4 own_query[4];
  i32 n_keys = i32(p.n_keys);
  if (HAS_LEN == 1u) { n_keys = clamp(i32(len[batch * p.len_step]), 0, n_keys); }
  i32 offset = n_keys - i32(p.n_q);
  if (EXTRA == 1u) { offset = clamp(i32(extra[batch * p.offset_step]), -1073741824, 1073741823); }
  if (IN_REGS == 1u) {
   
#pragma unroll
    for (u32 i = 0u; i < ROWS * ((T_K == 0u) ? (1u) : (2u)) * K_VECS; i += 1u) {
      own_query[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if ((row0 + i / (((T_K == 0u) ? (1u) : (2u)) * K_VECS)) < n_rows && ((lane + LANES * (i % K_VECS)) * ((T_K == 0u) ? (4u) : (8u)) + ((i / K_VECS) % ((T_K == 0u) ? (1u) : (2u))) * 4u) < p.d) { u32 k_at = q_base + ((row0 + i / (((T_K == 0u) ? (1u) : (2u)) * K_VECS)) / p.heads_per_kv) * p.q_place + ((row0 + i / (((T_K == 0u) ? (1u) : (2u)) * K_VECS)) % p.heads_per_kv) * p.q_head + ((lane + LANES * (i % K_VECS)) * ((T_K == 0u) ? (4u) : (8u)) + ((i / K_VECS) % ((T_K == 0u) ? (1u) : (2u))) * 4u); own_query[i] = make_float4(__uint_as_float(k_element(q[(k_at) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at)), __uint_as_float(k_element(q[(k_at + 1u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 1u)), __uint_as_float(k_element(q[(k_at + 2u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 2u)), __uint_as_float(k_element(q[(k_at + 3u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 3u))); }
    }
  }
  if (IN_REGS == 0u) {
    for (u32 i = threadIdx.x; i < QUERY; i += ((u32)K_C0)) {
      query[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f); if ((row0 + i / (((T_K == 0u) ? (1u) : (2u)) * (LANES * K_VECS))) < n_rows && ((i % (LANES * K_VECS)) * ((T_K == 0u) ? (4u) : (8u)) + ((i / (LANES * K_VECS)) % ((T_K == 0u) ? (1u) : (2u))) * 4u) < p.d) { u32 k_at = q_base + ((row0 + i / (((T_K == 0u) ? (1u) : (2u)) * (LANES * K_VECS))) / p.heads_per_kv) * p.q_place + ((row0 + i / (((T_K == 0u) ? (1u) : (2u)) * (LANES * K_VECS))) % p.heads_per_kv) * p.q_head + ((i % (LANES * K_VECS)) * ((T_K == 0u) ? (4u) : (8u)) + ((i / (LANES * K_VECS)) % ((T_K == 0u) ? (1u) : (2u))) * 4u); query[i] = make_float4(__uint_as_float(k_element(q[(k_at) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at)), __uint_as_float(k_element(q[(k_at + 1u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 1u)), __uint_as_float(k_element(q[(k_at + 2u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 2u)), __uint_as_float(k_element(q[(k_at + 3u) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, k_at + 3u))); }
    }
    __syncthreads();
  }
  i32 begin = 0;
  i32 end = n_keys;
  if (CAUSAL == 1u) {
    end = clamp(i32((min(row0 + ROWS, n_rows) - 1u) / p.heads_per_kv) + offset + 1, 0, n_keys);
    if (p.window > 0u) { begin = clamp(i32(row0 / p.heads_per_kv) + offset - i32(p.window) + 1, 0, end); }
  }
  if (p.splits > 1u) {
    u32 share = ((u32(end - begin) + p.splits - 1u) / p.splits + 7u) & ~7u;
    begin = min(begin + i32(split * share), end);
    end = min(begin + i32(share), end);
  }
  f32x4 acc[16];
  f32 most[8];
  f32 total[8];
  i32 own[8];
  u32 bias_at[8];
 
#pragma unroll
  for (u32 i = 0u; i < ROWS * (V_VECS * ((T_V == 0u) ? (1u) : (2u))); i += 1u) { acc[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }
 
#pragma unroll
  for (u32 r = 0u; r < ROWS; r += 1u) {
    u32 row = min(row0 + r, n_rows - 1u);
    most[r] = (-3.4028234e38f);
    total[r] = 0.0f;
    own[r] = i32(row / p.heads_per_kv) + offset;
    bias_at[r] = batch * p.bias_batch + (head * p.heads_per_kv + row % p.heads_per_kv) * p.bias_head +
                 (row / p.heads_per_kv) * p.bias_q;
  }
  u32 k_base = (batch * p.n_keys * p.n_kv * p.d + head * p.k_head) / ((T_K == 0u) ? (4u) : (8u));
  u32 v_base = (batch * p.n_keys * p.n_kv * p.dv + head * p.v_head) / ((T_V == 0u) ? (4u) : (8u));
  for (i32 key0 = begin; key0 < end; key0 += i32((((u32)K_C0) / LANES) * UNROLL)) {
    u32x4 k_raw[8];
    u32x4 v_raw[8];
    bool is_key[8];
   
#pragma unroll
    for (u32 u = 0u; u < UNROLL; u += 1u) {
      u32 key = u32(key0) + u * (((u32)K_C0) / LANES) + team;
      is_key[u] = i32(key) < end;
      if (HAS_MASK == 1u) {
        if (is_key[u]) { is_key[u] = k_element(mask[(batch * p.n_keys + key) >> ((2103828u >> (((10u) & 15u) * 2u)) & 3u)], 10u, batch * p.n_keys + key) != 0u; }
      }
     
#pragma unroll
      for (u32 t = 0u; t < K_VECS; t += 1u) {
        k_raw[u * K_VECS + t] = make_uint4(0u, 0u, 0u, 0u);
        if (is_key[u] && (lane + LANES * t) * ((T_K == 0u) ? (4u) : (8u)) < p.d) {
          k_raw[u * K_VECS + t] = k[k_base + key * (p.k_place / ((T_K == 0u) ? (4u) : (8u))) + lane + LANES * t];
        }
      }
     
#pragma unroll
      for (u32 t = 0u; t < V_VECS; t += 1u) {
        v_raw[u * V_VECS + t] = make_uint4(0u, 0u, 0u, 0u);
        if (is_key[u] && (lane + LANES * t) * ((T_V == 0u) ? (4u) : (8u)) < p.dv) {
          v_raw[u * V_VECS + t] = v[v_base + key * (p.v_place / ((T_V == 0u) ? (4u) : (8u))) + lane + LANES * t];
        }
      }
    }
    f32 s[16];
   
#pragma unroll
    for (u32 i = 0u; i < (UNROLL * ROWS); i += 1u) { s[i] = 0.0f; }
   
#pragma unroll
    for (u32 t = 0u; t < K_VECS; t += 1u) {
     
#pragma unroll
      for (u32 f = 0u; f < ((T_K == 0u) ? (1u) : (2u)); f += 1u) {
        f32x4 four[8];
       
#pragma unroll
        for (u32 u = 0u; u < UNROLL; u += 1u) {
          four[u] = k_four(k_raw[u * K_VECS + t], T_K, f);
        }
       
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) {
          f32x4 a = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          if (IN_REGS == 0u) { a = query[(r * ((T_K == 0u) ? (1u) : (2u)) + f) * (LANES * K_VECS) + t * LANES + lane]; }
          if (IN_REGS == 1u) { a = own_query[(r * ((T_K == 0u) ? (1u) : (2u)) + f) * K_VECS + t]; }
         
#pragma unroll
          for (u32 u = 0u; u < UNROLL; u += 1u) { s[r * UNROLL + u] = fma(a.x, four[u].x, s[r * UNROLL + u]); s[r * UNROLL + u] = fma(a.y, four[u].y, s[r * UNROLL + u]); s[r * UNROLL + u] = fma(a.z, four[u].z, s[r * UNROLL + u]); s[r * UNROLL + u] = fma(a.w, four[u].w, s[r * UNROLL + u]); }
        }
      }
    }
   
#pragma unroll
    for (u32 i = 0u; i < (UNROLL * ROWS); i += 1u) { for (u32 m = 1u; m < LANES; m = m << 1u) { s[i] = s[i] + SG_XOR(s[i], m); } }
   
#pragma unroll
    for (u32 u = 0u; u < UNROLL; u += 1u) {
      i32 j = key0 + i32(u * (((u32)K_C0) / LANES) + team);
     
#pragma unroll
      for (u32 r = 0u; r < ROWS; r += 1u) {
        s[r * UNROLL + u] = s[r * UNROLL + u] * p.scale; if (HAS_CAP == 1u) { s[r * UNROLL + u] = k_softcap(s[r * UNROLL + u], p.softcap); } if (HAS_BIAS == 1u) { s[r * UNROLL + u] = s[r * UNROLL + u] + __uint_as_float(k_element(bias[(((is_key[u]) ? (bias_at[r] + u32(j) * p.bias_key) : (0u))) >> ((2103828u >> (((T_Q) & 15u) * 2u)) & 3u)], T_Q, ((is_key[u]) ? (bias_at[r] + u32(j) * p.bias_key) : (0u)))); }
        bool seen = is_key[u];
        if (CAUSAL == 1u) { seen = seen && ((j) <= (own[r]) && (p.window == 0u || (j) + i32(p.window) > (own[r]))); }
        s[r * UNROLL + u] = ((seen) ? (s[r * UNROLL + u]) : (__uint_as_float(p.hidden)));
      }
    }
   
#pragma unroll
    for (u32 r = 0u; r < ROWS; r += 1u) {
      f32 now = most[r];
     
#pragma unroll
      for (u32 u = 0u; u < UNROLL; u += 1u) { now = max(now, s[r * UNROLL + u]); }
      f32 shrink = exp(most[r] - now);
      most[r] = now;
      total[r] = total[r] * shrink;
     
#pragma unroll
      for (u32 i = 0u; i < (V_VECS * ((T_V == 0u) ? (1u) : (2u))); i += 1u) { acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].x = acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].x * (shrink); acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].y = acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].y * (shrink); acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].z = acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].z * (shrink); acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].w = acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i].w * (shrink); }
     
#pragma unroll
      for (u32 u = 0u; u < UNROLL; u += 1u) {
        s[r * UNROLL + u] = exp(s[r * UNROLL + u] - now);
        total[r] = total[r] + s[r * UNROLL + u];
      }
    }
   
#pragma unroll
    for (u32 t = 0u; t < V_VECS; t += 1u) {
     
#pragma unroll
      for (u32 u = 0u; u < UNROLL; u += 1u) {
       
#pragma unroll
        for (u32 f = 0u; f < ((T_V == 0u) ? (1u) : (2u)); f += 1u) {
          f32x4 four = k_four(v_raw[u * V_VECS + t], T_V, f);
         
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) {
            if (CAREFUL == 0u || __float_as_uint(s[r * UNROLL + u]) != 0u) { acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].x = fma(s[r * UNROLL + u], four.x, acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].x); acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].y = fma(s[r * UNROLL + u], four.y, acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].y); acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].z = fma(s[r * UNROLL + u], four.z, acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].z); acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].w = fma(s[r * UNROLL + u], four.w, acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + t * ((T_V == 0u) ? (1u) : (2u)) + f].w); }
          }
        }
      }
    }
  }
 
#pragma unroll
  for (u32 r = 0u; r < ROWS; r += 1u) {
    __syncthreads();
    if (lane == 0u) {
      stat[team] = most[r];
      stat[(((u32)K_C0) / LANES) + team] = total[r];
    }
    __syncthreads();
    f32 top = (-3.4028234e38f);
    for (u32 i = 0u; i < (((u32)K_C0) / LANES); i += 1u) { top = max(top, stat[i]); }
    f32 shrink = exp(most[r] - top);
   
#pragma unroll
    for (u32 i = 0u; i < (V_VECS * ((T_V == 0u) ? (1u) : (2u))); i += 1u) {
      f32x4 part = acc[r * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i];
      part.x = part.x * (shrink); part.y = part.y * (shrink); part.z = part.z * (shrink); part.w = part.w * (shrink);
      joined[(team * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + i) * LANES + lane] = part;
    }
    __syncthreads();
    u32 row = row0 + r;
    if (row < n_rows) {
      u32 to = split * (p.n_batch * n_rows * p.n_kv) + batch * n_rows * p.n_kv + (row / p.heads_per_kv) * p.y_place +
                     (head * p.heads_per_kv + row % p.heads_per_kv) * p.y_head;
      for (u32 i = threadIdx.x; i < LANES * (V_VECS * ((T_V == 0u) ? (1u) : (2u))); i += ((u32)K_C0)) {
        u32 f = i / LANES;
        u32 col = (i % LANES + LANES * (f / ((T_V == 0u) ? (1u) : (2u)))) * ((T_V == 0u) ? (4u) : (8u)) + 4u * (f % ((T_V == 0u) ? (1u) : (2u)));
        if (col < p.dv) {
          f32x4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
          for (u32 j = 0u; j < (((u32)K_C0) / LANES); j += 1u) {
            f32x4 part = joined[(j * (V_VECS * ((T_V == 0u) ? (1u) : (2u))) + f) * LANES + i % LANES];
            sum = make_float4(sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w);
          }
          if (WHOLE == 1u) {
            f32 weights = 0.0f;
            for (u32 j = 0u; j < (((u32)K_C0) / LANES); j += 1u) { weights = fma(stat[(((u32)K_C0) / LANES) + j], exp(stat[j] - top), weights); }
            f32 k_by = ((weights == 0.0f) ? (0.0f) : (1.0f / weights));
            sum.x = sum.x * (k_by); sum.y = sum.y * (k_by); sum.z = sum.z * (k_by); sum.w = sum.w * (k_by);
          }
          if (WHOLE == 1u && T_Q != 0u) {
            y[(to * p.dv + col) >> 1u] = k_narrow_pair(sum.x, sum.y, T_Q);
            y[((to * p.dv + col) >> 1u) + 1u] = k_narrow_pair(sum.z, sum.w, T_Q);
          } else {
            y[to * p.dv + col] = __float_as_uint(sum.x);
            y[to * p.dv + col + 1u] = __float_as_uint(sum.y);
            y[to * p.dv + col + 2u] = __float_as_uint(sum.z);
            y[to * p.dv + col + 3u] = __float_as_uint(sum.w);
          }
        }
      }
      if (threadIdx.x == 0u && WHOLE == 0u) {
        f32 sum = 0.0f;
        for (u32 i = 0u; i < (((u32)K_C0) / LANES); i += 1u) { sum = fma(stat[(((u32)K_C0) / LANES) + i], exp(stat[i] - top), sum); }
        y[p.stats + 2u * to] = __float_as_uint(top);
        y[p.stats + 2u * to + 1u] = __float_as_uint(sum);
      }
    }
  }
}
