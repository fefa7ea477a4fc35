/* Conformance of the reference: every case of every op against its golden. Also checks that each op has enough cases.
 * With an op's name as argument only its cases run; RLX_COVERAGE=FILE writes the table of docs/coverage.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "conform/golden.h"
#include "rules.h"
#include "test.h"

enum { MIN_CASES_PER_OP = 5, MIN_CASES = 1000 };

/* Devices on which every case must pass, natively or with steps on the host; including the CPU's older instruction
 * sets. */
static const char *const devices[] = {"cpu", "cpu:base", "cpu:avx2", "null", "emu:init"};
enum { N_DEVICES = sizeof devices / sizeof *devices };

/* A row of the table: one op. */
typedef struct coverage {
  size_t passed, failed;
  double worst;       /* the largest error relative to the tolerance */
  rlx_type_set types; /* dtypes of the results */
  size_t on[N_DEVICES][RLX_CONFORM_FAIL + 1];
} coverage;
static coverage table_rows[RLX_OP_COUNT];

typedef struct golden_file {
  char *data;
  size_t bytes;
} golden_file;

/* The reference's result of a case against its golden. */
static rlx_status check_value(const rlx_tensor *y, const rlx_case_built *b, const golden_file *golden,
                              const rlx_case *c, coverage *row) {
  rlx_tensor want;
  RLX_TRY(
    rlx_golden_find((const unsigned char *)golden->data, golden->bytes, c->name, rlx_golden_inputs_hash(b), &want));
  double error;
  /* Goldens are unaligned in the file. */
  void *aligned = malloc(want.bytes + 1);
  if (!aligned) return RLX_FAIL(RLX_NO_MEMORY, "a golden");
  memcpy(aligned, want.data, want.bytes);
  want.data = aligned;
  rlx_status s = rlx_compare(y, &want, rlx_tolerance_strict(b->graph, b->graph->outputs.v[0].node), &error);
  free(aligned);
  row->worst = error > row->worst ? error : row->worst;
  row->types |= RLX_TYPE_BIT(y->dtype);
  return s;
}

static rlx_status check_case(rlx_op op, const rlx_case *c, const golden_file *golden) {
  rlx_case_built b;
  RLX_TRY(rlx_case_build(op, c, &b));
  rlx_evaluator *e = NULL;
  rlx_tensor y;
  coverage *row = &table_rows[op];
  rlx_status s = case_run(b.graph, &b, &e, &y);
  if (!s) s = check_value(&y, &b, golden, c, row);
  if (s) row->failed++;
  else row->passed++;
  rlx_evaluator_destroy(e);
  rlx_case_deinit(&b);
  return s;
}

static bool check_op(rlx_op op) {
  const rlx_case_table *table = rlx_case_table_get(op);
  const char *name = rlx_op_table_get(op)->name;
  char path[1024];
  golden_file golden;
  bool ok = true;
  snprintf(path, sizeof path, "%s/ops/%s.bin", RLX_TEST_DATA, name);
  if (rlx_file_read(path, SIZE_MAX, &golden.data, &golden.bytes)) {
    printf("  %s: %s\n", name, rlx_message());
    return false;
  }
  if (table->n < MIN_CASES_PER_OP) ok = false, printf("  %s: only %zu cases\n", name, table->n);
  for (size_t i = 0; i < table->n; i++) {
    if (check_case(op, &table->v[i], &golden))
      ok = false, printf("  %s/%s: %s\n", name, table->v[i].name, rlx_message());
  }
  rlx_mem_free(golden.data);
  return ok;
}

#define OP(name, types, inputs, result, shape, attrs, traits, doc) \
  TEST(conform_##name) { CHECK(check_op(RLX_OP_##name)); }
#include "ir/ops.def"
#undef OP

/* ---- devices ---- */

typedef struct tally {
  size_t device, n[RLX_CONFORM_FAIL + 1];
} tally;

static bool count_row(void *user, const rlx_conform_row *row) {
  tally *t = user;
  t->n[row->result]++;
  table_rows[rlx_op_table_from_name(row->op, strlen(row->op))].on[t->device][row->result]++;
  if (row->result >= RLX_CONFORM_UNSUPPORTED)
    printf("  %s: %s %s/%s: %s\n", devices[t->device], rlx_conform_result_name(row->result), row->op, row->name,
           row->why);
  return false;
}

static void conform_on(size_t device, tally *t) {
  rlx_session *session;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = devices[device], .n_threads = 2};
  desc.no_pool = strcmp(devices[device], "emu:init") == 0; /* bytes of blocks that are used again count as written */
  *t = (tally){.device = device};
  rlx_status s = rlx_session_create(&desc, &session);
  if (s == RLX_NOT_FOUND || s == RLX_UNSUPPORTED) SKIP(rlx_message());
  CHECK(s == RLX_OK);
  s = rlx_conform(session, NULL, count_row, t);
  rlx_session_destroy(session);
  CHECK(s == RLX_OK);
  CHECK(t->n[RLX_CONFORM_FAIL] == 0);
  CHECK(t->n[RLX_CONFORM_UNSUPPORTED] == 0);
  CHECK(t->n[RLX_CONFORM_PASS] + t->n[RLX_CONFORM_HOST] >= MIN_CASES);
  printf("  %s: %zu native, %zu with the host's help\n", devices[device], t->n[RLX_CONFORM_PASS],
         t->n[RLX_CONFORM_HOST]);
}

TEST(device_cpu) {
  tally t;
  conform_on(0, &t);
  if (test_has_failed()) return;
  CHECK(t.n[RLX_CONFORM_PASS] > 6 * t.n[RLX_CONFORM_HOST]); /* most cases run natively */
}
TEST(device_cpu_base) { conform_on(1, &(tally){0}); }
TEST(device_cpu_avx2) { conform_on(2, &(tally){0}); }
TEST(device_null) { conform_on(3, &(tally){0}); }
/* Every GPU kernel, compiled as C for the host, where a read of memory that nothing wrote fails. For real and software
 * GPUs: `rlx conform --device vulkan` (tools/test). */
TEST(device_emu) {
  tally t;
  conform_on(4, &t);
  if (test_has_failed()) return;
  CHECK(t.n[RLX_CONFORM_PASS] > 10 * t.n[RLX_CONFORM_HOST]);
}

/* ---- the table ---- */

static void write_device(FILE *to, const size_t n[RLX_CONFORM_FAIL + 1]) {
  if (n[RLX_CONFORM_FAIL] || n[RLX_CONFORM_UNSUPPORTED])
    fprintf(to, " %zu FAIL, %zu UNSUPPORTED |", n[RLX_CONFORM_FAIL], n[RLX_CONFORM_UNSUPPORTED]);
  else if (!n[RLX_CONFORM_HOST]) fprintf(to, " PASS |");
  else if (!n[RLX_CONFORM_PASS]) fprintf(to, " HOST |");
  else fprintf(to, " %zu HOST |", n[RLX_CONFORM_HOST]);
}

static void write_table(FILE *to) {
  fprintf(
    to,
    "# Conformance\n\n"
    "Every op's cases, run through the reference and compared with PyTorch, NumPy or SciPy "
    "(tests/golden). The error is the\n"
    "largest in any case as a share of the tolerance of the specification; 0 is exact. On devices the same cases are\n"
    "compared with the reference: PASS where all agree and the device ran every step; `4 HOST`: all agree, and in 4 of\n"
    "them the host ran steps (on the CPU: f64, and what has no kernel yet; on GPUs: what docs/vulkan.md lists). `gpu` is\n"
    "the emulated GPU, which runs the kernels of all GPUs on the host. The null device computes nothing. Made by\n"
    "`RLX_COVERAGE=docs/coverage.md build/release/tests/test_conform`.\n\n"
    "| op | cases | reference | largest error | cpu | gpu | null | result types |\n"
    "|---|---|---|---|---|---|---|---|\n");
  size_t cases = 0;
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++) {
    const coverage *row = &table_rows[op];
    fprintf(to, "| %s | %zu | %s | %.2g |", rlx_op_table_get((rlx_op)op)->name, row->passed + row->failed,
            row->failed ? "FAIL" : "PASS", row->worst);
    write_device(to, row->on[0]);
    write_device(to, row->on[4]);
    write_device(to, row->on[3]);
    for (int t = 0; t < RLX_DTYPE_COUNT; t++)
      if (row->types & RLX_TYPE_BIT(t)) fprintf(to, " %s", rlx_dtype_name((rlx_dtype)t));
    fprintf(to, " |\n");
    cases += row->passed + row->failed;
  }
  fprintf(to, "\n%zu cases of %d ops.\n", cases, RLX_OP_COUNT - 1);
}

/* ---- the tolerance ---- */

static rlx_tolerance rule_of(const char *inputs, const char *expr, bool rounded) {
  rlx_graph *g = NULL;
  rlx_tolerance t = {.rtol = -1};
  if (rlx_case_graph(&(rlx_case){"rule", inputs, expr}, &g)) return t;
  t = rounded ? rlx_tolerance_rounded(g, g->outputs.v[0].node) : rlx_tolerance_of(g, g->outputs.v[0].node);
  rlx_graph_destroy(g);
  return t;
}

/* SPEC section 8: 1e-4, times sqrt(K) for a single element of a matrix product; the whole tensor to a tenth of 1e-4. */
TEST(tolerance_of_products) {
  static const char *const depth_64[][2] = {
    {"a: f32[3,64]; b: f32[64,5]", "matmul(%a, %b)"},
    {"x: f32[3,64]; g: f32[64,5]; u: f32[64,5]", "fused_gate_up(%x, %g, %u)"},
    {"x: f32[1,3,16]; w: f32[16,192]; o: f32[64,16]", "fused_attention_block(%x, %w, %o) {heads=4, head_dim=16}"},
    {"x: f32[1,3,16]; w: f32[192,16]; o: f32[16,64]",
     "fused_attention_block(%x, %w, %o) {heads=4, head_dim=16, trans_b=true}"},
    {"x: f32[1,16,5,5]; w: f32[3,16,2,2]", "conv(%x, %w)"},
    {"x: f32[1,32,5,5]; w: f32[2,16,2,2]", "conv(%x, %w) {groups=2}"},
    {"x: f32[1,16,5,5]; w: f32[3,16,2,2]", "fused_conv_bias_act(%x, %w) {act=relu}"},
    {"x: f32[1,16,5,5]; w: f32[16,3,2,2]", "conv_transpose(%x, %w)"},
    {"x: f32[1,32,5,5]; w: f32[32,3,2,2]", "conv_transpose(%x, %w) {groups=2}"}};
  for (size_t i = 0; i < sizeof depth_64 / sizeof *depth_64; i++) {
    rlx_tolerance t = rule_of(depth_64[i][0], depth_64[i][1], false);
    CHECK(t.rtol > 7.99e-4 && t.rtol < 8.01e-4 && t.atol == t.rtol);
    CHECK(t.whole > 0.99e-5 && t.whole < 1.01e-5);
  }
  CHECK(rule_of("x: f32[3,64]", "softmax(%x)", false).rtol == 1e-4);
  CHECK(rule_of("a: f32[3,64]; w: q8_0[5,64]", "matmul(%a, %w) {trans_b=true}", true).whole == 1e-2);
  CHECK(rule_of("x: f32[3,64]; g: q8_0[5,64]; u: q8_0[5,64]", "fused_gate_up(%x, %g, %u) {trans_b=true}", true).whole ==
        2e-2);
}

/* --fast-f16 widens the tolerance where f32 meets f16 and what follows takes it along; elsewhere it stays. */
TEST(tolerance_of_fast_f16) {
  static const struct {
    const char *inputs, *expr;
    double rtol, whole;
  } cases[] = {
    {"a: f32[3,64]; w: f16[5,64]", "matmul(%a, %w) {trans_b=true}", 1.6e-2, 5e-4},
    {"a: f32[3,64]; w: f16[5,64]", "%y = matmul(%a, %w) {trans_b=true}; tanh(%y)", 1.6e-2, 5e-4},
    {"x: f32[3,64]; g: f16[5,64]; u: f16[5,64]", "fused_gate_up(%x, %g, %u) {trans_b=true}", 1.6e-2, 1e-3},
    {"q: f32[1,2,4,8]; k: f16[1,7,2,8]; v: f16[1,7,2,8]", "attention(%q, %k, %v)", 2e-3, 5e-4},
    {"a: f32[3,64]; w: f32[5,64]", "matmul(%a, %w) {trans_b=true}", 8e-4, 1e-5},
    {"a: f32[3,64]; w: bf16[5,64]", "matmul(%a, %w) {trans_b=true}", 8e-4, 1e-5},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_graph *g;
    CHECK_OK(rlx_case_graph(&(rlx_case){"rule", cases[i].inputs, cases[i].expr}, &g));
    rlx_tolerance t = rlx_tolerance_fast_f16(g, rlx_tolerance_of(g, g->outputs.v[0].node));
    if (fabs(t.rtol / cases[i].rtol - 1) > 1e-6 || fabs(t.whole / cases[i].whole - 1) > 1e-6)
      FAIL("%s: %g and %g", cases[i].expr, t.rtol, t.whole);
    rlx_graph_destroy(g);
  }
}

/* For act(a) b with b about 100: an element with a near 0 may be off by the error of a times 100, but no more. */
TEST(tolerance_of_factors_near_zero) {
  enum { N = 100 };
  float r[N], y[N];
  for (int i = 0; i < N; i++) r[i] = y[i] = (i & 1) ? -1000.0f : 1000.0f;
  r[7] = 0.5f, y[7] = 0.5f + 4e-3f;
  rlx_tensor want = {.dtype = RLX_F32, .shape = {.n = 1, .v = {N}}, .data = r, .bytes = sizeof r}, found = want;
  found.data = y;
  rlx_tolerance t = rule_of("x: f32[3,64]; g: f32[64,5]; u: f32[64,5]", "fused_gate_up(%x, %g, %u)", false);
  double error;
  CHECK(t.rms_group == SIZE_MAX);
  CHECK_OK(rlx_compare(&found, &want, t, &error));
  y[7] = 0.5f + 0.2f; /* too much for the whole tensor: 1e-5 of 1000 on average */
  CHECK_FAILS(rlx_compare(&found, &want, t, &error), RLX_INVALID, "the whole tensor");
  y[7] = 0.5f + 2.0f;
  CHECK_FAILS(rlx_compare(&found, &want, t, &error), RLX_INVALID, "element 7");
}

/* For a convolution where one filter's results are in the thousands, the other's about 1: near 0 the first may be off
 * relative to the thousands, the second may not. */
TEST(tolerance_of_sums_near_zero) {
  enum { PLANE = 64 };
  float r[2 * PLANE], y[2 * PLANE];
  for (int i = 0; i < 2 * PLANE; i++) r[i] = y[i] = (i < PLANE ? 5000.0f : 1.0f) * ((i & 1) ? -1.0f : 1.0f);
  rlx_tensor want = {.dtype = RLX_F32, .shape = {.n = 4, .v = {1, 2, 8, 8}}, .data = r, .bytes = sizeof r},
             found = want;
  found.data = y;
  rlx_tolerance t = rule_of("x: f32[1,16,9,9]; w: f32[2,16,2,2]", "conv(%x, %w)", false);
  double error;
  r[7] = 0.5f, y[7] = 0.5f + 0.05f;
  CHECK_OK(rlx_compare(&found, &want, t, &error));
  y[7] = 0.5f + 10.0f;
  CHECK_FAILS(rlx_compare(&found, &want, t, &error), RLX_INVALID, "element 7");
  y[7] = 0.5f;
  r[PLANE + 7] = 0.5f, y[PLANE + 7] = 0.5f + 0.05f;
  CHECK_FAILS(rlx_compare(&found, &want, t, &error), RLX_INVALID, "element 71");
}

TEST(zz_there_are_enough_cases) {
  size_t n = 0;
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++) n += rlx_case_table_get((rlx_op)op)->n;
  printf("  %zu conformance cases of %d ops\n", n, RLX_OP_COUNT - 1);
  CHECK(n >= MIN_CASES);
  const char *path = getenv("RLX_COVERAGE");
  FILE *to = path ? fopen(path, "w") : NULL;
  if (!to) return;
  write_table(to);
  fclose(to);
}
