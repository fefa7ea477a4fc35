/* Chat templates that are run: the public functions.
 *
 * A run prints into a text that knows which of its bytes are content. Encoding looks for special tokens outside of
 * those (text_encode_around), as for the templates of the table (chat_write.c): the text of a message never becomes
 * one, whatever the template does with it.
 *
 * The limits grow with the input. They are far above what templates need: a long conversation takes some hundreds of
 * steps a message. */
#include "text/chat_program.h"

#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "io/file_json.h"

enum { MAX_DEPTH = 400, BYTES_PER_BYTE = 64, WORK_PER_BYTE = 256 };
static const size_t max_bytes = (size_t)1 << 26;
static const uint64_t max_work = (uint64_t)1 << 25;

/* ---- Creating ---- */

void rlx_chat_template_destroy(rlx_chat_template *t) {
  if (!t) return;
  jinja_program_deinit(&t->program);
  for (size_t i = 0; i < t->specials.n; i++) {
    rlx_mem_free(t->specials.v[i].name);
    rlx_mem_free(t->specials.v[i].text);
  }
  rlx_array_deinit(&t->specials);
  rlx_mem_free(t->text);
  rlx_mem_free(t);
}

rlx_status rlx_chat_template_create(const char *text, size_t bytes, rlx_chat_template **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_create: out is NULL");
  *out = NULL;
  if (!text && bytes) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_create: text is NULL");
  rlx_chat_template *t = rlx_new(rlx_chat_template);
  if (!t) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  rlx_status s = text_copy(text ? text : "", bytes, &t->text);
  if (!s) s = jinja_parse(t->text, bytes, &t->program);
  if (s) {
    rlx_chat_template_destroy(t);
    return s;
  }
  *out = t;
  return RLX_OK;
}

const char *rlx_chat_template_text(const rlx_chat_template *t) { return t ? t->text : NULL; }

/* ---- From a file ---- */

static rlx_status add_special(rlx_chat_template *t, const char *name, const char *text, size_t n) {
  chat_special x = {0};
  rlx_status s = text_copy(name, strlen(name), &x.name);
  if (!s) s = text_copy(text, n, &x.text);
  if (!s && !rlx_array_push(&t->specials, x)) s = RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  if (!s) return RLX_OK;
  rlx_mem_free(x.name);
  rlx_mem_free(x.text);
  return s;
}

static rlx_status specials_of_gguf(rlx_chat_template *t, const rlx_file *f) {
  static const char *const names[][2] = {{"bos_token", "bos"},
                                         {"eos_token", "eos"},
                                         {"unk_token", "unknown"},
                                         {"pad_token", "padding"},
                                         {"sep_token", "seperator"}};
  rlx_meta tokens, id, token;
  if (!rlx_file_meta_find(f, "tokenizer.ggml.tokens", &tokens) || tokens.kind != RLX_META_LIST) return RLX_OK;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char key[64];
    snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", names[i][1]);
    if (!rlx_file_meta_find(f, key, &id) || id.kind != RLX_META_INT || id.integer < 0) continue;
    if (!rlx_meta_element(&tokens, (size_t)id.integer, &token) || token.kind != RLX_META_TEXT) continue;
    RLX_TRY(add_special(t, names[i][0], token.text, token.n));
  }
  return RLX_OK;
}

/* Members "bos_token" and the like: a text, or an object with "content". */
static rlx_status specials_of_config(rlx_chat_template *t, json_t *config) {
  const char *name;
  json_t *v;
  json_object_foreach(config, name, v) {
    size_t n = strlen(name);
    if (n < 6 || strcmp(name + n - 6, "_token") != 0) continue;
    json_t *text = json_is_object(v) ? json_object_get(v, "content") : v;
    if (json_is_string(text)) RLX_TRY(add_special(t, name, json_string_value(text), json_string_length(text)));
  }
  return RLX_OK;
}

static rlx_status specials_of(rlx_chat_template *t, const rlx_file *f) {
  rlx_meta m;
  json_t *config;
  if (!rlx_file_meta_find(f, "tokenizer_config.json", &m) || m.kind != RLX_META_TEXT) return specials_of_gguf(t, f);
  RLX_TRY(text_load_config((text_span){m.text, m.n}, &config));
  rlx_status s = specials_of_config(t, config);
  json_decref(config);
  return s;
}

rlx_status rlx_chat_template_load(const rlx_file *f, rlx_chat_template **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_load: out is NULL");
  *out = NULL;
  if (!f) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_load: file is NULL");
  char *text = NULL;
  size_t n = 0;
  RLX_TRY(text_chat_template_of(f, &text, &n));
  rlx_status s =
    text ? rlx_chat_template_create(text, n, out) : RLX_FAIL(RLX_NOT_FOUND, "the file has no chat template");
  rlx_mem_free(text);
  if (!s) s = specials_of(*out, f);
  if (!s) return RLX_OK;
  rlx_chat_template_destroy(*out);
  *out = NULL;
  return s;
}

/* ---- Running ---- */

/* What is asked for: JSON, or messages. */
typedef struct request {
  const char *json;
  size_t bytes;
  const rlx_chat_message *messages;
  size_t n;
  bool reply;
} request;

static rlx_status run(jinja_run *r, const rlx_chat_template *t, const rlx_tokenizer *tok, const request *q,
                      jinja_builder *out) {
  jinja_dict *input;
  RLX_TRY(q->json ? chat_input_json(r, q->json, q->bytes, &input)
                  : chat_input_messages(r, q->messages, q->n, q->reply, &input));
  RLX_TRY(chat_input_complete(r, t, tok, input));
  r->work = 0; /* reading the input is no work of the template */
  return jinja_run_program(r, input, out);
}

static void begin(jinja_run *r, const rlx_chat_template *t, const request *q) {
  size_t bytes = q->bytes;
  for (size_t i = 0; i < q->n; i++) bytes += q->messages[i].text ? strlen(q->messages[i].text) : 0;
  size_t grown = bytes < SIZE_MAX / 4 / BYTES_PER_BYTE ? bytes * BYTES_PER_BYTE : SIZE_MAX / 4;
  jinja_limits limits = {.work = max_work + (uint64_t)grown * (WORK_PER_BYTE / BYTES_PER_BYTE),
                         .bytes = max_bytes + grown,
                         .depth = MAX_DEPTH};
  jinja_run_init(r, &t->program, &limits);
}

/* BOS of the template and of the tokenizer are one. */
static void join_bos(const rlx_tokenizer *tok, int32_t *ids, size_t *n) {
  size_t before = tok->n_before;
  if (tok->bos < 0 || !before || *n <= before || ids[before - 1] != tok->bos || ids[before] != tok->bos) return;
  memmove(ids + before, ids + before + 1, (*n - before - 1) * sizeof *ids);
  --*n;
}

static rlx_status encode(const rlx_chat_template *t, const rlx_tokenizer *tok, const request *q, unsigned flags,
                         int32_t **ids, size_t *n) {
  jinja_run r;
  jinja_builder out = {0};
  bool trusts = (flags & RLX_TOKENS_PARSE_SPECIAL) != 0;
  begin(&r, t, q);
  rlx_status s = run(&r, t, tok, q, &out);
  if (!s)
    s = text_encode_around(tok, (text_span){out.n ? out.p : "", out.n}, out.content, trusts ? 0 : out.n_content,
                           flags | RLX_TOKENS_PARSE_SPECIAL, ids, n);
  jinja_run_deinit(&r);
  if (!s && flags & RLX_TOKENS_ADD_SPECIAL) join_bos(tok, *ids, n);
  return s;
}

static rlx_status encode_limited(const char *call, const rlx_chat_template *t, const rlx_tokenizer *tok,
                                 const request *q, unsigned flags, int32_t **ids, size_t *n) {
  if (!ids || !n) return RLX_FAIL(RLX_INVALID, "%s: ids or n is NULL", call);
  *ids = NULL;
  *n = 0;
  if (!t || !tok) return RLX_FAIL(RLX_INVALID, "%s: %s is NULL", call, t ? "tokenizer" : "template");
  if (flags & ~(unsigned)(RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL))
    return RLX_FAIL(RLX_INVALID, "%s: unknown flags %#x", call, flags);
  rlx_budget budget;
  rlx_budget_begin(&budget, call, &tok->limits, 0, NULL);
  return rlx_budget_end(&budget, encode(t, tok, q, flags, ids, n));
}

rlx_status rlx_chat_template_encode(const rlx_chat_template *t, const rlx_tokenizer *tok, const char *input,
                                    size_t bytes, unsigned flags, int32_t **ids, size_t *n) {
  if (!input) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_encode: input is NULL");
  request q = {.json = input, .bytes = bytes};
  return encode_limited("rlx_chat_template_encode", t, tok, &q, flags, ids, n);
}

rlx_status text_chat_program_encode(const rlx_chat_template *t, const rlx_tokenizer *tok,
                                    const rlx_chat_message *messages, size_t n, bool reply, unsigned flags,
                                    int32_t **ids, size_t *n_ids) {
  request q = {.messages = messages, .n = n, .reply = reply};
  return encode_limited("rlx_lm_reply", t, tok, &q, flags, ids, n_ids);
}

rlx_status rlx_chat_template_format(const rlx_chat_template *t, const char *input, size_t bytes, char **text) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_format: text is NULL");
  *text = NULL;
  if (!t || !input) return RLX_FAIL(RLX_INVALID, "rlx_chat_template_format: %s is NULL", t ? "input" : "template");
  request q = {.json = input, .bytes = bytes};
  jinja_run r;
  jinja_builder out = {0};
  begin(&r, t, &q);
  rlx_status s = run(&r, t, NULL, &q, &out);
  if (!s && out.n && memchr(out.p, 0, out.n))
    s = RLX_FAIL(RLX_INVALID, "rlx_chat_template_format: the text has a NUL, which a text of C cannot hold");
  if (!s) s = text_copy(out.n ? out.p : "", out.n, text);
  jinja_run_deinit(&r);
  return s;
}
