/* Type inference: arity and element types from the op's row, then its shape rule; and the helpers of the shape
 * rules. */
#include "ir/infer.h"

#include "base/arith.h"

const char *rlx_infer_input_name(const rlx_infer *c, uint32_t i) {
  uint32_t n = c->row->n_inputs;
  return n == 0 ? "input" : c->row->inputs[i < n ? i : n - 1].name;
}

static const rlx_in_field *input_field(const rlx_op_table_row *row, uint32_t i) {
  return &row->inputs[i < row->n_inputs ? i : row->n_inputs - 1];
}

static rlx_status check_arity(const rlx_infer *c) {
  const rlx_op_table_row *row = c->row;
  if (c->n_in < row->n_required)
    return RLX_FAIL(RLX_INVALID, "takes %s%u inputs, got %u",
                    row->n_inputs > row->n_required || row->many ? "at least " : "", (unsigned)row->n_required,
                    (unsigned)c->n_in);
  if (!row->many && c->n_in > row->n_inputs)
    return RLX_FAIL(RLX_INVALID, "takes at most %u inputs, got %u", (unsigned)row->n_inputs, (unsigned)c->n_in);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!c->ids[i] && input_field(row, i)->mode != RLX_IN_OPTIONAL)
      return RLX_FAIL(RLX_INVALID, "input %u (%s) is missing", (unsigned)i, rlx_infer_input_name(c, i));
  return RLX_OK;
}

/* The T of this node: the type of its first input declared T, or W / WF / KV (whose T is their own type, unless another
 * input declares T). RLX_DTYPE_UNKNOWN if there is none. */
static rlx_dtype find_t(const rlx_infer *c) {
  rlx_dtype weight = RLX_DTYPE_UNKNOWN;
  for (uint32_t i = 0; i < c->n_in; i++) {
    const rlx_type *t = rlx_infer_in(c, i);
    if (!t) continue;
    rlx_in_type want = input_field(c->row, i)->type;
    if (want == RLX_IN_T) return t->dtype;
    if ((want == RLX_IN_W || want == RLX_IN_WF || want == RLX_IN_KV) && weight == RLX_DTYPE_UNKNOWN) weight = t->dtype;
  }
  return weight;
}

static bool is_half(rlx_dtype t) { return t == RLX_F16 || t == RLX_BF16; }

static bool type_fits(rlx_in_type want, rlx_dtype t, rlx_dtype have) {
  switch (want) {
    case RLX_IN_T: return have == t;
    case RLX_IN_W: return have == t || (t == RLX_F32 && (is_half(have) || rlx_dtype_is_block(have)));
    case RLX_IN_WF: return have == t || (t == RLX_F32 && is_half(have));
    case RLX_IN_KV: return have == t || (t == RLX_F32 && (is_half(have) || rlx_type_in(RLX_TYPES_STATE_BLOCK, have)));
    case RLX_IN_INDEX: return have == RLX_I32 || have == RLX_I64;
    case RLX_IN_BLOCK: return rlx_dtype_is_block(have);
    case RLX_IN_U: return !rlx_dtype_is_block(have);
    case RLX_IN_F32: return have == RLX_F32;
    case RLX_IN_I32: return have == RLX_I32;
    case RLX_IN_BOOL: return have == RLX_BOOL;
    case RLX_IN_C64: return have == RLX_C64;
    case RLX_IN_TO:
    case RLX_IN_RULE: return false;
  }
  return false;
}

static const char *type_words(rlx_in_type want, rlx_dtype t) {
  switch (want) {
    case RLX_IN_T: return rlx_dtype_name(t);
    case RLX_IN_W: return t == RLX_F32 ? "f32, f16, bf16 or a block type" : rlx_dtype_name(t);
    case RLX_IN_WF: return t == RLX_F32 ? "f32, f16 or bf16" : rlx_dtype_name(t);
    case RLX_IN_KV: return t == RLX_F32 ? "f32, f16, bf16, q8_0 or q4_0" : rlx_dtype_name(t);
    case RLX_IN_INDEX: return "i32 or i64";
    case RLX_IN_BLOCK: return "a block type";
    case RLX_IN_F32: return "f32";
    case RLX_IN_I32: return "i32";
    case RLX_IN_BOOL: return "bool";
    case RLX_IN_C64: return "c64";
    case RLX_IN_U:
    case RLX_IN_TO:
    case RLX_IN_RULE: break;
  }
  return "an element type";
}

static rlx_status infer_types(rlx_infer *c) {
  rlx_dtype t = find_t(c);
  bool weight_only = c->row->n_inputs && c->row->inputs[0].type == RLX_IN_W && t < RLX_DTYPE_COUNT &&
                     rlx_dtype_is_block(t); /* cast, gather */
  if (t != RLX_DTYPE_UNKNOWN && c->row->types && !weight_only && !(rlx_type_in(c->row->types, t)))
    return RLX_FAIL(RLX_INVALID, "does not take %s", rlx_dtype_name(t));
  for (uint32_t i = 0; i < c->n_in; i++) {
    const rlx_type *in = rlx_infer_in(c, i);
    rlx_in_type want = input_field(c->row, i)->type;
    if (in && !type_fits(want, t, in->dtype))
      return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must be %s", (unsigned)i, rlx_infer_input_name(c, i),
                      rlx_dtype_name(in->dtype), type_words(want, t));
  }
  switch (c->row->result) {
    case RLX_IN_T: c->out.dtype = t; break;
    case RLX_IN_TO: c->out.dtype = *(const rlx_dtype *)rlx_attr_named(c->row, c->attrs, "to"); break;
    case RLX_IN_F32: c->out.dtype = RLX_F32; break;
    case RLX_IN_I32: c->out.dtype = RLX_I32; break;
    case RLX_IN_BOOL: c->out.dtype = RLX_BOOL; break;
    case RLX_IN_C64: c->out.dtype = RLX_C64; break;
    default: c->out.dtype = RLX_DTYPE_UNKNOWN; break; /* set by the shape rule */
  }
  return RLX_OK;
}

rlx_status rlx_infer_run(rlx_infer *c) {
  RLX_TRY(check_arity(c));
  RLX_TRY(rlx_attrs_check(c->graph, c->row, c->attrs));
  RLX_TRY(infer_types(c));
  RLX_TRY(c->row->shape(c));
  if ((unsigned)c->out.dtype >= RLX_DTYPE_COUNT) return RLX_FAIL(RLX_INVALID, "has a result of unknown type");
  if (rlx_dims_open(&c->out.shape)) return RLX_OK;
  size_t bytes;
  return rlx_tensor_bytes(c->out.dtype, c->out.shape, &bytes);
}

/* ---- helpers for rules ---- */

bool rlx_dim_unify(int64_t a, int64_t b, int64_t *out) {
  bool open_a = rlx_dim_is_open(a), open_b = rlx_dim_is_open(b);
  if (!open_a && !open_b && a != b) return false;
  *out = !open_a ? a : !open_b ? b : a != RLX_DIM_UNKNOWN ? a : b;
  return true;
}

/* By what the graph's algebra decides; false: it has none, or cannot. */
static bool broadcast_open(const rlx_graph *g, int64_t a, int64_t b, int64_t *out, bool *fits) {
  bool one_a, one_b, same;
  if (!g->algebra || !rlx_size_equal(g, a, 1, &one_a) || !rlx_size_equal(g, b, 1, &one_b)) return false;
  *fits = one_a || one_b;
  if (*fits) *out = one_a ? b : a;
  else if (!rlx_size_equal(g, a, b, &same)) return false;
  else if ((*fits = same)) *out = rlx_dim_is_open(a) ? b : a;
  return true;
}

bool rlx_dim_broadcast(const rlx_graph *g, int64_t a, int64_t b, int64_t *out) {
  bool open_a = rlx_dim_is_open(a), open_b = rlx_dim_is_open(b), fits;
  if (a == b) *out = a;
  else if (a == 1) *out = b;
  else if (b == 1) *out = a;
  else if (!open_a && !open_b) return false;
  else if (broadcast_open(g, a, b, out, &fits)) return fits;
  else *out = !open_a ? a : !open_b ? b : RLX_DIM_UNKNOWN; /* two different symbols: either may be bound to 1 */
  return true;
}

bool rlx_dim_mul(const rlx_graph *g, int64_t a, int64_t b, int64_t *out) {
  if (a == 1) *out = b;
  else if (b == 1) *out = a;
  else if (rlx_dim_is_open(a) || rlx_dim_is_open(b)) *out = rlx_size_mul(g, a, b);
  else return rlx_mul_i64(a, b, out);
  return true;
}

bool rlx_dim_add(const rlx_graph *g, int64_t a, int64_t b, int64_t *out) {
  if (a == 0) *out = b;
  else if (b == 0) *out = a;
  else if (rlx_dim_is_open(a) || rlx_dim_is_open(b)) *out = rlx_size_add(g, a, b);
  else return rlx_add_i64(a, b, out);
  return true;
}

rlx_status rlx_dims_broadcast(const rlx_graph *g, rlx_dims *acc, const rlx_dims *b) {
  rlx_dims r = acc->n >= b->n ? *acc : *b;
  for (int i = 1; i <= acc->n && i <= b->n; i++)
    if (!rlx_dim_broadcast(g, acc->v[acc->n - i], b->v[b->n - i], &r.v[r.n - i]))
      return RLX_FAIL(RLX_INVALID, "shapes %s and %s do not broadcast", RLX_DIMS_TEXT(*acc), RLX_DIMS_TEXT(*b));
  *acc = r;
  return RLX_OK;
}

rlx_status rlx_axis_resolve(int64_t axis, int rank, const char *what, int *out) {
  if (rlx_dim_is_symbol(axis)) return RLX_FAIL(RLX_INVALID, "%s must be a number, not a symbol", what);
  if (axis < -rank || axis >= rank)
    return RLX_FAIL(RLX_INVALID, "%s %lld is not in %d..%d", what, (long long)axis, -rank, rank - 1);
  *out = rlx_axis_of(axis, rank);
  return RLX_OK;
}

rlx_status rlx_axes_resolve(const rlx_dims *axes, int rank, bool empty_is_all, uint32_t *bits) {
  *bits = axes->n == 0 && empty_is_all ? (1u << rank) - 1u : 0;
  for (int i = 0; i < axes->n; i++) {
    int axis;
    RLX_TRY(rlx_axis_resolve(axes->v[i], rank, "axis", &axis));
    if (*bits & (1u << axis)) return RLX_FAIL(RLX_INVALID, "axis %d is named twice", axis);
    *bits |= 1u << axis;
  }
  return RLX_OK;
}

rlx_status rlx_expect_rank(const rlx_infer *c, uint32_t i, int rank) {
  const rlx_dims *s = rlx_infer_shape(c, i);
  if (s->n != rank)
    return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must have rank %d", (unsigned)i, rlx_infer_input_name(c, i),
                    RLX_DIMS_TEXT(*s), rank);
  return RLX_OK;
}

rlx_status rlx_expect_shape(const rlx_infer *c, uint32_t i, rlx_dims want) {
  const rlx_dims *s = rlx_infer_shape(c, i);
  bool fits = s->n == want.n;
  int64_t unified;
  for (int k = 0; fits && k < want.n; k++) fits = rlx_dim_unify(s->v[k], want.v[k], &unified);
  if (!fits)
    return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must be %s", (unsigned)i, rlx_infer_input_name(c, i),
                    RLX_DIMS_TEXT(*s), RLX_DIMS_TEXT(want));
  return RLX_OK;
}

rlx_status rlx_expect_scalar_or_vector(const rlx_infer *c, uint32_t i, int64_t n) {
  const rlx_dims *s = rlx_infer_shape(c, i);
  int64_t unified;
  if (s->n == 0 || (s->n == 1 && (s->v[0] == 1 || rlx_dim_unify(s->v[0], n, &unified)))) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must be a scalar or %s", (unsigned)i,
                  rlx_infer_input_name(c, i), RLX_DIMS_TEXT(*s), RLX_DIMS_TEXT(RLX_DIMS(n)));
}
