/* Placement problems for tests and benchmarks: seeded, the same on every machine. Most have a capacity that is known to
 * suffice, because the problem was generated from a placement.
 *
 *   cuts       a rectangle cut into parts repeatedly: across, along, and five parts around a middle one (which no
 *              straight cut can undo). Full at every time: there is no slack.
 *   grid       the same with few distinct times and sizes, so that many parts are alike.
 *   frayed     cuts whose parts then lost some of their time or bytes, or were removed: a little slack everywhere.
 *   program    a rectangle cut the way a machine that works on tiles fills its memory: loops with double buffers, data
 *              prefetched in stairs, buffers of a half or a quarter of the memory, few points in time shared by many.
 *              Full at every time.
 *   trace      the same with some of it lost: a few per cent of slack, unevenly distributed.
 *   allocator  what a random allocator that never moves anything served from a full memory: a few sizes, many equal,
 *              some long-lived.
 *   tiles      layers that work on tiles with double buffers, prefetched weights and skip connections, served by the
 *              same allocator.
 *   network    the values of a big graph: nearly all die within a few steps, some live long, some throughout. Of any
 *              size; its capacity is not known. */
#ifndef RLX_TESTS_PLACE_CASES_H
#define RLX_TESTS_PLACE_CASES_H

#include "base/status.h"
#include "rlx/experimental.h"

typedef struct place_case {
  rlx_place_item *items;
  size_t n;
  uint64_t capacity; /* known to suffice; 0: not known */
} place_case;

typedef struct place_case_kind {
  const char *name;
  rlx_status (*make)(uint64_t seed, size_t n, place_case *out); /* about n items */
} place_case_kind;

extern const place_case_kind place_case_kinds[];
extern const size_t n_place_case_kinds;

rlx_status place_case_cuts(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_grid(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_frayed(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_program(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_trace(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_allocator(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_tiles(uint64_t seed, size_t n, place_case *out);
rlx_status place_case_network(uint64_t seed, size_t n, place_case *out);
void place_case_deinit(place_case *c);

#endif
