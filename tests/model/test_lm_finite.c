/* Models with non-finite values: generation and logits end with a status that names the token, the node and the
 * weight where they first appeared. The models are those of tests/golden/lm with one value of one tensor replaced. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "rlx/lm.h"
#include "test.h"

/* ---- a damaged model ---- */

enum { MAX_BYTES = 1 << 20 };

static size_t read_whole(const char *path, char *to) {
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(to, 1, MAX_BYTES - 1, f) : 0;
  if (f) fclose(f);
  to[n] = '\0';
  return n;
}

static bool write_whole(const char *path, const char *from, size_t n) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(from, 1, n, f) == n;
  return f && fclose(f) == 0 && ok;
}

/* A copy of a family's model with element `at` of the tensor set to `value`; its path, or NULL. */
static const char *damage(const char *family, const char *tensor, size_t at, float value) {
  static char path[1024], data[MAX_BYTES];
  char from[1024], to[1100], key[128];
  if (!folder_begin()) return NULL;
  snprintf(path, sizeof path, "%s", folder_name());
  snprintf(from, sizeof from, "%s/lm/%s/config.json", RLX_TEST_DATA, family);
  snprintf(to, sizeof to, "%s/config.json", path);
  if (!write_whole(to, data, read_whole(from, data))) return NULL;
  snprintf(from, sizeof from, "%s/lm/%s/model.safetensors", RLX_TEST_DATA, family);
  snprintf(to, sizeof to, "%s/model.safetensors", path);
  size_t n = read_whole(from, data), begin = 0;
  uint64_t header = 0;
  snprintf(key, sizeof key, "\"%s\":", tensor);
  const char *entry = n > 8 ? strstr(data + 8, key) : NULL, *offsets = entry ? strstr(entry, "data_offsets\":[") : NULL;
  if (!offsets) return NULL;
  begin = (size_t)strtoul(offsets + strlen("data_offsets\":["), NULL, 10);
  memcpy(&header, data, 8);
  memcpy(data + 8 + header + begin + 4 * at, &value, sizeof value);
  return write_whole(to, data, n) ? path : NULL;
}

static rlx_lm *load(const char *path, rlx_lm_desc d) {
  rlx_lm *lm = NULL;
  d.struct_bytes = sizeof d; /* as its RLX_LM_DESC_INIT */
  d.path = path;
  if (!d.device) d.device = "cpu";
  d.context = 64;
  if (!path || rlx_lm_load(&d, &lm)) printf("cannot load: %s\n", path ? rlx_message() : "no copy of the model");
  return lm;
}

static bool hear(void *user, int32_t id) {
  (void)id;
  ++*(int *)user;
  return true;
}

static rlx_lm_options options(double temperature, uint32_t ahead) {
  return (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 6, .ignore_end = true, .temperature = temperature,
                          .ahead = ahead};
}

static const int32_t prompt[] = {3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23};
enum { N_PROMPT = sizeof prompt / sizeof *prompt, WIDTH = 36, VOCABULARY = 101 };

/* ---- where it begins ---- */

/* The row of token 9, which is the fourth of the prompt. */
static void check_embedding(const char *device, rlx_lm_desc d, rlx_lm_options o) {
  int heard = 0;
  d.device = device;
  rlx_lm *lm = load(damage("llama", "model.embed_tokens.weight", 9 * WIDTH + 2, NAN), d);
  CHECK(lm != NULL);
  CHECK_FAILS(rlx_lm_generate_ids(lm, prompt, N_PROMPT, &o, hear, &heard, NULL), RLX_INVALID,
              "the logits of token 10 are not finite: that began at token 3, in node ");
  CHECK(strstr(rlx_message(), "'token_embd.weight'") && strstr(rlx_message(), "a NaN"));
  CHECK_EQ_INT(heard, 0);
  /* Without that token all is well again. */
  CHECK_OK(rlx_lm_truncate(lm, 0, 3));
  CHECK_OK(rlx_lm_generate_ids(lm, prompt + 4, 3, &o, hear, &heard, NULL));
  CHECK_EQ_INT(heard, 6);
  rlx_lm_destroy(lm);
}

TEST(begins_in_the_middle_of_a_prompt) { check_embedding("cpu", (rlx_lm_desc){0}, options(0, 0)); }
TEST(the_same_in_small_chunks) { check_embedding("cpu", (rlx_lm_desc){.chunk = 2}, options(0, 0)); }
TEST(the_same_when_drawn_at_random) { check_embedding("cpu", (rlx_lm_desc){0}, options(0.7, 0)); }
TEST(the_same_in_spans) { check_embedding("cpu", (rlx_lm_desc){0}, options(0, 8)); }
TEST(the_same_on_the_emulated_gpu) {
  if (!TEST_HAS_EMULATOR) SKIP("there is no emulated GPU here");
  check_embedding("emu", (rlx_lm_desc){0}, options(0, 4));
  check_embedding("emu", (rlx_lm_desc){0}, options(0.7, 0));
}

TEST(begins_in_a_layer) {
  int heard = 0;
  rlx_lm_options o = options(0, 0);
  rlx_lm *lm = load(damage("llama", "model.layers.1.mlp.down_proj.weight", 50, INFINITY), (rlx_lm_desc){0});
  CHECK(lm != NULL);
  CHECK_FAILS(rlx_lm_generate_ids(lm, prompt, N_PROMPT, &o, hear, &heard, NULL), RLX_INVALID,
              "that began at token 10, in node "); /* of the last layer no earlier token is computed to its end */
  CHECK(strstr(rlx_message(), "'blk.1.ffn_down.weight'") != NULL);
  rlx_lm_destroy(lm);
  lm = load(damage("llama", "model.layers.0.self_attn.k_proj.weight", 0, NAN), (rlx_lm_desc){0});
  CHECK(lm != NULL);
  CHECK_FAILS(rlx_lm_generate_ids(lm, prompt, N_PROMPT, &o, hear, &heard, NULL), RLX_INVALID,
              "that began at token 0, in node ");
  CHECK(strstr(rlx_message(), "'blk.0.attn_") != NULL);
  rlx_lm_destroy(lm);
}

/* One odd logit among many is enough: the likeliest of the others would be a guess. */
TEST(begins_in_one_row_of_the_head) {
  int heard = 0;
  rlx_lm *lm = load(damage("llama", "lm_head.weight", 40 * WIDTH, NAN), (rlx_lm_desc){0});
  CHECK(lm != NULL);
  for (int i = 0; i < 2; i++) {
    rlx_lm_options o = options(i, 0);
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_FAILS(rlx_lm_generate_ids(lm, prompt, 1, &o, hear, &heard, NULL), RLX_INVALID,
                "the logits of token 0 are not finite: that began at token 0, in node ");
    CHECK(strstr(rlx_message(), "'output.weight'), element 40, with a NaN") != NULL);
  }
  CHECK_EQ_INT(heard, 0);
  rlx_lm_destroy(lm);
}

TEST(begins_in_a_summary) {
  int heard = 0;
  rlx_lm_options o = options(0, 0);
  rlx_lm *lm = load(damage("mamba", "backbone.embeddings.weight", 9 * 24, INFINITY), (rlx_lm_desc){0});
  CHECK(lm != NULL);
  CHECK_FAILS(rlx_lm_generate_ids(lm, prompt, N_PROMPT, &o, hear, &heard, NULL), RLX_INVALID,
              "that began at token 3, in node ");
  CHECK(strstr(rlx_message(), "an infinity") != NULL);
  rlx_lm_destroy(lm);
}

/* ---- the other ways to logits ---- */

TEST(logits_that_are_asked_for) {
  static float logits[N_PROMPT * VOCABULARY];
  rlx_lm *lm = load(damage("llama", "model.embed_tokens.weight", 9 * WIDTH, NAN), (rlx_lm_desc){0});
  CHECK(lm != NULL);
  CHECK_FAILS(rlx_lm_append(lm, 0, prompt, N_PROMPT, true, logits), RLX_INVALID,
              "the logits of token 3 are not finite: that began at token 3, in node ");
  CHECK_EQ_INT(rlx_lm_length(lm, 0), 0); /* as if nothing had been appended */
  CHECK_FAILS(rlx_lm_append(lm, 0, prompt, N_PROMPT, false, logits), RLX_INVALID,
              "the logits of token 10 are not finite: that began at token 3, in node ");
  CHECK_OK(rlx_lm_append(lm, 0, prompt, 3, true, logits));
  for (int i = 0; i < 3 * VOCABULARY; i++) CHECK(isfinite(logits[i]));
  rlx_lm_destroy(lm);
}

static bool hear_one(void *user, uint32_t sequence, int32_t id) {
  ((int *)user)[sequence]++;
  return id >= 0;
}

TEST(one_of_several_sequences) {
  int heard[2] = {0};
  rlx_lm_options o = options(0, 0);
  rlx_lm *lm =
    load(damage("llama", "model.embed_tokens.weight", 9 * WIDTH, NAN), (rlx_lm_desc){.n_sequences = 2, .chunk = 4});
  CHECK(lm != NULL);
  rlx_lm_prompt prompts[2] = {{prompt + 4, 5}, {prompt, 6}};
  CHECK_FAILS(rlx_lm_generate_batch(lm, prompts, 2, &o, hear_one, heard, NULL), RLX_INVALID,
              "the logits of token 5 are not finite: that began at token 3, in node ");
  rlx_lm_destroy(lm);
}

TEST(a_sound_model_is_not_disturbed) {
  int heard = 0;
  rlx_lm_options o = options(0, 0);
  rlx_lm *lm = load(damage("llama", "model.embed_tokens.weight", 9 * WIDTH, NAN), (rlx_lm_desc){0});
  CHECK(lm != NULL);
  CHECK_OK(rlx_lm_generate_ids(lm, prompt + 4, 5, &o, hear, &heard, NULL)); /* never meets the bad row */
  CHECK_EQ_INT(heard, 6);
  rlx_lm_destroy(lm);
}
