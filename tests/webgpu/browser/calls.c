/* Calls the functions of src/webgpu/functions.def from a module of WebAssembly, in a browser: every function at least
 * once, with structs as api.h lays them out. test_webgpu_browser.py builds it and runs it over web/rlx/gpu.js.
 *
 * The exports return 0, or the line of the check that failed. */
#include <stdio.h>
#include <string.h>

#include "webgpu/loader.h"

#define EXPORT(name) __attribute__((export_name(#name))) int name(void)
#define CHECK(cond) \
  if (!(cond)) return __LINE__
#define WAIT(cond) \
  while (!(cond)) f->InstanceProcessEvents(instance)

static wg_loader loader;
static const wg_api *const f = &loader.api;
static WGPUInstance instance;
static WGPUAdapter adapter;
static WGPUDevice device;
static WGPUQueue queue;
static bool has_timestamps;
static int token; /* whose address callbacks must get back */

/* ---- callbacks: what each was called with ---- */

static struct {
  uint32_t n, status, type;
  void *handle;
  char message[256];
} seen;

static void note(uint32_t status, uint32_t type, void *handle, WGPUStringView message, const void *user1,
                 const void *user2) {
  seen.n++;
  seen.status = user1 == &token && user2 == &seen ? status : 99;
  seen.type = type;
  seen.handle = handle;
  snprintf(seen.message, sizeof seen.message, "%.*s", (int)message.length, message.data ? message.data : "");
}

static void on_adapter(uint32_t status, WGPUAdapter a, WGPUStringView message, void *user1, void *user2) {
  note(status, 0, a, message, user1, user2);
}
static void on_device(uint32_t status, WGPUDevice d, WGPUStringView message, void *user1, void *user2) {
  note(status, 0, d, message, user1, user2);
}
static void on_scope(uint32_t status, uint32_t type, WGPUStringView message, void *user1, void *user2) {
  note(status, type, NULL, message, user1, user2);
}
static void on_pipeline(uint32_t status, WGPUComputePipeline p, WGPUStringView message, void *user1, void *user2) {
  note(status, 0, p, message, user1, user2);
}
static void on_done(uint32_t status, WGPUStringView message, void *user1, void *user2) {
  note(status, 0, NULL, message, user1, user2);
}
static void on_lost(WGPUDevice const *d, uint32_t reason, WGPUStringView message, void *user1, void *user2) {
  note(1, reason, *d, message, user1, user2);
}
static void on_error(WGPUDevice const *d, uint32_t type, WGPUStringView message, void *user1, void *user2) {
  note(1, type, *d, message, user1, user2);
}

#define INFO(function) \
  { .mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = function, .user1 = &token, .user2 = &seen }

/* ---- opening ---- */

EXPORT(test_open) {
  WGPUAdapterInfo info = {0};
  WGPULimits limits = {0};
  CHECK(wg_functions_get(&loader) && !loader.is_native);
  instance = f->CreateInstance(NULL);
  CHECK(instance);
  f->InstanceRequestAdapter(instance, &(WGPURequestAdapterOptions){.power = WGPU_POWER_HIGH},
                            (WGPURequestAdapterCallbackInfo)INFO(on_adapter));
  WAIT(seen.n == 1);
  CHECK(seen.status == WGPU_STATUS_SUCCESS);
  adapter = seen.handle;
  CHECK(f->AdapterGetInfo(adapter, &info) == WGPU_STATUS_SUCCESS);
  CHECK(info.backend == WGPU_BACKEND_WEBGPU && info.type >= 1 && info.type <= 3 && info.vendor.length < 100);
  printf("vendor %.*s, architecture %.*s, subgroups of %u to %u\n", (int)info.vendor.length, info.vendor.data,
         (int)info.architecture.length, info.architecture.data, (unsigned)info.min_subgroup,
         (unsigned)info.max_subgroup);
  f->AdapterInfoFreeMembers(info);
  CHECK(f->AdapterGetLimits(adapter, &limits) == WGPU_STATUS_SUCCESS);
  CHECK(limits.bind_groups >= 4 && limits.storage_buffers >= 8 && limits.uniform_binding >= 65536);
  CHECK(limits.storage_binding >= 128 << 20 && limits.min_storage_align <= 256 && limits.buffer_bytes >= 256 << 20);
  CHECK(limits.shared_bytes >= 16384 && limits.group_size >= 256 && limits.group_size_x >= 256);
  CHECK(limits.groups_per_dimension >= 65535 && limits.texture_1d >= 8192);
  has_timestamps = f->AdapterHasFeature(adapter, WGPU_FEATURE_TIMESTAMP_QUERY);
  CHECK(!f->AdapterHasFeature(adapter, 0x7fff));
  const uint32_t features[] = {WGPU_FEATURE_TIMESTAMP_QUERY};
  const WGPUDeviceDescriptor wanted = {.n_features = has_timestamps,
                                       .features = features,
                                       .limits = &limits,
                                       .lost = INFO(on_lost),
                                       .error = {.callback = on_error, .user1 = &token, .user2 = &seen}};
  WGPUDevice made[2];
  for (int i = 0; i < 2; i++) { /* an adapter of a browser makes one device only, which gpu.js hides */
    seen.n = 0;
    f->AdapterRequestDevice(adapter, &wanted, (WGPURequestDeviceCallbackInfo)INFO(on_device));
    WAIT(seen.n);
    CHECK(seen.status == WGPU_STATUS_SUCCESS && seen.handle);
    made[i] = seen.handle;
  }
  device = made[0];
  f->DeviceRelease(made[1]);
  queue = f->DeviceGetQueue(device);
  CHECK(queue);
  return 0;
}

/* ---- a dispatch ---- */

enum { N = 1000 };

static const char text[] = "struct P { n : u32 }\n"
                           "@group(0) @binding(0) var<storage, read_write> x : array<u32>;\n"
                           "@group(0) @binding(1) var<storage, read_write> y : array<u32>;\n"
                           "@group(1) @binding(0) var<uniform> p : P;\n"
                           "@id(0) override GROUP : u32 = 1u; @id(1) override FACTOR : u32 = 1u;\n"
                           "@compute @workgroup_size(GROUP) fn scale(@builtin(global_invocation_id) g : vec3<u32>) {\n"
                           "  if (g.x < p.n) { y[g.x] = x[g.x] * FACTOR + 1u; }\n"
                           "}\n";

static WGPUBindGroupLayout make_layout(uint32_t n, uint32_t type) {
  WGPUBindGroupLayoutEntry entries[2] = {{0}};
  for (uint32_t i = 0; i < n; i++)
    entries[i] = (WGPUBindGroupLayoutEntry){.binding = i,
                                            .visibility = WGPU_STAGE_COMPUTE,
                                            .buffer = {.type = type, .is_dynamic = type == WGPU_BINDING_UNIFORM}};
  return f->DeviceCreateBindGroupLayout(device, &(WGPUBindGroupLayoutDescriptor){.n = n, .entries = entries});
}

static WGPUBuffer make_buffer(uint64_t bytes, WGPUFlags usage) {
  return f->DeviceCreateBuffer(device, &(WGPUBufferDescriptor){.usage = usage, .bytes = bytes});
}

/* With `later`, the pipeline comes with the callback. */
static WGPUComputePipeline make_pipeline(const WGPUBindGroupLayout *layouts, const char *code, bool later) {
  WGPUShaderSourceWGSL source = {.chain = {.type = WGPU_TYPE_SHADER_SOURCE_WGSL}, .code = {code, SIZE_MAX}};
  WGPUShaderModule module =
    f->DeviceCreateShaderModule(device, &(WGPUShaderModuleDescriptor){.chain = &source.chain, .label = {"scale", 5}});
  WGPUPipelineLayout layout =
    f->DeviceCreatePipelineLayout(device, &(WGPUPipelineLayoutDescriptor){.n = 2, .groups = layouts});
  const WGPUConstantEntry constants[] = {{.key = {"0", 1}, .value = 64}, {.key = {"1", 1}, .value = 3}};
  const WGPUComputePipelineDescriptor info = {
    .layout = layout,
    .compute = {.module = module, .entry = {"scale", SIZE_MAX}, .n_constants = 2, .constants = constants}};
  WGPUComputePipeline made = later ? NULL : f->DeviceCreateComputePipeline(device, &info);
  if (later)
    f->DeviceCreateComputePipelineAsync(device, &info, (WGPUCreateComputePipelineAsyncCallbackInfo)INFO(on_pipeline));
  f->ShaderModuleRelease(module);
  f->PipelineLayoutRelease(layout);
  return made;
}

static void dispatch(WGPUCommandEncoder e, WGPUComputePipeline p, const WGPUBindGroup *groups, WGPUQuerySet times) {
  const WGPUPassTimestampWrites writes = {.set = times, .begin = 0, .end = 1};
  const WGPUComputePassDescriptor info = {.timestamps = times ? &writes : NULL};
  const uint32_t offset = 256;
  WGPUComputePassEncoder pass = f->CommandEncoderBeginComputePass(e, &info);
  f->ComputePassEncoderSetPipeline(pass, p);
  f->ComputePassEncoderSetBindGroup(pass, 0, groups[0], 0, NULL);
  f->ComputePassEncoderSetBindGroup(pass, 1, groups[1], 1, &offset);
  f->ComputePassEncoderDispatchWorkgroups(pass, (N + 63) / 64, 1, 1);
  f->ComputePassEncoderEnd(pass);
  f->ComputePassEncoderRelease(pass);
}

EXPORT(test_dispatch) {
  static uint32_t values[N + 64], found[N + 64];
  const uint64_t bytes = sizeof values;
  const WGPUFlags usage = WGPU_BUFFER_STORAGE | WGPU_BUFFER_COPY_SRC | WGPU_BUFFER_COPY_DST;
  const uint32_t n = N;
  uint64_t times[2] = {0};
  WGPUBuffer x = make_buffer(bytes, usage), y = make_buffer(bytes, usage),
             back = make_buffer(bytes, WGPU_BUFFER_MAP_READ | WGPU_BUFFER_COPY_DST),
             p = make_buffer(512, WGPU_BUFFER_UNIFORM | WGPU_BUFFER_COPY_DST),
             ticks = make_buffer(256, WGPU_BUFFER_QUERY_RESOLVE | WGPU_BUFFER_COPY_SRC),
             ticks_back = make_buffer(256, WGPU_BUFFER_MAP_READ | WGPU_BUFFER_COPY_DST);
  for (uint32_t i = 0; i < N + 64; i++) values[i] = i * 7;
  const WGPUBindGroupLayout layouts[] = {make_layout(2, WGPU_BINDING_STORAGE), make_layout(1, WGPU_BINDING_UNIFORM)};
  const WGPUBindGroupEntry windows[] = {{.binding = 0, .buffer = x, .offset = 0, .bytes = bytes},
                                        {.binding = 1, .buffer = y, .offset = 0, .bytes = bytes}};
  const WGPUBindGroupEntry params = {.buffer = p, .bytes = 256};
  const WGPUBindGroup groups[] = {
    f->DeviceCreateBindGroup(device, &(WGPUBindGroupDescriptor){.layout = layouts[0], .n = 2, .entries = windows}),
    f->DeviceCreateBindGroup(device, &(WGPUBindGroupDescriptor){.layout = layouts[1], .n = 1, .entries = &params})};
  WGPUComputePipeline pipeline = make_pipeline(layouts, text, false);
  CHECK(pipeline && groups[0] && groups[1]);
  f->ComputePipelineRelease(pipeline);
  seen.n = 0;
  make_pipeline(layouts, text, true);
  WAIT(seen.n == 1);
  CHECK(seen.status == WGPU_STATUS_SUCCESS && seen.handle);
  pipeline = seen.handle;
  WGPUQuerySet set =
    has_timestamps ? f->DeviceCreateQuerySet(device, &(WGPUQuerySetDescriptor){.type = WGPU_QUERY_TIMESTAMP, .n = 2})
                   : NULL;
  f->QueueWriteBuffer(queue, x, 0, values, bytes);
  f->QueueWriteBuffer(queue, p, 256, &n, 4);
  WGPUCommandEncoder e = f->DeviceCreateCommandEncoder(device, NULL);
  f->CommandEncoderClearBuffer(e, y, 0, bytes);
  dispatch(e, pipeline, groups, set);
  if (set) f->CommandEncoderResolveQuerySet(e, set, 0, 2, ticks, 0);
  f->CommandEncoderCopyBufferToBuffer(e, y, 0, back, 0, bytes);
  f->CommandEncoderCopyBufferToBuffer(e, ticks, 0, ticks_back, 0, 16);
  WGPUCommandBuffer commands = f->CommandEncoderFinish(e, NULL);
  f->CommandEncoderRelease(e);
  f->QueueSubmit(queue, 1, &commands);
  f->CommandBufferRelease(commands);
  seen.n = 0;
  f->QueueOnSubmittedWorkDone(queue, (WGPUDoneCallbackInfo)INFO(on_done));
  WAIT(seen.n == 1);
  CHECK(seen.status == WGPU_STATUS_SUCCESS);
  f->BufferMapAsync(back, WGPU_MAP_MODE_READ, 0, bytes, (WGPUDoneCallbackInfo)INFO(on_done));
  f->BufferMapAsync(ticks_back, WGPU_MAP_MODE_READ, 0, 16, (WGPUDoneCallbackInfo)INFO(on_done));
  WAIT(seen.n == 3);
  CHECK(seen.status == WGPU_STATUS_SUCCESS);
  CHECK(f->BufferReadMappedRange(back, 0, found, 8) == WGPU_STATUS_SUCCESS); /* in two parts */
  CHECK(f->BufferReadMappedRange(back, 8, found + 2, bytes - 8) == WGPU_STATUS_SUCCESS);
  CHECK(f->BufferReadMappedRange(ticks_back, 0, times, 16) == WGPU_STATUS_SUCCESS);
  f->BufferUnmap(back);
  for (uint32_t i = 0; i < N + 64; i++) CHECK(found[i] == (i < N ? i * 21 + 1 : 0));
  printf("the device counted %llu ns\n", (unsigned long long)(times[1] - times[0]));
  CHECK(!has_timestamps || times[1] >= times[0]);
  const WGPUBuffer all[] = {x, y, back, p, ticks, ticks_back};
  for (int i = 0; i < 6; i++) {
    f->BufferDestroy(all[i]);
    f->BufferRelease(all[i]);
  }
  for (int i = 0; i < 2; i++) {
    f->BindGroupRelease(groups[i]);
    f->BindGroupLayoutRelease(layouts[i]);
  }
  f->ComputePipelineRelease(pipeline);
  if (set) f->QuerySetRelease(set);
  return 0;
}

/* ---- errors ---- */

EXPORT(test_errors) {
  const WGPUBindGroupLayout layouts[] = {make_layout(2, WGPU_BINDING_STORAGE), make_layout(1, WGPU_BINDING_UNIFORM)};
  seen.n = 0;
  f->DevicePushErrorScope(device, WGPU_FILTER_VALIDATION);
  f->DevicePushErrorScope(device, WGPU_FILTER_OUT_OF_MEMORY);
  WGPUComputePipeline pipeline = make_pipeline(layouts, "fn scale(", false);
  f->DevicePopErrorScope(device, (WGPUPopErrorScopeCallbackInfo)INFO(on_scope));
  WAIT(seen.n == 1);
  CHECK(seen.status == WGPU_STATUS_SUCCESS && seen.type == WGPU_ERROR_NONE);
  f->DevicePopErrorScope(device, (WGPUPopErrorScopeCallbackInfo)INFO(on_scope));
  WAIT(seen.n == 2);
  CHECK(seen.status == WGPU_STATUS_SUCCESS && seen.type == WGPU_ERROR_VALIDATION && seen.message[0]);
  f->ComputePipelineRelease(pipeline);
  f->DevicePushErrorScope(device, WGPU_FILTER_VALIDATION); /* of the module */
  make_pipeline(layouts, "fn scale(", true);
  f->DevicePopErrorScope(device, (WGPUPopErrorScopeCallbackInfo)INFO(on_scope));
  seen.n = 0;
  WAIT(seen.n == 2); /* the pipeline's own answer is a failure, too */
  /* outside of a scope: the device's own callback, later */
  WGPUBuffer wrong = make_buffer(16, WGPU_BUFFER_MAP_READ | WGPU_BUFFER_STORAGE);
  f->QueueOnSubmittedWorkDone(queue, (WGPUDoneCallbackInfo)INFO(on_done));
  WAIT(seen.n == 4); /* and the two before */
  /* a call that throws in JavaScript: the same callback, at once */
  seen.n = 0;
  uint32_t word = 0;
  f->QueueWriteBuffer(queue, wrong, 2, &word, 3);
  CHECK(seen.n == 1 && seen.type == WGPU_ERROR_VALIDATION && seen.handle == device);
  CHECK(strstr(seen.message, "wgpuQueueWriteBuffer"));
  f->BufferRelease(wrong);
  for (int i = 0; i < 2; i++) f->BindGroupLayoutRelease(layouts[i]);
  return 0;
}

EXPORT(test_loss) {
  seen.n = 0;
  f->DeviceDestroy(device);
  f->QueueOnSubmittedWorkDone(queue, (WGPUDoneCallbackInfo)INFO(on_done));
  WAIT(seen.n == 2); /* in either order */
  f->QueueRelease(queue);
  f->DeviceRelease(device);
  f->AdapterRelease(adapter);
  f->InstanceRelease(instance);
  return 0;
}
