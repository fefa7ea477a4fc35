/* Random values by RLX's generator: the distributions match other runtimes, the values do not. Also losses, training
 * ops that are plain functions. */
#include <inttypes.h>
#include <string.h>

#include "onnx/compose.h"

/* ---- random ---- */

/* A seed of the model's, or one that differs from node to node. */
static rlx_status read_seed(onnx_call *c, int64_t *seed) {
  double f;
  RLX_TRY(onnx_float(c, "seed", 0, &f));
  uint64_t bits = 0;
  memcpy(&bits, &f, sizeof bits);
  *seed = onnx_has_attribute(c, "seed") ? (int64_t)(bits & INT64_MAX) : (int64_t)c->node->number + 1;
  return RLX_OK;
}

static rlx_status read_dtype(onnx_call *c, onnx_type fallback, onnx_type *out) {
  int64_t t;
  RLX_TRY(onnx_int(c, "dtype", fallback, &t));
  if (t < 1 || t >= ONNX_TYPES || onnx_type_carrier((onnx_type)t) == RLX_DTYPE_UNKNOWN)
    return onnx_refuse(c, "results of type %" PRId64, t);
  *out = (onnx_type)t;
  return RLX_OK;
}

/* Of the shape of an input, or of an attribute. */
static rlx_status draw(onnx_call *c, bool is_normal, bool is_like) {
  rlx_dims shape = onnx_shape(c, 0);
  onnx_type type = ONNX_FLOAT;
  int64_t seed, count;
  double a, b;
  RLX_TRY(read_dtype(c, is_like ? onnx_in_type(c, 0) : ONNX_FLOAT, &type));
  RLX_TRY(read_seed(c, &seed));
  RLX_TRY(onnx_float(c, is_normal ? "mean" : "low", 0, &a));
  RLX_TRY(onnx_float(c, is_normal ? "scale" : "high", 1, &b));
  if (!is_like) RLX_TRY(onnx_dims_of(c, "shape", &shape));
  if (!is_like && !onnx_has_attribute(c, "shape")) return RLX_FAIL(RLX_INVALID, "attribute 'shape' is missing");
  RLX_TRY(onnx_product(c, &shape, &count));
  if (!onnx_holds_floats(onnx_type_carrier(type))) return onnx_refuse(c, "random %s", onnx_type_name(type));
  rlx_dtype to = onnx_type_carrier(type);
  rlx_node y = is_normal ? rlx_op_rng_normal(c->g, RLX_NONE, shape, to, seed, a, b)
                         : rlx_op_rng_uniform(c->g, RLX_NONE, shape, to, seed, a, b);
  return onnx_set_as(c, 0, y, type);
}

rlx_status onnx_op_random_normal(onnx_call *c) { return draw(c, true, false); }
rlx_status onnx_op_random_normal_like(onnx_call *c) { return draw(c, true, true); }
rlx_status onnx_op_random_uniform(onnx_call *c) { return draw(c, false, false); }
rlx_status onnx_op_random_uniform_like(onnx_call *c) { return draw(c, false, true); }

rlx_status onnx_op_bernoulli(onnx_call *c) {
  onnx_type type = ONNX_FLOAT;
  int64_t seed;
  RLX_TRY(read_dtype(c, onnx_in_type(c, 0), &type));
  RLX_TRY(read_seed(c, &seed));
  rlx_node p = rlx_op_cast(c->g, onnx_in(c, 0), RLX_F32);
  rlx_node u = rlx_op_rng_uniform(c->g, RLX_NONE, onnx_shape(c, 0), RLX_F32, seed, 0, 1);
  return onnx_set_as(c, 0, rlx_op_cast(c->g, rlx_op_lt(c->g, u, p), onnx_type_carrier(type)), type);
}

rlx_status onnx_op_multinomial(onnx_call *c) {
  onnx_type type = ONNX_FLOAT;
  int64_t seed, n;
  rlx_dims shape = onnx_shape(c, 0);
  RLX_TRY(read_dtype(c, ONNX_INT32, &type));
  RLX_TRY(read_seed(c, &seed));
  RLX_TRY(onnx_int(c, "sample_size", 1, &n));
  if (shape.n != 2 || n < 1 || n > INT32_MAX || !onnx_holds_floats(onnx_dtype(c, 0)))
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " samples of an input with %d axes", n, (int)shape.n);
  rlx_node x = onnx_reshape(c, onnx_in(c, 0), RLX_DIMS(shape.v[0], 1, shape.v[1]));
  x = rlx_op_expand(c->g, x, RLX_DIMS(shape.v[0], n, shape.v[1]));
  rlx_node y = rlx_op_sample(c->g, x, 1, &(rlx_op_sample_desc){RLX_OP_SAMPLE_DESC_INIT, .seed = seed});
  return onnx_set_as(c, 0, onnx_cast(c, y, onnx_type_carrier(type)), type);
}

/* ---- losses ---- */

enum { MEAN, SUM, NONE };

/* -log_prob at the target's class, weighted; targets that are to be ignored count nothing. */
static rlx_status nll(onnx_call *c, rlx_node log_prob) {
  static const char *const reductions[] = {"mean", "sum", "none", NULL};
  rlx_dims shape = onnx_dims(c, log_prob), target = onnx_shape(c, 1), one = shape;
  int reduction;
  int64_t ignored;
  RLX_TRY(onnx_word(c, "reduction", reductions, &reduction));
  RLX_TRY(onnx_int(c, "ignore_index", 0, &ignored));
  if (shape.n < 2 || target.n != shape.n - 1 || (onnx_dtype(c, 1) != RLX_I32 && onnx_dtype(c, 1) != RLX_I64))
    return RLX_FAIL(RLX_INVALID, "scores with %d axes, labels with %d", (int)shape.n, (int)target.n);
  one.v[1] = 1;
  rlx_node index = onnx_in(c, 1), skip = RLX_NONE, weight = RLX_NONE, zero = onnx_scalar_like(c, log_prob, 0);
  if (onnx_has_attribute(c, "ignore_index")) {
    skip = rlx_op_eq(c->g, index, onnx_scalar_like(c, index, (double)ignored));
    index = rlx_op_where(c->g, skip, onnx_scalar_like(c, index, 0), index);
  }
  rlx_node loss = rlx_op_neg(c->g, rlx_op_gather_elements(c->g, log_prob, onnx_reshape(c, index, one), 1));
  loss = onnx_reshape(c, loss, target);
  if (onnx_has(c, 2)) weight = rlx_op_gather(c->g, onnx_in(c, 2), index, 0);
  if (skip && !weight) weight = onnx_fill(c, rlx_node_dtype(c->g, log_prob), target, 1);
  if (skip) {
    weight = rlx_op_where(c->g, skip, zero, weight);
    loss = rlx_op_where(c->g, skip, zero, loss);
  }
  if (weight) loss = rlx_op_mul(c->g, loss, weight);
  if (reduction == NONE) return onnx_set_like(c, 0, loss, 0);
  rlx_node sum = reduction == MEAN && !weight ? rlx_op_reduce_mean(c->g, loss, RLX_SCALAR, false)
                                              : rlx_op_reduce_sum(c->g, loss, RLX_SCALAR, false);
  if (reduction == MEAN && weight) sum = rlx_op_div(c->g, sum, rlx_op_reduce_sum(c->g, weight, RLX_SCALAR, false));
  return onnx_set_like(c, 0, sum, 0);
}

rlx_status onnx_op_nll_loss(onnx_call *c) { return nll(c, onnx_in(c, 0)); }

rlx_status onnx_op_softmax_cross_entropy_loss(onnx_call *c) {
  if (onnx_rank(c, 0) < 2) return RLX_FAIL(RLX_INVALID, "scores with %d axes", onnx_rank(c, 0));
  rlx_node log_prob = rlx_op_log_softmax(c->g, onnx_in(c, 0), 1);
  RLX_TRY(onnx_set_like(c, 1, log_prob, 0));
  return nll(c, log_prob);
}
