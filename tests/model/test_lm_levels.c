/* Memory stays level: one runner over many input sizes, one engine over many requests, many sessions in sequence.
 *
 * The library's heap blocks, the C library's heap bytes and the resident pages are sampled throughout. The maximum
 * in the last tenth may exceed that of the second tenth only slightly. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "onnx_image.h"
#include "rlx/lm.h"
#include "rlx/onnx.h"
#include "test.h"

#if defined(__GLIBC__)
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define HAS_MALLINFO2
#endif
#endif

typedef struct level {
  size_t blocks, bytes, pages;
} level;

static level now(void) {
  level l = {.blocks = rlx_mem_live()};
#if defined(HAS_MALLINFO2)
  l.bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
#endif
#if defined(__linux__)
  FILE *f = fopen("/proc/self/statm", "r");
  unsigned long all = 0, resident = 0;
  if (f && fscanf(f, "%lu %lu", &all, &resident) == 2) l.pages = resident * (size_t)sysconf(_SC_PAGESIZE);
  if (f) fclose(f);
#endif
  return l;
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static void raise(level *max, const level *l) {
  max->blocks = larger(max->blocks, l->blocks);
  max->bytes = larger(max->bytes, l->bytes);
  max->pages = larger(max->pages, l->pages);
}

/* Does it `n` times. */
static void check_level(const char *what, unsigned n, rlx_status (*once)(void *user, unsigned i), void *user) {
  level early = {0}, late = {0};
  for (unsigned i = 0; i < n; i++) {
    CHECK_OK(once(user, i));
    const level l = now();
    if (i >= n / 10 && i < n / 5) raise(&early, &l);
    if (i >= n - n / 10) raise(&late, &l);
  }
  printf(
    "%s, %u times: at most %zu blocks, %.2f MiB of heap, %.2f MiB resident after a tenth; %zu, %.2f, %.2f at the end\n",
    what, n, early.blocks, (double)early.bytes / 1048576, (double)early.pages / 1048576, late.blocks,
    (double)late.bytes / 1048576, (double)late.pages / 1048576);
  if (late.blocks > early.blocks + early.blocks / 50 + 16)
    FAIL("%s: %zu blocks became %zu", what, early.blocks, late.blocks);
  if (TEST_IS_SANITIZED) return; /* whose heap keeps what was freed */
  if (late.bytes > early.bytes + early.bytes / 20 + 65536)
    FAIL("%s: %zu bytes became %zu", what, early.bytes, late.bytes);
  if (late.pages > early.pages + early.pages / 10 + (2 << 20))
    FAIL("%s: %zu resident became %zu", what, early.pages, late.pages);
}

static unsigned times(unsigned whole, unsigned part) {
  return getenv("RLX_SOAK") ? whole : TEST_IS_SANITIZED ? part / 2 : part;
}

/* With a budget of programs that is used up within a tenth. */
static rlx_status cpu_session(uint64_t cache_bytes, rlx_session **out) {
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1, .cache_bytes = cache_bytes};
  return rlx_session_create(&d, out);
}

/* ---- one runner, sizes that never come again ---- */

typedef struct runner_world {
  onnx_image f;
  rlx_session *session;
  rlx_onnx *model;
  rlx_onnx_runner *runner;
} runner_world;

static rlx_status run_size(void *user, unsigned i) {
  runner_world *w = user;
  static float x[600 * 4];
  int64_t rows = 1 + (int64_t)i * 263 % 500; /* all of them, in no order */
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(rows, 4), {x}, (size_t)rows * 4 * sizeof *x}};
  return rlx_onnx_run(w->runner, &in, 1);
}

TEST(one_runner_over_many_sizes) {
  runner_world w = {0};
  image_model(&w.f, 17);
  image_begin(&w.f, MODEL_GRAPH);
  image_value(&w.f, GRAPH_INPUT, "x", 1, "N,4");
  image_floats(&w.f, GRAPH_INITIALIZER, "w", "4,4",
               (const float[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 16);
  image_node(&w.f, "MatMul", "x,w", "m", "");
  image_node(&w.f, "Softmax", "m", "s", "axis=1");
  image_node(&w.f, "Shape", "s", "n", "");
  image_node(&w.f, "Reshape", "m,n", "r", "");
  image_node(&w.f, "Add", "r,s", "y", "");
  image_value(&w.f, GRAPH_OUTPUT, "y", 1, "N,4");
  image_end(&w.f);
  CHECK_OK(rlx_onnx_open_memory(w.f.v, w.f.n, NULL, &w.model));
  CHECK_OK(cpu_session(512 << 10, &w.session));
  CHECK_OK(rlx_onnx_runner_create(w.session, w.model, NULL, &w.runner));
  check_level("one runner over input sizes", 500, run_size, &w);
  rlx_onnx_runner_destroy(w.runner);
  rlx_onnx_close(w.model);
  rlx_session_destroy(w.session);
  image_free(&w.f);
}

/* ---- one engine, requests that differ in everything a request can differ in ---- */

static bool more(void *user, int32_t id) { return (void)user, (void)id, true; }

static rlx_status request(void *user, unsigned i) {
  rlx_lm *lm = user;
  int32_t prompt[24];
  const size_t n = 1 + i % 24;
  for (size_t k = 0; k < n; k++) prompt[k] = (int32_t)((i * 7 + k * 13) % 60);
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 1 + i % 5, .seed = i, .ignore_end = true};
  if (i % 2) o.temperature = 0.5 + 0.001 * (double)(i % 977); /* everybody has another */
  if (i % 3 == 0) o.top_p = 0.9;
  if (i % 5 == 0) o.top_k = 1 + i % 7;
  rlx_status s = rlx_lm_truncate(lm, 0, i % 4 ? 0 : rlx_lm_length(lm, 0) / 2);
  return s ? s : rlx_lm_generate_ids(lm, prompt, n, &o, more, NULL, NULL);
}

TEST(one_engine_over_many_requests) {
  char path[1024];
  rlx_lm *lm;
  rlx_session *session;
  snprintf(path, sizeof path, "%s/lm/llama", RLX_TEST_DATA);
  CHECK_OK(cpu_session(1 << 20, &session));
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = path, .session = session, .context = 96};
  CHECK_OK(rlx_lm_load(&d, &lm));
  rlx_session_destroy(session);
  /* Not fewer under a sanitizer: by the first tenth the engine has to have met as many kinds of requests as it keeps
   * programs. */
  check_level("one engine over requests", getenv("RLX_SOAK") ? 10000 : 600, request, lm);
  rlx_lm_destroy(lm);
}

/* ---- sessions ---- */

static rlx_status use_session(void *user, unsigned i) {
  const rlx_graph *g = user;
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  float x[4] = {1, 2, 3, 4}, y[4];
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(4), {x}, sizeof x}}, out = {"y", {.data = y, .bytes = sizeof y}};
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1 + i % 3};
  rlx_status status = rlx_session_create(&d, &s);
  if (!status) status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_run(e, &in, 1, &out, 1);
  if (i % 2) rlx_session_destroy(s);
  rlx_executable_destroy(e);
  if (i % 2 == 0) rlx_session_destroy(s);
  return status;
}

TEST(many_sessions) {
  static const char text[] = "graph { %x = input \"x\" : f32[4]; %y = softmax(%x); output \"y\" = %y }";
  rlx_graph *g;
  CHECK_OK(rlx_graph_parse(text, sizeof text - 1, &g));
  check_level("sessions", times(1000, 300), use_session, g);
  rlx_graph_destroy(g);
}
