/* Repacks convolution weights for matrix units: [O, C, taps] of a 2-byte type is stored as [O, taps, C], with C padded
 * to a multiple of eight with zeros. So a 16-byte vector holds eight channels of one tap (kernels/conv_coop.kh). */
#include <string.h>

#include "gpu/window.h"

typedef struct transposed {
  uint64_t outer, channels, taps, filled;
} transposed;

static bool transpose_of(const rlx_type *type, transposed *t) {
  if (rlx_dtype_size(type->dtype) != 2 || type->shape.n < 3) return false;
  *t =
    (transposed){(uint64_t)type->shape.v[0], (uint64_t)type->shape.v[1], 1, ((uint64_t)type->shape.v[1] + 7) / 8 * 8};
  for (int i = 2; i < type->shape.n; i++) t->taps *= (uint64_t)type->shape.v[i];
  return true;
}

uint64_t gpu_transposed_bytes(const rlx_type *type) {
  transposed t;
  return transpose_of(type, &t) ? t.outer * t.taps * t.filled * 2 : 0;
}

/* Elements [begin, end) of the packed weight, channel by channel. */
static void pack_elements(const transposed *t, const uint16_t *src, uint64_t begin, uint64_t end, uint16_t *dst) {
  for (uint64_t at = begin; at < end;) {
    const uint64_t row = at / t->filled, o = row / t->taps, k = row % t->taps;
    uint64_t c = at % t->filled;
    for (; c < t->filled && at < end; c++, at++)
      dst[at - begin] = c < t->channels ? src[(o * t->channels + c) * t->taps + k] : 0;
  }
}

void gpu_transposed_part(const rlx_type *type, const void *src, uint64_t from, void *dst, size_t bytes) {
  transposed t;
  if (transpose_of(type, &t)) pack_elements(&t, src, from / 2, (from + bytes) / 2, dst);
}

rlx_status gpu_transposed_repack(const rlx_type *type, bool to_layout, const void *src, void *dst) {
  transposed t;
  if (!transpose_of(type, &t)) return RLX_FAIL(RLX_INVALID, "weights of this type have no transposed layout");
  const uint16_t *from = src;
  uint16_t *to = dst;
  if (to_layout) pack_elements(&t, src, 0, t.outer * t.taps * t.filled, dst);
  for (uint64_t o = 0; o < t.outer && !to_layout; o++)
    for (uint64_t c = 0; c < t.channels; c++)
      for (uint64_t k = 0; k < t.taps; k++)
        to[(o * t.channels + c) * t.taps + k] = from[(o * t.taps + k) * t.filled + c];
  return RLX_OK;
}
