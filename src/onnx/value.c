/* Values during the import: their nodes, their bytes if known, and constant folding.
 *
 * After each ONNX node the RLX nodes it added are evaluated by their reference kernels if all inputs are known and
 * the result is small. This turns shape arithmetic into numbers. Large values are left to the graph. */
#include <string.h>

#include "onnx/importer.h"
#include "ref/eval.h"

enum {
  SMALL_ELEMENTS = 4096, /* largest result that is folded during the import */
  ASKED_ELEMENTS =
    1 << 22 /* largest value, and intermediate value, computed on request; larger ones are computed by a run */
};

void *onnx_alloc(onnx_importer *imp, size_t count, size_t size) { return rlx_bump_alloc(&imp->bump, count, size); }

rlx_onnx *onnx_model_of(onnx_importer *imp) { return imp->m; }

onnx_value *onnx_value_new(onnx_importer *imp) {
  onnx_value *v = rlx_bump_new(&imp->bump, onnx_value);
  if (v) v->index = (uint32_t)imp->values.n;
  if (v && rlx_array_push(&imp->values, v)) return v;
  rlx_fail(RLX_NO_MEMORY, "no memory for the values of a model");
  return NULL;
}

rlx_status onnx_value_known(onnx_importer *imp, onnx_type type, const rlx_tensor *t, onnx_value **out) {
  RLX_TRY(onnx_check_extent(&t->shape));
  onnx_value *v = onnx_value_new(imp);
  if (!v) return RLX_NO_MEMORY;
  v->type = type;
  v->is = (rlx_type){t->dtype, t->shape};
  v->known = t->data;
  *out = v;
  return RLX_OK;
}

rlx_status onnx_value_from_tensor(onnx_importer *imp, const onnx_tensor *t, const char *name, onnx_value **out) {
  size_t bytes;
  onnx_value *v = onnx_value_new(imp);
  if (!v) return RLX_NO_MEMORY;
  *out = v;
  v->type = t->type;
  if (onnx_type_carrier(t->type) == RLX_DTYPE_UNKNOWN) {
    v->refused = true; /* reported by the node that reads it */
    return RLX_OK;
  }
  v->is = (rlx_type){onnx_type_carrier(t->type), t->dims};
  RLX_TRY(onnx_tensor_bytes(t, &bytes));
  const onnx_weight *w = onnx_weight_of(imp->m, t);
  if (w) {
    v->weight = t;
    v->leaf = w->leaf;
    return RLX_OK;
  }
  void *data = onnx_alloc(imp, bytes + 1, 1);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "tensor '%s'", name);
  v->known = data;
  return onnx_tensor_read(imp->m, t, data);
}

/* ---- bytes of nodes of the graph being built ---- */

static const void *known_at(const onnx_importer *imp, rlx_node n) { return n < imp->known.n ? imp->known.v[n] : NULL; }

static bool is_open_at(const onnx_importer *imp, rlx_node n) { return n < imp->open.n && imp->open.v[n]; }

static rlx_status set_known(onnx_importer *imp, rlx_node n, const void *bytes) {
  while (imp->known.n <= n)
    if (!rlx_array_push(&imp->known, (const void *)NULL))
      return RLX_FAIL(RLX_NO_MEMORY, "values of %u nodes", (unsigned)n);
  imp->known.v[n] = bytes;
  return RLX_OK;
}

static rlx_status set_sizes(onnx_importer *imp, rlx_node n, const void *bytes) {
  while (imp->open.n <= n)
    if (!rlx_array_push(&imp->open, false)) return RLX_FAIL(RLX_NO_MEMORY, "values of %u nodes", (unsigned)n);
  imp->open.v[n] = true;
  return set_known(imp, n, bytes);
}

/* The inputs of a node as tensors; false if one is not known. is_open[i]: input i holds sizes; *any_open: some input
 * does. */
static bool gather_inputs(const onnx_importer *imp, const rlx_node_rec *n, rlx_tensor *tensors, const rlx_tensor **in,
                          bool *is_open, bool *any_open) {
  *any_open = false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    in[i] = NULL;
    is_open[i] = is_open_at(imp, n->in[i]);
    *any_open |= is_open[i];
    if (!n->in[i]) continue;
    const void *bytes = known_at(imp, n->in[i]);
    const rlx_type *t = &rlx_graph_at(imp->g, n->in[i])->type;
    if (!bytes) return false;
    tensors[i] = (rlx_tensor){.dtype = t->dtype, .shape = t->shape, .const_data = bytes};
    if (rlx_tensor_bytes(t->dtype, t->shape, &tensors[i].bytes)) return false;
    in[i] = &tensors[i];
  }
  return true;
}

/* Evaluates a node if possible. A node whose kernel fails is left to the run, where it fails the same way. */
static rlx_status compute(onnx_importer *imp, rlx_node id, size_t max_elements) {
  enum { MAX_INPUTS = 64 };
  const rlx_node_rec *n = rlx_graph_at(imp->g, id);
  rlx_tensor tensors[MAX_INPUTS];
  const rlx_tensor *in[MAX_INPUTS];
  bool is_open[MAX_INPUTS], any_open, result_is_open;
  size_t bytes;
  if (n->op == RLX_OP_constant) {
    rlx_blob *b = rlx_blob_retain(RLX_ATTRS(constant, n)->data); /* the graph may be destroyed before the import ends */
    if (!rlx_array_push(&imp->blobs, b)) {
      rlx_blob_release(b);
      return RLX_FAIL(RLX_NO_MEMORY, "a constant");
    }
    return rlx_graph_holds_sizes(imp->g, id) ? set_sizes(imp, id, b->data) : set_known(imp, id, b->data);
  }
  if (rlx_dims_open(&n->type.shape)) return RLX_OK;
  if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_RANDOM | RLX_TRAIT_EFFECT | RLX_TRAIT_CONTROL)) return RLX_OK;
  if (n->n_in > MAX_INPUTS || rlx_dims_count(&n->type.shape) > max_elements ||
      !gather_inputs(imp, n, tensors, in, is_open, &any_open))
    return RLX_OK;
  if (rlx_tensor_bytes(n->type.dtype, n->type.shape, &bytes)) return RLX_OK;
  if (rlx_op_table_has(n->op, RLX_TRAIT_VIEW)) {
    const void *same = known_at(imp, n->in[0]);
    return any_open ? set_sizes(imp, id, same) : set_known(imp, id, same);
  }
  if (any_open) {
    const void *sizes;
    RLX_TRY(onnx_compute_sizes(imp, n, in, is_open, &sizes, &result_is_open));
    return !sizes ? RLX_OK : result_is_open ? set_sizes(imp, id, sizes) : set_known(imp, id, sizes);
  }
  void *data = onnx_alloc(imp, bytes + 1, 1);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "a value of %zu bytes", bytes);
  rlx_tensor out = {n->type.dtype, n->type.shape, {data}, bytes};
  rlx_status s = rlx_eval_node(n, &(rlx_eval_context){0}, in, &out);
  if (s == RLX_NO_MEMORY || s == RLX_CANCELLED) return s;
  return s ? RLX_OK : set_known(imp, id, data);
}

rlx_status onnx_fold_new(onnx_importer *imp) {
  uint32_t end = rlx_graph_end(imp->g);
  for (rlx_node id = imp->folded; id < end; id++) RLX_TRY(compute(imp, id, SMALL_ELEMENTS));
  imp->folded = end;
  return RLX_OK;
}

void onnx_take_known(onnx_importer *imp, onnx_value *v) {
  if (v->known || !v->node) return;
  v->known = known_at(imp, v->node);
  v->is_open = is_open_at(imp, v->node);
}

/* ---- large values that depend on weights and constants only, computed on request ---- */

/* Marks the nodes a value depends on; false if one is only known in a run. */
static bool mark_cone(const onnx_importer *imp, rlx_node top, bool *needed) {
  needed[top] = true;
  for (rlx_node id = top; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(imp->g, id);
    if (!needed[id] || known_at(imp, id) || n->op == RLX_OP_param) continue;
    if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_RANDOM | RLX_TRAIT_EFFECT | RLX_TRAIT_CONTROL)) return false;
    for (uint32_t i = 0; i < n->n_in; i++)
      if (n->in[i]) needed[n->in[i]] = true;
  }
  return true;
}

static rlx_status read_weight(onnx_importer *imp, const onnx_tensor *t, const void **out) {
  size_t bytes;
  RLX_TRY(onnx_tensor_bytes(t, &bytes));
  void *data = onnx_alloc(imp, bytes + 1, 1);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "tensor '%s': %zu bytes", t->name, bytes);
  *out = data;
  return onnx_tensor_read(imp->m, t, data);
}

static const onnx_tensor *weight_of_node(const onnx_importer *imp, rlx_node n) {
  const onnx_weight *w = onnx_weight_named(imp->m, rlx_node_name(imp->g, n));
  return w ? w->tensor : NULL;
}

static rlx_status compute_cone(onnx_importer *imp, rlx_node top, const bool *needed) {
  for (rlx_node id = 1; id <= top; id++) {
    if (!needed[id] || known_at(imp, id)) continue;
    const onnx_tensor *weight = rlx_graph_at(imp->g, id)->op == RLX_OP_param ? weight_of_node(imp, id) : NULL;
    const void *bytes;
    if (weight) {
      RLX_TRY(read_weight(imp, weight, &bytes));
      RLX_TRY(set_known(imp, id, bytes));
    } else {
      RLX_TRY(compute(imp, id, ASKED_ELEMENTS));
    }
  }
  return RLX_OK;
}

rlx_status onnx_know(onnx_importer *imp, onnx_value *v) {
  if (v->known) return RLX_OK;
  if (v->weight) return read_weight(imp, v->weight, &v->known);
  if (!v->node) return RLX_OK;
  RLX_TRY(onnx_fold_new(imp));
  if (!known_at(imp, v->node)) {
    bool *needed = rlx_mem_calloc(rlx_graph_end(imp->g), sizeof *needed);
    if (!needed) return RLX_FAIL(RLX_NO_MEMORY, "a walk of %u nodes", (unsigned)rlx_graph_end(imp->g));
    bool no_run = mark_cone(imp, v->node, needed);
    rlx_status s = no_run ? compute_cone(imp, v->node, needed) : RLX_OK;
    rlx_mem_free(needed);
    RLX_TRY(s);
    if (imp->is_symbolic && no_run && !known_at(imp, v->node)) return onnx_need_numbers(imp, "a value of sizes");
  }
  onnx_take_known(imp, v);
  return RLX_OK;
}

/* ---- nodes of values ---- */

rlx_node onnx_value_node(onnx_importer *imp, onnx_value *v) {
  if (v->node) return v->node;
  size_t bytes;
  if (v->is_open) {
    v->node = rlx_graph_add_sizes(imp->g, v->is.shape, v->known, rlx_dims_count(&v->is.shape));
    return v->node;
  }
  if (v->known && !rlx_tensor_bytes(v->is.dtype, v->is.shape, &bytes) && !v->weight) {
    v->node = rlx_op_constant(imp->g, v->is.dtype, v->is.shape, v->known, bytes);
    return v->node;
  }
  if (imp->inner && v->index < imp->inner->n_outer) return onnx_capture(imp, v);
  if (v->weight) v->node = rlx_op_param(imp->g, v->leaf, v->is.dtype, v->is.shape);
  else if (v->live) v->node = rlx_op_input(imp->g, v->leaf, v->is.dtype, v->is.shape);
  return v->node;
}
