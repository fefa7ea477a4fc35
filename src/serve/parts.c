/* What a model writes, cut into text, thoughts and calls of tools.
 *
 * Models mark thoughts and calls with words of their own, which their chat template names. Text comes in pieces of any
 * length, so whatever could be the beginning of a mark is held until it is one or is not. A call is held until it is
 * complete, because its name may come last; what turns out not to be a call is text. */
#include <string.h>

#include "serve/serve.h"

static const char think[] = "<think>", think_end[] = "</think>";

sv_marks sv_marks_of(const char *chat_template, bool has_tools) {
  static const struct {
    const char *call, *end;
  } known[] = {
    {"<tool_call>", "</tool_call>"}, {"<function_call>", "</function_call>"}, {"<|tool_call|>", "<|/tool_call|>"}};
  sv_marks m = {.calls = has_tools};
  if (!chat_template) return m;
  m.thinks = strstr(chat_template, think_end) != NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known && !m.call; i++) {
    if (!strstr(chat_template, known[i].call)) continue;
    m.call = known[i].call;
    m.call_end = known[i].end;
  }
  return m;
}

/* ---- Reporting ---- */

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static void drop(sv_splitter *p, size_t n) {
  memmove(p->held.v, p->held.v + n, p->held.n - n + 1);
  p->held.n -= n;
}

/* Reports the first n bytes that are held, and drops them. Blanks around thoughts and calls belong to the marks. */
static void report(sv_splitter *p, size_t n, sv_part_kind kind, sv_part_fn fn, void *user) {
  size_t from = 0;
  while (p->is_after_mark && from < n && is_blank(p->held.v[from])) from++;
  if (from < n) {
    p->is_after_mark = false;
    p->has_text |= kind == SV_TEXT;
    fn(user, &(sv_part){.kind = kind, .text = p->held.v + from, .bytes = n - from});
  }
  if (n) drop(p, n);
}

/* A JSON object with a name and arguments; NULL: it is none. */
static json_t *read_call(const char *text, size_t n, const char **name, json_t **arguments) {
  json_error_t e;
  json_t *call = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
  if (json_is_array(call) && json_array_size(call) == 1) { /* some models write a list of one */
    json_t *only = json_incref(json_array_get(call, 0));
    json_decref(call);
    call = only;
  }
  *name = json_string_value(json_object_get(call, "name"));
  *arguments = json_object_get(call, "arguments");
  if (!*arguments) *arguments = json_object_get(call, "parameters");
  if (*name && **name && (!*arguments || json_is_object(*arguments))) return call;
  json_decref(call);
  return NULL;
}

static bool report_call(sv_splitter *p, const char *text, size_t n, sv_part_fn fn, void *user) {
  const char *name;
  json_t *arguments, *call = read_call(text, n, &name, &arguments);
  if (!call) return false;
  rlx_str written = {0};
  if (arguments) sv_add_json(&written, arguments);
  bool has_text = arguments && !written.failed;
  fn(user, &(sv_part){.kind = SV_CALL,
                      .text = has_text ? written.v : "{}",
                      .bytes = has_text ? written.n : 2,
                      .name = name,
                      .number = p->n_calls++});
  rlx_str_deinit(&written);
  json_decref(call);
  return true;
}

/* ---- Marks ---- */

/* Where `mark` is, or where a beginning of it is that ends the text; n: neither. */
static size_t find_mark(const rlx_str *s, const char *mark, bool *is_whole) {
  size_t n = strlen(mark);
  *is_whole = false;
  for (size_t i = 0; i < s->n; i++) {
    size_t left = s->n - i < n ? s->n - i : n;
    if (memcmp(s->v + i, mark, left) != 0) continue;
    *is_whole = left == n;
    return i;
  }
  return s->n;
}

/* A whole answer that is a JSON object is a call, where calls have no marks. */
static bool may_be_bare_call(const sv_splitter *p) {
  if (!p->marks.calls || p->marks.call || p->has_text) return false;
  size_t i = 0;
  while (i < p->held.n && is_blank(p->held.v[i])) i++;
  return i == p->held.n || p->held.v[i] == '{' || p->held.v[i] == '[';
}

static size_t count_blanks(const rlx_str *s) {
  size_t n = 0;
  while (n < s->n && is_blank(s->v[n])) n++;
  return n;
}

/* Each returns whether there is more to do. */
static bool split_text(sv_splitter *p, sv_part_fn fn, void *user) {
  const sv_marks *m = &p->marks;
  bool is_thought = false, is_call = false;
  if (may_be_bare_call(p)) return false;
  size_t thought = m->thinks && !p->has_text ? find_mark(&p->held, think, &is_thought) : p->held.n;
  if (thought > count_blanks(&p->held)) { /* a thought comes before all text */
    thought = p->held.n;
    is_thought = false;
  }
  size_t call = m->calls && m->call ? find_mark(&p->held, m->call, &is_call) : p->held.n;
  size_t at = thought < call ? thought : call;
  if (thought < call) is_call = false;
  else is_thought = false;
  size_t end = at; /* blanks before a mark belong to it, so they wait as well */
  while ((at < p->held.n || m->calls) && end > 0 && is_blank(p->held.v[end - 1])) end--;
  report(p, end, SV_TEXT, fn, user);
  if (is_thought) drop(p, at - end + sizeof think - 1);
  p->is_after_mark |= is_thought;
  if (is_thought) p->state = SV_IN_THOUGHT;
  if (is_call) p->state = SV_IN_CALL; /* the mark stays: it is text if there is no call behind it */
  return is_thought || is_call;
}

static bool split_thought(sv_splitter *p, sv_part_fn fn, void *user) {
  bool is_whole;
  size_t at = find_mark(&p->held, think_end, &is_whole), end = at;
  while (end > 0 && is_blank(p->held.v[end - 1])) end--;
  report(p, end, SV_THOUGHT, fn, user);
  if (!is_whole) return false;
  drop(p, at - end + sizeof think_end - 1);
  p->is_after_mark = true;
  p->has_text = true; /* a second <think> is text */
  p->state = SV_IN_TEXT;
  return true;
}

/* What is held begins with blanks and the mark of a call; `n` bytes of it are the call. */
static bool report_marked(sv_splitter *p, size_t n, sv_part_fn fn, void *user) {
  size_t from = count_blanks(&p->held) + strlen(p->marks.call);
  return from <= n && report_call(p, p->held.v + from, n - from, fn, user);
}

static bool split_call(sv_splitter *p, sv_part_fn fn, void *user) {
  bool is_whole;
  size_t at = find_mark(&p->held, p->marks.call_end, &is_whole), n = strlen(p->marks.call_end);
  if (!is_whole) return false;
  p->state = SV_IN_TEXT;
  if (report_marked(p, at, fn, user)) {
    drop(p, at + n);
    p->is_after_mark = true;
  } else {
    report(p, at + n, SV_TEXT, fn, user);
  }
  return true;
}

void sv_split(sv_splitter *p, const char *text, size_t bytes, sv_part_fn fn, void *user) {
  if (p->marks.begins_in_thought) {
    p->marks.begins_in_thought = false;
    p->state = SV_IN_THOUGHT;
    p->is_after_mark = true;
  }
  rlx_str_add_bytes(&p->held, text, bytes);
  bool more = p->held.n > 0;
  while (more && p->held.n && !p->held.failed)
    more = p->state == SV_IN_TEXT      ? split_text(p, fn, user)
           : p->state == SV_IN_THOUGHT ? split_thought(p, fn, user)
                                       : split_call(p, fn, user);
}

void sv_split_end(sv_splitter *p, sv_part_fn fn, void *user) {
  if (!p->held.n || p->held.failed) return;
  bool is_call = p->state == SV_IN_CALL ? report_marked(p, p->held.n, fn, user)
                 : may_be_bare_call(p)  ? report_call(p, p->held.v, p->held.n, fn, user)
                                        : false;
  if (is_call) drop(p, p->held.n);
  else report(p, p->held.n, p->state == SV_IN_THOUGHT ? SV_THOUGHT : SV_TEXT, fn, user);
}
