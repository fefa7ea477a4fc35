/* Pooling: reductions of windows that slide over spatial axes.
 *
 * RLX's pool ops are used if they fit. Otherwise (indices of maxima, powers, padding wider than the window) a table
 * lists the elements of each window, or a convolution with ones sums them. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "ir/element.h"
#include "ir/walk.h"
#include "onnx/compose.h"
#include "onnx/importer.h"

static rlx_status read_window(onnx_call *c, onnx_window *w, bool *ceil) {
  rlx_dims shape = onnx_shape(c, 0), sizes = onnx_spatial(&shape, 2);
  if (shape.n < 3) return RLX_FAIL(RLX_INVALID, "the input has %d axes, expected at least 3", (int)shape.n);
  if (shape.n > 5) return onnx_refuse(c, "%d spatial axes, and RLX pools over at most 3", (int)shape.n - 2);
  RLX_TRY(onnx_window_of(c, NULL, &sizes, w));
  RLX_TRY(onnx_flag(c, "ceil_mode", false, ceil));
  if (w->auto_pad != ONNX_PAD_GIVEN) *ceil = false; /* the sizes are auto_pad's */
  for (int i = 0; i < w->n; i++) {
    if (w->kernel.v[i] < 1) return RLX_FAIL(RLX_INVALID, "attribute 'kernel_shape' is missing");
    if (!rlx_dim_is_open(sizes.v[i]) && onnx_windows(w, i, sizes.v[i], *ceil) < 1)
      return RLX_FAIL(RLX_INVALID, "no window of %" PRId64 " fits into axis %d of %" PRId64, onnx_reach(w, i), i + 2,
                      sizes.v[i]);
  }
  return RLX_OK;
}

static rlx_op_pool_desc pool_of(const onnx_window *w, bool ceil) {
  return (rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT,   .ceil = ceil,    .kernel = w->kernel, .stride = w->stride,
                            .dilation = w->dilation, .pad_lo = w->lo, .pad_hi = w->hi};
}

/* RLX pads less than a window: more than that is padded before. */
static bool pads_fit(const onnx_window *w) {
  for (int i = 0; i < w->n; i++)
    if (w->lo.v[i] >= onnx_reach(w, i) || w->hi.v[i] >= onnx_reach(w, i)) return false;
  return true;
}

static rlx_node pad_before(onnx_call *c, rlx_node x, onnx_window *w, double value) {
  rlx_dims lo = {.n = w->n + 2}, hi = lo;
  for (int i = 0; i < w->n; i++) {
    lo.v[2 + i] = w->lo.v[i], hi.v[2 + i] = w->hi.v[i];
    w->lo.v[i] = w->hi.v[i] = 0;
  }
  return rlx_op_pad(c->g, x, lo, hi, RLX_PAD_CONSTANT, value);
}

/* ---- sums ---- */

/* The sum of each window, of `n` of them per axis: a convolution with ones. */
static rlx_node window_sums(onnx_call *c, rlx_node x, const onnx_window *w, bool ceil) {
  rlx_dims shape = onnx_dims(c, x), flat = shape, ones = {.n = w->n + 2, .v = {1, 1}};
  rlx_op_conv_desc d = {RLX_OP_CONV_DESC_INIT, w->stride, w->dilation, w->lo, w->hi, 1};
  flat.v[0] = shape.v[0] * shape.v[1];
  flat.v[1] = 1;
  for (int i = 0; i < w->n; i++) {
    int64_t size = shape.v[2 + i], n = onnx_windows(w, i, size, ceil);
    int64_t used = (n - 1) * w->stride.v[i] + onnx_reach(w, i) - size - w->lo.v[i];
    ones.v[2 + i] = w->kernel.v[i];
    d.pad_hi.v[i] = used > 0 ? used : 0;
  }
  rlx_node weight = onnx_fill(c, rlx_node_dtype(c->g, x), ones, 1);
  rlx_node y = rlx_op_conv(c->g, onnx_reshape(c, x, flat), weight, RLX_NONE, &d);
  rlx_dims out = onnx_dims(c, y);
  if (out.n < 2) return RLX_NONE;
  out.v[0] = shape.v[0], out.v[1] = shape.v[1];
  return onnx_reshape(c, y, out);
}

rlx_status onnx_op_average_pool(onnx_call *c) {
  onnx_window w;
  bool ceil, count_pad;
  RLX_TRY(read_window(c, &w, &ceil));
  RLX_TRY(onnx_flag(c, "count_include_pad", false, &count_pad));
  rlx_node x = onnx_in(c, 0);
  if (pads_fit(&w)) {
    rlx_op_pool_desc d = pool_of(&w, ceil);
    d.count_pad = count_pad;
    return onnx_set_like(c, 0, rlx_op_pool_avg(c->g, x, &d), 0);
  }
  if (rlx_dims_open(&c->in[0]->is.shape)) return onnx_need_numbers(c->imp, "wide padding");
  /* How many elements a window has: those of the input, or with padding. */
  rlx_dims one = onnx_dims(c, x);
  one.v[0] = one.v[1] = 1;
  rlx_node there = onnx_fill(c, rlx_node_dtype(c->g, x), one, 1);
  rlx_node sums = window_sums(c, x, &w, ceil);
  if (count_pad) there = pad_before(c, there, &w, 1);
  rlx_node counts = rlx_op_max(c->g, window_sums(c, there, &w, ceil), onnx_scalar_like(c, x, 1));
  return onnx_set_like(c, 0, rlx_op_div(c->g, sums, counts), 0);
}

/* |x|^p summed, and the root of it. */
static rlx_node to_power(onnx_call *c, rlx_node x, double p) {
  x = rlx_op_abs(c->g, x);
  if (p == 1) return x;
  return p == 2 ? rlx_op_mul(c->g, x, x) : rlx_op_pow(c->g, x, onnx_scalar_like(c, x, p));
}
static rlx_node to_root(onnx_call *c, rlx_node x, double p) {
  if (p == 1) return x;
  return p == 2 ? rlx_op_sqrt(c->g, x) : rlx_op_pow(c->g, x, onnx_scalar_like(c, x, 1 / p));
}

/* p was a float before opset 2. */
static rlx_status read_power(onnx_call *c, double *p) {
  const onnx_attribute *a = onnx_attribute_find(c, "p");
  int64_t i = 2;
  if (a && a->kind == ONNX_KIND_FLOAT) *p = a->f;
  else {
    RLX_TRY(onnx_int(c, "p", 2, &i));
    *p = (double)i;
  }
  return *p > 0 ? RLX_OK : RLX_FAIL(RLX_INVALID, "p is %g", *p);
}

rlx_status onnx_op_lp_pool(onnx_call *c) {
  onnx_window w;
  bool ceil;
  double p;
  RLX_TRY(read_window(c, &w, &ceil));
  RLX_TRY(read_power(c, &p));
  rlx_node sums = window_sums(c, to_power(c, onnx_in(c, 0), p), &w, ceil);
  return onnx_set_like(c, 0, to_root(c, sums, p), 0);
}

/* ---- over the whole plane ---- */

static rlx_status plane_axes(onnx_call *c, rlx_dims *axes) {
  int rank = onnx_rank(c, 0);
  if (rank < 2) return RLX_FAIL(RLX_INVALID, "the input has %d axes, expected at least 2", rank);
  axes->n = rank - 2;
  for (int i = 0; i < axes->n; i++) axes->v[i] = i + 2;
  return RLX_OK;
}

typedef rlx_node (*reduce_fn)(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);

static rlx_status global_pool(onnx_call *c, reduce_fn fn, double p) {
  rlx_dims axes;
  RLX_TRY(plane_axes(c, &axes));
  rlx_node x = onnx_in(c, 0);
  if (!axes.n) return onnx_set_like(c, 0, p != 0 ? rlx_op_abs(c->g, x) : x, 0);
  if (p == 0) return onnx_set_like(c, 0, fn(c->g, x, axes, true), 0);
  return onnx_set_like(c, 0, to_root(c, fn(c->g, to_power(c, x, p), axes, true), p), 0);
}

rlx_status onnx_op_global_average_pool(onnx_call *c) {
  int rank = onnx_rank(c, 0);
  if (rank < 3 || rank > 5) return global_pool(c, rlx_op_reduce_mean, 0);
  return onnx_set_like(c, 0, rlx_op_global_pool_avg(c->g, onnx_in(c, 0)), 0);
}
rlx_status onnx_op_global_max_pool(onnx_call *c) {
  int rank = onnx_rank(c, 0);
  if (rank < 3 || rank > 5) return global_pool(c, rlx_op_reduce_max, 0);
  return onnx_set_like(c, 0, rlx_op_global_pool_max(c->g, onnx_in(c, 0)), 0);
}
rlx_status onnx_op_global_lp_pool(onnx_call *c) {
  double p;
  RLX_TRY(read_power(c, &p));
  return global_pool(c, rlx_op_reduce_sum, p);
}

/* ---- maxima ---- */

/* Row-major offset in the plane of element k of window l, or -1 in the padding; `by_column`: the first axis is
 * contiguous. */
static int64_t place_in_plane(const onnx_window *w, const rlx_dims *plane, const int64_t *window,
                              const int64_t *element, bool by_column) {
  int64_t at = 0, step = 1;
  for (int i = 0; i < w->n; i++) {
    int a = by_column ? i : w->n - 1 - i;
    int64_t x = window[a] * w->stride.v[a] - w->lo.v[a] + element[a] * w->dilation.v[a];
    if (x < 0 || x >= plane->v[a]) return -1;
    at += x * step;
    step *= plane->v[a];
  }
  return at;
}

/* Tables [L, K]: the offset of each element of each window, and its index as ONNX counts it. Padding is element P
 * with index 0. */
static rlx_status window_tables(onnx_call *c, const onnx_window *w, const rlx_dims *plane, const rlx_dims *out,
                                bool by_column, int32_t **places, int64_t **indices) {
  int64_t n_plane, n_windows, n_elements, at[RLX_MAX_RANK] = {0};
  size_t k = 0;
  RLX_TRY(onnx_product(c, plane, &n_plane));
  RLX_TRY(onnx_product(c, out, &n_windows));
  RLX_TRY(onnx_product(c, &w->kernel, &n_elements));
  if (n_plane >= INT32_MAX || n_elements > ONNX_MAX_TABLE / (n_windows ? n_windows : 1))
    return onnx_refuse(c, "indices of %" PRId64 " windows of %" PRId64 " elements", n_windows, n_elements);
  RLX_TRY(onnx_table(c, n_windows * n_elements, sizeof **places, places));
  RLX_TRY(onnx_table(c, n_windows * n_elements, sizeof **indices, indices));
  for (int64_t l = 0; l < n_windows; l++, rlx_next_index(out, at)) {
    int64_t element[RLX_MAX_RANK] = {0};
    for (int64_t e = 0; e < n_elements; e++, k++, rlx_next_index(&w->kernel, element)) {
      int64_t place = place_in_plane(w, plane, at, element, false);
      (*places)[k] = (int32_t)(place < 0 ? n_plane : place);
      (*indices)[k] = place < 0 ? 0 : place_in_plane(w, plane, at, element, by_column);
    }
  }
  return RLX_OK;
}

/* Which element of each window is the largest: its index in the whole input. */
static rlx_status max_indices(onnx_call *c, rlx_node x, const onnx_window *w, bool ceil, bool by_column,
                              rlx_node *result) {
  rlx_dims shape = onnx_dims(c, x), plane = onnx_spatial(&shape, 2), out = {.n = w->n}, full = shape;
  int64_t n_plane, n_windows, n_elements, rows = shape.v[0] * shape.v[1];
  int32_t *places;
  int64_t *indices;
  for (int i = 0; i < w->n; i++) out.v[i] = full.v[2 + i] = onnx_windows(w, i, plane.v[i], ceil);
  RLX_TRY(window_tables(c, w, &plane, &out, by_column, &places, &indices));
  RLX_TRY(onnx_product(c, &plane, &n_plane));
  RLX_TRY(onnx_product(c, &out, &n_windows));
  RLX_TRY(onnx_product(c, &w->kernel, &n_elements));
  rlx_node flat = onnx_reshape(c, x, RLX_DIMS(rows, n_plane));
  flat = rlx_op_pad(c->g, flat, RLX_DIMS(0, 0), RLX_DIMS(0, 1), RLX_PAD_CONSTANT, -RLX_INFINITY);
  rlx_node values = rlx_op_gather(c->g, flat, onnx_constant_i32(c, RLX_DIMS(n_windows, n_elements), places), 1);
  rlx_node best = rlx_op_argmax(c->g, values, 2, true, RLX_I64); /* [rows, L, 1] */
  rlx_node table = onnx_constant_i64(c, RLX_DIMS(1, n_windows, n_elements), indices);
  table = rlx_op_expand(c->g, table, RLX_DIMS(rows, n_windows, n_elements));
  rlx_node found = onnx_reshape(c, rlx_op_gather_elements(c->g, table, best, 2), RLX_DIMS(rows, n_windows));
  rlx_node first = rlx_op_range(c->g, 0, (double)n_plane, rows, RLX_I64);
  *result = onnx_reshape(c, rlx_op_add(c->g, found, onnx_reshape(c, first, RLX_DIMS(rows, 1))), full);
  return RLX_OK;
}

rlx_status onnx_op_max_pool(onnx_call *c) {
  onnx_window w;
  bool ceil;
  int64_t storage_order;
  rlx_node indices = 0; /* gcc does not see that max_indices sets it */
  RLX_TRY(read_window(c, &w, &ceil));
  RLX_TRY(onnx_int(c, "storage_order", 0, &storage_order));
  rlx_node x = onnx_in(c, 0);
  rlx_dtype dtype = onnx_dtype(c, 0);
  if (!onnx_holds_floats(dtype)) x = rlx_op_cast(c->g, x, RLX_F32); /* 8 bits fit */
  if (onnx_wants(c, 1)) {
    if (rlx_dims_open(&c->in[0]->is.shape)) return onnx_need_numbers(c->imp, "indices of maxima");
    RLX_TRY(max_indices(c, x, &w, ceil, storage_order == 1, &indices));
    RLX_TRY(onnx_set(c, 1, indices));
  }
  if (!pads_fit(&w)) x = pad_before(c, x, &w, -RLX_INFINITY);
  rlx_op_pool_desc d = pool_of(&w, ceil);
  return onnx_set_like(c, 0, onnx_cast(c, rlx_op_pool_max(c->g, x, &d), dtype), 0);
}

/* Scatters values to their indices, which count in a result of the smallest size; a larger output_shape appends
 * zeros. */
rlx_status onnx_op_max_unpool(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0), sizes = onnx_spatial(&shape, 2), out = shape, wanted = {0};
  onnx_window w;
  int64_t total;
  if (onnx_has(c, 2)) RLX_TRY(onnx_need_dims(c, 2, &wanted));
  RLX_TRY(onnx_window_of(c, NULL, &sizes, &w));
  for (int i = 0; i < w.n; i++) {
    if (w.kernel.v[i] < 1) return RLX_FAIL(RLX_INVALID, "attribute 'kernel_shape' is missing");
    out.v[2 + i] = (sizes.v[i] - 1) * w.stride.v[i] + w.kernel.v[i] - w.lo.v[i] - w.hi.v[i];
    if (out.v[2 + i] < 1) return RLX_FAIL(RLX_INVALID, "axis %d comes out empty", i + 2);
  }
  if (wanted.n && wanted.n != out.n)
    return RLX_FAIL(RLX_INVALID, "output_shape has %d sizes, expected %d", (int)wanted.n, (int)out.n);
  rlx_dims lo = {.n = out.n}, hi = lo;
  for (int i = 0; i < wanted.n; i++) {
    hi.v[i] = wanted.v[i] - out.v[i];
    if (hi.v[i] < 0 || wanted.v[i] > INT32_MAX)
      return RLX_FAIL(RLX_INVALID, "output_shape: size %d is %" PRId64 ", expected at least %" PRId64, i, wanted.v[i],
                      out.v[i]);
  }
  RLX_TRY(onnx_product(c, &out, &total));
  rlx_node zeros = onnx_fill(c, onnx_dtype(c, 0), RLX_DIMS(total), 0);
  rlx_node index = onnx_reshape(c, onnx_in(c, 1), RLX_DIMS(-1)), x = onnx_reshape(c, onnx_in(c, 0), RLX_DIMS(-1));
  rlx_node y = onnx_reshape(c, rlx_op_scatter_elements(c->g, zeros, index, x, 0, RLX_SCATTER_NONE), out);
  if (wanted.n) y = rlx_op_pad(c->g, y, lo, hi, RLX_PAD_CONSTANT, 0);
  return onnx_set_like(c, 0, y, 0);
}

/* ---- Col2Im: adds each element of a column at its position ---- */

static rlx_status col2im_table(onnx_call *c, const onnx_window *w, const rlx_dims *plane, const rlx_dims *out,
                               int64_t n_plane, int32_t *table) {
  int64_t element[RLX_MAX_RANK] = {0}, n_windows, n_elements;
  size_t k = 0;
  RLX_TRY(onnx_product(c, out, &n_windows));
  RLX_TRY(onnx_product(c, &w->kernel, &n_elements));
  for (int64_t e = 0; e < n_elements; e++, rlx_next_index(&w->kernel, element)) {
    int64_t at[RLX_MAX_RANK] = {0};
    for (int64_t l = 0; l < n_windows; l++, rlx_next_index(out, at)) {
      int64_t place = place_in_plane(w, plane, at, element, false);
      table[k++] = (int32_t)(place < 0 ? n_plane : place);
    }
  }
  return RLX_OK;
}

static rlx_status col2im_window(onnx_call *c, rlx_dims *plane, onnx_window *w) {
  rlx_dims pads;
  RLX_TRY(onnx_need_dims(c, 1, plane));
  RLX_TRY(onnx_need_dims(c, 2, &w->kernel));
  w->n = plane->n;
  if (w->kernel.n != w->n || w->n < 1 || w->n > RLX_MAX_RANK / 2)
    return RLX_FAIL(RLX_INVALID, "image_shape has %d sizes, block_shape %d", w->n, (int)w->kernel.n);
  for (int i = 0; i < w->n; i++)
    if (plane->v[i] < 1 || w->kernel.v[i] < 1 || w->kernel.v[i] > INT32_MAX || plane->v[i] > INT32_MAX)
      return RLX_FAIL(RLX_INVALID, "a block of %" PRId64 " in an image of %" PRId64, w->kernel.v[i], plane->v[i]);
  RLX_TRY(onnx_list(c, "strides", w->n, 1, 1, &w->stride));
  RLX_TRY(onnx_list(c, "dilations", w->n, 1, 1, &w->dilation));
  RLX_TRY(onnx_list(c, "pads", 2 * w->n, 0, 0, &pads));
  for (int i = 0; i < w->n; i++) w->lo.v[i] = pads.v[i], w->hi.v[i] = pads.v[w->n + i];
  w->lo.n = w->hi.n = w->n;
  return RLX_OK;
}

rlx_status onnx_op_col2im(onnx_call *c) {
  rlx_dims plane, shape = onnx_shape(c, 0), out = {0}, result;
  onnx_window w = {0};
  int64_t n_plane, n_windows, n_elements;
  int32_t *table;
  RLX_TRY(col2im_window(c, &plane, &w));
  out.n = w.n;
  for (int i = 0; i < w.n; i++) out.v[i] = onnx_windows(&w, i, plane.v[i], false);
  RLX_TRY(onnx_product(c, &plane, &n_plane));
  RLX_TRY(onnx_product(c, &out, &n_windows));
  RLX_TRY(onnx_product(c, &w.kernel, &n_elements));
  if (n_plane >= INT32_MAX || n_elements > ONNX_MAX_TABLE / (n_windows ? n_windows : 1))
    return onnx_refuse(c, "%" PRId64 " blocks of %" PRId64 " elements", n_windows, n_elements);
  if (shape.n != 3 || shape.v[2] != n_windows || shape.v[1] % n_elements)
    return RLX_FAIL(RLX_INVALID, "the input has %d axes; expected [N, C %" PRId64 ", %" PRId64 "]", (int)shape.n,
                    n_elements, n_windows);
  RLX_TRY(onnx_table(c, n_windows * n_elements, sizeof *table, &table));
  RLX_TRY(col2im_table(c, &w, &plane, &out, n_plane, table));
  int64_t batch = shape.v[0], channels = shape.v[1] / n_elements, count = n_elements * n_windows;
  rlx_node index = onnx_constant_i32(c, RLX_DIMS(1, 1, count), table);
  index = rlx_op_expand(c->g, index, RLX_DIMS(batch, channels, count));
  rlx_node zeros = onnx_fill(c, onnx_dtype(c, 0), RLX_DIMS(batch, channels, n_plane + 1), 0);
  rlx_node x = onnx_reshape(c, onnx_in(c, 0), RLX_DIMS(batch, channels, count));
  rlx_node y = onnx_part(c, rlx_op_scatter_elements(c->g, zeros, index, x, 2, RLX_SCATTER_ADD), 2, 0, n_plane);
  result = (rlx_dims){.n = 2 + w.n, .v = {batch, channels}};
  for (int i = 0; i < w.n; i++) result.v[2 + i] = plane.v[i];
  return onnx_set_like(c, 0, onnx_reshape(c, y, result), 0);
}

/* ---- MaxRoiPool: on the host, for its windows depend on values ---- */

/* Whole elements of a region's part i of n, clipped to the axis. */
static void roi_part(double start, double part, int64_t i, int64_t size, int64_t *from, int64_t *to) {
  double a = floor((double)i * part) + start, b = ceil((double)(i + 1) * part) + start, n = (double)size;
  *from = (int64_t)(a < 0 ? 0 : a > n ? n : a);
  *to = (int64_t)(b < 0 ? 0 : b > n ? n : b);
}

static double max_in(const rlx_tensor *x, size_t plane, int64_t width, const int64_t y[2], const int64_t cols[2]) {
  double best = 0;
  bool found = false;
  for (int64_t i = y[0]; i < y[1]; i++)
    for (int64_t k = cols[0]; k < cols[1]; k++) {
      double v = rlx_load(x, plane + (size_t)(i * width + k));
      if (!found || v > best) best = v, found = true;
    }
  return best;
}

static void roi_pool_one(const rlx_tensor *x, const double *roi, double scale, rlx_tensor *out, size_t *at) {
  int64_t height = x->shape.v[2], width = x->shape.v[3], ph = out->shape.v[2], pw = out->shape.v[3], rows[2], cols[2];
  double x0 = round(roi[1] * scale), y0 = round(roi[2] * scale), x1 = round(roi[3] * scale), y1 = round(roi[4] * scale);
  double part_y = fmax(y1 - y0 + 1, 1) / (double)ph, part_x = fmax(x1 - x0 + 1, 1) / (double)pw;
  size_t plane = (size_t)(height * width), first = (size_t)(int64_t)roi[0] * (size_t)x->shape.v[1];
  for (size_t ch = 0; ch < (size_t)x->shape.v[1]; ch++)
    for (int64_t i = 0; i < ph; i++)
      for (int64_t k = 0; k < pw; k++) {
        roi_part(y0, part_y, i, height, &rows[0], &rows[1]);
        roi_part(x0, part_x, k, width, &cols[0], &cols[1]);
        rlx_store(out, (*at)++, max_in(x, (first + ch) * plane, width, rows, cols));
      }
}

static rlx_status max_roi_pool(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0], *rois = &h->in[1];
  double scale;
  size_t at = 0;
  memcpy(&scale, &h->p[2], sizeof scale);
  rlx_tensor out = {x->dtype, RLX_DIMS(rois->shape.v[0], x->shape.v[1], h->p[0], h->p[1]), {NULL}, 0};
  RLX_TRY(rlx_tensor_bytes(out.dtype, out.shape, &out.bytes));
  if (!(out.data = rlx_mem_alloc(out.bytes + 1))) return RLX_FAIL(RLX_NO_MEMORY, "MaxRoiPool: %zu bytes", out.bytes);
  h->out[0] = out;
  for (size_t i = 0; i < (size_t)rois->shape.v[0]; i++) {
    double roi[5];
    for (size_t k = 0; k < 5; k++) roi[k] = rlx_load(rois, 5 * i + k);
    if (!(roi[0] >= 0 && roi[0] < (double)x->shape.v[0])) return RLX_FAIL(RLX_INVALID, "MaxRoiPool: image %g", roi[0]);
    roi_pool_one(x, roi, scale, &h->out[0], &at);
  }
  return RLX_OK;
}

rlx_status onnx_op_max_roi_pool(onnx_call *c) {
  rlx_dims pooled, rois = onnx_shape(c, 1);
  double scale;
  int64_t p[ONNX_HOST_NUMBERS] = {0};
  RLX_TRY(onnx_list(c, "pooled_shape", 2, 1, 0, &pooled));
  RLX_TRY(onnx_float(c, "spatial_scale", 1, &scale));
  if (onnx_rank(c, 0) != 4 || rois.n != 2 || rois.v[1] != 5 || !onnx_holds_floats(onnx_dtype(c, 0)))
    return RLX_FAIL(RLX_INVALID, "expected floats [N, C, H, W] and regions [R, 5]");
  p[0] = pooled.v[0], p[1] = pooled.v[1];
  memcpy(&p[2], &scale, sizeof scale);
  return onnx_on_host(c, max_roi_pool, p);
}
