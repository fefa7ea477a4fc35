/* com.microsoft attention ops: packed weights, KV caches, several kinds of masks. */
#include <inttypes.h>
#include <string.h>

#include "onnx/attend.h"

/* ---- masks ---- */

/* Lengths [B] (keys before them count), [B, T] or [B, S, T] of 0 and 1; what is hidden gets `filter` added. */
static rlx_status mask_bias(onnx_call *c, uint32_t i, int64_t batch, int64_t keys, double filter, rlx_node *out) {
  rlx_dims d = onnx_shape(c, i);
  *out = RLX_NONE;
  if (!onnx_has(c, i)) return RLX_OK;
  rlx_node m = onnx_cast(c, onnx_in(c, i), RLX_I32), seen, zero = rlx_op_scalar(c->g, RLX_I32, 0);
  rlx_node j = onnx_reshape(c, rlx_op_range(c->g, 0, 1, keys, RLX_I32), RLX_DIMS(1, 1, 1, keys));
  if (d.n == 1 && d.v[0] == batch) {
    seen = rlx_op_lt(c->g, j, onnx_reshape(c, m, RLX_DIMS(batch, 1, 1, 1)));
  } else if (d.n == 1 && d.v[0] == 2 * batch) { /* ends, then starts */
    rlx_node ends = onnx_reshape(c, onnx_part(c, m, 0, 0, batch), RLX_DIMS(batch, 1, 1, 1));
    rlx_node starts = onnx_reshape(c, onnx_part(c, m, 0, batch, 2 * batch), RLX_DIMS(batch, 1, 1, 1));
    seen = rlx_op_and(c->g, rlx_op_lt(c->g, j, ends), rlx_op_ge(c->g, j, starts));
  } else if (d.n == 2 && d.v[0] == batch && d.v[1] == keys) {
    seen = rlx_op_ne(c->g, onnx_reshape(c, m, RLX_DIMS(batch, 1, 1, keys)), zero);
  } else if (d.n == 3 && d.v[0] == batch && d.v[2] == keys) {
    seen = rlx_op_ne(c->g, onnx_reshape(c, m, RLX_DIMS(batch, 1, d.v[1], keys)), zero);
  } else {
    return onnx_refuse(c, "a mask with %d axes for %" PRId64 " keys", (int)d.n, keys);
  }
  *out =
    rlx_op_where(c->g, seen, rlx_op_scalar(c->g, onnx_dtype(c, 0), 0), rlx_op_scalar(c->g, onnx_dtype(c, 0), filter));
  return RLX_OK;
}

static rlx_node add_up(onnx_call *c, rlx_node a, rlx_node b) { return a && b ? rlx_op_add(c->g, a, b) : a ? a : b; }

static rlx_status read_common(onnx_call *c, onnx_attend *a, int64_t *heads, double *filter) {
  *a = (onnx_attend){.left = -1, .right = -1, .precision = RLX_DTYPE_UNKNOWN};
  RLX_TRY(onnx_int(c, "num_heads", 0, heads));
  RLX_TRY(onnx_float(c, "scale", 0, &a->scale));
  RLX_TRY(onnx_flag(c, "unidirectional", false, &a->causal));
  RLX_TRY(onnx_float(c, "mask_filter_value", -10000, filter));
  if (a->scale == 0) a->scale = (double)NAN;
  return *heads >= 1 ? RLX_OK : RLX_FAIL(RLX_INVALID, "num_heads is %" PRId64, *heads);
}

/* ---- Attention: one weight for query, key and value ---- */

static rlx_status packed_sizes(onnx_call *c, int64_t heads, int64_t size[3]) {
  onnx_ints given;
  rlx_dims x = onnx_shape(c, 0), w = onnx_shape(c, 1), b = onnx_shape(c, 2);
  RLX_TRY(onnx_ints_of(c, "qkv_hidden_sizes", &given));
  if (x.n != 3 || w.n != 2 || w.v[0] != x.v[2]) return RLX_FAIL(RLX_INVALID, "expected [B, S, I] and weights [I, 3 H]");
  for (int i = 0; i < 3; i++) {
    size[i] = given.n == 3 ? given.v[i] : w.v[1] / 3;
    if (size[i] < 1 || size[i] > w.v[1] || size[i] % heads)
      return RLX_FAIL(RLX_INVALID, "%" PRId64 " heads of %" PRId64, heads, size[i]);
  }
  if (size[0] + size[1] + size[2] != w.v[1] || size[0] != size[1] || (onnx_has(c, 2) && (b.n != 1 || b.v[0] != w.v[1])))
    return RLX_FAIL(RLX_INVALID, "the weights do not fit");
  return RLX_OK;
}

rlx_status onnx_op_contrib_attention(onnx_call *c) {
  onnx_attend a;
  int64_t heads, size[3], at = 0;
  double filter;
  bool rotary;
  rlx_node part[3], mask;
  rlx_dims x = onnx_shape(c, 0), past = onnx_shape(c, 4);
  RLX_TRY(read_common(c, &a, &heads, &filter));
  RLX_TRY(packed_sizes(c, heads, size));
  RLX_TRY(onnx_flag(c, "do_rotary", false, &rotary));
  if (rotary || onnx_has(c, 6)) return onnx_refuse(c, "rotary positions or a shared cache");
  onnx_pass_over(c, "rotary_embedding_dim");
  if (onnx_has(c, 4) && (past.n != 5 || past.v[0] != 2)) return RLX_FAIL(RLX_INVALID, "past has %d axes", (int)past.n);
  rlx_node all = rlx_op_matmul(c->g, onnx_in(c, 0), onnx_in(c, 1));
  if (onnx_has(c, 2)) all = rlx_op_add(c->g, all, onnx_in(c, 2));
  for (int i = 0; i < 3; i++) {
    part[i] = onnx_swap_heads(c, onnx_split_heads(c, onnx_part(c, all, 2, at, at + size[i]), heads));
    at += size[i];
  }
  for (int i = 1; i < 3 && onnx_has(c, 4); i++) {
    rlx_node old = onnx_part(c, onnx_in(c, 4), 0, i - 1, i);
    rlx_node both[] = {onnx_reshape(c, old, RLX_DIMS(past.v[1], past.v[2], past.v[3], past.v[4])), part[i]};
    part[i] = rlx_op_concat(c->g, both, 2, 2);
  }
  a.q = part[0], a.k = part[1], a.v = part[2];
  a.offset = onnx_has(c, 4) ? past.v[3] : 0;
  RLX_TRY(mask_bias(c, 3, x.v[0], x.v[1] + a.offset, filter, &mask));
  a.bias = add_up(c, mask, onnx_in(c, 5));
  RLX_TRY(onnx_set_like(c, 0, onnx_join_heads(c, onnx_swap_heads(c, onnx_attention(c, &a, NULL))), 0));
  if (!onnx_wants(c, 1)) return RLX_OK;
  rlx_dims ks = onnx_dims(c, a.k), one = RLX_DIMS(1, ks.v[0], ks.v[1], ks.v[2], ks.v[3]);
  if (size[2] != size[1]) return onnx_refuse(c, "present with values of another size");
  rlx_node both[] = {onnx_reshape(c, a.k, one), onnx_reshape(c, a.v, one)};
  return onnx_set_like(c, 1, rlx_op_concat(c->g, both, 2, 0), 0);
}

/* ---- MultiHeadAttention ---- */

/* Part i of a packed value [B, S, H, n, D]. */
static rlx_node unpack(onnx_call *c, rlx_node x, int i) {
  rlx_dims d = onnx_dims(c, x);
  x = onnx_part(c, x, 3, i, i + 1);
  return onnx_swap_heads(c, onnx_reshape(c, x, RLX_DIMS(d.v[0], d.v[1], d.v[2], d.v[4])));
}

/* Query, key or value as [B, H, S, D], its bias added. */
static rlx_node multi_head_part(onnx_call *c, uint32_t i, int64_t heads, int64_t *at) {
  rlx_dims d = onnx_shape(c, i);
  rlx_node x = onnx_in(c, i);
  if (d.n == 4) return x; /* it is by heads already */
  if (onnx_has(c, 3)) x = rlx_op_add(c->g, x, onnx_part(c, onnx_in(c, 3), 0, *at, *at + d.v[2]));
  *at += d.v[2];
  return onnx_swap_heads(c, onnx_split_heads(c, x, heads));
}

static rlx_status check_multi_head(onnx_call *c, int64_t heads) {
  rlx_dims q = onnx_shape(c, 0), b = onnx_shape(c, 3);
  int64_t sum = 0;
  if (onnx_has(c, 8) || onnx_has(c, 9)) return onnx_refuse(c, "a shared cache");
  if (q.n == 5)
    return q.v[3] == 3 && q.v[2] == heads && !onnx_has(c, 3) ? RLX_OK : onnx_refuse(c, "packed values with a bias");
  if (onnx_has(c, 1) && onnx_rank(c, 1) == 5)
    return q.n == 3 && q.v[2] % heads == 0 && onnx_shape(c, 1).v[3] == 2 && !onnx_has(c, 3)
             ? RLX_OK
             : onnx_refuse(c, "packed keys and values with a bias");
  for (uint32_t i = 0; i < 3; i++) {
    rlx_dims d = onnx_shape(c, i);
    if (!onnx_has(c, i) || (d.n != 3 && (d.n != 4 || !i)) || (d.n == 3 && d.v[2] % heads) ||
        (d.n == 4 && d.v[1] != heads))
      return RLX_FAIL(RLX_INVALID, "input %u does not fit %" PRId64 " heads", (unsigned)i, heads);
    sum += d.n == 3 ? d.v[2] : 0;
  }
  if (onnx_has(c, 3) && (b.n != 1 || b.v[0] < sum)) return RLX_FAIL(RLX_INVALID, "the bias does not fit");
  return RLX_OK;
}

rlx_status onnx_op_multi_head_attention(onnx_call *c) {
  onnx_attend a;
  int64_t heads, at = 0;
  double filter;
  rlx_node mask;
  RLX_TRY(read_common(c, &a, &heads, &filter));
  RLX_TRY(check_multi_head(c, heads));
  if (onnx_rank(c, 0) == 5) {
    a.q = unpack(c, onnx_in(c, 0), 0), a.k = unpack(c, onnx_in(c, 0), 1), a.v = unpack(c, onnx_in(c, 0), 2);
  } else {
    a.q = multi_head_part(c, 0, heads, &at);
    bool packed = onnx_rank(c, 1) == 5;
    a.k = packed ? unpack(c, onnx_in(c, 1), 0) : multi_head_part(c, 1, heads, &at);
    a.v = packed ? unpack(c, onnx_in(c, 1), 1) : multi_head_part(c, 2, heads, &at);
  }
  if (onnx_has(c, 6) && onnx_has(c, 7)) {
    if (onnx_rank(c, 6) != 4 || onnx_rank(c, 7) != 4)
      return RLX_FAIL(RLX_INVALID, "past_key has %d axes", onnx_rank(c, 6));
    rlx_node keys[] = {onnx_in(c, 6), a.k}, values[] = {onnx_in(c, 7), a.v};
    a.k = rlx_op_concat(c->g, keys, 2, 2), a.v = rlx_op_concat(c->g, values, 2, 2);
    a.offset = onnx_shape(c, 6).v[2];
  }
  rlx_dims ks = onnx_dims(c, a.k), qs = onnx_dims(c, a.q);
  RLX_TRY(mask_bias(c, 4, qs.v[0], ks.v[2], filter, &mask));
  a.bias = add_up(c, mask, onnx_in(c, 5));
  RLX_TRY(onnx_set_like(c, 0, onnx_join_heads(c, onnx_swap_heads(c, onnx_attention(c, &a, NULL))), 0));
  if (onnx_wants(c, 1)) RLX_TRY(onnx_set_like(c, 1, a.k, 0));
  if (onnx_wants(c, 2)) RLX_TRY(onnx_set_like(c, 2, a.v, 0));
  return onnx_wants(c, 3) ? onnx_refuse(c, "the scores as an output") : RLX_OK;
}

/* ---- GroupQueryAttention ---- */

typedef struct grouped {
  int64_t batch, steps, heads, kv_heads, size, total, past; /* past: rows of the cache that are there */
  rlx_node offsets; /* i32 [B]: rows of the cache in use; none: `past` for all */
} grouped;

/* Appends new rows after the rows in use, zeros after them. With one sequence the positions are known; otherwise
 * each sequence has its own. */
static rlx_node extend(onnx_call *c, const grouped *g, uint32_t cache, rlx_node rows) {
  rlx_dims d = onnx_shape(c, cache);
  if (!onnx_has(c, cache) || d.v[2] == 0) return rows;
  if (!g->offsets) {
    rlx_node parts[3];
    size_t n = 0;
    if (g->past) parts[n++] = onnx_part(c, onnx_in(c, cache), 2, 0, g->past);
    parts[n++] = rows;
    if (g->total < d.v[2]) {
      rlx_dims rest = RLX_DIMS(g->batch, g->kv_heads, d.v[2] - g->total, g->size);
      parts[n++] = onnx_fill(c, onnx_dtype(c, cache), rest, 0);
    }
    return n == 1 ? rows : rlx_op_concat(c->g, parts, n, 2);
  }
  int64_t keys = d.v[2] > g->total ? d.v[2] : g->total;
  rlx_node zeros = onnx_fill(c, onnx_dtype(c, cache), RLX_DIMS(g->batch, g->kv_heads, 1, g->size), 0);
  rlx_node three[] = {onnx_in(c, cache), rows, zeros}, all = rlx_op_concat(c->g, three, 3, 2);
  rlx_node j = onnx_reshape(c, rlx_op_range(c->g, 0, 1, keys, RLX_I32), RLX_DIMS(1, keys));
  rlx_node from = onnx_reshape(c, g->offsets, RLX_DIMS(g->batch, 1));
  rlx_node fresh = rlx_op_sub(c->g, j, from); /* which of the new rows */
  rlx_node is_new = rlx_op_ge(c->g, fresh, rlx_op_scalar(c->g, RLX_I32, 0));
  fresh = rlx_op_min(c->g, fresh, rlx_op_scalar(c->g, RLX_I32, (double)g->steps)); /* past the last: zeros */
  rlx_node old = rlx_op_min(c->g, j, rlx_op_scalar(c->g, RLX_I32, (double)d.v[2] - 1));
  rlx_node index = rlx_op_where(c->g, is_new, onnx_plus(c, fresh, (double)d.v[2]), old);
  index = rlx_op_expand(c->g, onnx_reshape(c, index, RLX_DIMS(g->batch, 1, keys, 1)),
                        RLX_DIMS(g->batch, g->kv_heads, keys, g->size));
  return rlx_op_gather_elements(c->g, all, index, 2);
}

static rlx_status read_grouped(onnx_call *c, grouped *g) {
  rlx_dims q = onnx_shape(c, 0), k = onnx_shape(c, 3);
  RLX_TRY(onnx_need_int(c, 6, &g->total));
  RLX_TRY(onnx_int(c, "num_heads", 0, &g->heads));
  RLX_TRY(onnx_int(c, "kv_num_heads", 0, &g->kv_heads));
  int64_t parts = onnx_has(c, 1) ? g->heads : g->heads + 2 * g->kv_heads;
  if (q.n != 3 || g->heads < 1 || g->kv_heads < 1 || g->heads % g->kv_heads || parts < 1 || q.v[2] % parts)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " and %" PRId64 " heads do not fit the query", g->heads, g->kv_heads);
  g->batch = q.v[0], g->steps = q.v[1], g->size = q.v[2] / parts;
  for (uint32_t i = 1; i < 3 && onnx_has(c, 1); i++) {
    rlx_dims d = onnx_shape(c, i);
    if (d.n != 3 || d.v[1] != g->steps || d.v[2] != g->kv_heads * g->size)
      return RLX_FAIL(RLX_INVALID, "input %u does not fit %" PRId64 " heads", (unsigned)i, g->kv_heads);
  }
  for (uint32_t i = 3; i < 5 && onnx_has(c, 3); i++) {
    rlx_dims d = onnx_shape(c, i);
    if (d.n != 4 || d.v[0] != g->batch || d.v[1] != g->kv_heads || d.v[3] != g->size)
      return RLX_FAIL(RLX_INVALID, "past does not fit %" PRId64 " heads of %" PRId64, g->kv_heads, g->size);
  }
  g->past = g->total - g->steps;
  int64_t there = onnx_has(c, 3) ? k.v[2] : 0;
  if (g->past < 0 || g->past > there || g->total > INT32_MAX)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " keys in all, %" PRId64 " of them new, with a cache of %" PRId64, g->total,
                    g->steps, there);
  return RLX_OK;
}

static rlx_node heads_of(onnx_call *c, uint32_t i, int64_t from, int64_t heads, int64_t size) {
  rlx_node x = onnx_part(c, onnx_in(c, i), 2, from * size, (from + heads) * size);
  return onnx_split_heads(c, x, heads);
}

/* Positions [B, S] of the new rows. */
static rlx_node positions_of(onnx_call *c, const grouped *g) {
  if (onnx_has(c, 9)) return onnx_in(c, 9);
  rlx_node i =
    onnx_reshape(c, rlx_op_range(c->g, g->offsets ? 0 : (double)g->past, 1, g->steps, RLX_I32), RLX_DIMS(1, g->steps));
  if (g->offsets) return rlx_op_add(c->g, i, onnx_reshape(c, g->offsets, RLX_DIMS(g->batch, 1)));
  return rlx_op_expand(c->g, i, RLX_DIMS(g->batch, g->steps));
}

static rlx_status rotate_grouped(onnx_call *c, const grouped *g, onnx_attend *a) {
  bool rotary;
  onnx_rope r = {0};
  RLX_TRY(onnx_flag(c, "do_rotary", false, &rotary));
  RLX_TRY(onnx_flag(c, "rotary_interleaved", false, &r.interleaved));
  if (!rotary) return RLX_OK;
  if (onnx_rank(c, 7) != 2 || onnx_rank(c, 8) != 2)
    return RLX_FAIL(RLX_INVALID, "do_rotary without cos_cache and sin_cache");
  r.cos = onnx_in(c, 7), r.sin = onnx_in(c, 8);
  r.n_rot = 2 * onnx_shape(c, 7).v[1];
  r.positions = positions_of(c, g);
  a->q = onnx_rotate(c, a->q, &r);
  a->k = onnx_rotate(c, a->k, &r);
  return RLX_OK;
}

/* Caches of blocks and the scores as a result are later than what is here. */
static rlx_status check_no_quant(onnx_call *c) {
  static const char *const names[] = {"k_quant_type", "v_quant_type"};
  int64_t scores, bits;
  RLX_TRY(onnx_int(c, "qk_output", 0, &scores));
  RLX_TRY(onnx_int(c, "kv_cache_bit_width", 0, &bits));
  if (scores || bits) return onnx_refuse(c, "qk_output %d, kv_cache_bit_width %d", (int)scores, (int)bits);
  for (size_t i = 0; i < 2; i++) {
    const char *text;
    RLX_TRY(onnx_text_of(c, names[i], "NONE", &text));
    if (strcmp(text, "NONE") != 0) return onnx_refuse(c, "%s '%.40s'", names[i], text);
  }
  return RLX_OK;
}

rlx_status onnx_op_group_query_attention(onnx_call *c) {
  grouped g = {0};
  onnx_attend a = {.left = -1, .right = -1, .precision = RLX_DTYPE_UNKNOWN, .causal = true};
  int64_t window;
  bool smooth;
  RLX_TRY(read_grouped(c, &g));
  RLX_TRY(check_no_quant(c));
  RLX_TRY(onnx_float(c, "scale", 0, &a.scale));
  RLX_TRY(onnx_float(c, "softcap", 0, &a.softcap));
  RLX_TRY(onnx_int(c, "local_window_size", -1, &window));
  RLX_TRY(onnx_flag(c, "smooth_softmax", false, &smooth));
  if (a.scale == 0) a.scale = (double)NAN;
  if (window > 0) a.left = window - 1;
  if (g.batch > 1 && g.past > 0) {
    rlx_node lengths = onnx_reshape(c, onnx_cast(c, onnx_in(c, 5), RLX_I32), RLX_DIMS(g.batch));
    g.offsets = onnx_plus(c, lengths, 1 - (double)g.steps);
  }
  bool packed = !onnx_has(c, 1);
  a.q = heads_of(c, 0, 0, g.heads, g.size);
  a.k = heads_of(c, packed ? 0 : 1, packed ? g.heads : 0, g.kv_heads, g.size);
  a.v = heads_of(c, packed ? 0 : 2, packed ? g.heads + g.kv_heads : 0, g.kv_heads, g.size);
  RLX_TRY(rotate_grouped(c, &g, &a));
  rlx_node k = extend(c, &g, 3, onnx_swap_heads(c, a.k)), v = extend(c, &g, 4, onnx_swap_heads(c, a.v));
  a.q = onnx_swap_heads(c, a.q);
  a.k = onnx_part(c, k, 2, 0, g.total), a.v = onnx_part(c, v, 2, 0, g.total);
  a.offset = g.past, a.offsets = g.offsets;
  a.bias = onnx_in(c, 10);
  a.sinks = onnx_has(c, 11) ? onnx_in(c, 11) : smooth ? onnx_fill(c, onnx_dtype(c, 0), RLX_DIMS(g.heads), 0) : RLX_NONE;
  RLX_TRY(onnx_set_like(c, 0, onnx_join_heads(c, onnx_swap_heads(c, onnx_attention(c, &a, NULL))), 0));
  if (onnx_wants(c, 1)) RLX_TRY(onnx_set_like(c, 1, k, 0));
  if (onnx_wants(c, 2)) RLX_TRY(onnx_set_like(c, 2, v, 0));
  return onnx_wants(c, 3) ? onnx_refuse(c, "the scores as an output") : RLX_OK;
}

/* ---- RotaryEmbedding: positions before the tables; one number is where they begin ---- */

rlx_status onnx_op_contrib_rotary_embedding(onnx_call *c) {
  int64_t heads, partial;
  bool packed;
  double scale;
  onnx_rope r = {0};
  rlx_dims x = onnx_shape(c, 0), p = onnx_shape(c, 1), t = onnx_shape(c, 2);
  RLX_TRY(onnx_flag(c, "interleaved", false, &r.interleaved));
  RLX_TRY(onnx_flag(c, "is_packed_batching", false, &packed));
  RLX_TRY(onnx_int(c, "num_heads", 0, &heads));
  RLX_TRY(onnx_int(c, "rotary_embedding_dim", 0, &partial));
  RLX_TRY(onnx_float(c, "scale", 1, &scale));
  if (packed || scale != 1) return onnx_refuse(c, "packed batches or a scale of %g", scale);
  if (t.n != 2 || t.v[1] < 1 || x.n < 3 || x.n > 4) return RLX_FAIL(RLX_INVALID, "an input with %d axes", (int)x.n);
  int64_t size = x.n == 4 ? x.v[3] : partial > 0 && heads > 0 ? x.v[2] / heads : 2 * t.v[1];
  if (x.n == 3 && (size < 1 || x.v[2] % size)) return RLX_FAIL(RLX_INVALID, "heads of %" PRId64, size);
  int64_t steps = x.n == 4 ? x.v[2] : x.v[1];
  r.by_heads = x.n == 4;
  r.n_rot = partial > 0 ? partial : 2 * t.v[1];
  r.cos = onnx_in(c, 2), r.sin = onnx_in(c, 3), r.positions = onnx_in(c, 1);
  if (p.n < 2) {
    rlx_node i = onnx_reshape(c, rlx_op_range(c->g, 0, 1, steps, onnx_dtype(c, 1)), RLX_DIMS(1, steps));
    r.positions = rlx_op_expand(c->g, rlx_op_add(c->g, i, onnx_one(c, r.positions)), RLX_DIMS(x.v[0], steps));
  }
  rlx_node in = onnx_in(c, 0);
  if (x.n == 3) in = onnx_split_heads(c, in, x.v[2] / size);
  rlx_node y = onnx_rotate(c, in, &r);
  return onnx_set_like(c, 0, x.n == 3 ? onnx_join_heads(c, y) : y, 0);
}
