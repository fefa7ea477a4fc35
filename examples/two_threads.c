/* Two threads share one set of weights: each has its own executable, a clone, with its own scratch memory. */
#include <math.h>
#include <pthread.h>
#include <rlx/rlx.h>
#include <stdio.h>

enum { WIDTH = 256, BATCH = 8, RUNS = 50 };

typedef struct worker {
  rlx_executable *program;
  float x[BATCH][WIDTH], y[BATCH][WIDTH];
  rlx_status status;
  char message[256];
} worker;

/* The message of a failure is thread-local, so it is copied in the thread. */
static void *work(void *argument) {
  worker *w = argument;
  for (int i = 0; i < RUNS && !w->status; i++) w->status = rlx_executable_run(w->program);
  if (w->status) snprintf(w->message, sizeof w->message, "%s", rlx_message());
  return NULL;
}

static void build(rlx_graph *g) {
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(BATCH, WIDTH));
  for (int i = 0; i < 4; i++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", i);
    x = rlx_op_tanh(g, rlx_op_matmul(g, x, rlx_op_param(g, name, RLX_F32, RLX_DIMS(WIDTH, WIDTH))));
  }
  rlx_graph_add_output(g, "y", x);
}

static rlx_status load(rlx_executable *program) {
  static float w[WIDTH * WIDTH];
  rlx_status s = RLX_OK;
  for (int i = 0; i < 4 && !s; i++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", i);
    for (int k = 0; k < WIDTH * WIDTH; k++) w[k] = 0.1f * sinf((float)(k * (i + 1)));
    s = rlx_executable_write(program, name, &(rlx_tensor){RLX_F32, RLX_DIMS(WIDTH, WIDTH), {w}, sizeof w});
  }
  return s;
}

static rlx_status bind(worker *w) {
  for (int i = 0; i < BATCH * WIDTH; i++) w->x[i / WIDTH][i % WIDTH] = cosf((float)i);
  rlx_status s = rlx_executable_bind_input(w->program, "x", w->x, sizeof w->x);
  return s ? s : rlx_executable_bind_output(w->program, "y", w->y, sizeof w->y);
}

int main(void) {
  static worker workers[2];
  pthread_t threads[2];
  rlx_graph *g = NULL;
  rlx_session *session = NULL;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1};
  rlx_status s = rlx_graph_create(&g);
  build(g);
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = rlx_session_create(&desc, &session);
  if (!s) s = rlx_compile(session, g, NULL, &workers[0].program);
  if (!s) s = load(workers[0].program);
  if (!s) s = rlx_executable_clone(workers[0].program, &workers[1].program);
  for (int i = 0; i < 2 && !s; i++) s = bind(&workers[i]);
  if (s) printf("%s: %s\n", rlx_status_name(s), rlx_message());
  int started = 0;
  while (!s && started < 2 && pthread_create(&threads[started], NULL, work, &workers[started]) == 0) started++;
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < started; i++) {
    if (workers[i].status) printf("thread %d: %s\n", i, workers[i].message), s = workers[i].status;
    else printf("thread %d: %d runs, y[0] = %.6f\n", i, RUNS, (double)workers[i].y[0][0]);
  }
  for (int i = 0; i < 2; i++) rlx_executable_destroy(workers[i].program);
  rlx_session_destroy(session);
  rlx_graph_destroy(g);
  return s != RLX_OK || started < 2;
}
