/* Values as text: what output gives (Python's str), what is inside of containers (repr), and JSON.
 *
 * A text keeps its origin. What is written around texts in a container, and all of its numbers, counts as content as
 * soon as any part of the container does: quotes and brackets are nobody's markers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/os.h"
#include "text/jinja.h"

/* ---- Numbers ---- */

/* The shortest digits that read back as x, laid out as Python does: an exponent below 1e-4 and from 1e16 on. */
void jinja_float_text(double x, char out[96]) {
  char digits[40];
  if (!isfinite(x)) {
    snprintf(out, 96, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    return;
  }
  rlx_os_locale before;
  rlx_os_locale_begin(&before);
  int precision = 0;
  do snprintf(digits, sizeof digits, "%.*e", precision, x);
  while (strtod(digits, NULL) != x && ++precision <= 17);
  rlx_os_locale_end(&before);
  char *e = strchr(digits, 'e');
  int exponent = (int)strtol(e + 1, NULL, 10);
  const char *sign = digits[0] == '-' ? "-" : "";
  char plain[24];
  int n = 0;
  for (const char *p = digits; p < e; p++)
    if (*p >= '0' && *p <= '9') plain[n++] = *p;
  while (n > 1 && plain[n - 1] == '0') n--;
  plain[n] = '\0';
  if (exponent < -4 || exponent >= 16) {
    snprintf(out, 96, "%s%c%s%se%c%02d", sign, plain[0], n > 1 ? "." : "", plain + 1, exponent < 0 ? '-' : '+',
             abs(exponent));
  } else if (exponent < 0) {
    snprintf(out, 96, "%s0.%.*s%s", sign, -exponent - 1, "0000", plain);
  } else if (n <= exponent + 1) {
    snprintf(out, 96, "%s%s%.*s.0", sign, plain, exponent + 1 - n, "0000000000000000");
  } else {
    snprintf(out, 96, "%s%.*s.%s", sign, exponent + 1, plain, plain + exponent + 1);
  }
}

static rlx_status add_word(jinja_run *r, jinja_builder *b, const char *text, bool is_content) {
  return jinja_add(r, b, text, strlen(text), is_content);
}

static rlx_status add_number(jinja_run *r, jinja_builder *b, const jinja_value *v, bool is_content) {
  char text[96];
  if (v->kind == JINJA_FLOAT) jinja_float_text(v->number, text);
  else snprintf(text, sizeof text, "%lld", (long long)v->integer);
  return add_word(r, b, text, is_content);
}

/* ---- Where content is ---- */

static bool has_content(jinja_run *r, const jinja_value *v, uint32_t depth);

static bool any_content(jinja_run *r, const jinja_value *v, size_t n, uint32_t depth) {
  for (size_t i = 0; i < n; i++)
    if (has_content(r, &v[i], depth)) return true;
  return false;
}

/* Where this cannot be decided within the limits it is content. */
static bool has_content(jinja_run *r, const jinja_value *v, uint32_t depth) {
  if (v->is_content || depth > 64) return true;
  if (++r->work > r->limits.work) return true;
  if (v->kind == JINJA_TEXT) {
    const jinja_text *t;
    return jinja_text_flat(r, v->text, &t) != RLX_OK || jinja_text_has_content(t);
  }
  if (v->kind == JINJA_LIST) return any_content(r, v->list->v, v->list->n, depth + 1);
  if (v->kind != JINJA_DICT) return false;
  return any_content(r, v->dict->keys, v->dict->n, depth + 1) || any_content(r, v->dict->values, v->dict->n, depth + 1);
}

bool jinja_value_has_content(jinja_run *r, const jinja_value *v) { return has_content(r, v, 0); }

/* ---- repr ---- */

static bool is_printable(int32_t code) {
  if (code == ' ') return true;
  utf8proc_category_t k = utf8proc_category(code);
  return k != UTF8PROC_CATEGORY_CN && k < UTF8PROC_CATEGORY_ZS;
}

static rlx_status repr_text(jinja_run *r, jinja_builder *b, const jinja_text *t, bool is_content) {
  RLX_TRY(jinja_text_flat(r, t, &t));
  RLX_TRY(jinja_count(r, t->n));
  bool is_double = t->n && memchr(t->p, '\'', t->n) && !memchr(t->p, '"', t->n);
  const char *quote = is_double ? "\"" : "'";
  RLX_TRY(jinja_add(r, b, quote, 1, is_content));
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    char escape[12] = {0};
    size = jinja_character(t->p + at, t->n - at, &code);
    if (code == *quote || code == '\\') snprintf(escape, sizeof escape, "\\%c", (char)code);
    else if (code == '\n') snprintf(escape, sizeof escape, "\\n");
    else if (code == '\r') snprintf(escape, sizeof escape, "\\r");
    else if (code == '\t') snprintf(escape, sizeof escape, "\\t");
    else if (code >= 0 && !is_printable(code))
      snprintf(escape, sizeof escape,
               code < 0x100     ? "\\x%02x"
               : code < 0x10000 ? "\\u%04x"
                                : "\\U%08x",
               (unsigned)code);
    if (escape[0]) RLX_TRY(add_word(r, b, escape, is_content));
    else RLX_TRY(jinja_add(r, b, t->p + at, size, is_content));
  }
  return jinja_add(r, b, quote, 1, is_content);
}

static rlx_status repr(jinja_run *r, jinja_builder *b, const jinja_value *v, bool is_content);

static rlx_status repr_list(jinja_run *r, jinja_builder *b, const jinja_list *l, bool is_content) {
  static const char *const starts[] = {"[", "(", "", "dict_keys([", "dict_values([", "dict_items(["};
  static const char *const ends[] = {"]", ")", "", "])", "])", "])"};
  if (l->sort == JINJA_ITERATOR)
    return jinja_fail(r, RLX_UNSUPPORTED,
                      "printing what a filter goes through one by one is not supported: it needs '| list'");
  if (l->sort == JINJA_RANGE) {
    char text[96];
    if (l->step == 1) snprintf(text, sizeof text, "range(%lld, %lld)", (long long)l->start, (long long)l->stop);
    else
      snprintf(text, sizeof text, "range(%lld, %lld, %lld)", (long long)l->start, (long long)l->stop,
               (long long)l->step);
    return add_word(r, b, text, is_content);
  }
  RLX_TRY(add_word(r, b, starts[l->sort], is_content));
  for (size_t i = 0; i < l->n; i++) {
    if (i) RLX_TRY(add_word(r, b, ", ", is_content));
    RLX_TRY(repr(r, b, &l->v[i], is_content));
  }
  if (l->sort == JINJA_TUPLE && l->n == 1) RLX_TRY(add_word(r, b, ",", is_content));
  return add_word(r, b, ends[l->sort], is_content);
}

static rlx_status repr_dict(jinja_run *r, jinja_builder *b, const jinja_dict *d, bool is_content) {
  RLX_TRY(add_word(r, b, "{", is_content));
  for (size_t i = 0; i < d->n; i++) {
    if (i) RLX_TRY(add_word(r, b, ", ", is_content));
    RLX_TRY(repr(r, b, &d->keys[i], is_content));
    RLX_TRY(add_word(r, b, ": ", is_content));
    RLX_TRY(repr(r, b, &d->values[i], is_content));
  }
  return add_word(r, b, "}", is_content);
}

static rlx_status repr_scalar(jinja_run *r, jinja_builder *b, const jinja_value *v, bool is_content) {
  if (v->kind == JINJA_NONE) return add_word(r, b, "None", is_content);
  if (v->kind == JINJA_BOOL) return add_word(r, b, v->boolean ? "True" : "False", is_content);
  if (v->kind == JINJA_INT || v->kind == JINJA_FLOAT) return add_number(r, b, v, is_content);
  if (v->kind == JINJA_UNDEFINED) return add_word(r, b, "Undefined", is_content);
  return jinja_fail(r, RLX_UNSUPPORTED, "printing a %s is not supported", jinja_kind_name(v));
}

static rlx_status repr(jinja_run *r, jinja_builder *b, const jinja_value *v, bool is_content) {
  RLX_TRY(jinja_count(r, 1));
  RLX_TRY(jinja_deeper(r));
  if (v->kind == JINJA_TEXT && v->is_markup)
    return jinja_fail(r, RLX_UNSUPPORTED, "printing a container of escaped text is not supported");
  rlx_status s = v->kind == JINJA_TEXT   ? repr_text(r, b, v->text, is_content)
                 : v->kind == JINJA_LIST ? repr_list(r, b, v->list, is_content)
                 : v->kind == JINJA_DICT ? repr_dict(r, b, v->dict, is_content)
                                         : repr_scalar(r, b, v, is_content);
  r->depth--;
  return s;
}

rlx_status jinja_print(jinja_run *r, jinja_builder *b, const jinja_value *v) {
  if (v->kind == JINJA_TEXT) return jinja_add_text(r, b, v->text);
  if (v->kind == JINJA_UNDEFINED) return RLX_OK;
  return repr(r, b, v, jinja_value_has_content(r, v));
}

rlx_status jinja_to_text(jinja_run *r, const jinja_value *v, const jinja_text **out) {
  jinja_builder b = {0};
  jinja_value built;
  if (v->kind == JINJA_TEXT) return jinja_text_flat(r, v->text, out);
  RLX_TRY(jinja_print(r, &b, v));
  RLX_TRY(jinja_built(r, &b, &built));
  *out = built.text;
  return RLX_OK;
}

/* ---- JSON, as json.dumps of Python writes it ---- */

typedef struct json_style {
  bool ascii, has_indent, sorts, is_content;
  const jinja_text *indent, *item, *key; /* one level; separators */
} json_style;

static rlx_status json_value(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_value *v, uint32_t level);

static rlx_status json_escape(jinja_run *r, jinja_builder *b, int32_t code, bool is_content) {
  static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
  const char *at = code > 0 && code < 0x80 ? strchr(from, (char)code) : NULL;
  char text[16];
  if (at) snprintf(text, sizeof text, "\\%c", to[at - from]);
  else if (code < 0x10000) snprintf(text, sizeof text, "\\u%04x", (unsigned)code);
  else
    snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd800u + ((unsigned)(code - 0x10000) >> 10),
             0xdc00u + ((unsigned)code & 0x3ffu));
  return add_word(r, b, text, is_content);
}

static rlx_status json_quoted(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_text *t) {
  RLX_TRY(jinja_text_flat(r, t, &t));
  RLX_TRY(jinja_count(r, t->n));
  RLX_TRY(jinja_add(r, b, "\"", 1, y->is_content));
  size_t start = 0;
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    size = jinja_character(t->p + at, t->n - at, &code);
    bool is_plain = code < 0 || (code >= 0x20 && code != '"' && code != '\\' && (!y->ascii || code < 0x7f));
    if (is_plain) continue;
    RLX_TRY(jinja_add(r, b, t->p + start, at - start, y->is_content));
    RLX_TRY(json_escape(r, b, code, y->is_content));
    start = at + size;
  }
  RLX_TRY(jinja_add(r, b, t->p + start, t->n - start, y->is_content));
  return jinja_add(r, b, "\"", 1, y->is_content);
}

static rlx_status json_line(jinja_run *r, jinja_builder *b, const json_style *y, uint32_t level) {
  if (!y->has_indent) return RLX_OK;
  RLX_TRY(jinja_add(r, b, "\n", 1, y->is_content));
  for (uint32_t i = 0; i < level; i++) RLX_TRY(jinja_add(r, b, y->indent->p, y->indent->n, y->is_content));
  return RLX_OK;
}

static rlx_status json_list(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_list *l, uint32_t level) {
  if (!l->n) return add_word(r, b, "[]", y->is_content);
  RLX_TRY(add_word(r, b, "[", y->is_content));
  for (size_t i = 0; i < l->n; i++) {
    if (i) RLX_TRY(jinja_add(r, b, y->item->p, y->item->n, y->is_content));
    RLX_TRY(json_line(r, b, y, level + 1));
    RLX_TRY(json_value(r, b, y, &l->v[i], level + 1));
  }
  RLX_TRY(json_line(r, b, y, level));
  return add_word(r, b, "]", y->is_content);
}

static rlx_status json_key(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_value *key) {
  if (key->kind == JINJA_TEXT) return json_quoted(r, b, y, key->text);
  if (key->kind != JINJA_NONE && !jinja_is_number(key))
    return jinja_fail(r, RLX_INVALID, "a key of JSON that is a %s", jinja_kind_name(key));
  RLX_TRY(add_word(r, b, "\"", y->is_content));
  RLX_TRY(json_value(r, b, y, key, 0));
  return add_word(r, b, "\"", y->is_content);
}

/* The order of the keys: a list of positions. */
static rlx_status json_order(jinja_run *r, const jinja_dict *d, bool sorts, size_t **out) {
  RLX_TRY(JINJA_NEW(r, d->n, out));
  size_t *v = *out;
  for (size_t i = 0; i < d->n; i++) {
    size_t at = i;
    for (; sorts && at; at--) {
      int order;
      RLX_TRY(jinja_order(r, &d->keys[v[at - 1]], &d->keys[i], &order));
      if (order <= 0) break;
      v[at] = v[at - 1];
    }
    v[at] = i;
  }
  return RLX_OK;
}

static rlx_status json_dict(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_dict *d, uint32_t level) {
  size_t *order;
  if (!d->n) return add_word(r, b, "{}", y->is_content);
  RLX_TRY(json_order(r, d, y->sorts, &order));
  RLX_TRY(add_word(r, b, "{", y->is_content));
  for (size_t i = 0; i < d->n; i++) {
    if (i) RLX_TRY(jinja_add(r, b, y->item->p, y->item->n, y->is_content));
    RLX_TRY(json_line(r, b, y, level + 1));
    RLX_TRY(json_key(r, b, y, &d->keys[order[i]]));
    RLX_TRY(jinja_add(r, b, y->key->p, y->key->n, y->is_content));
    RLX_TRY(json_value(r, b, y, &d->values[order[i]], level + 1));
  }
  RLX_TRY(json_line(r, b, y, level));
  return add_word(r, b, "}", y->is_content);
}

static rlx_status json_scalar(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_value *v) {
  if (v->kind == JINJA_NONE) return add_word(r, b, "null", y->is_content);
  if (v->kind == JINJA_BOOL) return add_word(r, b, v->boolean ? "true" : "false", y->is_content);
  if (v->kind == JINJA_FLOAT && !isfinite(v->number))
    return add_word(r, b, isnan(v->number) ? "NaN" : v->number < 0 ? "-Infinity" : "Infinity", y->is_content);
  return add_number(r, b, v, y->is_content);
}

static rlx_status json_value(jinja_run *r, jinja_builder *b, const json_style *y, const jinja_value *v,
                             uint32_t level) {
  rlx_status s;
  RLX_TRY(jinja_count(r, 1));
  RLX_TRY(jinja_deeper(r));
  if (v->kind == JINJA_TEXT) s = json_quoted(r, b, y, v->text);
  else if (v->kind == JINJA_DICT) s = json_dict(r, b, y, v->dict, level);
  else if (v->kind == JINJA_LIST && v->list->sort <= JINJA_TUPLE) s = json_list(r, b, y, v->list, level);
  else if (v->kind == JINJA_NONE || jinja_is_number(v)) s = json_scalar(r, b, y, v);
  else s = jinja_fail(r, RLX_INVALID, "a %s has no form in JSON", jinja_kind_name(v));
  r->depth--;
  return s;
}

static rlx_status json_indent(jinja_run *r, const jinja_value *v, json_style *y) {
  if (v->kind == JINJA_ABSENT || v->kind == JINJA_NONE) return RLX_OK;
  y->has_indent = true;
  y->indent = &jinja_no_text;
  if (v->kind == JINJA_TEXT) return jinja_text_flat(r, v->text, &y->indent);
  int64_t width;
  RLX_TRY(jinja_int_argument(r, "indent", v, 0, &width));
  if (width <= 0) return RLX_OK;
  if (width > 64) return jinja_fail(r, RLX_LIMIT, "an indent of %lld, the limit is 64", (long long)width);
  static const char blanks[] = "                                                                ";
  return jinja_text_new(r, blanks, (size_t)width, false, &y->indent);
}

rlx_status jinja_tojson(jinja_run *r, const jinja_value *self, const jinja_args *args, jinja_value *out) {
  static const jinja_text comma = {.p = ",", .n = 1}, comma_blank = {.p = ", ", .n = 2}, colon = {.p = ": ", .n = 2};
  json_style y = {.ascii = jinja_truth(&args->p[0]), .sorts = jinja_truth(&args->p[3]), .key = &colon};
  const jinja_value *separators = &args->p[2];
  jinja_builder b = {0};
  RLX_TRY(json_indent(r, &args->p[1], &y));
  y.item = y.has_indent ? &comma : &comma_blank;
  y.is_content = jinja_value_has_content(r, self);
  if (separators->kind != JINJA_ABSENT && separators->kind != JINJA_NONE) {
    jinja_list *two;
    RLX_TRY(jinja_unpack(r, separators, 2, &two));
    RLX_TRY(jinja_text_argument(r, "a separator", &two->v[0], &y.item));
    RLX_TRY(jinja_text_argument(r, "a separator", &two->v[1], &y.key));
  }
  RLX_TRY(json_value(r, &b, &y, self, 0));
  return jinja_built(r, &b, out);
}
