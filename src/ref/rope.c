/* Rotary position embeddings: rotates pairs of elements of a head by an angle proportional to the token's position.
 *
 * A rotation is a list of cosines and sines, one per pair, and a pairing (neox: an element and the one half of the
 * rotated part away; gptj: adjacent elements). rope fills the list from a position, with frequencies or tables, and
 * rotates the leading n_rot elements. axial_rope_2d fills two, from a token's column and row, and rotates one half of
 * the head with each. */
#include "ref/rope.h"
#include "ir/definitions.h"

#include <math.h>

#include "ref/norm.h"

typedef struct rotation {
  int32_t style;
  size_t pairs;
  double *cos, *sin; /* one per pair */
} rotation;

static rlx_status open_rotation(rlx_ref_call *c, int32_t style, size_t pairs, rotation *out) {
  *out = (rotation){.style = style, .pairs = pairs};
  RLX_TRY(rlx_ref_scratch(c, pairs, sizeof(double), &out->cos));
  return rlx_ref_scratch(c, pairs, sizeof(double), &out->sin);
}

/* Frequencies theta^(-i / pairs), each divided by its factor. */
static void set_angles(rotation *t, double position, double theta, const rlx_tensor *factors) {
  for (size_t i = 0; i < t->pairs; i++) {
    double frequency = rlx_rope_frequency(theta, (int64_t)i, (int64_t)t->pairs);
    double angle = position * frequency / (factors ? rlx_load(factors, i) : 1.0);
    t->cos[i] = cos(angle);
    t->sin[i] = sin(angle);
  }
}

/* Rotates the 2 * pairs elements from `at` on; both of a pair are read before either is written. */
static void apply_rotation(const rotation *t, const rlx_tensor *x, rlx_tensor *out, size_t at) {
  for (size_t i = 0; i < t->pairs; i++) {
    size_t first = at + (t->style == RLX_ROPE_NEOX ? i : 2 * i),
           second = first + (t->style == RLX_ROPE_NEOX ? t->pairs : 1);
    double a = rlx_load(x, first), b = rlx_load(x, second);
    rlx_store(out, first, a * t->cos[i] - b * t->sin[i]);
    rlx_store(out, second, a * t->sin[i] + b * t->cos[i]);
  }
}

/* The sizes of x and the strides of its heads. */
typedef struct heads {
  size_t batches, positions, heads, d;
  size_t batch, position, head; /* strides */
} heads;

static heads heads_of(const rlx_tensor *x, int32_t layout) {
  size_t stride[RLX_MAX_RANK];
  rlx_strides(&x->shape, stride);
  int positions = layout == RLX_LAYOUT_BSHD ? 1 : 2, at = 3 - positions;
  return (heads){.batches = (size_t)x->shape.v[0],
                 .positions = (size_t)x->shape.v[positions],
                 .heads = (size_t)x->shape.v[at],
                 .d = (size_t)x->shape.v[3],
                 .batch = stride[0],
                 .position = stride[positions],
                 .head = stride[at]};
}

/* ---- rope ---- */

static int64_t position_of(const rlx_ref_call *c, const heads *h, size_t b, size_t s) {
  const rlx_tensor *positions = rlx_ref_in(c, 1), *offset = rlx_ref_in(c, 2);
  if (positions) return rlx_load_int(positions, positions->shape.n == 2 ? b * h->positions + s : s);
  return (offset ? rlx_load_int(offset, 0) : 0) + (int64_t)s;
}

static rlx_status read_tables(const rlx_ref_call *c, int64_t position, rotation *t) {
  const rlx_tensor *cos_table = c->in[4], *sin_table = c->in[5];
  int64_t rows = cos_table->shape.v[0];
  if (position < 0 || position >= rows)
    return RLX_FAIL(RLX_INVALID, "position %lld is not in the tables' 0..%lld", (long long)position,
                    (long long)rows - 1);
  for (size_t i = 0; i < t->pairs; i++) {
    t->cos[i] = rlx_load(cos_table, (size_t)position * t->pairs + i);
    t->sin[i] = rlx_load(sin_table, (size_t)position * t->pairs + i);
  }
  return RLX_OK;
}

/* Copies the elements that are not rotated; unchanged where the dtype is the same. */
static void copy_rest(const rlx_tensor *x, rlx_tensor *out, size_t at, size_t n) {
  size_t size = rlx_dtype_size(x->dtype);
  if (x->dtype == out->dtype) memmove((char *)out->data + at * size, (const char *)x->data + at * size, n * size);
  else
    for (size_t i = at; i < at + n; i++) rlx_store(out, i, rlx_load(x, i));
}

/* Rotates x, whose dtype may be wider than the result's. */
static rlx_status rotate(rlx_ref_call *c, const rlx_attrs_rope *attrs, const rlx_tensor *x) {
  heads h = heads_of(x, attrs->layout);
  size_t n_rot = attrs->n_rot ? (size_t)attrs->n_rot : h.d;
  rotation t;
  RLX_TRY(open_rotation(c, attrs->style, n_rot / 2, &t));
  for (size_t b = 0; b < h.batches && rlx_ref_continues(c, 1); b++)
    for (size_t s = 0; s < h.positions && rlx_ref_continues(c, 4 * t.pairs); s++) {
      int64_t position = position_of(c, &h, b, s);
      if (rlx_ref_in(c, 4)) RLX_TRY(read_tables(c, position, &t));
      else set_angles(&t, (double)position, attrs->theta, rlx_ref_in(c, 3));
      for (size_t k = 0; k < h.heads && rlx_ref_continues(c, h.d); k++) {
        size_t at = b * h.batch + s * h.position + k * h.head;
        apply_rotation(&t, x, c->out, at);
        copy_rest(x, c->out, at + n_rot, h.d - n_rot);
      }
    }
  return RLX_OK;
}

rlx_status rlx_ref_rope(rlx_ref_call *c) { return rlx_tensor_count(c->in[0]) ? rotate(c, c->attrs, c->in[0]) : RLX_OK; }

rlx_status rlx_ref_fused_norm_rope(rlx_ref_call *c) {
  const rlx_attrs_fused_norm_rope *a = c->attrs;
  rlx_tensor own;
  const rlx_tensor *x;
  if (rlx_tensor_count(c->in[0]) == 0) return RLX_OK;
  RLX_TRY(rlx_norm_rows(c, c->in[0], true, a->eps, rlx_ref_in(c, 6), &own, &x));
  return rotate(c, &(rlx_attrs_rope){.layout = a->layout, .style = a->style, .n_rot = a->n_rot, .theta = a->theta}, x);
}

/* The positions of an update's rows: given, or those they are written to. */
static rlx_status update_positions(rlx_ref_call *c, rlx_tensor *own, const rlx_tensor **out) {
  *out = rlx_ref_in(c, 3);
  if (*out) return RLX_OK;
  const rlx_dims *rows = &c->in[1]->shape;
  size_t n_at = rlx_tensor_count(c->in[2]), positions = (size_t)rows->v[1], count = (size_t)rows->v[0] * positions;
  *own = (rlx_tensor){.dtype = RLX_I64, .shape = RLX_DIMS(rows->v[0], rows->v[1]), .bytes = count * sizeof(int64_t)};
  RLX_TRY(rlx_ref_scratch(c, count, sizeof(int64_t), &own->data));
  RLX_REF_EACH(c, i, count)
    rlx_store_int(own, i, rlx_load_int(c->in[2], n_at > 1 ? i / positions : 0) + (int64_t)(i % positions));
  *out = own;
  return RLX_OK;
}

rlx_status rlx_rope_rows(rlx_ref_call *c, rlx_tensor *own, const rlx_tensor **out) {
  const rlx_attrs_fused_rope_update *a = c->attrs;
  *out = c->in[1];
  size_t count = rlx_tensor_count(c->in[1]);
  if (!count) return RLX_OK;
  rlx_tensor counted, normed;
  const rlx_tensor *positions, *x;
  RLX_TRY(update_positions(c, &counted, &positions));
  RLX_TRY(rlx_norm_rows(c, c->in[1], a->norm, a->eps, rlx_ref_in(c, 5), &normed, &x));
  *own = (rlx_tensor){.dtype = RLX_F64, .shape = c->in[1]->shape, .bytes = count * sizeof(double)};
  RLX_TRY(rlx_ref_scratch(c, count, sizeof(double), &own->data));
  const rlx_attrs_rope attrs = {.layout = RLX_LAYOUT_BSHD, .style = a->style, .n_rot = a->n_rot, .theta = a->theta};
  const rlx_tensor *in[] = {x, positions, NULL, rlx_ref_in(c, 4)};
  rlx_ref_call rotating = *c;
  rotating.in = in;
  rotating.n_in = sizeof in / sizeof *in;
  rotating.out = own;
  *out = own;
  rlx_status s = rotate(&rotating, &attrs, x);
  c->visits = rotating.visits;
  c->stopped = rotating.stopped;
  return s;
}

/* ---- axial_rope_2d ---- */

rlx_status rlx_ref_axial_rope_2d(rlx_ref_call *c) {
  const rlx_attrs_axial_rope_2d *attrs = c->attrs;
  const rlx_tensor *x = c->in[0];
  if (rlx_tensor_count(x) == 0) return RLX_OK;
  heads h = heads_of(x, attrs->layout);
  rotation column, row;
  RLX_TRY(open_rotation(c, attrs->style, h.d / 4, &column));
  RLX_TRY(open_rotation(c, attrs->style, h.d / 4, &row));
  for (size_t s = 0; s < h.positions && rlx_ref_continues(c, 4 * h.d); s++) {
    set_angles(&column, (double)(s % (size_t)attrs->width), attrs->theta, NULL);
    set_angles(&row, (double)(s / (size_t)attrs->width), attrs->theta, NULL);
    for (size_t b = 0; b < h.batches && rlx_ref_continues(c, 1); b++)
      for (size_t k = 0; k < h.heads && rlx_ref_continues(c, h.d); k++) {
        size_t at = b * h.batch + s * h.position + k * h.head;
        apply_rotation(&column, x, c->out, at);
        apply_rotation(&row, x, c->out, at + h.d / 2);
      }
  }
  return RLX_OK;
}
