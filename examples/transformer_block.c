/* A Llama-style transformer block with a KV cache: keys and values stay in states on the device, and one compiled
 * program serves every position. `make demo` runs this.
 *
 * The model is the first forty lines of code below. */
#include <math.h>
#include <rlx/rlx.h>
#include <stdio.h>

enum { CONTEXT = 16, TOKENS = 6, WIDTH = 32, HEADS = 4, KV_HEADS = 2, HEAD = 8, HIDDEN = 64 };

static rlx_node linear(rlx_graph *g, rlx_node x, const char *name, int64_t in, int64_t out) {
  return rlx_op_matmul(g, x, rlx_op_param(g, name, RLX_F32, RLX_DIMS(in, out)));
}

static rlx_node norm(rlx_graph *g, rlx_node x, const char *name) {
  return rlx_op_rms_norm(g, x, rlx_op_param(g, name, RLX_F32, RLX_DIMS(WIDTH)), RLX_NONE, -1, 1e-5);
}

static rlx_node heads(rlx_graph *g, rlx_node x, int64_t n) { return rlx_op_reshape(g, x, RLX_DIMS(1, 1, n, HEAD)); }

/* The cache with the row of this token written at its position. */
static rlx_node write_cache(rlx_graph *g, const char *name, rlx_node row, rlx_node position) {
  rlx_node cache = rlx_op_state(g, name, RLX_F32, RLX_DIMS(1, CONTEXT, KV_HEADS, HEAD));
  return rlx_op_update(g, cache, row, position, 1);
}

static rlx_node attention(rlx_graph *g, rlx_node x, rlx_node position) {
  rlx_op_rope_desc turn = {RLX_OP_ROPE_DESC_INIT, .offset = position};
  rlx_node q = rlx_op_rope(g, heads(g, linear(g, x, "wq", WIDTH, HEADS * HEAD), HEADS), &turn);
  rlx_node k = rlx_op_rope(g, heads(g, linear(g, x, "wk", WIDTH, KV_HEADS * HEAD), KV_HEADS), &turn);
  rlx_node v = heads(g, linear(g, x, "wv", WIDTH, KV_HEADS * HEAD), KV_HEADS);
  rlx_node seen = rlx_op_add(g, position, rlx_op_scalar(g, RLX_I32, 1)); /* number of valid keys: up to this token */
  rlx_node y = rlx_op_attention(g, q, write_cache(g, "k", k, position), write_cache(g, "v", v, position),
                                &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .kv_len = seen});
  return linear(g, rlx_op_reshape(g, y, RLX_DIMS(1, 1, HEADS * HEAD)), "wo", HEADS * HEAD, WIDTH);
}

static rlx_node swiglu(rlx_graph *g, rlx_node x) {
  rlx_node gate = linear(g, x, "w_gate", WIDTH, HIDDEN), up = linear(g, x, "w_up", WIDTH, HIDDEN);
  return linear(g, rlx_op_mul(g, rlx_op_silu(g, gate), up), "w_down", HIDDEN, WIDTH);
}

static void build_block(rlx_graph *g) {
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, 1, WIDTH)),
           position = rlx_op_input(g, "position", RLX_I32, RLX_SCALAR);
  x = rlx_op_add(g, x, attention(g, norm(g, x, "norm1"), position));
  rlx_graph_add_output(g, "y", rlx_op_add(g, x, swiglu(g, norm(g, x, "norm2"))));
}

/* Synthetic values for all params. */
static rlx_status fill(const rlx_graph *g, rlx_executable *program) {
  static float v[WIDTH * HIDDEN];
  rlx_status s = RLX_OK;
  for (rlx_node n = 1; n <= rlx_graph_size(g) && !s; n++) {
    rlx_tensor t = {RLX_F32, rlx_node_shape(g, n), {v}, 0};
    if (rlx_node_op(g, n)[0] != 'p') continue; /* param */
    s = rlx_tensor_bytes(t.dtype, t.shape, &t.bytes);
    for (size_t i = 0; i < WIDTH * HIDDEN; i++) v[i] = 0.3f * sinf((float)(i * (2 * n + 1)));
    if (!s) s = rlx_executable_write(program, rlx_node_name(g, n), &t);
  }
  return s;
}

int main(void) {
  float x[WIDTH], y[WIDTH] = {0};
  int32_t position = 0;
  rlx_graph *g = NULL;
  rlx_session *session = NULL;
  rlx_executable *program = NULL;
  char *dispatch = NULL, *plan = NULL;
  rlx_status s = rlx_graph_create(&g);
  build_block(g);
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = rlx_session_create(NULL, &session);
  if (!s) s = rlx_compile(session, g, NULL, &program);
  if (!s) s = rlx_executable_report(program, RLX_REPORT_DISPATCH, RLX_TEXT, &dispatch);
  if (!s) s = rlx_executable_report(program, RLX_REPORT_PLAN, RLX_TEXT, &plan);
  if (!s) printf("What runs where:\n%s\nWhat it takes:\n%s\nA token at a time:\n", dispatch, plan);
  if (!s) s = fill(g, program);
  if (!s) s = rlx_executable_bind_input(program, "x", x, sizeof x);
  if (!s) s = rlx_executable_bind_input(program, "position", &position, sizeof position);
  if (!s) s = rlx_executable_bind_output(program, "y", y, sizeof y);
  for (; position < TOKENS && !s; position++) {
    for (int i = 0; i < WIDTH; i++) x[i] = cosf((float)(i + 7 * position));
    s = rlx_executable_run(program);
    if (!s) printf("token %d: %8.4f %8.4f %8.4f ..\n", (int)position, (double)y[0], (double)y[1], (double)y[2]);
  }
  if (s) fprintf(stderr, "%s: %s\n", rlx_status_name(s), rlx_message());
  rlx_free(dispatch);
  rlx_free(plan);
  rlx_executable_destroy(program);
  rlx_session_destroy(session);
  rlx_graph_destroy(g);
  return s != RLX_OK;
}
