/* Big graphs: see the header. They are generated with a fixed seed, so every run sees the same graph. */
#include "big_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graphs.h"

/* ---- one stress each ---- */

static uint32_t size_of(const rlx_graph *g) { return rlx_graph_end(g); }
static bool is_short_of(const rlx_graph *g, uint32_t n_nodes) { return !g->error && size_of(g) < n_nodes; }

/* Alternates between two layouts, with an addition every fourth node, so that no two neighbours cancel. */
static rlx_node add_and_move(rlx_graph *g, rlx_node x, rlx_node one, uint32_t n_nodes, double *value) {
  for (uint32_t i = 0; is_short_of(g, n_nodes); i++) {
    if (i % 4 == 0) *value += 1;
    if (i % 4 == 0) x = rlx_op_add(g, x, one);
    else if (i % 4 == 1) x = rlx_op_reshape(g, x, i % 8 == 1 ? RLX_DIMS(3, 2) : RLX_DIMS(2, 3));
    else if (i % 4 == 2) x = rlx_op_relu(g, x);
    else x = rlx_op_transpose(g, x, RLX_DIMS(1, 0));
    if (i % 4 == 3) x = rlx_op_reshape(g, x, i % 8 == 3 ? RLX_DIMS(3, 2) : RLX_DIMS(2, 3));
  }
  return x;
}

static void build_chain(rlx_graph *g, uint32_t n_nodes, double *value) {
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
  rlx_graph_add_output(g, "y", add_and_move(g, x, rlx_op_scalar(g, RLX_F32, 1), n_nodes, value));
}

static void build_count(rlx_graph *g, uint32_t n_nodes, double *value) {
  rlx_node x = rlx_op_input(g, "x", RLX_I32, RLX_DIMS(3)), one = rlx_op_scalar(g, RLX_I32, 1);
  for (; is_short_of(g, n_nodes); *value += 1) x = rlx_op_add(g, x, one);
  rlx_graph_add_output(g, "y", x);
}

/* One node with n/2 readers, one with n/2 inputs. */
static void build_fan(rlx_graph *g, uint32_t n_nodes, double *value) {
  RLX_ARRAY(rlx_node) all = {0};
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1));
  while (is_short_of(g, n_nodes)) {
    *value += 1;
    if (!rlx_array_push(&all, rlx_op_add(g, x, rlx_op_scalar(g, RLX_F32, *value))))
      rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "a fan"));
  }
  rlx_graph_add_output(g, "y", rlx_op_reduce_max(g, rlx_op_concat(g, all.v, all.n, 0), RLX_DIMS(0), true));
  rlx_array_deinit(&all);
}

static void build_constants(rlx_graph *g, uint32_t n_nodes, double *value) {
  float zeros[6] = {0};
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
  rlx_node c = rlx_op_constant(g, RLX_F32, RLX_DIMS(2, 3), zeros, sizeof zeros);
  c = add_and_move(g, c, rlx_op_scalar(g, RLX_F32, 1), n_nodes, value);
  rlx_graph_add_output(g, "y", rlx_op_add(g, x, rlx_op_reshape(g, c, RLX_DIMS(2, 3))));
}

/* Thousands of params, and a chain that depends on them alone. */
static void build_weights(rlx_graph *g, uint32_t n_nodes, double *value) {
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3)), one = rlx_op_scalar(g, RLX_F32, 1), sum = RLX_NONE;
  for (uint32_t i = 0; is_short_of(g, n_nodes); i++) {
    char name[32];
    snprintf(name, sizeof name, "w%u", (unsigned)i);
    uint32_t until = size_of(g) + 1000 < n_nodes ? size_of(g) + 1000 : n_nodes;
    rlx_node w = rlx_op_param(g, name, RLX_F32, RLX_DIMS(2, 3));
    w = rlx_op_reshape(g, add_and_move(g, w, one, until, value), RLX_DIMS(2, 3));
    sum = sum ? rlx_op_add(g, sum, w) : w;
  }
  rlx_graph_add_output(g, "y", rlx_op_add(g, x, sum));
}

static void build_names(rlx_graph *g, uint32_t n_nodes, double *value) {
  (void)value;
  for (uint32_t i = 0; is_short_of(g, n_nodes); i++) {
    char in[32], out[32];
    snprintf(in, sizeof in, "x%u", (unsigned)i);
    snprintf(out, sizeof out, i ? "y%u" : "y", (unsigned)i);
    rlx_graph_add_output(g, out, rlx_op_tanh(g, rlx_op_input(g, in, RLX_F32, RLX_DIMS(1))));
  }
}

static void build_updates(rlx_graph *g, uint32_t n_nodes, double *value) {
  rlx_node s = rlx_op_state(g, "s", RLX_F32, RLX_DIMS(1)), one = rlx_op_scalar(g, RLX_F32, 1),
           at = rlx_op_scalar(g, RLX_I32, 0);
  for (; is_short_of(g, n_nodes); *value += 1) s = rlx_op_update(g, s, rlx_op_add(g, s, one), at, 0);
  rlx_graph_add_output(g, "y", s);
}

/* ---- the mix ---- */

typedef struct mixer {
  rlx_graph *g;
  uint64_t random;
  RLX_ARRAY(rlx_node) pool; /* f32[4,8], for later nodes to read */
  struct {
    uint32_t kind;
    rlx_node a, b;
  } past[64]; /* expressions to repeat */
  uint32_t n_past, n_params;
  rlx_node w, bias, half, one, at, flag;
  rlx_graph *on_true, *on_false;
} mixer;

static uint32_t random_below(mixer *m, uint32_t n) {
  m->random = m->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(((m->random >> 32) * n) >> 32);
}

/* Half of the inputs come from close by, half from anywhere. */
static rlx_node pick(mixer *m) {
  uint32_t n = (uint32_t)m->pool.n, near = n < 64 ? n : 64;
  return m->pool.v[random_below(m, 2) ? n - 1 - random_below(m, near) : random_below(m, n)];
}

static rlx_node mean_of(mixer *m, rlx_node a, rlx_node b) { return rlx_op_mul(m->g, rlx_op_add(m->g, a, b), m->half); }

static rlx_node new_weight(mixer *m, rlx_dims shape) {
  char name[32];
  snprintf(name, sizeof name, "w%u", (unsigned)m->n_params++);
  return rlx_op_param(m->g, name, RLX_F32, shape);
}

static rlx_node layouts(rlx_graph *g, rlx_node a) {
  rlx_node t = rlx_op_transpose(g, rlx_op_transpose(g, a, RLX_DIMS(1, 0)), RLX_DIMS(1, 0));
  return rlx_op_reshape(g, rlx_op_reshape(g, t, RLX_DIMS(32)), RLX_DIMS(4, 8));
}

static rlx_node halves(rlx_graph *g, rlx_node a) {
  rlx_node both[2] = {rlx_op_narrow(g, a, 1, 4, 4), rlx_op_narrow(g, a, 1, 0, 4)};
  return rlx_op_concat(g, both, 2, 1);
}

static rlx_node constants(mixer *m) {
  float v[8] = {0};
  for (int i = 0; i < 8; i++) v[i] = (float)random_below(m, 4) * 0.25f;
  rlx_node c = rlx_op_constant(m->g, RLX_F32, RLX_DIMS(8), v, sizeof v);
  return rlx_op_sub(m->g, rlx_op_tanh(m->g, rlx_op_add(m->g, c, m->one)), m->half);
}

static rlx_node branches(mixer *m, rlx_node a, rlx_node b) {
  rlx_node xs[2] = {a, b};
  return rlx_op_if(m->g, m->flag, m->on_true, m->on_false, xs, 2, NULL, 0);
}

static rlx_node write_state(mixer *m, rlx_node a) {
  char name[32];
  snprintf(name, sizeof name, "s%u", (unsigned)size_of(m->g));
  rlx_node s = rlx_op_state(m->g, name, RLX_F32, RLX_DIMS(6, 8));
  return rlx_op_narrow(m->g, rlx_op_update(m->g, s, a, m->at, 0), 0, 1, 4);
}

/* Every result stays within -2..2, so that deep graphs do not overflow. */
static rlx_node expression(mixer *m, uint32_t kind, rlx_node a, rlx_node b) {
  rlx_graph *g = m->g;
  switch (kind) {
    case 0: return rlx_op_tanh(g, a);
    case 1: return rlx_op_relu(g, a);
    case 2: return rlx_op_neg(g, rlx_op_abs(g, a));
    case 3: return rlx_op_max(g, a, b);
    case 4: return rlx_op_min(g, b, a);
    case 5: return mean_of(m, a, b);
    case 6: return rlx_op_mul(g, rlx_op_sigmoid(g, a), b);
    case 7: return rlx_op_mul(g, rlx_op_softmax(g, a, -1), b);
    case 8: return rlx_op_tanh(g, rlx_op_layer_norm(g, rlx_op_add(g, a, b), RLX_NONE, RLX_NONE, -1, 1e-5));
    case 9: return rlx_op_tanh(g, rlx_op_gelu(g, rlx_op_add(g, rlx_op_matmul(g, a, m->w), m->bias)));
    case 10: return rlx_op_mul(g, rlx_op_sub(g, layouts(g, a), b), m->half);
    case 11: return halves(g, a);
    case 12: return rlx_op_clamp(g, rlx_op_mul(g, rlx_op_add(g, a, constants(m)), m->one), -1.5, 1.5);
    case 13:
      return rlx_op_tanh(
        g, rlx_op_mul(g, rlx_op_silu(g, rlx_op_matmul(g, a, m->w)), rlx_op_matmul(g, a, rlx_op_tanh(g, m->w))));
    case 14: return rlx_op_tanh(g, rlx_op_rms_norm(g, rlx_op_add(g, a, b), RLX_NONE, RLX_NONE, -1, 1e-5));
    case 15: return rlx_op_where(g, rlx_op_lt(g, a, b), a, rlx_op_mul(g, b, m->half));
    case 16: return mean_of(m, rlx_op_reduce_mean(g, a, RLX_DIMS(1), true), b);
    case 17: return branches(m, a, b);
    default: return write_state(m, a);
  }
}
enum { MIX_COMMON = 17, MIX_BRANCH = 17, MIX_STATE = 18 };

static void mix_one(mixer *m) {
  uint32_t dice = random_below(m, 1000);
  if (dice < 5) {
    m->w = new_weight(m, RLX_DIMS(8, 8));
    m->bias = rlx_op_mul(m->g, new_weight(m, RLX_DIMS(8)), m->half);
  }
  uint32_t kind = dice < 6    ? MIX_STATE
                  : dice < 10 ? MIX_BRANCH
                              : random_below(m, MIX_COMMON),
           slot = random_below(m, 64);
  rlx_node a = pick(m), b = pick(m);
  if (dice < 200 && slot < m->n_past) { /* a repeated expression */
    kind = m->past[slot].kind;
    a = m->past[slot].a;
    b = m->past[slot].b;
  } else if (kind < MIX_COMMON) {
    m->past[slot].kind = kind;
    m->past[slot].a = a;
    m->past[slot].b = b;
    if (m->n_past == slot) m->n_past++;
  }
  rlx_node made = expression(m, kind, a, b);
  if (dice >= 900 || m->g->error) return; /* dead: nothing reads it */
  if (!rlx_array_push(&m->pool, made)) rlx_graph_set_error(m->g, RLX_FAIL(RLX_NO_MEMORY, "a mix"));
}

static rlx_graph *make_branch(bool which) {
  rlx_graph *g = NULL;
  if (rlx_graph_begin(&g)) return NULL;
  rlx_node a = rlx_op_input(g, "a", RLX_F32, RLX_DIMS(4, 8)), b = rlx_op_input(g, "b", RLX_F32, RLX_DIMS(4, 8));
  rlx_graph_add_output(g, "r", which ? rlx_op_max(g, a, b) : rlx_op_tanh(g, rlx_op_sub(g, a, b)));
  if (rlx_graph_finish(g) == RLX_OK) return g;
  rlx_graph_destroy(g);
  return NULL;
}

static void mix_leaves(mixer *m) {
  rlx_graph *g = m->g;
  bool flag = true;
  m->half = rlx_op_scalar(g, RLX_F32, 0.5);
  m->one = rlx_op_scalar(g, RLX_F32, 1);
  m->at = rlx_op_scalar(g, RLX_I32, 1);
  m->flag = rlx_op_constant(g, RLX_BOOL, RLX_SCALAR, &flag, 1);
  m->w = new_weight(m, RLX_DIMS(8, 8));
  m->bias = new_weight(m, RLX_DIMS(8));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4, 8)), ramp = rlx_op_range(g, -1, 0.0625, 32, RLX_F32);
  rlx_node start[2] = {x, rlx_op_add(g, x, rlx_op_reshape(g, ramp, RLX_DIMS(4, 8)))};
  for (int i = 0; i < 2; i++)
    if (!rlx_array_push(&m->pool, start[i])) rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "a mix"));
}

/* Unread values are reduced into "y" pairwise, so that the reduction is not deep. */
static void mix_outputs(mixer *m) {
  rlx_graph *g = m->g;
  bool *is_read = rlx_mem_calloc(rlx_graph_end(g), sizeof *is_read);
  if (!is_read) rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "a mix"));
  for (rlx_node id = 1; is_read && id < rlx_graph_end(g); id++)
    for (uint32_t i = 0; i < rlx_graph_at(g, id)->n_in; i++) is_read[rlx_graph_at(g, id)->in[i]] = true;
  size_t n = 0;
  for (size_t i = 0; is_read && i < m->pool.n; i++)
    if (!is_read[m->pool.v[i]]) m->pool.v[n++] = m->pool.v[i];
  rlx_mem_free(is_read);
  for (; n > 1; n = (n + 1) / 2) {
    for (size_t i = 0; i < n / 2; i++) m->pool.v[i] = rlx_op_max(g, m->pool.v[2 * i], m->pool.v[2 * i + 1]);
    m->pool.v[n / 2] = m->pool.v[n - 1]; /* the odd one, if there is one */
  }
  rlx_graph_add_output(g, "y", n ? m->pool.v[0] : RLX_NONE);
}

static void build_wide(rlx_graph *g, uint32_t n_nodes, double *value) {
  mixer m = {.g = g, .random = 1, .on_true = make_branch(true), .on_false = make_branch(false)};
  *value = (double)NAN;
  mix_leaves(&m);
  while (is_short_of(g, n_nodes)) mix_one(&m);
  mix_outputs(&m);
  rlx_array_deinit(&m.pool);
  rlx_graph_destroy(m.on_true);
  rlx_graph_destroy(m.on_false);
}

/* ---- the table ---- */

const big_graph_kind big_graph_kinds[] = {
  {"wide", "a random mix: twins, constants, dead ends, weights, layouts, norms, products, branches, states",
   build_wide},
  {"chain", "one chain of additions, reshapes, relus and transposes", build_chain},
  {"count", "one chain of element-wise additions alone", build_count},
  {"fan", "one value with n/2 readers, one concatenation of n/2 inputs", build_fan},
  {"constants", "one chain that depends on constants alone", build_constants},
  {"weights", "a thousandth params, and all the rest depends on params alone", build_weights},
  {"names", "n/2 inputs and n/2 outputs", build_names},
  {"updates", "a state that is updated n/2 times", build_updates},
};
const size_t big_graph_kinds_count = sizeof big_graph_kinds / sizeof *big_graph_kinds;

const big_graph_kind *big_graph_find(const char *name) {
  for (size_t i = 0; i < big_graph_kinds_count; i++)
    if (strcmp(big_graph_kinds[i].name, name) == 0) return &big_graph_kinds[i];
  return NULL;
}

rlx_status big_graph_make(const big_graph_kind *kind, uint32_t n_nodes, big_graph *out) {
  *out = (big_graph){0};
  rlx_graph *g = NULL;
  RLX_TRY(rlx_graph_begin(&g));
  kind->build(g, n_nodes, &out->value);
  rlx_status s = rlx_graph_finish(g);
  if (s) rlx_graph_destroy(g);
  else out->graph = g;
  return s;
}

/* ---- running ---- */

/* An evaluator that has run: leaves from `load` if it has them, else 0. */
static rlx_status run_zeros(const rlx_graph *g, const rlx_evaluator *load, rlx_evaluator **out) {
  RLX_TRY(rlx_evaluator_create(g, out));
  RLX_TRY(graph_set_leaves(*out, g, load, NULL, NULL));
  return rlx_evaluator_run(*out);
}

rlx_status big_graph_run(const rlx_graph *g, const rlx_graph *load, rlx_tensor *y) {
  rlx_evaluator *first = NULL, *e = NULL;
  rlx_tensor view;
  *y = (rlx_tensor){0};
  rlx_status s = load ? run_zeros(load, NULL, &first) : RLX_OK;
  if (!s) s = run_zeros(g, first, &e);
  if (!s) s = rlx_evaluator_get(e, "y", &view);
  if (!s) {
    *y = view;
    y->data = rlx_mem_alloc(view.bytes);
    if (y->data) memcpy(y->data, view.data, view.bytes);
    else s = RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", view.bytes);
  }
  rlx_evaluator_destroy(first);
  rlx_evaluator_destroy(e);
  return s;
}
