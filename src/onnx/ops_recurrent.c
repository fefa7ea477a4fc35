/* RNN, GRU and LSTM.
 *
 * With ONNX's default activations and no extras they are RLX's ops, whose gates have another order. Other cases
 * (other activations, clip, peepholes, sequences of several lengths) are a scan over steps with the body built here;
 * the input's contribution is one product for all steps before it. Short f32 sequences are unrolled: every device
 * has fast products, but not every device has these ops. */
#include <inttypes.h>
#include <string.h>

#include "onnx/compose.h"

enum { MAX_UNROLLED = 32 };

typedef enum kind { RNN, GRU, LSTM } kind;

typedef struct activation {
  int which;
  double alpha, beta;
} activation;

typedef struct recurrent {
  kind kind;
  int n_gates, n_directions;
  bool reverse_first; /* the one direction is backwards */
  bool batch_first, input_forget, linear_before_reset, has_default_acts;
  double clip; /* 0: none */
  int64_t steps, batch, inputs, hidden;
  activation acts[2][3];
  rlx_node w, recurrent; /* [D, G H, I] and [D, G H, H] */
} recurrent;

/* ---- attributes ---- */

enum { TANH, SIGMOID, RELU, AFFINE, LEAKY_RELU, THRESHOLDED_RELU, SCALED_TANH, HARD_SIGMOID, ELU, SOFTSIGN, SOFTPLUS };
static const struct {
  const char *name;
  double alpha, beta;
} act_names[] = {{"Tanh", 0, 0},         {"Sigmoid", 0, 0},         {"Relu", 0, 0},       {"Affine", 1, 0},
                 {"LeakyRelu", 0.01, 0}, {"ThresholdedRelu", 1, 0}, {"ScaledTanh", 1, 1}, {"HardSigmoid", 0.2, 0.5},
                 {"Elu", 1, 0},          {"Softsign", 0, 0},        {"Softplus", 0, 0}};

/* Compares names case-insensitively. */
static bool same_word(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a, y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
    if (x != y) return false;
  }
  return *a == *b;
}

static rlx_status find_act(const char *name, activation *out) {
  for (size_t i = 0; i < sizeof act_names / sizeof *act_names; i++)
    if (same_word(name, act_names[i].name))
      return *out = (activation){(int)i, act_names[i].alpha, act_names[i].beta}, RLX_OK;
  return RLX_FAIL(RLX_INVALID, "activation '%.40s'", name);
}

static rlx_status read_acts(onnx_call *c, recurrent *r) {
  static const int usual[3][3] = {{TANH}, {SIGMOID, TANH}, {SIGMOID, TANH, TANH}};
  static const int counts[3] = {1, 2, 3};
  const onnx_attribute *a = onnx_attribute_find(c, "activations");
  const double *alpha, *beta;
  size_t n_alpha, n_beta, n = (size_t)counts[r->kind] * (size_t)r->n_directions, at_alpha = 0, at_beta = 0;
  RLX_TRY(onnx_floats_of(c, "activation_alpha", &alpha, &n_alpha));
  RLX_TRY(onnx_floats_of(c, "activation_beta", &beta, &n_beta));
  if (a && (a->kind != ONNX_KIND_STRINGS || a->n != n))
    return RLX_FAIL(RLX_INVALID, "attribute 'activations' has %zu names, expected %zu", a->n, n);
  r->has_default_acts = true;
  for (size_t i = 0; i < n; i++) {
    activation *act = &r->acts[i / (size_t)counts[r->kind]][i % (size_t)counts[r->kind]];
    int which = usual[r->kind][i % (size_t)counts[r->kind]];
    if (a) RLX_TRY(find_act(a->strings[i].v, act));
    else RLX_TRY(find_act(act_names[which].name, act));
    r->has_default_acts &= act->which == which;
    /* The lists hold numbers of those that have any, in order. */
    if (act_names[act->which].alpha != 0 && at_alpha < n_alpha) act->alpha = alpha[at_alpha++];
    if ((act_names[act->which].beta != 0 || act->which == AFFINE) && at_beta < n_beta) act->beta = beta[at_beta++];
  }
  return RLX_OK;
}

static rlx_status check_shapes(onnx_call *c, const recurrent *r, rlx_dims w, rlx_dims h) {
  rlx_dims b = onnx_shape(c, 3);
  int64_t d = r->n_directions, gates = r->n_gates * r->hidden;
  if (onnx_rank(c, 0) != 3 || w.n != 3 || h.n != 3 || w.v[0] != d || w.v[1] != gates || w.v[2] != r->inputs ||
      h.v[0] != d || h.v[1] != gates || h.v[2] != r->hidden || r->hidden < 1)
    return RLX_FAIL(RLX_INVALID, "the weights do not fit %" PRId64 " hidden values and %" PRId64 " inputs", r->hidden,
                    r->inputs);
  if (onnx_has(c, 3) && (b.n != 2 || b.v[0] != d || b.v[1] != 2 * gates))
    return RLX_FAIL(RLX_INVALID, "the bias does not fit %" PRId64 " hidden values", r->hidden);
  if (!onnx_holds_floats(onnx_dtype(c, 0)))
    return RLX_FAIL(RLX_INVALID, "the input is %s", onnx_type_name(onnx_in_type(c, 0)));
  return RLX_OK;
}

static rlx_status read_recurrent(onnx_call *c, kind k, rlx_dims w, rlx_dims h, recurrent *r) {
  static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
  static const int gates[] = {1, 3, 4};
  int direction;
  rlx_dims x = onnx_shape(c, 0);
  *r = (recurrent){.kind = k, .n_gates = gates[k]};
  RLX_TRY(onnx_word(c, "direction", directions, &direction));
  r->n_directions = direction == 2 ? 2 : 1;
  r->reverse_first = direction == 1;
  RLX_TRY(onnx_flag(c, "layout", false, &r->batch_first));
  RLX_TRY(onnx_flag(c, "input_forget", false, &r->input_forget));
  RLX_TRY(onnx_flag(c, "linear_before_reset", false, &r->linear_before_reset));
  RLX_TRY(onnx_float(c, "clip", 0, &r->clip));
  if (x.n != 3 || h.n != 3) return RLX_FAIL(RLX_INVALID, "an input with %d axes", (int)x.n);
  r->steps = x.v[r->batch_first ? 1 : 0], r->batch = x.v[r->batch_first ? 0 : 1], r->inputs = x.v[2];
  RLX_TRY(onnx_int(c, "hidden_size", h.v[2], &r->hidden));
  if (r->hidden != h.v[2])
    return RLX_FAIL(RLX_INVALID, "hidden_size is %" PRId64 ", R has %" PRId64, r->hidden, h.v[2]);
  RLX_TRY(read_acts(c, r));
  return check_shapes(c, r, w, h);
}

/* ---- RLX's op ---- */

/* One direction of a weight, its gates in RLX's order. */
static rlx_node gates_of(onnx_call *c, const recurrent *r, rlx_node w, int direction) {
  static const int order[3][4] = {{0}, {1, 0, 2}, {0, 2, 3, 1}};
  rlx_node parts[4];
  rlx_dims d = onnx_dims(c, w);
  if (d.n < 2) return RLX_NONE;
  w = onnx_part(c, w, 0, direction, direction + 1);
  for (int i = 0; i < d.n - 1; i++) d.v[i] = d.v[i + 1];
  d.n--;
  w = onnx_reshape(c, w, d);
  if (r->n_gates == 1) return w;
  for (int i = 0; i < r->n_gates; i++) {
    int from = order[r->kind][i];
    parts[i] = onnx_part(c, w, 0, from * r->hidden, (from + 1) * r->hidden);
  }
  return rlx_op_concat(c->g, parts, (size_t)r->n_gates, 0);
}

static rlx_node native(onnx_call *c, const recurrent *r, const rlx_node *w, size_t n, rlx_node x, rlx_node h,
                       rlx_node cell, rlx_out out) {
  rlx_direction d = r->n_directions == 2 ? RLX_DIRECTION_BOTH
                    : r->reverse_first   ? RLX_DIRECTION_REVERSE
                                         : RLX_DIRECTION_FORWARD;
  bool no_bias = !onnx_has(c, 3);
  if (r->kind == RNN) {
    rlx_op_rnn_desc desc = {RLX_OP_RNN_DESC_INIT, .h0 = h,   .hidden = r->hidden, .direction = d,
                            .no_bias = no_bias,   .out = out};
    return rlx_op_rnn(c->g, x, w, n, &desc);
  }
  if (r->kind == GRU) {
    rlx_op_gru_desc desc = {RLX_OP_GRU_DESC_INIT,
                            .h0 = h,
                            .hidden = r->hidden,
                            .direction = d,
                            .no_bias = no_bias,
                            .reset_before = !r->linear_before_reset,
                            .out = out};
    return rlx_op_gru(c->g, x, w, n, &desc);
  }
  rlx_op_lstm_desc desc = {RLX_OP_LSTM_DESC_INIT, .h0 = h,   .c0 = cell, .hidden = r->hidden, .direction = d,
                           .no_bias = no_bias,    .out = out};
  return rlx_op_lstm(c->g, x, w, n, &desc);
}

typedef struct results {
  rlx_node y, h, c; /* [S, D, B, H], [D, B, H] twice */
} results;

static void run_native(onnx_call *c, const recurrent *r, rlx_node x, rlx_node h, rlx_node cell, results *out) {
  rlx_node w[8];
  size_t n = 0;
  int64_t gates = r->n_gates * r->hidden;
  for (int d = 0; d < r->n_directions; d++) {
    w[n++] = gates_of(c, r, r->w, d);
    w[n++] = gates_of(c, r, r->recurrent, d);
    for (int i = 0; i < 2 && onnx_has(c, 3); i++)
      w[n++] = gates_of(c, r, onnx_part(c, onnx_in(c, 3), 1, i * gates, (i + 1) * gates), d);
  }
  rlx_node y = native(c, r, w, n, x, h, cell, RLX_OUT_Y);
  y = onnx_reshape(c, y, RLX_DIMS(r->steps, r->batch, r->n_directions, r->hidden));
  out->y = rlx_op_transpose(c->g, y, RLX_DIMS(0, 2, 1, 3));
  if (onnx_wants(c, 1)) out->h = native(c, r, w, n, x, h, cell, RLX_OUT_H);
  if (onnx_wants(c, 2) && r->kind == LSTM) out->c = native(c, r, w, n, x, h, cell, RLX_OUT_C);
}

/* ---- a scan ---- */

static rlx_node activate(onnx_call *c, const recurrent *r, const activation *a, rlx_node x) {
  rlx_graph *g = c->g;
  if (r->clip > 0) x = rlx_op_clamp(g, x, -r->clip, r->clip);
  switch (a->which) {
    case SIGMOID: return rlx_op_sigmoid(g, x);
    case RELU: return rlx_op_relu(g, x);
    case AFFINE: return onnx_plus(c, onnx_times(c, x, a->alpha), a->beta);
    case LEAKY_RELU: return rlx_op_leaky_relu(g, x, a->alpha);
    case THRESHOLDED_RELU:
      return rlx_op_where(g, rlx_op_ge(g, x, onnx_scalar_like(c, x, a->alpha)), x, onnx_scalar_like(c, x, 0));
    case SCALED_TANH: return onnx_times(c, rlx_op_tanh(g, onnx_times(c, x, a->beta)), a->alpha);
    case HARD_SIGMOID: return rlx_op_hard_sigmoid(g, x, a->alpha, a->beta);
    case ELU: return rlx_op_elu(g, x, a->alpha);
    case SOFTSIGN: return rlx_op_div(g, x, onnx_plus(c, rlx_op_abs(g, x), 1));
    case SOFTPLUS: return rlx_op_softplus(g, x);
    default: return rlx_op_tanh(g, x);
  }
}

/* What a step of a direction reads: the input's part of the gates, the states before, weights. */
typedef struct step {
  rlx_node x, h, c, w, bias, peepholes, alive;
} step;

static rlx_node gate(onnx_call *c, const recurrent *r, rlx_node all, int i) {
  return onnx_part(c, all, 1, i * r->hidden, (i + 1) * r->hidden);
}

static rlx_node peep(onnx_call *c, const recurrent *r, const step *s, rlx_node x, int i, rlx_node cell) {
  if (!s->peepholes) return x;
  return rlx_op_add(c->g, x, rlx_op_mul(c->g, onnx_part(c, s->peepholes, 0, i * r->hidden, (i + 1) * r->hidden), cell));
}

static void lstm_step(onnx_call *c, const recurrent *r, const activation *f, step *s) {
  rlx_graph *g = c->g;
  rlx_node all = rlx_op_add(g, s->x, rlx_op_matmul_t(g, s->h, s->w));
  rlx_node in = activate(c, r, &f[0], peep(c, r, s, gate(c, r, all, 0), 0, s->c));
  rlx_node forget = r->input_forget ? rlx_op_sub(g, onnx_scalar_like(c, in, 1), in)
                                    : activate(c, r, &f[0], peep(c, r, s, gate(c, r, all, 2), 2, s->c));
  rlx_node fresh = activate(c, r, &f[1], gate(c, r, all, 3));
  s->c = rlx_op_add(g, rlx_op_mul(g, forget, s->c), rlx_op_mul(g, in, fresh));
  rlx_node out = activate(c, r, &f[0], peep(c, r, s, gate(c, r, all, 1), 1, s->c));
  recurrent unclipped = *r; /* the cell is not an input of a gate, which is what runtimes clip */
  unclipped.clip = 0;
  s->h = rlx_op_mul(g, out, activate(c, &unclipped, &f[2], s->c));
}

static void gru_step(onnx_call *c, const recurrent *r, const activation *f, step *s) {
  rlx_graph *g = c->g;
  int64_t n = r->hidden;
  rlx_node w_gates = onnx_part(c, s->w, 0, 0, 2 * n), w_new = onnx_part(c, s->w, 0, 2 * n, 3 * n);
  rlx_node both = rlx_op_add(g, onnx_part(c, s->x, 1, 0, 2 * n), rlx_op_matmul_t(g, s->h, w_gates));
  rlx_node z = activate(c, r, &f[0], gate(c, r, both, 0)), reset = activate(c, r, &f[0], gate(c, r, both, 1)), past;
  if (r->linear_before_reset) {
    past = rlx_op_matmul_t(g, s->h, w_new);
    if (s->bias) past = rlx_op_add(g, past, s->bias);
    past = rlx_op_mul(g, reset, past);
  } else {
    past = rlx_op_matmul_t(g, rlx_op_mul(g, reset, s->h), w_new);
    if (s->bias) past = rlx_op_add(g, past, s->bias);
  }
  rlx_node fresh = activate(c, r, &f[1], rlx_op_add(g, gate(c, r, s->x, 2), past));
  s->h = rlx_op_add(g, rlx_op_mul(g, rlx_op_sub(g, onnx_scalar_like(c, z, 1), z), fresh), rlx_op_mul(g, z, s->h));
}

/* The step; a sequence that has ended keeps its states and gives zeros. */
static rlx_node run_step(onnx_call *c, const recurrent *r, int direction, step *s) {
  const activation *f = r->acts[direction];
  rlx_node h = s->h, cell = s->c;
  if (r->kind == LSTM) lstm_step(c, r, f, s);
  else if (r->kind == GRU) gru_step(c, r, f, s);
  else s->h = activate(c, r, &f[0], rlx_op_add(c->g, s->x, rlx_op_matmul_t(c->g, s->h, s->w)));
  if (!s->alive) return s->h;
  rlx_node y = rlx_op_where(c->g, s->alive, s->h, onnx_scalar_like(c, s->h, 0));
  s->h = rlx_op_where(c->g, s->alive, s->h, h);
  if (s->c) s->c = rlx_op_where(c->g, s->alive, s->c, cell);
  return y;
}

/* The body of the scan: its inputs are those of `from`, the scanned ones without their first axis. */
static rlx_status scan_body(onnx_call *c, const recurrent *r, int direction, const step *from, rlx_graph *g) {
  onnx_call inner = *c;
  step s = {0};
  const rlx_node given[] = {from->h, from->c, from->x, from->alive, from->w, from->bias, from->peepholes};
  rlx_node *const to[] = {&s.h, &s.c, &s.x, &s.alive, &s.w, &s.bias, &s.peepholes};
  inner.g = g;
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    char name[8] = {'i', (char)('0' + i)};
    rlx_dims d = onnx_dims(c, given[i]);
    if (!given[i]) continue;
    if (i == 2 || i == 3) {
      for (int k = 1; k < d.n; k++) d.v[k - 1] = d.v[k];
      d.n--;
    }
    *to[i] = rlx_op_input(g, name, rlx_node_dtype(c->g, given[i]), d);
  }
  rlx_node y = run_step(&inner, r, direction, &s);
  rlx_graph_add_output(g, "h", s.h);
  if (s.c) rlx_graph_add_output(g, "c", s.c);
  rlx_graph_add_output(g, "y", y);
  return rlx_graph_finish(g);
}

static rlx_status scan_direction(onnx_call *c, const recurrent *r, int direction, const step *s, rlx_node outs[3]) {
  const rlx_node given[] = {s->h, s->c, s->x, s->alive, s->w, s->bias, s->peepholes};
  rlx_node xs[7], got[3] = {0};
  rlx_graph *body;
  size_t n = 0, carried = s->c ? 2 : 1;
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (given[i]) xs[n++] = given[i];
  RLX_TRY(rlx_graph_status(c->g));
  RLX_TRY(rlx_graph_begin(&body));
  rlx_status status = scan_body(c, r, direction, s, body);
  bool reverse = r->n_directions == 2 ? direction == 1 : r->reverse_first;
  if (!status) rlx_op_scan(c->g, body, (int64_t)carried, s->alive ? 2 : 1, reverse, xs, n, got, carried + 1);
  rlx_graph_destroy(body);
  outs[0] = got[carried], outs[1] = got[0], outs[2] = s->c ? got[1] : RLX_NONE;
  return status;
}

/* ---- step after step ---- */

/* Step t of [steps, batch, ..]. */
static rlx_node at_step(onnx_call *c, rlx_node x, int64_t t) {
  rlx_dims d = onnx_dims(c, x);
  if (!x) return RLX_NONE;
  return onnx_reshape(c, onnx_part(c, x, 0, t, t + 1), RLX_DIMS(d.v[1], d.v[2]));
}

static void write_out_direction(onnx_call *c, const recurrent *r, int direction, step s, rlx_node outs[3]) {
  rlx_node ys[MAX_UNROLLED], x = s.x, alive = s.alive;
  bool reverse = r->n_directions == 2 ? direction == 1 : r->reverse_first;
  for (int64_t i = 0; i < r->steps; i++) {
    int64_t t = reverse ? r->steps - 1 - i : i;
    s.x = at_step(c, x, t);
    s.alive = at_step(c, alive, t);
    ys[t] = onnx_reshape(c, run_step(c, r, direction, &s), RLX_DIMS(1, r->batch, r->hidden));
  }
  outs[0] = r->steps == 1 ? ys[0] : rlx_op_concat(c->g, ys, (size_t)r->steps, 0);
  outs[1] = s.h, outs[2] = s.c;
}

static bool is_unrolled(const onnx_call *c, const recurrent *r) {
  return r->steps > 0 && r->steps <= MAX_UNROLLED && onnx_dtype(c, 0) == RLX_F32;
}

/* Row d of [D, ..]. */
static rlx_node row(onnx_call *c, rlx_node x, int d) {
  rlx_dims shape = onnx_dims(c, x);
  if (!x || shape.n < 1) return RLX_NONE;
  for (int i = 1; i < shape.n; i++) shape.v[i - 1] = shape.v[i];
  shape.n--;
  return onnx_reshape(c, onnx_part(c, x, 0, d, d + 1), shape);
}

/* x W^T + biases for all steps. The recurrent bias of a GRU's new value is separate: the reset gate may multiply it. */
static void prepare(onnx_call *c, const recurrent *r, int d, rlx_node x, step *s) {
  int64_t gates = r->n_gates * r->hidden;
  s->w = row(c, r->recurrent, d);
  s->x = rlx_op_matmul_t(c->g, x, row(c, r->w, d));
  if (!onnx_has(c, 3)) return;
  rlx_node both = row(c, onnx_in(c, 3), d), w = onnx_part(c, both, 0, 0, gates),
           h = onnx_part(c, both, 0, gates, 2 * gates);
  if (r->kind == GRU) {
    s->bias = onnx_part(c, h, 0, 2 * r->hidden, 3 * r->hidden);
    h = rlx_op_pad(c->g, onnx_part(c, h, 0, 0, 2 * r->hidden), RLX_DIMS(0), RLX_DIMS(r->hidden), RLX_PAD_CONSTANT, 0);
  }
  s->x = rlx_op_add(c->g, s->x, rlx_op_add(c->g, w, h));
}

static rlx_node stack(onnx_call *c, const rlx_node *x, int n, int axis) {
  rlx_node parts[2] = {0};
  for (int i = 0; i < n; i++) {
    rlx_dims d = onnx_dims(c, x[i]);
    for (int k = d.n; k > axis; k--) d.v[k] = d.v[k - 1];
    d.v[axis] = 1;
    d.n++;
    parts[i] = onnx_reshape(c, x[i], d);
  }
  return n == 1 ? parts[0] : rlx_op_concat(c->g, parts, (size_t)n, axis);
}

static rlx_status run_scan(onnx_call *c, const recurrent *r, rlx_node x, rlx_node h, rlx_node cell, results *out) {
  rlx_node y[2], last[2], cells[2], got[3], alive = RLX_NONE;
  if (onnx_has(c, 4)) {
    rlx_node t = onnx_reshape(c, rlx_op_range(c->g, 0, 1, r->steps, RLX_I32), RLX_DIMS(r->steps, 1, 1));
    rlx_node lengths = onnx_reshape(c, onnx_cast(c, onnx_in(c, 4), RLX_I32), RLX_DIMS(1, r->batch, 1));
    alive = rlx_op_lt(c->g, t, lengths);
  }
  rlx_dtype dtype = onnx_dtype(c, 0);
  for (int d = 0; d < r->n_directions; d++) {
    step s = {.alive = alive, .h = row(c, h, d), .c = row(c, cell, d), .peepholes = row(c, onnx_in(c, 7), d)};
    if (!s.h) s.h = onnx_fill(c, dtype, RLX_DIMS(r->batch, r->hidden), 0);
    if (!s.c && r->kind == LSTM) s.c = onnx_fill(c, dtype, RLX_DIMS(r->batch, r->hidden), 0);
    prepare(c, r, d, x, &s);
    if (is_unrolled(c, r)) write_out_direction(c, r, d, s, got);
    else RLX_TRY(scan_direction(c, r, d, &s, got));
    y[d] = got[0], last[d] = got[1], cells[d] = got[2];
  }
  out->y = stack(c, y, r->n_directions, 1);
  out->h = stack(c, last, r->n_directions, 0);
  if (r->kind == LSTM) out->c = stack(c, cells, r->n_directions, 0);
  return RLX_OK;
}

/* ---- the ops ---- */

static rlx_node swap_first(onnx_call *c, rlx_node x) { return x ? rlx_op_transpose(c->g, x, RLX_DIMS(1, 0, 2)) : x; }

/* Lengths matter unless all are whole. */
static rlx_status all_whole(onnx_call *c, const recurrent *r, bool *out) {
  onnx_ints v;
  *out = true;
  if (!onnx_has(c, 4)) return RLX_OK;
  rlx_dims d = onnx_shape(c, 4);
  if (d.n != 1 || d.v[0] != r->batch) return RLX_FAIL(RLX_INVALID, "sequence_lens has %d axes", (int)d.n);
  *out = onnx_is_known(c, 4);
  if (!*out) return RLX_OK;
  RLX_TRY(onnx_need_ints(c, 4, &v));
  for (size_t i = 0; i < v.n; i++) *out &= v.v[i] == r->steps;
  return RLX_OK;
}

static rlx_status check_state(onnx_call *c, const recurrent *r, uint32_t i) {
  rlx_dims d = onnx_shape(c, i);
  int64_t a = r->batch_first ? r->batch : r->n_directions, b = r->batch_first ? r->n_directions : r->batch;
  if (!onnx_has(c, i) || (d.n == 3 && d.v[0] == a && d.v[1] == b && d.v[2] == r->hidden)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u does not fit %" PRId64 " sequences of %" PRId64, (unsigned)i, r->batch,
                  r->hidden);
}

/* W and R may be quantised, with a scale and zero point per direction or gate value; stored transposed as [D, I, G
 * H]. */
static rlx_node dequantized(onnx_call *c, uint32_t i, uint32_t scale) {
  rlx_node parts[2] = {onnx_in(c, scale), onnx_in(c, scale + 1)}, w = rlx_op_cast(c->g, onnx_in(c, i), RLX_F32);
  for (int k = 0; k < 2; k++) {
    rlx_dims d = onnx_dims(c, parts[k]);
    if (parts[k])
      parts[k] = onnx_reshape(c, onnx_cast(c, parts[k], RLX_F32), RLX_DIMS(d.v[0], 1, d.n > 1 ? d.v[1] : 1));
  }
  if (parts[1]) w = rlx_op_sub(c->g, w, parts[1]);
  return onnx_transpose_last(c, rlx_op_mul(c->g, w, parts[0]));
}

static rlx_dims shape_of_weight(onnx_call *c, uint32_t i, bool is_quantized) {
  rlx_dims d = onnx_shape(c, i);
  return is_quantized && d.n == 3 ? RLX_DIMS(d.v[0], d.v[2], d.v[1]) : d;
}

static rlx_status recur(onnx_call *c, kind k, bool is_quantized) {
  recurrent r;
  results out = {0};
  bool whole;
  rlx_dims p = onnx_shape(c, 7);
  RLX_TRY(read_recurrent(c, k, shape_of_weight(c, 1, is_quantized), shape_of_weight(c, 2, is_quantized), &r));
  RLX_TRY(all_whole(c, &r, &whole));
  for (uint32_t i = 5; i < 7; i++) RLX_TRY(check_state(c, &r, i));
  if (onnx_has(c, 7) && (p.n != 2 || p.v[0] != r.n_directions || p.v[1] != 3 * r.hidden))
    return RLX_FAIL(RLX_INVALID, "peepholes do not fit %" PRId64 " hidden values", r.hidden);
  r.w = is_quantized ? dequantized(c, 1, 8) : onnx_in(c, 1);
  r.recurrent = is_quantized ? dequantized(c, 2, 10) : onnx_in(c, 2);
  rlx_node x = onnx_in(c, 0), h = onnx_in(c, 5), cell = k == LSTM ? onnx_in(c, 6) : RLX_NONE;
  if (r.batch_first) x = swap_first(c, x), h = swap_first(c, h), cell = swap_first(c, cell);
  if (whole && !is_unrolled(c, &r) && r.has_default_acts && !(r.clip > 0) && !r.input_forget && !onnx_has(c, 7) &&
      r.steps > 0)
    run_native(c, &r, x, h, cell, &out);
  else RLX_TRY(run_scan(c, &r, x, h, cell, &out));
  if (r.batch_first) {
    out.y = rlx_op_transpose(c->g, out.y, RLX_DIMS(2, 0, 1, 3));
    out.h = swap_first(c, out.h), out.c = swap_first(c, out.c);
  }
  if (onnx_wants(c, 0)) RLX_TRY(onnx_set_like(c, 0, out.y, 0));
  if (onnx_wants(c, 1)) RLX_TRY(onnx_set_like(c, 1, out.h, 0));
  return onnx_wants(c, 2) && k == LSTM ? onnx_set_like(c, 2, out.c, 0) : RLX_OK;
}

rlx_status onnx_op_rnn(onnx_call *c) { return recur(c, RNN, false); }
rlx_status onnx_op_gru(onnx_call *c) { return recur(c, GRU, false); }
rlx_status onnx_op_lstm(onnx_call *c) { return recur(c, LSTM, false); }
rlx_status onnx_op_dynamic_quantize_lstm(onnx_call *c) { return recur(c, LSTM, true); }
