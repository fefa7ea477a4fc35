/* Shape and indexing ops: what their rules say about open sizes, what they refuse, and what a run refuses. The values
 * they compute are the conformance cases' business. */
#include <stdlib.h>

#include "alloc_sweep.h"
#include "ir/graph.h"
#include "ir/slice.h"
#include "test.h"

/* ---- rules, by text: the result's type is written out, and parsing checks it ---- */

typedef struct rule {
  const char *inputs, *node;
  const char *type; /* of the result; NULL: refused */
  const char *part; /* of the message, where refused */
} rule;

static rlx_status try_rule(const rule *r) {
  char text[1024];
  snprintf(text, sizeof text, "graph { %s\n%%y = %s%s%s\noutput \"y\" = %%y }", r->inputs, r->node,
           r->type ? " : " : "", r->type ? r->type : "");
  rlx_graph *g = NULL;
  rlx_status s = rlx_graph_parse(text, strlen(text), &g);
  rlx_graph_destroy(g);
  return s;
}

static void check_rules(const rule *rules, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const rule *r = &rules[i];
    rlx_status s = try_rule(r);
    if (r->type && s) FAIL("%s of %s: %s", r->node, r->inputs, rlx_message());
    if (!r->type && s != RLX_INVALID)
      FAIL("%s of %s: expected 'invalid', found '%s'", r->node, r->inputs, rlx_status_name(s));
    if (!r->type && !strstr(rlx_message(), r->part))
      FAIL("%s: expected a message with <%s>, found <%s>", r->node, r->part, rlx_message());
  }
}
#define CHECK_RULES(rules) check_rules(rules, sizeof rules / sizeof *rules)

#define X(type) "%x = input \"x\" : " type "\n"
#define I(type) "%i = input \"i\" : " type "\n"
#define U(type) "%u = input \"u\" : " type "\n"
#define W(type) "%x = param \"x\" : " type "\n"
#define S(type) "%x = state \"x\" : " type "\n"

// clang-format off
TEST(reshape_cancels_what_both_sides_have) {
  static const rule rules[] = {
    {X("f32[B,S,64]"), "reshape(%x) {shape=[B,S,-1,16]}", "f32[B,S,4,16]", NULL},
    {X("f32[B,S,64]"), "reshape(%x) {shape=[S,B,-1]}", "f32[S,B,64]", NULL},
    {X("f32[B,8,8]"), "reshape(%x) {shape=[-1,64]}", "f32[B,64]", NULL},
    {X("f32[B,8,8]"), "reshape(%x) {shape=[-1,32]}", "f32[?,32]", NULL},
    {X("f32[B,S,8]"), "reshape(%x) {shape=[-1,8]}", "f32[?,8]", NULL},
    {X("f32[B,6]"), "reshape(%x) {shape=[C,3]}", "f32[C,3]", NULL},
    {X("f32[B,6]"), "reshape(%x) {shape=[B,2,3]}", "f32[B,2,3]", NULL},
    {X("f32[B,6]"), "reshape(%x) {shape=[B,5]}", NULL, "does not have the elements of"},
    {X("f32[B,6]"), "reshape(%x) {shape=[B,4,-1]}", NULL, "no whole size fits"},
    {X("f32[2,6]"), "reshape(%x) {shape=[-1,-1]}", NULL, "one is allowed"},
    {X("f32[2,6]"), "reshape(%x) {shape=[-2]}", NULL, "must not be negative"},
    {X("f32[2,6]"), "reshape(%x) {shape=[5]}", NULL, "does not have the elements of"},
    {X("f32[2,6]"), "reshape(%x) {shape=[5,-1]}", NULL, "no whole size fits"},
    {X("f32[2,6]"), "reshape(%x) {shape=[0,-1]}", NULL, "any size would do"},
    {X("f32[2,6]"), "reshape(%x) {shape=[0,5]}", NULL, "does not have the elements of"},
    {X("f32[0,6]"), "reshape(%x) {shape=[0,5]}", "f32[0,5]", NULL},
    {X("f32[0,6]"), "reshape(%x) {shape=[0,-1]}", "f32[0,6]", NULL},
    {X("f32[2]"), "reshape(%x) {shape=[9223372036854775807,9223372036854775807,-1]}", NULL, "too many to count"},
    {W("q4_0[2,32]"), "reshape(%x) {shape=[64]}", NULL, "does not take q4_0"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_moves) {
  static const rule rules[] = {
    {X("f32[B,2,S]"), "transpose(%x)", "f32[S,2,B]", NULL},
    {X("f32[B,2,S]"), "transpose(%x) {perm=[1,-1,0]}", "f32[2,S,B]", NULL},
    {X("f32[2,3]"), "transpose(%x) {perm=[0]}", NULL, "perm has 1 entries"},
    {X("f32[2,3]"), "transpose(%x) {perm=[1,1]}", NULL, "named twice"},
    {X("f32[2,3]"), "transpose(%x) {perm=[0,2]}", NULL, "axis 2 is not in"},
    {X("f32[B,S]"), "slice(%x) {start=[0], stop=[9223372036854775807]}", "f32[B,S]", NULL},
    {X("f32[B,S]"), "slice(%x) {start=[-1], stop=[-9000000000000000000], step=[-1]}", "f32[B,S]", NULL},
    {X("f32[B,S]"), "slice(%x) {start=[0], stop=[B]}", "f32[B,S]", NULL},
    {X("f32[B,S]"), "slice(%x) {axes=[1], start=[0], stop=[4]}", "f32[B,?]", NULL},
    {X("f32[9,S]"), "slice(%x) {start=[0], stop=[S]}", "f32[?,S]", NULL},
    {X("f32[9]"), "slice(%x) {start=[0,0], stop=[1,1]}", NULL, "cuts 2 axes"},
    {X("f32[9,9]"), "slice(%x) {start=[0,0], stop=[1]}", NULL, "start, stop, axes and step have 2, 1, 0 and 0 entries"},
    {X("f32[9,9]"), "slice(%x) {axes=[0], start=[0,0], stop=[1,1]}", NULL, "entries"},
    {X("f32[9]"), "slice(%x) {start=[0], stop=[1], step=[0]}", NULL, "step of axis 0 is 0"},
    {X("f32[9,9]"), "slice(%x) {axes=[1,-1], start=[0,0], stop=[1,1]}", NULL, "named twice"},
    {X("f32[B,3]") U("f32[S,3]"), "concat(%x, %u)", "f32[?,3]", NULL},
    {X("f32[B,3]") U("f32[S,4]"), "concat(%x, %u) {axis=1}", "f32[B,7]", NULL},
    {X("f32[B,3]") U("f32[2,4]"), "concat(%x, %u) {axis=1}", "f32[2,7]", NULL},
    {X("f32[2,3]") U("f32[2,4]"), "concat(%x, %u)", NULL, "input 1 is [2,4], which does not join [2,3] along axis 0"},
    {X("f32[2,3]") U("f32[2]"), "concat(%x, %u)", NULL, "does not join"},
    {X("f32[2,3]"), "concat()", NULL, "at least 1 input"},
    {X("f32[]") U("f32[]"), "concat(%x, %u)", NULL, "axis 0 is not in"},
    {X("f32[1,3]"), "expand(%x) {shape=[B,S,3]}", "f32[B,S,3]", NULL},
    {X("f32[1,3]"), "expand(%x) {shape=[B,S,-1]}", "f32[B,S,3]", NULL},
    {X("f32[B,1]"), "expand(%x) {shape=[-1,S]}", "f32[B,S]", NULL},
    {X("f32[B]"), "expand(%x) {shape=[7]}", "f32[7]", NULL},
    {X("f32[4]"), "expand(%x) {shape=[S]}", "f32[4]", NULL},
    {X("f32[3]"), "expand(%x) {shape=[1]}", NULL, "does not broadcast to [1]"},
    {X("f32[3]"), "expand(%x) {shape=[-1,3]}", NULL, "must not be negative"},
    {X("f32[3,3]"), "expand(%x) {shape=[3]}", NULL, "fewer axes"},
    {X("f32[B,3]"), "tile(%x) {reps=[1,2]}", "f32[B,6]", NULL},
    {X("f32[B,3]"), "tile(%x) {reps=[2,2]}", "f32[?,6]", NULL},
    {X("f32[2,3]"), "tile(%x) {reps=[2]}", NULL, "reps has 1 entries"},
    {X("f32[2]"), "tile(%x) {reps=[-1]}", NULL, "must not be negative"},
    {X("f32[2]"), "tile(%x) {reps=[9223372036854775807]}", NULL, "overflows"},
    {X("f32[2]"), "tile(%x) {reps=[4000000000000000000]}", NULL, "overflow"},
    {X("f32[B,3]"), "pad(%x) {lo=[0,1], hi=[0,1]}", "f32[B,5]", NULL},
    {X("f32[B,3]"), "pad(%x) {lo=[1,1], hi=[0,1]}", "f32[?,5]", NULL},
    {X("f32[3]"), "pad(%x) {lo=[1,1], hi=[0]}", NULL, "lo has 2 entries"},
    {X("f32[3]"), "pad(%x) {lo=[1]}", NULL, "hi has 0 entries"},
    {X("f32[3]"), "pad(%x) {lo=[-1], hi=[1]}", NULL, "must not be negative"},
    {X("f32[3]"), "pad(%x) {lo=[9223372036854775807], hi=[1]}", NULL, "overflow"},
    {X("f32[0]"), "pad(%x) {lo=[1], hi=[1], mode=edge}", NULL, "only constant mode"},
    {X("f32[3,3]"), "reverse(%x) {axes=[0,-2]}", NULL, "named twice"},
    {X("f32[3,3]"), "reverse(%x) {axes=[2]}", NULL, "axis 2 is not in"},
    {X("f32[3,3]"), "roll(%x) {shifts=[1], axes=[]}", NULL, "1 shifts for 0 axes"},
    {X("f32[3,3]"), "roll(%x) {shifts=[1], axes=[2]}", NULL, "axis 2 is not in"},
    {X("f32[B,3]"), "roll(%x) {shifts=[B], axes=[0]}", NULL, "must be a number"},
    {X("f32[B,3]"), "slice(%x) {start=[0], stop=[1], step=[B]}", NULL, "must be a number"},
    {X("f32[3]"), "trilu(%x)", NULL, "two axes or more"},
    {X("f32[N,3,H,4]"), "space_to_depth(%x)", "f32[N,12,?,2]", NULL},
    {X("f32[N,3,H,W]"), "space_to_depth(%x) {block=1}", "f32[N,3,H,W]", NULL},
    {X("f32[1,3,4,5]"), "space_to_depth(%x)", NULL, "does not divide"},
    {X("f32[3,4,5]"), "space_to_depth(%x)", NULL, "rank 4"},
    {X("f32[1,3,4,4]"), "space_to_depth(%x) {block=0}", NULL, "must be 1 or more"},
    {X("f32[1,3,0,0]"), "space_to_depth(%x) {block=4000000000}", NULL, "overflow"},
    {X("f32[N,C,2,W]"), "depth_to_space(%x)", "f32[N,?,4,?]", NULL},
    {X("f32[1,6,4,4]"), "depth_to_space(%x)", NULL, "does not divide"},
    {X("f32[1,0,4,4]"), "depth_to_space(%x) {block=9223372036854775807}", NULL, "overflow"},
    {X("f32[1,4,4,4]"), "depth_to_space(%x) {block=-2}", NULL, "must be 1 or more"},
    {X("c64[B,1,1,1,1,1,1]"), "view_as_real(%x)", "f32[B,1,1,1,1,1,1,2]", NULL},
    {X("c64[B,1,1,1,1,1,1,1]"), "view_as_real(%x)", NULL, "would pass rank 8"},
    {X("f32[B,2]"), "view_as_complex(%x)", "c64[B]", NULL},
    {X("f32[B,3]"), "view_as_complex(%x)", NULL, "last axis must be 2"},
    {X("f32[]"), "view_as_complex(%x)", NULL, "last axis must be 2"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_indexing) {
  static const rule rules[] = {
    {X("f16[V,8]") I("i32[B,S]"), "gather(%x, %i)", "f16[B,S,8]", NULL},
    {X("f32[2,V,3]") I("i64[]"), "gather(%x, %i) {axis=1}", "f32[2,3]", NULL},
    {W("q4_0[V,32]") I("i32[S]"), "gather(%x, %i)", "f32[S,32]", NULL},
    {W("q4_0[4,32]") I("i32[2]"), "gather(%x, %i) {axis=1}", NULL, "only rows"},
    {W("q4_0[32]") I("i32[2]"), "gather(%x, %i)", NULL, "only rows"},
    {X("f32[4]") I("i16[2]"), "gather(%x, %i)", NULL, "must be i32 or i64"},
    {X("f32[]") I("i32[2]"), "gather(%x, %i)", NULL, "axis 0 is not in"},
    {X("f32[1,1,1,1,1]") I("i32[1,1,1,1,1]"), "gather(%x, %i)", NULL, "more than 8 axes"},
    {X("f32[B,3]") I("i32[7,S]"), "gather_elements(%x, %i)", "f32[7,S]", NULL},
    {X("f32[2,3]") I("i32[7,4]"), "gather_elements(%x, %i)", NULL, "idx may not be larger"},
    {X("f32[2,3]") I("i32[7]"), "gather_elements(%x, %i)", NULL, "one rank"},
    {X("f32[2,B,3]") I("i32[S,2]"), "gather_nd(%x, %i)", "f32[S,3]", NULL},
    {X("f32[B,4,3]") I("i32[B,S,1]"), "gather_nd(%x, %i) {batch_dims=1}", "f32[B,S,3]", NULL},
    {X("f32[2,4]") I("i32[S,K]"), "gather_nd(%x, %i)", NULL, "must be 1..2"},
    {X("f32[2,4]") I("i32[5,3]"), "gather_nd(%x, %i)", NULL, "must be 1..2"},
    {X("f32[2,4]") I("i32[5,0]"), "gather_nd(%x, %i)", NULL, "must be 1..2"},
    {X("f32[2,4]") I("i32[3,1]"), "gather_nd(%x, %i) {batch_dims=1}", NULL, "differ on axis 0"},
    {X("f32[2,4]") I("i32[2,1]"), "gather_nd(%x, %i) {batch_dims=2}", NULL, "batch_dims is 2"},
    {X("f32[2,4]") I("i32[2,1]"), "gather_nd(%x, %i) {batch_dims=-1}", NULL, "batch_dims is -1"},
    {X("f32[2,4]") I("i32[]"), "gather_nd(%x, %i)", NULL, "neither may be a scalar"},
    {X("f32[1,1,1,1,1,1]") I("i32[1,1,1,1,1,1]"), "gather_nd(%x, %i)", NULL, "more than 8 axes"},
    {X("f32[B,3]") I("i32[S,3]") U("f32[S,3]"), "scatter_elements(%x, %i, %u)", "f32[B,3]", NULL},
    {X("f32[2,3]") I("i32[2,3]") U("f32[1,3]"), "scatter_elements(%x, %i, %u)", NULL, "is [1,3] but must be [2,3]"},
    {X("f32[2,3]") I("i32[2,4]") U("f32[2,4]"), "scatter_add(%x, %i, %u)", NULL, "idx may not be larger"},
    {X("f32[2]") I("i32[2]") U("f16[2]"), "scatter_add(%x, %i, %u)", NULL, "must be f32"},
    {X("bool[2]") I("i32[2]") U("bool[2]"), "scatter_add(%x, %i, %u)", NULL, "does not take bool"},
    {X("f32[B,3]") I("i32[S,1]") U("f32[S,3]"), "scatter_nd(%x, %i, %u)", "f32[B,3]", NULL},
    {X("f32[4,3]") I("i32[5,1]") U("f32[5]"), "scatter_nd(%x, %i, %u)", NULL, "updates) is [5] but must be [5,3]"},
    {X("f32[4,3]") I("i32[5,3]") U("f32[5]"), "scatter_nd(%x, %i, %u)", NULL, "must be 1..2"},
    {I("i32[B,S]"), "one_hot(%i) {depth=7, axis=1, to=bool}", "bool[B,7,S]", NULL},
    {I("i32[2]"), "one_hot(%i) {depth=-1}", NULL, "depth is -1"},
    {I("i32[2]"), "one_hot(%i) {depth=9223372036854775807}", NULL, "overflow"},
    {I("i32[2]"), "one_hot(%i) {depth=3, axis=2}", NULL, "axis 2 is not in"},
    {I("i32[2]"), "one_hot(%i) {depth=3, to=q4_0}", NULL, "not q4_0"},
    {I("i32[1,1,1,1,1,1,1,1]"), "one_hot(%i) {depth=3}", NULL, "would pass rank 8"},
    {"symbols S\n", "range() {count=[S], to=f16}", "f16[S]", NULL},
    {"", "range() {count=[]}", NULL, "must have one"},
    {"", "range() {count=[1,2]}", NULL, "must have one"},
    {"", "range() {count=[-1]}", NULL, "at least 0"},
    {"", "range() {count=[9223372036854775807]}", NULL, "overflow"},
    {"", "range() {count=[3], step=inf}", NULL, "must be finite"},
    {"", "range() {count=[3], start=nan}", NULL, "must be finite"},
    {"", "range() {count=[3], to=bool}", NULL, "gives numbers, not bool"},
    {S("f32[B,9,4]") U("f32[B,S,4]") I("i32[B]"), "update(%x, %u, %i) {axis=1}", "f32[B,9,4]", NULL},
    {S("f32[2,9]") U("f32[2,10]") I("i32[]"), "update(%x, %u, %i) {axis=1}", NULL, "do not fit along axis 1"},
    {S("f32[2,9]") U("f32[1,9]") I("i32[]"), "update(%x, %u, %i) {axis=1}", NULL, "do not fit"},
    {S("f32[9]") U("f32[1,9]") I("i32[]"), "update(%x, %u, %i)", NULL, "do not fit"},
    {S("f32[9,2]") U("f32[3,2]") I("i32[9]"), "update(%x, %u, %i)", NULL, "must be a scalar"},
    {S("f32[4,9]") U("f32[4,3]") I("i32[3]"), "update(%x, %u, %i) {axis=1}", NULL, "must be a scalar"},
    {S("f32[]") U("f32[]") I("i32[]"), "update(%x, %u, %i)", NULL, "axis 0 is not in"},
    {X("f32[4]") U("f32[2]") I("i32[]"), "update(%x, %u, %i)", NULL, "not a state"},
  };
  CHECK_RULES(rules);
}
// clang-format on

/* Numbers that only a program can pass: below every size, where symbols are encoded. */
TEST(attributes_that_look_like_symbols) {
  static const int64_t odd[] = {INT64_MIN, INT64_MIN + 1, INT64_MIN + 77};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    int64_t v = odd[i];
    const rlx_attrs_reshape reshape = {.shape = RLX_DIMS(v)};
    const rlx_attrs_expand expand = {.shape = RLX_DIMS(v)};
    const rlx_attrs_tile tile = {.reps = RLX_DIMS(v)};
    const rlx_attrs_pad pad = {.lo = RLX_DIMS(v), .hi = RLX_DIMS(0)};
    const rlx_attrs_roll roll = {.shifts = RLX_DIMS(v), .axes = RLX_DIMS(0)};
    const rlx_attrs_slice start = {.start = RLX_DIMS(v), .stop = RLX_DIMS(1)};
    const rlx_attrs_slice stop = {.start = RLX_DIMS(0), .stop = RLX_DIMS(v)};
    const rlx_attrs_slice step = {.start = RLX_DIMS(0), .stop = RLX_DIMS(1), .step = RLX_DIMS(v)};
    const rlx_attrs_range range = {.step = 1, .count = RLX_DIMS(v)};
    const struct {
      rlx_op op;
      const void *attrs;
    } calls[] = {
      {RLX_OP_reshape, &reshape}, {RLX_OP_expand, &expand}, {RLX_OP_tile, &tile},
      {RLX_OP_pad, &pad},         {RLX_OP_roll, &roll},     {RLX_OP_slice, &start},
      {RLX_OP_slice, &stop},      {RLX_OP_slice, &step},    {RLX_OP_range, &range},
    };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
      rlx_graph *g;
      CHECK_OK(rlx_graph_create(&g));
      rlx_node x = rlx_graph_add(g, RLX_OP_input, NULL, 0,
                                 &(rlx_attrs_input){.name = "x", .dtype = RLX_F32, .shape = RLX_DIMS(3)});
      rlx_node y = rlx_graph_add(g, calls[k].op, &x, calls[k].op == RLX_OP_range ? 0 : 1, calls[k].attrs);
      rlx_status s = rlx_graph_status(g);
      rlx_graph_destroy(g);
      if (y || s != RLX_INVALID) FAIL("%s took %lld", rlx_op_get(calls[k].op)->name, (long long)v);
    }
  }
}

/* ---- binding ---- */

static rlx_status bound_shape(const char *text, int64_t b, rlx_dims *out) {
  rlx_graph *g, *bound = NULL;
  RLX_TRY(rlx_graph_parse(text, strlen(text), &g));
  rlx_status s = rlx_graph_bind(g, &(rlx_binding){"B", b}, 1, &bound);
  if (!s) *out = rlx_node_shape(bound, rlx_graph_output(bound, 0, NULL));
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
  return s;
}

TEST(a_template_means_the_same_when_bound_to_0) {
  rlx_dims shape;
  const char *split = "graph { %x = input \"x\" : f32[B,64]\n%y = reshape(%x) {shape=[B,-1,16]}\noutput \"y\" = %y }";
  for (int64_t b = 0; b < 3; b++) {
    CHECK_OK(bound_shape(split, b, &shape));
    CHECK(rlx_dims_equal(&shape, &RLX_DIMS(b, 4, 16)));
  }
  const char *cut =
    "graph { %x = input \"x\" : f32[9]\n%c = input \"c\" : f32[B]\n%y = slice(%x) {start=[2], stop=[B]}\n"
    "output \"y\" = %y }";
  CHECK_OK(bound_shape(cut, 5, &shape));
  CHECK(rlx_dims_equal(&shape, &RLX_DIMS(3)));
  CHECK_OK(bound_shape(cut, 100, &shape));
  CHECK(rlx_dims_equal(&shape, &RLX_DIMS(7)));
  CHECK_OK(bound_shape(cut, 0, &shape));
  CHECK(rlx_dims_equal(&shape, &RLX_DIMS(0)));
  const char *wide =
    "graph { %x = input \"x\" : f32[4]\n%c = input \"c\" : f32[B]\n%y = expand(%x) {shape=[B]}\noutput \"y\" = %y }";
  CHECK_OK(bound_shape(wide, 4, &shape));
  CHECK_FAILS(bound_shape(wide, 5, &shape), RLX_INVALID, "does not broadcast to [5]");
}

/* ---- the two rules of slice.h, against their definitions ---- */

TEST(slices_name_the_elements_that_a_walk_meets) {
  static const int64_t ends[] = {INT64_MIN + (1 << 20), -9, -5, -4, -1, 0, 1, 3, 4, 5, 9, INT64_MAX};
  static const int64_t steps[] = {INT64_MIN, -INT64_MAX, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, INT64_MAX};
  enum { N_ENDS = sizeof ends / sizeof *ends, N_STEPS = sizeof steps / sizeof *steps };
  for (int64_t n = 0; n <= 5; n++)
    for (size_t k = 0; k < N_ENDS * N_ENDS * N_STEPS; k++) {
      int64_t start = ends[k % N_ENDS], stop = ends[k / N_ENDS % N_ENDS], step = steps[k / N_ENDS / N_ENDS];
      rlx_slice_axis s = rlx_slice_axis_of(start, stop, step, n);
      /* An element belongs to the slice if it is inside both ends and a whole number of steps from the first. */
      int64_t from = start < 0 ? start + n : start, to = stop < 0 ? stop + n : stop, count = 0, first = -1;
      for (int64_t j = 0; j < n; j++) {
        int64_t i = step > 0 ? j : n - 1 - j;
        bool inside = step > 0 ? i >= from && i < to : i <= from && i > to;
        if (!inside) continue;
        if (first < 0) first = i;
        int64_t away = i > first ? i - first : first - i;
        if (away != 0 && (step < -INT64_MAX || away % (step > 0 ? step : -step) != 0)) continue;
        if (count < s.count) CHECK_EQ_INT(s.start + count * s.step, i);
        count++;
      }
      CHECK_EQ_INT(s.count, count);
    }
}

TEST(borders_follow_their_mode) {
  for (int64_t n = 1; n <= 4; n++) {
    for (int64_t at = -13; at <= 13; at++) {
      /* Walk one place at a time from the middle, turning at the ends. */
      int64_t reflected = 0, wrapped = 0, direction = at < 0 ? -1 : 1, heading = direction;
      for (int64_t k = 0; k != at; k += direction) {
        if (n > 1 && (reflected + heading < 0 || reflected + heading >= n)) heading = -heading;
        reflected += n > 1 ? heading : 0;
        wrapped = (wrapped + direction + n) % n;
      }
      CHECK_EQ_INT(rlx_pad_source(RLX_PAD_REFLECT, at, n), reflected);
      CHECK_EQ_INT(rlx_pad_source(RLX_PAD_WRAP, at, n), wrapped);
      CHECK_EQ_INT(rlx_pad_source(RLX_PAD_EDGE, at, n), at < 0 ? 0 : at >= n ? n - 1 : at);
      CHECK_EQ_INT(rlx_pad_source(RLX_PAD_CONSTANT, at, n), at < 0 || at >= n ? -1 : at);
    }
  }
}

/* ---- run-time errors ---- */

/* Runs "y" of a graph whose inputs are zero, except i32 input "i", all of whose elements are `index`. */
static rlx_status run_with_index(const char *text, int32_t index) {
  rlx_graph *g;
  RLX_TRY(rlx_graph_parse(text, strlen(text), &g));
  rlx_evaluator *e = NULL;
  rlx_status s = rlx_evaluator_create(g, &e);
  for (rlx_node n = 1; n <= rlx_graph_size(g) && !s; n++) {
    const char *name = rlx_node_name(g, n);
    if (!name) continue;
    char zeros[512] = {0};
    rlx_tensor t = {.dtype = rlx_node_dtype(g, n), .shape = rlx_node_shape(g, n), .data = zeros};
    s = rlx_tensor_bytes(t.dtype, t.shape, &t.bytes);
    for (size_t k = 0; !s && name[0] == 'i' && k < t.bytes / 4; k++) memcpy(zeros + 4 * k, &index, sizeof index);
    if (!s)
      s = t.bytes <= sizeof zeros ? rlx_evaluator_set(e, name, &t) : RLX_FAIL(RLX_INVALID, "test input too large");
  }
  if (!s) s = rlx_evaluator_run(e);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  return s;
}

TEST(indices_out_of_range_are_errors) {
  static const struct {
    const char *inputs, *node;
    int32_t lo, hi; /* the least and largest index that is right */
  } calls[] = {
    {X("f32[3,2]") I("i32[2]"), "gather(%x, %i)", -3, 2},
    {X("f32[2,5]") I("i32[]"), "gather(%x, %i) {axis=1}", -5, 4},
    {W("q8_0[3,32]") I("i32[2]"), "gather(%x, %i)", -3, 2},
    {X("f32[3,2]") I("i32[1,2]"), "gather_elements(%x, %i)", -3, 2},
    {X("f32[3,4]") I("i32[2,1]"), "gather_nd(%x, %i)", -3, 2},
    {X("f32[3,4]") I("i32[2,2]"), "gather_nd(%x, %i)", -3, 2},
    {X("f32[2,4]") I("i32[2,1]"), "gather_nd(%x, %i) {batch_dims=1}", -4, 3},
    {X("f32[3,2]") I("i32[1,2]") U("f32[1,2]"), "scatter_elements(%x, %i, %u)", -3, 2},
    {X("i8[3,2]") I("i32[1,2]") U("i8[1,2]"), "scatter_elements(%x, %i, %u) {axis=1, reduction=mul}", -2, 1},
    {X("f16[3,2]") I("i32[1,2]") U("f16[1,2]"), "scatter_add(%x, %i, %u)", -3, 2},
    {X("f32[3,4]") I("i32[2,2]") U("f32[2]"), "scatter_nd(%x, %i, %u)", -3, 2},
    {S("f32[5,2]") U("f32[2,2]") I("i32[]"), "update(%x, %u, %i)", 0, 3},
    {S("f32[2,5]") U("f32[2,1]") I("i32[2]"), "update(%x, %u, %i) {axis=1}", 0, 4},
    {S("f32[2,5]") U("f32[2,0]") I("i32[2]"), "update(%x, %u, %i) {axis=1}", 0, 5},
  };
  for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
    char text[512];
    snprintf(text, sizeof text, "graph { %s\n%%y = %s\noutput \"y\" = %%y }", calls[k].inputs, calls[k].node);
    CHECK_OK(run_with_index(text, calls[k].lo));
    CHECK_OK(run_with_index(text, calls[k].hi));
    const char *part = strstr(text, "update") ? "do not fit" : "is not in";
    CHECK_FAILS(run_with_index(text, calls[k].lo - 1), RLX_INVALID, part);
    CHECK_FAILS(run_with_index(text, calls[k].hi + 1), RLX_INVALID, part);
    CHECK_FAILS(run_with_index(text, INT32_MIN), RLX_INVALID, part);
    CHECK_FAILS(run_with_index(text, INT32_MAX), RLX_INVALID, part);
  }
}

/* An empty result may have axes far beyond memory and time. */
TEST(empty_results_take_no_time) {
  static const char *const nodes[] = {
    "transpose(%x)",
    "slice(%x) {axes=[1], start=[1], stop=[4000000000000000000]}",
    "concat(%x, %x)",
    "expand(%x) {shape=[7,0,-1]}",
    "tile(%x) {reps=[2,1]}",
    "pad(%x) {lo=[0,1], hi=[0,1], mode=wrap}",
    "reverse(%x)",
    "roll(%x) {shifts=[1], axes=[1]}",
    "trilu(%x)",
    "gather(%x, %i)",
    "gather(%x, %i) {axis=1}",
    "gather_nd(%x, %j)",
    "reshape(%x) {shape=[4000000000000000000,0]}",
  };
  for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
    char text[512];
    snprintf(text, sizeof text,
             "graph { %%x = input \"x\" : i8[0,4000000000000000000]\n%%i = input \"i\" : i32[0]\n"
             "%%j = input \"ij\" : i32[0,1]\n%%y = %s\noutput \"y\" = %%y }",
             nodes[k]);
    CHECK_OK(run_with_index(text, 0));
  }
  CHECK_OK(run_with_index(
    "graph { %i = input \"i\" : i32[4000000000000000000,0]\n%y = one_hot(%i) {depth=2}\noutput \"y\" = %y }", 0));
}

/* ---- allocation ---- */

static rlx_status move_and_index(void *user) {
  (void)user;
  return run_with_index(
    "graph { %x = input \"x\" : f32[3,4]\n%i = input \"i\" : i32[2,4]\n%u = input \"u\" : f32[2,4]\n"
    "%s = state \"s\" : f32[3,4]\n"
    "%p = input \"ip\" : i32[]\n%a = scatter_add(%x, %i, %u)\n%b = pad(%a) {lo=[0,1], hi=[0,1], mode=edge}\n"
    "%c = slice(%b) {axes=[1], start=[1], stop=[5]}\n%d = slice(%c) {start=[0], stop=[1]}\n%e = update(%s, %d, %p)\n"
    "%f = transpose(%e)\n%g = gather_elements(%c, %i)\n%h = gather(%f, %i)\noutput \"g\" = %g\noutput \"h\" = %h }",
    1);
}

TEST(allocations_may_fail) { CHECK_OK(alloc_sweep(move_and_index, NULL)); }
