/* Weights larger than a binding: split by rows, and the node that reads one with it.
 *
 * A language model's head of 128,256 x 4,096 in f16 takes 1 GB, a binding of WebGPU 128 MiB. The rows of a weight are
 * cut into parts of nearly equal size that fit, each a slice of the param, which hoisting makes a weight of its own: no
 * block and no binding ever holds the whole. The product with the rows of w [N, K] is the products with its parts side
 * by side, which the planner lets write into one tensor where they are contiguous there (one row of x). With the rows
 * of w [K, N] it is a sum, in f32, of products with parts of x. A lookup is one per part, and each row of the result is
 * that of the last part that begins before its index.
 *
 * Parts begin at multiples of 256 rows where they have so many, so that parts of a result begin where a binding may.
 * Other ops run on the host. */
#include "gpu/gpu.h"
#include "gpu/quant.h"
#include "pass/rewrite.h"

enum { STEP = 256 };

typedef struct parts {
  rlx_rewrite *r;
  rlx_node whole;
  int64_t rows, step; /* of the weight, and of each part but the last */
  uint32_t n;
} parts;

/* The most bytes that these rows take, in any layout that a kernel may prefer. */
static uint64_t bytes_of(const rlx_type *t, int64_t rows) {
  const rlx_type part = {t->dtype, dims_with(t->shape, 0, rows)};
  const uint64_t packed = gpu_layout_bytes(NULL, GPU_LAYOUT_PLANES, &part);
  size_t plain;
  if (rlx_tensor_bytes(part.dtype, part.shape, &plain)) return UINT64_MAX;
  return packed > plain ? packed : plain;
}

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Whether input i is a weight that does not fit, and how it is cut. */
static bool cut(rlx_rewrite *r, uint32_t i, parts *out) {
  const rlx_node_rec *w = rlx_graph_at(r->to, input_of(r, i));
  const rlx_type *t = &w->type;
  size_t plain;
  if (w->op != RLX_OP_param || t->dtype == RLX_F64 || t->shape.n < 1 || t->shape.v[0] < 2 ||
      t->shape.v[0] > INT32_MAX || rlx_tensor_bytes(t->dtype, t->shape, &plain) || plain <= r->max_bytes ||
      bytes_of(t, 1) > r->max_bytes)
    return false;
  int64_t rows = t->shape.v[0], most = 1;
  for (int64_t above = rows; above - most > 1;) { /* the most rows that fit */
    const int64_t middle = most + (above - most) / 2;
    if (bytes_of(t, middle) <= r->max_bytes) most = middle;
    else above = middle;
  }
  if (most >= STEP) most -= most % STEP;
  const int64_t n = (rows - 1) / most + 1, even = (rows - 1) / n + 1;
  *out = (parts){r, r->in[i], rows, most >= STEP ? round_up(even, STEP) : even, 0};
  out->n = (uint32_t)((rows - 1) / out->step + 1);
  return true;
}

static int64_t begin_of(const parts *p, uint32_t i) { return (int64_t)i * p->step; }
static int64_t end_of(const parts *p, uint32_t i) { return i + 1 < p->n ? begin_of(p, i + 1) : p->rows; }

/* The part of x along an axis that belongs to part i of the weight. */
static rlx_node slice_of(const parts *p, rlx_node x, int64_t axis, uint32_t i) {
  return rlx_op_narrow(p->r->to, x, axis, begin_of(p, i), end_of(p, i) - begin_of(p, i));
}
static rlx_node rows_of(const parts *p, uint32_t i) { return slice_of(p, p->whole, 0, i); }

/* ---- products ---- */

static rlx_node joined(const parts *p, const rlx_attrs_matmul *a, bool is_left, int axis) {
  rlx_rewrite *r = p->r;
  rlx_node *each = rlx_mem_calloc(p->n, sizeof *each), y = RLX_NONE;
  for (uint32_t i = 0; each && i < p->n; i++)
    each[i] = is_left ? product(r, rows_of(p, i), r->in[1], a->trans_b) : product(r, r->in[0], rows_of(p, i), true);
  if (each) y = rlx_op_concat(r->to, each, p->n, axis);
  rlx_mem_free(each);
  return each ? y : refuse(r, "no memory to split it");
}

static rlx_node summed(const parts *p) {
  rlx_rewrite *r = p->r;
  const rlx_node x = wide_input(r, 0);
  const int last = shape_of(r, x).n - 1;
  rlx_node sum = RLX_NONE;
  for (uint32_t i = 0; i < p->n; i++) {
    const rlx_node y = product(r, slice_of(p, x, last, i), rows_of(p, i), false);
    sum = sum ? rlx_op_add(r->to, sum, y) : y;
  }
  return as_result(r, sum);
}

static rlx_node split_matmul(rlx_rewrite *r) {
  const rlx_attrs_matmul *a = RLX_ATTRS(matmul, r->node);
  const int rank = r->type->shape.n;
  parts p;
  if (shape_of(r, r->in[1]).n == 2 && cut(r, 1, &p)) return a->trans_b ? joined(&p, a, false, rank - 1) : summed(&p);
  if (rank == 2 && shape_of(r, r->in[0]).n == 2 && cut(r, 0, &p)) return joined(&p, a, true, 0);
  return RLX_NONE;
}

/* ---- lookups ---- */

static rlx_node split_gather(rlx_rewrite *r) {
  parts p;
  if (rlx_axis_of(RLX_ATTRS(gather, r->node)->axis, shape_of(r, r->in[0]).n) != 0 || !cut(r, 0, &p)) return RLX_NONE;
  rlx_node idx = as_type(r, r->in[1], RLX_I32), y = RLX_NONE;
  const rlx_node negative = rlx_op_lt(r->to, idx, scalar(r, idx, 0));
  idx = rlx_op_where(r->to, negative, rlx_op_add(r->to, idx, scalar(r, idx, (double)p.rows)), idx);
  rlx_dims mask = shape_of(r, idx); /* as many axes as the result */
  while (mask.n < r->type->shape.n) mask = dims_append(mask, 1);
  for (uint32_t i = 0; i < p.n; i++) {
    const rlx_node begin = scalar(r, idx, (double)begin_of(&p, i));
    const double last = i + 1 < p.n ? (double)(p.step - 1) : RLX_INFINITY; /* out of range is for the device */
    const rlx_node at = rlx_op_clamp(r->to, i ? rlx_op_sub(r->to, idx, begin) : idx, 0, last);
    const rlx_node part = rlx_op_gather(r->to, rows_of(&p, i), at, 0);
    y = i ? rlx_op_where(r->to, rlx_op_reshape(r->to, rlx_op_ge(r->to, idx, begin), mask), part, y) : part;
  }
  return y;
}

rlx_node gpu_split_large(rlx_rewrite *r) {
  switch (r->node->op) {
    case RLX_OP_matmul: return split_matmul(r);
    case RLX_OP_gather: return split_gather(r);
    default: return RLX_NONE;
  }
}
