/* Statements: output, branches, loops, assignments, macros.
 *
 * Scopes are Jinja's: a loop's body has one for each turn, and what is set in it is gone after the turn (a namespace
 * is the way out); an `if` has none. A macro sees the variables of the place where it is defined. Names that no scope
 * has are the input's variables, then the language's functions.
 *
 * A loop goes over its elements one by one, so that a filter (`for x in y if c`) sees what the turns before it have
 * changed. `else` runs where no turn reached its end: also where each was left by `continue`, as in Jinja. */
#include <string.h>

#include "text/jinja.h"

static rlx_status run_block(jinja_run *r, const jinja_block *b);

/* ---- Variables ---- */

rlx_status jinja_set(jinja_run *r, uint32_t id, jinja_value v) {
  jinja_scope *s = r->scope;
  RLX_TRY(jinja_count(r, s->variables.n / 8));
  for (size_t i = 0; i < s->variables.n; i++)
    if (s->variables.v[i].id == id) {
      s->variables.v[i].value = v;
      return RLX_OK;
    }
  if (s->variables.n == s->variables.cap) {
    size_t cap = s->variables.cap ? 2 * s->variables.cap : 4;
    jinja_variable *grown;
    RLX_TRY(JINJA_NEW(r, cap, &grown));
    if (s->variables.n) memcpy(grown, s->variables.v, s->variables.n * sizeof *grown);
    s->variables.v = grown;
    s->variables.cap = cap;
  }
  s->variables.v[s->variables.n++] = (jinja_variable){id, v};
  return RLX_OK;
}

rlx_status jinja_enter_scope(jinja_run *r, jinja_scope *parent, const jinja_ids *hidden) {
  jinja_scope *s;
  RLX_TRY(JINJA_NEW(r, 1, &s));
  s->parent = parent;
  r->scope = s;
  for (size_t i = 0; i < hidden->n; i++) RLX_TRY(jinja_set(r, hidden->v[i], (jinja_value){.kind = JINJA_ABSENT}));
  return RLX_OK;
}

static rlx_status assign_attribute(jinja_run *r, const jinja_node *target, jinja_value v) {
  jinja_node name = {.op = OP_NAME, .id = target->id, .line = target->line};
  jinja_value object;
  RLX_TRY(jinja_eval(r, &name, &object));
  if (object.kind != JINJA_NAMESPACE)
    return jinja_fail(r, RLX_INVALID, "an attribute of a %s is set, which only a namespace has",
                      jinja_kind_name(&object));
  if (target->value.text->p[0] == '_')
    return jinja_fail(r, RLX_INVALID, "an attribute of a namespace that begins with an underscore: '%.60s'",
                      target->value.text->p);
  return jinja_dict_put(r, object.dict, target->value, v);
}

rlx_status jinja_assign(jinja_run *r, const jinja_node *target, jinja_value v) {
  jinja_list *values;
  if (target->op == OP_NAME) return jinja_set(r, target->id, v);
  if (target->op == OP_NAMESPACE_TARGET) return assign_attribute(r, target, v);
  RLX_TRY(jinja_unpack(r, &v, target->items.n, &values));
  for (size_t i = 0; i < values->n; i++) RLX_TRY(jinja_assign(r, target->items.v[i], values->v[i]));
  return RLX_OK;
}

/* ---- Output into a text ---- */

/* Runs a block and takes what it prints. */
static rlx_status capture(jinja_run *r, const jinja_block *b, jinja_value *out) {
  jinja_builder *outer = r->out, inner = {0};
  r->out = &inner;
  rlx_status s = run_block(r, b);
  r->out = outer;
  RLX_TRY(s);
  return jinja_built(r, &inner, out);
}

/* What a block gives is printed as it is, and so must be a text. */
static rlx_status print_text(jinja_run *r, const jinja_value *v) {
  if (v->kind == JINJA_TEXT) return jinja_print(r, r->out, v);
  return jinja_fail(r, RLX_INVALID, "a block that gives a %s: expected a text", jinja_kind_name(v));
}

/* Filters of a block: the innermost one has the block's text for its value. */
static rlx_status run_filters(jinja_run *r, const jinja_node *filter, jinja_value text, jinja_value *out) {
  jinja_args args;
  *out = text;
  if (!filter) return RLX_OK;
  RLX_TRY(jinja_deeper(r));
  RLX_TRY(run_filters(r, filter->a, text, out));
  jinja_value value = *out;
  r->line = filter->line;
  if (!filter->builtin) return jinja_fail(r, RLX_INVALID, "there is no filter '%.60s'", filter->value.text->p);
  RLX_TRY(jinja_eval_args(r, filter, &args));
  r->depth--;
  return jinja_call_builtin(r, filter->builtin, "filter", &value, &args, out);
}

/* ---- Macros ---- */

static rlx_status take_argument(jinja_run *r, const jinja_macro *m, size_t i, jinja_args *args, bool *used) {
  const jinja_node *n = m->node;
  uint32_t id = n->items.v[i]->id;
  const jinja_text *name = r->program->names.v[id];
  if (i < args->n) return jinja_set(r, id, args->v[i]);
  for (size_t k = 0; k < args->n_named; k++)
    if (!used[k] && args->named[k].name->n == name->n && jinja_text_is(name, args->named[k].name->p)) {
      used[k] = true;
      return jinja_set(r, id, args->named[k].value);
    }
  size_t without = n->items.n - n->named.n; /* defaults belong to the last parameters */
  if (i < without) return jinja_set(r, id, jinja_undefined(name->p));
  jinja_value v;
  RLX_TRY(jinja_eval(r, n->named.v[i - without], &v));
  return jinja_set(r, id, v);
}

/* caller, kwargs and varargs, for macros that mention them; others refuse what is left. */
static rlx_status take_rest(jinja_run *r, const jinja_macro *m, jinja_args *args, bool *used) {
  const jinja_node *n = m->node;
  const char *name = n->op == OP_MACRO ? r->program->names.v[n->id]->p : "caller";
  jinja_dict *rest;
  jinja_list *more;
  jinja_value caller = jinja_undefined("caller");
  RLX_TRY(jinja_dict_new(r, 0, &rest));
  for (size_t k = 0; k < args->n_named; k++) {
    if (used[k]) continue;
    if (n->uses_caller && jinja_text_is(args->named[k].name, "caller")) caller = args->named[k].value;
    else if (n->uses_kwargs) RLX_TRY(jinja_dict_put(r, rest, jinja_of_text(args->named[k].name), args->named[k].value));
    else return jinja_fail(r, RLX_INVALID, "the macro '%.60s' has no parameter '%.60s'", name, args->named[k].name->p);
  }
  RLX_TRY(jinja_list_new(r, JINJA_TUPLE, 0, &more));
  for (size_t i = n->items.n; i < args->n; i++) {
    if (!n->uses_varargs)
      return jinja_fail(r, RLX_INVALID, "the macro '%.60s' takes at most %zu arguments, got %zu", name, n->items.n,
                        args->n);
    RLX_TRY(jinja_list_push(r, more, args->v[i]));
  }
  if (n->uses_caller) RLX_TRY(jinja_set(r, r->caller_id, caller));
  if (n->uses_kwargs) RLX_TRY(jinja_set(r, r->kwargs_id, jinja_of_dict(rest)));
  if (n->uses_varargs) RLX_TRY(jinja_set(r, r->varargs_id, jinja_of_list(more)));
  return RLX_OK;
}

rlx_status jinja_call_macro(jinja_run *r, const jinja_macro *m, jinja_args *args, jinja_value *out) {
  jinja_scope *outer = r->scope;
  uint32_t line = r->line;
  bool *used;
  RLX_TRY(jinja_deeper(r));
  RLX_TRY(JINJA_NEW(r, args->n_named, &used));
  RLX_TRY(jinja_enter_scope(r, m->scope, &m->node->hidden));
  for (size_t i = 0; i < m->node->items.n; i++) RLX_TRY(take_argument(r, m, i, args, used));
  RLX_TRY(take_rest(r, m, args, used));
  RLX_TRY(capture(r, &m->node->body, out));
  r->scope = outer;
  r->line = line;
  r->depth--;
  return RLX_OK;
}

static rlx_status macro_value(jinja_run *r, const jinja_node *n, jinja_value *out) {
  jinja_macro *m;
  RLX_TRY(JINJA_NEW(r, 1, &m));
  *m = (jinja_macro){n, r->scope};
  *out = (jinja_value){.kind = JINJA_MACRO, .macro = m};
  return RLX_OK;
}

static rlx_status run_call_block(jinja_run *r, const jinja_node *n) {
  static const jinja_text name = {.p = "caller", .n = 6, .is_ascii = true};
  jinja_value caller, fn, out;
  jinja_args args;
  RLX_TRY(macro_value(r, n, &caller));
  RLX_TRY(jinja_eval(r, n->a->a, &fn));
  RLX_TRY(jinja_eval_args(r, n->a, &args));
  args.named[args.n_named++] = (jinja_named){&name, caller}; /* jinja_eval_args left room */
  RLX_TRY(jinja_call(r, &fn, &args, &out));
  return print_text(r, &out);
}

/* ---- Loops ---- */

rlx_status jinja_loop_pull(jinja_run *r, jinja_loop *l, bool *found) {
  const jinja_node *n = l->node;
  *found = false;
  while (!*found && l->at < l->source->n) {
    jinja_value v = l->source->v[l->at++], holds;
    *found = true;
    if (n->c) {
      static const jinja_ids none = {0};
      jinja_scope *current = r->scope;
      RLX_TRY(jinja_enter_scope(r, l->outer, &none));
      RLX_TRY(jinja_assign(r, n->a, v));
      RLX_TRY(jinja_eval(r, n->c, &holds));
      r->scope = current;
      *found = jinja_truth(&holds);
    }
    if (*found) RLX_TRY(jinja_list_push(r, &l->passed, v));
  }
  return RLX_OK;
}

/* One turn; *finished: it reached its end. */
static rlx_status run_turn(jinja_run *r, jinja_loop *l, bool *finished) {
  RLX_TRY(jinja_enter_scope(r, l->outer, &l->node->hidden));
  if (r->loop_id != UINT32_MAX) RLX_TRY(jinja_set(r, r->loop_id, (jinja_value){.kind = JINJA_LOOP, .loop = l}));
  RLX_TRY(jinja_assign(r, l->node->a, l->passed.v[l->index]));
  RLX_TRY(run_block(r, &l->node->body));
  r->scope = l->outer;
  *finished = *finished || r->jump == JINJA_GO_ON;
  return RLX_OK;
}

static rlx_status run_for(jinja_run *r, const jinja_node *n) {
  jinja_loop *l;
  jinja_value v;
  bool finished = false, found = true;
  RLX_TRY(jinja_eval(r, n->b, &v));
  RLX_TRY(JINJA_NEW(r, 1, &l));
  *l = (jinja_loop){.run = r, .node = n, .outer = r->scope};
  RLX_TRY(jinja_iterate(r, &v, &l->source));
  for (;; l->index++) {
    RLX_TRY(jinja_count(r, 1));
    if (l->index == l->passed.n) RLX_TRY(jinja_loop_pull(r, l, &found));
    if (!found) break;
    RLX_TRY(run_turn(r, l, &finished));
    bool leaves = r->jump == JINJA_BREAK;
    r->jump = JINJA_GO_ON;
    if (leaves) break;
  }
  if (finished || !n->other.n) return RLX_OK;
  jinja_scope *outer = r->scope;
  RLX_TRY(jinja_enter_scope(r, outer, &n->other_hidden));
  RLX_TRY(run_block(r, &n->other));
  r->scope = outer;
  return RLX_OK;
}

/* ---- Statements ---- */

static rlx_status run_if(jinja_run *r, const jinja_node *n) {
  jinja_value v;
  for (;; n = n->other.v[0]) {
    RLX_TRY(jinja_eval(r, n->a, &v));
    if (jinja_truth(&v)) return run_block(r, &n->body);
    bool is_elif = n->other.n == 1 && n->other.v[0]->op == OP_IF;
    if (!is_elif) return run_block(r, &n->other);
  }
}

static rlx_status run_scoped(jinja_run *r, const jinja_node *n) {
  jinja_scope *outer = r->scope, *inner;
  jinja_value text, filtered;
  RLX_TRY(jinja_enter_scope(r, outer, &n->hidden));
  inner = r->scope;
  r->scope = outer;
  for (size_t i = 0; n->op == OP_WITH && i + 1 < n->items.n; i += 2) {
    jinja_value v;
    RLX_TRY(jinja_eval(r, n->items.v[i + 1], &v));
    r->scope = inner;
    RLX_TRY(jinja_assign(r, n->items.v[i], v));
    r->scope = outer;
  }
  r->scope = inner;
  if (n->op == OP_WITH) {
    RLX_TRY(run_block(r, &n->body));
  } else { /* what it prints goes through a text: a generation's as through a macro */
    RLX_TRY(capture(r, &n->body, &text));
    RLX_TRY(run_filters(r, n->b, text, &filtered));
  }
  r->scope = outer;
  if (n->op == OP_WITH) return RLX_OK;
  return n->op == OP_SET_BLOCK ? jinja_assign(r, n->a, filtered) : print_text(r, &filtered);
}

static rlx_status run_statement(jinja_run *r, const jinja_node *n) {
  jinja_value v;
  switch ((jinja_op)n->op) {
    case OP_TEXT: return jinja_add(r, r->out, n->value.text->p, n->value.text->n, false);
    case OP_OUTPUT: RLX_TRY(jinja_eval(r, n->a, &v)); return jinja_print(r, r->out, &v);
    case OP_IF: return run_if(r, n);
    case OP_FOR: return run_for(r, n);
    case OP_SET: RLX_TRY(jinja_eval(r, n->b, &v)); return jinja_assign(r, n->a, v);
    case OP_MACRO: RLX_TRY(macro_value(r, n, &v)); return jinja_set(r, n->id, v);
    case OP_CALL_BLOCK: return run_call_block(r, n);
    case OP_SET_BLOCK:
    case OP_FILTER_BLOCK:
    case OP_GENERATION:
    case OP_WITH: return run_scoped(r, n);
    case OP_BREAK: r->jump = JINJA_BREAK; return RLX_OK;
    default: r->jump = JINJA_CONTINUE; return RLX_OK;
  }
}

static rlx_status run_block(jinja_run *r, const jinja_block *b) {
  RLX_TRY(jinja_deeper(r));
  for (size_t i = 0; i < b->n && r->jump == JINJA_GO_ON; i++) {
    r->line = b->v[i]->line;
    RLX_TRY(jinja_count(r, 1));
    RLX_TRY(run_statement(r, b->v[i]));
  }
  r->depth--;
  return RLX_OK;
}

/* ---- The whole ---- */

static uint32_t id_of(const jinja_program *p, const char *name) {
  for (size_t i = 0; i < p->names.n; i++)
    if (jinja_text_is(p->names.v[i], name)) return (uint32_t)i;
  return UINT32_MAX;
}

void jinja_run_init(jinja_run *r, const jinja_program *p, const jinja_limits *limits) {
  *r = (jinja_run){.program = p, .limits = *limits, .line = 1};
  r->seed = rlx_text_hash_seed(r);
  r->loop_id = id_of(p, "loop");
  r->caller_id = id_of(p, "caller");
  r->kwargs_id = id_of(p, "kwargs");
  r->varargs_id = id_of(p, "varargs");
}

void jinja_run_deinit(jinja_run *r) {
  rlx_bump_deinit(&r->heap);
  rlx_array_deinit(&r->stack);
}

static rlx_status set_globals(jinja_run *r, const jinja_dict *input) {
  const jinja_program *p = r->program;
  RLX_TRY(JINJA_NEW(r, p->names.n, &r->globals));
  for (size_t i = 0; i < p->names.n; i++) {
    const jinja_builtin *f = jinja_function_find(p->names.v[i]);
    jinja_value key = jinja_of_text(p->names.v[i]);
    const jinja_value *given = NULL;
    bool is_clock = f && jinja_text_is(p->names.v[i], "strftime_now");
    if (input && !is_clock) RLX_TRY(jinja_dict_find(r, input, &key, &given));
    if (given) r->globals[i] = *given;
    if (given || !f) continue;
    jinja_function *fn;
    RLX_TRY(JINJA_NEW(r, 1, &fn));
    fn->builtin = f;
    r->globals[i] = (jinja_value){.kind = JINJA_FUNCTION, .function = fn};
  }
  return RLX_OK;
}

rlx_status jinja_run_program(jinja_run *r, const jinja_dict *input, jinja_builder *out) {
  const jinja_value *now = input ? jinja_dict_member(input, "strftime_now") : NULL;
  if (now && now->kind == JINJA_TEXT) r->now = now->text->p;
  RLX_TRY(set_globals(r, input));
  RLX_TRY(jinja_enter_scope(r, NULL, &r->program->hidden));
  r->out = out;
  return run_block(r, &r->program->root);
}
