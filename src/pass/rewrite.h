/* Helpers of the rewrites: short functions, so that a rewrite reads like its formula.
 *
 * A rewrite computes in the work type: f16 and bf16 are widened to f32 and the result is narrowed once, so it is
 * rounded once, as in the reference. Other types are unchanged. Absent inputs (RLX_NONE) pass through these functions.
 *
 * Nothing here checks: the node was checked when it was created, all sizes are numbers, and legalise ensures that
 * products of sizes do not overflow. The builder is sticky: after a failed allocation every node is 0, and legalise
 * reports it. Node 0 has no shape, so take shapes and ranks from the inputs (which always exist) or from r->type, never
 * from a node that the rewrite created. */
#ifndef RLX_PASS_REWRITE_H
#define RLX_PASS_REWRITE_H

#include "ir/element.h"
#include "pass/pass.h"

/* The rewrite does not apply; `why` is a static text. */
static inline rlx_node refuse(rlx_rewrite *r, const char *why) {
  r->why = why;
  return RLX_NONE;
}

/* Input i; RLX_NONE if it is absent. */
static inline rlx_node input_of(const rlx_rewrite *r, uint32_t i) { return i < r->n_in ? r->in[i] : RLX_NONE; }

/* Types and shapes of nodes of the new graph. */
static inline rlx_dims shape_of(const rlx_rewrite *r, rlx_node x) { return rlx_node_shape(r->to, x); }
static inline rlx_dtype dtype_of(const rlx_rewrite *r, rlx_node x) { return rlx_node_dtype(r->to, x); }

/* Casts x if its type differs. */
static inline rlx_node as_type(const rlx_rewrite *r, rlx_node x, rlx_dtype to) {
  return !x || dtype_of(r, x) == to ? x : rlx_op_cast(r->to, x, to);
}

/* The type to compute in for values of type t. */
static inline rlx_dtype work_type(rlx_dtype t) { return t == RLX_F16 || t == RLX_BF16 ? RLX_F32 : t; }
/* widen: a node in its work type. wide_input: input i likewise. as_result: the result in the replaced node's type. */
static inline rlx_node widen(const rlx_rewrite *r, rlx_node x) { return as_type(r, x, work_type(dtype_of(r, x))); }
static inline rlx_node wide_input(const rlx_rewrite *r, uint32_t i) { return widen(r, input_of(r, i)); }
static inline rlx_node as_result(const rlx_rewrite *r, rlx_node y) { return as_type(r, y, r->type->dtype); }

/* A constant in the type of `like`: scalar(r, x, 0.5). An integer type must hold it exactly. */
static inline rlx_node scalar(const rlx_rewrite *r, rlx_node like, double value) {
  return rlx_op_scalar(r->to, dtype_of(r, like), value);
}
/* A constant converted as by `cast`: truncated and saturated for integers, != 0 for bool. */
static inline rlx_node cast_scalar(const rlx_rewrite *r, rlx_dtype dtype, double value) {
  uint64_t storage = 0;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store_value(&one, 0, value);
  return rlx_op_constant(r->to, dtype, RLX_SCALAR, &storage, rlx_dtype_size(dtype));
}

/* A tensor filled with one number. */
static inline rlx_node full(const rlx_rewrite *r, rlx_dtype dtype, rlx_dims shape, double value) {
  return rlx_op_expand(r->to, rlx_op_scalar(r->to, dtype, value), shape);
}

/* ---- lists of sizes and axes ---- */

/* The shape of a vector of n along one axis of `rank` axes, ready to broadcast: 1 on the others. */
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
/* Number of elements of the axes from .. to-1. */
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

/* Whether an intermediate tensor would be larger than the result and exceed 2^28 elements (1 GiB of f32). Then the node
 * is better left whole. */
static inline bool is_too_large(const rlx_rewrite *r, double elements) {
  return elements > 0x1p28 && elements > (double)rlx_dims_count(&r->type->shape);
}

/* Whether the replaced node has no elements, so nothing is computed; and a placeholder for it. */
static inline bool is_empty(const rlx_rewrite *r) { return rlx_dims_count(&r->type->shape) == 0; }
static inline rlx_node nothing(const rlx_rewrite *r) { return full(r, r->type->dtype, r->type->shape, 0.0); }

static inline rlx_node product(const rlx_rewrite *r, rlx_node a, rlx_node b, bool trans_b) {
  return trans_b ? rlx_op_matmul_t(r->to, a, b) : rlx_op_matmul(r->to, a, b);
}

/* Indices for gather without negative ones: they become out of range instead of counting from the end. */
static inline rlx_node plain_index(const rlx_rewrite *r, rlx_node idx) {
  rlx_node negative = rlx_op_lt(r->to, idx, scalar(r, idx, 0.0));
  return rlx_op_where(r->to, negative, scalar(r, idx, (double)INT32_MAX), idx);
}

/* A constant with element i = value(user, i), converted as by `cast`. */
rlx_node rlx_rewrite_constant(const rlx_rewrite *r, rlx_dtype dtype, rlx_dims shape,
                              double (*value)(const void *user, int64_t i), const void *user);

#endif
