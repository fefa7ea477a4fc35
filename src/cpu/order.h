/* The first extreme of a line of floats, in vectors. */
#ifndef RLX_CPU_ORDER_H
#define RLX_CPU_ORDER_H

#include "cpu/cpu.h"

typedef struct cpu_order_table {
  /* Where the first largest (or least) of n > 0 neighbours is; the first NaN if there is one. f32, f16, bf16. */
  size_t (*extreme)(rlx_dtype dtype, const void *x, size_t n, bool largest);
} cpu_order_table;
CPU_TABLES(cpu_order_table, cpu_order)

#endif
