/* A list of accesses with linear search: it is short because each barrier empties it, and programs are recorded once.
 * When it is full, a barrier is recorded in any case. */
#include "vulkan/hazards.h"

static bool meets(const vk_access *a, const vk_access *b) {
  return (a->is_write || b->is_write) && a->chunk == b->chunk && a->begin < b->end && b->begin < a->end;
}

static bool is_noted(const vk_hazards *h, const vk_access *a) {
  for (uint32_t i = 0; i < h->n; i++)
    if (h->v[i].chunk == a->chunk && h->v[i].begin <= a->begin && h->v[i].end >= a->end &&
        h->v[i].is_write >= a->is_write)
      return true;
  return false;
}

bool vk_hazards_meet(vk_hazards *h, const vk_access *a, uint32_t n) {
  bool needs_barrier = h->n + n > VK_MAX_ACCESSES;
  for (uint32_t k = 0; k < n && !needs_barrier; k++)
    for (uint32_t i = 0; i < h->n && !needs_barrier; i++) needs_barrier = meets(&h->v[i], &a[k]);
  if (needs_barrier) h->n = 0;
  for (uint32_t k = 0; k < n; k++)
    if (!is_noted(h, &a[k])) h->v[h->n++] = a[k];
  return needs_barrier;
}
