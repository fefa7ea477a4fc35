/* What not waiting is worth: runs waited for one by one, runs in flight on clones (rlx_run_async), and two sessions of one
 * device in two threads beside one; and how long a run takes while another session has longer ones in flight. Prints runs per
 * second and the ratios.
 *
 *   bench/async [DEVICE] [WIDTH]     default: cpu 512 */
#include <pthread.h>
#include <rlx/rlx.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CLONES = 4, ROUNDS = 5 };
static const double seconds_each = 0.4;

typedef struct lane {
  rlx_session *session;
  rlx_executable *e[CLONES];
  float *x, *y[CLONES];
  int64_t width;
  double per_second;
} lane;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(rlx_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "async: %s: %s\n", what, rlx_message());
  exit(1);
}

/* Four products with a square matrix, so that a run is some tens of microseconds of a GPU. */
static void open_lane(lane *l, const char *device, int64_t width) {
  rlx_graph *g;
  const size_t n = (size_t)(width * width);
  float *w = calloc(n, sizeof *w);
  *l = (lane){.width = width, .x = calloc((size_t)width, sizeof *l->x)};
  if (!w || !l->x) must(RLX_NO_MEMORY, "memory");
  for (size_t i = 0; i < n; i++) w[i] = 1.0f / (float)(1 + (i * 7919) % 1009) - 0.004f;
  for (int64_t i = 0; i < width; i++) l->x[i] = (float)(i % 13) - 6;
  must(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1}, &l->session),
       "a session");
  must(rlx_graph_create(&g), "a graph");
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, width)),
           m = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(width, width));
  for (int i = 0; i < 4; i++) x = rlx_op_tanh(g, rlx_op_matmul(g, x, m));
  rlx_graph_add_output(g, "y", x);
  must(rlx_graph_finish(g), "the graph");
  must(rlx_compile(l->session, g, NULL, &l->e[0]), "compiling");
  rlx_graph_destroy(g);
  must(rlx_executable_write(l->e[0], "w", &(rlx_tensor){RLX_F32, RLX_DIMS(width, width), {w}, n * sizeof *w}),
       "the weight");
  for (int i = 1; i < CLONES; i++) must(rlx_executable_clone(l->e[0], &l->e[i]), "a clone");
  for (int i = 0; i < CLONES; i++) l->y[i] = calloc((size_t)width, sizeof(float));
  free(w);
}

static void close_lane(lane *l) {
  for (int i = 0; i < CLONES; i++) {
    rlx_executable_destroy(l->e[i]);
    free(l->y[i]);
  }
  free(l->x);
  rlx_session_destroy(l->session);
}

static rlx_named_tensor input(const lane *l) {
  return (rlx_named_tensor){"x", {RLX_F32, RLX_DIMS(1, l->width), {l->x}, (size_t)l->width * sizeof(float)}};
}

static rlx_named_tensor output(const lane *l, int i) {
  return (rlx_named_tensor){"y", {.data = l->y[i], .bytes = (size_t)l->width * sizeof(float)}};
}

static void *run_waiting(void *user) {
  lane *l = user;
  long n = 0;
  const double begin = now();
  for (; now() - begin < seconds_each; n++) {
    rlx_named_tensor in = input(l), out = output(l, (int)(n % CLONES));
    must(rlx_run(l->e[n % CLONES], &in, 1, &out, 1), "a run");
  }
  l->per_second = (double)n / (now() - begin);
  return NULL;
}

static double run_in_flight(lane *l) {
  rlx_completion *c[CLONES] = {NULL};
  long n = 0;
  const double begin = now();
  for (; now() - begin < seconds_each; n++) {
    const int i = (int)(n % CLONES);
    rlx_named_tensor in = input(l), out = output(l, i);
    if (c[i]) must(rlx_completion_wait(c[i]), "a run");
    rlx_completion_destroy(c[i]);
    must(rlx_run_async(l->e[i], &in, 1, &out, 1, NULL, &c[i]), "submitting");
  }
  for (int i = 0; i < CLONES; i++) rlx_completion_destroy(c[i]);
  return (double)n / (now() - begin);
}

static double run_two(lane *l) {
  pthread_t other;
  if (pthread_create(&other, NULL, run_waiting, &l[1])) must(RLX_NO_MEMORY, "a thread");
  run_waiting(&l[0]);
  pthread_join(other, NULL);
  return l[0].per_second + l[1].per_second;
}

/* The time of a short run of one session while another has long ones in flight. */
typedef struct background {
  lane *l;
  atomic_bool stops;
} background;

static void *run_long(void *user) {
  background *b = user;
  lane *l = b->l;
  const size_t all = 32 * (size_t)l->width * sizeof(float);
  float *y = malloc(all);
  if (!y) must(RLX_NO_MEMORY, "memory");
  while (!atomic_load(&b->stops)) {
    rlx_named_tensor out = {"y", {.data = y, .bytes = all}};
    must(rlx_executable_repeat(l->e[0], 32, &out, 1), "long runs");
  }
  free(y);
  return NULL;
}

static double beside_long(lane *quick, lane *slow) {
  background b = {.l = slow};
  pthread_t other;
  rlx_named_tensor in = input(slow), out = output(slow, 0);
  must(rlx_run(slow->e[0], &in, 1, &out, 1), "a run");
  if (pthread_create(&other, NULL, run_long, &b)) must(RLX_NO_MEMORY, "a thread");
  run_waiting(quick);
  atomic_store(&b.stops, true);
  pthread_join(other, NULL);
  return quick->per_second;
}

int main(int argc, char **argv) {
  const char *device = argc > 1 ? argv[1] : "cpu";
  const int64_t width = argc > 2 ? atoll(argv[2]) : 512;
  lane l[2], slow;
  double waiting = 0, flight = 0, two = 0;
  for (int i = 0; i < 2; i++) open_lane(&l[i], device, width);
  open_lane(&slow, device, 8 * width);
  for (int r = 0; r < ROUNDS; r++) { /* in turn, the best of each */
    run_waiting(&l[0]);
    if (l[0].per_second > waiting) waiting = l[0].per_second;
    double f = run_in_flight(&l[0]), t = run_two(l);
    if (f > flight) flight = f;
    if (t > two) two = t;
  }
  printf("%s, width %lld: waited for %.0f/s; in flight %.0f/s, %.2f times; two sessions %.0f/s, %.2f times\n", device,
         (long long)width, waiting, flight, flight / waiting, two, two / waiting);
  const double alone = 1e6 / waiting, beside = 1e6 / beside_long(&l[0], &slow);
  printf("%s, width %lld: a run takes %.0f us, and %.0f us beside another session's runs of width %lld\n", device,
         (long long)width, alone, beside, (long long)(8 * width));
  close_lane(&slow);
  for (int i = 0; i < 2; i++) close_lane(&l[i]);
  return 0;
}
