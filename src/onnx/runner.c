/* Runs a model: imports it for the sizes of a run, keeps what was compiled, and reuses it for the same sizes.
 *
 * Compiled paths are kept in the session's program cache, which evicts the least recently used ones above its
 * budget. All paths share scratch memory, because a runner runs one at a time.
 *
 * A run is a path of steps: graphs on the device, values that are read, host steps. The next step depends on the
 * result of the previous one: on nothing after a graph, on the bytes after a value was read, on the sizes after a
 * host step. So the paths for one set of input sizes form a tree, and a run follows it as far as it exists. If a
 * branch is missing, the model is imported again from the start. The values of this run lead the importer to the
 * same step without running anything twice; from there on it adds steps to the tree. A new set of sizes may be bound
 * from a template instead (template.c). */
#include <stddef.h>
#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "base/sized.h"
#include "ir/switches.h"
#include "onnx/import.h"
#include "onnx/runner.h"
#include "runtime/weights.h"

enum {
  MAX_KEPT = 4096,   /* steps visited while importing before all paths are dropped */
  MAX_TEMPLATES = 8, /* per model; sizes that fit none of them are imported one by one */
  MAX_REFUSED = 2    /* failed symbolic imports before no more are tried */
};

/* ---- the tree ---- */

static void branches_free(onnx_branch *b);

static void step_free(onnx_step *s) {
  if (!s) return;
  rlx_executable_destroy(s->executable);
  for (uint32_t i = 0; i < s->n_in; i++) rlx_mem_free(s->known[i].data);
  for (size_t i = 0; i < s->links.n; i++) rlx_mem_free(s->links.v[i].leaf);
  rlx_array_deinit(&s->links);
  rlx_mem_free(s->why);
  branches_free(s->branches);
  rlx_mem_free(s);
}

static void branches_free(onnx_branch *b) {
  while (b) {
    onnx_branch *next = b->sibling;
    step_free(b->step);
    rlx_mem_free(b->key);
    rlx_mem_free(b);
    b = next;
  }
}

static onnx_branch *find_branch(onnx_branch *b, const void *key, size_t bytes) {
  while (b && (b->key_bytes != bytes || (bytes && memcmp(b->key, key, bytes) != 0))) b = b->sibling;
  return b;
}

static rlx_status add_branch(onnx_branch **list, const void *key, size_t bytes, onnx_branch **out) {
  onnx_branch *b = rlx_new(onnx_branch);
  void *copy = rlx_mem_alloc(bytes);
  if (!b || !copy) {
    rlx_mem_free(b);
    rlx_mem_free(copy);
    return RLX_FAIL(RLX_NO_MEMORY, "a branch of a model");
  }
  if (bytes) memcpy(copy, key, bytes);
  *b = (onnx_branch){.key = copy, .key_bytes = bytes, .sibling = *list};
  *list = *out = b;
  return RLX_OK;
}

/* ---- paths ---- */

static onnx_path *path_of(rlx_cached *c) { return (onnx_path *)((char *)c - offsetof(onnx_path, cached)); }

static void take_path(rlx_cached *c) {
  onnx_path *p = path_of(c), **at = &p->runner->paths;
  while (*at != p) at = &(*at)->next;
  *at = p->next;
}

static void path_free(onnx_path *p) {
  step_free(p->root.step);
  rlx_mem_free(p->root.key);
  rlx_mem_free(p);
}

static void free_path(rlx_cached *c) { path_free(path_of(c)); }

static void forget_paths(rlx_onnx_runner *r) {
  rlx_cache *cache = &r->session->cache;
  rlx_cache_lock(cache);
  onnx_path *all = r->paths;
  for (onnx_path *p = all; p; p = p->next) rlx_cache_remove(cache, &p->cached);
  r->paths = r->path = NULL;
  rlx_cache_unlock(cache);
  for (onnx_path *next; all; all = next) {
    next = all->next;
    path_free(all);
  }
}

static bool has_key(const onnx_path *p, const void *key, size_t bytes) {
  return p->root.key_bytes == bytes && (!bytes || memcmp(p->root.key, key, bytes) == 0);
}

/* Selects the path for these sizes instead of the last one; creates it if missing. */
static rlx_status use_path(rlx_onnx_runner *r, const void *key, size_t bytes) {
  static const rlx_cached_class class = {NULL, take_path, free_path};
  rlx_cache *cache = &r->session->cache;
  if (r->path && has_key(r->path, key, bytes)) return RLX_OK;
  rlx_cache_lock(cache);
  onnx_path *p = r->paths;
  while (p && !has_key(p, key, bytes)) p = p->next;
  if (p) rlx_cache_use(cache, &p->cached);
  if (r->path) rlx_cache_leave(cache, &r->path->cached);
  r->path = p;
  rlx_cache_unlock(cache);
  if (p) return RLX_OK;
  void *copy = rlx_mem_alloc(bytes);
  if (!copy || !(p = rlx_new(onnx_path))) {
    rlx_mem_free(copy);
    return RLX_FAIL(RLX_NO_MEMORY, "a path of a model");
  }
  if (bytes) memcpy(copy, key, bytes);
  p->runner = r;
  p->bytes = sizeof *p + bytes;
  p->root = (onnx_branch){.key = copy, .key_bytes = bytes};
  rlx_cache_lock(cache);
  rlx_cache_add(cache, &p->cached, &class, p->bytes);
  p->next = r->paths;
  r->paths = r->path = p;
  rlx_cache_unlock(cache);
  return RLX_OK;
}

static uint64_t step_bytes(const onnx_step *s) {
  return sizeof *s + sizeof(onnx_branch) + s->links.n * (sizeof *s->links.v + 16) +
         (s->executable ? rlx_executable_host_bytes(s->executable) : 0);
}

/* Updates the cache's accounting of the path after a run and trims the cache. */
static void count_path(rlx_onnx_runner *r) {
  rlx_cache *cache = &r->session->cache;
  if (!r->path || r->path->cached.bytes == r->path->bytes) return;
  rlx_cache_lock(cache);
  rlx_cache_resize(cache, &r->path->cached, r->path->bytes);
  rlx_cache_unlock(cache);
  rlx_cache_trim(cache);
}

/* ---- values between steps ---- */

static rlx_status live_reserve(rlx_onnx_runner *r, uint32_t number) {
  while (r->live.n <= number)
    if (!rlx_array_push(&r->live, (onnx_box){0})) return RLX_FAIL(RLX_NO_MEMORY, "values of a run");
  return RLX_OK;
}

static void box_clear(onnx_box *b) {
  rlx_mem_free(b->own);
  *b = (onnx_box){0};
}

static rlx_status box_fit(onnx_box *b, const rlx_tensor *like) {
  if (b->cap < like->bytes || !b->own) {
    rlx_mem_free(b->own);
    b->own = rlx_mem_alloc(like->bytes);
    b->cap = b->own ? like->bytes : 0;
    if (!b->own) return RLX_FAIL(RLX_NO_MEMORY, "a value of %zu bytes", like->bytes);
  }
  b->tensor = (rlx_tensor){like->dtype, like->shape, {b->own}, like->bytes};
  return RLX_OK;
}

/* ---- doing a step ---- */

static rlx_status run_graph(rlx_onnx_runner *r, onnx_step *s) {
  for (size_t i = 0; i < s->n_links_in; i++)
    RLX_TRY(rlx_executable_write(s->executable, s->links.v[i].leaf, &r->live.v[s->links.v[i].number].tensor));
  RLX_TRY(rlx_executable_run(s->executable));
  for (size_t i = s->n_links_in; i < s->links.n; i++) {
    uint32_t number = s->links.v[i].number;
    rlx_tensor t;
    if (!s->is_last) RLX_TRY(live_reserve(r, number));
    onnx_box *box = s->is_last ? &r->outputs[number] : &r->live.v[number];
    RLX_TRY(rlx_executable_describe(s->executable, s->links.v[i].leaf, &t));
    RLX_TRY(box_fit(box, &t));
    RLX_TRY(rlx_executable_read(s->executable, s->links.v[i].leaf, &box->tensor));
  }
  return RLX_OK;
}

static rlx_status run_host(rlx_onnx_runner *r, onnx_step *s) {
  rlx_tensor in[ONNX_HOST_MAX], out[ONNX_HOST_MAX] = {{0}};
  for (uint32_t i = 0; i < s->n_in; i++) in[i] = s->in[i] ? r->live.v[s->in[i] - 1].tensor : s->known[i];
  onnx_host_call h = {.in = in, .n_in = s->n_in, .out = out, .n_out = s->n_out, .p = s->p};
  rlx_status status = s->fn(&h);
  for (uint32_t i = 0; i < ONNX_HOST_MAX; i++) {
    if (!status && i < s->n_out) status = live_reserve(r, s->first + i);
    if (status || i >= s->n_out) {
      rlx_mem_free(out[i].data);
      continue;
    }
    onnx_box *box = &r->live.v[s->first + i];
    box_clear(box);
    if (!out[i].data) out[i].dtype = RLX_DTYPE_UNKNOWN; /* not produced */
    *box = (onnx_box){.tensor = out[i], .own = out[i].data, .cap = out[i].bytes};
  }
  return status;
}

static rlx_status do_step(rlx_onnx_runner *r, onnx_step *s) {
  r->n_done++;
  if (!rlx_array_push(&r->parts, s)) return RLX_FAIL(RLX_NO_MEMORY, "the parts of a run");
  switch (s->kind) {
    case ONNX_STEP_GRAPH: return run_graph(r, s);
    case ONNX_STEP_HOST: return run_host(r, s);
    case ONNX_STEP_VALUE: break;
  }
  return RLX_OK;
}

/* What selects the branch after a step. */
typedef struct key {
  const void *v;
  size_t bytes;
  int64_t sizes[ONNX_HOST_MAX * (RLX_MAX_RANK + 2)];
} key;

static void key_of(const rlx_onnx_runner *r, const onnx_step *s, key *k) {
  *k = (key){.v = NULL};
  if (s->kind == ONNX_STEP_VALUE) {
    const rlx_tensor *t = &r->live.v[s->first].tensor;
    k->v = t->data;
    k->bytes = t->bytes;
  } else if (s->kind == ONNX_STEP_HOST) {
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_out; i++) {
      const rlx_tensor *t = &r->live.v[s->first + i].tensor;
      k->sizes[n++] = t->dtype;
      k->sizes[n++] = t->shape.n;
      for (int a = 0; a < t->shape.n; a++) k->sizes[n++] = t->shape.v[a];
    }
    k->v = k->sizes;
    k->bytes = n * sizeof *k->sizes;
  }
}

/* ---- the importer's client ---- */

/* The next step of the importer: found in the tree, or `made`. It is executed unless this run has executed it. The
 * importer continues after it. */
static rlx_status arrive(rlx_onnx_runner *r, onnx_step *made) {
  onnx_step *s = r->at->step;
  if (!s) r->path->bytes += step_bytes(made);
  if (!s) s = r->at->step = made;
  else if (made != s) step_free(made);
  if (r->n_met++ >= r->n_done) RLX_TRY(do_step(r, s));
  key k;
  key_of(r, s, &k);
  onnx_branch *b = find_branch(s->branches, k.v, k.bytes);
  if (!b) RLX_TRY(add_branch(&s->branches, k.v, k.bytes, &b));
  r->at = b;
  r->n_kept++;
  return RLX_OK;
}

static rlx_status new_step(onnx_step_kind kind, const char *why, onnx_step **out) {
  onnx_step *s = *out = rlx_new(onnx_step);
  size_t n = why ? strlen(why) + 1 : 1;
  if (s) s->why = rlx_mem_calloc(n, 1);
  if (!s || !s->why) {
    step_free(s);
    *out = NULL;
    return RLX_FAIL(RLX_NO_MEMORY, "a step of a model");
  }
  s->kind = kind;
  if (why) memcpy(s->why, why, n);
  return RLX_OK;
}

static rlx_status add_link(onnx_step *s, const onnx_live *l) {
  size_t n = strlen(l->leaf) + 1;
  onnx_link link = {rlx_mem_alloc(n), l->number};
  if (!link.leaf || !rlx_array_push(&s->links, link)) {
    rlx_mem_free(link.leaf);
    return RLX_FAIL(RLX_NO_MEMORY, "the value '%s'", l->leaf);
  }
  memcpy(link.leaf, l->leaf, n);
  return RLX_OK;
}

/* Graph i of every path uses scratch i: the graphs of one run need separate scratch. */
static rlx_status scratch_at(rlx_onnx_runner *r, size_t i, rlx_scratch **out) {
  while (r->scratch.n <= i) {
    rlx_scratch *s;
    RLX_TRY(rlx_scratch_create(r->session->blocks, &s));
    if (!rlx_array_push(&r->scratch, s)) {
      rlx_scratch_release(s);
      return RLX_FAIL(RLX_NO_MEMORY, "scratch of a runner");
    }
  }
  *out = r->scratch.v[i];
  return RLX_OK;
}

static rlx_status compile(rlx_onnx_runner *r, rlx_graph *g, size_t index, onnx_step *s) {
  rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT, .weights = r->weights, .without = r->without,
                           .switches = r->options.switches, .watch = r->options.watch};
  rlx_scratch *scratch;
  RLX_TRY(scratch_at(r, index, &scratch));
  RLX_TRY(rlx_compile_sharing(r->session, g, &o, scratch, &s->executable));
  r->n_compiled++;
  rlx_executable_set_watch(s->executable, &r->options.watch);
  return RLX_OK; /* weights are read from the file at the first run */
}

static rlx_status graph_step(rlx_onnx_runner *r, rlx_graph *g, const onnx_live *in, size_t n_in, const onnx_live *out,
                             size_t n_out, size_t index, onnx_step *s) {
  for (size_t i = 0; i < n_in; i++) RLX_TRY(add_link(s, &in[i]));
  s->n_links_in = n_in;
  for (size_t i = 0; i < n_out; i++) RLX_TRY(add_link(s, &out[i]));
  return compile(r, g, index, s);
}

static rlx_status on_graph(void *user, rlx_graph *g, const onnx_live *in, size_t n_in, const onnx_live *out,
                           size_t n_out, const char *why) {
  rlx_onnx_runner *r = user;
  onnx_step *s = r->at->step;
  size_t index = r->n_graphs++;
  if (!s) {
    RLX_TRY(new_step(ONNX_STEP_GRAPH, why, &s));
    s->is_last = !why;
    rlx_status status = graph_step(r, g, in, n_in, out, n_out, index, s);
    if (status) {
      step_free(s);
      return status;
    }
  }
  return arrive(r, s);
}

static rlx_status on_value(void *user, uint32_t live, const void **bytes) {
  rlx_onnx_runner *r = user;
  onnx_step *s = r->at->step;
  if (!s) {
    RLX_TRY(new_step(ONNX_STEP_VALUE, NULL, &s));
    s->first = live;
  }
  RLX_TRY(arrive(r, s));
  *bytes = r->live.v[live].tensor.data;
  return RLX_OK;
}

static rlx_status host_step(onnx_host_fn fn, const int64_t *p, const uint32_t *in, const rlx_tensor *known,
                            uint32_t n_in, onnx_step *s) {
  s->fn = fn;
  memcpy(s->p, p, sizeof s->p);
  for (; s->n_in < n_in; s->n_in++) {
    s->in[s->n_in] = in[s->n_in];
    s->known[s->n_in] = (rlx_tensor){.dtype = RLX_DTYPE_UNKNOWN};
    if (in[s->n_in] || !known[s->n_in].data) continue;
    rlx_tensor t = known[s->n_in];
    t.data = rlx_mem_alloc(t.bytes);
    if (!t.data) return RLX_FAIL(RLX_NO_MEMORY, "a value of %zu bytes", t.bytes);
    memcpy(t.data, known[s->n_in].data, t.bytes);
    s->known[s->n_in] = t;
  }
  return RLX_OK;
}

static rlx_status on_host(void *user, onnx_host_fn fn, const int64_t *p, const uint32_t *in, const rlx_tensor *known,
                          uint32_t n_in, uint32_t first, rlx_type *out, uint32_t n_out, const char *why) {
  rlx_onnx_runner *r = user;
  onnx_step *s = r->at->step;
  if (!s) {
    RLX_TRY(new_step(ONNX_STEP_HOST, why, &s));
    s->first = first;
    s->n_out = n_out;
    rlx_status status = host_step(fn, p, in, known, n_in, s);
    if (status) {
      step_free(s);
      return status;
    }
  }
  RLX_TRY(arrive(r, s));
  for (uint32_t i = 0; i < n_out; i++)
    out[i] = (rlx_type){r->live.v[first + i].tensor.dtype, r->live.v[first + i].tensor.shape};
  return RLX_OK;
}

/* ---- a run ---- */

static const rlx_named_tensor *find_input(const rlx_named_tensor *v, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (v[i].name && strcmp(v[i].name, name) == 0) return &v[i];
  return NULL;
}

/* Stores the inputs as the first live values, in the model's order; their sizes are the key of the path. */
static rlx_status take_inputs(rlx_onnx_runner *r, const rlx_named_tensor *v, size_t n) {
  const onnx_graph *g = r->model->graph;
  r->n_given = 0;
  r->key.n = 0;
  for (size_t i = 0; i < n; i++) {
    if (!v[i].name) return RLX_FAIL(RLX_INVALID, "input %zu has no name", i);
    uint32_t ignored;
    if (!rlx_name_map_get(&r->model->inputs, v[i].name, &ignored))
      return RLX_FAIL(RLX_NOT_FOUND, "the model has no input '%s'", v[i].name);
    if (find_input(v, n, v[i].name) != &v[i]) return RLX_FAIL(RLX_INVALID, "input '%s' is given twice", v[i].name);
    RLX_TRY_AT(rlx_tensor_check(&v[i].tensor), "input '%s'", v[i].name);
  }
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const rlx_named_tensor *t = find_input(v, n, g->inputs[i].name);
    if (!rlx_array_push(&r->key, t ? 1 : 0)) return RLX_FAIL(RLX_NO_MEMORY, "the sizes of inputs");
    if (!t) continue;
    RLX_TRY(onnx_check_input(&g->inputs[i], &t->tensor));
    RLX_TRY(live_reserve(r, r->n_given));
    onnx_box *box = &r->live.v[r->n_given];
    RLX_TRY(onnx_convert_input(&g->inputs[i], &t->tensor, box));
    r->given[r->n_given++] = (onnx_input){.name = g->inputs[i].name, .type = {box->tensor.dtype, box->tensor.shape}};
    if (!rlx_array_push(&r->key, box->tensor.shape.n)) return RLX_FAIL(RLX_NO_MEMORY, "the sizes of inputs");
    for (int a = 0; a < t->tensor.shape.n; a++)
      if (!rlx_array_push(&r->key, t->tensor.shape.v[a])) return RLX_FAIL(RLX_NO_MEMORY, "the sizes of inputs");
  }
  return RLX_OK;
}

/* Follows the tree as far as it exists. *done: to the last step. */
static rlx_status follow(rlx_onnx_runner *r, onnx_branch *b, bool *done) {
  *done = false;
  while (b && b->step) {
    key k;
    RLX_TRY(do_step(r, b->step));
    if (b->step->is_last) {
      *done = true;
      return RLX_OK;
    }
    key_of(r, b->step, &k);
    b = find_branch(b->step->branches, k.v, k.bytes);
  }
  return RLX_OK;
}

/* ---- templates ---- */

static bool has_no_loops(const rlx_onnx_runner *r) { return r->options.switches & RLX_SWITCH_FORBID_HOST; }

static bool is_final(rlx_status s) { return s == RLX_NO_MEMORY || s == RLX_CANCELLED || s == RLX_LIMIT; }

/* Binds a template that fits these sizes, or creates one. *out NULL: import for numbers. */
static rlx_status bind_template(rlx_onnx_runner *r, const onnx_template **t, rlx_graph **out) {
  rlx_status s = RLX_INVALID;
  onnx_template *made;
  *out = NULL;
  for (size_t i = r->templates.n; i-- > 0 && s && !is_final(s);)
    s = onnx_template_bind(*t = r->templates.v[i], r->given, r->n_given, out);
  if (!s || is_final(s)) return s;
  if (r->n_first != r->n_given || r->templates.n == MAX_TEMPLATES || r->n_refused_templates == MAX_REFUSED)
    return RLX_OK;
  s = onnx_template_make(r->model, r->first, r->given, r->n_given, r->options.max_trips, has_no_loops(r), &made);
  if (s) {
    r->n_refused_templates++;
    return is_final(s) || rlx_budget_is_stopped() ? s : RLX_OK;
  }
  if (!rlx_array_push(&r->templates, made)) {
    onnx_template_destroy(made);
    return RLX_FAIL(RLX_NO_MEMORY, "a template");
  }
  s = onnx_template_bind(*t = made, r->given, r->n_given, out);
  return is_final(s) ? s : RLX_OK;
}

/* Runs a new set of sizes by a template, from the second one on. */
static rlx_status run_template(rlx_onnx_runner *r, bool *done) {
  const onnx_template *t = NULL;
  rlx_graph *g;
  if (!r->first) {
    r->first = rlx_mem_calloc((size_t)r->n_given + 1, sizeof *r->first);
    if (!r->first) return RLX_FAIL(RLX_NO_MEMORY, "the sizes of inputs");
    for (uint32_t i = 0; i < r->n_given; i++) r->first[i] = r->given[i];
    r->n_first = r->n_given;
    return RLX_OK;
  }
  RLX_TRY(bind_template(r, &t, &g));
  if (!g) return RLX_OK;
  onnx_leaves l = onnx_template_leaves(t);
  *done = true;
  rlx_status s = on_graph(r, g, l.in, l.n_in, l.out, l.n_out, NULL);
  rlx_graph_destroy(g);
  return s;
}

static rlx_status run(rlx_onnx_runner *r, const rlx_named_tensor *inputs, size_t n) {
  bool done;
  RLX_TRY(take_inputs(r, inputs, n));
  RLX_TRY(use_path(r, r->key.v, r->key.n * sizeof *r->key.v));
  RLX_TRY(follow(r, &r->path->root, &done));
  if (done) return RLX_OK;
  r->n_kept++;
  r->at = &r->path->root;
  if (!r->at->step) RLX_TRY(run_template(r, &done));
  if (done) return RLX_OK;
  onnx_client client = {r, on_graph, on_value, on_host, .no_loops = has_no_loops(r)};
  return onnx_import(r->model, r->given, r->n_given, r->options.max_trips, &client);
}

static rlx_status run_locked(rlx_onnx_runner *r, const rlx_named_tensor *inputs, size_t n) {
  r->parts.n = 0;
  r->n_done = r->n_met = r->n_graphs = 0;
  r->has_run = false;
  if (r->n_kept > MAX_KEPT) { /* bounds the tree when values differ from run to run */
    forget_paths(r);
    r->n_kept = 0;
  }
  rlx_status s = run(r, inputs, n);
  count_path(r);
  r->has_run = !s;
  /* Inputs point to the caller's memory, which is not valid after the run. */
  for (size_t i = 0; i < r->n_given && i < r->live.n; i++)
    if (r->live.v[i].tensor.data != r->live.v[i].own) r->live.v[i].tensor.data = NULL;
  return s;
}

rlx_status rlx_onnx_run(rlx_onnx_runner *r, const rlx_named_tensor *inputs, size_t n) {
  if (!r || (n && !inputs)) return RLX_FAIL(RLX_INVALID, "rlx_onnx_run: a NULL");
  RLX_TRY(rlx_lock_try(&r->lock, "rlx_onnx_run"));
  rlx_budget budget;
  rlx_session_begin(r->session, &budget, "rlx_onnx_run", 0, &r->options.watch);
  rlx_status s = rlx_budget_end(&budget, run_locked(r, inputs, n));
  rlx_lock_release(&r->lock);
  return s;
}

/* Callbacks of a run may query the runner. */
static rlx_status look(const rlx_onnx_runner *r, const char *call) {
  if (!r) return RLX_FAIL(RLX_INVALID, "%s: a NULL", call);
  return rlx_lock_try_nested(&((rlx_onnx_runner *)(uintptr_t)r)->lock, call); /* nothing else changes */
}

static void leave(const rlx_onnx_runner *r) { rlx_lock_release(&((rlx_onnx_runner *)(uintptr_t)r)->lock); }

static rlx_status output_at(const rlx_onnx_runner *r, uint32_t i, const char **name, rlx_tensor *view) {
  if (i >= r->model->graph->n_outputs)
    return RLX_FAIL(RLX_NOT_FOUND, "output %u of %u", (unsigned)i, (unsigned)r->model->graph->n_outputs);
  if (!r->has_run) return RLX_FAIL(RLX_INVALID, "there are no outputs before a run that succeeds");
  if (name) *name = r->model->graph->outputs[i].name;
  *view = r->outputs[i].tensor;
  return RLX_OK;
}

rlx_status rlx_onnx_runner_output(const rlx_onnx_runner *r, uint32_t i, const char **name, rlx_tensor *view) {
  if (!view) return RLX_FAIL(RLX_INVALID, "rlx_onnx_runner_output: a NULL");
  RLX_TRY(look(r, "rlx_onnx_runner_output"));
  rlx_status s = output_at(r, i, name, view);
  leave(r);
  return s;
}

uint32_t rlx_onnx_runner_part_count(const rlx_onnx_runner *r) {
  uint32_t n = 0;
  if (look(r, "rlx_onnx_runner_part_count")) return 0;
  for (size_t i = 0; i < r->parts.n; i++) n += r->parts.v[i]->kind != ONNX_STEP_VALUE;
  leave(r);
  return n;
}

static rlx_status part_at(const rlx_onnx_runner *r, uint32_t i, rlx_onnx_runner_part *out) {
  for (size_t k = 0; k < r->parts.n; k++) {
    if (r->parts.v[k]->kind == ONNX_STEP_VALUE || i--) continue;
    rlx_onnx_runner_part part = {RLX_ONNX_RUNNER_PART_INIT, r->parts.v[k]->executable, r->parts.v[k]->why};
    return RLX_SIZED_WRITE("rlx_onnx_runner_part", &part, out);
  }
  return RLX_FAIL(RLX_NOT_FOUND, "no such part");
}

rlx_status rlx_onnx_runner_part_at(const rlx_onnx_runner *r, uint32_t i, rlx_onnx_runner_part *out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_runner_part_at: a NULL");
  RLX_TRY(look(r, "rlx_onnx_runner_part_at"));
  rlx_status s = part_at(r, i, out);
  leave(r);
  return s;
}

uint64_t rlx_onnx_runner_compile_count(const rlx_onnx_runner *r) {
  if (look(r, "rlx_onnx_runner_compile_count")) return 0;
  uint64_t n = r->n_compiled;
  leave(r);
  return n;
}

/* ---- the runner ---- */

static rlx_status read_weight(void *user, const char *name, const rlx_type *type, void *to) {
  const rlx_onnx *m = user;
  const onnx_weight *w = onnx_weight_named(m, name);
  if (!w || onnx_type_carrier(w->tensor->type) != type->dtype || !rlx_dims_equal(&w->tensor->dims, &type->shape))
    return RLX_NOT_FOUND;
  return onnx_tensor_read(m, w->tensor, to);
}

static rlx_status read_weight_rows(void *user, const char *name, const rlx_type *type, size_t first, size_t rows,
                                   void *to) {
  const rlx_onnx *m = user;
  const onnx_weight *w = onnx_weight_named(m, name);
  if (!w || onnx_type_carrier(w->tensor->type) != type->dtype || !rlx_dims_equal(&w->tensor->dims, &type->shape))
    return RLX_NOT_FOUND;
  return onnx_tensor_read_rows(m, w->tensor, first, rows, to);
}

static rlx_status copy_text(const char *text, char **out) {
  size_t n = text ? strlen(text) + 1 : 0;
  *out = NULL;
  if (!text) return RLX_OK;
  if (!(*out = rlx_mem_alloc(n))) return RLX_FAIL(RLX_NO_MEMORY, "options");
  memcpy(*out, text, n);
  return RLX_OK;
}

static void runner_free(void *object) {
  rlx_onnx_runner *r = object;
  if (r->session) forget_paths(r);
  for (size_t i = 0; i < r->scratch.n; i++) rlx_scratch_release(r->scratch.v[i]);
  rlx_array_deinit(&r->scratch);
  for (size_t i = 0; i < r->live.n; i++) box_clear(&r->live.v[i]);
  for (uint32_t i = 0; r->outputs && i < r->model->graph->n_outputs; i++) box_clear(&r->outputs[i]);
  rlx_array_deinit(&r->live);
  rlx_array_deinit(&r->key);
  rlx_array_deinit(&r->parts);
  rlx_mem_free(r->outputs);
  rlx_mem_free(r->given);
  rlx_mem_free(r->first);
  for (size_t i = 0; i < r->templates.n; i++) onnx_template_destroy(r->templates.v[i]);
  rlx_array_deinit(&r->templates);
  rlx_mem_free(r->without);
  rlx_weights_destroy(r->weights);
  rlx_session_release(r->session);
  rlx_onnx_close(r->model);
  rlx_lock_deinit(&r->lock);
  rlx_mem_free(r);
}

static rlx_status set_up(rlx_onnx_runner *r, rlx_session *s) {
  const onnx_graph *g = r->model->graph;
  r->outputs = rlx_mem_calloc((size_t)g->n_outputs + 1, sizeof *r->outputs);
  r->given = rlx_mem_calloc((size_t)g->n_inputs + 1, sizeof *r->given);
  if (!r->outputs || !r->given) return RLX_FAIL(RLX_NO_MEMORY, "a runner");
  RLX_TRY(rlx_onnx_supported(r->model));
  RLX_TRY(rlx_weights_create(s, &r->weights));
  rlx_weights_set_source(r->weights, (rlx_weight_source){read_weight, read_weight_rows, r->model});
  return copy_text(r->options.without, &r->without);
}

static rlx_status runner_make(rlx_session *s, rlx_onnx *m, const rlx_onnx_options *o, rlx_onnx_runner **out) {
  rlx_onnx_runner *r = rlx_new(rlx_onnx_runner);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "a runner");
  rlx_status status = rlx_lock_init(&r->lock, "runner", runner_free, r);
  if (status) {
    rlx_mem_free(r);
    return status;
  }
  r->options = *o;
  r->session = rlx_session_retain(s);
  r->model = onnx_retain(m);
  status = set_up(r, s);
  if (status) rlx_onnx_runner_destroy(r);
  else *out = r;
  return status;
}

rlx_status rlx_onnx_runner_create(rlx_session *s, rlx_onnx *m, const rlx_onnx_options *options, rlx_onnx_runner **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_runner_create: out is NULL");
  *out = NULL;
  if (!s || !m) return RLX_FAIL(RLX_INVALID, "rlx_onnx_runner_create: %s is NULL", s ? "the model" : "the session");
  rlx_onnx_options o;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_onnx_options", options, &o), "rlx_onnx_runner_create");
  RLX_TRY_AT(rlx_switches_check(o.switches), "rlx_onnx_runner_create");
  RLX_TRY(rlx_watch_check("rlx_onnx_runner_create", &o.watch));
  RLX_TRY(rlx_session_check(s, "rlx_onnx_runner_create"));
  rlx_mem_source *before = rlx_mem_use(s->source);
  rlx_status status = runner_make(s, m, &o, out);
  rlx_mem_use(before);
  return status;
}

void rlx_onnx_runner_destroy(rlx_onnx_runner *r) {
  if (r) rlx_lock_end(&r->lock);
}
