/* Operators: arithmetic, comparison, concatenation, %-formatting and HTML's escapes.
 *
 * Integers have 64 bits where Python's have any number; a result that does not fit is refused. A number made of one
 * that came from the input is content too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/os.h"
#include "text/jinja.h"

static const char *symbol_of(jinja_op op) {
  static const char *const symbols[] = {
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return op >= OP_ADD && op <= OP_NOT_IN ? symbols[op - OP_ADD] : "?";
}

static rlx_status refuse(const jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b) {
  const jinja_value *u = a->kind == JINJA_UNDEFINED ? a : b;
  if (u->kind == JINJA_UNDEFINED) return jinja_fail(r, RLX_INVALID, "'%s' is undefined", u->name);
  return jinja_fail(r, RLX_INVALID, "a %s and a %s cannot be combined by '%s'", jinja_kind_name(a), jinja_kind_name(b),
                    symbol_of(op));
}

/* ---- Numbers ---- */

static rlx_status too_large(const jinja_run *r) {
  return jinja_fail(r, RLX_UNSUPPORTED, "an integer of more than 64 bits is not supported");
}

static rlx_status power(const jinja_run *r, const jinja_value *a, const jinja_value *b, jinja_value *out) {
  if (a->kind == JINJA_FLOAT || b->kind == JINJA_FLOAT || jinja_as_int(b) < 0) {
    double x = jinja_as_double(a), y = jinja_as_double(b), z = pow(x, y);
    if (x == 0 && y < 0) return jinja_fail(r, RLX_INVALID, "zero to a negative power");
    if (!isfinite(z) && isfinite(x) && isfinite(y))
      return jinja_fail(r, RLX_UNSUPPORTED, "a power that is no finite real number");
    *out = jinja_float(z);
    return RLX_OK;
  }
  int64_t result = 1, base = jinja_as_int(a), times = jinja_as_int(b);
  while (times) {
    if ((times & 1) && !rlx_mul_i64(result, base, &result)) return too_large(r);
    times >>= 1;
    if (times && !rlx_mul_i64(base, base, &base)) {
      if (base == 0 || base == 1) continue;
      return too_large(r);
    }
  }
  *out = jinja_int(result);
  return RLX_OK;
}

static rlx_status divide(const jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b,
                         jinja_value *out) {
  if (jinja_as_double(b) == 0) return jinja_fail(r, RLX_INVALID, "division by zero");
  bool is_float = a->kind == JINJA_FLOAT || b->kind == JINJA_FLOAT || op == OP_DIVIDE;
  if (is_float) {
    double x = jinja_as_double(a), y = jinja_as_double(b), rest = fmod(x, y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    if (rest == 0) rest = copysign(0.0, y);
    if (op == OP_FLOOR_DIVIDE) {
      double quotient = (x - fmod(x, y)) / y;
      if (fmod(x, y) != 0 && (fmod(x, y) < 0) != (y < 0)) quotient -= 1;
      double whole = floor(quotient);
      if (quotient - whole > 0.5) whole += 1;
      *out = jinja_float(quotient == 0 ? copysign(0.0, x / y) : whole);
    } else {
      *out = jinja_float(op == OP_DIVIDE ? x / y : rest);
    }
    return RLX_OK;
  }
  int64_t x = jinja_as_int(a), y = jinja_as_int(b);
  if (x == INT64_MIN && y == -1 && op != OP_MODULO) return too_large(r);
  if (y == -1) y = 1, x = op == OP_MODULO ? 0 : -x;
  bool adjusts = x % y != 0 && (x % y < 0) != (y < 0);
  *out = jinja_int(op == OP_MODULO ? x % y + (adjusts ? y : 0) : x / y - adjusts);
  return RLX_OK;
}

static rlx_status integers(const jinja_run *r, jinja_op op, int64_t a, int64_t b, jinja_value *out) {
  int64_t result = 0;
  bool fits = op == OP_ADD        ? rlx_add_i64(a, b, &result)
              : op == OP_MULTIPLY ? rlx_mul_i64(a, b, &result)
              : b == INT64_MIN    ? false
                                  : rlx_add_i64(a, -b, &result);
  *out = jinja_int(result);
  return fits ? RLX_OK : too_large(r);
}

static rlx_status numbers(const jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b,
                          jinja_value *out) {
  if (op == OP_POWER) return power(r, a, b, out);
  if (op == OP_DIVIDE || op == OP_FLOOR_DIVIDE || op == OP_MODULO) return divide(r, op, a, b, out);
  if (a->kind != JINJA_FLOAT && b->kind != JINJA_FLOAT) return integers(r, op, jinja_as_int(a), jinja_as_int(b), out);
  double x = jinja_as_double(a), y = jinja_as_double(b);
  *out = jinja_float(op == OP_ADD ? x + y : op == OP_SUBTRACT ? x - y : x * y);
  return RLX_OK;
}

/* ---- Texts and lists ---- */

rlx_status jinja_escape(jinja_run *r, const jinja_value *v, jinja_value *out) {
  static const char special[] = "&<>'\"";
  static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
  const jinja_text *t;
  jinja_builder b = {0};
  *out = *v;
  if (v->kind == JINJA_TEXT && v->is_markup) return RLX_OK;
  RLX_TRY(jinja_to_text(r, v, &t));
  RLX_TRY(jinja_count(r, t->n));
  for (size_t at = 0; at < t->n; at++) {
    const char *c = t->p[at] ? strchr(special, t->p[at]) : NULL;
    if (!c) RLX_TRY(jinja_add_part(r, &b, t, at, at + 1));
    else RLX_TRY(jinja_add(r, &b, names[c - special], strlen(names[c - special]), jinja_text_is_content(t, at)));
  }
  RLX_TRY(jinja_built(r, &b, out));
  out->is_markup = true;
  return RLX_OK;
}

static rlx_status add_texts(jinja_run *r, const jinja_value *a, const jinja_value *b, jinja_value *out) {
  jinja_value x = *a, y = *b;
  bool is_markup = a->is_markup || b->is_markup;
  if (is_markup) RLX_TRY(jinja_escape(r, a, &x));
  if (is_markup) RLX_TRY(jinja_escape(r, b, &y));
  const jinja_text *t;
  RLX_TRY(jinja_text_join(r, x.text, y.text, &t));
  *out = jinja_of_text(t);
  out->is_markup = is_markup;
  return RLX_OK;
}

static bool is_sequence(const jinja_value *v) { return v->kind == JINJA_LIST && v->list->sort <= JINJA_TUPLE; }

static rlx_status add_lists(jinja_run *r, const jinja_list *a, const jinja_list *b, jinja_value *out) {
  jinja_list *l;
  RLX_TRY(jinja_list_new(r, a->sort, a->n + b->n, &l));
  for (size_t i = 0; i < a->n; i++) RLX_TRY(jinja_list_push(r, l, a->v[i]));
  for (size_t i = 0; i < b->n; i++) RLX_TRY(jinja_list_push(r, l, b->v[i]));
  *out = jinja_of_list(l);
  return RLX_OK;
}

static rlx_status repeat(jinja_run *r, const jinja_value *v, int64_t times, jinja_value *out) {
  if (v->kind == JINJA_TEXT) {
    jinja_builder b = {0};
    const jinja_text *t;
    RLX_TRY(jinja_text_flat(r, v->text, &t));
    for (int64_t i = 0; i < times && t->n; i++) RLX_TRY(jinja_add_part(r, &b, t, 0, t->n));
    RLX_TRY(jinja_built(r, &b, out));
    out->is_markup = v->is_markup;
    return RLX_OK;
  }
  jinja_list *l;
  RLX_TRY(jinja_list_new(r, v->list->sort, 0, &l));
  for (int64_t i = 0; i < times && v->list->n; i++)
    for (size_t k = 0; k < v->list->n; k++) RLX_TRY(jinja_list_push(r, l, v->list->v[k]));
  *out = jinja_of_list(l);
  return RLX_OK;
}

rlx_status jinja_arithmetic(jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b, jinja_value *out) {
  if (jinja_is_number(a) && jinja_is_number(b)) {
    RLX_TRY(numbers(r, op, a, b, out));
    out->is_content = a->is_content || b->is_content;
    return RLX_OK;
  }
  if (a->kind == JINJA_UNDEFINED || b->kind == JINJA_UNDEFINED) {
    if (op != OP_MODULO || a->kind != JINJA_TEXT) return refuse(r, op, a, b);
  }
  if (op == OP_MODULO && a->kind == JINJA_TEXT) return jinja_format(r, a, b, out);
  if (op == OP_ADD && a->kind == JINJA_TEXT && b->kind == JINJA_TEXT) return add_texts(r, a, b, out);
  if (op == OP_ADD && is_sequence(a) && is_sequence(b) && a->list->sort == b->list->sort)
    return add_lists(r, a->list, b->list, out);
  bool is_left = a->kind == JINJA_TEXT || is_sequence(a), is_right = b->kind == JINJA_TEXT || is_sequence(b);
  if (op == OP_MULTIPLY && is_left && (b->kind == JINJA_INT || b->kind == JINJA_BOOL))
    return repeat(r, a, jinja_as_int(b), out);
  if (op == OP_MULTIPLY && is_right && (a->kind == JINJA_INT || a->kind == JINJA_BOOL))
    return repeat(r, b, jinja_as_int(a), out);
  if (op == OP_SUBTRACT && a->kind == JINJA_LIST && b->kind == JINJA_LIST && !is_left && !is_right)
    return jinja_fail(r, RLX_UNSUPPORTED, "the difference of two views of dicts is not supported");
  return refuse(r, op, a, b);
}

rlx_status jinja_negate(jinja_run *r, jinja_op op, const jinja_value *a, jinja_value *out) {
  if (a->kind == JINJA_UNDEFINED) return jinja_fail(r, RLX_INVALID, "'%s' is undefined", a->name);
  if (!jinja_is_number(a)) return jinja_fail(r, RLX_INVALID, "a %s has no sign", jinja_kind_name(a));
  if (a->kind == JINJA_FLOAT) *out = jinja_float(op == OP_NEGATE ? -a->number : a->number);
  else if (op == OP_NEGATE) RLX_TRY(integers(r, OP_SUBTRACT, 0, jinja_as_int(a), out));
  else *out = jinja_int(jinja_as_int(a));
  out->is_content = a->is_content;
  return RLX_OK;
}

rlx_status jinja_concat(jinja_run *r, const jinja_value *a, const jinja_value *b, jinja_value *out) {
  const jinja_value *both[] = {a, b};
  const jinja_text *t[2];
  for (size_t i = 0; i < 2; i++)
    if (both[i]->kind == JINJA_TEXT) t[i] = both[i]->text;
    else RLX_TRY(jinja_to_text(r, both[i], &t[i]));
  RLX_TRY(jinja_text_join(r, t[0], t[1], &t[0]));
  *out = jinja_of_text(t[0]);
  return RLX_OK;
}

/* ---- Comparison ---- */

static rlx_status is_in(jinja_run *r, const jinja_value *a, const jinja_value *b, bool *out) {
  *out = false;
  if (b->kind == JINJA_TEXT) {
    const jinja_text *what, *where;
    if (a->kind != JINJA_TEXT) return refuse(r, OP_IN, a, b);
    RLX_TRY(jinja_text_flat(r, a->text, &what));
    RLX_TRY(jinja_text_flat(r, b->text, &where));
    RLX_TRY(jinja_count(r, 1 + where->n / 16));
    *out = jinja_text_find(where, what, 0) <= where->n;
    return RLX_OK;
  }
  if (b->kind == JINJA_DICT || (b->kind == JINJA_LIST && b->list->sort == JINJA_KEYS)) {
    bool may_be_key;
    const jinja_value *found;
    RLX_TRY(jinja_hashable(r, a, &may_be_key));
    if (!may_be_key) return jinja_fail(r, RLX_INVALID, "a %s cannot be a key", jinja_kind_name(a));
    if (b->kind == JINJA_DICT) {
      RLX_TRY(jinja_dict_find(r, b->dict, a, &found));
      *out = found != NULL;
      return RLX_OK;
    }
  }
  if (b->kind != JINJA_LIST && b->kind != JINJA_UNDEFINED) return refuse(r, OP_IN, a, b);
  if (b->kind == JINJA_UNDEFINED) return RLX_OK;
  jinja_list *l = b->list;
  for (size_t i = l->sort == JINJA_ITERATOR ? l->at : 0; i < l->n && !*out; i++) {
    RLX_TRY(jinja_equal(r, &l->v[i], a, out));
    if (l->sort == JINJA_ITERATOR) l->at = i + 1;
  }
  return RLX_OK;
}

rlx_status jinja_compare(jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b, bool *out) {
  int order;
  switch (op) {
    case OP_EQUAL: return jinja_equal(r, a, b, out);
    case OP_NOT_EQUAL: RLX_TRY(jinja_equal(r, a, b, out)); break;
    case OP_IN: return is_in(r, a, b, out);
    case OP_NOT_IN: RLX_TRY(is_in(r, a, b, out)); break;
    default:
      RLX_TRY(jinja_order(r, a, b, &order));
      *out = order != 2 && (op == OP_LESS         ? order < 0
                            : op == OP_LESS_EQUAL ? order <= 0
                            : op == OP_GREATER    ? order > 0
                                                  : order >= 0);
      return RLX_OK;
  }
  *out = !*out;
  return RLX_OK;
}

/* ---- %-formatting: %s, %d, %i, %f with flags, width and precision ---- */

typedef struct directive {
  bool minus, zero;
  int64_t width, precision; /* precision -1: none */
  char kind;
} directive;

static rlx_status read_directive(const jinja_run *r, const jinja_text *t, size_t *at, directive *d) {
  *d = (directive){.precision = -1};
  for (; *at < t->n && (t->p[*at] == '-' || t->p[*at] == '0'); ++*at) *(t->p[*at] == '-' ? &d->minus : &d->zero) = true;
  for (; *at < t->n && t->p[*at] >= '0' && t->p[*at] <= '9' && d->width < 10000; ++*at)
    d->width = d->width * 10 + t->p[*at] - '0';
  if (*at < t->n && t->p[*at] == '.') {
    d->precision = 0;
    for (++*at; *at < t->n && t->p[*at] >= '0' && t->p[*at] <= '9' && d->precision < 100; ++*at)
      d->precision = d->precision * 10 + t->p[*at] - '0';
  }
  if (*at == t->n) return jinja_fail(r, RLX_INVALID, "a format that ends in the middle");
  d->kind = t->p[(*at)++];
  if (strchr("sdif", d->kind) && d->kind && d->precision < 100 && d->width < 10000) return RLX_OK;
  return jinja_fail(r, RLX_UNSUPPORTED, "the format %%%c is not supported",
                    d->kind > ' ' && d->kind < 127 ? d->kind : '?');
}

static rlx_status format_number(jinja_run *r, jinja_builder *b, const directive *d, const jinja_value *v) {
  char text[512], digits[400];
  if (!jinja_is_number(v)) return jinja_fail(r, RLX_INVALID, "%%%c of a %s", d->kind, jinja_kind_name(v));
  if (d->kind == 'f') {
    double x = jinja_as_double(v);
    if (!isfinite(x) || fabs(x) > 1e200) return jinja_fail(r, RLX_UNSUPPORTED, "%%f of a number this large");
    rlx_os_locale before;
    rlx_os_locale_begin(&before);
    snprintf(digits, sizeof digits, "%.*f", d->precision < 0 ? 6 : (int)d->precision, x);
    rlx_os_locale_end(&before);
  } else {
    double x = jinja_as_double(v);
    if (d->precision >= 0 || !(fabs(x) < 9e18)) return jinja_fail(r, RLX_UNSUPPORTED, "%%d of this is not supported");
    snprintf(digits, sizeof digits, "%lld", (long long)(v->kind == JINJA_FLOAT ? (int64_t)x : jinja_as_int(v)));
  }
  int width = d->width > 400 ? 400 : (int)d->width;
  if (d->minus) {
    snprintf(text, sizeof text, "%-*s", width, digits);
  } else if (d->zero) {
    bool is_negative = digits[0] == '-';
    int n = (int)strlen(digits), zeros = width > n ? width - n : 0;
    size_t at = is_negative;
    text[0] = '-';
    memset(text + at, '0', (size_t)zeros);
    snprintf(text + at + zeros, sizeof text - at - (size_t)zeros, "%s", digits + is_negative);
  } else {
    snprintf(text, sizeof text, "%*s", width, digits);
  }
  return jinja_add(r, b, text, strlen(text), v->is_content);
}

static rlx_status format_text(jinja_run *r, jinja_builder *b, const directive *d, const jinja_value *v) {
  const jinja_text *t;
  RLX_TRY(jinja_to_text(r, v, &t));
  size_t shown = t->n, characters = jinja_text_characters(t);
  int32_t code;
  if (d->precision >= 0 && characters > (size_t)d->precision) {
    characters = (size_t)d->precision;
    shown = 0;
    for (size_t i = 0; i < characters; i++) shown += jinja_character(t->p + shown, t->n - shown, &code);
  }
  size_t fill = (size_t)d->width > characters ? (size_t)d->width - characters : 0;
  for (size_t i = 0; i < fill && !d->minus; i++) RLX_TRY(jinja_add(r, b, " ", 1, false));
  RLX_TRY(jinja_add_part(r, b, t, 0, shown));
  for (size_t i = 0; i < fill && d->minus; i++) RLX_TRY(jinja_add(r, b, " ", 1, false));
  return RLX_OK;
}

rlx_status jinja_format(jinja_run *r, const jinja_value *format, const jinja_value *values, jinja_value *out) {
  bool is_tuple = values->kind == JINJA_LIST && values->list->sort == JINJA_TUPLE;
  const jinja_value *v = is_tuple ? values->list->v : values;
  size_t n = is_tuple ? values->list->n : 1, used = 0;
  const jinja_text *t;
  jinja_builder b = {0};
  RLX_TRY(jinja_text_flat(r, format->text, &t));
  if (format->is_markup) return jinja_fail(r, RLX_UNSUPPORTED, "a format of escaped text is not supported");
  for (size_t at = 0; at < t->n;) {
    const char *p = memchr(t->p + at, '%', t->n - at);
    size_t next = p ? (size_t)(p - t->p) : t->n;
    RLX_TRY(jinja_add_part(r, &b, t, at, next));
    at = next + 1;
    if (next == t->n) break;
    if (at < t->n && t->p[at] == '%') {
      RLX_TRY(jinja_add_part(r, &b, t, at, at + 1));
      at++;
      continue;
    }
    directive d;
    RLX_TRY(read_directive(r, t, &at, &d));
    if (used == n) return jinja_fail(r, RLX_INVALID, "a format of more than %zu values", n);
    RLX_TRY(d.kind == 's' ? format_text(r, &b, &d, &v[used]) : format_number(r, &b, &d, &v[used]));
    used++;
  }
  bool may_be_unused = !is_tuple && (v->kind == JINJA_DICT || v->kind == JINJA_LIST || v->kind == JINJA_UNDEFINED);
  if (used < n && !may_be_unused) return jinja_fail(r, RLX_INVALID, "a format of %zu values, got %zu", used, n);
  return jinja_built(r, &b, out);
}
