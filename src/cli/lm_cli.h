/* Shared by the language-model commands: lm_open.c, lm_sampling.c. */
#ifndef RLX_CLI_LM_CLI_H
#define RLX_CLI_LM_CLI_H

#include "cli/cli.h"
#include "rlx/lm.h"

typedef struct cli_lm_options {
  int64_t context, chunk, sequences;
  const char *cache; /* "f16", "f32" */
  uint32_t switches; /* rlx_switch */
  bool dry_run;
} cli_lm_options;
#define CLI_LM_OPTIONS(o)                                                                                              \
  {"--context", "N",     "tokens that are remembered (default: the model's, at most 4096)", CLI_NUMBER, &(o).context,  \
   1,           16777216},                                                                                             \
    {"--chunk", "N", "tokens of a prompt that are computed together (default: 512)", CLI_NUMBER, &(o).chunk, 1, 4096}, \
    {"--cache", "TYPE", "of keys and values: f32 or f16 (default)", CLI_TEXT, &(o).cache, 0, 0}, CLI_SWITCH_EXACT(o),  \
  {                                                                                                                    \
    "--dry-run", NULL, "print what goes where and whether it fits; load nothing", CLI_FLAG, &(o).dry_run, 0, 0         \
  }

/* Loads a model, with a progress bar on a terminal. With --dry-run it prints the memory needed instead, and *out is
 * NULL. Reports failures. */
int cli_lm_open(const cli_common *common, const cli_lm_options *options, const char *path, rlx_lm **out);

/* Negative: not set. */
typedef struct cli_sampling {
  int64_t tokens, top_k, seed, ahead, penalty_tokens;
  double temperature, top_p, min_p, penalty;
  bool ignore_end, shift;
  cli_list stops;
} cli_sampling;
/* clang-format off */
#define CLI_SAMPLING_OPTIONS(o) \
  {"-n", "N", "tokens at most (0: until the end, or until the context is full)", CLI_NUMBER, \
   &(o).tokens, 0, 16777216}, \
  cli_setting_option("--temperature", "temperature", "T", &(o).temperature), \
  cli_setting_option("--top-k", "top_k", "N", &(o).top_k), \
  cli_setting_option("--top-p", "top_p", "P", &(o).top_p), \
  cli_setting_option("--min-p", "min_p", "P", &(o).min_p), \
  cli_setting_option("--repeat-penalty", "repetition_penalty", "X", &(o).penalty), \
  {"--repeat-last-n", "N", "only those among the last N (0: all)", CLI_NUMBER, &(o).penalty_tokens, 0, 16777216}, \
  {"--seed", "N", "of the draws; the same seed gives the same text (default: a fresh one, which is printed)", \
   CLI_NUMBER, &(o).seed, 0, INT64_MAX}, \
  {"--stop", "TEXT", "end where this text comes; repeat for several", CLI_TEXTS, &(o).stops, 0, 0}, \
  {"--ahead", "N", "tokens drawn before the first of them is shown (0: what pays)", CLI_NUMBER, &(o).ahead, 0, 64}, \
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
void cli_sampling_json(const cli_sampling *o);
/* Fills the library's options; the caller frees *stops. */
int cli_sampling_fill(const cli_sampling *o, rlx_lm_options *out, const char ***stops);
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
