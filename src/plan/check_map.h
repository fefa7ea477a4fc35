/* The checker's map of memory contents: for each block, ranges of bytes with a label and their offset in the labelled
 * value.
 *
 * All ends of ranges that will ever be written are known in advance (they are windows of the plan). So the bytes are
 * divided into cells at those points once, and a range is a run of cells: a bit marks the cells that begin a range. A
 * write clears the ranges it covers, so the total cost is proportional to the number of writes. A lookup is a binary
 * search and a scan of a few words. The planner does not use this code. */
#ifndef RLX_PLAN_CHECK_MAP_H
#define RLX_PLAN_CHECK_MAP_H

#include "base/bump.h"
#include "base/status.h"

typedef struct check_point {
  uint32_t room; /* a block of scratch, or a state */
  uint64_t offset;
} check_point;

/* The points where ranges may begin and end; shared by maps. */
typedef struct check_points {
  check_point *v; /* sorted, no two equal */
  size_t n;
  size_t *first; /* by room, plus one: its first point */
} check_points;

typedef struct check_map {
  const check_points *points;
  uint64_t *bits[5]; /* level 0: a bit per cell that begins a range; higher levels: a bit per non-zero word below */
  int n_levels;
  uint32_t *label; /* by cell that begins a range; 0: nothing known */
  uint64_t *shift; /* the range's offset in the labelled value */
} check_map;

typedef struct check_range {
  uint32_t label;
  uint64_t shift; /* of the queried byte */
  uint64_t bytes; /* from there to the end of the range */
} check_range;

/* Sorts points (0 and the end of each room are among them) and removes duplicates. False: no memory. */
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
