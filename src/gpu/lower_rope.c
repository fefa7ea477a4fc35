/* Lowers rotary position embeddings: rope, axial_rope_2d, and updates that rotate their rows.
 *
 * Frequencies become fixed-point fractions of a revolution in a table (kernels/angles.kh explains why). axial_rope_2d
 * is rope on twice as many heads of half the size, with positions from a grid. */
#include <math.h>

#include "base/mem.h"
#include "base/status.h"
#include "gpu/lines.h"
#include "gpu/move.h"
#include "gpu/rope.h"
#include "ir/definitions.h"

enum { X, POSITIONS, OFFSET, FACTORS, COSINES, SINES, GAMMA }; /* inputs of rope */

typedef struct rope {
  uint32_t batches, heads, tokens, d, n_rot;
  bool positions_first, is_gptj;
  rlx_dtype type;
  double theta;
  uint32_t positions, angles, width; /* modes, as in the kernel */
  rlx_dtype index_type;
} rope;

static rope read_heads(const gpu_lowering *l, uint32_t input, int32_t layout, int32_t style, double theta) {
  const rlx_type *x = gpu_in_type(l, input);
  bool positions_first = layout == RLX_LAYOUT_BSHD;
  return (rope){.batches = (uint32_t)x->shape.v[0],
                .tokens = (uint32_t)x->shape.v[positions_first ? 1 : 2],
                .heads = (uint32_t)x->shape.v[positions_first ? 2 : 1],
                .d = (uint32_t)x->shape.v[3],
                .positions_first = positions_first,
                .is_gptj = style == RLX_ROPE_GPTJ,
                .type = x->dtype,
                .theta = theta,
                .width = 1,
                .index_type = RLX_I32};
}

gpu_window gpu_rope_turns(gpu_lowering *l, uint32_t pairs, double theta) {
  uint32_t *words = rlx_mem_alloc(3 * sizeof *words * (size_t)pairs);
  if (!words) {
    l->status = RLX_FAIL(RLX_NO_MEMORY, "frequencies of %u pairs", (unsigned)pairs);
    return (gpu_window){GPU_NONE, 0, 0, 0};
  }
  for (uint32_t i = 0; i < pairs; i++) {
    double revolutions = rlx_rope_frequency(theta, i, pairs) / (2 * 3.14159265358979323846);
    double whole = floor(revolutions), rest = (revolutions - whole) * 4294967296.0, high = floor(rest);
    words[3 * i] = (uint32_t)(int64_t)fmod(whole, 4294967296.0);
    words[3 * i + 1] = (uint32_t)high;
    words[3 * i + 2] = (uint32_t)((rest - high) * 4294967296.0);
  }
  gpu_window table = gpu_table(l, words, 3 * pairs);
  rlx_mem_free(words);
  return table;
}

static bool is_in_16_bytes(const rope *r) {
  uint32_t size = (uint32_t)rlx_dtype_size(r->type), part = r->is_gptj ? r->n_rot : r->n_rot / 2;
  return r->d * size % 16 == 0 && r->n_rot * size % 16 == 0 && part * size % 16 == 0;
}

static void emit(gpu_lowering *l, const rope *r) {
  uint32_t rows = r->batches * r->heads * r->tokens, per_word = gpu_elements_per_word(r->type);
  gpu_window table = {GPU_NONE, 0, 0, 0};
  if (r->angles < 2) table = gpu_rope_turns(l, r->n_rot / 2, r->theta);
  gpu_params_rope p = {.n = rows * r->d,
                       .d = r->d,
                       .n_rot = r->n_rot,
                       .heads = r->heads,
                       .tokens = r->tokens,
                       .head_rows = r->positions_first ? 1 : r->tokens,
                       .token_rows = r->positions_first ? r->heads : 1,
                       .width = r->width,
                       .heads_each = 1};
  if (r->angles == 2) p.table_rows = (uint32_t)gpu_in_type(l, COSINES)->shape.v[0];
  gpu_constants_rope c = {.t = (uint32_t)r->type,
                          .t_index = (uint32_t)r->index_type,
                          .positions = r->positions,
                          .angles = r->angles,
                          .is_gptj = r->is_gptj};
  gpu_window factors = r->angles == 0 ? table : gpu_in(l, r->angles == 1 ? FACTORS : COSINES);
  gpu_launch launch = {GPU_KERNEL(rope, p, c), .groups = gpu_ceil_div(gpu_ceil_div(p.n, per_word), 128),
                       .windows = {gpu_in(l, X), gpu_in(l, r->positions == 1 ? OFFSET : POSITIONS), factors,
                                   gpu_in(l, SINES), table, gpu_out(l)}};
  if (is_in_16_bytes(r)) {
    uint32_t per = 4 * per_word, units = (r->is_gptj ? r->d : r->d - r->n_rot / 2) / per;
    /* One angle serves several heads if enough invocations remain to fill the device. */
    while (r->positions != 4 && p.heads_each < 8 &&
           (uint64_t)rows * units / p.heads_each > (uint64_t)gpu_tuned(l->caps)->rope_invocations * l->caps->units)
      p.heads_each *= 2;
    p.n = r->batches * r->tokens * gpu_ceil_div(r->heads, p.heads_each) * units;
    launch.kernel = &gpu_kernel_rope4;
    launch.groups = gpu_ceil_div(p.n, 128);
    gpu_in_place(l, X);
  }
  gpu_emit(l, &launch);
}

/* ---- with a norm, or into a state ---- */

typedef struct rotated_rows {
  gpu_window x, positions, factors, sines, gamma, at_window;
  bool norm;
  double eps;
  uint32_t capacity, limit; /* of a state; 0: the result has the shape of x */
  const rlx_type *at;
} rotated_rows;

enum { MAX_LANES = 32, MAX_UNITS = 4 * MAX_LANES }; /* limits of rotate_rows */

static uint32_t units_of(const rope *r) { return r->n_rot / (r->is_gptj ? 4 : 8) + (r->d - r->n_rot) / 4; }

static bool fits_rotate_rows(const rope *r, const rotated_rows *t) {
  return r->type == RLX_F32 && is_in_16_bytes(r) && units_of(r) <= MAX_UNITS && (!t->norm || t->eps >= 1e-30);
}

static void emit_rotate_rows(gpu_lowering *l, const rope *r, const rotated_rows *t) {
  uint32_t units = units_of(r), lanes = gpu_power_of_two(units < MAX_LANES ? units : MAX_LANES), group = 128;
  gpu_window table = {GPU_NONE, 0, 0, 0};
  if (r->angles < 2) table = gpu_rope_turns(l, r->n_rot / 2, r->theta);
  gpu_params_rotate_rows p = {.n = r->batches * r->heads * r->tokens,
                              .d = r->d,
                              .n_rot = r->n_rot,
                              .heads = r->heads,
                              .tokens = r->tokens,
                              .head_rows = r->positions_first ? 1 : r->tokens,
                              .token_rows = r->positions_first ? r->heads : 1,
                              .width = r->width,
                              .heads_each = 1,
                              .eps = (float)t->eps,
                              .capacity = t->capacity,
                              .limit = t->limit,
                              .per_at = t->at && gpu_count(t->at) > 1};
  if (r->angles == 2) p.table_rows = (uint32_t)gpu_in_type(l, COSINES)->shape.v[0];
  gpu_constants_rotate_rows c = {.t = (uint32_t)r->type,
                                 .t_index = (uint32_t)r->index_type,
                                 .positions = r->positions,
                                 .angles = r->angles,
                                 .is_gptj = r->is_gptj,
                                 .lanes = lanes,
                                 .per = gpu_ceil_div(units, lanes),
                                 .norm = t->norm,
                                 .gamma = t->gamma.from != GPU_NONE,
                                 .placed = t->at != NULL,
                                 .at_t = t->at ? (uint32_t)t->at->dtype : RLX_I32,
                                 .to = (uint32_t)gpu_out_type(l)->dtype};
  gpu_emit(l,
           &(gpu_launch){GPU_KERNEL(rotate_rows, p, c), .groups = gpu_ceil_div(p.n, group / lanes), .group_size = group,
                         .windows = {t->x, t->positions, r->angles == 0 ? table : t->factors, t->sines, table,
                                     gpu_out(l), t->gamma, t->at_window}});
}

static void normed(gpu_lowering *l, const rope *r, double eps) {
  rotated_rows t = {.x = gpu_in(l, X),
                    .positions = gpu_in(l, r->positions == 1 ? OFFSET : POSITIONS),
                    .factors = gpu_in(l, r->angles == 1 ? FACTORS : COSINES),
                    .sines = gpu_in(l, SINES),
                    .gamma = gpu_in(l, GAMMA),
                    .norm = true,
                    .eps = eps};
  if (!fits_rotate_rows(r, &t)) gpu_refuse(l, "a norm and rope of heads that are not f32 in whole vectors");
  gpu_in_place(l, X);
  emit_rotate_rows(l, r, &t);
}

/* The result aliases the state: the planner always places an update in place. */
void gpu_lower_rope_update(gpu_lowering *l) {
  enum { STATE, ROWS, AT, UPDATE_POSITIONS, UPDATE_FACTORS, UPDATE_GAMMA };
  const rlx_attrs_fused_rope_update *attrs = RLX_ATTRS(fused_rope_update, l->node);
  gpu_in_place(l, STATE);
  if (gpu_count(gpu_in_type(l, ROWS)) == 0) return;
  rope r = read_heads(l, ROWS, RLX_LAYOUT_BSHD, attrs->style, attrs->theta);
  r.n_rot = attrs->n_rot ? (uint32_t)attrs->n_rot : r.d;
  r.positions = 5; /* the positions where the rows are written */
  if (gpu_has_in(l, UPDATE_POSITIONS)) {
    r.positions = gpu_in_type(l, UPDATE_POSITIONS)->shape.n == 2 ? 3 : 2;
    r.index_type = gpu_in_type(l, UPDATE_POSITIONS)->dtype;
  }
  r.angles = gpu_has_in(l, UPDATE_FACTORS);
  uint32_t capacity = (uint32_t)gpu_out_type(l)->shape.v[1];
  rotated_rows t = {.x = gpu_in(l, ROWS),
                    .positions = gpu_in(l, UPDATE_POSITIONS),
                    .factors = gpu_in(l, UPDATE_FACTORS),
                    .gamma = gpu_in(l, UPDATE_GAMMA),
                    .at_window = gpu_in(l, AT),
                    .norm = attrs->norm,
                    .eps = attrs->eps,
                    .capacity = capacity,
                    .limit = capacity - r.tokens,
                    .at = gpu_in_type(l, AT)};
  if (fits_rotate_rows(&r, &t)) emit_rotate_rows(l, &r, &t);
  else gpu_refuse(l, "a rope update of rows that are not f32 in whole vectors");
}

/* ---- the ops ---- */

/* Reads x and the inputs that give its positions. */
static rope read_rope(const gpu_lowering *l, int32_t layout, int32_t style, double theta, int64_t n_rot) {
  rope r = read_heads(l, X, layout, style, theta);
  r.n_rot = n_rot ? (uint32_t)n_rot : r.d;
  if (gpu_has_in(l, POSITIONS)) {
    r.positions = gpu_in_type(l, POSITIONS)->shape.n == 2 ? 3 : 2;
    r.index_type = gpu_in_type(l, POSITIONS)->dtype;
  } else if (gpu_has_in(l, OFFSET)) {
    r.positions = 1;
  }
  r.angles = gpu_has_in(l, COSINES) ? 2 : gpu_has_in(l, FACTORS) ? 1 : 0;
  return r;
}

void gpu_lower_rope(gpu_lowering *l) {
  const rlx_attrs_rope *a = RLX_ATTRS(rope, l->node);
  if (gpu_count(gpu_out_type(l)) == 0) return;
  rope r = read_rope(l, a->layout, a->style, a->theta, a->n_rot);
  emit(l, &r);
}

void gpu_lower_norm_rope(gpu_lowering *l) {
  const rlx_attrs_fused_norm_rope *a = RLX_ATTRS(fused_norm_rope, l->node);
  if (gpu_count(gpu_out_type(l)) == 0) return;
  rope r = read_rope(l, a->layout, a->style, a->theta, a->n_rot);
  normed(l, &r, a->eps);
}

void gpu_lower_axial_rope(gpu_lowering *l) {
  const rlx_attrs_axial_rope_2d *attrs = RLX_ATTRS(axial_rope_2d, l->node);
  if (gpu_count(gpu_out_type(l)) == 0) return;
  rope r = read_heads(l, X, attrs->layout, attrs->style, attrs->theta);
  r.d /= 2;
  r.n_rot = r.d;
  if (!r.positions_first) { /* [B H, S, 2, D / 2] */
    r.batches *= r.heads;
    r.heads = 1;
    r.positions_first = true;
  }
  r.heads *= 2;
  r.positions = 4;
  r.width = attrs->width < r.tokens ? (uint32_t)attrs->width : r.tokens;
  emit(l, &r);
}
