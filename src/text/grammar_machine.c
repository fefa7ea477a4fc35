/* A pushdown automaton that follows all possibilities at once.
 *
 * A possibility is a stack of elements that are not complete: on top an automaton or a text, with the place in it,
 * below it the calls of rules. Stacks share their lower parts, and equal ones are the same number, so the set of all
 * possibilities, a config, is a short sorted list of numbers that is found again by its hash. The config after a config
 * and a byte is computed once. A grammar without recursion thus becomes a deterministic automaton as far as texts need
 * it; with recursion, one for each depth that comes up.
 *
 * After a byte a closure finds what may come next: complete elements are repeated or left, complete rules return to
 * their callers, calls are entered. Rules are not left-recursive, and a turn of a repetition that took no byte is
 * dropped, so this ends. The last call of a rule leaves no frame, so lists written by recursion do not grow the stack.
 *
 * Memory only grows here; grammar_mask.c makes a new machine when it is too much. */
#include "text/grammar.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STACKS = 8192, MAX_NESTING = 1 << 16, MAX_POINTS = 1 << 16 };
#define MAX_MACHINE ((size_t)1 << 22) /* frames, configs, members */
#define MAX_ROWS ((size_t)1 << 25)

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "the states of a grammar"); }

/* ---- Tables by hash ---- */

static uint32_t mix(uint32_t h, uint32_t v) {
  h = (h ^ v) * 0x9e3779b1u;
  return h ^ h >> 15;
}

static uint32_t hash_stack(const grammar_stack *s) {
  return mix(mix(mix(mix(1, s->element), s->sub), s->count), s->parent);
}

static uint32_t hash_members(const uint32_t *v, size_t n) {
  uint32_t h = (uint32_t)n;
  for (size_t i = 0; i < n; i++) h = mix(h, v[i]);
  return h;
}

static uint32_t hash_point(const grammar_point *p) {
  return mix(mix(mix(p->is_fresh, p->element), p->count), p->parent);
}

/* Makes room for n entries at a load of at most a half; entries are entered again by the caller if *moved. */
#define GROW(slots, entries, moved) grow_slots((uint32_t **)&(slots).v, &(slots).n, &(slots).cap, (entries), (moved))
static rlx_status grow_slots(uint32_t **v, size_t *n, size_t *cap, size_t entries, bool *moved) {
  size_t size = *n ? *n : 64;
  *moved = false;
  while (size < 2 * (entries + 1)) size *= 2;
  if (size == *n) return RLX_OK;
  uint32_t *fresh = rlx_mem_calloc(size, sizeof *fresh);
  if (!fresh) return no_memory();
  rlx_mem_free(*v);
  *v = fresh;
  *n = *cap = size;
  *moved = true;
  return RLX_OK;
}

static void enter(uint32_t *slots, size_t n, uint32_t hash, uint32_t index) {
  size_t at = hash & (n - 1);
  while (slots[at]) at = (at + 1) & (n - 1);
  slots[at] = index + 1;
}

/* ---- Stacks ---- */

static bool is_same_frame(const grammar_stack *a, const grammar_stack *b) {
  return a->element == b->element && a->sub == b->sub && a->count == b->count && a->parent == b->parent;
}

static rlx_status push_frame(grammar_machine *m, grammar_stack frame, uint32_t *out) {
  bool moved;
  RLX_TRY(GROW(m->stack_slots, m->stacks.n, &moved));
  for (size_t i = STACK_BOTTOM + 1; moved && i < m->stacks.n; i++)
    enter(m->stack_slots.v, m->stack_slots.n, hash_stack(&m->stacks.v[i]), (uint32_t)i);
  size_t mask = m->stack_slots.n - 1, at = hash_stack(&frame) & mask;
  for (; m->stack_slots.v[at]; at = (at + 1) & mask) {
    *out = m->stack_slots.v[at] - 1;
    if (is_same_frame(&m->stacks.v[*out], &frame)) return RLX_OK;
  }
  frame.depth = m->stacks.v[frame.parent].depth + 1;
  if (frame.depth > MAX_NESTING) return RLX_FAIL(RLX_LIMIT, "the text is nested more than %d deep", (int)MAX_NESTING);
  if (m->stacks.n >= MAX_MACHINE) return RLX_FAIL(RLX_LIMIT, "the grammar has too many states");
  if (!rlx_array_push(&m->stacks, frame)) return no_memory();
  *out = (uint32_t)(m->stacks.n - 1);
  m->stack_slots.v[at] = *out + 1;
  return RLX_OK;
}

/* ---- Configs ---- */

static int compare_numbers(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static void sort_stacks(uint32_t *v, size_t *n) {
  size_t kept = 0;
  if (*n > 1) qsort(v, *n, sizeof *v, compare_numbers);
  for (size_t i = 0; i < *n; i++)
    if (!kept || v[kept - 1] != v[i]) v[kept++] = v[i];
  *n = kept;
}

static rlx_status add_config(grammar_machine *m, const uint32_t *v, size_t n, uint32_t *out) {
  const size_t width = m->p->n_classes;
  grammar_config c = {.first = (uint32_t)m->members.n, .n = (uint32_t)n};
  for (size_t i = 0; i < n; i++) {
    c.accepts |= v[i] == STACK_END;
    c.exits |= v[i] == STACK_BOTTOM;
  }
  if (m->configs.n >= MAX_MACHINE || m->members.n + n > MAX_MACHINE || m->rows.n + width > MAX_ROWS)
    return RLX_FAIL(RLX_LIMIT, "the grammar has too many states");
  if (!rlx_array_reserve(&m->members, n) || !rlx_array_reserve(&m->rows, width) || !rlx_array_push(&m->configs, c))
    return no_memory();
  if (n) memcpy(m->members.v + m->members.n, v, n * sizeof *v);
  memset(m->rows.v + m->rows.n, n ? 0xff : 0, width * sizeof *m->rows.v); /* nothing follows nothing */
  m->members.n += n;
  m->rows.n += width;
  *out = (uint32_t)(m->configs.n - 1);
  return RLX_OK;
}

/* The config of the stacks in `v`, which are sorted here. */
static rlx_status find_config(grammar_machine *m, uint32_t *v, size_t n, uint32_t *out) {
  bool moved;
  sort_stacks(v, &n);
  if (n > MAX_STACKS)
    return RLX_FAIL(RLX_LIMIT, "the grammar is too ambiguous: a text may be read in more than %d ways",
                    (int)MAX_STACKS);
  RLX_TRY(GROW(m->config_slots, m->configs.n, &moved));
  for (size_t i = 0; moved && i < m->configs.n; i++) {
    const grammar_config *c = &m->configs.v[i];
    enter(m->config_slots.v, m->config_slots.n, hash_members(m->members.v + c->first, c->n), (uint32_t)i);
  }
  size_t mask = m->config_slots.n - 1, at = hash_members(v, n) & mask;
  for (; m->config_slots.v[at]; at = (at + 1) & mask) {
    const grammar_config *c = &m->configs.v[ *out = m->config_slots.v[at] - 1];
    if (c->n == n && (!n || memcmp(m->members.v + c->first, v, n * sizeof *v) == 0)) return RLX_OK;
  }
  RLX_TRY(add_config(m, v, n, out));
  m->config_slots.v[at] = *out + 1;
  return RLX_OK;
}

/* ---- Closures ---- */

static rlx_status add_point(grammar_machine *m, grammar_point p) {
  bool moved;
  if (++m->work > GRAMMAR_MAX_WORK) return RLX_FAIL(RLX_LIMIT, "the grammar takes too much work for one token");
  RLX_TRY(GROW(m->point_slots, m->points.n, &moved));
  for (size_t i = 0; moved && i < m->points.n; i++)
    enter(m->point_slots.v, m->point_slots.n, hash_point(&m->points.v[i]), (uint32_t)i);
  size_t mask = m->point_slots.n - 1, at = hash_point(&p) & mask;
  for (; m->point_slots.v[at]; at = (at + 1) & mask) {
    const grammar_point *o = &m->points.v[m->point_slots.v[at] - 1];
    if (o->element == p.element && o->count == p.count && o->parent == p.parent && o->is_fresh == p.is_fresh)
      return RLX_OK;
  }
  if (m->points.n >= MAX_POINTS)
    return RLX_FAIL(RLX_LIMIT, "the grammar is too ambiguous: a text may be read in more than %d ways",
                    (int)MAX_POINTS);
  if (!rlx_array_push(&m->points, p)) return no_memory();
  m->point_slots.v[at] = (uint32_t)m->points.n;
  return RLX_OK;
}

static void begin_closure(grammar_machine *m) {
  for (size_t i = 0; i < m->points.n && m->point_slots.n; i++) { /* empties the slots that were used, and only those */
    size_t mask = m->point_slots.n - 1, at = hash_point(&m->points.v[i]) & mask;
    while (m->point_slots.v[at]) {
      m->point_slots.v[at] = 0;
      at = (at + 1) & mask;
    }
  }
  m->points.n = m->found.n = 0;
}

static rlx_status found(grammar_machine *m, uint32_t stack) {
  return rlx_array_push(&m->found, stack) ? RLX_OK : no_memory();
}

/* One more time was complete; without an upper bound only the first `min` are counted. */
static uint32_t count_up(const grammar_element *e, uint32_t count) {
  return e->max == GRAMMAR_MANY && count >= e->min ? e->min : count + 1;
}

static rlx_status complete(grammar_machine *m, uint32_t element, uint32_t count, uint32_t parent) {
  const grammar_element *e = &m->p->elements.v[element];
  return add_point(m, (grammar_point){element, count_up(e, count), parent, false});
}

static rlx_status enter_rule(grammar_machine *m, grammar_point at) {
  const grammar_element *e = &m->p->elements.v[at.element];
  const grammar_body *b = &m->p->rules.v[e->id];
  bool is_last = e->max != GRAMMAR_MANY && at.count + 1 >= e->max && e[1].kind == PART_END;
  uint32_t parent = at.parent;
  if (!is_last) RLX_TRY(push_frame(m, (grammar_stack){at.element, 0, at.count, at.parent, 0}, &parent));
  for (uint32_t i = 0; i < b->n; i++)
    RLX_TRY(add_point(m, (grammar_point){m->p->alternatives.v[b->first + i], 0, parent, !is_last || at.is_fresh}));
  return RLX_OK;
}

static rlx_status leave_rule(grammar_machine *m, grammar_point at) {
  if (at.parent == STACK_END) return found(m, STACK_END);
  if (at.is_fresh) return RLX_OK; /* an empty turn; the caller may leave the element out instead */
  grammar_stack frame = m->stacks.v[at.parent];
  return complete(m, frame.element, frame.count, frame.parent);
}

static rlx_status expand(grammar_machine *m, grammar_point at) {
  const grammar_element *e = &m->p->elements.v[at.element];
  if (e->kind == PART_END) return leave_rule(m, at);
  if (at.count < e->max && e->kind == PART_RULE) RLX_TRY(enter_rule(m, at));
  if (at.count < e->max && e->kind != PART_RULE) {
    uint32_t stack;
    RLX_TRY(
      push_frame(m, (grammar_stack){at.element, e->kind == PART_DFA ? e->id : 0, at.count, at.parent, 0}, &stack));
    RLX_TRY(found(m, stack));
  }
  if (at.count < e->min) return RLX_OK;
  if (at.parent == STACK_BOTTOM) return found(m, STACK_BOTTOM);
  return add_point(m, (grammar_point){at.element + 1, 0, at.parent, at.is_fresh});
}

static rlx_status end_closure(grammar_machine *m, uint32_t *config) {
  for (size_t i = 0; i < m->points.n; i++) RLX_TRY(expand(m, m->points.v[i]));
  return find_config(m, m->found.v, m->found.n, config);
}

/* ---- Steps ---- */

static rlx_status take_byte(grammar_machine *m, uint32_t stack, uint32_t class) {
  const grammar_program *p = m->p;
  grammar_stack s = m->stacks.v[stack];
  const grammar_element *e = &p->elements.v[s.element];
  if (e->kind == PART_TEXT) {
    if (p->class_of[(unsigned char)p->texts.v[e->id + s.sub]] != class) return RLX_OK;
    if (++s.sub == e->n) return complete(m, s.element, s.count, s.parent);
  } else {
    s.sub = p->dfas.next.v[(size_t)s.sub * p->n_classes + class];
    if (!s.sub) return RLX_OK;
    if (p->dfas.flags.v[s.sub] & DFA_ACCEPTS) RLX_TRY(complete(m, s.element, s.count, s.parent));
    if (!(p->dfas.flags.v[s.sub] & DFA_GOES_ON)) return RLX_OK;
  }
  RLX_TRY(push_frame(m, s, &stack));
  return found(m, stack);
}

rlx_status grammar_machine_compute(grammar_machine *m, uint32_t config, uint32_t class, uint32_t *next) {
  const grammar_config c = m->configs.v[config];
  begin_closure(m);
  m->work += c.n;
  for (uint32_t i = 0; i < c.n; i++) {
    uint32_t stack = m->members.v[c.first + i];
    if (stack > STACK_BOTTOM) RLX_TRY(take_byte(m, stack, class));
  }
  RLX_TRY(end_closure(m, next));
  m->rows.v[(size_t)config * m->p->n_classes + class] = *next;
  return RLX_OK;
}

rlx_status grammar_machine_start(grammar_machine *m, uint32_t *config) {
  const grammar_body *root = &m->p->rules.v[0];
  begin_closure(m);
  for (uint32_t i = 0; i < root->n; i++)
    RLX_TRY(add_point(m, (grammar_point){m->p->alternatives.v[root->first + i], 0, STACK_END, false}));
  return end_closure(m, config);
}

rlx_status grammar_machine_only(grammar_machine *m, const uint32_t *stacks, size_t n, uint32_t *config) {
  begin_closure(m);
  for (size_t i = 0; i < n; i++) RLX_TRY(found(m, stacks[i]));
  return find_config(m, m->found.v, m->found.n, config);
}

rlx_status grammar_machine_after(grammar_machine *m, uint32_t stack, uint32_t *config) {
  const grammar_stack s = m->stacks.v[stack];
  begin_closure(m);
  RLX_TRY(add_point(m, (grammar_point){s.element + 1, 0, s.parent, false}));
  return end_closure(m, config);
}

rlx_status grammar_machine_alone(grammar_machine *m, uint32_t stack, uint32_t *config) {
  grammar_stack s = m->stacks.v[stack];
  s.parent = STACK_BOTTOM;
  RLX_TRY(push_frame(m, s, &stack));
  return grammar_machine_only(m, &stack, 1, config);
}

/* ---- Making, copying ---- */

rlx_status grammar_machine_init(grammar_machine *m, const grammar_program *p) {
  uint32_t none = 0, dead;
  *m = (grammar_machine){.p = p};
  if (!rlx_array_reserve(&m->stacks, 64)) return no_memory();
  m->stacks.v[STACK_END] = m->stacks.v[STACK_BOTTOM] = (grammar_stack){0};
  m->stacks.n = STACK_BOTTOM + 1;
  return find_config(m, &none, 0, &dead);
}

void grammar_machine_deinit(grammar_machine *m) {
  rlx_array_deinit(&m->stacks);
  rlx_array_deinit(&m->configs);
  rlx_array_deinit(&m->members);
  rlx_array_deinit(&m->rows);
  rlx_array_deinit(&m->stack_slots);
  rlx_array_deinit(&m->config_slots);
  rlx_array_deinit(&m->points);
  rlx_array_deinit(&m->point_slots);
  rlx_array_deinit(&m->found);
}

size_t grammar_machine_bytes(const grammar_machine *m) {
  size_t numbers = m->members.cap + m->rows.cap + m->stack_slots.cap + m->config_slots.cap + m->point_slots.cap;
  return numbers * sizeof(uint32_t) + m->stacks.cap * sizeof *m->stacks.v + m->configs.cap * sizeof *m->configs.v +
         m->points.cap * sizeof *m->points.v;
}

static rlx_status copy_stack(grammar_machine *m, const grammar_machine *from, uint32_t stack, uint32_t *chain,
                             uint32_t *out) {
  size_t n = 0;
  for (uint32_t s = stack; s > STACK_BOTTOM; s = from->stacks.v[s].parent) chain[n++] = s;
  *out = n ? from->stacks.v[chain[n - 1]].parent : stack;
  while (n) {
    grammar_stack frame = from->stacks.v[chain[--n]];
    frame.parent = *out;
    RLX_TRY(push_frame(m, frame, out));
  }
  return RLX_OK;
}

rlx_status grammar_machine_copy(grammar_machine *m, const grammar_machine *from, uint32_t config, uint32_t *out) {
  const grammar_config *c = &from->configs.v[config];
  uint32_t deepest = 0;
  begin_closure(m);
  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t depth = from->stacks.v[from->members.v[c->first + i]].depth;
    if (depth > deepest) deepest = depth;
  }
  uint32_t *chain = rlx_mem_calloc((size_t)deepest + 1, sizeof *chain), stack;
  rlx_status s = chain ? RLX_OK : no_memory();
  for (uint32_t i = 0; i < c->n && !s; i++) {
    s = copy_stack(m, from, from->members.v[c->first + i], chain, &stack);
    if (!s) s = found(m, stack);
  }
  rlx_mem_free(chain);
  return s ? s : find_config(m, m->found.v, m->found.n, out);
}
