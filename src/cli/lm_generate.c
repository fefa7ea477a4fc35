/* rlx generate: continues a text. Generated text goes to standard output as it comes, speed and memory to standard
 * error. An interrupt stops after the current token; text already written stays. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

enum { MAX_PROMPT = 256 << 20 };

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  cli_sampling sampling;
  const char *prompt, *file, *save, *restore;
  bool no_echo, no_special;
} request;

/* The generated text: collected for JSON, printed otherwise. */
typedef struct text_out {
  bool keep, failed;
  char *v;
  size_t n;
} text_out;

static void on_text(void *user, const char *text, size_t bytes) {
  text_out *o = user;
  if (!o->keep) {
    cli_lm_show(text, bytes);
    return;
  }
  char *grown = realloc(o->v, o->n + bytes + 1);
  if (!grown) {
    o->failed = true;
    return;
  }
  o->v = grown;
  memcpy(o->v + o->n, text, bytes);
  o->n += bytes;
  o->v[o->n] = '\0';
}

static void print_json(const request *r, const rlx_lm *lm, const text_out *o, const rlx_lm_stats *stats) {
  size_t n;
  const int32_t *ids = rlx_lm_tokens(lm, 0, &n);
  printf("{\"text\":");
  cli_print_quoted_bytes(o->v ? o->v : "", o->n);
  printf(",\"ids\":[");
  for (size_t i = n < stats->n_tokens ? 0 : n - stats->n_tokens, first = i; i < n; i++)
    printf("%s%" PRId32, i == first ? "" : ",", ids[i]);
  printf("],");
  cli_lm_json(lm, stats);
  putchar(',');
  cli_sampling_json(&r->sampling);
  printf("}\n");
}

static int save(const request *r, rlx_lm *lm) {
  cli_hold_interrupts();
  rlx_status s = rlx_lm_save(lm, 0, r->save);
  cli_release_interrupts();
  return cli_check(s, NULL, NULL);
}

static int generate(request *r, rlx_lm *lm, const char *prompt, size_t bytes) {
  rlx_lm_options options;
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  text_out out = {.keep = r->common.json};
  if (cli_sampling_fill(&r->sampling, &options)) return CLI_FAILED;
  options.cancel = cli_lm_is_over;
  if (r->no_special) options.special = RLX_LM_SPECIAL_TEXT;
  cli_note_interrupts();
  if (!r->common.json && !r->no_echo && !r->common.quiet) on_text(&out, prompt, bytes);
  int code = cli_check(rlx_lm_generate(lm, prompt, bytes, &options, on_text, &out, &stats), NULL, NULL);
  if (out.failed) code = cli_fail("out of memory");
  if (!code && r->save) code = save(r, lm);
  if (r->common.json && !code) print_json(r, lm, &out, &stats);
  if (!r->common.json) {
    putchar('\n');
    fflush(stdout);
    if (!r->common.quiet && !code) cli_lm_report(lm, &stats);
  }
  free(out.v);
  return cli_interrupted() ? CLI_INTERRUPTED : code;
}

static int run(request *r) {
  if (r->words.n != 1) return cli_wrong(r->self, "expected one model, got %zu", r->words.n);
  if (!r->lm.dry_run && !r->prompt == !r->file) return cli_wrong(r->self, "expected a prompt: -p TEXT or -f FILE");
  if (r->save && cli_target_check("--save", r->save, &(cli_reads){r->words.v[0].value, NULL}, false)) return CLI_FAILED;
  char *text = NULL;
  size_t bytes = r->prompt ? strlen(r->prompt) : 0;
  if (r->file && cli_read_bytes(r->file, MAX_PROMPT, &text, &bytes)) return CLI_FAILED;
  rlx_lm *lm;
  int code = cli_lm_open(&r->common, &r->lm, r->words.v[0].value, &lm);
  if (lm && r->restore) code = cli_check(rlx_lm_restore(lm, 0, r->restore), NULL, NULL);
  if (lm && !code) code = cli_sampling_open(&r->sampling, &r->common, &r->lm);
  if (lm && !code) code = cli_sampling_settle(&r->sampling, &r->common, lm, false);
  if (lm && !code) code = generate(r, lm, text ? text : r->prompt, bytes);
  rlx_lm_destroy(lm);
  free(text);
  return code;
}

int cli_generate(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .sampling = {CLI_SAMPLING_UNSET, .tokens = 128}};
  const cli_option options[] = {
    {"-p, --prompt", "TEXT", "the text to continue", CLI_TEXT, &r.prompt, 0, 0},
    {"-f", "FILE", "the same from a file; - is standard input", CLI_TEXT, &r.file, 0, 0},
    {"--no-special", NULL, "special tokens in the prompt are text, not tokens", CLI_FLAG, &r.no_special, 0, 0},
    {"--no-echo", NULL, "do not print the prompt", CLI_FLAG, &r.no_echo, 0, 0},
    CLI_SAMPLING_OPTIONS(r.sampling),
    {"--save", "FILE", "keep what the model remembers, to go on later", CLI_TEXT, &r.save, 0, 0},
    {"--restore", "FILE", "go on from there; the prompt is what comes next", CLI_TEXT, &r.restore, 0, 0},
    CLI_LM_OPTIONS(r.lm),
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.lm.loras);
  cli_sampling_deinit(&r.sampling);
  return code;
}
