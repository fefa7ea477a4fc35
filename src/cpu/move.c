/* Canonicalises and runs boxes: see move.h.
 *
 * A box runs in one of three ways. Long elements are copied with memcpy, split among threads by bytes. Short ones (1,
 * 2, 4 or 8 bytes) that are contiguous in the source along another axis than in the result are transposed in registers,
 * tile by tile. Such a tile goes through a small buffer where rows of the result are a power of two apart and would
 * evict one another from the cache before their lines are full. Everything else is a loop over single elements. */
#include "cpu/move.h"

#include <string.h>

enum {
  SIDE = 64,             /* of a square tile of 2- or 4-byte elements */
  TILE_BYTES = 16 * 1024 /* max bytes of a tile: half of the L1 cache */
};

/* ---- building ---- */

cpu_moves *cpu_moves_create(rlx_bump *memory, size_t cap) {
  cpu_moves *m = rlx_bump_new(memory, cpu_moves);
  if (!m || !(m->v = rlx_bump_array(memory, cpu_box, cap ? cap : 1))) return NULL;
  m->cap = cap;
  return m;
}

static void drop_axis(cpu_box *b, int axis) {
  b->n--;
  for (int i = axis; i < b->n; i++) {
    b->dim[i] = b->dim[i + 1];
    b->from[i] = b->from[i + 1];
    b->to[i] = b->to[i + 1];
  }
}

static void simplify(cpu_box *b) {
  for (int i = b->n - 1; i >= 0; i--)
    if (b->dim[i] == 1) drop_axis(b, i);
  for (int i = b->n - 2; i >= 0; i--) {
    ptrdiff_t n = (ptrdiff_t)b->dim[i + 1];
    if (b->from[i] != b->from[i + 1] * n || b->to[i] != b->to[i + 1] * n) continue;
    b->dim[i + 1] *= b->dim[i];
    drop_axis(b, i);
  }
  if (b->n && b->from[b->n - 1] == (ptrdiff_t)b->unit && b->to[b->n - 1] == (ptrdiff_t)b->unit) {
    b->unit *= b->dim[b->n - 1];
    b->n--;
  }
}

static bool is_short(size_t unit) { return unit == 1 || unit == 2 || unit == 4 || unit == 8; }

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* Square, unless an axis is shorter: then the other side is longer. */
static void set_tile(cpu_box *b, int a) {
  size_t side = b->unit == 1 ? 2 * SIDE : b->unit == 8 ? SIDE / 2 : SIDE, elements = TILE_BYTES / b->unit;
  b->tile_b = min(b->dim[a + 1], side);
  b->tile_a = min(b->dim[a], b->tile_b < side ? elements / b->tile_b : side);
  if (b->tile_a < side) b->tile_b = min(b->dim[a + 1], elements / b->tile_a);
}

/* Moves the axis that is contiguous in the source next to the last, if both allow tiles. */
static void find_tiles(cpu_box *b) {
  int last = b->n - 1;
  if (b->n < 2 || !is_short(b->unit) || b->to[last] != (ptrdiff_t)b->unit) return;
  for (int a = 0; a < last; a++) {
    if (b->from[a] != (ptrdiff_t)b->unit) continue;
    cpu_box moved = *b;
    for (int i = a; i < last - 1; i++) {
      moved.dim[i] = b->dim[i + 1];
      moved.from[i] = b->from[i + 1];
      moved.to[i] = b->to[i + 1];
    }
    moved.dim[last - 1] = b->dim[a];
    moved.from[last - 1] = b->from[a];
    moved.to[last - 1] = b->to[a];
    moved.tiled = true;
    set_tile(&moved, last - 1);
    *b = moved;
    return;
  }
}

void cpu_moves_add(cpu_moves *m, cpu_box box) {
  for (int i = 0; i < box.n; i++)
    if (box.dim[i] == 0) return;
  simplify(&box);
  find_tiles(&box);
  if (m->n < m->cap) m->v[m->n++] = box;
}

/* ---- running ---- */

typedef struct move_work {
  const cpu_box *box;
  const cpu_move_table *table;
  const unsigned char *from;
  unsigned char *to;
} move_work;

/* The offsets of the element numbered `at` among the first n axes; walk_next advances them. */
typedef struct walk {
  size_t index[CPU_BOX_RANK];
  ptrdiff_t from, to;
} walk;

static walk walk_at(const cpu_box *b, int n, size_t at) {
  walk w = {.from = 0, .to = 0};
  for (int i = n - 1; i >= 0; i--) {
    w.index[i] = at % b->dim[i];
    at /= b->dim[i];
    w.from += (ptrdiff_t)w.index[i] * b->from[i];
    w.to += (ptrdiff_t)w.index[i] * b->to[i];
  }
  return w;
}

static void walk_next(const cpu_box *b, int n, walk *w) {
  for (int i = n - 1; i >= 0; i--) {
    w->from += b->from[i];
    w->to += b->to[i];
    if (++w->index[i] < b->dim[i]) return;
    w->index[i] = 0;
    w->from -= (ptrdiff_t)b->dim[i] * b->from[i];
    w->to -= (ptrdiff_t)b->dim[i] * b->to[i];
  }
}

static size_t count_axes(const cpu_box *b, int n) {
  size_t count = 1;
  for (int i = 0; i < n; i++) count *= b->dim[i];
  return count;
}

/* Long elements; the range counts bytes. */
static void move_long(void *user, size_t begin, size_t end, unsigned thread) {
  const move_work *m = user;
  const cpu_box *b = m->box;
  (void)thread;
  walk w = walk_at(b, b->n, begin / b->unit);
  size_t skip = begin % b->unit;
  for (size_t at = begin; at < end; walk_next(b, b->n, &w), skip = 0) {
    size_t bytes = b->unit - skip < end - at ? b->unit - skip : end - at;
    memcpy(m->to + w.to + skip, m->from + w.from + skip, bytes);
    at += bytes;
  }
}

#define MOVE_ROW(T)                                                                                              \
  static void move_row_##T(const unsigned char *from, ptrdiff_t from_step, unsigned char *to, ptrdiff_t to_step, \
                           size_t n) {                                                                           \
    T x;                                                                                                         \
    if (from_step == 0 && to_step == (ptrdiff_t)sizeof(T)) {                                                     \
      memcpy(&x, from, sizeof x);                                                                                \
      for (size_t i = 0; i < n; i++) memcpy(to + i * sizeof x, &x, sizeof x);                                    \
      return;                                                                                                    \
    }                                                                                                            \
    for (size_t i = 0; i < n; i++, from += from_step, to += to_step) {                                           \
      memcpy(&x, from, sizeof x);                                                                                \
      memcpy(to, &x, sizeof x);                                                                                  \
    }                                                                                                            \
  }
MOVE_ROW(uint8_t)
MOVE_ROW(uint16_t)
MOVE_ROW(uint32_t)
MOVE_ROW(uint64_t)
#undef MOVE_ROW

static void move_row(size_t unit, const unsigned char *from, ptrdiff_t from_step, unsigned char *to, ptrdiff_t to_step,
                     size_t n) {
  if (unit == 4) move_row_uint32_t(from, from_step, to, to_step, n);
  else if (unit == 2) move_row_uint16_t(from, from_step, to, to_step, n);
  else if (unit == 8) move_row_uint64_t(from, from_step, to, to_step, n);
  else move_row_uint8_t(from, from_step, to, to_step, n);
}

/* Short elements one by one; the range counts elements. */
static void move_short(void *user, size_t begin, size_t end, unsigned thread) {
  const move_work *m = user;
  const cpu_box *b = m->box;
  (void)thread;
  int last = b->n - 1;
  size_t row = b->dim[last], skip = begin % row;
  walk w = walk_at(b, last, begin / row);
  for (size_t at = begin; at < end; walk_next(b, last, &w), skip = 0) {
    size_t n = row - skip < end - at ? row - skip : end - at;
    move_row(b->unit, m->from + w.from + (ptrdiff_t)skip * b->from[last], b->from[last],
             m->to + w.to + (ptrdiff_t)skip * b->to[last], b->to[last], n);
    at += n;
  }
}

static size_t count_parts(size_t n, size_t of) { return (n - 1) / of + 1; }

typedef struct tile {
  const unsigned char *from;
  unsigned char *to;
  size_t n_a, n_b;
} tile;

static tile tile_at(const move_work *m, size_t at) {
  const cpu_box *b = m->box;
  int a = b->n - 2;
  size_t n_a = b->dim[a], n_b = b->dim[a + 1], across = count_parts(n_b, b->tile_b);
  size_t per_plane = count_parts(n_a, b->tile_a) * across;
  walk w = walk_at(b, a, at / per_plane);
  size_t at_a = at % per_plane / across * b->tile_a, at_b = at % per_plane % across * b->tile_b;
  return (tile){m->from + w.from + (ptrdiff_t)at_a * b->from[a] + (ptrdiff_t)at_b * b->from[a + 1],
                m->to + w.to + (ptrdiff_t)at_a * b->to[a] + (ptrdiff_t)at_b * b->to[a + 1], min(n_a - at_a, b->tile_a),
                min(n_b - at_b, b->tile_b)};
}

/* Rows that are a multiple of this apart map to so few cache sets that they evict one another. */
static bool shares_sets(ptrdiff_t step) { return step % 1024 == 0; }

/* The range counts tiles. */
static void move_tiled(void *user, size_t begin, size_t end, unsigned thread) {
  const move_work *m = user;
  const cpu_box *b = m->box;
  (void)thread;
  _Alignas(64) unsigned char buffer[TILE_BYTES];
  int size = b->unit == 1 ? 0 : b->unit == 2 ? 1 : b->unit == 4 ? 2 : 3;
  ptrdiff_t from_step = b->from[b->n - 1], to_step = b->to[b->n - 2];
  bool direct = m->table->whole_lines[size] || !shares_sets(to_step);
  for (size_t at = begin; at < end; at++) {
    tile t = tile_at(m, at);
    if (direct || t.n_a < 16 || t.n_b < 16) {
      m->table->tile[size](t.from, from_step, t.to, to_step, t.n_a, t.n_b);
      continue;
    }
    size_t row = t.n_b * b->unit;
    m->table->tile[size](t.from, from_step, buffer, (ptrdiff_t)row, t.n_a, t.n_b);
    for (size_t i = 0; i < t.n_a; i++) memcpy(t.to + (ptrdiff_t)i * to_step, buffer + i * row, row);
  }
}

static void run_box(rlx_pool *pool, const cpu_box *b, move_work *m) {
  const double byte_ns = 0.1;
  if (b->tiled) {
    size_t n =
      count_axes(b, b->n - 2) * count_parts(b->dim[b->n - 2], b->tile_a) * count_parts(b->dim[b->n - 1], b->tile_b);
    size_t bytes = b->unit * count_axes(b, b->n);
    cpu_parallel(pool, n, cpu_grain(n, 2 * byte_ns * (double)bytes / (double)n), move_tiled, m);
  } else if (b->n && is_short(b->unit)) {
    size_t n = count_axes(b, b->n);
    cpu_parallel(pool, n, cpu_grain(n, 0.5), move_short, m);
  } else {
    size_t n = b->unit * count_axes(b, b->n);
    cpu_parallel(pool, n, cpu_grain(n, byte_ns), move_long, m);
  }
}

rlx_status cpu_moves_run(const cpu_call *c) {
  const cpu_moves *all = c->prepared;
  for (size_t i = 0; i < all->n; i++) {
    const cpu_box *b = &all->v[i];
    const unsigned char *from = b->input == CPU_BOX_FILL ? all->fill : c->in[b->input];
    move_work m = {b, cpu_move(c->isa), from + b->from_at, (unsigned char *)c->out + b->to_at};
    run_box(c->pool, b, &m);
  }
  return RLX_OK;
}

void cpu_copy_long(void *dst, const void *src, size_t bytes) {
  for (size_t at = 0; at < bytes && !cpu_stops(); at += CPU_LONG_COPY) {
    size_t n = bytes - at < CPU_LONG_COPY ? bytes - at : CPU_LONG_COPY;
    memcpy((unsigned char *)dst + at, (const unsigned char *)src + at, n);
  }
}

typedef struct bytes_work {
  const unsigned char *src;
  unsigned char *dst;
} bytes_work;

static void move_bytes(void *user, size_t begin, size_t end, unsigned thread) {
  const bytes_work *w = user;
  (void)thread;
  memcpy(w->dst + begin, w->src + begin, end - begin);
}

void cpu_move_bytes(rlx_pool *pool, const void *src, void *dst, size_t bytes) {
  bytes_work w = {src, dst};
  if (src != dst) cpu_parallel(pool, bytes, cpu_grain(bytes, 0.1), move_bytes, &w);
}
