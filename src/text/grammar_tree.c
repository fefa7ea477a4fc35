/* The tree of expressions that all readers of grammars make.
 *
 * Builders simplify as they go: what matches nothing disappears from choices and spoils sequences, neighbouring texts
 * become one. A failure is remembered and stops all building, so that readers check once, at their end. */
#include <stdlib.h>
#include <string.h>

#include "text/grammar.h"
#include "text/text.h"

enum { FIRST_SURROGATE = 0xd800, LAST_SURROGATE = 0xdfff, LAST_CHARACTER = 0x10ffff };

static grammar_ref fail(grammar_tree *t, rlx_status s) {
  if (!t->failed) t->failed = s;
  return GRAMMAR_NEVER;
}

static grammar_ref add(grammar_tree *t, grammar_node n) {
  if (t->failed) return GRAMMAR_NEVER;
  if (t->nodes.n >= GRAMMAR_MAX_NODES) return fail(t, RLX_LIMIT);
  if (!rlx_array_push(&t->nodes, n)) return fail(t, RLX_NO_MEMORY);
  return (grammar_ref)(t->nodes.n - 1);
}

rlx_status grammar_tree_init(grammar_tree *t) {
  *t = (grammar_tree){0};
  (void)add(t, (grammar_node){.kind = GRAMMAR_NEVER});
  (void)add(t, (grammar_node){.kind = GRAMMAR_EMPTY});
  return grammar_tree_check(t);
}

void grammar_tree_deinit(grammar_tree *t) {
  rlx_array_deinit(&t->nodes);
  rlx_array_deinit(&t->ranges);
  rlx_array_deinit(&t->bytes);
  rlx_array_deinit(&t->children);
  rlx_array_deinit(&t->rules);
}

rlx_status grammar_tree_check(const grammar_tree *t) {
  if (!t->failed) return RLX_OK;
  if (t->failed == RLX_NO_MEMORY) return RLX_FAIL(RLX_NO_MEMORY, "a grammar");
  return RLX_FAIL(RLX_LIMIT, "the grammar has more than %zu expressions or %zu rules", GRAMMAR_MAX_NODES,
                  GRAMMAR_MAX_RULES);
}

/* ---- Classes ---- */

static int compare_ranges(const void *a, const void *b) {
  const grammar_range *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

size_t grammar_ranges_sort(grammar_range *r, size_t n) {
  size_t kept = 0;
  if (n) qsort(r, n, sizeof *r, compare_ranges);
  for (size_t i = 0; i < n; i++) {
    grammar_range now = r[i];
    if (now.last > LAST_CHARACTER) now.last = LAST_CHARACTER;
    if (now.first > now.last) continue;
    if (kept && now.first <= r[kept - 1].last + 1) {
      if (now.last > r[kept - 1].last) r[kept - 1].last = now.last;
    } else {
      r[kept++] = now;
    }
  }
  for (size_t i = 0; i < kept; i++) {
    grammar_range now = r[i];
    if (now.last < FIRST_SURROGATE || now.first > LAST_SURROGATE) continue;
    bool before = now.first<FIRST_SURROGATE, after = now.last> LAST_SURROGATE;
    if (before) r[i].last = FIRST_SURROGATE - 1;
    if (after && before) {
      memmove(r + i + 2, r + i + 1, (kept - i - 1) * sizeof *r);
      r[++i] = (grammar_range){LAST_SURROGATE + 1, now.last};
      kept++;
    } else if (after) {
      r[i].first = LAST_SURROGATE + 1;
    } else if (!before) {
      memmove(r + i, r + i + 1, (kept - i - 1) * sizeof *r);
      kept--;
      i--;
    }
  }
  return kept;
}

size_t grammar_ranges_invert(const grammar_range *r, size_t n, grammar_range *out) {
  uint32_t from = 0;
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (r[i].first > from) out[k++] = (grammar_range){from, r[i].first - 1};
    from = r[i].last + 1;
  }
  if (from <= LAST_CHARACTER) out[k++] = (grammar_range){from, LAST_CHARACTER};
  return grammar_ranges_sort(out, k);
}

/* The node of ranges that were just added. Grammars repeat few classes: one node for all means one automaton. */
static grammar_ref find_class(grammar_tree *t, uint32_t first, uint32_t n) {
  for (size_t i = 0; i < t->n_classes; i++) {
    const grammar_node *c = &t->nodes.v[t->classes[i]];
    if (c->b != n || memcmp(t->ranges.v + c->a, t->ranges.v + first, n * sizeof *t->ranges.v) != 0) continue;
    t->ranges.n = first;
    return t->classes[i];
  }
  grammar_ref c = add(t, (grammar_node){.kind = GRAMMAR_CLASS, .a = first, .b = n});
  if (c && t->n_classes < sizeof t->classes / sizeof *t->classes) t->classes[t->n_classes++] = c;
  return c;
}

static grammar_ref add_class(grammar_tree *t, const grammar_range *ranges, size_t n, bool is_inverted) {
  if (t->failed) return GRAMMAR_NEVER;
  grammar_range *copy = rlx_mem_calloc(2 * n + 5, sizeof *copy);
  if (!copy) return fail(t, RLX_NO_MEMORY);
  grammar_range *other = copy + n + 2;
  if (n) memcpy(copy, ranges, n * sizeof *copy);
  n = grammar_ranges_sort(copy, n);
  if (is_inverted) n = grammar_ranges_invert(copy, n, other);
  const uint32_t first = (uint32_t)t->ranges.n;
  bool has_room = rlx_array_reserve(&t->ranges, n);
  for (size_t i = 0; has_room && i < n; i++) t->ranges.v[t->ranges.n++] = is_inverted ? other[i] : copy[i];
  rlx_mem_free(copy);
  if (!has_room) return fail(t, RLX_NO_MEMORY);
  if (t->ranges.n > GRAMMAR_MAX_NODES) return fail(t, RLX_LIMIT);
  return n ? find_class(t, first, (uint32_t)n) : GRAMMAR_NEVER;
}

grammar_ref grammar_class(grammar_tree *t, const grammar_range *ranges, size_t n) {
  return add_class(t, ranges, n, false);
}

grammar_ref grammar_class_but(grammar_tree *t, const grammar_range *ranges, size_t n) {
  return add_class(t, ranges, n, true);
}

/* ---- Expressions ---- */

grammar_ref grammar_text(grammar_tree *t, const char *bytes, size_t n) {
  if (!n) return GRAMMAR_EMPTY;
  if (t->failed) return GRAMMAR_NEVER;
  const uint32_t first = (uint32_t)t->bytes.n;
  if (t->bytes.n + n > 16 * GRAMMAR_MAX_TEXT) return fail(t, RLX_LIMIT);
  if (!rlx_array_reserve(&t->bytes, n)) return fail(t, RLX_NO_MEMORY);
  memcpy(t->bytes.v + first, bytes, n);
  t->bytes.n += n;
  return add(t, (grammar_node){.kind = GRAMMAR_TEXT, .a = first, .b = (uint32_t)n});
}

static bool push_child(grammar_tree *t, grammar_ref child) {
  if (rlx_array_push(&t->children, child)) return true;
  fail(t, RLX_NO_MEMORY);
  return false;
}

/* Whether text b stands right after text a, so that both are one. */
static bool are_joined(const grammar_tree *t, grammar_ref a, grammar_ref b) {
  const grammar_node *x = &t->nodes.v[a], *y = &t->nodes.v[b];
  return x->kind == GRAMMAR_TEXT && y->kind == GRAMMAR_TEXT && x->a + x->b == y->a;
}

grammar_ref grammar_sequence(grammar_tree *t, const grammar_ref *parts, size_t n) {
  const size_t first = t->children.n;
  for (size_t i = 0; i < n; i++)
    if (parts[i] == GRAMMAR_NEVER) return GRAMMAR_NEVER;
  for (size_t i = 0; i < n && !t->failed; i++) {
    if (parts[i] == GRAMMAR_EMPTY) continue;
    grammar_ref last = t->children.n > first ? t->children.v[t->children.n - 1] : GRAMMAR_EMPTY;
    if (!are_joined(t, last, parts[i])) {
      push_child(t, parts[i]);
      continue;
    }
    grammar_node joined = t->nodes.v[last];
    joined.b += t->nodes.v[parts[i]].b;
    t->children.v[t->children.n - 1] = add(t, joined);
  }
  if (t->failed) return GRAMMAR_NEVER;
  const size_t kept = t->children.n - first;
  if (kept > 1) return add(t, (grammar_node){.kind = GRAMMAR_SEQUENCE, .a = (uint32_t)first, .b = (uint32_t)kept});
  t->children.n = first;
  return kept ? t->children.v[first] : GRAMMAR_EMPTY;
}

grammar_ref grammar_choice(grammar_tree *t, const grammar_ref *parts, size_t n) {
  const size_t first = t->children.n;
  for (size_t i = 0; i < n && !t->failed; i++) {
    bool is_new = parts[i] != GRAMMAR_NEVER;
    for (size_t k = first; is_new && n < 64 && k < t->children.n; k++) is_new = t->children.v[k] != parts[i];
    if (is_new) push_child(t, parts[i]);
  }
  if (t->failed) return GRAMMAR_NEVER;
  const size_t kept = t->children.n - first;
  if (kept > 1) return add(t, (grammar_node){.kind = GRAMMAR_CHOICE, .a = (uint32_t)first, .b = (uint32_t)kept});
  t->children.n = first;
  return kept ? t->children.v[first] : GRAMMAR_NEVER;
}

bool grammar_read_count(const char **at, const char *end, uint32_t *n) {
  if (*at >= end || **at < '0' || **at > '9') return false;
  for (*n = 0; *at < end && **at >= '0' && **at <= '9'; ++*at) {
    *n = *n * 10 + (uint32_t)(**at - '0');
    if (*n > GRAMMAR_MAX_REPEAT) break; /* at the digit that is too much */
  }
  return true;
}

grammar_ref grammar_repeat(grammar_tree *t, grammar_ref child, uint32_t min, uint32_t max) {
  if (t->failed) return GRAMMAR_NEVER;
  if (child == GRAMMAR_NEVER) return min ? GRAMMAR_NEVER : GRAMMAR_EMPTY;
  if (child == GRAMMAR_EMPTY || !max) return GRAMMAR_EMPTY;
  if (min == 1 && max == 1) return child;
  return add(t, (grammar_node){.kind = GRAMMAR_REPEAT, .a = child, .min = min, .max = max});
}

/* ---- Rules ---- */

uint32_t grammar_rule_add(grammar_tree *t, const char *name, size_t bytes) {
  if (t->failed) return 0;
  if (t->rules.n >= GRAMMAR_MAX_RULES) return fail(t, RLX_LIMIT);
  grammar_rule r = {.name = (uint32_t)t->bytes.n, .name_bytes = (uint32_t)bytes};
  if (!rlx_array_reserve(&t->bytes, bytes + 1) || !rlx_array_push(&t->rules, r)) return fail(t, RLX_NO_MEMORY);
  if (bytes) memcpy(t->bytes.v + t->bytes.n, name, bytes);
  t->bytes.n += bytes;
  t->bytes.v[t->bytes.n++] = '\0';
  return (uint32_t)(t->rules.n - 1);
}

void grammar_rule_set(grammar_tree *t, uint32_t rule, grammar_ref body) {
  if (t->failed) return;
  t->rules.v[rule].body = body;
  t->rules.v[rule].is_set = true;
}

grammar_ref grammar_call(grammar_tree *t, uint32_t rule) {
  return add(t, (grammar_node){.kind = GRAMMAR_CALL, .a = rule});
}
