/* Attention: softmax(q k^T scale [soft cap, bias, masks]) v.
 *
 * One query row at a time, in two passes over its keys: the scores with their maximum, then the weights with their sum
 * and the weighted values. Memory is one row of scores; there is no Sq x Sk matrix. A key that is masked, or whose
 * score is -inf, contributes nothing: whatever its value holds (an unwritten cache, NaN) cannot reach the result.
 * first_and_end(), the key mask and the bias decide in attend() what is visible. The products around it are in
 * fused.c. */
#include <math.h>

#include "ref/product.h"

/* The keys of one batch element. */
typedef struct batch_view {
  size_t keys;    /* that may be read: kv_len or all */
  int64_t offset; /* kv_offset */
} batch_view;

/* A run-time scalar, or one per batch element. */
static int64_t load_per_batch(const rlx_tensor *t, size_t b) {
  return rlx_load_int(t, rlx_tensor_count(t) == 1 ? 0 : b);
}

static rlx_status open_batch(const rlx_attention_args *a, size_t b, batch_view *out) {
  out->keys = a->n_keys;
  if (a->kv_len) {
    int64_t n = load_per_batch(a->kv_len, b);
    if (n < 0 || (uint64_t)n > a->n_keys)
      return RLX_FAIL(RLX_INVALID, "kv_len is %lld but there are %zu keys", (long long)n, a->n_keys);
    out->keys = (size_t)n;
  }
  out->offset = a->kv_offset ? load_per_batch(a->kv_offset, b) : (int64_t)out->keys - (int64_t)a->n_q;
  return RLX_OK;
}

/* The keys first .. end-1 that query i may see, regardless of the key mask; none where first >= end. */
static void first_and_end(const rlx_attention_args *a, const batch_view *view, size_t i, size_t *first, size_t *end) {
  *first = 0;
  *end = view->keys;
  if (!a->causal) return;
  int64_t own = (int64_t)i + view->offset; /* the key at the query's own position */
  if (own < (int64_t)*end) *end = own < 0 ? 0 : (size_t)own + 1;
  if (a->window > 0 && own >= a->window) *first = (size_t)(own - a->window + 1);
}

static size_t head_at(const rlx_heads *h, size_t b, size_t s, size_t head) {
  return h->start + b * h->batch + s * h->position + head * h->head;
}

/* Where head `head` of key or value j begins: rows of the batch, or of the page that the table names. */
static size_t key_at(const rlx_attention_args *a, const rlx_heads *h, size_t b, size_t j, size_t head) {
  if (!a->pages) return head_at(h, b, j, head);
  int64_t page = rlx_load_int(a->pages, b * (a->n_keys / a->page) + j / a->page), last = (int64_t)a->n_pages - 1;
  return head_at(h, (size_t)(page < 0 ? 0 : page > last ? last : page), j % a->page, head);
}

/* The score of query row (b, i, h) and key j, before the masks; -inf: not visible. */
static double score(const rlx_attention_args *a, size_t b, size_t i, size_t h, size_t j, const size_t *bias_stride) {
  size_t q_at = head_at(&a->q, b, i, h), k_at = key_at(a, &a->k, b, j, h / (a->n_heads / a->n_kv_heads));
  double s = 0;
  for (size_t d = 0; d < a->d; d++)
    s += rlx_operand_at(&a->q.values, q_at + d) * rlx_operand_at(&a->k.values, k_at + d);
  s *= a->scale;
  if (a->softcap > 0) s = a->softcap * tanh(s / a->softcap);
  if (a->bias)
    s += rlx_load(a->bias, b * bias_stride[0] + h * bias_stride[1] + i * bias_stride[2] + j * bias_stride[3]);
  return s;
}

/* One row of the result: d_v elements from out_at. `scores` has space for all keys, `sums` for d_v. */
static void attend(rlx_ref_call *c, const rlx_attention_args *a, const batch_view *view, size_t b, size_t i, size_t h,
                   const size_t *bias_stride, double *scores, double *sums) {
  size_t first, end;
  first_and_end(a, view, i, &first, &end);
  double max = a->sinks ? rlx_load(a->sinks, h) : -RLX_INFINITY;
  double total = 0;
  for (size_t j = first; j < end && rlx_ref_continues(c, a->d + 1); j++) {
    bool seen = !a->key_mask || rlx_load_int(a->key_mask, b * a->n_keys + j);
    scores[j] = seen ? score(a, b, i, h, j, bias_stride) : -RLX_INFINITY;
    if (scores[j] > max) max = scores[j];
  }
  if (a->sinks && max != -RLX_INFINITY) total = exp(rlx_load(a->sinks, h) - max);
  for (size_t d = 0; d < a->d_v; d++) sums[d] = 0;
  for (size_t j = first; j < end && rlx_ref_continues(c, a->d_v + 1); j++) {
    if (scores[j] == -RLX_INFINITY) continue;
    double weight = exp(scores[j] - max);
    size_t v_at = key_at(a, &a->v, b, j, h / (a->n_heads / a->n_kv_heads));
    total += weight;
    for (size_t d = 0; d < a->d_v; d++) sums[d] += weight * rlx_operand_at(&a->v.values, v_at + d);
  }
  size_t out_at = b * a->out_batch + i * a->out_position + h * a->out_head;
  for (size_t d = 0; d < a->d_v; d++)
    rlx_store(a->out, out_at + d, total == 0 ? 0 : sums[d] / total); /* 0: no visible key */
}

rlx_status rlx_attention_run(rlx_ref_call *c, const rlx_attention_args *a) {
  double *scores, *sums;
  RLX_TRY(rlx_ref_scratch(c, a->n_keys, sizeof *scores, &scores));
  RLX_TRY(rlx_ref_scratch(c, a->d_v, sizeof *sums, &sums));
  size_t bias_stride[RLX_MAX_RANK] = {0};
  rlx_dims all = RLX_DIMS((int64_t)a->n_batch, (int64_t)a->n_heads, (int64_t)a->n_q, (int64_t)a->n_keys);
  if (a->bias) rlx_broadcast_strides(&a->bias->shape, &all, bias_stride);
  for (size_t b = 0; b < a->n_batch && rlx_ref_continues(c, 1); b++) {
    batch_view view = {0};
    RLX_TRY(open_batch(a, b, &view));
    for (size_t h = 0; h < a->n_heads && rlx_ref_continues(c, 1); h++)
      for (size_t i = 0; i < a->n_q && rlx_ref_continues(c, a->d_v); i++)
        attend(c, a, &view, b, i, h, bias_stride, scores, sums);
  }
  return RLX_OK;
}

/* Strides of [B, S, H, D] or [B, H, S, D]. */
static rlx_status open_heads(rlx_ref_call *c, const rlx_tensor *t, int32_t layout, rlx_heads *out) {
  size_t stride[RLX_MAX_RANK];
  rlx_strides(&t->shape, stride);
  bool seq_first = layout == RLX_LAYOUT_BSHD;
  *out = (rlx_heads){
    .start = 0, .batch = stride[0], .position = stride[seq_first ? 1 : 2], .head = stride[seq_first ? 2 : 1]};
  return rlx_operand_open(c, t, &out->values);
}

/* Adds the default scale and the strides of q, k, v and the result. */
static rlx_status run_heads(rlx_ref_call *c, rlx_attention_args *a, int32_t layout) {
  if (a->scale == 0) a->scale = 1 / sqrt((double)a->d);
  rlx_heads out;
  RLX_TRY(open_heads(c, c->in[0], layout, &a->q));
  RLX_TRY(open_heads(c, c->in[1], layout, &a->k));
  RLX_TRY(open_heads(c, c->in[2], layout, &a->v));
  RLX_TRY(open_heads(c, c->out, layout, &out));
  a->out_batch = out.batch;
  a->out_position = out.position;
  a->out_head = out.head;
  return rlx_attention_run(c, a);
}

rlx_status rlx_ref_attention(rlx_ref_call *c) {
  const rlx_attrs_attention *attrs = c->attrs;
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  int seq = attrs->layout == RLX_LAYOUT_BSHD ? 1 : 2, heads = 3 - seq;
  const int64_t *q = c->in[0]->shape.v, *k = c->in[1]->shape.v, *v = c->in[2]->shape.v;
  rlx_attention_args a = {.n_batch = (size_t)q[0],
                          .n_q = (size_t)q[seq],
                          .n_keys = (size_t)k[seq],
                          .n_heads = (size_t)q[heads],
                          .n_kv_heads = (size_t)k[heads],
                          .d = (size_t)q[3],
                          .d_v = (size_t)v[3],
                          .scale = attrs->scale,
                          .softcap = attrs->softcap,
                          .causal = attrs->causal,
                          .window = attrs->window,
                          .key_mask = rlx_ref_in(c, 3),
                          .bias = rlx_ref_in(c, 4),
                          .sinks = rlx_ref_in(c, 5),
                          .kv_len = rlx_ref_in(c, 6),
                          .kv_offset = rlx_ref_in(c, 7),
                          .out = c->out};
  return run_heads(c, &a, attrs->layout);
}

rlx_status rlx_ref_paged_attention(rlx_ref_call *c) {
  const rlx_attrs_paged_attention *attrs = c->attrs;
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  const int64_t *q = c->in[0]->shape.v, *k = c->in[1]->shape.v, *v = c->in[2]->shape.v;
  rlx_attention_args a = {.n_batch = (size_t)q[0],
                          .n_q = (size_t)q[1],
                          .n_keys = (size_t)(c->in[3]->shape.v[1] * k[1]),
                          .n_heads = (size_t)q[2],
                          .n_kv_heads = (size_t)k[2],
                          .d = (size_t)q[3],
                          .d_v = (size_t)v[3],
                          .scale = attrs->scale,
                          .softcap = attrs->softcap,
                          .causal = attrs->causal,
                          .window = attrs->window,
                          .kv_len = rlx_ref_in(c, 4),
                          .kv_offset = rlx_ref_in(c, 5),
                          .sinks = rlx_ref_in(c, 6),
                          .pages = c->in[3],
                          .n_pages = (size_t)k[0],
                          .page = (size_t)k[1],
                          .out = c->out};
  return run_heads(c, &a, RLX_LAYOUT_BSHD);
}
