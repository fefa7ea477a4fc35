/* The checker's memory of what lies where: for each block, ranges of bytes with a label and where in the labelled thing
 * they begin.
 *
 * All ends of ranges that will ever be written are known before (they are windows of the plan), so the bytes are cut
 * into cells at those points once, and a range is a run of cells: a bit says which cells begin a range. Writing forgets
 * the ranges it covers, so all writes together take about as long as there are writes; finding is a binary search and a
 * look into a few words. Nothing here is used by the planner. */
#ifndef RLX_PLAN_CHECK_MAP_H
#define RLX_PLAN_CHECK_MAP_H

#include "base/bump.h"
#include "base/status.h"

typedef struct check_point {
  uint32_t room; /* a block of scratch, or a state */
  uint64_t offset;
} check_point;

/* Where ranges may begin and end; shared by maps. */
typedef struct check_points {
  check_point *v; /* sorted, no two equal */
  size_t n;
  size_t *first; /* by room, and one more: its points */
} check_points;

typedef struct check_map {
  const check_points *points;
  uint64_t *bits[5]; /* a bit per cell that begins a range; above, a bit per word below that is not 0 */
  int n_levels;
  uint32_t *label; /* by cell that begins a range; 0: nothing known */
  uint64_t *shift; /* where the range begins in the labelled thing */
} check_map;

typedef struct check_range {
  uint32_t label;
  uint64_t shift; /* at the byte asked for */
  uint64_t bytes; /* from there to the end of the range */
} check_range;

/* Sorts points (with 0 and the end of each room among them) and drops doubles. False: no memory. */
bool rlx_plan_check_points_init(check_points *p, rlx_bump *mem, check_point *points, size_t n, uint32_t n_rooms);
/* Everything unlabelled. False: no memory. */
bool rlx_plan_check_map_init(check_map *m, rlx_bump *mem, const check_points *points);
bool rlx_plan_check_map_has_point(const check_map *m, uint32_t room, uint64_t offset);
/* The range at a byte inside the room. */
check_range rlx_plan_check_map_at(const check_map *m, uint32_t room, uint64_t offset);
/* Labels offset .. offset + bytes, which are points, bytes > 0. */
void rlx_plan_check_map_write(check_map *m, uint32_t room, uint64_t offset, uint64_t bytes, uint32_t label,
                              uint64_t shift);

#endif
