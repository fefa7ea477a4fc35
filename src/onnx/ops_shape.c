/* Constants, shapes and views. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "onnx/carry.h"
#include "onnx/importer.h"
#include "onnx/ops.h"

rlx_status onnx_op_identity(onnx_call *c) {
  onnx_set_value(c, 0, c->in[0]);
  return RLX_OK;
}

/* ---- constants ---- */

static rlx_status set_floats(onnx_call *c, const double *v, size_t n, bool is_scalar) {
  float *f = onnx_alloc(c->imp, n + 1, sizeof *f);
  if (!f) return RLX_FAIL(RLX_NO_MEMORY, "%zu floats", n);
  for (size_t i = 0; i < n; i++) f[i] = (float)v[i];
  rlx_tensor t = {.dtype = RLX_F32, .shape = is_scalar ? RLX_SCALAR : RLX_DIMS((int64_t)n), .data = f};
  return onnx_value_known(c->imp, ONNX_FLOAT, &t, &c->out[0]);
}

rlx_status onnx_op_constant(onnx_call *c) {
  const onnx_attribute *a = NULL;
  static const struct {
    const char *name;
    onnx_kind kind;
  } values[] = {{"value", ONNX_KIND_TENSOR},        {"value_float", ONNX_KIND_FLOAT},
                {"value_floats", ONNX_KIND_FLOATS}, {"value_int", ONNX_KIND_INT},
                {"value_ints", ONNX_KIND_INTS},     {"sparse_value", ONNX_KIND_SPARSE},
                {"value_string", ONNX_KIND_STRING}, {"value_strings", ONNX_KIND_STRINGS}};
  if (c->n_out != 1) return RLX_FAIL(RLX_INVALID, "%u outputs, expected one", (unsigned)c->n_out);
  for (size_t i = 0; i < sizeof values / sizeof *values && !a; i++) {
    a = onnx_attribute_find(c, values[i].name);
    if (a && a->kind != values[i].kind)
      return RLX_FAIL(RLX_INVALID, "attribute '%s' is %s, expected %s", a->name, onnx_kind_name(a->kind),
                      onnx_kind_name(values[i].kind));
  }
  if (!a) return RLX_FAIL(RLX_INVALID, "attribute 'value' is missing");
  switch (a->kind) {
    case ONNX_KIND_STRING:
    case ONNX_KIND_STRINGS: return onnx_refuse(c, "only tensors, floats and ints are constants here");
    case ONNX_KIND_TENSOR: return onnx_value_from_tensor(c->imp, a->tensor, c->node->out[0], &c->out[0]);
    case ONNX_KIND_FLOAT: return set_floats(c, &a->f, 1, true);
    case ONNX_KIND_FLOATS: return set_floats(c, a->floats, a->n, false);
    case ONNX_KIND_INT: return onnx_set_ints(c, 0, &a->i, 1, true);
    case ONNX_KIND_INTS: return onnx_set_ints(c, 0, a->ints, a->n, false);
    case ONNX_KIND_SPARSE: return onnx_value_from_sparse(c->imp, a->sparse, &c->out[0]);
    default: return RLX_FAIL(RLX_INVALID, "attribute '%s' is %s", a->name, onnx_kind_name(a->kind));
  }
}

rlx_status onnx_op_constant_of_shape(onnx_call *c) {
  rlx_dims shape;
  onnx_type type = ONNX_FLOAT;
  rlx_node one;
  RLX_TRY(onnx_need_shape(c, 0, &shape));
  RLX_TRY(onnx_check_size(c, &shape));
  const onnx_attribute *a = onnx_attribute_find(c, "value");
  if (a) {
    onnx_value *v;
    if (a->kind != ONNX_KIND_TENSOR || a->tensor->elements != 1)
      return RLX_FAIL(RLX_INVALID, "attribute 'value' is not a tensor of one element");
    RLX_TRY(onnx_value_from_tensor(c->imp, a->tensor, "value", &v));
    if (v->refused) return onnx_refuse(c, "elements of type %s", onnx_type_name(v->type));
    type = v->type;
    one = rlx_op_reshape(c->g, onnx_node_of(c, v), RLX_SCALAR);
  } else {
    one = onnx_number(c, type, 0);
  }
  return onnx_set_as(c, 0, rlx_op_expand(c->g, one, shape), type);
}

/* How many steps of `delta` from start stay short of the limit. */
static uint64_t count_steps(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
  if (step == 0) return 0; /* the caller has rejected it */
  return (span - 1) / step + 1;
}

static rlx_status range_of_ints(onnx_call *c) {
  int64_t start, delta;
  onnx_ints limit;
  rlx_dims shape;
  RLX_TRY(onnx_need_int(c, 0, &start));
  RLX_TRY(onnx_need_sizes(c, 1, &limit));
  RLX_TRY(onnx_need_int(c, 2, &delta));
  if (limit.n != 1) return RLX_FAIL(RLX_INVALID, "input 1 has %zu elements, expected one", limit.n);
  if (delta == 0) return RLX_FAIL(RLX_INVALID, "the step is 0");
  if (rlx_dim_is_open(limit.v[0]) && c->in[1]->is_open) {
    if (delta < 0) return onnx_need_numbers(c->imp, "a range downward");
    int64_t last = rlx_size_sub(c->g, rlx_size_sub(c->g, limit.v[0], start), 1);
    shape = RLX_DIMS(onnx_less(c, last, 0) ? 0 : rlx_size_add(c->g, rlx_size_div(c->g, last, delta), 1));
  } else {
    uint64_t n = count_steps(start, limit.v[0], delta);
    shape = RLX_DIMS(n > INT64_MAX ? INT64_MAX : (int64_t)n);
  }
  RLX_TRY(onnx_check_size(c, &shape));
  rlx_node places = rlx_op_range(c->g, 0, 1, shape.v[0], RLX_I64), y;
  y = rlx_op_add(c->g, rlx_op_mul(c->g, places, onnx_integer(c, delta)), onnx_integer(c, start));
  RLX_TRY(onnx_convert(c, y, ONNX_INT64, onnx_in_type(c, 0), &y));
  return onnx_set_like(c, 0, y, 0);
}

rlx_status onnx_op_range(onnx_call *c) {
  double start, limit, delta;
  RLX_TRY(onnx_same_type(c, 3));
  if (!onnx_type_is_float(onnx_in_type(c, 0))) return range_of_ints(c);
  RLX_TRY(onnx_need_number(c, 0, &start));
  RLX_TRY(onnx_need_number(c, 1, &limit));
  RLX_TRY(onnx_need_number(c, 2, &delta));
  double n = ceil((limit - start) / delta);
  if (delta == 0 || isnan(n)) return RLX_FAIL(RLX_INVALID, "a range from %g to %g by %g", start, limit, delta);
  rlx_dims shape = RLX_DIMS(n < 0 ? 0 : n > 0x1p40 ? INT64_C(1) << 40 : (int64_t)n);
  RLX_TRY(onnx_check_size(c, &shape));
  return onnx_set_like(c, 0, rlx_op_range(c->g, start, delta, shape.v[0], onnx_dtype(c, 0)), 0);
}

rlx_status onnx_op_eye_like(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0);
  int64_t type, k;
  rlx_node y;
  RLX_TRY(onnx_int(c, "dtype", onnx_in_type(c, 0), &type));
  RLX_TRY(onnx_int(c, "k", 0, &k));
  if (shape.n != 2) return RLX_FAIL(RLX_INVALID, "the input has %d axes, expected 2", (int)shape.n);
  if (type <= 0 || type >= ONNX_TYPES) return RLX_FAIL(RLX_INVALID, "attribute 'dtype' is %lld", (long long)type);
  rlx_node row = rlx_op_reshape(c->g, rlx_op_range(c->g, 0, 1, shape.v[0], RLX_I64), RLX_DIMS(shape.v[0], 1));
  rlx_node column = rlx_op_range(c->g, 0, 1, shape.v[1], RLX_I64);
  y = rlx_op_eq(c->g, rlx_op_sub(c->g, column, row), onnx_integer(c, k));
  RLX_TRY(onnx_convert(c, y, ONNX_BOOL, (onnx_type)type, &y));
  return onnx_set_as(c, 0, y, (onnx_type)type);
}

/* ---- shapes ---- */

/* Clamps a position, which may count from the end, to 0 .. n. */
static int64_t clamp_place(int64_t at, int64_t n) {
  if (at < 0) at += n;
  return at < 0 ? 0 : at > n ? n : at;
}

rlx_status onnx_op_shape(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0);
  int64_t start, end;
  RLX_TRY(onnx_int(c, "start", 0, &start));
  RLX_TRY(onnx_int(c, "end", shape.n, &end));
  start = clamp_place(start, shape.n);
  end = clamp_place(end, shape.n);
  return onnx_set_sizes(c, 0, shape.v + start, end > start ? (size_t)(end - start) : 0, false);
}

rlx_status onnx_op_size(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0);
  int64_t n = 1;
  for (int i = 0; i < shape.n; i++) n = rlx_size_mul(c->g, n, shape.v[i]);
  if (n == RLX_DIM_UNKNOWN) return onnx_need_numbers(c->imp, "Size");
  return onnx_set_sizes(c, 0, &n, 1, true);
}

/* A size 0 keeps the input's unless allowzero is set; one -1 is inferred. */
rlx_status onnx_op_reshape(onnx_call *c) {
  rlx_dims to, from = onnx_shape(c, 0);
  bool allow_zero;
  int n_open = 0, n_zero = 0;
  if (c->opset < 5) RLX_TRY(onnx_dims_of(c, "shape", &to));
  else RLX_TRY(onnx_need_shape(c, 1, &to));
  RLX_TRY(onnx_flag(c, "allowzero", false, &allow_zero));
  for (int i = 0; i < to.n; i++) {
    if (rlx_dim_is_open(to.v[i]) && c->imp->is_symbolic) {
      if (!onnx_less(c, 0, to.v[i])) return onnx_need_numbers(c->imp, "Reshape");
      continue;
    }
    if (to.v[i] == 0 && !allow_zero) {
      if (i >= from.n) return RLX_FAIL(RLX_INVALID, "size %d is kept, but the input has %d axes", i, (int)from.n);
      to.v[i] = from.v[i];
      if (rlx_dim_is_open(to.v[i])) continue;
    }
    if (to.v[i] < -1) return RLX_FAIL(RLX_INVALID, "size %d is %lld", i, (long long)to.v[i]);
    n_open += to.v[i] == -1;
    n_zero += allow_zero && to.v[i] == 0;
  }
  if (n_open && n_zero) return RLX_FAIL(RLX_INVALID, "sizes 0 and -1: what is left is any number");
  if (n_open > 1) return RLX_FAIL(RLX_INVALID, "%d sizes are -1, expected at most one", n_open);
  return onnx_set_like(c, 0, rlx_op_reshape(c->g, onnx_in(c, 0), to), 0);
}

rlx_status onnx_op_flatten(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0), flat = RLX_DIMS(1, 1);
  int64_t axis;
  RLX_TRY(onnx_int(c, "axis", 1, &axis));
  if (axis < -shape.n || axis > shape.n) return RLX_FAIL(RLX_INVALID, "axis %lld of %d", (long long)axis, (int)shape.n);
  if (axis < 0) axis += shape.n;
  for (int i = 0; i < shape.n; i++) flat.v[i >= axis] = rlx_size_mul(c->g, flat.v[i >= axis], shape.v[i]);
  return onnx_set_like(c, 0, rlx_op_reshape(c->g, onnx_in(c, 0), flat), 0);
}

static bool is_among(const rlx_dims *axes, int axis) {
  for (int i = 0; i < axes->n; i++)
    if (axes->v[i] == axis) return true;
  return false;
}

rlx_status onnx_op_squeeze(onnx_call *c) {
  rlx_dims axes, shape = onnx_shape(c, 0), to = RLX_SCALAR;
  RLX_TRY(onnx_axes_given(c, 13, 1, &axes));
  RLX_TRY(onnx_axes(c, &axes, shape.n));
  bool all = c->opset < 13 ? !onnx_has_attribute(c, "axes") : !onnx_has(c, 1);
  for (int i = 0; i < shape.n; i++) {
    bool goes = all ? onnx_equal(c, shape.v[i], 1) : is_among(&axes, i);
    if (goes && !onnx_equal(c, shape.v[i], 1))
      return RLX_FAIL(RLX_INVALID, "axis %d has %lld elements, expected one", i, (long long)shape.v[i]);
    if (!goes) to.v[to.n++] = shape.v[i];
  }
  return onnx_set_like(c, 0, rlx_op_reshape(c->g, onnx_in(c, 0), to), 0);
}

rlx_status onnx_op_unsqueeze(onnx_call *c) {
  rlx_dims axes, shape = onnx_shape(c, 0), to = RLX_SCALAR;
  RLX_TRY(onnx_axes_given(c, 13, 1, &axes));
  int rank = shape.n + axes.n;
  if (rank > RLX_MAX_RANK) return onnx_refuse(c, "a result of %d axes, and RLX has at most %d", rank, RLX_MAX_RANK);
  RLX_TRY(onnx_axes(c, &axes, rank));
  for (int i = 0, k = 0; i < rank; i++) to.v[to.n++] = is_among(&axes, i) ? 1 : shape.v[k++];
  return onnx_set_like(c, 0, rlx_op_reshape(c->g, onnx_in(c, 0), to), 0);
}

rlx_status onnx_op_transpose(onnx_call *c) {
  rlx_dims perm;
  int rank = onnx_rank(c, 0);
  RLX_TRY(onnx_dims_of(c, "perm", &perm));
  if (perm.n && perm.n != rank)
    return RLX_FAIL(RLX_INVALID, "attribute 'perm' has %d numbers, and the input %d axes", (int)perm.n, rank);
  RLX_TRY(onnx_axes(c, &perm, rank));
  if (rank < 2) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  return onnx_set_like(c, 0, rlx_op_transpose(c->g, onnx_in(c, 0), perm), 0);
}

/* ---- blocks ---- */

static rlx_status block_of(const onnx_call *c, int64_t *block) {
  RLX_TRY(onnx_int(c, "blocksize", 0, block));
  if (onnx_rank(c, 0) != 4) return RLX_FAIL(RLX_INVALID, "the input has %d axes, expected 4", onnx_rank(c, 0));
  if (*block < 1 || *block > INT32_MAX)
    return RLX_FAIL(RLX_INVALID, "attribute 'blocksize' is %lld", (long long)*block);
  return RLX_OK;
}

/* dcr: [N, b, b, C', H, W], crd: [N, C', b, b, H, W], to [N, C', H, b, W, b]. */
rlx_status onnx_op_depth_to_space(onnx_call *c) {
  static const char *const modes[] = {"DCR", "CRD", NULL};
  int64_t block;
  int mode;
  RLX_TRY(block_of(c, &block));
  RLX_TRY(onnx_word(c, "mode", modes, &mode));
  rlx_node x = onnx_in(c, 0);
  return onnx_set_like(c, 0, rlx_op_depth_to_space(c->g, x, block, mode ? RLX_DEPTH_CRD : RLX_DEPTH_DCR), 0);
}

/* [N, C, H', b, W', b] to dcr [N, b, b, C, H', W'] or crd [N, C, b, b, H', W']. */
rlx_status onnx_op_space_to_depth(onnx_call *c) {
  static const char *const modes[] = {"DCR", "CRD", NULL};
  int64_t b;
  int mode;
  rlx_dims s = onnx_shape(c, 0);
  RLX_TRY(block_of(c, &b));
  RLX_TRY(onnx_word(c, "mode", modes, &mode));
  rlx_node x = onnx_in(c, 0);
  if (mode == 0) return onnx_set_like(c, 0, rlx_op_space_to_depth(c->g, x, b), 0);
  if (s.v[2] % b || s.v[3] % b)
    return RLX_FAIL(RLX_INVALID, "blocks of %lld do not divide %lld x %lld", (long long)b, (long long)s.v[2],
                    (long long)s.v[3]);
  x = rlx_op_reshape(c->g, x, RLX_DIMS(s.v[0], s.v[1], s.v[2] / b, b, s.v[3] / b, b));
  x = rlx_op_transpose(c->g, x, RLX_DIMS(0, 1, 3, 5, 2, 4));
  x = rlx_op_reshape(c->g, x, RLX_DIMS(s.v[0], s.v[1] * b * b, s.v[2] / b, s.v[3] / b));
  return onnx_set_like(c, 0, x, 0);
}
