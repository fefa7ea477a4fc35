/* Tests of the Vulkan backend on the first available device: variants, memory, transfers, programs, lowered limits.
 * Pipelines are in test_vulkan_pipelines.c; tests with a failing or missing driver are in test_vulkan_faults.c and
 * test_cli_vulkan.py; the arena's contract on Vulkan is in some rows of test_arena.c. */
#include "test.h"

#ifndef RLX_VULKAN
TEST(vulkan) { SKIP("this library was built without Vulkan"); }
#else
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "device/registry.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/executable.h"
#include "vulkan/program.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* Acquires the device of this name until the end of the test; skips the test if there is none. */
#define ACQUIRE(name, out)                                    \
  do {                                                        \
    rlx_status acquired_ = rlx_device_acquire((name), (out)); \
    if (acquired_ == RLX_NOT_FOUND) SKIP(rlx_message());      \
    CHECK_OK(acquired_);                                      \
  } while (0)

/* Not every device has every type of memory. */
static bool is_absent(const char *name) {
  rlx_device *d;
  if (rlx_device_acquire(name, &d)) return strcmp(name, "vulkan") != 0;
  rlx_device_release(d);
  return false;
}

static const char *const memories[] = {"vulkan", "vulkan:staging", "vulkan:mapped", "vulkan:minimal,staging"};
enum { N_MEMORIES = sizeof memories / sizeof *memories };

/* ---- devices and variants ---- */

TEST(devices_come_best_first) {
  const char *why;
  uint32_t n = rlx_backend_vulkan.count(&why);
  if (!n) SKIP(why);
  CHECK(why == NULL);
  rlx_device_kind last = RLX_DEVICE_DISCRETE;
  for (uint32_t i = 0; i < n; i++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    CHECK_OK(rlx_backend_vulkan.describe(i, &info));
    CHECK(info.name[0] && info.driver[0] && info.features[0] && strlen(info.uuid) == 36);
    CHECK(info.kind >= last && info.kind != RLX_DEVICE_CPU && info.kind != RLX_DEVICE_NULL);
    CHECK(info.align >= info.view_align && info.view_align >= 16 && info.n_units > 0 && info.memory_bytes > 0);
    CHECK(info.max_block_bytes >= 1 << 30 && info.max_window_bytes >= 128 << 20 && info.max_window_bytes % 16 == 0);
    last = info.kind;
  }
  rlx_device_info none = {RLX_DEVICE_INFO_INIT};
  CHECK_FAILS(rlx_backend_vulkan.describe(n, &none), RLX_NOT_FOUND, "there are");
}

TEST(a_device_is_found_by_its_uuid) {
  rlx_device *d, *again;
  ACQUIRE("vulkan", &d);
  CHECK_OK(rlx_device_acquire(d->info.uuid, &again));
  CHECK(again == d);
  rlx_device_release(again);
  rlx_device_release(d);
}

TEST(variants_take_away) {
  rlx_device *d, *none;
  ACQUIRE("vulkan:minimal,staging", &d);
  CHECK_EQ_INT(d->info.max_window_bytes, 128 << 20);
  CHECK_EQ_INT(d->info.view_align, 256);
  CHECK(!d->info.is_mapped);
  const gpu_caps *c = &((vk_device *)d)->caps;
  CHECK(c->max_group == 128 && c->max_shared == 16384 && c->max_groups_x == 65535 && c->subgroup == 0);
  CHECK(!c->has_dot8 && !c->has_f16 && !c->has_coopmat && !c->has_coopmat_bf16);
  rlx_device_release(d);
  CHECK_OK(rlx_device_acquire("vulkan:block=70000,window=1000", &d));
  CHECK_EQ_INT(d->info.max_block_bytes, 70000);
  CHECK_EQ_INT(d->info.max_window_bytes, 992);
  rlx_device_release(d);
  CHECK_FAILS(rlx_device_acquire("vulkan:fast", &none), RLX_NOT_FOUND, "got 'fast'");
}

/* ---- blocks ---- */

/* Writes, reads, copies and fills at unaligned offsets, checked against a host copy of the whole block. */
static void check_odd_ranges(const char *name) {
  enum { N = 1024, ROUNDS = 300 };
  static unsigned char image[N], found[N], data[N];
  rlx_device *d;
  rlx_block *b;
  ACQUIRE(name, &d);
  const rlx_backend *v = d->backend;
  rlx_queue *q;
  CHECK_OK(v->queue_create(d, &q));
  CHECK_OK(v->block_create(d, N, &b));
  uint64_t seed = 1;
  for (int i = 0; i < N; i++) image[i] = (unsigned char)(i * 7);
  CHECK_OK(v->write(q, b, 0, image, N));
  for (int round = 0; round < ROUNDS; round++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t half = N / 2, at = (seed >> 33) % half, bytes = (seed >> 43) % (half - at) % 40;
    switch (round % 3) {
      case 0:
        for (uint64_t i = 0; i < bytes; i++) data[i] = image[at + i] = (unsigned char)(seed >> (i % 8 * 8));
        CHECK_OK(v->write(q, b, at, data, bytes));
        break;
      case 1:
        memset(image + at, 0, (size_t)bytes);
        CHECK_OK(v->zero(q, b, at, bytes));
        break;
      default:
        memcpy(image + half + (seed >> 53) % 400, image + at, (size_t)bytes);
        CHECK_OK(v->copy(q, b, half + (seed >> 53) % 400, b, at, bytes));
    }
    if (round % 7) continue; /* several overlapping accesses before the next read */
    CHECK_OK(v->read(q, b, 0, found, N));
    CHECK(memcmp(found, image, N) == 0);
  }
  CHECK_OK(v->read(q, b, 0, found, N));
  CHECK(memcmp(found, image, N) == 0);
  v->block_destroy(d, b);
  v->queue_destroy(q);
  rlx_device_release(d);
}

TEST(odd_ranges) { check_odd_ranges("vulkan"); }
TEST(odd_ranges_staging) { check_odd_ranges("vulkan:staging"); }
TEST(odd_ranges_minimal) { check_odd_ranges("vulkan:minimal,staging"); }

TEST(ranges_are_checked) {
  rlx_device *d;
  rlx_block *b, *empty;
  char bytes[16] = {0};
  ACQUIRE("vulkan:staging", &d);
  const rlx_backend *v = d->backend;
  rlx_queue *q;
  CHECK_OK(v->queue_create(d, &q));
  CHECK_OK(v->block_create(d, 16, &b));
  CHECK_OK(v->block_create(d, 0, &empty));
  CHECK_FAILS(v->write(q, b, 8, bytes, 9), RLX_INVALID, "9 bytes at 8 are not inside a block of 16");
  CHECK_FAILS(v->read(q, b, 17, bytes, 0), RLX_INVALID, "read");
  CHECK_FAILS(v->read(q, b, UINT64_MAX, bytes, 2), RLX_INVALID, "read");
  CHECK_FAILS(v->zero(q, b, 0, 17), RLX_INVALID, "zero");
  CHECK_FAILS(v->copy(q, b, 4, b, 0, 8), RLX_INVALID, "overlap");
  CHECK_FAILS(v->copy(q, NULL, 4, b, 0, 8), RLX_INVALID, "NULL");
  CHECK_OK(v->write(q, empty, 0, NULL, 0));
  CHECK_OK(v->read(q, empty, 0, NULL, 0));
  CHECK_OK(v->zero(q, empty, 0, 0));
  CHECK_OK(v->copy(q, b, 0, empty, 0, 0));
  v->block_destroy(d, empty);
  v->block_destroy(d, b);
  v->block_destroy(d, NULL);
  v->queue_destroy(q);
  rlx_device_release(d);
}

/* Larger than the staging ring, from an unaligned offset, in both directions and inside the device. */
TEST(large_transfers) {
  const size_t n = ((size_t)40 << 20) + 13;
  unsigned char *out = malloc(n), *in = malloc(n);
  CHECK(out && in);
  for (size_t i = 0; i < n; i++) out[i] = (unsigned char)(i * 2654435761u >> 13);
  for (int k = 0; k < N_MEMORIES; k++) {
    if (is_absent(memories[k])) continue;
    rlx_device *d;
    rlx_block *a, *b;
    ACQUIRE(memories[k], &d);
    const rlx_backend *v = d->backend;
    rlx_queue *q;
    CHECK_OK(v->queue_create(d, &q));
    CHECK_OK(v->block_create(d, n + 32, &a));
    CHECK_OK(v->block_create(d, n + 32, &b));
    CHECK_OK(v->write(q, a, 5, out, n));
    memset(in, 0, n);
    CHECK_OK(v->copy(q, b, 3, a, 5, n));
    CHECK_OK(v->zero(q, a, 0, n + 32));
    CHECK_OK(v->read(q, b, 3, in, n));
    CHECK(memcmp(in, out, n) == 0);
    CHECK_OK(v->read(q, a, 7, in, n));
    for (size_t i = 0; i < n; i += 997) CHECK_EQ_INT(in[i], 0);
    v->block_destroy(d, b);
    v->block_destroy(d, a);
    v->queue_destroy(q);
    rlx_device_release(d);
  }
  free(out);
  free(in);
}

/* Many small blocks, freed out of order and created again: each keeps its bytes. */
TEST(small_blocks_share_memory) {
  enum { N = 3000 };
  static rlx_block *blocks[N];
  rlx_device *d;
  ACQUIRE("vulkan:staging", &d);
  const rlx_backend *v = d->backend;
  const size_t live = rlx_mem_live();
  rlx_queue *q;
  CHECK_OK(v->queue_create(d, &q));
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = round; i < N; i += round + 1) {
      CHECK_OK(v->block_create(d, 4 + i % 3000, &blocks[i]));
      CHECK_OK(v->write(q, blocks[i], 0, &i, sizeof i));
    }
    for (uint32_t i = 0; i < N; i += 7) {
      uint32_t found;
      CHECK_OK(v->read(q, blocks[i], 0, &found, sizeof found));
      CHECK_EQ_INT(found, i);
    }
    for (uint32_t i = 1; i < N && round == 0; i += 2) v->block_destroy(d, blocks[i]);
  }
  size_t n_chunks = 0;
  for (const vk_chunk *c = ((vk_device *)d)->device_heap.chunks; c; c = c->next) n_chunks++;
  CHECK(n_chunks < 8);
  for (uint32_t i = 0; i < N; i++) v->block_destroy(d, blocks[i]);
  v->queue_destroy(q);
  CHECK_EQ_INT(rlx_mem_live(), live);
  rlx_device_release(d);
}

typedef struct mover {
  rlx_device *d;
  rlx_queue *q;
  unsigned seed;
  rlx_status status;
  bool differs;
} mover;

static void *move(void *user) {
  enum { BYTES = 3 << 20 };
  mover *m = user;
  const rlx_backend *v = m->d->backend;
  rlx_block *a = NULL, *b = NULL;
  unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
  m->status = out && in ? v->block_create(m->d, BYTES, &a) : RLX_NO_MEMORY;
  if (!m->status) m->status = v->block_create(m->d, BYTES, &b);
  for (unsigned round = 0; round < 12 && !m->status; round++) {
    size_t bytes = round % 3 ? 5000 + 777 * round : BYTES;
    for (size_t i = 0; i < bytes; i++) out[i] = (unsigned char)(i * m->seed + round);
    m->status = v->write(m->q, a, 0, out, bytes);
    if (!m->status) m->status = v->copy(m->q, b, 0, a, 0, bytes);
    if (!m->status) m->status = v->read(m->q, b, 0, in, bytes);
    m->differs = m->differs || memcmp(in, out, bytes) != 0;
  }
  v->block_destroy(m->d, a);
  v->block_destroy(m->d, b);
  free(out);
  free(in);
  return NULL;
}

TEST(threads_share_a_device) {
  enum { N = 6 };
  for (int k = 0; k < N_MEMORIES; k++) {
    if (is_absent(memories[k])) continue;
    rlx_device *d;
    ACQUIRE(memories[k], &d);
    rlx_queue *q, *other;
    CHECK_OK(d->backend->queue_create(d, &q));
    CHECK_OK(d->backend->queue_create(d, &other));
    pthread_t threads[N];
    mover movers[N];
    for (unsigned i = 0; i < N; i++) {
      movers[i] = (mover){.d = d, .q = i % 2 ? other : q, .seed = 2 * i + 3};
      CHECK(pthread_create(&threads[i], NULL, move, &movers[i]) == 0);
    }
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++) CHECK(movers[i].status == RLX_OK && !movers[i].differs);
    d->backend->queue_destroy(q);
    d->backend->queue_destroy(other);
    rlx_device_release(d);
  }
}

/* ---- programs of copies: order, barriers, times, cancellation ---- */

typedef struct copies {
  rlx_device *d;
  rlx_queue *q;
  rlx_graph *g;
  rlx_block *b;
  rlx_program *p;
  rlx_bound windows[16];
  rlx_bound_step steps[8];
  rlx_program_desc desc;
} copies;

enum { CELL = 256 };

/* A block of cells "0", "1", ...; each pair is a copy from one cell to another. */
static void copies_open(copies *c, const char *device, const uint8_t (*pairs)[2], size_t n) {
  unsigned char image[16 * CELL];
  *c = (copies){0};
  ACQUIRE(device, &c->d);
  CHECK_OK(c->d->backend->queue_create(c->d, &c->q));
  CHECK_OK(rlx_graph_create(&c->g));
  rlx_node x = rlx_op_input(c->g, "x", RLX_U8, RLX_DIMS(CELL));
  rlx_graph_add_output(c->g, "y", x);
  CHECK_OK(rlx_graph_finish(c->g));
  for (size_t i = 0; i < sizeof image; i++) image[i] = (unsigned char)('0' + i / CELL);
  CHECK_OK(c->d->backend->block_create(c->d, sizeof image, &c->b));
  CHECK_OK(c->d->backend->write(c->q, c->b, 0, image, sizeof image));
  for (size_t i = 0; i < n; i++) {
    c->windows[2 * i] = (rlx_bound){c->b, pairs[i][0] * CELL, CELL};
    c->windows[2 * i + 1] = (rlx_bound){c->b, pairs[i][1] * CELL, CELL};
    c->steps[i] = (rlx_bound_step){
      .node = x, .copy = true, .n_in = 1, .n_out = 1, .in = &c->windows[2 * i], .out = &c->windows[2 * i + 1]};
  }
  c->desc = (rlx_program_desc){.graph = c->g, .steps = c->steps, .n_steps = n};
  CHECK_OK(c->d->backend->program_create(c->q, &c->desc, &c->p));
}

static void copies_close(copies *c) {
  if (!c->d) return;
  c->d->backend->program_destroy(c->p);
  c->d->backend->block_destroy(c->d, c->b);
  c->d->backend->queue_destroy(c->q);
  rlx_graph_destroy(c->g);
  rlx_device_release(c->d);
}

/* The cells, by their first and last bytes. */
static void copies_expect(copies *c, const char *cells) {
  unsigned char image[16 * CELL];
  CHECK_OK(rlx_queue_sync(c->q)); /* the block may be mapped: reading it would not wait for the program */
  CHECK_OK(c->d->backend->read(c->q, c->b, 0, image, sizeof image));
  for (size_t i = 0; cells[i]; i++) {
    CHECK_EQ_INT(image[i * CELL], cells[i]);
    CHECK_EQ_INT(image[i * CELL + CELL - 1], cells[i]);
  }
}

/* Copies that share no cell need no barrier between them; read after write, write after read and write after write do.
 * The first barrier is the one that every submission begins with. */
TEST(barriers_only_where_windows_meet) {
  static const struct {
    uint8_t pairs[4][2];
    uint64_t barriers;
    const char *cells;
  } rows[] = {
    {{{0, 4}, {1, 5}, {2, 6}, {0, 7}}, 1, "01230120"}, /* independent; two read one cell */
    {{{0, 1}, {1, 2}, {2, 3}, {3, 4}}, 4, "00000567"}, /* read after write */
    {{{0, 4}, {1, 0}, {2, 5}, {3, 6}}, 2, "11230237"}, /* write after read */
    {{{0, 4}, {1, 4}, {2, 4}, {3, 4}}, 4, "01233567"}, /* write after write */
    {{{0, 4}, {4, 5}, {1, 6}, {2, 7}}, 2, "01230012"}, /* one barrier serves all later accesses */
  };
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    copies c;
    copies_open(&c, "vulkan", rows[k].pairs, 4);
    if (test_all.result != TEST_PASSED) return;
    CHECK_OK(c.d->backend->submit(c.p, 0, 4, &(rlx_run_args){0}));
    copies_expect(&c, rows[k].cells);
    vk_counts counts;
    vk_program_counts(c.p, &counts);
    CHECK_EQ_INT(counts.copies, 4);
    CHECK_EQ_INT(counts.dispatches, 0);
    CHECK_EQ_INT(counts.barriers, rows[k].barriers);
    copies_close(&c);
  }
}

/* Any span, many times; a recorded span is not recorded again. */
TEST(spans_are_recorded_once) {
  static const uint8_t pairs[4][2] = {{0, 1}, {2, 3}, {3, 4}, {4, 5}};
  for (int k = 0; k < N_MEMORIES; k++) {
    if (is_absent(memories[k])) continue;
    copies c;
    copies_open(&c, memories[k], pairs, 4);
    if (test_all.result != TEST_PASSED) return;
    const rlx_backend *v = c.d->backend;
    CHECK_OK(v->submit(c.p, 1, 2, &(rlx_run_args){0}));
    copies_expect(&c, "012225");
    CHECK_OK(v->submit(c.p, 3, 1, &(rlx_run_args){0}));
    copies_expect(&c, "012222");
    CHECK_OK(v->submit(c.p, 4, 0, &(rlx_run_args){0}));
    CHECK_OK(v->submit(c.p, 0, 4, &(rlx_run_args){0}));
    copies_expect(&c, "002222");
    size_t live = rlx_mem_live();
    vk_counts once, again;
    vk_program_counts(c.p, &once);
    for (int i = 0; i < 20; i++) {
      CHECK_OK(v->submit(c.p, 1, 2, &(rlx_run_args){0}));
      CHECK_OK(v->submit(c.p, 0, 4, &(rlx_run_args){0}));
    }
    vk_program_counts(c.p, &again);
    CHECK_EQ_INT(again.copies, once.copies);
    CHECK_EQ_INT(rlx_mem_live(), live);
    CHECK_FAILS(v->submit(c.p, 2, 3, &(rlx_run_args){0}), RLX_INVALID, "3 steps from 2");
    copies_close(&c);
  }
}

static bool stop_third(void *user) { return ++*(int *)user == 3; }

/* With one unit of work per submission the caller's cancel function is polled before each step, and times stay in
 * order. */
TEST(submissions_are_cut_timed_and_stopped) {
  static const uint8_t pairs[4][2] = {{0, 4}, {4, 5}, {5, 6}, {6, 7}};
  static const char *const devices[] = {"vulkan:staging,submit=1", "vulkan:minimal,submit=1", "vulkan"};
  for (int k = 0; k < 3; k++) {
    copies c;
    copies_open(&c, devices[k], pairs, 4);
    if (test_all.result != TEST_PASSED) return;
    const rlx_backend *v = c.d->backend;
    int asked = 0;
    const rlx_run_args stops = {.cancel = stop_third, .cancel_user = &asked};
    if (k < 2) {
      CHECK_FAILS(v->submit(c.p, 0, 4, &stops), RLX_CANCELLED, "node 1 (input): stopped by the caller");
      copies_expect(&c, "01230067");
    } else {
      CHECK_OK(v->submit(c.p, 0, 4, &stops));
      CHECK_EQ_INT(asked, 1);
    }
    uint64_t begin[4] = {0}, end[4] = {0};
    const uint64_t before = rlx_now_ns();
    for (int i = 0; i < 3; i++) CHECK_OK(v->submit(c.p, 0, 4, &(rlx_run_args){.begin_ns = begin, .end_ns = end}));
    copies_expect(&c, "01230000");
    CHECK(begin[0] >= before && begin[0] < rlx_now_ns());
    for (int i = 0; i < 4; i++) CHECK(begin[i] <= end[i] && (i == 0 || end[i - 1] <= begin[i]));
    CHECK(end[3] > begin[0]);
    copies_close(&c);
  }
}

TEST(wrong_programs_are_reported) {
  static const uint8_t pairs[1][2] = {{0, 1}};
  copies c;
  rlx_program *p;
  copies_open(&c, "vulkan", pairs, 1);
  if (test_all.result != TEST_PASSED) return;
  const rlx_backend *v = c.d->backend;
  c.windows[1].offset = 16 * CELL - 1;
  CHECK_FAILS(v->program_create(c.q, &c.desc, &p), RLX_INVALID, "node 1 (input): result 0: 256 bytes at 4095");
  c.windows[1] = (rlx_bound){c.b, 0, CELL / 2};
  CHECK_FAILS(v->program_create(c.q, &c.desc, &p), RLX_INVALID, "of equal bytes");
  c.steps[0].copy = false;
  CHECK_FAILS(v->program_create(c.q, &c.desc, &p), RLX_UNSUPPORTED, "node 1 (input)");
  CHECK(p == NULL);
  copies_close(&c);
}

/* ---- programs of kernels ---- */

static rlx_status softmax_graph(const char *shape, rlx_graph **out) {
  char leaves[64];
  snprintf(leaves, sizeof leaves, "x: f32%s", shape);
  return expr_graph(leaves, "%a = softmax(%x); %b = softmax(%a); softmax(%b)", out);
}

TEST(kernels_run_on_every_kind_of_memory) {
  for (int k = 0; k < N_MEMORIES; k++) {
    if (is_absent(memories[k])) continue;
    rlx_session *s;
    rlx_graph *g;
    OPEN_SESSION(memories[k], 1, &s);
    CHECK_OK(softmax_graph("[33,70]", &g));
    CHECK_OK(run_check(s, g, OPTIONS(.switches = RLX_SWITCH_FORBID_HOST), 7, 3, false));
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
  }
}

static bool count_allocation(void *user, size_t bytes) {
  (void)bytes;
  atomic_fetch_add((atomic_size_t *)user, 1);
  return true;
}

/* A chain of three kernels is three dispatches with two barriers between them; runs after the first allocate
 * nothing. */
TEST(steady_runs_allocate_nothing) {
  for (int k = 0; k < N_MEMORIES; k++) {
    if (is_absent(memories[k])) continue;
    rlx_session *s;
    rlx_graph *g;
    rlx_executable *e;
    static float x[32 * 64], y[32 * 64];
    OPEN_SESSION(memories[k], 1, &s);
    CHECK_OK(softmax_graph("[32,64]", &g));
    CHECK_OK(rlx_compile(s, g, OPTIONS(.without = "fold,simplify,fuse"), &e));
    CHECK_OK(rlx_executable_bind_input(e, "x", x, sizeof x));
    CHECK_OK(rlx_executable_bind_output(e, "y", y, sizeof y));
    for (int i = 0; i < 2; i++) CHECK_OK(rlx_executable_run(e));
    vk_counts counts;
    vk_program_counts(e->now->program, &counts);
    CHECK_EQ_INT(counts.dispatches, 3);
    CHECK_EQ_INT(counts.barriers, 3);
    atomic_size_t count = 0;
    rlx_mem_set_hook(count_allocation, &count);
    rlx_status status = RLX_OK;
    for (int i = 0; i < 20 && !status; i++) {
      x[i] = (float)i;
      status = rlx_executable_run(e);
    }
    rlx_mem_set_hook(NULL, NULL);
    CHECK_OK(status);
    CHECK_EQ_INT(atomic_load(&count), 0);
    CHECK(y[0] > 0 && y[0] < 1);
    rlx_executable_destroy(e);
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
  }
}

/* ---- lowered limits ---- */

static uint32_t count_blocks(const rlx_plan *p) { return p->n_scratch; }

/* Four values of 64 KiB are live at once, and a block holds one. */
TEST(an_arena_is_split_into_blocks) {
  static const char *const devices[] = {"vulkan:staging,block=65536", "vulkan:mapped,block=65536",
                                        "vulkan:minimal,block=65536"};
  for (int k = 0; k < 3; k++) {
    rlx_session *s;
    rlx_graph *g;
    rlx_executable *e;
    if (k > 0 && is_absent(devices[k])) continue;
    OPEN_SESSION(devices[k], 1, &s);
    CHECK_OK(softmax_graph("[128,128]", &g));
    CHECK_OK(rlx_compile(s, g, OPTIONS(.switches = RLX_SWITCH_KEEP_VALUES | RLX_SWITCH_NO_IN_PLACE), &e));
    CHECK(count_blocks(e->now->compiled->plan) >= 4);
    rlx_executable_destroy(e);
    CHECK_OK(run_check(s, g, OPTIONS(.switches = RLX_SWITCH_KEEP_VALUES | RLX_SWITCH_NO_IN_PLACE), 3, 2, false));
    rlx_graph_destroy(g);
    CHECK_OK(softmax_graph("[129,128]", &g));
    CHECK_FAILS(rlx_compile(s, g, NULL, &e), RLX_UNSUPPORTED, "66048");
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
  }
}

/* Weights that are together larger than the largest block. */
TEST(weights_are_split_into_blocks) {
  rlx_session *s;
  rlx_graph *g;
  OPEN_SESSION("vulkan:staging,block=65536", 1, &s);
  CHECK_OK(expr_graph("x: f32[1,16384]; param a: f32[1,16384]; param b: f32[1,16384]; param c: f32[1,16384]",
                      "%d = softmax(%a); %e = softmax(%b); %f = softmax(%c); %g = add(%x, %d); %h = add(%g, %e); "
                      "add(%h, %f)",
                      &g));
  CHECK_OK(run_check(s, g, NULL, 5, 2, false));
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* An arena of 300 MiB with bindings of at most 128 MiB: stored in several blocks or as windows of one, as the device
 * allows. */
TEST(an_arena_of_300_mib_and_bindings_of_128) {
  enum { ROWS = 25600, COLS = 1024 };
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  const size_t bytes = (size_t)ROWS * COLS * sizeof(float);
  OPEN_SESSION("vulkan:window=134217728", 1, &s);
  CHECK_OK(softmax_graph("[25600,1024]", &g));
  CHECK_OK(rlx_compile(
    s, g, OPTIONS(.switches = RLX_SWITCH_KEEP_VALUES | RLX_SWITCH_NO_IN_PLACE | RLX_SWITCH_FORBID_HOST), &e));
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  CHECK_OK(rlx_executable_memory(e, &memory));
  CHECK(memory.scratch >= (uint64_t)300 << 20);
  float *x = malloc(bytes);
  CHECK(x);
  for (size_t i = 0; i < ROWS * COLS; i++) x[i] = (float)(i % COLS) * 0.001f;
  rlx_status status = rlx_executable_write(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(ROWS, COLS), {x}, bytes});
  if (status == RLX_NO_MEMORY) {
    free(x);
    rlx_executable_destroy(e);
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
    SKIP("the device has not 400 MiB to spare");
  }
  CHECK_OK(status);
  CHECK_OK(rlx_executable_run(e));
  rlx_tensor y = {.dtype = RLX_F32, .data = x, .bytes = bytes};
  CHECK_OK(rlx_executable_read(e, "y", &y));
  for (size_t r = 0; r < ROWS; r += 1023) {
    double sum = 0;
    for (size_t i = 0; i < COLS; i++) sum += x[r * COLS + i];
    CHECK(sum > 0.9999 && sum < 1.0001 && x[r * COLS] < x[r * COLS + COLS - 1]);
  }
  free(x);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
#endif
