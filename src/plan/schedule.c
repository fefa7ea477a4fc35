/* The schedule: an order of the units with a low peak of live bytes.
 *
 * Finding the best order is NP-hard, so a few good ones are built and measured (live.c), and the lowest bound wins. The
 * graph's own order is kept unless another is better.
 *
 *   depth first   from the outputs backwards; of a unit's inputs, the one with the largest peak beyond its own result
 *                 is computed first (optimal for trees), so that a branch is finished before the next begins
 *   greedy        from the inputs on, the ready unit that frees most (or adds least) next; ties in depth-first order
 *
 * Both take O(n log n) time in units and edges, without recursion. */
#include <stdlib.h>

#include "plan/planner.h"

/* ---- depth first ---- */

typedef struct child {
  uint32_t unit;
  uint64_t gain; /* peak beyond what stays live after it */
} child;

static int by_gain(const void *a, const void *b) {
  const child *x = a, *y = b;
  if (x->gain != y->gain) return x->gain < y->gain ? 1 : -1;
  return x->unit < y->unit ? -1 : x->unit > y->unit;
}

typedef struct depth {
  planner *p;
  plan_graph before; /* units that a unit depends on, sorted for the traversal */
  /* by unit: bytes at the peak of computing it and all it needs, as if nothing were shared, and afterwards */
  uint64_t *peak, *leaves;
  child *children; /* dependencies of one unit */
} depth;

/* Bytes that a unit writes. */
static uint64_t written_bytes(const planner *p, const plan_unit *u) {
  uint64_t bytes = 0;
  if (u->kind == PLAN_UNIT_COPY) return rlx_planner_padded(p, p->value[u->node].bytes);
  for (uint32_t i = 0; i < u->n_nodes; i++) {
    const plan_value *v = &p->value[p->results.v[u->first_node + i]];
    if (v->buffer) bytes += rlx_planner_padded(p, v->bytes);
  }
  return bytes;
}

static uint64_t add_capped(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/* In base order, so that a unit's dependencies are estimated before it. */
static void estimate(depth *d, uint32_t unit) {
  uint32_t first = d->before.first[unit], n = d->before.first[unit + 1] - first;
  const plan_unit *u = &d->p->units.v[unit];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = d->before.v[first + i];
    d->children[i] = (child){k, d->peak[k] - d->leaves[k]};
  }
  qsort(d->children, n, sizeof *d->children, by_gain);
  uint64_t held = 0, peak = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = d->before.v[first + i] = d->children[i].unit;
    uint64_t here = add_capped(held, d->peak[k]);
    if (here > peak) peak = here;
    held = add_capped(held, d->leaves[k]);
  }
  d->leaves[unit] = u->kind == PLAN_UNIT_JOIN ? held : written_bytes(d->p, u);
  uint64_t here = add_capped(add_capped(held, u->kind == PLAN_UNIT_JOIN ? 0 : d->leaves[unit]), u->work_bytes);
  d->peak[unit] = here > peak ? here : peak;
}

/* Post-order traversal from each unit without successors, with a stack of (unit, next edge). */
static rlx_status walk(depth *d, uint32_t *order) {
  planner *p = d->p;
  size_t n = p->units.n, at = 0, top = 0;
  uint32_t *stack = rlx_bump_array(&p->mem, uint32_t, n), *next = rlx_bump_array(&p->mem, uint32_t, n);
  bool *seen = rlx_bump_array(&p->mem, bool, n);
  if (!stack || !next || !seen) return rlx_planner_no_memory(p);
  for (size_t i = 0; i + 1 < n; i++) {
    uint32_t root = p->base[i];
    if (seen[root] || p->next.first[root] != p->next.first[root + 1]) continue;
    seen[stack[top++] = root] = true;
    while (top) {
      uint32_t u = stack[top - 1], edge = d->before.first[u] + next[u]++;
      if (edge == d->before.first[u + 1]) {
        order[at++] = u;
        top--;
      } else if (!seen[d->before.v[edge]]) {
        seen[stack[top++] = d->before.v[edge]] = true;
      }
    }
  }
  return RLX_OK;
}

static rlx_status depth_first(planner *p, uint32_t *order) {
  size_t n = p->units.n, widest = 0;
  depth d = {.p = p, .peak = rlx_bump_array(&p->mem, uint64_t, n), .leaves = rlx_bump_array(&p->mem, uint64_t, n)};
  if (!d.peak || !d.leaves) return rlx_planner_no_memory(p);
  RLX_TRY(rlx_planner_graph(p, true, &d.before));
  for (size_t u = 1; u < n; u++) {
    size_t wide = d.before.first[u + 1] - d.before.first[u];
    if (wide > widest) widest = wide;
  }
  d.children = rlx_bump_array(&p->mem, child, widest);
  if (!d.children) return rlx_planner_no_memory(p);
  for (size_t i = 0; i + 1 < n; i++) estimate(&d, p->base[i]);
  return walk(&d, order);
}

/* ---- greedy ---- */

typedef struct greedy {
  planner *p;
  const uint32_t *rank;             /* by unit: its position in depth-first order */
  uint32_t *waits;                  /* by unit */
  uint32_t *left;                   /* by buffer: units that will still touch it */
  uint32_t *left_xor;               /* the xor of their numbers: the number itself if one is left */
  bool *is_live;                    /* by buffer */
  uint32_t *writers, *first_writer; /* by buffer: units that may be the first to write it */
  int64_t *key;                     /* by ready unit: bytes added minus freed */
  uint32_t *heap, *heap_at;         /* ready units; heap_at is the index + 1, 0 if absent */
  size_t n_heap;
} greedy;

static bool comes_before(const greedy *s, uint32_t a, uint32_t b) {
  return s->key[a] != s->key[b] ? s->key[a] < s->key[b] : s->rank[a] < s->rank[b];
}

static void heap_set(greedy *s, size_t i, uint32_t unit) {
  s->heap[i] = unit;
  s->heap_at[unit] = (uint32_t)i + 1;
}

static void heap_up(greedy *s, size_t i, uint32_t unit) {
  for (; i && comes_before(s, unit, s->heap[(i - 1) / 2]); i = (i - 1) / 2) heap_set(s, i, s->heap[(i - 1) / 2]);
  heap_set(s, i, unit);
}

static void heap_down(greedy *s, size_t i, uint32_t unit) {
  for (size_t c; (c = 2 * i + 1) < s->n_heap; i = c) {
    if (c + 1 < s->n_heap && comes_before(s, s->heap[c + 1], s->heap[c])) c++;
    if (!comes_before(s, s->heap[c], unit)) break;
    heap_set(s, i, s->heap[c]);
  }
  heap_set(s, i, unit);
}

static uint32_t heap_pop(greedy *s) {
  uint32_t top = s->heap[0], last = s->heap[--s->n_heap];
  s->heap_at[top] = 0;
  if (s->n_heap) heap_down(s, 0, last);
  return top;
}

/* Bytes that running the unit now would add, less those it would free. */
static int64_t cost(const greedy *s, uint32_t unit) {
  const planner *p = s->p;
  const plan_unit *u = &p->units.v[unit];
  int64_t sum = 0;
  for (uint32_t k = 0; k < u->n_touches; k++) {
    uint32_t b = p->touches.v[u->first_touch + k];
    const plan_buffer *buffer = &p->buffers.v[b];
    int64_t bytes = (int64_t)rlx_planner_padded(p, buffer->bytes);
    if (!s->is_live[b]) sum += bytes;
    if (s->left[b] == 1 && !buffer->is_input && !buffer->is_output) sum -= bytes;
  }
  return sum;
}

static void refresh(greedy *s, uint32_t unit) {
  if (!s->heap_at[unit]) return;
  size_t i = s->heap_at[unit] - 1;
  int64_t old = s->key[unit];
  s->key[unit] = cost(s, unit);
  if (s->key[unit] < old) heap_up(s, i, unit);
  else if (s->key[unit] > old) heap_down(s, i, unit);
}

static void make_ready(greedy *s, uint32_t unit) {
  s->key[unit] = cost(s, unit);
  heap_up(s, s->n_heap++, unit);
}

static void run_unit(greedy *s, uint32_t unit) {
  planner *p = s->p;
  const plan_unit *u = &p->units.v[unit];
  for (uint32_t k = 0; k < u->n_touches; k++) {
    uint32_t b = p->touches.v[u->first_touch + k];
    s->left[b]--;
    s->left_xor[b] ^= unit;
    if (!s->is_live[b]) { /* the buffer of the concat's other parts is now allocated */
      s->is_live[b] = true;
      for (uint32_t w = s->first_writer[b]; w < s->first_writer[b + 1]; w++) refresh(s, s->writers[w]);
    }
    if (s->left[b] == 1) refresh(s, s->left_xor[b]);
  }
  for (uint32_t k = p->next.first[unit]; k < p->next.first[unit + 1]; k++)
    if (--s->waits[p->next.v[k]] == 0) make_ready(s, p->next.v[k]);
}

/* The root buffer of a unit that writes into a part of one (of a concat); 0: it does not. */
static uint32_t written_buffer(planner *p, const plan_unit *u) {
  uint64_t shift = 0;
  uint32_t b = u->kind == PLAN_UNIT_COPY ? u->to : u->kind == PLAN_UNIT_NODE ? p->value[u->node].buffer : 0;
  return b && p->buffers.v[b].parent ? rlx_planner_buffer_root(p, b, &shift) : 0;
}

static rlx_status find_writers(greedy *s) {
  planner *p = s->p;
  s->first_writer = rlx_bump_array(&p->mem, uint32_t, p->buffers.n + 2);
  s->writers = rlx_bump_array(&p->mem, uint32_t, p->units.n);
  if (!s->first_writer || !s->writers) return rlx_planner_no_memory(p);
  for (size_t u = 1; u < p->units.n; u++) s->first_writer[written_buffer(p, &p->units.v[u]) + 2]++;
  s->first_writer[2] = 0; /* no buffer */
  for (size_t b = 2; b < p->buffers.n + 2; b++) s->first_writer[b] += s->first_writer[b - 1];
  for (uint32_t u = 1; u < p->units.n; u++) {
    uint32_t b = written_buffer(p, &p->units.v[u]);
    if (b) s->writers[s->first_writer[b + 1]++] = u;
  }
  return RLX_OK;
}

static rlx_status greedy_init(planner *p, greedy *s) {
  size_t n = p->units.n, n_buffers = p->buffers.n;
  s->p = p;
  s->waits = rlx_bump_array(&p->mem, uint32_t, n);
  s->left = rlx_bump_array(&p->mem, uint32_t, n_buffers);
  s->left_xor = rlx_bump_array(&p->mem, uint32_t, n_buffers);
  s->is_live = rlx_bump_array(&p->mem, bool, n_buffers);
  s->key = rlx_bump_array(&p->mem, int64_t, n);
  s->heap = rlx_bump_array(&p->mem, uint32_t, n);
  s->heap_at = rlx_bump_array(&p->mem, uint32_t, n);
  if (!s->waits || !s->left || !s->left_xor || !s->is_live || !s->key || !s->heap || !s->heap_at)
    return rlx_planner_no_memory(p);
  RLX_TRY(find_writers(s));
  for (size_t i = 0; i < p->edges.n; i++) s->waits[p->edges.v[i].after]++;
  for (uint32_t b = 1; b < n_buffers; b++) s->is_live[b] = p->buffers.v[b].is_input;
  for (uint32_t u = 1; u < n; u++)
    for (uint32_t k = 0; k < p->units.v[u].n_touches; k++) {
      uint32_t b = p->touches.v[p->units.v[u].first_touch + k];
      s->left[b]++;
      s->left_xor[b] ^= u;
    }
  return RLX_OK;
}

static rlx_status greedy_order(planner *p, const uint32_t *first_order, uint32_t *order) {
  greedy s = {0};
  uint32_t *rank = rlx_bump_array(&p->mem, uint32_t, p->units.n);
  if (!rank) return rlx_planner_no_memory(p);
  for (uint32_t i = 0; i + 1 < p->units.n; i++) rank[first_order[i]] = i;
  s.rank = rank;
  RLX_TRY(greedy_init(p, &s));
  for (uint32_t u = 1; u < p->units.n; u++)
    if (!s.waits[u]) make_ready(&s, u);
  for (size_t at = 0; s.n_heap; at++) {
    uint32_t u = order[at] = heap_pop(&s);
    run_unit(&s, u);
  }
  return RLX_OK;
}

/* ---- the best of them ---- */

static rlx_status consider(planner *p, uint32_t *units, plan_order *best) {
  plan_order o = {.units = units};
  RLX_TRY(rlx_planner_evaluate(p, &o));
  if (o.bound < best->bound) *best = o;
  return RLX_OK;
}

rlx_status rlx_planner_orders(planner *p, plan_order *best, uint64_t *base_bound) {
  *best = (plan_order){.bound = UINT64_MAX};
  RLX_TRY(consider(p, p->base, best));
  *base_bound = best->bound;
  if (p->o.switches & (RLX_SWITCH_NO_REORDER | RLX_SWITCH_KEEP_VALUES)) return RLX_OK;
  uint32_t *deep = rlx_bump_array(&p->mem, uint32_t, p->units.n);
  uint32_t *light = rlx_bump_array(&p->mem, uint32_t, p->units.n);
  if (!deep || !light) return rlx_planner_no_memory(p);
  RLX_TRY(depth_first(p, deep));
  RLX_TRY(consider(p, deep, best));
  RLX_TRY(greedy_order(p, deep, light));
  return consider(p, light, best);
}
