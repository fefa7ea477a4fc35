/* Evaluation of expressions, and calls.
 *
 * A call of anything that is built in goes through jinja_call_builtin, which puts the arguments into the order of the
 * parameters, so that the functions themselves see an array. */
#include <string.h>

#include "text/jinja.h"

/* ---- Arguments ---- */

static rlx_status push_named(jinja_run *r, jinja_args *out, size_t cap, const jinja_text *name, jinja_value v) {
  if (out->n_named == cap) return jinja_fail(r, RLX_LIMIT, "more than %zu named arguments", cap);
  for (size_t i = 0; i < out->n_named; i++)
    if (jinja_text_is(name, out->named[i].name->p) && name->n == out->named[i].name->n)
      return jinja_fail(r, RLX_INVALID, "the argument '%.60s' is given twice", name->p);
  out->named[out->n_named++] = (jinja_named){name, v};
  return RLX_OK;
}

static rlx_status eval_star(jinja_run *r, const jinja_node *e, size_t cap, jinja_args *out) {
  jinja_value v;
  jinja_list *more;
  if (e->star) {
    RLX_TRY(jinja_eval(r, e->star, &v));
    RLX_TRY(jinja_iterate(r, &v, &more));
    jinja_value *all;
    RLX_TRY(JINJA_NEW(r, out->n + more->n, &all));
    if (out->n) memcpy(all, out->v, out->n * sizeof *all);
    if (more->n) memcpy(all + out->n, more->v, more->n * sizeof *all);
    out->v = all;
    out->n += more->n;
  }
  if (!e->stars) return RLX_OK;
  RLX_TRY(jinja_eval(r, e->stars, &v));
  if (v.kind != JINJA_DICT) return jinja_fail(r, RLX_INVALID, "** of a %s", jinja_kind_name(&v));
  for (size_t i = 0; i < v.dict->n; i++) {
    const jinja_text *name;
    if (v.dict->keys[i].kind != JINJA_TEXT)
      return jinja_fail(r, RLX_INVALID, "** of a dict with a key that is no text");
    RLX_TRY(jinja_to_text(r, &v.dict->keys[i], &name));
    if (memchr(name->p, 0, name->n)) return jinja_fail(r, RLX_INVALID, "** of a dict with a key that is no name");
    RLX_TRY(jinja_text_copy(r, name->p, name->n, jinja_text_has_content(name), &name));
    RLX_TRY(push_named(r, out, cap, name, v.dict->values[i]));
  }
  return RLX_OK;
}

rlx_status jinja_eval_args(jinja_run *r, const jinja_node *e, jinja_args *out) {
  size_t cap = e->named.n + (e->stars ? 64 : 0) + 1; /* and `caller` */
  *out = (jinja_args){.n = e->items.n};
  RLX_TRY(JINJA_NEW(r, e->items.n, &out->v));
  RLX_TRY(JINJA_NEW(r, cap, &out->named));
  for (size_t i = 0; i < e->items.n; i++) RLX_TRY(jinja_eval(r, e->items.v[i], &out->v[i]));
  for (size_t i = 0; i < e->named.n; i++) {
    jinja_value v;
    RLX_TRY(jinja_eval(r, e->named.v[i]->a, &v));
    RLX_TRY(push_named(r, out, cap - 1, e->named.v[i]->value.text, v));
  }
  return e->star || e->stars ? eval_star(r, e, cap - 1, out) : RLX_OK;
}

/* The parameter at *at: its name; must it be given? NULL at the end. */
static const char *next_parameter(const char **at, size_t *n, bool *must) {
  while (**at == ' ' || **at == '/') ++*at;
  *must = **at == '!';
  if (*must) ++*at;
  const char *name = *at;
  while (**at && **at != ' ') ++*at;
  *n = (size_t)(*at - name);
  return *n ? name : NULL;
}

static rlx_status bind(jinja_run *r, const jinja_builtin *f, jinja_args *a) {
  const char *at = f->parameters, *name;
  bool by_position = *at == '/', must;
  size_t n, i = 0, n_used = 0;
  for (; (name = next_parameter(&at, &n, &must)); i++) {
    a->p[i] = (jinja_value){.kind = JINJA_ABSENT};
    if (i < a->n) a->p[i] = a->v[i];
    for (size_t k = 0; k < a->n_named && !by_position; k++) {
      if (a->named[k].name->n != n || memcmp(a->named[k].name->p, name, n) != 0) continue;
      if (i < a->n) return jinja_fail(r, RLX_INVALID, "'%s': '%.*s' is given twice", f->name, (int)n, name);
      a->p[i] = a->named[k].value;
      n_used++;
    }
    if (must && a->p[i].kind == JINJA_ABSENT)
      return jinja_fail(r, RLX_INVALID, "'%s' needs the argument '%.*s'", f->name, (int)n, name);
  }
  if (a->n > i) return jinja_fail(r, RLX_INVALID, "'%s' takes at most %zu arguments, got %zu", f->name, i, a->n);
  if (n_used < a->n_named)
    return jinja_fail(r, RLX_INVALID, "'%s' does not take these named arguments: '%.60s'", f->name,
                      a->named[0].name->p);
  return RLX_OK;
}

rlx_status jinja_call_builtin(jinja_run *r, const jinja_builtin *f, const char *what, const jinja_value *self,
                              jinja_args *args, jinja_value *out) {
  RLX_TRY(jinja_count(r, 1));
  if (!f->fn) return jinja_fail(r, RLX_UNSUPPORTED, "the %s '%s' is not supported", what, f->name);
  if (f->parameters[0] != '*') RLX_TRY(bind(r, f, args));
  RLX_TRY(jinja_deeper(r));
  RLX_TRY(f->fn(r, self, args, out));
  r->depth--;
  return RLX_OK;
}

rlx_status jinja_call(jinja_run *r, const jinja_value *fn, jinja_args *args, jinja_value *out) {
  if (fn->kind == JINJA_MACRO) return jinja_call_macro(r, fn->macro, args, out);
  if (fn->kind == JINJA_FUNCTION)
    return jinja_call_builtin(r, fn->function->builtin, fn->function->self.kind ? "method" : "function",
                              &fn->function->self, args, out);
  if (fn->kind == JINJA_UNDEFINED)
    return jinja_fail(r, RLX_INVALID, "'%s' is undefined, so it cannot be called", fn->name);
  return jinja_fail(r, RLX_INVALID, "a %s cannot be called", jinja_kind_name(fn));
}

/* ---- Nodes ---- */

static rlx_status eval_name(jinja_run *r, const jinja_node *e, jinja_value *out) {
  for (const jinja_scope *s = r->scope; s; s = s->parent) {
    RLX_TRY(jinja_count(r, s->variables.n / 8));
    for (size_t i = 0; i < s->variables.n; i++)
      if (s->variables.v[i].id == e->id) {
        *out = s->variables.v[i].value;
        if (out->kind == JINJA_ABSENT) *out = jinja_undefined(r->program->names.v[e->id]->p);
        return RLX_OK;
      }
  }
  *out = r->globals[e->id];
  if (out->kind == JINJA_ABSENT) *out = jinja_undefined(r->program->names.v[e->id]->p);
  return RLX_OK;
}

static rlx_status eval_list(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_list *l;
  RLX_TRY(jinja_list_new(r, e->op == OP_TUPLE ? JINJA_TUPLE : JINJA_ARRAY, e->items.n, &l));
  for (size_t i = 0; i < e->items.n; i++) {
    jinja_value v;
    RLX_TRY(jinja_eval(r, e->items.v[i], &v));
    RLX_TRY(jinja_list_push(r, l, v));
  }
  *out = jinja_of_list(l);
  return RLX_OK;
}

static rlx_status eval_dict(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_dict *d;
  RLX_TRY(jinja_dict_new(r, e->items.n / 2, &d));
  for (size_t i = 0; i + 1 < e->items.n; i += 2) {
    jinja_value key, v;
    RLX_TRY(jinja_eval(r, e->items.v[i], &key));
    RLX_TRY(jinja_eval(r, e->items.v[i + 1], &v));
    RLX_TRY(jinja_dict_put(r, d, key, v));
  }
  *out = jinja_of_dict(d);
  return RLX_OK;
}

static rlx_status eval_access(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_value v, key[3];
  RLX_TRY(jinja_eval(r, e->a, &v));
  if (e->op == OP_ATTRIBUTE) return jinja_attribute(r, &v, e->value.text, out);
  if (e->op == OP_ITEM) {
    RLX_TRY(jinja_eval(r, e->b, key));
    return jinja_item(r, &v, key, out);
  }
  for (size_t i = 0; i < 3; i++) RLX_TRY(jinja_eval(r, e->items.v[i], &key[i]));
  return jinja_slice(r, &v, key, out);
}

static rlx_status eval_call(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_value fn = jinja_none();
  jinja_args args;
  RLX_TRY(jinja_eval(r, e->a, &fn));
  RLX_TRY(jinja_eval_args(r, e, &args));
  if (e->op == OP_CALL) return jinja_call(r, &fn, &args, out);
  const char *what = e->op == OP_FILTER ? "filter" : "test";
  if (!e->builtin) return jinja_fail(r, RLX_INVALID, "there is no %s '%.60s'", what, e->value.text->p);
  RLX_TRY(jinja_call_builtin(r, e->builtin, what, &fn, &args, out));
  if (e->op == OP_TEST) *out = jinja_bool(jinja_truth(out));
  return RLX_OK;
}

static rlx_status eval_logic(jinja_run *r, const jinja_node *e, jinja_value *out) {
  for (size_t i = 0; i < e->items.n; i++) {
    RLX_TRY(jinja_eval(r, e->items.v[i], out));
    if (jinja_truth(out) == (e->op == OP_OR)) return RLX_OK;
  }
  return RLX_OK;
}

static rlx_status eval_compare(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_value left, right;
  bool holds = true;
  RLX_TRY(jinja_eval(r, e->a, &left));
  for (size_t i = 0; holds && i < e->items.n; i++) {
    RLX_TRY(jinja_eval(r, e->items.v[i], &right));
    RLX_TRY(jinja_compare(r, (jinja_op)e->operators[i], &left, &right, &holds));
    left = right;
  }
  *out = jinja_bool(holds);
  return RLX_OK;
}

static rlx_status eval_concat(jinja_run *r, const jinja_node *e, jinja_value *out) {
  RLX_TRY(jinja_eval(r, e->items.v[0], out));
  for (size_t i = 1; i < e->items.n; i++) {
    jinja_value left = *out, right;
    RLX_TRY(jinja_eval(r, e->items.v[i], &right));
    RLX_TRY(jinja_concat(r, &left, &right, out));
  }
  return RLX_OK;
}

static rlx_status eval_conditional(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_value test;
  RLX_TRY(jinja_eval(r, e->b, &test));
  if (jinja_truth(&test)) return jinja_eval(r, e->a, out);
  if (e->c) return jinja_eval(r, e->c, out);
  *out = jinja_undefined("what an 'if' without an 'else' gives");
  return RLX_OK;
}

static rlx_status eval_arithmetic(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_value a, b;
  RLX_TRY(jinja_eval(r, e->a, &a));
  RLX_TRY(jinja_eval(r, e->b, &b));
  return jinja_arithmetic(r, (jinja_op)e->op, &a, &b, out);
}

static rlx_status eval_sign(jinja_run *r, const jinja_node *e, jinja_value *out) {
  jinja_value a;
  RLX_TRY(jinja_eval(r, e->a, &a));
  if (e->op != OP_NOT) return jinja_negate(r, (jinja_op)e->op, &a, out);
  *out = jinja_bool(!jinja_truth(&a));
  return RLX_OK;
}

static rlx_status eval_constant(jinja_run *r, const jinja_node *e, jinja_value *out) {
  (void)r;
  *out = e->value;
  return RLX_OK;
}

rlx_status jinja_eval(jinja_run *r, const jinja_node *e, jinja_value *out) {
  static rlx_status (*const table[])(jinja_run * r, const jinja_node *e, jinja_value *out) = {
    [OP_CONST] = eval_constant,
    [OP_NAME] = eval_name,
    [OP_TUPLE] = eval_list,
    [OP_LIST] = eval_list,
    [OP_DICT] = eval_dict,
    [OP_ATTRIBUTE] = eval_access,
    [OP_ITEM] = eval_access,
    [OP_SLICE] = eval_access,
    [OP_CALL] = eval_call,
    [OP_FILTER] = eval_call,
    [OP_TEST] = eval_call,
    [OP_NEGATE] = eval_sign,
    [OP_PLUS] = eval_sign,
    [OP_NOT] = eval_sign,
    [OP_AND] = eval_logic,
    [OP_OR] = eval_logic,
    [OP_CONDITIONAL] = eval_conditional,
    [OP_COMPARE] = eval_compare,
    [OP_CONCAT] = eval_concat,
    [OP_ADD] = eval_arithmetic,
    [OP_SUBTRACT] = eval_arithmetic,
    [OP_MULTIPLY] = eval_arithmetic,
    [OP_DIVIDE] = eval_arithmetic,
    [OP_FLOOR_DIVIDE] = eval_arithmetic,
    [OP_MODULO] = eval_arithmetic,
    [OP_POWER] = eval_arithmetic,
  };
  *out = jinja_none();
  if (e->op >= sizeof table / sizeof *table || !table[e->op])
    return jinja_fail(r, RLX_INVALID, "a name to assign to where a value is expected");
  RLX_TRY(jinja_count(r, 1));
  RLX_TRY(jinja_deeper(r));
  uint32_t line = r->line;
  r->line = e->line;
  RLX_TRY(table[e->op](r, e, out));
  r->line = line;
  r->depth--;
  return RLX_OK;
}
