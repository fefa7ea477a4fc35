/* Reduces tiles of floats and integers, along a row or column by column.
 *
 * A row of floats is summed in f32, in as many partial sums as four vectors have lanes. Rows are short (reduce.c splits
 * them), so the partial sums are of few terms, and sums across rows are in f64. */
#include "cpu/reduce.h"
#include "cpu/math.h"
#include "ir/scalar.h"

/* ---- rows of floats ---- */

static void row_sum(cpu_acc *acc, const void *v, size_t n) {
  const float *x = v;
  vf s0 = vf_zero(), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
    for (size_t ahead = 0; ahead < 4 * VF_LANES; ahead += 16) __builtin_prefetch(x + i + ahead + 4 * VF_AHEAD);
    s0 = vf_add(s0, vf_load(x + i));
    s1 = vf_add(s1, vf_load(x + i + VF_LANES));
    s2 = vf_add(s2, vf_load(x + i + 2 * VF_LANES));
    s3 = vf_add(s3, vf_load(x + i + 3 * VF_LANES));
  }
  for (; i + VF_LANES <= n; i += VF_LANES) s0 = vf_add(s0, vf_load(x + i));
  if (i < n) s1 = vf_add(s1, vf_load_n(x + i, n - i));
  float sum = vf_sum(vf_add(vf_add(s0, s1), vf_add(s2, s3)));
  if (sum - sum == 0) {
    acc->f += (double)sum;
    return;
  }
  /* Overflow or a non-finite value: f64 may be finite. */
  for (i = 0; i < n; i++) acc->f += (double)x[i];
}

static void row_prod(cpu_acc *acc, const void *v, size_t n) {
  const float *x = v;
  double p[4] = {acc->f, 1, 1, 1};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) p[k] *= (double)x[i + (size_t)k];
  for (; i < n; i++) p[0] *= (double)x[i];
  acc->f = p[0] * p[1] * (p[2] * p[3]);
}

/* vf_max and vf_min drop NaN, so it is tracked separately. */
#define ROW_EXTREME(name, start, vector, across)                             \
  static void row_##name(cpu_acc *acc, const void *v, size_t n) {            \
    const float *x = v;                                                      \
    vf m0 = vf_set(start), m1 = m0;                                          \
    vm nan = vf_is_nan(m0);                                                  \
    size_t i = 0;                                                            \
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {                       \
      vf a = vf_load(x + i), b = vf_load(x + i + VF_LANES);                  \
      m0 = vector(m0, a), m1 = vector(m1, b);                                \
      nan = vm_or(nan, vm_or(vf_is_nan(a), vf_is_nan(b)));                   \
    }                                                                        \
    double result = (double)across(vector(m0, m1));                          \
    if (vm_any(nan)) result = (double)NAN;                                   \
    for (; i < n; i++) result = rlx_scalar_##name##_f(result, (double)x[i]); \
    acc->f = rlx_scalar_##name##_f(acc->f, result);                          \
  }
ROW_EXTREME(max, -INFINITY, vf_max, vf_hmax)
ROW_EXTREME(min, INFINITY, vf_min, vf_hmin)

/* ---- columns of floats ---- */

/* `doubles` is the formula of a (the accumulators) and x as f64 vectors; `scalar` is the same for the remaining
 * elements. */
#define COLUMNS_FLOATS(name, doubles, scalar)                                       \
  static void floats_columns_##name(cpu_acc *acc, const void *v, size_t n) {        \
    const float *xs = v;                                                            \
    size_t i = 0;                                                                   \
    for (; i + VF_LANES <= n; i += VF_LANES) {                                      \
      vd a;                                                                         \
      memcpy(&a, acc + i, sizeof a);                                                \
      vf x = vf_load_upto_ahead(xs + i, VF_LANES);                                  \
      a = doubles;                                                                  \
      memcpy(acc + i, &a, sizeof a);                                                \
    }                                                                               \
    for (; i < n; i++) acc[i].f = rlx_scalar_##scalar##_f(acc[i].f, (double)xs[i]); \
  }
COLUMNS_FLOATS(sum, a + vd_of_vf(x), add)
COLUMNS_FLOATS(prod, a *vd_of_vf(x), mul)
/* These accumulators hold f32 values, so converting them to f32 is exact. */
COLUMNS_FLOATS(max, vd_of_vf(vf_max_nan(vf_of_vd(a), x)), max)
COLUMNS_FLOATS(min, vd_of_vf(vf_min_nan(vf_of_vd(a), x)), min)

/* ---- integers, by the scalar formulas ---- */

#define COLUMNS_INTS(name, formula)                                        \
  static void ints_columns_##name(cpu_acc *acc, const void *v, size_t n) { \
    const int64_t *x = v;                                                  \
    for (size_t i = 0; i < n; i++) acc[i].i = formula(acc[i].i, x[i]);     \
  }
#define MAX_I(a, b) rlx_scalar_max_i((a), (b), 64)
#define MIN_I(a, b) rlx_scalar_min_i((a), (b), 64)
COLUMNS_INTS(sum, int_add)
COLUMNS_INTS(prod, int_mul)
COLUMNS_INTS(max, MAX_I)
COLUMNS_INTS(min, MIN_I)

#define ROW_INTS(name, formula)                                        \
  static void ints_row_##name(cpu_acc *acc, const void *v, size_t n) { \
    const int64_t *x = v;                                              \
    int64_t a = acc->i;                                                \
    for (size_t i = 0; i < n; i++) a = formula(a, x[i]);               \
    acc->i = a;                                                        \
  }
ROW_INTS(sum, int_add)
ROW_INTS(prod, int_mul)
ROW_INTS(max, MAX_I)
ROW_INTS(min, MIN_I)

#define FOLDS(prefix)                                                                              \
  {                                                                                                \
    [CPU_FOLD_SUM] = prefix##_sum, [CPU_FOLD_PROD] = prefix##_prod, [CPU_FOLD_MAX] = prefix##_max, \
    [CPU_FOLD_MIN] = prefix##_min                                                                  \
  }
const cpu_fold_table CPU_TABLE(cpu_folds) = {
  .floats = {.row = FOLDS(row), .columns = FOLDS(floats_columns)},
  .ints = {.row = FOLDS(ints_row), .columns = FOLDS(ints_columns)},
};
