/* Probes: properties of a device found by running a kernel once, when the device is opened. */
#ifndef RLX_VULKAN_PROBE_H
#define RLX_VULKAN_PROBE_H

#include "gpu/gpu.h"
#include "vulkan/queue.h"

/* Whether packing to f16 rounds as kernels require (gpu_caps.packs_f16). */
rlx_status vk_probe_f16(vk_queue *q, bool *rounds);
/* Whether the layout of matrices in a subgroup is the one kernels assume: sets knows_fragments,
 * knows_fragments_bf16. */
rlx_status vk_probe_fragments(vk_queue *q, gpu_caps *caps);

#endif
