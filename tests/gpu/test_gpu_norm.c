/* GPU norms, softmax and reductions: random shapes and types; lines that fit registers, lines split into chunks,
 * strided lines, and rows whose sums overflow f32. */
#include <stdio.h>

#include "gpu_check.h"
#include "test.h"

#define ANY_FLOAT(seed) GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16")
#define ANY_NUMBER(seed) GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32", "i64")

/* Short; around the end of a lane, vector or workgroup; whole vectors; and more than a workgroup of 128 or 256
 * holds. */
static int any_length(uint64_t *seed) {
  static const int around[] = {1, 8, 32, 128, 512, 1024, 4096, 8192};
  int n = around[gpu_check_int(seed, 0, 7)];
  if (gpu_check_int(seed, 0, 2) == 0) return n * gpu_check_int(seed, 1, n > 4096 ? 1 : 3);
  return n + gpu_check_int(seed, n > 1 ? -1 : 0, 17);
}

/* ---- norms ---- */

static void layer(uint64_t *seed, gpu_check_line *l, const char *op) {
  const char *t = ANY_FLOAT(seed);
  int rows = gpu_check_int(seed, 1, 9), n = any_length(seed);
  gpu_check_print(&l->inputs, "x: %s[%d,%d] range(-2,%d); g: %s[%d]; b: %s[%d]", t, rows, n, gpu_check_int(seed, 1, 9),
                  t, n, t, n);
  gpu_check_print(&l->expr, "%s(%%x%s)", op, GPU_CHECK_PICK(seed, "", ", %g", ", %g, %b", ", _, %b"));
}
static void any_layer(uint64_t *seed, gpu_check_line *l) { layer(seed, l, "layer_norm"); }
static void any_rms(uint64_t *seed, gpu_check_line *l) { layer(seed, l, "rms_norm"); }

static void any_residual(uint64_t *seed, gpu_check_line *l) {
  const char *t = ANY_FLOAT(seed);
  int rows = gpu_check_int(seed, 1, 9), n = any_length(seed);
  gpu_check_print(&l->inputs, "x: %s[%d,%d]; r: %s[%d,%d]; g: %s[%d]", t, rows, n, t, rows, n, t, n);
  gpu_check_print(&l->expr, "fused_residual_norm(%%x, %%r, %%g) {kind=%s}", GPU_CHECK_PICK(seed, "rms", "layer"));
}

static void channels(uint64_t *seed, gpu_check_line *l, const char *op, int groups) {
  const char *t = ANY_FLOAT(seed);
  int c = gpu_check_int(seed, 1, 4) * (groups ? groups : 1), width = gpu_check_int(seed, 1, 40);
  if (gpu_check_int(seed, 0, 1)) width = width / 8 * 8 + 8; /* a vector uses one gamma */
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d,%d]; g: %s[%d]; b: %s[%d]", t, gpu_check_int(seed, 1, 3), c,
                  gpu_check_int(seed, 1, 30), width, t, c, t, c);
  if (groups) gpu_check_print(&l->expr, "%s(%%x, %%g, %%b) {groups=%d}", op, groups);
  else gpu_check_print(&l->expr, "%s(%%x, %%g, %%b)", op);
}
static void any_group(uint64_t *seed, gpu_check_line *l) { channels(seed, l, "group_norm", gpu_check_int(seed, 1, 4)); }
static void any_instance(uint64_t *seed, gpu_check_line *l) { channels(seed, l, "instance_norm", 0); }
static void any_2d(uint64_t *seed, gpu_check_line *l) {
  const char *t = ANY_FLOAT(seed);
  int c = any_length(seed) % 700 + 1, width = gpu_check_int(seed, 1, 70);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d,%d]; g: %s[%d]; b: %s[%d]", t, gpu_check_int(seed, 1, 2), c, 1, width, t,
                  c, t, c);
  gpu_check_print(&l->expr, "layer_norm_2d(%%x, %%g, %%b)");
}

TEST(random_norms) {
  CHECK(gpu_check_random(RLX_OP_layer_norm, 6, any_layer));
  CHECK(gpu_check_random(RLX_OP_rms_norm, 4, any_rms));
  CHECK(gpu_check_random(RLX_OP_fused_residual_norm, 5, any_residual));
  CHECK(gpu_check_random(RLX_OP_group_norm, 4, any_group));
  CHECK(gpu_check_random(RLX_OP_instance_norm, 3, any_instance));
  CHECK(gpu_check_random(RLX_OP_layer_norm_2d, 4, any_2d));
}

/* ---- softmax ----
 * log_softmax only in f32: all narrow elements of a row are rounded at the same distance from ties, and if that is
 * below f32's accuracy, chance decides for the whole row. */

static void soft(uint64_t *seed, gpu_check_line *l, const char *op, const char *type) {
  bool last = gpu_check_int(seed, 0, 1);
  int n = last ? any_length(seed) : gpu_check_int(seed, 1, 70);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d] range(-9,9)", type, gpu_check_int(seed, 1, 3),
                  last ? gpu_check_int(seed, 1, 4) : any_length(seed) % 600 + 1, n);
  gpu_check_print(&l->expr, "%s(%%x) {axis=%d}", op, last ? -1 : gpu_check_int(seed, 0, 1));
}
static void any_softmax(uint64_t *seed, gpu_check_line *l) { soft(seed, l, "softmax", ANY_FLOAT(seed)); }
static void any_log_softmax(uint64_t *seed, gpu_check_line *l) { soft(seed, l, "log_softmax", "f32"); }

TEST(random_softmax) {
  CHECK(gpu_check_random(RLX_OP_softmax, 5, any_softmax));
  CHECK(gpu_check_random(RLX_OP_log_softmax, 5, any_log_softmax));
}

/* ---- reductions ---- */

static void reduction(uint64_t *seed, gpu_check_line *l, const char *op, const char *type) {
  int rank = gpu_check_int(seed, 1, 5), n_axes = 0;
  char shape[64], axes[32], *s = shape, *a = axes;
  for (int i = 0; i < rank; i++) {
    s += sprintf(s, "%s%d", i ? "," : "", gpu_check_int(seed, 1, gpu_check_int(seed, 0, 2) ? 7 : rank > 3 ? 20 : 60));
    if (gpu_check_int(seed, 0, 1)) a += sprintf(a, "%s%d", n_axes++ ? "," : "", i);
  }
  *a = 0;
  gpu_check_print(&l->inputs, "x: %s[%s]", type, shape);
  gpu_check_print(&l->expr, "%s(%%x) {axes=[%s], keep=%s}", op, axes, GPU_CHECK_PICK(seed, "true", "false"));
}
static void any_sum(uint64_t *seed, gpu_check_line *l) { reduction(seed, l, "reduce_sum", ANY_NUMBER(seed)); }
static void any_mean(uint64_t *seed, gpu_check_line *l) { reduction(seed, l, "reduce_mean", ANY_FLOAT(seed)); }
static void any_max(uint64_t *seed, gpu_check_line *l) { reduction(seed, l, "reduce_max", ANY_NUMBER(seed)); }
static void any_min(uint64_t *seed, gpu_check_line *l) { reduction(seed, l, "reduce_min", ANY_NUMBER(seed)); }
static void any_prod(uint64_t *seed, gpu_check_line *l) {
  gpu_check_print(&l->inputs, "x: %s[%d,%d] range(-2,2)", ANY_NUMBER(seed), gpu_check_int(seed, 1, 40),
                  gpu_check_int(seed, 1, 40));
  gpu_check_print(&l->expr, "reduce_prod(%%x) {axes=[%d]}", gpu_check_int(seed, 0, 1));
}

TEST(random_reductions) {
  CHECK(gpu_check_random(RLX_OP_reduce_sum, 10, any_sum));
  CHECK(gpu_check_random(RLX_OP_reduce_mean, 5, any_mean));
  CHECK(gpu_check_random(RLX_OP_reduce_max, 5, any_max));
  CHECK(gpu_check_random(RLX_OP_reduce_min, 5, any_min));
  CHECK(gpu_check_random(RLX_OP_reduce_prod, 5, any_prod));
}

TEST(few_long_reductions_are_cut) {
  CHECK(gpu_check_text(RLX_OP_reduce_sum, "x: f32[300001]", "reduce_sum(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_mean, "x: f16[200002] range(0,1)", "reduce_mean(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_max, "x: f16[3,100001]", "reduce_max(%x) {axes=[1]}"));
  CHECK(gpu_check_text(RLX_OP_reduce_sum, "x: i8[100004]", "reduce_sum(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_sum, "x: i32[20001,9]", "reduce_sum(%x) {axes=[0]}"));
  CHECK(
    gpu_check_text(RLX_OP_reduce_sum, "x: i64[20001,3] range(-5000000000,5000000000)", "reduce_sum(%x) {axes=[0]}"));
  CHECK(gpu_check_text(RLX_OP_reduce_mean, "x: f32[70,30,90]", "reduce_mean(%x) {axes=[0,2]}"));
  CHECK(gpu_check_text(RLX_OP_reduce_sum, "x: bf16[5,61,7,33,3]", "reduce_sum(%x) {axes=[1,3]}"));
  CHECK(gpu_check_text(RLX_OP_reduce_min, "x: f32[90,2100] special", "reduce_min(%x) {axes=[0]}"));
  CHECK(gpu_check_text(RLX_OP_reduce_min, "x: f32[40000] values(3, 2, 7, inf)", "reduce_min(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_prod, "x: f32[40000] values(1.5, 0.6, 1.1)", "reduce_prod(%x)"));
}

TEST(reductions_beyond_f32) {
  CHECK(gpu_check_text(RLX_OP_reduce_sum, "x: f32[64] values(3e38, 3e38, -3e38, -3e38)", "reduce_sum(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_mean, "x: f32[64] values(3e38, 2e38)", "reduce_mean(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_sum, "x: f32[4,3] values(3e38, 3e38, 3e38, inf, 1, 2, -inf, 1, inf)",
                       "reduce_sum(%x) {axes=[1]}"));
  CHECK(gpu_check_text(RLX_OP_reduce_prod, "x: f32[16] values(1e30, 1e-30, 1e20, 1e-20)", "reduce_prod(%x)"));
  CHECK(gpu_check_text(RLX_OP_reduce_prod, "x: f32[5,2] values(1e-20, 1e-20, inf, 0, -inf, 2, nan, 1, 3e38, 4)",
                       "reduce_prod(%x) {axes=[1]}"));
}

/* ---- few and long; many and short ---- */

TEST(long_lines_are_cut) {
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[2,70001] range(-5,5)", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[1,65536] range(-5,5)", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: bf16[1,40000] range(-5,5)", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f16[1,50002] range(-5,5)", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_log_softmax, "x: f32[9001,5] range(-5,5)", "log_softmax(%x) {axis=0}"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f32[2,70001] range(100,101); g: f32[70001]", "layer_norm(%x, %g)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f32[1,40960] range(1000,1001)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[1,33000]", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_rms_norm, "x: f32[1,100000]", "rms_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_group_norm, "x: f32[1,4,200,200]; g: f32[4]; b: f32[4]",
                       "group_norm(%x, %g, %b) {groups=2}"));
  CHECK(gpu_check_text(RLX_OP_fused_residual_norm, "x: f32[1,40000] range(1000,1001); r: f32[1,40000]",
                       "fused_residual_norm(%x, %r) {kind=layer}"));
  CHECK(gpu_check_text(RLX_OP_layer_norm_2d, "x: f32[1,3000,3,5] range(50,51)", "layer_norm_2d(%x)"));
}

TEST(many_short_lines) {
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[2049,4]", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f16[999,24]", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_log_softmax, "x: f32[1001,3]", "log_softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_rms_norm, "x: f32[517,128]; g: f32[128]", "rms_norm(%x, %g)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: bf16[1001,2]", "layer_norm(%x)"));
}

/* Rows of f16 that fill every lane: mean and squares are computed in one reduction, relative to the first element. */
TEST(even_rows) {
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[5,4096] range(1000,1002)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[3,1024] values(60000, 1, 1.001, 0.999)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[3,512] values(-60000, 60000, 65504)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[2,2048] values(3)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[2,256] values(1, inf, 2)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[9,64]; g: f16[64]; b: f16[64]", "layer_norm(%x, %g, %b)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f16[3,1024] values(1e-7, 3e-7, 2e-6)", "layer_norm(%x) {eps=0.0}"));
}

/* ---- rows whose f32 sums overflow ---- */

TEST(rows_beyond_f32) {
#define HUGE_ROW "values(3e38, -3e38, 1e38, 2)"
#define TINY_ROW "values(1e-25, 2e-25, -1e-25, 4e-25)"
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f32[3,8] " HUGE_ROW, "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f32[3,7] values(3e38, 3e38, -3e38)", "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_rms_norm, "x: f32[3,8] " HUGE_ROW, "rms_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_rms_norm, "x: f32[3,8] " TINY_ROW, "rms_norm(%x) {eps=0.0}"));
  CHECK(gpu_check_text(RLX_OP_layer_norm, "x: f32[2,40000] " HUGE_ROW, "layer_norm(%x)"));
  CHECK(gpu_check_text(RLX_OP_layer_norm_2d, "x: f32[1,4,1,9] values(3e38, 1, -3e38, 2, 4)", "layer_norm_2d(%x)"));
  CHECK(gpu_check_text(RLX_OP_fused_residual_norm, "x: f32[2,8] " HUGE_ROW "; r: f32[2,8]",
                       "fused_residual_norm(%x, %r) {kind=layer}"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[4,40] values(inf, 1, -inf, 2, nan)", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[2,33] values(-inf)", "softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_log_softmax, "x: f32[2,36] values(-inf)", "log_softmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[5,7] values(-inf, -3e38, 1, -inf, 3e38)", "softmax(%x)"));
}
