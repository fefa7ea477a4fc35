/* Reading a configuration. Two kinds of metadata, which either format of file may hold once it was converted, are asked through one set of questions (config.h); this file holds the
 * reader, the choice of the family, and the groups of facts that most families share. Scaling of rotary positions is in
 * rope.c: it is most of what one cannot see at a glance in a config.json. */
#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/family.h"
#include "model/reader.h"

/* ---- The reader ---- */

bool lm_reader_is_hf(const lm_reader *r) { return r->json != NULL; }

void lm_reader_fail(lm_reader *r, rlx_status code, const char *fmt, ...) {
  if (r->status) return;
  char text[512];
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  r->status = RLX_FAIL(code, "%s", text);
}

/* Whether a list of words separated by blanks has this one. */
static bool has_word(const char *words, const char *word, size_t n) {
  for (const char *at = words; *at;) {
    size_t len = strcspn(at, " ");
    if (len == n && memcmp(at, word, n) == 0) return true;
    at += len;
    at += strspn(at, " ");
  }
  return false;
}

json_t *lm_reader_json(const lm_reader *r, const char *hf, const char **key) {
  for (const char *at = hf; at && *at;) {
    size_t len = strcspn(at, " ");
    json_t *v = json_object_getn(r->json, at, len);
    if (v && !json_is_null(v)) {
      *key = at;
      return v;
    }
    at += len;
    at += strspn(at, " ");
  }
  return NULL;
}

/* A fact's value, from either kind of file, with the name it has there. */
typedef struct fact {
  rlx_meta_kind kind; /* NONE: the file does not tell */
  double number;
  const char *text;
  char name[96];
} fact;

static void fact_from_json(lm_reader *r, const char *hf, fact *out) {
  const char *key = "";
  json_t *v = lm_reader_json(r, hf, &key);
  snprintf(out->name, sizeof out->name, "config.json's %.*s", (int)strcspn(key, " "), key);
  if (!v) return;
  out->kind = RLX_META_LIST;
  if (json_is_boolean(v)) out->kind = RLX_META_BOOL, out->number = json_is_true(v);
  else if (json_is_integer(v)) out->kind = RLX_META_INT, out->number = (double)json_integer_value(v);
  else if (json_is_real(v)) out->kind = RLX_META_FLOAT, out->number = json_real_value(v);
  else if (json_is_string(v)) out->kind = RLX_META_TEXT, out->text = json_string_value(v);
}

/* Some writers give one number per layer; all equal is one number. */
static void settle_list(const rlx_meta *list, rlx_meta *out) {
  rlx_meta first, other;
  if (!rlx_meta_element(list, 0, &first) || (first.kind != RLX_META_INT && first.kind != RLX_META_FLOAT)) return;
  for (size_t i = 1; i < list->n; i++)
    if (!rlx_meta_element(list, i, &other) || other.number != first.number) return;
  *out = first;
}

/* A safetensors that was made of a GGUF has its keys as texts. */
static void read_text(rlx_meta *m) {
  double number;
  if (!rlx_text_to_double(m->text, m->n, &number)) return;
  m->kind = number == floor(number) && !strpbrk(m->text, ".eE") ? RLX_META_INT : RLX_META_FLOAT;
  m->integer = m->kind == RLX_META_INT && fabs(number) < 1e18 ? (int64_t)number : 0;
  m->number = number;
}

static void fact_from_gguf(lm_reader *r, const char *gguf, fact *out) {
  rlx_meta m;
  snprintf(out->name, sizeof out->name, "%s.%s", r->prefix, gguf ? gguf : "");
  if (!gguf || !rlx_file_meta_find(r->file, out->name, &m)) return;
  if (m.kind == RLX_META_LIST) settle_list(&m, &m);
  if (m.kind == RLX_META_TEXT && !r->is_gguf) read_text(&m);
  out->kind = m.kind;
  out->number = m.kind == RLX_META_INT || m.kind == RLX_META_BOOL ? (double)m.integer : m.number;
  out->text = m.text;
}

static fact read_fact(lm_reader *r, const char *gguf, const char *hf) {
  fact v = {.kind = RLX_META_NONE};
  if (r->json) fact_from_json(r, hf, &v);
  else fact_from_gguf(r, gguf, &v);
  return v;
}

/* The name under which a fact that is not there should have been. */
static void fail_missing(lm_reader *r, const char *gguf, const char *hf) {
  if (r->json) lm_reader_fail(r, RLX_INVALID, "config.json has no '%.*s'", (int)strcspn(hf ? hf : "", " "), hf);
  else lm_reader_fail(r, RLX_INVALID, "the metadata has no '%s.%s'", r->prefix, gguf ? gguf : "");
}

static int64_t read_size(lm_reader *r, const char *gguf, const char *hf, int64_t fallback) {
  fact v = read_fact(r, gguf, hf);
  if (v.kind == RLX_META_NONE) {
    if (fallback == LM_NEEDED) fail_missing(r, gguf, hf);
    return fallback == LM_NEEDED ? 1 : fallback;
  }
  if (v.kind != RLX_META_INT)
    lm_reader_fail(r, RLX_INVALID, "%s is not a whole number (nor the same one for all layers)", v.name);
  else if (v.number < (fallback == LM_NEEDED ? 1 : 0) || v.number > (double)LM_MAX_SIZE)
    lm_reader_fail(r, RLX_INVALID, "%s is %.0f; expected 1 to %lld", v.name, v.number, (long long)LM_MAX_SIZE);
  else if (v.number > 0) return (int64_t)v.number;
  return fallback == LM_NEEDED ? 1 : fallback;
}

static double read_number(lm_reader *r, const char *gguf, const char *hf, double fallback) {
  fact v = read_fact(r, gguf, hf);
  if (v.kind == RLX_META_NONE) {
    if (fallback == LM_NEEDED) fail_missing(r, gguf, hf);
    return fallback;
  }
  if ((v.kind == RLX_META_INT || v.kind == RLX_META_FLOAT) && v.number >= 0 && v.number <= 1e30) return v.number;
  lm_reader_fail(r, RLX_INVALID, "%s is not a number that is 0 or more", v.name);
  return fallback;
}

void lm_note_size(lm_reader *r, const char *gguf, int64_t value) {
  if (r->told && gguf && value > 0)
    r->told(r->user, gguf, &(rlx_meta){.type = "u32", .kind = RLX_META_INT, .integer = value, .number = (double)value});
}

void lm_note_number(lm_reader *r, const char *gguf, double value) {
  if (r->told && gguf && value > 0)
    r->told(r->user, gguf, &(rlx_meta){.type = "f32", .kind = RLX_META_FLOAT, .number = value});
}

void lm_note_text(lm_reader *r, const char *gguf, const char *value) {
  if (r->told)
    r->told(r->user, gguf, &(rlx_meta){.type = "string", .kind = RLX_META_TEXT, .text = value, .n = strlen(value)});
}

int64_t lm_key_size(lm_reader *r, const char *gguf, const char *hf, int64_t fallback) {
  int64_t v = read_size(r, gguf, hf, fallback);
  lm_note_size(r, gguf, v);
  return v;
}

double lm_key_number(lm_reader *r, const char *gguf, const char *hf, double fallback) {
  double v = read_number(r, gguf, hf, fallback);
  lm_note_number(r, gguf, v);
  return v;
}

bool lm_key_bool(lm_reader *r, const char *gguf, const char *hf, bool fallback) {
  fact v = read_fact(r, gguf, hf);
  if (v.kind == RLX_META_NONE) return fallback;
  if (v.kind != RLX_META_BOOL) lm_reader_fail(r, RLX_INVALID, "%s is neither true nor false", v.name);
  return v.number != 0;
}

const char *lm_key_text(lm_reader *r, const char *gguf, const char *hf, const char *fallback) {
  fact v = read_fact(r, gguf, hf);
  if (v.kind == RLX_META_NONE) return fallback;
  if (v.kind == RLX_META_TEXT) return v.text;
  lm_reader_fail(r, RLX_INVALID, "%s is not a text", v.name);
  return fallback;
}

/* ---- Groups of facts ---- */

void lm_read_basics(lm_reader *r, lm_config *c) {
  c->layers = lm_key_size(r, "block_count", "num_hidden_layers n_layer", LM_NEEDED);
  c->width = lm_key_size(r, "embedding_length", "hidden_size n_embd d_model", LM_NEEDED);
  c->context =
    lm_key_size(r, "context_length", "max_position_embeddings n_positions n_ctx", c->context ? c->context : 2048);
  c->vocabulary = lm_key_size(r, "vocab_size", "vocab_size", 0);
  c->hidden = lm_key_size(r, "feed_forward_length", "intermediate_size n_inner", 0);
  if (c->layers > LM_MAX_LAYERS)
    lm_reader_fail(r, RLX_INVALID, "the configuration has %lld layers; expected at most %d", (long long)c->layers,
                   LM_MAX_LAYERS);
}

void lm_read_attention(lm_reader *r, lm_config *c) {
  c->heads = lm_key_size(r, "attention.head_count", "num_attention_heads n_head", c->heads ? c->heads : LM_NEEDED);
  c->kv_heads = lm_key_size(r, "attention.head_count_kv", "num_key_value_heads", c->kv_heads ? c->kv_heads : c->heads);
  c->head = lm_key_size(r, "attention.key_length", "head_dim", c->head);
  int64_t value_head = lm_key_size(r, "attention.value_length", NULL, c->head);
  if (r->status) return;
  if (c->heads > LM_MAX_SIZE / c->kv_heads || c->heads % c->kv_heads != 0)
    lm_reader_fail(r, RLX_INVALID, "%lld heads of queries do not divide among %lld of keys and values",
                   (long long)c->heads, (long long)c->kv_heads);
  else if (!c->head && c->width % c->heads != 0)
    lm_reader_fail(r, RLX_INVALID, "a width of %lld does not divide into %lld heads", (long long)c->width,
                   (long long)c->heads);
  else if (!c->head) c->head = c->width / c->heads;
  if (value_head && value_head != c->head)
    lm_reader_fail(r, RLX_UNSUPPORTED, "heads of values have %lld elements and those of keys %lld; they must be equal",
                   (long long)value_head, (long long)c->head);
  if (c->head > LM_MAX_SIZE / c->heads)
    lm_reader_fail(r, RLX_INVALID, "%lld heads of %lld elements are too many", (long long)c->heads, (long long)c->head);
}

void lm_read_activation(lm_reader *r, lm_config *c, rlx_act fallback) {
  static const struct {
    const char *name;
    rlx_act act;
  } known[] = {{"silu", RLX_ACT_SILU},
               {"swish", RLX_ACT_SILU},
               {"gelu", RLX_ACT_GELU},
               {"gelu_new", RLX_ACT_GELU_APPROX},
               {"gelu_pytorch_tanh", RLX_ACT_GELU_APPROX},
               {"relu", RLX_ACT_RELU}};
  c->act = fallback;
  const char *name = lm_key_text(r, NULL, "hidden_activation hidden_act activation_function", NULL);
  if (!name) return;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, name) != 0) continue;
    c->act = known[i].act;
    return;
  }
  lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's activation '%s' is not known", name);
}

void lm_read_experts(lm_reader *r, lm_config *c) {
  c->experts = lm_key_size(r, "expert_count", "num_local_experts num_experts", 0);
  c->experts_used = lm_key_size(r, "expert_used_count", "num_experts_per_tok", 0);
  if (c->experts && (c->experts_used < 1 || c->experts_used > c->experts || c->experts > LM_MAX_EXPERTS))
    lm_reader_fail(r, RLX_INVALID, "%lld of %lld experts are used per token; expected 1 or more of at most %d",
                   (long long)c->experts_used, (long long)c->experts, LM_MAX_EXPERTS);
}

/* Dense are the layers that config.json lists, and all but every step-th. */
static void list_dense_layers(lm_reader *r, lm_config *c) {
  const char *key = "";
  const json_t *list = lm_reader_json(r, "mlp_only_layers", &key);
  int64_t step = lm_key_size(r, NULL, "decoder_sparse_step", 1);
  for (int64_t i = 0; i < c->layers; i++) c->is_dense[i] = (i + 1) % step != 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *v = json_array_get(list, i);
    json_int_t at = json_integer_value(v);
    if (!json_is_integer(v) || at < 0 || at >= c->layers)
      lm_reader_fail(r, RLX_INVALID, "config.json's mlp_only_layers has an element %zu that is no layer of %lld", i,
                     (long long)c->layers);
    else c->is_dense[at] = 1;
  }
}

/* GGUF has no key for it: a layer with the tensors of a plain part and no router is dense. */
static void find_dense_layers(lm_reader *r, lm_config *c) {
  for (int64_t i = 0; i < c->layers; i++) {
    char router[64], plain[64];
    snprintf(router, sizeof router, "blk.%lld.ffn_gate_inp.weight", (long long)i);
    snprintf(plain, sizeof plain, "blk.%lld.ffn_gate.weight", (long long)i);
    c->is_dense[i] = !rlx_file_tensor_find(r->file, router) && rlx_file_tensor_find(r->file, plain);
  }
}

void lm_read_dense_layers(lm_reader *r, lm_config *c) {
  if (r->status || !c->experts) return;
  c->is_dense = rlx_mem_calloc((size_t)c->layers, 1);
  if (!c->is_dense) {
    lm_reader_fail(r, RLX_NO_MEMORY, "kinds of %lld layers", (long long)c->layers);
    return;
  }
  if (r->json) list_dense_layers(r, c);
  else find_dense_layers(r, c);
  if (memchr(c->is_dense, 1, (size_t)c->layers) && !c->hidden)
    lm_reader_fail(r, RLX_INVALID, "some layers have no experts, but the size of their feed-forward part is not told");
}

bool lm_has_experts(const lm_config *c, uint32_t layer) { return c->experts && !(c->is_dense && c->is_dense[layer]); }

static void read_layer_types(lm_reader *r, lm_config *c, const json_t *types) {
  if (!json_is_array(types) || json_array_size(types) < (size_t)c->layers) {
    lm_reader_fail(r, RLX_INVALID, "config.json's layer_types is not a list of %lld", (long long)c->layers);
    return;
  }
  for (int64_t i = 0; i < c->layers; i++) {
    const char *type = json_string_value(json_array_get(types, (size_t)i));
    c->is_local[i] = type && strcmp(type, "sliding_attention") == 0;
    if (!c->is_local[i] && (!type || strcmp(type, "full_attention") != 0))
      lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's layer_types has '%s' for layer %lld", type ? type : "no text",
                     (long long)i);
  }
}

void lm_read_windows(lm_reader *r, lm_config *c, int64_t every) {
  const char *key = "";
  json_t *types = r->json ? lm_reader_json(r, "layer_types", &key) : NULL;
  if (r->status || !c->window) return;
  c->is_local = rlx_mem_calloc((size_t)c->layers, 1);
  if (!c->is_local) {
    lm_reader_fail(r, RLX_NO_MEMORY, "windows of %lld layers", (long long)c->layers);
    return;
  }
  if (types) read_layer_types(r, c, types);
  else
    for (int64_t i = 0; i < c->layers; i++) c->is_local[i] = every == 1 || (i + 1) % every != 0;
}

/* ---- Choosing the family ---- */

static const lm_family *const families[] = {&lm_llama,  &lm_qwen2, &lm_qwen3, &lm_qwen3moe, &lm_gemma2,
                                            &lm_gemma3, &lm_gpt2,  &lm_mamba, &lm_bert};

const lm_family *lm_family_at(size_t i) { return i < sizeof families / sizeof *families ? families[i] : NULL; }

static rlx_status refuse_family(const char *what, const char *found) {
  char known[256] = "";
  for (size_t i = 0, at = 0; lm_family_at(i); i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", lm_family_at(i)->name);
  return RLX_FAIL(RLX_UNSUPPORTED, "%s is '%s'; families here are %s", what, found, known);
}

static rlx_status find_gguf_family(lm_reader *r, lm_config *c) {
  rlx_meta m;
  if (!rlx_file_meta_find(r->file, "general.architecture", &m) || m.kind != RLX_META_TEXT)
    return RLX_FAIL(RLX_INVALID, "the metadata's 'general.architecture' is not a text");
  for (size_t i = 0; lm_family_at(i); i++)
    if (strcmp(lm_family_at(i)->name, m.text) == 0) c->family = lm_family_at(i);
  if (!c->family) return refuse_family("general.architecture", m.text);
  r->prefix = c->family->name;
  if (rlx_file_meta_find(r->file, "general.name", &m) && m.kind == RLX_META_TEXT)
    snprintf(c->name, sizeof c->name, "%s", m.text);
  return RLX_OK;
}

/* By the class that the folder names, or the type of model where it names none. A model within one that also sees (its
 * configuration under text_config) is told by the type alone. */
static rlx_status find_hf_family(lm_reader *r, lm_config *c) {
  json_t *inner = json_object_get(r->json, "text_config");
  const char *class = json_string_value(json_array_get(json_object_get(r->json, "architectures"), 0));
  const char *type = json_string_value(json_object_get(r->json, "model_type"));
  if (json_is_object(inner)) {
    r->json = inner;
    class = json_string_value(json_object_get(inner, "model_type"));
  }
  for (size_t i = 0; lm_family_at(i); i++) {
    const char *names = lm_family_at(i)->architectures;
    if ((class && has_word(names, class, strlen(class))) || (!class && type && has_word(names, type, strlen(type))))
      c->family = lm_family_at(i);
  }
  const char *name = json_string_value(json_object_get(r->json, "_name_or_path"));
  if (name) snprintf(c->name, sizeof c->name, "%s", name);
  if (!c->family) return refuse_family("config.json's architecture", class ? class : type ? type : "");
  return RLX_OK;
}

static rlx_status check_vocabulary(const lm_reader *r, lm_config *c) {
  rlx_meta m;
  if (r->json || !rlx_file_meta_find(r->file, "tokenizer.ggml.tokens", &m) || m.kind != RLX_META_LIST) return RLX_OK;
  if (!c->vocabulary && m.n <= (size_t)LM_MAX_SIZE) c->vocabulary = (int64_t)m.n;
  if ((size_t)c->vocabulary == m.n) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s.vocab_size is %lld, but tokenizer.ggml.tokens has %zu", r->prefix,
                  (long long)c->vocabulary, m.n);
}

static rlx_status read_with(lm_reader *r, lm_config *c) {
  RLX_TRY(r->json ? find_hf_family(r, c) : find_gguf_family(r, c));
  c->is_hf = r->json != NULL;
  c->family->read(r, c);
  RLX_TRY_AT(r->status, "family %s", c->family->name);
  return check_vocabulary(r, c);
}

rlx_status lm_config_read(const rlx_file *f, lm_config *out) { return lm_config_read_aloud(f, out, NULL, NULL); }

rlx_status lm_config_read_aloud(const rlx_file *f, lm_config *out,
                                void (*told)(void *user, const char *gguf, const rlx_meta *value), void *user) {
  *out = (lm_config){.family = NULL};
  lm_reader r = {.file = f, .is_gguf = strncmp(rlx_file_format(f), "GGUF", 4) == 0, .told = told, .user = user};
  rlx_meta m;
  if (rlx_file_meta_find(f, "general.architecture", &m)) return read_with(&r, out);
  if (!rlx_file_meta_find(f, "config.json", &m) || m.kind != RLX_META_TEXT)
    return r.is_gguf
             ? RLX_FAIL(RLX_INVALID, "the metadata has no 'general.architecture'")
             : RLX_FAIL(RLX_INVALID, "there is no config.json beside the tensors, so what model they are is not known");
  json_error_t why;
  json_t *root = json_loadb(m.text, m.n, JSON_REJECT_DUPLICATES, &why);
  if (!json_is_object(root)) {
    bool is_other = root != NULL;
    json_decref(root);
    return RLX_FAIL(RLX_INVALID, "config.json: line %d: %s", is_other ? 1 : why.line,
                    is_other ? "expected an object" : why.text);
  }
  r.json = root;
  rlx_status s = read_with(&r, out);
  json_decref(root);
  return s;
}

void lm_config_deinit(lm_config *c) {
  rlx_mem_free(c->is_local);
  rlx_mem_free(c->is_dense);
  rlx_mem_free(c->rope_factors);
  *c = (lm_config){.family = NULL};
}
