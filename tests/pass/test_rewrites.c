/* Legalisation and the rewrites: every conformance case of every composite op is rewritten and must give the same
 * result.
 *
 * Two targets are tried: one that lacks only the op in question, and one without composite ops, so that the results of
 * a rewrite are rewritten as well. The reference evaluation of the original graph is the expected result. Then: what
 * the cases do not cover (tails, saturation, absurd sizes), the report, and rewrites that misbehave. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "faults.h"
#include "pass/legalise.h"
#include "pass/report.h"
#include "rules.h"
#include "test.h"

/* ---- targets ---- */

#define REFUSED "the test's target lacks it"
#define EVERY_COMPOSITE RLX_OP_COUNT

static bool is_composite(rlx_op op) { return rlx_op_table_has(op, RLX_TRAIT_COMPOSITE | RLX_TRAIT_FUSED); }

/* user: the op that is refused, or EVERY_COMPOSITE. */
static bool lacks_one(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  rlx_op op = rlx_graph_at(g, n)->op, refused = *(const rlx_op *)user;
  *why = REFUSED;
  return refused == EVERY_COMPOSITE ? !is_composite(op) : op != refused;
}

static rlx_status legalise(const rlx_graph *g, rlx_pass_context *ctx, rlx_rewrite_table rewrites, rlx_graph **out) {
  RLX_TRY(rlx_graph_create(out));
  rlx_status s = rlx_legalise_with(g, ctx, rewrites, *out);
  if (!s) s = rlx_graph_finish(*out);
  if (!s) return RLX_OK;
  rlx_graph_destroy(*out);
  *out = NULL;
  return s;
}

/* For a target without any composite op. report may be NULL. */
static rlx_status legalise_to_primitives(const rlx_graph *g, rlx_report *report, rlx_graph **out) {
  rlx_pass_context ctx = {.supports = lacks_one, .supports_user = &(rlx_op){EVERY_COMPOSITE}, .report = report};
  return legalise(g, &ctx, rlx_rewrite_get, out);
}

/* ---- one case ---- */

typedef struct tally {
  size_t rewritten, kept;
  const char *reason; /* the last reason given for keeping one */
} tally;

/* Moves keep every bit; so does the body of a region, whose nodes are unchanged. */
static rlx_status compare(const rlx_graph *g, bool to_the_bit, const rlx_tensor *y, const rlx_tensor *want) {
  rlx_node result = g->outputs.v[0].node;
  double error;
  RLX_TRY(rlx_compare(y, want, rlx_tolerance_strict(g, result), &error));
  bool exact = to_the_bit || rlx_op_table_has(rlx_graph_at(g, result)->op, RLX_TRAIT_MOVES);
  if (!exact || !want->bytes || memcmp(y->data, want->data, want->bytes) == 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "the bits differ");
}

static rlx_status compare_graphs(const rlx_case_built *b, const rlx_graph *rewritten, bool to_the_bit) {
  rlx_evaluator *before = NULL, *after = NULL;
  rlx_tensor y, want;
  rlx_status s = case_run(b->graph, b, &before, &want);
  if (!s) s = case_run(rewritten, b, &after, &y);
  if (!s) s = compare(b->graph, to_the_bit, &y, &want);
  rlx_evaluator_destroy(before);
  rlx_evaluator_destroy(after);
  return s;
}

/* An unsupported node may remain only if its rewrite gave a reason. */
static rlx_status check_report(const rlx_report *report, rlx_op op, rlx_op refused, tally *t) {
  for (rlx_node id = 1; id < report->rows.n; id++) {
    const rlx_report_row *row = &report->rows.v[id];
    for (uint32_t i = 0; i < row->count; i++) {
      const struct rlx_report_into *into = &report->into.v[row->first + i];
      bool lacking = refused == EVERY_COMPOSITE ? is_composite(into->op) : into->op == refused;
      if (lacking != into->host)
        return RLX_FAIL(RLX_INVALID, "%s is %s by the report", rlx_op_table_get(into->op)->name,
                        into->host ? "on the host" : "native");
      if (lacking && (!row->why || strcmp(row->why, REFUSED) == 0))
        return RLX_FAIL(RLX_INVALID, "%s remains and no rewrite said why", rlx_op_table_get(into->op)->name);
    }
    if (rlx_graph_at(report->graph, id)->op != op) continue;
    t->rewritten += row->how == RLX_HOW_REWRITTEN;
    t->kept += row->how == RLX_HOW_HOST;
    if (row->how == RLX_HOW_HOST) t->reason = row->why;
  }
  return RLX_OK;
}

static rlx_status check_case(rlx_op op, const rlx_case *c, rlx_op refused, tally *t) {
  rlx_case_built b;
  RLX_TRY(rlx_case_build(op, c, &b));
  rlx_report report = {0};
  rlx_pass_context ctx = {.supports = lacks_one, .supports_user = &refused, .report = &report};
  rlx_graph *rewritten = NULL;
  rlx_status s = legalise(b.graph, &ctx, rlx_rewrite_get, &rewritten);
  if (!s) s = check_report(&report, op, refused, t);
  if (!s) s = compare_graphs(&b, rewritten, refused == RLX_OP_region);
  rlx_report_deinit(&report);
  rlx_graph_destroy(rewritten);
  rlx_case_deinit(&b);
  return s;
}

/* Both targets; a line for each that fails. */
static bool check_both(rlx_op op, const rlx_case *c, tally *t) {
  rlx_op refused[2] = {op, EVERY_COMPOSITE};
  bool ok = true;
  for (int i = 0; i < 2; i++) {
    tally other = {0};
    rlx_status s = check_case(op, c, refused[i], i == 0 ? t : &other);
    if (!s) continue;
    ok = false;
    printf("  %s/%s, without %s: %s\n", rlx_op_table_get(op)->name, c->name, i == 0 ? "it" : "any composite",
           rlx_message());
  }
  return ok;
}

/* ---- every case of every composite op ---- */

static bool check_op(rlx_op op) {
  const rlx_case_table *table = rlx_case_table_get(op);
  tally t = {0};
  bool ok = true;
  for (size_t i = 0; i < table->n; i++) ok = check_both(op, &table->v[i], &t) && ok;
  printf("  %s: %zu rewritten, %zu kept%s%s\n", rlx_op_table_get(op)->name, t.rewritten, t.kept, t.reason ? ": " : "",
         t.reason ? t.reason : "");
  return ok && t.rewritten > 0;
}

#define REWRITE(op) \
  TEST(rewrite_##op) { CHECK(check_op(RLX_OP_##op)); }
#include "pass/rewrites.def"
#undef REWRITE

TEST(the_rewrites_are_those_of_the_composite_ops) {
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++)
    if (is_composite((rlx_op)op) != (rlx_rewrite_get((rlx_op)op) != NULL))
      FAIL("%s", rlx_op_table_get((rlx_op)op)->name);
  CHECK(!rlx_rewrite_get(RLX_OP_INVALID) && !rlx_rewrite_get(RLX_OP_COUNT));
}

/* ---- what the cases do not reach ---- */

static bool check_cases(rlx_op op, const rlx_case *cases, size_t n) {
  bool ok = true;
  tally t = {0};
  for (size_t i = 0; i < n; i++) ok = check_both(op, &cases[i], &t) && ok;
  if (t.kept) printf("  %s: %zu of %zu were not rewritten: %s\n", rlx_op_table_get(op)->name, t.kept, n, t.reason);
  return ok && t.kept == 0;
}

/* clang-format off */
#define CODES "values(nan, inf, -inf, 3e9, -3e9, 2147483648, -2147483648, 4.2e9, -4.2e9, 1e18, -1e18, " \
              "131072, -131072, 33000, -33000, 300, -300, 127.5, 0)"
#define QUANTIZE(type, zero) "x: f32[19] " CODES "; s: f32[] values(1); z: " type "[] values(" zero ")", \
                             "quantize(%x, %s, %z) {to=" type "}"
static const rlx_case quantize_saturates[] = {
  {"i8_low", QUANTIZE("i8", "-128")},
  {"i8_high", QUANTIZE("i8", "127")},
  {"u8_high", QUANTIZE("u8", "255")},
  {"i16_low", QUANTIZE("i16", "-32768")},
  {"i16_high", QUANTIZE("i16", "32767")},
  {"i32_low", QUANTIZE("i32", "-2147483648")},
  {"i32_high", QUANTIZE("i32", "2147483647")},
  {"i32_f64", "x: f64[19] " CODES "; s: f64[] values(1); z: i32[] values(-2147483648)",
   "quantize(%x, %s, %z) {to=i32}"},
  {"i32_bf16", "x: bf16[19] " CODES "; s: bf16[] values(1); z: i32[] values(7)", "quantize(%x, %s, %z) {to=i32}"}};
static const rlx_case clamp_past_types[] = {
  {"i64_above", "x: i64[5]", "clamp(%x) {lo=1e30}"},
  {"i64_below", "x: i64[5]", "clamp(%x) {hi=-1e30}"},
  {"i64_wide", "x: i64[2] values(9223372036854775807, -9223372036854775808)", "clamp(%x) {lo=-1e30, hi=1e30}"},
  {"u32_below", "x: u32[5]", "clamp(%x) {hi=-3.0}"},
  {"no_integer_between", "x: i32[5]", "clamp(%x) {lo=0.25, hi=0.75}"},
  {"f16_past_range", "x: f16[5]", "clamp(%x) {lo=1e6}"}};
#define HUGE_VALUES "[4,3] values(3e38, -1e38, 2, 1e25, 3e24, -7e24, inf, 3e38, 2, 1e-30, 2e-30, 0)"
static const rlx_case norm_of_huge_values[] = {
  {"f32", "x: f32" HUGE_VALUES, "rms_norm(%x)"},
  {"bf16", "x: bf16" HUGE_VALUES, "rms_norm(%x)"},
  {"layer", "x: f32" HUGE_VALUES, "layer_norm(%x)"}};
/* clang-format on */
#define COUNT(table) (sizeof(table) / sizeof *(table))

TEST(quantize_saturates_as_the_reference_does) {
  CHECK(check_cases(RLX_OP_quantize, quantize_saturates, COUNT(quantize_saturates)));
}
TEST(squares_of_huge_values_do_not_overflow) {
  CHECK(check_cases(RLX_OP_rms_norm, norm_of_huge_values, COUNT(norm_of_huge_values)));
}
TEST(clamp_bounds_past_the_type) { CHECK(check_cases(RLX_OP_clamp, clamp_past_types, COUNT(clamp_past_types))); }

/* clang-format off */
#define SCALES "sa: f32[] values(0.013); sb: f32[] values(0.021); sy: f32[] values(300)"
static const rlx_case q_matmul_long_sums[] = {
  {"past_f32", "a: u8[2,300] range(0,256); b: u8[300,3] range(0,256); " SCALES, "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"past_i32", "a: u8[1,40000] values(255); b: u8[40000,2] values(255,254); " SCALES,
   "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"past_i32_below", "a: i8[1,70000] values(-128); b: u8[70000,2] values(255,254); " SCALES,
   "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"bias_wraps", "a: i8[2,3] values(127); b: i8[3,2] values(127); c: i32[2] values(2147483647,-2147483648); "
   "sa: f32[] values(1e-7); sb: f32[] values(1); sy: f32[] values(10)",
   "q_matmul(%a, %b, %sa, %sb, %sy, _, _, _, %c)"}};
static const rlx_case q_conv2d_long_sums[] = {
  {"past_f32", "x: u8[1,40,4,4] range(0,256); w: u8[2,40,3,3] range(0,256); c: i32[2] values(2147483647,5); " SCALES,
   "q_conv2d(%x, %w, %sa, %sb, %sy, _, _, _, %c) {pad_lo=[1,1]}"}};
static const rlx_case dequant_matmul_blocks[] = {
  {"int8_block_1", "x: f32[3,5]; w: i8[5,2]; s: f32[5,2]", "dequant_matmul(%x, %w, %s) {block=1}"},
  {"int4_block_1_zero", "x: f32[3,5]; w: u8[3,2] range(0,256); s: f32[5,2]; z: u8[5,2]",
   "dequant_matmul(%x, %w, %s, %z) {scheme=int4, block=1}"},
  {"nvfp4_one_block", "x: f32[3,9]; w: u8[5,2] range(0,256); s: u8[1,2] range(40,72); g: f32[] values(0.5)",
   "dequant_matmul(%x, %w, %s, _, %g) {scheme=nvfp4}"},
  {"fp8_nothing", "x: f32[3,0]; w: u8[0,2]; s: f32[2]", "dequant_matmul(%x, %w, %s) {scheme=fp8_e4m3}"}};
static const rlx_case conv_transpose_cuts[] = {
  {"past_the_input", "x: f32[1,1,1]; w: f32[1,2,3]; b: f32[2]",
   "conv_transpose(%x, %w, %b) {stride=[2], pad_lo=[3], output_pad=[1]}"},
  {"between_elements", "x: f32[1,2,2]; w: f32[2,1,1]; b: f32[1]",
   "conv_transpose(%x, %w, %b) {stride=[10], pad_lo=[5], pad_hi=[5]}"},
  {"far_past_the_input", "x: f32[1,1,1]; w: f32[1,1,2]",
   "conv_transpose(%x, %w) {stride=[20], pad_lo=[17], output_pad=[18]}"},
  {"stride_of_one_element", "x: f32[2,1,1,3]; w: f32[1,1,1,2]", "conv_transpose(%x, %w) {stride=[1099511627776,2]}"},
  {"no_channels", "x: f32[2,0,3]; w: f32[0,2,2]; b: f32[2]", "conv_transpose(%x, %w, %b) {stride=[2]}"}};
static const rlx_case resize_special[] = {
  {"linear_hits", "x: f32[1,1,6,5] special", "resize(%x) {size=[1,1,11,9], mode=linear, coords=align_corners}"},
  {"linear_misses", "x: f32[1,1,4,3] values(inf,1,2,3,4,5,6,7,8,9,1,nan)", "resize(%x) {size=[1,1,7,6], mode=linear}"}};
static const rlx_case stft_special[] = {
  {"beside_the_window", "x: f32[20] values(1,2,inf,3,4,5,6,7,8,9)",
   "%w = range() {count=[3], to=f32}; stft(%x, %w) {n_fft=8, hop=4, center=false, pad=constant}"}};
static const rlx_case rope_far[] = {
  {"positions_past_2_24", "x: f32[1,3,1,8]; p: i64[3] values(16777217,1000000007,-16777217)", "rope(%x, %p)"},
  {"offset_and_tables_f64", "x: f64[1,2,3,4]; o: i32[1] values(7); c: f32[10,2]; s: f32[10,2]",
   "rope(%x, _, %o, _, %c, %s) {layout=bhsd}"}};
/* clang-format on */

TEST(eight_bit_products_with_long_sums) {
  CHECK(check_cases(RLX_OP_q_matmul, q_matmul_long_sums, COUNT(q_matmul_long_sums)));
  CHECK(check_cases(RLX_OP_q_conv2d, q_conv2d_long_sums, COUNT(q_conv2d_long_sums)));
}
TEST(dequant_matmul_with_the_least_blocks) {
  CHECK(check_cases(RLX_OP_dequant_matmul, dequant_matmul_blocks, COUNT(dequant_matmul_blocks)));
}
TEST(conv_transpose_that_cuts_far) {
  CHECK(check_cases(RLX_OP_conv_transpose, conv_transpose_cuts, COUNT(conv_transpose_cuts)));
}
TEST(what_is_not_read_does_no_harm) {
  CHECK(check_cases(RLX_OP_resize, resize_special, COUNT(resize_special)));
  CHECK(check_cases(RLX_OP_stft, stft_special, COUNT(stft_special)));
}
TEST(rope_far_from_the_start) { CHECK(check_cases(RLX_OP_rope, rope_far, COUNT(rope_far))); }

/* Negative experts and positions are errors before and after: they do not count from the end. */
TEST(negative_experts_and_positions_stay_errors) {
  const struct {
    rlx_op op;
    rlx_case c;
  } bad[] = {
    {RLX_OP_grouped_matmul,
     {"bad", "x: f32[2,3]; w: f32[4,3,2]; i: i32[2] values(0,-1)", "grouped_matmul(%x, %w, %i)"}},
    {RLX_OP_grouped_matmul, {"bad", "x: f32[2,3]; w: f32[4,3,2]; i: i64[2] values(0,4)", "grouped_matmul(%x, %w, %i)"}},
    {RLX_OP_dequant_moe_weights, {"bad", "param w: q8_0[2,32]; i: i64[1] values(-1)", "dequant_moe_weights(%w, %i)"}},
    {RLX_OP_rope,
     {"bad", "x: f32[1,1,1,2]; p: i32[1] values(-1); c: f32[3,1]; s: f32[3,1]", "rope(%x, %p, _, _, %c, %s)"}},
    {RLX_OP_rope,
     {"bad", "x: f32[1,2,1,2]; o: i32[] values(2); c: f32[3,1]; s: f32[3,1]", "rope(%x, _, %o, _, %c, %s)"}}};
  for (size_t i = 0; i < COUNT(bad) && !test_has_failed(); i++) {
    rlx_case_built b;
    CHECK_OK(rlx_case_build(bad[i].op, &bad[i].c, &b));
    rlx_graph *rewritten = NULL;
    rlx_evaluator *before = NULL, *after = NULL;
    rlx_tensor y;
    rlx_status s = legalise_to_primitives(b.graph, NULL, &rewritten);
    rlx_status was = s ? s : case_run(b.graph, &b, &before, &y), is = s ? s : case_run(rewritten, &b, &after, &y);
    bool gone = !s && !rlx_graph_same(b.graph, rewritten);
    rlx_evaluator_destroy(before);
    rlx_evaluator_destroy(after);
    rlx_graph_destroy(rewritten);
    rlx_case_deinit(&b);
    CHECK_OK(s);
    CHECK(gone);
    CHECK_EQ_INT(was, RLX_INVALID);
    CHECK_EQ_INT(is, RLX_INVALID);
  }
}

/* A node whose rewrite would be too large, or impossible, stays with a reason. */
TEST(rewrites_know_their_limits) {
  SKIP_WITH_32_BITS();
  static const struct {
    const char *leaves, *expr, *why;
  } limits[] = {
    {"x: f32[65536,128]; w: f32[4,128,64]; i: i32[65536]", "grouped_matmul(%x, %w, %i)",
     "a copy of an expert for every row would pass 2^28 elements"},
    {"x: f32[64,1048576]; param w: q8_0[32,16,1048576]; i: i32[64]", "dequant_grouped_matmul(%x, %w, %i)",
     "the decoded experts would pass 2^28 elements"},
    {"x: f32[1,1,2]; w: f32[1,1,1]", "conv_transpose(%x, %w) {stride=[268435456]}",
     "the input with zeros between its elements would pass 2^28 elements"},
    {"x: f32[1,4,1,2]; c: f32[3,1]", "rope(%x, _, _, _, %c, %c)",
     "the tables have fewer rows than there are positions"},
    {"x: f32[1,1,1,1073741824]", "rope(%x)", "the table of frequencies would pass 2^22 elements"},
    {"x: f32[1,1,1,1073741824]", "axial_rope_2d(%x)", "the table of frequencies would pass 2^22 elements"},
    {"x: f32[1,1,1]; w: f32[1,1,2]", "conv_transpose(%x, %w) {dilation=[9007199254740992], pad_lo=[9007199254740992]}",
     "the kernel reaches over more than 2^52 elements"},
    {"x: f32[1,1,1,1]", "im2col(%x) {kernel=[1,1], stride=[4294967296,4294967296], pad_lo=[1073741824,1073741824]}",
     "the padded input or its rows for each tap would pass 2^28 elements"},
    {"x: f32[1]", "resize(%x) {size=[1099511627776]}", "a table of positions would pass 2^28 elements"}};
  for (size_t i = 0; i < COUNT(limits) && !test_has_failed(); i++) {
    rlx_graph *g = NULL, *out = NULL;
    CHECK_OK(expr_graph(limits[i].leaves, limits[i].expr, &g));
    rlx_report report = {0};
    rlx_status s = legalise_to_primitives(g, &report, &out);
    bool same = !s && rlx_graph_same(g, out);
    const char *why = s ? "" : report.rows.v[report.rows.n - 1].why;
    rlx_report_deinit(&report);
    rlx_graph_destroy(out);
    rlx_graph_destroy(g);
    CHECK_OK(s);
    CHECK(same);
    CHECK_EQ_STR(why, limits[i].why);
  }
}

/* One axis after the other, in the other order, would pass through 2000 x 3000. */
TEST(resize_shrinks_before_it_grows) {
  rlx_graph *g = NULL, *out = NULL;
  CHECK_OK(expr_graph("x: f32[1,3000]", "resize(%x) {size=[2000,1], mode=linear}", &g));
  rlx_status s = legalise_to_primitives(g, NULL, &out);
  size_t max = 0;
  for (rlx_node id = 1; !s && id < rlx_graph_end(out); id++) {
    size_t count = rlx_dims_count(&rlx_graph_at(out, id)->type.shape);
    if (count > max) max = count;
  }
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
  CHECK_OK(s);
  CHECK_EQ_INT(max, 3000);
}

/* Far from zero and near it, where a formula that cancels loses digits that an absolute tolerance would not see. */
static void check_tails(rlx_op op) {
  rlx_case c = {
    "tails", "x: f32[16] values(-80, -60, -40, -20, -12, -7, -1e-2, -1e-4, -1e-6, 1e-6, 1e-3, 5, 12, 19, 21, 88)", ""};
  char expr[64];
  snprintf(expr, sizeof expr, "%s(%%x)", rlx_op_table_get(op)->name);
  c.expr = expr;
  rlx_case_built b;
  CHECK_OK(rlx_case_build(op, &c, &b));
  rlx_graph *rewritten = NULL;
  rlx_evaluator *before = NULL, *after = NULL;
  rlx_tensor y = {0}, want = {0};
  rlx_status s = legalise_to_primitives(b.graph, NULL, &rewritten);
  if (!s) s = case_run(b.graph, &b, &before, &want);
  if (!s) s = case_run(rewritten, &b, &after, &y);
  double worst = 0, error;
  for (size_t i = 0; !s && i < rlx_tensor_count(&want); i++) {
    error = fabs(rlx_load(&y, i) - rlx_load(&want, i)) / fabs(rlx_load(&want, i));
    if (!(error <= worst)) worst = error; /* NaN too */
  }
  rlx_evaluator_destroy(before);
  rlx_evaluator_destroy(after);
  rlx_graph_destroy(rewritten);
  rlx_case_deinit(&b);
  CHECK_OK(s);
  if (!(worst < 1e-6)) FAIL("%s: relative error %g", rlx_op_table_get(op)->name, worst);
}

TEST(activations_keep_their_digits_in_the_tails) {
  const rlx_op ops[] = {RLX_OP_silu, RLX_OP_sigmoid, RLX_OP_relu,       RLX_OP_softplus,  RLX_OP_mish,
                        RLX_OP_elu,  RLX_OP_selu,    RLX_OP_leaky_relu, RLX_OP_hard_swish};
  for (size_t i = 0; i < COUNT(ops) && !test_has_failed(); i++) check_tails(ops[i]);
}

/* An empty tensor may have sizes whose product overflows in another order. */
TEST(absurd_sizes_of_empty_tensors_are_left_alone) {
  const char *text = "graph {\n"
                     "%x = input \"x\" : f32[0,1099511627776,1099511627776]\n"
                     "%y = softmax(%x) {axis=0}\n"
                     "%z = reduce_sum(%x)\n"
                     "output \"y\" = %y\noutput \"z\" = %z\n}\n";
  rlx_graph *g = NULL, *out = NULL;
  CHECK_OK(rlx_graph_parse(text, strlen(text), &g));
  rlx_report report = {0};
  rlx_status s = legalise_to_primitives(g, &report, &out);
  bool same = !s && rlx_graph_same(g, out);
  uint32_t host = report.host;
  rlx_report_deinit(&report);
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
  CHECK_OK(s);
  CHECK(same);
  CHECK_EQ_INT(host, 2);
}

/* ---- the report ---- */

static const char small_graph[] = "graph {\n"
                                  "%x = input \"x\" : f16[4,3]\n"
                                  "%a = abs(%x)\n"
                                  "%s = softmax(%a) {axis=0}\n"
                                  "%c = clamp(%s)\n"
                                  "%q = sort(%c)\n"
                                  "%m = reduce_max(%q) {axes=[1]}\n"
                                  "output \"y\" = %m\n}\n";

static bool lacks_some(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  rlx_op op = rlx_graph_at(g, n)->op;
  (void)user;
  if (op == RLX_OP_sort) *why = "rows are \"too\" long";
  return op != RLX_OP_softmax && op != RLX_OP_reduce_max && op != RLX_OP_sort && op != RLX_OP_clamp;
}

static void check_report_text(bool json, const char *want) {
  rlx_graph *g = NULL, *out = NULL;
  CHECK_OK(rlx_graph_parse(small_graph, strlen(small_graph), &g));
  rlx_report report = {0};
  rlx_pass_context ctx = {.supports = lacks_some, .report = &report};
  rlx_status s = legalise(g, &ctx, rlx_rewrite_get, &out);
  rlx_str text = {0};
  if (!s && json) rlx_report_json(&report, &text), rlx_str_add(&text, "}\n");
  if (!s && !json) rlx_report_text(&report, &text);
  char *taken = NULL;
  if (!s) s = rlx_str_take(&text, &taken);
  char copy[2048] = "";
  if (taken) snprintf(copy, sizeof copy, "%s", taken);
  rlx_mem_free(taken);
  rlx_report_deinit(&report);
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
  CHECK_OK(s);
  CHECK_EQ_STR(copy, want);
}

TEST(report_as_text) {
  check_report_text(
    false, "native    %2 = abs : f16[4,3]\n"
           "rewritten %3 = softmax : f16[4,3] -> transpose cast reduce_max (host) sub exp reduce_sum div cast transpose"
           " (a reduction over the last axis has no simpler form)\n"
           "rewritten %4 = clamp : f16[4,3] -> its input\n"
           "host      %5 = sort : f16[4,3] (rows are \"too\" long)\n"
           "host      %6 = reduce_max : f16[4] (a reduction over the last axis has no simpler form)\n"
           "1 native, 2 rewritten (1 partly on the host), 2 host\n");
}

TEST(report_as_json) {
  check_report_text(
    true, "{\"native\":1,\"rewritten\":2,\"partly\":1,\"host\":2,\"nodes\":[\n"
          "{\"node\":2,\"op\":\"abs\",\"how\":\"native\"},\n"
          "{\"node\":3,\"op\":\"softmax\",\"how\":\"rewritten\",\"into\":[{\"op\":\"transpose\",\"how\":\"native\"},"
          "{\"op\":\"cast\",\"how\":\"native\"},{\"op\":\"reduce_max\",\"how\":\"host\"},"
          "{\"op\":\"sub\",\"how\":\"native\"},{\"op\":\"exp\",\"how\":\"native\"},"
          "{\"op\":\"reduce_sum\",\"how\":\"native\"},{\"op\":\"div\",\"how\":\"native\"},"
          "{\"op\":\"cast\",\"how\":\"native\"},{\"op\":\"transpose\",\"how\":\"native\"}],"
          "\"why\":\"a reduction over the last axis has no simpler form\"},\n"
          "{\"node\":4,\"op\":\"clamp\",\"how\":\"rewritten\",\"into\":[]},\n"
          "{\"node\":5,\"op\":\"sort\",\"how\":\"host\",\"why\":\"rows are \\\"too\\\" long\"},\n"
          "{\"node\":6,\"op\":\"reduce_max\",\"how\":\"host\","
          "\"why\":\"a reduction over the last axis has no simpler form\"}]}\n");
}

TEST(a_target_that_has_everything_changes_nothing) {
  rlx_graph *g = NULL, *out = NULL;
  CHECK_OK(rlx_graph_parse(small_graph, strlen(small_graph), &g));
  rlx_report report = {0};
  rlx_status s =
    legalise(g, &(rlx_pass_context){.switches = RLX_SWITCH_FORBID_HOST, .report = &report}, rlx_rewrite_get, &out);
  bool same = !s && rlx_graph_same(g, out);
  uint32_t native = report.native, rest = report.rewritten + report.host + report.partly;
  rlx_report_deinit(&report);
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
  CHECK_OK(s);
  CHECK(same);
  CHECK_EQ_INT(native, 5);
  CHECK_EQ_INT(rest, 0);
}

/* ---- host execution forbidden ---- */

static void count_line(void *user, rlx_log_level level, const char *text) {
  if (level == RLX_LOG_ERROR && strstr(text, "would run on the host")) ++*(size_t *)user;
}

/* user: the one op that the target has, or RLX_OP_INVALID. */
static bool has_one(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  *why = REFUSED;
  return rlx_graph_at(g, n)->op == *(const rlx_op *)user;
}

/* A node none of whose parts the target runs stays whole; one with some such part is rewritten. */
TEST(what_the_host_runs_anyway_stays_whole) {
  for (int i = 0; i < 2; i++) {
    rlx_op has = i == 0 ? RLX_OP_INVALID : RLX_OP_exp;
    static const char text[] = "graph { %1 = input \"x\" : f32[2,3]\n %2 = softmax(%1)\n output \"y\" = %2 }";
    rlx_graph *g, *out;
    rlx_report report = {0};
    rlx_pass_context ctx = {.supports = has_one, .supports_user = &has, .report = &report};
    CHECK(rlx_graph_parse(text, sizeof text - 1, &g) == RLX_OK);
    CHECK(legalise(g, &ctx, rlx_rewrite_get, &out) == RLX_OK);
    CHECK((rlx_graph_at(out, out->outputs.v[0].node)->op == RLX_OP_softmax) == (i == 0));
    CHECK(report.host == (i == 0) && report.rewritten == (i == 1));
    rlx_report_deinit(&report);
    rlx_graph_destroy(out);
    rlx_graph_destroy(g);
  }
}

TEST(forbid_host_lists_every_node) {
  rlx_graph *g = NULL, *out = NULL;
  CHECK_OK(rlx_graph_parse(small_graph, strlen(small_graph), &g));
  size_t lines = 0;
  rlx_set_log(count_line, &lines);
  rlx_status s =
    legalise(g, &(rlx_pass_context){.supports = lacks_some, .switches = RLX_SWITCH_FORBID_HOST}, rlx_rewrite_get, &out);
  rlx_set_log(NULL, NULL);
  rlx_graph_destroy(g);
  CHECK(!out);
  CHECK_FAILS(s, RLX_UNSUPPORTED,
              "host execution is forbidden but 3 nodes need it: 3 (reduce_max: a reduction over the last axis has no "
              "simpler form), 5 (sort: rows are \"too\" long), 6 (reduce_max: a reduction");
  CHECK_EQ_INT(lines, 3);
}

/* More than the message holds: the message says so, the log has them all. */
TEST(forbid_host_of_many) {
  enum { N = 100 };
  rlx_graph *g = NULL, *out = NULL;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4));
  for (int i = 0; i < N; i++) x = rlx_op_sort(g, x, 0, i % 2 == 0);
  rlx_graph_add_output(g, "y", x);
  rlx_status s = rlx_graph_finish(g);
  size_t lines = 0;
  rlx_set_log(count_line, &lines);
  if (!s)
    s = legalise(g, &(rlx_pass_context){.supports = lacks_some, .switches = RLX_SWITCH_FORBID_HOST}, rlx_rewrite_get,
                 &out);
  rlx_set_log(NULL, NULL);
  rlx_graph_destroy(g);
  CHECK_FAILS(s, RLX_UNSUPPORTED, "100 nodes need it: 2 (sort: ");
  const char *message = rlx_message();
  CHECK_EQ_STR(message + strlen(message) - 4, ", ..");
  CHECK_EQ_INT(lines, N);
}

/* ---- rewrites that misbehave ---- */

static rlx_node relu_again(rlx_rewrite *r) { return rlx_op_relu(r->to, r->in[0]); }
static rlx_node relu_as_f64(rlx_rewrite *r) { return rlx_op_cast(r->to, r->in[0], RLX_F64); }
static rlx_node relu_fails(rlx_rewrite *r) { return rlx_op_matmul(r->to, r->in[0], r->in[0]); }
static rlx_rewrite_fn again(rlx_op op) { return op == RLX_OP_relu ? relu_again : NULL; }
static rlx_rewrite_fn as_f64(rlx_op op) { return op == RLX_OP_relu ? relu_as_f64 : NULL; }
static rlx_rewrite_fn fails(rlx_op op) { return op == RLX_OP_relu ? relu_fails : NULL; }

static rlx_status legalise_relu(rlx_rewrite_table rewrites) {
  rlx_graph *g, *out = NULL;
  RLX_TRY(rlx_graph_create(&g));
  rlx_graph_add_output(g, "y", rlx_op_relu(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3))));
  rlx_status s = rlx_graph_finish(g);
  rlx_pass_context ctx = {.supports = lacks_one, .supports_user = &(rlx_op){RLX_OP_relu}};
  if (!s) s = legalise(g, &ctx, rewrites, &out);
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
  return s;
}

TEST(a_rewrite_that_loops_is_caught) {
  CHECK_FAILS(legalise_relu(again), RLX_UNSUPPORTED, "some rewrite makes what it replaces");
}
TEST(a_rewrite_of_another_type_is_caught) {
  CHECK_FAILS(legalise_relu(as_f64), RLX_INVALID, "rewriting node 2 (relu) gave f64[2,3] instead of f32[2,3]");
}
TEST(a_rewrite_that_fails_is_reported) {
  CHECK_FAILS(legalise_relu(fails), RLX_INVALID, "rewriting node 2 (relu): node 2 (matmul)");
}

/* ---- failing allocations ---- */

static const char sweep_graph[] =
  "graph {\n"
  "%x = input \"x\" : f16[2,4,3]\n"
  "%g = group_norm(%x) {groups=2}\n"
  "%s = softmax(%g) {axis=1}\n"
  "%t = tile(%s) {reps=[1,2,1]}\n"
  "%p = softplus(%t)\n"
  "%r = region(%p) {body=graph { %x = input \"x\" : f16[2,8,3]; %e = elu(%x); output \"y\" = %e }}\n"
  "%m = reduce_mean(%r) {axes=[0,2]}\n"
  "output \"y\" = %m\n}\n";

static rlx_status sweep_work(void *user) {
  rlx_report report = {0};
  rlx_graph *out = NULL;
  rlx_status s = legalise_to_primitives(user, &report, &out);
  rlx_str text = {0};
  if (!s) rlx_report_json(&report, &text);
  char *taken = NULL;
  if (!s) s = rlx_str_take(&text, &taken);
  rlx_mem_free(taken);
  rlx_report_deinit(&report);
  rlx_graph_destroy(out);
  return s;
}

/* One of each of the larger ops: a rewrite must not read a node that it failed to create. */
static const char sweep_products[] =
  "graph {\n"
  "%x = input \"x\" : f16[1,4,8]\n%f = input \"f\" : f32[4,8]\n%i = input \"i\" : i32[4]\n"
  "%w = param \"w\" : f16[8,24]\n%o = param \"o\" : f16[8,8]\n%q = param \"q\" : q8_0[4,8,32]\n"
  "%wt = param \"wt\" : f16[4,2,3]\n%ck = param \"ck\" : f16[4,3]\n%t = param \"t\" : u8[3,2]\n"
  "%u = param \"u\" : u8[4,3]\n%s = param \"s\" : u8[1,3]\n%one = param \"one\" : f32[1]\n"
  "%a = fused_attention_block(%x, %w, %o) {heads=2}\n"
  "%n = fused_residual_norm(%a, %x) {kind=layer}\n"
  "%g = fused_gate_up(%n, %o, %o)\n"
  "%m = fused_matmul_bias_act(%g, %o) {act=gelu}\n"
  "%l = lora_matmul(%m, %o, %o, %o)\n"
  "%h = reshape(%l) {shape=[1,4,2,4]}\n"
  "%r = rope(%h, %i) {style=gptj, n_rot=2}\n"
  "%ax = axial_rope_2d(%r) {width=2}\n"
  "%d = dot_general(%ax, %h) {contract_a=[1], contract_b=[1]}\n"
  "%ct = conv_transpose(%x, %wt) {stride=[3], pad_lo=[2]}\n"
  "%cc = causal_conv(%x, %ck)\n"
  "%im = im2col(%h) {kernel=[2,2], pad_lo=[1,0]}\n"
  "%re = resize(%x) {size=[1,7,8], mode=linear}\n"
  "%st = stft(%f) {n_fft=4}\n"
  "%dm = dequant_matmul(%f, %u, %s, _, %one) {scheme=nvfp4}\n"
  "%gm = dequant_grouped_matmul(%f, %q, %i) {trans_b=false}\n"
  "%qm = q_matmul(%u, %t, %one, %one, %one)\n"
  "output \"d\" = %d\noutput \"ct\" = %ct\noutput \"cc\" = %cc\noutput \"im\" = %im\noutput \"re\" = %re\n"
  "output \"st\" = %st\noutput \"dm\" = %dm\noutput \"gm\" = %gm\noutput \"qm\" = %qm\n}\n";

static void check_sweep(const char *text) {
  rlx_graph *g = NULL;
  CHECK_OK(rlx_graph_parse(text, strlen(text), &g));
  rlx_status s = alloc_sweep(sweep_work, g);
  rlx_graph_destroy(g);
  CHECK_OK(s);
}

TEST(large_rewrites_survive_every_failing_allocation) { check_sweep(sweep_products); }
TEST(legalise_survives_every_failing_allocation) { check_sweep(sweep_graph); }
