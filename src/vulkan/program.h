/* Programs: planned steps as dispatches with bound windows. Each span of steps is recorded once and submitted many
 * times. program.c creates programs, record.c records command buffers, run.c submits and times them. */
#ifndef RLX_VULKAN_PROGRAM_H
#define RLX_VULKAN_PROGRAM_H

#include "gpu/program.h"
#include "vulkan/vk.h"

/* What Vulkan adds to the dispatch with the same index (gpu/program.h). */
typedef struct vk_dispatch {
  VkPipeline pipeline;
  VkDescriptorSet set;
  uint32_t n_accesses;
  gpu_access accesses[GPU_MAX_WINDOWS]; /* of buffers that change, not of tables and run words */
} vk_dispatch;

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
  gpu_program body;
  vk_dispatch *dispatches; /* by dispatch */
  rlx_block *table_block;
  vk_range run_words;               /* GPU_RUN; no chunk: no dispatch reads it */
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
