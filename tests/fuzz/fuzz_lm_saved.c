/* libFuzzer target: any bytes as a saved sequence. What is refused leaves the sequence as it was; what is taken can be continued. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lm_fuzz.h"
#include "rlx/lm.h"

static char path[96];
static void remove_file(void) { unlink(path); }

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

static rlx_lm *model(void) {
  static rlx_lm *lm;
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = RLX_TEST_DATA "/lm/llama", .device = "cpu", .n_threads = 1, .context = 16};
  if (lm) return lm;
  if (rlx_lm_load(&d, &lm)) fail("the model");
  snprintf(path, sizeof path, "/tmp/rlx-fuzz-saved-%ld.safetensors", (long)getpid());
  atexit(remove_file);
  return lm;
}

static const int32_t ids[] = {1, 2, 3, 4, 5};

/* The seed of the corpus: what the model itself saves. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const char *to = getenv("RLX_FUZZ_SEED");
  if (to && (rlx_lm_append(model(), 0, ids, 5, false, NULL) || rlx_lm_save(model(), 0, to))) fail("the seed");
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  rlx_lm *lm = model();
  if (rlx_lm_truncate(lm, 0, 0) || rlx_lm_append(lm, 0, ids, 3, false, NULL)) fail("a fresh sequence");
  lm_fuzz_put(path, data, bytes);
  if (rlx_lm_restore(lm, 0, path)) {
    size_t n;
    const int32_t *now = rlx_lm_tokens(lm, 0, &n);
    if (!*rlx_message()) fail("refused without words");
    if (n != 3 || memcmp(now, ids, sizeof *ids * 3) != 0) fail("a refused file changed the sequence");
    return 0;
  }
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  size_t n;
  const int32_t *now = rlx_lm_tokens(lm, 0, &n);
  if (rlx_lm_describe(lm, &info) || n > info.context) fail("more tokens than the context");
  for (size_t i = 0; i < n; i++)
    if (now[i] < 0 || (uint32_t)now[i] >= info.n_vocabulary) fail("a token that the model has not");
  if (n < info.context && rlx_lm_append(lm, 0, ids, 1, false, NULL) && !*rlx_message()) fail("no words");
  return 0;
}
