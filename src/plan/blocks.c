/* Offset assignment: rlx_place for one block, or several blocks if the device limits the size of an allocation.
 *
 * If everything fits one block, that is all. Otherwise storages are distributed over blocks, largest first, each to the
 * first block whose peak load still has room (a segment tree over the steps holds the load). Then each block is placed,
 * and storages that placement could not keep under the limit move on to further blocks. A block keeps at least one
 * storage, so this terminates. */
#include <stdlib.h>

#include "plan/planner.h"

static rlx_status too_large(const planner *p, const plan_storage *s) {
  char name[256];
  if (!s->node)
    return RLX_FAIL(
      RLX_UNSUPPORTED,
      "the workspace of step %u takes %llu bytes, but the device allocates at most %llu at once; a smaller "
      "batch would help",
      (unsigned)s->first, (unsigned long long)s->bytes, (unsigned long long)p->o.max_block_bytes);
  rlx_planner_name_value(p->g, s->node, name, sizeof name);
  return RLX_FAIL(RLX_UNSUPPORTED,
                  "%s takes %llu bytes, but the device allocates at most %llu at once; splitting the tensor, a smaller "
                  "batch or sequence, or a smaller type would help",
                  name, (unsigned long long)s->bytes, (unsigned long long)p->o.max_block_bytes);
}

/* Places these storages. */
static rlx_status place(planner *p, plan_order *o, const uint32_t *which, size_t n, rlx_place_result *result) {
  rlx_place_item *items = rlx_mem_calloc(n ? n : 1, sizeof *items);
  uint64_t *offsets = rlx_mem_calloc(n ? n : 1, sizeof *offsets);
  rlx_status s = items && offsets ? RLX_OK : rlx_planner_no_memory(p);
  for (size_t i = 0; !s && i < n; i++) {
    const plan_storage *t = &o->storage[which[i]];
    items[i] = (rlx_place_item){t->first, (int64_t)t->last + 1, t->bytes};
  }
  rlx_place_options options = {RLX_PLACE_OPTIONS_INIT, .align = p->o.align, .budget = p->o.place_budget,
                               .no_search = p->o.switches & RLX_SWITCH_NO_SEARCH};
  if (!s) s = rlx_place(items, n, &options, offsets, result);
  for (size_t i = 0; !s && i < n; i++) o->storage[which[i]].offset = offsets[i];
  rlx_mem_free(items);
  rlx_mem_free(offsets);
  return s;
}

/* ---- distribution over blocks ---- */

/* The load of a block over the steps: a segment tree with lazy additions and the maximum of each subtree. */
typedef struct load {
  uint64_t *max, *added;
} load;

static void load_add(load *t, uint32_t node, uint32_t lo, uint32_t hi, const plan_storage *s, uint64_t bytes) {
  if (s->last < lo || s->first > hi) return;
  if (s->first <= lo && hi <= s->last) {
    t->max[node] += bytes;
    t->added[node] += bytes;
    return;
  }
  uint32_t mid = lo + (hi - lo) / 2;
  load_add(t, 2 * node, lo, mid, s, bytes);
  load_add(t, 2 * node + 1, mid + 1, hi, s, bytes);
  uint64_t a = t->max[2 * node], b = t->max[2 * node + 1];
  t->max[node] = t->added[node] + (a > b ? a : b);
}

static uint64_t load_max(const load *t, uint32_t node, uint32_t lo, uint32_t hi, const plan_storage *s) {
  if (s->last < lo || s->first > hi) return 0;
  if (s->first <= lo && hi <= s->last) return t->max[node];
  uint32_t mid = lo + (hi - lo) / 2;
  uint64_t a = load_max(t, 2 * node, lo, mid, s), b = load_max(t, 2 * node + 1, mid + 1, hi, s);
  return t->added[node] + (a > b ? a : b);
}

typedef struct distribution {
  planner *p;
  plan_order *o;
  uint32_t *todo; /* storages without a block, largest first */
  size_t n_todo;
  uint32_t *here; /* storages of the block being filled */
} distribution;

typedef struct ranked {
  uint64_t bytes;
  uint32_t id;
} ranked;

static int by_bytes(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static bool fits(const planner *p, const plan_storage *s) {
  return s->bytes <= p->o.max_block_bytes && s->offset <= p->o.max_block_bytes - s->bytes;
}

/* Fills one block from the remaining storages; the others stay in order. */
static rlx_status fill_block(distribution *d, uint32_t block, load *t) {
  planner *p = d->p;
  uint32_t last = p->n_steps ? p->n_steps - 1 : 0;
  uint64_t room = rlx_planner_padded(p, p->o.max_block_bytes);
  size_t n_here = 0, n_left = 0;
  for (size_t i = 0; i < d->n_todo; i++) {
    plan_storage *s = &d->o->storage[d->todo[i]];
    uint64_t bytes = rlx_planner_padded(p, s->bytes), max = load_max(t, 1, 0, last, s);
    if (max > room || bytes > room - max) {
      d->todo[n_left++] = d->todo[i];
      continue;
    }
    load_add(t, 1, 0, last, s, bytes);
    d->here[n_here++] = d->todo[i];
  }
  rlx_place_result result = {RLX_PLACE_RESULT_INIT};
  RLX_TRY(place(p, d->o, d->here, n_here, &result));
  size_t n_kept = 0;
  for (size_t i = 0; i < n_here; i++) n_kept += fits(p, &d->o->storage[d->here[i]]);
  if (!n_kept) return RLX_FAIL(RLX_INVALID, "placement left block %u empty", (unsigned)block);
  for (size_t i = 0; i < n_here; i++) {
    plan_storage *s = &d->o->storage[d->here[i]];
    if (fits(p, s)) s->block = block;
    else d->todo[n_left++] = d->here[i];
  }
  d->n_todo = n_left;
  return RLX_OK;
}

static rlx_status sort_todo(distribution *d) {
  ranked *r = rlx_bump_array(&d->p->mem, ranked, d->n_todo);
  if (!r) return rlx_planner_no_memory(d->p);
  for (size_t i = 0; i < d->n_todo; i++) r[i] = (ranked){d->o->storage[d->todo[i]].bytes, d->todo[i]};
  qsort(r, d->n_todo, sizeof *r, by_bytes);
  for (size_t i = 0; i < d->n_todo; i++) d->todo[i] = r[i].id;
  return RLX_OK;
}

static rlx_status split(planner *p, plan_order *o, uint32_t *which, uint32_t *n_blocks) {
  size_t n_nodes = 4 * ((size_t)p->n_steps + 1);
  distribution d = {.p = p, .o = o, .todo = which, .n_todo = o->n_storages};
  d.here = rlx_bump_array(&p->mem, uint32_t, o->n_storages);
  load t = {rlx_mem_calloc(n_nodes, sizeof *t.max), rlx_mem_calloc(n_nodes, sizeof *t.added)};
  rlx_status s = d.here && t.max && t.added ? RLX_OK : rlx_planner_no_memory(p);
  *n_blocks = 0;
  while (!s && d.n_todo) {
    s = sort_todo(&d);
    for (size_t i = 0; i < n_nodes; i++) t.max[i] = t.added[i] = 0;
    if (!s) s = fill_block(&d, (*n_blocks)++, &t);
  }
  rlx_mem_free(t.max);
  rlx_mem_free(t.added);
  return s;
}

/* ---- all blocks ---- */

static rlx_status size_blocks(planner *p, const plan_order *o, rlx_plan *out) {
  out->scratch = rlx_bump_array(&out->bump, uint64_t, out->n_scratch);
  if (!out->scratch) return rlx_planner_no_memory(p);
  for (uint32_t i = 1; i <= o->n_storages; i++) {
    const plan_storage *s = &o->storage[i];
    uint64_t end = rlx_planner_padded(p, s->offset + s->bytes);
    if (p->o.max_block_bytes && end > p->o.max_block_bytes) end = p->o.max_block_bytes;
    if (end > out->scratch[s->block]) out->scratch[s->block] = end;
  }
  for (uint32_t b = 0; b < out->n_scratch; b++) out->scratch_bytes += out->scratch[b];
  return RLX_OK;
}

rlx_status rlx_planner_place(planner *p, plan_order *o, rlx_plan *out) {
  for (uint32_t i = 1; p->o.max_block_bytes && i <= o->n_storages; i++)
    if (o->storage[i].bytes > p->o.max_block_bytes) return too_large(p, &o->storage[i]);
  uint32_t *which = rlx_bump_array(&p->mem, uint32_t, o->n_storages);
  if (!which) return rlx_planner_no_memory(p);
  for (uint32_t i = 0; i < o->n_storages; i++) which[i] = i + 1;
  rlx_place_result result = {RLX_PLACE_RESULT_INIT};
  RLX_TRY(place(p, o, which, o->n_storages, &result));
  out->lower_bound = o->bound;
  out->greedy_bytes = result.greedy;
  out->n_scratch = 1;
  bool is_over = false;
  for (uint32_t i = 1; p->o.max_block_bytes && i <= o->n_storages; i++) is_over = is_over || !fits(p, &o->storage[i]);
  if (is_over) RLX_TRY(split(p, o, which, &out->n_scratch));
  return size_blocks(p, o, out);
}
