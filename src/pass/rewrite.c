/* The table of rewrites by composite op, generated from rewrites.def: a missing rewrite is a link error. */
#include "pass/pass.h"

#define REWRITE(op) rlx_node rlx_rewrite_##op(rlx_rewrite *r);
#include "pass/rewrites.def"
#undef REWRITE

static const rlx_rewrite_fn rewrites[RLX_OP_COUNT] = {
#define REWRITE(op) [RLX_OP_##op] = rlx_rewrite_##op,
#include "pass/rewrites.def"
#undef REWRITE
};

rlx_rewrite_fn rlx_rewrite_get(rlx_op op) { return (unsigned)op < RLX_OP_COUNT ? rewrites[op] : NULL; }
