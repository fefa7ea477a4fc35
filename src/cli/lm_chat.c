/* rlx chat: a conversation, one line at a time. States stay on the device, so each turn computes only the new tokens.
 * An interrupt ends the answer; one at the prompt, the end of input or /quit ends the conversation. */
#include "cli/lm_chat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/edit.h"

bool chat_add(conversation *c, const char *role, const char *text, size_t bytes) {
  rlx_chat_message *grown = realloc(c->v, (c->n + 1) * sizeof *grown);
  char *copy = grown ? cli_message_text(text, bytes) : NULL;
  if (grown) c->v = grown;
  if (!copy) return false;
  c->v[c->n++] = (rlx_chat_message){role, copy};
  return true;
}

void chat_remove_last(conversation *c) { free((void *)(uintptr_t)c->v[--c->n].text); }

void chat_clear(conversation *c) {
  while (c->n) chat_remove_last(c);
  free(c->v);
  c->v = NULL;
}

static void deinit(conversation *c) {
  chat_clear(c);
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

int chat_answer(chat_request *r, rlx_lm *lm, conversation *c, const char *line, size_t bytes) {
  rlx_lm_options options;
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  if (!chat_add(c, "user", line, bytes)) return cli_fail("out of memory");
  if (cli_sampling_fill(&r->sampling, &options)) return CLI_FAILED;
  options.cancel = cli_lm_is_over;
  if (r->parse_special) options.special = RLX_LM_SPECIAL_PARSE;
  c->bytes = 0;
  int code = cli_check(rlx_lm_reply(lm, r->name, c->v, c->n, &options, on_text, c, &stats), NULL, NULL);
  if (!c->is_kept && (!code || c->bytes)) putchar('\n');
  fflush(stdout);
  if (code) {
    chat_remove_last(c); /* an interactive user continues without this message */
    return code;
  }
  if (c->failed || !chat_add(c, "assistant", c->answer ? c->answer : "", c->bytes)) return cli_fail("out of memory");
  if (stats.n_dropped && !c->dropped && !r->common.quiet && !c->is_kept)
    fprintf(stderr, "rlx: the conversation has outgrown the context: from now on its oldest messages are left out\n");
  c->dropped = stats.n_dropped;
  if (c->is_kept) report_turn(lm, c, &stats);
  else if (r->common.verbose || (r->prompt && !r->common.quiet)) cli_lm_report(lm, &stats);
  return CLI_DONE;
}

/* ---- Typing ---- */

/* A message of a person: it grows by lines. */
typedef struct message {
  char *v;
  size_t n;
} message;

static bool append(message *m, const char *text, size_t bytes, bool is_next_line) {
  char *grown = realloc(m->v, m->n + bytes + 2);
  if (!grown) return false;
  m->v = grown;
  if (is_next_line) m->v[m->n++] = '\n';
  memcpy(m->v + m->n, text, bytes);
  m->n += bytes;
  m->v[m->n] = '\0';
  return true;
}

typedef struct typing {
  char *line;
  size_t room, bytes;
  int *end; /* a failure of reading */
} typing;

/* False: no line. */
static bool read_typed(typing *t, const char *prompt) {
  if (cli_edit_is_there()) {
    free(t->line);
    t->line = cli_edit_line(prompt);
    t->bytes = t->line ? strlen(t->line) : 0;
    t->room = t->bytes + 1;
    return t->line != NULL;
  }
  fputs(prompt, stderr);
  return cli_read_line(&t->line, &t->room, &t->bytes, t->end);
}

/* A line, the lines that follow one that ends in a backslash, or those between two lines with three quotes. */
static bool read_message(typing *t, message *m) {
  static const char quotes[] = "\"\"\"";
  m->n = 0;
  if (!read_typed(t, "> ")) return false;
  const bool is_block = t->bytes && strncmp(t->line, quotes, 3) == 0;
  bool goes_on = is_block, is_first = true;
  size_t from = is_block ? 3 : 0;
  for (;;) {
    size_t n = t->bytes - from;
    const char *text = t->line ? t->line + from : "";
    const bool ends_block = is_block && n >= 3 && strcmp(text + n - 3, quotes) == 0;
    goes_on = is_block ? !ends_block : n && text[n - 1] == '\\';
    if (ends_block) n -= 3;
    if (!is_block && goes_on) n--;
    const bool is_edge = is_block && !n && (is_first || ends_block); /* quotes on a line of their own */
    if (!is_edge && !append(m, text, n, m->n > 0)) {
      *t->end = cli_fail("out of memory");
      return false;
    }
    if (!goes_on) return true;
    is_first = false;
    from = 0;
    if (!read_typed(t, "... ")) return false;
  }
}

/* A failing turn, for example a text that is too long, can be rephrased. */
static int talk(chat_request *r, rlx_lm *lm, conversation *c) {
  int end = CLI_DONE;
  typing t = {.end = &end};
  message m = {0};
  chat_next next = CHAT_GO_ON;
  if (!r->common.quiet) fprintf(stderr, "Write a line; /help lists commands, /quit or Ctrl-D ends.\n");
  while (next == CHAT_GO_ON && read_message(&t, &m)) {
    if (!m.n) continue;
    if (m.v[0] == '/') next = chat_command(r, lm, c, m.v);
    else (void)!chat_answer(r, lm, c, m.v, m.n);
    cli_forget_interrupts(); /* it ended an answer */
  }
  if (!t.line && cli_edit_is_there()) fputc('\n', stderr);
  free(t.line);
  free(m.v);
  return end;
}

/* Lines that no person types: each is a message, and a failing turn ends the conversation. */
static int answer_lines(chat_request *r, rlx_lm *lm, conversation *c) {
  char *line = NULL;
  size_t room = 0, bytes;
  int code = CLI_DONE, end = CLI_DONE;
  while (!code && !cli_interrupted() && cli_read_line(&line, &room, &bytes, &end)) {
    if (bytes && strcmp(line, "/quit") == 0) break;
    if (bytes) code = chat_answer(r, lm, c, line, bytes);
  }
  free(line);
  return end ? end : code;
}

static int chat(chat_request *r, rlx_lm *lm, conversation *c) {
  if (r->system && !chat_add(c, "system", r->system, strlen(r->system))) return cli_fail("out of memory");
  if (r->prompt) return chat_answer(r, lm, c, r->prompt, strlen(r->prompt));
  return cli_is_terminal(0) ? talk(r, lm, c) : answer_lines(r, lm, c);
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

/* Whether the model's own template can be used, before a text is typed. */
static int check_template(const rlx_file *f) {
  rlx_chat_template *t;
  if (rlx_chat_template_of(f)) return CLI_DONE;
  rlx_status s = rlx_chat_template_load(f, &t);
  if (s) return cli_fail("%s; --template NAME chooses one, --templates lists them", rlx_message());
  rlx_chat_template_destroy(t);
  return CLI_DONE;
}

static int run(chat_request *r) {
  if (r->list) return list_templates(r->common.json);
  if (r->words.n != 1) return cli_wrong(r->self, "expected one model, got %zu", r->words.n);
  rlx_lm *lm;
  conversation c = {.is_kept = r->common.json};
  int code = cli_lm_open(&r->common, &r->lm, r->words.v[0].value, &lm);
  if (lm && !code && !r->name) code = check_template(rlx_lm_file(lm));
  if (lm && !code) code = cli_sampling_open(&r->sampling, &r->common, &r->lm);
  if (lm && !code) code = cli_sampling_settle(&r->sampling, &r->common, lm, true);
  if (lm && !code) {
    cli_note_interrupts();
    code = chat(r, lm, &c);
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
  chat_request r = {.self = self, .sampling = {CLI_SAMPLING_UNSET, .tokens = 0, .shift = true}};
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
  cli_list_deinit(&r.lm.loras);
  cli_sampling_deinit(&r.sampling);
  return code;
}
