/* The example of the README: a linear layer and a softmax, compiled for the best device and run. */
#include <rlx/rlx.h>
#include <stdio.h>

int main(void) {
  float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[3][2] = {{0.1f, 0.2f}, {0.3f, 0.1f}, {-0.2f, 0.4f}}, y[2][2] = {{0}};
  rlx_graph *graph = NULL;
  rlx_session *session = NULL;
  rlx_executable *program = NULL;
  rlx_status s = rlx_graph_create(&graph);
  rlx_node in = rlx_op_input(graph, "x", RLX_F32, RLX_DIMS(2, 3));
  rlx_node weight = rlx_op_param(graph, "w", RLX_F32, RLX_DIMS(3, 2));
  rlx_graph_add_output(graph, "y", rlx_op_softmax(graph, rlx_op_matmul(graph, in, weight), -1));
  if (!s) s = rlx_graph_finish(graph); /* reports the first error of the calls above, if there was one */
  if (!s) s = rlx_session_create(NULL, &session);
  if (!s) s = rlx_compile(session, graph, NULL, &program);
  if (!s) s = rlx_executable_write(program, "w", &(rlx_tensor){RLX_F32, RLX_DIMS(3, 2), {w}, sizeof w});
  rlx_named_tensor input = {"x", {RLX_F32, RLX_DIMS(2, 3), {x}, sizeof x}},
                   output = {"y", {.data = y, .bytes = sizeof y}};
  if (!s) s = rlx_run(program, &input, 1, &output, 1);
  if (s) printf("%s: %s\n", rlx_status_name(s), rlx_message());
  for (int i = 0; i < 2 && !s; i++) printf("%.4f %.4f\n", (double)y[i][0], (double)y[i][1]);
  rlx_executable_destroy(program);
  rlx_session_destroy(session);
  rlx_graph_destroy(graph);
  return s != RLX_OK;
}
