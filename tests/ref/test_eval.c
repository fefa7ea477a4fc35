/* The evaluator: values by name, states over runs, symbols from shapes, loops, cancelling, and every invalid call.
 *
 * The conformance tests check what each op computes. Here a custom op that counts its calls shows what the evaluator
 * runs and how often: no dead nodes, and loop-invariant nodes once. */
#include "test.h"

#include <stdlib.h>

#include "faults.h"
#include "ir/graph.h"

/* ---- helpers ---- */

#define VALUE(type, shape_, ...) \
  (&(rlx_tensor){.dtype = (type), .shape = shape_, .const_data = (__VA_ARGS__), .bytes = sizeof(__VA_ARGS__)})
#define F32(shape_, ...) VALUE(RLX_F32, shape_, (const float[]){__VA_ARGS__})
#define I32(shape_, ...) VALUE(RLX_I32, shape_, (const int32_t[]){__VA_ARGS__})

/* Element i of an f32 output or state; a value that no test uses if there is none. */
static float element(const rlx_evaluator *e, const char *name, size_t i) {
  rlx_tensor t;
  if (rlx_evaluator_get(e, name, &t) || t.dtype != RLX_F32 || (i + 1) * sizeof(float) > t.bytes) return -12345;
  return ((const float *)t.data)[i];
}

#define CHECK_VALUES(e, name, ...)                                                                               \
  do {                                                                                                           \
    const float expected_[] = {__VA_ARGS__};                                                                     \
    rlx_tensor found_;                                                                                           \
    CHECK_OK(rlx_evaluator_get((e), (name), &found_));                                                           \
    CHECK_EQ_INT(found_.bytes, sizeof expected_);                                                                \
    for (size_t k_ = 0; k_ < sizeof expected_ / sizeof *expected_; k_++)                                         \
      if (element((e), (name), k_) != expected_[k_])                                                             \
        FAIL("%s[%zu] is %g, expected %g", (name), k_, (double)element((e), (name), k_), (double)expected_[k_]); \
  } while (0)

/* Finishes g and moves it into an evaluator. */
static rlx_status evaluator_of(rlx_graph *g, rlx_evaluator **out) {
  *out = NULL;
  rlx_status s = rlx_graph_finish(g);
  if (!s) s = rlx_evaluator_create(g, out);
  rlx_graph_destroy(g);
  return s;
}

static rlx_status evaluator_of_text(const char *text, rlx_evaluator **out) {
  rlx_graph *g;
  *out = NULL;
  RLX_TRY(rlx_graph_parse(text, strlen(text), &g));
  return evaluator_of(g, out);
}

/* Through the text form, in which nodes that shared a sub-graph have one each. */
static rlx_status evaluator_of_printed(rlx_graph *g, rlx_evaluator **out) {
  char *text = NULL;
  *out = NULL;
  rlx_status s = rlx_graph_finish(g);
  if (!s) s = rlx_graph_print(g, &text);
  rlx_graph_destroy(g);
  if (!s) s = evaluator_of_text(text, out);
  rlx_free(text);
  return s;
}

/* The custom ops: "test.count" copies its input and counts its calls; "test.fail" fails when it runs. */
static int n_calls;

static rlx_status same_shape(rlx_custom_call *call) {
  call->output->dtype = call->inputs[0]->dtype;
  call->output->shape = call->inputs[0]->shape;
  return RLX_OK;
}
static rlx_status count_kernel(rlx_custom_call *call) {
  n_calls++;
  if (call->output->bytes) memcpy(call->output->data, call->inputs[0]->data, call->output->bytes);
  return RLX_OK;
}
static rlx_status fail_kernel(rlx_custom_call *call) {
  snprintf(call->message, sizeof call->message, "as it must");
  return RLX_UNSUPPORTED;
}

__attribute__((constructor)) static void register_ops(void) {
  rlx_custom_desc count = {sizeof count, "test.count", same_shape, count_kernel, NULL};
  rlx_custom_desc fail = {sizeof fail, "test.fail", same_shape, fail_kernel, NULL};
  if (rlx_custom_register(&count) || rlx_custom_register(&fail)) puts(rlx_message());
}

/* ---- invalid calls ---- */

static const char adder[] =
  "graph { %x = input \"x\" : f32[2]; %w = param \"w\" : f32[2]; %b = input \"b\" : bool[2]; %s = state \"s\" : "
  "f32[2]\n"
  "%y = add(%x, %w); output \"y\" = %y; %n = not(%b); output \"n\" = %n; %t = add(%s, %x); output \"t\" = %t }";

TEST(null_pointers_are_refused) {
  rlx_evaluator *e;
  rlx_tensor view = {.bytes = 7};
  rlx_graph *g;
  CHECK_OK(evaluator_of_text(adder, &e));
  CHECK_OK(rlx_graph_parse(adder, sizeof adder - 1, &g));
  rlx_evaluator *none = e;
  CHECK_FAILS(rlx_evaluator_create(NULL, &none), RLX_INVALID, "rlx_evaluator_create: the graph is NULL");
  CHECK(none == NULL);
  CHECK_FAILS(rlx_evaluator_create(g, NULL), RLX_INVALID, "rlx_evaluator_create: out is NULL");
  CHECK_FAILS(rlx_evaluator_set(NULL, "x", F32(RLX_DIMS(2), 1, 2)), RLX_INVALID,
              "rlx_evaluator_set: the evaluator is NULL");
  CHECK_FAILS(rlx_evaluator_set(e, NULL, F32(RLX_DIMS(2), 1, 2)), RLX_INVALID, "rlx_evaluator_set: name is NULL");
  CHECK_FAILS(rlx_evaluator_set(e, "x", NULL), RLX_INVALID, "rlx_evaluator_set: value is NULL");
  CHECK_FAILS(rlx_evaluator_run(NULL), RLX_INVALID, "rlx_evaluator_run: the evaluator is NULL");
  CHECK_FAILS(rlx_evaluator_get(NULL, "y", &view), RLX_INVALID, "rlx_evaluator_get: the evaluator is NULL");
  CHECK_EQ_INT(view.bytes, 0);
  CHECK_FAILS(rlx_evaluator_get(e, NULL, &view), RLX_INVALID, "rlx_evaluator_get: name is NULL");
  CHECK_FAILS(rlx_evaluator_get(e, "y", NULL), RLX_INVALID, "rlx_evaluator_get: view is NULL");
  rlx_evaluator_set_cancel(NULL, NULL, NULL);
  rlx_evaluator_destroy(NULL);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
}

TEST(values_that_do_not_fit_are_refused) {
  rlx_evaluator *e;
  float two[2] = {1, 2};
  CHECK_OK(evaluator_of_text(adder, &e));
#define SET(name, ...) rlx_evaluator_set(e, name, &(rlx_tensor){__VA_ARGS__})
  CHECK_FAILS(SET("z", RLX_F32, RLX_DIMS(2), {two}, 8), RLX_NOT_FOUND, "the graph has no input, param or state 'z'");
  CHECK_FAILS(SET("y", RLX_F32, RLX_DIMS(2), {two}, 8), RLX_NOT_FOUND, "no input, param or state 'y'");
  CHECK_FAILS(SET("", RLX_F32, RLX_DIMS(2), {two}, 8), RLX_NOT_FOUND, "''");
  CHECK_FAILS(SET("x", RLX_I32, RLX_DIMS(2), {two}, 8), RLX_INVALID, "input 'x': is i32 but must be f32");
  CHECK_FAILS(SET("x", (rlx_dtype)77, RLX_DIMS(2), {two}, 8), RLX_INVALID, "input 'x': is ? but must be f32");
  CHECK_FAILS(SET("w", RLX_F32, RLX_DIMS(3), {two}, 8), RLX_INVALID, "param 'w': is [3] but must be [2]");
  CHECK_FAILS(SET("s", RLX_F32, RLX_DIMS(2, 1), {two}, 8), RLX_INVALID, "state 's': is [2,1] but must be [2]");
  CHECK_FAILS(SET("x", RLX_F32, RLX_SCALAR, {two}, 8), RLX_INVALID, "is [] but must be [2]");
  CHECK_FAILS(SET("x", RLX_F32, {.n = 9}, {two}, 8), RLX_INVALID, "but must be [2]");
  CHECK_FAILS(SET("x", RLX_F32, {.n = -1}, {two}, 8), RLX_INVALID, "but must be [2]");
  CHECK_FAILS(SET("x", RLX_F32, RLX_DIMS(2), {two}, 7), RLX_INVALID, "input 'x': has 7 bytes but f32[2] takes 8");
  CHECK_FAILS(SET("x", RLX_F32, RLX_DIMS(2), {two}, SIZE_MAX), RLX_INVALID, "bytes but f32[2] takes 8");
  CHECK_FAILS(SET("x", RLX_F32, RLX_DIMS(2), {NULL}, 8), RLX_INVALID, "input 'x': has no data");
  CHECK_FAILS(SET("b", RLX_BOOL, RLX_DIMS(2), {.const_data = "\0\2"}, 2), RLX_INVALID,
              "input 'b': element 1 is 2, not 0 or 1");
#undef SET
  rlx_evaluator_destroy(e);
}

TEST(what_is_needed_must_be_set) {
  rlx_evaluator *e;
  rlx_tensor view;
  CHECK_OK(evaluator_of_text(adder, &e));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "input 'x' is not set");
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2), 1, 2)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "param 'w' is not set");
  CHECK_FAILS(rlx_evaluator_get(e, "y", &view), RLX_INVALID, "output 'y' has no value: nothing ran yet");
  CHECK_FAILS(rlx_evaluator_get(e, "s", &view), RLX_INVALID, "state 's' has no value: nothing ran yet");
  CHECK_FAILS(rlx_evaluator_get(e, "x", &view), RLX_NOT_FOUND, "the graph has no output or state 'x'");
  CHECK_FAILS(rlx_evaluator_get(e, "nobody", &view), RLX_NOT_FOUND, "'nobody'");
  rlx_evaluator_destroy(e);
  CHECK_OK(evaluator_of_text(
    "graph { %x = input \"x\" : f32[1]; %u = input \"unused\" : f32[1]; %v = neg(%u); output \"y\" = %x }", &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 5)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "y", 5);
  rlx_evaluator_destroy(e);
}

/* ---- plain runs ---- */

TEST(a_value_is_copied_and_stays) {
  rlx_evaluator *e;
  float x[2] = {1, 2};
  CHECK_OK(evaluator_of_text(adder, &e));
  rlx_tensor value = {RLX_F32, RLX_DIMS(2), {x}, sizeof x};
  CHECK_OK(rlx_evaluator_set(e, "x", &value));
  x[0] = 100;
  CHECK_OK(rlx_evaluator_set(e, "w", F32(RLX_DIMS(2), 10, 20)));
  CHECK_OK(rlx_evaluator_set(e, "b", VALUE(RLX_BOOL, RLX_DIMS(2), (const uint8_t[]){0, 1})));
  for (int run = 0; run < 2; run++) {
    CHECK_OK(rlx_evaluator_run(e));
    CHECK_VALUES(e, "y", 11, 22);
  }
  rlx_tensor n;
  CHECK_OK(rlx_evaluator_get(e, "n", &n));
  CHECK(n.dtype == RLX_BOOL && ((uint8_t *)n.data)[0] == 1 && ((uint8_t *)n.data)[1] == 0);
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2), 3, 4)));
  CHECK_VALUES(e, "y", 11, 22); /* unchanged until the next run */
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "y", 13, 24);
  rlx_evaluator_destroy(e);
}

TEST(inputs_and_constants_may_be_outputs) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(
    "graph { %x = input \"x\" : f32[2]; %c = constant : f32[] = [3]; output \"x\" = %x; output \"same\" = %x; "
    "output \"c\" = %c }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2), 1, 2)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "x", 1, 2);
  CHECK_VALUES(e, "same", 1, 2);
  CHECK_VALUES(e, "c", 3);
  rlx_evaluator_destroy(e);
  CHECK_OK(evaluator_of_text("graph { %c = constant : f32[2] = [3, 4]; %d = add(%c, %c); output \"d\" = %d }", &e));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "d", 6, 8);
  rlx_evaluator_destroy(e);
}

/* An empty result is computed at once, however long its other axes are. */
TEST(empty_values_are_values) {
  rlx_evaluator *e;
  rlx_tensor y;
  CHECK_OK(evaluator_of_text(
    "graph { %x = input \"x\" : f32[1000000000000,0,3]; %y = softmax(%x) {axis=1}; output \"y\" = %y\n"
    "%z = input \"z\" : f32[0,3]; %s = reduce_sum(%z) {axes=[0]}; output \"s\" = %s }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(1000000000000, 0, 3), {NULL}, 0}));
  CHECK_OK(rlx_evaluator_set(e, "z", &(rlx_tensor){RLX_F32, RLX_DIMS(0, 3), {NULL}, 0}));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_OK(rlx_evaluator_get(e, "y", &y));
  CHECK(y.bytes == 0 && y.shape.v[0] == 1000000000000);
  CHECK_VALUES(e, "s", 0, 0, 0);
  rlx_evaluator_destroy(e);
}

TEST(only_what_is_needed_runs) {
  rlx_evaluator *e;
  CHECK_OK(
    evaluator_of_text("graph { %x = input \"x\" : f32[1]; %a = custom(%x) {name=\"test.count\"}; %dead = custom(%a) "
                      "{name=\"test.fail\"}\n"
                      "%b = add(%a, %a); output \"y\" = %b }",
                      &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 2)));
  n_calls = 0;
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_EQ_INT(n_calls, 1);
  CHECK_VALUES(e, "y", 4);
  rlx_evaluator_destroy(e);
}

TEST(a_chain_a_million_deep_runs) {
  enum { NODES = 1000000 };
  rlx_graph *g;
  rlx_evaluator *e;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node last = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1));
  for (int i = 1; i < NODES; i++) last = rlx_op_neg(g, last);
  rlx_graph_add_output(g, "y", last);
  CHECK_OK(evaluator_of(g, &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 7)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "y", -7);
  rlx_evaluator_destroy(e);
}

/* ---- states ---- */

/* A ring of three rows: each run writes x at `at` and outputs the state before and after. */
static const char ring[] = "graph { %s = state \"s\" : f32[3]; %x = input \"x\" : f32[1]; %at = input \"at\" : i32[]\n"
                           "%u = update(%s, %x, %at); %before = neg(%s); %sum = reduce_sum(%u)\n"
                           "output \"before\" = %before; output \"sum\" = %sum }";

static rlx_status run_ring(rlx_evaluator *e, float x, int32_t at) {
  RLX_TRY(rlx_evaluator_set(e, "x", VALUE(RLX_F32, RLX_DIMS(1), (const float[]){x})));
  RLX_TRY(rlx_evaluator_set(e, "at", VALUE(RLX_I32, RLX_SCALAR, (const int32_t[]){at})));
  return rlx_evaluator_run(e);
}

TEST(states_live_from_run_to_run) {
  rlx_evaluator *e, *other;
  rlx_graph *g;
  CHECK_OK(rlx_graph_parse(ring, sizeof ring - 1, &g));
  CHECK_OK(rlx_evaluator_create(g, &e));
  CHECK_OK(rlx_evaluator_create(g, &other));
  rlx_graph_destroy(g); /* both retain it */
  CHECK_OK(run_ring(e, 5, 1));
  CHECK_VALUES(e, "s", 0, 5, 0);
  CHECK_VALUES(e, "before", -0.0f, -0.0f, -0.0f);
  CHECK_VALUES(e, "sum", 5);
  CHECK_OK(run_ring(e, 7, 2));
  CHECK_VALUES(e, "s", 0, 5, 7);
  CHECK_VALUES(e, "before", 0, -5, 0);
  CHECK_VALUES(e, "sum", 12);
  CHECK_OK(rlx_evaluator_set(e, "s", F32(RLX_DIMS(3), 1, 1, 1)));
  CHECK_VALUES(e, "s", 1, 1, 1);
  CHECK_OK(run_ring(e, 4, 0));
  CHECK_VALUES(e, "s", 4, 1, 1);
  CHECK_OK(run_ring(other, 9, 0)); /* each evaluator has its own states */
  CHECK_VALUES(other, "s", 9, 0, 0);
  rlx_evaluator_destroy(e);
  rlx_evaluator_destroy(other);
}

TEST(updates_follow_their_chain) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(
    "graph { %s = state \"s\" : f32[3]; %x = input \"x\" : f32[1]; %i = constant : i32[] = [0]; %k = constant : "
    "i32[] = [2]\n"
    "%a = update(%s, %x, %i); %twice = add(%x, %x); %b = update(%a, %twice, %k); %old = add(%a, %s); output "
    "\"old\" = %old }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 1)));
  CHECK_OK(rlx_evaluator_run(e)); /* b feeds no output and runs nevertheless */
  CHECK_VALUES(e, "s", 1, 0, 2);
  CHECK_VALUES(e, "old", 1, 0, 0);
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "old", 2, 0, 4);
  rlx_evaluator_destroy(e);
}

TEST(a_run_that_fails_changes_nothing) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(ring, &e));
  CHECK_OK(run_ring(e, 5, 1));
  CHECK_FAILS(run_ring(e, 6, 3), RLX_INVALID, "(update)");
  CHECK_FAILS(run_ring(e, 6, -1), RLX_INVALID, "(update)");
  CHECK_VALUES(e, "s", 0, 5, 0);
  CHECK_VALUES(e, "sum", 5);
  rlx_evaluator_destroy(e);
  CHECK_OK(evaluator_of_text(
    "graph { %s = state \"s\" : f32[1]; %x = input \"x\" : f32[1]; %i = constant : i32[] = [0]; %u = update(%s, "
    "%x, %i)\n"
    "%f = custom(%u) {name=\"test.fail\"}; output \"y\" = %f }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "s", F32(RLX_DIMS(1), 3)));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 4)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_UNSUPPORTED, "node 5 (custom)");
  CHECK(strstr(rlx_message(), "as it must"));
  CHECK_VALUES(e, "s", 3);
  rlx_evaluator_destroy(e);
}

/* ---- draws ---- */

TEST(each_run_draws_anew) {
  static const char text[] =
    "graph { %i = input \"i\" : i32[1]; %t = constant : f32[2] = [1, 2]; %r = rng_uniform() {shape=[4], seed=3}\n"
    "%q = rng_uniform() {shape=[4], seed=3}; %g = gather(%t, %i); output \"r\" = %r; output \"q\" = %q; output "
    "\"g\" = %g }";
  rlx_evaluator *e, *again;
  float first[4], second[4];
  CHECK_OK(evaluator_of_text(text, &e));
  CHECK_OK(evaluator_of_text(text, &again));
  CHECK_OK(rlx_evaluator_set(e, "i", I32(RLX_DIMS(1), 0)));
  CHECK_OK(rlx_evaluator_run(e));
  for (size_t i = 0; i < 4; i++) first[i] = element(e, "r", i);
  for (size_t i = 0; i < 4; i++) CHECK(element(e, "q", i) == first[i]); /* same seed and run: the same numbers */
  CHECK_OK(rlx_evaluator_set(e, "i", I32(RLX_DIMS(1), 2)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "(gather)"); /* a failed run does not advance the draw */
  CHECK_OK(rlx_evaluator_set(e, "i", I32(RLX_DIMS(1), 1)));
  CHECK_OK(rlx_evaluator_run(e));
  for (size_t i = 0; i < 4; i++) second[i] = element(e, "r", i);
  CHECK(memcmp(first, second, sizeof first) != 0);
  CHECK_OK(rlx_evaluator_set(again, "i", I32(RLX_DIMS(1), 0)));
  CHECK_OK(rlx_evaluator_run(again));
  for (size_t i = 0; i < 4; i++) CHECK(element(again, "r", i) == first[i]);
  CHECK_OK(rlx_evaluator_run(again));
  for (size_t i = 0; i < 4; i++) CHECK(element(again, "r", i) == second[i]);
  rlx_evaluator_destroy(e);
  rlx_evaluator_destroy(again);
}

/* ---- symbols ---- */

TEST(symbols_come_from_the_inputs) {
  rlx_evaluator *e;
  rlx_tensor y;
  CHECK_OK(
    evaluator_of_text("graph { symbols B, S; %x = input \"x\" : f32[B,S]; %v = input \"v\" : f32[S]; %m = mul(%x, %v)\n"
                      "%y = reduce_sum(%m) {axes=[1]} : f32[B]; output \"y\" = %y }",
                      &e));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "symbol 'B' is not bound");
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2, 3), 1, 2, 3, 4, 5, 6)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "input 'v' is not set");
  CHECK_OK(rlx_evaluator_set(e, "v", F32(RLX_DIMS(2), 1, 1)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "'v': axis 0 is 2 but symbol 'S' is already 3");
  CHECK_OK(rlx_evaluator_set(e, "v", F32(RLX_DIMS(3), 1, 10, 100)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "y", 321, 654);
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1, 3), 1, 1, 1)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "y", 111);
  CHECK_OK(rlx_evaluator_set(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(0, 3), {NULL}, 0}));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_OK(rlx_evaluator_get(e, "y", &y));
  CHECK(y.bytes == 0 && y.shape.n == 1 && y.shape.v[0] == 0);
  CHECK_FAILS(rlx_evaluator_set(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(-1, 3), {NULL}, 0}), RLX_INVALID,
              "is negative");
  rlx_evaluator_destroy(e);
}

TEST(a_symbol_of_no_input_is_an_error) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text("graph { symbols N; %r = range() {count=[N]}; output \"r\" = %r }", &e));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "symbol 'N' is not bound");
  rlx_evaluator_destroy(e);
}

TEST(states_follow_the_symbols) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(
    "graph { symbols B; %s = state \"s\" : f32[B]; %x = input \"x\" : f32[B]; %i = constant : i32[] = [0]\n"
    "%n = add(%s, %x); %u = update(%s, %n, %i); output \"u\" = %u }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2), 1, 2)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "s", 2, 4);
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 1)));
  CHECK_OK(rlx_evaluator_run(e)); /* another size: the state is reset */
  CHECK_VALUES(e, "s", 1);
  CHECK_OK(rlx_evaluator_set(e, "s", F32(RLX_DIMS(2), 5, 5)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_INVALID, "symbol 'B' is already"); /* one that was set binds the symbol */
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2), 1, 2)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "s", 6, 7);
  rlx_evaluator_destroy(e);
}

/* ---- control flow ---- */

#define COUNTED "custom(%c) {name=\"test.count\"}"

TEST(only_the_branch_taken_runs) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(
    "graph { %p = input \"p\" : bool[]; %x = input \"x\" : f32[1]\n"
    "%y = if(%p, %x) {on_true=graph { %c = input \"c\" : f32[1]; %t = " COUNTED "; output \"t\" = %t },\n"
    "  on_false=graph { %c = input \"c\" : f32[1]; %n = neg(%c); output \"n\" = %n }}; output \"y\" = %y }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 3)));
  for (uint8_t p = 0; p < 2; p++) {
    n_calls = 0;
    CHECK_OK(rlx_evaluator_set(e, "p", VALUE(RLX_BOOL, RLX_SCALAR, (const uint8_t[]){p})));
    CHECK_OK(rlx_evaluator_run(e));
    CHECK_EQ_INT(n_calls, p);
    CHECK_VALUES(e, "y", p ? 3 : -3);
  }
  rlx_evaluator_destroy(e);
}

/* Carried: a count and a total. The third value is loop-invariant, and what depends only on it is computed once. */
static rlx_status make_loop(int64_t max_trips, bool through_text, rlx_evaluator **out) {
  rlx_graph *cond, *body, *g;
  *out = NULL;
  static const char cond_text[] =
    "graph { %i = input \"i\" : f32[]; %t = input \"t\" : f32[1]; %w = input \"w\" : f32[1]\n"
    "%n = constant : f32[] = [5]; %p = lt(%i, %n); output \"p\" = %p }";
  static const char body_text[] =
    "graph { %i = input \"i\" : f32[]; %t = input \"t\" : f32[1]; %c = input \"w\" : f32[1]\n"
    "%one = constant : f32[] = [1]; %next = add(%i, %one); %f = " COUNTED "; %ff = add(%f, %f); %sum = add(%t, %ff)\n"
    "output \"i\" = %next; output \"t\" = %sum }";
  RLX_TRY(rlx_graph_parse(cond_text, sizeof cond_text - 1, &cond));
  rlx_status s = rlx_graph_parse(body_text, sizeof body_text - 1, &body);
  if (!s) s = rlx_graph_create(&g);
  if (!s) {
    rlx_node xs[3] = {rlx_op_scalar(g, RLX_F32, 0), rlx_op_input(g, "t", RLX_F32, RLX_DIMS(1)),
                      rlx_op_input(g, "w", RLX_F32, RLX_DIMS(1))},
             outs[2];
    rlx_op_while(g, cond, body, 2, max_trips, xs, 3, outs, 2);
    rlx_graph_add_output(g, "i", outs[0]);
    rlx_graph_add_output(g, "t", outs[1]);
    s = through_text ? evaluator_of_printed(g, out) : evaluator_of(g, out);
  }
  rlx_graph_destroy(cond);
  rlx_graph_destroy(body);
  return s;
}

static void check_kept(bool through_text) {
  rlx_evaluator *e;
  CHECK_OK(make_loop(0, through_text, &e));
  CHECK_OK(rlx_evaluator_set(e, "t", F32(RLX_DIMS(1), 100)));
  for (int run = 1; run < 3; run++) { /* cached values last for one run of the loop */
    CHECK_OK(rlx_evaluator_set(e, "w", VALUE(RLX_F32, RLX_DIMS(1), (const float[]){(float)run})));
    n_calls = 0;
    CHECK_OK(rlx_evaluator_run(e));
    CHECK_EQ_INT(n_calls, 1); /* five iterations, and two nodes that share them */
    CHECK_VALUES(e, "i", 5);
    CHECK_VALUES(e, "t", 100 + 5 * 2 * (float)run);
  }
  rlx_evaluator_destroy(e);
}

TEST(a_loop_computes_once_what_stays) {
  check_kept(false);
  check_kept(true);
}

TEST(a_loop_stops_at_its_bound) {
  rlx_evaluator *e;
  CHECK_OK(make_loop(2, false, &e));
  CHECK_OK(rlx_evaluator_set(e, "t", F32(RLX_DIMS(1), 0)));
  CHECK_OK(rlx_evaluator_set(e, "w", F32(RLX_DIMS(1), 1)));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_VALUES(e, "i", 2);
  CHECK_VALUES(e, "t", 4);
  rlx_evaluator_destroy(e);
}

TEST(a_scan_walks_and_carries) {
  rlx_evaluator *e;
  for (int reverse = 0; reverse < 2; reverse++) {
    rlx_graph *body, *g;
    CHECK_OK(rlx_graph_create(&body));
    rlx_node total = rlx_op_input(body, "total", RLX_F32, RLX_SCALAR), x = rlx_op_input(body, "x", RLX_F32, RLX_SCALAR);
    rlx_node c = rlx_op_input(body, "c", RLX_F32, RLX_SCALAR), kept = rlx_op_custom(body, "test.count", NULL, &c, 1);
    rlx_node next = rlx_op_add(body, total, x), varying = rlx_op_custom(body, "test.count", NULL, &next, 1);
    rlx_graph_add_output(body, "next", next);
    rlx_graph_add_output(body, "y", rlx_op_mul(body, varying, kept));
    CHECK_OK(rlx_graph_finish(body));
    CHECK_OK(rlx_graph_create(&g));
    rlx_node outs[2], xs[3] = {rlx_op_input(g, "start", RLX_F32, RLX_SCALAR),
                               rlx_op_input(g, "x", RLX_F32, RLX_DIMS(3)), rlx_op_input(g, "c", RLX_F32, RLX_SCALAR)};
    rlx_op_scan(g, body, 1, 1, reverse, xs, 3, outs, 2);
    rlx_graph_destroy(body);
    rlx_graph_add_output(g, "total", outs[0]);
    rlx_graph_add_output(g, "y", outs[1]);
    CHECK_OK(evaluator_of(g, &e));
    CHECK_OK(rlx_evaluator_set(e, "start", F32(RLX_SCALAR, 10)));
    CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(3), 1, 2, 3)));
    CHECK_OK(rlx_evaluator_set(e, "c", F32(RLX_SCALAR, -1)));
    n_calls = 0;
    CHECK_OK(rlx_evaluator_run(e));
    CHECK_EQ_INT(n_calls, 3 + 1);
    CHECK_VALUES(e, "total", 16);
    if (reverse) CHECK_VALUES(e, "y", -16, -15, -13);
    else CHECK_VALUES(e, "y", -11, -13, -16);
    rlx_evaluator_destroy(e);
  }
}

TEST(a_failure_in_a_body_says_where) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(
    "graph { %x = input \"x\" : f32[2,1]; %y = scan(%x) {body=graph { %c = input \"c\" : f32[1]; %f = "
    "custom(%c) {name=\"test.fail\"}\n"
    "output \"f\" = %f }}; output \"y\" = %y }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_DIMS(2, 1), 1, 2)));
  CHECK_FAILS(rlx_evaluator_run(e), RLX_UNSUPPORTED, "node 2 (scan): trip 0: node 2 (custom)");
  rlx_evaluator_destroy(e);
}

/* ---- cancelling ---- */

typedef struct cancel_after {
  int asked, at;
} cancel_after;

static bool ask(void *user) {
  cancel_after *c = user;
  return c->asked++ >= c->at;
}

TEST(a_run_can_be_stopped_at_any_node) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(ring, &e));
  CHECK_OK(run_ring(e, 5, 1));
  cancel_after c = {.at = 1000};
  rlx_evaluator_set_cancel(e, ask, &c);
  CHECK_OK(run_ring(e, 6, 1));
  int n = c.asked;
  CHECK(n >= 3); /* at least once per node that computes */
  for (int at = 0; at < n; at++) {
    c = (cancel_after){.at = at};
    CHECK_FAILS(run_ring(e, 9, 0), RLX_CANCELLED, "stopped by the caller");
    CHECK_VALUES(e, "s", 0, 6, 0);
    CHECK_VALUES(e, "sum", 6);
  }
  rlx_evaluator_set_cancel(e, NULL, NULL);
  CHECK_OK(run_ring(e, 9, 0));
  CHECK_VALUES(e, "s", 9, 6, 0);
  rlx_evaluator_destroy(e);
}

TEST(an_endless_loop_can_be_stopped) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(
    "graph { %x = input \"x\" : f32[]; %y = while(%x) {cond=graph { %i = input \"i\" : f32[]; %t = constant : "
    "bool[] = [1]; output \"t\" = %t },\n"
    "  body=graph { %i = input \"i\" : f32[]; output \"i\" = %i }}; output \"y\" = %y }",
    &e));
  CHECK_OK(rlx_evaluator_set(e, "x", F32(RLX_SCALAR, 1)));
  cancel_after c = {.at = 10000};
  rlx_evaluator_set_cancel(e, ask, &c);
  CHECK_FAILS(rlx_evaluator_run(e), RLX_CANCELLED, "stopped by the caller");
  rlx_evaluator_destroy(e);
}

/* ---- out of memory ---- */

static rlx_status run_ring_twice(void *user) {
  (void)user;
  rlx_evaluator *e;
  rlx_tensor s;
  RLX_TRY(evaluator_of_text(ring, &e));
  rlx_status status = run_ring(e, 5, 1);
  if (!status) status = run_ring(e, 5, 2);
  if (!status) status = rlx_evaluator_get(e, "s", &s);
  rlx_evaluator_destroy(e);
  return status;
}

static rlx_status run_loop(void *user) {
  (void)user;
  rlx_evaluator *e;
  RLX_TRY(make_loop(3, false, &e));
  rlx_status s = rlx_evaluator_set(e, "t", F32(RLX_DIMS(1), 0));
  if (!s) s = rlx_evaluator_set(e, "w", F32(RLX_DIMS(1), 1));
  if (!s) s = rlx_evaluator_run(e);
  rlx_evaluator_destroy(e);
  return s;
}

static rlx_status run_template(void *user) {
  (void)user;
  rlx_evaluator *e;
  RLX_TRY(evaluator_of_text(
    "graph { symbols B; %s = state \"s\" : f32[B]; %x = input \"x\" : f32[B]; %i = constant : i32[] = [0]; %u = "
    "update(%s, %x, %i)\n"
    "%y = scan(%u) {body=graph { %r = input \"r\" : f32[]; %n = neg(%r); output \"n\" = %n }}; output \"y\" = %y }",
    &e));
  rlx_status s = rlx_evaluator_set(e, "x", F32(RLX_DIMS(2), 1, 2));
  if (!s) s = rlx_evaluator_run(e);
  if (!s) s = rlx_evaluator_set(e, "x", F32(RLX_DIMS(1), 1));
  if (!s) s = rlx_evaluator_run(e);
  rlx_evaluator_destroy(e);
  return s;
}

TEST(evaluation_survives_failing_allocations) {
  CHECK_OK(alloc_sweep(run_ring_twice, NULL));
  CHECK_OK(alloc_sweep(run_loop, NULL));
  CHECK_OK(alloc_sweep(run_template, NULL));
}

/* A run that runs out of memory changes nothing. */
TEST(states_survive_a_run_without_memory) {
  rlx_evaluator *e;
  CHECK_OK(evaluator_of_text(ring, &e));
  CHECK_OK(run_ring(e, 5, 1));
  size_t failures = 0;
  for (size_t at = 1;; at++) {
    alloc_sweep_point point = {.fail_at = at};
    rlx_mem_set_hook(alloc_sweep_hook, &point);
    rlx_status s = rlx_evaluator_run(e);
    rlx_mem_set_hook(NULL, NULL);
    if (s == RLX_OK) break;
    CHECK_EQ_INT(s, RLX_NO_MEMORY);
    CHECK_VALUES(e, "s", 0, 5, 0);
    CHECK_VALUES(e, "sum", 5);
    failures++;
  }
  CHECK(failures > 5);
  rlx_evaluator_destroy(e);
}
