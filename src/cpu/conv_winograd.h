/* Winograd's way for convolutions of 3x3 and stride 1. conv.c hands over what fits and pays. */
#ifndef RLX_CPU_CONV_WINOGRAD_H
#define RLX_CPU_CONV_WINOGRAD_H

#include "cpu/conv.h"

/* Whether the node can go this way, and is faster so than directly. */
bool cpu_winograd_pays(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa);

/* The packed weight: one line that says whether it may be used, matrices [O/16][36][C][16], and the weight as the direct way
 * reads it, at this offset. */
size_t cpu_winograd_direct_at(const rlx_dims *w); /* in floats */
void cpu_winograd_pack(const rlx_dims *w, const float *src, float *dst, rlx_pool *pool);

typedef struct cpu_winograd cpu_winograd;
uint64_t cpu_winograd_work(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa);
rlx_status cpu_winograd_prepare(const cpu_call *c, rlx_bump *memory, const cpu_winograd **out);
/* False: there are numbers in the weight or the input that the transforms cannot take; nothing of worth is written. */
bool cpu_winograd_run(const cpu_call *c, const cpu_winograd *v);

#endif
