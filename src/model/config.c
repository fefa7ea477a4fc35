/* Reads a model configuration. GGUF keys and config.json are read through one set of functions (config.h); a
 * converted file of either format may hold either kind of metadata. This file holds the reader and
 * the groups of values that families share. The choice of the family is in families.c, scaling of rotary positions in
 * rope.c. */
#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/file_json.h"
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

/* Marks names as known; `words` is separated by blanks. */
static void mark_words(lm_reader *r, const char *words) {
  for (const char *at = words; at && *at;) {
    size_t len = strcspn(at, " ");
    if (!rlx_array_push(&r->known, ((lm_key_name){at, len}))) lm_reader_fail(r, RLX_NO_MEMORY, "the names of facts");
    at += len;
    at += strspn(at, " ");
  }
}

void lm_reader_mark_known(lm_reader *r, const char *gguf, const char *hf) { mark_words(r, r->json ? hf : gguf); }

/* json_object_getn, which jansson has from 2.14 on; names of facts are short. */
static json_t *get_named(const json_t *json, const char *name, size_t len) {
  char text[80];
  if (len >= sizeof text) return NULL;
  memcpy(text, name, len);
  text[len] = 0;
  return json_object_get(json, text);
}

json_t *lm_reader_json(lm_reader *r, const char *hf, const char **key) {
  json_t *found = NULL;
  mark_words(r, hf);
  for (const char *at = hf; at && *at;) {
    size_t len = strcspn(at, " ");
    json_t *v = get_named(r->json, at, len);
    if (v && !json_is_null(v) && !found) {
      *key = at;
      found = v;
    } else if (v && json_is_number(v) && json_is_number(found) && json_number_value(v) != json_number_value(found)) {
      lm_reader_fail(r, RLX_INVALID, "config.json's %.*s is %g, but %.*s, which means the same, is %g",
                     (int)strcspn(*key, " "), *key, json_number_value(found), (int)len, at, json_number_value(v));
    }
    at += len;
    at += strspn(at, " ");
  }
  return found;
}

/* A value from either kind of metadata, with its name there for messages. */
typedef struct fact {
  rlx_meta_kind kind; /* NONE: the file does not have it */
  double number;
  const char *text;
  char name[96];
} fact;

static void fact_from_json(lm_reader *r, const char *hf, fact *out) {
  const char *key = "";
  rlx_meta m = json_to_meta(lm_reader_json(r, hf, &key));
  snprintf(out->name, sizeof out->name, "config.json's %.*s", (int)strcspn(key, " "), key);
  out->kind = m.kind;
  out->number = m.number;
  out->text = m.text;
}

/* Some writers store one number per layer. If all are equal, the list stands for that number. */
static void collapse_list(const rlx_meta *list, rlx_meta *out) {
  rlx_meta first, other;
  if (!rlx_meta_element(list, 0, &first) || (first.kind != RLX_META_INT && first.kind != RLX_META_FLOAT)) return;
  for (size_t i = 1; i < list->n; i++)
    if (!rlx_meta_element(list, i, &other) || other.number != first.number) return;
  *out = first;
}

/* A safetensors file converted from a GGUF stores the keys as texts; this parses numbers back. */
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
  mark_words(r, gguf);
  if (!gguf || !rlx_file_meta_find(r->file, out->name, &m)) return;
  if (m.kind == RLX_META_LIST) collapse_list(&m, &m);
  if (m.kind == RLX_META_TEXT && strlen(m.text) != m.n)
    lm_reader_fail(r, RLX_INVALID, "%s holds a NUL after '%.60s'", out->name, m.text);
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

/* Reports a missing value under the name that this kind of file has for it. */
static void fail_missing(lm_reader *r, const char *gguf, const char *hf) {
  if (r->json) lm_reader_fail(r, RLX_INVALID, "config.json has no '%.*s'", (int)strcspn(hf ? hf : "", " "), hf);
  else lm_reader_fail(r, RLX_INVALID, "the metadata has no '%s.%s'", r->prefix, gguf ? gguf : "");
}

static int64_t read_size(lm_reader *r, const char *gguf, const char *hf, int64_t min, int64_t fallback) {
  fact v = read_fact(r, gguf, hf);
  if (v.kind == RLX_META_NONE) {
    if (fallback == LM_NEEDED) fail_missing(r, gguf, hf);
    return fallback == LM_NEEDED ? 1 : fallback;
  }
  if (v.kind != RLX_META_INT)
    lm_reader_fail(r, RLX_INVALID, "%s: expected an integer (or a list of equal ones, one per layer)", v.name);
  else if (v.number < (double)min || v.number > (double)LM_MAX_SIZE)
    lm_reader_fail(r, RLX_INVALID, "%s is %.0f; expected %d to %lld", v.name, v.number, (int)min,
                   (long long)LM_MAX_SIZE);
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
  lm_reader_fail(r, RLX_INVALID, "%s: expected a number of at least 0", v.name);
  return fallback;
}

void lm_note_size(lm_reader *r, const char *gguf, int64_t value) {
  if (r->reported && gguf && value > 0)
    r->reported(r->user, gguf,
                &(rlx_meta){.type = "u32", .kind = RLX_META_INT, .integer = value, .number = (double)value});
}

void lm_note_number(lm_reader *r, const char *gguf, double value) {
  if (r->reported && gguf && value > 0)
    r->reported(r->user, gguf, &(rlx_meta){.type = "f32", .kind = RLX_META_FLOAT, .number = value});
}

void lm_note_text(lm_reader *r, const char *gguf, const char *value) {
  if (r->reported)
    r->reported(r->user, gguf, &(rlx_meta){.type = "string", .kind = RLX_META_TEXT, .text = value, .n = strlen(value)});
}

int64_t lm_key_size(lm_reader *r, const char *gguf, const char *hf, int64_t fallback) {
  int64_t v = read_size(r, gguf, hf, fallback == LM_NEEDED, fallback);
  lm_note_size(r, gguf, v);
  return v;
}

int64_t lm_key_count(lm_reader *r, const char *gguf, const char *hf, int64_t fallback) {
  int64_t v = read_size(r, gguf, hf, 1, fallback);
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
  if (v.kind != RLX_META_BOOL) lm_reader_fail(r, RLX_INVALID, "%s: expected true or false", v.name);
  if (r->reported && gguf)
    r->reported(r->user, gguf, &(rlx_meta){.type = "bool", .kind = RLX_META_BOOL, .integer = v.number != 0});
  return v.number != 0;
}

lm_tristate lm_key_tristate(lm_reader *r, const char *hf) {
  if (!r->json) return LM_UNSET;
  if (read_fact(r, NULL, hf).kind == RLX_META_NONE) return LM_UNSET;
  return lm_key_bool(r, NULL, hf, false) ? LM_YES : LM_NO;
}

const char *lm_key_text(lm_reader *r, const char *gguf, const char *hf, const char *fallback) {
  fact v = read_fact(r, gguf, hf);
  if (v.kind == RLX_META_NONE) return fallback;
  if (v.kind == RLX_META_TEXT) return v.text;
  lm_reader_fail(r, RLX_INVALID, "%s: expected a string", v.name);
  return fallback;
}

/* ---- Groups of facts ---- */

static void read_sizes(lm_reader *r, lm_config *c) {
  c->layers = lm_key_size(r, "block_count", "num_hidden_layers n_layer n_layers", LM_NEEDED);
  c->width = lm_key_size(r, "embedding_length", "hidden_size n_embd d_model dim", LM_NEEDED);
  c->context =
    lm_key_count(r, "context_length", "max_position_embeddings n_positions n_ctx", c->context ? c->context : 2048);
  c->vocabulary = lm_key_count(r, "vocab_size", "vocab_size", 0);
  c->hidden = lm_key_size(r, "feed_forward_length", "intermediate_size n_inner hidden_dim", 0);
  if (c->layers > LM_MAX_LAYERS)
    lm_reader_fail(r, RLX_INVALID, "the configuration has %lld layers; expected at most %d", (long long)c->layers,
                   LM_MAX_LAYERS);
}

static void read_heads(lm_reader *r, lm_config *c) {
  c->heads =
    lm_key_count(r, "attention.head_count", "num_attention_heads n_head n_heads", c->heads ? c->heads : LM_NEEDED);
  c->kv_heads = lm_key_count(r, "attention.head_count_kv", "num_key_value_heads", c->kv_heads ? c->kv_heads : c->heads);
  c->head = lm_key_count(r, "attention.key_length", "head_dim", c->head);
  int64_t value_head = lm_key_count(r, "attention.value_length", NULL, c->head);
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

static void read_activation(lm_reader *r, lm_config *c) {
  static const struct {
    const char *name;
    rlx_act act;
  } known[] = {{"silu", RLX_ACT_SILU}, {"swiglu", RLX_ACT_SILU},          {"swish", RLX_ACT_SILU},
               {"gelu", RLX_ACT_GELU}, {"gelu_new", RLX_ACT_GELU_APPROX}, {"gelu_pytorch_tanh", RLX_ACT_GELU_APPROX},
               {"relu", RLX_ACT_RELU}};
  c->act = c->family->act ? c->family->act : RLX_ACT_SILU;
  const char *name = lm_key_text(r, NULL, "hidden_activation hidden_act activation_function activation", NULL);
  if (!name) return;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].name, name) != 0) continue;
    c->act = known[i].act;
    return;
  }
  lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's activation '%s' is not known", name);
}

static void read_experts(lm_reader *r, lm_config *c) {
  c->experts = lm_key_size(r, "expert_count", "num_local_experts num_experts n_routed_experts moe_num_experts", 0);
  c->experts_used = lm_key_size(r, "expert_used_count", "num_experts_per_tok experts_per_token moe_k", 0);
  if (c->experts && (c->experts_used < 1 || c->experts_used > c->experts || c->experts > LM_MAX_EXPERTS))
    lm_reader_fail(r, RLX_INVALID, "%lld of %lld experts are used per token; expected 1 or more of at most %d",
                   (long long)c->experts_used, (long long)c->experts, LM_MAX_EXPERTS);
}

uint8_t *lm_new_layer_flags(lm_reader *r, const lm_config *c) {
  if (r->status) return NULL;
  uint8_t *flags = rlx_mem_calloc((size_t)c->layers, 1);
  if (!flags) lm_reader_fail(r, RLX_NO_MEMORY, "kinds of %lld layers", (long long)c->layers);
  return flags;
}

/* Dense layers are those that config.json lists, and all but every decoder_sparse_step-th. */
static void list_dense_layers(lm_reader *r, lm_config *c) {
  const char *key = "";
  const json_t *list = lm_reader_json(r, "mlp_only_layers", &key);
  int64_t step = lm_key_count(r, NULL, "decoder_sparse_step", 1);
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

/* GGUF has no key for it: a layer with the tensors of a dense feed-forward part and no router is dense. */
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
  c->is_dense = lm_new_layer_flags(r, c);
  if (!c->is_dense) return;
  if (r->json) list_dense_layers(r, c);
  else find_dense_layers(r, c);
  if (memchr(c->is_dense, 1, (size_t)c->layers) && !c->hidden)
    lm_reader_fail(r, RLX_INVALID, "some layers have no experts, but the size of their feed-forward part is missing");
}

void lm_set_leading_dense(lm_reader *r, lm_config *c, int64_t n) {
  c->is_dense = lm_new_layer_flags(r, c);
  for (int64_t i = 0; c->is_dense && i < c->layers && i < n; i++) c->is_dense[i] = 1;
  if (n > 0 && !c->hidden)
    lm_reader_fail(r, RLX_INVALID, "some layers have no experts, but the size of their feed-forward part is missing");
}

static void read_groups(lm_reader *r, lm_config *c) {
  c->groups = lm_key_size(r, "expert_group_count", "n_group", 0);
  c->groups_used = lm_key_size(r, "expert_group_used_count", "topk_group", 0);
  if (c->groups < 2 || r->status) return;
  if (c->experts % c->groups || c->groups_used < 1 || c->groups_used > c->groups ||
      c->experts_used > c->experts / c->groups * c->groups_used)
    lm_reader_fail(r, RLX_INVALID, "%lld of %lld experts are used, of %lld of %lld groups", (long long)c->experts_used,
                   (long long)c->experts, (long long)c->groups_used, (long long)c->groups);
}

/* The scores of DeepSeek's "noaux_tc" are sigmoids. */
void lm_read_router(lm_reader *r, lm_config *c, lm_router router) {
  const char *kind = lm_key_text(r, NULL, "scoring_func", router == LM_ROUTER_ALL ? "softmax" : "sigmoid");
  const bool is_softmax = strcmp(kind, "softmax") == 0;
  int64_t number = lm_key_size(r, "expert_gating_func", NULL, is_softmax ? 1 : 2);
  if (number > 2 || (!is_softmax && strcmp(kind, "sigmoid") != 0 && strcmp(kind, "noaux_tc") != 0))
    lm_reader_fail(r, RLX_UNSUPPORTED, "shares of experts are of kind '%s' (%lld); expected softmax or sigmoid", kind,
                   (long long)number);
  c->router = number == 1 ? LM_ROUTER_ALL : LM_ROUTER_SIGMOID;
  c->shares_sum_to_1 = lm_key_bool(r, "expert_weights_norm", "norm_topk_prob", true);
  c->router_scale = lm_key_number(r, "expert_weights_scale", "routed_scaling_factor", 1);
  c->expert_hidden = lm_key_size(r, "expert_feed_forward_length", "moe_intermediate_size",
                                 c->expert_hidden ? c->expert_hidden : LM_NEEDED);
  int64_t shared = lm_key_size(r, "expert_shared_count", "n_shared_experts moe_num_shared_experts", 0);
  if (!c->experts || shared > LM_MAX_EXPERTS || c->expert_hidden > LM_MAX_SIZE / LM_MAX_EXPERTS)
    lm_reader_fail(r, RLX_INVALID, "%lld experts, and %lld for every token, of %lld hidden elements",
                   (long long)c->experts, (long long)shared, (long long)c->expert_hidden);
  c->shared_hidden = lm_key_size(r, "expert_shared_feed_forward_length", NULL, shared * c->expert_hidden);
  read_groups(r, c);
}

/* In a GGUF the number of layers includes them. */
void lm_read_next_layers(lm_reader *r, lm_config *c) {
  if (r->json) {
    c->next_layers = lm_key_size(r, NULL, "num_nextn_predict_layers", 0);
    return;
  }
  c->next_layers = lm_key_size(r, "nextn_predict_layers", NULL, 0);
  if (c->next_layers >= c->layers)
    lm_reader_fail(r, RLX_INVALID, "all %lld layers predict further tokens", (long long)c->layers);
  else c->layers -= c->next_layers;
}

bool lm_has_experts(const lm_config *c, uint32_t layer) { return c->experts && !(c->is_dense && c->is_dense[layer]); }

/* Hugging Face has many names for one number. */
static void read_eps(lm_reader *r, lm_config *c) {
  const bool is_rms = c->family->norm == RLX_NORM_RMS;
  c->eps = lm_key_number(r, is_rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
                         "rms_norm_eps layer_norm_epsilon layer_norm_eps norm_eps norm_epsilon",
                         c->family->eps > 0 ? c->family->eps : LM_NEEDED);
}

void lm_read_plain(lm_reader *r, lm_config *c) {
  const lm_family *f = c->family;
  const unsigned parts = f->has | f->may_have;
  c->is_parallel = f->is_parallel;
  read_sizes(r, c);
  if (parts & LM_ATTENTION) read_heads(r, c);
  if (f->positions != LM_NO_ROPE) lm_read_rope(r, c);
  if (parts & (LM_FFN | LM_MIXTURE) || f->counts_experts) read_activation(r, c);
  read_eps(r, c);
  if (parts & LM_MIXTURE || f->counts_experts) read_experts(r, c);
  if (parts & (LM_QKV_BIAS | LM_ATTN_BIAS)) c->has_attention_bias = lm_key_tristate(r, "attention_bias");
  if (parts & LM_FFN_BIAS) c->has_mlp_bias = lm_key_tristate(r, "mlp_bias");
}

static void read_layer_types(lm_reader *r, lm_config *c, const json_t *types) {
  if (!json_is_array(types) || json_array_size(types) != (size_t)c->layers) {
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

/* Whether layer i has a window, where all but one of `every` have. */
static bool has_window(int64_t i, int64_t every) {
  const int64_t group = every < 0 ? -every : every;
  return every == 1 || (group > 0 && (every < 0 ? i : i + 1) % group != 0);
}

/* GGUF: which layers have a window, one by one, or which one of how many has none. */
static bool read_pattern(lm_reader *r, lm_config *c, int64_t *every) {
  static const char key[] = "attention.sliding_window_pattern";
  char name[96];
  rlx_meta list, v;
  snprintf(name, sizeof name, "%s.%s", r->prefix, key);
  if (!rlx_file_meta_find(r->file, name, &list) || list.kind != RLX_META_LIST) {
    *every = lm_key_size(r, key, NULL, *every);
    return false;
  }
  lm_reader_mark_known(r, key, NULL);
  if (list.n != (size_t)c->layers)
    lm_reader_fail(r, RLX_INVALID, "%s has %zu elements for %lld layers", name, list.n, (long long)c->layers);
  for (size_t i = 0; i < list.n && !r->status; i++) {
    if (!rlx_meta_element(&list, i, &v) || v.kind != RLX_META_BOOL)
      lm_reader_fail(r, RLX_INVALID, "%s: expected a list of true and false", name);
    else c->is_local[i] = v.integer != 0;
  }
  return true;
}

void lm_read_windows(lm_reader *r, lm_config *c, int64_t every) {
  const char *key = "";
  json_t *types = r->json ? lm_reader_json(r, "layer_types", &key) : NULL;
  if (r->status || !c->window) return;
  c->is_local = lm_new_layer_flags(r, c);
  if (!c->is_local) return;
  int64_t sign = every < 0 ? -1 : 1, group = sign * every;
  if (!r->json && group > 1 && read_pattern(r, c, &group)) return;
  if (types) read_layer_types(r, c, types);
  else
    for (int64_t i = 0; i < c->layers; i++) c->is_local[i] = has_window(i, sign * group);
}

void lm_note_pattern(lm_reader *r, const lm_config *c, int64_t sign) {
  for (int64_t every = 2; c->is_local && every <= c->layers; every++) {
    bool fits = true;
    for (int64_t i = 0; i < c->layers && fits; i++) fits = c->is_local[i] == has_window(i, sign * every);
    if (!fits) continue;
    lm_note_size(r, "attention.sliding_window_pattern", every);
    return;
  }
}

/* ---- The vocabulary ---- */

static rlx_status check_vocabulary(const lm_reader *r, lm_config *c) {
  rlx_meta m;
  if (r->json || !rlx_file_meta_find(r->file, "tokenizer.ggml.tokens", &m) || m.kind != RLX_META_LIST) return RLX_OK;
  if (!c->vocabulary && m.n <= (size_t)LM_MAX_SIZE) c->vocabulary = (int64_t)m.n;
  if ((size_t)c->vocabulary == m.n) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s.vocab_size is %lld, but tokenizer.ggml.tokens has %zu", r->prefix,
                  (long long)c->vocabulary, m.n);
}

/* ---- Keys that were not read ---- */

static bool is_known(const lm_reader *r, const char *name) {
  size_t n = strlen(name);
  for (size_t i = 0; i < r->known.n; i++)
    if (r->known.v[i].n == n && memcmp(r->known.v[i].name, name, n) == 0) return true;
  return false;
}

static void collect_fields(const lm_reader *r, json_t *object, leftover_kind kind, lm_config *c) {
  const char *name;
  json_t *v;
  json_object_foreach(object, name, v) {
    if (!is_known(r, name)) leftover_add(&c->left, &(leftover){.kind = kind, .name = name, .value = json_to_meta(v)});
  }
}

/* A key starts with the name of its owner: "llama.block_count". Keys of tools that do not affect running a model (a
 * quantizer, an author) are ignored. Unknown keys of all other owners are leftovers, including those of another
 * family: a file with keys of two families was made by mistake. */
static bool is_foreign_key(const char *key) {
  static const char parts[] = "general tokenizer adapter clip";
  size_t n = strcspn(key, ".");
  if (!key[n] || leftover_has_word(parts, key, n)) return false;
  for (size_t i = 0; lm_family_at(i); i++)
    if (strlen(lm_family_at(i)->name) == n && memcmp(lm_family_at(i)->name, key, n) == 0) return false;
  return true;
}

static void collect_keys(const lm_reader *r, lm_config *c) {
  size_t n = strlen(r->prefix);
  rlx_meta m;
  for (uint32_t i = 0; rlx_file_meta_at(r->file, i, &m); i++) {
    bool is_own = strncmp(m.key, r->prefix, n) == 0 && m.key[n] == '.';
    if (is_foreign_key(m.key) || (is_own && is_known(r, m.key + n + 1))) continue;
    leftover_add(&c->left, &(leftover){.kind = LEFT_KEY, .name = m.key, .value = m});
  }
}

static void collect_leftovers(const lm_reader *r, lm_config *c) {
  if (!r->json) collect_keys(r, c);
  if (r->json) collect_fields(r, r->json, LEFT_FIELD, c);
  if (r->outer) collect_fields(r, r->outer, LEFT_OUTER, c);
  if (rlx_file_meta_find(r->file, "adapter_config.json", &(rlx_meta){0}))
    leftover_add(&c->left, &(leftover){.kind = LEFT_FILE, .name = "adapter_config.json"});
}

/* ---- Entry points ---- */

/* Without the field in config.json the default of the model class applies. For a GGUF, the tensors decide: it has an
 * output weight or not. */
static lm_tristate read_tied(lm_reader *r, const lm_config *c) {
  if (!r->json || c->is_encoder) return LM_UNSET;
  lm_tristate a = lm_key_tristate(r, "tie_word_embeddings");
  const json_t *around = json_object_get(r->outer, "tie_word_embeddings");
  if (a) return a;
  if (json_is_boolean(around)) return json_is_true(around) ? LM_YES : LM_NO;
  return c->family->is_tied ? LM_YES : LM_NO;
}

static rlx_status read_with(lm_reader *r, lm_config *c) {
  RLX_TRY(lm_find_family(r, c));
  if (r->only_family) return RLX_OK;
  c->is_hf = r->json != NULL;
  c->is_encoder = c->family->is_encoder;
  c->left.family = c->family->name;
  if (c->family->prepare) c->family->prepare(r, c);
  lm_read_plain(r, c);
  if (c->family->read) c->family->read(r, c);
  if (!c->is_encoder && !c->family->is_recurrent) lm_read_embedder(r, c);
  c->is_tied = read_tied(r, c);
  RLX_TRY_AT(r->status, "family %s", c->family->name);
  collect_leftovers(r, c);
  return check_vocabulary(r, c);
}

static rlx_status read_and_clear(lm_reader *r, lm_config *c) {
  rlx_status s = read_with(r, c);
  rlx_array_deinit(&r->known);
  return s;
}

static rlx_status read_file(lm_reader *r, lm_config *out) {
  *out = (lm_config){.family = NULL};
  r->is_gguf = strncmp(rlx_file_format(r->file), "GGUF", 4) == 0;
  rlx_meta m;
  if (rlx_file_meta_find(r->file, "general.architecture", &m)) return read_and_clear(r, out);
  if (!rlx_file_meta_find(r->file, "config.json", &m) || m.kind != RLX_META_TEXT)
    return r->is_gguf ? RLX_FAIL(RLX_INVALID, "the metadata has no 'general.architecture'")
                      : RLX_FAIL(RLX_INVALID, "config.json is missing: expected the folder of a model, or a GGUF file");
  json_t *root;
  RLX_TRY(json_load_whole((json_text){m.text, m.n}, "config.json", JSON_MAX_CONFIG, 0, &root));
  if (!json_is_object(root)) {
    json_decref(root);
    return RLX_FAIL(RLX_INVALID, "config.json: line 1: expected an object");
  }
  r->json = root;
  rlx_status s = read_and_clear(r, out);
  json_decref(root);
  return s;
}

rlx_status lm_config_read(const rlx_file *f, lm_config *out) { return lm_config_read_recorded(f, out, NULL, NULL); }

rlx_status lm_config_read_recorded(const rlx_file *f, lm_config *out,
                                   void (*reported)(void *user, const char *gguf, const rlx_meta *value), void *user) {
  lm_reader r = {.file = f, .reported = reported, .user = user};
  return read_file(&r, out);
}

rlx_status lm_config_family(const rlx_file *f) {
  lm_reader r = {.file = f, .only_family = true};
  lm_config c;
  rlx_status s = read_file(&r, &c);
  lm_config_deinit(&c);
  return s;
}

void lm_config_deinit(lm_config *c) {
  rlx_mem_free(c->is_local);
  rlx_mem_free(c->is_dense);
  rlx_mem_free(c->skips_rope);
  rlx_mem_free(c->rope_factors);
  rlx_mem_free(c->long_factors);
  leftovers_deinit(&c->left);
  *c = (lm_config){.family = NULL};
}
