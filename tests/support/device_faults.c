/* Faults of a device: see device_faults.h. */
#include "device_faults.h"

#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "device/queue.h"
#include "faults.h"
#include "rules.h"
#include "run_check.h"

/* ---- the work ---- */

static float zeroes[FAULT_MAX_FLOATS];

static rlx_tensor zero_tensor(const fault_work *w) {
  return (rlx_tensor){RLX_F32, RLX_DIMS(w->rows, w->cols), {zeroes}, (size_t)w->rows * w->cols * sizeof *zeroes};
}

rlx_graph *fault_graph(const fault_work *w) {
  rlx_graph *g = NULL;
  rlx_status s = expr_graph(w->leaves, w->expr, &g);
  if (s) printf("FAIL the graph: %s\n", rlx_message());
  return g;
}

/* Several runs without waiting in between: the output of each must equal that of a single run. */
static rlx_status run_ahead(const fault_work *w, rlx_executable *e, const float *want) {
  static float all[FAULT_MAX_AHEAD * FAULT_MAX_FLOATS];
  const size_t bytes = w->n_out * sizeof *all;
  rlx_named_tensor out = {"y", {.data = all, .bytes = w->n_ahead * bytes}};
  memset(all, 0xff, sizeof all);
  RLX_TRY(rlx_executable_repeat(e, w->n_ahead, &out, 1));
  for (uint32_t i = 0; i < w->n_ahead; i++)
    if (memcmp(all + i * w->n_out, want, bytes) != 0)
      return RLX_FAIL(RLX_INVALID, "run %u of %u differs", (unsigned)i, (unsigned)w->n_ahead);
  return RLX_OK;
}

static rlx_status run_all(const fault_work *w, rlx_executable *e) {
  static float y[FAULT_MAX_FLOATS];
  const rlx_tensor in = zero_tensor(w);
  rlx_named_tensor out = {"y", {.data = y, .bytes = w->n_out * sizeof *y}};
  memset(y, 0xff, sizeof y);
  RLX_TRY(rlx_executable_write(e, "w", &in));
  for (int i = 0; i < 2; i++) RLX_TRY(rlx_run(e, &(rlx_named_tensor){"x", in}, 1, &out, 1));
  if (w->n_ahead) RLX_TRY(run_ahead(w, e, y));
  for (size_t i = 0; i < w->n_out; i++)
    if (!(y[i] > w->low && y[i] < w->high)) return RLX_FAIL(RLX_INVALID, "element %zu is %g", i, (double)y[i]);
  return RLX_OK;
}

rlx_status fault_run(const fault_work *w, const char *device, const rlx_graph *g, char message[1024]) {
  const rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1, .no_pool = w->no_pool};
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_status status = rlx_session_create(&desc, &s);
  if (!status) status = rlx_compile(s, g, NULL, &e);
  if (!status) status = run_all(w, e);
  snprintf(message, 1024, "%s", status ? rlx_message() : "");
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  return status;
}

/* ---- every call fails once ---- */

/* The message names what failed. */
static void check_message(const fault_kind *k, const char *device, uint64_t at, rlx_status s, const char *message) {
  if (s != k->status || !strstr(message, k->part))
    FAIL("%s: call %llu: expected %s with <%s>, got %s: %s", device, (unsigned long long)at, rlx_status_name(k->status),
         k->part, rlx_status_name(s), message);
  if (k->also && !strstr(message, k->also))
    FAIL("%s: call %llu: expected <%s> in: %s", device, (unsigned long long)at, k->also, message);
}

void check_faults(const fault_driver *driver, const fault_work *w, const char *device, int kind, const rlx_graph *g) {
  const fault_kind *k = &driver->kinds[kind];
  char message[1024];
  int n_failed = 0, n_named = 0;
  driver->plan(kind, 0);
  CHECK_OK(fault_run(w, device, g, message));
  for (uint64_t at = 1;; at = test_next_fault(at)) {
    const size_t live = rlx_mem_live();
    driver->plan(kind, at);
    rlx_status s = fault_run(w, device, g, message);
    if (driver->count(kind) < at) {
      if (s) FAIL("%s: nothing failed, and yet: %s", device, message);
      break;
    }
    n_failed += s != RLX_OK;
    n_named += strstr(message, "(softmax)") || strstr(message, "(add)");
    if (s || k->is_final) check_message(k, device, at, s, message);
    STOP_UNLESS_PASSED;
    const int64_t n_left = driver->live ? driver->live() : 0;
    if (n_left)
      FAIL("%s: fault %d at %llu: %lld objects left", device, kind, (unsigned long long)at, (long long)n_left);
    if (rlx_mem_live() != live)
      FAIL("%s: fault %d at %llu: %zu blocks are left", device, kind, (unsigned long long)at, rlx_mem_live() - live);
    driver->plan(kind, 0);
    if (at % 4 == 1) CHECK_OK(fault_run(w, device, g, message)); /* a new session works */
    if (at > 2000) FAIL("%s: no end", device);
  }
  if (n_failed == 0) FAIL("%s: fault %d never showed", device, kind);
  if (n_named == 0 && k->is_named) FAIL("%s: fault %d never named a node", device, kind);
  driver->plan(kind, 0);
  CHECK_OK(fault_run(w, device, g, message));
}

static void check_calls_when_lost(rlx_device *d, rlx_queue *q, rlx_block *b) {
  float x[4];
  rlx_block *another;
  CHECK_FAILS(d->backend->write(q, b, 0, zeroes, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->read(q, b, 0, x, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->zero(q, b, 0, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->copy(q, b, 0, b, 8, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(rlx_queue_sync(q), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->block_create(d, 64, &another), RLX_DEVICE_LOST, "was lost before");
}

void check_lost_device(const fault_work *w, const char *device, void (*lose)(bool is_on), const char *part) {
  char message[1024];
  rlx_session *s;
  rlx_executable *e;
  rlx_device *d;
  rlx_queue *q;
  rlx_block *b;
  const rlx_tensor in = zero_tensor(w);
  rlx_graph *g = fault_graph(w);
  CHECK(g);
  lose(false);
  CHECK_OK(run_session(device, 1, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "w", &in));
  CHECK_OK(rlx_executable_write(e, "x", &in));
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(rlx_device_acquire(device, &d));
  CHECK_OK(d->backend->queue_create(d, &q));
  CHECK_OK(d->backend->block_create(d, 64, &b));
  lose(true);
  CHECK_FAILS(rlx_executable_run(e), RLX_DEVICE_LOST, part);
  lose(false);
  CHECK(atomic_load(&d->is_lost));
  CHECK_FAILS(rlx_executable_run(e), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(rlx_executable_write(e, "x", &in), RLX_DEVICE_LOST, "was lost before");
  check_calls_when_lost(d, q, b);
  STOP_UNLESS_PASSED;
  CHECK_OK(fault_run(w, device, g, message)); /* while the lost device is still held */
  d->backend->block_destroy(d, b);
  d->backend->queue_destroy(q);
  rlx_device_release(d);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  CHECK_OK(fault_run(w, device, g, message));
  rlx_graph_destroy(g);
}

/* ---- the host ---- */

/* Creates the memory, pipelines and program for a compiled graph, and runs it. */
static rlx_status clone_and_run(void *user) {
  const rlx_executable *e = user;
  rlx_executable *own;
  float x[2 * 33] = {0}, y[2 * 33];
  const rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(2, 33), {x}, sizeof x}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
  rlx_status s = rlx_executable_clone(e, &own);
  if (!s) s = rlx_run(own, &in, 1, &out, 1);
  rlx_executable_destroy(own);
  return s;
}

void check_failing_host(const char *device, rlx_device *d) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  const rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1, .no_pool = true};
  CHECK_OK(rlx_session_create(&desc, &s)); /* each round creates its own blocks */
  CHECK_OK(expr_graph("x: f32[2,33]", "%a = softmax(%x); log_softmax(%a)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(clone_and_run(e));
  CHECK_OK(alloc_sweep(clone_and_run, e));
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_device_release(d);
  rlx_session_destroy(s);
}

int list_again(const char *program, const char *name, const char *value, const char *part) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
    setenv("RLX_TEST_PART", part, 1);
    execl("/proc/self/exe", program, "listing_for_another_program", (char *)NULL);
    _exit(9);
  }
  int status = 9;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
