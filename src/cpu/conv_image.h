/* The image of a convolution as panels are best copied from: padded, and its columns sorted by their place within the stride.
 *
 * Then every tap of every output row reads neighbours, none of them outside, and a row of a panel is a few plain copies. It
 * costs one pass over the image, and is made for f32 images of one or two axes whose kernel has several taps or whose
 * stride leaves columns out. Others are read as they lie (conv.c). */
#ifndef RLX_CPU_CONV_IMAGE_H
#define RLX_CPU_CONV_IMAGE_H

#include "cpu/conv.h"

typedef struct cpu_conv_image {
  bool is_used;
  size_t phases, rows, pitch;    /* a channel is [phases][rows][pitch] */
  size_t row_step;               /* its rows from one output row to the next */
  size_t channel_floats, floats; /* of a channel, and of the whole with what the last vector reads */
} cpu_conv_image;

/* channels: of all samples. */
cpu_conv_image cpu_conv_image_plan(const cpu_conv_table *t, const rlx_conv_window *w, const int64_t in[RLX_SPATIAL],
                                   const int64_t out[RLX_SPATIAL], size_t channels);
/* One channel: its plane into image. */
void cpu_conv_image_make(const cpu_conv_image *m, const cpu_conv_table *t, const rlx_conv_window *w,
                         const int64_t in[RLX_SPATIAL], const float *plane, float *image);
/* Where a tap of the first output place reads, from the start of a channel. */
size_t cpu_conv_image_tap(const cpu_conv_image *m, const rlx_conv_window *w, int64_t y, int64_t x);

#endif
