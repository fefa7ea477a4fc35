/* Scalar formulas of the element-wise families, as C functions.
 *
 * unary.def and binary.def hold each formula once; here they become functions for the reference, constant folding and
 * kernels. Floats of every width are computed in double and rounded when stored; integers of every width are computed
 * in 64 bits and wrap when stored. No function has undefined behaviour for any argument: integers go through uint64_t,
 * shift counts and divisors are checked.
 *
 * A formula sees one element: broadcasting, types and loops belong to the callers. */
#ifndef RLX_IR_SCALAR_H
#define RLX_IR_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- helpers of the formulas ---- */

static inline int64_t int_add(int64_t i, int64_t j) { return (int64_t)((uint64_t)i + (uint64_t)j); }
static inline int64_t int_sub(int64_t i, int64_t j) { return (int64_t)((uint64_t)i - (uint64_t)j); }
static inline int64_t int_mul(int64_t i, int64_t j) { return (int64_t)((uint64_t)i * (uint64_t)j); }

/* Division by -1 is negation: the smallest value wraps to itself instead of trapping. */
static inline int64_t int_div(int64_t i, int64_t j) { return j == 0 ? 0 : j == -1 ? int_sub(0, i) : i / j; }

static inline int64_t int_mod(int64_t i, int64_t j) {
  if (j == 0 || j == -1) return 0;
  int64_t rest = i % j;
  return rest != 0 && (rest < 0) != (j < 0) ? rest + j : rest;
}

static inline int64_t int_pow(int64_t i, int64_t j) {
  if (j < 0) return i == 1 ? 1 : i == -1 ? (j % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; j > 0; j >>= 1, i = int_mul(i, i))
    if (j & 1) result = int_mul(result, i);
  return result;
}

static inline int64_t int_shl(int64_t i, int64_t j, int bits) {
  return j < 0 || j >= bits ? 0 : (int64_t)((uint64_t)i << j);
}

/* An arithmetic shift is right for unsigned values as well, because they arrive as non-negative numbers. */
static inline int64_t int_shr(int64_t i, int64_t j, int bits) {
  if (j < 0 || j >= bits) return i < 0 ? -1 : 0;
  return i < 0 ? ~(~i >> j) : i >> j;
}

/* The remainder with the sign of b, as PyTorch: a zero keeps the sign of a. */
static inline double float_mod(double a, double b) {
  double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Unlike fmin(fmax(x, lo), hi), NaN stays NaN. */
static inline double float_clamp(double x, double lo, double hi) {
  double up = x < lo ? lo : x;
  return up > hi ? hi : up;
}

/* ---- unary: rlx_scalar_silu(x, 0, 0), rlx_scalar_abs_i(i) ---- */

#define UNARY(name, types, traits, attrs, formula, doc)                         \
  static inline double rlx_scalar_##name(double x, double alpha, double beta) { \
    (void)alpha, (void)beta;                                                    \
    return formula;                                                             \
  }
#include "ir/unary.def"
#undef UNARY

/* The unary ops that support integers: X(name, formula of i). */
#define RLX_INT_UNARY(X)            \
  X(neg, int_sub(0, i))             \
  X(abs, i < 0 ? int_sub(0, i) : i) \
  X(sign, (i > 0) - (i < 0))
#define INT_UNARY(name, formula) \
  static inline int64_t rlx_scalar_##name##_i(int64_t i) { return formula; }
RLX_INT_UNARY(INT_UNARY)
#undef INT_UNARY

/* ---- binary: rlx_scalar_add_f(a, b), rlx_scalar_shl_i(i, j, bits) where bits is the width of the type ---- */
/* ---- compare: rlx_scalar_lt_f(a, b), rlx_scalar_lt_i(i, j) ---- */

#define BINARY(name, types, traits, float_formula, int_formula, doc)            \
  static inline double rlx_scalar_##name##_f(double a, double b) {              \
    (void)a, (void)b;                                                           \
    return float_formula;                                                       \
  }                                                                             \
  static inline int64_t rlx_scalar_##name##_i(int64_t i, int64_t j, int bits) { \
    (void)i, (void)j, (void)bits;                                               \
    return int_formula;                                                         \
  }
#define COMPARE(name, operator, traits, doc)                                            \
  static inline bool rlx_scalar_##name##_f(double a, double b) { return a operator b; } \
  static inline bool rlx_scalar_##name##_i(int64_t i, int64_t j) { return i operator j; }
#include "ir/binary.def"
#undef BINARY
#undef COMPARE

#endif
