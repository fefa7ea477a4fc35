/* The table from op to its conformance cases, generated from the op table; a missing case table fails to link. */
#include "conform/conform.h"

#define OP(name, types, inputs, result, shape, attrs, traits, doc) extern const rlx_case_table rlx_cases_##name;
#include "ir/ops.def"
#undef OP

static const rlx_case_table *const tables[RLX_OP_COUNT] = {
  NULL,
#define OP(name, types, inputs, result, shape, attrs, traits, doc) &rlx_cases_##name,
#include "ir/ops.def"
#undef OP
};

const rlx_case_table *rlx_case_table_get(rlx_op op) { return (unsigned)op < RLX_OP_COUNT ? tables[op] : NULL; }
