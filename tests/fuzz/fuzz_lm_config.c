/* libFuzzer target: any bytes as the config.json beside a good model's tensors. The first byte picks the model. What opens
 * must build: a configuration that fits the tensors and still makes no graph was not checked well enough. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/status.h"
#include "lm_fuzz.h"
#include "model/model.h"

static const char *const names[] = {
  "llama",   "mistral",        "mixtral",      "qwen2",        "qwen3",          "qwen3moe",          "gemma2",
  "gemma3",  "gpt2",           "mamba",        "bert",         "qwen3moe_mixed", "qwen2moe",          "gemma",
  "phi2",    "phi3",           "phi3_long",    "phi3_short",   "granite",        "granitemoe",        "olmo2",
  "olmo3",   "olmoe",          "smollm3",      "starcoder2",   "stablelm",       "stablelm_parallel", "gptneox",
  "cohere",  "cohere2",        "glm4",         "exaone4",      "ernie4_5",       "seed_oss",          "hunyuan",
  "gpt_oss", "gpt_oss_packed", "ernie4_5_moe", "glm4moe",      "dots1",          "minimax_m2",        "ministral3",
  "mpnet",   "modernbert",     "roberta_rank", "gemma3_embed", "nomicbert"};
enum { N_NAMES = sizeof names / sizeof *names };

static char folder[96], config[128], tensors[128];

static void remove_files(void) {
  unlink(config);
  unlink(tensors);
  rmdir(folder);
}

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

/* The tensors of the model are copied when another than last time is asked for. */
static void use_model(size_t i) {
  static size_t now = N_NAMES;
  if (now == N_NAMES) {
    snprintf(folder, sizeof folder, "/tmp/rlx-fuzz-config-%ld", (long)getpid());
    snprintf(config, sizeof config, "%s/config.json", folder);
    snprintf(tensors, sizeof tensors, "%s/model.safetensors", folder);
    if (mkdir(folder, 0700)) fail("cannot make the folder");
    atexit(remove_files);
  }
  if (now == i) return;
  now = i;
  char from[1024];
  char *golden;
  size_t bytes;
  snprintf(from, sizeof from, "%s/lm/%s/model.safetensors", RLX_TEST_DATA, names[i]);
  if (rlx_file_read(from, SIZE_MAX, &golden, &bytes)) fail("cannot read a golden model");
  if (rlx_file_write(tensors, golden, bytes)) fail("cannot copy a golden model");
  rlx_mem_free(golden);
}

static void build(const lm_model *m, lm_result result, uint32_t tokens) {
  lm_graph_desc d = {.sequences = 2, .tokens = tokens, .context = 16, .result = result, .is_drawn = true};
  rlx_graph *g;
  if (lm_graph_build(m, &d, &g)) fail("a model that opened makes no graph");
  rlx_graph_destroy(g);
}

static void read_weights(const lm_model *m) {
  for (size_t i = 0; i < lm_model_weights(m); i++) {
    void *data = malloc(lm_model_weight(m, i)->bytes);
    if (!data || lm_model_read(m, i, data)) fail("a weight cannot be read");
    free(data);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (!bytes) return 0;
  use_model(data[0] % N_NAMES);
  rlx_file *f;
  lm_model *m;
  lm_fuzz_put(config, data + 1, bytes - 1);
  if (rlx_file_open(folder, NULL, &f)) return 0;
  if (!lm_model_open(f, &m)) {
    const bool is_encoder = lm_model_facts(m)->is_encoder;
    const lm_result whole = lm_model_facts(m)->is_ranker ? LM_SCORE : LM_EMBEDDING;
    build(m, is_encoder ? whole : LM_LOGITS, is_encoder ? 7 : 4);
    if (!is_encoder) build(m, LM_TOKEN, 1);
    read_weights(m);
  }
  lm_model_close(m);
  rlx_file_close(f);
  return 0;
}
