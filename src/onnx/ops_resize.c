/* Resize and Upsample.
 *
 * Axes are independent. Modes that RLX's resize op supports (nearest and linear with the usual coordinates) use it.
 * Others are computed axis by axis: nearest as a gather with a table of positions, linear and cubic as a product
 * with a matrix whose rows are interpolation weights. */
#include <inttypes.h>
#include <string.h>

#include "ir/element.h"
#include "ir/walk.h"
#include "onnx/compose.h"

enum { NEAREST, LINEAR, CUBIC };
enum {
  HALF_PIXEL,
  PYTORCH_HALF_PIXEL,
  ALIGN_CORNERS,
  ASYMMETRIC,
  CROP_AND_RESIZE,
  HALF_PIXEL_SYMMETRIC,
  HALF_PIXEL_NN
};

typedef struct resizing {
  int mode, coords, nearest;
  bool antialias, exclude_outside;
  double cubic_a, outside; /* the value outside of a crop */
  rlx_dims in, out;
  double scale[RLX_MAX_RANK];
  bool is_ratio[RLX_MAX_RANK];                 /* the scale is out / in */
  double from[RLX_MAX_RANK], to[RLX_MAX_RANK]; /* of a crop, as shares of the input */
} resizing;

/* ---- attributes and inputs ---- */

static rlx_status read_modes(onnx_call *c, resizing *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
  static const char *const coords[] = {
    "half_pixel",         "pytorch_half_pixel",   "align_corners",        "asymmetric",
    "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn", NULL};
  static const char *const nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
  const char *text;
  RLX_TRY(onnx_text_of(c, "mode", "nearest", &text));
  if (strcmp(text, "bilinear") == 0) r->mode = LINEAR; /* before opset 7 */
  else RLX_TRY(onnx_word(c, "mode", modes, &r->mode));
  RLX_TRY(onnx_word(c, "coordinate_transformation_mode", coords, &r->coords));
  RLX_TRY(onnx_word(c, "nearest_mode", nearest, &r->nearest));
  RLX_TRY(onnx_flag(c, "antialias", false, &r->antialias));
  RLX_TRY(onnx_flag(c, "exclude_outside", false, &r->exclude_outside));
  RLX_TRY(onnx_float(c, "cubic_coeff_a", -0.75, &r->cubic_a));
  return onnx_float(c, "extrapolation_value", 0, &r->outside);
}

/* An input that is there and not empty. */
static bool is_given(const onnx_call *c, uint32_t i) {
  rlx_dims shape = onnx_shape(c, i);
  return onnx_has(c, i) && rlx_dims_count(&shape) > 0;
}

static rlx_status need_floats(onnx_call *c, uint32_t i, size_t n, double *out) {
  rlx_tensor t;
  RLX_TRY(onnx_need(c, i, &t));
  if (rlx_tensor_count(&t) != n || t.shape.n != 1)
    return RLX_FAIL(RLX_INVALID, "input %u has %zu numbers, expected %zu", (unsigned)i, rlx_tensor_count(&t), n);
  for (size_t k = 0; k < n; k++) out[k] = rlx_load(&t, k);
  return RLX_OK;
}

static rlx_status read_axes(onnx_call *c, int rank, rlx_dims *axes) {
  RLX_TRY(onnx_dims_of(c, "axes", axes));
  if (axes->n) return onnx_axes(c, axes, rank);
  axes->n = rank;
  for (int i = 0; i < rank; i++) axes->v[i] = i;
  return RLX_OK;
}

static rlx_status set_scale(resizing *r, int axis, double scale) {
  if (!(scale > 0) || !(scale < 1e9)) return RLX_FAIL(RLX_INVALID, "the scale of axis %d is %g", axis, scale);
  float size = floorf((float)r->in.v[axis] * (float)scale);
  if (!(size < (float)INT32_MAX)) return RLX_FAIL(RLX_INVALID, "axis %d becomes %g elements", axis, (double)size);
  r->out.v[axis] = (int64_t)size;
  r->scale[axis] = scale;
  r->is_ratio[axis] = fabs(scale * (double)r->in.v[axis] - (double)size) < 1e-4;
  return RLX_OK;
}

static rlx_status set_size(resizing *r, int axis, int64_t size) {
  if (size < 0 || size > INT32_MAX) return RLX_FAIL(RLX_INVALID, "the size of axis %d is %" PRId64, axis, size);
  if (!r->in.v[axis] && size) return RLX_FAIL(RLX_INVALID, "axis %d has no elements to resize", axis);
  r->out.v[axis] = size;
  r->scale[axis] = r->in.v[axis] ? (double)size / (double)r->in.v[axis] : 1;
  r->is_ratio[axis] = true;
  return RLX_OK;
}

/* One scale for all axes, the least or the largest that the sizes ask for. */
static rlx_status set_sizes(onnx_call *c, resizing *r, const rlx_dims *axes, const onnx_ints *sizes) {
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  int policy;
  double scale = 0;
  RLX_TRY(onnx_word(c, "keep_aspect_ratio_policy", policies, &policy));
  if (sizes->n != (size_t)axes->n) return RLX_FAIL(RLX_INVALID, "%zu sizes for %d axes", sizes->n, (int)axes->n);
  for (int i = 0; i < axes->n; i++) {
    int axis = (int)axes->v[i];
    RLX_TRY(set_size(r, axis, sizes->v[i]));
    double s = r->scale[axis];
    if (i == 0 || (policy == 1 ? s < scale : s > scale)) scale = s;
  }
  for (int i = 0; policy && i < axes->n; i++) {
    int axis = (int)axes->v[i];
    RLX_TRY(set_size(r, axis, (int64_t)floor(scale * (double)r->in.v[axis] + 0.5)));
    r->is_ratio[axis] = fabs(scale - r->scale[axis]) < 1e-9;
    r->scale[axis] = scale;
  }
  return RLX_OK;
}

static rlx_status read_sizes(onnx_call *c, resizing *r, uint32_t scales_at) {
  rlx_dims axes;
  double numbers[2 * RLX_MAX_RANK];
  onnx_ints sizes = {0};
  r->in = r->out = onnx_shape(c, 0);
  RLX_TRY(read_axes(c, r->in.n, &axes));
  size_t n = (size_t)axes.n;
  for (int i = 0; i < r->in.n; i++) r->scale[i] = 1, r->is_ratio[i] = true, r->from[i] = 0, r->to[i] = 1;
  if (r->coords == CROP_AND_RESIZE) {
    RLX_TRY(need_floats(c, 1, 2 * n, numbers));
    for (size_t i = 0; i < n; i++) r->from[axes.v[i]] = numbers[i], r->to[axes.v[i]] = numbers[n + i];
  }
  if (is_given(c, scales_at + 1)) {
    RLX_TRY(onnx_need_ints(c, scales_at + 1, &sizes));
    return set_sizes(c, r, &axes, &sizes);
  }
  onnx_pass_over(c, "keep_aspect_ratio_policy"); /* of sizes */
  RLX_TRY(need_floats(c, scales_at, n, numbers));
  for (size_t i = 0; i < n; i++) RLX_TRY(set_scale(r, (int)axes.v[i], numbers[i]));
  return RLX_OK;
}

/* ---- positions and weights ---- */

/* Input coordinate of output position i. */
static double coordinate(const resizing *r, int axis, int64_t i) {
  double x = (double)i, in = (double)r->in.v[axis], scale = r->scale[axis];
  double out = r->is_ratio[axis] ? (double)r->out.v[axis] : scale * in;
  double half = r->is_ratio[axis] ? (x + 0.5) * in / out - 0.5 : (x + 0.5) / scale - 0.5;
  switch (r->coords) {
    case ALIGN_CORNERS: return out == 1 ? 0 : x * (in - 1) / (out - 1);
    case ASYMMETRIC: return r->is_ratio[axis] ? x * in / out : x / scale;
    case PYTORCH_HALF_PIXEL: return r->out.v[axis] == 1 ? 0 : half;
    case HALF_PIXEL_SYMMETRIC: return half + in / 2 * (1 - (double)r->out.v[axis] / out);
    case HALF_PIXEL_NN: return half + 0.5;
    case CROP_AND_RESIZE: {
      double first = r->from[axis] * (in - 1), span = (r->to[axis] - r->from[axis]) * (in - 1);
      return r->out.v[axis] > 1 ? first + x * span / (out - 1) : first + span / 2;
    }
    default: return half;
  }
}

static bool is_outside(const resizing *r, int axis, int64_t i) {
  double x = coordinate(r, axis, i);
  return r->coords == CROP_AND_RESIZE && !(x >= 0 && x <= (double)(r->in.v[axis] - 1));
}

static int64_t clamp_place(double x, int64_t n) { return !(x > 0) ? 0 : x < (double)(n - 1) ? (int64_t)x : n - 1; }

static int64_t nearest_place(const resizing *r, int axis, int64_t i) {
  double x = nearbyint(coordinate(r, axis, i) * 0x1p30) * 0x1p-30; /* few roundings must not decide */
  switch (r->nearest) {
    case 1: x = floor(x + 0.5); break;
    case 2: x = floor(x); break;
    case 3: x = ceil(x); break;
    default: x = ceil(x - 0.5); break;
  }
  return clamp_place(x, r->in.v[axis]);
}

/* The filter at a distance. */
static double kernel_at(const resizing *r, double x) {
  double a = r->cubic_a;
  x = fabs(x);
  if (r->mode == LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Interpolation weights for output position i. Antialiasing widens the filter. Weights outside the input go to the
 * edge or are dropped. */
static void fill_row(const resizing *r, int axis, int64_t i, float *row) {
  double x = coordinate(r, axis, i), shrink = r->antialias && r->scale[axis] < 1 ? r->scale[axis] : 1, sum = 0;
  double reach = (r->mode == LINEAR ? 1 : 2) / shrink;
  int64_t n = r->in.v[axis];
  if (x < -1e9) x = -1e9;
  if (!(x < 1e9)) x = 1e9;
  double first = floor(x - reach), last = ceil(x + reach);
  for (double k = first; k <= last; k++) {
    bool inside = k >= 0 && k < (double)n;
    double w = r->exclude_outside && !inside ? 0 : kernel_at(r, (k - x) * shrink);
    sum += w;
    row[clamp_place(k, n)] += (float)w;
  }
  if ((shrink < 1 || r->exclude_outside) && sum != 0)
    for (int64_t k = 0; k < n; k++) row[k] = (float)((double)row[k] / sum);
}

/* ---- one axis ---- */

static rlx_status gather_axis(onnx_call *c, const resizing *r, int axis, rlx_node *x) {
  int32_t *places;
  RLX_TRY(onnx_table(c, r->out.v[axis], sizeof *places, &places));
  for (int64_t i = 0; i < r->out.v[axis]; i++) places[i] = (int32_t)nearest_place(r, axis, i);
  *x = rlx_op_gather(c->g, *x, onnx_constant_i32(c, RLX_DIMS(r->out.v[axis]), places), axis);
  return RLX_OK;
}

static rlx_status multiply_axis(onnx_call *c, const resizing *r, int axis, rlx_node *x) {
  int64_t in = r->in.v[axis], out = r->out.v[axis], before = 1, after = 1;
  rlx_dims shape = onnx_dims(c, *x);
  float *matrix;
  if (shape.n <= axis) return RLX_FAIL(RLX_INVALID, "axis %d", axis);
  if (in > INT32_MAX || out > ONNX_MAX_TABLE / (in ? in : 1))
    return onnx_refuse(c, "resizing %" PRId64 " elements to %" PRId64, in, out);
  RLX_TRY(onnx_table(c, in * out, sizeof *matrix, &matrix));
  memset(matrix, 0, (size_t)(in * out) * sizeof *matrix);
  for (int64_t i = 0; i < out; i++) fill_row(r, axis, i, matrix + i * in);
  for (int i = 0; i < axis; i++) before *= shape.v[i];
  for (int i = axis + 1; i < shape.n; i++) after *= shape.v[i];
  rlx_node w = onnx_cast(c, onnx_constant_f32(c, RLX_DIMS(out, in), matrix), rlx_node_dtype(c->g, *x));
  shape.v[axis] = out;
  rlx_node y = after == 1 ? rlx_op_matmul_t(c->g, onnx_reshape(c, *x, RLX_DIMS(before, in)), w)
                          : rlx_op_matmul(c->g, w, onnx_reshape(c, *x, RLX_DIMS(before, in, after)));
  *x = onnx_reshape(c, y, shape);
  return RLX_OK;
}

static rlx_status mask_axis(onnx_call *c, const resizing *r, int axis, rlx_node *x) {
  uint8_t *mask;
  bool any = false;
  RLX_TRY(onnx_table(c, r->out.v[axis], 1, &mask));
  for (int64_t i = 0; i < r->out.v[axis]; i++) any |= mask[i] = is_outside(r, axis, i);
  if (!any) return RLX_OK;
  rlx_node m = rlx_op_constant(c->g, RLX_BOOL, RLX_DIMS(r->out.v[axis]), mask, (size_t)r->out.v[axis]);
  *x = rlx_op_where(c->g, onnx_along(c, m, axis, r->in.n), onnx_scalar_like(c, *x, r->outside), *x);
  return RLX_OK;
}

/* ---- the whole ---- */

/* Whether RLX's op computes the same. */
static bool is_simple(const resizing *r) {
  if (r->mode == CUBIC || r->coords == CROP_AND_RESIZE || r->coords == HALF_PIXEL_NN) return false;
  for (int i = 0; i < r->in.n; i++) {
    if (r->coords == ALIGN_CORNERS && !r->is_ratio[i]) return false;
    if (r->mode == LINEAR && r->antialias && r->scale[i] < 1) return false;
  }
  return r->mode == NEAREST || !r->exclude_outside;
}

static rlx_node resize_simple(onnx_call *c, const resizing *r, rlx_node x) {
  static const rlx_resize_coords coords[] = {
    RLX_COORDS_HALF_PIXEL, RLX_COORDS_PYTORCH_HALF_PIXEL,   RLX_COORDS_ALIGN_CORNERS, RLX_COORDS_ASYMMETRIC,
    RLX_COORDS_HALF_PIXEL, RLX_COORDS_HALF_PIXEL_SYMMETRIC, RLX_COORDS_HALF_PIXEL};
  rlx_op_resize_desc d = {RLX_OP_RESIZE_DESC_INIT, .mode = r->mode == NEAREST ? RLX_RESIZE_NEAREST : RLX_RESIZE_LINEAR,
                          .coords = coords[r->coords], .nearest = (rlx_resize_nearest)r->nearest};
  bool all = true;
  for (int i = 0; i < r->in.n; i++) all &= r->is_ratio[i];
  for (int i = 0; !all && i < r->in.n; i++)
    d.scale.v[d.scale.n++] = r->is_ratio[i] && r->in.v[i] ? (double)r->out.v[i] / (double)r->in.v[i] : r->scale[i];
  return rlx_op_resize(c->g, x, r->out, &d);
}

static rlx_status resize(onnx_call *c, const resizing *r) {
  int64_t count;
  RLX_TRY(onnx_product(c, &r->out, &count));
  rlx_dtype dtype = onnx_dtype(c, 0);
  rlx_node x = onnx_in(c, 0);
  if (!count) return onnx_set_like(c, 0, onnx_fill(c, dtype, r->out, 0), 0);
  bool is_exact = r->mode == NEAREST && (!onnx_holds_floats(dtype) || !is_simple(r));
  if (!onnx_holds_floats(dtype) && !is_exact) x = rlx_op_cast(c->g, x, RLX_F32);
  if (!is_exact && is_simple(r)) x = resize_simple(c, r, x);
  else
    for (int i = 0; i < r->in.n; i++) {
      bool same = r->in.v[i] == r->out.v[i] && r->scale[i] == 1 && r->from[i] == 0 && r->to[i] == 1;
      if (!same && is_exact) RLX_TRY(gather_axis(c, r, i, &x));
      else if (!same) RLX_TRY(multiply_axis(c, r, i, &x));
    }
  for (int i = 0; r->coords == CROP_AND_RESIZE && i < r->in.n; i++) RLX_TRY(mask_axis(c, r, i, &x));
  return onnx_set_like(c, 0, onnx_cast(c, x, dtype), 0);
}

rlx_status onnx_op_resize(onnx_call *c) {
  resizing r = {0};
  RLX_TRY(read_modes(c, &r));
  if (c->opset == 10) r.coords = ASYMMETRIC, r.nearest = 2;
  RLX_TRY(read_sizes(c, &r, c->opset == 10 ? 1 : 2));
  return resize(c, &r);
}

/* Scales are an attribute before opset 9, an input later. */
rlx_status onnx_op_upsample(onnx_call *c) {
  resizing r = {.coords = ASYMMETRIC, .nearest = 2};
  const double *scales;
  size_t n;
  RLX_TRY(read_modes(c, &r));
  r.coords = ASYMMETRIC, r.nearest = 2;
  if (onnx_has(c, 1)) {
    RLX_TRY(read_sizes(c, &r, 1));
    return resize(c, &r);
  }
  r.in = r.out = onnx_shape(c, 0);
  RLX_TRY(onnx_floats_of(c, "scales", &scales, &n));
  if (n != (size_t)r.in.n) return RLX_FAIL(RLX_INVALID, "%zu scales for %d axes", n, (int)r.in.n);
  for (int i = 0; i < r.in.n; i++) {
    r.to[i] = 1;
    RLX_TRY(set_scale(&r, i, scales[i]));
  }
  return resize(c, &r);
}
