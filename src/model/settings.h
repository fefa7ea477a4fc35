/* The sampling settings that the host applies (sampler.c), beyond those of ir/sampling.def: where each is in
 * rlx_lm_options, its range, and what it does. rlx_lm_setting_at and the command read them from here. */
#ifndef RLX_MODEL_SETTINGS_H
#define RLX_MODEL_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct lm_setting_row {
  const char *name, *doc;
  size_t offset; /* of a double in rlx_lm_options */
  double min, max;
} lm_setting_row;
extern const lm_setting_row lm_settings[];
extern const uint32_t lm_n_settings;

#endif
