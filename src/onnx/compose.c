/* Helpers shared by op functions. */
#include "onnx/compose.h"

#include <inttypes.h>

#include "onnx/importer.h"

/* ---- nodes ---- */

rlx_node onnx_scalar_like(onnx_call *c, rlx_node x, double v) {
  return rlx_op_scalar(c->g, rlx_node_dtype(c->g, x), v);
}

rlx_node onnx_times(onnx_call *c, rlx_node x, double v) {
  return v == 1 ? x : rlx_op_mul(c->g, x, onnx_scalar_like(c, x, v));
}

rlx_node onnx_plus(onnx_call *c, rlx_node x, double v) {
  return v == 0 ? x : rlx_op_add(c->g, x, onnx_scalar_like(c, x, v));
}

rlx_node onnx_cast(onnx_call *c, rlx_node x, rlx_dtype to) {
  return !x || rlx_node_dtype(c->g, x) == to ? x : rlx_op_cast(c->g, x, to);
}

rlx_node onnx_reshape(onnx_call *c, rlx_node x, rlx_dims shape) {
  rlx_dims have = onnx_dims(c, x);
  return !x || onnx_same_shape(c, &have, &shape) ? x : rlx_op_reshape(c->g, x, shape);
}

rlx_node onnx_fill(onnx_call *c, rlx_dtype dtype, rlx_dims shape, double v) {
  rlx_node x = rlx_op_scalar(c->g, dtype, v);
  return shape.n ? rlx_op_expand(c->g, x, shape) : x;
}

rlx_node onnx_part(onnx_call *c, rlx_node x, int axis, int64_t from, int64_t to) {
  rlx_dims shape = onnx_dims(c, x);
  if (axis < shape.n && from == 0 && onnx_equal(c, to, shape.v[axis])) return x;
  return rlx_op_narrow(c->g, x, axis, from, rlx_size_sub(c->g, to, from));
}

rlx_node onnx_transpose_last(onnx_call *c, rlx_node x) {
  rlx_dims perm = onnx_dims(c, x);
  for (int i = 0; i < perm.n; i++) perm.v[i] = i;
  if (perm.n >= 2) {
    perm.v[perm.n - 1] = perm.n - 2;
    perm.v[perm.n - 2] = perm.n - 1;
  }
  return rlx_op_transpose(c->g, x, perm);
}

rlx_node onnx_along(onnx_call *c, rlx_node x, int axis, int rank) {
  rlx_dims shape = {.n = rank};
  for (int i = 0; i < rank; i++) shape.v[i] = i == axis ? -1 : 1;
  return x ? rlx_op_reshape(c->g, x, shape) : x;
}

rlx_node onnx_one(onnx_call *c, rlx_node x) { return onnx_reshape(c, x, RLX_SCALAR); }

bool onnx_holds_floats(rlx_dtype t) { return rlx_dtype_is_float(t); }
rlx_dtype onnx_wide(rlx_dtype t) { return t == RLX_F64 ? RLX_F64 : RLX_F32; }

/* ---- sizes ---- */

rlx_status onnx_product(onnx_call *c, const rlx_dims *d, int64_t *out) {
  enum { BITS = 31 };
  (void)c;
  *out = 1;
  for (int i = 0; i < d->n; i++)
    if (d->v[i] == 0) return *out = 0, RLX_OK;
  for (int i = 0; i < d->n; i++) {
    if (d->v[i] < 0 || d->v[i] > ((int64_t)1 << BITS) / *out)
      return RLX_FAIL(RLX_INVALID, "a result with %" PRId64 " elements along axis %d is too large", d->v[i], i);
    *out *= d->v[i];
  }
  return RLX_OK;
}

rlx_status onnx_table(onnx_call *c, int64_t count, size_t size, void *out) {
  void *p = NULL;
  if (count < 0 || count > ONNX_MAX_TABLE)
    return RLX_FAIL(RLX_UNSUPPORTED, "it needs a table of %" PRId64 " elements, and %d are the most", count,
                    ONNX_MAX_TABLE);
  if (!(p = onnx_alloc(c->imp, (size_t)count + 1, size)))
    return RLX_FAIL(RLX_NO_MEMORY, "a table of %" PRId64 " elements", count);
  *(void **)out = p;
  return RLX_OK;
}

static rlx_node constant(onnx_call *c, rlx_dtype dtype, rlx_dims shape, const void *v) {
  size_t bytes;
  return rlx_tensor_bytes(dtype, shape, &bytes) ? RLX_NONE : rlx_op_constant(c->g, dtype, shape, v, bytes);
}
rlx_node onnx_constant_i32(onnx_call *c, rlx_dims shape, const int32_t *v) { return constant(c, RLX_I32, shape, v); }
rlx_node onnx_constant_i64(onnx_call *c, rlx_dims shape, const int64_t *v) { return constant(c, RLX_I64, shape, v); }
rlx_node onnx_constant_f32(onnx_call *c, rlx_dims shape, const float *v) { return constant(c, RLX_F32, shape, v); }

/* ---- windows ---- */

rlx_dims onnx_spatial(const rlx_dims *shape, int from) {
  rlx_dims d = {.n = shape->n > from ? shape->n - from : 0};
  for (int i = 0; i < d.n; i++) d.v[i] = shape->v[from + i];
  return d;
}

rlx_status onnx_list(const onnx_call *c, const char *name, int n, int64_t min, int64_t fallback, rlx_dims *out) {
  enum { MAX = INT32_MAX };
  RLX_TRY(onnx_dims_of(c, name, out));
  if (!out->n && n) {
    out->n = n;
    for (int i = 0; i < n; i++) out->v[i] = fallback;
  }
  if (out->n != n) return RLX_FAIL(RLX_INVALID, "attribute '%s' has %d numbers, expected %d", name, (int)out->n, n);
  for (int i = 0; i < n; i++)
    if (out->v[i] < min || out->v[i] > MAX)
      return RLX_FAIL(RLX_INVALID, "attribute '%s': number %d is %" PRId64, name, i, out->v[i]);
  return RLX_OK;
}

static rlx_status read_pads(const onnx_call *c, onnx_window *w) {
  rlx_dims pads;
  RLX_TRY(onnx_list(c, "pads", 2 * w->n, 0, 0, &pads));
  w->lo.n = w->hi.n = w->n;
  for (int i = 0; i < w->n; i++) w->lo.v[i] = pads.v[i], w->hi.v[i] = pads.v[w->n + i];
  return RLX_OK;
}

/* SAME: as many windows as strides begin in the input. */
static void same_pads(onnx_window *w, const rlx_dims *sizes) {
  for (int i = 0; i < w->n; i++) {
    int64_t n = (sizes->v[i] + w->stride.v[i] - 1) / w->stride.v[i];
    int64_t total = (n - 1) * w->stride.v[i] + onnx_reach(w, i) - sizes->v[i];
    if (total < 0) total = 0;
    w->lo.v[i] = w->auto_pad == ONNX_PAD_SAME_UPPER ? total / 2 : total - total / 2;
    w->hi.v[i] = total - w->lo.v[i];
  }
}

rlx_status onnx_window_of(const onnx_call *c, const rlx_dims *kernel, const rlx_dims *sizes, onnx_window *w) {
  static const char *const auto_pads[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
  *w = (onnx_window){.n = sizes->n};
  if (w->n < 1) return RLX_FAIL(RLX_INVALID, "the input has no spatial axes");
  if (w->n > RLX_MAX_RANK / 2) return RLX_FAIL(RLX_UNSUPPORTED, "%d spatial axes", w->n);
  RLX_TRY(onnx_list(c, "kernel_shape", w->n, 1, kernel ? 1 : 0, &w->kernel));
  if (kernel) {
    if (kernel->n != w->n)
      return RLX_FAIL(RLX_INVALID, "the weight has %d spatial axes, the input %d", (int)kernel->n, w->n);
    for (int i = 0; i < w->n; i++)
      if (kernel->v[i] < 1 || (onnx_has_attribute(c, "kernel_shape") && kernel->v[i] != w->kernel.v[i]))
        return RLX_FAIL(RLX_INVALID, "kernel_shape has %" PRId64 " at %d, the weight %" PRId64, w->kernel.v[i], i,
                        kernel->v[i]);
    w->kernel = *kernel;
  }
  RLX_TRY(onnx_list(c, "strides", w->n, 1, 1, &w->stride));
  RLX_TRY(onnx_list(c, "dilations", w->n, 1, 1, &w->dilation));
  RLX_TRY(onnx_word(c, "auto_pad", auto_pads, &w->auto_pad));
  RLX_TRY(read_pads(c, w));
  if (w->auto_pad == ONNX_PAD_VALID)
    for (int i = 0; i < w->n; i++) w->lo.v[i] = w->hi.v[i] = 0;
  else if (w->auto_pad != ONNX_PAD_GIVEN && rlx_dims_open(sizes)) return onnx_need_numbers(c->imp, "auto_pad");
  else if (w->auto_pad != ONNX_PAD_GIVEN) same_pads(w, sizes);
  return RLX_OK;
}

int64_t onnx_windows(const onnx_window *w, int i, int64_t size, bool ceil) {
  int64_t room = size + w->lo.v[i] + w->hi.v[i] - onnx_reach(w, i), stride = w->stride.v[i];
  if (room < 0) return 0;
  int64_t n = (ceil ? room + stride - 1 : room) / stride + 1;
  if (ceil && (n - 1) * stride >= size + w->lo.v[i]) n--; /* none begins in the far padding */
  return n;
}

/* ---- exact sums ---- */

/* f32 represents sums below 2^24 exactly. Longer sums are split into the low and high half of a's bits; the longest
 * use f64. */
rlx_node onnx_exact(onnx_call *c, rlx_node a, rlx_node b, int64_t terms, onnx_product_fn fn, const void *arg) {
  enum { EXACT = 1 << 24, WIDEST = 255, HALF = 16 };
  if (terms <= EXACT / (WIDEST * WIDEST)) return rlx_op_cast(c->g, fn(c, a, b, arg), RLX_I32);
  if (terms <= EXACT / (WIDEST * HALF)) {
    rlx_node high = rlx_op_floor(c->g, onnx_times(c, a, 1.0 / HALF));
    rlx_node low = rlx_op_sub(c->g, a, onnx_times(c, high, HALF));
    rlx_node high_sum = rlx_op_cast(c->g, fn(c, high, b, arg), RLX_I32),
             low_sum = rlx_op_cast(c->g, fn(c, low, b, arg), RLX_I32);
    return rlx_op_add(c->g, rlx_op_mul(c->g, high_sum, rlx_op_scalar(c->g, RLX_I32, HALF)), low_sum);
  }
  return rlx_op_cast(c->g, fn(c, rlx_op_cast(c->g, a, RLX_F64), rlx_op_cast(c->g, b, RLX_F64), arg), RLX_I32);
}
