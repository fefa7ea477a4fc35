/* Sliding windows (ir/conv_dims.h) as parameters of GPU kernels: see kernels/window.kh. */
#ifndef RLX_GPU_WINDOW_H
#define RLX_GPU_WINDOW_H

#include "gpu/gpu.h"
#include "ir/conv_dims.h"

/* Division by multiplication: i / d for i below 2^31 is (2 i * m >> 32) >> s; d is at least 1. */
typedef struct gpu_divider {
  uint32_t d, m, s;
} gpu_divider;
static inline gpu_divider gpu_divider_of(uint32_t d) {
  uint32_t s = 0;
  while (s < 31 && 1u << s < d) s++;
  return (gpu_divider){d, (uint32_t)(((1ull << (31 + s)) + d - 1) / d), s};
}
#define GPU_DIVIDER(field, x) .field = (x).d, .field##_m = (x).m, .field##_s = (x).s

typedef struct gpu_sliding {
  rlx_conv_window window;
  uint32_t in[RLX_SPATIAL], out[RLX_SPATIAL], kernel[RLX_SPATIAL];
  int32_t stride[RLX_SPATIAL], dilation[RLX_SPATIAL], pad[RLX_SPATIAL];
  uint32_t taps;                 /* of the kernel */
  gpu_divider plane, slice, row; /* of the output */
} gpu_sliding;

/* From the window and the spatial sizes of both sides. Returns false and refuses the lowering if positions do not fit
 * 30 bits. transposed: the window slides over x, not over the result. */
bool gpu_sliding_init(gpu_lowering *l, const rlx_conv_window *w, const rlx_dims *x, const rlx_dims *y, bool transposed,
                      gpu_sliding *out);

/* A conv weight transposed for matrix units (conv_layout.c); 0 bytes: the type does not support it. */
enum {
  GPU_LAYOUT_CONV = 0x300,
  GPU_LAYOUT_TRANSPOSED = GPU_LAYOUT_CONV + 1
}; /* the high byte is the layout family, as on the CPU */
uint64_t gpu_transposed_bytes(const rlx_type *type);
void gpu_transposed_part(const rlx_type *type, const void *src, uint64_t from, void *dst, size_t bytes);
rlx_status gpu_transposed_repack(const rlx_type *type, bool to_layout, const void *src, void *dst);

/* WINDOW_FIELDS, in an initialiser. */
#define GPU_WINDOW_PARAMS(v)                                                                                        \
  .in_z = (v).in[0], .in_y = (v).in[1], .in_x = (v).in[2], .kernel_z = (v).kernel[0], .kernel_y = (v).kernel[1],    \
  .kernel_x = (v).kernel[2], .stride_z = (v).stride[0], .stride_y = (v).stride[1], .stride_x = (v).stride[2],       \
  .dilation_z = (v).dilation[0], .dilation_y = (v).dilation[1], .dilation_x = (v).dilation[2], .pad_z = (v).pad[0], \
  .pad_y = (v).pad[1], .pad_x = (v).pad[2], GPU_DIVIDER(plane, (v).plane), GPU_DIVIDER(slice, (v).slice),           \
  GPU_DIVIDER(row, (v).row)

#endif
