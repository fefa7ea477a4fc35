/* A custom op: a name, a type rule, a kernel. Once registered it is an op like any other: builders and the text form
 * refer to it by name, and passes leave it in place.
 *
 * The op here is a running mean over the last axis: y[i] = mean(x[0] .. x[i]). */
#include <rlx/rlx.h>
#include <stdio.h>
#include <string.h>

/* Gets the inputs without data. A size may still be unknown; it is copied like any other. */
static rlx_status running_mean_type(rlx_custom_call *call) {
  if (call->n_inputs != 1 || call->inputs[0]->dtype != RLX_F32 || call->inputs[0]->shape.n < 1) {
    snprintf(call->message, sizeof call->message, "takes one f32 tensor of rank 1 or more");
    return RLX_INVALID;
  }
  call->output->dtype = RLX_F32;
  call->output->shape = call->inputs[0]->shape;
  return RLX_OK;
}

static rlx_status running_mean(rlx_custom_call *call) {
  const rlx_tensor *x = call->inputs[0];
  size_t length = (size_t)x->shape.v[x->shape.n - 1], count = x->bytes / sizeof(float);
  const float *in = x->data;
  float *out = call->output->data;
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    size_t place = i % length;
    sum = place ? sum + (double)in[i] : (double)in[i];
    out[i] = (float)(sum / (double)(place + 1));
  }
  return RLX_OK;
}

/* The text form refers to the op by name, among other ops. */
static const char text[] = "graph {\n"
                           "  %1 = input \"x\" : f32[2,4]\n"
                           "  %2 = custom(%1) {name=\"example.running_mean\"}\n"
                           "  %3 = neg(%2)\n"
                           "  output \"y\" = %3\n"
                           "}\n";

int main(void) {
  float x[2][4] = {{1, 2, 3, 4}, {8, 0, 4, 0}}, y[2][4] = {{0}};
  rlx_custom_desc desc = {RLX_CUSTOM_DESC_INIT, .name = "example.running_mean"};
  desc.shape = running_mean_type;
  desc.kernel = running_mean;
  rlx_graph *g = NULL;
  rlx_session *session = NULL;
  rlx_executable *program = NULL;
  rlx_status s = rlx_custom_register(&desc);
  if (!s) s = rlx_graph_parse(text, strlen(text), &g);
  if (!s) s = rlx_session_create(NULL, &session);
  if (!s) s = rlx_compile(session, g, NULL, &program); /* the kernel runs as a host step between device steps */
  rlx_named_tensor input = {"x", {RLX_F32, RLX_DIMS(2, 4), {x}, sizeof x}},
                   output = {"y", {.data = y, .bytes = sizeof y}};
  if (!s) s = rlx_run(program, &input, 1, &output, 1);
  if (s) fprintf(stderr, "%s: %s\n", rlx_status_name(s), rlx_message());
  for (int i = 0; i < 8 && !s; i++) printf("%6.2f%c", (double)y[i / 4][i % 4], i % 4 == 3 ? '\n' : ' ');
  rlx_executable_destroy(program);
  rlx_session_destroy(session);
  rlx_graph_destroy(g);
  if (!s) s = rlx_custom_unregister(desc.name);
  return s != RLX_OK;
}
