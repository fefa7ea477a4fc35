/* libFuzzer target: any bytes as a Hugging Face folder: index, config.json and two parts. The first four bytes say where one ends and
 * the next begins. What opens is looked at, and must build where it is a model. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lm_fuzz.h"
#include "model/model.h"

static const char *const names[] = {"model.safetensors.index.json", "config.json", "model-00001-of-00002.safetensors",
                                    "model-00002-of-00002.safetensors"};
static char folder[96], paths[4][160];

static void remove_files(void) {
  for (int i = 0; i < 4; i++) unlink(paths[i]);
  rmdir(folder);
}

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

static void make_folder(void) {
  if (folder[0]) return;
  snprintf(folder, sizeof folder, "/tmp/rlx-fuzz-folder-%ld", (long)getpid());
  for (int i = 0; i < 4; i++) snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
  if (mkdir(folder, 0700)) fail("the folder");
  atexit(remove_files);
}

static void look_at(const rlx_file *f) {
  static char bytes[4096];
  rlx_meta m;
  size_t sum = 0;
  for (uint32_t i = 0; rlx_file_meta_at(f, i, &m); i++)
    sum += strlen(m.key) + (m.kind == RLX_META_TEXT ? strlen(m.text) : 0);
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
    size_t n = t->bytes < sizeof bytes ? t->bytes : sizeof bytes;
    if (t->part >= rlx_file_part_count(f)) fail("a tensor in a part that is not there");
    if (t->dtype != RLX_DTYPE_UNKNOWN && rlx_file_read_tensor(f, t, 0, bytes, n)) fail("a tensor cannot be read");
    sum += strlen(t->name);
  }
  if (sum > 1 << 28) fail("more text than there is");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  rlx_file *f;
  lm_model *m;
  if (bytes < 4) return 0;
  make_folder();
  size_t at = 4, rest = bytes - 4;
  for (int i = 0; i < 4; i++) {
    size_t n = i < 3 ? (size_t)data[i] * 8 + data[3] % 8 : rest;
    if (n > rest) n = rest;
    lm_fuzz_put(paths[i], data + at, n);
    at += n;
    rest -= n;
  }
  if (rlx_file_open(folder, NULL, &f)) {
    if (f || !*rlx_message()) fail("refused without words");
    return 0;
  }
  look_at(f);
  if (!lm_model_open(f, &m)) {
    rlx_graph *g;
    lm_graph_desc d = {.sequences = 1, .tokens = 2, .context = 8, .result = LM_LOGITS};
    if (lm_model_facts(m)->is_encoder) d.result = LM_EMBEDDING;
    if (lm_graph_build(m, &d, &g)) fail("a model that opened makes no graph");
    rlx_graph_destroy(g);
  }
  lm_model_close(m);
  rlx_file_close(f);
  return 0;
}
