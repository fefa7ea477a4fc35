/* Inner loops of attention; attention.h describes the layouts of the scores. */
#include "cpu/attention.h"

#include "cpu/math.h"
#include "quant/blocks.h"

enum {
  ROWS = 2 * VF_LANES,
  KEYS = CPU_ATTENTION_KEYS,
  KEY_GROUP = VF_REGISTERS / 4, /* keys at once, two vectors each: as many sums as registers allow */
  VALUE_VECS = VF_REGISTERS / 8,
  VALUE_ROWS = 4
};

/* ---- scores ---- */

CPU_INLINE void score_keys(const float *qt, const float *k, size_t k_row, size_t d, float *s, const size_t group) {
  vf low[KEY_GROUP], high[KEY_GROUP];
  VF_UNROLL
  for (size_t i = 0; i < group; i++) low[i] = high[i] = vf_zero();
  for (size_t e = 0; e < d; e++) {
    vf q_low = vf_load(qt + e * ROWS), q_high = vf_load(qt + e * ROWS + VF_LANES);
    VF_UNROLL
    for (size_t i = 0; i < group; i++) {
      vf x = vf_set(k[i * k_row + e]);
      low[i] = vf_fma(x, q_low, low[i]);
      high[i] = vf_fma(x, q_high, high[i]);
    }
  }
  VF_UNROLL
  for (size_t i = 0; i < group; i++) {
    vf_store(s + i * ROWS, low[i]);
    vf_store(s + i * ROWS + VF_LANES, high[i]);
  }
}

static void scores_lanes(const float *qt, const float *k, size_t k_row, size_t keys, size_t d, float *s) {
  size_t i = 0;
  for (; i + KEY_GROUP <= keys; i += KEY_GROUP) score_keys(qt, k + i * k_row, k_row, d, s + i * ROWS, KEY_GROUP);
  for (; i < keys; i++) score_keys(qt, k + i * k_row, k_row, d, s + i * ROWS, 1);
}

/* Dot products of `group` rows with one key, which is read once. */
CPU_INLINE void dot_rows(const float *q, const float *k, size_t d, float *s, const size_t group) {
  vf sum[4];
  size_t e = 0;
  VF_UNROLL
  for (size_t r = 0; r < group; r++) sum[r] = vf_zero();
  for (; e + VF_LANES <= d; e += VF_LANES) {
    vf x = vf_load(k + e);
    VF_UNROLL
    for (size_t r = 0; r < group; r++) sum[r] = vf_fma(x, vf_load(q + r * d + e), sum[r]);
  }
  if (e < d) {
    vf x = vf_load_n(k + e, d - e);
    VF_UNROLL
    for (size_t r = 0; r < group; r++) sum[r] = vf_fma(x, vf_load_n(q + r * d + e, d - e), sum[r]);
  }
  VF_UNROLL
  for (size_t r = 0; r < group; r++) s[r * KEYS] = vf_sum(sum[r]);
}

static void scores_rows(const float *q, size_t rows, const float *k, size_t k_row, size_t keys, size_t d, float *s) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4)
    for (size_t i = 0; i < keys; i++) dot_rows(q + r * d, k + i * k_row, d, s + r * KEYS + i, 4);
  for (; r < rows; r++)
    for (size_t i = 0; i < keys; i++) dot_rows(q + r * d, k + i * k_row, d, s + r * KEYS + i, 1);
}

static void soft_cap(float *s, size_t n, float cap) {
  vf c = vf_set(cap), inverse = vf_set(1 / cap);
  for (size_t i = 0; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf_store_n(s + i, vf_mul(c, vf_tanh(vf_mul(inverse, vf_load_n(s + i, left)))), left);
  }
}

/* Rows of a KV cache are far apart, and reading one is short: prefetch the row that is AHEAD rows later. */
enum { AHEAD = 32 };
#define WIDEN(name, TYPE, LOAD)                                                                                 \
  static void name(const uint16_t *from, size_t from_row, size_t n, size_t width, float *to) {                  \
    for (size_t i = 0; i < n; i++, from += from_row, to += width) {                                             \
      size_t e = 0;                                                                                             \
      for (size_t line = 0; line < width; line += 32) __builtin_prefetch(from + AHEAD * from_row + line, 0, 2); \
      for (; e + 2 * VF_LANES <= width; e += 2 * VF_LANES) {                                                    \
        vf low, high;                                                                                           \
        vf_load_two_as(TYPE, from, e, &low, &high);                                                             \
        vf_store(to + e, low), vf_store(to + e + VF_LANES, high);                                               \
      }                                                                                                         \
      for (; e + VF_LANES <= width; e += VF_LANES) vf_store(to + e, LOAD(from + e));                            \
      if (e < width) vf_store_n(to + e, LOAD##_n(from + e, width - e), width - e);                              \
    }                                                                                                           \
  }
WIDEN(widen_f16, RLX_F16, vf_load_f16)
WIDEN(widen_bf16, RLX_BF16, vf_load_bf16)

/* Blocks of 32 elements: an f16 scale, then codes. */
static void widen_q8_0(const uint8_t *from, size_t from_row, size_t n, size_t width, float *to) {
  for (size_t i = 0; i < n; i++, from += from_row / 32 * Q8_0_BYTES)
    for (size_t e = 0; e < width; e += 32) {
      const uint8_t *block = from + e / 32 * Q8_0_BYTES;
      const vf d = vf_set(load_f16(block + Q8_0_D));
      __builtin_prefetch(block + AHEAD * (from_row / 32 * Q8_0_BYTES), 0, 2);
      VF_UNROLL
      for (size_t k = 0; k < 32; k += VF_LANES, to += VF_LANES)
        vf_store(to, vf_mul(d, vf_of_vi(vi_load_i8((const int8_t *)block + Q8_0_QS + k))));
    }
}

/* The low nibbles of its 16 bytes are the first half of a block; codes are 8 too large. */
static void widen_q4_0(const uint8_t *from, size_t from_row, size_t n, size_t width, float *to) {
  for (size_t i = 0; i < n; i++, from += from_row / 32 * Q4_0_BYTES)
    for (size_t e = 0; e < width; e += 32, to += 32) {
      const uint8_t *block = from + e / 32 * Q4_0_BYTES;
      const vf d = vf_set(load_f16(block + Q4_0_D));
      __builtin_prefetch(block + AHEAD * (from_row / 32 * Q4_0_BYTES), 0, 2);
      VF_UNROLL
      for (size_t k = 0; k < 16; k += VF_LANES) {
        const vi bytes = vi_load_u8(block + Q4_0_QS + k), low = vi_and(bytes, vi_set(15)), high = vi_shr(bytes, 4);
        vf_store(to + k, vf_mul(d, vf_of_vi(vi_sub(low, vi_set(8)))));
        vf_store(to + 16 + k, vf_mul(d, vf_of_vi(vi_sub(high, vi_set(8)))));
      }
    }
}

static void widen(rlx_dtype type, const void *from, size_t from_row, size_t n, size_t width, float *to) {
  switch (type) {
    case RLX_F16: widen_f16(from, from_row, n, width, to); break;
    case RLX_Q8_0: widen_q8_0(from, from_row, n, width, to); break;
    case RLX_Q4_0: widen_q4_0(from, from_row, n, width, to); break;
    default: widen_bf16(from, from_row, n, width, to);
  }
}

static void divide(float *x, size_t n, float by) {
  vf d = vf_set(by);
  size_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store(x + i, vf_div(vf_load(x + i), d));
  for (; i < n; i++) x[i] /= by;
}

/* ---- online softmax of one tile ---- */

/* A row without visible keys so far has m = -inf; its weights are e^(-inf - 0) = 0. */
CPU_INLINE vf finite_or_zero(vf m) { return vf_select(vf_eq(m, vf_set(-INFINITY)), vf_zero(), m); }

CPU_INLINE void softmax_vector(float *s, size_t keys, float *m, float *l, float *rescale) {
  vf old = vf_load(m), max = old, sum = vf_zero();
  for (size_t i = 0; i < keys; i++) max = vf_max(vf_load(s + i * ROWS), max); /* vf_max drops NaN scores */
  vf base = finite_or_zero(max), factor = vf_exp(vf_sub(old, base));
  for (size_t i = 0; i < keys; i++) {
    vf p = vf_exp(vf_sub(vf_load(s + i * ROWS), base));
    sum = vf_add(sum, p);
    vf_store(s + i * ROWS, p);
  }
  vf_store(m, max);
  vf_store(l, vf_fma(vf_load(l), factor, sum));
  vf_store(rescale, factor);
}

static void softmax_lanes(float *s, size_t keys, float *m, float *l, float *rescale) {
  softmax_vector(s, keys, m, l, rescale);
  softmax_vector(s + VF_LANES, keys, m + VF_LANES, l + VF_LANES, rescale + VF_LANES);
}

static void softmax_row(float *s, size_t keys, float *m, float *l, float *rescale) {
  vf max = vf_set(-INFINITY), sum = vf_zero();
  size_t whole = keys / VF_LANES * VF_LANES, left = keys - whole;
  for (size_t i = 0; i < whole; i += VF_LANES) max = vf_max(vf_load(s + i), max);
  float top = vf_hmax(max);
  for (size_t i = whole; i < keys; i++) top = s[i] > top ? s[i] : top;
  if (!(top > *m)) top = *m;
  float base = top == -INFINITY ? 0 : top;
  vf b = vf_set(base);
  for (size_t i = 0; i < whole; i += VF_LANES) {
    vf p = vf_exp(vf_sub(vf_load(s + i), b));
    sum = vf_add(sum, p);
    vf_store(s + i, p);
  }
  float total = vf_sum(sum);
  if (left) {
    float p[VF_LANES];
    vf_store(p, vf_exp(vf_sub(vf_load_n(s + whole, left), b)));
    for (size_t i = 0; i < left; i++) total += s[whole + i] = p[i];
  }
  float factor[VF_LANES];
  vf_store(factor, vf_exp(vf_set(*m - base)));
  *rescale = factor[0];
  *l = *l * factor[0] + total;
  *m = top;
}

static void softmax_rows(float *s, size_t rows, size_t keys, float *m, float *l, float *rescale) {
  for (size_t r = 0; r < rows; r++) softmax_row(s + r * KEYS, keys, m + r, l + r, rescale + r);
}

/* ---- values ---- */

/* Accumulates `group` rows by `vecs` vectors of the result over all keys of the tile. */
CPU_INLINE void add_tile(const float *p, size_t p_key, size_t p_row, const float *v, size_t v_row, size_t keys,
                         size_t dv, const float *rescale, float *acc, const size_t group, const size_t vecs) {
  vf sum[VALUE_ROWS][VALUE_VECS];
  VF_UNROLL
  for (size_t r = 0; r < group; r++) {
    VF_UNROLL
    for (size_t j = 0; j < vecs; j++) sum[r][j] = vf_mul(vf_set(rescale[r]), vf_load(acc + r * dv + j * VF_LANES));
  }
  for (size_t i = 0; i < keys; i++) {
    vf x[VALUE_VECS];
    VF_UNROLL
    for (size_t j = 0; j < vecs; j++) x[j] = vf_load(v + i * v_row + j * VF_LANES);
    VF_UNROLL
    for (size_t r = 0; r < group; r++) {
      vf w = vf_set(p[i * p_key + r * p_row]);
      VF_UNROLL
      for (size_t j = 0; j < vecs; j++) sum[r][j] = vf_fma(w, x[j], sum[r][j]);
    }
  }
  VF_UNROLL
  for (size_t r = 0; r < group; r++) {
    VF_UNROLL
    for (size_t j = 0; j < vecs; j++) vf_store(acc + r * dv + j * VF_LANES, sum[r][j]);
  }
}

/* The last n < VF_LANES columns of one row. */
static void add_tail(const float *p, size_t p_key, const float *v, size_t v_row, size_t keys, float rescale, float *acc,
                     size_t n) {
  vf sum = vf_mul(vf_set(rescale), vf_load_n(acc, n));
  for (size_t i = 0; i < keys; i++) sum = vf_fma(vf_set(p[i * p_key]), vf_load_n(v + i * v_row, n), sum);
  vf_store_n(acc, sum, n);
}

CPU_INLINE void add_columns(const float *p, size_t p_key, size_t p_row, const float *v, size_t v_row, size_t keys,
                            size_t rows, size_t dv, const float *rescale, float *acc, const size_t vecs) {
  size_t r = 0;
  for (; r + VALUE_ROWS <= rows; r += VALUE_ROWS)
    add_tile(p + r * p_row, p_key, p_row, v, v_row, keys, dv, rescale + r, acc + r * dv, VALUE_ROWS, vecs);
  for (; r < rows; r++) add_tile(p + r * p_row, p_key, p_row, v, v_row, keys, dv, rescale + r, acc + r * dv, 1, vecs);
}

static void add_values(const float *p, size_t p_key, size_t p_row, const float *v, size_t v_row, size_t keys,
                       size_t rows, size_t dv, const float *rescale, float *acc) {
  size_t e = 0;
  for (; e + VALUE_VECS * VF_LANES <= dv; e += VALUE_VECS * VF_LANES)
    add_columns(p, p_key, p_row, v + e, v_row, keys, rows, dv, rescale, acc + e, VALUE_VECS);
  for (; e + VF_LANES <= dv; e += VF_LANES)
    add_columns(p, p_key, p_row, v + e, v_row, keys, rows, dv, rescale, acc + e, 1);
  for (size_t r = 0; e < dv && r < rows; r++)
    add_tail(p + r * p_row, p_key, v + e, v_row, keys, rescale[r], acc + r * dv + e, dv - e);
}

const cpu_attention_table CPU_TABLE(cpu_attention) = {
  .rows = ROWS,
  .skinny_rows = VF_LANES / 4,
  .scores_lanes = scores_lanes,
  .scores_rows = scores_rows,
  .soft_cap = soft_cap,
  .widen = widen,
  .divide = divide,
  .softmax_lanes = softmax_lanes,
  .softmax_rows = softmax_rows,
  .add_values = add_values,
};
