/* Shapes: sizes are numbers, symbols or unknown.
 *
 * A size is a number >= 0, a symbol of the graph (a name such as "B"), or unknown: a size that follows from symbols
 * (the length of a concatenation of B and S rows). In a graph with an algebra (algebra.h) it is an expression instead.
 * Symbols, expressions and unknowns are "open" and encoded as very negative numbers. In a graph with open sizes, rules
 * check what is certain and accept the rest. Binding the symbols rebuilds the graph with numbers, and then every rule
 * checks everything. */
#ifndef RLX_IR_SHAPE_H
#define RLX_IR_SHAPE_H

#include "base/status.h"

#define RLX_DIM_UNKNOWN INT64_MIN
#define RLX_DIM_OPEN_END (INT64_MIN + (1 << 20)) /* all values below are open */
static inline bool rlx_dim_is_open(int64_t d) { return d < RLX_DIM_OPEN_END; }
static inline bool rlx_dim_is_symbol(int64_t d) { return d < RLX_DIM_OPEN_END && d != RLX_DIM_UNKNOWN; }
static inline uint32_t rlx_dim_symbol(int64_t d) { return (uint32_t)(d - INT64_MIN - 1); } /* its index in the graph */
static inline int64_t rlx_dim_from_symbol(uint32_t symbol) { return INT64_MIN + 1 + (int64_t)symbol; }

/* A node's value: type and shape. */
typedef struct rlx_type {
  rlx_dtype dtype;
  rlx_dims shape;
} rlx_type;

/* A valid axis that may count from the end, converted to count from the start. */
static inline int rlx_axis_of(int64_t axis, int rank) { return (int)(axis < 0 ? axis + rank : axis); }
/* A valid perm of transpose with every axis explicit; an empty one reverses. */
static inline rlx_dims rlx_perm_of(const rlx_dims *perm, int rank) {
  rlx_dims out = {.n = rank};
  for (int i = 0; i < rank; i++) out.v[i] = perm->n ? rlx_axis_of(perm->v[i], rank) : rank - 1 - i;
  return out;
}

bool rlx_dims_equal(const rlx_dims *a, const rlx_dims *b);
static inline bool rlx_type_equal(const rlx_type *a, const rlx_type *b) {
  return a->dtype == b->dtype && rlx_dims_equal(&a->shape, &b->shape);
}
bool rlx_dims_open(const rlx_dims *d); /* whether any size is open */
/* Number of elements of a shape without open sizes. It cannot overflow: that was checked when the node was made. */
static inline size_t rlx_dims_count(const rlx_dims *d) {
  size_t n = 1;
  for (int i = 0; i < d->n; i++) n *= (size_t)d->v[i];
  return n;
}

/* "[2,$0,?]" for messages. Symbols appear by number because their graph is not available here; rlx_graph_name_symbols
 * inserts the names. The text lives in the caller's expression. */
typedef struct rlx_text_buffer {
  char v[8 * 24];
} rlx_text_buffer;
const char *rlx_dims_text(const rlx_dims *d, rlx_text_buffer *buffer);
#define RLX_DIMS_TEXT(d) rlx_dims_text(&(d), &(rlx_text_buffer){{0}})

#endif
