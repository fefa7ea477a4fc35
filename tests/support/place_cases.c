/* Generators of the problems of place_cases.h. Two methods guarantee a sufficient capacity: cutting a full rectangle,
 * and recording what an allocator of that capacity served. The offsets are dropped; the problem is to find some
 * again. */
#include "place_cases.h"

#include "base/array.h"
#include "conform/values.h"

/* ---- cuts ---- */

typedef struct piece {
  uint64_t from, to, low, high; /* time on the x axis, address on the y axis */
} piece;

typedef struct cutter {
  RLX_ARRAY(piece) pieces;
  uint64_t state;
  uint64_t grain; /* cuts along the addresses fall on multiples of this */
} cutter;

/* Strictly between a and b on a multiple of grain; a + grain < b. */
static uint64_t between(cutter *c, uint64_t a, uint64_t b, uint64_t grain) {
  return a + grain * (1 + rlx_random_below(&c->state, (b - a) / grain - 1));
}

static bool push(cutter *c, uint64_t from, uint64_t to, uint64_t low, uint64_t high) {
  piece p = {from, to, low, high};
  return rlx_array_push(&c->pieces, p);
}

/* Replaces rectangle `at` by two, or by five around a middle one; leaves it if it is too small. */
static bool cut(cutter *c, size_t at, unsigned spirals_of_100) {
  piece p = c->pieces.v[at];
  uint64_t width = p.to - p.from, rows = (p.high - p.low) / c->grain;
  if (width >= 3 && rows >= 3 && rlx_random_below(&c->state, 100) < spirals_of_100) {
    uint64_t a = between(c, p.from, p.to - 1, 1), b = between(c, a, p.to, 1);
    uint64_t y = between(c, p.low, p.high - c->grain, c->grain), z = between(c, y, p.high, c->grain);
    c->pieces.v[at] = (piece){a, b, y, z};
    return push(c, p.from, b, p.low, y) && push(c, b, p.to, p.low, z) && push(c, a, p.to, z, p.high) &&
           push(c, p.from, a, y, p.high);
  }
  bool along = rlx_random_below(&c->state, 2) == 0;
  if (along ? rows < 2 : width < 2) along = !along;
  if (along ? rows < 2 : width < 2) return true;
  if (along) {
    uint64_t y = between(c, p.low, p.high, c->grain);
    c->pieces.v[at].high = y;
    return push(c, p.from, p.to, y, p.high);
  }
  uint64_t x = between(c, p.from, p.to, 1);
  c->pieces.v[at].to = x;
  return push(c, x, p.to, p.low, p.high);
}

/* Larger rectangles are cut sooner: the larger of two random ones. */
static bool cut_all(cutter *c, size_t n, uint64_t times, uint64_t bytes, unsigned spirals_of_100) {
  if (!push(c, 0, times, 0, bytes)) return false;
  for (size_t tries = 0; c->pieces.n < n && tries < 50 * n; tries++) {
    size_t a = rlx_random_below(&c->state, c->pieces.n), b = rlx_random_below(&c->state, c->pieces.n);
    const piece *p = &c->pieces.v[a], *q = &c->pieces.v[b];
    bool a_is_larger = (p->to - p->from) * (p->high - p->low) > (q->to - q->from) * (q->high - q->low);
    if (!cut(c, a_is_larger ? a : b, spirals_of_100)) return false;
  }
  return true;
}

/* The rectangles as items, in random order, so that the order does not reveal the cuts. */
static rlx_status give(cutter *c, bool made, uint64_t capacity, place_case *out) {
  *out = (place_case){.capacity = capacity};
  if (made) out->items = rlx_mem_calloc(c->pieces.n, sizeof *out->items);
  for (size_t i = 0; out->items && i < c->pieces.n; i++) {
    size_t j = rlx_random_below(&c->state, i + 1);
    out->items[i] = out->items[j];
    const piece *p = &c->pieces.v[i];
    out->items[j] = (rlx_place_item){(int64_t)p->from, (int64_t)p->to, p->high - p->low};
  }
  if (out->items) out->n = c->pieces.n;
  rlx_array_deinit(&c->pieces);
  return out->items ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "placement case");
}

static rlx_status make_cuts(uint64_t seed, size_t n, uint64_t times, uint64_t rows, place_case *out) {
  enum { GRAIN = 256 };
  cutter c = {.state = seed, .grain = GRAIN};
  unsigned spirals_of_100 = (unsigned)rlx_random_below(&c.state, 40);
  bool made = cut_all(&c, n, times, rows * GRAIN, spirals_of_100);
  return give(&c, made, rows * GRAIN, out);
}

rlx_status place_case_cuts(uint64_t seed, size_t n, place_case *out) { return make_cuts(seed, n, n, 4096, out); }

rlx_status place_case_grid(uint64_t seed, size_t n, place_case *out) { return make_cuts(seed, n, 24, 64, out); }

rlx_status place_case_frayed(uint64_t seed, size_t n, place_case *out) {
  RLX_TRY(place_case_cuts(seed, n + n / 20, out));
  uint64_t state = ~seed;
  size_t n_kept = 0;
  for (size_t i = 0; i < out->n; i++) {
    rlx_place_item item = out->items[i];
    uint64_t length = (uint64_t)(item.upper - item.lower), what = rlx_random_below(&state, 100);
    if (what < 2) continue;
    if (what < 30 && length > 4) item.lower += 1 + (int64_t)rlx_random_below(&state, length / 4);
    else if (what < 60 && length > 4) item.upper -= 1 + (int64_t)rlx_random_below(&state, length / 4);
    else if (what < 70 && item.bytes > 4096) item.bytes -= 256 * rlx_random_below(&state, item.bytes / 4096);
    out->items[n_kept++] = item;
  }
  out->n = n_kept;
  return RLX_OK;
}

/* ---- memory of a machine that works on tiles ---- */

/* Replaces rectangle `at` by bands, each cut across: bricks of length `period`, every second band shifted (double
 * buffers); or stairs, one cut per band and later than in the band below it (prefetched data against data still in
 * use). */
static bool cut_bands(cutter *c, size_t at, uint64_t n_bands, uint64_t period, bool stairs) {
  piece p = c->pieces.v[at];
  uint64_t rows = (p.high - p.low) / c->grain, width = p.to - p.from;
  if (n_bands > rows) n_bands = rows;
  for (uint64_t k = 0; k < n_bands; k++) {
    uint64_t low = p.low + rows * k / n_bands * c->grain, high = p.low + rows * (k + 1) / n_bands * c->grain;
    uint64_t from = p.from,
             next = stairs ? p.from + width * (k + 1) / (n_bands + 1) : p.from + period * (1 + k % 2) / 2;
    for (bool first = k == 0; from < p.to; from = next, next = stairs ? p.to : next + period, first = false) {
      if (next > p.to || next <= from) next = p.to;
      if (first) c->pieces.v[at] = (piece){from, next, low, high};
      else if (!push(c, from, next, low, high)) return false;
    }
  }
  return true;
}

/* A large rectangle becomes a loop over tiles, stairs, or a buffer of a size class beside the rest. */
static bool cut_as_program(cutter *c, size_t at) {
  piece p = c->pieces.v[at];
  uint64_t rows = (p.high - p.low) / c->grain, width = p.to - p.from, what = rlx_random_below(&c->state, 10);
  if (what < 2 && width >= 8 && rows >= 4) {
    uint64_t period = 2 + 2 * rlx_random_below(&c->state, width / 6 + 1), n_bands = 2 + rlx_random_below(&c->state, 3);
    return cut_bands(c, at, n_bands, period, false);
  }
  if (what < 4 && width >= 6 && rows >= 4) return cut_bands(c, at, 3 + rlx_random_below(&c->state, 3), 0, true);
  if (what < 7 && rows >= 4) {
    uint64_t share = rows >> (1 + rlx_random_below(&c->state, 3)); /* a half, a quarter, an eighth */
    if (share == 0) share = 1;
    bool below = rlx_random_below(&c->state, 2) == 0;
    uint64_t y = below ? p.low + share * c->grain : p.high - share * c->grain;
    c->pieces.v[at].high = y;
    return push(c, p.from, p.to, y, p.high);
  }
  return cut(c, at, 30);
}

static rlx_status make_program(uint64_t seed, size_t n, uint64_t loss_of_100, place_case *out) {
  enum { GRAIN = 1024, ROWS = 1024 };
  cutter c = {.state = seed, .grain = GRAIN};
  bool made = push(&c, 0, n / 3 + 8, 0, (uint64_t)ROWS * GRAIN);
  for (size_t tries = 0; made && c.pieces.n < n && tries < 50 * n; tries++) {
    size_t a = rlx_random_below(&c.state, c.pieces.n), b = rlx_random_below(&c.state, c.pieces.n);
    const piece *p = &c.pieces.v[a], *q = &c.pieces.v[b];
    bool a_is_larger = (p->to - p->from) * (p->high - p->low) > (q->to - q->from) * (q->high - q->low);
    made = cut_as_program(&c, a_is_larger ? a : b);
  }
  /* Losses: some rectangles, and a little of the bytes or time of others. */
  size_t n_kept = 0;
  for (size_t i = 0; i < c.pieces.n; i++) {
    piece p = c.pieces.v[i];
    bool loses = rlx_random_below(&c.state, 100) < 4 * loss_of_100;
    uint64_t what = rlx_random_below(&c.state, 8), width = p.to - p.from, rows = (p.high - p.low) / GRAIN;
    if (loses && what == 0 && width * rows < 64) continue;
    if (loses && what < 4 && rows >= 4) p.high -= GRAIN * (1 + rlx_random_below(&c.state, rows / 4));
    else if (loses && what < 6 && width >= 4) p.from += 1 + rlx_random_below(&c.state, width / 4);
    else if (loses && width >= 4) p.to -= 1 + rlx_random_below(&c.state, width / 4);
    c.pieces.v[n_kept++] = p;
  }
  c.pieces.n = n_kept;
  return give(&c, made, (uint64_t)ROWS * GRAIN, out);
}

rlx_status place_case_program(uint64_t seed, size_t n, place_case *out) { return make_program(seed, n, 0, out); }

rlx_status place_case_trace(uint64_t seed, size_t n, place_case *out) {
  return make_program(seed, n + n / 50, 2 + seed % 9, out);
}

/* ---- trace of an allocator ---- */

/* One memory, its live blocks by address; dead blocks are appended to the cutter's rectangles. */
typedef struct memory {
  cutter c;
  RLX_ARRAY(piece) live; /* `to`: when it dies */
  uint64_t capacity, now;
} memory;

static bool pass_time(memory *m) {
  m->now++;
  size_t n_kept = 0;
  bool ok = true;
  for (size_t i = 0; i < m->live.n; i++) {
    if (m->live.v[i].to > m->now) m->live.v[n_kept++] = m->live.v[i];
    else ok = ok && push(&m->c, m->live.v[i].from, m->now, m->live.v[i].low, m->live.v[i].high);
  }
  m->live.n = n_kept;
  return ok;
}

/* Allocates from the first gap that is large enough, from the last, or from a random one. False: the test ran out of
 * memory; otherwise *served says whether there was such a gap. */
static bool take(memory *m, uint64_t bytes, uint64_t life, bool *served) {
  size_t n = m->live.n, at = n + 1, n_gaps = 0, policy = rlx_random_below(&m->c.state, 3);
  *served = false;
  for (size_t i = 0; i <= n; i++) {
    uint64_t low = i ? m->live.v[i - 1].high : 0, high = i < n ? m->live.v[i].low : m->capacity;
    if (high - low < bytes) continue;
    n_gaps++;
    if (policy == 0 ? n_gaps == 1 : policy == 1 || rlx_random_below(&m->c.state, n_gaps) == 0) at = i;
  }
  if (at > n) return true;
  uint64_t low = at ? m->live.v[at - 1].high : 0, high = at < n ? m->live.v[at].low : m->capacity;
  if (policy == 1) low = high - bytes;
  piece p = {m->now, m->now + life, low, low + bytes};
  if (!rlx_array_push(&m->live, p)) return false;
  for (size_t i = m->live.n - 1; i > at; i--) m->live.v[i] = m->live.v[i - 1];
  m->live.v[at] = p;
  *served = true;
  return true;
}

static rlx_status record(memory *m, bool ok, place_case *out) {
  while (ok && m->live.n > 0) ok = pass_time(m);
  rlx_array_deinit(&m->live);
  return give(&m->c, ok, m->capacity, out);
}

rlx_status place_case_allocator(uint64_t seed, size_t n, place_case *out) {
  enum { N_SIZES = 6 };
  memory m = {.c = {.state = seed}, .capacity = 1u << 20};
  uint64_t sizes[N_SIZES];
  for (int i = 0; i < N_SIZES; i++) sizes[i] = 512 * (1 + rlx_random_below(&m.c.state, 16u << i));
  bool ok = true, served;
  while (ok && m.c.pieces.n + m.live.n < n) {
    /* From the largest size to the smallest, which fills the remains of gaps. */
    for (int i = N_SIZES - 1; ok && i >= 0; i--) {
      for (served = true; ok && served && m.c.pieces.n + m.live.n < n;) {
        uint64_t life = 1 + rlx_random_below(&m.c.state, 8);
        if (rlx_random_below(&m.c.state, 10) == 0) life *= 8;
        ok = take(&m, sizes[i], life, &served);
      }
    }
    ok = ok && pass_time(&m);
  }
  return record(&m, ok, out);
}

rlx_status place_case_tiles(uint64_t seed, size_t n, place_case *out) {
  memory m = {.c = {.state = seed}, .capacity = 1u << 20};
  bool ok = true, served;
  while (ok && m.c.pieces.n + m.live.n < n) {
    uint64_t n_tiles = 2 + rlx_random_below(&m.c.state, 6), tile = 1024 * (4 + rlx_random_below(&m.c.state, 60));
    uint64_t weight = 512 * (1 + rlx_random_below(&m.c.state, 64)), skip = rlx_random_below(&m.c.state, 3);
    if (skip == 0) ok = take(&m, tile / 2, n_tiles * (2 + rlx_random_below(&m.c.state, 6)), &served);
    ok = ok && take(&m, weight, n_tiles + 2, &served);
    for (uint64_t t = 0; ok && t < n_tiles; t++) {
      ok = take(&m, tile, 2, &served) && take(&m, tile / 4 * 3, 3, &served) && pass_time(&m);
      /* Small values fill the rest. */
      for (served = true; ok && served;) ok = take(&m, 512 * (8 + t), 1 + rlx_random_below(&m.c.state, 5), &served);
    }
  }
  return record(&m, ok, out);
}

/* ---- big graphs ---- */

rlx_status place_case_network(uint64_t seed, size_t n, place_case *out) {
  uint64_t state = seed;
  *out = (place_case){.items = rlx_mem_calloc(n, sizeof *out->items), .n = n};
  if (!out->items) return RLX_FAIL(RLX_NO_MEMORY, "placement case");
  for (size_t i = 0; i < n; i++) {
    uint64_t what = rlx_random_below(&state, 1000);
    uint64_t life = 2 + rlx_random_below(&state, 4);
    if (what < 100) life = 8 + rlx_random_below(&state, 24);
    else if (what < 110) life = 1 + rlx_random_below(&state, 1 + n / 20);
    uint64_t bytes = 256 * (1 + rlx_random_below(&state, 64)) << rlx_random_below(&state, 6);
    int64_t lower = (int64_t)i;
    int64_t upper = lower + (int64_t)life < (int64_t)n ? lower + (int64_t)life : (int64_t)n;
    if (what >= 110 && what < 112) lower = 0, upper = (int64_t)n;
    out->items[i] = (rlx_place_item){lower, upper, bytes};
  }
  return RLX_OK;
}

void place_case_deinit(place_case *c) {
  rlx_mem_free(c->items);
  *c = (place_case){0};
}

const place_case_kind place_case_kinds[] = {
  {"cuts", place_case_cuts},       {"grid", place_case_grid},           {"frayed", place_case_frayed},
  {"tiles", place_case_tiles},     {"allocator", place_case_allocator}, {"network", place_case_network},
  {"program", place_case_program}, {"trace", place_case_trace},
};
const size_t n_place_case_kinds = sizeof place_case_kinds / sizeof *place_case_kinds;
