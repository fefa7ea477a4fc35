/* Cases of sequence models: recurrent cells, linear scans, the causal convolution. */
#include "conform/conform.h"

/* clang-format off */
/* The weights of one layer in one direction: R rows (gates x hidden), I inputs, H hidden. */
#define PLAIN_CELL(n, t, r, i, h) "; wi" #n ": " t "[" #r "," #i "]; wh" #n ": " t "[" #r "," #h "]"
#define CELL(n, t, r, i, h) PLAIN_CELL(n, t, r, i, h) "; bi" #n ": " t "[" #r "]; bh" #n ": " t "[" #r "]"
#define PLAIN_ARGS(n) ", %wi" #n ", %wh" #n
#define ARGS(n) PLAIN_ARGS(n) ", %bi" #n ", %bh" #n

CASES(rnn,
  {"tiny", "x: f32[1,1,1]" CELL(0, "f32", 1, 1, 1), "rnn(%x, _" ARGS(0) ") {hidden=1}"},
  {"plain", "x: f32[5,3,4]" CELL(0, "f32", 7, 4, 7), "rnn(%x, _" ARGS(0) ") {hidden=7}"},
  {"final_state", "x: f32[5,3,4]" CELL(0, "f32", 7, 4, 7), "rnn(%x, _" ARGS(0) ") {hidden=7, out=h}"},
  {"relu_no_bias_h0", "x: f32[4,2,3]; h0: f32[1,2,5]" PLAIN_CELL(0, "f32", 5, 3, 5),
   "rnn(%x, %h0" PLAIN_ARGS(0) ") {hidden=5, bias=false, act=relu}"},
  {"batch_first_reverse", "x: f32[3,6,4]" CELL(0, "f32", 5, 4, 5),
                          "rnn(%x, _" ARGS(0) ") {hidden=5, batch_first=true, direction=reverse}"},
  {"two_layers_both_ways", "x: f32[6,2,3]; h0: f32[4,2,5]" CELL(0, "f32", 5, 3, 5) CELL(1, "f32", 5, 3, 5)
                           CELL(2, "f32", 5, 10, 5) CELL(3, "f32", 5, 10, 5),
   "rnn(%x, %h0" ARGS(0) ARGS(1) ARGS(2) ARGS(3) ") {hidden=5, layers=2, direction=both}"},
  {"two_layers_both_ways_state", "x: f32[6,2,3]; h0: f32[4,2,5]" CELL(0, "f32", 5, 3, 5) CELL(1, "f32", 5, 3, 5)
                                 CELL(2, "f32", 5, 10, 5) CELL(3, "f32", 5, 10, 5),
   "rnn(%x, %h0" ARGS(0) ARGS(1) ARGS(2) ARGS(3) ") {hidden=5, layers=2, direction=both, out=h}"},
  {"no_steps", "x: f32[0,2,3]; h0: f32[1,2,4]" CELL(0, "f32", 4, 3, 4), "rnn(%x, %h0" ARGS(0) ") {hidden=4, out=h}"},
  {"no_batch", "x: f32[3,0,3]" CELL(0, "f32", 4, 3, 4), "rnn(%x, _" ARGS(0) ") {hidden=4}"},
  {"f16", "x: f16[9,2,8]" CELL(0, "f16", 16, 8, 16), "rnn(%x, _" ARGS(0) ") {hidden=16}"},
  {"bf16", "x: bf16[5,2,4]" CELL(0, "bf16", 6, 4, 6), "rnn(%x, _" ARGS(0) ") {hidden=6}"},
  {"f64", "x: f64[5,2,4]" CELL(0, "f64", 6, 4, 6), "rnn(%x, _" ARGS(0) ") {hidden=6}"});

CASES(gru,
  {"tiny", "x: f32[1,1,1]" CELL(0, "f32", 3, 1, 1), "gru(%x, _" ARGS(0) ") {hidden=1}"},
  {"plain", "x: f32[5,3,4]" CELL(0, "f32", 21, 4, 7), "gru(%x, _" ARGS(0) ") {hidden=7}"},
  {"final_state", "x: f32[5,3,4]; h0: f32[1,3,7]" CELL(0, "f32", 21, 4, 7),
                  "gru(%x, %h0" ARGS(0) ") {hidden=7, out=h}"},
  {"no_bias", "x: f32[4,2,3]" PLAIN_CELL(0, "f32", 15, 3, 5), "gru(%x, _" PLAIN_ARGS(0) ") {hidden=5, bias=false}"},
  {"reset_before", "x: f32[6,2,3]; h0: f32[1,2,5]" CELL(0, "f32", 15, 3, 5),
                   "gru(%x, %h0" ARGS(0) ") {hidden=5, reset_after=false}"},
  {"reset_before_both_ways_state", "x: f32[4,2,3]" PLAIN_CELL(0, "f32", 15, 3, 5) PLAIN_CELL(1, "f32", 15, 3, 5),
   "gru(%x, _" PLAIN_ARGS(0) PLAIN_ARGS(1) ") {hidden=5, reset_after=false, bias=false, direction=both, out=h}"},
  {"batch_first_reverse", "x: f32[3,6,4]" CELL(0, "f32", 15, 4, 5),
                          "gru(%x, _" ARGS(0) ") {hidden=5, batch_first=true, direction=reverse}"},
  {"three_layers", "x: f32[4,2,3]; h0: f32[3,2,4]" CELL(0, "f32", 12, 3, 4) CELL(1, "f32", 12, 4, 4)
                   CELL(2, "f32", 12, 4, 4),
   "gru(%x, %h0" ARGS(0) ARGS(1) ARGS(2) ") {hidden=4, layers=3}"},
  {"no_steps", "x: f32[2,0,3]; h0: f32[1,2,4]" CELL(0, "f32", 12, 3, 4),
               "gru(%x, %h0" ARGS(0) ") {hidden=4, out=h, batch_first=true}"},
  {"f16", "x: f16[8,3,4]" CELL(0, "f16", 36, 4, 12), "gru(%x, _" ARGS(0) ") {hidden=12}"},
  {"bf16", "x: bf16[5,2,4]" CELL(0, "bf16", 18, 4, 6), "gru(%x, _" ARGS(0) ") {hidden=6}"},
  {"f64", "x: f64[5,2,4]" CELL(0, "f64", 18, 4, 6), "gru(%x, _" ARGS(0) ") {hidden=6}"});

CASES(lstm,
  {"tiny", "x: f32[1,1,1]" CELL(0, "f32", 4, 1, 1), "lstm(%x, _, _" ARGS(0) ") {hidden=1}"},
  {"plain", "x: f32[5,3,4]" CELL(0, "f32", 28, 4, 7), "lstm(%x, _, _" ARGS(0) ") {hidden=7}"},
  {"final_h", "x: f32[5,3,4]; h0: f32[1,3,7]; c0: f32[1,3,7]" CELL(0, "f32", 28, 4, 7),
              "lstm(%x, %h0, %c0" ARGS(0) ") {hidden=7, out=h}"},
  {"final_c", "x: f32[5,3,4]; h0: f32[1,3,7]; c0: f32[1,3,7]" CELL(0, "f32", 28, 4, 7),
              "lstm(%x, %h0, %c0" ARGS(0) ") {hidden=7, out=c}"},
  {"only_c0", "x: f32[4,2,3]; c0: f32[1,2,5]" CELL(0, "f32", 20, 3, 5), "lstm(%x, _, %c0" ARGS(0) ") {hidden=5}"},
  {"no_bias_batch_first", "x: f32[2,5,3]" PLAIN_CELL(0, "f32", 20, 3, 5),
                          "lstm(%x, _, _" PLAIN_ARGS(0) ") {hidden=5, bias=false, batch_first=true}"},
  {"two_layers_both_ways", "x: f32[6,2,3]; h0: f32[4,2,5]; c0: f32[4,2,5]" CELL(0, "f32", 20, 3, 5)
                           CELL(1, "f32", 20, 3, 5) CELL(2, "f32", 20, 10, 5) CELL(3, "f32", 20, 10, 5),
   "lstm(%x, %h0, %c0" ARGS(0) ARGS(1) ARGS(2) ARGS(3) ") {hidden=5, layers=2, direction=both}"},
  {"reverse_c", "x: f32[6,2,3]" CELL(0, "f32", 20, 3, 5),
                "lstm(%x, _, _" ARGS(0) ") {hidden=5, direction=reverse, out=c}"},
  {"no_steps", "x: f32[0,2,3]; h0: f32[1,2,4]; c0: f32[1,2,4]" CELL(0, "f32", 16, 3, 4),
               "lstm(%x, %h0, %c0" ARGS(0) ") {hidden=4, out=c}"},
  {"long", "x: f32[40,2,3]" CELL(0, "f32", 24, 3, 6), "lstm(%x, _, _" ARGS(0) ") {hidden=6}"},
  {"f16", "x: f16[8,3,4]" CELL(0, "f16", 48, 4, 12), "lstm(%x, _, _" ARGS(0) ") {hidden=12}"},
  {"bf16", "x: bf16[5,2,4]" CELL(0, "bf16", 24, 4, 6), "lstm(%x, _, _" ARGS(0) ") {hidden=6}"},
  {"f64", "x: f64[5,2,4]" CELL(0, "f64", 24, 4, 6), "lstm(%x, _, _" ARGS(0) ") {hidden=6}"});

/* Sizes as in ops.def: B batch, L length, then D channels and N states. */
#define SELECTIVE(t, b, l, d, n) \
  "x: " t "[" #b "," #l "," #d "]; dt: " t "[" #b "," #l "," #d "] range(0.01,0.6); a: " t "[" #d "," #n \
  "] range(-3,-0.1); " \
  "b: " t "[" #b "," #l "," #n "]; c: " t "[" #b "," #l "," #n "]"

CASES(selective_scan,
  {"tiny", SELECTIVE("f32", 1, 1, 1, 1), "selective_scan(%x, %dt, %a, %b, %c)"},
  {"plain", SELECTIVE("f32", 2, 7, 5, 3), "selective_scan(%x, %dt, %a, %b, %c)"},
  {"skip_and_state", SELECTIVE("f32", 2, 5, 3, 4) "; d: f32[3]; h0: f32[2,3,4]",
                     "selective_scan(%x, %dt, %a, %b, %c, %d, %h0)"},
  {"final_state", SELECTIVE("f32", 2, 5, 3, 4) "; d: f32[3]; h0: f32[2,3,4]",
                  "selective_scan(%x, %dt, %a, %b, %c, %d, %h0) {out=h}"},
  {"state_without_skip", SELECTIVE("f32", 1, 3, 2, 2) "; h0: f32[1,2,2]",
                         "selective_scan(%x, %dt, %a, %b, %c, _, %h0)"},
  {"no_steps", SELECTIVE("f32", 2, 0, 3, 4) "; h0: f32[2,3,4]", "selective_scan(%x, %dt, %a, %b, %c, _, %h0) {out=h}"},
  {"no_states", SELECTIVE("f32", 2, 3, 4, 0) "; d: f32[4]", "selective_scan(%x, %dt, %a, %b, %c, %d)"},
  {"larger", SELECTIVE("f32", 2, 33, 9, 16), "selective_scan(%x, %dt, %a, %b, %c)"},
  {"special", "x: f32[1,9,4] special; dt: f32[1,9,4] range(0.01,0.6); a: f32[4,2] range(-3,-0.1); b: f32[1,9,2]; "
              "c: f32[1,9,2]", "selective_scan(%x, %dt, %a, %b, %c)"},
  {"f16", SELECTIVE("f16", 1, 11, 4, 8), "selective_scan(%x, %dt, %a, %b, %c)"},
  {"bf16", SELECTIVE("bf16", 1, 6, 4, 8) "; d: bf16[4]", "selective_scan(%x, %dt, %a, %b, %c, %d)"},
  {"f64", SELECTIVE("f64", 1, 6, 4, 8) "; d: f64[4]", "selective_scan(%x, %dt, %a, %b, %c, %d)"});

/* H heads of P channels, G groups of N states. */
#define MAMBA2(t, b, l, h, p, g, n) \
  "x: " t "[" #b "," #l "," #h "," #p "]; dt: " t "[" #b "," #l "," #h "] range(0.01,0.6); a: " t "[" #h \
  "] range(-3,-0.1); " \
  "b: " t "[" #b "," #l "," #g "," #n "]; c: " t "[" #b "," #l "," #g "," #n "]"

CASES(mamba2,
  {"tiny", MAMBA2("f32", 1, 1, 1, 1, 1, 1), "mamba2(%x, %dt, %a, %b, %c)"},
  {"plain", MAMBA2("f32", 2, 5, 3, 4, 1, 6), "mamba2(%x, %dt, %a, %b, %c)"},
  {"groups", MAMBA2("f32", 2, 5, 6, 3, 2, 4), "mamba2(%x, %dt, %a, %b, %c)"},
  {"a_group_per_head", MAMBA2("f32", 1, 4, 3, 2, 3, 5), "mamba2(%x, %dt, %a, %b, %c)"},
  {"skip_and_state", MAMBA2("f32", 2, 4, 4, 3, 2, 5) "; d: f32[4]; h0: f32[2,4,3,5]",
                     "mamba2(%x, %dt, %a, %b, %c, %d, %h0)"},
  {"final_state", MAMBA2("f32", 2, 4, 4, 3, 2, 5) "; d: f32[4]; h0: f32[2,4,3,5]",
                  "mamba2(%x, %dt, %a, %b, %c, %d, %h0) {out=h}"},
  {"no_steps", MAMBA2("f32", 1, 0, 2, 3, 1, 4) "; h0: f32[1,2,3,4]", "mamba2(%x, %dt, %a, %b, %c, _, %h0) {out=h}"},
  {"no_batch", MAMBA2("f32", 0, 3, 2, 3, 1, 4), "mamba2(%x, %dt, %a, %b, %c)"},
  {"larger", MAMBA2("f32", 1, 19, 4, 8, 2, 16), "mamba2(%x, %dt, %a, %b, %c)"},
  {"f16", MAMBA2("f16", 1, 7, 4, 5, 2, 8), "mamba2(%x, %dt, %a, %b, %c)"},
  {"bf16", MAMBA2("bf16", 1, 5, 2, 4, 1, 4) "; d: bf16[2]", "mamba2(%x, %dt, %a, %b, %c, %d)"},
  {"f64", MAMBA2("f64", 1, 5, 2, 4, 1, 4) "; d: f64[2]", "mamba2(%x, %dt, %a, %b, %c, %d)"});

/* Keys are small, so that the delta rule does not blow up. */
#define DELTA(t, b, l, h, n, v) \
  "q: " t "[" #b "," #l "," #h "," #n "]; k: " t "[" #b "," #l "," #h "," #n "] range(-0.7,0.7); " \
  "v: " t "[" #b "," #l "," #h "," #v "]; g: " t "[" #b "," #l "," #h "] range(-1,0); beta: " t "[" #b "," #l "," #h \
  "] range(0,1)"

CASES(gated_delta_net,
  {"tiny", DELTA("f32", 1, 1, 1, 1, 1), "gated_delta_net(%q, %k, %v, %g, %beta)"},
  {"plain", DELTA("f32", 2, 5, 3, 4, 6), "gated_delta_net(%q, %k, %v, %g, %beta)"},
  {"state", DELTA("f32", 2, 4, 2, 3, 5) "; h0: f32[2,2,3,5]", "gated_delta_net(%q, %k, %v, %g, %beta, %h0)"},
  {"final_state", DELTA("f32", 2, 4, 2, 3, 5) "; h0: f32[2,2,3,5]",
                  "gated_delta_net(%q, %k, %v, %g, %beta, %h0) {out=h}"},
  {"final_state_from_zero", DELTA("f32", 1, 6, 2, 4, 4), "gated_delta_net(%q, %k, %v, %g, %beta) {out=h}"},
  {"one_step", DELTA("f32", 3, 1, 2, 4, 4) "; h0: f32[3,2,4,4]", "gated_delta_net(%q, %k, %v, %g, %beta, %h0)"},
  {"no_steps", DELTA("f32", 1, 0, 2, 3, 3) "; h0: f32[1,2,3,3]", "gated_delta_net(%q, %k, %v, %g, %beta, %h0) {out=h}"},
  {"no_decay", "q: f32[1,4,1,3]; k: f32[1,4,1,3] range(-0.7,0.7); v: f32[1,4,1,2]; g: f32[1,4,1] values(0); "
               "beta: f32[1,4,1] values(1)",
   "gated_delta_net(%q, %k, %v, %g, %beta)"},
  {"larger", DELTA("f32", 1, 21, 3, 8, 9), "gated_delta_net(%q, %k, %v, %g, %beta)"},
  {"f16", DELTA("f16", 1, 7, 2, 8, 5), "gated_delta_net(%q, %k, %v, %g, %beta)"},
  {"bf16", DELTA("bf16", 1, 5, 2, 4, 4), "gated_delta_net(%q, %k, %v, %g, %beta)"},
  {"f64", DELTA("f64", 1, 5, 2, 4, 4), "gated_delta_net(%q, %k, %v, %g, %beta)"});

CASES(causal_conv,
  {"tiny", "x: f32[1,1,1]; w: f32[1,1]", "causal_conv(%x, %w)"},
  {"plain", "x: f32[2,3,7]; w: f32[3,4]", "causal_conv(%x, %w)"},
  {"bias_and_state", "x: f32[2,3,7]; w: f32[3,4]; bias: f32[3]; s: f32[2,3,3]", "causal_conv(%x, %w, %bias, %s)"},
  {"state_without_bias", "x: f32[2,3,1]; w: f32[3,4]; s: f32[2,3,3]", "causal_conv(%x, %w, _, %s)"},
  {"next_state", "x: f32[2,3,7]; w: f32[3,4]; s: f32[2,3,3]", "causal_conv(%x, %w, _, %s) {out=state}"},
  {"next_state_of_one_step", "x: f32[2,3,1]; w: f32[3,4]; bias: f32[3]; s: f32[2,3,3]",
                             "causal_conv(%x, %w, %bias, %s) {out=state}"},
  {"next_state_from_zero", "x: f16[1,2,2]; w: f16[2,5]", "causal_conv(%x, %w) {out=state}"},
  {"state_of_kernel_one", "x: f32[2,3,4]; w: f32[3,1]", "causal_conv(%x, %w) {out=state}"},
  {"no_steps", "x: f32[2,3,0]; w: f32[3,4]; s: f32[2,3,3]", "causal_conv(%x, %w, _, %s) {out=state}"},
  {"kernel_longer_than_line", "x: f32[1,2,2]; w: f32[2,6]", "causal_conv(%x, %w)"},
  {"larger", "x: f32[2,9,41]; w: f32[9,4]; bias: f32[9]", "causal_conv(%x, %w, %bias)"},
  {"special", "x: f32[1,3,24] special; w: f32[3,3]", "causal_conv(%x, %w)"},
  {"f16", "x: f16[2,5,9]; w: f16[5,4]; bias: f16[5]", "causal_conv(%x, %w, %bias)"},
  {"bf16", "x: bf16[2,5,9]; w: bf16[5,4]; bias: bf16[5]", "causal_conv(%x, %w, %bias)"},
  {"f64", "x: f64[2,5,9]; w: f64[5,4]; s: f64[2,5,3]", "causal_conv(%x, %w, _, %s)"});
/* clang-format on */
