/* Filters of sequences: map, select, sort and others.
 *
 * In Jinja most of them are lazy: they give what can be gone through once, is always true and has no length. That is
 * kept (JINJA_ITERATOR), but the elements are computed at once. */
#include <stdio.h>
#include <string.h>

#include "text/jinja.h"

/* ---- Attributes by path: "function.name", or an index ---- */

static rlx_status get_path(jinja_run *r, const jinja_value *v, const jinja_value *path, const jinja_value *otherwise,
                           jinja_value *out) {
  *out = *v;
  if (path->kind == JINJA_ABSENT || path->kind == JINJA_NONE) return RLX_OK;
  bool is_text = path->kind == JINJA_TEXT;
  const jinja_text *t = &jinja_no_text;
  if (is_text) RLX_TRY(jinja_text_flat(r, path->text, &t));
  for (size_t at = 0; at <= t->n;) {
    const char *dot = t->n ? memchr(t->p + at, '.', t->n - at) : NULL;
    size_t end = dot ? (size_t)(dot - t->p) : t->n;
    jinja_value key = *path, item = *out;
    if (is_text) {
      int64_t index = 0;
      bool is_index = end > at && end - at < 10;
      for (size_t i = at; i < end && is_index; i++) {
        is_index = t->p[i] >= '0' && t->p[i] <= '9';
        index = index * 10 + (t->p[i] - '0');
      }
      const jinja_text *part;
      RLX_TRY(jinja_text_slice(r, t, at, end, &part));
      key = is_index ? jinja_int(index) : jinja_of_text(part);
    }
    RLX_TRY(jinja_item(r, &item, &key, out));
    if (out->kind == JINJA_UNDEFINED && otherwise && otherwise->kind != JINJA_ABSENT && otherwise->kind != JINJA_NONE)
      *out = *otherwise;
    at = end + 1;
  }
  return RLX_OK;
}

static bool takes_cases(const jinja_value *case_sensitive) { return jinja_truth(case_sensitive); }

/* What an element is sorted or compared by. */
static rlx_status key_of(jinja_run *r, const jinja_value *v, const jinja_value *path, bool with_case,
                         jinja_value *out) {
  jinja_args none = {0};
  if (path->kind == JINJA_TEXT) {
    const jinja_text *t;
    RLX_TRY(jinja_text_flat(r, path->text, &t));
    if (memchr(t->p, ',', t->n)) return jinja_fail(r, RLX_UNSUPPORTED, "several attributes are not supported");
  }
  jinja_value key;
  RLX_TRY(get_path(r, v, path, NULL, &key));
  *out = key;
  return with_case || key.kind != JINJA_TEXT ? RLX_OK : jinja_lower(r, &key, &none, out);
}

static const jinja_value *named(const jinja_args *args, const char *name) {
  static const jinja_value absent = {.kind = JINJA_ABSENT};
  for (size_t i = 0; i < args->n_named; i++)
    if (jinja_text_is(args->named[i].name, name)) return &args->named[i].value;
  return &absent;
}

/* ---- map, select ---- */

/* The filter or test that an argument names. */
static rlx_status find_named(jinja_run *r, const jinja_value *name, bool is_test, const jinja_builtin **out) {
  const jinja_text *t;
  RLX_TRY(jinja_text_argument(r, is_test ? "the name of a test" : "the name of a filter", name, &t));
  *out = is_test ? jinja_test_find(t->p, t->n) : jinja_filter_find(t->p, t->n);
  if (*out) return RLX_OK;
  return jinja_fail(r, RLX_INVALID, "there is no %s '%.*s'", is_test ? "test" : "filter", t->n < 60 ? (int)t->n : 60,
                    t->p);
}

JINJA_FN(jinja_map) {
  jinja_list *l, *mapped;
  const jinja_value *attribute = named(args, "attribute"), *otherwise = named(args, "default");
  bool by_attribute = !args->n && attribute->kind != JINJA_ABSENT;
  const jinja_builtin *f = NULL;
  RLX_TRY(jinja_list_new(r, JINJA_ITERATOR, 0, &mapped));
  *out = jinja_of_list(mapped);
  if (!jinja_truth(self)) return RLX_OK;
  if (by_attribute && args->n_named > (size_t)1 + (otherwise->kind != JINJA_ABSENT))
    return jinja_fail(r, RLX_INVALID, "map takes 'attribute' and 'default'");
  if (!by_attribute && !args->n) return jinja_fail(r, RLX_INVALID, "map needs the name of a filter");
  if (!by_attribute) RLX_TRY(find_named(r, &args->v[0], false, &f));
  RLX_TRY(jinja_iterate(r, self, &l));
  for (size_t i = 0; i < l->n; i++) {
    jinja_value v;
    jinja_args rest = {.v = args->v + 1, .n = args->n - 1, .named = args->named, .n_named = args->n_named};
    if (by_attribute) RLX_TRY(get_path(r, &l->v[i], attribute, otherwise, &v));
    else RLX_TRY(jinja_call_builtin(r, f, "filter", &l->v[i], &rest, &v));
    RLX_TRY(jinja_list_push(r, mapped, v));
  }
  return RLX_OK;
}

static rlx_status choose(jinja_run *r, const jinja_value *self, const jinja_args *args, bool by_attribute, bool wanted,
                         jinja_value *out) {
  jinja_list *l, *chosen;
  const jinja_builtin *f = NULL;
  size_t skipped = by_attribute;
  RLX_TRY(jinja_list_new(r, JINJA_ITERATOR, 0, &chosen));
  *out = jinja_of_list(chosen);
  if (!jinja_truth(self)) return RLX_OK;
  if (by_attribute && !args->n) return jinja_fail(r, RLX_INVALID, "selectattr needs the name of an attribute");
  if (args->n > skipped) RLX_TRY(find_named(r, &args->v[skipped], true, &f));
  RLX_TRY(jinja_iterate(r, self, &l));
  for (size_t i = 0; i < l->n; i++) {
    jinja_value v = l->v[i], holds;
    if (by_attribute) RLX_TRY(get_path(r, &l->v[i], &args->v[0], NULL, &v));
    holds = v;
    if (f) {
      jinja_args rest = {
        .v = args->v + skipped + 1, .n = args->n - skipped - 1, .named = args->named, .n_named = args->n_named};
      RLX_TRY(jinja_call_builtin(r, f, "test", &v, &rest, &holds));
    }
    if (jinja_truth(&holds) == wanted) RLX_TRY(jinja_list_push(r, chosen, l->v[i]));
  }
  return RLX_OK;
}
JINJA_FN(jinja_select) { return choose(r, self, args, false, true, out); }
JINJA_FN(jinja_reject) { return choose(r, self, args, false, false, out); }
JINJA_FN(jinja_selectattr) { return choose(r, self, args, true, true, out); }
JINJA_FN(jinja_rejectattr) { return choose(r, self, args, true, false, out); }

/* ---- Order ---- */

typedef struct keyed {
  jinja_value key, v;
} keyed;

/* A stable merge sort, by `<` alone. Equal elements keep their order also in reverse, as in Python. */
static rlx_status merge_sort(jinja_run *r, keyed *v, keyed *room, size_t n, bool reverse) {
  if (n < 2) return RLX_OK;
  size_t half = n / 2, a = 0, b = half;
  RLX_TRY(merge_sort(r, v, room, half, reverse));
  RLX_TRY(merge_sort(r, v + half, room, n - half, reverse));
  for (size_t i = 0; i < n; i++) {
    bool takes_second = a == half;
    if (a < half && b < n) {
      int order;
      RLX_TRY(reverse ? jinja_order(r, &v[a].key, &v[b].key, &order) : jinja_order(r, &v[b].key, &v[a].key, &order));
      takes_second = order < 0;
    }
    room[i] = v[takes_second ? b++ : a++];
  }
  memcpy(v, room, n * sizeof *v);
  return RLX_OK;
}

static rlx_status sort_list(jinja_run *r, const jinja_list *l, const jinja_value *path, bool with_case, bool reverse,
                            jinja_value *out) {
  keyed *v, *room;
  jinja_list *sorted;
  RLX_TRY(JINJA_NEW(r, l->n, &v));
  RLX_TRY(JINJA_NEW(r, l->n, &room));
  for (size_t i = 0; i < l->n; i++) {
    v[i].v = l->v[i];
    RLX_TRY(key_of(r, &l->v[i], path, with_case, &v[i].key));
  }
  RLX_TRY(merge_sort(r, v, room, l->n, reverse));
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, l->n, &sorted));
  for (size_t i = 0; i < l->n; i++) RLX_TRY(jinja_list_push(r, sorted, v[i].v));
  *out = jinja_of_list(sorted);
  return RLX_OK;
}

JINJA_FN(jinja_sort_filter) {
  jinja_list *l;
  RLX_TRY(jinja_iterate(r, self, &l));
  return sort_list(r, l, &args->p[2], takes_cases(&args->p[1]), jinja_truth(&args->p[0]), out);
}

JINJA_FN(jinja_dictsort) {
  jinja_list *l;
  const jinja_text *by = NULL;
  jinja_value path = jinja_int(0);
  if (self->kind != JINJA_DICT) return jinja_fail(r, RLX_INVALID, "dictsort of a %s", jinja_kind_name(self));
  if (args->p[1].kind != JINJA_ABSENT) RLX_TRY(jinja_text_argument(r, "dictsort", &args->p[1], &by));
  if (by && jinja_text_is(by, "value")) path = jinja_int(1);
  else if (by && !jinja_text_is(by, "key")) return jinja_fail(r, RLX_INVALID, "dictsort: expected 'key' or 'value'");
  RLX_TRY(jinja_dict_list(r, self->dict, JINJA_ITEMS, &l));
  return sort_list(r, l, &path, takes_cases(&args->p[0]), jinja_truth(&args->p[2]), out);
}

static rlx_status extreme(jinja_run *r, const jinja_value *self, const jinja_args *args, bool wants_max,
                          jinja_value *out) {
  jinja_list *l;
  jinja_value best = jinja_none(), key;
  RLX_TRY(jinja_iterate(r, self, &l));
  *out = jinja_undefined("the least or greatest of none");
  for (size_t i = 0; i < l->n; i++) {
    int order = -1;
    RLX_TRY(key_of(r, &l->v[i], &args->p[1], takes_cases(&args->p[0]), &key));
    if (i) RLX_TRY(wants_max ? jinja_order(r, &best, &key, &order) : jinja_order(r, &key, &best, &order));
    if (order >= 0) continue;
    best = key;
    *out = l->v[i];
  }
  return RLX_OK;
}
JINJA_FN(jinja_min) { return extreme(r, self, args, false, out); }
JINJA_FN(jinja_max) { return extreme(r, self, args, true, out); }

/* ---- Others ---- */

JINJA_FN(jinja_unique) {
  jinja_list *l, *kept;
  jinja_dict *seen;
  RLX_TRY(jinja_iterate(r, self, &l));
  RLX_TRY(jinja_list_new(r, JINJA_ITERATOR, 0, &kept));
  RLX_TRY(jinja_dict_new(r, 0, &seen));
  for (size_t i = 0; i < l->n; i++) {
    jinja_value key;
    size_t before = seen->n;
    RLX_TRY(key_of(r, &l->v[i], &args->p[1], takes_cases(&args->p[0]), &key));
    RLX_TRY(jinja_dict_put(r, seen, key, jinja_none()));
    if (seen->n > before) RLX_TRY(jinja_list_push(r, kept, l->v[i]));
  }
  *out = jinja_of_list(kept);
  return RLX_OK;
}

JINJA_FN(jinja_sum) {
  jinja_list *l;
  *out = args->p[1].kind == JINJA_ABSENT ? jinja_int(0) : args->p[1];
  if (out->kind == JINJA_TEXT) return jinja_fail(r, RLX_INVALID, "sum of texts: it needs 'join'");
  RLX_TRY(jinja_iterate(r, self, &l));
  for (size_t i = 0; i < l->n; i++) {
    jinja_value v, sum = *out;
    RLX_TRY(get_path(r, &l->v[i], &args->p[0], NULL, &v));
    if (v.kind == JINJA_FLOAT || sum.kind == JINJA_FLOAT) /* how they are rounded depends on Python's version */
      return jinja_fail(r, RLX_UNSUPPORTED, "sum of fractions is not supported");
    RLX_TRY(jinja_arithmetic(r, OP_ADD, &sum, &v, out));
  }
  return RLX_OK;
}

JINJA_FN(jinja_batch) {
  jinja_list *l, *all, *line = NULL;
  int64_t n;
  RLX_TRY(jinja_int_argument(r, "batch", &args->p[0], 1, &n));
  RLX_TRY(jinja_iterate(r, self, &l));
  RLX_TRY(jinja_list_new(r, JINJA_ITERATOR, 0, &all));
  if (n < 1) return jinja_fail(r, RLX_UNSUPPORTED, "batches of %lld are not supported", (long long)n);
  for (size_t i = 0; i < l->n; i++) {
    if (!line || line->n == (size_t)n) {
      RLX_TRY(jinja_list_new(r, JINJA_ARRAY, 0, &line));
      RLX_TRY(jinja_list_push(r, all, jinja_of_list(line)));
    }
    RLX_TRY(jinja_list_push(r, line, l->v[i]));
  }
  bool fills = args->p[1].kind != JINJA_ABSENT && args->p[1].kind != JINJA_NONE;
  while (line && fills && line->n < (size_t)n) RLX_TRY(jinja_list_push(r, line, args->p[1]));
  *out = jinja_of_list(all);
  return RLX_OK;
}

JINJA_FN(jinja_join_filter) {
  jinja_list *l;
  jinja_builder b = {0};
  const jinja_text *between = &jinja_no_text;
  if (args->p[0].kind != JINJA_ABSENT) RLX_TRY(jinja_to_text(r, &args->p[0], &between));
  RLX_TRY(jinja_iterate(r, self, &l));
  for (size_t i = 0; i < l->n; i++) {
    jinja_value v;
    RLX_TRY(get_path(r, &l->v[i], &args->p[1], NULL, &v));
    if (i) RLX_TRY(jinja_add_text(r, &b, between));
    RLX_TRY(jinja_print(r, &b, &v));
  }
  return jinja_built(r, &b, out);
}

JINJA_FN(jinja_filter_list) {
  jinja_list *l, *copy;
  (void)args;
  RLX_TRY(jinja_iterate(r, self, &l));
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, l->n, &copy));
  for (size_t i = 0; i < l->n; i++) RLX_TRY(jinja_list_push(r, copy, l->v[i]));
  *out = jinja_of_list(copy);
  return RLX_OK;
}
