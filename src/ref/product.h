/* Shared by the product kernels: loading an operand, and one row of a (batched) matrix product in f64.
 *
 * Every kernel of the matmul family is a row of x times a weight, followed by an epilogue: store it, add a low-rank
 * part, a bias, an activation, another product. So the loop nest is here and computes a row of unrounded doubles; the
 * caller applies the epilogue and the one rounding. Attention's inner loop is here for the same reason: the fused block
 * runs it on unrounded heads. */
#ifndef RLX_REF_PRODUCT_H
#define RLX_REF_PRODUCT_H

#include "ref/ref.h"

/* An operand as doubles: a block type is decoded first, others are read in place. */
typedef struct rlx_operand {
  const rlx_tensor *tensor;
  const float *f32; /* the elements, if they are f32 or were decoded; else NULL */
} rlx_operand;
rlx_status rlx_operand_open(rlx_ref_call *c, const rlx_tensor *t, rlx_operand *out);
static inline double rlx_operand_at(const rlx_operand *v, size_t i) {
  return v->f32 ? (double)v->f32[i] : rlx_load(v->tensor, i);
}

/* a [.., M, K] times b [.., K, N], or [.., N, K] with trans_b, under the batch axes of a result shape. */
typedef struct rlx_product {
  rlx_operand a, b;
  rlx_dims batch;                                      /* the result's, before [M, N] */
  size_t a_batch[RLX_MAX_RANK], b_batch[RLX_MAX_RANK]; /* strides along them, 0 where broadcast */
  size_t m, k, n;
  size_t b_k, b_n; /* strides of b along k and n */
} rlx_product;
rlx_status rlx_product_open(rlx_ref_call *c, const rlx_tensor *a, const rlx_tensor *b, bool trans_b,
                            const rlx_dims *result, rlx_product *out);
/* For row `row` of the result, counted over batch and M: the offsets of its row of a and its matrix of b; and its n
 * values. */
void rlx_product_at(const rlx_product *p, size_t row, size_t *a_at, size_t *b_at);
void rlx_product_row(rlx_ref_call *c, const rlx_product *p, size_t row, double *out);
/* The inner loop: out[j] = sum over k of x[k] b[k, j]. */
void rlx_dot_row(rlx_ref_call *c, const rlx_operand *a, size_t a_at, const rlx_operand *b, size_t b_at, size_t b_k,
                 size_t b_n, size_t k, size_t n, double *out);

/* Heads of a tensor: element d of head h at position s of batch b is at start + b batch + s position + h head + d. */
typedef struct rlx_heads {
  rlx_operand values;
  size_t start, batch, position, head;
} rlx_heads;

/* The operands and parameters of an attention. Zero or NULL means absent for all that is optional. */
typedef struct rlx_attention_args {
  rlx_heads q, k, v;
  size_t n_batch, n_q, n_keys, n_heads, n_kv_heads, d, d_v;
  double scale, softcap;
  bool causal;
  int64_t window;
  const rlx_tensor *key_mask, *bias, *sinks, *kv_len, *kv_offset;
  const rlx_tensor *pages; /* i32 [B, n_keys / page]: k and v are [n_pages, page, ..] */
  size_t n_pages, page;
  rlx_tensor *out;
  size_t out_batch, out_position, out_head; /* strides of the result's heads, as in rlx_heads */
} rlx_attention_args;
rlx_status rlx_attention_run(rlx_ref_call *c, const rlx_attention_args *a);

#endif
