/* Branch and bound: decides whether a part has a placement within a capacity.
 *
 * The state is `low`: for each unplaced item, the lowest offset it can still have. Any placement can be pushed down
 * until every item rests on the ground or on another item, and only such placements are searched. The search selects an
 * item i below which no unplaced item fits, and branches. Either i is at low[i], and all items that overlap it in time
 * go above it. Or it is higher; then it rests on one of those, so low[i] rises to the lowest top that any of them can
 * have. Both branches raise further lows. A section of time has a floor, the lowest `low` of its unplaced items: the
 * floor plus the load still to be placed must stay within the capacity. What remains of the capacity is the section's
 * slack.
 *
 * What makes it fast: - Variable selection: the section with the fewest items on its floor, because one of these (or
 * waste) must come next
 *    there; weighted by how often a section caused a failure, so that the search stays with the conflict it has found.
 * - Short runs with restarts and perturbed ranks. Run times are heavy-tailed: a run either succeeds within a few
 * thousand
 *    choices or is lost for millions. What was proved is kept: states that cannot be completed go into a table by their
 *    hash (a collision could only hide a solution, never produce a wrong one).
 * - Decomposition: once no unplaced item crosses a point in time, the two sides are solved separately, and a failure of
 *    one is a failure of both.
 * - Dominance: an item that can be placed without raising any other is placed without a second branch. Items that are
 *    equal in time and size (twins) are stacked in one order only.
 *
 * All work is counted in steps, about one per item examined (a nanosecond or two), and only steps end a run: the same
 * problem gives the same answer on every machine. */
#include <string.h>

#include "base/array.h"
#include "plan/place.h"

enum {
  MAX_ITEMS = 20000,   /* above this even one run takes longer than the caller has */
  MAX_PAIRS = 8000000, /* pairs that overlap in time: memory for neighbours */
  BLOCK = 64,          /* sections summarised as one */
  TABLE_BITS = 16,     /* of the table of failed states */
  FIRST_RUN = 8000,    /* steps per item of the first run: enough to place them all */
  RUN = 1500,          /* steps per item of later runs */
  MIN_RUN = 200000,    /* minimum steps of a run */
  JITTER_PERCENT = 30, /* perturbation of the ranks */
  NONE = -1,           /* no item */
};
#define RUN_GROWTH 1.01 /* growth of the steps from run to run */
#define WEIGHT_KEPT 0.5 /* fraction of the sections' failure weights kept from run to run */

typedef enum change_kind { CHANGE_LOW, CHANGE_FLOOR, CHANGE_PLACED } change_kind;

/* An undo record. */
typedef struct change {
  change_kind kind;
  uint32_t at;       /* item or section */
  uint32_t n_lowest; /* of a section, before the change */
  uint64_t old;
} change;

/* A section of time. Its unplaced items are the first `n` of a list. */
typedef struct section {
  uint32_t first, n;    /* in lists */
  uint32_t n_lowest;    /* items on the floor */
  uint32_t n_crossing;  /* unplaced items that live in this section and the next */
  uint64_t floor, load; /* the load of the unplaced items */
  uint64_t hash;        /* of the unplaced items that begin here and their lows */
  double weight;
  bool is_dirty;
} section;

/* The best next section in a range of time. */
typedef struct summary {
  uint64_t hash;
  double merit;    /* of selecting .. */
  int64_t section; /* .. this section next; NONE: all is placed */
} summary;

/* A summary of BLOCK sections, so that a choice need not examine each of thousands. */
typedef struct block {
  summary seen;
  bool is_stale;
} block;

/* A range of time that is being solved: sections first <= t < last. */
typedef struct frame {
  uint32_t first, last, next; /* the sections before next are solved */
  uint32_t item;              /* the last item decided */
  bool moves_others, splits;  /* whether placing it raised others; whether it split the range */
  size_t mark, before;        /* of the trail, at entry and before the item was placed */
  uint64_t first_hash, hash;  /* of the state at entry and before the item was placed */
  uint64_t rests_on;
} frame;

struct place_search {
  uint32_t n, n_sections;
  const uint32_t *from, *to; /* of the problem, starting at this part's first item; sections count from base */
  const uint64_t *size;
  uint32_t base;
  /* Fixed. */
  uint32_t *neighbour_at, *neighbours; /* n + 1; the items that overlap item i in time */
  uint32_t *slot_at, *slots;           /* n; slots[slot_at[i] + k]: item i's index in the list of its k-th section */
  int32_t *twin;                       /* the next item of equal time and size */
  uint64_t *total;                     /* by section: the load of all items */
  /* The state. */
  uint64_t capacity;
  uint64_t *low, *offset;
  bool *is_placed;
  section *sections;
  block *blocks;
  uint32_t *lists;
  uint32_t *dirty, n_dirty; /* sections whose floor may have changed */
  RLX_ARRAY(change) trail;
  bool out_of_memory;
  /* The run. */
  frame *frames;                    /* n + 2 */
  uint32_t *rank, *order, *scratch; /* lower ranks are tried first */
  uint64_t *keys, *table;
  uint64_t steps, limit, random;
  uint32_t n_runs;  /* at this capacity */
  double run_steps; /* of the next one */
  bool can_resume;  /* the last call was undecided: nothing is placed, and what was proved holds */
};

static uint64_t item_hash(uint32_t i, uint64_t low) {
  return rlx_place_mix((i + 1) * 0x9e3779b97f4a7c15u + low * 0xc2b2ae3d27d4eb4fu);
}

/* ---- changes ---- */

static void remember(place_search *s, change_kind kind, uint32_t at, uint64_t old, uint32_t n_lowest) {
  change c = {kind, at, n_lowest, old};
  if (!rlx_array_push(&s->trail, c)) s->out_of_memory = true;
}

/* Marks the summary of the section's block as stale. */
static void mark_stale(place_search *s, uint32_t t) { s->blocks[t / BLOCK].is_stale = true; }

static void mark_dirty(place_search *s, uint32_t t) {
  if (s->sections[t].is_dirty) return;
  s->sections[t].is_dirty = true;
  s->dirty[s->n_dirty++] = t;
}

/* Adds failure weight to the fullest section of an item that does not fit. */
static void blame_item(place_search *s, uint32_t i) {
  uint32_t fullest = s->from[i] - s->base;
  for (uint32_t t = fullest + 1; t < s->to[i] - s->base; t++)
    if (s->sections[t].load > s->sections[fullest].load) fullest = t;
  s->sections[fullest].weight += 1;
  mark_stale(s, fullest);
}

/* Raises low[i] to `low`, and its twins above it. False if the capacity does not allow it. */
static bool raise_low(place_search *s, uint32_t i, uint64_t low) {
  for (;;) {
    uint64_t old = s->low[i];
    if (low <= old) return true;
    if (low + s->size[i] > s->capacity) {
      blame_item(s, i);
      return false;
    }
    remember(s, CHANGE_LOW, i, old, 0);
    if (s->out_of_memory) return false;
    uint32_t from = s->from[i] - s->base, to = s->to[i] - s->base;
    s->sections[from].hash ^= item_hash(i, old) ^ item_hash(i, low);
    mark_stale(s, from);
    s->low[i] = low;
    for (uint32_t t = from; t < to; t++)
      if (s->sections[t].floor == old) mark_dirty(s, t);
    s->steps += to - from;
    if (s->twin[i] == NONE) return true;
    low += s->size[i];
    i = (uint32_t)s->twin[i];
  }
}

/* Updates the floors. False if a section has no room left for its unplaced items. */
static bool update_floors(place_search *s) {
  bool ok = true;
  for (uint32_t k = 0; k < s->n_dirty; k++) {
    section *sec = &s->sections[s->dirty[k]];
    sec->is_dirty = false;
    if (!ok || sec->n == 0) continue;
    uint64_t floor = UINT64_MAX;
    uint32_t n_lowest = 0;
    for (uint32_t j = 0; j < sec->n; j++) {
      uint64_t low = s->low[s->lists[sec->first + j]];
      n_lowest = low < floor ? 1 : n_lowest + (low == floor);
      floor = low < floor ? low : floor;
    }
    s->steps += sec->n;
    remember(s, CHANGE_FLOOR, s->dirty[k], sec->floor, sec->n_lowest);
    if (s->out_of_memory) ok = false;
    else sec->floor = floor, sec->n_lowest = n_lowest;
    mark_stale(s, s->dirty[k]);
    if (ok && floor + sec->load > s->capacity) {
      sec->weight += 1;
      ok = false;
    }
  }
  s->n_dirty = 0;
  return ok;
}

/* Swaps item i after the unplaced ones in its sections' lists. Returns whether it was the last to cross some point in
 * time. */
static bool remove_item(place_search *s, uint32_t i) {
  uint32_t from = s->from[i] - s->base, to = s->to[i] - s->base;
  bool splits = false;
  for (uint32_t t = from; t < to; t++) {
    section *sec = &s->sections[t];
    uint32_t *slot = &s->slots[s->slot_at[i] + t - from], *list = &s->lists[sec->first];
    uint32_t last = --sec->n, other = list[last];
    list[*slot] = other;
    list[last] = i;
    s->slots[s->slot_at[other] + t - (s->from[other] - s->base)] = *slot;
    *slot = last;
    sec->load -= s->size[i];
    if (t + 1 < to && --sec->n_crossing == 0) splits = true;
    mark_stale(s, t);
    if (sec->floor == s->low[i]) mark_dirty(s, t);
  }
  s->sections[from].hash ^= item_hash(i, s->low[i]);
  s->is_placed[i] = true;
  return splits;
}

/* Undoes remove_item: in last-in, first-out order the item is the one directly after the unplaced ones. */
static void restore_item(place_search *s, uint32_t i) {
  uint32_t from = s->from[i] - s->base, to = s->to[i] - s->base;
  for (uint32_t t = from; t < to; t++) {
    s->sections[t].n++;
    s->sections[t].load += s->size[i];
    if (t + 1 < to) s->sections[t].n_crossing++;
    mark_stale(s, t);
  }
  s->sections[from].hash ^= item_hash(i, s->low[i]);
  s->is_placed[i] = false;
}

static void undo_to(place_search *s, size_t mark) {
  while (s->trail.n > mark) {
    change c = s->trail.v[--s->trail.n];
    switch (c.kind) {
      case CHANGE_LOW:
        s->sections[s->from[c.at] - s->base].hash ^= item_hash(c.at, s->low[c.at]) ^ item_hash(c.at, c.old);
        s->low[c.at] = c.old;
        mark_stale(s, s->from[c.at] - s->base);
        break;
      case CHANGE_FLOOR:
        s->sections[c.at].floor = c.old;
        s->sections[c.at].n_lowest = c.n_lowest;
        mark_stale(s, c.at);
        break;
      case CHANGE_PLACED: restore_item(s, c.at); break;
    }
  }
}

/* Places the frame's item at its low, below all unplaced items that overlap it in time. */
static bool place(place_search *s, frame *f) {
  uint32_t i = f->item;
  remember(s, CHANGE_PLACED, i, 0, 0);
  if (s->out_of_memory) return false;
  s->offset[i] = s->low[i];
  f->splits = remove_item(s, i);
  f->moves_others = false;
  uint64_t top = s->low[i] + s->size[i];
  bool ok = true;
  for (uint32_t k = s->neighbour_at[i]; ok && k < s->neighbour_at[i + 1]; k++) {
    uint32_t j = s->neighbours[k];
    if (s->is_placed[j] || s->low[j] >= top) continue;
    f->moves_others = true;
    ok = raise_low(s, j, top);
  }
  s->steps += s->neighbour_at[i + 1] - s->neighbour_at[i] + 2 * (s->to[i] - s->from[i]);
  return update_floors(s) && ok; /* update_floors first: it also clears the list of dirty sections */
}

/* ---- choices ---- */

/* The lowest top that an unplaced item overlapping i in time can have. */
static uint64_t lowest_top(place_search *s, uint32_t i) {
  uint64_t top = UINT64_MAX;
  for (uint32_t k = s->neighbour_at[i]; k < s->neighbour_at[i + 1]; k++) {
    uint32_t j = s->neighbours[k];
    if (!s->is_placed[j] && s->low[j] + s->size[j] < top) top = s->low[j] + s->size[j];
  }
  s->steps += s->neighbour_at[i + 1] - s->neighbour_at[i];
  return top;
}

/* The lowest item overlapping i in time that fits below it; of several, the one with the lowest rank. */
static uint32_t lowest_below(const place_search *s, uint32_t i) {
  uint32_t best = i;
  for (uint32_t k = s->neighbour_at[i]; k < s->neighbour_at[i + 1]; k++) {
    uint32_t j = s->neighbours[k];
    if (s->is_placed[j] || s->low[j] + s->size[j] > s->low[i]) continue;
    if (s->low[j] < s->low[best] || (s->low[j] == s->low[best] && s->rank[j] < s->rank[best])) best = j;
  }
  return best;
}

static void summarise_sections(const place_search *s, uint32_t first, uint32_t last, summary *v) {
  for (uint32_t t = first; t < last; t++) {
    const section *sec = &s->sections[t];
    v->hash ^= sec->hash;
    if (sec->n == 0) continue;
    /* The branching factor: the items on the floor, or waste. A single choice is almost free. */
    bool may_waste = sec->floor + sec->load < s->capacity;
    double merit = sec->weight / (sec->n_lowest + may_waste - 0.99);
    if (merit <= v->merit) continue;
    v->merit = merit;
    v->section = t;
  }
}

static summary summarise(place_search *s, uint32_t first, uint32_t last) {
  summary v = {.hash = rlx_place_mix(first * 0x9e3779b97f4a7c15u + last), .section = NONE};
  for (uint32_t t = first; t < last;) {
    uint32_t end = (t / BLOCK + 1) * BLOCK;
    if (t % BLOCK != 0 || end > last) {
      end = end < last ? end : last;
      summarise_sections(s, t, end, &v);
      s->steps += 2 * (end - t);
    } else {
      block *b = &s->blocks[t / BLOCK];
      if (b->is_stale) {
        *b = (block){.seen = {.section = NONE}};
        summarise_sections(s, t, end, &b->seen);
        s->steps += 2 * BLOCK;
      }
      v.hash ^= b->seen.hash;
      if (b->seen.merit > v.merit) {
        v.merit = b->seen.merit;
        v.section = b->seen.section;
      }
      s->steps += 2;
    }
    t = end;
  }
  return v;
}

/* The item to decide on: no unplaced item fits below it. *rests_on: the lowest top of the items it could rest on. */
static uint32_t choose(place_search *s, uint32_t t, uint64_t *rests_on) {
  const section *sec = &s->sections[t];
  uint32_t item = s->lists[sec->first];
  for (uint32_t k = 1; k < sec->n; k++) {
    uint32_t j = s->lists[sec->first + k];
    if (s->low[j] < s->low[item] || (s->low[j] == s->low[item] && s->rank[j] < s->rank[item])) item = j;
  }
  s->steps += sec->n;
  while ((*rests_on = lowest_top(s, item)) <= s->low[item]) item = lowest_below(s, item);
  return item;
}

static bool is_spent(const place_search *s) { return s->steps > s->limit || s->out_of_memory; }

static uint64_t *table_slot(place_search *s, uint64_t hash) { return &s->table[hash >> (64 - TABLE_BITS)]; }

/* Undoes the frame's choice and takes the other branch. False: both fail, or the run is over. */
static bool reject(place_search *s, frame *f) {
  undo_to(s, f->before);
  if (is_spent(s)) return false;
  /* Placing an item that raises no other is dominant: the other branch cannot help. */
  bool ok = f->moves_others && raise_low(s, f->item, f->rests_on);
  ok = update_floors(s) && ok;
  if (!ok && !s->out_of_memory) *table_slot(s, f->hash) = f->hash;
  return ok;
}

/* Decides on items of the frame's range until one is placed. False: the range cannot be completed (then its first state
 * is recorded as failed), or the run is over. *is_done: nothing was left to place. */
static bool decide(place_search *s, frame *f, bool *is_done) {
  for (;;) {
    summary v = summarise(s, f->first, f->last);
    *is_done = v.section == NONE;
    if (*is_done) return true;
    f->hash = v.hash;
    if (f->first_hash == 0) f->first_hash = v.hash;
    if (is_spent(s)) return false;
    if (*table_slot(s, v.hash) == v.hash) break;
    f->item = choose(s, (uint32_t)v.section, &f->rests_on);
    f->before = s->trail.n;
    f->next = f->first;
    if (place(s, f)) return true;
    if (reject(s, f)) continue;
    if (is_spent(s)) return false;
    break;
  }
  *table_slot(s, f->first_hash) = f->first_hash;
  return false;
}

/* The frame's next independent range; false if all are solved. */
static bool next_piece(const place_search *s, frame *f, frame *piece) {
  while (f->next < f->last) {
    uint32_t begin = f->next, t = f->splits ? begin : f->last - 1;
    while (t + 1 < f->last && s->sections[t].n_crossing > 0) t++;
    f->next = t + 1;
    if (t == begin && s->sections[t].n == 0) continue;
    *piece = (frame){.first = begin, .last = t + 1, .mark = s->trail.n};
    return true;
  }
  return false;
}

/* Backtracks after the top frame failed: pops frames until one can take its other branch. False: none can. */
static bool backtrack(place_search *s, uint32_t *top) {
  for (;;) {
    undo_to(s, s->frames[*top].mark);
    if (--*top == 0) return false;
    frame *f = &s->frames[*top];
    bool is_done = false;
    if (reject(s, f)) {
      if (decide(s, f, &is_done)) return true;
    } else if (!is_spent(s)) *table_slot(s, f->first_hash) = f->first_hash;
  }
}

/* One run. A frame is a range of time with one of its items placed; above it on the stack are the remaining ranges.
 * Frame 0 is the whole, with nothing placed. */
static bool solve(place_search *s) {
  uint32_t top = 0;
  s->frames[0] = (frame){.last = s->n_sections, .splits = true, .mark = s->trail.n};
  for (;;) {
    bool is_done = false;
    if (!next_piece(s, &s->frames[top], &s->frames[top + 1])) {
      if (top-- == 0) return true;
    } else if (top++, !decide(s, &s->frames[top], &is_done)) {
      if (!backtrack(s, &top)) return false;
    } else if (is_done) top--;
  }
}

/* ---- runs ---- */

static uint64_t next_random(place_search *s) { return rlx_place_mix(s->random += 0x9e3779b97f4a7c15u); }

/* Ranks for one run. Longest lifetime first has proved best, and is used in every second run. */
static void rank_items(place_search *s, uint32_t run) {
  enum { BY_LENGTH, BY_SIZE, BY_AREA };
  static const int merits[] = {BY_LENGTH, BY_SIZE, BY_LENGTH, BY_AREA};
  enum { N_MERITS = sizeof merits / sizeof *merits };
  for (uint32_t i = 0; i < s->n; i++) {
    double length = (double)(s->to[i] - s->from[i]), size = (double)s->size[i] / (double)s->capacity;
    double merit = length * size;
    if (merits[run % N_MERITS] == BY_LENGTH) merit = length + size;
    else if (merits[run % N_MERITS] == BY_SIZE) merit = size + 1e-9 * length;
    double jitter = run < N_MERITS ? 0 : (double)(next_random(s) >> 11) * 0x1p-52 - 1;
    merit *= 1 + jitter * JITTER_PERCENT / 100;
    uint64_t bits; /* the bits of a positive double, which sort in its order */
    memcpy(&bits, &merit, sizeof bits);
    s->keys[i] = ~bits;
    s->order[i] = i;
  }
  rlx_place_sort(s->keys, s->order, s->scratch, s->n);
  for (uint32_t k = 0; k < s->n; k++) s->rank[s->order[k]] = k;
  for (uint32_t t = 0; t < s->n_sections; t++) {
    s->sections[t].weight = 1 + (s->sections[t].weight - 1) * WEIGHT_KEPT;
    mark_stale(s, t);
  }
  s->steps += 16 * s->n;
}

/* Clears the state. False if the capacity is below a section's load. */
static bool reset(place_search *s, uint64_t capacity) {
  s->capacity = capacity;
  s->trail.n = 0;
  memset(s->table, 0, sizeof *s->table << TABLE_BITS);
  for (uint32_t t = 0; t < s->n_sections; t++) {
    section *sec = &s->sections[t];
    sec->n = (t + 1 < s->n_sections ? s->sections[t + 1].first : s->slot_at[s->n]) - sec->first;
    sec->n_lowest = sec->n;
    sec->n_crossing = 0;
    sec->floor = sec->hash = 0;
    sec->load = s->total[t];
    sec->weight = 1;
    mark_dirty(s, t);
  }
  for (uint32_t i = 0; i < s->n; i++) {
    s->low[i] = 0;
    s->is_placed[i] = false;
    uint32_t from = s->from[i] - s->base, to = s->to[i] - s->base;
    s->sections[from].hash ^= item_hash(i, 0);
    for (uint32_t t = from; t + 1 < to; t++) s->sections[t].n_crossing++;
  }
  bool ok = true;
  for (uint32_t i = 0; ok && i < s->n; i++)
    if (s->twin[i] != NONE) ok = raise_low(s, (uint32_t)s->twin[i], s->low[i] + s->size[i]);
  return update_floors(s) && ok;
}

rlx_status rlx_place_search_run(place_search *s, uint64_t capacity, uint64_t budget, uint64_t *offsets, uint64_t *steps,
                                place_answer *answer) {
  s->steps = 0;
  s->out_of_memory = false;
  *answer = PLACE_UNDECIDED;
  if (!s->can_resume || s->capacity != capacity) {
    if (!reset(s, capacity)) *answer = PLACE_IMPOSSIBLE;
    s->n_runs = 0;
    s->run_steps = (double)RUN * s->n > MIN_RUN ? (double)RUN * s->n : MIN_RUN;
  }
  while (*answer == PLACE_UNDECIDED && !s->out_of_memory && s->steps < budget) {
    rank_items(s, s->n_runs);
    uint64_t left = budget - (s->steps < budget ? s->steps : budget);
    uint64_t steps_now = s->n_runs == 0 ? (uint64_t)FIRST_RUN * s->n : (uint64_t)s->run_steps;
    s->limit = s->steps + (steps_now < left ? steps_now : left);
    s->n_runs++;
    s->run_steps *= RUN_GROWTH;
    if (solve(s)) *answer = PLACE_FOUND;
    else if (!is_spent(s)) *answer = PLACE_IMPOSSIBLE;
  }
  s->can_resume = *answer == PLACE_UNDECIDED && !s->out_of_memory;
  *steps += s->steps;
  if (s->out_of_memory) return RLX_FAIL(RLX_NO_MEMORY, "placement search over %u items", (unsigned)s->n);
  if (*answer == PLACE_FOUND) memcpy(offsets, s->offset, s->n * sizeof *offsets);
  return RLX_OK;
}

/* ---- construction ---- */

/* Pairs that overlap, each once: the items are in order of start, so those after i that overlap it begin before its
 * end. SIZE_MAX if there are too many. */
static size_t count_pairs(const place_problem *p, const place_part *part) {
  size_t n_pairs = 0;
  for (uint32_t i = part->first; i < part->last; i++) {
    for (uint32_t j = i + 1; j < part->last && p->from[j] < p->to[i]; j++) n_pairs++;
    if (n_pairs > MAX_PAIRS) return SIZE_MAX;
  }
  return n_pairs;
}

bool rlx_place_search_fits(const place_problem *p, const place_part *part) {
  return part->last - part->first <= MAX_ITEMS && count_pairs(p, part) != SIZE_MAX;
}

static void link_neighbours(place_search *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    for (uint32_t j = i + 1; j < s->n && s->from[j] < s->to[i]; j++) {
      s->neighbour_at[i + 1]++;
      s->neighbour_at[j + 1]++;
    }
  }
  for (uint32_t i = 0; i < s->n; i++) s->neighbour_at[i + 1] += s->neighbour_at[i];
  memcpy(s->scratch, s->neighbour_at, s->n * sizeof *s->scratch);
  for (uint32_t i = 0; i < s->n; i++) {
    s->twin[i] = NONE;
    for (uint32_t j = i + 1; j < s->n && s->from[j] < s->to[i]; j++) {
      s->neighbours[s->scratch[i]++] = j;
      s->neighbours[s->scratch[j]++] = i;
      bool is_twin = s->from[i] == s->from[j] && s->to[i] == s->to[j] && s->size[i] == s->size[j];
      if (is_twin && s->twin[i] == NONE) s->twin[i] = (int32_t)j;
    }
  }
}

static void fill_lists(place_search *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    s->slot_at[i + 1] = s->slot_at[i] + s->to[i] - s->from[i];
    for (uint32_t t = s->from[i] - s->base; t < s->to[i] - s->base; t++) s->sections[t].n++;
  }
  for (uint32_t t = 1; t < s->n_sections; t++) s->sections[t].first = s->sections[t - 1].first + s->sections[t - 1].n;
  for (uint32_t t = 0; t < s->n_sections; t++) s->sections[t].n = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    for (uint32_t t = s->from[i] - s->base, k = s->slot_at[i]; t < s->to[i] - s->base; t++, k++) {
      section *sec = &s->sections[t];
      s->slots[k] = sec->n;
      s->lists[sec->first + sec->n++] = i;
    }
  }
}

static rlx_status allocate(place_search *s, size_t n_pairs, size_t n_slots) {
  size_t n = s->n;
  s->neighbour_at = rlx_mem_calloc(n + 1, sizeof *s->neighbour_at);
  s->neighbours = rlx_mem_calloc(2 * n_pairs, sizeof *s->neighbours);
  s->slot_at = rlx_mem_calloc(n + 1, sizeof *s->slot_at);
  s->slots = rlx_mem_calloc(n_slots, sizeof *s->slots);
  s->lists = rlx_mem_calloc(n_slots, sizeof *s->lists);
  s->twin = rlx_mem_calloc(n, sizeof *s->twin);
  s->total = rlx_mem_calloc(s->n_sections, sizeof *s->total);
  s->low = rlx_mem_calloc(n, sizeof *s->low);
  s->offset = rlx_mem_calloc(n, sizeof *s->offset);
  s->is_placed = rlx_mem_calloc(n, sizeof *s->is_placed);
  s->sections = rlx_mem_calloc(s->n_sections, sizeof *s->sections);
  s->blocks = rlx_mem_calloc(s->n_sections / BLOCK + 1, sizeof *s->blocks);
  s->dirty = rlx_mem_calloc(s->n_sections, sizeof *s->dirty);
  s->rank = rlx_mem_calloc(n, sizeof *s->rank);
  s->order = rlx_mem_calloc(n, sizeof *s->order);
  s->scratch = rlx_mem_calloc(n, sizeof *s->scratch);
  s->keys = rlx_mem_calloc(n, sizeof *s->keys);
  s->frames = rlx_mem_calloc(n + 2, sizeof *s->frames);
  s->table = rlx_mem_calloc((size_t)1 << TABLE_BITS, sizeof *s->table);
  bool ok = s->neighbour_at && s->neighbours && s->slot_at && s->slots && s->lists && s->twin && s->total && s->low &&
            s->offset && s->is_placed && s->sections && s->blocks && s->dirty && s->rank && s->order && s->scratch &&
            s->keys && s->frames && s->table;
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "placement search over %u items", (unsigned)s->n);
}

rlx_status rlx_place_search_create(const place_problem *p, const place_part *part, place_search **out) {
  *out = NULL;
  place_search *s = rlx_new(place_search);
  if (!s) return RLX_FAIL(RLX_NO_MEMORY, "placement search");
  s->n = part->last - part->first;
  s->n_sections = part->last_section - part->first_section;
  s->base = part->first_section;
  s->from = p->from + part->first;
  s->to = p->to + part->first;
  s->size = p->size + part->first;
  size_t n_slots = 0;
  for (uint32_t i = 0; i < s->n; i++) n_slots += s->to[i] - s->from[i];
  rlx_status status = allocate(s, count_pairs(p, part), n_slots);
  if (status) {
    rlx_place_search_destroy(s);
    return status;
  }
  memcpy(s->total, p->load + part->first_section, s->n_sections * sizeof *s->total);
  link_neighbours(s);
  fill_lists(s);
  *out = s;
  return RLX_OK;
}

void rlx_place_search_destroy(place_search *s) {
  if (!s) return;
  void *blocks[] = {s->neighbour_at, s->neighbours, s->slot_at,   s->slots,    s->lists,  s->twin,  s->total,
                    s->low,          s->offset,     s->is_placed, s->sections, s->blocks, s->dirty, s->rank,
                    s->order,        s->scratch,    s->keys,      s->frames,   s->table};
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) rlx_mem_free(blocks[k]);
  rlx_array_deinit(&s->trail);
  rlx_mem_free(s);
}
