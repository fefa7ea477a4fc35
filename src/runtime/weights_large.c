/* Weights larger than the device binds to a kernel: passes split them by rows (rlx_rewrite_large), so what the device
 * stores is their parts, computed weights whose recipe is a slice of rows.
 *
 * The whole is never a block of the device. A value that is set goes to the parts at once if all readers are parts that
 * executables hold, so that only one part is in memory on its way. Otherwise it is kept in memory of the host until the
 * parts were made of it. */
#include <string.h>

#include "device/convert.h"
#include "ir/slice.h"
#include "runtime/weights_load.h"

bool rlx_weight_is_large(const rlx_weights *w, const rlx_type *type) {
  const rlx_device *d = w->session->device;
  size_t bytes;
  return d->backend->split_large && d->info.max_window_bytes && !rlx_tensor_bytes(type->dtype, type->shape, &bytes) &&
         bytes > d->info.max_window_bytes;
}

/* ---- parts ---- */

typedef struct part {
  rlx_type type;
  uint64_t first, elements; /* of the whole, in elements */
} part;

/* Whether the recipe is one slice of whole rows, one after the other, of a param. */
static bool is_part(const rlx_graph *recipe, part *out) {
  if (!recipe || rlx_graph_end(recipe) != 3) return false;
  const rlx_node_rec *x = rlx_graph_at(recipe, 1), *n = rlx_graph_at(recipe, 2);
  rlx_slice_axis cut[RLX_MAX_RANK];
  if (x->op != RLX_OP_param || n->op != RLX_OP_slice || !n->type.shape.n ||
      rlx_slice_resolve(RLX_ATTRS(slice, n), &x->type.shape, cut) || cut[0].step != 1)
    return false;
  for (int i = 1; i < x->type.shape.n; i++)
    if (cut[i].count != x->type.shape.v[i] || cut[i].step != 1) return false;
  const uint64_t elements = rlx_dims_count(&n->type.shape);
  *out = (part){n->type, cut[0].count ? elements / (uint64_t)cut[0].count * (uint64_t)cut[0].start : 0, elements};
  return true;
}

static rlx_tensor tensor_of(const part *p, rlx_dtype dtype, const void *whole) {
  const uint64_t skip = rlx_elements_bytes(dtype, (size_t)p->first);
  return (rlx_tensor){
    dtype, p->type.shape, {(char *)(uintptr_t)whole + skip}, (size_t)rlx_elements_bytes(dtype, (size_t)p->elements)};
}

/* ---- a part from the whole ---- */

/* Reads a part alone, where the whole can be read again and is not stored. *done: false if it must be read whole. */
static rlx_status fetch_part(rlx_weights *w, rlx_weight *weight, const part *p, bool *done) {
  rlx_weight *whole = weight->sources.v[0];
  rlx_tensor t;
  *done = false;
  if (whole->has_value || !w->source.read_rows || !whole->has_type || !p->elements) return RLX_OK;
  const size_t rows = (size_t)p->type.shape.v[0], first = (size_t)(p->first / (p->elements / rows));
  RLX_TRY(rlx_tensor_create(&p->type, &t));
  rlx_status s = w->source.read_rows(w->source.user, whole->name, &whole->type, first, rows, t.data);
  if (!s && !whole->version) rlx_weights_changed(w, whole);
  if (!s) s = rlx_weight_fill(w, weight, &t);
  *done = !s;
  whole->dropped = whole->dropped || !s;
  rlx_tensor_deinit(&t);
  return s == RLX_NOT_FOUND ? RLX_OK : s;
}

static rlx_status copy_part(rlx_weights *w, rlx_weight *weight, const part *p, bool *done) {
  const rlx_weight_copy *c = rlx_weight_filled(weight->sources.v[0]);
  *done = c->layout == 0 || c->host;
  if (!*done) return RLX_OK;
  if (c->host) return rlx_weight_fill(w, weight, &(rlx_tensor[]){tensor_of(p, p->type.dtype, c->host)}[0]);
  rlx_tensor t;
  RLX_TRY(rlx_tensor_create(&p->type, &t));
  const rlx_bound at = {c->block, rlx_elements_bytes(p->type.dtype, (size_t)p->first), t.bytes};
  rlx_status s =
    rlx_bound_read(rlx_session_queue(w->session), &at, &p->type, 0, p->type.dtype, t.data, (size_t)p->elements);
  if (!s) s = rlx_weight_fill(w, weight, &t);
  rlx_tensor_deinit(&t);
  return s;
}

rlx_status rlx_weight_make_part(rlx_weights *w, rlx_weight *weight, bool *done) {
  part p;
  *done = false;
  if (!is_part(weight->recipe, &p)) return RLX_OK;
  RLX_TRY(fetch_part(w, weight, &p, done));
  if (*done) return RLX_OK;
  RLX_TRY(rlx_weight_fetch(w, weight->sources.v[0]));
  return copy_part(w, weight, &p, done);
}

/* ---- the parts of a value that is set ---- */

/* Whether the value can go to the parts alone: nothing else reads it, and executables hold all of them. */
bool rlx_weight_has_parts(const rlx_weights *w, const rlx_weight *weight) {
  bool all =
    weight->has_type && rlx_weight_is_large(w, &weight->type) && weight->readers.n && !rlx_weight_is_held(weight);
  part p;
  for (size_t i = 0; all && i < weight->readers.n; i++)
    all = is_part(weight->readers.v[i]->recipe, &p) && rlx_weight_is_held(weight->readers.v[i]);
  return all;
}

typedef struct shifted {
  const rlx_byte_source *source;
  uint64_t by;
} shifted;

static rlx_status read_shifted(void *user, uint64_t from, void *to, size_t bytes) {
  const shifted *s = user;
  return s->source->read(s->source->user, s->by + from, to, bytes);
}

static rlx_status fill_part(rlx_weights *w, rlx_weight *reader, const rlx_tensor *value,
                            const rlx_byte_source *source) {
  part p;
  (void)is_part(reader->recipe, &p);
  if (value) return rlx_weight_fill(w, reader, &(rlx_tensor[]){tensor_of(&p, value->dtype, value->data)}[0]);
  rlx_tensor t;
  RLX_TRY(rlx_tensor_create(&p.type, &t));
  shifted from = {source, rlx_elements_bytes(p.type.dtype, (size_t)p.first)};
  rlx_status s =
    rlx_source_read(&(rlx_byte_source){.read = read_shifted, .user = &from}, t.data, t.bytes, w->session->threads);
  if (!s) s = rlx_weight_fill(w, reader, &t);
  rlx_tensor_deinit(&t);
  return s;
}

rlx_status rlx_weight_put_parts(rlx_weights *w, rlx_weight *weight, const rlx_tensor *value,
                                const rlx_byte_source *source) {
  rlx_status s = RLX_OK;
  rlx_weight_drop_unused(w, weight, NULL);
  weight->has_value = weight->dropped = false;
  for (size_t i = 0; i < weight->readers.n; i++) weight->readers.v[i]->has_value = false; /* until all are written */
  for (size_t i = 0; i < weight->readers.n && !s; i++) s = fill_part(w, weight->readers.v[i], value, source);
  rlx_weights_changed(w, weight);
  for (size_t i = 0; i < weight->readers.n; i++) {
    rlx_weight *reader = weight->readers.v[i];
    if (s) reader->has_value = false;
    else reader->seen[0] = weight->version;
  }
  if (s) return s;
  weight->n_waiting = 0;
  weight->dropped = true;
  return RLX_OK;
}
