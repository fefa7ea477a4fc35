/* Executables: creation, cloning, and selection of the instance for the current sizes. */
#include "runtime/executable.h"
#include "base/sized.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ---- locking ---- */

rlx_status rlx_enter(rlx_executable *e, const char *call) {
  if (!e) return RLX_FAIL(RLX_INVALID, "%s: the executable is NULL", call);
  RLX_TRY(rlx_lock_try(&e->lock, call));
  rlx_session_begin(e->session, &e->budget, call, 0, &e->watch);
  return RLX_OK;
}

rlx_status rlx_leave(rlx_executable *e, rlx_status s) {
  s = rlx_budget_end(&e->budget, s);
  rlx_lock_release(&e->lock);
  return s;
}

rlx_status rlx_enter_states(rlx_executable *e, const char *call) {
  RLX_TRY(rlx_enter(e, call));
  rlx_status s = e->has_states ? rlx_states_begin(e->states, call) : RLX_OK;
  return s ? rlx_leave(e, s) : RLX_OK;
}

rlx_status rlx_leave_states(rlx_executable *e, rlx_status s) {
  if (e->has_states) rlx_states_end(e->states);
  return rlx_leave(e, s);
}

rlx_status rlx_enter_nested(const rlx_executable *e, const char *call) {
  if (!e) return RLX_FAIL(RLX_INVALID, "%s: the executable is NULL", call);
  return rlx_lock_try_nested(&((rlx_executable *)(uintptr_t)e)->lock, call); /* only the lock changes */
}

void rlx_leave_nested(const rlx_executable *e) { rlx_lock_release(&((rlx_executable *)(uintptr_t)e)->lock); }

/* ---- names ---- */

rlx_leaf *rlx_leaf_find(const rlx_executable *e, const char *name) {
  rlx_node node = name ? rlx_graph_leaf(e->key.graph, name) : RLX_NONE;
  size_t low = 0, high = e->n_leaves;
  while (node && low < high) {
    size_t middle = low + (high - low) / 2;
    if (e->leaves[middle].node == node) return &e->leaves[middle];
    if (e->leaves[middle].node < node) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

uint32_t rlx_result_find(const rlx_executable *e, const char *name) {
  uint32_t i;
  return name && rlx_name_map_get(&e->key.graph->output_names, name, &i) ? i : UINT32_MAX;
}

static rlx_status list_leaves(rlx_executable *e) {
  const rlx_graph *g = e->key.graph;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) e->n_leaves += rlx_node_name(g, id) != NULL;
  e->leaves = rlx_mem_calloc(e->n_leaves, sizeof *e->leaves);
  e->results = rlx_mem_calloc(g->outputs.n, sizeof *e->results);
  if (!e->leaves || !e->results) return RLX_FAIL(RLX_NO_MEMORY, "%zu names", e->n_leaves);
  e->n_results = g->outputs.n;
  size_t next = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    if (rlx_node_name(g, id))
      e->leaves[next++] = (rlx_leaf){.node = id, .op = rlx_graph_at(g, id)->op, .name = rlx_node_name(g, id)};
  for (size_t i = 0; i < e->n_leaves; i++) e->has_states = e->has_states || e->leaves[i].op == RLX_OP_state;
  return RLX_OK;
}

/* ---- instances ---- */

/* Sizes of a run: those fixed at compile time, and those inferred from the shapes of the values. */
static rlx_status infer_sizes(rlx_executable *e) {
  const rlx_graph *g = e->key.graph;
  for (size_t i = 0; i < g->symbols.n; i++) e->sizes[i] = e->key.sizes[i];
  for (size_t i = 0; e->is_open && i < e->n_leaves; i++) {
    const rlx_leaf *l = &e->leaves[i];
    if (l->has_shape) RLX_TRY(rlx_graph_sizes_add(g, &(rlx_named_shape){l->name, l->shape}, e->sizes));
  }
  for (size_t i = 0; i < g->symbols.n; i++)
    if (e->sizes[i] < 0)
      return RLX_FAIL(RLX_INVALID, "symbol '%s' is not known: no value was written that has it, nor was it bound",
                      g->symbols.v[i]);
  return RLX_OK;
}

static bool has_sizes(const rlx_compiled *c, const rlx_executable *e) {
  size_t n = e->key.graph->symbols.n;
  return n == 0 || memcmp(c->key.sizes, e->sizes, n * sizeof *e->sizes) == 0;
}

static rlx_status get_compiled(rlx_executable *e, const rlx_watch *watch, rlx_compiled **out) {
  rlx_compile_key key = e->key;
  key.sizes = e->sizes;
  return rlx_compiled_get(e->session, &key, e->no_cache, watch, out);
}

static rlx_instance *instance_of(rlx_cached *c) { return (rlx_instance *)((char *)c - offsetof(rlx_instance, cached)); }

static void take_instance(rlx_cached *c) {
  rlx_instance *i = instance_of(c);
  rlx_executable *e = i->executable;
  size_t k = 0;
  while (e->instances.v[k] != i) k++;
  e->instances.v[k] = e->instances.v[--e->instances.n];
}

static void free_instance(rlx_cached *c) { rlx_instance_destroy(instance_of(c)); }

/* The new instance has the executable as its user, like the result of use_instance. */
static rlx_status add_instance(rlx_executable *e, rlx_compiled *c, rlx_instance **out) {
  static const rlx_cached_class class = {NULL, take_instance, free_instance};
  rlx_cache *cache = &e->session->cache;
  RLX_TRY(rlx_instance_create(e->session, c, e->weights, e->states, e->scratch, out));
  rlx_cache_lock(cache);
  bool has_room = rlx_array_push(&e->instances, *out);
  if (has_room) rlx_cache_add(cache, &(*out)->cached, &class, (*out)->bytes);
  (*out)->executable = e;
  rlx_cache_unlock(cache);
  if (has_room) return RLX_OK;
  rlx_instance_destroy(*out);
  *out = NULL;
  return RLX_FAIL(RLX_NO_MEMORY, "an instance");
}

static rlx_instance *use_instance(rlx_executable *e) {
  rlx_instance *i = NULL;
  rlx_cache_lock(&e->session->cache);
  for (size_t k = 0; k < e->instances.n && !i; k++)
    if (has_sizes(e->instances.v[k]->compiled, e)) i = e->instances.v[k];
  if (i) rlx_cache_use(&e->session->cache, &i->cached);
  rlx_cache_unlock(&e->session->cache);
  return i;
}

/* The previous instance may be evicted from here on. */
static void set_now(rlx_executable *e, rlx_instance *i) {
  rlx_cache_lock(&e->session->cache);
  if (e->now) rlx_cache_leave(&e->session->cache, &e->now->cached);
  e->now = i;
  rlx_cache_unlock(&e->session->cache);
}

/* A state owned by this executable alone is zeroed when the sizes give it another shape, unless it was just written. */
static rlx_status begin_state(rlx_executable *e, const rlx_instance *i, uint32_t k) {
  rlx_state_entry *entry = i->state[k];
  bool same = false;
  for (uint32_t j = 0; j < e->now->compiled->plan->n_states && !same; j++) same = e->now->state[j] == entry;
  const rlx_leaf *l = rlx_leaf_find(e, entry->name);
  bool written = l && l->is_dirty && rlx_dims_equal(&l->shape, &entry->type.shape);
  return same || written ? RLX_OK : rlx_states_zero_one(i->states, entry);
}

/* A value uploaded from bound memory is lost with the old instance, and a value written before it is outdated. */
static void leave_taken(rlx_leaf *l) {
  if (!l->is_taken) return;
  rlx_tensor_deinit(&l->held);
  l->held_cap = 0;
  l->has_value = l->is_taken = false;
}

static rlx_status switch_to(rlx_executable *e, rlx_instance *i) {
  for (uint32_t k = 0; e->now && i->states->by_type && k < i->compiled->plan->n_states; k++)
    RLX_TRY(begin_state(e, i, k));
  set_now(e, i);
  for (size_t k = 0; k < e->n_leaves; k++) {
    rlx_leaf *l = &e->leaves[k];
    l->here = rlx_graph_leaf(i->compiled->graph, l->name);
    leave_taken(l);
    l->is_dirty = l->op == RLX_OP_input && l->held.data;
  }
  for (size_t k = 0; k < e->n_results; k++) e->results[k].here = i->compiled->graph->outputs.v[k].node;
  rlx_arena_set_lock(i->arena, &e->lock);
  return rlx_feeds_prepare(e);
}

static void use_compiled(rlx_executable *e, rlx_compiled *c) {
  rlx_compiled_release(e->compiled);
  e->compiled = c;
}

/* Finds the instance for the current sizes, or creates it. With plan_only none is created: *out is NULL if there is
 * none. */
static rlx_status find_instance(rlx_executable *e, const rlx_watch *watch, bool plan_only, rlx_instance **out) {
  *out = use_instance(e);
  if (*out) {
    use_compiled(e, rlx_compiled_retain((*out)->compiled));
    return RLX_OK;
  }
  if (!e->compiled || !has_sizes(e->compiled, e)) {
    rlx_compiled *c;
    RLX_TRY(get_compiled(e, watch, &c));
    use_compiled(e, c);
  }
  return plan_only ? RLX_OK : add_instance(e, e->compiled, out);
}

/* If another program has used the scratch, the input values in it are lost: those held on the host are uploaded again,
 * the others become unset. */
static rlx_status take_scratch(rlx_executable *e) {
  bool lost;
  RLX_TRY(rlx_instance_take(e->now, &lost));
  for (size_t k = 0; lost && k < e->n_leaves; k++) {
    rlx_leaf *l = &e->leaves[k];
    if (l->op != RLX_OP_input) continue;
    l->is_dirty = l->held.data != NULL;
    l->has_value = l->has_value && l->is_dirty;
    l->is_taken = false;
  }
  return RLX_OK;
}

rlx_status rlx_executable_resolve(rlx_executable *e, const rlx_watch *watch, bool plan_only) {
  if (e->is_open || !e->compiled) RLX_TRY(infer_sizes(e));
  if (!e->now || (e->is_open && !has_sizes(e->now->compiled, e))) {
    rlx_instance *i;
    RLX_TRY(find_instance(e, watch, plan_only, &i));
    rlx_status s = i ? switch_to(e, i) : RLX_OK;
    if (s && e->now != i) set_now(e, i); /* so that the next line releases it */
    if (s) set_now(e, NULL);             /* the next call selects an instance again */
    rlx_cache_trim(&e->session->cache);
    RLX_TRY(s);
  }
  return e->now && !plan_only ? take_scratch(e) : RLX_OK;
}

/* ---- creation ---- */

static void executable_free(void *object) {
  rlx_executable *e = object;
  rlx_cache_lock(&e->session->cache);
  for (size_t i = 0; i < e->instances.n; i++) rlx_cache_remove(&e->session->cache, &e->instances.v[i]->cached);
  rlx_cache_unlock(&e->session->cache);
  for (size_t i = 0; i < e->instances.n; i++) rlx_instance_destroy(e->instances.v[i]);
  rlx_array_deinit(&e->instances);
  rlx_scratch_release(e->scratch);
  for (size_t i = 0; e->leaves && i < e->n_leaves; i++) rlx_tensor_deinit(&e->leaves[i].held);
  rlx_mem_free(e->leaves);
  rlx_mem_free(e->results);
  rlx_mem_free(e->sizes);
  rlx_mem_free(e->feed_staging);
  if (e->ring) rlx_block_pool_put(e->session->blocks, e->ring);
  if (e->download) e->session->device->backend->block_destroy(e->session->device, e->download);
  rlx_profile_destroy(e->profile);
  rlx_compiled_release(e->compiled);
  rlx_compile_key_deinit(&e->key);
  rlx_weights_release(e->weights);
  rlx_states_release(e->states);
  rlx_session_release(e->session);
  rlx_lock_deinit(&e->lock);
  rlx_mem_free(e);
}

static rlx_status fill(rlx_executable *e, const rlx_compile_key *key, rlx_weights *w, rlx_states *st) {
  RLX_TRY(rlx_compile_key_copy(key, &e->key));
  e->sizes = rlx_mem_calloc(key->graph->symbols.n, sizeof *e->sizes);
  if (!e->sizes) return RLX_FAIL(RLX_NO_MEMORY, "the sizes of symbols");
  for (size_t i = 0; i < key->graph->symbols.n; i++) e->is_open = e->is_open || key->sizes[i] < 0;
  RLX_TRY(list_leaves(e));
  if (w) e->weights = rlx_weights_retain(w);
  else RLX_TRY(rlx_weights_create(e->session, &e->weights));
  if (st) e->states = rlx_states_retain(st);
  else RLX_TRY(rlx_states_create_own(e->session, &e->states));
  return RLX_OK;
}

typedef struct making {
  rlx_session *session;
  const rlx_compile_key *key;
  rlx_weights *weights; /* NULL: creates its own */
  rlx_states *states;   /* likewise */
  rlx_scratch *scratch; /* likewise */
  bool no_cache, plan_only;
  const rlx_watch *watch;
} making;

static rlx_status make(const making *m, rlx_executable **out) {
  *out = NULL;
  rlx_executable *e = rlx_new(rlx_executable);
  if (!e) return RLX_FAIL(RLX_NO_MEMORY, "an executable");
  rlx_status s = rlx_lock_init(&e->lock, "executable", executable_free, e);
  if (s) {
    rlx_mem_free(e);
    return s;
  }
  e->session = rlx_session_retain(m->session);
  e->no_cache = m->no_cache;
  e->plan_only = m->plan_only;
  if (m->scratch) e->scratch = rlx_scratch_retain(m->scratch);
  else s = rlx_scratch_create(e->session->blocks, &e->scratch);
  if (!s) s = fill(e, m->key, m->weights, m->states);
  if (!s && !e->is_open) s = rlx_executable_resolve(e, m->watch, m->plan_only);
  if (s) executable_free(e);
  else *out = e;
  return s;
}

static rlx_status check_options(const rlx_session *s, const rlx_graph *g, const rlx_compile_options *o) {
  if (!s || !g) return RLX_FAIL(RLX_INVALID, "rlx_compile: the %s is NULL", s ? "graph" : "session");
  RLX_TRY(rlx_session_check(s, "rlx_compile"));
  RLX_TRY(rlx_graph_status(g));
  if (!g->finished) return RLX_FAIL(RLX_INVALID, "rlx_compile: the graph is not finished");
  RLX_TRY(rlx_watch_check("rlx_compile", &o->watch));
  if (o->n_bindings && !o->bindings) return RLX_FAIL(RLX_INVALID, "rlx_compile: bindings is NULL");
  /* checked now: with open sizes the passes run only later */
  RLX_TRY(
    rlx_optimize_check(&(rlx_optimize_options){.passes = o->passes, .without = o->without, .switches = o->switches}));
  const rlx_device *w = o->weights ? o->weights->session->device : s->device;
  const rlx_device *st = o->states ? o->states->session->device : s->device;
  if (w != s->device || st != s->device)
    return RLX_FAIL(RLX_INVALID, "rlx_compile: the %s are on %s but the session is on %s",
                    w != s->device ? "weights" : "states", (w != s->device ? w : st)->info.name, s->device->info.name);
  return RLX_OK;
}

rlx_status rlx_compile(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options, rlx_executable **out) {
  return rlx_compile_sharing(s, g, options, NULL, out);
}

rlx_status rlx_compile_sharing(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options,
                               rlx_scratch *scratch, rlx_executable **out) {
  rlx_compile_options own;
  const rlx_compile_options *o = &own;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_compile: out is NULL");
  *out = NULL;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_compile_options", options, &own), "rlx_compile");
  RLX_TRY(check_options(s, g, o));
  rlx_mem_source *before = rlx_mem_use(s->source);
  int64_t *sizes = rlx_mem_calloc(g->symbols.n, sizeof *sizes);
  rlx_compile_key key = {.graph = (rlx_graph *)(uintptr_t)g, /* retained, not modified */
                         .sizes = sizes,
                         .passes = (char *)(uintptr_t)o->passes,
                         .without = (char *)(uintptr_t)o->without,
                         .switches = o->switches};
  rlx_status status = sizes ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the sizes of symbols");
  if (!status) status = rlx_graph_sizes(g, o->bindings, o->n_bindings, sizes);
  making m = {s, &key, o->weights, o->states, scratch, o->no_cache, o->plan_only, &o->watch};
  if (!status) status = make(&m, out);
  rlx_mem_free(sizes);
  rlx_mem_use(before);
  return status;
}

rlx_status rlx_executable_clone(const rlx_executable *e, rlx_executable **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_executable_clone: out is NULL");
  *out = NULL;
  if (!e) return RLX_FAIL(RLX_INVALID, "rlx_executable_clone: the executable is NULL");
  RLX_TRY(rlx_session_check(e->session, "rlx_executable_clone"));
  making m = {e->session, &e->key, e->weights, e->states, NULL, e->no_cache, e->plan_only, NULL};
  rlx_mem_source *before = rlx_mem_use(e->session->source);
  rlx_status s = make(&m, out);
  rlx_mem_use(before);
  RLX_TRY(s);
  atomic_store(&(*out)->draw, atomic_load(&e->draw));
  return RLX_OK;
}

void rlx_executable_destroy(rlx_executable *e) {
  if (e) rlx_lock_end(&e->lock);
}

rlx_queue *rlx_executable_queue(const rlx_executable *e) { return rlx_session_queue(e->states->session); }

uint64_t rlx_executable_host_bytes(const rlx_executable *e) {
  uint64_t bytes = sizeof *e + e->n_leaves * sizeof *e->leaves + e->n_results * sizeof *e->results;
  for (size_t i = 0; i < e->n_leaves; i++) bytes += e->leaves[i].held_cap;
  return bytes;
}

/* ---- settings ---- */

void rlx_executable_set_watch(rlx_executable *e, const rlx_watch *watch) {
  if (!e || !rlx_lock_wait(&e->lock)) return;
  e->watch = watch ? *watch : (rlx_watch){0};
  rlx_lock_release(&e->lock);
}

rlx_status rlx_executable_set_draw(rlx_executable *e, uint64_t draw) {
  RLX_TRY(rlx_enter(e, "rlx_executable_set_draw"));
  atomic_store(&e->draw, draw);
  return rlx_leave(e, RLX_OK);
}

rlx_status rlx_executable_observe(rlx_executable *e, rlx_observe_fn fn, void *user) {
  RLX_TRY(rlx_enter(e, "rlx_executable_observe"));
  e->observe = fn;
  e->observe_user = user;
  return rlx_leave(e, RLX_OK);
}

/* ---- queries ---- */

const rlx_graph *rlx_executable_graph(const rlx_executable *e) {
  if (rlx_enter_nested(e, "rlx_executable_graph")) return NULL;
  const rlx_graph *g = e->compiled ? e->compiled->graph : NULL;
  rlx_leave_nested(e);
  return g;
}

rlx_node rlx_executable_node(const rlx_executable *e, rlx_node source) {
  if (rlx_enter_nested(e, "rlx_executable_node")) return RLX_NONE;
  rlx_node n = RLX_NONE;
  if (e->compiled && rlx_node_is_of(e->key.graph, source))
    n = rlx_node_of(e->compiled->graph, rlx_optimized_origin(e->compiled->optimized, (uint32_t)source));
  rlx_leave_nested(e);
  return n;
}

rlx_status rlx_executable_arena(rlx_executable *e, rlx_arena **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_executable_arena: out is NULL");
  *out = NULL;
  RLX_TRY(rlx_enter(e, "rlx_executable_arena"));
  rlx_status s = rlx_executable_resolve(e, &e->watch, false);
  if (!s) *out = e->now->arena;
  return rlx_leave(e, s);
}
