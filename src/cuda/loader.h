/* Loads CUDA's driver and its run-time compiler, and lists the devices.
 *
 * This happens once, on first use, and lasts until the process ends; none of it is on the heap. On a machine without a
 * driver there are no devices, and `why` is the reason. Without the compiler, the driver compiles kernels (ptx.h). */
#ifndef RLX_CUDA_LOADER_H
#define RLX_CUDA_LOADER_H

#include "cuda/driver.h"
#include "gpu/gpu.h"

enum { CU_MAX_DEVICES = 16 };

typedef struct cu_physical {
  CUdevice handle;
  char name[128], uuid[40];
  int major, minor; /* compute capability */
  uint64_t memory_bytes;
  bool is_integrated;
  gpu_caps caps;
} cu_physical;

typedef struct cu_loader {
  cu_driver driver;
  cu_compiler compiler;
  cu_graph_add_dependencies_fn graph_add_dependencies; /* NULL: a driver before 12.3 */
  int driver_version, compiler_version; /* 1000 * major + 10 * minor; compiler_version is 0 if there is none */
  cu_physical devices[CU_MAX_DEVICES];
  uint32_t n_devices;
  char why[256]; /* if there are no devices: the reason */
} cu_loader;

/* Never NULL. Any thread may call it. */
const cu_loader *cu_loader_get(void);

/* Removes what only NVRTC can compile: kernels on matrix units. */
void cu_caps_without_compiler(gpu_caps *c);
/* Fills the driver's text ("CUDA 13.0, NVRTC 13.0", or that the driver compiles the kernels) and the features. */
void cu_describe(const cu_loader *l, const cu_physical *p, const gpu_caps *caps, bool uses_ptx, rlx_device_info *out);

#endif
