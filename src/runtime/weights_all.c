/* Loads all weights of a model into a store.
 *
 * A large weight that the device stores as the reader has it is read straight to where it belongs (device/fill.h).
 * The others pass through a temporary buffer of their own size: small ones, and those that are packed or converted. The
 * largest (an embedding table, a quarter of a small model) is loaded first, while little else is allocated, so that the
 * peak is hardly above the final size. The threads of the session share the work on each weight. */
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

typedef struct item_reader {
  const rlx_weight_reader *reader;
  size_t at;
} item_reader;

static rlx_status read_part(void *user, uint64_t from, void *to, size_t bytes) {
  const item_reader *r = user;
  return r->reader->read_part(r->reader->user, r->at, from, to, bytes);
}

static rlx_status set_one(rlx_weights *w, const rlx_weight_item *item, const rlx_weight_reader *reader, passage *p) {
  item_reader parts = {reader, item->at};
  const rlx_byte_source source = {.read = read_part, .user = &parts};
  const bool is_shared = item->in_parts && item->bytes >= RLX_FILL_LARGE;
  if (is_shared && rlx_weights_is_plain(w, item->name, &item->type))
    return rlx_weights_put_from(w, item->name, &item->type, &source);
  RLX_TRY(passage_fit(p, item));
  if (is_shared) RLX_TRY(rlx_source_read(&source, p->data, item->bytes, w->session->threads));
  else RLX_TRY(reader->read(reader->user, item->at, p->data));
  const rlx_tensor value = {item->type.dtype, item->type.shape, {p->data}, item->bytes};
  return rlx_weights_set(w, item->name, &value);
}

static rlx_status set_in_order(rlx_weights *w, const rlx_weight_item *items, size_t n, const rlx_weight_reader *reader,
                               const rlx_watch *watch, passage *p) {
  uint64_t done = 0, total = 0;
  for (size_t i = 0; i < n; i++) total += items[i].bytes;
  for (size_t i = 0; i < n; i++) {
    if (rlx_stops(watch ? watch->cancel : NULL, watch ? watch->user : NULL))
      return RLX_FAIL(RLX_CANCELLED, "loading was stopped");
    RLX_TRY(set_one(w, &items[i], reader, p));
    done += items[i].bytes;
    if (watch && watch->progress) watch->progress(watch->user, "load", done, total);
  }
  return RLX_OK;
}

rlx_status rlx_weights_set_all(rlx_weights *w, rlx_weight_item *items, size_t n, rlx_weight_reader reader,
                               const rlx_watch *watch) {
  passage p = {NULL, 0};
  if (n) qsort(items, n, sizeof *items, larger_first);
  rlx_status s = set_in_order(w, items, n, &reader, watch, &p);
  rlx_mem_free(p.data);
  return s;
}
