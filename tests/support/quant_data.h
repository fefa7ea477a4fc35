/* Numbers for measuring the error of encoders, and the measure: shared by test_quant.c and bench/quant_error.c.
 * tools/make_quant_goldens.py generates the same numbers, to measure other encoders. */
#ifndef RLX_TESTS_QUANT_DATA_H
#define RLX_TESTS_QUANT_DATA_H

#include <math.h>
#include <stdint.h>

#include "quant/quant.h"

enum { QUANT_COUNT = 65536, QUANT_CHUNK = 256, QUANT_CHUNK_BYTES = 292 /* of the longest type, per chunk */ };

/* Number i of a fixed stream in (0, 1): SplitMix64 as a function of its counter. */
static inline double quant_uniform(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  z = z ^ z >> 31;
  return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

static inline float quant_gaussian(uint64_t i) {
  const double two_pi = 6.283185307179586;
  return (float)(sqrt(-2 * log(quant_uniform(2 * i))) * cos(two_pi * quant_uniform(2 * i + 1)));
}

/* RMS error of encoding and decoding the first QUANT_COUNT Gaussian numbers, divided by their RMS; -1 on failure. */
static inline double quant_relative_error(rlx_dtype dtype) {
  double miss = 0, all = 0;
  for (uint64_t at = 0; at < QUANT_COUNT; at += QUANT_CHUNK) {
    float x[QUANT_CHUNK], y[QUANT_CHUNK];
    uint8_t blocks[QUANT_CHUNK_BYTES];
    for (uint64_t i = 0; i < QUANT_CHUNK; i++) x[i] = quant_gaussian(at + i);
    if (rlx_quant_encode(dtype, x, blocks, QUANT_CHUNK) != RLX_OK) return -1;
    if (rlx_quant_decode(dtype, blocks, y, QUANT_CHUNK) != RLX_OK) return -1;
    for (int i = 0; i < QUANT_CHUNK; i++) {
      double e = (double)x[i] - (double)y[i];
      miss += e * e;
      all += (double)x[i] * (double)x[i];
    }
  }
  return sqrt(miss / all);
}

#endif
