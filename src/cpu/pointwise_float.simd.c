/* Element-wise ops on f32 tiles: one loop per op, generated from a vector formula.
 *
 * Formulas use cpu/math.h where vectors are faster; the others (mod) use the scalar formula of ir/scalar.h lane by
 * lane. NaN and signed zeros give the same results as the scalar formulas. */
#include "cpu/math.h"
#include "cpu/pointwise.h"
#include "ir/scalar.h"

/* The formula is of the vectors x and y, and of p. */
#define MAP1(name, formula)                                        \
  CPU_INLINE vf each_##name(const cpu_tile_args *p, vf x) {        \
    (void)p;                                                       \
    return formula;                                                \
  }                                                                \
  static void tile_##name(CPU_TILE_ARGS) {                         \
    CPU_TILE_UNUSED;                                               \
    const float *xs = a;                                           \
    float *to = dst;                                               \
    VF_EACH(to, n, each_##name(p, vf_load_upto_ahead(xs + i, m))); \
  }
#define MAP2(name, formula)                                                                    \
  CPU_INLINE vf each_##name(vf x, vf y) { return formula; }                                    \
  static void tile_##name(CPU_TILE_ARGS) {                                                     \
    CPU_TILE_UNUSED;                                                                           \
    const float *xs = a, *ys = b;                                                              \
    float *to = dst;                                                                           \
    VF_EACH(to, n, each_##name(vf_load_upto_ahead(xs + i, m), vf_load_upto_ahead(ys + i, m))); \
  }

/* ---- unary ---- */

CPU_INLINE vf clamp_(vf x, float lo, float hi) { return vf_min(vf_set(hi), vf_max(vf_set(lo), x)); }
CPU_INLINE vf sign_(vf x) {
  vf one = vf_select(vf_lt(vf_zero(), x), vf_set(1), vf_zero());
  return vf_select(vf_lt(x, vf_zero()), vf_set(-1), one);
}
CPU_INLINE vf elu_(vf x, float alpha) {
  return vf_select(vf_lt(vf_zero(), x), x, vf_mul(vf_set(alpha), vf_expm1_negative(vf_min(vf_zero(), x))));
}

MAP1(gelu, vf_gelu(x))
MAP1(gelu_approx, vf_gelu_approx(x))
MAP1(silu, vf_silu(x))
MAP1(relu, vf_relu(x))
MAP1(sigmoid, vf_sigmoid(x))
MAP1(tanh, vf_tanh(x))
MAP1(exp, vf_exp(x))
MAP1(log, vf_log(x))
MAP1(sqrt, vf_sqrt(x))
MAP1(rsqrt, vf_div(vf_set(1), vf_sqrt(x)))
MAP1(neg, vf_neg(x))
MAP1(abs, vf_abs(x))
MAP1(sin, vf_sin(x))
MAP1(cos, vf_cos(x))
MAP1(tan, vf_tan(x))
MAP1(atan, vf_atan(x))
MAP1(round, vf_round(x))
MAP1(floor, vf_floor(x))
MAP1(ceil, vf_ceil(x))
MAP1(sign, sign_(x))
MAP1(erf, vf_erf(x))
MAP1(reciprocal, vf_div(vf_set(1), x))
MAP1(softplus, vf_softplus(x))
MAP1(elu, elu_(x, p->alpha))
MAP1(leaky_relu, vf_select(vf_lt(x, vf_zero()), vf_mul(vf_set(p->alpha), x), x))
MAP1(hard_sigmoid, clamp_(vf_fma(vf_set(p->alpha), x, vf_set(p->beta)), 0, 1))
MAP1(hard_swish, vf_mul(x, vf_div(clamp_(vf_add(x, vf_set(3)), 0, 6), vf_set(6))))
MAP1(mish, vf_mish(x))
MAP1(selu, vf_mul(vf_set(p->beta), elu_(x, p->alpha)))
MAP1(clamp, clamp_(x, p->alpha, p->beta))

/* ---- binary ---- */

MAP2(add, vf_add(x, y))
MAP2(sub, vf_sub(x, y))
MAP2(mul, vf_mul(x, y))
MAP2(div, vf_div(x, y))
MAP2(max, vf_max_nan(x, y))
MAP2(min, vf_min_nan(x, y))
MAP2(atan2, vf_atan2(x, y))
MAP2(pow, vf_pow(x, y, rlx_scalar_pow_f))

static void tile_mod(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const float *x = a, *y = b;
  float *to = dst;
  for (size_t i = 0; i < n; i++) to[i] = (float)rlx_scalar_mod_f((double)x[i], (double)y[i]);
}

/* Rounded once: with the fused instruction, or in f64, where the product is exact. */
static void tile_fma(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const float *x = a, *y = b, *z = c;
  float *to = dst;
  if (VF_FMA_IS_EXACT)
    VF_EACH(to, n, vf_fma(vf_load_upto_ahead(x + i, m), vf_load_upto_ahead(y + i, m), vf_load_upto_ahead(z + i, m)));
  else
    for (size_t i = 0; i < n; i++) to[i] = (float)((double)x[i] * (double)y[i] + (double)z[i]);
}

/* ---- comparisons: results are bytes ---- */

#define COMPARE(name, operator, traits, doc)                              \
  static void tile_##name(CPU_TILE_ARGS) {                                \
    CPU_TILE_UNUSED;                                                      \
    const float *x = a, *y = b;                                           \
    uint8_t *to = dst;                                                    \
    for (size_t i = 0; i < n; i++) to[i] = (uint8_t)(x[i] operator y[i]); \
  }
#define BINARY(name, types, traits, float_formula, int_formula, doc)
#include "ir/binary.def"
#undef BINARY
#undef COMPARE

/* where: the condition is bytes. */
static void tile_where(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const uint8_t *x = a;
  const float *t = b, *f = c;
  float *to = dst;
  size_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES) {
    vm zero = vi_eq(vi_load_u8(x + i), vi_set(0));
    vf_store(to + i, vf_select(zero, vf_load(f + i), vf_load(t + i)));
  }
  for (; i < n; i++) to[i] = x[i] ? t[i] : f[i];
}

/* The deviation of batch_norm_inference from its variance; the op table has no op for it. */
MAP1(deviation, vf_sqrt(vf_add(x, vf_set(p->alpha))))

/* Quantises: the quotient in f32, ties to even; NaN gives the zero point. a: floats, b: scales, c: zero points. */
static void tile_quantize(CPU_TILE_ARGS) {
  const float *x = a, *scale = b;
  const int64_t *zero = c;
  int64_t *to = dst;
  double lo = (double)p->lo, hi = (double)p->hi;
  for (size_t i = 0; i < n; i++) {
    float q = x[i] / scale[i];
    double code = (q != q ? 0.0 : nearbyint((double)q)) + (double)zero[i];
    to[i] = code <= lo ? p->lo : code >= hi ? p->hi : (int64_t)code;
  }
}

/* clang-format off */
const cpu_tile_ops CPU_TABLE(cpu_tile_floats) = {.op = {
#define UNARY(name, types, traits, attrs, formula, doc) [RLX_OP_##name] = tile_##name,
#include "ir/unary.def"
#undef UNARY
#define COMPARE(name, operator, traits, doc) [RLX_OP_##name] = tile_##name,
#define BINARY(name, types, traits, float_formula, int_formula, doc) [RLX_OP_##name] = TILE_OF_##types(name),
#define TILE_OF_NUMBER(name) tile_##name
#define TILE_OF_FLOAT(name) tile_##name
#define TILE_OF_INTEGER(name) NULL
#define TILE_OF_BOOLEAN(name) NULL
#include "ir/binary.def"
#undef BINARY
#undef COMPARE
  [RLX_OP_fma] = tile_fma, [RLX_OP_where] = tile_where, [RLX_OP_clamp] = tile_clamp,
  [RLX_OP_quantize] = tile_quantize, [RLX_OP_batch_norm_inference] = tile_deviation,
}};
/* clang-format on */
