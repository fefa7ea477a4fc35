/* Sessions with their own allocator: everything created from one comes from it and goes back to it, whichever thread or
 * session frees it; what sessions share does not. If the allocator has no memory, the call fails and nothing else. */
#include <pthread.h>

#include "base/mem.h"
#include "own_memory.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})
#define TENSOR(data_, ...) \
  { .dtype = RLX_F32, .shape = RLX_DIMS(__VA_ARGS__), .data = (data_), .bytes = sizeof(data_) }

enum { N = 64, ROWS = 200 };

/* A product with a weight of 16 KiB, a state, a sort (which the host executes), symbols, and values larger than a
 * slab's smallest block. */
static rlx_status make_graph(rlx_graph **out) {
  return expr_graph("x: f32[B,64]; param w: f32[64,64]; state st: f32[4,64]; at: i32[]",
                    "%m = matmul(%x, %w); %t = reduce_max(%m) {axes=[0], keep=true}; %u = update(%st, %t, %at); "
                    "%c = reduce_sum(%u) {axes=[0]}; %s = sort(%m) {axis=1}; add(%s, %c)",
                    out);
}

typedef struct values {
  float w[N * N], x[ROWS * N], y[ROWS * N];
  int32_t at;
} values;

static rlx_status run_rows(rlx_executable *e, values *v, int64_t rows) {
  size_t bytes = (size_t)rows * N * sizeof(float);
  rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(rows, N), {v->x}, bytes}},
                           {"at", {RLX_I32, RLX_SCALAR, {&v->at}, sizeof v->at}}};
  rlx_named_tensor out = {"y", {RLX_F32, RLX_DIMS(rows, N), {v->y}, sizeof v->y}};
  return rlx_run(e, in, 2, &out, 1);
}

static void fill(values *v) {
  for (size_t i = 0; i < N * N; i++) v->w[i] = (float)(i % 7) - 3;
  for (size_t i = 0; i < ROWS * N; i++) v->x[i] = (float)(i % 11) - 5;
  v->at = 1;
}

/* ---- one session ---- */

static values all; /* too large for a stack */

/* n_shared: allocations of the device itself, such as headers of its memory chunks, and pipelines. */
static void check_device(const char *device, size_t n_shared) {
  own_memory m = {0};
  rlx_session *keeper, *s = NULL;
  rlx_graph *g;
  rlx_executable *e, *twin;
  rlx_weights *w;
  rlx_states *st;
  OPEN_SESSION(device, 2, &keeper); /* keeps the device open: its memory comes from the heap */
  CHECK_OK(make_graph(&g));
  fill(&all);
  /* once without the allocator, so that what the device creates on first use exists */
  CHECK_OK(rlx_compile(keeper, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "w", &(rlx_tensor)TENSOR(all.w, N, N)));
  CHECK_OK(run_rows(e, &all, 3));
  CHECK_OK(run_rows(e, &all, ROWS));
  rlx_executable_destroy(e);
  size_t heap = rlx_mem_live();

  CHECK_OK(own_session(&m, device, 2, &s));
  CHECK_OK(rlx_weights_create(s, &w));
  CHECK_OK(rlx_states_create(s, &st));
  CHECK_OK(rlx_weights_set(w, "w", &(rlx_tensor)TENSOR(all.w, N, N)));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = w, .states = st), &e));
  CHECK_OK(rlx_executable_clone(e, &twin));
  CHECK_OK(run_rows(e, &all, 3));
  CHECK_OK(run_rows(e, &all, ROWS));
  CHECK_OK(run_rows(twin, &all, 5));
  CHECK(atomic_load(&m.n_live) > 20);
  CHECK(atomic_load(&m.bytes_live) > 0);
  size_t n_all = rlx_mem_live() - heap, n_own = atomic_load(&m.n_live);
  CHECK(n_all >= n_own && n_all <= n_own + n_shared); /* nothing else comes from the heap */
  char *text;
  CHECK_OK(rlx_executable_report(e, RLX_REPORT_PLAN, RLX_TEXT, &text));

  rlx_session_destroy(s); /* retained by the other objects */
  rlx_weights_destroy(w);
  rlx_states_destroy(st);
  CHECK(atomic_load(&m.n_live) > 20);
  rlx_executable_destroy(twin);
  rlx_executable_destroy(e);
  CHECK(own_is_whole(&m));
  rlx_free(text);
  CHECK(rlx_mem_live() >= heap && rlx_mem_live() <= heap + n_shared);
  rlx_graph_destroy(g);
  rlx_session_destroy(keeper);
}

TEST(all_comes_back_on_the_cpu) { check_device("cpu", 0); }
TEST(all_comes_back_on_the_null_device) { check_device("null", 0); }
TEST(all_comes_back_on_emu) { check_device("emu", 0); }
TEST(all_comes_back_on_vulkan) { check_device("vulkan", 4); }
TEST(all_comes_back_on_cuda) { check_device("cuda", 4); }
TEST(all_comes_back_on_webgpu) { check_device("webgpu", 4); }

/* ---- two sessions ---- */

/* The weights belong to the first session, even if an executable of the second causes them to be packed. */
TEST(two_sessions_do_not_mix) {
  own_memory a = {0}, b = {0};
  rlx_session *first, *second;
  rlx_graph *g;
  rlx_weights *w;
  rlx_states *st;
  rlx_executable *e, *f;
  CHECK_OK(make_graph(&g));
  fill(&all);
  CHECK_OK(own_session(&a, "cpu", 1, &first));
  CHECK_OK(own_session(&b, "cpu", 1, &second));
  CHECK_OK(rlx_weights_create(first, &w));
  CHECK_OK(rlx_states_create(first, &st));
  CHECK_OK(rlx_weights_set(w, "w", &(rlx_tensor)TENSOR(all.w, N, N)));
  CHECK_OK(rlx_compile(second, g, OPTIONS(.weights = w, .states = st), &f));
  CHECK_OK(run_rows(f, &all, 7));
  CHECK(atomic_load(&b.n_live) > 10);
  rlx_executable_destroy(f);
  rlx_session_destroy(second);
  CHECK(own_is_whole(&b)); /* while the weights and states that it used still exist */
  CHECK_OK(rlx_compile(first, g, OPTIONS(.weights = w, .states = st), &e));
  CHECK_OK(run_rows(e, &all, 7));
  rlx_session_destroy(first);
  rlx_weights_destroy(w);
  rlx_states_destroy(st);
  rlx_executable_destroy(e);
  CHECK(own_is_whole(&a));
  rlx_graph_destroy(g);
}

/* ---- other threads ---- */

static void *destroy_it(void *e) {
  rlx_executable_destroy(e);
  return NULL;
}

static void *use_it(void *session) {
  rlx_graph *g;
  rlx_executable *e;
  if (expr_graph("x: f32[8,8]", "%a = exp(%x); sort(%a) {axis=0}", &g)) return session;
  rlx_status s = RLX_OK;
  for (int i = 0; i < 20 && !s; i++) {
    s = rlx_compile(session, g, OPTIONS(.no_cache = true), &e);
    if (!s) rlx_executable_destroy(e);
  }
  rlx_graph_destroy(g);
  return s ? session : NULL;
}

TEST(threads_share_it) {
  own_memory m[2] = {{0}};
  rlx_session *s[2];
  pthread_t threads[4];
  void *failed = NULL, *one;
  for (int i = 0; i < 2; i++) CHECK_OK(own_session(&m[i], "cpu", 2, &s[i]));
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, use_it, s[i % 2]) == 0);
  for (int i = 0; i < 4; i++)
    if (!pthread_join(threads[i], &one) && one) failed = one;
  CHECK(!failed);
  rlx_graph *g;
  rlx_executable *e;
  CHECK_OK(expr_graph("x: f32[8,8]", "exp(%x)", &g));
  CHECK_OK(rlx_compile(s[0], g, NULL, &e));
  CHECK(pthread_create(&threads[0], NULL, destroy_it, e) == 0);
  pthread_join(threads[0], NULL);
  for (int i = 0; i < 2; i++) rlx_session_destroy(s[i]);
  CHECK(own_is_whole(&m[0]) && own_is_whole(&m[1]));
  rlx_graph_destroy(g);
}

/* ---- objects created in a callback ---- */

static void make_one(void *user, const char *what, uint64_t done, uint64_t total) {
  rlx_graph **out = user;
  (void)what, (void)done, (void)total;
  if (!*out && rlx_graph_create(out)) *out = NULL;
}

/* The graph comes from the session's allocator and goes back to it, though it outlives the session. */
TEST(what_outlives_the_session_goes_back) {
  own_memory m = {0};
  rlx_session *s;
  rlx_graph *g, *made = NULL;
  rlx_executable *e;
  CHECK_OK(own_session(&m, "cpu", 1, &s));
  CHECK_OK(expr_graph("x: f32[8,8]", "exp(%x)", &g));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.watch = {.progress = make_one, .user = &made}), &e));
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  CHECK(made && atomic_load(&m.n_live) > 0);
  rlx_graph_destroy(made);
  CHECK(own_is_whole(&m));
  rlx_graph_destroy(g);
}

/* ---- failures ---- */

static rlx_status whole_life(own_memory *m, const rlx_graph *g) {
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_status status = own_session(m, "cpu", 1, &s);
  if (!status) status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_executable_write(e, "w", &(rlx_tensor)TENSOR(all.w, N, N));
  if (!status) status = run_rows(e, &all, 3);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  return status;
}

TEST(without_memory_calls_fail) {
  rlx_graph *g;
  fill(&all);
  CHECK_OK(make_graph(&g));
  size_t heap = 0;
  for (size_t at = 1;; at++) {
    own_memory m = {.fail_at = at};
    rlx_status s = whole_life(&m, g);
    CHECK(own_is_whole(&m));
    if (at == 1) heap = rlx_mem_live();
    CHECK_EQ_INT(rlx_mem_live(), heap);
    if (s == RLX_OK) break;
    CHECK_EQ_INT(s, RLX_NO_MEMORY);
    CHECK(at < 100000);
  }
  rlx_graph_destroy(g);
}

TEST(wrong_allocators_are_refused) {
  own_memory m = {.is_misaligned = true};
  rlx_session *s;
  CHECK(own_session(&m, "cpu", 1, &s) == RLX_NO_MEMORY && !s);
  CHECK(own_is_whole(&m));
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .alloc = own_alloc};
  CHECK_FAILS(rlx_session_create(&d, &s), RLX_INVALID, "dealloc is NULL");
  d = (rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu", .dealloc = own_dealloc};
  CHECK_FAILS(rlx_session_create(&d, &s), RLX_INVALID, "alloc is NULL");
}
