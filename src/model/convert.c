/* Converts a Hugging Face folder to a GGUF that other programs can run.
 *
 * Weights are those that the model runs with: they already have GGUF's names, shapes and row order (names.c,
 * recipes.c). Metadata are the values that the family read from its configuration: each read names GGUF's key, so a
 * callback on the reader collects them. Not every value of a config.json has a GGUF key. Therefore the configuration
 * of the new file is read back and compared before the file is renamed into place, and a model that would differ is
 * refused.
 *
 * The tokenizer is written as tokenizer.ggml.* if GGUF can represent it (to_gguf.c). Otherwise its JSON files are
 * copied into the metadata, where RLX reads them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/sized.h"
#include "io/file_convert.h"
#include "ir/sampling.h"
#include "model/names.h"
#include "model/reader.h"
#include "text/text.h"

typedef struct recorded_key {
  char key[128];
  rlx_meta value; /* its text is copied into m->texts */
} recorded_key;

typedef struct conversion {
  lm_model *m;
  RLX_ARRAY(recorded_key) keys;
  RLX_ARRAY(rlx_file_tensor) tensors;
  bool failed;
  size_t at; /* index of the weight in `data`; SIZE_MAX: none */
  unsigned char *data;
} conversion;

/* ---- Metadata ---- */

static void record_key(void *user, const char *gguf, const rlx_meta *value) {
  conversion *c = user;
  recorded_key n = {.value = *value};
  snprintf(n.key, sizeof n.key, "%s", gguf);
  if (value->kind == RLX_META_TEXT) n.value.text = rlx_bump_text(&c->m->texts, value->text, value->n);
  if (value->kind == RLX_META_TEXT && !n.value.text) c->failed = true;
  for (size_t i = 0; i < c->keys.n; i++)
    if (strcmp(c->keys.v[i].key, gguf) == 0) {
      c->keys.v[i] = n;
      return;
    }
  if (!rlx_array_push(&c->keys, n)) c->failed = true;
}

static rlx_status write_text(rlx_file_writer *w, const char *key, const char *text) {
  rlx_meta m = {.key = key, .kind = RLX_META_TEXT, .text = text, .n = strlen(text)};
  return rlx_file_writer_meta(w, &m);
}

/* Copies the JSON texts that RLX makes a tokenizer from. */
static rlx_status copy_texts(const rlx_file *f, rlx_file_writer *w) {
  static const char *const names[] = {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"};
  rlx_meta m;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (rlx_file_meta_find(f, names[i], &m)) RLX_TRY(rlx_file_writer_meta(w, &m));
  return RLX_OK;
}

/* Keys that RLX does not need for an encoder but other programs do. */
static rlx_status write_encoder(const conversion *c, rlx_file_writer *w) {
  char key[96];
  if (c->m->config.is_causal) return RLX_OK;
  snprintf(key, sizeof key, "%s.attention.causal", c->m->config.family->name);
  RLX_TRY(rlx_file_writer_meta(w, &(rlx_meta){.key = key, .type = "bool", .kind = RLX_META_BOOL}));
  rlx_meta types = {.key = "tokenizer.ggml.token_type_count", .type = "u32", .kind = RLX_META_INT};
  types.integer = c->m->config.types;
  if (!types.integer) return RLX_OK;
  return rlx_file_writer_meta(w, &types);
}

/* The sampling settings of generation_config.json under GGUF's names. */
static rlx_status write_sampling(const conversion *c, rlx_file_writer *w) {
  rlx_lm_sampling s = {RLX_LM_SAMPLING_INIT};
  RLX_TRY(rlx_lm_sampling_of(c->m->file, &s));
  const double values[RLX_SAMPLING_COUNT] = {
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) (double)s.name,
#include "ir/sampling.def"
#undef SAMPLING
  };
  for (int i = 0; s.is_given && i < RLX_SAMPLING_COUNT; i++) {
    const rlx_sampling_row *row = &rlx_sampling_rows[i];
    char key[64];
    snprintf(key, sizeof key, "general.sampling.%s", row->gguf);
    rlx_meta m = {.key = key, .type = "f32", .kind = RLX_META_FLOAT, .number = values[i]};
    if (row->is_whole) m = (rlx_meta){.key = key, .type = "i32", .kind = RLX_META_INT, .integer = (int64_t)values[i]};
    if (i == RLX_SAMPLING_temperature || fabs(values[i] - row->neutral) > 0) RLX_TRY(rlx_file_writer_meta(w, &m));
  }
  rlx_meta penalty = {.key = "general.sampling.penalty_repeat", .type = "f32", .kind = RLX_META_FLOAT};
  penalty.number = s.repetition_penalty;
  if (!(fabs(s.repetition_penalty - 1) > 0)) return RLX_OK;
  RLX_TRY(rlx_file_writer_meta(w, &penalty));
  /* transformers applies the penalty to the whole sequence; without this key a GGUF means the last 64 tokens. */
  rlx_meta window = {.key = "general.sampling.penalty_last_n", .type = "i32", .kind = RLX_META_INT, .integer = -1};
  return rlx_file_writer_meta(w, &window);
}

static rlx_status write_metas(void *user, rlx_file_writer *w) {
  conversion *c = user;
  const lm_config *config = &c->m->config;
  char key[192];
  RLX_TRY(write_text(w, "general.architecture", config->family->name));
  if (config->name[0]) RLX_TRY(write_text(w, "general.name", config->name));
  for (size_t i = 0; i < c->keys.n; i++) {
    rlx_meta m = c->keys.v[i].value;
    if (!config->window && strcmp(c->keys.v[i].key, "rope.freq_base_swa") == 0) continue;
    snprintf(key, sizeof key, "%s.%s", config->family->name, c->keys.v[i].key);
    m.key = key;
    RLX_TRY(rlx_file_writer_meta(w, &m));
  }
  RLX_TRY(write_sampling(c, w));
  if (config->is_encoder) RLX_TRY(write_encoder(c, w));
  rlx_status s = text_to_gguf(c->m->file, (size_t)config->vocabulary, w);
  if (s != RLX_UNSUPPORTED) return s;
  if (rlx_file_meta_find(c->m->file, "tokenizer.json", &(rlx_meta){0}))
    rlx_log_write(RLX_LOG_WARN, "the tokenizer is stored as tokenizer.json, because GGUF cannot represent it: %s",
                  rlx_message());
  return copy_texts(c->m->file, w);
}

/* ---- Weights ---- */

/* The writer reads a weight in consecutive chunks; its recipe produces the whole weight, which is kept for the next
 * chunk. */
static rlx_status read_chunk(void *user, size_t i, size_t from, void *data, size_t bytes) {
  conversion *c = user;
  if (c->at != i) {
    rlx_mem_free(c->data);
    c->at = SIZE_MAX;
    c->data = rlx_mem_alloc(c->tensors.v[i].bytes);
    if (!c->data) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", c->tensors.v[i].name);
    RLX_TRY(lm_model_read(c->m, i, c->data));
    c->at = i;
  }
  memcpy(data, c->data + from, bytes);
  return RLX_OK;
}

static rlx_status list_tensors(conversion *c) {
  for (size_t i = 0; i < lm_model_weights(c->m); i++) {
    const lm_weight *w = lm_model_weight(c->m, i);
    rlx_file_tensor t = {.name = w->name, .dtype = w->dtype, .shape = w->shape, .bytes = w->bytes};
    t.type = rlx_dtype_describe(w->dtype)->name;
    const lm_source *from = &c->m->weights.v[i];
    char name[96];
    if (from->spec->gguf && lm_write_gguf_name(name, sizeof name, from->spec, from->layer))
      t.name = rlx_bump_text(&c->m->texts, name, strlen(name));
    if (!t.name) return RLX_FAIL(RLX_NO_MEMORY, "the name of a weight");
    if (!rlx_array_push(&c->tensors, t)) return RLX_FAIL(RLX_NO_MEMORY, "a list of weights");
  }
  return RLX_OK;
}

/* ---- Comparison with the source ---- */

static bool is_near(double a, double b) { return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)); }

/* Names the first difference; NULL: the configurations are equal. */
static const char *difference(const lm_config *a, const lm_config *b) {
  if (a->layers != b->layers || a->width != b->width || a->hidden != b->hidden) return "sizes";
  if (a->heads != b->heads || a->kv_heads != b->kv_heads || a->head != b->head) return "heads";
  double by = 1 / sqrt((double)(a->head ? a->head : 1));
  if (!is_near(a->attention_scale > 0 ? a->attention_scale : by, b->attention_scale > 0 ? b->attention_scale : by))
    return "the scale of attention";
  if (!is_near(a->attention_cap, b->attention_cap) || !is_near(a->final_cap, b->final_cap)) return "caps";
  if (a->window != b->window || !a->is_local != !b->is_local) return "windows";
  for (int64_t i = 0; a->is_local && i < a->layers; i++)
    if (a->is_local[i] != b->is_local[i]) return "which layers have a window";
  if (a->rotated != b->rotated || !is_near(a->theta, b->theta)) return "rotary positions";
  if (a->is_local && !is_near(a->local_theta, b->local_theta)) return "rotary positions of layers with a window";
  if (!is_near(a->temperature, b->temperature) ||
      (a->temperature > 0 && !is_near(a->temperature_span, b->temperature_span)))
    return "the growth of queries";
  if (a->first_context != b->first_context || !is_near(a->rope_gain, b->rope_gain)) return "positions in long contexts";
  bool has = a->rope_factors && !a->factors_are_weights;
  if (has != (b->rope_factors != NULL)) return "the scaling of rotary positions";
  for (int64_t i = 0; has && i < a->rotated / 2; i++)
    if (!is_near((double)a->rope_factors[i], (double)b->rope_factors[i])) return "the scaling of rotary positions";
  for (int64_t i = 0; (a->skips_rope || b->skips_rope) && i < a->layers; i++)
    if ((a->skips_rope && a->skips_rope[i]) != (b->skips_rope && b->skips_rope[i])) return "which layers have rope";
  if (a->act != b->act || a->is_parallel != b->is_parallel) return "the feed-forward part";
  if (!is_near(a->eps, b->eps) || !is_near(a->embedding_scale, b->embedding_scale) ||
      !is_near(a->residual_scale, b->residual_scale) || !is_near(a->logit_scale, b->logit_scale))
    return "norms or scales";
  if (a->experts != b->experts || a->experts_used != b->experts_used || a->router != b->router ||
      a->shares_sum_to_1 != b->shares_sum_to_1 || !is_near(a->router_scale, b->router_scale) ||
      a->groups != b->groups || a->groups_used != b->groups_used || !is_near(a->gate_limit, b->gate_limit) ||
      a->expert_hidden != b->expert_hidden || a->shared_hidden != b->shared_hidden)
    return "experts";
  if (a->inner != b->inner || a->state != b->state || a->kernel != b->kernel || a->dt_rank != b->dt_rank)
    return "the state space";
  if (a->labels != b->labels || (a->labels && a->head_act != b->head_act) || a->has_sigmoid != b->has_sigmoid)
    return "the head";
  if (a->is_encoder != b->is_encoder || a->is_causal != b->is_causal || a->buckets != b->buckets) return "attention";
  if (a->dense != b->dense) return "the products after pooling";
  return a->types != b->types || a->pooling != b->pooling ? "pooling" : NULL;
}

static rlx_status compare(void *user, const char *draft) {
  const conversion *c = user;
  const lm_config *config = &c->m->config;
  rlx_file *f;
  lm_config other;
  RLX_TRY(rlx_file_open(draft, NULL, &f));
  rlx_status s = lm_config_read(f, &other);
  const char *what = s ? NULL : difference(config, &other);
  if (what) s = RLX_FAIL(RLX_UNSUPPORTED, "a GGUF of the family %s cannot represent %s", config->family->name, what);
  lm_config_deinit(&other);
  rlx_file_close(f);
  return s;
}

/* ---- Conversion ---- */

static rlx_status convert(conversion *c, const char *path, const rlx_convert_options *o) {
  lm_model *m = c->m;
  RLX_TRY(lm_config_read_recorded(m->file, &m->config, record_key, c));
  if (c->failed) return RLX_FAIL(RLX_NO_MEMORY, "metadata");
  RLX_TRY(lm_resolve(m));
  record_key(c, "vocab_size", &(rlx_meta){.type = "u32", .kind = RLX_META_INT, .integer = m->config.vocabulary});
  RLX_TRY(list_tensors(c));
  convert_source source = {.file = m->file,
                           .tensors = c->tensors.v,
                           .n = c->tensors.n,
                           .user = c,
                           .read = read_chunk,
                           .write_metas = write_metas,
                           .check = compare};
  return convert_source_write(&source, path, o);
}

rlx_status rlx_lm_convert(const rlx_file *f, const char *path, const rlx_convert_options *options) {
  rlx_convert_options own;
  const rlx_convert_options *o = &own;
  if (!f || !path) return RLX_FAIL(RLX_INVALID, "rlx_lm_convert: %s is NULL", f ? "path" : "the file");
  RLX_TRY_AT(RLX_SIZED_READ("rlx_convert_options", options, &own), "rlx_lm_convert");
  size_t n = strlen(path);
  if (n < 5 || strcmp(path + n - 5, ".gguf") != 0)
    return RLX_FAIL(RLX_INVALID, "rlx_lm_convert: expected a path that ends in .gguf, got '%s'", path);
  if (rlx_file_meta_find(f, "general.architecture", &(rlx_meta){0})) return rlx_file_convert(f, path, o);
  conversion c = {.m = rlx_new(lm_model), .at = SIZE_MAX};
  if (!c.m) return RLX_FAIL(RLX_NO_MEMORY, "model");
  c.m->file = file_use(f);
  c.m->is_apart = true;
  rlx_status s = convert(&c, path, o);
  rlx_array_deinit(&c.keys);
  rlx_array_deinit(&c.tensors);
  rlx_mem_free(c.data);
  lm_model_close(c.m);
  rlx_file_close((rlx_file *)(uintptr_t)f);
  return s;
}
