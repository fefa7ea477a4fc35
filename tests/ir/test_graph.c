/* Graphs under invalid calls: each entry of the bad-input catalogue that concerns a graph, its builder, its verifier or
 * its binding, with the expected status and message. Text and evaluation have their own files. */
#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "faults.h"
#include "ir/graph.h"

/* ---- helpers ---- */

/* Runs `calls` on a new graph g that has the inputs x f32[2,3], i i32[2] and b bool[], then expects this error. */
#define GRAPH_FAILS(calls, code, part)                          \
  do {                                                          \
    rlx_graph *g;                                               \
    CHECK_OK(rlx_graph_create(&g));                             \
    rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3)); \
    rlx_node i = rlx_op_input(g, "i", RLX_I32, RLX_DIMS(2));    \
    rlx_node b = rlx_op_input(g, "b", RLX_BOOL, RLX_SCALAR);    \
    (void)x, (void)i, (void)b;                                  \
    calls;                                                      \
    rlx_status fails_status_ = rlx_graph_finish(g);             \
    rlx_graph_destroy(g);                                       \
    CHECK_FAILS(fails_status_, (code), (part));                 \
  } while (0)
#define INVALID(calls, part) GRAPH_FAILS(calls, RLX_INVALID, part)

/* A finished graph y = exp(x) over f32 of this shape; NULL on failure. */
static rlx_graph *make_exp(rlx_dims shape) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return NULL;
  rlx_graph_add_output(g, "y", rlx_op_exp(g, rlx_op_input(g, "x", RLX_F32, shape)));
  if (rlx_graph_finish(g) == RLX_OK) return g;
  rlx_graph_destroy(g);
  return NULL;
}

static rlx_dims rank_of(int32_t n) {
  rlx_dims d = {.n = n};
  for (int i = 0; i < RLX_MAX_RANK; i++) d.v[i] = 1;
  return d;
}

/* ---- pointers ---- */

TEST(null_pointers_are_refused) {
  rlx_graph *g = make_exp(RLX_DIMS(2)), *out = g;
  CHECK(g != NULL);
  CHECK_FAILS(rlx_graph_create(NULL), RLX_INVALID, "rlx_graph_create: out is NULL");
  CHECK_FAILS(rlx_graph_finish(NULL), RLX_INVALID, "the graph is NULL");
  CHECK_FAILS(rlx_graph_status(NULL), RLX_INVALID, "the graph is NULL");
  CHECK_FAILS(rlx_graph_verify(NULL), RLX_INVALID, "rlx_graph_verify: the graph is NULL");
  CHECK_FAILS(rlx_graph_bind(NULL, NULL, 0, &out), RLX_INVALID, "rlx_graph_bind: the graph is NULL");
  CHECK(out == NULL);
  CHECK_FAILS(rlx_graph_bind(g, NULL, 0, NULL), RLX_INVALID, "rlx_graph_bind: out is NULL");
  CHECK_FAILS(rlx_graph_bind(g, NULL, 1, &out), RLX_INVALID, "rlx_graph_bind: bindings is NULL");
  CHECK_FAILS(rlx_graph_bind(g, &(rlx_binding){NULL, 1}, 1, &out), RLX_INVALID, "symbol is NULL");
  CHECK_FAILS(rlx_graph_bind_inputs(NULL, NULL, 0, &out), RLX_INVALID, "rlx_graph_bind_inputs: the graph is NULL");
  CHECK_FAILS(rlx_graph_bind_inputs(g, NULL, 0, NULL), RLX_INVALID, "rlx_graph_bind_inputs: out is NULL");
  CHECK_FAILS(rlx_graph_bind_inputs(g, NULL, 2, &out), RLX_INVALID, "rlx_graph_bind_inputs: inputs is NULL");
  CHECK_FAILS(rlx_graph_bind_inputs(g, &(rlx_named_shape){NULL, RLX_DIMS(2)}, 1, &out), RLX_NOT_FOUND, "'NULL'");
  CHECK_FAILS(rlx_tensor_bytes(RLX_F32, RLX_SCALAR, NULL), RLX_INVALID, "bytes is NULL");
  rlx_graph_destroy(g);
  rlx_graph_destroy(NULL);
  rlx_free(NULL);
}

TEST(names_may_not_be_null_or_empty) {
  INVALID(rlx_op_input(g, NULL, RLX_F32, RLX_SCALAR), "node 4 (input): needs a name");
  INVALID(rlx_op_param(g, "", RLX_F32, RLX_SCALAR), "needs a name");
  INVALID(rlx_op_state(g, "\xff", RLX_F32, RLX_SCALAR), "name is not UTF-8");
  INVALID(rlx_graph_add_output(g, NULL, x), "output: needs a name");
  INVALID(rlx_graph_add_output(g, "", x), "output: needs a name");
  INVALID(rlx_graph_add_output(g, "\xc3\x28", x), "needs a name in UTF-8");
  INVALID(rlx_op_custom(g, NULL, NULL, &x, 1), "(custom): needs the name of a registered op");
  GRAPH_FAILS(rlx_op_custom(g, "nobody", NULL, &x, 1), RLX_NOT_FOUND, "no custom op is registered as 'nobody'");
  INVALID(rlx_op_custom(g, "nobody", "\x80", &x, 1), "config is not UTF-8");
}

TEST(looking_at_nothing_gives_nothing) {
  rlx_graph *g = make_exp(RLX_DIMS(2));
  const char *name = "kept";
  CHECK(g != NULL);
  const rlx_node bad[] = {0, 3, 77, UINT32_MAX};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    CHECK(rlx_node_op(g, bad[k]) == NULL);
    CHECK_EQ_INT(rlx_node_input_count(g, bad[k]), 0);
    CHECK_EQ_INT(rlx_node_input_at(g, bad[k], 0), 0);
    CHECK_EQ_INT(rlx_node_dtype(g, bad[k]), RLX_DTYPE_UNKNOWN);
    CHECK_EQ_INT(rlx_node_shape(g, bad[k]).n, 0);
    CHECK(rlx_node_name(g, bad[k]) == NULL);
  }
  CHECK_EQ_INT(rlx_node_input_count(g, 2), 1);
  CHECK_EQ_INT((uint32_t)rlx_node_input_at(g, 2, 0), 1);
  CHECK_EQ_INT(rlx_node_input_at(g, 2, 1), 0);
  CHECK(rlx_node_name(g, 2) == NULL);
  CHECK_EQ_STR(rlx_node_name(g, 1), "x");
  CHECK_EQ_INT(rlx_graph_output_at(g, 1, &name), 0);
  CHECK(name == NULL);
  CHECK_EQ_INT(rlx_graph_find(g, "y"), 0); /* an output's name is not a leaf's */
  CHECK_EQ_INT(rlx_graph_find(g, NULL), 0);
  CHECK_EQ_INT(
    rlx_graph_size(NULL) + rlx_graph_output_count(NULL) + rlx_graph_symbol_count(NULL) + rlx_graph_find(NULL, "x"), 0);
  CHECK(rlx_node_op(NULL, 1) == NULL && rlx_node_name(NULL, 1) == NULL && rlx_graph_symbol_at(NULL, 0) == NULL);
  CHECK_EQ_INT(rlx_node_dtype(NULL, 1), RLX_DTYPE_UNKNOWN);
  CHECK_EQ_INT(rlx_graph_output_at(NULL, 0, &name), 0);
  CHECK(rlx_graph_same(NULL, NULL) && !rlx_graph_same(g, NULL) && rlx_graph_same(g, g));
  rlx_graph_destroy(g);
}

/* ---- shapes ---- */

TEST(ranks_out_of_range_are_refused) {
  INVALID(rlx_op_input(g, "y", RLX_F32, rank_of(9)), "(input 'y'): shape has 9 entries; rank is 0..8");
  INVALID(rlx_op_input(g, "y", RLX_F32, rank_of(-1)), "shape has -1 entries");
  INVALID(rlx_op_reshape(g, x, rank_of(INT32_MAX)), "shape has 2147483647 entries");
  INVALID(rlx_op_reduce_sum(g, x, rank_of(9), false), "axes has 9 entries");
  INVALID(rlx_op_resize(g, x, rank_of(2), &(rlx_op_resize_desc){RLX_OP_RESIZE_DESC_INIT, .scale = {.n = 9}}),
          "scale has 9 entries");
  INVALID(rlx_op_one_hot(g, rlx_op_input(g, "k", RLX_I32, rank_of(8)), 2, -1, 1, 0, RLX_F32), "(one_hot)");
  INVALID(rlx_op_view_as_real(g, rlx_op_input(g, "c", RLX_C64, rank_of(8))), "(view_as_real)");
  INVALID(rlx_op_gather(g, rlx_op_input(g, "y", RLX_F32, rank_of(8)), rlx_op_input(g, "k", RLX_I32, rank_of(2)), 0),
          "(gather)");
  INVALID(
    rlx_op_dot_general(g, rlx_op_input(g, "y", RLX_F32, rank_of(5)), rlx_op_input(g, "z", RLX_F32, rank_of(5)), NULL),
    "(dot_general)");
  size_t bytes = 7;
  CHECK_FAILS(rlx_tensor_bytes(RLX_F32, rank_of(9), &bytes), RLX_INVALID, "rank 9 is not in 0..8");
  CHECK_EQ_INT(bytes, 0);
}

TEST(rank_8_is_fine) {
  rlx_graph *g = make_exp(rank_of(8));
  CHECK(g != NULL);
  CHECK_EQ_INT(rlx_node_shape(g, 2).n, 8);
  rlx_graph_destroy(g);
}

TEST(sizes_out_of_range_are_refused) {
  size_t bytes;
  INVALID(rlx_op_input(g, "y", RLX_F32, RLX_DIMS(2, -1)), "(input 'y'): axis 1 of [2,-1] is negative");
  INVALID(rlx_op_input(g, "y", RLX_F32, RLX_DIMS(INT64_MIN)), "entry 0 of shape is not a number or a symbol");
  INVALID(rlx_op_input(g, "y", RLX_F32, RLX_DIMS(INT64_MIN + 1)), "entry 0 of shape is not a number or a symbol");
  INVALID(rlx_op_input(g, "y", RLX_F32, RLX_DIMS(INT64_MAX, 3)), "overflow");
  INVALID(rlx_op_input(g, "y", RLX_F64, RLX_DIMS((int64_t)1 << 62)), "overflow");
  INVALID(rlx_op_param(g, "y", RLX_Q8_0, RLX_DIMS(31)), "not a multiple of the block of 32");
  INVALID(rlx_op_param(g, "y", RLX_Q4_K, RLX_DIMS(INT64_MAX, 256)), "overflow");
  INVALID(rlx_op_expand(g, x, RLX_DIMS((int64_t)1 << 40, (int64_t)1 << 40, 2, 3)), "overflow");
  INVALID(rlx_op_tile(g, x, RLX_DIMS(INT64_MAX, INT64_MAX)), "(tile)");
  INVALID(rlx_op_pad(g, x, RLX_DIMS(INT64_MAX, 0), RLX_DIMS(INT64_MAX, 0), RLX_PAD_CONSTANT, 0), "(pad)");
  INVALID(rlx_op_pad(g, x, RLX_DIMS(-1, 0), RLX_DIMS(0, 0), RLX_PAD_CONSTANT, 0), "(pad)");
  INVALID(rlx_op_range(g, 0, 1, -3, RLX_I32), "(range)");
  INVALID(rlx_op_range(g, 0, 1, INT64_MAX, RLX_I32), "overflow");
  INVALID(rlx_op_one_hot(g, i, INT64_MAX, -1, 1, 0, RLX_F32), "overflow");
  INVALID(rlx_op_rng_uniform(g, RLX_NONE, RLX_DIMS(INT64_MAX, INT64_MAX), RLX_F32, 0, 0, 1), "overflow");
  INVALID(rlx_op_conv(g, rlx_op_input(g, "im", RLX_F32, RLX_DIMS(1, 1, 4, 4)),
                      rlx_op_input(g, "k", RLX_F32, RLX_DIMS(1, 1, 3, 3)), RLX_NONE,
                      &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(INT64_MAX, INT64_MAX),
                                          .pad_hi = RLX_DIMS(INT64_MAX, INT64_MAX)}),
          "(conv)");
  INVALID(rlx_op_slice(g, x,
                       &(rlx_op_slice_desc){RLX_OP_SLICE_DESC_INIT, .start = RLX_DIMS(0), .stop = RLX_DIMS(1),
                                            .step = RLX_DIMS(0)}),
          "step of axis 0 is 0");
  CHECK_FAILS(rlx_tensor_bytes(RLX_F32, RLX_DIMS(-1), &bytes), RLX_INVALID, "axis 0 of f32[-1] is negative");
}

TEST(size_0_is_fine) {
  rlx_graph *g;
  size_t bytes = 7;
  CHECK_OK(rlx_tensor_bytes(RLX_F32, RLX_DIMS(3, 0, 5), &bytes));
  CHECK_EQ_INT(bytes, 0);
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(0, 3)), none = rlx_op_constant(g, RLX_I64, RLX_DIMS(0), NULL, 0);
  rlx_graph_add_output(g, "sum", rlx_op_reduce_sum(g, x, RLX_DIMS(0), false));
  rlx_graph_add_output(g, "rows", rlx_op_gather(g, x, none, 1));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_EQ_INT(rlx_node_shape(g, rlx_graph_output_at(g, 0, NULL)).v[0], 3);
  rlx_graph_destroy(g);
}

/* ---- types, enums, nodes ---- */

TEST(wrong_types_are_refused) {
  INVALID(rlx_op_add(g, x, i), "(add): input 1 (b) is i32 but must be f32");
  INVALID(rlx_op_exp(g, i), "(exp): does not take i32");
  INVALID(rlx_op_where(g, x, x, x), "input 0 (c) is f32 but must be bool");
  INVALID(rlx_op_gather(g, x, x, 0), "input 1 (idx) is f32 but must be i32 or i64");
  INVALID(rlx_op_and(g, x, x), "does not take f32");
  INVALID(rlx_op_input(g, "y", RLX_Q4_0, RLX_DIMS(32)), "cannot have the block type q4_0");
  INVALID(
    rlx_op_matmul(g, rlx_op_input(g, "h", RLX_F16, RLX_DIMS(2, 32)), rlx_op_param(g, "q", RLX_Q4_0, RLX_DIMS(32, 32))),
    "input 1 (b) is q4_0 but must be f16");
  INVALID(rlx_op_input(g, "y", (rlx_dtype)99, RLX_SCALAR), "dtype is the unknown dtype 99");
  INVALID(rlx_op_input(g, "y", (rlx_dtype)-1, RLX_SCALAR), "unknown dtype");
  INVALID(rlx_op_input(g, "y", RLX_DTYPE_UNKNOWN, RLX_SCALAR), "unknown dtype");
  INVALID(rlx_op_cast(g, x, (rlx_dtype)1000), "to is the unknown dtype 1000");
  INVALID(rlx_op_cast(g, x, RLX_Q8_0), "cannot encode to the block type q8_0");
  INVALID(rlx_op_argmax(g, x, 0, false, RLX_F32), "gives i64 or i32, not f32");
  INVALID(rlx_op_rng_uniform(g, RLX_NONE, RLX_DIMS(2), RLX_I32, 0, 0, 1), "(rng_uniform)");
}

TEST(unknown_enum_values_are_refused) {
  INVALID(rlx_op_pad(g, x, RLX_DIMS(0, 0), RLX_DIMS(0, 0), (rlx_pad_mode)4, 0),
          "mode is 4, not one of: constant reflect edge wrap");
  INVALID(rlx_op_pad(g, x, RLX_DIMS(0, 0), RLX_DIMS(0, 0), (rlx_pad_mode)-1, 0), "mode is -1");
  INVALID(rlx_op_rope(g, x, &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .layout = (rlx_layout)2}),
          "layout is 2, not one of: bshd bhsd");
  INVALID(rlx_op_fft(g, x, 0, 0, (rlx_fft_norm)3), "norm is 3");
  INVALID(rlx_op_fused_swiglu(g, x, x, (rlx_act)1000), "act is 1000");
  INVALID(rlx_op_scatter_nd(g, x, i, x, (rlx_scatter)9), "reduction is 9");
}

TEST(nodes_that_do_not_exist_are_refused) {
  INVALID(rlx_op_add(g, x, x + 99), "(add): input 1 is node 100, but this graph has only 3");
  INVALID(rlx_op_add(g, x | UINT32_MAX, x), "input 0 is node 4294967295, but");
  INVALID(rlx_op_add(g, x, 99), "(add): input 1 is node 99 of another graph");
  INVALID(rlx_op_exp(g, RLX_NONE), "(exp): input 0 (x) is missing");
  INVALID(rlx_op_add(g, x, RLX_NONE), "(add): input 1 (b) is missing");
  INVALID(rlx_graph_add_output(g, "y", RLX_NONE), "output 'y': node 0 does not exist");
  INVALID(rlx_graph_add_output(g, "y", x + 98), "output 'y': node 99 does not exist");
  INVALID(rlx_op_concat(g, ((const rlx_node[]){x, RLX_NONE}), 2, 0), "input 1 (xs) is missing");
  INVALID(rlx_graph_add(g, (rlx_op)-1, NULL, 0, NULL), "unknown op -1");
  INVALID(rlx_graph_add(g, RLX_OP_COUNT, NULL, 0, NULL), "unknown op");
  INVALID(rlx_graph_add(g, RLX_OP_add, &x, 1, NULL), "takes 2 inputs, got 1");
  INVALID(rlx_graph_add(g, RLX_OP_exp, ((const rlx_node[]){x, x}), 2, NULL), "takes at most 1 inputs, got 2");
  INVALID(rlx_graph_add(g, RLX_OP_exp, NULL, 1, NULL), "has 1 inputs but the list is NULL");
}

TEST(axes_out_of_range_are_refused) {
  INVALID(rlx_op_softmax(g, x, 2), "axis 2 is not in -2..1");
  INVALID(rlx_op_softmax(g, x, INT64_MIN), "(softmax): axis");
  INVALID(rlx_op_softmax(g, b, 0), "(softmax)");
  INVALID(rlx_op_reduce_sum(g, x, RLX_DIMS(0, -2), false), "axis 0 is named twice");
  INVALID(rlx_op_transpose(g, x, RLX_DIMS(0, 0)), "(transpose)");
  INVALID(rlx_op_reshape(g, x, RLX_DIMS(-1, -1)), "(reshape)");
  INVALID(rlx_op_reshape(g, x, RLX_DIMS(4)), "(reshape)");
}

/* ---- names ---- */

TEST(repeated_names_are_refused) {
  INVALID(rlx_op_input(g, "x", RLX_F32, RLX_SCALAR), "node 4 (input 'x'): the name 'x' is taken by node 1 (input)");
  INVALID(rlx_op_param(g, "x", RLX_F32, RLX_SCALAR), "(param 'x'): the name 'x' is taken");
  INVALID(rlx_op_state(g, "b", RLX_F32, RLX_SCALAR), "(state 'b'): the name 'b' is taken by node 3");
  INVALID((rlx_graph_add_output(g, "y", x), rlx_graph_add_output(g, "y", x)), "output 'y' is named twice");
}

TEST(an_output_may_share_a_leafs_name) {
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_SCALAR);
  rlx_graph_add_output(g, "x", x);
  rlx_graph_add_output(g, "again", x);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_EQ_INT(rlx_graph_output_count(g), 2);
  rlx_graph_destroy(g);
}

/* ---- the life of a graph ---- */

TEST(a_graph_needs_an_output) {
  INVALID((void)0, "the graph has no output");
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  CHECK_EQ_INT(rlx_graph_size(g), 0);
  CHECK_OK(rlx_graph_status(g));
  CHECK_FAILS(rlx_graph_finish(g), RLX_INVALID, "the graph has no output");
  CHECK_FAILS(rlx_graph_finish(g), RLX_INVALID, "the graph has no output");
  rlx_graph_destroy(g);
}

TEST(a_finished_graph_does_not_grow) {
  rlx_graph *g = make_exp(RLX_DIMS(2));
  CHECK(g != NULL);
  CHECK_OK(rlx_graph_finish(g)); /* finishing twice is allowed */
  CHECK_EQ_INT(rlx_op_neg(g, 1), RLX_NONE);
  CHECK_EQ_INT(rlx_graph_size(g), 2);
  CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "neg: the graph is finished");
  rlx_graph_destroy(g);
  g = make_exp(RLX_DIMS(2));
  rlx_graph_add_output(g, "z", 1);
  CHECK_EQ_INT(rlx_graph_output_count(g), 1);
  CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "output: the graph is finished");
  rlx_graph_destroy(g);
  g = make_exp(RLX_DIMS(2));
  rlx_graph_add_symbol(g, "B");
  CHECK_EQ_INT(rlx_graph_symbol_count(g), 0);
  CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "symbol: the graph is finished");
  rlx_graph_destroy(g);
}

TEST(an_unfinished_graph_is_not_used) {
  rlx_graph *g, *out;
  rlx_evaluator *e;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_SCALAR);
  rlx_graph_add_output(g, "y", x);
  CHECK_FAILS(rlx_graph_bind(g, NULL, 0, &out), RLX_INVALID, "rlx_graph_bind: the graph is not finished");
  CHECK_FAILS(rlx_graph_bind_inputs(g, NULL, 0, &out), RLX_INVALID, "the graph is not finished");
  CHECK_FAILS(rlx_evaluator_create(g, &e), RLX_INVALID, "the graph is not finished");
  CHECK(e == NULL && out == NULL);
  rlx_graph *outer;
  CHECK_OK(rlx_graph_create(&outer));
  rlx_node o = rlx_op_input(outer, "o", RLX_F32, RLX_SCALAR), yes = rlx_op_input(outer, "yes", RLX_BOOL, RLX_SCALAR);
  CHECK_EQ_INT(rlx_op_if(outer, yes, g, g, &o, 1, NULL, 0), RLX_NONE);
  CHECK_FAILS(rlx_graph_status(outer), RLX_INVALID, "(if): on_true is not a finished graph");
  rlx_graph_destroy(outer);
  rlx_graph_destroy(g);
}

TEST(the_first_error_is_the_one_reported) {
  INVALID((rlx_op_add(g, x, i), rlx_op_softmax(g, x, 9), rlx_graph_add_output(g, "", x)), "node 4 (add)");
}

TEST(the_verifier_sees_what_was_changed_by_hand) {
  rlx_graph *g = make_exp(RLX_DIMS(2, 3));
  CHECK(g != NULL);
  CHECK_OK(rlx_graph_verify(g));
  rlx_node_rec *n = &g->nodes.v[2];
  n->type.shape.v[0] = 7;
  CHECK_FAILS(rlx_graph_verify(g), RLX_INVALID, "node 2 (exp): is f32[7,3] but its inputs give f32[2,3]");
  n->type.shape.v[0] = 2;
  n->type.dtype = RLX_F16;
  CHECK_FAILS(rlx_graph_verify(g), RLX_INVALID, "is f16[2,3] but");
  n->type.dtype = RLX_F32;
  rlx_node self = 2;
  const rlx_node *in = n->in;
  n->in = &self;
  CHECK_FAILS(rlx_graph_verify(g), RLX_INVALID, "input 0 is node 2, which is not earlier");
  n->in = in;
  g->outputs.v[0].node = 99;
  CHECK_FAILS(rlx_graph_verify(g), RLX_INVALID, "output 'y' is node 99, which does not exist");
  g->outputs.v[0].node = 2;
  CHECK_OK(rlx_graph_verify(g));
  rlx_graph_destroy(g);
}

/* ---- states ---- */

TEST(a_state_is_updated_along_one_chain) {
  INVALID(
    rlx_graph_add_output(
      g, "a", rlx_op_update(g, rlx_op_state(g, "s", RLX_F32, RLX_DIMS(2, 3)), x, rlx_op_scalar(g, RLX_I32, 0), 0));
    rlx_op_update(g, rlx_graph_find(g, "s"), x, rlx_op_scalar(g, RLX_I32, 0), 0),
    "is already updated by node 6; update that one's result instead");
  INVALID((rlx_graph_add_output(g, "y", rlx_op_update(g, x, x, rlx_op_scalar(g, RLX_I32, 0), 0))),
          "its first input is node 1 (input), not a state or an update of one");
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node s = rlx_op_state(g, "s", RLX_F32, RLX_DIMS(2, 3)), row = rlx_op_input(g, "row", RLX_F32, RLX_DIMS(1, 3));
  rlx_node first = rlx_op_update(g, s, row, rlx_op_scalar(g, RLX_I32, 0), 0);
  rlx_graph_add_output(g, "y", rlx_op_update(g, first, row, rlx_op_scalar(g, RLX_I32, 1), 0));
  CHECK_OK(rlx_graph_finish(g));
  rlx_graph_destroy(g);
}

/* ---- symbols ---- */

TEST(messages_name_symbols) {
  INVALID(rlx_op_add(g, rlx_op_input(g, "left", RLX_F32, RLX_DIMS(rlx_graph_add_symbol(g, "Batch"), 3)),
                     rlx_op_input(g, "right", RLX_F32, RLX_DIMS(rlx_graph_add_symbol(g, "Batch"), 4))),
          "shapes [Batch,3] and [Batch,4] do not broadcast");
}

TEST(symbols_have_proper_names) {
  INVALID(rlx_graph_add_symbol(g, NULL), "'NULL' is not a symbol's name");
  INVALID(rlx_graph_add_symbol(g, ""), "'' is not a symbol's name");
  INVALID(rlx_graph_add_symbol(g, "2B"), "'2B' is not a symbol's name");
  INVALID(rlx_graph_add_symbol(g, ".b"), "'.b' is not a symbol's name");
  INVALID(rlx_graph_add_symbol(g, "a-b"), "is not a symbol's name");
  INVALID(rlx_graph_add_symbol(g, "0123456789012345678901234567890123456789012345678901234567890123"),
          "is not a symbol's name");
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  CHECK_EQ_INT(rlx_graph_add_symbol(g, "B"), rlx_graph_add_symbol(g, "B"));
  CHECK(rlx_graph_add_symbol(g, "S.1_x") != rlx_graph_add_symbol(g, "B"));
  CHECK_EQ_INT(rlx_graph_symbol_count(g), 2);
  CHECK_EQ_STR(rlx_graph_symbol_at(g, 1), "S.1_x");
  CHECK(rlx_graph_symbol_at(g, 2) == NULL);
  char name[16];
  for (int i = 0; i < 4096; i++) {
    snprintf(name, sizeof name, "s%d", i);
    rlx_graph_add_symbol(g, name);
  }
  CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "a graph has at most 4096");
  rlx_graph_destroy(g);
}

/* x [B, S] + v [S], in a loop over the rows that adds v again; S and B open. */
static rlx_graph *make_template(void) {
  rlx_graph *g, *body;
  if (rlx_graph_create(&g)) return NULL;
  if (rlx_graph_create(&body)) {
    rlx_graph_destroy(g);
    return NULL;
  }
  int64_t s = rlx_graph_add_symbol(body, "S");
  rlx_node row = rlx_op_input(body, "row", RLX_F32, RLX_DIMS(s)),
           more = rlx_op_input(body, "more", RLX_F32, RLX_DIMS(s));
  rlx_graph_add_output(body, "y", rlx_op_add(body, row, more));
  int64_t outer_b = rlx_graph_add_symbol(g, "B"), outer_s = rlx_graph_add_symbol(g, "S");
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(outer_b, outer_s)),
           v = rlx_op_input(g, "v", RLX_F32, RLX_DIMS(outer_s));
  if (rlx_graph_finish(body) == RLX_OK)
    rlx_graph_add_output(g, "y",
                         rlx_op_scan(g, body, 0, 1, false, ((const rlx_node[]){rlx_op_add(g, x, v), v}), 2, NULL, 0));
  rlx_graph_add_output(g, "double", rlx_op_concat(g, ((const rlx_node[]){x, x}), 2, 0));
  if (rlx_graph_finish(g)) {
    rlx_graph_destroy(g);
    g = NULL;
  }
  rlx_graph_destroy(body);
  return g;
}

TEST(a_template_binds_to_numbers) {
  rlx_graph *g = make_template(), *out;
  CHECK(g != NULL);
  rlx_node y = rlx_graph_output_at(g, 0, NULL), twice = rlx_graph_output_at(g, 1, NULL);
  CHECK_EQ_INT(rlx_node_shape(g, y).v[1],
               rlx_node_shape(g, rlx_graph_find(g, "v")).v[0]); /* the symbol S, not unknown */
  CHECK_OK(rlx_graph_bind(g, ((const rlx_binding[]){{"S", 3}, {"B", 2}}), 2, &out));
  CHECK_EQ_INT(rlx_graph_size(out), rlx_graph_size(g));
  CHECK_EQ_INT(rlx_graph_symbol_count(out), 0);
  CHECK_EQ_INT(rlx_node_shape(out, (uint32_t)y).v[0], 2); /* of the same number */
  CHECK_EQ_INT(rlx_node_shape(out, (uint32_t)y).v[1], 3);
  CHECK_EQ_INT(rlx_node_shape(out, (uint32_t)twice).v[0], 4);
  rlx_graph *again;
  CHECK_OK(rlx_graph_bind(out, NULL, 0, &again)); /* a graph of numbers binds to itself */
  CHECK(rlx_graph_same(out, again) && !rlx_graph_same(out, g));
  rlx_graph_destroy(again);
  rlx_graph_destroy(out);
  CHECK_OK(rlx_graph_bind_inputs(g, ((const rlx_named_shape[]){{"x", RLX_DIMS(0, 3)}, {"v", RLX_DIMS(3)}}), 2, &out));
  CHECK_EQ_INT(rlx_node_shape(out, y).v[0], 0);
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
}

TEST(wrong_bindings_name_the_symbol) {
  rlx_graph *g = make_template(), *out;
  CHECK(g != NULL);
#define BIND(...)                                         \
  rlx_graph_bind(g, ((const rlx_binding[]){__VA_ARGS__}), \
                 sizeof((const rlx_binding[]){__VA_ARGS__}) / sizeof(rlx_binding), &out)
  CHECK_FAILS(BIND({"B", 2}), RLX_INVALID, "symbol 'S' is not bound");
  CHECK_FAILS(BIND({"B", 2}, {"S", 3}, {"B", 2}), RLX_INVALID, "symbol 'B' is bound twice");
  CHECK_FAILS(BIND({"B", 2}, {"S", 3}, {"T", 2}), RLX_NOT_FOUND, "the graph has no symbol 'T'");
  CHECK_FAILS(BIND({"B", -2}, {"S", 3}), RLX_INVALID, "symbol 'B' is bound to the negative size -2");
  CHECK_FAILS(BIND({"B", INT64_MAX}, {"S", INT64_MAX}), RLX_INVALID, "overflow");
  CHECK_FAILS(BIND({"B", INT64_MIN + 1}, {"S", 1}), RLX_INVALID, "negative size");
  CHECK_FAILS(rlx_graph_bind(g, NULL, 0, &out), RLX_INVALID, "symbol 'B' is not bound");
#undef BIND
#define SHAPES(...)                                                  \
  rlx_graph_bind_inputs(g, ((const rlx_named_shape[]){__VA_ARGS__}), \
                        sizeof((const rlx_named_shape[]){__VA_ARGS__}) / sizeof(rlx_named_shape), &out)
  CHECK_FAILS(SHAPES({"x", RLX_DIMS(2, 3)}, {"v", RLX_DIMS(4)}), RLX_INVALID,
              "'v': axis 0 is 4 but symbol 'S' is already 3");
  CHECK_FAILS(SHAPES({"v", RLX_DIMS(4)}), RLX_INVALID, "symbol 'B' is not bound");
  CHECK_FAILS(SHAPES({"x", RLX_DIMS(2)}), RLX_INVALID, "'x' has rank 1 but must have rank 2");
  CHECK_FAILS(SHAPES({"x", {.n = 99}}), RLX_INVALID, "'x' has rank 99 but");
  CHECK_FAILS(SHAPES({"x", RLX_DIMS(2, -3)}), RLX_INVALID, "'x': axis 1 has the negative size -3");
  CHECK_FAILS(SHAPES({"z", RLX_DIMS(2)}), RLX_NOT_FOUND, "the graph has no input, param or state 'z'");
#undef SHAPES
  CHECK(out == NULL);
  rlx_graph_destroy(g);
}

/* What a graph with symbols accepts, its binding checks: here B must be 1 or 3. */
TEST(binding_checks_what_was_open) {
  rlx_graph *g, *out;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(rlx_graph_add_symbol(g, "B"))),
           y = rlx_op_input(g, "y", RLX_F32, RLX_DIMS(3));
  rlx_graph_add_output(g, "z", rlx_op_add(g, x, y));
  rlx_graph_add_output(g, "r", rlx_op_reshape(g, rlx_op_exp(g, x), RLX_DIMS(-1, 1)));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_graph_bind(g, &(rlx_binding){"B", 1}, 1, &out));
  rlx_graph_destroy(out);
  CHECK_FAILS(rlx_graph_bind(g, &(rlx_binding){"B", 2}, 1, &out), RLX_INVALID,
              "with B = 2: node 3 (add): shapes [2] and [3] do not broadcast");
  CHECK_FAILS(rlx_graph_bind_inputs(g, ((const rlx_named_shape[]){{"y", RLX_DIMS(3)}, {"x", RLX_DIMS(4)}}), 2, &out),
              RLX_INVALID, "with B = 4 of 'x': node 3 (add): shapes [4] and [3] do not broadcast");
  CHECK_FAILS(rlx_graph_bind_inputs(g, ((const rlx_named_shape[]){{"y", RLX_DIMS(4)}}), 1, &out), RLX_INVALID,
              "'y': axis 0 is 4 but must be 3");
  rlx_graph_destroy(g);
}

TEST(a_sub_graphs_symbol_must_be_its_parents) {
  rlx_graph *g, *body;
  CHECK_OK(rlx_graph_create(&body));
  rlx_graph_add_output(body, "y",
                       rlx_op_exp(body, rlx_op_input(body, "x", RLX_F32, RLX_DIMS(rlx_graph_add_symbol(body, "N")))));
  CHECK_OK(rlx_graph_finish(body));
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4)), yes = rlx_op_input(g, "yes", RLX_BOOL, RLX_SCALAR);
  CHECK_EQ_INT(rlx_op_if(g, yes, body, body, &x, 1, NULL, 0), RLX_NONE);
  CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "(if): axis 0 of input 'x' of on_true is open but is given the size 4");
  rlx_graph_destroy(g);
  rlx_graph_destroy(body);
}

/* ---- sub-graphs ---- */

TEST(sub_graphs_nest_to_a_limit) {
  rlx_graph *inner = make_exp(RLX_SCALAR);
  CHECK(inner != NULL);
  for (int depth = 1; depth <= RLX_MAX_DEPTH + 1; depth++) {
    rlx_graph *g;
    CHECK_OK(rlx_graph_create(&g));
    rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_SCALAR);
    rlx_graph_add_output(g, "y",
                         rlx_op_if(g, rlx_op_gt(g, x, rlx_op_scalar(g, RLX_F32, 0)), inner, inner, &x, 1, NULL, 0));
    rlx_status s = rlx_graph_finish(g);
    rlx_graph_destroy(inner);
    inner = g;
    if (depth <= RLX_MAX_DEPTH) CHECK_OK(s);
    else CHECK_FAILS(s, RLX_INVALID, "nests sub-graphs more than 16 deep");
  }
  rlx_graph_destroy(inner);
}

TEST(sub_graphs_must_fit) {
  rlx_graph *one = make_exp(RLX_DIMS(2, 3)), *other = make_exp(RLX_DIMS(2)), *with_param;
  CHECK(one && other);
  CHECK_OK(rlx_graph_create(&with_param));
  rlx_graph_add_output(with_param, "y", rlx_op_param(with_param, "w", RLX_F32, RLX_DIMS(2, 3)));
  CHECK_OK(rlx_graph_finish(with_param));
  INVALID(rlx_op_if(g, b, one, other, &x, 1, NULL, 0), "input 'x' of on_false is f32[2] but is given f32[2,3]");
  INVALID(rlx_op_if(g, b, one, one, NULL, 0, NULL, 0), "on_true has more inputs ('x') than the 0 values given to it");
  INVALID(rlx_op_if(g, b, one, one, ((const rlx_node[]){x, x}), 2, NULL, 0),
          "on_true has 1 inputs but is given 2 values");
  INVALID(rlx_op_if(g, b, with_param, one, &x, 1, NULL, 0), "on_true has the param 'w'");
  rlx_node outs[2];
  INVALID(rlx_op_if(g, b, one, one, &x, 1, outs, 2), "index is 1 but there are 1 outputs");
  INVALID(rlx_op_while(g, one, one, 1, 0, &x, 1, NULL, 0), "cond gives f32[2,3] but must give bool[]");
  INVALID(rlx_op_while(g, one, one, 2, 0, &x, 1, NULL, 0), "carried is 2 but must be 1..1");
  INVALID(rlx_op_while(g, one, one, 1, INT64_MIN, &x, 1, NULL, 0), "max_trips is -9223372036854775808");
  INVALID(rlx_op_scan(g, one, 0, 2, false, &x, 1, NULL, 0), "scanned is 2");
  INVALID(rlx_op_region(g, NULL, &x, 1), "body is missing");
  rlx_graph_destroy(one);
  rlx_graph_destroy(other);
  rlx_graph_destroy(with_param);
}

/* ---- large graphs: time and stack ---- */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* n nodes: a chain, or all reading the first. */
static rlx_status make_large(uint32_t n, bool is_chain, rlx_graph **out) {
  RLX_TRY(rlx_graph_create(out));
  rlx_graph *g = *out;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1)), last = x;
  for (uint32_t i = 1; i < n; i++)
    last = i % 2 ? rlx_op_neg(g, is_chain ? last : x) : rlx_op_add(g, is_chain ? last : x, x);
  rlx_graph_add_output(g, "y", last);
  return rlx_graph_finish(g);
}

static void check_large(bool is_chain) {
  enum { NODES = 1000000 };
  rlx_graph *g, *bound;
  double start = seconds();
  CHECK_OK(make_large(NODES, is_chain, &g));
  CHECK_EQ_INT(rlx_graph_size(g), NODES);
  CHECK_OK(rlx_graph_verify(g));
  CHECK_OK(rlx_graph_bind(g, NULL, 0, &bound));
  CHECK(rlx_graph_same(g, bound));
  CHECK(rlx_graph_hash(g) == rlx_graph_hash(bound));
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
  double taken = seconds() - start;
  if (taken > test_hang_seconds()) FAIL("a graph of %d nodes took %.1f s", NODES, taken);
}

TEST(a_million_nodes) { check_large(false); }
TEST(a_chain_a_million_deep) { check_large(true); }

TEST(a_node_of_many_inputs) {
  enum { INPUTS = 100000 };
  rlx_graph *g, *bound;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node *xs = malloc(INPUTS * sizeof *xs), x = rlx_op_input(g, "x", RLX_I8, RLX_DIMS(1));
  CHECK(xs != NULL);
  for (size_t i = 0; i < INPUTS; i++) xs[i] = x;
  rlx_graph_add_output(g, "y", rlx_op_concat(g, xs, INPUTS, 0));
  free(xs);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_EQ_INT(rlx_node_shape(g, 2).v[0], INPUTS);
  CHECK_OK(rlx_graph_bind(g, NULL, 0, &bound));
  CHECK(rlx_graph_same(g, bound));
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
}

TEST(many_names) {
  enum { NAMES = 50000 };
  rlx_graph *g;
  char name[24];
  CHECK_OK(rlx_graph_create(&g));
  for (int i = 0; i < NAMES; i++) {
    snprintf(name, sizeof name, "w.%d", i);
    rlx_graph_add_output(g, name, rlx_op_param(g, name, RLX_F32, RLX_SCALAR));
  }
  CHECK_OK(rlx_graph_finish(g));
  for (int i = 0; i < NAMES; i += 777) {
    snprintf(name, sizeof name, "w.%d", i);
    CHECK_EQ_INT((uint32_t)rlx_graph_find(g, name), i + 1);
  }
  CHECK_EQ_INT(rlx_graph_find(g, "w.50000"), 0);
  rlx_graph_destroy(g);
}

/* ---- equality ---- */

typedef void (*maker)(rlx_graph *g);
static void make_base(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 2)), 1));
}
static void other_axis(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 2)), 0));
}
static void other_name(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, rlx_op_input(g, "z", RLX_F32, RLX_DIMS(2, 2)), 1));
}
static void other_output(rlx_graph *g) {
  rlx_graph_add_output(g, "z", rlx_op_softmax(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 2)), 1));
}
static void other_type(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, rlx_op_input(g, "x", RLX_F16, RLX_DIMS(2, 2)), 1));
}
static void other_op(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_log_softmax(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 2)), 1));
}
static void other_leaf(rlx_graph *g) {
  rlx_graph_add_output(g, "y", rlx_op_softmax(g, rlx_op_param(g, "x", RLX_F32, RLX_DIMS(2, 2)), 1));
}
static void more_symbols(rlx_graph *g) {
  rlx_graph_add_symbol(g, "B");
  make_base(g);
}

TEST(graphs_that_differ_are_not_the_same) {
  static const maker makers[] = {make_base,  other_axis, other_name, other_output,
                                 other_type, other_op,   other_leaf, more_symbols};
  enum { N = sizeof makers / sizeof *makers };
  rlx_graph *g[N], *twin;
  for (size_t i = 0; i < N; i++) {
    CHECK_OK(rlx_graph_create(&g[i]));
    makers[i](g[i]);
    CHECK_OK(rlx_graph_finish(g[i]));
  }
  CHECK_OK(rlx_graph_create(&twin));
  make_base(twin);
  CHECK_OK(rlx_graph_finish(twin));
  CHECK(rlx_graph_same(g[0], twin));
  CHECK(rlx_graph_hash(g[0]) == rlx_graph_hash(twin));
  for (size_t i = 1; i < N; i++) CHECK(!rlx_graph_same(g[0], g[i]));
  for (size_t i = 1; i + 1 < N; i++) CHECK(rlx_graph_hash(g[0]) != rlx_graph_hash(g[i])); /* symbols are not hashed */
  for (size_t i = 0; i < N; i++) rlx_graph_destroy(g[i]);
  rlx_graph_destroy(twin);
}

/* ---- failing allocations ---- */

static rlx_status bind_a_template(void *user) {
  (void)user;
  rlx_graph *g = make_template(), *out;
  if (!g) return RLX_NO_MEMORY; /* it cannot fail otherwise: other tests use it */
  rlx_status s = rlx_graph_bind(g, ((const rlx_binding[]){{"S", 3}, {"B", 2}}), 2, &out);
  rlx_graph_destroy(out);
  if (!s) s = rlx_graph_bind_inputs(g, ((const rlx_named_shape[]){{"x", RLX_DIMS(1, 3)}}), 1, &out);
  rlx_graph_destroy(out);
  rlx_graph_destroy(g);
  return s;
}

TEST(binding_survives_failing_allocations) { CHECK_OK(alloc_sweep(bind_a_template, NULL)); }
