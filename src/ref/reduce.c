/* Reductions and scans (cumulative reductions).
 *
 * Both fold a line of elements with a binary op from its neutral element: reduce_max folds with `max` from -inf, cumsum
 * with `add` from 0, and stores every step. So one table holds all of them, and the formulas are those of the binary
 * family. Floats fold in f64 and are rounded when stored; integers fold in 64 bits and wrap when stored. */
#include "ir/scalar.h"
#include "ref/ref.h"

typedef struct fold {
  double (*combine)(double a, double b);
  int64_t (*int_combine)(int64_t i, int64_t j, int bits);
  double neutral; /* for integers it saturates to the minimum or maximum of the dtype */
} fold;

static const fold fold_add = {rlx_scalar_add_f, rlx_scalar_add_i, 0.0};
static const fold fold_mul = {rlx_scalar_mul_f, rlx_scalar_mul_i, 1.0};
static const fold fold_max = {rlx_scalar_max_f, rlx_scalar_max_i, -RLX_INFINITY};
static const fold fold_min = {rlx_scalar_min_f, rlx_scalar_min_i, RLX_INFINITY};

/* The accumulator: f or i by the dtype of the tensors. */
typedef union accumulator {
  double f;
  int64_t i;
} accumulator;

static accumulator fold_step(const fold *op, const rlx_tensor *x, size_t at, accumulator acc) {
  if (rlx_dtype_is_float(x->dtype)) acc.f = op->combine(acc.f, rlx_load(x, at));
  else acc.i = op->int_combine(acc.i, rlx_load_int(x, at), 64);
  return acc;
}

static void fold_store(rlx_tensor *out, size_t at, accumulator acc) {
  if (rlx_dtype_is_float(out->dtype)) rlx_store(out, at, acc.f);
  else rlx_store_int(out, at, acc.i);
}

/* The neutral element in the dtype of out, through element `at`, which is overwritten. */
static accumulator fold_start(const fold *op, rlx_tensor *out, size_t at) {
  accumulator acc = {.f = op->neutral};
  if (rlx_dtype_is_float(out->dtype)) return acc;
  rlx_store_value(out, at, op->neutral);
  acc.i = rlx_load_int(out, at);
  return acc;
}

/* ---- reductions ---- */

static rlx_status reduce(rlx_ref_call *c, const rlx_dims *axes, const fold *op, bool mean) {
  const rlx_tensor *x = c->in[0];
  size_t n_out = rlx_tensor_count(c->out), n_in = rlx_tensor_count(x), stride[RLX_MAX_RANK];
  if (n_out == 0) return RLX_OK;
  accumulator *acc;
  RLX_TRY(rlx_ref_scratch(c, n_out, sizeof *acc, &acc));
  accumulator start = fold_start(op, c->out, 0);
  RLX_REF_EACH(c, i, n_out) acc[i] = start;
  rlx_reduced_strides(&x->shape, axes, stride);
  int64_t idx[RLX_MAX_RANK] = {0};
  RLX_REF_EACH(c, at, n_in) {
    size_t to = rlx_offset(x->shape.n, idx, stride);
    acc[to] = fold_step(op, x, at, acc[to]);
    rlx_next_index(&x->shape, idx);
  }
  RLX_REF_EACH(c, i, n_out) {
    if (mean) acc[i].f /= (double)(n_in / n_out);
    fold_store(c->out, i, acc[i]);
  }
  return RLX_OK;
}

rlx_status rlx_ref_reduce_sum(rlx_ref_call *c) { return reduce(c, &RLX_ATTRS(reduce_sum, c)->axes, &fold_add, false); }
rlx_status rlx_ref_reduce_mean(rlx_ref_call *c) { return reduce(c, &RLX_ATTRS(reduce_mean, c)->axes, &fold_add, true); }
rlx_status rlx_ref_reduce_max(rlx_ref_call *c) { return reduce(c, &RLX_ATTRS(reduce_max, c)->axes, &fold_max, false); }
rlx_status rlx_ref_reduce_min(rlx_ref_call *c) { return reduce(c, &RLX_ATTRS(reduce_min, c)->axes, &fold_min, false); }
rlx_status rlx_ref_reduce_prod(rlx_ref_call *c) {
  return reduce(c, &RLX_ATTRS(reduce_prod, c)->axes, &fold_mul, false);
}

/* ---- scans ---- */

static rlx_status scan_axis(rlx_ref_call *c, const fold *op, int64_t axis, bool exclusive, bool reverse) {
  const rlx_tensor *x = c->in[0];
  rlx_lines l = rlx_lines_of(&x->shape, axis);
  for (size_t line = 0; l.n > 0 && line < l.outer * l.inner && rlx_ref_continues(c, 1); line++) {
    size_t first = rlx_line_start(l, line);
    accumulator acc = fold_start(op, c->out, first);
    RLX_REF_EACH(c, k, l.n) {
      size_t at = first + (reverse ? l.n - 1 - k : k) * l.inner;
      accumulator before = acc;
      acc = fold_step(op, x, at, acc);
      fold_store(c->out, at, exclusive ? before : acc);
    }
  }
  return RLX_OK;
}

rlx_status rlx_ref_cumsum(rlx_ref_call *c) {
  const rlx_attrs_cumsum *a = c->attrs;
  return scan_axis(c, &fold_add, a->axis, a->exclusive, a->reverse);
}

rlx_status rlx_ref_cumprod(rlx_ref_call *c) {
  const rlx_attrs_cumprod *a = c->attrs;
  return scan_axis(c, &fold_mul, a->axis, a->exclusive, a->reverse);
}

rlx_status rlx_ref_cummax(rlx_ref_call *c) {
  const rlx_attrs_cummax *a = c->attrs;
  return scan_axis(c, &fold_max, a->axis, a->exclusive, a->reverse);
}
