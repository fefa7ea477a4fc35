/* The builder: leaves and element-wise ops.
 *
 * Each function fills in an op's attributes and calls rlx_graph_add, which checks, infers, appends, and keeps the first
 * error. So the functions here check only what rlx_graph_add cannot see: a NULL list, a value that does not fit its
 * type. The regular families are generated from their tables. */
#include "ir/build.h"

#include <math.h>
#include <string.h>

#include "base/float8.h"
#include "base/half.h"
#include "base/sized.h"

/* ---- lists of inputs ---- */

static bool list_ok(rlx_graph *g, rlx_op op, const rlx_node *xs, size_t n) {
  if (!g || g->error) return false;
  const char *name = rlx_op_table_get(op)->name;
  if (n && !xs)
    return rlx_graph_set_error(g, RLX_FAIL(RLX_INVALID, "rlx_op_%s: the list of %zu inputs is NULL", name, n));
  if (n > UINT32_MAX - 8)
    return rlx_graph_set_error(g, RLX_FAIL(RLX_INVALID, "rlx_op_%s: %zu inputs are too many", name, n));
  return true;
}

rlx_node rlx_build_list(rlx_graph *g, rlx_op op, const rlx_node *xs, size_t n, const void *attrs) {
  return list_ok(g, op, xs, n) ? rlx_graph_add(g, op, xs, (uint32_t)n, attrs) : RLX_NONE;
}

rlx_node rlx_build_after(rlx_graph *g, rlx_op op, const rlx_node *first, uint32_t n_first, const rlx_node *xs, size_t n,
                         const void *attrs) {
  if (!list_ok(g, op, xs, n)) return RLX_NONE;
  rlx_node *all = rlx_mem_calloc(n_first + n, sizeof *all);
  if (!all)
    return rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "rlx_op_%s: %zu inputs", rlx_op_table_get(op)->name, n));
  if (n_first) memcpy(all, first, n_first * sizeof *all);
  if (n) memcpy(all + n_first, xs, n * sizeof *all);
  rlx_node node = rlx_graph_add(g, op, all, (uint32_t)(n_first + n), attrs);
  rlx_mem_free(all);
  return node;
}

/* ---- descriptions ---- */

const void *rlx_build_desc(rlx_graph *g, const char *type, const void *desc, void *own, size_t bytes) {
  if (!g || g->error) return NULL;
  rlx_status s = rlx_sized_read(type, desc, own, bytes);
  if (!s) return own;
  rlx_graph_set_error(g, s);
  return NULL;
}

/* ---- leaves ---- */

static rlx_node leaf(rlx_graph *g, rlx_op op, const char *name, rlx_dtype dtype, rlx_dims shape) {
  /* The three named leaves have the same attributes. */
  _Static_assert(sizeof(rlx_attrs_input) == sizeof(rlx_attrs_param) &&
                   sizeof(rlx_attrs_input) == sizeof(rlx_attrs_state),
                 "leaves differ");
  return rlx_graph_add(g, op, NULL, 0, &(rlx_attrs_input){.name = name, .dtype = dtype, .shape = shape});
}

rlx_node rlx_op_input(rlx_graph *g, const char *name, rlx_dtype dtype, rlx_dims shape) {
  return leaf(g, RLX_OP_input, name, dtype, shape);
}
rlx_node rlx_op_param(rlx_graph *g, const char *name, rlx_dtype dtype, rlx_dims shape) {
  return leaf(g, RLX_OP_param, name, dtype, shape);
}
rlx_node rlx_op_state(rlx_graph *g, const char *name, rlx_dtype dtype, rlx_dims shape) {
  return leaf(g, RLX_OP_state, name, dtype, shape);
}

/* The size is checked before it is allocated, because `bytes` comes from the caller and may be anything. */
static rlx_status copy_constant(rlx_dtype dtype, rlx_dims shape, const void *data, size_t bytes, rlx_blob **out) {
  size_t wanted;
  RLX_TRY(rlx_tensor_bytes(dtype, shape, &wanted));
  if (bytes != wanted)
    return RLX_FAIL(RLX_INVALID, "%s%s needs %zu bytes, got %zu", rlx_dtype_name(dtype), RLX_DIMS_TEXT(shape), wanted,
                    bytes);
  if (bytes && !data) return RLX_FAIL(RLX_INVALID, "the data is NULL");
  *out = rlx_blob_create(bytes);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", bytes);
  if (bytes) memcpy((*out)->data, data, bytes);
  return RLX_OK;
}

rlx_node rlx_op_constant(rlx_graph *g, rlx_dtype dtype, rlx_dims shape, const void *data, size_t bytes) {
  if (!g || g->error) return RLX_NONE;
  rlx_blob *blob = NULL;
  rlx_status s = copy_constant(dtype, shape, data, bytes, &blob);
  if (s) return rlx_graph_set_error(g, rlx_fail_frame(s, "node %u (constant)", (unsigned)rlx_graph_end(g)));
  rlx_node node =
    rlx_graph_add(g, RLX_OP_constant, NULL, 0, &(rlx_attrs_constant){.data = blob, .dtype = dtype, .shape = shape});
  rlx_blob_release(blob);
  return node;
}

/* ---- a number as one element ---- */

/* Whether value is an integer in the type's range, as doubles [min, end). Both bounds are powers of two (or 0), so the
 * comparison is exact. */
static bool fits_int(rlx_dtype dtype, double value) {
  double end = ldexp(1, rlx_type_get(dtype)->digits), min = rlx_type_get(dtype)->is_signed ? -end : 0;
  return value == floor(value) && value >= min && value < end;
}

/* One element of any non-block type, in the first bytes of `out`. Floats are rounded; integers must be exact. */
static rlx_status encode_scalar(rlx_dtype dtype, double value, unsigned char out[8]) {
  if ((unsigned)dtype >= RLX_DTYPE_COUNT || rlx_dtype_is_block(dtype))
    return RLX_FAIL(RLX_INVALID, "%s is not an element type", rlx_dtype_name(dtype));
  float single[2] = {(float)value, 0};
  uint16_t half = dtype == RLX_F16 ? rlx_f64_to_f16(value) : rlx_f64_to_bf16(value);
  switch (dtype) {
    case RLX_F32:
    case RLX_C64: memcpy(out, single, sizeof single); return RLX_OK;
    case RLX_F64: memcpy(out, &value, sizeof value); return RLX_OK;
    case RLX_F16:
    case RLX_BF16: memcpy(out, &half, sizeof half); return RLX_OK;
    case RLX_F8E4M3: out[0] = rlx_f64_to_e4m3(value); return RLX_OK;
    case RLX_F8E5M2: out[0] = rlx_f64_to_e5m2(value); return RLX_OK;
    default: break;
  }
  if (!fits_int(dtype, value)) return RLX_FAIL(RLX_INVALID, "%g is not a value of %s", value, rlx_dtype_name(dtype));
  uint64_t number = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
  memcpy(out, &number, sizeof number); /* little endian, as in every format read here */
  return RLX_OK;
}

rlx_node rlx_op_scalar(rlx_graph *g, rlx_dtype dtype, double value) {
  if (!g || g->error) return RLX_NONE;
  unsigned char bytes[8] = {0};
  rlx_status s = encode_scalar(dtype, value, bytes);
  if (s) return rlx_graph_set_error(g, rlx_fail_frame(s, "rlx_op_scalar"));
  return rlx_op_constant(g, dtype, RLX_SCALAR, bytes, rlx_dtype_size(dtype));
}

/* ---- unary: the rows without attributes are all alike ---- */

#define A_FLOAT(name, fallback, doc) /* a row with attributes becomes PLAIN(), one without PLAIN(A_NONE) */
#define PLAIN(attrs) PLAIN_##attrs
#define PLAIN_(name)
#define PLAIN_A_NONE(name) \
  rlx_node rlx_op_##name(rlx_graph *g, rlx_node x) { return NODE(name, (x), NO_ATTRIBUTES); }
#define UNARY(name, types, traits, attrs, formula, doc) PLAIN attrs(name)
#include "ir/unary.def"
#undef UNARY
#undef PLAIN_A_NONE
#undef PLAIN_
#undef PLAIN
#undef A_FLOAT

rlx_node rlx_op_elu(rlx_graph *g, rlx_node x, double alpha) { return NODE(elu, (x), .alpha = alpha); }
rlx_node rlx_op_leaky_relu(rlx_graph *g, rlx_node x, double alpha) { return NODE(leaky_relu, (x), .alpha = alpha); }
rlx_node rlx_op_hard_sigmoid(rlx_graph *g, rlx_node x, double alpha, double beta) {
  return NODE(hard_sigmoid, (x), .alpha = alpha, .beta = beta);
}
rlx_node rlx_op_selu(rlx_graph *g, rlx_node x) { return rlx_graph_add(g, RLX_OP_selu, &x, 1, NULL); }
rlx_node rlx_op_selu_with(rlx_graph *g, rlx_node x, double alpha, double beta) {
  return NODE(selu, (x), .alpha = alpha, .beta = beta);
}

/* ---- binary and compare ---- */

#define PAIR(name) \
  rlx_node rlx_op_##name(rlx_graph *g, rlx_node a, rlx_node b) { return NODE(name, (a, b), NO_ATTRIBUTES); }
#define BINARY(name, types, traits, float_formula, int_formula, doc) PAIR(name)
#define COMPARE(name, operator, traits, doc) PAIR(name)
#include "ir/binary.def"
#undef COMPARE
#undef BINARY
#undef PAIR

/* ---- the rest ---- */

rlx_node rlx_op_not(rlx_graph *g, rlx_node x) { return NODE(not, (x), NO_ATTRIBUTES); }
rlx_node rlx_op_fma(rlx_graph *g, rlx_node a, rlx_node b, rlx_node c) { return NODE(fma, (a, b, c), NO_ATTRIBUTES); }
rlx_node rlx_op_where(rlx_graph *g, rlx_node c, rlx_node t, rlx_node f) {
  return NODE(where, (c, t, f), NO_ATTRIBUTES);
}
rlx_node rlx_op_clamp(rlx_graph *g, rlx_node x, double lo, double hi) { return NODE(clamp, (x), .lo = lo, .hi = hi); }
rlx_node rlx_op_cast(rlx_graph *g, rlx_node x, rlx_dtype to) { return NODE(cast, (x), .to = to); }

rlx_node rlx_op_quantize(rlx_graph *g, rlx_node x, rlx_node scale, rlx_node zero, rlx_dtype to, int64_t axis) {
  return NODE(quantize, (x, scale, zero), .to = to, .axis = axis);
}

rlx_node rlx_op_dequantize(rlx_graph *g, rlx_node x, rlx_node scale, rlx_node zero, int64_t axis) {
  return NODE(dequantize, (x, scale, zero), .axis = axis);
}

rlx_node rlx_op_region(rlx_graph *g, const rlx_graph *body, const rlx_node *xs, size_t n) {
  /* The attribute is not const because the node's copy changes the reference count. */
  return rlx_build_list(g, RLX_OP_region, xs, n, &(rlx_attrs_region){.body = (rlx_graph *)(uintptr_t)body});
}
