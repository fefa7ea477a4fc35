// The public header as C++ sees it: compiled (g++ -std=c++17 -fsyntax-only -Wall -Wextra -Iinclude), never run.
// What could break is what C and C++ write differently: RLX_DIMS, RLX_SCALAR, structs by name, enums as arguments.
#include "rlx/experimental.h"

static_assert(RLX_OK == 0, "zero is success");

rlx_status build_and_run(const float *data) {
  rlx_graph *g = nullptr;
  if (rlx_status s = rlx_graph_create(&g)) return s;
  int64_t batch = rlx_graph_add_symbol(g, "B");
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(batch, 3, 8, 8));
  rlx_node w = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(4, 3, 3, 3));
  auto conv = rlx_init<rlx_op_conv_desc>();
  conv.stride = RLX_DIMS(2, 2);
  rlx_node y = rlx_op_relu(g, rlx_op_conv(g, x, w, RLX_NONE, &conv));
  y = rlx_op_reduce_mean(g, y, RLX_DIMS(2, 3), false);
  y = rlx_op_pad(g, y, RLX_DIMS(0, 1), RLX_DIMS(0, 1), RLX_PAD_CONSTANT, 0.0);
  rlx_node both[] = {y, rlx_op_mul(g, y, rlx_op_scalar(g, RLX_F32, 2.0))};
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, rlx_op_concat(g, both, 2, -1), -1));
  rlx_graph_add_output(g, "one", rlx_op_constant(g, RLX_F32, RLX_SCALAR, data, sizeof *data));
  rlx_status s = rlx_graph_finish(g);
  auto info = rlx_init<rlx_op_table_info>();
  if (!s) s = rlx_op_table_describe(rlx_op_table_find("conv"), &info);
  rlx_evaluator *e = nullptr;
  if (!s) s = rlx_evaluator_create(g, &e);
  rlx_tensor value = {RLX_F32, RLX_DIMS(1, 3, 8, 8), {nullptr}, 0};
  if (!s) s = rlx_evaluator_set(e, "x", &value);
  value.const_data = data; /* an input may be const */
  if (!s) s = rlx_evaluator_set(e, "x", &value);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  return s;
}
