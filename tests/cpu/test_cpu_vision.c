/* CPU convolution and pooling against the reference: every conformance case, and random shapes. */
#include <stdlib.h>

#include "base/mem.h"
#include "cpu_check.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

TEST(conv_cases) { CHECK(cpu_check_cases(RLX_OP_conv, NULL)); }
TEST(fused_conv_cases) { CHECK(cpu_check_cases(RLX_OP_fused_conv_bias_act, NULL)); }
TEST(pool_max_cases) { CHECK(cpu_check_cases(RLX_OP_pool_max, NULL)); }
TEST(pool_avg_cases) { CHECK(cpu_check_cases(RLX_OP_pool_avg, NULL)); }

/* Sizes of one spatial axis for which the window fits. */
static void any_axis(uint64_t *seed, int max, int *in, int *kernel, int *stride, int *dilation, int *lo, int *hi) {
  *kernel = cpu_check_int(seed, 1, 4);
  *stride = cpu_check_int(seed, 1, 3);
  *dilation = cpu_check_int(seed, 1, 2);
  *lo = cpu_check_int(seed, 0, (*kernel - 1) * *dilation);
  *hi = cpu_check_int(seed, 0, (*kernel - 1) * *dilation);
  int min = (*kernel - 1) * *dilation + 1 - *lo - *hi;
  *in = cpu_check_int(seed, min < 1 ? 1 : min, max);
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

/* Shapes that use Winograd: 3x3, stride 1, with tiles that extend past the image, more rows of tiles than a batch has,
 * padding on any side, channels that fill no block. */
static void any_tiles(uint64_t *seed, cpu_check_line *l) {
  int in = cpu_check_int(seed, 8, 40), out = cpu_check_int(seed, 8, 40), n = cpu_check_int(seed, 1, 2);
  int lo[2] = {cpu_check_int(seed, 0, 2), cpu_check_int(seed, 0, 2)};
  int hi[2] = {cpu_check_int(seed, 0, 3), cpu_check_int(seed, 0, 3)};
  int size[2] = {cpu_check_int(seed, 3, 30), cpu_check_int(seed, 3, 30)};
  const char *act = CPU_CHECK_PICK(seed, "none", "relu", "silu");
  cpu_check_print(&l->inputs, "x: f32[%d,%d,%d,%d]; param w: f32[%d,%d,3,3]; b: f32[%d]; r: f32[%d,%d,%d,%d]", n, in,
                  size[0], size[1], out, in, out, n, out, size[0] + lo[0] + hi[0] - 2, size[1] + lo[1] + hi[1] - 2);
  cpu_check_print(&l->expr, "fused_conv_bias_act(%%x, %%w, %s, %s) {pad_lo=[%d,%d], pad_hi=[%d,%d], act=%s}",
                  CPU_CHECK_PICK(seed, "%b", "_"), CPU_CHECK_PICK(seed, "%r", "_"), lo[0], lo[1], hi[0], hi[1], act);
}

TEST(tiles_random) {
  CHECK(cpu_check_random(RLX_OP_fused_conv_bias_act, TEST_IS_SANITIZED ? 10 : 60, any_tiles, NULL));
}

/* Large enough for several batches of tiles and several steps of channels; and one row or column of tiles. */
TEST(tiles_sizes) {
  static const char *const shapes[] = {"8,112,113", "140,12,9", "300,5,7", "64,1,40", "64,40,2"};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    char inputs[256];
    int channels = atoi(shapes[i]);
    snprintf(inputs, sizeof inputs, "x: f32[1,%s]; param w: f32[17,%d,3,3]; b: f32[17]", shapes[i], channels);
    CHECK(cpu_check_text(RLX_OP_conv, inputs, "conv(%x, %w, %b) {pad_lo=[1,1], pad_hi=[1,1]}", NULL));
  }
}

/* A value that the transforms cannot take spreads no further than its window. */
TEST(tiles_special) {
  CHECK(cpu_check_text(RLX_OP_conv, "x: f32[1,16,30,30] special; param w: f32[16,16,3,3] range(0.5,1)",
                       "conv(%x, %w) {pad_lo=[1,1], pad_hi=[1,1]}", NULL));
  CHECK(cpu_check_text(RLX_OP_conv, "x: f32[1,16,30,30] range(0.5,1); param w: f32[16,16,3,3] special",
                       "conv(%x, %w) {pad_lo=[1,1], pad_hi=[1,1]}", NULL));
}

static void any_depthwise(uint64_t *seed, cpu_check_line *l) {
  int channels = cpu_check_int(seed, 1, 40), k[2], stride[2], lo[2], hi[2], in[2], out[2];
  bool square = cpu_check_int(seed, 0, 2) > 0;
  for (int a = 0; a < 2; a++) {
    k[a] = a && square ? k[0] : square ? 3 + 2 * cpu_check_int(seed, 0, 1) : cpu_check_int(seed, 1, 7);
    stride[a] = cpu_check_int(seed, 1, 3);
    lo[a] = cpu_check_int(seed, 0, 1) ? k[a] / 2 : cpu_check_int(seed, 0, k[a]);
    hi[a] = cpu_check_int(seed, 0, k[a]);
    in[a] = cpu_check_int(seed, k[a] > lo[a] ? k[a] - lo[a] : 1, a ? 70 : 20);
    out[a] = (in[a] + lo[a] + hi[a] - k[a]) / stride[a] + 1;
  }
  cpu_check_print(&l->inputs, "x: f32[1,%d,%d,%d]; param w: f32[%d,1,%d,%d]; b: f32[%d]; r: f32[1,%d,%d,%d]", channels,
                  in[0], in[1], channels, k[0], k[1], channels, channels, out[0], out[1]);
  cpu_check_print(
    &l->expr,
    "fused_conv_bias_act(%%x, %%w, %%b, %s) {groups=%d, stride=[%d,%d], pad_lo=[%d,%d], pad_hi=[%d,%d], act=%s}",
    CPU_CHECK_PICK(seed, "%r", "_"), channels, stride[0], stride[1], lo[0], lo[1], hi[0], hi[1],
    CPU_CHECK_PICK(seed, "none", "relu", "silu"));
}

TEST(depthwise_random) {
  CHECK(cpu_check_random(RLX_OP_fused_conv_bias_act, TEST_IS_SANITIZED ? 20 : 120, any_depthwise, NULL));
}

/* Planes that keep their size, including those smaller than the kernel. */
TEST(depthwise_same) {
  static const int sizes[][2] = {{1, 1}, {1, 17}, {2, 3}, {3, 2}, {5, 16}, {7, 7}, {9, 15}, {6, 33}, {14, 48}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int k = 3; k <= 5; k += 2)
      for (int stride = 1; stride <= 2; stride++) {
        char inputs[256], expr[256];
        snprintf(inputs, sizeof inputs, "x: f32[2,3,%d,%d]; param w: f32[3,1,%d,%d]; b: f32[3]", sizes[i][0],
                 sizes[i][1], k, k);
        snprintf(expr, sizeof expr, "conv(%%x, %%w, %%b) {groups=3, stride=[%d,%d], pad_lo=[%d,%d], pad_hi=[%d,%d]}",
                 stride, stride, k / 2, k / 2, k / 2, k / 2);
        CHECK(cpu_check_text(RLX_OP_conv, inputs, expr, NULL));
      }
}

static rlx_status write_noise(rlx_executable *e, const char *name, rlx_dims shape) {
  rlx_tensor t;
  uint32_t state = 1;
  RLX_TRY(rlx_tensor_create(&(rlx_type){.dtype = RLX_F32, .shape = shape}, &t));
  for (size_t i = 0; i < t.bytes / sizeof(float); i++) {
    state = state * 1664525 + 1013904223;
    ((float *)t.data)[i] = (float)(state >> 8) * 0x1p-24f;
  }
  rlx_status s = rlx_executable_write(e, name, &t);
  rlx_tensor_deinit(&t);
  return s;
}

/* A plane so large that it runs in bands of rows, against parts of it that do not. */
TEST(depthwise_in_bands) {
  enum { ROWS = 6001, WIDTH = 4100 };
  static const struct {
    int k, stride, from, rows; /* a part of the input, whose inner rows are compared */
  } parts[] = {{3, 1, 0, 40}, {3, 1, 210, 40}, {5, 1, 60, 40}, {5, 2, 140, 60}, {5, 2, 5960, 41}, {5, 1, 5961, 40}};
  rlx_session *s;
  if (TEST_IS_SANITIZED) SKIP("hundreds of megabytes");
  OPEN_SESSION("cpu", TEST_THREADS(2), &s);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    int k = parts[i].k, half = k / 2, stride = parts[i].stride, first = parts[i].from / stride + half,
        end = (parts[i].from + parts[i].rows) / stride - half, end_of_part = parts[i].from + parts[i].rows;
    if (parts[i].from == 0) first = 0;
    if (end_of_part == ROWS) end = (ROWS - 1) / stride + 1;
    char leaves[256], expr[1024], conv[256];
    snprintf(leaves, sizeof leaves, "x: f32[1,1,%d,%d]; w: f32[1,1,%d,%d]", ROWS, WIDTH, k, k);
    snprintf(conv, sizeof conv, "stride=[%d,%d], pad_lo=[%d,%d], pad_hi=[%d,%d]", stride, stride, half, half, half,
             half);
    snprintf(
      expr, sizeof expr,
      "%%a = conv(%%x, %%w) {%s}; %%b = slice(%%a) {axes=[2], start=[%d], stop=[%d]}; %%c = slice(%%x) {axes=[2], "
      "start=[%d], stop=[%d]}; %%d = conv(%%c, %%w) {%s}; %%e = slice(%%d) {axes=[2], start=[%d], stop=[%d]}; "
      "%%f = sub(%%b, %%e); %%g = abs(%%f); reduce_max(%%g) {axes=[0,1,2,3]}",
      conv, first, end, parts[i].from, end_of_part, conv, first - parts[i].from / stride, end - parts[i].from / stride);
    rlx_graph *g;
    rlx_executable *e;
    rlx_tensor worst;
    CHECK_OK(expr_graph(leaves, expr, &g));
    CHECK_OK(rlx_compile(s, g, NULL, &e));
    CHECK_OK(write_noise(e, "x", RLX_DIMS(1, 1, ROWS, WIDTH)));
    CHECK_OK(write_noise(e, "w", RLX_DIMS(1, 1, k, k)));
    CHECK_OK(rlx_executable_run(e));
    CHECK_OK(run_read(e, "y", &worst));
    if (!(*(const float *)worst.data < 1e-5f)) FAIL("part %zu differs by %g", i, (double)*(const float *)worst.data);
    rlx_tensor_deinit(&worst);
    rlx_executable_destroy(e);
    rlx_graph_destroy(g);
  }
  rlx_session_destroy(s);
}

/* Positions that fill no vector; panels that are shared, per task, or the image itself. */
TEST(conv_panels) {
  static const char *const lines[][2] = {
    {"x: f32[1,40,7,7]; param w: f32[70,40,1,1]; b: f32[70]", "conv(%x, %w, %b)"},
    {"x: f32[1,300,7,7]; param w: f32[40,300,3,3]", "conv(%x, %w) {pad_lo=[1,1], pad_hi=[1,1], stride=[2,2]}"},
    {"x: f32[2,20,14,14]; param w: f32[33,20,1,1]", "conv(%x, %w)"},
    {"x: f32[1,6,60,61]; param w: f32[40,6,1,1]", "conv(%x, %w)"},
    {"x: f32[1,3,64,67]; param w: f32[20,3,7,7]", "conv(%x, %w) {pad_lo=[3,3], pad_hi=[3,3], stride=[2,2]}"},
    {"x: f32[1,3,64,67]; param w: f32[20,3,7,7]", "conv(%x, %w) {pad_lo=[3,3], pad_hi=[3,3], stride=[3,4]}"},
    {"x: f32[2,5,60,61]; param w: f32[50,5,1,1]; b: f32[50]", "conv(%x, %w, %b)"},
    {"x: f32[1,3,100,67]; param w: f32[37,3,3,3]; b: f32[37]", "conv(%x, %w, %b) {stride=[1,2]}"},
    {"x: f32[1,24,1,1]; param w: f32[50,24,1,1]; b: f32[50]", "conv(%x, %w, %b)"},
    {"x: f32[2,6,70,1]; param w: f32[20,6,5,1]; b: f32[20]",
     "conv(%x, %w, %b) {stride=[2,3], pad_lo=[2,0], pad_hi=[1,0]}"},
    {"x: f32[1,4,9,30,1]; param w: f32[18,4,3,5,1]", "conv(%x, %w) {dilation=[1,2,7]}"},
    {"x: f32[1,4,90,1,1]; param w: f32[8,4,3,1,1]", "conv(%x, %w)"},
    {"x: f32[1,60,9,9]; param w: f32[90,20,1,1]", "conv(%x, %w) {groups=3}"},
    {"x: f32[1,512,9,9]; param w: f32[512,2,1,1]", "conv(%x, %w) {groups=256}"},
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    CHECK(cpu_check_text(RLX_OP_conv, lines[i][0], lines[i][1], NULL));
}

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

/* The maximum of whole planes: fewer elements than a vector has, several vectors, NaN and infinities among them. */
TEST(pool_max_whole) {
  static const char *const sizes[] = {"1", "3", "17", "64", "508", "9,7", "1,1", "33,16", "2,3,5"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char inputs[64];
    snprintf(inputs, sizeof inputs, "x: f32[2,5,%s] special", sizes[i]);
    CHECK(cpu_check_text(RLX_OP_pool_max, inputs, "pool_max(%x)", NULL));
  }
}
TEST(pool_avg_random) { CHECK(cpu_check_random(RLX_OP_pool_avg, TEST_IS_SANITIZED ? 40 : 150, any_avg, NULL)); }
