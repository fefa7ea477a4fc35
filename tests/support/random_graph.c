/* Random graphs: proposals and patterns; see random_graph.h. */
#include "random_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conform/conform.h"
#include "conform/values.h"
#include "ir/infer.h"
#include "ref/eval.h"

enum { MAX_ELEMENTS = 512, MAX_DEPTH_LOOSE = 12 };

typedef struct maker {
  rlx_graph *g;
  uint64_t random;
  RLX_ARRAY(uint8_t) exactness;
  RLX_ARRAY(uint8_t) depth; /* number of inexact ops above: errors grow with it */
  uint32_t n_leaves;
} maker;

static uint32_t below(maker *m, uint32_t n) { return (uint32_t)rlx_random_below(&m->random, n); }
static bool chance(maker *m, uint32_t one_in) { return below(m, one_in) == 0; }
static const rlx_type *type_of(const maker *m, rlx_node id) { return &rlx_graph_at(m->g, id)->type; }

/* How exact the result of an op is, given how exact its inputs are. */
static uint8_t own_looseness(rlx_op op) {
  if (rlx_op_table_has(op, RLX_TRAIT_MOVES | RLX_TRAIT_LEAF)) return 0;
  if (rlx_op_table_has(op, RLX_TRAIT_POINTWISE)) return rlx_op_table_has(op, RLX_TRAIT_COMPOSITE) ? LOOSE_REWRITE : 0;
  return LOOSE_FUSED | LOOSE_REWRITE;
}

/* Small errors in the input may become large ones in the output. */
static bool is_fragile(rlx_op op, const void *attrs) {
  switch (op) {
    case RLX_OP_round:
    case RLX_OP_floor:
    case RLX_OP_ceil:
    case RLX_OP_sign:
    case RLX_OP_mod:
    case RLX_OP_eq:
    case RLX_OP_ne:
    case RLX_OP_lt:
    case RLX_OP_le:
    case RLX_OP_gt:
    case RLX_OP_ge:
    case RLX_OP_argmax:
    case RLX_OP_argmin:
    case RLX_OP_sort:
    case RLX_OP_argsort:
    case RLX_OP_top_k_values:
    case RLX_OP_top_k_indices:
    case RLX_OP_div:
    case RLX_OP_pow:
    case RLX_OP_log:
    case RLX_OP_rsqrt:
    case RLX_OP_sqrt:
    case RLX_OP_reciprocal:
    case RLX_OP_tan:
    case RLX_OP_exp:
    case RLX_OP_atan2:
    case RLX_OP_layer_norm:
    case RLX_OP_reduce_prod:
    case RLX_OP_cumprod:
    case RLX_OP_quantize:
    case RLX_OP_log_softmax: return true;
    case RLX_OP_cast: {
      rlx_dtype to = ((const rlx_attrs_cast *)attrs)->to;
      return to != RLX_F32 && to != RLX_F64;
    }
    default: return false;
  }
}

/* Adds the node if inference accepts it, its size is small and exactness allows; else 0. */
static rlx_node propose(maker *m, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs) {
  const rlx_op_table_row *row = rlx_op_table_get(op);
  if (!attrs) attrs = row->attrs_default;
  uint8_t exactness = own_looseness(op);
  uint32_t depth = exactness ? 1 : 0, deepest = 0;
  for (uint32_t i = 0; i < n_in; i++) {
    if (!in[i]) continue;
    if (m->exactness.v[in[i]] && is_fragile(op, attrs)) return RLX_NONE;
    exactness |= m->exactness.v[in[i]];
    if (m->depth.v[in[i]] > deepest) deepest = m->depth.v[in[i]];
  }
  if (depth + deepest > MAX_DEPTH_LOOSE) return RLX_NONE;
  rlx_infer c = {.graph = m->g, .op = op, .row = row, .attrs = attrs, .ids = in, .n_in = n_in};
  if (rlx_infer_run(&c) || rlx_dims_count(&c.out.shape) > MAX_ELEMENTS) return RLX_NONE;
  rlx_node id = rlx_graph_add(m->g, op, in, n_in, attrs);
  if (id && (!rlx_array_push(&m->exactness, exactness) || !rlx_array_push(&m->depth, (uint8_t)(depth + deepest))))
    return RLX_NONE;
  return id;
}

static rlx_node propose1(maker *m, rlx_op op, rlx_node a, const void *attrs) {
  return a ? propose(m, op, &a, 1, attrs) : RLX_NONE;
}
static rlx_node propose2(maker *m, rlx_op op, rlx_node a, rlx_node b, const void *attrs) {
  return a && b ? propose(m, op, (rlx_node[]){a, b}, 2, attrs) : RLX_NONE;
}

/* ---- leaves ---- */

static rlx_node leaf(maker *m, rlx_op op, rlx_dtype dtype, rlx_dims shape) {
  char name[24];
  snprintf(name, sizeof name, "%c%u", op == RLX_OP_param ? 'w' : 'x', (unsigned)m->n_leaves++);
  rlx_attrs_input attrs = {.name = name, .dtype = dtype, .shape = shape};
  return propose(m, op, NULL, 0, &attrs);
}

rlx_blob *random_blob(const rlx_type *type, uint64_t seed) {
  rlx_tensor t;
  if (rlx_tensor_create(type, &t)) return NULL;
  rlx_blob *blob = rlx_blob_create(t.bytes);
  if (blob && rlx_values_fill(&t, "", 0, seed)) {
    rlx_blob_release(blob);
    blob = NULL;
  }
  if (blob && t.bytes) memcpy(blob->data, t.data, t.bytes);
  rlx_tensor_deinit(&t);
  return blob;
}

static rlx_node constant(maker *m, rlx_dtype dtype, rlx_dims shape) {
  rlx_attrs_constant attrs = {.dtype = dtype, .shape = shape};
  attrs.data = random_blob(&(rlx_type){dtype, shape}, rlx_random_next(&m->random));
  rlx_node id = attrs.data ? propose(m, RLX_OP_constant, NULL, 0, &attrs) : rlx_graph_set_error(m->g, RLX_NO_MEMORY);
  rlx_blob_release(attrs.data);
  return id;
}

static rlx_node scalar(maker *m, rlx_dtype dtype, double value) {
  rlx_tensor t;
  rlx_attrs_constant attrs = {.dtype = dtype};
  if (rlx_tensor_create(&(rlx_type){dtype, RLX_SCALAR}, &t)) return rlx_graph_set_error(m->g, RLX_NO_MEMORY);
  rlx_store_value(&t, 0, value);
  rlx_node id = RLX_NONE;
  attrs.data = rlx_blob_create(t.bytes);
  if (attrs.data) memcpy(attrs.data->data, t.data, t.bytes), id = propose(m, RLX_OP_constant, NULL, 0, &attrs);
  rlx_blob_release(attrs.data);
  rlx_tensor_deinit(&t);
  return id;
}

static rlx_dims random_shape(maker *m) {
  rlx_dims d = {.n = (int32_t)below(m, 4) + (chance(m, 8) ? 0 : 1)};
  for (int i = 0; i < d.n; i++) d.v[i] = chance(m, 40) ? 0 : chance(m, 5) ? 1 : 1 + below(m, 6);
  return d;
}

static rlx_dtype random_dtype(maker *m) {
  static const rlx_dtype types[] = {RLX_F32, RLX_F32, RLX_F32, RLX_F32, RLX_F16, RLX_BF16,
                                    RLX_F64, RLX_I32, RLX_I64, RLX_I8,  RLX_U8,  RLX_BOOL};
  return types[below(m, sizeof types / sizeof *types)];
}

static rlx_node random_leaf(maker *m) {
  rlx_dtype dtype = random_dtype(m);
  rlx_dims shape = random_shape(m);
  uint32_t kind = below(m, 6);
  return kind == 0 ? constant(m, dtype, shape) : leaf(m, kind < 3 ? RLX_OP_param : RLX_OP_input, dtype, shape);
}

/* A node of the graph, later ones more likely; of this type unless want is RLX_DTYPE_UNKNOWN. */
static rlx_node pick(maker *m, rlx_dtype want) {
  uint32_t end = rlx_graph_end(m->g);
  for (int tries = 0; tries < 12; tries++) {
    uint32_t a = 1 + below(m, end - 1), b = 1 + below(m, end - 1);
    rlx_node id = a > b ? a : b;
    rlx_dtype have = type_of(m, id)->dtype;
    if (want == RLX_DTYPE_UNKNOWN ? !rlx_dtype_is_block(have) : have == want) return id;
  }
  return want == RLX_DTYPE_UNKNOWN ? 1 : RLX_NONE; /* node 1 is a plain leaf */
}

/* A partner that broadcasts with a: an existing node, or a fresh leaf of a compatible shape. */
static rlx_node partner(maker *m, rlx_node a) {
  rlx_dtype dtype = type_of(m, a)->dtype;
  if (chance(m, 2)) return pick(m, dtype);
  rlx_dims shape = type_of(m, a)->shape;
  for (int i = 0; i < shape.n; i++)
    if (chance(m, 3)) shape.v[i] = 1;
  int drop = (int)below(m, (uint32_t)shape.n + 1);
  if (chance(m, 2)) { /* fewer leading axes */
    memmove(shape.v, shape.v + drop, (size_t)(shape.n - drop) * sizeof shape.v[0]);
    shape.n -= drop;
  }
  return chance(m, 3) ? constant(m, dtype, shape) : leaf(m, chance(m, 2) ? RLX_OP_param : RLX_OP_input, dtype, shape);
}

/* ---- proposals ---- */

static rlx_op random_op(maker *m, const rlx_op *list, size_t n) { return list[below(m, (uint32_t)n)]; }
#define ONE_OF(...) random_op(m, (const rlx_op[]){__VA_ARGS__}, sizeof((const rlx_op[]){__VA_ARGS__}) / sizeof(rlx_op))

static rlx_node make_unary(maker *m) {
  rlx_op op = ONE_OF(RLX_OP_gelu, RLX_OP_gelu_approx, RLX_OP_silu, RLX_OP_relu, RLX_OP_sigmoid, RLX_OP_tanh, RLX_OP_exp,
                     RLX_OP_log, RLX_OP_sqrt, RLX_OP_rsqrt, RLX_OP_neg, RLX_OP_abs, RLX_OP_sin, RLX_OP_cos, RLX_OP_tan,
                     RLX_OP_atan, RLX_OP_round, RLX_OP_floor, RLX_OP_ceil, RLX_OP_sign, RLX_OP_erf, RLX_OP_reciprocal,
                     RLX_OP_softplus, RLX_OP_elu, RLX_OP_leaky_relu, RLX_OP_hard_sigmoid, RLX_OP_hard_swish,
                     RLX_OP_mish, RLX_OP_selu, RLX_OP_neg, RLX_OP_abs, RLX_OP_relu, RLX_OP_not);
  return propose1(m, op, pick(m, op == RLX_OP_not ? RLX_BOOL : RLX_DTYPE_UNKNOWN), NULL);
}

static rlx_node make_binary(maker *m) {
  rlx_op op = ONE_OF(RLX_OP_add, RLX_OP_sub, RLX_OP_mul, RLX_OP_div, RLX_OP_max, RLX_OP_min, RLX_OP_pow, RLX_OP_mod,
                     RLX_OP_atan2, RLX_OP_bit_and, RLX_OP_bit_or, RLX_OP_bit_xor, RLX_OP_shl, RLX_OP_shr, RLX_OP_and,
                     RLX_OP_or, RLX_OP_xor, RLX_OP_eq, RLX_OP_ne, RLX_OP_lt, RLX_OP_le, RLX_OP_gt, RLX_OP_ge,
                     RLX_OP_add, RLX_OP_mul, RLX_OP_sub, RLX_OP_add, RLX_OP_mul);
  rlx_node a = pick(m, RLX_DTYPE_UNKNOWN);
  rlx_node b = partner(m, a);
  return chance(m, 2) ? propose2(m, op, a, b, NULL) : propose2(m, op, b, a, NULL);
}

static rlx_node make_ternary(maker *m) {
  rlx_node a = pick(m, RLX_DTYPE_UNKNOWN), b = partner(m, a);
  if (!b) return RLX_NONE;
  if (chance(m, 2)) return propose(m, RLX_OP_fma, (rlx_node[]){a, b, partner(m, a)}, 3, NULL);
  return propose(m, RLX_OP_where, (rlx_node[]){pick(m, RLX_BOOL), a, b}, 3, NULL);
}

static rlx_node make_cast_or_clamp(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  if (chance(m, 3)) {
    double lo = -1 + rlx_random_unit(&m->random), hi = lo + rlx_random_unit(&m->random);
    return propose1(
      m, RLX_OP_clamp, x,
      &(rlx_attrs_clamp){.lo = chance(m, 4) ? -RLX_INFINITY : lo, .hi = chance(m, 4) ? RLX_INFINITY : hi});
  }
  return propose1(m, RLX_OP_cast, x, &(rlx_attrs_cast){.to = random_dtype(m)});
}

static rlx_dims random_axes(maker *m, int rank) {
  rlx_dims axes = {.n = 0};
  for (int i = 0; i < rank; i++)
    if (chance(m, 2)) axes.v[axes.n++] = chance(m, 2) ? i : i - rank;
  return axes;
}

static int64_t random_axis(maker *m, int rank) { return rank ? (int64_t)below(m, (uint32_t)(2 * rank)) - rank : 0; }

static rlx_node make_reduce(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  int rank = type_of(m, x)->shape.n;
  rlx_op op = ONE_OF(RLX_OP_reduce_sum, RLX_OP_reduce_mean, RLX_OP_reduce_max, RLX_OP_reduce_min, RLX_OP_reduce_prod);
  return propose1(
    m, op, x,
    &(rlx_attrs_reduce_sum){.axes = random_axes(m, rank), .keep = chance(m, 2)}); /* the five share their layout */
}

static rlx_node make_axis_op(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  int64_t axis = random_axis(m, type_of(m, x)->shape.n);
  switch (below(m, 7)) {
    case 0: return propose1(m, RLX_OP_softmax, x, &(rlx_attrs_softmax){.axis = axis});
    case 1: return propose1(m, RLX_OP_log_softmax, x, &(rlx_attrs_log_softmax){.axis = axis});
    case 2:
      return propose1(m, RLX_OP_cumsum, x,
                      &(rlx_attrs_cumsum){.axis = axis, .exclusive = chance(m, 2), .reverse = chance(m, 2)});
    case 3:
      return propose1(m, RLX_OP_argmax, x, &(rlx_attrs_argmax){.axis = axis, .keep = chance(m, 2), .to = RLX_I64});
    case 4:
      return propose1(m, RLX_OP_top_k_values, x,
                      &(rlx_attrs_top_k_values){.axis = axis, .k = 1 + below(m, 3), .largest = chance(m, 2)});
    case 5: return propose1(m, RLX_OP_sort, x, &(rlx_attrs_sort){.axis = axis, .descending = chance(m, 2)});
    default:
      return propose1(m, chance(m, 2) ? RLX_OP_layer_norm : RLX_OP_rms_norm, x,
                      &(rlx_attrs_rms_norm){.axis = axis, .eps = 0.1});
  }
}

static rlx_node make_reshape(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  const rlx_dims *s = &type_of(m, x)->shape;
  rlx_dims to = *s;
  int64_t count = (int64_t)rlx_dims_count(s);
  if (count == 0 || chance(m, 4)) return propose1(m, RLX_OP_reshape, x, &(rlx_attrs_reshape){.shape = to});
  to.n = 0;
  while (count > 1 && to.n < 4) { /* a random factorisation */
    int64_t factor = 1 + below(m, 6);
    if (count % factor == 0) to.v[to.n++] = factor, count /= factor;
  }
  to.v[to.n++] = chance(m, 2) ? -1 : count;
  if (chance(m, 3)) to.v[to.n++] = 1;
  return propose1(m, RLX_OP_reshape, x, &(rlx_attrs_reshape){.shape = to});
}

static rlx_node make_transpose(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  rlx_dims perm = {.n = type_of(m, x)->shape.n};
  for (int i = 0; i < perm.n; i++) perm.v[i] = i;
  for (int i = perm.n; i > 1; i--) {
    uint32_t k = below(m, (uint32_t)i);
    int64_t t = perm.v[k];
    perm.v[k] = perm.v[i - 1], perm.v[i - 1] = t;
  }
  return propose1(m, RLX_OP_transpose, x, &(rlx_attrs_transpose){.perm = perm});
}

static rlx_node make_move(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  rlx_dims s = type_of(m, x)->shape;
  int64_t axis = random_axis(m, s.n);
  switch (below(m, 9)) {
    case 0: return make_reshape(m);
    case 1: return make_transpose(m);
    case 2: {
      int64_t n = s.n ? s.v[axis < 0 ? axis + s.n : axis] : 0, start = (int64_t)below(m, (uint32_t)n + 2),
              stop = start + below(m, 4);
      return propose1(m, RLX_OP_slice, x,
                      &(rlx_attrs_slice){.axes = RLX_DIMS(axis),
                                         .start = RLX_DIMS(chance(m, 4) ? stop : start),
                                         .stop = RLX_DIMS(chance(m, 4)   ? -1 - n
                                                          : chance(m, 3) ? n
                                                                         : stop),
                                         .step = RLX_DIMS(chance(m, 4) ? -1 : 1 + (int64_t)below(m, 2))});
    }
    case 3:
      return propose2(m, RLX_OP_concat, x, chance(m, 3) ? x : pick(m, type_of(m, x)->dtype),
                      &(rlx_attrs_concat){.axis = axis});
    case 4: {
      for (int i = 0; i < s.n; i++)
        if (s.v[i] == 1) s.v[i] = 1 + below(m, 3);
      if (s.n < 4 && chance(m, 2)) memmove(s.v + 1, s.v, (size_t)s.n * sizeof s.v[0]), s.v[0] = 1 + below(m, 3), s.n++;
      return propose1(m, RLX_OP_expand, x, &(rlx_attrs_expand){.shape = s});
    }
    case 5: {
      rlx_attrs_pad a = {.mode = (int32_t)below(m, 4), .value = 0.5};
      a.lo.n = a.hi.n = s.n;
      for (int i = 0; i < s.n; i++) a.lo.v[i] = below(m, 2), a.hi.v[i] = below(m, 2);
      return propose1(m, RLX_OP_pad, x, &a);
    }
    case 6: {
      rlx_attrs_tile a = {.reps = {.n = s.n}};
      for (int i = 0; i < s.n; i++) a.reps.v[i] = 1 + below(m, 2);
      return propose1(m, RLX_OP_tile, x, &a);
    }
    case 7: return propose1(m, RLX_OP_reverse, x, &(rlx_attrs_reverse){.axes = random_axes(m, s.n)});
    default:
      return propose1(m, RLX_OP_roll, x,
                      &(rlx_attrs_roll){.shifts = RLX_DIMS((int64_t)below(m, 7) - 3), .axes = RLX_DIMS(axis)});
  }
}

/* Row indices 0, 1, .. k-1 of some axis as a constant-free input: range, so that they are always in bounds. */
static rlx_node make_gather(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  rlx_dims s = type_of(m, x)->shape;
  if (!s.n) return RLX_NONE;
  int64_t axis = random_axis(m, s.n), n = s.v[axis < 0 ? axis + s.n : axis];
  if (!n) return RLX_NONE;
  rlx_node idx = propose(
    m, RLX_OP_range, NULL, 0,
    &(rlx_attrs_range){.start = chance(m, 2) ? 0 : -1, .step = 0, .count = RLX_DIMS(1 + below(m, 3)), .to = RLX_I32});
  return propose2(m, RLX_OP_gather, x, idx, &(rlx_attrs_gather){.axis = axis});
}

/* ---- patterns that passes match ---- */

static rlx_node make_matmul(maker *m) {
  rlx_node x = pick(m, RLX_F32);
  if (!x || type_of(m, x)->shape.n < 2) return RLX_NONE;
  const rlx_dims *s = &type_of(m, x)->shape;
  int64_t k = s->v[s->n - 1], n = 1 + below(m, 5);
  bool trans_b = chance(m, 2);
  rlx_node w = leaf(m, chance(m, 4) ? RLX_OP_input : RLX_OP_param, RLX_F32, trans_b ? RLX_DIMS(n, k) : RLX_DIMS(k, n));
  if (w && chance(m, 4))
    w = propose1(m, RLX_OP_transpose, w, &(rlx_attrs_transpose){.perm = RLX_DIMS(1, 0)}), trans_b = !trans_b;
  rlx_node y = propose2(m, RLX_OP_matmul, x, w, &(rlx_attrs_matmul){.trans_b = trans_b});
  if (y && chance(m, 2)) {
    rlx_node bias = leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(n));
    rlx_node sum = chance(m, 2) ? propose2(m, RLX_OP_add, y, bias, NULL) : propose2(m, RLX_OP_add, bias, y, NULL);
    if (sum) y = sum;
  }
  if (y && chance(m, 2)) {
    rlx_node act = propose1(
      m, ONE_OF(RLX_OP_relu, RLX_OP_gelu, RLX_OP_gelu_approx, RLX_OP_silu, RLX_OP_sigmoid, RLX_OP_tanh), y, NULL);
    if (act) y = act;
  }
  return y;
}

/* A convolution, followed by what idiom and fuse absorb. */
static rlx_node make_conv(maker *m) {
  int64_t c = 1 + below(m, 3), o = 1 + below(m, 3), size = 1 + below(m, 4);
  rlx_node x = leaf(m, RLX_OP_input, RLX_F32, RLX_DIMS(1, c, size, size + 1));
  rlx_node w = leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(o, c, 3, 3));
  rlx_dims one = RLX_DIMS(1, 1);
  rlx_node y =
    chance(m, 6) ? x : propose2(m, RLX_OP_conv, x, w, &(rlx_attrs_conv){.pad_lo = one, .pad_hi = one, .groups = 1});
  for (uint32_t i = below(m, 4); y && i > 0; i--) {
    int64_t channels = type_of(m, y)->shape.v[1];
    rlx_node by_channel = leaf(m, RLX_OP_param, RLX_F32, chance(m, 3) ? RLX_SCALAR : RLX_DIMS(channels, 1, 1));
    rlx_node mean = leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(channels));
    rlx_node var = propose1(m, RLX_OP_abs, leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(channels)), NULL);
    rlx_node next = chance(m, 2) && var ? propose(m, RLX_OP_batch_norm_inference, (rlx_node[]){y, mean, var}, 3,
                                                  &(rlx_attrs_batch_norm_inference){.eps = 0.5})
                                        : propose2(m, ONE_OF(RLX_OP_mul, RLX_OP_add, RLX_OP_sub), y, by_channel, NULL);
    if (next) y = next;
  }
  if (y && chance(m, 2)) {
    rlx_node sum = propose2(m, RLX_OP_add, y, leaf(m, RLX_OP_input, RLX_F32, type_of(m, y)->shape), NULL);
    if (sum) y = sum;
  }
  rlx_node act = y && chance(m, 2) ? propose1(m, ONE_OF(RLX_OP_relu, RLX_OP_silu, RLX_OP_tanh), y, NULL) : RLX_NONE;
  return act ? act : y;
}

static rlx_node make_residual_norm(maker *m) {
  rlx_node x = pick(m, RLX_F32);
  if (!x || !type_of(m, x)->shape.n) return RLX_NONE;
  rlx_dims s = type_of(m, x)->shape;
  rlx_node sum = propose2(m, RLX_OP_add, x, leaf(m, RLX_OP_input, RLX_F32, s), NULL);
  rlx_node gamma = chance(m, 3) ? RLX_NONE : leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(s.v[s.n - 1]));
  return sum ? propose(m, chance(m, 2) ? RLX_OP_rms_norm : RLX_OP_layer_norm, (rlx_node[]){sum, gamma}, gamma ? 2 : 1,
                       &(rlx_attrs_rms_norm){.axis = -1, .eps = 0.1})
             : RLX_NONE;
}

static rlx_node make_gate_up(maker *m) {
  rlx_node x = pick(m, RLX_F32);
  if (!x || type_of(m, x)->shape.n < 2) return RLX_NONE;
  rlx_dims s = type_of(m, x)->shape;
  rlx_node gate = x, up = leaf(m, RLX_OP_input, RLX_F32, s);
  if (chance(m, 2)) {
    rlx_dims w = RLX_DIMS(s.v[s.n - 1], 1 + (int64_t)below(m, 5));
    gate = propose2(m, RLX_OP_matmul, x, leaf(m, RLX_OP_param, RLX_F32, w), NULL);
    up = propose2(m, RLX_OP_matmul, x, leaf(m, RLX_OP_param, RLX_F32, w), NULL);
  }
  gate = propose1(m, RLX_OP_silu, gate, NULL);
  return chance(m, 2) ? propose2(m, RLX_OP_mul, gate, up, NULL) : propose2(m, RLX_OP_mul, up, gate, NULL);
}

/* [b, h, s, d], or with b and h merged. */
static rlx_node heads_leaf(maker *m, rlx_dims s, bool joined) {
  rlx_node x = leaf(m, RLX_OP_input, RLX_F32, s);
  return joined
           ? propose1(m, RLX_OP_reshape, x, &(rlx_attrs_reshape){.shape = RLX_DIMS(s.v[0] * s.v[1], s.v[2], s.v[3])})
           : x;
}

static rlx_node make_attention(maker *m) {
  int64_t b = 1 + below(m, 2), h = 1 + below(m, 2), sq = 1 + below(m, 4), sk = 1 + below(m, 5), d = 1 + below(m, 6);
  bool joined = chance(m, 4), trans_b = joined || chance(m, 2);
  rlx_node q = heads_leaf(m, RLX_DIMS(b, h, sq, d), joined), k = heads_leaf(m, RLX_DIMS(b, h, sk, d), joined);
  rlx_node v = heads_leaf(m, RLX_DIMS(b, h, sk, d), joined);
  if (!trans_b) k = propose1(m, RLX_OP_transpose, k, &(rlx_attrs_transpose){.perm = RLX_DIMS(0, 1, 3, 2)});
  rlx_node scores = propose2(m, RLX_OP_matmul, q, k, &(rlx_attrs_matmul){.trans_b = trans_b});
  if (chance(m, 2)) scores = propose2(m, RLX_OP_mul, scores, scalar(m, RLX_F32, 0.25), NULL);
  if (joined) scores = propose1(m, RLX_OP_reshape, scores, &(rlx_attrs_reshape){.shape = RLX_DIMS(b, h, sq, sk)});
  if (chance(m, 2)) scores = propose2(m, RLX_OP_add, scores, leaf(m, RLX_OP_input, RLX_F32, RLX_DIMS(sq, sk)), NULL);
  if (scores && chance(m, 3)) { /* a mask without -inf: a fully hidden row would be NaN, but zero in attention */
    rlx_node hidden[3] = {leaf(m, RLX_OP_input, RLX_BOOL, RLX_DIMS(b, 1, 1, sk)), scores, scalar(m, RLX_F32, -1e9)};
    scores = propose(m, RLX_OP_where, hidden, 3, NULL);
  }
  if (joined) scores = propose1(m, RLX_OP_reshape, scores, &(rlx_attrs_reshape){.shape = RLX_DIMS(b * h, sq, sk)});
  return propose2(m, RLX_OP_matmul, propose1(m, RLX_OP_softmax, scores, NULL), v, NULL);
}

/* ---- decompositions of exporters ---- */

/* The result of an idiom may be rounded differently, though each of its ops is exact. */
static rlx_node loosened(maker *m, rlx_node id) {
  if (id) m->exactness.v[id] |= LOOSE_FUSED;
  return id;
}

/* a b, in either order. */
static rlx_node times(maker *m, rlx_node a, rlx_node b) {
  return chance(m, 2) ? propose2(m, RLX_OP_mul, a, b, NULL) : propose2(m, RLX_OP_mul, b, a, NULL);
}

static rlx_node make_spelled_activation(maker *m) {
  rlx_node x = pick(m, chance(m, 3) ? RLX_F16 : RLX_F32);
  if (!x) return RLX_NONE;
  rlx_dtype dtype = type_of(m, x)->dtype;
  rlx_node one = scalar(m, dtype, 1), half = scalar(m, dtype, 0.5), gate = RLX_NONE, y = x;
  switch (below(m, 3)) {
    case 0: gate = propose1(m, RLX_OP_erf, times(m, x, scalar(m, dtype, 0.70710678118654752)), NULL); break;
    case 1: {
      rlx_node cube = times(m, times(m, x, x), x);
      rlx_node sum = propose2(m, RLX_OP_add, times(m, cube, scalar(m, dtype, 0.044715)), x, NULL);
      gate = propose1(m, RLX_OP_tanh, times(m, sum, scalar(m, dtype, 0.79788456080286536)), NULL);
      break;
    }
    default: return loosened(m, times(m, x, propose1(m, RLX_OP_sigmoid, x, NULL)));
  }
  gate = propose2(m, RLX_OP_add, gate, one, NULL);
  if (chance(m, 2)) y = times(m, x, half);
  else gate = times(m, gate, half);
  return loosened(m, times(m, y, gate));
}

static rlx_node make_spelled_norm(maker *m) {
  rlx_node x = pick(m, RLX_F32);
  if (!x || !type_of(m, x)->shape.n) return RLX_NONE;
  rlx_dims s = type_of(m, x)->shape;
  rlx_attrs_reduce_mean last = {.axes = RLX_DIMS(s.n - 1), .keep = true};
  rlx_node d = chance(m, 2) ? x : propose2(m, RLX_OP_sub, x, propose1(m, RLX_OP_reduce_mean, x, &last), NULL);
  rlx_node v =
    propose2(m, RLX_OP_add, propose1(m, RLX_OP_reduce_mean, times(m, d, d), &last), scalar(m, RLX_F32, 0.5), NULL);
  if (!v) return RLX_NONE;
  uint8_t exactness = m->exactness.v[v];
  /* a root amplifies errors, so inexact inputs are excluded; for values of 0.5 and more it does not */
  m->exactness.v[v] = 0;
  rlx_node root = propose1(m, RLX_OP_rsqrt, v, NULL);
  m->exactness.v[v] = exactness;
  if (root) m->exactness.v[root] |= exactness;
  rlx_node y = times(m, d, root);
  return y && chance(m, 2) ? times(m, y, leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(s.v[s.n - 1]))) : y;
}

/* Element-wise ops between a transpose and its inverse; or a slice of a transposed tensor. */
static rlx_node make_rotated(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  rlx_dims s = type_of(m, x)->shape, perm = {.n = s.n}, back = {.n = s.n};
  if (s.n < 2) return RLX_NONE;
  int64_t by = 1 + below(m, (uint32_t)s.n - 1);
  for (int i = 0; i < s.n; i++) perm.v[i] = (i + by) % s.n, back.v[(i + by) % s.n] = i;
  rlx_node t = propose1(m, RLX_OP_transpose, x, &(rlx_attrs_transpose){.perm = perm});
  if (t && chance(m, 3)) {
    rlx_node piece =
      propose1(m, RLX_OP_slice, t, &(rlx_attrs_slice){.axes = RLX_DIMS(0), .start = RLX_DIMS(0), .stop = RLX_DIMS(1)});
    rlx_dims rest = {.n = s.n - 1};
    for (int i = 0; i < rest.n; i++) rest.v[i] = s.v[perm.v[i + 1]];
    return chance(m, 2) ? piece : propose1(m, RLX_OP_reshape, piece, &(rlx_attrs_reshape){.shape = rest});
  }
  for (int i = 0; t && i < 2; i++) {
    rlx_node y = chance(m, 2) ? propose1(m, ONE_OF(RLX_OP_neg, RLX_OP_abs, RLX_OP_relu, RLX_OP_sin), t, NULL)
                              : propose2(m, ONE_OF(RLX_OP_add, RLX_OP_mul, RLX_OP_max), t, partner(m, t), NULL);
    if (y && rlx_dims_equal(&type_of(m, y)->shape, &type_of(m, t)->shape)) t = y;
  }
  return propose1(m, RLX_OP_transpose, t, &(rlx_attrs_transpose){.perm = back});
}

/* A scale and a shift per channel after a 1x1 convolution. */
static rlx_node make_scaled_conv(maker *m) {
  int64_t channels = 1 + below(m, 3);
  rlx_node x = leaf(m, RLX_OP_input, RLX_F32, RLX_DIMS(1, channels, 1 + below(m, 4), 1 + below(m, 4)));
  rlx_node y = propose2(m, RLX_OP_conv, x, leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(2, channels, 1, 1)), NULL);
  if (chance(m, 2)) y = times(m, y, leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(2, 1, 1)));
  return y && chance(m, 2) ? propose2(m, RLX_OP_add, y, leaf(m, RLX_OP_param, RLX_F32, RLX_DIMS(1, 2, 1, 1)), NULL) : y;
}

static rlx_node make_no_op(maker *m) {
  rlx_node x = pick(m, RLX_DTYPE_UNKNOWN);
  rlx_dtype dtype = type_of(m, x)->dtype;
  switch (below(m, 8)) {
    case 0: return propose2(m, RLX_OP_mul, x, scalar(m, dtype, 1), NULL);
    case 1: return propose2(m, RLX_OP_add, x, scalar(m, dtype, chance(m, 2) ? 0.0 : -0.0), NULL);
    case 2: return propose2(m, RLX_OP_sub, x, scalar(m, dtype, 0), NULL);
    case 3: return propose1(m, RLX_OP_neg, propose1(m, RLX_OP_neg, x, NULL), NULL);
    case 4: return propose2(m, RLX_OP_div, x, scalar(m, dtype, 1), NULL);
    case 5:
      return propose1(m, RLX_OP_cast, propose1(m, RLX_OP_cast, x, &(rlx_attrs_cast){.to = RLX_F64}),
                      &(rlx_attrs_cast){.to = dtype});
    case 6: return propose2(m, chance(m, 2) ? RLX_OP_max : RLX_OP_min, x, x, NULL);
    default: return propose2(m, RLX_OP_mul, x, scalar(m, dtype, 0), NULL);
  }
}

/* The same node again. */
static rlx_node make_twin(maker *m) {
  rlx_node id = pick(m, RLX_DTYPE_UNKNOWN);
  const rlx_node_rec *n = rlx_graph_at(m->g, id);
  if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_EFFECT) || n->n_in > 4) return RLX_NONE;
  rlx_node in[4];
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = n->in[i];
  rlx_node twin = propose(m, n->op, in, n->n_in, n->attrs);
  if (twin) m->exactness.v[twin] |= m->exactness.v[id];
  return twin;
}

/* ---- any op of the table: a conformance case ---- */

/* Cases at the edge of the number range: what follows them would only test overflow and cancellation. */
static bool is_extreme(const rlx_tensor *t) {
  for (size_t i = 0; !rlx_dtype_is_block(t->dtype) && t->dtype != RLX_C64 && i < rlx_tensor_count(t); i++)
    if (!(fabs(rlx_load(t, i)) <= 1000)) return true;
  return false;
}

static bool has_extremes(const rlx_case_built *b) {
  for (size_t i = 0; i < b->n_values; i++)
    if (is_extreme(&b->values[i])) return true;
  for (rlx_node id = 1; id < rlx_graph_end(b->graph); id++) {
    const rlx_node_rec *n = rlx_graph_at(b->graph, id);
    if (n->op != RLX_OP_constant) continue;
    const rlx_blob *data = RLX_ATTRS(constant, n)->data;
    if (is_extreme(
          &(rlx_tensor){.dtype = n->type.dtype, .shape = n->type.shape, .data = data->data, .bytes = data->bytes}))
      return true;
  }
  return false;
}

/* A leaf of a case is named "op/case/name#number", so that random_leaves finds its values again. */
static rlx_node copy_case_leaf(maker *m, const rlx_graph *from, rlx_node id, rlx_op op, const char *case_name) {
  char name[256];
  rlx_attrs_input attrs = *RLX_ATTRS(input, rlx_graph_at(from, id)); /* input, param and state share their layout */
  snprintf(name, sizeof name, "%s/%s/%s#%u", rlx_op_table_get(op)->name, case_name, attrs.name,
           (unsigned)m->n_leaves++);
  attrs.name = name;
  return propose(m, rlx_graph_at(from, id)->op, NULL, 0, &attrs);
}

static rlx_node copy_case(maker *m, const rlx_graph *from, rlx_op op, const char *case_name) {
  rlx_node map[64] = {0}, in[64];
  if (rlx_graph_end(from) > 64) return RLX_NONE;
  for (rlx_node id = 1; id < rlx_graph_end(from); id++) {
    const rlx_node_rec *n = rlx_graph_at(from, id);
    if (rlx_node_name(from, id)) {
      map[id] = copy_case_leaf(m, from, id, op, case_name);
    } else {
      for (uint32_t i = 0; i < n->n_in && i < 64; i++) in[i] = n->in[i] ? map[n->in[i]] : RLX_NONE;
      map[id] = n->n_in <= 64 ? propose(m, n->op, in, n->n_in, n->attrs) : RLX_NONE;
    }
    if (!map[id]) return RLX_NONE;
  }
  return map[from->outputs.v[0].node];
}

static rlx_node make_case(maker *m) {
  rlx_op op = (rlx_op)(1 + below(m, RLX_OP_COUNT - 1));
  const rlx_case_table *table = rlx_case_table_get(op);
  if (rlx_op_table_has(op, RLX_TRAIT_LEAF) || !table->n) return RLX_NONE;
  const rlx_case *c = &table->v[below(m, (uint32_t)table->n)];
  rlx_case_built b;
  if (rlx_case_build(op, c, &b)) return RLX_NONE;
  rlx_node y = has_extremes(&b) ? RLX_NONE : copy_case(m, b.graph, op, c->name);
  rlx_case_deinit(&b);
  return y;
}

static rlx_status case_leaf_value(const char *name, const char *slash, rlx_tensor *t) {
  const char *second = strchr(slash + 1, '/'), *hash = strrchr(name, '#');
  rlx_op op = rlx_op_table_from_name(name, (size_t)(slash - name));
  const rlx_case_table *table = rlx_case_table_get(op);
  for (size_t i = 0; i < table->n; i++) {
    const rlx_case *c = &table->v[i];
    if (strlen(c->name) != (size_t)(second - slash - 1) || strncmp(c->name, slash + 1, strlen(c->name)) != 0) continue;
    rlx_case_built b;
    RLX_TRY(rlx_case_build(op, c, &b));
    for (size_t k = 0; k < b.n_values; k++)
      if (strlen(b.names[k]) == (size_t)(hash - second - 1) && strncmp(b.names[k], second + 1, strlen(b.names[k])) == 0)
        memcpy(t->data, b.values[k].data, t->bytes);
    rlx_case_deinit(&b);
    return RLX_OK;
  }
  return RLX_FAIL(RLX_NOT_FOUND, "leaf '%s': no such case", name);
}

static rlx_node (*const makers[])(maker *) = {
  make_case,          make_case,
  make_unary,         make_unary,
  make_unary,         make_binary,
  make_binary,        make_binary,
  make_ternary,       make_cast_or_clamp,
  make_reduce,        make_axis_op,
  make_move,          make_move,
  make_move,          make_gather,
  make_matmul,        make_matmul,
  make_residual_norm, make_gate_up,
  make_attention,     make_no_op,
  make_no_op,         make_twin,
  random_leaf,        make_spelled_activation,
  make_spelled_norm,  make_scaled_conv,
  make_conv,          make_rotated,
};

/* Most unread values become outputs (the rest is dead), and sometimes an intermediate value. */
static bool add_outputs(maker *m) {
  uint32_t end = rlx_graph_end(m->g), n = 0;
  bool *is_read = rlx_mem_calloc(end, sizeof *is_read);
  if (!is_read) return false;
  for (rlx_node id = 1; id < end; id++)
    for (uint32_t i = 0; i < rlx_graph_at(m->g, id)->n_in; i++) is_read[rlx_graph_at(m->g, id)->in[i]] = true;
  for (rlx_node id = end - 1; id > 0; id--) {
    if (n && (is_read[id] ? !chance(m, 12) : chance(m, 4))) continue;
    if (n > 1 && rlx_op_table_has(rlx_graph_at(m->g, id)->op, RLX_TRAIT_LEAF)) continue;
    char name[16];
    snprintf(name, sizeof name, "y%u", (unsigned)n++);
    rlx_graph_add_output(m->g, name, id);
  }
  rlx_mem_free(is_read);
  return true;
}

rlx_status random_graph_make(uint64_t seed, uint32_t n_nodes, random_graph *out) {
  *out = (random_graph){0};
  maker m = {.random = seed};
  RLX_TRY(rlx_graph_begin(&m.g));
  bool ok = rlx_array_push(&m.exactness, 0) && rlx_array_push(&m.depth, 0);
  for (int i = 0; i < 3; i++)
    while (ok && !random_leaf(&m)) ok = rlx_graph_status(m.g) == RLX_OK;
  for (uint32_t tries = 0; ok && rlx_graph_end(m.g) <= n_nodes && tries < 20 * n_nodes; tries++) {
    makers[below(&m, sizeof makers / sizeof *makers)](&m);
    ok = rlx_graph_status(m.g) == RLX_OK;
  }
  ok = ok && add_outputs(&m);
  rlx_status s = ok ? rlx_graph_finish(m.g) : rlx_graph_status(m.g) ? rlx_graph_status(m.g) : RLX_NO_MEMORY;
  rlx_array_deinit(&m.depth);
  if (s) {
    rlx_array_deinit(&m.exactness);
    rlx_graph_destroy(m.g);
    return s;
  }
  *out = (random_graph){m.g, m.exactness.v};
  return RLX_OK;
}

void random_graph_deinit(random_graph *r) {
  rlx_graph_destroy(r->graph);
  rlx_mem_free(r->exactness);
  *r = (random_graph){0};
}

rlx_status random_leaves(const rlx_graph *g, uint64_t seed, rlx_tensor **out) {
  rlx_tensor *leaves = rlx_mem_calloc(rlx_graph_end(g), sizeof *leaves);
  *out = leaves;
  if (!leaves) return RLX_FAIL(RLX_NO_MEMORY, "leaves");
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const char *name = rlx_node_name(g, id);
    if (!name) continue;
    RLX_TRY(rlx_tensor_create(&rlx_graph_at(g, id)->type, &leaves[id]));
    const char *slash = strchr(name, '/');
    RLX_TRY(slash ? case_leaf_value(name, slash, &leaves[id])
                  : rlx_values_fill(&leaves[id], "", 0, rlx_hash_bytes(seed, name, strlen(name))));
  }
  return RLX_OK;
}

void random_leaves_free(const rlx_graph *g, rlx_tensor *leaves) {
  for (rlx_node id = 1; leaves && id < rlx_graph_end(g); id++) rlx_tensor_deinit(&leaves[id]);
  rlx_mem_free(leaves);
}
