/* Sampling settings of the op `sample`, from its attributes or from its input, and their ranges (sampling.def). */
#ifndef RLX_IR_SAMPLING_H
#define RLX_IR_SAMPLING_H

#include <math.h>

#include "base/status.h"

/* By setting: RLX_SAMPLING_top_k, and RLX_NEUTRAL_top_k. The op's settings come first. */
enum {
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) RLX_SAMPLING_##name,
#include "ir/sampling.def"
#undef SAMPLING
  RLX_SAMPLING_COUNT, /* of the op's */
  RLX_SAMPLING_before_models = RLX_SAMPLING_COUNT - 1,
#define SAMPLING(name, gguf, whole, min, max, neutral, doc)
#define MODEL_SAMPLING(name, gguf, whole, min, max, neutral, doc) RLX_SAMPLING_##name,
#include "ir/sampling.def"
#undef SAMPLING
  RLX_SAMPLING_ALL /* with those of language models */
};
enum {
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) RLX_NEUTRAL_##name = neutral,
#include "ir/sampling.def"
#undef SAMPLING
};

typedef struct rlx_sampling_row {
  const char *name, *gguf, *doc;
  bool is_whole;
  double min, max, neutral;
} rlx_sampling_row;
extern const rlx_sampling_row rlx_sampling_rows[RLX_SAMPLING_ALL];

/* RLX_INVALID if the value is out of range for setting i; the message begins with `name`. */
rlx_status rlx_sampling_check(int i, const char *name, double value);

typedef struct rlx_sampling {
  double temperature, top_p, min_p;
  uint64_t top_k; /* 0: all */
} rlx_sampling;

/* A run-time value may be anything: NaN and values out of range become the nearest valid one. */
static inline double rlx_sampling_clamp(float x, double low, double high) {
  return !((double)x > low) ? low : (double)x < high ? (double)x : high;
}

/* Reads the input's values. max_k: the attribute top_k, 0: no bound. A temperature above its range is not clamped: the
 * GPU's kernels divide by any value, and results must be the same. */
static inline rlx_sampling rlx_sampling_read(const float v[RLX_SAMPLING_COUNT], uint64_t max_k) {
  const rlx_sampling_row *row = rlx_sampling_rows;
  float top_p = isnan(v[RLX_SAMPLING_top_p]) ? RLX_NEUTRAL_top_p : v[RLX_SAMPLING_top_p];
  rlx_sampling s = {.temperature = rlx_sampling_clamp(v[RLX_SAMPLING_temperature], 0, (double)INFINITY),
                    .top_p = rlx_sampling_clamp(top_p, 0, row[RLX_SAMPLING_top_p].max),
                    .min_p = rlx_sampling_clamp(v[RLX_SAMPLING_min_p], 0, row[RLX_SAMPLING_min_p].max),
                    .top_k = (uint64_t)rlx_sampling_clamp(v[RLX_SAMPLING_top_k], 0, row[RLX_SAMPLING_top_k].max)};
  if (max_k && (!s.top_k || s.top_k > max_k)) s.top_k = max_k;
  return s;
}

#endif
