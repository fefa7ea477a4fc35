/* Attributes, indexes and slices: x.name, x[i], x[a:b:c].
 *
 * x.name is first what Python's type has under that name, then the member of a dict; x['name'] the other way round. So
 * `message.items` is the method, also where the dict has such a key. What is not there is undefined. Methods that would
 * change a list or dict are undefined too, as in the sandbox that templates run in elsewhere. */
#include <string.h>

#include "text/jinja.h"

static rlx_status undefined_name(jinja_run *r, const jinja_text *name, jinja_value *out) {
  const jinja_text *copy;
  RLX_TRY(jinja_text_copy(r, name->p, name->n, false, &copy));
  *out = jinja_undefined(copy->p);
  return RLX_OK;
}

/* ---- Attributes ---- */

static rlx_status method(jinja_run *r, const jinja_value *v, const jinja_text *name, bool *found, jinja_value *out) {
  bool is_python = false, is_forbidden = false;
  const jinja_builtin *b = jinja_method_find(v, name, &is_python, &is_forbidden);
  *found = b || is_python;
  if (is_forbidden) {
    *out = jinja_undefined("a method that changes a list or dict");
    return RLX_OK;
  }
  if (!b && is_python)
    return jinja_fail(r, RLX_UNSUPPORTED, "'%.60s' of a %s is not supported", name->p, jinja_kind_name(v));
  if (!b) return RLX_OK;
  jinja_function *f;
  RLX_TRY(JINJA_NEW(r, 1, &f));
  *f = (jinja_function){.builtin = b, .self = *v};
  *out = (jinja_value){.kind = JINJA_FUNCTION, .function = f};
  return RLX_OK;
}

static rlx_status member(jinja_run *r, const jinja_dict *d, const jinja_value *key, bool *found, jinja_value *out) {
  const jinja_value *v;
  bool may_be_key;
  RLX_TRY(jinja_hashable(r, key, &may_be_key));
  *found = false;
  if (!may_be_key) return RLX_OK;
  RLX_TRY(jinja_dict_find(r, d, key, &v));
  *found = v != NULL;
  if (v) *out = *v;
  return RLX_OK;
}

static bool is_dunder(const jinja_text *name) {
  return name->n > 4 && memcmp(name->p, "__", 2) == 0 && memcmp(name->p + name->n - 2, "__", 2) == 0;
}

/* What getattr of Python gives. */
static rlx_status own_attribute(jinja_run *r, const jinja_value *v, const jinja_text *name, bool *found,
                                jinja_value *out) {
  *found = false;
  if (is_dunder(name)) return jinja_fail(r, RLX_UNSUPPORTED, "the attribute '%.60s' is not supported", name->p);
  if (v->kind == JINJA_LOOP) {
    *found = true;
    return jinja_loop_attribute(r, v->loop, name, out);
  }
  if (v->kind == JINJA_NAMESPACE) {
    jinja_value key = jinja_of_text(name);
    return member(r, v->dict, &key, found, out);
  }
  return method(r, v, name, found, out);
}

rlx_status jinja_attribute(jinja_run *r, const jinja_value *v, const jinja_text *name, jinja_value *out) {
  bool found;
  RLX_TRY(jinja_count(r, 1));
  if (v->kind == JINJA_UNDEFINED)
    return jinja_fail(r, RLX_INVALID, "'%s' is undefined, so it has no '%.60s'", v->name, name->p);
  RLX_TRY(own_attribute(r, v, name, &found, out));
  if (!found && v->kind == JINJA_DICT) {
    jinja_value key = jinja_of_text(name);
    RLX_TRY(member(r, v->dict, &key, &found, out));
  }
  return found ? RLX_OK : undefined_name(r, name, out);
}

/* ---- Indexes ---- */

static bool is_index(const jinja_value *v) { return v->kind == JINJA_INT || v->kind == JINJA_BOOL; }

/* Byte offset of a character; from the end if negative. False: there is none. */
static bool character_at(const jinja_text *t, int64_t index, size_t *at, size_t *size) {
  int32_t code;
  size_t n = jinja_text_characters(t);
  if (index < 0) index += (int64_t)n;
  if (index < 0 || (uint64_t)index >= n) return false;
  *at = t->is_ascii ? (size_t)index : 0;
  for (int64_t i = 0; i < index && !t->is_ascii; i++) *at += jinja_character(t->p + *at, t->n - *at, &code);
  *size = jinja_character(t->p + *at, t->n - *at, &code);
  return true;
}

static rlx_status text_item(jinja_run *r, const jinja_value *v, int64_t index, bool *found, jinja_value *out) {
  const jinja_text *t, *one;
  size_t at, size;
  RLX_TRY(jinja_text_flat(r, v->text, &t));
  if (!t->is_ascii) RLX_TRY(jinja_count(r, t->n / 16));
  *found = character_at(t, index, &at, &size);
  if (!*found) return RLX_OK;
  RLX_TRY(jinja_text_slice(r, t, at, at + size, &one));
  *out = jinja_of_text(one);
  out->is_markup = v->is_markup;
  return RLX_OK;
}

rlx_status jinja_item(jinja_run *r, const jinja_value *v, const jinja_value *key, jinja_value *out) {
  bool found = false;
  const jinja_text *name;
  RLX_TRY(jinja_count(r, 1));
  if (v->kind == JINJA_UNDEFINED)
    return jinja_fail(r, RLX_INVALID, "'%s' is undefined, so it has no elements", v->name);
  if (v->kind == JINJA_DICT) {
    RLX_TRY(member(r, v->dict, key, &found, out));
  } else if (v->kind == JINJA_TEXT && is_index(key)) {
    RLX_TRY(text_item(r, v, jinja_as_int(key), &found, out));
  } else if (v->kind == JINJA_LIST && is_index(key) && (v->list->sort <= JINJA_TUPLE || v->list->sort == JINJA_RANGE)) {
    int64_t index = jinja_as_int(key);
    if (index < 0) index += (int64_t)v->list->n;
    found = index >= 0 && (uint64_t)index < v->list->n;
    if (found) *out = v->list->v[index];
  }
  if (found) return RLX_OK;
  if (key->kind == JINJA_TEXT) {
    RLX_TRY(jinja_text_flat(r, key->text, &name));
    if (memchr(name->p, 0, name->n)) return undefined_name(r, name, out);
    const jinja_text *ended;
    RLX_TRY(jinja_text_copy(r, name->p, name->n, false, &ended)); /* messages need the NUL behind it */
    RLX_TRY(own_attribute(r, v, ended, &found, out));
    return found ? RLX_OK : undefined_name(r, ended, out);
  }
  *out = jinja_undefined("an element");
  return RLX_OK;
}

/* ---- Slices ---- */

typedef struct bounds {
  int64_t start, stop, step;
  size_t n; /* elements that it takes */
} bounds;

/* As Python's slice.indices. */
static rlx_status settle(const jinja_run *r, const jinja_value given[3], size_t length, bounds *b) {
  int64_t n = (int64_t)length;
  b->step = given[2].kind == JINJA_NONE ? 1 : jinja_as_int(&given[2]);
  if (b->step == 0) return jinja_fail(r, RLX_INVALID, "a slice with a step of zero");
  int64_t low = b->step < 0 ? -1 : 0, high = b->step < 0 ? n - 1 : n, *out[2] = {&b->start, &b->stop};
  for (int i = 0; i < 2; i++) {
    int64_t x = jinja_as_int(&given[i]);
    if (given[i].kind == JINJA_NONE) x = (i == 0) == (b->step > 0) ? low : high;
    else if (x < 0) x = x < -n ? low : x + n < low ? low : x + n;
    else x = x > high ? high : x;
    *out[i] = x;
  }
  uint64_t span = b->step > 0 ? (b->stop > b->start ? (uint64_t)(b->stop - b->start) : 0)
                              : (b->start > b->stop ? (uint64_t)(b->start - b->stop) : 0);
  uint64_t step = b->step > 0 ? (uint64_t)b->step : -(uint64_t)b->step;
  b->n = span ? (size_t)((span - 1) / step + 1) : 0;
  return RLX_OK;
}

static rlx_status slice_text(jinja_run *r, const jinja_value *v, const jinja_value given[3], jinja_value *out) {
  const jinja_text *t, *part;
  bounds b;
  RLX_TRY(jinja_text_flat(r, v->text, &t));
  RLX_TRY(settle(r, given, jinja_text_characters(t), &b));
  RLX_TRY(jinja_count(r, t->n / 16 + b.n));
  if (b.step == 1) {
    size_t from = (size_t)b.start, to = (size_t)b.start + b.n;
    int32_t code;
    if (!t->is_ascii) {
      size_t at = 0, i = 0;
      for (; i < (size_t)b.start && at < t->n; i++) at += jinja_character(t->p + at, t->n - at, &code);
      from = at;
      for (i = 0; i < b.n; i++) at += jinja_character(t->p + at, t->n - at, &code);
      to = at;
    }
    RLX_TRY(jinja_text_slice(r, t, from, to, &part));
    *out = jinja_of_text(part);
  } else {
    jinja_builder all = {0};
    jinja_list *characters;
    jinja_value whole = jinja_of_text(t);
    RLX_TRY(jinja_iterate(r, &whole, &characters));
    for (size_t i = 0; i < b.n; i++)
      RLX_TRY(jinja_add_text(r, &all, characters->v[b.start + (int64_t)i * b.step].text));
    RLX_TRY(jinja_built(r, &all, out));
  }
  out->is_markup = v->is_markup;
  return RLX_OK;
}

rlx_status jinja_slice(jinja_run *r, const jinja_value *v, const jinja_value given[3], jinja_value *out) {
  bounds b;
  if (v->kind == JINJA_UNDEFINED) return jinja_fail(r, RLX_INVALID, "'%s' is undefined, so it has no slices", v->name);
  bool is_list = v->kind == JINJA_LIST && (v->list->sort <= JINJA_TUPLE || v->list->sort == JINJA_RANGE);
  bool is_sliced = is_list || v->kind == JINJA_TEXT;
  for (size_t i = 0; i < 3; i++) is_sliced = is_sliced && (given[i].kind == JINJA_NONE || is_index(&given[i]));
  if (!is_sliced) return jinja_fail(r, RLX_INVALID, "a slice of a %s, or by what is no integer", jinja_kind_name(v));
  if (v->kind == JINJA_TEXT) return slice_text(r, v, given, out);
  RLX_TRY(settle(r, given, v->list->n, &b));
  jinja_list *l;
  RLX_TRY(jinja_list_new(r, v->list->sort, b.n, &l));
  for (size_t i = 0; i < b.n; i++) RLX_TRY(jinja_list_push(r, l, v->list->v[b.start + (int64_t)i * b.step]));
  if (l->sort == JINJA_RANGE) {
    l->start = v->list->start + b.start * v->list->step;
    l->stop = v->list->start + b.stop * v->list->step;
    l->step = v->list->step * b.step;
  }
  *out = jinja_of_list(l);
  return RLX_OK;
}

/* ---- loop.* ---- */

/* The element before or after the current one; undefined at the ends. */
static rlx_status neighbour(jinja_run *r, jinja_loop *l, bool is_next, jinja_value *out) {
  bool found = l->index > 0;
  size_t at = is_next ? l->index + 1 : l->index - 1;
  if (is_next) {
    found = at < l->passed.n;
    if (!found) RLX_TRY(jinja_loop_pull(r, l, &found));
  }
  *out = found ? l->passed.v[at] : jinja_undefined(is_next ? "loop.nextitem" : "loop.previtem");
  return RLX_OK;
}

static rlx_status loop_length(jinja_run *r, jinja_loop *l, int64_t *out) {
  bool found = true;
  while (found) RLX_TRY(jinja_loop_pull(r, l, &found));
  *out = (int64_t)l->passed.n;
  return RLX_OK;
}

rlx_status jinja_loop_attribute(jinja_run *r, jinja_loop *l, const jinja_text *name, jinja_value *out) {
  int64_t index = (int64_t)l->index, length = 0;
  bool found;
  if (jinja_text_is(name, "index")) *out = jinja_int(index + 1);
  else if (jinja_text_is(name, "index0")) *out = jinja_int(index);
  else if (jinja_text_is(name, "first")) *out = jinja_bool(index == 0);
  else if (jinja_text_is(name, "depth")) *out = jinja_int(1);
  else if (jinja_text_is(name, "depth0")) *out = jinja_int(0);
  else if (jinja_text_is(name, "previtem")) return neighbour(r, l, false, out);
  else if (jinja_text_is(name, "nextitem")) return neighbour(r, l, true, out);
  else if (jinja_text_is(name, "last")) {
    jinja_value next;
    RLX_TRY(neighbour(r, l, true, &next));
    *out = jinja_bool(l->index + 1 >= l->passed.n);
  } else if (jinja_text_is(name, "length") || jinja_text_is(name, "revindex") || jinja_text_is(name, "revindex0")) {
    RLX_TRY(loop_length(r, l, &length));
    *out = jinja_int(jinja_text_is(name, "length") ? length : length - index - jinja_text_is(name, "revindex0"));
  } else {
    jinja_value self = {.kind = JINJA_LOOP, .loop = l};
    RLX_TRY(method(r, &self, name, &found, out));
    if (!found) return undefined_name(r, name, out);
  }
  return RLX_OK;
}
