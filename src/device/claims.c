/* The table of claims: a hash table with open addressing. The key is everything a claim depends on. */
#include "device/claims.h"

#include <string.h>

#include "base/bump.h"
#include "base/status.h"
#include "device/registry.h"

/* The key, in memory of the table, and the claim. */
typedef struct entry {
  uint64_t hash;
  rlx_op op;
  const rlx_op_table_row *row;
  const void *attrs;
  uint32_t n_in;
  bool is_decided;        /* layouts were given */
  rlx_type type;          /* of the result */
  const rlx_type *types;  /* by input */
  const uint32_t *first;  /* by input: the first input that is the same value, counted from 1; 0: absent */
  const uint32_t *layout; /* by input, or NULL */
  rlx_claim claim;
} entry;

struct rlx_claims {
  rlx_device *device;
  uint32_t switches; /* rlx_switch */
  rlx_graph *attrs;  /* owns the copies of attributes; has no nodes */
  rlx_bump memory;
  entry **v;
  size_t n, cap; /* cap is a power of two */
};

void rlx_claim_deinit(const rlx_device *d, rlx_claim *claim) {
  if (claim->lowering) d->backend->lowering_destroy(claim->lowering);
  claim->lowering = NULL;
}

rlx_status rlx_claim_check(const rlx_bound_step *b) {
  const rlx_claim *c = b->claim;
  if (!c || !c->native) return RLX_FAIL(RLX_UNSUPPORTED, "%s", c && c->why ? c->why : "it has not been claimed");
  const uint64_t found = b->work.block ? b->work.bytes : 0;
  if (c->work_bytes <= found) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "expected %llu bytes of work memory, got %llu", (unsigned long long)c->work_bytes,
                  (unsigned long long)found);
}

/* ---- the object ---- */

static rlx_status make_room(rlx_claims *c) {
  if (c->n * 2 < c->cap) return RLX_OK;
  size_t cap = c->cap ? c->cap * 2 : 64;
  entry **larger = rlx_mem_calloc(cap, sizeof *larger);
  if (!larger) return RLX_FAIL(RLX_NO_MEMORY, "%zu claims", cap);
  for (size_t i = 0; i < c->cap; i++) {
    if (!c->v[i]) continue;
    size_t at = (size_t)c->v[i]->hash & (cap - 1);
    while (larger[at]) at = (at + 1) & (cap - 1);
    larger[at] = c->v[i];
  }
  rlx_mem_free(c->v);
  c->v = larger;
  c->cap = cap;
  return RLX_OK;
}

void rlx_claims_destroy(rlx_claims *c) {
  if (!c) return;
  for (size_t i = 0; i < c->cap; i++) {
    if (!c->v[i]) continue;
    rlx_claim_deinit(c->device, &c->v[i]->claim);
    rlx_attrs_release(c->v[i]->row, c->v[i]->attrs);
  }
  rlx_mem_free(c->v);
  rlx_bump_deinit(&c->memory);
  rlx_graph_destroy(c->attrs);
  rlx_device_release(c->device);
  rlx_mem_free(c);
}

rlx_status rlx_claims_create(rlx_device *d, uint32_t switches, rlx_claims **out) {
  *out = NULL;
  rlx_claims *c = rlx_new(rlx_claims);
  if (!c) return RLX_FAIL(RLX_NO_MEMORY, "a table of claims");
  c->device = rlx_device_retain(d);
  c->switches = switches;
  rlx_status s = rlx_graph_begin(&c->attrs);
  if (!s) s = make_room(c);
  if (s) rlx_claims_destroy(c);
  else *out = c;
  return s;
}

size_t rlx_claims_count(const rlx_claims *c) { return c->n; }

/* ---- lookup ---- */

/* The node of a query. */
typedef struct question {
  const rlx_graph *g;
  const rlx_node_rec *n;
  const uint32_t *layout; /* by node, or NULL */
} question;

/* Compares with the first 8 inputs only: ops for which equal inputs matter have no more. */
static uint32_t first_same(const rlx_node_rec *n, uint32_t i) {
  enum { LOOKED_AT = 8 };
  uint32_t k = 0, end = i < LOOKED_AT ? i : LOOKED_AT;
  if (!n->in[i]) return 0;
  while (k < end && n->in[k] != n->in[i]) k++;
  return k < end ? k + 1 : i + 1;
}

static const rlx_type *input_type(const question *q, uint32_t i) { return &rlx_graph_at(q->g, q->n->in[i])->type; }

static uint64_t hash_type(uint64_t h, const rlx_type *t) {
  h = rlx_hash_bytes(h, &t->dtype, sizeof t->dtype);
  return rlx_hash_bytes(h, t->shape.v, (size_t)t->shape.n * sizeof t->shape.v[0]);
}

static uint64_t hash_of(const question *q) {
  const rlx_node_rec *n = q->n;
  uint64_t head[] = {(uint64_t)n->op, n->n_in, q->layout != NULL, rlx_attrs_hash(rlx_op_table_get(n->op), n->attrs)};
  uint64_t h = hash_type(rlx_hash_bytes(1, head, sizeof head), &n->type);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!n->in[i]) continue;
    uint32_t of_input[] = {i, q->layout ? q->layout[n->in[i]] : 0};
    h = hash_type(rlx_hash_bytes(h, of_input, sizeof of_input), input_type(q, i));
  }
  return h;
}

static bool is_about(const entry *e, const question *q) {
  const rlx_node_rec *n = q->n;
  if (e->op != n->op || e->n_in != n->n_in || e->is_decided != (q->layout != NULL) ||
      !rlx_type_equal(&e->type, &n->type))
    return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (e->first[i] != first_same(n, i)) return false;
    if (!n->in[i]) continue;
    if (!rlx_type_equal(&e->types[i], input_type(q, i)) || (q->layout && e->layout[i] != q->layout[n->in[i]]))
      return false;
  }
  return rlx_attrs_equal(e->row, e->attrs, n->attrs);
}

static entry **place_of(const rlx_claims *c, uint64_t hash, const question *q) {
  size_t at = (size_t)hash & (c->cap - 1);
  while (c->v[at] && (c->v[at]->hash != hash || !is_about(c->v[at], q))) at = (at + 1) & (c->cap - 1);
  return &c->v[at];
}

/* ---- querying the device ---- */

static rlx_status describe(rlx_claims *c, const question *q, entry *e) {
  const rlx_node_rec *n = q->n;
  rlx_type *types = rlx_bump_array(&c->memory, rlx_type, (size_t)n->n_in + 1);
  uint32_t *first = rlx_bump_array(&c->memory, uint32_t, (size_t)n->n_in + 1);
  uint32_t *layout = q->layout ? rlx_bump_array(&c->memory, uint32_t, (size_t)n->n_in + 1) : NULL;
  if (!types || !first || (q->layout && !layout))
    return RLX_FAIL(RLX_NO_MEMORY, "a claim with %u inputs", (unsigned)n->n_in);
  for (uint32_t i = 0; i < n->n_in; i++) {
    first[i] = first_same(n, i);
    if (layout) layout[i] = n->in[i] ? q->layout[n->in[i]] : 0;
    if (n->in[i]) types[i] = *input_type(q, i);
  }
  e->n_in = n->n_in;
  e->is_decided = q->layout != NULL;
  e->type = n->type;
  e->types = types;
  e->first = first;
  e->layout = layout;
  e->op = n->op;
  e->row = rlx_op_table_get(n->op);
  e->attrs = rlx_attrs_copy(c->attrs, e->row, n->attrs);
  return e->attrs || !e->row->attrs_bytes ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the attributes of a claim");
}

/* A claim made before layouts were decided remains valid with plain layouts, if the device preferred no others. */
static const rlx_claim *plain_claim(const rlx_claims *c, const question *q) {
  if (!q->layout) return NULL;
  for (uint32_t i = 0; i < q->n->n_in; i++)
    if (q->n->in[i] && q->layout[q->n->in[i]]) return NULL;
  question open = {q->g, q->n, NULL};
  const entry *e = *place_of(c, hash_of(&open), &open);
  if (!e) return NULL;
  for (uint32_t i = 0; i < RLX_OP_MAX_INPUTS; i++)
    if (e->claim.layout[i]) return NULL;
  return &e->claim;
}

static rlx_status ask(rlx_claims *c, const question *q, rlx_node id, uint64_t hash, const rlx_claim **out) {
  RLX_TRY(make_room(c));
  entry *e = rlx_bump_array(&c->memory, entry, 1);
  if (!e) return RLX_FAIL(RLX_NO_MEMORY, "a claim");
  *e = (entry){.hash = hash};
  RLX_TRY(describe(c, q, e));
  const rlx_claim_query query = {.graph = q->g, .node = id, .layout = e->layout, .switches = c->switches};
  rlx_status s = c->device->backend->claim(c->device, &query, &e->claim);
  if (s) {
    rlx_attrs_release(e->row, e->attrs);
    return s;
  }
  *place_of(c, hash, q) = e;
  c->n++;
  *out = &e->claim;
  return RLX_OK;
}

rlx_status rlx_claims_get(rlx_claims *c, const rlx_graph *g, rlx_node n, const uint32_t *layout,
                          const rlx_claim **out) {
  question q = {g, rlx_graph_at(g, n), layout};
  rlx_status s = RLX_OK;
  *out = plain_claim(c, &q);
  if (*out) return RLX_OK;
  uint64_t hash = hash_of(&q);
  const entry *known = *place_of(c, hash, &q);
  if (known) *out = &known->claim;
  else s = ask(c, &q, n, hash, out);
  return s ? rlx_fail_frame(s, "node %u (%s)", (unsigned)n, rlx_op_table_get(q.n->op)->name) : RLX_OK;
}
