/* The table from op to reference kernel, generated from the op table; a missing kernel fails to link. */
#include "ref/ref.h"

static const rlx_ref_fn kernels[RLX_OP_COUNT] = {
  NULL,
#define OP(name, types, inputs, result, shape, attrs, traits, doc) rlx_ref_##name,
#include "ir/ops.def"
#undef OP
};

rlx_ref_fn rlx_ref_get(rlx_op op) { return (unsigned)op < RLX_OP_COUNT ? kernels[op] : NULL; }
