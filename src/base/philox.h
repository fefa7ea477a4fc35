/* Philox4x32-10: a counter-based random number generator (Salmon et al., 2011). It has no state: the four words of
 * element i of draw n depend on (key, i, n) alone, so every device and every thread count gives the same numbers. */
#ifndef RLX_BASE_PHILOX_H
#define RLX_BASE_PHILOX_H

#include <stdint.h>

typedef struct rlx_philox_words {
  uint32_t v[4];
} rlx_philox_words;

static inline rlx_philox_words rlx_philox_block(rlx_philox_words counter, uint32_t key0, uint32_t key1) {
  uint32_t *x = counter.v;
  for (int round = 0; round < 10; round++) {
    uint64_t product0 = 0xd2511f53u * (uint64_t)x[0], product1 = 0xcd9e8d57u * (uint64_t)x[2];
    counter = (rlx_philox_words){{(uint32_t)(product1 >> 32) ^ x[1] ^ key0, (uint32_t)product1,
                                  (uint32_t)(product0 >> 32) ^ x[3] ^ key1, (uint32_t)product0}};
    key0 += 0x9e3779b9u; /* the golden ratio and the square root of 3, less 1 */
    key1 += 0xbb67ae85u;
  }
  return counter;
}

/* The words of one element of one draw. */
static inline rlx_philox_words rlx_philox(uint64_t seed, uint64_t element, uint64_t draw) {
  rlx_philox_words counter = {{(uint32_t)element, (uint32_t)(element >> 32), (uint32_t)draw, (uint32_t)(draw >> 32)}};
  return rlx_philox_block(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* A word's top 24 bits over 2^24: in [0, 1), exact in f32. */
static inline double rlx_philox_unit(uint32_t word) { return (double)(word >> 8) * 0x1p-24; }

#endif
