/* Questions that a device answers by running something, once, when it is opened. */
#ifndef RLX_VULKAN_PROBE_H
#define RLX_VULKAN_PROBE_H

#include "gpu/gpu.h"
#include "vulkan/queue.h"

/* Whether packing rounds as kernels want it (gpu_caps.packs_halves). */
rlx_status vk_probe_halves(vk_device *d, bool *rounds);

#endif
