/* A list of accesses with linear search: it is short because each barrier empties it, and programs are recorded once.
 * When it is full, a barrier is recorded in any case. */
#include "gpu/hazards.h"

static bool is_noted(const gpu_hazards *h, const gpu_access *a) {
  for (uint32_t i = 0; i < h->n; i++)
    if (h->v[i].memory == a->memory && h->v[i].begin <= a->begin && h->v[i].end >= a->end &&
        h->v[i].is_write >= a->is_write)
      return true;
  return false;
}

bool gpu_hazards_meet(gpu_hazards *h, const gpu_access *a, uint32_t n) {
  bool needs_barrier = h->n + n > GPU_MAX_ACCESSES;
  for (uint32_t k = 0; k < n && !needs_barrier; k++)
    for (uint32_t i = 0; i < h->n && !needs_barrier; i++) needs_barrier = gpu_access_meets(&h->v[i], &a[k]);
  if (needs_barrier) h->n = 0;
  for (uint32_t k = 0; k < n; k++)
    if (!is_noted(h, &a[k])) h->v[h->n++] = a[k];
  return needs_barrier;
}
