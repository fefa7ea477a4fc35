/* Methods of texts, dicts, lists, loops and namespaces' helpers.
 *
 * What Python's types have beside these is known by name, so that it is refused and not taken for an absent member. */
#include <string.h>
#include <utf8proc.h>

#include "text/jinja.h"

/* ---- Arguments ---- */

rlx_status jinja_int_argument(jinja_run *r, const char *what, const jinja_value *v, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  if (v->kind == JINJA_ABSENT) return RLX_OK;
  if (v->kind != JINJA_INT && v->kind != JINJA_BOOL)
    return jinja_fail(r, RLX_INVALID, "%s: expected an integer, got a %s", what, jinja_kind_name(v));
  *out = jinja_as_int(v);
  return RLX_OK;
}

rlx_status jinja_text_argument(jinja_run *r, const char *what, const jinja_value *v, const jinja_text **out) {
  if (v->kind != JINJA_TEXT)
    return jinja_fail(r, RLX_INVALID, "%s: expected a text, got a %s", what, jinja_kind_name(v));
  return jinja_text_flat(r, v->text, out);
}

static rlx_status self_text(jinja_run *r, const jinja_value *self, const jinja_text **out) {
  return jinja_text_flat(r, self->text, out);
}

static rlx_status give(jinja_run *r, const jinja_value *self, const jinja_text *t, size_t from, size_t to,
                       jinja_value *out) {
  const jinja_text *part;
  RLX_TRY(jinja_text_slice(r, t, from, to, &part));
  *out = jinja_of_text(part);
  out->is_markup = self->is_markup;
  return RLX_OK;
}

/* ---- strip ---- */

static bool is_in(const jinja_text *characters, const char *p, size_t size, int32_t code) {
  if (!characters) return jinja_is_space(code);
  jinja_text one = {.p = p, .n = size};
  return jinja_text_find(characters, &one, 0) <= characters->n;
}

rlx_status jinja_strip(jinja_run *r, const jinja_text *t, unsigned sides, const jinja_text *characters,
                       const jinja_text **out) {
  size_t from = 0, to = t->n;
  int32_t code;
  RLX_TRY(jinja_count(r, 1 + t->n / 64));
  for (size_t size; sides & JINJA_LEFT && from < to; from += size) {
    size = jinja_character(t->p + from, to - from, &code);
    if (characters) RLX_TRY(jinja_count(r, 1 + characters->n / 16));
    if (!is_in(characters, t->p + from, size, code)) break;
  }
  while (sides & JINJA_RIGHT && to > from) {
    size_t last = to - 1;
    while (last > from && to - last < 4 && ((unsigned char)t->p[last] & 0xc0) == 0x80) last--;
    if (jinja_character(t->p + last, to - last, &code) != to - last) last = to - 1, code = -1;
    if (characters) RLX_TRY(jinja_count(r, 1 + characters->n / 16));
    if (!is_in(characters, t->p + last, to - last, code)) break;
    to = last;
  }
  return jinja_text_slice(r, t, from, to, out);
}

static rlx_status strip(jinja_run *r, const jinja_value *self, const jinja_args *args, unsigned sides,
                        jinja_value *out) {
  const jinja_text *t, *characters = NULL;
  RLX_TRY(self_text(r, self, &t));
  if (args->p[0].kind != JINJA_ABSENT && args->p[0].kind != JINJA_NONE)
    RLX_TRY(jinja_text_argument(r, "strip", &args->p[0], &characters));
  RLX_TRY(jinja_strip(r, t, sides, characters, &t));
  *out = jinja_of_text(t);
  out->is_markup = self->is_markup;
  return RLX_OK;
}
static JINJA_FN(method_strip) { return strip(r, self, args, JINJA_LEFT | JINJA_RIGHT, out); }
static JINJA_FN(method_lstrip) { return strip(r, self, args, JINJA_LEFT, out); }
static JINJA_FN(method_rstrip) { return strip(r, self, args, JINJA_RIGHT, out); }

/* ---- split ---- */

static rlx_status push_part(jinja_run *r, jinja_list *l, const jinja_value *self, const jinja_text *t, size_t from,
                            size_t to) {
  jinja_value part;
  RLX_TRY(give(r, self, t, from, to, &part));
  return jinja_list_push(r, l, part);
}

static size_t skip_spaces(const jinja_text *t, size_t at, bool spaces) {
  int32_t code;
  for (size_t size; at < t->n; at += size) {
    size = jinja_character(t->p + at, t->n - at, &code);
    if (jinja_is_space(code) != spaces) break;
  }
  return at;
}

static rlx_status split_at_spaces(jinja_run *r, const jinja_value *self, const jinja_text *t, int64_t max,
                                  jinja_list *l) {
  for (size_t at = skip_spaces(t, 0, true); at < t->n;) {
    size_t end = skip_spaces(t, at, false);
    if (max >= 0 && (int64_t)l->n == max) end = t->n; /* the rest, its blanks at the end too */
    RLX_TRY(push_part(r, l, self, t, at, end));
    at = skip_spaces(t, end, true);
  }
  if (max < 0 || (int64_t)l->n <= max || !l->n) return RLX_OK;
  const jinja_text *rest;
  RLX_TRY(jinja_strip(r, l->v[l->n - 1].text, JINJA_RIGHT, NULL, &rest));
  l->v[l->n - 1].text = rest;
  return RLX_OK;
}

static JINJA_FN(method_split) {
  const jinja_text *t, *separator;
  jinja_list *l;
  int64_t max;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_int_argument(r, "split", &args->p[1], -1, &max));
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, 0, &l));
  *out = jinja_of_list(l);
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  if (args->p[0].kind == JINJA_ABSENT || args->p[0].kind == JINJA_NONE) return split_at_spaces(r, self, t, max, l);
  RLX_TRY(jinja_text_argument(r, "split", &args->p[0], &separator));
  if (!separator->n) return jinja_fail(r, RLX_INVALID, "split: an empty separator");
  size_t at = 0;
  for (; max < 0 || (int64_t)l->n < max;) {
    size_t found = jinja_text_find(t, separator, at);
    if (found > t->n) break;
    RLX_TRY(push_part(r, l, self, t, at, found));
    at = found + separator->n;
  }
  return push_part(r, l, self, t, at, t->n);
}

static JINJA_FN(method_rsplit) {
  const jinja_text *t, *separator;
  jinja_list *l;
  int64_t max;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_int_argument(r, "rsplit", &args->p[1], -1, &max));
  if (max < 0) return method_split(r, self, args, out);
  if (args->p[0].kind != JINJA_TEXT)
    return jinja_fail(r, RLX_UNSUPPORTED, "rsplit at blanks with a maximum is not supported");
  RLX_TRY(jinja_text_argument(r, "rsplit", &args->p[0], &separator));
  if (!separator->n) return jinja_fail(r, RLX_INVALID, "rsplit: an empty separator");
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, 0, &l));
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  size_t end = t->n;
  while ((int64_t)l->n < max) {
    size_t found = jinja_text_find_last(t, separator, end);
    if (found > t->n) break;
    RLX_TRY(push_part(r, l, self, t, found + separator->n, end));
    end = found;
  }
  RLX_TRY(push_part(r, l, self, t, 0, end));
  for (size_t i = 0; i < l->n / 2; i++) {
    jinja_value v = l->v[i];
    l->v[i] = l->v[l->n - 1 - i];
    l->v[l->n - 1 - i] = v;
  }
  *out = jinja_of_list(l);
  return RLX_OK;
}

static bool is_line_end(int32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static JINJA_FN(method_splitlines) {
  const jinja_text *t;
  jinja_list *l;
  bool keeps = jinja_truth(&args->p[0]);
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, 0, &l));
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  size_t start = 0;
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    size = jinja_character(t->p + at, t->n - at, &code);
    if (!is_line_end(code)) continue;
    if (code == '\r' && at + 1 < t->n && t->p[at + 1] == '\n') size = 2;
    RLX_TRY(push_part(r, l, self, t, start, keeps ? at + size : at));
    start = at + size;
  }
  if (start < t->n) RLX_TRY(push_part(r, l, self, t, start, t->n));
  *out = jinja_of_list(l);
  return RLX_OK;
}

static rlx_status partition(jinja_run *r, const jinja_value *self, const jinja_args *args, bool last,
                            jinja_value *out) {
  const jinja_text *t, *separator;
  jinja_list *l;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_text_argument(r, "partition", &args->p[0], &separator));
  if (!separator->n) return jinja_fail(r, RLX_INVALID, "partition: an empty separator");
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  size_t at = last ? jinja_text_find_last(t, separator, t->n) : jinja_text_find(t, separator, 0);
  size_t cuts[4] = {0, t->n, t->n, t->n};
  if (at <= t->n) cuts[1] = at, cuts[2] = at + separator->n;
  else if (last) cuts[1] = cuts[2] = 0;
  RLX_TRY(jinja_list_new(r, JINJA_TUPLE, 3, &l));
  for (size_t i = 0; i < 3; i++) RLX_TRY(push_part(r, l, self, t, cuts[i], cuts[i + 1]));
  *out = jinja_of_list(l);
  return RLX_OK;
}
static JINJA_FN(method_partition) { return partition(r, self, args, false, out); }
static JINJA_FN(method_rpartition) { return partition(r, self, args, true, out); }

/* ---- Search ---- */

static bool has_end(const jinja_text *t, const jinja_text *part, bool at_start) {
  return part->n <= t->n && memcmp(at_start ? t->p : t->p + t->n - part->n, part->p, part->n) == 0;
}

static rlx_status has_one(jinja_run *r, const jinja_value *self, const jinja_args *args, bool at_start,
                          jinja_value *out) {
  const jinja_text *t, *part;
  const jinja_value *what = &args->p[0];
  bool is_tuple = what->kind == JINJA_LIST && what->list->sort == JINJA_TUPLE, holds = false;
  if (args->p[1].kind != JINJA_ABSENT)
    return jinja_fail(r, RLX_UNSUPPORTED, "startswith and endswith of a part are not supported");
  RLX_TRY(self_text(r, self, &t));
  for (size_t i = 0; !holds && i < (is_tuple ? what->list->n : 1); i++) {
    RLX_TRY(jinja_text_argument(r, at_start ? "startswith" : "endswith", is_tuple ? &what->list->v[i] : what, &part));
    RLX_TRY(jinja_count(r, 1 + part->n / 64));
    holds = has_end(t, part, at_start);
  }
  *out = jinja_bool(holds);
  return RLX_OK;
}
static JINJA_FN(method_startswith) { return has_one(r, self, args, true, out); }
static JINJA_FN(method_endswith) { return has_one(r, self, args, false, out); }

static rlx_status remove_end(jinja_run *r, const jinja_value *self, const jinja_args *args, bool at_start,
                             jinja_value *out) {
  const jinja_text *t, *part;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_text_argument(r, at_start ? "removeprefix" : "removesuffix", &args->p[0], &part));
  bool has = has_end(t, part, at_start);
  return give(r, self, t, has && at_start ? part->n : 0, has && !at_start ? t->n - part->n : t->n, out);
}
static JINJA_FN(method_removeprefix) { return remove_end(r, self, args, true, out); }
static JINJA_FN(method_removesuffix) { return remove_end(r, self, args, false, out); }

static rlx_status find(jinja_run *r, const jinja_value *self, const jinja_args *args, bool last, bool must,
                       jinja_value *out) {
  const jinja_text *t, *what;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_text_argument(r, "find", &args->p[0], &what));
  if (args->p[1].kind != JINJA_ABSENT)
    return jinja_fail(r, RLX_UNSUPPORTED, "a search in a part of a text is not supported");
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  size_t at = last ? jinja_text_find_last(t, what, t->n) : jinja_text_find(t, what, 0);
  if (at > t->n && must) return jinja_fail(r, RLX_INVALID, "index: the text is not there");
  jinja_text before = {.p = t->p, .n = at, .is_ascii = t->is_ascii};
  *out = jinja_int(at > t->n ? -1 : (int64_t)jinja_text_characters(&before));
  return RLX_OK;
}
static JINJA_FN(method_find) { return find(r, self, args, false, false, out); }
static JINJA_FN(method_rfind) { return find(r, self, args, true, false, out); }
static JINJA_FN(method_index) { return find(r, self, args, false, true, out); }
static JINJA_FN(method_rindex) { return find(r, self, args, true, true, out); }

static JINJA_FN(method_count) {
  const jinja_text *t, *what;
  int64_t n = 0;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_text_argument(r, "count", &args->p[0], &what));
  if (args->p[1].kind != JINJA_ABSENT)
    return jinja_fail(r, RLX_UNSUPPORTED, "count in a part of a text is not supported");
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  if (!what->n) n = (int64_t)jinja_text_characters(t) + 1;
  for (size_t at = 0; what->n && (at = jinja_text_find(t, what, at)) <= t->n; at += what->n) n++;
  *out = jinja_int(n);
  return RLX_OK;
}

/* ---- Making others ---- */

rlx_status jinja_replace_text(jinja_run *r, const jinja_text *t, const jinja_text *from, const jinja_text *to,
                              int64_t count, jinja_value *out) {
  jinja_builder b = {0};
  size_t at = 0;
  int32_t code;
  RLX_TRY(jinja_count(r, 1 + t->n / 16));
  for (int64_t done = 0; count < 0 || done < count; done++) {
    size_t found = jinja_text_find(t, from, at);
    if (found > t->n) break;
    RLX_TRY(jinja_add_part(r, &b, t, at, found));
    RLX_TRY(jinja_add_part(r, &b, to, 0, to->n));
    at = found + from->n;
    if (from->n) continue;
    if (at == t->n) break; /* between all characters, and at both ends */
    size_t size = jinja_character(t->p + at, t->n - at, &code);
    RLX_TRY(jinja_add_part(r, &b, t, at, at + size));
    at += size;
  }
  RLX_TRY(jinja_add_part(r, &b, t, at, t->n));
  return jinja_built(r, &b, out);
}

JINJA_FN(jinja_replace) { /* the method; the filter takes anything */
  const jinja_text *t, *from, *to;
  int64_t count;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_text_argument(r, "replace", &args->p[0], &from));
  RLX_TRY(jinja_text_argument(r, "replace", &args->p[1], &to));
  RLX_TRY(jinja_int_argument(r, "replace", &args->p[2], -1, &count));
  return jinja_replace_text(r, t, from, to, count, out);
}

static JINJA_FN(method_join) {
  jinja_list *l;
  jinja_builder b = {0};
  RLX_TRY(jinja_iterate(r, &args->p[0], &l));
  for (size_t i = 0; i < l->n; i++) {
    const jinja_text *part;
    RLX_TRY(jinja_text_argument(r, "join", &l->v[i], &part));
    if (i) RLX_TRY(jinja_add_text(r, &b, self->text));
    RLX_TRY(jinja_add_text(r, &b, part));
  }
  return jinja_built(r, &b, out);
}

static rlx_status pad(jinja_run *r, const jinja_value *self, const jinja_args *args, bool before, char with,
                      jinja_value *out) {
  const jinja_text *t, *fill;
  jinja_builder b = {0};
  int64_t width;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_int_argument(r, "width", &args->p[0], 0, &width));
  RLX_TRY(jinja_text_new(r, with == '0' ? "0" : " ", 1, false, &fill));
  if (with == ' ' && args->p[1].kind != JINJA_ABSENT) RLX_TRY(jinja_text_argument(r, "fill", &args->p[1], &fill));
  if (jinja_text_characters(fill) != 1) return jinja_fail(r, RLX_INVALID, "a fill of more or less than one character");
  int64_t missing = width - (int64_t)jinja_text_characters(t);
  size_t sign = with == '0' && t->n && (t->p[0] == '-' || t->p[0] == '+');
  RLX_TRY(jinja_add_part(r, &b, t, 0, sign));
  for (int64_t i = 0; before && i < missing; i++) RLX_TRY(jinja_add_part(r, &b, fill, 0, fill->n));
  RLX_TRY(jinja_add_part(r, &b, t, sign, t->n));
  for (int64_t i = 0; !before && i < missing; i++) RLX_TRY(jinja_add_part(r, &b, fill, 0, fill->n));
  return jinja_built(r, &b, out);
}
static JINJA_FN(method_ljust) { return pad(r, self, args, false, ' ', out); }
static JINJA_FN(method_rjust) { return pad(r, self, args, true, ' ', out); }
static JINJA_FN(method_zfill) { return pad(r, self, args, true, '0', out); }

/* The value that a field of `format` names: "", a number or a name. */
static rlx_status field_value(jinja_run *r, const jinja_args *args, const char *p, size_t n, size_t *automatic,
                              const jinja_value **out) {
  size_t index = *automatic;
  *out = NULL;
  for (size_t i = 0; i < n; i++)
    if (!(p[i] == '_' || (p[i] >= '0' && p[i] <= '9') || ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'z')))
      return jinja_fail(r, RLX_UNSUPPORTED, "format: only {}, {number} and {name} are supported");
  if (n && (p[0] < '0' || p[0] > '9')) {
    for (size_t i = 0; i < args->n_named; i++)
      if (args->named[i].name->n == n && memcmp(args->named[i].name->p, p, n) == 0) *out = &args->named[i].value;
  } else {
    if (!n) ++*automatic;
    for (size_t i = 0; i < n; i++) {
      if (p[i] < '0' || p[i] > '9' || n > 4) return jinja_fail(r, RLX_INVALID, "format: a field that is no name");
      index = (i ? index * 10 : 0) + (size_t)(p[i] - '0');
    }
    if (index < args->n) *out = &args->v[index];
  }
  return *out ? RLX_OK : jinja_fail(r, RLX_INVALID, "format: there is no argument '%.*s'", n < 60 ? (int)n : 60, p);
}

static JINJA_FN(method_format) {
  const jinja_text *t;
  jinja_builder b = {0};
  size_t automatic = 0;
  RLX_TRY(self_text(r, self, &t));
  for (size_t at = 0; at < t->n; at++) {
    char c = t->p[at];
    if (c != '{' && c != '}') {
      RLX_TRY(jinja_add_part(r, &b, t, at, at + 1));
      continue;
    }
    if (at + 1 < t->n && t->p[at + 1] == c) {
      RLX_TRY(jinja_add_part(r, &b, t, at, at + 1));
      at++;
      continue;
    }
    const char *p = t->p + at + 1, *end = c == '{' ? memchr(p, '}', t->n - at - 1) : NULL;
    const jinja_value *v;
    if (!end) return jinja_fail(r, RLX_INVALID, "format: a brace without its other one");
    RLX_TRY(field_value(r, args, p, (size_t)(end - p), &automatic, &v));
    RLX_TRY(jinja_print(r, &b, v));
    at = (size_t)(end - t->p);
  }
  return jinja_built(r, &b, out);
}

/* ---- Kinds of characters ---- */

/* 1: yes, 0: no, -1: Python's tables say more than the category. */
static int is_alpha(int32_t c) {
  utf8proc_category_t k = utf8proc_category(c);
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}
static int is_digit(int32_t c) {
  utf8proc_category_t k = utf8proc_category(c);
  return k == UTF8PROC_CATEGORY_ND                                ? 1
         : k == UTF8PROC_CATEGORY_NO || k == UTF8PROC_CATEGORY_LO ? (c < 0x80 ? 0 : -1)
                                                                  : 0;
}
static int is_digit_plain(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_LO ? 0 : is_digit(c); }
static int is_decimal(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }
static int is_numeric(int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_NL ? 1 : is_digit(c); }
static int is_alnum(int32_t c) {
  utf8proc_category_t k = utf8proc_category(c);
  return is_alpha(c) || k == UTF8PROC_CATEGORY_ND ? 1 : k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO ? -1 : 0;
}
static int is_space(int32_t c) { return jinja_is_space(c); }

static rlx_status all_are(jinja_run *r, const jinja_value *self, int (*is)(int32_t code), jinja_value *out) {
  const jinja_text *t;
  RLX_TRY(self_text(r, self, &t));
  RLX_TRY(jinja_count(r, t->n));
  *out = jinja_bool(t->n > 0);
  for (size_t at = 0, size; at < t->n && out->boolean; at += size) {
    int32_t code;
    size = jinja_character(t->p + at, t->n - at, &code);
    int holds = code < 0 ? 0 : is(code);
    if (holds < 0)
      return jinja_fail(r, RLX_UNSUPPORTED, "the kind of the character U+%04X is not supported", (unsigned)code);
    out->boolean = holds > 0;
  }
  return RLX_OK;
}
static JINJA_FN(method_isalpha) { return (void)args, all_are(r, self, is_alpha, out); }
static JINJA_FN(method_isdigit) { return (void)args, all_are(r, self, is_digit_plain, out); }
static JINJA_FN(method_isdecimal) { return (void)args, all_are(r, self, is_decimal, out); }
static JINJA_FN(method_isnumeric) { return (void)args, all_are(r, self, is_numeric, out); }
static JINJA_FN(method_isalnum) { return (void)args, all_are(r, self, is_alnum, out); }
static JINJA_FN(method_isspace) { return (void)args, all_are(r, self, is_space, out); }

/* ---- Dicts, lists, loops ---- */

static rlx_status view(jinja_run *r, const jinja_value *self, jinja_sort sort, jinja_value *out) {
  jinja_list *l;
  RLX_TRY(jinja_dict_list(r, self->dict, sort, &l));
  *out = jinja_of_list(l);
  return RLX_OK;
}
static JINJA_FN(dict_keys) { return (void)args, view(r, self, JINJA_KEYS, out); }
static JINJA_FN(dict_values) { return (void)args, view(r, self, JINJA_VALUES, out); }
static JINJA_FN(dict_items) { return (void)args, view(r, self, JINJA_ITEMS, out); }

static JINJA_FN(dict_get) {
  const jinja_value *v;
  bool may_be_key;
  RLX_TRY(jinja_hashable(r, &args->p[0], &may_be_key));
  if (!may_be_key) return jinja_fail(r, RLX_INVALID, "a %s cannot be a key", jinja_kind_name(&args->p[0]));
  RLX_TRY(jinja_dict_find(r, self->dict, &args->p[0], &v));
  *out = v ? *v : args->p[1].kind == JINJA_ABSENT ? jinja_none() : args->p[1];
  return RLX_OK;
}

/* Nothing changes a list or dict, so a copy is the same one. */
static JINJA_FN(same) {
  (void)r;
  (void)args;
  *out = *self;
  return RLX_OK;
}

static rlx_status position(jinja_run *r, const jinja_value *self, const jinja_value *what, bool counts,
                           jinja_value *out) {
  int64_t n = 0;
  for (size_t i = 0; i < self->list->n; i++) {
    bool is_same;
    RLX_TRY(jinja_equal(r, &self->list->v[i], what, &is_same));
    if (is_same && !counts) {
      *out = jinja_int((int64_t)i);
      return RLX_OK;
    }
    n += is_same;
  }
  if (!counts) return jinja_fail(r, RLX_INVALID, "index: the value is not in the list");
  *out = jinja_int(n);
  return RLX_OK;
}
static JINJA_FN(list_index) { return position(r, self, &args->p[0], false, out); }
static JINJA_FN(list_count) { return position(r, self, &args->p[0], true, out); }

static JINJA_FN(loop_cycle) {
  if (!args->n) return jinja_fail(r, RLX_INVALID, "loop.cycle: no values");
  *out = args->v[self->loop->index % args->n];
  return RLX_OK;
}

static JINJA_FN(loop_changed) {
  jinja_loop *l = self->loop;
  bool is_same = l->has_changed && l->n_last_changed == args->n;
  for (size_t i = 0; is_same && i < args->n; i++) RLX_TRY(jinja_equal(r, &l->last_changed[i], &args->v[i], &is_same));
  l->has_changed = true;
  l->last_changed = args->v;
  l->n_last_changed = args->n;
  *out = jinja_bool(!is_same);
  return RLX_OK;
}

/* ---- Tables ---- */

static const jinja_builtin text_methods[] = {
  {"capitalize", "", jinja_capitalize},
  {"count", "/!sub start end", method_count},
  {"endswith", "/!suffix start end", method_endswith},
  {"find", "/!sub start end", method_find},
  {"format", "*", method_format},
  {"index", "/!sub start end", method_index},
  {"isalnum", "", method_isalnum},
  {"isalpha", "", method_isalpha},
  {"isdecimal", "", method_isdecimal},
  {"isdigit", "", method_isdigit},
  {"islower", "", jinja_is_lower},
  {"isnumeric", "", method_isnumeric},
  {"isspace", "", method_isspace},
  {"isupper", "", jinja_is_upper},
  {"join", "/!iterable", method_join},
  {"ljust", "/!width fill", method_ljust},
  {"lower", "", jinja_lower},
  {"lstrip", "/chars", method_lstrip},
  {"partition", "/!sep", method_partition},
  {"removeprefix", "/!prefix", method_removeprefix},
  {"removesuffix", "/!suffix", method_removesuffix},
  {"replace", "/!old !new count", jinja_replace},
  {"rfind", "/!sub start end", method_rfind},
  {"rindex", "/!sub start end", method_rindex},
  {"rjust", "/!width fill", method_rjust},
  {"rpartition", "/!sep", method_rpartition},
  {"rsplit", "sep maxsplit", method_rsplit},
  {"rstrip", "/chars", method_rstrip},
  {"split", "sep maxsplit", method_split},
  {"splitlines", "keepends", method_splitlines},
  {"startswith", "/!prefix start end", method_startswith},
  {"strip", "/chars", method_strip},
  {"title", "", jinja_title_method},
  {"upper", "", jinja_upper},
  {"zfill", "/!width", method_zfill},
  {0},
};
static const jinja_builtin dict_methods[] = {{"copy", "", same},          {"get", "/!key default", dict_get},
                                             {"items", "", dict_items},   {"keys", "", dict_keys},
                                             {"values", "", dict_values}, {0}};
static const jinja_builtin list_methods[] = {
  {"copy", "", same}, {"count", "/!value", list_count}, {"index", "/!value", list_index}, {0}};
static const jinja_builtin tuple_methods[] = {{"count", "/!value", list_count}, {"index", "/!value", list_index}, {0}};
static const jinja_builtin loop_methods[] = {{"cycle", "*", loop_cycle}, {"changed", "*", loop_changed}, {0}};

/* Names between blanks. */
static bool is_listed(const char *list, const jinja_text *name) {
  for (const char *p = list; *p;) {
    size_t n = strcspn(p, " ");
    if (n == name->n && memcmp(p, name->p, n) == 0) return true;
    p += n + (p[n] == ' ');
  }
  return false;
}

typedef struct type_methods {
  const jinja_builtin *here;
  const char *forbidden, *python;
} type_methods;

static type_methods methods_of(const jinja_value *v) {
  static const char text[] = "casefold center encode expandtabs format_map isascii isidentifier isprintable istitle "
                             "maketrans swapcase translate";
  static const char markup[] = "striptags unescape escape casefold center encode expandtabs format_map format isascii "
                               "isidentifier isprintable istitle join ljust maketrans partition replace rjust "
                               "rpartition swapcase translate zfill";
  static const char list[] = "append clear pop reverse insert sort extend remove";
  static const char dict[] = "clear pop popitem setdefault update";
  static const char whole[] = "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag is_integer "
                              "numerator real to_bytes";
  switch ((jinja_kind)v->kind) {
    case JINJA_TEXT: return (type_methods){text_methods, "", v->is_markup ? markup : text};
    case JINJA_DICT: return (type_methods){dict_methods, dict, "fromkeys"};
    case JINJA_LOOP: return (type_methods){loop_methods, "", ""};
    case JINJA_BOOL:
    case JINJA_INT: return (type_methods){NULL, "", whole};
    case JINJA_FLOAT: return (type_methods){NULL, "", "as_integer_ratio conjugate fromhex hex imag is_integer real"};
    case JINJA_MACRO:
      return (type_methods){NULL, "", "name arguments catch_kwargs catch_varargs caller explicit_caller"};
    case JINJA_LIST:
      switch (v->list->sort) {
        case JINJA_ARRAY: return (type_methods){list_methods, list, ""};
        case JINJA_TUPLE: return (type_methods){tuple_methods, "", ""};
        case JINJA_RANGE: return (type_methods){NULL, "", "count index start stop step"};
        case JINJA_ITERATOR: return (type_methods){NULL, "", "close send throw"};
        default: return (type_methods){NULL, "", "isdisjoint mapping"};
      }
    default: return (type_methods){NULL, "", ""};
  }
}

const jinja_builtin *jinja_method_find(const jinja_value *v, const jinja_text *name, bool *is_python,
                                       bool *is_forbidden) {
  type_methods m = methods_of(v);
  *is_forbidden = is_listed(m.forbidden, name);
  *is_python = *is_forbidden || is_listed(m.python, name);
  for (const jinja_builtin *b = m.here; b && b->name; b++)
    if (!*is_python && jinja_text_is(name, b->name)) return b;
  return NULL;
}
