/* Filters of single values, and the table of all filters.
 *
 * The parameters in the table are Python's, so that they can be given by name. A filter that Jinja has and that is not
 * here is in the table without a function: it is refused when it is reached. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "text/jinja.h"

static JINJA_FN(filter_default) {
  (void)r;
  bool is_wanted = self->kind == JINJA_UNDEFINED || (jinja_truth(&args->p[1]) && !jinja_truth(self));
  *out = !is_wanted ? *self : args->p[0].kind == JINJA_ABSENT ? jinja_of_text(&jinja_no_text) : args->p[0];
  return RLX_OK;
}

static rlx_status length_of(jinja_run *r, const jinja_value *v, size_t *out) {
  const jinja_text *t;
  *out = 0;
  if (v->kind == JINJA_UNDEFINED) return RLX_OK;
  if (v->kind == JINJA_DICT) *out = v->dict->n;
  else if (v->kind == JINJA_LIST && v->list->sort != JINJA_ITERATOR) *out = v->list->n;
  else if (v->kind == JINJA_TEXT) {
    RLX_TRY(jinja_text_flat(r, v->text, &t));
    RLX_TRY(jinja_count(r, 1 + t->n / 16));
    *out = jinja_text_characters(t);
  } else {
    return jinja_fail(r, RLX_INVALID, "a %s has no length", jinja_kind_name(v));
  }
  return RLX_OK;
}

static JINJA_FN(filter_length) {
  size_t n;
  (void)args;
  RLX_TRY(length_of(r, self, &n));
  *out = jinja_int((int64_t)n);
  return RLX_OK;
}

static JINJA_FN(filter_string) {
  const jinja_text *t;
  (void)args;
  *out = *self;
  if (self->kind == JINJA_TEXT) return RLX_OK;
  RLX_TRY(jinja_to_text(r, self, &t));
  *out = jinja_of_text(t);
  return RLX_OK;
}

static JINJA_FN(filter_safe) {
  RLX_TRY(filter_string(r, self, args, out));
  out->is_markup = true;
  return RLX_OK;
}

static JINJA_FN(filter_escape) {
  (void)args;
  return jinja_escape(r, self, out);
}

static JINJA_FN(filter_trim) {
  const jinja_text *t, *characters = NULL;
  RLX_TRY(jinja_to_text(r, self, &t));
  if (args->p[0].kind != JINJA_ABSENT && args->p[0].kind != JINJA_NONE)
    RLX_TRY(jinja_text_argument(r, "trim", &args->p[0], &characters));
  RLX_TRY(jinja_strip(r, t, JINJA_LEFT | JINJA_RIGHT, characters, &t));
  *out = jinja_of_text(t);
  out->is_markup = self->kind == JINJA_TEXT && self->is_markup;
  return RLX_OK;
}

static JINJA_FN(filter_replace) {
  const jinja_text *t, *from, *to;
  int64_t count = -1;
  RLX_TRY(jinja_to_text(r, self, &t));
  RLX_TRY(jinja_to_text(r, &args->p[0], &from));
  RLX_TRY(jinja_to_text(r, &args->p[1], &to));
  if (args->p[2].kind != JINJA_NONE) RLX_TRY(jinja_int_argument(r, "replace", &args->p[2], -1, &count));
  return jinja_replace_text(r, t, from, to, count, out);
}

static JINJA_FN(filter_indent) {
  jinja_args none = {0}, all = *args;
  jinja_value lines, newline;
  jinja_builder b = {0};
  const jinja_text *indent, *line_feed;
  int64_t width;
  bool first = jinja_truth(&args->p[1]), blank = jinja_truth(&args->p[2]);
  if (self->kind != JINJA_TEXT) return jinja_fail(r, RLX_INVALID, "indent of a %s", jinja_kind_name(self));
  if (self->is_markup) return jinja_fail(r, RLX_UNSUPPORTED, "indent of escaped text is not supported");
  RLX_TRY(jinja_text_new(r, " ", 1, false, &indent));
  if (all.p[0].kind == JINJA_TEXT) {
    RLX_TRY(jinja_text_flat(r, all.p[0].text, &indent));
  } else {
    RLX_TRY(jinja_int_argument(r, "indent", &all.p[0], 4, &width));
    for (int64_t i = 0; i < width; i++) RLX_TRY(jinja_add(r, &b, " ", 1, false));
    RLX_TRY(jinja_built(r, &b, &lines));
    indent = lines.text;
    b = (jinja_builder){0};
  }
  RLX_TRY(jinja_text_new(r, "\n", 1, false, &line_feed));
  newline = jinja_of_text(line_feed);
  RLX_TRY(jinja_arithmetic(r, OP_ADD, self, &newline, &newline));
  bool is_python, is_forbidden;
  static const jinja_text splitlines = {.p = "splitlines", .n = 10, .is_ascii = true};
  RLX_TRY(jinja_call_builtin(r, jinja_method_find(&newline, &splitlines, &is_python, &is_forbidden), "method", &newline,
                             &none, &lines));
  for (size_t i = 0; i < lines.list->n; i++) {
    const jinja_text *line = lines.list->v[i].text;
    if (i) RLX_TRY(jinja_add(r, &b, "\n", 1, false));
    if (i == 0 ? first : blank || line->n) RLX_TRY(jinja_add_text(r, &b, indent));
    RLX_TRY(jinja_add_text(r, &b, line));
  }
  return jinja_built(r, &b, out);
}

/* ---- Numbers ---- */

/* Digits with single underscores between them, copied without; false: something else. */
static bool plain_digits(const char *p, size_t n, bool is_float, char *out, size_t cap) {
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    bool is_digit = p[i] >= '0' && p[i] <= '9';
    bool is_between = i && i + 1 < n && p[i - 1] >= '0' && p[i - 1] <= '9' && p[i + 1] >= '0' && p[i + 1] <= '9';
    if (p[i] == '_' && is_between) continue;
    bool is_sign = (p[i] == '-' || p[i] == '+') && (i == 0 || (is_float && (p[i - 1] | 32) == 'e'));
    if (!is_digit && !is_sign && !(is_float && (p[i] == '.' || (p[i] | 32) == 'e'))) return false;
    if (used + 1 >= cap) return false;
    if (!(is_sign && p[i] == '+' && i == 0)) out[used++] = p[i];
  }
  out[used] = '\0';
  return used > 0;
}

/* A text as Python's float() reads it. */
static rlx_status read_float(jinja_run *r, const jinja_text *t, bool *found, double *out) {
  char plain[400];
  RLX_TRY(jinja_strip(r, t, JINJA_LEFT | JINJA_RIGHT, NULL, &t));
  *found = false;
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    size = jinja_character(t->p + at, t->n - at, &code);
    if (code >= 0x80 && text_is_digit(code))
      return jinja_fail(r, RLX_UNSUPPORTED, "digits beyond ASCII are not supported");
  }
  size_t sign = t->n && (t->p[0] == '-' || t->p[0] == '+');
  static const char *const words[] = {"inf", "infinity", "nan"};
  for (size_t i = 0; i < 3; i++) {
    bool is_same = t->n - sign == strlen(words[i]);
    for (size_t k = sign; is_same && k < t->n; k++) is_same = (t->p[k] | 32) == words[i][k - sign];
    if (!is_same) continue;
    *found = true;
    *out = i == 2 ? (double)NAN : sign && t->p[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    return RLX_OK;
  }
  if (t->n >= sizeof plain && plain_digits(t->p, 1, true, plain, sizeof plain))
    return jinja_fail(r, RLX_UNSUPPORTED, "a number of %zu digits is not supported", t->n);
  *found = plain_digits(t->p, t->n, true, plain, sizeof plain) && rlx_text_to_double(plain, strlen(plain), out);
  return RLX_OK;
}

static rlx_status read_int(jinja_run *r, const jinja_text *t, bool *found, int64_t *out) {
  char plain[40];
  RLX_TRY(jinja_strip(r, t, JINJA_LEFT | JINJA_RIGHT, NULL, &t));
  *found = t->n < sizeof plain && plain_digits(t->p, t->n, false, plain, sizeof plain);
  size_t n = strlen(*found ? plain : ""), sign = *found && plain[0] == '-';
  *found = *found && n > sign;
  if (!*found) return RLX_OK;
  if (n - sign > 18) return jinja_fail(r, RLX_UNSUPPORTED, "an integer of more than 18 digits is not supported");
  *out = 0;
  for (size_t i = sign; i < n; i++) *out = *out * 10 + (plain[i] - '0');
  if (sign) *out = -*out;
  return RLX_OK;
}

static rlx_status whole_part(jinja_run *r, double x, int64_t *out) {
  if (isinf(x)) return jinja_fail(r, RLX_INVALID, "int of an infinity");
  if (!(fabs(x) < 9e18)) return jinja_fail(r, RLX_UNSUPPORTED, "an integer of more than 64 bits is not supported");
  *out = (int64_t)x;
  return RLX_OK;
}

static JINJA_FN(filter_int) {
  const jinja_text *t;
  bool found = false, is_number = jinja_is_number(self);
  int64_t whole = 0;
  double x = 0;
  if (args->p[1].kind != JINJA_ABSENT) return jinja_fail(r, RLX_UNSUPPORTED, "int with a base is not supported");
  if (self->kind == JINJA_UNDEFINED) return jinja_fail(r, RLX_INVALID, "'%s' is undefined", self->name);
  if (self->kind == JINJA_TEXT) {
    RLX_TRY(jinja_text_flat(r, self->text, &t));
    RLX_TRY(read_int(r, t, &found, &whole));
    if (!found) RLX_TRY(read_float(r, t, &is_number, &x));
    if (isinf(x)) is_number = false;
  } else if (is_number) {
    x = jinja_as_double(self);
    if (self->kind != JINJA_FLOAT) found = true, whole = jinja_as_int(self);
  }
  if (!found && is_number && !isnan(x)) {
    RLX_TRY(whole_part(r, x, &whole));
    found = true;
  }
  *out = found ? jinja_int(whole) : args->p[0].kind == JINJA_ABSENT ? jinja_int(0) : args->p[0];
  if (found) out->is_content = self->kind == JINJA_TEXT ? jinja_value_has_content(r, self) : self->is_content;
  return RLX_OK;
}

static JINJA_FN(filter_float) {
  const jinja_text *t;
  bool found = jinja_is_number(self);
  double x = found ? jinja_as_double(self) : 0;
  if (self->kind == JINJA_UNDEFINED) return jinja_fail(r, RLX_INVALID, "'%s' is undefined", self->name);
  if (self->kind == JINJA_TEXT) {
    RLX_TRY(jinja_text_flat(r, self->text, &t));
    RLX_TRY(read_float(r, t, &found, &x));
  }
  *out = found ? jinja_float(x) : args->p[0].kind == JINJA_ABSENT ? jinja_float(0) : args->p[0];
  if (found) out->is_content = self->kind == JINJA_TEXT ? jinja_value_has_content(r, self) : self->is_content;
  return RLX_OK;
}

static JINJA_FN(filter_abs) {
  (void)args;
  if (!jinja_is_number(self)) return jinja_fail(r, RLX_INVALID, "abs of a %s", jinja_kind_name(self));
  bool is_negative = self->kind == JINJA_FLOAT ? signbit(self->number) != 0 : jinja_as_int(self) < 0;
  return jinja_negate(r, is_negative ? OP_NEGATE : OP_PLUS, self, out);
}

static JINJA_FN(filter_round) {
  int64_t precision;
  const jinja_text *method = NULL;
  char text[400];
  RLX_TRY(jinja_int_argument(r, "round", &args->p[0], 0, &precision));
  if (args->p[1].kind != JINJA_ABSENT) RLX_TRY(jinja_text_argument(r, "round", &args->p[1], &method));
  if (!jinja_is_number(self)) return jinja_fail(r, RLX_INVALID, "round of a %s", jinja_kind_name(self));
  double x = jinja_as_double(self);
  if (precision < 0 || precision > 15 || !(fabs(x) < 1e15))
    return jinja_fail(r, RLX_UNSUPPORTED, "round of this number to %lld digits is not supported", (long long)precision);
  bool is_common = !method || jinja_text_is(method, "common");
  if (is_common && self->kind != JINJA_FLOAT) {
    *out = jinja_int(jinja_as_int(self));
  } else if (is_common) {
    rlx_os_locale before;
    rlx_os_locale_begin(&before);
    snprintf(text, sizeof text, "%.*f", (int)precision, x);
    rlx_os_locale_end(&before);
    if (!rlx_text_to_double(text, strlen(text), &x))
      return jinja_fail(r, RLX_INVALID, "round of a number that is none");
    *out = jinja_float(x);
  } else if (jinja_text_is(method, "ceil") || jinja_text_is(method, "floor")) {
    double scale = 1;
    for (int64_t i = 0; i < precision; i++) scale *= 10;
    x *= scale;
    if (!(fabs(x) < 9e15)) return jinja_fail(r, RLX_UNSUPPORTED, "round of a number this large is not supported");
    x = jinja_text_is(method, "ceil") ? ceil(x) : floor(x);
    *out = jinja_float((x == 0 ? 0 : x) / scale);
  } else {
    return jinja_fail(r, RLX_INVALID, "round: expected 'common', 'ceil' or 'floor', got '%.40s'", method->p);
  }
  out->is_content = self->is_content;
  return RLX_OK;
}

static JINJA_FN(filter_format) {
  jinja_list *l;
  jinja_value format, values;
  if (args->n_named) return jinja_fail(r, RLX_UNSUPPORTED, "format with named arguments is not supported");
  RLX_TRY(filter_string(r, self, args, &format));
  RLX_TRY(jinja_list_new(r, JINJA_TUPLE, args->n, &l));
  for (size_t i = 0; i < args->n; i++) RLX_TRY(jinja_list_push(r, l, args->v[i]));
  values = jinja_of_list(l);
  return jinja_format(r, &format, &values, out);
}

/* ---- Ends of sequences ---- */

static JINJA_FN(filter_first) {
  jinja_list *l;
  (void)args;
  *out = jinja_undefined("the first of none");
  if (self->kind == JINJA_LIST && self->list->sort == JINJA_ITERATOR) {
    l = self->list;
    if (l->at < l->n) *out = l->v[l->at++];
    return RLX_OK;
  }
  RLX_TRY(jinja_iterate(r, self, &l));
  if (l->n) *out = l->v[0];
  return RLX_OK;
}

static JINJA_FN(filter_last) {
  jinja_list *l;
  (void)args;
  if (self->kind == JINJA_LIST && self->list->sort == JINJA_ITERATOR)
    return jinja_fail(r, RLX_INVALID, "the last of what a filter goes through one by one: it needs '| list'");
  *out = jinja_undefined("the last of none");
  RLX_TRY(jinja_iterate(r, self, &l));
  if (l->n) *out = l->v[l->n - 1];
  return RLX_OK;
}

static JINJA_FN(filter_reverse) {
  jinja_list *l, *reversed;
  (void)args;
  if (self->kind == JINJA_TEXT) {
    jinja_value bounds[3] = {jinja_none(), jinja_none(), jinja_int(-1)};
    return jinja_slice(r, self, bounds, out);
  }
  bool is_iterator = self->kind == JINJA_LIST && self->list->sort == JINJA_ITERATOR;
  RLX_TRY(jinja_iterate(r, self, &l));
  RLX_TRY(jinja_list_new(r, is_iterator ? JINJA_ARRAY : JINJA_ITERATOR, l->n, &reversed));
  for (size_t i = l->n; i > 0; i--) RLX_TRY(jinja_list_push(r, reversed, l->v[i - 1]));
  *out = jinja_of_list(reversed);
  return RLX_OK;
}

static JINJA_FN(filter_items) {
  jinja_list *l;
  (void)args;
  if (self->kind != JINJA_DICT && self->kind != JINJA_UNDEFINED)
    return jinja_fail(r, RLX_INVALID, "items of a %s", jinja_kind_name(self));
  if (self->kind == JINJA_DICT) RLX_TRY(jinja_dict_list(r, self->dict, JINJA_ITEMS, &l));
  else RLX_TRY(jinja_list_new(r, JINJA_ITEMS, 0, &l));
  l->sort = JINJA_ITERATOR;
  *out = jinja_of_list(l);
  return RLX_OK;
}

/* ---- The table ---- */

static const jinja_builtin filters[] = {
  {"abs", "", filter_abs},
  {"attr", "!name", NULL},
  {"batch", "!linecount fill_with", jinja_batch},
  {"capitalize", "", jinja_capitalize},
  {"center", "width", NULL},
  {"count", "", filter_length},
  {"d", "default_value boolean", filter_default},
  {"default", "default_value boolean", filter_default},
  {"dictsort", "case_sensitive by reverse", jinja_dictsort},
  {"e", "", filter_escape},
  {"escape", "", filter_escape},
  {"filesizeformat", "*", NULL},
  {"first", "", filter_first},
  {"float", "default", filter_float},
  {"forceescape", "*", NULL},
  {"format", "*", filter_format},
  {"groupby", "*", NULL},
  {"indent", "width first blank", filter_indent},
  {"int", "default base", filter_int},
  {"items", "", filter_items},
  {"join", "d attribute", jinja_join_filter},
  {"last", "", filter_last},
  {"length", "", filter_length},
  {"list", "", jinja_filter_list},
  {"lower", "", jinja_lower},
  {"map", "*", jinja_map},
  {"max", "case_sensitive attribute", jinja_max},
  {"min", "case_sensitive attribute", jinja_min},
  {"pprint", "*", NULL},
  {"random", "*", NULL},
  {"reject", "*", jinja_reject},
  {"rejectattr", "*", jinja_rejectattr},
  {"replace", "!old !new count", filter_replace},
  {"reverse", "", filter_reverse},
  {"round", "precision method", filter_round},
  {"safe", "", filter_safe},
  {"select", "*", jinja_select},
  {"selectattr", "*", jinja_selectattr},
  {"slice", "*", NULL},
  {"sort", "reverse case_sensitive attribute", jinja_sort_filter},
  {"string", "", filter_string},
  {"striptags", "*", NULL},
  {"sum", "attribute start", jinja_sum},
  {"title", "", jinja_title_filter},
  {"tojson", "ensure_ascii indent separators sort_keys", jinja_tojson},
  {"trim", "chars", filter_trim},
  {"truncate", "*", NULL},
  {"unique", "case_sensitive attribute", jinja_unique},
  {"upper", "", jinja_upper},
  {"urlencode", "*", NULL},
  {"urlize", "*", NULL},
  {"wordcount", "*", NULL},
  {"wordwrap", "*", NULL},
  {"xmlattr", "*", NULL},
};

const jinja_builtin *jinja_filter_find(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    if (strlen(filters[i].name) == n && memcmp(filters[i].name, name, n) == 0) return &filters[i];
  return NULL;
}
