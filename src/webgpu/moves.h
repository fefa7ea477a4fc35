/* Moves of any bytes, which WebGPU copies in words of 4 only and not within one buffer. What is not whole words goes
 * through two small kernels: they change only the bytes of the range, so neighbours in the same word are untouched. */
#ifndef RLX_WEBGPU_MOVES_H
#define RLX_WEBGPU_MOVES_H

#include "webgpu/wg.h"

rlx_status wg_moves_init(wg_device *d);
void wg_moves_deinit(wg_device *d);

typedef struct wg_range { /* of a buffer whose size is a multiple of WG_ALIGN */
  WGPUBuffer buffer;
  uint64_t offset, bytes;
} wg_range;

/* The following record commands, under the lock; the caller has a guard for their errors and keeps the range inside the
 * buffer. */

/* Copies from->bytes bytes. Ranges of one buffer do not overlap. */
rlx_status wg_record_copy(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const wg_range *from);
rlx_status wg_record_zero(wg_device *d, WGPUCommandEncoder e, const wg_range *to);
/* Writes at most 4 bytes, all in one word. */
rlx_status wg_record_bytes(wg_device *d, WGPUCommandEncoder e, const wg_range *to, const unsigned char *bytes);

#endif
