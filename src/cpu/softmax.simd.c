/* Vector loops of softmax and log_softmax. */
#include "cpu/math.h"
#include "cpu/norm.h"

/* vf_max returns its second operand where one is NaN, so NaN in x is ignored. */
static float row_max(const float *x, size_t n) {
  vf m0 = vf_set(-INFINITY), m1 = m0, m2 = m0, m3 = m0;
  size_t i = 0;
  for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
    m0 = vf_max(vf_load(x + i), m0);
    m1 = vf_max(vf_load(x + i + VF_LANES), m1);
    m2 = vf_max(vf_load(x + i + 2 * VF_LANES), m2);
    m3 = vf_max(vf_load(x + i + 3 * VF_LANES), m3);
  }
  for (; i + VF_LANES <= n; i += VF_LANES) m0 = vf_max(vf_load(x + i), m0);
  float m = vf_hmax(vf_max(vf_max(m0, m1), vf_max(m2, m3)));
  for (; i < n; i++) m = x[i] > m ? x[i] : m;
  return m;
}

static float row_exp_sum(float *y, const float *x, size_t n, float max) {
  vf top = vf_set(max), s0 = vf_zero(), s1 = s0;
  size_t i = 0;
  for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
    vf e0 = vf_exp(vf_sub(vf_load(x + i), top)), e1 = vf_exp(vf_sub(vf_load(x + i + VF_LANES), top));
    s0 = vf_add(s0, e0), s1 = vf_add(s1, e1);
    if (y) vf_store(y + i, e0), vf_store(y + i + VF_LANES, e1);
  }
  while (i < n) {
    size_t m = n - i < VF_LANES ? n - i : VF_LANES;
    vf e = vf_exp(vf_sub(vf_load_upto(x + i, m), top));
    if (m < VF_LANES) e = vf_select(vm_first(m), e, vf_zero());
    s0 = vf_add(s0, e);
    if (y) vf_store_upto(y + i, e, m);
    i += m;
  }
  return vf_sum(vf_add(s0, s1));
}

static void row_scale(float *y, const float *x, size_t n, float factor) {
  vf f = vf_set(factor);
  VF_EACH(y, n, vf_mul(vf_load_upto(x + i, m), f));
}

static void row_exp_scale(float *y, const float *x, size_t n, float max, float factor) {
  vf top = vf_set(max), f = vf_set(factor);
  VF_EACH(y, n, vf_mul(vf_exp(vf_sub(vf_load_upto(x + i, m), top)), f));
}

static void row_subtract(float *y, const float *x, size_t n, float max, float log_sum) {
  vf top = vf_set(max), rest = vf_set(log_sum);
  VF_EACH(y, n, vf_sub(vf_sub(vf_load_upto(x + i, m), top), rest));
}

static void column_max(float *acc, const float *x, size_t n) {
  VF_EACH(acc, n, vf_max(vf_load_upto(x + i, m), vf_load_upto(acc + i, m)));
}

static void column_exp_sum(float *acc, const float *x, size_t n, const float *max) {
  VF_EACH(acc, n, vf_add(vf_load_upto(acc + i, m), vf_exp(vf_sub(vf_load_upto(x + i, m), vf_load_upto(max + i, m)))));
}

static void column_exp_scale(float *y, const float *x, size_t n, const float *max, const float *factor) {
  VF_EACH(y, n, vf_mul(vf_exp(vf_sub(vf_load_upto(x + i, m), vf_load_upto(max + i, m))), vf_load_upto(factor + i, m)));
}

static void column_subtract(float *y, const float *x, size_t n, const float *max, const float *log_sum) {
  VF_EACH(y, n, vf_sub(vf_sub(vf_load_upto(x + i, m), vf_load_upto(max + i, m)), vf_load_upto(log_sum + i, m)));
}

const cpu_softmax_fns CPU_TABLE(cpu_softmax) = {.max = row_max,
                                                .exp_sum = row_exp_sum,
                                                .scale = row_scale,
                                                .exp_scale = row_exp_scale,
                                                .subtract = row_subtract,
                                                .column_max = column_max,
                                                .column_exp_sum = column_exp_sum,
                                                .column_exp_scale = column_exp_scale,
                                                .column_subtract = column_subtract};
