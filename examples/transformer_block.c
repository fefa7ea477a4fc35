/* A transformer block as in Llama: built, shown, optimised, planned, evaluated. `make demo` runs this.
 *
 * The model is the first thirty lines of code below; they read like the paper. The rest shows what RLX makes of it. */
#include <math.h>
#include <rlx/rlx.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 4, WIDTH = 32, HEADS = 4, KV_HEADS = 2, HEAD = 8, HIDDEN = 64 };

static rlx_node linear(rlx_graph *g, rlx_node x, const char *name, int64_t in, int64_t out) {
  return rlx_matmul(g, x, rlx_param(g, name, RLX_F32, RLX_DIMS(in, out)));
}

static rlx_node norm(rlx_graph *g, rlx_node x, const char *name) {
  return rlx_rms_norm(g, x, rlx_param(g, name, RLX_F32, RLX_DIMS(WIDTH)), RLX_NONE, -1, 1e-5);
}

static rlx_node attention(rlx_graph *g, rlx_node x) {
  rlx_node q = rlx_reshape(g, linear(g, x, "wq", WIDTH, HEADS * HEAD), RLX_DIMS(1, TOKENS, HEADS, HEAD));
  rlx_node k = rlx_reshape(g, linear(g, x, "wk", WIDTH, KV_HEADS * HEAD), RLX_DIMS(1, TOKENS, KV_HEADS, HEAD));
  rlx_node v = rlx_reshape(g, linear(g, x, "wv", WIDTH, KV_HEADS * HEAD), RLX_DIMS(1, TOKENS, KV_HEADS, HEAD));
  rlx_node y = rlx_attention(g, rlx_rope(g, q, NULL), rlx_rope(g, k, NULL), v, &(rlx_attention_desc){.causal = true});
  return linear(g, rlx_reshape(g, y, RLX_DIMS(1, TOKENS, HEADS * HEAD)), "wo", HEADS * HEAD, WIDTH);
}

static rlx_node swiglu(rlx_graph *g, rlx_node x) {
  rlx_node gate = linear(g, x, "w_gate", WIDTH, HIDDEN), up = linear(g, x, "w_up", WIDTH, HIDDEN);
  return linear(g, rlx_mul(g, rlx_silu(g, gate), up), "w_down", HIDDEN, WIDTH);
}

static void build_block(rlx_graph *g) {
  rlx_node x = rlx_input(g, "x", RLX_F32, RLX_DIMS(1, TOKENS, WIDTH));
  x = rlx_add(g, x, attention(g, norm(g, x, "attention_norm")));
  x = rlx_add(g, x, swiglu(g, norm(g, x, "mlp_norm")));
  rlx_output(g, "y", x);
}

/* The device to compile for has no kernel for rope: passes rewrite it into ops that it has. */
static bool supports(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user;
  *why = "the device has no kernel for it";
  return strcmp(rlx_node_op(g, n), "rope") != 0;
}

/* Who needs memory, and how much of it at one time. A view lies in its owner's bytes: using it is using the owner. */
static rlx_status show_plan(const rlx_graph *g) {
  size_t bytes[256] = {0}, weights = 0, inputs = 0, outputs, live = 0, peak = 0;
  rlx_node owner[256] = {0}, last_use[256] = {0};
  rlx_node n = rlx_graph_size(g);
  if (n >= 256) return RLX_UNSUPPORTED;
  for (rlx_node i = 1; i <= n; i++) {
    const rlx_node *in;
    const char *op = rlx_node_op(g, i);
    uint32_t n_in = rlx_node_inputs(g, i, &in);
    bool is_view = strcmp(op, "reshape") == 0;
    rlx_status s = rlx_tensor_bytes(rlx_node_dtype(g, i), rlx_node_shape(g, i), &bytes[i]);
    if (s) return s;
    owner[i] = is_view ? owner[in[0]] : i;
    for (uint32_t k = 0; k < n_in; k++) last_use[owner[in[k]]] = i;
    if (n_in == 0) *(strcmp(op, "input") == 0 ? &inputs : &weights) += bytes[i];
    if (n_in == 0 || is_view) bytes[i] = 0;
  }
  rlx_node output = owner[rlx_graph_output(g, 0, NULL)];
  outputs = bytes[output];
  bytes[output] = 0; /* the rest are intermediate values, each with a use */
  for (rlx_node i = 1; i <= n; i++) {
    live += bytes[i];
    if (live > peak) peak = live;
    for (rlx_node k = 1; k <= i; k++) live -= last_use[k] == i ? bytes[k] : 0;
  }
  printf("plan: weights %zu bytes, inputs %zu, outputs %zu, peak of intermediate values alive %zu. That is the least\n",
         weights, inputs, outputs, peak);
  puts("an arena needs in this order, in-place ops aside; placing the values in one comes with the runtime.\n");
  return RLX_OK;
}

static rlx_status show_graph(const char *title, const rlx_graph *g) {
  char *text;
  rlx_status s = rlx_graph_print(g, &text);
  if (!s) printf("%s: %u nodes\n%s", title, rlx_graph_size(g), text);
  rlx_free(text);
  return s ? s : show_plan(g);
}

/* An evaluator with made-up values, which depend on the leaves' names alone: all graphs get the same. */
static rlx_status prepare(const rlx_graph *g, rlx_evaluator **e) {
  static float v[WIDTH * HIDDEN];
  rlx_status s = rlx_evaluator_create(g, e);
  for (rlx_node n = 1; !s && n <= rlx_graph_size(g); n++) {
    rlx_tensor t = {RLX_F32, rlx_node_shape(g, n), v, 0};
    const char *name = rlx_node_name(g, n);
    if (!name) continue;
    uint32_t x = 1;
    for (const char *c = name; *c; c++) x = x * 31 + (unsigned char)*c;
    for (size_t i = 0; i < WIDTH * HIDDEN; i++, x = x * 1664525 + 1013904223) v[i] = (float)(x >> 8) / 0x1p25f - 0.25f;
    s = rlx_tensor_bytes(t.dtype, t.shape, &t.bytes);
    if (!s) s = rlx_evaluator_set(*e, name, &t);
  }
  return s;
}

/* The output y. What `load` computes, where there is one, are params of g: it runs once, g as often as one likes. */
static rlx_status evaluate(const rlx_graph *g, const rlx_graph *load, double y[TOKENS * WIDTH]) {
  rlx_evaluator *run = NULL, *once = NULL;
  rlx_tensor t;
  rlx_status s = prepare(g, &run);
  if (!s && load) s = prepare(load, &once);
  if (!s && load) s = rlx_evaluator_run(once);
  for (uint32_t i = 0; !s && load && i < rlx_graph_outputs(load); i++) {
    const char *name;
    rlx_graph_output(load, i, &name);
    s = rlx_evaluator_get(once, name, &t);
    if (!s) s = rlx_evaluator_set(run, name, &t);
  }
  if (!s) s = rlx_evaluator_run(run);
  if (!s) s = rlx_evaluator_get(run, "y", &t);
  for (size_t i = 0; !s && i < TOKENS * WIDTH; i++) y[i] = (double)((const float *)t.data)[i];
  rlx_evaluator_destroy(once);
  rlx_evaluator_destroy(run);
  return s;
}

int main(void) {
  double plain[TOKENS * WIDTH] = {0}, fast[TOKENS * WIDTH] = {0}, difference = 0;
  rlx_graph *g = NULL;
  rlx_optimized *o = NULL;
  char *report = NULL;
  rlx_optimize_options options = {.struct_bytes = sizeof options, .supports = supports};
  rlx_status s = rlx_graph_create(&g);
  build_block(g);
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = show_graph("The block as it was built", g);
  if (!s) s = rlx_optimize(g, &options, &o);
  if (!s) s = show_graph("The same after all passes", rlx_optimized_graph(o));
  if (!s) s = rlx_optimized_report(o, false, &report);
  if (!s) s = evaluate(g, NULL, plain);
  if (!s) s = evaluate(rlx_optimized_graph(o), rlx_optimized_load(o), fast);
  for (int i = 0; i < TOKENS * WIDTH; i++) difference = fmax(difference, fabs(plain[i] - fast[i]));
  if (s) fprintf(stderr, "%s: %s\n", rlx_status_name(s), rlx_message());
  else printf("dispatch report:\n%s\ny = %.5f %.5f %.5f ..\n", report, plain[0], plain[1], plain[2]);
  if (!s) printf("largest difference before and after the passes: %.1e\n", difference);
  rlx_free(report);
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
  return s != RLX_OK;
}
