/* Makes compute pipelines of WGSL texts. Specialisation constants are the texts' overrides, set by number.
 *
 * Group 0 of a pipeline has the windows, all of them read and written: WebGPU counts the use of a buffer as a whole,
 * and the windows of a dispatch may be of one. Group 1 has the parameters, with an offset that is set with each
 * dispatch. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "webgpu/wg.h"

typedef struct wg_pipeline {
  gpu_pipeline base;
  WGPUComputePipeline handle;
  atomic_bool is_pending; /* a browser compiles it */
  wg_late failed;         /* why it was not made */
} wg_pipeline;

WGPUComputePipeline wg_pipeline_handle(const gpu_pipeline *p) { return ((const wg_pipeline *)p)->handle; }

/* ---- layouts ---- */

static WGPUBindGroupLayout make_group(const wg_device *d, uint32_t n, uint32_t type) {
  WGPUBindGroupLayoutEntry entries[GPU_MAX_WINDOWS] = {{0}};
  for (uint32_t i = 0; i < n; i++) {
    entries[i].binding = i;
    entries[i].visibility = WGPU_STAGE_COMPUTE;
    entries[i].buffer = (WGPUBufferBindingLayout){.type = type, .is_dynamic = type == WGPU_BINDING_UNIFORM};
  }
  return d->f->DeviceCreateBindGroupLayout(d->handle, &(WGPUBindGroupLayoutDescriptor){.n = n, .entries = entries});
}

rlx_status wg_layouts_create(wg_device *d) {
  wg_guard g;
  wg_guard_begin(d, &g, NULL);
  d->params_group = make_group(d, 1, WGPU_BINDING_UNIFORM);
  for (uint32_t n = 1; n <= GPU_MAX_WINDOWS; n++) {
    d->window_groups[n] = make_group(d, n, WGPU_BINDING_STORAGE);
    const WGPUBindGroupLayout groups[] = {d->window_groups[n], d->params_group};
    d->layouts[n] =
      d->f->DeviceCreatePipelineLayout(d->handle, &(WGPUPipelineLayoutDescriptor){.n = 2, .groups = groups});
  }
  return wg_guard_wait(d, &g, "layouts of bindings");
}

void wg_layouts_destroy(wg_device *d) {
  for (uint32_t n = 1; n <= GPU_MAX_WINDOWS; n++) {
    if (d->layouts[n]) d->f->PipelineLayoutRelease(d->layouts[n]);
    if (d->window_groups[n]) d->f->BindGroupLayoutRelease(d->window_groups[n]);
  }
  if (d->params_group) d->f->BindGroupLayoutRelease(d->params_group);
}

/* ---- pipelines ---- */

typedef struct source {
  const char *text, *entry;
  size_t bytes;
  uint32_t n_windows, n_constants;
  const WGPUConstantEntry *constants;
} source;

/* The first lines of a text with subgroups (tools/kernels). */
static const char subgroup_lines[] = "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n";

/* Kernels check their indices themselves (kernels.md), as for the other GPUs, so a library that can leave its own
 * checks out does. */
static WGPUShaderModule make_module(const wg_device *d, const source *s) {
  const size_t skip = d->loader->refuses_subgroup_lines && !strncmp(s->text, subgroup_lines, sizeof subgroup_lines - 1)
                        ? sizeof subgroup_lines - 1
                        : 0;
  WGPUShaderSourceWGSL code = {.chain = {.type = WGPU_TYPE_SHADER_SOURCE_WGSL},
                               .code = {s->text + skip, s->bytes == SIZE_MAX ? SIZE_MAX : s->bytes - skip}};
  const WGPUShaderModuleDescriptor info = {.chain = &code.chain, .label = wg_text(s->entry)};
  return d->f->DeviceCreateShaderModuleTrusted ? d->f->DeviceCreateShaderModuleTrusted(d->handle, &info, 0)
                                               : d->f->DeviceCreateShaderModule(d->handle, &info);
}

static WGPUComputePipelineDescriptor describe(const wg_device *d, const source *s, WGPUShaderModule module) {
  return (WGPUComputePipelineDescriptor){
    .label = wg_text(s->entry),
    .layout = d->layouts[s->n_windows],
    .compute = {
      .module = module, .entry = wg_text(s->entry), .n_constants = s->n_constants, .constants = s->constants}};
}

/* NULL: `failed` has the error. It may come later, and then the pipeline is of no use. */
static WGPUComputePipeline make_pipeline(wg_device *d, const source *s, wg_late *failed) {
  WGPUComputePipeline made = NULL;
  wg_guard g;
  wg_guard_begin(d, &g, failed);
  WGPUShaderModule module = make_module(d, s);
  const WGPUComputePipelineDescriptor info = describe(d, s, module);
  if (module && !g.type) made = d->f->DeviceCreateComputePipeline(d->handle, &info);
  if (module) d->f->ShaderModuleRelease(module);
  const bool is_made = made && !g.type;
  if (!is_made && !g.type) g.type = WGPU_ERROR_INTERNAL;
  wg_guard_leave(d, &g, "kernel %s", s->entry);
  if (is_made) return made;
  if (made) d->f->ComputePipelineRelease(made);
  return NULL;
}

static void on_pipeline(uint32_t status, WGPUComputePipeline made, WGPUStringView message, void *user1, void *user2) {
  wg_pipeline *q = user1;
  char what[96];
  (void)user2;
  snprintf(what, sizeof what, "kernel %s", q->base.kernel->name);
  if (status == WGPU_STATUS_SUCCESS) q->handle = made;
  else wg_late_put(&q->failed, WGPU_ERROR_VALIDATION, what, message);
  atomic_store(&q->is_pending, false);
}

/* In a browser, which compiles several at once. The module's own error is the one that says more, so it comes first. */
static void begin_pipeline(wg_device *d, const source *s, wg_pipeline *q) {
  wg_guard g;
  wg_guard_begin(d, &g, &q->failed);
  WGPUShaderModule module = make_module(d, s);
  wg_guard_leave(d, &g, "kernel %s", s->entry);
  const WGPUComputePipelineDescriptor info = describe(d, s, module);
  atomic_store(&q->is_pending, true);
  d->f->DeviceCreateComputePipelineAsync(
    d->handle, &info,
    (WGPUCreateComputePipelineAsyncCallbackInfo){
      .mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_pipeline, .user1 = q});
  if (module) d->f->ShaderModuleRelease(module);
}

rlx_status wg_pipeline_create(wg_device *d, const char *text, const char *entry, uint32_t n_windows,
                              WGPUComputePipeline *out) {
  const source s = {.text = text, .bytes = SIZE_MAX, .entry = entry, .n_windows = n_windows};
  wg_late failed = {0};
  *out = make_pipeline(d, &s, &failed);
  wg_answers_await(d);
  return wg_late_status(d, &failed);
}

bool wg_subgroups_work(wg_device *d) {
  static const char text[] = "enable subgroups;\ndiagnostic(off, subgroup_uniformity);\n"
                             "@group(0) @binding(0) var<storage, read_write> x : array<u32>;\n"
                             "@compute @workgroup_size(128) fn probe(@builtin(subgroup_size) size : u32,\n"
                             "    @builtin(subgroup_invocation_id) lane : u32, @builtin(subgroup_id) index : u32) {\n"
                             "  x[index] = subgroupAdd(lane) + subgroupShuffleXor(size, 1u);\n"
                             "}\n";
  WGPUComputePipeline made;
  rlx_saved_message message;
  rlx_message_save(&message);
  const bool works = wg_pipeline_create(d, text, "probe", 1, &made) == RLX_OK;
  if (made) d->f->ComputePipelineRelease(made);
  if (!works) rlx_log_write(RLX_LOG_INFO, "webgpu: %s: no subgroups: %s", d->base.info.name, rlx_message());
  rlx_message_restore(&message);
  return works;
}

static int compile(gpu_pipelines *p, gpu_pipeline *base) {
  wg_pipeline *q = (wg_pipeline *)base;
  const gpu_kernel *k = base->kernel;
  const gpu_code *code;
  char keys[GPU_MAX_CONSTANTS + 1][4];
  WGPUConstantEntry constants[GPU_MAX_CONSTANTS + 1];
  if (gpu_codes_get(&p->codes, k, &code)) return RLX_NO_MEMORY;
  for (uint32_t i = 0; i <= k->n_constants; i++) {
    snprintf(keys[i], sizeof keys[i], "%u", (unsigned)(i & 127));
    constants[i] = (WGPUConstantEntry){.key = wg_text(keys[i]), .value = i ? base->constants[i - 1] : base->group_size};
  }
  const source s = {.text = code->text,
                    .bytes = code->n,
                    .entry = k->name,
                    .n_windows = k->n_windows,
                    .n_constants = k->n_constants + 1,
                    .constants = constants};
  wg_device *d = p->device;
  if (d->f->DeviceCreateComputePipelineAsync) {
    begin_pipeline(d, &s, q);
    return RLX_OK;
  }
  q->handle = make_pipeline(d, &s, &q->failed);
  return q->handle ? RLX_OK : RLX_UNSUPPORTED;
}

/* Where errors come late: all pipelines are begun before the first is waited for. */
static int finish(gpu_pipelines *p, gpu_pipeline *base) {
  wg_pipeline *q = (wg_pipeline *)base;
  while (atomic_load(&q->is_pending)) wg_pump(p->device);
  wg_answers_await(p->device);
  return wg_late_is(&q->failed) ? RLX_UNSUPPORTED : RLX_OK;
}

static rlx_status fail(gpu_pipelines *p, const gpu_pipeline *base, int code) {
  if (code == RLX_NO_MEMORY) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: the text of kernel %s", base->kernel->name);
  return wg_late_status(p->device, &((const wg_pipeline *)base)->failed);
}

static void destroy(gpu_pipelines *p, gpu_pipeline *base) {
  const wg_device *d = p->device;
  const wg_pipeline *q = (const wg_pipeline *)base;
  if (q->handle) d->f->ComputePipelineRelease(q->handle);
}

#define MAKER                                                                                                          \
  .name = "webgpu", .span = "webgpu pipelines", .struct_bytes = sizeof(wg_pipeline), .compile = compile, .fail = fail, \
  .destroy = destroy
const gpu_pipeline_maker wg_pipeline_maker = {MAKER};
const gpu_pipeline_maker wg_late_pipeline_maker = {MAKER, .finish = finish};
