/* Finds libcuda, which the driver installs, and libnvrtc, which is part of the toolkit and of many packages.
 *
 * The driver has threads of its own and guarantees nothing to a forked child. So if the parent has started CUDA, a
 * child reports that there is none. A shared library that has started CUDA stays loaded after dlclose. */
#include "cuda/loader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/library.h"
#include "base/log.h"
#include "base/os.h"
#include "base/process.h"

enum {
  MIN_DRIVER = 11040, /* the first with cuGraphInstantiateWithFlags */
  MIN_CHIP = 75,      /* compute capability 7.5: the oldest that every compiler still knows */
  DECLARED_SHARED =
    4096 /* bytes of shared memory that a kernel NAME.hopper.k may declare itself, and the driver adds */
};

#if defined(_WIN32)
static const char *const drivers[] = {"nvcuda.dll"};
static const char *const compilers[] = {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll", "nvrtc64_112_0.dll"};
#else
static const char *const drivers[] = {"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"};
static const char *const compilers[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
#endif

static cu_loader the_loader;
static const cu_loader no_loader = {
  .why = "this process was forked from one that had started CUDA, which no driver promises "
         "to survive: exec, or fork before the first device is opened or listed"};
static atomic_uint started_by; /* the number of the process that loaded it, plus 1; 0: nobody */

/* ---- the two libraries ---- */

static bool load_driver(cu_loader *l) {
  void *library = rlx_library_open_first(drivers, sizeof drivers / sizeof *drivers);
  const char *missing = NULL;
  if (!library) {
    snprintf(l->why, sizeof l->why, "no CUDA here: %s, which NVIDIA's driver installs, was not found", drivers[0]);
    return false;
  }
#define CU_FUNCTION(name, symbol, args) \
  if (!rlx_library_find(library, symbol, &l->driver.name)) missing = symbol;
#include "cuda/functions.def"
#undef CU_FUNCTION
  rlx_library_find(library, "cuGraphAddDependencies_v2", &l->graph_add_dependencies);
  if (l->driver.DriverGetVersion && l->driver.DriverGetVersion(&l->driver_version)) l->driver_version = 0;
  if (missing || l->driver_version < MIN_DRIVER) {
    snprintf(l->why, sizeof l->why, "CUDA's driver is too old: 11.4 is needed, it has %d.%d%s%s",
             l->driver_version / 1000, l->driver_version % 1000 / 10, missing ? " and lacks " : "",
             missing ? missing : "");
    return false;
  }
  CUresult r = l->driver.Init(0);
  const char *name = NULL;
  if (r && l->driver.GetErrorName(r, &name)) name = NULL;
  if (r == CUDA_ERROR_NO_DEVICE) snprintf(l->why, sizeof l->why, "CUDA's driver is there, but finds no GPU");
  else if (r)
    snprintf(l->why, sizeof l->why, "CUDA's driver cannot be started: %s (%d)", name ? name : "an unknown error", r);
  return r == CUDA_SUCCESS;
}

/* A machine may be without it. */
static void load_compiler(cu_loader *l) {
  void *library = rlx_library_open_first(compilers, sizeof compilers / sizeof *compilers);
  int major = 0, minor = 0;
  bool all = library != NULL;
#define NVRTC_FUNCTION(name, args) all = all && rlx_library_find(library, "nvrtc" #name, &l->compiler.name);
#include "cuda/functions.def"
#undef NVRTC_FUNCTION
  all = all && rlx_library_find(library, "nvrtcGetErrorString", &l->compiler.GetErrorString);
  if (all && !l->compiler.Version(&major, &minor)) l->compiler_version = 1000 * major + 10 * minor;
  else
    rlx_log_write(RLX_LOG_INFO, "cuda: NVRTC %s: kernels are compiled by the driver, without matrix units",
                  library ? "is too old (11.1 is needed)" : "was not found");
}

void cu_caps_without_compiler(gpu_caps *c) {
  c->has_coopmat = c->has_coopmat_bf16 = c->knows_fragments = c->knows_fragments_bf16 = c->has_wgmma = false;
  c->max_dynamic = 0;
}

/* ---- devices ---- */

static int attribute(const cu_loader *l, CUdevice d, int which) {
  int v = 0;
  return l->driver.DeviceGetAttribute(&v, which, d) ? 0 : v;
}

static void read_uuid(const cu_loader *l, cu_physical *p) {
  CUuuid id = {{0}};
  if (l->driver.DeviceGetUuid(&id, p->handle)) id = (CUuuid){{0}};
  size_t n = 0;
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) p->uuid[n++] = '-';
    n += (size_t)snprintf(p->uuid + n, sizeof p->uuid - n, "%02x", id.bytes[i]);
  }
}

/* The driver's limit is for declared and dynamic memory together. */
static uint32_t max_dynamic(const cu_loader *l, CUdevice d) {
  const int all = attribute(l, d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  return all > DECLARED_SHARED ? (uint32_t)(all - DECLARED_SHARED) : 0;
}

static void fill_caps(const cu_loader *l, cu_physical *p) {
  const CUdevice d = p->handle;
  const bool has_matrices = p->major >= 8 && attribute(l, d, CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 32;
  const bool has_wgmma = has_matrices && p->major == 9 && p->minor == 0 && l->compiler_version >= 12000;
  p->caps = (gpu_caps){
    .max_group = (uint32_t)attribute(l, d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
    .max_shared = (uint32_t)attribute(l, d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
    .max_groups_x = (uint32_t)attribute(l, d, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
    .max_window_bytes = UINT32_MAX / 16 * 16, /* kernels count bytes in 32 bits in places */
    .units = (uint32_t)attribute(l, d, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
    .subgroup = (uint32_t)attribute(l, d, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
    .has_dot8 = true,
    .has_f16 = true,
    .has_coopmat = has_matrices,
    .has_coopmat_bf16 = has_matrices,
    .knows_fragments = has_matrices, /* k_cuda_matrix.h has the mapping */
    .knows_fragments_bf16 = has_matrices,
    .has_wgmma = has_wgmma,
    .max_dynamic = has_wgmma ? max_dynamic(l, d) : 0,
    .packs_f16 = true,
    .device_class = p->is_integrated ? GPU_INTEGRATED : GPU_DISCRETE,
  };
  if (!l->compiler_version) cu_caps_without_compiler(&p->caps);
}

void cu_describe(const cu_loader *l, const cu_physical *p, const gpu_caps *caps, bool uses_ptx, rlx_device_info *out) {
  const int major = l->driver_version / 1000, minor = l->driver_version % 1000 / 10;
  char text[160];
  if (uses_ptx)
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d, whose own compiler takes the kernels", major, minor);
  else
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d, NVRTC %d.%d", major, minor, l->compiler_version / 1000,
             l->compiler_version % 1000 / 10);
  gpu_caps_text(caps, text, sizeof text);
  snprintf(out->features, sizeof out->features, "sm_%d%d %s", p->major, p->minor, text);
}

static bool probe(const cu_loader *l, int ordinal, cu_physical *p) {
  size_t bytes = 0;
  *p = (cu_physical){0};
  if (l->driver.DeviceGet(&p->handle, ordinal)) return false;
  if (l->driver.DeviceGetName(p->name, sizeof p->name, p->handle)) snprintf(p->name, sizeof p->name, "CUDA device");
  p->major = attribute(l, p->handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p->minor = attribute(l, p->handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p->is_integrated = attribute(l, p->handle, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
  p->memory_bytes = l->driver.DeviceTotalMem(&bytes, p->handle) ? 0 : bytes;
  read_uuid(l, p);
  fill_caps(l, p);
  return 10 * p->major + p->minor >= MIN_CHIP && p->caps.max_group >= 128 && p->caps.units > 0;
}

static void load(void) {
  atomic_store(&started_by, rlx_process_number() + 1);
  cu_loader *l = &the_loader;
  int n = 0;
  if (!load_driver(l)) return;
  load_compiler(l);
  if (l->driver.DeviceGetCount(&n)) n = 0;
  for (int i = 0; i < n && l->n_devices < CU_MAX_DEVICES; i++)
    if (probe(l, i, &l->devices[l->n_devices])) l->n_devices++;
  if (!l->n_devices)
    snprintf(l->why, sizeof l->why, "CUDA's driver is there, but finds no GPU of compute capability %d.%d or more",
             MIN_CHIP / 10, MIN_CHIP % 10);
}

const cu_loader *cu_loader_get(void) {
  static rlx_once once = RLX_ONCE_INIT;
  const unsigned by = atomic_load(&started_by);
  if (by && by != rlx_process_number() + 1) return &no_loader; /* of a forked child's parent */
  rlx_log_hold();                                              /* a log callback may query devices */
  rlx_once_run(&once, load);
  rlx_log_release();
  return &the_loader;
}
