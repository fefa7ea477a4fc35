/* Gather, scatter, and ops composed of them. */
#include "onnx/carry.h"
#include "onnx/ops.h"

/* ---- gather ---- */

static rlx_status axis_of(const onnx_call *c, int64_t fallback, int *axis) {
  int64_t at;
  RLX_TRY(onnx_int(c, "axis", fallback, &at));
  return onnx_axis(c, at, onnx_rank(c, 0), axis);
}

/* Indices as RLX takes them: i32 or i64. */
static rlx_status indices(onnx_call *c, uint32_t i, rlx_node *out) {
  onnx_type t = onnx_in_type(c, i);
  if (t == ONNX_INT32 || t == ONNX_INT64) return *out = onnx_in(c, i), RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u is %s, expected int32 or int64", (unsigned)i, onnx_type_name(t));
}

rlx_status onnx_op_gather(onnx_call *c) {
  int axis;
  rlx_node at;
  RLX_TRY(axis_of(c, 0, &axis));
  if (onnx_rank(c, 0) + onnx_rank(c, 1) - 1 > RLX_MAX_RANK)
    return onnx_refuse(c, "a result of %d axes, and RLX has at most %d", onnx_rank(c, 0) + onnx_rank(c, 1) - 1,
                       RLX_MAX_RANK);
  RLX_TRY(indices(c, 1, &at));
  return onnx_set_like(c, 0, rlx_op_gather(c->g, onnx_in(c, 0), at, axis), 0);
}

rlx_status onnx_op_gather_elements(onnx_call *c) {
  int axis;
  rlx_node at;
  RLX_TRY(axis_of(c, 0, &axis));
  RLX_TRY(indices(c, 1, &at));
  return onnx_set_like(c, 0, rlx_op_gather_elements(c->g, onnx_in(c, 0), at, axis), 0);
}

rlx_status onnx_op_gather_nd(onnx_call *c) {
  int64_t batch;
  rlx_node at;
  RLX_TRY(onnx_int(c, "batch_dims", 0, &batch));
  RLX_TRY(indices(c, 1, &at));
  return onnx_set_like(c, 0, rlx_op_gather_nd(c->g, onnx_in(c, 0), at, batch), 0);
}

/* ---- scatter ---- */

static rlx_status reduction_of(const onnx_call *c, rlx_scatter *out) {
  static const char *const words[] = {"none", "add", "mul", "max", "min", NULL};
  static const rlx_scatter ways[] = {RLX_SCATTER_NONE, RLX_SCATTER_ADD, RLX_SCATTER_MUL, RLX_SCATTER_MAX,
                                     RLX_SCATTER_MIN};
  int i;
  RLX_TRY(onnx_word(c, "reduction", words, &i));
  *out = ways[i];
  if (onnx_in_type(c, 0) != onnx_in_type(c, 2))
    return RLX_FAIL(RLX_INVALID, "%s cannot take updates of %s", onnx_type_name(onnx_in_type(c, 0)),
                    onnx_type_name(onnx_in_type(c, 2)));
  return RLX_OK;
}

/* Max and min compare, the others do not care for the order of u64. */
static rlx_node taken(onnx_call *c, uint32_t i, rlx_scatter way) {
  rlx_node n = onnx_in(c, i);
  return way == RLX_SCATTER_MAX || way == RLX_SCATTER_MIN ? onnx_ordered(c, n, onnx_in_type(c, 0)) : n;
}
static rlx_status set_scattered(onnx_call *c, rlx_node y, rlx_scatter way) {
  onnx_type t = onnx_in_type(c, 0);
  if (way == RLX_SCATTER_MAX || way == RLX_SCATTER_MIN) y = onnx_ordered(c, y, t);
  return onnx_set_like(c, 0, onnx_wrap(c, y, t), 0);
}

rlx_status onnx_op_scatter_elements(onnx_call *c) {
  int axis;
  rlx_scatter way;
  rlx_node at;
  RLX_TRY(axis_of(c, 0, &axis));
  RLX_TRY(reduction_of(c, &way));
  RLX_TRY(indices(c, 1, &at));
  rlx_node y = rlx_op_scatter_elements(c->g, taken(c, 0, way), at, taken(c, 2, way), axis, way);
  return set_scattered(c, y, way);
}

rlx_status onnx_op_scatter_nd(onnx_call *c) {
  rlx_scatter way;
  rlx_node at;
  RLX_TRY(reduction_of(c, &way));
  RLX_TRY(indices(c, 1, &at));
  return set_scattered(c, rlx_op_scatter_nd(c->g, taken(c, 0, way), at, taken(c, 2, way), way), way);
}

/* Positions for rows [B, S, ..]: the updates of sample b go to write[b], write[b] + 1, .. */
static rlx_node write_places(onnx_call *c, int64_t batch, int64_t n, int64_t max, bool circular) {
  rlx_graph *g = c->g;
  rlx_node place = rlx_op_reshape(g, rlx_op_range(g, 0, 1, n, RLX_I64), RLX_DIMS(1, n));
  if (onnx_has(c, 2)) place = rlx_op_add(g, place, rlx_op_reshape(g, onnx_in(c, 2), RLX_DIMS(batch, 1)));
  if (circular) place = rlx_op_mod(g, place, onnx_integer(c, max));
  rlx_node sample = rlx_op_reshape(g, rlx_op_range(g, 0, 1, batch, RLX_I64), RLX_DIMS(batch, 1, 1));
  const rlx_node both[] = {rlx_op_expand(g, sample, RLX_DIMS(batch, n, 1)),
                           rlx_op_reshape(g, rlx_op_expand(g, place, RLX_DIMS(batch, n)), RLX_DIMS(batch, n, 1))};
  return rlx_op_concat(g, both, 2, 2);
}

rlx_status onnx_op_tensor_scatter(onnx_call *c) {
  static const char *const modes[] = {"linear", "circular", NULL};
  rlx_dims shape = onnx_shape(c, 0), update = onnx_shape(c, 1), perm = {.n = shape.n}, back = {.n = shape.n};
  int axis, mode;
  rlx_graph *g = c->g;
  RLX_TRY(axis_of(c, -2, &axis));
  RLX_TRY(onnx_word(c, "mode", modes, &mode));
  RLX_TRY(onnx_same_type(c, 2));
  if (axis == 0) return RLX_FAIL(RLX_INVALID, "the axis is that of the samples");
  if (update.n != shape.n) return RLX_FAIL(RLX_INVALID, "%d axes into %d", (int)update.n, (int)shape.n);
  if (shape.v[axis] == 0 && mode == 1) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  for (int i = 0; i < perm.n; i++) perm.v[i] = i == 0 ? 0 : i == 1 ? axis : i <= axis ? i - 1 : i;
  for (int i = 0; i < perm.n; i++) back.v[perm.v[i]] = i;
  rlx_node at = write_places(c, shape.v[0], update.v[axis], shape.v[axis], mode == 1);
  rlx_node x = rlx_op_transpose(g, onnx_in(c, 0), perm), rows = rlx_op_transpose(g, onnx_in(c, 1), perm);
  return onnx_set_like(c, 0, rlx_op_transpose(g, rlx_op_scatter_nd(g, x, at, rows, RLX_SCATTER_NONE), back), 0);
}

/* ---- by position ---- */

rlx_status onnx_op_trilu(onnx_call *c) {
  int64_t k = 0;
  bool upper;
  if (onnx_has(c, 1)) RLX_TRY(onnx_need_int(c, 1, &k));
  RLX_TRY(onnx_flag(c, "upper", true, &upper));
  if (onnx_rank(c, 0) < 2) return RLX_FAIL(RLX_INVALID, "the input has %d axes", onnx_rank(c, 0));
  k = k > INT32_MAX ? INT32_MAX : k < -INT32_MAX ? -INT32_MAX : k; /* past any corner it is all or nothing */
  return onnx_set_like(c, 0, rlx_op_trilu(c->g, onnx_in(c, 0), upper, k), 0);
}

rlx_status onnx_op_one_hot(onnx_call *c) {
  double depth;
  int64_t at;
  int axis, rank = onnx_rank(c, 0);
  rlx_graph *g = c->g;
  rlx_node index;
  RLX_TRY(onnx_need_number(c, 1, &depth));
  RLX_TRY(onnx_int(c, "axis", -1, &at));
  RLX_TRY(onnx_axis(c, at, rank + 1, &axis));
  if (!(depth >= 1) || depth > INT32_MAX) return RLX_FAIL(RLX_INVALID, "the depth is %g", depth);
  rlx_dims two = onnx_shape(c, 2), out = onnx_shape(c, 0);
  if (two.n != 1 || two.v[0] != 2) return RLX_FAIL(RLX_INVALID, "the values are not two");
  if (rank == RLX_MAX_RANK) return onnx_refuse(c, "of %d axes", rank);
  out.v[out.n++] = (int64_t)depth;
  RLX_TRY(onnx_check_size(c, &out));
  RLX_TRY(onnx_convert(c, onnx_in(c, 0), onnx_in_type(c, 0), ONNX_INT64, &index));
  rlx_node values = onnx_in(c, 2), is = rlx_op_one_hot(g, index, (int64_t)depth, axis, 1, 0, RLX_BOOL);
  rlx_node off = rlx_op_reshape(g, rlx_op_narrow(g, values, 0, 0, 1), RLX_SCALAR);
  rlx_node on = rlx_op_reshape(g, rlx_op_narrow(g, values, 0, 1, 1), RLX_SCALAR);
  return onnx_set_like(c, 0, rlx_op_where(g, is, on, off), 2);
}

/* Row (t, b) is taken from time len[b] - 1 - t while that is one of the sequence's, else from its own. */
rlx_status onnx_op_reverse_sequence(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0), flat = {.n = shape.n - 1};
  int64_t time, batch;
  rlx_graph *g = c->g;
  rlx_node length;
  RLX_TRY(onnx_int(c, "time_axis", 0, &time));
  RLX_TRY(onnx_int(c, "batch_axis", 1, &batch));
  if (shape.n < 2 || time < 0 || time > 1 || batch != 1 - time)
    return RLX_FAIL(RLX_INVALID, "time is axis %lld and batch axis %lld of %d", (long long)time, (long long)batch,
                    (int)shape.n);
  int64_t n = shape.v[time], samples = shape.v[batch];
  rlx_dims along_time = time ? RLX_DIMS(1, n) : RLX_DIMS(n, 1);
  rlx_dims along_batch = time ? RLX_DIMS(samples, 1) : RLX_DIMS(1, samples);
  RLX_TRY(onnx_convert(c, onnx_in(c, 1), onnx_in_type(c, 1), ONNX_INT64, &length));
  rlx_node t = rlx_op_reshape(g, rlx_op_range(g, 0, 1, n, RLX_I64), along_time);
  rlx_node b = rlx_op_reshape(g, rlx_op_range(g, 0, 1, samples, RLX_I64), along_batch);
  length = rlx_op_reshape(g, length, along_batch);
  rlx_node mirrored = rlx_op_sub(g, rlx_op_sub(g, length, onnx_integer(c, 1)), t);
  rlx_node from = rlx_op_where(g, rlx_op_lt(g, t, length), mirrored, t);
  rlx_node row = time ? rlx_op_add(g, rlx_op_mul(g, b, onnx_integer(c, n)), from)
                      : rlx_op_add(g, rlx_op_mul(g, from, onnx_integer(c, samples)), b);
  flat.v[0] = n * samples;
  for (int i = 2; i < shape.n; i++) flat.v[i - 1] = shape.v[i];
  return onnx_set_like(c, 0, rlx_op_gather(g, rlx_op_reshape(g, onnx_in(c, 0), flat), row, 0), 0);
}
