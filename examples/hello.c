/* The example of the README: a linear layer and a softmax, from graph to numbers. */
#include <rlx/rlx.h>
#include <stdio.h>

int main(void) {
  float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[3][2] = {{0.1f, 0.2f}, {0.3f, 0.1f}, {-0.2f, 0.4f}};
  rlx_graph *graph = NULL;
  rlx_evaluator *run = NULL;
  rlx_tensor y = {0};
  rlx_status s = rlx_graph_create(&graph);
  rlx_node in = rlx_input(graph, "x", RLX_F32, RLX_DIMS(2, 3));
  rlx_node weight = rlx_param(graph, "w", RLX_F32, RLX_DIMS(3, 2));
  rlx_output(graph, "y", rlx_softmax(graph, rlx_matmul(graph, in, weight), -1));
  if (!s) s = rlx_graph_finish(graph); /* tells the first error of the calls above, if there was one */
  if (!s) s = rlx_evaluator_create(graph, &run);
  if (!s) s = rlx_evaluator_set(run, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(2, 3), x, sizeof x});
  if (!s) s = rlx_evaluator_set(run, "w", &(rlx_tensor){RLX_F32, RLX_DIMS(3, 2), w, sizeof w});
  if (!s) s = rlx_evaluator_run(run);
  if (!s) s = rlx_evaluator_get(run, "y", &y);
  if (s) printf("%s: %s\n", rlx_status_name(s), rlx_message());
  for (size_t i = 0; i < y.bytes / sizeof(float); i++) printf("%.4f%c", ((float *)y.data)[i], i % 2 ? '\n' : ' ');
  rlx_evaluator_destroy(run);
  rlx_graph_destroy(graph);
  return s != RLX_OK;
}
