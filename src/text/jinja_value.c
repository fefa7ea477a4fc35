/* Values and containers: truth, equality, order, lists and dicts, as Python defines them.
 *
 * Lists are tuples, iterators, ranges and the views of a dict as well: they differ in what is printed and in what may
 * be done with them. Dicts keep the order of insertion. A hash table over them begins where it pays; its seed is
 * random, and probes count as work. */
#include <math.h>
#include <string.h>

#include "text/jinja.h"

const char *jinja_kind_name(const jinja_value *v) {
  static const char *const names[] = {"nothing", "Undefined", "NoneType",  "bool",        "int",   "float",   "str",
                                      "list",    "dict",      "Namespace", "LoopContext", "Macro", "function"};
  static const char *const sorts[] = {"list", "tuple", "generator", "dict_keys", "dict_values", "dict_items", "range"};
  return v->kind == JINJA_LIST ? sorts[v->list->sort] : names[v->kind];
}

bool jinja_truth(const jinja_value *v) {
  switch ((jinja_kind)v->kind) {
    case JINJA_ABSENT:
    case JINJA_UNDEFINED:
    case JINJA_NONE: return false;
    case JINJA_BOOL: return v->boolean;
    case JINJA_INT: return v->integer != 0;
    case JINJA_FLOAT: return v->number != 0;
    case JINJA_TEXT: return v->text->n > 0;
    case JINJA_LIST: return v->list->n > 0 || v->list->sort == JINJA_ITERATOR;
    case JINJA_DICT: return v->dict->n > 0;
    default: return true;
  }
}

bool jinja_is_number(const jinja_value *v) {
  return v->kind == JINJA_BOOL || v->kind == JINJA_INT || v->kind == JINJA_FLOAT;
}
int64_t jinja_as_int(const jinja_value *v) { return v->kind == JINJA_BOOL ? v->boolean : v->integer; }
double jinja_as_double(const jinja_value *v) { return v->kind == JINJA_FLOAT ? v->number : (double)jinja_as_int(v); }

/* ---- Equality and order ---- */

/* Exact, also where an integer has more digits than a double holds. 2: a NaN. */
static int order_numbers(const jinja_value *a, const jinja_value *b) {
  if (a->kind != JINJA_FLOAT && b->kind != JINJA_FLOAT) {
    int64_t x = jinja_as_int(a), y = jinja_as_int(b);
    return (x > y) - (x < y);
  }
  if (a->kind == JINJA_FLOAT && b->kind == JINJA_FLOAT) {
    if (isnan(a->number) || isnan(b->number)) return 2;
    return (a->number > b->number) - (a->number < b->number);
  }
  if (a->kind != JINJA_FLOAT) {
    int order = order_numbers(b, a);
    return order == 2 ? 2 : -order;
  }
  double x = a->number;
  if (isnan(x)) return 2;
  if (x >= 9223372036854775808.0) return 1;
  if (x < -9223372036854775808.0) return -1;
  int64_t whole = (int64_t)x, y = jinja_as_int(b);
  if (whole != y) return whole > y ? 1 : -1;
  double rest = x - (double)whole;
  return (rest > 0) - (rest < 0);
}

static bool is_sequence(const jinja_value *v) {
  return v->kind == JINJA_LIST && (v->list->sort == JINJA_ARRAY || v->list->sort == JINJA_TUPLE);
}

static rlx_status equal_lists(jinja_run *r, const jinja_list *a, const jinja_list *b, bool *out) {
  *out = a->sort == b->sort && a->n == b->n;
  RLX_TRY(jinja_deeper(r));
  for (size_t i = 0; *out && i < a->n; i++) RLX_TRY(jinja_equal(r, &a->v[i], &b->v[i], out));
  r->depth--;
  return RLX_OK;
}

static rlx_status equal_dicts(jinja_run *r, const jinja_dict *a, const jinja_dict *b, bool *out) {
  *out = a->n == b->n;
  RLX_TRY(jinja_deeper(r));
  for (size_t i = 0; *out && i < a->n; i++) {
    const jinja_value *other;
    RLX_TRY(jinja_dict_find(r, b, &a->keys[i], &other));
    *out = other != NULL;
    if (other) RLX_TRY(jinja_equal(r, &a->values[i], other, out));
  }
  r->depth--;
  return RLX_OK;
}

rlx_status jinja_equal(jinja_run *r, const jinja_value *a, const jinja_value *b, bool *out) {
  int order;
  RLX_TRY(jinja_count(r, 1));
  *out = false;
  if (jinja_is_number(a) && jinja_is_number(b)) {
    *out = order_numbers(a, b) == 0;
  } else if (a->kind != b->kind) {
    return RLX_OK;
  } else if (a->kind == JINJA_TEXT) {
    if (a->text->n != b->text->n) return RLX_OK;
    RLX_TRY(jinja_text_compare(r, a->text, b->text, &order));
    *out = order == 0;
  } else if (a->kind == JINJA_DICT) {
    if (a->dict != b->dict) return equal_dicts(r, a->dict, b->dict, out);
    *out = true;
  } else if (a->kind == JINJA_LIST) {
    *out = a->list == b->list;
    if (!*out && is_sequence(a) && is_sequence(b)) return equal_lists(r, a->list, b->list, out);
    if (!*out && a->list->sort == b->list->sort && a->list->sort != JINJA_ITERATOR && a->list->sort != JINJA_VALUES)
      return jinja_fail(r, RLX_UNSUPPORTED, "comparing two values of type %s is not supported", jinja_kind_name(a));
  } else {
    *out = a->kind == JINJA_UNDEFINED || a->kind == JINJA_NONE || a->function == b->function;
  }
  return RLX_OK;
}

static rlx_status order_lists(jinja_run *r, const jinja_list *a, const jinja_list *b, int *out) {
  RLX_TRY(jinja_deeper(r));
  size_t n = a->n < b->n ? a->n : b->n;
  for (size_t i = 0; i < n; i++) {
    bool is_same;
    RLX_TRY(jinja_equal(r, &a->v[i], &b->v[i], &is_same));
    if (is_same) continue;
    r->depth--;
    return jinja_order(r, &a->v[i], &b->v[i], out);
  }
  r->depth--;
  *out = (a->n > b->n) - (a->n < b->n);
  return RLX_OK;
}

rlx_status jinja_order(jinja_run *r, const jinja_value *a, const jinja_value *b, int *out) {
  RLX_TRY(jinja_count(r, 1));
  if (jinja_is_number(a) && jinja_is_number(b)) {
    *out = order_numbers(a, b);
    return RLX_OK;
  }
  if (a->kind == JINJA_TEXT && b->kind == JINJA_TEXT) {
    RLX_TRY(jinja_text_compare(r, a->text, b->text, out));
    *out = (*out > 0) - (*out < 0);
    return RLX_OK;
  }
  if (is_sequence(a) && is_sequence(b) && a->list->sort == b->list->sort) return order_lists(r, a->list, b->list, out);
  if (a->kind == JINJA_UNDEFINED || b->kind == JINJA_UNDEFINED)
    return jinja_fail(r, RLX_INVALID, "'%s' is undefined", a->kind == JINJA_UNDEFINED ? a->name : b->name);
  return jinja_fail(r, RLX_INVALID, "a %s and a %s have no order", jinja_kind_name(a), jinja_kind_name(b));
}

/* ---- Lists ---- */

rlx_status jinja_list_new(jinja_run *r, jinja_sort sort, size_t cap, jinja_list **out) {
  RLX_TRY(JINJA_NEW(r, 1, out));
  (*out)->sort = sort;
  (*out)->cap = cap;
  return cap ? JINJA_NEW(r, cap, &(*out)->v) : RLX_OK;
}

rlx_status jinja_list_push(jinja_run *r, jinja_list *l, jinja_value v) {
  RLX_TRY(jinja_count(r, 1));
  if (l->n == l->cap) {
    size_t cap = l->cap ? 2 * l->cap : 4;
    jinja_value *grown;
    RLX_TRY(JINJA_NEW(r, cap, &grown));
    if (l->n) memcpy(grown, l->v, l->n * sizeof *grown);
    l->v = grown;
    l->cap = cap;
  }
  l->v[l->n++] = v;
  return RLX_OK;
}

static rlx_status characters(jinja_run *r, const jinja_text *t, jinja_list **out) {
  int32_t code;
  RLX_TRY(jinja_text_flat(r, t, &t));
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, jinja_text_characters(t), out));
  for (size_t at = 0, size; at < t->n; at += size) {
    const jinja_text *one;
    size = jinja_character(t->p + at, t->n - at, &code);
    RLX_TRY(jinja_text_slice(r, t, at, at + size, &one));
    RLX_TRY(jinja_list_push(r, *out, jinja_of_text(one)));
  }
  return RLX_OK;
}

rlx_status jinja_dict_list(jinja_run *r, const jinja_dict *d, jinja_sort sort, jinja_list **out) {
  RLX_TRY(jinja_list_new(r, sort, d->n, out));
  for (size_t i = 0; i < d->n; i++) {
    jinja_value v = sort == JINJA_VALUES ? d->values[i] : d->keys[i];
    if (sort == JINJA_ITEMS) {
      jinja_list *pair;
      RLX_TRY(jinja_list_new(r, JINJA_TUPLE, 2, &pair));
      RLX_TRY(jinja_list_push(r, pair, d->keys[i]));
      RLX_TRY(jinja_list_push(r, pair, d->values[i]));
      v = jinja_of_list(pair);
    }
    RLX_TRY(jinja_list_push(r, *out, v));
  }
  return RLX_OK;
}

rlx_status jinja_iterate(jinja_run *r, const jinja_value *v, jinja_list **out) {
  if (v->kind == JINJA_TEXT) return characters(r, v->text, out);
  if (v->kind == JINJA_DICT) return jinja_dict_list(r, v->dict, JINJA_KEYS, out);
  if (v->kind == JINJA_UNDEFINED) return jinja_list_new(r, JINJA_ARRAY, 0, out);
  if (v->kind != JINJA_LIST) return jinja_fail(r, RLX_INVALID, "a %s cannot be iterated", jinja_kind_name(v));
  *out = v->list;
  if (v->list->sort != JINJA_ITERATOR) return RLX_OK;
  jinja_list *l = v->list;
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, 0, out));
  if (l->v) (*out)->v = l->v + l->at;
  (*out)->n = (*out)->cap = l->n - l->at;
  l->at = l->n;
  return RLX_OK;
}

rlx_status jinja_unpack(jinja_run *r, const jinja_value *v, size_t n, jinja_list **out) {
  RLX_TRY(jinja_iterate(r, v, out));
  if ((*out)->n == n) return RLX_OK;
  return jinja_fail(r, RLX_INVALID, "%zu names for %zu values", n, (*out)->n);
}

/* ---- Dicts ---- */

enum { FIRST_HASHED = 8 };

rlx_status jinja_hashable(jinja_run *r, const jinja_value *v, bool *out) {
  *out = !(v->kind == JINJA_DICT ||
           (v->kind == JINJA_LIST && v->list->sort != JINJA_TUPLE && v->list->sort != JINJA_ITERATOR &&
            v->list->sort != JINJA_RANGE && v->list->sort != JINJA_VALUES));
  if (v->kind != JINJA_LIST || v->list->sort != JINJA_TUPLE) return RLX_OK;
  RLX_TRY(jinja_deeper(r));
  for (size_t i = 0; *out && i < v->list->n; i++) {
    RLX_TRY(jinja_count(r, 1));
    RLX_TRY(jinja_hashable(r, &v->list->v[i], out));
  }
  r->depth--;
  return RLX_OK;
}

/* Equal values have equal hashes: 1, 1.0 and true are one key. */
static rlx_status hash_of(jinja_run *r, const jinja_value *v, uint64_t seed, uint64_t *out) {
  uint64_t h = seed;
  if (v->kind == JINJA_TEXT) {
    const jinja_text *t;
    RLX_TRY(jinja_text_flat(r, v->text, &t));
    RLX_TRY(jinja_count(r, 1 + t->n / 16));
    h = text_hash(h, t->p, t->n);
  } else if (jinja_is_number(v)) {
    double x = jinja_as_double(v);
    h = text_hash(h, (const char *)&x, x == 0 ? 0 : sizeof x);
  }
  *out = h ^ h >> 29;
  return RLX_OK;
}

static uint64_t seed_of(const jinja_run *r) { return r->seed; }

static rlx_status index_key(jinja_run *r, jinja_dict *d, size_t i) {
  uint64_t h;
  RLX_TRY(hash_of(r, &d->keys[i], seed_of(r), &h));
  while (d->slots[h & (d->n_slots - 1)]) {
    h++;
    RLX_TRY(jinja_count(r, 1));
  }
  d->slots[h & (d->n_slots - 1)] = (uint32_t)i + 1;
  return RLX_OK;
}

rlx_status jinja_dict_new(jinja_run *r, size_t cap, jinja_dict **out) {
  RLX_TRY(JINJA_NEW(r, 1, out));
  (*out)->cap = cap;
  if (!cap) return RLX_OK;
  RLX_TRY(JINJA_NEW(r, cap, &(*out)->keys));
  return JINJA_NEW(r, cap, &(*out)->values);
}

static rlx_status find_index(jinja_run *r, const jinja_dict *d, const jinja_value *key, size_t *out) {
  bool is_same = false;
  *out = d->n;
  if (!d->slots) {
    for (size_t i = 0; i < d->n; i++) {
      RLX_TRY(jinja_equal(r, &d->keys[i], key, &is_same));
      if (!is_same) continue;
      *out = i;
      return RLX_OK;
    }
    return RLX_OK;
  }
  uint64_t h;
  RLX_TRY(hash_of(r, key, seed_of(r), &h));
  for (uint32_t slot; (slot = d->slots[h & (d->n_slots - 1)]); h++) {
    RLX_TRY(jinja_equal(r, &d->keys[slot - 1], key, &is_same));
    if (!is_same) continue;
    *out = slot - 1;
    return RLX_OK;
  }
  return RLX_OK;
}

rlx_status jinja_dict_find(jinja_run *r, const jinja_dict *d, const jinja_value *key, const jinja_value **out) {
  size_t i;
  RLX_TRY(find_index(r, d, key, &i));
  *out = i < d->n ? &d->values[i] : NULL;
  return RLX_OK;
}

static rlx_status grow_dict(jinja_run *r, jinja_dict *d) {
  size_t cap = d->cap ? 2 * d->cap : 4;
  jinja_value *keys, *values;
  RLX_TRY(JINJA_NEW(r, cap, &keys));
  RLX_TRY(JINJA_NEW(r, cap, &values));
  if (d->n) memcpy(keys, d->keys, d->n * sizeof *keys);
  if (d->n) memcpy(values, d->values, d->n * sizeof *values);
  d->keys = keys;
  d->values = values;
  d->cap = cap;
  return RLX_OK;
}

rlx_status jinja_dict_put(jinja_run *r, jinja_dict *d, jinja_value key, jinja_value value) {
  size_t i;
  bool may_be_key;
  RLX_TRY(jinja_hashable(r, &key, &may_be_key));
  if (!may_be_key) return jinja_fail(r, RLX_INVALID, "a %s cannot be a key", jinja_kind_name(&key));
  RLX_TRY(find_index(r, d, &key, &i));
  if (i < d->n) {
    d->values[i] = value;
    return RLX_OK;
  }
  if (d->n >= UINT32_MAX / 4) return jinja_fail(r, RLX_LIMIT, "a dict of %zu elements", d->n);
  if (d->n == d->cap) RLX_TRY(grow_dict(r, d));
  d->keys[d->n] = key;
  d->values[d->n++] = value;
  if (d->n < FIRST_HASHED) return RLX_OK;
  if (d->slots && 2 * d->n <= d->n_slots) return index_key(r, d, d->n - 1);
  size_t n_slots = 4 * FIRST_HASHED;
  while (n_slots < 4 * d->n) n_slots *= 2;
  RLX_TRY(JINJA_NEW(r, n_slots, &d->slots));
  d->n_slots = n_slots;
  for (i = 0; i < d->n; i++) RLX_TRY(index_key(r, d, i));
  return RLX_OK;
}

const jinja_value *jinja_dict_member(const jinja_dict *d, const char *name) {
  for (size_t i = 0; i < d->n; i++)
    if (d->keys[i].kind == JINJA_TEXT && d->keys[i].text->p && jinja_text_is(d->keys[i].text, name))
      return &d->values[i];
  return NULL;
}
