/* Finds the library: the file that RLX_WEBGPU_LIBRARY names, or the usual names.
 *
 * wgpu-native, from version 29 on, is what this backend knows: its own functions list all adapters and wait for a
 * submission. A library has threads of its own and guarantees nothing to a forked child. So if the parent has started
 * it, a child reports that there is none. */
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
  MIN_VERSION = 29,      /* of wgpu-native: the layouts of api.h */
  MIN_STORAGE = 8,       /* storage buffers per stage: the windows of a kernel */
  MAX_ALIGN = GPU_ALIGN, /* of windows: what plans may rely on */
  PARAMS_BYTES = 128     /* of a kernel's parameters, a uniform buffer */
};

static const char *const names[] = {"libwgpu_native.so", "libwgpu_native-release.so"};
static const char variable[] = "RLX_WEBGPU_LIBRARY";

static wg_loader the_loader;
static const wg_loader no_loader = {
  .why = "this process was forked from one that had started WebGPU, which no driver promises "
         "to survive: exec, or fork before the first device is opened or listed"};
static atomic_uint started_by; /* the number of the process that loaded it, plus 1; 0: nobody */

/* ---- the library ---- */

static void *open_library(wg_loader *l, const char **name) {
  const char *given = getenv(variable);
  if (given && *given) {
    *name = given;
    void *library = rlx_library_open(given);
    if (!library) snprintf(l->why, sizeof l->why, "%s is '%.150s', which cannot be loaded", variable, given);
    return library;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = rlx_library_open(*name = names[i]);
    if (library) return library;
  }
  snprintf(l->why, sizeof l->why,
           "no WebGPU here: libwgpu_native.so was not found (wgpu-native; the Python package wgpu has it), and %s is "
           "not set",
           variable);
  return NULL;
}

static bool load_functions(wg_loader *l, void *library, const char *name) {
  const char *missing = NULL;
#define WG_FUNCTION(result, f, args) \
  if (!rlx_library_find(library, "wgpu" #f, &l->api.f)) missing = "wgpu" #f;
#define WG_NATIVE(result, f, args) rlx_library_find(library, "wgpu" #f, &l->api.f);
#include "webgpu/functions.def"
#undef WG_NATIVE
#undef WG_FUNCTION
  if (missing) {
    snprintf(l->why, sizeof l->why, "'%.100s' is not a WebGPU library of today: it lacks %s", name, missing);
    return false;
  }
  if (!l->api.GetVersion || !l->api.InstanceEnumerateAdapters) {
    snprintf(l->why, sizeof l->why, "'%.100s' is not wgpu-native, the only WebGPU library known here", name);
    return false;
  }
  l->version = l->api.GetVersion();
  if (l->version >> 24 >= MIN_VERSION) return true;
  snprintf(l->why, sizeof l->why, "'%.100s' is wgpu-native %u, and %d is needed", name, (unsigned)(l->version >> 24),
           MIN_VERSION);
  return false;
}

/* ---- adapters ---- */

static void copy_text(char *out, size_t bytes, WGPUStringView text) {
  const size_t n = !text.data ? 0 : text.length == SIZE_MAX ? strlen(text.data) : text.length;
  snprintf(out, bytes, "%.*s", (int)(n < bytes ? n : bytes - 1), text.data ? text.data : "");
}

static const char *interface_name(uint32_t backend) {
  return backend == WGPU_BACKEND_VULKAN  ? "Vulkan"
         : backend == WGPU_BACKEND_METAL ? "Metal"
         : backend == WGPU_BACKEND_D3D12 ? "Direct3D 12"
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

static void fill_caps(const wg_loader *l, wg_physical *p) {
  const WGPULimits *m = &p->limits;
  const uint64_t window = m->storage_binding < UINT32_MAX ? m->storage_binding : UINT32_MAX;
  p->caps = (gpu_caps){
    .max_group = m->group_size < m->group_size_x ? m->group_size : m->group_size_x,
    .max_shared = m->shared_bytes,
    .max_groups_x = m->groups_per_dimension,
    .max_window_bytes = window / 16 * 16,
    .units = count_units(p->kind),
    .has_f16 = l->api.AdapterHasFeature(p->handle, WGPU_FEATURE_SHADER_F16) != 0,
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
    snprintf(l->why, sizeof l->why, "wgpu-native does not describe an adapter that it lists");
    return false;
  }
  p->limits.chain = NULL;
  copy_text(p->name, sizeof p->name, info.device);
  copy_text(about, sizeof about, info.description);
  snprintf(p->driver, sizeof p->driver, "wgpu-native %u.%u.%u on %s%s%.60s", (unsigned)(l->version >> 24),
           (unsigned)(l->version >> 16 & 255), (unsigned)(l->version >> 8 & 255), interface_name(info.backend),
           about[0] ? ", " : "", about);
  classify(p, info.type);
  l->api.AdapterInfoFreeMembers(info);
  fill_caps(l, p);
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

static void list_adapters(wg_loader *l) {
  WGPUAdapter all[WG_MAX_DEVICES];
  const WGPUEnumerateAdapterOptions options = {.backends = WGPU_INSTANCE_BACKEND_PRIMARY};
  size_t n = l->api.InstanceEnumerateAdapters(l->instance, &options, NULL);
  if (n > WG_MAX_DEVICES) {
    rlx_log_write(RLX_LOG_WARN, "webgpu: %zu adapters, more than %d: none is used", n, WG_MAX_DEVICES);
    n = 0; /* the library fills the whole list */
  }
  if (n) l->api.InstanceEnumerateAdapters(l->instance, &options, all);
  snprintf(l->why, sizeof l->why,
           "wgpu-native is there, but finds no adapter: is a driver installed for this "
           "machine's GPU?");
  for (size_t i = 0; i < n; i++) {
    wg_physical p;
    if (probe(l, all[i], &p)) {
      add_device(l, &p);
      continue;
    }
    rlx_log_write(RLX_LOG_INFO, "webgpu: not used: %s", l->why);
    l->api.AdapterRelease(all[i]);
  }
  if (l->n_devices) l->why[0] = 0;
}

static void load(void) {
  atomic_store(&started_by, rlx_process_number() + 1);
  wg_loader *l = &the_loader;
  const char *name = "";
  void *library = open_library(l, &name);
  if (!library || !load_functions(l, library, name)) return;
  WGPUInstanceExtras extras = {.chain = {.type = WGPU_TYPE_INSTANCE_EXTRAS}, .backends = WGPU_INSTANCE_BACKEND_PRIMARY};
  l->instance = l->api.CreateInstance(&(WGPUInstanceDescriptor){.chain = &extras.chain});
  if (l->instance) list_adapters(l);
  else snprintf(l->why, sizeof l->why, "'%.100s' cannot be started", name);
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
