/* Lowers random numbers and the sampling of a token.
 *
 * Sampling follows ref/random.c step by step: the tokens of each row are sorted (the first top_k, or all), their
 * weights are summed by chunks, and one group per row finds the token that the row's random number selects.
 * Temperature 0 is an argmax. */
#include "gpu/order.h"

/* The draw number: the optional input, or the run's own counter. */
static gpu_window draw_window(const gpu_lowering *l, uint32_t input, uint32_t *type) {
  const rlx_type *t = gpu_in_type(l, input);
  *type = t ? (uint32_t)t->dtype : 0;
  return t ? gpu_in(l, input) : gpu_run_window();
}

typedef struct random_op {
  int64_t seed;
  double start, scale;
  bool is_normal;
} random_op;

static void numbers(gpu_lowering *l, random_op r) {
  const rlx_type *y = gpu_out_type(l);
  uint32_t type, group = gpu_group_of(l->caps, 256);
  gpu_window draw = draw_window(l, 0, &type);
  gpu_params_rng p = {.n = gpu_count(y),
                      .seed_low = (uint32_t)(uint64_t)r.seed,
                      .seed_high = (uint32_t)((uint64_t)r.seed >> 32),
                      .start = (float)r.start,
                      .scale = (float)r.scale};
  gpu_constants_rng c = {.t = (uint32_t)y->dtype, .is_normal = r.is_normal, .draw = type};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(rng, p, c), .groups = gpu_ceil_div(gpu_words(y), group), .group_size = group,
                            .windows = {draw, gpu_out(l)}});
}

void gpu_lower_rng_uniform(gpu_lowering *l) {
  const rlx_attrs_rng_uniform *a = RLX_ATTRS(rng_uniform, l->node);
  numbers(l, (random_op){a->seed, a->lo, a->hi - a->lo, false});
}

void gpu_lower_rng_normal(gpu_lowering *l) {
  const rlx_attrs_rng_normal *a = RLX_ATTRS(rng_normal, l->node);
  numbers(l, (random_op){a->seed, a->mean, a->std, true});
}

/* ---- sample ---- */

enum { CHUNK = 1024, SUM_BYTES = 12 };

/* In units of 2^-32, rounded down: a sum that reaches p in f64 also reaches it here. */
static uint32_t fraction_of(double p) { return p <= 0 ? 0 : p >= 1 ? UINT32_MAX : (uint32_t)(p * 0x1p32); }

static void choose(gpu_lowering *l, const rlx_attrs_sample *a, gpu_items items, uint32_t rows, uint32_t n) {
  uint32_t chunks = gpu_ceil_div(n, CHUNK), group = gpu_group_of(l->caps, n > 512 ? 256 : 64), type;
  gpu_window sums = gpu_work(l, (uint64_t)rows * chunks * SUM_BYTES), draw = draw_window(l, 1, &type);
  const uint32_t has_settings = gpu_in_type(l, 2) != NULL;
  gpu_window settings = has_settings ? gpu_in(l, 2) : items.window;
  gpu_params_sample_sums s = {.n = n,
                              .pitch = items.per_line,
                              .chunks = chunks,
                              .chunk = CHUNK,
                              .temperature = (float)a->temperature,
                              .min_p = (float)a->min_p};
  gpu_constants_sample_sums sums_c = {.has_settings = has_settings};
  gpu_constants_sample_pick c = {.has_settings = has_settings, .draw = type};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(sample_sums, s, sums_c), .groups = rows * chunks, .group_size = group,
                            .windows = {items.window, settings, sums}});
  gpu_params_sample_pick p = {.n = n,
                              .pitch = items.per_line,
                              .chunks = chunks,
                              .chunk = CHUNK,
                              .temperature = (float)a->temperature,
                              .top_p = fraction_of(a->top_p),
                              .seed_low = (uint32_t)(uint64_t)a->seed,
                              .seed_high = (uint32_t)((uint64_t)a->seed >> 32)};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(sample_pick, p, c), .groups = rows, .group_size = group,
                            .windows = {items.window, sums, draw, settings, gpu_out(l)}});
}

void gpu_lower_sample(gpu_lowering *l) {
  const rlx_attrs_sample *a = RLX_ATTRS(sample, l->node);
  const rlx_type *x = gpu_in_type(l, 0);
  uint32_t rows = gpu_count(gpu_out_type(l));
  if (rows == 0) return;
  gpu_lines lines = gpu_lines_of(&x->shape, -1);
  if (a->temperature == 0 && !gpu_in_type(l, 2)) {
    gpu_arg_emit(l, &(gpu_arg){.lines = lines, .t = x->dtype, .to = RLX_I32, .is_token = true});
    return;
  }
  gpu_sort s = {.lines = lines, .t = x->dtype, .to = RLX_I32, .take = lines.n, .to_items = true};
  s.descending = true, s.positions = true;
  if (a->top_k > 0 && a->top_k < (int64_t)lines.n) s.take = (uint32_t)a->top_k;
  gpu_items items = gpu_sort_emit(l, &s);
  choose(l, a, items, rows, s.take);
}
