/* Vector loops of the norms. Sums use four vectors; norm.c adds the sums of chunks in f64. */
#include "cpu/norm.h"
#include "cpu/math.h"

CPU_INLINE vf centred(vf x, vf mean, vf low) { return vf_sub(vf_sub(x, mean), low); }

static void row_add(float *y, const float *x, const float *added, size_t n, float shift) {
  vf from = vf_set(shift);
  VF_EACH(y, n, vf_add(vf_sub(vf_load_upto(x + i, m), from), vf_load_upto(added + i, m)));
}

/* The sum of `term` of x over n elements; lanes past the end are excluded. */
#define ROW_SUM(term)                                                                \
  vf s0 = vf_zero(), s1 = s0, s2 = s0, s3 = s0;                                      \
  size_t i = 0;                                                                      \
  for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {                                 \
    s0 = term(s0, vf_load(x + i));                                                   \
    s1 = term(s1, vf_load(x + i + VF_LANES));                                        \
    s2 = term(s2, vf_load(x + i + 2 * VF_LANES));                                    \
    s3 = term(s3, vf_load(x + i + 3 * VF_LANES));                                    \
  }                                                                                  \
  for (; i + VF_LANES <= n; i += VF_LANES) s0 = term(s0, vf_load(x + i));            \
  if (i < n) s1 = vf_select(vm_first(n - i), term(s1, vf_load_n(x + i, n - i)), s1); \
  return vf_sum(vf_add(vf_add(s0, s1), vf_add(s2, s3)))

static float row_sum(const float *x, size_t n, float shift) {
  vf from = vf_set(shift);
#define TERM(s, v) vf_add(s, vf_sub(v, from))
  ROW_SUM(TERM);
#undef TERM
}

CPU_INLINE vf add_square(vf s, vf x, vf mean, vf low) {
  vf d = centred(x, mean, low);
  return vf_fma(d, d, s);
}
static float row_squares(const float *x, size_t n, const cpu_norm_stats *st) {
  vf mean = vf_set(st->mean), low = vf_set(st->low);
#define TERM(s, v) add_square(s, v, mean, low)
  ROW_SUM(TERM);
#undef TERM
}

static void row_scale(float *y, const float *x, size_t n, const cpu_norm_stats *s, const float *gamma,
                      const float *beta) {
  vf mean = vf_set(s->mean), low = vf_set(s->low), inverse = vf_set(s->inverse);
#define NORMAL vf_mul(centred(vf_load_upto(x + i, m), mean, low), inverse)
  if (gamma && beta) VF_EACH(y, n, vf_fma(NORMAL, vf_load_upto(gamma + i, m), vf_load_upto(beta + i, m)));
  else if (gamma) VF_EACH(y, n, vf_mul(NORMAL, vf_load_upto(gamma + i, m)));
  else if (beta) VF_EACH(y, n, vf_add(NORMAL, vf_load_upto(beta + i, m)));
  else VF_EACH(y, n, NORMAL);
}

static void row_scale_one(float *y, const float *x, size_t n, const cpu_norm_stats *s, float gamma, float beta) {
  vf mean = vf_set(s->mean), low = vf_set(s->low), inverse = vf_set(s->inverse), g = vf_set(gamma), b = vf_set(beta);
  VF_EACH(y, n, vf_fma(NORMAL, g, b));
#undef NORMAL
}

/* ---- columns ---- */

static void column_sum(float *acc, const float *x, size_t n, const float *shift) {
  VF_EACH(acc, n, vf_add(vf_load_upto(acc + i, m), vf_sub(vf_load_upto(x + i, m), vf_load_upto(shift + i, m))));
}

static void column_squares(float *acc, const float *x, size_t n, const float *mean, const float *low) {
  VF_EACH(
    acc, n,
    add_square(vf_load_upto(acc + i, m), vf_load_upto(x + i, m), vf_load_upto(mean + i, m), vf_load_upto(low + i, m)));
}

static void column_scale(float *y, const float *x, size_t n, const float *mean, const float *low, const float *inverse,
                         float gamma, float beta) {
  vf g = vf_set(gamma), b = vf_set(beta);
#define NORMAL                                                                                 \
  vf_mul(centred(vf_load_upto(x + i, m), vf_load_upto(mean + i, m), vf_load_upto(low + i, m)), \
         vf_load_upto(inverse + i, m))
  VF_EACH(y, n, vf_fma(NORMAL, g, b));
#undef NORMAL
}

const cpu_norm_fns CPU_TABLE(cpu_norm) = {.add = row_add,
                                          .sum = row_sum,
                                          .squares = row_squares,
                                          .scale = row_scale,
                                          .scale_one = row_scale_one,
                                          .column_sum = column_sum,
                                          .column_squares = column_squares,
                                          .column_scale = column_scale};
