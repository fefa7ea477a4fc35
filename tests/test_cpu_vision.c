/* The CPU's convolutions and pools against the reference: every conformance case, and random shapes. */
#include "cpu_check.h"
#include "test.h"

TEST(conv_cases) { CHECK(cpu_check_cases(RLX_OP_conv, NULL)); }
TEST(pool_max_cases) { CHECK(cpu_check_cases(RLX_OP_pool_max, NULL)); }
TEST(pool_avg_cases) { CHECK(cpu_check_cases(RLX_OP_pool_avg, NULL)); }

/* Sizes of one spatial axis for which the window fits. */
static void any_axis(uint64_t *seed, int most, int *in, int *kernel, int *stride, int *dilation, int *lo, int *hi) {
  *kernel = cpu_check_int(seed, 1, 4);
  *stride = cpu_check_int(seed, 1, 3);
  *dilation = cpu_check_int(seed, 1, 2);
  *lo = cpu_check_int(seed, 0, (*kernel - 1) * *dilation);
  *hi = cpu_check_int(seed, 0, (*kernel - 1) * *dilation);
  int least = (*kernel - 1) * *dilation + 1 - *lo - *hi;
  *in = cpu_check_int(seed, least < 1 ? 1 : least, most);
}

static void any_conv(uint64_t *seed, cpu_check_line *l) {
  const char *type = CPU_CHECK_PICK(seed, "f32", "f32", "f32", "f16", "bf16");
  const char *w_type = strcmp(type, "f32") == 0 ? CPU_CHECK_PICK(seed, "f32", "f32", "f16") : type;
  int axes = cpu_check_int(seed, 1, 3), groups = cpu_check_int(seed, 1, 3), v[6][3];
  bool depthwise = cpu_check_int(seed, 0, 3) == 0;
  int each_in = depthwise ? 1 : cpu_check_int(seed, 1, 20), each_out = cpu_check_int(seed, 1, depthwise ? 2 : 20);
  char in[64] = "", kernel[64] = "", lists[4][64] = {"", "", "", ""};
  for (int a = 0; a < axes; a++) {
    any_axis(seed, axes == 1 ? 120 : axes == 2 ? 24 : 8, &v[0][a], &v[1][a], &v[2][a], &v[3][a], &v[4][a], &v[5][a]);
    snprintf(in + strlen(in), sizeof in - strlen(in), ",%d", v[0][a]);
    snprintf(kernel + strlen(kernel), sizeof kernel - strlen(kernel), ",%d", v[1][a]);
    for (int i = 0; i < 4; i++)
      snprintf(lists[i] + strlen(lists[i]), sizeof lists[i] - strlen(lists[i]), "%s%d", a ? "," : "", v[2 + i][a]);
  }
  bool is_param = cpu_check_int(seed, 0, 1) == 1, bias = cpu_check_int(seed, 0, 1) == 1;
  cpu_check_print(&l->inputs, "x: %s[%d,%d%s]; %s w: %s[%d,%d%s]; b: %s[%d]", type, cpu_check_int(seed, 1, 2),
                  each_in * groups, in, is_param ? "param" : "", w_type, each_out * groups, each_in, kernel, type,
                  each_out * groups);
  cpu_check_print(&l->expr, "conv(%%x, %%w%s) {groups=%d, stride=[%s], dilation=[%s], pad_lo=[%s], pad_hi=[%s]}",
                  bias ? ", %b" : "", groups, lists[0], lists[1], lists[2], lists[3]);
}

TEST(conv_random) { CHECK(cpu_check_random(RLX_OP_conv, TEST_IS_SANITIZED ? 60 : 250, any_conv, NULL)); }

static void any_pool(uint64_t *seed, cpu_check_line *l, const char *op) {
  int axes = cpu_check_int(seed, 1, 3), v[6][3];
  char in[64] = "", lists[5][64] = {"", "", "", "", ""};
  for (int a = 0; a < axes; a++) {
    any_axis(seed, axes == 1 ? 120 : axes == 2 ? 30 : 9, &v[0][a], &v[1][a], &v[2][a], &v[3][a], &v[4][a], &v[5][a]);
    snprintf(in + strlen(in), sizeof in - strlen(in), ",%d", v[0][a]);
    for (int i = 0; i < 5; i++)
      snprintf(lists[i] + strlen(lists[i]), sizeof lists[i] - strlen(lists[i]), "%s%d", a ? "," : "", v[1 + i][a]);
  }
  bool whole = cpu_check_int(seed, 0, 4) == 0;
  cpu_check_print(&l->inputs, "x: %s[%d,%d%s]", CPU_CHECK_PICK(seed, "f32", "f16", "bf16"), cpu_check_int(seed, 1, 2),
                  cpu_check_int(seed, 1, 40), in);
  if (whole) cpu_check_print(&l->expr, "%s(%%x)", op);
  else
    cpu_check_print(&l->expr, "%s(%%x) {kernel=[%s], stride=[%s], dilation=[%s], pad_lo=[%s], pad_hi=[%s], ceil=%s%s}",
                    op, lists[0], lists[1], lists[2], lists[3], lists[4], CPU_CHECK_PICK(seed, "true", "false"),
                    strcmp(op, "pool_avg") != 0 ? "" : CPU_CHECK_PICK(seed, ", count_pad=true", ""));
}

static void any_max(uint64_t *seed, cpu_check_line *l) { any_pool(seed, l, "pool_max"); }
static void any_avg(uint64_t *seed, cpu_check_line *l) { any_pool(seed, l, "pool_avg"); }
TEST(pool_max_random) { CHECK(cpu_check_random(RLX_OP_pool_max, TEST_IS_SANITIZED ? 40 : 150, any_max, NULL)); }
TEST(pool_avg_random) { CHECK(cpu_check_random(RLX_OP_pool_avg, TEST_IS_SANITIZED ? 40 : 150, any_avg, NULL)); }
