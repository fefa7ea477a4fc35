/* Control flow: decided while importing. */
#include "onnx/ops.h"

rlx_status onnx_op_if(onnx_call *c) {
  bool cond;
  onnx_body b = {.out = c->out, .n_out = c->n_out};
  RLX_TRY(onnx_need_bool(c, 0, &cond));
  RLX_TRY(onnx_graph_of(c, cond ? "then_branch" : "else_branch", &b.graph));
  return onnx_import_body(c, &b);
}
