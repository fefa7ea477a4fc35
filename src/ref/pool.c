/* pool_max and pool_avg: one loop over the windows with two reductions.
 *
 * Padding never contributes to a maximum. A mean divides by the number of elements inside the input, or with count_pad
 * by the taps inside the padded input. What ceil_mode adds beyond the padding counts in neither. A dilated window can
 * contain no element of a small input: its maximum is -inf and its mean 0. */
#include <math.h>

#include "ir/conv_dims.h"
#include "ref/ref.h"

/* The taps of one window along each axis, and the plane they read. */
typedef struct {
  const rlx_tensor *x;
  size_t plane; /* offset of its first element */
  const int64_t *in, *dilation;
  int64_t start[RLX_SPATIAL], first[RLX_SPATIAL], end[RLX_SPATIAL];
  double padded_taps; /* taps inside the padded input */
} view;

typedef double (*reduce_fn)(rlx_ref_call *c, const view *v, bool count_pad);

static double element(const view *v, int64_t i, int64_t j, int64_t k) {
  int64_t z = v->start[0] + i * v->dilation[0];
  int64_t y = v->start[1] + j * v->dilation[1];
  int64_t x = v->start[2] + k * v->dilation[2];
  return rlx_load(v->x, v->plane + (size_t)((z * v->in[1] + y) * v->in[2] + x));
}

/* Whether to visit one more row of a window. */
static bool visits_row(rlx_ref_call *c, const view *v) {
  return rlx_ref_continues(c, 1 + (size_t)(v->end[2] - v->first[2]));
}

static double largest(rlx_ref_call *c, const view *v, bool count_pad) {
  (void)count_pad;
  double max = -INFINITY;
  for (int64_t i = v->first[0]; i < v->end[0]; i++)
    for (int64_t j = v->first[1]; j < v->end[1] && visits_row(c, v); j++)
      for (int64_t k = v->first[2]; k < v->end[2]; k++) {
        double x = element(v, i, j, k);
        if (x > max || isnan(x)) max = x;
        if (isnan(max)) return max;
      }
  return max;
}

static double mean(rlx_ref_call *c, const view *v, bool count_pad) {
  double sum = 0, n_inside = 1;
  for (int a = 0; a < RLX_SPATIAL; a++) n_inside *= (double)(v->end[a] - v->first[a]);
  for (int64_t i = v->first[0]; i < v->end[0]; i++)
    for (int64_t j = v->first[1]; j < v->end[1] && visits_row(c, v); j++)
      for (int64_t k = v->first[2]; k < v->end[2]; k++) sum += element(v, i, j, k);
  double divisor = count_pad ? v->padded_taps : n_inside;
  return divisor > 0 ? sum / divisor : 0;
}

/* Sets the window at an output position. */
static void set_window(view *v, const rlx_conv_window *w, const int64_t position[RLX_SPATIAL]) {
  v->padded_taps = 1;
  for (int a = 0; a < RLX_SPATIAL; a++) {
    v->start[a] = rlx_window_start(w, a, position[a]);
    rlx_window_taps(w, a, position[a], v->in[a], &v->first[a], &v->end[a]);
    /* No window starts before the padding, so only the far end can exclude taps. */
    int64_t from_zero, end;
    rlx_window_taps(w, a, position[a], v->in[a] + w->pad_hi[a], &from_zero, &end);
    v->padded_taps *= (double)end;
  }
}

static rlx_status pool(rlx_ref_call *c, reduce_fn value_of) {
  const rlx_tensor *x = c->in[0];
  rlx_tensor *out = c->out;
  rlx_pool_window p;
  RLX_TRY(rlx_pool_read(c->node->op, c->attrs, &x->shape, &p));
  int64_t in[RLX_SPATIAL], size[RLX_SPATIAL];
  rlx_window_sizes(&x->shape, in);
  rlx_window_sizes(&out->shape, size);
  view v = {.x = x, .in = in, .dilation = p.window.dilation};
  size_t planes = rlx_tensor_count(out) ? (size_t)(out->shape.v[0] * out->shape.v[1]) : 0, at = 0;
  for (size_t plane = 0; plane < planes; plane++) {
    v.plane = plane * (size_t)(in[0] * in[1] * in[2]);
    for (int64_t i = 0; i < size[0]; i++)
      for (int64_t j = 0; j < size[1]; j++)
        for (int64_t k = 0; k < size[2]; k++) {
          if (!rlx_ref_continues(c, 1)) return RLX_OK;
          set_window(&v, &p.window, (const int64_t[]){i, j, k});
          rlx_store(out, at++, value_of(c, &v, p.count_pad));
        }
  }
  return RLX_OK;
}

rlx_status rlx_ref_pool_max(rlx_ref_call *c) { return pool(c, largest); }
rlx_status rlx_ref_pool_avg(rlx_ref_call *c) { return pool(c, mean); }
