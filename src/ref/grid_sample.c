/* grid_sample: samples planes at coordinates given by a second tensor.
 *
 * Each coordinate becomes a short list of taps along its axis: one index (nearest), two (linear) or four (cubic), each
 * with a weight; a tap outside the input reads zero. The value is the sum over all combinations. Grid values are
 * run-time data and may be anything, so a double is converted to an index only after it is known to be inside. A
 * non-finite coordinate is outside, in every mode: with padding `zeros` it reads 0; with `border` an infinity reads the
 * element at that end and NaN the first; with `reflection` all read the first. */
#include <math.h>

#include "ref/ref.h"

enum { mode_linear, mode_nearest, mode_cubic };
enum { pad_zeros, pad_border, pad_reflection };
enum { spatial = 3, max_taps = 4 };

typedef struct {
  int n;
  bool inside[max_taps];
  int64_t index[max_taps];
  double weight[max_taps];
} taps;

/* From -1 .. 1 to element coordinates: the centres of the corner elements, or their outer edges. */
static double coordinate_of(double g, int64_t size, bool align) {
  return align ? (g + 1) / 2 * (double)(size - 1) : ((g + 1) * (double)size - 1) / 2;
}

/* Reflects a coordinate at the centres (align) or edges of the end elements. */
static double reflect(double x, int64_t size, bool align) {
  double low = align ? 0 : -0.5, span = align ? (double)(size - 1) : (double)size;
  if (span == 0) return 0;
  double r = fmod(fabs(x - low), 2 * span);
  return low + (r > span ? 2 * span - r : r);
}

/* Padding moves an outside coordinate inside; `zeros` leaves it unchanged. */
static double pad_coordinate(double x, int64_t size, const rlx_attrs_grid_sample *a) {
  if (a->padding == pad_zeros) return x;
  if (a->padding == pad_reflection) x = reflect(x, size, a->align_corners);
  return x > 0 ? x < (double)(size - 1) ? x : (double)(size - 1) : 0; /* NaN becomes 0 */
}

static void add_tap(taps *t, double at, double weight, int64_t size) {
  int i = t->n++;
  t->inside[i] = at >= 0 && at <= (double)(size - 1);
  t->index[i] = t->inside[i] ? (int64_t)at : 0;
  t->weight[i] = weight;
}

/* Cubic convolution with a = -3/4: the weights of the elements at distances t + 1, t, 1 - t, 2 - t. */
static void cubic_weights(double t, double w[4]) {
  const double a = -0.75;
  for (int i = 0; i < 4; i++) {
    double d = fabs(t + 1 - i);
    w[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : (((d - 5) * d + 8) * d - 4) * a;
  }
}

static taps taps_of(double g, int64_t size, const rlx_attrs_grid_sample *a) {
  taps t = {.n = 0};
  double x = coordinate_of(g, size, a->align_corners);
  switch (a->mode) {
    case mode_nearest: add_tap(&t, nearbyint(pad_coordinate(x, size, a)), 1, size); break; /* ties to even */
    case mode_linear: {
      x = pad_coordinate(x, size, a);
      double low = floor(x);
      add_tap(&t, low, 1 - (x - low), size);
      add_tap(&t, low + 1, x - low, size);
      break;
    }
    default: { /* cubic: the padding applies to each of the four elements */
      double w[4];
      if (!isfinite(x)) x = pad_coordinate(x, size, a);
      double low = floor(x);
      cubic_weights(x - low, w);
      for (int i = 0; i < 4; i++) add_tap(&t, pad_coordinate(low - 1 + i, size, a), w[i], size);
    }
  }
  return t;
}

/* The sum over the combinations of one tap per axis. A tap outside contributes nothing, whatever its weight. */
static double sample(const rlx_tensor *x, size_t plane, const int64_t size[spatial], const taps t[spatial]) {
  double sum = 0;
  for (int i = 0; i < t[0].n; i++)
    for (int j = 0; j < t[1].n; j++)
      for (int k = 0; k < t[2].n; k++) {
        if (!t[0].inside[i] || !t[1].inside[j] || !t[2].inside[k]) continue;
        int64_t at = (t[0].index[i] * size[1] + t[1].index[j]) * size[2] + t[2].index[k];
        sum += t[0].weight[i] * t[1].weight[j] * t[2].weight[k] * rlx_load(x, plane + (size_t)at);
      }
  return sum;
}

rlx_status rlx_ref_grid_sample(rlx_ref_call *c) {
  const rlx_attrs_grid_sample *a = RLX_ATTRS(grid_sample, c);
  const rlx_tensor *x = c->in[0], *grid = c->in[1];
  rlx_tensor *out = c->out;
  if (rlx_tensor_count(out) == 0) return RLX_OK;
  int axes = x->shape.n - 2;
  int64_t size[spatial] = {1, 1, 1};
  size_t positions = 1, plane_size = 1, channels = (size_t)x->shape.v[1];
  for (int i = 0; i < axes; i++) {
    size[spatial - axes + i] = x->shape.v[2 + i];
    plane_size *= (size_t)x->shape.v[2 + i];
    positions *= (size_t)out->shape.v[2 + i];
  }
  for (size_t n = 0; n < (size_t)out->shape.v[0]; n++)
    for (size_t p = 0; p < positions && rlx_ref_continues(c, 8); p++) {
      taps t[spatial];
      t[0] = (taps){.n = 1, .inside = {true}, .weight = {1}};
      for (int i = 0; i < axes; i++) { /* the grid holds x first, which is the last axis */
        double g = rlx_load(grid, (n * positions + p) * (size_t)axes + (size_t)i);
        t[spatial - 1 - i] = taps_of(g, size[spatial - 1 - i], a);
      }
      for (size_t channel = n * channels; channel < (n + 1) * channels && rlx_ref_continues(c, 8); channel++)
        rlx_store(out, channel * positions + p, sample(x, channel * plane_size, size, t));
    }
  return RLX_OK;
}
