/* Prepared images of convolutions: see conv_image.h. */
#include "cpu/conv_image.h"

#include <string.h>

enum { MAX_FLOATS = 2 << 20, MAX_SIZE = 1 << 20 };

cpu_conv_image cpu_conv_image_plan(const cpu_conv_table *t, const rlx_conv_window *w, const int64_t in[RLX_SPATIAL],
                                   const int64_t out[RLX_SPATIAL], size_t channels) {
  cpu_conv_image m = {.row_step = 1};
  int64_t taps = w->kernel[1] * w->kernel[2];
  if (w->kernel[0] != 1 || in[0] != 1 || out[0] != 1 || out[1] < 1 || out[2] < 1 || channels == 0) return m;
  if (taps == 1 && w->stride[2] == 1) return m;
  for (int a = 1; a < RLX_SPATIAL; a++)
    if (out[a] > MAX_SIZE || w->stride[a] > 64 || w->kernel[a] > 64 || w->dilation[a] > 64) return m;
  if (w->kernel[1] > 1) m.row_step = (size_t)w->stride[1];
  m.rows = (size_t)(out[1] - 1) * m.row_step + (size_t)((w->kernel[1] - 1) * w->dilation[1] + 1);
  m.pitch = (size_t)(out[2] + (w->kernel[2] - 1) * w->dilation[2] / w->stride[2]);
  m.phases = w->kernel[2] > 1 ? (size_t)w->stride[2] : 1;
  m.channel_floats = m.phases * m.rows * m.pitch;
  if (m.channel_floats > MAX_FLOATS / channels) return m;
  m.floats = channels * m.channel_floats + 2 * t->lanes;
  m.is_used = true;
  return m;
}

/* One row of a phase: column i is the image's column i * stride + phase - pad. */
static void make_row(const cpu_conv_image *m, const cpu_conv_table *t, const rlx_conv_window *w, int64_t width,
                     int64_t phase, const float *from, float *to) {
  int64_t stride = w->stride[2], first = phase - w->pad_lo[2], pitch = (int64_t)m->pitch;
  int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
  int64_t end = width > first ? (width - first + stride - 1) / stride : 0;
  if (begin > pitch) begin = pitch;
  if (end > pitch) end = pitch;
  if (end < begin) end = begin;
  for (int64_t i = 0; i < begin; i++) to[i] = 0;
  if (begin < end) t->copy_strided(from + (begin * stride + first), (size_t)stride, to + begin, (size_t)(end - begin));
  for (int64_t i = end; i < pitch; i++) to[i] = 0;
}

void cpu_conv_image_make(const cpu_conv_image *m, const cpu_conv_table *t, const rlx_conv_window *w,
                         const int64_t in[RLX_SPATIAL], const float *plane, float *image) {
  int64_t step = w->kernel[1] > 1 ? 1 : w->stride[1];
  for (size_t phase = 0; phase < m->phases; phase++)
    for (size_t r = 0; r < m->rows; r++, image += m->pitch) {
      int64_t y = (int64_t)r * step - w->pad_lo[1];
      if (y < 0 || y >= in[1]) memset(image, 0, m->pitch * sizeof *image);
      else make_row(m, t, w, in[2], (int64_t)phase, plane + y * in[2], image);
    }
}

size_t cpu_conv_image_tap(const cpu_conv_image *m, const rlx_conv_window *w, int64_t y, int64_t x) {
  size_t column = (size_t)(x * w->dilation[2]), stride = (size_t)w->stride[2];
  return (column % stride * m->rows + (size_t)(y * w->dilation[1])) * m->pitch + column / stride;
}
