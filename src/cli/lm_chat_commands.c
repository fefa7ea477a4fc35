/* What a person at a terminal can type besides messages: /help lists it. A conversation is saved as JSON in the form
 * that chat interfaces share, and read back strictly. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_chat.h"

enum { MAX_SAVED = 64 << 20 };

static const char *const roles[] = {"system", "user", "assistant"};

/* ---- Saving ---- */

static void add_text(char **out, const char *text) {
  const size_t n = strlen(text);
  memcpy(*out, text, n);
  *out += n;
}

/* A quoted text takes at most 6 bytes for each of its own. */
static void add_quoted(char **out, const char *text) {
  *(*out)++ = '"';
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p == '"' || *p == '\\') *(*out)++ = '\\';
    if (*p >= 0x20) *(*out)++ = (char)*p;
    else *out += snprintf(*out, 7, "\\u%04x", *p);
  }
  *(*out)++ = '"';
}

int chat_save(const conversation *c, const char *path) {
  size_t room = 64;
  for (size_t i = 0; i < c->n; i++) room += 6 * strlen(c->v[i].text) + 64;
  char *text = malloc(room), *end = text;
  if (!text) return cli_fail("out of memory");
  add_text(&end, "{\"messages\":[");
  for (size_t i = 0; i < c->n; i++) {
    add_text(&end, i ? ",\n{\"role\":" : "\n{\"role\":");
    add_quoted(&end, c->v[i].role);
    add_text(&end, ",\"content\":");
    add_quoted(&end, c->v[i].text);
    add_text(&end, "}");
  }
  add_text(&end, "\n]}\n");
  int code = cli_write_file(path, text, (size_t)(end - text));
  free(text);
  return code;
}

/* ---- Loading ---- */

typedef struct reader {
  char *at; /* texts are unescaped in place */
} reader;

static void skip_blanks(reader *r) { r->at += strspn(r->at, " \t\r\n"); }

static bool take(reader *r, char c) {
  skip_blanks(r);
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static bool read_hex(const char *p, unsigned *out) {
  *out = 0;
  for (int i = 0; i < 4; i++) {
    const char *digits = "0123456789abcdef", c = (char)(p[i] >= 'A' && p[i] <= 'F' ? p[i] + 32 : p[i]);
    const char *digit = c ? strchr(digits, c) : NULL;
    if (!digit) return false;
    *out = *out * 16 + (unsigned)(digit - digits);
  }
  return true;
}

static char *put_utf8(char *to, unsigned v) {
  if (v < 0x80) *to++ = (char)v;
  else if (v < 0x800) *to++ = (char)(0xc0 | v >> 6);
  else if (v < 0x10000) *to++ = (char)(0xe0 | v >> 12);
  else *to++ = (char)(0xf0 | v >> 18);
  if (v >= 0x10000) *to++ = (char)(0x80 | (v >> 12 & 63));
  if (v >= 0x800) *to++ = (char)(0x80 | (v >> 6 & 63));
  if (v >= 0x80) *to++ = (char)(0x80 | (v & 63));
  return to;
}

/* The character behind a backslash; halves of a pair come together. NUL becomes U+FFFD, as everywhere in messages. */
static bool read_escape(reader *r, char **to) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char c = *r->at;
  const char *name = c ? strchr(names, c) : NULL;
  unsigned v, low;
  if (name) {
    *(*to)++ = values[name - names];
    r->at++;
    return true;
  }
  if (c != 'u' || !read_hex(r->at + 1, &v)) return false;
  r->at += 5;
  const bool is_high = v >= 0xd800 && v < 0xdc00;
  if (is_high && r->at[0] == '\\' && r->at[1] == 'u' && read_hex(r->at + 2, &low) && low >= 0xdc00 && low < 0xe000) {
    r->at += 6;
    v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
  }
  *to = put_utf8(*to, v == 0 || (v >= 0xd800 && v < 0xe000) ? 0xfffd : v);
  return true;
}

static bool read_text(reader *r, char **out) {
  if (!take(r, '"')) return false;
  char *to = *out = r->at;
  while (*r->at && *r->at != '"') {
    if ((unsigned char)*r->at < 0x20) return false;
    if (*r->at != '\\') {
      *to++ = *r->at++;
      continue;
    }
    r->at++;
    if (!read_escape(r, &to)) return false;
  }
  if (!*r->at) return false;
  r->at++;
  *to = '\0';
  return true;
}

/* {"role":..,"content":..} in either order. */
static bool read_message(reader *r, const char **role, char **content) {
  char *name, *value, *role_text = NULL;
  *content = NULL;
  if (!take(r, '{')) return false;
  do {
    if (!read_text(r, &name) || !take(r, ':') || !read_text(r, &value)) return false;
    if (strcmp(name, "role") == 0) role_text = value;
    else if (strcmp(name, "content") == 0) *content = value;
    else return false;
  } while (take(r, ','));
  *role = NULL;
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (role_text && strcmp(role_text, roles[i]) == 0) *role = roles[i];
  return take(r, '}') && *role && *content;
}

static int read_messages(reader *r, const char *path, conversation *c) {
  const char *role;
  char *name, *content;
  bool is_right = take(r, '{') && read_text(r, &name) && strcmp(name, "messages") == 0 && take(r, ':') && take(r, '[');
  if (is_right && !take(r, ']')) {
    do {
      is_right = read_message(r, &role, &content);
      if (is_right && !chat_add(c, role, content, strlen(content))) return cli_fail("out of memory");
    } while (is_right && take(r, ','));
    is_right = is_right && take(r, ']');
  }
  is_right = is_right && take(r, '}');
  skip_blanks(r);
  if (is_right && !*r->at) return CLI_DONE;
  return cli_fail("%s: expected {\"messages\":[{\"role\":..,\"content\":..},..]} with texts, as /save writes it", path);
}

int chat_load(conversation *c, const char *path) {
  char *text;
  size_t bytes;
  conversation loaded = {0};
  if (cli_read_bytes(path, MAX_SAVED, &text, &bytes)) return CLI_FAILED;
  reader r = {text};
  int code =
    strlen(text) == bytes ? read_messages(&r, path, &loaded) : cli_fail("%s: expected a text, found a NUL", path);
  if (!code) {
    chat_clear(c);
    c->v = loaded.v;
    c->n = loaded.n;
  } else {
    chat_clear(&loaded);
    free(loaded.v);
  }
  free(text);
  return code;
}

/* ---- Commands ---- */

static bool has_system(const conversation *c) { return c->n && strcmp(c->v[0].role, "system") == 0; }

static void set_system(conversation *c, const char *text) {
  if (has_system(c)) {
    free((void *)(uintptr_t)c->v[0].text);
    memmove(c->v, c->v + 1, --c->n * sizeof *c->v);
  }
  if (!*text) return;
  if (!chat_add(c, roles[0], text, strlen(text))) {
    cli_fail("out of memory");
    return;
  }
  const rlx_chat_message last = c->v[c->n - 1];
  memmove(c->v + 1, c->v, (c->n - 1) * sizeof *c->v);
  c->v[0] = last;
}

/* Drops the last question and its answer; the question stays in *question (free it), NULL: there is none. */
static void drop_turn(conversation *c, char **question) {
  *question = NULL;
  while (c->n > (has_system(c) ? 1u : 0u) && !*question) {
    const rlx_chat_message last = c->v[--c->n];
    if (strcmp(last.role, "user") == 0) *question = (char *)(uintptr_t)last.text;
    else free((void *)(uintptr_t)last.text);
  }
}

static void regenerate(chat_request *r, rlx_lm *lm, conversation *c) {
  char *question;
  drop_turn(c, &question);
  r->sampling.seed++; /* another answer, if tokens are drawn */
  if (question) (void)!chat_answer(r, lm, c, question, strlen(question));
  else cli_note("there is no question yet");
  free(question);
}

static void show(const conversation *c) {
  for (size_t i = 0; i < c->n; i++) {
    fprintf(stderr, "%s: ", c->v[i].role);
    cli_put_plain(stderr, c->v[i].text, true);
    fputc('\n', stderr);
  }
}

static void show_help(void) {
  fputs("  /help          this\n"
        "  /regen         another answer to the last question\n"
        "  /undo          forget the last question and its answer\n"
        "  /clear         forget everything but the system message\n"
        "  /system TEXT   set the system message; without TEXT: none\n"
        "  /show          print the conversation\n"
        "  /save FILE     write the conversation as JSON\n"
        "  /load FILE     go on with a conversation that was saved\n"
        "  /quit          end; so does Ctrl-D. Ctrl-C ends an answer\n"
        "A line that ends in \\ goes on in the next one; \"\"\" begins and ends a text of several lines.\n",
        stderr);
}

/* The rest of a line that is this command; NULL: another one. */
static const char *after(const char *line, const char *command) {
  const size_t n = strlen(command);
  if (strncmp(line, command, n) != 0 || (line[n] && line[n] != ' ')) return NULL;
  return line + n + strspn(line + n, " ");
}

static void save(const conversation *c, const char *path) {
  if (!*path) cli_note("/save takes a file's name");
  else if (!cli_target_check("/save", path, NULL, false) && !chat_save(c, path)) cli_note("saved %zu messages", c->n);
}

static void load(conversation *c, const char *path) {
  if (!*path) cli_note("/load takes a file's name");
  else if (!chat_load(c, path)) cli_note("loaded %zu messages", c->n);
}

static void forget(conversation *c) {
  char *question;
  do {
    drop_turn(c, &question);
    free(question);
  } while (question);
}

chat_next chat_command(chat_request *r, rlx_lm *lm, conversation *c, const char *line) {
  const char *rest;
  char *question;
  if (after(line, "/quit") || after(line, "/exit")) return CHAT_END;
  if (after(line, "/help")) show_help();
  else if (after(line, "/regen")) regenerate(r, lm, c);
  else if (after(line, "/undo")) {
    drop_turn(c, &question);
    free(question);
  } else if (after(line, "/clear")) forget(c);
  else if ((rest = after(line, "/system"))) set_system(c, rest);
  else if (after(line, "/show")) show(c);
  else if ((rest = after(line, "/save"))) save(c, rest);
  else if ((rest = after(line, "/load"))) load(c, rest);
  else cli_note("there is no command %.40s; /help lists them, and a blank in front makes it a message", line);
  return CHAT_GO_ON;
}
