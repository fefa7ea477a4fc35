/* Lowers rnn, gru and lstm with any number of layers, in one direction or both.
 *
 * A layer in one direction (a cell, in the order of the weights) consists of
 *   1. the products of all its inputs with w_ih, plus b_ih: one matrix product over all time steps;
 *   2. its initial state as f32;
 *   3. the steps: if the weights of h are small, one dispatch that loops over time with one workgroup per batch row
 *      (recurrent_loop); otherwise one dispatch per step over the whole device (recurrent_step).
 * Layers pass f32 to each other in work memory; only the result is rounded. Each direction of a layer has its own work
 * memory, so a backend may run both concurrently. */
#include "gpu/gpu.h"
#include "gpu/matmul.h"

enum kind { RNN_TANH, RNN_RELU, GRU_AFTER, GRU_BEFORE, LSTM }; /* as in kernels/recurrent.kh */
enum {
  LOOP_WEIGHTS = 65536, /* weights of h that a group may read again each step: 256 KiB stay in cache */
  MAX_STEPS = 65536     /* dispatches per node */
};

typedef struct recurrent {
  enum kind kind;
  uint32_t gates, hidden, layers, directions, steps, batches, n_in;
  int32_t direction; /* forward, reverse, both */
  uint32_t wants;    /* requested result, 0: y; 1: h; 2: c */
  bool batch_first, bias, has_h0, has_c0;
  uint32_t first_weight;
  rlx_dtype type;
} recurrent;

/* The attributes that have the same names in all three ops. */
#define RECURRENT(op_name, kind_, gates_, first_weight_)                                                              \
  {                                                                                                                   \
    .kind = (kind_), .gates = (gates_), .first_weight = (first_weight_),                                              \
    .hidden = (uint32_t)RLX_ATTRS(op_name, l->node)->hidden, .layers = (uint32_t)RLX_ATTRS(op_name, l->node)->layers, \
    .direction = RLX_ATTRS(op_name, l->node)->direction,                                                              \
    .directions = RLX_ATTRS(op_name, l->node)->direction == 2 ? 2 : 1, .bias = RLX_ATTRS(op_name, l->node)->bias,     \
    .batch_first = RLX_ATTRS(op_name, l->node)->batch_first, .wants = (uint32_t)RLX_ATTRS(op_name, l->node)->out      \
  }

static recurrent read_node(const gpu_lowering *l) {
  recurrent r;
  if (l->node->op == RLX_OP_rnn)
    r = (recurrent)RECURRENT(rnn, RLX_ATTRS(rnn, l->node)->act == 1 ? RNN_RELU : RNN_TANH, 1, 2);
  else if (l->node->op == RLX_OP_gru)
    r = (recurrent)RECURRENT(gru, RLX_ATTRS(gru, l->node)->reset_after ? GRU_AFTER : GRU_BEFORE, 3, 2);
  else r = (recurrent)RECURRENT(lstm, LSTM, 4, 3);
  const rlx_type *x = gpu_in_type(l, 0);
  r.steps = (uint32_t)x->shape.v[r.batch_first ? 1 : 0];
  r.batches = (uint32_t)x->shape.v[r.batch_first ? 0 : 1];
  r.n_in = (uint32_t)x->shape.v[2];
  r.type = x->dtype;
  r.has_h0 = gpu_has_in(l, 1);
  r.has_c0 = r.kind == LSTM && gpu_has_in(l, 2);
  return r;
}

static uint32_t lines_of(const recurrent *r) { return r->steps * r->batches; }
static uint32_t state_of(const recurrent *r) { return r->batches * r->hidden; }
static gpu_window f32_work(gpu_lowering *l, uint32_t n) { return gpu_work(l, (uint64_t)n * 4); }

/* Where the final states are written: f32 [cells, B, H]; the result itself if it is f32. */
static gpu_window last_window(gpu_lowering *l, const recurrent *r) {
  if (!r->wants) return (gpu_window){GPU_NONE, 0, 0, 0};
  return r->type == RLX_F32 ? gpu_out(l) : f32_work(l, r->layers * r->directions * state_of(r));
}

/* A cell's weights: w_ih, w_hh, b_ih, b_hh. */
static gpu_window weight(const gpu_lowering *l, const recurrent *r, uint32_t cell, uint32_t which) {
  if (which > 1 && !r->bias) return (gpu_window){GPU_NONE, 0, 0, 0};
  return gpu_in(l, r->first_weight + cell * (r->bias ? 4 : 2) + which);
}

/* ---- the dispatches of a cell ---- */

/* W_ih x + b_ih for all lines: f32 [lines, gates * H]. */
static gpu_window input_products(gpu_lowering *l, const recurrent *r, uint32_t cell, gpu_window x, rlx_dtype x_type,
                                 uint32_t x_size) {
  gpu_product p = {.m = lines_of(r),
                   .n = r->gates * r->hidden,
                   .k = x_size,
                   .trans_b = true,
                   .a_type = x_type,
                   .b_type = r->type,
                   .y_type = RLX_F32,
                   .a = x,
                   .b = weight(l, r, cell, 0),
                   .y = f32_work(l, lines_of(r) * r->gates * r->hidden),
                   .extra = r->bias ? GPU_EXTRA_BIAS : GPU_EXTRA_NONE,
                   .extra_type = r->type,
                   .extra_window = weight(l, r, cell, 2)};
  gpu_product_emit(l, &p);
  return p.y;
}

static void start(gpu_lowering *l, const recurrent *r, uint32_t cell, gpu_window state) {
  gpu_params_recurrent_start p = {.n = state_of(r), .at = cell * state_of(r)};
  gpu_constants_recurrent_start c = {.t = (uint32_t)r->type, .what = 0, .has_h0 = r->has_h0, .has_c0 = r->has_c0};
  gpu_window h0 = gpu_in(l, 1), c0 = r->has_c0 ? gpu_in(l, 2) : (gpu_window){GPU_NONE, 0, 0, 0};
  gpu_emit(
    l, &(gpu_launch){GPU_KERNEL(recurrent_start, p, c), .groups = gpu_ceil_div(p.n, 128), .windows = {h0, c0, state}});
}

/* The windows of a cell's steps. */
typedef struct cell_run {
  uint32_t cell;
  bool reverse;
  gpu_window from_x, state, y, last;
} cell_run;

static uint32_t loop_group(const gpu_caps *caps, const recurrent *r) {
  uint32_t size = 32, max = caps->max_group < 256 ? caps->max_group : 256;
  while (size < max && size < r->gates * r->hidden) size *= 2;
  return size;
}

static bool loops(const gpu_caps *caps, const recurrent *r) {
  uint64_t weights = (uint64_t)r->gates * r->hidden * r->hidden, steps = (uint64_t)r->steps * r->layers * r->directions;
  return r->hidden <= loop_group(caps, r) && (weights <= LOOP_WEIGHTS || steps > MAX_STEPS / 8);
}

static void emit_loop(gpu_lowering *l, const recurrent *r, const cell_run *run) {
  uint32_t rows = r->gates * r->hidden, group = loop_group(l->caps, r);
  gpu_window transposed = f32_work(l, rows * r->hidden);
  gpu_params_recurrent_start transpose = {.n = rows * r->hidden, .rows = rows, .hidden = r->hidden};
  gpu_constants_recurrent_start t = {.t = (uint32_t)r->type, .what = 1, .has_h0 = 0, .has_c0 = 0};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(recurrent_start, transpose, t), .groups = gpu_ceil_div(transpose.n, 128),
                            .windows = {weight(l, r, run->cell, 1), {GPU_NONE, 0, 0, 0}, transposed}});
  gpu_params_recurrent_loop p = {.batches = r->batches,
                                 .steps = r->steps,
                                 .line_step = r->batch_first ? r->steps : 1,
                                 .time_step = r->batch_first ? 1 : r->batches,
                                 .is_reverse = run->reverse,
                                 .last_at = run->cell * state_of(r),
                                 .wants = r->wants};
  gpu_constants_recurrent_loop c = {.t = (uint32_t)r->type,
                                    .kind = r->kind,
                                    .gates = r->gates,
                                    .has_bias = r->bias,
                                    .hidden = r->hidden,
                                    .row_max = rows <= group && r->hidden <= 64 ? r->hidden : 0};
  gpu_emit(
    l, &(gpu_launch){GPU_KERNEL(recurrent_loop, p, c), .groups = r->batches, .group_size = group,
                     .windows = {transposed, weight(l, r, run->cell, 3), run->from_x, run->state, run->y, run->last},
                     .cost = (uint64_t)lines_of(r) * rows * r->hidden * 4});
}

/* Step i of a cell. */
static void emit_step(gpu_lowering *l, const recurrent *r, const cell_run *run, uint32_t i) {
  uint32_t time = run->reverse ? r->steps - 1 - i : i, before = run->reverse ? time + 1 : time - 1;
  uint32_t time_step = r->batch_first ? 1 : r->batches;
  bool is_last = i == r->steps - 1;
  gpu_params_recurrent_step p = {.hidden = r->hidden,
                                 .batches = r->batches,
                                 .line = time * time_step,
                                 .before = i ? before * time_step : 0,
                                 .line_step = r->batch_first ? r->steps : 1,
                                 .is_first = i == 0,
                                 .last_at = run->cell * state_of(r),
                                 .wants = is_last ? r->wants : 0};
  gpu_window last = is_last ? run->last : (gpu_window){GPU_NONE, 0, 0, 0};
  for (uint32_t phase = r->kind == GRU_BEFORE ? 1 : 0, end = phase ? 2 : 0; phase <= end; phase++) {
    gpu_constants_recurrent_step c = {
      .t = (uint32_t)r->type, .kind = r->kind, .gates = r->gates, .phase = phase, .has_bias = r->bias};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(recurrent_step, p, c),
                              .groups = gpu_ceil_div(r->hidden, 4) * gpu_ceil_div(r->batches, 4), .group_size = 128,
                              .windows = {weight(l, r, run->cell, 1), weight(l, r, run->cell, 3), run->from_x, run->y,
                                          run->state, last},
                              .cost = (uint64_t)r->gates * r->hidden * r->hidden * 4});
  }
}

/* ---- the layers ---- */

/* Emits one layer over lines x; returns the window of its y, f32 [lines, directions * H]. */
static gpu_window layer(gpu_lowering *l, const recurrent *r, uint32_t index, gpu_window x, rlx_dtype x_type,
                        uint32_t x_size, gpu_window last) {
  bool is_result = index == r->layers - 1 && !r->wants;
  bool straight = r->directions == 1 && is_result && r->type == RLX_F32; /* y is written directly */
  cell_run runs[2];
  for (uint32_t i = 0; i < r->directions; i++) {
    cell_run *run = &runs[i];
    *run = (cell_run){.cell = index * r->directions + i, .reverse = r->direction == 1 || i == 1, .last = last};
    run->from_x = input_products(l, r, run->cell, x, x_type, x_size);
    run->state = f32_work(l, 4 * state_of(r));
    run->y = straight ? gpu_out(l) : f32_work(l, lines_of(r) * r->hidden);
    start(l, r, run->cell, run->state);
  }
  if (loops(l->caps, r)) {
    for (uint32_t i = 0; i < r->directions; i++) emit_loop(l, r, &runs[i]);
  } else {
    for (uint32_t t = 0; t < r->steps && !gpu_failed(l); t++)
      for (uint32_t i = 0; i < r->directions; i++) emit_step(l, r, &runs[i], t);
  }
  if (r->directions == 1) {
    if (is_result && !straight) gpu_convert(l, runs[0].y, RLX_F32, gpu_out(l), r->type, lines_of(r) * r->hidden);
    return runs[0].y;
  }
  gpu_params_recurrent_pack p = {.n = 2 * lines_of(r) * r->hidden, .hidden = r->hidden};
  gpu_constants_recurrent_pack c = {.t_y = is_result ? (uint32_t)r->type : (uint32_t)RLX_F32};
  gpu_window y = is_result ? gpu_out(l) : f32_work(l, p.n);
  gpu_emit(l,
           &(gpu_launch){GPU_KERNEL(recurrent_pack, p, c),
                         .groups = gpu_ceil_div(gpu_ceil_div(p.n, is_result ? gpu_elements_per_word(r->type) : 1), 128),
                         .windows = {runs[0].y, runs[1].y, y}});
  return y;
}

/* A sequence without steps: the final states are the initial ones. */
static void lower_no_steps(gpu_lowering *l, const recurrent *r) {
  uint32_t n = r->layers * r->directions * state_of(r);
  gpu_params_recurrent_start p = {.n = n};
  gpu_constants_recurrent_start c = {.t = (uint32_t)r->type, .what = 0, .has_h0 = r->has_h0, .has_c0 = r->has_c0};
  gpu_window both = f32_work(l, 2 * n + GPU_ALIGN), h0 = gpu_in(l, 1);
  gpu_window c0 = r->has_c0 ? gpu_in(l, 2) : (gpu_window){GPU_NONE, 0, 0, 0};
  if (r->wants == 2) { /* swap h and c: only the first is copied to the result */
    gpu_window was = h0;
    h0 = c0, c0 = was;
    c.has_h0 = r->has_c0, c.has_c0 = r->has_h0;
  }
  gpu_emit(l,
           &(gpu_launch){GPU_KERNEL(recurrent_start, p, c), .groups = gpu_ceil_div(n, 128), .windows = {h0, c0, both}});
  gpu_convert(l, gpu_part(both, 0, (uint64_t)n * 4), RLX_F32, gpu_out(l), r->type, n);
}

void gpu_lower_recurrent(gpu_lowering *l) {
  if (gpu_count(gpu_out_type(l)) == 0) return;
  recurrent r = read_node(l);
  if (r.steps == 0) {
    lower_no_steps(l, &r);
    return;
  }
  if (!loops(l->caps, &r) && (uint64_t)r.steps * r.layers * r.directions > MAX_STEPS) {
    gpu_refuse(l, "a sequence too long for so large a hidden state");
    return;
  }
  gpu_window x = gpu_in(l, 0), last = last_window(l, &r);
  rlx_dtype x_type = r.type;
  uint32_t x_size = r.n_in;
  for (uint32_t i = 0; i < r.layers; i++) {
    x = layer(l, &r, i, x, x_type, x_size, last);
    x_type = RLX_F32;
    x_size = r.directions * r.hidden;
  }
  if (r.wants && r.type != RLX_F32)
    gpu_convert(l, last, RLX_F32, gpu_out(l), r.type, r.layers * r.directions * state_of(&r));
}
