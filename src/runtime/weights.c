/* The weight store: names, copies by layout, and holds. Computed weights are in weights_load.c. */
#include "runtime/weights.h"

#include <string.h>

#include "base/log.h"
#include "device/convert.h"
#include "runtime/weights_load.h"

static const char *text_of(const rlx_weight *w) { return w->name ? w->name : "(computed)"; }

/* ---- copies ---- */

rlx_bound rlx_weight_copy_at(const rlx_weight_copy *c) { return (rlx_bound){c->block, 0, c->bytes}; }

static rlx_status copy_bytes(const rlx_weights *w, const rlx_type *type, uint32_t layout, uint64_t *bytes) {
  const rlx_device *d = w->session->device;
  size_t plain;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &plain));
  *bytes = layout && layout != RLX_LAYOUT_IN_HOST ? d->backend->layout_bytes(d, layout, type) : plain;
  return RLX_OK;
}

rlx_status rlx_weight_copy_allocate(rlx_weights *w, rlx_weight_copy *c) {
  if (c->block || rlx_weight_copy_host(c)) return RLX_OK;
#ifndef RLX_NO_GPUS
  if (c->layout == RLX_LAYOUT_IN_HOST) {
    c->host = rlx_mem_alloc((size_t)c->bytes);
    if (!c->host) return RLX_FAIL(RLX_NO_MEMORY, "%llu bytes for a weight", (unsigned long long)c->bytes);
    w->bytes += c->bytes;
    return RLX_OK;
  }
#endif
  RLX_TRY(rlx_block_pool_get(w->session->blocks, c->bytes, false, &c->block));
  w->bytes += c->bytes;
  return RLX_OK;
}

/* A block in host memory returns its pages to the system before it goes back to the pool. */
static void copy_free(rlx_weights *w, rlx_weight_copy *c) {
  void *host = rlx_weight_copy_host(c);
  if (c->block || host) w->bytes -= c->bytes;
  if (host) {
    rlx_mem_discard(host, (size_t)c->bytes);
    rlx_mem_free(host);
  }
  if (c->block && c->block->map && w->session->device->info.kind == RLX_DEVICE_CPU)
    rlx_mem_discard(c->block->map, (size_t)c->bytes);
  rlx_block_pool_put(w->session->blocks, c->block);
  rlx_mem_free(c);
}

void rlx_weight_drop_unused(rlx_weights *w, rlx_weight *weight, const rlx_weight_copy *keep) {
  for (rlx_weight_copy **at = &weight->copies, *c; (c = *at);) {
    if (c == keep || c->users) {
      at = &c->next;
    } else {
      *at = c->next;
      copy_free(w, c);
    }
  }
}

static rlx_status copy_add(rlx_weights *w, rlx_weight *weight, uint32_t layout, rlx_weight_copy **out) {
  rlx_weight_copy *c = rlx_new(rlx_weight_copy);
  if (!c) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", text_of(weight));
  rlx_status s = copy_bytes(w, &weight->type, layout, &c->bytes);
  if (s) {
    rlx_mem_free(c);
    return s;
  }
  c->layout = layout;
  c->next = weight->copies;
  weight->copies = *out = c;
  return RLX_OK;
}

static rlx_weight_copy *find_copy(const rlx_weight *weight, uint32_t layout) {
  rlx_weight_copy *c = weight->copies;
  while (c && c->layout != layout) c = c->next;
  return c;
}

/* The copy that contains the value; NULL: there is none. */
rlx_weight_copy *rlx_weight_filled(const rlx_weight *weight) {
  rlx_weight_copy *c = weight->has_value ? weight->copies : NULL;
  while (c && !c->block && !rlx_weight_copy_host(c)) c = c->next;
  return c;
}

/* Converts the value of one copy into another, through plain host memory. */
static rlx_status copy_convert(rlx_weights *w, const rlx_weight *weight, const rlx_weight_copy *from,
                               const rlx_weight_copy *to) {
  rlx_queue *q = rlx_session_queue(w->session);
  rlx_bound from_at = rlx_weight_copy_at(from), to_at = rlx_weight_copy_at(to);
  if (rlx_weight_copy_host(from))
    return rlx_bound_write(q, &to_at, &weight->type, to->layout, weight->type.dtype, rlx_weight_copy_host(from),
                           rlx_dims_count(&weight->type.shape));
  size_t count = rlx_dims_count(&weight->type.shape);
  rlx_dtype dtype = weight->type.dtype;
  rlx_tensor plain;
  rlx_status s = rlx_tensor_create(&weight->type, &plain);
  if (!s) s = rlx_bound_read(q, &from_at, &weight->type, from->layout, dtype, plain.data, count);
  if (!s) s = rlx_bound_write(q, &to_at, &weight->type, to->layout, dtype, plain.data, count);
  if (!s) s = rlx_bound_end(q, &to_at);
  rlx_tensor_deinit(&plain);
  return s;
}

/* ---- finding ---- */

void rlx_weight_free(rlx_weights *w, rlx_weight *weight) {
  for (rlx_weight_copy *c = weight->copies, *next; c; c = next) {
    next = c->next;
    copy_free(w, c);
  }
  rlx_array_deinit(&weight->sources);
  rlx_array_deinit(&weight->readers);
  rlx_graph_destroy(weight->recipe);
  rlx_mem_free(weight->seen);
  rlx_mem_free(weight->name);
  rlx_mem_free(weight);
}

static rlx_weight *find_named(const rlx_weights *w, const char *name) {
  uint32_t i;
  return rlx_name_map_get(&w->names, name, &i) ? w->all.v[i] : NULL;
}

rlx_status rlx_weights_named(rlx_weights *w, const char *name, rlx_weight **out) {
  *out = find_named(w, name);
  if (*out) return RLX_OK;
  rlx_weight *weight = rlx_new(rlx_weight);
  size_t bytes = strlen(name) + 1;
  if (weight && (weight->name = rlx_mem_alloc(bytes))) memcpy(weight->name, name, bytes);
  if (!weight || !weight->name || !rlx_array_reserve(&w->all, 1) ||
      !rlx_name_map_put(&w->names, weight->name, (uint32_t)w->all.n)) {
    if (weight) rlx_weight_free(w, weight);
    return RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", name);
  }
  w->all.v[w->all.n++] = *out = weight;
  return RLX_OK;
}

bool rlx_weights_has_memory(rlx_weights *w, const char *name) {
  rlx_mutex_lock(&w->lock);
  const rlx_weight *weight = find_named(w, name);
  const rlx_weight_copy *c = weight ? weight->copies : NULL;
  while (c && !c->block) c = c->next;
  rlx_mutex_unlock(&w->lock);
  return c != NULL;
}

/* ---- holding ---- */

static rlx_status mismatch(const rlx_weight *weight, const rlx_type *expected) {
  return RLX_FAIL(RLX_INVALID, "weight '%s': expected %s%s, got %s%s", text_of(weight), rlx_dtype_name(expected->dtype),
                  RLX_DIMS_TEXT(expected->shape), rlx_dtype_name(weight->type.dtype),
                  RLX_DIMS_TEXT(weight->type.shape));
}

bool rlx_weight_is_held(const rlx_weight *weight) {
  const rlx_weight_copy *c = weight->copies;
  while (c && !c->users) c = c->next;
  return c != NULL;
}

/* The type is not fixed until the weight is set or read; a dropped value still has its type. */
rlx_status rlx_weight_take_type(rlx_weights *w, rlx_weight *weight, const rlx_type *type, bool replace) {
  if (weight->has_type && rlx_type_equal(&weight->type, type)) return RLX_OK;
  bool fixed = weight->has_type && (rlx_weight_is_held(weight) || weight->readers.n || (weight->has_value && !replace));
  if (fixed) return mismatch(weight, type);
  rlx_weight_drop_unused(w, weight, NULL);
  weight->type = *type;
  weight->has_type = true;
  weight->has_value = weight->dropped = false;
  return RLX_OK;
}

/* Provides a copy in this layout. The value, if there is one, is converted into it, and copies without users are
 * freed. */
static rlx_status provide_copy(rlx_weights *w, rlx_weight *weight, uint32_t layout, rlx_weight_copy **out) {
  *out = find_copy(weight, layout);
  if (*out) return weight->recipe ? RLX_OK : rlx_weight_copy_allocate(w, *out);
  rlx_weight_copy *old = rlx_weight_filled(weight), *c;
  RLX_TRY(copy_add(w, weight, layout, &c));
  rlx_status s = weight->recipe && !old ? RLX_OK : rlx_weight_copy_allocate(w, c);
  if (!s && old) s = copy_convert(w, weight, old, c);
  if (s) {
    weight->copies = c->next; /* it is the newest */
    copy_free(w, c);
    return s;
  }
  if (old && old->users)
    rlx_log_write(RLX_LOG_INFO, "weight '%s' is kept in two layouts (%u and %u), as its readers want", text_of(weight),
                  (unsigned)old->layout, (unsigned)layout);
  rlx_weight_drop_unused(w, weight, c);
  *out = c;
  return RLX_OK;
}

static rlx_status hold(rlx_weights *w, const char *name, const rlx_graph *recipe, const rlx_type *type, uint32_t layout,
                       rlx_weight_hold *out) {
  RLX_TRY(recipe ? rlx_weights_computed(w, recipe, &out->weight) : rlx_weights_named(w, name, &out->weight));
  RLX_TRY(rlx_weight_take_type(w, out->weight, type, false));
  RLX_TRY(provide_copy(w, out->weight, layout, &out->copy));
  out->copy->users++;
  return RLX_OK;
}

rlx_status rlx_weights_hold(rlx_weights *w, const char *name, const rlx_graph *recipe, const rlx_type *type,
                            uint32_t layout, rlx_weight_hold *out) {
  *out = (rlx_weight_hold){0};
  rlx_mutex_lock(&w->lock);
  rlx_mem_source *before = rlx_mem_use(w->session->source); /* even for an executable of another session */
  rlx_status s = hold(w, name, recipe, type, layout, out);
  if (s) *out = (rlx_weight_hold){0};
  rlx_mem_use(before);
  rlx_mutex_unlock(&w->lock);
  return s;
}

void rlx_weights_let_go(rlx_weights *w, rlx_weight_hold *h) {
  if (!h->copy) return;
  rlx_mutex_lock(&w->lock);
  h->copy->users--;
  /* Without users, one copy with the value stays. */
  if (!rlx_weights_forget(w, h->weight))
    rlx_weight_drop_unused(w, h->weight, rlx_weight_is_held(h->weight) ? NULL : rlx_weight_filled(h->weight));
  rlx_mutex_unlock(&w->lock);
  *h = (rlx_weight_hold){0};
}

/* ---- reading by runs ---- */

void rlx_weights_begin_reading(rlx_weights *w, rlx_weight_reading *r) {
  rlx_mutex_lock(&w->lock);
  r->next = w->readings;
  w->readings = r;
  rlx_mutex_unlock(&w->lock);
}

void rlx_weights_end_reading(rlx_weights *w, rlx_weight_reading *r) {
  rlx_mutex_lock(&w->lock);
  rlx_weight_reading **at = &w->readings;
  while (*at != r) at = &(*at)->next;
  *at = r->next;
  rlx_mutex_unlock(&w->lock);
}

static bool depends_on(const rlx_weight *weight, const rlx_weight *source) {
  bool found = weight == source;
  for (size_t k = 0; k < weight->sources.n && !found; k++) found = weight->sources.v[k] == source;
  return found;
}

/* Runs read their weights without a lock, and computing one again writes to the memory that they read. */
static bool is_being_read(const rlx_weights *w, const rlx_weight *weight) {
  for (const rlx_weight_reading *r = w->readings; r; r = r->next)
    for (uint32_t k = 0; k < r->n; k++)
      if (r->holds[k].weight && depends_on(r->holds[k].weight, weight)) return true;
  return false;
}

/* ---- setting ---- */

/* What a weight is set to: a value of any type that converts, or bytes of the stored type. */
typedef struct new_value {
  const rlx_tensor *tensor; /* NULL: */
  const rlx_byte_source *source;
} new_value;

static rlx_status write_host(rlx_weights *w, const rlx_type *type, const rlx_weight_copy *c, const new_value *v) {
  if (!v->tensor) return rlx_source_read(v->source, c->host, c->bytes, w->session->threads);
  RLX_TRY(rlx_convert_check(v->tensor->dtype, type->dtype));
  return rlx_convert_array(type->dtype, c->host, v->tensor->dtype, v->tensor->data, rlx_dims_count(&type->shape));
}

static rlx_status write_copy(rlx_weights *w, const rlx_type *type, const rlx_weight_copy *c, const new_value *v) {
  if (rlx_weight_copy_host(c)) return write_host(w, type, c, v);
  rlx_queue *q = rlx_session_queue(w->session);
  const rlx_bound at = rlx_weight_copy_at(c);
  const rlx_tensor *t = v->tensor;
  rlx_pool *threads = w->session->threads;
  rlx_status s =
    t ? rlx_bound_write_by(q, &at, type, c->layout, t->dtype, t->data, rlx_dims_count(&type->shape), threads)
      : rlx_bound_fill(q, &at, type, c->layout, v->source, threads);
  return s ? s : rlx_bound_end(q, &at);
}

static rlx_status fill(rlx_weights *w, rlx_weight *weight, const new_value *value) {
  rlx_weight_copy *keep = NULL; /* plain, until a reader needs another layout */
  const uint32_t plain = !weight->recipe && rlx_weight_is_large(w, &weight->type) ? RLX_LAYOUT_IN_HOST : 0;
  if (!rlx_weight_is_held(weight) && !(keep = find_copy(weight, plain))) RLX_TRY(copy_add(w, weight, plain, &keep));
  rlx_weight_drop_unused(w, weight, keep);
  weight->has_value = false; /* while it is partly written */
  for (rlx_weight_copy *c = weight->copies; c; c = c->next) {
    RLX_TRY(rlx_weight_copy_allocate(w, c));
    RLX_TRY(write_copy(w, &weight->type, c, value));
  }
  weight->has_value = true;
  weight->dropped = false;
  return RLX_OK;
}

rlx_status rlx_weight_fill(rlx_weights *w, rlx_weight *weight, const rlx_tensor *value) {
  return fill(w, weight, &(new_value){.tensor = value});
}

static rlx_status put(rlx_weights *w, const char *name, const rlx_type *type, const new_value *value) {
  rlx_weight *weight;
  RLX_TRY(rlx_weights_named(w, name, &weight));
  if (is_being_read(w, weight))
    return RLX_FAIL(RLX_BUSY, "weight '%s' cannot be set while an executable that reads it runs", name);
  RLX_TRY(rlx_weight_take_type(w, weight, type, true));
  if (rlx_weight_has_parts(w, weight)) return rlx_weight_put_parts(w, weight, value->tensor, value->source);
  RLX_TRY(fill(w, weight, value));
  rlx_weights_changed(w, weight);
  return RLX_OK;
}

static rlx_status put_locked(rlx_weights *w, const char *name, const rlx_type *type, const new_value *value) {
  rlx_mutex_lock(&w->lock);
  rlx_mem_source *before = rlx_mem_use(w->session->source);
  rlx_status s = put(w, name, type, value);
  rlx_mem_use(before);
  atomic_fetch_add(&w->generation, 1); /* even on failure: a value may be lost */
  rlx_mutex_unlock(&w->lock);
  return s;
}

rlx_status rlx_weights_put(rlx_weights *w, const char *name, const rlx_type *type, const rlx_tensor *value) {
  return put_locked(w, name, type, &(new_value){.tensor = value});
}

rlx_status rlx_weights_put_from(rlx_weights *w, const char *name, const rlx_type *type, const rlx_byte_source *source) {
  return put_locked(w, name, type, &(new_value){.source = source});
}

bool rlx_weights_is_plain(rlx_weights *w, const char *name, const rlx_type *type) {
  rlx_mutex_lock(&w->lock);
  const rlx_weight *weight = find_named(w, name);
  bool is_plain = type->dtype != RLX_BOOL;
  for (const rlx_weight_copy *c = weight ? weight->copies : NULL; c; c = c->next)
    is_plain &= c->layout == 0 || rlx_weight_copy_host(c);
  rlx_mutex_unlock(&w->lock);
  return is_plain;
}

rlx_status rlx_weights_set(rlx_weights *w, const char *name, const rlx_tensor *value) {
  if (!w || !name || !value)
    return RLX_FAIL(RLX_INVALID, "rlx_weights_set: %s is NULL", !w ? "the store" : !name ? "name" : "value");
  RLX_TRY(rlx_session_check(w->session, "rlx_weights_set"));
  RLX_TRY_AT(rlx_tensor_check(value), "weight '%s'", name);
  return rlx_weights_put(w, name, &(rlx_type){value->dtype, value->shape}, value);
}

/* ---- reading ---- */

static rlx_status read_weight(rlx_weights *w, const char *name, rlx_dtype dtype, void *data, size_t count) {
  const rlx_weight *weight = find_named(w, name);
  if (!weight) return RLX_FAIL(RLX_INVALID, "param '%s' is not set", name);
  RLX_TRY(rlx_weight_check_value(weight));
  const rlx_weight_copy *c = rlx_weight_filled(weight);
  rlx_bound at = rlx_weight_copy_at(c);
  const void *host = rlx_weight_copy_host(c);
  if (host) RLX_TRY(rlx_convert_check(weight->type.dtype, dtype));
  if (host) return rlx_convert_array(dtype, data, weight->type.dtype, host, count);
  return rlx_bound_read(rlx_session_queue(w->session), &at, &weight->type, c->layout, dtype, data, count);
}

rlx_status rlx_weights_read(rlx_weights *w, const char *name, rlx_dtype dtype, void *data, size_t count) {
  rlx_mutex_lock(&w->lock);
  rlx_status s = read_weight(w, name, dtype, data, count);
  rlx_mutex_unlock(&w->lock);
  return s;
}

bool rlx_weights_has(const rlx_weights *w, const char *name) {
  if (!w || !name || rlx_session_check(w->session, "rlx_weights_has")) return false;
  rlx_weights *store = (rlx_weights *)(uintptr_t)w; /* only its lock changes */
  rlx_mutex_lock(&store->lock);
  const rlx_weight *weight = find_named(w, name);
  bool has = weight && (weight->has_value || weight->dropped);
  rlx_mutex_unlock(&store->lock);
  return has;
}

uint64_t rlx_weights_bytes(const rlx_weights *w) {
  if (!w || rlx_session_check(w->session, "rlx_weights_bytes")) return 0;
  rlx_weights *store = (rlx_weights *)(uintptr_t)w;
  rlx_mutex_lock(&store->lock);
  uint64_t bytes = w->bytes;
  rlx_mutex_unlock(&store->lock);
  return bytes;
}

/* ---- the store ---- */

static void weights_free(rlx_weights *w) {
  rlx_weights_forget_all(w);
  for (size_t i = 0; i < w->all.n; i++) rlx_weight_free(w, w->all.v[i]);
  rlx_array_deinit(&w->all);
  rlx_name_map_deinit(&w->names);
  rlx_mutex_destroy(&w->lock);
  rlx_session_release(w->session);
  rlx_mem_free(w);
}

rlx_weights *rlx_weights_retain(rlx_weights *w) {
  atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
  return w;
}

void rlx_weights_release(rlx_weights *w) {
  if (w && rlx_session_check(w->session, "rlx_weights_destroy")) return; /* belongs to the parent process */
  if (w && atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) == 1) weights_free(w);
}

rlx_status rlx_weights_create(rlx_session *s, rlx_weights **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_weights_create: out is NULL");
  *out = NULL;
  if (!s) return RLX_FAIL(RLX_INVALID, "rlx_weights_create: the session is NULL");
  RLX_TRY(rlx_session_check(s, "rlx_weights_create"));
  rlx_mem_source *before = rlx_mem_use(s->source);
  rlx_weights *w = rlx_new(rlx_weights);
  rlx_mem_use(before);
  if (!w) return RLX_FAIL(RLX_NO_MEMORY, "a weight store");
  rlx_status status = rlx_session_mutex_init(&w->lock, true);
  if (status) {
    rlx_mem_free(w);
    return status;
  }
  atomic_init(&w->refs, 1);
  atomic_init(&w->generation, 1);
  w->session = rlx_session_retain(s);
  *out = w;
  return RLX_OK;
}

void rlx_weights_set_source(rlx_weights *w, rlx_weight_source source) {
  rlx_mutex_lock(&w->lock);
  w->source = source;
  rlx_mutex_unlock(&w->lock);
}

void rlx_weights_destroy(rlx_weights *w) { rlx_weights_release(w); }
