/* libFuzzer target: any bytes as an adapter of a tiny model, as a GGUF and as PEFT's safetensors. What is taken has finite
 * numbers and fits the matrices that it changes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lm_fuzz.h"
#include "lm_models.h"
#include "model/adapter.h"

static char folder[64], path[3][128];
static void remove_files(void) {
  for (int i = 0; i < 3; i++) unlink(path[i]);
  rmdir(folder);
}

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

static const lm_model *model(void) {
  static lm_golden g;
  static const char config[] = "{\"peft_type\":\"LORA\",\"r\":2,\"lora_alpha\":4}";
  static const char *const names[3] = {"a.gguf", "a.safetensors", "adapter_config.json"};
  if (g.model) return g.model;
  if (lm_golden_open("llama", &g)) fail("the model");
  snprintf(folder, sizeof folder, "/tmp/rlx-fuzz-adapter-%ld", (long)getpid());
  for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
  mkdir(folder, 0700);
  lm_fuzz_put(path[2], config, sizeof config - 1);
  atexit(remove_files);
  return g.model;
}

static rlx_status check(void *user, const char *name, const rlx_tensor *value) {
  const float *v = value->data;
  (void)user;
  if (value->dtype != RLX_F32 || value->shape.n != 2 || !*name) fail("no matrix");
  if (value->bytes != (size_t)(value->shape.v[0] * value->shape.v[1]) * sizeof *v) fail("other sizes");
  for (size_t i = 0; i < value->bytes / sizeof *v; i++)
    if (!isfinite(v[i])) fail("a number that is not finite");
  return RLX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  const lm_model *m = model();
  for (int i = 0; i < 2; i++) {
    lm_adapter a = {0};
    lm_fuzz_put(path[i], data, bytes);
    if (lm_adapter_read(m, path[i], "a", check, NULL, &a) && !*rlx_message()) fail("refused without words");
    lm_adapter_deinit(&a);
  }
  return 0;
}
