/* resize: n-linear or nearest interpolation along every axis.
 *
 * The axes are independent, so each has a small table: for every output index the two input indices around it and the
 * weight of the second (for nearest: one index, weight 0). An output element is the sum over the corners of a box, each
 * weighted by a product of table entries. A corner of weight 0 is not read, so an axis that does not change costs
 * nothing, and an infinity next to an exact hit has no effect. */
#include "ir/definitions.h"
#include "ref/ref.h"

/* A position along an axis, as offsets in x instead of indices. */
typedef struct between {
  size_t lo, hi;
  double weight;
} between;

/* The value at an output index: the sum over the corners of the box, counted in binary with one bit per axis. */
static double interpolate(const rlx_tensor *x, between *const *table, const int64_t *idx) {
  int rank = x->shape.n;
  double sum = 0;
  for (uint32_t corner = 0; corner < 1u << rank; corner++) {
    double weight = 1;
    size_t at = 0;
    for (int a = 0; a < rank && weight > 0; a++) {
      const between *b = &table[a][idx[a]];
      bool hi = corner >> a & 1u;
      weight *= hi ? b->weight : 1 - b->weight;
      at += hi ? b->hi : b->lo;
    }
    if (weight > 0) sum += weight * rlx_load(x, at);
  }
  return sum;
}

rlx_status rlx_ref_resize(rlx_ref_call *c) {
  const rlx_attrs_resize *a = RLX_ATTRS(resize, c);
  const rlx_tensor *x = c->in[0];
  rlx_tensor *out = c->out;
  size_t count = rlx_tensor_count(out), stride[RLX_MAX_RANK];
  if (count == 0) return RLX_OK;
  between *table[RLX_MAX_RANK];
  rlx_strides(&x->shape, stride);
  for (int axis = 0; axis < x->shape.n; axis++) {
    int64_t in_size = x->shape.v[axis], out_size = out->shape.v[axis];
    RLX_TRY(rlx_ref_scratch(c, (size_t)out_size, sizeof **table, &table[axis]));
    for (int64_t i = 0; i < out_size && rlx_ref_continues(c, 1); i++) {
      rlx_resize_place p = rlx_resize_place_of(a, axis, i, in_size, out_size);
      table[axis][i] = (between){(size_t)p.lo * stride[axis], (size_t)p.hi * stride[axis], p.weight};
    }
  }
  int64_t idx[RLX_MAX_RANK] = {0};
  size_t corners = (size_t)1 << x->shape.n;
  for (size_t i = 0; i < count && rlx_ref_continues(c, corners); i++) {
    rlx_store(out, i, interpolate(x, table, idx));
    rlx_next_index(&out->shape, idx);
  }
  return RLX_OK;
}
