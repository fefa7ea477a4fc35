/* Products with packed weights: schemes with scale inputs, mixture-of-experts weights, 8-bit integers.
 *
 * A weight is never unpacked as a whole: dequant_matmul decodes one column and uses it for every row of x; the grouped
 * products decode one expert and use it for every row that selects it. The integer products sum in 64 bits, wrap to
 * what an i32 accumulator would hold, and are converted once, in requantise(). */
#include <math.h>

#include "ir/conv_dims.h"
#include "quant/codes.h"
#include "quant/quant.h"
#include "ref/product.h"

/* ---- dequant_matmul ---- */

#define NVFP4_BLOCK 16

typedef struct packed {
  int32_t scheme;
  const rlx_tensor *w, *scale, *zero;
  double global;
  size_t n;     /* columns */
  size_t block; /* elements along k that share a scale */
} packed;

/* Two codes per byte along k, the low nibble first. */
static uint8_t nibble(const packed *p, size_t k, size_t j) {
  uint8_t byte = ((const uint8_t *)p->w->data)[k / 2 * p->n + j];
  return k % 2 ? byte >> 4 : byte & 15;
}

/* Element (k, j) of the weight. */
static double unpack(const packed *p, size_t k, size_t j) {
  size_t at = k * p->n + j, part = k / p->block * p->n + j;
  switch (p->scheme) {
    case RLX_SCHEME_INT8: return rlx_load(p->w, at) * rlx_load(p->scale, part);
    case RLX_SCHEME_INT8_ASYM: return (rlx_load(p->w, at) - rlx_load(p->zero, part)) * rlx_load(p->scale, part);
    case RLX_SCHEME_INT4:
      return (nibble(p, k, j) - (p->zero ? rlx_load(p->zero, part) : 8.0)) * rlx_load(p->scale, part);
    case RLX_SCHEME_FP8_E4M3:
      return (double)rlx_e4m3_to_f32(((const uint8_t *)p->w->data)[at]) * (p->scale ? rlx_load(p->scale, j) : 1.0);
    case RLX_SCHEME_FP8_E5M2:
      return (double)rlx_e5m2_to_f32(((const uint8_t *)p->w->data)[at]) * (p->scale ? rlx_load(p->scale, j) : 1.0);
    default: /* nvfp4 */
      return (double)rlx_e2m1_to_f32(nibble(p, k, j)) *
             (double)rlx_e4m3_to_f32(((const uint8_t *)p->scale->data)[part]) * p->global;
  }
}

rlx_status rlx_ref_dequant_matmul(rlx_ref_call *c) {
  const rlx_attrs_dequant_matmul *attrs = c->attrs;
  const rlx_tensor *x = c->in[0], *global = rlx_ref_in(c, 4);
  size_t count = rlx_tensor_count(c->out), k = (size_t)x->shape.v[x->shape.n - 1];
  if (count == 0) return RLX_OK;
  packed p = {.scheme = attrs->scheme, .w = c->in[1], .scale = rlx_ref_in(c, 2), .zero = rlx_ref_in(c, 3)};
  p.global = global ? rlx_load(global, 0) : 1.0;
  p.n = (size_t)p.w->shape.v[1];
  p.block = attrs->block ? (size_t)attrs->block : k + 1; /* k + 1: one block, even for k = 0 */
  if (p.scheme == RLX_SCHEME_NVFP4) p.block = NVFP4_BLOCK;
  double *column;
  RLX_TRY(rlx_ref_scratch(c, k, sizeof *column, &column));
  for (size_t j = 0; j < p.n && rlx_ref_continues(c, 1); j++) {
    RLX_REF_EACH(c, i, k) column[i] = unpack(&p, i, j);
    for (size_t r = 0; r < count / p.n && rlx_ref_continues(c, 1); r++) {
      double sum = 0;
      RLX_REF_EACH(c, i, k) sum += rlx_load(x, r * k + i) * column[i];
      rlx_store(c->out, r * p.n + j, sum);
    }
  }
  return RLX_OK;
}

/* ---- experts ---- */

/* One expert of w [E, ..] as a tensor. A block type is decoded into `decoded`; otherwise it is a view. */
static rlx_status open_expert(rlx_ref_call *c, const rlx_tensor *w, size_t expert, float *decoded, rlx_tensor *out) {
  size_t experts = (size_t)w->shape.v[0], bytes = w->bytes / experts;
  *out = *w;
  out->shape.v[0] = 1;
  out->bytes = bytes;
  out->data = (char *)w->data + expert * bytes;
  if (!rlx_dtype_is_block(w->dtype)) return RLX_OK;
  RLX_TRY(rlx_ref_decode(c, w->dtype, out->data, decoded, rlx_tensor_count(out)));
  out->dtype = RLX_F32;
  out->data = decoded;
  return RLX_OK;
}

/* Memory for one decoded expert, if w needs decoding. */
static rlx_status expert_memory(rlx_ref_call *c, const rlx_tensor *w, float **out) {
  rlx_dims one = w->shape;
  one.v[0] = 1;
  return rlx_ref_scratch(c, rlx_dtype_is_block(w->dtype) ? rlx_dims_count(&one) : 0, sizeof **out, out);
}

static rlx_status check_experts(rlx_ref_call *c, const rlx_tensor *idx, int64_t experts) {
  RLX_REF_EACH(c, i, rlx_tensor_count(idx)) {
    int64_t e = rlx_load_int(idx, i);
    if (e < 0 || e >= experts)
      return RLX_FAIL(RLX_INVALID, "idx[%zu] is expert %lld of %lld", i, (long long)e, (long long)experts);
  }
  return RLX_OK;
}

static rlx_status grouped(rlx_ref_call *c, bool trans_b) {
  const rlx_tensor *x = c->in[0], *w = c->in[1], *idx = c->in[2];
  size_t m = (size_t)c->out->shape.v[0], n = (size_t)c->out->shape.v[1], k = (size_t)x->shape.v[1];
  RLX_TRY(check_experts(c, idx, w->shape.v[0]));
  if (m == 0 || n == 0 || c->stopped) return RLX_OK; /* after a stop not all indices are checked */
  float *decoded;
  double *row;
  rlx_operand x_values;
  RLX_TRY(expert_memory(c, w, &decoded));
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *row, &row));
  RLX_TRY(rlx_operand_open(c, x, &x_values));
  rlx_tensor expert = {0};
  rlx_operand expert_values = {0}; /* refers to expert */
  int64_t open = -1;               /* the decoded expert: adjacent rows often select the same */
  for (size_t i = 0; i < m && rlx_ref_continues(c, 1); i++) {
    if (rlx_load_int(idx, i) != open) {
      open = rlx_load_int(idx, i);
      RLX_TRY(open_expert(c, w, (size_t)open, decoded, &expert));
      RLX_TRY(rlx_operand_open(c, &expert, &expert_values));
    }
    rlx_dot_row(c, &x_values, i * k, &expert_values, 0, trans_b ? 1 : n, trans_b ? k : 1, k, n, row);
    RLX_REF_EACH(c, j, n) rlx_store(c->out, i * n + j, row[j]);
  }
  return RLX_OK;
}

rlx_status rlx_ref_grouped_matmul(rlx_ref_call *c) { return grouped(c, RLX_ATTRS(grouped_matmul, c)->trans_b); }
rlx_status rlx_ref_dequant_grouped_matmul(rlx_ref_call *c) {
  return grouped(c, RLX_ATTRS(dequant_grouped_matmul, c)->trans_b);
}

rlx_status rlx_ref_dequant_moe_weights(rlx_ref_call *c) {
  const rlx_tensor *w = c->in[0], *idx = rlx_ref_in(c, 1);
  if (idx) RLX_TRY(check_experts(c, idx, w->shape.v[0]));
  size_t count = rlx_tensor_count(c->out);
  if (count == 0 || c->stopped) return RLX_OK;
  size_t chosen = (size_t)c->out->shape.v[0], each = count / chosen;
  float *decoded;
  RLX_TRY(expert_memory(c, w, &decoded));
  for (size_t i = 0; i < chosen && rlx_ref_continues(c, 1); i++) {
    rlx_tensor expert;
    RLX_TRY(open_expert(c, w, idx ? (size_t)rlx_load_int(idx, i) : i, decoded, &expert));
    RLX_REF_EACH(c, j, each) rlx_store(c->out, i * each + j, (double)decoded[j]);
  }
  return RLX_OK;
}

/* ---- 8-bit integers ---- */

/* The inputs that q_matmul and q_conv2d share: per tensor, or per channel of the weight. */
typedef struct quantized {
  rlx_tensor *out;
  double a_scale, y_scale;
  int64_t a_zero, y_zero;
  const rlx_tensor *b_scale, *b_zero, *bias;
} quantized;

static int64_t load_zero(const rlx_tensor *zero, size_t channel) {
  return zero ? rlx_load_int(zero, rlx_tensor_count(zero) == 1 ? 0 : channel) : 0;
}

static quantized open_quantized(const rlx_ref_call *c) {
  return (quantized){.out = c->out,
                     .a_scale = rlx_load(c->in[2], 0),
                     .y_scale = rlx_load(c->in[4], 0),
                     .a_zero = load_zero(rlx_ref_in(c, 5), 0),
                     .y_zero = load_zero(rlx_ref_in(c, 7), 0),
                     .b_scale = c->in[3],
                     .b_zero = rlx_ref_in(c, 6),
                     .bias = rlx_ref_in(c, 8)};
}

/* Stores element `at` of the result, of channel `channel`. The sum wraps like an i32 accumulator. */
static void requantise(const quantized *q, size_t at, size_t channel, int64_t sum) {
  if (q->bias) sum += rlx_load_int(q->bias, channel);
  int32_t wrapped = (int32_t)(uint32_t)(uint64_t)sum;
  double b_scale = rlx_load(q->b_scale, rlx_tensor_count(q->b_scale) == 1 ? 0 : channel);
  double y = nearbyint((double)wrapped * (q->a_scale * b_scale / q->y_scale));
  rlx_store_value(q->out, at, y + (double)q->y_zero);
}

rlx_status rlx_ref_q_matmul(rlx_ref_call *c) {
  size_t count = rlx_tensor_count(c->out);
  if (count == 0) return RLX_OK;
  rlx_product p;
  RLX_TRY(rlx_product_open(c, c->in[0], c->in[1], false, &c->out->shape, &p));
  quantized q = open_quantized(c);
  for (size_t at = 0; at < count && rlx_ref_continues(c, 1); at++) {
    size_t a_at, b_at, j = at % p.n;
    rlx_product_at(&p, at / p.n, &a_at, &b_at);
    int64_t b_zero = load_zero(q.b_zero, j), sum = 0;
    RLX_REF_EACH(c, i, p.k)
      sum +=
        (rlx_load_int(c->in[0], a_at + i) - q.a_zero) * (rlx_load_int(c->in[1], b_at + i * p.b_k + j * p.b_n) - b_zero);
    requantise(&q, at, j, sum);
  }
  return RLX_OK;
}

/* One sum of q_conv2d: the window of output position (y, x) over the channels of one group. Padding has the value
 * x_zero and so contributes nothing. */
static int64_t window_sum(rlx_ref_call *c, const rlx_tensor *x, const rlx_tensor *w, const rlx_conv_window *win,
                          int64_t x_at, int64_t w_at, const int64_t position[2], int64_t x_zero, int64_t w_zero) {
  int64_t height = x->shape.v[2], width = x->shape.v[3], kh = w->shape.v[2], kw = w->shape.v[3];
  int64_t y0, y1, x0, x1, sum = 0;
  rlx_window_taps(win, 1, position[0], height, &y0, &y1);
  rlx_window_taps(win, 2, position[1], width, &x0, &x1);
  int64_t top = rlx_window_start(win, 1, position[0]), left = rlx_window_start(win, 2, position[1]);
  for (int64_t ch = 0; ch < w->shape.v[1]; ch++)
    for (int64_t i = y0; i < y1 && rlx_ref_continues(c, 1 + (size_t)(x1 - x0)); i++)
      for (int64_t j = x0; j < x1; j++) {
        int64_t from = ((x_at + ch) * height + top + i * win->dilation[1]) * width + left + j * win->dilation[2];
        int64_t tap = ((w_at + ch) * kh + i) * kw + j;
        sum += (rlx_load_int(x, (size_t)from) - x_zero) * (rlx_load_int(w, (size_t)tap) - w_zero);
      }
  return sum;
}

rlx_status rlx_ref_q_conv2d(rlx_ref_call *c) {
  const rlx_attrs_q_conv2d *attrs = c->attrs;
  const rlx_tensor *x = c->in[0], *w = c->in[1];
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  rlx_conv_window win;
  RLX_TRY(RLX_WINDOW_READ(attrs, w->shape.v + 2, 2, &win));
  quantized q = open_quantized(c);
  int64_t channels = x->shape.v[1], in_each = w->shape.v[1], out_each = w->shape.v[0] / attrs->groups;
  int64_t idx[RLX_MAX_RANK] = {0};
  size_t at = 0;
  do {
    int64_t o = idx[1], x_at = idx[0] * channels + o / out_each * in_each;
    int64_t sum = window_sum(c, x, w, &win, x_at, o * in_each, idx + 2, q.a_zero, load_zero(q.b_zero, (size_t)o));
    requantise(&q, at++, (size_t)o, sum);
  } while (rlx_next_index(&c->out->shape, idx) && rlx_ref_continues(c, 1));
  return RLX_OK;
}
