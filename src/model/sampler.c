/* The chain of sampling settings; sampler.h says what it is for.
 *
 * First the logits are changed (biases, penalties), then tokens are left out, most of them by their rank. Only the LIST
 * likeliest tokens are sorted; what lies below them enters sums over all tokens and is sorted only if the draw, or a
 * setting, gets that far. */
#include "model/sampler.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/philox.h"
#include "base/status.h"
#include "ir/sampling.h"
#include "model/settings.h"
#include "text/grammar.h"

enum { LIST = 256 };

typedef struct banned_text {
  size_t first, n; /* its tokens in `banned_ids` */
} banned_text;

struct lm_sampler {
  rlx_lm_options o; /* its pointers are not used */
  uint32_t n_vocab;
  RLX_ARRAY(rlx_lm_bias) biases;
  RLX_ARRAY(int32_t) banned_ids;
  RLX_ARRAY(banned_text) banned;
  bool *is_breaker;       /* by token; NULL without dry */
  uint32_t *counts;       /* by token, zero between draws; NULL without penalties */
  uint32_t *lengths;      /* dry: the longest repetition that the token would continue; zero between draws */
  RLX_ARRAY(size_t) z;    /* dry: scratch */
  int32_t *order;         /* candidates, likeliest first */
  double *weight;         /* of them, the likeliest has 1 */
  size_t n, capacity;     /* sorted candidates; of `order` */
  double mu;              /* mirostat: the largest surprise allowed */
  grammar_state *grammar; /* NULL: any text */
};

/* ---- Settings ---- */

static double setting_of(const rlx_lm_options *o, const lm_setting_row *row) {
  double v;
  memcpy(&v, (const char *)o + row->offset, sizeof v);
  return v;
}

bool lm_sampler_needed(const rlx_lm_options *o) {
  bool needed = o->grammar || o->n_biases || o->n_banned || (o->typical_p > 0 && o->typical_p < 1);
  return needed || o->frequency_penalty != 0 || o->presence_penalty != 0 || o->top_n_sigma > 0 ||
         o->xtc_probability > 0 || o->dynatemp_range > 0 || o->dry_multiplier > 0 || o->mirostat_tau > 0;
}

static rlx_status check_texts(const char *what, const char *const *texts, size_t n) {
  if (n && !texts) return RLX_FAIL(RLX_INVALID, "%s: the texts are NULL", what);
  for (size_t i = 0; i < n; i++)
    if (!texts[i] || !texts[i][0])
      return RLX_FAIL(RLX_INVALID, "%s: text %zu is %s", what, i, texts[i] ? "empty" : "NULL");
  return RLX_OK;
}

rlx_status lm_sampler_check(const rlx_lm_options *o, uint32_t n_vocab) {
  for (uint32_t i = 0; i < lm_n_settings; i++) {
    const lm_setting_row *row = &lm_settings[i];
    double v = setting_of(o, row);
    if (!(v >= row->min && v <= row->max))
      return RLX_FAIL(RLX_INVALID, "%s is %g: expected %g to %g", row->name, v, row->min, row->max);
  }
  if (o->n_biases && !o->biases) return RLX_FAIL(RLX_INVALID, "the biases are NULL");
  for (size_t i = 0; i < o->n_biases; i++) {
    const rlx_lm_bias *b = &o->biases[i];
    if (b->id < 0 || (uint32_t)b->id >= n_vocab)
      return RLX_FAIL(RLX_INVALID, "bias %zu is of token %d, but the vocabulary has %u", i, (int)b->id,
                      (unsigned)n_vocab);
    if (isnan(b->bias) || b->bias > 1e9f)
      return RLX_FAIL(RLX_INVALID, "bias %zu is %g: expected a number, or -infinity", i, (double)b->bias);
  }
  RLX_TRY(check_texts("dry_breakers", o->dry_breakers, o->n_dry_breakers));
  return check_texts("banned", o->banned, o->n_banned);
}

/* ---- Making one ---- */

static rlx_status add_banned(lm_sampler *s, const rlx_tokenizer *t, const char *text, bool with_space) {
  char *spaced = NULL;
  size_t n = strlen(text), n_ids;
  int32_t *ids;
  if (with_space) {
    spaced = rlx_mem_alloc(n + 2);
    if (!spaced) return RLX_FAIL(RLX_NO_MEMORY, "a banned text");
    spaced[0] = ' ';
    memcpy(spaced + 1, text, n + 1);
  }
  rlx_status status = rlx_tokenizer_encode(t, spaced ? spaced : text, n + with_space, 0, &ids, &n_ids);
  rlx_mem_free(spaced);
  if (status) return status;
  banned_text b = {s->banned_ids.n, n_ids};
  bool has_room = rlx_array_reserve(&s->banned_ids, n_ids);
  for (size_t i = 0; has_room && i < n_ids; i++) s->banned_ids.v[s->banned_ids.n++] = ids[i];
  has_room = has_room && (!n_ids || rlx_array_push(&s->banned, b));
  rlx_free(ids);
  return has_room ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a banned text");
}

static rlx_status find_breakers(lm_sampler *s, const rlx_lm_options *o, const rlx_tokenizer *t) {
  static const char *const usual[] = {"\n", ":", "\"", "*"};
  const char *const *texts = o->n_dry_breakers ? o->dry_breakers : usual;
  size_t n = o->n_dry_breakers ? o->n_dry_breakers : sizeof usual / sizeof *usual;
  s->is_breaker = rlx_mem_calloc(s->n_vocab, sizeof *s->is_breaker);
  s->lengths = rlx_mem_calloc(s->n_vocab, sizeof *s->lengths);
  if (!s->is_breaker || !s->lengths) return RLX_FAIL(RLX_NO_MEMORY, "a sampler for %u tokens", (unsigned)s->n_vocab);
  for (uint32_t i = 0; t && i < s->n_vocab && i < rlx_tokenizer_size(t); i++) {
    char *text;
    size_t bytes;
    int32_t id = (int32_t)i;
    if (rlx_tokenizer_is_special(t, id)) continue;
    RLX_TRY(rlx_tokenizer_decode(t, &id, 1, false, &text, &bytes));
    for (size_t k = 0; k < n && !s->is_breaker[i]; k++) s->is_breaker[i] = strstr(text, texts[k]) != NULL;
    rlx_free(text);
  }
  return RLX_OK;
}

static rlx_status begin_grammar(lm_sampler *s, const rlx_lm_options *o, const rlx_tokenizer *t) {
  if (!t) return RLX_FAIL(RLX_UNSUPPORTED, "a grammar: the model has no supported tokenizer");
  RLX_TRY(grammar_state_create(o->grammar, &s->grammar));
  const uint32_t n = grammar_state_vocab(s->grammar)->n_tokens;
  if (n == rlx_tokenizer_size(t)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "the grammar was made for a vocabulary of %u tokens, the model's has %u", (unsigned)n,
                  (unsigned)rlx_tokenizer_size(t));
}

static rlx_status fill(lm_sampler *s, const rlx_lm_options *o, const rlx_tokenizer *t) {
  if (o->n_biases && !rlx_array_reserve(&s->biases, o->n_biases)) return RLX_FAIL(RLX_NO_MEMORY, "biases");
  for (size_t i = 0; i < o->n_biases; i++) s->biases.v[s->biases.n++] = o->biases[i];
  if (o->n_banned && !t) return RLX_FAIL(RLX_UNSUPPORTED, "banned texts: the model has no supported tokenizer");
  for (size_t i = 0; i < o->n_banned; i++) {
    RLX_TRY(add_banned(s, t, o->banned[i], false));
    RLX_TRY(add_banned(s, t, o->banned[i], true));
  }
  if (o->dry_multiplier > 0) RLX_TRY(find_breakers(s, o, t));
  if (o->grammar) RLX_TRY(begin_grammar(s, o, t));
  s->counts = rlx_mem_calloc(s->n_vocab, sizeof *s->counts);
  s->capacity = s->n_vocab < LIST ? s->n_vocab : LIST;
  s->order = rlx_mem_calloc(s->capacity, sizeof *s->order);
  s->weight = rlx_mem_calloc(s->capacity, sizeof *s->weight);
  bool is_whole = s->counts && s->order && s->weight;
  return is_whole ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a sampler for %u tokens", (unsigned)s->n_vocab);
}

rlx_status lm_sampler_create(const rlx_lm_options *o, const rlx_tokenizer *t, uint32_t n_vocab, lm_sampler **out) {
  lm_sampler *s = *out = rlx_new(lm_sampler);
  if (!s) return RLX_FAIL(RLX_NO_MEMORY, "a sampler");
  s->o = *o;
  s->n_vocab = n_vocab;
  s->mu = 2 * o->mirostat_tau;
  rlx_status status = fill(s, o, t);
  if (!status) return RLX_OK;
  lm_sampler_destroy(s);
  *out = NULL;
  return status;
}

void lm_sampler_destroy(lm_sampler *s) {
  if (!s) return;
  rlx_array_deinit(&s->biases);
  rlx_array_deinit(&s->banned_ids);
  rlx_array_deinit(&s->banned);
  rlx_array_deinit(&s->z);
  rlx_mem_free(s->is_breaker);
  rlx_mem_free(s->lengths);
  rlx_mem_free(s->counts);
  rlx_mem_free(s->order);
  rlx_mem_free(s->weight);
  grammar_state_destroy(s->grammar);
  rlx_mem_free(s);
}

/* ---- The grammar ---- */

static bool may_end(const lm_sampler *s) { return !s->o.ignore_end && grammar_state_may_end(s->grammar); }

bool lm_sampler_is_over(lm_sampler *s) {
  const uint64_t *bits;
  uint32_t n;
  if (!s || !s->grammar || !grammar_state_may_end(s->grammar)) return false;
  return grammar_state_mask(s->grammar, &bits, &n) == RLX_OK && !n; /* a failure comes up when a token is drawn */
}

static rlx_status keep_allowed(lm_sampler *s, float *logits) {
  const grammar_vocab *v = grammar_state_vocab(s->grammar);
  const uint64_t *bits;
  uint32_t n;
  float ends[16]; /* a vocabulary has a few; those beyond are not drawn */
  size_t n_ends = may_end(s) ? v->ends.n < 16 ? v->ends.n : 16 : 0;
  RLX_TRY(grammar_state_mask(s->grammar, &bits, &n));
  if (!n && !n_ends)
    return RLX_FAIL(RLX_UNSUPPORTED, "no token of the vocabulary continues the text as its grammar needs");
  for (size_t i = 0; i < n_ends; i++) {
    const bool is_there = (uint32_t)v->ends.v[i] < s->n_vocab;
    ends[i] = is_there ? logits[v->ends.v[i]] : 0;
  }
  for (uint32_t i = 0; i < s->n_vocab; i += 64) {
    const uint32_t many = s->n_vocab - i < 64 ? s->n_vocab - i : 64;
    uint64_t word = i < v->n_tokens ? bits[i / 64] : 0;
    if (word == UINT64_MAX) continue;
    for (uint32_t k = 0; k < many; k++, word >>= 1)
      if (!(word & 1)) logits[i + k] = -INFINITY;
  }
  for (size_t i = 0; i < n_ends; i++)
    if ((uint32_t)v->ends.v[i] < s->n_vocab) logits[v->ends.v[i]] = ends[i];
  return RLX_OK;
}

static rlx_status continue_grammar(lm_sampler *s, int32_t id) {
  const grammar_vocab *v = grammar_state_vocab(s->grammar);
  for (size_t i = 0; i < v->ends.n; i++)
    if (v->ends.v[i] == id) return RLX_OK;
  return grammar_state_accept(s->grammar, id);
}

/* ---- Changing logits ---- */

static void forbid_banned(const lm_sampler *s, float *logits, const int32_t *ids, size_t n) {
  for (size_t i = 0; i < s->banned.n; i++) {
    const int32_t *text = s->banned_ids.v + s->banned.v[i].first;
    size_t before = s->banned.v[i].n - 1;
    if (before <= n && (!before || memcmp(text, ids + n - before, before * sizeof *ids) == 0))
      logits[text[before]] = -INFINITY;
  }
}

static size_t window_of(uint64_t tokens, size_t n) { return tokens && tokens < n ? (size_t)tokens : n; }

static void apply_penalties(lm_sampler *s, float *logits, const int32_t *ids, size_t n) {
  const rlx_lm_options *o = &s->o;
  float repeat = o->repetition_penalty > 0 ? (float)o->repetition_penalty : 1;
  if (!(repeat < 1 || repeat > 1) && o->frequency_penalty == 0 && o->presence_penalty == 0) return;
  size_t window = window_of(o->penalty_tokens, n);
  for (size_t i = n - window; i < n; i++) s->counts[ids[i]]++;
  for (size_t i = n - window; i < n; i++) {
    float *x = &logits[ids[i]];
    uint32_t count = s->counts[ids[i]];
    if (!count) continue; /* done at an earlier occurrence */
    *x = *x < 0 ? *x * repeat : *x / repeat;
    *x -= (float)(o->frequency_penalty * count + o->presence_penalty);
    s->counts[ids[i]] = 0;
  }
}

/* z[i]: how many tokens before the last one and before token n - 1 - i are equal, itself included. Counted in reverse,
 * it is the Z function, in time proportional to n. */
static void count_matches(const int32_t *ids, size_t n, size_t max, size_t *z) {
  size_t left = 0, right = 0;
  z[0] = 0;
  for (size_t i = 1; i < n; i++) {
    size_t k = i < right && z[i - left] < right - i ? z[i - left] : i < right ? right - i : 0;
    while (i + k < n && k < max && ids[n - 1 - k] == ids[n - 1 - i - k]) k++;
    z[i] = k < max ? k : max;
    if (i + k > right) left = i, right = i + k;
  }
}

static rlx_status apply_dry(lm_sampler *s, float *logits, const int32_t *all, size_t n_all) {
  const rlx_lm_options *o = &s->o;
  if (!(o->dry_multiplier > 0)) return RLX_OK;
  size_t n = window_of(o->dry_penalty_tokens, n_all), max = 0;
  const int32_t *ids = all + n_all - n;
  while (max < n && !s->is_breaker[ids[n - 1 - max]]) max++;
  if (n < 2 || !max) return RLX_OK;
  s->z.n = 0;
  if (!rlx_array_reserve(&s->z, n)) return RLX_FAIL(RLX_NO_MEMORY, "the repetitions of %zu tokens", n);
  count_matches(ids, n, max, s->z.v);
  uint64_t allowed = o->dry_allowed_length ? o->dry_allowed_length : 2;
  double base = o->dry_base > 0 ? o->dry_base : 1.75;
  for (size_t i = 1; i < n; i++) {
    int32_t next = ids[n - i];
    if (s->z.v[i] > s->lengths[next]) s->lengths[next] = (uint32_t)s->z.v[i];
  }
  for (size_t i = 1; i < n; i++) {
    int32_t next = ids[n - i];
    if (s->lengths[next] >= allowed)
      logits[next] -= (float)fmin(1e9, o->dry_multiplier * pow(base, (double)(s->lengths[next] - allowed)));
    s->lengths[next] = 0;
  }
  return RLX_OK;
}

static void keep_sigmas(const lm_sampler *s, float *logits, double largest) {
  double sum = 0, squares = 0;
  size_t count = 0;
  for (uint32_t i = 0; i < s->n_vocab; i++)
    if (isfinite(logits[i])) sum += (double)logits[i], count++;
  double mean = sum / (double)count;
  for (uint32_t i = 0; i < s->n_vocab; i++)
    if (isfinite(logits[i])) squares += ((double)logits[i] - mean) * ((double)logits[i] - mean);
  double least = largest - s->o.top_n_sigma * sqrt(squares / (double)count);
  for (uint32_t i = 0; i < s->n_vocab; i++)
    if ((double)logits[i] < least) logits[i] = -INFINITY;
}

/* ---- Sorting ---- */

/* Whether token a comes after token b: a smaller logit, or an equal one and a larger number. */
static bool comes_after(const float *logits, int32_t a, int32_t b) {
  return logits[a] < logits[b] || (a > b && logits[a] <= logits[b]);
}

/* Heap whose first element comes last of all. */
static void sift(const float *logits, int32_t *heap, size_t n, size_t at) {
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && comes_after(logits, heap[child + 1], heap[child])) child++;
    if (!comes_after(logits, heap[child], heap[at])) return;
    int32_t moved = heap[at];
    heap[at] = heap[child];
    heap[child] = moved;
  }
}

/* Sorts the first `wanted` tokens into s->order; s->n is how many there are with a logit above -inf. */
static rlx_status sort_tokens(lm_sampler *s, const float *logits, size_t wanted) {
  if (wanted > s->n_vocab) wanted = s->n_vocab;
  if (wanted > s->capacity) {
    int32_t *order = rlx_mem_realloc(s->order, wanted, sizeof *order);
    if (order) s->order = order;
    double *weight = order ? rlx_mem_realloc(s->weight, wanted, sizeof *weight) : NULL;
    if (weight) s->weight = weight;
    if (!weight) return RLX_FAIL(RLX_NO_MEMORY, "sorting %zu tokens", wanted);
    s->capacity = wanted;
  }
  size_t n = 0;
  for (int32_t i = 0; i < (int32_t)s->n_vocab; i++) {
    if (!(logits[i] > -INFINITY)) continue;
    if (n < wanted) {
      s->order[n++] = i;
      if (n == wanted)
        for (size_t k = n / 2; k-- > 0;) sift(logits, s->order, n, k);
    } else if (comes_after(logits, s->order[0], i)) {
      s->order[0] = i;
      sift(logits, s->order, n, 0);
    }
  }
  for (size_t k = n / 2; n < wanted && k-- > 0;) sift(logits, s->order, n, k);
  s->n = n;
  for (; n > 1; n--) {
    int32_t last = s->order[0];
    s->order[0] = s->order[n - 1];
    s->order[n - 1] = last;
    sift(logits, s->order, n - 1, 0);
  }
  return RLX_OK;
}

/* ---- Leaving out tokens ---- */

typedef struct drawing {
  lm_sampler *s;
  const float *logits;
  double largest, temperature;
  double total;  /* weight of all tokens, sorted or not, that are left */
  bool is_whole; /* all tokens are sorted */
} drawing;

static double weight_of(const drawing *d, float logit) {
  return (double)logit >= d->largest ? 1 : exp(((double)logit - d->largest) / d->temperature);
}

static double sum_of(const double *weight, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += weight[i];
  return sum;
}

static rlx_status sort_and_weigh(drawing *d, size_t wanted) {
  lm_sampler *s = d->s;
  RLX_TRY(sort_tokens(s, d->logits, wanted));
  for (size_t i = 0; i < s->n; i++) s->weight[i] = weight_of(d, d->logits[s->order[i]]);
  d->is_whole = s->n < wanted || wanted >= s->n_vocab;
  return RLX_OK;
}

/* The entropy of all tokens, in nats. */
static double entropy_of(const drawing *d) {
  double total = 0, weighed = 0;
  for (uint32_t i = 0; i < d->s->n_vocab; i++) {
    double x = ((double)d->logits[i] - d->largest) / d->temperature, w = exp(x);
    if (!(w > 0)) continue;
    total += w;
    weighed += w * x;
  }
  return total > 0 ? log(total) - weighed / total : 0;
}

/* Between temperature - range and temperature + range, by the entropy's share of its largest value. */
static void set_dynamic_temperature(drawing *d) {
  const rlx_lm_options *o = &d->s->o;
  double low = fmax(0, o->temperature - o->dynatemp_range), high = o->temperature + o->dynatemp_range;
  double power = o->dynatemp_exponent > 0 ? o->dynatemp_exponent : 1, most = log((double)d->s->n_vocab);
  d->temperature = 1;
  double share = most > 0 ? entropy_of(d) / most : 0;
  d->temperature = fmax(1e-6, low + (high - low) * pow(fmin(1, fmax(0, share)), power));
}

typedef struct oddity {
  double distance, weight;
  int32_t id;
} oddity;

static int by_distance(const void *a, const void *b) {
  const oddity *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static int by_weight(const void *a, const void *b) {
  const oddity *x = a, *y = b;
  if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Keeps the tokens whose surprise is nearest to the expected one, as many as have the probability typical_p. */
static rlx_status keep_typical(drawing *d) {
  lm_sampler *s = d->s;
  double total = sum_of(s->weight, s->n), expected = 0, sum = 0;
  for (size_t i = 0; i < s->n; i++)
    if (s->weight[i] > 0) expected -= s->weight[i] / total * log(s->weight[i] / total);
  oddity *v = rlx_mem_calloc(s->n, sizeof *v);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "sorting %zu tokens", s->n);
  for (size_t i = 0; i < s->n; i++) {
    double surprise = s->weight[i] > 0 ? -log(s->weight[i] / total) : (double)INFINITY;
    v[i] = (oddity){fabs(surprise - expected), s->weight[i], s->order[i]};
  }
  qsort(v, s->n, sizeof *v, by_distance);
  size_t n = 0;
  while (n < s->n && (n == 0 || sum < s->o.typical_p * total)) sum += v[n++].weight;
  qsort(v, n, sizeof *v, by_weight);
  for (size_t i = 0; i < n; i++) s->order[i] = v[i].id, s->weight[i] = v[i].weight;
  s->n = n;
  rlx_mem_free(v);
  return RLX_OK;
}

/* Leaves out all tokens above the threshold but the least likely of them. */
static void leave_out_top(drawing *d, double u) {
  lm_sampler *s = d->s;
  double threshold = s->o.xtc_threshold > 0 ? s->o.xtc_threshold : 0.1, total = sum_of(s->weight, s->n);
  size_t above = 0;
  while (above < s->n && s->weight[above] >= threshold * total) above++;
  if (above < 2 || !(u < s->o.xtc_probability)) return;
  s->n -= above - 1;
  memmove(s->order, s->order + above - 1, s->n * sizeof *s->order);
  memmove(s->weight, s->weight + above - 1, s->n * sizeof *s->weight);
}

/* The place of the token that u selects among the n first, which weigh `total` together with what follows them; n if it
 * lies behind. */
static size_t place_of(const double *weight, size_t n, double u, double total) {
  double mark = u * total, sum = 0;
  for (size_t i = 0; i < n; i++)
    if ((sum += weight[i]) > mark) return i;
  return n;
}

static int32_t draw_among(const lm_sampler *s, double u) {
  size_t at = place_of(s->weight, s->n, u, sum_of(s->weight, s->n));
  return s->order[at < s->n ? at : s->n - 1];
}

static rlx_status draw_mirostat(drawing *d, double u, int32_t *id) {
  lm_sampler *s = d->s;
  RLX_TRY(sort_and_weigh(d, s->n_vocab));
  double total = sum_of(s->weight, s->n), eta = s->o.mirostat_eta > 0 ? s->o.mirostat_eta : 0.1;
  while (s->n > 1 && -log2(s->weight[s->n - 1] / total) > s->mu) s->n--;
  total = sum_of(s->weight, s->n);
  size_t at = place_of(s->weight, s->n, u, total);
  if (at == s->n) at--;
  *id = s->order[at];
  s->mu -= eta * (-log2(s->weight[at] / total) - s->o.mirostat_tau);
  return RLX_OK;
}

/* top_k, typical_p, top_p, min_p and xtc over the sorted tokens, then the draw. False: it needs more sorted tokens. */
static rlx_status draw_of_list(drawing *d, const double u[2], int32_t *id, bool *has_it) {
  lm_sampler *s = d->s;
  const rlx_lm_options *o = &s->o;
  *has_it = true;
  bool is_whole = d->is_whole;
  double total = is_whole ? sum_of(s->weight, s->n) : d->total;
  if (o->top_k && o->top_k <= s->n) {
    s->n = o->top_k;
    total = sum_of(s->weight, s->n);
    is_whole = true;
  }
  if (o->typical_p > 0 && o->typical_p < 1) {
    if (!is_whole) return *has_it = false, RLX_OK;
    RLX_TRY(keep_typical(d));
    total = sum_of(s->weight, s->n);
  }
  if (o->top_p > 0 && o->top_p < 1) {
    size_t n = 0;
    for (double sum = 0; n < s->n && (n == 0 || sum < o->top_p * total);) sum += s->weight[n++];
    if (n == s->n && !is_whole) return *has_it = false, RLX_OK;
    s->n = n;
    is_whole = true;
  }
  if (o->min_p > 0) {
    size_t n = s->n;
    while (n > 1 && s->weight[n - 1] < o->min_p) n--;
    if (n == s->n && !is_whole) return *has_it = false, RLX_OK;
    s->n = n;
    is_whole = true;
  }
  if (o->xtc_probability > 0) {
    if (!is_whole) return *has_it = false, RLX_OK;
    leave_out_top(d, u[1]);
  }
  if (is_whole) {
    *id = draw_among(s, u[0]);
    return RLX_OK;
  }
  size_t at = place_of(s->weight, s->n, u[0], total);
  *has_it = at < s->n;
  if (*has_it) *id = s->order[at];
  return RLX_OK;
}

static rlx_status draw_token(drawing *d, uint64_t draw, int32_t *id) {
  lm_sampler *s = d->s;
  rlx_philox_words words = rlx_philox(0, 0, draw);
  const double u[2] = {rlx_philox_unit(words.v[0]), rlx_philox_unit(words.v[1])};
  if (s->o.mirostat_tau > 0) return draw_mirostat(d, u[0], id);
  size_t wanted = s->o.top_k > LIST ? s->o.top_k : LIST;
  d->total = 0;
  for (uint32_t i = 0; i < s->n_vocab; i++) d->total += weight_of(d, d->logits[i]);
  bool has_it;
  RLX_TRY(sort_and_weigh(d, wanted));
  RLX_TRY(draw_of_list(d, u, id, &has_it));
  if (has_it) return RLX_OK;
  RLX_TRY(sort_and_weigh(d, s->n_vocab));
  return draw_of_list(d, u, id, &has_it);
}

static rlx_status choose(lm_sampler *s, float *logits, const int32_t *ids, size_t n, uint64_t draw, int32_t *id) {
  for (size_t i = 0; i < s->biases.n; i++) logits[s->biases.v[i].id] += s->biases.v[i].bias;
  forbid_banned(s, logits, ids, n);
  apply_penalties(s, logits, ids, n);
  RLX_TRY(apply_dry(s, logits, ids, n));
  int32_t best = 0;
  for (uint32_t i = 0; i < s->n_vocab; i++) {
    if (isnan(logits[i])) return RLX_OK;
    if (logits[i] > logits[best]) best = (int32_t)i;
  }
  double largest = (double)logits[best];
  if (!isfinite(largest)) return RLX_OK;
  if (!(s->o.temperature > 0)) {
    *id = best;
    return RLX_OK;
  }
  if (s->o.top_n_sigma > 0) keep_sigmas(s, logits, largest);
  drawing d = {.s = s, .logits = logits, .largest = largest, .temperature = s->o.temperature};
  if (s->o.dynatemp_range > 0) set_dynamic_temperature(&d);
  return draw_token(&d, draw, id);
}

rlx_status lm_sampler_draw(lm_sampler *s, float *logits, const int32_t *ids, size_t n, uint64_t draw, int32_t *id) {
  *id = -1;
  if (s->grammar) RLX_TRY(keep_allowed(s, logits));
  RLX_TRY(choose(s, logits, ids, n, draw, id));
  return s->grammar && *id >= 0 ? continue_grammar(s, *id) : RLX_OK;
}

/* ---- Probabilities for the caller ---- */

void lm_logprobs(const float *logits, size_t n_vocab, int32_t id, float *logprob, int32_t *top_ids, float *top_logprobs,
                 uint32_t n) {
  double largest = -(double)INFINITY, sum = 0;
  uint32_t n_top = 0;
  for (size_t i = 0; i < n_vocab; i++) {
    if ((double)logits[i] > largest) largest = (double)logits[i];
    if (n_top == n && (!n || !(logits[i] > logits[top_ids[n - 1]]))) continue;
    uint32_t at = n_top < n ? n_top++ : n - 1;
    for (; at > 0 && logits[i] > logits[top_ids[at - 1]]; at--) top_ids[at] = top_ids[at - 1];
    top_ids[at] = (int32_t)i;
  }
  for (size_t i = 0; i < n_vocab; i++) sum += exp((double)logits[i] - largest);
  double norm = largest + log(sum > 0 ? sum : 1); /* 0: there are no logits */
  *logprob = (float)((double)logits[id] - norm);
  for (uint32_t i = 0; i < n_top; i++) top_logprobs[i] = (float)((double)logits[top_ids[i]] - norm);
}
