/* Limits: how much memory, work and time a call may use, and how soon a cancellation takes effect. */

#include "base/budget.h"
#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/os_file.h"
#include "folder.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})
#define MIB ((size_t)1 << 20)

static rlx_status limited_session(const char *device, rlx_limits limits, rlx_session **out) {
  return rlx_session_create(
    &(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .n_threads = 2, .limits = limits}, out);
}

/* ---- free memory of the machine ---- */

static void put(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder_name(), name);
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)rlx_os_make_folder(path);
    *slash = '/';
  }
  CHECK_OK(rlx_file_write(path, text, strlen(text)));
}

TEST(free_memory_of_the_machine_and_of_its_groups) {
  SKIP_WITH_32_BITS(); /* whose address space is a limit too */
  CHECK(folder_begin());
  CHECK(rlx_machine_free_bytes() > MIB); /* the real machine */
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 0);
  put("proc/meminfo", "MemTotal: 9999 kB\nMemAvailable:    1000 kB\n");
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 1000 * 1024);
  put("proc/self/cgroup", "0::/a/b\n"); /* version 2: the minimum over all ancestors counts */
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.current", "5000\n");
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 1000 * 1024);
  put("sys/fs/cgroup/a/memory.max", "70000\n");
  put("sys/fs/cgroup/a/memory.current", "30000\n");
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 40000);
  put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 10000\n"); /* can be reclaimed */
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 50000);
  put("sys/fs/cgroup/a/memory.current", "90000\n");
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 1); /* none left */
  put("proc/self/cgroup", "5:cpu:/x\n4:memory,hugetlb:/c\n");
  put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "30000\n");
  put("sys/fs/cgroup/memory/c/memory.usage_in_bytes", "10000\n");
  CHECK_EQ_INT(rlx_machine_free_bytes_at(folder_name()), 20000);
}

/* ---- the heap ---- */

TEST(a_call_takes_no_more_than_its_limit) {
  rlx_budget outer, b;
  rlx_budget_begin(&outer, "outer", NULL, 0, NULL);
  rlx_budget_begin(&b, "a call", &(rlx_limits){.host_bytes = MIB}, 0, NULL);
  void *p = rlx_mem_alloc(MIB / 2), *q = rlx_mem_alloc(3 * MIB / 4);
  CHECK(p && !q);
  rlx_mem_free(p); /* freed memory no longer counts */
  CHECK((q = rlx_mem_alloc(3 * MIB / 4)));
  CHECK(!rlx_mem_realloc(q, 2 * MIB, 1)); /* and the old block stays */
  void *grown = rlx_mem_realloc(q, MIB - 4096, 1);
  CHECK(grown);
  rlx_mem_free(grown);
  CHECK_FAILS(rlx_budget_end(&b, RLX_FAIL(RLX_NO_MEMORY, "a thing")), RLX_LIMIT, "a thing: asks for 1.2 MiB");
  CHECK(rlx_budget_end(&outer, RLX_NO_MEMORY) == RLX_NO_MEMORY); /* its own limit was not reached */
  CHECK((p = rlx_mem_alloc(2 * MIB)));                           /* and afterwards nothing is limited */
  rlx_mem_free(p);
}

TEST(a_run_on_the_host_is_limited) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  int32_t n = 0;
  CHECK_OK(limited_session("null", (rlx_limits){.host_bytes = MIB},
                           &s)); /* every step runs on the host, with its own memory */
  CHECK_OK(
    expr_graph("n: i32[]", "%e = expand(%n) {shape=[1000000]}; %s = sort(%e) {axis=0}; reduce_max(%s) {axes=[0]}", &g));
  rlx_status status = rlx_compile(s, g, NULL, &e);
  rlx_named_tensor in = {"n", {RLX_I32, RLX_SCALAR, {&n}, sizeof n}}, out = {"y", {.data = &n, .bytes = sizeof n}};
  if (!status) status = rlx_run(e, &in, 1, &out, 1);
  CHECK_FAILS(status, RLX_LIMIT, "the limit of this call is 1.0 MiB");
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- the device ---- */

static void device_is_limited(const char *device) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  rlx_status opened = limited_session(device, (rlx_limits){.device_bytes = 8 * MIB}, &s);
  if (opened == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(opened);
  CHECK_OK(expr_graph("x: f32[1024,1024]; param w: f32[1024,1024]", "add(%x, %w)", &g)); /* 12 MiB */
  CHECK_FAILS(rlx_compile(s, g, NULL, &e), RLX_LIMIT, "weights of 4.0 MiB, states of 0 bytes and scratch of 8.0 MiB");
  CHECK(!e && strstr(rlx_message(), "the limit is 8.0 MiB"));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.plan_only = true), &e)); /* the plan can be inspected */
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  CHECK_OK(expr_graph("x: f32[512,512]; param w: f32[512,512]", "add(%x, %w)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e)); /* 3 MiB; a second fits, a third does not */
  rlx_executable *twin, *third;
  CHECK_OK(rlx_compile(s, g, NULL, &twin));
  CHECK_FAILS(rlx_compile(s, g, NULL, &third), RLX_LIMIT, "in use there");
  rlx_executable_destroy(twin);
  CHECK_OK(rlx_compile(s, g, NULL, &third)); /* freed memory is available again */
  rlx_executable_destroy(third);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(memory_of_the_cpu_is_limited) { device_is_limited("cpu"); }
TEST(memory_of_an_emulated_gpu_is_limited) { device_is_limited("emu"); }
TEST(memory_of_a_gpu_is_limited) { device_is_limited("vulkan"); }
TEST(memory_of_a_gpu_is_limited_on_cuda) { device_is_limited("cuda"); }

TEST(what_no_machine_has_is_refused_by_default) {
  SKIP_WITH_32_BITS();
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  CHECK_OK(run_session("cpu", 1, &s));
  CHECK_OK(
    expr_graph("x: f32[1048576]; state k: f32[1048576,1048576]", "%u = add(%k, %x); reduce_sum(%u) {axes=[0,1]}", &g));
  CHECK_FAILS(rlx_compile(s, g, NULL, &e), RLX_LIMIT, "states of 4.0 TiB");
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- bombs: small graphs, large values ---- */

static const char *const bombs[] = {
  "%e = expand(%c) {shape=[1073741824]}; %v = cos(%e); reduce_sum(%v) {axes=[0]}",
  "%e = expand(%c) {shape=[1099511627776]}; %v = neg(%e); reduce_max(%v) {axes=[0]}",
  "%e = expand(%c) {shape=[32768,1]}; %f = expand(%c) {shape=[1,32768]}; %v = add(%e, %f); reduce_sum(%v) {axes=[0,1]}",
  "%e = expand(%c) {shape=[1]}; %v = tile(%e) {reps=[1073741824]}; reduce_min(%v) {axes=[0]}",
  "%e = expand(%c) {shape=[1]}; %v = pad(%e) {lo=[536870912], hi=[536870912]}; reduce_sum(%v) {axes=[0]}",
  "%v = range() {count=[1073741824], to=f32}; reduce_sum(%v) {axes=[0]}",
  "%e = expand(%c) {shape=[1024]}; %i = cast(%e) {to=i32}; %v = one_hot(%i) {depth=1048576, to=f32}; reduce_max(%v) {axes=[0,1]}",
  "%e = expand(%c) {shape=[1,1,1,1]}; %v = resize(%e) {size=[1,1,32768,32768]}; reduce_max(%v) {axes=[0,1,2,3]}",
  "%e = expand(%c) {shape=[1,1,32768,32768]}; %v = pool_max(%e) {kernel=[3,3], stride=[1,1], pad_lo=[1,1], pad_hi=[1,1]}; "
  "reduce_max(%v) {axes=[0,1,2,3]}",
  "%e = expand(%c) {shape=[4]}; %f = fft(%e) {axis=0, n=1073741824}; %v = view_as_real(%f); reduce_max(%v) {axes=[0,1]}",
  "%e = expand(%c) {shape=[1,1,2,2]}; %w = expand(%c) {shape=[1,1,1,1]}; %v = conv_transpose(%e, %w) {stride=[32768,32768]}; "
  "reduce_max(%v) {axes=[0,1,2,3]}",
};

/* Nothing is computed at compile time, and the plan reports what a run needs. With a lower limit the compile fails. */
TEST(small_graphs_with_large_values_are_planned_not_folded) {
  SKIP_WITH_32_BITS();
  rlx_session *s;
  CHECK_OK(limited_session("cpu", (rlx_limits){.device_bytes = 64 * MIB, .host_bytes = 64 * MIB}, &s));
  for (size_t k = 0; k < 2 * (sizeof bombs / sizeof *bombs); k++) {
    rlx_graph *g;
    rlx_executable *e;
    rlx_memory_info m = {RLX_MEMORY_INFO_INIT};
    size_t i = k / 2;
    char as_constant[512];
    snprintf(as_constant, sizeof as_constant, "%%c = constant : f32[] = [0.5]; %s", bombs[i]);
    rlx_status made = k % 2 ? expr_graph("", as_constant, &g) : expr_graph("c: f32[]", bombs[i], &g);
    if (made) FAIL("bomb %zu: %s", i, rlx_message());
    CHECK_OK(rlx_compile(s, g, OPTIONS(.plan_only = true), &e));
    CHECK_OK(rlx_executable_memory(e, &m));
    if (m.scratch < (uint64_t)1 << 31) FAIL("bomb %zu: a scratch of %llu bytes", i, (unsigned long long)m.scratch);
    rlx_executable_destroy(e);
    CHECK_FAILS(rlx_compile(s, g, NULL, &e), RLX_LIMIT, "the limit is 64.0 MiB");
    rlx_graph_destroy(g);
  }
  rlx_session_destroy(s);
}

/* The device computes a product of two weights: 2^31 multiplications, which take half a minute in plain loops. */
TEST(weights_are_computed_by_the_device) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  enum { N = 1280 };
  float *w = rlx_mem_alloc(sizeof(float) * N * N), x[N], y[N];
  CHECK(w);
  for (size_t i = 0; i < (size_t)N * N; i++) w[i] = (float)(i % 7) - 3;
  for (int i = 0; i < N; i++) x[i] = (float)(i % 3);
  CHECK_OK(run_session("cpu", 2, &s));
  CHECK_OK(expr_graph("x: f32[1,1280]; param w: f32[1280,1280]", "%m = matmul(%w, %w); matmul(%x, %m)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  rlx_memory_info m = {RLX_MEMORY_INFO_INIT};
  CHECK_OK(rlx_executable_memory(e, &m));
  CHECK(m.n_native == 1); /* the other product is computed at load */
  rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(1, N), {x}, sizeof x}},
                           {"w", {RLX_F32, RLX_DIMS(N, N), {w}, sizeof(float) * N * N}}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
  /* The work limit counts elements visited by the reference: the device visits none. */
  rlx_executable_set_watch(e, &(rlx_watch){.limits = {.work = 1 << 24}});
  CHECK_OK(rlx_run(e, in, 2, &out, 1));
  double want = 0;
  for (int k = 0; k < N; k++) {
    double t = 0;
    for (int i = 0; i < N; i++) t += (double)x[i] * (double)w[i * N + k];
    want += t * (double)w[k * N];
  }
  CHECK((double)y[0] > want - 1 && (double)y[0] < want + 1);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
  rlx_mem_free(w);
}

/* ---- time limits and cancellation ---- */

typedef struct asked {
  int n, until;
} asked;

static bool at_last(void *user) {
  asked *a = user;
  return ++a->n >= a->until;
}

/* One long node: 2^34 multiplications, which take a while on any machine. */
static void stops_inside(const rlx_watch *watch, rlx_status want, const char *part) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  float x = 1, y = 0;
  CHECK_OK(run_session("cpu", 2, &s));
  CHECK_OK(expr_graph("x: f32[]",
                      "%a = expand(%x) {shape=[4096,1024]}; %b = expand(%x) {shape=[1024,4096]}; "
                      "%m = matmul(%a, %b); reduce_max(%m) {axes=[0,1]}",
                      &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  rlx_named_tensor in = {"x", {RLX_F32, RLX_SCALAR, {&x}, sizeof x}}, out = {"y", {.data = &y, .bytes = sizeof y}};
  rlx_executable_set_watch(e, watch);
  const uint64_t begin_ns = rlx_now_ns();
  rlx_status status = rlx_run(e, &in, 1, &out, 1);
  if (!status && rlx_now_ns() - begin_ns < 60000000) SKIP("this machine is done before it could be asked ten times");
  CHECK_FAILS(status, want, part);
  rlx_executable_set_watch(e, NULL);
  CHECK_OK(rlx_run(e, &in, 1, &out, 1)); /* and it can be run again */
  CHECK(y == 1024);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* Between steps the cancel function is called six times at most; the last of ten calls is inside a step: inside the
 * product if that is what takes long. */
TEST(a_cancel_is_heard_inside_a_node) {
  asked a = {.until = 10};
  stops_inside(&(rlx_watch){.cancel = at_last, .user = &a}, RLX_CANCELLED, "): stopped by the caller");
  if (test_all.result == TEST_PASSED) CHECK_EQ_INT(a.n, 10);
}

TEST(a_time_limit_ends_a_run) {
  stops_inside(&(rlx_watch){.limits = {.seconds = 0.005}}, RLX_LIMIT, "the time limit of 0.005 s is over");
}

static const char endless[] = "%w = while(%n) {cond=graph { %a = input \"a\" : i64[]\n%z = constant : i64[] = [0]\n"
                              "%c = ge(%a, %z)\noutput \"c\" = %c }, body=graph { %a = input \"a\" : i64[]\n"
                              "%z = constant : i64[] = [0]\n%b = mul(%a, %z)\noutput \"b\" = %b }}; neg(%w)";

/* Each kind of limit ends an infinite loop. */
TEST(a_loop_without_an_end_is_limited) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  int64_t n = 1;
  rlx_named_tensor in = {"n", {RLX_I64, RLX_SCALAR, {&n}, sizeof n}}, out = {"y", {.data = &n, .bytes = sizeof n}};
  CHECK_OK(run_session("cpu", 1, &s));
  CHECK_OK(expr_graph("n: i64[]", endless, &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  rlx_executable_set_watch(e, &(rlx_watch){.limits = {.seconds = 0.02}});
  CHECK_FAILS(rlx_run(e, &in, 1, &out, 1), RLX_LIMIT, "the time limit of 0.02 s is over");
  rlx_executable_set_watch(e, &(rlx_watch){.limits = {.work = 1000}});
  CHECK_FAILS(rlx_run(e, &in, 1, &out, 1), RLX_LIMIT, "more than the 1000 visits of elements");
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* Reserved fields of nested structs, which a later version may use, are rejected if set, not ignored. */
TEST(reserved_fields_are_zero) {
  rlx_session *s = NULL;
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .limits = {.reserved = {0, 0, 0, 5}}};
  CHECK_FAILS(rlx_session_create(&d, &s), RLX_UNSUPPORTED, "limits.reserved[3]");
  d.limits.reserved[3] = 0;
  CHECK_OK(rlx_session_create(&d, &s));
  CHECK_OK(rlx_graph_create(&g));
  rlx_graph_add_output(g, "y", rlx_op_relu(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2))));
  CHECK_OK(rlx_graph_finish(g));
  rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT, .watch = {.reserved = {NULL, s}}};
  CHECK_FAILS(rlx_compile(s, g, &o, &e), RLX_UNSUPPORTED, "watch.reserved[1]");
  o.watch = (rlx_watch){.limits = {.reserved = {1}}};
  CHECK_FAILS(rlx_compile(s, g, &o, &e), RLX_UNSUPPORTED, "limits.reserved[0]");
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(limits_that_are_no_numbers) {
  rlx_session *s;
  CHECK_FAILS(limited_session("cpu", (rlx_limits){.seconds = -1}, &s), RLX_INVALID, "limits.seconds is -1");
  CHECK_FAILS(limited_session("cpu", (rlx_limits){.seconds = (double)NAN}, &s), RLX_INVALID, "limits.seconds is");
}
