/* Idioms of activations: gelu in both forms, silu, sigmoid, mish, hard_swish and relu.
 *
 * Most of them are a product of x, a gate that reads x, and constants in any order: x * 0.5 * (1 + erf(x / sqrt(2))) is
 * written in every possible order. So the product is first decomposed into one constant and its factors, and the gate
 * is recognised by its outermost op. The gate's argument is read as a polynomial of x, whose coefficients do not depend
 * on the spelling either.
 *
 * Not recognised: log(1 + e^x) alone, which overflows where softplus does not (inside a tanh that makes no difference,
 * so mish is recognised); x * sigmoid(1.702 x), which has no op. */
#include <math.h>

#include "pass/idiom.h"

/* ---- polynomials ---- */

/* Coefficients by power of x. */
typedef struct cubic {
  double c[4];
} cubic;

static bool multiply(const cubic *a, const cubic *b, cubic *out) {
  cubic y = {{0}};
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) {
      if (i + k < 4) y.c[i + k] += a->c[i] * b->c[k];
      else if (a->c[i] != 0 && b->c[k] != 0) return false;
    }
  *out = y;
  return true;
}

static bool read_cubic(const rlx_idiom *p, rlx_node id, rlx_node x, int depth, cubic *out);

/* The polynomial of a node that is not x itself. */
static bool read_cubic_node(const rlx_idiom *p, const rlx_node_rec *n, rlx_node x, int depth, cubic *out) {
  cubic a, b = {{0}};
  double power;
  if (!read_cubic(p, n->in[0], x, depth - 1, &a)) return false;
  if (n->op == RLX_OP_pow) {
    if (!rlx_idiom_number(p, n->in[1], &power) || (power != 2 && power != 3)) return false;
    if (!multiply(&a, &a, &b)) return false;
    if (power == 3) return multiply(&a, &b, out);
    *out = b;
    return true;
  }
  if (n->op != RLX_OP_neg && !read_cubic(p, n->in[1], x, depth - 1, &b)) return false;
  if (n->op == RLX_OP_mul) return multiply(&a, &b, out);
  if (n->op == RLX_OP_div && (b.c[0] == 0 || b.c[1] != 0 || b.c[2] != 0 || b.c[3] != 0)) return false;
  for (int i = 0; i < 4; i++)
    out->c[i] = n->op == RLX_OP_neg   ? -a.c[i]
                : n->op == RLX_OP_add ? a.c[i] + b.c[i]
                : n->op == RLX_OP_sub ? a.c[i] - b.c[i]
                                      : a.c[i] / b.c[0];
  return true;
}

/* A value that only the idiom reads, as a polynomial of x. */
static bool read_cubic(const rlx_idiom *p, rlx_node id, rlx_node x, int depth, cubic *out) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  *out = (cubic){{0}};
  if (id == x) {
    out->c[1] = 1;
    return true;
  }
  if (rlx_idiom_number(p, id, &out->c[0])) return true;
  if (depth == 0 || p->uses.v[id] != 1 || !rlx_dims_equal(&n->type.shape, rlx_idiom_shape(p, x))) return false;
  switch (n->op) {
    case RLX_OP_neg:
    case RLX_OP_add:
    case RLX_OP_sub:
    case RLX_OP_mul:
    case RLX_OP_div:
    case RLX_OP_pow: return read_cubic_node(p, n, x, depth, out);
    default: return false;
  }
}

enum { MAX_DEPTH = 6 };

/* Whether a value is c1 x + c3 x^3. */
static bool is_odd_cubic(const rlx_idiom *p, rlx_node id, rlx_node x, double c1, double c3) {
  cubic y;
  rlx_dtype dtype = rlx_idiom_at(p, x)->type.dtype;
  return read_cubic(p, id, x, MAX_DEPTH, &y) && y.c[0] == 0 && y.c[2] == 0 && rlx_idiom_is_near(dtype, y.c[1], c1) &&
         (rlx_idiom_is_near(dtype, y.c[3], c3) || rlx_idiom_is_near(dtype, y.c[3] / y.c[1], c3 / c1));
}

/* ---- products ---- */

/* number * factor * factor */
typedef struct product {
  double number;
  uint32_t n;
  rlx_node factor[2];
} product;

static bool read_factors(const rlx_idiom *p, const rlx_node_rec *n, int depth, product *out);

static bool read_factor(const rlx_idiom *p, rlx_node id, const rlx_dims *shape, int depth, product *out) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  double c;
  if (rlx_idiom_number(p, id, &c)) {
    out->number *= c;
    return true;
  }
  bool parts = n->op == RLX_OP_mul || (n->op == RLX_OP_div && rlx_idiom_number(p, n->in[1], &c));
  if (parts && depth > 0 && p->uses.v[id] == 1 && rlx_dims_equal(&n->type.shape, shape))
    return read_factors(p, n, depth - 1, out);
  if (out->n == 2) return false;
  out->factor[out->n++] = id;
  return true;
}

static bool read_factors(const rlx_idiom *p, const rlx_node_rec *n, int depth, product *out) {
  double c;
  if (n->op == RLX_OP_mul && !read_factor(p, n->in[1], &n->type.shape, depth, out)) return false;
  if (n->op == RLX_OP_div) {
    if (!rlx_idiom_number(p, n->in[1], &c)) return false;
    out->number /= c;
  }
  return read_factor(p, n->in[0], &n->type.shape, depth, out);
}

/* ---- gates: the op that x * gate(x) * number is; RLX_OP_INVALID if none ---- */

/* 1 + erf(x / sqrt(2)), or 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)); the numbers may be 0.5 and 0.5 instead. */
static rlx_op gate_of_sum(const rlx_idiom *p, rlx_node x, const rlx_node_rec *sum, double number) {
  double one;
  rlx_node curve;
  if (!rlx_idiom_operand(p, sum, &one, &curve)) return RLX_OP_INVALID;
  product f = {.number = 1};
  if (!read_factor(p, curve, &sum->type.shape, 2, &f) || f.n != 1) return RLX_OP_INVALID;
  if (one * number != 0.5 || f.number * number != 0.5 || p->uses.v[f.factor[0]] != 1) return RLX_OP_INVALID;
  const rlx_node_rec *n = rlx_idiom_at(p, f.factor[0]);
  const double c = 0.79788456080286535588;
  if (n->op == RLX_OP_erf && is_odd_cubic(p, n->in[0], x, 0.70710678118654752440, 0)) return RLX_OP_gelu;
  if (n->op == RLX_OP_tanh && is_odd_cubic(p, n->in[0], x, c, c * 0.044715)) return RLX_OP_gelu_approx;
  return RLX_OP_INVALID;
}

/* log(1 + e^x) */
static bool is_softplus(const rlx_idiom *p, rlx_node x, rlx_node id) {
  const rlx_node_rec *n = rlx_idiom_inner(p, id, RLX_OP_softplus, 1);
  if (n) return n->in[0] == x;
  n = rlx_idiom_inner(p, id, RLX_OP_log, 1);
  const rlx_node_rec *sum = n ? rlx_idiom_inner(p, n->in[0], RLX_OP_add, 1) : NULL;
  double one;
  rlx_node power;
  if (!sum || !rlx_idiom_operand(p, sum, &one, &power) || one != 1) return false;
  n = rlx_idiom_inner(p, power, RLX_OP_exp, 1);
  return n && n->in[0] == x;
}

/* The bounds that clamp, relu, min or max put on a value; returns the bounded value. */
static rlx_node read_bounds(const rlx_idiom *p, rlx_node id, double *lo, double *hi) {
  *lo = -RLX_INFINITY;
  *hi = RLX_INFINITY;
  for (int depth = 0; depth < 2 && p->uses.v[id] == 1; depth++) {
    const rlx_node_rec *n = rlx_idiom_at(p, id);
    rlx_node inner = n->n_in ? n->in[0] : RLX_NONE;
    double c;
    if (n->op == RLX_OP_clamp) {
      *lo = fmax(*lo, RLX_ATTRS(clamp, n)->lo);
      *hi = fmin(*hi, RLX_ATTRS(clamp, n)->hi);
    } else if (n->op == RLX_OP_relu) *lo = fmax(*lo, 0);
    else if (n->op == RLX_OP_max && rlx_idiom_operand(p, n, &c, &inner)) *lo = fmax(*lo, c);
    else if (n->op == RLX_OP_min && rlx_idiom_operand(p, n, &c, &inner)) *hi = fmin(*hi, c);
    else break;
    id = inner;
  }
  return id;
}

/* clamp(x / 6 + 0.5, 0, 1), or a multiple of it that `number` compensates. */
static bool is_hard_gate(const rlx_idiom *p, rlx_node x, rlx_node id, double number) {
  const rlx_node_rec *n = rlx_idiom_inner(p, id, RLX_OP_hard_sigmoid, 1);
  rlx_dtype dtype = rlx_idiom_at(p, x)->type.dtype;
  cubic line = {{0}};
  double lo = 0, hi = 1;
  if (n && n->in[0] == x) {
    line = (cubic){{RLX_ATTRS(hard_sigmoid, n)->beta, RLX_ATTRS(hard_sigmoid, n)->alpha}};
  } else {
    rlx_node bounded = read_bounds(p, id, &lo, &hi);
    if (bounded == id || !read_cubic(p, bounded, x, MAX_DEPTH, &line)) return false;
  }
  return lo == 0 && line.c[2] == 0 && line.c[3] == 0 && rlx_idiom_is_near(dtype, hi * number, 1) &&
         rlx_idiom_is_near(dtype, line.c[0] * number, 0.5) && rlx_idiom_is_near(dtype, line.c[1] * number, 1.0 / 6);
}

static rlx_op read_gate(const rlx_idiom *p, rlx_node x, rlx_node gate, double number) {
  const rlx_node_rec *n = rlx_idiom_at(p, gate);
  if (p->uses.v[gate] != 1) return RLX_OP_INVALID;
  if (n->op == RLX_OP_add) return gate_of_sum(p, x, n, number);
  if (n->op == RLX_OP_sigmoid) return number == 1 && n->in[0] == x ? RLX_OP_silu : RLX_OP_INVALID;
  if (n->op == RLX_OP_tanh) return number == 1 && is_softplus(p, x, n->in[0]) ? RLX_OP_mish : RLX_OP_INVALID;
  return is_hard_gate(p, x, gate, number) ? RLX_OP_hard_swish : RLX_OP_INVALID;
}

rlx_node rlx_idiom_product(rlx_idiom *p, const rlx_node_rec *n) {
  product f = {.number = 1};
  if (!rlx_dtype_is_float(n->type.dtype) || !read_factors(p, n, 3, &f) || f.n != 2) return RLX_NONE;
  for (int side = 0; side < 2; side++) {
    rlx_node x = f.factor[side], gate = f.factor[1 - side];
    if (!rlx_dims_equal(rlx_idiom_shape(p, x), &n->type.shape)) continue;
    rlx_op op = read_gate(p, x, gate, f.number);
    if (op != RLX_OP_INVALID) return rlx_graph_add(p->to, op, &x, 1, NULL);
  }
  return RLX_NONE;
}

/* ---- the others ---- */

/* x of -x, which may be written as x * -1. */
static rlx_node read_negated(const rlx_idiom *p, rlx_node id) {
  const rlx_node_rec *n = rlx_idiom_inner(p, id, RLX_OP_neg, 1);
  if (n) return n->in[0];
  double c;
  rlx_node x;
  n = rlx_idiom_inner(p, id, RLX_OP_mul, 1);
  return n && rlx_idiom_operand(p, n, &c, &x) && c == -1 ? x : RLX_NONE;
}

/* 1 / (1 + e^-x), and x / (1 + e^-x), which is silu. */
rlx_node rlx_idiom_sigmoid(rlx_idiom *p, const rlx_node_rec *n) {
  double above = 1, one;
  rlx_node power;
  const rlx_node_rec *sum = rlx_idiom_inner(p, n->in[n->n_in - 1], RLX_OP_add, 1);
  if (!sum || !rlx_idiom_operand(p, sum, &one, &power) || one != 1) return RLX_NONE;
  const rlx_node_rec *e = rlx_idiom_inner(p, power, RLX_OP_exp, 1);
  rlx_node x = e ? read_negated(p, e->in[0]) : RLX_NONE;
  if (!x || !rlx_dims_equal(rlx_idiom_shape(p, x), &n->type.shape)) return RLX_NONE;
  if (n->op == RLX_OP_div && n->in[0] == x) return rlx_op_silu(p->to, x);
  if (n->op == RLX_OP_div && (!rlx_idiom_number(p, n->in[0], &above) || above != 1)) return RLX_NONE;
  return rlx_op_sigmoid(p->to, x);
}

/* max(x, 0), and a clamp at 0 alone. */
rlx_node rlx_idiom_relu(rlx_idiom *p, const rlx_node_rec *n) {
  double zero = 1;
  rlx_node x = n->in[0];
  if (!rlx_dtype_is_float(n->type.dtype)) return RLX_NONE;
  if (n->op == RLX_OP_clamp) zero = RLX_ATTRS(clamp, n)->hi == RLX_INFINITY ? RLX_ATTRS(clamp, n)->lo : 1;
  else if (!rlx_idiom_operand(p, n, &zero, &x)) return RLX_NONE;
  return zero == 0 && !signbit(zero) ? rlx_op_relu(p->to, x) : RLX_NONE;
}
