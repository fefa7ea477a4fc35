/* The function table of the Vulkan backend. Claims and layouts are those of all GPUs (gpu/gpu.h). */
#include "vulkan/program.h"

static uint32_t count(const char **why) {
  const vk_loader *l = vk_loader_get();
  *why = l->n_devices ? NULL : l->why;
  return l->n_devices;
}

static rlx_status describe(uint32_t index, rlx_device_info *out) {
  const vk_loader *l = vk_loader_get();
  if (index >= l->n_devices)
    return RLX_FAIL(RLX_NOT_FOUND, "vulkan device %u: there are %u", (unsigned)index, (unsigned)l->n_devices);
  vk_physical_describe(&l->instance, &l->devices[index], out);
  return RLX_OK;
}

static rlx_status claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  return gpu_claim(&((const vk_device *)d)->caps, q, out);
}

const rlx_backend rlx_backend_vulkan = {
  .name = "vulkan",
  .count = count,
  .describe = describe,
  .open = vk_device_open,
  .close = vk_device_close,
  .claim = claim,
  .lowering_destroy = gpu_lowering_destroy,
  .lowering_part = gpu_lowering_part,
  .layout_bytes = gpu_layout_bytes,
  .split_large = gpu_split_large,
  .repack = gpu_repack,
  .repack_part = gpu_repack_part,
  .block_create = vk_block_create,
  .block_create_host = vk_block_create_host,
  .block_destroy = vk_block_destroy,
  .queue_create = vk_queue_create,
  .queue_destroy = vk_queue_destroy,
  .mark = vk_queue_mark,
  .wait = vk_queue_wait,
  .poll = vk_queue_poll,
  .after = vk_queue_after,
  .write = vk_write,
  .write_from = vk_write_from,
  .read = vk_read,
  .copy = vk_copy,
  .zero = vk_zero,
  .program_create = vk_program_create,
  .submit = vk_program_submit,
  .program_destroy = vk_program_destroy,
};
