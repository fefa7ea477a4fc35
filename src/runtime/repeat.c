/* Repeating: many runs in a row, each fed by the one before, and the outputs of all of them.
 *
 * A device with a queue of its own is not waited for between the runs. What a run puts out is copied, behind it and inside the
 * device, to a place of its own in a ring, before the feeds and the next run come; the host reads the ring when it is full
 * and at the end. So many runs cost one wait. Where something has to happen on the host between two runs (steps that it
 * computes, feeds that cross each other, someone who watches), and on devices that compute in the caller's thread, each run is
 * waited for and read as if it were the only one. */
#include <string.h>

#include "base/arith.h"
#include "runtime/executable.h"

enum { MAX_RING = 16 << 20 }; /* bytes, unless one run's outputs are more */

typedef struct taken { /* an output that is wanted */
  uint32_t output;
  size_t bytes;       /* of one run */
  uint64_t offset;    /* in a place of the ring */
  unsigned char *all; /* the caller's */
} taken;

typedef struct repeating {
  rlx_executable *e;
  uint32_t times;
  taken *outputs;
  size_t n;
  uint64_t place;  /* bytes of one run's outputs in the ring */
  uint32_t places; /* of the ring */
} repeating;

/* ---- what is asked for ---- */

static rlx_status describe_one(const repeating *r, rlx_named_tensor *out, taken *t) {
  rlx_executable *e = r->e;
  const rlx_graph *g = e->compiled->graph;
  t->output = rlx_result_find(e, out->name);
  const rlx_type *type = &rlx_graph_at(g, g->outputs.v[t->output].node)->type;
  size_t all;
  RLX_TRY_AT(rlx_tensor_bytes(type->dtype, type->shape, &t->bytes), "'%s'", out->name);
  if (!rlx_mul_size(t->bytes, r->times, &all))
    return RLX_FAIL(RLX_INVALID, "'%s' of %u runs is too large for this machine", out->name, (unsigned)r->times);
  if (out->tensor.bytes < all)
    return RLX_FAIL(RLX_INVALID, "'%s' has room for %zu bytes but %s%s of %u runs takes %zu", out->name,
                    out->tensor.bytes, rlx_dtype_name(type->dtype), RLX_DIMS_TEXT(type->shape), (unsigned)r->times,
                    all);
  if (all && !out->tensor.data) return RLX_FAIL(RLX_INVALID, "'%s' has no memory to read into", out->name);
  t->all = out->tensor.data;
  out->tensor = (rlx_tensor){type->dtype, type->shape, {out->tensor.data}, all};
  return RLX_OK;
}

/* ---- one by one ---- */

static rlx_status run_one(const repeating *r, uint32_t i) {
  rlx_executable *e = r->e;
  RLX_TRY(rlx_run_whole(e, NULL));
  for (size_t k = 0; k < r->n; k++) {
    const taken *t = &r->outputs[k];
    const rlx_type *type = &rlx_graph_at(e->now->compiled->graph, e->results[t->output].here)->type;
    const rlx_tensor to = {type->dtype, type->shape, {t->bytes ? t->all + i * t->bytes : t->all}, t->bytes};
    RLX_TRY(rlx_result_read(e, t->output, &to));
  }
  return rlx_feeds_run(e);
}

static rlx_status run_locked(const repeating *r) {
  for (uint32_t i = 0; i < r->times; i++)
    RLX_TRY_AT(run_one(r, i), "run %u of %u", (unsigned)i + 1, (unsigned)r->times);
  return RLX_OK;
}

/* ---- one behind the other ---- */

static const rlx_arena_entry *entry_of(const repeating *r, const taken *t) {
  return rlx_arena_get(r->e->now->arena, r->e->results[t->output].here);
}

static bool can_send(const repeating *r) {
  if (!rlx_steps_can_send(r->e) || !rlx_feeds_can_send(r->e)) return false;
  for (size_t k = 0; k < r->n; k++) {
    const rlx_arena_entry *at = entry_of(r, &r->outputs[k]);
    if (!at || at->layout || at->at.bytes != r->outputs[k].bytes) return false; /* a weight, packed */
  }
  return true;
}

/* Gives the outputs their places, and the ring its memory; it is kept for the next call. */
static rlx_status make_ring(repeating *r) {
  rlx_executable *e = r->e;
  uint64_t bytes;
  for (size_t k = 0; k < r->n; k++) {
    r->outputs[k].offset = r->place;
    if (r->outputs[k].bytes > UINT64_MAX / 4 - r->place) return RLX_FAIL(RLX_NO_MEMORY, "the outputs of a run");
    r->place += r->outputs[k].bytes;
  }
  r->places = r->times;
  if (r->place && r->places > MAX_RING / r->place) r->places = (uint32_t)(MAX_RING / r->place);
  if (!r->places) r->places = 1;
  bytes = r->place * r->places;
  if (!bytes || (e->ring && e->ring->bytes >= bytes)) return RLX_OK;
  rlx_block_pool_put(e->session->blocks, e->ring);
  e->ring = NULL;
  RLX_TRY_AT(rlx_block_pool_get(e->session->blocks, bytes, false, &e->ring), "the outputs of %u runs",
             (unsigned)r->places);
  return RLX_OK;
}

static rlx_status send_one(const repeating *r, uint32_t i) {
  rlx_executable *e = r->e;
  rlx_device *d = e->session->device;
  RLX_TRY(rlx_steps_send(e));
  for (size_t k = 0; k < r->n; k++) {
    const taken *t = &r->outputs[k];
    const rlx_bound *from = &entry_of(r, t)->at;
    if (t->bytes)
      RLX_TRY(d->backend->block_copy_behind(d, e->ring, i % r->places * r->place + t->offset, from->block, from->offset,
                                            t->bytes));
  }
  atomic_fetch_add_explicit(&e->draw, 1, memory_order_relaxed);
  return rlx_feeds_send(e);
}

/* Runs first .. last - 1 are in the ring. Memory that the host sees must be waited for; else reading waits. */
static rlx_status read_ring(const repeating *r, uint32_t first, uint32_t last) {
  rlx_device *d = r->e->session->device;
  if (d->info.is_mapped) RLX_TRY(d->backend->sync(d));
  if (!r->place || !r->e->ring) return RLX_OK;
  const size_t bytes = (size_t)r->place * (last - first);
  const bool is_direct = r->n == 1;
  unsigned char *all = is_direct ? r->outputs[0].all + first * r->place : rlx_mem_alloc(bytes);
  if (!all) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes of outputs", bytes);
  rlx_status s = d->backend->block_read(d, r->e->ring, 0, all, bytes);
  for (size_t k = 0; !s && !is_direct && k < r->n; k++) {
    const taken *t = &r->outputs[k];
    for (uint32_t i = first; t->bytes && i < last; i++)
      memcpy(t->all + i * t->bytes, all + (i - first) * r->place + t->offset, t->bytes);
  }
  if (!is_direct) rlx_mem_free(all);
  return s;
}

/* *done counts the runs that are known to be over. */
static rlx_status send_all(const repeating *r, uint32_t *done) {
  for (uint32_t i = 0; i < r->times; i++) {
    RLX_TRY(send_one(r, i));
    if ((i + 1) % r->places && i + 1 < r->times) continue;
    RLX_TRY(read_ring(r, *done, i + 1));
    *done = i + 1;
  }
  return RLX_OK;
}

static rlx_status send_and_settle(repeating *r) {
  rlx_executable *e = r->e;
  uint32_t done = 0;
  RLX_TRY(make_ring(r));
  e->now->has_run = false;
  rlx_status s = rlx_steps_settle(e, send_all(r, &done));
  if (s && done < r->times) return rlx_fail_frame(s, "runs %u to %u", (unsigned)done + 1, (unsigned)r->times);
  if (s) return s;
  e->now->has_run = true;
  return rlx_results_download(e);
}

static rlx_status run_behind(repeating *r) {
  RLX_TRY(rlx_run_begin(r->e));
  rlx_status s = send_and_settle(r);
  rlx_run_end(r->e);
  return s;
}

/* ---- the call ---- */

static rlx_status repeat(rlx_executable *e, uint32_t times, rlx_named_tensor *outputs, size_t n) {
  const char *call = "rlx_executable_repeat";
  if (!times) return RLX_FAIL(RLX_INVALID, "%s: times is 0", call);
  RLX_TRY(rlx_outputs_check(e, call, outputs, n));
  RLX_TRY(rlx_executable_resolve(e, &e->watch, false));
  taken on_stack[4] = {{0}};
  repeating r = {.e = e, .times = times, .n = n, .outputs = on_stack};
  if (n > 4 && !(r.outputs = rlx_mem_calloc(n, sizeof *r.outputs))) return RLX_FAIL(RLX_NO_MEMORY, "%zu outputs", n);
  rlx_status s = RLX_OK;
  for (size_t k = 0; k < n && !s; k++) s = describe_one(&r, &outputs[k], &r.outputs[k]);
  if (!s) s = can_send(&r) ? run_behind(&r) : run_locked(&r);
  if (r.outputs != on_stack) rlx_mem_free(r.outputs);
  return s;
}

rlx_status rlx_executable_repeat(rlx_executable *e, uint32_t times, rlx_named_tensor *outputs, size_t n_outputs) {
  RLX_TRY(rlx_enter(e, "rlx_executable_repeat"));
  rlx_status s = repeat(e, times, outputs, n_outputs);
  return rlx_leave(e, s);
}
