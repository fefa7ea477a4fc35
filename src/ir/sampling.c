/* The table of sampling settings: see sampling.def. */
#include "ir/sampling.h"

const rlx_sampling_row rlx_sampling_rows[RLX_SAMPLING_ALL] = {
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) {#name, gguf, doc, whole, min, max, neutral},
#define MODEL_SAMPLING SAMPLING
#include "ir/sampling.def"
#undef SAMPLING
};

rlx_status rlx_sampling_check(int i, const char *name, double value) {
  const rlx_sampling_row *row = &rlx_sampling_rows[i];
  bool is_right = value >= row->min && value <= row->max; /* false for NaN */
  if (is_right && (!row->is_whole || floor(value) == value)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s: expected a %snumber from %.10g to %.10g, got %g", name,
                  row->is_whole ? "whole " : "", row->min, row->max, value);
}
