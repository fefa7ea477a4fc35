/* Inner loops of convolutions and pools: see conv.h. */
#include "cpu/conv.h"

#include "cpu/simd.h"

enum {
  VECS = 3,
  COLUMNS = VECS * VF_LANES,
  CHANNELS = CPU_CONV_CHANNELS,
  TOGETHER = VF_LANES == 16 ? 8 : 4 /* channels whose sums fit the registers at once */
};

static void finish(rlx_dtype type, const float *x, float bias, void *dst, size_t n) {
  vf b = vf_set(bias);
  for (size_t i = 0; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf v = vf_add(vf_load_n(x + i, left), b);
    vf_store_as_n(type, dst, i, v, left);
  }
}

/* ---- panels ---- */

static void fill_row(rlx_dtype type, const void *plane, const cpu_conv_run *runs, size_t n_runs, float *row) {
  size_t covered = 0;
  for (size_t i = 0; i < n_runs; i++) covered += runs[i].length;
  if (covered < COLUMNS)
    for (size_t j = 0; j < VECS; j++) vf_store(row + j * VF_LANES, vf_zero());
  for (size_t i = 0; i < n_runs; i++) {
    const cpu_conv_run *r = &runs[i];
    if (r->stride == 1 && type == RLX_F32) {
      const float *from = (const float *)plane + r->from;
      size_t j = 0;
      for (; j + VF_LANES <= r->length; j += VF_LANES) vf_store(row + r->to + j, vf_load(from + j));
      if (j < r->length) vf_store_n(row + r->to + j, vf_load_n(from + j, r->length - j), r->length - j);
    } else {
      for (size_t j = 0; j < r->length; j++) row[r->to + j] = vf_get_as(type, plane, r->from + j * r->stride);
    }
  }
}

CPU_INLINE void multiply_some(const float *w, const float *panel, size_t rows, bool add, float *acc) {
  vf sum[TOGETHER][VECS];
  for (int c = 0; c < TOGETHER; c++)
    for (int j = 0; j < VECS; j++) sum[c][j] = add ? vf_load(acc + c * COLUMNS + j * VF_LANES) : vf_zero();
  for (size_t t = 0; t < rows; t++) {
    vf x[VECS];
    for (int j = 0; j < VECS; j++) x[j] = vf_load(panel + t * COLUMNS + (size_t)(j * VF_LANES));
    for (int c = 0; c < TOGETHER; c++) {
      vf b = vf_set(w[t * CHANNELS + (size_t)c]);
      for (int j = 0; j < VECS; j++) sum[c][j] = vf_fma(b, x[j], sum[c][j]);
    }
  }
  for (int c = 0; c < TOGETHER; c++)
    for (int j = 0; j < VECS; j++) vf_store(acc + c * COLUMNS + j * VF_LANES, sum[c][j]);
}

static void multiply(const float *w, const float *panel, size_t rows, bool add, float *acc) {
  for (int c = 0; c < CHANNELS; c += TOGETHER) multiply_some(w + c, panel, rows, add, acc + c * COLUMNS);
}

/* ---- rows ---- */

/* Two vectors at a time: a sum stays in its register over all taps. */
static void add_taps(const float *w, const float *const *x, size_t taps, float *y, size_t n) {
  size_t i = 0;
  for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
    vf a = vf_zero(), b = vf_zero();
    for (size_t t = 0; t < taps; t++) {
      vf v = vf_set(w[t]);
      a = vf_fma(v, vf_load(x[t] + i), a);
      b = vf_fma(v, vf_load(x[t] + i + VF_LANES), b);
    }
    vf_store(y + i, a);
    vf_store(y + i + VF_LANES, b);
  }
  for (; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf a = vf_zero();
    for (size_t t = 0; t < taps; t++) a = vf_fma(vf_set(w[t]), vf_load_n(x[t] + i, left), a);
    vf_store_n(y + i, a, left);
  }
}

static void take_max(const float *x, size_t stride, float *y, size_t n) {
  size_t i = 0;
  for (; stride == 1 && i + VF_LANES <= n; i += VF_LANES) {
    vf a = vf_load(x + i), b = vf_load(y + i);
    vf_store(y + i, vf_select(vm_or(vf_lt(b, a), vf_is_nan(a)), a, b)); /* a NaN in y is below nothing, and stays */
  }
  for (; i < n; i++) {
    float a = x[i * stride];
    if (a > y[i] || a != a) y[i] = a;
  }
}

static void take_sum(const float *x, size_t stride, float *y, size_t n) {
  size_t i = 0;
  for (; stride == 1 && i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, vf_add(vf_load(y + i), vf_load(x + i)));
  for (; i < n; i++) y[i] += x[i * stride];
}

const cpu_conv_table CPU_TABLE(cpu_conv) = {.columns = COLUMNS,
                                            .fill_row = fill_row,
                                            .multiply = multiply,
                                            .finish = finish,
                                            .add_taps = add_taps,
                                            .take_max = take_max,
                                            .take_sum = take_sum};
