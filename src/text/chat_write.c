/* Writes a conversation by a row of the chat template table, as text or as tokens.
 *
 * The text consists of markers, which belong to the template, and content, which a user typed or a model generated.
 * Only markers may become special tokens. Yet the text must be encoded as a whole: a tokenizer joins characters
 * across the border of a marker ("### User:" and the blank after it). So the writer records the ranges of content,
 * and encoding looks for special tokens outside them (text_encode_around).
 *
 * BOS is not part of the text: encoding adds it (RLX_TOKENS_ADD_SPECIAL) if the model uses it. */
#include <string.h>

#include "text/chat.h"
#include "text/text.h"

typedef enum role { SYSTEM, USER, ASSISTANT } role;

typedef struct draft {
  rlx_str text;
  RLX_ARRAY(text_range) content; /* in order; may be adjacent */
  bool is_text_only;             /* the ranges are not recorded: a million messages have 16 MB of them */
  bool failed;
} draft;

typedef struct conversation {
  const chat_form *form;
  const rlx_chat_message *messages;
  size_t n, last_user; /* n: none */
  draft out, waiting;  /* waiting: system text to be put into a user turn */
  bool had_user;
} conversation;

static void draft_deinit(draft *d) {
  rlx_str_deinit(&d->text);
  rlx_array_deinit(&d->content);
}

static void add_marker(draft *d, const char *p, size_t n) { rlx_str_add_bytes(&d->text, p, n); }

static void add_content(draft *d, text_span s) {
  size_t start = d->text.n;
  if (!s.n) return;
  rlx_str_add_bytes(&d->text, s.p, s.n);
  if (d->is_text_only) return;
  if (d->text.failed || !rlx_array_push(&d->content, ((text_range){start, start + s.n}))) d->failed = true;
}

static void add_draft(draft *d, const draft *other) {
  size_t start = d->text.n;
  rlx_str_add_bytes(&d->text, other->text.v, other->text.n);
  for (size_t i = 0; i < other->content.n && !d->is_text_only && !d->failed; i++) {
    text_range r = {start + other->content.v[i].start, start + other->content.v[i].end};
    if (d->text.failed || !rlx_array_push(&d->content, r)) d->failed = true;
  }
}

static bool role_of(const char *name, role *out) {
  static const char *const names[] = {"system", "user", "assistant"};
  for (int i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (role)i;
      return true;
    }
  return false;
}

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static text_span trimmed(text_span s) {
  while (s.n && is_blank(s.p[0])) s.p++, s.n--;
  while (s.n && is_blank(s.p[s.n - 1])) s.n--;
  return s;
}

/* Appends `form` with the text in place of \1; `first` (may be NULL) is put before the text. */
static void add_form(draft *out, const char *form, const draft *first, text_span text) {
  const char *place = strchr(form, '\1');
  add_marker(out, form, place ? (size_t)(place - form) : strlen(form));
  if (!place) return;
  if (first) add_draft(out, first);
  add_content(out, text);
  add_marker(out, place + 1, strlen(place + 1));
}

static void drop_lines(text_span *s, bool behind) {
  while (s->n && s->p[0] == '\n') s->p++, s->n--;
  while (behind && s->n && s->p[s->n - 1] == '\n') s->n--;
}

/* Reasoning (<think>..</think>) of earlier answers is dropped, except after the last user message. */
static void add_assistant(conversation *c, size_t i, text_span text) {
  static const char end[] = "</think>", begin[] = "<think>";
  const chat_form *f = c->form;
  text_span thought = {"", 0};
  const char *after = NULL;
  for (const char *p = text.p; f->thoughts && (p = strstr(p, end)); p++) after = p;
  if (after) {
    size_t skip = (size_t)(after - text.p) + sizeof end - 1;
    thought = (text_span){text.p, (size_t)(strstr(text.p, end) - text.p)};
    text = (text_span){text.p + skip, text.n - skip};
  }
  bool is_qwen3 = f->thoughts == QWEN3_THOUGHTS;
  if (is_qwen3 && after) drop_lines(&text, false);
  for (const char *p = thought.p; thought.n && (p = strstr(p, begin)) && p < thought.p + thought.n;) {
    p += sizeof begin - 1;
    thought.n -= (size_t)(p - thought.p);
    thought.p = p;
  }
  drop_lines(&thought, true);
  bool is_last = i + 1 == c->n, is_answer = c->last_user == c->n || i > c->last_user;
  if (!is_qwen3 || !is_answer || !(is_last || thought.n)) {
    add_form(&c->out, f->assistant, NULL, text);
    return;
  }
  draft first = {0};
  drop_lines(&text, false);
  add_marker(&first, "<think>\n", 8);
  add_content(&first, thought);
  add_marker(&first, "\n</think>\n\n", 11);
  if (first.failed || first.text.failed) c->out.failed = true;
  else add_form(&c->out, f->assistant, &first, text);
  draft_deinit(&first);
}

static void add_system(conversation *c, text_span text) {
  if (c->form->trims & TRIM_SYSTEM) text = trimmed(text);
  add_form(c->form->place == OWN_TURN ? &c->out : &c->waiting, c->form->system, NULL, text);
}

static void add_user(conversation *c, size_t i, text_span text) {
  const chat_form *f = c->form;
  if (f->trims & TRIM_USER) text = trimmed(text);
  bool takes = c->waiting.text.n && (f->place == FIRST_USER || i == c->last_user);
  if (c->had_user && f->again) add_marker(&c->out, f->again, strlen(f->again));
  add_form(&c->out, f->user, takes ? &c->waiting : NULL, text);
  if (takes) c->waiting.text.n = c->waiting.content.n = 0;
  c->had_user = true;
}

static rlx_status write_all(conversation *c, bool reply) {
  role r = SYSTEM;
  c->last_user = c->n;
  for (size_t i = 0; i < c->n; i++) {
    const rlx_chat_message *m = &c->messages[i];
    if (!m->role || !m->text) return RLX_FAIL(RLX_INVALID, "message %zu has no %s", i, m->role ? "text" : "role");
    if (!role_of(m->role, &r))
      return RLX_FAIL(RLX_INVALID, "message %zu is of the role '%.100s'; these are: system, user, assistant", i,
                      m->role);
    if (r == USER) c->last_user = i;
  }
  bool has_system = c->n && role_of(c->messages[0].role, &r) && r == SYSTEM;
  if (!has_system && c->form->fallback) add_system(c, (text_span){c->form->fallback, strlen(c->form->fallback)});
  for (size_t i = 0; i < c->n; i++) {
    const rlx_chat_message *m = &c->messages[i];
    text_span text = {m->text, strlen(m->text)};
    (void)role_of(m->role, &r);
    if (r == SYSTEM) add_system(c, text);
    else if (r == USER) add_user(c, i, text);
    else add_assistant(c, i, c->form->trims & TRIM_ASSISTANT ? trimmed(text) : text);
  }
  if (reply) add_marker(&c->out, c->form->reply, strlen(c->form->reply));
  add_marker(&c->out, "", 0);
  bool failed = c->out.failed || c->waiting.failed || c->out.text.failed || c->waiting.text.failed;
  return failed ? RLX_FAIL(RLX_NO_MEMORY, "a conversation of %zu messages", c->n) : RLX_OK;
}

/* Writes the text and, unless is_text_only, the ranges of its content; the caller deinitialises *out even after a
 * failure. */
static rlx_status write_draft(const char *what, const char *name, const rlx_chat_message *messages, size_t n,
                              bool reply, bool is_text_only, draft *out) {
  *out = (draft){0};
  if (!name || (!messages && n)) return RLX_FAIL(RLX_INVALID, "%s: %s is NULL", what, name ? "messages" : "name");
  conversation c = {.messages = messages, .n = n, .out.is_text_only = is_text_only};
  RLX_TRY(chat_form_find(name, &c.form));
  rlx_status s = write_all(&c, reply);
  draft_deinit(&c.waiting);
  *out = c.out;
  return s;
}

rlx_status rlx_chat_format(const char *name, const rlx_chat_message *messages, size_t n, bool reply, char **text) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_chat_format: text is NULL");
  *text = NULL;
  draft d;
  rlx_status s = write_draft("rlx_chat_format", name, messages, n, reply, true, &d);
  if (!s) s = rlx_str_take(&d.text, text);
  draft_deinit(&d);
  return s;
}

rlx_status rlx_chat_encode(const rlx_tokenizer *t, const char *name, const rlx_chat_message *messages, size_t n,
                           bool reply, unsigned flags, int32_t **ids, size_t *n_ids) {
  if (!ids || !n_ids) return RLX_FAIL(RLX_INVALID, "rlx_chat_encode: ids or n_ids is NULL");
  *ids = NULL;
  *n_ids = 0;
  draft d;
  rlx_status s = write_draft("rlx_chat_encode", name, messages, n, reply, (flags & RLX_TOKENS_PARSE_SPECIAL) != 0, &d);
  if (!s)
    s = text_encode_around(t, (text_span){d.text.v, d.text.n}, d.content.v, d.content.n,
                           flags | RLX_TOKENS_PARSE_SPECIAL, ids, n_ids);
  draft_deinit(&d);
  return s;
}
