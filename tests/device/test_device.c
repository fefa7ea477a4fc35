/* Tests of devices: lookup by name, sharing of open devices, the block pool, and the null backend's own rules. The
 * threaded tests are also meant to run under TSan. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/block_pool.h"
#include "device/find.h"
#include "device/registry.h"
#include "fake_device.h"
#include "faults.h"
#include "test.h"

/* ---- lookup by name, on emulated machines ---- */

typedef struct shelf_device {
  const char *name, *uuid;
  rlx_device_kind kind;
} shelf_device;

static rlx_status describe_row(const shelf_device *row, const char *backend, rlx_device_info *out) {
  *out = (rlx_device_info){.kind = row->kind};
  snprintf(out->name, sizeof out->name, "%s", row->name);
  snprintf(out->backend, sizeof out->backend, "%s", backend);
  snprintf(out->uuid, sizeof out->uuid, "%s", row->uuid);
  return row->name[0] == '!' ? RLX_FAIL(RLX_DEVICE_LOST, "it fell off the bus") : RLX_OK;
}

/* A backend whose devices can only be described. */
#define SHELF(shelf, ...)                                                    \
  static const shelf_device shelf##_rows[] = {__VA_ARGS__};                  \
  static uint32_t shelf##_count(const char **why) {                          \
    (void)why;                                                               \
    return sizeof shelf##_rows / sizeof *shelf##_rows;                       \
  }                                                                          \
  static rlx_status shelf##_describe(uint32_t index, rlx_device_info *out) { \
    return describe_row(&shelf##_rows[index], #shelf, out);                  \
  }                                                                          \
  static const rlx_backend shelf = {.name = #shelf, .count = shelf##_count, .describe = shelf##_describe}

SHELF(gpu, {"!Broken", "00000000-0000-0000-0000-000000000000", RLX_DEVICE_DISCRETE},
      {"llvmpipe (LLVM 15)", "00000000-0000-0000-0000-0000000000a1", RLX_DEVICE_SOFTWARE},
      {"Arc Graphics", "00000000-0000-0000-0000-0000000000a2", RLX_DEVICE_INTEGRATED},
      {"GeForce 9", "00000000-0000-0000-0000-0000000000a3", RLX_DEVICE_DISCRETE},
      {"GeForce 9 Ti", "00000000-0000-0000-0000-0000000000a4", RLX_DEVICE_DISCRETE});
SHELF(other, {"GeForce 9", "00000000-0000-0000-0000-0000000000a3", RLX_DEVICE_DISCRETE},
      {"odd: name", "x", RLX_DEVICE_SOFTWARE});
SHELF(web, {"GeForce 9", "00000000-0000-8000-8000-0000000000b1", RLX_DEVICE_DISCRETE}, /* without UUIDs of its own */
      {"GeForce 9", "00000000-0000-8000-8000-0000000000b2", RLX_DEVICE_DISCRETE});
SHELF(host, {"Some CPU", "00000000-0000-0000-0000-0000000000c0", RLX_DEVICE_CPU});
SHELF(soft, {"Soft", "s", RLX_DEVICE_SOFTWARE});
SHELF(zero, {"zero", "z", RLX_DEVICE_NULL});

static uint32_t no_driver_count(const char **why) {
  *why = "no driver is installed";
  return 0;
}
static uint32_t silent_count(const char **why) {
  (void)why;
  return 0;
}
static const rlx_backend absent = {.name = "absent", .count = no_driver_count};
static const rlx_backend silent = {.name = "silent", .count = silent_count};

#define LIST(...)                                                \
  ((rlx_backend_list){(const rlx_backend *const[]){__VA_ARGS__}, \
                      sizeof((const rlx_backend *const[]){__VA_ARGS__}) / sizeof(const rlx_backend *)})

TEST(names_find_devices) {
  const rlx_backend_list all = LIST(&absent, &zero, &soft, &gpu, &host);
  static const struct {
    const char *name, *backend;
    uint32_t index;
    const char *variant;
  } rows[] = {
    {NULL, "gpu", 3, ""},
    {"0", "zero", 0, ""},
    {"1", "soft", 0, ""},
    {"2", "gpu", 0, ""},
    {"7", "host", 0, ""},
    {"007", "host", 0, ""},
    {"zero", "zero", 0, ""},
    {"gpu", "gpu", 0, ""},
    {"GPU:4", "gpu", 4, ""},
    {"host:0", "host", 0, ""},
    {"host:avx2", "host", 0, "avx2"},
    {"gpu:4x", "gpu", 0, "4x"},
    {"GeForce 9", "gpu", 3, ""},
    {"geforce 9 ti", "gpu", 4, ""},
    {" Ti", "gpu", 4, ""},
    {"LLVM", "gpu", 1, ""},
    {"some", "host", 0, ""},
    {"00000000-0000-0000-0000-0000000000A2", "gpu", 2, ""},
    {"00000000-0000-0000-0000-0000000000c0", "host", 0, ""},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rlx_device_place p;
    CHECK_OK(rlx_device_find(&all, rows[i].name, &p));
    if (strcmp(p.backend->name, rows[i].backend) != 0 || p.index != rows[i].index ||
        strcmp(p.variant, rows[i].variant) != 0)
      FAIL("'%s' found %s:%u:%s", rows[i].name ? rows[i].name : "NULL", p.backend->name, p.index, p.variant);
  }
}

TEST(names_that_find_nothing) {
  const rlx_backend_list all = LIST(&absent, &silent, &zero, &gpu, &other);
  static const struct {
    const char *name, *why;
  } rows[] = {
    {"", "the name is empty"},
    {"8", "no device has this number"},
    {"99999999999999999999999", "no device has this number"},
    {"-1", "no device has this number, backend, UUID or name"},
    {"absent", "this backend has no device"},
    {"absent", "absent: none (no driver is installed)"},
    {"absent:1", "this backend has no device"},
    {"silent", "silent: none (it finds no device)"},
    {"gpu:5", "no device of this backend has this index"},
    {"gpu:4294967296", "no device of this backend has this index"},
    {"gpu:", "nothing follows the colon"},
    {"gpu:a-variant-that-is-longer-than-any-name-of-one", "no such variant"},
    {"gpux", "no device has this number, backend, UUID or name"},
    {"geforce", "several devices"},
    {"Broken", "no device has this number, backend, UUID or name"},
    {"Voodoo", "1 is gpu:0 (it does not answer)"},
    {"Voodoo", "4 is gpu:3 (GeForce 9)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rlx_device_place p;
    CHECK_FAILS(rlx_device_find(&all, rows[i].name, &p), RLX_NOT_FOUND, rows[i].why);
  }
  rlx_device_place p;
  CHECK_OK(rlx_device_find(&all, "odd: name", &p)); /* a colon in a device's own name */
  /* One device that two backends have: the first of them. */
  CHECK_OK(rlx_device_find(&all, "00000000-0000-0000-0000-0000000000a3", &p));
  CHECK(p.backend == &gpu && p.index == 3);
  CHECK_OK(rlx_device_find(&LIST(&other, &gpu), "GeForce 9", &p));
  CHECK(p.backend == &other && p.index == 0);
  CHECK_OK(rlx_device_find(&LIST(&other, &web), "GeForce 9", &p)); /* the same name, and a UUID that is made of it */
  CHECK(p.backend == &other && p.index == 0);
  CHECK_OK(rlx_device_find(&LIST(&other, &web), "00000000-0000-8000-8000-0000000000b2", &p));
  CHECK(p.backend == &web && p.index == 1);
  CHECK_FAILS(rlx_device_find(&LIST(&web), "GeForce 9", &p), RLX_NOT_FOUND, "several devices");
  CHECK_FAILS(rlx_device_find(&(rlx_backend_list){NULL, 0}, "x", &p), RLX_NOT_FOUND, "no backend was built in");
}

TEST(real_devices_before_others) {
  rlx_device_place p;
  CHECK_OK(rlx_device_find(&LIST(&zero, &soft, &host), NULL, &p));
  CHECK(p.backend == &host);
  CHECK_OK(rlx_device_find(&LIST(&host, &soft, &gpu), NULL, &p));
  CHECK(p.backend == &gpu && p.index == 3); /* describe fails for the one before it */
  CHECK_OK(rlx_device_find(&LIST(&other, &gpu), NULL, &p));
  CHECK(p.backend == &other && p.index == 0);
  CHECK_OK(rlx_device_find(&LIST(&zero, &soft), NULL, &p));
  CHECK(p.backend == &soft);
  CHECK_FAILS(rlx_device_find(&LIST(&zero, &absent), NULL, &p), RLX_NOT_FOUND, "no device that computes");
}

TEST(long_lists_are_cut) {
  const rlx_backend_list all = LIST(&gpu, &gpu, &gpu, &gpu, &gpu, &gpu, &gpu, &gpu);
  rlx_device_place p;
  CHECK_FAILS(rlx_device_find(&all, "Voodoo", &p), RLX_NOT_FOUND, "device 'Voodoo'");
  CHECK(strlen(rlx_message()) < 1024);
}

/* ---- the devices of this machine ---- */

TEST(listing) {
  uint32_t n = rlx_device_count(), n_null = 0;
  CHECK(n >= 1);
  for (uint32_t i = 0; i < n; i++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    CHECK_OK(rlx_device_describe(i, &info));
    CHECK(info.name[0] && info.backend[0] && strlen(info.uuid) == 36);
    CHECK(info.align && (info.align & (info.align - 1)) == 0);
    n_null += info.kind == RLX_DEVICE_NULL;
    char number[16];
    rlx_device *by_number, *by_uuid;
    snprintf(number, sizeof number, "%u", (unsigned)i);
    CHECK_OK(rlx_device_acquire(number, &by_number));
    CHECK_OK(rlx_device_acquire(info.uuid, &by_uuid));
    CHECK(strcmp(by_number->info.uuid, info.uuid) == 0 && strcmp(by_uuid->info.uuid, info.uuid) == 0);
    rlx_device_release(by_number);
    rlx_device_release(by_uuid);
  }
  CHECK_EQ_INT(n_null, 1);
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  CHECK_FAILS(rlx_device_describe(n, &info), RLX_NOT_FOUND, "counted from 0");
  CHECK_EQ_INT(info.name[0], 0);
  CHECK_FAILS(rlx_device_describe(UINT32_MAX, &info), RLX_NOT_FOUND, "device 4294967295");
  CHECK_FAILS(rlx_device_describe(0, NULL), RLX_INVALID, "out is NULL");
}

TEST(backends_have_devices_or_a_reason) {
  uint32_t i = 0;
  const char *why, *name;
  bool has_null = false, has_cpu = false;
  for (; (name = rlx_backend_name(i, &why)); i++) {
    rlx_device *d;
    rlx_status s = rlx_device_acquire(name, &d);
    CHECK(why ? s == RLX_NOT_FOUND && *why : s == RLX_OK);
    rlx_device_release(d);
    has_null = has_null || strcmp(name, "null") == 0;
    has_cpu = has_cpu || strcmp(name, "cpu") == 0;
  }
  CHECK(has_null && has_cpu);
  CHECK(rlx_backend_name(i, NULL) == NULL && rlx_backend_name(UINT32_MAX, &why) == NULL && why == NULL);
}

TEST(kind_names) {
  CHECK_EQ_STR(rlx_device_kind_name(RLX_DEVICE_DISCRETE), "discrete");
  CHECK_EQ_STR(rlx_device_kind_name(RLX_DEVICE_INTEGRATED), "integrated");
  CHECK_EQ_STR(rlx_device_kind_name(RLX_DEVICE_CPU), "cpu");
  CHECK_EQ_STR(rlx_device_kind_name(RLX_DEVICE_SOFTWARE), "software");
  CHECK_EQ_STR(rlx_device_kind_name(RLX_DEVICE_NULL), "null");
  CHECK_EQ_STR(rlx_device_kind_name((rlx_device_kind)-1), "?");
  CHECK_EQ_STR(rlx_device_kind_name((rlx_device_kind)5), "?");
}

TEST(opened_devices_are_shared) {
  size_t live = rlx_mem_live();
  rlx_device *a, *b, *none;
  CHECK_OK(rlx_device_acquire("null", &a));
  CHECK_OK(rlx_device_acquire("NULL:0", &b));
  CHECK(a == b && a->backend == &rlx_backend_null);
  CHECK(rlx_device_retain(a) == a);
  rlx_device_release(a);
  rlx_device_release(a);
  CHECK_EQ_STR(b->info.backend, "null"); /* one reference remains */
  CHECK_FAILS(rlx_device_acquire("null:fast", &none), RLX_NOT_FOUND,
              "opening null:0: null device: there is no variant");
  CHECK(none == NULL);
  CHECK_FAILS(rlx_device_acquire("no such device", &none), RLX_NOT_FOUND, "null:0 (null)");
  CHECK_FAILS(rlx_device_acquire("null", NULL), RLX_INVALID, "out is NULL");
  rlx_device_release(b);
  rlx_device_release(NULL);
  CHECK_EQ_INT(rlx_mem_live(), live);
  fake_device f; /* not opened by the registry: not closed by it */
  fake_device_init(&f, false);
  CHECK(rlx_device_retain(&f.base) == &f.base);
  rlx_device_release(&f.base);
  rlx_device_release(&f.base);
}

TEST(variants_are_devices_of_their_own) {
  rlx_device *plain, *again, *base, *none;
  rlx_status s = rlx_device_acquire("cpu", &plain);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  CHECK_OK(rlx_device_acquire("cpu:0", &again));
  CHECK(again == plain);
  CHECK_OK(rlx_device_acquire("cpu:base", &base)); /* every machine has it */
  CHECK(base != plain && strcmp(base->info.backend, "cpu") == 0);
  CHECK_FAILS(rlx_device_acquire("cpu:z80", &none), RLX_NOT_FOUND, "opening cpu:0");
  CHECK_OK(rlx_device_acquire(NULL, &none)); /* at least as good as the cpu, never the null device */
  CHECK(none->info.kind <= RLX_DEVICE_CPU);
  rlx_device_release(none);
  rlx_device_release(base);
  rlx_device_release(again);
  rlx_device_release(plain);
}

static rlx_status acquire_and_release(void *user) {
  (void)user;
  rlx_device *a = NULL, *b = NULL;
  rlx_status s = rlx_device_acquire("null", &a);
  if (!s) s = rlx_device_acquire("null", &b);
  rlx_device_release(a);
  rlx_device_release(b);
  return s;
}

TEST(acquire_under_failing_allocations) { CHECK_OK(alloc_sweep(acquire_and_release, NULL)); }

/* ---- threads ---- */

enum { N_THREADS = 8, N_ROUNDS = 300 };

/* Runs fn(argument + i * size) in N_THREADS threads at once. */
static bool in_threads(void *(*fn)(void *), char *argument, size_t size) {
  pthread_t t[N_THREADS];
  int n = 0;
  while (n < N_THREADS && pthread_create(&t[n], NULL, fn, argument + (size_t)n * size) == 0) n++;
  for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
  return n == N_THREADS;
}

typedef struct visitor {
  unsigned seed;
  rlx_status status;
} visitor;

static void *visit_devices(void *user) {
  visitor *v = user;
  for (int i = 0; i < N_ROUNDS && !v->status; i++) {
    rlx_device *d;
    v->status = rlx_device_acquire((v->seed + (unsigned)i) % 3 ? "null" : "null:0", &d);
    if (v->status) break;
    rlx_block *b = NULL;
    v->status = d->backend->block_create(d, 16, &b); /* the device is open */
    if (b) d->backend->block_destroy(d, b);
    if (i % 2) {
      rlx_device_release(rlx_device_retain(d));
      if (rlx_device_count() == 0) v->status = RLX_INVALID;
    }
    rlx_device_release(d);
  }
  return NULL;
}

TEST(threads_acquire_and_release) {
  size_t live = rlx_mem_live();
  visitor all[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) all[i] = (visitor){.seed = i};
  CHECK(in_threads(visit_devices, (char *)all, sizeof *all));
  for (int i = 0; i < N_THREADS; i++) CHECK_EQ_INT(all[i].status, RLX_OK);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* ---- the block pool ---- */

static rlx_block_pool_stats stats_of(rlx_block_pool *p) {
  rlx_block_pool_stats s;
  rlx_block_pool_stats_get(p, &s);
  return s;
}

TEST(pool_gives_the_best_fit) {
  fake_device f;
  fake_device_init(&f, false);
  rlx_block_pool *p;
  CHECK_OK(rlx_block_pool_create(&f.base, 1 << 20, &p));
  static const uint64_t sizes[] = {1000, 400, 700, 500, 0};
  rlx_block *b[5], *held[6];
  for (int i = 0; i < 5; i++) CHECK_OK(rlx_block_pool_get(p, sizes[i], false, &b[i]));
  for (int i = 0; i < 5; i++) CHECK_EQ_INT(b[i]->bytes, sizes[i]);
  CHECK_EQ_INT(stats_of(p).used_bytes, 2600);
  CHECK_EQ_INT(stats_of(p).n_used, 5);
  for (int i = 0; i < 5; i++) rlx_block_pool_put(p, b[i]);
  CHECK_EQ_INT(stats_of(p).idle_bytes, 2600);
  CHECK_EQ_INT(stats_of(p).n_idle, 4); /* the empty block is not kept */
  CHECK_EQ_INT(stats_of(p).n_used + stats_of(p).used_bytes, 0);
  static const struct {
    uint64_t ask, get;
    bool is_new;
  } rows[] = {{450, 500, false}, {450, 700, false},  {450, 450, true},
              {499, 499, true},  {500, 1000, false}, {200, 400, false}};
  for (size_t i = 0; i < 6; i++) {
    uint64_t n_created = stats_of(p).n_created;
    CHECK_OK(rlx_block_pool_get(p, rows[i].ask, false, &held[i]));
    CHECK_EQ_INT(held[i]->bytes, rows[i].get);
    CHECK_EQ_INT(stats_of(p).n_created - n_created, rows[i].is_new);
  }
  CHECK_EQ_INT(stats_of(p).n_reused, 4);
  CHECK_EQ_INT(stats_of(p).n_idle, 0);
  CHECK_EQ_INT(f.n_blocks, 6);
  for (int i = 0; i < 6; i++) rlx_block_pool_put(p, held[i]);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(f.n_blocks, 0);
}

/* A block is reused for at least half its size: a request of half of 400 gets it, one byte less does not. */
TEST(pool_keeps_large_blocks_for_large_needs) {
  fake_device f;
  fake_device_init(&f, false);
  rlx_block_pool *p;
  rlx_block *big, *small, *half;
  CHECK_OK(rlx_block_pool_create(&f.base, 1 << 20, &p));
  CHECK_OK(rlx_block_pool_get(p, 400, false, &big));
  rlx_block_pool_put(p, big);
  CHECK_OK(rlx_block_pool_get(p, 199, false, &small));
  CHECK(small != big && small->bytes == 199);
  CHECK_OK(rlx_block_pool_get(p, 200, false, &half));
  CHECK(half == big);
  rlx_block_pool_put(p, half);
  rlx_block_pool_put(p, small);
  CHECK_OK(rlx_block_pool_get(p, 0, false, &small));
  CHECK_EQ_INT(small->bytes, 0);
  rlx_block_pool_put(p, small);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(f.n_blocks, 0);
}

TEST(pool_has_a_cap_and_a_trim) {
  fake_device f;
  fake_device_init(&f, false);
  rlx_block_pool *p;
  rlx_block *b[4];
  CHECK_OK(rlx_block_pool_create(&f.base, 1000, &p));
  static const uint64_t sizes[] = {300, 400, 300, 1001};
  for (int i = 0; i < 4; i++) CHECK_OK(rlx_block_pool_get(p, sizes[i], false, &b[i]));
  for (int i = 0; i < 3; i++) rlx_block_pool_put(p, b[i]);
  CHECK_EQ_INT(stats_of(p).idle_bytes, 1000); /* exactly the cap */
  rlx_block_pool_put(p, b[3]);                /* larger than the cap: freed at once, and evicts no other block */
  CHECK_EQ_INT(stats_of(p).idle_bytes, 1000);
  CHECK_OK(rlx_block_pool_get(p, 1, false, &b[3]));
  rlx_block_pool_put(p, b[3]); /* one byte over the cap: the least recently used block is freed */
  CHECK_EQ_INT(stats_of(p).idle_bytes, 701);
  CHECK_EQ_INT(f.live_bytes, 701);
  rlx_block_pool_trim(p, 701);
  CHECK_EQ_INT(stats_of(p).n_idle, 3);
  rlx_block_pool_trim(p, 700);
  CHECK_EQ_INT(stats_of(p).idle_bytes, 301); /* the next oldest was the 400 */
  rlx_block_pool_trim(p, 0);
  CHECK_EQ_INT(stats_of(p).n_idle + stats_of(p).idle_bytes + f.n_blocks, 0);
  rlx_block_pool_trim(p, 0);
  rlx_block_pool_release(p);

  CHECK_OK(rlx_block_pool_create(&f.base, 0, &p)); /* keeps none */
  CHECK_OK(rlx_block_pool_get(p, 5, false, &b[0]));
  rlx_block_pool_put(p, b[0]);
  CHECK_EQ_INT(f.n_blocks, 0);
  rlx_block_pool_release(p);
  CHECK_OK(rlx_block_pool_create(&f.base, 5, &p)); /* one block of exactly the cap */
  CHECK_OK(rlx_block_pool_get(p, 5, false, &b[0]));
  rlx_block_pool_put(p, b[0]);
  CHECK_EQ_INT(stats_of(p).idle_bytes, 5);
  rlx_block_pool_release(p);
  CHECK_OK(rlx_block_pool_create(&f.base, UINT64_MAX, &p)); /* keeps all */
  for (int i = 0; i < 4; i++) CHECK_OK(rlx_block_pool_get(p, sizes[i], false, &b[i]));
  for (int i = 0; i < 4; i++) rlx_block_pool_put(p, b[i]);
  CHECK_EQ_INT(f.n_blocks, 4);
  CHECK(rlx_block_pool_retain(p) == p);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(stats_of(p).n_idle, 4);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(f.n_blocks, 0);
}

TEST(pool_keeps_its_promise_of_zeroes) {
  for (int is_mapped = 0; is_mapped < 2; is_mapped++) {
    fake_device f;
    fake_device_init(&f, is_mapped);
    rlx_block_pool *p;
    rlx_block *b, *again;
    unsigned char data[100];
    CHECK_OK(rlx_block_pool_create(&f.base, 1 << 20, &p));
    CHECK_OK(rlx_block_pool_get(p, 100, true, &b)); /* a new block has undefined contents */
    CHECK_OK(f.backend.read(rlx_block_pool_queue(p), b, 0, data, 100));
    for (int i = 0; i < 100; i++) CHECK_EQ_INT(data[i], 0);
    memset(data, 7, sizeof data);
    CHECK_OK(f.backend.write(rlx_block_pool_queue(p), b, 0, data, 100));
    rlx_block_pool_put(p, b);
    uint64_t n_zeroed = f.n_zeroed;
    CHECK_OK(rlx_block_pool_get(p, 60, false, &again)); /* not requested, not zeroed */
    CHECK(again == b && f.n_zeroed == n_zeroed);
    rlx_block_pool_put(p, again);
    CHECK_OK(rlx_block_pool_get(p, 60, true, &again)); /* all 100 bytes */
    CHECK_OK(f.backend.read(rlx_block_pool_queue(p), again, 0, data, 100));
    for (int i = 0; i < 100; i++) CHECK_EQ_INT(data[i], 0);
    rlx_block_pool_put(p, again);
    f.fails_to_zero = 1;
    CHECK_FAILS(rlx_block_pool_get(p, 60, true, &again), RLX_DEVICE_LOST, "zeroing");
    CHECK(again == NULL && stats_of(p).n_used == 0);
    rlx_block_pool_release(p);
    CHECK_EQ_INT(f.n_blocks, 0);
  }
}

TEST(pool_trims_when_the_device_is_full) {
  fake_device f;
  fake_device_init(&f, false);
  f.room = 1000;
  rlx_block_pool *p;
  rlx_block *a, *b, *c;
  CHECK_OK(rlx_block_pool_create(&f.base, 1 << 20, &p));
  CHECK_OK(rlx_block_pool_get(p, 300, false, &a));
  CHECK_OK(rlx_block_pool_get(p, 300, false, &b));
  rlx_block_pool_put(p, a);
  CHECK_OK(rlx_block_pool_get(p, 700, false, &c)); /* fits only after the idle 300 are freed */
  CHECK_EQ_INT(stats_of(p).n_idle, 0);
  CHECK_EQ_INT(f.live_bytes, 1000);
  CHECK_FAILS(rlx_block_pool_get(p, 1, false, &a), RLX_NO_MEMORY, "a block of 1 bytes on fake");
  CHECK(a == NULL);
  rlx_block_pool_put(p, c);
  CHECK_FAILS(rlx_block_pool_get(p, 1001, false, &a), RLX_NO_MEMORY, "full"); /* trimmed, and still too large */
  CHECK_EQ_INT(f.live_bytes, 300);
  rlx_block_pool_put(p, b);
  rlx_block_pool_put(p, NULL);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(f.n_blocks, 0);
}

TEST(pool_takes_NULL) {
  rlx_block_pool *p = (rlx_block_pool *)&p;
  rlx_block *b = (rlx_block *)&b;
  CHECK_FAILS(rlx_block_pool_create(NULL, 0, &p), RLX_INVALID, "device is NULL");
  CHECK(p == NULL);
  CHECK_FAILS(rlx_block_pool_get(NULL, 1, false, &b), RLX_INVALID, "pool is NULL");
  CHECK(b == NULL);
  rlx_block_pool_put(NULL, NULL);
  rlx_block_pool_trim(NULL, 0);
  rlx_block_pool_release(NULL);
  CHECK(rlx_block_pool_retain(NULL) == NULL);
  CHECK_EQ_INT(stats_of(NULL).cap_bytes, 0);
}

static rlx_status pool_work(void *user) {
  rlx_block_pool *p;
  rlx_block *b[3] = {NULL};
  rlx_status s = rlx_block_pool_create(user, 1 << 20, &p);
  for (int i = 0; i < 3 && !s; i++) s = rlx_block_pool_get(p, 100u << i, i == 1, &b[i]);
  for (int i = 0; i < 3; i++) rlx_block_pool_put(p, b[i]);
  if (!s) s = rlx_block_pool_get(p, 99, true, &b[0]);
  if (!s) rlx_block_pool_put(p, b[0]);
  rlx_block_pool_release(p);
  return s;
}

TEST(pool_under_failing_allocations) {
  fake_device f;
  fake_device_init(&f, false);
  CHECK_OK(alloc_sweep(pool_work, &f.base));
  CHECK_EQ_INT(f.n_blocks, 0);
}

typedef struct borrower {
  rlx_block_pool *pool;
  rlx_device *d;
  unsigned seed;
  rlx_status status;
} borrower;

/* Each block is marked while it is held; another holder would see the wrong mark, and TSan would report both. */
static void *borrow(void *user) {
  borrower *t = user;
  for (unsigned i = 0; i < N_ROUNDS && !t->status; i++) {
    rlx_block *b;
    uint64_t mark = t->seed * 1000003ull + i, found = 0;
    t->status = rlx_block_pool_get(t->pool, 8 + (mark * 7919) % 500, i % 3 == 0, &b);
    if (t->status) break;
    t->status = t->d->backend->write(rlx_block_pool_queue(t->pool), b, 0, &mark, 8);
    if (!t->status) t->status = t->d->backend->read(rlx_block_pool_queue(t->pool), b, 0, &found, 8);
    if (!t->status && found != mark) t->status = RLX_INVALID;
    if (i % 50 == 49) rlx_block_pool_trim(t->pool, 500);
    rlx_block_pool_release(rlx_block_pool_retain(t->pool));
    rlx_block_pool_put(t->pool, b);
  }
  return NULL;
}

TEST(threads_share_a_pool) {
  fake_device f;
  fake_device_init(&f, true);
  rlx_block_pool *p;
  CHECK_OK(rlx_block_pool_create(&f.base, 1500, &p));
  borrower all[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) all[i] = (borrower){.pool = p, .d = &f.base, .seed = i};
  CHECK(in_threads(borrow, (char *)all, sizeof *all));
  for (int i = 0; i < N_THREADS; i++) CHECK_EQ_INT(all[i].status, RLX_OK);
  rlx_block_pool_stats s = stats_of(p);
  CHECK_EQ_INT(s.n_used + s.used_bytes, 0);
  CHECK(s.idle_bytes <= 1500 && s.idle_bytes == f.live_bytes && s.n_idle == f.n_blocks);
  CHECK_EQ_INT(s.n_reused + s.n_created, N_THREADS * N_ROUNDS);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(f.n_blocks, 0);
}

TEST(a_pool_keeps_its_device_open) {
  size_t live = rlx_mem_live();
  rlx_device *d;
  rlx_block_pool *p;
  rlx_block *b;
  CHECK_OK(rlx_device_acquire("null", &d));
  CHECK_OK(rlx_block_pool_create(d, 1 << 20, &p));
  rlx_device_release(d);
  CHECK_OK(rlx_block_pool_get(p, 10, true, &b));
  rlx_block_pool_put(p, b);
  rlx_block_pool_release(p);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* ---- the null backend ---- */

TEST(null_checks_every_range) {
  rlx_device *d;
  rlx_block *b;
  char data[16] = {0};
  CHECK_OK(rlx_device_acquire("null", &d));
  const rlx_backend *n = d->backend;
  rlx_queue *q;
  CHECK_OK(n->queue_create(d, &q));
  CHECK(!d->info.is_mapped && d->info.kind == RLX_DEVICE_NULL && d->info.align == 256 && d->info.view_align == 64);
  CHECK_OK(n->block_create(d, 16, &b));
  CHECK(b->map == NULL && b->bytes == 16);
  static const struct {
    uint64_t at, bytes;
    bool ok;
  } rows[] = {{0, 16, true},  {15, 1, true},  {16, 0, true},          {16, 1, false},
              {0, 17, false}, {17, 0, false}, {UINT64_MAX, 1, false}, {1, UINT64_MAX, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const rlx_status expected = rows[i].ok ? RLX_OK : RLX_INVALID;
    CHECK_EQ_INT(n->write(q, b, rows[i].at, data, rows[i].bytes), expected);
    CHECK_EQ_INT(n->read(q, b, rows[i].at, data, rows[i].bytes), expected);
    CHECK_EQ_INT(n->zero(q, b, rows[i].at, rows[i].bytes), expected);
  }
  CHECK_OK(n->copy(q, b, 0, b, 8, 8));
  CHECK_FAILS(n->copy(q, b, 0, b, 7, 8), RLX_INVALID, "overlap");
  CHECK_FAILS(n->copy(q, b, 9, b, 0, 8), RLX_INVALID, "not inside");
  CHECK_FAILS(n->copy(q, b, 0, b, 9, 8), RLX_INVALID, "not inside");
  rlx_block *none;
  CHECK_FAILS(n->block_create(d, UINT64_MAX, &none), RLX_NO_MEMORY, "block of");
  CHECK_FAILS(n->block_create(d, UINT64_MAX / 2, &none), RLX_NO_MEMORY, "block of");
  n->block_destroy(d, b);
  n->block_destroy(d, NULL);
  CHECK_OK(rlx_queue_sync(q));
  n->queue_destroy(q);
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  CHECK_FAILS(n->describe(1, &info), RLX_NOT_FOUND, "index 0");
  rlx_device_release(d);
}

static bool stop_second(void *user) { return ++*(int *)user == 2; }

TEST(null_runs_copies_and_nothing_else) {
  rlx_device *d;
  rlx_block *b;
  rlx_graph *g;
  rlx_program *p;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_U8, RLX_DIMS(4)), y = rlx_op_bit_or(g, x, x);
  rlx_graph_add_output(g, "y", y);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_device_acquire("null", &d));
  const rlx_backend *n = d->backend;
  rlx_queue *q;
  CHECK_OK(n->queue_create(d, &q));
  rlx_claim claim = {0};
  CHECK_OK(n->claim(d, &(rlx_claim_query){.graph = g, .node = y}, &claim));
  CHECK(!claim.native);
  CHECK_EQ_STR(claim.why, "the null device computes nothing");

  CHECK_OK(n->block_create(d, 16, &b));
  CHECK_OK(n->write(q, b, 0, "abcdefghijklmnop", 16));
  rlx_bound w[] = {{b, 0, 4}, {b, 8, 4}, {b, 12, 4}};
  rlx_bound_step steps[] = {{.node = x, .copy = true, .n_in = 1, .n_out = 1, .in = &w[0], .out = &w[1]},
                            {.node = x, .copy = true, .n_in = 1, .n_out = 1, .in = &w[1], .out = &w[2]},
                            {.node = y, .n_in = 1, .n_out = 1, .in = &w[0], .out = &w[1]}};
  rlx_program_desc desc = {.graph = g, .steps = steps, .n_steps = 3};
  CHECK_FAILS(n->program_create(q, &desc, &p), RLX_UNSUPPORTED, "step 2: node 2 (bit_or): the null device");
  desc.n_steps = 2;
  CHECK_OK(n->program_create(q, &desc, &p));
  uint64_t begin[2] = {0}, end[2] = {0};
  CHECK_OK(n->submit(p, 0, 2, &(rlx_run_args){.begin_ns = begin, .end_ns = end}));
  CHECK(begin[0] && begin[0] <= end[0] && end[0] <= begin[1] && begin[1] <= end[1]);
  char found[17] = {0};
  CHECK_OK(n->read(q, b, 0, found, 16));
  CHECK_EQ_STR(found, "abcdefghabcdabcd");
  CHECK_OK(n->submit(p, 2, 0, &(rlx_run_args){0}));
  CHECK_FAILS(n->submit(p, 1, 2, &(rlx_run_args){0}), RLX_INVALID, "steps 1 to 3");
  int asked = 0;
  CHECK_FAILS(n->submit(p, 0, 2, &(rlx_run_args){.cancel = stop_second, .cancel_user = &asked}), RLX_CANCELLED,
              "before step 1");
  w[1].offset = 13;
  CHECK_FAILS(n->submit(p, 0, 1, &(rlx_run_args){0}), RLX_INVALID, "step 0: copy of node 1");
  n->program_destroy(p);
  n->program_destroy(NULL);
  n->block_destroy(d, b);
  n->queue_destroy(q);
  rlx_device_release(d);
  rlx_graph_destroy(g);
}
