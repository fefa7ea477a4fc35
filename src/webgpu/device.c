/* Opens a device, and the variants of it that a name can select.
 *
 * "webgpu:window=65536" is a variant: words separated by commas, which make the device smaller for tests:
 *
 *   minimal    WebGPU's default limits, which every browser has, and no optional features
 *   block=N    blocks of at most N bytes
 *   window=N   bindings of at most N bytes
 *   submit=N   submissions of at most N units of work
 *   subgroup=N the size of subgroups, where the adapter reports a range and the driver is known to take this one;
 *              1: they are not used */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gpu/device_words.h"
#include "webgpu/moves.h"
#include "webgpu/queue.h"
#include "webgpu/wg.h"

/* ---- buffers ---- */

rlx_status wg_buffer_create(wg_device *d, uint64_t bytes, WGPUFlags usage, WGPUBuffer *out) {
  wg_guard g;
  wg_guard_begin(d, &g, NULL);
  *out = d->f->DeviceCreateBuffer(d->handle, &(WGPUBufferDescriptor){.usage = usage, .bytes = bytes});
  rlx_status s = wg_guard_wait(d, &g, "%llu bytes of device memory", (unsigned long long)bytes);
  if (!s && !*out) s = RLX_FAIL(RLX_NO_MEMORY, "webgpu: %llu bytes of device memory", (unsigned long long)bytes);
  if (!s) return RLX_OK;
  wg_buffer_release(d, *out);
  *out = NULL;
  return s;
}

void wg_buffer_release(const wg_device *d, WGPUBuffer b) {
  if (b) d->f->BufferRelease(b);
}

/* ---- variants ---- */

typedef struct variant { /* in the order of the words; 0: absent, or the device's own value */
  uint64_t minimal, block, window, submit, subgroup;
} variant;
static const char *const words[] = {"minimal", "block=", "window=", "submit=", "subgroup="};
_Static_assert(sizeof(variant) == sizeof words / sizeof *words * sizeof(uint64_t), "a field for each word");

static void min(uint64_t *v, uint64_t limit) {
  if (limit && limit < *v) *v = limit;
}

static void apply_variant(wg_device *d, const variant *v) {
  rlx_device_info *info = &d->base.info;
  gpu_caps *c = &d->caps;
  d->is_minimal = v->minimal;
  if (v->minimal) { /* the defaults of the specification */
    *c = (gpu_caps){.max_group = c->max_group < 256 ? c->max_group : 256,
                    .max_shared = 16384,
                    .max_groups_x = 65535,
                    .max_window_bytes = c->max_window_bytes,
                    .units = c->units,
                    .no_overlap = c->no_overlap,
                    .device_class = c->device_class};
    min(&c->max_window_bytes, 128 << 20);
    min(&info->max_block_bytes, 256 << 20);
    info->view_align = 256;
    gpu_caps_text(c, info->features, sizeof info->features);
  }
  if (v->subgroup) {
    c->subgroup = v->subgroup > 1 && v->subgroup <= 128 && d->physical->subgroup_feature ? (uint32_t)v->subgroup : 0;
    gpu_caps_text(c, info->features, sizeof info->features);
  }
  d->max_buffer_bytes = info->max_block_bytes;
  min(&info->max_block_bytes, v->block);
  min(&c->max_window_bytes, v->window);
  c->max_window_bytes -= c->max_window_bytes > 16 ? c->max_window_bytes % 16 : 0;
  info->max_window_bytes = c->max_window_bytes;
  d->submit_cost = v->submit ? v->submit : (uint64_t)gpu_tuned(c)->submit_millions * 1000000;
  d->slot_bytes = gpu_tuned(c)->staging_slot_bytes;
}

/* ---- opening ---- */

typedef struct request {
  WGPUDevice device;
  atomic_bool is_done;
  char why[200];
} request;

static void on_device(uint32_t status, WGPUDevice device, WGPUStringView message, void *user1, void *user2) {
  request *r = user1;
  (void)user2;
  if (status == WGPU_STATUS_SUCCESS) r->device = device;
  else wg_copy_line(r->why, sizeof r->why, message);
  atomic_store(&r->is_done, true);
}

static uint32_t list_features(wg_device *d, uint32_t *out) {
  uint32_t n = 0;
  d->has_timestamps = !d->is_minimal && d->f->AdapterHasFeature(d->physical->handle, WGPU_FEATURE_TIMESTAMP_QUERY);
  if (d->has_timestamps) out[n++] = WGPU_FEATURE_TIMESTAMP_QUERY;
  if (d->caps.has_f16) out[n++] = WGPU_FEATURE_SHADER_F16;
  if (d->caps.subgroup) out[n++] = d->physical->subgroup_feature;
  if (d->f->AdapterHasFeature(d->physical->handle, WGPU_FEATURE_DAWN_SYNCHRONIZATION))
    out[n++] = WGPU_FEATURE_DAWN_SYNCHRONIZATION;
  return n;
}

static rlx_status request_device(wg_device *d) {
  uint32_t features[8];
  request r = {0};
  WGPUDeviceDescriptor info = {.features = features,
                               .n_features = list_features(d, features),
                               .limits = d->is_minimal ? NULL : &d->physical->limits,
                               .lost = {.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = wg_on_lost, .user1 = d},
                               .error = {.callback = wg_on_error, .user1 = d}};
  d->f->AdapterRequestDevice(
    d->physical->handle, &info,
    (WGPURequestDeviceCallbackInfo){.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_device, .user1 = &r});
  while (!atomic_load(&r.is_done)) wg_pump(d);
  d->handle = r.device;
  if (!d->handle)
    return RLX_FAIL(RLX_UNSUPPORTED, "webgpu: opening %.100s: %s", d->base.info.name, r.why[0] ? r.why : "refused");
  d->queue = d->f->DeviceGetQueue(d->handle);
  return RLX_OK;
}

static rlx_status fill(wg_device *d, const rlx_open_options *options) {
  variant v;
  RLX_TRY(
    gpu_device_words("webgpu", options ? options->variant : NULL, words, sizeof words / sizeof *words, &v.minimal));
  apply_variant(d, &v);
  if (!rlx_mutex_init(&d->lock)) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a mutex");
  d->has_lock = true;
  RLX_TRY(request_device(d));
  RLX_TRY(wg_layouts_create(d));
  RLX_TRY(wg_buffer_create(d, WG_ALIGN * GPU_MAX_WINDOWS, WGPU_BUFFER_STORAGE, &d->nothing));
  if (d->caps.subgroup && !wg_subgroups_work(d)) {
    d->caps.subgroup = 0;
    gpu_caps_text(&d->caps, d->base.info.features, sizeof d->base.info.features);
  }
  const gpu_pipeline_maker *maker = d->is_late ? &wg_late_pipeline_maker : &wg_pipeline_maker;
  RLX_TRY(gpu_pipelines_init(&d->pipelines, maker, d, gpu_column_wgsl, &d->caps));
  return wg_moves_init(d);
}

rlx_status wg_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  *out = NULL;
  const wg_loader *l = wg_loader_get();
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(rlx_backend_webgpu.describe(index, &info));
  wg_device *d = rlx_new(wg_device);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a device");
  d->base.backend = &rlx_backend_webgpu;
  d->base.info = info;
  d->loader = l;
  d->f = &l->api;
  d->physical = &l->devices[index];
  d->caps = d->physical->caps;
  d->is_late = !l->is_native;
  rlx_status s = fill(d, options);
  if (s) wg_device_close(&d->base);
  else *out = &d->base;
  return s;
}

void wg_device_close(rlx_device *base) {
  if (!base) return;
  wg_device *d = wg_device_of(base);
  rlx_saved_message message;
  rlx_message_save(&message);
  if (d->handle) {
    wg_settle(d);
    gpu_pipelines_deinit(&d->pipelines);
    wg_moves_deinit(d);
    wg_reads_deinit(d);
    wg_layouts_destroy(d);
    wg_buffer_release(d, d->nothing);
    if (d->queue) d->f->QueueRelease(d->queue);
    atomic_store(&d->lost_begun, true); /* some libraries report the end as a loss */
    d->f->DeviceRelease(d->handle);
  }
  if (d->has_lock) rlx_mutex_destroy(&d->lock);
  rlx_message_restore(&message);
  rlx_mem_free(d);
}
