/* Masks: which tokens may come next.
 *
 * A mask is a walk of the machine over the trie of the vocabulary. Inside a string of JSON nearly every token may come,
 * so such a walk visits the whole trie; and the place has a config of its own for each string of the text. But which
 * tokens stay within the element on top of the stack depends on that element alone. So its walk is made once, with
 * nothing known below it, and kept: the tokens that it takes, and the nodes of the trie where it may be complete and
 * bytes are left. For a config only these are walked on, with what follows the element. Repetitions do not multiply
 * these walks: where it is certain when a turn ends, as with the characters of a string, one walk notes how many turns
 * each token takes; elsewhere numbers of turns that no token can reach count as equal.
 *
 * The mask of a config is kept as well. What is kept is bounded: when it is too much, the machine is made anew with the
 * configs of the states that live, and the masks are forgotten. */
#include <string.h>

#include "base/budget.h"
#include "base/mem_source.h"
#include "text/grammar.h"

typedef struct kept_mask {
  uint64_t *bits; /* NULL: not computed */
  uint32_t n;
} kept_mask;

/* What an element takes from some point on, whatever follows it. */
typedef struct lone_walk {
  uint32_t sub, min, max; /* the state of its automaton, the turns that must and may still come; COUNTED: any */
  int32_t *tokens;        /* n; if COUNTED, those first that take fewer turns. NULL: only `bits` */
  uint64_t *bits;         /* a bit for each; NULL: only `tokens` */
  uint32_t n;
  uint32_t *taken;  /* if COUNTED, by number of turns: the tokens that take fewer; the trie's depth + 3 */
  uint32_t *starts; /* by class of bytes, and one more: in `nodes` */
  uint32_t *nodes;  /* of the trie, below those where it may be complete */
  uint16_t *turns;  /* if COUNTED, by node: the turns until there */
} lone_walk;

struct grammar_masks {
  RLX_ARRAY(kept_mask) masks; /* by config */
  RLX_ARRAY(lone_walk) walks;
  RLX_ARRAY(uint32_t) slots; /* of walks, by hash */
  size_t mask_bytes, walk_bytes;
  uint32_t *at;   /* by depth in the trie: the config there */
  uint64_t *bits; /* scratch */
  uint16_t *turn; /* by depth in the trie: the turns until there */
  bool *is_exit;  /* by depth: a turn is complete there */
  uint16_t *need; /* scratch, by token: the turns it takes */
  RLX_ARRAY(uint16_t) exit_turns;
  RLX_ARRAY(uint32_t) exits;
  RLX_ARRAY(uint32_t) texts; /* stacks with a text on top */
};

struct grammar_state {
  rlx_grammar *g;
  grammar_state *previous, *next; /* of g->states */
  uint32_t config;
  uint32_t moved; /* while the machine is made anew: the config there */
  bool may_end, has_mask;
  uint64_t *bits;
  uint32_t n;
};

enum { MAX_KEPT = 64 << 20 };
#define COUNTED (UINT32_MAX - 1)

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "the masks of a grammar"); }

static size_t words_of(const grammar_vocab *v) { return ((size_t)v->n_tokens + 63) / 64; }

/* ---- Walks ---- */

static void set_tokens(const grammar_vocab *v, uint64_t *bits, int32_t token) {
  for (; token >= 0; token = v->next_same[token]) bits[token / 64] |= (uint64_t)1 << token % 64;
}

/* From a config over the nodes first .. end - 1, which are one branch or all children of the root. With keep_exits,
 * k->exits gets the nodes right below those where STACK_BOTTOM is reached: the walk comes by each of them. */
static rlx_status walk(rlx_grammar *g, uint32_t first, uint32_t end, uint32_t config, uint64_t *bits, bool keep_exits) {
  grammar_machine *m = &g->machine;
  grammar_masks *k = g->masks;
  const grammar_trie_node *nodes = g->vocab->nodes;
  const uint32_t width = m->p->n_classes;
  const uint8_t *class_of = m->p->class_of;
  uint32_t *at = k->at;
  if (first >= end) return RLX_OK;
  at[nodes[first].depth - 1] = config;
  for (uint32_t i = first; i < end;) {
    const grammar_trie_node *node = &nodes[i];
    const uint32_t from = at[node->depth - 1], class = class_of[node->byte];
    uint32_t next = m->rows.v[(size_t)from * width + class];
    if (keep_exits && m->configs.v[from].exits && !rlx_array_push(&k->exits, i)) return no_memory();
    if (next == GRAMMAR_UNKNOWN) RLX_TRY(grammar_machine_compute(m, from, class, &next));
    if (!next) {
      i = node->after;
      continue;
    }
    at[node->depth] = next;
    if (node->token >= 0) set_tokens(g->vocab, bits, node->token);
    i++;
  }
  m->work += 1 + (end - first) / 16; /* a node is little work beside a closure */
  return m->work > GRAMMAR_MAX_WORK ? RLX_FAIL(RLX_LIMIT, "the grammar takes too much work for one token") : RLX_OK;
}

/* ---- Walks of one element ---- */

static uint32_t hash_walk(uint32_t sub, uint32_t min, uint32_t max) {
  uint32_t h = ((sub * 0x9e3779b1u ^ min) * 0x85ebca6bu ^ max) * 0xc2b2ae35u;
  return h ^ h >> 15;
}

static void walk_deinit(lone_walk *w) {
  rlx_mem_free(w->tokens);
  rlx_mem_free(w->bits);
  rlx_mem_free(w->taken);
  rlx_mem_free(w->starts);
  rlx_mem_free(w->nodes);
  rlx_mem_free(w->turns);
}

static uint32_t count_bits(const uint64_t *bits, size_t words) {
  uint32_t n = 0;
  for (size_t i = 0; i < words; i++) n += (uint32_t)__builtin_popcountll(bits[i]);
  return n;
}

static rlx_status keep_bits(const rlx_grammar *g, lone_walk *w) {
  const size_t words = words_of(g->vocab);
  w->bits = rlx_mem_calloc(words + 1, sizeof *w->bits);
  if (!w->bits) return no_memory();
  memcpy(w->bits, g->masks->bits, words * sizeof *w->bits);
  return RLX_OK;
}

/* Keeps the tokens of g->masks->bits: few as a list. */
static rlx_status keep_tokens(const rlx_grammar *g, lone_walk *w) {
  const size_t words = words_of(g->vocab);
  const uint64_t *bits = g->masks->bits;
  w->n = count_bits(bits, words);
  if (w->n >= words) return keep_bits(g, w);
  w->tokens = rlx_mem_calloc((size_t)w->n + 1, sizeof *w->tokens);
  if (!w->tokens) return no_memory();
  uint32_t n = 0;
  for (size_t i = 0; i < words; i++)
    for (uint64_t rest = bits[i]; rest; rest &= rest - 1)
      w->tokens[n++] = (int32_t)(i * 64 + (size_t)__builtin_ctzll(rest));
  return RLX_OK;
}

/* Keeps them all, sorted by the turns that they take. */
static rlx_status keep_sorted(const rlx_grammar *g, lone_walk *w) {
  const uint64_t *bits = g->masks->bits;
  const uint16_t *need = g->masks->need;
  const uint32_t most = g->vocab->depth + 2;
  RLX_TRY(keep_bits(g, w));
  w->n = count_bits(bits, words_of(g->vocab));
  w->tokens = rlx_mem_calloc((size_t)w->n + 1, sizeof *w->tokens);
  w->taken = rlx_mem_calloc((size_t)most + 1, sizeof *w->taken);
  if (!w->tokens || !w->taken) return no_memory();
  for (uint32_t i = 0; i < g->vocab->n_tokens; i++)
    if (bits[i / 64] >> i % 64 & 1) w->taken[need[i] + 1]++;
  for (uint32_t i = 1; i <= most; i++) w->taken[i] += w->taken[i - 1];
  for (uint32_t i = 0; i < g->vocab->n_tokens; i++) /* taken[k] moves to the end of those that take k turns .. */
    if (bits[i / 64] >> i % 64 & 1) w->tokens[w->taken[need[i]]++] = (int32_t)i;
  for (uint32_t i = most; i > 0; i--) w->taken[i] = w->taken[i - 1]; /* .. and back */
  w->taken[0] = 0;
  return RLX_OK;
}

/* Sorts the exits by the class of their byte. */
static rlx_status keep_exits(const rlx_grammar *g, lone_walk *w) {
  const grammar_trie_node *nodes = g->vocab->nodes;
  const grammar_program *p = &g->program;
  const grammar_masks *k = g->masks;
  const size_t n = k->exits.n;
  uint32_t sum = 0;
  w->starts = rlx_mem_calloc((size_t)p->n_classes + 2, sizeof *w->starts);
  if (!w->starts) return no_memory();
  for (size_t i = 0; i < n; i++) w->starts[p->class_of[nodes[k->exits.v[i]].byte] + 2]++;
  for (uint32_t i = 2; i < p->n_classes + 2; i++) sum = w->starts[i] += sum;
  w->nodes = rlx_mem_calloc(n + 1, sizeof *w->nodes);
  if (w->max == COUNTED) w->turns = rlx_mem_calloc(n + 1, sizeof *w->turns);
  if (!w->nodes || (w->max == COUNTED && !w->turns)) return no_memory();
  for (size_t i = 0; i < n; i++) {
    const uint32_t to = w->starts[p->class_of[nodes[k->exits.v[i]].byte] + 1]++;
    w->nodes[to] = k->exits.v[i];
    if (w->turns) w->turns[to] = k->exit_turns.v[i];
  }
  g->masks->walk_bytes += n * (sizeof *w->nodes + (w->turns ? sizeof *w->turns : 0)) + 512;
  g->masks->walk_bytes += (w->bits ? words_of(g->vocab) * 8 : 0) + (w->tokens ? w->n * sizeof *w->tokens : 0);
  return RLX_OK;
}

static rlx_status make_walk(rlx_grammar *g, uint32_t stack, lone_walk *w) {
  uint32_t config;
  RLX_TRY(grammar_machine_alone(&g->machine, stack, &config));
  memset(g->masks->bits, 0, words_of(g->vocab) * sizeof *g->masks->bits);
  g->masks->exits.n = 0;
  RLX_TRY(walk(g, 1, g->vocab->n_nodes, config, g->masks->bits, true));
  RLX_TRY(keep_tokens(g, w));
  return keep_exits(g, w);
}

/* The automaton alone, again and again: the turn of each byte is certain, as no match begins another one. */
static rlx_status walk_turns(rlx_grammar *g, uint32_t start, uint32_t sub) {
  grammar_masks *k = g->masks;
  const grammar_trie_node *nodes = g->vocab->nodes;
  const grammar_program *p = &g->program;
  k->at[0] = sub;
  k->turn[0] = 0;
  k->is_exit[0] = false;
  k->exits.n = k->exit_turns.n = 0;
  for (uint32_t i = 1; i < g->vocab->n_nodes;) {
    const grammar_trie_node *node = &nodes[i];
    const uint32_t d = node->depth;
    uint32_t next = p->dfas.next.v[(size_t)k->at[d - 1] * p->n_classes + p->class_of[node->byte]];
    if (k->is_exit[d - 1] && (!rlx_array_push(&k->exits, i) || !rlx_array_push(&k->exit_turns, k->turn[d - 1])))
      return no_memory();
    if (!next) {
      i = node->after;
      continue;
    }
    const bool is_whole = p->dfas.flags.v[next] & DFA_ACCEPTS;
    k->at[d] = is_whole ? start : next;
    k->turn[d] = (uint16_t)(k->turn[d - 1] + is_whole);
    k->is_exit[d] = is_whole;
    for (int32_t t = node->token; t >= 0; t = g->vocab->next_same[t])
      k->need[t] = (uint16_t)(k->turn[d] + !is_whole); /* the last turn may be a part */
    if (node->token >= 0) set_tokens(g->vocab, k->bits, node->token);
    i++;
  }
  return RLX_OK;
}

static rlx_status make_counted(rlx_grammar *g, uint32_t start, lone_walk *w) {
  memset(g->masks->bits, 0, words_of(g->vocab) * sizeof *g->masks->bits);
  RLX_TRY(walk_turns(g, start, w->sub));
  RLX_TRY(keep_sorted(g, w));
  return keep_exits(g, w);
}

static rlx_status enter_walk(grammar_masks *k) {
  const size_t size = k->slots.n ? k->slots.n : 64;
  if (2 * (k->walks.n + 1) > size || !k->slots.n) {
    const size_t larger = k->slots.n ? 2 * size : size;
    uint32_t *fresh = rlx_mem_calloc(larger, sizeof *fresh);
    if (!fresh) return no_memory();
    rlx_mem_free(k->slots.v);
    k->slots.v = fresh;
    k->slots.n = k->slots.cap = larger;
    for (size_t i = 0; i < k->walks.n; i++) {
      const lone_walk *w = &k->walks.v[i];
      size_t at = hash_walk(w->sub, w->min, w->max) & (larger - 1);
      while (fresh[at]) at = (at + 1) & (larger - 1);
      fresh[at] = (uint32_t)i + 1;
    }
  }
  return rlx_array_reserve(&k->walks, 1) ? RLX_OK : no_memory();
}

/* The turns that must and may still come. */
static void turns_left(const rlx_grammar *g, uint32_t stack, uint32_t *min, uint32_t *max) {
  const grammar_stack *s = &g->machine.stacks.v[stack];
  const grammar_element *e = &g->program.elements.v[s->element];
  *min = e->min > s->count ? e->min - s->count : 0;
  *max = e->max == GRAMMAR_MANY ? e->max : e->max - s->count;
}

/* The walk of the automaton on top of a stack. */
static rlx_status find_walk(rlx_grammar *g, uint32_t stack, lone_walk **out) {
  grammar_masks *k = g->masks;
  const grammar_stack *s = &g->machine.stacks.v[stack];
  const grammar_element *e = &g->program.elements.v[s->element];
  const uint32_t far = g->vocab->depth + 1, start = e->id;
  lone_walk w = {.sub = s->sub};
  const bool is_counted = e->max > 1 && g->program.dfas.flags.v[start] & DFA_IS_PREFIX_FREE;
  turns_left(g, stack, &w.min, &w.max);
  if (w.min > far) w.min = far;
  if (w.max > far) w.max = far;
  if (is_counted) w.min = w.max = COUNTED;
  RLX_TRY(enter_walk(k));
  size_t mask = k->slots.n - 1, at = hash_walk(w.sub, w.min, w.max) & mask;
  for (; k->slots.v[at]; at = (at + 1) & mask) {
    *out = &k->walks.v[k->slots.v[at] - 1];
    if ((*out)->sub == w.sub && (*out)->min == w.min && (*out)->max == w.max) return RLX_OK;
  }
  rlx_status status = is_counted ? make_counted(g, start, &w) : make_walk(g, stack, &w);
  if (status) {
    walk_deinit(&w);
    return status;
  }
  k->walks.v[k->walks.n++] = w;
  k->slots.v[at] = (uint32_t)k->walks.n;
  *out = &k->walks.v[k->walks.n - 1];
  return RLX_OK;
}

/* ---- The mask of a config ---- */

static void set_bit(uint64_t *bits, int32_t token) { bits[token / 64] |= (uint64_t)1 << token % 64; }

/* The tokens that take at most `max` turns: by adding them, or by leaving out the others. */
static void add_counted(const rlx_grammar *g, const lone_walk *w, uint32_t max, uint64_t *bits) {
  const size_t words = words_of(g->vocab);
  uint64_t *some = g->masks->bits;
  const uint32_t n = max > g->vocab->depth ? w->n : w->taken[max + 1];
  if (n < w->n / 2) {
    for (uint32_t i = 0; i < n; i++) set_bit(bits, w->tokens[i]);
    return;
  }
  memcpy(some, w->bits, words * sizeof *some);
  for (uint32_t i = n; i < w->n; i++) some[w->tokens[i] / 64] &= ~((uint64_t)1 << w->tokens[i] % 64);
  for (size_t i = 0; i < words; i++) bits[i] |= some[i];
}

static void add_tokens(const rlx_grammar *g, const lone_walk *w, uint32_t max, uint64_t *bits) {
  if (w->max == COUNTED) {
    add_counted(g, w, max, bits);
    return;
  }
  for (size_t i = 0; w->bits && i < words_of(g->vocab); i++) bits[i] |= w->bits[i];
  for (uint32_t i = 0; !w->bits && i < w->n; i++) set_bit(bits, w->tokens[i]);
}

static rlx_status add_walk(rlx_grammar *g, uint32_t stack, uint64_t *bits) {
  const grammar_vocab *v = g->vocab;
  lone_walk *w = NULL;
  uint32_t after, next, min, max;
  RLX_TRY(find_walk(g, stack, &w));
  turns_left(g, stack, &min, &max);
  add_tokens(g, w, max, bits);
  RLX_TRY(grammar_machine_after(&g->machine, stack, &after));
  for (uint32_t c = 0; c < g->program.n_classes; c++) {
    if (w->starts[c] == w->starts[c + 1]) continue;
    RLX_TRY(grammar_machine_step(&g->machine, after, c, &next));
    for (uint32_t i = w->starts[c]; next && i < w->starts[c + 1]; i++) {
      if (w->turns && (w->turns[i] < min || w->turns[i] > max)) continue;
      RLX_TRY(walk(g, w->nodes[i], v->nodes[w->nodes[i]].after, after, bits, false));
    }
  }
  return RLX_OK;
}

static rlx_status fill_mask(rlx_grammar *g, uint32_t config, uint64_t *bits) {
  const grammar_config c = g->machine.configs.v[config];
  grammar_masks *k = g->masks;
  k->texts.n = 0;
  for (uint32_t i = 0; i < c.n; i++) {
    const uint32_t stack = g->machine.members.v[c.first + i];
    if (stack <= STACK_BOTTOM) continue;
    if (g->program.elements.v[g->machine.stacks.v[stack].element].kind == PART_DFA) RLX_TRY(add_walk(g, stack, bits));
    else if (!rlx_array_push(&k->texts, stack)) return no_memory();
  }
  if (!k->texts.n) return RLX_OK;
  RLX_TRY(grammar_machine_only(&g->machine, k->texts.v, k->texts.n, &config));
  return walk(g, 1, g->vocab->n_nodes, config, bits, false);
}

static rlx_status find_mask(rlx_grammar *g, uint32_t config, kept_mask **out) {
  grammar_masks *k = g->masks;
  const size_t words = words_of(g->vocab), had = k->masks.n;
  if (had <= config) {
    if (!rlx_array_reserve(&k->masks, config + 1 - had)) return no_memory();
    memset(k->masks.v + had, 0, (config + 1 - had) * sizeof *k->masks.v);
    k->masks.n = config + 1;
  }
  *out = &k->masks.v[config];
  if ((*out)->bits) return RLX_OK;
  uint64_t *bits = rlx_mem_calloc(words + 1, sizeof *bits);
  rlx_status s = bits ? fill_mask(g, config, bits) : no_memory();
  if (s) {
    rlx_mem_free(bits);
    return s;
  }
  k->mask_bytes += words * sizeof *bits;
  **out = (kept_mask){bits, count_bits(bits, words)};
  return RLX_OK;
}

/* ---- What is kept ---- */

rlx_status grammar_masks_create(rlx_grammar *g) {
  grammar_masks *k = g->masks = rlx_new(grammar_masks);
  if (!k) return no_memory();
  g->max_bytes = MAX_KEPT;
  k->at = rlx_mem_calloc((size_t)g->vocab->depth + 1, sizeof *k->at);
  k->bits = rlx_mem_calloc(words_of(g->vocab) + 1, sizeof *k->bits);
  k->turn = rlx_mem_calloc((size_t)g->vocab->depth + 1, sizeof *k->turn);
  k->need = rlx_mem_calloc((size_t)g->vocab->n_tokens + 1, sizeof *k->need);
  k->is_exit = rlx_mem_calloc((size_t)g->vocab->depth + 1, sizeof *k->is_exit);
  return k->is_exit && k->at && k->bits && k->turn && k->need ? RLX_OK : no_memory();
}

static void forget_masks(grammar_masks *k) {
  for (size_t i = 0; i < k->masks.n; i++) rlx_mem_free(k->masks.v[i].bits);
  rlx_array_deinit(&k->masks);
  k->mask_bytes = 0;
}

static void forget_walks(grammar_masks *k) {
  for (size_t i = 0; i < k->walks.n; i++) walk_deinit(&k->walks.v[i]);
  rlx_array_deinit(&k->walks);
  rlx_array_deinit(&k->slots);
  k->walk_bytes = 0;
}

void grammar_masks_destroy(grammar_masks *k) {
  if (!k) return;
  forget_masks(k);
  forget_walks(k);
  rlx_array_deinit(&k->exits);
  rlx_array_deinit(&k->texts);
  rlx_mem_free(k->at);
  rlx_mem_free(k->bits);
  rlx_mem_free(k->turn);
  rlx_mem_free(k->is_exit);
  rlx_mem_free(k->need);
  rlx_array_deinit(&k->exit_turns);
  rlx_mem_free(k);
}

/* Keeps what the states need, if there is too much. */
static rlx_status collect(rlx_grammar *g) {
  grammar_masks *k = g->masks;
  if (grammar_machine_bytes(&g->machine) + k->mask_bytes + k->walk_bytes <= g->max_bytes) return RLX_OK;
  grammar_machine fresh;
  rlx_status s = grammar_machine_init(&fresh, &g->program);
  for (grammar_state *i = g->states; i && !s; i = i->next)
    s = grammar_machine_copy(&fresh, &g->machine, i->config, &i->moved);
  if (s) {
    grammar_machine_deinit(&fresh);
    return s;
  }
  for (grammar_state *i = g->states; i; i = i->next) i->config = i->moved;
  grammar_machine_deinit(&g->machine);
  g->machine = fresh;
  forget_masks(k);
  if (k->walk_bytes > g->max_bytes / 2) forget_walks(k);
  return RLX_OK;
}

/* ---- States ---- */

rlx_status grammar_state_create(const rlx_grammar *grammar, grammar_state **out) {
  rlx_grammar *g = (rlx_grammar *)(uintptr_t)grammar; /* what changes is under its lock */
  grammar_state *s = *out = rlx_new(grammar_state);
  if (!s) return no_memory();
  s->bits = rlx_mem_calloc(words_of(g->vocab) + 1, sizeof *s->bits);
  rlx_mem_source *before = rlx_mem_use(NULL);
  rlx_mutex_lock(&g->lock);
  g->machine.work = 0;
  rlx_status status = s->bits ? grammar_machine_start(&g->machine, &s->config) : no_memory();
  if (!status) {
    s->g = g;
    s->may_end = g->machine.configs.v[s->config].accepts;
    s->next = g->states;
    if (g->states) g->states->previous = s;
    g->states = s;
    atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
  }
  rlx_mutex_unlock(&g->lock);
  (void)rlx_mem_use(before);
  if (!status) return RLX_OK;
  grammar_state_destroy(s);
  *out = NULL;
  return status;
}

void grammar_state_destroy(grammar_state *s) {
  if (!s) return;
  if (s->g) {
    rlx_mutex_lock(&s->g->lock);
    if (s->previous) s->previous->next = s->next;
    else s->g->states = s->next;
    if (s->next) s->next->previous = s->previous;
    rlx_mutex_unlock(&s->g->lock);
    rlx_grammar_destroy(s->g);
  }
  rlx_mem_free(s->bits);
  rlx_mem_free(s);
}

rlx_status grammar_state_mask(grammar_state *s, const uint64_t **bits, uint32_t *n) {
  rlx_grammar *g = s->g;
  kept_mask *found = NULL;
  rlx_status status = RLX_OK;
  if (!s->has_mask) {
    rlx_mem_source *before = rlx_mem_use(NULL);
    rlx_mutex_lock(&g->lock);
    g->machine.work = 0;
    status = collect(g);
    if (!status) status = find_mask(g, s->config, &found);
    if (!status) {
      memcpy(s->bits, found->bits, words_of(g->vocab) * sizeof *s->bits);
      s->n = found->n;
      s->has_mask = true;
    }
    rlx_mutex_unlock(&g->lock);
    (void)rlx_mem_use(before);
  }
  *bits = s->bits;
  if (n) *n = s->n;
  return status;
}

bool grammar_state_may_end(const grammar_state *s) { return s->may_end; }

const grammar_vocab *grammar_state_vocab(const grammar_state *s) { return s->g->vocab; }

static rlx_status advance(grammar_state *s, const char *bytes, size_t n) {
  grammar_machine *m = &s->g->machine;
  m->work = 0;
  RLX_TRY(collect(s->g));
  uint32_t config = s->config;
  for (size_t i = 0; i < n && config; i++)
    RLX_TRY(grammar_machine_step(m, config, m->p->class_of[(unsigned char)bytes[i]], &config));
  if (!config) return RLX_FAIL(RLX_INVALID, "the grammar does not continue with this text");
  s->config = config;
  s->may_end = m->configs.v[config].accepts;
  if (n) s->has_mask = false;
  return RLX_OK;
}

rlx_status grammar_state_accept_bytes(grammar_state *s, const char *bytes, size_t n) {
  rlx_mem_source *before = rlx_mem_use(NULL);
  rlx_mutex_lock(&s->g->lock);
  rlx_status status = advance(s, bytes, n);
  rlx_mutex_unlock(&s->g->lock);
  (void)rlx_mem_use(before);
  return status;
}

rlx_status grammar_state_accept(grammar_state *s, int32_t token) {
  const grammar_vocab *v = s->g->vocab;
  if (token < 0 || (uint32_t)token >= v->n_tokens || v->starts[token] == v->starts[token + 1])
    return RLX_FAIL(RLX_INVALID, "token %d is no text: a grammar does not continue with it", (int)token);
  return grammar_state_accept_bytes(s, v->bytes + v->starts[token], v->starts[token + 1] - v->starts[token]);
}
