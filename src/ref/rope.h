/* The frequencies of rotary positions, for all that must agree on them. */
#ifndef RLX_REF_ROPE_H
#define RLX_REF_ROPE_H

#include <math.h>
#include <stdint.h>

#include "ref/ref.h"

/* Of pair i: theta^(-i / pairs). */
static inline double rlx_rope_frequency(double theta, int64_t i, int64_t pairs) {
  return pow(theta, -(double)i / (double)pairs);
}

/* The rows of an update, turned where it says so: unrounded, in memory of the call; *own is where their tensor is. */
rlx_status rlx_rope_rows(rlx_ref_call *c, rlx_tensor *own, const rlx_tensor **out);

#endif
