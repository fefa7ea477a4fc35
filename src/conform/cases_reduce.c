/* Cases of reductions, scans, and the ops that order: argmax, argmin, top-k, sort. */
#include "conform/conform.h"

/* clang-format off */

#define REDUCE_FLOATS(op, range)                                                        \
  {"tiny", "x: f32[2,3] " range, #op "(%x) {axes=[1]}"},                                \
  {"odd", "x: f32[7,13] " range, #op "(%x) {axes=[-1]}"},                               \
  {"all", "x: f32[3,5,2] " range, #op "(%x)"},                                          \
  {"all_keep", "x: f32[3,5,2] " range, #op "(%x) {keep=true}"},                         \
  {"first_axis", "x: f32[9,11] " range, #op "(%x) {axes=[0]}"},                         \
  {"middle_keep", "x: f32[3,7,5] " range, #op "(%x) {axes=[1], keep=true}"},            \
  {"outer_axes", "x: f32[3,7,5] " range, #op "(%x) {axes=[0,-1]}"},                     \
  {"axes_unordered", "x: f32[2,3,4,5] " range, #op "(%x) {axes=[3,1]}"},                \
  {"scalar", "x: f32[] " range, #op "(%x)"},                                            \
  {"size_one", "x: f32[4,1] " range, #op "(%x) {axes=[1]}"},                            \
  {"of_nothing", "x: f32[3,0] " range, #op "(%x) {axes=[1]}"},                          \
  {"all_of_nothing", "x: f32[3,0] " range, #op "(%x)"},                                 \
  {"no_rows", "x: f32[0,3] " range, #op "(%x) {axes=[1]}"},                             \
  {"larger", "x: f32[3,300] " range, #op "(%x) {axes=[1]}"},                            \
  {"rank8", "x: f32[1,2,1,3,1,2,1,2] " range, #op "(%x) {axes=[1,5,6]}"},               \
  {"nan", "x: f32[4,4] values(1, 2, nan, 3, inf, 1, 2, -inf, 0, -0.0, 5)", #op "(%x) {axes=[1]}"}, \
  {"f16", "x: f16[5,33] " range, #op "(%x) {axes=[1]}"},                                \
  {"bf16", "x: bf16[5,33] " range, #op "(%x) {axes=[1]}"},                              \
  {"f64", "x: f64[3,17] " range, #op "(%x) {axes=[0]}"}
/* Exceeds the width of the dtype on purpose: sums and products wrap. */
#define REDUCE_INTEGERS(op)                                                             \
  {"i8", "x: i8[5,9] range(-128,128)", #op "(%x) {axes=[1]}"},                          \
  {"u8", "x: u8[5,9] range(0,256)", #op "(%x) {axes=[0]}"},                             \
  {"i16", "x: i16[5,9] range(-32768,32768)", #op "(%x) {axes=[1], keep=true}"},         \
  {"i32", "x: i32[5,9] range(-2147483648,2147480000)", #op "(%x) {axes=[1]}"},          \
  {"u32", "x: u32[5,9] range(0,4294960000)", #op "(%x)"},                               \
  {"i64", "x: i64[5,9] range(-5000000000,5000000000)", #op "(%x) {axes=[1]}"}, \
  {"i64_past_double", "x: i64[3] values(1, 0, -1)",                                     \
   "%k = constant : i64[] = [9007199254740992]; %c = add(%x, %k); " #op "(%c)"},        \
  {"i8_of_nothing", "x: i8[2,0]", #op "(%x) {axes=[1]}"},                               \
  {"u32_of_nothing", "x: u32[2,0]", #op "(%x) {axes=[1]}"},                             \
  {"i64_of_nothing", "x: i64[0]", #op "(%x)"}

CASES(reduce_sum, REDUCE_FLOATS(reduce_sum, ""), REDUCE_INTEGERS(reduce_sum),
  {"f16_past_range", "x: f16[2,4] values(60000, 60000, -60000, -60000)", "reduce_sum(%x) {axes=[1]}"});
CASES(reduce_mean, REDUCE_FLOATS(reduce_mean, ""),
  {"f16_past_range", "x: f16[2,4] values(60000)", "reduce_mean(%x) {axes=[1]}"});
CASES(reduce_max, REDUCE_FLOATS(reduce_max, ""), REDUCE_INTEGERS(reduce_max),
  {"negative", "x: f32[4,5] range(-9,-1)", "reduce_max(%x) {axes=[1]}"});
CASES(reduce_min, REDUCE_FLOATS(reduce_min, ""), REDUCE_INTEGERS(reduce_min),
  {"positive", "x: f32[4,5] range(1,9)", "reduce_min(%x) {axes=[1]}"});
CASES(reduce_prod, REDUCE_FLOATS(reduce_prod, "range(-1.5,1.5)"), REDUCE_INTEGERS(reduce_prod),
  {"odd_integers", "x: i64[9,7] values(3, -5, 7, 9, -11)", "reduce_prod(%x) {axes=[0]}"});

#define SCAN_CASES(op, range) CASES(op,                                                 \
  {"tiny", "x: f32[2,3] " range, #op "(%x)"},                                           \
  {"odd", "x: f32[7,13] " range, #op "(%x)"},                                           \
  {"axis_first", "x: f32[7,13] " range, #op "(%x) {axis=0}"},                           \
  {"axis_middle", "x: f32[3,5,4] " range, #op "(%x) {axis=-2}"},                        \
  {"exclusive", "x: f32[4,9] " range, #op "(%x) {exclusive=true}"},                     \
  {"reverse", "x: f32[4,9] " range, #op "(%x) {reverse=true}"},                         \
  {"exclusive_reverse", "x: f32[9,4] " range, #op "(%x) {axis=0, exclusive=true, reverse=true}"}, \
  {"size_one", "x: f32[4,1] " range, #op "(%x)"},                                       \
  {"size_one_exclusive", "x: f32[1,4] " range, #op "(%x) {axis=0, exclusive=true}"},    \
  {"no_rows", "x: f32[0,3] " range, #op "(%x)"},                                        \
  {"empty_rows", "x: f32[3,0] " range, #op "(%x)"},                                     \
  {"larger", "x: f32[2,300] " range, #op "(%x)"},                                       \
  {"nan", "x: f32[2,8] values(1, 2, nan, 3, 4, inf, 1, -inf, 0, 1, 2, -inf, 5, 6, inf, 7)", #op "(%x)"}, \
  {"f16", "x: f16[5,13] " range, #op "(%x)"},                                           \
  {"bf16", "x: bf16[5,13] " range, #op "(%x)"},                                         \
  {"f64", "x: f64[3,17] " range, #op "(%x)"},                                           \
  {"i8", "x: i8[5,9] range(-128,128)", #op "(%x)"},                                     \
  {"i8_exclusive", "x: i8[5,9] range(-128,-100)", #op "(%x) {exclusive=true}"},         \
  {"u8", "x: u8[5,9] range(0,256)", #op "(%x) {reverse=true}"},                         \
  {"i16", "x: i16[5,9] range(-32768,32768)", #op "(%x)"},                               \
  {"i32", "x: i32[5,9] range(-2147483648,2147480000)", #op "(%x) {axis=0}"},            \
  {"u32", "x: u32[5,9] range(0,4294960000)", #op "(%x) {exclusive=true}"},              \
  {"i64", "x: i64[5,9] range(-5000000000,5000000000)", #op "(%x)"},   \
  {"i64_exclusive", "x: i64[2,3]", #op "(%x) {exclusive=true}"})
SCAN_CASES(cumsum, "");
SCAN_CASES(cumprod, "range(-1.5,1.5)");
SCAN_CASES(cummax, "");

/* Ties (few values), NaN and every type; `op` with its fixed attributes in `more`. */
#define TIES "values(1, 3, 2, 3, 0, -0.0, 3, 1)"
#define ORDER_TYPES(op, more)                                                           \
  {"ties", "x: f32[4,8] " TIES, #op "(%x) {" more "axis=1}"},                           \
  {"nan", "x: f32[3,5] values(1, nan, 2, nan, inf, -inf, 0, nan, 5, 4, 3, 2, 1, 0, -1)", #op "(%x) {" more "axis=1}"}, \
  {"f16", "x: f16[5,13]", #op "(%x) {" more "axis=1}"},                                 \
  {"bf16", "x: bf16[5,13]", #op "(%x) {" more "axis=1}"},                               \
  {"f64", "x: f64[3,17]", #op "(%x) {" more "axis=1}"},                                 \
  {"i8", "x: i8[5,9]", #op "(%x) {" more "axis=1}"},                                    \
  {"u8", "x: u8[5,9] range(0,256)", #op "(%x) {" more "axis=1}"},                       \
  {"i16", "x: i16[5,9]", #op "(%x) {" more "axis=0}"},                                  \
  {"i32", "x: i32[5,9]", #op "(%x) {" more "axis=1}"},                                  \
  {"u32", "x: u32[5,9] range(0,4294960000)", #op "(%x) {" more "axis=1}"},              \
  {"i64", "x: i64[5,9]", #op "(%x) {" more "axis=1}"},                                  \
  {"i64_past_double", "x: i64[2,3] values(0, 1, -1, 1, 0, -1)",                         \
   "%k = constant : i64[] = [9007199254740992]; %c = add(%x, %k); " #op "(%c) {" more "axis=1}"}

#define ARG_CASES(op) CASES(op,                                                         \
  {"tiny", "x: f32[2,3]", #op "(%x)"},                                                  \
  {"odd", "x: f32[7,13]", #op "(%x)"},                                                  \
  {"axis_first", "x: f32[7,13]", #op "(%x) {axis=0}"},                                  \
  {"axis_middle_keep", "x: f32[3,5,4]", #op "(%x) {axis=1, keep=true}"},                \
  {"as_i32", "x: f32[3,5,4]", #op "(%x) {axis=-2, to=i32}"},                            \
  {"vector", "x: f32[9]", #op "(%x)"},                                                  \
  {"size_one", "x: f32[4,1]", #op "(%x)"},                                              \
  {"no_rows", "x: f32[0,3]", #op "(%x)"},                                               \
  {"larger", "x: f32[5,300]", #op "(%x)"},                                              \
  {"all_equal", "x: f32[3,7] values(2)", #op "(%x)"},                                   \
  {"infinities", "x: f32[2,4] values(-inf, -inf, inf, inf)", #op "(%x)"},               \
  ORDER_TYPES(op, ""))
ARG_CASES(argmax);
ARG_CASES(argmin);

#define TOP_K_CASES(op, ...) CASES(op,                                                  \
  {"tiny", "x: f32[2,3]", #op "(%x) {k=2}"},                                            \
  {"odd", "x: f32[7,13]", #op "(%x) {k=5}"},                                            \
  {"one", "x: f32[7,13]", #op "(%x)"},                                                  \
  {"whole_axis", "x: f32[3,9]", #op "(%x) {k=9}"},                                      \
  {"k_zero", "x: f32[3,9]", #op "(%x) {k=0}"},                                          \
  {"smallest", "x: f32[3,9]", #op "(%x) {k=4, largest=false}"},                         \
  {"smallest_ties", "x: f32[3,8] " TIES, #op "(%x) {k=5, largest=false}"},              \
  {"smallest_nan", "x: f32[2,4] values(nan, 1, nan, -inf)", #op "(%x) {k=4, largest=false}"}, \
  {"axis_first", "x: f32[9,4]", #op "(%x) {k=3, axis=0}"},                              \
  {"axis_middle", "x: f32[3,7,4]", #op "(%x) {k=3, axis=1}"},                           \
  {"size_one", "x: f32[4,1]", #op "(%x) {k=1}"},                                        \
  {"no_rows", "x: f32[0,3]", #op "(%x) {k=2}"},                                         \
  {"larger", "x: f32[4,300] distinct", #op "(%x) {k=40}"},                              \
  ORDER_TYPES(op, "k=3, ") __VA_ARGS__)
TOP_K_CASES(top_k_values, );
TOP_K_CASES(top_k_indices, , {"as_i32", "x: f32[3,9]", "top_k_indices(%x) {k=4, to=i32}"});

#define SORT_CASES(op, ...) CASES(op,                                                   \
  {"tiny", "x: f32[2,3]", #op "(%x)"},                                                  \
  {"odd", "x: f32[7,13]", #op "(%x)"},                                                  \
  {"descending", "x: f32[4,9]", #op "(%x) {descending=true}"},                          \
  {"descending_ties", "x: f32[3,8] " TIES, #op "(%x) {descending=true}"},               \
  {"descending_nan", "x: f32[2,5] values(nan, 1, nan, -inf, inf)", #op "(%x) {descending=true}"}, \
  {"axis_first", "x: f32[9,4]", #op "(%x) {axis=0}"},                                   \
  {"axis_middle", "x: f32[3,7,4]", #op "(%x) {axis=-2, descending=true}"},              \
  {"vector", "x: f32[17]", #op "(%x)"},                                                 \
  {"size_one", "x: f32[4,1]", #op "(%x)"},                                              \
  {"no_rows", "x: f32[0,3]", #op "(%x)"},                                               \
  {"empty_rows", "x: f32[3,0]", #op "(%x)"},                                            \
  {"larger", "x: f32[2,300] distinct", #op "(%x)"},                                     \
  {"many_ties", "x: i32[3,129] range(0,9)", #op "(%x)"},                                \
  {"sorted", "x: i32[64] index", #op "(%x)"},                                           \
  {"reversed", "x: i32[64] index", #op "(%x) {descending=true}"},                       \
  ORDER_TYPES(op, "") __VA_ARGS__)
SORT_CASES(sort, );
SORT_CASES(argsort, , {"as_i32", "x: f32[3,9]", "argsort(%x) {to=i32, descending=true}"});
/* clang-format on */
