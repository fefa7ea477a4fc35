/* Numbers that were measured: one table (tuning.def), a column for each class of device, and what benchmarks and
 * tests may choose instead of a lowering. Both belong to a device (gpu_caps); nothing here changes while a program
 * runs. */
#ifndef RLX_GPU_TUNING_H
#define RLX_GPU_TUNING_H

#include <stdbool.h>
#include <stdint.h>

typedef enum gpu_class { GPU_DISCRETE, GPU_INTEGRATED, GPU_SOFTWARE, GPU_CLASS_COUNT } gpu_class;

typedef struct gpu_tuning {
#define TUNED(name, discrete, integrated, software, meaning) uint32_t name; /* meaning */
#include "gpu/tuning.def"
#undef TUNED
} gpu_tuning;
extern const gpu_tuning gpu_tunings[GPU_CLASS_COUNT];

/* ---- choices ---- */

/* Of the kernels for products with some rows on matrix units: sub-groups in a group (0: not these kernels), chunks of
 * the weight that each has on its way (1, 2 or 4), parts of k (0: as it seems best), sub-groups side by side along n
 * (matmul_direct.c). */
typedef struct product_narrow {
  uint8_t subs, ahead, splits, down;
} product_narrow;

/* 0 in a field: the lowering's own choice. */
typedef struct gpu_attention_choice {
  bool no_coop;             /* matrix units are left alone */
  uint32_t subs;            /* sub-groups of a group on matrix units: 4 or 8 */
  uint32_t weights;         /* numbers that a weight is on matrix units: 1 or 2 */
  uint32_t unroll;          /* few rows: keys that a team has in flight: 1, 2 or 4 */
  uint32_t group_size;      /* few rows */
  uint32_t groups_per_unit; /* few rows: how many the keys are split for */
} gpu_attention_choice;

/* What benchmarks and tests choose for a device, before they compile for it. What does not fit the device, the types
 * or the shapes is not taken. All zeros: nothing is chosen. */
typedef struct gpu_choices {
  const struct product_tile
    *tile;                      /* of products wherever the device can run it, few rows too; NULL: the lowering's own */
  uint32_t tile_splits;         /* parts of k, with `tile` */
  const product_narrow *narrow; /* NULL: the lowering's own */
  gpu_attention_choice attention;
} gpu_choices;

#endif
