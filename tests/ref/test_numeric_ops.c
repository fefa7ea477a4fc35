/* Element-wise ops, norms, reductions and the ops that order: what shape inference gives for open sizes and rejects,
 * and edge cases that goldens cannot show (exact rounding, integers at their limits). The conformance cases check
 * values in general. */
#include <math.h>

#include "faults.h"
#include "ir/scalar.h"
#include "ir/scalar_table.h"
#include "rules.h"
#include "test.h"

/* ---- rules ---- */

// clang-format off
TEST(rules_of_elements) {
  static const rule rules[] = {
    {"x: f32[B,1,S]; a: f32[4,1]", "add(%x, %a)", "f32[B,4,S]", NULL},
    {"x: f32[B,S]; a: f32[S]", "mul(%x, %a)", "f32[B,S]", NULL},
    {"x: f32[B]; a: f32[C]", "mul(%x, %a)", "f32[?]", NULL},
    {"x: f32[2,3]; a: f32[2]", "add(%x, %a)", NULL, "[2,3] and [2] do not broadcast"},
    {"x: f32[2]; a: f16[2]", "add(%x, %a)", NULL, "input 1 (b) is f16 but must be f32"},
    {"x: i32[2]", "exp(%x)", NULL, "does not take i32"},
    {"x: f32[2]", "bit_and(%x, %x)", NULL, "does not take f32"},
    {"x: bool[2]", "add(%x, %x)", NULL, "does not take bool"},
    {"x: c64[2]", "eq(%x, %x)", "bool[2]", NULL},
    {"x: c64[2]", "lt(%x, %x)", NULL, "no order"},
    {"x: bool[B,1]; t: i8[4]", "where(%x, %t, %t)", "i8[B,4]", NULL},
    {"x: f32[2]", "clamp(%x) {lo=nan}", NULL, "must be numbers"},
    {"x: f32[2]", "clamp(%x) {hi=nan}", NULL, "must be numbers"},
    {"x: f32[2]", "cast(%x) {to=q4_0}", NULL, "cannot encode"},
    {"x: f32[2]", "cast(%x) {to=c64}", NULL, "c64"},
    {"x: f32[B,4]; s: f32[4]", "quantize(%x, %s) {to=u8}", "u8[B,4]", NULL},
    {"x: f32[4,2]; s: f32[4]", "quantize(%x, %s)", NULL, "must be a scalar or [2]"},
    {"x: f32[4,2]; s: f32[4]", "quantize(%x, %s) {axis=2}", NULL, "axis 2 is not in"},
    {"x: f32[4,2]; s: f32[]", "quantize(%x, %s) {to=i64}", NULL, "not i64"},
    {"x: f32[4]; s: f32[]; z: u8[]", "quantize(%x, %s, %z)", NULL, "zero is u8 but must be i8"},
    {"x: f32[4]; s: f32[4]; z: i8[]", "quantize(%x, %s, %z)", NULL, "zero is [] but scale is [4]"},
    {"x: i8[B,4]; s: bf16[4]", "dequantize(%x, %s)", "bf16[B,4]", NULL},
    {"x: i8[4]; s: i8[]", "dequantize(%x, %s)", NULL, "must be a float type"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_norms) {
  static const rule rules[] = {
    {"x: f32[B,S,8]; g: f32[8]", "layer_norm(%x, %g)", "f32[B,S,8]", NULL},
    {"x: f32[B,S,8]; g: f32[S,8]", "rms_norm(%x, %g) {axis=1}", "f32[B,S,8]", NULL},
    {"x: f32[2,8]; g: f32[2]", "layer_norm(%x, %g)", NULL, "input 1 (gamma) is [2] but must be [8]"},
    {"x: f32[2,8]; g: f32[1]", "rms_norm(%x, _, %g)", NULL, "input 2 (beta) is [1] but must be [8]"},
    {"x: f32[]", "layer_norm(%x)", NULL, "axis -1 is not in"},
    {"x: f32[2,8]", "layer_norm(%x) {axis=-9223372036854775808}", NULL, "is not in"},
    {"x: f32[2,8]", "layer_norm(%x) {eps=-1.0}", NULL, "eps is -1 but must be a number from 0"},
    {"x: f32[2,8]", "rms_norm(%x) {eps=nan}", NULL, "eps is"},
    {"x: f32[2,8,3]", "group_norm(%x) {eps=inf}", NULL, "eps is inf"},
    {"x: f32[B,C,4,4]; g: f32[C]", "layer_norm_2d(%x, %g)", "f32[B,C,4,4]", NULL},
    {"x: f32[2,8,3]", "layer_norm_2d(%x)", NULL, "must have rank 4"},
    {"x: f32[B,C,4]", "group_norm(%x) {groups=3}", "f32[B,C,4]", NULL},
    {"x: f32[2,8,3]", "group_norm(%x) {groups=3}", NULL, "3 groups do not divide 8 channels"},
    {"x: f32[2,8,3]", "group_norm(%x) {groups=0}", NULL, "groups is 0"},
    {"x: f32[2,8,3]", "group_norm(%x) {groups=-9223372036854775808}", NULL, "groups is -9223372036854775808"},
    {"x: f32[8]", "instance_norm(%x)", NULL, "must be [N, C, ..]"},
    {"x: f32[2,8]; m: f32[8]; v: f32[2]", "batch_norm_inference(%x, %m, %v)", NULL,
      "input 2 (var) is [2] but must be [8]"},
    {"x: f32[2,8]", "softmax(%x) {axis=2}", NULL, "axis 2 is not in -2..1"},
    {"x: f32[]", "softmax(%x)", NULL, "axis -1 is not in"},
    {"x: f32[B,S]", "log_softmax(%x) {axis=0}", "f32[B,S]", NULL},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_reductions) {
  SKIP_WITH_32_BITS();
  static const rule rules[] = {
    {"x: f32[B,S,8]", "reduce_sum(%x)", "f32[]", NULL},
    {"x: f32[B,S,8]", "reduce_max(%x) {axes=[-1,0]}", "f32[S]", NULL},
    {"x: f32[B,S,8]", "reduce_mean(%x) {axes=[1], keep=true}", "f32[B,1,8]", NULL},
    {"x: i8[B,0]", "reduce_prod(%x) {axes=[1]}", "i8[B]", NULL},
    {"x: i8[4]", "reduce_mean(%x)", NULL, "does not take i8"},
    {"x: f32[2,3]", "reduce_sum(%x) {axes=[1,-1]}", NULL, "axis 1 is named twice"},
    {"x: f32[2,3]", "reduce_sum(%x) {axes=[2]}", NULL, "axis 2 is not in"},
    {"x: f32[2,3]", "cumsum(%x) {axis=-3}", NULL, "axis -3 is not in"},
    {"x: f32[B,S]", "argmax(%x) {axis=0}", "i64[S]", NULL},
    {"x: f32[B,S]", "argmin(%x) {axis=0, keep=true, to=i32}", "i32[1,S]", NULL},
    {"x: f32[2,0]", "argmax(%x)", NULL, "is empty"},
    {"x: f32[2,3]", "argmax(%x) {to=f32}", NULL, "gives i64 or i32, not f32"},
    {"x: i8[3000000000]", "argmax(%x) {to=i32}", NULL, "needs i64 indices"},
    {"x: i8[3000000000]", "argmax(%x)", "i64[]", NULL},
    {"x: i8[3000000000]", "argsort(%x) {to=i32}", NULL, "needs i64 indices"},
    {"x: f32[2,3]", "argsort(%x) {to=i8}", NULL, "gives i64 or i32, not i8"},
    {"x: f32[B,S]", "top_k_values(%x) {k=5}", "f32[B,5]", NULL},
    {"x: f32[B,S]", "top_k_indices(%x) {k=5, axis=0}", "i64[5,S]", NULL},
    {"x: f32[2,3]", "top_k_values(%x) {k=4}", NULL, "k is 4"},
    {"x: f32[2,3]", "top_k_values(%x) {k=-1}", NULL, "k is -1"},
    {"x: f32[2,3]", "top_k_indices(%x) {k=9223372036854775807}", NULL, "k is 9223372036854775807"},
    {"x: f32[S]", "top_k_values(%x) {k=9223372036854775807}", NULL, "overflow"},
    {"x: bool[2]", "sort(%x)", NULL, "does not take bool"},
  };
  CHECK_RULES(rules);
}
// clang-format on

/* ---- scalars ---- */

TEST(integers_at_their_limits) {
  CHECK_EQ_INT(int_div(INT64_MIN, -1), INT64_MIN);
  CHECK_EQ_INT(int_div(INT64_MIN, 0), 0);
  CHECK_EQ_INT(int_div(-7, 2), -3);
  CHECK_EQ_INT(int_mod(INT64_MIN, -1), 0);
  CHECK_EQ_INT(int_mod(7, 0), 0);
  CHECK_EQ_INT(int_mod(-7, 3), 2);
  CHECK_EQ_INT(int_mod(7, -3), -2);
  CHECK_EQ_INT(int_mod(INT64_MIN, INT64_MAX), INT64_MAX - 1);
  CHECK_EQ_INT(int_pow(2, 63), INT64_MIN);
  CHECK_EQ_INT(int_pow(3, INT64_MAX), int_mul(int_pow(3, INT64_MAX - 1), 3));
  CHECK_EQ_INT(int_pow(-1, INT64_MIN), 1);
  CHECK_EQ_INT(int_pow(-1, -3), -1);
  CHECK_EQ_INT(int_pow(0, -1), 0);
  CHECK_EQ_INT(int_pow(0, 0), 1);
  CHECK_EQ_INT(int_shl(-1, 63, 64), INT64_MIN);
  CHECK_EQ_INT(int_shl(1, 64, 64), 0);
  CHECK_EQ_INT(int_shl(1, INT64_MIN, 64), 0);
  CHECK_EQ_INT(int_shr(INT64_MIN, 63, 64), -1);
  CHECK_EQ_INT(int_shr(-5, 1, 8), -3);
  CHECK_EQ_INT(int_shr(-5, 8, 8), -1);
  CHECK_EQ_INT(int_shr(5, -1, 8), 0);
  CHECK_EQ_INT(rlx_scalar_neg_i(INT64_MIN), INT64_MIN);
  CHECK_EQ_INT(rlx_scalar_abs_i(INT64_MIN), INT64_MIN);
}

/* The table has functions for exactly the element-wise families of the op table. */
TEST(scalars_by_op) {
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_op_table_row *row = rlx_op_table_get((rlx_op)op);
    const rlx_scalar_row *s = rlx_scalar_get((rlx_op)op);
    int families = (s->unary != NULL) + (s->binary != NULL) + (s->compare != NULL);
    if (families > 1 || (families && !(row->traits & RLX_TRAIT_POINTWISE)))
      FAIL("%s is in %d families", row->name, families);
    if (s->unary && ((row->types & RLX_TYPES_INTEGER) != 0) != (s->int_unary != NULL))
      FAIL("%s: integers claimed and formula given disagree", row->name);
  }
  CHECK(rlx_scalar_get(RLX_OP_silu)->unary(0, 0, 0) == 0);
  CHECK_EQ_INT(rlx_scalar_get(RLX_OP_sub)->int_binary(3, 5, 32), -2);
  CHECK(rlx_scalar_get(RLX_OP_le)->compare(1, 1) && !rlx_scalar_get(RLX_OP_lt)->int_compare(1, 1));
  CHECK(!rlx_scalar_get(RLX_OP_matmul)->unary && !rlx_scalar_get(RLX_OP_COUNT)->binary);
}

/* ---- rounding ---- */

/* Calls a kernel directly, on vectors of one dtype. */
static rlx_status call_kernel(rlx_op op, const void *attrs, rlx_tensor *in, uint32_t n_in, rlx_tensor *out) {
  const rlx_tensor *inputs[3] = {&in[0], &in[1], &in[2]};
  rlx_node_rec node = {.op = op, .n_in = n_in, .attrs = attrs, .type = {out->dtype, out->shape}};
  rlx_bump scratch = {0};
  rlx_ref_call call = {.node = &node, .attrs = attrs, .in = inputs, .n_in = n_in, .out = out, .scratch = &scratch};
  rlx_status s = rlx_ref_get(op)(&call);
  rlx_bump_deinit(&scratch);
  return s;
}
#define VECTOR(type, values) \
  ((rlx_tensor){             \
    .dtype = (type), .shape = RLX_DIMS(sizeof(values) / sizeof *(values)), .data = (values), .bytes = sizeof(values)})

/* 1 + 2^-11 + 2^-24 is half-way between two floats; what is added is far below an f64's last bit. Rounding the sum to
 * f64 first and then to f32 would round all four to even. */
TEST(fma_rounds_once) {
  float a[4], b[4], c[4] = {0x1p-80f, -0x1p-80f, 0x1p-149f, 0}, y[4];
  for (int i = 0; i < 4; i++) a[i] = b[i] = 1 + 0x1p-12f;
  rlx_tensor in[3] = {VECTOR(RLX_F32, a), VECTOR(RLX_F32, b), VECTOR(RLX_F32, c)}, out = VECTOR(RLX_F32, y);
  CHECK_OK(call_kernel(RLX_OP_fma, NULL, in, 3, &out));
#if !defined(__wasi__) && !defined(_WIN32) /* whose fmaf rounds twice */
  for (int i = 0; i < 4; i++)
    if (y[i] != fmaf(a[i], b[i], c[i]))
      FAIL("element %d is %a but must be %a", i, (double)y[i], (double)fmaf(a[i], b[i], c[i]));
#endif
  CHECK(y[0] == 1 + 0x1p-11f + 0x1p-23f && y[1] == 1 + 0x1p-11f);
}

TEST(fma_agrees_with_fmaf) {
  if (TEST_IS_WINDOWS) SKIP("fmaf of mingw-w64 rounds twice");
  enum { N = 4096 };
  static float a[N], b[N], c[N], y[N];
  uint32_t random = 1;
  float *all[3] = {a, b, c};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < N; i++) { /* any bits, including infinities, NaN and subnormals; every other near 1 */
      random = random * 1664525u + 1013904223u;
      uint32_t bits = i % 2 ? random : 0x3f800000u | (random >> 12);
      memcpy(&all[k][i], &bits, sizeof bits);
    }
  rlx_tensor in[3] = {VECTOR(RLX_F32, a), VECTOR(RLX_F32, b), VECTOR(RLX_F32, c)}, out = VECTOR(RLX_F32, y);
  CHECK_OK(call_kernel(RLX_OP_fma, NULL, in, 3, &out));
  for (int i = 0; i < N; i++) {
    float want = fmaf(a[i], b[i], c[i]);
    if (isnan(want) ? !isnan(y[i]) : y[i] != want)
      FAIL("fma(%a, %a, %a) is %a but must be %a", (double)a[i], (double)b[i], (double)c[i], (double)y[i],
           (double)want);
  }
}

/* Through an f64 an i64 would be rounded twice. */
TEST(cast_of_integers_rounds_once) {
  int64_t x[4] = {(INT64_C(1) << 62) + (INT64_C(1) << 38) + 1, (INT64_C(1) << 62) + (INT64_C(1) << 38), INT64_MIN,
                  INT64_MAX};
  float y[4];
  rlx_tensor in[3] = {VECTOR(RLX_I64, x), {0}, {0}}, out = VECTOR(RLX_F32, y);
  CHECK_OK(call_kernel(RLX_OP_cast, &(rlx_attrs_cast){.to = RLX_F32}, in, 1, &out));
  for (int i = 0; i < 4; i++)
    if (y[i] != (float)x[i]) FAIL("element %d is %a but must be %a", i, (double)y[i], (double)(float)x[i]);
}

TEST(leaves_have_no_kernel) {
  static const rlx_op leaves[] = {RLX_OP_input, RLX_OP_param, RLX_OP_state};
  float y[1];
  rlx_tensor in[3] = {{0}}, out = VECTOR(RLX_F32, y);
  for (int i = 0; i < 3; i++) CHECK_FAILS(call_kernel(leaves[i], NULL, in, 0, &out), RLX_INVALID, "has no kernel");
}

/* ---- regions ---- */

/* A chain has the same bits node by node and as a region: each step is rounded to its own dtype. */
TEST(a_region_has_the_bits_of_its_chain) {
#define CHAIN \
  "%1 = mul(%a, %b); %2 = exp(%1); %3 = cast(%2) {to=bf16}; %4 = silu(%3); %5 = cast(%4) {to=f16}; %y = div(%5, %b)"
  CHECK_OK(expr_same("a: f16[64] range(-3,4); b: f16[64] range(-1.5,1.7)", CHAIN,
                     "region(%a, %b) {body=graph { %a = input \"a\" : f16[64]; %b = input \"b\" : f16[64]; " CHAIN
                     "; output \"y\" = %y }}",
                     0));
}

/* ---- memory ---- */

static rlx_status reduce_and_order(void *user) {
  (void)user;
  return expr_runs("x: f32[2,5] values(3,1,2,5,4,1,1,2,2,3)",
                   "%s = sort(%x); %n = layer_norm(%s); %r = reduce_sum(%n) {axes=[1], keep=true};"
                   "%i = argsort(%x) {to=i32}; %c = cast(%i) {to=f32}; fma(%c, %r, %s)");
}

TEST(allocations_may_fail) { CHECK_OK(alloc_sweep(reduce_and_order, NULL)); }
