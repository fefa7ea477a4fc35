/* The table of settings.h. All of them are off at 0. */
#include "model/settings.h"

#include "rlx/lm.h"

#define ROW(name, min, max, doc) \
  { #name, doc, offsetof(rlx_lm_options, name), min, max }

const lm_setting_row lm_settings[] = {
  ROW(frequency_penalty, -2, 2, "subtract this from the logit of a token for each time it came before"),
  ROW(presence_penalty, -2, 2, "subtract this from the logits of tokens that came before"),
  ROW(typical_p, 0, 1, "only tokens about as surprising as expected, with this probability; 0 or 1: all"),
  ROW(top_n_sigma, 0, 100, "only logits within this many standard deviations of the largest; 0: all"),
  ROW(xtc_probability, 0, 1, "how often the likeliest tokens are left out; 0: never"),
  ROW(xtc_threshold, 0, 1, "the probability from which tokens may be left out so; 0: 0.1"),
  ROW(dynatemp_range, 0, 1000, "vary the temperature by this, up and down, with the entropy; 0: off"),
  ROW(dynatemp_exponent, 0, 100, "how the entropy becomes a temperature; 0: 1"),
  ROW(dry_multiplier, 0, 100, "lower tokens that would continue a repetition; 0: off"),
  ROW(dry_base, 0, 100, "how the penalty grows with the length of the repetition; 0: 1.75"),
  ROW(mirostat_tau, 0, 100, "hold the surprise of a token at this many bits, in place of top-k and the like; 0: off"),
  ROW(mirostat_eta, 0, 1, "how fast mirostat adapts; 0: 0.1"),
};
const uint32_t lm_n_settings = sizeof lm_settings / sizeof *lm_settings;
