/* Ops that move elements by position alone.
 *
 * In transpose, slice, expand, tile, pad, reverse, roll, space_to_depth and depth_to_space, the source offset of an
 * element is a sum over the result's axes: axis a at index i adds a fixed number of elements. So a kernel fills one
 * small table per axis (the "map"), and one loop moves the elements. Padding is a special entry. Elements are copied as
 * bytes, so NaNs keep their bits. */
#include "ir/slice.h"
#include "ref/ref.h"

#define BORDER SIZE_MAX /* no source: the element is padding */

/* Block types move by blocks, other types by elements: the bytes of one, and a shape counted in them. */
static size_t unit_bytes(rlx_dtype t) { return rlx_dtype_describe(t)->block_bytes; }
static rlx_dims unit_shape(const rlx_tensor *t) {
  rlx_dims d = t->shape;
  if (d.n) d.v[d.n - 1] /= (int64_t)rlx_dtype_describe(t->dtype)->block_elements;
  return d;
}

typedef struct map {
  rlx_dims shape;               /* the result's, or another shape with as many elements */
  size_t *source[RLX_MAX_RANK]; /* per axis and index: what it adds to the source offset, or BORDER */
} map;

static rlx_status map_begin(rlx_ref_call *c, const rlx_dims *shape, map *m) {
  m->shape = *shape;
  for (int i = 0; i < shape->n; i++) RLX_TRY(rlx_ref_scratch(c, (size_t)shape->v[i], sizeof(size_t), &m->source[i]));
  return RLX_OK;
}

/* Entries 0, stride, 2 stride, .. */
static void map_linear(rlx_ref_call *c, map *m, int axis, size_t stride) {
  RLX_REF_EACH(c, i, (size_t)m->shape.v[axis]) m->source[axis][i] = i * stride;
}

/* Whether the last axis is contiguous in the source, without padding: then a row of the result is one run of the
 * source. */
static bool has_rows(const map *m) {
  const int last = m->shape.n - 1;
  const int64_t n = last < 0 ? 0 : m->shape.v[last];
  for (int64_t i = 0; i < n; i++)
    if (m->source[last][i] == BORDER || m->source[last][i] != m->source[last][0] + (size_t)i) return false;
  return n > 1;
}

static void map_rows(rlx_ref_call *c, map m, const void *border) {
  const size_t size = unit_bytes(c->out->dtype), n = (size_t)m.shape.v[--m.shape.n];
  const size_t first = m.source[m.shape.n][0];
  const unsigned char *from = c->in[0]->data;
  unsigned char *to = c->out->data;
  int64_t idx[RLX_MAX_RANK] = {0};
  do {
    size_t at = first;
    bool inside = true;
    for (int i = 0; i < m.shape.n; i++) {
      size_t step = m.source[i][idx[i]];
      if (step == BORDER) inside = false;
      else at += step;
    }
    if (inside) rlx_ref_copy(c, to, from + at * size, n * size);
    else
      RLX_REF_EACH(c, k, n) memcpy(to + k * size, border, size);
    to += n * size;
  } while (rlx_next_index(&m.shape, idx) && !c->stopped);
}

static void map_run(rlx_ref_call *c, const map *m, const void *border) {
  if (has_rows(m)) {
    map_rows(c, *m, border);
    return;
  }
  size_t size = unit_bytes(c->out->dtype);
  const unsigned char *from = c->in[0]->data;
  unsigned char *to = c->out->data;
  int64_t idx[RLX_MAX_RANK] = {0};
  do {
    size_t at = 0;
    bool inside = true;
    for (int i = 0; i < m->shape.n; i++) {
      size_t step = m->source[i][idx[i]];
      if (step == BORDER) inside = false;
      else at += step;
    }
    memcpy(to, inside ? from + at * size : border, size);
    to += size;
  } while (rlx_next_index(&m->shape, idx) && rlx_ref_continues(c, 1));
}

/* Every kernel below returns early for an empty result, which may still have an axis far too long for a table. */
static bool is_empty(const rlx_tensor *t) { return rlx_tensor_count(t) == 0; }

/* ---- copies ---- */

static rlx_status copy_bytes(rlx_ref_call *c) {
  rlx_ref_copy(c, c->out->data, c->in[0]->data, c->out->bytes);
  return RLX_OK;
}

rlx_status rlx_ref_reshape(rlx_ref_call *c) { return copy_bytes(c); }
rlx_status rlx_ref_view_as_real(rlx_ref_call *c) { return copy_bytes(c); }
rlx_status rlx_ref_view_as_complex(rlx_ref_call *c) { return copy_bytes(c); }

/* ---- a linear map per axis ---- */

/* Axis i of the result is axis perm.v[i] of x, where x has the shape `view`. */
static rlx_status permute(rlx_ref_call *c, const rlx_dims *view, rlx_dims perm) {
  if (is_empty(c->out)) return RLX_OK;
  size_t stride[RLX_MAX_RANK];
  rlx_strides(view, stride);
  rlx_dims shape = {.n = view->n};
  for (int i = 0; i < view->n; i++) shape.v[i] = view->v[perm.v[i]];
  map m;
  RLX_TRY(map_begin(c, &shape, &m));
  for (int i = 0; i < view->n; i++) map_linear(c, &m, i, stride[perm.v[i]]);
  map_run(c, &m, NULL);
  return RLX_OK;
}

rlx_status rlx_ref_transpose(rlx_ref_call *c) {
  const rlx_dims *x = &c->in[0]->shape;
  return permute(c, x, rlx_perm_of(&RLX_ATTRS(transpose, c)->perm, x->n));
}

/* x [N, C, H b, W b] as [N, C, H, b, W, b]: both block positions move before the channel. */
rlx_status rlx_ref_space_to_depth(rlx_ref_call *c) {
  const int64_t *x = c->in[0]->shape.v, b = RLX_ATTRS(space_to_depth, c)->block;
  return permute(c, &RLX_DIMS(x[0], x[1], x[2] / b, b, x[3] / b, b), RLX_DIMS(0, 3, 5, 1, 2, 4));
}

/* x [N, b b C, H, W] (dcr) or [N, C b b, H, W] (crd): the block positions move after H and W. */
rlx_status rlx_ref_depth_to_space(rlx_ref_call *c) {
  const rlx_attrs_depth_to_space *a = c->attrs;
  const int64_t *x = c->in[0]->shape.v, b = a->block, channels = c->out->shape.v[1];
  bool crd = a->mode == 1;
  if (crd) return permute(c, &RLX_DIMS(x[0], channels, b, b, x[2], x[3]), RLX_DIMS(0, 1, 4, 2, 5, 3));
  return permute(c, &RLX_DIMS(x[0], b, b, channels, x[2], x[3]), RLX_DIMS(0, 3, 4, 1, 5, 2));
}

rlx_status rlx_ref_expand(rlx_ref_call *c) {
  if (is_empty(c->out)) return RLX_OK;
  size_t stride[RLX_MAX_RANK];
  rlx_broadcast_strides(&c->in[0]->shape, &c->out->shape, stride);
  map m;
  RLX_TRY(map_begin(c, &c->out->shape, &m));
  for (int i = 0; i < m.shape.n; i++) map_linear(c, &m, i, stride[i]);
  map_run(c, &m, NULL);
  return RLX_OK;
}

/* ---- any map per axis ---- */

/* The index along an axis of x (n elements) that index i of the result's axis reads; -1 for padding. */
typedef int64_t (*source_fn)(const void *context, int axis, int64_t i, int64_t n);

static rlx_status move_by(rlx_ref_call *c, source_fn source, const void *context, const void *border) {
  if (is_empty(c->out)) return RLX_OK;
  const rlx_dims x = unit_shape(c->in[0]), to = unit_shape(c->out);
  size_t stride[RLX_MAX_RANK];
  rlx_strides(&x, stride);
  map m;
  RLX_TRY(map_begin(c, &to, &m));
  for (int axis = 0; axis < x.n; axis++)
    for (int64_t i = 0; i < m.shape.v[axis] && rlx_ref_continues(c, 1); i++) {
      int64_t k = source(context, axis, i, x.v[axis]);
      m.source[axis][i] = k < 0 ? BORDER : (size_t)k * stride[axis];
    }
  map_run(c, &m, border);
  return RLX_OK;
}

static int64_t slice_source(const void *axes, int axis, int64_t i, int64_t n) {
  (void)n;
  const rlx_slice_axis *s = (const rlx_slice_axis *)axes + axis;
  return s->start + i * s->step;
}

rlx_status rlx_ref_slice(rlx_ref_call *c) {
  rlx_slice_axis axes[RLX_MAX_RANK];
  RLX_TRY(rlx_slice_resolve(c->attrs, &c->in[0]->shape, axes));
  return move_by(c, slice_source, axes, NULL);
}

static int64_t tile_source(const void *context, int axis, int64_t i, int64_t n) {
  (void)context, (void)axis;
  return i % n;
}

rlx_status rlx_ref_tile(rlx_ref_call *c) { return move_by(c, tile_source, NULL, NULL); }

static int64_t pad_source(const void *attrs, int axis, int64_t i, int64_t n) {
  const rlx_attrs_pad *a = attrs;
  return rlx_pad_source(a->mode, i - a->lo.v[axis], n);
}

rlx_status rlx_ref_pad(rlx_ref_call *c) {
  double value = RLX_ATTRS(pad, c)->value, element[1] = {0}; /* space for one element of any dtype */
  if (c->out->dtype == RLX_C64) memcpy(element, (const float[]){(float)value, 0}, sizeof element);
  else rlx_store_value(&(rlx_tensor){.dtype = c->out->dtype, .data = element}, 0, value);
  return move_by(c, pad_source, c->attrs, element);
}

static int64_t reverse_source(const void *bits, int axis, int64_t i, int64_t n) {
  return *(const uint32_t *)bits >> axis & 1 ? n - 1 - i : i;
}

rlx_status rlx_ref_reverse(rlx_ref_call *c) {
  const rlx_dims *axes = &RLX_ATTRS(reverse, c)->axes;
  int rank = c->in[0]->shape.n;
  uint32_t bits = axes->n ? 0 : UINT32_MAX;
  for (int i = 0; i < axes->n; i++) bits |= 1u << rlx_axis_of(axes->v[i], rank);
  return move_by(c, reverse_source, &bits, NULL);
}

static int64_t roll_source(const void *shifts, int axis, int64_t i, int64_t n) {
  int64_t k = i - ((const int64_t *)shifts)[axis] % n;
  return k < 0 ? k + n : k >= n ? k - n : k;
}

rlx_status rlx_ref_roll(rlx_ref_call *c) {
  const rlx_attrs_roll *a = c->attrs;
  int rank = c->in[0]->shape.n;
  int64_t shifts[RLX_MAX_RANK] = {0};
  for (int i = 0; i < a->axes.n; i++) shifts[rlx_axis_of(a->axes.v[i], rank)] = a->shifts.v[i];
  return move_by(c, roll_source, shifts, NULL);
}

/* ---- concat and trilu ---- */

rlx_status rlx_ref_concat(rlx_ref_call *c) {
  int64_t axis = RLX_ATTRS(concat, c)->axis;
  rlx_lines whole = rlx_lines_of(&c->out->shape, axis);
  size_t size = rlx_dtype_size(c->out->dtype), before = 0; /* elements along the axis already written */
  for (uint32_t i = 0; i < c->n_in; i++) {
    rlx_lines part = rlx_lines_of(&c->in[i]->shape, axis);
    size_t run = part.n * part.inner * size;
    for (size_t o = 0; run && o < part.outer && rlx_ref_continues(c, 1); o++)
      rlx_ref_copy(c, (char *)c->out->data + (o * whole.n + before) * whole.inner * size,
                   (const char *)c->in[i]->data + o * run, run);
    before += part.n;
  }
  return RLX_OK;
}

rlx_status rlx_ref_trilu(rlx_ref_call *c) {
  const rlx_attrs_trilu *a = c->attrs;
  const rlx_dims *shape = &c->out->shape;
  size_t size = rlx_dtype_size(c->out->dtype), count = rlx_tensor_count(c->out);
  int64_t rows = shape->v[shape->n - 2], columns = shape->v[shape->n - 1];
  const char *from = c->in[0]->data;
  char *to = c->out->data;
  RLX_REF_EACH(c, at, count) {
    int64_t i = (int64_t)at / columns % rows, j = (int64_t)at % columns;
    bool keep = a->upper ? j - i >= a->k : j - i <= a->k;
    if (keep) memcpy(to + at * size, from + at * size, size);
    else memset(to + at * size, 0, size);
  }
  return RLX_OK;
}
