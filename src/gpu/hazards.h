/* Tracks the reads and writes since the last barrier, so that barriers are recorded only where needed: before an access
 * that overlaps an earlier one in the same bytes, unless both only read. */
#ifndef RLX_GPU_HAZARDS_H
#define RLX_GPU_HAZARDS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gpu_access {
  const void *memory;  /* the allocation; NULL where begin and end are addresses of one address space */
  uint64_t begin, end; /* bytes of it */
  bool is_write;
} gpu_access;

/* Whether the two must be ordered. */
static inline bool gpu_access_meets(const gpu_access *a, const gpu_access *b) {
  return (a->is_write || b->is_write) && a->memory == b->memory && a->begin < b->end && b->begin < a->end;
}

enum { GPU_MAX_ACCESSES = 512 };

typedef struct gpu_hazards {
  gpu_access v[GPU_MAX_ACCESSES];
  uint32_t n;
} gpu_hazards;

/* Records the accesses of one command. True: a barrier must be recorded before it, and the earlier accesses are
 * cleared. */
bool gpu_hazards_meet(gpu_hazards *h, const gpu_access *a, uint32_t n);

#endif
