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
static constexpr u32 IN_MODE = K_C1;
static constexpr u32 OUT_MODE = K_C2;
static constexpr u32 INVERSE = K_C3;
static constexpr u32 BLUE = K_C4;
struct Params { u32 groups;
  u32 rows;
  u32 log_r;
  u32 log_t;
  u32 log_l;
  u32 rows_in;
  u32 rows_out;
  u32 inner;
  u32 n;
  u32 zn;
  u32 n_in;
  u32 n_out;
  f32 scale;
  u32 roots_at;
  u32 low_at;
  u32 low_log;
  u32 high_at;
  u32 turn_at;
  u32 chirp_at;
};
static __shared__ f32 s_re[(((u32)K_C0) * 8u + ((u32)K_C0) / 4u)];
static __shared__ f32 s_im[(((u32)K_C0) * 8u + ((u32)K_C0) / 4u)];
extern "C" __global__ void __launch_bounds__(K_C0) fft(const u32 *x, u32 *y, const u32 *tw, const u32 *chirped, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 size = 1u << p.log_r;
  u32 log_rows = 0u;
  for (u32 k = size; k < 8u * ((u32)K_C0); k = k << 1u) { log_rows += 1u; }
  u32 first_row = (blockIdx.y * gridDim.x + blockIdx.x) << log_rows;
  for (u32 e = threadIdx.x; e < 8u * ((u32)K_C0); e += ((u32)K_C0)) {
    u32 b = ((p.rows_in == 1u) ? (e & ((1u << log_rows) - 1u)) : (e >> p.log_r));
    u32 q = ((p.rows_in == 1u) ? (e >> log_rows) : (e & (size - 1u)));
    u32 row = first_row + b;
    f32 re = 0.0f;
    f32 im = 0.0f;
    if (row < p.rows) {
      u32 i = row % p.inner;
      u32 t = row / p.inner & ((1u << p.log_t) - 1u);
      u32 o = row / p.inner >> p.log_t;
      u32 k = (q << p.log_t) + t;
      if (IN_MODE == 5u || IN_MODE == 6u) {
        u32 at = ((o * p.inner + i) << (p.log_t + p.log_r)) + k;
        re = __uint_as_float(x[2u * at]);
        im = __uint_as_float(x[2u * at + 1u]);
        if (IN_MODE == 6u) {
          { f32 k_c = __uint_as_float(chirped[2u * k]); f32 k_s = __uint_as_float(chirped[2u * k + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
          { f32 k_r = re; re = im; im = k_r; }
        }
      } else if (IN_MODE == 7u) {
        u32 c = min(k, (1u << (p.log_t + p.log_r)) - k);
        if (c < p.zn) {
          re = __uint_as_float(tw[(p.chirp_at) + 2u * (c)]);
          im = -__uint_as_float(tw[(p.chirp_at) + 2u * (c) + 1u]);
        }
      } else if (k < p.zn) {
        if (IN_MODE == 2u) { f32 even = 0.0f; f32 even_im = 0.0f; if ((2u * (k)) < p.n_in) { u32 k_at = ((o) * p.n_in + (2u * (k))) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { even = __uint_as_float(x[k_at]); } else { even = __uint_as_float(x[2u * k_at]); even_im = __uint_as_float(x[2u * k_at + 1u]); } } f32 odd = 0.0f; f32 odd_im = 0.0f; if ((2u * (k) + 1u) < p.n_in) { u32 k_at = ((o) * p.n_in + (2u * (k) + 1u)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { odd = __uint_as_float(x[k_at]); } else { odd = __uint_as_float(x[2u * k_at]); odd_im = __uint_as_float(x[2u * k_at + 1u]); } } re = even; im = odd; } else if (IN_MODE == 3u) { u32 from_k = ((2u * (k) > p.n) ? (p.n - (k)) : (k)); f32 a_re = 0.0f; f32 a_im = 0.0f; if ((from_k) < p.n_in) { u32 k_at = ((o) * p.n_in + (from_k)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { a_re = __uint_as_float(x[k_at]); } else { a_re = __uint_as_float(x[2u * k_at]); a_im = __uint_as_float(x[2u * k_at + 1u]); } } if ((from_k) == 0u || 2u * (from_k) == p.n) { a_im = 0.0f; } re = a_re; im = ((2u * (k) > p.n) ? (-a_im) : (a_im)); } else if (IN_MODE == 4u) { f32 a_re = 0.0f; f32 a_im = 0.0f; if ((k) < p.n_in) { u32 k_at = ((o) * p.n_in + (k)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { a_re = __uint_as_float(x[k_at]); } else { a_re = __uint_as_float(x[2u * k_at]); a_im = __uint_as_float(x[2u * k_at + 1u]); } } if ((k) == 0u || 2u * (k) == p.n) { a_im = 0.0f; } f32 b_re = 0.0f; f32 b_im = 0.0f; if ((p.zn - (k)) < p.n_in) { u32 k_at = ((o) * p.n_in + (p.zn - (k))) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { b_re = __uint_as_float(x[k_at]); } else { b_re = __uint_as_float(x[2u * k_at]); b_im = __uint_as_float(x[2u * k_at + 1u]); } } if ((p.zn - (k)) == 0u || 2u * (p.zn - (k)) == p.n) { b_im = 0.0f; } f32 odd_re = a_re - b_re; f32 odd_im = a_im + b_im; { f32 k_c = __uint_as_float(tw[(p.turn_at) + 2u * (k)]); f32 k_s = -__uint_as_float(tw[(p.turn_at) + 2u * (k) + 1u]); f32 k_r = odd_re * k_c - odd_im * k_s; odd_im = odd_re * k_s + odd_im * k_c; odd_re = k_r; } re = a_re + b_re - odd_im; im = a_im - b_im + odd_re; } else { f32 a_re = 0.0f; f32 a_im = 0.0f; if ((k) < p.n_in) { u32 k_at = ((o) * p.n_in + (k)) * p.inner + (i); if (IN_MODE == 1u || IN_MODE == 2u) { a_re = __uint_as_float(x[k_at]); } else { a_re = __uint_as_float(x[2u * k_at]); a_im = __uint_as_float(x[2u * k_at + 1u]); } } re = a_re; im = a_im; } if (INVERSE == 1u) { { f32 k_r = re; re = im; im = k_r; } }
        if (BLUE > 0u) { { f32 k_c = __uint_as_float(tw[(p.chirp_at) + 2u * (k)]); f32 k_s = __uint_as_float(tw[(p.chirp_at) + 2u * (k) + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; } }
      }
      if (p.log_l > 0u) {
        u32 turns = q * (t & ((1u << p.log_l) - 1u));
        u32 low = turns & ((1u << p.low_log) - 1u);
        u32 high = turns >> p.low_log;
        { f32 k_c = __uint_as_float(tw[(p.low_at) + 2u * (low)]); f32 k_s = __uint_as_float(tw[(p.low_at) + 2u * (low) + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
        { f32 k_c = __uint_as_float(tw[(p.high_at) + 2u * (high)]); f32 k_s = __uint_as_float(tw[(p.high_at) + 2u * (high) + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
      }
    }
    s_re[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))] = re;
    s_im[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))] = im;
  }
  __syncthreads();
  for (u32 round = 0u; round < ((BLUE == 2u) ? (2u) : (1u)); round += 1u) {
    if (BLUE == 2u && round == 1u) {
      for (u32 e = threadIdx.x; e < 8u * ((u32)K_C0); e += ((u32)K_C0)) {
        u32 k = e & (size - 1u);
        f32 re = s_re[((e) + ((e) >> 5u))];
        f32 im = s_im[((e) + ((e) >> 5u))];
        { f32 k_c = __uint_as_float(chirped[2u * k]); f32 k_s = __uint_as_float(chirped[2u * k + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
        s_re[((e) + ((e) >> 5u))] = im;
        s_im[((e) + ((e) >> 5u))] = re;
      }
      __syncthreads();
    }
    u32 bits = 0u;
    for (u32 log_l = 0u; log_l < p.log_r; log_l += bits) {
      bits = min(3u, p.log_r - log_l);
      u32 log_m = p.log_r - bits;
      f32 re[8];
      f32 im[8];
     
#pragma unroll
      for (u32 e = 0u; e < 8u; e += 1u) {
        u32 q = e & ((1u << bits) - 1u);
        u32 g = threadIdx.x + (e >> bits) * ((u32)K_C0);
        u32 t = g & ((1u << log_m) - 1u);
        u32 at = (((g >> log_m << p.log_r) + (q << log_m) + t) + (((g >> log_m << p.log_r) + (q << log_m) + t) >> 5u));
        u32 turns = q * (t & ((1u << log_l) - 1u)) << (log_m - log_l);
        re[e] = s_re[at];
        im[e] = s_im[at];
        if (log_l > 0u && q > 0u) { { f32 k_c = __uint_as_float(tw[(p.roots_at) + 2u * (turns)]); f32 k_s = __uint_as_float(tw[(p.roots_at) + 2u * (turns) + 1u]); f32 k_r = re[e] * k_c - im[e] * k_s; im[e] = re[e] * k_s + im[e] * k_c; re[e] = k_r; } }
      }
      if (bits == 3u) {
        { f32 k_r = re[0] - re[4]; f32 k_i = im[0] - im[4]; re[0] = re[0] + re[4]; im[0] = im[0] + im[4]; re[4] = k_r; im[4] = k_i; } { f32 k_r = re[1] - re[5]; f32 k_i = im[1] - im[5]; re[1] = re[1] + re[5]; im[1] = im[1] + im[5]; re[5] = k_r; im[5] = k_i; } { f32 k_r = re[2] - re[6]; f32 k_i = im[2] - im[6]; re[2] = re[2] + re[6]; im[2] = im[2] + im[6]; re[6] = k_r; im[6] = k_i; } { f32 k_r = re[3] - re[7]; f32 k_i = im[3] - im[7]; re[3] = re[3] + re[7]; im[3] = im[3] + im[7]; re[7] = k_r; im[7] = k_i; }
        { f32 k_r = re[5]; re[5] = 0.70710678f * (k_r + im[5]); im[5] = 0.70710678f * (im[5] - k_r); } { f32 k_r = re[6]; re[6] = im[6]; im[6] = -k_r; } { f32 k_r = re[7]; re[7] = 0.70710678f * (im[7] - k_r); im[7] = -0.70710678f * (k_r + im[7]); }
        { f32 k_r = re[0] - re[2]; f32 k_i = im[0] - im[2]; re[0] = re[0] + re[2]; im[0] = im[0] + im[2]; re[2] = k_r; im[2] = k_i; } { f32 k_r = re[1] - re[3]; f32 k_i = im[1] - im[3]; re[1] = re[1] + re[3]; im[1] = im[1] + im[3]; re[3] = k_r; im[3] = k_i; } { f32 k_r = re[4] - re[6]; f32 k_i = im[4] - im[6]; re[4] = re[4] + re[6]; im[4] = im[4] + im[6]; re[6] = k_r; im[6] = k_i; } { f32 k_r = re[5] - re[7]; f32 k_i = im[5] - im[7]; re[5] = re[5] + re[7]; im[5] = im[5] + im[7]; re[7] = k_r; im[7] = k_i; }
        { f32 k_r = re[3]; re[3] = im[3]; im[3] = -k_r; } { f32 k_r = re[7]; re[7] = im[7]; im[7] = -k_r; }
        { f32 k_r = re[0] - re[1]; f32 k_i = im[0] - im[1]; re[0] = re[0] + re[1]; im[0] = im[0] + im[1]; re[1] = k_r; im[1] = k_i; } { f32 k_r = re[2] - re[3]; f32 k_i = im[2] - im[3]; re[2] = re[2] + re[3]; im[2] = im[2] + im[3]; re[3] = k_r; im[3] = k_i; } { f32 k_r = re[4] - re[5]; f32 k_i = im[4] - im[5]; re[4] = re[4] + re[5]; im[4] = im[4] + im[5]; re[5] = k_r; im[5] = k_i; } { f32 k_r = re[6] - re[7]; f32 k_i = im[6] - im[7]; re[6] = re[6] + re[7]; im[6] = im[6] + im[7]; re[7] = k_r; im[7] = k_i; }
      } else if (bits == 2u) {
        { f32 k_r = re[0] - re[2]; f32 k_i = im[0] - im[2]; re[0] = re[0] + re[2]; im[0] = im[0] + im[2]; re[2] = k_r; im[2] = k_i; } { f32 k_r = re[1] - re[3]; f32 k_i = im[1] - im[3]; re[1] = re[1] + re[3]; im[1] = im[1] + im[3]; re[3] = k_r; im[3] = k_i; } { f32 k_r = re[4] - re[6]; f32 k_i = im[4] - im[6]; re[4] = re[4] + re[6]; im[4] = im[4] + im[6]; re[6] = k_r; im[6] = k_i; } { f32 k_r = re[5] - re[7]; f32 k_i = im[5] - im[7]; re[5] = re[5] + re[7]; im[5] = im[5] + im[7]; re[7] = k_r; im[7] = k_i; }
        { f32 k_r = re[3]; re[3] = im[3]; im[3] = -k_r; } { f32 k_r = re[7]; re[7] = im[7]; im[7] = -k_r; }
        { f32 k_r = re[0] - re[1]; f32 k_i = im[0] - im[1]; re[0] = re[0] + re[1]; im[0] = im[0] + im[1]; re[1] = k_r; im[1] = k_i; } { f32 k_r = re[2] - re[3]; f32 k_i = im[2] - im[3]; re[2] = re[2] + re[3]; im[2] = im[2] + im[3]; re[3] = k_r; im[3] = k_i; } { f32 k_r = re[4] - re[5]; f32 k_i = im[4] - im[5]; re[4] = re[4] + re[5]; im[4] = im[4] + im[5]; re[5] = k_r; im[5] = k_i; } { f32 k_r = re[6] - re[7]; f32 k_i = im[6] - im[7]; re[6] = re[6] + re[7]; im[6] = im[6] + im[7]; re[7] = k_r; im[7] = k_i; }
      } else {
        { f32 k_r = re[0] - re[1]; f32 k_i = im[0] - im[1]; re[0] = re[0] + re[1]; im[0] = im[0] + im[1]; re[1] = k_r; im[1] = k_i; } { f32 k_r = re[2] - re[3]; f32 k_i = im[2] - im[3]; re[2] = re[2] + re[3]; im[2] = im[2] + im[3]; re[3] = k_r; im[3] = k_i; } { f32 k_r = re[4] - re[5]; f32 k_i = im[4] - im[5]; re[4] = re[4] + re[5]; im[4] = im[4] + im[5]; re[5] = k_r; im[5] = k_i; } { f32 k_r = re[6] - re[7]; f32 k_i = im[6] - im[7]; re[6] = re[6] + re[7]; im[6] = im[6] + im[7]; re[7] = k_r; im[7] = k_i; }
      }
      __syncthreads();
     
#pragma unroll
      for (u32 e = 0u; e < 8u; e += 1u) {
        u32 k = e & 1u;
        if (bits == 2u) { k = ((e & 1u) << 1u) | ((e >> 1u) & 1u); }
        if (bits == 3u) { k = ((e & 1u) << 2u) | (e & 2u) | (e >> 2u); }
        u32 g = threadIdx.x + (e >> bits) * ((u32)K_C0);
        u32 t = g & ((1u << log_m) - 1u);
        u32 j = t & ((1u << log_l) - 1u);
        u32 at = (((g >> log_m << p.log_r) + ((((t >> log_l) << bits) + k) << log_l) + j) + (((g >> log_m << p.log_r) + ((((t >> log_l) << bits) + k) << log_l) + j) >> 5u));
        s_re[at] = re[e];
        s_im[at] = im[e];
      }
      __syncthreads();
    }
  }
  if (BLUE == 2u) {
    for (u32 e = threadIdx.x; e < 8u * ((u32)K_C0); e += ((u32)K_C0)) {
      u32 k = e & (size - 1u);
      if (k < p.zn) {
        f32 re = s_im[((e) + ((e) >> 5u))];
        f32 im = s_re[((e) + ((e) >> 5u))];
        { f32 k_c = __uint_as_float(tw[(p.chirp_at) + 2u * (k)]); f32 k_s = __uint_as_float(tw[(p.chirp_at) + 2u * (k) + 1u]); f32 k_r = re * k_c - im * k_s; im = re * k_s + im * k_c; re = k_r; }
        s_re[((e) + ((e) >> 5u))] = re;
        s_im[((e) + ((e) >> 5u))] = im;
      }
    }
    __syncthreads();
  }
  for (u32 e = threadIdx.x; e < 8u * ((u32)K_C0); e += ((u32)K_C0)) {
    u32 b = ((p.rows_out == 1u) ? (e & ((1u << log_rows) - 1u)) : (e >> p.log_r));
    u32 q = ((p.rows_out == 1u) ? (e >> log_rows) : (e & (size - 1u)));
    u32 row = first_row + b;
    if (row < p.rows) {
      u32 i = row % p.inner;
      u32 t = row / p.inner & ((1u << p.log_t) - 1u);
      u32 o = row / p.inner >> p.log_t;
      u32 j = t & ((1u << p.log_l) - 1u);
      u32 k = ((((t >> p.log_l) << p.log_r) + q) << p.log_l) + j;
      f32 re = s_re[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))];
      f32 im = s_im[(((b << p.log_r) + q) + (((b << p.log_r) + q) >> 5u))];
      if (OUT_MODE == 5u) {
        u32 at = ((o * p.inner + i) << (p.log_t + p.log_r)) + k;
        y[2u * at] = __float_as_uint(re);
        y[2u * at + 1u] = __float_as_uint(im);
      } else if (k < p.zn) {
        u32 mirror = ((k == 0u) ? (0u) : (p.zn - k));
        f32 b_re = s_re[(((b << p.log_r) + (mirror & (size - 1u))) + (((b << p.log_r) + (mirror & (size - 1u))) >> 5u))];
        f32 b_im = s_im[(((b << p.log_r) + (mirror & (size - 1u))) + (((b << p.log_r) + (mirror & (size - 1u))) >> 5u))];
        if (INVERSE == 1u) { { f32 k_r = re; re = im; im = k_r; } } if (OUT_MODE == 0u) { if ((k) < p.n_out) { { u32 k_at = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = __float_as_uint((re) * p.scale); y[2u * k_at + 1u] = __float_as_uint((im) * p.scale); } } } else if (OUT_MODE == 1u) { y[((o) * p.n_out + (k)) * p.inner + (i)] = __float_as_uint(re * p.scale); } else if (OUT_MODE == 2u) { u32 k_pair = ((o) * p.n_out + 2u * (k)) * p.inner + (i); y[k_pair] = __float_as_uint(re * p.scale); y[k_pair + p.inner] = __float_as_uint(im * p.scale); } else { f32 odd_re = 0.5f * (im + b_im); f32 odd_im = -0.5f * (re - b_re); f32 even_re = 0.5f * (re + b_re); f32 even_im = 0.5f * (im - b_im); if ((k) == 0u) { { u32 k_at = ((o) * p.n_out + (p.zn)) * p.inner + (i); y[2u * k_at] = __float_as_uint((even_re - odd_re) * p.scale); y[2u * k_at + 1u] = __float_as_uint((even_im - odd_im) * p.scale); } } { f32 k_c = __uint_as_float(tw[(p.turn_at) + 2u * (k)]); f32 k_s = __uint_as_float(tw[(p.turn_at) + 2u * (k) + 1u]); f32 k_r = odd_re * k_c - odd_im * k_s; odd_im = odd_re * k_s + odd_im * k_c; odd_re = k_r; } { u32 k_at = ((o) * p.n_out + (k)) * p.inner + (i); y[2u * k_at] = __float_as_uint((even_re + odd_re) * p.scale); y[2u * k_at + 1u] = __float_as_uint((even_im + odd_im) * p.scale); } }
      }
    }
  }
}
