/* Measured thresholds: one table (tuning.def) with a column per class of device, and overrides for benchmarks and
 * tests. Both belong to a device (gpu_caps) and do not change while a program runs. */
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

/* ---- overrides ---- */

/* For the kernels of narrow products on matrix units: subgroups per workgroup (0: do not use these kernels), chunks of
 * the weight that each prefetches (1, 2 or 4), splits of k (0: chosen by the lowering), subgroups side by side along n
 * (matmul_direct.c). */
typedef struct product_narrow {
  uint8_t subs, ahead, splits, down;
} product_narrow;

/* 0 in a field: the lowering chooses. */
typedef struct gpu_attention_choice {
  bool no_coop;             /* do not use matrix units */
  uint32_t subs;            /* matrix units: subgroups per workgroup of the kernel that all devices share, 4 or 8 */
  uint32_t weights;         /* matrix units: f16 numbers per softmax weight, 1 or 2 */
  uint32_t splits;          /* matrix units: splits of the keys */
  uint32_t unroll;          /* few rows: keys that a team has in flight, 1, 2 or 4 */
  uint32_t group_size;      /* few rows */
  uint32_t groups_per_unit; /* few rows: workgroups per multiprocessor that the keys are split for */
} gpu_attention_choice;

/* What benchmarks and tests choose for a device before they compile for it. An override that does not fit the device,
 * the types or the shapes is ignored. All zeros: no overrides. */
typedef struct gpu_choices {
  const struct product_tile *tile; /* for all products that the device can run with it, skinny ones included; or NULL */
  uint32_t tile_splits;            /* splits of k, with `tile` */
  bool gate_up_apart;              /* tiles: gate and up as two products, never one dispatch */
  const product_narrow *narrow;    /* or NULL */
  gpu_attention_choice attention;
  uint64_t library_min_products; /* multiply-adds from which a product is the library's (library.h); 0: as tuned */
} gpu_choices;

#endif
