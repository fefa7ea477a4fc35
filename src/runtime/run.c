/* Runs: uploads values, executes spans of steps on the device and on the host, reads outputs.
 *
 * A run with bound buffers does no lookups and allocates nothing: that was done when the instance was bound. With a
 * visitor (to observe, to compare) the steps run one by one, and the visitor is called before and after each. This is
 * slow, and meant for inspection.
 *
 * If nothing has to be observed between steps and there are no host steps, the run is submitted and not waited for. The
 * wait comes when the outputs are read (here), after many runs (repeat.c), or when the caller polls or waits (async.c).
 * A run that fails or is cancelled leaves outputs undefined and states possibly half updated; the executable can be run
 * again. */
#include "base/budget.h"
#include "base/log.h"
#include "runtime/executable.h"

/* ---- steps ---- */

typedef struct runner {
  rlx_executable *e;
  rlx_instance *i;
  rlx_run_args args;
  rlx_eval_context host;
  uint64_t *begin_ns, *end_ns; /* by step, or NULL */
  const rlx_step_visitor *visitor;
} runner;

static rlx_status run_device(runner *r, size_t first, size_t n, size_t program_first) {
  r->args.begin_ns = r->begin_ns ? r->begin_ns + first : NULL;
  r->args.end_ns = r->end_ns ? r->end_ns + first : NULL;
  return r->i->queue->device->backend->submit(r->i->program, program_first, n, &r->args);
}

static rlx_status run_host_step(runner *r, size_t step) {
  rlx_node n = r->i->compiled->plan->steps[step].node;
  const char *op = rlx_op_table_get(rlx_graph_at(r->i->compiled->graph, n)->op)->name;
  if (rlx_stops(r->host.cancel, r->host.cancel_user))
    return RLX_FAIL(RLX_CANCELLED, "stopped by the caller at node %u (%s)", (unsigned)n, op);
  if (r->begin_ns) r->begin_ns[step] = rlx_now_ns();
  RLX_TRY_AT(rlx_host_run_step(r->i, step, &r->host), "node %u (%s), on the host", (unsigned)n, op);
  if (r->end_ns) r->end_ns[step] = rlx_now_ns();
  return RLX_OK;
}

static rlx_status run_span(runner *r, const rlx_span *s) {
  if (!s->host) return run_device(r, s->first, s->n, s->program_first);
  RLX_TRY(rlx_queue_sync(r->i->queue)); /* the host reads the device's memory */
  for (size_t k = 0; k < s->n; k++) RLX_TRY(run_host_step(r, s->first + k));
  return RLX_OK;
}

static rlx_status visit_span(runner *r, const rlx_span *s) {
  const rlx_step_visitor *v = r->visitor;
  for (size_t k = 0; k < s->n; k++) {
    size_t step = s->first + k;
    if (v->before) RLX_TRY(v->before(v->user, step));
    RLX_TRY(run_span(r, &(rlx_span){s->host, step, 1, s->program_first + k}));
    if (v->after) RLX_TRY(v->after(v->user, step));
  }
  return RLX_OK;
}

/* Adds the range of nodes to the message: the failure was detected only by waiting. */
rlx_status rlx_steps_frame(const rlx_executable *e, rlx_status s) {
  const rlx_compiled *c = e->now->compiled;
  if (s != RLX_DEVICE_LOST || !c->plan->n_steps) return s;
  rlx_node a = c->plan->steps[0].node, b = c->plan->steps[c->plan->n_steps - 1].node;
  return rlx_fail_frame(s, "nodes %u (%s) to %u (%s)", (unsigned)a, rlx_node_op(c->graph, a), (unsigned)b,
                        rlx_node_op(c->graph, b));
}

rlx_status rlx_steps_run(rlx_executable *e, const rlx_step_visitor *visitor) {
  const rlx_compiled *c = e->now->compiled;
  const rlx_watch *w = &e->watch;
  uint64_t draw = atomic_load_explicit(&e->draw, memory_order_relaxed);
  runner r = {.e = e,
              .i = e->now,
              .args = {.draw = draw,
                       .pool = e->session->threads,
                       .is_awaited = true,
                       .is_stoppable = rlx_budget_is_watched(),
                       .cancel = w->cancel,
                       .cancel_user = w->user},
              .host = {.draw = draw, .cancel = w->cancel, .cancel_user = w->user},
              .visitor = visitor};
  if (e->profile) {
    RLX_TRY(rlx_profile_begin(e->profile, c));
    rlx_profile_times(e->profile, &r.begin_ns, &r.end_ns);
  }
  for (size_t k = 0; k < c->n_spans; k++) {
    const rlx_span *s = &c->spans[k];
    RLX_TRY(visitor ? visit_span(&r, s) : run_span(&r, s));
    if (w->progress) w->progress(w->user, "run", s->first + s->n, c->plan->n_steps);
  }
  rlx_status done = rlx_queue_sync(rlx_executable_queue(e));
  if (done) return rlx_steps_frame(e, done);
  if (e->profile) rlx_profile_end(e->profile);
  return RLX_OK;
}

/* ---- without waiting ---- */

bool rlx_steps_can_submit(const rlx_executable *e) {
  const rlx_compiled *c = e->now->compiled;
  if (!rlx_queue_is_async(rlx_executable_queue(e)) || e->observe || e->profile) return false;
  if (e->watch.cancel || e->watch.progress) return false;
  for (size_t k = 0; k < c->n_spans; k++)
    if (c->spans[k].host) return false;
  return true;
}

rlx_status rlx_steps_submit(rlx_executable *e) {
  const rlx_compiled *c = e->now->compiled;
  runner r = {.e = e, .i = e->now, .args = {.pool = e->session->threads}};
  r.args.draw = atomic_load_explicit(&e->draw, memory_order_relaxed);
  for (size_t k = 0; k < c->n_spans; k++) RLX_TRY(run_span(&r, &c->spans[k]));
  return RLX_OK;
}

rlx_status rlx_steps_settle(rlx_executable *e, rlx_status s) {
  rlx_status done = s == RLX_DEVICE_LOST ? RLX_OK : rlx_queue_sync(rlx_executable_queue(e));
  return done ? done : s;
}

/* ---- observing ---- */

typedef struct observer {
  rlx_executable *e;
  rlx_bump memory; /* of one value */
} observer;

static rlx_status show(void *user, size_t step) {
  observer *o = user;
  const rlx_compiled *c = o->e->now->compiled;
  const rlx_step *s = &c->plan->steps[step];
  for (uint32_t k = 0; s->kind == RLX_STEP_NODE && k < s->n_out; k++) {
    const rlx_type *type = &rlx_graph_at(c->graph, s->nodes[k])->type;
    rlx_tensor value = {.dtype = type->dtype, .shape = type->shape};
    rlx_bound at = rlx_instance_bound(o->e->now, &s->out[k]);
    if (!at.block && at.bytes) continue;
    RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &value.bytes));
    rlx_bump_reset(&o->memory);
    value.data = rlx_bump_alloc(&o->memory, value.bytes, 1);
    if (!value.data) return RLX_FAIL(RLX_NO_MEMORY, "observing %zu bytes", value.bytes);
    RLX_TRY(
      rlx_bound_read(rlx_executable_queue(o->e), &at, type, 0, type->dtype, value.data, rlx_dims_count(&type->shape)));
    o->e->observe(o->e->observe_user, rlx_node_of(c->graph, s->nodes[k]), &value);
  }
  return RLX_OK;
}

/* ---- whole runs ---- */

/* The size of what binding created is known only now. */
static void count_program(rlx_executable *e) {
  uint64_t bytes = e->now->bytes + e->now->program_bytes;
  if (e->now->cached.bytes == bytes) return;
  rlx_cache_lock(&e->session->cache);
  rlx_cache_resize(&e->session->cache, &e->now->cached, bytes);
  rlx_cache_unlock(&e->session->cache);
}

static rlx_status prepare(rlx_executable *e) {
  if (rlx_stops(e->watch.cancel, e->watch.user)) return RLX_FAIL(RLX_CANCELLED, "stopped by the caller");
  RLX_TRY(rlx_instance_ready(e->now, &e->watch));
  count_program(e);
  RLX_TRY(rlx_values_upload(e));
  return rlx_backend_fills_words(e->now->queue->device->backend) ? rlx_instance_end_inputs(e->now) : RLX_OK;
}

rlx_status rlx_run_begin(rlx_executable *e) {
  RLX_TRY(rlx_executable_resolve(e, &e->watch, false));
  rlx_instance_begin_reading(e->now);
  rlx_status s = prepare(e);
  if (s) rlx_run_end(e);
  return s;
}

void rlx_run_end(rlx_executable *e) { rlx_instance_end_reading(e->now); }

/* Executes the steps, with the visitor or the observer if there is one. */
static rlx_status run_steps(rlx_executable *e, const rlx_step_visitor *visitor) {
  if (visitor || !e->observe) return rlx_steps_run(e, visitor);
  observer o = {.e = e};
  rlx_status s = rlx_steps_run(e, &(rlx_step_visitor){.after = show, .user = &o});
  rlx_bump_deinit(&o.memory);
  return s;
}

/* Reads the outputs into bound memory and into the tensors of the call. */
static rlx_status take_outputs(rlx_executable *e, const rlx_named_tensor *outputs, size_t n) {
  RLX_TRY(rlx_results_download(e));
  for (size_t i = 0; i < n; i++) RLX_TRY(rlx_result_read(e, rlx_result_find(e, outputs[i].name), &outputs[i].tensor));
  return RLX_OK;
}

/* Whether to submit without waiting. Mapped memory is read after the wait, so submitting gains nothing there. */
static bool is_sent(const rlx_executable *e, const rlx_step_visitor *visitor, size_t n_outputs) {
  bool reads = n_outputs > 0;
  for (size_t i = 0; i < e->n_results && !reads; i++) reads = e->results[i].bound != NULL;
  return reads && !visitor && !e->session->device->info.is_mapped && rlx_steps_can_submit(e);
}

static rlx_status run_prepared(rlx_executable *e, const rlx_step_visitor *visitor, const rlx_named_tensor *outputs,
                               size_t n_outputs) {
  e->now->has_run = false;
  const bool sent = is_sent(e, visitor, n_outputs);
  rlx_status s = sent ? rlx_steps_submit(e) : run_steps(e, visitor);
  const bool failed = s != RLX_OK; /* its message already has the location */
  if (!s) {
    e->now->has_run = true;
    atomic_fetch_add_explicit(&e->draw, 1, memory_order_relaxed);
    s = take_outputs(e, outputs, n_outputs);
  }
  if (sent) s = rlx_steps_settle(e, s);
  if (sent && s) e->now->has_run = false;
  return sent && s && !failed ? rlx_steps_frame(e, s) : s;
}

static rlx_status run_whole(rlx_executable *e, const rlx_step_visitor *visitor, const rlx_named_tensor *outputs,
                            size_t n_outputs) {
  RLX_TRY(rlx_run_begin(e));
  rlx_status s = run_prepared(e, visitor, outputs, n_outputs);
  rlx_run_end(e);
  return s;
}

rlx_status rlx_run_whole(rlx_executable *e, const rlx_step_visitor *visitor) { return run_whole(e, visitor, NULL, 0); }

rlx_status rlx_executable_run(rlx_executable *e) {
  RLX_TRY(rlx_enter_states(e, "rlx_executable_run"));
  rlx_status s = rlx_run_whole(e, NULL);
  if (!s) s = rlx_feeds_run(e);
  return rlx_leave_states(e, s);
}

/* ---- everything in one call ---- */

static rlx_status check_inputs(rlx_executable *e, const rlx_named_tensor *inputs, size_t n) {
  if (n && !inputs) return RLX_FAIL(RLX_INVALID, "rlx_run: inputs is NULL");
  uint64_t mark = ++e->mark;
  for (size_t i = 0; i < n; i++) {
    rlx_leaf *l = rlx_leaf_find(e, inputs[i].name);
    if (!inputs[i].name) return RLX_FAIL(RLX_INVALID, "rlx_run: the name of input %zu is NULL", i);
    if (!l) return RLX_FAIL(RLX_NOT_FOUND, "rlx_run: the graph has no input, param or state '%s'", inputs[i].name);
    if (l->mark == mark) return RLX_FAIL(RLX_INVALID, "rlx_run: '%s' is given twice", l->name);
    if (l->bound) return RLX_FAIL(RLX_INVALID, "rlx_run: '%s' is bound to the caller's memory", l->name);
    l->mark = mark;
    RLX_TRY(rlx_value_check(e, l, &inputs[i].tensor));
  }
  return RLX_OK;
}

rlx_status rlx_outputs_check(rlx_executable *e, const char *call, const rlx_named_tensor *outputs, size_t n) {
  if (n && !outputs) return RLX_FAIL(RLX_INVALID, "%s: outputs is NULL", call);
  uint64_t mark = ++e->mark;
  for (size_t i = 0; i < n; i++) {
    uint32_t k = rlx_result_find(e, outputs[i].name);
    if (!outputs[i].name) return RLX_FAIL(RLX_INVALID, "%s: the name of output %zu is NULL", call, i);
    if (k == UINT32_MAX) return RLX_FAIL(RLX_NOT_FOUND, "%s: the graph has no output '%s'", call, outputs[i].name);
    if (e->results[k].mark == mark)
      return RLX_FAIL(RLX_INVALID, "%s: output '%s' is asked for twice", call, outputs[i].name);
    e->results[k].mark = mark;
  }
  return RLX_OK;
}

/* Sets the caller's tensors to the stored type and checks their capacity. */
static rlx_status describe_outputs(rlx_executable *e, rlx_named_tensor *outputs, size_t n) {
  const rlx_graph *g = e->compiled->graph;
  for (size_t i = 0; i < n; i++) {
    uint32_t k = rlx_result_find(e, outputs[i].name);
    outputs[i].tensor.dtype = rlx_graph_at(g, g->outputs.v[k].node)->type.dtype;
    RLX_TRY(rlx_result_room(e, k, &outputs[i].tensor));
  }
  return RLX_OK;
}

rlx_status rlx_run_prepare(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                           rlx_named_tensor *outputs, size_t n_outputs) {
  RLX_TRY(check_inputs(e, inputs, n_inputs));
  RLX_TRY(rlx_outputs_check(e, "rlx_run", outputs, n_outputs));
  for (size_t i = 0; i < n_inputs; i++)
    RLX_TRY(rlx_value_write(e, rlx_leaf_find(e, inputs[i].name), &inputs[i].tensor));
  RLX_TRY(rlx_executable_resolve(e, &e->watch, false));
  return describe_outputs(e, outputs, n_outputs);
}

rlx_status rlx_run_prepared(rlx_executable *e, const rlx_named_tensor *outputs, size_t n_outputs) {
  RLX_TRY(run_whole(e, NULL, outputs, n_outputs));
  return rlx_feeds_run(e);
}

rlx_status rlx_run(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs, rlx_named_tensor *outputs,
                   size_t n_outputs) {
  RLX_TRY(rlx_enter_states(e, "rlx_run"));
  rlx_status s = rlx_run_prepare(e, inputs, n_inputs, outputs, n_outputs);
  if (!s) s = rlx_run_prepared(e, outputs, n_outputs);
  return rlx_leave_states(e, s);
}
