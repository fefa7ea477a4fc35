/* Functions that a template can call: Jinja's own, and the two that chat templates are given.
 *
 * strftime_now() has the clock's local time, or the one that the input fixes ("strftime_now": an ISO 8601 time without
 * zone), so that a test does not depend on the day. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arith.h"
#include "base/os.h"
#include "text/jinja.h"

static JINJA_FN(function_range) {
  enum { MAX_RANGE = 100000 }; /* the sandbox's */
  int64_t bounds[3] = {0, 0, 1};
  jinja_list *l;
  (void)self;
  for (size_t i = 0; i < 3; i++) RLX_TRY(jinja_int_argument(r, "range", &args->p[i], bounds[i], &bounds[i]));
  if (args->p[1].kind == JINJA_ABSENT) bounds[1] = bounds[0], bounds[0] = 0;
  int64_t start = bounds[0], stop = bounds[1], step = bounds[2];
  if (step == 0) return jinja_fail(r, RLX_INVALID, "range: a step of zero");
  uint64_t span = step > 0 ? (stop > start ? (uint64_t)stop - (uint64_t)start : 0)
                           : (start > stop ? (uint64_t)start - (uint64_t)stop : 0);
  uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step, n = span ? (span - 1) / stride + 1 : 0;
  if (n > MAX_RANGE) return jinja_fail(r, RLX_INVALID, "a range of more than %d numbers", MAX_RANGE);
  RLX_TRY(jinja_list_new(r, JINJA_RANGE, (size_t)n, &l));
  l->start = start;
  l->stop = stop;
  l->step = step;
  for (uint64_t i = 0; i < n; i++)
    RLX_TRY(jinja_list_push(r, l, jinja_int((int64_t)((uint64_t)start + i * (uint64_t)step))));
  *out = jinja_of_list(l);
  return RLX_OK;
}

/* dict(pairs or dict, name=value, ..) */
static JINJA_FN(function_dict) {
  jinja_dict *d;
  (void)self;
  RLX_TRY(jinja_dict_new(r, 0, &d));
  if (args->n > 1) return jinja_fail(r, RLX_INVALID, "dict takes at most one value, got %zu", args->n);
  if (args->n && args->v[0].kind == JINJA_DICT) {
    const jinja_dict *from = args->v[0].dict;
    for (size_t i = 0; i < from->n; i++) RLX_TRY(jinja_dict_put(r, d, from->keys[i], from->values[i]));
  } else if (args->n) {
    jinja_list *l, *pair;
    RLX_TRY(jinja_iterate(r, &args->v[0], &l));
    for (size_t i = 0; i < l->n; i++) {
      RLX_TRY(jinja_unpack(r, &l->v[i], 2, &pair));
      RLX_TRY(jinja_dict_put(r, d, pair->v[0], pair->v[1]));
    }
  }
  for (size_t i = 0; i < args->n_named; i++)
    RLX_TRY(jinja_dict_put(r, d, jinja_of_text(args->named[i].name), args->named[i].value));
  *out = jinja_of_dict(d);
  return RLX_OK;
}

static JINJA_FN(function_namespace) {
  RLX_TRY(function_dict(r, self, args, out));
  for (size_t i = 0; i < out->dict->n; i++) {
    const jinja_value *key = &out->dict->keys[i];
    const jinja_text *name;
    if (key->kind != JINJA_TEXT) continue;
    RLX_TRY(jinja_text_flat(r, key->text, &name));
    if (name->n && name->p[0] == '_')
      return jinja_fail(r, RLX_INVALID, "an attribute of a namespace that begins with an underscore: '%.*s'",
                        name->n < 60 ? (int)name->n : 60, name->p);
  }
  out->kind = JINJA_NAMESPACE;
  return RLX_OK;
}

static JINJA_FN(function_raise) {
  const jinja_text *t;
  (void)self;
  (void)out;
  RLX_TRY(jinja_to_text(r, &args->p[0], &t));
  return jinja_fail(r, RLX_INVALID, "the template refuses the conversation: %.*s", t->n < 900 ? (int)t->n : 900, t->p);
}

/* ---- Time ---- */

static bool read_digits(const char **p, int n, int *out) {
  *out = 0;
  for (int i = 0; i < n; i++, ++*p) {
    if (**p < '0' || **p > '9') return false;
    *out = *out * 10 + (**p - '0');
  }
  return true;
}

/* 2026-11-19T14:32:31, or with a blank, or without seconds, or the day alone. */
static bool read_time(const char *p, struct tm *out) {
  static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int year, month, day, hour = 0, minute = 0, second = 0;
  if (!read_digits(&p, 4, &year) || *p++ != '-' || !read_digits(&p, 2, &month) || *p++ != '-' ||
      !read_digits(&p, 2, &day))
    return false;
  if (*p == 'T' || *p == ' ') {
    p++;
    if (!read_digits(&p, 2, &hour) || *p++ != ':' || !read_digits(&p, 2, &minute)) return false;
    if (*p == ':' && (p++, !read_digits(&p, 2, &second))) return false;
  }
  bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  if (*p || year < 1 || month < 1 || month > 12 || day < 1 || day > month_days[month - 1] || hour > 23 || minute > 59 ||
      second > 59 || (month == 2 && day == 29 && !is_leap))
    return false;
  int yday = days_before[month - 1] + day - 1 + (is_leap && month > 2);
  int before = year - 1, weekday = (before + before / 4 - before / 100 + before / 400 + yday + 1) % 7;
  *out = (struct tm){.tm_year = year - 1900,
                     .tm_mon = month - 1,
                     .tm_mday = day,
                     .tm_hour = hour,
                     .tm_min = minute,
                     .tm_sec = second,
                     .tm_wday = weekday,
                     .tm_yday = yday};
  return true;
}

static rlx_status local_time(jinja_run *r, struct tm *out) {
  if (r->now) {
    if (read_time(r->now, out)) return RLX_OK;
    return jinja_fail(r, RLX_INVALID, "strftime_now: expected a time like 2026-11-19T14:32:31, got '%.40s'", r->now);
  }
  time_t now = time(NULL);
  if (now == (time_t)-1 || !localtime_r(&now, out)) return jinja_fail(r, RLX_IO, "the clock has no time");
  return RLX_OK;
}

/* One directive at a time, each of which fits a small buffer. */
JINJA_FN(jinja_strftime_now) {
  static const char known[] = "aAbBcCdDeFgGhHIjmMnpRrStTuUVwWxXyYZzf%";
  const jinja_text *format;
  jinja_builder b = {0};
  struct tm now = {0};
  (void)self;
  RLX_TRY(jinja_text_argument(r, "strftime_now", &args->p[0], &format));
  RLX_TRY(local_time(r, &now));
  for (size_t at = 0; at < format->n; at++) {
    char directive[5] = {'%'}, text[128];
    if (format->p[at] != '%') {
      RLX_TRY(jinja_add_part(r, &b, format, at, at + 1));
      continue;
    }
    size_t n = 1;
    if (at + 1 < format->n && format->p[at + 1] && strchr("-_0^#", format->p[at + 1])) directive[n++] = format->p[++at];
    char kind = ++at < format->n ? format->p[at] : '\0';
    if (!kind || !strchr(known, kind))
      return jinja_fail(r, RLX_UNSUPPORTED, "strftime_now: the directive %%%c is not supported",
                        kind > ' ' ? kind : '?');
    if (kind == 'z' || kind == 'Z') continue; /* a time without zone has none */
    if (kind == 'f') {
      RLX_TRY(jinja_add(r, &b, "000000", 6, false));
      continue;
    }
    directive[n] = kind;
    rlx_os_locale before;
    rlx_os_locale_begin(&before);
    size_t written = strftime(text, sizeof text, directive, &now);
    rlx_os_locale_end(&before);
    RLX_TRY(jinja_add(r, &b, text, written, false));
  }
  return jinja_built(r, &b, out);
}

/* ---- The table ---- */

static const jinja_builtin functions[] = {
  {"range", "/!start stop step", function_range},
  {"dict", "*", function_dict},
  {"namespace", "*", function_namespace},
  {"raise_exception", "!message", function_raise},
  {"strftime_now", "!format", jinja_strftime_now},
  {"cycler", "*", NULL},
  {"joiner", "*", NULL},
  {"lipsum", "*", NULL},
};

const jinja_builtin *jinja_function_find(const jinja_text *name) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (jinja_text_is(name, functions[i].name)) return &functions[i];
  return NULL;
}
