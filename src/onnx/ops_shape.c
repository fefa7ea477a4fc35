/* Shapes, constants and views. */
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "onnx/ops.h"
#include "ref/ref.h"

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
  static const char *const names[] = {"value", "value_float", "value_floats", "value_int", "value_ints"};
  if (c->n_out != 1) return RLX_FAIL(RLX_INVALID, "%u outputs, expected one", (unsigned)c->n_out);
  for (size_t i = 0; i < sizeof names / sizeof *names && !a; i++) a = onnx_attribute_find(c, names[i]);
  if (!a) return onnx_refuse(c, "only tensors, floats and ints are constants here");
  switch (a->kind) {
    case ONNX_KIND_TENSOR: return onnx_value_from_tensor(c->imp, a->tensor, c->node->out[0], &c->out[0]);
    case ONNX_KIND_FLOAT: return set_floats(c, &a->f, 1, true);
    case ONNX_KIND_FLOATS: return set_floats(c, a->floats, a->n, false);
    case ONNX_KIND_INT: return onnx_set_ints(c, 0, &a->i, 1, true);
    case ONNX_KIND_INTS: return onnx_set_ints(c, 0, a->ints, a->n, false);
    default: return RLX_FAIL(RLX_INVALID, "attribute '%s' is %s", a->name, onnx_kind_name(a->kind));
  }
}

/* ---- shapes ---- */

/* A place in 0 .. n that may count from the end; what is outside is moved to the nearest. */
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
  return onnx_set_ints(c, 0, shape.v + start, end > start ? (size_t)(end - start) : 0, false);
}

/* 0 keeps a size unless allowzero says that it is one; one -1 is what is left. */
rlx_status onnx_op_reshape(onnx_call *c) {
  rlx_dims to, from = onnx_shape(c, 0);
  bool allow_zero;
  int n_open = 0;
  RLX_TRY(onnx_need_dims(c, 1, &to));
  RLX_TRY(onnx_flag(c, "allowzero", false, &allow_zero));
  for (int i = 0; i < to.n; i++) {
    if (to.v[i] == 0 && !allow_zero) {
      if (i >= from.n) return RLX_FAIL(RLX_INVALID, "size %d is kept, but the input has %d axes", i, (int)from.n);
      to.v[i] = from.v[i];
    }
    if (to.v[i] < -1) return RLX_FAIL(RLX_INVALID, "size %d is %lld", i, (long long)to.v[i]);
    n_open += to.v[i] == -1;
  }
  if (n_open > 1) return RLX_FAIL(RLX_INVALID, "%d sizes are -1, expected at most one", n_open);
  return onnx_set_like(c, 0, rlx_reshape(c->g, onnx_in(c, 0), to), 0);
}

/* ---- sizes that depend on values ---- */

static rlx_status non_zero(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0];
  size_t n = rlx_tensor_count(x), found = 0, rank = (size_t)x->shape.n;
  for (size_t i = 0; i < n; i++) found += rlx_load(x, i) != 0;
  size_t bytes;
  if (!rlx_mul_size(found * sizeof(int64_t), rank, &bytes))
    return RLX_FAIL(RLX_NO_MEMORY, "NonZero: %zu places", found);
  int64_t *out = rlx_mem_alloc(bytes), at[RLX_MAX_RANK] = {0};
  if (!out) return RLX_FAIL(RLX_NO_MEMORY, "NonZero: %zu places", found);
  for (size_t i = 0, k = 0; i < n; i++) {
    if (rlx_load(x, i) != 0) {
      for (size_t a = 0; a < rank; a++) out[a * found + k] = at[a];
      k++;
    }
    rlx_next_index(&x->shape, at);
  }
  h->out[0] = (rlx_tensor){RLX_I64, RLX_DIMS((int64_t)rank, (int64_t)found), out, bytes};
  return RLX_OK;
}

rlx_status onnx_op_non_zero(onnx_call *c) { return onnx_on_host(c, non_zero, (const int64_t[ONNX_HOST_NUMBERS]){0}); }
