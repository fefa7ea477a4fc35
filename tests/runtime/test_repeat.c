/* Many runs in one call (rlx_executable_repeat): on every device and device variant, the values of each run equal those
 * of as many single runs, whether the host waits between them or not. */
#include <pthread.h>
#include <stdlib.h>

#include "rules.h"
#include "run_check.h"
#include "test.h"

#define VALUE(data_, ...) \
  (&(rlx_tensor){.dtype = RLX_F32, .shape = RLX_DIMS(__VA_ARGS__), .data = (data_), .bytes = sizeof(data_)})

/* A test that runs once per device, in `s`. */
static const char no_fibers[] = "the thread sanitizer does not follow the emulated GPU's stacks";

#define DEVICE_TEST(name)                                                 \
  static void name##_in(rlx_session *s);                                  \
  static void name##_on(const char *device) {                             \
    rlx_session *s;                                                       \
    if (TEST_IS_TSAN && strncmp(device, "emu", 3) == 0) SKIP(no_fibers);  \
    OPEN_SESSION(device, 2, &s);                                          \
    name##_in(s);                                                         \
    rlx_session_destroy(s);                                               \
  }                                                                       \
  TEST(name##_on_null) { name##_on("null"); }                             \
  TEST(name##_on_cpu) { name##_on("cpu"); }                               \
  TEST(name##_on_emu_stream) { name##_on("emu:stream"); }                 \
  TEST(name##_on_emu_events) { name##_on("emu:events"); }                 \
  TEST(name##_on_cuda) { name##_on("cuda"); }                             \
  TEST(name##_on_webgpu) { name##_on("webgpu"); }                         \
  TEST(name##_on_webgpu_in_parts) { name##_on("webgpu:submit=1"); }       \
  TEST(name##_on_cuda_in_parts) { name##_on("cuda:submit=1"); }           \
  TEST(name##_on_vulkan) { name##_on("vulkan"); }                         \
  TEST(name##_on_vulkan_staging) { name##_on("vulkan:staging"); }         \
  TEST(name##_on_vulkan_minimal) { name##_on("vulkan:minimal,staging"); } \
  TEST(name##_in_parts) { name##_on("vulkan:staging,submit=1"); }         \
  static void name##_in(rlx_session *s)

static bool is_same(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes) == 0; }

static void read_f32(rlx_executable *e, const char *name, float *out, size_t bytes) {
  rlx_tensor t = {.dtype = RLX_F32, .data = out, .bytes = bytes};
  CHECK_OK(rlx_executable_read(e, name, &t));
  CHECK(t.bytes == bytes);
}

/* ---- compared with single runs ---- */

enum { WIDTH = 48, RUNS = 23 };

/* x is fed from y; s is fed from t, the sum of s and y; z has another size. */
static rlx_graph *round_graph(void) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return NULL;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(WIDTH)), s = rlx_op_state(g, "s", RLX_F32, RLX_DIMS(WIDTH));
  rlx_node b = rlx_op_input(g, "b", RLX_F32, RLX_DIMS(WIDTH));
  rlx_node y = rlx_op_softmax(g, rlx_op_add(g, rlx_op_mul(g, x, b), s), 0);
  rlx_graph_add_output(g, "y", y);
  rlx_graph_add_output(g, "t", rlx_op_add(g, s, y));
  rlx_graph_add_output(g, "z", rlx_op_reduce_max(g, y, RLX_DIMS(0), false));
  if (rlx_graph_finish(g) == RLX_OK) return g;
  rlx_graph_destroy(g);
  return NULL;
}

static void start_round(rlx_executable *e) {
  float x[WIDTH], b[WIDTH], zero[WIDTH] = {0};
  for (int i = 0; i < WIDTH; i++) {
    x[i] = (float)(i % 7);
    b[i] = (float)(i % 5) + 0.5f;
  }
  CHECK_OK(rlx_executable_feed(e, "y", "x"));
  CHECK_OK(rlx_executable_feed(e, "t", "s"));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, WIDTH)));
  CHECK_OK(rlx_executable_write(e, "b", VALUE(b, WIDTH)));
  CHECK_OK(rlx_executable_write(e, "s", VALUE(zero, WIDTH)));
}

static void check_round(rlx_executable *one, rlx_executable *many, uint32_t times) {
  float y[RUNS][WIDTH], z[RUNS];
  rlx_named_tensor out[] = {{"z", {.data = z, .bytes = sizeof z}}, {"y", {.data = y, .bytes = sizeof y}}};
  memset(y, 0xff, sizeof y);
  CHECK_OK(rlx_executable_repeat(many, times, out, 2));
  CHECK(out[0].tensor.shape.n == 0 && out[0].tensor.dtype == RLX_F32 && out[0].tensor.bytes == times * sizeof *z);
  CHECK(out[1].tensor.shape.n == 1 && out[1].tensor.shape.v[0] == WIDTH && out[1].tensor.bytes == times * sizeof *y);
  float a[WIDTH], b[WIDTH];
  for (uint32_t i = 0; i < times; i++) {
    CHECK_OK(rlx_executable_run(one));
    read_f32(one, "y", a, sizeof a);
    if (!is_same(a, y[i], sizeof a)) FAIL("run %u of %u: y differs", (unsigned)i, (unsigned)times);
    read_f32(one, "z", a, sizeof *a);
    CHECK(a[0] == z[i]);
  }
  static const char *const names[] = {"x", "s", "y", "t"}; /* all values are as expected afterwards */
  for (int k = 0; k < 4; k++) {
    read_f32(one, names[k], a, sizeof a);
    read_f32(many, names[k], b, sizeof b);
    if (!is_same(a, b, sizeof a)) FAIL("%s differs after %u runs", names[k], (unsigned)times);
  }
}

DEVICE_TEST(as_many_single_runs) {
  rlx_graph *g = round_graph();
  rlx_executable *one, *many;
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, NULL, &one));
  CHECK_OK(rlx_compile(s, g, NULL, &many));
  start_round(one);
  start_round(many);
  static const uint32_t times[] = {1, 2, RUNS, 3, 9};
  for (int k = 0; k < 5 && !test_has_failed(); k++) check_round(one, many, times[k]);
  if (test_has_failed()) return;
  start_round(many); /* all submitted runs are complete: values can be written again */
  start_round(one);
  check_round(one, many, 5);
  CHECK_OK(rlx_executable_repeat(many, 4, NULL, 0)); /* no outputs */
  for (int i = 0; i < 4; i++) CHECK_OK(rlx_executable_run(one));
  check_round(one, many, 2);
  rlx_executable_destroy(one);
  rlx_executable_destroy(many);
  rlx_graph_destroy(g);
}

DEVICE_TEST(feeds_that_cross_each_other) {
  rlx_graph *g;
  rlx_executable *e;
  float a[2] = {1, 10}, b[2] = {1, 10}, sums[10][2];
  CHECK_OK(rlx_graph_create(&g));
  rlx_node y = rlx_op_input(g, "b", RLX_F32, RLX_DIMS(2)), x = rlx_op_input(g, "a", RLX_F32, RLX_DIMS(2));
  rlx_graph_add_output(g, "sum", rlx_op_add(g, x, y));
  rlx_graph_add_output(g, "last", y);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_feed(e, "sum", "b"));
  CHECK_OK(rlx_executable_feed(e, "last", "a"));
  CHECK_OK(rlx_executable_write(e, "a", VALUE(a, 2)));
  CHECK_OK(rlx_executable_write(e, "b", VALUE(b, 2)));
  CHECK_OK(rlx_executable_repeat(e, 10, &(rlx_named_tensor){"sum", {.data = sums, .bytes = sizeof sums}}, 1));
  static const float want[10] = {2, 3, 5, 8, 13, 21, 34, 55, 89, 144};
  for (int i = 0; i < 10; i++) CHECK(sums[i][0] == want[i] && sums[i][1] == 10 * want[i]);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* Random ops that depend on the number of the run get another number in each run. */
DEVICE_TEST(every_run_has_its_number) {
  rlx_graph *g;
  rlx_executable *e;
  float all[12][5], one[5];
  CHECK_OK(rlx_graph_create(&g));
  rlx_graph_add_output(g, "y", rlx_op_rng_uniform(g, RLX_NONE, RLX_DIMS(5), RLX_F32, 3, 0, 1));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_repeat(e, 12, &(rlx_named_tensor){"y", {.data = all, .bytes = sizeof all}}, 1));
  for (uint32_t i = 0; i < 13; i++) {
    if (i < 12) CHECK_OK(rlx_executable_set_draw(e, i)); /* the 13th run continues where the 12th ended */
    CHECK_OK(rlx_executable_run(e));
    read_f32(e, "y", one, sizeof one);
    if (i < 12) CHECK(is_same(all[i], one, sizeof one));
    for (uint32_t k = 0; k < i && k < 12; k++) CHECK(!is_same(all[k], one, sizeof one));
  }
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* More outputs than the ring on the device holds: it is read in between. */
DEVICE_TEST(outputs_that_are_large) {
  enum { N = 1 << 20, TIMES = 9 };
  rlx_graph *g;
  rlx_executable *e;
  float *all = malloc(sizeof *all * TIMES * N), *x = malloc(sizeof *x * N);
  CHECK(all && x);
  for (int i = 0; i < N; i++) x[i] = (float)i;
  CHECK_OK(expr_graph("x: f32[1048576]", "add(%x, %x)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_feed(e, "y", "x"));
  CHECK_OK(rlx_executable_write(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(N), {x}, sizeof *x * N}));
  rlx_named_tensor out = {"y", {.data = all, .bytes = sizeof *all * TIMES * N}};
  CHECK_OK(rlx_executable_repeat(e, TIMES, &out, 1));
  for (int k = 0; k < TIMES; k++)
    for (int i = 0; i < N; i++) CHECK(all[(size_t)k * N + (size_t)i] == (float)i * (float)(2 << k));
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  free(all), free(x);
}

/* ---- with bound memory, open sizes and a watch ---- */

DEVICE_TEST(bound_memory) {
  rlx_graph *g;
  rlx_executable *e;
  float x[3] = {1, 2, 3}, y[3] = {0}, all[4][3];
  CHECK_OK(expr_graph("x: f32[3]; state s: f32[3]", "add(%x, %s)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_bind_input(e, "x", x, sizeof x));
  CHECK_OK(rlx_executable_bind_output(e, "y", y, sizeof y));
  CHECK_OK(rlx_executable_feed(e, "y", "s"));
  rlx_named_tensor out = {"y", {.data = all, .bytes = sizeof all}};
  CHECK_OK(rlx_executable_repeat(e, 4, &out, 1));
  for (int i = 0; i < 4; i++) CHECK(all[i][2] == 3 * (float)(i + 1));
  CHECK(y[0] == 4 && y[2] == 12);
  x[2] = 10; /* the next call reads the new value */
  CHECK_OK(rlx_executable_repeat(e, 4, &out, 1));
  CHECK(all[0][2] == 22 && y[2] == 52);
  x[2] = 0;
  CHECK_OK(rlx_executable_run(e));
  CHECK(y[2] == 52);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

DEVICE_TEST(sizes_that_inputs_decide) {
  rlx_graph *g;
  rlx_executable *e;
  float x[6] = {1, 2, 3, 4, 5, 6}, all[3][6];
  rlx_named_tensor out = {"y", {.data = all, .bytes = sizeof all}};
  CHECK_OK(expr_graph("x: f32[N,2]", "add(%x, %x)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_FAILS(rlx_executable_repeat(e, 3, &out, 1), RLX_INVALID, "symbol 'N'");
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 3, 2)));
  CHECK_OK(rlx_executable_repeat(e, 3, &out, 1));
  CHECK(out.tensor.shape.v[0] == 3 && all[0][5] == 12 && all[2][5] == 12);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

typedef struct watcher {
  int asked, max, reported;
} watcher;
static bool ask(void *user) {
  watcher *w = user;
  return ++w->asked > w->max;
}
static void report(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)done, (void)total;
  if (strcmp(phase, "run") == 0) ((watcher *)user)->reported++;
}
static void see(void *user, rlx_node node, const rlx_tensor *value) {
  (void)node, (void)value;
  ++*(int *)user;
}

DEVICE_TEST(with_someone_who_watches) {
  rlx_graph *g = round_graph();
  rlx_executable *one, *many;
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, NULL, &one));
  CHECK_OK(rlx_compile(s, g, NULL, &many));
  start_round(one);
  start_round(many);
  watcher w = {.max = 1000};
  rlx_executable_set_watch(many, &(rlx_watch){.cancel = ask, .progress = report, .user = &w});
  check_round(one, many, 6);
  CHECK(w.asked >= 6 && w.reported >= 6);
  w.max = w.asked + w.asked / 2; /* in the middle of the next call */
  CHECK_FAILS(rlx_executable_repeat(many, 6, NULL, 0), RLX_CANCELLED, " of 6: ");
  rlx_executable_set_watch(many, NULL);
  start_round(many);
  start_round(one);
  check_round(one, many, 4);
  int n_seen = 0;
  CHECK_OK(rlx_executable_observe(many, see, &n_seen));
  check_round(one, many, 3);
  CHECK(n_seen >= 3);
  CHECK_OK(rlx_executable_observe(many, NULL, NULL));
  CHECK_OK(rlx_executable_profile(many, true));
  check_round(one, many, 3);
  char *text;
  CHECK_OK(rlx_executable_report(many, RLX_REPORT_PROFILE, RLX_TEXT, &text));
  CHECK(strstr(text, "3 runs"));
  rlx_free(text);
  rlx_executable_destroy(one);
  rlx_executable_destroy(many);
  rlx_graph_destroy(g);
}

/* ---- invalid arguments ---- */

DEVICE_TEST(calls_that_make_no_sense) {
  rlx_graph *g;
  rlx_executable *e;
  float x[2] = {1, 2}, all[2][2];
  rlx_named_tensor out[] = {{"y", {.data = all, .bytes = sizeof all}}, {"y", {.data = all, .bytes = sizeof all}}};
  CHECK_FAILS(rlx_executable_repeat(NULL, 1, NULL, 0), RLX_INVALID, "the executable is NULL");
  CHECK_OK(expr_graph("x: f32[2]", "add(%x, %x)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_FAILS(rlx_executable_repeat(e, 1, out, 1), RLX_INVALID, "input 'x' is not set");
  out[0].tensor.bytes = sizeof all; /* the last call has changed it */
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 2)));
  CHECK_FAILS(rlx_executable_repeat(e, 0, out, 1), RLX_INVALID, "times is 0");
  CHECK_FAILS(rlx_executable_repeat(e, 2, NULL, 1), RLX_INVALID, "outputs is NULL");
  CHECK_FAILS(rlx_executable_repeat(e, 2, out, 2), RLX_INVALID, "asked for twice");
  CHECK_FAILS(rlx_executable_repeat(e, 3, out, 1), RLX_INVALID, "has room for 16 bytes but f32[2] of 3 runs takes 24");
  out[0].name = "x";
  CHECK_FAILS(rlx_executable_repeat(e, 2, out, 1), RLX_NOT_FOUND, "no output 'x'");
  out[0].name = NULL;
  CHECK_FAILS(rlx_executable_repeat(e, 2, out, 1), RLX_INVALID, "the name of output 0 is NULL");
  out[0] = (rlx_named_tensor){"y", {.bytes = sizeof all}};
  CHECK_FAILS(rlx_executable_repeat(e, 2, out, 1), RLX_INVALID, "has no memory to read into");
  out[0].tensor = (rlx_tensor){.data = all, .bytes = sizeof all};
  CHECK_OK(rlx_executable_repeat(e, 2, out, 1)); /* the executable still works */
  CHECK(all[1][0] == 2 && all[1][1] == 4);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* ---- threads ---- */

static void *go_round(void *user) {
  rlx_session *s = user;
  rlx_graph *g = round_graph();
  rlx_executable *one, *many;
  if (!g || rlx_compile(s, g, NULL, &one) || rlx_compile(s, g, NULL, &many)) return "compiling";
  start_round(one);
  start_round(many);
  for (uint32_t i = 0; i < 20 && !test_has_failed(); i++) check_round(one, many, 1 + i % 9);
  rlx_executable_destroy(one);
  rlx_executable_destroy(many);
  rlx_graph_destroy(g);
  return NULL;
}

/* Runs in flight of one thread are neither waited for nor seen by other threads. */
DEVICE_TEST(beside_other_threads) {
  enum { N = 3 };
  pthread_t threads[N];
  for (int i = 0; i < N; i++) CHECK(pthread_create(&threads[i], NULL, go_round, s) == 0);
  for (int i = 0; i < N; i++) {
    void *why;
    CHECK(pthread_join(threads[i], &why) == 0);
    CHECK(why == NULL);
  }
}
