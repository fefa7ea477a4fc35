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

#include "device_faults.h"
#include "webgpu/program.h"

/* ---- a library that fails ---- */

typedef enum fault { FAIL_MEMORY, FAIL_BINDING, FAIL_PIPELINE, FAIL_SUBMIT, LOSE_AT_ENCODING, FAULT_COUNT } fault;

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

static void plan_fault(int kind, uint64_t at) {
  plan.kind = (fault)kind;
  plan.at = (uint32_t)at;
  atomic_store(&plan.n, 0);
}

/* ---- every call fails once ---- */

static const fault_work work = {
  .leaves = "x: f32[3,33]; param w: f32[3,33]",
  .expr = "%a = softmax(%x); %b = add(%a, %w); %c = matmul(%b, %b) {trans_b=true}; softmax(%c)",
  .rows = 3,
  .cols = 33,
  .n_out = 9,
  .low = 0.3333f,
  .high = 0.3334f,
  .no_pool = true,
};

static const fault_kind kinds[FAULT_COUNT] = {
  [FAIL_MEMORY] = {.status = RLX_NO_MEMORY, .part = "out of memory", .is_final = true},
  [FAIL_BINDING] = {.status = RLX_UNSUPPORTED, .part = "a planned error", .is_final = true},
  [FAIL_PIPELINE] = {.status = RLX_UNSUPPORTED, .part = "a planned error", .is_final = true},
  [FAIL_SUBMIT] = {.status = RLX_UNSUPPORTED, .part = "a planned error", .is_final = true},
  [LOSE_AT_ENCODING] = {.status = RLX_DEVICE_LOST, .part = "", .is_final = true},
};

static uint64_t count_calls(int kind) {
  (void)kind; /* the planned one */
  return atomic_load(&plan.n);
}

static void sweep(fault kind) {
  static const fault_driver driver = {.kinds = kinds, .plan = plan_fault, .count = count_calls};
  ENTER();
  rlx_graph *g = fault_graph(&work);
  CHECK(g);
  check_faults(&driver, &work, "webgpu", (int)kind, g);
  rlx_graph_destroy(g);
}

TEST(memory_that_runs_out_at_call_n) { sweep(FAIL_MEMORY); }
TEST(bindings_that_fail_at_call_n) { sweep(FAIL_BINDING); }
TEST(pipelines_that_fail_at_call_n) { sweep(FAIL_PIPELINE); }
TEST(submissions_that_fail_at_call_n) { sweep(FAIL_SUBMIT); }
TEST(a_device_lost_at_encoding_n) { sweep(LOSE_AT_ENCODING); }

static void lose(bool is_on) { plan_fault(LOSE_AT_ENCODING, is_on); }

TEST(a_lost_device_is_reported_and_replaced) {
  ENTER();
  check_lost_device(&work, "webgpu", lose, "node");
}

TEST(failing_allocations_of_the_host) {
  const char *name = "webgpu:submit=777777777"; /* a device that no other test has open */
  rlx_device *d;
  ENTER();
  plan_fault(FAIL_MEMORY, 0);
  CHECK_OK(rlx_device_acquire(name, &d));
  ((wg_device *)d)->pipelines.max_idle = 0; /* each round creates its own pipelines */
  check_failing_host(name, d);
}

/* ---- libraries that are not there or not enough: each in a program of its own ---- */

static int list_with(const char *library, const char *part) {
  return list_again("test_webgpu_faults", "RLX_WEBGPU_LIBRARY", library, part);
}

/* The exit status is 0 if the reason why there is no device has the part. */
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
  CHECK_EQ_INT(list_with(NULL, "no WebGPU here"), 0);
  CHECK_EQ_INT(list_with("/dev/null/none", "RLX_WEBGPU_LIBRARY is '/dev/null/none', which cannot be loaded"), 0);
  CHECK_EQ_INT(list_with("libm.so.6", "'libm.so.6' is not a WebGPU library of today"), 0);
}
#endif
