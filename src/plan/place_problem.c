/* The placement problem in the solver's terms.
 *
 * Time: only which items are live together matters. Going through starts and ends in order of time, the set of live
 * items is maximal just before an end that follows a start. Each such moment becomes a section, and an item's lifetime
 * a range of sections. There are at most n of them, however long the times are.
 *
 * Bytes: sizes are padded to the alignment and divided by their greatest common divisor. That loses nothing, because a
 * placement can always be pushed down until every offset is a sum of sizes. It shows the search how little freedom
 * there is: a capacity between two multiples is equivalent to the lower one.
 *
 * All checks of the caller's numbers are here. The sum of all sizes is kept below 2^63, so no sum of sizes, offsets and
 * loads can overflow in the solver. */
#include <string.h>

#include "base/mem.h"
#include "plan/place.h"

void rlx_place_sort(const uint64_t *keys, uint32_t *order, uint32_t *scratch, uint32_t n) {
  if (n == 0) return;
  /* An LSD radix sort by bytes. Bytes in which all keys agree need no pass. */
  uint64_t differing = 0;
  for (uint32_t i = 1; i < n; i++) differing |= keys[order[i]] ^ keys[order[0]];
  uint32_t *in = order, *out = scratch;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    if ((differing >> shift & 255) == 0) continue;
    uint32_t start[257] = {0};
    for (uint32_t i = 0; i < n; i++) start[(keys[in[i]] >> shift & 255) + 1]++;
    for (int b = 0; b < 256; b++) start[b + 1] += start[b];
    for (uint32_t i = 0; i < n; i++) out[start[keys[in[i]] >> shift & 255]++] = in[i];
    uint32_t *swap = in;
    in = out;
    out = swap;
  }
  if (in != order) memcpy(order, in, n * sizeof *order);
}

static uint64_t gcd(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Checks one item and pads its size; 0 for an empty item. */
static rlx_status item_size(const rlx_place_item *item, size_t at, uint64_t align, uint64_t *size) {
  if (item->lower > item->upper)
    return RLX_FAIL(RLX_INVALID, "item %zu: expected lower <= upper, got lower %lld and upper %lld", at,
                    (long long)item->lower, (long long)item->upper);
  *size = 0;
  if (item->lower == item->upper) return RLX_OK;
  uint64_t pad = item->bytes % align ? align - item->bytes % align : 0;
  if (item->bytes > INT64_MAX || pad > INT64_MAX - item->bytes)
    return RLX_FAIL(RLX_UNSUPPORTED, "item %zu: %llu bytes, aligned to %llu, are 2^63 or more", at,
                    (unsigned long long)item->bytes, (unsigned long long)align);
  *size = item->bytes + pad;
  return RLX_OK;
}

/* Counts the non-empty items and computes the unit. */
static rlx_status count_items(place_problem *p, const rlx_place_item *items, size_t n, uint64_t align) {
  uint64_t sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t size;
    RLX_TRY(item_size(&items[i], i, align, &size));
    if (size == 0) continue;
    if (size > INT64_MAX - sum)
      return RLX_FAIL(RLX_UNSUPPORTED, "item %zu: the items up to here take 2^63 bytes or more together", i);
    sum += size;
    p->unit = gcd(p->unit, size);
    count++;
  }
  if (count > INT32_MAX) return RLX_FAIL(RLX_UNSUPPORTED, "%zu items to place; at most 2^31 - 1 are supported", count);
  p->n = (uint32_t)count;
  return RLX_OK;
}

static rlx_status allocate(place_problem *p) {
  p->from = rlx_mem_calloc(p->n, sizeof *p->from);
  p->to = rlx_mem_calloc(p->n, sizeof *p->to);
  p->size = rlx_mem_calloc(p->n, sizeof *p->size);
  p->origin = rlx_mem_calloc(p->n, sizeof *p->origin);
  p->load = rlx_mem_calloc(p->n, sizeof *p->load);
  p->parts = rlx_mem_calloc(p->n, sizeof *p->parts);
  bool ok = p->from && p->to && p->size && p->origin && p->load && p->parts;
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "placement of %u items", (unsigned)p->n);
}

/* Temporary data for computing the sections: by item in order of start. */
typedef struct times {
  uint64_t *lower, *upper; /* biased, so that unsigned order is signed order */
  uint32_t *order, *scratch;
} times;

static uint64_t biased(int64_t t) { return (uint64_t)t ^ (uint64_t)1 << 63; }

/* The items in order of start (then of the caller's). */
static rlx_status take_items(place_problem *p, times *ts, const rlx_place_item *items, size_t n, uint64_t align) {
  uint32_t at = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t size;
    RLX_TRY(item_size(&items[i], i, align, &size));
    if (size == 0) continue;
    if (i > UINT32_MAX) return RLX_FAIL(RLX_UNSUPPORTED, "item %zu; indices of 2^32 or more are not supported", i);
    ts->upper[at] = biased(items[i].lower); /* used as the sort key until the order is known */
    ts->order[at] = at;
    p->to[at++] = (uint32_t)i;
  }
  rlx_place_sort(ts->upper, ts->order, ts->scratch, p->n);
  for (uint32_t i = 0; i < p->n; i++) p->origin[i] = p->to[ts->order[i]];
  for (uint32_t i = 0; i < p->n; i++) {
    const rlx_place_item *item = &items[p->origin[i]];
    RLX_TRY(item_size(item, p->origin[i], align, &p->size[i]));
    p->size[i] /= p->unit;
    ts->lower[i] = biased(item->lower);
    ts->upper[i] = biased(item->upper);
    ts->order[i] = i;
  }
  rlx_place_sort(ts->upper, ts->order, ts->scratch, p->n);
  return RLX_OK;
}

/* A section ends at an end event that follows a start. */
static void find_sections(place_problem *p, const times *ts) {
  uint32_t started = 0, section = 0;
  bool is_open = false;
  for (uint32_t e = 0; e < p->n; e++) {
    uint32_t ending = ts->order[e];
    for (; started < p->n && ts->lower[started] < ts->upper[ending]; started++) {
      p->from[started] = section;
      is_open = true;
    }
    section += is_open;
    is_open = false;
    p->to[ending] = section;
  }
  p->n_sections = section;
}

/* Loads by differences: sizes that begin in a section less those that ended before it. Unsigned intermediate sums may
 * wrap; the result is correct. */
static void find_loads_and_parts(place_problem *p) {
  for (uint32_t i = 0; i < p->n; i++) {
    p->load[p->from[i]] += p->size[i];
    if (p->to[i] < p->n_sections) p->load[p->to[i]] -= p->size[i];
  }
  for (uint32_t s = 1; s < p->n_sections; s++) p->load[s] += p->load[s - 1];
  for (uint32_t i = 0, reach = 0; i < p->n; i++) {
    if (i == 0 || p->from[i] >= reach) p->parts[p->n_parts++] = (place_part){.first = i, .first_section = p->from[i]};
    if (p->to[i] > reach) reach = p->to[i];
    place_part *part = &p->parts[p->n_parts - 1];
    part->last = i + 1;
    part->last_section = reach;
  }
  for (uint32_t k = 0; k < p->n_parts; k++) {
    place_part *part = &p->parts[k];
    for (uint32_t s = part->first_section; s < part->last_section; s++)
      if (p->load[s] > part->bound) part->bound = p->load[s];
    if (part->bound > p->bound) p->bound = part->bound;
  }
}

rlx_status rlx_place_problem_init(place_problem *p, const rlx_place_item *items, size_t n, uint64_t align) {
  *p = (place_problem){0};
  RLX_TRY(count_items(p, items, n, align));
  rlx_status s = allocate(p);
  times ts = {rlx_mem_calloc(p->n, sizeof *ts.lower), rlx_mem_calloc(p->n, sizeof *ts.upper),
              rlx_mem_calloc(p->n, sizeof *ts.order), rlx_mem_calloc(p->n, sizeof *ts.scratch)};
  if (!s && !(ts.lower && ts.upper && ts.order && ts.scratch))
    s = RLX_FAIL(RLX_NO_MEMORY, "times of %u items", (unsigned)p->n);
  if (!s) s = take_items(p, &ts, items, n, align);
  if (!s) {
    find_sections(p, &ts);
    find_loads_and_parts(p);
  }
  rlx_mem_free(ts.lower);
  rlx_mem_free(ts.upper);
  rlx_mem_free(ts.order);
  rlx_mem_free(ts.scratch);
  if (s) rlx_place_problem_deinit(p);
  return s;
}

void rlx_place_problem_deinit(place_problem *p) {
  rlx_mem_free(p->from);
  rlx_mem_free(p->to);
  rlx_mem_free(p->size);
  rlx_mem_free(p->origin);
  rlx_mem_free(p->load);
  rlx_mem_free(p->parts);
  *p = (place_problem){0};
}

uint64_t rlx_place_part_peak(const place_problem *p, const place_part *part, const uint64_t *offsets) {
  uint64_t peak = 0;
  for (uint32_t i = part->first; i < part->last; i++)
    if (offsets[i] + p->size[i] > peak) peak = offsets[i] + p->size[i];
  return peak;
}

rlx_status rlx_place_lower_bound(const rlx_place_item *items, size_t n, uint64_t align, uint64_t *out) {
  if (!out || (!items && n > 0))
    return RLX_FAIL(RLX_INVALID, "rlx_place_lower_bound: expected items and a result, got NULL");
  place_problem p;
  RLX_TRY(rlx_place_problem_init(&p, items, n, align ? align : 1));
  *out = p.bound * p.unit;
  rlx_place_problem_deinit(&p);
  return RLX_OK;
}
