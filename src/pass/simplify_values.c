/* Arithmetic rules: identities of element-wise ops on values.
 *
 * Most rules are table rows: identity operands, absorbing operands, idempotent ops. A row must hold for all bit
 * patterns; comments give the reason where it is not obvious. */
#include <math.h>
#include <string.h>

#include "ir/element.h"
#include "ir/scalar.h"
#include "pass/simplify.h"

/* ---- identity and absorbing operands ---- */

enum { RIGHT = 1, EITHER = 2, FLOATS = 4, INTS = 8, BOOLS = 16 };

/* With an operand of this value, op returns its other operand (identities) or this operand (absorbers). */
typedef struct operand_row {
  rlx_op op;
  int where, types;
  double f;
  int64_t i; /* compared in the width of the type, so -1 means all bits for unsigned types as well */
} operand_row;

static const operand_row identities[] = {
  {RLX_OP_add, EITHER, FLOATS | INTS, -0.0, 0}, /* -0 + -0 is -0 and 0 + -0 is 0, but -0 + 0 is 0 */
  {RLX_OP_sub, RIGHT, FLOATS | INTS, 0.0, 0},   /* -0 - 0 is -0 */
  {RLX_OP_mul, EITHER, FLOATS | INTS, 1, 1},
  {RLX_OP_div, RIGHT, FLOATS | INTS, 1, 1},
  {RLX_OP_pow, RIGHT, FLOATS | INTS, 1, 1},
  {RLX_OP_max, EITHER, FLOATS, (double)-INFINITY, 0},
  {RLX_OP_min, EITHER, FLOATS, (double)INFINITY, 0},
  {RLX_OP_and, EITHER, BOOLS, 0, 1},
  {RLX_OP_or, EITHER, BOOLS, 0, 0},
  {RLX_OP_xor, EITHER, BOOLS, 0, 0},
  {RLX_OP_bit_and, EITHER, INTS, 0, -1},
  {RLX_OP_bit_or, EITHER, INTS, 0, 0},
  {RLX_OP_bit_xor, EITHER, INTS, 0, 0},
  {RLX_OP_shl, RIGHT, INTS, 0, 0},
  {RLX_OP_shr, RIGHT, INTS, 0, 0},
};

static const operand_row absorbers[] = {
  {RLX_OP_mul, EITHER, INTS, 0, 0}, /* not of floats: 0 times infinity is NaN, times -1 is -0 */
  {RLX_OP_and, EITHER, BOOLS, 0, 0},    {RLX_OP_or, EITHER, BOOLS, 0, 1},
  {RLX_OP_bit_and, EITHER, INTS, 0, 0}, {RLX_OP_bit_or, EITHER, INTS, 0, -1},
};

static bool is_value(const operand_row *row, rlx_dtype dtype, const rlx_splat *x) {
  if (x->is_float) return (row->types & FLOATS) && x->f == row->f && signbit(x->f) == signbit(row->f);
  if (dtype == RLX_BOOL) return (row->types & BOOLS) && x->i == row->i;
  uint64_t width = rlx_dtype_size(dtype) * 8, mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
  return (row->types & INTS) && (((uint64_t)x->i ^ (uint64_t)row->i) & mask) == 0;
}

/* The input of d that matches a row of the table; 2 if none does. */
static uint32_t find_operand(const rlx_simplifier *s, const rlx_draft *d, const operand_row *rows, size_t n) {
  for (size_t r = 0; r < n; r++) {
    if (rows[r].op != d->op) continue;
    rlx_splat x;
    for (uint32_t i = rows[r].where == EITHER ? 0 : 1; i < 2; i++)
      if (rlx_simplify_splat(s, d->in[i], &x) && is_value(&rows[r], rlx_draft_in(s, d, i)->type.dtype, &x)) return i;
  }
  return 2;
}

static rlx_rule_result drop_identity(rlx_simplifier *s, rlx_draft *d) {
  uint32_t i = find_operand(s, d, identities, sizeof identities / sizeof *identities);
  return i < 2 ? rlx_draft_becomes_input(s, d, 1 - i) : RLX_RULE_NO;
}

static rlx_rule_result take_absorber(rlx_simplifier *s, rlx_draft *d) {
  uint32_t i = find_operand(s, d, absorbers, sizeof absorbers / sizeof *absorbers);
  return i < 2 ? rlx_draft_becomes_input(s, d, i) : RLX_RULE_NO;
}

/* max(x, x) and the like are x. */
static rlx_rule_result drop_same_operands(rlx_simplifier *s, rlx_draft *d) {
  return d->in[0] == d->in[1] ? rlx_draft_becomes_input(s, d, 0) : RLX_RULE_NO;
}

/* ---- signs ---- */

/* a + -b is a - b, a - -b is a + b. */
static rlx_rule_result drop_neg_operand(rlx_simplifier *s, rlx_draft *d) {
  for (uint32_t i = d->op == RLX_OP_add ? 0 : 1; i < 2; i++) {
    const rlx_node_rec *x = rlx_draft_in(s, d, i);
    if (x->op != RLX_OP_neg) continue;
    rlx_node positive = x->in[0], other = d->in[1 - i];
    d->op = d->op == RLX_OP_add ? RLX_OP_sub : RLX_OP_add;
    d->in[0] = other;
    d->in[1] = positive;
    return RLX_RULE_CHANGED;
  }
  return RLX_RULE_NO;
}

static rlx_rule_result drop_twice(rlx_simplifier *s, rlx_draft *d) { /* neg, not */
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  return x->op == d->op ? rlx_draft_done(d, x->in[0]) : RLX_RULE_NO;
}

/* ---- idempotent ops ---- */

static rlx_rule_result drop_again(rlx_simplifier *s, rlx_draft *d) { /* abs, relu, sign: op(op(x)) is op(x) */
  return rlx_draft_in(s, d, 0)->op == d->op ? rlx_draft_done(d, d->in[0]) : RLX_RULE_NO;
}

static rlx_rule_result drop_abs_of_neg(rlx_simplifier *s, rlx_draft *d) { /* unsigned: -x wraps and abs does nothing */
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  if (x->op != RLX_OP_neg || rlx_dtype_is_unsigned(d->type.dtype)) return RLX_RULE_NO;
  d->in[0] = x->in[0];
  return RLX_RULE_CHANGED;
}

static rlx_rule_result drop_rounding(rlx_simplifier *s, rlx_draft *d) { /* of values that are integers already */
  rlx_op x = rlx_draft_in(s, d, 0)->op;
  return x == RLX_OP_floor || x == RLX_OP_ceil || x == RLX_OP_round ? rlx_draft_done(d, d->in[0]) : RLX_RULE_NO;
}

/* ---- clamp ---- */

/* The bounds as the kernel uses them: for integers rounded inward. */
static rlx_attrs_clamp bounds_of(const rlx_attrs_clamp *a, rlx_dtype dtype) {
  return rlx_dtype_is_float(dtype) ? *a : (rlx_attrs_clamp){ceil(a->lo), floor(a->hi)};
}

static rlx_rule_result drop_clamp(rlx_simplifier *s, rlx_draft *d) {
  (void)s;
  const rlx_attrs_clamp *a = &d->attrs.clamp_;
  return isinf(a->lo) && a->lo < 0 && isinf(a->hi) && a->hi > 0 ? rlx_draft_done(d, d->in[0]) : RLX_RULE_NO;
}

/* Two non-empty ranges that overlap: clamps to their intersection. If bounds are equal (0 and -0 are), the inner one
 * determines the element, so it is kept. */
static rlx_rule_result join_clamps(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  if (x->op != RLX_OP_clamp) return RLX_RULE_NO;
  rlx_attrs_clamp inner = bounds_of(RLX_ATTRS(clamp, x), d->type.dtype),
                  outer = bounds_of(&d->attrs.clamp_, d->type.dtype);
  rlx_attrs_clamp both = {outer.lo > inner.lo ? outer.lo : inner.lo, outer.hi < inner.hi ? outer.hi : inner.hi};
  if (!(inner.lo <= inner.hi && outer.lo <= outer.hi && both.lo <= both.hi)) return RLX_RULE_NO;
  return rlx_draft_becomes_unary(d, RLX_OP_clamp, x->in[0], &both);
}

/* ---- where ---- */

static rlx_rule_result drop_where(rlx_simplifier *s, rlx_draft *d) {
  rlx_splat c;
  if (d->in[1] == d->in[2]) return rlx_draft_becomes_input(s, d, 1);
  if (rlx_simplify_splat(s, d->in[0], &c)) return rlx_draft_becomes_input(s, d, c.i ? 1 : 2);
  return RLX_RULE_NO;
}

/* ---- cast ---- */

/* Whether every value of a is a value of b. */
static bool is_lossless(rlx_dtype a, rlx_dtype b) {
  if (rlx_dtype_is_block(a)) return b == RLX_F32; /* the type that decoding yields */
  if (a == RLX_C64 || b == RLX_C64) return a == b;
  const rlx_type_row *x = rlx_type_get(a), *y = rlx_type_get(b);
  return x->digits <= y->digits && x->exponent <= y->exponent && x->is_signed <= y->is_signed;
}

static rlx_rule_result drop_cast(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  if (x->type.dtype == d->type.dtype) return rlx_draft_done(d, d->in[0]);
  if (x->op != RLX_OP_cast) return RLX_RULE_NO;
  rlx_dtype from = rlx_graph_at(s->to, x->in[0])->type.dtype;
  if (!is_lossless(from, x->type.dtype) || (rlx_dtype_is_block(from) && !rlx_dtype_is_float(d->type.dtype)))
    return RLX_RULE_NO;
  d->in[0] = x->in[0];
  return RLX_RULE_CHANGED;
}

/* ---- chains of constants: (x + c) + d, (x * c) * d ---- */

/* A constant of one element that does not change the shape of the other operand. */
static bool scalar_operand(const rlx_simplifier *s, const rlx_node *in, const rlx_dims *shape, uint32_t *at,
                           rlx_splat *value) {
  for (*at = 0; *at < 2; (*at)++) {
    const rlx_node_rec *c = rlx_graph_at(s->to, in[*at]);
    if (rlx_dims_count(&c->type.shape) == 1 && rlx_simplify_splat(s, in[*at], value) &&
        rlx_dims_equal(&rlx_graph_at(s->to, in[1 - *at])->type.shape, shape))
      return true;
  }
  return false;
}

/* Multiplying by powers of two from 1 upwards is exact until it overflows, and then stays infinite. Fractions are not:
 * they may round twice in the subnormal range. */
static bool is_growing_power(double f) {
  int exponent;
  return isfinite(f) && fabs(f) >= 1 && fabs(frexp(f, &exponent)) == 0.5;
}

static rlx_rule_result join_constants(rlx_simplifier *s, rlx_draft *d) {
  uint32_t outer_at, inner_at;
  rlx_splat outer, inner;
  if (!scalar_operand(s, d->in, &d->type.shape, &outer_at, &outer)) return RLX_RULE_NO;
  const rlx_node_rec *x = rlx_draft_in(s, d, 1 - outer_at);
  if (x->op != d->op || !scalar_operand(s, x->in, &x->type.shape, &inner_at, &inner)) return RLX_RULE_NO;
  rlx_dtype dtype = d->type.dtype;
  uint64_t storage = 0;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  if (!outer.is_float) {
    rlx_store_int(&one, 0, d->op == RLX_OP_add ? int_add(inner.i, outer.i) : int_mul(inner.i, outer.i));
  } else {
    if (d->op != RLX_OP_mul || !is_growing_power(inner.f) || !is_growing_power(outer.f)) return RLX_RULE_NO;
    rlx_store(&one, 0, inner.f * outer.f);
    if (rlx_load(&one, 0) != inner.f * outer.f || isinf(rlx_load(&one, 0))) return RLX_RULE_NO;
  }
  rlx_blob *blob = rlx_blob_create(rlx_dtype_size(dtype));
  rlx_node source = x->in[1 - inner_at]; /* appending a node may move x in memory */
  if (blob) memcpy(blob->data, &storage, blob->bytes);
  else rlx_graph_set_error(s->to, RLX_FAIL(RLX_NO_MEMORY, "a constant"));
  rlx_attrs_constant attrs = {.data = blob, .dtype = dtype, .shape = *rlx_draft_shape(s, d, outer_at)};
  rlx_node joined = rlx_simplify_add(s, RLX_OP_constant, NULL, 0, &attrs);
  rlx_blob_release(blob);
  if (!joined) return RLX_RULE_FAILED;
  d->in[0] = source;
  d->in[1] = joined;
  return RLX_RULE_CHANGED;
}

/* ---- the rules of each op ---- */

static const struct {
  rlx_op op;
  rlx_rule rule;
} rules[] = {
  {RLX_OP_add, drop_identity},
  {RLX_OP_add, drop_neg_operand},
  {RLX_OP_add, join_constants},
  {RLX_OP_sub, drop_identity},
  {RLX_OP_sub, drop_neg_operand},
  {RLX_OP_mul, drop_identity},
  {RLX_OP_mul, take_absorber},
  {RLX_OP_mul, join_constants},
  {RLX_OP_div, drop_identity},
  {RLX_OP_pow, drop_identity},
  {RLX_OP_max, drop_same_operands},
  {RLX_OP_max, drop_identity},
  {RLX_OP_min, drop_same_operands},
  {RLX_OP_min, drop_identity},
  {RLX_OP_and, drop_same_operands},
  {RLX_OP_and, drop_identity},
  {RLX_OP_and, take_absorber},
  {RLX_OP_or, drop_same_operands},
  {RLX_OP_or, drop_identity},
  {RLX_OP_or, take_absorber},
  {RLX_OP_xor, drop_identity},
  {RLX_OP_bit_and, drop_identity},
  {RLX_OP_bit_and, drop_same_operands},
  {RLX_OP_bit_and, take_absorber},
  {RLX_OP_bit_or, drop_identity},
  {RLX_OP_bit_or, drop_same_operands},
  {RLX_OP_bit_or, take_absorber},
  {RLX_OP_bit_xor, drop_identity},
  {RLX_OP_shl, drop_identity},
  {RLX_OP_shr, drop_identity},
  {RLX_OP_neg, drop_twice},
  {RLX_OP_not, drop_twice},
  {RLX_OP_abs, drop_again},
  {RLX_OP_abs, drop_abs_of_neg},
  {RLX_OP_relu, drop_again},
  {RLX_OP_sign, drop_again},
  {RLX_OP_floor, drop_rounding},
  {RLX_OP_ceil, drop_rounding},
  {RLX_OP_round, drop_rounding},
  {RLX_OP_clamp, drop_clamp},
  {RLX_OP_clamp, join_clamps},
  {RLX_OP_where, drop_where},
  {RLX_OP_cast, drop_cast},
};

rlx_rule_result rlx_simplify_value(rlx_simplifier *s, rlx_draft *d) {
  if (!rlx_op_table_has(d->op, RLX_TRAIT_POINTWISE)) return RLX_RULE_NO;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (rules[i].op != d->op) continue;
    rlx_rule_result r = rules[i].rule(s, d);
    if (r != RLX_RULE_NO) return r;
  }
  return RLX_RULE_NO;
}
