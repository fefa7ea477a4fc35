/* Ops that compare along an axis: argmax, argmin, top_k, sort, argsort.
 *
 * An element is mapped to a 32-bit key with the order of the op (NaN above all, -0 equal to 0, inverted for
 * descending). Key and position form a 64-bit integer. No two are equal, so any sort of them is stable. Long lists use
 * a radix sort over the bytes of the key; top_k of a long line keeps a heap of the k best instead. Each task sorts in
 * its own part of the work memory; the number of tasks depends on the size alone. */
#include "cpu/order.h"

#include <string.h>

#include "base/arith.h"
#include "cpu/move.h"
#include "ir/element.h"
#include "ir/walk.h"

enum { MAX_TASKS = 32, SHORT = 48, ARG_CHUNK = 1 << 20, LIST_CHUNK = 1 << 16 };

/* ---- argmax, argmin ---- */

typedef struct arg_work {
  const cpu_call *c;
  rlx_tensor x, out;
  rlx_lines lines;
  bool largest, is_float, in_vectors;
} arg_work;

/* Whether element a is better than the best so far, b. The first of equal values wins; NaN is better than any
 * number. */
static bool wins(const arg_work *w, size_t a, size_t b) {
  if (!w->is_float) {
    int64_t i = rlx_load_int(&w->x, a), j = rlx_load_int(&w->x, b);
    return w->largest ? i > j : i < j;
  }
  double f = rlx_load(&w->x, a), g = rlx_load(&w->x, b);
  return g == g && (f != f || (w->largest ? f > g : f < g));
}

/* The best of n elements from `at` on and of `best`, the best of those before. */
static size_t arg_chunk(const arg_work *w, size_t start, size_t at, size_t n, size_t best) {
  if (w->in_vectors) {
    const unsigned char *x = (const unsigned char *)w->x.data + (start + at) * rlx_dtype_size(w->x.dtype);
    size_t k = at + cpu_order(w->c->isa)->extreme(w->x.dtype, x, n, w->largest);
    return at == 0 || wins(w, start + k, start + best) ? k : best;
  }
  for (size_t k = at; k < at + n; k++)
    if (wins(w, start + k * w->lines.inner, start + best * w->lines.inner)) best = k;
  return best;
}

static void arg_lines(void *user, size_t begin, size_t end, unsigned thread) {
  arg_work *w = user;
  (void)thread;
  rlx_tensor out = w->out;
  size_t done = 0;
  for (size_t line = begin; line < end; line++) {
    size_t start = rlx_line_start(w->lines, line), best = 0;
    for (size_t at = 0, count; at < w->lines.n; at += count) {
      count = w->lines.n - at < ARG_CHUNK ? w->lines.n - at : ARG_CHUNK;
      if (cpu_stops_after(&done, w->in_vectors ? count / 4 : 4 * count)) return;
      best = arg_chunk(w, start, at, count, best);
    }
    rlx_store_int(&out, line, (int64_t)best);
  }
}

static rlx_status run_arg(const cpu_call *c) {
  const rlx_type *x = cpu_in_type(c, 0);
  bool largest = c->node->op == RLX_OP_argmax;
  arg_work w = {.c = c,
                .x = {.dtype = x->dtype, .const_data = c->in[0]},
                .out = {.dtype = c->node->type.dtype, .data = c->out},
                .lines = rlx_lines_of(&x->shape, largest ? RLX_ATTRS(argmax, c)->axis : RLX_ATTRS(argmin, c)->axis),
                .largest = largest,
                .is_float = rlx_dtype_is_float(x->dtype)};
  w.in_vectors = w.lines.inner == 1 && w.is_float && x->dtype != RLX_F64;
  size_t n = w.lines.outer * w.lines.inner;
  cpu_parallel(c->pool, n, cpu_grain(n, 5 + (w.in_vectors ? 0.1 : 3) * (double)w.lines.n), arg_lines, &w);
  return RLX_OK;
}

/* ---- sorting ---- */

typedef struct selection {
  int64_t axis;
  bool descending, positions; /* positions: the result holds positions, else values */
} selection;

static selection selection_of(const rlx_node_rec *n) {
  switch (n->op) {
    case RLX_OP_sort: return (selection){RLX_ATTRS(sort, n)->axis, RLX_ATTRS(sort, n)->descending, false};
    case RLX_OP_argsort: return (selection){RLX_ATTRS(argsort, n)->axis, RLX_ATTRS(argsort, n)->descending, true};
    case RLX_OP_top_k_values:
      return (selection){RLX_ATTRS(top_k_values, n)->axis, RLX_ATTRS(top_k_values, n)->largest, false};
    default: return (selection){RLX_ATTRS(top_k_indices, n)->axis, RLX_ATTRS(top_k_indices, n)->largest, true};
  }
}

static size_t count_tasks(size_t n_lines) { return n_lines < MAX_TASKS ? n_lines : MAX_TASKS; }

static bool claim_select(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  const rlx_type *x = &rlx_graph_at(q->graph, n->in[0])->type;
  if (rlx_dims_count(&x->shape) == 0) return true;
  rlx_lines l = rlx_lines_of(&x->shape, selection_of(n).axis);
  if (x->dtype == RLX_F64 || x->dtype == RLX_I64 || l.n > UINT32_MAX) {
    c->why = "64-bit elements are sorted by the reference";
    return false;
  }
  size_t work;
  if (!rlx_mul_size(count_tasks(l.outer * l.inner), l.n, &work) || !rlx_mul_size(work, 2 * sizeof(uint64_t), &work)) {
    c->why = "its lists would not fit in memory";
    return false;
  }
  c->work_bytes = work;
  return true;
}

#define KEYS(T, KEY)                                        \
  for (size_t k = 0; k < n; k++) {                          \
    T v = ((const T *)x)[k * step];                         \
    list[k] = (uint64_t)((KEY) ^ flip) << 32 | (first + k); \
  }

/* Entries of n elements; the first is element `first` of the line. */
static void make_list(rlx_dtype dtype, const void *x, size_t step, size_t first, size_t n, bool descending,
                      uint64_t *list) {
  uint32_t flip = descending ? UINT32_MAX : 0;
  switch (dtype) {
    case RLX_F32: KEYS(float, cpu_order_key(v)) break;
    case RLX_F16: KEYS(uint16_t, cpu_order_key(rlx_f16_to_f32(v))) break;
    case RLX_BF16: KEYS(uint16_t, cpu_order_key(rlx_bf16_to_f32(v))) break;
    case RLX_I8: KEYS(int8_t, (uint32_t)v ^ 0x80000000u) break;
    case RLX_I16: KEYS(int16_t, (uint32_t)v ^ 0x80000000u) break;
    case RLX_I32: KEYS(int32_t, (uint32_t)v ^ 0x80000000u) break;
    case RLX_U32: KEYS(uint32_t, v) break;
    default: KEYS(uint8_t, (uint32_t)v) break;
  }
}

static void sort_short(uint64_t *list, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t v = list[i];
    size_t k = i;
    for (; k > 0 && list[k - 1] > v; k--) list[k] = list[k - 1];
    list[k] = v;
  }
}

/* LSD radix sort by the bytes of the key. Positions ascend already, so only the key is sorted. A byte that is the same
 * in all entries is skipped. Returns the sorted list; NULL: stopped. */
static uint64_t *sort_long(uint64_t *list, uint64_t *spare, size_t n) {
  size_t done = 0;
  for (int shift = 32; shift < 64; shift += 8) {
    size_t count[257] = {0};
    for (size_t i = 0; i < n; i++) {
      count[(list[i] >> shift & 0xff) + 1]++;
      if (cpu_stops_after(&done, 1)) return NULL;
    }
    if (count[(list[0] >> shift & 0xff) + 1] == n) continue;
    for (int b = 0; b < 256; b++) count[b + 1] += count[b];
    for (size_t i = 0; i < n; i++) {
      spare[count[list[i] >> shift & 0xff]++] = list[i];
      if (cpu_stops_after(&done, 4)) return NULL;
    }
    uint64_t *sorted = spare;
    spare = list;
    list = sorted;
  }
  return list;
}

static uint64_t *sort_list(uint64_t *list, uint64_t *spare, size_t n) {
  if (n > SHORT) return sort_long(list, spare, n);
  sort_short(list, n);
  return list;
}

/* Replaces the largest entry, heap[0], by v and sifts it down. */
static void heap_replace(uint64_t *heap, size_t n, uint64_t v) {
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && heap[child + 1] > heap[child]) child++;
    if (heap[child] <= v) break;
    heap[at] = heap[child];
  }
  heap[at] = v;
}

uint64_t *cpu_order_smallest(uint64_t *list, uint64_t *spare, size_t n, size_t k) {
  if (k > n / 8) return sort_list(list, spare, n);
  uint64_t *heap = spare;
  size_t done = 0;
  for (size_t i = 0; i < k; i++) { /* builds the heap: sifts each entry up */
    size_t at = i;
    for (; at > 0 && heap[(at - 1) / 2] < list[i]; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = list[i];
    if (cpu_stops_after(&done, 16)) return NULL;
  }
  for (size_t i = k; i < n && k; i++) {
    bool enters = list[i] < heap[0];
    if (enters) heap_replace(heap, k, list[i]);
    if (cpu_stops_after(&done, enters ? 64 : 1)) return NULL;
  }
  for (size_t left = k; left > 1; left--) { /* heap sort: moves the largest to the end */
    uint64_t v = heap[left - 1];
    heap[left - 1] = heap[0];
    heap_replace(heap, left - 1, v);
    if (cpu_stops_after(&done, 64)) return NULL;
  }
  return heap;
}

typedef struct select_work {
  const cpu_call *c;
  selection how;
  rlx_lines from, to;
  rlx_dtype dtype;
  size_t size, grain;
} select_work;

static void select_lines(void *user, size_t begin, size_t end, unsigned thread) {
  const select_work *w = user;
  (void)thread;
  const unsigned char *x = w->c->in[0];
  rlx_tensor out = {.dtype = w->c->node->type.dtype, .data = w->c->out};
  size_t n = w->from.n;
  uint64_t *list = (uint64_t *)w->c->work + begin / w->grain * 2 * n;
  size_t done = 0;
  for (size_t line = begin; line < end; line++) {
    size_t start = rlx_line_start(w->from, line), to = rlx_line_start(w->to, line);
    for (size_t at = 0, count; at < n; at += count) {
      count = n - at < LIST_CHUNK ? n - at : LIST_CHUNK;
      if (cpu_stops_after(&done, 8 * count)) return;
      make_list(w->dtype, x + (start + at * w->from.inner) * w->size, w->from.inner, at, count, w->how.descending,
                list + at);
    }
    const uint64_t *best = cpu_order_smallest(list, list + n, n, w->to.n);
    if (!best) return;
    for (size_t k = 0; k < w->to.n; k++) {
      size_t at = to + k * w->to.inner, position = (uint32_t)best[k];
      if (w->how.positions) rlx_store_int(&out, at, (int64_t)position);
      else memcpy((unsigned char *)out.data + at * w->size, x + (start + position * w->from.inner) * w->size, w->size);
      if (cpu_stops_after(&done, 8)) return;
    }
  }
}

static rlx_status run_select(const cpu_call *c) {
  const rlx_type *x = cpu_in_type(c, 0);
  selection how = selection_of(c->node);
  select_work w = {.c = c,
                   .how = how,
                   .from = rlx_lines_of(&x->shape, how.axis),
                   .to = rlx_lines_of(&c->node->type.shape, how.axis),
                   .dtype = x->dtype,
                   .size = rlx_dtype_size(x->dtype)};
  size_t n = w.from.outer * w.from.inner, tasks = count_tasks(n);
  w.grain = (n - 1) / tasks + 1;
  /* A small amount of work is not worth a second thread. */
  if ((double)n * (double)w.from.n * 10 < 16000) w.grain = n;
  cpu_parallel(c->pool, n, w.grain, select_lines, &w);
  return RLX_OK;
}

const cpu_kernel cpu_arg_kernel = {.run = run_arg};
const cpu_kernel cpu_select_kernel = {.claim = claim_select, .run = run_select};
