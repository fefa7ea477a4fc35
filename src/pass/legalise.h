/* Legalisation: rewrites ops that the target lacks into ops that it has. */
#ifndef RLX_PASS_LEGALISE_H
#define RLX_PASS_LEGALISE_H

#include "pass/pass.h"

/* Returns the rewrite of an op, NULL for a primitive: rlx_rewrite_get, or a test's own function. */
typedef rlx_rewrite_fn (*rlx_rewrite_table)(rlx_op op);
rlx_status rlx_legalise_with(const rlx_graph *in, rlx_pass_context *ctx, rlx_rewrite_table rewrites, rlx_graph *out);

#endif
