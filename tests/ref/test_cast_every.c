/* Casts between f32 and the 16-bit floats on every bit pattern, on the CPU in every instruction set and on the emulated
 * GPU: each f16 and bf16 widened, and rounding from f32 at every boundary between two of them. base/half.h, which
 * test_half checks, is the expected result. RLX_TEST_DEVICES names other devices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "test.h"

enum { PATTERNS = 65536 };

static bool same_f32(float a, float b) { return rlx_f32_bits(a) == rlx_f32_bits(b) || (isnan(a) && isnan(b)); }

static bool is_nan_16(bool is_f16, uint16_t h) {
  return is_f16 ? (h & 0x7fff) > 0x7c00 : (h & 0x7fff) > 0x7f80; /* the payload of a NaN is not specified */
}

static float widened(bool is_f16, uint16_t h) { return is_f16 ? rlx_f16_to_f32(h) : rlx_bf16_to_f32(h); }
static uint16_t rounded(bool is_f16, float v) { return is_f16 ? rlx_f32_to_f16(v) : rlx_f32_to_bf16(v); }

static rlx_executable *compile(rlx_session *s, const char *from, const char *to) {
  char text[256];
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  snprintf(text, sizeof text, "graph {\n%%1 = input \"x\" : %s[%d]\n%%2 = cast(%%1) {to=%s}\noutput \"y\" = %%2\n}\n",
           from, (int)PATTERNS, to);
  if (rlx_graph_parse(text, strlen(text), &g) || rlx_compile(s, g, NULL, &e)) printf("%s\n", rlx_message());
  rlx_graph_destroy(g);
  return e;
}

static void check_widening(rlx_session *s, const char *device, bool is_f16) {
  static uint16_t x[PATTERNS];
  static float y[PATTERNS];
  rlx_executable *e = compile(s, is_f16 ? "f16" : "bf16", "f32");
  CHECK(e != NULL);
  for (int i = 0; i < PATTERNS; i++) x[i] = (uint16_t)i;
  rlx_named_tensor in = {"x", {is_f16 ? RLX_F16 : RLX_BF16, RLX_DIMS(PATTERNS), {x}, sizeof x}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
  CHECK_OK(rlx_run(e, &in, 1, &out, 1));
  for (int i = 0; i < PATTERNS; i++)
    if (!same_f32(y[i], widened(is_f16, x[i])))
      FAIL("%s: %s %04x is widened to %a, expected %a", device, is_f16 ? "f16" : "bf16", (unsigned)i, (double)y[i],
           (double)widened(is_f16, x[i]));
  rlx_executable_destroy(e);
}

/* Value k of those around pattern h: itself, the midpoint between it and the next, and their neighbours. */
static float around(bool is_f16, uint16_t h, int k) {
  uint32_t bits = rlx_f32_bits(widened(is_f16, h)), next = rlx_f32_bits(widened(is_f16, (uint16_t)(h + 1)));
  /* Patterns of one exponent are evenly spaced; across two exponents this is still a tie or near it. */
  uint32_t middle = bits + (next - bits) / 2;
  static const int steps[3] = {-1, 0, 1};
  return rlx_f32_from_bits((k < 3 ? bits : middle) + (uint32_t)steps[k % 3]);
}

static void check_rounding(rlx_session *s, const char *device, bool is_f16) {
  static float x[PATTERNS];
  static uint16_t y[PATTERNS];
  rlx_executable *e = compile(s, "f32", is_f16 ? "f16" : "bf16");
  CHECK(e != NULL);
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(PATTERNS), {x}, sizeof x}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
  for (int k = 0; k < 6; k++) {
    for (int i = 0; i < PATTERNS; i++) x[i] = around(is_f16, (uint16_t)i, k);
    CHECK_OK(rlx_run(e, &in, 1, &out, 1));
    for (int i = 0; i < PATTERNS; i++) {
      uint16_t want = rounded(is_f16, x[i]);
      if (y[i] != want && !(is_nan_16(is_f16, y[i]) && is_nan_16(is_f16, want)))
        FAIL("%s: %a is rounded to %s %04x, expected %04x", device, (double)x[i], is_f16 ? "f16" : "bf16",
             (unsigned)y[i], (unsigned)want);
    }
  }
  rlx_executable_destroy(e);
}

TEST(every_pattern_of_16_bits) {
  char names[256];
  const char *chosen = getenv("RLX_TEST_DEVICES");
  snprintf(names, sizeof names, "%s", chosen ? chosen : "cpu:base,cpu:avx2,cpu,emu");
  int n = 0;
  char *rest = NULL; /* not strtok: drivers call it */
  for (char *at = strtok_r(names, ",", &rest); at && !test_has_failed(); at = strtok_r(NULL, ",", &rest)) {
    rlx_session *s = NULL;
    rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = at, .n_threads = 1};
    if (rlx_session_create(&d, &s)) {
      printf("  %s: %s\n", at, rlx_message());
      continue;
    }
    n++;
    for (int is_f16 = 0; is_f16 < 2; is_f16++) {
      check_widening(s, at, is_f16);
      check_rounding(s, at, is_f16);
    }
    rlx_session_destroy(s);
  }
  CHECK(n > 0);
}
