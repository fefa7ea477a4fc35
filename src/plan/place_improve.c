/* Chooses the capacities to search for, and how long.
 *
 * The target comes first: most problems that can reach it do so quickly. If that fails, capacities between the target
 * and the current peak are tried by bisection; the more room they leave the easier they are, and they lower the peak
 * step by step. Then the target again, in slices: the search over the items continues where it stopped, alternating
 * with rounds of merging. If a peak above the target is useful as well, this alternates with further bisections, each
 * time with twice the steps; otherwise the target gets the rest of the budget.
 *
 * Parts that are too large for the search get a simpler method: items that extend above the target move to the front of
 * the greedy order, and everything is placed again. */
#include <string.h>

#include "base/mem.h"
#include "plan/place.h"

enum {
  FIRST_SHARE = 16,  /* 1 / this of the budget, for the first attempt */
  TARGET_SHARES = 6, /* shares for the target per share of a bisection, after the first round */
  N_BISECTIONS = 3,
  SLICE = 4000,         /* steps per item, plus .. */
  SLICE_OF_BUDGET = 100 /* .. 1 / this of the budget */
};

/* The known bounds of a part. */
typedef struct bracket {
  place_search *search;
  uint64_t impossible; /* capacities below this; unknown between here and the peak */
  uint64_t peak;       /* reached */
  uint32_t n_rounds;   /* of merging */
  uint64_t *offsets, *found;
} bracket;

static void take_found(const place_problem *p, const place_part *part, bracket *b) {
  memcpy(b->offsets + part->first, b->found + part->first, (part->last - part->first) * sizeof *b->offsets);
  b->peak = rlx_place_part_peak(p, part, b->offsets);
}

/* Searches for one capacity; lowers the peak or raises the bound of impossible ones. */
static rlx_status try_capacity(const place_problem *p, const place_part *part, bracket *b, uint64_t capacity,
                               uint64_t budget, uint64_t *steps, bool *is_met) {
  place_answer answer;
  RLX_TRY(rlx_place_search_run(b->search, capacity, budget, b->found + part->first, steps, &answer));
  *is_met = answer == PLACE_FOUND;
  if (answer == PLACE_IMPOSSIBLE) b->impossible = capacity + 1;
  if (*is_met) take_found(p, part, b);
  return RLX_OK;
}

/* Searches for one capacity in slices, alternating the search and a round of merging. */
static rlx_status try_in_slices(const place_problem *p, const place_part *part, bracket *b, uint64_t capacity,
                                uint64_t slice, uint64_t end, uint64_t *steps) {
  bool is_met = false;
  while (!is_met && b->impossible <= capacity && *steps < end) {
    uint64_t left = end - *steps;
    RLX_TRY(try_capacity(p, part, b, capacity, slice < left ? slice : left, steps, &is_met));
    if (is_met || b->impossible > capacity || *steps >= end || !rlx_place_merge_fits(part)) continue;
    left = end - *steps;
    RLX_TRY(rlx_place_merge_run(p, part, capacity, b->n_rounds++, slice < left ? slice : left, b->found + part->first,
                                steps, &is_met));
    if (is_met) take_found(p, part, b);
  }
  return RLX_OK;
}

static rlx_status close_in(const place_problem *p, const place_part *part, bracket *b, uint64_t target,
                           bool only_target, uint64_t budget, uint64_t *steps) {
  uint64_t end = *steps + budget, slice = (uint64_t)SLICE * (part->last - part->first) + budget / SLICE_OF_BUDGET;
  uint64_t share = budget / FIRST_SHARE + 1, target_share = share;
  for (bool is_first = true; b->peak > target && b->impossible < b->peak && *steps < end; is_first = false) {
    uint64_t low = b->impossible > target ? b->impossible : target;
    bool is_met, all = only_target && !is_first;
    RLX_TRY(
      try_in_slices(p, part, b, low, slice, all || target_share > end - *steps ? end : *steps + target_share, steps));
    for (int k = 0; k < N_BISECTIONS && b->peak > low + 1 && *steps < end; k++) {
      uint64_t middle = low + (b->peak - low) / 2, left = end - *steps;
      RLX_TRY(try_capacity(p, part, b, middle, share < left ? share : left, steps, &is_met));
      if (!is_met) low = middle;
    }
    if (!is_first) share *= 2;
    target_share = TARGET_SHARES * share;
  }
  return RLX_OK;
}

/* Repeats greedy-by-size; an item that extends above the target counts as larger each time, so it comes earlier. */
static rlx_status promote(const place_problem *p, const place_part *part, uint64_t target, uint64_t budget,
                          uint64_t *offsets, uint64_t *found, uint64_t *steps) {
  uint32_t n = part->last - part->first;
  uint32_t *order = rlx_mem_calloc(n, sizeof *order), *scratch = rlx_mem_calloc(n, sizeof *scratch);
  uint64_t *keys = rlx_mem_calloc(p->n, sizeof *keys);
  uint64_t peak = rlx_place_part_peak(p, part, offsets), end = *steps + budget;
  rlx_status s =
    order && scratch && keys ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "placement order of %u items", (unsigned)n);
  uint64_t cost = 0, largest = 0;
  for (uint32_t i = part->first; !s && i < part->last; i++) {
    order[i - part->first] = i;
    if (p->size[i] > largest) largest = p->size[i];
  }
  for (uint32_t i = part->first; !s && i < part->last; i++) {
    keys[i] = 2 * largest - p->size[i];
    found[i] = offsets[i];
  }
  while (!s && peak > target && *steps + cost < end) {
    for (uint32_t i = part->first; i < part->last; i++)
      if (found[i] + p->size[i] > target) keys[i] /= 2;
    rlx_place_sort(keys, order, scratch, n);
    uint64_t before = *steps;
    s = rlx_place_greedy(p, order, n, found, steps);
    cost = *steps - before;
    if (s || rlx_place_part_peak(p, part, found) >= peak) continue;
    memcpy(offsets + part->first, found + part->first, n * sizeof *offsets);
    peak = rlx_place_part_peak(p, part, offsets);
  }
  rlx_mem_free(order);
  rlx_mem_free(scratch);
  rlx_mem_free(keys);
  return s;
}

rlx_status rlx_place_improve(const place_problem *p, const place_part *part, uint64_t target, bool only_target,
                             uint64_t budget, uint64_t *offsets, uint64_t *steps) {
  bracket b = {.impossible = part->bound, .peak = rlx_place_part_peak(p, part, offsets), .offsets = offsets};
  b.found = rlx_mem_calloc(p->n, sizeof *b.found);
  if (!b.found) return RLX_FAIL(RLX_NO_MEMORY, "placement of %u items", (unsigned)p->n);
  rlx_status s = RLX_OK;
  if (!rlx_place_search_fits(p, part)) s = promote(p, part, target, budget, offsets, b.found, steps);
  else {
    s = rlx_place_search_create(p, part, &b.search);
    if (!s) s = close_in(p, part, &b, target, only_target, budget, steps);
  }
  rlx_place_search_destroy(b.search);
  rlx_mem_free(b.found);
  return s;
}
