/* Matrix products with a weight of a block type: which kernel makes them.
 *
 *   up to eight rows of x   quant_matvec: the weight [n, k] in planes, bound by its bytes; experts as well, row by row
 *   else                    the weight is decoded, and the product is a dense one (matmul.h)
 *
 * By default x may be rounded to 8 bits by runs of 16, where the device multiplies bytes by fours; with `exact`, and where the
 * weight is small, it stays f32: a small weight takes next to no time, and with few results the error of their whole is no
 * average, but may be that of one unlucky sum. That is decided by the weight alone, so that a row's result does not depend on
 * how many rows there are. */
#include "gpu/matmul_plan.h"
#include "gpu/quant.h"

enum {
  MOST_ROWS = 8,        /* of x that go over the weight at once */
  ROUND_FROM = 1 << 15, /* elements of a weight */
  ROUND_IN_PLACE =
    2, /* up to so many rows of x every group rounds them for itself: a dispatch of its own takes longer */
  GROUP = 128,
  INVOCATIONS = 1024, /* per multiprocessor that keep its memory busy */
};

/* One product of an input with a weight, or with two (gate and up). */
typedef struct product {
  uint32_t m, n, k;
  uint32_t w, v; /* inputs; v 0: one weight */
  gpu_window x, y;
  uint32_t extra; /* as quant_matvec.k has it */
  gpu_window extra_window;
  int32_t act;
  const rlx_type *idx; /* experts; NULL: none */
  gpu_window idx_window;
  uint32_t experts;
} product;

/* ---- the weight ---- */

typedef struct planes {
  gpu_window wide, narrow; /* of whole vectors of 16 bytes, and the rest */
  uint32_t a1, a2, b1;     /* quant_units.kh */
} planes;

static planes open_planes(const gpu_lowering *l, uint32_t input) {
  const rlx_type *t = gpu_in_type(l, input);
  const gpu_plane *plane = gpu_planes_of(t->dtype);
  uint32_t n_blocks = gpu_blocks(t), n_wide = 1;
  while (n_wide < GPU_MAX_PLANES && plane[n_wide].bytes && plane[n_wide].bytes % 16 == 0) n_wide++;
  uint64_t start[GPU_MAX_PLANES + 1];
  for (uint32_t i = 0; i <= GPU_MAX_PLANES; i++) start[i] = gpu_plane_start(t->dtype, n_blocks, i);
  uint64_t split = start[n_wide], end = start[GPU_MAX_PLANES];
  planes p = {.wide = gpu_part(gpu_in(l, input), 0, split)};
  if (end > split) p.narrow = gpu_part(gpu_in(l, input), split, end - split);
  if (n_wide > 1) p.a1 = (uint32_t)(start[1] / 16);
  if (n_wide > 2) p.a2 = (uint32_t)(start[2] / 16);
  if (n_wide + 1 < GPU_MAX_PLANES) p.b1 = (uint32_t)((start[n_wide + 1] - split) / 4);
  return p;
}

static uint32_t unit_elements(rlx_dtype t) { /* per 16 bytes of codes */
  return 16 * rlx_dtype_describe(t)->block_elements / gpu_planes_of(t)[0].bytes;
}

/* Codes whose high bits lie in another plane: more registers for each row. */
static bool has_high_bits(rlx_dtype t) { return t == RLX_Q3_K || t == RLX_Q5_K || t == RLX_Q6_K; }

/* ---- few rows of x ---- */

static bool takes_matvec(const gpu_lowering *l, const product *p, bool trans_b) {
  rlx_dtype t = gpu_in_type(l, p->w)->dtype;
  bool same = !p->v || (gpu_in_type(l, p->v)->dtype == t && gpu_in_planes(l, p->v));
  return trans_b && gpu_in_planes(l, p->w) && same && t != RLX_TQ1_0 && (p->idx || p->m <= MOST_ROWS);
}

typedef struct matvec_shape {
  uint32_t mode, rows, cols, lanes, group;
} matvec_shape;

static matvec_shape choose_shape(const gpu_lowering *l, const product *p) {
  rlx_dtype t = gpu_in_type(l, p->w)->dtype;
  uint32_t m = p->idx ? 1 : p->m, units = p->k / unit_elements(t), width;
  matvec_shape s = {.group = GROUP, .cols = m <= 2 ? m : m <= 4 ? 4 : 8};
  bool rounds = !l->exact && l->caps->has_dot8 && (uint64_t)p->n * p->k >= ROUND_FROM;
  s.mode = !rounds ? 0 : m <= ROUND_IN_PLACE ? 1 : 2;
  s.rows = s.cols > 1 || has_high_bits(t) ? 4 : 8;
  width = p->v ? s.rows / 2 : s.rows;
  /* As many lanes as keep the device busy, while there is work for them. */
  uint64_t sets = (uint64_t)gpu_ceil_div(p->n, width) * gpu_ceil_div(p->m, s.cols);
  for (s.lanes = 32; s.lanes > 4 && s.lanes / 2 >= units;) s.lanes /= 2;
  while (s.lanes < s.group && s.lanes < units && sets * s.lanes < (uint64_t)l->caps->units * INVOCATIONS) s.lanes *= 2;
  return s;
}

/* x rounded, for MODE 2: what quant_rows writes. *runs: where the rounded runs begin, in vectors. */
static gpu_window round_rows(gpu_lowering *l, const product *p, uint32_t *runs) {
  gpu_params_quant_rows params = {.count = p->m * (p->k / 16)};
  gpu_window to = gpu_work(l, (uint64_t)params.count * 96);
  *runs = 4 * params.count;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL0(quant_rows, params), .groups = gpu_ceil_div(params.count, GROUP),
                            .group_size = GROUP, .windows = {p->x, to}});
  return to;
}

static void emit_matvec(gpu_lowering *l, const product *p) {
  matvec_shape s = choose_shape(l, p);
  planes w = open_planes(l, p->w), v = {0};
  if (p->v) v = open_planes(l, p->v);
  uint32_t sums = s.rows * s.cols, width = p->v ? s.rows / 2 : s.rows, sets = s.group / s.lanes;
  uint32_t meet = l->caps->subgroup ? (l->caps->subgroup < s.lanes ? l->caps->subgroup : s.lanes) : 1;
  gpu_params_quant_matvec params = {.m = p->m,
                                    .n = p->n,
                                    .k = p->k,
                                    .tiles = gpu_ceil_div(p->n, sets * width),
                                    .a1 = w.a1,
                                    .a2 = w.a2,
                                    .b1 = w.b1,
                                    .experts = p->experts,
                                    .two_23 = 0x4b000000};
  gpu_window x = s.mode == 2 ? round_rows(l, p, &params.runs) : p->x;
  uint32_t c[] = {(uint32_t)gpu_in_type(l, p->w)->dtype,
                  s.rows,
                  s.cols,
                  s.lanes,
                  s.group / meet * sums,
                  s.mode,
                  p->v != 0,
                  p->extra,
                  (uint32_t)p->act,
                  p->idx ? (uint32_t)p->idx->dtype : 0};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(quant_matvec, params, c),
                            .groups = params.tiles * gpu_ceil_div(p->m, p->idx ? 1 : s.cols), .group_size = s.group,
                            .windows = {w.wide, w.narrow, x, p->extra_window, p->idx_window, v.wide, v.narrow, p->y}});
}

/* ---- the ops ---- */

/* A dense product whose right side is this weight, decoded. */
static void decode_right_side(gpu_lowering *l, uint32_t w, gpu_product *p) {
  p->b_type = gpu_in_type(l, w)->dtype;
  p->b = gpu_in(l, w);
  if (!rlx_dtype_is_block(p->b_type)) return;
  p->b_type = RLX_F32;
  p->b = gpu_work(l, (uint64_t)gpu_count(gpu_in_type(l, w)) * 4);
  gpu_decode(l, w, p->b_type, p->b);
}

static product few_rows(const gpu_product *p, uint32_t w) {
  return (product){.m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .w = w,
                   .x = p->a,
                   .y = p->y,
                   .extra = p->extra == GPU_EXTRA_BIAS,
                   .extra_window = p->extra_window,
                   .act = (int32_t)p->act};
}

static void emit_product(gpu_lowering *l, gpu_product *p) {
  product few = few_rows(p, 1);
  if (p->m == 0 || p->n == 0 || gpu_product_batches(p) == 0) return;
  if (p->n_axes == 0 && takes_matvec(l, &few, p->trans_b)) {
    emit_matvec(l, &few);
    return;
  }
  decode_right_side(l, 1, p);
  gpu_product_emit(l, p);
}

void gpu_lower_matmul_blocks(gpu_lowering *l) {
  gpu_wish_planes(l, 1);
  bool is_fused = l->node->op == RLX_OP_fused_matmul_bias_act;
  bool trans_b = is_fused ? RLX_ATTRS(fused_matmul_bias_act, l->node)->trans_b : RLX_ATTRS(matmul, l->node)->trans_b;
  gpu_product p = gpu_product_of(l, 0, 1, trans_b);
  if (is_fused) p.act = (rlx_act)RLX_ATTRS(fused_matmul_bias_act, l->node)->act;
  if (is_fused && gpu_has_in(l, 2)) {
    p.extra = GPU_EXTRA_BIAS;
    p.extra_type = gpu_in_type(l, 2)->dtype;
    p.extra_window = gpu_in(l, 2);
  }
  emit_product(l, &p);
}

void gpu_lower_gate_up_blocks(gpu_lowering *l) {
  gpu_wish_planes(l, 1);
  gpu_wish_planes(l, 2);
  const rlx_attrs_fused_gate_up *attrs = RLX_ATTRS(fused_gate_up, l->node);
  gpu_product gate = gpu_product_of(l, 0, 1, attrs->trans_b), up = gate;
  if (gate.m == 0 || gate.n == 0 || gpu_product_batches(&gate) == 0) return;
  product few = few_rows(&gate, 1);
  few.v = 2, few.act = attrs->act;
  if (gate.n_axes == 0 && takes_matvec(l, &few, attrs->trans_b)) {
    emit_matvec(l, &few);
    return;
  }
  gate.act = (rlx_act)attrs->act;
  decode_right_side(l, 1, &gate);
  decode_right_side(l, 2, &up);
  gpu_product_gate_up(l, &gate, up.b, up.b_type);
}

void gpu_lower_grouped_blocks(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0), *w = gpu_in_type(l, 1), *y = gpu_out_type(l);
  gpu_wish_planes(l, 1);
  product p = {.m = (uint32_t)y->shape.v[0],
               .n = (uint32_t)y->shape.v[1],
               .k = (uint32_t)x->shape.v[1],
               .w = 1,
               .x = gpu_in(l, 0),
               .y = gpu_out(l),
               .idx = gpu_in_type(l, 2),
               .idx_window = gpu_in(l, 2),
               .experts = (uint32_t)w->shape.v[0]};
  if (p.m == 0 || p.n == 0) return;
  if (takes_matvec(l, &p, RLX_ATTRS(dequant_grouped_matmul, l->node)->trans_b)) emit_matvec(l, &p);
  else gpu_refuse(l, "experts that do not lie in planes along k");
}
