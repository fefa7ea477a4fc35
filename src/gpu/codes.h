/* The code of a device's kernels, unpacked when it is first asked for and kept until the device is closed: a kernel
 * becomes several pipelines, with other constants, and unpacking takes up to some milliseconds. Any thread may ask. */
#ifndef RLX_GPU_CODES_H
#define RLX_GPU_CODES_H

#include <pthread.h>

#include "gpu/gpu.h"
#include "gpu/unpack.h"

typedef struct gpu_codes {
  const gpu_pack *column;
  uint32_t features;
  pthread_mutex_t lock; /* of `code` */
  bool has_lock;
  gpu_code code[GPU_KERNEL_COUNT];
} gpu_codes;

/* For a device with these capabilities and a column of kernel.h. */
rlx_status gpu_codes_init(gpu_codes *c, const gpu_pack *column, const gpu_caps *caps);
void gpu_codes_deinit(gpu_codes *c); /* zeros are fine */
/* Whether the device can have this kernel. */
bool gpu_codes_has(const gpu_codes *c, const gpu_kernel *k);
/* Its code for this device, which lives as long as *c. */
rlx_status gpu_codes_get(gpu_codes *c, const gpu_kernel *k, const gpu_code **out);

#endif
