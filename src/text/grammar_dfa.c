/* Expressions without recursion as deterministic automata over bytes.
 *
 * First Thompson's construction: states with edges for ranges of bytes, and edges that take none. A class of characters
 * becomes the sequences of bytes that UTF-8 writes them with. Then the subset construction, where only states with an
 * edge that takes a byte, and the last one, count: so states that differ in how they were reached, but not in what may
 * follow, are one. Both are bounded, as a few letters of a pattern can ask for an automaton of any size. */
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "text/grammar.h"
#include "text/text.h"

enum { MAX_NFA_STATES = 1 << 14, MAX_NFA_EDGES = 1 << 16 };

typedef struct nfa_edge {
  uint32_t to, next; /* next: of the same state; 0: none */
  uint8_t first, last;
  bool is_free; /* takes no byte */
} nfa_edge;

typedef struct subset {
  uint32_t first, n, hash;
} subset;

typedef struct building {
  const grammar_tree *t;
  RLX_ARRAY(uint32_t) states; /* the first edge of each */
  RLX_ARRAY(nfa_edge) edges;  /* the first is not used */
  bool is_too_large;
  rlx_status failed;
  RLX_ARRAY(subset) subsets;
  RLX_ARRAY(uint32_t) members;
  RLX_ARRAY(uint32_t) pending; /* scratch: states whose free edges are to be followed */
  RLX_ARRAY(uint32_t) marks;   /* by state: the last closure that reached it */
  uint32_t mark;
  uint64_t work, max_work;
} building;

/* ---- States and edges ---- */

static bool goes_on(const building *b) { return !b->failed && !b->is_too_large; }

static uint32_t add_state(building *b) {
  if (b->states.n >= MAX_NFA_STATES) b->is_too_large = true;
  if (!goes_on(b)) return 0;
  if (!rlx_array_push(&b->states, 0)) b->failed = RLX_FAIL(RLX_NO_MEMORY, "an automaton");
  return b->failed ? 0 : (uint32_t)(b->states.n - 1);
}

static void add_edge(building *b, uint32_t from, uint32_t to, uint8_t first, uint8_t last, bool is_free) {
  if (b->edges.n >= MAX_NFA_EDGES) b->is_too_large = true;
  if (!goes_on(b)) return;
  nfa_edge e = {.to = to, .next = b->states.v[from], .first = first, .last = last, .is_free = is_free};
  if (!rlx_array_push(&b->edges, e)) {
    b->failed = RLX_FAIL(RLX_NO_MEMORY, "an automaton");
    return;
  }
  b->states.v[from] = (uint32_t)(b->edges.n - 1);
}

static void add_free(building *b, uint32_t from, uint32_t to) { add_edge(b, from, to, 0, 0, true); }

/* ---- Characters as bytes ---- */

/* Ranges of bytes, one after the other, of characters whose encodings have the same length and differ in trailing parts
 * that are full ranges. */
static void add_bytes(building *b, uint32_t from, uint32_t to, const char *low, const char *high, size_t n) {
  uint32_t at = from;
  for (size_t i = 0; i < n; i++) {
    uint32_t next = i + 1 < n ? add_state(b) : to;
    if (!goes_on(b)) return;
    add_edge(b, at, next, (uint8_t)low[i], (uint8_t)high[i], false);
    at = next;
  }
}

/* Splits a range until each part is a product of ranges of bytes. */
static void add_range(building *b, uint32_t from, uint32_t to, uint32_t first, uint32_t last) {
  static const uint32_t lengths[] = {0x7f, 0x7ff, 0xffff};
  char low[4], high[4];
  while (first <= last && goes_on(b)) {
    uint32_t end = last;
    for (size_t i = 0; i < 3; i++)
      if (first <= lengths[i] && end > lengths[i]) end = lengths[i];
    if (first > 0x7f) /* whole blocks of 64^k characters, or what is left of one */
      for (uint32_t block = 64; block <= 64 * 64 * 64; block *= 64) {
        uint32_t within = block - 1;
        if ((first & ~within) == (end & ~within)) break;
        if (first & within) end = first | within;
        else if ((end & within) != within) end = (end & ~within) - 1;
      }
    size_t n = text_put(low, (int32_t)first);
    (void)text_put(high, (int32_t)end);
    add_bytes(b, from, to, low, high, n);
    first = end + 1;
  }
}

/* ---- Expressions ---- */

static void add_node(building *b, grammar_ref ref, uint32_t from, uint32_t to, uint32_t depth);

static void add_repeat(building *b, const grammar_node *n, uint32_t from, uint32_t to, uint32_t depth) {
  for (uint32_t i = 0; i < n->min && goes_on(b); i++) {
    uint32_t next = add_state(b);
    add_node(b, n->a, from, next, depth);
    from = next;
  }
  if (n->max == GRAMMAR_MANY) {
    uint32_t loop = add_state(b);
    add_free(b, from, loop);
    add_node(b, n->a, loop, loop, depth);
    add_free(b, loop, to);
    return;
  }
  for (uint32_t i = n->min; i < n->max && goes_on(b); i++) {
    uint32_t next = add_state(b);
    add_free(b, from, to);
    add_node(b, n->a, from, next, depth);
    from = next;
  }
  add_free(b, from, to);
}

static void add_sequence(building *b, const grammar_node *n, uint32_t from, uint32_t to, uint32_t depth) {
  for (uint32_t i = 0; i < n->b && goes_on(b); i++) {
    uint32_t next = i + 1 < n->b ? add_state(b) : to;
    add_node(b, b->t->children.v[n->a + i], from, next, depth);
    from = next;
  }
}

static void add_node(building *b, grammar_ref ref, uint32_t from, uint32_t to, uint32_t depth) {
  const grammar_node *n = &b->t->nodes.v[ref];
  if (depth > 4 * GRAMMAR_MAX_DEPTH) b->is_too_large = true; /* rules that call each other are deeper than a text */
  if (!goes_on(b)) return;
  switch (n->kind) {
    case GRAMMAR_NEVER: return;
    case GRAMMAR_EMPTY: add_free(b, from, to); return;
    case GRAMMAR_CLASS:
      for (uint32_t i = 0; i < n->b; i++) {
        grammar_range r = b->t->ranges.v[n->a + i];
        add_range(b, from, to, r.first, r.last);
      }
      return;
    case GRAMMAR_TEXT: add_bytes(b, from, to, b->t->bytes.v + n->a, b->t->bytes.v + n->a, n->b); return;
    case GRAMMAR_SEQUENCE: add_sequence(b, n, from, to, depth + 1); return;
    case GRAMMAR_CHOICE:
      for (uint32_t i = 0; i < n->b && goes_on(b); i++) add_node(b, b->t->children.v[n->a + i], from, to, depth + 1);
      return;
    case GRAMMAR_REPEAT: add_repeat(b, n, from, to, depth + 1); return;
    case GRAMMAR_CALL: add_node(b, b->t->rules.v[n->a].body, from, to, depth + 1); return;
  }
}

/* ---- Subsets ---- */

static bool push_pending(building *b, uint32_t state) {
  if (b->marks.v[state] == b->mark) return true;
  b->marks.v[state] = b->mark;
  return rlx_array_push(&b->pending, state);
}

static int compare_states(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* Appends the states that `pending` reaches without a byte to `members`: those that count. */
static rlx_status close_subset(building *b, subset *out) {
  out->first = (uint32_t)b->members.n;
  for (size_t at = 0; at < b->pending.n; at++) {
    uint32_t state = b->pending.v[at];
    bool counts = state == 1; /* the last one */
    for (uint32_t e = b->states.v[state]; e; e = b->edges.v[e].next) {
      b->work++;
      if (!b->edges.v[e].is_free) counts = true;
      else if (!push_pending(b, b->edges.v[e].to)) return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
    }
    if (counts && !rlx_array_push(&b->members, state)) return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
  }
  b->pending.n = 0;
  out->n = (uint32_t)b->members.n - out->first;
  if (out->n) qsort(b->members.v + out->first, out->n, sizeof *b->members.v, compare_states);
  out->hash = 2166136261u;
  for (uint32_t i = 0; i < out->n; i++) out->hash = (out->hash ^ b->members.v[out->first + i]) * 16777619u;
  return RLX_OK;
}

/* The index of the subset of `pending`; SIZE_MAX if it is empty. */
static rlx_status find_subset(building *b, size_t *index) {
  subset s;
  RLX_TRY(close_subset(b, &s));
  *index = SIZE_MAX;
  if (!s.n) return RLX_OK;
  for (size_t i = 0; i < b->subsets.n; i++) {
    const subset *o = &b->subsets.v[i];
    if (o->hash != s.hash || o->n != s.n) continue;
    if (memcmp(b->members.v + o->first, b->members.v + s.first, s.n * sizeof *b->members.v) != 0) continue;
    b->members.n = s.first;
    *index = i;
    return RLX_OK;
  }
  b->work += b->subsets.n;
  if (!rlx_array_push(&b->subsets, s)) return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
  *index = b->subsets.n - 1;
  return RLX_OK;
}

/* Where ranges of the subset's edges begin: bytes between two such places go the same way. */
static bool mark_cuts(building *b, subset s, bool cuts[257]) {
  bool any = false;
  memset(cuts, 0, 257 * sizeof *cuts);
  for (uint32_t i = 0; i < s.n; i++)
    for (uint32_t e = b->states.v[b->members.v[s.first + i]]; e; e = b->edges.v[e].next) {
      const nfa_edge *edge = &b->edges.v[e];
      if (edge->is_free) continue;
      any = cuts[edge->first] = cuts[edge->last + 1] = true;
    }
  return any;
}

/* The subset after a byte, as the index of a subset. */
static rlx_status follow(building *b, size_t from, unsigned byte, size_t *to) {
  subset s = b->subsets.v[from];
  b->mark++;
  for (uint32_t i = 0; i < s.n; i++)
    for (uint32_t e = b->states.v[b->members.v[s.first + i]]; e; e = b->edges.v[e].next) {
      const nfa_edge *edge = &b->edges.v[e];
      b->work++;
      if (!edge->is_free && edge->first <= byte && byte <= edge->last && !push_pending(b, edge->to))
        return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
    }
  return find_subset(b, to);
}

static rlx_status fill_row(building *b, size_t index, uint32_t start, grammar_dfas *out) {
  bool cuts[257];
  uint16_t *row = out->next.v + (start + index) * 256;
  subset s = b->subsets.v[index];
  memset(row, 0, 256 * sizeof *row);
  for (uint32_t i = 0; i < s.n; i++)
    if (b->members.v[s.first + i] == 1) out->flags.v[start + index] |= DFA_ACCEPTS;
  if (!mark_cuts(b, s, cuts)) return RLX_OK;
  out->flags.v[start + index] |= DFA_GOES_ON;
  size_t to = SIZE_MAX;
  for (unsigned byte = 0; byte < 256; byte++) {
    if (byte == 0 || cuts[byte]) RLX_TRY(follow(b, index, byte, &to));
    row[byte] = to == SIZE_MAX ? 0 : (uint16_t)(start + to);
  }
  return RLX_OK;
}

static rlx_status make_table(building *b, size_t max_states, grammar_dfas *out, uint32_t *start) {
  size_t first = out->flags.n, index;
  if (!rlx_array_reserve(&b->marks, b->states.n)) return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
  memset(b->marks.v, 0, b->states.n * sizeof *b->marks.v);
  b->mark = 1;
  if (!push_pending(b, 0)) return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
  RLX_TRY(find_subset(b, &index));
  if (index == SIZE_MAX) return RLX_OK;
  for (size_t i = 0; i < b->subsets.n; i++) {
    if (b->subsets.n > max_states || first + b->subsets.n > DFA_MAX_STATES || b->work > b->max_work) {
      out->flags.n = first;
      out->next.n = first * 256;
      return RLX_OK;
    }
    if (rlx_budget_stops()) return RLX_FAIL(RLX_CANCELLED, "making an automaton");
    if (!rlx_array_reserve(&out->next, 256) || !rlx_array_push(&out->flags, 0))
      return RLX_FAIL(RLX_NO_MEMORY, "an automaton");
    out->next.n += 256;
    RLX_TRY(fill_row(b, i, (uint32_t)first, out));
  }
  *start = (uint32_t)first;
  bool is_prefix_free = true;
  for (size_t i = first; i < out->flags.n; i++)
    is_prefix_free &= (out->flags.v[i] & (DFA_ACCEPTS | DFA_GOES_ON)) != (DFA_ACCEPTS | DFA_GOES_ON);
  if (is_prefix_free) out->flags.v[first] |= DFA_IS_PREFIX_FREE;
  return RLX_OK;
}

rlx_status grammar_dfa_build(const grammar_tree *t, grammar_ref node, size_t max_states, uint64_t *work,
                             grammar_dfas *out, uint32_t *start) {
  building b = {.t = t, .max_work = *work};
  *start = 0;
  (void)add_state(&b); /* 0: the first one */
  (void)add_state(&b); /* 1: the last one */
  if (goes_on(&b) && !rlx_array_push(&b.edges, (nfa_edge){0})) b.failed = RLX_FAIL(RLX_NO_MEMORY, "an automaton");
  add_node(&b, node, 0, 1, 0);
  rlx_status s = b.failed;
  if (!s && !b.is_too_large) s = make_table(&b, max_states, out, start);
  *work -= b.work < *work ? b.work : *work;
  rlx_array_deinit(&b.states);
  rlx_array_deinit(&b.edges);
  rlx_array_deinit(&b.subsets);
  rlx_array_deinit(&b.members);
  rlx_array_deinit(&b.pending);
  rlx_array_deinit(&b.marks);
  return s;
}
