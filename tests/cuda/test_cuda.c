/* Tests of the CUDA backend on the fake driver (tests/support/cuda_fake.h), which executes work as late as CUDA allows
 * and the nodes of a graph in random order: the arena's contract, transfers, order, programs, random graphs, the cache of
 * compiled kernels. Faults are in test_cuda_faults.c. Conformance on the fake is a step of tools/test. */
#include "test.h"

#ifndef RLX_CUDA
TEST(cuda) { SKIP("this library was built without CUDA"); }
#else
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arena_contract.h"
#include "base/cache_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cuda/program.h"
#include "cuda_fake.h"
#include "device_copies.h"
#include "folder.h"
#include "random_graph.h"
#include "rules.h"
#include "run_check.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* Before main; without a cache of kernels, unless a test makes one. */
__attribute__((constructor)) static void enter(int argc, char **argv) {
  setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
  if (!cuda_fake_enter(argc, argv)) exit(1);
}

/* Fresh in each run, and printed with a failure. */
static uint64_t test_seed(void) {
  static uint64_t seed;
  const char *text = getenv("RLX_TEST_SEED");
  if (!seed) seed = text ? strtoull(text, NULL, 10) : rlx_now_ns() / 1000 % 1000000000;
  printf("RLX_TEST_SEED=%llu\n", (unsigned long long)seed);
  return seed;
}

static void no_faults(void) { CHECK(cuda_fake_set(&(fake_cuda_plan){.wander = 64})); }

/* ---- devices ---- */

TEST(the_device_is_described) {
  const char *why;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  rlx_device *d, *none;
  CHECK_EQ_INT(rlx_backend_cuda.count(&why), 1);
  CHECK(!why);
  CHECK_OK(rlx_backend_cuda.describe(0, &info));
  CHECK(strstr(info.name, "fake") && strstr(info.features, "sm_90") && strstr(info.driver, "NVRTC 13.0"));
  CHECK(info.kind == RLX_DEVICE_DISCRETE && strlen(info.uuid) == 36 && info.align == 256 && info.view_align == 16);
  CHECK_FAILS(rlx_backend_cuda.describe(1, &info), RLX_NOT_FOUND, "there are 1");
  CHECK_OK(rlx_device_acquire("cuda:block=70000,window=1000", &d));
  CHECK_EQ_INT(d->info.max_block_bytes, 70000);
  CHECK_EQ_INT(d->info.max_window_bytes, 992);
  CHECK(d->info.free_bytes > 0);
  rlx_device_release(d);
  CHECK_OK(rlx_device_acquire("cuda:ptx", &d));
  CHECK(strstr(d->info.driver, "whose own compiler takes the kernels") && strstr(d->info.features, "sm_90 "));
  CHECK(!cu_device_of(d)->caps.has_coopmat && !cu_device_of(d)->caps.has_wgmma);
  rlx_device_release(d);
  CHECK_FAILS(rlx_device_acquire("cuda:fast", &none), RLX_NOT_FOUND,
              "expected block=N, window=N, submit=N, walk=N, library=N, late or ptx, got 'fast'");
  CHECK_FAILS(rlx_device_acquire("cuda:block=0", &none), RLX_NOT_FOUND, "got 'block=0'");
}

TEST(contract) { arena_contract("cuda"); }
TEST(contract_split) { arena_contract("cuda:block=4096"); }

/* ---- transfers ---- */

/* Writes, copies, fills and reads of any size at any place, checked against a copy of the whole block on the host. */
TEST(transfers_are_in_order) {
  enum { N = 24 << 20, ROUNDS = 200 }; /* more than a slot of the staging ring */
  unsigned char *image = malloc(N), *found = malloc(N), *data = malloc(N);
  rlx_device *d;
  rlx_queue *q;
  rlx_block *b;
  uint64_t seed = test_seed();
  no_faults();
  CHECK(image && found && data);
  CHECK_OK(rlx_device_acquire("cuda", &d));
  const rlx_backend *v = d->backend;
  CHECK_OK(v->queue_create(d, &q));
  CHECK_OK(v->block_create(d, N, &b));
  CHECK_OK(v->zero(q, b, 0, N));
  memset(image, 0, N);
  for (int round = 0; round < ROUNDS; round++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t most = round % 20 == 0 ? N / 2 : 3000, half = N / 2;
    const uint64_t bytes = (seed >> 33) % (most + 1), at = (seed >> 21) % (half - bytes + 1);
    if (round % 4 == 0) {
      for (uint64_t i = 0; i < bytes; i++) data[i] = image[at + i] = (unsigned char)(i * 31 + seed);
      CHECK_OK(v->write(q, b, at, data, bytes));
      memset(data, 0xee, (size_t)bytes); /* the caller's memory is its own again */
    } else if (round % 4 == 1) {
      memset(image + at, 0, (size_t)bytes);
      CHECK_OK(v->zero(q, b, at, bytes));
    } else if (round % 4 == 2) {
      memcpy(image + half, image + at, (size_t)bytes);
      CHECK_OK(v->copy(q, b, half, b, at, bytes));
    } else if (round % 12 == 3) {
      CHECK_OK(v->read(q, b, 0, found, N));
      CHECK(memcmp(found, image, N) == 0);
    }
  }
  CHECK_OK(v->read(q, b, 0, found, N));
  CHECK(memcmp(found, image, N) == 0);
  CHECK_FAILS(v->write(q, b, 8, data, N), RLX_INVALID, "are not inside a block of");
  CHECK_FAILS(v->copy(q, b, 4, b, 0, 8), RLX_INVALID, "overlap");
  CHECK_FAILS(v->copy(q, NULL, 4, b, 0, 8), RLX_INVALID, "NULL");
  v->block_destroy(d, b);
  v->queue_destroy(q);
  rlx_device_release(d);
  free(image);
  free(found);
  free(data);
}

/* Two queues share a block: copies of one are ordered after those of the other, also into memory that the host sees. */
TEST(queues_follow_each_other) {
  enum { N = 4096 };
  rlx_device *d;
  rlx_queue *a, *b;
  rlx_block *shared, *host;
  unsigned char data[N], found[N];
  no_faults();
  CHECK_OK(rlx_device_acquire("cuda", &d));
  const rlx_backend *v = d->backend;
  CHECK_OK(v->queue_create(d, &a));
  CHECK_OK(v->queue_create(d, &b));
  CHECK_OK(v->block_create(d, N, &shared));
  CHECK_OK(v->block_create_host(d, N, &host));
  CHECK(host->map && !shared->map);
  for (int round = 0; round < 50; round++) {
    memset(data, round, N);
    CHECK_OK(v->write(a, shared, 0, data, N));
    CHECK_OK(v->copy(b, host, 0, shared, 0, N));
    rlx_point point = {.queue = b};
    bool is_done = false;
    CHECK_OK(v->mark(b, &point.value));
    CHECK_OK(v->after(a, point));
    if (round % 2) {
      while (!is_done) CHECK_OK(v->poll(b, point.value, &is_done));
    } else {
      CHECK_OK(v->wait(b, point.value));
    }
    CHECK(memcmp(host->map, data, N) == 0);
    CHECK_OK(v->read(a, host, 0, found, N));
    CHECK(memcmp(found, data, N) == 0);
  }
  memset(data, 77, N);
  CHECK_OK(v->write(a, shared, 0, data, N));
  CHECK_OK(v->copy(b, host, 0, shared, 0, N));
  v->block_destroy(d, shared); /* waits for the copy on the other queue */
  CHECK_OK(v->read(b, host, 0, found, N));
  CHECK(memcmp(found, data, N) == 0);
  v->block_destroy(d, host);
  v->queue_destroy(a);
  v->queue_destroy(b);
  rlx_device_release(d);
}

/* ---- programs of copies ---- */

/* Random copies between cells. The fake's device is always there. */
static void random_copies_open(copies *c, const char *device, size_t n, uint64_t seed) {
  uint8_t pairs[MAX_COPIES][2];
  rlx_device *d;
  for (size_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t from = (seed >> 33) % N_CELLS;
    pairs[i][0] = (uint8_t)from;
    pairs[i][1] = (uint8_t)((from + 1 + (seed >> 43) % (N_CELLS - 1)) % N_CELLS);
  }
  CHECK_OK(rlx_device_acquire(device, &d));
  copies_open_on(c, d, pairs, n);
}

/* The fake runs nodes of a graph in any order that the edges allow: a missing edge gives wrong cells. */
TEST(graphs_have_all_edges) {
  uint64_t seed = test_seed();
  no_faults();
  for (int round = 0; round < 60 && !test_has_failed(); round++) {
    copies c;
    const size_t n = 4 + (size_t)(seed + (uint64_t)round * 7) % (MAX_COPIES - 4);
    random_copies_open(&c, "cuda", n, seed + (uint64_t)round);
    if (test_has_failed()) return;
    for (int i = 0; i < 3 && !test_has_failed(); i++) copies_run(&c, 0, n, &(rlx_run_args){0});
    copies_run(&c, n / 3, n / 2, &(rlx_run_args){0});
    copies_expect(&c, c.cells);
    copies_close(&c);
  }
}

/* A span is recorded once and launched as one graph. */
TEST(spans_are_recorded_once) {
  copies c;
  fake_cuda_counts before, after;
  no_faults();
  random_copies_open(&c, "cuda", 40, 3);
  if (test_has_failed()) return;
  copies_run(&c, 0, 40, &(rlx_run_args){0});
  copies_run(&c, 5, 20, &(rlx_run_args){0});
  CHECK(cuda_fake_get(&before));
  const size_t live = rlx_mem_live();
  for (int i = 0; i < 10; i++) {
    copies_run(&c, 0, 40, &(rlx_run_args){0});
    copies_run(&c, 5, 20, &(rlx_run_args){0});
  }
  CHECK(cuda_fake_get(&after));
  CHECK_EQ_INT(rlx_mem_live(), live);
  CHECK_EQ_INT(after.graph_execs, before.graph_execs);
  CHECK_EQ_INT(after.graph_launches, before.graph_launches + 20);
  CHECK_EQ_INT(after.creates, before.creates);
  copies_expect(&c, c.cells);
  CHECK_FAILS(c.d->backend->submit(c.p, 20, 21, &(rlx_run_args){0}), RLX_INVALID, "21 steps from 20");
  copies_close(&c);
}

/* With one unit of work per part the caller's cancel function is polled before each step; times are in order. */
TEST(runs_are_cut_timed_and_stopped) {
  copies c;
  no_faults();
  random_copies_open(&c, "cuda:submit=1", 6, 5);
  if (test_has_failed()) return;
  copies_check_stop(&c, true);
  copies_run(&c, 0, 6, &(rlx_run_args){.is_stoppable = true});
  copies_run_timed(&c, 1);
  copies_expect_times(&c);
  copies_expect(&c, c.cells);
  copies_close(&c);
}

TEST(wrong_programs_are_reported) {
  copies c;
  no_faults();
  random_copies_open(&c, "cuda", 1, 1);
  if (test_has_failed()) return;
  check_wrong_programs(&c);
  copies_close(&c);
}

/* ---- graphs ---- */

static void run_random_graphs(const char *device, int n) {
  uint64_t seed = test_seed();
  rlx_session *s;
  no_faults();
  OPEN_SESSION(device, 2, &s);
  for (int i = 0; i < n && !test_has_failed(); i++) {
    random_graph r;
    CHECK_OK(random_graph_make(seed + (uint64_t)i, 4 + (uint32_t)((seed + (uint64_t)i) % 40), &r));
    rlx_status status = run_check(s, r.graph, NULL, seed, 2, false);
    if (status) FAIL("RLX_TEST_SEED=%llu: %s", (unsigned long long)(seed + (uint64_t)i), rlx_message());
    random_graph_deinit(&r);
  }
  rlx_session_destroy(s);
}
TEST(random_graphs) { run_random_graphs("cuda", 150); }
TEST(random_graphs_through_ptx) { run_random_graphs("cuda:ptx", 60); }

/* Every span that can be is one kernel from its first run on. */
TEST(random_graphs_as_one_kernel) {
  fake_cuda_counts counts;
  run_random_graphs("cuda:walk=1", 150);
  CHECK(cuda_fake_get(&counts));
  CHECK(counts.walks > 0);
}

/* Products whose right side is computed just before them: it must not be read early. The fake driver lets kernels that
 * start early read the bytes from before their graph. */
TEST(early_kernels_read_only_what_does_not_change) {
  rlx_session *s;
  rlx_graph *g;
  no_faults();
  OPEN_SESSION("cuda", 2, &s);
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, 256));
  for (int i = 0; i < 4; i++) {
    rlx_node w = rlx_op_expand(g, rlx_op_relu(g, x), RLX_DIMS(256, 256));
    x = rlx_op_matmul_t(g, x, rlx_op_sigmoid(g, w));
  }
  rlx_graph_add_output(g, "y", x);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(run_check(s, g, NULL, 7, 3, false));
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(random_graphs_of_kernels_that_start_late) { run_random_graphs("cuda:late", 60); }

TEST(random_graphs_with_a_library) { run_random_graphs("cuda:library=1", 80); }

/* A span becomes one kernel after some runs, gives the same results, and allocates nothing from then on. */
TEST(spans_become_one_kernel) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  static float x[32 * 64], y[32 * 64], first[32 * 64];
  fake_cuda_counts before, after;
  no_faults();
  OPEN_SESSION("cuda:walk=3", 1, &s);
  CHECK_OK(expr_graph("x: f32[32,64]", "%a = softmax(%x); %b = tanh(%x); %c = add(%a, %b); softmax(%c)", &g));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.without = "fold,simplify,fuse"), &e));
  CHECK_OK(rlx_executable_bind_input(e, "x", x, sizeof x));
  CHECK_OK(rlx_executable_bind_output(e, "y", y, sizeof y));
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(i % 37) / 8;
  CHECK_OK(rlx_executable_run(e));
  memcpy(first, y, sizeof y);
  CHECK(cuda_fake_get(&before));
  CHECK_EQ_INT(before.walks, 0);
  for (int i = 0; i < 4; i++) CHECK_OK(rlx_executable_run(e));
  CHECK(cuda_fake_get(&after));
  CHECK_EQ_INT(after.walks, 3);
  CHECK(memcmp(first, y, sizeof y) == 0);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* Products of every kind that the library takes, launched alone and in a graph. */
TEST(large_products_are_the_librarys) {
  static const struct {
    const char *inputs, *expr;
  } cases[] = {
    {"x: f32[40,64]; param w: f16[512,64]", "matmul(%x, %w) {trans_b=true}"},
    {"x: f32[40,256]; param w: q4_k[128,256]", "matmul(%x, %w) {trans_b=true}"},
    {"x: f16[33,64]; w: f16[64,24]; b: f16[24]", "fused_matmul_bias_act(%x, %w, %b) {act=relu}"},
    {"x: bf16[33,64]; w: bf16[64,24]; b: bf16[24]", "fused_matmul_bias_act(%x, %w, %b) {act=silu}"},
    {"x: f32[3,17,9]; w: f32[3,9,11]", "%y = matmul(%x, %w); %z = tanh(%y); %a = tanh(%z); tanh(%a)"},
    {"x: f32[33,64]; param g: f16[512,64]; param u: f16[512,64]", "fused_gate_up(%x, %g, %u) {trans_b=true, act=silu}"},
  };
  no_faults();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fake_cuda_counts before, after;
    rlx_session *s;
    rlx_graph *g;
    CHECK(cuda_fake_get(&before));
    OPEN_SESSION("cuda:library=1", 1, &s);
    CHECK_OK(expr_graph(cases[i].inputs, cases[i].expr, &g));
    CHECK_OK(run_check(s, g, NULL, 5 + i, 3, false));
    CHECK(cuda_fake_get(&after));
    if (after.products == before.products) FAIL("%s: no product by the library", cases[i].expr);
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
  }
}

/* Which product is the library's, and what runs before and after it, is in the dispatch report. */
TEST(the_report_names_the_library) {
  static const struct {
    const char *device, *inputs, *expr, *text;
  } cases[] = {
    {"cuda:library=1", "x: f16[33,64]; w: f16[64,24]", "matmul(%x, %w)", "f16[33,24] -> cublasLt f16\n"},
    {"cuda:library=1", "x: f32[33,64]; w: f32[64,24]", "fused_matmul_bias_act(%x, %w) {act=silu}",
     "-> cublasLt f32, matmul_sum\n"},
    {"cuda:library=1", "x: f32[40,256]; param w: q4_k[128,256]", "matmul(%x, %w) {trans_b=true}", ", cublasLt f16"},
    {"cuda:ptx", "x: f32[1,64]; w: f32[64,24]", "matmul(%x, %w)", "f32[1,24] -> mat"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_session *s;
    rlx_graph *g;
    rlx_executable *e;
    char *text;
    OPEN_SESSION(cases[i].device, 1, &s);
    CHECK_OK(expr_graph(cases[i].inputs, cases[i].expr, &g));
    CHECK_OK(rlx_compile(s, g, OPTIONS(.plan_only = true), &e));
    CHECK_OK(rlx_executable_report(e, RLX_REPORT_DISPATCH, RLX_TEXT, &text));
    if (!strstr(text, cases[i].text)) FAIL("expected '%s' in:\n%s", cases[i].text, text);
    rlx_free(text);
    rlx_executable_destroy(e);
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
  }
}

TEST(steady_runs_allocate_nothing) {
  steady s;
  fake_cuda_counts before, after;
  no_faults();
  steady_open(&s, "cuda", "%a = softmax(%x); %b = softmax(%a); %c = softmax(%b); softmax(%c)", CU_N_EVENTS + 2);
  STOP_UNLESS_PASSED;
  CHECK(cuda_fake_get(&before));
  steady_check(&s);
  CHECK(cuda_fake_get(&after));
  CHECK(after.creates == before.creates && after.memory == before.memory && after.host == before.host);
  CHECK_EQ_INT(after.launches - before.launches, 20);
  steady_close(&s);
}

/* ---- the cache of compiled kernels ---- */

/* Runs a small graph in a fresh device and returns how often the compiler was called. */
static uint64_t compiles_of_a_run(void) {
  fake_cuda_counts counts = {0};
  rlx_session *s = NULL;
  rlx_graph *g = NULL;
  rlx_status status = expr_graph("x: f32[8,16]", "softmax(%x)", &g);
  no_faults();
  if (!status) status = run_session("cuda", 1, &s);
  if (!status) status = run_check(s, g, NULL, 3, 1, false);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
  if (status || !cuda_fake_get(&counts)) printf("FAIL: %s\n", rlx_message());
  return status ? UINT64_MAX : counts.compiles;
}

static void find_file(char *path, size_t bytes) {
  char command[700];
  snprintf(command, sizeof command, "find '%s' -name '*.code'", folder_path("cache"));
  FILE *f = popen(command, "r");
  CHECK(f && fgets(path, (int)bytes, f));
  path[strcspn(path, "\n")] = 0;
  while (fgetc(f) != EOF) {}
  pclose(f);
}

/* A file that is cut, changed at any byte of its head or in its code, or another kernel's, is made again. */
TEST(compiled_kernels_are_kept_on_disk) {
  char path[600], *good, *now;
  size_t bytes, now_bytes;
  CHECK(folder_begin());
  setenv("XDG_CACHE_HOME", folder_path("cache"), 1);
  CHECK_EQ_INT(compiles_of_a_run(), 1);
  CHECK_EQ_INT(compiles_of_a_run(), 0);
  find_file(path, sizeof path);
  if (test_has_failed()) return;
  CHECK(rlx_cache_read(path, 1 << 20, &good, &bytes));
  struct stat about;
  CHECK(stat(path, &about) == 0 && (about.st_mode & 077) == 0);
  for (size_t at = 0; at <= bytes && !test_has_failed(); at += at < 40 ? 1 : bytes / 7 + 1) {
    good[at % bytes] ^= 0x5a;
    CHECK(rlx_cache_write(path, good, at == bytes ? bytes / 2 : bytes));
    good[at % bytes] ^= 0x5a;
    CHECK_EQ_INT(compiles_of_a_run(), 1);
    CHECK(rlx_cache_read(path, 1 << 20, &now, &now_bytes));
    CHECK(now_bytes == bytes && memcmp(now, good, bytes) == 0);
    rlx_mem_free(now);
  }
  CHECK(rlx_cache_write(path, "", 0));
  CHECK_EQ_INT(compiles_of_a_run(), 1);
  rlx_mem_free(good);
  setenv("XDG_CACHE_HOME", folder_path("no-folder-but-a-file"), 1);
  FILE *f = fopen(folder_path("no-folder-but-a-file"), "w");
  CHECK(f && fclose(f) == 0);
  CHECK_EQ_INT(compiles_of_a_run(), 1);
  CHECK_EQ_INT(compiles_of_a_run(), 1);
}
#endif
