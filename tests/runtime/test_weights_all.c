/* Loading many weights at once (runtime/weights_all.c): large ones in parts by several threads, others whole; what the
 * store has afterwards, failures of a reader, and stopping in between. */
#include <string.h>

#include "base/mem.h"
#include "runtime/weights.h"
#include "test.h"

enum { N_ITEMS = 5, ROWS = 3000, COLS = 513 };

static const rlx_weight_item all_items[N_ITEMS] = {
  {"large", {RLX_F32, RLX_DIMS(ROWS, COLS)}, ROWS *COLS * 4, 0, true},
  {"whole", {RLX_F32, RLX_DIMS(ROWS, COLS)}, ROWS *COLS * 4, 1, false},
  {"small", {RLX_F32, RLX_DIMS(7)}, 28, 2, true},
  {"block", {RLX_Q8_0, RLX_DIMS(1024, 2048)}, 1024 * 2048 / 32 * 34, 3, true},
  {"flags", {RLX_BOOL, RLX_DIMS(2000000)}, 2000000, 4, true},
};

typedef struct reader {
  size_t fails_at; /* item that cannot be read; N_ITEMS: none */
  size_t n_loaded, stops_after;
} reader;

/* Finite numbers, whatever the item. */
static unsigned char byte_of(size_t item, uint64_t i) {
  return item == 4 ? (unsigned char)(i % 3 == 0) : (unsigned char)((i * 31 + item) % 64);
}

static rlx_status read_part(void *user, size_t at, uint64_t from, void *to, size_t bytes) {
  const reader *r = user;
  if (at == r->fails_at && from + bytes > all_items[at].bytes / 2)
    return RLX_FAIL(RLX_IO, "item %zu ends in the middle", at);
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = byte_of(at, from + i);
  return RLX_OK;
}

static rlx_status read_whole(void *user, size_t at, void *to) {
  return read_part(user, at, 0, to, all_items[at].bytes);
}

static void count(void *user, const char *stage, uint64_t done, uint64_t total) {
  reader *r = user;
  CHECK_EQ_STR(stage, "load");
  CHECK(done <= total);
  r->n_loaded++;
}
static bool is_stopped(void *user) {
  const reader *r = user;
  return r->n_loaded >= r->stops_after;
}

static rlx_status load(rlx_weights *w, reader *r) {
  rlx_weight_item items[N_ITEMS];
  const rlx_watch watch = {.progress = count, .cancel = is_stopped, .user = r};
  memcpy(items, all_items, sizeof items);
  return rlx_weights_set_all(w, items, N_ITEMS, (rlx_weight_reader){read_whole, read_part, r}, &watch);
}

static void check_loaded(rlx_weights *w) {
  for (size_t k = 0; k < N_ITEMS; k++) {
    const rlx_weight_item *item = &all_items[k];
    unsigned char *v = rlx_mem_alloc(item->bytes);
    CHECK(v);
    CHECK_OK(rlx_weights_read(w, item->name, item->type.dtype, v, rlx_dims_count(&item->type.shape)));
    for (size_t i = 0; i < item->bytes; i++)
      if (v[i] != byte_of(k, i)) FAIL("'%s', byte %zu: expected %u, got %u", item->name, i, byte_of(k, i), v[i]);
    rlx_mem_free(v);
  }
}

static void check_device(const char *device) {
  rlx_session *s;
  rlx_weights *w;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = TEST_THREADS(3)};
  rlx_status status = rlx_session_create(&d, &s);
  if (status == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(status);
  for (size_t fails_at = 0; fails_at < N_ITEMS; fails_at++) {
    CHECK_OK(rlx_weights_create(s, &w));
    reader r = {.fails_at = fails_at, .stops_after = SIZE_MAX};
    CHECK_FAILS(load(w, &r), RLX_IO, "ends in the middle");
    CHECK(!rlx_weights_has(w, all_items[fails_at].name));
    rlx_weights_destroy(w);
  }
  CHECK_OK(rlx_weights_create(s, &w));
  reader r = {.fails_at = N_ITEMS, .stops_after = 2};
  CHECK_FAILS(load(w, &r), RLX_CANCELLED, "stopped");
  CHECK_EQ_INT(r.n_loaded, 2);
  r.stops_after = SIZE_MAX;
  CHECK_OK(load(w, &r));
  check_loaded(w);
  rlx_weights_destroy(w);
  rlx_session_destroy(s);
}

TEST(loaded_on_cpu) { check_device("cpu"); }
TEST(loaded_on_emu) { check_device("emu"); }
TEST(loaded_on_emu_stream) { check_device("emu:stream"); }
TEST(loaded_on_vulkan_staging) { check_device("vulkan:staging"); }
