/* A prepared copy of the input image of a convolution: padded, and with its columns sorted by their phase within the
 * stride.
 *
 * Every tap of every output row then reads contiguous elements, none outside the image, so a row of a panel is a few
 * plain copies. It costs one pass over the image. It is made for f32 images of one or two axes whose kernel has several
 * taps or whose stride skips columns. Panels of other images are filled from the input itself (conv.c). */
#ifndef RLX_CPU_CONV_IMAGE_H
#define RLX_CPU_CONV_IMAGE_H

#include "cpu/conv.h"

typedef struct cpu_conv_image {
  bool is_used;
  size_t phases, rows, pitch;    /* a channel is [phases][rows][pitch] */
  size_t row_step;               /* image rows from one output row to the next */
  size_t channel_floats, floats; /* of a channel, and of the whole with what the last vector reads */
} cpu_conv_image;

/* `channels`: of all samples. */
cpu_conv_image cpu_conv_image_plan(const cpu_conv_table *t, const rlx_conv_window *w, const int64_t in[RLX_SPATIAL],
                                   const int64_t out[RLX_SPATIAL], size_t channels);
/* Prepares one channel from its plane. */
void cpu_conv_image_make(const cpu_conv_image *m, const cpu_conv_table *t, const rlx_conv_window *w,
                         const int64_t in[RLX_SPATIAL], const float *plane, float *image);
/* The offset, from the start of a channel, that this tap reads for the first output position. */
size_t cpu_conv_image_tap(const cpu_conv_image *m, const rlx_conv_window *w, int64_t y, int64_t x);

#endif
