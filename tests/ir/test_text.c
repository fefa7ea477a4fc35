/* The text form: printed text parses back to an identical graph, and invalid text is rejected with its position.
 *
 * Round trips cover every conformance case (so every op and every attribute that a case sets) and graphs built to be
 * awkward: odd names, numbers at the ends of their range, constants of every type bit by bit. Invalid text comes from a
 * table with the message of each, and from seeded mutation, where whatever still parses must still round-trip. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "conform/conform.h"
#include "conform/values.h"
#include "faults.h"
#include "graphs.h"

/* ---- round trips ---- */

TEST(every_conformance_case_round_trips) {
  size_t n = 0;
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *table = rlx_case_table_get((rlx_op)op);
    for (size_t i = 0; i < table->n; i++) {
      rlx_case_built built;
      CHECK_OK(rlx_case_build((rlx_op)op, &table->v[i], &built));
      rlx_status s = graph_round_trip(built.graph);
      rlx_case_deinit(&built);
      if (s) FAIL("%s %s: %s", rlx_op_table_get((rlx_op)op)->name, table->v[i].name, rlx_message());
      n++;
    }
  }
  CHECK(n > 100); /* the tables are linked in */
}

/* Finishes, round-trips and destroys g. */
static void check_round_trip(rlx_graph *g) {
  rlx_status s = rlx_graph_finish(g);
  if (!s) s = graph_round_trip(g);
  rlx_graph_destroy(g);
  CHECK_OK(s);
}

TEST(attributes_of_every_kind_round_trip) {
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  int64_t b = rlx_graph_add_symbol(g, "B"), s = rlx_graph_add_symbol(g, "_S.1");
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(b, 4)), v = rlx_op_input(g, "v", RLX_F32, RLX_DIMS(s));
  rlx_node img = rlx_op_input(g, "img", RLX_F32, RLX_DIMS(1, 1, 4, 6));
  rlx_graph_add_output(g, "int", rlx_op_softmax(g, x, -2));
  rlx_graph_add_output(g, "least int",
                       rlx_op_rng_uniform(g, RLX_NONE, RLX_DIMS(b, s), RLX_F64, INT64_MIN, -1e300, 1e-300));
  rlx_graph_add_output(g, "largest int",
                       rlx_op_rng_normal(g, RLX_NONE, RLX_SCALAR, RLX_BF16, INT64_MAX, -0.0, 0x1p-1074));
  rlx_graph_add_output(g, "floats", rlx_op_clamp(g, x, -RLX_INFINITY, 0.1));
  rlx_graph_add_output(g, "default", rlx_op_clamp(g, x, -RLX_INFINITY, RLX_INFINITY));
  rlx_graph_add_output(g, "nan", rlx_op_pad(g, v, RLX_DIMS(1), RLX_DIMS(2), RLX_PAD_CONSTANT, (double)NAN));
  rlx_graph_add_output(g, "-nan", rlx_op_pad(g, v, RLX_DIMS(1), RLX_DIMS(2), RLX_PAD_CONSTANT, -(double)NAN));
  rlx_graph_add_output(g, "-0", rlx_op_elu(g, v, -0.0));
  rlx_graph_add_output(g, "bool", rlx_op_cumsum(g, x, 0, true, true));
  rlx_graph_add_output(g, "type", rlx_op_cast(g, x, RLX_C64 - 1));
  rlx_graph_add_output(g, "symbols", rlx_op_reshape(g, x, RLX_DIMS(4, b)));
  rlx_graph_add_output(g, "ends",
                       rlx_op_slice(g, v,
                                    &(rlx_op_slice_desc){RLX_OP_SLICE_DESC_INIT, .start = RLX_DIMS(INT64_MAX),
                                                         .stop = RLX_DIMS(-INT64_MAX / 2), .step = RLX_DIMS(-1)}));
  rlx_graph_add_output(
    g, "enum and list",
    rlx_op_resize(g, img, RLX_DIMS(1, 1, 8, 6),
                  &(rlx_op_resize_desc){RLX_OP_RESIZE_DESC_INIT, .mode = RLX_RESIZE_LINEAR,
                                        .coords = RLX_COORDS_ALIGN_CORNERS, .scale = {{1, 1, 2, 1.0 / 3}, 4}}));
  rlx_graph_add_output(g, "unknown size", rlx_op_concat(g, ((const rlx_node[]){v, v}), 2, 0));
  rlx_graph_add_output(g, "absent between",
                       rlx_op_group_norm(g, img, RLX_NONE, rlx_op_param(g, "beta", RLX_F32, RLX_DIMS(1)), 1, 1e-5));
  rlx_graph_add_output(g, "count", rlx_op_range(g, 0.5, 0.25, b, RLX_F16));
  check_round_trip(g);
}

TEST(odd_names_round_trip) {
  static const char *const names[] = {
    "a b",          "quote\"", "back\\slash", "new\nline", "tab\t",    "\x01\x1f\x7f", "%1",
    "{}[]()=:,;#",  "_",       "graph",       "output",    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
    "\xed\x9f\xbf", "\\u0041", "\b\f\r/",     " ",         "0",        "nan",
  };
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    rlx_node x = i % 3 == 0   ? rlx_op_input(g, names[i], RLX_F32, RLX_SCALAR)
                 : i % 3 == 1 ? rlx_op_param(g, names[i], RLX_F32, RLX_SCALAR)
                              : rlx_op_state(g, names[i], RLX_F32, RLX_SCALAR);
    rlx_graph_add_output(g, names[i], x);
  }
  char *name = malloc(100001);
  CHECK(name != NULL);
  memset(name, 'n', 100000);
  name[100000] = 0;
  rlx_graph_add_output(g, name, rlx_op_input(g, name, RLX_F32, RLX_SCALAR));
  free(name);
  check_round_trip(g);
}

/* ---- constants ---- */

static void fill(unsigned char *data, size_t bytes, rlx_dtype dtype, uint64_t *state) {
  for (size_t i = 0; i < bytes; i++)
    data[i] = dtype == RLX_BOOL ? rlx_random_next(state) & 1 : (unsigned char)(rlx_random_next(state) >> 32);
}

TEST(constants_of_every_type_round_trip) {
  uint64_t state = 88172645463325252u;
  for (int t = 0; t < RLX_DTYPE_COUNT; t++) {
    const rlx_dtype_info *info = rlx_dtype_describe((rlx_dtype)t);
    static const int64_t counts[] = {0, 1, 3, 16, 17, 40}; /* around the limit between list and bytes */
    rlx_graph *g;
    CHECK_OK(rlx_graph_create(&g));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      unsigned char data[40 * 292];
      size_t bytes = (size_t)counts[i] * info->block_bytes;
      char name[8];
      fill(data, bytes, (rlx_dtype)t, &state);
      snprintf(name, sizeof name, "c%zu", i);
      rlx_graph_add_output(
        g, name, rlx_op_constant(g, (rlx_dtype)t, RLX_DIMS(1, counts[i] * info->block_elements), data, bytes));
    }
    check_round_trip(g);
    if (test_has_failed()) return;
  }
}

/* Random bits are mostly numbers of medium size; these are the extremes, as lists and as bytes. */
TEST(special_numbers_round_trip) {
  static const uint32_t f32[] = {0,          0x80000000, 0x7f800000, 0xff800000, 1,         0x80000001,
                                 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f800001, 0x3dcccccd};
  static const uint32_t f32_nan[] = {0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff};
  static const uint16_t f16[] = {0, 0x8000, 0x7c00, 0xfc00, 1, 0x03ff, 0x0400, 0x7bff, 0x3c01},
                        f16_nan[] = {0x7e00, 0x7c01, 0xffff};
  static const uint16_t bf16[] = {0, 0x8000, 0x7f80, 0xff80, 1, 0x007f, 0x0080, 0x7f7f, 0x3f81};
  static const uint64_t f64[] = {0, 0x8000000000000000u, 0x7ff0000000000000u, 0xfff0000000000000u,
                                 1, 0x000fffffffffffffu, 0x7fefffffffffffffu, 0x3fb999999999999au};
  static const int64_t i64[] = {INT64_MIN, INT64_MAX, -1, 0};
  static const uint32_t u32[] = {0, UINT32_MAX};
  static const int8_t i8[] = {-128, 127};
  static const uint16_t u16[] = {0, UINT16_MAX};
  static const uint64_t u64[] = {1, UINT64_MAX};
  static const uint8_t f8[] = {0x7e, 0x80};
#define SPECIAL(dtype, values)     \
  rlx_graph_add_output(g, #values, \
                       rlx_op_constant(g, dtype, RLX_DIMS(sizeof values / sizeof *values), values, sizeof values))
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  SPECIAL(RLX_F32, f32);
  SPECIAL(RLX_F32, f32_nan);
  SPECIAL(RLX_F16, f16);
  SPECIAL(RLX_F16, f16_nan);
  SPECIAL(RLX_BF16, bf16);
  SPECIAL(RLX_F64, f64);
  SPECIAL(RLX_I64, i64);
  SPECIAL(RLX_U32, u32);
  SPECIAL(RLX_I8, i8);
  SPECIAL(RLX_U16, u16);
  SPECIAL(RLX_U64, u64);
  SPECIAL(RLX_F8E4M3, f8);
#undef SPECIAL
  char *text;
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_graph_print(g, &text));
  CHECK(
    strstr(text, "= [0, -0, inf, -inf, 1e-45, -1e-45, 1.1754942e-38, 1.1754944e-38, 3.4028235e+38, 1.0000001, 0.1]"));
  CHECK(strstr(text, "= [-9223372036854775808, 9223372036854775807, -1, 0]"));
  CHECK(strstr(text, "u16[2] = [0, 65535]"));
  CHECK(strstr(text, "f8e4m3[2] = hex \"7e80\""));
  CHECK(strstr(text, "= hex \"0000c07f0000c0ff0100807fffffff7f\""));
  rlx_free(text);
  check_round_trip(g);
}

/* Every f16, as a list: 4096 constants of 16. */
TEST(every_half_reads_back) {
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  for (uint32_t first = 0; first < 65536; first += 16) {
    uint16_t values[16];
    for (uint32_t i = 0; i < 16; i++) values[i] = (uint16_t)(first + i);
    rlx_node c = rlx_op_constant(g, RLX_F16, RLX_DIMS(16), values, sizeof values);
    if (first == 0) rlx_graph_add_output(g, "y", c);
  }
  check_round_trip(g);
}

/* ---- hand-written text ---- */

TEST(text_may_be_laid_out_freely) {
  static const char text[] = "# a comment\r\n"
                             "graph{symbols N,M;%in=input\"x\":f32[N,M] # another\n"
                             "  %b.1 = constant : i32 [ ] = [ -3 ] ; %h = constant : u8[2] = hex \"fF00\"\n"
                             "%y=softmax( %in ){ } : f32[N,M]\n\n"
                             "\t%z = layer_norm(%y, _, _) {eps=1E-3,axis=-1}\n"
                             "output \"\\u00e9\\/\\\"\" = %z output\"b\"=%b.1}\n  # the end";
  static const char expected[] = "graph {\n"
                                 "  symbols N, M\n"
                                 "  %1 = input \"x\" : f32[N,M]\n"
                                 "  %2 = constant : i32[] = [-3]\n"
                                 "  %3 = constant : u8[2] = [255, 0]\n"
                                 "  %4 = softmax(%1) : f32[N,M]\n"
                                 "  %5 = layer_norm(%4) {eps=0.001} : f32[N,M]\n"
                                 "  output \"\xc3\xa9/\\\"\" = %5\n"
                                 "  output \"b\" = %2\n"
                                 "}\n";
  rlx_graph *g;
  char *printed;
  CHECK_OK(rlx_graph_parse(text, sizeof text - 1, &g));
  CHECK_OK(rlx_graph_print(g, &printed));
  CHECK_EQ_STR(printed, expected);
  rlx_free(printed);
  check_round_trip(g);
}

TEST(sub_graphs_are_written_in_place) {
  static const char text[] =
    "graph { %c = input \"c\" : bool[]; %x = input \"x\" : f32[3]\n"
    "%y = if(%c, %x) {on_true=graph { %a = input \"a\" : f32[3]; %r = scan(%a) {body=graph { %s = input \"s\" : f32[]\n"
    "%t = neg(%s); output \"t\" = %t }}; output \"r\" = %r }, on_false=graph { %b = input \"b\" : f32[3]; "
    "output \"b\" = %b }}\n"
    "output \"y\" = %y }";
  rlx_graph *g;
  char *printed;
  CHECK_OK(rlx_graph_parse(text, sizeof text - 1, &g));
  CHECK_OK(rlx_graph_print(g, &printed));
  CHECK(
    strstr(printed,
           "\n  %3 = if(%1, %2) {on_true=graph {\n    %1 = input \"a\" : f32[3]\n    %2 = scan(%1) {body=graph {\n     "
           " %1 = input"));
  rlx_free(printed);
  check_round_trip(g);
}

/* A graph within a graph, n deep. */
static char *nested_text(int n) {
  rlx_str s = {0};
  for (int i = 0; i < n; i++) rlx_str_add(&s, "graph { %%x = input \"x\" : f32[1]; %%y = region(%%x) {body=");
  rlx_str_add(&s, "graph { %%x = input \"x\" : f32[1]; output \"x\" = %%x }");
  for (int i = 0; i < n; i++) rlx_str_add(&s, "}; output \"y\" = %%y }");
  char *text = NULL;
  return rlx_str_take(&s, &text) ? NULL : text;
}

TEST(nesting_is_bounded) {
  static const int depths[] = {17, 18, 1000, 100000};
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    char *text = nested_text(depths[i]);
    rlx_graph *g;
    CHECK(text != NULL);
    CHECK_FAILS(rlx_graph_parse(text, strlen(text), &g), RLX_INVALID, "expected sub-graphs nested at most 16 deep");
    CHECK(g == NULL);
    rlx_free(text);
  }
}

TEST(a_large_graph_round_trips) {
  enum { NODES = 200000 };
  rlx_graph *g;
  struct timespec from, to;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 2)), last = x;
  for (int i = 1; i < NODES; i++) last = i % 3 ? rlx_op_add(g, last, x) : rlx_op_softmax(g, last, i % 2);
  rlx_graph_add_output(g, "y", last);
  clock_gettime(CLOCK_MONOTONIC, &from);
  check_round_trip(g);
  clock_gettime(CLOCK_MONOTONIC, &to);
  CHECK((uint64_t)(to.tv_sec - from.tv_sec) < test_hang_seconds());
}

/* ---- invalid text ---- */

#define X "%x = input \"x\" : f32[2,3]\n" /* line 2 of the texts below; node 1 */

/* clang-format off */
static const struct {
  const char *text, *message;
} wrong[] = {
  {"", "line 1, column 1: expected 'graph', got 'the end'"},
  {"  \n\n# nothing", "line 3, column 10: expected 'graph', got 'the end'"},
  {"grape {", "line 1, column 1: expected 'graph', got 'grape {'"},
  {"graph", "expected '{', got 'the end'"},
  {"graph {", "line 1, column 8: expected '%', 'output', 'symbols' or '}', got 'the end'"},
  {"graph {}", "line 1: the graph has no output"},
  {"graph {\n" X "}", "line 3: the graph has no output"},
  {"graph {\n" X "output \"y\" = %x } graph", "line 3, column 19: expected the end of the text, got 'graph'"},
  {"graph {\n\x01", "line 2, column 1: expected '%', 'output', 'symbols' or '}', got 'byte 0x01'"},
  {"graph {\n\xff\xfe", "got 'byte 0xff'"},
  {"graph {\nfoo }", "line 2, column 1: expected '%', 'output'"},
  {"graph {\n% = add", "expected a node's name of at most 127 characters"},
  {"graph {\n%x input", "line 2, column 4: expected '=', got 'input'"},
  {"graph {\n%x = frobnicate(%y)", "line 2, column 6: expected the name of an op, got 'frobnicate(%y)'"},
  {"graph {\n%x = invalid()", "expected the name of an op"},
  {"graph {\n%x = input : f32[]", "expected '\"', got ': f32[]'"},
  {"graph {\n%x = input \"x\" f32[]", "line 2, column 16: expected ':', got 'f32[]'"},
  {"graph {\n%x = input \"x\" : f33[]", "line 2, column 18: expected an element type, got 'f33[]'"},
  {"graph {\n%x = input \"x\" : [2]", "expected an element type"},
  {"graph {\n%x = input \"x\" : verylongtypename12345[2]", "expected an element type"},
  {"graph {\n%x = input \"x\" : f32", "expected '[', got 'the end'"},
  {"graph {\n%x = input \"x\" : f32[2", "expected ']', got 'the end'"},
  {"graph {\n%x = input \"x\" : f32[2 3]", "line 2, column 24: expected ']', got '3]'"},
  {"graph {\n%x = input \"x\" : f32[2,]", "expected an integer of 64 bits, got ']'"},
  {"graph {\n%x = input \"x\" : f32[1,1,1,1,1,1,1,1,1]", "expected at most 8 entries"},
  {"graph {\n%x = input \"x\" : f32[9223372036854775808]", "expected an integer of 64 bits"},
  {"graph {\n%x = input \"x\" : f32[-9223372036854775808]", "expected a size"},
  {"graph {\n%x = input \"x\" : f32[0x10]", "expected an integer of 64 bits, got '0x10]'"},
  {"graph {\n%x = input \"x\" : f32[1.5]", "expected an integer of 64 bits"},
  {"graph {\n%x = input \"x\" : f32[-1]", "line 2: node 1 (input 'x'): axis 0 of [-1] is negative"},
  {"graph {\n%x = input \"x\" : f32[?]", "line 2: node 1 (input 'x'): entry 0 of shape is not a number or a symbol"},
  {"graph {\n%x = input \"x\" : f32[4611686018427387904,4]", "line 2: node 1 (input 'x'): the size of"},
  {"graph {\n%x = input \"x\" : q4_0[32]", "cannot have the block type q4_0"},
  {"graph {\n%x = input \"\" : f32[2]", "line 2: node 1 (input ''): needs a name"},
  {"graph {\n%x = input \"\xff\" : f32[2]", "name is not UTF-8"},
  {"graph {\n%x = input \"x", "expected '\"', got 'the end'"},
  {"graph {\n%x = input \"x\ny\" : f32[]", "line 2, column 14: expected the end of the string, got 'byte 0x0a'"},
  {"graph {\n%x = input \"\\q\" : f32[]", "expected an escape of JSON"},
  {"graph {\n%x = input \"\\u12\" : f32[]", "expected four hex digits"},
  {"graph {\n%x = input \"\\u0000\" : f32[]", "expected a character other than NUL and surrogates"},
  {"graph {\n%x = input \"\\ud83d\\ude00\" : f32[]", "expected a character other than NUL and surrogates"},
  {"graph {\n%x = input \"a\\", "expected an escape of JSON"},
  {"graph {\n" X "%x = neg(%x)", "line 3, column 2: expected a name that is not taken"},
  {"graph {\n" X "%y = input \"x\" : f32[]", "line 3: node 2 (input 'x'): the name 'x' is taken by node 1"},
  {"graph {\n" X "%y = neg(%z)", "line 3, column 11: expected the name of an earlier node, got 'z)'"},
  {"graph {\n" X "%y = neg(%y)", "expected the name of an earlier node"},
  {"graph {\n" X "%y = neg(x)", "line 3, column 10: expected '%', got 'x)'"},
  {"graph {\n" X "%y = neg(%x", "expected ')', got 'the end'"},
  {"graph {\n" X "%y = neg", "expected '(', got 'the end'"},
  {"graph {\n" X "%y = neg()", "line 3: node 2 (neg): takes 1 inputs, got 0"},
  {"graph {\n" X "%y = neg(_)", "line 3: node 2 (neg): input 0 (x) is missing"},
  {"graph {\n" X "%y = neg(%x, %x)", "takes at most 1 inputs, got 2"},
  {"graph {\n" X "%y = softmax(%x) {axes=1}", "line 3, column 19: expected an attribute of this op, got 'axes=1}'"},
  {"graph {\n" X "%y = softmax(%x) {}{}", "expected '%', 'output', 'symbols' or '}'"},
  {"graph {\n" X "%y = softmax(%x) {axis}", "expected '=', got '}'"},
  {"graph {\n" X "%y = softmax(%x) {axis=}", "expected an integer of 64 bits, got '}'"},
  {"graph {\n" X "%y = softmax(%x) {axis=1, axis=1}", "line 3, column 27: expected each attribute once"},
  {"graph {\n" X "%y = softmax(%x) {axis=1", "expected '}', got 'the end'"},
  {"graph {\n" X "%y = softmax(%x) {axis=7}", "line 3: node 2 (softmax): axis 7 is not in -2..1"},
  {"graph {\n" X "%y = clamp(%x) {lo=zero}", "expected a number, got 'zero}'"},
  {"graph {\n" X "%y = clamp(%x) {lo=1e5e5}", "expected a number"},
  {"graph {\n" X "%y = clamp(%x) {lo=0x1p3}", "expected a number"},
  {"graph {\n" X "%y = clamp(%x) {lo=nan}", "bounds are nan"},
  {"graph {\n" X "%y = reduce_sum(%x) {keep=1}", "expected true or false, got '1}'"},
  {"graph {\n" X "%y = reduce_sum(%x) {axes=0}", "expected '[', got '0}'"},
  {"graph {\n" X "%y = reduce_sum(%x) {axes=[N.]}", "line 3: node 2 (reduce_sum): axis must be a number, not a symbol"},
  {"graph {\n" X "%y = reduce_sum(%x) {axes=[?]}", "expected an integer of 64 bits, got '?]}'"},
  {"graph {\n" X "%y = cast(%x) {to=float}", "expected an element type, got 'float}'"},
  {"graph {\n" X "%y = pad(%x) {mode=mirror}", "line 3, column 20: expected constant reflect edge wrap, got "
   "'mirror}'"},
  {"graph {\n" X "%y = region(%x) {body=%x}", "expected 'graph', got '%x}'"},
  {"graph {\n" X "%y = region(%x)", "line 3: node 2 (region): body is missing"},
  {"graph {\n" X "%y = region(%x) {body=graph { %a = input \"a\" : f32[9]; output \"a\" = %a }}", "input 'a' of "
   "body is f32[9] but is given f32[2,3]"},
  {"graph {\n" X "%y = custom(%x) {name=\"no such op\"}", "no custom op is registered as 'no such op'"},
  {"graph {\n" X "%y = custom(%x) {name=12}", "expected '\"', got '12}'"},
  {"graph {\n" X "%y = neg(%x) : f32[3,2]", "neg is f32[2,3]: line 3, column 15: expected the type that the op "
   "gives, got ' f32[3,2]'"},
  {"graph {\n" X "%y = neg(%x) : f16[2,3]", "expected the type that the op gives"},
  {"graph {\n" X "%y = add(%x, %x) {a=1}", "expected an attribute of this op"},
  {"graph {\n%c = constant : f32[2]", "expected '=', got 'the end'"},
  {"graph {\n%c = constant {data=1} : f32[2]", "expected ':', got '{data=1}"},
  {"graph {\n%c = constant : f32[N] = [1]", "line 2: axis 0 of f32[N] is not bound to a number"},
  {"graph {\n%c = constant : f32[2] = 1", "line 2, column 26: expected '[', got '1'"},
  {"graph {\n%c = constant : f32[2] = [1]", "expected ',', got ']'"},
  {"graph {\n%c = constant : f32[2] = [1,2,3]", "expected ']', got ',3]'"},
  {"graph {\n%c = constant : i8[1] = [128]", "expected numbers that fit the type before this, got ']'"},
  {"graph {\n%c = constant : u32[1] = [-1]", "expected numbers that fit the type before this"},
  {"graph {\n%c = constant : bool[1] = [2]", "expected numbers that fit the type before this"},
  {"graph {\n%c = constant : i32[1] = [1.5]", "expected an integer of 64 bits"},
  {"graph {\n%c = constant : bool[1] = hex \"02\"", "element 0 of a bool constant is 2"},
  {"graph {\n%c = constant : i32[1] = hex \"0102\"", "expected two hex digits per byte"},
  {"graph {\n%c = constant : i8[1] = hex \"0g\"", "expected two hex digits per byte"},
  {"graph {\n%c = constant : i8[1] = hex \"0001\"", "expected '\"', got '01\"'"},
  {"graph {\n%c = constant : c64[1] = [1]", "expected hex bytes for this type"},
  {"graph {\n%c = constant : q8_0[32] = [1]", "expected hex bytes for this type"},
  {"graph {\n%c = constant : f32[1000000000000] = [1]", "expected data for the whole constant"},
  {"graph {\n%c = constant : f32[4611686018427387904] = [1]", "line 2: the bytes of f32[4611686018427387904] overflow"},
  {"graph {\n%c = constant : q8_0[33] = [1]", "line 2: the last axis"},
  {"graph {\n" X "output y = %x }", "expected '\"', got 'y = %x }'"},
  {"graph {\n" X "output \"y\" %x }", "expected '=', got '%x }'"},
  {"graph {\n" X "output \"y\" = %q }", "expected the name of an earlier node"},
  {"graph {\n" X "output \"\" = %x }", "line 3: output: needs a name"},
  {"graph {\n" X "output \"y\" = %x\noutput \"y\" = %x }", "line 4: output 'y' is named twice"},
  {"graph {\nsymbols }", "line 2: '' is not a symbol's name"},
  {"graph {\nsymbols 1a }", "line 2: '1a' is not a symbol's name"},
  {"graph {\n%s = state \"s\" : f32[2]\n%x = input \"x\" : f32[1]; %i = constant : i32[] = [0]\n%a = update(%s, "
   "%x, %i)\n%b = update(%s, %x, %i)\noutput \"y\" = %b\n}",
   "line 7: node 5 (update): node 1 is already updated by node 4"},
};
/* clang-format on */

TEST(wrong_text_is_refused_with_its_place) {
  SKIP_WITH_32_BITS();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    rlx_graph *g = (rlx_graph *)(uintptr_t)&wrong;
    rlx_status s = rlx_graph_parse(wrong[i].text, strlen(wrong[i].text), &g);
    if (s == RLX_OK) FAIL("<%s> was accepted", wrong[i].text);
    CHECK(g == NULL);
    CHECK(s == RLX_INVALID || s == RLX_NOT_FOUND);
    if (!strstr(rlx_message(), wrong[i].message))
      FAIL("<%s>: expected <%s>, got <%s>", wrong[i].text, wrong[i].message, rlx_message());
  }
}

TEST(a_long_name_is_refused) {
  char text[400] = "graph {\n%";
  memset(text + strlen(text), 'n', 128);
  strcat(text, " = input \"x\" : f32[]; output \"y\" = %x }");
  rlx_graph *g;
  CHECK_FAILS(rlx_graph_parse(text, strlen(text), &g), RLX_INVALID, "expected a node's name of at most 127 characters");
}

TEST(null_pointers_are_refused) {
  rlx_graph *g = NULL;
  char *text = (char *)(uintptr_t) "kept";
  CHECK_FAILS(rlx_graph_parse(NULL, 3, &g), RLX_INVALID, "rlx_graph_parse: text is NULL");
  CHECK_FAILS(rlx_graph_parse("graph", 5, NULL), RLX_INVALID, "rlx_graph_parse: out is NULL");
  CHECK_FAILS(rlx_graph_print(NULL, &text), RLX_INVALID, "rlx_graph_print: the graph is NULL");
  CHECK(text == NULL);
  CHECK_OK(rlx_graph_create(&g));
  CHECK_FAILS(rlx_graph_print(g, NULL), RLX_INVALID, "rlx_graph_print: text is NULL");
  CHECK_OK(rlx_graph_print(g, &text)); /* an unfinished graph can be printed */
  CHECK_EQ_STR(text, "graph {\n}\n");
  rlx_free(text);
  rlx_graph_destroy(g);
}

/* ---- hostile text ---- */

/* One of everything, to cut and to mutate. */
static const char sample[] = "graph {\n"
                             "  symbols B, S\n"
                             "  %1 = input \"x\" : f32[B,4]\n"
                             "  %2 = param \"w\\n\" : q8_0[4,32]\n"
                             "  %3 = constant : f32[4] = [0, -0, inf, 1e-45]\n"
                             "  %4 = constant : f16[20] = hex "
                             "\"00010203040506070809000102030405060708090001020304050607080900010203040506070809\"\n"
                             "  %5 = add(%1, %3) : f32[B,4]\n"
                             "  %6 = softmax(%5) {axis=0} : f32[B,4]\n"
                             "  %7 = pad(%6) {lo=[0,1], hi=[0,2], mode=reflect, value=-1.5} : f32[B,7]\n"
                             "  %8 = range() {start=1, step=0.5, count=[S], to=f32} : f32[S]\n"
                             "  %9 = scan(%5, %3) {body=graph {\n"
                             "    %1 = input \"r\" : f32[4]\n"
                             "    %2 = input \"c\" : f32[4]\n"
                             "    %3 = mul(%1, %2) : f32[4]\n"
                             "    output \"p\" = %3\n"
                             "  }} : f32[B,4]\n"
                             "  %10 = layer_norm(%9, _, %3) {eps=0.001} : f32[B,4]\n"
                             "  %11 = reduce_sum(%10) {axes=[0,1], keep=true} : f32[1,1]\n"
                             "  output \"y\" = %11\n"
                             "  output \"z\" = %7\n"
                             "}\n";

TEST(text_cut_anywhere_is_refused) {
  rlx_graph *g;
  size_t n = sizeof sample - 1, whole = strlen("}\n");
  CHECK_OK(rlx_graph_parse(sample, n, &g));
  check_round_trip(g);
  for (size_t cut = 0; cut <= n - whole; cut++) {
    char *copy = malloc(cut ? cut : 1); /* of exactly this size, so that sanitizers detect a read past its end */
    CHECK(copy != NULL);
    memcpy(copy, sample, cut);
    rlx_status s = rlx_graph_parse(copy, cut, &g);
    free(copy);
    if (s != RLX_INVALID) FAIL("cut at %zu: %s", cut, rlx_status_name(s));
    CHECK(g == NULL);
  }
}

/* Mutates a few bytes: replaces them, copies parts of the text over others, removes or duplicates parts. */
static size_t mutate(char *text, size_t n, size_t cap, uint64_t *state) {
  static const char likely[] = "%{}[]()=,:;\"#_-?0123456789.eN\\\n\0\xff";
  for (uint64_t k = 1 + rlx_random_next(state) % 4; k > 0 && n > 0; k--) {
    size_t at = rlx_random_next(state) % n, from = rlx_random_next(state) % n, length = 1 + rlx_random_next(state) % 12;
    switch (rlx_random_next(state) % 5) {
      case 0: text[at] = (char)rlx_random_next(state); break;
      case 1: text[at] = likely[rlx_random_next(state) % sizeof likely]; break;
      case 2: /* remove */
        if (length > n - at) length = n - at;
        memmove(text + at, text + at + length, n - at - length);
        n -= length;
        break;
      case 3: /* copy over */
        if (length > n - at) length = n - at;
        if (length > n - from) length = n - from;
        memmove(text + at, text + from, length);
        break;
      default: /* insert a copy */
        if (length > n - from) length = n - from;
        if (n + length > cap) break;
        char piece[12];
        memcpy(piece, text + from, length);
        memmove(text + at + length, text + at, n - at);
        memcpy(text + at, piece, length);
        n += length;
    }
  }
  return n;
}

TEST(mutated_text_never_crashes) {
  enum { ROUNDS = 30000 };
  uint64_t state = 20240607;
  size_t accepted = 0, cap = sizeof sample + 64;
  char *text = malloc(cap);
  CHECK(text != NULL);
  for (int round = 0; round < ROUNDS; round++) {
    memcpy(text, sample, sizeof sample - 1);
    size_t n = mutate(text, sizeof sample - 1, cap, &state);
    char *exact = malloc(n ? n : 1);
    CHECK(exact != NULL);
    memcpy(exact, text, n);
    rlx_graph *g;
    rlx_status s = rlx_graph_parse(exact, n, &g);
    free(exact);
    if (s == RLX_OK) {
      accepted++;
      s = graph_round_trip(g);
      rlx_graph_destroy(g);
      if (s) FAIL("round %d: %s", round, rlx_message());
    } else {
      if (g != NULL || !rlx_message()[0]) FAIL("round %d: a failure with a graph or without words", round);
      if (s != RLX_INVALID && s != RLX_NOT_FOUND) FAIL("round %d: %s: %s", round, rlx_status_name(s), rlx_message());
    }
  }
  free(text);
  CHECK(accepted > ROUNDS / 100); /* the mutation leaves enough valid text */
}

/* ---- failing allocations ---- */

static rlx_status parse_and_print(void *user) {
  (void)user;
  rlx_graph *g;
  char *text;
  RLX_TRY(rlx_graph_parse(sample, sizeof sample - 1, &g));
  rlx_status s = rlx_graph_print(g, &text);
  rlx_free(text);
  rlx_graph_destroy(g);
  return s;
}

TEST(parsing_survives_failing_allocations) { CHECK_OK(alloc_sweep(parse_and_print, NULL)); }

static rlx_status parse_wrong(void *user) {
  rlx_graph *g;
  const char *text = user;
  rlx_status s = rlx_graph_parse(text, strlen(text), &g);
  return s == RLX_INVALID || s == RLX_NOT_FOUND ? RLX_OK : s ? s : RLX_INVALID;
}

TEST(refusing_survives_failing_allocations) {
  for (size_t i = 2; i < sizeof wrong / sizeof *wrong; i += 3)
    CHECK_OK(alloc_sweep(parse_wrong, (void *)(uintptr_t)wrong[i].text));
}
