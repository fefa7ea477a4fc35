/* Graphs for planning; see plan_graphs.h. */
#include "plan_graphs.h"

#include <stdio.h>

static rlx_node weight(rlx_graph *g, rlx_dims shape) {
  char name[32];
  snprintf(name, sizeof name, "w%u", (unsigned)rlx_graph_size(g));
  return rlx_op_param(g, name, RLX_F32, shape);
}

/* ---- an MLP ---- */

static void build_mlp(rlx_graph *g) {
  static const int64_t sizes[] = {784, 4096, 4096, 1024, 2048, 512, 10};
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(64, sizes[0]));
  for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
    x = rlx_op_matmul(g, x, weight(g, RLX_DIMS(sizes[i - 1], sizes[i])));
    x = rlx_op_add(g, x, weight(g, RLX_DIMS(sizes[i])));
    if (i + 1 < sizeof sizes / sizeof *sizes) x = rlx_op_gelu(g, x);
  }
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, x, -1));
}

/* ---- a transformer of 28 layers, with K/V states ---- */

enum { LAYERS = 28, WIDTH = 1024, HEADS = 16, KV_HEADS = 8, HEAD = 128, FF = 3072, CONTEXT = 2048, WORDS = 151936 };

typedef struct decoder {
  rlx_graph *g;
  int64_t n_tokens;
  rlx_node at, length;
} decoder;

static rlx_node heads_of(decoder *d, rlx_node x, int64_t n_heads, bool rotates) {
  rlx_graph *g = d->g;
  rlx_node y = rlx_op_matmul_t(g, x, weight(g, RLX_DIMS(n_heads * HEAD, WIDTH)));
  y = rlx_op_reshape(g, y, RLX_DIMS(1, d->n_tokens, n_heads, HEAD));
  if (!rotates) return y;
  y = rlx_op_rms_norm(g, y, weight(g, RLX_DIMS(HEAD)), RLX_NONE, -1, 1e-6);
  return rlx_op_rope(g, y, &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .offset = d->at, .theta = 1e6});
}

static rlx_node cache(decoder *d, const char *kind, int layer, rlx_node rows) {
  char name[32];
  snprintf(name, sizeof name, "%s%d", kind, layer);
  rlx_node state = rlx_op_state(d->g, name, RLX_F32, RLX_DIMS(1, CONTEXT, KV_HEADS, HEAD));
  return rlx_op_update(d->g, state, rows, d->at, 1);
}

static rlx_node attend(decoder *d, rlx_node x, int layer) {
  rlx_graph *g = d->g;
  rlx_node q = heads_of(d, x, HEADS, true);
  rlx_node k = cache(d, "k", layer, heads_of(d, x, KV_HEADS, true));
  rlx_node v = cache(d, "v", layer, heads_of(d, x, KV_HEADS, false));
  rlx_node y = rlx_op_attention(
    g, q, k, v,
    &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .causal = true, .kv_len = d->length, .kv_offset = d->at});
  y = rlx_op_reshape(g, y, RLX_DIMS(1, d->n_tokens, HEADS * HEAD));
  return rlx_op_matmul_t(g, y, weight(g, RLX_DIMS(WIDTH, HEADS * HEAD)));
}

static rlx_node feed_forward(decoder *d, rlx_node x) {
  rlx_graph *g = d->g;
  rlx_node gate = rlx_op_silu(g, rlx_op_matmul_t(g, x, weight(g, RLX_DIMS(FF, WIDTH))));
  rlx_node up = rlx_op_matmul_t(g, x, weight(g, RLX_DIMS(FF, WIDTH)));
  return rlx_op_matmul_t(g, rlx_op_mul(g, gate, up), weight(g, RLX_DIMS(WIDTH, FF)));
}

static void build_transformer(rlx_graph *g, int64_t n_tokens) {
  decoder d = {.g = g, .n_tokens = n_tokens};
  rlx_node tokens = rlx_op_input(g, "tokens", RLX_I32, RLX_DIMS(1, n_tokens));
  d.at = rlx_op_input(g, "at", RLX_I32, RLX_SCALAR);
  d.length = rlx_op_input(g, "length", RLX_I32, RLX_SCALAR);
  rlx_node words = weight(g, RLX_DIMS(WORDS, WIDTH));
  rlx_node x = rlx_op_gather(g, words, tokens, 0);
  for (int i = 0; i < LAYERS; i++) {
    x = rlx_op_add(g, x, attend(&d, rlx_op_rms_norm(g, x, weight(g, RLX_DIMS(WIDTH)), RLX_NONE, -1, 1e-6), i));
    x = rlx_op_add(g, x, feed_forward(&d, rlx_op_rms_norm(g, x, weight(g, RLX_DIMS(WIDTH)), RLX_NONE, -1, 1e-6)));
  }
  x = rlx_op_narrow(g, x, 1, n_tokens - 1, 1);
  x = rlx_op_rms_norm(g, x, weight(g, RLX_DIMS(WIDTH)), RLX_NONE, -1, 1e-6);
  rlx_graph_add_output(g, "logits", rlx_op_matmul_t(g, x, words));
}

static void build_prefill(rlx_graph *g) { build_transformer(g, 512); }
static void build_decode(rlx_graph *g) { build_transformer(g, 1); }

/* ---- a U-Net: skips from each level down to the same level up ---- */

static rlx_node conv_block(rlx_graph *g, rlx_node x, int64_t to) {
  for (int i = 0; i < 2; i++) {
    rlx_dims shape = rlx_node_shape(g, x);
    x = rlx_op_conv(g, x, weight(g, RLX_DIMS(to, shape.v[1], 3, 3)), weight(g, RLX_DIMS(to)),
                    &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1)});
    x = rlx_op_group_norm(g, x, weight(g, RLX_DIMS(to)), weight(g, RLX_DIMS(to)), 8, 1e-5);
    x = rlx_op_silu(g, x);
  }
  return x;
}

static void build_unet(rlx_graph *g) {
  enum { LEVELS = 4 };
  rlx_node skip[LEVELS], x = rlx_op_input(g, "image", RLX_F32, RLX_DIMS(1, 3, 256, 256));
  int64_t channels = 32;
  for (int i = 0; i < LEVELS; i++, channels *= 2) {
    skip[i] = conv_block(g, x, channels);
    x = rlx_op_pool_max(g, skip[i], &(rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT, .kernel = RLX_DIMS(2, 2)});
  }
  x = conv_block(g, x, channels);
  for (int i = LEVELS - 1; i >= 0; i--) {
    channels /= 2;
    rlx_dims shape = rlx_node_shape(g, skip[i]);
    rlx_node up = rlx_op_resize(g, x, RLX_DIMS(1, 2 * channels, shape.v[2], shape.v[3]), NULL);
    up = rlx_op_conv(g, up, weight(g, RLX_DIMS(channels, 2 * channels, 1, 1)), RLX_NONE, NULL);
    x = conv_block(g, rlx_op_concat(g, (rlx_node[]){skip[i], up}, 2, 1), channels);
  }
  rlx_graph_add_output(g, "mask",
                       rlx_op_sigmoid(g, rlx_op_conv(g, x, weight(g, RLX_DIMS(1, channels, 1, 1)), RLX_NONE, NULL)));
}

/* ---- a DenseNet: each layer reads all before it in its block ---- */

static rlx_node dense_layer(rlx_graph *g, rlx_node x, int64_t growth) {
  rlx_dims shape = rlx_node_shape(g, x);
  rlx_node c = weight(g, RLX_DIMS(shape.v[1]));
  rlx_node y = rlx_op_relu(g, rlx_op_batch_norm_inference(g, x, c, c, c, c, 1e-5));
  y = rlx_op_relu(g, rlx_op_conv(g, y, weight(g, RLX_DIMS(4 * growth, shape.v[1], 1, 1)), RLX_NONE, NULL));
  return rlx_op_conv(g, y, weight(g, RLX_DIMS(growth, 4 * growth, 3, 3)), RLX_NONE,
                     &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1)});
}

static void build_densenet(rlx_graph *g) {
  static const int layers[] = {6, 12, 24, 16};
  rlx_node x = rlx_op_input(g, "image", RLX_F32, RLX_DIMS(1, 3, 224, 224));
  x = rlx_op_conv(g, x, weight(g, RLX_DIMS(64, 3, 7, 7)), RLX_NONE,
                  &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .stride = RLX_DIMS(2, 2), .pad_lo = RLX_DIMS(3, 3),
                                      .pad_hi = RLX_DIMS(3, 3)});
  x = rlx_op_pool_max(g, rlx_op_relu(g, x), &(rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT, .kernel = RLX_DIMS(2, 2)});
  for (size_t block = 0; block < sizeof layers / sizeof *layers; block++) {
    for (int i = 0; i < layers[block]; i++) x = rlx_op_concat(g, (rlx_node[]){x, dense_layer(g, x, 32)}, 2, 1);
    if (block == 3) break;
    int64_t half = rlx_node_shape(g, x).v[1] / 2;
    x = rlx_op_conv(g, x, weight(g, RLX_DIMS(half, 2 * half, 1, 1)), RLX_NONE, NULL);
    x = rlx_op_pool_avg(g, x, &(rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT, .kernel = RLX_DIMS(2, 2)});
  }
  int64_t channels = rlx_node_shape(g, x).v[1];
  x = rlx_op_reshape(g, rlx_op_global_pool_avg(g, x), RLX_DIMS(1, channels));
  rlx_graph_add_output(g, "y", rlx_op_matmul(g, x, weight(g, RLX_DIMS(channels, 1000))));
}

const plan_graph_kind plan_graph_kinds[] = {
  {"mlp", build_mlp},   {"prefill", build_prefill},   {"decode", build_decode},
  {"unet", build_unet}, {"densenet", build_densenet},
};
const size_t plan_graph_kinds_count = sizeof plan_graph_kinds / sizeof *plan_graph_kinds;

rlx_status plan_graph_build(const plan_graph_kind *kind, rlx_graph **out) {
  RLX_TRY(rlx_graph_begin(out));
  kind->build(*out);
  rlx_status s = rlx_graph_finish(*out);
  if (!s) return RLX_OK;
  rlx_graph_destroy(*out);
  *out = NULL;
  return s;
}

/* ---- random ones: vectors of many lengths ---- */

enum { MAX_STATES = 4 };

typedef struct random_plan {
  rlx_graph *g;
  uint64_t seed;
  uint32_t longest;
  rlx_node *values; /* vectors */
  uint32_t n_values;
  rlx_node state[MAX_STATES]; /* the newest value of each */
  rlx_node old[MAX_STATES];   /* an earlier one */
  rlx_node at;
} random_plan;

static uint32_t draw(random_plan *r, uint32_t below) {
  r->seed += 0x9e3779b97f4a7c15u;
  uint64_t z = (r->seed ^ (r->seed >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)((z ^ (z >> 31)) >> 32) % below;
}

/* Mostly a recent value. */
static rlx_node pick(random_plan *r) {
  uint32_t recent = r->n_values < 8 ? r->n_values : 8;
  return r->values[draw(r, 4) ? r->n_values - 1 - draw(r, recent) : draw(r, r->n_values)];
}

static int64_t length_of(random_plan *r, rlx_node n) { return rlx_node_shape(r->g, n).v[0]; }
static int64_t draw_length(random_plan *r) {
  return draw(r, 3) ? (int64_t)(r->longest >> draw(r, 5)) : 1 + (int64_t)draw(r, r->longest);
}

static rlx_node add_dense(random_plan *r) {
  rlx_node x = pick(r);
  int64_t n = length_of(r, x), m = draw_length(r);
  rlx_node y = rlx_op_matmul(r->g, rlx_op_reshape(r->g, x, RLX_DIMS(1, n)), weight(r->g, RLX_DIMS(n, m)));
  return rlx_op_reshape(r->g, y, RLX_DIMS(m));
}

static rlx_node add_unary(random_plan *r) {
  return draw(r, 2) ? rlx_op_relu(r->g, pick(r)) : rlx_op_exp(r->g, pick(r));
}

static rlx_node add_binary(random_plan *r) {
  rlx_node a = pick(r), b = a;
  for (int i = 0; i < 8 && b == a; i++) {
    rlx_node other = pick(r);
    if (length_of(r, other) == length_of(r, a) || length_of(r, other) == 1) b = other;
  }
  return rlx_op_add(r->g, a, b);
}

static rlx_node cut(random_plan *r, rlx_node x) {
  int64_t n = length_of(r, x), start = (int64_t)draw(r, (uint32_t)n),
          stop = start + 1 + (int64_t)draw(r, (uint32_t)(n - start));
  return rlx_op_slice(r->g, x,
                      &(rlx_op_slice_desc){RLX_OP_SLICE_DESC_INIT, .start = RLX_DIMS(start), .stop = RLX_DIMS(stop),
                                           .step = RLX_DIMS(draw(r, 5) ? 1 : 2)});
}

static rlx_node add_slice(random_plan *r) { return cut(r, pick(r)); }

static rlx_node add_concat(random_plan *r) {
  rlx_node parts[5];
  uint32_t n = 1 + draw(r, 5);
  for (uint32_t i = 0; i < n; i++) parts[i] = pick(r);
  return rlx_op_concat(r->g, parts, n, 0);
}

static rlx_node add_update(random_plan *r) {
  uint32_t i = draw(r, MAX_STATES);
  rlx_node rows = cut(r, pick(r));
  if (length_of(r, rows) > length_of(r, r->state[i])) return pick(r);
  r->old[i] = r->state[i];
  r->state[i] = rlx_op_update(r->g, r->state[i], rows, r->at, 0);
  return draw(r, 2) ? rlx_op_relu(r->g, r->state[i]) : r->state[i];
}

static rlx_node add_state_read(random_plan *r) {
  uint32_t i = draw(r, MAX_STATES);
  rlx_node x = draw(r, 2) ? r->state[i] : r->old[i];
  return draw(r, 2) ? cut(r, x) : rlx_op_relu(r->g, x);
}

static void grow(random_plan *r, uint32_t n_nodes) {
  static rlx_node (*const add[])(random_plan *) = {add_dense,  add_dense, add_unary,  add_unary,  add_binary,
                                                   add_binary, add_slice, add_concat, add_update, add_state_read};
  rlx_graph *g = r->g;
  char name[16];
  r->at = rlx_op_scalar(g, RLX_I32, 0);
  for (uint32_t i = 0; i < MAX_STATES; i++) {
    snprintf(name, sizeof name, "s%u", (unsigned)i);
    r->state[i] = r->old[i] = rlx_op_state(g, name, RLX_F32, RLX_DIMS(draw_length(r)));
    snprintf(name, sizeof name, "x%u", (unsigned)i);
    r->values[r->n_values++] = rlx_op_input(g, name, RLX_F32, RLX_DIMS(draw_length(r)));
  }
  while (rlx_graph_size(g) < n_nodes && !rlx_graph_status(g)) {
    rlx_node y = add[draw(r, sizeof add / sizeof *add)](r);
    if (y) r->values[r->n_values++] = y;
  }
  for (uint32_t i = 0; i < 1 + draw(r, 4) && !rlx_graph_status(g); i++) {
    snprintf(name, sizeof name, "y%u", (unsigned)i);
    rlx_graph_add_output(g, name, i ? pick(r) : r->values[r->n_values - 1]);
  }
}

rlx_status plan_graph_random(uint64_t seed, uint32_t n_nodes, uint32_t longest, rlx_graph **out) {
  RLX_TRY(rlx_graph_begin(out));
  random_plan r = {
    .g = *out, .seed = seed, .longest = longest, .values = rlx_mem_calloc((size_t)n_nodes + 16, sizeof *r.values)};
  rlx_status s = r.values ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a random graph");
  if (!s) {
    grow(&r, n_nodes);
    s = rlx_graph_finish(*out);
  }
  rlx_mem_free(r.values);
  if (!s) return RLX_OK;
  rlx_graph_destroy(*out);
  *out = NULL;
  return s;
}
