/* The reference: what each op means, as plain loops.
 *
 * One function per op, rlx_ref_<op>, declared from the op table; dispatch.c holds them in a table, so a missing one is
 * a link error. A kernel gets its inputs and an uninitialised result of the right type and shape, all contiguous host
 * memory, already checked by inference: it needs no shape checks, only checks of run-time values (an index, a
 * position). Sums run in double; a result element is rounded once, when stored. Kernels are written to be read, not to
 * be fast. */
#ifndef RLX_REF_REF_H
#define RLX_REF_REF_H

#include <string.h>

#include "base/half.h"
#include "ir/graph.h"

typedef struct rlx_ref_call {
  const rlx_node_rec *node;
  const void *attrs;           /* node->attrs: use RLX_ATTRS(softmax, c)->axis */
  const rlx_tensor *const *in; /* n_in of them; NULL where an optional input is absent */
  uint32_t n_in;
  rlx_tensor *out;
  uint64_t draw;     /* the run's number, for random ops */
  rlx_bump *scratch; /* temporary memory, freed by the caller after the call (so no clean-up on errors) */
  /* Runs sub-graphs (runner.h); NULL outside an evaluator. */
  struct rlx_subgraph_runner *runner;
  size_t visits; /* of elements, since the budget was told: rlx_ref_goes_on */
  bool stopped;  /* the budget said so: what the kernel has filled so far is not whole */
} rlx_ref_call;

typedef rlx_status (*rlx_ref_fn)(rlx_ref_call *c);

#define OP(name, types, inputs, result, shape, attrs, traits, doc) rlx_status rlx_ref_##name(rlx_ref_call *c);
#include "ir/ops.def"
#undef OP

rlx_ref_fn rlx_ref_get(rlx_op op);

/* Input i or NULL, also past the end. */
/* The activation RLX_ACT_.. of a fused op. */
double rlx_ref_activate(int32_t act, double x);

static inline const rlx_tensor *rlx_ref_in(const rlx_ref_call *c, uint32_t i) { return i < c->n_in ? c->in[i] : NULL; }
static inline size_t rlx_tensor_count(const rlx_tensor *t) { return rlx_dims_count(&t->shape); }

/* The condition of a kernel's loops: counts the elements that the next trip visits, and every so often asks whether there is to
 * be one. Once the answer was no, it stays no: all loops end. A kernel that is stopped returns as if it were done; who called it
 * asks the budget. Scratch memory is cleared, so a table of places that is not whole still holds places that exist. */
#define RLX_REF_TICK \
  ((size_t)1 << 16) /* visits between two askings: some milliseconds where a visit is a call of pow */
bool rlx_ref_tick(rlx_ref_call *c);
static inline bool rlx_ref_goes_on(rlx_ref_call *c, size_t visits) {
  c->visits += visits;
  return c->visits < RLX_REF_TICK || rlx_ref_tick(c);
}

/* for (size_t i = 0; i < n; i++), asking between runs of some thousand elements. The body has no break. */
#define RLX_REF_EACH(c, i, n)                                               \
  for (size_t i = 0, i##_end = 0; rlx_ref_next_run((c), i, (n), &i##_end);) \
    for (; i < i##_end; i++)
static inline bool rlx_ref_next_run(rlx_ref_call *c, size_t at, size_t n, size_t *end) {
  enum { RUN = 4096 };
  size_t run = n - at < RUN ? n - at : RUN;
  *end = at + run;
  return run && rlx_ref_goes_on(c, run);
}

/* memcpy, asking in between. */
void rlx_ref_copy(rlx_ref_call *c, void *to, const void *from, size_t bytes);
/* n elements of a block type as f32, asking in between. */
rlx_status rlx_ref_decode(rlx_ref_call *c, rlx_dtype dtype, const void *blocks, float *out, size_t n);

/* ---- one element ----
 * load/store carry any float type through double (one rounding); load_int/store_int carry integers and bool through
 * int64 (stored modulo the width). load also reads integers, as the nearest double. */
static inline double rlx_load(const rlx_tensor *t, size_t i) {
  switch (t->dtype) {
    case RLX_F32: return (double)((const float *)t->data)[i];
    case RLX_F64: return ((const double *)t->data)[i];
    case RLX_F16: return (double)rlx_f16_to_f32(((const uint16_t *)t->data)[i]);
    case RLX_BF16: return (double)rlx_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case RLX_I8: return ((const int8_t *)t->data)[i];
    case RLX_U8:
    case RLX_BOOL: return ((const uint8_t *)t->data)[i];
    case RLX_I16: return ((const int16_t *)t->data)[i];
    case RLX_I32: return ((const int32_t *)t->data)[i];
    case RLX_U32: return ((const uint32_t *)t->data)[i];
    case RLX_I64: return (double)((const int64_t *)t->data)[i];
    default: return 0;
  }
}

static inline void rlx_store(rlx_tensor *t, size_t i, double x) {
  switch (t->dtype) {
    case RLX_F32: ((float *)t->data)[i] = (float)x; break;
    case RLX_F64: ((double *)t->data)[i] = x; break;
    case RLX_F16: ((uint16_t *)t->data)[i] = rlx_f64_to_f16(x); break;
    case RLX_BF16: ((uint16_t *)t->data)[i] = rlx_f64_to_bf16(x); break;
    default: break; /* integers go through rlx_store_int or rlx_convert */
  }
}

static inline int64_t rlx_load_int(const rlx_tensor *t, size_t i) {
  switch (t->dtype) {
    case RLX_I8: return ((const int8_t *)t->data)[i];
    case RLX_U8:
    case RLX_BOOL: return ((const uint8_t *)t->data)[i];
    case RLX_I16: return ((const int16_t *)t->data)[i];
    case RLX_I32: return ((const int32_t *)t->data)[i];
    case RLX_U32: return ((const uint32_t *)t->data)[i];
    case RLX_I64: return ((const int64_t *)t->data)[i];
    default: return 0;
  }
}

static inline void rlx_store_int(rlx_tensor *t, size_t i, int64_t x) {
  switch (t->dtype) {
    case RLX_I8:
    case RLX_U8:
    case RLX_BOOL: ((uint8_t *)t->data)[i] = (uint8_t)x; break;
    case RLX_I16: ((uint16_t *)t->data)[i] = (uint16_t)x; break;
    case RLX_I32:
    case RLX_U32: ((uint32_t *)t->data)[i] = (uint32_t)x; break;
    case RLX_I64: ((int64_t *)t->data)[i] = x; break;
    default: break;
  }
}

/* Element i of src as element k of dst under the rules of `cast` (truncate, saturate, NaN to 0, bool is != 0). */
void rlx_convert(rlx_tensor *dst, size_t k, const rlx_tensor *src, size_t i);
/* The double x stored into dst under the rules of `cast`. */
void rlx_store_value(rlx_tensor *dst, size_t k, double x);

/* Elements begin .. end - 1 of a range. */
void rlx_range_fill(const rlx_attrs_range *a, rlx_tensor *out, size_t begin, size_t end);

/* ---- walking shapes ---- */
/* Row-major strides in elements. */
void rlx_strides(const rlx_dims *shape, size_t stride[RLX_MAX_RANK]);
/* Strides for reading `shape` as if broadcast to `to` (0 on broadcast axes), aligned at the last axis. */
void rlx_broadcast_strides(const rlx_dims *shape, const rlx_dims *to, size_t stride[RLX_MAX_RANK]);
/* For each axis of x, the step in the result of a reduction (axes empty: over all): 0 along a reduced axis. */
void rlx_reduced_strides(const rlx_dims *x, const rlx_dims *axes, size_t stride[RLX_MAX_RANK]);
/* Advances idx over shape in row-major order; false when it wraps around to all zeros. */
bool rlx_next_index(const rlx_dims *shape, int64_t idx[RLX_MAX_RANK]);
static inline size_t rlx_offset(int n, const int64_t *idx, const size_t *stride) {
  size_t at = 0;
  for (int i = 0; i < n; i++) at += (size_t)idx[i] * stride[i];
  return at;
}
/* Views an axis as [outer, n, inner]: element k along the axis of line (o, i) is at (o * n + k) * inner + i. */
typedef struct rlx_lines {
  size_t outer, n, inner;
} rlx_lines;
rlx_lines rlx_lines_of(const rlx_dims *shape, int64_t axis); /* axis may be negative */
/* The first element of a line, counted over (o, i); the others follow in steps of `inner`. */
static inline size_t rlx_line_start(rlx_lines l, size_t line) {
  return line / l.inner * l.n * l.inner + line % l.inner;
}
/* An index read from a tensor, negative counting from the end; fails when outside -n .. n-1 (message names `what`). */
rlx_status rlx_index_resolve(const char *what, int64_t index, int64_t n, size_t *out);

/* A weight as f32 values, whatever its type (decoded into scratch; f32 itself is returned as it is). */
rlx_status rlx_ref_as_f32(rlx_ref_call *c, const rlx_tensor *t, const float **out);
/* Temporary memory of the call: n elements of `size` bytes, cleared. */
rlx_status rlx_ref_scratch(rlx_ref_call *c, size_t n, size_t size, void *out_pointer);

#endif
