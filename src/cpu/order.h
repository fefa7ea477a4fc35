/* Order along a line: vectorised argmax and argmin of floats, and lists that are sorted as integers (order.c). */
#ifndef RLX_CPU_ORDER_H
#define RLX_CPU_ORDER_H

#include <string.h>

#include "cpu/cpu.h"

typedef struct cpu_order_table {
  /* The index of the first maximum (or minimum) of n > 0 elements; the first NaN if there is one. f32, f16, bf16. */
  size_t (*extreme)(rlx_dtype dtype, const void *x, size_t n, bool largest);
} cpu_order_table;
CPU_TABLES(cpu_order_table, cpu_order)

/* A key whose unsigned order is the order of floats: NaN above all, -0 equal to 0. */
static inline uint32_t cpu_order_key(float f) {
  if (f != f) return UINT32_MAX;
  uint32_t bits;
  f += 0.0f; /* -0 becomes 0 */
  memcpy(&bits, &f, sizeof bits);
  /* Inverts all bits of a negative value. Branch-free, as signs are unpredictable. */
  return bits ^ ((~(bits >> 31) + 1) | 0x80000000u);
}
/* The entry of a list sorted by descending value, and by ascending position among equal values. */
static inline uint64_t cpu_order_entry(float f, size_t position) {
  return (uint64_t)~cpu_order_key(f) << 32 | (uint64_t)position;
}
/* The k smallest of n entries whose positions ascend, sorted: in `list` or in `spare`, of n entries each. NULL: the
 * task was stopped. */
uint64_t *cpu_order_smallest(uint64_t *list, uint64_t *spare, size_t n, size_t k);

#endif
