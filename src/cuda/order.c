/* Keeps a list of the accesses that later dispatches may meet. An access that a later write covers leaves the list:
 * what comes then is ordered through that write. */
#include "cuda/order.h"

static bool is_in(const uint32_t *v, size_t n, uint32_t x) {
  for (size_t i = 0; i < n; i++)
    if (v[i] == x) return true;
  return false;
}

/* Whether dispatch `number` waits for `earlier`, directly or through others; false too if that takes many steps to
 * find out. */
static bool waits_for(const cu_order *o, uint32_t number, uint32_t earlier) {
  enum { MAX_SEEN = 64 };
  uint32_t seen[MAX_SEEN] = {number}, n = 1;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t first = seen[i] ? o->ends.v[seen[i] - 1] : 0, end = o->ends.v[seen[i]];
    for (uint32_t k = first; k < end; k++) {
      const uint32_t before = o->all.v[k];
      if (before == earlier) return true;
      if (before > earlier && n < MAX_SEEN && !is_in(seen, n, before)) seen[n++] = before;
    }
  }
  return false;
}

static bool collect(cu_order *o, const gpu_access *a, uint32_t n) {
  o->after.n = 0;
  for (size_t t = 0; t < o->tracked.n; t++)
    for (uint32_t k = 0; k < n; k++) {
      const uint32_t number = o->tracked.v[t].number;
      if (!gpu_access_meets(&o->tracked.v[t].access, &a[k]) || is_in(o->after.v, o->after.n, number)) continue;
      if (!rlx_array_push(&o->after, number)) return false;
    }
  size_t kept = 0;
  for (size_t i = 0; i < o->after.n; i++) {
    bool is_implied = false;
    for (size_t k = 0; k < o->after.n && !is_implied; k++)
      is_implied = k != i && waits_for(o, o->after.v[k], o->after.v[i]);
    if (!is_implied) o->after.v[kept++] = o->after.v[i];
  }
  o->after.n = kept;
  return true;
}

static bool track(cu_order *o, const gpu_access *a, uint32_t n) {
  size_t kept = 0;
  for (size_t t = 0; t < o->tracked.n; t++) {
    const gpu_access *old = &o->tracked.v[t].access;
    bool is_covered = false;
    for (uint32_t k = 0; k < n && !is_covered; k++)
      is_covered = a[k].is_write && a[k].begin <= old->begin && a[k].end >= old->end;
    if (!is_covered) o->tracked.v[kept++] = o->tracked.v[t];
  }
  o->tracked.n = kept;
  if (!rlx_array_reserve(&o->tracked, n)) return false;
  for (uint32_t k = 0; k < n; k++) o->tracked.v[o->tracked.n++] = (cu_tracked){a[k], o->n};
  for (size_t i = 0; i < o->after.n; i++)
    if (!rlx_array_push(&o->all, o->after.v[i])) return false;
  return rlx_array_push(&o->ends, (uint32_t)o->all.n);
}

rlx_status cu_order_add(cu_order *o, const gpu_access *a, uint32_t n) {
  if (!collect(o, a, n) || !track(o, a, n))
    return RLX_FAIL(RLX_NO_MEMORY, "cuda: the order of %u dispatches", (unsigned)o->n);
  o->n++;
  return RLX_OK;
}

void cu_order_deinit(cu_order *o) {
  rlx_array_deinit(&o->after);
  rlx_array_deinit(&o->tracked);
  rlx_array_deinit(&o->all);
  rlx_array_deinit(&o->ends);
}
