/* The CPU kernels that move, index and order, against the reference: every conformance case, and shapes around the
 * sizes where the code path changes. */
#include "cpu_check.h"
#include "test.h"

#define CASES_OF(op) \
  TEST(cases_##op) { CHECK(cpu_check_cases(RLX_OP_##op, NULL)); }

/* ---- by position ---- */

CASES_OF(reshape)
CASES_OF(view_as_real)
CASES_OF(view_as_complex)
CASES_OF(transpose)
CASES_OF(slice)
CASES_OF(concat)
CASES_OF(expand)
CASES_OF(tile)
CASES_OF(pad)
CASES_OF(reverse)
CASES_OF(roll)
CASES_OF(space_to_depth)
CASES_OF(depth_to_space)
CASES_OF(trilu)

enum { N_RANDOM = TEST_IS_SANITIZED ? 15 : 60 };

/* One dtype of each element size, including complex. */
static const char *any_type(uint64_t *seed) {
  return CPU_CHECK_PICK(seed, "i8", "bool", "f16", "bf16", "f32", "i32", "i64", "f64", "c64");
}

/* Mostly small, often around a tile's edge, sometimes larger than a tile. */
static int any_size(uint64_t *seed) {
  switch (cpu_check_int(seed, 0, 5)) {
    case 0: return cpu_check_int(seed, 1, 3);
    case 1: return cpu_check_int(seed, 14, 18);
    case 2: return cpu_check_int(seed, 60, 70);
    default: return cpu_check_int(seed, 1, 9);
  }
}

/* "3,16,5": this many sizes, bounded in their product. */
static int any_sizes(uint64_t *seed, int rank, int *sizes, char *text, size_t cap) {
  size_t count = 1, n = 0;
  text[0] = 0;
  for (int i = 0; i < rank; i++) {
    sizes[i] = any_size(seed);
    if (count * (size_t)sizes[i] > 60000) sizes[i] = 1;
    count *= (size_t)sizes[i];
    n += (size_t)snprintf(text + n, cap - n, "%s%d", i ? "," : "", sizes[i]);
  }
  return rank;
}

static void shuffled(uint64_t *seed, int n, int *v) {
  for (int i = 0; i < n; i++) {
    int k = cpu_check_int(seed, 0, i);
    v[i] = v[k];
    v[k] = i;
  }
}

static void any_transpose(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1}, perm[8], rank = any_sizes(seed, cpu_check_int(seed, 1, 5), sizes, l->expr, sizeof l->expr);
  cpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  shuffled(seed, rank, perm);
  size_t n = (size_t)snprintf(l->expr, sizeof l->expr, "transpose(%%x) {perm=[");
  for (int i = 0; i < rank; i++) n += (size_t)snprintf(l->expr + n, sizeof l->expr - n, "%s%d", i ? "," : "", perm[i]);
  snprintf(l->expr + n, sizeof l->expr - n, "]}");
}
TEST(random_transpose) { CHECK(cpu_check_random(RLX_OP_transpose, 2 * N_RANDOM, any_transpose, NULL)); }

/* Two axes on both sides of every tile size, and of a task. */
TEST(transpose_around_tiles) {
  static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 511, 513};
  static const char *const types[] = {"u8", "f16", "f32", "c64"};
  enum { N = sizeof sizes / sizeof *sizes };
  for (int t = 0; t < 4; t++)
    for (int i = 0; i < N; i++)
      for (int k = (i + t) % 3; k < N; k += TEST_IS_SANITIZED ? 5 : 3) {
        char inputs[64];
        snprintf(inputs, sizeof inputs, "x: %s[%d,%d]", types[t], sizes[i], sizes[k]);
        CHECK(cpu_check_text(RLX_OP_transpose, inputs, "transpose(%x)", NULL));
      }
}

static void any_slice(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, cpu_check_int(seed, 1, 4), sizes, l->expr, sizeof l->expr);
  cpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  char start[128] = "", stop[128] = "", step[128] = "";
  for (int i = 0; i < rank; i++) {
    const char *comma = i ? "," : "";
    snprintf(start + strlen(start), sizeof start - strlen(start), "%s%d", comma,
             cpu_check_int(seed, -sizes[i], sizes[i]));
    snprintf(stop + strlen(stop), sizeof stop - strlen(stop), "%s%d", comma,
             cpu_check_int(seed, -sizes[i], 2 * sizes[i]));
    snprintf(step + strlen(step), sizeof step - strlen(step), "%s%s", comma,
             CPU_CHECK_PICK(seed, "1", "1", "2", "3", "-1", "-2"));
  }
  cpu_check_print(&l->expr, "slice(%%x) {start=[%s], stop=[%s], step=[%s]}", start, stop, step);
}
TEST(random_slice) { CHECK(cpu_check_random(RLX_OP_slice, 2 * N_RANDOM, any_slice, NULL)); }

static void any_pad(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, cpu_check_int(seed, 1, 4), sizes, l->expr, sizeof l->expr);
  const char *type = CPU_CHECK_PICK(seed, "u8", "f16", "f32", "i64", "c64");
  cpu_check_print(&l->inputs, "x: %s[%s]", type, l->expr);
  char lo[128] = "", hi[128] = "";
  for (int i = 0; i < rank; i++) {
    const char *comma = i ? "," : "";
    snprintf(lo + strlen(lo), sizeof lo - strlen(lo), "%s%d", comma,
             cpu_check_int(seed, 0, 1) * cpu_check_int(seed, 0, 9));
    snprintf(hi + strlen(hi), sizeof hi - strlen(hi), "%s%d", comma,
             cpu_check_int(seed, 0, 1) * cpu_check_int(seed, 0, 9));
  }
  cpu_check_print(&l->expr, "pad(%%x) {lo=[%s], hi=[%s], mode=%s, value=3}", lo, hi,
                  CPU_CHECK_PICK(seed, "constant", "reflect", "edge", "wrap"));
}
TEST(random_pad) {
  cpu_check_counts counts = {0}; /* a narrow axis reflected several times runs through the reference */
  CHECK(cpu_check_random(RLX_OP_pad, 2 * N_RANDOM, any_pad, &counts));
  CHECK(counts.native > 9 * counts.not_claimed);
}

static void any_roll(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  cpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  cpu_check_print(&l->expr, "roll(%%x) {axes=[%s], shifts=[%d,%d]}", CPU_CHECK_PICK(seed, "0,1", "2,0", "1,-1"),
                  cpu_check_int(seed, -90, 90), cpu_check_int(seed, -9, 9));
}
TEST(random_roll) { CHECK(cpu_check_random(RLX_OP_roll, N_RANDOM, any_roll, NULL)); }

static void any_reverse(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  cpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  cpu_check_print(&l->expr, "reverse(%%x) {axes=[%s]}", CPU_CHECK_PICK(seed, "0", "1", "2", "0,2", "-1,-2", ""));
}
TEST(random_reverse) { CHECK(cpu_check_random(RLX_OP_reverse, N_RANDOM, any_reverse, NULL)); }

static void any_tile(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  cpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  cpu_check_print(&l->expr, "tile(%%x) {reps=[%d,%d,%d]}", cpu_check_int(seed, 1, 3), cpu_check_int(seed, 1, 2),
                  cpu_check_int(seed, 1, 3));
}
TEST(random_tile) { CHECK(cpu_check_random(RLX_OP_tile, N_RANDOM, any_tile, NULL)); }

static void any_expand(uint64_t *seed, cpu_check_line *l) {
  int a = any_size(seed), b = any_size(seed), c = any_size(seed), ones = cpu_check_int(seed, 0, 7);
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d]", any_type(seed), ones & 1 ? 1 : a, ones & 2 ? 1 : b, ones & 4 ? 1 : c);
  cpu_check_print(&l->expr, "expand(%%x) {shape=[%s%d,%d,%d]}", CPU_CHECK_PICK(seed, "", "2,"), a, b, c);
}
TEST(random_expand) { CHECK(cpu_check_random(RLX_OP_expand, N_RANDOM, any_expand, NULL)); }

static void any_concat(uint64_t *seed, cpu_check_line *l) {
  int size[3] = {any_size(seed), any_size(seed), any_size(seed)}, axis = cpu_check_int(seed, 0, 2);
  const char *type = any_type(seed);
  l->inputs[0] = 0;
  for (int i = 0; i < 3; i++) {
    size[axis] = cpu_check_int(seed, 0, 20);
    size_t n = strlen(l->inputs);
    snprintf(l->inputs + n, sizeof l->inputs - n, "x%d: %s[%d,%d,%d]; ", i, type, size[0], size[1], size[2]);
  }
  cpu_check_print(&l->expr, "concat(%%x0, %%x1, %%x2) {axis=%d}", axis);
}
TEST(random_concat) { CHECK(cpu_check_random(RLX_OP_concat, N_RANDOM, any_concat, NULL)); }

static void any_trilu(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1};
  any_sizes(seed, 3, sizes, l->expr, sizeof l->expr);
  cpu_check_print(&l->inputs, "x: %s[%s]", any_type(seed), l->expr);
  cpu_check_print(&l->expr, "trilu(%%x) {upper=%s, k=%d}", CPU_CHECK_PICK(seed, "true", "false"),
                  cpu_check_int(seed, -70, 70));
}
TEST(random_trilu) { CHECK(cpu_check_random(RLX_OP_trilu, N_RANDOM, any_trilu, NULL)); }

/* Larger than one task, so that several threads take part. */
TEST(large_moves) {
  CHECK(cpu_check_text(RLX_OP_transpose, "x: f32[700,900]", "transpose(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_transpose, "x: f32[5,300,4,80]", "transpose(%x) {perm=[0,2,1,3]}", NULL));
  CHECK(cpu_check_text(RLX_OP_transpose, "x: u8[3,40000]", "transpose(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_reshape, "x: f32[1000,601]", "reshape(%x) {shape=[601,1000]}", NULL));
  CHECK(
    cpu_check_text(RLX_OP_slice, "x: f32[1000,600]", "slice(%x) {axes=[1], start=[-1], stop=[-601], step=[-2]}", NULL));
  CHECK(cpu_check_text(RLX_OP_expand, "x: f16[3,1]", "expand(%x) {shape=[3,200001]}", NULL));
  CHECK(cpu_check_text(RLX_OP_trilu, "x: f32[700,700]", "trilu(%x)", NULL));
}

/* ---- by index ---- */

CASES_OF(gather)
CASES_OF(gather_elements)
CASES_OF(gather_nd)
CASES_OF(scatter_elements)
CASES_OF(scatter_add)
CASES_OF(scatter_nd)
CASES_OF(one_hot)
CASES_OF(range)
CASES_OF(update)

static void any_gather(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1}, rank = any_sizes(seed, cpu_check_int(seed, 1, 3), sizes, l->expr, sizeof l->expr);
  int axis = cpu_check_int(seed, 0, rank - 1), n = sizes[axis];
  cpu_check_print(&l->inputs, "x: %s[%s]; i: %s[%d,%d] range(%d,%d)", any_type(seed), l->expr,
                  CPU_CHECK_PICK(seed, "i32", "i64"), cpu_check_int(seed, 0, 9), cpu_check_int(seed, 1, 9), -n, n);
  cpu_check_print(&l->expr, "gather(%%x, %%i) {axis=%d}", axis);
}
/* Rows of a weight, which may be packed for products: block types (wide rows in several chunks), floats in panels. */
static void any_gather_weight(uint64_t *seed, cpu_check_line *l) {
  const char *type =
    CPU_CHECK_PICK(seed, "f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4", "q2_k",
                   "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq4_xs", "tq1_0", "tq2_0");
  bool is_super = strstr(type, "_k") || strstr(type, "xs") || type[0] == 't', is_block = !strchr("fb", type[0]);
  int n = cpu_check_int(seed, 1, 70), k = cpu_check_int(seed, 1, is_super ? 7 : is_block ? 40 : 90);
  cpu_check_print(&l->inputs, "param x: %s[%d,%d]; i: i32[%d] range(%d,%d)", type, n,
                  is_super   ? k * 256
                  : is_block ? k * 32
                             : k,
                  cpu_check_int(seed, 0, 30), -n, n);
  cpu_check_print(&l->expr, "gather(%%x, %%i)");
}
TEST(random_gather_weight) { CHECK(cpu_check_random(RLX_OP_gather, 2 * N_RANDOM, any_gather_weight, NULL)); }
TEST(random_gather) { CHECK(cpu_check_random(RLX_OP_gather, N_RANDOM, any_gather, NULL)); }

static void any_gather_elements(uint64_t *seed, cpu_check_line *l) {
  int sizes[8] = {1}, take[8], rank = any_sizes(seed, cpu_check_int(seed, 1, 3), sizes, l->expr, sizeof l->expr);
  int axis = cpu_check_int(seed, 0, rank - 1), n = sizes[axis];
  size_t at = (size_t)snprintf(l->inputs, sizeof l->inputs, "x: %s[%s]; i: %s[", any_type(seed), l->expr,
                               CPU_CHECK_PICK(seed, "i32", "i64"));
  for (int i = 0; i < rank; i++) {
    take[i] = i == axis ? cpu_check_int(seed, 1, 40) : cpu_check_int(seed, 1, sizes[i]);
    at += (size_t)snprintf(l->inputs + at, sizeof l->inputs - at, "%s%d", i ? "," : "", take[i]);
  }
  snprintf(l->inputs + at, sizeof l->inputs - at, "] range(%d,%d)", -n, n);
  cpu_check_print(&l->expr, "gather_elements(%%x, %%i) {axis=%d}", axis);
}
TEST(random_gather_elements) { CHECK(cpu_check_random(RLX_OP_gather_elements, N_RANDOM, any_gather_elements, NULL)); }

static void any_gather_nd(uint64_t *seed, cpu_check_line *l) {
  int a = cpu_check_int(seed, 1, 9), b = cpu_check_int(seed, 1, 9), m = a < b ? a : b;
  int depth = cpu_check_int(seed, 1, 2), batch = depth < 2 ? cpu_check_int(seed, 0, 1) : 0;
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; i: i64[%d,%d,%d] range(%d,%d)", any_type(seed), a, b, any_size(seed),
                  batch ? a : cpu_check_int(seed, 1, 20), cpu_check_int(seed, 1, 20), depth, -m, m);
  cpu_check_print(&l->expr, "gather_nd(%%x, %%i) {batch_dims=%d}", batch);
}
TEST(random_gather_nd) { CHECK(cpu_check_random(RLX_OP_gather_nd, N_RANDOM, any_gather_nd, NULL)); }

static const char *summed_type(uint64_t *seed) {
  return CPU_CHECK_PICK(seed, "f32", "f16", "bf16", "f64", "i8", "i64", "u32", "bool");
}

static void any_scatter_elements(uint64_t *seed, cpu_check_line *l) {
  int a = any_size(seed), b = any_size(seed), axis = cpu_check_int(seed, 0, 1), n = axis ? b : a;
  int ia = axis ? cpu_check_int(seed, 1, a) : cpu_check_int(seed, 0, 50);
  int ib = axis ? cpu_check_int(seed, 0, 50) : cpu_check_int(seed, 1, b);
  const char *type = summed_type(seed);
  cpu_check_print(&l->inputs, "x: %s[%d,%d]; i: i32[%d,%d] range(%d,%d); u: %s[%d,%d]", type, a, b, ia, ib, -n, n, type,
                  ia, ib);
  cpu_check_print(&l->expr, "scatter_elements(%%x, %%i, %%u) {axis=%d, reduction=%s}", axis,
                  CPU_CHECK_PICK(seed, "none", "add", "mul", "max", "min"));
}
TEST(random_scatter_elements) {
  CHECK(cpu_check_random(RLX_OP_scatter_elements, 2 * N_RANDOM, any_scatter_elements, NULL));
}

static void any_scatter_nd(uint64_t *seed, cpu_check_line *l) {
  int a = cpu_check_int(seed, 1, 9), b = cpu_check_int(seed, 1, 9), c = any_size(seed), m = a < b ? a : b;
  int n = cpu_check_int(seed, 1, 60), depth = cpu_check_int(seed, 1, 2);
  const char *type = summed_type(seed);
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; i: i64[%d,%d] range(%d,%d); u: %s[%d,%d]", type, a, b, c, n, depth, -m,
                  m, type, n, c);
  if (depth == 1)
    cpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; i: i64[%d,1] range(%d,%d); u: %s[%d,%d,%d]", type, a, b, c, n, -m, m,
                    type, n, b, c);
  cpu_check_print(&l->expr, "scatter_nd(%%x, %%i, %%u) {reduction=%s}",
                  CPU_CHECK_PICK(seed, "none", "add", "mul", "max", "min"));
}
TEST(random_scatter_nd) { CHECK(cpu_check_random(RLX_OP_scatter_nd, 2 * N_RANDOM, any_scatter_nd, NULL)); }

static void any_update(uint64_t *seed, cpu_check_line *l) {
  int a = cpu_check_int(seed, 1, 4), n = any_size(seed), c = any_size(seed), rows = cpu_check_int(seed, 0, n);
  bool each = cpu_check_int(seed, 0, 1) == 1;
  char shape[16] = "";
  if (each) snprintf(shape, sizeof shape, "%d", a);
  const char *type = any_type(seed);
  cpu_check_print(&l->inputs, "state s: %s[%d,%d,%d]; r: %s[%d,%d,%d]; p: %s[%s] range(0,%d)", type, a, n, c, type, a,
                  rows, c, CPU_CHECK_PICK(seed, "i32", "i64"), shape, n - rows + 1);
  cpu_check_print(&l->expr, "update(%%s, %%r, %%p) {axis=1}");
}
TEST(random_update) { CHECK(cpu_check_random(RLX_OP_update, N_RANDOM, any_update, NULL)); }

static void any_one_hot(uint64_t *seed, cpu_check_line *l) {
  int depth = any_size(seed);
  cpu_check_print(&l->inputs, "i: %s[%d,%d] range(%d,%d)", CPU_CHECK_PICK(seed, "i32", "i64"), any_size(seed),
                  any_size(seed), -2 * depth, 2 * depth);
  cpu_check_print(&l->expr, "one_hot(%%i) {depth=%d, axis=%d, on=%s, off=-1, to=%s}", depth, cpu_check_int(seed, -1, 2),
                  CPU_CHECK_PICK(seed, "1", "3.5"), CPU_CHECK_PICK(seed, "f32", "i8", "bool", "f16", "i64"));
}
TEST(random_one_hot) { CHECK(cpu_check_random(RLX_OP_one_hot, N_RANDOM, any_one_hot, NULL)); }

TEST(large_index_ops) {
  CHECK(cpu_check_text(RLX_OP_gather, "x: f32[1000,300]; i: i32[2000] range(0,1000)", "gather(%x, %i)", NULL));
  CHECK(cpu_check_text(RLX_OP_gather, "x: q4_k[50,256]; i: i32[900] range(-50,50)", "gather(%x, %i)", NULL));
  CHECK(cpu_check_text(RLX_OP_gather_elements, "x: f32[300,400]; i: i64[900,400] range(-300,300)",
                       "gather_elements(%x, %i) {axis=0}", NULL));
  CHECK(cpu_check_text(RLX_OP_scatter_add, "x: f32[300,400]; i: i64[900,400] range(-300,300); u: f32[900,400]",
                       "scatter_add(%x, %i, %u) {axis=0}", NULL));
  CHECK(cpu_check_text(RLX_OP_scatter_nd, "x: f16[9,40000]; i: i64[30,1] range(-9,9); u: f16[30,40000]",
                       "scatter_nd(%x, %i, %u) {reduction=add}", NULL));
  CHECK(cpu_check_text(RLX_OP_range, "", "range() {start=5, step=3, count=[100001], to=i64}", NULL));
}

TEST(bad_indices_are_reported_and_touch_nothing) {
  static const struct {
    rlx_op op;
    const char *inputs, *expr, *part;
  } bad[] = {
    {RLX_OP_gather, "x: f32[5,3]; i: i32[2] values(1,5)", "gather(%x, %i)", "index 5 is not in -5..4"},
    {RLX_OP_gather, "x: q8_0[5,32]; i: i32[2] values(-6,0)", "gather(%x, %i)", "index -6 is not in -5..4"},
    {RLX_OP_gather, "x: f32[5,3]; i: i64[1] values(-9223372036854775807)", "gather(%x, %i)", "is not in -5..4"},
    {RLX_OP_gather_elements, "x: f32[5,3]; i: i32[1,3] values(0,3,0)", "gather_elements(%x, %i) {axis=1}", "index 3"},
    {RLX_OP_gather_nd, "x: f32[5,3]; i: i32[1,2] values(4,3)", "gather_nd(%x, %i)", "index 3 is not in -3..2"},
    {RLX_OP_scatter_elements, "x: f32[5]; i: i32[2] values(0,7); u: f32[2]", "scatter_elements(%x, %i, %u)", "index 7"},
    {RLX_OP_scatter_add, "x: f32[5]; i: i32[2] values(0,-7); u: f32[2]", "scatter_add(%x, %i, %u)", "index -7"},
    {RLX_OP_scatter_nd, "x: f32[5]; i: i32[1,1] values(5); u: f32[1]", "scatter_nd(%x, %i, %u)", "index 5"},
    {RLX_OP_update, "state s: f32[5,2]; r: f32[2,2]; p: i32[] values(4)", "update(%s, %r, %p)",
     "2 rows at position 4 do not fit in 5"},
    {RLX_OP_update, "state s: f32[5,2]; r: f32[2,2]; p: i64[] values(-1)", "update(%s, %r, %p)", "position -1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(cpu_check_fails(bad[i].op, bad[i].inputs, bad[i].expr, RLX_INVALID, bad[i].part));
}

/* ---- along an axis ---- */

CASES_OF(argmax)
CASES_OF(argmin)
CASES_OF(top_k_values)
CASES_OF(top_k_indices)
CASES_OF(sort)
CASES_OF(argsort)
CASES_OF(cumsum)
CASES_OF(cumprod)
CASES_OF(cummax)

/* Integers in a narrow range give ties; special values include NaN, infinities and both zeros. */
static void any_line(uint64_t *seed, cpu_check_line *l, const char *types[], size_t n_types, int max) {
  const char *type = types[cpu_check_int(seed, 0, (int)n_types - 1)];
  int n = cpu_check_int(seed, 0, 2) ? cpu_check_int(seed, 1, 70) : cpu_check_int(seed, 1, max);
  bool is_float = type[0] == 'f' || type[0] == 'b';
  const char *values = is_float ? CPU_CHECK_PICK(seed, "special", "", "values(1,0,-1,-0,1,2,0.5)") : "range(0,9)";
  if (cpu_check_int(seed, 0, 1)) cpu_check_print(&l->inputs, "x: %s[3,%d,2] %s", type, n, values);
  else cpu_check_print(&l->inputs, "x: %s[2,5,%d] %s", type, n, values);
  snprintf(l->expr, sizeof l->expr, "%d", strstr(l->inputs, "[3,") ? 1 : 2);
}

static const char *number_types[] = {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "i32", "u32", "i64"};
static const char *short_types[] = {"f32", "f32", "f16", "bf16", "i8", "u8", "i16", "i32", "u32"};

static void any_argmax(uint64_t *seed, cpu_check_line *l) {
  any_line(seed, l, number_types, 10, 3000);
  int axis = l->expr[0] - '0';
  cpu_check_print(&l->expr, "argmax(%%x) {axis=%d, to=%s}", axis, CPU_CHECK_PICK(seed, "i32", "i64"));
}
static void any_argmin(uint64_t *seed, cpu_check_line *l) {
  any_line(seed, l, number_types, 10, 3000);
  int axis = l->expr[0] - '0';
  cpu_check_print(&l->expr, "argmin(%%x) {axis=%d, keep=true}", axis);
}
TEST(random_arg) {
  CHECK(cpu_check_random(RLX_OP_argmax, 2 * N_RANDOM, any_argmax, NULL));
  CHECK(cpu_check_random(RLX_OP_argmin, 2 * N_RANDOM, any_argmin, NULL));
}

CASES_OF(sample)

/* Exactly the token that the reference draws: ties, NaN, infinities, logits that are far apart and close together. */
static void any_sample(uint64_t *seed, cpu_check_line *l) {
  int n = cpu_check_int(seed, 0, 2) ? cpu_check_int(seed, 1, 70) : cpu_check_int(seed, 1, 6000);
  cpu_check_print(
    &l->inputs, "x: %s[%d,%d] %s; d: %s[] range(-9,1000)", CPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16"),
    cpu_check_int(seed, 0, 20), n,
    CPU_CHECK_PICK(seed, "special", "range(-6,6)", "range(-90,90)", "values(1,0,-1,-0,1,2,0.5)", "range(0,1)"),
    CPU_CHECK_PICK(seed, "i32", "i64"));
  cpu_check_print(&l->expr, "sample(%%x, %%d) {temperature=%s, top_k=%d, top_p=%s, min_p=%s, seed=%d}",
                  CPU_CHECK_PICK(seed, "1", "0.7", "3", "0", "1e-30", "1000"),
                  cpu_check_int(seed, 0, 1) ? 0 : cpu_check_int(seed, 1, 90),
                  CPU_CHECK_PICK(seed, "1", "0.9", "0.5", "0"), CPU_CHECK_PICK(seed, "0", "0.05", "1", "1e-20"),
                  cpu_check_int(seed, 0, 99));
}
TEST(random_sample) {
  CHECK(cpu_check_random(RLX_OP_sample, 4 * N_RANDOM, any_sample, NULL));
  CHECK(cpu_check_text(RLX_OP_sample, "x: f32[9,49152] range(-12,12)", "sample(%x) {seed=5}", NULL));
  CHECK(cpu_check_text(RLX_OP_sample, "x: f32[2,49152] range(-12,12)", "sample(%x) {top_k=40, top_p=0.95}", NULL));
  /* Exercises the path of the best tokens only: peaks of many kinds, and draws from all over them. */
  static const char *const ranges[] = {"-3,3", "-12,12", "-200,200", "-0.01,0.01"};
  static const char *const ways[] = {"", "top_p=0.95, ", "top_p=0.3, ", "min_p=0.05, ", "top_p=0.9, min_p=0.01, "};
  for (int i = 0; i < 4 * 5 * 3; i++) {
    char x[64], how[128];
    snprintf(x, sizeof x, "x: f32[24,%d] range(%s)", i % 3 ? 20000 : 2048, ranges[i % 4]);
    snprintf(how, sizeof how, "sample(%%x) {%stemperature=%s, seed=%d}", ways[i % 5], i / 20 == 1 ? "0.3" : "1", i);
    CHECK(cpu_check_text(RLX_OP_sample, x, how, NULL));
  }
  CHECK(cpu_check_text(RLX_OP_sample, "x: f32[3,150001] range(-12,12)", "sample(%x) {temperature=0}", NULL));
  CHECK(cpu_check_text(RLX_OP_sample, "x: f32[2,1200] values(nan,-inf)", "sample(%x) {seed=1}", NULL));
}

static void any_argsort(uint64_t *seed, cpu_check_line *l) {
  any_line(seed, l, short_types, 9, 2000);
  int axis = l->expr[0] - '0';
  cpu_check_print(&l->expr, "argsort(%%x) {axis=%d, descending=%s}", axis, CPU_CHECK_PICK(seed, "true", "false"));
}
static void any_sort(uint64_t *seed, cpu_check_line *l) {
  any_line(seed, l, short_types, 9, 2000);
  int axis = l->expr[0] - '0';
  cpu_check_print(&l->expr, "sort(%%x) {axis=%d, descending=%s}", axis, CPU_CHECK_PICK(seed, "true", "false"));
}
TEST(random_sort) {
  CHECK(cpu_check_random(RLX_OP_argsort, 2 * N_RANDOM, any_argsort, NULL));
  CHECK(cpu_check_random(RLX_OP_sort, N_RANDOM, any_sort, NULL));
}

static void any_top_k(uint64_t *seed, cpu_check_line *l) {
  any_line(seed, l, short_types, 9, 2000);
  int axis = l->expr[0] - '0', n = 0;
  sscanf(strchr(l->inputs, '[') + (axis == 1 ? 3 : 5), "%d", &n);
  int k = cpu_check_int(seed, 0, 1) ? cpu_check_int(seed, 0, n) : cpu_check_int(seed, 0, n < 8 ? n : 8);
  cpu_check_print(&l->expr, "top_k_indices(%%x) {axis=%d, k=%d, largest=%s}", axis, k,
                  CPU_CHECK_PICK(seed, "true", "false"));
}
TEST(random_top_k) { CHECK(cpu_check_random(RLX_OP_top_k_indices, 3 * N_RANDOM, any_top_k, NULL)); }

static void any_cumsum(uint64_t *seed, cpu_check_line *l) {
  any_line(seed, l, number_types, 10, 300);
  int axis = l->expr[0] - '0';
  cpu_check_print(&l->expr, "cumsum(%%x) {axis=%d, exclusive=%s, reverse=%s}", axis,
                  CPU_CHECK_PICK(seed, "true", "false"), CPU_CHECK_PICK(seed, "true", "false"));
}
TEST(random_cumsum) { CHECK(cpu_check_random(RLX_OP_cumsum, N_RANDOM, any_cumsum, NULL)); }

TEST(large_lines) {
  CHECK(cpu_check_text(RLX_OP_argmax, "x: f32[9,70001]", "argmax(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_top_k_values, "x: f32[3,60001]", "top_k_values(%x) {k=40}", NULL));
  CHECK(cpu_check_text(RLX_OP_sort, "x: f32[40,1999]", "sort(%x)", NULL));
  CHECK(cpu_check_text(RLX_OP_cumsum, "x: f32[300,500]", "cumsum(%x) {axis=0}", NULL));
  CHECK(cpu_check_text(RLX_OP_cumsum, "x: f32[300,500]", "cumsum(%x)", NULL));
}
