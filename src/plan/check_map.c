/* Ranges of labelled bytes: sorted points, and a tree of bits over the cells between them. See check_map.h. */
#include "plan/check_map.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b) {
  const check_point *x = a, *y = b;
  if (x->room != y->room) return x->room < y->room ? -1 : 1;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

bool rlx_plan_check_points_init(check_points *p, rlx_bump *mem, check_point *points, size_t n, uint32_t n_rooms) {
  *p = (check_points){.v = points, .first = rlx_bump_array(mem, size_t, (size_t)n_rooms + 1)};
  if (!p->first) return false;
  qsort(points, n, sizeof *points, by_place);
  for (size_t i = 0; i < n; i++)
    if (!p->n || by_place(&points[p->n - 1], &points[i]) != 0) points[p->n++] = points[i];
  size_t at = 0;
  for (uint32_t room = 0; room <= n_rooms; room++) {
    while (at < p->n && points[at].room < room) at++;
    p->first[room] = at;
  }
  return true;
}

/* The last point of the room at or before offset. */
static size_t find_cell(const check_points *p, uint32_t room, uint64_t offset) {
  size_t lo = p->first[room], hi = p->first[room + 1];
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (p->v[mid].offset <= offset) lo = mid;
    else hi = mid;
  }
  return lo;
}

/* ---- the bits ---- */

static void set_bit(check_map *m, size_t i) {
  for (int level = 0; level < m->n_levels; level++, i /= 64) m->bits[level][i / 64] |= (uint64_t)1 << (i % 64);
}

static void clear_bit(check_map *m, size_t i) {
  for (int level = 0; level < m->n_levels; level++, i /= 64)
    if (m->bits[level][i / 64] &= ~((uint64_t)1 << (i % 64))) return;
}

static bool has_bit(const check_map *m, size_t i) { return m->bits[0][i / 64] >> (i % 64) & 1; }

static size_t highest(uint64_t word) {
  size_t n = 0;
  for (size_t part = 32; part; part /= 2)
    if (word >> part) {
      word >>= part;
      n += part;
    }
  return n;
}

static size_t lowest(uint64_t word) { return highest(word & (~word + 1)); }

/* The last set bit at or before i; there must be one. */
static size_t bit_before(const check_map *m, size_t i) {
  for (int level = 0; level < m->n_levels; level++) {
    uint64_t word = m->bits[level][i / 64] & (UINT64_MAX >> (63 - i % 64));
    if (word) {
      i = i / 64 * 64 + highest(word);
      while (level-- > 0) i = i * 64 + highest(m->bits[level][i]);
      return i;
    }
    if (i / 64 == 0) break;
    i = i / 64 - 1;
  }
  return 0;
}

/* The first set bit after i; there must be one. */
static size_t bit_after(const check_map *m, size_t i) {
  i++;
  for (int level = 0; level < m->n_levels; level++) {
    uint64_t word = m->bits[level][i / 64] & (UINT64_MAX << (i % 64));
    if (word) {
      i = i / 64 * 64 + lowest(word);
      while (level-- > 0) i = i * 64 + lowest(m->bits[level][i]);
      return i;
    }
    i = i / 64 + 1;
  }
  return m->points->n - 1;
}

/* ---- the map ---- */

bool rlx_plan_check_map_init(check_map *m, rlx_bump *mem, const check_points *points) {
  *m = (check_map){.points = points,
                   .label = rlx_bump_array(mem, uint32_t, points->n),
                   .shift = rlx_bump_array(mem, uint64_t, points->n)};
  if (!m->label || !m->shift) return false;
  for (size_t n = points->n;; n = n / 64 + 1) {
    uint64_t *words = m->bits[m->n_levels++] = rlx_bump_array(mem, uint64_t, n / 64 + 2);
    if (!words) return false;
    if (n < 64 || m->n_levels == 5) break;
  }
  /* Initially a room is one range. Its end is an empty range, so that every range has a successor. */
  for (size_t i = 0; i < points->n; i++) {
    bool begins = i == 0 || points->v[i - 1].room != points->v[i].room;
    bool ends = i + 1 == points->n || points->v[i + 1].room != points->v[i].room;
    if (begins || ends) set_bit(m, i);
  }
  return true;
}

bool rlx_plan_check_map_has_point(const check_map *m, uint32_t room, uint64_t offset) {
  return m->points->v[find_cell(m->points, room, offset)].offset == offset;
}

check_range rlx_plan_check_map_at(const check_map *m, uint32_t room, uint64_t offset) {
  const check_point *v = m->points->v;
  size_t cell = bit_before(m, find_cell(m->points, room, offset)), end = bit_after(m, cell);
  return (check_range){m->label[cell], m->shift[cell] + (offset - v[cell].offset), v[end].offset - offset};
}

/* Makes the cell the beginning of a range. */
static void cut(check_map *m, size_t cell) {
  if (has_bit(m, cell)) return;
  size_t from = bit_before(m, cell);
  m->label[cell] = m->label[from];
  m->shift[cell] = m->shift[from] + (m->points->v[cell].offset - m->points->v[from].offset);
  set_bit(m, cell);
}

void rlx_plan_check_map_write(check_map *m, uint32_t room, uint64_t offset, uint64_t bytes, uint32_t label,
                              uint64_t shift) {
  size_t lo = find_cell(m->points, room, offset), hi = find_cell(m->points, room, offset + bytes);
  cut(m, hi);
  cut(m, lo);
  for (size_t i = bit_after(m, lo); i < hi; i = bit_after(m, lo)) clear_bit(m, i);
  m->label[lo] = label;
  m->shift[lo] = shift;
}
