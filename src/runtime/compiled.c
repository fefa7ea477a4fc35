/* Compile pipeline, and the session's cache of its results.
 *
 * bind -> passes (fusion and rewrites by the device's claims) -> weight layouts -> plan (checked) -> spans.
 *
 * The result depends only on the key and the device, so equal keys share one result. Two threads that request the same
 * graph at the same time may both compile it; the second to finish uses the result of the first. */
#include "runtime/compiled.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* ---- keys ---- */

void rlx_compile_key_deinit(rlx_compile_key *k) {
  rlx_graph_destroy(k->graph);
  rlx_mem_free(k->sizes);
  rlx_mem_free(k->passes);
  rlx_mem_free(k->without);
  *k = (rlx_compile_key){0};
}

static rlx_status copy_bytes(const void *from, size_t bytes, void *out_pointer) {
  void *p = NULL;
  if (from && !(p = rlx_mem_alloc(bytes))) return RLX_FAIL(RLX_NO_MEMORY, "a copy of %zu bytes", bytes);
  if (from && bytes) memcpy(p, from, bytes);
  memcpy(out_pointer, &p, sizeof p);
  return RLX_OK;
}

rlx_status rlx_compile_key_copy(const rlx_compile_key *from, rlx_compile_key *to) {
  *to = *from;
  to->graph = rlx_graph_retain(from->graph);
  to->sizes = NULL, to->passes = NULL, to->without = NULL;
  rlx_status s = copy_bytes(from->sizes, from->graph->symbols.n * sizeof *from->sizes, &to->sizes);
  if (!s) s = copy_bytes(from->passes, from->passes ? strlen(from->passes) + 1 : 0, &to->passes);
  if (!s) s = copy_bytes(from->without, from->without ? strlen(from->without) + 1 : 0, &to->without);
  if (s) rlx_compile_key_deinit(to);
  return s;
}

static uint64_t hash_text(uint64_t h, const char *text) {
  return text ? rlx_hash_bytes(h + 1, text, strlen(text)) : h * 31;
}

static uint64_t key_hash(const rlx_compile_key *k) {
  uint64_t h = rlx_hash_bytes(rlx_graph_hash(k->graph), &k->switches, sizeof k->switches);
  h = rlx_hash_bytes(h, k->sizes, k->graph->symbols.n * sizeof *k->sizes);
  return hash_text(hash_text(h, k->passes), k->without);
}

static bool same_text(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : !a && !b; }

static bool key_same(const rlx_compile_key *a, const rlx_compile_key *b) {
  size_t n = a->graph->symbols.n;
  return a->switches == b->switches && same_text(a->passes, b->passes) && same_text(a->without, b->without) &&
         n == b->graph->symbols.n && (n == 0 || memcmp(a->sizes, b->sizes, n * sizeof *a->sizes) == 0) &&
         (a->graph == b->graph || rlx_graph_same(a->graph, b->graph));
}

/* ---- progress ---- */

/* Progress of a compile: the passes, then layouts, plan and spans. */
typedef struct progress {
  const rlx_watch *watch;
  uint64_t done, total;
} progress;

static void report(progress *p) {
  p->done++;
  if (p->watch && p->watch->progress) p->watch->progress(p->watch->user, "compile", p->done, p->total);
}

static void report_pass(void *user, const char *pass, const rlx_graph *g) {
  (void)pass;
  (void)g;
  report(user);
}

static rlx_stop stop_of(const rlx_watch *w) {
  return (rlx_stop){.fn = w ? w->cancel : NULL, .user = w ? w->user : NULL};
}

/* ---- the pipeline ---- */

typedef struct target {
  rlx_claims *claims;
  const uint32_t *layout; /* NULL while the passes run */
  rlx_status failed;      /* first failure in a callback, which cannot return it, and its message */
  char message[256];
} target;

static const rlx_claim *ask(target *t, const rlx_graph *g, rlx_node n) {
  static const rlx_claim refused = {0};
  const rlx_claim *claim;
  rlx_status s = rlx_claims_get(t->claims, g, n, t->layout, &claim);
  if (s && !t->failed) {
    t->failed = s;
    snprintf(t->message, sizeof t->message, "%s", rlx_message());
  }
  return s ? &refused : claim;
}

/* A failed query takes precedence over `s`, which is a consequence of it. */
static rlx_status answered(const target *t, rlx_status s) {
  return t->failed ? RLX_FAIL(t->failed, "asking the device: %s", t->message) : s;
}

static bool supports(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  const rlx_claim *claim = ask(user, g, n);
  *why = claim->why;
  return claim->native;
}

static void needs(void *user, const rlx_graph *g, rlx_node n, rlx_node_needs *out) {
  const rlx_claim *claim = ask(user, g, n);
  *out = (rlx_node_needs){.native = claim->native,
                          .in_place = claim->native ? claim->in_place : 0,
                          .work_bytes = claim->native ? claim->work_bytes : 0};
}

static rlx_status run_passes(rlx_compiled *c, const rlx_watch *watch, progress *p) {
  const rlx_compile_key *k = &c->key;
  rlx_graph *bound;
  RLX_TRY(rlx_graph_bind_sizes(k->graph, k->sizes, &bound));
  target t = {.claims = c->claims};
  rlx_optimize_options o = {RLX_OPTIMIZE_OPTIONS_INIT, .passes = k->passes, .without = k->without,
                            .supports = supports,      .supports_user = &t, .switches = k->switches,
                            .after = report_pass,      .after_user = p};
  rlx_stop stop = stop_of(watch);
  const rlx_rewrite_large *large = NULL;
#ifndef RLX_NO_GPUS
  const rlx_rewrite_large splits = {c->device->backend->split_large, c->device->info.max_window_bytes};
  if (splits.split && splits.max_bytes) large = &splits;
#endif
  rlx_status s = rlx_optimize_for(bound, &o, large, &stop, &c->optimized);
  rlx_graph_destroy(bound);
  s = answered(&t, s);
  if (!s) c->graph = rlx_optimized_graph(c->optimized);
  return s;
}

static rlx_status make_plan(rlx_compiled *c, const rlx_watch *watch) {
  const rlx_compile_key *k = &c->key;
  const rlx_device_info *info = &c->device->info;
  target t = {.claims = c->claims, .layout = c->layout};
  rlx_stop stop = stop_of(watch);
  rlx_plan_options o = {.align = info->align,
                        .view_align = info->view_align,
                        .max_block_bytes = info->max_block_bytes,
                        .max_window_bytes = info->max_window_bytes,
                        .needs = needs,
                        .needs_user = &t,
                        .switches = k->switches,
                        .cancel = stop.fn,
                        .cancel_user = stop.user};
  return answered(&t, rlx_plan_build(c->graph, &o, &c->plan));
}

/* ---- slots ---- */

static rlx_status fill_slot(rlx_compiled *c, const rlx_graph *load, rlx_weight_slot *slot) {
  const rlx_node_rec *n = rlx_graph_at(c->graph, slot->node);
  slot->type = n->type;
  slot->layout = c->layout[slot->node];
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(n->type.dtype, n->type.shape, &bytes));
  slot->bytes = slot->layout ? c->device->backend->layout_bytes(c->device, slot->layout, &n->type) : bytes;
  uint32_t output;
  if (n->op == RLX_OP_constant) {
    slot->kind = RLX_WEIGHT_CONSTANT;
  } else if (load && rlx_name_map_get(&load->output_names, rlx_node_name(c->graph, slot->node), &output)) {
    slot->kind = RLX_WEIGHT_COMPUTED;
    return rlx_recipe_make(load, output, &slot->recipe);
  }
  return RLX_OK;
}

static rlx_status make_slots(rlx_compiled *c) {
  uint32_t n = c->plan->n_weights;
  c->slots = rlx_mem_calloc(n, sizeof *c->slots);
  if (!c->slots) return RLX_FAIL(RLX_NO_MEMORY, "%u weights", (unsigned)n);
  c->uses = rlx_mem_calloc(rlx_graph_end(c->graph), sizeof *c->uses);
  if (!c->uses) return RLX_FAIL(RLX_NO_MEMORY, "%u nodes", (unsigned)rlx_graph_end(c->graph));
  rlx_graph_count_uses(c->graph, c->uses);
  for (uint32_t i = 0; i < n; i++) {
    c->slots[i].node = c->plan->weights[i];
    RLX_TRY(fill_slot(c, rlx_optimized_load(c->optimized), &c->slots[i]));
  }
  return RLX_OK;
}

/* ---- spans ---- */

static rlx_status make_spans(rlx_compiled *c) {
  const rlx_plan *p = c->plan;
  size_t count = 0;
  for (size_t i = 0; i < p->n_steps; i++) count += i == 0 || p->steps[i].host != p->steps[i - 1].host;
  c->spans = rlx_mem_calloc(count, sizeof *c->spans);
  if (!c->spans) return RLX_FAIL(RLX_NO_MEMORY, "%zu spans", count);
  for (size_t i = 0; i < p->n_steps; i++) {
    if (i == 0 || p->steps[i].host != p->steps[i - 1].host)
      c->spans[c->n_spans++] = (rlx_span){.host = p->steps[i].host, .first = i, .program_first = c->n_device_steps};
    c->spans[c->n_spans - 1].n++;
    c->n_device_steps += !p->steps[i].host;
  }
  return RLX_OK;
}

static rlx_status note_claims(rlx_compiled *c) {
  const rlx_plan *p = c->plan;
  c->step_claims = rlx_mem_calloc(p->n_steps, sizeof *c->step_claims);
  if (!c->step_claims) return RLX_FAIL(RLX_NO_MEMORY, "the claims of %zu steps", p->n_steps);
  for (size_t i = 0; i < p->n_steps; i++)
    if (!p->steps[i].host && p->steps[i].kind == RLX_STEP_NODE)
      RLX_TRY(rlx_claims_get(c->claims, c->graph, p->steps[i].node, c->layout, &c->step_claims[i]));
  return RLX_OK;
}

/* Checks the plan, not single nodes: a node may be native alone but not with the layouts of its weights. */
static rlx_status check_forbid(const rlx_compiled *c) {
  bool forbids = c->key.switches & RLX_SWITCH_FORBID_HOST;
  for (size_t i = 0; forbids && i < c->plan->n_steps; i++)
    if (c->plan->steps[i].host)
      return RLX_FAIL(RLX_UNSUPPORTED, "host execution is forbidden but node %u (%s) needs it",
                      (unsigned)c->plan->steps[i].node,
                      rlx_op_table_get(rlx_graph_at(c->graph, c->plan->steps[i].node)->op)->name);
  return RLX_OK;
}

static rlx_status run_pipeline(rlx_compiled *c, const rlx_watch *watch) {
  progress p = {.watch = watch, .total = rlx_pass_count() + 3};
  RLX_TRY(rlx_claims_create(c->device, c->key.switches, &c->claims));
  RLX_TRY(run_passes(c, watch, &p));
  p.done = rlx_pass_count(); /* counts disabled passes as well */
  RLX_TRY(rlx_layouts_decide(c->device, c->graph, c->claims, &c->layout));
  report(&p);
  RLX_TRY_AT(make_plan(c, watch), "planning");
  report(&p);
  RLX_TRY(check_forbid(c));
  RLX_TRY(make_slots(c));
  RLX_TRY(make_spans(c));
  RLX_TRY(note_claims(c));
  report(&p);
  return RLX_OK;
}

/* ---- the object ---- */

static void compiled_free(rlx_compiled *c) {
  rlx_compiled_constants_free(c);
  for (uint32_t i = 0; c->slots && i < c->plan->n_weights; i++) rlx_graph_destroy(c->slots[i].recipe);
  rlx_mem_free(c->slots);
  rlx_mem_free(c->spans);
  rlx_mem_free(c->step_claims);
  rlx_claims_destroy(c->claims);
  rlx_mem_free(c->layout);
  rlx_mem_free(c->uses);
  rlx_plan_destroy(c->plan);
  rlx_optimized_destroy(c->optimized);
  rlx_compile_key_deinit(&c->key);
  rlx_device_release(c->device);
  rlx_mutex_destroy(&c->lock);
  rlx_mem_free(c);
}

rlx_compiled *rlx_compiled_retain(rlx_compiled *c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
  return c;
}

void rlx_compiled_release(rlx_compiled *c) {
  if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) compiled_free(c);
}

static rlx_status compile(rlx_session *s, const rlx_compile_key *key, uint64_t hash, const rlx_watch *watch,
                          rlx_compiled **out) {
  uint64_t begin = rlx_now_ns();
  rlx_compiled *c = rlx_new(rlx_compiled);
  if (!c) return RLX_FAIL(RLX_NO_MEMORY, "a compiled graph");
  rlx_status status = rlx_session_mutex_init(&c->lock, false);
  if (status) {
    rlx_mem_free(c);
    return status;
  }
  atomic_init(&c->refs, 1);
  c->hash = hash;
  c->device = rlx_device_retain(s->device);
  status = rlx_compile_key_copy(key, &c->key);
  rlx_budget budget;
  rlx_session_begin(s, &budget, "compiling", RLX_LOAD_WORK, watch);
  rlx_trace_begin("compile");
  if (!status) status = run_pipeline(c, watch);
  rlx_trace_end("compile");
  c->bytes = budget.taken > 0 ? (uint64_t)budget.taken : 0;
  for (uint32_t i = 0; !status && i < c->plan->n_weights; i++)
    if (c->slots[i].kind == RLX_WEIGHT_CONSTANT) c->bytes += c->slots[i].bytes;
  status = rlx_budget_end(&budget, status);
  c->seconds = (double)(rlx_now_ns() - begin) * 1e-9;
  if (status) compiled_free(c);
  else *out = c;
  return status;
}

/* ---- the cache ---- */

static rlx_compiled *compiled_of(const rlx_cached *e) {
  return (rlx_compiled *)((char *)(uintptr_t)e - offsetof(rlx_compiled, cached));
}

/* In use if there are references besides the cache's. Only the cache can hand out new references to an unused entry. */
static bool is_used(const rlx_cached *e) { return atomic_load(&compiled_of(e)->refs) > 1; }

static void take_cached(rlx_cached *e) {
  rlx_compiled *c = compiled_of(e);
  rlx_session *s = c->session;
  size_t i = 0;
  while (s->compiled.v[i] != c) i++;
  s->compiled.v[i] = s->compiled.v[--s->compiled.n];
}

static void free_cached(rlx_cached *e) { rlx_compiled_release(compiled_of(e)); }

/* Under the lock. */
static rlx_compiled *find_cached(rlx_session *s, const rlx_compile_key *key, uint64_t hash) {
  for (size_t i = 0; i < s->compiled.n; i++) {
    rlx_compiled *c = s->compiled.v[i];
    if (c->hash != hash || !key_same(&c->key, key)) continue;
    rlx_cache_use(&s->cache, &c->cached);
    rlx_cache_leave(&s->cache, &c->cached); /* `refs` shows whether it is in use */
    return rlx_compiled_retain(c);
  }
  return NULL;
}

/* Under the lock. If the list cannot grow, the graph is not cached; that is not an error. */
static void keep_cached(rlx_session *s, rlx_compiled *c) {
  static const rlx_cached_class class = {is_used, take_cached, free_cached};
  if (!rlx_array_push(&s->compiled, c)) return;
  c->session = s;
  rlx_cache_add(&s->cache, &rlx_compiled_retain(c)->cached, &class, c->bytes);
  rlx_cache_leave(&s->cache, &c->cached);
}

rlx_status rlx_compiled_get(rlx_session *s, const rlx_compile_key *key, bool no_cache, const rlx_watch *watch,
                            rlx_compiled **out) {
  uint64_t hash = key_hash(key);
  *out = NULL;
  if (!no_cache) {
    rlx_cache_lock(&s->cache);
    *out = find_cached(s, key, hash);
    s->n_hits += *out != NULL;
    rlx_cache_unlock(&s->cache);
    if (*out) return RLX_OK;
  }
  rlx_compiled *c;
  RLX_TRY(compile(s, key, hash, watch, &c));
  rlx_cache_lock(&s->cache);
  s->n_compiled++;
  rlx_compiled *twin = no_cache ? NULL : find_cached(s, key, hash);
  if (!no_cache && !twin) keep_cached(s, c);
  rlx_cache_unlock(&s->cache);
  if (twin) rlx_compiled_release(c);
  *out = twin ? twin : c;
  rlx_cache_trim(&s->cache);
  return RLX_OK;
}
