/* Lowers the norms that compute their own statistics: layer_norm, rms_norm, fused_residual_norm, layer_norm_2d,
 * group_norm, instance_norm.
 *
 * They differ only in their lines: a `norm` describes the lines and which gamma an element uses. normalize4 handles
 * rows of whole vectors, normalize every other shape. Lines that are long and few, or too long for registers, take two
 * dispatches, with each chunk's statistics in work memory between them. */
#include "gpu/lines.h"

typedef struct norm {
  gpu_lines lines;
  rlx_dtype t;
  double eps;
  bool centre;
  uint32_t residual, gamma, beta; /* input numbers; may be absent */
  uint32_t sets, channels, run;   /* element k of line r uses gamma[r % sets * channels + k / run] */
} norm;

enum { ABSENT = UINT32_MAX, STATS_BYTES = 16 /* per chunk: NORM_STATS of kernels/norm.kh */ };

/* Sums of squares are taken of differences / 16, scaled by each of these two factors (kernels/norm.kh). With an eps,
 * small differences are negligible beside it; without one, they are scaled up. */
static float fine_of(const norm *m) { return m->eps > 1e-30 || m->t == RLX_F16 ? 0x1p4f : 0x1p49f; }
static float coarse_of(const norm *m) { return m->eps > 1e-30 ? 0x1p-71f : 0x1p-36f; }

/* With a residual, differences are taken from the row's first element, which another group of a split row may have
 * overwritten. */
static void allow_in_place(gpu_lowering *l, const norm *m, const gpu_line_cut *cut) {
  bool has_residual = m->residual != ABSENT;
  if (has_residual) gpu_in_place(l, m->residual);
  if (!has_residual || !m->centre || cut->chunks == 1) gpu_in_place(l, 0);
}

typedef struct norm_windows { /* the windows of normalize4 */
  gpu_window x, residual, gamma, beta, y;
} norm_windows;

static void emit_vectors(gpu_lowering *l, const norm *m, const gpu_line_cut *cut, const norm_windows *w) {
  uint32_t each = 16 / (uint32_t)rlx_dtype_size(m->t), by_channel = m->sets > 1 || m->run > 1;
  gpu_params_normalize4 p = {.rows = m->lines.lines,
                             .n = m->lines.n / each,
                             .chunks = cut->chunks,
                             .chunk = cut->chunk,
                             .eps = (float)(m->eps / 256),
                             .fine = fine_of(m),
                             .coarse = coarse_of(m),
                             .sets = m->sets,
                             .channels = m->channels,
                             .run = m->run >= each ? m->run / each : 1};
  gpu_window stats = {0};
  bool has_residual = w->residual.from != GPU_NONE;
  bool even = m->t == RLX_F16 && m->centre && !has_residual && cut->chunks == 1 && p.n == cut->lanes * cut->per;
  if (cut->chunks > 1) stats = gpu_work(l, (uint64_t)m->lines.lines * cut->chunks * STATS_BYTES);
  for (uint32_t stage = cut->chunks > 1; stage <= (cut->chunks > 1 ? 2 : 0); stage++) {
    gpu_constants_normalize4 c = {.t = (uint32_t)m->t,
                                  .lanes = cut->lanes,
                                  .vecs = cut->per,
                                  .stage = stage,
                                  .centre = m->centre,
                                  .has_residual = has_residual,
                                  .has_gamma = w->gamma.from != GPU_NONE,
                                  .has_beta = w->beta.from != GPU_NONE,
                                  .by_channel = by_channel,
                                  .even = even};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(normalize4, p, c), .groups = cut->groups, .group_size = cut->group,
                              .windows = {w->x, w->residual, w->gamma, w->beta, w->y, stats, w->gamma, w->beta}});
  }
}

static void rows_of_vectors(gpu_lowering *l, const norm *m) {
  gpu_line_cut cut = gpu_cut_vectors(l->caps, m->lines, m->t);
  allow_in_place(l, m, &cut);
  norm_windows w = {gpu_in(l, 0), gpu_in(l, m->residual), gpu_in(l, m->gamma), gpu_in(l, m->beta), gpu_out(l)};
  emit_vectors(l, m, &cut, &w);
}

void gpu_rms_norm_row(gpu_lowering *l, gpu_window x, gpu_window gamma, uint32_t n, double eps, gpu_window to) {
  norm m = {.lines = {1, n, 1}, .t = RLX_F32, .eps = eps, .sets = 1, .run = 1};
  gpu_line_cut cut = gpu_cut_vectors(l->caps, m.lines, m.t);
  emit_vectors(l, &m, &cut, &(norm_windows){.x = x, .gamma = gamma, .y = to});
}

static void any_lines(gpu_lowering *l, const norm *m) {
  gpu_line_cut cut = gpu_cut_elements(l->caps, m->lines, m->t);
  allow_in_place(l, m, &cut);
  gpu_params_normalize p = {.lines = m->lines.lines,
                            .n = m->lines.n,
                            .inner = m->lines.inner,
                            .chunks = cut.chunks,
                            .chunk = cut.chunk,
                            .eps = (float)(m->eps / 256),
                            .fine = fine_of(m),
                            .coarse = coarse_of(m),
                            .sets = m->sets,
                            .channels = m->channels,
                            .run = m->run};
  uint32_t count = gpu_count(gpu_out_type(l));
  rlx_dtype type;
  gpu_window y = gpu_line_result(l, &cut, m->t, count, &type), stats = {0};
  if (cut.chunks > 1) stats = gpu_work(l, (uint64_t)m->lines.lines * cut.chunks * STATS_BYTES);
  for (uint32_t stage = cut.chunks > 1; stage <= (cut.chunks > 1 ? 2 : 0); stage++) {
    gpu_constants_normalize c = {.t = (uint32_t)m->t,
                                 .ty = (uint32_t)type,
                                 .unit = cut.unit,
                                 .lanes = cut.lanes,
                                 .per = cut.per,
                                 .strided = cut.is_across,
                                 .stage = stage,
                                 .centre = m->centre,
                                 .has_residual = gpu_has_in(l, m->residual),
                                 .has_gamma = gpu_has_in(l, m->gamma),
                                 .has_beta = gpu_has_in(l, m->beta)};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(normalize, p, c), .groups = cut.groups, .group_size = cut.group,
                              .windows = {gpu_in(l, 0), gpu_in(l, m->residual), gpu_in(l, m->gamma), gpu_in(l, m->beta),
                                          y, stats}});
  }
  gpu_line_finish(l, y, type, m->t, count);
}

static void lower(gpu_lowering *l, norm m) {
  m.t = gpu_out_type(l)->dtype;
  if (gpu_count(gpu_out_type(l)) == 0) return;
  bool is_plain = m.sets == 1 && m.run == 1, is_affine = gpu_has_in(l, m.gamma) || gpu_has_in(l, m.beta);
  bool whole_runs = m.run % (16 / (uint32_t)rlx_dtype_size(m.t)) == 0; /* a vector uses one gamma */
  if (gpu_lines_are_vectors(m.lines, m.t) && (is_plain || !is_affine || whole_runs)) rows_of_vectors(l, &m);
  else any_lines(l, &m);
}

/* Normalises over all axes from `axis` on. */
static gpu_lines last_axes(const rlx_type *x, int64_t axis) {
  gpu_lines l = {1, 1, 1};
  for (int i = 0; i < x->shape.n; i++)
    *(i < rlx_axis_of(axis, x->shape.n) ? &l.lines : &l.n) *= (uint32_t)x->shape.v[i];
  return l;
}

void gpu_lower_layer_norm(gpu_lowering *l) {
  const rlx_attrs_layer_norm *a = RLX_ATTRS(layer_norm, l->node);
  lower(l, (norm){.lines = last_axes(gpu_in_type(l, 0), a->axis),
                  .eps = a->eps,
                  .centre = true,
                  .residual = ABSENT,
                  .gamma = 1,
                  .beta = 2,
                  .sets = 1,
                  .run = 1});
}

void gpu_lower_rms_norm(gpu_lowering *l) {
  const rlx_attrs_rms_norm *a = RLX_ATTRS(rms_norm, l->node);
  lower(l, (norm){.lines = last_axes(gpu_in_type(l, 0), a->axis),
                  .eps = a->eps,
                  .residual = ABSENT,
                  .gamma = 1,
                  .beta = 2,
                  .sets = 1,
                  .run = 1});
}

void gpu_lower_residual_norm(gpu_lowering *l) {
  const rlx_attrs_fused_residual_norm *a = RLX_ATTRS(fused_residual_norm, l->node);
  lower(l, (norm){.lines = last_axes(gpu_in_type(l, 0), -1),
                  .eps = a->eps,
                  .centre = a->kind == RLX_NORM_LAYER,
                  .residual = 1,
                  .gamma = 2,
                  .beta = 3,
                  .sets = 1,
                  .run = 1});
}

void gpu_lower_layer_norm_2d(gpu_lowering *l) {
  lower(l, (norm){.lines = gpu_lines_of(&gpu_in_type(l, 0)->shape, 1),
                  .eps = RLX_ATTRS(layer_norm_2d, l->node)->eps,
                  .centre = true,
                  .residual = ABSENT,
                  .gamma = 1,
                  .beta = 2,
                  .sets = 1,
                  .run = 1});
}

/* Normalises groups of channels of [N, C, ..]. */
static void norm_groups(gpu_lowering *l, uint32_t groups, double eps) {
  rlx_lines x = rlx_lines_of(&gpu_in_type(l, 0)->shape, 1);
  uint32_t channels = groups ? (uint32_t)x.n / groups : 0;
  lower(l, (norm){.lines = {(uint32_t)x.outer * groups, channels * (uint32_t)x.inner, 1},
                  .eps = eps,
                  .centre = true,
                  .residual = ABSENT,
                  .gamma = 1,
                  .beta = 2,
                  .sets = groups,
                  .channels = channels,
                  .run = (uint32_t)x.inner});
}

void gpu_lower_group_norm(gpu_lowering *l) {
  const rlx_attrs_group_norm *a = RLX_ATTRS(group_norm, l->node);
  norm_groups(l, (uint32_t)a->groups, a->eps);
}

void gpu_lower_instance_norm(gpu_lowering *l) {
  norm_groups(l, (uint32_t)gpu_in_type(l, 0)->shape.v[1], RLX_ATTRS(instance_norm, l->node)->eps);
}
