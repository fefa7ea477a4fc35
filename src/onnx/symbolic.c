/* Symbolic import: one template graph for all input sizes that take the same decisions.
 *
 * Input sizes are symbols of a graph with an algebra (ir/algebra.h). Values computed from shapes are then known as
 * expressions: the known bytes of such a value are i64 elements, whatever its element type, that are numbers or size
 * codes ("open"). Op functions marked OPEN in ops.def accept open sizes. They compare them with onnx_less and
 * onnx_equal, which decide for the sample sizes and record a guard, and compute with rlx_size_*.
 *
 * Anything else that needs a number ends the import (onnx_need_numbers): an op that is not marked, a value that
 * decides something, a cut, a loop as a sub-graph. The caller then imports for numbers. */
#include <string.h>

#include "ir/element.h"
#include "ir/walk.h"
#include "onnx/importer.h"
#include "ref/eval.h"

rlx_status onnx_need_numbers(onnx_importer *imp, const char *what) {
  imp->needs_numbers = true;
  return onnx_stop(imp, RLX_FAIL(RLX_UNSUPPORTED, "%s needs sizes that are numbers", what));
}

/* ---- decisions of op functions ---- */

bool onnx_less(onnx_call *c, int64_t a, int64_t b) {
  bool holds = false;
  if (!c->imp->is_symbolic) return a < b;
  if (!rlx_size_less(c->g, a, b, &holds)) (void)onnx_need_numbers(c->imp, "a comparison");
  return holds;
}

bool onnx_equal(onnx_call *c, int64_t a, int64_t b) {
  bool holds = false;
  if (!c->imp->is_symbolic) return a == b;
  if (!rlx_size_equal(c->g, a, b, &holds)) (void)onnx_need_numbers(c->imp, "a comparison");
  return holds;
}

bool onnx_same_shape(onnx_call *c, const rlx_dims *a, const rlx_dims *b) {
  bool same = a->n == b->n;
  for (int i = 0; same && i < a->n; i++) same = onnx_equal(c, a->v[i], b->v[i]);
  return same;
}

/* Whether a shape has a size without an expression. */
static bool has_unknown(const rlx_dims *d) {
  for (int i = 0; i < d->n; i++)
    if (d->v[i] == RLX_DIM_UNKNOWN) return true;
  return false;
}

rlx_status onnx_check_open(const onnx_call *c, bool takes_open) {
  if (!c->imp->is_symbolic) return RLX_OK;
  for (uint32_t i = 0; i < c->n_in; i++) {
    const onnx_value *v = c->in[i];
    if (!v) continue;
    if (has_unknown(&v->is.shape) || (!takes_open && (v->is_open || rlx_dims_open(&v->is.shape))))
      return onnx_need_numbers(c->imp, c->node->op);
  }
  return RLX_OK;
}

/* ---- computing with sizes ---- */

typedef struct operand {
  const rlx_tensor *t;
  bool is_open;
  size_t stride[RLX_MAX_RANK];
} operand;

/* A number in the range of size codes cannot be represented: RLX_DIM_UNKNOWN. */
static int64_t number_at(const rlx_tensor *t, size_t i) {
  int64_t v = rlx_load_int(t, i);
  return rlx_dim_is_open(v) ? RLX_DIM_UNKNOWN : v;
}

static int64_t element(const operand *o, const int64_t *at, int rank) {
  size_t i = 0;
  for (int k = 0; k < rank; k++) i += o->stride[k] * (size_t)at[k];
  return o->is_open ? ((const int64_t *)o->t->data)[i] : number_at(o->t, i);
}

static bool is_positive(const rlx_graph *g, int64_t a, bool or_zero) {
  bool holds;
  return rlx_size_less(g, or_zero ? -1 : 0, a, &holds) && holds;
}

/* One element of the result; RLX_DIM_UNKNOWN: not expressible. */
static int64_t apply(const rlx_graph *g, rlx_op op, int64_t a, int64_t b, int64_t c) {
  bool less = false, same = false;
  switch (op) {
    case RLX_OP_add: return rlx_size_add(g, a, b);
    case RLX_OP_sub: return rlx_size_sub(g, a, b);
    case RLX_OP_mul: return rlx_size_mul(g, a, b);
    case RLX_OP_neg: return rlx_size_sub(g, 0, a);
    case RLX_OP_div: /* rounds toward zero */ return is_positive(g, a, true) ? rlx_size_div(g, a, b) : RLX_DIM_UNKNOWN;
    case RLX_OP_mod:
      return is_positive(g, a, true) && is_positive(g, b, false)
               ? rlx_size_sub(g, a, rlx_size_mul(g, b, rlx_size_div(g, a, b)))
               : RLX_DIM_UNKNOWN;
    case RLX_OP_shl: return b >= 0 && b < 62 ? rlx_size_mul(g, a, (int64_t)1 << b) : RLX_DIM_UNKNOWN;
    case RLX_OP_shr: return b >= 0 && b < 62 ? rlx_size_div(g, a, (int64_t)1 << b) : RLX_DIM_UNKNOWN;
    case RLX_OP_cast: /* to i64 or i32 */
      return rlx_size_less(g, -1, a, &same) && same && rlx_size_less(g, a, INT32_MAX, &less) && less ? a
                                                                                                     : RLX_DIM_UNKNOWN;
    case RLX_OP_min: return !rlx_size_less(g, a, b, &less) ? RLX_DIM_UNKNOWN : less ? a : b;
    case RLX_OP_max: return !rlx_size_less(g, a, b, &less) ? RLX_DIM_UNKNOWN : less ? b : a;
    case RLX_OP_eq: return !rlx_size_equal(g, a, b, &same) ? RLX_DIM_UNKNOWN : same;
    case RLX_OP_ne: return !rlx_size_equal(g, a, b, &same) ? RLX_DIM_UNKNOWN : !same;
    case RLX_OP_lt: return !rlx_size_less(g, a, b, &less) ? RLX_DIM_UNKNOWN : less;
    case RLX_OP_ge: return !rlx_size_less(g, a, b, &less) ? RLX_DIM_UNKNOWN : !less;
    case RLX_OP_gt: return !rlx_size_less(g, b, a, &less) ? RLX_DIM_UNKNOWN : less;
    case RLX_OP_le: return !rlx_size_less(g, b, a, &less) ? RLX_DIM_UNKNOWN : !less;
    case RLX_OP_where: return rlx_dim_is_open(a) ? RLX_DIM_UNKNOWN : a ? b : c;
    default: return RLX_DIM_UNKNOWN;
  }
}

static bool holds_integers(rlx_dtype t) { return t == RLX_I64 || t == RLX_I32 || t == RLX_BOOL; }

static bool compute_each(const rlx_graph *g, const rlx_node_rec *n, operand *o, int64_t *out) {
  const rlx_dims *shape = &n->type.shape;
  int64_t at[RLX_MAX_RANK] = {0};
  if (n->n_in > 3 || !holds_integers(n->type.dtype)) return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!o[i].t || !holds_integers(o[i].t->dtype)) return false;
    rlx_broadcast_strides(&o[i].t->shape, shape, o[i].stride);
  }
  for (size_t i = 0, count = rlx_dims_count(shape); i < count; i++) {
    int64_t x[3] = {0};
    for (uint32_t k = 0; k < n->n_in; k++)
      if ((x[k] = element(&o[k], at, shape->n)) == RLX_DIM_UNKNOWN) return false;
    out[i] = apply(g, n->op, x[0], x[1], x[2]);
    if (out[i] == RLX_DIM_UNKNOWN) return false;
    rlx_next_index(shape, at);
  }
  return true;
}

/* Ops that copy elements copy size codes as well: all operands but indices are passed as i64. */
static bool move_each(onnx_importer *imp, const rlx_node_rec *n, const operand *o, int64_t *out) {
  enum { MAX_INPUTS = 64 };
  rlx_tensor wide[MAX_INPUTS];
  const rlx_tensor *in[MAX_INPUTS];
  bool is_gather = n->op == RLX_OP_gather;
  if (!is_gather && n->op != RLX_OP_concat && n->op != RLX_OP_slice && n->op != RLX_OP_transpose &&
      n->op != RLX_OP_expand && n->op != RLX_OP_tile && n->op != RLX_OP_reverse)
    return false;
  if (n->n_in > MAX_INPUTS || (is_gather && o[1].is_open)) return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    size_t count = rlx_tensor_count(o[i].t);
    wide[i] = *o[i].t;
    in[i] = &wide[i];
    if (is_gather && i == 1) continue;
    if (!holds_integers(o[i].t->dtype)) return false;
    wide[i].dtype = RLX_I64;
    wide[i].bytes = count * sizeof(int64_t);
    int64_t *v = o[i].is_open ? NULL : onnx_alloc(imp, count + 1, sizeof *v);
    if (o[i].is_open) continue;
    if (!v) return false;
    for (size_t k = 0; k < count; k++)
      if ((v[k] = number_at(o[i].t, k)) == RLX_DIM_UNKNOWN) return false;
    wide[i].data = v;
  }
  size_t count = rlx_dims_count(&n->type.shape);
  rlx_tensor result = {RLX_I64, n->type.shape, {out}, count * sizeof *out};
  return rlx_eval_node(n, &(rlx_eval_context){0}, in, &result) == RLX_OK;
}

/* Converts elements that are all numbers to the node's type. */
static const void *as_numbers(onnx_importer *imp, rlx_dtype t, const int64_t *v, size_t n) {
  if (t == RLX_I64) return v;
  int32_t *words = onnx_alloc(imp, n + 1, sizeof *words);
  uint8_t *flags = (uint8_t *)words;
  for (size_t i = 0; words && i < n; i++)
    if (t == RLX_I32) words[i] = (int32_t)v[i];
    else flags[i] = v[i] != 0;
  return words;
}

rlx_status onnx_compute_sizes(onnx_importer *imp, const rlx_node_rec *n, const rlx_tensor *const *in,
                              const bool *is_open, const void **bytes, bool *result_is_open) {
  enum { MAX_INPUTS = 64 };
  operand o[MAX_INPUTS];
  size_t count = rlx_dims_count(&n->type.shape);
  int64_t *out = onnx_alloc(imp, count + 1, sizeof *out);
  *bytes = NULL;
  *result_is_open = false;
  if (!out) return RLX_FAIL(RLX_NO_MEMORY, "%zu sizes", count);
  if (n->n_in > MAX_INPUTS) return RLX_OK;
  for (uint32_t i = 0; i < n->n_in; i++) o[i] = (operand){.t = in[i], .is_open = is_open[i]};
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!in[i]) return RLX_OK;
  if (!holds_integers(n->type.dtype)) return RLX_OK; /* floats of sizes are computed by the run */
  bool done = rlx_op_table_has(n->op, RLX_TRAIT_MOVES) ? move_each(imp, n, o, out) : compute_each(imp->g, n, o, out);
  if (!done) return RLX_OK;
  for (size_t i = 0; i < count; i++) *result_is_open |= rlx_dim_is_open(out[i]);
  *bytes = *result_is_open ? out : as_numbers(imp, n->type.dtype, out, count);
  return *bytes ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu sizes", count);
}
