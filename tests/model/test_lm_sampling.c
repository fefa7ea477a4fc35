/* generation_config.json: settings that are applied, reported as not applied, and refused. GGUF keys are tested in
 * test_cli_lm.py. */
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "lm_image.h"
#include "rlx/lm.h"
#include "test.h"

static lm_image image;

static rlx_status read_settings(const char *json, rlx_lm_sampling *out) {
  rlx_file *f = NULL;
  image.n = 0;
  lm_image_safetensors(&image, "{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
  if (!folder_begin() || !lm_image_write(&image, folder_path("model.safetensors"), image.n)) return RLX_IO;
  FILE *to = json ? fopen(folder_path("generation_config.json"), "w") : NULL;
  if (json && (!to || fputs(json, to) < 0 || fclose(to) != 0)) return RLX_IO;
  rlx_status s = rlx_file_open(folder_name(), NULL, &f);
  if (!s) s = rlx_lm_sampling_of(f, out);
  rlx_file_close(f);
  return s;
}

static bool near_to(double a, double b) { return a > b - 1e-9 && a < b + 1e-9; }

TEST(what_is_applied) {
  rlx_lm_sampling s = {RLX_LM_SAMPLING_INIT};
  CHECK_OK(read_settings(NULL, &s));
  CHECK(!s.is_given && !s.not_applied[0]);
  CHECK_OK(read_settings("{\"_from_model_config\":true,\"eos_token_id\":[1,2],\"transformers_version\":\"4\"}", &s));
  CHECK(!s.is_given && !s.not_applied[0]);
  CHECK_OK(read_settings("{\"do_sample\":true,\"temperature\":0.6,\"top_p\":0.9,\"top_k\":20,\"min_p\":0.05,"
                         "\"repetition_penalty\":1.0,\"typical_p\":null}",
                         &s));
  CHECK(s.is_given && near_to(s.temperature, 0.6) && near_to(s.top_p, 0.9) && s.top_k == 20 && near_to(s.min_p, 0.05));
  CHECK(!s.not_applied[0]);
  CHECK_OK(read_settings("{\"do_sample\":true}", &s));
  CHECK(s.is_given && near_to(s.temperature, 1) && near_to(s.top_p, 1) && s.top_k == 0);
  CHECK_OK(read_settings("{\"do_sample\":false,\"temperature\":0.6}", &s));
  CHECK(s.is_given && near_to(s.temperature, 0));
}

TEST(what_is_not_applied_is_named) {
  rlx_lm_sampling s = {RLX_LM_SAMPLING_INIT};
  CHECK_OK(read_settings(
    "{\"repetition_penalty\":1.1,\"typical_p\":0.5,\"num_beams\":1,\"no_repeat_ngram_size\":3,\"a_new_way\":true}",
    &s));
  CHECK(near_to(s.repetition_penalty, 1.1));
  CHECK(!s.is_given && strstr(s.not_applied, "typical_p 0.5") && strstr(s.not_applied, "a_new_way"));
  CHECK(strstr(s.not_applied, "no_repeat_ngram_size 3") && !strstr(s.not_applied, "num_beams"));
}

/* One table: a file and the op take a setting's ends and refuse what is past them. */
static rlx_status as_attribute(const char *name, double v) {
  char text[160];
  rlx_graph *g;
  int n = snprintf(text, sizeof text,
                   "graph { %%x = input \"x\" : f32[2,5] %%y = sample(%%x) {%s=%.10g} output \"y\" = %%y }", name, v);
  rlx_status s = rlx_graph_parse(text, (size_t)n, &g);
  rlx_graph_destroy(g);
  return s;
}

static rlx_status in_a_file(const char *name, double v) {
  char text[80];
  rlx_lm_sampling s = {RLX_LM_SAMPLING_INIT};
  snprintf(text, sizeof text, "{\"%s\":%.10g}", name, v);
  return read_settings(text, &s);
}

TEST(ranges_are_the_same_everywhere) {
  rlx_lm_setting s = {RLX_LM_SETTING_INIT};
  for (uint32_t i = 0; i < 5; i++) { /* what a file and the op have; the others are the host's */
    CHECK_OK(rlx_lm_setting_at(i, &s));
    CHECK(s.min <= s.neutral && s.neutral <= s.max && s.doc[0]);
    bool is_of_op = strcmp(s.name, "repetition_penalty") != 0; /* which is the model's, not the op's */
    const double right[] = {s.min, s.neutral, s.max}, wrong[] = {s.min - 1, s.max + 1};
    for (size_t k = 0; k < 3; k++) {
      if (is_of_op) CHECK_OK(as_attribute(s.name, right[k]));
      CHECK_OK(in_a_file(s.name, right[k]));
    }
    for (size_t k = 0; k < 2; k++) {
      if (is_of_op) CHECK_FAILS(as_attribute(s.name, wrong[k]), RLX_INVALID, s.name);
      CHECK_FAILS(in_a_file(s.name, wrong[k]), RLX_INVALID, s.name);
    }
  }
  CHECK(rlx_lm_setting_at(rlx_lm_setting_count(), &s) == RLX_NOT_FOUND);
}

TEST(what_is_refused) {
  rlx_lm_sampling s = {RLX_LM_SAMPLING_INIT};
  CHECK_FAILS(read_settings("{\"repetition_penalty\":0}", &s), RLX_INVALID,
              "repetition_penalty: expected a number from");
  CHECK_FAILS(read_settings("{\"temperature\":-1}", &s), RLX_INVALID, "temperature: expected a number from 0 to 1000");
  CHECK_FAILS(read_settings("{\"top_p\":1.5}", &s), RLX_INVALID, "generation_config.json");
  CHECK_FAILS(read_settings("{\"top_k\":2.5}", &s), RLX_INVALID, "whole number");
  CHECK_FAILS(read_settings("{\"top_k\":\"2\"}", &s), RLX_INVALID, "top_k: expected a number");
  CHECK_FAILS(read_settings("[]", &s), RLX_INVALID, "expected an object");
  CHECK_FAILS(read_settings("{", &s), RLX_INVALID, "generation_config.json");
  CHECK(rlx_lm_sampling_of(NULL, &s) == RLX_INVALID);
}
