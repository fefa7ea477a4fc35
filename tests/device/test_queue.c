/* The contract of queues (backend.h) on every device: order, points, one queue after another, copies to host memory,
 * and what destroying waits for. Devices differ in when the work is done: in the call, by a thread ("emu:stream", as
 * CUDA's streams), in calls that poll or wait ("emu:events", as WebGPU), or by a driver. */
#include "device/queue.h"

#include <pthread.h>
#include <string.h>

#include "device/registry.h"
#include "test.h"

enum { BYTES = 5000 };

typedef struct world {
  rlx_device *d;
  const rlx_backend *v;
  rlx_queue *q, *other;
  rlx_block *a, *b;
} world;

#define ON_EACH_DEVICE(name)                                              \
  static void name##_on(const char *device);                              \
  TEST(name##_on_cpu) { name##_on("cpu"); }                               \
  TEST(name##_on_null) { name##_on("null"); }                             \
  TEST(name##_on_emu) { name##_on("emu"); }                               \
  TEST(name##_on_emu_stream) { name##_on("emu:stream"); }                 \
  TEST(name##_on_emu_events) { name##_on("emu:events"); }                 \
  TEST(name##_on_vulkan) { name##_on("vulkan"); }                         \
  TEST(name##_on_vulkan_staging) { name##_on("vulkan:staging"); }         \
  TEST(name##_on_cuda) { name##_on("cuda"); }                             \
  TEST(name##_on_webgpu) { name##_on("webgpu"); }                         \
  TEST(name##_on_vulkan_queues) { name##_on("vulkan:staging,queues=4"); } \
  TEST(name##_on_vulkan_minimal) { name##_on("vulkan:minimal,staging"); } \
  static void name##_on(const char *device)

/* Skips the test if there is no such device. */
#define OPEN(w, device)                                           \
  do {                                                            \
    *(w) = (world){0};                                            \
    rlx_status acquired_ = rlx_device_acquire((device), &(w)->d); \
    if (acquired_ == RLX_NOT_FOUND) SKIP(rlx_message());          \
    CHECK_OK(acquired_);                                          \
    (w)->v = (w)->d->backend;                                     \
    CHECK_OK((w)->v->queue_create((w)->d, &(w)->q));              \
    CHECK_OK((w)->v->queue_create((w)->d, &(w)->other));          \
    CHECK_OK((w)->v->block_create((w)->d, BYTES, &(w)->a));       \
    CHECK_OK((w)->v->block_create((w)->d, BYTES, &(w)->b));       \
  } while (0)

static void world_close(world *w) {
  w->v->block_destroy(w->d, w->a);
  w->v->block_destroy(w->d, w->b);
  w->v->queue_destroy(w->q);
  w->v->queue_destroy(w->other);
  rlx_device_release(w->d);
}

static void fill(unsigned char *bytes, unsigned seed) {
  for (unsigned i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i * 7 + seed);
}

static bool has(const unsigned char *bytes, unsigned seed) {
  unsigned char expected[BYTES];
  fill(expected, seed);
  return memcmp(bytes, expected, BYTES) == 0;
}

/* ---- order within a queue ---- */

ON_EACH_DEVICE(work_is_in_order) {
  world w;
  OPEN(&w, device);
  unsigned char bytes[BYTES], out[BYTES];
  for (unsigned i = 0; i < 40; i++) {
    fill(bytes, i);
    CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
    fill(bytes, 99); /* reused at once */
    CHECK_OK(w.v->copy(w.q, w.b, 0, w.a, 0, BYTES));
    CHECK_OK(w.v->zero(w.q, w.a, 0, BYTES));
    if (i % 3 == 0) CHECK_OK(rlx_queue_sync(w.q));
    CHECK_OK(w.v->read(w.q, w.b, 0, out, BYTES));
    CHECK(has(out, i));
    CHECK_OK(w.v->read(w.q, w.a, 0, out, BYTES));
    CHECK(out[0] == 0 && out[BYTES - 1] == 0);
  }
  world_close(&w);
}

/* Points are reached in order, and a reached one stays reached. */
ON_EACH_DEVICE(points_are_polled_and_waited_for) {
  world w;
  OPEN(&w, device);
  unsigned char bytes[BYTES];
  uint64_t value[8];
  bool is_reached;
  CHECK_OK(w.v->wait(w.q, 0));
  CHECK_OK(w.v->poll(w.q, 0, &is_reached));
  CHECK(is_reached);
  for (unsigned i = 0; i < 8; i++) {
    fill(bytes, i);
    CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
    CHECK_OK(w.v->copy(w.q, w.b, 0, w.a, 0, BYTES));
    CHECK_OK(w.v->mark(w.q, &value[i]));
    CHECK(i == 0 || value[i] >= value[i - 1]);
  }
  for (is_reached = false; !is_reached;) CHECK_OK(w.v->poll(w.q, value[5], &is_reached));
  for (unsigned i = 0; i < 6; i++) {
    CHECK_OK(w.v->poll(w.q, value[i], &is_reached));
    CHECK(is_reached);
    CHECK_OK(w.v->wait(w.q, value[i]));
  }
  CHECK_OK(w.v->wait(w.q, value[7]));
  CHECK_OK(w.v->poll(w.q, value[7], &is_reached));
  CHECK(is_reached);
  CHECK_OK(w.v->wait(w.other, 0));
  world_close(&w);
}

/* Results are in host memory once the point after the copy is reached. */
ON_EACH_DEVICE(copies_to_host_memory_are_there_at_the_point) {
  world w;
  OPEN(&w, device);
  unsigned char bytes[BYTES];
  rlx_block *host;
  uint64_t value;
  bool is_reached = false;
  CHECK_OK((w.v->block_create_host ? w.v->block_create_host : w.v->block_create)(w.d, BYTES, &host));
  CHECK(host->map);
  for (unsigned i = 0; i < 10; i++, is_reached = false) {
    fill(bytes, i);
    CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
    CHECK_OK(w.v->copy(w.q, host, 0, w.a, 0, BYTES));
    CHECK_OK(w.v->mark(w.q, &value));
    if (i % 2) CHECK_OK(w.v->wait(w.q, value));
    while (!is_reached) CHECK_OK(w.v->poll(w.q, value, &is_reached));
    CHECK(has(host->map, i));
  }
  w.v->block_destroy(w.d, host);
  world_close(&w);
}

/* ---- two queues ---- */

ON_EACH_DEVICE(one_queue_follows_another) {
  world w;
  OPEN(&w, device);
  unsigned char bytes[BYTES], out[BYTES];
  for (unsigned i = 0; i < 30; i++) {
    fill(bytes, i);
    CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
    CHECK_OK(rlx_queue_follow(w.other, w.q));
    CHECK_OK(w.v->copy(w.other, w.b, 0, w.a, 0, BYTES));
    CHECK_OK(rlx_queue_follow(w.q, w.other)); /* before a is written again */
    if (i % 4 == 0) CHECK_OK(w.v->read(w.other, w.b, 0, out, BYTES));
    if (i % 4 == 0) CHECK(has(out, i));
  }
  CHECK_OK(w.v->read(w.other, w.b, 0, out, BYTES));
  CHECK(has(out, 29));
  world_close(&w);
}

/* A queue may be destroyed while another one waits for its last point. */
ON_EACH_DEVICE(a_queue_that_is_followed_may_be_destroyed) {
  world w;
  OPEN(&w, device);
  unsigned char bytes[BYTES], out[BYTES];
  for (unsigned i = 0; i < 10; i++) {
    rlx_queue *brief;
    CHECK_OK(w.v->queue_create(w.d, &brief));
    fill(bytes, i);
    CHECK_OK(w.v->write(brief, w.a, 0, bytes, BYTES));
    CHECK_OK(rlx_queue_follow(w.q, brief));
    CHECK_OK(w.v->copy(w.q, w.b, 0, w.a, 0, BYTES));
    w.v->queue_destroy(brief);
    CHECK_OK(w.v->read(w.q, w.b, 0, out, BYTES));
    CHECK(has(out, i));
  }
  world_close(&w);
}

typedef struct user {
  const world *w;
  rlx_queue *q;
  unsigned seed;
  rlx_status status;
  bool differs;
} user;

static void *use_often(void *arg) {
  user *u = arg;
  const rlx_backend *v = u->w->v;
  rlx_block *a = NULL;
  unsigned char bytes[BYTES], out[BYTES];
  for (unsigned i = 0; i < 30 && !u->status; i++) {
    fill(bytes, u->seed + i);
    u->status = v->block_create(u->w->d, BYTES, &a);
    if (!u->status) u->status = v->write(u->q, a, 0, bytes, BYTES);
    if (!u->status && i % 3) u->status = v->read(u->q, a, 0, out, BYTES);
    if (!u->status && i % 3) u->differs = u->differs || memcmp(out, bytes, BYTES) != 0;
    v->block_destroy(u->w->d, a); /* with a write in flight, every third time */
    a = NULL;
  }
  return NULL;
}

ON_EACH_DEVICE(threads_share_queues) {
  enum { N = 4 };
  world w;
  OPEN(&w, device);
  pthread_t threads[N];
  user users[N];
  for (unsigned i = 0; i < N; i++) {
    users[i] = (user){.w = &w, .q = i % 2 ? w.q : w.other, .seed = 31 * i};
    CHECK(pthread_create(&threads[i], NULL, use_often, &users[i]) == 0);
  }
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < N; i++) CHECK(users[i].status == RLX_OK && !users[i].differs);
  world_close(&w);
}

/* ---- destroying with work in flight ---- */

ON_EACH_DEVICE(destroying_waits_for_copies) {
  world w;
  OPEN(&w, device);
  unsigned char bytes[BYTES];
  for (unsigned i = 0; i < 20; i++) {
    rlx_block *a, *b;
    CHECK_OK(w.v->block_create(w.d, BYTES, &a));
    CHECK_OK(w.v->block_create(w.d, BYTES, &b));
    fill(bytes, i);
    CHECK_OK(w.v->write(w.q, a, 0, bytes, BYTES));
    CHECK_OK(rlx_queue_follow(w.other, w.q));
    CHECK_OK(w.v->copy(w.other, b, 0, a, 0, BYTES));
    w.v->block_destroy(w.d, i % 2 ? a : b);
    w.v->block_destroy(w.d, i % 2 ? b : a);
  }
  fill(bytes, 1);
  CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
  CHECK_OK(w.v->zero(w.other, w.b, 0, BYTES)); /* the queues are destroyed with this in flight */
  world_close(&w);
}

/* ---- when work proceeds, on the two emulated queues ---- */

/* No thread executes the work of "emu:events": a poll executes one entry, and of its own queue only. */
TEST(a_poll_is_one_entry_of_its_own_queue) {
  world w;
  OPEN(&w, "emu:events");
  unsigned char bytes[BYTES];
  uint64_t value, others;
  bool is_reached;
  fill(bytes, 1);
  for (int i = 0; i < 3; i++) CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
  CHECK_OK(w.v->mark(w.q, &value));
  CHECK_OK(w.v->zero(w.other, w.b, 0, BYTES));
  CHECK_OK(w.v->mark(w.other, &others));
  CHECK_OK(w.v->wait(w.other, others));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(w.v->poll(w.q, value, &is_reached));
    CHECK(is_reached == (i == 2));
  }
  world_close(&w);
}

/* A thread executes the work of "emu:stream": the point is reached without a call that waits. */
TEST(a_stream_proceeds_by_itself) {
  world w;
  OPEN(&w, "emu:stream");
  unsigned char bytes[BYTES];
  uint64_t value;
  bool is_reached = false;
  fill(bytes, 1);
  for (int i = 0; i < 3; i++) CHECK_OK(w.v->write(w.q, w.a, 0, bytes, BYTES));
  CHECK_OK(w.v->mark(w.q, &value));
  while (!is_reached) CHECK_OK(w.v->poll(w.q, value, &is_reached));
  world_close(&w);
}
