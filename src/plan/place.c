/* rlx_place: greedy placement in several orders, keeping the best for each part of the problem, then the search for the
 * parts that are still above the target. */
#include <string.h>

#include "base/mem.h"
#include "base/sized.h"
#include "plan/place.h"

/* In steps of one or two nanoseconds: a second or less for a problem that never reaches its bound, a few seconds if the
 * caller has a capacity to meet, and little if there are so many values that each attempt takes long. */
#define BUDGET_FOR_BOUND ((uint64_t)500 * 1000 * 1000)
#define BUDGET_FOR_CAPACITY ((uint64_t)2500 * 1000 * 1000)
#define BUDGET_FOR_MANY ((uint64_t)200 * 1000 * 1000)
enum { MANY = 20000 };

static uint64_t default_budget(const place_problem *p, uint64_t capacity) {
  if (capacity >= p->bound) return BUDGET_FOR_CAPACITY;
  return p->n > MANY ? BUDGET_FOR_MANY : BUDGET_FOR_BOUND;
}

/* Greedy orders; the first defines result.greedy. Equal keys: by start, then in the caller's order. */
typedef enum greedy_order { BY_SIZE, BY_AREA, BY_LENGTH, BY_LOAD, N_ORDERS } greedy_order;

/* The largest load among an item's sections, estimated from a few of them: how close to the bound the item lives. */
static uint64_t load_around(const place_problem *p, uint32_t i) {
  enum { MAX_LOOKS = 16 };
  uint64_t max = 0;
  uint32_t step = 1 + (p->to[i] - p->from[i]) / MAX_LOOKS;
  for (uint32_t s = p->from[i]; s < p->to[i]; s += step)
    if (p->load[s] > max) max = p->load[s];
  return max;
}

static void order_items(const place_problem *p, greedy_order by, uint64_t *keys, uint32_t *order, uint32_t *scratch) {
  for (uint32_t i = 0; i < p->n; i++) {
    order[i] = i;
    keys[i] = ~p->size[i];
  }
  rlx_place_sort(keys, order, scratch, p->n);
  if (by == BY_SIZE) return;
  for (uint32_t i = 0; i < p->n; i++) {
    uint64_t length = p->to[i] - p->from[i], key = length;
    if (by == BY_LOAD) key = load_around(p, i);
    if (by == BY_AREA) key = p->size[i] > UINT64_MAX / length ? UINT64_MAX : p->size[i] * length;
    keys[i] = ~key;
  }
  rlx_place_sort(keys, order, scratch, p->n);
}

typedef struct solver {
  place_problem problem;
  uint64_t target, budget, steps, greedy; /* bytes in units */
  bool no_search, has_capacity;           /* a capacity to meet */
  uint64_t *offsets, *found, *keys;
  uint32_t *order, *scratch;
} solver;

static uint64_t peak_of(const place_problem *p, const uint64_t *offsets) {
  uint64_t peak = 0;
  for (uint32_t k = 0; k < p->n_parts; k++) {
    uint64_t part_peak = rlx_place_part_peak(p, &p->parts[k], offsets);
    if (part_peak > peak) peak = part_peak;
  }
  return peak;
}

static rlx_status try_orders(solver *v) {
  const place_problem *p = &v->problem;
  for (int by = 0; by < N_ORDERS; by++) {
    if (by > 0 && (v->steps >= v->budget || peak_of(p, v->offsets) <= v->target)) break;
    order_items(p, (greedy_order)by, v->keys, v->order, v->scratch);
    RLX_TRY(rlx_place_greedy(p, v->order, p->n, v->found, &v->steps));
    if (by == BY_SIZE) v->greedy = peak_of(p, v->found);
    for (uint32_t k = 0; k < p->n_parts; k++) {
      const place_part *part = &p->parts[k];
      if (by > 0 && rlx_place_part_peak(p, part, v->found) >= rlx_place_part_peak(p, part, v->offsets)) continue;
      memcpy(v->offsets + part->first, v->found + part->first, (part->last - part->first) * sizeof *v->offsets);
    }
  }
  return RLX_OK;
}

/* The parts above the target share the rest of the budget. */
static rlx_status improve_parts(solver *v) {
  const place_problem *p = &v->problem;
  uint32_t n_above = 0;
  for (uint32_t k = 0; k < p->n_parts; k++) n_above += rlx_place_part_peak(p, &p->parts[k], v->offsets) > v->target;
  for (uint32_t k = 0; k < p->n_parts && v->steps < v->budget; k++) {
    const place_part *part = &p->parts[k];
    if (rlx_place_part_peak(p, part, v->offsets) <= v->target) continue;
    uint64_t share = (v->budget - v->steps) / n_above--;
    RLX_TRY(rlx_place_improve(p, part, v->target, v->has_capacity, share, v->offsets, &v->steps));
  }
  return RLX_OK;
}

static rlx_status solve(solver *v) {
  uint32_t n = v->problem.n;
  v->offsets = rlx_mem_calloc(n, sizeof *v->offsets);
  v->found = rlx_mem_calloc(n, sizeof *v->found);
  v->keys = rlx_mem_calloc(n, sizeof *v->keys);
  v->order = rlx_mem_calloc(n, sizeof *v->order);
  v->scratch = rlx_mem_calloc(n, sizeof *v->scratch);
  if (!v->offsets || !v->found || !v->keys || !v->order || !v->scratch)
    return RLX_FAIL(RLX_NO_MEMORY, "placement of %u items", (unsigned)n);
  RLX_TRY(try_orders(v));
  return v->no_search ? RLX_OK : improve_parts(v);
}

static void deinit(solver *v) {
  rlx_mem_free(v->offsets);
  rlx_mem_free(v->found);
  rlx_mem_free(v->keys);
  rlx_mem_free(v->order);
  rlx_mem_free(v->scratch);
  rlx_place_problem_deinit(&v->problem);
}

rlx_status rlx_place(const rlx_place_item *items, size_t n, const rlx_place_options *options, uint64_t *offsets,
                     rlx_place_result *result) {
  if (!result || (n > 0 && (!items || !offsets)))
    return RLX_FAIL(RLX_INVALID, "rlx_place: expected items, offsets and a result, got NULL");
  rlx_place_options opt;
  rlx_place_result found = {RLX_PLACE_RESULT_INIT};
  RLX_TRY_AT(RLX_SIZED_READ("rlx_place_options", options, &opt), "rlx_place");
  RLX_TRY_AT(RLX_SIZED_CLEAR("rlx_place_result", result), "rlx_place");
  solver v = {.no_search = opt.no_search, .budget = opt.budget};
  RLX_TRY(rlx_place_problem_init(&v.problem, items, n, opt.align ? opt.align : 1));
  const place_problem *p = &v.problem;
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < n; i++) offsets[i] = 0;
  if (p->n > 0) {
    uint64_t capacity = opt.capacity / p->unit;
    v.target = capacity > p->bound ? capacity : p->bound;
    v.has_capacity = capacity >= p->bound;
    if (v.budget == 0) v.budget = default_budget(p, capacity);
    s = solve(&v);
  }
  for (uint32_t i = 0; !s && i < p->n; i++) offsets[p->origin[i]] = v.offsets[i] * p->unit;
  if (!s && p->n > 0)
    found = (rlx_place_result){.peak = peak_of(p, v.offsets) * p->unit,
                               .lower_bound = p->bound * p->unit,
                               .greedy = v.greedy * p->unit,
                               .steps = v.steps};
  deinit(&v);
  return s ? s : RLX_SIZED_WRITE("rlx_place_result", &found, result);
}
