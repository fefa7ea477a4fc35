/* Loads all weights of a model into a store.
 *
 * Each weight passes through a temporary buffer of its own size. The largest (an embedding table, a quarter of a small
 * model) is loaded first, while little else is allocated, so that the peak is hardly above the final size. */
#include <stdlib.h>

#include "base/budget.h"
#include "base/mem.h"
#include "runtime/weights.h"

static int larger_first(const void *a, const void *b) {
  const rlx_weight_item *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* Temporary buffer for one weight after the other, each no larger than the one before. One block that shrinks, not a
 * block for each: a heap keeps freed blocks of this size for a reuse that never happens. */
typedef struct passage {
  void *data;
  size_t bytes;
} passage;

static rlx_status passage_fit(passage *p, const rlx_weight_item *item) {
  if (p->data && p->bytes == item->bytes) return RLX_OK;
  void *data = rlx_mem_realloc(p->data, item->bytes, 1);
  if (data) *p = (passage){data, item->bytes};
  if (p->data && p->bytes >= item->bytes) return RLX_OK;
  return RLX_FAIL(RLX_NO_MEMORY, "weight '%s': %zu bytes", item->name, item->bytes);
}

static rlx_status set_in_order(rlx_weights *w, const rlx_weight_item *items, size_t n, rlx_weight_reader reader,
                               const rlx_watch *watch, passage *p) {
  uint64_t done = 0, total = 0;
  for (size_t i = 0; i < n; i++) total += items[i].bytes;
  for (size_t i = 0; i < n; i++) {
    const rlx_weight_item *item = &items[i];
    if (rlx_stops(watch ? watch->cancel : NULL, watch ? watch->user : NULL))
      return RLX_FAIL(RLX_CANCELLED, "loading was stopped");
    RLX_TRY(passage_fit(p, item));
    RLX_TRY(reader.read(reader.user, item->at, p->data));
    rlx_tensor value = {item->type.dtype, item->type.shape, {p->data}, item->bytes};
    RLX_TRY(rlx_weights_set(w, item->name, &value));
    done += item->bytes;
    if (watch && watch->progress) watch->progress(watch->user, "load", done, total);
  }
  return RLX_OK;
}

rlx_status rlx_weights_set_all(rlx_weights *w, rlx_weight_item *items, size_t n, rlx_weight_reader reader,
                               const rlx_watch *watch) {
  passage p = {NULL, 0};
  if (n) qsort(items, n, sizeof *items, larger_first);
  rlx_status s = set_in_order(w, items, n, reader, watch, &p);
  rlx_mem_free(p.data);
  return s;
}
