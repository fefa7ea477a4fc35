/* The GPUs' sequence models against the reference: linear scans (odd states, states over several lanes, sequences longer than
 * a piece of steps), the causal convolution, and recurrent networks of every kind, small enough to loop within a group and
 * too large for it. */
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
  gpu_check_print(&l->expr, "selective_scan(%%x, %%dt, %%a, %%b, %%c, %s, %s) {out=%s}", GPU_CHECK_PICK(seed, "_", "%d"),
                  GPU_CHECK_PICK(seed, "_", "%h"), any_out(seed));
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
                  t, b, steps, h, n, t, b, steps, h, n, t, b, steps, h, v, t, b, steps, h, t, b, steps, h, t, b, h, n, v);
  gpu_check_print(&l->expr, "gated_delta_net(%%q, %%k, %%v, %%g, %%beta%s) {out=%s}", GPU_CHECK_PICK(seed, "", ", %s"),
                  any_out(seed));
}
TEST(gated_delta_net_random) { CHECK(gpu_check_random(RLX_OP_gated_delta_net, LINES, any_delta)); }

/* A long sequence: what is left of early steps must still be right. */
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
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d]; w: %s[%d,%d]; bias: %s[%d]; s: %s[%d,%d,%d]", t, b, c, steps, t, c, taps, t,
                  c, t, b, c, taps - 1);
  gpu_check_print(&l->expr, "causal_conv(%%x, %%w, %s%s) {out=%s}", GPU_CHECK_PICK(seed, "_", "%bias"),
                  state ? ", %s" : "", taps > 1 ? GPU_CHECK_PICK(seed, "y", "y", "state") : "y");
}
TEST(causal_conv_random) { CHECK(gpu_check_random(RLX_OP_causal_conv, LINES, any_causal_conv)); }
