/* Iteration over shapes: strides, indices, and the lines along an axis. */
#ifndef RLX_IR_WALK_H
#define RLX_IR_WALK_H

#include "ir/shape.h"

static inline size_t rlx_tensor_count(const rlx_tensor *t) { return rlx_dims_count(&t->shape); }
/* Row-major strides in elements. */
void rlx_strides(const rlx_dims *shape, size_t stride[RLX_MAX_RANK]);
/* Strides for reading `shape` as if broadcast to `to` (0 on broadcast axes), aligned at the last axis. */
void rlx_broadcast_strides(const rlx_dims *shape, const rlx_dims *to, size_t stride[RLX_MAX_RANK]);
/* For each axis of x, the stride in the result of a reduction (axes empty: over all): 0 along a reduced axis. */
void rlx_reduced_strides(const rlx_dims *x, const rlx_dims *axes, size_t stride[RLX_MAX_RANK]);
/* Advances idx over shape in row-major order; false when it wraps around to all zeros. */
bool rlx_next_index(const rlx_dims *shape, int64_t idx[RLX_MAX_RANK]);
static inline size_t rlx_offset(int n, const int64_t *idx, const size_t *stride) {
  size_t at = 0;
  for (int i = 0; i < n; i++) at += (size_t)idx[i] * stride[i];
  return at;
}
/* Views an axis as [outer, n, inner]: element k along the axis of line (o, i) is at (o * n + k) * inner + i. */
typedef struct rlx_lines {
  size_t outer, n, inner;
} rlx_lines;
rlx_lines rlx_lines_of(const rlx_dims *shape, int64_t axis); /* axis may be negative */
/* The first element of a line, counted over (o, i); the others follow in steps of `inner`. */
static inline size_t rlx_line_start(rlx_lines l, size_t line) {
  return line / l.inner * l.n * l.inner + line % l.inner;
}
/* The forms of update: packed rows leave out the axes before the one that is indexed, and have a place each. */
static inline bool rlx_update_is_packed(const rlx_dims *state, const rlx_dims *rows) { return rows->n < state->n; }
/* An index read from a tensor, negative counting from the end; fails when outside -n .. n-1 (message names `what`). */
rlx_status rlx_index_resolve(const char *what, int64_t index, int64_t n, size_t *out);

#endif
