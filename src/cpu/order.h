/* Order along a line: the first extreme of floats, in vectors, and lists that are sorted as numbers (order.c). */
#ifndef RLX_CPU_ORDER_H
#define RLX_CPU_ORDER_H

#include <string.h>

#include "cpu/cpu.h"

typedef struct cpu_order_table {
  /* Where the first largest (or least) of n > 0 neighbours is; the first NaN if there is one. f32, f16, bf16. */
  size_t (*extreme)(rlx_dtype dtype, const void *x, size_t n, bool largest);
} cpu_order_table;
CPU_TABLES(cpu_order_table, cpu_order)

/* Order of floats as order of integers: NaN above all, -0 as 0. */
static inline uint32_t cpu_order_key(float f) {
  if (f != f) return UINT32_MAX;
  uint32_t bits;
  f += 0.0f; /* -0 becomes 0 */
  memcpy(&bits, &f, sizeof bits);
  return bits ^ ((~(bits >> 31) + 1) | 0x80000000u); /* all bits turn where it is negative; no branch, signs are any */
}
/* The entry of a list that begins with the largest value, the smaller position first among equals. */
static inline uint64_t cpu_order_entry(float f, size_t position) {
  return (uint64_t)~cpu_order_key(f) << 32 | (uint64_t)position;
}
/* The k least of n entries whose positions ascend, sorted: in `list` or in `spare`, of n entries each; NULL where the task
 * was stopped. */
uint64_t *cpu_order_smallest(uint64_t *list, uint64_t *spare, size_t n, size_t k);

#endif
