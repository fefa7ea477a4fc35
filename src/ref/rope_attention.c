/* fused_rope_attention: attention of a new position whose key and value are not in the states yet.
 *
 * The states are copied, the new rows are written into the copies as fused_rope_update and update write them, and
 * attention runs over these, with q rotated but not rounded. So the fused op is defined by the ops that it replaces. */
#include <math.h>

#include "ref/product.h"
#include "ref/rope.h"

enum { ROWS, K, V, AT, FACTORS, GAMMA_Q, GAMMA_K };

static rlx_status make(rlx_ref_call *c, rlx_dtype dtype, rlx_dims shape, rlx_tensor *out) {
  size_t count = rlx_dims_count(&shape), size = rlx_dtype_size(dtype);
  *out = (rlx_tensor){.dtype = dtype, .shape = shape, .bytes = count * size};
  return rlx_ref_scratch(c, count, size, &out->data);
}

/* `n` heads of the rows, from head `first` on. */
static rlx_status take_heads(rlx_ref_call *c, int64_t first, int64_t n, rlx_tensor *out) {
  const rlx_tensor *rows = c->in[ROWS];
  const int64_t *v = rows->shape.v;
  RLX_TRY(make(c, rows->dtype, RLX_DIMS(v[0], 1, n, v[3]), out));
  size_t head = (size_t)v[3] * rlx_dtype_size(rows->dtype), bytes = (size_t)n * head;
  for (size_t b = 0; b < (size_t)v[0]; b++)
    memcpy((char *)out->data + b * bytes, (const char *)rows->data + (b * (size_t)v[2] + (size_t)first) * head, bytes);
  return RLX_OK;
}

/* Runs another op's function, or rlx_rope_rows, as a part of this call. */
static rlx_ref_call part_of(const rlx_ref_call *c, const void *attrs, const rlx_tensor *const *in, uint32_t n_in,
                            rlx_tensor *out) {
  rlx_ref_call part = *c;
  part.attrs = attrs;
  part.in = in;
  part.n_in = n_in;
  part.out = out;
  return part;
}

static rlx_status end_part(rlx_ref_call *c, const rlx_ref_call *part, rlx_status s) {
  c->visits = part->visits;
  c->stopped = part->stopped;
  return s;
}

rlx_status rlx_ref_fused_rope_attention(rlx_ref_call *c) {
  const rlx_attrs_fused_rope_attention *a = c->attrs;
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  const int64_t n_q = c->out->shape.v[2], n_kv = c->in[K]->shape.v[2];
  rlx_tensor q, k, v, keys, values, q_own;
  RLX_TRY(take_heads(c, 0, n_q, &q));
  RLX_TRY(take_heads(c, n_q, n_kv, &k));
  RLX_TRY(take_heads(c, n_q + n_kv, n_kv, &v));
  RLX_TRY(make(c, c->in[K]->dtype, c->in[K]->shape, &keys));
  RLX_TRY(make(c, c->in[V]->dtype, c->in[V]->shape, &values));

  const rlx_attrs_fused_rope_update rotation = {
    .style = a->style, .n_rot = a->n_rot, .theta = a->theta, .norm = a->norm, .eps = a->eps};
  const rlx_tensor *for_q[] = {NULL, &q, c->in[AT], NULL, rlx_ref_in(c, FACTORS), rlx_ref_in(c, GAMMA_Q)};
  const rlx_tensor *for_k[] = {c->in[K], &k, c->in[AT], NULL, rlx_ref_in(c, FACTORS), rlx_ref_in(c, GAMMA_K)};
  const rlx_tensor *for_v[] = {c->in[V], &v, c->in[AT]}, *rotated = NULL;
  rlx_ref_call part = part_of(c, &rotation, for_q, 6, NULL);
  RLX_TRY(end_part(c, &part, rlx_rope_rows(&part, &q_own, &rotated)));
  part = part_of(c, &rotation, for_k, 6, &keys);
  RLX_TRY(end_part(c, &part, rlx_ref_fused_rope_update(&part)));
  part = part_of(c, &(rlx_attrs_update){.axis = 1}, for_v, 3, &values);
  RLX_TRY(end_part(c, &part, rlx_ref_update(&part)));

  rlx_tensor seen;
  RLX_TRY(make(c, RLX_I32, c->in[AT]->shape, &seen));
  for (size_t i = 0; i < rlx_tensor_count(&seen); i++) rlx_store_int(&seen, i, rlx_load_int(c->in[AT], i) + 1);
  const size_t d = (size_t)q.shape.v[3], n_keys = (size_t)keys.shape.v[1];
  const size_t heads = (size_t)n_q, kv_heads = (size_t)n_kv;
  const rlx_heads past = {.batch = n_keys * kv_heads * d, .position = kv_heads * d, .head = d};
  rlx_attention_args args = {.q = {.batch = heads * d, .position = heads * d, .head = d},
                             .k = past,
                             .v = past,
                             .n_batch = (size_t)q.shape.v[0],
                             .n_q = 1,
                             .n_keys = n_keys,
                             .n_heads = heads,
                             .n_kv_heads = kv_heads,
                             .d = d,
                             .d_v = d,
                             .scale = a->scale != 0 ? a->scale : 1 / sqrt((double)d),
                             .softcap = a->softcap,
                             .causal = true,
                             .window = a->window,
                             .kv_len = &seen,
                             .kv_offset = c->in[AT],
                             .out = c->out,
                             .out_batch = heads * d,
                             .out_position = heads * d,
                             .out_head = d};
  RLX_TRY(rlx_operand_open(c, rotated, &args.q.values));
  RLX_TRY(rlx_operand_open(c, &keys, &args.k.values));
  RLX_TRY(rlx_operand_open(c, &values, &args.v.values));
  return rlx_attention_run(c, &args);
}
