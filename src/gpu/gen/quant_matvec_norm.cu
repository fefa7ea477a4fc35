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
static __device__ __forceinline__ u32 k_unit_shift(u32 T) {
  if (T == 16u) { return 1u; }
  if (T == 17u || T == 18u || T == 27u) { return 2u; }
  if (T == 22u) { return 4u; }
  return ((k_block_shift(T) == 5u) ? (0u) : (3u));
}
static __device__ __forceinline__ u32 k_run_shift(u32 T) {
  if (T == 16u || T == 22u) { return 0u; }
  return ((T == 17u || T == 18u || T == 27u) ? (2u) : (1u));
}
static __device__ __forceinline__ u32 k_run_quad(u32 T, u32 u, u32 s) {
  if (T == 16u || T == 22u) { return u << 2u; }
  if (T == 19u || T == 20u) { return ((u >> 1u) << 4u) + (s << 3u) + ((u & 1u) << 2u); }
  if (T == 21u) { return ((u >> 2u) << 5u) + (s << 4u) + ((u & 3u) << 2u); }
  if (T == 17u || T == 18u || T == 27u) { return ((u >> 1u) << 5u) + (s << 3u) + ((u & 1u) << 2u); }
  return (u << 3u) + (s << 2u);
}
static __device__ __forceinline__ u32 k_unit_of(u32 T, u32 j) {
  if (T == 16u || T == 22u) { return j; }
  if (T == 19u || T == 20u) { return ((j >> 2u) << 1u) + (j & 1u); }
  if (T == 21u) { return ((j >> 3u) << 2u) + (j & 3u); }
  if (T == 17u || T == 18u || T == 27u) { return ((j >> 3u) << 1u) + (j & 1u); }
  return j >> 1u;
}
static __device__ __forceinline__ u32 k_run_of(u32 T, u32 j) {
  if (T == 16u || T == 22u) { return 0u; }
  if (T == 19u || T == 20u) { return (j >> 1u) & 1u; }
  if (T == 21u) { return (j >> 2u) & 1u; }
  if (T == 17u || T == 18u || T == 27u) { return (j >> 1u) & 3u; }
  return j & 1u;
}
static __device__ __forceinline__ u32 k_unit_codes(u32 T, u32 q, u32 hi, u32 u, u32 s) {
  if (T == 16u || T == 22u) { return q ^ 0x80808080u; }
  if (T == 17u || T == 27u) { return q >> (s << 1u); }
  if (T == 18u) {
    return ((q >> (s << 1u)) & 0x03030303u) | (((hi >> (((u >> 1u) << 2u) + s)) & 0x01010101u) << 2u);
  }
  u32 n = q >> (s << 2u);
  if (T == 12u || T == 13u || T == 19u) { return n; }
  n = n & 0x0f0f0f0fu;
  if (T == 14u || T == 15u) { return n | k_fifths(hi); }
  if (T == 20u) { return n | (((hi >> (((u >> 1u) << 1u) + s)) & 0x01010101u) << 4u); }
  if (T == 21u) { return n | (((hi >> ((u & 2u) + (s << 2u))) & 0x03030303u) << 4u); }
  if (T == 25u) { return k_mxfp4_levels(n); }
  return k_iq4_levels(n);
}
static __device__ __forceinline__ u32 k_code_mask(u32 T) {
  if (T == 17u || T == 27u) { return 3u; }
  return ((T == 12u || T == 13u || T == 19u) ? (15u) : (255u));
}
static __device__ __forceinline__ u32 k_scales_mins(u32 s0, u32 s1, u32 s2, u32 u) {
  u32 by = (u & 2u) << 3u;
  u32 a = s0 >> by;
  u32 b = s1 >> by;
  u32 c = s2 >> by;
  u32 lo = ((u < 4u) ? (a & 0x3f3fu) : ((c & 0x0f0fu) | ((a >> 2u) & 0x3030u)));
  return lo | (((u < 4u) ? (b & 0x3f3fu) : (((c >> 4u) & 0x0f0fu) | ((b >> 2u) & 0x3030u))) << 16u);
}
static __device__ __forceinline__ u32x2 k_unit_scale(u32 T, u32x4 hd, u32 hx, u32 u, u32 s) {
  f32 scale = k_half((hx) & 0xffffu);
  f32 add = 0.0f;
  if (T == 13u || T == 15u) { add = k_half((hx) >> 16u); }
  if (T == 25u) { scale = k_mxfp4_scale(hx & 0xffu); }
  if (T == 22u) { scale = __uint_as_float(hx); }
  if (T == 17u) {
    u32 lo = (((u & 2u) == 0u) ? (hd.x) : (hd.z));
    u32 high = (((u & 2u) == 0u) ? (hd.y) : (hd.w));
    u32 sc = (((s & 2u) == 0u) ? (lo) : (high)) >> (((s & 1u) << 4u) + ((u & 1u) << 3u));
    add = -(k_half((hx) >> 16u) * f32((sc >> 4u) & 15u));
    scale = scale * f32(sc & 15u);
  }
  if (T == 18u) { scale = scale * k_q3_scale(hd.x, hd.y, hd.z, ((u >> 1u) << 3u) + (s << 1u) + (u & 1u)); }
  if (T == 19u || T == 20u) {
    u32 sm = k_scales_mins(hd.y, hd.z, hd.w, u) >> (s << 3u);
    scale = k_half((hd.x) & 0xffffu) * f32(sm & 0xffu);
    add = -(k_half((hd.x) >> 16u) * f32((sm >> 16u) & 0xffu));
  }
  if (T == 21u) {
    u32 lo = (((u & 4u) == 0u) ? (hd.x) : (hd.z));
    u32 high = (((u & 4u) == 0u) ? (hd.y) : (hd.w));
    scale = scale * k_signed((((s == 0u) ? (lo) : (high)) >> ((u & 3u) << 3u)) & 0xffu);
  }
  if (T == 24u) { scale = k_half((hd.x) & 0xffffu) * k_iq4_scale(hd.x >> 16u, hd.y, u); }
  return make_uint2(__float_as_uint(scale), __float_as_uint(add));
}
static __device__ __forceinline__ f32x4 k_unit_floats(u32 T, u32 codes, u32 two_23) {
  f32 zero = 8388608.0f + f32(k_block_zero(T));
  f32 zero_256 = 8388608.0f + 256.0f * f32(k_block_zero(T));
  u32 mask = k_code_mask(T);
  u32 up = codes >> 16u;
  return make_float4(__uint_as_float((codes & mask) | two_23) - zero, __uint_as_float((codes & (mask << 8u)) | two_23) - zero_256,
            __uint_as_float((up & mask) | two_23) - zero, __uint_as_float((up & (mask << 8u)) | two_23) - zero_256);
}
static __device__ __forceinline__ f32x4 k_scaled(f32x4 f, f32 scale, f32 add) {
  f32 scale_256 = scale * 0.00390625f;
  return make_float4(fma(f.x, scale, add), fma(f.y, scale_256, add), fma(f.z, scale, add), fma(f.w, scale_256, add));
}
static __device__ __forceinline__ u32 k_dot_codes(u32 T, u32 codes) {
  if (k_block_zero(T) == i32(128u)) { return codes ^ 0x80808080u; }
  return codes & (k_code_mask(T) * 0x01010101u);
}
static __device__ __forceinline__ f32 k_dot_zero(u32 T) { return f32(((k_block_zero(T) == i32(128u)) ? (i32(0u)) : (k_block_zero(T)))); }
static __device__ __forceinline__ u32 k_pack_codes(u32 a, u32 b, u32 c, u32 d) {
  return (a + b * 0x100u + c * 0x10000u + d * 0x1000000u - 0x0abf7f80u) ^ 0x80808080u;
}
static __device__ __forceinline__ f32 k_largest(f32x4 v) { return max(max(abs(v.x), abs(v.y)), max(abs(v.z), abs(v.w))); }
static __device__ __forceinline__ f32 k_sum(f32x4 v) { return (v.x + v.y) + (v.z + v.w); }
static __device__ __forceinline__ u32 k_round_codes(f32x4 v, f32 by) {
  return k_pack_codes(__float_as_uint(fma(v.x, by, 12582912.0f)), __float_as_uint(fma(v.y, by, 12582912.0f)), __float_as_uint(fma(v.z, by, 12582912.0f)),
                      __float_as_uint(fma(v.w, by, 12582912.0f)));
}
static __device__ __forceinline__ bool k_is_plain_run(f32 most, f32 sum) {
  return (__float_as_uint(sum) & 0x7f800000u) != 0x7f800000u && (most >= 1.0e-30f || most == 0.0f);
}
static constexpr u32 T = K_C1;
static constexpr u32 ROWS = K_C2;
static constexpr u32 COLS = K_C3;
static constexpr u32 LANES = K_C4;
static constexpr u32 RED = K_C5;
static constexpr u32 MODE = K_C6;
static constexpr u32 DUAL = K_C7;
static constexpr u32 EXTRA = K_C8;
static constexpr u32 ACT = K_C9;
static constexpr u32 TI = K_C10;
struct Params { u32 groups;
  u32 m;
  u32 n;
  u32 k;
  u32 tiles;
  u32 a1;
  u32 a2;
  u32 b1;
  u32 experts;
  u32 runs;
  u32 two_23;
  f32 eps;
};
static __shared__ f32 red[RED];
extern "C" __global__ void __launch_bounds__(K_C0) quant_matvec_norm(const u32x4 *w4, const u32 *wb, const u32x4 *x, const u32 *extra, const u32x4 *gamma, const u32x4 *v4, const u32 *vb, u32 *y, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 id = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u));
  u32 lane = id % LANES;
  u32 tile_m = (blockIdx.y * gridDim.x + blockIdx.x) / p.tiles;
  u32 first = ((blockIdx.y * gridDim.x + blockIdx.x) - tile_m * p.tiles) * (((u32)K_C0) / LANES) * ((DUAL == 1u) ? (ROWS / 2u) : (ROWS));
  u32 m0 = tile_m * COLS;
  u32 last = min(COLS, p.m - m0) - 1u;
  u32 expert_row = 0u;
  bool there = true;
  u32 per_block = k_unit_shift(T);
  u32 blocks = p.k >> k_block_shift(T);
  u32 units = blocks << per_block;
  u32 end = ((there) ? (units) : (0u));
  u32 set_row = first + (id / LANES) * ((DUAL == 1u) ? (ROWS / 2u) : (ROWS));
  f32 acc[33];
 
#pragma unroll
  for (u32 i = 0u; i < ((ROWS * COLS) + 1u); i += 1u) { acc[i] = 0.0f; }
  bool again = false;
  for (u32 at = lane; at < end; at += LANES) {
    u32x4 q[8];
    u32x4 hi[8];
    u32x4 hd[8];
    u32 hx[8];
    u32 block = at >> per_block;
    u32 unit = at & ((1u << per_block) - 1u);
   
#pragma unroll
    for (u32 r = 0u; r < ROWS; r += 1u) {
      u32 row = expert_row + min(set_row + (r & (((DUAL == 1u) ? (ROWS / 2u) : (ROWS)) - 1u)), p.n - 1u);
      if (DUAL == 1u && r >= ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) {
        q[r] = v4[row * units + at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx[r] = (vb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx[r] = vb[row * blocks + block]; } if (T == 25u) { hx[r] = vb[(row * blocks + block) >> 2u] >> (((row * blocks + block) & 3u) << 3u); } if (T == 14u) { hi[r].x = vb[row * blocks + block]; hx[r] = (vb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx[r] = vb[row * blocks + block]; hi[r].x = vb[p.b1 + (row * blocks + block)]; } if (T == 17u) { hd[r] = v4[p.a1 + (row * blocks + block)]; hx[r] = vb[row * blocks + block]; } if (T == 18u) { hi[r] = v4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = make_uint4(vb[3u * (row * blocks + block)], vb[3u * (row * blocks + block) + 1u], vb[3u * (row * blocks + block) + 2u], 0u); hx[r] = (vb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd[r] = v4[p.a1 + (row * blocks + block)]; } if (T == 20u) { hi[r] = v4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = v4[p.a2 + (row * blocks + block)]; } if (T == 21u) { hi[r] = v4[p.a1 + 4u * (row * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd[r] = v4[p.a2 + (row * blocks + block)]; hx[r] = (vb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd[r] = make_uint4(vb[2u * (row * blocks + block)], vb[2u * (row * blocks + block) + 1u], 0u, 0u); }
      } else {
        q[r] = w4[row * units + at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx[r] = (wb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx[r] = wb[row * blocks + block]; } if (T == 25u) { hx[r] = wb[(row * blocks + block) >> 2u] >> (((row * blocks + block) & 3u) << 3u); } if (T == 14u) { hi[r].x = wb[row * blocks + block]; hx[r] = (wb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx[r] = wb[row * blocks + block]; hi[r].x = wb[p.b1 + (row * blocks + block)]; } if (T == 17u) { hd[r] = w4[p.a1 + (row * blocks + block)]; hx[r] = wb[row * blocks + block]; } if (T == 18u) { hi[r] = w4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = make_uint4(wb[3u * (row * blocks + block)], wb[3u * (row * blocks + block) + 1u], wb[3u * (row * blocks + block) + 2u], 0u); hx[r] = (wb[(p.b1) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd[r] = w4[p.a1 + (row * blocks + block)]; } if (T == 20u) { hi[r] = w4[p.a1 + 2u * (row * blocks + block) + ((unit) & 1u)]; hd[r] = w4[p.a2 + (row * blocks + block)]; } if (T == 21u) { hi[r] = w4[p.a1 + 4u * (row * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd[r] = w4[p.a2 + (row * blocks + block)]; hx[r] = (wb[(0u) + ((row * blocks + block) >> 1u)] >> (((row * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd[r] = make_uint4(wb[2u * (row * blocks + block)], wb[2u * (row * blocks + block) + 1u], 0u, 0u); }
      }
    }
   
#pragma unroll
    for (u32 s = 0u; s < (1u << k_run_shift(T)); s += 1u) {
      u32 x_at = m0 * (p.k >> 2u) + (block << (k_block_shift(T) - 2u)) + k_run_quad(T, unit, s);
      if (MODE == 0u && COLS == 1u) {
        f32x4 x0 = AS_F4(x[x_at]);
        f32x4 x1 = AS_F4(x[x_at + 1u]);
        f32x4 x2 = AS_F4(x[x_at + 2u]);
        f32x4 x3 = AS_F4(x[x_at + 3u]);
        acc[(ROWS * COLS)] = fma(x0.x, x0.x, fma(x0.y, x0.y, fma(x0.z, x0.z, fma(x0.w, x0.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[x_at]); x0 = make_float4(x0.x * gv.x, x0.y * gv.y, x0.z * gv.z, x0.w * gv.w); } acc[(ROWS * COLS)] = fma(x1.x, x1.x, fma(x1.y, x1.y, fma(x1.z, x1.z, fma(x1.w, x1.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[(x_at) + 1u]); x1 = make_float4(x1.x * gv.x, x1.y * gv.y, x1.z * gv.z, x1.w * gv.w); } acc[(ROWS * COLS)] = fma(x2.x, x2.x, fma(x2.y, x2.y, fma(x2.z, x2.z, fma(x2.w, x2.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[(x_at) + 2u]); x2 = make_float4(x2.x * gv.x, x2.y * gv.y, x2.z * gv.z, x2.w * gv.w); } acc[(ROWS * COLS)] = fma(x3.x, x3.x, fma(x3.y, x3.y, fma(x3.z, x3.z, fma(x3.w, x3.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[(x_at) + 3u]); x3 = make_float4(x3.x * gv.x, x3.y * gv.y, x3.z * gv.z, x3.w * gv.w); }
        { f32 part[8]; f32 part_256[8];
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) { part[r] = 0.0f; part_256[r] = 0.0f; }
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) { f32x4 f = k_unit_floats(T, k_unit_codes(T, q[r].x, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((0u) << 2u))) : (hi[r].x)), unit, s), p.two_23); part[r] = fma(f.x, x0.x, fma(f.z, x0.z, part[r])); part_256[r] = fma(f.y, x0.y, fma(f.w, x0.w, part_256[r])); }
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) { f32x4 f = k_unit_floats(T, k_unit_codes(T, q[r].y, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((1u) << 2u))) : (hi[r].y)), unit, s), p.two_23); part[r] = fma(f.x, x1.x, fma(f.z, x1.z, part[r])); part_256[r] = fma(f.y, x1.y, fma(f.w, x1.w, part_256[r])); }
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) { f32x4 f = k_unit_floats(T, k_unit_codes(T, q[r].z, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((2u) << 2u))) : (hi[r].z)), unit, s), p.two_23); part[r] = fma(f.x, x2.x, fma(f.z, x2.z, part[r])); part_256[r] = fma(f.y, x2.y, fma(f.w, x2.w, part_256[r])); }
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) { f32x4 f = k_unit_floats(T, k_unit_codes(T, q[r].w, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((3u) << 2u))) : (hi[r].w)), unit, s), p.two_23); part[r] = fma(f.x, x3.x, fma(f.z, x3.z, part[r])); part_256[r] = fma(f.y, x3.y, fma(f.w, x3.w, part_256[r])); } f32 sum_x = (k_sum(x0) + k_sum(x1)) + (k_sum(x2) + k_sum(x3));
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) { u32x2 by = k_unit_scale(T, hd[r], hx[r], unit, s); acc[r] = fma(__uint_as_float(by.x), fma(part_256[r], 0.00390625f, part[r]), fma(__uint_as_float(by.y), sum_x, acc[r])); } }
      } else {
        f32 scale[8];
        f32 add[8];
       
#pragma unroll
        for (u32 r = 0u; r < ROWS; r += 1u) {
          u32x2 by = k_unit_scale(T, hd[r], hx[r], unit, s);
          scale[r] = __uint_as_float(by.x);
          add[r] = __uint_as_float(by.y);
        }
        if (MODE == 0u) {
          f32x4 wv[8];
          {
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].x, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((0u) << 2u))) : (hi[r].x)), unit, s), p.two_23), scale[r], add[r]); }
#pragma unroll
          for (u32 m = 0u; m < COLS; m += 1u) { f32x4 xv = AS_F4(x[x_at + min(m, last) * (p.k >> 2u) + 0u]);
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { f32 sum = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
          {
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].y, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((1u) << 2u))) : (hi[r].y)), unit, s), p.two_23), scale[r], add[r]); }
#pragma unroll
          for (u32 m = 0u; m < COLS; m += 1u) { f32x4 xv = AS_F4(x[x_at + min(m, last) * (p.k >> 2u) + 1u]);
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { f32 sum = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
          {
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].z, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((2u) << 2u))) : (hi[r].z)), unit, s), p.two_23), scale[r], add[r]); }
#pragma unroll
          for (u32 m = 0u; m < COLS; m += 1u) { f32x4 xv = AS_F4(x[x_at + min(m, last) * (p.k >> 2u) + 2u]);
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { f32 sum = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
          {
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { wv[r] = k_scaled(k_unit_floats(T, k_unit_codes(T, q[r].w, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((3u) << 2u))) : (hi[r].w)), unit, s), p.two_23), scale[r], add[r]); }
#pragma unroll
          for (u32 m = 0u; m < COLS; m += 1u) { f32x4 xv = AS_F4(x[x_at + min(m, last) * (p.k >> 2u) + 3u]);
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) { f32 sum = acc[r * COLS + m]; acc[r * COLS + m] = fma(wv[r].x, xv.x, fma(wv[r].y, xv.y, fma(wv[r].z, xv.z, fma(wv[r].w, xv.w, sum)))); } } }
        } else {
          u32x4 codes[8];
         
#pragma unroll
          for (u32 r = 0u; r < ROWS; r += 1u) {
            codes[r] = make_uint4(k_dot_codes(T, k_unit_codes(T, q[r].x, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((0u) << 2u))) : (hi[r].x)), unit, s)),
                          k_dot_codes(T, k_unit_codes(T, q[r].y, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((1u) << 2u))) : (hi[r].y)), unit, s)),
                          k_dot_codes(T, k_unit_codes(T, q[r].z, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((2u) << 2u))) : (hi[r].z)), unit, s)),
                          k_dot_codes(T, k_unit_codes(T, q[r].w, ((T == 14u || T == 15u) ? (hi[r].x >> (((s) << 4u) + ((3u) << 2u))) : (hi[r].w)), unit, s)));
            add[r] = fma(scale[r], -k_dot_zero(T), add[r]);
          }
         
#pragma unroll
          for (u32 m = 0u; m < COLS; m += 1u) {
            u32 at_m = x_at + min(m, last) * (p.k >> 2u);
            u32x4 xq = make_uint4(0u, 0u, 0u, 0u);
            f32 scale_x = 0.0f;
            f32 sum_x = 0.0f;
            if (MODE == 2u) {
              xq = x[p.runs + 2u * (at_m >> 2u)];
              u32x4 by = x[p.runs + 2u * (at_m >> 2u) + 1u];
              scale_x = __uint_as_float(by.x);
              sum_x = __uint_as_float(by.y);
            } else {
              f32x4 x0 = AS_F4(x[at_m]);
              f32x4 x1 = AS_F4(x[at_m + 1u]);
              f32x4 x2 = AS_F4(x[at_m + 2u]);
              f32x4 x3 = AS_F4(x[at_m + 3u]);
              acc[(ROWS * COLS)] = fma(x0.x, x0.x, fma(x0.y, x0.y, fma(x0.z, x0.z, fma(x0.w, x0.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[at_m]); x0 = make_float4(x0.x * gv.x, x0.y * gv.y, x0.z * gv.z, x0.w * gv.w); } acc[(ROWS * COLS)] = fma(x1.x, x1.x, fma(x1.y, x1.y, fma(x1.z, x1.z, fma(x1.w, x1.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[(at_m) + 1u]); x1 = make_float4(x1.x * gv.x, x1.y * gv.y, x1.z * gv.z, x1.w * gv.w); } acc[(ROWS * COLS)] = fma(x2.x, x2.x, fma(x2.y, x2.y, fma(x2.z, x2.z, fma(x2.w, x2.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[(at_m) + 2u]); x2 = make_float4(x2.x * gv.x, x2.y * gv.y, x2.z * gv.z, x2.w * gv.w); } acc[(ROWS * COLS)] = fma(x3.x, x3.x, fma(x3.y, x3.y, fma(x3.z, x3.z, fma(x3.w, x3.w, acc[(ROWS * COLS)])))); { f32x4 gv = AS_F4(gamma[(at_m) + 3u]); x3 = make_float4(x3.x * gv.x, x3.y * gv.y, x3.z * gv.z, x3.w * gv.w); }
              { f32 k_most = max(max(k_largest(x0), k_largest(x1)), max(k_largest(x2), k_largest(x3))); f32 k_all = (k_sum(x0) + k_sum(x1)) + (k_sum(x2) + k_sum(x3)); f32 k_by = ((k_most > 0.0f) ? (127.0f / k_most) : (0.0f)); scale_x = k_most * 0.0078740157f; xq = make_uint4(k_round_codes(x0, k_by), k_round_codes(x1, k_by), k_round_codes(x2, k_by), k_round_codes(x3, k_by)); i32 k_codes = __dp4a((i32)(xq.x), (i32)(0x01010101u), __dp4a((i32)(xq.y), (i32)(0x01010101u), 0)); k_codes = __dp4a((i32)(xq.z), (i32)(0x01010101u), __dp4a((i32)(xq.w), (i32)(0x01010101u), k_codes)); sum_x = __uint_as_float(((k_is_plain_run(k_most, k_all)) ? (__float_as_uint(scale_x * f32(k_codes))) : (0x7fc00000u))); }
            }
            again = again || !k_is_finite(sum_x);
           
#pragma unroll
            for (u32 r = 0u; r < ROWS; r += 1u) { i32 dot = __dp4a((i32)(codes[r].x), (i32)(xq.x), __dp4a((i32)(codes[r].y), (i32)(xq.y), __dp4a((i32)(codes[r].z), (i32)(xq.z), __dp4a((i32)(codes[r].w), (i32)(xq.w), 0)))); acc[r * COLS + m] = fma(scale[r] * scale_x, f32(dot), fma(add[r], sum_x, acc[r * COLS + m])); }
          }
        }
      }
    }
  }
  if (again) { acc[0] = __uint_as_float(0x7fc00000u); }
 
#pragma unroll
  for (u32 i = 1u; i < (ROWS * COLS); i += 1u) {
    if (again) { acc[i] = acc[0]; }
  }
 
#pragma unroll
  for (u32 level = 0u; level < 7u; level += 1u) {
    if ((1u << level) < LANES && (1u << level) < 32u) {
     
#pragma unroll
      for (u32 i = 0u; i < ((ROWS * COLS) + 1u); i += 1u) { acc[i] += SG_XOR(acc[i], 1u << level); }
    }
  }
 
#pragma unroll
  for (u32 i = 0u; i < ((ROWS * COLS) + 1u); i += 1u) {
    if (id % min(LANES, 32u) == 0u) { red[(id / min(LANES, 32u)) * ((ROWS * COLS) + 1u) + i] = acc[i]; }
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < (((u32)K_C0) / LANES) * ((DUAL == 1u) ? (ROWS / 2u) : (ROWS)) * COLS; i += ((u32)K_C0)) {
    u32 m = i / ((((u32)K_C0) / LANES) * ((DUAL == 1u) ? (ROWS / 2u) : (ROWS)));
    u32 c = i % ((((u32)K_C0) / LANES) * ((DUAL == 1u) ? (ROWS / 2u) : (ROWS)));
    u32 col = first + c;
    if (col < p.n && m <= last) {
      u32 at = (m0 + m) * p.n + col;
      f32 v = red[(c / ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * (LANES / min(LANES, 32u)) * ((ROWS * COLS) + 1u) + ((c % ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * COLS + m)]; for (u32 k_i = 1u; k_i < LANES / min(LANES, 32u); k_i += 1u) { v += red[((c / ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * (LANES / min(LANES, 32u)) + k_i) * ((ROWS * COLS) + 1u) + ((c % ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * COLS + m)]; }
      f32 squares = red[(c / ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * (LANES / min(LANES, 32u)) * ((ROWS * COLS) + 1u) + ((ROWS * COLS))]; for (u32 k_i = 1u; k_i < LANES / min(LANES, 32u); k_i += 1u) { squares += red[((c / ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * (LANES / min(LANES, 32u)) + k_i) * ((ROWS * COLS) + 1u) + ((ROWS * COLS))]; }
      if (((__float_as_uint(squares) & 0x7fffffffu) < 0x7b7a5ef3u) && k_is_finite(v)) {
        v *= rsqrtf((squares) / f32(p.k) + p.eps);
      } else {
        f32 k_by = ((((__float_as_uint(squares) & 0x7fffffffu) < 0x7b7a5ef3u)) ? (1.0f) : (2.6469779601696886e-23f)); f32 k_squares = squares; if (!((__float_as_uint(squares) & 0x7fffffffu) < 0x7b7a5ef3u)) { k_squares = 0.0f; for (u32 k_i = 0u; k_i < (p.k >> 2u); k_i += 1u) { f32x4 k_v = AS_F4(x[k_i]); k_v = make_float4(k_v.x * k_by, k_v.y * k_by, k_v.z * k_by, k_v.w * k_by); k_squares = fma(k_v.x, k_v.x, fma(k_v.y, k_v.y, fma(k_v.z, k_v.z, fma(k_v.w, k_v.w, k_squares)))); } } f32 k_scale = rsqrtf(k_squares / f32(p.k) + p.eps * k_by * k_by);
        v = 0.0f; for (u32 k_at = 0u; k_at < units; k_at += 1u) { u32x4 q = make_uint4(0u, 0u, 0u, 0u); u32x4 hi = q; u32x4 hd = q; u32 hx = 0u; u32 block = k_at >> per_block; u32 unit = k_at & ((1u << per_block) - 1u); q = w4[(col) * units + k_at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx = (wb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx = wb[(col) * blocks + block]; } if (T == 25u) { hx = wb[((col) * blocks + block) >> 2u] >> ((((col) * blocks + block) & 3u) << 3u); } if (T == 14u) { hi.x = wb[(col) * blocks + block]; hx = (wb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx = wb[(col) * blocks + block]; hi.x = wb[p.b1 + ((col) * blocks + block)]; } if (T == 17u) { hd = w4[p.a1 + ((col) * blocks + block)]; hx = wb[(col) * blocks + block]; } if (T == 18u) { hi = w4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = make_uint4(wb[3u * ((col) * blocks + block)], wb[3u * ((col) * blocks + block) + 1u], wb[3u * ((col) * blocks + block) + 2u], 0u); hx = (wb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd = w4[p.a1 + ((col) * blocks + block)]; } if (T == 20u) { hi = w4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = w4[p.a2 + ((col) * blocks + block)]; } if (T == 21u) { hi = w4[p.a1 + 4u * ((col) * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd = w4[p.a2 + ((col) * blocks + block)]; hx = (wb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd = make_uint4(wb[2u * ((col) * blocks + block)], wb[2u * ((col) * blocks + block) + 1u], 0u, 0u); } for (u32 s = 0u; s < (1u << k_run_shift(T)); s += 1u) { u32 x_at = (block << (k_block_shift(T) - 2u)) + k_run_quad(T, unit, s); u32x2 by = k_unit_scale(T, hd, hx, unit, s); { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.x, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((0u) << 2u))) : (hi.x)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 0u]); f32x4 xv = AS_F4(x[x_at + 0u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.y, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((1u) << 2u))) : (hi.y)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 1u]); f32x4 xv = AS_F4(x[x_at + 1u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.z, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((2u) << 2u))) : (hi.z)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 2u]); f32x4 xv = AS_F4(x[x_at + 2u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.w, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((3u) << 2u))) : (hi.w)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 3u]); f32x4 xv = AS_F4(x[x_at + 3u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); v = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, v)))); } } }
      }
      if (DUAL == 1u) {
        f32 up = red[(c / ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * (LANES / min(LANES, 32u)) * ((ROWS * COLS) + 1u) + ((c % ((DUAL == 1u) ? (ROWS / 2u) : (ROWS)) + ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * COLS + m)]; for (u32 k_i = 1u; k_i < LANES / min(LANES, 32u); k_i += 1u) { up += red[((c / ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * (LANES / min(LANES, 32u)) + k_i) * ((ROWS * COLS) + 1u) + ((c % ((DUAL == 1u) ? (ROWS / 2u) : (ROWS)) + ((DUAL == 1u) ? (ROWS / 2u) : (ROWS))) * COLS + m)]; }
        if (((__float_as_uint(squares) & 0x7fffffffu) < 0x7b7a5ef3u) && k_is_finite(up)) {
          up *= rsqrtf((squares) / f32(p.k) + p.eps);
        } else {
          f32 k_by = ((((__float_as_uint(squares) & 0x7fffffffu) < 0x7b7a5ef3u)) ? (1.0f) : (2.6469779601696886e-23f)); f32 k_squares = squares; if (!((__float_as_uint(squares) & 0x7fffffffu) < 0x7b7a5ef3u)) { k_squares = 0.0f; for (u32 k_i = 0u; k_i < (p.k >> 2u); k_i += 1u) { f32x4 k_v = AS_F4(x[k_i]); k_v = make_float4(k_v.x * k_by, k_v.y * k_by, k_v.z * k_by, k_v.w * k_by); k_squares = fma(k_v.x, k_v.x, fma(k_v.y, k_v.y, fma(k_v.z, k_v.z, fma(k_v.w, k_v.w, k_squares)))); } } f32 k_scale = rsqrtf(k_squares / f32(p.k) + p.eps * k_by * k_by);
          up = 0.0f; for (u32 k_at = 0u; k_at < units; k_at += 1u) { u32x4 q = make_uint4(0u, 0u, 0u, 0u); u32x4 hi = q; u32x4 hd = q; u32 hx = 0u; u32 block = k_at >> per_block; u32 unit = k_at & ((1u << per_block) - 1u); q = v4[(col) * units + k_at]; if (T == 12u || T == 23u || T == 16u || T == 27u) { hx = (vb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 13u || T == 22u) { hx = vb[(col) * blocks + block]; } if (T == 25u) { hx = vb[((col) * blocks + block) >> 2u] >> ((((col) * blocks + block) & 3u) << 3u); } if (T == 14u) { hi.x = vb[(col) * blocks + block]; hx = (vb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 15u) { hx = vb[(col) * blocks + block]; hi.x = vb[p.b1 + ((col) * blocks + block)]; } if (T == 17u) { hd = v4[p.a1 + ((col) * blocks + block)]; hx = vb[(col) * blocks + block]; } if (T == 18u) { hi = v4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = make_uint4(vb[3u * ((col) * blocks + block)], vb[3u * ((col) * blocks + block) + 1u], vb[3u * ((col) * blocks + block) + 2u], 0u); hx = (vb[(p.b1) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 19u) { hd = v4[p.a1 + ((col) * blocks + block)]; } if (T == 20u) { hi = v4[p.a1 + 2u * ((col) * blocks + block) + ((unit) & 1u)]; hd = v4[p.a2 + ((col) * blocks + block)]; } if (T == 21u) { hi = v4[p.a1 + 4u * ((col) * blocks + block) + (((unit) >> 2u) << 1u) + ((unit) & 1u)]; hd = v4[p.a2 + ((col) * blocks + block)]; hx = (vb[(0u) + (((col) * blocks + block) >> 1u)] >> ((((col) * blocks + block) & 1u) << 4u)); } if (T == 24u) { hd = make_uint4(vb[2u * ((col) * blocks + block)], vb[2u * ((col) * blocks + block) + 1u], 0u, 0u); } for (u32 s = 0u; s < (1u << k_run_shift(T)); s += 1u) { u32 x_at = (block << (k_block_shift(T) - 2u)) + k_run_quad(T, unit, s); u32x2 by = k_unit_scale(T, hd, hx, unit, s); { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.x, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((0u) << 2u))) : (hi.x)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 0u]); f32x4 xv = AS_F4(x[x_at + 0u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.y, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((1u) << 2u))) : (hi.y)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 1u]); f32x4 xv = AS_F4(x[x_at + 1u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.z, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((2u) << 2u))) : (hi.z)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 2u]); f32x4 xv = AS_F4(x[x_at + 2u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } { f32x4 f = k_unit_floats(T, k_unit_codes(T, q.w, ((T == 14u || T == 15u) ? (hi.x >> (((s) << 4u) + ((3u) << 2u))) : (hi.w)), unit, s), p.two_23); f32x4 w_i = k_scaled(f, __uint_as_float(by.x), __uint_as_float(by.y)); f32x4 gv = AS_F4(gamma[x_at + 3u]); f32x4 xv = AS_F4(x[x_at + 3u]); xv = make_float4(xv.x * k_by * k_scale * gv.x, xv.y * k_by * k_scale * gv.y, xv.z * k_by * k_scale * gv.z, xv.w * k_by * k_scale * gv.w); up = fma(w_i.x, xv.x, fma(w_i.y, xv.y, fma(w_i.z, xv.z, fma(w_i.w, xv.w, up)))); } } }
        }
        v = k_act(ACT, v) * up;
      } else if (EXTRA == 2u) {
        v = k_act(ACT, __uint_as_float(extra[at])) * v;
      } else {
        if (EXTRA == 1u) { v += __uint_as_float(extra[col]); }
        v = k_act(ACT, v);
      }
      y[at] = __float_as_uint(v);
    }
  }
}
