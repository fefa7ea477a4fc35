/* What the rules of sequence models and random ops refuse, and that they do so on templates too. Their values are
 * checked by the conformance cases. */
#include <stdio.h>

#include "ir/graph.h"
#include "test.h"

/* Parses "graph { <leaves> %y = <expr> ...". */
static rlx_status parse(const char *leaves, const char *expr, rlx_dims *shape) {
  char text[4096];
  rlx_graph *g = NULL;
  snprintf(text, sizeof text, "graph { %s; %%y = %s; output \"y\" = %%y }", leaves, expr);
  rlx_status s = rlx_graph_parse(text, strlen(text), &g);
  if (!s && shape) *shape = rlx_node_shape(g, rlx_graph_output(g, 0, NULL));
  rlx_graph_destroy(g);
  return s;
}

/* clang-format off */
static const struct {
  const char *leaves, *expr, *part;
} refused[] = {
    /* recurrent */
#define RNN_LEAVES "%x = input \"x\" : f32[5,2,3]; %a = input \"a\" : f32[4,3]; %b = input \"b\" : f32[4,4]; %c = input \"c\" : f32[4]"
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=0}", "hidden is 0"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=-9223372036854775808}", "hidden is"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=4, layers=0}", "layers is 0"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=4, layers=9223372036854775807}", "got 4 weights"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c) {hidden=4}", "got 3 weights"},
    {RNN_LEAVES, "rnn(%x) {hidden=4}", "got 0 weights"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b) {hidden=4}", "got 2 weights"},
    {RNN_LEAVES, "rnn(%x, _, %a, %a, %c, %c) {hidden=4}", "input 3 (weights) is [4,3] but must be [4,4]"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=5}", "input 2 (weights) is [4,3] but must be [5,3]"},
    {RNN_LEAVES, "rnn(%x, %x, %a, %b, %c, %c) {hidden=4}", "input 1 (h0) is [5,2,3] but must be [1,2,4]"},
    {RNN_LEAVES, "rnn(%a, _, %a, %b, %c, %c) {hidden=4}", "input 0 (x) is [4,3]"},
    {RNN_LEAVES, "rnn(%x, _, %a, _, %c, %c) {hidden=4}", "is missing"},
    {RNN_LEAVES, "gru(%x, _, %a, %b, %c, %c) {hidden=4}", "must be [12,3]"},
    {RNN_LEAVES, "lstm(%x, _, _, %a, %b, %c, %c) {hidden=4}", "must be [16,3]"},
    {RNN_LEAVES, "lstm(%x, _, _, %a, %b, %c, %c) {hidden=9223372036854775807}", "too large"},
    /* scans */
#define SCAN_LEAVES                                                                                                     \
  "%x = input \"x\" : f32[2,5,4]; %a = input \"a\" : f32[4,3]; %b = input \"b\" : f32[2,5,3]; %d = input \"d\" : f32[3]; " \
  "%h = input \"h\" : f32[2,4,3]; %m = input \"m\" : f32[2,5,4,6]; %n = input \"n\" : f32[4]; %g = input \"g\" : f32[2,5,3,7]; " \
  "%z = input \"z\" : f32[2,5,0,7]; %w = input \"w\" : f32[5,0]; %v = input \"v\" : f32[5,3]"
    {SCAN_LEAVES, "selective_scan(%x, %b, %a, %b, %b)", "input 1 (dt) is [2,5,3] but must be [2,5,4]"},
    {SCAN_LEAVES, "selective_scan(%x, %x, %a, %b, %b, %d)", "input 5 (d) is [3] but must be [4]"},
    {SCAN_LEAVES, "selective_scan(%x, %x, %a, %b, %b, _, %x)", "input 6 (h0) is [2,5,4] but must be [2,4,3]"},
    {SCAN_LEAVES, "selective_scan(%x, %x, %a, %b)", "takes at least 5 inputs"},
    {SCAN_LEAVES, "mamba2(%m, %x, %n, %g, %g)", "3 groups do not divide 4 heads"},
    {SCAN_LEAVES, "mamba2(%m, %x, %n, %z, %z)", "no groups"},
    {SCAN_LEAVES, "mamba2(%m, %x, %d, %g, %g)", "input 2 (a) is [3] but must be [4]"},
    {SCAN_LEAVES, "gated_delta_net(%m, %m, %g, %x, %x)", "input 2 (v) is [2,5,3,7]"},
    {SCAN_LEAVES, "gated_delta_net(%m, %m, %m, %x, %x, %h)", "input 5 (h0) is [2,4,3]"},
    {SCAN_LEAVES, "causal_conv(%x, %w)", "the kernel is empty"},
    {SCAN_LEAVES, "causal_conv(%x, %a)", "input 1 (w) is [4,3] but must be [5,?]"},
    {SCAN_LEAVES, "causal_conv(%x, %v, _, %x)", "input 3 (state) keeps 4 elements but a kernel of 3 needs 2"},
    /* random */
#define RANDOM_LEAVES "%x = input \"x\" : f32[2,5]; %s = input \"s\" : f32[]; %e = input \"e\" : f32[2,0]; %d = input \"d\" : i64[1]"
    {RANDOM_LEAVES, "rng_uniform() {shape=[-1]}", "axis 0 of [-1] is negative"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[4611686018427387904,4]}", "overflow"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], to=i32}", "gives a float type, not i32"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], lo=2, hi=1}", "not a finite range"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], lo=nan}", "not a finite range"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], lo=-1.7e308, hi=1.7e308}", "not a finite range"},
    {RANDOM_LEAVES, "rng_uniform(%d) {shape=[2]}", "must have rank 0"},
    {RANDOM_LEAVES, "rng_uniform(%s) {shape=[2]}", "must be i32 or i64"},
    {RANDOM_LEAVES, "rng_normal() {shape=[2], mean=inf}", "mean is inf"},
    {RANDOM_LEAVES, "rng_normal() {shape=[2], std=-1}", "std is -1"},
    {RANDOM_LEAVES, "sample(%s)", "is a scalar"},
    {RANDOM_LEAVES, "sample(%e)", "the last axis must have"},
    {RANDOM_LEAVES, "sample(%x, %d)", "must have rank 0"},
    {RANDOM_LEAVES, "sample(%x) {temperature=-0.5}", "temperature is -0.5"},
    {RANDOM_LEAVES, "sample(%x) {temperature=nan}", "temperature is nan"},
    {RANDOM_LEAVES, "sample(%x) {top_k=-1}", "top_k is -1"},
    {RANDOM_LEAVES, "sample(%x) {top_p=1.5}", "top_p is 1.5"},
    {RANDOM_LEAVES, "sample(%x) {min_p=nan}", "min_p is nan"},
};
/* clang-format on */

TEST(rules_refuse) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    CHECK_FAILS(parse(refused[i].leaves, refused[i].expr, NULL), RLX_INVALID, refused[i].part);
}

TEST(templates_give_what_they_know) {
  rlx_dims y;
  CHECK_OK(parse("%x = input \"x\" : f32[S,B,3]; %a = input \"a\" : f32[4,3]; %b = input \"b\" : f32[4,4]",
                 "rnn(%x, _, %a, %b) {hidden=4, bias=false}", &y));
  CHECK(y.n == 3 && rlx_dim_is_symbol(y.v[0]) && rlx_dim_is_symbol(y.v[1]) && y.v[2] == 4);
  /* The length is a symbol in x and a number in b: the number is the better answer. */
  CHECK_OK(parse(
    "%x = input \"x\" : f32[B,L,H,6]; %t = input \"t\" : f32[2,5,H]; %a = input \"a\" : f32[H]; %b = input \"b\" : f32[2,5,1,3]",
    "mamba2(%x, %t, %a, %b, %b)", &y));
  CHECK(y.v[0] == 2 && y.v[1] == 5 && rlx_dim_is_symbol(y.v[2]) && y.v[3] == 6);
  CHECK_FAILS(
    parse(
      "%x = input \"x\" : f32[B,L,H,6]; %t = input \"t\" : f32[3,5,H]; %a = input \"a\" : f32[H]; %b = input \"b\" : f32[2,5,1,3]",
      "mamba2(%x, %t, %a, %b, %b)", &y),
    RLX_INVALID, "input 3 (b)");
  CHECK_OK(parse("%x = input \"x\" : f32[B,C,L]; %w = input \"w\" : f32[C,K]", "causal_conv(%x, %w) {out=state}", &y));
  CHECK(y.v[2] == RLX_DIM_UNKNOWN);
  CHECK_OK(parse("%x = input \"x\" : f32[B,V]", "sample(%x)", &y));
  CHECK(y.n == 1 && rlx_dim_is_symbol(y.v[0]));
  CHECK_OK(parse("%x = input \"x\" : f32[B]", "rng_uniform() {shape=[B,3]}", &y));
  CHECK(rlx_dim_is_symbol(y.v[0]));
}
