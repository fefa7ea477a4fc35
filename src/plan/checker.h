/* Shared by the checker's files: check.c keeps the map and simulates the steps, check_steps.c has the rules of a single
 * step. The planner does not use this header. */
#ifndef RLX_PLAN_CHECKER_H
#define RLX_PLAN_CHECKER_H

#include "plan/check_map.h"
#include "plan/plan.h"

enum { CHECK_NONE, CHECK_VIEW, CHECK_CONCAT }; /* how a node's bytes derive from other values' */

typedef struct checker {
  const rlx_plan *p;
  const rlx_graph *g;
  rlx_plan_options o;
  uint64_t view_align;
  rlx_bump mem;
  /* By node. */
  uint64_t *bytes;
  bool *is_needed, *is_made;
  uint8_t *moves;
  rlx_node *view_root; /* of views: the value whose bytes it shares, from view_shift on; else itself */
  uint64_t *view_shift;
  uint64_t **part_end; /* of concats: the end of each part */
  rlx_node *replaced;  /* of states and updates: the update of it */

  check_points points;
  check_map content; /* bytes to node */
  check_map live;    /* bytes to storage, plus 1 */
} checker;

rlx_status rlx_plan_check_inside(const checker *c, const rlx_window *w);
uint32_t rlx_plan_check_room(const checker *c, const rlx_window *w);
bool rlx_plan_check_holds(checker *c, const rlx_window *w, rlx_node v, check_range *other);
rlx_status rlx_plan_check_value_at(checker *c, const rlx_window *w, rlx_node v);
rlx_status rlx_plan_check_in_storage(checker *c, const rlx_window *w, size_t step);
void rlx_plan_check_write(checker *c, const rlx_window *w, rlx_node v);

/* Checks a step by itself: nodes exist, windows are inside blocks and have the right sizes. */
rlx_status rlx_plan_check_step_form(const checker *c, const rlx_step *s);
/* Simulates it. */
rlx_status rlx_plan_check_step(checker *c, const rlx_step *s, size_t at);

#endif
