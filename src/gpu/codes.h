/* Cache of a device's unpacked kernel code. A kernel is unpacked on first use and kept until the device is closed: it
 * becomes several pipelines with different constants, and unpacking takes up to a few milliseconds. Thread-safe. */
#ifndef RLX_GPU_CODES_H
#define RLX_GPU_CODES_H

#include "base/os.h"
#include "gpu/gpu.h"
#include "gpu/unpack.h"

typedef struct gpu_codes {
  const gpu_pack *column;
  uint32_t features;
  rlx_mutex lock; /* guards `code` */
  bool has_lock;
  gpu_code code[GPU_KERNEL_COUNT];
} gpu_codes;

/* column: of kernel.h. */
rlx_status gpu_codes_init(gpu_codes *c, const gpu_pack *column, const gpu_caps *caps);
void gpu_codes_deinit(gpu_codes *c); /* accepts a zeroed struct */
/* Whether the device has a variant of this kernel. */
bool gpu_codes_has(const gpu_codes *c, const gpu_kernel *k);
/* The code for this device; valid as long as *c. */
rlx_status gpu_codes_get(gpu_codes *c, const gpu_kernel *k, const gpu_code **out);

#endif
