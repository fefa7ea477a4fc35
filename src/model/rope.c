/* Rotary positions (rope): the frequency of each pair of a head, and how configurations scale it for longer
 * contexts.
 *
 * Pair i rotates by theta^(-2i/n) per token. Every supported scaling divides that by a factor per pair, which the op
 * rope takes as `factors`:
 *   linear   all pairs by one factor
 *   llama3   slow pairs (fewer than low_freq_factor rotations within the original training context) by the factor, fast
 *            pairs not at all, those between are interpolated
 *   yarn     pairs with more than beta_fast rotations within that context not at all, those with fewer than beta_slow
 *            by the factor, those between are interpolated; attention scores are scaled up slightly
 *   longrope a list of factors for contexts up to the original one, another for longer ones; attention scores are
 *            scaled up by how much longer the context may be
 * A GGUF stores the factors of longrope as two tensors, those of llama3 as one (rope_freqs.weight), so from a Hugging
 * Face folder they become these weights. Linear and yarn are metadata in both formats.
 *
 * Hugging Face has two spellings: rope_theta next to rope_scaling, and both together as rope_parameters, which may
 * hold one set per kind of layer. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/family.h"
#include "model/reader.h"

static double number_at(lm_reader *r, const json_t *object, const char *key, double fallback) {
  const json_t *v = json_object_get(object, key);
  double x = json_number_value(v);
  if (!v || json_is_null(v)) return fallback;
  if (json_is_number(v) && x > 0 && x < 1e30) return x;
  lm_reader_fail(r, RLX_INVALID, "config.json's %s for rotary positions is not a number above 0", key);
  return fallback;
}

static bool make_factors(lm_reader *r, lm_config *c) {
  size_t n = (size_t)c->rotated / 2;
  c->rope_factors = rlx_mem_calloc(n, sizeof *c->rope_factors);
  if (!c->rope_factors) lm_reader_fail(r, RLX_NO_MEMORY, "%zu factors of rotary positions", n);
  return c->rope_factors != NULL;
}

static void scale_linear(lm_reader *r, lm_config *c, double factor) {
  if (factor == 1 || !make_factors(r, c)) return;
  for (int64_t i = 0; i < c->rotated / 2; i++) c->rope_factors[i] = (float)factor;
}

static void scale_llama3(lm_reader *r, lm_config *c, const json_t *scaling) {
  double factor = number_at(r, scaling, "factor", 8), low = number_at(r, scaling, "low_freq_factor", 1),
         high = number_at(r, scaling, "high_freq_factor", 4),
         first = number_at(r, scaling, "original_max_position_embeddings", 8192);
  if (high <= low)
    lm_reader_fail(r, RLX_INVALID, "config.json's high_freq_factor is %g, low_freq_factor %g", high, low);
  if (r->status || !make_factors(r, c)) return;
  c->factors_are_weights = true;
  for (int64_t i = 0; i < c->rotated / 2; i++) {
    double rotations = first * pow(c->theta, -2.0 * (double)i / (double)c->rotated) / (2 * acos(-1.0));
    double fast = (rotations - low) / (high - low);
    fast = fast < 0 ? 0 : fast > 1 ? 1 : fast;
    c->rope_factors[i] = (float)(1 / ((1 - fast) / factor + fast));
  }
}

typedef struct yarn {
  double factor, first, fast, slow; /* first: the original context; fast, slow: rotations within it */
  double attention;                 /* scale of q and of k */
} yarn;

/* The (fractional) pair that completes so many rotations within the original context. */
static double pair_of(const lm_config *c, const yarn *y, double rotations) {
  return (double)c->rotated * log(y->first / (rotations * 2 * acos(-1.0))) / (2 * log(c->theta));
}

/* Scaling q and k scales the scores by the square, provided all elements of a head are rotated. */
static void scale_yarn(lm_reader *r, lm_config *c, const yarn *y) {
  if (c->rotated != c->head || c->theta <= 1 || y->factor < 1)
    lm_reader_fail(r, RLX_UNSUPPORTED, "yarn with a factor of %g, base %g, on %lld of %lld elements of a head",
                   y->factor, c->theta, (long long)c->rotated, (long long)c->head);
  if (!(y->first > 0 && y->fast > 0 && y->slow > 0))
    lm_reader_fail(r, RLX_INVALID, "yarn from a context of %g with %g and %g rotations; expected numbers above 0",
                   y->first, y->fast, y->slow);
  if (r->status || !make_factors(r, c)) return;
  double low = pair_of(c, y, y->fast), high = pair_of(c, y, y->slow);
  if (!c->family->yarn_is_exact) {
    low = floor(low);
    high = ceil(high);
  }
  low = low < 0 ? 0 : low;
  high = high > (double)c->rotated - 1 ? (double)c->rotated - 1 : high;
  if (high <= low) high = low + 0.001;
  for (int64_t i = 0; i < c->rotated / 2; i++) {
    double slow = ((double)i - low) / (high - low);
    slow = slow < 0 ? 0 : slow > 1 ? 1 : slow;
    c->rope_factors[i] = (float)(1 / (slow / y->factor + 1 - slow));
  }
  c->attention_scale = y->attention * y->attention / sqrt((double)c->head);
}

/* ---- longrope ---- */

/* Positions as long as `gain` times for q and for k each: all scores are scaled, or those of the rotated part. */
static void scale_scores(lm_config *c, double gain) {
  if (c->rotated == c->head) c->attention_scale = gain * gain / sqrt((double)c->head);
  else c->rope_gain = gain * gain;
}

static float *read_factors(lm_reader *r, const lm_config *c, const json_t *set, const char *key) {
  const json_t *list = json_object_get(set, key);
  const size_t n = (size_t)c->rotated / 2;
  if (r->status) return NULL;
  if (json_array_size(list) != n) {
    lm_reader_fail(r, RLX_INVALID, "config.json's %s has %zu factors; expected %zu", key, json_array_size(list), n);
    return NULL;
  }
  float *factors = rlx_mem_calloc(n, sizeof *factors);
  if (!factors) lm_reader_fail(r, RLX_NO_MEMORY, "%zu factors of rotary positions", n);
  for (size_t i = 0; factors && i < n; i++) {
    double x = json_number_value(json_array_get(list, i));
    if (!(x > 0 && x < 1e30))
      lm_reader_fail(r, RLX_INVALID, "config.json's %s has an element %zu that is no factor", key, i);
    factors[i] = (float)x;
  }
  return factors;
}

static void read_hf_longrope(lm_reader *r, lm_config *c, const json_t *set) {
  double first = lm_key_number(r, NULL, "original_max_position_embeddings", (double)c->context);
  first = number_at(r, set, "original_max_position_embeddings", first);
  double factor = number_at(r, set, "factor", (double)c->context / first);
  double gain = factor <= 1 || first <= 1 ? 1 : sqrt(1 + log(factor) / log(first));
  gain = (double)(float)number_at(r, set, "attention_factor", gain); /* as a GGUF of the same model has it */
  c->rope_factors = read_factors(r, c, set, "short_factor");
  c->long_factors = read_factors(r, c, set, "long_factor");
  c->factors_are_weights = true;
  c->first_context = first < (double)LM_MAX_SIZE ? (int64_t)first : LM_MAX_SIZE;
  lm_note_size(r, "rope.scaling.original_context_length", c->first_context);
  lm_note_number(r, "rope.scaling.attn_factor", gain);
  scale_scores(c, gain);
}

/* The factors are tensors; without them these keys say nothing. */
static void read_gguf_longrope(lm_reader *r, lm_config *c) {
  int64_t first = lm_key_size(r, "rope.scaling.original_context_length", NULL, c->context);
  double gain = lm_key_number(r, "rope.scaling.attn_factor", NULL, 1);
  if (!rlx_file_tensor_find(r->file, "rope_factors_long.weight")) return;
  c->first_context = first;
  if (gain > 0) scale_scores(c, gain);
}

/* ---- Reading ---- */

static double default_attention_scale(double factor, double by) { return factor <= 1 ? 1 : 0.1 * by * log(factor) + 1; }

static void read_hf_yarn(lm_reader *r, lm_config *c, const json_t *set) {
  yarn y = {.factor = number_at(r, set, "factor", 1),
            .first = number_at(r, set, "original_max_position_embeddings", (double)c->context),
            .fast = number_at(r, set, "beta_fast", 32),
            .slow = number_at(r, set, "beta_slow", 1)};
  double by = number_at(r, set, "mscale", 0), all = number_at(r, set, "mscale_all_dim", 0);
  y.attention = by > 0 && all > 0 ? default_attention_scale(y.factor, by) / default_attention_scale(y.factor, all)
                                  : default_attention_scale(y.factor, 1);
  y.attention = number_at(r, set, "attention_factor", y.attention);
  lm_note_size(r, "rope.scaling.original_context_length", (int64_t)y.first);
  lm_note_number(r, "rope.scaling.yarn_beta_fast", y.fast);
  lm_note_number(r, "rope.scaling.yarn_beta_slow", y.slow);
  lm_note_number(r, "rope.scaling.attn_factor", y.attention / default_attention_scale(y.factor, 1));
  scale_yarn(r, c, &y);
}

/* Collects members of a set that are neither common to all kinds nor in `words`: leftovers. */
static void collect_unread(lm_config *c, const json_t *set, const char *words) {
  const char *key;
  json_t *v;
  json_object_foreach((json_t *)(uintptr_t)set, key, v) {
    char name[160];
    size_t n = strlen(key);
    if (leftover_has_word("rope_type type rope_theta partial_rotary_factor", key, n) ||
        leftover_has_word(words, key, n) || json_is_null(v))
      continue;
    snprintf(name, sizeof name, "rope_scaling.%s", key);
    rlx_meta value = {.kind = json_is_boolean(v) ? RLX_META_BOOL : RLX_META_FLOAT, .integer = json_is_true(v)};
    value.number = json_number_value(v);
    if (!json_is_number(v) && !json_is_boolean(v)) value = (rlx_meta){.kind = RLX_META_LIST, .n = 1};
    leftover_add(&c->left, &(leftover){.kind = LEFT_FIELD, .name = name, .value = value});
  }
}

static const char *kind_of(lm_reader *r, const json_t *set) {
  const json_t *kind = json_object_get(set, "rope_type");
  if (!kind || json_is_null(kind)) kind = json_object_get(set, "type");
  if (kind && !json_is_null(kind) && !json_is_string(kind))
    lm_reader_fail(r, RLX_INVALID, "config.json's type of scaling of rotary positions is not a text");
  return json_is_string(kind) ? json_string_value(kind) : "default";
}

static void read_scaling(lm_reader *r, lm_config *c, const json_t *scaling) {
  static const struct {
    const char *kind, *words;
  } kinds[] = {{"dynamic", "alpha factor beta_fast beta_slow mscale mscale_all_dim"},
               {"longrope", "factor original_max_position_embeddings short_factor long_factor attention_factor"},
               {"default", ""},
               {"linear", "factor"},
               {"llama3", "factor low_freq_factor high_freq_factor original_max_position_embeddings"},
               {"yarn", "factor original_max_position_embeddings beta_fast beta_slow mscale mscale_all_dim "
                        "attention_factor"}};
  const char *name = kind_of(r, scaling);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(name, kinds[i].kind) == 0) collect_unread(c, scaling, kinds[i].words);
  if (strcmp(name, "default") == 0) return;
  if (strcmp(name, "longrope") == 0 && (c->family->may_have & LM_LONG_ROPE)) {
    read_hf_longrope(r, c, scaling);
    return;
  }
  if (strcmp(name, "dynamic") == 0 && json_object_get(scaling, "alpha") && c->family->stretches_base) {
    double n = (double)c->rotated;
    c->theta *= pow(number_at(r, scaling, "alpha", 1), n / (n - 2));
    lm_note_number(r, "rope.freq_base", c->theta);
    return;
  }
  double factor = number_at(r, scaling, "factor", 1);
  if (strcmp(name, "llama3") != 0) { /* llama3 factors are a tensor in GGUF */
    lm_note_text(r, "rope.scaling.type", name);
    lm_note_number(r, "rope.scaling.factor", factor);
  }
  if (strcmp(name, "linear") == 0) scale_linear(r, c, factor);
  else if (strcmp(name, "llama3") == 0) scale_llama3(r, c, scaling);
  else if (strcmp(name, "yarn") == 0) read_hf_yarn(r, c, scaling);
  else
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json scales rotary positions by '%s'; expected linear, llama3 or yarn",
                   name);
}

/* The parameters of layers without a window, in either spelling. */
static const json_t *global_set(const lm_reader *r) {
  const json_t *all = json_object_get(r->json, "rope_parameters"), *full = json_object_get(all, "full_attention");
  return json_is_object(full) ? full : json_is_object(all) ? all : json_object_get(r->json, "rope_scaling");
}

/* Checks that the sets are objects, that only one spelling is used (or both agree), and that layers with a window
 * are unscaled. */
static void check_sets(lm_reader *r, lm_config *c) {
  const json_t *all = json_object_get(r->json, "rope_parameters"), *old = json_object_get(r->json, "rope_scaling");
  const json_t *full = json_object_get(all, "full_attention"), *local = json_object_get(all, "sliding_attention");
  lm_reader_mark_known(r, NULL, "rope_parameters rope_scaling");
  if ((all && !json_is_null(all) && !json_is_object(all)) || (old && !json_is_null(old) && !json_is_object(old)))
    lm_reader_fail(r, RLX_INVALID, "config.json's %s is not an object",
                   json_is_object(all) || json_is_null(all) || !all ? "rope_scaling" : "rope_parameters");
  if (json_is_object(all) && json_is_object(old) && !json_equal(all, old))
    lm_reader_fail(r, RLX_INVALID, "config.json has both rope_parameters and rope_scaling, and they differ");
  if (local && strcmp(kind_of(r, local), "default") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json scales rotary positions of layers with a window by '%s'",
                   kind_of(r, local));
  if (local) collect_unread(c, local, "");
  if (full) collect_unread(c, all, "full_attention sliding_attention");
}

static void read_hf_bases(lm_reader *r, lm_config *c, double *part) {
  const json_t *set = global_set(r);
  const json_t *local = json_object_get(json_object_get(r->json, "rope_parameters"), "sliding_attention");
  c->theta = number_at(r, set, "rope_theta", c->theta);
  c->local_theta = number_at(r, local, "rope_theta", c->local_theta);
  *part = number_at(r, set, "partial_rotary_factor", *part);
  lm_note_number(r, "rope.freq_base", c->theta);
  lm_note_number(r, "rope.freq_base_swa", c->local_theta);
}

/* The factor, also under its old name rope.scale_linear. 0: none. */
static double read_gguf_factor(lm_reader *r) {
  double factor = lm_key_number(r, "rope.scaling.factor", NULL, 0),
         old = lm_key_number(r, "rope.scale_linear", NULL, 0);
  if (factor > 0 && old > 0 && factor != old)
    lm_reader_fail(r, RLX_INVALID, "%s.rope.scaling.factor is %g, but rope.scale_linear, its old name, is %g",
                   r->prefix, factor, old);
  return factor > 0 ? factor : old;
}

/* Marks keys that only yarn reads as known. An attention factor would apply to every type, so it is refused. */
static void skip_yarn_keys(lm_reader *r) {
  lm_reader_mark_known(
    r, "rope.scaling.original_context_length rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow", NULL);
  double growth = lm_key_number(r, "rope.scaling.attn_factor", NULL, 1);
  if (growth != 1)
    lm_reader_fail(r, RLX_UNSUPPORTED, "%s.rope.scaling.attn_factor is %g, which is supported for yarn only", r->prefix,
                   growth);
}

/* A factor without a type is linear: files older than rope.scaling.type have only the factor. */
static void read_gguf_scaling(lm_reader *r, lm_config *c) {
  const char *kind = lm_key_text(r, "rope.scaling.type", NULL, "linear");
  double factor = read_gguf_factor(r);
  if ((c->family->may_have & LM_LONG_ROPE) && factor <= 0 && strcmp(kind, "yarn") != 0) {
    read_gguf_longrope(r, c);
    return;
  }
  if (strcmp(kind, "none") == 0 || (strcmp(kind, "linear") == 0 && factor <= 0)) {
    skip_yarn_keys(r);
  } else if (strcmp(kind, "linear") == 0) {
    skip_yarn_keys(r);
    scale_linear(r, c, factor);
  } else if (strcmp(kind, "yarn") == 0) {
    if (factor <= 0) factor = 1;
    yarn y = {.factor = factor,
              .first = lm_key_number(r, "rope.scaling.original_context_length", NULL, (double)c->context),
              .fast = lm_key_number(r, "rope.scaling.yarn_beta_fast", NULL, 32),
              .slow = lm_key_number(r, "rope.scaling.yarn_beta_slow", NULL, 1)};
    y.attention = lm_key_number(r, "rope.scaling.attn_factor", NULL, 1) * default_attention_scale(factor, 1);
    scale_yarn(r, c, &y);
  } else {
    lm_reader_fail(r, RLX_UNSUPPORTED, "%s.rope.scaling.type is '%s'; expected none, linear or yarn", r->prefix, kind);
  }
}

void lm_read_rope(lm_reader *r, lm_config *c) {
  c->theta =
    lm_key_number(r, "rope.freq_base", "rope_theta global_rope_theta rotary_emb_base", c->theta > 0 ? c->theta : 10000);
  double part = lm_key_number(r, NULL, "partial_rotary_factor rotary_pct rope_pct", 1);
  c->local_theta = lm_key_number(r, "rope.freq_base_swa", "rope_local_base_freq local_rope_theta", c->local_theta);
  if (r->json) check_sets(r, c);
  if (r->json) read_hf_bases(r, c, &part);
  if (c->local_theta <= 0)
    c->local_theta = c->theta; /* layers with a window use the same base unless a key sets another */
  if (part > 1) lm_reader_fail(r, RLX_INVALID, "config.json's partial_rotary_factor is %g", part);
  if (r->status) return;
  c->rotated = lm_key_count(r, "rope.dimension_count", NULL, (int64_t)((double)c->head * part));
  if (c->rotated < 2 || c->rotated > c->head || c->rotated % 2 != 0)
    lm_reader_fail(r, RLX_INVALID, "rope rotates %lld of %lld elements of a head; expected an even number of them",
                   (long long)c->rotated, (long long)c->head);
  if (!(c->theta > 0 && c->local_theta > 0))
    lm_reader_fail(r, RLX_INVALID, "the base of rotary positions is %g", c->theta > 0 ? c->local_theta : c->theta);
  if (r->status) return;
  if (r->json) read_scaling(r, c, global_set(r));
  else read_gguf_scaling(r, c);
}
