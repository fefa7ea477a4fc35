/* Which of attention's kernels and sizes the lowering takes is its own affair; benchmarks and tests may say so instead. */
#ifndef RLX_GPU_ATTENTION_H
#define RLX_GPU_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

/* 0 in a field: the lowering's own choice. What does not fit the device or the shapes is not taken. Not for use while another
 * thread compiles. */
typedef struct gpu_attention_choice {
  bool no_coop;             /* matrix units are left alone */
  uint32_t subs;            /* sub-groups of a group on matrix units: 4 or 8 */
  uint32_t weights;         /* numbers that a weight is on matrix units: 1 or 2 */
  uint32_t unroll;          /* few rows: keys that a team has in flight: 1, 2 or 4 */
  uint32_t group_size;      /* few rows */
  uint32_t groups_per_unit; /* few rows: how many the keys are split for */
} gpu_attention_choice;
extern gpu_attention_choice gpu_attention_force;

#endif
