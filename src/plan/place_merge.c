/* Merging before searching: items that seem to belong together become one block, and the search places blocks.
 *
 * Two items with the same lifetime can be stacked. Two of the same size, of which one begins where the other ends, can
 * follow each other at one address, as the tiles of a loop do. If sizes or times differ slightly, the block wastes the
 * difference, as long as every section has that much slack. A placement of the blocks is one of the items, and half as
 * many blocks are far easier to place; but a wrong merge may make the problem infeasible. So each round merges
 * differently: the permitted waste, the number of merges and the priority of pairs are drawn from the round's number,
 * and rounds are short. A stack is weak evidence by itself: most rounds accept it only if the sum matches a block just
 * before or after.
 *
 * This complements the search over the items and does not replace it: it proves nothing. */
#include <string.h>

#include "base/mem.h"
#include "plan/place.h"

enum {
  MAX_BLOCKS = 1500, /* because all pairs are examined */
  NO_OWNER = -1,
};
#define NEVER 1e9             /* a key: never merge */
#define LAST_RESORT 50.0      /* a key: stacks without further evidence */
#define LAST_RESORT_SHARE 0.3 /* fraction of the rounds that use these */

typedef struct merge_block {
  uint32_t from, to; /* sections, counted from the part's first */
  uint64_t size;
  uint32_t parent; /* the block that contains it; itself while it is live */
  uint64_t shift;  /* its offset in the parent */
  int32_t best;    /* the best partner */
  double key;      /* the key of that pair; lower is better */
} merge_block;

typedef struct merger {
  uint32_t n, n_live, row_words;
  merge_block *blocks;
  uint32_t *live;
  uint64_t *slack;  /* by section */
  uint64_t *banned; /* a row of bits per block: pairs that the slack does not allow */
  uint64_t seed;
  double max_waste; /* of a block's area */
  double noise, stack_bias;
  bool last_resort;
  uint64_t steps;
} merger;

static double unit_of(uint64_t hash) { return (double)(hash >> 11) * 0x1p-53; }

/* Two blocks merged. */
typedef struct union_of_two {
  uint32_t from, to;
  uint64_t size;
  bool is_stack;
} union_of_two;

static union_of_two unite(const merge_block *a, const merge_block *b) {
  union_of_two u = {.from = a->from < b->from ? a->from : b->from, .to = a->to > b->to ? a->to : b->to};
  uint32_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;
  u.is_stack = from < to;
  u.size = u.is_stack ? a->size + b->size : a->size > b->size ? a->size : b->size;
  return u;
}

static bool is_near(const merger *m, uint64_t a, uint64_t b) {
  uint64_t apart = a > b ? a - b : b - a, larger = a > b ? a : b;
  return apart == 0 || (double)apart <= m->max_waste / 2 * (double)larger;
}

/* Whether a stack of a and b matches its neighbour in time: one block of its size, or two of one lifetime. */
static bool is_evident(merger *m, const union_of_two *u, const merge_block *a, const merge_block *b) {
  m->steps += m->n_live;
  for (uint32_t k = 0; k < m->n_live; k++) {
    const merge_block *c = &m->blocks[m->live[k]];
    if ((c->from != u->to && c->to != u->from) || c == a || c == b) continue;
    if (is_near(m, c->size, u->size)) return true;
    if (c->size > u->size) continue;
    m->steps += m->n_live - k;
    for (uint32_t l = k + 1; l < m->n_live; l++) {
      const merge_block *d = &m->blocks[m->live[l]];
      if (d->from == c->from && d->to == c->to && d != a && d != b && is_near(m, c->size + d->size, u->size))
        return true;
    }
  }
  return false;
}

/* The key of merging i and j; lower is better. */
static double key_of(merger *m, uint32_t i, uint32_t j) {
  const merge_block *a = &m->blocks[i], *b = &m->blocks[j];
  union_of_two u = unite(a, b);
  double used = (double)(a->to - a->from) * (double)a->size + (double)(b->to - b->from) * (double)b->size;
  double waste = 1 - used / ((double)(u.to - u.from) * (double)u.size);
  if (waste > m->max_waste) return NEVER;
  uint64_t first = i < j ? i : j, second = i < j ? j : i;
  double random = unit_of(rlx_place_mix(m->seed + first * 0x9e3779b97f4a7c15u + rlx_place_mix(second)));
  if (u.is_stack && !is_evident(m, &u, a, b)) return m->last_resort ? LAST_RESORT + random : NEVER;
  return waste / m->max_waste + m->noise * random + (u.is_stack ? m->stack_bias : 0);
}

static bool is_banned(const merger *m, uint32_t i, uint32_t j) {
  return m->banned[(size_t)i * m->row_words + j / 64] >> j % 64 & 1;
}
static void ban(merger *m, uint32_t i, uint32_t j) {
  m->banned[(size_t)i * m->row_words + j / 64] |= (uint64_t)1 << j % 64;
  m->banned[(size_t)j * m->row_words + i / 64] |= (uint64_t)1 << i % 64;
}

static void consider(merger *m, uint32_t i, uint32_t j) {
  if (i == j || is_banned(m, i, j)) return;
  double key = key_of(m, i, j);
  if (key >= m->blocks[i].key) return;
  m->blocks[i].key = key;
  m->blocks[i].best = (int32_t)j;
}

static void find_best(merger *m, uint32_t i) {
  m->blocks[i].best = NO_OWNER;
  m->blocks[i].key = NEVER;
  for (uint32_t k = 0; k < m->n_live; k++) consider(m, i, m->live[k]);
  m->steps += 8 * m->n_live;
}

/* Merges j into i. False if a section does not have enough slack. */
static bool merge(merger *m, uint32_t i, uint32_t j) {
  merge_block *a = &m->blocks[i], *b = &m->blocks[j];
  union_of_two u = unite(a, b);
  m->steps += 2 * (u.to - u.from) + m->n;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t t = u.from; t < u.to; t++) {
      uint64_t used = (a->from <= t && t < a->to ? a->size : 0) + (b->from <= t && t < b->to ? b->size : 0);
      if (pass == 0 && u.size - used > m->slack[t]) return false;
      if (pass == 1) m->slack[t] -= u.size - used;
    }
  }
  b->parent = i;
  b->shift = u.is_stack ? a->size : 0;
  a->from = u.from;
  a->to = u.to;
  a->size = u.size;
  for (uint32_t k = 0; k < m->n_live; k++) {
    if (m->live[k] != j) continue;
    m->live[k] = m->live[--m->n_live];
    break;
  }
  memset(m->banned + (size_t)i * m->row_words, 0, m->row_words * sizeof *m->banned);
  for (uint32_t k = 0; k < m->n; k++) m->banned[(size_t)k * m->row_words + i / 64] &= ~((uint64_t)1 << i % 64);
  return true;
}

/* Merges the best pair, or bans it if the slack does not allow it. False: there is no pair. */
static bool merge_best(merger *m) {
  int64_t at = NO_OWNER;
  for (uint32_t k = 0; k < m->n_live; k++) {
    const merge_block *b = &m->blocks[m->live[k]];
    if (b->best != NO_OWNER && (at == NO_OWNER || b->key < m->blocks[at].key)) at = m->live[k];
  }
  m->steps += m->n_live;
  if (at == NO_OWNER) return false;
  uint32_t i = (uint32_t)at, j = (uint32_t)m->blocks[at].best;
  bool is_merged = merge(m, i, j);
  if (!is_merged) {
    ban(m, i, j);
    if (m->blocks[j].best == (int32_t)i) find_best(m, j);
  }
  find_best(m, i);
  for (uint32_t k = 0; is_merged && k < m->n_live; k++) {
    uint32_t q = m->live[k];
    if (q == i) continue;
    if (m->blocks[q].best == (int32_t)i || m->blocks[q].best == (int32_t)j) find_best(m, q);
    else consider(m, q, i);
  }
  return true;
}

static rlx_status merger_init(merger *m, const place_problem *p, const place_part *part, uint64_t capacity,
                              uint32_t round) {
  static const double max_wastes[] = {1e-9, 0.01, 0.002, 0.03};
  uint32_t n = part->last - part->first, n_sections = part->last_section - part->first_section;
  uint64_t seed = rlx_place_mix(round * 0x9e3779b97f4a7c15u + 1);
  *m = (merger){.n = n, .n_live = n, .row_words = (n + 63) / 64, .seed = seed};
  m->max_waste = max_wastes[round % (sizeof max_wastes / sizeof *max_wastes)];
  m->noise = 0.5 * unit_of(rlx_place_mix(seed + 1));
  m->stack_bias = unit_of(rlx_place_mix(seed + 2)) - 0.5;
  m->last_resort = unit_of(rlx_place_mix(seed + 3)) < LAST_RESORT_SHARE;
  m->blocks = rlx_mem_calloc(n, sizeof *m->blocks);
  m->live = rlx_mem_calloc(n, sizeof *m->live);
  m->slack = rlx_mem_calloc(n_sections, sizeof *m->slack);
  m->banned = rlx_mem_calloc((size_t)n * m->row_words, sizeof *m->banned);
  if (!m->blocks || !m->live || !m->slack || !m->banned)
    return RLX_FAIL(RLX_NO_MEMORY, "merging of %u items", (unsigned)n);
  for (uint32_t t = 0; t < n_sections; t++) m->slack[t] = capacity - p->load[part->first_section + t];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t item = part->first + i;
    m->blocks[i] = (merge_block){.from = p->from[item] - part->first_section,
                                 .to = p->to[item] - part->first_section,
                                 .size = p->size[item],
                                 .parent = i};
    m->live[i] = i;
  }
  return RLX_OK;
}

static void merger_deinit(merger *m) {
  rlx_mem_free(m->blocks);
  rlx_mem_free(m->live);
  rlx_mem_free(m->slack);
  rlx_mem_free(m->banned);
}

/* Solves the live blocks as a problem of their own; each of its parts must be solved. */
static rlx_status solve_blocks(const merger *m, uint64_t capacity, uint64_t budget, rlx_place_item *items,
                               uint64_t *offsets, uint64_t *steps, bool *is_found) {
  place_problem q;
  for (uint32_t k = 0; k < m->n_live; k++) {
    const merge_block *b = &m->blocks[m->live[k]];
    items[k] = (rlx_place_item){b->from, b->to, b->size};
  }
  RLX_TRY(rlx_place_problem_init(&q, items, m->n_live, 1));
  rlx_status s = RLX_OK;
  uint64_t *found = rlx_mem_calloc(q.n, sizeof *found);
  if (!found) s = RLX_FAIL(RLX_NO_MEMORY, "placement of %u blocks", (unsigned)q.n);
  *is_found = true;
  for (uint32_t k = 0; !s && *is_found && k < q.n_parts; k++) {
    place_search *search = NULL;
    place_answer answer = PLACE_UNDECIDED;
    s = rlx_place_search_create(&q, &q.parts[k], &search);
    if (!s) s = rlx_place_search_run(search, capacity / q.unit, budget, found + q.parts[k].first, steps, &answer);
    rlx_place_search_destroy(search);
    *is_found = !s && answer == PLACE_FOUND;
  }
  for (uint32_t k = 0; !s && *is_found && k < q.n; k++) offsets[m->live[q.origin[k]]] = found[k] * q.unit;
  rlx_mem_free(found);
  rlx_place_problem_deinit(&q);
  return s;
}

/* Computes the items' offsets from those of their blocks. */
static void spread(const merger *m, const uint64_t *block_offsets, uint64_t *offsets) {
  for (uint32_t i = 0; i < m->n; i++) {
    uint64_t shift = 0;
    uint32_t at = i;
    for (; m->blocks[at].parent != at; at = m->blocks[at].parent) shift += m->blocks[at].shift;
    offsets[i] = block_offsets[at] + shift;
  }
}

bool rlx_place_merge_fits(const place_part *part) { return part->last - part->first <= MAX_BLOCKS; }

rlx_status rlx_place_merge_run(const place_problem *p, const place_part *part, uint64_t capacity, uint32_t round,
                               uint64_t budget, uint64_t *offsets, uint64_t *steps, bool *is_found) {
  merger m;
  *is_found = false;
  rlx_status s = merger_init(&m, p, part, capacity, round);
  if (!s) {
    double share = 0.1 + 0.8 * unit_of(rlx_place_mix(m.seed + 4));
    for (uint32_t i = 0; i < m.n && m.steps < budget; i++) find_best(&m, i);
    while (m.n_live > share * m.n && m.steps < budget && merge_best(&m)) continue;
    *steps += m.steps;
    rlx_place_item *items = rlx_mem_calloc(m.n_live, sizeof *items);
    uint64_t *block_offsets = rlx_mem_calloc(m.n, sizeof *block_offsets);
    if (items && block_offsets) s = solve_blocks(&m, capacity, budget, items, block_offsets, steps, is_found);
    else s = RLX_FAIL(RLX_NO_MEMORY, "merging of %u items", (unsigned)m.n);
    if (!s && *is_found) spread(&m, block_offsets, offsets);
    rlx_mem_free(items);
    rlx_mem_free(block_offsets);
  }
  merger_deinit(&m);
  return s;
}
