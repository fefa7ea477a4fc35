/* Language models: open, describe, tokens, embeddings, report. Generation is in lm_generate.c. */
#include "web/lm.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

WEB_EXPORT(rlx_web_lm_close) void rlx_web_lm_close(web_lm *m) {
  if (!m) return;
  web_generation_end(&m->generation);
  rlx_lm_destroy(m->lm);
  rlx_mem_free(m);
}

static rlx_status open_model(web_lm *m, rlx_lm_desc *desc, double memory) {
  RLX_TRY(web_session_create(desc->device, desc->n_threads, memory, &desc->session));
  desc->device = NULL;
  desc->n_threads = 0;
  desc->watch = web_watch(&m->user);
  rlx_status s = rlx_lm_load(desc, &m->lm);
  rlx_session_destroy(desc->session); /* the model keeps what it needs */
  return s;
}

enum { FLAG_DRY_RUN = 1, FLAG_EXACT = 2, FLAG_CACHE_F32 = 4 }; /* also in worker.js */

/* context, chunk: 0: the library's defaults. FLAG_DRY_RUN: determine the memory needed, load nothing. */
WEB_EXPORT(rlx_web_lm_open)
web_lm *rlx_web_lm_open(const char *path, const char *device, uint32_t context, uint32_t chunk, uint32_t n_threads,
                        double memory, uint32_t flags, int32_t user) {
  web_lm *m = rlx_new(web_lm);
  if (!m) {
    web_end(RLX_FAIL(RLX_NO_MEMORY, "%s", path));
    return NULL;
  }
  m->user.id = user;
  rlx_lm_desc desc = {RLX_LM_DESC_INIT,
                      .path = path,
                      .device = device,
                      .context = context,
                      .chunk = chunk,
                      .n_threads = n_threads,
                      .dry_run = (flags & FLAG_DRY_RUN) != 0};
  if (flags & FLAG_EXACT) desc.switches = RLX_SWITCH_EXACT;
  if (flags & FLAG_CACHE_F32) desc.cache_type = RLX_LM_CACHE_F32;
  rlx_status s = open_model(m, &desc, memory);
  if (s) {
    rlx_mem_free(m);
    m = NULL;
  }
  web_end(s);
  return m;
}

/* ---- Description ---- */

static void add_text(rlx_str *out, const char *key, const char *text) {
  rlx_str_add(out, "\"%s\":", key);
  if (text) rlx_str_add_quoted(out, text);
  else rlx_str_add(out, "null");
  rlx_str_add_char(out, ',');
}

static void add_number(rlx_str *out, const char *key, double x) {
  rlx_str_add(out, "\"%s\":", key);
  rlx_str_add_double(out, x);
  rlx_str_add_char(out, ',');
}

/* The settings that the model's authors recommend; null if the file has none. */
static rlx_status add_sampling(const web_lm *m, rlx_str *out) {
  rlx_lm_sampling s = {RLX_LM_SAMPLING_INIT};
  RLX_TRY(rlx_lm_sampling_of(rlx_lm_file(m->lm), &s));
  rlx_str_add(out, "\"sampling\":");
  if (!s.is_given) {
    rlx_str_add(out, "null,");
    return RLX_OK;
  }
  rlx_str_add_char(out, '{');
  add_number(out, "temperature", s.temperature);
  add_number(out, "topK", s.top_k);
  add_number(out, "topP", s.top_p);
  add_number(out, "minP", s.min_p);
  add_number(out, "penaltyTokens", (double)s.penalty_tokens);
  rlx_str_add(out, "\"repetitionPenalty\":");
  rlx_str_add_double(out, s.repetition_penalty);
  rlx_str_add(out, "},");
  return RLX_OK;
}

/* Its name, "own" if it is none of the known ones and can be run, or NULL. */
static const char *template_of(const rlx_file *f) {
  rlx_chat_template *t;
  const char *name = rlx_chat_template_of(f);
  if (name || rlx_chat_template_load(f, &t)) return name;
  rlx_chat_template_destroy(t);
  return "own";
}

static rlx_status describe(const web_lm *m, rlx_str *out) {
  rlx_lm_info i = {RLX_LM_INFO_INIT};
  rlx_device_info device = {RLX_DEVICE_INFO_INIT};
  const rlx_tokenizer *t = rlx_lm_tokenizer(m->lm);
  RLX_TRY(rlx_lm_describe(m->lm, &i));
  RLX_TRY(rlx_lm_device(m->lm, &device));
  rlx_str_add_char(out, '{');
  add_text(out, "family", i.family);
  add_text(out, "name", i.name);
  add_text(out, "weights", i.weights);
  add_text(out, "chatTemplate", template_of(rlx_lm_file(m->lm)));
  add_text(out, "tokenizer", t ? rlx_tokenizer_kind(t) : NULL);
  RLX_TRY(add_sampling(m, out));
  rlx_str_add(out, "\"layers\":%" PRIu32 ",\"width\":%" PRIu32 ",\"heads\":%" PRIu32 ",\"kvHeads\":%" PRIu32,
              i.n_layers, i.width, i.n_heads, i.n_kv_heads);
  rlx_str_add(out, ",\"vocabulary\":%" PRIu32 ",\"experts\":%" PRIu32 ",\"context\":%" PRIu32, i.n_vocabulary,
              i.n_experts, i.context);
  rlx_str_add(out, ",\"modelContext\":%" PRIu32 ",\"chunk\":%" PRIu32 ",\"isEncoder\":%s,", i.model_context, i.chunk,
              i.is_encoder ? "true" : "false");
  rlx_str_add(out, "\"parameters\":%" PRIu64 ",\"weightBytes\":%" PRIu64 ",\"stateBytes\":%" PRIu64, i.n_parameters,
              i.weight_bytes, i.state_bytes);
  rlx_str_add(out, ",\"scratchBytes\":%" PRIu64 ",", i.scratch_bytes);
  add_number(out, "loadSeconds", i.load_seconds);
  rlx_str_add(out, "\"device\":");
  web_device_json(&device, out);
  rlx_str_add_char(out, '}');
  return RLX_OK;
}

WEB_EXPORT(rlx_web_lm_info) char *rlx_web_lm_info(const web_lm *m) {
  rlx_str out = {0};
  return web_end_text(describe(m, &out), &out);
}

WEB_EXPORT(rlx_web_lm_report) char *rlx_web_lm_report(const web_lm *m, int32_t kind, int32_t format) {
  return web_report(rlx_lm_executable(m->lm), kind, format);
}

/* ---- Tokens and embeddings ---- */

static rlx_status tokenizer_of(const web_lm *m, const rlx_tokenizer **t) {
  *t = rlx_lm_tokenizer(m->lm);
  return *t ? RLX_OK : RLX_FAIL(RLX_UNSUPPORTED, "the model has no supported tokenizer");
}

static rlx_status encode(const web_lm *m, const char *text, size_t bytes, uint32_t flags, int32_t **ids, size_t *n) {
  const rlx_tokenizer *t;
  RLX_TRY(tokenizer_of(m, &t));
  return rlx_tokenizer_encode(t, text, bytes, flags, ids, n);
}

/* flags: rlx_token_flags. *n: how many; the ids are freed with rlx_web_free. */
WEB_EXPORT(rlx_web_lm_encode)
int32_t *rlx_web_lm_encode(const web_lm *m, const char *text, size_t bytes, uint32_t flags, size_t *n) {
  int32_t *ids = NULL;
  *n = 0;
  web_end(encode(m, text, bytes, flags, &ids, n));
  return ids;
}

static rlx_status decode(const web_lm *m, const int32_t *ids, size_t n, bool special, char **text, size_t *bytes) {
  const rlx_tokenizer *t;
  RLX_TRY(tokenizer_of(m, &t));
  return rlx_tokenizer_decode(t, ids, n, special, text, bytes);
}

WEB_EXPORT(rlx_web_lm_decode)
char *rlx_web_lm_decode(const web_lm *m, const int32_t *ids, size_t n, int32_t special, size_t *bytes) {
  char *text = NULL;
  *bytes = 0;
  web_end(decode(m, ids, n, special != 0, &text, bytes));
  return text;
}

static rlx_status embed(web_lm *m, const char *text, size_t bytes, float **out, uint32_t *width) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  RLX_TRY(rlx_lm_describe(m->lm, &info));
  *width = info.width;
  *out = rlx_mem_calloc(info.width, sizeof **out);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "an embedding of %" PRIu32 " values", info.width);
  size_t n_cut; /* a text that does not fit is truncated, as `rlx embed` does */
  const rlx_watch watch = web_watch(&m->user);
  return rlx_lm_embed_watched(m->lm, text, bytes, &watch, *out, &n_cut);
}

/* *width values, freed with rlx_web_free. */
WEB_EXPORT(rlx_web_lm_embed)
float *rlx_web_lm_embed(web_lm *m, const char *text, size_t bytes, uint32_t *width, int32_t user) {
  float *values = NULL;
  *width = 0;
  m->user = (web_user){.id = user};
  if (web_end(embed(m, text, bytes, &values, width))) {
    rlx_mem_free(values);
    values = NULL;
  }
  return values;
}
