/* Helpers shared by op functions: scalars of a value's type, tables, sliding windows. */
#ifndef RLX_ONNX_COMPOSE_H
#define RLX_ONNX_COMPOSE_H

#include "onnx/ops.h"

enum { ONNX_MAX_TABLE = 1 << 24 /* elements of a table that is made while importing */ };

/* ---- nodes ---- */
static inline rlx_dims onnx_dims(const onnx_call *c, rlx_node n) { return rlx_node_shape(c->g, n); }
rlx_node onnx_scalar_like(onnx_call *c, rlx_node x, double v);
rlx_node onnx_times(onnx_call *c, rlx_node x, double v); /* x v */
rlx_node onnx_plus(onnx_call *c, rlx_node x, double v);  /* x + v */
rlx_node onnx_cast(onnx_call *c, rlx_node x, rlx_dtype to);
rlx_node onnx_reshape(onnx_call *c, rlx_node x, rlx_dims shape);             /* nothing where it has that shape */
rlx_node onnx_fill(onnx_call *c, rlx_dtype dtype, rlx_dims shape, double v); /* a value of equal elements */
rlx_node onnx_part(onnx_call *c, rlx_node x, int axis, int64_t from, int64_t to);
rlx_node onnx_transpose_last(onnx_call *c, rlx_node x); /* swaps the last two axes */
/* [C] as a value that broadcasts along an axis of one of that rank. */
rlx_node onnx_along(onnx_call *c, rlx_node x, int axis, int rank);
rlx_node onnx_one(onnx_call *c, rlx_node x); /* the one element, of rank 0 */
bool onnx_holds_floats(rlx_dtype t);
/* What sums of values of this type are taken in: f32, or f64 for f64. */
rlx_dtype onnx_wide(rlx_dtype t);

/* ---- sizes ---- */
/* The product, refused where it is no size of a tensor here. */
rlx_status onnx_product(onnx_call *c, const rlx_dims *d, int64_t *out);
/* Memory of a table that becomes a constant. */
rlx_status onnx_table(onnx_call *c, int64_t count, size_t size, void *out);
rlx_node onnx_constant_i32(onnx_call *c, rlx_dims shape, const int32_t *v);
rlx_node onnx_constant_i64(onnx_call *c, rlx_dims shape, const int64_t *v);
rlx_node onnx_constant_f32(onnx_call *c, rlx_dims shape, const float *v);

/* ---- windows that slide over spatial axes ---- */
typedef enum onnx_auto_pad { ONNX_PAD_GIVEN, ONNX_PAD_SAME_UPPER, ONNX_PAD_SAME_LOWER, ONNX_PAD_VALID } onnx_auto_pad;
typedef struct onnx_window {
  int n; /* spatial axes */
  rlx_dims kernel, stride, dilation, lo, hi;
  int auto_pad;
} onnx_window;
/* Reads kernel_shape, strides, dilations, pads and auto_pad for an input with these spatial sizes. `kernel`: the
 * kernel's sizes; NULL: kernel_shape is required. */
rlx_status onnx_window_of(const onnx_call *c, const rlx_dims *kernel, const rlx_dims *sizes, onnx_window *w);
/* A list of n numbers, each at least `min`, as an attribute or `fallback`. */
rlx_status onnx_list(const onnx_call *c, const char *name, int n, int64_t min, int64_t fallback, rlx_dims *out);
static inline int64_t onnx_reach(const onnx_window *w, int i) { return (w->kernel.v[i] - 1) * w->dilation.v[i] + 1; }
/* How many windows fit along axis i of this size. */
int64_t onnx_windows(const onnx_window *w, int i, int64_t size, bool ceil);
rlx_dims onnx_spatial(const rlx_dims *shape, int from); /* axes from `from` on */

/* Exact sums of products of 8-bit integers as i32: fn (a matmul, a conv) applied to a and b, floats that hold
 * integers of magnitude up to 255, with `terms` products per sum. */
typedef rlx_node (*onnx_product_fn)(onnx_call *c, rlx_node a, rlx_node b, const void *arg);
rlx_node onnx_exact(onnx_call *c, rlx_node a, rlx_node b, int64_t terms, onnx_product_fn fn, const void *arg);
/* ops_quant.c: a matrix of 8-bit integers as floats, its zero point taken off; and the exact product of two. */
rlx_node onnx_centred_matrix(onnx_call *c, uint32_t i, uint32_t zero, bool is_a);
rlx_node onnx_integer_matmul(onnx_call *c, rlx_node a, rlx_node b);

#endif
