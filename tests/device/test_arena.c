/* Tests of the arena on every backend (arena_contract.c), and on fake devices: packed weights, a lost device, two
 * different devices. */
#include "device/arena.h"

#include "arena_contract.h"
#include "base/mem.h"
#include "fake_device.h"
#include "faults.h"
#include "test.h"

TEST(contract_null) { arena_contract("null"); }
TEST(contract_cpu) { arena_contract("cpu"); }
TEST(contract_cpu_base) { arena_contract("cpu:base"); } /* layouts differ between instruction sets */
TEST(contract_cpu_avx2) { arena_contract("cpu:avx2"); }
TEST(contract_emu) { arena_contract("emu"); }
TEST(contract_emu_stream) { arena_contract("emu:stream"); }
TEST(contract_emu_events) { arena_contract("emu:events"); }
TEST(contract_vulkan) { arena_contract("vulkan"); }
TEST(contract_vulkan_staging) { arena_contract("vulkan:staging"); }
TEST(contract_vulkan_mapped) { arena_contract("vulkan:mapped"); }
TEST(contract_vulkan_minimal) { arena_contract("vulkan:minimal,staging"); } /* fences, no optional feature */
TEST(contract_cuda) { arena_contract("cuda"); } /* of a real driver; test_cuda.c has the fake one */
TEST(contract_webgpu) { arena_contract("webgpu"); }
TEST(contract_webgpu_minimal) { arena_contract("webgpu:minimal"); } /* the limits that every browser has */
TEST(contract_webgpu_split) { arena_contract("webgpu:block=4096"); }
TEST(contract_vulkan_split) { arena_contract("vulkan:staging,block=4096"); } /* few blocks share memory */

TEST(contract_fake) {
  fake_device f;
  fake_device_init(&f, false);
  arena_contract_on(&f.base);
}

TEST(contract_fake_mapped) {
  fake_device f;
  fake_device_init(&f, true);
  arena_contract_on(&f.base);
}

/* Bitwise comparison, including floats. */
static bool is_same(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes) == 0; }

/* ---- packed weights ---- */

enum { ROWS = 6, COLS = 64, N = ROWS * COLS };

typedef struct packed {
  fake_device f;
  rlx_block_pool *pool;
  rlx_block *block;
  rlx_arena *a;
  rlx_bound at;
} packed;

/* A weight in FAKE_LAYOUT in the middle of a block filled with sevens. */
static void packed_open(packed *p, bool is_mapped, rlx_dtype dtype) {
  fake_device_init(&p->f, is_mapped);
  const rlx_type type = {dtype, RLX_DIMS(ROWS, COLS)};
  const uint64_t bytes = p->f.backend.layout_bytes(&p->f.base, FAKE_LAYOUT, &type);
  unsigned char sevens[8192];
  memset(sevens, 7, sizeof sevens);
  CHECK_OK(rlx_block_pool_create(&p->f.base, 1 << 20, &p->pool));
  CHECK_OK(rlx_block_pool_get(p->pool, sizeof sevens, false, &p->block));
  CHECK_OK(p->f.backend.write(rlx_block_pool_queue(p->pool), p->block, 0, sevens, sizeof sevens));
  CHECK_OK(rlx_arena_create(&p->f.base, p->pool, NULL, 0, 2, &p->a));
  p->at = (rlx_bound){p->block, 256, bytes};
  rlx_arena_entry e = {RLX_SEGMENT_WEIGHTS, 0, FAKE_LAYOUT, p->at, bytes, type};
  CHECK_OK(rlx_arena_put(p->a, 1, &e));
}

static void packed_close(packed *p) {
  rlx_arena_destroy(p->a);
  rlx_block_pool_put(p->pool, p->block);
  rlx_block_pool_release(p->pool);
}

/* Checks the bytes in the block: the header, then the plain ones in reverse order, with sevens on both sides. */
static void check_packed(packed *p, const void *plain, size_t n) {
  unsigned char found[8192];
  CHECK_OK(p->f.backend.read(rlx_block_pool_queue(p->pool), p->block, 0, found, sizeof found));
  CHECK_EQ_INT(p->at.bytes, n + FAKE_HEADER);
  for (size_t i = 0; i < sizeof found; i++) {
    size_t at = i - 256;
    unsigned expected = 7;
    if (i >= 256 && at < n + FAKE_HEADER)
      expected = at < FAKE_HEADER ? FAKE_LAYOUT : ((const unsigned char *)plain)[n - 1 - (at - FAKE_HEADER)] ^ 0x5a;
    CHECK_EQ_INT(found[i], expected);
  }
}

static void check_packed_weight(bool is_mapped) {
  packed p;
  packed_open(&p, is_mapped, RLX_F32);
  if (test_has_failed()) return;
  float data[N], found[N];
  double wide[N], wide_found[N];
  for (int i = 0; i < N; i++) data[i] = (float)(wide[i] = i - 100.5);
  CHECK_OK(rlx_arena_write(p.a, 1, RLX_F32, data, N));
  check_packed(&p, data, sizeof data);
  if (test_has_failed()) return;
  CHECK_OK(rlx_arena_read(p.a, 1, RLX_F32, found, N));
  CHECK(is_same(found, data, sizeof data));
  CHECK_OK(rlx_arena_read(p.a, 1, RLX_F64, wide_found, N));
  CHECK(is_same(wide_found, wide, sizeof wide));
  for (int i = 0; i < N; i++) data[i] = (float)(wide[i] = 3 * i);
  CHECK_OK(rlx_arena_write(p.a, 1, RLX_F64, wide, N));
  check_packed(&p, data, sizeof data);
  if (test_has_failed()) return;

  char moved[sizeof data + 1]; /* unaligned */
  memcpy(moved + 1, data, sizeof data);
  CHECK_OK(rlx_arena_write(p.a, 1, RLX_F32, moved + 1, N));
  memset(moved, 0, sizeof moved);
  CHECK_OK(rlx_arena_read(p.a, 1, RLX_F32, moved + 1, N));
  CHECK(is_same(moved + 1, data, sizeof data));

  CHECK_FAILS(rlx_arena_write_raw(p.a, 1, 0, data, 4), RLX_UNSUPPORTED, "packed for the device (layout 7)");
  CHECK_FAILS(rlx_arena_read_raw(p.a, 1, 0, data, 4), RLX_UNSUPPORTED, "packed for the device");
  CHECK_FAILS(rlx_arena_copy_rows(p.a, 1, 0, p.a, 1, 1, 1), RLX_UNSUPPORTED, "packed for the device");
  CHECK_FAILS(rlx_arena_copy_prefix(p.a, 1, p.a, 1, 1), RLX_UNSUPPORTED, "packed for the device");
  rlx_arena_entry plain = {RLX_SEGMENT_WEIGHTS,          1,           0,
                           {p.block, 4096, sizeof data}, sizeof data, {RLX_F32, RLX_DIMS(ROWS, COLS)}};
  CHECK_OK(rlx_arena_put(p.a, 2, &plain));
  CHECK_FAILS(rlx_arena_copy_rows(p.a, 1, 0, p.a, 2, 1, 1), RLX_UNSUPPORTED, "node 1 is a weight that is packed");
  CHECK_FAILS(rlx_arena_copy_rows(p.a, 2, 0, p.a, 1, 1, 1), RLX_UNSUPPORTED, "node 1 is a weight that is packed");
  CHECK_FAILS(rlx_arena_write(p.a, 1, RLX_F32, data, N - 1), RLX_INVALID, "elements");
  check_packed(&p, data, sizeof data);
  if (test_has_failed()) return;
  packed_close(&p);
}

TEST(packed_weights) { check_packed_weight(false); }
TEST(packed_weights_mapped) { check_packed_weight(true); }

TEST(packed_weights_of_other_types) {
  packed p;
  unsigned char data[N * 4], bools[N], found[N];
  for (int i = 0; i < N; i++) bools[i] = (unsigned char)(i % 3);
  packed_open(&p, false, RLX_BOOL);
  if (test_has_failed()) return;
  CHECK_OK(rlx_arena_write(p.a, 1, RLX_BOOL, bools, N));
  for (int i = 0; i < N; i++) bools[i] = bools[i] != 0; /* bools are stored only as 0 or 1 */
  check_packed(&p, bools, N);
  if (test_has_failed()) return;
  packed_close(&p);
  packed_open(&p, false, RLX_Q4_0);
  if (test_has_failed()) return;
  size_t bytes = N / 32 * 18;
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(i * 37);
  CHECK_OK(rlx_arena_write(p.a, 1, RLX_Q4_0, data, N));
  check_packed(&p, data, bytes);
  if (test_has_failed()) return;
  CHECK_OK(rlx_arena_read(p.a, 1, RLX_Q4_0, found, N));
  CHECK(is_same(found, data, bytes));
  float values[N];
  CHECK_OK(rlx_arena_read(p.a, 1, RLX_F32, values, N));
  CHECK_FAILS(rlx_arena_write(p.a, 1, RLX_F32, values, N), RLX_UNSUPPORTED, "only as its own bytes");
  packed_close(&p);
}

static rlx_status packed_work(void *user) {
  packed *p = user;
  double wide[N] = {0};
  RLX_TRY(rlx_arena_write(p->a, 1, RLX_F64, wide, N));
  return rlx_arena_read(p->a, 1, RLX_F64, wide, N);
}

TEST(packed_weights_under_failing_allocations) {
  for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
    packed p;
    packed_open(&p, is_mapped, RLX_F32);
    if (test_has_failed()) return;
    CHECK_OK(alloc_sweep(packed_work, &p));
    packed_close(&p);
  }
}

/* ---- windows outside an arena ---- */

TEST(bound_windows) {
  fake_device f;
  fake_device_init(&f, false);
  rlx_block_pool *pool;
  rlx_block *b;
  CHECK_OK(rlx_block_pool_create(&f.base, 0, &pool));
  CHECK_OK(rlx_block_pool_get(pool, 32, true, &b));
  rlx_queue *q = rlx_block_pool_queue(pool);
  const rlx_type type = {RLX_F16, RLX_DIMS(2, 3)};
  rlx_bound at = {b, 20, 12};
  const float data[] = {1, 2, 3, 4, 5, -6};
  float found[6];
  CHECK_OK(rlx_bound_write(q, &at, &type, 0, RLX_F32, data, 6));
  CHECK_OK(rlx_bound_read(q, &at, &type, 0, RLX_F32, found, 6));
  CHECK(is_same(data, found, sizeof data));
  CHECK_FAILS(rlx_bound_write(NULL, &at, &type, 0, RLX_F32, data, 6), RLX_INVALID, "device is NULL");
  CHECK_FAILS(rlx_bound_read(q, NULL, &type, 0, RLX_F32, found, 6), RLX_INVALID, "window is NULL");
  CHECK_FAILS(rlx_bound_read(q, &at, NULL, 0, RLX_F32, found, 6), RLX_INVALID, "type is NULL");
  CHECK_FAILS(rlx_bound_read(q, &at, &type, 9, RLX_F32, found, 6), RLX_INVALID, "does not know layout 9");
  at.offset = 21;
  CHECK_FAILS(rlx_bound_write(q, &at, &type, 0, RLX_F32, data, 6), RLX_INVALID, "not inside its block of 32");
  at = (rlx_bound){NULL, 0, 12};
  CHECK_FAILS(rlx_bound_write(q, &at, &type, 0, RLX_F32, data, 6), RLX_INVALID, "no block");
  at = (rlx_bound){b, 0, 13};
  CHECK_FAILS(rlx_bound_read(q, &at, &type, 0, RLX_F32, found, 6), RLX_INVALID, "window has 13");
  rlx_block_pool_put(pool, b);
  rlx_block_pool_release(pool);
}

/* ---- devices that fail, and devices that differ ---- */

TEST(a_lost_device_is_reported) {
  for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
    fake_device f;
    fake_device_init(&f, is_mapped);
    rlx_block_pool *pool;
    rlx_arena *a, *twin;
    CHECK_OK(rlx_block_pool_create(&f.base, 1 << 20, &pool));
    const uint64_t scratch = 1024;
    CHECK_OK(rlx_arena_create(&f.base, pool, &scratch, 1, 1, &a));
    CHECK_OK(rlx_arena_create(&f.base, pool, &scratch, 1, 1, &twin));
    rlx_arena_entry e = {RLX_SEGMENT_SCRATCH, 0, 0, {rlx_arena_scratch(a, 0), 0, 40}, 40, {RLX_F32, RLX_DIMS(10)}};
    CHECK_OK(rlx_arena_put(a, 1, &e));
    e.at.block = rlx_arena_scratch(twin, 0);
    CHECK_OK(rlx_arena_put(twin, 1, &e));
    float data[10] = {0};
    double wide[10] = {0};
    f.is_lost = true;
    CHECK_FAILS(rlx_arena_write(a, 1, RLX_F32, data, 10), RLX_DEVICE_LOST, "writing node 1: fake device: lost");
    CHECK_FAILS(rlx_arena_write(a, 1, RLX_F64, wide, 10), RLX_DEVICE_LOST, "writing node 1");
    CHECK_FAILS(rlx_arena_read(a, 1, RLX_F32, data, 10), RLX_DEVICE_LOST, "reading node 1");
    CHECK_FAILS(rlx_arena_read(a, 1, RLX_F64, wide, 10), RLX_DEVICE_LOST, "reading node 1");
    CHECK_FAILS(rlx_arena_write_raw(a, 1, 0, data, 4), RLX_DEVICE_LOST, "writing node 1");
    CHECK_FAILS(rlx_arena_read_raw(a, 1, 0, data, 4), RLX_DEVICE_LOST, "reading node 1");
    CHECK_FAILS(rlx_arena_copy_rows(a, 1, 0, a, 1, 5, 5), RLX_DEVICE_LOST, "copy of rows of node 1");
    CHECK_FAILS(rlx_arena_copy_rows(a, 1, 0, a, 1, 1, 5), RLX_DEVICE_LOST, "copy of rows of node 1");
    CHECK_FAILS(rlx_arena_copy_prefix(a, 1, twin, 1, 5), RLX_DEVICE_LOST, "copy of node 1");
    CHECK_FAILS(rlx_arena_copy_segment(a, twin, RLX_SEGMENT_SCRATCH), RLX_DEVICE_LOST, "lost");
    rlx_arena_destroy(a);
    rlx_arena_destroy(twin);
    rlx_block_pool_release(pool);
    CHECK_EQ_INT(f.n_blocks, 0);
  }
}

TEST(two_devices_do_not_mix) {
  fake_device f[2];
  rlx_block_pool *pool[2];
  rlx_arena *a[2];
  const uint64_t scratch = 64;
  for (int i = 0; i < 2; i++) {
    fake_device_init(&f[i], false);
    CHECK_OK(rlx_block_pool_create(&f[i].base, 0, &pool[i]));
    CHECK_OK(rlx_arena_create(&f[i].base, pool[i], &scratch, 1, 1, &a[i]));
    rlx_arena_entry e = {RLX_SEGMENT_SCRATCH, 0, 0, {rlx_arena_scratch(a[i], 0), 0, 8}, 8, {RLX_U8, RLX_DIMS(8)}};
    CHECK_OK(rlx_arena_put(a[i], 1, &e));
  }
  CHECK_FAILS(rlx_arena_copy_rows(a[0], 1, 0, a[1], 1, 0, 1), RLX_INVALID, "two devices");
  CHECK_FAILS(rlx_arena_copy_prefix(a[0], 1, a[1], 1, 1), RLX_INVALID, "two devices");
  CHECK_FAILS(rlx_arena_copy_segment(a[0], a[1], RLX_SEGMENT_SCRATCH), RLX_INVALID, "two devices");
  for (int i = 0; i < 2; i++) {
    rlx_arena_destroy(a[i]);
    rlx_block_pool_release(pool[i]);
  }
}

/* The device runs out of memory while the arena is built: the blocks obtained so far are returned. */
TEST(an_arena_that_does_not_fit) {
  fake_device f;
  fake_device_init(&f, false);
  f.room = 1000;
  rlx_block_pool *pool;
  rlx_arena *a;
  CHECK_OK(rlx_block_pool_create(&f.base, 1 << 20, &pool));
  const uint64_t scratch[] = {400, 400, 400};
  CHECK_FAILS(rlx_arena_create(&f.base, pool, scratch, 3, 1, &a), RLX_NO_MEMORY, "scratch block 2 of 3");
  CHECK(a == NULL);
  rlx_block_pool_stats s;
  rlx_block_pool_stats_get(pool, &s);
  CHECK_EQ_INT(s.n_used, 0);
  CHECK_OK(rlx_arena_create(&f.base, pool, scratch, 2, 1, &a));
  rlx_arena_destroy(a);
  rlx_block_pool_release(pool);
  CHECK_EQ_INT(f.n_blocks, 0);
}
