/* Shape rules of leaves and element-wise ops, and the rules that several families share. */
#include "base/str.h"
#include "ir/infer.h"

rlx_status rlx_shape_leaf(rlx_infer *c) {
  /* The four leaves have dtype and shape in fields of the same names. */
  rlx_dims shape = {.n = 0};
  rlx_dtype dtype = RLX_DTYPE_UNKNOWN;
  for (uint32_t i = 0; i < c->row->n_attrs; i++) {
    const rlx_attr_field *f = &c->row->attrs[i];
    if (f->kind == RLX_ATTR_DIMS) shape = *(rlx_dims *)rlx_attr_at(c->attrs, f);
    if (f->kind == RLX_ATTR_TYPE) dtype = *(rlx_dtype *)rlx_attr_at(c->attrs, f);
    if (f->kind == RLX_ATTR_TEXT) {
      const char *name = *(const char **)rlx_attr_at(c->attrs, f);
      if (!name || !*name || !rlx_text_is_utf8(name)) return RLX_FAIL(RLX_INVALID, "needs a name in UTF-8");
    }
  }
  c->out = (rlx_type){dtype, shape};
  for (int i = 0; i < shape.n; i++)
    if (shape.v[i] < 0 && !rlx_dim_is_symbol(shape.v[i]))
      return RLX_FAIL(RLX_INVALID, "axis %d of %s is negative", i, RLX_DIMS_TEXT(shape));
  bool is_state = c->op == RLX_OP_state && rlx_type_in(RLX_TYPES_STATE_BLOCK, dtype);
  if (rlx_dtype_is_block(dtype) && c->op != RLX_OP_param && c->op != RLX_OP_constant && !is_state)
    return RLX_FAIL(RLX_INVALID, "cannot have the block type %s: only weights can, and states q8_0 and q4_0",
                    rlx_dtype_name(dtype));
  if (c->op != RLX_OP_constant) return RLX_OK;
  if (rlx_dims_open(&shape)) return RLX_FAIL(RLX_INVALID, "must have numbers for sizes, not %s", RLX_DIMS_TEXT(shape));
  const rlx_attrs_constant *a = c->attrs;
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(dtype, shape, &bytes));
  if (!a->data || a->data->bytes != bytes)
    return RLX_FAIL(RLX_INVALID, "%s%s needs %zu bytes, got %zu", rlx_dtype_name(dtype), RLX_DIMS_TEXT(shape), bytes,
                    a->data ? a->data->bytes : (size_t)0);
  for (size_t i = 0; dtype == RLX_BOOL && i < bytes; i++)
    if (a->data->data[i] > 1)
      return RLX_FAIL(RLX_INVALID, "element %zu of a bool constant is %u, not 0 or 1", i, (unsigned)a->data->data[i]);
  return RLX_OK;
}

/* The result has the first input's shape. A clamp also checks its bounds, a cast its types. */
rlx_status rlx_shape_same(rlx_infer *c) {
  const rlx_type *x = rlx_infer_in(c, 0);
  c->out.shape = x->shape;
  if (c->op == RLX_OP_clamp && (isnan(RLX_ATTRS(clamp, c)->lo) || isnan(RLX_ATTRS(clamp, c)->hi)))
    return RLX_FAIL(RLX_INVALID, "bounds are %g and %g but must be numbers", RLX_ATTRS(clamp, c)->lo,
                    RLX_ATTRS(clamp, c)->hi);
  if (c->op != RLX_OP_cast) return RLX_OK;
  if (rlx_dtype_is_block(c->out.dtype))
    return RLX_FAIL(RLX_INVALID, "cannot encode to the block type %s", rlx_dtype_name(c->out.dtype));
  if (rlx_dtype_is_block(x->dtype) && !rlx_dtype_is_float(c->out.dtype))
    return RLX_FAIL(RLX_INVALID, "decodes %s to a float type, not %s", rlx_dtype_name(x->dtype),
                    rlx_dtype_name(c->out.dtype));
  if ((x->dtype == RLX_C64) != (c->out.dtype == RLX_C64))
    return RLX_FAIL(RLX_INVALID, "does not convert between c64 and %s: use view_as_real and view_as_complex",
                    rlx_dtype_name(x->dtype == RLX_C64 ? c->out.dtype : x->dtype));
  return RLX_OK;
}

/* NumPy broadcasting over all inputs. */
rlx_status rlx_shape_broadcast(rlx_infer *c) {
  rlx_dims shape = *rlx_infer_shape(c, 0);
  for (uint32_t i = 1; i < c->n_in; i++) RLX_TRY(rlx_dims_broadcast(c->graph, &shape, rlx_infer_shape(c, i)));
  c->out.shape = shape;
  rlx_dtype first = rlx_infer_in(c, 0)->dtype;
  if (c->row->result != RLX_IN_BOOL || c->op == RLX_OP_eq || c->op == RLX_OP_ne) return RLX_OK;
  if (first == RLX_C64) return RLX_FAIL(RLX_INVALID, "complex values have no order");
  if (first == RLX_U64 || rlx_dtype_is_float8(first))
    return RLX_FAIL(RLX_INVALID, "compares %s for equality only: cast it first", rlx_dtype_name(first));
  return RLX_OK;
}

/* Checks the attribute `axis`; the shape is unchanged. A result of indices along the axis must have an index type. */
rlx_status rlx_shape_axis(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  int axis;
  c->out.shape = *x;
  RLX_TRY(rlx_axis_resolve(*(const int64_t *)rlx_attr_named(c->row, c->attrs, "axis"), x->n, "axis", &axis));
  return c->row->result == RLX_IN_TO ? rlx_expect_index_result(c, x->v[axis]) : RLX_OK;
}

/* Indices along an axis of n elements must be i32 or i64 and wide enough. */
rlx_status rlx_expect_index_result(const rlx_infer *c, int64_t n) {
  if (c->out.dtype != RLX_I64 && c->out.dtype != RLX_I32)
    return RLX_FAIL(RLX_INVALID, "gives i64 or i32, not %s", rlx_dtype_name(c->out.dtype));
  if (c->out.dtype == RLX_I32 && !rlx_dim_is_open(n) && n > INT32_MAX)
    return RLX_FAIL(RLX_INVALID, "an axis of %lld elements needs i64 indices", (long long)n);
  return RLX_OK;
}

/* Scale and zero point per tensor or per channel. The result's type is `to` for quantize, scale's for dequantize. */
rlx_status rlx_shape_quantize(rlx_infer *c) {
  const rlx_type *x = rlx_infer_in(c, 0), *scale = rlx_infer_in(c, 1), *zero = rlx_infer_in(c, 2);
  bool forward = c->op == RLX_OP_quantize;
  rlx_dtype codes = forward ? RLX_ATTRS(quantize, c)->to : x->dtype;
  int64_t axis_attr = forward ? RLX_ATTRS(quantize, c)->axis : RLX_ATTRS(dequantize, c)->axis;
  if (codes != RLX_I8 && codes != RLX_U8 && codes != RLX_I16 && codes != RLX_I32)
    return RLX_FAIL(RLX_INVALID, "codes are i8, u8, i16 or i32, not %s", rlx_dtype_name(codes));
  if (!rlx_dtype_is_float(scale->dtype))
    return RLX_FAIL(RLX_INVALID, "scale is %s but must be a float type", rlx_dtype_name(scale->dtype));
  if (zero && zero->dtype != codes)
    return RLX_FAIL(RLX_INVALID, "zero is %s but must be %s like the codes", rlx_dtype_name(zero->dtype),
                    rlx_dtype_name(codes));
  int64_t channels = 1;
  if (scale->shape.n == 1) {
    int axis;
    RLX_TRY(rlx_axis_resolve(axis_attr, x->shape.n, "axis", &axis));
    channels = x->shape.v[axis];
  }
  RLX_TRY(rlx_expect_scalar_or_vector(c, 1, channels));
  if (zero && zero->shape.n != scale->shape.n)
    return RLX_FAIL(RLX_INVALID, "zero is %s but scale is %s", RLX_DIMS_TEXT(zero->shape), RLX_DIMS_TEXT(scale->shape));
  if (zero) RLX_TRY(rlx_expect_shape(c, 2, scale->shape));
  c->out.shape = x->shape;
  if (!forward) c->out.dtype = scale->dtype;
  return RLX_OK;
}
