/* Cases of the unary family and of the other element-wise ops with one input: not, clamp, cast.
 *
 * Every unary op has the same shapes and dtypes. The range of its values differs, and some have cases of their own. */
#include "conform/conform.h"

/* clang-format off */

/* Shapes and float types; `range` is a generator or "". */
#define FLOATS(op, range, expr)                          \
  {"tiny", "x: f32[2,3] " range, expr},                  \
  {"odd", "x: f32[7,13] " range, expr},                  \
  {"scalar", "x: f32[] " range, expr},                   \
  {"one", "x: f32[1,1,1] " range, expr},                 \
  {"empty", "x: f32[3,0,2] " range, expr},               \
  {"larger", "x: f32[5,67] " range, expr},               \
  {"rank8", "x: f32[1,2,1,3,1,2,1,2] " range, expr},     \
  {"f16", "x: f16[3,11] " range, expr},                  \
  {"bf16", "x: bf16[33] " range, expr},                  \
  {"f64", "x: f64[2,9] " range, expr}

/* NaN, infinities and zeros, without values so large that their sine is meaningless in f32. */
#define EDGES "values(0, -0.0, nan, inf, -inf, 1, -1, 0.5, -2.5, 100, -100)"

#define UNARY_CASES(op, range) \
  CASES(op, FLOATS(op, range, #op "(%x)"), {"special", "x: f32[64] special", #op "(%x)"}, \
    {"edges", "x: f16[11] " EDGES, #op "(%x)"})
#define UNARY_EDGE_CASES(op, range) \
  CASES(op, FLOATS(op, range, #op "(%x)"), {"edges", "x: f32[11] " EDGES, #op "(%x)"},    \
    {"small", "x: f32[9] values(0, -0.0, 1e-40, -1e-40, 1e-45, -1e-45, 1.2e-38, -1.2e-38, -1e-20)", #op "(%x)"},    \
    {"edges_f16", "x: f16[11] " EDGES, #op "(%x)"})
/* Ops with attributes: their defaults everywhere and two other settings. */
#define UNARY_ATTR_CASES(op, range, first, second)                          \
  CASES(op, FLOATS(op, range, #op "(%x)"), {"special", "x: f32[64] special", #op "(%x)"}, \
    {"first", "x: f32[9,7] " range, #op "(%x) " first}, {"second", "x: f32[31] " range, #op "(%x) " second}, \
    {"edges", "x: f32[11] " EDGES, #op "(%x) " first})
/* Ops that also accept integers. */
#define UNARY_INT_CASES(op)                                                  \
  CASES(op, FLOATS(op, "", #op "(%x)"), {"special", "x: f32[64] special", #op "(%x)"},    \
    {"i8", "x: i8[4,64] range(-128,128)", #op "(%x)"},                       \
    {"u8", "x: u8[5,7] range(0,256)", #op "(%x)"},                           \
    {"i16", "x: i16[3,13] range(-32768,32768)", #op "(%x)"},                 \
    {"i32", "x: i32[40] range(-2147483648,2147480000)", #op "(%x)"},         \
    {"u32", "x: u32[21] range(0,4294960000)", #op "(%x)"},                   \
    {"i64", "x: i64[4,5] range(-5000000000,5000000000)", #op "(%x)"}, \
    {"least", "x: i32[4] values(-2147483648, 2147483647, 0, -1)", #op "(%x)"}, \
    {"least_i64", "x: i64[3] values(-9223372036854775808, 9223372036854775807, -1)", #op "(%x)"})

UNARY_CASES(gelu, "range(-6,6)");
UNARY_CASES(gelu_approx, "range(-6,6)");
UNARY_CASES(silu, "range(-20,20)");
UNARY_CASES(relu, "");
UNARY_CASES(sigmoid, "range(-30,30)");
UNARY_CASES(tanh, "range(-5,5)");
UNARY_CASES(exp, "range(-10,10)");
UNARY_CASES(log, "range(0.001,50)");
UNARY_CASES(sqrt, "range(0,50)");
UNARY_CASES(rsqrt, "range(0.001,50)");
UNARY_INT_CASES(neg);
UNARY_INT_CASES(abs);
UNARY_EDGE_CASES(sin, "range(-7,7)");
UNARY_EDGE_CASES(cos, "range(-7,7)");
UNARY_EDGE_CASES(tan, "range(-1.5,1.5)");
UNARY_CASES(atan, "range(-9,9)");
CASES(round, FLOATS(round, "range(-9,9)", "round(%x)"), {"special", "x: f32[64] special", "round(%x)"},
  {"halves", "x: f32[12] values(-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 8388607.5, 0.49999997, -0.49999997)",
   "round(%x)"},
  {"halves_f16", "x: f16[6] values(-2.5, -0.5, 0.5, 1.5, 2.5, 1023.5)", "round(%x)"});
CASES(floor, FLOATS(floor, "range(-9,9)", "floor(%x)"), {"special", "x: f32[64] special", "floor(%x)"},
  {"whole", "x: f32[8] values(-3, -0.0, 0, 3, 2.9999998, -2.9999998, 8388607.5, -8388607.5)", "floor(%x)"});
CASES(ceil, FLOATS(ceil, "range(-9,9)", "ceil(%x)"), {"special", "x: f32[64] special", "ceil(%x)"},
  {"whole", "x: f32[8] values(-3, -0.0, 0, 3, 2.0000002, -2.0000002, 8388607.5, -8388607.5)", "ceil(%x)"});
UNARY_INT_CASES(sign);
UNARY_CASES(erf, "range(-4,4)");
UNARY_CASES(reciprocal, "range(0.01,9)");
UNARY_CASES(softplus, "range(-30,30)");
UNARY_ATTR_CASES(elu, "range(-5,5)", "{alpha=0.5}", "{alpha=-2.0}");
UNARY_ATTR_CASES(leaky_relu, "range(-5,5)", "{alpha=0.2}", "{alpha=1.5}");
UNARY_ATTR_CASES(hard_sigmoid, "range(-5,5)", "{alpha=0.2, beta=0.5}", "{alpha=0.3, beta=-0.25}");
UNARY_CASES(hard_swish, "range(-5,5)");
UNARY_CASES(mish, "range(-20,20)");
UNARY_ATTR_CASES(selu, "range(-5,5)", "{alpha=1.0, beta=2.0}", "{alpha=0.25, beta=0.5}");

CASES(not,
  {"tiny", "x: bool[2,3]", "not(%x)"},
  {"odd", "x: bool[7,13]", "not(%x)"},
  {"scalar", "x: bool[]", "not(%x)"},
  {"one", "x: bool[1,1]", "not(%x)"},
  {"empty", "x: bool[0,4]", "not(%x)"},
  {"larger", "x: bool[3,5,67]", "not(%x)"},
  {"twice", "x: bool[17]", "%y = not(%x); not(%y)"},
  {"of_compare", "a: f32[9]; b: f32[9]", "%c = lt(%a, %b); not(%c)"});

CASES(clamp,
  {"tiny", "x: f32[2,3]", "clamp(%x) {lo=-0.5, hi=0.5}"},
  {"odd", "x: f32[7,13]", "clamp(%x) {lo=-1.0, hi=1.25}"},
  {"scalar", "x: f32[]", "clamp(%x) {lo=0.0, hi=0.1}"},
  {"empty", "x: f32[0,4]", "clamp(%x) {lo=0.0}"},
  {"larger", "x: f32[5,67]", "clamp(%x) {lo=-0.1, hi=0.1}"},
  {"no_bounds", "x: f32[11]", "clamp(%x)"},
  {"only_lo", "x: f32[5,5]", "clamp(%x) {lo=0.3}"},
  {"only_hi", "x: f32[5,5]", "clamp(%x) {hi=0.3}"},
  {"crossed", "x: f32[9]", "clamp(%x) {lo=1.0, hi=-1.0}"},
  {"special", "x: f32[64] special", "clamp(%x) {lo=-1.0, hi=1.0}"},
  {"f16", "x: f16[3,11]", "clamp(%x) {lo=-0.7, hi=0.7}"},
  {"bf16", "x: bf16[33]", "clamp(%x) {lo=-0.7, hi=0.7}"},
  {"f64", "x: f64[17]", "clamp(%x) {lo=-0.7, hi=0.7}"},
  {"i8", "x: i8[64] range(-128,128)", "clamp(%x) {lo=-10.5, hi=20.5}"},
  {"i8_past_type", "x: i8[64] range(-128,128)", "clamp(%x) {lo=-1000.0, hi=50.0}"},
  {"i8_fractions", "x: i8[8] values(0, 1, 2, 3, 19, 20, 21, 22)", "clamp(%x) {lo=2.5, hi=20.5}"},
  {"i8_above_type", "x: i8[16] range(-128,128)", "clamp(%x) {lo=1000.0}"},
  {"i8_below_type", "x: i8[16] range(-128,128)", "clamp(%x) {hi=-1000.0}"},
  {"u8", "x: u8[40] range(0,256)", "clamp(%x) {lo=100.0, hi=200.0}"},
  {"i16", "x: i16[21] range(-32768,32768)", "clamp(%x) {lo=-99.0, hi=99.0}"},
  {"i32", "x: i32[21] range(-1000000,1000000)", "clamp(%x) {lo=-5000.0}"},
  {"u32", "x: u32[21] range(0,4294960000)", "clamp(%x) {lo=10.0, hi=4000000000.0}"},
  {"i64", "x: i64[21] range(-5000000000,5000000000)", "clamp(%x) {lo=-1e15, hi=1e15}"});

#define TO_OF(name, type) "cast(%" name ") {to=" type "}"
#define TO(type) TO_OF("x", type)
/* Integers that a generator, which counts in doubles, cannot make. */
#define PLUS(list) "%k = constant : i64[5] = " list "; %s = add(%x, %k); "
#define WIDE                                                                               \
  "values(0, -0.0, 0.5, -0.5, 1.9, -1.9, 127.5, 128, -128.9, 255.5, 256, -129, 32768, 2147483520, 2147483648, 3e9, " \
  "4294967040, 1e19, -1e19, 1e-40)"
CASES(cast,
  {"tiny", "x: f32[2,3]", TO("f16")},
  {"odd", "x: f32[7,13]", TO("bf16")},
  {"scalar", "x: f32[]", TO("f64")},
  {"one", "x: i32[1,1]", TO("f32")},
  {"empty", "x: i64[0,4]", TO("f32")},
  {"larger", "x: f32[5,67] range(-300,300)", TO("i8")},
  {"same_type", "x: f32[9] special", TO("f32")},
  {"same_type_c64", "x: c64[2,3]", TO("c64")},
  {"f32_special_f16", "x: f32[64] special", TO("f16")},
  {"f32_special_bf16", "x: f32[64] special", TO("bf16")},
  {"f32_special_i32", "x: f32[64] special", TO("i32")},
  {"f32_special_u8", "x: f32[64] special", TO("u8")},
  {"f32_special_i64", "x: f32[64] special", TO("i64")},
  {"f32_special_bool", "x: f32[64] special", TO("bool")},
  {"f32_i8", "x: f32[20] " WIDE, TO("i8")},
  {"f32_u8", "x: f32[20] " WIDE, TO("u8")},
  {"f32_i16", "x: f32[20] " WIDE, TO("i16")},
  {"f32_i32", "x: f32[20] " WIDE, TO("i32")},
  {"f32_u32", "x: f32[20] " WIDE, TO("u32")},
  {"f32_i64", "x: f32[20] " WIDE, TO("i64")},
  {"f32_bool", "x: f32[20] " WIDE, TO("bool")},
  {"f64_f32", "x: f64[31] range(-1e30,1e30)", TO("f32")},
  {"f64_f16", "x: f64[6] values(1.00048828125, 1.000488281250001, 65519.999, 65520, 5.9604e-8, 2.98e-8)", TO("f16")},
  {"f64_i64", "x: f64[6] values(9.3e18, -9.3e18, 9007199254740993, -0.99, 1.5, nan)", TO("i64")},
  {"f16_f32", "x: f16[40] special", TO("f32")},
  {"f16_i8", "x: f16[33] range(-200,200)", TO("i8")},
  {"bf16_f32", "x: bf16[40] special", TO("f32")},
  {"bf16_f16", "x: bf16[33] range(-1e5,1e5)", TO("f16")},
  {"i64_f32", "x: i64[5] values(0)",
   PLUS("[16777217, -16777219, 9007199254740993, 4611686018695823361, -9223372036854775808]") TO_OF("s", "f32")},
  {"i64_bf16", "x: i64[5] values(0)",
   PLUS("[16777217, 257, 259, 4629700416936869889, -9223372036854775808]") TO_OF("s", "bf16")},
  {"i64_i32", "x: i64[5] values(2147483648, -2147483649, 7, -7, 9223372036854775807)", TO("i32")},
  {"i64_u32", "x: i64[5] values(4294967296, -1, 7, 4294967295, 0)", TO("u32")},
  {"i32_i8", "x: i32[40] range(-300,300)", TO("i8")},
  {"i32_u8", "x: i32[40] range(-300,600)", TO("u8")},
  {"i32_f16", "x: i32[40] range(-100000,100000)", TO("f16")},
  {"u32_i32", "x: u32[40] range(0,4294960000)", TO("i32")},
  {"u32_f32", "x: u32[40] range(0,4294960000)", TO("f32")},
  {"i8_u8", "x: i8[40] range(-128,128)", TO("u8")},
  {"u8_i8", "x: u8[40] range(0,256)", TO("i8")},
  {"i16_i64", "x: i16[21] range(-32768,32768)", TO("i64")},
  {"i32_bool", "x: i32[9] values(0, 1, -1, 256)", TO("bool")},
  {"bool_f32", "x: bool[3,7]", TO("f32")},
  {"bool_i64", "x: bool[3,7]", TO("i64")},
  {"q4_0", "param x: q4_0[3,64]", TO("f32")},
  {"q8_0_f16", "param x: q8_0[2,96]", TO("f16")},
  {"q5_1_bf16", "param x: q5_1[2,32]", TO("bf16")},
  {"q4_k", "param x: q4_k[2,256]", TO("f32")},
  {"q6_k_f64", "param x: q6_k[1,256]", TO("f64")},
  {"tq2_0", "param x: tq2_0[1,256]", TO("f32")});
/* clang-format on */
