/* GPU matrix products: random shapes of every kind (rows that are not whole words, odd sizes, broadcast batches, few
 * rows, one column, long k that is split), every tile of the table, gates, experts; and which kernels a large GPU
 * gets. */
#include <stdio.h>
#include <string.h>

#include "gpu/quant.h"
#include "gpu_check.h"
#include "ref/ref.h"
#include "test.h"

/* A software driver takes half a second per pipeline, and nearly every line needs its own. */
static size_t many(size_t n) { return gpu_check_has("vulkan") ? n / 8 + 1 : n; }

/* The types of a and b. */
static void any_types(uint64_t *seed, const char **a, const char **b) {
  *a = GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16");
  *b = strcmp(*a, "f32") == 0 ? GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16") : *a;
}

/* Half of the time whole vectors, otherwise sizes around the ends of tiles. */
static int any_size(uint64_t *seed, int max) {
  static const int around[] = {1, 4, 8, 16, 32, 64, 128};
  int n = around[gpu_check_int(seed, 0, 6)] * gpu_check_int(seed, 1, 3);
  if (gpu_check_int(seed, 0, 1)) n += gpu_check_int(seed, n > 2 ? -2 : 0, 3);
  return n < max ? n : max;
}
static int any_rows(uint64_t *seed) {
  return gpu_check_int(seed, 0, 1) ? gpu_check_int(seed, 1, 9) : any_size(seed, 150);
}

static void any_flat(uint64_t *seed, gpu_check_line *l) {
  const char *a, *b;
  any_types(seed, &a, &b);
  int m = any_rows(seed), n = any_size(seed, 150), k = any_size(seed, 200);
  bool trans = gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs, "a: %s[%d,%d]; param b: %s[%d,%d]", a, m, k, b, trans ? n : k, trans ? k : n);
  gpu_check_print(&l->expr, "matmul(%%a, %%b) {trans_b=%s}", trans ? "true" : "false");
}

static void any_batch(uint64_t *seed, gpu_check_line *l) {
  static const char *const shapes[][2] = {{"3,", "3,"},       {"2,3,", "2,3,"},
                                          {"2,1,", "3,"},     {"", "4,"},
                                          {"2,1,2,", "3,1,"}, {"2,1,3,1,2,", "2,1,2,1,"},
                                          {"5,", "1,"},       {"1,3,", "2,1,"},
                                          {"2,3,", "1,"},     {"2,2,2,2,2,2,", "2,1,2,1,2,1,"},
                                          {"1,1,", "2,2,"},   {"2,1,", ""}};
  const char *a, *b, *const *batch = shapes[gpu_check_int(seed, 0, 11)];
  any_types(seed, &a, &b);
  int m = any_rows(seed) % 40 + 1, n = any_size(seed, 40), k = any_size(seed, 70);
  bool trans = gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs, "a: %s[%s%d,%d]; b: %s[%s%d,%d]", a, batch[0], m, k, b, batch[1], trans ? n : k,
                  trans ? k : n);
  gpu_check_print(&l->expr, "matmul(%%a, %%b) {trans_b=%s}", trans ? "true" : "false");
}

/* Few results, long sums. */
static void any_long(uint64_t *seed, gpu_check_line *l) {
  const char *a, *b;
  any_types(seed, &a, &b);
  int m = any_rows(seed) % 20 + 1, n = gpu_check_int(seed, 1, 12), k = gpu_check_int(seed, 500, 2500);
  if (gpu_check_int(seed, 0, 1)) k = k / 8 * 8, n = n * 8;
  bool trans = gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs, "a: %s[%d,%d]; b: %s[%d,%d]", a, m, k, b, trans ? n : k, trans ? k : n);
  gpu_check_print(&l->expr, "matmul(%%a, %%b) {trans_b=%s}", trans ? "true" : "false");
}

/* A matrix times a vector. */
static void any_column(uint64_t *seed, gpu_check_line *l) {
  const char *a, *b;
  any_types(seed, &a, &b);
  int m = gpu_check_int(seed, 1, 200), k = any_size(seed, 400);
  gpu_check_print(&l->inputs, "a: %s[2,%d,%d]; b: %s[2,%d,1]; c: %s[1]", a, m, k, b, k, a);
  gpu_check_print(&l->expr, "fused_matmul_bias_act(%%a, %%b, %%c) {act=%s}",
                  GPU_CHECK_PICK(seed, "none", "relu", "tanh"));
}

TEST(random_products) {
  CHECK(gpu_check_random(RLX_OP_matmul, many(40), any_flat));
  CHECK(gpu_check_random(RLX_OP_matmul, many(30), any_batch));
  CHECK(gpu_check_random(RLX_OP_matmul, many(20), any_long));
  CHECK(gpu_check_random(RLX_OP_fused_matmul_bias_act, many(10), any_column));
}

#define ANY_ACT(seed) GPU_CHECK_PICK(seed, "none", "relu", "gelu", "gelu_approx", "silu", "sigmoid", "tanh")

static void any_fused(uint64_t *seed, gpu_check_line *l) {
  const char *a, *b;
  any_types(seed, &a, &b);
  int m = any_rows(seed), n = any_size(seed, 90), k = any_size(seed, 150);
  bool trans = gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs, "a: %s[2,%d,%d]; param b: %s[%d,%d]; c: %s[%d]", a, m, k, b, trans ? n : k, trans ? k : n,
                  a, n);
  gpu_check_print(&l->expr, "fused_matmul_bias_act(%%a, %%b%s) {act=%s, trans_b=%s}", GPU_CHECK_PICK(seed, ", %c", ""),
                  ANY_ACT(seed), trans ? "true" : "false");
}

/* Inputs are small, so the product of two sums stays near 1. */
static void any_gate(uint64_t *seed, gpu_check_line *l) {
  const char *a, *g, *u;
  any_types(seed, &a, &g);
  u = strcmp(a, "f32") == 0 && gpu_check_int(seed, 0, 3) == 0 ? "bf16" : g;
  int m = any_rows(seed), n = any_size(seed, 90), k = any_size(seed, 150);
  bool trans = gpu_check_int(seed, 0, 1);
  int rows = trans ? n : k, columns = trans ? k : n;
  gpu_check_print(
    &l->inputs, "x: %s[%d,%d] range(-0.5,0.5); param g: %s[%d,%d] range(-0.3,0.3); param u: %s[%d,%d] range(-0.3,0.3)",
    a, m, k, g, rows, columns, u, rows, columns);
  gpu_check_print(&l->expr, "fused_gate_up(%%x, %%g, %%u) {act=%s, trans_b=%s}", ANY_ACT(seed),
                  trans ? "true" : "false");
}

/* One row that is normalised first: sizes of whole vectors and others, which take the norm in a separate dispatch or
 * not at all; rows near zero and far from it. */
static void any_normed(uint64_t *seed, gpu_check_line *l) {
  const char *b = GPU_CHECK_PICK(seed, "f32", "f16", "bf16");
  int m = gpu_check_int(seed, 0, 5) ? 1 : 2, n = any_size(seed, 300), k = 4 * gpu_check_int(seed, 14, 150);
  bool far = gpu_check_int(seed, 0, 4) == 0;
  gpu_check_print(&l->inputs, "a: f32[1,%d,%d] range(%s); param b: %s[%d,%d] range(-0.3,0.3); c: f32[%d]; n: f32[%d]",
                  m, k, far ? "1e18,1e30" : GPU_CHECK_PICK(seed, "-1,1", "-1e-20,1e-20", "-1e6,1e6"), b, n, k, n, k);
  gpu_check_print(&l->expr, "fused_norm_matmul(%%a, %%b, %s, %%n) {act=%s, trans_b=true, eps=%s}",
                  GPU_CHECK_PICK(seed, "%c", "_"), ANY_ACT(seed), GPU_CHECK_PICK(seed, "1e-6", "0.01"));
}

static void any_normed_gate(uint64_t *seed, gpu_check_line *l) {
  const char *g = GPU_CHECK_PICK(seed, "f32", "f16", "bf16"), *u = gpu_check_int(seed, 0, 3) ? g : "f16";
  int n = any_size(seed, 200), k = 8 * gpu_check_int(seed, 8, 80);
  gpu_check_print(&l->inputs,
                  "x: f32[1,%d]; param g: %s[%d,%d] range(-0.1,0.1); param u: %s[%d,%d] range(-0.1,0.1); n: f32[%d]", k,
                  g, n, k, u, n, k, k);
  gpu_check_print(&l->expr, "fused_norm_gate_up(%%x, %%g, %%u, %%n) {act=%s, trans_b=true, eps=1e-6}", ANY_ACT(seed));
}

TEST(random_norms_before) {
  CHECK(gpu_check_random(RLX_OP_fused_norm_matmul, many(40), any_normed));
  CHECK(gpu_check_random(RLX_OP_fused_norm_gate_up, many(30), any_normed_gate));
}

TEST(random_ends) {
  CHECK(gpu_check_random(RLX_OP_fused_matmul_bias_act, many(30), any_fused));
  CHECK(gpu_check_random(RLX_OP_fused_gate_up, many(30), any_gate));
}

static void any_experts(uint64_t *seed, gpu_check_line *l) {
  const char *a, *b;
  any_types(seed, &a, &b);
  int experts = gpu_check_int(seed, 1, 9), m = gpu_check_int(seed, 1, gpu_check_int(seed, 0, 1) ? 150 : 20);
  int n = any_size(seed, 70), k = any_size(seed, 100);
  bool trans = gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs,
                  "x: %s[%d,%d] range(-0.5,0.5); param w: %s[%d,%d,%d] range(-0.5,0.5); idx: %s[%d] range(0,%d)", a, m,
                  k, b, experts, trans ? n : k, trans ? k : n, GPU_CHECK_PICK(seed, "i32", "i64"), m, experts);
  gpu_check_print(&l->expr, "grouped_matmul(%%x, %%w, %%idx) {trans_b=%s}", trans ? "true" : "false");
}

TEST(random_experts) { CHECK(gpu_check_random(RLX_OP_grouped_matmul, many(30), any_experts)); }

/* Rows without an expert are zeros in every kernel. */
TEST(missing_experts) {
  float want[40 * 2];
  for (int i = 0; i < 40; i++) want[2 * i] = i % 4 == 1 ? 3 : 0, want[2 * i + 1] = i % 4 == 1 ? 3 : 0;
  CHECK(gpu_check_values(RLX_OP_grouped_matmul,
                         "x: f32[4,3] values(1); w: f32[1,3,2] values(1); idx: i32[4] values(-1,0,1,7)",
                         "grouped_matmul(%x, %w, %idx)", RLX_DIMS(4, 2), want));
  CHECK(gpu_check_values(RLX_OP_grouped_matmul,
                         "x: f32[40,3] values(1); w: f32[1,3,2] values(1); idx: i64[40] values(-1,0,1,7)",
                         "grouped_matmul(%x, %w, %idx)", RLX_DIMS(40, 2), want));
}

/* ---- every tile ---- */

TEST(tiles) {
  static const char *const types[] = {"f32", "f16", "bf16"};
  for (size_t i = 0; i < gpu_product_tile_count; i++) {
    const product_tile *t = &gpu_product_tiles[i];
    if (!t->rate && !t->rate_t && t->unit >= PRODUCT_COOP4) continue; /* tested by bench/vk_matmul --check */
    for (uint32_t splits = 1; splits <= (gpu_check_has("vulkan") ? 1 : 2); splits++) {
      char inputs[256], expr[256];
      int m = (int)gpu_tile_rows(t) + 3 + (int)i % 4, n = (int)gpu_tile_columns(t) + 8, k = 16 * 7 + 8 * (int)splits;
      bool trans = (i + splits) % 2;
      const char *type = types[(i + splits) % 3];
      snprintf(inputs, sizeof inputs, "a: %s[%d,%d]; b: %s[%d,%d]; c: %s[%d]", type, m, k, type, trans ? n : k,
               trans ? k : n, type, n);
      snprintf(expr, sizeof expr, "fused_matmul_bias_act(%%a, %%b, %%c) {act=relu, trans_b=%s}",
               trans ? "true" : "false");
      gpu_check_choose((gpu_choices){.tile = t, .tile_splits = splits});
      bool right = gpu_check_text(RLX_OP_fused_matmul_bias_act, inputs, expr);
      gpu_check_choose((gpu_choices){0});
      CHECK(right);
    }
  }
}

/* ---- which kernels a large GPU gets ---- */

static const gpu_caps large = {.max_group = 1024,
                               .max_shared = 48 * 1024,
                               .max_groups_x = 65535,
                               .max_window_bytes = (uint64_t)4 << 30,
                               .units = 132,
                               .subgroup = 32,
                               .has_f16 = true,
                               .has_coopmat = true,
                               .has_coopmat_bf16 = true};

static gpu_caps hopper(void) {
  gpu_caps caps = large;
  caps.has_wgmma = true;
  caps.max_dynamic = 223 * 1024;
  return caps;
}

/* The names of the kernels for a product of these types; "" if it fails. */
static const char *kernels_of(const gpu_caps *caps, rlx_dtype a, rlx_dtype b, int64_t m, int64_t n, int64_t k,
                              bool trans) {
  static char names[128];
  rlx_graph *g;
  names[0] = 0;
  if (rlx_graph_create(&g)) return names;
  rlx_node x = rlx_op_input(g, "a", a, RLX_DIMS(m, k));
  rlx_node w = rlx_op_param(g, "b", b, trans ? RLX_DIMS(n, k) : RLX_DIMS(k, n));
  rlx_node y = trans ? rlx_op_matmul_t(g, x, w) : rlx_op_matmul(g, x, w);
  gpu_lowering l;
  const uint32_t layouts[] = {0, rlx_dtype_is_block(b) ? GPU_LAYOUT_PLANES : 0};
  rlx_status s = gpu_lower(caps, &(rlx_claim_query){.graph = g, .node = y, .layout = layouts}, &l);
  for (size_t i = 0; i < l.dispatches.n && !s && l.claim.native; i++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "", l.dispatches.v[i].kernel->name);
  gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  return names;
}

/* The same for act(x gate) * (x up). */
static const char *kernels_of_gate_up(const gpu_caps *caps, rlx_dtype gate, rlx_dtype up, int64_t m, int64_t n,
                                      int64_t k, uint32_t switches) {
  static char names[160];
  rlx_graph *g;
  gpu_lowering l;
  names[0] = 0;
  if (rlx_graph_create(&g)) return names;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(m, k));
  rlx_node y = rlx_op_fused_gate_up(g, x, rlx_op_param(g, "gate", gate, RLX_DIMS(n, k)),
                                    rlx_op_param(g, "up", up, RLX_DIMS(n, k)), true, RLX_ACT_SILU);
  const uint32_t in_planes = rlx_dtype_is_block(gate) ? GPU_LAYOUT_PLANES : 0, layouts[] = {0, in_planes, in_planes};
  rlx_status s =
    gpu_lower(caps, &(rlx_claim_query){.graph = g, .node = y, .layout = layouts, .switches = switches}, &l);
  for (size_t i = 0; i < l.dispatches.n && !s && l.claim.native; i++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "", l.dispatches.v[i].kernel->name);
  gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  return names;
}

/* Whether a large GPU runs a tile as it stands in its table. */
static bool tile_fits(const product_tile *t, bool is_pair) {
  rlx_dtype type = t->unit < PRODUCT_COOP4 ? RLX_F32 : RLX_F16;
  gpu_caps chosen = t->unit == PRODUCT_WIDE ? hopper() : large;
  chosen.choices = (gpu_choices){.tile = t, .tile_splits = 1};
  gpu_product p = {.m = 512, .n = 512, .k = 512, .a_type = type, .b_type = type, .y_type = type, .trans_b = true};
  if (is_pair) p.residues = p.m * p.k;
  product_choice choice = {.splits = 0};
  return gpu_product_choose(&chosen, &p, p.m, 1, &choice) && memcmp(&choice.tile, t, sizeof *t) == 0;
}
TEST(tiles_fit) {
  for (size_t i = 0; i < gpu_product_tile_count; i++) CHECK(tile_fits(&gpu_product_tiles[i], false));
  for (size_t i = 0; i < gpu_product_pair_tile_count; i++) CHECK(tile_fits(&gpu_product_pair_tiles[i], true));
}

TEST(products_of_warp_groups) {
  const gpu_caps caps = hopper();
  CHECK_EQ_STR(kernels_of(&caps, RLX_F16, RLX_F16, 4096, 4096, 4096, true), "matmul_wide256");
  CHECK_EQ_STR(kernels_of(&caps, RLX_BF16, RLX_BF16, 4096, 4096, 4096, false), "matmul_wide256_bf16");
  CHECK_EQ_STR(kernels_of(&large, RLX_F16, RLX_F16, 4096, 4096, 4096, true), "matmul_coop4");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_F32, 4096, 4096, 4096, true), "matmul8");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q5_K, 9, 14336, 4096, true), "quant_stages quant_wide32");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q6_K, 64, 14336, 4096, true), "quant_stages quant_wide64");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q8_0, 64, 1024, 4096, true), "quant_stages quant_wide64 matmul_sum");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_MXFP4, 64, 4096, 4096, true), "matmul_blocks matmul_sum");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_Q4_K, 64, 4096, 4096, true), "quant_f16 quant_coop matmul_sum");
}

/* Few rows: of two types and of whole superblocks; a smaller or larger number of rows is for other kernels. */
TEST(products_of_few_rows) {
  const gpu_caps caps = hopper();
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q4_K, 2, 14336, 4096, true), "quant_groups quant_few8");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q4_K, 9, 4096, 14336, true), "quant_groups quant_few16");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q4_K, 32, 128, 256, true), "quant_groups quant_few32");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q8_0, 16, 14336, 4096, true), "quant_groups quant_few16");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q4_K, 1, 14336, 4096, true), "quant_matvec");
  CHECK_EQ_STR(kernels_of_gate_up(&caps, RLX_Q4_K, RLX_Q8_0, 8, 14336, 4096, 0), "quant_groups quant_few8 quant_few8");
  const struct {
    const gpu_caps *caps;
    rlx_dtype type;
    int64_t m, k;
  } others[] = {{&caps, RLX_Q4_K, 33, 4096},
                {&caps, RLX_Q8_0, 17, 4096},
                {&caps, RLX_Q8_0, 8, 4096 + 32},
                {&caps, RLX_Q6_K, 8, 4096},
                {&large, RLX_Q4_K, 8, 4096}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    CHECK(
      !strstr(kernels_of(others[i].caps, RLX_F32, others[i].type, others[i].m, 14336, others[i].k, true), "quant_few"));
}

/* Weights of block types are decoded for the library only where that pays. */
TEST(rows_by_a_library) {
  gpu_caps caps = large;
  caps.has_library = true;
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_F16, 16, 14336, 4096, true), "rows_coop1");
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_F16, 17, 4096, 4096, true), "quant_f16 library_product matmul_sum");
  caps.knows_fragments = true;
  CHECK_EQ_STR(kernels_of(&caps, RLX_F32, RLX_Q8_0, 32, 14336, 4096, true), "quant_f16 rows_direct2_blocks");
  gpu_caps on_hopper = hopper();
  on_hopper.has_library = on_hopper.knows_fragments = true;
  CHECK_EQ_STR(kernels_of(&on_hopper, RLX_F32, RLX_Q8_0, 32, 14336, 4096, true), "quant_f16 rows_direct2_blocks");
  CHECK_EQ_STR(kernels_of(&on_hopper, RLX_F32, RLX_Q8_0, 33, 14336, 4096, true), "quant_stages quant_wide64");
  const char *many = kernels_of(&on_hopper, RLX_F32, RLX_Q4_K, 129, 14336, 4096, true);
  CHECK(strstr(many, "library_product"));
}

TEST(narrow_rows) {
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 4, 4096, 4096, true), "rows_coop1");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 16, 11008, 4096, true), "rows_coop1");
  CHECK_EQ_STR(kernels_of(&large, RLX_F16, RLX_F16, 17, 4096, 4096, true), "rows_coop2");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_BF16, 64, 4096, 4096, true), "rows_coop4_bf16");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 8, 64, 16384, true), "rows_coop1 matmul_sum");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 1, 4096, 4096, true), "matvec1");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 2, 4096, 4096, true), "matvec8");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 65, 4096, 4096, true), "quant_f16 matmul_coop2 matmul_sum");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 64, 14336, 4096, true), "quant_f16 matmul_coop2");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 8, 4096, 4100, true), "matvec8"); /* rows of part vectors */
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 4, 4096, 4096, false), "matvec_kn matmul_sum");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F32, 9, 4096, 4096, true), "rows_full1");
}

/* With a known element-to-lane mapping of matrices. */
TEST(narrow_direct) {
  gpu_caps known = large;
  known.knows_fragments = known.knows_fragments_bf16 = true;
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F16, 2, 4096, 4096, true), "matvec8");
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F16, 3, 4096, 4096, true), "rows_direct1");
  CHECK_EQ_STR(kernels_of(&known, RLX_F16, RLX_F16, 16, 11008, 4096, true), "rows_direct1");
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F16, 17, 4096, 4096, true), "quant_f16 rows_direct2");
  CHECK_EQ_STR(kernels_of(&known, RLX_F16, RLX_F16, 32, 11008, 4096, true), "rows_direct2");
  CHECK_EQ_STR(kernels_of(&known, RLX_F16, RLX_F16, 33, 4096, 4096, true), "rows_coop4");
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F16, 8, 64, 16384, true), "rows_direct1 matmul_sum");
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F16, 8, 4096, 4100, true), "matvec8"); /* rows of part vectors */
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F32, 8, 4096, 4096, true), "rows_direct_f32");
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F32, 17, 4096, 4096, true), "rows_full2");
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_BF16, 8, 4096, 4096, true), "rows_coop1_bf16");
  known.max_shared = 16384; /* fewer subgroups would fit, but no device with matrix units has so little */
  CHECK_EQ_STR(kernels_of(&known, RLX_F32, RLX_F16, 8, 4096, 4096, true), "matvec8");
}

/* x becomes f16 once. One dispatch has both products, unless k must be split to fill the device. */
TEST(gate_and_up) {
  CHECK_EQ_STR(kernels_of_gate_up(&large, RLX_F16, RLX_F16, 512, 14336, 4096, 0), "quant_f16 matmul_coop4");
  CHECK_EQ_STR(kernels_of_gate_up(&large, RLX_F16, RLX_F16, 512, 14336, 4096, RLX_SWITCH_FAST_F16),
               "quant_f16 matmul_coop4");
  CHECK_EQ_STR(kernels_of_gate_up(&large, RLX_F16, RLX_F16, 64, 14336, 4096, 0), "quant_f16 matmul_coop2");
  CHECK_EQ_STR(kernels_of_gate_up(&large, RLX_F16, RLX_F16, 64, 1024, 4096, 0),
               "quant_f16 matmul_coop2 matmul_sum matmul_coop2 matmul_sum");
  CHECK_EQ_STR(kernels_of_gate_up(&large, RLX_F16, RLX_BF16, 64, 4096, 256, 0),
               "quant_f16 matmul_coop2 rows_coop4_bf16");
  const gpu_caps caps = hopper();
  CHECK_EQ_STR(kernels_of_gate_up(&caps, RLX_F16, RLX_F16, 512, 14336, 4096, 0),
               "quant_f16 matmul_wide256 matmul_sum matmul_wide256 matmul_sum");
}

/* With a k or an n that leaves matrix units idle, x stays f32. */
TEST(thin_products_of_f16) {
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 100, 4096, 24, true), "matmul4");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 100, 8, 8192, true), "matmul4 matmul_sum");
}

TEST(choice) {
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F32, 4096, 4096, 4096, false), "matmul8");
  CHECK_EQ_STR(kernels_of(&large, RLX_F16, RLX_F16, 4096, 4096, 4096, false), "matmul_coop4");
  CHECK_EQ_STR(kernels_of(&large, RLX_BF16, RLX_BF16, 4096, 4096, 4096, false), "matmul_coop4_bf16");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F16, 4096, 4096, 4096, true), "quant_f16 matmul_coop4");
  CHECK_EQ_STR(kernels_of(&large, RLX_F16, RLX_F16, 4096, 4096, 4098, true), "matmul8"); /* rows of part vectors */
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F32, 1, 4096, 4096, true), "matvec1");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F32, 4096, 1, 4096, false), "matvec1");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F32, 32, 32, 65536, false), "matmul4 matmul_sum");
  CHECK_EQ_STR(kernels_of(&large, RLX_F32, RLX_F32, 1, 4, 1 << 20, true), "matvec1 matmul_sum");
  gpu_caps plain = large;
  plain.has_coopmat = plain.has_coopmat_bf16 = false;
  CHECK_EQ_STR(kernels_of(&plain, RLX_F32, RLX_F16, 8, 11008, 4096, true), "matvec8");
  CHECK_EQ_STR(kernels_of(&plain, RLX_F16, RLX_F16, 4096, 4096, 4096, false), "matmul8");
  CHECK_EQ_STR(kernels_of(&plain, RLX_F32, RLX_F16, 4096, 4096, 4096, true), "matmul8");
  gpu_caps min = {
    .max_group = 128, .max_shared = 16 * 1024, .max_groups_x = 65535, .max_window_bytes = 128 << 20, .units = 1};
  CHECK_EQ_STR(kernels_of(&min, RLX_F32, RLX_F32, 1024, 1024, 1024, false), "matmul8");
}
