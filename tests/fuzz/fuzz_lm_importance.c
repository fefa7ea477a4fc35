/* libFuzzer target: any bytes as an importance matrix, of either format. What opens can be saved in both, and is the same
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lm_fuzz.h"
#include "rlx/lm.h"

static char path[3][96];
static void remove_files(void) {
  for (int i = 0; i < 3; i++) unlink(path[i]);
}

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static const char *const endings[3] = {"bytes", "gguf", "dat"};
  if (!path[0][0]) {
    for (int i = 0; i < 3; i++)
      snprintf(path[i], sizeof path[i], "/tmp/rlx-fuzz-importance-%ld.%s", (long)getpid(), endings[i]);
    atexit(remove_files);
  }
  rlx_importance *im, *again;
  lm_fuzz_put(path[0], data, bytes);
  if (rlx_importance_open(path[0], &im)) {
    if (!*rlx_message()) fail("refused without words");
    return 0;
  }
  for (int i = 1; i < 3; i++) {
    if (rlx_importance_save(im, path[i])) fail("it cannot be saved");
    if (rlx_importance_open(path[i], &again)) fail("what was saved cannot be opened");
    if (rlx_importance_count(again) != rlx_importance_count(im)) fail("matrices are lost");
    rlx_importance_destroy(again);
  }
  rlx_importance_destroy(im);
  return 0;
}
