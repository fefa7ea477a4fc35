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
static __device__ __forceinline__ f32 k_log_share(f32 d, f32 last, u32 T) {
  f32 r = d - last;
  if (T != 0u && __float_as_uint(r) == __float_as_uint(d) && __float_as_uint(d) > 0x80000000u && __float_as_uint(d) < 0xff800000u) {
    r = __uint_as_float(__float_as_uint(d) + 1u);
  }
  return r;
}
static __device__ __forceinline__ f32 k_or_bad(f32 sum, u32 bad) { return ((bad > 0x7f800000u) ? (__uint_as_float(bad)) : (sum)); }
static __device__ __forceinline__ f32x4 k_low4(u32x4 w, u32 T) {
  if (T == 1u) { return make_float4(k_half((w.x) & 0xffffu), k_half((w.x) >> 16u), k_half((w.y) & 0xffffu), k_half((w.y) >> 16u)); }
  if (T == 2u) {
    return make_float4(__uint_as_float(w.x << 16u), __uint_as_float(w.x & 0xffff0000u), __uint_as_float(w.y << 16u), __uint_as_float(w.y & 0xffff0000u));
  }
  return AS_F4(w);
}
static __device__ __forceinline__ f32x4 k_high4(u32x4 w, u32 T) {
  if (T == 1u) { return make_float4(k_half((w.z) & 0xffffu), k_half((w.z) >> 16u), k_half((w.w) & 0xffffu), k_half((w.w) >> 16u)); }
  return make_float4(__uint_as_float(w.z << 16u), __uint_as_float(w.z & 0xffff0000u), __uint_as_float(w.w << 16u), __uint_as_float(w.w & 0xffff0000u));
}
static __device__ __forceinline__ u32 k_pair(f32 a, f32 b, u32 T) {
  if (0u == 1u && T == 1u) { return 0u; }
  return k_narrow(__float_as_uint(a), T) | (k_narrow(__float_as_uint(b), T) << 16u);
}
static __device__ __forceinline__ u32x4 k_words4(f32x4 low, f32x4 high, u32 T) {
  if (T == 0u) { return AS_U4(low); }
  return make_uint4(k_pair(low.x, low.y, T), k_pair(low.z, low.w, T), k_pair(high.x, high.y, T), k_pair(high.z, high.w, T));
}
static __device__ __forceinline__ f32 k_sum4(f32x4 a) { return (a.x + a.y) + (a.z + a.w); }
static __device__ __forceinline__ f32 k_max4(f32x4 a) { return max(max(a.x, a.y), max(a.z, a.w)); }
static __device__ __forceinline__ f32x4 k_add4(f32x4 a, f32x4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
static __device__ __forceinline__ f32x4 k_less4(f32x4 a, f32 b) { return make_float4(a.x - b, a.y - b, a.z - b, a.w - b); }
static __device__ __forceinline__ f32x4 k_times4(f32x4 a, f32 b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
static __device__ __forceinline__ f32x4 k_mul4(f32x4 a, f32x4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
static constexpr u32 T = K_C1;
static constexpr u32 IS_LOG = K_C2;
static constexpr u32 LANES = K_C3;
static constexpr u32 VECS = K_C4;
static constexpr u32 STAGE = K_C5;
struct Params { u32 groups;
  u32 rows;
  u32 cols;
  u32 chunks;
  u32 chunk;
};
static __shared__ f32 red[((u32)K_C0)];
extern "C" __global__ void __launch_bounds__(K_C0) softmax4(const u32x4 *x, u32x4 *y, u32 *stats, const Params p) { if ((blockIdx.y * gridDim.x + blockIdx.x) >= p.groups) { return; }
  u32 lane = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES));
  u32 line = (blockIdx.y * gridDim.x + blockIdx.x) * (((u32)K_C0) / LANES) + ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES));
  u32 row = line / p.chunks;
  u32 first = (line - row * p.chunks) * p.chunk;
  u32 n = ((row < p.rows) ? (min(p.chunk, p.cols - first)) : (0u));
  u32 base = row * p.cols + first + lane;
  f32x4 v[8];
  f32 m = -3.4028235e38f;
 
#pragma unroll
  for (u32 j = 0u; j < VECS; j += 1u) {
    if (j * LANES + lane < n) {
      u32x4 w = x[base + j * LANES];
      if (T == 0u) {
        v[j] = AS_F4(w);
      } else {
        v[2u * j] = k_low4(w, T);
        v[2u * j + 1u] = k_high4(w, T);
      }
    }
  }
  f32 sum = 0.0f;
  if (STAGE == 2u) {
    for (u32 c = lane; c < ((row < p.rows) ? (p.chunks) : (0u)); c += LANES) {
      m = max(m, __uint_as_float(stats[2u * (row * p.chunks + c)]));
    }
    if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = m; if (1u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = m; } if (1u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = m; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = max(red[k_a], red[k_b]); if (1u > 1u) { red[((u32)K_C0) + k_a] = max(red[((u32)K_C0) + k_a], red[((u32)K_C0) + k_b]); } if (1u > 2u) { red[2u * ((u32)K_C0) + k_a] = max(red[2u * ((u32)K_C0) + k_a], red[2u * ((u32)K_C0) + k_b]); } } __syncthreads(); } m = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { m = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { m = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
    for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { m = max(m, SG_XOR(m, 1u << k_level)); if (1u > 1u) { m = max(m, SG_XOR(m, 1u << k_level)); } if (1u > 2u) { m = max(m, SG_XOR(m, 1u << k_level)); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = m; if (1u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = m; } if (1u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = m; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); m = red[k_first]; if (1u > 1u) { m = red[((u32)K_C0) + k_first]; } if (1u > 2u) { m = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { m = max(m, red[k_i]); if (1u > 1u) { m = max(m, red[((u32)K_C0) + k_i]); } if (1u > 2u) { m = max(m, red[2u * ((u32)K_C0) + k_i]); } } } }
    for (u32 c = lane; c < ((row < p.rows) ? (p.chunks) : (0u)); c += LANES) {
      u32 at = 2u * (row * p.chunks + c);
      sum += __uint_as_float(stats[at + 1u]) * k_exp_fast(__uint_as_float(stats[at]) - m);
    }
  } else {
   
#pragma unroll
    for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) {
      if ((((T == 0u) ? (q) : ((q) >> 1u)) * LANES + lane < n)) { m = max(m, k_max4(v[q])); }
    }
    if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = m; if (1u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = m; } if (1u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = m; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = max(red[k_a], red[k_b]); if (1u > 1u) { red[((u32)K_C0) + k_a] = max(red[((u32)K_C0) + k_a], red[((u32)K_C0) + k_b]); } if (1u > 2u) { red[2u * ((u32)K_C0) + k_a] = max(red[2u * ((u32)K_C0) + k_a], red[2u * ((u32)K_C0) + k_b]); } } __syncthreads(); } m = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { m = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { m = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
    for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { m = max(m, SG_XOR(m, 1u << k_level)); if (1u > 1u) { m = max(m, SG_XOR(m, 1u << k_level)); } if (1u > 2u) { m = max(m, SG_XOR(m, 1u << k_level)); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = m; if (1u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = m; } if (1u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = m; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); m = red[k_first]; if (1u > 1u) { m = red[((u32)K_C0) + k_first]; } if (1u > 2u) { m = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { m = max(m, red[k_i]); if (1u > 1u) { m = max(m, red[((u32)K_C0) + k_i]); } if (1u > 2u) { m = max(m, red[2u * ((u32)K_C0) + k_i]); } } } }
  }
  u32 bad = 0u;
 
#pragma unroll
  for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) {
    if ((((T == 0u) ? (q) : ((q) >> 1u)) * LANES + lane < n)) {
      f32x4 d = k_less4(v[q], m);
      bad = max(max(bad, max(__float_as_uint(d.x) & 0x7fffffffu, __float_as_uint(d.y) & 0x7fffffffu)),
                max(__float_as_uint(d.z) & 0x7fffffffu, __float_as_uint(d.w) & 0x7fffffffu));
      f32x4 e = d;
      if (IS_LOG == 0u || STAGE != 2u) { e = make_float4(k_exp_fast(d.x), k_exp_fast(d.y), k_exp_fast(d.z), k_exp_fast(d.w)); }
      if (STAGE != 2u) { sum += k_sum4(e); }
      if (IS_LOG == 1u) {
        v[q] = d;
      } else {
        v[q] = e;
      }
    }
  }
  sum = k_or_bad(sum, bad);
  if (0u == 1u) { __syncthreads(); red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = sum; if (1u > 1u) { red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = sum; } if (1u > 2u) { red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u))] = sum; } __syncthreads(); for (u32 k_w = LANES / 2u; k_w > 0u; k_w = k_w >> 1u) { if (((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) < k_w) { u32 k_a = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)); u32 k_b = ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) + k_w * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u)); red[k_a] = ((red[k_a]) + (red[k_b])); if (1u > 1u) { red[((u32)K_C0) + k_a] = ((red[((u32)K_C0) + k_a]) + (red[((u32)K_C0) + k_b])); } if (1u > 2u) { red[2u * ((u32)K_C0) + k_a] = ((red[2u * ((u32)K_C0) + k_a]) + (red[2u * ((u32)K_C0) + k_b])); } } __syncthreads(); } sum = red[((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; if (1u > 1u) { sum = red[((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } if (1u > 2u) { sum = red[2u * ((u32)K_C0) + ((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) - ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % LANES)) * ((0u == 1u) ? ((((u32)K_C0) / LANES)) : (1u))]; } } else {
#pragma unroll
  for (u32 k_level = 0u; k_level < 7u; k_level += 1u) { if ((1u << k_level) < LANES && (1u << k_level) < 32u) { sum = ((sum) + (SG_XOR(sum, 1u << k_level))); if (1u > 1u) { sum = ((sum) + (SG_XOR(sum, 1u << k_level))); } if (1u > 2u) { sum = ((sum) + (SG_XOR(sum, 1u << k_level))); } } } if (LANES > 32u) { __syncthreads(); if ((threadIdx.x & 31u) == 0u) { red[(threadIdx.x >> 5u)] = sum; if (1u > 1u) { red[((u32)K_C0) + (threadIdx.x >> 5u)] = sum; } if (1u > 2u) { red[2u * ((u32)K_C0) + (threadIdx.x >> 5u)] = sum; } } __syncthreads(); u32 k_first = ((0u == 1u) ? (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) % (((u32)K_C0) / LANES)) : (((threadIdx.x >> 5u) * 32u + (threadIdx.x & 31u)) / LANES)) * (LANES / 32u); sum = red[k_first]; if (1u > 1u) { sum = red[((u32)K_C0) + k_first]; } if (1u > 2u) { sum = red[2u * ((u32)K_C0) + k_first]; } for (u32 k_i = k_first + 1u; k_i < k_first + LANES / 32u; k_i += 1u) { sum = ((sum) + (red[k_i])); if (1u > 1u) { sum = ((sum) + (red[((u32)K_C0) + k_i])); } if (1u > 2u) { sum = ((sum) + (red[2u * ((u32)K_C0) + k_i])); } } } }
  if (STAGE == 1u) {
    if (lane == 0u && row < p.rows) {
      stats[2u * line] = __float_as_uint(m);
      stats[2u * line + 1u] = __float_as_uint(sum);
    }
  } else {
    f32 last = ((IS_LOG == 1u) ? (k_log(sum)) : (1.0f / sum));
   
#pragma unroll
    for (u32 q = 0u; q < ((T == 0u) ? (VECS) : (2u * VECS)); q += 1u) {
      if (IS_LOG == 1u) {
        v[q] = make_float4(k_log_share(v[q].x, last, T), k_log_share(v[q].y, last, T), k_log_share(v[q].z, last, T),
                  k_log_share(v[q].w, last, T));
      } else {
        v[q] = k_times4(v[q], last);
      }
    }
   
#pragma unroll
    for (u32 j = 0u; j < VECS; j += 1u) {
      if (j * LANES + lane < n) {
        if (T == 0u) {
          y[base + j * LANES] = AS_U4(v[j]);
        } else {
          y[base + j * LANES] = k_words4(v[2u * j], v[2u * j + 1u], T);
        }
      }
    }
  }
}
