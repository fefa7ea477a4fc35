/* Builds a plan: from a graph to checked steps.
 *
 *   values -> storage -> states -> orders -> place -> encode -> check
 *
 * A concat written in place keeps its whole buffer live from its first part on, which can cost more than it saves (a
 * skip connection over a large middle). So if there are such concats, the first stages run a few times: with all of
 * them, without those that are live at the peak, and with none. The lowest bound wins; among equals the most concats in
 * place, because that also saves copies. */
#include <string.h>

#include "base/budget.h"
#include "base/os.h"
#include "plan/planner.h"

enum { DEFAULT_ALIGN = 256 };

uint64_t rlx_planner_padded(const planner *p, uint64_t bytes) {
  uint64_t mask = p->o.align - 1;
  return bytes > UINT64_MAX - mask ? UINT64_MAX : (bytes + mask) & ~mask;
}

rlx_status rlx_planner_no_memory(const planner *p) {
  return RLX_FAIL(RLX_NO_MEMORY, "planning %u nodes", (unsigned)rlx_graph_size(p->g));
}

static double now(void) { return 1e-9 * (double)rlx_os_clock(); }

static bool is_power_of_two(uint64_t x) { return x && (x & (x - 1)) == 0; }

static rlx_status read_options(const rlx_plan_options *options, rlx_plan_options *o) {
  *o = options ? *options : (rlx_plan_options){0};
  if (!o->align) o->align = DEFAULT_ALIGN;
  if (!o->view_align) o->view_align = 1;
  if (!is_power_of_two(o->align) || !is_power_of_two(o->view_align))
    return RLX_FAIL(RLX_INVALID, "alignments must be powers of two, not %llu and %llu", (unsigned long long)o->align,
                    (unsigned long long)o->view_align);
  if (o->align < o->view_align) o->align = o->view_align;
  return RLX_OK;
}

static rlx_status ask_cancel(const planner *p) {
  return rlx_stops(p->o.cancel, p->o.cancel_user) ? RLX_FAIL(RLX_CANCELLED, "stopped by the caller while planning")
                                                  : RLX_OK;
}

static rlx_status order_units(planner *p, bool with_joins, plan_order *best, uint64_t *base_bound) {
  RLX_TRY(ask_cancel(p));
  RLX_TRY(rlx_planner_storages(p, with_joins));
  RLX_TRY(rlx_planner_states(p));
  RLX_TRY(rlx_planner_connect(p));
  return rlx_planner_orders(p, best, base_bound);
}

/* Forbids the joins that are live at the order's peak; false: there are none. */
static bool forbid_at_peak(planner *p, const plan_order *o) {
  bool any = false;
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    if (p->value[id].kind != PLAN_JOIN) continue;
    uint64_t shift = 0;
    const plan_storage *s = &o->storage[o->slot[rlx_planner_buffer_root(p, p->value[id].buffer, &shift)]];
    if (s->first > o->peak_step || s->last < o->peak_step) continue;
    p->no_join[id] = any = true;
  }
  return any;
}

/* The joins to avoid: `no_join` when the bound was lowest. */
typedef struct join_choice {
  bool *without;
  uint64_t bound;
} join_choice;

/* Tries fewer joins and none, starting from `best`, the order with all of them. Keeps the lowest bound, with as many
 * joins as possible. */
static rlx_status try_joins(planner *p, plan_order *best, uint64_t *base_bound, join_choice *out) {
  enum { ROUNDS = 4, LARGE = 20000 };
  uint32_t end = rlx_graph_end(p->g);
  out->without = rlx_bump_array(&p->kept, bool, end);
  if (!out->without) return rlx_planner_no_memory(p);
  out->bound = best->bound;
  for (int round = 1; round <= ROUNDS && p->has_joins; round++) {
    if (p->units.n > LARGE) round = ROUNDS; /* all or none, to save time */
    if (!forbid_at_peak(p, best)) break;
    if (round == ROUNDS) memset(p->no_join, true, end);
    RLX_TRY(order_units(p, true, best, base_bound));
    if (best->bound >= out->bound) continue;
    out->bound = best->bound;
    memcpy(out->without, p->no_join, end);
  }
  return RLX_OK;
}

/* The joins are tried with all orders and with the graph's own order alone: orders have different peaks, and a join
 * given up for one may benefit another. So reordering is never worse than not reordering. */
static rlx_status choose(planner *p, plan_order *best, uint64_t *base_bound) {
  uint32_t switches = p->o.switches;
  bool joins = !(switches & (RLX_SWITCH_NO_CONCAT | RLX_SWITCH_NO_VIEWS | RLX_SWITCH_KEEP_VALUES));
  RLX_TRY(order_units(p, joins, best, base_bound));
  if (!p->has_joins) return RLX_OK;
  join_choice chosen = {0}, in_order = {0};
  RLX_TRY(try_joins(p, best, base_bound, &chosen));
  if (!(switches & RLX_SWITCH_NO_REORDER)) {
    p->o.switches |= RLX_SWITCH_NO_REORDER;
    memset(p->no_join, false, rlx_graph_end(p->g));
    rlx_status s = order_units(p, true, best, base_bound);
    if (!s) s = try_joins(p, best, base_bound, &in_order);
    p->o.switches = switches;
    RLX_TRY(s);
    if (in_order.bound < chosen.bound) chosen = in_order;
  }
  memcpy(p->no_join, chosen.without, rlx_graph_end(p->g));
  return order_units(p, true, best, base_bound);
}

static rlx_status make(planner *p, rlx_plan *out) {
  plan_order best;
  RLX_TRY(rlx_planner_values(p));
  RLX_TRY(choose(p, &best, &out->order_bound));
  RLX_TRY(ask_cancel(p));
  RLX_TRY(rlx_planner_place(p, &best, out));
  return rlx_planner_encode(p, &best, out);
}

rlx_status rlx_plan_build(const rlx_graph *g, const rlx_plan_options *options, rlx_plan **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_plan_build: out is NULL");
  *out = NULL;
  if (!g || !g->finished) return RLX_FAIL(RLX_INVALID, "a graph is planned once it is finished");
  if (g->symbols.n) return RLX_FAIL(RLX_INVALID, "the graph has symbols; bind them first");
  double start = now();
  planner p = {.g = g};
  RLX_TRY(read_options(options, &p.o));
  rlx_plan *plan = rlx_new(rlx_plan);
  if (!plan) return rlx_planner_no_memory(&p);
  plan->graph = rlx_graph_retain(g);
  plan->align = p.o.align;
  rlx_status s = make(&p, plan);
  rlx_planner_storages_deinit(&p);
  rlx_bump_deinit(&p.kept);
  if (!s) s = rlx_plan_check(plan, options);
  if (s) {
    rlx_plan_destroy(plan);
    return rlx_fail_frame(s, "planning memory");
  }
  plan->seconds = now() - start;
  *out = plan;
  return RLX_OK;
}

void rlx_plan_destroy(rlx_plan *p) {
  if (!p) return;
  rlx_graph_destroy(p->graph);
  rlx_bump_deinit(&p->bump);
  rlx_mem_free(p);
}
