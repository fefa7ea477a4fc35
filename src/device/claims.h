/* Claims: what a device says of a node, asked once and kept.
 *
 * A claim depends on the node's op and attributes, on the types of its inputs and its result, on which inputs are one value, on the
 * layouts of its weights and on the switches of the compilation: not on where the node stands. So equal nodes share one claim (a
 * decoder of 28 layers is asked for about one), and whoever needs to know something of a node finds what was found before: fuse
 * and legalise, the layouts, the plan, and the program, which runs the lowering that the claim holds.
 *
 * A table belongs to one compilation. It is filled by one thread; afterwards its claims do not change and live as long as it. */
#ifndef RLX_DEVICE_CLAIMS_H
#define RLX_DEVICE_CLAIMS_H

#include "device/backend.h"

typedef struct rlx_claims rlx_claims;

rlx_status rlx_claims_create(rlx_device *d, uint32_t switches, rlx_claims **out);
void rlx_claims_destroy(rlx_claims *c); /* NULL is fine */

/* `layout` is by node: how weights lie; NULL: not decided. */
rlx_status rlx_claims_get(rlx_claims *c, const rlx_graph *g, rlx_node n, const uint32_t *layout, const rlx_claim **out);
size_t rlx_claims_count(const rlx_claims *c); /* how often the device was asked */

/* Whether a step of a program was claimed and has the work memory that was. */
rlx_status rlx_claim_check(const rlx_bound_step *b);

/* Frees what a claim of this device holds; a zeroed one is fine. */
void rlx_claim_deinit(const rlx_device *d, rlx_claim *claim);

#endif
