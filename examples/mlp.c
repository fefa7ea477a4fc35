/* A multi-layer perceptron with an open batch size: one compile, runs of any size, weights loaded once.
 *
 * Each new batch size is compiled at its first run and cached; all share the weights. */
#include <math.h>
#include <rlx/rlx.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN = 64, HIDDEN = 128, OUT = 10 };

static rlx_node layer(rlx_graph *g, rlx_node x, const char *weight, const char *bias, int64_t in, int64_t out) {
  rlx_node w = rlx_op_param(g, weight, RLX_F32, RLX_DIMS(out, in)); /* [out, in], as in PyTorch */
  return rlx_op_add(g, rlx_op_matmul_t(g, x, w), rlx_op_param(g, bias, RLX_F32, RLX_DIMS(out)));
}

static void build(rlx_graph *g) {
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(rlx_graph_add_symbol(g, "batch"), IN));
  rlx_node h = rlx_op_gelu(g, layer(g, x, "fc1.weight", "fc1.bias", IN, HIDDEN));
  h = rlx_op_gelu(g, layer(g, h, "fc2.weight", "fc2.bias", HIDDEN, HIDDEN));
  rlx_graph_add_output(g, "probabilities", rlx_op_softmax(g, layer(g, h, "fc3.weight", "fc3.bias", HIDDEN, OUT), -1));
}

/* Synthetic weights; a real program would read them from a file. */
static rlx_status load_weights(const rlx_graph *g, rlx_weights *weights) {
  static float v[HIDDEN * HIDDEN];
  rlx_status s = RLX_OK;
  for (rlx_node n = 1; n <= rlx_graph_size(g) && !s; n++) {
    rlx_tensor t = {RLX_F32, rlx_node_shape(g, n), {v}, 0};
    const char *name = rlx_node_name(g, n);
    if (!name || rlx_graph_symbol_name(g, t.shape.v[0])) continue; /* not a leaf, or the input */
    s = rlx_tensor_bytes(RLX_F32, t.shape, &t.bytes);
    for (size_t i = 0; i < t.bytes / sizeof *v; i++) v[i] = 0.1f * sinf((float)(i * (n + 1)));
    if (!s) s = rlx_weights_set(weights, name, &t);
  }
  return s;
}

static rlx_status classify(rlx_executable *program, int64_t batch) {
  float *x = calloc((size_t)batch * IN, sizeof *x), *y = calloc((size_t)batch * OUT, sizeof *y);
  for (int64_t i = 0; x && i < batch * IN; i++) x[i] = cosf((float)i * 0.3f);
  rlx_named_tensor input = {"x", {RLX_F32, RLX_DIMS(batch, IN), {x}, (size_t)batch * IN * sizeof *x}};
  rlx_named_tensor output = {"probabilities", {.data = y, .bytes = (size_t)batch * OUT * sizeof *y}};
  rlx_status s = x && y ? rlx_run(program, &input, 1, &output, 1) : RLX_NO_MEMORY;
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  if (!s) s = rlx_executable_memory(program, &memory);
  if (!s)
    printf("batch %3d: first row %.4f %.4f %.4f ..; weights %llu bytes, scratch %llu\n", (int)batch, (double)y[0],
           (double)y[1], (double)y[2], (unsigned long long)memory.weights, (unsigned long long)memory.scratch);
  free(x);
  free(y);
  return s;
}

int main(void) {
  rlx_graph *g = NULL;
  rlx_session *session = NULL;
  rlx_weights *weights = NULL;
  rlx_executable *program = NULL;
  rlx_status s = rlx_graph_create(&g);
  build(g);
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session);
  if (!s) s = rlx_weights_create(session, &weights);
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .weights = weights};
  if (!s) s = rlx_compile(session, g, &options, &program);
  if (!s) s = load_weights(g, weights);
  if (!s) s = classify(program, 1);
  if (!s) s = classify(program, 100);
  if (!s) s = classify(program, 7);
  if (s) fprintf(stderr, "%s: %s\n", rlx_status_name(s), rlx_message());
  rlx_executable_destroy(program);
  rlx_weights_destroy(weights);
  rlx_session_destroy(session);
  rlx_graph_destroy(g);
  return s != RLX_OK;
}
