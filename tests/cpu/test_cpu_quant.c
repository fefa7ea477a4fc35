/* Products with block-type weights on the CPU: all types, layouts and instruction sets, exact and quantised, against
 * the reference (cpu_check.h runs the combinations), and the packed layout by itself. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cpu/quant.h"
#include "cpu_check.h"
#include "quant/blocks.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

typedef struct block_type {
  rlx_dtype dtype;
  const char *name;
  size_t bytes;
} block_type;

static const block_type types[] = {
#define RLX_BLOCK_BLOCK(T, name) {RLX_##T, #name, T##_BYTES},
#define TYPE(T, number, name, class_, ...) RLX_BLOCK_##class_(T, name)
  RLX_TYPE_TABLE(TYPE)
#undef TYPE
};
enum { N_TYPES = sizeof types / sizeof *types };

static size_t elements_of(rlx_dtype t) { return rlx_dtype_describe(t)->block_elements; }

TEST(block_bytes_are_those_of_the_type_table) {
  for (size_t i = 0; i < N_TYPES; i++) CHECK_EQ_INT(types[i].bytes, rlx_dtype_describe(types[i].dtype)->block_bytes);
}

/* ---- products ---- */

/* The conformance cases of an op that contain a block type; not those with a norm, which is split off on the CPU. */
static bool check_block_cases(rlx_op op, size_t *n) {
  const rlx_case_table *t = rlx_case_table_get(op);
  bool ok = true;
  for (size_t i = 0; i < t->n; i++) {
    bool has = false;
    for (size_t j = 0; j < N_TYPES; j++) {
      char text[32];
      snprintf(text, sizeof text, ": %s[", types[j].name);
      has = has || strstr(t->v[i].inputs, text);
    }
    if (!has) continue;
    ++*n;
    ok = cpu_check_text(op, t->v[i].inputs, t->v[i].expr, NULL) && ok;
  }
  return ok;
}

TEST(conformance_cases_with_block_types) {
  size_t n = 0;
  CHECK(check_block_cases(RLX_OP_matmul, &n));
  CHECK(check_block_cases(RLX_OP_lora_matmul, &n));
  CHECK(check_block_cases(RLX_OP_fused_matmul_bias_act, &n));
  CHECK(check_block_cases(RLX_OP_fused_gate_up, &n));
  CHECK(check_block_cases(RLX_OP_dequant_grouped_matmul, &n));
  CHECK(n >= 16 + 10);
}

/* Every type, with partial tiles of every size, whole groups of 16 columns and partial ones. Some weights are so small
 * that they always run exact, some are not. */
TEST(every_type_and_tile) {
  static const struct {
    int m, n, k; /* k in blocks of 256 */
  } sizes[] = {{1, 16, 1}, {5, 35, 2}, {2, 67, 2}, {11, 64, 2}, {1, 33, 4}, {67, 130, 1}};
  for (size_t i = 0; i < N_TYPES; i++)
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      cpu_check_line l;
      int k = 256 * sizes[j].k;
      cpu_check_print(&l.inputs, "a: f32[%d,%d]; param w: %s[%d,%d]", sizes[j].m, k, types[i].name, sizes[j].n, k);
      cpu_check_print(&l.expr, "matmul(%%a, %%w) {trans_b=true}");
      CHECK(cpu_check_text(RLX_OP_matmul, l.inputs, l.expr, NULL));
    }
}

static const block_type *any_type(uint64_t *seed) { return &types[cpu_check_int(seed, 0, N_TYPES - 1)]; }

static void any_product(uint64_t *seed, cpu_check_line *l) {
  const block_type *t = any_type(seed);
  int blocks = (int)elements_of(t->dtype), k = blocks * cpu_check_int(seed, 1, blocks == 32 ? 20 : 3);
  int m = cpu_check_int(seed, 0, 20), n = cpu_check_int(seed, 1, 130);
  const char *act = CPU_CHECK_PICK(seed, "none", "relu", "gelu", "silu", "tanh");
  cpu_check_print(&l->inputs, "a: f32[%d,%d] range(-0.05,0.05); param w: %s[%d,%d]; c: f32[%d]", m, k, t->name, n, k,
                  n);
  cpu_check_print(&l->expr, "fused_matmul_bias_act(%%a, %%w, %%c) {act=%s, trans_b=true}", act);
}
TEST(random_products) { CHECK(cpu_check_random(RLX_OP_fused_matmul_bias_act, 60, any_product, NULL)); }

static void any_along_n(uint64_t *seed, cpu_check_line *l) {
  const block_type *t = any_type(seed);
  int blocks = (int)elements_of(t->dtype), n = blocks * cpu_check_int(seed, 1, blocks == 32 ? 20 : 3);
  int m = cpu_check_int(seed, 0, 40), k = cpu_check_int(seed, 1, 30);
  cpu_check_print(&l->inputs, "a: f32[%d,%d]; param w: %s[%d,%d]", m, k, t->name, k, n);
  cpu_check_print(&l->expr, "matmul(%%a, %%w)");
}
TEST(random_products_along_n) { CHECK(cpu_check_random(RLX_OP_matmul, 30, any_along_n, NULL)); }

static void any_batch(uint64_t *seed, cpu_check_line *l) {
  const block_type *t = any_type(seed);
  int k = (int)elements_of(t->dtype) * cpu_check_int(seed, 1, 3), n = cpu_check_int(seed, 1, 40);
  cpu_check_print(&l->inputs, "a: f32[%s%d,%d]; param w: %s[3,%d,%d]", CPU_CHECK_PICK(seed, "", "3,", "2,1,"),
                  cpu_check_int(seed, 1, 5), k, t->name, n, k);
  cpu_check_print(&l->expr, "matmul(%%a, %%w) {trans_b=true}");
}
TEST(random_batches) { CHECK(cpu_check_random(RLX_OP_matmul, 30, any_batch, NULL)); }

static void any_experts(uint64_t *seed, cpu_check_line *l) {
  const block_type *t = any_type(seed);
  int k = (int)elements_of(t->dtype) * cpu_check_int(seed, 1, 3), n = cpu_check_int(seed, 1, 40);
  int m = cpu_check_int(seed, 0, 33), experts = cpu_check_int(seed, 1, 5);
  cpu_check_print(&l->inputs, "x: f32[%d,%d]; param w: %s[%d,%d,%d]; idx: i32[%d] range(0,%d)", m, k, t->name, experts,
                  n, k, m, experts);
  cpu_check_print(&l->expr, "dequant_grouped_matmul(%%x, %%w, %%idx)");
}
TEST(random_experts) { CHECK(cpu_check_random(RLX_OP_dequant_grouped_matmul, 30, any_experts, NULL)); }

static void any_gate_up(uint64_t *seed, cpu_check_line *l) {
  const block_type *g = any_type(seed), *u = any_type(seed);
  int k = 256 * cpu_check_int(seed, 1, 2), n = cpu_check_int(seed, 1, 40);
  cpu_check_print(
    &l->inputs, "x: f32[%d,%d] range(-0.2,0.2); param g: %s[%d,%d] range(-0.5,0.5); param u: %s[%d,%d] range(-0.5,0.5)",
    cpu_check_int(seed, 1, 9), k, g->name, n, k, u->name, n, k);
  cpu_check_print(&l->expr, "fused_gate_up(%%x, %%g, %%u) {trans_b=true}");
}
TEST(random_gate_up) { CHECK(cpu_check_random(RLX_OP_fused_gate_up, 20, any_gate_up, NULL)); }

/* Many tasks, and several of them per thread. */
TEST(larger_than_a_task) {
  CHECK(
    cpu_check_text(RLX_OP_matmul, "a: f32[3,2048]; param w: q4_k[1000,2048]", "matmul(%a, %w) {trans_b=true}", NULL));
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[40,512]; param w: q8_0[300,512]", "matmul(%a, %w) {trans_b=true}", NULL));
}

/* ---- values that 8 bits cannot represent ---- */

enum { SMALL_N = 132 }; /* quantised, with a partial group */

typedef struct small_product {
  float a[3][256], out[3][SMALL_N];
  uint8_t w[SMALL_N * 292];
  _Alignas(64) uint8_t work[4096];
} small_product;

static void run_small(small_product *s, rlx_dtype t, cpu_isa isa) {
  cpu_product p = {.shape = {.m = 3,
                             .n = SMALL_N,
                             .k = 256,
                             .a_type = RLX_F32,
                             .b_type = t,
                             .out_type = RLX_F32,
                             .trans_b = true,
                             .isa = isa},
                   .a = s->a,
                   .a_row = 256,
                   .b = s->w,
                   .out = s->out,
                   .out_row = SMALL_N,
                   .work = s->work};
  cpu_product_claim claim;
  CHECK(cpu_quant_claim(&p.shape, &claim));
  CHECK(claim.work_bytes > 0 && claim.work_bytes <= sizeof s->work); /* it is quantised */
  cpu_quant_product(&p);
}

/* ---- many rows ---- */

enum { MANY_M = 70, MANY_N = 144 };
typedef struct many_product {
  uint8_t w[MANY_N * 292];
  float a[MANY_M][256], out[MANY_M][MANY_N];
  _Alignas(64) unsigned char work[MANY_M * 1024];
} many_product;

/* Rows first .. first + m of a. */
static void run_many(many_product *s, rlx_dtype dtype, cpu_isa isa, size_t first, size_t m) {
  cpu_product p = {
    .shape =
      {.isa = isa, .a_type = RLX_F32, .b_type = dtype, .m = m, .n = MANY_N, .k = 256, .n_batch = 1, .trans_b = true},
    .a = s->a[first],
    .a_row = 256,
    .b = s->w,
    .out = s->out[first],
    .out_row = MANY_N,
    .work = s->work};
  cpu_product_claim claim;
  CHECK(cpu_quant_claim(&p.shape, &claim));
  CHECK(claim.work_bytes > 0 && claim.work_bytes <= sizeof s->work); /* it is quantised */
  cpu_quant_product(&p);
}

/* A row alone has the bits that it has among many. The weights have the largest codes and the first rows of a the
 * largest elements, of one sign: sums of few bits would overflow. */
TEST(many_rows_give_the_bits_of_one) {
  static many_product s;
  static float alone[MANY_N];
  for (size_t t = 0; t < N_TYPES; t++)
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
      if (!cpu_quant((cpu_isa)isa)->dot[types[t].dtype][0]) continue; /* decoded */
      float w[256], row[256];
      size_t row_bytes = 256 / elements_of(types[t].dtype) * types[t].bytes;
      for (int r = 0; r < MANY_N; r++) {
        for (int k = 0; k < 256; k++)
          w[k] = r % 3 == 2 ? sinf((float)(r * 256 + k) * 0.7f) : k % 16 ? 1.0f : (float)(r % 3 - 1);
        CHECK_OK(rlx_quant_encode(types[t].dtype, w, s.w + (size_t)r * row_bytes, 256));
      }
      for (int i = 0; i < MANY_M; i++)
        for (int k = 0; k < 256; k++)
          s.a[i][k] = i == 0   ? 1
                      : i == 1 ? -1
                      : i == 2 ? (float)(k / 2 % 2 * 2 - 1)
                               : cosf((float)(i * 256 + k) * 1.3f);
      run_many(&s, types[t].dtype, (cpu_isa)isa, 0, MANY_M);
      if (test_has_failed()) return;
      for (size_t i = 0; i < MANY_M; i += i < 3 ? 1 : 11) {
        memcpy(alone, s.out[i], sizeof alone);
        run_many(&s, types[t].dtype, (cpu_isa)isa, i, 1);
        CHECK(memcmp(alone, s.out[i], sizeof alone) == 0);
      }
      for (int j = 0; j < MANY_N; j++) {
        CHECK_OK(rlx_quant_decode(types[t].dtype, s.w + (size_t)j * row_bytes, row, 256));
        for (int i = 0; i < 3; i++) {
          double sum = 0, size = 0;
          for (int k = 0; k < 256; k++) {
            sum += (double)row[k] * (double)s.a[i][k];
            size += fabs((double)row[k] * (double)s.a[i][k]);
          }
          CHECK(fabs((double)s.out[i][j] - sum) <= 1e-5 * size);
        }
      }
    }
}

/* A row with an infinity, a NaN or a tiny value runs exact; the rows next to it are unaffected. */
TEST(specials_go_the_exact_way) {
  static small_product s, plain;
  float w[256];
  for (size_t t = 0; t < N_TYPES; t++)
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
      if (!cpu_quant((cpu_isa)isa)->dot[types[t].dtype][0]) continue; /* decoded: always exact */
      for (int r = 0; r < SMALL_N; r++) {
        for (int k = 0; k < 256; k++) w[k] = sinf((float)(r * 256 + k) * 0.7f) + 0.2f;
        size_t row_bytes = 256 / elements_of(types[t].dtype) * types[t].bytes;
        CHECK_OK(rlx_quant_encode(types[t].dtype, w, s.w + (size_t)r * row_bytes, 256));
      }
      for (int i = 0; i < 3; i++)
        for (int k = 0; k < 256; k++) s.a[i][k] = cosf((float)(i * 256 + k) * 1.3f);
      plain = s;
      run_small(&plain, types[t].dtype, (cpu_isa)isa);
      s.a[0][7] = INFINITY;
      for (int k = 0; k < 256; k++) s.a[2][k] *= 1e-36f;
      run_small(&s, types[t].dtype, (cpu_isa)isa);
      if (test_has_failed()) return;
      CHECK(memcmp(s.out[1], plain.out[1], sizeof s.out[1]) == 0);
      for (int j = 0; j < SMALL_N; j++) {
        float row[256];
        size_t row_bytes = 256 / elements_of(types[t].dtype) * types[t].bytes;
        CHECK_OK(rlx_quant_decode(types[t].dtype, s.w + (size_t)j * row_bytes, row, 256));
        if (row[7] == 0) CHECK(isnan(s.out[0][j]));
        else CHECK(s.out[0][j] == (row[7] > 0 ? INFINITY : -INFINITY));
        double sum = 0, size = 0;
        for (int k = 0; k < 256; k++) {
          sum += (double)row[k] * (double)s.a[2][k];
          size += fabs((double)row[k] * (double)s.a[2][k]);
        }
        CHECK(fabs((double)s.out[2][j] - sum) <= 1e-5 * size);
      }
      s.a[0][7] = 0;
    }
}

/* ---- joined products ---- */

/* Random values of a leaf, encoded if it has a block type. */
static rlx_status write_values(rlx_executable *e, const char *name, const rlx_type *type, uint32_t seed) {
  size_t n = rlx_dims_count(&type->shape), bytes;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &bytes));
  float *x = rlx_mem_alloc(n * sizeof *x);
  void *blocks = rlx_mem_alloc(bytes);
  rlx_status s = x && blocks ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu floats", n);
  for (size_t i = 0; i < n && !s; i++)
    x[i] = (float)((int)((seed = seed * 1664525u + 1013904223u) >> 20) - 2048) / 2048;
  if (!s && type->dtype != RLX_F32) s = rlx_quant_encode(type->dtype, x, blocks, n);
  if (!s) s = rlx_executable_write(e, name, &(rlx_tensor){type->dtype, type->shape, {type->dtype ? blocks : x}, bytes});
  rlx_mem_free(blocks);
  rlx_mem_free(x);
  return s;
}

/* A profile times each node by itself, so it runs joined nodes one by one: the bits are equal, and close to the
 * reference with the decoded weights. */
static void check_joined(uint32_t threads, int64_t m, const char *q_type, const char *k_type) {
  char leaves[256];
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e[2];
  enum { K = 512, N = 176 + 72 + 72 };
  snprintf(leaves, sizeof leaves, "x: f32[%d,512]; param q: %s[176,512]; param k: %s[72,512]; param v: %s[72,512]",
           (int)m, q_type, k_type, k_type);
  CHECK_OK(expr_graph(leaves,
                      "%a = matmul(%x, %q) {trans_b=true}; %b = matmul(%x, %k) {trans_b=true}; "
                      "%c = matmul(%x, %v) {trans_b=true}; concat(%a, %b, %c) {axis=1}",
                      &g));
  CHECK_OK(run_session("cpu", TEST_THREADS(threads), &s));
  float *y[3];
  size_t bytes = (size_t)m * N * sizeof(float);
  for (int i = 0; i < 3; i++) {
    rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = i == 2 ? RLX_SWITCH_EXACT : 0};
    if (i != 1) CHECK_OK(rlx_compile(s, g, &options, &e[i / 2]));
    CHECK(y[i] = rlx_mem_alloc(bytes));
    for (const char *name = "xqkv"; *name; name++) {
      char text[2] = {*name, 0};
      CHECK_OK(write_values(e[i / 2], text, &rlx_graph_at(g, rlx_graph_find(g, text))->type, (uint32_t)*name));
    }
    if (i == 1) CHECK_OK(rlx_executable_profile(e[0], true));
    CHECK_OK(rlx_executable_run(e[i / 2]));
    CHECK_OK(rlx_executable_read(e[i / 2], "y", &(rlx_tensor){.dtype = RLX_F32, .data = y[i], .bytes = bytes}));
  }
  CHECK(memcmp(y[0], y[1], bytes) == 0);
  for (size_t i = 0; i < bytes / sizeof(float); i++) CHECK(fabsf(y[0][i] - y[2][i]) < 0.2f);
  for (int i = 0; i < 3; i++) rlx_mem_free(y[i]);
  for (int i = 0; i < 2; i++) rlx_executable_destroy(e[i]);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
}

TEST(joined_products) {
  static const char *const names[][2] = {{"q4_1", "q4_1"}, {"q8_0", "q8_0"}, {"q4_k", "q4_k"}, {"q4_k", "q6_k"}};
  for (uint32_t threads = 1; threads <= 3; threads += 2)
    for (int64_t m = 1; m <= 13; m += 6)
      for (size_t t = 0; t < 4; t++) check_joined(threads, m, names[t][0], names[t][1]);
}

/* ---- the layout ---- */

static void fill(uint8_t *p, size_t n) {
  uint32_t seed = 12345;
  for (size_t i = 0; i < n; i++) p[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
}

/* Any bytes, including those that no encoder produces, are restored. */
TEST(repack_there_and_back) {
  static const int64_t shapes[][3] = {{1, 16, 1}, {1, 5, 2}, {3, 37, 3}, {2, 0, 1}, {0, 20, 1}, {2, 64, 2}, {1, 20, 0}};
  for (size_t t = 0; t < N_TYPES; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      rlx_type type = {.dtype = types[t].dtype};
      type.shape = RLX_DIMS(shapes[i][0], shapes[i][1], shapes[i][2] * (int64_t)elements_of(types[t].dtype));
      if (!cpu_quant(CPU_ISA_FIRST)->dot[type.dtype][0]) { /* decoded, and never packed */
        CHECK_EQ_INT(cpu_layout_quant.bytes(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS, &type), 0);
        continue;
      }
      size_t n = (size_t)(shapes[i][0] * shapes[i][1] * shapes[i][2]) * types[t].bytes;
      CHECK_EQ_INT(cpu_layout_quant.bytes(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS, &type), n);
      uint8_t *from = rlx_mem_alloc(n), *packed = rlx_mem_alloc(n), *back = rlx_mem_alloc(n);
      CHECK(from && packed && back);
      fill(from, n);
      memset(packed, 0xee, n), memset(back, 0xee, n);
      CHECK_OK(cpu_layout_quant.repack(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS, &type, true, from, packed, NULL));
      CHECK_OK(cpu_layout_quant.repack(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS, &type, false, packed, back, NULL));
      CHECK(memcmp(from, back, n) == 0);
      CHECK((memcmp(from, packed, n) != 0) == (n > 0 && shapes[i][1] >= 16));
      rlx_mem_free(from), rlx_mem_free(packed), rlx_mem_free(back);
    }
}

TEST(layouts_that_are_not_ours) {
  rlx_type plain = {.dtype = RLX_F32, .shape = RLX_DIMS(16, 32)},
           block = {.dtype = RLX_Q8_0, .shape = RLX_DIMS(16, 32)};
  CHECK_EQ_INT(cpu_layout_quant.bytes(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS, &plain), 0);
  CHECK_EQ_INT(cpu_layout_quant.bytes(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS + 1, &block), 0);
  CHECK_FAILS(cpu_layout_quant.repack(CPU_ISA_FIRST, CPU_LAYOUT_QUANT_ROWS, &plain, true, "", NULL, NULL), RLX_INVALID,
              "f32[16,32]");
}
