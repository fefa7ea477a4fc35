/* Voice activity detection on a synthetic sound: noise, a vowel, noise.
 *
 *   onnx_vad SILERO_VAD.onnx            (from `tools/fetch_model silero`)
 *
 * The model takes 512 samples at a time (32 ms at 16 kHz) with the 64 before them, and carries a state from step to
 * step. Its branches depend on the sample rate, an input: the first run decides them, and the others follow the same
 * path. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rlx/onnx.h"

enum { RATE = 16000, STEP = 512, BEFORE = 64, N_STATE = 2 * 128, SECONDS = 3 };

static float sound[SECONDS * RATE];

static int fail(const char *what) {
  fprintf(stderr, "onnx_vad: %s: %s\n", what, rlx_message());
  return 1;
}

/* Synthesises a voice: pulses (120 to 140 per second) through the formants of an "a", plus a little noise. */
static void make_sound(void) {
  static const double hertz[] = {730, 1090, 2440, 3400}, width[] = {60, 80, 120, 150};
  double y1[4] = {0}, y2[4] = {0}, phase = 0;
  unsigned noise = 1;
  for (int i = 0; i < SECONDS * RATE; i++) {
    double t = (double)i / RATE, pulse = 0, sum = 0;
    int speaks = t >= 1 && t < 2;
    phase += (130 + 10 * sin(6.28 * 4 * t)) / RATE;
    if (phase >= 1) phase -= 1, pulse = speaks;
    for (int k = 0; k < 4; k++) {
      double r = exp(-3.14159 * width[k] / RATE), c = 2 * r * cos(6.28319 * hertz[k] / RATE);
      double y = pulse + c * y1[k] - r * r * y2[k];
      y2[k] = y1[k];
      y1[k] = y;
      sum += y / (k + 1);
    }
    noise = noise * 1664525u + 1013904223u;
    sound[i] = (float)(0.15 * sum * (0.6 + 0.4 * sin(6.28 * 3 * t)) + 0.002 * ((double)noise / 4294967296.0 - 0.5));
  }
}

/* The probability of voice in one step; updates the state. */
static int detect(rlx_onnx_runner *runner, const float *samples, float state[N_STATE], float *probability) {
  int64_t rate = RATE;
  float x[BEFORE + STEP];
  rlx_tensor y, next;
  memcpy(x, samples, sizeof x);
  rlx_named_tensor in[] = {{"input", {RLX_F32, RLX_DIMS(1, BEFORE + STEP), {x}, sizeof x}},
                           {"state", {RLX_F32, RLX_DIMS(2, 1, 128), {state}, N_STATE * sizeof *state}},
                           {"sr", {RLX_I64, RLX_SCALAR, {&rate}, sizeof rate}}};
  if (rlx_onnx_run(runner, in, 3) || rlx_onnx_runner_output(runner, 0, NULL, &y) ||
      rlx_onnx_runner_output(runner, 1, NULL, &next))
    return 1;
  *probability = *(const float *)y.data;
  memcpy(state, next.data, N_STATE * sizeof *state);
  return 0;
}

int main(int argc, char **argv) {
  rlx_session *session = NULL;
  rlx_onnx *model = NULL;
  rlx_onnx_runner *runner = NULL;
  float state[N_STATE] = {0};
  int code = 0;
  if (argc != 2) return fprintf(stderr, "usage: onnx_vad SILERO_VAD.onnx\n"), 2;
  rlx_session_desc cpu = {RLX_SESSION_DESC_INIT, .device = "cpu"};
  if (rlx_session_create(&cpu, &session) || rlx_onnx_open(argv[1], NULL, &model) ||
      rlx_onnx_runner_create(session, model, NULL, &runner))
    code = fail(argv[1]);
  make_sound();
  for (int at = BEFORE; runner && !code && at + STEP <= SECONDS * RATE; at += STEP) {
    float p;
    if (detect(runner, sound + at - BEFORE, state, &p)) code = fail("run");
    else printf("%5.2f s  %.6f  %s\n", (double)at / RATE, (double)p, p > 0.5f ? "speech" : "");
  }
  rlx_onnx_runner_destroy(runner);
  rlx_onnx_close(model);
  rlx_session_destroy(session);
  return code;
}
