/* Opens a device, and the variants of it that a name can select.
 *
 * "webgpu:window=65536" is a variant: words separated by commas, which make the device smaller for tests:
 *
 *   minimal    WebGPU's default limits, which every browser has, and no optional features
 *   block=N    blocks of at most N bytes
 *   window=N   bindings of at most N bytes
 *   submit=N   submissions of at most N units of work */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gpu/device_words.h"
#include "webgpu/moves.h"
#include "webgpu/queue.h"
#include "webgpu/wg.h"

/* ---- errors ---- */

static _Thread_local wg_guard *innermost;

/* One line of the library's text, which has many. */
static void copy_line(char *out, size_t bytes, WGPUStringView text) {
  const size_t n = !text.data ? 0 : text.length == SIZE_MAX ? strlen(text.data) : text.length;
  size_t at = 0;
  for (size_t i = 0; i < n && at + 1 < bytes; i++) {
    const bool is_space = (unsigned char)text.data[i] <= ' ';
    if (!is_space) out[at++] = text.data[i];
    else if (at && out[at - 1] != ' ') out[at++] = ' ';
  }
  while (at && out[at - 1] == ' ') at--;
  out[at] = 0;
}

static void lose(wg_device *d, const char *why) {
  if (atomic_exchange(&d->lost_begun, true)) return;
  snprintf(d->lost_why, sizeof d->lost_why, "%s", why);
  atomic_store(&d->base.is_lost, true);
  rlx_log_write(RLX_LOG_ERROR, "webgpu: %s: %s: the device is lost", d->base.info.name, why);
}

static void on_lost(WGPUDevice const *device, uint32_t reason, WGPUStringView message, void *user1, void *user2) {
  char why[200];
  (void)device, (void)user2;
  if (reason == WGPU_LOST_CALLBACK_CANCELLED) return; /* the device is closed */
  copy_line(why, sizeof why, message);
  lose(user1, why[0] ? why : "no reason was reported");
}

static void on_error(WGPUDevice const *device, uint32_t type, WGPUStringView message, void *user1, void *user2) {
  const wg_device *d = user1;
  wg_guard *g = innermost;
  char text[sizeof g->message];
  (void)device, (void)user2;
  copy_line(text, sizeof text, message);
  if (!g) rlx_log_write(RLX_LOG_ERROR, "webgpu: %s: %s", d->base.info.name, text);
  else if (!g->type) {
    g->type = type ? type : WGPU_ERROR_INTERNAL;
    memcpy(g->message, text, sizeof text);
  }
}

void wg_guard_begin(wg_guard *g) {
  *g = (wg_guard){.outer = innermost};
  innermost = g;
}

bool wg_guard_drop(wg_guard *g) {
  innermost = g->outer;
  return g->type != 0;
}

rlx_status wg_fail(wg_device *d, const wg_guard *g, const char *what) {
  if (atomic_load(&d->base.is_lost)) return RLX_FAIL(RLX_DEVICE_LOST, "webgpu: %s: %s", what, d->lost_why);
  if (g->type == WGPU_ERROR_OUT_OF_MEMORY)
    return RLX_FAIL(RLX_NO_MEMORY, "webgpu: %s: the device is out of memory", what);
  return RLX_FAIL(RLX_UNSUPPORTED, "webgpu: %s: %s", what, g->message);
}

rlx_status wg_guard_end(wg_device *d, wg_guard *g, const char *fmt, ...) {
  char what[192];
  if (!wg_guard_drop(g)) return RLX_OK;
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(what, sizeof what, fmt, args);
  va_end(args);
  return wg_fail(d, g, what);
}

rlx_status wg_check(wg_device *d) {
  if (!atomic_load(&d->base.is_lost)) return RLX_OK;
  return RLX_FAIL(RLX_DEVICE_LOST, "webgpu: %.100s was lost before (%s); a new session opens it anew",
                  d->base.info.name, d->lost_why);
}

/* ---- buffers ---- */

rlx_status wg_buffer_create(wg_device *d, uint64_t bytes, WGPUFlags usage, WGPUBuffer *out) {
  wg_guard g;
  wg_guard_begin(&g);
  *out = d->f->DeviceCreateBuffer(d->handle, &(WGPUBufferDescriptor){.usage = usage, .bytes = bytes});
  rlx_status s = wg_guard_end(d, &g, "%llu bytes of device memory", (unsigned long long)bytes);
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
  uint64_t minimal, block, window, submit;
} variant;
static const char *const words[] = {"minimal", "block=", "window=", "submit="};
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
                    .device_class = c->device_class};
    min(&c->max_window_bytes, 128 << 20);
    min(&info->max_block_bytes, 256 << 20);
    info->view_align = 256;
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
  else copy_line(r->why, sizeof r->why, message);
  atomic_store(&r->is_done, true);
}

static rlx_status request_device(wg_device *d) {
  const uint32_t f16 = WGPU_FEATURE_SHADER_F16;
  request r = {0};
  WGPUDeviceDescriptor info = {.lost = {.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_lost, .user1 = d},
                               .error = {.callback = on_error, .user1 = d}};
  if (!d->is_minimal) {
    info.limits = &d->physical->limits;
    info.features = &f16;
    info.n_features = d->caps.has_f16;
  }
  d->f->AdapterRequestDevice(
    d->physical->handle, &info,
    (WGPURequestDeviceCallbackInfo){.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_device, .user1 = &r});
  while (!atomic_load(&r.is_done)) d->f->InstanceProcessEvents(d->loader->instance);
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
  RLX_TRY(wg_buffer_create(d, WG_ALIGN, WGPU_BUFFER_STORAGE, &d->nothing));
  RLX_TRY(gpu_pipelines_init(&d->pipelines, &wg_pipeline_maker, d, gpu_column_wgsl, &d->caps));
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
    d->f->DeviceRelease(d->handle);
  }
  if (d->has_lock) rlx_mutex_destroy(&d->lock);
  rlx_message_restore(&message);
  rlx_mem_free(d);
}
