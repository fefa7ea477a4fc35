/* Reads an adapter: llama.cpp's GGUF, or PEFT's safetensors with adapter_config.json beside it.
 *
 * Both name two matrices for each weight that they change, A [rank, in] and B [out, rank]. A GGUF names the weight as
 * the model does; PEFT names the module of Hugging Face's model, which the family's table knows (family.h), and has
 * its order of rows. What a file has and no weight takes is refused: a model that ignores a part of its adapter would
 * be another one.
 *
 * The weights of q, k and v may be one here (join.c). Their three pairs then become one: the As below each other, the
 * Bs along a diagonal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/file.h"
#include "base/half.h"
#include "base/mem.h"
#include "base/os_file.h"
#include "io/file_json.h"
#include "ir/dtype.h"
#include "model/adapter.h"
#include "model/family.h"

/* A pair of matrices, and where it goes. */
typedef struct pair {
  const rlx_file_tensor *a, *b;
  size_t weight;   /* of the model */
  size_t from, n;  /* its rows */
  bool pairs_rows; /* rows of B are in Hugging Face's order */
  float scale;
  size_t next; /* the pair + 1 of the same weight; 0: none */
} pair;

typedef struct reading {
  const lm_model *m;
  const rlx_file *f;
  json_t *config; /* adapter_config.json; NULL: a GGUF */
  double alpha;   /* of a GGUF */
  RLX_ARRAY(pair) pairs;
  size_t *first; /* per weight: its first pair + 1 */
} reading;

/* ---- Names ---- */

/* The weight, or the part of a joined one, of this name. */
static bool find_target(const lm_model *m, const char *name, pair *out) {
  for (size_t i = 0; i < m->weights.n; i++) {
    const lm_source *s = &m->weights.v[i];
    size_t from = 0;
    for (size_t k = 0; k < (s->parts ? s->n_parts : 1); k++) {
      const lm_weight *w = s->parts ? &s->parts[k].weight : &s->weight;
      out->weight = i;
      out->from = from;
      out->n = (size_t)w->shape.v[0];
      if (strcmp(w->name, name) == 0) return true;
      from += (size_t)w->shape.v[0];
    }
  }
  return false;
}

/* Whether a name ends in another one, whole or after a dot. */
static bool ends_in(const char *name, size_t n, const char *end) {
  size_t m = strlen(end);
  return n >= m && memcmp(name + n - m, end, m) == 0 && (n == m || name[n - m - 1] == '.');
}

/* The weight of PEFT's module: "model.layers.0.self_attn.q_proj". */
static bool find_module(const lm_model *m, const char *module, size_t n, pair *out) {
  const lm_config *c = &m->config;
  for (size_t i = 0; i < m->n_tensors; i++) {
    const lm_tensor *spec = &m->tensors[i];
    bool has_layers = strchr(spec->name, '%') != NULL;
    if (!spec->hf || strchr(spec->hf, '#')) continue;
    for (uint32_t layer = 0; layer < (has_layers ? (uint32_t)c->layers : 1); layer++) {
      char hf[192], name[96];
      size_t weight = strlen(".weight");
      if (!lm_write_name(hf, sizeof hf, spec->hf, layer, 0) || strlen(hf) <= weight) continue;
      hf[strlen(hf) - weight] = '\0';
      if (!ends_in(module, n, hf) || !lm_write_name(name, sizeof name, spec->name, layer, 0)) continue;
      out->pairs_rows = spec->recipe == LM_PAIR_ROWS;
      return find_target(m, name, out);
    }
  }
  return false;
}

static bool cut_ending(const char *name, size_t *n, const char *ending) {
  size_t m = strlen(ending);
  if (*n <= m || memcmp(name + *n - m, ending, m) != 0) return false;
  *n -= m;
  return true;
}

/* Which side a tensor is, and what is left of its name. */
static char side_of(const reading *r, const char *name, size_t *n) {
  static const char *const endings[2][3] = {{".lora_A.weight", ".lora_A.default.weight", ".lora_a"},
                                            {".lora_B.weight", ".lora_B.default.weight", ".lora_b"}};
  *n = strlen(name);
  for (int side = 0; side < 2; side++)
    for (int i = r->config ? 0 : 2; i < (r->config ? 2 : 3); i++)
      if (cut_ending(name, n, endings[side][i])) return side ? 'b' : 'a';
  return 0;
}

/* ---- PEFT's configuration ---- */

static double number_of(const json_t *object, const char *key, double otherwise) {
  const json_t *v = json_object_get(object, key);
  return json_is_number(v) ? json_number_value(v) : otherwise;
}

/* What a pattern of modules says; else the general value. */
static double pattern_of(const json_t *config, const char *key, const char *module, size_t n, double otherwise) {
  const char *name;
  json_t *v;
  json_object_foreach(json_object_get(config, key), name,
                      v) if (json_is_number(v) && ends_in(module, n, name)) return json_number_value(v);
  return otherwise;
}

static rlx_status scale_of(const reading *r, const char *module, size_t n, int64_t rank, float *out) {
  double alpha = r->alpha, by = (double)rank;
  if (r->config) {
    alpha = pattern_of(r->config, "alpha_pattern", module, n, number_of(r->config, "lora_alpha", 8));
    if (json_is_true(json_object_get(r->config, "use_rslora"))) by = sqrt(by);
  }
  double scale = !r->config && !(alpha > 0 || alpha < 0) ? 1 : alpha / by; /* a GGUF without alpha: 1 */
  *out = (float)scale;
  return isfinite(*out) ? RLX_OK : RLX_FAIL(RLX_INVALID, "'%.*s': alpha is %g", (int)n, module, alpha);
}

static rlx_status check_config(const json_t *c) {
  static const char *const unsupported[] = {"use_dora", "lora_bias"};
  const json_t *type = json_object_get(c, "peft_type"), *bias = json_object_get(c, "bias");
  if (!json_is_object(c) || (type && (!json_is_string(type) || strcmp(json_string_value(type), "LORA") != 0)))
    return RLX_FAIL(RLX_UNSUPPORTED, "adapter_config.json: expected an object with peft_type LORA");
  for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
    if (json_is_true(json_object_get(c, unsupported[i])))
      return RLX_FAIL(RLX_UNSUPPORTED, "adapter_config.json: %s is not supported", unsupported[i]);
  if (json_is_string(bias) && strcmp(json_string_value(bias), "none") != 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "adapter_config.json: bias is '%.40s', expected 'none'", json_string_value(bias));
  return RLX_OK;
}

/* ---- Pairs ---- */

/* A matrix of the model that is multiplied by its input as it is: not a table, not a matrix of experts. */
static bool can_adapt(const lm_model *m, const pair *p) {
  const lm_weight *w = &m->weights.v[p->weight].weight;
  return w->shape.n == 2 && strcmp(w->name, "token_embd.weight") != 0 && !strstr(w->name, "conv1d") &&
         !strstr(w->name, "position_embd") && !strstr(w->name, "ssm_a");
}

static pair *find_pair(reading *r, const pair *like) {
  for (size_t i = r->first[like->weight]; i; i = r->pairs.v[i - 1].next)
    if (r->pairs.v[i - 1].from == like->from) return &r->pairs.v[i - 1];
  return NULL;
}

static rlx_status take_tensor(reading *r, const rlx_file_tensor *t) {
  pair found = {0};
  char name[256];
  size_t n;
  char side = side_of(r, t->name, &n);
  if (n >= sizeof name) return RLX_FAIL(RLX_INVALID, "tensor '%.80s..': expected a shorter name", t->name);
  memcpy(name, t->name, n);
  name[n] = '\0';
  if (!side || !(r->config ? find_module(r->m, name, n, &found) : find_target(r->m, name, &found)))
    return RLX_FAIL(RLX_INVALID, "tensor '%s' is of no matrix of the model", t->name);
  const lm_weight *w = &r->m->weights.v[found.weight].weight;
  if (!can_adapt(r->m, &found))
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s': '%s' is no matrix that adapters can change", t->name, w->name);
  int64_t out = (int64_t)found.n, in = w->shape.v[1];
  int64_t rank = t->shape.n == 2 ? t->shape.v[side == 'b'] : 0, other = t->shape.n == 2 ? t->shape.v[side != 'b'] : 0;
  if (rank < 1 || rank > LM_MAX_RANK || other != (side == 'a' ? in : out))
    return RLX_FAIL(RLX_INVALID, "tensor '%s': expected %s with a rank of 1 to %d, got [%lld, %lld]", t->name,
                    side == 'a' ? "[rank, in]" : "[out, rank]", LM_MAX_RANK,
                    (long long)(t->shape.n > 0 ? t->shape.v[0] : 0), (long long)(t->shape.n > 1 ? t->shape.v[1] : 0));
  if (!rlx_dtype_is_weight_float(t->dtype) && !rlx_dtype_is_block(t->dtype))
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor '%s' is %s: expected floats", t->name, t->type);
  pair *p = find_pair(r, &found);
  if (!p) {
    RLX_TRY(scale_of(r, name, n, rank, &found.scale));
    found.next = r->first[found.weight];
    if (!rlx_array_push(&r->pairs, found)) return RLX_FAIL(RLX_NO_MEMORY, "the matrices of an adapter");
    p = &r->pairs.v[r->pairs.n - 1];
    r->first[found.weight] = r->pairs.n;
  }
  const rlx_file_tensor **place = side == 'a' ? &p->a : &p->b;
  if (*place) return RLX_FAIL(RLX_INVALID, "tensors '%s' and '%s' are of one matrix", (*place)->name, t->name);
  *place = t;
  return RLX_OK;
}

static rlx_status check_pairs(const reading *r) {
  if (!r->pairs.n) return RLX_FAIL(RLX_INVALID, "expected an adapter, found no tensors");
  for (size_t i = 0; i < r->pairs.n; i++) {
    const pair *p = &r->pairs.v[i];
    if (!p->a || !p->b)
      return RLX_FAIL(RLX_INVALID, "tensor '%s' is there without its %s", p->a ? p->a->name : p->b->name,
                      p->a ? "lora_B" : "lora_A");
    if (p->a->shape.v[0] != p->b->shape.v[1])
      return RLX_FAIL(RLX_INVALID, "tensors '%s' and '%s' have ranks of %lld and %lld", p->a->name, p->b->name,
                      (long long)p->a->shape.v[0], (long long)p->b->shape.v[1]);
  }
  return RLX_OK;
}

/* ---- Values ---- */

static void to_floats(const rlx_file_tensor *t, const void *raw, float *out, size_t n) {
  const uint16_t *half = raw;
  if (rlx_dtype_is_block(t->dtype) && rlx_quant_decode(t->dtype, raw, out, n) == RLX_OK) return;
  for (size_t i = 0; i < n; i++)
    out[i] = t->dtype == RLX_F16    ? rlx_f16_to_f32(half[i])
             : t->dtype == RLX_BF16 ? rlx_bf16_to_f32(half[i])
                                    : ((const float *)raw)[i];
}

/* A whole tensor as f32 (free with rlx_mem_free). */
static rlx_status load(const reading *r, const rlx_file_tensor *t, float **out) {
  size_t n = (size_t)(t->shape.v[0] * t->shape.v[1]);
  void *raw = rlx_mem_alloc(t->bytes);
  *out = rlx_mem_calloc(n, sizeof **out);
  rlx_status s = raw && *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "tensor '%s'", t->name);
  if (!s) s = rlx_file_read_tensor(r->f, t, 0, raw, t->bytes);
  if (!s) to_floats(t, raw, *out, n);
  for (size_t i = 0; i < n && !s; i++)
    if (!isfinite((*out)[i])) s = RLX_FAIL(RLX_INVALID, "tensor '%s': element %zu is not finite", t->name, i);
  rlx_mem_free(raw);
  return s;
}

/* Copies the pair to rows `at` on of A and to its place in B [out, all]. */
static rlx_status place(const reading *r, const pair *p, size_t at, size_t all, float *a, float *b) {
  size_t rank = (size_t)p->a->shape.v[0], in = (size_t)p->a->shape.v[1], head = (size_t)r->m->config.head;
  float *va = NULL, *vb = NULL;
  rlx_status s = load(r, p->a, &va);
  if (!s) s = load(r, p->b, &vb);
  if (!s) memcpy(a + at * in, va, rank * in * sizeof *a);
  for (size_t i = 0; i < p->n && !s; i++) {
    size_t row = p->pairs_rows ? lm_paired_row(head, i) : i;
    for (size_t k = 0; k < rank && !s; k++) {
      float v = p->scale * vb[row * rank + k];
      b[(p->from + i) * all + at + k] = v;
      if (!isfinite(v))
        s = RLX_FAIL(RLX_INVALID, "tensor '%s': scaled by %g it is not finite", p->b->name, (double)p->scale);
    }
  }
  rlx_mem_free(va);
  rlx_mem_free(vb);
  return s;
}

static rlx_status copy_name(const char *name, const char *weight, const char *side, char **out) {
  size_t n = strlen(name) + strlen(weight) + strlen(side) + 3;
  *out = rlx_mem_alloc(n);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "the name of a matrix");
  snprintf(*out, n, "%s.%s.%s", name, weight, side);
  return RLX_OK;
}

static rlx_status set_weight(const reading *r, size_t weight, const char *name, lm_adapter_set *set, void *user,
                             lm_lora *out) {
  const lm_weight *w = &r->m->weights.v[weight].weight;
  const size_t rows = (size_t)w->shape.v[0], in = (size_t)w->shape.v[1];
  size_t all = 0, at = 0, n_a, n_b;
  for (size_t i = r->first[weight]; i; i = r->pairs.v[i - 1].next) all += (size_t)r->pairs.v[i - 1].a->shape.v[0];
  if (!rlx_mul_size(all, in, &n_a) || !rlx_mul_size(rows, all, &n_b)) return RLX_FAIL(RLX_NO_MEMORY, "an adapter");
  RLX_TRY(copy_name(name, w->name, "a", &out->a));
  RLX_TRY(copy_name(name, w->name, "b", &out->b));
  float *a = rlx_mem_calloc(n_a, sizeof *a), *b = rlx_mem_calloc(n_b, sizeof *b);
  rlx_status s = a && b ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the adapter of '%s'", w->name);
  for (size_t i = r->first[weight]; i && !s; i = r->pairs.v[i - 1].next) {
    s = place(r, &r->pairs.v[i - 1], at, all, a, b);
    at += (size_t)r->pairs.v[i - 1].a->shape.v[0];
  }
  rlx_tensor ta = {RLX_F32, RLX_DIMS((int64_t)all, (int64_t)in), {a}, n_a * sizeof *a};
  rlx_tensor tb = {RLX_F32, RLX_DIMS((int64_t)rows, (int64_t)all), {b}, n_b * sizeof *b};
  if (!s) s = set(user, out->a, &ta);
  if (!s) s = set(user, out->b, &tb);
  if (!s) out->rank = (int64_t)all;
  rlx_mem_free(a);
  rlx_mem_free(b);
  return s;
}

/* ---- The file ---- */

static rlx_status read_gguf_head(reading *r) {
  rlx_meta m;
  if (!rlx_file_meta_find(r->f, "adapter.type", &m) || m.kind != RLX_META_TEXT || strcmp(m.text, "lora") != 0)
    return RLX_FAIL(RLX_INVALID, "expected an adapter: adapter.type is not 'lora'");
  if (rlx_file_meta_find(r->f, "general.architecture", &m) && m.kind == RLX_META_TEXT &&
      strcmp(m.text, r->m->facts.family) != 0)
    return RLX_FAIL(RLX_INVALID, "the adapter is for family %.40s, the model is of %s", m.text, r->m->facts.family);
  if (rlx_file_meta_find(r->f, "adapter.lora.alpha", &m)) r->alpha = m.number;
  return RLX_OK;
}

static rlx_status read_pairs(reading *r) {
  uint32_t n = rlx_file_tensor_count(r->f);
  size_t most = 0;
  for (size_t i = 0; i < r->m->weights.n; i++) most += 2 * (r->m->weights.v[i].parts ? r->m->weights.v[i].n_parts : 1);
  if (n > most) return RLX_FAIL(RLX_INVALID, "%u tensors: the model has matrices for at most %zu", (unsigned)n, most);
  r->first = rlx_mem_calloc(r->m->weights.n, sizeof *r->first);
  if (!r->first) return RLX_FAIL(RLX_NO_MEMORY, "the matrices of an adapter");
  for (uint32_t i = 0; i < n; i++) RLX_TRY(take_tensor(r, rlx_file_tensor_at(r->f, i)));
  return check_pairs(r);
}

static rlx_status read_file(reading *r, const char *name, lm_adapter_set *set, void *user, lm_adapter *out) {
  if (!r->config) RLX_TRY(read_gguf_head(r));
  RLX_TRY(read_pairs(r));
  out->loras = rlx_mem_calloc(r->m->weights.n, sizeof *out->loras);
  if (!out->loras) return RLX_FAIL(RLX_NO_MEMORY, "the matrices of an adapter");
  out->n = r->m->weights.n;
  for (size_t i = 0; i < out->n; i++)
    if (r->first[i]) RLX_TRY(set_weight(r, i, name, set, user, &out->loras[i]));
  return RLX_OK;
}

/* A file of the folder that `path` is, or lies in. */
static rlx_status beside(const char *path, bool is_folder, const char *file, char out[4096]) {
  size_t folder = is_folder ? strlen(path) : rlx_os_folder_bytes(path);
  int n = folder < 4000 ? snprintf(out, 4096, "%.*s%s%s", (int)folder, path, is_folder ? "/" : "", file) : -1;
  return n > 0 && n < 4096 ? RLX_OK : RLX_FAIL(RLX_INVALID, "expected a path of at most 4000 bytes");
}

static rlx_status read_config(const char *path, bool is_folder, json_t **out) {
  char config[4096], *text;
  size_t n;
  RLX_TRY(beside(path, is_folder, "adapter_config.json", config));
  RLX_TRY_AT(rlx_file_read(config, 1 << 20, &text, &n), "the configuration of an adapter");
  rlx_status s = json_load_whole((json_text){text, n}, "adapter_config.json", JSON_MAX_CONFIG, 0, out);
  rlx_mem_free(text);
  return s ? s : check_config(*out);
}

rlx_status lm_adapter_read(const lm_model *m, const char *path, const char *name, lm_adapter_set *set, void *user,
                           lm_adapter *out) {
  reading r = {.m = m};
  char inner[4096];
  rlx_os_stat st;
  rlx_file *f = NULL;
  bool is_folder = rlx_os_stat_path(path, &st) && st.kind == RLX_OS_FOLDER;
  if (is_folder) RLX_TRY(beside(path, true, "adapter_model.safetensors", inner));
  RLX_TRY(rlx_file_open(is_folder ? inner : path, NULL, &f));
  r.f = f;
  rlx_status s = RLX_OK;
  if (strncmp(rlx_file_format(f), "GGUF", 4) != 0) s = read_config(path, is_folder, &r.config);
  if (!s) s = read_file(&r, name, set, user, out);
  json_decref(r.config);
  rlx_array_deinit(&r.pairs);
  rlx_mem_free(r.first);
  rlx_file_close(f);
  return s;
}
