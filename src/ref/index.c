/* Ops that read or write at indices (gather, scatter), and one_hot, range and update.
 *
 * Each kernel converts indices to element offsets in x, checked against x's sizes. What happens at an offset is shared:
 * reading copies bytes, writing goes through one accumulator. A scatter with a reduction accumulates all updates of an
 * element in f64 (or int64) and rounds once at the end. */
#include <math.h>

#include "base/arith.h"
#include "ir/definitions.h"
#include "ir/scalar_table.h"
#include "quant/quant.h"
#include "ref/ref.h"
#include "ref/rope.h"

/* ---- offsets ---- */

/* For gather_elements and scatter_elements, which iterate over idx: the offset in x of the element that idx[walk]
 * selects. */
typedef struct elements {
  const rlx_tensor *x, *idx;
  size_t stride[RLX_MAX_RANK];
  int axis;
} elements;

static elements elements_of(const rlx_tensor *x, const rlx_tensor *idx, int64_t axis) {
  elements e = {.x = x, .idx = idx, .axis = rlx_axis_of(axis, x->shape.n)};
  rlx_strides(&x->shape, e.stride);
  return e;
}

static rlx_status elements_offset(const elements *e, size_t i, const int64_t *walk, size_t *offset) {
  size_t k;
  RLX_TRY(rlx_index_resolve("index", rlx_load_int(e->idx, i), e->x->shape.v[e->axis], &k));
  *offset = rlx_offset(e->x->shape.n, walk, e->stride) + (k - (size_t)walk[e->axis]) * e->stride[e->axis];
  return RLX_OK;
}

/* For gather_nd and scatter_nd: tuples of coordinates, each selecting a run of elements of x. */
typedef struct tuples {
  const rlx_tensor *x, *idx;
  size_t stride[RLX_MAX_RANK];
  int batch, depth; /* common leading axes, coordinates per tuple */
  size_t n, run;    /* tuples, elements of x that each selects */
  size_t per_batch; /* tuples per index of the batch axes */
} tuples;

static tuples tuples_of(const rlx_tensor *x, const rlx_tensor *idx, int64_t batch) {
  tuples t = {.x = x,
              .idx = idx,
              .batch = (int)batch,
              .depth = (int)idx->shape.v[idx->shape.n - 1],
              .n = 1,
              .run = 1,
              .per_batch = 1};
  rlx_strides(&x->shape, t.stride);
  for (int i = 0; i < idx->shape.n - 1; i++) t.n *= (size_t)idx->shape.v[i];
  for (int i = t.batch; i < idx->shape.n - 1; i++) t.per_batch *= (size_t)idx->shape.v[i];
  for (int i = t.batch + t.depth; i < x->shape.n; i++) t.run *= (size_t)x->shape.v[i];
  return t;
}

static rlx_status tuples_offset(const tuples *t, size_t i, size_t *offset) {
  *offset = t->batch ? i / t->per_batch * t->stride[t->batch - 1] : 0;
  for (int d = 0; d < t->depth; d++) {
    size_t k;
    int axis = t->batch + d;
    RLX_TRY(
      rlx_index_resolve("index", rlx_load_int(t->idx, i * (size_t)t->depth + (size_t)d), t->x->shape.v[axis], &k));
    *offset += k * t->stride[axis];
  }
  return RLX_OK;
}

/* ---- gather ---- */

static void copy_elements(rlx_ref_call *c, rlx_tensor *to, size_t to_at, const rlx_tensor *from, size_t from_at,
                          size_t n) {
  rlx_dtype t = to->dtype;
  rlx_ref_copy(c, (char *)to->data + rlx_dtype_row_bytes(t, to_at),
               (const char *)from->data + rlx_dtype_row_bytes(t, from_at), rlx_dtype_row_bytes(t, n));
}

/* One row of a block type, decoded. */
static rlx_status decode_row(rlx_ref_call *c, const rlx_tensor *table, size_t row, size_t n, float *out) {
  size_t row_bytes = rlx_dtype_row_bytes(table->dtype, n);
  return rlx_ref_decode(c, table->dtype, (const char *)table->data + row * row_bytes, out, n);
}

rlx_status rlx_ref_gather(rlx_ref_call *c) {
  const rlx_tensor *x = c->in[0], *idx = c->in[1];
  rlx_lines l = rlx_lines_of(&x->shape, RLX_ATTRS(gather, c)->axis);
  size_t n = rlx_tensor_count(idx), *row;
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *row, &row));
  RLX_REF_EACH(c, i, n) RLX_TRY(rlx_index_resolve("index", rlx_load_int(idx, i), (int64_t)l.n, &row[i]));
  size_t outer = rlx_tensor_count(c->out) ? l.outer : 0;
  for (size_t o = 0; o < outer && rlx_ref_continues(c, 1); o++)
    for (size_t i = 0; i < n && rlx_ref_continues(c, 1); i++) {
      size_t to = (o * n + i) * l.inner;
      if (rlx_dtype_is_block(x->dtype)) RLX_TRY(decode_row(c, x, row[i], l.inner, (float *)c->out->data + to));
      else copy_elements(c, c->out, to, x, (o * l.n + row[i]) * l.inner, l.inner);
    }
  return RLX_OK;
}

rlx_status rlx_ref_gather_elements(rlx_ref_call *c) {
  elements e = elements_of(c->in[0], c->in[1], RLX_ATTRS(gather_elements, c)->axis);
  int64_t walk[RLX_MAX_RANK] = {0};
  size_t n = rlx_tensor_count(c->in[1]), offset;
  for (size_t i = 0; i < n && rlx_ref_continues(c, 1); i++, rlx_next_index(&e.idx->shape, walk)) {
    RLX_TRY(elements_offset(&e, i, walk, &offset));
    copy_elements(c, c->out, i, e.x, offset, 1);
  }
  return RLX_OK;
}

rlx_status rlx_ref_gather_nd(rlx_ref_call *c) {
  tuples t = tuples_of(c->in[0], c->in[1], RLX_ATTRS(gather_nd, c)->batch_dims);
  for (size_t i = 0; i < t.n && rlx_ref_continues(c, 1); i++) {
    size_t offset;
    RLX_TRY(tuples_offset(&t, i, &offset));
    copy_elements(c, c->out, i * t.run, t.x, offset, t.run);
  }
  return RLX_OK;
}

/* ---- scatter ---- */

enum { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN }; /* the values of the attribute */

/* The op that combines an element with an update. Integers wrap modulo 2^64; storing wraps to the dtype's width, which
 * gives the same as wrapping at each step. */
static const rlx_op reductions[] = {RLX_OP_INVALID, RLX_OP_add, RLX_OP_mul, RLX_OP_max, RLX_OP_min};

/* The result while updates are applied. Without a reduction it is the result's own memory, else a wide copy. */
typedef struct accumulator {
  rlx_tensor *out;
  int32_t reduction;
  double *floats; /* of a float dtype */
  int64_t *ints;  /* of an integer dtype or bool */
} accumulator;

static rlx_status accumulator_begin(rlx_ref_call *c, int32_t reduction, accumulator *s) {
  const rlx_tensor *x = c->in[0];
  size_t n = rlx_tensor_count(x);
  *s = (accumulator){.out = c->out, .reduction = reduction};
  if (reduction == REDUCE_NONE) {
    copy_elements(c, c->out, 0, x, 0, n);
  } else if (rlx_dtype_is_float(x->dtype)) {
    RLX_TRY(rlx_ref_scratch(c, n, sizeof *s->floats, &s->floats));
    RLX_REF_EACH(c, i, n) s->floats[i] = rlx_load(x, i);
  } else {
    RLX_TRY(rlx_ref_scratch(c, n, sizeof *s->ints, &s->ints));
    RLX_REF_EACH(c, i, n) s->ints[i] = rlx_load_int(x, i);
  }
  return RLX_OK;
}

/* Combines n elements from `offset` on with n updates from `from` on. */
static void accumulator_add(rlx_ref_call *c, accumulator *s, size_t offset, const rlx_tensor *updates, size_t from,
                            size_t n) {
  if (s->reduction == REDUCE_NONE) {
    copy_elements(c, s->out, offset, updates, from, n);
    return;
  }
  const rlx_scalar_row *combine = rlx_scalar_get(reductions[s->reduction]);
  RLX_REF_EACH(c, i, n) {
    if (s->floats) s->floats[offset + i] = combine->binary(s->floats[offset + i], rlx_load(updates, from + i));
    else s->ints[offset + i] = combine->int_binary(s->ints[offset + i], rlx_load_int(updates, from + i), 64);
  }
}

static void accumulator_end(rlx_ref_call *c, accumulator *s) {
  RLX_REF_EACH(c, i, s->reduction == REDUCE_NONE ? 0 : rlx_tensor_count(s->out)) {
    if (s->floats) rlx_store(s->out, i, s->floats[i]);
    else /* bool: add is or, mul is and */
      rlx_store_int(s->out, i, s->out->dtype == RLX_BOOL ? s->ints[i] != 0 : s->ints[i]);
  }
}

static rlx_status scatter_along(rlx_ref_call *c, int64_t axis, int32_t reduction) {
  elements e = elements_of(c->in[0], c->in[1], axis);
  int64_t walk[RLX_MAX_RANK] = {0};
  size_t n = rlx_tensor_count(c->in[1]), offset;
  accumulator s;
  RLX_TRY(accumulator_begin(c, reduction, &s));
  for (size_t i = 0; i < n && rlx_ref_continues(c, 1); i++, rlx_next_index(&e.idx->shape, walk)) {
    RLX_TRY(elements_offset(&e, i, walk, &offset));
    accumulator_add(c, &s, offset, c->in[2], i, 1);
  }
  accumulator_end(c, &s);
  return RLX_OK;
}

rlx_status rlx_ref_scatter_elements(rlx_ref_call *c) {
  return scatter_along(c, RLX_ATTRS(scatter_elements, c)->axis, RLX_ATTRS(scatter_elements, c)->reduction);
}

rlx_status rlx_ref_scatter_add(rlx_ref_call *c) {
  return scatter_along(c, RLX_ATTRS(scatter_add, c)->axis, REDUCE_ADD);
}

rlx_status rlx_ref_scatter_nd(rlx_ref_call *c) {
  tuples t = tuples_of(c->in[0], c->in[1], 0);
  accumulator s;
  RLX_TRY(accumulator_begin(c, RLX_ATTRS(scatter_nd, c)->reduction, &s));
  for (size_t i = 0; i < t.n && rlx_ref_continues(c, 1); i++) {
    size_t offset;
    RLX_TRY(tuples_offset(&t, i, &offset));
    accumulator_add(c, &s, offset, c->in[2], i * t.run, t.run);
  }
  accumulator_end(c, &s);
  return RLX_OK;
}

/* ---- one_hot, range ---- */

rlx_status rlx_ref_one_hot(rlx_ref_call *c) {
  const rlx_attrs_one_hot *a = c->attrs;
  rlx_lines l = rlx_lines_of(&c->out->shape, a->axis);
  size_t outer = rlx_tensor_count(c->out) ? l.outer : 0; /* of an empty result it may be very large */
  for (size_t o = 0; o < outer && rlx_ref_continues(c, 1); o++)
    for (size_t i = 0; i < l.inner && rlx_ref_continues(c, 1); i++) {
      int64_t index = rlx_load_int(c->in[0], o * l.inner + i);
      if (index < 0 && index >= -a->depth) index += a->depth;
      RLX_REF_EACH(c, k, l.n)
        rlx_store_value(c->out, (o * l.n + k) * l.inner + i, (int64_t)k == index ? a->on : a->off);
    }
  return RLX_OK;
}

rlx_status rlx_ref_range(rlx_ref_call *c) {
  for (size_t at = 0, end = 0, n = rlx_tensor_count(c->out); rlx_ref_next_run(c, at, n, &end); at = end)
    rlx_range_fill(c->attrs, c->out, at, end);
  return RLX_OK;
}

/* ---- update ---- */

/* Copies rows, rounded to the state's dtype if it differs. */
static void store_rows(rlx_ref_call *c, rlx_tensor *to, size_t to_at, const rlx_tensor *from, size_t from_at,
                       size_t n) {
  enum { PIECE = 1 << 12 }; /* whole blocks */
  if (to->dtype == from->dtype) copy_elements(c, to, to_at, from, from_at, n);
  else if (rlx_dtype_is_block(to->dtype))
    for (size_t i = 0, some; i < n && rlx_ref_continues(c, PIECE); i += some) {
      some = n - i < PIECE ? n - i : PIECE;
      rlx_quant_round(to->dtype, (const float *)from->data + from_at + i,
                      (char *)to->data + rlx_dtype_row_bytes(to->dtype, to_at + i), some);
    }
  else
    RLX_REF_EACH(c, i, n) rlx_store(to, to_at + i, rlx_load(from, from_at + i));
}

static rlx_status update_with(rlx_ref_call *c, const rlx_tensor *rows, int64_t axis) {
  const rlx_tensor *state = c->in[0], *at = c->in[2];
  rlx_lines l = rlx_lines_of(&state->shape, axis), r = rlx_lines_of(&rows->shape, axis);
  size_t positions = rlx_tensor_count(at), run = r.n * r.inner;
  for (size_t p = 0; p < positions; p++) {
    int64_t first = rlx_load_int(at, p);
    if (first < 0 || first > (int64_t)(l.n - r.n))
      return RLX_FAIL(RLX_INVALID, "%zu rows at position %lld do not fit in %zu", r.n, (long long)first, l.n);
  }
  if (state->data != c->out->data) copy_elements(c, c->out, 0, state, 0, rlx_tensor_count(state));
  for (size_t o = 0; run && o < l.outer && rlx_ref_continues(c, 1); o++) {
    /* With a position per index of axis 0, the lines of one index are adjacent. */
    size_t p = positions > 1 ? o / (l.outer / positions) : 0;
    store_rows(c, c->out, (o * l.n + (size_t)rlx_load_int(at, p)) * l.inner, rows, o * run, run);
  }
  return RLX_OK;
}

/* Every row has a place of its own, counted through the axes up to the indexed one; places out of range are skipped. */
static rlx_status update_packed(rlx_ref_call *c) {
  const rlx_tensor *state = c->in[0], *rows = c->in[1];
  rlx_lines l = rlx_lines_of(&state->shape, RLX_ATTRS(update, c)->axis);
  if (state->data != c->out->data) copy_elements(c, c->out, 0, state, 0, rlx_tensor_count(state));
  for (size_t r = 0, n = rlx_tensor_count(c->in[2]); r < n && rlx_ref_continues(c, 1); r++) {
    int64_t place = rlx_load_int(c->in[2], r);
    if (place >= 0 && place < (int64_t)(l.outer * l.n))
      store_rows(c, c->out, (size_t)place * l.inner, rows, r * l.inner, l.inner);
  }
  return RLX_OK;
}

rlx_status rlx_ref_update(rlx_ref_call *c) {
  if (rlx_update_is_packed(&c->in[0]->shape, &c->in[1]->shape)) return update_packed(c);
  return update_with(c, c->in[1], RLX_ATTRS(update, c)->axis);
}

rlx_status rlx_ref_fused_rope_update(rlx_ref_call *c) {
  rlx_tensor own;
  const rlx_tensor *rows;
  RLX_TRY(rlx_rope_rows(c, &own, &rows));
  return update_with(c, rows, 1);
}
