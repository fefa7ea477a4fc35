/* Questions that a device answers by running something, once, when it is opened. */
#ifndef RLX_VULKAN_PROBE_H
#define RLX_VULKAN_PROBE_H

#include "gpu/gpu.h"
#include "vulkan/queue.h"

/* Whether packing rounds as kernels want it (gpu_caps.packs_f16). */
rlx_status vk_probe_f16(vk_queue *q, bool *rounds);
/* Whether matrices lie in a sub-group as kernels want it: knows_fragments, knows_fragments_bf16. */
rlx_status vk_probe_fragments(vk_queue *q, gpu_caps *caps);

#endif
