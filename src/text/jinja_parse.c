/* The parser of statements: tokens to a tree.
 *
 * Statements that chat templates do not use (include, extends, import, block, ..) are refused by name and line. The
 * tree is as deep as the template's nesting, which is limited, so that walking it needs a bounded stack. */
#include <stdio.h>
#include <string.h>

#include "text/jinja.h"

/* ---- What both halves use ---- */

jinja_node *jinja_node_new(jinja_parser *p, jinja_op op) {
  jinja_node *n = rlx_bump_new(&p->program->heap, jinja_node);
  if (!n) return NULL;
  n->op = (uint8_t)op;
  n->line = p->at->line;
  return n;
}

rlx_status jinja_expected(const jinja_parser *p, const char *what) {
  static const char *const kinds[] = {
    "the end of the template", "text", "{%", "%}", "{{", "}}", "", "a string", "a number", "a number", ""};
  const jinja_token *t = p->at;
  unsigned line = (unsigned)t->line;
  if (t->kind == LEX_NAME || t->kind == LEX_OPERATOR)
    return RLX_FAIL(RLX_INVALID, "chat template, line %u: expected %s, got '%.*s'", line, what,
                    t->n < 60 ? (int)t->n : 60, t->p);
  return RLX_FAIL(RLX_INVALID, "chat template, line %u: expected %s, got %s", line, what, kinds[t->kind]);
}

bool jinja_is(const jinja_parser *p, jinja_token_kind kind, const char *text) {
  const jinja_token *t = p->at;
  return t->kind == kind && (!text || (strlen(text) == t->n && memcmp(t->p, text, t->n) == 0));
}

bool jinja_accept(jinja_parser *p, jinja_token_kind kind, const char *text) {
  if (!jinja_is(p, kind, text)) return false;
  p->at++;
  return true;
}

rlx_status jinja_expect(jinja_parser *p, jinja_token_kind kind, const char *text) {
  char what[40];
  if (jinja_accept(p, kind, text)) return RLX_OK;
  snprintf(what, sizeof what, "'%s'", text ? text : kind == LEX_BLOCK_END ? "%}" : "}}");
  return jinja_expected(p, what);
}

rlx_status jinja_intern(jinja_parser *p, const char *name, size_t n, uint32_t *id) {
  jinja_program *g = p->program;
  for (size_t i = 0; i < g->names.n; i++)
    if (g->names.v[i]->n == n && memcmp(g->names.v[i]->p, name, n) == 0) {
      *id = (uint32_t)i;
      return RLX_OK;
    }
  if (g->names.n == JINJA_MAX_NAMES)
    return RLX_FAIL(RLX_LIMIT, "chat template, line %u: more than %d names", (unsigned)p->at->line, JINJA_MAX_NAMES);
  jinja_text *t = rlx_bump_new(&g->heap, jinja_text);
  const char *copy = rlx_bump_text(&g->heap, name, n);
  if (!t || !copy) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  *t = (jinja_text){.n = n, .p = copy, .is_ascii = true};
  *id = (uint32_t)g->names.n;
  return rlx_array_push(&g->names, t) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a chat template");
}

/* The capacity of a block is the power of two at or above its length, so it need not be stored. */
rlx_status jinja_push_node(jinja_parser *p, jinja_block *b, jinja_node *n) {
  if ((b->n & (b->n - 1)) == 0 && b->n != 1) {
    jinja_node **grown = rlx_bump_array(&p->program->heap, jinja_node *, b->n ? 2 * b->n : 2);
    if (!grown) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
    if (b->n) memcpy(grown, b->v, b->n * sizeof *grown);
    b->v = grown;
  }
  b->v[b->n++] = n;
  return RLX_OK;
}

rlx_status jinja_enter(jinja_parser *p) {
  if (p->depth >= JINJA_MAX_PARSE_DEPTH)
    return RLX_FAIL(RLX_LIMIT, "chat template, line %u: nested more than %d deep", (unsigned)p->at->line,
                    JINJA_MAX_PARSE_DEPTH);
  p->depth++;
  return RLX_OK;
}

/* ---- Statements ---- */

static rlx_status parse_until(jinja_parser *p, const char *const *ends, jinja_block *out);

static rlx_status node_of(jinja_parser *p, jinja_op op, jinja_node **out) {
  *out = jinja_node_new(p, op);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a chat template");
}

static bool accept_word(jinja_parser *p, const char *text) { return jinja_accept(p, LEX_NAME, text); }
static rlx_status end_tag(jinja_parser *p) { return jinja_expect(p, LEX_BLOCK_END, NULL); }

/* The statements up to {% END %}, that one included. */
static rlx_status parse_body(jinja_parser *p, const char *end, jinja_block *out) {
  RLX_TRY(end_tag(p));
  RLX_TRY(parse_until(p, (const char *const[]){end, NULL}, out));
  p->at++;
  return end_tag(p);
}

static rlx_status parse_if(jinja_parser *p, jinja_node **out) {
  static const char *const ends[] = {"elif", "else", "endif", NULL};
  jinja_node *n;
  RLX_TRY(node_of(p, OP_IF, out));
  n = *out;
  for (;;) { /* elif: an if in the else of the one before */
    bool was_soft = p->is_soft;
    p->is_soft = true;
    RLX_TRY(jinja_parse_tuple(p, false, false, NULL, &n->a));
    RLX_TRY(end_tag(p));
    RLX_TRY(parse_until(p, ends, &n->body));
    p->is_soft = was_soft;
    if (accept_word(p, "elif")) {
      jinja_node *next;
      RLX_TRY(node_of(p, OP_IF, &next));
      RLX_TRY(jinja_push_node(p, &n->other, next));
      n = next;
      continue;
    }
    if (accept_word(p, "endif")) return end_tag(p);
    p->at++;
    p->is_soft = true;
    RLX_TRY(parse_body(p, "endif", &n->other));
    p->is_soft = was_soft;
    return RLX_OK;
  }
}

static rlx_status parse_for(jinja_parser *p, jinja_node **out) {
  static const char *const ends[] = {"else", "endfor", NULL};
  RLX_TRY(node_of(p, OP_FOR, out));
  jinja_node *n = *out;
  RLX_TRY(jinja_parse_target(p, false, "in", &n->a));
  if (!accept_word(p, "in")) return jinja_expected(p, "'in'");
  RLX_TRY(jinja_parse_tuple(p, false, false, "recursive", &n->b));
  bool was_soft = p->is_soft;
  p->is_soft = false;
  if (accept_word(p, "if")) RLX_TRY(jinja_parse_expression(p, true, &n->c));
  if (jinja_is(p, LEX_NAME, "recursive"))
    return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: 'recursive' is not supported", (unsigned)n->line);
  RLX_TRY(end_tag(p));
  p->loops++;
  RLX_TRY(parse_until(p, ends, &n->body));
  p->loops--;
  if (accept_word(p, "else")) {
    RLX_TRY(parse_body(p, "endfor", &n->other));
  } else {
    p->at++;
    RLX_TRY(end_tag(p));
  }
  p->is_soft = was_soft;
  return RLX_OK;
}

static rlx_status parse_set(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_SET, out));
  jinja_node *n = *out;
  RLX_TRY(jinja_parse_target(p, true, NULL, &n->a));
  if (jinja_accept(p, LEX_OPERATOR, "=")) {
    RLX_TRY(jinja_parse_tuple(p, true, false, NULL, &n->b));
    return end_tag(p);
  }
  n->op = OP_SET_BLOCK;
  RLX_TRY(jinja_parse_filters(p, NULL, false, &n->b));
  uint32_t loops = p->loops;
  bool was_soft = p->is_soft;
  p->loops = 0;
  p->is_soft = false;
  RLX_TRY(parse_body(p, "endset", &n->body));
  p->loops = loops;
  p->is_soft = was_soft;
  return RLX_OK;
}

/* (a, b=1): names in items, defaults of the last ones in named. */
static rlx_status parse_signature(jinja_parser *p, jinja_node *n) {
  RLX_TRY(jinja_expect(p, LEX_OPERATOR, "("));
  while (!jinja_is(p, LEX_OPERATOR, ")")) {
    jinja_node *name, *value;
    if (n->items.n) RLX_TRY(jinja_expect(p, LEX_OPERATOR, ","));
    if (p->at->kind != LEX_NAME) return jinja_expected(p, "the name of a parameter");
    RLX_TRY(node_of(p, OP_NAME, &name));
    RLX_TRY(jinja_intern(p, p->at->p, p->at->n, &name->id));
    for (size_t i = 0; i < n->items.n; i++)
      if (n->items.v[i]->id == name->id) return jinja_expected(p, "another name for the parameter");
    p->at++;
    if (jinja_accept(p, LEX_OPERATOR, "=")) {
      RLX_TRY(jinja_parse_expression(p, true, &value));
      RLX_TRY(jinja_push_node(p, &n->named, value));
    } else if (n->named.n) {
      return jinja_expected(p, "a default, as the parameter before has one");
    }
    RLX_TRY(jinja_push_node(p, &n->items, name));
  }
  p->at++;
  return RLX_OK;
}

/* Whether the tokens from one to another mention a name: as Jinja finds out whether a macro takes `caller`. */
static bool mentions(const jinja_token *from, const jinja_token *to, const char *name) {
  for (; from < to; from++)
    if (from->kind == LEX_NAME && from->n == strlen(name) && memcmp(from->p, name, from->n) == 0) return true;
  return false;
}

static rlx_status parse_macro_body(jinja_parser *p, jinja_node *n, const char *end) {
  const jinja_token *from = p->at;
  uint32_t loops = p->loops;
  bool was_soft = p->is_soft;
  p->loops = 0;
  p->is_soft = false;
  RLX_TRY(parse_body(p, end, &n->body));
  p->loops = loops;
  p->is_soft = was_soft;
  n->uses_caller = mentions(from, p->at, "caller");
  n->uses_kwargs = mentions(from, p->at, "kwargs");
  n->uses_varargs = mentions(from, p->at, "varargs");
  for (size_t i = 0; i < n->items.n; i++) {
    const jinja_text *name = p->program->names.v[n->items.v[i]->id];
    if (jinja_text_is(name, "caller") || jinja_text_is(name, "kwargs") || jinja_text_is(name, "varargs"))
      return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: a parameter named '%s' is not supported",
                      (unsigned)n->line, name->p);
  }
  return RLX_OK;
}

static rlx_status parse_macro(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_MACRO, out));
  if (p->at->kind != LEX_NAME) return jinja_expected(p, "the name of the macro");
  RLX_TRY(jinja_intern(p, p->at->p, p->at->n, &(*out)->id));
  p->at++;
  RLX_TRY(parse_signature(p, *out));
  return parse_macro_body(p, *out, "endmacro");
}

static rlx_status parse_call(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_CALL_BLOCK, out));
  if (jinja_is(p, LEX_OPERATOR, "(")) RLX_TRY(parse_signature(p, *out));
  RLX_TRY(jinja_parse_expression(p, true, &(*out)->a));
  if ((*out)->a->op != OP_CALL) return jinja_expected(p, "a call before this");
  return parse_macro_body(p, *out, "endcall");
}

static rlx_status parse_filter(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_FILTER_BLOCK, out));
  RLX_TRY(jinja_parse_filters(p, NULL, true, &(*out)->b));
  uint32_t loops = p->loops;
  p->loops = 0;
  RLX_TRY(parse_body(p, "endfilter", &(*out)->body));
  p->loops = loops;
  return RLX_OK;
}

static rlx_status parse_with(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_WITH, out));
  while (p->at->kind != LEX_BLOCK_END) {
    jinja_node *target, *value;
    if ((*out)->items.n) RLX_TRY(jinja_expect(p, LEX_OPERATOR, ","));
    if (p->at->kind != LEX_NAME) return jinja_expected(p, "a name");
    RLX_TRY(node_of(p, OP_NAME, &target));
    RLX_TRY(jinja_intern(p, p->at->p, p->at->n, &target->id));
    p->at++;
    RLX_TRY(jinja_expect(p, LEX_OPERATOR, "="));
    RLX_TRY(jinja_parse_expression(p, true, &value));
    RLX_TRY(jinja_push_node(p, &(*out)->items, target));
    RLX_TRY(jinja_push_node(p, &(*out)->items, value));
  }
  return parse_body(p, "endwith", &(*out)->body);
}

static rlx_status parse_generation(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_GENERATION, out));
  uint32_t loops = p->loops;
  bool was_soft = p->is_soft;
  p->loops = 0;
  p->is_soft = false;
  RLX_TRY(parse_body(p, "endgeneration", &(*out)->body));
  p->loops = loops;
  p->is_soft = was_soft;
  return RLX_OK;
}

static rlx_status parse_jump(jinja_parser *p, jinja_op op, jinja_node **out) {
  if (!p->loops)
    return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: 'break' or 'continue' outside of a loop's own statements",
                    (unsigned)p->at->line);
  RLX_TRY(node_of(p, op, out));
  return end_tag(p);
}

static rlx_status parse_statement(jinja_parser *p, jinja_node **out) {
  static const char *const unsupported[] = {"extends", "block", "include",    "from",  "import",
                                            "do",      "trans", "autoescape", "debug", "print"};
  static const struct {
    const char *name;
    rlx_status (*parse)(jinja_parser *p, jinja_node **out);
  } statements[] = {
    {"if", parse_if},     {"for", parse_for},       {"set", parse_set},   {"macro", parse_macro},
    {"call", parse_call}, {"filter", parse_filter}, {"with", parse_with}, {"generation", parse_generation}};
  if (p->at->kind != LEX_NAME) return jinja_expected(p, "the name of a statement");
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
    if (accept_word(p, statements[i].name)) return statements[i].parse(p, out);
  if (accept_word(p, "break")) return parse_jump(p, OP_BREAK, out);
  if (accept_word(p, "continue")) return parse_jump(p, OP_CONTINUE, out);
  for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
    if (jinja_is(p, LEX_NAME, unsupported[i]))
      return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: the statement '%s' is not supported",
                      (unsigned)p->at->line, unsupported[i]);
  return jinja_expected(p, "a statement");
}

static rlx_status parse_data(jinja_parser *p, jinja_node **out) {
  RLX_TRY(node_of(p, OP_TEXT, out));
  jinja_text *t = rlx_bump_new(&p->program->heap, jinja_text);
  const char *copy = rlx_bump_text(&p->program->heap, p->at->p, p->at->n);
  if (!t || !copy) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  *t = (jinja_text){.n = p->at->n, .p = copy};
  (*out)->value = jinja_of_text(t);
  p->at++;
  return RLX_OK;
}

/* Up to a statement of one of these names, `at` at the name; or with ends NULL up to the end. */
static rlx_status parse_until(jinja_parser *p, const char *const *ends, jinja_block *out) {
  RLX_TRY(jinja_enter(p));
  for (;;) {
    jinja_node *n;
    if (p->at->kind == LEX_DATA) {
      RLX_TRY(parse_data(p, &n));
    } else if (p->at->kind == LEX_OUTPUT_BEGIN) {
      p->at++;
      RLX_TRY(node_of(p, OP_OUTPUT, &n));
      RLX_TRY(jinja_parse_tuple(p, true, false, NULL, &n->a));
      RLX_TRY(jinja_expect(p, LEX_OUTPUT_END, NULL));
    } else if (p->at->kind == LEX_BLOCK_BEGIN) {
      p->at++;
      for (size_t i = 0; ends && ends[i]; i++)
        if (jinja_is(p, LEX_NAME, ends[i])) {
          p->depth--;
          return RLX_OK;
        }
      RLX_TRY(parse_statement(p, &n));
    } else {
      if (ends || p->at->kind != LEX_END) {
        char what[40];
        snprintf(what, sizeof what, "{%% %s %%}", ends && ends[1] ? ends[1] : ends ? ends[0] : "..");
        return jinja_expected(p, what);
      }
      p->depth--;
      return RLX_OK;
    }
    RLX_TRY(jinja_push_node(p, out, n));
  }
}

/* ---- The whole ---- */

/* Line ends become line feeds, and one at the very end goes. */
static rlx_status clean_lines(const char *text, size_t bytes, rlx_str *out) {
  rlx_str_add_bytes(out, "", 0);
  for (size_t i = 0, start = 0; i <= bytes; i++) {
    if (i < bytes && text[i] != '\r') continue;
    rlx_str_add_bytes(out, text + start, i - start);
    if (i < bytes) rlx_str_add_char(out, '\n');
    if (i + 1 < bytes && text[i + 1] == '\n') i++;
    start = i + 1;
  }
  if (out->failed) return RLX_FAIL(RLX_NO_MEMORY, "a chat template of %zu bytes", bytes);
  if (out->n && out->v[out->n - 1] == '\n') out->n--;
  return RLX_OK;
}

rlx_status jinja_parse(const char *text, size_t bytes, jinja_program *out) {
  *out = (jinja_program){0};
  if (bytes > JINJA_MAX_TEMPLATE)
    return RLX_FAIL(RLX_LIMIT, "a chat template of %zu bytes, the limit is %d", bytes, JINJA_MAX_TEMPLATE);
  size_t good = text_valid_prefix(text, bytes);
  if (good != bytes) return RLX_FAIL(RLX_INVALID, "chat template, byte %zu: this is not UTF-8", good);
  rlx_str clean = {0};
  jinja_tokens tokens = {.heap = &out->heap};
  rlx_status s = clean_lines(text, bytes, &clean);
  if (!s) s = jinja_lex(clean.v, clean.n, &tokens);
  if (!s) {
    jinja_parser p = {.program = out, .at = tokens.list.v};
    s = parse_until(&p, NULL, &out->root);
  }
  if (!s) s = jinja_settle_scopes(out);
  rlx_array_deinit(&tokens.list);
  rlx_str_deinit(&clean);
  return s;
}

void jinja_program_deinit(jinja_program *p) {
  rlx_bump_deinit(&p->heap);
  rlx_array_deinit(&p->names);
  *p = (jinja_program){0};
}
