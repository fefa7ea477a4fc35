/* Sampling settings on the command line: options first, then the settings of the model file, then defaults that do
 * not loop.
 *
 * Greedy decoding gives the same text each time, so it is the default of `generate`. In a conversation it ends in
 * loops, so `chat` samples. A seed that the user did not choose is random and printed, so the text can be
 * reproduced. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

static const rlx_lm_sampling likeliest = {RLX_LM_SAMPLING_INIT, .temperature = 0, .top_p = 1, .repetition_penalty = 1},
                             lively = {RLX_LM_SAMPLING_INIT, .temperature = 0.7, .top_p = 0.95,
                                       .repetition_penalty = 1};

cli_option cli_setting_option(const char *name, const char *setting, const char *value, void *target) {
  rlx_lm_setting s = {RLX_LM_SETTING_INIT};
  uint32_t i = 0;
  while (rlx_lm_setting_at(i, &s) == RLX_OK && strcmp(s.name, setting) != 0) i++;
  return (cli_option){name, value, s.doc, s.is_whole ? CLI_NUMBER : CLI_REAL, target, (int64_t)s.min, (int64_t)s.max};
}

static int64_t fresh_seed(void) {
  uint64_t v = cli_noise();
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return (int64_t)((v ^ (v >> 31)) & 0x7fffffff);
}

static void report_chat(const cli_sampling *o, const char *whose) {
  bool draws = o->temperature > 0;
  fprintf(stderr, "rlx: sampling: temperature %g", o->temperature);
  if (draws && o->top_k) fprintf(stderr, ", top-k %" PRId64, o->top_k);
  if (draws && o->top_p < 1) fprintf(stderr, ", top-p %g", o->top_p);
  if (draws && o->min_p > 0) fprintf(stderr, ", min-p %g", o->min_p);
  if (o->penalty < 1 || o->penalty > 1) fprintf(stderr, ", repeat-penalty %g", o->penalty);
  fprintf(stderr, "%s", whose);
  if (draws) fprintf(stderr, ", seed %" PRId64, o->seed);
  fputc('\n', stderr);
}

/* A schema that begins with a brace is the schema itself. */
static int make_grammar(cli_sampling *o, const rlx_lm *lm) {
  enum { MAX_GRAMMAR = 1 << 20 };
  const bool is_text = o->regex || (o->json_schema && o->json_schema[strspn(o->json_schema, " \t\r\n")] == '{');
  const char *given = o->regex ? o->regex : o->json_schema ? o->json_schema : o->grammar_file;
  const rlx_grammar_kind kind = o->regex         ? RLX_GRAMMAR_REGEX
                                : o->json_schema ? RLX_GRAMMAR_JSON_SCHEMA
                                                 : RLX_GRAMMAR_GBNF;
  if (!given) return CLI_DONE;
  if ((o->regex != NULL) + (o->json_schema != NULL) + (o->grammar_file != NULL) > 1)
    return cli_fail("only one of --grammar, --json-schema and --regex at a time");
  if (!rlx_lm_tokenizer(lm)) return cli_fail("a grammar: the model has no supported tokenizer");
  char *text = NULL;
  size_t bytes = strlen(given);
  if (!is_text && cli_read_bytes(given, MAX_GRAMMAR, &text, &bytes)) return CLI_FAILED;
  const rlx_status s = rlx_grammar_create(rlx_lm_tokenizer(lm), kind, text ? text : given, bytes, &o->grammar);
  free(text);
  return cli_check(s, NULL, NULL);
}

int cli_sampling_settle(cli_sampling *o, const cli_common *common, const rlx_lm *lm, bool is_chat) {
  if (make_grammar(o, lm)) return CLI_FAILED;
  rlx_lm_sampling own = likeliest;
  bool has_seed = o->seed >= 0, is_asked = o->temperature >= 0;
  if (is_chat && cli_check(rlx_lm_sampling_of(rlx_lm_file(lm), &own), NULL, NULL)) return CLI_FAILED;
  if (own.not_applied[0])
    cli_note("warning: the model's file asks for settings that are not applied: %s", own.not_applied);
  const char *whose = is_asked ? "" : own.is_given ? " (the model's own)" : " (the model's file has none)";
  if (o->penalty_tokens < 0) o->penalty_tokens = o->penalty < 0 ? (int64_t)own.penalty_tokens : 0;
  if (o->penalty < 0) o->penalty = own.repetition_penalty;
  if (is_chat && !own.is_given) own = lively;
  if (o->temperature < 0) o->temperature = own.temperature;
  if (o->top_k < 0) o->top_k = own.top_k;
  if (o->top_p < 0) o->top_p = own.top_p;
  if (o->min_p < 0) o->min_p = own.min_p;
  if (!has_seed) o->seed = o->temperature > 0 ? fresh_seed() : 0;
  if (common->quiet || common->json) return CLI_DONE;
  if (is_chat) report_chat(o, whose);
  else if (o->temperature > 0 && !has_seed) fprintf(stderr, "rlx: seed %" PRId64 "\n", o->seed);
  return CLI_DONE;
}

int cli_sampling_open(cli_sampling *o, const cli_common *common, const cli_lm_options *lm) {
  cli_lm_options options = *lm;
  options.sequences = 1;
  options.loras = (cli_list){0}; /* those are the model's */
  return o->draft_path ? cli_lm_open(common, &options, o->draft_path, &o->draft) : CLI_DONE;
}

void cli_sampling_json(const cli_sampling *o) {
#define PRINT(o, option, name, value) \
  if ((o)->host.name < 0 || (o)->host.name > 0) printf("\"" #name "\":%.9g,", (o)->host.name);
  CLI_HOST_SETTINGS(PRINT, o)
#undef PRINT
  printf("\"temperature\":%.9g,\"top_k\":%" PRId64 ",\"top_p\":%.9g,\"min_p\":%.9g,\"repeat_penalty\":%.9g,"
         "\"seed\":%" PRId64,
         o->temperature, o->top_k, o->top_p, o->min_p, o->penalty, o->seed);
}

static const char **put_texts(const cli_list *list, const char **at) {
  for (size_t i = 0; i < list->n; i++) at[i] = list->v[i].value;
  return at;
}

static int read_bias(const cli_word *w, rlx_lm_bias *out) {
  int64_t id;
  double bias;
  if (!cli_to_number(w->name, 0, INT32_MAX, &id) || !cli_to_real(w->value, -INFINITY, FLT_MAX, &bias))
    return cli_fail("--logit-bias takes ID=X, a token's number and what to add, got '%s=%s'", w->name, w->value);
  *out = (rlx_lm_bias){(int32_t)id, (float)bias};
  return CLI_DONE;
}

/* The arrays that the library's options point to. */
static int make_arrays(cli_sampling *o) {
  o->texts = calloc(o->stops.n + o->banned.n + o->breakers.n + 1, sizeof *o->texts);
  o->bias = calloc(o->biases.n + 1, sizeof *o->bias);
  if (!o->texts || !o->bias) return cli_fail("out of memory");
  for (size_t i = 0; i < o->biases.n; i++)
    if (read_bias(&o->biases.v[i], &o->bias[i])) return CLI_FAILED;
  return CLI_DONE;
}

int cli_sampling_fill(cli_sampling *o, rlx_lm_options *out) {
  if (!o->texts && make_arrays(o)) return CLI_FAILED;
  *out = o->host;
  out->struct_bytes = sizeof *out;
  out->max_tokens = (uint32_t)o->tokens;
  out->temperature = o->temperature;
  out->top_k = (uint32_t)o->top_k;
  out->top_p = o->top_p;
  out->min_p = o->min_p;
  out->seed = (uint64_t)o->seed;
  out->ignore_end = o->ignore_end;
  out->shift = o->shift;
  out->ahead = (uint32_t)o->ahead;
  out->repetition_penalty = o->penalty;
  out->penalty_tokens = (uint64_t)o->penalty_tokens;
  out->dry_allowed_length = (uint64_t)o->dry_allowed;
  out->dry_penalty_tokens = (uint64_t)o->dry_tokens;
  out->lookup = (uint32_t)o->lookup;
  out->n_draft = (uint32_t)o->n_draft;
  out->draft = o->draft;
  out->n_stops = o->stops.n;
  out->n_banned = o->banned.n;
  out->n_dry_breakers = o->breakers.n;
  out->n_biases = o->biases.n;
  out->stops = put_texts(&o->stops, o->texts);
  out->banned = put_texts(&o->banned, o->texts + o->stops.n);
  out->dry_breakers = put_texts(&o->breakers, o->texts + o->stops.n + o->banned.n);
  out->biases = o->bias;
  out->grammar = o->grammar;
  return CLI_DONE;
}

void cli_sampling_deinit(cli_sampling *o) {
  rlx_lm_destroy(o->draft);
  cli_list_deinit(&o->stops);
  cli_list_deinit(&o->biases);
  cli_list_deinit(&o->banned);
  cli_list_deinit(&o->breakers);
  rlx_grammar_destroy(o->grammar);
  free(o->texts);
  free(o->bias);
}
