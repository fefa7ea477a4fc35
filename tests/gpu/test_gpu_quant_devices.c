/* Products with block types on every GPU, with weights large enough for x to be rounded if the device supports that:
 * all kernels in their usual shapes. test_gpu_quant.c has most of the cases. */
#include "gpu_check.h"
#include "test.h"

static bool check_both(rlx_op op, const char *inputs, const char *expr) {
  bool exact = gpu_check_text(op, inputs, expr);
  return gpu_check_rounded(op, inputs, expr) && exact;
}

static bool check_product(const char *type, int m, int n, int k) {
  gpu_check_line l;
  gpu_check_print(&l.inputs, "a: f32[%d,%d]; param w: %s[%d,%d]", m, k, type, n, k);
  return check_both(RLX_OP_matmul, l.inputs, "matmul(%a, %w) {trans_b=true}");
}

TEST(one_row) {
  CHECK(check_product("q4_k", 1, 67, 1024));
  CHECK(check_product("q8_0", 1, 300, 512));
  CHECK(check_product("q6_k", 1, 65, 768));
}

TEST(narrow_rows) {
  CHECK(check_product("q4_k", 2, 70, 512));
  CHECK(check_product("q8_0", 5, 130, 544));
  CHECK(check_product("q2_k", 8, 67, 768));
  CHECK(check_product("q5_0", 16, 130, 544));
  CHECK(check_product("q3_k", 17, 67, 512));
  CHECK(check_product("iq4_nl", 32, 130, 544));
}

TEST(many_rows) {
  CHECK(check_product("q4_k", 20, 150, 512));
  CHECK(check_product("q8_0", 70, 130, 544));
  CHECK(check_product("q6_k", 33, 67, 512));
}

/* Types that are stored plain and whose grid is a window. */
TEST(grids) {
  CHECK(check_product("iq2_s", 1, 37, 512));
  CHECK(check_product("iq1_m", 3, 40, 512));
  CHECK(check_product("iq3_xxs", 20, 33, 512));
  CHECK(check_product("nvfp4", 2, 70, 448));
  CHECK(gpu_check_bits(RLX_OP_gather, "param w: iq2_xxs[9,512]; idx: i32[5] range(0,9)", "gather(%w, %idx)"));
  CHECK(gpu_check_bits(RLX_OP_cast, "param w: iq1_s[5,256]", "cast(%w) {to=f32}"));
  CHECK(gpu_check_bits(RLX_OP_cast, "param w: iq2_xs[5,256]", "cast(%w) {to=f32}"));
  CHECK(gpu_check_bits(RLX_OP_cast, "param w: iq3_s[5,256]", "cast(%w) {to=f32}"));
}

TEST(gate_up) {
  CHECK(check_both(RLX_OP_fused_gate_up, "x: f32[1,512]; param g: q4_k[70,512]; param u: q4_k[70,512]",
                   "fused_gate_up(%x, %g, %u) {trans_b=true}"));
  CHECK(check_both(RLX_OP_fused_gate_up, "x: f32[12,512]; param g: q4_k[70,512]; param u: q6_k[70,512]",
                   "fused_gate_up(%x, %g, %u) {trans_b=true}"));
}

TEST(experts) {
  CHECK(check_both(RLX_OP_dequant_grouped_matmul, "x: f32[3,512]; param w: q4_k[4,70,512]; idx: i32[3] range(0,4)",
                   "dequant_grouped_matmul(%x, %w, %idx)"));
  CHECK(check_both(RLX_OP_dequant_grouped_matmul, "x: f32[90,512]; param w: q8_0[3,70,512]; idx: i32[90] range(0,3)",
                   "dequant_grouped_matmul(%x, %w, %idx)"));
}

TEST(infinities) {
  CHECK(check_both(RLX_OP_matmul, "a: f32[1,512] values(1,inf,0.5,-2,0.25); param w: q4_k[70,512] range(0.001,0.01)",
                   "matmul(%a, %w) {trans_b=true}"));
}
