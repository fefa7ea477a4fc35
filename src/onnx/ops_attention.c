/* Attention, rotary embeddings, linear attention with a state, and the causal convolution used with it. */
#include <inttypes.h>

#include "onnx/attend.h"

/* ---- Attention ---- */

/* Heads of a 3-d input come from attributes. */
static rlx_status read_heads(onnx_call *c, int64_t *q_heads, int64_t *kv_heads) {
  int rank = onnx_rank(c, 0);
  RLX_TRY(onnx_int(c, "q_num_heads", 0, q_heads));
  RLX_TRY(onnx_int(c, "kv_num_heads", 0, kv_heads));
  for (uint32_t i = 0; i < 3; i++)
    if (onnx_rank(c, i) != rank || rank < 3 || rank > 4)
      return RLX_FAIL(RLX_INVALID, "input %u has %d axes, expected 3 or 4, as the others", (unsigned)i,
                      onnx_rank(c, i));
  if (rank == 4) return RLX_OK;
  int64_t q = onnx_shape(c, 0).v[2], k = onnx_shape(c, 1).v[2], v = onnx_shape(c, 2).v[2];
  if (*q_heads < 1 || *kv_heads < 1 || q % *q_heads || k % *kv_heads || v % *kv_heads)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " and %" PRId64 " heads of sizes %" PRId64 ", %" PRId64 ", %" PRId64,
                    *q_heads, *kv_heads, q, k, v);
  return RLX_OK;
}

/* The mask as what is added; a last axis that is shorter than the keys hides the rest. */
static rlx_status read_mask(onnx_call *c, uint32_t i, int64_t keys, rlx_dtype dtype, rlx_node *out) {
  rlx_dims shape = onnx_shape(c, i);
  if (!onnx_has(c, i)) return *out = RLX_NONE, RLX_OK;
  if (shape.n > 4) return RLX_FAIL(RLX_INVALID, "the mask has %d axes", (int)shape.n);
  rlx_node m = onnx_in(c, i);
  m = onnx_dtype(c, i) == RLX_BOOL ? onnx_mask_bias(c, m, dtype) : onnx_cast(c, m, dtype);
  if (shape.n && shape.v[shape.n - 1] < keys && shape.v[shape.n - 1] != 1) {
    rlx_dims lo = {.n = shape.n}, hi = lo;
    hi.v[shape.n - 1] = keys - shape.v[shape.n - 1];
    m = rlx_op_pad(c->g, m, lo, hi, RLX_PAD_CONSTANT, -RLX_INFINITY);
  }
  *out = m;
  return RLX_OK;
}

static rlx_node append(onnx_call *c, uint32_t past, rlx_node now) {
  rlx_node both[] = {onnx_in(c, past), now};
  return onnx_has(c, past) ? rlx_op_concat(c->g, both, 2, 2) : now;
}

static rlx_status read_precision(onnx_call *c, rlx_dtype *out) {
  int64_t t;
  RLX_TRY(onnx_int(c, "softmax_precision", 0, &t));
  if (t < 0 || t >= ONNX_TYPES || (t && !onnx_holds_floats(onnx_type_carrier((onnx_type)t))))
    return RLX_FAIL(RLX_INVALID, "softmax_precision is %" PRId64, t);
  *out = t ? onnx_type_carrier((onnx_type)t) : RLX_DTYPE_UNKNOWN;
  return RLX_OK;
}

static rlx_status read_attention(onnx_call *c, onnx_attend *a, int64_t *mode) {
  *a = (onnx_attend){.left = -1, .right = -1, .scale = (double)NAN};
  RLX_TRY(onnx_flag(c, "is_causal", false, &a->causal));
  RLX_TRY(onnx_float(c, "scale", (double)NAN, &a->scale));
  RLX_TRY(onnx_float(c, "softcap", 0, &a->softcap));
  RLX_TRY(onnx_int(c, "left_window_size", -1, &a->left));
  RLX_TRY(onnx_int(c, "right_window_size", -1, &a->right));
  RLX_TRY(onnx_int(c, "qk_matmul_output_mode", 0, mode));
  RLX_TRY(read_precision(c, &a->precision));
  if (a->left < -1 || a->right < -1 || a->left > INT32_MAX || a->right > INT32_MAX || *mode < 0 || *mode > 3)
    return RLX_FAIL(RLX_INVALID, "windows %" PRId64 " and %" PRId64 ", mode %" PRId64, a->left, a->right, *mode);
  if (onnx_has(c, 4) != onnx_has(c, 5)) return RLX_FAIL(RLX_INVALID, "past_key and past_value come together");
  if (onnx_has(c, 4) && (onnx_rank(c, 4) != 4 || onnx_rank(c, 5) != 4))
    return RLX_FAIL(RLX_INVALID, "past_key has %d axes", onnx_rank(c, 4));
  return RLX_OK;
}

rlx_status onnx_op_attention(onnx_call *c) {
  int64_t q_heads, kv_heads, mode;
  onnx_attend a;
  onnx_scores s = {0};
  RLX_TRY(read_heads(c, &q_heads, &kv_heads));
  RLX_TRY(read_attention(c, &a, &mode));
  bool flat = onnx_rank(c, 0) == 3, wants_scores = onnx_wants(c, 3) || a.precision == RLX_F64;
  a.q = onnx_in(c, 0), a.k = onnx_in(c, 1), a.v = onnx_in(c, 2);
  if (flat) {
    a.q = onnx_split_heads(c, a.q, q_heads);
    a.k = onnx_split_heads(c, a.k, kv_heads);
    a.v = onnx_split_heads(c, a.v, kv_heads);
    a.by_sequence = !onnx_has(c, 4) && !onnx_wants(c, 1) && !onnx_wants(c, 2);
    if (!a.by_sequence) a.q = onnx_swap_heads(c, a.q), a.k = onnx_swap_heads(c, a.k), a.v = onnx_swap_heads(c, a.v);
  }
  a.k = append(c, 4, a.k), a.v = append(c, 5, a.v);
  int at = a.by_sequence ? 1 : 2;
  rlx_dims qs = onnx_dims(c, a.q), ks = onnx_dims(c, a.k);
  RLX_TRY(read_mask(c, 3, ks.v[at], onnx_dtype(c, 0), &a.bias));
  if (onnx_has(c, 4)) a.offset = onnx_shape(c, 4).v[2];
  if (onnx_has(c, 6)) {
    a.lengths = onnx_reshape(c, onnx_cast(c, onnx_in(c, 6), RLX_I32), RLX_DIMS(-1));
    if (!onnx_has(c, 4)) a.offsets = onnx_plus(c, a.lengths, -(double)qs.v[at]);
  }
  rlx_node y = onnx_attention(c, &a, wants_scores ? &s : NULL);
  if (flat) y = onnx_join_heads(c, a.by_sequence ? y : onnx_swap_heads(c, y));
  RLX_TRY(onnx_set_like(c, 0, y, 0));
  if (onnx_wants(c, 1)) RLX_TRY(onnx_set_like(c, 1, a.k, 1));
  if (onnx_wants(c, 2)) RLX_TRY(onnx_set_like(c, 2, a.v, 2));
  if (!onnx_wants(c, 3)) return RLX_OK;
  return onnx_set_like(c, 3, mode == 0 ? s.raw : mode == 1 ? s.capped : mode == 2 ? s.biased : s.weights, 0);
}

/* ---- FlexAttention: graphs of the model change scores and weights ---- */

static rlx_status apply_graph(onnx_call *c, const char *name, rlx_node x, rlx_node *out) {
  onnx_value *v;
  onnx_body b = {.in = &v, .n_in = 1, .out = &v, .n_out = 1};
  *out = x;
  if (!onnx_has_attribute(c, name)) return RLX_OK;
  RLX_TRY(onnx_graph_of(c, name, &b.graph));
  RLX_TRY(onnx_value_make(c, x, onnx_type_of(rlx_node_dtype(c->g, x)), &v));
  onnx_value *in = v;
  b.in = &in;
  RLX_TRY(onnx_import_body(c, &b));
  if (v->refused) return RLX_UNSUPPORTED;
  *out = onnx_node_of(c, v);
  return RLX_OK;
}

rlx_status onnx_op_flex_attention(onnx_call *c) {
  rlx_dtype dtype = onnx_dtype(c, 0), precision;
  rlx_dims qs = onnx_shape(c, 0), ks = onnx_shape(c, 1), vs = onnx_shape(c, 2);
  double scale;
  rlx_node x;
  RLX_TRY(read_precision(c, &precision));
  if (qs.n != 4 || ks.n != 4 || vs.n != 4 || ks.v[1] < 1 || qs.v[1] % ks.v[1])
    return RLX_FAIL(RLX_INVALID, "expected [B, H, S, D] three times");
  RLX_TRY(onnx_float(c, "scale", 1 / sqrt((double)(qs.v[3] ? qs.v[3] : 1)), &scale));
  if (precision == RLX_DTYPE_UNKNOWN) precision = onnx_wide(dtype);
  int64_t kv = ks.v[1], share = qs.v[1] / kv;
  rlx_dims five = RLX_DIMS(qs.v[0], kv, share, qs.v[2], ks.v[2]), four = RLX_DIMS(qs.v[0], qs.v[1], qs.v[2], ks.v[2]);
  rlx_node q = onnx_reshape(c, onnx_cast(c, onnx_in(c, 0), precision), RLX_DIMS(qs.v[0], kv, share, qs.v[2], qs.v[3]));
  rlx_node k = onnx_reshape(c, onnx_cast(c, onnx_in(c, 1), precision), RLX_DIMS(ks.v[0], kv, 1, ks.v[2], ks.v[3]));
  x = onnx_reshape(c, onnx_times(c, rlx_op_matmul_t(c->g, q, k), scale), four);
  RLX_TRY(apply_graph(c, "score_mod", x, &x));
  x = rlx_op_softmax(c->g, x, -1);
  RLX_TRY(apply_graph(c, "prob_mod", x, &x));
  rlx_node v = onnx_reshape(c, onnx_cast(c, onnx_in(c, 2), precision), RLX_DIMS(vs.v[0], kv, 1, vs.v[2], vs.v[3]));
  rlx_node y = rlx_op_matmul(c->g, onnx_reshape(c, x, five), v);
  y = onnx_reshape(c, y, RLX_DIMS(qs.v[0], qs.v[1], qs.v[2], vs.v[3]));
  return onnx_set_like(c, 0, onnx_cast(c, y, dtype), 0);
}

/* ---- RotaryEmbedding ---- */

rlx_status onnx_op_rotary_embedding(onnx_call *c) {
  int64_t heads;
  onnx_rope r = {0};
  rlx_dims shape = onnx_shape(c, 0), table = onnx_shape(c, 1);
  RLX_TRY(onnx_flag(c, "interleaved", false, &r.interleaved));
  RLX_TRY(onnx_int(c, "num_heads", 0, &heads));
  RLX_TRY(onnx_int(c, "rotary_embedding_dim", 0, &r.n_rot));
  r.by_heads = shape.n == 4;
  if (shape.n < 3 || shape.n > 4 || (shape.n == 3 && (heads < 1 || shape.v[2] % heads)))
    return RLX_FAIL(RLX_INVALID, "an input with %d axes and %" PRId64 " heads", (int)shape.n, heads);
  if (table.n != (onnx_has(c, 3) ? 2 : 3))
    return RLX_FAIL(RLX_INVALID, "cos_cache has %d axes, expected %d", (int)table.n, onnx_has(c, 3) ? 2 : 3);
  r.cos = onnx_in(c, 1), r.sin = onnx_in(c, 2), r.positions = onnx_in(c, 3);
  rlx_node x = onnx_in(c, 0);
  if (!r.by_heads) x = onnx_split_heads(c, x, heads);
  rlx_node y = onnx_rotate(c, x, &r);
  return onnx_set_like(c, 0, r.by_heads ? y : onnx_join_heads(c, y), 0);
}

/* ---- LinearAttention ---- */

typedef struct linear {
  bool gated, delta;
  int64_t batch, steps, q_heads, kv_heads, key, value;
  double scale;
} linear;

/* One token: the state decays, is updated with the part of v that it does not yet return for the key k, and is read
 * with q. All are [B, H, ..]; the query's heads are [H, share]. */
static rlx_node linear_step(onnx_call *c, const linear *l, const rlx_node x[5], rlx_node *state) {
  rlx_graph *g = c->g;
  int64_t share = l->q_heads / l->kv_heads;
  rlx_node q = onnx_reshape(c, x[0], RLX_DIMS(l->batch, l->kv_heads, share, l->key));
  rlx_node k = onnx_reshape(c, x[1], RLX_DIMS(l->batch, l->kv_heads, l->key, 1));
  rlx_node v = onnx_reshape(c, x[2], RLX_DIMS(l->batch, l->kv_heads, 1, l->value));
  if (l->gated) {
    rlx_node decay = onnx_reshape(c, x[3], RLX_DIMS(l->batch, l->kv_heads, -1, 1));
    *state = rlx_op_mul(g, *state, rlx_op_exp(g, decay));
  }
  if (l->delta) {
    rlx_node known = rlx_op_matmul(g, onnx_transpose_last(c, k), *state);
    v = rlx_op_mul(g, onnx_reshape(c, x[4], RLX_DIMS(l->batch, -1, 1, 1)), rlx_op_sub(g, v, known));
  }
  *state = rlx_op_add(g, *state, rlx_op_mul(g, k, v));
  rlx_node y = onnx_times(c, rlx_op_matmul(g, q, *state), l->scale);
  return onnx_reshape(c, y, RLX_DIMS(l->batch, l->q_heads * l->value));
}

/* The body of a scan over tokens: carried the state, scanned x. */
static rlx_status linear_body(onnx_call *c, const linear *l, const rlx_node xs[6], uint32_t n, const uint32_t slot[5],
                              rlx_graph *g) {
  onnx_call inner = *c;
  rlx_node x[5] = {0}, state = RLX_NONE;
  inner.g = g;
  for (uint32_t i = 0; i < n; i++) {
    char name[8] = {'x', (char)('0' + i)};
    rlx_dims shape = onnx_dims(c, xs[i]);
    if (i) {
      for (int k = 1; k < shape.n; k++) shape.v[k - 1] = shape.v[k];
      shape.n--;
    }
    rlx_node in = rlx_op_input(g, name, RLX_F32, shape);
    if (i) x[slot[i - 1]] = in;
    else state = in;
  }
  rlx_node y = linear_step(&inner, l, x, &state);
  rlx_graph_add_output(g, "state", state);
  rlx_graph_add_output(g, "y", y);
  return rlx_graph_finish(g);
}

static rlx_status linear_scan(onnx_call *c, const linear *l, const rlx_node x[5], rlx_node *state, rlx_node *y) {
  rlx_node xs[6] = {*state}, outs[2] = {0};
  uint32_t n = 1, slot[5] = {0};
  rlx_graph *body;
  for (uint32_t i = 0; i < 5; i++)
    if (x[i]) {
      slot[n - 1] = i;
      rlx_dims tokens_first = RLX_DIMS(1, 0, 2);
      xs[n++] = rlx_op_transpose(c->g, x[i], tokens_first);
    }
  RLX_TRY(rlx_graph_status(c->g));
  RLX_TRY(rlx_graph_begin(&body));
  rlx_status s = linear_body(c, l, xs, n, slot, body);
  if (!s) rlx_op_scan(c->g, body, 1, n - 1, false, xs, n, outs, 2);
  rlx_graph_destroy(body);
  *state = outs[0];
  *y = outs[1] ? rlx_op_transpose(c->g, outs[1], RLX_DIMS(1, 0, 2)) : RLX_NONE;
  return s;
}

static rlx_status read_linear(onnx_call *c, linear *l) {
  static const char *const rules[] = {"gated_delta", "linear", "gated", "delta", NULL};
  int rule;
  rlx_dims q = onnx_shape(c, 0), k = onnx_shape(c, 1), v = onnx_shape(c, 2), d = onnx_shape(c, 4), b = onnx_shape(c, 5);
  RLX_TRY(onnx_word(c, "update_rule", rules, &rule));
  RLX_TRY(onnx_int(c, "q_num_heads", 0, &l->q_heads));
  RLX_TRY(onnx_int(c, "kv_num_heads", 0, &l->kv_heads));
  RLX_TRY(onnx_float(c, "scale", 0, &l->scale));
  l->gated = rule == 0 || rule == 2, l->delta = rule == 0 || rule == 3;
  if (l->q_heads < 1 || l->kv_heads < 1 || l->q_heads % l->kv_heads || q.n != 3 || k.n != 3 || v.n != 3 ||
      q.v[2] % l->q_heads || v.v[2] % l->kv_heads || k.v[2] != q.v[2] / l->q_heads * l->kv_heads)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " and %" PRId64 " heads do not fit the inputs", l->q_heads, l->kv_heads);
  l->batch = q.v[0], l->steps = q.v[1], l->key = q.v[2] / l->q_heads, l->value = v.v[2] / l->kv_heads;
  if (l->gated != onnx_has(c, 4) || l->delta != onnx_has(c, 5))
    return RLX_FAIL(RLX_INVALID, "update_rule '%s' and its inputs do not fit", rules[rule]);
  if ((l->gated && (d.n != 3 || (d.v[2] != l->kv_heads && d.v[2] != l->kv_heads * l->key))) ||
      (l->delta && (b.n != 3 || (b.v[2] != l->kv_heads && b.v[2] != 1))))
    return RLX_FAIL(RLX_INVALID, "decay or beta does not fit %" PRId64 " heads", l->kv_heads);
  if (l->scale == 0) l->scale = 1 / sqrt((double)(l->key ? l->key : 1));
  return RLX_OK;
}

rlx_status onnx_op_linear_attention(onnx_call *c) {
  linear l = {0};
  rlx_node x[5] = {0}, state, y;
  RLX_TRY(read_linear(c, &l));
  for (uint32_t i = 0; i < 5; i++) x[i] = onnx_cast(c, onnx_in(c, i < 3 ? i : i + 1), RLX_F32);
  state = onnx_has(c, 3) ? onnx_cast(c, onnx_in(c, 3), RLX_F32)
                         : onnx_fill(c, RLX_F32, RLX_DIMS(l.batch, l.kv_heads, l.key, l.value), 0);
  if (l.steps == 1) {
    y = linear_step(c, &l, x, &state);
    y = onnx_reshape(c, y, RLX_DIMS(l.batch, 1, l.q_heads * l.value));
  } else {
    RLX_TRY(linear_scan(c, &l, x, &state, &y));
  }
  RLX_TRY(onnx_set_like(c, 0, onnx_cast(c, y, onnx_dtype(c, 0)), 0));
  uint32_t like = onnx_has(c, 3) ? 3 : 0;
  return onnx_set_like(c, 1, onnx_cast(c, state, onnx_dtype(c, like)), like);
}

/* ---- CausalConvWithState ---- */

rlx_status onnx_op_causal_conv(onnx_call *c) {
  static const char *const acts[] = {"none", "silu", "swish", NULL};
  int act;
  rlx_dims ws = onnx_shape(c, 1), xs = onnx_shape(c, 0);
  RLX_TRY(onnx_word(c, "activation", acts, &act));
  if (xs.n != 3 || ws.n != 3 || ws.v[1] != 1 || ws.v[0] != xs.v[1] || ws.v[2] < 1)
    return RLX_FAIL(RLX_INVALID, "expected [B, C, L] and [C, 1, K]");
  rlx_node x = onnx_in(c, 0), w = onnx_reshape(c, onnx_in(c, 1), RLX_DIMS(ws.v[0], ws.v[2]));
  rlx_node state = ws.v[2] > 1 ? onnx_in(c, 3) : RLX_NONE;
  rlx_node y = rlx_op_causal_conv(c->g, x, w, onnx_in(c, 2), state, RLX_OUT_Y);
  RLX_TRY(onnx_set_like(c, 0, act ? rlx_op_silu(c->g, y) : y, 0));
  if (!onnx_wants(c, 1)) return RLX_OK;
  if (ws.v[2] == 1) return onnx_set_like(c, 1, onnx_fill(c, onnx_dtype(c, 0), RLX_DIMS(xs.v[0], xs.v[1], 0), 0), 0);
  return onnx_set_like(c, 1, rlx_op_causal_conv(c->g, x, w, RLX_NONE, state, RLX_OUT_STATE), 0);
}
