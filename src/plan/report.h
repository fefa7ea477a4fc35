/* Shared by the reports of a plan: each value's lifetime, and names of sizes and families. */
#ifndef RLX_PLAN_REPORT_H
#define RLX_PLAN_REPORT_H

#include "plan/plan.h"

/* By node: the step that computes a value and the last that reads it or a view of it. */
typedef struct report_life {
  uint32_t first, last;
} report_life;

/* Free with rlx_mem_free; NULL: no memory. */
report_life *rlx_plan_report_lives(const rlx_plan *p);

/* Families of ops, for colours. */
typedef struct report_family {
  const char *name, *colour;
} report_family;
enum { REPORT_FAMILIES = 8 };
extern const report_family rlx_plan_report_families[REPORT_FAMILIES];
int rlx_plan_report_family_of(const rlx_graph *g, rlx_node n); /* 0 is workspace */

void rlx_plan_report_add_bytes(rlx_str *s, uint64_t bytes); /* "1.50 MiB" */
void rlx_plan_report_svg(const rlx_plan *p, rlx_str *s);

#endif
