/* GPU sequence models against the reference: linear scans (odd states, states over several lanes, sequences longer than
 * a block of steps), the causal convolution, and recurrent networks of every kind, small enough to loop within a
 * workgroup and too large for it. */
#include "gpu_check.h"
#include "test.h"

enum { LINES = TEST_IS_SANITIZED ? 5 : 8 };

/* ---- linear scans ---- */

static const char *any_type(uint64_t *seed) { return GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16"); }
static const char *any_out(uint64_t *seed) { return GPU_CHECK_PICK(seed, "y", "y", "h"); }

static void any_selective_scan(uint64_t *seed, gpu_check_line *l) {
  const char *t = any_type(seed);
  int b = gpu_check_int(seed, 1, 2), steps = gpu_check_int(seed, 1, 45), d = gpu_check_int(seed, 1, 150),
      n = gpu_check_int(seed, 1, 40);
  gpu_check_print(&l->inputs,
                  "x: %s[%d,%d,%d]; dt: %s[%d,%d,%d] range(0,0.5); a: %s[%d,%d] range(-2,0); b: %s[%d,%d,%d]; "
                  "c: %s[%d,%d,%d]; d: %s[%d]; h: %s[%d,%d,%d]",
                  t, b, steps, d, t, b, steps, d, t, d, n, t, b, steps, n, t, b, steps, n, t, d, t, b, d, n);
  gpu_check_print(&l->expr, "selective_scan(%%x, %%dt, %%a, %%b, %%c, %s, %s) {out=%s}",
                  GPU_CHECK_PICK(seed, "_", "%d"), GPU_CHECK_PICK(seed, "_", "%h"), any_out(seed));
}
TEST(selective_scan_random) { CHECK(gpu_check_random(RLX_OP_selective_scan, LINES, any_selective_scan)); }

static void any_mamba2(uint64_t *seed, gpu_check_line *l) {
  const char *t = any_type(seed);
  int b = gpu_check_int(seed, 1, 2), steps = gpu_check_int(seed, 1, 40), g = gpu_check_int(seed, 1, 2),
      h = g * gpu_check_int(seed, 1, 3), p = gpu_check_int(seed, 1, 40), n = gpu_check_int(seed, 1, 150);
  gpu_check_print(&l->inputs,
                  "x: %s[%d,%d,%d,%d]; dt: %s[%d,%d,%d] range(0,0.5); a: %s[%d] range(-2,0); b: %s[%d,%d,%d,%d]; "
                  "c: %s[%d,%d,%d,%d]; d: %s[%d]; h: %s[%d,%d,%d,%d]",
                  t, b, steps, h, p, t, b, steps, h, t, h, t, b, steps, g, n, t, b, steps, g, n, t, h, t, b, h, p, n);
  gpu_check_print(&l->expr, "mamba2(%%x, %%dt, %%a, %%b, %%c, %s, %s) {out=%s}", GPU_CHECK_PICK(seed, "_", "%d"),
                  GPU_CHECK_PICK(seed, "_", "%h"), any_out(seed));
}
TEST(mamba2_random) { CHECK(gpu_check_random(RLX_OP_mamba2, LINES, any_mamba2)); }

static void any_delta(uint64_t *seed, gpu_check_line *l) {
  const char *t = any_type(seed);
  int b = gpu_check_int(seed, 1, 2), steps = gpu_check_int(seed, 1, 30), h = gpu_check_int(seed, 1, 3),
      n = gpu_check_int(seed, 1, 70), v = gpu_check_int(seed, 1, 70);
  gpu_check_print(&l->inputs,
                  "q: %s[%d,%d,%d,%d]; k: %s[%d,%d,%d,%d] range(-0.15,0.15); v: %s[%d,%d,%d,%d]; g: %s[%d,%d,%d] "
                  "range(-1,0); beta: %s[%d,%d,%d] range(0,1); s: %s[%d,%d,%d,%d]",
                  t, b, steps, h, n, t, b, steps, h, n, t, b, steps, h, v, t, b, steps, h, t, b, steps, h, t, b, h, n,
                  v);
  gpu_check_print(&l->expr, "gated_delta_net(%%q, %%k, %%v, %%g, %%beta%s) {out=%s}", GPU_CHECK_PICK(seed, "", ", %s"),
                  any_out(seed));
}
TEST(gated_delta_net_random) { CHECK(gpu_check_random(RLX_OP_gated_delta_net, LINES, any_delta)); }

/* A long sequence: contributions of early steps must still be right. */
TEST(long_scans) {
  CHECK(gpu_check_text(RLX_OP_selective_scan,
                       "x: f32[1,700,3]; dt: f32[1,700,3] range(0,0.01); a: f32[3,16] range(-1,0); b: f32[1,700,16]; "
                       "c: f32[1,700,16]",
                       "selective_scan(%x, %dt, %a, %b, %c)"));
  CHECK(gpu_check_text(RLX_OP_mamba2,
                       "x: f32[1,500,2,5]; dt: f32[1,500,2] range(0,0.01); a: f32[2] range(-1,0); b: f32[1,500,1,256]; "
                       "c: f32[1,500,1,256]",
                       "mamba2(%x, %dt, %a, %b, %c) {out=h}"));
}

/* ---- causal convolution ---- */

static void any_causal_conv(uint64_t *seed, gpu_check_line *l) {
  const char *t = any_type(seed);
  int b = gpu_check_int(seed, 1, 3), c = gpu_check_int(seed, 1, 40), steps = gpu_check_int(seed, 1, 700),
      taps = gpu_check_int(seed, 1, 6);
  bool state = taps > 1 && gpu_check_int(seed, 0, 1) == 1;
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; w: %s[%d,%d]; bias: %s[%d]; s: %s[%d,%d,%d]", t, b, c, steps, t, c,
                  taps, t, c, t, b, c, taps - 1);
  gpu_check_print(&l->expr, "causal_conv(%%x, %%w, %s%s) {out=%s}", GPU_CHECK_PICK(seed, "_", "%bias"),
                  state ? ", %s" : "", taps > 1 ? GPU_CHECK_PICK(seed, "y", "y", "state") : "y");
}
TEST(causal_conv_random) { CHECK(gpu_check_random(RLX_OP_causal_conv, LINES, any_causal_conv)); }

/* ---- recurrent networks ---- */

/* A network of one or two layers; `min` and `max` bound the hidden size. */
static void write_recurrent(uint64_t *seed, const char *op, int gates, int min, int max, gpu_check_line *l) {
  const char *t = any_type(seed);
  bool is_lstm = gates == 4, bias = gpu_check_int(seed, 0, 2) > 0, first = gpu_check_int(seed, 0, 1) == 1;
  int h = gpu_check_int(seed, min, max), layers = h > 100 ? 1 : gpu_check_int(seed, 1, 2),
      i = gpu_check_int(seed, 1, 20), b = gpu_check_int(seed, 1, 6), s = gpu_check_int(seed, 1, h > 100 ? 4 : 12);
  const char *direction = GPU_CHECK_PICK(seed, "forward", "reverse", "both");
  int d = direction[0] == 'b' ? 2 : 1;
  char inputs[4096], args[1024] = "", extra[64] = "";
  int n = snprintf(inputs, sizeof inputs, "x: %s[%d,%d,%d]; hs: %s[%d,%d,%d]; cs: %s[%d,%d,%d]", t, first ? b : s,
                   first ? s : b, i, t, layers * d, b, h, t, layers * d, b, h);
  for (int cell = 0; cell < layers * d; cell++) {
    int size = cell < d ? i : d * h, rows = gates * h;
    n += snprintf(inputs + n, sizeof inputs - (size_t)n,
                  "; a%d: %s[%d,%d] range(-0.1,0.1); b%d: %s[%d,%d] range(-0.1,0.1)", cell, t, rows, size, cell, t,
                  rows, h);
    snprintf(args + strlen(args), sizeof args - strlen(args), ", %%a%d, %%b%d", cell, cell);
    if (!bias) continue;
    n += snprintf(inputs + n, sizeof inputs - (size_t)n, "; c%d: %s[%d]; d%d: %s[%d]", cell, t, rows, cell, t, rows);
    snprintf(args + strlen(args), sizeof args - strlen(args), ", %%c%d, %%d%d", cell, cell);
  }
  if (gates == 1) snprintf(extra, sizeof extra, ", act=%s", GPU_CHECK_PICK(seed, "tanh", "relu"));
  if (gates == 3) snprintf(extra, sizeof extra, ", reset_after=%s", GPU_CHECK_PICK(seed, "true", "false"));
  gpu_check_print(&l->inputs, "%.1000s", inputs);
  gpu_check_print(&l->expr, "%s(%%x, %s%s%s) {hidden=%d, layers=%d, direction=%s, batch_first=%s, bias=%s, out=%s%s}",
                  op, GPU_CHECK_PICK(seed, "_", "%hs"), is_lstm ? GPU_CHECK_PICK(seed, ", _", ", %cs") : "", args, h,
                  layers, direction, first ? "true" : "false", bias ? "true" : "false",
                  is_lstm ? GPU_CHECK_PICK(seed, "y", "h", "c") : GPU_CHECK_PICK(seed, "y", "y", "h"), extra);
}
static void any_rnn(uint64_t *seed, gpu_check_line *l) { write_recurrent(seed, "rnn", 1, 1, 90, l); }
static void any_gru(uint64_t *seed, gpu_check_line *l) { write_recurrent(seed, "gru", 3, 1, 90, l); }
static void any_lstm(uint64_t *seed, gpu_check_line *l) { write_recurrent(seed, "lstm", 4, 1, 90, l); }
static void large_rnn(uint64_t *seed, gpu_check_line *l) { write_recurrent(seed, "rnn", 1, 257, 270, l); }
static void large_gru(uint64_t *seed, gpu_check_line *l) { write_recurrent(seed, "gru", 3, 148, 160, l); }
static void large_lstm(uint64_t *seed, gpu_check_line *l) { write_recurrent(seed, "lstm", 4, 129, 140, l); }
TEST(recurrent_random) {
  CHECK(gpu_check_random(RLX_OP_rnn, LINES, any_rnn));
  CHECK(gpu_check_random(RLX_OP_gru, LINES, any_gru));
  CHECK(gpu_check_random(RLX_OP_lstm, LINES, any_lstm));
}
TEST(recurrent_step_by_step) {
  CHECK(gpu_check_random(RLX_OP_rnn, 2, large_rnn));
  CHECK(gpu_check_random(RLX_OP_gru, 4, large_gru));
  CHECK(gpu_check_random(RLX_OP_lstm, 2, large_lstm));
}
TEST(recurrent_no_steps) {
  CHECK(gpu_check_text(RLX_OP_lstm, "x: f16[0,2,3]; h: f16[1,2,3]; c: f16[1,2,3]; w: f16[12,3]; u: f16[12,3]",
                       "lstm(%x, %h, %c, %w, %u) {hidden=3, bias=false, out=c}"));
  CHECK(gpu_check_text(RLX_OP_lstm, "x: f32[0,2,3]; h: f32[1,2,3]; w: f32[12,3]; u: f32[12,3]",
                       "lstm(%x, %h, _, %w, %u) {hidden=3, bias=false, out=c}"));
}
