/* GPU scans, argmax and argmin, sorts, top-k, random numbers and sampling: random shapes and types; lines that fit a
 * workgroup, lines that are split, and lines sorted in rounds or merged; ties, NaN and zeros of both signs. */
#include <stdio.h>

#include "gpu_check.h"
#include "test.h"

#define ANY_NUMBER(seed) GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32", "i64")
/* Values with many ties, and with NaN. */
#define ANY_VALUES(seed) GPU_CHECK_PICK(seed, "", "", "values(1, 3, 2, 3, 0, -0.0, 3, 1, -7)", "range(0,9)")

static int any_length(uint64_t *seed, int max) {
  static const int around[] = {1, 8, 64, 256, 1024, 2048, 5000};
  int n = around[gpu_check_int(seed, 0, 6)] + gpu_check_int(seed, -1, 9);
  return n < 1 ? 1 : n > max ? max : n;
}

/* "x: type[a,n,b] values" with the axis in front, in the middle or at the end; returns the axis. */
static int any_lines(uint64_t *seed, gpu_check_line *l, const char *values, int n) {
  int axis = gpu_check_int(seed, 0, 2), beside = n > 600 ? 3 : 40, size[3];
  for (int i = 0; i < 3; i++) size[i] = i == axis ? n : gpu_check_int(seed, 1, i == 2 ? beside : 3);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d] %s", ANY_NUMBER(seed), size[0], size[1], size[2], values);
  return axis;
}

/* ---- scans ---- */

static void scan(uint64_t *seed, gpu_check_line *l, const char *op, const char *values) {
  int axis = any_lines(seed, l, values, any_length(seed, 5000));
  gpu_check_print(&l->expr, "%s(%%x) {axis=%d, exclusive=%s, reverse=%s}", op, axis,
                  GPU_CHECK_PICK(seed, "true", "false"), GPU_CHECK_PICK(seed, "true", "false"));
}
static void any_cumsum(uint64_t *seed, gpu_check_line *l) { scan(seed, l, "cumsum", ""); }
static void any_cumprod(uint64_t *seed, gpu_check_line *l) { scan(seed, l, "cumprod", "range(-1.2,1.2)"); }
static void any_cummax(uint64_t *seed, gpu_check_line *l) { scan(seed, l, "cummax", ""); }

TEST(random_scans) {
  CHECK(gpu_check_random(RLX_OP_cumsum, 8, any_cumsum));
  CHECK(gpu_check_random(RLX_OP_cumprod, 3, any_cumprod));
  CHECK(gpu_check_random(RLX_OP_cummax, 4, any_cummax));
}

TEST(long_scans_are_cut) {
  CHECK(gpu_check_text(RLX_OP_cumsum, "x: f32[50001]", "cumsum(%x)"));
  CHECK(gpu_check_text(RLX_OP_cumsum, "x: f32[40002] values(10001.7, -10001.9, 0.3)", "cumsum(%x)"));
  CHECK(gpu_check_text(RLX_OP_cumsum, "x: f32[2,6] values(1, inf, 2, -inf, 1, 1, nan, 1, -inf)", "cumsum(%x)"));
  CHECK(gpu_check_text(RLX_OP_cumsum, "x: i64[2,20003] range(-5000000000,5000000000)", "cumsum(%x) {reverse=true}"));
  CHECK(gpu_check_text(RLX_OP_cumsum, "x: u8[40004]", "cumsum(%x) {exclusive=true, reverse=true}"));
  CHECK(gpu_check_text(RLX_OP_cummax, "x: f16[30001,3]", "cummax(%x) {axis=0}"));
  CHECK(gpu_check_text(RLX_OP_cumprod, "x: f32[30000] values(1.5, 0.6, 1.1)", "cumprod(%x)"));
}

/* ---- argmax and argmin ---- */

static void arg(uint64_t *seed, gpu_check_line *l, const char *op) {
  int axis = any_lines(seed, l, ANY_VALUES(seed), any_length(seed, 5000));
  gpu_check_print(&l->expr, "%s(%%x) {axis=%d, to=%s}", op, axis, GPU_CHECK_PICK(seed, "i32", "i64"));
}
static void any_argmax(uint64_t *seed, gpu_check_line *l) { arg(seed, l, "argmax"); }
static void any_argmin(uint64_t *seed, gpu_check_line *l) { arg(seed, l, "argmin"); }

TEST(random_args) {
  CHECK(gpu_check_random(RLX_OP_argmax, 6, any_argmax));
  CHECK(gpu_check_random(RLX_OP_argmin, 5, any_argmin));
}

TEST(long_args_are_cut) {
  CHECK(gpu_check_text(RLX_OP_argmax, "x: f32[200003]", "argmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_argmin, "x: i8[3,70001]", "argmin(%x)"));
  CHECK(gpu_check_text(RLX_OP_argmax, "x: bf16[40000] values(1, 2, -3, 2, nan, 1, nan)", "argmax(%x)"));
  CHECK(gpu_check_text(RLX_OP_argmin, "x: f32[40000] values(0, -0.0)", "argmin(%x)"));
  CHECK(gpu_check_text(RLX_OP_argmax, "x: f32[20000,3] values(-inf)", "argmax(%x) {axis=0}"));
}

/* ---- sorting ---- */

static void any_sort(uint64_t *seed, gpu_check_line *l) {
  int axis = any_lines(seed, l, ANY_VALUES(seed), any_length(seed, 3000));
  gpu_check_print(&l->expr, "sort(%%x) {axis=%d, descending=%s}", axis, GPU_CHECK_PICK(seed, "true", "false"));
}
static void any_argsort(uint64_t *seed, gpu_check_line *l) {
  int axis = any_lines(seed, l, ANY_VALUES(seed), any_length(seed, 3000));
  gpu_check_print(&l->expr, "argsort(%%x) {axis=%d, descending=%s, to=%s}", axis, GPU_CHECK_PICK(seed, "true", "false"),
                  GPU_CHECK_PICK(seed, "i32", "i64"));
}
static void top_k(uint64_t *seed, gpu_check_line *l, const char *op) {
  int n = any_length(seed, 5000), k = gpu_check_int(seed, 0, 2) ? gpu_check_int(seed, 1, n < 20 ? n : 20) : n / 2 + 1;
  int axis = any_lines(seed, l, ANY_VALUES(seed), n);
  gpu_check_print(&l->expr, "%s(%%x) {axis=%d, k=%d, largest=%s}", op, axis, k, GPU_CHECK_PICK(seed, "true", "false"));
}
static void any_values(uint64_t *seed, gpu_check_line *l) { top_k(seed, l, "top_k_values"); }
static void any_indices(uint64_t *seed, gpu_check_line *l) { top_k(seed, l, "top_k_indices"); }

TEST(random_sorts) {
  CHECK(gpu_check_random_bits(RLX_OP_sort, 7, any_sort));
  CHECK(gpu_check_random_bits(RLX_OP_argsort, 5, any_argsort));
}
TEST(random_top_k) {
  CHECK(gpu_check_random_bits(RLX_OP_top_k_values, 5, any_values));
  CHECK(gpu_check_random_bits(RLX_OP_top_k_indices, 5, any_indices));
}

TEST(long_lines_are_merged) {
  CHECK(gpu_check_bits(RLX_OP_sort, "x: f32[5011]", "sort(%x)"));
  CHECK(gpu_check_bits(RLX_OP_sort, "x: f16[2,2901] values(1, nan, -0.0, 0, inf, -inf, 3, nan, -4)",
                       "sort(%x) {descending=true}"));
  CHECK(gpu_check_bits(RLX_OP_argsort, "x: i64[2,2500] range(-5000000000,5000000000)", "argsort(%x)"));
  CHECK(gpu_check_bits(RLX_OP_argsort, "x: u8[3000,2]", "argsort(%x) {axis=0, descending=true}"));
  CHECK(gpu_check_bits(RLX_OP_top_k_values, "x: f32[4100]", "top_k_values(%x) {k=2101}"));
  CHECK(gpu_check_bits(RLX_OP_top_k_indices, "x: f32[20257]", "top_k_indices(%x) {k=50}"));
  CHECK(
    gpu_check_bits(RLX_OP_top_k_indices, "x: bf16[2,9000] values(1, 5, 5, 2, nan, 5)", "top_k_indices(%x) {k=200}"));
}

/* ---- random numbers ---- */

static void uniform(uint64_t *seed, gpu_check_line *l) {
  gpu_check_print(&l->inputs, "d: %s[] range(-5,1000)", GPU_CHECK_PICK(seed, "i32", "i64"));
  gpu_check_print(&l->expr, "rng_uniform(%%d) {shape=[%d], to=%s, seed=%d, lo=-1, hi=%d}", gpu_check_int(seed, 1, 3000),
                  GPU_CHECK_PICK(seed, "f32", "f16", "bf16"), gpu_check_int(seed, -9, 99999),
                  gpu_check_int(seed, 0, 3));
}
static void normal(uint64_t *seed, gpu_check_line *l) {
  gpu_check_print(&l->inputs, "d: %s[] range(-5,1000)", GPU_CHECK_PICK(seed, "i32", "i64"));
  gpu_check_print(&l->expr, "rng_normal(%%d) {shape=[%d], to=%s, seed=%d, mean=0.5, std=%d}",
                  gpu_check_int(seed, 1, 3000), GPU_CHECK_PICK(seed, "f32", "f16", "bf16"),
                  gpu_check_int(seed, -9, 99999), gpu_check_int(seed, 0, 3));
}

TEST(random_numbers) {
  CHECK(gpu_check_random(RLX_OP_rng_uniform, 5, uniform));
  CHECK(gpu_check_random(RLX_OP_rng_normal, 5, normal));
}

static void any_sample(uint64_t *seed, gpu_check_line *l) {
  gpu_check_print(&l->inputs, "x: %s[%d,%d] range(-6,6); d: i64[] range(0,1000)",
                  GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16"), gpu_check_int(seed, 1, 12),
                  any_length(seed, 4000));
  gpu_check_print(&l->expr, "sample(%%x, %%d) {temperature=%s, top_k=%d, top_p=%s, min_p=%s, seed=%d}",
                  GPU_CHECK_PICK(seed, "1", "0.7", "3"), gpu_check_int(seed, 0, 2) ? 0 : gpu_check_int(seed, 1, 90),
                  GPU_CHECK_PICK(seed, "1", "0.9", "0.5"), GPU_CHECK_PICK(seed, "0", "0.05"),
                  gpu_check_int(seed, 0, 99));
}

TEST(samples) {
#define DRAW "; d: i64[] range(0,1000)"
  CHECK(gpu_check_random(RLX_OP_sample, 8, any_sample));
  CHECK(gpu_check_text(RLX_OP_sample, "x: f32[40,300] range(-2,2)" DRAW, "sample(%x, %d) {seed=5}"));
  CHECK(gpu_check_text(RLX_OP_sample, "x: f32[40,300] range(-9,9)" DRAW,
                       "sample(%x, %d) {seed=6, top_p=0.95, min_p=0.01}"));
  CHECK(gpu_check_text(RLX_OP_sample, "x: f32[2,20257] range(-4,4)" DRAW, "sample(%x, %d) {seed=7, top_k=50}"));
  CHECK(gpu_check_text(RLX_OP_sample, "x: f32[2,5000] range(-4,4)" DRAW, "sample(%x, %d) {seed=7, top_k=2000}"));
  CHECK(gpu_check_text(RLX_OP_sample, "x: f32[9001] range(-4,4)" DRAW, "sample(%x, %d) {seed=8, top_p=0.9}"));
  CHECK(gpu_check_text(RLX_OP_sample, "x: f16[3,40000] range(-4,4)", "sample(%x) {temperature=0}"));
}
