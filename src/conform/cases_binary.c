/* Cases of the binary and compare families and of fma, where, quantize and dequantize.
 *
 * The families share their shapes, which cover the ways to broadcast. Operands that matter to one op (divisors, shift
 * counts, equal values) are its own. */
#include "conform/conform.h"

/* clang-format off */

/* `a` and `b` are generators of the operands or "". */
#define SHAPES(expr, a, b)                                              \
  {"tiny", "a: f32[2,3] " a "; b: f32[2,3] " b, expr},                  \
  {"odd", "a: f32[7,13] " a "; b: f32[7,13] " b, expr},                 \
  {"row", "a: f32[4,5] " a "; b: f32[5] " b, expr},                     \
  {"column", "a: f32[4,1] " a "; b: f32[4,5] " b, expr},                \
  {"both_ways", "a: f32[3,1,5] " a "; b: f32[4,1] " b, expr},           \
  {"scalar_left", "a: f32[] " a "; b: f32[6] " b, expr},                \
  {"scalars", "a: f32[] " a "; b: f32[] " b, expr},                     \
  {"empty", "a: f32[0,3] " a "; b: f32[1,3] " b, expr},                 \
  {"larger", "a: f32[5,67] " a "; b: f32[5,67] " b, expr}
#define CORNERS "values(nan, inf, -inf, 0, -0.0, 1, -2, 3)"
#define FLOATS(expr, a, b)                                              \
  SHAPES(expr, a, b),                                                   \
  {"f16", "a: f16[3,11] " a "; b: f16[3,11] " b, expr},                 \
  {"bf16", "a: bf16[33] " a "; b: bf16[1] " b, expr},                   \
  {"f64", "a: f64[2,9] " a "; b: f64[9] " b, expr},                     \
  {"special", "a: f32[8,8] special; b: f32[8,8] special", expr},        \
  {"special_row", "a: f32[8,1] " CORNERS "; b: f32[8] " CORNERS, expr}
/* `b8` and so on are generators of the second operand: range(..) of the whole dtype unless an op needs less. */
#define INTEGERS(expr, b8, bu8, b16, b32, bu32, b64)                                          \
  {"i8", "a: i8[5,13] range(-128,128); b: i8[5,13] " b8, expr},                               \
  {"u8", "a: u8[5,13] range(0,256); b: u8[5,13] " bu8, expr},                                 \
  {"i16", "a: i16[5,7] range(-32768,32768); b: i16[7] " b16, expr},                           \
  {"i32", "a: i32[5,7] range(-2147483648,2147480000); b: i32[5,7] " b32, expr},               \
  {"u32", "a: u32[5,7] range(0,4294960000); b: u32[5,1] " bu32, expr},                        \
  {"i64", "a: i64[5,7] range(-5000000000,5000000000); b: i64[5,7] " b64, expr}, \
  {"least", "a: i32[4,1] values(-2147483648, 2147483647, 0, -1); b: i32[4] values(-1, 0, 1, 31)", expr}, \
  {"least_i8", "a: i8[4,1] values(-128, 127, 0, -1); b: i8[5] values(-1, 0, 1, 7, 8)", expr}, \
  {"least_i64", "a: i64[3,1] values(-9223372036854775808, 9223372036854775807, -1); b: i64[3] values(-1, 0, 2)", expr}

#define WHOLE "range(-128,128)", "range(0,256)", "range(-32768,32768)", "range(-2147483648,2147480000)", \
  "range(0,4294960000)", "range(-5000000000,5000000000)"
#define SMALL "range(-4,5)", "range(0,5)", "range(-4,5)", "range(-9,10)", "range(0,9)", "range(-9,10)"
#define COUNTS "range(-1,10)", "range(0,10)", "range(-1,18)", "range(-1,34)", "range(0,34)", "range(-1,66)"
/* The lists above are several arguments each, so they must be expanded before INTEGERS uses them. */
#define INTEGERS_OF(expr, ...) INTEGERS(expr, __VA_ARGS__)

#define NUMBER_CASES(op, a, b, integers) CASES(op, FLOATS(#op "(%a, %b)", a, b), INTEGERS_OF(#op "(%a, %b)", integers))

NUMBER_CASES(add, "", "", WHOLE);
NUMBER_CASES(sub, "", "", WHOLE);
NUMBER_CASES(mul, "", "", WHOLE);
NUMBER_CASES(div, "", "range(0.25,3)", SMALL);
NUMBER_CASES(max, "", "", WHOLE);
NUMBER_CASES(min, "", "", WHOLE);
NUMBER_CASES(pow, "range(0.1,3)", "range(-3,3)", SMALL);
NUMBER_CASES(mod, "range(-9,9)", "range(0.3,3)", SMALL);

CASES(atan2, FLOATS("atan2(%a, %b)", "", ""));

/* Integers only; `integers` are the second operand's ranges, b its generator elsewhere. */
#define BIT_CASES(op, b, integers) CASES(op, INTEGERS_OF(#op "(%a, %b)", integers),    \
  {"tiny", "a: i32[2,3]; b: i32[2,3] " b, #op "(%a, %b)"},                             \
  {"scalar", "a: i32[]; b: i32[] " b, #op "(%a, %b)"},                                 \
  {"empty", "a: i32[0,3]; b: i32[3] " b, #op "(%a, %b)"},                              \
  {"both_ways", "a: u8[3,1,5]; b: u8[4,1] " b, #op "(%a, %b)"},                        \
  {"larger", "a: i32[5,67]; b: i32[5,67] " b, #op "(%a, %b)"})
BIT_CASES(bit_and, "", WHOLE);
BIT_CASES(bit_or, "", WHOLE);
BIT_CASES(bit_xor, "", WHOLE);
BIT_CASES(shl, "range(0,8)", COUNTS);
BIT_CASES(shr, "range(0,8)", COUNTS);

#define LOGIC_CASES(op) CASES(op,                                  \
  {"tiny", "a: bool[2,3]; b: bool[2,3]", #op "(%a, %b)"},          \
  {"odd", "a: bool[7,13]; b: bool[7,13]", #op "(%a, %b)"},         \
  {"row", "a: bool[4,5]; b: bool[5]", #op "(%a, %b)"},             \
  {"both_ways", "a: bool[3,1,5]; b: bool[4,1]", #op "(%a, %b)"},   \
  {"scalars", "a: bool[]; b: bool[]", #op "(%a, %b)"},             \
  {"one", "a: bool[1]; b: bool[1,1]", #op "(%a, %b)"},             \
  {"empty", "a: bool[0,3]; b: bool[3]", #op "(%a, %b)"},           \
  {"larger", "a: bool[5,67]; b: bool[67]", #op "(%a, %b)"},        \
  {"truth_table", "a: bool[2,1] values(0, 1); b: bool[2] values(0, 1)", #op "(%a, %b)"})
LOGIC_CASES(and);
LOGIC_CASES(or);
LOGIC_CASES(xor);

/* Few distinct values, so that many pairs are equal. */
#define RANKS "values(1, 2, 3, 2, 1, 0, -0.0)"
#define RANKS_TOO "values(1, 3, 2, 2, 0)"
#define COMPARE_CASES(op, ...) CASES(op,                                                                         \
  FLOATS(#op "(%a, %b)", RANKS, RANKS_TOO),                                                                          \
  {"random", "a: f32[40]; b: f32[40]", #op "(%a, %b)"},                                                          \
  {"i8", "a: i8[8,8]; b: i8[8,8]", #op "(%a, %b)"},                                                              \
  {"u8", "a: u8[5,9] values(0, 127, 128, 255); b: u8[5,9] values(128, 127, 255)", #op "(%a, %b)"},               \
  {"i16", "a: i16[40]; b: i16[40]", #op "(%a, %b)"},                                                             \
  {"i32", "a: i32[40]; b: i32[1]", #op "(%a, %b)"},                                                              \
  {"u32", "a: u32[4,1] values(0, 1, 2147483648, 4294967295); b: u32[4] values(0, 1, 2147483648, 4294967295)", \
   #op "(%a, %b)"}, \
  {"i64", "a: i64[9,9]; b: i64[9,9]", #op "(%a, %b)"},                                                           \
  {"i64_past_double", "a: i64[4,1] values(1, 0, -1, 2); b: i64[4] values(1, 0, -1, 2)",                          \
   "%k = constant : i64[] = [9007199254740992]; %c = add(%a, %k); %d = add(%b, %k); " #op "(%c, %d)"},           \
  {"bool", "a: bool[2,1] values(0, 1); b: bool[2] values(0, 1)", #op "(%a, %b)"} __VA_ARGS__)
#define C64_CASES(op) \
  , {"c64", "a: c64[3,1] values(1, 2, 3, 4, 1, 4); b: c64[4] values(1, 2, 3, 4, 1, 4, 1, nan)", #op "(%a, %b)"}
COMPARE_CASES(eq, C64_CASES(eq));
COMPARE_CASES(ne, C64_CASES(ne));
COMPARE_CASES(lt, );
COMPARE_CASES(le, );
COMPARE_CASES(gt, );
COMPARE_CASES(ge, );

#define FMA "fma(%a, %b, %c)"
CASES(fma,
  {"tiny", "a: f32[2,3]; b: f32[2,3]; c: f32[2,3]", FMA},
  {"odd", "a: f32[7,13]; b: f32[7,13]; c: f32[7,13]", FMA},
  {"broadcast", "a: f32[3,1,5]; b: f32[4,1]; c: f32[5]", FMA},
  {"scalar_factor", "a: f32[4,9]; b: f32[]; c: f32[4,1]", FMA},
  {"scalars", "a: f32[]; b: f32[]; c: f32[]", FMA},
  {"empty", "a: f32[0,3]; b: f32[3]; c: f32[]", FMA},
  {"larger", "a: f32[5,67]; b: f32[5,67]; c: f32[67]", FMA},
  {"cancels", "a: f32[2] values(1.0000001, 4097); c: f32[2] values(-1.0000002, -16785408)", "fma(%a, %a, %c)"},
  {"special", "a: f32[64] special; b: f32[64] special; c: f32[64] special", FMA},
  {"f16", "a: f16[3,11]; b: f16[3,11]; c: f16[3,11]", FMA},
  {"bf16", "a: bf16[33]; b: bf16[33]; c: bf16[33]", FMA},
  {"f64", "a: f64[17]; b: f64[17]; c: f64[17]", FMA});

#define WHERE "where(%c, %t, %f)"
CASES(where,
  {"tiny", "c: bool[2,3]; t: f32[2,3]; f: f32[2,3]", WHERE},
  {"odd", "c: bool[7,13]; t: f32[7,13]; f: f32[7,13]", WHERE},
  {"broadcast", "c: bool[3,1,1]; t: f32[4,1]; f: f32[5]", WHERE},
  {"scalars", "c: bool[4]; t: f32[]; f: f32[]", WHERE},
  {"rank0", "c: bool[]; t: f32[]; f: f32[]", WHERE},
  {"empty", "c: bool[0,3]; t: f32[3]; f: f32[]", WHERE},
  {"larger", "c: bool[5,67]; t: f32[5,67]; f: f32[67]", WHERE},
  {"special", "c: bool[64]; t: f32[64] special; f: f32[64] special", WHERE},
  {"f16", "c: bool[3,11]; t: f16[3,11]; f: f16[3,11]", WHERE},
  {"bf16", "c: bool[33]; t: bf16[33]; f: bf16[33]", WHERE},
  {"f64", "c: bool[17]; t: f64[17]; f: f64[17]", WHERE},
  {"i8", "c: bool[17]; t: i8[17]; f: i8[17]", WHERE},
  {"u8", "c: bool[17]; t: u8[17]; f: u8[17]", WHERE},
  {"i16", "c: bool[17]; t: i16[17]; f: i16[17]", WHERE},
  {"i32", "c: bool[17]; t: i32[17]; f: i32[17]", WHERE},
  {"u32", "c: bool[17]; t: u32[17]; f: u32[17]", WHERE},
  {"i64", "c: bool[17]; t: i64[17] range(-5000000000,5000000000); f: i64[17]", WHERE},
  {"bool", "c: bool[17]; t: bool[17]; f: bool[17]", WHERE},
  {"c64", "c: bool[2,1]; t: c64[2,3]; f: c64[3]", WHERE});

CASES(quantize,
  {"tiny", "x: f32[2,3]; s: f32[] values(0.02)", "quantize(%x, %s)"},
  {"odd", "x: f32[7,13]; s: f32[] values(0.015)", "quantize(%x, %s)"},
  {"saturates", "x: f32[64] range(-10,10); s: f32[] values(0.05)", "quantize(%x, %s)"},
  {"halves", "x: f32[9] values(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 126.5, 127.5, -128.5); s: f32[] values(1)",
   "quantize(%x, %s)"},
  {"near_halves", "x: f32[8] values(0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, -0.35); s: f32[] values(0.1)",
   "quantize(%x, %s)"},
  {"zero_i8", "x: f32[5,9]; s: f32[] values(0.02); z: i8[] values(-12)", "quantize(%x, %s, %z)"},
  {"u8", "x: f32[5,9]; s: f32[] values(0.02); z: u8[] values(128)", "quantize(%x, %s, %z) {to=u8}"},
  {"i16", "x: f32[5,9] range(-9,9); s: f32[] values(0.0001)", "quantize(%x, %s) {to=i16}"},
  {"i32", "x: f32[33] range(-9,9); s: f32[] values(0.001); z: i32[] values(-100)", "quantize(%x, %s, %z) {to=i32}"},
  {"channel_last", "x: f32[4,5]; s: f32[5] range(0.01,0.05); z: i8[5]", "quantize(%x, %s, %z)"},
  {"channel_first", "x: f32[4,5]; s: f32[4] range(0.01,0.05); z: u8[4]", "quantize(%x, %s, %z) {to=u8, axis=0}"},
  {"channel_middle", "x: f32[2,3,5]; s: f32[3] range(0.01,0.05)", "quantize(%x, %s) {axis=1}"},
  {"channel_of_one", "x: f32[2,3,5]; s: f32[1] values(0.03)", "quantize(%x, %s) {axis=-2}"},
  {"scalar", "x: f32[]; s: f32[] values(0.02)", "quantize(%x, %s)"},
  {"empty", "x: f32[0,3]; s: f32[3] values(0.02)", "quantize(%x, %s)"},
  {"larger", "x: f32[5,67]; s: f32[] values(0.02)", "quantize(%x, %s)"},
  {"special", "x: f32[64] special; s: f32[] values(0.02); z: i8[] values(3)", "quantize(%x, %s, %z)"},
  {"f16", "x: f16[3,11]; s: f16[] values(0.02)", "quantize(%x, %s)"},
  {"bf16", "x: bf16[33]; s: bf16[] values(0.02)", "quantize(%x, %s) {to=u8}"},
  {"f64", "x: f64[17]; s: f64[] values(0.0003)", "quantize(%x, %s) {to=i16}"});

CASES(dequantize,
  {"tiny", "x: i8[2,3]; s: f32[] values(0.02)", "dequantize(%x, %s)"},
  {"odd", "x: i8[7,13] range(-128,128); s: f32[] values(0.015)", "dequantize(%x, %s)"},
  {"zero_i8", "x: i8[5,9] range(-128,128); s: f32[] values(0.02); z: i8[] values(-12)", "dequantize(%x, %s, %z)"},
  {"u8", "x: u8[5,9] range(0,256); s: f32[] values(0.02); z: u8[] values(128)", "dequantize(%x, %s, %z)"},
  {"i16", "x: i16[5,9] range(-32768,32768); s: f32[] values(0.0001)", "dequantize(%x, %s)"},
  {"i32", "x: i32[33] range(-2147483648,2147480000); s: f32[] values(0.001); z: i32[] values(-2147483648)",
   "dequantize(%x, %s, %z)"},
  {"channel_last", "x: i8[4,5]; s: f32[5]; z: i8[5]", "dequantize(%x, %s, %z)"},
  {"channel_first", "x: u8[4,5]; s: f32[4]; z: u8[4]", "dequantize(%x, %s, %z) {axis=0}"},
  {"channel_middle", "x: i8[2,3,5]; s: f32[3]", "dequantize(%x, %s) {axis=1}"},
  {"channel_of_one", "x: i8[2,3,5]; s: f32[1]", "dequantize(%x, %s) {axis=-2}"},
  {"scalar", "x: i8[]; s: f32[]", "dequantize(%x, %s)"},
  {"empty", "x: i8[0,3]; s: f32[3]", "dequantize(%x, %s)"},
  {"larger", "x: i8[5,67] range(-128,128); s: f32[67]", "dequantize(%x, %s)"},
  {"special_scale", "x: i8[5,5]; s: f32[5] values(nan, inf, -inf, 0, 1)", "dequantize(%x, %s)"},
  {"f16", "x: i8[3,11] range(-128,128); s: f16[]", "dequantize(%x, %s)"},
  {"bf16", "x: u8[33] range(0,256); s: bf16[]", "dequantize(%x, %s)"},
  {"f64", "x: i16[17] range(-32768,32768); s: f64[]", "dequantize(%x, %s)"},
  {"round_trip", "x: f32[40]; s: f32[] values(0.02)", "%q = quantize(%x, %s); dequantize(%q, %s)"});
/* clang-format on */
