/* Greedy placement: items in a given order, each at the lowest offset that no previous item occupies during its
 * lifetime. In order of decreasing size this is the well-known greedy-by-size.
 *
 * Each item needs the addresses occupied during its sections, without scanning all neighbours: an item that lives
 * throughout has n of them. A segment tree over the sections provides them. An item's range consists of O(log n) tree
 * nodes. `cover` of a node is the set of addresses of items that have the node in their range, `touch` the set of
 * addresses of items anywhere in its subtree. The addresses occupied during a range are `touch` of its own nodes and
 * `cover` of their ancestors. The sets are lists of disjoint spans, merged when adjacent. Placement stacks items
 * without gaps, so few spans represent many items.
 *
 * Spans of all sets are in one pool, in slots of a power of two with a free list per size: a million sets of one span
 * each do not cost a million allocations. */
#include <string.h>

#include "base/array.h"
#include "plan/place.h"

typedef struct span {
  uint64_t begin, end;
} span;

enum {
  N_CLASSES = 32,    /* slot sizes */
  MAX_SETS = 4 * 33, /* per query: two of each kind per level of the tree */
};

/* Disjoint spans in ascending order. */
typedef struct span_set {
  uint32_t at, n; /* in the pool */
  uint32_t class; /* capacity is 1 << class spans, if n > 0 */
} span_set;

typedef struct span_pool {
  RLX_ARRAY(span) spans;
  uint32_t free[N_CLASSES]; /* a slot plus 1; the first span of a free slot links to the next in `begin` */
} span_pool;

typedef struct tree {
  uint32_t width; /* leaves: a power of two; node 1 is the root, node width + s is section s */
  span_set *cover, *touch;
  span_pool pool;
} tree;

static bool pool_take(span_pool *pool, uint32_t class, uint32_t *at) {
  if (pool->free[class] != 0) {
    *at = pool->free[class] - 1;
    pool->free[class] = (uint32_t)pool->spans.v[*at].begin;
    return true;
  }
  size_t room = (size_t)1 << class;
  if (pool->spans.n + room > UINT32_MAX || !rlx_array_reserve(&pool->spans, room)) return false;
  *at = (uint32_t)pool->spans.n;
  pool->spans.n += room;
  return true;
}

static void pool_give(span_pool *pool, uint32_t class, uint32_t at) {
  pool->spans.v[at].begin = pool->free[class];
  pool->free[class] = at + 1;
}

/* Reserves one more span. */
static bool set_reserve(span_pool *pool, span_set *set) {
  if (set->n > 0 && set->n < (uint32_t)1 << set->class) return true;
  uint32_t class = set->n == 0 ? 0 : set->class + 1, at;
  if (class >= N_CLASSES || !pool_take(pool, class, &at)) return false;
  if (set->n > 0) {
    memcpy(&pool->spans.v[at], &pool->spans.v[set->at], set->n * sizeof(span));
    pool_give(pool, set->class, set->at);
  }
  set->at = at;
  set->class = class;
  return true;
}

/* The first span from `k` on that ends after y: by galloping, then binary search. */
static uint32_t first_after(const span *spans, uint32_t n, uint32_t k, uint64_t y) {
  uint32_t step = 1, high = k;
  while (high < n && spans[high].end <= y) {
    k = high + 1;
    high += step;
    step *= 2;
  }
  if (high > n) high = n;
  while (k < high) {
    uint32_t middle = k + (high - k) / 2;
    if (spans[middle].end <= y) k = middle + 1;
    else high = middle;
  }
  return k;
}

/* Adds [begin, end), which may overlap or adjoin existing spans. */
static bool set_add(span_pool *pool, span_set *set, uint64_t begin, uint64_t end) {
  span *spans = set->n > 0 ? &pool->spans.v[set->at] : NULL;
  uint32_t k = begin == 0 ? 0 : first_after(spans, set->n, 0, begin - 1), after = k;
  for (; after < set->n && spans[after].begin <= end; after++) {
    if (spans[after].begin < begin) begin = spans[after].begin;
    if (spans[after].end > end) end = spans[after].end;
  }
  if (after == k) {
    if (!set_reserve(pool, set)) return false;
    spans = &pool->spans.v[set->at];
    memmove(&spans[k + 1], &spans[k], (set->n - k) * sizeof(span));
    set->n++;
  } else {
    memmove(&spans[k + 1], &spans[after], (set->n - after) * sizeof(span));
    set->n -= after - k - 1;
  }
  spans[k] = (span){begin, end};
  return true;
}

/* The sets of addresses occupied during the sections [from, to). */
typedef struct query {
  const span *spans[MAX_SETS];
  uint32_t n_spans[MAX_SETS], at[MAX_SETS];
  uint32_t n;
} query;

static void query_set(query *q, const tree *t, const span_set *set) {
  if (set->n == 0) return;
  q->spans[q->n] = &t->pool.spans.v[set->at];
  q->n_spans[q->n] = set->n;
  q->at[q->n++] = 0;
}

static void query_range(query *q, const tree *t, uint32_t from, uint32_t to) {
  q->n = 0;
  uint32_t left = from + t->width, right = to - 1 + t->width;
  for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
    if (l & 1) query_set(q, t, &t->touch[l++]);
    if (r & 1) query_set(q, t, &t->touch[--r]);
  }
  for (left /= 2, right /= 2; left > 0; left /= 2, right /= 2) {
    query_set(q, t, &t->cover[left]);
    if (right != left) query_set(q, t, &t->cover[right]);
  }
}

/* The lowest offset at which `size` is free in all sets. */
static uint64_t query_lowest(query *q, uint64_t size, uint64_t *steps) {
  uint64_t y = 0;
  uint32_t n_agree = 0;
  for (uint32_t k = 0; n_agree < q->n; k = k + 1 == q->n ? 0 : k + 1) {
    q->at[k] = first_after(q->spans[k], q->n_spans[k], q->at[k], y);
    bool is_free = q->at[k] == q->n_spans[k] || q->spans[k][q->at[k]].begin >= y + size;
    if (!is_free) y = q->spans[k][q->at[k]].end;
    n_agree = is_free ? n_agree + 1 : 0;
    *steps += 16;
  }
  return y;
}

static bool tree_add(tree *t, uint32_t from, uint32_t to, uint64_t begin, uint64_t end) {
  uint32_t left = from + t->width, right = to - 1 + t->width;
  for (uint32_t l = left, r = right + 1; l < r; l /= 2, r /= 2) {
    uint32_t own[2], n_own = 0;
    if (l & 1) own[n_own++] = l++;
    if (r & 1) own[n_own++] = --r;
    for (uint32_t k = 0; k < n_own; k++)
      if (!set_add(&t->pool, &t->cover[own[k]], begin, end) || !set_add(&t->pool, &t->touch[own[k]], begin, end))
        return false;
  }
  for (left /= 2, right /= 2; left > 0; left /= 2, right /= 2) {
    if (!set_add(&t->pool, &t->touch[left], begin, end)) return false;
    if (right != left && !set_add(&t->pool, &t->touch[right], begin, end)) return false;
  }
  return true;
}

rlx_status rlx_place_greedy(const place_problem *p, const uint32_t *order, uint32_t n, uint64_t *offsets,
                            uint64_t *steps) {
  tree t = {.width = 1};
  while (t.width < p->n_sections) t.width *= 2;
  t.cover = rlx_mem_calloc(2 * (size_t)t.width, sizeof *t.cover);
  t.touch = rlx_mem_calloc(2 * (size_t)t.width, sizeof *t.touch);
  bool ok = t.cover && t.touch;
  for (uint32_t k = 0; ok && k < n; k++) {
    uint32_t i = order[k];
    query q;
    query_range(&q, &t, p->from[i], p->to[i]);
    offsets[i] = query_lowest(&q, p->size[i], steps);
    ok = tree_add(&t, p->from[i], p->to[i], offsets[i], offsets[i] + p->size[i]);
    *steps += 256;
  }
  rlx_array_deinit(&t.pool.spans);
  rlx_mem_free(t.cover);
  rlx_mem_free(t.touch);
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "greedy placement of %u items", (unsigned)n);
}
