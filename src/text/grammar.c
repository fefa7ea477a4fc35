/* Grammars as callers see them: made from a text for the vocabulary of a tokenizer, and shared by reference. */
#include "text/grammar.h"

#include "base/budget.h"
#include "base/mem_source.h"
#include "text/text.h"

static rlx_status read_text(grammar_tree *t, rlx_grammar_kind kind, const char *text, size_t bytes, grammar_ref *root) {
  switch (kind) {
    case RLX_GRAMMAR_GBNF: return grammar_read_gbnf(t, text, bytes, root);
    case RLX_GRAMMAR_JSON_SCHEMA: return grammar_read_schema(t, text, bytes, root);
    case RLX_GRAMMAR_REGEX: return grammar_read_regex(t, text, bytes, (grammar_regex_mode){0}, root);
    case RLX_GRAMMAR_JSON: {
      grammar_json j = {.tree = t};
      *root = grammar_json_object(&j);
      return grammar_tree_check(t);
    }
  }
  return RLX_FAIL(RLX_INVALID, "rlx_grammar_create: kind is %d: expected 0 to %d", (int)kind, (int)RLX_GRAMMAR_JSON);
}

static rlx_status make_program(rlx_grammar *g, rlx_grammar_kind kind, const char *text, size_t bytes) {
  grammar_tree t;
  grammar_ref root;
  rlx_status s = grammar_tree_init(&t);
  if (!s) s = read_text(&t, kind, text, bytes, &root);
  if (!s) s = grammar_compile(&t, root, &g->program);
  grammar_tree_deinit(&t);
  return s;
}

static void destroy(rlx_grammar *g) {
  grammar_masks_destroy(g->masks);
  grammar_machine_deinit(&g->machine);
  grammar_program_deinit(&g->program);
  grammar_vocab_release(g->vocab);
  rlx_mutex_destroy(&g->lock);
  rlx_mem_free(g);
}

static rlx_status create(const rlx_tokenizer *t, rlx_grammar_kind kind, const char *text, size_t bytes,
                         rlx_grammar **out) {
  rlx_grammar *g = rlx_new(rlx_grammar);
  if (!g || !rlx_mutex_init(&g->lock)) {
    rlx_mem_free(g);
    return RLX_FAIL(RLX_NO_MEMORY, "a grammar");
  }
  atomic_init(&g->refs, 1);
  rlx_status s = make_program(g, kind, text, bytes);
  if (!s) s = grammar_vocab_of(t, &g->vocab);
  if (!s) s = grammar_machine_init(&g->machine, &g->program);
  if (!s) s = grammar_masks_create(g);
  if (s) destroy(g);
  else *out = g;
  return s;
}

rlx_status rlx_grammar_create(const rlx_tokenizer *t, rlx_grammar_kind kind, const char *text, size_t bytes,
                              rlx_grammar **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_grammar_create: out is NULL");
  *out = NULL;
  if (!t || (!text && bytes)) return RLX_FAIL(RLX_INVALID, "rlx_grammar_create: %s is NULL", t ? "text" : "tokenizer");
  if (bytes > GRAMMAR_MAX_TEXT)
    return RLX_FAIL(RLX_LIMIT, "a grammar of %zu bytes: at most %zu", bytes, GRAMMAR_MAX_TEXT);
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_grammar_create", &t->limits, RLX_LOAD_WORK, NULL);
  rlx_mem_source *before = rlx_mem_use(NULL); /* it may outlive the caller's session */
  rlx_status s = create(t, kind, text ? text : "", bytes, out);
  (void)rlx_mem_use(before);
  return rlx_budget_end(&budget, s);
}

void rlx_grammar_destroy(rlx_grammar *g) {
  if (g && atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) == 1) destroy(g);
}
