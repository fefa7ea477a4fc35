/* Starts the library and describes its adapters. wgpu-native lists them all; other libraries, and browsers, offer one,
 * the one that they think best.
 *
 * A library has threads of its own and guarantees nothing to a forked child. So if the parent has started it, a child
 * reports that there is none. */
#include "webgpu/loader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/log.h"
#include "base/os.h"
#include "base/process.h"

enum {
  MIN_STORAGE = 8,       /* storage buffers per stage: the windows of a kernel */
  MAX_ALIGN = GPU_ALIGN, /* of windows: what plans may rely on */
  PARAMS_BYTES = 128     /* of a kernel's parameters, a uniform buffer */
};

static wg_loader the_loader;
static const wg_loader no_loader = {
  .why = "this process was forked from one that had started WebGPU, which no driver promises "
         "to survive: exec, or fork before the first device is opened or listed"};
static atomic_uint started_by; /* the number of the process that loaded it, plus 1; 0: nobody */

/* ---- adapters ---- */

static void copy_text(char *out, size_t bytes, WGPUStringView text) {
  const size_t n = !text.data ? 0 : text.length == SIZE_MAX ? strlen(text.data) : text.length;
  snprintf(out, bytes, "%.*s", (int)(n < bytes ? n : bytes - 1), text.data ? text.data : "");
}

/* Browsers often report no more than a vendor and an architecture. */
static void copy_name(wg_physical *p, const WGPUAdapterInfo *info) {
  char vendor[48], architecture[48];
  copy_text(p->name, sizeof p->name, info->device);
  if (!p->name[0]) copy_text(p->name, sizeof p->name, info->description);
  if (p->name[0]) return;
  copy_text(vendor, sizeof vendor, info->vendor);
  copy_text(architecture, sizeof architecture, info->architecture);
  snprintf(p->name, sizeof p->name, "%s%s%s", vendor[0] ? vendor : "a GPU", architecture[0] ? " " : "", architecture);
}

static const char *interface_name(uint32_t backend) {
  return backend == WGPU_BACKEND_VULKAN   ? "Vulkan"
         : backend == WGPU_BACKEND_METAL  ? "Metal"
         : backend == WGPU_BACKEND_D3D12  ? "Direct3D 12"
         : backend == WGPU_BACKEND_WEBGPU ? "a browser"
                                          : "another interface";
}

static uint64_t hash_text(uint64_t h, const char *text) {
  for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
  return h * 0x100000001b3u;
}

/* WebGPU reports no UUID. Version 8 of UUIDs is for such: made of the name and of the number among equal names, and
 * device/find.c knows that it is not the hardware's. */
static void make_uuid(const wg_loader *l, wg_physical *p) {
  uint32_t number = 0;
  for (uint32_t i = 0; i < l->n_devices; i++) number += strcmp(l->devices[i].name, p->name) == 0;
  const char digit[2] = {(char)('0' + number), 0};
  const uint64_t a = hash_text(hash_text(hash_text(0xcbf29ce484222325u, "webgpu"), p->name), digit),
                 b = hash_text(a, "2");
  snprintf(p->uuid, sizeof p->uuid, "%08x-%04x-8%03x-8%03x-%08x%04x", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
           (unsigned)(a & 0xfff), (unsigned)(b >> 48 & 0xfff), (unsigned)(b >> 16 & 0xffffffff),
           (unsigned)(b & 0xffff));
}

static void classify(wg_physical *p, uint32_t type) {
  p->rank = type == WGPU_ADAPTER_DISCRETE ? 0 : type == WGPU_ADAPTER_INTEGRATED ? 1 : 2;
  p->kind = p->rank == 0   ? RLX_DEVICE_DISCRETE
            : p->rank == 1 ? RLX_DEVICE_INTEGRATED
                           : RLX_DEVICE_SOFTWARE; /* including adapters of unknown type */
}

static uint32_t count_units(rlx_device_kind kind) { /* WebGPU does not report them */
  if (kind == RLX_DEVICE_DISCRETE) return 64;
  if (kind == RLX_DEVICE_INTEGRATED) return 16;
  return rlx_os_cores();
}

/* Kernels are chosen by the size of subgroups, so it must be one. */
static uint32_t subgroup_size(const wg_physical *p, const WGPUAdapterInfo *info) {
  const uint32_t n = info->min_subgroup;
  return p->subgroup_feature && n == info->max_subgroup && n >= 4 && n <= 128 && !(n & (n - 1)) ? n : 0;
}

static void fill_caps(const wg_loader *l, const WGPUAdapterInfo *info, wg_physical *p) {
  const WGPULimits *m = &p->limits;
  const uint64_t window = m->storage_binding < UINT32_MAX ? m->storage_binding : UINT32_MAX;
  for (uint32_t i = 0; i < 2 && !p->subgroup_feature; i++) {
    const uint32_t feature = i ? WGPU_FEATURE_SUBGROUPS : WGPU_FEATURE_NATIVE_SUBGROUP;
    if (l->api.AdapterHasFeature(p->handle, feature)) p->subgroup_feature = feature;
  }
  p->caps = (gpu_caps){
    .subgroup = subgroup_size(p, info),
    .max_group = m->group_size < m->group_size_x ? m->group_size : m->group_size_x,
    .max_shared = m->shared_bytes,
    .max_groups_x = m->groups_per_dimension,
    .max_window_bytes = window / 16 * 16,
    .units = count_units(p->kind),
    .has_f16 = l->api.AdapterHasFeature(p->handle, WGPU_FEATURE_SHADER_F16) != 0,
    .no_overlap = !l->is_native,
    .device_class = p->kind == RLX_DEVICE_DISCRETE     ? GPU_DISCRETE
                    : p->kind == RLX_DEVICE_INTEGRATED ? GPU_INTEGRATED
                                                       : GPU_SOFTWARE,
  };
  p->max_block_bytes = m->buffer_bytes / MAX_ALIGN * MAX_ALIGN;
  p->view_align = m->min_storage_align > 16 ? m->min_storage_align : 16;
}

/* False: `why` says what is missing. */
static bool probe(wg_loader *l, WGPUAdapter adapter, wg_physical *p) {
  WGPUAdapterInfo info = {0};
  char about[96];
  *p = (wg_physical){.handle = adapter};
  if (l->api.AdapterGetInfo(adapter, &info) != WGPU_STATUS_SUCCESS ||
      l->api.AdapterGetLimits(adapter, &p->limits) != WGPU_STATUS_SUCCESS) {
    snprintf(l->why, sizeof l->why, "the library does not describe an adapter that it lists");
    return false;
  }
  p->limits.chain = NULL;
  copy_name(p, &info);
  copy_text(about, sizeof about, info.description);
  snprintf(p->driver, sizeof p->driver, "%.40s on %s%s%.60s", l->library, interface_name(info.backend),
           about[0] ? ", " : "", about);
  classify(p, info.type);
  fill_caps(l, &info, p);
  l->api.AdapterInfoFreeMembers(info);
  make_uuid(l, p);
  if (p->caps.max_group >= 128 && p->caps.max_shared >= 16384 && p->limits.storage_buffers >= MIN_STORAGE &&
      p->view_align <= MAX_ALIGN && p->limits.min_uniform_align <= MAX_ALIGN &&
      p->limits.uniform_binding >= PARAMS_BYTES && p->limits.bind_groups >= 2)
    return true;
  snprintf(l->why, sizeof l->why, "%.80s offers less than WebGPU's default limits", p->name);
  return false;
}

/* Sorted by rank; insertion keeps the library's order among equals. */
static void add_device(wg_loader *l, const wg_physical *p) {
  uint32_t at = l->n_devices++;
  for (; at > 0 && l->devices[at - 1].rank > p->rank; at--) l->devices[at] = l->devices[at - 1];
  l->devices[at] = *p;
}

static void take_adapter(wg_loader *l, WGPUAdapter adapter) {
  wg_physical p;
  if (probe(l, adapter, &p)) {
    add_device(l, &p);
    return;
  }
  rlx_log_write(RLX_LOG_INFO, "webgpu: not used: %s", l->why);
  l->api.AdapterRelease(adapter);
}

static void list_adapters(wg_loader *l) {
  WGPUAdapter all[WG_MAX_DEVICES];
  const WGPUEnumerateAdapterOptions options = {.backends = WGPU_INSTANCE_BACKEND_PRIMARY};
  size_t n = l->api.InstanceEnumerateAdapters(l->instance, &options, NULL);
  if (n > WG_MAX_DEVICES) {
    rlx_log_write(RLX_LOG_WARN, "webgpu: %zu adapters, more than %d: none is used", n, WG_MAX_DEVICES);
    n = 0; /* the library fills the whole list */
  }
  if (n) l->api.InstanceEnumerateAdapters(l->instance, &options, all);
  for (size_t i = 0; i < n; i++) take_adapter(l, all[i]);
}

typedef struct adapter_request {
  WGPUAdapter adapter;
  atomic_bool is_done;
} adapter_request;

static void on_adapter(uint32_t status, WGPUAdapter adapter, WGPUStringView message, void *user1, void *user2) {
  adapter_request *r = user1;
  (void)message, (void)user2;
  if (status == WGPU_STATUS_SUCCESS) r->adapter = adapter;
  atomic_store(&r->is_done, true);
}

static void request_adapter(wg_loader *l) {
  adapter_request r = {0};
  l->api.InstanceRequestAdapter(
    l->instance, &(WGPURequestAdapterOptions){.power = WGPU_POWER_HIGH},
    (WGPURequestAdapterCallbackInfo){.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_adapter, .user1 = &r});
  while (!atomic_load(&r.is_done)) l->api.InstanceProcessEvents(l->instance);
  if (r.adapter) take_adapter(l, r.adapter);
}

static void load(void) {
  atomic_store(&started_by, rlx_process_number() + 1);
  wg_loader *l = &the_loader;
  if (!wg_functions_get(l)) return;
  WGPUInstanceExtras extras = {.chain = {.type = WGPU_TYPE_INSTANCE_EXTRAS}, .backends = WGPU_INSTANCE_BACKEND_PRIMARY};
  l->instance = l->api.CreateInstance(&(WGPUInstanceDescriptor){.chain = l->is_native ? &extras.chain : NULL});
  if (!l->instance) {
    if (!l->why[0]) snprintf(l->why, sizeof l->why, "%.40s is there, but cannot be started", l->library);
    return;
  }
  snprintf(l->why, sizeof l->why, "%.40s is there, but finds no adapter: is a driver installed for this machine's GPU?",
           l->library);
  if (l->api.InstanceEnumerateAdapters) list_adapters(l);
  else request_adapter(l);
  if (l->n_devices) l->why[0] = 0;
}

const wg_loader *wg_loader_get(void) {
  static rlx_once once = RLX_ONCE_INIT;
  const unsigned by = atomic_load(&started_by);
  if (by && by != rlx_process_number() + 1) return &no_loader; /* of a forked child's parent */
  rlx_log_hold();                                              /* a log callback may query devices */
  rlx_once_run(&once, load);
  rlx_log_release();
  return &the_loader;
}

void wg_physical_describe(const wg_physical *p, const gpu_caps *caps, rlx_device_info *out) {
  *out = (rlx_device_info){.backend = "webgpu",
                           .kind = p->kind,
                           .n_units = caps->units,
                           .max_block_bytes = p->max_block_bytes,
                           .max_window_bytes = caps->max_window_bytes,
                           .align = MAX_ALIGN,
                           .view_align = p->view_align};
  snprintf(out->name, sizeof out->name, "%s", p->name);
  snprintf(out->uuid, sizeof out->uuid, "%s", p->uuid);
  snprintf(out->driver, sizeof out->driver, "%s", p->driver);
  gpu_caps_text(caps, out->features, sizeof out->features);
}
