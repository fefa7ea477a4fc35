/* How a token is drawn: the op sample's settings, from its attributes or from its input. */
#ifndef RLX_IR_SAMPLING_H
#define RLX_IR_SAMPLING_H

#include <math.h>
#include <stdint.h>

typedef struct rlx_sampling {
  double temperature, top_p, min_p;
  uint64_t top_k; /* 0: all */
} rlx_sampling;

/* A number of a run may be anything: what is NaN or outside is the nearest that means something. */
static inline double rlx_sampling_clamp(float x, double low, double high) {
  return !((double)x > low) ? low : (double)x < high ? (double)x : high;
}

/* The input's four numbers; max_k: the attribute top_k, 0 being no bound. */
static inline rlx_sampling rlx_sampling_read(const float v[4], uint64_t max_k) {
  rlx_sampling s = {.temperature = rlx_sampling_clamp(v[0], 0, (double)INFINITY),
                    .top_p = isnan(v[2]) ? 1 : rlx_sampling_clamp(v[2], 0, 1),
                    .min_p = rlx_sampling_clamp(v[3], 0, 1),
                    .top_k = (uint64_t)rlx_sampling_clamp(v[1], 0, 4e9)};
  if (max_k && (!s.top_k || s.top_k > max_k)) s.top_k = max_k;
  return s;
}

#endif
