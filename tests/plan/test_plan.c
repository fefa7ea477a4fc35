/* The planner: each rule on a small graph, then properties on networks and random graphs, whose plans are also executed
 * step by step and compared bit for bit with the evaluator. */
#include <stdlib.h>

#include "big_graph.h"
#include "faults.h"
#include "plan/plan.h"
#include "plan_graphs.h"
#include "random_graph.h"
#include "ref/eval.h"
#include "test.h"

/* ---- helpers ---- */

static rlx_graph *begin(void) {
  rlx_graph *g = NULL;
  return rlx_graph_begin(&g) ? NULL : g;
}

/* Finishes and plans; the plan owns the graph. NULL: the test has failed. */
static rlx_plan *plan_with(rlx_graph *g, const rlx_plan_options *o) {
  rlx_plan *p = NULL;
  rlx_status s = rlx_graph_finish(g);
  if (!s) s = rlx_plan_build(g, o, &p);
  if (s) test_report(TEST_FAILED, __FILE__, __LINE__, "%s", rlx_message());
  rlx_graph_destroy(g);
  return p;
}

static rlx_plan *plan(rlx_graph *g) { return plan_with(g, NULL); }

static bool inside(const rlx_window *a, const rlx_window *b) {
  return a->segment == b->segment && a->block == b->block && a->offset >= b->offset &&
         a->offset + a->bytes <= b->offset + b->bytes;
}

static bool disjoint(const rlx_window *a, const rlx_window *b) {
  return a->segment != b->segment || a->block != b->block || a->offset + a->bytes <= b->offset ||
         b->offset + b->bytes <= a->offset;
}

static rlx_node x_of(rlx_graph *g, int64_t n) { return rlx_op_input(g, "x", RLX_F32, RLX_DIMS(n)); }

/* A value of n elements that is not computed in place: a product. */
static rlx_node dense(rlx_graph *g, rlx_node x, int64_t n) {
  char name[32];
  int64_t k = rlx_node_shape(g, x).v[0];
  snprintf(name, sizeof name, "w%u", (unsigned)rlx_graph_size(g));
  rlx_node w = rlx_op_param(g, name, RLX_F32, RLX_DIMS(k, n));
  return rlx_op_reshape(g, rlx_op_matmul(g, rlx_op_reshape(g, x, RLX_DIMS(1, k)), w), RLX_DIMS(n));
}

/* ---- views ---- */

TEST(views_take_no_memory) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), y = dense(g, x, 128);
  rlx_node square = rlx_op_reshape(g, y, RLX_DIMS(8, 16)), same = rlx_op_cast(g, square, RLX_F32);
  rlx_node rows = rlx_op_narrow(g, same, 0, 2, 3), columns = rlx_op_narrow(g, same, 1, 2, 3);
  rlx_graph_add_output(g, "rows", rlx_op_neg(g, rows));
  rlx_graph_add_output(g, "columns", rlx_op_neg(g, columns));
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(inside(&p->at[same], &p->at[y]) && p->at[same].offset == p->at[y].offset);
  CHECK_EQ_INT(p->at[rows].offset - p->at[y].offset, 2 * 16 * 4);
  CHECK(disjoint(&p->at[columns], &p->at[y]));
  CHECK_EQ_INT(p->n_copies, 0);
  CHECK_EQ_INT(p->n_steps, 4); /* matmul, neg, slice of columns, neg */
  rlx_plan_destroy(p);
}

TEST(a_view_that_misses_the_alignment_is_copied) {
  rlx_graph *g = begin();
  rlx_node y = dense(g, x_of(g, 64), 128);
  rlx_node a = rlx_op_narrow(g, y, 0, 64, 8), b = rlx_op_narrow(g, y, 0, 63, 8);
  rlx_graph_add_output(g, "a", rlx_op_neg(g, a));
  rlx_graph_add_output(g, "b", rlx_op_neg(g, b));
  rlx_plan *p = plan_with(g, &(rlx_plan_options){.view_align = 256});
  if (!p) return;
  CHECK(inside(&p->at[a], &p->at[y]));
  CHECK(disjoint(&p->at[b], &p->at[y]) && p->at[b].offset % 256 == 0);
  CHECK_EQ_INT(p->n_copies, 1);
  rlx_plan_destroy(p);
}

TEST(a_concat_is_written_in_place) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), a = dense(g, x, 32), b = dense(g, x, 96);
  rlx_node inner = rlx_op_concat(g, (rlx_node[]){a, b}, 2, 0);
  rlx_node c = dense(g, x, 16), outer = rlx_op_concat(g, (rlx_node[]){inner, x, c}, 3, 0);
  rlx_graph_add_output(g, "inner", rlx_op_neg(g, rlx_op_narrow(g, inner, 0, 0, 128)));
  rlx_graph_add_output(g, "outer", outer);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK_EQ_INT(p->at[a].offset, p->at[outer].offset);
  CHECK_EQ_INT(p->at[b].offset, p->at[outer].offset + 32 * 4);
  CHECK_EQ_INT(p->at[c].offset, p->at[outer].offset + (128 + 64) * 4);
  CHECK_EQ_INT(p->n_copies, 1); /* x is an input */
  CHECK_EQ_INT(p->n_steps, 3 + 1 + 1);
  rlx_plan_destroy(p);
}

TEST(a_part_of_two_concats_stays_apart) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), a = dense(g, x, 32), b = dense(g, x, 96), c = dense(g, x, 96);
  rlx_node u = rlx_op_concat(g, (rlx_node[]){a, b}, 2, 0), v = rlx_op_concat(g, (rlx_node[]){a, c}, 2, 0);
  rlx_graph_add_output(g, "u", u);
  rlx_graph_add_output(g, "v", v);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(disjoint(&p->at[a], &p->at[u]) && disjoint(&p->at[a], &p->at[v]));
  CHECK(inside(&p->at[b], &p->at[u]) && inside(&p->at[c], &p->at[v]));
  CHECK_EQ_INT(p->n_copies, 2);
  rlx_plan_destroy(p);
}

TEST(a_concat_that_costs_more_in_place_is_a_step) {
  rlx_graph *g = begin(); /* in place, the whole concat would be live over the large middle */
  rlx_node x = x_of(g, 16), skip = dense(g, x, 1024), middle = dense(g, rlx_op_tanh(g, skip), 16384);
  rlx_node up = dense(g, rlx_op_tanh(g, middle), 8192), y = rlx_op_concat(g, (rlx_node[]){skip, up}, 2, 0);
  rlx_graph_add_output(g, "y", rlx_op_reduce_sum(g, y, RLX_DIMS(0), false));
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(disjoint(&p->at[skip], &p->at[y]));
  CHECK(p->scratch_bytes < (16384 + 8192 + 1024 + 8192) * 4);
  rlx_plan_destroy(p);
}

/* ---- in place ---- */

TEST(results_take_over_inputs_that_die) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), a = dense(g, x, 100), b = rlx_op_relu(g, a), c = rlx_op_add(g, b, b), d = rlx_op_exp(g, c);
  rlx_node e = rlx_op_add(g, d, dense(g, x, 100));
  rlx_graph_add_output(g, "y", e);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(p->at[a].offset == p->at[b].offset && p->at[b].offset == p->at[c].offset);
  CHECK_EQ_INT(p->at[d].offset, p->at[c].offset);
  CHECK_EQ_INT(p->n_in_place, 4);
  rlx_plan_destroy(p);
}

TEST(what_lives_on_is_not_taken_over) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), in = rlx_op_relu(g, x), a = dense(g, x, 64), part = rlx_op_narrow(g, a, 0, 0, 4);
  rlx_node b = rlx_op_relu(g, a), out = rlx_op_exp(g, in);
  rlx_graph_add_output(g, "in", in); /* an output may not be overwritten by exp, the input not by relu */
  rlx_graph_add_output(g, "out", out);
  /* a stays live through its slice */
  rlx_graph_add_output(g, "both", rlx_op_add(g, rlx_op_narrow(g, b, 0, 0, 4), part));
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(disjoint(&p->at[x], &p->at[in]) && disjoint(&p->at[in], &p->at[out]) && disjoint(&p->at[a], &p->at[b]));
  rlx_plan_destroy(p);
}

TEST(a_result_does_not_overwrite_what_the_same_step_reads_elsewhere) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), a = dense(g, x, 16), idx = rlx_op_input(g, "idx", RLX_I32, RLX_DIMS(16));
  rlx_node b = rlx_op_scatter_elements(g, a, idx, a, 0, RLX_SCATTER_NONE);
  rlx_node c = dense(g, x, 16), d = rlx_op_add(g, c, rlx_op_narrow(g, c, 0, 3, 1));
  rlx_graph_add_output(g, "b", b);
  rlx_graph_add_output(g, "d", d);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(disjoint(&p->at[a], &p->at[b]));
  CHECK(disjoint(&p->at[c], &p->at[d]));
  rlx_plan_destroy(p);
}

/* ---- states ---- */

static rlx_node state_of(rlx_graph *g) { return rlx_op_state(g, "s", RLX_F32, RLX_DIMS(32)); }

TEST(an_update_waits_for_readers_of_the_old_value) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 8), s = state_of(g), u = rlx_op_update(g, s, x, rlx_op_scalar(g, RLX_I32, 3), 0);
  rlx_node old = rlx_op_neg(g, s), now = rlx_op_neg(g, u);
  rlx_graph_add_output(g, "old", old);
  rlx_graph_add_output(g, "now", now);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK_EQ_INT(p->n_copies, 0);
  CHECK_EQ_INT(p->steps[0].node, old);
  CHECK(p->at[s].segment == RLX_SEGMENT_STATE && p->at[u].segment == RLX_SEGMENT_STATE);
  CHECK(p->n_states == 1 && p->states[0] == s && p->state_bytes == 128);
  rlx_plan_destroy(p);
}

TEST(an_old_value_that_must_live_on_is_copied) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 8), s = state_of(g), u = rlx_op_update(g, s, x, rlx_op_scalar(g, RLX_I32, 3), 0);
  rlx_graph_add_output(g, "y", rlx_op_sub(g, u, s)); /* reads both */
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK_EQ_INT(p->n_copies, 1);
  CHECK(p->at[s].segment == RLX_SEGMENT_STATE);
  rlx_plan_destroy(p);

  g = begin();
  x = x_of(g, 8), s = state_of(g), u = rlx_op_update(g, s, x, rlx_op_scalar(g, RLX_I32, 3), 0);
  rlx_node again = rlx_op_update(g, u, x, rlx_op_scalar(g, RLX_I32, 4), 0);
  rlx_graph_add_output(g, "old", s);
  rlx_graph_add_output(g, "middle", rlx_op_reshape(g, u, RLX_DIMS(4, 8)));
  rlx_graph_add_output(g, "last", again);
  p = plan(g);
  if (!p) return;
  CHECK_EQ_INT(p->n_copies, 2);
  CHECK(p->at[s].segment == RLX_SEGMENT_SCRATCH && p->at[u].segment == RLX_SEGMENT_SCRATCH);
  CHECK(p->at[again].segment == RLX_SEGMENT_STATE);
  rlx_plan_destroy(p);

  g = begin(); /* rows that are the state itself */
  s = state_of(g);
  rlx_op_update(g, s, rlx_op_narrow(g, s, 0, 4, 8), rlx_op_scalar(g, RLX_I32, 0), 0);
  rlx_graph_add_output(g, "y", x_of(g, 1));
  p = plan(g);
  if (!p) return;
  CHECK_EQ_INT(p->n_copies, 1);
  rlx_plan_destroy(p);
}

/* ---- leaves, empty values, control ---- */

TEST(leaves_may_be_outputs) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 8), w = rlx_op_param(g, "w", RLX_F16, RLX_DIMS(3)), c = rlx_op_scalar(g, RLX_F64, 1),
           s = state_of(g);
  rlx_node dead = rlx_op_neg(g, x);
  rlx_graph_add_output(g, "x", x);
  rlx_graph_add_output(g, "w", w);
  rlx_graph_add_output(g, "c", c);
  rlx_graph_add_output(g, "s", s);
  rlx_graph_add_output(g, "again", rlx_op_reshape(g, w, RLX_DIMS(3, 1)));
  rlx_graph_add_output(g, "x2", x);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK_EQ_INT(p->n_steps, 0);
  CHECK(p->n_weights == 2 && p->weights_bytes == 6 + 8 && p->n_states == 1);
  CHECK(p->at[dead].segment == RLX_SEGMENT_NONE);
  CHECK(p->at[x].segment == RLX_SEGMENT_SCRATCH && p->scratch_bytes == 256);
  rlx_plan_destroy(p);
}

TEST(constants_alone_need_no_scratch) {
  rlx_graph *g = begin();
  rlx_graph_add_output(g, "c", rlx_op_scalar(g, RLX_F32, 2));
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(p->n_steps == 0 && p->scratch_bytes == 0 && p->n_scratch == 1 && p->lower_bound == 0);
  rlx_plan_destroy(p);
}

TEST(values_without_elements_have_a_place_and_no_step) {
  rlx_graph *g = begin();
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(0, 4)), w = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(4, 3));
  rlx_node y = rlx_op_matmul(g, x, w), big = rlx_op_input(g, "big", RLX_F32, RLX_DIMS(5, 3));
  rlx_node z = rlx_op_concat(g, (rlx_node[]){y, big}, 2, 0);
  rlx_graph_add_output(g, "y", y);
  rlx_graph_add_output(g, "z", z);
  rlx_graph_add_output(g, "sum", rlx_op_reduce_sum(g, y, RLX_DIMS(0), false)); /* of nothing: 3 zeros, computed */
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(p->at[y].segment == RLX_SEGMENT_SCRATCH && p->at[y].bytes == 0 && p->at[x].bytes == 0);
  CHECK(p->at[w].segment == RLX_SEGMENT_NONE); /* nothing is computed from it */
  CHECK_EQ_INT(p->n_steps, 2);
  rlx_plan_destroy(p);
}

static rlx_graph *counting_body(void) {
  rlx_graph *b = begin();
  rlx_node sum = rlx_op_input(b, "sum", RLX_F32, RLX_DIMS(4)), x = rlx_op_input(b, "x", RLX_F32, RLX_DIMS(4));
  rlx_node next = rlx_op_add(b, sum, x);
  rlx_graph_add_output(b, "next", next);
  rlx_graph_add_output(b, "twice", rlx_op_add(b, next, next));
  rlx_graph_add_output(b, "unused", rlx_op_neg(b, next));
  return rlx_graph_finish(b) ? NULL : b;
}

TEST(control_siblings_are_one_step) {
  rlx_graph *g = begin(), *body = counting_body();
  rlx_node xs[2] = {rlx_op_input(g, "start", RLX_F32, RLX_DIMS(4)), rlx_op_input(g, "xs", RLX_F32, RLX_DIMS(7, 4))},
           outs[3];
  rlx_op_scan(g, body, 1, 1, false, xs, 2, outs, 3);
  rlx_graph_destroy(body);
  rlx_graph_add_output(g, "last", outs[0]);
  rlx_graph_add_output(g, "all", outs[1]);
  rlx_plan *p = plan(g);
  if (!p) return;
  CHECK(p->n_steps == 1 && p->steps[0].n_out == 2);
  CHECK(p->steps[0].nodes[0] == outs[0] && p->steps[0].nodes[1] == outs[1]);
  CHECK(p->at[outs[2]].segment == RLX_SEGMENT_NONE && disjoint(&p->at[outs[0]], &p->at[outs[1]]));
  rlx_plan_destroy(p);
}

/* ---- the device's needs and limits ---- */

static void needs_some(void *user, const rlx_graph *g, rlx_node n, rlx_node_needs *out) {
  (void)user;
  rlx_op op = rlx_graph_at(g, n)->op;
  out->native = op != RLX_OP_exp;
  out->work_bytes = op == RLX_OP_matmul ? 1000 : op == RLX_OP_exp ? 5000 : 0;
}

TEST(the_device_says_host_workspace_and_in_place) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), a = dense(g, x, 100), b = rlx_op_exp(g, rlx_op_relu(g, a));
  rlx_graph_add_output(g, "y", b);
  rlx_plan *p = plan_with(g, &(rlx_plan_options){.needs = needs_some});
  if (!p) return;
  CHECK_EQ_INT(p->n_host, 1);
  CHECK_EQ_INT(p->n_in_place, 0); /* claims none */
  CHECK_EQ_INT(p->steps[0].work.bytes, 1000);
  CHECK(p->steps[2].host && p->steps[2].work.segment == RLX_SEGMENT_NONE);
  CHECK(disjoint(&p->steps[0].work, &p->steps[0].out[0]) && disjoint(&p->steps[0].work, &p->steps[0].in[0]));
  rlx_plan_destroy(p);
}

/* Forty values of 4 KiB to 14 KiB, all live at once. */
static rlx_graph *wide_graph(void) {
  enum { WIDE = 40 };
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 64), v[WIDE], sum = RLX_NONE;
  for (int i = 0; i < WIDE; i++) v[i] = rlx_op_tile(g, x, RLX_DIMS(16 + i));
  for (int i = 0; i < WIDE; i++) {
    rlx_node part = rlx_op_reduce_sum(g, v[i], RLX_DIMS(0), false);
    sum = i ? rlx_op_add(g, sum, part) : part;
  }
  rlx_graph_add_output(g, "y", sum);
  return rlx_graph_finish(g) ? NULL : g;
}

TEST(scratch_is_split_for_small_blocks) {
  rlx_graph *g = wide_graph();
  CHECK(g);
  const uint64_t largest = (16 + 39) * 256, limits[] = {largest, largest + 1, 16384, 20000, 65536, 300000};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    rlx_plan_options o = {.align = 512, .max_block_bytes = limits[i], .switches = RLX_SWITCH_NO_REORDER};
    rlx_plan *p;
    CHECK_OK(rlx_plan_build(g, &o, &p));
    CHECK(p->n_scratch > p->lower_bound / limits[i]);
    for (uint32_t b = 0; b < p->n_scratch; b++) CHECK(p->scratch[b] <= limits[i] && p->scratch[b] > 0);
    CHECK(p->scratch_bytes <= p->lower_bound * 11 / 10);
    rlx_plan_destroy(p);
  }
  rlx_plan_options o = {.max_block_bytes = largest - 1};
  rlx_plan *p;
  CHECK_FAILS(rlx_plan_build(g, &o, &p), RLX_UNSUPPORTED, "(tile) f32[3520] takes 14080 bytes");
  rlx_graph_destroy(g);
}

TEST(a_value_above_a_limit_is_named) {
  rlx_graph *g = begin();
  rlx_node a = dense(g, x_of(g, 64), 4096);
  rlx_graph_add_output(g, "y", rlx_op_neg(g, a));
  CHECK_OK(rlx_graph_finish(g));
  rlx_plan *p;
  rlx_plan_options o = {.max_block_bytes = 16383};
  CHECK_FAILS(rlx_plan_build(g, &o, &p), RLX_UNSUPPORTED, "(matmul) f32[1,4096] takes 16384 bytes");
  CHECK(strstr(rlx_message(), "16383") && strstr(rlx_message(), "would help") && !p);
  o = (rlx_plan_options){.max_block_bytes = 16384 * 8};
  CHECK_FAILS(rlx_plan_build(g, &o, &p), RLX_UNSUPPORTED, "(param 'w1') f32[64,4096]");
  o = (rlx_plan_options){.max_window_bytes = 16384 * 8};
  CHECK_FAILS(rlx_plan_build(g, &o, &p), RLX_UNSUPPORTED, "binds at most 131072");
  o = (rlx_plan_options){.max_block_bytes = 64 * 16384, .max_window_bytes = 64 * 16384};
  CHECK_OK(rlx_plan_build(g, &o, &p));
  rlx_plan_destroy(p);
  o = (rlx_plan_options){.align = 48};
  CHECK_FAILS(rlx_plan_build(g, &o, &p), RLX_INVALID, "powers of two");
  rlx_graph_destroy(g);
}

static bool always(void *user) {
  (void)user;
  return true;
}

TEST(planning_can_be_cancelled) {
  rlx_graph *g = begin();
  rlx_graph_add_output(g, "y", rlx_op_neg(g, x_of(g, 4)));
  CHECK_OK(rlx_graph_finish(g));
  rlx_plan *p;
  CHECK_FAILS(rlx_plan_build(g, &(rlx_plan_options){.cancel = always}, &p), RLX_CANCELLED, "stopped");
  CHECK(!p);
  rlx_graph_destroy(g);
}

/* ---- properties ---- */

TEST(networks_reach_the_lower_bound) {
  for (size_t i = 0; i < plan_graph_kinds_count; i++) {
    rlx_graph *g;
    rlx_plan *p;
    CHECK_OK(plan_graph_build(&plan_graph_kinds[i], &g));
    CHECK_OK(rlx_plan_build(g, NULL, &p));
    if (p->scratch_bytes != p->lower_bound)
      FAIL("%s: %llu bytes, the bound is %llu", plan_graph_kinds[i].name, (unsigned long long)p->scratch_bytes,
           (unsigned long long)p->lower_bound);
    CHECK(p->lower_bound <= p->order_bound && p->order_bound < p->naive_bytes);
    rlx_plan_destroy(p);
    rlx_graph_destroy(g);
  }
}

static bool same_plans(const rlx_plan *a, const rlx_plan *b) {
  bool same = a->n_steps == b->n_steps && a->n_storages == b->n_storages && a->scratch_bytes == b->scratch_bytes &&
              memcmp(a->at, b->at, rlx_graph_end(a->graph) * sizeof *a->at) == 0;
  for (size_t i = 0; same && i < a->n_steps; i++)
    same = a->steps[i].node == b->steps[i].node && a->steps[i].kind == b->steps[i].kind;
  return same;
}

/* Graphs where the joins given up for the reordered peak are the ones that benefit the graph's own order. */
TEST(reordering_is_never_worse) {
  static const uint64_t seeds[] = {733, 865, 1185, 1219, 1712};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    rlx_graph *g;
    rlx_plan *p, *in_order;
    CHECK_OK(plan_graph_random(seeds[i], 20 + (uint32_t)seeds[i] % 250, 4096, &g));
    CHECK_OK(rlx_plan_build(g, NULL, &p));
    CHECK_OK(rlx_plan_build(g, &(rlx_plan_options){.switches = RLX_SWITCH_NO_REORDER}, &in_order));
    CHECK(p->lower_bound <= in_order->lower_bound);
    rlx_plan_destroy(p);
    rlx_plan_destroy(in_order);
    rlx_graph_destroy(g);
  }
}

/* RLX_SOAK=1: twenty times as many. */
static uint32_t often(uint32_t n) { return (TEST_IS_SANITIZED ? n / 5 : n) * (getenv("RLX_SOAK") ? 20 : 1); }

TEST(random_plans_have_the_properties) {
  uint32_t n_graphs = often(300), n_reached = 0;
  for (uint64_t seed = 1; seed <= n_graphs; seed++) {
    rlx_graph *g;
    rlx_plan *p, *again, *in_order;
    CHECK_OK(plan_graph_random(seed, 20 + (uint32_t)seed % 250, 4096, &g));
    CHECK_OK(rlx_plan_build(g, NULL, &p));
    CHECK_OK(rlx_plan_build(g, NULL, &again));
    CHECK_OK(rlx_plan_build(g, &(rlx_plan_options){.switches = RLX_SWITCH_NO_REORDER}, &in_order));
    CHECK(same_plans(p, again));
    CHECK(p->scratch_bytes <= p->greedy_bytes && p->lower_bound <= p->scratch_bytes);
    CHECK(p->lower_bound <= p->order_bound && p->lower_bound <= in_order->lower_bound);
    CHECK_EQ_INT(in_order->lower_bound, in_order->order_bound);
    n_reached += p->scratch_bytes == p->lower_bound;
    rlx_plan_destroy(p);
    rlx_plan_destroy(again);
    rlx_plan_destroy(in_order);
    rlx_graph_destroy(g);
  }
  CHECK(n_reached >= n_graphs * 98 / 100);
}

TEST(kept_values_share_nothing) {
  rlx_graph *g;
  rlx_plan *p;
  CHECK_OK(plan_graph_random(7, 150, 64, &g));
  CHECK_OK(rlx_plan_build(g, &(rlx_plan_options){.switches = RLX_SWITCH_KEEP_VALUES}, &p));
  for (rlx_node a = 1; a < rlx_graph_end(g); a++)
    for (rlx_node b = 1; b < a && p->at[a].segment == RLX_SEGMENT_SCRATCH; b++)
      CHECK(p->at[b].segment != RLX_SEGMENT_SCRATCH || disjoint(&p->at[a], &p->at[b]));
  rlx_plan_destroy(p);
  rlx_graph_destroy(g);
}

TEST(long_chains_are_no_recursion) {
  uint32_t n = TEST_IS_SANITIZED ? 100000 : 1000000;
  for (int kind = 0; kind < 3; kind++) { /* in place, views, nested concats */
    rlx_graph *g = begin();
    rlx_node x = x_of(g, 4), y = dense(g, x, 4), one = rlx_op_scalar(g, RLX_F32, 1);
    rlx_node piece = rlx_op_reshape(g, one, RLX_DIMS(1));
    for (uint32_t i = 0; i < (kind == 2 ? n / 20 : n); i++)
      y = kind == 0   ? rlx_op_neg(g, y)
          : kind == 1 ? rlx_op_reshape(g, y, i % 2 ? RLX_DIMS(4) : RLX_DIMS(2, 2))
                      : rlx_op_concat(g, (rlx_node[]){y, piece}, 2, 0);
    rlx_graph_add_output(g, "y", y);
    rlx_plan *p = plan(g);
    if (!p) return;
    CHECK(kind == 2 || p->scratch_bytes <= 768);
    rlx_plan_destroy(p);
  }
}

TEST(big_graphs_of_every_kind_are_planned) {
  for (size_t i = 0; i < big_graph_kinds_count; i++) {
    big_graph big;
    rlx_plan *p;
    CHECK_OK(big_graph_make(&big_graph_kinds[i], 5000, &big));
    CHECK_OK(rlx_plan_build(big.graph, NULL, &p));
    rlx_plan_destroy(p);
    rlx_graph_destroy(big.graph);
  }
}

/* ---- executing plans ---- */

typedef struct played {
  const rlx_plan *p;
  unsigned char **scratch, **states;
  const rlx_tensor *leaves;
} played;

static void *window_data(const played *m, const rlx_window *w) {
  if (w->segment == RLX_SEGMENT_SCRATCH) return m->scratch[w->block] + w->offset;
  if (w->segment == RLX_SEGMENT_STATE) return m->states[w->block] + w->offset;
  rlx_node n = m->p->weights[w->block];
  const rlx_node_rec *r = rlx_graph_at(m->p->graph, n);
  return (r->op == RLX_OP_constant ? RLX_ATTRS(constant, r)->data->data : (unsigned char *)m->leaves[n].data) +
         w->offset;
}

static rlx_status play_step(const played *m, const rlx_step *s) {
  const rlx_graph *g = m->p->graph;
  const rlx_node_rec *n = rlx_graph_at(g, s->node);
  if (s->kind == RLX_STEP_COPY) {
    memcpy(window_data(m, &s->out[0]), window_data(m, &s->in[0]), s->in[0].bytes);
    return RLX_OK;
  }
  /* Inputs are copied first, because the reference kernels do not work in place. */
  rlx_bump mem = {0};
  rlx_tensor *in = rlx_bump_array(&mem, rlx_tensor, s->n_in), *out = rlx_bump_array(&mem, rlx_tensor, s->n_out);
  const rlx_tensor **list = rlx_bump_array(&mem, const rlx_tensor *, s->n_in);
  for (uint32_t i = 0; i < s->n_in; i++) {
    if (!n->in[i]) continue;
    const rlx_type *t = &rlx_graph_at(g, n->in[i])->type;
    in[i] = (rlx_tensor){
      t->dtype, t->shape, {rlx_bump_copy(&mem, window_data(m, &s->in[i]), s->in[i].bytes, 1)}, s->in[i].bytes};
    list[i] = &in[i];
  }
  for (uint32_t i = 0; i < s->n_out; i++) {
    const rlx_type *t = &rlx_graph_at(g, s->nodes[i])->type;
    out[i] = (rlx_tensor){t->dtype, t->shape, {window_data(m, &s->out[i])}, s->out[i].bytes};
  }
  if (s->work.bytes) memset(window_data(m, &s->work), 0x5a, s->work.bytes);
  rlx_status status = rlx_eval_step(g, s->nodes, s->n_out, &(rlx_eval_context){0}, list, out, &mem);
  rlx_bump_deinit(&mem);
  return status;
}

/* Runs the plan and the evaluator on the same leaves and compares all outputs and states. */
static rlx_status compare_played(const rlx_plan *p, const rlx_tensor *leaves, rlx_bump *mem) {
  const rlx_graph *g = p->graph;
  uint32_t end = rlx_graph_end(g);
  played m = {p, rlx_bump_array(mem, unsigned char *, p->n_scratch), rlx_bump_array(mem, unsigned char *, p->n_states),
              leaves};
  for (uint32_t b = 0; b < p->n_scratch; b++) {
    m.scratch[b] = rlx_bump_alloc(mem, p->scratch[b], 1);
    memset(m.scratch[b], 0xee, p->scratch[b]);
  }
  const rlx_tensor **pointers = rlx_bump_array(mem, const rlx_tensor *, end);
  rlx_tensor *final = rlx_bump_array(mem, rlx_tensor, end), *outputs = rlx_bump_array(mem, rlx_tensor, g->outputs.n);
  for (rlx_node n = 1; n < end; n++) pointers[n] = leaves[n].data ? &leaves[n] : NULL;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const rlx_tensor *s = &leaves[p->states[i]];
    m.states[i] = rlx_bump_copy(mem, s->data, s->bytes, 1);
    final[p->states[i]] = *s;
    final[p->states[i]].data = rlx_bump_copy(mem, s->data, s->bytes, 1);
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    const rlx_type *t = &rlx_graph_at(g, g->outputs.v[i].node)->type;
    outputs[i] = (rlx_tensor){.dtype = t->dtype, .shape = t->shape};
    RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &outputs[i].bytes));
    outputs[i].data = rlx_bump_alloc(mem, outputs[i].bytes, 1);
  }
  RLX_TRY(rlx_eval_graph(g, &(rlx_eval_context){0}, pointers, outputs, final));

  for (rlx_node n = 1; n < end; n++)
    if (rlx_graph_at(g, n)->op == RLX_OP_input && p->at[n].bytes)
      memcpy(window_data(&m, &p->at[n]), leaves[n].data, leaves[n].bytes);
  for (size_t i = 0; i < p->n_steps; i++) RLX_TRY_AT(play_step(&m, &p->steps[i]), "step %zu", i);
  for (size_t i = 0; i < g->outputs.n; i++)
    if (outputs[i].bytes &&
        memcmp(window_data(&m, &p->at[g->outputs.v[i].node]), outputs[i].data, outputs[i].bytes) != 0)
      return RLX_FAIL(RLX_INVALID, "output '%s' differs", g->outputs.v[i].name);
  for (uint32_t i = 0; i < p->n_states; i++)
    if (memcmp(m.states[i], final[p->states[i]].data, final[p->states[i]].bytes) != 0)
      return RLX_FAIL(RLX_INVALID, "state '%s' differs", rlx_node_name(g, p->states[i]));
  return RLX_OK;
}

static const struct {
  const char *name;
  rlx_plan_options o;
} variants[] = {
  {"default", {.align = 64}},
  {"no views", {.align = 64, .switches = RLX_SWITCH_NO_VIEWS}},
  {"no in place", {.align = 64, .switches = RLX_SWITCH_NO_IN_PLACE}},
  {"no concat", {.align = 64, .switches = RLX_SWITCH_NO_CONCAT}},
  {"no reorder", {.align = 16, .switches = RLX_SWITCH_NO_REORDER}},
  {"no search", {.align = 64, .switches = RLX_SWITCH_NO_SEARCH}},
  {"nothing",
   {.switches = RLX_SWITCH_NO_VIEWS | RLX_SWITCH_NO_IN_PLACE | RLX_SWITCH_NO_CONCAT | RLX_SWITCH_NO_REORDER |
                RLX_SWITCH_NO_SEARCH}},
  {"keep values", {.switches = RLX_SWITCH_KEEP_VALUES}},
  {"aligned views", {.align = 64, .view_align = 16}},
  {"device", {.align = 64, .needs = needs_some}},
  {"blocks", {.align = 16, .max_block_bytes = 2048}},
};

static void play_variants(const rlx_graph *g, uint64_t seed) {
  rlx_tensor *leaves;
  CHECK_OK(random_leaves(g, seed, &leaves));
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    rlx_plan *p;
    rlx_status s = rlx_plan_build(g, &variants[i].o, &p);
    if (s == RLX_UNSUPPORTED) continue; /* a weight above the block limit */
    rlx_bump mem = {0};
    if (!s) s = compare_played(p, leaves, &mem);
    rlx_bump_deinit(&mem);
    rlx_plan_destroy(p);
    if (s) FAIL("graph %llu, %s: %s", (unsigned long long)seed, variants[i].name, rlx_message());
  }
  random_leaves_free(g, leaves);
}

TEST(played_plans_equal_the_evaluator) {
  for (uint64_t seed = 1; seed <= often(250); seed++) {
    rlx_graph *g;
    CHECK_OK(plan_graph_random(seed, 20 + (uint32_t)seed % 120, 16, &g));
    play_variants(g, seed);
    rlx_graph_destroy(g);
    if (test_has_failed()) return;
  }
}

TEST(played_plans_of_all_ops_equal_the_evaluator) {
  for (uint64_t seed = 1; seed <= often(60); seed++) {
    random_graph r;
    CHECK_OK(random_graph_make(seed, 50, &r));
    play_variants(r.graph, seed);
    random_graph_deinit(&r);
    if (test_has_failed()) return;
  }
}

/* ---- reports and memory ---- */

TEST(reports_say_what_scripts_and_people_read) {
  rlx_graph *g = begin();
  rlx_node x = rlx_op_input(g, "a<b>&\"c\"", RLX_F32, RLX_DIMS(64));
  rlx_graph_add_output(g, "y", rlx_op_relu(g, dense(g, x, 2048)));
  rlx_plan *p = plan(g);
  if (!p) return;
  rlx_str s = {0};
  CHECK_OK(rlx_plan_report(p, RLX_PLAN_TEXT, &s));
  CHECK(strstr(s.v, "8.25 KiB in 1 block, 1.000 times the lower bound") && strstr(s.v, "relu f32[2048]"));
  rlx_str_deinit(&s);
  CHECK_OK(rlx_plan_report(p, RLX_PLAN_JSON, &s));
  CHECK(strstr(s.v, "{\"peak\":8448,\"lower_bound\":8448,\"seconds\":") && strstr(s.v, "\"offsets\":{\"1\":"));
  CHECK(strstr(s.v, "\"a<b>&\\\"c\\\"\"") && strstr(s.v, "\"first\":0,\"last\":1,"));
  rlx_str_deinit(&s);
  CHECK_OK(rlx_plan_report(p, RLX_PLAN_SVG, &s));
  CHECK(strstr(s.v, "a&lt;b&gt;&amp;&quot;c&quot;") && strstr(s.v, "lower bound</text>") && strstr(s.v, "</svg>\n"));
  rlx_str_deinit(&s);
  rlx_plan_destroy(p);
}

TEST(the_picture_of_a_huge_plan_stays_small) {
  big_graph big;
  rlx_plan *p;
  rlx_str s = {0};
  CHECK_OK(big_graph_make(big_graph_find("names"), 100000, &big));
  CHECK_OK(
    rlx_plan_build(big.graph, &(rlx_plan_options){.switches = RLX_SWITCH_NO_SEARCH | RLX_SWITCH_KEEP_VALUES}, &p));
  CHECK_OK(rlx_plan_report(p, RLX_PLAN_SVG, &s));
  CHECK(p->n_storages > 20000 && s.n < 8 << 20 && strstr(s.v, "are not drawn"));
  rlx_str_deinit(&s);
  rlx_plan_destroy(p);
  rlx_graph_destroy(big.graph);
}

static rlx_status plan_and_report(void *user) {
  for (size_t i = 0; i < 3; i++) {
    static const rlx_plan_options options[] = {
      {.align = 64}, {.switches = RLX_SWITCH_KEEP_VALUES}, {.align = 16, .max_block_bytes = 512}};
    rlx_plan *p;
    RLX_TRY(rlx_plan_build(user, &options[i], &p));
    rlx_status s = RLX_OK;
    for (int f = 0; f < 3 && !s; f++) {
      rlx_str text = {0};
      s = rlx_plan_report(p, (rlx_plan_format)f, &text);
      rlx_str_deinit(&text);
    }
    rlx_plan_destroy(p);
    RLX_TRY(s);
  }
  return RLX_OK;
}

TEST(every_allocation_may_fail) {
  rlx_graph *g = begin();
  rlx_node x = x_of(g, 16), s = rlx_op_state(g, "s", RLX_F32, RLX_DIMS(8)), a = dense(g, x, 8), b = dense(g, x, 4);
  rlx_node u = rlx_op_update(g, s, b, rlx_op_scalar(g, RLX_I32, 0), 0);
  rlx_graph_add_output(g, "y", rlx_op_concat(g, (rlx_node[]){a, rlx_op_relu(g, b), x}, 3, 0));
  rlx_graph_add_output(g, "z", rlx_op_sub(g, u, s));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(alloc_sweep(plan_and_report, g));
  rlx_graph_destroy(g);
}
