/* Tests of the WebGPU backend on the first available adapter: variants, transfers, programs, lowered limits. Faults are
 * in test_webgpu_faults.c; the contracts of arenas and queues on WebGPU are rows of test_arena.c and test_queue.c. The
 * library is the one that RLX_WEBGPU_LIBRARY names (tools/kernels --wgpu prints one); without it the tests are
 * skipped. */
#include "test.h"

#ifndef RLX_WEBGPU
TEST(webgpu) { SKIP("this library was built without WebGPU"); }
#else
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "device/queue.h"
#include "device/registry.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/executable.h"
#include "webgpu/program.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* Acquires the device of this name until the end of the test; skips the test if there is none. */
#define ACQUIRE(name, out)                                    \
  do {                                                        \
    rlx_status acquired_ = rlx_device_acquire((name), (out)); \
    if (acquired_ == RLX_NOT_FOUND) SKIP(rlx_message());      \
    CHECK_OK(acquired_);                                      \
  } while (0)

static const char *const devices[] = {"webgpu", "webgpu:minimal"};
enum { N_DEVICES = sizeof devices / sizeof *devices };

/* ---- devices and variants ---- */

TEST(devices_come_best_first) {
  const char *why;
  uint32_t n = rlx_backend_webgpu.count(&why);
  if (!n) SKIP(why);
  CHECK(why == NULL);
  rlx_device_kind last = RLX_DEVICE_DISCRETE;
  for (uint32_t i = 0; i < n; i++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    CHECK_OK(rlx_backend_webgpu.describe(i, &info));
    CHECK(info.name[0] && strstr(info.driver, " on ") && info.features[0] && strlen(info.uuid) == 36);
    CHECK(info.kind >= last && info.kind != RLX_DEVICE_CPU && info.kind != RLX_DEVICE_NULL);
    CHECK(!strstr(info.name, "llvmpipe") || info.kind == RLX_DEVICE_SOFTWARE);
    CHECK(info.align >= info.view_align && info.view_align >= 16 && info.n_units > 0 && !info.is_mapped);
    CHECK(info.max_block_bytes >= 256 << 20 && info.max_window_bytes >= 128 << 20 && info.max_window_bytes % 16 == 0);
    last = info.kind;
  }
  rlx_device_info none = {RLX_DEVICE_INFO_INIT};
  CHECK_FAILS(rlx_backend_webgpu.describe(n, &none), RLX_NOT_FOUND, "there are");
}

TEST(variants_take_away) {
  rlx_device *d, *none;
  ACQUIRE("webgpu:minimal", &d);
  CHECK_EQ_INT(d->info.max_window_bytes, 128 << 20);
  CHECK_EQ_INT(d->info.max_block_bytes, 256 << 20);
  CHECK_EQ_INT(d->info.view_align, 256);
  const gpu_caps *c = &((wg_device *)d)->caps;
  CHECK(c->max_group <= 256 && c->max_shared == 16384 && c->max_groups_x == 65535 && c->subgroup == 0 && !c->has_f16);
  rlx_device_release(d);
  CHECK_OK(rlx_device_acquire("webgpu:block=70000,window=1000", &d));
  CHECK_EQ_INT(d->info.max_block_bytes, 70000);
  CHECK_EQ_INT(d->info.max_window_bytes, 992);
  rlx_device_release(d);
  CHECK_OK(rlx_device_acquire("webgpu:subgroup=1", &d));
  CHECK_EQ_INT(((wg_device *)d)->caps.subgroup, 0);
  rlx_device_release(d);
  CHECK_FAILS(rlx_device_acquire("webgpu:fast", &none), RLX_NOT_FOUND, "got 'fast'");
}

/* ---- blocks ---- */

/* Writes, reads, copies and fills at unaligned offsets, in one block and between two, checked against a host copy of
 * both. WebGPU copies words only, so the neighbours of a range are what may go wrong. */
static void check_odd_ranges(const char *name) {
  enum { N = 1024, ROUNDS = 300 };
  static unsigned char image[2][N], found[N], data[N];
  rlx_device *d;
  rlx_block *b[2];
  ACQUIRE(name, &d);
  const rlx_backend *v = d->backend;
  rlx_queue *q;
  CHECK_OK(v->queue_create(d, &q));
  for (int k = 0; k < 2; k++) {
    CHECK_OK(v->block_create(d, N, &b[k]));
    for (int i = 0; i < N; i++) image[k][i] = (unsigned char)(i * 7 + k);
    CHECK_OK(v->write(q, b[k], 0, image[k], N));
  }
  uint64_t seed = 1;
  for (int round = 0; round < ROUNDS; round++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t half = N / 2, at = (seed >> 33) % half, bytes = (seed >> 43) % (half - at) % 40;
    const uint64_t to = half + (seed >> 53) % 400;
    const int k = (int)(seed >> 40 & 1), other = (int)(seed >> 41 & 1);
    switch (round % 3) {
      case 0:
        for (uint64_t i = 0; i < bytes; i++) data[i] = image[k][at + i] = (unsigned char)(seed >> (i % 8 * 8));
        CHECK_OK(v->write(q, b[k], at, data, bytes));
        break;
      case 1:
        memset(image[k] + at, 0, (size_t)bytes);
        CHECK_OK(v->zero(q, b[k], at, bytes));
        break;
      default:
        memcpy(image[other] + to, image[k] + at, (size_t)bytes);
        CHECK_OK(v->copy(q, b[other], to, b[k], at, bytes));
    }
    if (round % 7) continue; /* several overlapping accesses before the next read */
    CHECK_OK(v->read(q, b[k], 0, found, N));
    CHECK(memcmp(found, image[k], N) == 0);
    CHECK_OK(v->read(q, b[k], at + 1, found, bytes));
    CHECK(memcmp(found, image[k] + at + 1, (size_t)bytes) == 0);
  }
  for (int k = 0; k < 2; k++) {
    CHECK_OK(v->read(q, b[k], 0, found, N));
    CHECK(memcmp(found, image[k], N) == 0);
    v->block_destroy(d, b[k]);
  }
  v->queue_destroy(q);
  rlx_device_release(d);
}

TEST(odd_ranges) { check_odd_ranges("webgpu"); }
TEST(odd_ranges_minimal) { check_odd_ranges("webgpu:minimal"); }

TEST(ranges_are_checked) {
  rlx_device *d;
  rlx_block *b, *empty, *host;
  char bytes[16] = {0};
  ACQUIRE("webgpu", &d);
  const rlx_backend *v = d->backend;
  rlx_queue *q;
  CHECK_OK(v->queue_create(d, &q));
  CHECK_OK(v->block_create(d, 16, &b));
  CHECK_OK(v->block_create(d, 0, &empty));
  CHECK_OK(v->block_create_host(d, 16, &host));
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
  /* host memory: each call sees the copies before it */
  CHECK_OK(v->write(q, b, 0, "0123456789abcdef", 16));
  CHECK_OK(v->copy(q, host, 1, b, 3, 5));
  CHECK_OK(v->read(q, host, 0, bytes, 8));
  CHECK(memcmp(bytes, "\00034567\0", 8) == 0);
  CHECK_OK(v->copy(q, host, 0, b, 10, 6));
  CHECK_OK(v->zero(q, host, 2, 2));
  CHECK_OK(v->copy(q, b, 0, host, 1, 5));
  CHECK_OK(v->read(q, b, 0, bytes, 8));
  CHECK(memcmp(bytes, "b\0\0ef567", 8) == 0);
  CHECK_OK(v->copy(q, host, 0, b, 0, 16)); /* destroyed before it is submitted */
  v->block_destroy(d, host);
  v->block_destroy(d, empty);
  v->block_destroy(d, b);
  v->block_destroy(d, NULL);
  rlx_block *none;
  CHECK_FAILS(v->block_create(d, UINT64_MAX / 2, &none), RLX_NO_MEMORY, "has buffers of at most");
  CHECK(none == NULL);
  v->queue_destroy(q);
  rlx_device_release(d);
}

/* Larger than all pieces in flight, from an unaligned offset, in both directions and inside the device. */
TEST(large_transfers) {
  const size_t n = ((size_t)40 << 20) + 13;
  unsigned char *out = malloc(n), *in = malloc(n);
  CHECK(out && in);
  for (size_t i = 0; i < n; i++) out[i] = (unsigned char)(i * 2654435761u >> 13);
  for (int k = 0; k < N_DEVICES; k++) {
    rlx_device *d;
    rlx_block *a, *b;
    ACQUIRE(devices[k], &d);
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
  rlx_device *d;
  ACQUIRE("webgpu", &d);
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

/* ---- programs of copies: order, times, cancellation ---- */

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
  CHECK_OK(c->d->backend->read(c->q, c->b, 0, image, sizeof image));
  for (size_t i = 0; cells[i]; i++) {
    CHECK_EQ_INT(image[i * CELL], cells[i]);
    CHECK_EQ_INT(image[i * CELL + CELL - 1], cells[i]);
  }
}

static bool stop_third(void *user) { return ++*(int *)user == 3; }

/* With one unit of work per submission the caller's cancel function is polled before each step, and times stay in
 * order. */
TEST(submissions_are_cut_timed_and_stopped) {
  static const uint8_t pairs[4][2] = {{0, 4}, {4, 5}, {5, 6}, {6, 7}};
  static const char *const names[] = {"webgpu:submit=1", "webgpu:minimal,submit=1", "webgpu"};
  for (int k = 0; k < 3; k++) {
    copies c;
    copies_open(&c, names[k], pairs, 4);
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
    const uint64_t before = rlx_now_ns(), n_before = ((wg_device *)c.d)->submitted;
    for (int i = 0; i < 3; i++) CHECK_OK(v->submit(c.p, 0, 4, &(rlx_run_args){.begin_ns = begin, .end_ns = end}));
    /* with the device's clock: the steps, and what it counted; otherwise a submission for each step */
    const bool has_clock = ((wg_device *)c.d)->has_timestamps && !c.p->times.is_refused;
    if (k == 2) CHECK_EQ_INT(((wg_device *)c.d)->submitted - n_before, has_clock ? 6 : 12);
    copies_expect(&c, "01230000");
    CHECK(begin[0] >= before && begin[0] < rlx_now_ns());
    for (int i = 0; i < 4; i++) CHECK(begin[i] <= end[i] && (i == 0 || end[i - 1] <= begin[i]));
    CHECK_FAILS(v->submit(c.p, 2, 3, &(rlx_run_args){0}), RLX_INVALID, "3 steps from 2");
    CHECK_OK(v->submit(c.p, 4, 0, &(rlx_run_args){0}));
    copies_close(&c);
  }
}

TEST(wrong_programs_are_reported) {
  static const uint8_t pairs[1][2] = {{0, 1}};
  copies c;
  rlx_program *p;
  copies_open(&c, "webgpu", pairs, 1);
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

static bool count_allocation(void *user, size_t bytes) {
  (void)bytes;
  atomic_fetch_add((atomic_size_t *)user, 1);
  return true;
}

/* Runs after the first allocate nothing of the host's; what the library allocates itself is not counted. */
TEST(steady_runs_allocate_nothing) {
  for (int k = 0; k < N_DEVICES; k++) {
    rlx_session *s;
    rlx_graph *g;
    rlx_executable *e;
    static float x[32 * 64], y[32 * 64];
    OPEN_SESSION(devices[k], 1, &s);
    CHECK_OK(softmax_graph("[32,64]", &g));
    CHECK_OK(rlx_compile(s, g, OPTIONS(.without = "fold,simplify,fuse"), &e));
    CHECK_OK(rlx_executable_bind_input(e, "x", x, sizeof x));
    CHECK_OK(rlx_executable_bind_output(e, "y", y, sizeof y));
    for (int i = 0; i < 2; i++) CHECK_OK(rlx_executable_run(e));
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

/* Kernels with subgroup operations, on a driver whose subgroups have eight lanes (lavapipe's, of 256 bits). */
TEST(subgroups) {
  rlx_device *d;
  rlx_session *s;
  rlx_graph *g;
  ACQUIRE("webgpu:subgroup=8", &d);
  const wg_device *w = (const wg_device *)d;
  const uint32_t size = w->caps.subgroup;
  const bool is_known = strstr(d->info.name, "llvmpipe") && strstr(d->info.name, "256 bits");
  rlx_device_release(d);
  if (!is_known) SKIP("the size of this driver's subgroups is not known");
  if (!size) SKIP("this library has no subgroups");
  CHECK_EQ_INT(size, 8);
  OPEN_SESSION("webgpu:subgroup=8", 1, &s);
  CHECK_OK(expr_graph(
    "x: f32[5,300]; param w: f32[300,300]",
    "%a = softmax(%x); %b = matmul(%a, %w) {trans_b=true}; %c = softmax(%b); reduce_sum(%c) {axes=[1]}", &g));
  CHECK_OK(run_check(s, g, OPTIONS(.switches = RLX_SWITCH_FORBID_HOST), 3, 2, false));
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- lowered limits ---- */

/* Four values of 64 KiB are live at once, and a block holds one. */
TEST(an_arena_is_split_into_blocks) {
  static const char *const names[] = {"webgpu:block=65536", "webgpu:minimal,block=65536"};
  for (int k = 0; k < 2; k++) {
    rlx_session *s;
    rlx_graph *g;
    rlx_executable *e;
    OPEN_SESSION(names[k], 1, &s);
    CHECK_OK(softmax_graph("[128,128]", &g));
    CHECK_OK(rlx_compile(s, g, OPTIONS(.switches = RLX_SWITCH_KEEP_VALUES | RLX_SWITCH_NO_IN_PLACE), &e));
    CHECK(e->now->compiled->plan->n_scratch >= 4);
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
  OPEN_SESSION("webgpu:block=65536", 1, &s);
  CHECK_OK(expr_graph("x: f32[1,16384]; param a: f32[1,16384]; param b: f32[1,16384]; param c: f32[1,16384]",
                      "%d = softmax(%a); %e = softmax(%b); %f = softmax(%c); %g = add(%x, %d); %h = add(%g, %e); "
                      "add(%h, %f)",
                      &g));
  CHECK_OK(run_check(s, g, NULL, 5, 2, false));
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* A tensor that is larger than a binding runs on the host, and the rest on the device. */
TEST(a_tensor_larger_than_a_binding) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  OPEN_SESSION("webgpu:window=4096", 1, &s);
  CHECK_OK(softmax_graph("[8,64]", &g));
  CHECK_OK(run_check(s, g, OPTIONS(.switches = RLX_SWITCH_FORBID_HOST), 5, 2, false));
  rlx_graph_destroy(g);
  CHECK_OK(softmax_graph("[32,64]", &g));
  CHECK_OK(run_check(s, g, NULL, 5, 2, false));
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.switches = RLX_SWITCH_FORBID_HOST), &e), RLX_UNSUPPORTED, "softmax");
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
#endif
