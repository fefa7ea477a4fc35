/* What the rewrites share: small words that let each of them read like mathematics.
 *
 * A rewrite computes in the work type: f16 and bf16 are widened to f32 and the result is narrowed once, so it carries
 * one rounding, as the reference's does; every other type stays what it is. Absent inputs (RLX_NONE) pass through
 * these functions unharmed.
 *
 * Nothing here checks: the node was checked when it was made, all sizes are numbers, and legalise has seen that products
 * of sizes do not overflow. The builder is sticky, so an allocation that fails gives node 0 from then on and legalise
 * reports it; but node 0 has no shape, so read shapes and ranks from the inputs (which always exist) or from r->type,
 * never from a node the rewrite itself made. */
#ifndef RLX_PASS_REWRITE_H
#define RLX_PASS_REWRITE_H

#include "ir/element.h"
#include "pass/pass.h"

/* The rewrite does not apply; the static text says why. */
static inline rlx_node refuse(rlx_rewrite *r, const char *why) {
  r->why = why;
  return RLX_NONE;
}

/* Input i, RLX_NONE where it is absent or left off the end. */
static inline rlx_node input_of(const rlx_rewrite *r, uint32_t i) { return i < r->n_in ? r->in[i] : RLX_NONE; }

/* Types and shapes of nodes of the new graph. */
static inline rlx_dims shape_of(const rlx_rewrite *r, rlx_node x) { return rlx_node_shape(r->to, x); }
static inline rlx_dtype dtype_of(const rlx_rewrite *r, rlx_node x) { return rlx_node_dtype(r->to, x); }

/* A cast where one is needed. */
static inline rlx_node as_type(const rlx_rewrite *r, rlx_node x, rlx_dtype to) {
  return !x || dtype_of(r, x) == to ? x : rlx_op_cast(r->to, x, to);
}

/* The type to compute in for values of type t. */
static inline rlx_dtype work_type(rlx_dtype t) { return t == RLX_F16 || t == RLX_BF16 ? RLX_F32 : t; }
/* Any node in its work type; input i so; and the finished result back in the type of the node that is replaced. */
static inline rlx_node widen(const rlx_rewrite *r, rlx_node x) { return as_type(r, x, work_type(dtype_of(r, x))); }
static inline rlx_node wide_input(const rlx_rewrite *r, uint32_t i) { return widen(r, input_of(r, i)); }
static inline rlx_node as_result(const rlx_rewrite *r, rlx_node y) { return as_type(r, y, r->type->dtype); }

/* A number in the type of `like`: scalar(r, x, 0.5). An integer type must be able to hold it exactly. */
static inline rlx_node scalar(const rlx_rewrite *r, rlx_node like, double value) {
  return rlx_op_scalar(r->to, dtype_of(r, like), value);
}
/* A number as `cast` would convert it: truncated and saturated for integers, != 0 for bool. */
static inline rlx_node cast_scalar(const rlx_rewrite *r, rlx_dtype dtype, double value) {
  uint64_t storage = 0;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store_value(&one, 0, value);
  return rlx_op_constant(r->to, dtype, RLX_SCALAR, &storage, rlx_dtype_size(dtype));
}

/* A tensor full of one number. */
static inline rlx_node full(const rlx_rewrite *r, rlx_dtype dtype, rlx_dims shape, double value) {
  return rlx_op_expand(r->to, rlx_op_scalar(r->to, dtype, value), shape);
}

/* ---- lists of sizes and axes ---- */

/* n on one axis of that many, 1 on the others: how a vector lies along it, ready to broadcast. */
static inline rlx_dims dims_along(int64_t n, int axis, int rank) {
  rlx_dims out = {.n = rank};
  for (int i = 0; i < rank; i++) out.v[i] = i == axis ? n : 1;
  return out;
}
static inline rlx_dims dims_with(rlx_dims d, int at, int64_t size) {
  d.v[at] = size;
  return d;
}
static inline rlx_dims dims_append(rlx_dims d, int64_t size) {
  d.v[d.n++] = size;
  return d;
}
/* The sizes from .. to-1. */
static inline rlx_dims dims_part(const rlx_dims *d, int from, int to) {
  rlx_dims out = {.n = 0};
  for (int i = from; i < to; i++) out.v[out.n++] = d->v[i];
  return out;
}
/* Elements of the axes from .. to-1: what they reshape into as one. */
static inline int64_t dims_product(const rlx_dims *d, int from, int to) {
  int64_t n = 1;
  for (int i = from; i < to; i++) n *= d->v[i];
  return n;
}

/* A vector [n] along one axis: gamma [C] as [1, C, 1, 1]. */
static inline rlx_node along_axis(const rlx_rewrite *r, rlx_node v, int axis, int rank) {
  return v ? rlx_op_reshape(r->to, v, dims_along(shape_of(r, v).v[0], axis, rank)) : v;
}
/* start, start + 1, .. (n of them) along one axis: coordinates. */
static inline rlx_node coordinates(const rlx_rewrite *r, double start, int64_t n, int axis, int rank, rlx_dtype dtype) {
  return rlx_op_reshape(r->to, rlx_op_range(r->to, start, 1.0, n, dtype), dims_along(n, axis, rank));
}

/* ---- shared by the rewrites of larger ops ---- */

/* Elements of a tensor on the way that is larger than the result: 2^28 (1 GiB of f32) at most. Past that the node is
 * better off where it is. */
static inline bool is_too_large(const rlx_rewrite *r, double elements) {
  return elements > 0x1p28 && elements > (double)rlx_dims_count(&r->type->shape);
}

/* The node that is replaced has no elements, so there is nothing to compute; a stand-in for it. */
static inline bool is_empty(const rlx_rewrite *r) { return rlx_dims_count(&r->type->shape) == 0; }
static inline rlx_node nothing(const rlx_rewrite *r) { return full(r, r->type->dtype, r->type->shape, 0.0); }

static inline rlx_node product(const rlx_rewrite *r, rlx_node a, rlx_node b, bool trans_b) {
  return trans_b ? rlx_op_matmul_t(r->to, a, b) : rlx_op_matmul(r->to, a, b);
}

/* An index for gather that may not count from the end: a negative one becomes one that is out of range everywhere. */
static inline rlx_node plain_index(const rlx_rewrite *r, rlx_node idx) {
  rlx_node negative = rlx_op_lt(r->to, idx, scalar(r, idx, 0.0));
  return rlx_op_where(r->to, negative, scalar(r, idx, (double)INT32_MAX), idx);
}

/* A constant whose element i is value(user, i), as `cast` would convert it. */
rlx_node rlx_rewrite_constant(const rlx_rewrite *r, rlx_dtype dtype, rlx_dims shape,
                              double (*value)(const void *user, int64_t i), const void *user);

#endif
