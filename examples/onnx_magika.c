/* Detects file types: an ONNX classifier reads the beginning and the end of each file.
 *
 *   onnx_magika MODEL.onnx CONFIG.json FILE...         (both from `tools/fetch_model magika`)
 *
 * The input is 1,024 bytes from either end, with white space stripped there, as numbers; 256 is padding. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rlx/onnx.h"

enum { EACH = 1024, BLOCK = 4096, PADDING = 256, MAX_LABELS = 512 };

static int fail(const char *what) {
  fprintf(stderr, "onnx_magika: %s: %s\n", what, rlx_message());
  return 1;
}

/* The labels are the strings of a list in the configuration. */
static char *read_labels(const char *path, char *labels[MAX_LABELS], size_t *n) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (f && text && fread(text, 1, (1 << 20) - 1, f) == 0) *text = '\0';
  if (f) fclose(f);
  char *at = text ? strstr(text, "\"target_labels_space\":[") : NULL;
  for (at = at ? strchr(at, '[') : NULL; at && *at != ']' && *n < MAX_LABELS; at += strcspn(at, ",]")) {
    char *begin = strchr(at, '"'), *end = begin ? strchr(begin + 1, '"') : NULL;
    if (!end) break;
    labels[(*n)++] = begin + 1;
    at = end + 1;
    if (*at == ']') at[0] = *end = '\0';
    *end = '\0';
    if (!*at) break;
  }
  return text;
}

static int read_features(const char *path, int32_t x[2 * EACH]) {
  unsigned char block[BLOCK];
  FILE *f = fopen(path, "rb");
  if (!f) return 1;
  for (int i = 0; i < 2 * EACH; i++) x[i] = PADDING;
  size_t n = fread(block, 1, BLOCK, f), skip = 0;
  while (skip < n && isspace(block[skip])) skip++;
  for (size_t i = 0; i < EACH && skip + i < n; i++) x[i] = block[skip + i];
  if (fseek(f, 0, SEEK_END) == 0 && ftell(f) > BLOCK && fseek(f, -BLOCK, SEEK_END) == 0) n = fread(block, 1, BLOCK, f);
  while (n && isspace(block[n - 1])) n--;
  for (size_t i = 1; i <= EACH && i <= n; i++) x[2 * EACH - i] = block[n - i];
  fclose(f);
  return 0;
}

static int classify(rlx_onnx_runner *runner, const char *path, char *const *labels, size_t n_labels) {
  int32_t x[2 * EACH];
  rlx_tensor y;
  if (read_features(path, x)) return fprintf(stderr, "onnx_magika: cannot read %s\n", path), 1;
  rlx_named_tensor in = {"bytes", {RLX_I32, RLX_DIMS(1, 2 * EACH), {x}, sizeof x}};
  if (rlx_onnx_run(runner, &in, 1) || rlx_onnx_runner_output(runner, 0, NULL, &y)) return fail(path);
  const float *score = y.data;
  size_t best = 0, n = y.bytes / sizeof *score;
  for (size_t i = 1; i < n; i++)
    if (score[i] > score[best]) best = i;
  printf("%s: %s (%.1f %%)\n", path, best < n_labels ? labels[best] : "?", 100 * (double)score[best]);
  return 0;
}

int main(int argc, char **argv) {
  char *labels[MAX_LABELS];
  size_t n_labels = 0;
  rlx_session *session = NULL;
  rlx_onnx *model = NULL;
  rlx_onnx_runner *runner = NULL;
  if (argc < 4) return fprintf(stderr, "usage: onnx_magika MODEL.onnx CONFIG.json FILE...\n"), 2;
  char *text = read_labels(argv[2], labels, &n_labels);
  int code = n_labels ? 0 : (fprintf(stderr, "onnx_magika: no labels in %s\n", argv[2]), 1);
  rlx_session_desc cpu = {RLX_SESSION_DESC_INIT, .device = "cpu"};
  if (!code && (rlx_session_create(&cpu, &session) || rlx_onnx_open(argv[1], NULL, &model) ||
                rlx_onnx_runner_create(session, model, NULL, &runner)))
    code = fail(argv[1]);
  for (int i = 3; i < argc && runner; i++) code |= classify(runner, argv[i], labels, n_labels);
  rlx_onnx_runner_destroy(runner);
  rlx_onnx_close(model);
  rlx_session_destroy(session);
  free(text);
  return code;
}
