/* What a grammar costs: the time until it is made, the time of a mask for each token that a model generates under it,
 * and both against the time of a decode step. The tokens are those of the model; their masks are then computed again
 * from nothing (cold, as in the first text of a grammar) and once more (warm, as in all that follow).
 *
 *   build/release/bench/lm_grammar models/shakespeare/shakespeare.gguf [TOKENS [--tokens]]
 *
 * --tokens prints the tokens as JSON lines, for bench/lm_grammar.py, which measures PyPI's llguidance with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "text/grammar.h"

enum { MAX_TOKENS = 2000 };

typedef struct sample {
  const char *name;
  rlx_grammar_kind kind;
  const char *text;
} sample;

static const sample samples[] = {
  {"any JSON", RLX_GRAMMAR_JSON, ""},
  {"schema, flat", RLX_GRAMMAR_JSON_SCHEMA,
   "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":0,"
   "\"maximum\":130},\"email\":{\"type\":\"string\",\"maxLength\":60},\"tags\":{\"type\":\"array\",\"items\":{\"type\":"
   "\"string\",\"maxLength\":20},\"minItems\":1,\"maxItems\":4},\"kind\":{\"enum\":[\"knight\",\"king\",\"clown\"]}},"
   "\"required\":[\"name\",\"age\",\"email\",\"tags\",\"kind\"]}"},
  {"schema, nested", RLX_GRAMMAR_JSON_SCHEMA,
   "{\"$defs\":{\"p\":{\"type\":\"object\",\"properties\":{\"who\":{\"type\":\"string\",\"maxLength\":30},\"said\":{"
   "\"type\":\"string\",\"maxLength\":80}},\"required\":[\"who\",\"said\"]}},\"type\":\"object\",\"properties\":{"
   "\"title\":{\"type\":\"string\",\"maxLength\":40},\"date\":{\"type\":\"string\",\"format\":\"date\"},\"lines\":{"
   "\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/p\"},\"minItems\":2}},\"required\":[\"title\",\"date\",\"lines\"]}"},
  {"GBNF", RLX_GRAMMAR_GBNF,
   "root ::= line+\nline ::= name \":\\n\" word (\" \" word){2,12} [.!?] \"\\n\\n\"\nname ::= [A-Z]+ (\" \" [A-Z]+)?\n"
   "word ::= [A-Za-z']+ \",\"?\n"},
  {"pattern", RLX_GRAMMAR_REGEX, "([A-Z][a-z]+ [0-9]{1,4}; )+[A-Z]{3}"},
};

typedef struct tokens {
  int32_t v[MAX_TOKENS];
  size_t n, max;
} tokens;

static bool keep(void *user, int32_t id) {
  tokens *t = user;
  if (t->n < t->max) t->v[t->n++] = id;
  return t->n < t->max;
}

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

typedef struct figures {
  double mean, median, p99, max; /* microseconds */
} figures;

static int measure(const rlx_grammar *g, const tokens *t, figures *out) {
  static double us[MAX_TOKENS];
  grammar_state *s;
  double sum = 0;
  if (grammar_state_create(g, &s)) return 1;
  for (size_t i = 0; i < t->n; i++) {
    const uint64_t *bits;
    uint64_t begin = rlx_now_ns();
    if (grammar_state_mask(s, &bits, NULL) || grammar_state_accept(s, t->v[i])) break;
    us[i] = 1e-3 * (double)(rlx_now_ns() - begin);
    sum += us[i];
  }
  grammar_state_destroy(s);
  qsort(us, t->n, sizeof *us, compare_numbers);
  *out = (figures){sum / (double)t->n, us[t->n / 2], us[t->n * 99 / 100], us[t->n - 1]};
  return 0;
}

static void print_tokens(const sample *x, const tokens *t) {
  printf("{\"kind\":%d,\"name\":\"%s\",\"ids\":[", (int)x->kind, x->name);
  for (size_t i = 0; i < t->n; i++) printf("%s%d", i ? "," : "", (int)t->v[i]);
  printf("],\"text\":\"");
  for (const char *c = x->text; *c; c++) printf(*c == '"' || *c == '\\' ? "\\%c" : *c == '\n' ? "\\n" : "%c", *c);
  printf("\"}\n");
}

/* The bytes of each token, in hexadecimal digits; none of special ones. */
static int print_vocabulary(const rlx_lm *lm) {
  grammar_vocab *v;
  if (grammar_vocab_of(rlx_lm_tokenizer(lm), &v)) return 1;
  printf("{\"end\":%d,\"vocabulary\":[", v->ends.n ? (int)v->ends.v[0] : -1);
  for (uint32_t i = 0; i < v->n_tokens; i++) {
    printf(i ? ",\"" : "\"");
    for (uint32_t k = v->starts[i]; k < v->starts[i + 1]; k++) printf("%02x", (unsigned)(unsigned char)v->bytes[k]);
    printf("\"");
  }
  printf("]}\n");
  grammar_vocab_release(v);
  return 0;
}

static int run(rlx_lm *lm, const sample *x, size_t n, double step_us, bool prints) {
  static tokens t;
  rlx_grammar *g, *fresh;
  figures cold, warm;
  uint64_t begin = rlx_now_ns();
  if (rlx_grammar_create(rlx_lm_tokenizer(lm), x->kind, x->text, strlen(x->text), &g)) return 1;
  const double made = 1e-6 * (double)(rlx_now_ns() - begin);
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = (uint32_t)n, .temperature = 0.8, .top_p = 0.95, .grammar = g};
  int32_t *ids;
  size_t n_ids;
  t.n = 0;
  t.max = n;
  if (rlx_tokenizer_encode(rlx_lm_tokenizer(lm), "KING:\n", 6, RLX_TOKENS_ADD_SPECIAL, &ids, &n_ids)) return 1;
  if (rlx_lm_truncate(lm, 0, 0) || rlx_lm_generate_ids(lm, ids, n_ids, &o, keep, &t, NULL)) return 1;
  rlx_free(ids);
  rlx_grammar_destroy(g);
  if (prints) print_tokens(x, &t);
  if (rlx_grammar_create(rlx_lm_tokenizer(lm), x->kind, x->text, strlen(x->text), &fresh)) return 1;
  int code = t.n && (measure(fresh, &t, &cold) || measure(fresh, &t, &warm));
  rlx_grammar_destroy(fresh);
  if (!code && t.n && !prints)
    printf("%-14s made in %6.2f ms, %4zu tokens; us per mask: cold %6.1f (median %5.1f, 99%% %6.1f, max %7.1f), warm "
           "%5.2f (max %5.1f): %.2f %% and %.2f %% of a step\n",
           x->name, made, t.n, cold.mean, cold.median, cold.p99, cold.max, warm.mean, warm.max,
           100 * cold.mean / step_us, 100 * warm.mean / step_us);
  return code;
}

int main(int argc, char **argv) {
  static tokens t;
  rlx_lm *lm;
  const size_t n = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 256;
  const bool prints = argc > 3 && strcmp(argv[3], "--tokens") == 0;
  if (argc < 2 || !n || n > MAX_TOKENS) {
    fprintf(stderr, "usage: lm_grammar MODEL [TOKENS [--tokens]]\n");
    return 2;
  }
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = argv[1], .context = (uint32_t)n + 64};
  if (rlx_lm_load(&d, &lm)) {
    fprintf(stderr, "%s\n", rlx_message());
    return 1;
  }
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 64, .ignore_end = true};
  t.max = MAX_TOKENS;
  int code = rlx_lm_generate_ids(lm, (const int32_t[]){1}, 1, &o, keep, &t, &stats) != RLX_OK;
  const double step_us = 1e6 * stats.seconds / (stats.n_tokens > 1 ? stats.n_tokens - 1 : 1);
  if (!prints)
    printf("%u tokens in the vocabulary; a decode step takes %.0f us\n",
           (unsigned)rlx_tokenizer_size(rlx_lm_tokenizer(lm)), step_us);
  if (prints && !code) code = print_vocabulary(lm);
  for (size_t i = 0; i < sizeof samples / sizeof *samples && !code; i++)
    code = run(lm, &samples[i], n, step_us, prints);
  if (code) fprintf(stderr, "%s\n", rlx_message());
  rlx_lm_destroy(lm);
  return code;
}
