/* Control flow beyond the values that the conformance cases check: what the rules reject, how often a body's nodes
 * execute, how much memory a long loop takes, and how it is cancelled. */
#include "faults.h"
#include "rules.h"
#include "test.h"

/* ---- rejected graphs ---- */

/* clang-format off */
#define LEAVES "c: bool[]; x: f32[3]; m: f32[4,3]; i: i32[]"
#define SAME "graph { %x = input \"x\" : f32[3]; output \"y\" = %x }"
#define TRUE_OF_X "graph { %x = input \"x\" : f32[3]; %t = constant : bool[] = [1]; output \"y\" = %t }"
#define ADD_TO(type) "graph { %s = input \"s\" : f32[3]; %x = input \"x\" : " type "; %y = add(%s, %x); output \"s\" = %y; output \"y\" = %y }"

static const rule refused[] = {
    {LEAVES, "if(%x, %x) {on_true=" SAME ", on_false=" SAME "}", NULL, "input 0 (cond) is f32 but must be bool"},
    {LEAVES, "if(%c, %x) {on_true=" SAME "}", NULL, "on_false is missing"},
    {LEAVES, "if(%c, %m) {on_true=" SAME ", on_false=" SAME "}", NULL, "input 'x' of on_true is f32[3] but is given f32[4,3]"},
    {LEAVES, "if(%c, %i) {on_true=" SAME ", on_false=" SAME "}", NULL, "input 'x' of on_true is f32[3] but is given i32[]"},
    {LEAVES, "if(%c) {on_true=" SAME ", on_false=" SAME "}", NULL, "on_true has more inputs ('x') than the 0 values"},
    {LEAVES, "if(%c, %x, %x) {on_true=" SAME ", on_false=" SAME "}", NULL, "on_true has 1 inputs but is given 2 values"},
    {LEAVES, "if(%c, %x) {index=1, on_true=" SAME ", on_false=" SAME "}", NULL, "index is 1 but there are 1 outputs"},
    {LEAVES, "if(%c, %x) {index=-1, on_true=" SAME ", on_false=" SAME "}", NULL, "index is -1"},
    {LEAVES, "if(%c, %x) {on_true=" SAME ", on_false=graph { %x = input \"x\" : f32[3]; %y = reduce_sum(%x); output \"y\" = %y }}", NULL,
     "output 0 is f32[3] in on_true but f32[] in on_false"},
    {LEAVES, "if(%c, %x) {on_true=" SAME ", on_false=graph { %x = input \"x\" : f32[3]; output \"y\" = %x; output \"z\" = %x }}", NULL,
     "on_true has 1 outputs but on_false has 2"},
    {LEAVES, "if(%c, %x) {on_true=" SAME ", on_false=graph { %x = input \"x\" : f32[3]; %w = param \"w\" : f32[3]; output \"y\" = %w }}", NULL, "has the param 'w'"},
    {LEAVES, "if(%c, %x) {on_true=" SAME ", on_false=graph { %x = input \"x\" : f32[3]; %s = state \"s\" : f32[3]; output \"y\" = %s }}", NULL, "has the state 's'"},
    {LEAVES, "if(%c, %x) {on_true=graph { %x = input \"x\" : f32[N]; output \"y\" = %x }, on_false=" SAME "}", NULL, "axis 0 of input 'x' of on_true is open"},
    {LEAVES, "if(%c, %x) {on_true=graph { %x = input \"x\" : f32[3]; %r = rng_uniform() {shape=[K]}; %y = reduce_sum(%r); output \"y\" = %y }, on_false=" SAME "}", NULL,
     "open at node 2 (rng_uniform"},
    {LEAVES, "while(%x) {cond=" SAME ", body=" SAME "}", NULL, "cond gives f32[3] but must give bool[]"},
    {LEAVES, "while(%x) {carried=0, cond=" TRUE_OF_X ", body=" SAME "}", NULL, "carried is 0 but must be 1..1"},
    {LEAVES, "while(%x) {carried=2, cond=" TRUE_OF_X ", body=" SAME "}", NULL, "carried is 2"},
    {LEAVES, "while() {cond=" TRUE_OF_X ", body=" SAME "}", NULL, "carried is 1 but must be 1..0"},
    {LEAVES, "while(%x) {index=1, cond=" TRUE_OF_X ", body=" SAME "}", NULL, "index is 1 but there are 1 carried values"},
    {LEAVES, "while(%x, %x) {carried=2, cond=" ADD_TO("f32[3]") ", body=" ADD_TO("f32[3]") "}", NULL, "cond has 2 outputs but must have 1"},
    {LEAVES, "while(%x) {cond=" TRUE_OF_X ", body=" TRUE_OF_X "}", NULL, "carried value 0 is f32[3] but body gives bool[]"},
    {LEAVES, "while(%x) {cond=" TRUE_OF_X ", body=graph { %x = input \"x\" : f32[3]; output \"y\" = %x; output \"z\" = %x }}", NULL, "body has 2 outputs but 1 values are carried"},
    {LEAVES, "scan(%x, %m) {carried=1, scanned=2, body=" ADD_TO("f32[3]") "}", NULL, "scanned is 2 but must be 1..1"},
    {LEAVES, "scan(%x, %m) {carried=3, body=" ADD_TO("f32[3]") "}", NULL, "carried is 3 but must be 0..2"},
    {LEAVES, "scan(%x, %m) {carried=-1, body=" ADD_TO("f32[3]") "}", NULL, "carried is -1"},
    {LEAVES, "scan(%x, %m) {carried=1, scanned=9223372036854775807, body=" ADD_TO("f32[3]") "}", NULL, "scanned is 9223372036854775807"},
    {LEAVES, "scan(%m) {scanned=0, body=" SAME "}", NULL, "scanned is 0"},
    {LEAVES, "scan(%i) {body=" SAME "}", NULL, "input 0 is a scalar and cannot be scanned"},
    {LEAVES, "scan(%m, %x) {scanned=2, body=" ADD_TO("f32[]") "}", NULL, "input 1 is [3] but 4 slices are scanned"},
    {LEAVES, "scan(%x, %m) {carried=1, body=" ADD_TO("f32[4,3]") "}", NULL, "input 'x' of body is f32[4,3] but is given f32[3]"},
    {LEAVES, "scan(%x, %m) {carried=1, index=2, body=" ADD_TO("f32[3]") "}", NULL, "index is 2 but there are 2 outputs"},
    {LEAVES, "region(%x) {body=graph { %x = input \"x\" : f32[3]; %y = softmax(%x); output \"y\" = %y }}", NULL, "node 2 of body is softmax"},
    {LEAVES, "region(%x) {body=graph { %x = input \"x\" : f32[3]; %y = region(%x) {body=" SAME "}; output \"y\" = %y }}", NULL, "node 2 of body is region"},
    {LEAVES, "region(%x) {body=graph { %x = input \"x\" : f32[3]; output \"y\" = %x; output \"z\" = %x }}", NULL, "body has 2 outputs but must have 1"},
    {LEAVES, "region(%m) {body=" SAME "}", NULL, "input 'x' of body is f32[3] but is given f32[4,3]"},
    {"x: f32[1,1,1,1,1,1,1,1]; s: f32[1,1,1,1,1,1,1,1]",
     "scan(%x, %s) {body=graph { %a = input \"a\" : f32[1,1,1,1,1,1,1]; %b = input \"b\" : f32[1,1,1,1,1,1,1,1]; "
     "%y = add(%a, %b); output \"y\" = %y }}", NULL, "rank 8"},
};
/* clang-format on */

TEST(rules_refuse) { CHECK_RULES(refused); }

/* ---- templates ---- */

TEST(sub_graphs_are_bound_with_their_graph) {
  rlx_graph *g = NULL, *bound = NULL;
  CHECK_OK(
    expr_graph("x: f32[T,N]; s: f32[N]",
               "scan(%s, %x) {carried=1, index=1, body=graph { %s = input \"s\" : f32[N]; %x = input \"x\" : f32[N];"
               "%t = add(%s, %x); output \"s\" = %t; output \"t\" = %t }}",
               &g));
  rlx_dims y = rlx_node_shape(g, rlx_graph_output_at(g, 0, NULL));
  CHECK_EQ_STR(rlx_graph_symbol_at(g, rlx_dim_symbol(y.v[0])), "T");
  CHECK_EQ_STR(rlx_graph_symbol_at(g, rlx_dim_symbol(y.v[1])),
               "N"); /* the body's N is the graph's, with another index */
  CHECK_OK(rlx_graph_bind(g, (rlx_binding[]){{"N", 3}, {"T", 5}}, 2, &bound));
  y = rlx_node_shape(bound, rlx_graph_output_at(bound, 0, NULL));
  CHECK(y.v[0] == 5 && y.v[1] == 3);
  char *text;
  rlx_graph *again = NULL;
  CHECK_OK(rlx_graph_print(bound, &text));
  CHECK_OK(rlx_graph_parse(text, strlen(text), &again));
  CHECK(rlx_graph_same(bound, again));
  rlx_free(text);
  rlx_graph_destroy(again);
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
}

/* ---- execution counts, memory, cancellation ---- */

static rlx_status count_shape(rlx_custom_call *call) {
  call->output->dtype = call->inputs[0]->dtype;
  call->output->shape = call->inputs[0]->shape;
  return RLX_OK;
}

static rlx_status count_kernel(rlx_custom_call *call) {
  ++*(unsigned *)call->user;
  memcpy(call->output->data, call->inputs[0]->data, call->output->bytes);
  return RLX_OK;
}

/* The result of an expression, which is an i32. */
static rlx_status run_i32(const char *expr, rlx_cancel_fn cancel, void *user, int32_t *out) {
  rlx_graph *g;
  rlx_evaluator *e = NULL;
  rlx_tensor y;
  RLX_TRY(expr_graph("", expr, &g));
  rlx_status s = rlx_evaluator_create(g, &e);
  rlx_evaluator_set_cancel(e, cancel, user);
  if (!s) s = rlx_evaluator_run(e);
  if (!s) s = rlx_evaluator_get(e, "y", &y);
  if (!s) *out = *(int32_t *)y.data;
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  return s;
}

/* i counts up from 0 while it is below n. `trip` computes the next i, called %j, from %i and %one, which is
 * loop-invariant. */
#define COUNT_TO(n, trip)                                                                                 \
  "%z = constant : i32[] = [0]; %one = constant : i32[] = [1]; %total = while(%z, %one) {"                \
  "cond=graph { %i = input \"i\" : i32[]; %one = input \"one\" : i32[]; %n = constant : i32[] = [" n "];" \
  "%y = lt(%i, %n); output \"y\" = %y }, "                                                                \
  "body=graph { %i = input \"i\" : i32[]; %one = input \"one\" : i32[]; " trip "; output \"i\" = %j }}"
#define ADD_ONE "%j = add(%i, %one)"

static rlx_status count_calls(const char *expr, int32_t *y, unsigned *calls) {
  *calls = 0;
  RLX_TRY(rlx_custom_register(&(rlx_custom_desc){RLX_CUSTOM_DESC_INIT, .name = "t.count", .shape = count_shape,
                                                 .kernel = count_kernel, .user = calls}));
  rlx_status s = run_i32(expr, NULL, NULL, y);
  rlx_status end = rlx_custom_unregister("t.count");
  return s ? s : end;
}

TEST(what_does_not_change_is_computed_once) {
  int32_t y;
  unsigned calls;
  CHECK_OK(count_calls(COUNT_TO("100", "%k = custom(%one) {name=\"t.count\"}; %j = add(%i, %k)"), &y, &calls));
  CHECK_EQ_INT(y, 100);
  CHECK_EQ_INT(calls, 1);
  CHECK_OK(count_calls(COUNT_TO("100", "%k = custom(%i) {name=\"t.count\"}; %j = add(%k, %one)"), &y, &calls));
  CHECK_EQ_INT(calls, 100);
}

#define TWO_OF(index)                                                                                       \
  "scan(%z, %x) {carried=1, index=" index                                                                   \
  ", body=graph { %s = input \"s\" : i32[]; %x = input \"x\" : i32[]; %k = custom(%x) {name=\"t.count\"}; " \
  "%t = add(%s, %k); output \"s\" = %t; output \"t\" = %t }}"

TEST(siblings_share_one_execution) {
  int32_t y;
  unsigned calls;
  CHECK_OK(count_calls("%z = constant : i32[] = [0]; %x = constant : i32[4] = [1,2,3,4]; %a = " TWO_OF(
                         "0") "; "
                              "%b = " TWO_OF("1") "; %s = reduce_sum(%b); add(%a, %s)",
                       &y, &calls));
  CHECK_EQ_INT(y, 10 + 1 + 3 + 6 + 10);
  CHECK_EQ_INT(calls, 4);
}

/* Never cancels; records the maximum number of live blocks. */
static bool watch_memory(void *user) {
  size_t *max = user;
  if (rlx_mem_live() > *max) *max = rlx_mem_live();
  return false;
}

TEST(a_long_loop_takes_no_more_memory_than_a_short_one) {
  static const char *const loops[] = {COUNT_TO("10", ADD_ONE), COUNT_TO("20000", ADD_ONE)};
  size_t max[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    int32_t y;
    CHECK_OK(run_i32(loops[i], watch_memory, &max[i], &y));
    CHECK_EQ_INT(y, i ? 20000 : 10);
  }
  CHECK(max[0] > 0);
  CHECK(max[1] < max[0] + 10); /* which moment of an iteration is sampled varies; 20,000 iterations do not add up */
}

static bool stop_at_zero(void *user) { return --*(int *)user <= 0; }

TEST(an_endless_loop_can_be_stopped) {
  /* A body and a condition without a single node to run. */
  const char *loop = "%t = constant : bool[] = [1]; %i = constant : i32[] = [7]; while(%i, %t) {"
                     "cond=graph { %i = input \"i\" : i32[]; %t = input \"t\" : bool[]; output \"t\" = %t }, "
                     "body=graph { %i = input \"i\" : i32[]; %t = input \"t\" : bool[]; output \"i\" = %i }}";
  int32_t y;
  int left = 1000;
  size_t live = rlx_mem_live();
  CHECK_FAILS(run_i32(loop, stop_at_zero, &left, &y), RLX_CANCELLED, "stopped by the caller");
  CHECK_EQ_INT(rlx_mem_live(), live);
}

TEST(failures_inside_say_where) {
  /* Reads element i of four: iteration 4 is out of range. */
  int32_t y;
  CHECK_FAILS(run_i32(COUNT_TO("9", "%v = constant : i32[4] = [1,2,3,4]; %j = gather(%v, %i)"), NULL, NULL, &y),
              RLX_INVALID, "trip 4: node");
}

TEST(a_region_or_loop_needs_an_evaluator) {
  rlx_graph *g = NULL;
  CHECK_OK(expr_graph("x: f32[3]", "region(%x) {body=" SAME "}", &g));
  float data[3] = {1, 2, 3}, result[3];
  rlx_tensor x = {RLX_F32, RLX_DIMS(3), {data}, sizeof data}, y = {RLX_F32, RLX_DIMS(3), {result}, sizeof result};
  const rlx_tensor *in[] = {&x};
  const rlx_node_rec *n = rlx_graph_at(g, rlx_graph_output_at(g, 0, NULL));
  rlx_bump scratch = {0};
  rlx_ref_call call = {.node = n, .attrs = n->attrs, .in = in, .n_in = 1, .out = &y, .scratch = &scratch};
  CHECK_FAILS(rlx_ref_region(&call), RLX_UNSUPPORTED, "region runs inside an evaluator only");
  CHECK_OK(rlx_eval_node(n, &(rlx_eval_context){0}, in, &y));
  CHECK(result[2] == 3);
  rlx_bump_deinit(&scratch);
  rlx_graph_destroy(g);
}

/* ---- out of memory ---- */

static rlx_status everything_once(void *user) {
  (void)user;
  int32_t y = 0;
  RLX_TRY(run_i32(
    COUNT_TO("3",
             ADD_ONE) "; %x = constant : i32[3] = [1,2,3]; "
                      "%b = scan(%total, %x) {carried=1, index=0, body=graph { %s = input \"s\" : i32[]; "
                      "%x = input \"x\" : i32[]; %t = add(%s, %x); output \"s\" = %t; output \"t\" = %t }}; "
                      "%c = lt(%total, %b); %d = if(%c, %b) {on_true=graph { %b = input \"b\" : i32[]; %y = neg(%b); "
                      "output \"y\" = %y }, on_false=graph { %b = input \"b\" : i32[]; output \"y\" = %b }}; "
                      "region(%d, %one) {body=graph { %d = input \"d\" : i32[]; %o = input \"o\" : i32[]; "
                      "%y = sub(%d, %o); output \"y\" = %y }}",
    NULL, NULL, &y));
  return y == -10 ? RLX_OK : RLX_FAIL(RLX_INVALID, "y is %d", (int)y);
}

TEST(every_allocation_may_fail) { CHECK_OK(alloc_sweep(everything_once, NULL)); }
