/* The table of tuning.h, filled from tuning.def. */
#include "gpu/tuning.h"

const gpu_tuning gpu_tunings[GPU_CLASS_COUNT] = {
  [GPU_DISCRETE] =
    {
#define TUNED(name, discrete, integrated, software, meaning) .name = discrete,
#include "gpu/tuning.def"
#undef TUNED
    },
  [GPU_INTEGRATED] =
    {
#define TUNED(name, discrete, integrated, software, meaning) .name = integrated,
#include "gpu/tuning.def"
#undef TUNED
    },
  [GPU_SOFTWARE] =
    {
#define TUNED(name, discrete, integrated, software, meaning) .name = software,
#include "gpu/tuning.def"
#undef TUNED
    },
};
