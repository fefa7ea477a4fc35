/* Weights that are computed from others, once, when their sources are available.
 *
 * A recipe is a small graph over params (a transposed weight, two concatenated ones). It is computed before the first
 * run that needs it, and again after one of its sources was set again. If that takes only milliseconds, the reference
 * computes it, because it reads the sources in place. Otherwise the recipe is compiled and run like any graph, on the
 * session's device. A source that only recipes read is dropped when the last of them has been computed. */
#include "runtime/weights_load.h"

#include <string.h>

/* ---- creating a computed weight ---- */

static rlx_weight **bucket_of(rlx_weights *w, uint64_t hash) {
  return &w->recipes[hash % (sizeof w->recipes / sizeof *w->recipes)];
}

/* Does everything that can fail, so that adding the weight to its sources' readers cannot. */
static rlx_status add_sources(rlx_weights *w, rlx_weight *weight) {
  const rlx_graph *g = weight->recipe;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (rlx_graph_at(g, id)->op != RLX_OP_param) continue;
    rlx_weight *source;
    RLX_TRY(rlx_weights_named(w, rlx_node_name(g, id), &source));
    RLX_TRY(rlx_weight_take_type(w, source, &rlx_graph_at(g, id)->type, false));
    if (!rlx_array_push(&weight->sources, source) || !rlx_array_reserve(&source->readers, 1))
      return RLX_FAIL(RLX_NO_MEMORY, "the sources of a weight");
  }
  weight->seen = rlx_mem_calloc(weight->sources.n, sizeof *weight->seen);
  return weight->seen ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the sources of a weight");
}

rlx_status rlx_weights_computed(rlx_weights *w, const rlx_graph *recipe, rlx_weight **out) {
  const uint64_t hash = rlx_graph_hash(recipe);
  rlx_weight **bucket = bucket_of(w, hash);
  for (*out = *bucket; *out; *out = (*out)->next_recipe)
    if ((*out)->hash == hash && rlx_graph_same((*out)->recipe, recipe)) return RLX_OK;
  rlx_weight *weight = rlx_new(rlx_weight);
  if (!weight) return RLX_FAIL(RLX_NO_MEMORY, "a computed weight");
  weight->hash = hash;
  weight->recipe = rlx_graph_retain(recipe);
  rlx_status s = add_sources(w, weight);
  if (s) {
    rlx_weight_free(w, weight);
    return s;
  }
  for (size_t i = 0; i < weight->sources.n; i++) {
    rlx_weight *source = weight->sources.v[i];
    source->readers.v[source->readers.n++] = weight;
    source->n_waiting++;
  }
  weight->next_recipe = *bucket;
  *bucket = *out = weight;
  return RLX_OK;
}

/* ---- freeing a computed weight ---- */

/* False if a source was dropped and cannot be read again: the weight then has the only copy of those bytes. */
static bool can_be_made_again(const rlx_weights *w, const rlx_weight *weight) {
  for (size_t i = 0; i < weight->sources.n; i++)
    if (!weight->sources.v[i]->has_value && !w->source.read) return false;
  return true;
}

static void leave_source(rlx_weight *weight, size_t i) {
  rlx_weight *source = weight->sources.v[i];
  size_t k = 0;
  while (source->readers.v[k] != weight) k++;
  source->readers.v[k] = source->readers.v[--source->readers.n];
  if (weight->seen[i] != source->version) source->n_waiting--;
}

bool rlx_weights_forget(rlx_weights *w, rlx_weight *weight) {
  if (!weight->recipe || rlx_weight_is_held(weight) || !can_be_made_again(w, weight)) return false;
  rlx_weight **at = bucket_of(w, weight->hash);
  while (*at != weight) at = &(*at)->next_recipe;
  *at = weight->next_recipe;
  for (size_t i = 0; i < weight->sources.n; i++) leave_source(weight, i);
  rlx_weight_free(w, weight);
  return true;
}

void rlx_weights_forget_all(rlx_weights *w) {
  for (size_t i = 0; i < sizeof w->recipes / sizeof *w->recipes; i++)
    for (rlx_weight *weight = w->recipes[i], *next; weight; weight = next) {
      next = weight->next_recipe;
      rlx_weight_free(w, weight);
    }
}

/* ---- old and new values ---- */

/* Values computed from the old one are freed unless they are held. */
void rlx_weights_changed(rlx_weights *w, rlx_weight *weight) {
  weight->version++;
  weight->n_waiting = (uint32_t)weight->readers.n;
  for (size_t i = 0; i < weight->readers.n; i++) {
    rlx_weight *other = weight->readers.v[i];
    if (rlx_weight_is_held(other)) continue;
    rlx_weight_drop_unused(w, other, NULL);
    other->has_value = false;
  }
}

rlx_status rlx_weight_check_value(const rlx_weight *weight) {
  if (weight->has_value) return RLX_OK;
  if (weight->dropped)
    return RLX_FAIL(
      RLX_INVALID,
      "param '%s' was made into other weights when it was loaded, and its own bytes are gone: set it again",
      weight->name);
  return RLX_FAIL(RLX_INVALID, "param '%s' is not set", weight->name);
}

/* Frees a temporary buffer. Its pages go back to the system at once; a heap would keep them for another one of that
 * size. */
static void passed(rlx_tensor *t) {
  if (t->data) rlx_mem_discard(t->data, t->bytes);
  rlx_tensor_deinit(t);
}

/* ---- reading from the source ---- */

enum { PIECE_BYTES = 4 << 20 };

/* Reads a large weight in chunks of rows directly into its only copy, if the host can access that, so that no second
 * buffer of its size is needed. *done: it was read; otherwise it must be read whole. */
static rlx_status fetch_by_pieces(rlx_weights *w, rlx_weight *weight, bool *done) {
  rlx_device *d = w->session->device;
  rlx_weight_copy *c = weight->copies;
  const rlx_type *type = &weight->type;
  size_t bytes;
  *done = false;
  if (!w->source.read_rows || !c || c->next || c->layout == RLX_LAYOUT_IN_HOST || type->shape.n < 1 ||
      rlx_tensor_bytes(type->dtype, type->shape, &bytes) || bytes < 4 * PIECE_BYTES)
    return RLX_OK;
  size_t rows = (size_t)type->shape.v[0], row_bytes = bytes / rows;
  size_t step = c->layout == 0 ? 1 : d->backend->layout_rows ? d->backend->layout_rows(d, c->layout, type) : 0;
  if (step == 0) return RLX_OK;
  RLX_TRY(rlx_weight_copy_allocate(w, c));
  if (!c->block->map) return RLX_OK;
  if (PIECE_BYTES / row_bytes > step) step = PIECE_BYTES / row_bytes / step * step;
  void *piece = rlx_mem_alloc(step * row_bytes);
  rlx_status s = piece ? rlx_queue_sync(rlx_session_queue(w->session))
                       : RLX_FAIL(RLX_NO_MEMORY, "weight '%s': %zu bytes", weight->name, step * row_bytes);
  for (size_t first = 0; first < rows && !s; first += step) {
    rlx_type part = *type;
    size_t n = rows - first < step ? rows - first : step;
    part.shape.v[0] = (int64_t)n;
    s = w->source.read_rows(w->source.user, weight->name, type, first, n, piece);
    char *to = (char *)c->block->map + first * row_bytes; /* whole panels have the same size packed and plain */
    if (!s && c->layout) s = d->backend->repack(d, c->layout, &part, true, piece, to, NULL);
    else if (!s) memcpy(to, piece, n * row_bytes);
  }
  rlx_mem_free(piece);
  if (s == RLX_NOT_FOUND) return RLX_OK;
  weight->has_value = *done = !s;
  weight->dropped = s ? weight->dropped : false;
  return s;
}

/* Reads a missing value from the source. Without a source, or if it does not have the weight, the error names what is
 * missing. */
rlx_status rlx_weight_fetch(rlx_weights *w, rlx_weight *weight) {
  rlx_tensor value;
  if (weight->has_value || !w->source.read || !weight->has_type) return rlx_weight_check_value(weight);
  bool is_new = !weight->dropped, done;
  RLX_TRY(fetch_by_pieces(w, weight, &done));
  if (done) {
    if (is_new) rlx_weights_changed(w, weight);
    return RLX_OK;
  }
  RLX_TRY(rlx_tensor_create(&weight->type, &value));
  rlx_status s = w->source.read(w->source.user, weight->name, &weight->type, value.data);
  if (!s) s = rlx_weight_fill(w, weight, &value);
  if (!s && is_new) rlx_weights_changed(w, weight);
  passed(&value);
  return s == RLX_NOT_FOUND ? rlx_weight_check_value(weight) : s;
}

static bool is_current(const rlx_weight *weight) {
  bool current = weight->has_value;
  for (size_t i = 0; current && i < weight->sources.n; i++) current = weight->seen[i] == weight->sources.v[i]->version;
  return current;
}

static void note_seen(rlx_weights *w, rlx_weight *weight) {
  for (size_t i = 0; i < weight->sources.n; i++) {
    rlx_weight *source = weight->sources.v[i];
    if (weight->seen[i] != source->version) source->n_waiting--;
    weight->seen[i] = source->version;
    if (source->n_waiting || rlx_weight_is_held(source)) continue;
    rlx_weight_drop_unused(w, source, NULL);
    source->has_value = false;
    source->dropped = true;
  }
}

/* ---- computing ---- */

/* Value of a source in plain host memory: in place, or a copy that must be freed (*owned). */
static rlx_status load_source(const rlx_weights *w, const rlx_weight *source, rlx_tensor *value, bool *owned) {
  const rlx_weight_copy *c = rlx_weight_filled(source);
  const rlx_type *type = &source->type;
  void *host = rlx_weight_copy_host(c), *plain = host ? host : c->layout == 0 ? c->block->map : NULL;
  *owned = !plain;
  if (plain) {
    *value = (rlx_tensor){type->dtype, type->shape, {plain}, (size_t)c->bytes};
    return RLX_OK;
  }
  rlx_bound at = rlx_weight_copy_at(c);
  RLX_TRY(rlx_tensor_create(type, value));
  return rlx_bound_read(rlx_session_queue(w->session), &at, type, c->layout, type->dtype, value->data,
                        rlx_dims_count(&type->shape));
}

/* Above this, a device's kernels save more than compiling for it costs: some tens of milliseconds of plain loops. */
#define REFERENCE_VISITS 4e6
/* Weights computed from constants alone are computed again for every size of a model. If all bits are the same wherever
 * they are computed, the device computes them as soon as that pays. */
#define EXACT_VISITS 1e5

/* Whether the graph only moves elements or computes integers and bools. */
static bool is_exact(const rlx_graph *g) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    bool is_whole = rlx_dtype_is_int(n->type.dtype) || n->type.dtype == RLX_BOOL;
    if (!is_whole && !rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW | RLX_TRAIT_MOVES)) return false;
  }
  return true;
}

typedef struct kitchen {
  rlx_tensor *values; /* by source */
  bool *owned;
  const rlx_tensor **leaves; /* by node of the recipe */
  rlx_tensor result;
} kitchen;

static void kitchen_deinit(const rlx_weight *weight, kitchen *k) {
  for (size_t i = 0; k->values && k->owned && i < weight->sources.n; i++)
    if (k->owned[i]) passed(&k->values[i]);
  rlx_mem_free(k->values);
  rlx_mem_free(k->owned);
  rlx_mem_free((void *)k->leaves);
  passed(&k->result);
}

static rlx_status kitchen_init(const rlx_weights *w, const rlx_weight *weight, kitchen *k) {
  const rlx_graph *g = weight->recipe;
  size_t n = weight->sources.n, next = 0;
  *k = (kitchen){.values = rlx_mem_calloc(n, sizeof *k->values),
                 .owned = rlx_mem_calloc(n, sizeof *k->owned),
                 .leaves = rlx_mem_calloc(rlx_graph_end(g), sizeof *k->leaves)};
  if (!k->values || !k->owned || !k->leaves) return RLX_FAIL(RLX_NO_MEMORY, "computing a weight");
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (rlx_graph_at(g, id)->op != RLX_OP_param) continue;
    RLX_TRY(load_source(w, weight->sources.v[next], &k->values[next], &k->owned[next]));
    k->leaves[id] = &k->values[next++];
  }
  return rlx_tensor_create(&weight->type, &k->result);
}

/* Upper bound of the elements that the reference visits: all elements of a node's inputs per element of its result, or
 * one for ops that visit each element once. */
static double visits(const rlx_graph *g) {
  double all = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    double elements = (double)rlx_dims_count(&n->type.shape), inputs = 1;
    bool once = rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW | RLX_TRAIT_POINTWISE | RLX_TRAIT_MOVES);
    for (uint32_t i = 0; !once && i < n->n_in; i++)
      if (n->in[i]) inputs += (double)rlx_dims_count(&rlx_graph_at(g, n->in[i])->type.shape);
    all += elements * inputs;
  }
  return all;
}

/* Without fold and hoist, which would move the work out of the graph again: everything in it depends only on
 * weights. */
static rlx_status compute_on_device(rlx_weights *w, const rlx_weight *weight, kitchen *k, const rlx_watch *watch) {
  const rlx_graph *g = weight->recipe;
  rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT, .without = "fold,hoist", .no_cache = true,
                           .switches = RLX_SWITCH_EXACT};
  if (watch) o.watch = *watch;
  rlx_executable *e;
  RLX_TRY(rlx_compile(w->session, g, &o, &e));
  rlx_executable_set_watch(e, watch);
  rlx_status s = RLX_OK;
  for (rlx_node id = 1; id < rlx_graph_end(g) && !s; id++)
    if (k->leaves[id]) s = rlx_executable_write(e, rlx_node_name(g, id), k->leaves[id]);
  if (!s) s = rlx_executable_run(e);
  if (!s) s = rlx_executable_read(e, "value", &k->result);
  rlx_executable_destroy(e);
  return s;
}

static rlx_status compute(rlx_weights *w, rlx_weight *weight, const rlx_watch *watch) {
  rlx_eval_context ctx = {.cancel = watch ? watch->cancel : NULL, .cancel_user = watch ? watch->user : NULL};
  kitchen k;
  rlx_status s = kitchen_init(w, weight, &k);
  double n = visits(weight->recipe);
  bool on_device = n > REFERENCE_VISITS || (n > EXACT_VISITS && !weight->sources.n && is_exact(weight->recipe));
  if (!s && on_device) s = compute_on_device(w, weight, &k, watch);
  else if (!s) s = rlx_eval_graph(weight->recipe, &ctx, k.leaves, &k.result, NULL);
  if (!s) s = rlx_weight_fill(w, weight, &k.result);
  kitchen_deinit(weight, &k);
  return s;
}

static rlx_status make_ready(rlx_weights *w, rlx_weight *weight, const rlx_watch *watch, bool *computed) {
  if (!weight->recipe) return rlx_weight_fetch(w, weight);
  if (is_current(weight)) return RLX_OK;
  bool is_made;
  RLX_TRY(rlx_weight_make_part(w, weight, &is_made));
  for (size_t i = 0; i < weight->sources.n && !is_made; i++) RLX_TRY(rlx_weight_fetch(w, weight->sources.v[i]));
  if (!is_made)
    RLX_TRY_AT(compute(w, weight, watch), "computing a weight from '%s'%s",
               weight->sources.n ? weight->sources.v[0]->name : "constants",
               weight->sources.n > 1 ? " and others" : "");
  note_seen(w, weight);
  *computed = true;
  return RLX_OK;
}

rlx_status rlx_weights_ready(rlx_weights *w, const rlx_weight_hold *h, const rlx_watch *watch, bool *computed) {
  *computed = false;
  rlx_mutex_lock(&w->lock);
  rlx_mem_source *before = rlx_mem_use(w->session->source);
  rlx_status s = make_ready(w, h->weight, watch, computed);
  rlx_mem_use(before);
  rlx_mutex_unlock(&w->lock);
  return s;
}
