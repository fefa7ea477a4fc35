/* Test values: the generators of conform.h and their random numbers. The same seed gives the same bytes on every
 * machine. */
#ifndef RLX_CONFORM_VALUES_H
#define RLX_CONFORM_VALUES_H

#include "ir/graph.h"

/* Fills t by a generator's text (n bytes; empty for the dtype's default). */
rlx_status rlx_values_fill(rlx_tensor *t, const char *generator, size_t n, uint64_t seed);

static inline uint64_t rlx_random_next(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static inline double rlx_random_unit(uint64_t *state) {
  return (double)(rlx_random_next(state) >> 40) * 0x1p-24;
} /* 0 <= u < 1 */
static inline uint64_t rlx_random_below(uint64_t *state, uint64_t n) { return (rlx_random_next(state) >> 11) % n; }

#endif
