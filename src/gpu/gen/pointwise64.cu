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
static constexpr u32 S0 = K_C1;
static constexpr u32 S1 = K_C2;
static constexpr u32 S2 = K_C3;
static constexpr u32 S3 = K_C4;
static constexpr u32 S4 = K_C5;
static constexpr u32 S5 = K_C6;
static constexpr u32 S6 = K_C7;
static constexpr u32 S7 = K_C8;
static constexpr u32 S8 = K_C9;
static constexpr u32 S9 = K_C10;
static constexpr u32 S10 = K_C11;
static constexpr u32 S11 = K_C12;
static constexpr u32 S12 = K_C13;
static constexpr u32 S13 = K_C14;
static constexpr u32 S14 = K_C15;
static constexpr u32 S15 = K_C16;
static constexpr u32 STEPS = K_C17;
static constexpr u32 TX = K_C18;
static constexpr u32 TY = K_C19;
static constexpr u32 USED = K_C20;
static constexpr u32 RANK = K_C21;
static __device__ __forceinline__ u32 k_magnitude(u32 a) { return ((a >= 0x80000000u) ? (0u - a) : (a)); }
static __device__ __forceinline__ u32 k_div_u(u32 a, u32 b) { return ((b == 0u) ? (0u) : (a / max(b, 1u))); }
static __device__ __forceinline__ u32 k_mod_u(u32 a, u32 b) { return ((b == 0u) ? (0u) : (a % max(b, 1u))); }
static __device__ __forceinline__ u32 k_pow_u(u32 a, u32 b) {
  u32 y = 1u;
  u32 square = a;
  for (u32 left = b; left > 0u; left = left >> 1u) {
    if ((left & 1u) == 1u) { y = y * square; }
    square = square * square;
  }
  return y;
}
static __device__ __forceinline__ u32 k_clamp_i(u32 a, u32 lo, u32 hi) { return u32(min(max(i32(a), i32(lo)), i32(hi))); }
static __device__ __forceinline__ u32 k_f_to_i(f32 x) {
  f32 t = ((k_isnan(x)) ? (0.0f) : (x));
  i32 inside = i32(min(max(t, -2147483648.0f), 2147483520.0f));
  return ((t >= 2147483648.0f) ? (0x7fffffffu) : (u32(inside)));
}
static __device__ __forceinline__ u32 k_f_to_u(f32 x) {
  f32 t = ((k_isnan(x)) ? (0.0f) : (x));
  u32 inside = u32(min(max(t, 0.0f), 4294967040.0f));
  return ((t >= 4294967296.0f) ? (0xffffffffu) : (inside));
}
static __device__ __forceinline__ f32 k_u_to_odd(u32 a) {
  u32 top = (31u - (u32)__clz(a | 1u));
  u32 down = ((top > 23u) ? (top - 23u) : (0u));
  u32 kept = a >> down;
  u32 odd = (((kept << down) != a) ? (1u) : (0u));
  return f32(kept | odd) * __uint_as_float((down + 127u) << 23u);
}
static __device__ __forceinline__ u32 k_quantize(f32 x, f32 scale, u32 zero) {
  f32 q = k_div_exact(x, scale);
  f32 code = rintf(((k_isnan(q)) ? (0.0f) : (min(max(q, -8589934592.0f), 8589934592.0f))));
  f32 high = floor(code * 1.52587890625e-05f);
  f32 below = code - high * 65536.0f;
  u32 low = u32(below) + (zero & 0xffffu);
  i32 sum = i32(high) + (i32(zero) >> 16u) + i32(low >> 16u);
  u32 y = (u32(sum) << 16u) | (low & 0xffffu);
  return ((sum > 32767) ? (0x7fffffffu) : (((sum < -32768) ? (0x80000000u) : (y))));
}
static __device__ __forceinline__ u32 k_dequantize(u32 x, u32 zero, i32 high, f32 scale) {
  f32 low = f32(i32(x & 0xffffu) - i32(zero & 0xffffu));
  return __float_as_uint(fma(f32(high), 65536.0f, low) * scale);
}
static __device__ __forceinline__ u32 k_fit(u32 v, u32 T) {
  if (T == 1u) { return __float_as_uint(k_half_value(k_half_bits_of(__uint_as_float(v)))); }
  if (T == 2u) { return k_bf16_bits(__uint_as_float(v)) << 16u; }
  if (T == 6u) { return u32(i32(v << 16u) >> 16u); }
  if (T == 4u) { return u32(i32(v << 24u) >> 24u); }
  if (T == 5u) { return v & 0xffu; }
  return v;
}
static __device__ __forceinline__ u32 k_pw_exp(u32 op, f32 x) {
  f32 y = x;
  switch (op) {
    case 16u: { y = k_exp(x); break; }
    case 17u: { y = k_sigmoid(x); break; }
    case 18u: { y = k_silu(x); break; }
    case 19u: { y = k_tanh(x); break; }
    case 20u: { y = k_gelu_approx(x); break; }
    case 21u: { y = k_softplus(x); break; }
    default: { break; }
  }
  return __float_as_uint(y);
}
static __device__ __forceinline__ u32 k_pw_erf(u32 op, f32 x, f32 alpha, f32 beta) {
  f32 y = x;
  switch (op) {
    case 32u: { y = k_gelu(x); break; }
    case 33u: { y = k_erf(x); break; }
    case 34u: { y = k_elu(x, alpha); break; }
    case 35u: { y = beta * k_elu(x, alpha); break; }
    case 36u: { y = k_mish(x); break; }
    default: { break; }
  }
  return __float_as_uint(y);
}
static __device__ __forceinline__ u32 k_pw_angle(u32 op, f32 x) {
  if (op == 48u) { return __float_as_uint(k_sin(x)); }
  if (op == 49u) { return __float_as_uint(k_cos(x)); }
  return __float_as_uint(k_tan(x));
}
static __device__ __forceinline__ u32 k_pw_root(u32 op, f32 a, f32 b) {
  if (op == 64u) { return __float_as_uint(k_div(a, b)); }
  if (op == 65u) { return __float_as_uint(k_log(a)); }
  if (op == 66u) { return __float_as_uint(k_sqrt(a)); }
  return __float_as_uint(k_rsqrt(a));
}
static __device__ __forceinline__ u32 k_pw_mod(u32 op, f32 a, f32 b) {
  if (op == 96u) { return __float_as_uint(k_mod(a, b)); }
  return __float_as_uint(k_atan2(a, b));
}
static __device__ __forceinline__ u32 k_pw_cheap(u32 op, f32 x, f32 alpha, f32 beta) {
  f32 y = x;
  switch (op) {
    case 112u: { y = k_relu(x); break; }
    case 113u: { y = __uint_as_float(__float_as_uint(x) ^ 0x80000000u); break; }
    case 114u: { y = __uint_as_float(__float_as_uint(x) & 0x7fffffffu); break; }
    case 115u: { y = k_round(x); break; }
    case 116u: { y = k_floor(x); break; }
    case 117u: { y = k_ceil(x); break; }
    case 118u: { y = k_sign(x); break; }
    case 119u: { y = k_leaky_relu(x, alpha); break; }
    case 120u: { y = k_hard_sigmoid(x, alpha, beta); break; }
    case 121u: { y = k_hard_swish(x); break; }
    case 122u: { y = k_clamp(x, alpha, beta); break; }
    default: { break; }
  }
  return __float_as_uint(y);
}
static __device__ __forceinline__ u32 k_pw_float(u32 op, f32 a, f32 b, f32 c) {
  u32 y = 0u;
  switch (op) {
    case 128u: { y = __float_as_uint(a + b); break; }
    case 129u: { y = __float_as_uint(a - b); break; }
    case 130u: { y = __float_as_uint(a * b); break; }
    case 131u: { y = __float_as_uint(k_max(a, b)); break; }
    case 132u: { y = __float_as_uint(k_min(a, b)); break; }
    case 133u: { y = __float_as_uint(k_fma(a, b, c)); break; }
    case 134u: { y = ((k_equal(a, b)) ? (1u) : (0u)); break; }
    case 135u: { y = ((k_equal(a, b)) ? (0u) : (1u)); break; }
    case 136u: { y = ((k_less(a, b)) ? (1u) : (0u)); break; }
    case 137u: { y = ((k_less_equal(a, b)) ? (1u) : (0u)); break; }
    default: { break; }
  }
  return y;
}
static __device__ __forceinline__ u32 k_pw_integer(u32 op, u32 a, u32 b, u32 c) {
  u32 y = 0u;
  switch (op) {
    case 144u: { y = a + b; break; }
    case 145u: { y = a - b; break; }
    case 146u: { y = a * b; break; }
    case 147u: { y = a & b; break; }
    case 148u: { y = a | b; break; }
    case 149u: { y = a ^ b; break; }
    case 150u: { y = 0u - a; break; }
    case 151u: { y = k_magnitude(a); break; }
    case 152u: { y = ((a == 0u) ? (0u) : (((a >= 0x80000000u) ? (0xffffffffu) : (1u)))); break; }
    case 153u: { y = ((b >= c) ? (0u) : (a << (b & 31u))); break; }
    case 154u: { y = u32(i32(a) >> ((b >= c) ? (31u) : (b))); break; }
    case 155u: { y = ((b >= c) ? (0u) : (a >> (b & 31u))); break; }
    default: { break; }
  }
  return y;
}
static __device__ __forceinline__ u32 k_pw_order(u32 op, u32 a, u32 b, u32 c) {
  u32 y = 0u;
  switch (op) {
    case 160u: { y = u32(max(i32(a), i32(b))); break; }
    case 161u: { y = max(a, b); break; }
    case 162u: { y = u32(min(i32(a), i32(b))); break; }
    case 163u: { y = min(a, b); break; }
    case 164u: { y = ((a == b) ? (1u) : (0u)); break; }
    case 165u: { y = ((a == b) ? (0u) : (1u)); break; }
    case 166u: { y = ((i32(a) < i32(b)) ? (1u) : (0u)); break; }
    case 167u: { y = ((a < b) ? (1u) : (0u)); break; }
    case 168u: { y = ((i32(a) <= i32(b)) ? (1u) : (0u)); break; }
    case 169u: { y = ((a <= b) ? (1u) : (0u)); break; }
    case 170u: { y = k_clamp_i(a, b, c); break; }
    case 171u: { y = min(max(a, b), c); break; }
    default: { break; }
  }
  return y;
}
static __device__ __forceinline__ u32 k_pw_quotient(u32 op, u32 a, u32 b) {
  if (op == 177u) { return k_div_u(a, b); }
  if (op == 179u) { return k_mod_u(a, b); }
  if (op == 176u) {
    u32 q = k_div_u(k_magnitude(a), k_magnitude(b));
    return (((a ^ b) >= 0x80000000u) ? (0u - q) : (q));
  }
  if (op == 178u) {
    u32 r = k_mod_u(k_magnitude(a), k_magnitude(b));
    u32 rest = ((a >= 0x80000000u) ? (0u - r) : (r));
    return ((rest != 0u && (rest ^ b) >= 0x80000000u) ? (rest + b) : (rest));
  }
  bool below = op == 180u && b >= 0x80000000u;
  u32 fraction = ((a == 1u) ? (1u) : (((a == 0xffffffffu) ? ((((b & 1u) == 1u) ? (a) : (1u))) : (0u))));
  return ((below) ? (fraction) : (k_pow_u(a, ((below) ? (0u) : (b)))));
}
static __device__ __forceinline__ u32 k_pw_any(u32 op, u32 a, u32 b, u32 c) {
  u32 y = a;
  f32 odd = k_u_to_odd(((op == 199u) ? (k_magnitude(a)) : (a)));
  switch (op) {
    case 193u: { y = ((a != 0u) ? (b) : (c)); break; }
    case 194u: { y = a ^ 1u; break; }
    case 195u: { y = k_clamp_i(k_f_to_i(__uint_as_float(a)), b, c); break; }
    case 196u: { y = k_f_to_u(__uint_as_float(a)); break; }
    case 197u: { y = __float_as_uint(f32(i32(a))); break; }
    case 198u: { y = __float_as_uint(f32(a)); break; }
    case 199u: { y = __float_as_uint(odd) | (a & 0x80000000u); break; }
    case 200u: { y = __float_as_uint(odd); break; }
    case 201u: { y = ((k_iszero(__uint_as_float(a))) ? (0u) : (1u)); break; }
    case 202u: { y = ((a == 0u) ? (0u) : (1u)); break; }
    default: { break; }
  }
  return y;
}
static __device__ __forceinline__ u32 k_pw_code(u32 op, u32 a, u32 b, u32 c) {
  if (op == 208u) { return k_quantize(__uint_as_float(a), __uint_as_float(b), c); }
  i32 high = ((op == 209u) ? ((i32(a) >> 16u) - (i32(c) >> 16u)) : (i32(a >> 16u) - i32(c >> 16u)));
  return k_dequantize(a, c, high, __uint_as_float(b));
}
static constexpr u32 FLAT = K_C22;
struct Params { u32 groups;
  u32 n;
  u32 c0;
  u32 c1;
  u32 c2;
  u32 c3;
  u32 c4;
  u32 c5;
  u32 c6;
  u32 c7;
  u32 c8;
  u32 c9;
  u32 c10;
  u32 c11;
  u32 h0;
  u32 h1;
  u32 h2;
  u32 h3;
  u32 h4;
  u32 h5;
  u32 h6;
  u32 h7;
  u32 h8;
  u32 h9;
  u32 h10;
  u32 h11;
};
static __device__ __forceinline__ bool k_below(u32x2 a) { return a.y >= 0x80000000u; }
static __device__ __forceinline__ u32x2 k_add_l(u32x2 a, u32x2 b) {
  u32 low = a.x + b.x;
  return make_uint2(low, a.y + b.y + ((low < a.x) ? (1u) : (0u)));
}
static __device__ __forceinline__ u32x2 k_sub_l(u32x2 a, u32x2 b) { return make_uint2(a.x - b.x, a.y - b.y - ((a.x < b.x) ? (1u) : (0u))); }
static __device__ __forceinline__ u32x2 k_neg_l(u32x2 a) { return k_sub_l(make_uint2(0u, 0u), a); }
static __device__ __forceinline__ u32x2 k_mul_l(u32x2 a, u32x2 b) { return make_uint2(a.x * b.x, __umulhi(a.x, b.x) + a.x * b.y + a.y * b.x); }
static __device__ __forceinline__ u32x2 k_pick_l(bool c, u32x2 a, u32x2 b) { return make_uint2(((c) ? (a.x) : (b.x)), ((c) ? (a.y) : (b.y))); }
static __device__ __forceinline__ u32x2 k_magnitude_l(u32x2 a) { return k_pick_l(k_below(a), k_neg_l(a), a); }
static __device__ __forceinline__ bool k_less_ul(u32x2 a, u32x2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
static __device__ __forceinline__ bool k_less_l(u32x2 a, u32x2 b) { return k_less_ul(make_uint2(a.x, a.y ^ 0x80000000u), make_uint2(b.x, b.y ^ 0x80000000u)); }
static __device__ __forceinline__ bool k_equal_l(u32x2 a, u32x2 b) { return a.x == b.x && a.y == b.y; }
static __device__ __forceinline__ u32x2 k_shl_l(u32x2 a, u32 n) {
  u32 s = n & 31u;
  u32 carried = ((s == 0u) ? (0u) : (a.x >> ((32u - s) & 31u)));
  return k_pick_l(n >= 32u, make_uint2(0u, a.x << s), make_uint2(a.x << s, (a.y << s) | carried));
}
static __device__ __forceinline__ u32x2 k_shr_l(u32x2 a, u32 n) {
  u32 s = n & 31u;
  u32 carried = ((s == 0u) ? (0u) : (a.y << ((32u - s) & 31u)));
  return k_pick_l(n >= 32u, make_uint2(a.y >> s, 0u), make_uint2((a.x >> s) | carried, a.y >> s));
}
static __device__ __forceinline__ u32x2 k_divide_l(u32x2 a, u32x2 b, bool rest) {
  u32x2 q = make_uint2(0u, 0u);
  u32x2 r = make_uint2(0u, 0u);
  for (u32 i = 0u; i < 64u; i += 1u) {
    u32x2 bit = k_shr_l(a, 63u - i);
    bool over = k_below(r);
    r = k_shl_l(r, 1u);
    r = make_uint2(r.x | (bit.x & 1u), r.y);
    q = k_shl_l(q, 1u);
    if (over || !k_less_ul(r, b)) {
      r = k_sub_l(r, b);
      q = make_uint2(q.x | 1u, q.y);
    }
  }
  return k_pick_l(rest, r, q);
}
static __device__ __forceinline__ u32x2 k_power_l(u32x2 a, u32x2 b) {
  u32x2 y = make_uint2(1u, 0u);
  u32x2 square = a;
  u32x2 left = b;
  for (u32 i = 0u; i < 64u && (left.x | left.y) != 0u; i += 1u) {
    if ((left.x & 1u) == 1u) { y = k_mul_l(y, square); }
    square = k_mul_l(square, square);
    left = k_shr_l(left, 1u);
  }
  return y;
}
static __device__ __forceinline__ u32x2 k_pl_integer(u32 op, u32x2 a, u32x2 b, u32x2 c) {
  u32x2 y = a;
  bool wide = b.y != 0u || b.x > 63u;
  u32x2 signs = make_uint2(((k_below(a)) ? (0xffffffffu) : (0u)), ((k_below(a)) ? (0xffffffffu) : (0u)));
  switch (op) {
    case 224u: { y = k_add_l(a, b); break; }
    case 225u: { y = k_sub_l(a, b); break; }
    case 226u: { y = k_mul_l(a, b); break; }
    case 227u: { y = make_uint2(a.x & b.x, a.y & b.y); break; }
    case 228u: { y = make_uint2(a.x | b.x, a.y | b.y); break; }
    case 229u: { y = make_uint2(a.x ^ b.x, a.y ^ b.y); break; }
    case 230u: { y = k_neg_l(a); break; }
    case 231u: { y = k_magnitude_l(a); break; }
    case 232u: { y = make_uint2((((a.x | a.y) == 0u) ? (0u) : (signs.x | 1u)), signs.x); break; }
    case 233u: { y = k_pick_l(wide, make_uint2(0u, 0u), k_shl_l(a, b.x & 63u)); break; }
    case 234u: {
      u32x2 down = k_shr_l(make_uint2(a.x ^ signs.x, a.y ^ signs.x), b.x & 63u);
      y = k_pick_l(wide, signs, make_uint2(down.x ^ signs.x, down.y ^ signs.x));
      break;
    }
    case 235u: { y = k_pick_l(a.x != 0u, b, c); break; }
    default: { break; }
  }
  return y;
}
static __device__ __forceinline__ u32x2 k_pl_order(u32 op, u32x2 a, u32x2 b, u32x2 c) {
  u32x2 y = a;
  bool same = k_equal(__uint_as_float(a.x), __uint_as_float(b.x)) && k_equal(__uint_as_float(a.y), __uint_as_float(b.y));
  switch (op) {
    case 240u: { y = k_pick_l(k_less_l(a, b), b, a); break; }
    case 241u: { y = k_pick_l(k_less_l(b, a), b, a); break; }
    case 242u: { y = make_uint2(((k_equal_l(a, b)) ? (1u) : (0u)), 0u); break; }
    case 243u: { y = make_uint2(((k_equal_l(a, b)) ? (0u) : (1u)), 0u); break; }
    case 244u: { y = make_uint2(((k_less_l(a, b)) ? (1u) : (0u)), 0u); break; }
    case 245u: { y = make_uint2(((k_less_l(b, a)) ? (0u) : (1u)), 0u); break; }
    case 246u: {
      u32x2 up = k_pick_l(k_less_l(a, b), b, a);
      y = k_pick_l(k_less_l(c, up), c, up);
      break;
    }
    case 247u: { y = make_uint2(((same) ? (1u) : (0u)), 0u); break; }
    case 248u: { y = make_uint2(((same) ? (0u) : (1u)), 0u); break; }
    default: { break; }
  }
  return y;
}
static __device__ __forceinline__ u32x2 k_pl_quotient(u32 op, u32x2 a, u32x2 b) {
  bool none = (b.x | b.y) == 0u;
  if (op == 258u) {
    bool even = (b.x & 1u) == 0u;
    bool one = k_equal_l(a, make_uint2(1u, 0u));
    bool minus_one = (a.x & a.y) == 0xffffffffu;
    u32x2 fraction = k_pick_l(one || (minus_one && even), make_uint2(1u, 0u), k_pick_l(minus_one, a, make_uint2(0u, 0u)));
    return k_pick_l(k_below(b), fraction, k_power_l(a, k_pick_l(k_below(b), make_uint2(0u, 0u), b)));
  }
  u32x2 m = k_magnitude_l(a);
  u32x2 d = k_pick_l(none, make_uint2(1u, 0u), k_magnitude_l(b));
  u32x2 y = k_divide_l(m, d, op == 257u);
  if (op == 256u) { y = k_pick_l(((a.y ^ b.y) >> 31u) == 1u, k_neg_l(y), y); }
  if (op == 257u) {
    y = k_pick_l(k_below(a), k_neg_l(y), y);
    y = k_pick_l((y.x | y.y) != 0u && ((y.y ^ b.y) >> 31u) == 1u, k_add_l(y, b), y);
  }
  return k_pick_l(none, make_uint2(0u, 0u), y);
}
static __device__ __forceinline__ f32 k_l_to_f(u32x2 a, bool odd) {
  u32x2 m = k_magnitude_l(a);
  u32 down = ((m.y == 0u) ? (0u) : ((31u - (u32)__clz(m.y | 1u)) + 1u));
  u32x2 kept = k_shr_l(m, down);
  u32 lost = ((k_equal_l(k_shl_l(kept, down), m)) ? (0u) : (1u));
  u32 top = kept.x | lost;
  f32 y = ((odd) ? (k_u_to_odd(top)) : (f32(top))) * __uint_as_float((down + 127u) << 23u);
  return ((k_below(a)) ? (-y) : (y));
}
static __device__ __forceinline__ u32x2 k_f_to_l(f32 x) {
  u32 u = __float_as_uint(x) & 0x7fffffffu;
  bool below = __float_as_uint(x) >= 0x80000000u;
  if (u < 0x3f800000u || u > 0x7f800000u) { return make_uint2(0u, 0u); }
  if (u >= 0x5f000000u) { return make_uint2(((below) ? (0u) : (0xffffffffu)), ((below) ? (0x80000000u) : (0x7fffffffu))); }
  u32x2 m = make_uint2((u & 0x7fffffu) | 0x800000u, 0u);
  u32 e = u >> 23u;
  u32x2 y = k_pick_l(e >= 150u, k_shl_l(m, (e - 150u) & 63u), k_shr_l(m, (150u - e) & 31u));
  return k_pick_l(below, k_neg_l(y), y);
}
static __device__ __forceinline__ u32x2 k_pl_convert(u32 op, u32x2 a, u32x2 b, u32x2 c) {
  u32x2 y = a;
  u32 sign = ((a.x >= 0x80000000u) ? (0xffffffffu) : (0u));
  switch (op) {
    case 272u: { y = k_f_to_l(__uint_as_float(a.x)); break; }
    case 273u: { y = make_uint2(__float_as_uint(k_l_to_f(a, false)), 0u); break; }
    case 274u: { y = make_uint2(__float_as_uint(k_l_to_f(a, true)), 0u); break; }
    case 275u: { y = make_uint2((((a.x | a.y) == 0u) ? (0u) : (1u)), 0u); break; }
    case 276u: { y = k_pick_l(k_less_l(a, b), b, k_pick_l(k_less_l(c, a), c, a)); break; }
    case 277u: { y = make_uint2(((k_below(a)) ? (0u) : (((a.y != 0u) ? (0xffffffffu) : (a.x)))), 0u); break; }
    case 278u: { y = make_uint2(a.x, sign); break; }
    case 279u: { y = make_uint2(a.x, 0u); break; }
    default: { break; }
  }
  return y;
}
extern "C" __global__ void __launch_bounds__(K_C0) pointwise64(const u32 *x0, const u32 *x1, const u32 *x2, const u32 *x3, const u32 *x4, const u32 *x5, const u32 *x6, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 shift = ((2103828u >> (((TY) & 15u) * 2u)) & 3u);
  u32 w = (blockIdx.y * gridDim.x + blockIdx.x) * ((u32)K_C0) + threadIdx.x;
  u32 first = w << shift;
  if (first < p.n) {
    u32 r[35];
    u32 h[35];
    r[7] = p.c0; h[7] = p.h0; r[8] = p.c1; h[8] = p.h1; r[9] = p.c2; h[9] = p.h2;
    r[10] = p.c3; h[10] = p.h3; r[11] = p.c4; h[11] = p.h4; r[12] = p.c5; h[12] = p.h5;
    r[13] = p.c6; h[13] = p.h6; r[14] = p.c7; h[14] = p.h7; r[15] = p.c8; h[15] = p.h8;
    r[16] = p.c9; h[16] = p.h9; r[17] = p.c10; h[17] = p.h10; r[18] = p.c11; h[18] = p.h11;
    u32 word = 0u;
    u32 high = 0u;
    for (u32 e = 0u; e < (1u << shift); e += 1u) {
      u32 i = first + e;
      if (i < p.n) {
        u32 at0 = ((((FLAT >> 0) & 1u) == 1u) ? (i) : (0u)); u32 at1 = ((((FLAT >> 1) & 1u) == 1u) ? (i) : (0u)); u32 at2 = ((((FLAT >> 2) & 1u) == 1u) ? (i) : (0u)); u32 at3 = ((((FLAT >> 3) & 1u) == 1u) ? (i) : (0u)); u32 at4 = ((((FLAT >> 4) & 1u) == 1u) ? (i) : (0u)); u32 at5 = ((((FLAT >> 5) & 1u) == 1u) ? (i) : (0u)); u32 at6 = ((((FLAT >> 6) & 1u) == 1u) ? (i) : (0u));
        if (RANK > 1u) { at0 = 0u; at1 = 0u; at2 = 0u; at3 = 0u; at4 = 0u; at5 = 0u; u32 rest = i; for (u32 axis = 0u; axis < RANK; axis += 1u) { u32 row = axis * 12u; u32 size = x6[row]; u32 up = 0u; if (axis + 1u < RANK) { up = ((size == 1u) ? (rest) : (__umulhi(rest, x6[row + 1u]) >> x6[row + 2u])); } u32 place = rest - up * size; rest = up; at0 += place * x6[row + 4u + 0u]; at1 += place * x6[row + 4u + 1u]; at2 += place * x6[row + 4u + 2u]; at3 += place * x6[row + 4u + 3u]; at4 += place * x6[row + 4u + 4u]; at5 += place * x6[row + 4u + 5u]; } }
        r[0] = 0u; h[0] = 0u; if ((((USED >> 0) & 1u) == 1u)) { if ((((TX >> (4u * 0)) & 15u) == 9u || ((TX >> (4u * 0)) & 15u) == 11u)) { r[0] = x0[2u * at0]; h[0] = x0[2u * at0 + 1u]; } else { r[0] = k_element(x0[(at0) >> ((2103828u >> (((((TX >> (4u * 0)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 0)) & 15u), at0); } } r[1] = 0u; h[1] = 0u; if ((((USED >> 1) & 1u) == 1u)) { if ((((TX >> (4u * 1)) & 15u) == 9u || ((TX >> (4u * 1)) & 15u) == 11u)) { r[1] = x1[2u * at1]; h[1] = x1[2u * at1 + 1u]; } else { r[1] = k_element(x1[(at1) >> ((2103828u >> (((((TX >> (4u * 1)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 1)) & 15u), at1); } } r[2] = 0u; h[2] = 0u; if ((((USED >> 2) & 1u) == 1u)) { if ((((TX >> (4u * 2)) & 15u) == 9u || ((TX >> (4u * 2)) & 15u) == 11u)) { r[2] = x2[2u * at2]; h[2] = x2[2u * at2 + 1u]; } else { r[2] = k_element(x2[(at2) >> ((2103828u >> (((((TX >> (4u * 2)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 2)) & 15u), at2); } } r[3] = 0u; h[3] = 0u; if ((((USED >> 3) & 1u) == 1u)) { if ((((TX >> (4u * 3)) & 15u) == 9u || ((TX >> (4u * 3)) & 15u) == 11u)) { r[3] = x3[2u * at3]; h[3] = x3[2u * at3 + 1u]; } else { r[3] = k_element(x3[(at3) >> ((2103828u >> (((((TX >> (4u * 3)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 3)) & 15u), at3); } } r[4] = 0u; h[4] = 0u; if ((((USED >> 4) & 1u) == 1u)) { if ((((TX >> (4u * 4)) & 15u) == 9u || ((TX >> (4u * 4)) & 15u) == 11u)) { r[4] = x4[2u * at4]; h[4] = x4[2u * at4 + 1u]; } else { r[4] = k_element(x4[(at4) >> ((2103828u >> (((((TX >> (4u * 4)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 4)) & 15u), at4); } } r[5] = 0u; h[5] = 0u; if ((((USED >> 5) & 1u) == 1u)) { if ((((TX >> (4u * 5)) & 15u) == 9u || ((TX >> (4u * 5)) & 15u) == 11u)) { r[5] = x5[2u * at5]; h[5] = x5[2u * at5 + 1u]; } else { r[5] = k_element(x5[(at5) >> ((2103828u >> (((((TX >> (4u * 5)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 5)) & 15u), at5); } } r[6] = 0u; h[6] = 0u; if ((((USED >> 6) & 1u) == 1u)) { if ((((TX >> (4u * 6)) & 15u) == 9u || ((TX >> (4u * 6)) & 15u) == 11u)) { r[6] = x6[2u * at6]; h[6] = x6[2u * at6 + 1u]; } else { r[6] = k_element(x6[(at6) >> ((2103828u >> (((((TX >> (4u * 6)) & 15u)) & 15u) * 2u)) & 3u)], ((TX >> (4u * 6)) & 15u), at6); } }
        if (STEPS > 0u) { u32x2 l = make_uint2(0u, 0u); switch ((S0 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S0 & 511u, make_uint2(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), make_uint2(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u]), make_uint2(r[(S0 >> 21u) & 63u], h[(S0 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S0 & 511u, make_uint2(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), make_uint2(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u]), make_uint2(r[(S0 >> 21u) & 63u], h[(S0 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S0 & 511u, make_uint2(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), make_uint2(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S0 & 511u, make_uint2(r[(S0 >> 9u) & 63u], h[(S0 >> 9u) & 63u]), make_uint2(r[(S0 >> 15u) & 63u], h[(S0 >> 15u) & 63u]), make_uint2(r[(S0 >> 21u) & 63u], h[(S0 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S0 >> 9u) & 63u]; u32 b = r[(S0 >> 15u) & 63u]; u32 c = r[(S0 >> 21u) & 63u]; switch ((S0 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S0 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S0 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S0 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S0 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S0 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S0 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S0 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S0 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S0 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S0 & 511u, a, b); break; } case 12u: { v = k_pw_any(S0 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S0 & 511u, a, b, c); break; } default: { break; } } if ((S0 >> 27u) != 0u) { v = k_fit(v, S0 >> 27u); } r[19u + 0u] = v; h[19u + 0u] = l.y; } if (STEPS > 1u) { u32x2 l = make_uint2(0u, 0u); switch ((S1 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S1 & 511u, make_uint2(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), make_uint2(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u]), make_uint2(r[(S1 >> 21u) & 63u], h[(S1 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S1 & 511u, make_uint2(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), make_uint2(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u]), make_uint2(r[(S1 >> 21u) & 63u], h[(S1 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S1 & 511u, make_uint2(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), make_uint2(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S1 & 511u, make_uint2(r[(S1 >> 9u) & 63u], h[(S1 >> 9u) & 63u]), make_uint2(r[(S1 >> 15u) & 63u], h[(S1 >> 15u) & 63u]), make_uint2(r[(S1 >> 21u) & 63u], h[(S1 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S1 >> 9u) & 63u]; u32 b = r[(S1 >> 15u) & 63u]; u32 c = r[(S1 >> 21u) & 63u]; switch ((S1 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S1 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S1 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S1 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S1 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S1 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S1 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S1 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S1 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S1 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S1 & 511u, a, b); break; } case 12u: { v = k_pw_any(S1 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S1 & 511u, a, b, c); break; } default: { break; } } if ((S1 >> 27u) != 0u) { v = k_fit(v, S1 >> 27u); } r[19u + 1u] = v; h[19u + 1u] = l.y; } if (STEPS > 2u) { u32x2 l = make_uint2(0u, 0u); switch ((S2 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S2 & 511u, make_uint2(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), make_uint2(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u]), make_uint2(r[(S2 >> 21u) & 63u], h[(S2 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S2 & 511u, make_uint2(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), make_uint2(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u]), make_uint2(r[(S2 >> 21u) & 63u], h[(S2 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S2 & 511u, make_uint2(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), make_uint2(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S2 & 511u, make_uint2(r[(S2 >> 9u) & 63u], h[(S2 >> 9u) & 63u]), make_uint2(r[(S2 >> 15u) & 63u], h[(S2 >> 15u) & 63u]), make_uint2(r[(S2 >> 21u) & 63u], h[(S2 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S2 >> 9u) & 63u]; u32 b = r[(S2 >> 15u) & 63u]; u32 c = r[(S2 >> 21u) & 63u]; switch ((S2 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S2 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S2 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S2 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S2 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S2 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S2 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S2 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S2 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S2 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S2 & 511u, a, b); break; } case 12u: { v = k_pw_any(S2 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S2 & 511u, a, b, c); break; } default: { break; } } if ((S2 >> 27u) != 0u) { v = k_fit(v, S2 >> 27u); } r[19u + 2u] = v; h[19u + 2u] = l.y; } if (STEPS > 3u) { u32x2 l = make_uint2(0u, 0u); switch ((S3 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S3 & 511u, make_uint2(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), make_uint2(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u]), make_uint2(r[(S3 >> 21u) & 63u], h[(S3 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S3 & 511u, make_uint2(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), make_uint2(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u]), make_uint2(r[(S3 >> 21u) & 63u], h[(S3 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S3 & 511u, make_uint2(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), make_uint2(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S3 & 511u, make_uint2(r[(S3 >> 9u) & 63u], h[(S3 >> 9u) & 63u]), make_uint2(r[(S3 >> 15u) & 63u], h[(S3 >> 15u) & 63u]), make_uint2(r[(S3 >> 21u) & 63u], h[(S3 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S3 >> 9u) & 63u]; u32 b = r[(S3 >> 15u) & 63u]; u32 c = r[(S3 >> 21u) & 63u]; switch ((S3 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S3 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S3 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S3 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S3 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S3 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S3 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S3 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S3 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S3 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S3 & 511u, a, b); break; } case 12u: { v = k_pw_any(S3 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S3 & 511u, a, b, c); break; } default: { break; } } if ((S3 >> 27u) != 0u) { v = k_fit(v, S3 >> 27u); } r[19u + 3u] = v; h[19u + 3u] = l.y; } if (STEPS > 4u) { u32x2 l = make_uint2(0u, 0u); switch ((S4 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S4 & 511u, make_uint2(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), make_uint2(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u]), make_uint2(r[(S4 >> 21u) & 63u], h[(S4 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S4 & 511u, make_uint2(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), make_uint2(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u]), make_uint2(r[(S4 >> 21u) & 63u], h[(S4 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S4 & 511u, make_uint2(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), make_uint2(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S4 & 511u, make_uint2(r[(S4 >> 9u) & 63u], h[(S4 >> 9u) & 63u]), make_uint2(r[(S4 >> 15u) & 63u], h[(S4 >> 15u) & 63u]), make_uint2(r[(S4 >> 21u) & 63u], h[(S4 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S4 >> 9u) & 63u]; u32 b = r[(S4 >> 15u) & 63u]; u32 c = r[(S4 >> 21u) & 63u]; switch ((S4 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S4 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S4 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S4 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S4 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S4 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S4 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S4 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S4 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S4 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S4 & 511u, a, b); break; } case 12u: { v = k_pw_any(S4 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S4 & 511u, a, b, c); break; } default: { break; } } if ((S4 >> 27u) != 0u) { v = k_fit(v, S4 >> 27u); } r[19u + 4u] = v; h[19u + 4u] = l.y; } if (STEPS > 5u) { u32x2 l = make_uint2(0u, 0u); switch ((S5 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S5 & 511u, make_uint2(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), make_uint2(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u]), make_uint2(r[(S5 >> 21u) & 63u], h[(S5 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S5 & 511u, make_uint2(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), make_uint2(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u]), make_uint2(r[(S5 >> 21u) & 63u], h[(S5 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S5 & 511u, make_uint2(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), make_uint2(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S5 & 511u, make_uint2(r[(S5 >> 9u) & 63u], h[(S5 >> 9u) & 63u]), make_uint2(r[(S5 >> 15u) & 63u], h[(S5 >> 15u) & 63u]), make_uint2(r[(S5 >> 21u) & 63u], h[(S5 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S5 >> 9u) & 63u]; u32 b = r[(S5 >> 15u) & 63u]; u32 c = r[(S5 >> 21u) & 63u]; switch ((S5 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S5 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S5 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S5 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S5 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S5 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S5 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S5 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S5 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S5 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S5 & 511u, a, b); break; } case 12u: { v = k_pw_any(S5 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S5 & 511u, a, b, c); break; } default: { break; } } if ((S5 >> 27u) != 0u) { v = k_fit(v, S5 >> 27u); } r[19u + 5u] = v; h[19u + 5u] = l.y; } if (STEPS > 6u) { u32x2 l = make_uint2(0u, 0u); switch ((S6 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S6 & 511u, make_uint2(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), make_uint2(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u]), make_uint2(r[(S6 >> 21u) & 63u], h[(S6 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S6 & 511u, make_uint2(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), make_uint2(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u]), make_uint2(r[(S6 >> 21u) & 63u], h[(S6 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S6 & 511u, make_uint2(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), make_uint2(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S6 & 511u, make_uint2(r[(S6 >> 9u) & 63u], h[(S6 >> 9u) & 63u]), make_uint2(r[(S6 >> 15u) & 63u], h[(S6 >> 15u) & 63u]), make_uint2(r[(S6 >> 21u) & 63u], h[(S6 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S6 >> 9u) & 63u]; u32 b = r[(S6 >> 15u) & 63u]; u32 c = r[(S6 >> 21u) & 63u]; switch ((S6 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S6 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S6 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S6 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S6 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S6 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S6 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S6 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S6 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S6 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S6 & 511u, a, b); break; } case 12u: { v = k_pw_any(S6 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S6 & 511u, a, b, c); break; } default: { break; } } if ((S6 >> 27u) != 0u) { v = k_fit(v, S6 >> 27u); } r[19u + 6u] = v; h[19u + 6u] = l.y; } if (STEPS > 7u) { u32x2 l = make_uint2(0u, 0u); switch ((S7 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S7 & 511u, make_uint2(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), make_uint2(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u]), make_uint2(r[(S7 >> 21u) & 63u], h[(S7 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S7 & 511u, make_uint2(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), make_uint2(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u]), make_uint2(r[(S7 >> 21u) & 63u], h[(S7 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S7 & 511u, make_uint2(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), make_uint2(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S7 & 511u, make_uint2(r[(S7 >> 9u) & 63u], h[(S7 >> 9u) & 63u]), make_uint2(r[(S7 >> 15u) & 63u], h[(S7 >> 15u) & 63u]), make_uint2(r[(S7 >> 21u) & 63u], h[(S7 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S7 >> 9u) & 63u]; u32 b = r[(S7 >> 15u) & 63u]; u32 c = r[(S7 >> 21u) & 63u]; switch ((S7 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S7 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S7 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S7 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S7 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S7 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S7 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S7 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S7 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S7 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S7 & 511u, a, b); break; } case 12u: { v = k_pw_any(S7 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S7 & 511u, a, b, c); break; } default: { break; } } if ((S7 >> 27u) != 0u) { v = k_fit(v, S7 >> 27u); } r[19u + 7u] = v; h[19u + 7u] = l.y; } if (STEPS > 8u) { u32x2 l = make_uint2(0u, 0u); switch ((S8 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S8 & 511u, make_uint2(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), make_uint2(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u]), make_uint2(r[(S8 >> 21u) & 63u], h[(S8 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S8 & 511u, make_uint2(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), make_uint2(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u]), make_uint2(r[(S8 >> 21u) & 63u], h[(S8 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S8 & 511u, make_uint2(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), make_uint2(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S8 & 511u, make_uint2(r[(S8 >> 9u) & 63u], h[(S8 >> 9u) & 63u]), make_uint2(r[(S8 >> 15u) & 63u], h[(S8 >> 15u) & 63u]), make_uint2(r[(S8 >> 21u) & 63u], h[(S8 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S8 >> 9u) & 63u]; u32 b = r[(S8 >> 15u) & 63u]; u32 c = r[(S8 >> 21u) & 63u]; switch ((S8 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S8 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S8 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S8 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S8 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S8 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S8 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S8 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S8 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S8 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S8 & 511u, a, b); break; } case 12u: { v = k_pw_any(S8 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S8 & 511u, a, b, c); break; } default: { break; } } if ((S8 >> 27u) != 0u) { v = k_fit(v, S8 >> 27u); } r[19u + 8u] = v; h[19u + 8u] = l.y; } if (STEPS > 9u) { u32x2 l = make_uint2(0u, 0u); switch ((S9 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S9 & 511u, make_uint2(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), make_uint2(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u]), make_uint2(r[(S9 >> 21u) & 63u], h[(S9 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S9 & 511u, make_uint2(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), make_uint2(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u]), make_uint2(r[(S9 >> 21u) & 63u], h[(S9 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S9 & 511u, make_uint2(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), make_uint2(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S9 & 511u, make_uint2(r[(S9 >> 9u) & 63u], h[(S9 >> 9u) & 63u]), make_uint2(r[(S9 >> 15u) & 63u], h[(S9 >> 15u) & 63u]), make_uint2(r[(S9 >> 21u) & 63u], h[(S9 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S9 >> 9u) & 63u]; u32 b = r[(S9 >> 15u) & 63u]; u32 c = r[(S9 >> 21u) & 63u]; switch ((S9 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S9 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S9 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S9 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S9 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S9 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S9 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S9 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S9 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S9 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S9 & 511u, a, b); break; } case 12u: { v = k_pw_any(S9 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S9 & 511u, a, b, c); break; } default: { break; } } if ((S9 >> 27u) != 0u) { v = k_fit(v, S9 >> 27u); } r[19u + 9u] = v; h[19u + 9u] = l.y; } if (STEPS > 10u) { u32x2 l = make_uint2(0u, 0u); switch ((S10 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S10 & 511u, make_uint2(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), make_uint2(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u]), make_uint2(r[(S10 >> 21u) & 63u], h[(S10 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S10 & 511u, make_uint2(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), make_uint2(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u]), make_uint2(r[(S10 >> 21u) & 63u], h[(S10 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S10 & 511u, make_uint2(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), make_uint2(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S10 & 511u, make_uint2(r[(S10 >> 9u) & 63u], h[(S10 >> 9u) & 63u]), make_uint2(r[(S10 >> 15u) & 63u], h[(S10 >> 15u) & 63u]), make_uint2(r[(S10 >> 21u) & 63u], h[(S10 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S10 >> 9u) & 63u]; u32 b = r[(S10 >> 15u) & 63u]; u32 c = r[(S10 >> 21u) & 63u]; switch ((S10 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S10 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S10 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S10 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S10 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S10 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S10 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S10 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S10 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S10 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S10 & 511u, a, b); break; } case 12u: { v = k_pw_any(S10 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S10 & 511u, a, b, c); break; } default: { break; } } if ((S10 >> 27u) != 0u) { v = k_fit(v, S10 >> 27u); } r[19u + 10u] = v; h[19u + 10u] = l.y; } if (STEPS > 11u) { u32x2 l = make_uint2(0u, 0u); switch ((S11 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S11 & 511u, make_uint2(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), make_uint2(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u]), make_uint2(r[(S11 >> 21u) & 63u], h[(S11 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S11 & 511u, make_uint2(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), make_uint2(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u]), make_uint2(r[(S11 >> 21u) & 63u], h[(S11 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S11 & 511u, make_uint2(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), make_uint2(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S11 & 511u, make_uint2(r[(S11 >> 9u) & 63u], h[(S11 >> 9u) & 63u]), make_uint2(r[(S11 >> 15u) & 63u], h[(S11 >> 15u) & 63u]), make_uint2(r[(S11 >> 21u) & 63u], h[(S11 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S11 >> 9u) & 63u]; u32 b = r[(S11 >> 15u) & 63u]; u32 c = r[(S11 >> 21u) & 63u]; switch ((S11 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S11 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S11 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S11 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S11 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S11 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S11 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S11 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S11 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S11 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S11 & 511u, a, b); break; } case 12u: { v = k_pw_any(S11 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S11 & 511u, a, b, c); break; } default: { break; } } if ((S11 >> 27u) != 0u) { v = k_fit(v, S11 >> 27u); } r[19u + 11u] = v; h[19u + 11u] = l.y; } if (STEPS > 12u) { u32x2 l = make_uint2(0u, 0u); switch ((S12 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S12 & 511u, make_uint2(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), make_uint2(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u]), make_uint2(r[(S12 >> 21u) & 63u], h[(S12 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S12 & 511u, make_uint2(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), make_uint2(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u]), make_uint2(r[(S12 >> 21u) & 63u], h[(S12 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S12 & 511u, make_uint2(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), make_uint2(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S12 & 511u, make_uint2(r[(S12 >> 9u) & 63u], h[(S12 >> 9u) & 63u]), make_uint2(r[(S12 >> 15u) & 63u], h[(S12 >> 15u) & 63u]), make_uint2(r[(S12 >> 21u) & 63u], h[(S12 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S12 >> 9u) & 63u]; u32 b = r[(S12 >> 15u) & 63u]; u32 c = r[(S12 >> 21u) & 63u]; switch ((S12 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S12 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S12 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S12 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S12 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S12 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S12 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S12 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S12 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S12 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S12 & 511u, a, b); break; } case 12u: { v = k_pw_any(S12 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S12 & 511u, a, b, c); break; } default: { break; } } if ((S12 >> 27u) != 0u) { v = k_fit(v, S12 >> 27u); } r[19u + 12u] = v; h[19u + 12u] = l.y; } if (STEPS > 13u) { u32x2 l = make_uint2(0u, 0u); switch ((S13 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S13 & 511u, make_uint2(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), make_uint2(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u]), make_uint2(r[(S13 >> 21u) & 63u], h[(S13 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S13 & 511u, make_uint2(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), make_uint2(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u]), make_uint2(r[(S13 >> 21u) & 63u], h[(S13 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S13 & 511u, make_uint2(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), make_uint2(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S13 & 511u, make_uint2(r[(S13 >> 9u) & 63u], h[(S13 >> 9u) & 63u]), make_uint2(r[(S13 >> 15u) & 63u], h[(S13 >> 15u) & 63u]), make_uint2(r[(S13 >> 21u) & 63u], h[(S13 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S13 >> 9u) & 63u]; u32 b = r[(S13 >> 15u) & 63u]; u32 c = r[(S13 >> 21u) & 63u]; switch ((S13 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S13 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S13 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S13 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S13 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S13 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S13 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S13 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S13 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S13 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S13 & 511u, a, b); break; } case 12u: { v = k_pw_any(S13 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S13 & 511u, a, b, c); break; } default: { break; } } if ((S13 >> 27u) != 0u) { v = k_fit(v, S13 >> 27u); } r[19u + 13u] = v; h[19u + 13u] = l.y; } if (STEPS > 14u) { u32x2 l = make_uint2(0u, 0u); switch ((S14 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S14 & 511u, make_uint2(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), make_uint2(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u]), make_uint2(r[(S14 >> 21u) & 63u], h[(S14 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S14 & 511u, make_uint2(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), make_uint2(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u]), make_uint2(r[(S14 >> 21u) & 63u], h[(S14 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S14 & 511u, make_uint2(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), make_uint2(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S14 & 511u, make_uint2(r[(S14 >> 9u) & 63u], h[(S14 >> 9u) & 63u]), make_uint2(r[(S14 >> 15u) & 63u], h[(S14 >> 15u) & 63u]), make_uint2(r[(S14 >> 21u) & 63u], h[(S14 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S14 >> 9u) & 63u]; u32 b = r[(S14 >> 15u) & 63u]; u32 c = r[(S14 >> 21u) & 63u]; switch ((S14 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S14 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S14 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S14 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S14 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S14 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S14 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S14 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S14 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S14 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S14 & 511u, a, b); break; } case 12u: { v = k_pw_any(S14 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S14 & 511u, a, b, c); break; } default: { break; } } if ((S14 >> 27u) != 0u) { v = k_fit(v, S14 >> 27u); } r[19u + 14u] = v; h[19u + 14u] = l.y; } if (STEPS > 15u) { u32x2 l = make_uint2(0u, 0u); switch ((S15 >> 4u) & 31u) { case 14u: { l = k_pl_integer(S15 & 511u, make_uint2(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), make_uint2(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u]), make_uint2(r[(S15 >> 21u) & 63u], h[(S15 >> 21u) & 63u])); break; } case 15u: { l = k_pl_order(S15 & 511u, make_uint2(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), make_uint2(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u]), make_uint2(r[(S15 >> 21u) & 63u], h[(S15 >> 21u) & 63u])); break; } case 16u: { l = k_pl_quotient(S15 & 511u, make_uint2(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), make_uint2(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u])); break; } case 17u: { l = k_pl_convert(S15 & 511u, make_uint2(r[(S15 >> 9u) & 63u], h[(S15 >> 9u) & 63u]), make_uint2(r[(S15 >> 15u) & 63u], h[(S15 >> 15u) & 63u]), make_uint2(r[(S15 >> 21u) & 63u], h[(S15 >> 21u) & 63u])); break; } default: { break; } } u32 v = l.x; u32 a = r[(S15 >> 9u) & 63u]; u32 b = r[(S15 >> 15u) & 63u]; u32 c = r[(S15 >> 21u) & 63u]; switch ((S15 >> 4u) & 31u) { case 1u: { v = k_pw_exp(S15 & 511u, __uint_as_float(a)); break; } case 2u: { v = k_pw_erf(S15 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 3u: { v = k_pw_angle(S15 & 511u, __uint_as_float(a)); break; } case 4u: { v = k_pw_root(S15 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 5u: { v = __float_as_uint(k_pow(__uint_as_float(a), __uint_as_float(b))); break; } case 6u: { v = k_pw_mod(S15 & 511u, __uint_as_float(a), __uint_as_float(b)); break; } case 7u: { v = k_pw_cheap(S15 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 8u: { v = k_pw_float(S15 & 511u, __uint_as_float(a), __uint_as_float(b), __uint_as_float(c)); break; } case 9u: { v = k_pw_integer(S15 & 511u, a, b, c); break; } case 10u: { v = k_pw_order(S15 & 511u, a, b, c); break; } case 11u: { v = k_pw_quotient(S15 & 511u, a, b); break; } case 12u: { v = k_pw_any(S15 & 511u, a, b, c); break; } case 13u: { v = k_pw_code(S15 & 511u, a, b, c); break; } default: { break; } } if ((S15 >> 27u) != 0u) { v = k_fit(v, S15 >> 27u); } r[19u + 15u] = v; h[19u + 15u] = l.y; }
        word = k_put(word, TY, e, k_narrow(r[18u + STEPS], TY));
        high = h[18u + STEPS];
      }
    }
    if ((TY == 9u || TY == 11u)) {
      y[2u * w] = word;
      y[2u * w + 1u] = high;
    } else {
      y[w] = word;
    }
  }
}
