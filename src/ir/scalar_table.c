/* The formulas of unary.def and binary.def as a table by op. */
#include "ir/scalar_table.h"

#include "ir/scalar.h"

static const rlx_scalar_row scalars[RLX_OP_COUNT] = {
#define UNARY(name, types, traits, attrs, formula, doc) [RLX_OP_##name].unary = rlx_scalar_##name,
#include "ir/unary.def"
#undef UNARY
#define INT_UNARY(name, formula) [RLX_OP_##name].int_unary = rlx_scalar_##name##_i,
  RLX_INT_UNARY(INT_UNARY)
#undef INT_UNARY
#define BINARY(name, types, traits, float_formula, int_formula, doc) \
  [RLX_OP_##name].binary = rlx_scalar_##name##_f, [RLX_OP_##name].int_binary = rlx_scalar_##name##_i,
#define COMPARE(name, operator, traits, doc) \
  [RLX_OP_##name].compare = rlx_scalar_##name##_f, [RLX_OP_##name].int_compare = rlx_scalar_##name##_i,
#include "ir/binary.def"
#undef BINARY
#undef COMPARE
};

const rlx_scalar_row *rlx_scalar_get(rlx_op op) { return &scalars[(unsigned)op < RLX_OP_COUNT ? op : RLX_OP_INVALID]; }
