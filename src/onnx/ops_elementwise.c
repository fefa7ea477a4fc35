/* Element-wise ops.
 *
 * Most are one RLX node. Types that RLX carries in wider ones (u16 in i32) are cut back to their width where a result could leave it. */
#include "onnx/ops.h"

typedef rlx_node (*unary_fn)(rlx_graph *g, rlx_node x);
typedef rlx_node (*binary_fn)(rlx_graph *g, rlx_node a, rlx_node b);

/* A result of arithmetic on carried types, back in their range. */
static rlx_node wrap(onnx_call *c, rlx_node n, onnx_type type) {
  if (type != ONNX_UINT16) return n;
  return rlx_bit_and(c->g, n, rlx_scalar(c->g, RLX_I32, 0xffff));
}

static rlx_status unary(onnx_call *c, unary_fn fn) { return onnx_set_like(c, 0, fn(c->g, onnx_in(c, 0)), 0); }

static rlx_status binary(onnx_call *c, binary_fn fn) {
  rlx_node n = fn(c->g, onnx_in(c, 0), onnx_in(c, 1));
  return onnx_set_like(c, 0, wrap(c, n, onnx_in_type(c, 0)), 0);
}

#define UNARY(name, fn) \
  rlx_status onnx_op_##name(onnx_call *c) { return unary(c, fn); }
#define BINARY(name, fn) \
  rlx_status onnx_op_##name(onnx_call *c) { return binary(c, fn); }

UNARY(abs, rlx_abs)
UNARY(relu, rlx_relu)
BINARY(add, rlx_add)
BINARY(div, rlx_div)
BINARY(mul, rlx_mul)
BINARY(sub, rlx_sub)
