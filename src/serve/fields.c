/* Reading JSON bodies: members are taken out one by one, and what is left at the end is an error that names it, so that
 * nothing that a client asks for is dropped silently. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "io/file_json.h"
#include "serve/serve.h"

enum { MAX_VALUES = 1 << 18, MAX_STOPS = 64, MAX_BIASES = 1024, MAX_ADAPTERS = 8 };

const char *sv_kind(const json_t *v) { return json_kind_name(v); }

rlx_status sv_body_parse(const rlx_str *body, json_t **out) {
  *out = NULL;
  if (!body->n) return RLX_FAIL(RLX_INVALID, "the body is empty: expected a JSON object");
  RLX_TRY(json_load_whole((json_text){body->v, body->n}, "the body", MAX_VALUES, JSON_ALLOW_NUL, out));
  if (json_is_object(*out)) return RLX_OK;
  rlx_status s = RLX_FAIL(RLX_INVALID, "the body: expected an object, got %s", sv_kind(*out));
  json_decref(*out);
  *out = NULL;
  return s;
}

json_t *sv_take(sv_fields *f, const char *name) {
  json_t *v = json_object_get(f->object, name);
  if (!v || json_array_append(f->kept, v) != 0) return NULL;
  json_object_del(f->object, name);
  return json_is_null(v) ? NULL : v;
}

rlx_status sv_take_bool(sv_fields *f, const char *name, bool *out) {
  const json_t *v = sv_take(f, name);
  if (v && !json_is_boolean(v)) return RLX_FAIL(RLX_INVALID, "%s: expected true or false, got %s", name, sv_kind(v));
  if (v) *out = json_is_true(v);
  return RLX_OK;
}

rlx_status sv_take_text(sv_fields *f, const char *name, const char **out) {
  const json_t *v = sv_take(f, name);
  if (v && !json_is_string(v)) return RLX_FAIL(RLX_INVALID, "%s: expected a string, got %s", name, sv_kind(v));
  if (v && strlen(json_string_value(v)) != json_string_length(v))
    return RLX_FAIL(RLX_INVALID, "%s: the string has a NUL", name);
  if (v) *out = json_string_value(v);
  return RLX_OK;
}

rlx_status sv_take_object(sv_fields *f, const char *name, json_t **out) {
  json_t *v = sv_take(f, name);
  if (v && !json_is_object(v)) return RLX_FAIL(RLX_INVALID, "%s: expected an object, got %s", name, sv_kind(v));
  if (v) *out = v;
  return RLX_OK;
}

rlx_status sv_take_list(sv_fields *f, const char *name, json_t **out) {
  json_t *v = sv_take(f, name);
  if (v && !json_is_array(v)) return RLX_FAIL(RLX_INVALID, "%s: expected a list, got %s", name, sv_kind(v));
  if (v) *out = v;
  return RLX_OK;
}

rlx_status sv_take_only(sv_fields *f, const char *name, const char *only) {
  const json_t *v = sv_take(f, name);
  if (!v) return RLX_OK;
  if (json_is_string(v) && strcmp(json_string_value(v), only) == 0) return RLX_OK;
  if (json_is_boolean(v) && strcmp(json_is_true(v) ? "true" : "false", only) == 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s: this server knows only '%s'", name, only);
}

/* A whole number, also one that is spelled 5.0. */
static bool whole_of(const json_t *v, int64_t *out) {
  double x = json_number_value(v);
  if (json_is_integer(v)) *out = json_integer_value(v);
  else if (json_is_real(v) && floor(x) >= x && fabs(x) < 9e15) *out = (int64_t)x;
  else return false;
  return true;
}

rlx_status sv_take_count(sv_fields *f, const char *name, uint64_t max, uint64_t *out) {
  const json_t *v = sv_take(f, name);
  int64_t n;
  if (!v) return RLX_OK;
  if (!whole_of(v, &n)) return RLX_FAIL(RLX_INVALID, "%s: expected a whole number, got %s", name, sv_kind(v));
  if (n < 0 || (uint64_t)n > max)
    return RLX_FAIL(RLX_INVALID, "%s: expected 0 to %llu, got %lld", name, (unsigned long long)max, (long long)n);
  *out = (uint64_t)n;
  return RLX_OK;
}

rlx_status sv_take_stream(sv_fields *f, sv_job *j) {
  json_t *options = NULL;
  RLX_TRY(sv_take_bool(f, "stream", &j->is_stream));
  RLX_TRY(sv_take_object(f, "stream_options", &options));
  if (!options) return RLX_OK;
  sv_fields inner = {.object = options, .kept = f->kept};
  RLX_TRY(sv_take_bool(&inner, "include_usage", &j->wants_usage));
  RLX_TRY(sv_take_only(&inner, "include_obfuscation", "false"));
  return sv_fields_finish(&inner);
}

/* ---- Sampling ---- */

typedef enum setting_kind { REAL, COUNT, LONG_COUNT, FLAG } setting_kind;
typedef struct setting {
  const char *name;
  setting_kind kind;
  size_t at;
} setting;
/* Names of OpenAI's interface, and for what it does not have those of llama.cpp's server and of lm.h. */
static const setting settings[] = {
#define ROW(name, kind, field) \
  { name, kind, offsetof(rlx_lm_options, field) }
  ROW("temperature", REAL, temperature),
  ROW("top_p", REAL, top_p),
  ROW("top_k", COUNT, top_k),
  ROW("min_p", REAL, min_p),
  ROW("frequency_penalty", REAL, frequency_penalty),
  ROW("presence_penalty", REAL, presence_penalty),
  ROW("repetition_penalty", REAL, repetition_penalty),
  ROW("repeat_penalty", REAL, repetition_penalty),
  ROW("repeat_last_n", LONG_COUNT, penalty_tokens),
  ROW("typical_p", REAL, typical_p),
  ROW("top_n_sigma", REAL, top_n_sigma),
  ROW("xtc_probability", REAL, xtc_probability),
  ROW("xtc_threshold", REAL, xtc_threshold),
  ROW("dynatemp_range", REAL, dynatemp_range),
  ROW("dynatemp_exponent", REAL, dynatemp_exponent),
  ROW("dry_multiplier", REAL, dry_multiplier),
  ROW("dry_base", REAL, dry_base),
  ROW("dry_allowed_length", LONG_COUNT, dry_allowed_length),
  ROW("dry_penalty_last_n", LONG_COUNT, dry_penalty_tokens),
  ROW("mirostat_tau", REAL, mirostat_tau),
  ROW("mirostat_eta", REAL, mirostat_eta),
  ROW("ignore_eos", FLAG, ignore_end),
  ROW("lookup", COUNT, lookup),
#undef ROW
};

static rlx_status take_setting(sv_fields *f, const setting *row, rlx_lm_options *o) {
  void *field = (char *)o + row->at;
  uint64_t n;
  if (row->kind == FLAG) return sv_take_bool(f, row->name, field);
  if (row->kind != REAL) {
    n = row->kind == COUNT ? *(uint32_t *)field : *(uint64_t *)field;
    RLX_TRY(sv_take_count(f, row->name, row->kind == COUNT ? INT32_MAX : INT64_MAX, &n));
    if (row->kind == COUNT) *(uint32_t *)field = (uint32_t)n;
    else *(uint64_t *)field = n;
    return RLX_OK;
  }
  const json_t *v = sv_take(f, row->name);
  if (v && !json_is_number(v)) return RLX_FAIL(RLX_INVALID, "%s: expected a number, got %s", row->name, sv_kind(v));
  if (!v) return RLX_OK;
  double x = json_number_value(v);
  if (*(double *)field < 0 && x < 0) return RLX_FAIL(RLX_INVALID, "%s: expected at least 0, got %g", row->name, x);
  *(double *)field = x;
  return RLX_OK;
}

static rlx_status take_stops(sv_fields *f, sv_job *j, const char *name) {
  const json_t *v = sv_take(f, name);
  size_t n = json_is_string(v) ? 1 : json_array_size(v);
  if (!v) return RLX_OK;
  if (!json_is_string(v) && !json_is_array(v))
    return RLX_FAIL(RLX_INVALID, "%s: expected a string or a list of them, got %s", name, sv_kind(v));
  if (n > MAX_STOPS) return RLX_FAIL(RLX_INVALID, "%s: at most %d texts, got %zu", name, (int)MAX_STOPS, n);
  for (size_t i = 0; i < n; i++) {
    const json_t *e = json_is_string(v) ? v : json_array_get(v, i);
    if (!json_is_string(e) || !json_string_length(e) || strlen(json_string_value(e)) != json_string_length(e))
      return RLX_FAIL(RLX_INVALID, "%s: element %zu: expected a text that is not empty and has no NUL", name, i);
    if (!rlx_array_push(&j->stops, json_string_value(e))) return RLX_FAIL(RLX_NO_MEMORY, "%zu stop texts", n);
  }
  return RLX_OK;
}

static rlx_status take_biases(sv_fields *f, sv_job *j) {
  json_t *v = sv_take(f, "logit_bias"), *bias;
  const char *key;
  if (!v) return RLX_OK;
  if (!json_is_object(v)) return RLX_FAIL(RLX_INVALID, "logit_bias: expected an object, got %s", sv_kind(v));
  if (json_object_size(v) > MAX_BIASES)
    return RLX_FAIL(RLX_INVALID, "logit_bias: at most %d tokens, got %zu", (int)MAX_BIASES, json_object_size(v));
  json_object_foreach(v, key, bias) {
    double id, x = json_number_value(bias);
    if (!rlx_text_to_double(key, strlen(key), &id) || !(id >= 0 && id <= INT32_MAX) || floor(id) < id)
      return RLX_FAIL(RLX_INVALID, "logit_bias: '%.40s' is no token's number", key);
    if (!json_is_number(bias) || !(x >= -100 && x <= 100))
      return RLX_FAIL(RLX_INVALID, "logit_bias: %.20s: expected a number from -100 to 100", key);
    /* -100 forbids a token, as the clients' documentation has it */
    rlx_lm_bias row = {(int32_t)id, x <= -100 ? -INFINITY : (float)x};
    if (!rlx_array_push(&j->biases, row)) return RLX_FAIL(RLX_NO_MEMORY, "biases");
  }
  return RLX_OK;
}

/* "lora": [{"id": 0, "scale": 0.5}]; adapters that are not named do not count. */
static rlx_status take_adapters(sv_fields *f, sv_job *j) {
  const json_t *v = sv_take(f, "lora");
  if (!v) return RLX_OK;
  if (!json_is_array(v) || json_array_size(v) > MAX_ADAPTERS)
    return RLX_FAIL(RLX_INVALID, "lora: expected a list of at most %d adapters, got %s", (int)MAX_ADAPTERS, sv_kind(v));
  for (size_t i = 0; i < json_array_size(v); i++) {
    int64_t id = -1;
    const json_t *e = json_array_get(v, i), *number = json_object_get(e, "id"), *scale = json_object_get(e, "scale");
    double x = scale ? json_number_value(scale) : 1;
    if (!number || !whole_of(number, &id) || id < 0 || id >= (int64_t)j->server->adapters.n)
      return RLX_FAIL(RLX_INVALID, "lora: element %zu: expected the id of one of the server's %zu adapters", i,
                      j->server->adapters.n);
    if ((scale && !json_is_number(scale)) || !(x >= -1e6 && x <= 1e6))
      return RLX_FAIL(RLX_INVALID, "lora: element %zu: expected a number as its scale", i);
    rlx_lm_adapter a = {(uint32_t)id, (float)x};
    if (!rlx_array_push(&j->adapters, a)) return RLX_FAIL(RLX_NO_MEMORY, "adapters");
  }
  rlx_lm_adapter none = {0, 0}; /* an empty list is a choice as well */
  if (!j->adapters.n && j->server->adapters.n && !rlx_array_push(&j->adapters, none))
    return RLX_FAIL(RLX_NO_MEMORY, "adapters");
  return RLX_OK;
}

/* A seed may be any integer; without one, each answer has its own. */
static rlx_status take_seed(sv_fields *f, sv_job *j) {
  const json_t *v = sv_take(f, "seed");
  int64_t seed;
  if (!v) {
    j->options.seed = (uint64_t)j->begin_ns;
    return RLX_OK;
  }
  if (!whole_of(v, &seed)) return RLX_FAIL(RLX_INVALID, "seed: expected a whole number, got %s", sv_kind(v));
  j->options.seed = (uint64_t)seed & INT64_MAX;
  return RLX_OK;
}

rlx_status sv_take_options(sv_fields *f, sv_job *j) {
  static const char *const limits[] = {"max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict"};
  rlx_lm_options *o = &j->options; /* these are the model's own once it is loaded, unless the request has them */
  o->temperature = o->top_p = o->min_p = o->repetition_penalty = -1;
  o->top_k = o->lookup = UINT32_MAX;
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) RLX_TRY(take_setting(f, &settings[i], &j->options));
  uint64_t max = 0;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) RLX_TRY(sv_take_count(f, limits[i], INT32_MAX, &max));
  j->options.max_tokens = (uint32_t)max;
  RLX_TRY(take_stops(f, j, "stop"));
  RLX_TRY(take_stops(f, j, "stop_sequences"));
  RLX_TRY(take_biases(f, j));
  RLX_TRY(take_adapters(f, j));
  return take_seed(f, j);
}

/* ---- A body as a whole ---- */

rlx_status sv_fields_finish(sv_fields *f) {
  /* Who asks, where the answer is kept, how it is billed: nothing that an answer depends on. */
  static const char *const about[] = {"user",
                                      "metadata",
                                      "store",
                                      "service_tier",
                                      "safety_identifier",
                                      "prompt_cache_key",
                                      "prompt_cache_retention",
                                      "cache_prompt",
                                      "betas",
                                      "container",
                                      "inference_geo",
                                      "cache_control",
                                      "diagnostics",
                                      "speed",
                                      "user_profile_id",
                                      "workspace_id"};
  for (size_t i = 0; i < sizeof about / sizeof *about; i++) json_object_del(f->object, about[i]);
  const char *key;
  json_t *v;
  json_object_foreach(f->object, key, v) {
    if (json_is_null(v)) continue;
    return RLX_FAIL(RLX_INVALID, "'%.60s' is not known to this server or to this route", key);
  }
  return RLX_OK;
}

static rlx_status read_job(struct rlx_server *s, sv_fields *f, const sv_reader *reader, sv_job *j) {
  const char *model = NULL;
  f->kept = j->kept;
  RLX_TRY(sv_take_text(f, "model", &model));
  RLX_TRY(sv_model_find(s, model, &j->model));
  RLX_TRY(reader->read(f, j));
  return sv_fields_finish(f);
}

rlx_status sv_read_job(struct rlx_server *s, const rlx_str *body, const sv_reader *reader, sv_job **out) {
  sv_fields f = {0};
  sv_job *j = NULL;
  *out = NULL;
  RLX_TRY(sv_body_parse(body, &f.object));
  rlx_status status = sv_job_create(s, reader->error, &j);
  if (!status) status = read_job(s, &f, reader, j);
  json_decref(f.object);
  if (!status) *out = j;
  else if (j) sv_job_release(j);
  return status;
}
