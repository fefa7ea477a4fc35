/* Shape and indexing ops: what shape inference gives for open sizes and rejects, and what a run rejects. The
 * conformance cases check values. */
#include "faults.h"
#include "ir/slice.h"
#include "rules.h"
#include "test.h"

/* ---- rules ---- */

// clang-format off
TEST(reshape_cancels_what_both_sides_have) {
  static const rule rules[] = {
    {"x: f32[B,S,64]", "reshape(%x) {shape=[B,S,-1,16]}", "f32[B,S,4,16]", NULL},
    {"x: f32[B,S,64]", "reshape(%x) {shape=[S,B,-1]}", "f32[S,B,64]", NULL},
    {"x: f32[B,8,8]", "reshape(%x) {shape=[-1,64]}", "f32[B,64]", NULL},
    {"x: f32[B,8,8]", "reshape(%x) {shape=[-1,32]}", "f32[?,32]", NULL},
    {"x: f32[B,S,8]", "reshape(%x) {shape=[-1,8]}", "f32[?,8]", NULL},
    {"x: f32[B,6]", "reshape(%x) {shape=[C,3]}", "f32[C,3]", NULL},
    {"x: f32[B,6]", "reshape(%x) {shape=[B,2,3]}", "f32[B,2,3]", NULL},
    {"x: f32[B,6]", "reshape(%x) {shape=[B,5]}", NULL, "does not have the elements of"},
    {"x: f32[B,6]", "reshape(%x) {shape=[B,4,-1]}", NULL, "no whole size fits"},
    {"x: f32[2,6]", "reshape(%x) {shape=[-1,-1]}", NULL, "one is allowed"},
    {"x: f32[2,6]", "reshape(%x) {shape=[-2]}", NULL, "must not be negative"},
    {"x: f32[2,6]", "reshape(%x) {shape=[5]}", NULL, "does not have the elements of"},
    {"x: f32[2,6]", "reshape(%x) {shape=[5,-1]}", NULL, "no whole size fits"},
    {"x: f32[2,6]", "reshape(%x) {shape=[0,-1]}", NULL, "any size would do"},
    {"x: f32[2,6]", "reshape(%x) {shape=[0,5]}", NULL, "does not have the elements of"},
    {"x: f32[0,6]", "reshape(%x) {shape=[0,5]}", "f32[0,5]", NULL},
    {"x: f32[0,6]", "reshape(%x) {shape=[0,-1]}", "f32[0,6]", NULL},
    {"x: f32[2]", "reshape(%x) {shape=[9223372036854775807,9223372036854775807,-1]}", NULL, "too many to count"},
    {"param x: q4_0[2,32]", "reshape(%x) {shape=[64]}", NULL, "keeps its last axis"},
    {"param x: q4_0[2,3,32]", "reshape(%x) {shape=[6,32]}", "q4_0[6,32]", NULL},
    {"param x: q5_0[2,32]", "reshape(%x) {shape=[1,2,32]}", NULL, "only q8_0 and q4_0 are reshaped"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_moves) {
  static const rule rules[] = {
    {"x: f32[B,2,S]", "transpose(%x)", "f32[S,2,B]", NULL},
    {"x: f32[B,2,S]", "transpose(%x) {perm=[1,-1,0]}", "f32[2,S,B]", NULL},
    {"x: f32[2,3]", "transpose(%x) {perm=[0]}", NULL, "perm has 1 entries"},
    {"x: f32[2,3]", "transpose(%x) {perm=[1,1]}", NULL, "named twice"},
    {"x: f32[2,3]", "transpose(%x) {perm=[0,2]}", NULL, "axis 2 is not in"},
    {"x: f32[B,S]", "slice(%x) {start=[0], stop=[9223372036854775807]}", "f32[B,S]", NULL},
    {"x: f32[B,S]", "slice(%x) {start=[-1], stop=[-9000000000000000000], step=[-1]}", "f32[B,S]", NULL},
    {"x: f32[B,S]", "slice(%x) {start=[0], stop=[B]}", "f32[B,S]", NULL},
    {"x: f32[B,S]", "slice(%x) {axes=[1], start=[0], stop=[4]}", "f32[B,?]", NULL},
    {"x: f32[9,S]", "slice(%x) {start=[0], stop=[S]}", "f32[?,S]", NULL},
    {"x: f32[9]", "slice(%x) {start=[0,0], stop=[1,1]}", NULL, "cuts 2 axes"},
    {"x: f32[9,9]", "slice(%x) {start=[0,0], stop=[1]}", NULL, "start, stop, axes and step have 2, 1, 0 and 0 entries"},
    {"x: f32[9,9]", "slice(%x) {axes=[0], start=[0,0], stop=[1,1]}", NULL, "entries"},
    {"x: f32[9]", "slice(%x) {start=[0], stop=[1], step=[0]}", NULL, "step of axis 0 is 0"},
    {"x: f32[9,9]", "slice(%x) {axes=[1,-1], start=[0,0], stop=[1,1]}", NULL, "named twice"},
    {"x: f32[B,3]; u: f32[S,3]", "concat(%x, %u)", "f32[?,3]", NULL},
    {"x: f32[B,3]; u: f32[S,4]", "concat(%x, %u) {axis=1}", "f32[B,7]", NULL},
    {"x: f32[B,3]; u: f32[2,4]", "concat(%x, %u) {axis=1}", "f32[2,7]", NULL},
    {"x: f32[2,3]; u: f32[2,4]", "concat(%x, %u)", NULL, "input 1 is [2,4], which does not join [2,3] along axis 0"},
    {"x: f32[2,3]; u: f32[2]", "concat(%x, %u)", NULL, "does not join"},
    {"x: f32[2,3]", "concat()", NULL, "at least 1 input"},
    {"x: f32[]; u: f32[]", "concat(%x, %u)", NULL, "axis 0 is not in"},
    {"x: f32[1,3]", "expand(%x) {shape=[B,S,3]}", "f32[B,S,3]", NULL},
    {"x: f32[1,3]", "expand(%x) {shape=[B,S,-1]}", "f32[B,S,3]", NULL},
    {"x: f32[B,1]", "expand(%x) {shape=[-1,S]}", "f32[B,S]", NULL},
    {"x: f32[B]", "expand(%x) {shape=[7]}", "f32[7]", NULL},
    {"x: f32[4]", "expand(%x) {shape=[S]}", "f32[4]", NULL},
    {"x: f32[3]", "expand(%x) {shape=[1]}", NULL, "does not broadcast to [1]"},
    {"x: f32[3]", "expand(%x) {shape=[-1,3]}", NULL, "must not be negative"},
    {"x: f32[3,3]", "expand(%x) {shape=[3]}", NULL, "fewer axes"},
    {"x: f32[B,3]", "tile(%x) {reps=[1,2]}", "f32[B,6]", NULL},
    {"x: f32[B,3]", "tile(%x) {reps=[2,2]}", "f32[?,6]", NULL},
    {"x: f32[2,3]", "tile(%x) {reps=[2]}", NULL, "reps has 1 entries"},
    {"x: f32[2]", "tile(%x) {reps=[-1]}", NULL, "must not be negative"},
    {"x: f32[2]", "tile(%x) {reps=[9223372036854775807]}", NULL, "overflows"},
    {"x: f32[2]", "tile(%x) {reps=[4000000000000000000]}", NULL, "overflow"},
    {"x: f32[B,3]", "pad(%x) {lo=[0,1], hi=[0,1]}", "f32[B,5]", NULL},
    {"x: f32[B,3]", "pad(%x) {lo=[1,1], hi=[0,1]}", "f32[?,5]", NULL},
    {"x: f32[3]", "pad(%x) {lo=[1,1], hi=[0]}", NULL, "lo has 2 entries"},
    {"x: f32[3]", "pad(%x) {lo=[1]}", NULL, "hi has 0 entries"},
    {"x: f32[3]", "pad(%x) {lo=[-1], hi=[1]}", NULL, "must not be negative"},
    {"x: f32[3]", "pad(%x) {lo=[9223372036854775807], hi=[1]}", NULL, "overflow"},
    {"x: f32[0]", "pad(%x) {lo=[1], hi=[1], mode=edge}", NULL, "only constant mode"},
    {"x: f32[3,3]", "reverse(%x) {axes=[0,-2]}", NULL, "named twice"},
    {"x: f32[3,3]", "reverse(%x) {axes=[2]}", NULL, "axis 2 is not in"},
    {"x: f32[3,3]", "roll(%x) {shifts=[1], axes=[]}", NULL, "1 shifts for 0 axes"},
    {"x: f32[3,3]", "roll(%x) {shifts=[1], axes=[2]}", NULL, "axis 2 is not in"},
    {"x: f32[B,3]", "roll(%x) {shifts=[B], axes=[0]}", NULL, "must be a number"},
    {"x: f32[B,3]", "slice(%x) {start=[0], stop=[1], step=[B]}", NULL, "must be a number"},
    {"x: f32[3]", "trilu(%x)", NULL, "two axes or more"},
    {"x: f32[N,3,H,4]", "space_to_depth(%x)", "f32[N,12,?,2]", NULL},
    {"x: f32[N,3,H,W]", "space_to_depth(%x) {block=1}", "f32[N,3,H,W]", NULL},
    {"x: f32[1,3,4,5]", "space_to_depth(%x)", NULL, "does not divide"},
    {"x: f32[3,4,5]", "space_to_depth(%x)", NULL, "rank 4"},
    {"x: f32[1,3,4,4]", "space_to_depth(%x) {block=0}", NULL, "must be 1 or more"},
    {"x: f32[1,3,0,0]", "space_to_depth(%x) {block=4000000000}", NULL, "overflow"},
    {"x: f32[N,C,2,W]", "depth_to_space(%x)", "f32[N,?,4,?]", NULL},
    {"x: f32[1,6,4,4]", "depth_to_space(%x)", NULL, "does not divide"},
    {"x: f32[1,0,4,4]", "depth_to_space(%x) {block=9223372036854775807}", NULL, "overflow"},
    {"x: f32[1,4,4,4]", "depth_to_space(%x) {block=-2}", NULL, "must be 1 or more"},
    {"x: c64[B,1,1,1,1,1,1]", "view_as_real(%x)", "f32[B,1,1,1,1,1,1,2]", NULL},
    {"x: c64[B,1,1,1,1,1,1,1]", "view_as_real(%x)", NULL, "would pass rank 8"},
    {"x: f32[B,2]", "view_as_complex(%x)", "c64[B]", NULL},
    {"x: f32[B,3]", "view_as_complex(%x)", NULL, "last axis must be 2"},
    {"x: f32[]", "view_as_complex(%x)", NULL, "last axis must be 2"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_indexing) {
  static const rule rules[] = {
    {"x: f16[V,8]; i: i32[B,S]", "gather(%x, %i)", "f16[B,S,8]", NULL},
    {"x: f32[2,V,3]; i: i64[]", "gather(%x, %i) {axis=1}", "f32[2,3]", NULL},
    {"param x: q4_0[V,32]; i: i32[S]", "gather(%x, %i)", "f32[S,32]", NULL},
    {"param x: q4_0[4,32]; i: i32[2]", "gather(%x, %i) {axis=1}", NULL, "only rows"},
    {"param x: q4_0[32]; i: i32[2]", "gather(%x, %i)", NULL, "only rows"},
    {"x: f32[4]; i: i16[2]", "gather(%x, %i)", NULL, "must be i32 or i64"},
    {"x: f32[]; i: i32[2]", "gather(%x, %i)", NULL, "axis 0 is not in"},
    {"x: f32[1,1,1,1,1]; i: i32[1,1,1,1,1]", "gather(%x, %i)", NULL, "more than 8 axes"},
    {"x: f32[B,3]; i: i32[7,S]", "gather_elements(%x, %i)", "f32[7,S]", NULL},
    {"x: f32[2,3]; i: i32[7,4]", "gather_elements(%x, %i)", NULL, "idx may not be larger"},
    {"x: f32[2,3]; i: i32[7]", "gather_elements(%x, %i)", NULL, "one rank"},
    {"x: f32[2,B,3]; i: i32[S,2]", "gather_nd(%x, %i)", "f32[S,3]", NULL},
    {"x: f32[B,4,3]; i: i32[B,S,1]", "gather_nd(%x, %i) {batch_dims=1}", "f32[B,S,3]", NULL},
    {"x: f32[2,4]; i: i32[S,K]", "gather_nd(%x, %i)", NULL, "must be 1..2"},
    {"x: f32[2,4]; i: i32[5,3]", "gather_nd(%x, %i)", NULL, "must be 1..2"},
    {"x: f32[2,4]; i: i32[5,0]", "gather_nd(%x, %i)", NULL, "must be 1..2"},
    {"x: f32[2,4]; i: i32[3,1]", "gather_nd(%x, %i) {batch_dims=1}", NULL, "differ on axis 0"},
    {"x: f32[2,4]; i: i32[2,1]", "gather_nd(%x, %i) {batch_dims=2}", NULL, "batch_dims is 2"},
    {"x: f32[2,4]; i: i32[2,1]", "gather_nd(%x, %i) {batch_dims=-1}", NULL, "batch_dims is -1"},
    {"x: f32[2,4]; i: i32[]", "gather_nd(%x, %i)", NULL, "neither may be a scalar"},
    {"x: f32[1,1,1,1,1,1]; i: i32[1,1,1,1,1,1]", "gather_nd(%x, %i)", NULL, "more than 8 axes"},
    {"x: f32[B,3]; i: i32[S,3]; u: f32[S,3]", "scatter_elements(%x, %i, %u)", "f32[B,3]", NULL},
    {"x: f32[2,3]; i: i32[2,3]; u: f32[1,3]", "scatter_elements(%x, %i, %u)", NULL, "is [1,3] but must be [2,3]"},
    {"x: f32[2,3]; i: i32[2,4]; u: f32[2,4]", "scatter_add(%x, %i, %u)", NULL, "idx may not be larger"},
    {"x: f32[2]; i: i32[2]; u: f16[2]", "scatter_add(%x, %i, %u)", NULL, "must be f32"},
    {"x: bool[2]; i: i32[2]; u: bool[2]", "scatter_add(%x, %i, %u)", NULL, "does not take bool"},
    {"x: f32[B,3]; i: i32[S,1]; u: f32[S,3]", "scatter_nd(%x, %i, %u)", "f32[B,3]", NULL},
    {"x: f32[4,3]; i: i32[5,1]; u: f32[5]", "scatter_nd(%x, %i, %u)", NULL, "updates) is [5] but must be [5,3]"},
    {"x: f32[4,3]; i: i32[5,3]; u: f32[5]", "scatter_nd(%x, %i, %u)", NULL, "must be 1..2"},
    {"i: i32[B,S]", "one_hot(%i) {depth=7, axis=1, to=bool}", "bool[B,7,S]", NULL},
    {"i: i32[2]", "one_hot(%i) {depth=-1}", NULL, "depth is -1"},
    {"i: i32[2]", "one_hot(%i) {depth=9223372036854775807}", NULL, "overflow"},
    {"i: i32[2]", "one_hot(%i) {depth=3, axis=2}", NULL, "axis 2 is not in"},
    {"i: i32[2]", "one_hot(%i) {depth=3, to=q4_0}", NULL, "not q4_0"},
    {"i: i32[1,1,1,1,1,1,1,1]", "one_hot(%i) {depth=3}", NULL, "would pass rank 8"},
    {"", "symbols S; range() {count=[S], to=f16}", "f16[S]", NULL},
    {"", "range() {count=[]}", NULL, "must have one"},
    {"", "range() {count=[1,2]}", NULL, "must have one"},
    {"", "range() {count=[-1]}", NULL, "at least 0"},
    {"", "range() {count=[9223372036854775807]}", NULL, "overflow"},
    {"", "range() {count=[3], step=inf}", NULL, "must be finite"},
    {"", "range() {count=[3], start=nan}", NULL, "must be finite"},
    {"", "range() {count=[3], to=bool}", NULL, "gives numbers, not bool"},
    {"state x: f32[B,9,4]; u: f32[B,S,4]; i: i32[B]", "update(%x, %u, %i) {axis=1}", "f32[B,9,4]", NULL},
    {"state x: f32[2,9]; u: f32[2,10]; i: i32[]", "update(%x, %u, %i) {axis=1}", NULL, "do not fit along axis 1"},
    {"state x: f32[2,9]; u: f32[1,9]; i: i32[]", "update(%x, %u, %i) {axis=1}", NULL, "do not fit"},
    {"state x: f32[9]; u: f32[1,9]; i: i32[]", "update(%x, %u, %i)", NULL, "do not fit"},
    {"state x: f32[9,2]; u: f32[3,2]; i: i32[9]", "update(%x, %u, %i)", NULL, "must be a scalar"},
    {"state x: f32[4,9]; u: f32[4,3]; i: i32[3]", "update(%x, %u, %i) {axis=1}", NULL, "must be a scalar"},
    {"state x: f32[B,9,4]; u: f32[N,4]; i: i32[N]", "update(%x, %u, %i) {axis=1}", "f32[B,9,4]", NULL},
    {"state x: f32[4,9,2]; u: f32[3,2]; i: i32[4]", "update(%x, %u, %i) {axis=1}", NULL, "at) is [4] but must be [3]"},
    {"state x: f32[4,9,2]; u: f32[3,2]; i: i32[]", "update(%x, %u, %i) {axis=1}", NULL, "at) is [] but must be [3]"},
    {"state x: f32[4,9,2]; u: f32[3,4]; i: i32[3]", "update(%x, %u, %i) {axis=1}", NULL, "but must be [3,2]"},
    {"state x: f32[4,9,2]; u: f32[3,2]; i: i32[3]", "update(%x, %u, %i) {axis=0}", NULL, "but must be [3,9,2]"},
    {"state x: f32[4,9,2]; u: f32[3]; i: i32[3]", "update(%x, %u, %i) {axis=1}", NULL, "but must be [3,2]"},
    {"state x: f32[]; u: f32[]; i: i32[]", "update(%x, %u, %i)", NULL, "axis 0 is not in"},
    {"x: f32[4]; u: f32[2]; i: i32[]", "update(%x, %u, %i)", NULL, "not a state"},
  };
  CHECK_RULES(rules);
}
// clang-format on

/* Values that only a program can pass: below every size, where symbols are encoded. */
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
      if (y || s != RLX_INVALID) FAIL("%s took %lld", rlx_op_table_get(calls[k].op)->name, (long long)v);
    }
  }
}

/* ---- binding ---- */

static rlx_status bound_shape(const char *leaves, const char *node, int64_t b, rlx_dims *out) {
  rlx_graph *g, *bound = NULL;
  RLX_TRY(expr_graph(leaves, node, &g));
  rlx_status s = rlx_graph_bind(g, &(rlx_binding){"B", b}, 1, &bound);
  if (!s) *out = rlx_node_shape(bound, rlx_graph_output_at(bound, 0, NULL));
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
  return s;
}

TEST(a_template_means_the_same_when_bound_to_0) {
  rlx_dims shape;
  for (int64_t b = 0; b < 3; b++) {
    CHECK_OK(bound_shape("x: f32[B,64]", "reshape(%x) {shape=[B,-1,16]}", b, &shape));
    CHECK(rlx_dims_equal(&shape, &RLX_DIMS(b, 4, 16)));
  }
  static const struct { int64_t b, size; } cuts[] = {{5, 3}, {100, 7}, {0, 0}};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(bound_shape("x: f32[9]; c: f32[B]", "slice(%x) {start=[2], stop=[B]}", cuts[i].b, &shape));
    CHECK(rlx_dims_equal(&shape, &RLX_DIMS(cuts[i].size)));
  }
  const char *leaves = "x: f32[4]; c: f32[B]", *wide = "expand(%x) {shape=[B]}";
  CHECK_OK(bound_shape(leaves, wide, 4, &shape));
  CHECK_FAILS(bound_shape(leaves, wide, 5, &shape), RLX_INVALID, "does not broadcast to [5]");
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
      /* An element belongs to the slice if it is inside both ends and an integral number of steps from the first. */
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
      /* Step one position at a time from the middle and reverse at the ends. */
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

/* The last leaf of the line is the index: all of its elements are `index`. */
static rlx_status run_with_index(const char *leaves, const char *node, int32_t index) {
  char line[256];
  snprintf(line, sizeof line, "%s values(%d)", leaves, (int)index);
  return expr_runs(line, node);
}

TEST(indices_out_of_range_are_errors) {
  static const struct {
    const char *leaves, *node;
    int32_t lo, hi; /* the smallest and the largest valid index */
  } calls[] = {
    {"x: f32[3,2]; i: i32[2]", "gather(%x, %i)", -3, 2},
    {"x: f32[2,5]; i: i32[]", "gather(%x, %i) {axis=1}", -5, 4},
    {"param x: q8_0[3,32]; i: i32[2]", "gather(%x, %i)", -3, 2},
    {"x: f32[3,2]; i: i32[1,2]", "gather_elements(%x, %i)", -3, 2},
    {"x: f32[3,4]; i: i32[2,1]", "gather_nd(%x, %i)", -3, 2},
    {"x: f32[3,4]; i: i32[2,2]", "gather_nd(%x, %i)", -3, 2},
    {"x: f32[2,4]; i: i32[2,1]", "gather_nd(%x, %i) {batch_dims=1}", -4, 3},
    {"x: f32[3,2]; u: f32[1,2]; i: i32[1,2]", "scatter_elements(%x, %i, %u)", -3, 2},
    {"x: i8[3,2]; u: i8[1,2]; i: i32[1,2]", "scatter_elements(%x, %i, %u) {axis=1, reduction=mul}", -2, 1},
    {"x: f16[3,2]; u: f16[1,2]; i: i32[1,2]", "scatter_add(%x, %i, %u)", -3, 2},
    {"x: f32[3,4]; u: f32[2]; i: i32[2,2]", "scatter_nd(%x, %i, %u)", -3, 2},
    {"state x: f32[5,2]; u: f32[2,2]; i: i32[]", "update(%x, %u, %i)", 0, 3},
    {"state x: f32[2,5]; u: f32[2,1]; i: i32[2]", "update(%x, %u, %i) {axis=1}", 0, 4},
    {"state x: f32[2,5]; u: f32[2,0]; i: i32[2]", "update(%x, %u, %i) {axis=1}", 0, 5},
  };
  for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
    const char *leaves = calls[k].leaves, *node = calls[k].node;
    CHECK_OK(run_with_index(leaves, node, calls[k].lo));
    CHECK_OK(run_with_index(leaves, node, calls[k].hi));
    const int32_t wrong[] = {calls[k].lo - 1, calls[k].hi + 1, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++)
      CHECK_FAILS(run_with_index(leaves, node, wrong[i]), RLX_INVALID,
                  strstr(node, "update") ? "do not fit" : "is not in");
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
  for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++)
    CHECK_OK(expr_runs("x: i8[0,4000000000000000000]; i: i32[0]; j: i32[0,1]", nodes[k]));
  CHECK_OK(expr_runs("i: i32[4000000000000000000,0]", "one_hot(%i) {depth=2}"));
}

/* ---- allocation ---- */

static rlx_status move_and_index(void *user) {
  (void)user;
  return expr_runs(
    "x: f32[3,4]; u: f32[2,4]; state s: f32[3,4]; p: i32[] values(1); i: i32[2,4] values(1)",
    "%a = scatter_add(%x, %i, %u); %b = pad(%a) {lo=[0,1], hi=[0,1], mode=edge};"
    "%c = slice(%b) {axes=[1], start=[1], stop=[5]}; %d = slice(%c) {start=[0], stop=[1]}; %e = update(%s, %d, %p);"
    "%f = transpose(%e); %g = gather_elements(%c, %i); %h = gather(%f, %i); %r = reduce_sum(%h) {axes=[2]};"
    "add(%g, %r)");
}

TEST(allocations_may_fail) { CHECK_OK(alloc_sweep(move_and_index, NULL)); }
