/* Reads the sampling settings that come with a model: general.sampling.* of a GGUF, generation_config.json of a
 * folder.
 *
 * Settings that are not applied here are reported by name, because a text sampled without a requested penalty
 * differs and the user would not see why. Every key of generation_config.json is in one of three lists: applied;
 * reported unless it has its neutral value; no effect on which token is drawn. An unlisted key is reported. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "base/str.h"
#include "io/file_json.h"
#include "ir/sampling.h"
#include "model/engine.h"
#include "model/settings.h"
#include "rlx/lm.h"

typedef struct setting {
  const char *gguf, *json; /* the key in each format; NULL: it has none */
  double neutral;          /* the value without effect */
} setting;

static const setting reported[] = {
  {"xtc_probability", NULL, 0},
  {"mirostat", NULL, 0},
  {NULL, "encoder_repetition_penalty", 1},
  {NULL, "no_repeat_ngram_size", 0},
  {NULL, "encoder_no_repeat_ngram_size", 0},
  {NULL, "typical_p", 1},
  {NULL, "epsilon_cutoff", 0},
  {NULL, "eta_cutoff", 0},
  {NULL, "top_h", 0},
  {NULL, "num_beams", 1},
  {NULL, "num_beam_groups", 1},
  {NULL, "penalty_alpha", 0},
  {NULL, "diversity_penalty", 0},
  {NULL, "guidance_scale", 1},
  {NULL, "min_length", 0},
  {NULL, "min_new_tokens", 0},
  {NULL, "begin_suppress_tokens", 0},
  {NULL, "suppress_tokens", 0},
  {NULL, "bad_words_ids", 0},
  {NULL, "force_words_ids", 0},
  {NULL, "forced_bos_token_id", 0},
  {NULL, "forced_eos_token_id", 0},
  {NULL, "sequence_bias", 0},
  {NULL, "exponential_decay_length_penalty", 0},
};
/* Token ids, length limits, how the other program computes, and settings of beam search. */
static const char no_effect[] =
  " do_sample bos_token_id eos_token_id pad_token_id decoder_start_token_id transformers_version _from_model_config"
  " max_length max_new_tokens max_time stop_strings use_cache cache_implementation cache_config num_return_sequences"
  " output_attentions output_hidden_states output_scores output_logits return_dict_in_generate length_penalty"
  " early_stopping renormalize_logits remove_invalid_values low_memory compile_config disable_compile chat_format"
  " max_window_size assistant_confidence_threshold num_assistant_tokens num_assistant_tokens_schedule"
  " prompt_lookup_num_tokens prefill_chunk_size is_assistant generation_kwargs token_healing trust_remote_code ";

typedef struct found {
  bool has[RLX_SAMPLING_ALL]; /* by setting that is applied: sampling.def */
  double value[RLX_SAMPLING_ALL];
  uint64_t penalty_tokens; /* 0: all */
  bool is_greedy, samples;
  rlx_str others; /* "typical_p 0.9" */
} found;

static rlx_status take(found *f, int which, const char *where, double v) {
  RLX_TRY(rlx_sampling_check(which, where, v));
  f->has[which] = true;
  f->value[which] = v;
  return RLX_OK;
}

static void report(found *f, const char *name, const double *v) {
  rlx_str_add(&f->others, "%s%s", f->others.n ? ", " : "", name);
  if (!v) return;
  rlx_str_add_char(&f->others, ' ');
  rlx_str_add_float(&f->others, (float)*v);
}

/* ---- GGUF ---- */

/* Parameters of a setting that is itself reported; alone they have no effect. */
static const char parameters_of_others[] = " xtc_threshold mirostat_tau mirostat_eta ";

static bool is_listed(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; n && (p = strstr(p, word)); p += n)
    if (p > list && p[-1] == ' ' && p[n] == ' ') return true;
  return false;
}

/* The window of the penalty: -1 is the whole sequence, 0 turns the penalty off. */
static rlx_status read_window(const rlx_meta *m, int64_t *out) {
  if (m->kind != RLX_META_INT || m->integer < -1 || m->integer > INT32_MAX)
    return RLX_FAIL(RLX_INVALID, "%s: expected -1 or a number of tokens", m->key);
  *out = m->integer;
  return RLX_OK;
}

static rlx_status read_key(found *f, const char *name, const rlx_meta *m) {
  bool is_number = m->kind == RLX_META_FLOAT || m->kind == RLX_META_INT;
  for (int i = 0; i < RLX_SAMPLING_ALL; i++) {
    if (strcmp(name, rlx_sampling_rows[i].gguf) != 0) continue;
    if (!is_number) return RLX_FAIL(RLX_INVALID, "%s: expected a number, got %s", m->key, m->type);
    return take(f, i, m->key, m->number);
  }
  for (size_t i = 0; i < sizeof reported / sizeof *reported; i++)
    if (reported[i].gguf && strcmp(name, reported[i].gguf) == 0 && is_number && m->number == reported[i].neutral)
      return RLX_OK;
  if (!is_listed(parameters_of_others, name)) report(f, name, is_number ? &m->number : NULL);
  return RLX_OK;
}

static rlx_status read_gguf(const rlx_file *file, found *f) {
  static const char prefix[] = "general.sampling.";
  static const char window_key[] = "general.sampling.penalty_last_n";
  rlx_meta m;
  int64_t window = 64; /* llama.cpp's default, for which files without the key are made */
  for (uint32_t i = 0; rlx_file_meta_at(file, i, &m); i++) {
    if (strcmp(m.key, window_key) == 0) RLX_TRY(read_window(&m, &window));
    else if (strncmp(m.key, prefix, sizeof prefix - 1) == 0) RLX_TRY(read_key(f, m.key + sizeof prefix - 1, &m));
  }
  if (window == 0) f->value[RLX_SAMPLING_repetition_penalty] = 1;
  f->penalty_tokens = window > 0 ? (uint64_t)window : 0;
  return RLX_OK;
}

/* ---- generation_config.json ---- */

static rlx_status read_member(found *f, const char *key, json_t *v) {
  if (json_is_null(v)) return RLX_OK;
  if (strcmp(key, "do_sample") == 0) {
    f->is_greedy = json_is_false(v);
    f->samples = json_is_true(v);
    return RLX_OK;
  }
  for (int i = 0; i < RLX_SAMPLING_ALL; i++) {
    if (strcmp(key, rlx_sampling_rows[i].name) != 0) continue;
    if (!json_is_number(v)) return RLX_FAIL(RLX_INVALID, "%s: expected a number", key);
    return take(f, i, key, json_number_value(v));
  }
  double number = json_number_value(v);
  for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
    if (!reported[i].json || strcmp(key, reported[i].json) != 0) continue;
    bool is_empty = json_is_false(v) || (json_is_array(v) && !json_array_size(v));
    if (json_is_number(v) && number != reported[i].neutral) report(f, key, &number);
    else if (!json_is_number(v) && !is_empty) report(f, key, NULL);
    return RLX_OK;
  }
  if (!is_listed(no_effect, key)) report(f, key, json_is_number(v) ? &number : NULL);
  return RLX_OK;
}

static rlx_status read_json(const rlx_meta *m, found *f) {
  json_t *root, *v;
  const char *key;
  RLX_TRY(json_load_whole((json_text){m->text, m->n}, "generation_config.json", JSON_MAX_CONFIG, 0, &root));
  rlx_status s = RLX_OK;
  if (!json_is_object(root)) s = RLX_FAIL(RLX_INVALID, "expected an object, got %s", json_kind_name(root));
  json_object_foreach(root, key, v) {
    if (!s) s = read_member(f, key, v);
  }
  json_decref(root);
  return s ? rlx_fail_frame(s, "generation_config.json") : RLX_OK;
}

/* ---- The table for callers ---- */

uint32_t rlx_lm_setting_count(void) { return RLX_SAMPLING_ALL + lm_n_settings; }

rlx_status rlx_lm_setting_at(uint32_t i, rlx_lm_setting *out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_lm_setting_at: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_lm_setting", out));
  if (i >= rlx_lm_setting_count())
    return RLX_FAIL(RLX_NOT_FOUND, "rlx_lm_setting_at: setting %u of %u", (unsigned)i,
                    (unsigned)rlx_lm_setting_count());
  if (i >= RLX_SAMPLING_ALL) {
    const lm_setting_row *row = &lm_settings[i - RLX_SAMPLING_ALL];
    rlx_lm_setting host = {RLX_LM_SETTING_INIT, false, row->name, row->doc, row->min, row->max, 0};
    return RLX_SIZED_WRITE("rlx_lm_setting", &host, out);
  }
  const rlx_sampling_row *r = &rlx_sampling_rows[i];
  rlx_lm_setting own = {RLX_LM_SETTING_INIT, r->is_whole, r->name, r->doc, r->min, r->max, r->neutral};
  return RLX_SIZED_WRITE("rlx_lm_setting", &own, out);
}

/* ---- Both ---- */

rlx_status rlx_lm_sampling_of(const rlx_file *file, rlx_lm_sampling *out) {
  if (!file || !out) return RLX_FAIL(RLX_INVALID, "rlx_lm_sampling_of: %s is NULL", file ? "out" : "file");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_lm_sampling", out));
  rlx_lm_sampling own = {RLX_LM_SAMPLING_INIT};
  found f = {0};
  for (int i = 0; i < RLX_SAMPLING_ALL; i++) f.value[i] = rlx_sampling_rows[i].neutral;
  rlx_meta m;
  bool has_json = rlx_file_meta_find(file, "generation_config.json", &m) && m.kind == RLX_META_TEXT;
  rlx_status s = has_json ? read_json(&m, &f) : read_gguf(file, &f);
  if (!s && f.others.failed) s = RLX_FAIL(RLX_NO_MEMORY, "the settings of a model");
  if (!s) {
    for (int i = 0; i < RLX_SAMPLING_COUNT; i++) own.is_given |= f.has[i];
    own.is_given |= f.is_greedy || f.samples;
    own.temperature = f.value[RLX_SAMPLING_temperature]; /* neutral where the file only asks for sampling */
    own.top_k = (uint32_t)f.value[RLX_SAMPLING_top_k];
    own.top_p = f.value[RLX_SAMPLING_top_p];
    own.min_p = f.value[RLX_SAMPLING_min_p];
    if (f.is_greedy || !own.is_given) own.temperature = 0;
    own.repetition_penalty = f.value[RLX_SAMPLING_repetition_penalty];
    own.penalty_tokens = own.repetition_penalty != 1 ? f.penalty_tokens : 0;
    snprintf(own.not_applied, sizeof own.not_applied, "%s", f.others.v ? f.others.v : "");
  }
  rlx_str_deinit(&f.others);
  return s ? s : RLX_SIZED_WRITE("rlx_lm_sampling", &own, out);
}
