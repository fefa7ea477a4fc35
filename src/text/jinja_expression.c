/* The parser of expressions: one function per level of precedence, as Jinja's grammar has them.
 *
 * Two things surprise those who know Python: `-x|f` negates before it filters, and a test takes one argument without
 * parentheses (`x is divisibleby 3`). Filters and tests are looked up here, once. A name that Jinja does not have is an
 * error of the template, except in a branch: there it fails when it is reached, as in Jinja. */
#include <stdio.h>
#include <string.h>

#include "text/jinja.h"

static bool is_op(const jinja_parser *p, const char *text) { return jinja_is(p, LEX_OPERATOR, text); }
static bool accept_op(jinja_parser *p, const char *text) { return jinja_accept(p, LEX_OPERATOR, text); }
static bool is_word(const jinja_parser *p, const char *text) { return jinja_is(p, LEX_NAME, text); }
static bool accept_word(jinja_parser *p, const char *text) { return jinja_accept(p, LEX_NAME, text); }

static rlx_status node_of(jinja_parser *p, jinja_op op, jinja_node **out) {
  *out = jinja_node_new(p, op);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a chat template");
}

static rlx_status unary_of(jinja_parser *p, jinja_op op, jinja_node *a, jinja_node **out) {
  RLX_TRY(node_of(p, op, out));
  (*out)->a = a;
  return RLX_OK;
}

/* The text of a name or string token. */
static rlx_status text_of(jinja_parser *p, const char *bytes, size_t n, jinja_value *out) {
  jinja_text *t = rlx_bump_new(&p->program->heap, jinja_text);
  if (!t) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  const char *copy = rlx_bump_text(&p->program->heap, bytes, n);
  if (!copy) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  *t = (jinja_text){.n = n, .p = copy, .is_ascii = true};
  for (size_t i = 0; i < n; i++) t->is_ascii &= (unsigned char)bytes[i] < 0x80;
  *out = jinja_of_text(t);
  return RLX_OK;
}

/* ---- Primaries ---- */

static rlx_status parse_list(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_LIST, out));
  RLX_TRY(jinja_expect(p, LEX_OPERATOR, "["));
  while (!is_op(p, "]")) {
    jinja_node *item;
    if ((*out)->items.n) RLX_TRY(jinja_expect(p, LEX_OPERATOR, ","));
    if (is_op(p, "]")) break;
    RLX_TRY(jinja_parse_expression(p, true, &item));
    RLX_TRY(jinja_push_node(p, &(*out)->items, item));
  }
  return jinja_expect(p, LEX_OPERATOR, "]");
}

static rlx_status parse_dict(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_DICT, out));
  RLX_TRY(jinja_expect(p, LEX_OPERATOR, "{"));
  while (!is_op(p, "}")) {
    jinja_node *item;
    if ((*out)->items.n) RLX_TRY(jinja_expect(p, LEX_OPERATOR, ","));
    if (is_op(p, "}")) break;
    RLX_TRY(jinja_parse_expression(p, true, &item));
    RLX_TRY(jinja_push_node(p, &(*out)->items, item));
    RLX_TRY(jinja_expect(p, LEX_OPERATOR, ":"));
    RLX_TRY(jinja_parse_expression(p, true, &item));
    RLX_TRY(jinja_push_node(p, &(*out)->items, item));
  }
  return jinja_expect(p, LEX_OPERATOR, "}");
}

static rlx_status parse_strings(jinja_parser *p, jinja_node **out) {
  const jinja_token *first = p->at;
  RLX_TRY(node_of(p, OP_CONST, out));
  size_t n = 0;
  for (; p->at->kind == LEX_STRING; p->at++) n += p->at->n;
  char *joined = rlx_bump_alloc(&p->program->heap, n + 1, 1);
  if (!joined) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  n = 0;
  for (const jinja_token *t = first; t < p->at; t++) {
    memcpy(joined + n, t->p, t->n);
    n += t->n;
  }
  return text_of(p, joined, n, &(*out)->value);
}

static bool is_constant(const jinja_token *t, jinja_value *out) {
  static const struct {
    const char *name;
    jinja_value value;
  } names[] = {
    {"true", {.kind = JINJA_BOOL, .boolean = true}},
    {"True", {.kind = JINJA_BOOL, .boolean = true}},
    {"false", {.kind = JINJA_BOOL}},
    {"False", {.kind = JINJA_BOOL}},
    {"none", {.kind = JINJA_NONE}},
    {"None", {.kind = JINJA_NONE}},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (t->n == strlen(names[i].name) && memcmp(t->p, names[i].name, t->n) == 0) {
      *out = names[i].value;
      return true;
    }
  return false;
}

static rlx_status parse_name(jinja_parser *p, bool with_namespace, jinja_node **out) {
  const jinja_token *t = p->at;
  jinja_value constant;
  if (is_constant(t, &constant)) {
    RLX_TRY(node_of(p, OP_CONST, out));
    (*out)->value = constant;
    p->at++;
    return RLX_OK;
  }
  if (t->n == 4 && memcmp(t->p, "self", 4) == 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: 'self' is not supported", (unsigned)t->line);
  RLX_TRY(node_of(p, OP_NAME, out));
  RLX_TRY(jinja_intern(p, t->p, t->n, &(*out)->id));
  p->at++;
  if (!with_namespace || !accept_op(p, ".")) return RLX_OK;
  (*out)->op = OP_NAMESPACE_TARGET;
  if (p->at->kind != LEX_NAME) return jinja_expected(p, "the name of an attribute");
  RLX_TRY(text_of(p, p->at->p, p->at->n, &(*out)->value));
  p->at++;
  return RLX_OK;
}

static rlx_status parse_primary(jinja_parser *p, bool with_namespace, jinja_node **out) {
  const jinja_token *t = p->at;
  if (t->kind == LEX_NAME) return parse_name(p, with_namespace, out);
  if (t->kind == LEX_STRING) return parse_strings(p, out);
  if (t->kind == LEX_INTEGER || t->kind == LEX_NUMBER) {
    RLX_TRY(node_of(p, OP_CONST, out));
    (*out)->value = t->kind == LEX_INTEGER ? jinja_int(t->integer) : jinja_float(t->number);
    p->at++;
    return RLX_OK;
  }
  if (accept_op(p, "(")) {
    RLX_TRY(jinja_parse_tuple(p, true, true, NULL, out));
    return jinja_expect(p, LEX_OPERATOR, ")");
  }
  if (is_op(p, "[")) return parse_list(p, out);
  if (is_op(p, "{")) return parse_dict(p, out);
  return jinja_expected(p, "an expression");
}

/* ---- Calls ---- */

static rlx_status parse_named(jinja_parser *p, jinja_node *call) {
  jinja_node *named;
  RLX_TRY(node_of(p, OP_CONST, &named));
  RLX_TRY(text_of(p, p->at->p, p->at->n, &named->value));
  p->at += 2;
  RLX_TRY(jinja_parse_expression(p, true, &named->a));
  return jinja_push_node(p, &call->named, named);
}

/* After the opening parenthesis. */
static rlx_status parse_arguments(jinja_parser *p, jinja_node *call) {
  for (bool is_first = true; !accept_op(p, ")"); is_first = false) {
    if (!is_first) {
      RLX_TRY(jinja_expect(p, LEX_OPERATOR, ","));
      if (accept_op(p, ")")) return RLX_OK;
    }
    bool is_named = p->at->kind == LEX_NAME && p->at[1].kind == LEX_OPERATOR && p->at[1].n == 1 && *p->at[1].p == '=';
    jinja_node *item;
    if (call->stars) return jinja_expected(p, "the end of the arguments after **");
    if (!call->star && accept_op(p, "*")) {
      RLX_TRY(jinja_parse_expression(p, true, &call->star));
    } else if (accept_op(p, "**")) {
      RLX_TRY(jinja_parse_expression(p, true, &call->stars));
    } else if (is_named) {
      RLX_TRY(parse_named(p, call));
    } else {
      if (call->star || call->named.n) return jinja_expected(p, "a named argument after named ones");
      RLX_TRY(jinja_parse_expression(p, true, &item));
      RLX_TRY(jinja_push_node(p, &call->items, item));
    }
  }
  return RLX_OK;
}

static rlx_status parse_call(jinja_parser *p, jinja_node **e) {
  jinja_node *call;
  RLX_TRY(unary_of(p, OP_CALL, *e, &call));
  p->at++;
  RLX_TRY(parse_arguments(p, call));
  *e = call;
  return RLX_OK;
}

static rlx_status parse_bound(jinja_parser *p, jinja_node **out) {
  if (is_op(p, ":") || is_op(p, "]") || is_op(p, ",")) {
    RLX_TRY(node_of(p, OP_CONST, out));
    (*out)->value = jinja_none();
    return RLX_OK;
  }
  return jinja_parse_expression(p, true, out);
}

/* What is between brackets: an index, or a slice. */
static rlx_status parse_index(jinja_parser *p, jinja_node *item) {
  jinja_node *bounds[3] = {NULL, NULL, NULL};
  if (!is_op(p, ":")) {
    RLX_TRY(jinja_parse_expression(p, true, &bounds[0]));
    if (!is_op(p, ":")) {
      item->b = bounds[0];
      return RLX_OK;
    }
  } else {
    RLX_TRY(parse_bound(p, &bounds[0]));
  }
  RLX_TRY(jinja_expect(p, LEX_OPERATOR, ":"));
  RLX_TRY(parse_bound(p, &bounds[1]));
  if (accept_op(p, ":")) RLX_TRY(parse_bound(p, &bounds[2]));
  else {
    RLX_TRY(node_of(p, OP_CONST, &bounds[2]));
    bounds[2]->value = jinja_none();
  }
  item->op = OP_SLICE;
  for (size_t i = 0; i < 3; i++) RLX_TRY(jinja_push_node(p, &item->items, bounds[i]));
  return RLX_OK;
}

static rlx_status parse_access(jinja_parser *p, jinja_node **e) {
  jinja_node *item;
  if (accept_op(p, ".")) {
    const jinja_token *t = p->at;
    RLX_TRY(unary_of(p, t->kind == LEX_INTEGER ? OP_ITEM : OP_ATTRIBUTE, *e, &item));
    if (t->kind == LEX_INTEGER) {
      RLX_TRY(node_of(p, OP_CONST, &item->b));
      item->b->value = jinja_int(t->integer);
    } else if (t->kind == LEX_NAME) {
      RLX_TRY(text_of(p, t->p, t->n, &item->value));
    } else {
      return jinja_expected(p, "the name of an attribute, or a number");
    }
    p->at++;
  } else {
    RLX_TRY(unary_of(p, OP_ITEM, *e, &item));
    p->at++;
    RLX_TRY(parse_index(p, item));
    if (is_op(p, ","))
      return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: an index of several values is not supported",
                      (unsigned)p->at->line);
    RLX_TRY(jinja_expect(p, LEX_OPERATOR, "]"));
  }
  *e = item;
  return RLX_OK;
}

static rlx_status parse_postfix(jinja_parser *p, jinja_node **e) {
  for (;;) {
    if (is_op(p, ".") || is_op(p, "[")) RLX_TRY(parse_access(p, e));
    else if (is_op(p, "(")) RLX_TRY(parse_call(p, e));
    else return RLX_OK;
  }
}

/* ---- Filters and tests ---- */

static rlx_status find_builtin(jinja_parser *p, jinja_node *n, bool is_filter) {
  char name[64];
  const jinja_token *t = p->at;
  if (t->kind != LEX_NAME) return jinja_expected(p, is_filter ? "the name of a filter" : "the name of a test");
  RLX_TRY(text_of(p, t->p, t->n, &n->value));
  n->line = t->line;
  n->builtin = is_filter ? jinja_filter_find(t->p, t->n) : jinja_test_find(t->p, t->n);
  snprintf(name, sizeof name, "%.*s", t->n < sizeof name ? (int)t->n : 60, t->p);
  if (!n->builtin && !p->is_soft)
    return RLX_FAIL(RLX_INVALID, "chat template, line %u: there is no %s '%s'", (unsigned)t->line,
                    is_filter ? "filter" : "test", name);
  p->at++;
  if (is_op(p, "."))
    return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: '%s.': a %s with a dot in its name", (unsigned)t->line,
                    name, is_filter ? "filter" : "test");
  return RLX_OK;
}

rlx_status jinja_parse_filters(jinja_parser *p, jinja_node *value, bool starts_inline, jinja_node **out) {
  *out = value;
  while (starts_inline || accept_op(p, "|")) {
    jinja_node *f;
    starts_inline = false;
    RLX_TRY(unary_of(p, OP_FILTER, *out, &f));
    RLX_TRY(find_builtin(p, f, true));
    if (accept_op(p, "(")) RLX_TRY(parse_arguments(p, f));
    *out = f;
  }
  return RLX_OK;
}

static bool begins_argument(const jinja_parser *p) {
  if (p->at->kind == LEX_OPERATOR) return is_op(p, "[") || is_op(p, "{");
  if (p->at->kind == LEX_NAME) return !is_word(p, "else") && !is_word(p, "or") && !is_word(p, "and");
  return p->at->kind == LEX_STRING || p->at->kind == LEX_INTEGER || p->at->kind == LEX_NUMBER;
}

static rlx_status parse_test(jinja_parser *p, jinja_node **e) {
  jinja_node *test, *argument;
  p->at++;
  bool is_negated = accept_word(p, "not");
  RLX_TRY(unary_of(p, OP_TEST, *e, &test));
  RLX_TRY(find_builtin(p, test, false));
  if (accept_op(p, "(")) {
    RLX_TRY(parse_arguments(p, test));
  } else if (begins_argument(p)) {
    if (is_word(p, "is")) return jinja_expected(p, "no second test after a test");
    RLX_TRY(parse_primary(p, false, &argument));
    RLX_TRY(parse_postfix(p, &argument));
    RLX_TRY(jinja_push_node(p, &test->items, argument));
  }
  *e = test;
  return is_negated ? unary_of(p, OP_NOT, test, e) : RLX_OK;
}

static rlx_status parse_filter_part(jinja_parser *p, jinja_node **e) {
  for (;;) {
    if (is_op(p, "|")) RLX_TRY(jinja_parse_filters(p, *e, false, e));
    else if (is_word(p, "is")) RLX_TRY(parse_test(p, e));
    else if (is_op(p, "(")) RLX_TRY(parse_call(p, e));
    else return RLX_OK;
  }
}

/* ---- Operators, from the tightest ---- */

static rlx_status parse_unary(jinja_parser *p, bool with_filter, jinja_node **out) {
  RLX_TRY(jinja_enter(p));
  if (is_op(p, "-") || is_op(p, "+")) {
    jinja_node *a;
    RLX_TRY(node_of(p, is_op(p, "-") ? OP_NEGATE : OP_PLUS, out));
    p->at++;
    RLX_TRY(parse_unary(p, false, &a));
    (*out)->a = a;
  } else {
    RLX_TRY(parse_primary(p, false, out));
  }
  RLX_TRY(parse_postfix(p, out));
  if (with_filter) RLX_TRY(parse_filter_part(p, out));
  p->depth--;
  return RLX_OK;
}

typedef struct binary {
  const char *text;
  jinja_op op;
} binary;

static const binary *find_binary(const jinja_parser *p, const binary *ops, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (is_op(p, ops[i].text)) return &ops[i];
  return NULL;
}

static rlx_status parse_level(jinja_parser *p, unsigned level, jinja_node **out);

static rlx_status parse_left(jinja_parser *p, unsigned level, const binary *ops, size_t n, jinja_node **out) {
  RLX_TRY(parse_level(p, level + 1, out));
  for (const binary *b; (b = find_binary(p, ops, n));) {
    jinja_node *both;
    RLX_TRY(unary_of(p, b->op, *out, &both));
    p->at++;
    RLX_TRY(parse_level(p, level + 1, &both->b));
    *out = both;
  }
  return RLX_OK;
}

static rlx_status parse_concat(jinja_parser *p, jinja_node **out) {
  jinja_node *all;
  RLX_TRY(parse_level(p, 2, out));
  if (!is_op(p, "~")) return RLX_OK;
  RLX_TRY(node_of(p, OP_CONCAT, &all));
  RLX_TRY(jinja_push_node(p, &all->items, *out));
  while (accept_op(p, "~")) {
    RLX_TRY(parse_level(p, 2, out));
    RLX_TRY(jinja_push_node(p, &all->items, *out));
  }
  *out = all;
  return RLX_OK;
}

static rlx_status parse_level(jinja_parser *p, unsigned level, jinja_node **out) {
  static const binary sums[] = {{"+", OP_ADD}, {"-", OP_SUBTRACT}};
  static const binary products[] = {{"*", OP_MULTIPLY}, {"/", OP_DIVIDE}, {"//", OP_FLOOR_DIVIDE}, {"%", OP_MODULO}};
  static const binary powers[] = {{"**", OP_POWER}};
  switch (level) {
    case 0: return parse_left(p, 0, sums, 2, out);
    case 1: return parse_concat(p, out);
    case 2: return parse_left(p, 2, products, 4, out);
    case 3: return parse_left(p, 3, powers, 1, out);
    default: return parse_unary(p, true, out);
  }
}

static rlx_status parse_compare(jinja_parser *p, jinja_node **out) {
  static const binary ops[] = {{"==", OP_EQUAL},      {"!=", OP_NOT_EQUAL}, {"<", OP_LESS},
                               {"<=", OP_LESS_EQUAL}, {">", OP_GREATER},    {">=", OP_GREATER_EQUAL}};
  jinja_node *all = NULL, *next;
  uint8_t list[16];
  size_t n = 0;
  RLX_TRY(parse_level(p, 0, out));
  for (;;) {
    const binary *b = find_binary(p, ops, sizeof ops / sizeof *ops);
    jinja_op op = b ? b->op : is_word(p, "in") ? OP_IN : OP_NOT_IN;
    bool is_not_in = is_word(p, "not") && p->at[1].kind == LEX_NAME && p->at[1].n == 2 && !memcmp(p->at[1].p, "in", 2);
    if (!b && op == OP_NOT_IN && !is_not_in) break;
    if (!all) RLX_TRY(unary_of(p, OP_COMPARE, *out, &all));
    if (n == sizeof list) return jinja_expected(p, "at most 16 comparisons in a chain");
    list[n++] = (uint8_t)op;
    p->at += is_not_in ? 2 : 1;
    RLX_TRY(parse_level(p, 0, &next));
    RLX_TRY(jinja_push_node(p, &all->items, next));
  }
  if (!all) return RLX_OK;
  *out = all;
  all->operators = rlx_bump_copy(&p->program->heap, list, n, 1);
  return all->operators ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a chat template");
}

static rlx_status parse_not(jinja_parser *p, jinja_node **out) {
  if (!is_word(p, "not")) return parse_compare(p, out);
  RLX_TRY(jinja_enter(p));
  RLX_TRY(node_of(p, OP_NOT, out));
  p->at++;
  RLX_TRY(parse_not(p, &(*out)->a));
  p->depth--;
  return RLX_OK;
}

static rlx_status parse_logic(jinja_parser *p, bool is_or, jinja_node **out) {
  RLX_TRY(is_or ? parse_logic(p, false, out) : parse_not(p, out));
  jinja_node *all = NULL, *next;
  while (is_word(p, is_or ? "or" : "and")) {
    if (!all) {
      RLX_TRY(node_of(p, is_or ? OP_OR : OP_AND, &all));
      RLX_TRY(jinja_push_node(p, &all->items, *out));
    }
    p->at++;
    RLX_TRY(is_or ? parse_logic(p, false, &next) : parse_not(p, &next));
    RLX_TRY(jinja_push_node(p, &all->items, next));
  }
  if (all) *out = all;
  return RLX_OK;
}

/* a if b else c. The parts are read before it is known that they are branches, so filters in them are strict only where
 * the whole expression is: `b` and what follows "if". */
static rlx_status parse_conditional(jinja_parser *p, jinja_node **out) {
  bool was_soft = p->is_soft;
  const jinja_token *start = p->at;
  rlx_status s = parse_logic(p, true, out);
  if (s == RLX_INVALID && !was_soft) { /* an unknown filter in what may turn out to be a branch */
    p->is_soft = true;
    p->at = start;
    uint32_t depth = p->depth;
    rlx_saved_message m;
    rlx_message_save(&m);
    if (parse_logic(p, true, out) == RLX_OK && is_word(p, "if")) s = RLX_OK;
    else rlx_message_restore(&m);
    p->depth = depth;
    p->is_soft = was_soft;
  }
  RLX_TRY(s);
  while (is_word(p, "if")) {
    jinja_node *all;
    RLX_TRY(unary_of(p, OP_CONDITIONAL, *out, &all));
    p->at++;
    p->is_soft = true;
    RLX_TRY(parse_logic(p, true, &all->b));
    if (accept_word(p, "else")) {
      RLX_TRY(jinja_enter(p));
      RLX_TRY(parse_conditional(p, &all->c));
      p->depth--;
    }
    p->is_soft = was_soft;
    *out = all;
  }
  return RLX_OK;
}

rlx_status jinja_parse_expression(jinja_parser *p, bool with_conditional, jinja_node **out) {
  RLX_TRY(jinja_enter(p));
  RLX_TRY(with_conditional ? parse_conditional(p, out) : parse_logic(p, true, out));
  p->depth--;
  return RLX_OK;
}

static bool ends_tuple(const jinja_parser *p, const char *end) {
  return p->at->kind == LEX_BLOCK_END || p->at->kind == LEX_OUTPUT_END || is_op(p, ")") || (end && is_word(p, end));
}

static rlx_status parse_elements(jinja_parser *p, bool is_target, bool with_flag, bool may_be_empty, const char *end,
                                 jinja_node **out) {
  jinja_node *all = NULL, *one = NULL;
  for (;;) {
    if (ends_tuple(p, end)) break;
    RLX_TRY(is_target ? parse_primary(p, with_flag, &one) : jinja_parse_expression(p, with_flag, &one));
    if (!all && !is_op(p, ",")) {
      *out = one;
      return RLX_OK;
    }
    if (!all) RLX_TRY(node_of(p, OP_TUPLE, &all));
    RLX_TRY(jinja_push_node(p, &all->items, one));
    if (!accept_op(p, ",")) break;
  }
  if (!all && !may_be_empty) return jinja_expected(p, "an expression");
  if (!all) RLX_TRY(node_of(p, OP_TUPLE, &all));
  *out = all;
  return RLX_OK;
}

rlx_status jinja_parse_tuple(jinja_parser *p, bool with_conditional, bool in_parentheses, const char *end,
                             jinja_node **out) {
  return parse_elements(p, false, with_conditional, in_parentheses, end, out);
}

static rlx_status check_target(const jinja_parser *p, const jinja_node *e, bool is_inner) {
  if (e->op == OP_NAME || (e->op == OP_NAMESPACE_TARGET && !is_inner)) return RLX_OK;
  if (e->op == OP_TUPLE) {
    for (size_t i = 0; i < e->items.n; i++) RLX_TRY(check_target(p, e->items.v[i], false));
    return RLX_OK;
  }
  return jinja_expected(p, "a name to assign to before this");
}

rlx_status jinja_parse_target(jinja_parser *p, bool with_namespace, const char *end, jinja_node **out) {
  RLX_TRY(parse_elements(p, true, with_namespace, false, end, out));
  return check_target(p, *out, false);
}
