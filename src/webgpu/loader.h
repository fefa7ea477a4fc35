/* Finds a WebGPU library, starts it and lists its adapters.
 *
 * This happens once, on first use, and lasts until the process ends; none of it is on the heap. On a machine without
 * the library there are no devices, and `why` is the reason. */
#ifndef RLX_WEBGPU_LOADER_H
#define RLX_WEBGPU_LOADER_H

#include "gpu/gpu.h"
#include "webgpu/api.h"

enum { WG_MAX_DEVICES = 16 };

typedef struct wg_physical {
  WGPUAdapter handle;
  char name[128], uuid[40], driver[128];
  rlx_device_kind kind;
  uint32_t rank;             /* lower is better */
  uint32_t subgroup_feature; /* 0: none */
  WGPULimits limits;         /* what the adapter offers; a device is opened with all of it */
  gpu_caps caps;
  uint64_t max_block_bytes, view_align;
} wg_physical;

typedef struct wg_loader {
  wg_api api;
  WGPUInstance instance;
  bool is_native;           /* wgpu-native, whose own functions are used, and which reports errors inside the calls */
  bool has_internal_errors; /* a filter of error scopes */
  bool refuses_subgroup_lines; /* wgpu-native has subgroups without asking (pipelines.c) */
  bool suspends;               /* ProcessEvents returns when something has happened */
  char library[64];            /* "wgpu-native 29.0.1" */
  wg_physical devices[WG_MAX_DEVICES];
  uint32_t n_devices;
  char why[256]; /* if there are no devices: the reason */
} wg_loader;

/* Fills api, is_native and library; false: `why` has the reason. From a shared library (functions_native.c), or from
 * what the page gives to a module of WebAssembly (functions_wasm.c). */
bool wg_functions_get(wg_loader *l);

/* Never NULL. Any thread may call it. */
const wg_loader *wg_loader_get(void);
/* Fills all of *out from the adapter and these capabilities. */
void wg_physical_describe(const wg_physical *p, const gpu_caps *caps, rlx_device_info *out);

#endif
