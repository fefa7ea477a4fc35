/* Tests: what follows `is`. */
#include <string.h>

#include "text/jinja.h"

static rlx_status give(bool holds, jinja_value *out) {
  *out = jinja_bool(holds);
  return RLX_OK;
}

static JINJA_FN(test_defined) { return (void)r, (void)args, give(self->kind != JINJA_UNDEFINED, out); }
static JINJA_FN(test_undefined) { return (void)r, (void)args, give(self->kind == JINJA_UNDEFINED, out); }
static JINJA_FN(test_none) { return (void)r, (void)args, give(self->kind == JINJA_NONE, out); }
static JINJA_FN(test_boolean) { return (void)r, (void)args, give(self->kind == JINJA_BOOL, out); }
static JINJA_FN(test_true) { return (void)r, (void)args, give(self->kind == JINJA_BOOL && self->boolean, out); }
static JINJA_FN(test_false) { return (void)r, (void)args, give(self->kind == JINJA_BOOL && !self->boolean, out); }
static JINJA_FN(test_integer) { return (void)r, (void)args, give(self->kind == JINJA_INT, out); }
static JINJA_FN(test_float) { return (void)r, (void)args, give(self->kind == JINJA_FLOAT, out); }
static JINJA_FN(test_number) { return (void)r, (void)args, give(jinja_is_number(self), out); }
static JINJA_FN(test_string) { return (void)r, (void)args, give(self->kind == JINJA_TEXT, out); }
static JINJA_FN(test_mapping) { return (void)r, (void)args, give(self->kind == JINJA_DICT, out); }
static JINJA_FN(test_escaped) { return (void)r, (void)args, give(self->kind == JINJA_TEXT && self->is_markup, out); }
static JINJA_FN(test_callable) {
  return (void)r, (void)args,
         give(self->kind == JINJA_MACRO || self->kind == JINJA_FUNCTION || self->kind == JINJA_UNDEFINED ||
                self->kind == JINJA_LOOP,
              out);
}

static bool is_plain(const jinja_value *v) {
  return v->kind == JINJA_TEXT || v->kind == JINJA_DICT || v->kind == JINJA_UNDEFINED;
}
static JINJA_FN(test_iterable) {
  return (void)r, (void)args, give(is_plain(self) || self->kind == JINJA_LIST || self->kind == JINJA_LOOP, out);
}
static JINJA_FN(test_sequence) { /* has a length and indexes: so does a dict, and what is undefined */
  bool is_list = self->kind == JINJA_LIST && (self->list->sort <= JINJA_TUPLE || self->list->sort == JINJA_RANGE);
  return (void)r, (void)args, give(is_plain(self) || is_list, out);
}

static JINJA_FN(test_sameas) {
  const jinja_value *other = &args->p[0];
  if (self->kind != other->kind || self->kind == JINJA_NONE) return give(self->kind == other->kind, out);
  if (self->kind == JINJA_BOOL) return give(self->boolean == other->boolean, out);
  return jinja_fail(r, RLX_UNSUPPORTED, "the identity of a %s is not supported", jinja_kind_name(self));
}

/* self modulo n is `rest`. */
static rlx_status divides(jinja_run *r, const jinja_value *self, const jinja_value *n, int64_t rest, jinja_value *out) {
  jinja_value left, right = jinja_int(rest);
  bool holds;
  RLX_TRY(jinja_arithmetic(r, OP_MODULO, self, n, &left));
  RLX_TRY(jinja_equal(r, &left, &right, &holds));
  return give(holds, out);
}
static JINJA_FN(test_odd) {
  jinja_value two = jinja_int(2);
  return (void)args, divides(r, self, &two, 1, out);
}
static JINJA_FN(test_even) {
  jinja_value two = jinja_int(2);
  return (void)args, divides(r, self, &two, 0, out);
}
static JINJA_FN(test_divisibleby) { return divides(r, self, &args->p[0], 0, out); }

static rlx_status compared(jinja_run *r, jinja_op op, const jinja_value *self, const jinja_args *args,
                           jinja_value *out) {
  bool holds;
  RLX_TRY(jinja_compare(r, op, self, &args->p[0], &holds));
  return give(holds, out);
}
static JINJA_FN(test_eq) { return compared(r, OP_EQUAL, self, args, out); }
static JINJA_FN(test_ne) { return compared(r, OP_NOT_EQUAL, self, args, out); }
static JINJA_FN(test_lt) { return compared(r, OP_LESS, self, args, out); }
static JINJA_FN(test_le) { return compared(r, OP_LESS_EQUAL, self, args, out); }
static JINJA_FN(test_gt) { return compared(r, OP_GREATER, self, args, out); }
static JINJA_FN(test_ge) { return compared(r, OP_GREATER_EQUAL, self, args, out); }
static JINJA_FN(test_in) { return compared(r, OP_IN, self, args, out); }

static JINJA_FN(test_filter) {
  const jinja_text *t;
  (void)args;
  RLX_TRY(jinja_text_argument(r, "is filter", self, &t));
  return give(jinja_filter_find(t->p, t->n) != NULL, out);
}
static JINJA_FN(test_test) {
  const jinja_text *t;
  (void)args;
  RLX_TRY(jinja_text_argument(r, "is test", self, &t));
  return give(jinja_test_find(t->p, t->n) != NULL, out);
}

static const jinja_builtin tests[] = {
  {"!=", "/!other", test_ne},
  {"<", "/!other", test_lt},
  {"<=", "/!other", test_le},
  {"==", "/!other", test_eq},
  {">", "/!other", test_gt},
  {">=", "/!other", test_ge},
  {"boolean", "", test_boolean},
  {"callable", "", test_callable},
  {"defined", "", test_defined},
  {"divisibleby", "!num", test_divisibleby},
  {"eq", "/!other", test_eq},
  {"equalto", "/!other", test_eq},
  {"escaped", "", test_escaped},
  {"even", "", test_even},
  {"false", "", test_false},
  {"filter", "", test_filter},
  {"float", "", test_float},
  {"ge", "/!other", test_ge},
  {"greaterthan", "/!other", test_gt},
  {"gt", "/!other", test_gt},
  {"in", "!seq", test_in},
  {"integer", "", test_integer},
  {"iterable", "", test_iterable},
  {"le", "/!other", test_le},
  {"lessthan", "/!other", test_lt},
  {"lower", "", jinja_is_lower},
  {"lt", "/!other", test_lt},
  {"mapping", "", test_mapping},
  {"ne", "/!other", test_ne},
  {"none", "", test_none},
  {"number", "", test_number},
  {"odd", "", test_odd},
  {"sameas", "!other", test_sameas},
  {"sequence", "", test_sequence},
  {"string", "", test_string},
  {"test", "", test_test},
  {"true", "", test_true},
  {"undefined", "", test_undefined},
  {"upper", "", jinja_is_upper},
};

const jinja_builtin *jinja_test_find(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    if (strlen(tests[i].name) == n && memcmp(tests[i].name, name, n) == 0) return &tests[i];
  return NULL;
}
