/* Custom ops: registration, what callbacks receive, and what happens when they misbehave. */
#include <pthread.h>

#include "faults.h"
#include "ir/graph.h"
#include "test.h"

/* "t.join": concatenates its f32 vectors and multiplies by the number of characters of its config. */
typedef struct join_log {
  int shape_calls, kernel_calls;
} join_log;

static rlx_status join_shape(rlx_custom_call *call) {
  ((join_log *)call->user)->shape_calls++;
  int64_t total = 0;
  for (size_t i = 0; i < call->n_inputs; i++) {
    const rlx_tensor *x = call->inputs[i];
    if (x->dtype != RLX_F32 || x->shape.n != 1) {
      snprintf(call->message, sizeof call->message, "input %zu is not a vector of f32", i);
      return RLX_INVALID;
    }
    bool is_open = total < 0 || x->shape.v[0] < 0;
    total = is_open ? RLX_SIZE_UNKNOWN : total + x->shape.v[0];
    if (call->n_inputs == 1) total = x->shape.v[0];
  }
  call->output->dtype = RLX_F32;
  call->output->shape = RLX_DIMS(total);
  return RLX_OK;
}

static rlx_status join_kernel(rlx_custom_call *call) {
  ((join_log *)call->user)->kernel_calls++;
  float *to = call->output->data, scale = (float)strlen(call->config);
  for (size_t i = 0; i < call->n_inputs; i++)
    for (int64_t k = 0; k < call->inputs[i]->shape.v[0]; k++) *to++ = scale * ((const float *)call->inputs[i]->data)[k];
  return RLX_OK;
}

static rlx_custom_desc join_desc(join_log *log) {
  return (rlx_custom_desc){RLX_CUSTOM_DESC_INIT, .name = "t.join", .shape = join_shape, .kernel = join_kernel,
                           .user = log};
}

static rlx_status parse(const char *text, rlx_graph **out) { return rlx_graph_parse(text, strlen(text), out); }

#define JOIN_TEXT                                                                                                        \
  "graph { %a = input \"a\" : f32[2]; %b = input \"b\" : f32[3]; %y = custom(%a, %b) {name=\"t.join\", config=\"xx\"}; " \
  "output \"y\" = %y }"

static rlx_status set_floats(rlx_evaluator *e, const char *name, float *v, int64_t n) {
  return rlx_evaluator_set(
    e, name, &(rlx_tensor){.dtype = RLX_F32, .shape = RLX_DIMS(n), .data = v, .bytes = (size_t)n * sizeof *v});
}

static rlx_status run_join(rlx_graph *g, rlx_evaluator **e, rlx_tensor *y) {
  RLX_TRY(rlx_evaluator_create(g, e));
  RLX_TRY(set_floats(*e, "a", (float[]){1, 2}, 2));
  RLX_TRY(set_floats(*e, "b", (float[]){3, 4, 5}, 3));
  RLX_TRY(rlx_evaluator_run(*e));
  return rlx_evaluator_get(*e, "y", y);
}

TEST(registered_op_runs) {
  join_log log = {0};
  rlx_custom_desc desc = join_desc(&log);
  rlx_graph *g = NULL;
  rlx_evaluator *e = NULL;
  rlx_tensor y;
  CHECK_FAILS(parse(JOIN_TEXT, &g), RLX_NOT_FOUND, "'t.join'");
  CHECK_OK(rlx_custom_register(&desc));
  CHECK_FAILS(rlx_custom_register(&desc), RLX_INVALID, "'t.join' is registered already");
  CHECK_OK(parse(JOIN_TEXT, &g));
  CHECK(log.shape_calls >= 1 && log.kernel_calls == 0);
  CHECK_OK(run_join(g, &e, &y));
  CHECK_EQ_INT(y.shape.v[0], 5);
  for (int i = 0; i < 5; i++) CHECK(((float *)y.data)[i] == 2.0f * (float)(i + 1));
  CHECK_EQ_INT(log.kernel_calls, 1);
  /* A graph that outlives its op fails with the op's name, and works again when the op is registered again. */
  CHECK_OK(rlx_custom_unregister("t.join"));
  CHECK_FAILS(rlx_custom_unregister("t.join"), RLX_NOT_FOUND, "'t.join'");
  CHECK_FAILS(rlx_evaluator_run(e), RLX_NOT_FOUND, "'t.join'");
  CHECK_OK(rlx_custom_register(&desc));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_OK(rlx_custom_unregister("t.join"));
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
}

TEST(bad_registrations_are_refused) {
  join_log log;
  rlx_custom_desc good = join_desc(&log), bad = good;
  CHECK_FAILS(rlx_custom_register(NULL), RLX_INVALID, "desc is NULL");
  bad.struct_bytes = 9; /* no struct has that size */
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "struct_bytes is 9");
  bad.struct_bytes = sizeof bad.struct_bytes; /* a struct without fields: all others are zero */
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "the name is missing");
  bad = good;
  bad.name = NULL;
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "the name is missing");
  bad.name = "";
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "the name is missing");
  bad.name = "rlx.mine";
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "are reserved");
  char long_name[300];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[299] = 0;
  bad.name = long_name;
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "299 bytes");
  bad = good;
  bad.shape = NULL;
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "no shape rule");
  bad = good;
  bad.kernel = NULL;
  CHECK_FAILS(rlx_custom_register(&bad), RLX_INVALID, "no kernel");
  CHECK_FAILS(rlx_custom_unregister(NULL), RLX_INVALID, "the name is missing");
  CHECK_FAILS(rlx_custom_unregister("rlx.test.scale_add"), RLX_INVALID, "are reserved");
}

TEST(sizes_may_be_open) {
  join_log log = {0};
  rlx_custom_desc desc = join_desc(&log);
  rlx_graph *g = NULL, *bound = NULL;
  CHECK_OK(rlx_custom_register(&desc));
  CHECK_OK(parse("graph { %a = input \"a\" : f32[N]; %b = input \"b\" : f32[3]; %y = custom(%a, %b) {name=\"t.join\"}; "
                 "%z = custom(%a) {name=\"t.join\"}; output \"y\" = %y; output \"z\" = %z }",
                 &g));
  CHECK(rlx_node_shape(g, rlx_graph_output_at(g, 0, NULL)).v[0] == RLX_DIM_UNKNOWN);
  CHECK(rlx_dim_is_symbol(rlx_node_shape(g, rlx_graph_output_at(g, 1, NULL)).v[0]));
  CHECK_OK(rlx_graph_bind(g, &(rlx_binding){"N", 4}, 1, &bound));
  CHECK_EQ_INT(rlx_node_shape(bound, rlx_graph_output_at(bound, 0, NULL)).v[0], 7);
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
  CHECK_OK(rlx_custom_unregister("t.join"));
}

/* ---- callbacks that misbehave ---- */

/* The user pointer selects how. */
typedef struct misdeed {
  rlx_status shape, kernel;
  rlx_dtype dtype;
  rlx_dims dims;
  unsigned char fill;
} misdeed;

static rlx_status bad_shape(rlx_custom_call *call) {
  const misdeed *m = call->user;
  call->output->dtype = m->dtype;
  call->output->shape = m->dims;
  return m->shape;
}

static rlx_status bad_kernel(rlx_custom_call *call) {
  const misdeed *m = call->user;
  memset(call->output->data, m->fill, call->output->bytes);
  call->output->shape = RLX_DIMS(1, 2, 3); /* its own copy: ignored */
  call->output->data = NULL;
  return m->kernel;
}

static rlx_status commit(misdeed m) {
  rlx_custom_desc desc = {RLX_CUSTOM_DESC_INIT, .name = "t.bad", .shape = bad_shape, .kernel = bad_kernel, .user = &m};
  rlx_graph *g = NULL;
  rlx_evaluator *e = NULL;
  RLX_TRY(rlx_custom_register(&desc));
  rlx_status s = parse("graph { %y = custom() {name=\"t.bad\"}; output \"y\" = %y }", &g);
  if (!s) s = rlx_evaluator_create(g, &e);
  if (!s) s = rlx_evaluator_run(e);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  rlx_status end = rlx_custom_unregister("t.bad");
  return s ? s : end;
}

TEST(callbacks_that_fail_or_lie_are_reported) {
  CHECK_OK(commit((misdeed){.dims = RLX_DIMS(3)}));
  CHECK_FAILS(commit((misdeed){.shape = RLX_UNSUPPORTED}), RLX_UNSUPPORTED,
              "the shape rule of 't.bad' returned unsupported");
  CHECK_FAILS(commit((misdeed){.kernel = RLX_IO}), RLX_IO, "the kernel of 't.bad' returned io");
  CHECK_FAILS(commit((misdeed){.kernel = (rlx_status)77}), RLX_INVALID, "an unknown status");
  CHECK_FAILS(commit((misdeed){.dtype = RLX_Q4_0, .dims = RLX_DIMS(32)}), RLX_INVALID, "not an element type");
  CHECK_FAILS(commit((misdeed){.dtype = RLX_DTYPE_UNKNOWN}), RLX_INVALID, "not an element type");
  CHECK_FAILS(commit((misdeed){.dims = {.n = 9}}), RLX_INVALID, "rank 9");
  CHECK_FAILS(commit((misdeed){.dims = {.n = -1}}), RLX_INVALID, "rank -1");
  CHECK_FAILS(commit((misdeed){.dims = RLX_DIMS(-2)}), RLX_INVALID, "the size -2");
  CHECK_FAILS(commit((misdeed){.dims = RLX_DIMS(RLX_SIZE_UNKNOWN)}), RLX_INVALID, "gave axis 0 the size");
  CHECK(commit((misdeed){.dims = RLX_DIMS(INT64_MAX, INT64_MAX)}) == RLX_INVALID);
  CHECK_FAILS(commit((misdeed){.dtype = RLX_BOOL, .dims = RLX_DIMS(3), .fill = 2}), RLX_INVALID, "wrote 2 to a bool");
  join_log log = {0};
  rlx_custom_desc desc = join_desc(&log);
  rlx_graph *g;
  CHECK_OK(rlx_custom_register(&desc));
  CHECK_FAILS(parse("graph { %a = input \"a\" : i32[2]; %y = custom(%a) {name=\"t.join\"}; output \"y\" = %y }", &g),
              RLX_INVALID, "the shape rule of 't.join': input 0 is not a vector of f32");
  CHECK_OK(rlx_custom_unregister("t.join"));
  CHECK_FAILS(parse("graph { %y = custom(); output \"y\" = %y }", &g), RLX_INVALID, "needs the name");
}

/* ---- memory and threads ---- */

static rlx_status join_once(void *user) {
  rlx_custom_desc desc = join_desc(user);
  rlx_graph *g = NULL;
  rlx_evaluator *e = NULL;
  rlx_tensor y;
  RLX_TRY(rlx_custom_register(&desc));
  rlx_status s = parse(JOIN_TEXT, &g);
  if (!s) s = run_join(g, &e, &y);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  rlx_status end = rlx_custom_unregister("t.join");
  return s ? s : end;
}

TEST(every_allocation_may_fail) {
  join_log log = {0};
  CHECK_OK(alloc_sweep(join_once, &log));
}

static void *register_often(void *user) {
  const char *name = user;
  join_log log = {0};
  rlx_custom_desc desc = join_desc(&log);
  desc.name = name;
  for (int i = 0; i < 500; i++)
    if (rlx_custom_register(&desc) || rlx_custom_unregister(name)) return user;
  return NULL;
}

TEST(threads_may_register_at_once) {
  static char names[4][8] = {"t.a", "t.b", "t.c", "t.d"};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, register_often, names[i]) == 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    CHECK(failed == NULL);
  }
}
