/* Which names a scope hides before it sets them.
 *
 * Jinja decides once, for a scope as a whole, where each name in it comes from. A name whose first mention in a scope
 * is an assignment that always happens is that scope's own from its beginning: until then it is undefined, in inner
 * scopes and macros too, even where the input has it. Where it is mentioned before, assigned in a branch first, or
 * known to an outer scope, it has that value until then, which looking through the scopes gives anyway.
 *
 * So after parsing, each scope gets the list of names to hide when it is entered. Scopes are the template, the body
 * and the else of a loop, macros, call, set and filter blocks, with and generation; `if` is none. */
#include <string.h>

#include "text/jinja.h"

enum { MAX_DEPTH = 500 };

typedef struct frame {
  const struct frame *outer;
  jinja_program *program;
  uint8_t *seen; /* by id: mentioned in this scope */
  jinja_ids *hidden;
  uint32_t depth;
} frame;

static bool is_known(const frame *f, uint32_t id) {
  for (; f; f = f->outer)
    if (f->seen[id]) return true;
  return false;
}

static rlx_status hide(frame *f, uint32_t id) {
  jinja_ids *h = f->hidden;
  if ((h->n & (h->n - 1)) == 0 && h->n != 1) { /* its capacity is the power of two at or above its length */
    uint32_t *grown = rlx_bump_array(&f->program->heap, uint32_t, h->n ? 2 * h->n : 2);
    if (!grown) return RLX_FAIL(RLX_NO_MEMORY, "a chat template");
    if (h->n) memcpy(grown, h->v, h->n * sizeof *grown);
    h->v = grown;
  }
  h->v[h->n++] = id;
  return RLX_OK;
}

static rlx_status store(frame *f, uint32_t id, bool is_branch) {
  bool is_hidden = !is_branch && !is_known(f, id);
  f->seen[id] = 1;
  return is_hidden ? hide(f, id) : RLX_OK;
}

static rlx_status deeper(frame *f, const jinja_node *n) {
  if (f->depth++ < MAX_DEPTH) return RLX_OK;
  return RLX_FAIL(RLX_LIMIT, "chat template, line %u: nested more than %d deep", (unsigned)n->line, MAX_DEPTH);
}

/* ---- What a scope mentions, in order ---- */

static rlx_status see_expression(frame *f, const jinja_node *e) {
  if (!e) return RLX_OK;
  RLX_TRY(deeper(f, e));
  if ((e->op == OP_NAME || e->op == OP_NAMESPACE_TARGET) && !is_known(f, e->id)) f->seen[e->id] = 1;
  RLX_TRY(see_expression(f, e->a));
  RLX_TRY(see_expression(f, e->b));
  RLX_TRY(see_expression(f, e->c));
  for (size_t i = 0; i < e->items.n; i++) RLX_TRY(see_expression(f, e->items.v[i]));
  for (size_t i = 0; i < e->named.n; i++) RLX_TRY(see_expression(f, e->named.v[i]));
  RLX_TRY(see_expression(f, e->star));
  RLX_TRY(see_expression(f, e->stars));
  f->depth--;
  return RLX_OK;
}

static rlx_status see_target(frame *f, const jinja_node *e, bool is_branch) {
  if (e->op == OP_NAME) return store(f, e->id, is_branch);
  if (e->op == OP_NAMESPACE_TARGET) return see_expression(f, e);
  for (size_t i = 0; i < e->items.n; i++) RLX_TRY(see_target(f, e->items.v[i], is_branch));
  return RLX_OK;
}

static rlx_status see_block(frame *f, const jinja_block *b, bool is_branch);

static rlx_status see_statement(frame *f, const jinja_node *n, bool is_branch) {
  switch ((jinja_op)n->op) {
    case OP_OUTPUT:
    case OP_CALL_BLOCK: return see_expression(f, n->a);
    case OP_FOR:
    case OP_FILTER_BLOCK: return see_expression(f, n->b);
    case OP_IF:
      RLX_TRY(see_expression(f, n->a));
      RLX_TRY(see_block(f, &n->body, true));
      return see_block(f, &n->other, true);
    case OP_SET: RLX_TRY(see_expression(f, n->b)); return see_target(f, n->a, is_branch);
    case OP_SET_BLOCK: return see_target(f, n->a, is_branch);
    case OP_MACRO: return store(f, n->id, is_branch);
    case OP_WITH:
      for (size_t i = 1; i < n->items.n; i += 2) RLX_TRY(see_expression(f, n->items.v[i]));
      return RLX_OK;
    default: return RLX_OK;
  }
}

static rlx_status see_block(frame *f, const jinja_block *b, bool is_branch) {
  for (size_t i = 0; i < b->n; i++) {
    RLX_TRY(deeper(f, b->v[i]));
    RLX_TRY(see_statement(f, b->v[i], is_branch));
    f->depth--;
  }
  return RLX_OK;
}

/* ---- Scopes within scopes ---- */

static rlx_status settle(const frame *outer, jinja_program *p, jinja_node *n, const jinja_block *body,
                         jinja_ids *hidden);

static rlx_status settle_inner(const frame *f, const jinja_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    jinja_node *n = b->v[i];
    if (n->op == OP_IF) {
      RLX_TRY(settle_inner(f, &n->body));
      RLX_TRY(settle_inner(f, &n->other));
    } else if (n->body.n) {
      RLX_TRY(settle(f, f->program, n, &n->body, &n->hidden));
      if (n->op == OP_FOR && n->other.n) RLX_TRY(settle(f, f->program, NULL, &n->other, &n->other_hidden));
    } else if (n->op == OP_FOR && n->other.n) {
      RLX_TRY(settle(f, f->program, NULL, &n->other, &n->other_hidden));
    }
  }
  return RLX_OK;
}

static void see_name(frame *f, const char *name) {
  for (size_t i = 0; i < f->program->names.n; i++)
    if (jinja_text_is(f->program->names.v[i], name)) f->seen[i] = 1;
}

/* The names that are set before a scope begins. */
static rlx_status see_parameters(frame *f, const jinja_node *n) {
  if (n->op == OP_FOR) {
    see_name(f, "loop");
    return see_target(f, n->a, true);
  }
  for (size_t i = 0; n->op == OP_WITH && i < n->items.n; i += 2) f->seen[n->items.v[i]->id] = 1;
  if (n->op != OP_MACRO && n->op != OP_CALL_BLOCK) return RLX_OK;
  for (size_t i = 0; i < n->items.n; i++) f->seen[n->items.v[i]->id] = 1;
  if (n->uses_caller) see_name(f, "caller");
  if (n->uses_kwargs) see_name(f, "kwargs");
  if (n->uses_varargs) see_name(f, "varargs");
  for (size_t i = 0; i < n->named.n; i++) RLX_TRY(see_expression(f, n->named.v[i]));
  return RLX_OK;
}

/* One scope and those in it; n: the statement that it belongs to, NULL: none with parameters. */
static rlx_status settle(const frame *outer, jinja_program *p, jinja_node *n, const jinja_block *body,
                         jinja_ids *hidden) {
  frame f = {.outer = outer, .program = p, .hidden = hidden, .depth = outer ? outer->depth : 0};
  f.seen = rlx_mem_calloc(p->names.n + 1, 1);
  rlx_status s = f.seen ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a chat template");
  if (!s && n) s = see_parameters(&f, n);
  if (!s) s = see_block(&f, body, false);
  if (!s && n && n->op == OP_FILTER_BLOCK) s = see_expression(&f, n->b);
  if (!s) s = settle_inner(&f, body);
  rlx_mem_free(f.seen);
  return s;
}

rlx_status jinja_settle_scopes(jinja_program *p) { return settle(NULL, p, NULL, &p->root, &p->hidden); }
