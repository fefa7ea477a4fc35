/* Fused ops, which the compiler creates from several nodes.
 *
 * Each computes in f64 from its inputs to its one final rounding. So it is at least as precise as the nodes it replaces
 * (which round in between), and equal to them within the tolerance of its dtype. fused_swiglu is the exception:
 * element-wise fusion guarantees the same bits, so it rounds where the two nodes would have. */
#include <math.h>

#include "base/arith.h"
#include "ir/act.h"
#include "ir/scalar.h"
#include "ref/norm.h"
#include "ref/product.h"

double rlx_ref_activate(int32_t act, double x) {
#define FORMULA(NAME, op) \
  case RLX_ACT_##NAME: return rlx_scalar_##op(x, 0, 0);
  switch (act) {
    RLX_ACTS(FORMULA)
    default: return x;
  }
#undef FORMULA
}

/* x rounded to this dtype. */
static double round_to(rlx_dtype dtype, double x) {
  union {
    double f64;
    float f32;
    uint16_t f16;
  } storage = {.f64 = 0};
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store(&one, 0, x);
  return rlx_load(&one, 0);
}

rlx_status rlx_ref_fused_swiglu(rlx_ref_call *c) {
  int32_t act = RLX_ATTRS(fused_swiglu, c)->act;
  const rlx_tensor *gate = c->in[0], *up = c->in[1];
  const rlx_dims *shape = &c->out->shape;
  if (rlx_dims_count(shape) == 0) return RLX_OK;
  size_t gate_stride[RLX_MAX_RANK], up_stride[RLX_MAX_RANK], at = 0;
  rlx_broadcast_strides(&gate->shape, shape, gate_stride);
  rlx_broadcast_strides(&up->shape, shape, up_stride);
  int64_t idx[RLX_MAX_RANK] = {0};
  do {
    double g = rlx_load(gate, rlx_offset(shape->n, idx, gate_stride)),
           u = rlx_load(up, rlx_offset(shape->n, idx, up_stride));
    rlx_store(c->out, at++, rlx_scalar_mul_f(round_to(c->out->dtype, rlx_ref_activate(act, g)), u));
  } while (rlx_next_index(shape, idx) && rlx_ref_continues(c, 1));
  return RLX_OK;
}

/* out = act(a w + bias), row by row. */
static rlx_status project(rlx_ref_call *c, const rlx_tensor *a, const rlx_tensor *w, const rlx_tensor *bias,
                          bool trans_b, int32_t act, rlx_tensor *out) {
  size_t count = rlx_tensor_count(out);
  if (count == 0) return RLX_OK;
  rlx_product p;
  double *row;
  RLX_TRY(rlx_product_open(c, a, w, trans_b, &out->shape, &p));
  RLX_TRY(rlx_ref_scratch(c, p.n, sizeof *row, &row));
  for (size_t r = 0; r < count / p.n && rlx_ref_continues(c, 1); r++) {
    rlx_product_row(c, &p, r, row);
    RLX_REF_EACH(c, j, p.n)
      rlx_store(out, r * p.n + j, rlx_ref_activate(act, bias ? row[j] + rlx_load(bias, j) : row[j]));
  }
  return RLX_OK;
}

rlx_status rlx_ref_fused_matmul_bias_act(rlx_ref_call *c) {
  const rlx_attrs_fused_matmul_bias_act *attrs = c->attrs;
  return project(c, c->in[0], c->in[1], rlx_ref_in(c, 2), attrs->trans_b, attrs->act, c->out);
}

rlx_status rlx_ref_fused_norm_matmul(rlx_ref_call *c) {
  const rlx_attrs_fused_norm_matmul *attrs = c->attrs;
  rlx_tensor own;
  const rlx_tensor *a;
  RLX_TRY(rlx_norm_rows(c, c->in[0], true, attrs->eps, rlx_ref_in(c, 3), &own, &a));
  return project(c, a, c->in[1], rlx_ref_in(c, 2), attrs->trans_b, attrs->act, c->out);
}

/* act(x w_gate) * (x w_up) */
static rlx_status gate_and_up(rlx_ref_call *c, const rlx_tensor *x, bool trans_b, int32_t act) {
  size_t count = rlx_tensor_count(c->out);
  if (count == 0) return RLX_OK;
  rlx_product gate, up;
  double *gate_row, *up_row;
  RLX_TRY(rlx_product_open(c, x, c->in[1], trans_b, &c->out->shape, &gate));
  RLX_TRY(rlx_product_open(c, x, c->in[2], trans_b, &c->out->shape, &up));
  RLX_TRY(rlx_ref_scratch(c, gate.n, sizeof *gate_row, &gate_row));
  RLX_TRY(rlx_ref_scratch(c, up.n, sizeof *up_row, &up_row));
  for (size_t r = 0; r < count / gate.n && rlx_ref_continues(c, 1); r++) {
    rlx_product_row(c, &gate, r, gate_row);
    rlx_product_row(c, &up, r, up_row);
    RLX_REF_EACH(c, j, gate.n) rlx_store(c->out, r * gate.n + j, rlx_ref_activate(act, gate_row[j]) * up_row[j]);
  }
  return RLX_OK;
}

rlx_status rlx_ref_fused_gate_up(rlx_ref_call *c) {
  const rlx_attrs_fused_gate_up *attrs = c->attrs;
  return gate_and_up(c, c->in[0], attrs->trans_b, attrs->act);
}

rlx_status rlx_ref_fused_norm_gate_up(rlx_ref_call *c) {
  const rlx_attrs_fused_norm_gate_up *attrs = c->attrs;
  rlx_tensor own;
  const rlx_tensor *x;
  RLX_TRY(rlx_norm_rows(c, c->in[0], true, attrs->eps, rlx_ref_in(c, 3), &own, &x));
  return gate_and_up(c, x, attrs->trans_b, attrs->act);
}

/* norm(x + residual) over the last axis; the sum is not rounded in between. */
rlx_status rlx_ref_fused_residual_norm(rlx_ref_call *c) {
  const rlx_attrs_fused_residual_norm *attrs = c->attrs;
  const rlx_tensor *x = c->in[0];
  size_t count = rlx_tensor_count(x);
  rlx_tensor sum = {.dtype = RLX_F64, .shape = x->shape};
  RLX_TRY(rlx_ref_scratch(c, count, sizeof(double), &sum.data));
  RLX_REF_EACH(c, i, count) rlx_store(&sum, i, rlx_load(x, i) + rlx_load(c->in[1], i));
  rlx_norm_last(c, &sum, rlx_ref_in(c, 2), rlx_ref_in(c, 3), -1, attrs->kind == RLX_NORM_LAYER, attrs->eps, c->out);
  return RLX_OK;
}

/* ---- fused_attention_block ---- */

/* An unrounded intermediate [.., n] with the leading sizes of x. */
static rlx_status make_wide(rlx_ref_call *c, const rlx_tensor *x, size_t n, rlx_tensor *out) {
  size_t rows = (size_t)x->shape.v[0] * (size_t)x->shape.v[1], count;
  *out = (rlx_tensor){.dtype = RLX_F64, .shape = x->shape};
  out->shape.v[2] = (int64_t)n;
  if (!rlx_mul_size(rows, n, &count)) return RLX_FAIL(RLX_NO_MEMORY, "%zu rows of %zu elements", rows, n);
  out->bytes = count * sizeof(double); /* if this overflows, the allocation fails */
  return rlx_ref_scratch(c, count, sizeof(double), &out->data);
}

rlx_status rlx_ref_fused_attention_block(rlx_ref_call *c) {
  const rlx_attrs_fused_attention_block *attrs = c->attrs;
  const rlx_tensor *x = c->in[0];
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  size_t batch = (size_t)x->shape.v[0], positions = (size_t)x->shape.v[1], width = (size_t)x->shape.v[2];
  size_t heads = (size_t)attrs->heads, kv_heads = attrs->kv_heads ? (size_t)attrs->kv_heads : heads;
  size_t d = attrs->head_dim ? (size_t)attrs->head_dim : width / heads, wide = (heads + 2 * kv_heads) * d;
  rlx_tensor qkv, joined;
  RLX_TRY(make_wide(c, x, wide, &qkv));
  RLX_TRY(make_wide(c, x, heads * d, &joined));
  RLX_TRY(project(c, x, c->in[1], rlx_ref_in(c, 3), attrs->trans_b, RLX_ACT_NONE, &qkv));
  rlx_heads q = {.values = {&qkv, NULL}, .start = 0, .batch = positions * wide, .position = wide, .head = d}, k = q,
            v = q;
  k.start = heads * d;
  v.start = (heads + kv_heads) * d;
  RLX_TRY(rlx_attention_run(c, &(rlx_attention_args){.q = q,
                                                     .k = k,
                                                     .v = v,
                                                     .n_batch = batch,
                                                     .n_q = positions,
                                                     .n_keys = positions,
                                                     .n_heads = heads,
                                                     .n_kv_heads = kv_heads,
                                                     .d = d,
                                                     .d_v = d,
                                                     .scale = attrs->scale != 0 ? attrs->scale : 1 / sqrt((double)d),
                                                     .causal = attrs->causal,
                                                     .out = &joined,
                                                     .out_batch = positions * heads * d,
                                                     .out_position = heads * d,
                                                     .out_head = d}));
  return project(c, &joined, c->in[2], rlx_ref_in(c, 4), attrs->trans_b, RLX_ACT_NONE, c->out);
}
