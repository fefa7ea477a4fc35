/* From a tree of expressions to the program of a pushdown automaton.
 *
 * What is regular and small becomes one automaton over bytes, so that a string or a number of JSON is one element,
 * however its grammar spells it. What is larger or recursive becomes rules: alternatives of sequences of elements. A
 * rule that several places call keeps an automaton of its own instead of becoming a part of theirs: the masks of its
 * states are then computed once for all of them.
 *
 * Then the rules are checked. Alternatives that no text can match are dropped; a grammar that matches nothing, and
 * rules that begin with themselves, are refused. */
#include <string.h>

#include "text/grammar.h"
#include "text/text.h"

enum { MANY_STATES = 1 << 20, MAX_SMALL = 64, MAX_LEXEME = 1024, MAX_SIZE = 4096, SHARED_SIZE = 8, MAX_CALLS = 400 };
#define MAX_ELEMENTS (16 * GRAMMAR_MAX_RULES)
#define SMALL_WORK ((uint64_t)1 << 18)
#define ALL_WORK ((uint64_t)1 << 28)

typedef struct task {
  grammar_ref node;
  uint32_t rule; /* of the program */
} task;

typedef struct compiling {
  const grammar_tree *t;
  grammar_program *p;
  uint32_t *sizes;    /* by node: states of its automaton, MANY_STATES: too many; 0: not known */
  uint8_t *progress;  /* by rule: 1: its size is being computed, 2: it is known */
  uint32_t *n_calls;  /* by rule */
  uint32_t *made;     /* by rule of the tree: its program rule + 1 */
  uint32_t *automata; /* by node: its first state + 1; 1: there is none */
  RLX_ARRAY(task) tasks;
  uint64_t work;
} compiling;

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "the program of a grammar"); }

/* ---- How large automata would be ---- */

static uint32_t add_sizes(uint32_t a, uint32_t b) { return a + b < MANY_STATES ? a + b : MANY_STATES; }

static uint32_t size_of(compiling *c, grammar_ref ref, uint32_t depth);

static uint32_t size_of_rule(compiling *c, uint32_t rule, uint32_t depth) {
  const grammar_rule *r = &c->t->rules.v[rule];
  if (c->progress[rule] == 1 || depth > MAX_CALLS) return MANY_STATES;
  c->progress[rule] = 1;
  uint32_t size = size_of(c, r->body, depth + 1);
  c->progress[rule] = 2;
  return size;
}

static bool is_shared(const compiling *c, uint32_t rule, uint32_t size) {
  return c->t->rules.v[rule].is_shared || (c->n_calls[rule] > 1 && size >= SHARED_SIZE);
}

static uint32_t size_of_repeat(uint32_t child, const grammar_node *n) {
  uint64_t times = n->max == GRAMMAR_MANY ? (uint64_t)n->min + 1 : n->max, size = times * (child + 1);
  return size < MANY_STATES ? (uint32_t)size : MANY_STATES;
}

/* Without the rules that keep an automaton of their own: those count as too large. */
static uint32_t size_of(compiling *c, grammar_ref ref, uint32_t depth) {
  const grammar_node *n = &c->t->nodes.v[ref];
  uint32_t size = 1;
  if (c->sizes[ref]) return c->sizes[ref];
  if (depth > 3 * MAX_CALLS) return MANY_STATES;
  switch (n->kind) {
    case GRAMMAR_NEVER: size = MANY_STATES; break;
    case GRAMMAR_EMPTY: break;
    case GRAMMAR_CLASS: size = n->b; break;
    case GRAMMAR_TEXT: size = n->b < MANY_STATES ? n->b : MANY_STATES; break;
    case GRAMMAR_SEQUENCE:
    case GRAMMAR_CHOICE:
      for (uint32_t i = 0; i < n->b; i++) size = add_sizes(size, size_of(c, c->t->children.v[n->a + i], depth + 1));
      break;
    case GRAMMAR_REPEAT: size = size_of_repeat(size_of(c, n->a, depth + 1), n); break;
    case GRAMMAR_CALL:
      size = size_of_rule(c, n->a, depth);
      if (is_shared(c, n->a, size)) size = MANY_STATES;
      break;
  }
  return c->sizes[ref] = size;
}

/* ---- Elements ---- */

/* An automaton for a node, if it may have one: *start is its first state, 0: none. */
static rlx_status find_automaton(compiling *c, grammar_ref ref, bool is_lexeme, uint32_t *start) {
  const grammar_node *n = &c->t->nodes.v[ref];
  *start = 0;
  if (n->kind == GRAMMAR_CALL) {
    const grammar_rule *r = &c->t->rules.v[n->a];
    if (size_of(c, r->body, 0) >= MANY_STATES) return RLX_OK; /* it may call itself */
    return find_automaton(c, r->body, r->is_shared, start);
  }
  if (!c->automata[ref]) {
    const bool is_class = n->kind == GRAMMAR_CLASS;
    const uint32_t size = size_of(c, ref, 0);
    uint64_t small = is_lexeme || is_class ? c->work : SMALL_WORK, before = small;
    if (is_class || size <= (is_lexeme ? MAX_SIZE : 4 * MAX_SMALL))
      RLX_TRY(grammar_dfa_build(c->t, ref, is_lexeme || is_class ? MAX_LEXEME : MAX_SMALL, &small, &c->p->dfas, start));
    before -= small;
    if (before >= c->work || (is_class && !*start))
      return RLX_FAIL(RLX_LIMIT, "the grammar has too many characters, repetitions and choices");
    c->work -= before;
    c->automata[ref] = *start + 1;
  }
  *start = c->automata[ref] - 1;
  return RLX_OK;
}

static rlx_status add_rule(compiling *c, grammar_ref node, uint32_t origin, uint32_t *rule) {
  *rule = (uint32_t)c->p->rules.n;
  if (c->p->rules.n >= MAX_ELEMENTS) return RLX_FAIL(RLX_LIMIT, "the grammar has more than %zu parts", MAX_ELEMENTS);
  if (!rlx_array_push(&c->p->rules, ((grammar_body){.origin = origin}))) return no_memory();
  return rlx_array_push(&c->tasks, ((task){node, *rule})) ? RLX_OK : no_memory();
}

static rlx_status add_text(compiling *c, const grammar_node *n, grammar_element *out) {
  *out = (grammar_element){PART_TEXT, (uint32_t)c->p->texts.n, n->b, 1, 1};
  if (!rlx_array_reserve(&c->p->texts, n->b)) return no_memory();
  memcpy(c->p->texts.v + c->p->texts.n, c->t->bytes.v + n->a, n->b);
  c->p->texts.n += n->b;
  return RLX_OK;
}

static rlx_status make_call(compiling *c, uint32_t rule, grammar_element *out) {
  uint32_t made = c->made[rule];
  if (!made) {
    RLX_TRY(add_rule(c, c->t->rules.v[rule].body, rule, &made));
    c->made[rule] = ++made;
  }
  *out = (grammar_element){PART_RULE, made - 1, 0, 1, 1};
  return RLX_OK;
}

static rlx_status make_element(compiling *c, grammar_ref ref, uint32_t origin, grammar_element *out) {
  const grammar_node *n = &c->t->nodes.v[ref];
  uint32_t start;
  if (n->kind == GRAMMAR_TEXT) return add_text(c, n, out);
  RLX_TRY(find_automaton(c, ref, false, &start));
  if (start) {
    *out = (grammar_element){PART_DFA, start, 0, c->p->dfas.flags.v[start] & DFA_ACCEPTS ? 0 : 1, 1};
    return RLX_OK;
  }
  if (n->kind == GRAMMAR_CALL) return make_call(c, n->a, out);
  if (n->kind == GRAMMAR_REPEAT) {
    const grammar_node *child = &c->t->nodes.v[n->a];
    if (child->kind != GRAMMAR_REPEAT) {
      RLX_TRY(make_element(c, n->a, origin, out));
      if (out->min) out->min = n->min;
      out->max = n->max;
      return RLX_OK;
    }
    RLX_TRY(add_rule(c, n->a, origin, &start));
    *out = (grammar_element){PART_RULE, start, 0, n->min, n->max};
    return RLX_OK;
  }
  RLX_TRY(add_rule(c, ref, origin, &start));
  *out = (grammar_element){PART_RULE, start, 0, 1, 1};
  return RLX_OK;
}

static rlx_status push_element(compiling *c, grammar_element e) {
  if (c->p->elements.n >= MAX_ELEMENTS) return RLX_FAIL(RLX_LIMIT, "the grammar has more than %zu parts", MAX_ELEMENTS);
  return rlx_array_push(&c->p->elements, e) ? RLX_OK : no_memory();
}

/* Elements of one alternative must be neighbours, and making one adds none: sub-rules wait among the tasks. */
static rlx_status add_alternative(compiling *c, grammar_ref ref, uint32_t origin) {
  const grammar_node *n = &c->t->nodes.v[ref];
  const bool is_sequence = n->kind == GRAMMAR_SEQUENCE;
  if (n->kind == GRAMMAR_NEVER) return RLX_OK;
  if (!rlx_array_push(&c->p->alternatives, (uint32_t)c->p->elements.n)) return no_memory();
  for (uint32_t i = 0; i < (is_sequence ? n->b : 1) && n->kind != GRAMMAR_EMPTY; i++) {
    grammar_element e;
    RLX_TRY(make_element(c, is_sequence ? c->t->children.v[n->a + i] : ref, origin, &e));
    RLX_TRY(push_element(c, e));
  }
  return push_element(c, (grammar_element){.kind = PART_END});
}

static rlx_status fill_rule(compiling *c, task job) {
  const grammar_node *n = &c->t->nodes.v[job.node];
  const uint32_t origin = c->p->rules.v[job.rule].origin, first = (uint32_t)c->p->alternatives.n;
  const bool is_choice = n->kind == GRAMMAR_CHOICE;
  for (uint32_t i = 0; i < (is_choice ? n->b : 1); i++)
    RLX_TRY(add_alternative(c, is_choice ? c->t->children.v[n->a + i] : job.node, origin));
  c->p->rules.v[job.rule].first = first;
  c->p->rules.v[job.rule].n = (uint32_t)c->p->alternatives.n - first;
  return RLX_OK;
}

/* The root is an alternative of its own, so that it can be one automaton. */
static rlx_status make_rules(compiling *c, grammar_ref root) {
  uint32_t rule;
  grammar_element e = {.kind = PART_END};
  if (!rlx_array_push(&c->p->rules, ((grammar_body){.first = 0, .n = 1}))) return no_memory();
  if (!rlx_array_push(&c->p->alternatives, 0)) return no_memory();
  const grammar_kind kind = c->t->nodes.v[root].kind;
  if (kind == GRAMMAR_NEVER) c->p->rules.v[0].n = 0;
  else if (kind != GRAMMAR_EMPTY) RLX_TRY(make_element(c, root, 0, &e));
  if (e.kind != PART_END) RLX_TRY(push_element(c, e));
  RLX_TRY(push_element(c, (grammar_element){.kind = PART_END}));
  for (rule = 0; rule < c->tasks.n; rule++) RLX_TRY(fill_rule(c, c->tasks.v[rule]));
  return RLX_OK;
}

/* ---- Checks ---- */

/* What a rule needs so that a text can match it, or so that the empty text does: all rules that an alternative must
 * call. When a rule is found to have the property, those that call it are looked at again. */
typedef struct spreading {
  grammar_program *p;
  bool is_empty;            /* the property: the empty text matches; otherwise: some text does */
  uint8_t *has;             /* by rule */
  uint32_t *rule_of;        /* by alternative */
  uint32_t *missing;        /* by alternative: calls whose rules do not have it yet */
  uint32_t *callers;        /* by rule: the first element that must call it, + 1 .. */
  uint32_t *next;           /* .. by element: the next one, + 1 */
  uint32_t *alternative_of; /* by element */
  uint32_t *pending;
  size_t n_pending;
} spreading;

static void gain(spreading *s, uint32_t alternative) {
  uint32_t rule = s->rule_of[alternative];
  if (s->has[rule]) return;
  s->has[rule] = 1;
  s->pending[s->n_pending++] = rule;
}

static void count_missing(spreading *s) {
  grammar_program *p = s->p;
  for (uint32_t r = 0; r < p->rules.n; r++)
    for (uint32_t a = p->rules.v[r].first; a < p->rules.v[r].first + p->rules.v[r].n; a++) {
      s->rule_of[a] = r;
      for (uint32_t e = p->alternatives.v[a]; p->elements.v[e].kind != PART_END; e++) {
        const grammar_element *el = &p->elements.v[e];
        if (!el->min || (el->kind != PART_RULE && !s->is_empty)) continue;
        s->missing[a]++;
        s->alternative_of[e] = a;
        if (el->kind != PART_RULE) continue;
        s->next[e] = s->callers[el->id];
        s->callers[el->id] = e + 1;
      }
    }
}

static void spread(spreading *s) {
  count_missing(s);
  for (uint32_t r = 0; r < s->p->rules.n; r++)
    for (uint32_t a = s->p->rules.v[r].first; a < s->p->rules.v[r].first + s->p->rules.v[r].n; a++)
      if (!s->missing[a]) gain(s, a);
  while (s->n_pending) {
    uint32_t rule = s->pending[--s->n_pending];
    for (uint32_t e = s->callers[rule]; e; e = s->next[e - 1])
      if (--s->missing[s->alternative_of[e - 1]] == 0) gain(s, s->alternative_of[e - 1]);
  }
}

static rlx_status find_property(grammar_program *p, bool is_empty, uint8_t *has) {
  const size_t rules = p->rules.n, alternatives = p->alternatives.n, elements = p->elements.n;
  uint32_t *memory = rlx_mem_calloc(2 * rules + 2 * alternatives + 2 * elements, sizeof *memory);
  if (!memory) return no_memory();
  spreading s = {.p = p, .is_empty = is_empty, .has = has, .rule_of = memory};
  s.missing = s.rule_of + alternatives;
  s.callers = s.missing + alternatives;
  s.pending = s.callers + rules;
  s.next = s.pending + rules;
  s.alternative_of = s.next + elements;
  spread(&s);
  rlx_mem_free(memory);
  return RLX_OK;
}

static void drop_alternatives(grammar_program *p, const uint8_t *can_match) {
  for (uint32_t r = 0; r < p->rules.n; r++) {
    grammar_body *b = &p->rules.v[r];
    uint32_t n = 0;
    for (uint32_t a = b->first; a < b->first + b->n; a++) {
      bool stays = true;
      for (uint32_t e = p->alternatives.v[a]; p->elements.v[e].kind != PART_END; e++) {
        const grammar_element *el = &p->elements.v[e];
        stays &= el->kind != PART_RULE || !el->min || can_match[el->id];
      }
      if (stays) p->alternatives.v[b->first + n++] = p->alternatives.v[a];
    }
    b->n = n;
  }
}

static const char *name_of(const grammar_tree *t, const grammar_program *p, uint32_t rule) {
  uint32_t origin = p->rules.v[rule].origin;
  return origin < t->rules.n ? t->bytes.v + t->rules.v[origin].name : "root";
}

/* A place in the search for rules that begin with themselves: the next element to look at. */
typedef struct visit {
  uint32_t rule, alternative, element;
} visit;

static rlx_status search_left(const grammar_tree *t, const grammar_program *p, uint8_t *seen, visit *path) {
  for (uint32_t root = 0; root < p->rules.n; root++) {
    size_t depth = 0;
    if (seen[root]) continue;
    path[depth++] = (visit){root, 0, p->rules.v[root].n ? p->alternatives.v[p->rules.v[root].first] : 0};
    seen[root] = 1;
    while (depth) {
      visit *v = &path[depth - 1];
      const grammar_body *b = &p->rules.v[v->rule];
      if (v->alternative >= b->n) {
        seen[v->rule] = 2;
        depth--;
        continue;
      }
      const grammar_element *e = &p->elements.v[v->element++];
      if (e->kind == PART_END || e->min) { /* what follows cannot begin the rule */
        v->alternative++;
        if (v->alternative < b->n) v->element = p->alternatives.v[b->first + v->alternative];
      }
      if (e->kind != PART_RULE || seen[e->id] == 2) continue;
      if (seen[e->id] == 1)
        return RLX_FAIL(RLX_INVALID, "rule '%s' is left-recursive: it may begin with itself", name_of(t, p, e->id));
      seen[e->id] = 1;
      path[depth++] = (visit){e->id, 0, p->rules.v[e->id].n ? p->alternatives.v[p->rules.v[e->id].first] : 0};
    }
  }
  return RLX_OK;
}

static rlx_status check_rules(const grammar_tree *t, grammar_program *p) {
  const size_t n = p->rules.n;
  uint8_t *flags = rlx_mem_calloc(n, 1);
  visit *path = rlx_mem_calloc(n + 1, sizeof *path);
  rlx_status s = flags && path ? find_property(p, false, flags) : no_memory();
  if (!s && !flags[0]) s = RLX_FAIL(RLX_INVALID, "no text matches the grammar");
  if (!s) {
    drop_alternatives(p, flags);
    memset(flags, 0, n);
    s = find_property(p, true, flags);
  }
  if (!s) { /* an empty turn of a repetition counts for nothing, so it is never needed */
    for (size_t i = 0; i < p->elements.n; i++)
      if (p->elements.v[i].kind == PART_RULE && flags[p->elements.v[i].id]) p->elements.v[i].min = 0;
    memset(flags, 0, n);
    s = search_left(t, p, flags, path);
  }
  rlx_mem_free(flags);
  rlx_mem_free(path);
  return s;
}

/* ---- Classes of bytes ---- */

/* Refines the classes by a function of bytes: bytes stay together whose class and value are equal. */
static void refine(uint8_t class_of[256], uint32_t *n_classes, const uint16_t *value) {
  enum { SLOTS = 512 };
  uint32_t keys[SLOTS] = {0}, n = 0; /* class and value, + 1 */
  uint8_t fresh[SLOTS], all[256];
  for (unsigned byte = 0; byte < 256; byte++) {
    uint32_t key = ((uint32_t)class_of[byte] << 16 | value[byte]) + 1, at = key * 2654435761u >> 23;
    while (keys[at] && keys[at] != key) at = (at + 1) % SLOTS;
    if (!keys[at]) {
      keys[at] = key;
      fresh[at] = (uint8_t)n++;
    }
    all[byte] = fresh[at];
  }
  memcpy(class_of, all, 256);
  *n_classes = n;
}

static rlx_status compress(grammar_program *p) {
  grammar_dfas *d = &p->dfas;
  uint16_t row[256] = {0};
  uint8_t representative[256];
  p->n_classes = 1;
  for (size_t i = 0; i < p->texts.n; i++)
    row[(unsigned char)p->texts.v[i]] = (uint16_t)((unsigned char)p->texts.v[i] + 1);
  refine(p->class_of, &p->n_classes, row);
  for (size_t s = 0; s < d->flags.n && p->n_classes < 256; s++) refine(p->class_of, &p->n_classes, d->next.v + s * 256);
  for (unsigned byte = 256; byte-- > 0;) representative[p->class_of[byte]] = (uint8_t)byte;
  size_t to = 0;
  for (size_t s = 0; s < d->flags.n; s++)
    for (uint32_t k = 0; k < p->n_classes; k++)
      row[k] = d->next.v[s * 256 + representative[k]], d->next.v[to++] = row[k];
  d->next.n = to;
  return RLX_OK;
}

/* ---- All of it ---- */

void grammar_program_deinit(grammar_program *p) {
  rlx_array_deinit(&p->elements);
  rlx_array_deinit(&p->alternatives);
  rlx_array_deinit(&p->rules);
  rlx_array_deinit(&p->texts);
  rlx_array_deinit(&p->dfas.next);
  rlx_array_deinit(&p->dfas.flags);
}

static rlx_status compile(compiling *c, grammar_ref root) {
  grammar_dfas *d = &c->p->dfas;
  if (!rlx_array_reserve(&d->next, 256) || !rlx_array_push(&d->flags, 0)) return no_memory(); /* the dead state */
  memset(d->next.v, 0, 256 * sizeof *d->next.v);
  d->next.n = 256;
  for (size_t i = 0; i < c->t->nodes.n; i++)
    if (c->t->nodes.v[i].kind == GRAMMAR_CALL) c->n_calls[c->t->nodes.v[i].a]++;
  RLX_TRY(make_rules(c, root));
  RLX_TRY(check_rules(c->t, c->p));
  return compress(c->p);
}

rlx_status grammar_compile(const grammar_tree *t, grammar_ref root, grammar_program *out) {
  compiling c = {.t = t, .p = out, .work = ALL_WORK};
  *out = (grammar_program){0};
  c.sizes = rlx_mem_calloc(t->nodes.n, sizeof *c.sizes);
  c.automata = rlx_mem_calloc(t->nodes.n, sizeof *c.automata);
  c.progress = rlx_mem_calloc(t->rules.n + 1, sizeof *c.progress);
  c.n_calls = rlx_mem_calloc(t->rules.n + 1, sizeof *c.n_calls);
  c.made = rlx_mem_calloc(t->rules.n + 1, sizeof *c.made);
  bool has_room = c.sizes && c.automata && c.progress && c.n_calls && c.made;
  rlx_status s = has_room ? compile(&c, root) : no_memory();
  rlx_mem_free(c.sizes);
  rlx_mem_free(c.automata);
  rlx_mem_free(c.progress);
  rlx_mem_free(c.n_calls);
  rlx_mem_free(c.made);
  rlx_array_deinit(&c.tasks);
  if (s) grammar_program_deinit(out);
  return s;
}
