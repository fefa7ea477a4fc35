/* A cache of claims: each distinct node is queried once per compilation.
 *
 * A claim depends on the node's op and attributes, on the types of its inputs and its result, on which inputs are the
 * same value, on the layouts of its weights and on the switches of the compilation; it does not depend on the node's
 * position in the graph. So equal nodes share one claim: a decoder of 28 layers needs about as many claims as one
 * layer. Fuse and legalise, the layouts, the plan and the program, which runs the lowering in the claim, all use the
 * cached result.
 *
 * A table belongs to one compilation. One thread fills it; afterwards its claims do not change, and they live as long
 * as it. */
#ifndef RLX_DEVICE_CLAIMS_H
#define RLX_DEVICE_CLAIMS_H

#include "device/backend.h"

typedef struct rlx_claims rlx_claims;

rlx_status rlx_claims_create(rlx_device *d, uint32_t switches, rlx_claims **out);
void rlx_claims_destroy(rlx_claims *c); /* NULL is fine */

/* `layout`, by node: the layouts of weights; NULL: not decided. */
rlx_status rlx_claims_get(rlx_claims *c, const rlx_graph *g, rlx_node n, const uint32_t *layout, const rlx_claim **out);
size_t rlx_claims_count(const rlx_claims *c); /* number of queries to the device */

/* Checks that the step's node is claimed as native and that the step has the work memory the claim requires. */
rlx_status rlx_claim_check(const rlx_bound_step *b);

/* Frees what a claim of this device owns; a zeroed one is fine. */
void rlx_claim_deinit(const rlx_device *d, rlx_claim *claim);

#endif
