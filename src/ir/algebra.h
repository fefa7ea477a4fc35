/* Arithmetic on symbolic sizes: sums, products and quotients of symbols, and the decisions that were taken on them.
 *
 * A graph may be given an algebra. A size that follows from symbols is then an expression (a size code like a symbol's,
 * with a number from RLX_FIRST_EXPRESSION on) instead of RLX_DIM_UNKNOWN. Equal expressions have equal codes: an
 * expression is kept as a polynomial with integer coefficients, whose atoms are symbols and floor quotients.
 *
 * Every symbol has a sample value. A comparison of open sizes returns what holds for the samples and records that as a
 * guard. Binding evaluates all guards first: other sizes for which one does not hold need another graph. So code that
 * builds a graph may branch on sizes, and what it built is valid for all sizes that take the same branches.
 *
 * A graph with an algebra is an unfinished or finished template inside the library: it is bound, never compiled. */
#ifndef RLX_IR_ALGEBRA_H
#define RLX_IR_ALGEBRA_H

#include "base/str.h"
#include "ir/graph.h"

#define RLX_FIRST_EXPRESSION 4096u /* symbol numbers below are symbols of the graph */

rlx_status rlx_graph_use_algebra(rlx_graph *g);
void rlx_algebra_destroy(rlx_algebra *a);
/* A symbol with its sample value; RLX_DIM_UNKNOWN (sticky error) on failure. */
int64_t rlx_graph_add_sample(rlx_graph *g, const char *name, int64_t sample);
/* Whether an open size is a symbol or an expression of this graph. */
bool rlx_graph_has_size(const rlx_graph *g, int64_t size);

/* The result as a number or a size code; RLX_DIM_UNKNOWN if it overflows, if an operand is unknown, or if one is open
 * and the graph has no algebra. The quotient is rounded down; it records the guard that b is positive. */
int64_t rlx_size_add(const rlx_graph *g, int64_t a, int64_t b);
int64_t rlx_size_sub(const rlx_graph *g, int64_t a, int64_t b);
int64_t rlx_size_mul(const rlx_graph *g, int64_t a, int64_t b);
int64_t rlx_size_div(const rlx_graph *g, int64_t a, int64_t b);

/* *holds: whether a < b, or a == b, for numbers or for the samples, and with them for every size that may be bound.
 * False: it cannot be decided. */
bool rlx_size_less(const rlx_graph *g, int64_t a, int64_t b, bool *holds);
bool rlx_size_equal(const rlx_graph *g, int64_t a, int64_t b, bool *holds);

/* A constant of i64 elements that are numbers or sizes of this graph. */
rlx_node rlx_graph_add_sizes(rlx_graph *g, rlx_dims shape, const int64_t *v, size_t n);
bool rlx_graph_holds_sizes(const rlx_graph *g, rlx_node n); /* whether it is such a constant */

/* Expressions for given sizes of the symbols. RLX_INVALID: a guard does not hold, or a number overflows. NULL: none. */
rlx_status rlx_algebra_evaluate(const rlx_graph *g, const int64_t *sizes, int64_t **values);
/* A size for given sizes of symbols and values of expressions. */
static inline int64_t rlx_size_value(int64_t d, const int64_t *sizes, const int64_t *values) {
  if (!rlx_dim_is_symbol(d)) return d;
  uint32_t symbol = rlx_dim_symbol(d);
  return symbol < RLX_FIRST_EXPRESSION ? sizes[symbol] : values[symbol - RLX_FIRST_EXPRESSION];
}

size_t rlx_algebra_guard_count(const rlx_graph *g);
void rlx_algebra_text(const rlx_graph *g, int64_t size, rlx_str *out); /* "2*N*M + N/4 + 1"; a quotient: "[N + 1]/2" */

#endif
