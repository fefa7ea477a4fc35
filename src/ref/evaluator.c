/* The public evaluator: sets and gets values by name, and keeps states between runs.
 *
 * It holds a copy of every leaf that was set. If the graph has symbols, the shapes of those values bind them, and the
 * bound graph is kept until a value of another shape is set. A run that fails or is cancelled leaves all states and the
 * outputs of the last successful run unchanged. */
#include "base/budget.h"
#include "base/lock.h"
#include "ref/eval.h"

struct rlx_evaluator {
  rlx_lock lock;
  rlx_graph *graph;    /* as given: its leaf names and node ids are those of the interface */
  rlx_graph *bound;    /* without symbols; NULL until the shapes are known. Same node ids */
  rlx_tensor *leaves;  /* by node id; data NULL until set */
  bool *given;         /* by node id: set by the caller, not a state initialised to zero */
  rlx_tensor *outputs; /* of the last successful run */
  uint64_t runs;
  rlx_cancel_fn cancel;
  void *cancel_user;
  rlx_limits limits;
};

static void evaluator_free(void *object) {
  rlx_evaluator *e = object;
  for (uint32_t id = 1; e->leaves && id < rlx_graph_end(e->graph); id++) rlx_tensor_deinit(&e->leaves[id]);
  for (size_t i = 0; e->outputs && i < e->graph->outputs.n; i++) rlx_tensor_deinit(&e->outputs[i]);
  rlx_mem_free(e->leaves);
  rlx_mem_free(e->given);
  rlx_mem_free(e->outputs);
  rlx_graph_destroy(e->bound);
  rlx_graph_destroy(e->graph);
  rlx_lock_deinit(&e->lock);
  rlx_mem_free(e);
}

void rlx_evaluator_destroy(rlx_evaluator *e) {
  if (e) rlx_lock_end(&e->lock);
}

rlx_status rlx_evaluator_create(const rlx_graph *g, rlx_evaluator **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_evaluator_create: out is NULL");
  *out = NULL;
  if (!g) return RLX_FAIL(RLX_INVALID, "rlx_evaluator_create: the graph is NULL");
  RLX_TRY(rlx_graph_status(g));
  if (!g->finished) return RLX_FAIL(RLX_INVALID, "rlx_evaluator_create: the graph is not finished");
  rlx_evaluator *e = rlx_new(rlx_evaluator);
  if (!e) return RLX_FAIL(RLX_NO_MEMORY, "an evaluator");
  rlx_status s = rlx_lock_init(&e->lock, "evaluator", evaluator_free, e);
  if (s) {
    rlx_mem_free(e);
    return s;
  }
  e->graph = rlx_graph_retain(g);
  e->leaves = rlx_mem_calloc(rlx_graph_end(g), sizeof *e->leaves);
  e->given = rlx_mem_calloc(rlx_graph_end(g), sizeof *e->given);
  e->outputs = rlx_mem_calloc(g->outputs.n, sizeof *e->outputs);
  if (!e->leaves || !e->given || !e->outputs) {
    rlx_evaluator_destroy(e);
    return RLX_FAIL(RLX_NO_MEMORY, "an evaluator");
  }
  *out = e;
  return RLX_OK;
}

void rlx_evaluator_set_cancel(rlx_evaluator *e, rlx_cancel_fn fn, void *user) {
  if (!e || !rlx_lock_wait(&e->lock)) return;
  e->cancel = fn;
  e->cancel_user = user;
  rlx_lock_release(&e->lock);
}

void rlx_evaluator_set_limits(rlx_evaluator *e, const rlx_limits *limits) {
  if (!e || !rlx_lock_wait(&e->lock)) return;
  e->limits = limits ? *limits : (rlx_limits){0};
  rlx_lock_release(&e->lock);
}

/* ---- setting values ---- */

static rlx_status check_value(const rlx_graph *g, rlx_node id, const rlx_tensor *v) {
  const rlx_type *want = &rlx_graph_at(g, id)->type;
  if (v->dtype != want->dtype)
    return RLX_FAIL(RLX_INVALID, "is %s but must be %s", rlx_dtype_name(v->dtype), rlx_dtype_name(want->dtype));
  bool fits = v->shape.n == want->shape.n;
  for (int i = 0; fits && i < want->shape.n; i++)
    fits = rlx_dim_is_open(want->shape.v[i]) || v->shape.v[i] == want->shape.v[i];
  if (!fits) return RLX_FAIL(RLX_INVALID, "is %s but must be %s", RLX_DIMS_TEXT(v->shape), RLX_DIMS_TEXT(want->shape));
  return rlx_tensor_check(v);
}

static rlx_status set(rlx_evaluator *e, const char *name, const rlx_tensor *value) {
  rlx_node id = rlx_graph_leaf(e->graph, name);
  if (!id) return RLX_FAIL(RLX_NOT_FOUND, "the graph has no input, param or state '%s'", name);
  RLX_TRY_AT(rlx_graph_name_symbols(e->graph, check_value(e->graph, id, value)), "%s '%s'",
             rlx_op_table_get(rlx_graph_at(e->graph, id)->op)->name, name);
  rlx_tensor copy;
  RLX_TRY_AT(rlx_tensor_create(&(rlx_type){value->dtype, value->shape}, &copy), "'%s'", name);
  if (copy.bytes) memcpy(copy.data, value->data, copy.bytes);
  bool reshaped = !e->leaves[id].data || !rlx_dims_equal(&e->leaves[id].shape, &copy.shape);
  if (reshaped && e->graph->symbols.n) {
    rlx_graph_destroy(e->bound);
    e->bound = NULL;
  }
  rlx_tensor_deinit(&e->leaves[id]);
  e->leaves[id] = copy;
  e->given[id] = true;
  return RLX_OK;
}

rlx_status rlx_evaluator_set(rlx_evaluator *e, const char *name, const rlx_tensor *value) {
  if (!e || !name || !value)
    return RLX_FAIL(RLX_INVALID, "rlx_evaluator_set: %s is NULL", !e ? "the evaluator" : !name ? "name" : "value");
  RLX_TRY(rlx_lock_try(&e->lock, "rlx_evaluator_set"));
  rlx_status s = set(e, name, value);
  rlx_lock_release(&e->lock);
  return s;
}

/* ---- running ---- */

/* States that the caller never set do not bind symbols: their shapes follow from the symbols. */
static rlx_status bind_to_values(rlx_evaluator *e) {
  if (e->bound) return RLX_OK;
  if (!e->graph->symbols.n) {
    e->bound = rlx_graph_retain(e->graph);
    return RLX_OK;
  }
  rlx_named_shape *shapes = rlx_mem_calloc(rlx_graph_end(e->graph), sizeof *shapes);
  if (!shapes) return RLX_FAIL(RLX_NO_MEMORY, "binding");
  size_t n = 0;
  for (rlx_node id = 1; id < rlx_graph_end(e->graph); id++)
    if (e->given[id]) shapes[n++] = (rlx_named_shape){rlx_node_name(e->graph, id), e->leaves[id].shape};
  rlx_status s = rlx_graph_bind_inputs(e->graph, shapes, n, &e->bound);
  rlx_mem_free(shapes);
  return s;
}

/* Storage of one run: its outputs, the states it changes, and zeros for states that start with it. If the run succeeds,
 * the evaluator takes over outputs and states. */
typedef struct run_storage {
  rlx_tensor *outputs, *states, *zeros;
  const rlx_tensor **leaves;
} run_storage;

static void storage_deinit(const rlx_evaluator *e, run_storage *r) {
  for (size_t i = 0; r->outputs && i < e->graph->outputs.n; i++) rlx_tensor_deinit(&r->outputs[i]);
  for (uint32_t id = 1; r->states && id < rlx_graph_end(e->graph); id++) rlx_tensor_deinit(&r->states[id]);
  for (uint32_t id = 1; r->zeros && id < rlx_graph_end(e->graph); id++) rlx_tensor_deinit(&r->zeros[id]);
  rlx_mem_free(r->outputs);
  rlx_mem_free(r->states);
  rlx_mem_free(r->zeros);
  rlx_mem_free((void *)r->leaves);
}

/* A state that was never set starts as zeros, and again when the symbols give it another shape. */
static rlx_status init_state(const rlx_evaluator *e, rlx_node id, run_storage *r) {
  const rlx_type *type = &rlx_graph_at(e->bound, id)->type;
  RLX_TRY(rlx_tensor_create(type, &r->states[id]));
  if (!e->leaves[id].data || !rlx_dims_equal(&e->leaves[id].shape, &type->shape)) {
    RLX_TRY(rlx_tensor_create(type, &r->zeros[id]));
    memset(r->zeros[id].data, 0, r->zeros[id].bytes);
    r->leaves[id] = &r->zeros[id];
  }
  memcpy(r->states[id].data, r->leaves[id]->data, r->states[id].bytes);
  return RLX_OK;
}

static rlx_status storage_init(const rlx_evaluator *e, run_storage *r) {
  const rlx_graph *g = e->bound;
  r->outputs = rlx_mem_calloc(g->outputs.n, sizeof *r->outputs);
  r->states = rlx_mem_calloc(rlx_graph_end(g), sizeof *r->states);
  r->zeros = rlx_mem_calloc(rlx_graph_end(g), sizeof *r->zeros);
  r->leaves = rlx_mem_calloc(rlx_graph_end(g), sizeof *r->leaves);
  if (!r->outputs || !r->states || !r->zeros || !r->leaves) return RLX_FAIL(RLX_NO_MEMORY, "a run");
  for (size_t i = 0; i < g->outputs.n; i++)
    RLX_TRY(rlx_tensor_create(&rlx_graph_at(g, g->outputs.v[i].node)->type, &r->outputs[i]));
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    r->leaves[id] = e->leaves[id].data ? &e->leaves[id] : NULL;
    if (rlx_graph_at(g, id)->op == RLX_OP_state) RLX_TRY(init_state(e, id, r));
  }
  return RLX_OK;
}

static void swap_tensors(rlx_tensor *a, rlx_tensor *b) {
  rlx_tensor t = *a;
  *a = *b;
  *b = t;
}

static rlx_status run_once(rlx_evaluator *e, run_storage *r) {
  RLX_TRY(storage_init(e, r));
  rlx_eval_context ctx = {.draw = e->runs, .cancel = e->cancel, .cancel_user = e->cancel_user};
  RLX_TRY(rlx_eval_graph(e->bound, &ctx, r->leaves, r->outputs, r->states));
  for (size_t i = 0; i < e->bound->outputs.n; i++) swap_tensors(&e->outputs[i], &r->outputs[i]);
  for (rlx_node id = 1; id < rlx_graph_end(e->bound); id++)
    if (r->states[id].data) swap_tensors(&e->leaves[id], &r->states[id]);
  e->runs++;
  return RLX_OK;
}

rlx_status rlx_evaluator_run(rlx_evaluator *e) {
  if (!e) return RLX_FAIL(RLX_INVALID, "rlx_evaluator_run: the evaluator is NULL");
  rlx_budget budget;
  run_storage r = {0};
  RLX_TRY(rlx_lock_try(&e->lock, "rlx_evaluator_run"));
  rlx_budget_begin(&budget, "rlx_evaluator_run", &e->limits, 0,
                   &(rlx_watch){.cancel = e->cancel, .user = e->cancel_user});
  rlx_status s = bind_to_values(e);
  if (!s) s = run_once(e, &r);
  storage_deinit(e, &r);
  s = rlx_budget_end(&budget, s);
  rlx_lock_release(&e->lock);
  return s;
}

static rlx_status get(const rlx_evaluator *e, const char *name, rlx_tensor *view) {
  uint32_t i;
  if (rlx_name_map_get(&e->graph->output_names, name, &i)) {
    if (!e->outputs[i].data) return RLX_FAIL(RLX_INVALID, "output '%s' has no value: nothing ran yet", name);
    *view = e->outputs[i];
    return RLX_OK;
  }
  rlx_node id = rlx_graph_leaf(e->graph, name);
  if (!id || rlx_graph_at(e->graph, id)->op != RLX_OP_state)
    return RLX_FAIL(RLX_NOT_FOUND, "the graph has no output or state '%s'", name);
  if (!e->leaves[id].data) return RLX_FAIL(RLX_INVALID, "state '%s' has no value: nothing ran yet", name);
  *view = e->leaves[id];
  return RLX_OK;
}

rlx_status rlx_evaluator_get(const rlx_evaluator *e, const char *name, rlx_tensor *view) {
  if (!view) return RLX_FAIL(RLX_INVALID, "rlx_evaluator_get: view is NULL");
  *view = (rlx_tensor){0};
  if (!e || !name) return RLX_FAIL(RLX_INVALID, "rlx_evaluator_get: %s is NULL", e ? "name" : "the evaluator");
  rlx_lock *lock = &((rlx_evaluator *)(uintptr_t)e)->lock; /* only the lock changes */
  RLX_TRY(rlx_lock_try_nested(lock, "rlx_evaluator_get"));
  rlx_status s = get(e, name, view);
  rlx_lock_release(lock);
  return s;
}
