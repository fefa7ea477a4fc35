/* Values by name: what the caller writes, binds and reads. Each call checks all its arguments before it copies any
 * data. */
#include <string.h>

#include "device/convert.h"
#include "runtime/executable.h"

/* ---- types ---- */

/* Type of a leaf with the known sizes: those of the current binding, or those fixed at compile time. */
static rlx_type leaf_type(const rlx_executable *e, const rlx_leaf *l, const int64_t *sizes) {
  rlx_type t = rlx_graph_at(e->key.graph, l->node)->type;
  for (int i = 0; i < t.shape.n; i++) {
    int64_t size = rlx_dim_is_symbol(t.shape.v[i]) ? sizes[rlx_dim_symbol(t.shape.v[i])] : -1;
    if (size >= 0) t.shape.v[i] = size;
  }
  return t;
}

static rlx_status check_open(const rlx_executable *e, const char *name, const rlx_dims *shape) {
  if (!rlx_dims_open(shape)) return RLX_OK;
  return rlx_graph_name_symbols(
    e->key.graph,
    RLX_FAIL(RLX_INVALID, "'%s' is %s, and not all of its sizes are known yet", name, RLX_DIMS_TEXT(*shape)));
}

/* Type of an output as currently bound; before the first binding, as in the source graph, if that has no open sizes. */
static rlx_status result_type(const rlx_executable *e, uint32_t output, rlx_type *out) {
  const rlx_graph *g = e->compiled ? e->compiled->graph : e->key.graph;
  *out = rlx_graph_at(g, g->outputs.v[output].node)->type;
  return check_open(e, e->key.graph->outputs.v[output].name, &out->shape);
}

static rlx_status bound_leaf_type(const rlx_executable *e, const rlx_leaf *l, rlx_type *out) {
  *out = leaf_type(e, l, e->compiled ? e->sizes : e->key.sizes);
  return check_open(e, l->name, &out->shape);
}

static rlx_status unknown_name(const rlx_executable *e, const char *call, const char *name, const char *what) {
  (void)e;
  return name ? RLX_FAIL(RLX_NOT_FOUND, "%s: the graph has no %s '%s'", call, what, name)
              : RLX_FAIL(RLX_INVALID, "%s: name is NULL", call);
}

/* ---- writing ---- */

static rlx_status check_shape(const rlx_executable *e, const rlx_leaf *l, const rlx_tensor *v) {
  rlx_type want = leaf_type(e, l, e->key.sizes);
  bool fits = v->shape.n == want.shape.n;
  for (int i = 0; fits && i < want.shape.n; i++)
    fits = rlx_dim_is_open(want.shape.v[i]) || v->shape.v[i] == want.shape.v[i];
  if (fits) return rlx_convert_check(v->dtype, want.dtype);
  return rlx_graph_name_symbols(
    e->key.graph, RLX_FAIL(RLX_INVALID, "is %s but must be %s", RLX_DIMS_TEXT(v->shape), RLX_DIMS_TEXT(want.shape)));
}

rlx_status rlx_value_check(const rlx_executable *e, const rlx_leaf *l, const rlx_tensor *v) {
  const char *op = rlx_op_table_get(l->op)->name;
  if (v->shape.n < 0 || v->shape.n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "%s '%s': has rank %d", op, l->name, (int)v->shape.n);
  RLX_TRY_AT(rlx_tensor_check(v), "%s '%s'", op, l->name);
  RLX_TRY_AT(check_shape(e, l, v), "%s '%s'", op, l->name);
  return RLX_OK;
}

/* Keeps a copy until a run, when all sizes are known. */
static rlx_status hold_value(rlx_leaf *l, const rlx_tensor *v) {
  if (v->bytes > l->held_cap || !l->held.data) {
    void *room = rlx_mem_realloc(l->held.data, v->bytes, 1);
    if (!room) return RLX_FAIL(RLX_NO_MEMORY, "'%s'", l->name);
    l->held.data = room;
    l->held_cap = v->bytes;
  }
  l->held = (rlx_tensor){v->dtype, v->shape, {l->held.data}, v->bytes};
  if (v->bytes) memcpy(l->held.data, v->data, v->bytes);
  l->is_dirty = true;
  return RLX_OK;
}

/* An unused input has no memory; writing it is allowed and does nothing. */
static rlx_status upload(rlx_executable *e, const rlx_leaf *l, rlx_dtype dtype, const void *data, size_t count) {
  if (!l->here || !rlx_arena_has(e->now->arena, l->here)) return RLX_OK;
  RLX_TRY_AT(rlx_arena_write(e->now->arena, l->here, dtype, data, count), "input '%s'", l->name);
  return RLX_OK;
}

static rlx_status write_input(rlx_executable *e, rlx_leaf *l, const rlx_tensor *v) {
  if (e->is_open) {
    RLX_TRY(hold_value(l, v));
  } else {
    RLX_TRY(rlx_executable_resolve(e, &e->watch, false));
    RLX_TRY(upload(e, l, v->dtype, v->data, rlx_dims_count(&v->shape)));
  }
  l->has_value = true;
  return RLX_OK;
}

static rlx_status state_at(const rlx_executable *e, const rlx_leaf *l, const rlx_type *type, rlx_bound *at) {
  rlx_state_entry *entry;
  RLX_TRY(rlx_states_settle(e->states));
  RLX_TRY(rlx_states_get(e->states, l->name, type, &entry));
  *at = (rlx_bound){entry->block, 0, entry->bytes};
  return RLX_OK;
}

static rlx_status write_state(rlx_executable *e, rlx_leaf *l, const rlx_tensor *v) {
  rlx_type type = {rlx_graph_at(e->key.graph, l->node)->type.dtype, v->shape};
  rlx_bound at;
  RLX_TRY(rlx_states_begin(e->states, "writing a state"));
  rlx_status s = state_at(e, l, &type, &at);
  if (!s) s = rlx_bound_write(rlx_executable_queue(e), &at, &type, 0, v->dtype, v->data, rlx_dims_count(&v->shape));
  rlx_states_end(e->states);
  if (s) return rlx_fail_frame(s, "state '%s'", l->name);
  l->is_dirty = true;
  return RLX_OK;
}

rlx_status rlx_value_write(rlx_executable *e, rlx_leaf *l, const rlx_tensor *v) {
  rlx_type type = {rlx_graph_at(e->key.graph, l->node)->type.dtype, v->shape};
  if (l->op == RLX_OP_param) RLX_TRY(rlx_weights_put(e->weights, l->name, &type, v));
  else if (l->op == RLX_OP_state) RLX_TRY(write_state(e, l, v));
  else RLX_TRY(write_input(e, l, v));
  l->shape = v->shape;
  l->has_shape = true;
  l->is_taken = false;
  return RLX_OK;
}

rlx_status rlx_executable_write(rlx_executable *e, const char *name, const rlx_tensor *value) {
  const char *call = "rlx_executable_write";
  RLX_TRY(rlx_enter(e, call));
  rlx_leaf *l = rlx_leaf_find(e, name);
  rlx_status s = !l       ? unknown_name(e, call, name, "input, param or state")
                 : !value ? RLX_FAIL(RLX_INVALID, "%s: value is NULL", call)
                          : rlx_value_check(e, l, value);
  if (!s) s = rlx_value_write(e, l, value);
  return rlx_leave(e, s);
}

/* ---- before a run ---- */

static rlx_status upload_bound(rlx_executable *e, const rlx_leaf *l) {
  rlx_tensor v = {.const_data = l->bound, .bytes = l->bound_bytes};
  rlx_type type = leaf_type(e, l, e->sizes);
  v.dtype = type.dtype;
  v.shape = type.shape;
  RLX_TRY_AT(rlx_tensor_check(&v), "the memory bound to input '%s'", l->name);
  return upload(e, l, v.dtype, v.data, rlx_dims_count(&v.shape));
}

static rlx_status check_inputs_set(const rlx_executable *e) {
  const rlx_compiled *c = e->now->compiled;
  for (size_t i = 0; i < e->n_leaves; i++) {
    const rlx_leaf *l = &e->leaves[i];
    bool needed = l->op == RLX_OP_input && l->here && c->uses[l->here];
    if (needed && !l->has_value && !l->bound) return RLX_FAIL(RLX_INVALID, "input '%s' is not set", l->name);
  }
  return RLX_OK;
}

rlx_status rlx_values_upload(rlx_executable *e) {
  RLX_TRY(check_inputs_set(e));
  for (size_t i = 0; i < e->n_leaves; i++) {
    rlx_leaf *l = &e->leaves[i];
    if (l->op == RLX_OP_input) {
      if (l->bound) RLX_TRY(upload_bound(e, l));
      else if (l->is_dirty) RLX_TRY(upload(e, l, l->held.dtype, l->held.data, rlx_dims_count(&l->held.shape)));
      l->is_taken = l->bound != NULL;
    }
    l->is_dirty = false;
  }
  return RLX_OK;
}

/* ---- reading ---- */

/* Checks that out has room for a value of this type as out->dtype, and sets its shape and bytes. */
static rlx_status check_room(const char *name, const rlx_type *type, rlx_tensor *out) {
  size_t bytes;
  RLX_TRY_AT(rlx_convert_check(type->dtype, out->dtype), "'%s'", name);
  RLX_TRY_AT(rlx_tensor_bytes(out->dtype, type->shape, &bytes), "'%s'", name);
  if (out->bytes < bytes)
    return RLX_FAIL(RLX_INVALID, "'%s' has room for %zu bytes but %s%s takes %zu", name, out->bytes,
                    rlx_dtype_name(out->dtype), RLX_DIMS_TEXT(type->shape), bytes);
  if (bytes && !out->data) return RLX_FAIL(RLX_INVALID, "'%s' has no memory to read into", name);
  out->shape = type->shape;
  out->bytes = bytes;
  return RLX_OK;
}

rlx_status rlx_result_room(const rlx_executable *e, uint32_t output, rlx_tensor *out) {
  rlx_type type;
  RLX_TRY(result_type(e, output, &type));
  return check_room(e->key.graph->outputs.v[output].name, &type, out);
}

rlx_status rlx_result_read(rlx_executable *e, uint32_t output, const rlx_tensor *out) {
  const char *name = e->key.graph->outputs.v[output].name;
  if (!e->now || !e->now->has_run || !rlx_instance_holds(e->now))
    return RLX_FAIL(RLX_INVALID, "output '%s' has no value: nothing ran yet", name);
  RLX_TRY_AT(rlx_arena_read(e->now->arena, e->results[output].here, out->dtype, out->data, rlx_dims_count(&out->shape)),
             "output '%s'", name);
  return RLX_OK;
}

static rlx_status read_output(rlx_executable *e, uint32_t output, rlx_tensor *out) {
  RLX_TRY(rlx_result_room(e, output, out));
  return rlx_result_read(e, output, out);
}

static rlx_status read_input(rlx_executable *e, const rlx_leaf *l, const rlx_tensor *out) {
  size_t count = rlx_dims_count(&out->shape);
  if (l->is_dirty && l->held.data) return rlx_convert_array(out->dtype, out->data, l->held.dtype, l->held.data, count);
  bool is_here = e->now && rlx_instance_holds(e->now);
  if (!is_here || (!l->has_value && !(l->bound && e->now->has_run)))
    return RLX_FAIL(RLX_INVALID, "input '%s' is not set", l->name);
  if (!l->here || !rlx_arena_has(e->now->arena, l->here))
    return RLX_FAIL(RLX_UNSUPPORTED, "input '%s' was not kept: nothing reads it", l->name);
  return rlx_arena_read(e->now->arena, l->here, out->dtype, out->data, count);
}

static rlx_status read_leaf(rlx_executable *e, const rlx_leaf *l, rlx_tensor *out) {
  rlx_type type;
  if (l->has_shape && e->is_open) type = (rlx_type){rlx_graph_at(e->key.graph, l->node)->type.dtype, l->shape};
  else RLX_TRY(bound_leaf_type(e, l, &type));
  RLX_TRY(check_room(l->name, &type, out));
  if (l->op == RLX_OP_input) return read_input(e, l, out);
  size_t count = rlx_dims_count(&type.shape);
  if (l->op == RLX_OP_param) return rlx_weights_read(e->weights, l->name, out->dtype, out->data, count);
  rlx_bound at;
  RLX_TRY(state_at(e, l, &type, &at));
  return rlx_bound_read(rlx_executable_queue(e), &at, &type, 0, out->dtype, out->data, count);
}

rlx_status rlx_executable_read(rlx_executable *e, const char *name, rlx_tensor *out) {
  const char *call = "rlx_executable_read";
  if (!out) return RLX_FAIL(RLX_INVALID, "%s: out is NULL", call);
  RLX_TRY(rlx_enter_states(e, call)); /* an output may be stored in a state */
  uint32_t output = rlx_result_find(e, name);
  const rlx_leaf *l = rlx_leaf_find(e, name);
  rlx_status s = output != UINT32_MAX ? read_output(e, output, out)
                 : l                  ? read_leaf(e, l, out)
                                      : unknown_name(e, call, name, "output, input, param or state");
  return rlx_leave_states(e, s);
}

static rlx_status describe(const rlx_executable *e, const char *call, const char *name, rlx_tensor *out) {
  uint32_t output = rlx_result_find(e, name);
  const rlx_leaf *l = rlx_leaf_find(e, name);
  rlx_type type;
  if (output != UINT32_MAX) RLX_TRY(result_type(e, output, &type));
  else if (l) RLX_TRY(bound_leaf_type(e, l, &type));
  else return unknown_name(e, call, name, "output, input, param or state");
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(type.dtype, type.shape, &bytes));
  *out = (rlx_tensor){.dtype = type.dtype, .shape = type.shape, .bytes = bytes};
  return RLX_OK;
}

rlx_status rlx_executable_describe(const rlx_executable *e, const char *name, rlx_tensor *out) {
  const char *call = "rlx_executable_describe";
  if (!out) return RLX_FAIL(RLX_INVALID, "%s: out is NULL", call);
  *out = (rlx_tensor){0};
  RLX_TRY(rlx_enter_nested(e, call));
  rlx_status s = describe(e, call, name, out);
  rlx_leave_nested(e);
  return s;
}

/* ---- bound memory ---- */

const rlx_arena_entry *rlx_result_entry(const rlx_executable *e, uint32_t output, size_t bytes) {
  const rlx_arena_entry *at = rlx_arena_get(e->now->arena, e->results[output].here);
  return at && !at->layout && at->at.bytes == bytes ? at : NULL;
}

rlx_status rlx_results_download(rlx_executable *e) {
  for (uint32_t i = 0; i < e->n_results; i++) {
    rlx_result *r = &e->results[i];
    if (!r->bound) continue;
    rlx_type type;
    RLX_TRY(result_type(e, i, &type));
    rlx_tensor out = {.dtype = type.dtype, .data = r->bound, .bytes = r->bound_bytes};
    RLX_TRY(read_output(e, i, &out));
  }
  return RLX_OK;
}

static rlx_status check_bytes(const char *name, const rlx_type *type, size_t bytes) {
  size_t want;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &want));
  if (bytes == want) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "'%s' takes %zu bytes (%s%s) but %zu are bound to it", name, want,
                  rlx_dtype_name(type->dtype), RLX_DIMS_TEXT(type->shape), bytes);
}

/* What the last run uploaded from the caller's memory stays the input's value. With open sizes it is held on the host,
 * like written values, because the next run may need another instance. */
static rlx_status keep_last(rlx_executable *e, rlx_leaf *l) {
  if (!l->is_taken || !e->now || !rlx_instance_holds(e->now)) return RLX_OK;
  l->has_value = !e->is_open || (l->here && rlx_arena_has(e->now->arena, l->here));
  if (!e->is_open || !l->has_value) return RLX_OK;
  rlx_type type = leaf_type(e, l, e->now->compiled->key.sizes);
  rlx_tensor v;
  RLX_TRY(rlx_tensor_create(&type, &v));
  rlx_status s = rlx_arena_read(e->now->arena, l->here, type.dtype, v.data, rlx_dims_count(&type.shape));
  if (!s) s = hold_value(l, &v);
  rlx_tensor_deinit(&v);
  return s;
}

static rlx_status bind_input(rlx_executable *e, rlx_leaf *l, const void *data, size_t bytes) {
  rlx_type type;
  if (data) {
    RLX_TRY(bound_leaf_type(e, l, &type));
    RLX_TRY(check_bytes(l->name, &type, bytes));
    l->shape = type.shape;
    l->has_shape = true;
  }
  if (!data) {
    RLX_TRY(keep_last(e, l));
    l->is_taken = false;
  }
  l->bound = data;
  l->bound_bytes = bytes;
  return RLX_OK;
}

static rlx_status bind_output(rlx_executable *e, uint32_t output, void *data, size_t bytes) {
  rlx_type type;
  if (data) {
    RLX_TRY(result_type(e, output, &type));
    RLX_TRY(check_bytes(e->key.graph->outputs.v[output].name, &type, bytes));
  }
  e->results[output].bound = data;
  e->results[output].bound_bytes = bytes;
  return RLX_OK;
}

rlx_status rlx_executable_bind_input(rlx_executable *e, const char *name, const void *data, size_t bytes) {
  const char *call = "rlx_executable_bind_input";
  RLX_TRY(rlx_enter(e, call));
  rlx_leaf *l = rlx_leaf_find(e, name);
  rlx_status s;
  if (l && l->op == RLX_OP_input) s = bind_input(e, l, data, bytes);
  else if (l)
    s = RLX_FAIL(RLX_INVALID, "%s: expected an input, got %s '%s'", call, rlx_op_table_get(l->op)->name, name);
  else s = unknown_name(e, call, name, "input");
  return rlx_leave(e, s);
}

rlx_status rlx_executable_bind_output(rlx_executable *e, const char *name, void *data, size_t bytes) {
  const char *call = "rlx_executable_bind_output";
  RLX_TRY(rlx_enter(e, call));
  uint32_t output = rlx_result_find(e, name);
  rlx_status s = output != UINT32_MAX ? bind_output(e, output, data, bytes) : unknown_name(e, call, name, "output");
  return rlx_leave(e, s);
}
