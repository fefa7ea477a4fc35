/* Winograd convolution for 3x3 kernels of stride 1. conv.c calls it for the nodes where it is faster. */
#ifndef RLX_CPU_CONV_WINOGRAD_H
#define RLX_CPU_CONV_WINOGRAD_H

#include "cpu/conv.h"

/* Whether the node can use Winograd and is then faster than directly. */
bool cpu_winograd_is_faster(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa);

/* The packed weight: one cache line with a flag whether the transform may be used, then the matrices [O/16][36][C][16],
 * then the weight in the direct layout, at this offset. */
size_t cpu_winograd_direct_at(const rlx_dims *w); /* in floats */
void cpu_winograd_pack(const rlx_dims *w, const float *src, float *dst, rlx_pool *pool);

typedef struct cpu_winograd cpu_winograd;
uint64_t cpu_winograd_work(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa);
rlx_status cpu_winograd_prepare(const cpu_call *c, rlx_bump *memory, const cpu_winograd **out);
/* False: the weight or the input holds values that the transforms cannot take; what was written is then meaningless. */
bool cpu_winograd_run(const cpu_call *c, const cpu_winograd *v);

#endif
