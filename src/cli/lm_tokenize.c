/* rlx tokenize: standard input to token ids, or ids back to text. It needs no weights: a GGUF that holds only a
 * vocabulary is enough. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

enum { MAX_TEXT = 1 << 30 };

typedef struct tokenize {
  cli_common common;
  cli_list words;
  bool ids, no_special, decode, many, chat, parse_special;
  const char *form, *system;
} tokenize;

static void print_ids(const int32_t *ids, size_t n, char between) {
  for (size_t i = 0; i < n; i++) {
    if (i) putchar(between);
    printf("%d", ids[i]);
  }
}

static void print_tokens(const tokenize *o, const rlx_tokenizer *t, const int32_t *ids, size_t n) {
  if (o->common.json) {
    fputs("{\"ids\":[", stdout);
    print_ids(ids, n, ',');
    fputs("],\"tokens\":[", stdout);
    for (size_t i = 0; i < n; i++) {
      if (i) putchar(',');
      cli_print_quoted(rlx_tokenizer_spelling(t, ids[i]));
    }
    fputs("]}", stdout);
  } else if (o->ids) {
    print_ids(ids, n, ' ');
    putchar('\n');
  } else {
    for (size_t i = 0; i < n; i++) {
      printf("%7d  ", ids[i]);
      cli_print_quoted(rlx_tokenizer_spelling(t, ids[i]));
      putchar('\n');
    }
  }
}

static int encode(const tokenize *o, const rlx_tokenizer *t, const char *text, size_t bytes) {
  int32_t *ids = NULL;
  size_t n = 0;
  unsigned flags = o->no_special ? 0 : RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL;
  int code = cli_check(rlx_tokenizer_encode(t, text, bytes, flags, &ids, &n), "standard input", NULL);
  if (!code) print_tokens(o, t, ids, n);
  rlx_free(ids);
  return code;
}

/* Encodes one text, or several NUL-terminated ones with one result each. */
static int encode_all(const tokenize *o, const rlx_tokenizer *t, const char *text, size_t bytes) {
  if (!o->many) {
    int code = encode(o, t, text, bytes);
    if (!code && o->common.json) putchar('\n');
    return code;
  }
  int code = CLI_DONE;
  if (o->common.json) {
    cli_json_begin();
    fputs("{\"texts\":[", stdout);
  }
  for (const char *p = text, *end = text + bytes; p < end && !code;) {
    const char *stop = memchr(p, '\0', (size_t)(end - p));
    size_t n = (size_t)((stop ? stop : end) - p);
    code = encode(o, t, p, n);
    if (code && o->common.json) fputs("null", stdout);
    p += n + 1;
    if (p >= end || code) break;
    if (o->common.json) putchar(',');
    else if (!o->ids) putchar('\n');
  }
  if (o->common.json) {
    putchar(']');
    cli_json_end();
  }
  return code;
}

/* Encodes the input as a conversation: one user text, or several NUL-terminated ones, alternating user and
 * assistant. */
static int encode_chat(const tokenize *o, const rlx_file *file, const rlx_tokenizer *t, const char *text,
                       size_t bytes) {
  size_t n = 0, max = 2;
  for (size_t i = 0; i < bytes && o->many; i++) max += text[i] == '\0';
  rlx_chat_message *messages = calloc(max, sizeof *messages);
  const char *form = o->form ? o->form : rlx_chat_template_of(file);
  char *plain = o->many ? NULL : cli_message_text(text, bytes);
  int32_t *ids = NULL;
  size_t n_ids = 0;
  if (!messages || !form || !(o->many || plain)) {
    free(messages);
    free(plain);
    return cli_fail("%s", form ? "out of memory" : rlx_message());
  }
  if (o->system) messages[n++] = (rlx_chat_message){"system", o->system};
  for (const char *p = text, *end = text + bytes; p < end && n < max; p += o->many ? strlen(p) + 1 : bytes) {
    bool is_user = (n - (o->system != NULL)) % 2 == 0;
    messages[n++] = (rlx_chat_message){is_user ? "user" : "assistant", plain ? plain : p};
  }
  unsigned flags = RLX_TOKENS_ADD_SPECIAL | (o->parse_special ? RLX_TOKENS_PARSE_SPECIAL : 0u);
  int code = cli_check(rlx_chat_encode(t, form, messages, n, true, flags, &ids, &n_ids), "--chat", NULL);
  if (!code) print_tokens(o, t, ids, n_ids);
  if (!code && o->common.json) putchar('\n');
  rlx_free(ids);
  free(plain);
  free(messages);
  return code;
}

/* Parses integers separated by white space or commas. */
static int read_ids(char *text, int32_t *ids, size_t *n) {
  *n = 0;
  for (char *word = strtok(text, " \t\r\n\v\f,[]"); word; word = strtok(NULL, " \t\r\n\v\f,[]")) {
    int64_t id;
    if (!cli_to_number(word, 0, INT32_MAX, &id)) return cli_fail("standard input: expected ids, got '%.100s'", word);
    ids[(*n)++] = (int32_t)id;
  }
  return CLI_DONE;
}

static int decode(const tokenize *o, const rlx_tokenizer *t, char *input, size_t bytes) {
  size_t n = 0, length = 0;
  char *text = NULL;
  int32_t *ids = malloc((bytes / 2 + 1) * sizeof *ids);
  int code = ids ? read_ids(input, ids, &n) : cli_fail("out of memory");
  if (!code) code = cli_check(rlx_tokenizer_decode(t, ids, n, !o->no_special, &text, &length), "standard input", NULL);
  if (!code && o->common.json) {
    fputs("{\"text\":", stdout);
    cli_print_quoted_bytes(text, length);
    puts("}");
  } else if (!code) {
    fwrite(text, 1, length, stdout);
  }
  rlx_free(text);
  free(ids);
  return code;
}

static int run(const tokenize *o) {
  const char *path = o->words.v[0].value;
  rlx_file *file = NULL;
  rlx_tokenizer *t = NULL;
  char *input = NULL;
  size_t bytes = 0;
  rlx_status s = rlx_file_open(path, cli_limited(), &file);
  if (!s) s = rlx_tokenizer_create(file, &t);
  int code = cli_check(s, path, NULL);
  if (!code && o->common.verbose) fprintf(stderr, "rlx: %s, %u tokens\n", rlx_tokenizer_kind(t), rlx_tokenizer_size(t));
  if (!code) code = cli_read_bytes("-", MAX_TEXT, &input, &bytes);
  if (!code && o->chat) code = encode_chat(o, file, t, input, bytes);
  else if (!code) code = o->decode ? decode(o, t, input, bytes) : encode_all(o, t, input, bytes);
  free(input);
  rlx_file_close(file);
  rlx_tokenizer_destroy(t);
  return code;
}

int cli_tokenize(const cli_command *self, int argc, char **argv) {
  tokenize o = {0};
  int code;
  const cli_option options[] = {
    {"--ids", NULL, "ids alone, on one line", CLI_FLAG, &o.ids, 0, 0},
    {"--no-special", NULL, "no BOS or EOS added; special tokens in the text are text", CLI_FLAG, &o.no_special, 0, 0},
    {"-0", NULL, "several texts, each ended by NUL: an answer for each", CLI_FLAG, &o.many, 0, 0},
    {"--chat", NULL, "the input is a user message; with -0, user and assistant alternate", CLI_FLAG, &o.chat, 0, 0},
    {"--template", "NAME", "the chat template (default: the model's own)", CLI_TEXT, &o.form, 0, 0},
    {"--system", "TEXT", "the system message", CLI_TEXT, &o.system, 0, 0},
    {"--parse-special", NULL, "with --chat: special tokens in messages are tokens, not text", CLI_FLAG,
     &o.parse_special, 0, 0},
    {"--decode", NULL, "ids to text (with --no-special: without special tokens)", CLI_FLAG, &o.decode, 0, 0},
  };
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &o.common, &o.words, &code))
    code = o.chat && (o.no_special || o.decode) ? cli_wrong(self, "--chat goes with neither --no-special nor --decode")
           : o.words.n == 1                     ? run(&o)
                                                : cli_wrong(self, "expected one file, got %zu", o.words.n);
  cli_list_deinit(&o.words);
  return code;
}
