/* The structs of the emulated device that backend.c and queue.c share. */
#ifndef RLX_EMU_DEVICE_H
#define RLX_EMU_DEVICE_H

#include "base/os.h"
#include "device/backend.h"
#include "gpu/gpu.h"

typedef enum emu_mode {
  EMU_IMMEDIATE, /* "emu": work is done when the call returns, and memory is mapped */
  EMU_STREAM,    /* "emu:stream" and "emu:events": see queue.c */
  EMU_EVENTS,
  EMU_SMALL, /* as EMU_IMMEDIATE, with small bindings and allocations */
  EMU_INIT   /* "emu:init": see written.c */
} emu_mode;

typedef struct emu_device {
  rlx_device base;
  gpu_caps caps;
  emu_mode mode;
  rlx_backend queued; /* the table of the other modes */
  rlx_mutex lock;
  rlx_cond changed;
  struct emu_queue *queues; /* under the lock, with all their fields */
  uint32_t last_id;
} emu_device;

typedef struct emu_block {
  rlx_block base;
  rlx_block *memory;      /* of the CPU backend */
  unsigned char *written; /* by byte: 1 if something wrote it; NULL: not known, all count as written */
} emu_block;

typedef struct emu_step {
  rlx_node node;
  bool copy;
  const rlx_lowering *lowered;           /* owned by the claim */
  rlx_bound (*windows)[GPU_MAX_WINDOWS]; /* by dispatch */
} emu_step;

struct rlx_program {
  rlx_queue *queue;
  emu_device *device;
  const rlx_program_desc *desc;
  emu_step *steps;
  size_t n_steps;
  uint64_t last; /* value of the point after its last submission, if the queue has points */
};

static inline unsigned char *emu_data(const rlx_block *b) { return ((const emu_block *)b)->memory->map; }

static inline unsigned char *emu_written(const rlx_block *b) { return ((const emu_block *)b)->written; }

rlx_status emu_step_run(rlx_program *p, size_t index, uint64_t draw);
/* Replaces the functions that differ in a table of the immediate mode. */
void emu_queue_install(rlx_backend *b);
void emu_written_install(rlx_backend *b); /* the same for "emu:init" */
/* Copies bytes between two windows, and which of them are written. */
void emu_copy(const rlx_bound *to, const rlx_bound *from, uint64_t bytes);

#endif
