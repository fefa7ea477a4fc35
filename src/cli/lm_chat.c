/* rlx chat: a conversation, one line at a time. States stay on the device, so each turn computes only the new
 * tokens. An interrupt ends the answer; a second one (or end of input, or /quit) ends the conversation. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  cli_sampling sampling;
  const char *system, *name, *prompt;
  bool list, parse_special;
} request;

typedef struct conversation {
  rlx_chat_message *v;
  size_t n;
  char *answer;
  size_t bytes;
  uint32_t dropped;  /* messages that the last turn left out */
  size_t n_reported; /* turns already in the JSON document */
  bool is_kept;      /* the answer goes into a JSON document instead of being printed */
  bool failed;
} conversation;

static bool add(conversation *c, const char *role, const char *text, size_t bytes) {
  rlx_chat_message *grown = realloc(c->v, (c->n + 1) * sizeof *grown);
  char *copy = grown ? cli_message_text(text, bytes) : NULL;
  if (grown) c->v = grown;
  if (!copy) return false;
  c->v[c->n++] = (rlx_chat_message){role, copy};
  return true;
}

static void remove_last(conversation *c) { free((void *)(uintptr_t)c->v[--c->n].text); }

static void deinit(conversation *c) {
  while (c->n) remove_last(c);
  free(c->v);
  free(c->answer);
}

static void on_text(void *user, const char *text, size_t bytes) {
  conversation *c = user;
  char *grown = realloc(c->answer, c->bytes + bytes + 1);
  if (!c->is_kept) cli_lm_show(text, bytes);
  if (!grown) {
    c->failed = true;
    return;
  }
  c->answer = grown;
  memcpy(c->answer + c->bytes, text, bytes);
  c->bytes += bytes;
}

/* Writes one turn of the document: {"turns":[{"user","text",..}],..}. */
static void report_turn(const rlx_lm *lm, conversation *c, const rlx_lm_stats *stats) {
  cli_json_begin();
  printf("%s{\"user\":", c->n_reported++ ? "," : "{\"turns\":[");
  cli_print_quoted(c->v[c->n - 2].text);
  printf(",\"text\":");
  cli_print_quoted_bytes(c->answer ? c->answer : "", c->bytes);
  printf(",\"dropped\":%" PRIu32 ",", stats->n_dropped);
  cli_lm_json(lm, stats);
  putchar('}');
}

static int answer(request *r, rlx_lm *lm, conversation *c, const char *line, size_t bytes) {
  rlx_lm_options options;
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  if (!add(c, "user", line, bytes)) return cli_fail("out of memory");
  if (cli_sampling_fill(&r->sampling, &options)) return CLI_FAILED;
  options.cancel = cli_lm_is_over;
  if (r->parse_special) options.special = RLX_LM_SPECIAL_PARSE;
  c->bytes = 0;
  int code = cli_check(rlx_lm_reply(lm, r->name, c->v, c->n, &options, on_text, c, &stats), NULL, NULL);
  if (!c->is_kept && (!code || c->bytes)) putchar('\n');
  fflush(stdout);
  if (code) {
    remove_last(c); /* an interactive user continues without this message */
    return code;
  }
  if (c->failed || !add(c, "assistant", c->answer ? c->answer : "", c->bytes)) return cli_fail("out of memory");
  if (stats.n_dropped && !c->dropped && !r->common.quiet && !c->is_kept)
    fprintf(stderr, "rlx: the conversation has outgrown the context: from now on its oldest messages are left out\n");
  c->dropped = stats.n_dropped;
  if (c->is_kept) report_turn(lm, c, &stats);
  else if (r->common.verbose || (r->prompt && !r->common.quiet)) cli_lm_report(lm, &stats);
  return CLI_DONE;
}

/* A failing turn (for example a text that is too long) ends the conversation unless a user at a terminal can
 * rephrase it. */
static int chat_loop(request *r, rlx_lm *lm, conversation *c) {
  bool is_terminal = cli_is_terminal(0);
  char *line = NULL;
  size_t room = 0, bytes;
  int code = CLI_DONE, end = CLI_DONE;
  if (r->system && !add(c, "system", r->system, strlen(r->system))) return cli_fail("out of memory");
  if (r->prompt) return answer(r, lm, c, r->prompt, strlen(r->prompt));
  if (is_terminal && !r->common.quiet) fprintf(stderr, "Write a line; /quit or Ctrl-D ends.\n");
  while ((!code || is_terminal) && !cli_interrupted()) {
    if (is_terminal) fprintf(stderr, "> ");
    if (!cli_read_line(&line, &room, &bytes, &end)) break;
    if (bytes && strcmp(line, "/quit") == 0) break;
    if (bytes) code = answer(r, lm, c, line, bytes);
  }
  free(line);
  return end ? end : code;
}

static int list_templates(bool json) {
  if (json) fputs("{\"templates\":[", stdout);
  for (uint32_t i = 0; i < rlx_chat_template_count(); i++) {
    if (json && i) putchar(',');
    if (json) cli_print_quoted(rlx_chat_template_name(i));
    else puts(rlx_chat_template_name(i));
  }
  if (json) puts("]}");
  return CLI_DONE;
}

static int run(request *r) {
  if (r->list) return list_templates(r->common.json);
  if (r->words.n != 1) return cli_wrong(r->self, "expected one model, got %zu", r->words.n);
  rlx_lm *lm;
  conversation c = {.is_kept = r->common.json};
  int code = cli_lm_open(&r->common, &r->lm, r->words.v[0].value, &lm);
  if (lm && !code && !r->name && !rlx_chat_template_of(rlx_lm_file(lm)))
    code = cli_fail("%s; --template NAME chooses one, --templates lists them", rlx_message());
  if (lm && !code) code = cli_sampling_settle(&r->sampling, &r->common, lm, true);
  if (lm && !code) {
    cli_note_interrupts();
    code = chat_loop(r, lm, &c);
    if (c.is_kept && (c.n_reported || !code)) {
      printf(c.n_reported ? "]," : "{\"turns\":[],");
      cli_sampling_json(&r->sampling);
      cli_json_end();
    }
  }
  deinit(&c);
  rlx_lm_destroy(lm);
  return cli_interrupted() ? CLI_INTERRUPTED : code;
}

int cli_chat(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .sampling = {CLI_SAMPLING_UNSET, .tokens = 0, .shift = true}};
  const cli_option options[] = {
    {"-p, --prompt", "TEXT", "one question instead of a conversation", CLI_TEXT, &r.prompt, 0, 0},
    {"--system", "TEXT", "the system message", CLI_TEXT, &r.system, 0, 0},
    {"--template", "NAME", "the chat template (default: the model's own)", CLI_TEXT, &r.name, 0, 0},
    {"--parse-special", NULL, "special tokens in what is typed are tokens, not text", CLI_FLAG, &r.parse_special, 0, 0},
    {"--templates", NULL, "list the names", CLI_FLAG, &r.list, 0, 0},
    CLI_SAMPLING_OPTIONS(r.sampling),
    CLI_LM_OPTIONS(r.lm),
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_sampling_deinit(&r.sampling);
  return code;
}
