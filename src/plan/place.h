/* Placement: offsets for values that live for a time and take bytes, so that no two that live at once overlap and the
 * peak is low. A bare problem: it knows nothing of graphs, and serves the planner and `rlx plan --csv` alike.
 *
 * The public call (rlx_place, in rlx.h) is the whole interface; this header holds what the files of the solver share.
 *
 *   place_problem.c   the problem in the solver's terms: sections of time, units of bytes, independent parts
 *   place_greedy.c    items in a given order, each at the lowest offset that is free: any number of items
 *   place_search.c    is there a placement within this capacity? Branch and bound, for parts of a few thousand items
 *   place_merge.c     the same question with items merged into blocks first: fewer to place, but wrong merges hide placements
 *   place_improve.c   which capacities to ask for, and how long
 *   place.c           the public call */
#ifndef RLX_PLAN_PLACE_H
#define RLX_PLAN_PLACE_H

#include "base/status.h"
#include "rlx/experimental.h"

/* The largest sum of bytes (each rounded up to align) that are live at one time: no placement can be below it. */
rlx_status rlx_place_lower_bound(const rlx_place_item *items, size_t n, uint64_t align, uint64_t *out);

/* Items that take room, by start. Time is cut into sections, and only the sections that matter are kept: those whose set
 * of live items is in no other's. Two items overlap in time exactly if they share a section. Sizes and offsets are in
 * units, the largest number that divides all padded sizes: any placement can be pushed down until all its offsets are
 * sums of sizes. */
typedef struct place_problem {
  uint32_t n, n_sections, n_parts;
  uint32_t *from, *to; /* item i is live in the sections from[i] <= s < to[i] */
  uint64_t *size;
  uint32_t *origin; /* the caller's index */
  uint64_t *load;   /* by section: the sizes of the live items together */
  struct place_part *parts;
  uint64_t unit, bound;
} place_problem;

/* A stretch of sections that no item enters or leaves: placed independently of the rest. */
typedef struct place_part {
  uint32_t first, last;                 /* items first <= i < last */
  uint32_t first_section, last_section; /* likewise */
  uint64_t bound;                       /* the largest load */
} place_part;

rlx_status rlx_place_problem_init(place_problem *p, const rlx_place_item *items, size_t n, uint64_t align);
void rlx_place_problem_deinit(place_problem *p);
uint64_t rlx_place_part_peak(const place_problem *p, const place_part *part, const uint64_t *offsets);

/* Sorts `order`, indices into keys, by ascending key; equal keys keep their order. `scratch` has room for as many. */
void rlx_place_sort(const uint64_t *keys, uint32_t *order, uint32_t *scratch, uint32_t n);

/* Scrambles a number: for hashes, and for random numbers from a counter. */
static inline uint64_t rlx_place_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Places the items of `order` one after the other, each at the lowest offset free of those before it. Adds to *steps. */
rlx_status rlx_place_greedy(const place_problem *p, const uint32_t *order, uint32_t n, uint64_t *offsets,
                            uint64_t *steps);

/* The search over one part. */
typedef struct place_search place_search;
typedef enum place_answer { PLACE_FOUND, PLACE_IMPOSSIBLE, PLACE_UNDECIDED } place_answer;

bool rlx_place_search_fits(const place_problem *p, const place_part *part); /* small enough for it */
rlx_status rlx_place_search_create(const place_problem *p, const place_part *part, place_search **out);
void rlx_place_search_destroy(place_search *s);
/* Looks for a placement within `capacity` units for about `budget` steps and adds those used to *steps. Writes the part's
 * offsets (from the part's first on) if the answer is PLACE_FOUND. Asked for the same capacity again, it goes on. */
rlx_status rlx_place_search_run(place_search *s, uint64_t capacity, uint64_t budget, uint64_t *offsets, uint64_t *steps,
                                place_answer *answer);

/* One round of merging, each number another, then a search of about `budget` steps. The capacity is not below the part's
 * bound. Writes the part's offsets if *is_found. */
bool rlx_place_merge_fits(const place_part *part);
rlx_status rlx_place_merge_run(const place_problem *p, const place_part *part, uint64_t capacity, uint32_t round,
                               uint64_t budget, uint64_t *offsets, uint64_t *steps, bool *is_found);

/* Lowers the part's peak in `offsets` (of the whole problem) towards `target` within the budget. only_target: a peak
 * above it is worth little. */
rlx_status rlx_place_improve(const place_problem *p, const place_part *part, uint64_t target, bool only_target,
                             uint64_t budget, uint64_t *offsets, uint64_t *steps);

#endif
