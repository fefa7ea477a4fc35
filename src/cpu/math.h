/* Vector math: exp, log, tanh, erf and related functions of vf, and pow in f64. Only for *.simd.c files.
 *
 * Each function uses argument reduction to a small range, a polynomial there, and the inverse of the reduction. The
 * coefficients are near-minimax fits weighted by the relative error. All but pow stay in f32; where an f32 product
 * would round too early, its error is carried along. The error is a few ulp wherever the result is a normal number
 * (tests/cpu/test_cpu_pointwise.c measures it). Infinities and NaN give the results of the C library. Arguments outside
 * the reduction (an angle beyond 8192, a power with a special operand) are computed lane by lane with the C library. */
#ifndef RLX_CPU_MATH_H
#define RLX_CPU_MATH_H

#include <math.h>

#include "cpu/simd.h"
#include "ir/act.h"

CPU_INLINE vf vf_copysign(vf magnitude, vf sign) {
  return vf_from_bits(vi_or(vi_and(vf_bits(magnitude), vi_set(INT32_MAX)), vi_and(vf_bits(sign), vi_set(INT32_MIN))));
}

/* Loops over n floats with a partial last vector: VF_EACH(to, n, vf_add(vf_load_upto(x + i, m), vf_load_upto(y + i,
 * m))). The expression can use the index i and the number m of valid lanes; its value is stored at to + i. */
CPU_INLINE vf vf_load_upto(const float *p, size_t m) { return m == VF_LANES ? vf_load(p) : vf_load_n(p, m); }
CPU_INLINE void vf_store_upto(float *p, vf v, size_t m) {
  if (m == VF_LANES) vf_store(p, v);
  else vf_store_n(p, v, m);
}
/* The same for an operand that is read from memory rather than from a tile. The hardware prefetcher stops at each page.
 * Prefetching some lines ahead crosses it, which is a third faster where memory is the limit. */
#define VF_AHEAD 128 /* floats */
CPU_INLINE vf vf_load_upto_ahead(const float *p, size_t m) {
  __builtin_prefetch(p + VF_AHEAD);
  return vf_load_upto(p, m);
}
#define VF_EACH(to, n, result)                    \
  do {                                            \
    size_t i = 0;                                 \
    for (; i + VF_LANES <= (n); i += VF_LANES) {  \
      const size_t m = VF_LANES;                  \
      __builtin_prefetch((to) + i + VF_AHEAD, 1); \
      vf_store_upto((to) + i, (result), m);       \
    }                                             \
    if (i < (n)) {                                \
      const size_t m = (n)-i;                     \
      vf_store_upto((to) + i, (result), m);       \
    }                                             \
  } while (0)

/* c[0] + c[1] x + .. + c[n-1] x^(n-1); n is a constant, so the loop is unrolled. */
CPU_INLINE vf vf_poly(vf x, const float *c, int n) {
  vf y = vf_set(c[n - 1]);
  for (int i = n - 2; i >= 0; i--) y = vf_fma(y, x, vf_set(c[i]));
  return y;
}
#define VF_POLY(x, ...) \
  vf_poly((x), (const float[]){__VA_ARGS__}, (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

/* Recomputes the lanes where `where` holds, one by one. */
CPU_INLINE vf vf_patch(vf y, vf a, vf b, vm where, double (*fn)(double a, double b)) {
  float from_a[VF_LANES], from_b[VF_LANES], to[VF_LANES], chosen[VF_LANES];
  vf_store(from_a, a), vf_store(from_b, b), vf_store(to, y);
  vf_store(chosen, vf_select(where, vf_set(1), vf_zero()));
  for (int i = 0; i < VF_LANES; i++)
    if (chosen[i] != 0) to[i] = (float)fn((double)from_a[i], (double)from_b[i]);
  return vf_load(to);
}

/* Maximum and minimum that propagate NaN. The instruction returns its second operand where one is NaN or both are
 * equal. Equal operands differ at most in the sign of zero, which the bit operations decide. */
CPU_INLINE vf vf_max_nan(vf x, vf y) {
  vf larger = vf_select(vf_is_nan(x), x, vf_max(x, y));
  return vf_select(vf_eq(x, y), vf_from_bits(vi_and(vf_bits(x), vf_bits(y))), larger);
}
CPU_INLINE vf vf_min_nan(vf x, vf y) {
  vf smaller = vf_select(vf_is_nan(x), x, vf_min(x, y));
  return vf_select(vf_eq(x, y), vf_from_bits(vi_or(vf_bits(x), vf_bits(y))), smaller);
}

/* ---- e^x ---- */

/* x + low = n ln 2 + r, |r| <= ln 2 / 2; returns e^r - 1. `low` is the part of the argument that x has rounded off. The
 * first part of ln 2 is short, so that n times it is exact. */
CPU_INLINE vf vf_exp_reduce(vf x, vf low, vf *n) {
  *n = vf_nearest(vf_mul(x, vf_set(1.44269504f)));
  vf r = vf_fnma(*n, vf_set(0.693359375f), x);
  r = vf_add(vf_fnma(*n, vf_set(-2.12194440e-4f), r), low);
  vf p = VF_POLY(r, 5.000000000e-01f, 1.666651815e-01f, 4.166620597e-02f, 8.368887939e-03f, 1.395048574e-03f);
  return vf_fma(vf_mul(r, r), p, r);
}

/* Beyond these bounds the result is 0 or infinite. NaN passes, as it is the second operand. */
CPU_INLINE vf vf_exp_clamp(vf x) { return vf_max(vf_set(-104.0f), vf_min(vf_set(89.0f), x)); }

CPU_INLINE vf vf_exp(vf x) {
  vf n, p = vf_exp_reduce(vf_exp_clamp(x), vf_zero(), &n);
  return vf_scale(vf_add(p, vf_set(1)), n);
}

/* e^-(t^2) for 0 <= t <= 10, with the rounding error of the square carried along. */
CPU_INLINE vf vf_exp_minus_square(vf t) {
  vf square = vf_mul(t, t), low = vf_fnma(t, t, square), n;
  vf p = vf_exp_reduce(vf_neg(square), low, &n);
  return vf_scale(vf_add(p, vf_set(1)), n);
}

/* x where it is a zero of either sign, else y: for odd functions whose formula would add a 0 to it. */
CPU_INLINE vf vf_or_zero(vf x, vf y) { return vf_select(vf_eq(x, vf_zero()), x, y); }

/* e^x - 1 for x <= 0 (or NaN). */
CPU_INLINE vf vf_expm1_negative(vf x) {
  vf n, p = vf_exp_reduce(vf_max(vf_set(-30.0f), x), vf_zero(), &n);
  vf power = vf_scale(vf_set(1), n);
  return vf_or_zero(x, vf_fma(power, p, vf_sub(power, vf_set(1))));
}

/* ---- log ---- */

CPU_INLINE vf vf_log(vf x) {
  vm tiny = vf_lt(x, vf_set(1.17549435e-38f));
  vf scaled = vf_select(tiny, vf_mul(x, vf_set(8388608.0f)), x);
  vi bits = vf_bits(scaled);
  vi e = vi_sar(vi_sub(bits, vi_set(0x3f3504f3)), 23); /* the mantissa is in sqrt(1/2) .. sqrt(2) */
  vf f = vf_sub(vf_from_bits(vi_sub(bits, vi_shl(e, 23))), vf_set(1));
  vf n = vf_sub(vf_of_vi(e), vf_select(tiny, vf_set(23), vf_zero())), z = vf_mul(f, f);
  vf p = VF_POLY(f, 3.333331347e-01f, -2.500000894e-01f, 2.000211924e-01f, -1.666799635e-01f, 1.421955079e-01f,
                 -1.240559220e-01f, 1.188817769e-01f, -1.167563871e-01f, 6.746591628e-02f);
  vf y = vf_fma(n, vf_set(-2.12194440e-4f), vf_mul(vf_mul(f, z), p));
  y = vf_add(f, vf_fma(z, vf_set(-0.5f), y));
  y = vf_fma(n, vf_set(0.693359375f), y);
  vf outside = vf_select(vf_eq(x, vf_zero()), vf_set(-INFINITY), vf_select(vf_lt(vf_zero(), x), x, vf_set(NAN)));
  return vf_select(vm_and(vf_lt(vf_zero(), x), vf_lt(x, vf_set(INFINITY))), y, outside);
}

/* log(1 + e) for e in 0 .. 1 (or NaN): 2 artanh(e / (2 + e)), accurate even where 1 + e would round to 1. */
CPU_INLINE vf vf_log1p_unit(vf e) {
  vf s = vf_div(e, vf_add(e, vf_set(2))), z = vf_mul(s, s);
  vf p = VF_POLY(z, 3.333333731e-01f, 1.999943852e-01f, 1.430844218e-01f, 1.071382836e-01f, 1.215046868e-01f);
  s = vf_add(s, s);
  return vf_fma(vf_mul(s, z), p, s);
}

/* ---- activations ---- */

CPU_INLINE vf vf_tanh(vf x) {
  vf a = vf_abs(x), z = vf_mul(x, x);
  vf p = VF_POLY(z, -3.333333135e-01f, 1.333321035e-01f, -5.394720286e-02f, 2.170296758e-02f, -8.182673715e-03f,
                 2.147536958e-03f);
  vf small = vf_fma(vf_mul(x, z), p, x);
  vf large = vf_sub(vf_set(1), vf_div(vf_set(2), vf_add(vf_exp(vf_add(a, a)), vf_set(1))));
  return vf_copysign(vf_select(vf_lt(a, vf_set(0.625f)), small, large), x); /* keeps the sign of -0 */
}

CPU_INLINE vf vf_sigmoid(vf x) { return vf_div(vf_set(1), vf_add(vf_set(1), vf_exp(vf_neg(x)))); }
CPU_INLINE vf vf_silu(vf x) { return vf_div(x, vf_add(vf_set(1), vf_exp(vf_neg(x)))); }

/* (1 + tanh(k)) / 2 is the sigmoid of 2 k, which does not cancel where tanh is near -1. */
CPU_INLINE vf vf_gelu_approx(vf x) {
  vf inner = vf_mul(x, vf_fma(vf_mul(x, x), vf_set(0.0713548162726f), vf_set(1.59576912161f)));
  return vf_div(x, vf_add(vf_set(1), vf_exp(vf_neg(inner))));
}

CPU_INLINE vf vf_softplus(vf x) { return vf_add(vf_max(vf_zero(), x), vf_log1p_unit(vf_exp(vf_neg(vf_abs(x))))); }

/* tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2); it is 1 from x = 20 on. */
CPU_INLINE vf vf_mish(vf x) {
  vf e = vf_exp(vf_min(vf_set(20), x)), n = vf_mul(e, vf_add(e, vf_set(2)));
  return vf_mul(x, vf_div(n, vf_add(n, vf_set(2))));
}

/* ---- erf ---- */

/* erfc(t) / e^-(t^2) for 0 <= t <= 10: a polynomial in u = 1 / (1 + t / 2), which is in 0 .. 1. */
CPU_INLINE vf vf_erfc_factor(vf t) {
  vf u = vf_reciprocal(vf_fma(t, vf_set(0.5f), vf_set(1)));
  return vf_mul(u, VF_POLY(u, 2.820860445e-01f, 2.823819220e-01f, 2.430557609e-01f, 2.028761357e-01f, -2.707151137e-02f,
                           2.787124217e-01f, -4.877623618e-01f, 2.848459184e-01f, -5.912436545e-02f));
}

CPU_INLINE vf vf_erf(vf x) {
  vf a = vf_abs(x), z = vf_mul(x, x);
  vf small = vf_mul(x, VF_POLY(z, 1.128379107e+00f, -3.761262596e-01f, 1.128360033e-01f, -2.685444430e-02f,
                               5.189535208e-03f, -8.020841051e-04f, 7.889119297e-05f));
  vf t = vf_min(vf_set(10), a); /* erf is 1 from there on */
  vf large = vf_fnma(vf_exp_minus_square(t), vf_erfc_factor(t), vf_set(1));
  return vf_select(vf_lt(a, vf_set(1)), small, vf_copysign(large, x));
}

/* x Phi(x), with Q = erfc(|x| / sqrt 2) / 2 the tail: x (1 - Q) on the right, x Q on the left, so that nothing cancels.
 * Written out for speed, as many models spend most of their element-wise time in it: the power has one term less, and
 * the error of the square is not carried. Far left (x < -9, results below 1e-18) that costs about 3e-6 of the
 * result. */
CPU_INLINE vf vf_gelu(vf x) {
  vf a = vf_min(vf_set(14.5f), vf_abs(x)); /* Q is 0 from there on */
  vf square = vf_mul(a, a);
  vf n = vf_nearest(vf_mul(square, vf_set(-0.72134752f)));
  vf r = vf_fnma(n, vf_set(0.693359375f), vf_mul(square, vf_set(-0.5f)));
  r = vf_fnma(n, vf_set(-2.12194440e-4f), r);
  vf p = VF_POLY(r, 4.999914765e-01f, 1.666645855e-01f, 4.189835116e-02f, 8.374514058e-03f);
  vf power = vf_scale(vf_add(vf_fma(vf_mul(r, r), p, r), vf_set(1)), n);
  vf u = vf_reciprocal(vf_fma(a, vf_set(0.353553391f), vf_set(1)));
  vf factor = VF_POLY(u, 1.410430223e-01f, 1.411909610e-01f, 1.215278804e-01f, 1.014380679e-01f, -1.353575569e-02f,
                      1.393562108e-01f, -2.438811809e-01f, 1.424229592e-01f, -2.956218272e-02f);
  vf tail = vf_mul(power, vf_mul(u, factor));
  return vf_mul(x, vf_select(vf_lt(vf_zero(), x), vf_sub(vf_set(1), tail), tail));
}

/* ---- angles ---- */

#define VF_ANGLE_LIMIT 8192.0f

/* x = n pi/2 + r for |x| < 8192. The parts of pi/2 have 11 bits each, so that n (13 bits) times a part is exact with
 * and without FMA. */
CPU_INLINE vf vf_angle_reduce(vf x, vi *quadrant) {
  vf n = vf_nearest(vf_mul(x, vf_set(0.636619772f)));
  vf r = vf_fnma(n, vf_set(0x1.92p+0f), x);
  r = vf_fnma(n, vf_set(0x1.fb4p-12f), r);
  r = vf_fnma(n, vf_set(0x1.444p-24f), r);
  r = vf_fnma(n, vf_set(0x1.68c234p-39f), r);
  *quadrant = vi_of_vf(n);
  return r;
}
CPU_INLINE vf vf_sin_small(vf r, vf z) {
  vf p = VF_POLY(z, -1.666666716e-01f, 8.333329111e-03f, -1.983933471e-04f, 2.718311634e-06f);
  return vf_fma(vf_mul(r, z), p, r);
}
CPU_INLINE vf vf_cos_small(vf z) {
  vf p = VF_POLY(z, 4.166664556e-02f, -1.388731645e-03f, 2.443315498e-05f);
  return vf_fma(vf_mul(z, z), p, vf_fma(z, vf_set(-0.5f), vf_set(1)));
}
CPU_INLINE vm vf_angle_is_far(vf x) { return vm_not(vf_lt(vf_abs(x), vf_set(VF_ANGLE_LIMIT))); }

/* sin(x + quarters pi/2) */
CPU_INLINE vf vf_sin_shifted(vf x, int quarters) {
  vi q;
  vf r = vf_angle_reduce(x, &q), z = vf_mul(r, r);
  q = vi_add(q, vi_set(quarters));
  vm odd = vi_eq(vi_and(q, vi_set(1)), vi_set(1));
  vf y = vf_select(odd, vf_cos_small(z), vf_sin_small(r, z));
  return vf_from_bits(vi_xor(vf_bits(y), vi_shl(vi_and(q, vi_set(2)), 30)));
}
static inline double vf_sin_lane_(double a, double b) { return (void)b, sin(a); }
static inline double vf_cos_lane_(double a, double b) { return (void)b, cos(a); }
static inline double vf_tan_lane_(double a, double b) { return (void)b, tan(a); }
CPU_INLINE vf vf_sin(vf x) {
  vf y = vf_or_zero(x, vf_sin_shifted(x, 0));
  vm far = vf_angle_is_far(x);
  return vm_any(far) ? vf_patch(y, x, x, far, vf_sin_lane_) : y;
}
CPU_INLINE vf vf_cos(vf x) {
  vf y = vf_sin_shifted(x, 1);
  vm far = vf_angle_is_far(x);
  return vm_any(far) ? vf_patch(y, x, x, far, vf_cos_lane_) : y;
}
CPU_INLINE vf vf_tan(vf x) {
  vi q;
  vf r = vf_angle_reduce(x, &q), z = vf_mul(r, r), s = vf_sin_small(r, z), c = vf_cos_small(z);
  vm odd = vi_eq(vi_and(q, vi_set(1)), vi_set(1));
  vf y = vf_or_zero(x, vf_div(vf_select(odd, vf_neg(c), s), vf_select(odd, s, c)));
  vm far = vf_angle_is_far(x);
  return vm_any(far) ? vf_patch(y, x, x, far, vf_tan_lane_) : y;
}

/* atan(t) for t in 0 .. 1 */
CPU_INLINE vf vf_atan_unit(vf t) {
  vf z = vf_mul(t, t);
  vf p = VF_POLY(z, -3.333330154e-01f, 1.999863833e-01f, -1.426524520e-01f, 1.095757186e-01f, -8.419445902e-02f,
                 5.823431909e-02f, -3.145546839e-02f, 1.106431521e-02f, -1.827184693e-03f);
  return vf_fma(vf_mul(t, z), p, t);
}

CPU_INLINE vf vf_atan(vf x) {
  vf a = vf_abs(x);
  vm steep = vf_lt(vf_set(1), a);
  vf y = vf_atan_unit(vf_div(vf_select(steep, vf_set(1), a), vf_select(steep, a, vf_set(1))));
  return vf_copysign(vf_select(steep, vf_sub(vf_set(1.57079633f), y), y), x);
}

CPU_INLINE vf vf_atan2(vf y, vf x) {
  vf ax = vf_abs(x), ay = vf_abs(y);
  vm steep = vf_lt(ax, ay), either_nan = vm_or(vf_is_nan(x), vf_is_nan(y));
  vf low = vf_select(steep, ax, ay), high = vf_select(steep, ay, ax);
  vf t = vf_div(low, high);
  t = vf_select(vf_eq(high, vf_zero()), vf_zero(), t);
  t = vf_select(vf_eq(low, vf_set(INFINITY)), vf_set(1), t); /* both infinite */
  t = vf_atan_unit(t);
  t = vf_select(steep, vf_sub(vf_set(1.57079633f), t), t);
  vm negative_x = vi_lt(vf_bits(x), vi_set(0)); /* true for -0 as well */
  t = vf_select(negative_x, vf_sub(vf_set(3.14159265f), t), t);
  return vf_select(either_nan, vf_set(NAN), vf_copysign(t, y));
}

/* ---- f64 ---- */

/* As many f64 and 64-bit integers as vf has lanes, in the compiler's vector types. */
typedef double vd __attribute__((vector_size(VF_LANES * 8)));
typedef int64_t vl __attribute__((vector_size(VF_LANES * 8)));
typedef float vf_plain_ __attribute__((vector_size(VF_LANES * 4)));
CPU_INLINE vd vd_of_vf(vf a) { return __builtin_convertvector((vf_plain_)a, vd); }
CPU_INLINE vf vf_of_vd(vd a) { return (vf) __builtin_convertvector(a, vf_plain_); }

/* ---- pow ---- */

/* log of a finite positive double, to about 1e-12 */
CPU_INLINE vd vd_log(vd x) {
  vl bits = (vl)x, e = (bits - 0x3fe6a09e667f3bcd) >> 52;
  vd m = (vd)(bits - e * ((int64_t)1 << 52)), s = (m - 1.0) / (m + 1.0), z = s * s;
  vd p = ((z * (1.0 / 15) + 1.0 / 13) * z + 1.0 / 11) * z + 1.0 / 9;
  p = ((p * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3;
  return (s + s) * (p * z + 1.0) + __builtin_convertvector(e, vd) * 0.69314718055994530942;
}

/* e^x for |x| < 700, to about 1e-11 */
CPU_INLINE vd vd_exp(vd x) {
  vd shifted = x * 1.44269504088896340736 + 0x1.8p52, n = shifted - 0x1.8p52, r = x - n * 0.69314718055994530942;
  vl e = (vl)shifted - 0x4338000000000000;
  vd p = ((r * (1.0 / 362880) + 1.0 / 40320) * r + 1.0 / 5040) * r + 1.0 / 720;
  p = (((p * r + 1.0 / 120) * r + 1.0 / 24) * r + 1.0 / 6) * r + 0.5;
  return (p * r * r + r + 1.0) * (vd)((e + 1023) * ((int64_t)1 << 52));
}

CPU_INLINE vf vf_pow(vf a, vf b, double (*scalar)(double a, double b)) {
  vf magnitude = vf_abs(a), size = vf_abs(b), inf = vf_set(INFINITY);
  vm plain = vm_and(vm_and(vf_lt(vf_zero(), magnitude), vf_lt(magnitude, inf)), vf_lt(size, inf));
  vd y = vd_of_vf(vf_select(plain, b, vf_zero())) * vd_log(vd_of_vf(vf_select(plain, magnitude, vf_set(1))));
  vl over = y > 200.0, under = y < -200.0; /* far outside f32, and inside the range of vd_exp */
  vd bounded = (vd)((over & (vl)((vd){0} + 200.0)) | (under & (vl)((vd){0} - 200.0)) | (~(over | under) & (vl)y));
  vf power = vf_of_vd(vd_exp(bounded));
  /* A negative base: odd integral exponents keep its sign, fractional ones give NaN. */
  vf half = vf_mul(b, vf_set(0.5f));
  vm whole = vf_eq(vf_floor(b), b), even = vf_eq(vf_floor(half), half), negative = vf_lt(a, vf_zero());
  vf signed_power = vf_select(whole, vf_select(even, power, vf_neg(power)), vf_set(NAN));
  power = vf_select(negative, signed_power, power);
  vm rest = vm_not(plain);
  return vm_any(rest) ? vf_patch(power, a, b, rest, scalar) : power;
}

/* -0 becomes 0, NaN stays NaN. */
CPU_INLINE vf vf_relu(vf x) { return vf_select(vf_le(x, vf_zero()), vf_zero(), x); }

/* The activations of fused ops: RLX_ACT_. */
CPU_INLINE vf vf_activate(int32_t act, vf x) {
#define FORMULA(NAME, op) \
  case RLX_ACT_##NAME: return vf_##op(x);
  switch (act) {
    RLX_ACTS(FORMULA)
    default: return x;
  }
#undef FORMULA
}

#endif
