/* The function table of the CUDA backend. Claims and layouts are those of all GPUs (gpu/gpu.h). */
#include <stdio.h>

#include "cuda/program.h"

static uint32_t count(const char **why) {
  const cu_loader *l = cu_loader_get();
  *why = l->n_devices ? NULL : l->why;
  return l->n_devices;
}

static rlx_status describe(uint32_t index, rlx_device_info *out) {
  const cu_loader *l = cu_loader_get();
  if (index >= l->n_devices)
    return RLX_FAIL(RLX_NOT_FOUND, "cuda device %u: there are %u", (unsigned)index, (unsigned)l->n_devices);
  const cu_physical *p = &l->devices[index];
  *out = (rlx_device_info){.backend = "cuda",
                           .kind = p->is_integrated ? RLX_DEVICE_INTEGRATED : RLX_DEVICE_DISCRETE,
                           .n_units = p->caps.units,
                           .memory_bytes = p->memory_bytes,
                           .max_window_bytes = p->caps.max_window_bytes,
                           .align = CU_ALIGN,
                           .view_align = 16};
  snprintf(out->name, sizeof out->name, "%s", p->name);
  snprintf(out->uuid, sizeof out->uuid, "%s", p->uuid);
  cu_describe(l, p, &p->caps, !l->compiler_version, out);
  return RLX_OK;
}

static rlx_status claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  return gpu_claim(&((const cu_device *)d)->caps, q, out);
}

const rlx_backend rlx_backend_cuda = {
  .name = "cuda",
  .count = count,
  .describe = describe,
  .open = cu_device_open,
  .close = cu_device_close,
  .claim = claim,
  .lowering_destroy = gpu_lowering_destroy,
  .lowering_part = gpu_lowering_part,
  .layout_bytes = gpu_layout_bytes,
  .split_large = gpu_split_large,
  .repack = gpu_repack,
  .repack_part = gpu_repack_part,
  .fills_words = true,
  .block_create = cu_block_create,
  .block_create_host = cu_block_create_host,
  .block_destroy = cu_block_destroy,
  .queue_create = cu_queue_create,
  .queue_destroy = cu_queue_destroy,
  .mark = cu_queue_mark,
  .wait = cu_queue_wait,
  .poll = cu_queue_poll,
  .after = cu_queue_after,
  .write = cu_write,
  .write_from = cu_write_from,
  .read = cu_read,
  .copy = cu_copy,
  .zero = cu_zero,
  .program_create = cu_program_create,
  .submit = cu_program_submit,
  .program_destroy = cu_program_destroy,
};
