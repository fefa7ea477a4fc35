/* Runs that are not waited for: the program goes on with its own work and polls, and a callback counts what is done. */
#include <math.h>
#include <rlx/rlx.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WIDTH = 256, RUNS = 4 };

static void count(void *user, rlx_status status) {
  atomic_int *n_good = user;
  if (!status) atomic_fetch_add(n_good, 1);
}

/* Four layers that square a row of numbers and normalise it. */
static rlx_status compile(rlx_session *session, rlx_executable **out) {
  rlx_graph *g;
  rlx_status s = rlx_graph_create(&g);
  if (s) return s;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(WIDTH));
  for (int i = 0; i < 4; i++) x = rlx_op_softmax(g, rlx_op_mul(g, x, x), 0);
  rlx_graph_add_output(g, "y", x);
  s = rlx_graph_finish(g);
  if (!s) s = rlx_compile(session, g, NULL, out);
  rlx_graph_destroy(g);
  return s;
}

int main(void) {
  static float x[WIDTH], y[RUNS][WIDTH];
  rlx_session *session = NULL;
  rlx_executable *program[RUNS] = {NULL};
  rlx_completion *run[RUNS] = {NULL};
  atomic_int n_good = 0;
  const rlx_async_options options = {RLX_ASYNC_OPTIONS_INIT, .done = count, .user = &n_good};
  rlx_status s = rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session);
  if (!s) s = compile(session, &program[0]);
  for (int i = 1; i < RUNS && !s; i++)
    s = rlx_executable_clone(program[0], &program[i]); /* each has one run in flight */
  for (int i = 0; i < RUNS && !s; i++) {
    for (int k = 0; k < WIDTH; k++) x[k] = sinf((float)(k * (i + 1)));
    rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(WIDTH), {x}, sizeof x}},
                     out = {"y", {.data = y[i], .bytes = sizeof y[i]}};
    s = rlx_run_async(program[i], &in, 1, &out, 1, &options, &run[i]); /* x may be used again now, y[i] not yet */
  }
  long idle = 0; /* what a program does meanwhile: draw a frame, answer a request */
  while (!s && !rlx_completion_is_done(run[RUNS - 1])) idle++;
  for (int i = 0; i < RUNS && !s; i++) s = rlx_completion_wait(run[i]);
  if (s) printf("%s: %s\n", rlx_status_name(s), rlx_message());
  for (int i = 0; i < RUNS; i++) rlx_completion_destroy(run[i]); /* after it the callback has returned, too */
  if (!s) printf("%d of %d runs are done; y[0][0] is %.6f\n", atomic_load(&n_good), RUNS, (double)y[0][0]);
  for (int i = 0; i < RUNS; i++) rlx_executable_destroy(program[i]);
  rlx_session_destroy(session);
  return s ? 1 : 0;
}
