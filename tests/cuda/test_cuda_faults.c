/* Fault injection for the CUDA backend, by the fake driver: memory that runs out at call N, creations, submissions and
 * compilations that fail at call N, a device lost at launch N. Each time the call is a status with a message, nothing
 * leaks, and a new session works. Also a driver that is missing, too old or without devices, and no NVRTC. */
#include "test.h"

#ifndef RLX_CUDA
TEST(cuda_faults) { SKIP("this library was built without CUDA"); }
#else
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cuda/cu.h"
#include "cuda_fake.h"
#include "device/queue.h"
#include "device/registry.h"
#include "folder.h"
#include "rules.h"
#include "run_check.h"

__attribute__((constructor)) static void enter(int argc, char **argv) {
  setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
  if (!getenv("RLX_TEST_NO_FAKE") && !cuda_fake_enter(argc, argv)) exit(1);
}

enum { ROWS = 3, COLS = 16, N_AHEAD = 6 };
static const char *const devices[] = {"cuda", "cuda:submit=1", "cuda:ptx"};

static rlx_graph *make_graph(void) {
  rlx_graph *g = NULL;
  rlx_status s = expr_graph(
    "x: f32[3,16]; param w: f32[3,16]",
    "%a = softmax(%x); %b = softmax(%a); %c = softmax(%w); %d = softmax(%b); %e = softmax(%d); add(%e, %c)", &g);
  if (s) printf("FAIL the graph: %s\n", rlx_message());
  return g;
}

/* Everything from opening a device to results: a run that can be stopped, plain ones, and several that are not waited
 * for. `message` receives the message of the first failure. */
static rlx_status work(const char *device, const rlx_graph *g, char message[1024]) {
  static float x[ROWS * COLS], y[ROWS * COLS], all[N_AHEAD][ROWS * COLS];
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_tensor in = {RLX_F32, RLX_DIMS(ROWS, COLS), {x}, sizeof x};
  rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}}, outs = {"y", {.data = all, .bytes = sizeof all}};
  memset(y, 0xff, sizeof y);
  memset(all, 0xff, sizeof all);
  rlx_status status = run_session(device, 1, &s);
  if (!status) status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_executable_write(e, "w", &in);
  for (int i = 0; i < 2 && !status; i++) status = rlx_run(e, &(rlx_named_tensor){"x", in}, 1, &out, 1);
  if (!status) status = rlx_executable_repeat(e, N_AHEAD, &outs, 1);
  snprintf(message, 1024, "%s", status ? rlx_message() : "");
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  for (int i = 0; i < N_AHEAD && !status; i++)
    if (memcmp(all[i], y, sizeof y) != 0) return RLX_FAIL(RLX_INVALID, "run %d of %d differs", i, (int)N_AHEAD);
  for (size_t i = 0; i < ROWS * COLS && !status; i++)
    if (!(y[i] > 0.1249f && y[i] < 0.1251f)) return RLX_FAIL(RLX_INVALID, "element %zu is %g", i, (double)y[i]);
  return status;
}

typedef enum fault { FAIL_MEMORY, FAIL_HOST, FAIL_CREATE, FAIL_SUBMIT, FAIL_COMPILE, LOSE_AT_LAUNCH } fault;

static fake_cuda_plan plan_of(fault kind, uint64_t at, bool from_then_on) {
  return (fake_cuda_plan){.fail_memory = kind == FAIL_MEMORY ? at : 0,
                          .fail_host = kind == FAIL_HOST ? at : 0,
                          .fail_create = kind == FAIL_CREATE ? at : 0,
                          .fail_submit = kind == FAIL_SUBMIT ? at : 0,
                          .fail_compile = kind == FAIL_COMPILE ? at : 0,
                          .lose_at_launch = kind == LOSE_AT_LAUNCH ? at : 0,
                          .fails_from_then_on = from_then_on};
}

static uint64_t count_of(fault kind) {
  fake_cuda_counts c = {0};
  (void)cuda_fake_get(&c);
  const uint64_t counts[] = {c.memory, c.host, c.creates, c.submits, c.compiles, c.launches};
  return counts[kind];
}

static const struct {
  rlx_status status;
  const char *part;
} expected[] = {[FAIL_MEMORY] = {RLX_NO_MEMORY, "the device is out of memory"},
                [FAIL_HOST] = {RLX_NO_MEMORY, "the device is out of memory"},
                [FAIL_CREATE] = {RLX_NO_MEMORY, "the device is out of memory"},
                [FAIL_SUBMIT] = {RLX_NO_MEMORY, "the device is out of memory"},
                [FAIL_COMPILE] = {RLX_UNSUPPORTED, "cuda: compiling kernel"},
                [LOSE_AT_LAUNCH] = {RLX_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS"}};

static void sweep_device(const char *device, fault kind, bool from_then_on, const rlx_graph *g) {
  char message[1024];
  int n_failed = 0, n_named = 0;
  for (uint64_t at = 1;; at++) {
    const size_t live = rlx_mem_live();
    const fake_cuda_plan plan = plan_of(kind, at, from_then_on), none = {0};
    CHECK(cuda_fake_set(&plan));
    rlx_status s = work(device, g, message);
    if (count_of(kind) < at) {
      if (s) FAIL("%s: nothing failed, and yet: %s", device, message);
      break;
    }
    n_failed += s != RLX_OK;
    n_named += strstr(message, "(softmax)") || strstr(message, "(add)");
    if (s && (s != expected[kind].status || !strstr(message, expected[kind].part)))
      FAIL("%s: fault %d at %llu: expected %s with <%s>, got %s: %s", device, (int)kind, (unsigned long long)at,
           rlx_status_name(expected[kind].status), expected[kind].part, rlx_status_name(s), message);
    fake_cuda_counts c;
    CHECK(cuda_fake_get(&c));
    if (c.live != 0)
      FAIL("%s: fault %d at %llu: %llu objects left", device, (int)kind, (unsigned long long)at,
           (unsigned long long)c.live);
    CHECK_EQ_INT(rlx_mem_live(), live);
    CHECK(cuda_fake_set(&none));
    if (at % 4 == 1) CHECK_OK(work(device, g, message)); /* a new session works */
    if (at > 2000) FAIL("%s: no end", device);
  }
  if (n_failed == 0) FAIL("%s: fault %d never showed", device, (int)kind);
  if (n_named == 0 && (kind == FAIL_COMPILE || kind == LOSE_AT_LAUNCH))
    FAIL("%s: fault %d never named a node", device, (int)kind);
}

static void sweep(fault kind) {
  rlx_graph *g = make_graph();
  CHECK(g);
  for (size_t k = 0; k < sizeof devices / sizeof *devices && !test_has_failed(); k++) {
    sweep_device(devices[k], kind, false, g);
    if (!test_has_failed() && kind != LOSE_AT_LAUNCH) sweep_device(devices[k], kind, true, g);
  }
  rlx_graph_destroy(g);
}

TEST(memory_that_runs_out_at_call_n) { sweep(FAIL_MEMORY); }
TEST(pinned_memory_that_runs_out_at_call_n) { sweep(FAIL_HOST); }
TEST(creations_that_fail_at_call_n) { sweep(FAIL_CREATE); }
TEST(submissions_that_fail_at_call_n) { sweep(FAIL_SUBMIT); }
TEST(compilations_that_fail_at_call_n) { sweep(FAIL_COMPILE); }
TEST(a_device_lost_at_launch_n) { sweep(LOSE_AT_LAUNCH); }

/* Every call on a lost device reports the loss; a new acquire gets a working device at once. */
TEST(a_lost_device_is_reported_and_replaced) {
  char message[1024];
  rlx_session *s;
  rlx_executable *e;
  static float x[ROWS * COLS];
  const rlx_tensor in = {RLX_F32, RLX_DIMS(ROWS, COLS), {x}, sizeof x};
  rlx_graph *g = make_graph();
  CHECK(g && cuda_fake_set(&(fake_cuda_plan){0}));
  CHECK_OK(run_session("cuda", 1, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "w", &in));
  CHECK_OK(rlx_executable_write(e, "x", &in));
  CHECK_OK(rlx_executable_run(e));
  rlx_device *d;
  rlx_block *b, *another;
  rlx_queue *q;
  CHECK_OK(rlx_device_acquire("cuda", &d));
  CHECK_OK(d->backend->queue_create(d, &q));
  CHECK_OK(d->backend->block_create(d, 64, &b));
  CHECK(cuda_fake_set(&(fake_cuda_plan){.lose_at_launch = 1, .lose_with = CUDA_ERROR_LAUNCH_FAILED}));
  CHECK_FAILS(rlx_executable_run(e), RLX_DEVICE_LOST, "CUDA_ERROR_LAUNCH_FAILED");
  CHECK(cuda_fake_set(&(fake_cuda_plan){0}));
  CHECK(atomic_load(&d->is_lost));
  CHECK_FAILS(rlx_executable_run(e), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(rlx_executable_write(e, "x", &in), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->write(q, b, 0, x, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->read(q, b, 0, x, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->zero(q, b, 0, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->copy(q, b, 0, b, 8, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(rlx_queue_sync(q), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->block_create(d, 64, &another), RLX_DEVICE_LOST, "was lost before");
  CHECK_OK(work("cuda", g, message)); /* while the lost device is still held */
  d->backend->block_destroy(d, b);
  d->backend->queue_destroy(q);
  rlx_device_release(d);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  CHECK_OK(work("cuda", g, message));
  rlx_graph_destroy(g);
  fake_cuda_counts c;
  CHECK(cuda_fake_get(&c));
  CHECK_EQ_INT(c.live, 0);
}

/* A program whose memory is more than the device has. */
TEST(a_graph_larger_than_the_device) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e = NULL;
  CHECK(cuda_fake_set(&(fake_cuda_plan){0}));
  CHECK_OK(expr_graph("x: f32[1,1]", "%a = expand(%x) {shape=[20000,20000]}; exp(%a)", &g));
  CHECK_OK(run_session("cuda", 1, &s));
  rlx_status status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_executable_run(e);
  CHECK(status == RLX_NO_MEMORY || status == RLX_LIMIT);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
}

/* ---- drivers that are not there or not enough: each in a program of its own ---- */

#define NO_COMPILER "no compiler" /* then there is a device, whose driver compiles */

/* Runs this program again, with one variable set, to list devices only; its exit status is 0 if the reason has `part`.
 * With LD_LIBRARY_PATH set it is the machine's own driver and compiler, if it has them. */
static int list_again(const char *name, const char *value, const char *part) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv(name, value, 1);
    if (strcmp(name, "LD_LIBRARY_PATH") == 0) setenv("RLX_TEST_NO_FAKE", "1", 1);
    setenv("RLX_TEST_PART", part, 1);
    execl("/proc/self/exe", "test_cuda_faults", "listing_for_another_program", (char *)NULL);
    _exit(9);
  }
  int status = 9;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

TEST(listing_for_another_program) {
  const char *part = getenv("RLX_TEST_PART"), *why = NULL;
  if (!part) return; /* the others run it */
  uint32_t n = rlx_backend_cuda.count(&why);
  rlx_device *d;
  if (strcmp(part, NO_COMPILER) == 0) {
    CHECK_OK(rlx_device_acquire("cuda", &d));
    if (strstr(d->info.driver, "NVRTC")) SKIP("this machine has what is to be missing");
    CHECK(n == 1 && !why && strstr(d->info.driver, "whose own compiler takes the kernels"));
    CHECK(!strstr(d->info.features, "coopmat"));
    rlx_device_release(d);
    return;
  }
  if (n && getenv("RLX_TEST_NO_FAKE")) SKIP("this machine has what is to be missing");
  if (n || !why || !strstr(why, part)) FAIL("%u devices: expected <%s>, got <%s>", n, part, why ? why : "none");
  CHECK_FAILS(rlx_device_acquire("cuda", &d), RLX_NOT_FOUND, "this backend has no device");
}

TEST(drivers_that_are_not_enough) {
  CHECK_EQ_INT(list_again("FAKE_CUDA_DEVICES", "0", "finds no GPU"), 0);
  CHECK_EQ_INT(list_again("FAKE_CUDA_VERSION", "11020", "11.4 is needed, it has 11.2"), 0);
  CHECK_EQ_INT(list_again("FAKE_CUDA_ARCH", "61", "no GPU of compute capability 7.5"), 0);
  CHECK_EQ_INT(list_again("LD_LIBRARY_PATH", "/dev/null/none", ""), 0); /* "no CUDA here", or a real driver's reason */
  char driver[600];
  CHECK(folder_begin());
  snprintf(driver, sizeof driver, "%s/libcuda.so.1", cuda_fake_folder());
  CHECK(symlink(driver, folder_path("libcuda.so.1")) == 0);
  CHECK_EQ_INT(list_again("LD_LIBRARY_PATH", folder_name(), NO_COMPILER), 0);
}
#endif
