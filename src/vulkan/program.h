/* Programs: planned steps as dispatches with bound windows. Each span of steps is recorded once and submitted many
 * times. program.c creates programs, record.c records command buffers, run.c submits and times them. */
#ifndef RLX_VULKAN_PROGRAM_H
#define RLX_VULKAN_PROGRAM_H

#include "base/bump.h"
#include "vulkan/vk.h"

typedef struct vk_dispatch {
  const gpu_kernel *kernel;
  const uint32_t *constants, *params;
  uint32_t group_size, groups_x, groups_y;
  uint64_t cost;
  size_t step;
  rlx_bound windows[GPU_MAX_WINDOWS];
  vk_pipeline *pipeline;
  VkDescriptorSet set;
  uint32_t n_accesses;
  vk_access accesses[GPU_MAX_WINDOWS]; /* of buffers that change, not of tables and run words */
} vk_dispatch;

typedef struct vk_step {
  rlx_node node;
  size_t first, n;          /* its dispatches; if none: */
  uint64_t copy_bytes;      /* bytes to copy; 0: nothing to do */
  vk_access from_and_to[2]; /* of a copy */
} vk_step;

typedef struct vk_counts {
  uint64_t dispatches, copies, barriers;
} vk_counts;

/* The command buffer of one submission. */
typedef struct vk_part {
  VkCommandBuffer cmd;
  size_t first, last; /* steps that it contains, wholly or partly */
} vk_part;

typedef enum vk_manner {
  VK_AWAITED, /* is waited for before it is submitted again */
  VK_PLAIN,   /* may be submitted again before it is done: drivers take longer over such a submission */
  VK_WATCHED, /* in smaller parts, between which the run can be stopped */
  VK_TIMED    /* with a timestamp before and after each step */
} vk_manner;

/* The command buffers of a span of steps. */
typedef struct vk_recording {
  size_t first, n;
  vk_manner manner;
  RLX_ARRAY(vk_part) parts;
  VkQueryPool queries; /* if timed: n + 1 timestamps, before and after each step */
  uint64_t *ticks;
  vk_counts counts;
  struct vk_recording *next; /* with the same first step */
} vk_recording;

/* The maximum number of submissions of one program in flight. More would occupy slots of the staging ring, which the
 * copies between the submissions need, without keeping the device busier. */
enum { VK_MAX_AHEAD = VK_N_SLOTS - 1 };

struct rlx_program {
  vk_queue *queue;
  vk_device *device;
  const rlx_graph *graph;
  rlx_bump memory;
  vk_step *steps;
  size_t n_steps;
  RLX_ARRAY(vk_dispatch) dispatches;
  RLX_ARRAY(uint32_t) table;
  rlx_block *table_block;
  vk_range run_words; /* GPU_RUN; no chunk: no dispatch reads it */
  bool reads_run_words;
  uint64_t last;                    /* serial of its last submission */
  uint64_t in_flight[VK_MAX_AHEAD]; /* serials of the last submissions, the oldest at next_in_flight */
  uint32_t next_in_flight;
  VkDescriptorPool sets;
  VkCommandPool commands;
  vk_recording **recordings; /* by first step */
};

rlx_status vk_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out);
void vk_program_destroy(rlx_program *p);
rlx_status vk_program_submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args);

/* The recording of a span, created on first use. */
rlx_status vk_program_record(rlx_program *p, size_t first, size_t n, vk_manner manner, const vk_recording **out);
void vk_recording_destroy(rlx_program *p, vk_recording *r);
/* Totals of all recordings without timing. After runs of one manner, the counts of one such run. */
void vk_program_counts(const rlx_program *p, vk_counts *out);

#endif
