/* Attention as RLX nodes: the op `attention`, or its parts if the scores are an output. */
#include "onnx/attend.h"

rlx_node onnx_split_heads(onnx_call *c, rlx_node x, int64_t heads) {
  rlx_dims d = onnx_dims(c, x);
  if (d.n != 3 || heads < 1) return RLX_NONE;
  return onnx_reshape(c, x, RLX_DIMS(d.v[0], d.v[1], heads, d.v[2] / heads));
}

rlx_node onnx_join_heads(onnx_call *c, rlx_node x) {
  rlx_dims d = onnx_dims(c, x);
  return d.n == 4 ? onnx_reshape(c, x, RLX_DIMS(d.v[0], d.v[1], d.v[2] * d.v[3])) : RLX_NONE;
}

rlx_node onnx_swap_heads(onnx_call *c, rlx_node x) { return x ? rlx_op_transpose(c->g, x, RLX_DIMS(0, 2, 1, 3)) : x; }

rlx_node onnx_mask_bias(onnx_call *c, rlx_node mask, rlx_dtype dtype) {
  return rlx_op_where(c->g, mask, rlx_op_scalar(c->g, dtype, 0), rlx_op_scalar(c->g, dtype, -RLX_INFINITY));
}

/* ---- masks spelled out ---- */

static rlx_node and_also(onnx_call *c, rlx_node a, rlx_node b) { return a && b ? rlx_op_and(c->g, a, b) : a ? a : b; }

/* Distance of key j before query i: [Sq, Sk], or [B, 1, Sq, Sk]. */
static rlx_node distance(onnx_call *c, const onnx_attend *a, int64_t sq, int64_t sk) {
  rlx_node i = rlx_op_range(c->g, a->offsets ? 0 : (double)a->offset, 1, sq, RLX_I32);
  i = onnx_reshape(c, i, RLX_DIMS(sq, 1));
  if (a->offsets) i = rlx_op_add(c->g, i, onnx_reshape(c, a->offsets, RLX_DIMS(-1, 1, 1, 1)));
  return rlx_op_sub(c->g, i, onnx_reshape(c, rlx_op_range(c->g, 0, 1, sk, RLX_I32), RLX_DIMS(1, sk)));
}

/* Which keys a query sees, by place; none: all. */
static rlx_node visible(onnx_call *c, const onnx_attend *a, int64_t sq, int64_t sk, bool with_causal) {
  rlx_node seen = RLX_NONE;
  bool causal = a->causal && with_causal;
  if (causal || a->left >= 0 || a->right >= 0) {
    rlx_node d = distance(c, a, sq, sk);
    if (causal) seen = rlx_op_ge(c->g, d, rlx_op_scalar(c->g, RLX_I32, 0));
    if (a->left >= 0) seen = and_also(c, seen, rlx_op_le(c->g, d, rlx_op_scalar(c->g, RLX_I32, (double)a->left)));
    if (a->right >= 0) seen = and_also(c, seen, rlx_op_ge(c->g, d, rlx_op_scalar(c->g, RLX_I32, -(double)a->right)));
  }
  if (a->lengths && with_causal) {
    rlx_node j = onnx_reshape(c, rlx_op_range(c->g, 0, 1, sk, RLX_I32), RLX_DIMS(1, 1, 1, sk));
    seen = and_also(c, seen, rlx_op_lt(c->g, j, onnx_reshape(c, a->lengths, RLX_DIMS(-1, 1, 1, 1))));
  }
  return seen;
}

static rlx_node add_bias(onnx_call *c, rlx_node a, rlx_node b) { return a && b ? rlx_op_add(c->g, a, b) : a ? a : b; }

/* ---- spelled out ---- */

/* Each head of k and v as often as queries share it. */
static rlx_node repeat_heads(onnx_call *c, rlx_node x, int64_t heads) {
  rlx_dims d = onnx_dims(c, x);
  if (d.n != 4 || d.v[1] == heads || d.v[1] < 1) return x;
  int64_t times = heads / d.v[1];
  x = rlx_op_expand(c->g, onnx_reshape(c, x, RLX_DIMS(d.v[0], d.v[1], 1, d.v[2], d.v[3])),
                    RLX_DIMS(d.v[0], d.v[1], times, d.v[2], d.v[3]));
  return onnx_reshape(c, x, RLX_DIMS(d.v[0], d.v[1] * times, d.v[2], d.v[3]));
}

/* A row that sees nothing is zeros, not NaN. */
static rlx_node weights_of(onnx_call *c, rlx_node scores, rlx_node bias, rlx_dtype precision) {
  rlx_dtype dtype = rlx_node_dtype(c->g, scores);
  rlx_node p = scores;
  if (precision != RLX_DTYPE_UNKNOWN) p = onnx_cast(c, p, precision);
  p = rlx_op_softmax(c->g, p, -1);
  if (bias) {
    rlx_node max = rlx_op_reduce_max(c->g, bias, RLX_DIMS(-1), true);
    rlx_node empty = rlx_op_eq(c->g, max, onnx_scalar_like(c, bias, -RLX_INFINITY));
    p = rlx_op_where(c->g, empty, onnx_scalar_like(c, p, 0), p);
  }
  return onnx_cast(c, p, dtype);
}

static rlx_node spelled_out(onnx_call *c, const onnx_attend *a, double scale, onnx_scores *s) {
  rlx_node q = a->by_sequence ? onnx_swap_heads(c, a->q) : a->q, k = a->by_sequence ? onnx_swap_heads(c, a->k) : a->k;
  rlx_node v = a->by_sequence ? onnx_swap_heads(c, a->v) : a->v;
  rlx_dims qs = onnx_dims(c, q), ks = onnx_dims(c, k);
  rlx_dtype dtype = rlx_node_dtype(c->g, q);
  double root = sqrt(scale);
  k = repeat_heads(c, k, qs.v[1]);
  v = repeat_heads(c, v, qs.v[1]);
  s->raw = rlx_op_matmul_t(c->g, onnx_times(c, q, root), onnx_times(c, k, root));
  s->capped = s->raw;
  if (a->softcap > 0) s->capped = onnx_times(c, rlx_op_tanh(c->g, onnx_times(c, s->raw, 1 / a->softcap)), a->softcap);
  rlx_node seen = visible(c, a, qs.v[2], ks.v[2], true), bias = a->bias;
  if (seen) bias = add_bias(c, bias, onnx_mask_bias(c, seen, dtype));
  s->biased = add_bias(c, s->capped, bias);
  s->weights = weights_of(c, s->biased, bias, a->precision);
  rlx_node y = rlx_op_matmul(c->g, s->weights, v);
  return a->by_sequence ? onnx_swap_heads(c, y) : y;
}

rlx_node onnx_attention(onnx_call *c, const onnx_attend *a, onnx_scores *scores) {
  rlx_dims qs = onnx_dims(c, a->q), ks = onnx_dims(c, a->k);
  if (qs.n != 4 || ks.n != 4) return RLX_NONE;
  double scale = isnan(a->scale) ? 1 / sqrt((double)(qs.v[3] ? qs.v[3] : 1)) : a->scale;
  if (scores) return spelled_out(c, a, scale, scores);
  int at = a->by_sequence ? 1 : 2;
  rlx_op_attention_desc d = {RLX_OP_ATTENTION_DESC_INIT, .layout = a->by_sequence ? RLX_LAYOUT_BSHD : RLX_LAYOUT_BHSD,
                             .causal = a->causal,        .scale = scale,
                             .softcap = a->softcap,      .bias = a->bias,
                             .sinks = a->sinks,          .kv_len = a->lengths};
  if (a->causal) d.kv_offset = a->offsets ? a->offsets : rlx_op_scalar(c->g, RLX_I32, (double)a->offset);
  onnx_attend rest = *a;
  if (a->causal && a->left >= 0) d.window = a->left + 1, rest.left = -1;
  if (a->causal && a->right >= 0) rest.right = -1; /* what follows is hidden anyway */
  rlx_node seen = visible(c, &rest, qs.v[at], ks.v[at], false);
  if (seen) d.bias = add_bias(c, d.bias, onnx_mask_bias(c, seen, rlx_node_dtype(c->g, a->q)));
  return rlx_op_attention(c->g, a->q, a->k, a->v, &d);
}

/* ---- rotary positions ---- */

rlx_node onnx_rotate(onnx_call *c, rlx_node x, const onnx_rope *r) {
  rlx_dims table = onnx_dims(c, r->cos);
  rlx_op_rope_desc d = {RLX_OP_ROPE_DESC_INIT,
                        .layout = r->by_heads ? RLX_LAYOUT_BHSD : RLX_LAYOUT_BSHD,
                        .style = r->interleaved ? RLX_ROPE_GPTJ : RLX_ROPE_NEOX,
                        .positions = r->positions,
                        .cos = onnx_cast(c, r->cos, RLX_F32),
                        .sin = onnx_cast(c, r->sin, RLX_F32),
                        .n_rot = r->n_rot};
  if (table.n == 3) { /* a row for each token */
    int64_t rows = table.v[0] * table.v[1];
    d.cos = onnx_reshape(c, d.cos, RLX_DIMS(rows, table.v[2]));
    d.sin = onnx_reshape(c, d.sin, RLX_DIMS(rows, table.v[2]));
    d.positions = onnx_reshape(c, rlx_op_range(c->g, 0, 1, rows, RLX_I32), RLX_DIMS(table.v[0], table.v[1]));
  }
  return rlx_op_rope(c->g, x, &d);
}
