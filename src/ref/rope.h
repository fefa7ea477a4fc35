/* The frequencies of rotary positions, for all that must agree on them. */
#ifndef RLX_REF_ROPE_H
#define RLX_REF_ROPE_H

#include <math.h>
#include <stdint.h>

/* Of pair i: theta^(-i / pairs). */
static inline double rlx_rope_frequency(double theta, int64_t i, int64_t pairs) {
  return pow(theta, -(double)i / (double)pairs);
}

#endif
