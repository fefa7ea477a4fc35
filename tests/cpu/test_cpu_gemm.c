/* Matrix products on the CPU against the reference: the conformance cases, shapes around the sizes where the work is
 * split (tiles, blocks, steps of k), every mix of dtypes, weights packed and row-major; and the packed layout itself,
 * in both directions. cpu_check.h describes what each run covers. */
#include <string.h>

#include "base/mem.h"
#include "cpu/gemm.h"
#include "cpu_check.h"
#include "test.h"

TEST(matmul_cases) { CHECK(cpu_check_cases(RLX_OP_matmul, NULL)); }
TEST(dot_general_cases) { CHECK(cpu_check_cases(RLX_OP_dot_general, NULL)); }
TEST(lora_matmul_cases) { CHECK(cpu_check_cases(RLX_OP_lora_matmul, NULL)); }
TEST(grouped_matmul_cases) { CHECK(cpu_check_cases(RLX_OP_grouped_matmul, NULL)); }
TEST(dequant_grouped_matmul_cases) { CHECK(cpu_check_cases(RLX_OP_dequant_grouped_matmul, NULL)); }
TEST(fused_matmul_bias_act_cases) { CHECK(cpu_check_cases(RLX_OP_fused_matmul_bias_act, NULL)); }
TEST(fused_gate_up_cases) { CHECK(cpu_check_cases(RLX_OP_fused_gate_up, NULL)); }

/* ---- random shapes ---- */

/* Sizes near those where the code path changes: rows of a group and a block, columns of a panel, a row's four
 * panels. */
static int any_m(uint64_t *seed) {
  static const int edges[] = {0, 1, 2, 4, 6, 7, 12, 14, 15, 28, 29, 48, 112, 113, 130};
  int i = cpu_check_int(seed, 0, 24);
  return i < 15 ? edges[i] : cpu_check_int(seed, 1, 20);
}
static int any_n(uint64_t *seed) {
  static const int edges[] = {0, 1, 2, 8, 9, 16, 17, 31, 32, 33, 63, 64, 96, 127, 128, 129, 160, 256};
  int i = cpu_check_int(seed, 0, 25);
  return i < 18 ? edges[i] : cpu_check_int(seed, 1, 70);
}
static int any_k(uint64_t *seed) {
  static const int edges[] = {0, 1, 2, 3, 15, 16, 17, 255, 256, 257, 515};
  int i = cpu_check_int(seed, 0, 20);
  return i < 11 ? edges[i] : cpu_check_int(seed, 1, 90);
}

/* Dtypes of a and b; b as a weight or bound at run time. */
typedef struct kinds {
  const char *a, *b, *leaf;
  bool trans_b;
} kinds;
static kinds any_kinds(uint64_t *seed) {
  static const struct {
    const char *a, *b;
  } types[] = {{"f32", "f32"}, {"f32", "f32"}, {"f32", "f16"}, {"f32", "bf16"}, {"f16", "f16"}, {"bf16", "bf16"}};
  int i = cpu_check_int(seed, 0, 5);
  return (kinds){types[i].a, types[i].b, cpu_check_int(seed, 0, 1) ? "param " : "", cpu_check_int(seed, 0, 1) == 1};
}

static void write_matmul(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = any_m(seed), n = any_n(seed), k = any_k(seed);
  cpu_check_print(&l->inputs, "a: %s[%d,%d]; %sb: %s[%d,%d]", t.a, m, k, t.leaf, t.b, t.trans_b ? n : k,
                  t.trans_b ? k : n);
  cpu_check_print(&l->expr, "matmul(%%a, %%b) {trans_b=%s}", t.trans_b ? "true" : "false");
}
TEST(matmul_random) { CHECK(cpu_check_random(RLX_OP_matmul, 150, write_matmul, NULL)); }

static void write_batch(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = cpu_check_int(seed, 0, 17), n = cpu_check_int(seed, 0, 40), k = cpu_check_int(seed, 0, 30);
  const char *a = CPU_CHECK_PICK(seed, "", "1,", "3,", "2,3,", "2,1,", "1,3,", "0,1,");
  const char *b = CPU_CHECK_PICK(seed, "", "1,", "3,", "1,3,", "1,1,", "2,1,1,");
  cpu_check_print(&l->inputs, "a: %s[%s%d,%d]; %sb: %s[%s%d,%d]", t.a, a, m, k, t.leaf, t.b, b, t.trans_b ? n : k,
                  t.trans_b ? k : n);
  cpu_check_print(&l->expr, "matmul(%%a, %%b) {trans_b=%s}", t.trans_b ? "true" : "false");
}
TEST(batches_random) { CHECK(cpu_check_random(RLX_OP_matmul, 120, write_batch, NULL)); }

static void write_fused(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = any_m(seed), n = any_n(seed), k = cpu_check_int(seed, 1, 40), bias = cpu_check_int(seed, 0, 1);
  cpu_check_print(&l->inputs, "a: %s[%d,%d]; %sb: %s[%d,%d]; c: %s[%d]", t.a, m, k, t.leaf, t.b, t.trans_b ? n : k,
                  t.trans_b ? k : n, t.a, n);
  cpu_check_print(&l->expr, "fused_matmul_bias_act(%%a, %%b%s) {act=%s, trans_b=%s}", bias ? ", %c" : "",
                  CPU_CHECK_PICK(seed, "none", "relu", "gelu", "gelu_approx", "silu", "sigmoid", "tanh"),
                  t.trans_b ? "true" : "false");
}
TEST(fused_random) { CHECK(cpu_check_random(RLX_OP_fused_matmul_bias_act, 60, write_fused, NULL)); }

static void write_gate_up(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = any_m(seed), n = any_n(seed), k = cpu_check_int(seed, 0, 60);
  const char *second = cpu_check_int(seed, 0, 1) ? "param " : "";
  char shape[64];
  snprintf(shape, sizeof shape, "[%d,%d]", t.trans_b ? n : k, t.trans_b ? k : n);
  cpu_check_print(&l->inputs, "x: %s[%d,%d]; %sg: %s%s; %su: %s%s", t.a, m, k, t.leaf, t.b, shape, second, t.b, shape);
  cpu_check_print(&l->expr, "fused_gate_up(%%x, %%g, %%u) {act=%s, trans_b=%s}",
                  CPU_CHECK_PICK(seed, "silu", "gelu", "none"), t.trans_b ? "true" : "false");
}
TEST(gate_up_random) { CHECK(cpu_check_random(RLX_OP_fused_gate_up, 60, write_gate_up, NULL)); }
/* The two weights may have different dtypes. */
TEST(gate_up_mixed) {
  CHECK(cpu_check_text(RLX_OP_fused_gate_up, "x: f32[3,32]; param g: q8_0[40,32]; param u: f16[40,32]",
                       "fused_gate_up(%x, %g, %u) {trans_b=true}", NULL));
  CHECK(cpu_check_text(RLX_OP_fused_gate_up, "x: f32[3,32]; param g: f32[40,32]; param u: bf16[40,32]",
                       "fused_gate_up(%x, %g, %u) {trans_b=true}", NULL));
  CHECK(cpu_check_text(RLX_OP_fused_gate_up, "x: f32[2,3,32]; param g: q8_0[2,40,32]; param u: q4_0[2,40,32]",
                       "fused_gate_up(%x, %g, %u) {trans_b=true}", NULL));
}

static void write_lora(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = any_m(seed), n = any_n(seed), k = any_k(seed), r = cpu_check_int(seed, 0, 9);
  cpu_check_print(&l->inputs, "x: %s[%d,%d]; %sw: %s[%d,%d]; a: %s[%d,%d]; b: %s[%d,%d]", t.a, m, k, t.leaf, t.b,
                  t.trans_b ? n : k, t.trans_b ? k : n, t.a, k, r, t.a, r, n);
  cpu_check_print(&l->expr, "lora_matmul(%%x, %%w, %%a, %%b) {scale=%s, trans_b=%s}",
                  CPU_CHECK_PICK(seed, "1.0", "0.5", "-2.0", "0.0"), t.trans_b ? "true" : "false");
}
TEST(lora_random) { CHECK(cpu_check_random(RLX_OP_lora_matmul, 60, write_lora, NULL)); }

static void write_grouped(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = any_m(seed), n = any_n(seed), k = cpu_check_int(seed, 0, 60), e = cpu_check_int(seed, 1, 9);
  cpu_check_print(&l->inputs, "x: %s[%d,%d]; %sw: %s[%d,%d,%d]; idx: %s[%d] range(0,%d)", t.a, m, k, t.leaf, t.b, e,
                  t.trans_b ? n : k, t.trans_b ? k : n, CPU_CHECK_PICK(seed, "i32", "i64"), m, e);
  cpu_check_print(&l->expr, "grouped_matmul(%%x, %%w, %%idx) {trans_b=%s}", t.trans_b ? "true" : "false");
}
TEST(grouped_random) { CHECK(cpu_check_random(RLX_OP_grouped_matmul, 60, write_grouped, NULL)); }
TEST(experts_out_of_range) {
  CHECK(cpu_check_fails(RLX_OP_grouped_matmul, "x: f32[3,2]; w: f32[2,2,3]; idx: i32[3] values(1,2,0)",
                        "grouped_matmul(%x, %w, %idx)", RLX_INVALID, "idx[1] is expert 2 of 2"));
  CHECK(cpu_check_fails(RLX_OP_grouped_matmul, "x: f32[3,2]; w: f32[2,2,3]; idx: i64[3] values(1,0,-7)",
                        "grouped_matmul(%x, %w, %idx)", RLX_INVALID, "idx[2] is expert -7 of 2"));
}

/* One row and a few rows: the paths that read b sequentially. */
static void write_row(uint64_t *seed, cpu_check_line *l) {
  kinds t = any_kinds(seed);
  int m = cpu_check_int(seed, 1, 5), n = cpu_check_int(seed, 0, 3) * 128 + any_n(seed), k = any_k(seed);
  if (cpu_check_int(seed, 0, 3)) m = 1;
  cpu_check_print(&l->inputs, "a: %s[%d,%d]; %sb: %s[%d,%d]", t.a, m, k, t.leaf, t.b, t.trans_b ? n : k,
                  t.trans_b ? k : n);
  cpu_check_print(&l->expr, "matmul(%%a, %%b) {trans_b=%s}", t.trans_b ? "true" : "false");
}

/* Sums so long that they are split, for a poll between the parts. */
TEST(long_sums) {
  static const struct {
    const char *inputs, *expr;
  } lines[] = {
    {"a: f32[1,270001]; b: f32[270001,1]", "matmul(%a, %b)"},
    {"a: f32[1,270001]; param b: f32[3,270001]", "matmul(%a, %b) {trans_b=true}"},
    {"a: f16[3,270001]; b: f16[2,270001]", "matmul(%a, %b) {trans_b=true}"},
    {"a: f32[1,9001]; b: f32[9001,600]", "matmul(%a, %b)"},
    {"a: f32[1,270001]; param b: f32[270001,32]", "matmul(%a, %b)"},
    {"a: f32[5,270001]; b: f32[270001,3]", "matmul(%a, %b)"},
  };
  const size_t n = TEST_IS_SANITIZED ? 4 : sizeof lines / sizeof *lines;
  for (size_t i = 0; i < n; i++) CHECK(cpu_check_text(RLX_OP_matmul, lines[i].inputs, lines[i].expr, NULL));
}

TEST(rows_random) { CHECK(cpu_check_random(RLX_OP_matmul, 100, write_row, NULL)); }

/* Long sums and many rows: several steps of k on both paths, more than one chunk of packed rows. */
TEST(large) {
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[40,2500]; b: f32[2500,40]", "matmul(%a, %b)", NULL));
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[15,2500]; param b: f16[70,2500]", "matmul(%a, %b) {trans_b=true}", NULL));
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[140,10000]; param b: f32[10000,5]", "matmul(%a, %b)", NULL));
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[400,50,12]; b: f32[400,12,3]", "matmul(%a, %b)", NULL));
}
/* Infinities and NaN stay in their rows and columns, although the zeros that pad panels are multiplied with them. */
TEST(special_values) {
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[20,40] special; param b: f32[40,100]", "matmul(%a, %b)", NULL));
  CHECK(cpu_check_text(RLX_OP_matmul, "a: f32[3,40]; b: f32[45,40] special", "matmul(%a, %b) {trans_b=true}", NULL));
}

static void write_dot_general(uint64_t *seed, cpu_check_line *l) {
  int b = cpu_check_int(seed, 1, 3), m = cpu_check_int(seed, 1, 9), k = cpu_check_int(seed, 1, 9),
      n = cpu_check_int(seed, 1, 50);
  const char *t = CPU_CHECK_PICK(seed, "f32", "f16", "bf16");
  bool trans = cpu_check_int(seed, 0, 1);
  char shape[64];
  snprintf(shape, sizeof shape, trans ? "%d,%d,3" : "%d,3,%d", trans ? n : k, trans ? k : n);
  cpu_check_print(&l->inputs, "a: %s[%d,%d,2,%d,3]; %sb: %s[%d,%s]", t, b, m, k,
                  cpu_check_int(seed, 0, 1) ? "param " : "", t, b, shape);
  cpu_check_print(&l->expr, "dot_general(%%a, %%b) {batch_a=[0], batch_b=[0], contract_a=[3,4], contract_b=%s}",
                  trans ? "[2,3]" : "[1,2]");
}
TEST(dot_general_random) { CHECK(cpu_check_random(RLX_OP_dot_general, 40, write_dot_general, NULL)); }
TEST(dot_general_weight) {
  CHECK(cpu_check_text(RLX_OP_dot_general, "a: f16[5,33]; param b: f16[33,64]",
                       "dot_general(%a, %b) {contract_a=[1], contract_b=[0]}", NULL));
  CHECK(cpu_check_text(RLX_OP_dot_general, "a: f32[5,3,11]; param b: f32[3,11,64]",
                       "dot_general(%a, %b) {contract_a=[1,2], contract_b=[0,1]}", NULL));
}

/* ---- the layout ---- */

/* Parts of rows of the first matrix. */
static void check_rows(cpu_isa isa, uint32_t layout, const rlx_type *type, const unsigned char *plain,
                       const unsigned char *packed) {
  rlx_type matrix = {type->dtype, RLX_DIMS(type->shape.v[1], type->shape.v[2])};
  size_t size = rlx_dtype_size(type->dtype), width = (size_t)type->shape.v[2], from = width / 5, n = width - from;
  unsigned char row[4 * 80];
  for (size_t i = 0; i < (size_t)type->shape.v[1]; i++) {
    cpu_layout_gemm.read_row(isa, layout, &matrix, packed, i, from, n, row);
    CHECK(memcmp(row, plain + (i * width + from) * size, n * size) == 0);
    cpu_layout_gemm.read_row(isa, layout, &matrix, packed, i, 0, width - 1, row);
    CHECK(memcmp(row, plain + i * width * size, (width - 1) * size) == 0);
  }
}

static void check_layout(cpu_isa isa, rlx_dtype dtype, uint32_t layout, rlx_dims shape) {
  rlx_type type = {dtype, shape};
  size_t size = rlx_dtype_size(dtype), count = rlx_dims_count(&shape), nr = cpu_gemm(isa)->nr;
  bool trans = layout == CPU_LAYOUT_GEMM_NK;
  size_t k = (size_t)shape.v[trans ? 2 : 1], n = (size_t)shape.v[trans ? 1 : 2], padded = (n + nr - 1) / nr * nr;
  uint64_t bytes = cpu_layout_gemm.bytes(isa, layout, &type);
  CHECK_EQ_INT(bytes, (size_t)shape.v[0] * padded * k * size);
  unsigned char *plain = rlx_mem_alloc(count * size), *packed = rlx_mem_alloc((size_t)bytes),
                *back = rlx_mem_alloc(count * size);
  CHECK(plain && packed && back);
  for (size_t i = 0; i < count * size; i++) plain[i] = (unsigned char)(i * 7 + i / 251 + 1);
  memset(packed, 0xa5, (size_t)bytes);
  memset(back, 0x5a, count * size);
  CHECK_OK(cpu_layout_gemm.repack(isa, layout, &type, true, plain, packed, NULL));
  CHECK_OK(cpu_layout_gemm.repack(isa, layout, &type, false, packed, back, NULL));
  bool same = memcmp(plain, back, count * size) == 0, placed = true;
  static const unsigned char zero[4];
  for (size_t e = 0; e < (size_t)shape.v[0]; e++)
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < padded; j++) {
        const unsigned char *at = packed + ((e * padded + j / nr * nr) * k + i * nr + j % nr) * size;
        const unsigned char *from = plain + (e * n * k + (trans ? j * k + i : i * n + j)) * size;
        placed = placed && memcmp(at, j < n ? from : zero, size) == 0;
      }
  check_rows(isa, layout, &type, plain, packed);
  rlx_mem_free(plain);
  rlx_mem_free(packed);
  rlx_mem_free(back);
  CHECK(same);
  CHECK(placed);
}

TEST(layout_there_and_back) {
  for (cpu_isa isa = 0; isa <= cpu_isa_best(); isa++)
    for (rlx_dtype t = RLX_F32; t <= RLX_BF16; t++) {
      check_layout(isa, t, CPU_LAYOUT_GEMM_KN, RLX_DIMS(2, 5, 71));
      check_layout(isa, t, CPU_LAYOUT_GEMM_NK, RLX_DIMS(2, 71, 5));
      check_layout(isa, t, CPU_LAYOUT_GEMM_NK, RLX_DIMS(1, 64, 33));
    }
}
TEST(layout_refused) {
  rlx_type vector = {RLX_F32, RLX_DIMS(64)}, ints = {RLX_I32, RLX_DIMS(64, 64)}, matrix = {RLX_F32, RLX_DIMS(64, 64)};
  cpu_isa isa = cpu_isa_best();
  CHECK_EQ_INT(cpu_layout_gemm.bytes(isa, CPU_LAYOUT_GEMM_KN, &vector), 0);
  CHECK_EQ_INT(cpu_layout_gemm.bytes(isa, CPU_LAYOUT_GEMM_KN, &ints), 0);
  CHECK_EQ_INT(cpu_layout_gemm.bytes(isa, CPU_LAYOUT_GEMM + 9, &matrix), 0);
  CHECK_FAILS(cpu_layout_gemm.repack(isa, CPU_LAYOUT_GEMM + 9, &matrix, true, NULL, NULL, NULL), RLX_INVALID,
              "f32[64,64] has no layout");
}
