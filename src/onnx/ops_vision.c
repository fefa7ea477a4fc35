/* Sampling at computed positions: grids, deformable convolution, regions of interest, and non-maximum suppression. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/element.h"
#include "ir/walk.h"
#include "onnx/compose.h"

/* ---- grids ---- */

rlx_status onnx_op_grid_sample(onnx_call *c) {
  static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic", NULL};
  static const char *const paddings[] = {"zeros", "border", "reflection", NULL};
  static const rlx_grid_mode to[] = {RLX_GRID_LINEAR, RLX_GRID_NEAREST, RLX_GRID_CUBIC, RLX_GRID_LINEAR,
                                     RLX_GRID_CUBIC};
  int mode, padding, rank = onnx_rank(c, 0);
  bool align;
  RLX_TRY(onnx_word(c, "mode", modes, &mode));
  RLX_TRY(onnx_word(c, "padding_mode", paddings, &padding));
  RLX_TRY(onnx_flag(c, "align_corners", false, &align));
  if (rank != 4 && rank != 5) return onnx_refuse(c, "an input with %d axes", rank);
  if (rank == 5 && to[mode] == RLX_GRID_CUBIC) return onnx_refuse(c, "cubic interpolation in three dimensions");
  rlx_dtype dtype = onnx_dtype(c, 0), wide = onnx_holds_floats(dtype) ? dtype : RLX_F32;
  rlx_node x = onnx_cast(c, onnx_in(c, 0), wide), grid = onnx_cast(c, onnx_in(c, 1), wide);
  rlx_node y = rlx_op_grid_sample(c->g, x, grid, to[mode], (rlx_grid_padding)padding, align);
  return onnx_set_like(c, 0, onnx_cast(c, y, dtype), 0);
}

/* Coordinates in -1 .. 1 of the n elements of an axis. */
static double grid_place(int64_t i, int64_t n, bool align) {
  if (align) return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : 0;
  return (2 * (double)i + 1) / (double)n - 1;
}

/* Homogeneous coordinates (x, y, .., 1) of a grid, to be transformed by theta. */
rlx_status onnx_op_affine_grid(onnx_call *c) {
  rlx_dims size, theta = onnx_shape(c, 0), out, plane;
  bool align;
  int64_t count, at[RLX_MAX_RANK] = {0};
  float *places;
  RLX_TRY(onnx_need_dims(c, 1, &size));
  RLX_TRY(onnx_flag(c, "align_corners", false, &align));
  int n = size.n - 2;
  if ((n != 2 && n != 3) || theta.n != 3 || theta.v[1] != n || theta.v[2] != n + 1 || theta.v[0] != size.v[0])
    return RLX_FAIL(RLX_INVALID, "size has %d numbers; theta does not fit", (int)size.n);
  for (int i = 0; i < size.n; i++)
    if (size.v[i] < 0) return RLX_FAIL(RLX_INVALID, "size %d is %" PRId64, i, size.v[i]);
  plane = onnx_spatial(&size, 2);
  RLX_TRY(onnx_product(c, &plane, &count));
  if (count > ONNX_MAX_TABLE / (n + 1)) return onnx_refuse(c, "a grid of %" PRId64, count);
  RLX_TRY(onnx_table(c, count * (n + 1), sizeof *places, &places));
  for (int64_t k = 0; k < count; k++, rlx_next_index(&plane, at)) {
    float *p = places + k * (n + 1);
    for (int i = 0; i < n; i++) p[i] = (float)grid_place(at[n - 1 - i], plane.v[n - 1 - i], align);
    p[n] = 1;
  }
  rlx_node base = onnx_cast(c, onnx_constant_f32(c, RLX_DIMS(count, n + 1), places), onnx_dtype(c, 0));
  rlx_node y = rlx_op_matmul_t(c->g, base, onnx_in(c, 0)); /* [N, positions, n] */
  out = (rlx_dims){.n = n + 2, .v = {size.v[0]}};
  for (int i = 0; i < n; i++) out.v[1 + i] = plane.v[i];
  out.v[n + 1] = n;
  return onnx_set_like(c, 0, onnx_reshape(c, y, out), 0);
}

/* ---- DeformConv: elements of each window are sampled where offsets put them, then summed as any convolution ---- */

typedef struct deform {
  onnx_window w;
  int64_t groups, offset_groups, batch, channels, outputs, n_kernel, oh, ow;
} deform;

static rlx_status read_deform(onnx_call *c, deform *d) {
  rlx_dims x = onnx_shape(c, 0), w = onnx_shape(c, 1), o = onnx_shape(c, 2), m = onnx_shape(c, 4);
  rlx_dims sizes = onnx_spatial(&x, 2), kernel = onnx_spatial(&w, 2);
  if (x.n != 4 || w.n != 4 || o.n != 4) return onnx_refuse(c, "%d spatial axes, and 2 are possible", (int)x.n - 2);
  RLX_TRY(onnx_window_of(c, &kernel, &sizes, &d->w));
  RLX_TRY(onnx_int(c, "group", 1, &d->groups));
  RLX_TRY(onnx_int(c, "offset_group", 1, &d->offset_groups));
  d->batch = x.v[0], d->channels = x.v[1], d->outputs = w.v[0];
  d->n_kernel = kernel.v[0] * kernel.v[1];
  d->oh = onnx_windows(&d->w, 0, sizes.v[0], false), d->ow = onnx_windows(&d->w, 1, sizes.v[1], false);
  if (d->groups < 1 || d->offset_groups < 1 || d->channels % d->groups || d->outputs % d->groups ||
      d->channels % d->offset_groups || w.v[1] != d->channels / d->groups)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " groups, %" PRId64 " of offsets", d->groups, d->offset_groups);
  if (o.v[0] != d->batch || o.v[1] != d->offset_groups * d->n_kernel * 2 || o.v[2] != d->oh || o.v[3] != d->ow)
    return RLX_FAIL(RLX_INVALID, "the offsets do not fit a result of %" PRId64 " x %" PRId64, d->oh, d->ow);
  if (onnx_has(c, 4) && (m.n != 4 || m.v[1] != d->offset_groups * d->n_kernel || m.v[2] != d->oh || m.v[3] != d->ow))
    return RLX_FAIL(RLX_INVALID, "the mask does not fit a result of %" PRId64 " x %" PRId64, d->oh, d->ow);
  return RLX_OK;
}

/* Undeformed positions [K, OH, OW] along an axis; 0: rows, 1: columns. */
static rlx_status base_places(onnx_call *c, const deform *d, int axis, rlx_node *out) {
  const onnx_window *w = &d->w;
  float *v;
  size_t at = 0;
  if (d->oh * d->ow > ONNX_MAX_TABLE / d->n_kernel) return onnx_refuse(c, "%" PRId64 " windows", d->oh * d->ow);
  RLX_TRY(onnx_table(c, d->n_kernel * d->oh * d->ow, sizeof *v, &v));
  for (int64_t k = 0; k < d->n_kernel; k++)
    for (int64_t i = 0; i < d->oh; i++)
      for (int64_t j = 0; j < d->ow; j++) {
        int64_t e = axis ? k % w->kernel.v[1] : k / w->kernel.v[1];
        v[at++] = (float)((axis ? j : i) * w->stride.v[axis] - w->lo.v[axis] + e * w->dilation.v[axis]);
      }
  *out = onnx_constant_f32(c, RLX_DIMS(d->n_kernel, d->oh, d->ow), v);
  return RLX_OK;
}

/* Grid coordinate of a position along an axis of `size`: -1 and 1 are the outer edges. */
static rlx_status grid_axis(onnx_call *c, const deform *d, int axis, int64_t size, rlx_node *out) {
  rlx_node base = RLX_NONE;
  int64_t rows = d->batch * d->offset_groups;
  RLX_TRY(base_places(c, d, axis, &base));
  rlx_node o = onnx_cast(c, onnx_in(c, 2), RLX_F32);
  o = onnx_reshape(c, o, RLX_DIMS(rows, d->n_kernel, 2, d->oh, d->ow));
  o = onnx_reshape(c, onnx_part(c, o, 2, axis, axis + 1), RLX_DIMS(rows, d->n_kernel, d->oh, d->ow));
  o = onnx_plus(c, onnx_times(c, rlx_op_add(c->g, o, base), 2 / (double)size), 1 / (double)size - 1);
  *out = onnx_reshape(c, o, RLX_DIMS(rows, d->n_kernel * d->oh, d->ow, 1));
  return RLX_OK;
}

rlx_status onnx_op_deform_conv(onnx_call *c) {
  deform d = {0};
  rlx_node parts[2];
  rlx_dims x = onnx_shape(c, 0);
  RLX_TRY(read_deform(c, &d));
  if (x.v[2] < 1 || x.v[3] < 1) return RLX_FAIL(RLX_INVALID, "an empty image");
  RLX_TRY(grid_axis(c, &d, 1, x.v[3], &parts[0]));
  RLX_TRY(grid_axis(c, &d, 0, x.v[2], &parts[1]));
  rlx_dtype dtype = onnx_dtype(c, 0);
  int64_t rows = d.batch * d.offset_groups, each = d.channels / d.offset_groups, places = d.oh * d.ow;
  rlx_node grid = onnx_cast(c, rlx_op_concat(c->g, parts, 2, 3), dtype);
  rlx_node image = onnx_reshape(c, onnx_in(c, 0), RLX_DIMS(rows, each, x.v[2], x.v[3]));
  rlx_node s = rlx_op_grid_sample(c->g, image, grid, RLX_GRID_LINEAR, RLX_GRID_PADDING_ZEROS, false);
  if (onnx_has(c, 4))
    s = rlx_op_mul(c->g, s, onnx_reshape(c, onnx_in(c, 4), RLX_DIMS(rows, 1, d.n_kernel * d.oh, d.ow)));
  int64_t terms = d.channels / d.groups * d.n_kernel;
  s = onnx_reshape(c, s, RLX_DIMS(d.batch, d.groups, terms, places));
  rlx_node w = onnx_reshape(c, onnx_in(c, 1), RLX_DIMS(d.groups, d.outputs / d.groups, terms));
  rlx_node y = onnx_reshape(c, rlx_op_matmul(c->g, w, s), RLX_DIMS(d.batch, d.outputs, d.oh, d.ow));
  if (onnx_has(c, 3)) y = rlx_op_add(c->g, y, onnx_along(c, onnx_in(c, 3), 1, 4));
  return onnx_set_like(c, 0, y, 0);
}

/* ---- RoiAlign, on the host: the number of samples depends on the regions ---- */

typedef struct roi_align {
  const rlx_tensor *x;
  int64_t oh, ow, ratio;
  bool is_max, is_half;
  double scale;
} roi_align;

/* The two elements around a position and the weight of the second; false: outside. */
static bool around(double at, int64_t n, int64_t *lo, int64_t *hi, double *share) {
  if (!(at >= -1 && at <= (double)n)) return false;
  if (at < 0) at = 0;
  *lo = (int64_t)at;
  if (*lo >= n - 1) *lo = *hi = n - 1, *share = 0;
  else *hi = *lo + 1, *share = at - (double)*lo;
  return true;
}

/* The sample at a place: interpolated, or for the maximum the largest of the four weighted corners. */
static double sample_at(const roi_align *r, size_t plane, double y, double x) {
  int64_t h = r->x->shape.v[2], w = r->x->shape.v[3], y0, y1, x0, x1;
  double sy, sx;
  if (!around(y, h, &y0, &y1, &sy) || !around(x, w, &x0, &x1, &sx)) return 0;
  double a = (1 - sy) * (1 - sx) * rlx_load(r->x, plane + (size_t)(y0 * w + x0));
  double b = (1 - sy) * sx * rlx_load(r->x, plane + (size_t)(y0 * w + x1));
  double c = sy * (1 - sx) * rlx_load(r->x, plane + (size_t)(y1 * w + x0));
  double d = sy * sx * rlx_load(r->x, plane + (size_t)(y1 * w + x1));
  return r->is_max ? fmax(fmax(a, b), fmax(c, d)) : a + b + c + d;
}

static double roi_bin(const roi_align *r, size_t plane, const double start[2], const double bin[2],
                      const int64_t n[2]) {
  double best = 0, sum = 0;
  for (int64_t i = 0; i < n[0]; i++)
    for (int64_t k = 0; k < n[1]; k++) {
      double v = sample_at(r, plane, start[0] + ((double)i + 0.5) * bin[0] / (double)n[0],
                           start[1] + ((double)k + 0.5) * bin[1] / (double)n[1]);
      best = i + k == 0 || v > best ? v : best;
      sum += v;
    }
  int64_t count = n[0] * n[1];
  return r->is_max ? best : sum / (double)(count > 1 ? count : 1);
}

static rlx_status roi_one(const roi_align *r, const rlx_tensor *rois, size_t i, size_t image, rlx_tensor *out) {
  enum { MAX_SAMPLES = 1 << 12 };
  double offset = r->is_half ? 0.5 : 0, from[2], size[2], bin[2];
  int64_t n[2], parts[2] = {r->oh, r->ow};
  size_t plane = (size_t)(r->x->shape.v[2] * r->x->shape.v[3]), channels = (size_t)r->x->shape.v[1];
  for (size_t a = 0; a < 2; a++) { /* rows, then columns */
    from[a] = rlx_load(rois, 4 * i + 1 - a) * r->scale - offset;
    size[a] = rlx_load(rois, 4 * i + 3 - a) * r->scale - offset - from[a];
    if (!r->is_half && !(size[a] >= 1)) size[a] = 1;
    bin[a] = size[a] / (double)parts[a];
    double samples = r->ratio > 0 ? (double)r->ratio : ceil(bin[a]);
    if (!(samples <= MAX_SAMPLES)) return RLX_FAIL(RLX_INVALID, "RoiAlign: region %zu is too large", i);
    n[a] = samples < 0 ? 0 : (int64_t)samples;
  }
  size_t at = i * channels * (size_t)(r->oh * r->ow);
  for (size_t ch = 0; ch < channels; ch++)
    for (int64_t y = 0; y < r->oh; y++)
      for (int64_t x = 0; x < r->ow; x++) {
        double start[2] = {from[0] + (double)y * bin[0], from[1] + (double)x * bin[1]};
        rlx_store(out, at++, roi_bin(r, (image * channels + ch) * plane, start, bin, n));
      }
  return RLX_OK;
}

static rlx_status run_roi_align(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0], *rois = &h->in[1], *images = &h->in[2];
  roi_align r = {.x = x, .oh = h->p[0], .ow = h->p[1], .ratio = h->p[2], .is_max = h->p[3] & 1, .is_half = h->p[3] & 2};
  memcpy(&r.scale, &h->p[4], sizeof r.scale);
  rlx_tensor out = {x->dtype, RLX_DIMS(rois->shape.v[0], x->shape.v[1], r.oh, r.ow), {NULL}, 0};
  RLX_TRY(rlx_tensor_bytes(out.dtype, out.shape, &out.bytes));
  if (!(out.data = rlx_mem_alloc(out.bytes + 1))) return RLX_FAIL(RLX_NO_MEMORY, "RoiAlign: %zu bytes", out.bytes);
  h->out[0] = out;
  for (size_t i = 0; i < (size_t)rois->shape.v[0]; i++) {
    int64_t image = rlx_load_int(images, i);
    if (image < 0 || image >= x->shape.v[0]) return RLX_FAIL(RLX_INVALID, "RoiAlign: image %" PRId64, image);
    RLX_TRY(roi_one(&r, rois, i, (size_t)image, &h->out[0]));
  }
  return RLX_OK;
}

rlx_status onnx_op_roi_align(onnx_call *c) {
  static const char *const modes[] = {"avg", "max", NULL};
  static const char *const coords[] = {"half_pixel", "output_half_pixel", NULL};
  int mode, coord;
  double scale;
  int64_t p[ONNX_HOST_NUMBERS] = {0};
  rlx_dims rois = onnx_shape(c, 1), images = onnx_shape(c, 2);
  RLX_TRY(onnx_word(c, "mode", modes, &mode));
  RLX_TRY(onnx_word(c, "coordinate_transformation_mode", coords, &coord));
  RLX_TRY(onnx_int(c, "output_height", 1, &p[0]));
  RLX_TRY(onnx_int(c, "output_width", 1, &p[1]));
  RLX_TRY(onnx_int(c, "sampling_ratio", 0, &p[2]));
  RLX_TRY(onnx_float(c, "spatial_scale", 1, &scale));
  if (c->opset < 16) coord = 1;
  if (onnx_rank(c, 0) != 4 || !onnx_holds_floats(onnx_dtype(c, 0)) || rois.n != 2 || rois.v[1] != 4 || images.n != 1 ||
      images.v[0] != rois.v[0] || p[0] < 1 || p[1] < 1 || p[0] > INT32_MAX || p[1] > INT32_MAX)
    return RLX_FAIL(RLX_INVALID, "expected floats [N, C, H, W], regions [R, 4] and images [R]");
  p[3] = (mode == 1) + 2 * (coord == 0);
  memcpy(&p[4], &scale, sizeof scale);
  return onnx_on_host(c, run_roi_align, p);
}

/* ---- NonMaxSuppression ---- */

typedef struct box {
  double y0, x0, y1, x1, score;
  size_t index;
} box;

static int by_score(const void *a, const void *b) {
  const box *p = a, *q = b;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return p->index < q->index ? -1 : p->index > q->index;
}

static box load_box(const rlx_tensor *boxes, size_t at, bool by_center) {
  double v[4];
  for (size_t k = 0; k < 4; k++) v[k] = rlx_load(boxes, 4 * at + k);
  if (by_center) return (box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2, 0, 0};
  return (box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3]), 0, 0};
}

static double overlap(const box *a, const box *b) {
  double h = fmin(a->y1, b->y1) - fmax(a->y0, b->y0), w = fmin(a->x1, b->x1) - fmax(a->x0, b->x0);
  double both = h > 0 && w > 0 ? h * w : 0;
  double area = (a->y1 - a->y0) * (a->x1 - a->x0) + (b->y1 - b->y0) * (b->x1 - b->x0) - both;
  return area > 0 ? both / area : 0;
}

/* Of sorted boxes, those that no better one covers; they move to the front. */
static size_t keep_best(box *v, size_t n, size_t max, double threshold) {
  size_t kept = 0;
  for (size_t i = 0; i < n && kept < max; i++) {
    bool covered = false;
    for (size_t k = 0; k < kept && !covered; k++) covered = overlap(&v[k], &v[i]) > threshold;
    if (!covered) v[kept++] = v[i];
  }
  return kept;
}

static double number_or(const onnx_host_call *h, uint32_t i, double fallback) {
  return i < h->n_in && h->in[i].dtype != RLX_DTYPE_UNKNOWN && rlx_tensor_count(&h->in[i]) ? rlx_load(&h->in[i], 0)
                                                                                           : fallback;
}

typedef struct found {
  RLX_ARRAY(int64_t) v; /* image, class, box */
} found;

static rlx_status suppress_class(const onnx_host_call *h, size_t image, size_t class_, box *v, found *out) {
  const rlx_tensor *boxes = &h->in[0], *scores = &h->in[1];
  size_t n = (size_t)boxes->shape.v[1], classes = (size_t)scores->shape.v[1], used = 0;
  double max = number_or(h, 2, 0), threshold = number_or(h, 3, 0), min = number_or(h, 4, -RLX_INFINITY);
  for (size_t i = 0; i < n; i++) {
    double score = rlx_load(scores, (image * classes + class_) * n + i);
    if (!(score > min) && min != -RLX_INFINITY) continue;
    v[used] = load_box(boxes, image * n + i, h->p[0]);
    v[used].score = score;
    v[used++].index = i;
  }
  qsort(v, used, sizeof *v, by_score);
  size_t kept = keep_best(v, used, max > 0 ? max < (double)n ? (size_t)max : n : 0, threshold);
  for (size_t i = 0; i < kept; i++)
    if (!rlx_array_push(&out->v, (int64_t)image) || !rlx_array_push(&out->v, (int64_t)class_) ||
        !rlx_array_push(&out->v, (int64_t)v[i].index))
      return RLX_FAIL(RLX_NO_MEMORY, "NonMaxSuppression");
  return RLX_OK;
}

static rlx_status non_max_suppression(onnx_host_call *h) {
  found out = {0};
  rlx_status s = RLX_OK;
  size_t images = (size_t)h->in[0].shape.v[0], classes = (size_t)h->in[1].shape.v[1];
  box *v = rlx_mem_calloc((size_t)h->in[0].shape.v[1] + 1, sizeof *v);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "NonMaxSuppression");
  for (size_t i = 0; i < images && !s; i++)
    for (size_t k = 0; k < classes && !s; k++) s = suppress_class(h, i, k, v, &out);
  rlx_mem_free(v);
  size_t bytes = out.v.n * sizeof *out.v.v;
  void *data = s ? NULL : rlx_mem_alloc(bytes + 1);
  if (!s && !data) s = RLX_FAIL(RLX_NO_MEMORY, "NonMaxSuppression");
  if (!s) {
    if (bytes) memcpy(data, out.v.v, bytes);
    h->out[0] = (rlx_tensor){RLX_I64, RLX_DIMS((int64_t)(out.v.n / 3), 3), {data}, bytes};
  }
  rlx_array_deinit(&out.v);
  return s;
}

rlx_status onnx_op_non_max_suppression(onnx_call *c) {
  rlx_dims b = onnx_shape(c, 0), s = onnx_shape(c, 1);
  int64_t p[ONNX_HOST_NUMBERS] = {0};
  RLX_TRY(onnx_int(c, "center_point_box", 0, &p[0]));
  if (b.n != 3 || s.n != 3 || b.v[2] != 4 || b.v[0] != s.v[0] || b.v[1] != s.v[2])
    return RLX_FAIL(RLX_INVALID, "expected boxes [N, B, 4] and scores [N, C, B]");
  return onnx_on_host(c, non_max_suppression, p);
}
