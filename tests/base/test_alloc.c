/* The failing-allocation sweep over the whole library. Three graphs are each built, printed and parsed, bound,
 * optimised (for a target that supports everything and for one with primitive ops only) and evaluated, with every
 * single allocation failing once, and with all failing from that one on. Nothing may crash or leak, existing objects
 * must be unchanged, and the status must be RLX_NO_MEMORY; faults.h has the loop.
 *
 * Also every op: its reference kernel and its rewrite, on its first conformance case (on all of them with RLX_SOAK=1).
 *
 * A step that succeeds despite a failed allocation must have its usual result. An evaluator whose run failed must be
 * able to run again. */
#include <stdlib.h>

#include "faults.h"
#include "graphs.h"
#include "rules.h"
#include "test.h"

/* ---- the graphs ---- */

/* An MLP: weights, a bias, a scale of the weights that is folded and hoisted, and patterns that fuse. */
static void build_mlp(rlx_graph *g) {
  int64_t rows = rlx_graph_add_symbol(g, "B");
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(rows, 4));
  rlx_node w1 = rlx_op_param(g, "w1", RLX_F32, RLX_DIMS(4, 8)), b1 = rlx_op_param(g, "b1", RLX_F32, RLX_DIMS(8));
  rlx_node w2 = rlx_op_param(g, "w2", RLX_F32, RLX_DIMS(3, 8));
  rlx_node two = rlx_op_constant(g, RLX_F32, RLX_DIMS(2), (float[]){2, 3}, 2 * sizeof(float));
  rlx_node scale = rlx_op_reduce_sum(g, rlx_op_mul(g, two, rlx_op_scalar(g, RLX_F32, 0.1)), RLX_DIMS(0), false);
  rlx_node h = rlx_op_gelu(g, rlx_op_add(g, rlx_op_matmul(g, x, rlx_op_mul(g, w1, scale)), b1));
  rlx_node dead = rlx_op_exp(g, h);
  (void)dead;
  rlx_node y = rlx_op_matmul_t(g, rlx_op_mul(g, h, rlx_op_scalar(g, RLX_F32, 1)), w2);
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, y, -1));
  rlx_graph_add_output(g, "z", rlx_op_tanh(g, rlx_op_mul(g, rlx_op_sigmoid(g, y), y)));
}

/* A transformer block that writes its keys and values to states at a given index. */
static void build_block(rlx_graph *g) {
  enum { EMBED = 8, HEADS = 2, HEAD = 4, PLACES = 4, HIDDEN = 12 };
  int64_t length = rlx_graph_add_symbol(g, "S");
  rlx_dims heads = RLX_DIMS(1, length, HEADS, HEAD);
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, length, EMBED)),
           at = rlx_op_input(g, "at", RLX_I32, RLX_SCALAR);
  rlx_node gamma = rlx_op_param(g, "gamma", RLX_F32, RLX_DIMS(EMBED)),
           normed = rlx_op_rms_norm(g, x, gamma, RLX_NONE, -1, 1e-5);
  rlx_node w[4], states[2];
  const char *names[4] = {"wq", "wk", "wv", "wo"}, *state_names[2] = {"keys", "values"};
  for (int i = 0; i < 4; i++) w[i] = rlx_op_param(g, names[i], RLX_F32, RLX_DIMS(EMBED, HEADS * HEAD));
  for (int i = 0; i < 2; i++) states[i] = rlx_op_state(g, state_names[i], RLX_F32, RLX_DIMS(1, PLACES, HEADS, HEAD));
  rlx_op_rope_desc turn = {RLX_OP_ROPE_DESC_INIT, .offset = at};
  rlx_node q = rlx_op_rope(g, rlx_op_reshape(g, rlx_op_matmul(g, normed, w[0]), heads), &turn);
  rlx_node k = rlx_op_rope(g, rlx_op_reshape(g, rlx_op_matmul(g, normed, w[1]), heads), &turn);
  rlx_node v = rlx_op_reshape(g, rlx_op_matmul(g, normed, w[2]), heads);
  rlx_node keys = rlx_op_update(g, states[0], k, at, 1), values = rlx_op_update(g, states[1], v, at, 1);
  rlx_node mixed = rlx_op_attention(
    g, q, keys, values, &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .causal = true, .kv_offset = at});
  mixed = rlx_op_matmul(g, rlx_op_reshape(g, mixed, RLX_DIMS(1, length, EMBED)), w[3]);
  rlx_node inner = rlx_op_rms_norm(g, rlx_op_add(g, x, mixed), gamma, RLX_NONE, -1, 1e-5);
  rlx_node gate = rlx_op_param(g, "gate", RLX_F32, RLX_DIMS(EMBED, HIDDEN)),
           up = rlx_op_param(g, "up", RLX_F32, RLX_DIMS(EMBED, HIDDEN));
  rlx_node down = rlx_op_param(g, "down", RLX_F32, RLX_DIMS(HIDDEN, EMBED));
  rlx_node hidden = rlx_op_mul(g, rlx_op_silu(g, rlx_op_matmul(g, inner, gate)), rlx_op_matmul(g, inner, up));
  rlx_graph_add_output(g, "y", rlx_op_add(g, inner, rlx_op_matmul(g, hidden, down)));
}

/* Sub-graphs, built while allocations fail: NULL and what depends on it must be reported as an error, not
 * dereferenced. */
typedef void (*body_fn)(rlx_graph *g);

static rlx_graph *make_body(rlx_graph *outer, body_fn fill) {
  rlx_graph *body = NULL;
  rlx_status s = rlx_graph_create(&body);
  if (!s) {
    fill(body);
    s = rlx_graph_finish(body);
  }
  if (!s) return body;
  rlx_graph_destroy(body);
  rlx_graph_set_error(outer, s);
  return NULL;
}

static void body_exp(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_exp(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(3))));
}
static void body_neg(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_neg(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(3))));
}
static void body_below(rlx_graph *g) {
  rlx_graph_add_output(g, "c", rlx_op_lt(g, rlx_op_input(g, "i", RLX_I32, RLX_SCALAR), rlx_op_scalar(g, RLX_I32, 3)));
}
static void body_next(rlx_graph *g) {
  rlx_graph_add_output(g, "i", rlx_op_add(g, rlx_op_input(g, "i", RLX_I32, RLX_SCALAR), rlx_op_scalar(g, RLX_I32, 1)));
}
static void body_sum(rlx_graph *g) {
  rlx_node s = rlx_op_input(g, "s", RLX_F32, RLX_DIMS(3)), x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(3)),
           t = rlx_op_add(g, s, x);
  rlx_graph_add_output(g, "s", t);
  rlx_graph_add_output(g, "t", rlx_op_tanh(g, t));
}

static void build_control(rlx_graph *g) {
  int64_t steps = rlx_graph_add_symbol(g, "T");
  rlx_graph *bodies[5];
  const body_fn fills[5] = {body_exp, body_neg, body_below, body_next, body_sum};
  for (int i = 0; i < 5; i++) bodies[i] = make_body(g, fills[i]);
  rlx_node go = rlx_op_input(g, "go", RLX_BOOL, RLX_SCALAR), x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(3));
  rlx_node rows = rlx_op_input(g, "rows", RLX_F32, RLX_DIMS(steps, 3));
  rlx_node start = rlx_op_if(g, go, bodies[0], bodies[1], &x, 1, NULL, 0), zero = rlx_op_scalar(g, RLX_I32, 0);
  rlx_node trips = rlx_op_while(g, bodies[2], bodies[3], 1, 10, &zero, 1, NULL, 0);
  rlx_node carried[2] = {start, rows}, sums[2] = {RLX_NONE, RLX_NONE};
  rlx_op_scan(g, bodies[4], 1, 1, false, carried, 2, sums, 2);
  rlx_node noise = rlx_op_rng_normal(g, trips, RLX_DIMS(3), RLX_F32, 7, 0, 1);
  rlx_graph_add_output(g, "y", rlx_op_custom(g, "alloc.add", "x", (rlx_node[]){sums[0], noise}, 2));
  rlx_graph_add_output(g, "t", rlx_op_clamp(g, sums[1], -0.5, 0.5));
  for (int i = 0; i < 5; i++) rlx_graph_destroy(bodies[i]);
}

static rlx_status custom_shape(rlx_custom_call *call) {
  call->output->dtype = call->inputs[0]->dtype;
  call->output->shape = call->inputs[0]->shape;
  return RLX_OK;
}

static rlx_status custom_add(rlx_custom_call *call) {
  const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
  for (size_t i = 0; i < call->output->bytes / sizeof *a; i++) ((float *)call->output->data)[i] = a[i] + b[i];
  return RLX_OK;
}

static const struct {
  const char *name;
  void (*build)(rlx_graph *g);
  rlx_binding binding;
  uint32_t min_nodes; /* detects a builder that stops early, */
  bool hoists;        /* and a hoist that does nothing */
} graphs[] = {{"mlp", build_mlp, {"B", 2}, 20, true},
              {"block", build_block, {"S", 2}, 30, false},
              {"control", build_control, {"T", 2}, 10, false}};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs };

/* ---- the work of each sweep ---- */

/* The subject of a sweep: built once without failures, and unchanged afterwards. */
typedef struct subject {
  size_t which;
  rlx_graph *open, *bound; /* with its symbol, and without */
  char *text;              /* of open */
  rlx_supports_fn supports;
  uint64_t optimised; /* hash of the optimised graph */
  uint64_t values;    /* hash of a run's results */
} subject;

static rlx_status work_build(void *user) {
  const subject *t = user;
  rlx_graph *g = NULL;
  RLX_TRY(rlx_graph_create(&g));
  graphs[t->which].build(g);
  rlx_status s = rlx_graph_finish(g), again = rlx_graph_status(g);
  if (s != again)
    s = RLX_FAIL(RLX_INVALID, "the error did not stick: '%s', then '%s'", rlx_status_name(s), rlx_status_name(again));
  else if (!s && !rlx_graph_same(g, t->open)) s = RLX_FAIL(RLX_INVALID, "built, but not the same graph");
  rlx_graph_destroy(g);
  return s;
}

static rlx_status work_print(void *user) {
  const subject *t = user;
  char *text;
  RLX_TRY(rlx_graph_print(t->open, &text));
  rlx_status s = strcmp(text, t->text) == 0 ? RLX_OK : RLX_FAIL(RLX_INVALID, "printed, but not the same text");
  rlx_free(text);
  return s;
}

static rlx_status work_parse(void *user) {
  const subject *t = user;
  rlx_graph *g;
  RLX_TRY(rlx_graph_parse(t->text, strlen(t->text), &g));
  rlx_status s = rlx_graph_same(g, t->open) ? RLX_OK : RLX_FAIL(RLX_INVALID, "parsed, but not the same graph");
  rlx_graph_destroy(g);
  return s;
}

static rlx_status work_bind(void *user) {
  const subject *t = user;
  rlx_graph *g;
  RLX_TRY(rlx_graph_bind(t->open, &graphs[t->which].binding, 1, &g));
  rlx_status s = rlx_graph_same(g, t->bound) ? RLX_OK : RLX_FAIL(RLX_INVALID, "bound, but not the same graph");
  rlx_graph_destroy(g);
  return s;
}

static rlx_status optimise(const subject *t, uint64_t *hash) {
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .supports = t->supports};
  rlx_optimized *o = NULL;
  char *report = NULL;
  RLX_TRY(rlx_optimize(t->bound, &options, &o));
  *hash = rlx_graph_hash(rlx_optimized_graph(o)) * 31 + rlx_graph_hash(rlx_optimized_load(o));
  rlx_status s = RLX_OK;
  if ((rlx_optimized_load(o) != NULL) != graphs[t->which].hoists)
    s = RLX_FAIL(RLX_INVALID, "hoisting did what it should not");
  if (!s) s = rlx_optimized_report(o, true, &report);
  if (!s) *hash = rlx_hash_bytes(*hash, report, strlen(report));
  rlx_free(report);
  rlx_optimized_destroy(o);
  return s;
}

static rlx_status work_optimise(void *user) {
  const subject *t = user;
  uint64_t hash;
  RLX_TRY(optimise(t, &hash));
  return hash == t->optimised ? RLX_OK : RLX_FAIL(RLX_INVALID, "optimised, but not to the same graph and report");
}

/* ---- evaluation ---- */

static rlx_status set_leaf(rlx_evaluator *e, const rlx_graph *g, rlx_node id) {
  enum { MAX = 128 };
  float floats[MAX];
  static int32_t zero = 0;
  static bool yes = true;
  for (int i = 0; i < MAX; i++) floats[i] = (float)((i * 7 + (int)id) % 11 - 5) * 0.125f;
  rlx_tensor t = {.dtype = rlx_node_dtype(g, id), .shape = rlx_node_shape(g, id)};
  t.data = t.dtype == RLX_F32 ? (void *)floats : t.dtype == RLX_BOOL ? (void *)&yes : (void *)&zero;
  RLX_TRY(rlx_tensor_bytes(t.dtype, t.shape, &t.bytes));
  if (t.bytes > sizeof floats) return RLX_FAIL(RLX_INVALID, "a leaf of %zu bytes is too large for this test", t.bytes);
  return rlx_evaluator_set(e, rlx_node_name(g, id), &t);
}

/* Sets the leaves, in the shapes of the bound graph; the evaluator binds the open one from them. */
static rlx_status set_leaves(rlx_evaluator *e, const rlx_graph *bound) {
  for (rlx_node id = 1; id < rlx_graph_end(bound); id++) {
    rlx_op op = rlx_graph_at(bound, id)->op;
    if (op == RLX_OP_input || op == RLX_OP_param) RLX_TRY(set_leaf(e, bound, id));
  }
  return RLX_OK;
}

/* All outputs and states. */
static rlx_status hash_values(const rlx_evaluator *e, const rlx_graph *g, uint64_t *hash) {
  rlx_tensor view;
  *hash = 0;
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++) {
    const char *name;
    rlx_graph_output_at(g, i, &name);
    RLX_TRY(rlx_evaluator_get(e, name, &view));
    *hash = rlx_hash_bytes(*hash, view.data, view.bytes);
  }
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (rlx_graph_at(g, id)->op != RLX_OP_state) continue;
    RLX_TRY(rlx_evaluator_get(e, rlx_node_name(g, id), &view));
    *hash = rlx_hash_bytes(*hash, view.data, view.bytes);
  }
  return RLX_OK;
}

/* Runs twice, because the second run begins with the states of the first; each run is retried if memory ran out. */
static rlx_status evaluate(const subject *t, rlx_evaluator *e, uint64_t *hash) {
  rlx_status first = RLX_OK;
  for (int run = 0; run < 2; run++) {
    rlx_status s = rlx_evaluator_run(e);
    if (s == RLX_NO_MEMORY) first = s;
    if (s == RLX_NO_MEMORY) s = rlx_evaluator_run(e);
    RLX_TRY(s);
  }
  RLX_TRY(hash_values(e, t->bound, hash));
  if (t->values && *hash != t->values) return RLX_FAIL(RLX_INVALID, "evaluated, but not to the same values");
  return first ? RLX_FAIL(first, "one run failed, and the next did not") : RLX_OK;
}

static rlx_status run_evaluator(const subject *t, uint64_t *hash) {
  rlx_evaluator *e = NULL;
  RLX_TRY(rlx_evaluator_create(t->open, &e));
  rlx_status s = set_leaves(e, t->bound);
  if (!s) s = evaluate(t, e, hash);
  rlx_evaluator_destroy(e);
  return s;
}

static rlx_status work_evaluate(void *user) {
  uint64_t hash;
  return run_evaluator(user, &hash);
}

/* ---- the sweeps ---- */

static rlx_status subject_make(size_t which, rlx_supports_fn supports, subject *t) {
  *t = (subject){.which = which, .supports = supports};
  RLX_TRY(rlx_graph_create(&t->open));
  graphs[which].build(t->open);
  RLX_TRY(rlx_graph_finish(t->open));
  if (rlx_graph_size(t->open) < graphs[which].min_nodes)
    return RLX_FAIL(RLX_INVALID, "has only %u nodes", (unsigned)rlx_graph_size(t->open));
  RLX_TRY(rlx_graph_print(t->open, &t->text));
  RLX_TRY(rlx_graph_bind(t->open, &graphs[which].binding, 1, &t->bound));
  RLX_TRY(optimise(t, &t->optimised));
  return run_evaluator(t, &t->values);
}

static void subject_deinit(subject *t) {
  rlx_graph_destroy(t->open);
  rlx_graph_destroy(t->bound);
  rlx_free(t->text);
}

/* Sweeps one kind of work over all graphs. */
static rlx_status sweep(alloc_sweep_fn work, rlx_supports_fn supports) {
  rlx_custom_desc desc = {RLX_CUSTOM_DESC_INIT, .name = "alloc.add", .shape = custom_shape, .kernel = custom_add};
  RLX_TRY(rlx_custom_register(&desc));
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < N_GRAPHS && !s; i++) {
    subject t;
    s = subject_make(i, supports, &t);
    if (!s) s = alloc_sweep(work, &t);
    if (!s) s = work(&t); /* the failures must leave no trace */
    if (s) rlx_fail_frame(s, "%s", graphs[i].name);
    subject_deinit(&t);
  }
  rlx_status end = rlx_custom_unregister("alloc.add");
  return s ? s : end;
}

TEST(building) { CHECK_OK(sweep(work_build, NULL)); }
TEST(printing) { CHECK_OK(sweep(work_print, NULL)); }
TEST(parsing) { CHECK_OK(sweep(work_parse, NULL)); }
TEST(binding) { CHECK_OK(sweep(work_bind, NULL)); }
TEST(optimising) { CHECK_OK(sweep(work_optimise, NULL)); }
TEST(optimising_for_primitives) { CHECK_OK(sweep(work_optimise, only_primitives)); }
TEST(evaluating) { CHECK_OK(sweep(work_evaluate, NULL)); }

/* ---- every op ---- */

static rlx_status work_case(void *user) {
  const rlx_case_built *b = user;
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .supports = only_primitives};
  rlx_optimized *o = NULL;
  rlx_evaluator *e = NULL;
  rlx_tensor y;
  rlx_status s = case_run(b->graph, b, &e, &y);
  rlx_evaluator_destroy(e);
  RLX_TRY(s);
  RLX_TRY(rlx_optimize(b->graph, &options, &o));
  rlx_optimized_destroy(o);
  return RLX_OK;
}

TEST(every_op) {
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *cases = rlx_case_table_get((rlx_op)op);
    for (size_t i = 0; i < cases->n && (i == 0 || getenv("RLX_SOAK")); i++) {
      rlx_case_built built = {0};
      rlx_status s = rlx_case_build((rlx_op)op, &cases->v[i], &built);
      if (!s) s = alloc_sweep(work_case, &built);
      rlx_case_deinit(&built);
      if (s) FAIL("%s/%s: %s", rlx_op_table_get((rlx_op)op)->name, cases->v[i].name, rlx_message());
    }
  }
}
