/* Depthwise convolution: each output channel reads one input channel. conv.c calls it for the nodes that fit. */
#ifndef RLX_CPU_CONV_DEPTHWISE_H
#define RLX_CPU_CONV_DEPTHWISE_H

#include "cpu/cpu.h"

bool cpu_depthwise_fits(const rlx_graph *g, const rlx_node_rec *n);
uint64_t cpu_depthwise_work(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa);
rlx_status cpu_depthwise_prepare(cpu_call *c, rlx_bump *memory);
rlx_status cpu_depthwise_run(const cpu_call *c);

#endif
