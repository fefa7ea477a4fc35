/* Creates instances: holds weights and states, allocates scratch, binds steps to blocks. */
#include "runtime/instance.h"

#include <stdlib.h>

#include "base/budget.h"

/* ---- memory ---- */

static void unbind(rlx_instance *i) {
  if (i->program) i->session->device->backend->program_destroy(i->program);
  i->program = NULL;
  rlx_mem_free(i->staging);
  i->staging = NULL;
  rlx_bump_deinit(&i->bump);
  i->is_bound = false;
}

void rlx_instance_destroy(rlx_instance *i) {
  if (!i) return;
  unbind(i);
  if (i->queue != rlx_session_queue(i->session)) (void)rlx_queue_sync(i->queue); /* its scratch goes to another queue */
  rlx_bump_deinit(&i->step_memory);
  if (i->scratch) rlx_scratch_forget_owner(i->scratch, i);
  rlx_arena_destroy(i->arena);
  rlx_scratch_release(i->scratch);
  for (uint32_t k = 0; i->holds && k < i->compiled->plan->n_weights; k++) rlx_weights_let_go(i->weights, &i->holds[k]);
  rlx_mem_free(i->holds);
  rlx_mem_free(i->state);
  rlx_states_release(i->states);
  rlx_weights_release(i->weights);
  rlx_compiled_release(i->compiled);
  rlx_session_release(i->session);
  rlx_mem_free(i);
}

static rlx_status hold_weights(rlx_instance *i) {
  const rlx_compiled *c = i->compiled;
  i->holds = rlx_mem_calloc(c->plan->n_weights, sizeof *i->holds);
  if (!i->holds) return RLX_FAIL(RLX_NO_MEMORY, "%u weights", (unsigned)c->plan->n_weights);
  for (uint32_t k = 0; k < c->plan->n_weights; k++) {
    const rlx_weight_slot *slot = &c->slots[k];
    if (slot->kind != RLX_WEIGHT_CONSTANT)
      RLX_TRY(rlx_weights_hold(i->weights, rlx_node_name(c->graph, slot->node), slot->recipe, &slot->type, slot->layout,
                               &i->holds[k]));
  }
  return rlx_compiled_constants(i->compiled, i->session->blocks);
}

static rlx_status hold_states(rlx_instance *i) {
  const rlx_compiled *c = i->compiled;
  i->state = rlx_mem_calloc(c->plan->n_states, sizeof *i->state);
  if (!i->state) return RLX_FAIL(RLX_NO_MEMORY, "%u states", (unsigned)c->plan->n_states);
  for (uint32_t k = 0; k < c->plan->n_states; k++) {
    rlx_node n = c->plan->states[k];
    RLX_TRY(rlx_states_get(i->states, rlx_node_name(c->graph, n), &rlx_graph_at(c->graph, n)->type, &i->state[k]));
  }
  return RLX_OK;
}

/* ---- windows ---- */

rlx_bound rlx_instance_bound(const rlx_instance *i, const rlx_window *w) {
  rlx_bound at = {.offset = w->offset, .bytes = w->bytes};
  if (w->segment == RLX_SEGMENT_SCRATCH) at.block = rlx_arena_scratch(i->arena, w->block);
  if (w->segment == RLX_SEGMENT_STATE) at.block = i->state[w->block]->block;
  if (w->segment == RLX_SEGMENT_WEIGHTS) {
    const rlx_weight_slot *slot = &i->compiled->slots[w->block];
    if (slot->layout) at.bytes = slot->bytes; /* packed: always read whole */
    at.block = slot->kind == RLX_WEIGHT_CONSTANT ? slot->at.block : i->holds[w->block].copy->block;
    at.offset += slot->kind == RLX_WEIGHT_CONSTANT ? slot->at.offset : 0;
  }
  return at;
}

static bool is_computed(const rlx_compiled *c, const rlx_window *w) {
  return w->segment == RLX_SEGMENT_WEIGHTS && c->slots[w->block].kind == RLX_WEIGHT_COMPUTED;
}

/* Registers the location of each value in the arena. Computed weights are registered only when the instance is bound:
 * until they are known to be ready, another thread may be allocating their blocks. */
static rlx_status note_places(rlx_instance *i, bool with_computed) {
  const rlx_compiled *c = i->compiled;
  i->has_ends = false;
  for (rlx_node n = 1; n < rlx_graph_end(c->graph); n++) {
    const rlx_window *w = &c->plan->at[n];
    if (w->segment == RLX_SEGMENT_NONE || (!with_computed && is_computed(c, w))) continue;
    rlx_arena_entry e = {.segment = w->segment,
                         .block = w->block,
                         .layout = c->layout[n],
                         .at = rlx_instance_bound(i, w),
                         .type = rlx_graph_at(c->graph, n)->type};
    e.capacity = e.at.bytes;
    RLX_TRY(rlx_arena_put(i->arena, n, &e));
  }
  return RLX_OK;
}

/* Whether a weight has its memory. A computed weight may have it, but counts as if not. Constants are in host memory as
 * part of the graph; their copies are made once for all instances. */
static bool is_there(const rlx_instance *i, const rlx_weight_slot *slot) {
  if (slot->kind == RLX_WEIGHT_CONSTANT) return true;
  return !slot->recipe && rlx_weights_has_memory(i->weights, rlx_node_name(i->compiled->graph, slot->node));
}

/* Checks, before anything is allocated, that everything still missing is affordable in total. */
static rlx_status check_room(const rlx_instance *i) {
  const rlx_compiled *c = i->compiled;
  uint64_t weights = 0, state = 0, scratch;
  for (uint32_t k = 0; k < c->plan->n_weights; k++)
    if (!is_there(i, &c->slots[k])) weights += c->slots[k].bytes;
  for (uint32_t k = 0; k < c->plan->n_states; k++) {
    rlx_node n = c->plan->states[k];
    const rlx_type *type = &rlx_graph_at(c->graph, n)->type;
    size_t bytes;
    RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &bytes));
    if (!rlx_states_has(i->states, rlx_node_name(c->graph, n), type)) state += bytes;
  }
  scratch = rlx_scratch_growth(i->scratch, c->plan->scratch, c->plan->n_scratch);
  RLX_TRY_AT(rlx_block_pool_affords(i->session->blocks, weights + state + scratch),
             "weights of %s, states of %s and scratch of %s are not there yet", RLX_BYTES_TEXT(weights),
             RLX_BYTES_TEXT(state), RLX_BYTES_TEXT(scratch));
  return RLX_OK;
}

static rlx_status fill(rlx_instance *i) {
  const rlx_plan *p = i->compiled->plan;
  RLX_TRY(check_room(i));
  RLX_TRY(hold_weights(i));
  RLX_TRY(hold_states(i));
  RLX_TRY(rlx_scratch_fit(i->scratch, p->scratch, p->n_scratch));
  rlx_budget meter; /* measures only, without limits */
  rlx_budget_begin(&meter, "an instance", NULL, 0, NULL);
  rlx_status s = rlx_arena_create_in(i->session->device, i->session->blocks, i->scratch, p->scratch, p->n_scratch,
                                     rlx_graph_size(i->compiled->graph), &i->arena);
  if (!s) rlx_arena_set_serial(i->arena, i->compiled->graph->serial);
  if (!s) rlx_arena_set_queue(i->arena, i->queue);
  s = rlx_budget_end(&meter, s);
  i->bytes = sizeof *i + (meter.taken > 0 ? (uint64_t)meter.taken : 0);
  i->generation = rlx_scratch_generation(i->scratch);
  return s ? s : note_places(i, false);
}

rlx_status rlx_instance_create(rlx_session *s, rlx_compiled *c, rlx_weights *w, rlx_states *st, rlx_scratch *scratch,
                               rlx_instance **out) {
  *out = NULL;
  rlx_instance *i = rlx_new(rlx_instance);
  if (!i) return RLX_FAIL(RLX_NO_MEMORY, "an instance");
  i->session = rlx_session_retain(s);
  i->compiled = rlx_compiled_retain(c);
  i->weights = rlx_weights_retain(w);
  i->states = rlx_states_retain(st);
  i->scratch = rlx_scratch_retain(scratch);
  i->queue = rlx_session_queue(st->session);
  rlx_status status = fill(i);
  if (status) rlx_instance_destroy(i);
  else *out = i;
  return status;
}

/* ---- binding ---- */

static rlx_status bind_windows(rlx_instance *i, const rlx_window *from, uint32_t n, const rlx_bound **out) {
  rlx_bound *to = rlx_bump_array(&i->bump, rlx_bound, n);
  if (!to) return RLX_FAIL(RLX_NO_MEMORY, "%u windows", (unsigned)n);
  for (uint32_t k = 0; k < n; k++) to[k] = rlx_instance_bound(i, &from[k]);
  *out = to;
  return RLX_OK;
}

static rlx_status bind_step(rlx_instance *i, size_t step, rlx_bound_step *to) {
  const rlx_compiled *c = i->compiled;
  const rlx_step *from = &c->plan->steps[step];
  const rlx_node_rec *n = rlx_graph_at(c->graph, from->node);
  *to = (rlx_bound_step){.node = from->node,
                         .copy = from->kind == RLX_STEP_COPY,
                         .n_in = from->n_in,
                         .n_out = from->n_out,
                         .claim = c->step_claims[step],
                         .work = rlx_instance_bound(i, &from->work)};
  uint32_t *layout = rlx_bump_array(&i->bump, uint32_t, from->n_in);
  if (!layout) return RLX_FAIL(RLX_NO_MEMORY, "%u layouts", (unsigned)from->n_in);
  for (uint32_t k = 0; !to->copy && k < from->n_in; k++) layout[k] = c->layout[n->in[k]];
  to->layout = layout;
  RLX_TRY(bind_windows(i, from->in, from->n_in, &to->in));
  return bind_windows(i, from->out, from->n_out, &to->out);
}

static rlx_status make_program(rlx_instance *i) {
  const rlx_compiled *c = i->compiled;
  if (!c->n_device_steps) return RLX_OK;
  i->device_steps = rlx_bump_array(&i->bump, rlx_bound_step, c->n_device_steps);
  if (!i->device_steps) return RLX_FAIL(RLX_NO_MEMORY, "%zu steps", c->n_device_steps);
  size_t next = 0;
  for (size_t k = 0; k < c->plan->n_steps; k++)
    if (!c->plan->steps[k].host) RLX_TRY(bind_step(i, k, &i->device_steps[next++]));
  i->desc = (rlx_program_desc){
    .graph = c->graph, .steps = i->device_steps, .n_steps = c->n_device_steps, .switches = c->key.switches};
  return i->queue->device->backend->program_create(i->queue, &i->desc, &i->program);
}

static rlx_status bind(rlx_instance *i) {
  RLX_TRY(note_places(i, true));
  rlx_budget meter;
  rlx_budget_begin(&meter, "a program", NULL, 0, NULL);
  rlx_status s = make_program(i);
  if (!s) s = rlx_host_bind(i);
  s = rlx_budget_end(&meter, s);
  i->is_bound = !s;
  if (s) unbind(i); /* so that the next run binds again */
  i->program_bytes = !s && meter.taken > 0 ? (uint64_t)meter.taken : 0;
  return s;
}

/* ---- the shared scratch ---- */

bool rlx_instance_holds(const rlx_instance *i) { return rlx_scratch_owner(i->scratch) == i; }

rlx_status rlx_instance_take(rlx_instance *i, bool *lost) {
  const rlx_plan *p = i->compiled->plan;
  *lost = !rlx_instance_holds(i);
  if (!*lost) return RLX_OK;
  i->has_run = false;
  RLX_TRY(rlx_scratch_fit(i->scratch, p->scratch, p->n_scratch));
  if (i->generation != rlx_scratch_generation(i->scratch)) {
    bool with_computed = i->is_bound; /* then all computed weights have their blocks */
    unbind(i);
    RLX_TRY(note_places(i, with_computed));
    i->generation = rlx_scratch_generation(i->scratch);
  }
  rlx_scratch_set_owner(i->scratch, i);
  return RLX_OK;
}

/* ---- before a run ---- */

/* All inputs are in their places when a run begins. From then on their last words are whole, whatever is written. */
rlx_status rlx_instance_end_inputs(rlx_instance *i) {
  const rlx_compiled *c = i->compiled;
  if (i->has_ends) return RLX_OK;
  for (rlx_node n = 1; n < rlx_graph_end(c->graph); n++) {
    const rlx_arena_entry *e = rlx_graph_at(c->graph, n)->op == RLX_OP_input ? rlx_arena_get(i->arena, n) : NULL;
    if (e && e->segment == RLX_SEGMENT_SCRATCH && e->at.bytes) RLX_TRY(rlx_bound_end(i->queue, &e->at));
  }
  i->has_ends = true;
  return RLX_OK;
}

typedef struct sized {
  uint64_t bytes;
  uint32_t slot;
} sized;

static int larger_first(const void *a, const void *b) {
  const sized *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* A weight that is computed or read from a file passes through a temporary buffer of its own size. The largest is
 * loaded first, while little else is allocated, so that the peak is hardly above the final size. */
static rlx_status load_in_order(rlx_instance *i, const rlx_watch *watch, sized *order, uint32_t n) {
  const rlx_compiled *c = i->compiled;
  for (uint32_t k = 0; k < n; k++) {
    const rlx_weight_copy *copy = i->holds[k].copy;
    order[k] = (sized){c->slots[k].kind != RLX_WEIGHT_CONSTANT && copy ? copy->bytes : 0, k};
  }
  if (n) qsort(order, n, sizeof *order, larger_first);
  for (uint32_t k = 0; k < n; k++) {
    bool computed = false;
    if (c->slots[order[k].slot].kind == RLX_WEIGHT_CONSTANT) continue;
    RLX_TRY(rlx_weights_ready(i->weights, &i->holds[order[k].slot], watch, &computed));
    if (computed && watch && watch->progress) watch->progress(watch->user, "load", k + 1, n);
  }
  return RLX_OK;
}

static rlx_status load_weights(rlx_instance *i, const rlx_watch *watch) {
  uint32_t n = (uint32_t)i->compiled->plan->n_weights;
  sized *order = rlx_mem_calloc(n, sizeof *order);
  rlx_status s =
    order || !n ? load_in_order(i, watch, order, n) : RLX_FAIL(RLX_NO_MEMORY, "the order of %u weights", (unsigned)n);
  rlx_mem_free(order);
  return s;
}

rlx_status rlx_instance_ready(rlx_instance *i, const rlx_watch *watch) {
  uint64_t generation = atomic_load_explicit(&i->weights->generation, memory_order_acquire);
  if (i->ready_generation != generation) {
    RLX_TRY(load_weights(i, watch));
    RLX_TRY(rlx_queue_follow(i->queue, rlx_session_queue(i->weights->session)));
    i->ready_generation = generation;
  }
  if (i->is_bound) return RLX_OK;
  RLX_TRY(rlx_queue_follow(i->queue, rlx_session_queue(i->session))); /* for the constants */
  return bind(i);
}

void rlx_instance_begin_reading(rlx_instance *i) {
  i->reading = (rlx_weight_reading){.holds = i->holds, .n = (uint32_t)i->compiled->plan->n_weights};
  rlx_weights_begin_reading(i->weights, &i->reading);
}

void rlx_instance_end_reading(rlx_instance *i) { rlx_weights_end_reading(i->weights, &i->reading); }
