/* Checks of a device through its backend: see device_checks.h. Each opens what it needs and closes it again, so that
 * they may come in any order; the host's copy of a block says what must be in it. */
#include "device_checks.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/executable.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* ---- a backend's list ---- */

void check_devices(const rlx_backend *backend, void (*more)(const rlx_device_info *info)) {
  const char *why;
  uint32_t n = backend->count(&why);
  if (!n) SKIP(why);
  CHECK(why == NULL);
  rlx_device_kind last = RLX_DEVICE_DISCRETE;
  for (uint32_t i = 0; i < n; i++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    CHECK_OK(backend->describe(i, &info));
    CHECK(info.name[0] && info.driver[0] && info.features[0] && strlen(info.uuid) == 36);
    CHECK(info.kind >= last && info.kind != RLX_DEVICE_CPU && info.kind != RLX_DEVICE_NULL);
    CHECK(info.align >= info.view_align && info.view_align >= 16 && info.n_units > 0);
    CHECK(info.max_window_bytes >= 128 << 20 && info.max_window_bytes % 16 == 0);
    more(&info);
    STOP_UNLESS_PASSED;
    last = info.kind;
  }
  rlx_device_info none = {RLX_DEVICE_INFO_INIT};
  CHECK_FAILS(backend->describe(n, &none), RLX_NOT_FOUND, "there are");
}

void check_lowered_limits(const char *backend) {
  rlx_device *d, *none;
  char name[64];
  snprintf(name, sizeof name, "%s:block=70000,window=1000", backend);
  CHECK_OK(rlx_device_acquire(name, &d));
  CHECK_EQ_INT(d->info.max_block_bytes, 70000);
  CHECK_EQ_INT(d->info.max_window_bytes, 992);
  rlx_device_release(d);
  snprintf(name, sizeof name, "%s:fast", backend);
  CHECK_FAILS(rlx_device_acquire(name, &none), RLX_NOT_FOUND, "got 'fast'");
}

/* ---- transfers ---- */

enum { ODD_BYTES = 1024, ODD_ROUNDS = 300 };

typedef struct odd {
  const rlx_backend *v;
  rlx_queue *q;
  rlx_block *b[2];
  unsigned char image[2][ODD_BYTES]; /* what the blocks must have */
} odd;

static void odd_compare(odd *o, int k) {
  unsigned char found[ODD_BYTES];
  CHECK_OK(o->v->read(o->q, o->b[k], 0, found, ODD_BYTES));
  CHECK(memcmp(found, o->image[k], ODD_BYTES) == 0);
}

/* From the first half of a block to the second of either. Where only words are copied, the neighbours of a range are
 * what may go wrong. */
static void odd_round(odd *o, int round, uint64_t seed) {
  const uint64_t half = ODD_BYTES / 2, at = (seed >> 33) % half, bytes = (seed >> 43) % (half - at) % 40;
  const uint64_t to = half + (seed >> 53) % 400;
  const int k = (int)(seed >> 40 & 1), other = (int)(seed >> 41 & 1);
  unsigned char data[40];
  switch (round % 3) {
    case 0:
      for (uint64_t i = 0; i < bytes; i++) data[i] = o->image[k][at + i] = (unsigned char)(seed >> (i % 8 * 8));
      CHECK_OK(o->v->write(o->q, o->b[k], at, data, bytes));
      break;
    case 1:
      memset(o->image[k] + at, 0, (size_t)bytes);
      CHECK_OK(o->v->zero(o->q, o->b[k], at, bytes));
      break;
    default:
      memcpy(o->image[other] + to, o->image[k] + at, (size_t)bytes);
      CHECK_OK(o->v->copy(o->q, o->b[other], to, o->b[k], at, bytes));
  }
  if (round % 7) return; /* several overlapping accesses before the next read */
  odd_compare(o, k);
  odd_compare(o, !k);
  CHECK_OK(o->v->read(o->q, o->b[k], at + 1, data, bytes));
  CHECK(memcmp(data, o->image[k] + at + 1, (size_t)bytes) == 0);
}

void check_odd_ranges(const char *device) {
  odd o;
  rlx_device *d;
  ACQUIRE(device, &d);
  o.v = d->backend;
  CHECK_OK(o.v->queue_create(d, &o.q));
  for (int k = 0; k < 2; k++) {
    CHECK_OK(o.v->block_create(d, ODD_BYTES, &o.b[k]));
    for (int i = 0; i < ODD_BYTES; i++) o.image[k][i] = (unsigned char)(i * 7 + k);
    CHECK_OK(o.v->write(o.q, o.b[k], 0, o.image[k], ODD_BYTES));
  }
  uint64_t seed = 1;
  for (int round = 0; round < ODD_ROUNDS; round++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    odd_round(&o, round, seed);
    STOP_UNLESS_PASSED;
  }
  for (int k = 0; k < 2; k++) {
    odd_compare(&o, k);
    o.v->block_destroy(d, o.b[k]);
  }
  o.v->queue_destroy(o.q);
  rlx_device_release(d);
}

void check_wrong_ranges(const char *device) {
  rlx_device *d;
  rlx_block *b, *empty;
  char bytes[16] = {0};
  ACQUIRE(device, &d);
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

void check_large_transfers(const char *device) {
  const size_t n = ((size_t)40 << 20) + 13;
  rlx_device *d;
  rlx_block *a, *b;
  rlx_queue *q;
  ACQUIRE(device, &d);
  const rlx_backend *v = d->backend;
  unsigned char *out = malloc(n), *in = calloc(n, 1);
  CHECK(out && in);
  for (size_t i = 0; i < n; i++) out[i] = (unsigned char)(i * 2654435761u >> 13);
  CHECK_OK(v->queue_create(d, &q));
  CHECK_OK(v->block_create(d, n + 32, &a));
  CHECK_OK(v->block_create(d, n + 32, &b));
  CHECK_OK(v->write(q, a, 5, out, n));
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

void check_threads(const char *device) {
  enum { N = 6 };
  rlx_device *d;
  rlx_queue *q, *other;
  ACQUIRE(device, &d);
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

/* ---- compiled graphs ---- */

rlx_status softmax_graph(const char *shape, rlx_graph **out) {
  char leaves[64];
  snprintf(leaves, sizeof leaves, "x: f32%s", shape);
  return expr_graph(leaves, STEADY_SOFTMAX, out);
}

static bool count_allocation(void *user, size_t bytes) {
  (void)bytes;
  atomic_fetch_add((atomic_size_t *)user, 1);
  return true;
}

static float steady_x[32 * 64], steady_y[32 * 64];

void steady_open(steady *s, const char *device, const char *expr, int n) {
  memset(steady_x, 0, sizeof steady_x);
  memset(steady_y, 0, sizeof steady_y);
  OPEN_SESSION(device, 1, &s->session);
  CHECK_OK(expr_graph("x: f32[32,64]", expr, &s->graph));
  CHECK_OK(rlx_compile(s->session, s->graph, OPTIONS(.without = "fold,simplify,fuse"), &s->executable));
  CHECK_OK(rlx_executable_bind_input(s->executable, "x", steady_x, sizeof steady_x));
  CHECK_OK(rlx_executable_bind_output(s->executable, "y", steady_y, sizeof steady_y));
  for (int i = 0; i < n; i++) CHECK_OK(rlx_executable_run(s->executable));
}

void steady_check(steady *s) {
  atomic_size_t count = 0;
  rlx_mem_set_hook(count_allocation, &count);
  rlx_status status = RLX_OK;
  for (int i = 0; i < 20 && !status; i++) {
    steady_x[i] = (float)i;
    status = rlx_executable_run(s->executable);
  }
  rlx_mem_set_hook(NULL, NULL);
  CHECK_OK(status);
  CHECK_EQ_INT(atomic_load(&count), 0);
  CHECK(steady_y[0] > 0 && steady_y[0] < 1);
}

void steady_close(steady *s) {
  rlx_executable_destroy(s->executable);
  rlx_graph_destroy(s->graph);
  rlx_session_destroy(s->session);
}

void check_arena_is_split(const char *device) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  OPEN_SESSION(device, 1, &s);
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

void check_weights_are_split(const char *device) {
  rlx_session *s;
  rlx_graph *g;
  OPEN_SESSION(device, 1, &s);
  CHECK_OK(expr_graph("x: f32[1,16384]; param a: f32[1,16384]; param b: f32[1,16384]; param c: f32[1,16384]",
                      "%d = softmax(%a); %e = softmax(%b); %f = softmax(%c); %g = add(%x, %d); %h = add(%g, %e); "
                      "add(%h, %f)",
                      &g));
  CHECK_OK(run_check(s, g, NULL, 5, 2, false));
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
