/* What shape inference of sequence models and random ops rejects, including on templates. The conformance cases check
 * values. */
#include "rules.h"
#include "test.h"

/* clang-format off */
static const rule refused[] = {
    /* recurrent */
#define RNN_LEAVES "x: f32[5,2,3]; a: f32[4,3]; b: f32[4,4]; c: f32[4]"
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=0}", NULL, "hidden is 0"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=-9223372036854775808}", NULL, "hidden is"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=4, layers=0}", NULL, "layers is 0"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=4, layers=9223372036854775807}", NULL, "got 4 weights"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c) {hidden=4}", NULL, "got 3 weights"},
    {RNN_LEAVES, "rnn(%x) {hidden=4}", NULL, "got 0 weights"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b) {hidden=4}", NULL, "got 2 weights"},
    {RNN_LEAVES, "rnn(%x, _, %a, %a, %c, %c) {hidden=4}", NULL, "input 3 (weights) is [4,3] but must be [4,4]"},
    {RNN_LEAVES, "rnn(%x, _, %a, %b, %c, %c) {hidden=5}", NULL, "input 2 (weights) is [4,3] but must be [5,3]"},
    {RNN_LEAVES, "rnn(%x, %x, %a, %b, %c, %c) {hidden=4}", NULL, "input 1 (h0) is [5,2,3] but must be [1,2,4]"},
    {RNN_LEAVES, "rnn(%a, _, %a, %b, %c, %c) {hidden=4}", NULL, "input 0 (x) is [4,3]"},
    {RNN_LEAVES, "rnn(%x, _, %a, _, %c, %c) {hidden=4}", NULL, "is missing"},
    {RNN_LEAVES, "gru(%x, _, %a, %b, %c, %c) {hidden=4}", NULL, "must be [12,3]"},
    {RNN_LEAVES, "lstm(%x, _, _, %a, %b, %c, %c) {hidden=4}", NULL, "must be [16,3]"},
    {RNN_LEAVES, "lstm(%x, _, _, %a, %b, %c, %c) {hidden=9223372036854775807}", NULL, "too large"},
    /* scans */
#define SCAN_LEAVES                                                                                                 \
  "x: f32[2,5,4]; a: f32[4,3]; b: f32[2,5,3]; d: f32[3]; h: f32[2,4,3]; m: f32[2,5,4,6]; n: f32[4]; g: f32[2,5,3,7];" \
  "z: f32[2,5,0,7]; w: f32[5,0]; v: f32[5,3]"
    {SCAN_LEAVES, "selective_scan(%x, %b, %a, %b, %b)", NULL, "input 1 (dt) is [2,5,3] but must be [2,5,4]"},
    {SCAN_LEAVES, "selective_scan(%x, %x, %a, %b, %b, %d)", NULL, "input 5 (d) is [3] but must be [4]"},
    {SCAN_LEAVES, "selective_scan(%x, %x, %a, %b, %b, _, %x)", NULL, "input 6 (h0) is [2,5,4] but must be [2,4,3]"},
    {SCAN_LEAVES, "selective_scan(%x, %x, %a, %b)", NULL, "takes at least 5 inputs"},
    {SCAN_LEAVES, "mamba2(%m, %x, %n, %g, %g)", NULL, "3 groups do not divide 4 heads"},
    {SCAN_LEAVES, "mamba2(%m, %x, %n, %z, %z)", NULL, "no groups"},
    {SCAN_LEAVES, "mamba2(%m, %x, %d, %g, %g)", NULL, "input 2 (a) is [3] but must be [4]"},
    {SCAN_LEAVES, "gated_delta_net(%m, %m, %g, %x, %x)", NULL, "input 2 (v) is [2,5,3,7]"},
    {SCAN_LEAVES, "gated_delta_net(%m, %m, %m, %x, %x, %h)", NULL, "input 5 (h0) is [2,4,3]"},
    {SCAN_LEAVES, "causal_conv(%x, %w)", NULL, "the kernel is empty"},
    {SCAN_LEAVES, "causal_conv(%x, %a)", NULL, "input 1 (w) is [4,3] but must be [5,?]"},
    {SCAN_LEAVES, "causal_conv(%x, %v, _, %x)", NULL, "input 3 (state) keeps 4 elements but a kernel of 3 needs 2"},
    /* random */
#define RANDOM_LEAVES "x: f32[2,5]; s: f32[]; e: f32[2,0]; d: i64[1]"
    {RANDOM_LEAVES, "rng_uniform() {shape=[-1]}", NULL, "axis 0 of [-1] is negative"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[4611686018427387904,4]}", NULL, "overflow"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], to=i32}", NULL, "gives a float type, not i32"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], lo=2, hi=1}", NULL, "not a finite range"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], lo=nan}", NULL, "not a finite range"},
    {RANDOM_LEAVES, "rng_uniform() {shape=[2], lo=-1.7e308, hi=1.7e308}", NULL, "not a finite range"},
    {RANDOM_LEAVES, "rng_uniform(%d) {shape=[2]}", NULL, "must have rank 0"},
    {RANDOM_LEAVES, "rng_uniform(%s) {shape=[2]}", NULL, "must be i32 or i64"},
    {RANDOM_LEAVES, "rng_normal() {shape=[2], mean=inf}", NULL, "mean is inf"},
    {RANDOM_LEAVES, "rng_normal() {shape=[2], std=-1}", NULL, "std is -1"},
    {RANDOM_LEAVES, "sample(%s)", NULL, "is a scalar"},
    {RANDOM_LEAVES, "sample(%e)", NULL, "the last axis must have"},
    {RANDOM_LEAVES, "sample(%x, %d)", NULL, "must have rank 0"},
    {RANDOM_LEAVES, "sample(%x) {temperature=-0.5}", NULL, "temperature: expected a number from 0 to 1000, got -0.5"},
    {RANDOM_LEAVES, "sample(%x) {temperature=nan}", NULL, "temperature: expected a number from 0 to 1000, got nan"},
    {RANDOM_LEAVES, "sample(%x) {top_k=-1}", NULL, "top_k: expected a whole number from 0 to 2147483647, got -1"},
    {RANDOM_LEAVES, "sample(%x) {top_p=1.5}", NULL, "top_p: expected a number from 0 to 1, got 1.5"},
    {RANDOM_LEAVES, "sample(%x) {min_p=nan}", NULL, "min_p: expected a number from 0 to 1, got nan"},
};
/* clang-format on */

TEST(rules_refuse) { CHECK_RULES(refused); }

/* clang-format off */
TEST(templates_give_what_they_know) {
  static const rule rules[] = {
    {"x: f32[S,B,3]; a: f32[4,3]; b: f32[4,4]", "rnn(%x, _, %a, %b) {hidden=4, bias=false}", "f32[S,B,4]", NULL},
    /* the length is a symbol in x and a number in b: the number is the more precise one */
    {"x: f32[B,L,H,6]; t: f32[2,5,H]; a: f32[H]; b: f32[2,5,1,3]", "mamba2(%x, %t, %a, %b, %b)", "f32[2,5,H,6]", NULL},
    {"x: f32[B,L,H,6]; t: f32[3,5,H]; a: f32[H]; b: f32[2,5,1,3]", "mamba2(%x, %t, %a, %b, %b)", NULL, "input 3 (b)"},
    {"x: f32[B,C,L]; w: f32[C,K]", "causal_conv(%x, %w) {out=state}", "f32[B,C,?]", NULL},
    {"x: f32[B,V]", "sample(%x)", "i32[B]", NULL},
    {"x: f32[B]", "rng_uniform() {shape=[B,3]}", "f32[B,3]", NULL},
  };
  CHECK_RULES(rules);
}
/* clang-format on */
