/* Recurrent networks: rnn, gru and lstm, with PyTorch's equations.
 *
 * One loop over layers, directions, batches and time serves all three. A cell is a function that takes the two products
 * of a step (input and hidden, biases added) and updates the state. Between layers values stay f64; only the result is
 * rounded. */
#include <math.h>

#include "base/arith.h"
#include "ref/ref.h"

/* ---- one step ---- */

typedef struct weights {
  const rlx_tensor *w_ih, *w_hh, *b_ih, *b_hh; /* the biases may be NULL */
} weights;

typedef struct step {
  weights w;
  size_t n_hidden;
  double *from_x, *from_h; /* W_ih x + b_ih and W_hh h + b_hh, gate after gate; a cell may overwrite them */
  double *h, *c;           /* the state, updated by the cell */
  bool relu, reset_after;
  rlx_ref_call *call; /* for rlx_ref_continues */
} step;

typedef void (*cell_fn)(step *s);

/* Row `row` of w times v, plus its bias. */
static double product(rlx_ref_call *c, const rlx_tensor *w, const rlx_tensor *bias, size_t row, const double *v) {
  size_t n = (size_t)w->shape.v[1];
  double sum = bias ? rlx_load(bias, row) : 0;
  RLX_REF_EACH(c, i, n) sum += rlx_load(w, row * n + i) * v[i];
  return sum;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void rnn_cell(step *s) {
  for (size_t i = 0; i < s->n_hidden; i++) {
    double x = s->from_x[i] + s->from_h[i];
    s->h[i] = !s->relu ? tanh(x) : x < 0 ? 0 : x;
  }
}

/* Gates r, z, n. Where the reset gate comes before the product, that product is of r * h and is computed here. */
static void gru_cell(step *s) {
  size_t n = s->n_hidden;
  double *r = s->from_h, *z = s->from_h + n, *new_h = s->from_x + 2 * n;
  for (size_t i = 0; i < 2 * n; i++) s->from_h[i] = sigmoid(s->from_x[i] + s->from_h[i]);
  if (s->reset_after) {
    for (size_t i = 0; i < n; i++) new_h[i] = tanh(new_h[i] + r[i] * s->from_h[2 * n + i]);
  } else {
    for (size_t i = 0; i < n; i++) r[i] *= s->h[i];
    for (size_t i = 0; i < n && rlx_ref_continues(s->call, 1); i++)
      new_h[i] = tanh(new_h[i] + product(s->call, s->w.w_hh, s->w.b_hh, 2 * n + i, r));
  }
  for (size_t i = 0; i < n; i++) s->h[i] = (1 - z[i]) * new_h[i] + z[i] * s->h[i];
}

/* Gates i, f, g, o. */
static void lstm_cell(step *s) {
  size_t n = s->n_hidden;
  for (size_t k = 0; k < n; k++) {
    double in = sigmoid(s->from_x[k] + s->from_h[k]), forget = sigmoid(s->from_x[n + k] + s->from_h[n + k]);
    double candidate = tanh(s->from_x[2 * n + k] + s->from_h[2 * n + k]),
           out = sigmoid(s->from_x[3 * n + k] + s->from_h[3 * n + k]);
    s->c[k] = forget * s->c[k] + in * candidate;
    s->h[k] = out * tanh(s->c[k]);
  }
}

/* ---- the loop over layers and time ---- */

typedef enum recurrent_out { OUT_Y, OUT_H, OUT_C } recurrent_out;
typedef enum direction { FORWARD, REVERSE, BOTH } direction;

/* The attributes and shapes of the three ops in one form. */
typedef struct recurrent {
  cell_fn cell;
  size_t gates, hidden, layers, directions, steps, batches;
  direction direction;
  recurrent_out out;
  bool batch_first, bias;
  const rlx_tensor *h0, *c0;
  uint32_t first_weight;
} recurrent;

static weights weights_of(const rlx_ref_call *c, const recurrent *r, size_t cell) {
  const rlx_tensor *const *w = c->in + r->first_weight + cell * (r->bias ? 4 : 2);
  return (weights){w[0], w[1], r->bias ? w[2] : NULL, r->bias ? w[3] : NULL};
}

static void load_state(double *to, const rlx_tensor *from, size_t at, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = from ? rlx_load(from, at + i) : 0;
}

static void store_state(rlx_ref_call *c, size_t at, const double *from, size_t n) {
  RLX_REF_EACH(c, i, n) rlx_store(c->out, at + i, from[i]);
}

/* One layer in one direction: reads lines x of x_size, writes its part of lines y of directions * hidden. A line is one
 * time step of a batch element, in the order of the op's x. */
static void run_direction(rlx_ref_call *c, const recurrent *r, size_t cell, step *s, const double *x, size_t x_size,
                          double *y) {
  size_t rows = r->gates * r->hidden, in_layer = cell % r->directions;
  bool backwards = r->direction == REVERSE || in_layer == 1;
  s->w = weights_of(c, r, cell);
  for (size_t batch = 0; batch < r->batches && rlx_ref_continues(c, r->hidden); batch++) {
    size_t state_at = (cell * r->batches + batch) * r->hidden;
    load_state(s->h, r->h0, state_at, r->hidden);
    load_state(s->c, r->c0, state_at, r->hidden);
    for (size_t i = 0; i < r->steps && rlx_ref_continues(c, rows); i++) {
      size_t time = backwards ? r->steps - 1 - i : i;
      size_t line = r->batch_first ? batch * r->steps + time : time * r->batches + batch;
      for (size_t row = 0; row < rows && rlx_ref_continues(c, 1); row++) {
        s->from_x[row] = product(c, s->w.w_ih, s->w.b_ih, row, x + line * x_size);
        s->from_h[row] = product(c, s->w.w_hh, s->w.b_hh, row, s->h);
      }
      r->cell(s);
      memcpy(y + (line * r->directions + in_layer) * r->hidden, s->h, r->hidden * sizeof *y);
    }
    if (r->out == OUT_H) store_state(c, state_at, s->h, r->hidden);
    if (r->out == OUT_C) store_state(c, state_at, s->c, r->hidden);
  }
}

static rlx_status run_recurrent(rlx_ref_call *c, const recurrent *r, step s) {
  const rlx_tensor *input = c->in[0];
  size_t lines, y_count, x_size = (size_t)input->shape.v[2], y_size = r->directions * r->hidden;
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  if (!rlx_mul_size(r->steps, r->batches, &lines) || !rlx_mul_size(lines, y_size, &y_count))
    return RLX_FAIL(RLX_NO_MEMORY, "%zu steps of %zu batches", r->steps, r->batches);
  double *x, *y;
  RLX_TRY(rlx_ref_scratch(c, lines * x_size, sizeof *x, &x));
  RLX_REF_EACH(c, i, lines * x_size) x[i] = rlx_load(input, i);
  s.n_hidden = r->hidden;
  s.call = c;
  RLX_TRY(rlx_ref_scratch(c, r->gates * r->hidden, sizeof *s.from_x, &s.from_x));
  RLX_TRY(rlx_ref_scratch(c, r->gates * r->hidden, sizeof *s.from_h, &s.from_h));
  RLX_TRY(rlx_ref_scratch(c, r->hidden, sizeof *s.h, &s.h));
  RLX_TRY(rlx_ref_scratch(c, r->hidden, sizeof *s.c, &s.c));
  for (size_t layer = 0; layer < r->layers; layer++) {
    RLX_TRY(rlx_ref_scratch(c, y_count, sizeof *y, &y));
    for (size_t i = 0; i < r->directions; i++) run_direction(c, r, layer * r->directions + i, &s, x, x_size, y);
    x = y;
    x_size = y_size;
  }
  if (r->out == OUT_Y) store_state(c, 0, x, y_count);
  return RLX_OK;
}

/* ---- the three ops ---- */

/* The attributes that all three have under the same names. */
#define RECURRENT(op_name, cell_, gates_, first_weight_)                                                     \
  {                                                                                                          \
    .cell = (cell_), .gates = (gates_), .first_weight = (first_weight_),                                     \
    .hidden = (size_t)RLX_ATTRS(op_name, c)->hidden, .layers = (size_t)RLX_ATTRS(op_name, c)->layers,        \
    .direction = (direction)RLX_ATTRS(op_name, c)->direction,                                                \
    .directions = RLX_ATTRS(op_name, c)->direction == BOTH ? 2 : 1, .bias = RLX_ATTRS(op_name, c)->bias,     \
    .batch_first = RLX_ATTRS(op_name, c)->batch_first, .out = (recurrent_out)RLX_ATTRS(op_name, c)->out,     \
    .steps = (size_t)c->in[0]->shape.v[RLX_ATTRS(op_name, c)->batch_first ? 1 : 0],                          \
    .batches = (size_t)c->in[0]->shape.v[RLX_ATTRS(op_name, c)->batch_first ? 0 : 1], .h0 = rlx_ref_in(c, 1) \
  }

rlx_status rlx_ref_rnn(rlx_ref_call *c) {
  recurrent r = RECURRENT(rnn, rnn_cell, 1, 2);
  return run_recurrent(c, &r, (step){.relu = RLX_ATTRS(rnn, c)->act == 1});
}

rlx_status rlx_ref_gru(rlx_ref_call *c) {
  recurrent r = RECURRENT(gru, gru_cell, 3, 2);
  return run_recurrent(c, &r, (step){.reset_after = RLX_ATTRS(gru, c)->reset_after});
}

rlx_status rlx_ref_lstm(rlx_ref_call *c) {
  recurrent r = RECURRENT(lstm, lstm_cell, 4, 3);
  r.c0 = rlx_ref_in(c, 2);
  return run_recurrent(c, &r, (step){0});
}
