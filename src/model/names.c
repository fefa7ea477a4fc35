/* Finds the weights of a model in a file, whatever names the file uses.
 *
 * Weights have the names and layouts of GGUF, so one name has one meaning for graphs, converters and tests; Hugging
 * Face files need a recipe where they differ. One difference is not obvious: GGUF's llama reorders the rows of q and
 * k so that the two elements that rope rotates together are neighbours. Recording the order next to the weights
 * would also work at run time, but then two files of one model would hold different tensors under the same name.
 * Reordering whole rows is exact for any type, including block types.
 *
 * Everything is checked here once: presence (all missing tensors are named), shape against the configuration, and
 * type. */
#include "model/names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"
#include "base/mem.h"
#include "base/str.h"
#include "ir/dtype.h"

/* Possible prefixes of Hugging Face names: models are saved alone, inside a head class, or inside a multimodal one. */
static const char *const prefixes[] = {"",
                                       "model.",
                                       "transformer.",
                                       "bert.",
                                       "roberta.",
                                       "distilbert.",
                                       "mpnet.",
                                       "nomic_bert.",
                                       "gte.",
                                       "gpt_neox.",
                                       "backbone.",
                                       "language_model.model.",
                                       "language_model.",
                                       "model.language_model."};

bool lm_write_name(char *out, size_t cap, const char *pattern, uint32_t layer, uint32_t expert) {
  size_t n = 0;
  for (const char *p = pattern; *p; p++) {
    int more;
    if (*p == '%') more = snprintf(out + n, cap - n, "%u", (unsigned)layer);
    else if (*p == '#') more = snprintf(out + n, cap - n, "%u", (unsigned)expert);
    else more = snprintf(out + n, cap - n, "%c", *p);
    if (more < 0 || (n += (size_t)more) >= cap) return false;
  }
  out[n] = 0;
  return true;
}

bool lm_write_gguf_name(char *out, size_t cap, const lm_tensor *spec, uint32_t layer) {
  return lm_write_name(out, cap, spec->gguf ? spec->gguf : spec->name, layer, 0);
}

/* ---- Shapes ---- */

static int64_t size_of(const lm_config *c, lm_size size) {
  switch (size) {
    case LM_ONE: return 1;
    case LM_WIDTH: return c->width;
    case LM_VOCABULARY: return c->vocabulary;
    case LM_CONTEXT: return c->context;
    case LM_HIDDEN: return c->hidden;
    case LM_UP_ROWS: return (c->family->has & LM_JOINED_GATE ? 2 : 1) * c->hidden;
    case LM_Q_ROWS: return c->heads * c->head;
    case LM_KV_ROWS: return c->kv_heads * c->head;
    case LM_QKV_ROWS: return (c->heads + 2 * c->kv_heads) * c->head;
    case LM_HEAD: return c->head;
    case LM_ROPE_PAIRS: return c->rotated / 2;
    case LM_EXPERTS: return c->experts;
    case LM_EXPERT_HIDDEN: return c->expert_hidden;
    case LM_SHARED_HIDDEN: return c->shared_hidden;
    case LM_INNER: return c->inner;
    case LM_TWO_INNER: return 2 * c->inner;
    case LM_STATE: return c->state;
    case LM_KERNEL: return c->kernel;
    case LM_DT_RANK: return c->dt_rank;
    case LM_DT_B_C: return c->dt_rank + 2 * c->state;
    case LM_TYPES: return c->types;
    case LM_LABELS: return c->labels;
    case LM_BUCKETS: return c->buckets;
    case LM_HEADS: return c->heads;
    case LM_DENSE_ROWS: return c->dense;
    default: return 0;
  }
}

static rlx_dims shape_of(const lm_config *c, const lm_tensor *spec) {
  rlx_dims d = {.n = 0};
  for (int i = 0; i < 3 && spec->shape[i]; i++) d.v[d.n++] = size_of(c, spec->shape[i]);
  return d;
}

static bool is_transposed(const lm_tensor *spec) {
  return spec->recipe == LM_TRANSPOSED || spec->recipe == LM_EVEN_ROWS || spec->recipe == LM_ODD_ROWS;
}

/* The shape of a tensor in the file: of one expert, or transposed. */
static rlx_dims shape_in_file(const lm_config *c, const lm_tensor *spec, bool is_stacked) {
  rlx_dims d = shape_of(c, spec);
  if (is_stacked) d = (rlx_dims){.v = {d.v[1], d.v[2]}, .n = d.n - 1};
  if (c->is_hf && spec->recipe == LM_SKIP_ROWS) d.v[0] += c->skipped_rows;
  if (c->is_hf && is_transposed(spec) && d.n == 3) d = (rlx_dims){.v = {d.v[0], d.v[2], d.v[1]}, .n = 3};
  else if (c->is_hf && spec->recipe == LM_TRANSPOSED) d = (rlx_dims){.v = {d.v[1], d.v[0]}, .n = 2};
  if (c->is_hf && (spec->recipe == LM_EVEN_ROWS || spec->recipe == LM_ODD_ROWS)) d.v[d.n - 1] *= 2;
  if (c->is_hf && (spec->recipe == LM_FIRST_HALF || spec->recipe == LM_SECOND_HALF)) d.v[1] *= 2;
  return d;
}

/* Whether shapes are equal after dropping axes of 1, which some writers keep. */
static bool same_sizes(const rlx_dims *a, const rlx_dims *b) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->n && a->v[i] == 1) i++;
    while (j < b->n && b->v[j] == 1) j++;
    if (i >= a->n || j >= b->n) return i >= a->n && j >= b->n;
    if (a->v[i] != b->v[j]) return false;
  }
}

typedef struct shape_text {
  char v[128];
} shape_text;

static shape_text shape_to_text(const rlx_dims *d) {
  shape_text t = {"["};
  size_t n = 1;
  for (int i = 0; i < d->n && n < sizeof t.v - 24; i++)
    n += (size_t)snprintf(t.v + n, sizeof t.v - n, "%s%lld", i ? ", " : "", (long long)d->v[i]);
  snprintf(t.v + n, sizeof t.v - n, "]");
  return t;
}

/* ---- Resolving ---- */

enum { MAX_REPORT = 600 }; /* max bytes of names in a message */

typedef struct resolver {
  lm_model *m;
  size_t prefix;                /* index of the prefix that matched last */
  rlx_str missing, unsupported; /* unsupported: tensors of types that RLX does not have */
  size_t n_missing, n_unsupported;
  bool *is_taken; /* per tensor of the file */
} resolver;

static const rlx_file_tensor *find_hf(resolver *r, const char *pattern, uint32_t layer, uint32_t expert) {
  size_t n = sizeof prefixes / sizeof *prefixes;
  for (size_t i = 0; i <= n; i++) {
    size_t which = i ? i - 1 : r->prefix;
    char name[192];
    size_t len = strlen(prefixes[which]);
    memcpy(name, prefixes[which], len);
    if (!lm_write_name(name + len, sizeof name - len, pattern, layer, expert)) continue;
    const rlx_file_tensor *t = rlx_file_tensor_find(r->m->file, name);
    if (!t) continue;
    r->prefix = which;
    return t;
  }
  return NULL;
}

static bool is_weight_type(rlx_dtype t) { return rlx_dtype_is_weight_float(t) || rlx_dtype_is_block(t); }

/* The bytes are in no Hugging Face file. */
static bool is_computed(const lm_tensor *spec) {
  return spec->recipe == LM_ROPE_FACTORS || spec->recipe == LM_LONG_FACTORS;
}

static bool wants_f32(const lm_config *c, const lm_tensor *spec, const rlx_dims *shape) {
  return spec->as_f32 || shape->n == 1 ||
         (c->is_hf && (spec->recipe == LM_PLUS_ONE || spec->recipe == LM_NEG_EXP || is_computed(spec)));
}

static rlx_status check_source(const lm_config *c, const lm_source *s, size_t i, bool is_stacked) {
  const rlx_file_tensor *t = s->from[i];
  rlx_dims want = shape_in_file(c, s->spec, is_stacked);
  if (!same_sizes(&t->shape, &want))
    return RLX_FAIL(RLX_INVALID, "tensor '%s' is %s; by the configuration it is %s", t->name,
                    shape_to_text(&t->shape).v, shape_to_text(&want).v);
  if (!is_weight_type(t->dtype))
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is %s; weights are f32, f16, bf16 or blocks", t->name,
                    rlx_dtype_describe(t->dtype)->name);
  bool is_block = rlx_dtype_is_block(t->dtype);
  if (is_block && (wants_f32(c, s->spec, &s->weight.shape) || (c->is_hf && is_transposed(s->spec))))
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is %s; this one must be f32, f16 or bf16", t->name,
                    rlx_dtype_describe(t->dtype)->name);
  if (t->dtype != s->from[0]->dtype)
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is %s, but '%s' is %s: experts of one layer must be of one type",
                    t->name, rlx_dtype_describe(t->dtype)->name, s->from[0]->name,
                    rlx_dtype_describe(s->from[0]->dtype)->name);
  return RLX_OK;
}

static void note_unsupported(resolver *r, const rlx_file_tensor *t) {
  r->n_unsupported++;
  if (r->unsupported.n < MAX_REPORT)
    rlx_str_add(&r->unsupported, "%s'%s' is %s", r->unsupported.n ? ", " : "", t->name, t->type);
}

/* Finds one tensor of the file: a whole weight, or that of one expert. */
static const rlx_file_tensor *find_part(resolver *r, const char *pattern, uint32_t layer, uint32_t expert) {
  char name[192];
  if (r->m->config.is_hf) return find_hf(r, pattern, layer, expert);
  if (!lm_write_name(name, sizeof name, pattern, layer, expert)) return NULL;
  return rlx_file_tensor_find(r->m->file, name);
}

/* Finds the tensors that a weight consists of. from stays NULL if it is missing or of an unsupported type. */
static rlx_status find_sources(resolver *r, const lm_tensor *spec, uint32_t layer, lm_source *s) {
  const lm_config *c = &r->m->config;
  const char *pattern = c->is_hf ? spec->hf ? spec->hf : "" : spec->gguf ? spec->gguf : spec->name;
  if (!c->is_hf && spec->apart && !find_part(r, pattern, layer, 0) && find_part(r, spec->apart, layer, 0))
    pattern = spec->apart;
  bool is_stacked = strchr(pattern, '#') != NULL;
  s->n_from = is_stacked ? (size_t)c->experts : 1;
  s->from = rlx_bump_alloc(&r->m->texts, s->n_from, sizeof *s->from);
  if (!s->from) return RLX_FAIL(RLX_NO_MEMORY, "sources of '%s'", s->weight.name);
  for (size_t i = 0; i < s->n_from; i++) {
    s->from[i] = find_part(r, pattern, layer, (uint32_t)i);
    if (s->from[i]) r->is_taken[s->from[i] - rlx_file_tensor_at(r->m->file, 0)] = true;
    if (s->from[i] && s->from[i]->dtype == RLX_DTYPE_UNKNOWN) note_unsupported(r, s->from[i]);
    if (!s->from[i] || s->from[i]->dtype == RLX_DTYPE_UNKNOWN) {
      s->from = NULL;
      return RLX_OK;
    }
    RLX_TRY(check_source(c, s, i, is_stacked));
  }
  return RLX_OK;
}

static rlx_status check_packed(const rlx_file_tensor *t, rlx_dims want) {
  if (t->dtype != RLX_U8)
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is %s; packed weights are u8", t->name, t->type);
  if (same_sizes(&t->shape, &want)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "tensor '%s' is %s; by the configuration it is %s", t->name, shape_to_text(&t->shape).v,
                  shape_to_text(&want).v);
}

/* The blocks of a packed weight and their scales, if the file has them: 32 elements are 16 bytes and one. */
static rlx_status find_packed(resolver *r, const lm_tensor *spec, uint32_t layer, lm_source *s) {
  static const char *const endings[2] = {"_blocks", "_scales"};
  const rlx_file_tensor *found[2];
  const int64_t *shape = s->weight.shape.v;
  const int64_t rows = spec->recipe == LM_TRANSPOSED ? shape[1] : 2 * shape[1];
  for (int i = 0; i < 2; i++) {
    char pattern[160];
    snprintf(pattern, sizeof pattern, "%s%s", spec->hf, endings[i]);
    found[i] = find_hf(r, pattern, layer, 0);
  }
  if (!found[0] || !found[1]) return RLX_OK;
  if (shape[2] % 32)
    return RLX_FAIL(RLX_INVALID, "tensor '%s' has rows of %lld elements; expected a multiple of 32", found[0]->name,
                    (long long)shape[2]);
  RLX_TRY(check_packed(found[0], RLX_DIMS(shape[0], rows, shape[2] / 32, 16)));
  RLX_TRY(check_packed(found[1], RLX_DIMS(shape[0], rows, shape[2] / 32)));
  s->n_from = 2;
  s->from = rlx_bump_alloc(&r->m->texts, 2, sizeof *s->from);
  if (!s->from) return RLX_FAIL(RLX_NO_MEMORY, "sources of '%s'", s->weight.name);
  for (int i = 0; i < 2; i++) {
    s->from[i] = found[i];
    r->is_taken[found[i] - rlx_file_tensor_at(r->m->file, 0)] = true;
  }
  s->is_packed = true;
  return RLX_OK;
}

static void note_missing(resolver *r, const lm_tensor *spec, uint32_t layer, const char *name) {
  char hf[192] = "";
  if (r->m->config.is_hf && spec->hf) lm_write_name(hf, sizeof hf, spec->hf, layer, 0);
  r->n_missing++;
  if (r->missing.n < MAX_REPORT) rlx_str_add(&r->missing, "%s%s", r->missing.n ? ", " : "", *hf ? hf : name);
}

static rlx_status resolve_one(resolver *r, const lm_tensor *spec, uint32_t layer) {
  const lm_config *c = &r->m->config;
  char name[96];
  if (!lm_write_name(name, sizeof name, spec->name, layer, 0)) return RLX_FAIL(RLX_INVALID, "name %s", spec->name);
  lm_source s = {.spec = spec, .layer = layer, .weight = {.name = rlx_bump_text(&r->m->texts, name, strlen(name))}};
  if (!s.weight.name) return RLX_FAIL(RLX_NO_MEMORY, "name %s", name);
  s.weight.shape = shape_of(c, spec);
  bool computed = c->is_hf && is_computed(spec);
  if (computed && !c->factors_are_weights) return RLX_OK;
  size_t n_unsupported = r->n_unsupported;
  if (c->is_hf && spec->may_be_packed) RLX_TRY(find_packed(r, spec, layer, &s));
  if (!computed && !s.from) RLX_TRY(find_sources(r, spec, layer, &s));
  if (r->n_unsupported > n_unsupported) return RLX_OK; /* reported at the end, with all of them */
  if (!computed && !s.from) {
    if (!spec->is_optional) note_missing(r, spec, layer, name);
    return RLX_OK;
  }
  s.weight.dtype = s.is_packed ? RLX_MXFP4 : wants_f32(c, spec, &s.weight.shape) ? RLX_F32 : s.from[0]->dtype;
  RLX_TRY_AT(rlx_tensor_bytes(s.weight.dtype, s.weight.shape, &s.weight.bytes), "weight '%s'", name);
  if (!rlx_array_push(&r->m->weights, s)) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", name);
  return RLX_OK;
}

static bool is_wanted(const lm_config *c, const lm_tensor *spec, uint32_t layer) {
  if (spec->when == LM_DENSE) return !lm_has_experts(c, layer);
  if (spec->when == LM_POOLED) return c->dense > 0;
  if (spec->when == LM_RANKER) return c->labels > 0;
  if (spec->when == LM_LATER) return layer > 0;
  return spec->when == LM_EXPERT ? lm_has_experts(c, layer) : true;
}

/* Refuses layers beyond the number in the configuration. */
static rlx_status check_no_more_layers(resolver *r, const lm_tensor *spec) {
  const lm_config *c = &r->m->config;
  uint32_t next = (uint32_t)(c->layers + c->next_layers);
  char name[96];
  const rlx_file_tensor *more = NULL;
  if (c->is_hf && spec->hf && !strchr(spec->hf, '#')) more = find_hf(r, spec->hf, next, 0);
  else if (!c->is_hf && lm_write_gguf_name(name, sizeof name, spec, next))
    more = rlx_file_tensor_find(r->m->file, name);
  return more ? RLX_FAIL(RLX_INVALID, "the configuration has %u layers, but there is a tensor '%s'", (unsigned)next,
                         more->name)
              : RLX_OK;
}

/* Without a vocabulary size in the configuration, the rows of the token embedding give it. */
static rlx_status infer_vocabulary(resolver *r) {
  lm_config *c = &r->m->config;
  const lm_tensor *spec = &r->m->tensors[0]; /* always the token embedding */
  const rlx_file_tensor *t = c->is_hf ? find_hf(r, spec->hf, 0, 0) : rlx_file_tensor_find(r->m->file, spec->name);
  if (c->vocabulary || !t) return RLX_OK;
  if (t->shape.n != 2 || t->shape.v[0] < 1 || t->shape.v[0] > LM_MAX_SIZE)
    return RLX_FAIL(RLX_INVALID, "tensor '%s' is %s; expected [vocabulary, %lld]", t->name, shape_to_text(&t->shape).v,
                    (long long)c->width);
  c->vocabulary = t->shape.v[0];
  return RLX_OK;
}

static rlx_status resolve_all(resolver *r) {
  const lm_config *c = &r->m->config;
  RLX_TRY(lm_list_tensors(c, &r->m->texts, &r->m->tensors, &r->m->n_tensors));
  RLX_TRY(infer_vocabulary(r));
  if ((uint64_t)c->layers > rlx_file_tensor_count(r->m->file))
    return RLX_FAIL(RLX_INVALID, "the configuration has %lld layers, but the file only %u tensors",
                    (long long)c->layers, (unsigned)rlx_file_tensor_count(r->m->file));
  for (size_t i = 0; i < r->m->n_tensors; i++) {
    const lm_tensor *spec = &r->m->tensors[i];
    bool has_layers = strchr(spec->name, '%') != NULL, is_used = false;
    for (uint32_t layer = 0; layer < (has_layers ? (uint32_t)c->layers : 1); layer++) {
      if (!is_wanted(c, spec, layer)) continue;
      is_used = true;
      RLX_TRY(resolve_one(r, spec, layer));
    }
    if (has_layers && is_used) RLX_TRY(check_no_more_layers(r, spec));
  }
  if (r->n_unsupported)
    return RLX_FAIL(RLX_UNSUPPORTED, "%zu tensors are of types that RLX does not have: %s%s", r->n_unsupported,
                    r->unsupported.v ? r->unsupported.v : "", r->unsupported.n >= MAX_REPORT ? ", .." : "");
  if (!r->n_missing) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%zu tensors are missing: %s%s", r->n_missing, r->missing.v ? r->missing.v : "",
                  r->missing.n >= MAX_REPORT ? ", .." : "");
}

/* ---- Agreement with the configuration ---- */

static bool has_weight(const lm_model *m, const char *name) { return lm_find_weight(m, name) != SIZE_MAX; }

/* The bias that stands for those of attention. */
static const char *attention_bias(const lm_model *m) {
  return m->config.family->has & LM_JOINED_QKV ? "blk.0.attn_qkv.bias" : "blk.0.attn_q.bias";
}

/* Refuses a configuration and tensors that disagree about biases: they belong to two models. */
static rlx_status check_biases(const lm_model *m, lm_tristate declared, const char *field, const char *weight) {
  if (declared == LM_UNSET || has_weight(m, weight) == (declared == LM_YES)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "config.json's %s is %s, but there %s tensor for '%s'", field,
                  declared == LM_YES ? "true" : "false", declared == LM_YES ? "is no" : "is a", weight);
}

/* Some writers store the output weight of a tied model as well; then it must equal the token embedding. */
static rlx_status check_same(const lm_model *m, const rlx_file_tensor *a, const rlx_file_tensor *b) {
  enum { CHUNK = 1 << 16 };
  unsigned char *piece = rlx_mem_alloc(2 * CHUNK);
  if (!piece) return RLX_FAIL(RLX_NO_MEMORY, "two tensors to compare");
  bool is_same = a->dtype == b->dtype && a->bytes == b->bytes;
  rlx_status s = RLX_OK;
  for (size_t at = 0, n; at < a->bytes && is_same && !s; at += n) {
    n = a->bytes - at < CHUNK ? a->bytes - at : CHUNK;
    s = rlx_file_read_tensor(m->file, a, at, piece, n);
    if (!s) s = rlx_file_read_tensor(m->file, b, at, piece + CHUNK, n);
    is_same = s || memcmp(piece, piece + CHUNK, n) == 0;
  }
  rlx_mem_free(piece);
  if (s || is_same) return s;
  return RLX_FAIL(RLX_INVALID,
                  "the embeddings are tied (config.json's tie_word_embeddings), but '%s' differs from '%s'", b->name,
                  a->name);
}

static rlx_status check_head(const lm_model *m) {
  size_t table = lm_find_weight(m, "token_embd.weight"), head = lm_find_weight(m, "output.weight");
  if (m->config.is_tied == LM_YES && head != SIZE_MAX && table != SIZE_MAX)
    return check_same(m, m->weights.v[table].from[0], m->weights.v[head].from[0]);
  if (m->config.is_tied != LM_NO || head != SIZE_MAX) return RLX_OK;
  return RLX_FAIL(RLX_INVALID,
                  "the embeddings are not tied (config.json's tie_word_embeddings), but the head is missing: "
                  "expected a tensor 'lm_head.weight'");
}

static rlx_status check_agreement(const lm_model *m) {
  const lm_config *c = &m->config;
  RLX_TRY(check_head(m));
  RLX_TRY(check_biases(m, c->has_attention_bias, "attention_bias", attention_bias(m)));
  if (!c->experts) RLX_TRY(check_biases(m, c->has_mlp_bias, "mlp_bias", "blk.0.ffn_down.bias"));
  if (!c->is_hf && c->rope_factors && has_weight(m, "rope_freqs.weight"))
    return RLX_FAIL(RLX_UNSUPPORTED, "rotary positions are stretched twice: by rope.scaling and by the tensor "
                                     "'rope_freqs.weight'");
  return RLX_OK;
}

/* Whether a tensor belongs to a layer that predicts further tokens. */
static bool is_of_next_layer(const lm_config *c, const char *name) {
  const char *at = strstr(name, c->is_hf ? "layers." : "blk.");
  if (!at) return false;
  long layer = strtol(strchr(at, '.') + 1, NULL, 10);
  return layer >= c->layers && layer < c->layers + c->next_layers;
}

/* Refuses tensors that no weight uses. */
static rlx_status refuse_leftovers(resolver *r) {
  lm_config *c = &r->m->config;
  leftover one = {.kind = c->is_hf ? LEFT_HF_TENSOR : LEFT_TENSOR};
  for (uint32_t i = 0; i < rlx_file_tensor_count(r->m->file); i++) {
    one.name = rlx_file_tensor_at(r->m->file, i)->name;
    if (!r->is_taken[i] && !is_of_next_layer(c, one.name)) leftover_add(&c->left, &one);
  }
  RLX_TRY_AT(leftover_refuse(&c->left), "family %s", c->family->name);
  return RLX_OK;
}

/* ---- Finding weights by name ---- */

typedef struct named {
  const char *name;
  uint32_t at;
} named;

static int by_name(const void *a, const void *b) { return strcmp(((const named *)a)->name, ((const named *)b)->name); }

static rlx_status index_names(lm_model *m) {
  size_t n = m->weights.n;
  named *list = rlx_mem_calloc(n, sizeof *list);
  if (!m->by_name) m->by_name = rlx_mem_calloc(n, sizeof *m->by_name); /* the number of weights never grows */
  rlx_status s = list && m->by_name ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "an index of %zu weights", n);
  for (size_t i = 0; i < n && !s; i++) list[i] = (named){m->weights.v[i].weight.name, (uint32_t)i};
  if (!s) qsort(list, n, sizeof *list, by_name);
  for (size_t i = 0; i < n && !s; i++) m->by_name[i] = list[i].at;
  rlx_mem_free(list);
  return s;
}

size_t lm_find_weight(const lm_model *m, const char *name) {
  size_t low = 0, high = m->weights.n;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    int order = strcmp(name, m->weights.v[m->by_name[mid]].weight.name);
    if (order == 0) return m->by_name[mid];
    if (order < 0) high = mid;
    else low = mid + 1;
  }
  return SIZE_MAX;
}

rlx_status lm_resolve(lm_model *m) {
  resolver r = {.m = m, .is_taken = rlx_mem_calloc((size_t)rlx_file_tensor_count(m->file) + 1, sizeof(bool))};
  rlx_status s = r.is_taken ? resolve_all(&r) : RLX_FAIL(RLX_NO_MEMORY, "the tensors of a model");
  if (!s) s = refuse_leftovers(&r);
  rlx_str_deinit(&r.missing);
  rlx_str_deinit(&r.unsupported);
  rlx_mem_free(r.is_taken);
  if (!s) s = index_names(m);
  if (!s) s = check_agreement(m);
  if (!s && !m->is_apart) s = lm_join_weights(m);
  return s ? s : index_names(m);
}
