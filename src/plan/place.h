/* Placement (dynamic storage allocation): offsets for values with a lifetime and a size, such that no two values that
 * are live at once overlap and the peak is low. It does not depend on graphs, and serves the planner and `rlx plan
 * --csv`.
 *
 * The public call (rlx_place, in rlx/experimental.h) is the whole interface; this header is shared by the solver's
 * files.
 *
 *   place_problem.c   the problem in the solver's terms: sections of time, units of bytes, independent parts
 *   place_greedy.c    items in a given order, each at the lowest free offset: any number of items
 *   place_search.c    branch and bound: does a placement within a capacity exist? Up to a few thousand items
 *   place_merge.c     the same with items first merged into blocks: fewer to place, but wrong merges hide placements
 *   place_improve.c   which capacities to try, and how long
 *   place.c           the public call */
#ifndef RLX_PLAN_PLACE_H
#define RLX_PLAN_PLACE_H

#include "base/status.h"
#include "rlx/experimental.h"

/* The maximum sum of bytes (each rounded up to align) live at one time: no placement can be below it. */
rlx_status rlx_place_lower_bound(const rlx_place_item *items, size_t n, uint64_t align, uint64_t *out);

/* Non-empty items, by start. Time is divided into sections, and only the maximal ones are kept: those whose set of live
 * items is in no other's. Two items overlap in time exactly if they share a section. Sizes and offsets are in units,
 * the greatest common divisor of all padded sizes: any placement can be pushed down until all its offsets are sums of
 * sizes. */
typedef struct place_problem {
  uint32_t n, n_sections, n_parts;
  uint32_t *from, *to; /* item i is live in the sections from[i] <= s < to[i] */
  uint64_t *size;
  uint32_t *origin; /* the caller's index */
  uint64_t *load;   /* by section: the sum of the sizes of the live items */
  struct place_part *parts;
  uint64_t unit, bound;
} place_problem;

/* A range of sections that no item enters or leaves: placed independently of the rest. */
typedef struct place_part {
  uint32_t first, last;                 /* items first <= i < last */
  uint32_t first_section, last_section; /* likewise */
  uint64_t bound;                       /* the largest load */
} place_part;

rlx_status rlx_place_problem_init(place_problem *p, const rlx_place_item *items, size_t n, uint64_t align);
void rlx_place_problem_deinit(place_problem *p);
uint64_t rlx_place_part_peak(const place_problem *p, const place_part *part, const uint64_t *offsets);

/* Sorts `order`, indices into keys, by ascending key; stable. `scratch` has the same length. */
void rlx_place_sort(const uint64_t *keys, uint32_t *order, uint32_t *scratch, uint32_t n);

/* Mixes the bits of a number: for hashes, and for random numbers from a counter. */
static inline uint64_t rlx_place_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Places the items of `order` one after the other, each at the lowest offset free of the previous ones. Adds to
 * *steps. */
rlx_status rlx_place_greedy(const place_problem *p, const uint32_t *order, uint32_t n, uint64_t *offsets,
                            uint64_t *steps);

/* The search over one part. */
typedef struct place_search place_search;
typedef enum place_answer { PLACE_FOUND, PLACE_IMPOSSIBLE, PLACE_UNDECIDED } place_answer;

/* whether the part is small enough for it */
bool rlx_place_search_fits(const place_problem *p, const place_part *part);
rlx_status rlx_place_search_create(const place_problem *p, const place_part *part, place_search **out);
void rlx_place_search_destroy(place_search *s);
/* Searches for a placement within `capacity` units for about `budget` steps and adds those used to *steps. Writes the
 * part's offsets (starting at the part's first item) if the answer is PLACE_FOUND. Called again with the same capacity,
 * it continues. */
rlx_status rlx_place_search_run(place_search *s, uint64_t capacity, uint64_t budget, uint64_t *offsets, uint64_t *steps,
                                place_answer *answer);

/* One round of merging, different for each round number, then a search of about `budget` steps. The capacity must not
 * be below the part's bound. Writes the part's offsets if *is_found. */
bool rlx_place_merge_fits(const place_part *part);
rlx_status rlx_place_merge_run(const place_problem *p, const place_part *part, uint64_t capacity, uint32_t round,
                               uint64_t budget, uint64_t *offsets, uint64_t *steps, bool *is_found);

/* Lowers the part's peak in `offsets` (of the whole problem) towards `target` within the budget. only_target: a peak
 * above it has little value. */
rlx_status rlx_place_improve(const place_problem *p, const place_part *part, uint64_t target, bool only_target,
                             uint64_t budget, uint64_t *offsets, uint64_t *steps);

#endif
