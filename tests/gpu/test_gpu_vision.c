/* GPU convolutions, pooling, im2col, resize and grid_sample against the reference: random shapes and attributes, and
 * sizes past one workgroup. */
#include "gpu/window.h"
#include "gpu_check.h"
#include "test.h"

enum { FEW = TEST_IS_SANITIZED ? 10 : 14 }; /* creating a pipeline for each kind of case takes most of the time */

/* A list of numbers as text: "3,1,2". */
typedef struct list {
  char text[64];
} list;
static void list_add(list *l, int v) {
  size_t n = strlen(l->text);
  snprintf(l->text + n, sizeof l->text - n, "%s%d", n ? "," : "", v);
}

/* Windows over 1 to 3 axes that fit their input. */
typedef struct window {
  int axes;
  list in, kernel, stride, dilation, lo, hi;
} window;

static void any_window(uint64_t *seed, int axes, int max, int max_kernel, window *w) {
  *w = (window){.axes = axes};
  for (int a = 0; a < axes; a++) {
    int kernel = gpu_check_int(seed, 1, max_kernel), dilation = gpu_check_int(seed, 1, 2);
    int reach = (kernel - 1) * dilation;
    int lo = gpu_check_int(seed, 0, reach), hi = gpu_check_int(seed, 0, reach);
    int min = reach + 1 - lo - hi;
    list_add(&w->in, gpu_check_int(seed, min < 1 ? 1 : min, max > min ? max : min));
    list_add(&w->kernel, kernel);
    list_add(&w->stride, gpu_check_int(seed, 1, 3));
    list_add(&w->dilation, dilation);
    list_add(&w->lo, lo);
    list_add(&w->hi, hi);
  }
}

static int most_of(int axes) { return axes == 1 ? 150 : axes == 2 ? 20 : 7; }

/* ---- conv, conv_transpose ---- */

static void print_conv(uint64_t *seed, gpu_check_line *l, const window *w, bool transposed, int groups, int each_in,
                       int each_out, const char *more) {
  const char *t = GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16");
  const char *tw = strcmp(t, "f32") == 0 ? GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16") : t;
  bool bias = gpu_check_int(seed, 0, 1) == 1;
  int in = each_in * groups, out = each_out * groups;
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%s]; %s w: %s[%d,%d,%s]; b: %s[%d]", t, gpu_check_int(seed, 1, 3), in,
                  w->in.text, GPU_CHECK_PICK(seed, "param", ""), tw, transposed ? in : out,
                  transposed ? each_out : each_in, w->kernel.text, t, out);
  gpu_check_print(&l->expr, "%s(%%x, %%w%s) {groups=%d, stride=[%s], dilation=[%s], pad_lo=[%s], pad_hi=[%s]%s}",
                  transposed ? "conv_transpose" : "conv", bias ? ", %b" : "", groups, w->stride.text, w->dilation.text,
                  w->lo.text, w->hi.text, more);
}

static void any_conv(uint64_t *seed, gpu_check_line *l) {
  window w;
  int axes = gpu_check_int(seed, 1, 3);
  any_window(seed, axes, most_of(axes), 4, &w);
  print_conv(seed, l, &w, false, gpu_check_int(seed, 1, 3), gpu_check_int(seed, 1, 18), gpu_check_int(seed, 1, 20), "");
}

static void any_depthwise(uint64_t *seed, gpu_check_line *l) {
  window w;
  int axes = gpu_check_int(seed, 1, 3);
  any_window(seed, axes, most_of(axes), 5, &w);
  print_conv(seed, l, &w, false, gpu_check_int(seed, 2, 9), 1, gpu_check_int(seed, 1, 2), "");
}

/* Kernels of more than 32 taps. */
static void any_large_kernel(uint64_t *seed, gpu_check_line *l) {
  window w;
  any_window(seed, 2, 16, 9, &w);
  print_conv(seed, l, &w, false, 1, gpu_check_int(seed, 1, 6), gpu_check_int(seed, 3, 40), "");
}

TEST(conv_random) { CHECK(gpu_check_random(RLX_OP_conv, FEW, any_conv)); }
TEST(conv_depthwise) { CHECK(gpu_check_random(RLX_OP_conv, FEW / 2, any_depthwise)); }
TEST(conv_large_kernel) { CHECK(gpu_check_random(RLX_OP_conv, FEW / 4, any_large_kernel)); }

/* More channels and positions than a tile, sums of many tiles. */
TEST(conv_tiles) {
  CHECK(gpu_check_text(RLX_OP_conv, "x: f32[2,20,13,11]; w: f32[70,20,3,3]; b: f32[70]",
                       "conv(%x, %w, %b) {pad_lo=[1,1], pad_hi=[1,1]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: f32[3,130,5,5]; w: f32[140,130,1,1]", "conv(%x, %w)"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: f16[1,64,7,7]; w: f16[66,64,3,3]; b: f16[66]",
                       "conv(%x, %w, %b) {pad_lo=[1,1], pad_hi=[1,1]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: f32[1,3,40,41]; param w: bf16[24,3,7,7]; b: f32[24]",
                       "conv(%x, %w, %b) {stride=[2,2], pad_lo=[3,3], pad_hi=[3,3]}"));
}

/* Convolutions for matrix units, on devices that have them: f16 and bf16, planes of even and odd size, channels that
 * are not a multiple of eight, a row of results that ends inside an image. */
TEST(conv_matrices) {
  CHECK(gpu_check_text(RLX_OP_conv, "x: f16[2,32,12,11]; param w: f16[64,32,3,3]; b: f16[64]",
                       "conv(%x, %w, %b) {pad_lo=[1,1], pad_hi=[1,1]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: bf16[3,20,9,12]; w: bf16[150,20,2,3]; b: bf16[150]",
                       "conv(%x, %w, %b) {stride=[1,2], pad_lo=[0,2]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: f16[1,100,7,7]; w: f16[20,100,3,3]",
                       "conv(%x, %w) {dilation=[2,2], pad_lo=[2,2], pad_hi=[2,2]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: f16[5,48,6,6]; w: f16[130,48,1,1]; b: f16[130]", "conv(%x, %w, %b)"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: bf16[2,16,70]; w: bf16[32,16,5]",
                       "conv(%x, %w) {stride=[2], pad_lo=[2], pad_hi=[2]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: f16[1,8,5,6,7]; w: f16[24,8,3,3,3]; b: f16[24]",
                       "conv(%x, %w, %b) {pad_lo=[1,1,1], pad_hi=[1,1,1]}"));
}

/* The lowering for such a device, without one: the preference for transposed weights, and the kernels, for a plane that
 * is large enough and for one that is not. */
static gpu_caps with_matrix_units(void) {
  gpu_caps caps = {.max_group = 256, .max_shared = 48 * 1024, .max_groups_x = 65535, .max_window_bytes = 1 << 30};
  caps.units = 100, caps.subgroup = 32, caps.has_f16 = caps.has_coopmat = true;
  return caps;
}

static bool lowers_to(int64_t side, const uint32_t *layout, const char *kernel, uint32_t preferred) {
  const gpu_caps caps = with_matrix_units();
  rlx_graph *g;
  gpu_lowering l;
  if (rlx_graph_create(&g)) return false;
  rlx_node x = rlx_op_input(g, "x", RLX_F16, RLX_DIMS(1, 20, side, side));
  rlx_node y =
    rlx_op_conv(g, x, rlx_op_param(g, "w", RLX_F16, RLX_DIMS(32, 20, 3, 3)), 0,
                &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1)});
  rlx_claim_query q = {.graph = g, .node = y, .layout = layout};
  bool ok = y && gpu_lower(&caps, &q, &l) == RLX_OK && l.claim.native && l.claim.layout[1] == preferred;
  bool found = false;
  for (size_t i = 0; ok && i < l.dispatches.n; i++) found |= strcmp(l.dispatches.v[i].kernel->name, kernel) == 0;
  if (ok) gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  return ok && found;
}

TEST(conv_matrices_lowering) {
  uint32_t plain[2] = {0, 0}, turned[2] = {0, GPU_LAYOUT_TRANSPOSED};
  CHECK(lowers_to(10, NULL, "conv_coop", GPU_LAYOUT_TRANSPOSED));
  CHECK(lowers_to(10, plain, "conv_coop", 0));
  CHECK(lowers_to(10, turned, "conv_coop", 0));
  CHECK(lowers_to(4, turned, "conv_tile", 0));
}

/* The kernels of a 3 x 3 convolution with padding on Hopper. */
static const char *wide_kernels(int64_t images, int64_t channels, int64_t side, int64_t out) {
  static char text[128];
  gpu_caps caps = with_matrix_units();
  caps.units = 132, caps.max_group = 1024, caps.max_dynamic = 224 * 1024, caps.has_wgmma = true;
  uint32_t layout[2] = {0, GPU_LAYOUT_TRANSPOSED};
  rlx_graph *g;
  gpu_lowering l;
  text[0] = 0;
  if (rlx_graph_create(&g)) return "no memory";
  rlx_node x = rlx_op_input(g, "x", RLX_F16, RLX_DIMS(images, channels, side, side));
  rlx_node y =
    rlx_op_conv(g, x, rlx_op_param(g, "w", RLX_F16, RLX_DIMS(out, channels, 3, 3)), 0,
                &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1)});
  rlx_claim_query q = {.graph = g, .node = y, .layout = layout};
  if (y && gpu_lower(&caps, &q, &l) == RLX_OK) {
    for (size_t i = 0; i < l.dispatches.n; i++) {
      size_t at = strlen(text);
      snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "", l.dispatches.v[i].kernel->name);
    }
    gpu_lowering_deinit(&l);
  }
  rlx_graph_destroy(g);
  return text;
}

TEST(conv_hopper_lowering) {
  CHECK_EQ_STR(wide_kernels(32, 64, 56, 64), "transpose8 conv_wide");
  CHECK_EQ_STR(wide_kernels(32, 512, 7, 512), "strided conv_wide conv_sum");
  CHECK_EQ_STR(wide_kernels(1, 64, 8, 64), "transpose8 conv_coop conv_sum"); /* few positions */
  CHECK_EQ_STR(wide_kernels(32, 64, 56, 20), "transpose8 conv_coop");        /* few channels */
}

TEST(conv_transposed_weights) {
  rlx_type t = {RLX_F16, RLX_DIMS(2, 3, 1, 2)};
  uint16_t plain[12], turned[32], back[12], parts[32];
  for (int i = 0; i < 12; i++) plain[i] = (uint16_t)(i + 1);
  CHECK(gpu_layout_bytes(NULL, GPU_LAYOUT_TRANSPOSED, &t) == sizeof turned);
  CHECK_OK(gpu_repack(NULL, GPU_LAYOUT_TRANSPOSED, &t, true, plain, turned, NULL));
  CHECK(turned[0] == 1 && turned[1] == 3 && turned[2] == 5 && turned[3] == 0 && turned[8] == 2 && turned[16] == 7);
  CHECK_OK(gpu_repack(NULL, GPU_LAYOUT_TRANSPOSED, &t, false, turned, back, NULL));
  CHECK(memcmp(plain, back, sizeof plain) == 0);
  for (size_t at = 0; at < 4; at++)
    gpu_repack_part(NULL, GPU_LAYOUT_TRANSPOSED, &t, plain, 16 * at, parts + 8 * at, 16);
  CHECK(memcmp(parts, turned, sizeof turned) == 0);
}

/* Few positions and a long sum: split along the channels, the parts added in a second pass. */
TEST(conv_split) {
  CHECK(gpu_check_text(RLX_OP_conv, "x: f32[1,256,3,3]; w: f32[9,256,3,3]; b: f32[9]",
                       "conv(%x, %w, %b) {pad_lo=[1,1], pad_hi=[1,1]}"));
  CHECK(gpu_check_text(RLX_OP_conv, "x: bf16[1,301,5]; w: bf16[12,301,4]; b: bf16[12]", "conv(%x, %w, %b)"));
}

static void any_transposed(uint64_t *seed, gpu_check_line *l) {
  int axes = gpu_check_int(seed, 1, 3), max = axes == 1 ? 40 : axes == 2 ? 9 : 4;
  window w = {.axes = axes};
  list more = {""};
  for (int a = 0; a < axes; a++) {
    int in = gpu_check_int(seed, 1, max), kernel = gpu_check_int(seed, 1, 4), stride = gpu_check_int(seed, 1, 4);
    int dilation = gpu_check_int(seed, 1, 3), full = (in - 1) * stride + (kernel - 1) * dilation + 1;
    int lo = gpu_check_int(seed, 0, full / 2), hi = gpu_check_int(seed, 0, full / 2 ? full / 2 - 1 : 0);
    list_add(&w.in, in);
    list_add(&w.kernel, kernel);
    list_add(&w.stride, stride);
    list_add(&w.dilation, dilation);
    list_add(&w.lo, lo);
    list_add(&w.hi, hi);
    list_add(&more, gpu_check_int(seed, 0, (stride > dilation ? stride : dilation) - 1));
  }
  char text[96];
  snprintf(text, sizeof text, ", output_pad=[%s]", more.text);
  print_conv(seed, l, &w, true, gpu_check_int(seed, 1, 3), gpu_check_int(seed, 1, 12), gpu_check_int(seed, 1, 12),
             text);
}

TEST(conv_transpose_random) { CHECK(gpu_check_random(RLX_OP_conv_transpose, FEW, any_transposed)); }
TEST(conv_transpose_large) {
  CHECK(gpu_check_text(RLX_OP_conv_transpose, "x: f32[2,33,9,10]; param w: f32[33,20,4,4]; b: f32[20]",
                       "conv_transpose(%x, %w, %b) {stride=[2,2], pad_lo=[1,1], pad_hi=[1,1]}"));
  CHECK(gpu_check_text(RLX_OP_conv_transpose, "x: f16[1,16,7,7]; w: f16[16,9,3,3]; b: f16[9]",
                       "conv_transpose(%x, %w, %b) {stride=[2,3], pad_lo=[1,0], pad_hi=[0,1], output_pad=[1,2]}"));
  CHECK(
    gpu_check_text(RLX_OP_conv_transpose, "x: f32[1,8,30]; w: f32[8,8,41]", "conv_transpose(%x, %w) {stride=[20]}"));
}

/* ---- pooling, im2col ---- */

static void any_pool(uint64_t *seed, gpu_check_line *l, const char *op, const char *values) {
  window w;
  int axes = gpu_check_int(seed, 1, 3);
  any_window(seed, axes, most_of(axes), gpu_check_int(seed, 0, 3) ? 4 : 9, &w);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%s] %s", GPU_CHECK_PICK(seed, "f32", "f16", "bf16"),
                  gpu_check_int(seed, 1, 3), gpu_check_int(seed, 1, 11), w.in.text, values);
  if (gpu_check_int(seed, 0, 5) == 0) gpu_check_print(&l->expr, "%s(%%x)", op);
  else
    gpu_check_print(&l->expr, "%s(%%x) {kernel=[%s], stride=[%s], dilation=[%s], pad_lo=[%s], pad_hi=[%s], ceil=%s%s}",
                    op, w.kernel.text, w.stride.text, w.dilation.text, w.lo.text, w.hi.text,
                    GPU_CHECK_PICK(seed, "true", "false"),
                    strcmp(op, "pool_avg") != 0 ? "" : GPU_CHECK_PICK(seed, ", count_pad=true", ""));
}
static void any_max(uint64_t *seed, gpu_check_line *l) { any_pool(seed, l, "pool_max", ""); }
static void special_max(uint64_t *seed, gpu_check_line *l) { any_pool(seed, l, "pool_max", "special"); }
static void any_avg(uint64_t *seed, gpu_check_line *l) { any_pool(seed, l, "pool_avg", ""); }
TEST(pool_max_random) { CHECK(gpu_check_random_bits(RLX_OP_pool_max, FEW, any_max)); }
TEST(pool_max_special) { CHECK(gpu_check_random(RLX_OP_pool_max, FEW / 3, special_max)); }
TEST(pool_avg_random) { CHECK(gpu_check_random(RLX_OP_pool_avg, FEW, any_avg)); }
TEST(pool_large) {
  CHECK(gpu_check_bits(RLX_OP_pool_max, "x: f16[2,3,61,47]", "pool_max(%x)"));
  CHECK(gpu_check_text(RLX_OP_pool_avg, "x: f32[1,5,70,50]", "pool_avg(%x)"));
  CHECK(gpu_check_text(RLX_OP_pool_avg, "x: bf16[3,37,7,7]", "pool_avg(%x)"));
  CHECK(gpu_check_bits(RLX_OP_pool_max, "x: f32[2,9,56,55]",
                       "pool_max(%x) {kernel=[3,3], stride=[2,2], pad_lo=[1,1], pad_hi=[1,1]}"));
}

static void any_im2col(uint64_t *seed, gpu_check_line *l) {
  window w;
  any_window(seed, 2, 15, 4, &w);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%s]",
                  GPU_CHECK_PICK(seed, "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32", "i64", "bool"),
                  gpu_check_int(seed, 1, 3), gpu_check_int(seed, 1, 7), w.in.text);
  gpu_check_print(&l->expr, "im2col(%%x) {kernel=[%s], stride=[%s], dilation=[%s], pad_lo=[%s], pad_hi=[%s]}",
                  w.kernel.text, w.stride.text, w.dilation.text, w.lo.text, w.hi.text);
}
TEST(im2col_random) { CHECK(gpu_check_random_bits(RLX_OP_im2col, FEW, any_im2col)); }
TEST(im2col_all_padding) {
  CHECK(gpu_check_bits(RLX_OP_im2col, "x: i16[2,3,0,4]", "im2col(%x) {kernel=[2,2], pad_lo=[1,0], pad_hi=[2,0]}"));
}

/* ---- resize ---- */

/* Results of a narrow type are compared only if the weights have few digits: otherwise many exact results are ties, and
 * the reference's own last bits decide. */
static void any_resize(uint64_t *seed, gpu_check_line *l) {
  int rank = gpu_check_int(seed, 1, 5), max = rank < 3 ? 60 : rank == 3 ? 20 : 8;
  int changed = gpu_check_int(seed, 1, rank), factor = 2 * gpu_check_int(seed, 1, 2);
  const char *t = GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16"), *mode = GPU_CHECK_PICK(seed, "nearest", "linear");
  bool is_even = strcmp(t, "f32") != 0 && strcmp(mode, "linear") == 0;
  bool is_wide = gpu_check_int(seed, 0, 1) == 1, own_scale = !is_even && gpu_check_int(seed, 0, 3) == 0;
  list in = {""}, out = {""};
  char scale[128] = "";
  for (int a = 0; a < rank; a++) {
    int size = gpu_check_int(seed, 1, max), to = gpu_check_int(seed, 1, max);
    if (is_even) to = factor * size;
    else if (is_wide && a == rank - 1) to = 8 * gpu_check_int(seed, 1, 5); /* whole groups of four words */
    if (a < rank - changed) to = size;
    list_add(&in, size);
    list_add(&out, to);
    size_t n = strlen(scale);
    double s = (double)to / size * (gpu_check_int(seed, 0, 1) ? 1 : 1.0 + 0.01 * gpu_check_int(seed, -20, 20));
    snprintf(scale + n, sizeof scale - n, "%s%.4f", n ? "," : "", to == size ? 1 : s);
  }
  gpu_check_print(&l->inputs, "x: %s[%s]", t, in.text);
  gpu_check_print(&l->expr, "resize(%%x) {size=[%s]%s%s%s, mode=%s, coords=%s, nearest=%s}", out.text,
                  own_scale ? ", scale=[" : "", own_scale ? scale : "", own_scale ? "]" : "", mode,
                  is_even ? "half_pixel"
                          : GPU_CHECK_PICK(seed, "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
                                           "half_pixel_symmetric"),
                  GPU_CHECK_PICK(seed, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"));
}
TEST(resize_random) { CHECK(gpu_check_random(RLX_OP_resize, 2 * FEW, any_resize)); }
TEST(resize_large) {
  CHECK(gpu_check_bits(RLX_OP_resize, "x: f16[1,3,32,32]",
                       "resize(%x) {size=[1,3,64,64], coords=asymmetric, nearest=floor}"));
  CHECK(gpu_check_text(RLX_OP_resize, "x: f32[2,5,17,20] special", "resize(%x) {size=[2,5,34,40]}"));
  CHECK(gpu_check_text(RLX_OP_resize, "x: f32[1,2,33,47]", "resize(%x) {size=[1,2,80,100], mode=linear}"));
  CHECK(gpu_check_text(RLX_OP_resize, "x: f32[1,20,20,9]", "resize(%x) {size=[1,31,29,9], mode=linear}"));
}

/* ---- grid_sample ---- */

static void any_grid(uint64_t *seed, gpu_check_line *l) {
  const char *t = GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16");
  const char *mode = GPU_CHECK_PICK(seed, "linear", "nearest", "cubic");
  int axes = strcmp(mode, "cubic") == 0 ? 2 : gpu_check_int(seed, 2, 3), n = gpu_check_int(seed, 1, 3);
  list in = {""}, out = {""};
  for (int a = 0; a < axes; a++) {
    list_add(&in, gpu_check_int(seed, 1, 12));
    list_add(&out, gpu_check_int(seed, 1, axes == 2 ? 15 : 6));
  }
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%s]; g: %s[%d,%s,%d] %s", t, n, gpu_check_int(seed, 1, 19), in.text, t, n,
                  out.text, axes,
                  GPU_CHECK_PICK(seed, "range(-1,1)", "range(-1.2,1.2)", "range(-9,9)", "range(-500,500)", "special",
                                 "values(-1,-0.75,-0.5,-0.25,0,0.25,0.5,0.75,1,3)"));
  gpu_check_print(&l->expr, "grid_sample(%%x, %%g) {mode=%s, padding=%s, align_corners=%s}", mode,
                  GPU_CHECK_PICK(seed, "zeros", "border", "reflection"), GPU_CHECK_PICK(seed, "true", "false"));
}
TEST(grid_sample_random) { CHECK(gpu_check_random(RLX_OP_grid_sample, 2 * FEW, any_grid)); }
/* Long axes, where an f32 position would be off by more than the tolerance; and nearest samples, which must be
 * exact. */
TEST(grid_sample_long_axis) {
  CHECK(
    gpu_check_text(RLX_OP_grid_sample, "x: f32[1,2,3,30001]; g: f32[1,40,50,2] range(-1,1)", "grid_sample(%x, %g)"));
  CHECK(gpu_check_bits(RLX_OP_grid_sample, "x: f32[1,2,3,30001]; g: f32[1,40,50,2] range(-3,3)",
                       "grid_sample(%x, %g) {mode=nearest, padding=reflection}"));
}
