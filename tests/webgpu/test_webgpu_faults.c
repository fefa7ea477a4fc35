/* Faults of a WebGPU library: calls that report errors, memory that runs out, devices that are lost, and libraries
 * that are not there or not enough. The functions of the loaded library are replaced in the backend's table, so that
 * the nth call of a kind reports an error through the callback that the backend registered, or loses the device. A
 * device is not lost inside a submission or a wait: there wgpu-native ends the process (docs/webgpu.md).
 *
 * With RLX_WEBGPU_PURE=1 errors come as in a browser: to the innermost error scope for them, whose answer comes after
 * the scope was popped, when events are processed. The scopes are then this file's. */
#include "test.h"

#ifndef RLX_WEBGPU
TEST(webgpu_faults) { SKIP("this library was built without WebGPU"); }
#else
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "device/queue.h"
#include "device/registry.h"
#include "faults.h"
#include "rules.h"
#include "run_check.h"
#include "webgpu/program.h"

/* ---- a library that fails ---- */

typedef enum fault { FAIL_MEMORY, FAIL_BINDING, FAIL_PIPELINE, FAIL_SUBMIT, LOSE_AT_ENCODING } fault;

static wg_api real;
static struct {
  fault kind;
  uint32_t at; /* the call that fails, counted from 1; 0: none */
  atomic_uint n;
  WGPUDevice device;
  WGPUUncapturedErrorCallbackInfo error;
} plan;

static bool is_due(fault kind) { return plan.at && plan.kind == kind && atomic_fetch_add(&plan.n, 1) + 1 == plan.at; }

/* ---- error scopes whose answers come late ---- */

enum { MAX_SCOPES = 256 };
typedef struct scope {
  uint32_t filter, type; /* type: of the error that it caught */
  WGPUPopErrorScopeCallbackInfo then;
} scope;
static scope open_scopes[MAX_SCOPES], popped[MAX_SCOPES];
static uint32_t n_open, n_popped;
static const WGPUStringView message = {"a planned\n  error", SIZE_MAX};

static void push_scope(WGPUDevice d, uint32_t filter) {
  (void)d;
  if (n_open < MAX_SCOPES) open_scopes[n_open] = (scope){.filter = filter};
  n_open++;
}

static WGPUFuture pop_scope(WGPUDevice d, WGPUPopErrorScopeCallbackInfo then) {
  (void)d;
  popped[n_popped] = open_scopes[--n_open];
  popped[n_popped++].then = then;
  return (WGPUFuture){0};
}

static void process_events(WGPUInstance i) {
  const uint32_t n = n_popped;
  n_popped = 0;
  for (uint32_t k = 0; k < n; k++) {
    const scope s = popped[k];
    s.then.callback(WGPU_STATUS_SUCCESS, s.type ? s.type : WGPU_ERROR_NONE, s.type ? message : (WGPUStringView){0},
                    s.then.user1, s.then.user2);
  }
  real.InstanceProcessEvents(i);
}

static void report(uint32_t type) {
  const uint32_t filter = type == WGPU_ERROR_OUT_OF_MEMORY ? WGPU_FILTER_OUT_OF_MEMORY : WGPU_FILTER_VALIDATION;
  for (uint32_t i = wg_loader_get()->is_native ? 0 : n_open; i > 0; i--) {
    if (open_scopes[i - 1].filter != filter) continue;
    if (!open_scopes[i - 1].type) open_scopes[i - 1].type = type;
    return;
  }
  plan.error.callback(&plan.device, type, message, plan.error.user1, plan.error.user2);
}

static WGPUFuture request_device(WGPUAdapter a, const WGPUDeviceDescriptor *info, WGPURequestDeviceCallbackInfo then) {
  plan.error = info->error;
  return real.AdapterRequestDevice(a, info, then);
}

static WGPUQueue get_queue(WGPUDevice d) {
  plan.device = d;
  return real.DeviceGetQueue(d);
}

static WGPUBuffer create_buffer(WGPUDevice d, const WGPUBufferDescriptor *info) {
  if (is_due(FAIL_MEMORY)) report(WGPU_ERROR_OUT_OF_MEMORY);
  return real.DeviceCreateBuffer(d, info);
}

static WGPUBindGroup create_group(WGPUDevice d, const WGPUBindGroupDescriptor *info) {
  if (is_due(FAIL_BINDING)) report(WGPU_ERROR_VALIDATION);
  return real.DeviceCreateBindGroup(d, info);
}

static WGPUComputePipeline create_pipeline(WGPUDevice d, const WGPUComputePipelineDescriptor *info) {
  if (is_due(FAIL_PIPELINE)) report(WGPU_ERROR_INTERNAL);
  return real.DeviceCreateComputePipeline(d, info);
}

static WGPUSubmissionIndex submit(WGPUQueue q, size_t n, const WGPUCommandBuffer *commands) {
  if (is_due(FAIL_SUBMIT)) report(WGPU_ERROR_VALIDATION);
  return real.QueueSubmitForIndex(q, n, commands);
}

static void submit_purely(WGPUQueue q, size_t n, const WGPUCommandBuffer *commands) {
  if (is_due(FAIL_SUBMIT)) report(WGPU_ERROR_VALIDATION);
  real.QueueSubmit(q, n, commands);
}

/* The callback of a destroyed device comes with the next poll. */
static WGPUCommandEncoder create_encoder(WGPUDevice d, const void *info) {
  if (is_due(LOSE_AT_ENCODING)) {
    real.DeviceDestroy(d);
    if (real.DevicePoll) real.DevicePoll(d, 0, NULL);
    else real.InstanceProcessEvents(wg_loader_get()->instance);
  }
  return real.DeviceCreateCommandEncoder(d, info);
}

/* Fails if there is no library. Before the first device is opened. */
static bool enter(void) {
  wg_api *api = (wg_api *)(uintptr_t)&wg_loader_get()->api;
  if (!wg_loader_get()->n_devices) return false;
  if (real.CreateInstance) return true;
  real = *api;
  api->AdapterRequestDevice = request_device;
  api->DeviceGetQueue = get_queue;
  api->DeviceCreateBuffer = create_buffer;
  api->DeviceCreateBindGroup = create_group;
  api->DeviceCreateComputePipeline = create_pipeline;
  api->DeviceCreateCommandEncoder = create_encoder;
  if (wg_loader_get()->is_native) {
    api->QueueSubmitForIndex = submit;
    return true;
  }
  api->QueueSubmit = submit_purely;
  api->DevicePushErrorScope = push_scope;
  api->DevicePopErrorScope = pop_scope;
  api->InstanceProcessEvents = process_events;
  return true;
}
#define ENTER() \
  if (!enter()) SKIP(wg_loader_get()->why)

static void plan_fault(fault kind, uint32_t at) {
  plan.kind = kind;
  plan.at = at;
  atomic_store(&plan.n, 0);
}

/* ---- every call fails once ---- */

enum { ROWS = 3, COLS = 33 };

static rlx_graph *make_graph(void) {
  rlx_graph *g = NULL;
  const char *expr = "%a = softmax(%x); %b = add(%a, %w); %c = matmul(%b, %b) {trans_b=true}; softmax(%c)";
  return expr_graph("x: f32[3,33]; param w: f32[3,33]", expr, &g) ? NULL : g;
}

/* Opens a device, compiles, writes, runs twice and reads; closes all of it. */
static rlx_status work(const rlx_graph *g) {
  static float x[ROWS * COLS];
  float y[ROWS * ROWS];
  const rlx_tensor in = {RLX_F32, RLX_DIMS(ROWS, COLS), {x}, sizeof x};
  const rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = "webgpu", .n_threads = 1, .no_pool = true};
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_status status = rlx_session_create(&desc, &s);
  if (!status) status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_executable_write(e, "w", &in);
  for (int i = 0; i < 2 && !status; i++) {
    rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
    status = rlx_run(e, &(rlx_named_tensor){"x", in}, 1, &out, 1);
  }
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  return status;
}

/* Each call of this kind fails once. Every failure is reported, with the expected status and a message with `part`, and
 * nothing is left behind. */
static void sweep(fault kind, rlx_status expected, const char *part) {
  ENTER();
  rlx_graph *g = make_graph();
  CHECK(g);
  plan_fault(kind, 0);
  CHECK_OK(work(g));
  const size_t live = rlx_mem_live();
  uint32_t n_failed = 0;
  for (uint32_t at = 1;; at++) {
    plan_fault(kind, at);
    rlx_status status = work(g);
    const bool was_due = atomic_load(&plan.n) >= at;
    if (!was_due) break;
    if (status != expected || !strstr(rlx_message(), part))
      FAIL("call %u: %s: %s", (unsigned)at, rlx_status_name(status), status ? rlx_message() : "");
    n_failed++;
    if (rlx_mem_live() != live) FAIL("call %u: %zu blocks are left", (unsigned)at, rlx_mem_live() - live);
  }
  CHECK(n_failed > 0);
  plan_fault(kind, 0);
  CHECK_OK(work(g));
  rlx_graph_destroy(g);
}

TEST(memory_that_runs_out_at_call_n) { sweep(FAIL_MEMORY, RLX_NO_MEMORY, "out of memory"); }
TEST(bindings_that_fail_at_call_n) { sweep(FAIL_BINDING, RLX_UNSUPPORTED, "a planned error"); }
TEST(pipelines_that_fail_at_call_n) { sweep(FAIL_PIPELINE, RLX_UNSUPPORTED, "a planned error"); }
TEST(submissions_that_fail_at_call_n) { sweep(FAIL_SUBMIT, RLX_UNSUPPORTED, "a planned error"); }
TEST(a_device_lost_at_encoding_n) { sweep(LOSE_AT_ENCODING, RLX_DEVICE_LOST, ""); }

/* ---- a lost device ---- */

TEST(a_lost_device_is_reported_and_replaced) {
  rlx_session *s;
  rlx_executable *e;
  static float x[ROWS * COLS];
  const rlx_tensor in = {RLX_F32, RLX_DIMS(ROWS, COLS), {x}, sizeof x};
  ENTER();
  rlx_graph *g = make_graph();
  CHECK(g);
  plan_fault(LOSE_AT_ENCODING, 0);
  CHECK_OK(run_session("webgpu", 1, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "w", &in));
  CHECK_OK(rlx_executable_write(e, "x", &in));
  CHECK_OK(rlx_executable_run(e));
  rlx_device *d;
  rlx_block *b, *another;
  rlx_queue *q;
  CHECK_OK(rlx_device_acquire("webgpu", &d));
  CHECK_OK(d->backend->queue_create(d, &q));
  CHECK_OK(d->backend->block_create(d, 64, &b));
  plan_fault(LOSE_AT_ENCODING, 1);
  CHECK_FAILS(rlx_executable_run(e), RLX_DEVICE_LOST, "node");
  plan_fault(LOSE_AT_ENCODING, 0);
  CHECK(atomic_load(&d->is_lost));
  CHECK_FAILS(rlx_executable_run(e), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(rlx_executable_write(e, "x", &in), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->write(q, b, 0, x, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->read(q, b, 0, x, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->zero(q, b, 0, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->copy(q, b, 0, b, 8, 4), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(rlx_queue_sync(q), RLX_DEVICE_LOST, "was lost before");
  CHECK_FAILS(d->backend->block_create(d, 64, &another), RLX_DEVICE_LOST, "was lost before");
  CHECK_OK(work(g)); /* while the lost device is still held */
  d->backend->block_destroy(d, b);
  d->backend->queue_destroy(q);
  rlx_device_release(d);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  CHECK_OK(work(g));
  rlx_graph_destroy(g);
}

/* ---- a failing host ---- */

static rlx_status sweep_work(void *user) {
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

TEST(failing_allocations_of_the_host) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  rlx_device *d;
  ENTER();
  plan_fault(FAIL_MEMORY, 0);
  const char *name = "webgpu:submit=777777777"; /* a device that no other test has open */
  CHECK_OK(rlx_device_acquire(name, &d));
  ((wg_device *)d)->pipelines.max_idle = 0; /* each round creates its own pipelines */
  const rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = name, .n_threads = 1, .no_pool = true};
  CHECK_OK(rlx_session_create(&desc, &s)); /* and its own blocks */
  CHECK_OK(expr_graph("x: f32[2,33]", "%a = softmax(%x); log_softmax(%a)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(sweep_work(e));
  CHECK_OK(alloc_sweep(sweep_work, e));
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_device_release(d);
  rlx_session_destroy(s);
}

/* ---- libraries that are not there or not enough: each in a program of its own ---- */

/* Runs this program again, with one variable set (or not, if NULL), to list devices only; its exit status is 0 if the
 * reason has `part`. */
static int list_again(const char *library, const char *part) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (library) setenv("RLX_WEBGPU_LIBRARY", library, 1);
    else unsetenv("RLX_WEBGPU_LIBRARY");
    setenv("RLX_TEST_PART", part, 1);
    execl("/proc/self/exe", "test_webgpu_faults", "listing_for_another_program", (char *)NULL);
    _exit(9);
  }
  int status = 9;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

TEST(listing_for_another_program) {
  const char *part = getenv("RLX_TEST_PART"), *why = NULL;
  if (!part) return; /* the others run it */
  uint32_t n = rlx_backend_webgpu.count(&why);
  rlx_device *d;
  if (n && !getenv("RLX_WEBGPU_LIBRARY")) SKIP("this machine has a WebGPU library installed");
  if (n || !why || !strstr(why, part)) FAIL("%u devices: expected <%s>, got <%s>", n, part, why ? why : "none");
  CHECK_FAILS(rlx_device_acquire("webgpu", &d), RLX_NOT_FOUND, "this backend has no device");
}

TEST(libraries_that_are_not_enough) {
  CHECK_EQ_INT(list_again(NULL, "no WebGPU here"), 0);
  CHECK_EQ_INT(list_again("/dev/null/none", "RLX_WEBGPU_LIBRARY is '/dev/null/none', which cannot be loaded"), 0);
  CHECK_EQ_INT(list_again("libm.so.6", "'libm.so.6' is not a WebGPU library of today"), 0);
}
#endif
