/* Shared by the language-model commands: lm_open.c, lm_sampling.c. */
#ifndef RLX_CLI_LM_CLI_H
#define RLX_CLI_LM_CLI_H

#include "cli/cli.h"
#include "rlx/lm.h"

typedef struct cli_lm_options {
  int64_t context, chunk, sequences;
  const char *cache; /* NULL, or as cli_cache_type takes it */
  uint32_t switches; /* rlx_switch */
  bool dry_run;
  cli_list loras; /* adapters: FILE or FILE=SCALE */
} cli_lm_options;
#define CLI_LM_OPTIONS(o)                                                                                              \
  {"--context", "N",     "tokens that are remembered (default: the model's, at most 4096)", CLI_NUMBER, &(o).context,  \
   1,           16777216},                                                                                             \
    {"--chunk", "N", "tokens of a prompt that are computed together (default: 512)", CLI_NUMBER, &(o).chunk, 1, 4096}, \
    {"--cache", "TYPE", "of keys and values: f32, f16 (default), q8_0, q4_0", CLI_TEXT, &(o).cache, 0, 0},             \
    {"--lora",  "FILE[=SCALE]", "an adapter: a GGUF, or PEFT's safetensors; repeat for several",                       \
     CLI_TEXTS, &(o).loras,     0,                                                                                     \
     0},                                                                                                               \
    CLI_SWITCH_EXACT(o), {                                                                                             \
    "--dry-run", NULL, "print what goes where and whether it fits; load nothing", CLI_FLAG, &(o).dry_run, 0, 0         \
  }

/* The path of a model: the word itself, or where rlx pull has put a model of this name if there is no such file. */
const char *cli_model_path(const char *word);
/* The type of keys and values by name (NULL: f16). False: reports what was expected. */
bool cli_cache_type(const char *name, rlx_lm_cache *out);
/* Loads a model, with a progress bar on a terminal. With --dry-run it prints the memory needed instead, and *out is
 * NULL. Reports failures. */
/* An adapter's file and scale (1 unless given); free *file with free. */
int cli_lora_split(const char *text, char **file, double *scale);
int cli_lm_open(const cli_common *common, const cli_lm_options *options, const char *path, rlx_lm **out);
/* The tokens of a text, with those that the model begins with; `max`: at most so many (0: all). rlx_free them. */
int cli_lm_tokens(rlx_lm *lm, const char *text, size_t bytes, int64_t max, int32_t **ids, size_t *n);

/* Negative: not set. */
typedef struct cli_sampling {
  int64_t tokens, top_k, seed, ahead, penalty_tokens, dry_allowed, dry_tokens;
  double temperature, top_p, min_p, penalty;
  bool ignore_end, shift;
  cli_list stops, biases, banned, breakers;
  rlx_lm_options host; /* CLI_HOST_SETTINGS */
  const char **texts;  /* arrays that cli_sampling_fill made: of stops, banned, breakers */
  rlx_lm_bias *bias;
  int64_t lookup, n_draft;
  const char *draft_path;
  rlx_lm *draft;
  const char *grammar_file, *json_schema, *regex; /* as given; at most one */
  rlx_grammar *grammar;                           /* of one of them */
} cli_sampling;
/* clang-format off */
/* Settings that are off at 0: option, field of rlx_lm_options and name of the setting, value. */
#define CLI_HOST_SETTINGS(ROW, o) \
  ROW(o, "--frequency-penalty", frequency_penalty, "X") \
  ROW(o, "--presence-penalty", presence_penalty, "X") \
  ROW(o, "--typical-p", typical_p, "P") \
  ROW(o, "--top-n-sigma", top_n_sigma, "X") \
  ROW(o, "--xtc-probability", xtc_probability, "P") \
  ROW(o, "--xtc-threshold", xtc_threshold, "P") \
  ROW(o, "--dynatemp-range", dynatemp_range, "T") \
  ROW(o, "--dynatemp-exponent", dynatemp_exponent, "X") \
  ROW(o, "--dry-multiplier", dry_multiplier, "X") \
  ROW(o, "--dry-base", dry_base, "X") \
  ROW(o, "--mirostat-tau", mirostat_tau, "X") \
  ROW(o, "--mirostat-eta", mirostat_eta, "X")
#define CLI_HOST_OPTION(o, option, name, value) cli_setting_option(option, #name, value, &(o).host.name),
#define CLI_SAMPLING_OPTIONS(o) \
  {"-n", "N", "tokens at most (0: until the end, or until the context is full)", CLI_NUMBER, \
   &(o).tokens, 0, 16777216}, \
  cli_setting_option("--temperature", "temperature", "T", &(o).temperature), \
  cli_setting_option("--top-k", "top_k", "N", &(o).top_k), \
  cli_setting_option("--top-p", "top_p", "P", &(o).top_p), \
  cli_setting_option("--min-p", "min_p", "P", &(o).min_p), \
  cli_setting_option("--repeat-penalty", "repetition_penalty", "X", &(o).penalty), \
  {"--repeat-last-n", "N", "only those among the last N (0: all)", CLI_NUMBER, &(o).penalty_tokens, 0, 16777216}, \
  CLI_HOST_SETTINGS(CLI_HOST_OPTION, o) \
  {"--dry-allowed-length", "N", "repetitions of so many tokens are not lowered (0: 2)", CLI_NUMBER, \
   &(o).dry_allowed, 0, 16777216}, \
  {"--dry-last-n", "N", "look for repetitions in the last N tokens (0: all)", CLI_NUMBER, &(o).dry_tokens, 0, \
   16777216}, \
  {"--dry-breaker", "TEXT", "no repetition reaches over this text; repeat for several", CLI_TEXTS, &(o).breakers, \
   0, 0}, \
  {"--logit-bias", "ID=X", "add X to the logit of token ID (-inf: never); repeat for several", CLI_PAIRS, \
   &(o).biases, 0, 0}, \
  {"--grammar", "FILE", "generate only text that this grammar (GBNF) matches", CLI_TEXT, &(o).grammar_file, 0, 0}, \
  {"--json-schema", "FILE|TEXT", "generate only JSON that this schema accepts", CLI_TEXT, &(o).json_schema, 0, 0}, \
  {"--regex", "TEXT", "generate only text that this whole pattern matches", CLI_TEXT, &(o).regex, 0, 0}, \
  {"--ban", "TEXT", "never generate this text; repeat for several", CLI_TEXTS, &(o).banned, 0, 0}, \
  {"--seed", "N", "of the draws; the same seed gives the same text (default: a fresh one, which is printed)", \
   CLI_NUMBER, &(o).seed, 0, INT64_MAX}, \
  {"--stop", "TEXT", "end where this text comes; repeat for several", CLI_TEXTS, &(o).stops, 0, 0}, \
  {"--ahead", "N", "tokens drawn before the first of them is shown (0: what pays)", CLI_NUMBER, &(o).ahead, 0, 64}, \
  {"--lookup", "N", "guess up to N tokens from what came before: faster where a text repeats or quotes", CLI_NUMBER, \
   &(o).lookup, 0, 31}, \
  {"--draft", "MODEL", "a smaller model with the same vocabulary that guesses tokens", CLI_TEXT, &(o).draft_path, 0, \
   0}, \
  {"--draft-tokens", "N", "that it guesses at once (0: 3)", CLI_NUMBER, &(o).n_draft, 0, 31}, \
  {"--ignore-end", NULL, "go on past the model's end token", CLI_FLAG, &(o).ignore_end, 0, 0}, \
  {"--shift", NULL, "when the context is full forget the older half and go on", CLI_FLAG, &(o).shift, 0, 0}
/* clang-format on */
/* The option for a setting of the library; its range, kind and description come from rlx_lm_setting_at. */
cli_option cli_setting_option(const char *name, const char *setting, const char *value, void *target);
#define CLI_SAMPLING_UNSET \
  .top_k = -1, .seed = -1, .temperature = -1, .top_p = -1, .min_p = -1, .penalty = -1, .penalty_tokens = -1
/* Sets defaults and prints the settings. For a chat: those of the model file, or settings that do not loop.
 * Otherwise: greedy. */
int cli_sampling_settle(cli_sampling *o, const cli_common *common, const rlx_lm *lm, bool is_chat);
/* Opens the draft model, if there is one, where the model is. */
int cli_sampling_open(cli_sampling *o, const cli_common *common, const cli_lm_options *lm);
void cli_sampling_json(const cli_sampling *o);
/* Fills the library's options, which point into *o. */
int cli_sampling_fill(cli_sampling *o, rlx_lm_options *out);
void cli_sampling_deinit(cli_sampling *o);
/* Cancel callback: an interrupt was recorded, or the reader of standard output is gone. */
bool cli_lm_is_over(void *user);

/* Copies a text as a NUL-terminated chat message; a NUL in it becomes U+FFFD, as the library does with invalid
 * bytes. Free with free; NULL: out of memory. */
char *cli_message_text(const char *text, size_t bytes);

/* Reads the next line of standard input without its line end, NUL-terminated, into a growing buffer (free with
 * free). False: no line; *code is set if that is an error: a read failure, or a line over the limit. */
bool cli_read_line(char **line, size_t *room, size_t *bytes, int *code);

/* Prints generated text to standard output; escaped as by cli_put_plain if that is a terminal. */
void cli_lm_show(const char *text, size_t bytes);

/* Prints speed and memory to standard error. */
void cli_lm_report(const rlx_lm *lm, const rlx_lm_stats *stats);
/* The same as members of a JSON object: "prompt_tokens":.., without braces. */
void cli_lm_json(const rlx_lm *lm, const rlx_lm_stats *stats);

#endif
