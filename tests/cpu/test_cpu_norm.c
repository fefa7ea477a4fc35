/* The CPU norms, softmax and reductions: the conformance cases of every op, random shapes and dtypes, rows that are
 * split into parts, and rows that f32 cannot represent. */
#include "cpu_check.h"
#include "test.h"

static const rlx_op norms[] = {RLX_OP_layer_norm,          RLX_OP_rms_norm,      RLX_OP_fused_residual_norm,
                               RLX_OP_group_norm,          RLX_OP_instance_norm, RLX_OP_layer_norm_2d,
                               RLX_OP_batch_norm_inference};
static const rlx_op reductions[] = {RLX_OP_reduce_sum, RLX_OP_reduce_mean, RLX_OP_reduce_max, RLX_OP_reduce_min,
                                    RLX_OP_reduce_prod};
#define N_OF(a) (sizeof(a) / sizeof *(a))

TEST(norm_cases) {
  for (size_t i = 0; i < N_OF(norms); i++) CHECK(cpu_check_cases(norms[i], NULL));
}
TEST(softmax_cases) {
  CHECK(cpu_check_cases(RLX_OP_softmax, NULL));
  CHECK(cpu_check_cases(RLX_OP_log_softmax, NULL));
}
TEST(reduce_cases) {
  for (size_t i = 0; i < N_OF(reductions); i++) CHECK(cpu_check_cases(reductions[i], NULL));
}

/* ---- random shapes ---- */

#define ANY_FLOAT(seed) CPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16")
#define ANY_NUMBER(seed) CPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32", "i64")

/* Short, around the end of a vector or a chunk, and longer than several chunks. */
static int any_length(uint64_t *seed) {
  int around = (int[]){1, 16, 64, 2048, 4096}[cpu_check_int(seed, 0, 4)];
  return around + cpu_check_int(seed, around > 1 ? -1 : 0, 17);
}

static void layer(uint64_t *seed, cpu_check_line *l, const char *op) {
  const char *t = ANY_FLOAT(seed);
  int rows = cpu_check_int(seed, 1, 5), n = any_length(seed);
  cpu_check_print(&l->inputs, "x: %s[%d,%d] range(%d,%d); g: %s[%d]; b: %s[%d]", t, rows, n, -2,
                  cpu_check_int(seed, 1, 9), t, n, t, n);
  cpu_check_print(&l->expr, "%s(%%x%s)", op, CPU_CHECK_PICK(seed, "", ", %g", ", %g, %b", ", _, %b"));
}
static void any_layer(uint64_t *seed, cpu_check_line *l) { layer(seed, l, "layer_norm"); }
static void any_rms(uint64_t *seed, cpu_check_line *l) { layer(seed, l, "rms_norm"); }

static void any_residual(uint64_t *seed, cpu_check_line *l) {
  const char *t = ANY_FLOAT(seed);
  int rows = cpu_check_int(seed, 1, 5), n = any_length(seed);
  cpu_check_print(&l->inputs, "x: %s[%d,%d]; r: %s[%d,%d]; g: %s[%d]", t, rows, n, t, rows, n, t, n);
  cpu_check_print(&l->expr, "fused_residual_norm(%%x, %%r, %%g) {kind=%s}", CPU_CHECK_PICK(seed, "rms", "layer"));
}

static void channels(uint64_t *seed, cpu_check_line *l, const char *op, int groups) {
  const char *t = ANY_FLOAT(seed);
  int c = cpu_check_int(seed, 1, 4) * (groups ? groups : 1);
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d,%d]; g: %s[%d]; b: %s[%d]", t, cpu_check_int(seed, 1, 3), c,
                  cpu_check_int(seed, 1, 30), cpu_check_int(seed, 1, 30), t, c, t, c);
  if (groups) cpu_check_print(&l->expr, "%s(%%x, %%g, %%b) {groups=%d}", op, groups);
  else cpu_check_print(&l->expr, "%s(%%x, %%g, %%b)", op);
}
static void any_group(uint64_t *seed, cpu_check_line *l) { channels(seed, l, "group_norm", cpu_check_int(seed, 1, 4)); }
static void any_instance(uint64_t *seed, cpu_check_line *l) { channels(seed, l, "instance_norm", 0); }
static void any_2d(uint64_t *seed, cpu_check_line *l) { channels(seed, l, "layer_norm_2d", 0); }

static void any_batch(uint64_t *seed, cpu_check_line *l) {
  const char *t = ANY_FLOAT(seed);
  int c = cpu_check_int(seed, 1, 9);
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; m: %s[%d]; v: %s[%d] range(0.1,2); g: %s[%d]", t,
                  cpu_check_int(seed, 1, 4), c, cpu_check_int(seed, 1, 200), t, c, t, c, t, c);
  cpu_check_print(&l->expr, "batch_norm_inference(%%x, %%m, %%v, %%g)");
}

static void soft(uint64_t *seed, cpu_check_line *l, const char *op) {
  bool last = cpu_check_int(seed, 0, 1);
  int n = last ? any_length(seed) : cpu_check_int(seed, 1, 300);
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d] range(-9,9)", ANY_FLOAT(seed), cpu_check_int(seed, 1, 3),
                  last ? cpu_check_int(seed, 1, 3) : cpu_check_int(seed, 1, 90), n);
  cpu_check_print(&l->expr, "%s(%%x) {axis=%d}", op, last ? -1 : cpu_check_int(seed, 0, 1));
}
static void any_softmax(uint64_t *seed, cpu_check_line *l) { soft(seed, l, "softmax"); }
static void any_log_softmax(uint64_t *seed, cpu_check_line *l) { soft(seed, l, "log_softmax"); }

TEST(random_norms) {
  CHECK(cpu_check_random(RLX_OP_layer_norm, 40, any_layer, NULL));
  CHECK(cpu_check_random(RLX_OP_rms_norm, 30, any_rms, NULL));
  CHECK(cpu_check_random(RLX_OP_fused_residual_norm, 30, any_residual, NULL));
  CHECK(cpu_check_random(RLX_OP_group_norm, 20, any_group, NULL));
  CHECK(cpu_check_random(RLX_OP_instance_norm, 15, any_instance, NULL));
  CHECK(cpu_check_random(RLX_OP_layer_norm_2d, 15, any_2d, NULL));
  CHECK(cpu_check_random(RLX_OP_batch_norm_inference, 20, any_batch, NULL));
}

TEST(random_softmax) {
  CHECK(cpu_check_random(RLX_OP_softmax, 40, any_softmax, NULL));
  CHECK(cpu_check_random(RLX_OP_log_softmax, 30, any_log_softmax, NULL));
}

static void reduction(uint64_t *seed, cpu_check_line *l, const char *op, bool whole) {
  int rank = cpu_check_int(seed, 1, 4), n_axes = 0;
  char shape[64], axes[32], *s = shape, *a = axes;
  for (int i = 0; i < rank; i++) {
    s += sprintf(s, "%s%d", i ? "," : "", cpu_check_int(seed, 1, cpu_check_int(seed, 0, 2) ? 7 : 60));
    if (cpu_check_int(seed, 0, 1)) a += sprintf(a, "%s%d", n_axes++ ? "," : "", i);
  }
  *a = 0;
  cpu_check_print(&l->inputs, "x: %s[%s]", whole ? ANY_NUMBER(seed) : ANY_FLOAT(seed), shape);
  cpu_check_print(&l->expr, "%s(%%x) {axes=[%s], keep=%s}", op, axes, CPU_CHECK_PICK(seed, "true", "false"));
}
static void any_sum(uint64_t *seed, cpu_check_line *l) { reduction(seed, l, "reduce_sum", true); }
static void any_mean(uint64_t *seed, cpu_check_line *l) { reduction(seed, l, "reduce_mean", false); }
static void any_max(uint64_t *seed, cpu_check_line *l) { reduction(seed, l, "reduce_max", true); }
static void any_min(uint64_t *seed, cpu_check_line *l) { reduction(seed, l, "reduce_min", true); }
static void any_int_prod(uint64_t *seed, cpu_check_line *l) {
  cpu_check_print(&l->inputs, "x: %s[%d,%d]", CPU_CHECK_PICK(seed, "i8", "u8", "i16", "i32", "u32", "i64"),
                  cpu_check_int(seed, 1, 40), cpu_check_int(seed, 1, 40));
  cpu_check_print(&l->expr, "reduce_prod(%%x) {axes=[%d]}", cpu_check_int(seed, 0, 1));
}

TEST(random_reductions) {
  CHECK(cpu_check_random(RLX_OP_reduce_sum, 60, any_sum, NULL));
  CHECK(cpu_check_random(RLX_OP_reduce_mean, 40, any_mean, NULL));
  CHECK(cpu_check_random(RLX_OP_reduce_max, 40, any_max, NULL));
  CHECK(cpu_check_random(RLX_OP_reduce_min, 40, any_min, NULL));
  CHECK(cpu_check_random(RLX_OP_reduce_prod, 20, any_int_prod, NULL));
}

/* ---- few and long ---- */

TEST(long_rows_are_cut) {
  CHECK(cpu_check_text(RLX_OP_softmax, "x: f32[2,70001] range(-5,5)", "softmax(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_softmax, "x: bf16[1,40000] range(-5,5)", "softmax(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_log_softmax, "x: f32[1,50001] range(-5,5)", "log_softmax(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_layer_norm, "x: f32[2,70001] range(100,101); g: f32[70001]", "layer_norm(%x, %g)", NULL));
  CHECK(cpu_check_text(RLX_OP_layer_norm, "x: f16[1,33000]", "layer_norm(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_rms_norm, "x: f32[1,100000]", "rms_norm(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_group_norm, "x: f32[1,4,200,200]; g: f32[4]; b: f32[4]",
                       "group_norm(%x, %g, %b) {groups=2}", NULL));
  CHECK(cpu_check_text(RLX_OP_fused_residual_norm, "x: f32[1,40000] range(1000,1001); r: f32[1,40000]",
                       "fused_residual_norm(%x, %r) {kind=layer}", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_sum, "x: f32[300001]", "reduce_sum(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_max, "x: f16[3,100001]", "reduce_max(%x) {axes=[1]}", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_sum, "x: i32[20001,9]", "reduce_sum(%x) {axes=[0]}", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_mean, "x: f32[70,30,90]", "reduce_mean(%x) {axes=[0,2]}", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_min, "x: f32[90,2100] special", "reduce_min(%x) {axes=[0]}", NULL));
}

/* ---- values that f32 cannot represent ---- */

TEST(rows_beyond_f32) {
#define HUGE_ROW "values(3e38, -3e38, 1e38, 2)"
#define TINY_ROW "values(1e-25, 2e-25, -1e-25, 4e-25)"
  CHECK(cpu_check_text(RLX_OP_layer_norm, "x: f32[3,8] " HUGE_ROW, "layer_norm(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_rms_norm, "x: f32[3,8] " HUGE_ROW, "rms_norm(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_rms_norm, "x: f32[3,8] " TINY_ROW, "rms_norm(%x) {eps=0.0}", NULL));
  CHECK(cpu_check_text(RLX_OP_layer_norm, "x: f32[2,40000] " HUGE_ROW, "layer_norm(%x)", NULL));
  CHECK(
    cpu_check_text(RLX_OP_layer_norm_2d, "x: f32[1,4,1,9] values(3e38, 1, -3e38, 2, 4)", "layer_norm_2d(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_fused_residual_norm, "x: f32[2,8] " HUGE_ROW "; r: f32[2,8]",
                       "fused_residual_norm(%x, %r) {kind=layer}", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_sum, "x: f32[64] values(3e38, 3e38, -3e38, -3e38)", "reduce_sum(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_reduce_prod, "x: f32[16] values(1e30, 1e-30, 1e20, 1e-20)", "reduce_prod(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_softmax, "x: f32[4,40] values(inf, 1, -inf, 2, nan)", "softmax(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_softmax, "x: f32[2,33] values(-inf)", "softmax(%x)", NULL));
}
