/* The function table of the WebGPU backend. Claims and layouts are those of all GPUs (gpu/gpu.h). */
#include "webgpu/program.h"

static uint32_t count(const char **why) {
  const wg_loader *l = wg_loader_get();
  *why = l->n_devices ? NULL : l->why;
  return l->n_devices;
}

static rlx_status describe(uint32_t index, rlx_device_info *out) {
  const wg_loader *l = wg_loader_get();
  if (index >= l->n_devices)
    return RLX_FAIL(RLX_NOT_FOUND, "webgpu device %u: there are %u", (unsigned)index, (unsigned)l->n_devices);
  wg_physical_describe(&l->devices[index], &l->devices[index].caps, out);
  return RLX_OK;
}

static rlx_status claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  return gpu_claim(&((const wg_device *)d)->caps, q, out);
}

const rlx_backend rlx_backend_webgpu = {
  .name = "webgpu",
  .count = count,
  .describe = describe,
  .open = wg_device_open,
  .close = wg_device_close,
  .claim = claim,
  .lowering_destroy = gpu_lowering_destroy,
  .layout_bytes = gpu_layout_bytes,
  .split_large = gpu_split_large,
  .repack = gpu_repack,
  .repack_part = gpu_repack_part,
  .block_create = wg_block_create,
  .block_create_host = wg_block_create_host,
  .block_destroy = wg_block_destroy,
  .queue_create = wg_queue_create,
  .queue_destroy = wg_queue_destroy,
  .mark = wg_queue_mark,
  .wait = wg_queue_wait,
  .poll = wg_queue_poll,
  .after = wg_queue_after,
  .write = wg_write,
  .read = wg_read_block,
  .copy = wg_copy,
  .zero = wg_zero,
  .program_create = wg_program_create,
  .submit = wg_program_submit,
  .program_destroy = wg_program_destroy,
};
