/* Filling windows from bytes that several threads read (device/fill.h), on every device: each byte is where it belongs,
 * whatever the size beside that of a part and a slot; the queue can be used while a slot is filled; a failure is the
 * source's, and the queue works on. CUDA's device is the fake one, unless RLX_TEST_NO_FAKE is set. */
#include "device/fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cuda_fake.h"
#include "device/queue.h"
#include "device_checks.h"

#if defined(RLX_CUDA)
__attribute__((constructor)) static void enter(int argc, char **argv) {
  if (!getenv("RLX_TEST_NO_FAKE") && !cuda_fake_enter(argc, argv)) exit(1);
}
#endif

/* Larger than all slots of 8 MiB, and not a multiple of anything. */
enum { MANY = (35 << 20) + 4099, SHIFT = 20 };

typedef struct world {
  rlx_device *d;
  rlx_queue *q;
  rlx_block *a, *b;
  rlx_pool *pool;
  unsigned char *back;
} world;

static void world_open(world *w, const char *device) {
  *w = (world){0};
  ACQUIRE(device, &w->d);
  CHECK_OK(w->d->backend->queue_create(w->d, &w->q));
  CHECK_OK(w->d->backend->block_create(w->d, MANY + 2 * SHIFT, &w->a));
  CHECK_OK(w->d->backend->block_create(w->d, MANY, &w->b));
  CHECK_OK(rlx_pool_create(TEST_THREADS(3), &w->pool));
  w->back = rlx_mem_alloc(MANY + 2 * SHIFT);
  CHECK(w->back);
}

static void world_close(world *w) {
  if (!w->d) return;
  rlx_mem_free(w->back);
  rlx_pool_destroy(w->pool);
  w->d->backend->block_destroy(w->d, w->b);
  w->d->backend->block_destroy(w->d, w->a);
  w->d->backend->queue_destroy(w->q);
  rlx_device_release(w->d);
}

static unsigned char byte_at(uint64_t i) { return (unsigned char)(i * 2654435761u >> 13); }

static rlx_status read_made(void *user, uint64_t from, void *to, size_t bytes) {
  (void)user;
  for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = byte_at(from + i);
  return RLX_OK;
}

/* The byte at *user cannot be read. */
static rlx_status read_until(void *user, uint64_t from, void *to, size_t bytes) {
  const uint64_t bad = *(const uint64_t *)user;
  if (bad >= from && bad - from < bytes) return RLX_FAIL(RLX_IO, "byte %llu is gone", (unsigned long long)bad);
  return read_made(NULL, from, to, bytes);
}

static rlx_type bytes_of(uint64_t n) { return (rlx_type){RLX_U8, RLX_DIMS((int64_t)n)}; }

static void check_filled(world *w, uint64_t n) {
  CHECK_OK(w->d->backend->read(w->q, w->a, 0, w->back, n + 2 * SHIFT));
  for (uint64_t i = 0; i < SHIFT; i++) CHECK(w->back[i] == 0xee && w->back[SHIFT + n + i] == 0xee);
  for (uint64_t i = 0; i < n; i++)
    if (w->back[SHIFT + i] != byte_at(i))
      FAIL("byte %llu of %llu: expected %u, got %u", (unsigned long long)i, (unsigned long long)n, (unsigned)byte_at(i),
           (unsigned)w->back[SHIFT + i]);
}

static void fill(world *w, uint64_t n, const rlx_byte_source *source) {
  const rlx_type type = bytes_of(n);
  const rlx_bound at = {w->a, SHIFT, n};
  memset(w->back, 0xee, n + 2 * SHIFT);
  CHECK_OK(w->d->backend->write(w->q, w->a, 0, w->back, n + 2 * SHIFT));
  CHECK_OK(rlx_bound_fill(w->q, &at, &type, 0, source, w->pool));
  check_filled(w, n);
}

static void check_fill(const char *device) {
  static const uint64_t sizes[] = {1, 4097, 512 << 10, (512 << 10) + 1, RLX_FILL_LARGE, 8 << 20, (8 << 20) + 1, MANY};
  world w;
  world_open(&w, device);
  if (w.d) {
    unsigned char *data = rlx_mem_alloc(MANY);
    CHECK(data);
    CHECK_OK(read_made(NULL, 0, data, MANY));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      fill(&w, sizes[i], &(rlx_byte_source){.read = read_made});
      fill(&w, sizes[i], &(rlx_byte_source){.data = data});
    }
    rlx_mem_free(data);
  }
  world_close(&w);
}

static void check_failure(const char *device) {
  world w;
  world_open(&w, device);
  const rlx_type type = bytes_of(MANY);
  const uint64_t bad[] = {0, 3 << 20, 20 << 20, MANY - 1};
  for (size_t i = 0; w.d && i < sizeof bad / sizeof *bad; i++) {
    const rlx_byte_source source = {.read = read_until, .user = (void *)(uintptr_t)&bad[i]};
    CHECK_FAILS(rlx_bound_fill(w.q, &(rlx_bound){w.a, SHIFT, MANY}, &type, 0, &source, w.pool), RLX_IO, "is gone");
  }
  if (w.d) fill(&w, MANY, &(rlx_byte_source){.read = read_made});
  world_close(&w);
}

/* While a slot is filled: small and large writes, and reads, of another block on the same queue. */
static rlx_status use_queue(void *user, uint64_t from, void *to, uint64_t bytes) {
  const world *w = user;
  const rlx_backend *v = w->d->backend;
  const unsigned char mark[64] = {(unsigned char)(from >> 16), 7};
  unsigned char seen[sizeof mark];
  RLX_TRY(read_made(NULL, from, to, (size_t)bytes));
  RLX_TRY(v->write(w->q, w->b, 64, mark, sizeof mark));
  RLX_TRY(v->read(w->q, w->b, 64, seen, sizeof seen));
  if (memcmp(mark, seen, sizeof mark) != 0) return RLX_FAIL(RLX_INVALID, "the mark at %llu", (unsigned long long)from);
  memset(w->back, seen[0], MANY);
  RLX_TRY(v->write(w->q, w->b, 0, w->back, MANY));
  memset(w->back, 0, MANY);
  RLX_TRY(v->read(w->q, w->b, 0, w->back, MANY));
  for (size_t i = 0; i < MANY; i++)
    if (w->back[i] != seen[0]) return RLX_FAIL(RLX_INVALID, "byte %zu of the other block", i);
  return RLX_OK;
}

static void check_use(const char *device) {
  world w;
  world_open(&w, device);
  if (!w.d) return;
  if (!w.d->backend->write_from || w.a->map) {
    world_close(&w);
    SKIP("the device lends no memory");
  }
  memset(w.back, 0xee, MANY + 2 * SHIFT);
  CHECK_OK(w.d->backend->write(w.q, w.a, 0, w.back, MANY + 2 * SHIFT));
  CHECK_OK(w.d->backend->write_from(w.q, w.a, SHIFT, MANY, &(rlx_producer){use_queue, &w}));
  check_filled(&w, MANY);
  CHECK_FAILS(w.d->backend->write_from(w.q, w.b, 1, MANY, &(rlx_producer){use_queue, &w}), RLX_INVALID, "not inside");
  world_close(&w);
}

#define ON_EACH_DEVICE(name, check)                           \
  TEST(name##_on_cpu) { check("cpu"); }                       \
  TEST(name##_on_emu) { check("emu"); }                       \
  TEST(name##_on_emu_stream) { check("emu:stream"); }         \
  TEST(name##_on_vulkan) { check("vulkan"); }                 \
  TEST(name##_on_vulkan_staging) { check("vulkan:staging"); } \
  TEST(name##_on_cuda) { check("cuda"); }

ON_EACH_DEVICE(filled, check_fill)
ON_EACH_DEVICE(failing_source, check_failure)
TEST(queue_is_free_meanwhile_on_vulkan) { check_use("vulkan:staging"); }
TEST(queue_is_free_meanwhile_on_cuda) { check_use("cuda"); }
