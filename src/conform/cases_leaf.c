/* Cases of the leaves: a value of every dtype passes unchanged through an op that changes nothing. */
#include "conform/conform.h"

/* clang-format off */

/* `leaf` is "" (an input), "param " or "state ". */
#define LEAF_TYPES(leaf)                                                              \
  {"tiny", leaf "x: f32[2,3]", "reshape(%x) {shape=[6]}"},                            \
  {"odd", leaf "x: f32[7,13]", "reshape(%x) {shape=[91]}"},                           \
  {"scalar", leaf "x: f32[]", "reshape(%x) {shape=[1]}"},                             \
  {"empty", leaf "x: f32[0,3]", "reshape(%x) {shape=[3,0]}"},                         \
  {"larger", leaf "x: f32[5,67]", "reshape(%x) {shape=[67,5]}"},                      \
  {"rank8", leaf "x: f32[1,2,1,3,1,2,1,2]", "reshape(%x) {shape=[2,12]}"},            \
  {"special", leaf "x: f32[64] special", "reshape(%x) {shape=[8,8]}"},                \
  {"f16", leaf "x: f16[3,11]", "reshape(%x) {shape=[33]}"},                           \
  {"bf16", leaf "x: bf16[33]", "reshape(%x) {shape=[3,11]}"},                         \
  {"f64", leaf "x: f64[17]", "reshape(%x) {shape=[17,1]}"},                           \
  {"i8", leaf "x: i8[5,7] range(-128,128)", "reshape(%x) {shape=[35]}"},              \
  {"u8", leaf "x: u8[5,7] range(0,256)", "reshape(%x) {shape=[35]}"},                 \
  {"i16", leaf "x: i16[5,7]", "reshape(%x) {shape=[35]}"},                            \
  {"i32", leaf "x: i32[5,7]", "reshape(%x) {shape=[35]}"},                            \
  {"u32", leaf "x: u32[5,7]", "reshape(%x) {shape=[35]}"},                            \
  {"i64", leaf "x: i64[3] values(9223372036854775807, -9223372036854775808, 1)", "reshape(%x) {shape=[3,1]}"}, \
  {"bool", leaf "x: bool[5,7]", "reshape(%x) {shape=[35]}"},                          \
  {"c64", leaf "x: c64[2,3]", "reshape(%x) {shape=[6]}"},                             \
  {"used_twice", leaf "x: f32[9]", "add(%x, %x)"}

CASES(input, LEAF_TYPES(""), {"two", "x: f32[3]; y: f32[2,3]", "sub(%x, %y)"});
CASES(param, LEAF_TYPES("param "), {"and_input", "x: f32[3]; param w: f32[2,3]", "mul(%x, %w)"},
  {"q4_0", "param w: q4_0[3,64]", "cast(%w) {to=f32}"},
  {"q4_1", "param w: q4_1[2,32]", "cast(%w) {to=f32}"},
  {"q5_0", "param w: q5_0[2,32]", "cast(%w) {to=f32}"},
  {"q5_1", "param w: q5_1[2,32]", "cast(%w) {to=f32}"},
  {"q8_0", "param w: q8_0[2,32]", "cast(%w) {to=f32}"},
  {"q2_k", "param w: q2_k[1,256]", "cast(%w) {to=f32}"},
  {"q3_k", "param w: q3_k[1,256]", "cast(%w) {to=f32}"},
  {"q4_k", "param w: q4_k[1,256]", "cast(%w) {to=f32}"},
  {"q5_k", "param w: q5_k[1,256]", "cast(%w) {to=f32}"},
  {"q6_k", "param w: q6_k[1,256]", "cast(%w) {to=f32}"},
  {"q8_k", "param w: q8_k[1,256]", "cast(%w) {to=f32}"},
  {"iq4_nl", "param w: iq4_nl[2,32]", "cast(%w) {to=f32}"},
  {"iq4_xs", "param w: iq4_xs[1,256]", "cast(%w) {to=f32}"},
  {"mxfp4", "param w: mxfp4[2,32]", "cast(%w) {to=f32}"},
  {"tq1_0", "param w: tq1_0[1,256]", "cast(%w) {to=f32}"},
  {"tq2_0", "param w: tq2_0[1,256]", "cast(%w) {to=f32}"});
CASES(state, LEAF_TYPES("state "), {"and_input", "x: f32[3]; state s: f32[2,3]", "add(%x, %s)"});

#define CONSTANT(type, list) "%c = constant : " type " = " list "; add(%x, %c)"
CASES(constant,
  {"tiny", "x: f32[2,3]", CONSTANT("f32[3]", "[0.5, -1, 2]")},
  {"scalar", "x: f32[7]", CONSTANT("f32[]", "[1.5]")},
  {"one", "x: f32[1]", CONSTANT("f32[1,1]", "[-2.25]")},
  {"empty", "x: f32[2,0]", CONSTANT("f32[2,0]", "[]")},
  {"odd", "x: f32[7,13]", CONSTANT("f32[13]", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]")},
  {"larger", "x: f32[19,21]",
   CONSTANT("f32[1,21]", "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]")},
  {"special", "x: f32[5] values(1)", CONSTANT("f32[5]", "[nan, inf, -inf, -0.0, 1e-40]")},
  {"f16", "x: f16[4]", CONSTANT("f16[4]", "[0.1, 65504, -1, 6e-8]")},
  {"bf16", "x: bf16[4]", CONSTANT("bf16[4]", "[0.1, 3e38, -1, 1e-40]")},
  {"f64", "x: f64[2]", CONSTANT("f64[2]", "[0.1, 1e300]")},
  {"i8", "x: i8[3]", CONSTANT("i8[3]", "[-128, 127, 0]")},
  {"u8", "x: u8[3]", CONSTANT("u8[3]", "[255, 1, 0]")},
  {"i16", "x: i16[3]", CONSTANT("i16[3]", "[-32768, 32767, 0]")},
  {"i32", "x: i32[3]", CONSTANT("i32[3]", "[-2147483648, 2147483647, 0]")},
  {"u32", "x: u32[3]", CONSTANT("u32[3]", "[4294967295, 2147483648, 0]")},
  {"i64", "x: i64[3]", CONSTANT("i64[3]", "[-9223372036854775808, 9223372036854775807, 0]")},
  {"bool", "x: bool[4]", "%c = constant : bool[4] = [true, false, true, true]; xor(%x, %c)"},
  {"alone", "x: f32[1]", "%c = constant : f32[2] = [3, 4]; reshape(%c) {shape=[2,1]}"});
/* clang-format on */
