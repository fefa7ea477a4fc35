/* rlx_executable_repeat: many runs in a row, each fed by the one before, and the outputs of all of them.
 *
 * On a device with an asynchronous queue the host does not wait between the runs. The outputs of a run are copied on
 * the device to their own slot of a ring, after the run and before the feeds and the next run. The host reads the ring
 * when it is full and at the end, so many runs cost one wait. Each run is waited for and read separately if the host
 * has work between two runs (host steps, feeds that need staging, a watch), and on devices that compute in the calling
 * thread. */
#include <string.h>

#include "base/arith.h"
#include "runtime/executable.h"

enum { MAX_RING = 16 << 20 }; /* in bytes; more only if one run's outputs are larger */

typedef struct taken { /* a requested output */
  uint32_t output;
  size_t bytes;       /* of one run */
  uint64_t offset;    /* within a slot of the ring */
  unsigned char *all; /* the caller's memory, for all runs */
} taken;

typedef struct repeating {
  rlx_executable *e;
  uint32_t times;
  taken *outputs;
  size_t n;
  uint64_t place;  /* slot size: bytes of one run's outputs */
  uint32_t places; /* number of slots */
} repeating;

/* ---- requested outputs ---- */

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

/* ---- waiting after each run ---- */

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

static rlx_status run_each(const repeating *r) {
  for (uint32_t i = 0; i < r->times; i++)
    RLX_TRY_AT(run_one(r, i), "run %u of %u", (unsigned)i + 1, (unsigned)r->times);
  return RLX_OK;
}

/* ---- without waiting ---- */

static bool can_submit(const repeating *r) {
  if (!rlx_steps_can_submit(r->e) || !rlx_feeds_can_submit(r->e)) return false;
  for (size_t k = 0; k < r->n; k++)
    if (!rlx_result_entry(r->e, r->outputs[k].output, r->outputs[k].bytes)) return false;
  return true;
}

/* Assigns offsets to the outputs and allocates the ring; it is kept for the next call. */
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

static rlx_status submit_one(const repeating *r, uint32_t i) {
  rlx_executable *e = r->e;
  rlx_queue *q = rlx_executable_queue(e);
  RLX_TRY(rlx_steps_submit(e));
  for (size_t k = 0; k < r->n; k++) {
    const taken *t = &r->outputs[k];
    const rlx_bound *from = &rlx_result_entry(e, t->output, t->bytes)->at;
    if (t->bytes)
      RLX_TRY(q->device->backend->copy(q, e->ring, i % r->places * r->place + t->offset, from->block, from->offset,
                                       t->bytes));
  }
  atomic_fetch_add_explicit(&e->draw, 1, memory_order_relaxed);
  return rlx_feeds_submit(e);
}

/* Runs first .. last - 1 are in the ring. Reading waits for them. */
static rlx_status read_ring(const repeating *r, uint32_t first, uint32_t last) {
  rlx_queue *q = rlx_executable_queue(r->e);
  if (!r->place || !r->e->ring) return rlx_queue_sync(q);
  const size_t bytes = (size_t)r->place * (last - first);
  const bool is_direct = r->n == 1;
  unsigned char *all = is_direct ? r->outputs[0].all + first * r->place : rlx_mem_alloc(bytes);
  if (!all) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes of outputs", bytes);
  rlx_status s = q->device->backend->read(q, r->e->ring, 0, all, bytes);
  for (size_t k = 0; !s && !is_direct && k < r->n; k++) {
    const taken *t = &r->outputs[k];
    for (uint32_t i = first; t->bytes && i < last; i++)
      memcpy(t->all + i * t->bytes, all + (i - first) * r->place + t->offset, t->bytes);
  }
  if (!is_direct) rlx_mem_free(all);
  return s;
}

/* *done: number of runs known to be complete. */
static rlx_status submit_all(const repeating *r, uint32_t *done) {
  for (uint32_t i = 0; i < r->times; i++) {
    RLX_TRY(submit_one(r, i));
    if ((i + 1) % r->places && i + 1 < r->times) continue;
    RLX_TRY(read_ring(r, *done, i + 1));
    *done = i + 1;
  }
  return RLX_OK;
}

static rlx_status submit_and_settle(repeating *r) {
  rlx_executable *e = r->e;
  uint32_t done = 0;
  RLX_TRY(make_ring(r));
  e->now->has_run = false;
  rlx_status s = rlx_steps_settle(e, submit_all(r, &done));
  if (s && done < r->times) return rlx_fail_frame(s, "runs %u to %u", (unsigned)done + 1, (unsigned)r->times);
  if (s) return s;
  e->now->has_run = true;
  return rlx_results_download(e);
}

static rlx_status run_submitted(repeating *r) {
  RLX_TRY(rlx_run_begin(r->e));
  rlx_status s = submit_and_settle(r);
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
  if (!s) s = can_submit(&r) ? run_submitted(&r) : run_each(&r);
  if (r.outputs != on_stack) rlx_mem_free(r.outputs);
  return s;
}

rlx_status rlx_executable_repeat(rlx_executable *e, uint32_t times, rlx_named_tensor *outputs, size_t n_outputs) {
  RLX_TRY(rlx_enter_states(e, "rlx_executable_repeat"));
  rlx_status s = repeat(e, times, outputs, n_outputs);
  return rlx_leave_states(e, s);
}
