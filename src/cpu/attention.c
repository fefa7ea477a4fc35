/* Attention with an online softmax. A block of query rows iterates over its keys in tiles. Each row keeps the largest
 * score so far, the sum of weights and the weighted sum of values. No buffer grows with the number of keys.
 *
 * With grouped queries the rows of a KV head are (query, head of the group), so a tile of keys is read once for all of
 * them. A block of rows is one task. Decode has few rows and many keys, so there the keys are split into chunks of
 * fixed size. Each chunk is a task, and their results are merged in order. So results do not depend on the number of
 * threads.
 *
 * A masked key must not reach the result, whatever its value holds (an unwritten cache, NaN). A weight of 0 times NaN
 * would. So a row that comes out non-finite is recomputed by a slow path that skips masked keys. */
#include "cpu/attention.h"

#include <math.h>
#include <string.h>

#include "cpu/pointwise.h"
#include "cpu/slots.h"
#include "ir/walk.h"

enum {
  KEYS = CPU_ATTENTION_KEYS,
  CHUNK_KEYS = 512, /* keys per task where keys are split */
  MAX_SLOTS = 32    /* concurrent tasks, each with its own scratch memory */
};

typedef struct heads { /* strides in elements */
  size_t batch, position, head;
} heads;

typedef struct inputs { /* their places among the node's inputs; NONE: the op has no such input */
  uint32_t key_mask, bias, sinks, kv_len, kv_offset, pages;
} inputs;
enum { NONE = 15 };

typedef struct attention {
  const cpu_attention_table *table;
  inputs in;
  size_t n_pages, page; /* of paged attention; else page is the number of keys */
  size_t n_batch, n_q, n_keys, n_heads, n_kv, group, d, d_v;
  heads q, k, v, out;
  rlx_dtype q_type, k_type, v_type;
  size_t bias[4];      /* strides of bias over [B, H, Sq, Sk] */
  size_t len_n, off_n; /* elements of kv_len and kv_offset; 0: absent */
  float scale, softcap;
  bool causal;
  int64_t window;
  size_t rows, blocks, chunks; /* rows of a KV head; blocks of rows; chunks of keys */
  size_t slots, slot_floats, part_floats;
} attention;

typedef struct task { /* one block of rows times one chunk of keys */
  const attention *a;
  const cpu_call *c;
  size_t b, kv_head, row, n_rows, chunk;
  int64_t keys, offset; /* of this batch element */
  bool skinny;
  float *q, *s, *k_tile, *v_tile, *acc, *m, *l, *rescale; /* scratch */
} task;

/* ---- sizes ---- */

static heads strides_of(const rlx_type *t, bool seq_first) {
  size_t s[RLX_MAX_RANK];
  rlx_strides(&t->shape, s);
  return (heads){s[0], s[seq_first ? 1 : 2], s[seq_first ? 2 : 1]};
}

static const rlx_type *type_of(const rlx_graph *g, const rlx_node_rec *n, uint32_t i) {
  return i < n->n_in && n->in[i] ? &rlx_graph_at(g, n->in[i])->type : NULL;
}

static size_t count_of(const rlx_type *t) { return t ? rlx_dims_count(&t->shape) : 0; }

static void set_tasks(attention *a) {
  size_t block = a->table->rows;
  a->rows = a->n_q * a->group;
  a->blocks = (a->rows + block - 1) / block;
  a->chunks = a->blocks <= 1 && a->n_keys > 2 * CHUNK_KEYS ? (a->n_keys + CHUNK_KEYS - 1) / CHUNK_KEYS : 1;
  size_t tasks = a->n_batch * a->n_kv * a->blocks * a->chunks;
  a->slots = tasks < MAX_SLOTS ? tasks : MAX_SLOTS;
  size_t wide = a->d > a->d_v ? a->d : a->d_v;
  a->slot_floats = block * a->d + block * KEYS + KEYS * wide + block * a->d_v + 3 * block;
  a->slot_floats = (a->slot_floats + 15) / 16 * 16;
  a->part_floats = a->chunks > 1 ? a->rows * (a->d_v + 2) : 0;
}

/* What the two ops have in attributes of the same names. */
#define COPY_ATTRS(a, attrs) \
  ((a)->softcap = (float)(attrs)->softcap, (a)->causal = (attrs)->causal, (a)->window = (attrs)->window, (attrs)->scale)

static void attention_init(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, attention *a) {
  static const inputs of_attention = {3, 4, 5, 6, 7, NONE}, of_pages = {NONE, NONE, 6, 4, 5, 3};
  bool is_paged = n->op == RLX_OP_paged_attention;
  const rlx_type *q = type_of(g, n, 0), *k = type_of(g, n, 1), *v = type_of(g, n, 2);
  bool seq_first = is_paged || ((const rlx_attrs_attention *)n->attrs)->layout == RLX_LAYOUT_BSHD;
  int seq = seq_first ? 1 : 2, head = 3 - seq;
  *a = (attention){.table = cpu_attention(isa),
                   .in = is_paged ? of_pages : of_attention,
                   .n_batch = (size_t)q->shape.v[0],
                   .n_q = (size_t)q->shape.v[seq],
                   .n_keys = (size_t)k->shape.v[seq],
                   .n_heads = (size_t)q->shape.v[head],
                   .n_kv = (size_t)k->shape.v[head],
                   .d = (size_t)q->shape.v[3],
                   .d_v = (size_t)v->shape.v[3],
                   .q = strides_of(q, seq_first),
                   .k = strides_of(k, seq_first),
                   .v = strides_of(v, seq_first),
                   .out = strides_of(&n->type, seq_first),
                   .q_type = q->dtype,
                   .k_type = k->dtype,
                   .v_type = v->dtype};
  a->page = a->n_keys;
  if (is_paged) a->n_pages = (size_t)k->shape.v[0], a->n_keys *= (size_t)type_of(g, n, a->in.pages)->shape.v[1];
  a->len_n = count_of(type_of(g, n, a->in.kv_len));
  a->off_n = count_of(type_of(g, n, a->in.kv_offset));
  double scale = is_paged ? COPY_ATTRS(a, (const rlx_attrs_paged_attention *)n->attrs)
                          : COPY_ATTRS(a, (const rlx_attrs_attention *)n->attrs);
  a->scale = (float)(scale == 0 ? 1 / sqrt((double)a->d) : scale);
  a->group = a->n_kv ? a->n_heads / a->n_kv : 0;
  rlx_dims all = RLX_DIMS((int64_t)a->n_batch, (int64_t)a->n_heads, (int64_t)a->n_q, (int64_t)a->n_keys);
  const rlx_type *bias = type_of(g, n, a->in.bias);
  size_t stride[RLX_MAX_RANK] = {0};
  if (bias) rlx_broadcast_strides(&bias->shape, &all, stride);
  memcpy(a->bias, stride, sizeof a->bias);
  set_tasks(a);
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  attention a;
  attention_init(q->graph, n, isa, &a);
  size_t parts = a.n_batch * a.n_kv * a.chunks * a.part_floats;
  c->work_bytes = (a.slots * a.slot_floats + parts) * sizeof(float);
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  attention *a = rlx_bump_new(memory, attention);
  if (!a) return RLX_FAIL(RLX_NO_MEMORY, "attention");
  attention_init(c->graph, c->node, c->isa, a);
  c->prepared = a;
  return RLX_OK;
}

/* ---- visible keys of a row ---- */

static void visible(const task *t, size_t row, int64_t *first, int64_t *end) {
  const attention *a = t->a;
  *first = 0;
  *end = t->keys;
  if (!a->causal) return;
  int64_t own = (int64_t)(row / a->group) + t->offset; /* the key at the query's own position */
  if (own < *end) *end = own < 0 ? 0 : own + 1;
  if (a->window > 0 && own >= a->window) *first = own - a->window + 1;
}

static const char *at(const void *base, rlx_dtype type, size_t element) {
  return (const char *)base + rlx_dtype_row_bytes(type, element);
}

static size_t head_of(const task *t, size_t row) { return t->kv_head * t->a->group + row % t->a->group; }

/* The address of score (row, key) of the tile. */
static float *score_at(const task *t, size_t r, size_t key) {
  return t->skinny ? &t->s[r * KEYS + key] : &t->s[key * t->a->table->rows + r];
}

/* ---- one tile ---- */

static void add_bias(const task *t, size_t r, int64_t key, size_t n) {
  const attention *a = t->a;
  const void *bias = cpu_in(t->c, t->a->in.bias);
  size_t row = t->row + r;
  size_t from = t->b * a->bias[0] + head_of(t, row) * a->bias[1] + row / a->group * a->bias[2];
  float values[KEYS];
  if (a->bias[3]) cpu_floats_load(t->c->isa, a->q_type, at(bias, a->q_type, from + (size_t)key), values, n);
  else cpu_floats_load(t->c->isa, a->q_type, at(bias, a->q_type, from), values, 1);
  for (size_t i = 0; i < n; i++) *score_at(t, r, i) += values[a->bias[3] ? i : 0];
}

static void hide_keys(const task *t, size_t r, int64_t key, size_t n) {
  const uint8_t *mask = cpu_in(t->c, t->a->in.key_mask);
  int64_t first, end;
  visible(t, t->row + r, &first, &end);
  if (!mask && first <= key && end >= key + (int64_t)n) return;
  for (size_t i = 0; i < n; i++) {
    int64_t j = key + (int64_t)i;
    if (j < first || j >= end || (mask && !mask[t->b * t->a->n_keys + (size_t)j])) *score_at(t, r, i) = -INFINITY;
  }
}

/* Whether every row of the block sees all n keys. Later rows see later keys, so the first and the last row decide. */
static bool sees_all(const task *t, int64_t key, size_t n) {
  int64_t first, end, unused;
  visible(t, t->row + t->n_rows - 1, &first, &unused);
  visible(t, t->row, &unused, &end);
  return !cpu_in(t->c, t->a->in.key_mask) && first <= key && end >= key + (int64_t)n;
}

/* Where the row of a key or value begins. */
static size_t row_of(const task *t, const heads *h, size_t key) {
  const attention *a = t->a;
  const int32_t *pages = cpu_in(t->c, a->in.pages);
  if (!pages) return t->b * h->batch + key * h->position;
  int32_t page = pages[t->b * (a->n_keys / a->page) + key / a->page];
  size_t at = page < 0 ? 0 : (size_t)page < a->n_pages ? (size_t)page : a->n_pages - 1;
  return at * h->batch + key % a->page * h->position;
}

/* The keys of the tile that begins at `key`: no tile reaches over the end of a page. */
static size_t tile_keys(const attention *a, int64_t key, int64_t end) {
  size_t n = end - key < KEYS ? (size_t)(end - key) : KEYS, left = a->page - (size_t)key % a->page;
  return n < left ? n : left;
}

/* A tile of keys or values as f32: unchanged in place, or converted into `buffer`. *row is its row stride. */
static const float *tile_of(const task *t, const void *base, rlx_dtype type, const heads *h, size_t width, int64_t key,
                            size_t n, float *buffer, size_t *row) {
  size_t from = row_of(t, h, (size_t)key) + t->kv_head * h->head;
  if (type == RLX_F32) {
    *row = h->position;
    return (const float *)base + from;
  }
  t->a->table->widen(type, at(base, type, from), h->position, n, width, buffer);
  *row = width;
  return buffer;
}

static void run_tile(const task *t, int64_t key, size_t n) {
  const attention *a = t->a;
  const cpu_attention_table *table = a->table;
  size_t row, block = table->rows;
  const float *k = tile_of(t, cpu_in(t->c, 1), a->k_type, &a->k, a->d, key, n, t->k_tile, &row);
  if (t->skinny) table->scores_rows(t->q, t->n_rows, k, row, n, a->d, t->s);
  else table->scores_lanes(t->q, k, row, n, a->d, t->s);
  if (a->softcap > 0 && t->skinny)
    for (size_t r = 0; r < t->n_rows; r++) table->soft_cap(t->s + r * KEYS, n, a->softcap);
  else if (a->softcap > 0) table->soft_cap(t->s, n * block, a->softcap);
  for (size_t r = 0; r < t->n_rows && cpu_in(t->c, t->a->in.bias); r++) add_bias(t, r, key, n);
  bool hides = !sees_all(t, key, n);
  for (size_t r = 0; r < t->n_rows && hides; r++) hide_keys(t, r, key, n);
  if (t->skinny) table->softmax_rows(t->s, t->n_rows, n, t->m, t->l, t->rescale);
  else table->softmax_lanes(t->s, n, t->m, t->l, t->rescale);
  const float *v = tile_of(t, cpu_in(t->c, 2), a->v_type, &a->v, a->d_v, key, n, t->v_tile, &row);
  table->add_values(t->s, t->skinny ? 1 : block, t->skinny ? KEYS : 1, v, row, n, t->n_rows, a->d_v, t->rescale,
                    t->acc);
}

/* e^(sink - sink), 0 for a sink of -inf: what a sink adds to the sum while it is the largest score. A sink of +inf or
 * NaN makes the row NaN. */
static float sink_weight(float sink) { return sink == -INFINITY ? 0 : isfinite(sink) ? 1 : NAN; }

/* ---- slow path for one row, which skips masked keys ---- */

static void redo_row(const task *t, size_t r, int64_t chunk_first, int64_t chunk_end) {
  const attention *a = t->a;
  const void *sinks = cpu_in(t->c, t->a->in.sinks);
  size_t row = t->row + r, block = a->table->rows;
  int64_t first, end;
  visible(t, row, &first, &end);
  if (first < chunk_first) first = chunk_first;
  if (end > chunk_end) end = chunk_end;
  float m = -INFINITY, l = 0, *acc = t->acc + r * a->d_v;
  if (sinks && chunk_first == 0)
    cpu_floats_load(t->c->isa, a->q_type, at(sinks, a->q_type, head_of(t, row)), &m, 1), l = sink_weight(m);
  memset(acc, 0, a->d_v * sizeof *acc);
  for (int64_t key = first; key < end; key++) {
    size_t stride;
    const float *k = tile_of(t, cpu_in(t->c, 1), a->k_type, &a->k, a->d, key, 1, t->k_tile, &stride);
    float s = 0, rescale = 1;
    for (size_t e = 0; e < a->d; e++) s += k[e] * (t->skinny ? t->q[r * a->d + e] : t->q[e * block + r]);
    if (a->softcap > 0) a->table->soft_cap(&s, 1, a->softcap);
    *score_at(t, r, 0) = s;
    if (cpu_in(t->c, t->a->in.bias)) add_bias(t, r, key, 1);
    hide_keys(t, r, key, 1);
    s = *score_at(t, r, 0);
    if (s == -INFINITY) continue;
    float max = s > m ? s : m, base = max == -INFINITY ? 0 : max;
    rescale = expf(m - base);
    float p = expf(s - base);
    l = l * rescale + p;
    m = max;
    const float *v = tile_of(t, cpu_in(t->c, 2), a->v_type, &a->v, a->d_v, key, 1, t->v_tile, &stride);
    for (size_t e = 0; e < a->d_v; e++) acc[e] = acc[e] * rescale + p * v[e];
  }
  t->m[r] = m;
  t->l[r] = l;
}

static bool all_finite(const float *v, size_t n) {
  float sum = 0;
  for (size_t i = 0; i < n; i++) sum += v[i] * 0;
  return sum == 0;
}

/* ---- one task ---- */

static void load_queries(const task *t) {
  const attention *a = t->a;
  size_t block = a->table->rows;
  if (!t->skinny) memset(t->q, 0, block * a->d * sizeof *t->q);
  for (size_t r = 0; r < t->n_rows; r++) {
    size_t row = t->row + r;
    size_t from = t->b * a->q.batch + row / a->group * a->q.position + head_of(t, row) * a->q.head;
    float *to = t->skinny ? t->q + r * a->d : t->acc; /* acc is unused until the first tile; it holds d_v floats */
    for (size_t e = 0; e < a->d; e += t->skinny ? a->d : a->d_v) {
      size_t n = t->skinny || a->d - e < a->d_v ? a->d - e : a->d_v;
      cpu_floats_load(t->c->isa, a->q_type, at(cpu_in(t->c, 0), a->q_type, from + e), to, n);
      for (size_t i = 0; i < n; i++)
        if (t->skinny) to[i] *= a->scale;
        else t->q[(e + i) * block + r] = to[i] * a->scale;
    }
  }
}

static void begin_rows(const task *t) {
  const attention *a = t->a;
  const void *sinks = cpu_in(t->c, t->a->in.sinks);
  for (size_t r = 0; r < a->table->rows; r++) t->m[r] = -INFINITY, t->l[r] = 0, t->rescale[r] = 1;
  for (size_t r = 0; r < t->n_rows && sinks && t->chunk == 0; r++) {
    cpu_floats_load(t->c->isa, a->q_type, at(sinks, a->q_type, head_of(t, t->row + r)), &t->m[r], 1);
    t->l[r] = sink_weight(t->m[r]);
  }
  memset(t->acc, 0, t->n_rows * a->d_v * sizeof *t->acc);
}

/* Stores acc / l as the result's row. */
static void store_row(const task *t, size_t row, float *acc, float l) {
  const attention *a = t->a;
  size_t to = t->b * a->out.batch + row / a->group * a->out.position + head_of(t, row) * a->out.head;
  if (l == 0) memset(acc, 0, a->d_v * sizeof *acc); /* no visible key */
  else a->table->divide(acc, a->d_v, l);
  cpu_floats_store(t->c->isa, a->q_type, acc, (char *)t->c->out + to * rlx_dtype_size(a->q_type), a->d_v);
}

static float *part_of(const task *t, size_t chunk) {
  const attention *a = t->a;
  float *parts = (float *)t->c->work + a->slots * a->slot_floats;
  return parts + ((t->b * a->n_kv + t->kv_head) * a->chunks + chunk) * a->part_floats;
}

static void finish_rows(const task *t) {
  const attention *a = t->a;
  for (size_t r = 0; r < t->n_rows; r++) {
    float *acc = t->acc + r * a->d_v;
    if (a->chunks == 1) {
      store_row(t, t->row + r, acc, t->l[r]);
      continue;
    }
    float *part = part_of(t, t->chunk) + (t->row + r) * (a->d_v + 2);
    part[0] = t->m[r];
    part[1] = t->l[r];
    memcpy(part + 2, acc, a->d_v * sizeof *acc);
  }
}

static void run_task(const task *t) {
  const attention *a = t->a;
  int64_t first = t->keys, end = 0;
  for (size_t r = 0; r < t->n_rows; r++) { /* the union of the rows' visible keys */
    int64_t row_first, row_end;
    visible(t, t->row + r, &row_first, &row_end);
    if (row_first < first) first = row_first;
    if (row_end > end) end = row_end;
  }
  int64_t chunk_first = a->chunks > 1 ? (int64_t)(t->chunk * CHUNK_KEYS) : 0;
  int64_t chunk_end = a->chunks > 1 ? chunk_first + CHUNK_KEYS : t->keys;
  if (first < chunk_first) first = chunk_first;
  if (end > chunk_end) end = chunk_end;
  if (first < end) load_queries(t);
  begin_rows(t);
  for (int64_t key = first; key < end;) {
    size_t n = tile_keys(a, key, end);
    run_tile(t, key, n);
    key += (int64_t)n;
  }
  for (size_t r = 0; r < t->n_rows && first < end; r++)
    if (!all_finite(t->acc + r * a->d_v, a->d_v) || !all_finite(&t->l[r], 1)) redo_row(t, r, chunk_first, chunk_end);
  finish_rows(t);
}

/* ---- the kernel ---- */

static int64_t load_int(const cpu_call *c, uint32_t input, size_t n, size_t b) {
  return ((const int32_t *)cpu_in(c, input))[n == 1 ? 0 : b];
}

static void set_lengths(const attention *a, const cpu_call *c, task *t) {
  t->keys = a->len_n ? load_int(c, a->in.kv_len, a->len_n, t->b) : (int64_t)a->n_keys;
  t->offset = a->off_n ? load_int(c, a->in.kv_offset, a->off_n, t->b) : t->keys - (int64_t)a->n_q;
}

static void assign_scratch(task *t, float *memory) {
  const attention *a = t->a;
  size_t block = a->table->rows, wide = a->d > a->d_v ? a->d : a->d_v;
  t->q = memory;
  t->s = t->q + block * a->d;
  t->k_tile = t->v_tile = t->s + block * KEYS; /* shared: keys are not needed after the scores */
  t->acc = t->k_tile + KEYS * wide;
  t->m = t->acc + block * a->d_v;
  t->l = t->m + block;
  t->rescale = t->l + block;
}

static void run_item(const cpu_call *c, size_t i, float *memory) {
  const attention *a = c->prepared;
  size_t block = a->table->rows;
  task t = {.a = a, .c = c, .chunk = i % a->chunks};
  t.row = i / a->chunks % a->blocks * block;
  t.kv_head = i / a->chunks / a->blocks % a->n_kv;
  t.b = i / a->chunks / a->blocks / a->n_kv;
  t.n_rows = a->rows - t.row < block ? a->rows - t.row : block;
  t.skinny = t.n_rows <= a->table->skinny_rows;
  set_lengths(a, c, &t);
  assign_scratch(&t, memory);
  run_task(&t);
}

/* Merges the chunks of one row, in order, into the first chunk's part. */
static void merge_row(const task *t, size_t row) {
  const attention *a = t->a;
  float *into = part_of(t, 0) + row * (a->d_v + 2);
  for (size_t chunk = 1; chunk < a->chunks; chunk++) {
    const float *part = part_of(t, chunk) + row * (a->d_v + 2);
    if (part[0] == -INFINITY && part[1] == 0) continue;
    float max = part[0] > into[0] ? part[0] : into[0], base = max == -INFINITY ? 0 : max;
    float old = expf(into[0] - base), new = expf(part[0] - base);
    for (size_t e = 1; e < a->d_v + 2; e++) into[e] = into[e] * old + part[e] * new;
    into[0] = max;
  }
  store_row(t, row, into + 2, into[1]);
}

static void merge(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  const attention *a = c->prepared;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    task t = {.a = a, .c = c, .b = i / a->n_kv, .kv_head = i % a->n_kv};
    for (size_t row = 0; row < a->rows; row++) merge_row(&t, row);
  }
}

static rlx_status check_lengths(const attention *a, const cpu_call *c) {
  for (size_t b = 0; b < a->len_n; b++) {
    int32_t n = ((const int32_t *)cpu_in(c, a->in.kv_len))[b];
    if (n < 0 || (size_t)n > a->n_keys)
      return RLX_FAIL(RLX_INVALID, "kv_len is %d but there are %zu keys", (int)n, a->n_keys);
  }
  return RLX_OK;
}

static rlx_status run(const cpu_call *c) {
  const attention *a = c->prepared;
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  RLX_TRY(check_lengths(a, c));
  size_t n = a->n_batch * a->n_kv * a->blocks * a->chunks;
  cpu_slots_run(c, n, a->slots, a->slot_floats, RLX_INFINITY, run_item);
  if (a->chunks > 1) cpu_parallel(c->pool, a->n_batch * a->n_kv, 1, merge, (void *)(uintptr_t)c);
  return RLX_OK;
}

const cpu_kernel cpu_attention_kernel = {.claim = claim, .prepare = prepare, .run = run, .no_f64 = true};
