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
static __device__ __forceinline__ bool k_isnan(f32 x) { return (__float_as_uint(x) & 0x7fffffffu) > 0x7f800000u; }
static __device__ __forceinline__ bool k_isinf(f32 x) { return (__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u; }
static __device__ __forceinline__ bool k_iszero(f32 x) { return (__float_as_uint(x) << 1u) == 0u; }
static __device__ __forceinline__ f32 k_copysign(f32 magnitude, f32 sign) { return __uint_as_float(__float_as_uint(magnitude) | (__float_as_uint(sign) & 0x80000000u)); }
static __device__ __forceinline__ f32 k_or_nan(f32 x, f32 y) { return ((k_isnan(x)) ? (x) : (y)); }
static __device__ __forceinline__ i32 k_key(f32 x) {
  u32 u = __float_as_uint(x);
  return i32(((u >= 0x80000000u) ? (0x80000000u - u) : (u)));
}
static __device__ __forceinline__ bool k_less(f32 a, f32 b) { return k_key(a) < k_key(b) && !k_isnan(a) && !k_isnan(b); }
static __device__ __forceinline__ bool k_less_equal(f32 a, f32 b) { return k_key(a) <= k_key(b) && !k_isnan(a) && !k_isnan(b); }
static __device__ __forceinline__ bool k_equal(f32 a, f32 b) { return k_key(a) == k_key(b) && !k_isnan(a) && !k_isnan(b); }
static __device__ __forceinline__ f32 k_max(f32 a, f32 b) {
  f32 equal = __uint_as_float(__float_as_uint(a) & __float_as_uint(b));
  f32 y = ((k_key(a) > k_key(b)) ? (a) : (((k_key(b) > k_key(a)) ? (b) : (equal))));
  return ((k_isnan(a)) ? (a) : (((k_isnan(b)) ? (b) : (y))));
}
static __device__ __forceinline__ f32 k_min(f32 a, f32 b) {
  f32 equal = __uint_as_float(__float_as_uint(a) | __float_as_uint(b));
  f32 y = ((k_key(a) < k_key(b)) ? (a) : (((k_key(b) < k_key(a)) ? (b) : (equal))));
  return ((k_isnan(a)) ? (a) : (((k_isnan(b)) ? (b) : (y))));
}
static __device__ __forceinline__ f32 k_clamp(f32 x, f32 lo, f32 hi) {
  f32 up = ((x < lo) ? (lo) : (x));
  return k_or_nan(x, ((up > hi) ? (hi) : (up)));
}
static __device__ __forceinline__ f32 k_relu(f32 x) { return __uint_as_float(((__float_as_uint(x) >= 0x80000000u && !k_isnan(x)) ? (0u) : (__float_as_uint(x)))); }
static __device__ __forceinline__ f32 k_sign(f32 x) {
  u32 one = 0x3f800000u | (__float_as_uint(x) & 0x80000000u);
  return __uint_as_float(((k_iszero(x) || k_isnan(x)) ? (0u) : (one)));
}
static __device__ __forceinline__ f32 k_floor(f32 x) {
  u32 u = __float_as_uint(x);
  u32 small = ((u > 0x80000000u) ? (0xbf800000u) : (u & 0x80000000u));
  return (((u & 0x7fffffffu) < 0x3f800000u) ? (__uint_as_float(small)) : (k_or_nan(x, floor(x))));
}
static __device__ __forceinline__ f32 k_ceil(f32 x) {
  u32 u = __float_as_uint(x);
  u32 small = ((u < 0x80000000u && u != 0u) ? (0x3f800000u) : (u & 0x80000000u));
  return (((u & 0x7fffffffu) < 0x3f800000u) ? (__uint_as_float(small)) : (k_or_nan(x, ceil(x))));
}
static __device__ __forceinline__ f32 k_round(f32 x) { return k_or_nan(x, rintf(x)); }
static __device__ __forceinline__ bool k_is_finite(f32 v) { return (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u; }
static __device__ __forceinline__ u32x2 k_split(f32 x) {
  u32 u = __float_as_uint(x) & 0x7fffffffu;
  u32 up = 23u - (31u - (u32)__clz((u & 0x7fffffu) | 1u));
  if (u < 0x800000u) { return make_uint2(u << up, u32(-149 - i32(up))); }
  return make_uint2((u & 0x7fffffu) | 0x800000u, u32(i32(u >> 23u) - 150));
}
static __device__ __forceinline__ f32 k_ldexp(f32 m, i32 n) {
  i32 c = min(max(n, -220), 220);
  i32 h = c >> 1u;
  return m * __uint_as_float(u32(h + 127) << 23u) * __uint_as_float(u32(c - h + 127) << 23u);
}
static __device__ __forceinline__ f32 k_div_far(f32 a, f32 b) {
  u32 sign = (__float_as_uint(a) ^ __float_as_uint(b)) & 0x80000000u;
  bool inf = k_isinf(a) || k_iszero(b);
  bool zero = k_isinf(b) || k_iszero(a);
  u32x2 m = k_split(a);
  u32x2 d = k_split(b);
  f32 q = k_ldexp(f32(m.x) / f32(d.x), i32(m.y - d.y));
  u32 bits = ((inf) ? (0x7f800000u) : (((zero) ? (0u) : (__float_as_uint(q)))));
  return __uint_as_float(((k_isnan(a) || k_isnan(b) || (inf && zero)) ? (0x7fc00000u) : (bits | sign)));
}
static __device__ __forceinline__ f32 k_div(f32 a, f32 b) {
  u32 ea = (__float_as_uint(a) >> 23u) & 255u;
  u32 eb = (__float_as_uint(b) >> 23u) & 255u;
  if (ea - 1u < 254u && eb - 1u < 252u) { return a / b; }
  return k_div_far(a, b);
}
static __device__ __forceinline__ f32 k_div_exact(f32 a, f32 b) {
  if (k_isnan(a) || k_isnan(b) || k_isinf(a) || k_isinf(b) || k_iszero(a) || k_iszero(b)) { return k_div_far(a, b); }
  u32x2 x = k_split(a);
  u32x2 y = k_split(b);
  u32 up = ((x.x < y.x) ? (1u) : (0u));
  u32 m = x.x << up;
  u32 q = u32(f32(m) / f32(y.x) * 16777216.0f);
  i32 rest = i32((m << 24u) - q * y.x);
  for (u32 i = 0u; i < 16u && rest < 0; i += 1u) { q -= 1u; rest += i32(y.x); }
  for (u32 i = 0u; i < 16u && rest >= i32(y.x); i += 1u) { q += 1u; rest -= i32(y.x); }
  u32 whole = q >> 1u;
  if ((q & 1u) == 1u && (rest != 0 || (whole & 1u) == 1u)) { whole += 1u; }
  i32 e = i32(x.y - y.y) - i32(up) + 127;
  u32 bits = ((e < 1) ? (0u) : (((e > 254) ? (0x7f800000u) : ((u32(e - 1) << 23u) + whole))));
  return __uint_as_float(min(bits, 0x7f800000u) | ((__float_as_uint(a) ^ __float_as_uint(b)) & 0x80000000u));
}
static __device__ __forceinline__ f32 k_fma(f32 a, f32 b, f32 c) {
  f32 t = __uint_as_float(__float_as_uint(a * b) & 0xfffffffeu);
  if ((__float_as_uint(t) & 0x7f800000u) == 0x7f800000u) { return fma(a, b, c); }
  f32 ah = __uint_as_float(__float_as_uint(a) & 0xfffff000u);
  f32 bh = __uint_as_float(__float_as_uint(b) & 0xfffff000u);
  f32 al = a - ah;
  f32 bl = b - bh;
  f32 rest = (((ah * bh - t) + ah * bl) + al * bh) + al * bl;
  f32 y = (t + c) + rest;
  return y;
}
static __device__ __forceinline__ f32 k_sqrt(f32 x) {
  u32 u = __float_as_uint(x);
  u32 bits = ((k_iszero(x) || u == 0x7f800000u) ? (u) : (__float_as_uint(sqrt(x))));
  return __uint_as_float(((u > 0x80000000u || k_isnan(x)) ? (0x7fc00000u) : (bits)));
}
static __device__ __forceinline__ f32 k_rsqrt(f32 x) {
  u32 u = __float_as_uint(x);
  f32 y = ((u < 0x800000u) ? (rsqrtf(f32(u) * 2.0f) * 37778931862957161709568.0f) : (rsqrtf(x)));
  u32 bits = ((k_iszero(x)) ? (u | 0x7f800000u) : (((u == 0x7f800000u) ? (0u) : (__float_as_uint(y)))));
  return __uint_as_float(((u > 0x80000000u || k_isnan(x)) ? (0x7fc00000u) : (bits)));
}
static __device__ __forceinline__ f32 k_mod(f32 a, f32 b) {
  if (k_isnan(a) || k_isnan(b) || k_isinf(a) || k_iszero(b)) { return __uint_as_float(__float_as_uint(a) | 0x7fc00000u); }
  bool apart = (__float_as_uint(a) >> 31u) != (__float_as_uint(b) >> 31u);
  if (k_iszero(a)) { return a; }
  if (k_isinf(b)) { return ((apart) ? (b) : (a)); }
  u32x2 x = k_split(a);
  u32x2 y = k_split(b);
  i32 n = i32(x.y - y.y);
  f32 rest = a;
  if (n >= 0) {
    u32 r = x.x % y.x;
    for (i32 left = n; left > 0; left -= 8) { r = (r << min(u32(left), 8u)) % y.x; }
    rest = k_copysign(k_ldexp(f32(r), i32(y.y)), a);
  }
  return ((apart && !k_iszero(rest)) ? (rest + b) : (rest));
}
static __device__ __forceinline__ f32 k_expm1_small(f32 r) {
  f32 p = fma(fma(fma(fma(1.395048574e-03f, r, 8.368887939e-03f), r, 4.166620597e-02f), r, 1.666651815e-01f), r, 0.5f);
  return fma(r * r, p, r);
}
static __device__ __forceinline__ f32 k_exp_rest(f32 x, f32 n) {
  f32 r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  return r;
}
static __device__ __forceinline__ f32 k_exp_scale(f32 y, f32 n) { return y * __uint_as_float(u32(i32(n) + 126) << 23u) * 2.0f; }
static __device__ __forceinline__ f32 k_exp(f32 x) {
  f32 c = min(89.0f, max(-87.5f, x));
  f32 n = rintf(c * 1.44269504f);
  return k_or_nan(x, k_exp_scale(1.0f + k_expm1_small(k_exp_rest(c, n)), n));
}
static __device__ __forceinline__ f32 k_exp_fast(f32 x) { return exp2(x * 1.44269504f); }
static __device__ __forceinline__ f32 k_expm1(f32 x) {
  f32 c = min(60.0f, max(-30.0f, x));
  f32 n = rintf(c * 1.44269504f);
  f32 power = k_exp_scale(1.0f, n);
  f32 y = fma(power, k_expm1_small(k_exp_rest(c, n)), power - 1.0f);
  return ((k_iszero(x)) ? (x) : (k_or_nan(x, ((x > 60.0f) ? (k_exp(x)) : (y)))));
}
static __device__ __forceinline__ f32 k_log(f32 x) {
  u32 u = __float_as_uint(x);
  u32 up = ((u < 0x800000u) ? (23u - (31u - (u32)__clz((u & 0x7fffffu) | 1u))) : (0u));
  u32 bits = u << up;
  i32 e = i32(bits - 0x3f3504f3u) >> 23u;
  f32 f = __uint_as_float(bits - (u32(e) << 23u)) - 1.0f;
  f32 n = f32(e - i32(up));
  f32 z = f * f;
  f32 p = fma(fma(fma(6.746591628e-02f, f, -1.167563871e-01f), f, 1.188817769e-01f), f, -1.240559220e-01f);
  p = fma(fma(fma(p, f, 1.421955079e-01f), f, -1.666799635e-01f), f, 2.000211924e-01f);
  p = fma(fma(p, f, -2.500000894e-01f), f, 3.333331347e-01f);
  f32 y = f * z * p - n * 2.12194440e-4f;
  y = f + (y - z * 0.5f);
  y = y + n * 0.693359375f;
  u32 r = ((u == 0x7f800000u) ? (u) : (__float_as_uint(y)));
  r = (((u << 1u) == 0u) ? (0xff800000u) : (r));
  return __uint_as_float(((u > 0x80000000u || k_isnan(x)) ? (0x7fc00000u) : (r)));
}
static __device__ __forceinline__ f32 k_log1p_unit(f32 e) {
  f32 s = e / (e + 2.0f);
  f32 z = s * s;
  f32 p = fma(fma(fma(fma(1.215046868e-01f, z, 1.071382836e-01f), z, 1.430844218e-01f), z, 1.999943852e-01f), z,
                    3.333333731e-01f);
  return fma(2.0f * s * z, p, 2.0f * s);
}
static __device__ __forceinline__ f32 k_log1p(f32 x) { return k_or_nan(x, ((x >= -0.5f && x <= 1.0f) ? (k_log1p_unit(x)) : (k_log(1.0f + x)))); }
static __device__ __forceinline__ f32 k_tanh(f32 x) {
  f32 a = min(10.0f, abs(x));
  f32 z = a * a;
  f32 p = fma(fma(fma(2.147536958e-03f, z, -8.182673715e-03f), z, 2.170296758e-02f), z, -5.394720286e-02f);
  p = fma(fma(p, z, 1.333321035e-01f), z, -3.333333135e-01f);
  f32 e = exp2(a * 2.88539008f);
  f32 y = ((a < 0.625f) ? (fma(a * z, p, a)) : (1.0f - 2.0f / (e + 1.0f)));
  return k_or_nan(x, k_copysign(y, x));
}
static __device__ __forceinline__ f32 k_sigmoid(f32 x) {
  f32 y = 1.0f / (1.0f + exp2(min(87.0f, max(-87.0f, x)) * -1.44269504f));
  return k_or_nan(x, ((x < -87.0f) ? (0.0f) : (y)));
}
static __device__ __forceinline__ f32 k_silu(f32 x) { return x * k_sigmoid(x); }
static __device__ __forceinline__ f32 k_gelu_approx(f32 x) { return x * k_sigmoid(x * fma(x * x, 0.0713548162726f, 1.59576912161f)); }
static __device__ __forceinline__ f32 k_softplus(f32 x) {
  f32 e = exp2(min(87.0f, abs(x)) * -1.44269504f);
  return k_or_nan(x, k_relu(x) + k_log1p_unit(e));
}
static __device__ __forceinline__ f32 k_mish(f32 x) {
  f32 e = exp2(min(20.0f, max(-87.0f, x)) * 1.44269504f);
  f32 n = e * (e + 2.0f);
  return x * ((x < -87.0f) ? (0.0f) : (n / (n + 2.0f)));
}
static __device__ __forceinline__ f32 k_elu(f32 x, f32 alpha) { return ((x > 0.0f) ? (x) : (alpha * k_expm1(x))); }
static __device__ __forceinline__ f32 k_leaky_relu(f32 x, f32 alpha) { return ((__float_as_uint(x) > 0x80000000u) ? (alpha * x) : (x)); }
static __device__ __forceinline__ f32 k_hard_sigmoid(f32 x, f32 alpha, f32 beta) { return k_clamp(fma(alpha, x, beta), 0.0f, 1.0f); }
static __device__ __forceinline__ f32 k_hard_swish(f32 x) { return x * (k_clamp(x + 3.0f, 0.0f, 6.0f) * 0.16666667f); }
static __device__ __forceinline__ f32 k_erfc_factor(f32 t) {
  f32 u = 1.0f / fma(t, 0.5f, 1.0f);
  f32 p = fma(fma(fma(-5.912436545e-02f, u, 2.848459184e-01f), u, -4.877623618e-01f), u, 2.787124217e-01f);
  p = fma(fma(fma(p, u, -2.707151137e-02f), u, 2.028761357e-01f), u, 2.430557609e-01f);
  return u * fma(fma(p, u, 2.823819220e-01f), u, 2.820860445e-01f);
}
static __device__ __forceinline__ f32 k_erf(f32 x) {
  f32 a = min(9.0f, abs(x));
  f32 z = a * a;
  f32 p = fma(fma(fma(7.889119297e-05f, z, -8.020841051e-04f), z, 5.189535208e-03f), z, -2.685444430e-02f);
  p = a * fma(fma(fma(p, z, 1.128360033e-01f), z, -3.761262596e-01f), z, 1.128379107e+00f);
  f32 y = ((a < 1.0f) ? (p) : (1.0f - exp2(z * -1.44269504f) * k_erfc_factor(a)));
  return k_or_nan(x, k_copysign(y, x));
}
static __device__ __forceinline__ f32 k_gelu(f32 x) {
  f32 a = min(13.0f, abs(x));
  f32 u = 1.0f / fma(a, 0.353553391f, 1.0f);
  f32 f = fma(fma(fma(-2.956218272e-02f, u, 1.424229592e-01f), u, -2.438811809e-01f), u, 1.393562108e-01f);
  f = fma(fma(fma(f, u, -1.353575569e-02f), u, 1.014380679e-01f), u, 1.215278804e-01f);
  f = fma(fma(f, u, 1.411909610e-01f), u, 1.410430223e-01f);
  f32 tail = exp2(a * a * -0.72134752f) * (u * f);
  f32 q = ((a < 13.0f) ? (tail) : (0.0f));
  return x * ((x > 0.0f) ? (1.0f - q) : (q));
}
static __device__ __forceinline__ f32 k_act(u32 act, f32 x) {
  if (act == 1u) { return k_relu(x); }
  if (act == 2u) { return k_gelu(x); }
  if (act == 3u) { return k_gelu_approx(x); }
  if (act == 4u) { return k_silu(x); }
  if (act == 5u) { return k_sigmoid(x); }
  if (act == 6u) { return k_tanh(x); }
  return x;
}
static __device__ const u32 k_two_over_pi[8] = {0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
static __device__ __forceinline__ u32 k_bits_at(u32 first, u32 second, u32 shift) {
  return ((shift == 0u) ? (first) : ((first << shift) | (second >> ((32u - shift) & 31u))));
}
static __device__ __forceinline__ u32x2 k_angle_far(f32 x) {
  u32 u = __float_as_uint(x) & 0x7fffffffu;
  u32 m = (u & 0x7fffffu) | 0x800000u;
  u32 at = (u >> 23u) - 120u;
  u32 word = min(at >> 5u, 4u);
  u32 shift = at & 31u;
  u32 w1 = k_two_over_pi[word + 1u];
  u32 w2 = k_two_over_pi[word + 2u];
  u32 a = k_bits_at(k_two_over_pi[word], w1, shift);
  u32 b = k_bits_at(w1, w2, shift);
  u32 c = k_bits_at(w2, k_two_over_pi[word + 3u], shift);
  u32 mid = m * b + __umulhi(m, c);
  u32 carry = __umulhi(m, b) + ((mid < m * b) ? (1u) : (0u));
  u32 high = m * a + carry;
  f32 turn = f32(i32((high << 2u) | (mid >> 30u))) * 2.3283064365386963e-10f;
  turn = turn + f32(mid << 2u) * 5.421010862427522e-20f;
  return make_uint2(__float_as_uint(turn * 1.57079633f), (high + 0x20000000u) >> 30u);
}
static __device__ __forceinline__ u32x2 k_angle(f32 x) {
  f32 a = abs(x);
  if ((__float_as_uint(x) & 0x7fffffffu) >= 0x46000000u) { return k_angle_far(x); }
  f32 n = rintf(a * 0.636619772f);
  f32 r = a - n * 1.5703125f;
  r = r - n * 0.0004837512969970703f;
  r = r - n * 7.549533620476723e-08f;
  r = r - n * 2.5633440682570896e-12f;
  return make_uint2(__float_as_uint(r), u32(n));
}
static __device__ __forceinline__ f32 k_sin_small(f32 r) {
  f32 z = r * r;
  f32 p = fma(fma(fma(2.718311634e-06f, z, -1.983933471e-04f), z, 8.333329111e-03f), z, -1.666666716e-01f);
  return fma(r * z, p, r);
}
static __device__ __forceinline__ f32 k_cos_small(f32 r) {
  f32 z = r * r;
  f32 p = fma(fma(2.443315498e-05f, z, -1.388731645e-03f), z, 4.166664556e-02f);
  return fma(z * z, p, fma(z, -0.5f, 1.0f));
}
static __device__ __forceinline__ f32 k_sin_turned(f32 x, f32 r, u32 turns) {
  f32 y = (((turns & 1u) == 1u) ? (k_cos_small(r)) : (k_sin_small(r)));
  u32 bits = __float_as_uint(y) ^ ((turns & 2u) << 30u);
  return __uint_as_float((((__float_as_uint(x) & 0x7f800000u) == 0x7f800000u) ? (0x7fc00000u) : (bits)));
}
static __device__ __forceinline__ f32 k_sin(f32 x) {
  u32x2 t = k_angle(x);
  return k_sin_turned(x, __uint_as_float(t.x), t.y) * __uint_as_float(0x3f800000u | (__float_as_uint(x) & 0x80000000u));
}
static __device__ __forceinline__ f32 k_cos(f32 x) {
  u32x2 t = k_angle(x);
  return k_sin_turned(x, __uint_as_float(t.x), t.y + 1u);
}
static __device__ __forceinline__ f32 k_tan(f32 x) {
  u32x2 t = k_angle(x);
  f32 s = k_sin_small(__uint_as_float(t.x));
  f32 c = k_cos_small(__uint_as_float(t.x));
  bool odd = (t.y & 1u) == 1u;
  u32 bits = __float_as_uint(((odd) ? (-c) : (s)) / ((odd) ? (s) : (c))) ^ (__float_as_uint(x) & 0x80000000u);
  return __uint_as_float((((__float_as_uint(x) & 0x7f800000u) == 0x7f800000u) ? (0x7fc00000u) : (bits)));
}
static __device__ __forceinline__ f32 k_atan_unit(f32 t) {
  f32 z = t * t;
  f32 p = fma(fma(fma(-1.827184693e-03f, z, 1.106431521e-02f), z, -3.145546839e-02f), z, 5.823431909e-02f);
  p = fma(fma(fma(p, z, -8.419445902e-02f), z, 1.095757186e-01f), z, -1.426524520e-01f);
  p = fma(fma(p, z, 1.999863833e-01f), z, -3.333330154e-01f);
  return fma(t * z, p, t);
}
static __device__ __forceinline__ f32 k_atan(f32 x) {
  f32 a = abs(x);
  bool steep = a > 1.0f;
  f32 y = k_atan_unit(k_div(((steep) ? (1.0f) : (a)), ((steep) ? (a) : (1.0f))));
  return k_or_nan(x, k_copysign(((steep) ? (1.57079633f - y) : (y)), x));
}
static __device__ __forceinline__ f32 k_atan2(f32 y, f32 x) {
  u32 ax = __float_as_uint(x) & 0x7fffffffu;
  u32 ay = __float_as_uint(y) & 0x7fffffffu;
  bool steep = ax < ay;
  u32 low = ((steep) ? (ax) : (ay));
  u32 high = ((steep) ? (ay) : (ax));
  f32 ratio = k_div(__uint_as_float(low), __uint_as_float(high));
  f32 t = k_atan_unit(((high == 0u) ? (0.0f) : (((low == 0x7f800000u) ? (1.0f) : (ratio)))));
  t = ((steep) ? (1.57079633f - t) : (t));
  t = ((__float_as_uint(x) >= 0x80000000u) ? (3.14159265f - t) : (t));
  return k_or_nan(x, k_or_nan(y, k_copysign(t, y)));
}
static __device__ __forceinline__ u32 k_pow_special(f32 a, f32 b, u32 parity) {
  u32 ua = __float_as_uint(a) & 0x7fffffffu;
  u32 sign = ((parity == 1u) ? (__float_as_uint(a) & 0x80000000u) : (0u));
  bool up = __float_as_uint(b) < 0x80000000u;
  if (k_iszero(b) || __float_as_uint(a) == 0x3f800000u) { return 0x3f800000u; }
  if (k_isnan(a) || k_isnan(b)) { return 0x7fc00000u; }
  if (k_isinf(b)) { return ((ua == 0x3f800000u) ? (ua) : ((((ua > 0x3f800000u) == up) ? (0x7f800000u) : (0u)))); }
  if (ua == 0x3f800000u) { return ((parity == 0u) ? (0x7fc00000u) : (ua | sign)); }
  return (((ua == 0u) == up) ? (0u) : (0x7f800000u)) | sign;
}
static __device__ __forceinline__ u32 k_parity(f32 b) {
  u32 u = __float_as_uint(b) & 0x7fffffffu;
  u32 m = (u & 0x7fffffu) | 0x800000u;
  u32 e = u >> 23u;
  if (u == 0u || e >= 151u) { return 2u; }
  if (e < 127u) { return 0u; }
  u32 below = 150u - e;
  if ((m & ((1u << below) - 1u)) != 0u) { return 0u; }
  return ((((m >> below) & 1u) == 1u) ? (1u) : (2u));
}
static __device__ __forceinline__ f32 k_pow(f32 a, f32 b) {
  u32 ua = __float_as_uint(a) & 0x7fffffffu;
  u32 parity = k_parity(b);
  if (ua == 0u || ua >= 0x7f800000u || k_isinf(b) || k_isnan(b) || k_iszero(b) || ua == 0x3f800000u) {
    return __uint_as_float(k_pow_special(a, b, parity));
  }
  u32x2 x = k_split(a);
  u32 double_it = ((x.x < 11863283u) ? (1u) : (0u));
  u32 m = x.x << double_it;
  f32 n = f32(i32(x.y) + 24 - i32(double_it));
  f32 top = f32(i32(m) - 16777216);
  u32 d = m + 16777216u;
  f32 below = f32(d);
  f32 s = __uint_as_float(__float_as_uint(top / below) & 0xfffff000u);
  f32 over = (top - s * f32(d & 0xffffc000u)) - s * f32(d & 0x3fffu);
  f32 rest = over / below;
  f32 z = (s + rest) * (s + rest);
  f32 p = fma(fma(fma(fma(0.262308189f, z, 0.320598898f), z, 0.412198583f), z, 0.577078016f), z, 0.961796694f);
  f32 l1 = s * 2.884765625f;
  f32 l2 = ((s + rest) * z * p + rest * 2.88539008f) + s * 6.24456778e-04f;
  f32 about = b * (n + (l1 + l2));
  f32 sum = ((about > 0.0f) ? (400.0f) : (-400.0f));
  i32 turns = 0;
  if (abs(about) < 200.0f) {
    f32 bh = __uint_as_float(__float_as_uint(b) & 0xfffff000u);
    f32 bl = b - bh;
    f32 lh = __uint_as_float(__float_as_uint(l1) & 0xfffff000u);
    f32 ll = l1 - lh;
    f32 t1 = rintf(bh * n);
    f32 t2 = rintf(bh * lh);
    f32 r1 = bh * n - t1;
    f32 r2 = bh * lh - t2;
    sum = (r1 + r2) + ((((b * l2 + bl * ll) + bl * lh) + bh * ll) + bl * n);
    turns = i32(t1) + i32(t2);
  }
  f32 whole = rintf(sum);
  f32 y = k_ldexp(1.0f + k_expm1_small((sum - whole) * 0.693147181f), turns + i32(whole));
  u32 bits = __float_as_uint(y) | ((parity == 1u) ? (__float_as_uint(a) & 0x80000000u) : (0u));
  return __uint_as_float(((__float_as_uint(a) >= 0x80000000u && parity == 0u) ? (0x7fc00000u) : (bits)));
}
static __device__ __forceinline__ f32 k_low(u32 word, u32 T) {
  if (T == 1u) { return k_half((word) & 0xffffu); }
  return __uint_as_float(word << 16u);
}
static __device__ __forceinline__ f32 k_high(u32 word, u32 T) {
  if (T == 1u) { return k_half((word) >> 16u); }
  return __uint_as_float(word & 0xffff0000u);
}
static __device__ __forceinline__ u32 k_float(u32 word, u32 T, u32 i) {
  if (T == 0u) { return word; }
  return __float_as_uint(k_low((((i & 1u) == 0u) ? (word) : (word >> 16u)), T));
}
static __device__ __forceinline__ u32 k_pair(f32 lo, f32 hi, u32 T) {
  if (T == 1u) { return (k_half_bits(lo) | (k_half_bits(hi) << 16u)); }
  return k_bf16_bits(lo) | (k_bf16_bits(hi) << 16u);
}
static __device__ __forceinline__ f32x4 k_four(u32x4 v, u32 T, u32 VEC, u32 at) {
  if (T == 0u || VEC == 0u) { return AS_F4(v); }
  bool high = (at & 4u) != 0u;
  u32 lo = ((high) ? (v.z) : (v.x));
  u32 hi = ((high) ? (v.w) : (v.y));
  return make_float4(k_low(lo, T), k_high(lo, T), k_low(hi, T), k_high(hi, T));
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
static constexpr u32 PLANES = K_C20;
static constexpr u32 WX = K_C1;
static constexpr u32 WY = K_C2;
static constexpr u32 BK = K_C3;
static constexpr u32 STAGES = K_C4;
static constexpr u32 SIZE_A = K_C5;
static constexpr u32 SIZE_B = K_C6;
static constexpr u32 SIZE_ROWS = K_C7;
static constexpr u32 TA = K_C8;
static constexpr u32 TB = K_C9;
static constexpr u32 TRANS = K_C10;
static constexpr u32 VEC_A = K_C11;
static constexpr u32 VEC_B = K_C12;
static constexpr u32 VEC_Y = K_C13;
static constexpr u32 AXES = K_C14;
static constexpr u32 GATHER = K_C15;
static constexpr u32 TY = K_C16;
static constexpr u32 EXTRA = K_C17;
static constexpr u32 ACT = K_C18;
static constexpr u32 TE = K_C19;
struct Params { u32 groups;
  u32 m; u32 n; u32 k; u32 k_part; u32 batches; u32 tiles_m; u32 tiles_n; u32 list; u32 experts; u32 d0; u32 d1; u32 d2; u32 d3; u32 d4; u32 d5; u32 sa0; u32 sa1; u32 sa2; u32 sa3; u32 sa4; u32 sa5; u32 sb0; u32 sb1; u32 sb2; u32 sb3; u32 sb4; u32 sb5;
  u32 n_blocks;
};
static __shared__ f32x4 tile_a[SIZE_A];
static __shared__ f32x4 tile_b[SIZE_B];
static __shared__ u32 row_of[SIZE_ROWS];
extern "C" __global__ void __launch_bounds__(K_C0) matmul_blocks(const u32 *a, const u32x4 *a4, const u32 *b, const u32x4 *b4, const u32 *extra, const u32 *rows, u32 *y, u32x4 *y4, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 tiles = p.tiles_m * p.tiles_n; u32 slice = (blockIdx.y * gridDim.x + blockIdx.x) / tiles; u32 tile = (blockIdx.y * gridDim.x + blockIdx.x) - slice * tiles; u32 band = tile / (8u * p.tiles_n); u32 band_rows = min(8u, p.tiles_m - band * 8u); u32 in_band = tile - band * 8u * p.tiles_n; u32 tile_n = in_band / band_rows; u32 tile_m = band * 8u + in_band - tile_n * band_rows; u32 split = slice / p.batches; u32 m0 = tile_m * (4u * 8u * WY); u32 n0 = tile_n * (8u * 8u * WX); u32 k0 = split * p.k_part; u32 k1 = min(p.k, k0 + p.k_part); u32 steps = (p.k_part + BK - 1u) / BK; u32 a_base = 0u; u32 b_base = 0u; u32 count_m = min((4u * 8u * WY), p.m - m0); u32 count_n = min((8u * 8u * WX), p.n - n0); if (AXES > 0u) { u32 at = slice - split * p.batches; if (AXES > 0u) { a_base += (at % p.d0) * p.sa0; b_base += (at % p.d0) * p.sb0; at = at / p.d0; } if (AXES > 1u) { a_base += (at % p.d1) * p.sa1; b_base += (at % p.d1) * p.sb1; at = at / p.d1; } if (AXES > 2u) { a_base += (at % p.d2) * p.sa2; b_base += (at % p.d2) * p.sb2; at = at / p.d2; } if (AXES > 3u) { a_base += (at % p.d3) * p.sa3; b_base += (at % p.d3) * p.sb3; at = at / p.d3; } if (AXES > 4u) { a_base += (at % p.d4) * p.sa4; b_base += (at % p.d4) * p.sb4; at = at / p.d4; } if (AXES > 5u) { a_base += (at % p.d5) * p.sa5; b_base += (at % p.d5) * p.sb5; at = at / p.d5; } } if (GATHER == 1u) { u32 expert = rows[3u * tile_m]; u32 start = p.list + rows[3u * tile_m + 1u]; m0 = 0u; count_m = rows[3u * tile_m + 2u]; for (u32 i = threadIdx.x; i < (4u * 8u * WY); i += ((u32)K_C0)) { u32 source = 0xffffffffu; if (i < count_m) { source = rows[start + i]; } row_of[i + 1u] = source; } b_base = expert * p.k * p.n; if (expert >= p.experts) { b_base = 0u; k1 = k0; } if (threadIdx.x == 0u) { row_of[0] = ((count_m > 0u) ? (steps) : (0u)); } __syncthreads(); steps = (row_of[0]); }
  u32 warp = threadIdx.x / 32u;
  u32 row = (warp / WX) * (4u * (8u / 4u)) + (threadIdx.x / 16u) % 2u * 2u + threadIdx.x % 2u;
  u32 column = (warp % WX) * (8u * (8u / 4u)) + (threadIdx.x / 2u) % 8u;
  f32 acc[8u * 8u];
 
#pragma unroll
  for (u32 i = 0u; i < 8u * 8u; i += 1u) { acc[i] = 0.0f; }
  u32x4 next[8];
  u32 last = max(steps, 1u) - 1u;
  { u32 k = k0 + (0u) * BK;
#pragma unroll
  for (u32 i = 0u; i < 2u; i += 1u) { u32 item = threadIdx.x + i * ((u32)K_C0); if (i * ((u32)K_C0) < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u) && item < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u)) { if (item < ((4u * 8u * WY) * BK / 16u)) { u32 at_k = k + item / ((4u * 8u * WY) / 4u) * 4u;
#pragma unroll
  for (u32 l = 0u; l < 4u; l += 1u) { u32 line = item % ((4u * 8u * WY) / 4u) * 4u + l; u32 count = ((line < count_m && at_k < k1) ? (k1 - at_k) : (0u)); u32 source = m0 + line; if (GATHER == 1u) { source = row_of[line + 1u]; } u32 at = a_base + source * p.k + at_k; next[i * 4u + l] = make_uint4(0u, 0u, 0u, 0u); if ((count) > 0u) { if (VEC_A == 1u) { next[i * 4u + l] = a4[(at) >> (2u + ((TA == 0u) ? (0u) : (1u)))]; } else { next[i * 4u + l].x = k_float(a[(at) >> ((TA == 0u) ? (0u) : (1u))], TA, at); if ((count) > 1u) { next[i * 4u + l].y = k_float(a[((at) + 1u) >> ((TA == 0u) ? (0u) : (1u))], TA, (at) + 1u); } if ((count) > 2u) { next[i * 4u + l].z = k_float(a[((at) + 2u) >> ((TA == 0u) ? (0u) : (1u))], TA, at); } if ((count) > 3u) { next[i * 4u + l].w = k_float(a[((at) + 3u) >> ((TA == 0u) ? (0u) : (1u))], TA, (at) + 1u); } } } } } else { u32 at_k = k + (item - ((4u * 8u * WY) * BK / 16u)) / ((8u * 8u * WX) / 4u) * 4u; u32 at_n = (item - ((4u * 8u * WY) * BK / 16u)) % ((8u * 8u * WX) / 4u) * 4u;
#pragma unroll
  for (u32 l = 0u; l < 4u; l += 1u) { u32 line_k = ((TRANS == 1u) ? (at_k) : (at_k + l)); u32 line_n = ((TRANS == 1u) ? (at_n + l) : (at_n)); u32 count = ((line_n < count_n && line_k < k1) ? (((TRANS == 1u) ? (k1 - line_k) : (count_n - line_n))) : (0u)); u32 at = b_base + ((TRANS == 1u) ? ((n0 + line_n) * p.k + line_k) : (line_k * p.n + n0 + line_n)); next[i * 4u + l] = make_uint4(0u, 0u, 0u, 0u); if ((count) > 0u) { u32 codes = 0u; f32 scale = 0.0f; f32 add = 0.0f; u32 quad = ((at) >> 2u) & ((1u << (k_block_shift(TB) - 2u)) - 1u); { add = 0.0f; if (k_block_shift(TB) == 5u) { u32 k_b = ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u); if (TB == 12u || TB == 23u) { u32 k_n = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (18u) + (2u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (18u) + (2u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (18u) + (2u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu); codes = k_n; if (TB == 23u) { codes = k_iq4_levels(k_n); } scale = k_half((((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (18u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (18u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 13u) { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (20u) + (4u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (20u) + (4u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (20u) + (4u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu); scale = k_half((((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); add = k_half((((b[(((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (2u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (2u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 14u) { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (22u) + (6u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (22u) + (6u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (22u) + (6u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu) | k_fifths(((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (22u) + (2u))) + ((quad) >> 1u)) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (22u) + (2u))) + ((quad) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((quad) & 1u) << 2u)); scale = k_half((((b[(((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (22u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (22u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 15u) { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (24u) + (8u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (24u) + (8u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (24u) + (8u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu) | k_fifths(((b[(((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (4u))) + ((quad) >> 1u)) >> 2u] >> (((((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (4u))) + ((quad) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((quad) & 1u) << 2u)); scale = k_half((((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); add = k_half((((b[(((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (2u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (2u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 16u) { codes = k_funnel(b[(((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (34u) + (2u))) + ((quad) << 2u)) >> 2u], b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (34u) + (2u))) + ((quad) << 2u)) + 3u) >> 2u], ((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (34u) + (2u))) + ((quad) << 2u)) ^ 0x80808080u; scale = k_half((((b[(((PLANES == 1u) ? ((((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (34u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (34u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else { codes = k_mxfp4_levels(((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (17u) + (1u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (17u) + (1u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (17u) + (1u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu)); scale = k_mxfp4_scale(((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (1u)) : (((at) >> k_block_shift(TB)) * (17u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (1u)) : (((at) >> k_block_shift(TB)) * (17u) + (0u)))) & 3u) << 3u)) & 0xffu)); } } else { if (TB == 17u) { u32 k_sc = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_s = ((b[(((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (84u) + (0u))) + ((quad) >> 2u)) >> 2u] >> (((((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (84u) + (0u))) + ((quad) >> 2u)) & 3u) << 3u)) & 0xffu); u32 k_d = b[((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (84u) + (80u))) >> 2u]; codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (84u) + (16u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (84u) + (16u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (84u) + (16u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = k_half((k_d) & 0xffffu) * f32(k_s & 15u); add = -(k_half((k_d) >> 16u) * f32(k_s >> 4u)); } else if (TB == 18u) { u32 k_hm = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_sc = k_hm + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); u32 k_s = ((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (12u)) : (((at) >> k_block_shift(TB)) * (110u) + (96u))); codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (110u) + (32u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (110u) + (32u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (110u) + (32u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u) | (((k_funnel(b[((((PLANES == 1u) ? ((k_hm) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (110u) + (0u)))) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((k_hm) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (110u) + (0u)))) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_hm) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (110u) + (0u)))) + (((quad) & 7u) << 2u)) >> ((quad) >> 3u)) & 0x01010101u) << 2u); scale = k_half((((b[(((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (110u) + (108u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (110u) + (108u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu) * k_q3_scale(k_funnel(b[(k_s) >> 2u], b[((k_s) + 3u) >> 2u], k_s), k_funnel(b[(k_s + 4u) >> 2u], b[((k_s + 4u) + 3u) >> 2u], k_s + 4u), k_funnel(b[(k_s + 8u) >> 2u], b[((k_s + 8u) + 3u) >> 2u], k_s + 8u), (quad) >> 2u); } else if (TB == 19u) { u32 k_h = ((PLANES == 1u) ? ((((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (144u) + (0u))); codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (144u) + (16u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (144u) + (16u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (144u) + (16u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu); u32 k_s = k_scale_min(b[(k_h >> 2u) + 1u], b[(k_h >> 2u) + 2u], b[(k_h >> 2u) + 3u], (quad) >> 3u); u32 k_d = b[k_h >> 2u]; scale = k_half((k_d) & 0xffffu) * f32(k_s & 0xffffu); add = -(k_half((k_d) >> 16u) * f32(k_s >> 16u)); } else if (TB == 20u) { u32 k_qh = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); u32 k_h = ((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (176u) + (0u))); codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (176u) + (48u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (176u) + (48u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (176u) + (48u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(b[((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (176u) + (16u)))) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (176u) + (16u)))) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (176u) + (16u)))) + (((quad) & 7u) << 2u)) >> ((quad) >> 3u)) & 0x01010101u) << 4u); u32 k_s = k_scale_min(b[(k_h >> 2u) + 1u], b[(k_h >> 2u) + 2u], b[(k_h >> 2u) + 3u], (quad) >> 3u); u32 k_d = b[k_h >> 2u]; scale = k_half((k_d) & 0xffffu) * f32(k_s & 0xffffu); add = -(k_half((k_d) >> 16u) * f32(k_s >> 16u)); } else if (TB == 21u) { u32 k_qh = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); u32 k_sc = k_qh + ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_ql = ((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (210u) + (0u))) + (((quad) >> 5u) << 6u) + (((quad) & 15u) << 2u); codes = ((k_funnel(b[(k_ql) >> 2u], b[((k_ql) + 3u) >> 2u], k_ql) >> ((((quad) >> 4u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(b[((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (210u) + (128u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (210u) + (128u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (210u) + (128u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u) << 4u); scale = k_half((((b[(((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (210u) + (208u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (210u) + (208u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu) * k_signed(((b[(((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (210u) + (192u))) + ((quad) >> 2u)) >> 2u] >> (((((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (210u) + (192u))) + ((quad) >> 2u)) & 3u) << 3u)) & 0xffu)); } else if (TB == 22u) { u32 k_d = ((((p.n_blocks) * 256u) + 255u) & 0xffffff00u) + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); codes = b[(((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (256u)) : (((at) >> k_block_shift(TB)) * (292u) + (4u))) >> 2u) + (quad)] ^ 0x80808080u; scale = __uint_as_float(b[((PLANES == 1u) ? ((k_d) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (292u) + (0u))) >> 2u]); } else if (TB == 24u) { u32 k_h = ((PLANES == 1u) ? ((((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (8u)) : (((at) >> k_block_shift(TB)) * (136u) + (0u))) >> 2u; codes = k_iq4_levels(((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (136u) + (8u))) + (((quad) >> 3u) << 4u)) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (136u) + (8u))) + (((quad) >> 3u) << 4u)) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (136u) + (8u))) + (((quad) >> 3u) << 4u)) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu)); scale = k_half((b[k_h]) & 0xffffu) * k_iq4_scale(b[k_h] >> 16u, b[k_h + 1u], (quad) >> 3u); } else if (TB == 26u) { u32 k_qh = ((((p.n_blocks) * 48u) + 255u) & 0xffffff00u); u32 k_at = ((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (48u)) : (((at) >> k_block_shift(TB)) * (54u) + (0u))); if ((quad) < 40u) { codes = k_trits(k_funnel(b[(k_at + (((quad) & 7u) << 2u)) >> 2u], b[((k_at + (((quad) & 7u) << 2u)) + 3u) >> 2u], k_at + (((quad) & 7u) << 2u)), (quad) >> 3u); } else if ((quad) < 60u) { codes = k_trits(k_funnel(b[(k_at + 32u + (((quad) & 3u) << 2u)) >> 2u], b[((k_at + 32u + (((quad) & 3u) << 2u)) + 3u) >> 2u], k_at + 32u + (((quad) & 3u) << 2u)), ((quad) - 40u) >> 2u); } else { codes = k_trits(k_funnel(b[(((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (54u) + (48u)))) >> 2u], b[((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (54u) + (48u)))) + 3u) >> 2u], ((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (54u) + (48u)))), (quad) - 60u); } scale = k_half((((b[(((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (54u) + (52u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (54u) + (52u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (66u) + (0u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (66u) + (0u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (66u) + (0u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = k_half((((b[(((PLANES == 1u) ? ((((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (66u) + (64u)))) >> 2u] >> (((((PLANES == 1u) ? ((((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (66u) + (64u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } } } next[i * 4u + l] = make_uint4(__float_as_uint(k_block_value(TB, codes, 0u, scale, add)), __float_as_uint(k_block_value(TB, codes, 1u, scale, add)), __float_as_uint(k_block_value(TB, codes, 2u, scale, add)), __float_as_uint(k_block_value(TB, codes, 3u, scale, add))); } } } } } }
  {
#pragma unroll
  for (u32 i = 0u; i < 2u; i += 1u) { u32 item = threadIdx.x + i * ((u32)K_C0); if (i * ((u32)K_C0) < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u) && item < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u)) { bool is_a = item < ((4u * 8u * WY) * BK / 16u); u32 block = ((is_a) ? (item) : (item - ((4u * 8u * WY) * BK / 16u))); u32 width = ((is_a) ? ((4u * 8u * WY) / 4u) : ((8u * 8u * WX) / 4u)); u32 eighth = ((is_a || TRANS == 1u) ? (block / width) : (block % width)) * 4u; f32x4 v0 = make_float4(0.0f, 0.0f, 0.0f, 0.0f); f32x4 v1 = v0; f32x4 v2 = v0; f32x4 v3 = v0; if (is_a) { v0 = k_four(next[i * 4u], TA, VEC_A, eighth); v1 = k_four(next[i * 4u + 1u], TA, VEC_A, eighth); v2 = k_four(next[i * 4u + 2u], TA, VEC_A, eighth); v3 = k_four(next[i * 4u + 3u], TA, VEC_A, eighth); } else { v0 = k_four(next[i * 4u], TB, VEC_B, eighth); v1 = k_four(next[i * 4u + 1u], TB, VEC_B, eighth); v2 = k_four(next[i * 4u + 2u], TB, VEC_B, eighth); v3 = k_four(next[i * 4u + 3u], TB, VEC_B, eighth); } if (is_a || TRANS == 1u) { f32x4 t0 = make_float4(v0.x, v1.x, v2.x, v3.x); f32x4 t1 = make_float4(v0.y, v1.y, v2.y, v3.y); f32x4 t2 = make_float4(v0.z, v1.z, v2.z, v3.z); v3 = make_float4(v0.w, v1.w, v2.w, v3.w); v0 = t0; v1 = t1; v2 = t2; } u32 to = block / width * 4u * width + block % width; if (is_a) { to += (0u) * (SIZE_A / STAGES); tile_a[to] = v0; tile_a[to + width] = v1; tile_a[to + 2u * width] = v2; tile_a[to + 3u * width] = v3; } else { to += (0u) * (SIZE_B / STAGES); tile_b[to] = v0; tile_b[to + width] = v1; tile_b[to + 2u * width] = v2; tile_b[to + 3u * width] = v3; } } } }
  __syncthreads();
  for (u32 s = 1u; s <= last; s += 1u) {
    { u32 k = k0 + (s) * BK;
#pragma unroll
    for (u32 i = 0u; i < 2u; i += 1u) { u32 item = threadIdx.x + i * ((u32)K_C0); if (i * ((u32)K_C0) < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u) && item < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u)) { if (item < ((4u * 8u * WY) * BK / 16u)) { u32 at_k = k + item / ((4u * 8u * WY) / 4u) * 4u;
#pragma unroll
    for (u32 l = 0u; l < 4u; l += 1u) { u32 line = item % ((4u * 8u * WY) / 4u) * 4u + l; u32 count = ((line < count_m && at_k < k1) ? (k1 - at_k) : (0u)); u32 source = m0 + line; if (GATHER == 1u) { source = row_of[line + 1u]; } u32 at = a_base + source * p.k + at_k; next[i * 4u + l] = make_uint4(0u, 0u, 0u, 0u); if ((count) > 0u) { if (VEC_A == 1u) { next[i * 4u + l] = a4[(at) >> (2u + ((TA == 0u) ? (0u) : (1u)))]; } else { next[i * 4u + l].x = k_float(a[(at) >> ((TA == 0u) ? (0u) : (1u))], TA, at); if ((count) > 1u) { next[i * 4u + l].y = k_float(a[((at) + 1u) >> ((TA == 0u) ? (0u) : (1u))], TA, (at) + 1u); } if ((count) > 2u) { next[i * 4u + l].z = k_float(a[((at) + 2u) >> ((TA == 0u) ? (0u) : (1u))], TA, at); } if ((count) > 3u) { next[i * 4u + l].w = k_float(a[((at) + 3u) >> ((TA == 0u) ? (0u) : (1u))], TA, (at) + 1u); } } } } } else { u32 at_k = k + (item - ((4u * 8u * WY) * BK / 16u)) / ((8u * 8u * WX) / 4u) * 4u; u32 at_n = (item - ((4u * 8u * WY) * BK / 16u)) % ((8u * 8u * WX) / 4u) * 4u;
#pragma unroll
    for (u32 l = 0u; l < 4u; l += 1u) { u32 line_k = ((TRANS == 1u) ? (at_k) : (at_k + l)); u32 line_n = ((TRANS == 1u) ? (at_n + l) : (at_n)); u32 count = ((line_n < count_n && line_k < k1) ? (((TRANS == 1u) ? (k1 - line_k) : (count_n - line_n))) : (0u)); u32 at = b_base + ((TRANS == 1u) ? ((n0 + line_n) * p.k + line_k) : (line_k * p.n + n0 + line_n)); next[i * 4u + l] = make_uint4(0u, 0u, 0u, 0u); if ((count) > 0u) { u32 codes = 0u; f32 scale = 0.0f; f32 add = 0.0f; u32 quad = ((at) >> 2u) & ((1u << (k_block_shift(TB) - 2u)) - 1u); { add = 0.0f; if (k_block_shift(TB) == 5u) { u32 k_b = ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u); if (TB == 12u || TB == 23u) { u32 k_n = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (18u) + (2u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (18u) + (2u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (18u) + (2u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu); codes = k_n; if (TB == 23u) { codes = k_iq4_levels(k_n); } scale = k_half((((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (18u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (18u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 13u) { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (20u) + (4u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (20u) + (4u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (20u) + (4u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu); scale = k_half((((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); add = k_half((((b[(((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (2u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (20u) + (2u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 14u) { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (22u) + (6u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (22u) + (6u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (22u) + (6u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu) | k_fifths(((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (22u) + (2u))) + ((quad) >> 1u)) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (22u) + (2u))) + ((quad) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((quad) & 1u) << 2u)); scale = k_half((((b[(((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (22u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (22u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 15u) { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (24u) + (8u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (24u) + (8u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (24u) + (8u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu) | k_fifths(((b[(((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (4u))) + ((quad) >> 1u)) >> 2u] >> (((((PLANES == 1u) ? ((k_b + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (4u))) + ((quad) >> 1u)) & 3u) << 3u)) & 0xffu) >> (((quad) & 1u) << 2u)); scale = k_half((((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); add = k_half((((b[(((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (2u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b + 2u) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (24u) + (2u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else if (TB == 16u) { codes = k_funnel(b[(((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (34u) + (2u))) + ((quad) << 2u)) >> 2u], b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (34u) + (2u))) + ((quad) << 2u)) + 3u) >> 2u], ((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (34u) + (2u))) + ((quad) << 2u)) ^ 0x80808080u; scale = k_half((((b[(((PLANES == 1u) ? ((((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (34u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (34u) + (0u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else { codes = k_mxfp4_levels(((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (17u) + (1u)))) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (17u) + (1u)))) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (17u) + (1u)))) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu)); scale = k_mxfp4_scale(((b[(((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (1u)) : (((at) >> k_block_shift(TB)) * (17u) + (0u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_b) + ((at) >> k_block_shift(TB)) * (1u)) : (((at) >> k_block_shift(TB)) * (17u) + (0u)))) & 3u) << 3u)) & 0xffu)); } } else { if (TB == 17u) { u32 k_sc = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_s = ((b[(((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (84u) + (0u))) + ((quad) >> 2u)) >> 2u] >> (((((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (84u) + (0u))) + ((quad) >> 2u)) & 3u) << 3u)) & 0xffu); u32 k_d = b[((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (84u) + (80u))) >> 2u]; codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (84u) + (16u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (84u) + (16u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (84u) + (16u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = k_half((k_d) & 0xffffu) * f32(k_s & 15u); add = -(k_half((k_d) >> 16u) * f32(k_s >> 4u)); } else if (TB == 18u) { u32 k_hm = ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_sc = k_hm + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); u32 k_s = ((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (12u)) : (((at) >> k_block_shift(TB)) * (110u) + (96u))); codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (110u) + (32u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (110u) + (32u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (110u) + (32u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u) | (((k_funnel(b[((((PLANES == 1u) ? ((k_hm) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (110u) + (0u)))) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((k_hm) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (110u) + (0u)))) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_hm) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (110u) + (0u)))) + (((quad) & 7u) << 2u)) >> ((quad) >> 3u)) & 0x01010101u) << 2u); scale = k_half((((b[(((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (110u) + (108u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 12u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (110u) + (108u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu) * k_q3_scale(k_funnel(b[(k_s) >> 2u], b[((k_s) + 3u) >> 2u], k_s), k_funnel(b[(k_s + 4u) >> 2u], b[((k_s + 4u) + 3u) >> 2u], k_s + 4u), k_funnel(b[(k_s + 8u) >> 2u], b[((k_s + 8u) + 3u) >> 2u], k_s + 8u), (quad) >> 2u); } else if (TB == 19u) { u32 k_h = ((PLANES == 1u) ? ((((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (144u) + (0u))); codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (144u) + (16u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (144u) + (16u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (144u) + (16u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu); u32 k_s = k_scale_min(b[(k_h >> 2u) + 1u], b[(k_h >> 2u) + 2u], b[(k_h >> 2u) + 3u], (quad) >> 3u); u32 k_d = b[k_h >> 2u]; scale = k_half((k_d) & 0xffffu) * f32(k_s & 0xffffu); add = -(k_half((k_d) >> 16u) * f32(k_s >> 16u)); } else if (TB == 20u) { u32 k_qh = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); u32 k_h = ((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (176u) + (0u))); codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (176u) + (48u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (176u) + (48u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (176u) + (48u)))) + (((quad) >> 4u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(b[((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (176u) + (16u)))) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (176u) + (16u)))) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (32u)) : (((at) >> k_block_shift(TB)) * (176u) + (16u)))) + (((quad) & 7u) << 2u)) >> ((quad) >> 3u)) & 0x01010101u) << 4u); u32 k_s = k_scale_min(b[(k_h >> 2u) + 1u], b[(k_h >> 2u) + 2u], b[(k_h >> 2u) + 3u], (quad) >> 3u); u32 k_d = b[k_h >> 2u]; scale = k_half((k_d) & 0xffffu) * f32(k_s & 0xffffu); add = -(k_half((k_d) >> 16u) * f32(k_s >> 16u)); } else if (TB == 21u) { u32 k_qh = ((((p.n_blocks) * 128u) + 255u) & 0xffffff00u); u32 k_sc = k_qh + ((((p.n_blocks) * 64u) + 255u) & 0xffffff00u); u32 k_ql = ((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (210u) + (0u))) + (((quad) >> 5u) << 6u) + (((quad) & 15u) << 2u); codes = ((k_funnel(b[(k_ql) >> 2u], b[((k_ql) + 3u) >> 2u], k_ql) >> ((((quad) >> 4u) & 1u) << 2u)) & 0x0f0f0f0fu) | (((k_funnel(b[((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (210u) + (128u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (210u) + (128u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (210u) + (128u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u) << 4u); scale = k_half((((b[(((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (210u) + (208u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_sc + ((((p.n_blocks) * 16u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (210u) + (208u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu) * k_signed(((b[(((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (210u) + (192u))) + ((quad) >> 2u)) >> 2u] >> (((((PLANES == 1u) ? ((k_sc) + ((at) >> k_block_shift(TB)) * (16u)) : (((at) >> k_block_shift(TB)) * (210u) + (192u))) + ((quad) >> 2u)) & 3u) << 3u)) & 0xffu)); } else if (TB == 22u) { u32 k_d = ((((p.n_blocks) * 256u) + 255u) & 0xffffff00u) + ((((p.n_blocks) * 32u) + 255u) & 0xffffff00u); codes = b[(((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (256u)) : (((at) >> k_block_shift(TB)) * (292u) + (4u))) >> 2u) + (quad)] ^ 0x80808080u; scale = __uint_as_float(b[((PLANES == 1u) ? ((k_d) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (292u) + (0u))) >> 2u]); } else if (TB == 24u) { u32 k_h = ((PLANES == 1u) ? ((((((p.n_blocks) * 128u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (8u)) : (((at) >> k_block_shift(TB)) * (136u) + (0u))) >> 2u; codes = k_iq4_levels(((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (136u) + (8u))) + (((quad) >> 3u) << 4u)) + (((quad) & 3u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (136u) + (8u))) + (((quad) >> 3u) << 4u)) + (((quad) & 3u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (128u)) : (((at) >> k_block_shift(TB)) * (136u) + (8u))) + (((quad) >> 3u) << 4u)) + (((quad) & 3u) << 2u)) >> ((quad) & 4u)) & 0x0f0f0f0fu)); scale = k_half((b[k_h]) & 0xffffu) * k_iq4_scale(b[k_h] >> 16u, b[k_h + 1u], (quad) >> 3u); } else if (TB == 26u) { u32 k_qh = ((((p.n_blocks) * 48u) + 255u) & 0xffffff00u); u32 k_at = ((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (48u)) : (((at) >> k_block_shift(TB)) * (54u) + (0u))); if ((quad) < 40u) { codes = k_trits(k_funnel(b[(k_at + (((quad) & 7u) << 2u)) >> 2u], b[((k_at + (((quad) & 7u) << 2u)) + 3u) >> 2u], k_at + (((quad) & 7u) << 2u)), (quad) >> 3u); } else if ((quad) < 60u) { codes = k_trits(k_funnel(b[(k_at + 32u + (((quad) & 3u) << 2u)) >> 2u], b[((k_at + 32u + (((quad) & 3u) << 2u)) + 3u) >> 2u], k_at + 32u + (((quad) & 3u) << 2u)), ((quad) - 40u) >> 2u); } else { codes = k_trits(k_funnel(b[(((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (54u) + (48u)))) >> 2u], b[((((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (54u) + (48u)))) + 3u) >> 2u], ((PLANES == 1u) ? ((k_qh) + ((at) >> k_block_shift(TB)) * (4u)) : (((at) >> k_block_shift(TB)) * (54u) + (48u)))), (quad) - 60u); } scale = k_half((((b[(((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (54u) + (52u)))) >> 2u] >> (((((PLANES == 1u) ? ((k_qh + ((((p.n_blocks) * 4u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (54u) + (52u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } else { codes = ((k_funnel(b[((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (66u) + (0u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> 2u], b[(((((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (66u) + (0u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) + 3u) >> 2u], (((PLANES == 1u) ? ((0u) + ((at) >> k_block_shift(TB)) * (64u)) : (((at) >> k_block_shift(TB)) * (66u) + (0u)))) + (((quad) >> 5u) << 5u) + (((quad) & 7u) << 2u)) >> ((((quad) >> 3u) & 3u) << 1u)) & 0x03030303u); scale = k_half((((b[(((PLANES == 1u) ? ((((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (66u) + (64u)))) >> 2u] >> (((((PLANES == 1u) ? ((((((p.n_blocks) * 64u) + 255u) & 0xffffff00u)) + ((at) >> k_block_shift(TB)) * (2u)) : (((at) >> k_block_shift(TB)) * (66u) + (64u)))) & 2u) << 3u)) & 0xffffu)) & 0xffffu); } } } next[i * 4u + l] = make_uint4(__float_as_uint(k_block_value(TB, codes, 0u, scale, add)), __float_as_uint(k_block_value(TB, codes, 1u, scale, add)), __float_as_uint(k_block_value(TB, codes, 2u, scale, add)), __float_as_uint(k_block_value(TB, codes, 3u, scale, add))); } } } } } }
    { u32 from_a = ((s - 1u) % STAGES) * (SIZE_A / STAGES) + row; u32 from_b = ((s - 1u) % STAGES) * (SIZE_B / STAGES) + column;
#pragma unroll
    for (u32 kk = 0u; kk < BK; kk += 1u) {
#pragma unroll
    for (u32 j = 0u; j < (8u / 4u); j += 1u) { f32x4 bv = tile_b[from_b + kk * ((8u * 8u * WX) / 4u) + j * 8u];
#pragma unroll
    for (u32 i = 0u; i < (8u / 4u); i += 1u) { f32x4 av = tile_a[from_a + kk * ((4u * 8u * WY) / 4u) + i * 4u]; acc[(i * 4u) * 8u + j * 4u] += (av.x) * bv.x; acc[(i * 4u) * 8u + j * 4u + 1u] += (av.x) * bv.y; acc[(i * 4u) * 8u + j * 4u + 2u] += (av.x) * bv.z; acc[(i * 4u) * 8u + j * 4u + 3u] += (av.x) * bv.w; acc[(i * 4u + 1u) * 8u + j * 4u] += (av.y) * bv.x; acc[(i * 4u + 1u) * 8u + j * 4u + 1u] += (av.y) * bv.y; acc[(i * 4u + 1u) * 8u + j * 4u + 2u] += (av.y) * bv.z; acc[(i * 4u + 1u) * 8u + j * 4u + 3u] += (av.y) * bv.w; acc[(i * 4u + 2u) * 8u + j * 4u] += (av.z) * bv.x; acc[(i * 4u + 2u) * 8u + j * 4u + 1u] += (av.z) * bv.y; acc[(i * 4u + 2u) * 8u + j * 4u + 2u] += (av.z) * bv.z; acc[(i * 4u + 2u) * 8u + j * 4u + 3u] += (av.z) * bv.w; acc[(i * 4u + 3u) * 8u + j * 4u] += (av.w) * bv.x; acc[(i * 4u + 3u) * 8u + j * 4u + 1u] += (av.w) * bv.y; acc[(i * 4u + 3u) * 8u + j * 4u + 2u] += (av.w) * bv.z; acc[(i * 4u + 3u) * 8u + j * 4u + 3u] += (av.w) * bv.w; } } } }
    if (STAGES == 1u) { __syncthreads(); }
    {
#pragma unroll
    for (u32 i = 0u; i < 2u; i += 1u) { u32 item = threadIdx.x + i * ((u32)K_C0); if (i * ((u32)K_C0) < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u) && item < (((4u * 8u * WY) * BK / 16u) + (8u * 8u * WX) * BK / 16u)) { bool is_a = item < ((4u * 8u * WY) * BK / 16u); u32 block = ((is_a) ? (item) : (item - ((4u * 8u * WY) * BK / 16u))); u32 width = ((is_a) ? ((4u * 8u * WY) / 4u) : ((8u * 8u * WX) / 4u)); u32 eighth = ((is_a || TRANS == 1u) ? (block / width) : (block % width)) * 4u; f32x4 v0 = make_float4(0.0f, 0.0f, 0.0f, 0.0f); f32x4 v1 = v0; f32x4 v2 = v0; f32x4 v3 = v0; if (is_a) { v0 = k_four(next[i * 4u], TA, VEC_A, eighth); v1 = k_four(next[i * 4u + 1u], TA, VEC_A, eighth); v2 = k_four(next[i * 4u + 2u], TA, VEC_A, eighth); v3 = k_four(next[i * 4u + 3u], TA, VEC_A, eighth); } else { v0 = k_four(next[i * 4u], TB, VEC_B, eighth); v1 = k_four(next[i * 4u + 1u], TB, VEC_B, eighth); v2 = k_four(next[i * 4u + 2u], TB, VEC_B, eighth); v3 = k_four(next[i * 4u + 3u], TB, VEC_B, eighth); } if (is_a || TRANS == 1u) { f32x4 t0 = make_float4(v0.x, v1.x, v2.x, v3.x); f32x4 t1 = make_float4(v0.y, v1.y, v2.y, v3.y); f32x4 t2 = make_float4(v0.z, v1.z, v2.z, v3.z); v3 = make_float4(v0.w, v1.w, v2.w, v3.w); v0 = t0; v1 = t1; v2 = t2; } u32 to = block / width * 4u * width + block % width; if (is_a) { to += (s % STAGES) * (SIZE_A / STAGES); tile_a[to] = v0; tile_a[to + width] = v1; tile_a[to + 2u * width] = v2; tile_a[to + 3u * width] = v3; } else { to += (s % STAGES) * (SIZE_B / STAGES); tile_b[to] = v0; tile_b[to + width] = v1; tile_b[to + 2u * width] = v2; tile_b[to + 3u * width] = v3; } } } }
    __syncthreads();
  }
  { u32 from_a = (last % STAGES) * (SIZE_A / STAGES) + row; u32 from_b = (last % STAGES) * (SIZE_B / STAGES) + column;
#pragma unroll
  for (u32 kk = 0u; kk < BK; kk += 1u) {
#pragma unroll
  for (u32 j = 0u; j < (8u / 4u); j += 1u) { f32x4 bv = tile_b[from_b + kk * ((8u * 8u * WX) / 4u) + j * 8u];
#pragma unroll
  for (u32 i = 0u; i < (8u / 4u); i += 1u) { f32x4 av = tile_a[from_a + kk * ((4u * 8u * WY) / 4u) + i * 4u]; acc[(i * 4u) * 8u + j * 4u] += (av.x) * bv.x; acc[(i * 4u) * 8u + j * 4u + 1u] += (av.x) * bv.y; acc[(i * 4u) * 8u + j * 4u + 2u] += (av.x) * bv.z; acc[(i * 4u) * 8u + j * 4u + 3u] += (av.x) * bv.w; acc[(i * 4u + 1u) * 8u + j * 4u] += (av.y) * bv.x; acc[(i * 4u + 1u) * 8u + j * 4u + 1u] += (av.y) * bv.y; acc[(i * 4u + 1u) * 8u + j * 4u + 2u] += (av.y) * bv.z; acc[(i * 4u + 1u) * 8u + j * 4u + 3u] += (av.y) * bv.w; acc[(i * 4u + 2u) * 8u + j * 4u] += (av.z) * bv.x; acc[(i * 4u + 2u) * 8u + j * 4u + 1u] += (av.z) * bv.y; acc[(i * 4u + 2u) * 8u + j * 4u + 2u] += (av.z) * bv.z; acc[(i * 4u + 2u) * 8u + j * 4u + 3u] += (av.z) * bv.w; acc[(i * 4u + 3u) * 8u + j * 4u] += (av.w) * bv.x; acc[(i * 4u + 3u) * 8u + j * 4u + 1u] += (av.w) * bv.y; acc[(i * 4u + 3u) * 8u + j * 4u + 2u] += (av.w) * bv.z; acc[(i * 4u + 3u) * 8u + j * 4u + 3u] += (av.w) * bv.w; } } } }
  for (u32 i = 0u; i < 8u; i += 1u) {
    f32 line[8u];
   
#pragma unroll
    for (u32 r = 0u; r < 8u; r += 1u) {
      if (r == i) {
       
#pragma unroll
        for (u32 j = 0u; j < 8u; j += 1u) { line[j] = acc[r * 8u + j]; }
      }
    }
    u32 at_row = (row + i / 4u * 4u) * 4u + i % 4u;
    if (at_row < count_m) {
      u32 to_row = slice * p.m + m0 + at_row;
      if (GATHER == 1u) { to_row = slice * p.m + row_of[at_row + 1u]; }
     
#pragma unroll
      for (u32 j = 0u; j < (8u / 4u); j += 1u) {
        u32 col = (column + j * 8u) * 4u;
        if (col < count_n) {
          f32 f0 = line[j * 4u];
          f32 f1 = line[j * 4u + 1u];
          f32 f2 = line[j * 4u + 2u];
          f32 f3 = line[j * 4u + 3u];
          u32 to = to_row * p.n + n0 + col;
          if (ACT != 0u || EXTRA != 0u) { for (u32 e = 0u; e < min(4u, count_n - col); e += 1u) { f32 f = ((e < 2u) ? (((e == 0u) ? (f0) : (f1))) : (((e == 2u) ? (f2) : (f3)))); { f32 k_bare = f; if (EXTRA == 1u) { f += __uint_as_float(k_float(extra[((n0 + col) + e) >> ((TE == 0u) ? (0u) : (1u))], TE, ((n0 + col) + e))); } if (EXTRA == 2u) { f += __uint_as_float(k_float(extra[0u], TE, 0u)); } if (EXTRA == 3u) { f = __uint_as_float(extra[(to) + e]); } f = k_act(ACT, f); if (EXTRA == 3u) { f = f * k_bare; } } if (e == 0u) { f0 = f; } if (e == 1u) { f1 = f; } if (e == 2u) { f2 = f; } if (e == 3u) { f3 = f; } } }
          if (TY == 0u) { if (VEC_Y == 1u) { y4[(to) >> 2u] = AS_U4(make_float4(f0, f1, f2, f3)); } else { y[to] = __float_as_uint(f0); if ((count_n - col) > 1u) { y[(to) + 1u] = __float_as_uint(f1); } if ((count_n - col) > 2u) { y[(to) + 2u] = __float_as_uint(f2); } if ((count_n - col) > 3u) { y[(to) + 3u] = __float_as_uint(f3); } } } else { y[(to) >> 1u] = k_pair(f0, f1, TY); if ((count_n - col) > 2u) { y[((to) >> 1u) + 1u] = k_pair(f2, f3, TY); } }
        }
      }
    }
  }
}
