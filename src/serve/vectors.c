/* POST /v1/embeddings and /rerank: texts as vectors of unit length, and documents by how well they answer a question:
 * by a cross-encoder's score of both together, or of an encoder by the nearness of their vectors. The model computes
 * one text at a time, in its thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

enum { MAX_TEXTS = 2048 };

/* ---- Computing ---- */

static bool is_over(void *job) {
  sv_job *j = job;
  rlx_mutex_lock(&j->server->lock);
  bool is_cancelled = j->is_cancelled || j->server->is_ending;
  rlx_mutex_unlock(&j->server->lock);
  return is_cancelled;
}

static rlx_status count_tokens(const sv_job *j, const json_t *text, unsigned flags, uint64_t *n_tokens) {
  size_t n;
  int32_t *ids;
  RLX_TRY(rlx_tokenizer_encode(j->tokenizer, json_string_value(text), json_string_length(text), flags, &ids, &n));
  rlx_free(ids);
  *n_tokens += n;
  return RLX_OK;
}

/* The vector of a text; *n_tokens counts its tokens too. */
static rlx_status embed(sv_job *j, rlx_lm *lm, const json_t *text, float *out, uint64_t *n_tokens) {
  const rlx_watch watch = {.cancel = is_over, .user = j};
  RLX_TRY(count_tokens(j, text, RLX_TOKENS_ADD_SPECIAL, n_tokens));
  return rlx_lm_embed_watched(lm, json_string_value(text), json_string_length(text), &watch, out, NULL);
}

/* The score of a text for a query, by a cross-encoder. */
static rlx_status score(sv_job *j, rlx_lm *lm, const json_t *query, const json_t *text, double *out,
                        uint64_t *n_tokens) {
  const rlx_watch watch = {.cancel = is_over, .user = j};
  const rlx_lm_pair pair = {RLX_LM_PAIR_INIT,
                            .query = json_string_value(query),
                            .query_bytes = json_string_length(query),
                            .text = json_string_value(text),
                            .text_bytes = json_string_length(text),
                            .watch = &watch};
  float x = 0;
  RLX_TRY(count_tokens(j, text, 0, n_tokens));
  RLX_TRY(rlx_lm_score(lm, &pair, &x, NULL));
  *out = (double)x;
  return RLX_OK;
}

static rlx_status begin(sv_job *j, rlx_lm *lm, size_t n_vectors, size_t *width, float **out) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  *out = NULL;
  RLX_TRY(rlx_lm_describe(lm, &info));
  j->tokenizer = rlx_lm_tokenizer(lm);
  *width = info.width;
  if (!info.is_encoder)
    return RLX_FAIL(RLX_UNSUPPORTED, "model '%s' generates text: embeddings come from an encoder", j->model->name);
  if (info.is_ranker)
    return RLX_FAIL(RLX_UNSUPPORTED, "model '%s' ranks texts (/rerank): embeddings come from an encoder",
                    j->model->name);
  *out = rlx_mem_alloc(n_vectors * info.width * sizeof **out);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu vectors", n_vectors);
}

/* ---- Embeddings ---- */

static void add_base64(rlx_str *s, const unsigned char *bytes, size_t n) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  rlx_str_add_char(s, '"');
  for (size_t i = 0; i < n; i += 3) {
    const size_t left = n - i;
    uint32_t v =
      (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
    rlx_str_add_char(s, letters[v >> 18]);
    rlx_str_add_char(s, letters[v >> 12 & 63]);
    rlx_str_add_char(s, left > 1 ? letters[v >> 6 & 63] : '=');
    rlx_str_add_char(s, left > 2 ? letters[v & 63] : '=');
  }
  rlx_str_add_char(s, '"');
}

/* Little-endian floats, as clients expect them. */
static void add_packed(rlx_str *s, const float *x, size_t n) {
  unsigned char *bytes = rlx_mem_alloc(4 * n);
  if (!bytes) {
    s->failed = true;
    return;
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    for (int k = 0; k < 4; k++) bytes[4 * i + (size_t)k] = (unsigned char)(bits >> 8 * k);
  }
  add_base64(s, bytes, 4 * n);
  rlx_mem_free(bytes);
}

static void add_vector(rlx_str *s, const float *x, size_t n, bool is_packed) {
  if (is_packed) {
    add_packed(s, x, n);
    return;
  }
  rlx_str_add_char(s, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) rlx_str_add_char(s, ',');
    rlx_str_add_float(s, x[i]);
  }
  rlx_str_add_char(s, ']');
}

/* The first n numbers, of unit length again: for models that were trained for it. */
static void shorten(float *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  for (size_t i = 0; i < n && sum > 0; i++) x[i] = (float)((double)x[i] / sqrt(sum));
}

static size_t count_texts(const json_t *input) { return json_is_array(input) ? json_array_size(input) : 1; }
static const json_t *text_at(const json_t *input, size_t i) {
  return json_is_array(input) ? json_array_get(input, i) : input;
}

static rlx_status embed_texts(sv_job *j, rlx_lm *lm) {
  rlx_str *s = &j->fresh;
  uint64_t n_tokens = 0;
  size_t width;
  float *x;
  RLX_TRY(begin(j, lm, 1, &width, &x));
  const size_t n = j->n_wanted ? j->n_wanted : width;
  rlx_status status =
    n <= width ? RLX_OK : RLX_FAIL(RLX_INVALID, "dimensions: at most %zu, the model's width, got %zu", width, n);
  rlx_str_add(s, "{\"object\":\"list\",\"data\":[");
  for (size_t i = 0; i < count_texts(j->input) && !status; i++) {
    status = embed(j, lm, text_at(j->input, i), x, &n_tokens);
    if (status) break;
    if (n < width) shorten(x, n);
    rlx_str_add(s, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":", i ? "," : "", i);
    add_vector(s, x, n, j->flag);
    rlx_str_add_char(s, '}');
  }
  rlx_mem_free(x);
  if (status) return status;
  rlx_str_add(s, "],\"model\":");
  rlx_str_add_quoted(s, j->model->name);
  rlx_str_add(s, ",\"usage\":{\"prompt_tokens\":%llu,\"total_tokens\":%llu}}", (unsigned long long)n_tokens,
              (unsigned long long)n_tokens);
  return s->failed ? RLX_FAIL(RLX_NO_MEMORY, "an answer") : RLX_OK;
}

static rlx_status check_texts(const json_t *list, const char *name) {
  if (json_is_string(list)) return RLX_OK;
  const size_t n = json_array_size(list);
  if (!n || n > MAX_TEXTS)
    return RLX_FAIL(RLX_INVALID, "%s: expected 1 to %d texts, got %s", name, (int)MAX_TEXTS,
                    json_is_array(list) ? "another number" : sv_kind(list));
  for (size_t i = 0; i < n; i++) {
    const json_t *v = json_array_get(list, i);
    if (!json_is_string(v)) return RLX_FAIL(RLX_INVALID, "%s: %zu: expected a text, got %s", name, i, sv_kind(v));
  }
  return RLX_OK;
}

static rlx_status read_embeddings(sv_fields *f, sv_job *j) {
  const char *form = "float";
  uint64_t n = 0;
  j->task = embed_texts;
  j->input = sv_take(f, "input");
  RLX_TRY(check_texts(j->input, "input"));
  RLX_TRY(sv_take_text(f, "encoding_format", &form));
  RLX_TRY(sv_take_count(f, "dimensions", 1 << 20, &n));
  j->flag = strcmp(form, "base64") == 0;
  j->n_wanted = (size_t)n;
  if (!j->flag && strcmp(form, "float") != 0)
    return RLX_FAIL(RLX_INVALID, "encoding_format: expected float or base64, got '%.40s'", form);
  return RLX_OK;
}

rlx_status sv_embeddings(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_embeddings};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}

/* ---- Ranking ---- */

typedef struct ranked {
  size_t index;
  double score;
} ranked;

static int by_score(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->score < y->score || x->score > y->score) return x->score < y->score ? 1 : -1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static void write_ranking(sv_job *j, const ranked *all, size_t n, uint64_t n_tokens) {
  rlx_str *s = &j->fresh;
  const json_t *documents = json_array_get(j->input, 1);
  rlx_str_add(s, "{\"model\":");
  rlx_str_add_quoted(s, j->model->name);
  rlx_str_add(s, ",\"object\":\"list\",\"results\":[");
  for (size_t i = 0; i < n; i++) {
    rlx_str_add(s, "%s{\"index\":%zu,\"relevance_score\":", i ? "," : "", all[i].index);
    rlx_str_add_double(s, all[i].score);
    if (j->flag) {
      rlx_str_add(s, ",\"document\":{\"text\":");
      sv_add_json(s, json_array_get(documents, all[i].index));
      rlx_str_add_char(s, '}');
    }
    rlx_str_add_char(s, '}');
  }
  rlx_str_add(s, "],\"usage\":{\"prompt_tokens\":%llu,\"total_tokens\":%llu}}", (unsigned long long)n_tokens,
              (unsigned long long)n_tokens);
}

static rlx_status score_by_vectors(sv_job *j, rlx_lm *lm, ranked *all, size_t n, uint64_t *n_tokens) {
  const json_t *documents = json_array_get(j->input, 1);
  size_t width;
  float *x;
  RLX_TRY(begin(j, lm, 2, &width, &x));
  rlx_status status = embed(j, lm, json_array_get(j->input, 0), x, n_tokens);
  for (size_t i = 0; i < n && !status; i++) {
    status = embed(j, lm, json_array_get(documents, i), x + width, n_tokens);
    for (size_t k = 0; k < width && !status; k++) all[i].score += (double)x[k] * (double)x[width + k];
  }
  rlx_mem_free(x);
  return status;
}

static rlx_status score_by_pairs(sv_job *j, rlx_lm *lm, ranked *all, size_t n, uint64_t *n_tokens) {
  const json_t *query = json_array_get(j->input, 0), *documents = json_array_get(j->input, 1);
  uint64_t of_query = 0; /* which each pair has */
  j->tokenizer = rlx_lm_tokenizer(lm);
  RLX_TRY(count_tokens(j, query, 0, &of_query));
  *n_tokens += n * of_query;
  for (size_t i = 0; i < n; i++) RLX_TRY(score(j, lm, query, json_array_get(documents, i), &all[i].score, n_tokens));
  return RLX_OK;
}

static rlx_status rank_texts(sv_job *j, rlx_lm *lm) {
  const size_t n = json_array_size(json_array_get(j->input, 1));
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  uint64_t n_tokens = 0;
  RLX_TRY(rlx_lm_describe(lm, &info));
  ranked *all = rlx_mem_calloc(n, sizeof *all);
  if (!all) return RLX_FAIL(RLX_NO_MEMORY, "%zu documents", n);
  for (size_t i = 0; i < n; i++) all[i].index = i;
  rlx_status status = (info.is_ranker ? score_by_pairs : score_by_vectors)(j, lm, all, n, &n_tokens);
  if (!status) {
    qsort(all, n, sizeof *all, by_score);
    write_ranking(j, all, j->n_wanted && j->n_wanted < n ? j->n_wanted : n, n_tokens);
    if (j->fresh.failed) status = RLX_FAIL(RLX_NO_MEMORY, "an answer");
  }
  rlx_mem_free(all);
  return status;
}

static rlx_status read_rerank(sv_fields *f, sv_job *j) {
  json_t *query = sv_take(f, "query"), *documents = sv_take(f, "documents");
  uint64_t n = 0;
  j->task = rank_texts;
  if (!json_is_string(query)) return RLX_FAIL(RLX_INVALID, "query: expected a text, got %s", sv_kind(query));
  if (!json_is_array(documents))
    return RLX_FAIL(RLX_INVALID, "documents: expected a list of texts, got %s", sv_kind(documents));
  RLX_TRY(check_texts(documents, "documents"));
  RLX_TRY(sv_take_count(f, "top_n", MAX_TEXTS, &n));
  RLX_TRY(sv_take_bool(f, "return_documents", &j->flag));
  j->n_wanted = (size_t)n;
  j->input = json_pack("[O, O]", query, documents);
  return j->input && json_array_append_new(j->kept, j->input) == 0 ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "documents");
}

rlx_status sv_rerank(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_rerank};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}
