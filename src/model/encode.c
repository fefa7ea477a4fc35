/* Attention of encoders: all queries and all keys of a text are there at once, and no cache is.
 *
 * Layers with a window see half of it in both directions. No op has such a window; a mask of T x T numbers would be 256
 * MiB for 8192 tokens. So queries are cut into blocks of half a window, and each block attends to three blocks of keys:
 * its own, the one before and the one after. Within those a small table of biases cuts what is too far, and a mask cuts
 * what is outside the text. Memory and time grow with T. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/graph.h"

#define HIDDEN (-1e9f) /* added to a score that must not count */

/* ---- Windows in both directions ---- */

typedef struct blocks {
  int64_t n, size; /* of queries; there are two blocks of keys more */
} blocks;

static rlx_node pad_tokens(lm_build *b, rlx_node x, int64_t before, int64_t after) {
  return rlx_op_pad(b->g, x, RLX_DIMS(0, before, 0, 0), RLX_DIMS(0, after, 0, 0), RLX_PAD_CONSTANT, 0);
}

/* [B, T, heads, head] to [B n, 3 size, heads, head] */
static rlx_node three_blocks(lm_build *b, blocks k, rlx_node x) {
  int64_t heads = b->c->kv_heads, head = b->c->head;
  rlx_node parts[3];
  x = pad_tokens(b, x, k.size, (k.n + 1) * k.size - b->tokens);
  x = rlx_op_reshape(b->g, x, RLX_DIMS(b->sequences, k.n + 2, k.size, heads * head));
  for (int i = 0; i < 3; i++) parts[i] = rlx_op_narrow(b->g, x, 1, i, k.n);
  x = rlx_op_concat(b->g, parts, 3, 2);
  return rlx_op_reshape(b->g, x, RLX_DIMS(b->sequences * k.n, 3 * k.size, heads, head));
}

static rlx_node constant(lm_build *b, rlx_dtype dtype, rlx_dims shape, const void *data, int64_t n) {
  if (data) return rlx_op_constant(b->g, dtype, shape, data, (size_t)n * 4);
  if (!b->status) b->status = RLX_FAIL(RLX_NO_MEMORY, "a mask of %lld numbers", (long long)n);
  return RLX_NONE;
}

/* Key j of a block's three is at block * size + j - size. */
static rlx_node far_keys(lm_build *b, blocks k) {
  int64_t half = b->c->window / 2, n = 3 * k.size * k.size;
  float *far = rlx_mem_alloc((size_t)n * sizeof *far);
  for (int64_t i = 0; far && i < k.size; i++)
    for (int64_t j = 0; j < 3 * k.size; j++) far[i * 3 * k.size + j] = llabs(k.size + i - j) <= half ? 0 : HIDDEN;
  rlx_node bias = constant(b, RLX_F32, RLX_DIMS(1, 1, k.size, 3 * k.size), far, n);
  rlx_mem_free(far);
  return bias;
}

/* Whether each key is in the text: bool [B n, 3 size]. What is before it counts as behind it. */
static rlx_node true_keys(lm_build *b, blocks k) {
  int64_t n = k.n * 3 * k.size;
  int32_t *at = rlx_mem_alloc((size_t)n * sizeof *at);
  for (int64_t i = 0; at && i < n; i++) {
    int64_t where = i / (3 * k.size) * k.size + i % (3 * k.size) - k.size;
    at[i] = where < 0 ? INT32_MAX : (int32_t)where;
  }
  rlx_node places = constant(b, RLX_I32, RLX_DIMS(1, n), at, n);
  rlx_node length = rlx_op_reshape(b->g, b->length, RLX_DIMS(b->sequences, 1));
  rlx_mem_free(at);
  return rlx_op_reshape(b->g, rlx_op_lt(b->g, places, length), RLX_DIMS(b->sequences * k.n, 3 * k.size));
}

static rlx_node attend_near(lm_build *b, rlx_node q, rlx_node k, rlx_node v, rlx_op_attention_desc *how) {
  const lm_config *c = b->c;
  blocks all = {.size = c->window / 2 > 0 ? c->window / 2 : 1};
  all.n = (b->tokens + all.size - 1) / all.size;
  how->kv_len = RLX_NONE;
  how->bias = far_keys(b, all);
  how->key_mask = true_keys(b, all);
  q = pad_tokens(b, q, 0, all.n * all.size - b->tokens);
  q = rlx_op_reshape(b->g, q, RLX_DIMS(b->sequences * all.n, all.size, c->heads, c->head));
  rlx_node y = rlx_op_attention(b->g, q, three_blocks(b, all, k), three_blocks(b, all, v), how);
  y = rlx_op_reshape(b->g, y, RLX_DIMS(b->sequences, all.n * all.size, c->heads * c->head));
  return rlx_op_narrow(b->g, y, 1, 0, b->tokens);
}

/* ---- Biases by distance ---- */

enum { FAR = 128 }; /* tokens further apart are in the last bucket */

/* Half of the buckets are for keys behind the query. The first half of those are for one distance each, the others for
 * ranges that grow. */
static int32_t bucket_of(int32_t n_buckets, int64_t distance) {
  int32_t half = n_buckets / 2, exact = half / 2, first = distance > 0 ? half : 0;
  int64_t far = llabs(distance);
  if (far < exact) return first + (int32_t)far;
  float steps = logf((float)far / (float)exact) / logf((float)FAR / (float)exact) * (float)(half - exact);
  int64_t bucket = exact + (int64_t)steps;
  return first + (int32_t)(bucket < half ? bucket : half - 1);
}

/* The indices are made to depend on the input, or the table would be gathered at load, once for each size of graph. */
static rlx_node distances(lm_build *b) {
  int64_t t = b->tokens, n = t * t;
  if (b->distances) return b->distances;
  int32_t *which = rlx_mem_alloc((size_t)n * sizeof *which);
  for (int64_t i = 0; which && i < n; i++) which[i] = bucket_of((int32_t)b->c->buckets, i % t - i / t);
  rlx_node index = constant(b, RLX_I32, RLX_DIMS(n), which, n);
  rlx_mem_free(which);
  rlx_node id = rlx_op_reshape(b->g, rlx_op_narrow(b->g, rlx_op_narrow(b->g, b->ids, 0, 0, 1), 1, 0, 1), RLX_DIMS(1));
  index = rlx_op_add(b->g, index, rlx_op_min(b->g, id, lm_i32(b, 0)));
  rlx_node bias = rlx_op_reshape(b->g, lm_rows(b, "attn_rel_b", index), RLX_DIMS(t, t, b->c->heads));
  bias = rlx_op_transpose(b->g, bias, RLX_DIMS(2, 0, 1));
  return b->distances = rlx_op_reshape(b->g, bias, RLX_DIMS(1, b->c->heads, t, t));
}

rlx_node lm_attend_whole(lm_build *b, uint32_t layer, rlx_node q, rlx_node k, rlx_node v, rlx_op_attention_desc *how) {
  const lm_config *c = b->c;
  const bool is_local = c->is_local && c->is_local[layer];
  how->causal = c->is_causal && b->tokens > 1;
  if (how->causal) how->kv_offset = lm_i32(b, 0);
  if (how->causal && is_local) how->window = c->window;
  if (is_local && !c->is_causal && c->window / 2 + 1 < b->tokens) return attend_near(b, q, k, v, how);
  if (c->buckets) how->bias = distances(b);
  return lm_join_heads(b, rlx_op_attention(b->g, q, k, v, how));
}
