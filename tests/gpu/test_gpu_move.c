/* GPU data movement and indexed access against the reference, bit-exact if elements only move: random shapes around the
 * sizes where kernels change their method (whole words, 16 bytes, tiles of 64, groups of 256), and larger ones. */
#include "gpu_check.h"
#include "test.h"

enum { N_RANDOM = TEST_IS_SANITIZED ? 5 : 20 };

TEST(a_vulkan_device_is_tested_too) {
  if (!gpu_check_has("vulkan")) SKIP("no Vulkan device: the emulated GPU alone");
}

/* One type of each element size, including complex. */
static const char *any_type(uint64_t *seed) {
  return GPU_CHECK_PICK(seed, "i8", "bool", "f16", "bf16", "f32", "i32", "i64", "c64");
}

/* Mostly small; often around a tile's edge. */
static int any_size(uint64_t *seed) {
  switch (gpu_check_int(seed, 0, 5)) {
    case 0: return gpu_check_int(seed, 1, 3);
    case 1: return gpu_check_int(seed, 14, 18);
    case 2: return gpu_check_int(seed, 60, 70);
    case 3: return 4 * gpu_check_int(seed, 1, 9);
    default: return gpu_check_int(seed, 1, 9);
  }
}

/* "3,16,5": `rank` sizes whose product is limited. */
static int any_sizes(uint64_t *seed, int rank, int *sizes, char *text, size_t cap) {
  size_t count = 1, n = 0;
  text[0] = 0;
  for (int i = 0; i < rank; i++) {
    sizes[i] = any_size(seed);
    if (count * (size_t)sizes[i] > 20000) sizes[i] = 1;
    count *= (size_t)sizes[i];
    n += (size_t)snprintf(text + n, cap - n, "%s%d", i ? "," : "", sizes[i]);
  }
  return rank;
}

static void shuffled(uint64_t *seed, int n, int *v) {
  for (int i = 0; i < n; i++) {
    int k = gpu_check_int(seed, 0, i);
    v[i] = v[k];
    v[k] = i;
  }
}

/* ---- by position ---- */

static void any_transpose(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1}, perm[8], rank = any_sizes(seed, gpu_check_int(seed, 1, 6), sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  shuffled(seed, rank, perm);
  size_t n = (size_t)snprintf(l->expr, sizeof l->expr, "transpose(%%x) {perm=[");
  for (int i = 0; i < rank; i++) n += (size_t)snprintf(l->expr + n, sizeof l->expr - n, "%s%d", i ? "," : "", perm[i]);
  snprintf(l->expr + n, sizeof l->expr - n, "]}");
}
TEST(random_transpose) { CHECK(gpu_check_random_bits(RLX_OP_transpose, 2 * N_RANDOM, any_transpose)); }

TEST(transpose_around_tiles) {
  static const int sizes[] = {1, 2, 4, 7, 16, 17, 20, 31, 32, 33, 63, 64, 65, 68, 128, 132};
  static const char *const types[] = {"u8", "f16", "f32", "c64"};
  enum { N = sizeof sizes / sizeof *sizes };
  for (int t = 0; t < 4; t++)
    for (int i = 0; i < N; i++)
      for (int k = (i + t) % 3; k < N; k += TEST_IS_SANITIZED ? 6 : 3) {
        char inputs[64];
        snprintf(inputs, sizeof inputs, "x: %s[%d,%d]", types[t], sizes[i], sizes[k]);
        CHECK(gpu_check_bits(RLX_OP_transpose, inputs, "transpose(%x)"));
      }
}

static void any_slice(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, gpu_check_int(seed, 1, 4), sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  char start[128] = "", stop[128] = "", step[128] = "";
  for (int i = 0; i < rank; i++) {
    const char *comma = i ? "," : "";
    snprintf(start + strlen(start), sizeof start - strlen(start), "%s%d", comma,
             gpu_check_int(seed, -sizes[i], sizes[i]));
    snprintf(stop + strlen(stop), sizeof stop - strlen(stop), "%s%d", comma,
             gpu_check_int(seed, -sizes[i], 2 * sizes[i]));
    snprintf(step + strlen(step), sizeof step - strlen(step), "%s%s", comma,
             GPU_CHECK_PICK(seed, "1", "1", "2", "3", "-1", "-2"));
  }
  gpu_check_print(&l->expr, "slice(%%x) {start=[%s], stop=[%s], step=[%s]}", start, stop, step);
}
TEST(random_slice) { CHECK(gpu_check_random_bits(RLX_OP_slice, 2 * N_RANDOM, any_slice)); }

static void any_pad(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, gpu_check_int(seed, 1, 4), sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  char lo[128] = "", hi[128] = "";
  for (int i = 0; i < rank; i++) {
    const char *comma = i ? "," : "";
    snprintf(lo + strlen(lo), sizeof lo - strlen(lo), "%s%d", comma,
             gpu_check_int(seed, 0, 1) * gpu_check_int(seed, 0, 9));
    snprintf(hi + strlen(hi), sizeof hi - strlen(hi), "%s%d", comma,
             gpu_check_int(seed, 0, 1) * gpu_check_int(seed, 0, 9));
  }
  gpu_check_print(&l->expr, "pad(%%x) {lo=[%s], hi=[%s], mode=%s, value=3}", lo, hi,
                  GPU_CHECK_PICK(seed, "constant", "constant", "reflect", "edge", "wrap"));
}
TEST(random_pad) { CHECK(gpu_check_random_bits(RLX_OP_pad, 2 * N_RANDOM, any_pad)); }

static void any_roll(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  gpu_check_print(&l->expr, "roll(%%x) {axes=[%s], shifts=[%d,%d]}", GPU_CHECK_PICK(seed, "0,1", "2,0", "1,-1"),
                  gpu_check_int(seed, -90, 90), gpu_check_int(seed, -9, 9));
}
TEST(random_roll) { CHECK(gpu_check_random_bits(RLX_OP_roll, N_RANDOM, any_roll)); }

static void any_reverse(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  gpu_check_print(&l->expr, "reverse(%%x) {axes=[%s]}", GPU_CHECK_PICK(seed, "0", "1", "2", "0,2", "-1,-2", ""));
}
TEST(random_reverse) { CHECK(gpu_check_random_bits(RLX_OP_reverse, N_RANDOM, any_reverse)); }

static void any_tile(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  gpu_check_print(&l->expr, "tile(%%x) {reps=[%d,%d,%d]}", gpu_check_int(seed, 1, 3), gpu_check_int(seed, 1, 2),
                  gpu_check_int(seed, 1, 3));
}
TEST(random_tile) { CHECK(gpu_check_random_bits(RLX_OP_tile, N_RANDOM, any_tile)); }

/* More axes than fit in the parameters, and more than have modes. */
TEST(tile_of_sixteen_axes) {
  CHECK(gpu_check_bits(RLX_OP_tile, "x: f32[2,3,2,2,2,2,2,3]", "tile(%x) {reps=[2,2,2,2,2,2,2,2]}"));
  CHECK(gpu_check_bits(RLX_OP_tile, "x: i8[2,3,2,2,2,2,2,3]", "tile(%x) {reps=[2,2,2,2,2,2,2,2]}"));
  CHECK(gpu_check_bits(RLX_OP_pad, "x: i16[2,1,3,2,2,1,2,3]",
                       "pad(%x) {lo=[1,2,0,1,0,1,1,2], hi=[0,1,1,0,2,1,0,1], mode=reflect}"));
  CHECK(gpu_check_bits(RLX_OP_pad, "x: f32[2,1,3,2,2,1,2,3]",
                       "pad(%x) {lo=[1,2,0,1,0,1,1,2], hi=[0,1,1,0,2,1,0,1], value=7}"));
}

static void any_expand(uint64_t *seed, gpu_check_line *l) {
  int a = any_size(seed), b = any_size(seed) % 20 + 1, c = any_size(seed), ones = gpu_check_int(seed, 0, 7);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d]", any_type(seed), ones & 1 ? 1 : a, ones & 2 ? 1 : b, ones & 4 ? 1 : c);
  gpu_check_print(&l->expr, "expand(%%x) {shape=[%s%d,%d,%d]}", GPU_CHECK_PICK(seed, "", "2,"), a, b, c);
}
TEST(random_expand) { CHECK(gpu_check_random_bits(RLX_OP_expand, N_RANDOM, any_expand)); }

/* Up to twenty parts, some empty, so several dispatches write into the same words. */
static void any_concat(uint64_t *seed, gpu_check_line *l) {
  int size[3] = {any_size(seed), any_size(seed), gpu_check_int(seed, 1, 9)}, axis = gpu_check_int(seed, 0, 2);
  int parts = gpu_check_int(seed, 0, 1) ? gpu_check_int(seed, 1, 4) : gpu_check_int(seed, 5, 20);
  const char *type = any_type(seed);
  size_t in = 0, out = (size_t)snprintf(l->expr, sizeof l->expr, "concat(");
  for (int i = 0; i < parts; i++) {
    size[axis] = gpu_check_int(seed, 0, 3) ? gpu_check_int(seed, 0, 7) : 4 * gpu_check_int(seed, 0, 5);
    in += (size_t)snprintf(l->inputs + in, sizeof l->inputs - in, "x%d: %s[%d,%d,%d]; ", i, type, size[0], size[1],
                           size[2]);
    out += (size_t)snprintf(l->expr + out, sizeof l->expr - out, "%s%%x%d", i ? ", " : "", i);
  }
  snprintf(l->expr + out, sizeof l->expr - out, ") {axis=%d}", axis);
}
TEST(random_concat) { CHECK(gpu_check_random_bits(RLX_OP_concat, 2 * N_RANDOM, any_concat)); }

static void any_trilu(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  gpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  gpu_check_print(&l->expr, "trilu(%%x) {upper=%s, k=%d}", GPU_CHECK_PICK(seed, "true", "false"),
                  gpu_check_int(seed, -70, 70));
}
TEST(random_trilu) { CHECK(gpu_check_random_bits(RLX_OP_trilu, N_RANDOM, any_trilu)); }

TEST(space_and_depth) {
  CHECK(gpu_check_bits(RLX_OP_space_to_depth, "x: f16[2,3,8,10]", "space_to_depth(%x)"));
  CHECK(gpu_check_bits(RLX_OP_space_to_depth, "x: f32[1,5,36,48]", "space_to_depth(%x) {block=4}"));
  CHECK(gpu_check_bits(RLX_OP_depth_to_space, "x: i8[2,18,7,5]", "depth_to_space(%x) {block=3}"));
  CHECK(gpu_check_bits(RLX_OP_depth_to_space, "x: c64[2,16,9,9]", "depth_to_space(%x) {block=2, mode=crd}"));
}

TEST(large_moves) {
  CHECK(gpu_check_bits(RLX_OP_transpose, "x: f32[390,500]", "transpose(%x)"));
  CHECK(gpu_check_bits(RLX_OP_transpose, "x: f16[390,500]", "transpose(%x)"));
  CHECK(gpu_check_bits(RLX_OP_transpose, "x: f16[3,40,4,80]", "transpose(%x) {perm=[0,2,1,3]}"));
  CHECK(gpu_check_bits(RLX_OP_transpose, "x: f16[2,100,3,80]", "transpose(%x) {perm=[0,2,3,1]}"));
  CHECK(gpu_check_bits(RLX_OP_transpose, "x: u8[3,20000]", "transpose(%x)"));
  CHECK(gpu_check_bits(RLX_OP_slice, "x: f32[300,600]", "slice(%x) {axes=[1], start=[-1], stop=[-601], step=[-2]}"));
  CHECK(gpu_check_bits(RLX_OP_slice, "x: f32[300,600]", "slice(%x) {axes=[1], start=[4], stop=[504]}"));
  CHECK(gpu_check_bits(RLX_OP_expand, "x: f16[3,1]", "expand(%x) {shape=[3,50001]}"));
  CHECK(gpu_check_bits(RLX_OP_concat, "a: f32[300,200]; b: f32[300,36]", "concat(%a, %b) {axis=1}"));
  CHECK(gpu_check_bits(RLX_OP_concat, "a: bf16[300,201]; b: bf16[300,36]", "concat(%a, %b) {axis=1}"));
}

/* ---- by index ---- */

static void any_gather(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, gpu_check_int(seed, 1, 3), sizes, l->expr, sizeof l->expr);
  int axis = gpu_check_int(seed, 0, rank - 1), n = sizes[axis];
  gpu_check_print(&l->inputs, "x: %s[%s]; i: %s[%d,%d] range(%d,%d)", any_type(seed), l->expr,
                  GPU_CHECK_PICK(seed, "i32", "i64"), gpu_check_int(seed, 0, 9), gpu_check_int(seed, 1, 9), -n, n);
  gpu_check_print(&l->expr, "gather(%%x, %%i) {axis=%d}", axis);
}
TEST(random_gather) { CHECK(gpu_check_random_bits(RLX_OP_gather, 2 * N_RANDOM, any_gather)); }

TEST(gather_of_blocks) {
  static const char *const types[] = {"q4_0", "q4_1", "q5_0", "q5_1",   "q8_0",   "q2_k",  "q3_k",  "q4_k",
                                      "q5_k", "q6_k", "q8_k", "iq4_nl", "iq4_xs", "mxfp4", "tq1_0", "tq2_0"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    char inputs[128];
    snprintf(inputs, sizeof inputs, "w: %s[13,512]; i: i32[7] range(-13,13)", types[i]);
    CHECK(gpu_check_text(RLX_OP_gather, inputs, "gather(%w, %i)"));
  }
}

static void any_gather_elements(uint64_t *seed, gpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, gpu_check_int(seed, 1, 4), sizes, l->expr, sizeof l->expr);
  int axis = gpu_check_int(seed, 0, rank - 1), n = sizes[axis];
  size_t at = (size_t)snprintf(l->inputs, sizeof l->inputs, "x: %s[%s]; i: %s[", any_type(seed), l->expr,
                               GPU_CHECK_PICK(seed, "i32", "i64"));
  for (int i = 0; i < rank; i++) {
    int take = i == axis ? gpu_check_int(seed, 1, 20) : gpu_check_int(seed, 1, sizes[i]);
    at += (size_t)snprintf(l->inputs + at, sizeof l->inputs - at, "%s%d", i ? "," : "", take);
  }
  snprintf(l->inputs + at, sizeof l->inputs - at, "] range(%d,%d)", -n, n);
  gpu_check_print(&l->expr, "gather_elements(%%x, %%i) {axis=%d}", axis);
}
TEST(random_gather_elements) { CHECK(gpu_check_random_bits(RLX_OP_gather_elements, N_RANDOM, any_gather_elements)); }

static void any_gather_nd(uint64_t *seed, gpu_check_line *l) {
  int a = gpu_check_int(seed, 1, 9), b = gpu_check_int(seed, 1, 9), m = a < b ? a : b;
  int depth = gpu_check_int(seed, 1, 2), batch = depth < 2 ? gpu_check_int(seed, 0, 1) : 0;
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; i: i64[%d,%d,%d] range(%d,%d)", any_type(seed), a, b, any_size(seed),
                  batch ? a : gpu_check_int(seed, 1, 20), gpu_check_int(seed, 1, 20), depth, -m, m);
  gpu_check_print(&l->expr, "gather_nd(%%x, %%i) {batch_dims=%d}", batch);
}
TEST(random_gather_nd) { CHECK(gpu_check_random_bits(RLX_OP_gather_nd, N_RANDOM, any_gather_nd)); }

static const char *summed_type(uint64_t *seed) {
  return GPU_CHECK_PICK(seed, "f32", "f16", "bf16", "i8", "u8", "i16", "i64", "u32", "bool");
}

static void any_scatter_elements(uint64_t *seed, gpu_check_line *l) {
  int a = any_size(seed), b = any_size(seed), axis = gpu_check_int(seed, 0, 1), n = axis ? b : a;
  int ia = axis ? gpu_check_int(seed, 1, a) : gpu_check_int(seed, 0, 50);
  int ib = axis ? gpu_check_int(seed, 0, 50) : gpu_check_int(seed, 1, b);
  const char *type = summed_type(seed);
  gpu_check_print(&l->inputs, "x: %s[%d,%d]; i: i32[%d,%d] range(%d,%d); u: %s[%d,%d]", type, a, b, ia, ib, -n, n, type,
                  ia, ib);
  gpu_check_print(&l->expr, "scatter_elements(%%x, %%i, %%u) {axis=%d, reduction=%s}", axis,
                  GPU_CHECK_PICK(seed, "none", "add", "mul", "max", "min"));
}
TEST(random_scatter_elements) { CHECK(gpu_check_random(RLX_OP_scatter_elements, 2 * N_RANDOM, any_scatter_elements)); }

static void any_scatter_nd(uint64_t *seed, gpu_check_line *l) {
  int a = gpu_check_int(seed, 1, 9), b = gpu_check_int(seed, 1, 9), c = any_size(seed), m = a < b ? a : b;
  int n = gpu_check_int(seed, 1, 60), depth = gpu_check_int(seed, 1, 2);
  const char *type = summed_type(seed);
  char middle[16] = "";
  if (depth == 1) snprintf(middle, sizeof middle, "%d,", b);
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; i: i64[%d,%d] range(%d,%d); u: %s[%d,%s%d]", type, a, b, c, n, depth,
                  -m, m, type, n, middle, c);
  gpu_check_print(&l->expr, "scatter_nd(%%x, %%i, %%u) {reduction=%s}",
                  GPU_CHECK_PICK(seed, "none", "add", "mul", "max", "min"));
}
TEST(random_scatter_nd) { CHECK(gpu_check_random(RLX_OP_scatter_nd, 2 * N_RANDOM, any_scatter_nd)); }

/* Integers, so every order of a sum gives the same bits; and the last update wins. */
TEST(scatter_to_the_bit) {
  CHECK(gpu_check_bits(RLX_OP_scatter_add, "x: i32[50]; i: i32[4001] range(-50,50); u: i32[4001]",
                       "scatter_add(%x, %i, %u) {axis=0}"));
  CHECK(gpu_check_bits(RLX_OP_scatter_elements, "x: f32[3000]; i: i64[2500] range(0,300); u: f32[2500] distinct",
                       "scatter_elements(%x, %i, %u)"));
  CHECK(gpu_check_bits(RLX_OP_scatter_elements, "x: f16[3001]; i: i64[2500] range(0,300); u: f16[2500]",
                       "scatter_elements(%x, %i, %u)"));
  CHECK(gpu_check_bits(RLX_OP_scatter_elements, "x: f32[5,7] special; i: i64[5,9] range(0,7); u: f32[5,9] special",
                       "scatter_elements(%x, %i, %u) {axis=1, reduction=min}"));
  CHECK(gpu_check_bits(RLX_OP_scatter_nd, "x: bf16[40,33]; i: i64[700,1] range(0,40); u: bf16[700,33]",
                       "scatter_nd(%x, %i, %u)"));
}

/* Few long lines that workgroups share: positions updated often, positions updated once, and every kind of number. */
static void any_long_scatter(uint64_t *seed, gpu_check_line *l) {
  const char *type = summed_type(seed), *meet = GPU_CHECK_PICK(seed, "none", "add", "max", "min");
  int lines = gpu_check_int(seed, 1, 3), n = gpu_check_int(seed, 1, 3000), updates = gpu_check_int(seed, 1024, 5000);
  int low = gpu_check_int(seed, 0, n - 1);
  if (gpu_check_int(seed, 0, 3) == 0) low = n - 1;
  gpu_check_print(&l->inputs, "x: %s[%d,%d]; i: %s[%d,%d] range(%d,%d); u: %s[%d,%d]", type, lines, n,
                  GPU_CHECK_PICK(seed, "i32", "i64"), lines, updates, low, n, type, lines, updates);
  gpu_check_print(&l->expr, "scatter_elements(%%x, %%i, %%u) {axis=1, reduction=%s}", meet);
}
TEST(random_long_scatter) { CHECK(gpu_check_random(RLX_OP_scatter_elements, 2 * N_RANDOM, any_long_scatter)); }

static void any_update(uint64_t *seed, gpu_check_line *l) {
  int a = gpu_check_int(seed, 1, 4), n = any_size(seed), c = any_size(seed), rows = gpu_check_int(seed, 0, n);
  char shape[16] = "";
  if (gpu_check_int(seed, 0, 1)) snprintf(shape, sizeof shape, "%d", a);
  const char *type = any_type(seed);
  if (gpu_check_int(seed, 0, 2) == 0) c = gpu_check_int(seed, 1, 3);
  gpu_check_print(&l->inputs, "state s: %s[%d,%d,%d]; r: %s[%d,%d,%d]; p: %s[%s] range(0,%d)", type, a, n, c, type, a,
                  rows, c, GPU_CHECK_PICK(seed, "i32", "i64"), shape, n - rows + 1);
  gpu_check_print(&l->expr, "update(%%s, %%r, %%p) {axis=1}");
}
TEST(random_update) { CHECK(gpu_check_random_bits(RLX_OP_update, 2 * N_RANDOM, any_update)); }

/* Many short rows in one word, each with its own position. */
TEST(update_inside_words) {
  CHECK(gpu_check_bits(RLX_OP_update, "state s: i8[41,3]; r: i8[41,1]; p: i32[41] range(0,3)",
                       "update(%s, %r, %p) {axis=1}"));
  CHECK(gpu_check_bits(RLX_OP_update, "state s: bool[41,1]; r: bool[41,1]; p: i32[41] values(0)",
                       "update(%s, %r, %p) {axis=1}"));
  CHECK(gpu_check_bits(RLX_OP_update, "state s: f16[9,5,3]; r: f16[9,2,3]; p: i64[9] range(0,4)",
                       "update(%s, %r, %p) {axis=1}"));
}

static void any_one_hot(uint64_t *seed, gpu_check_line *l) {
  int depth = any_size(seed);
  gpu_check_print(&l->inputs, "i: %s[%d,%d] range(%d,%d)", GPU_CHECK_PICK(seed, "i32", "i64"),
                  gpu_check_int(seed, 1, 9), any_size(seed), -2 * depth, 2 * depth);
  gpu_check_print(&l->expr, "one_hot(%%i) {depth=%d, axis=%d, on=%s, off=-1, to=%s}", depth, gpu_check_int(seed, -1, 2),
                  GPU_CHECK_PICK(seed, "1", "3.5"), GPU_CHECK_PICK(seed, "f32", "i8", "bool", "f16", "i64"));
}
TEST(random_one_hot) { CHECK(gpu_check_random_bits(RLX_OP_one_hot, N_RANDOM, any_one_hot)); }

static void any_range(uint64_t *seed, gpu_check_line *l) {
  gpu_check_print(&l->inputs, "unused: f32[1]");
  gpu_check_print(&l->expr, "range() {start=%s, step=%s, count=[%d], to=%s}",
                  GPU_CHECK_PICK(seed, "0", "-5", "250.5", "4294967000", "-9000000000000000000", "16777200"),
                  GPU_CHECK_PICK(seed, "1", "-3", "0.4", "0", "1000000000000", "7"), gpu_check_int(seed, 1, 700),
                  GPU_CHECK_PICK(seed, "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32", "i64"));
}
TEST(random_range) { CHECK(gpu_check_random_bits(RLX_OP_range, N_RANDOM, any_range)); }

/* On a device an out-of-range index reads zeros and writes nothing. */
TEST(bad_indices) {
  CHECK(gpu_check_values(RLX_OP_gather, "x: f32[3,2] values(1,2,3,4,5,6); i: i32[4] values(2,3,-4,-3)",
                         "gather(%x, %i)", RLX_DIMS(4, 2), (const float[]){5, 6, 0, 0, 0, 0, 1, 2}));
  CHECK(gpu_check_values(RLX_OP_gather,
                         "x: f32[3] values(1,2,3); i: i64[4] values(4294967296,-9223372036854775807,2,2147483648)",
                         "gather(%x, %i)", RLX_DIMS(4), (const float[]){0, 0, 3, 0}));
  CHECK(gpu_check_values(RLX_OP_gather_elements, "x: f32[3] values(1,2,3); i: i32[3] values(-1,9,0)",
                         "gather_elements(%x, %i)", RLX_DIMS(3), (const float[]){3, 0, 1}));
  CHECK(gpu_check_values(RLX_OP_gather_nd, "x: f32[2,2] values(1,2,3,4); i: i32[3,2] values(1,1,0,2,-1,-2)",
                         "gather_nd(%x, %i)", RLX_DIMS(3), (const float[]){4, 0, 3}));
  CHECK(gpu_check_values(RLX_OP_scatter_add, "x: f32[3] values(1,2,3); i: i32[3] values(3,-4,1); u: f32[3] values(10)",
                         "scatter_add(%x, %i, %u)", RLX_DIMS(3), (const float[]){1, 12, 3}));
  CHECK(gpu_check_values(RLX_OP_scatter_nd, "x: f32[3] values(1,2,3); i: i32[2,1] values(3,-1); u: f32[2] values(10)",
                         "scatter_nd(%x, %i, %u)", RLX_DIMS(3), (const float[]){1, 2, 10}));
  CHECK(gpu_check_values(RLX_OP_update, "state s: f32[3] values(1,2,3); r: f32[2] values(9); p: i32[] values(2)",
                         "update(%s, %r, %p)", RLX_DIMS(3), (const float[]){1, 2, 3}));
  CHECK(gpu_check_values(RLX_OP_update,
                         "state s: f32[2,2] values(1,2,3,4); r: f32[2,1] values(9); p: i32[2] values(-1,1)",
                         "update(%s, %r, %p) {axis=1}", RLX_DIMS(2, 2), (const float[]){1, 2, 3, 9}));
}

TEST(large_index_ops) {
  CHECK(gpu_check_bits(RLX_OP_gather, "x: f32[200,300]; i: i32[500] range(0,200)", "gather(%x, %i)"));
  CHECK(gpu_check_bits(RLX_OP_gather_elements, "x: f32[100,300]; i: i64[300,300] range(-100,100)",
                       "gather_elements(%x, %i) {axis=0}"));
  CHECK(gpu_check_text(RLX_OP_scatter_add, "x: f32[100,300]; i: i64[300,300] range(-100,100); u: f32[300,300]",
                       "scatter_add(%x, %i, %u) {axis=0}"));
  CHECK(gpu_check_text(RLX_OP_scatter_nd, "x: f16[9,4000]; i: i64[30,1] range(-9,9); u: f16[30,4000]",
                       "scatter_nd(%x, %i, %u) {reduction=add}"));
  CHECK(gpu_check_bits(RLX_OP_range, "unused: f32[1]", "range() {start=5, step=3, count=[50001], to=i64}"));
  CHECK(gpu_check_bits(RLX_OP_update, "state s: f16[2,4,300,64]; r: f16[2,4,17,64]; p: i32[2] range(0,284)",
                       "update(%s, %r, %p) {axis=2}"));
}
