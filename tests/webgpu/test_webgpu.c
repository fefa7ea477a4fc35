/* Tests of the WebGPU backend on the first available adapter: variants, transfers, programs, lowered limits. Faults are
 * in test_webgpu_faults.c; the contracts of arenas and queues on WebGPU are rows of test_arena.c and test_queue.c. The
 * library is the one that RLX_WEBGPU_LIBRARY names (tools/kernels --wgpu prints one); without it the tests are
 * skipped. */
#include "test.h"

#ifndef RLX_WEBGPU
TEST(webgpu) { SKIP("this library was built without WebGPU"); }
#else
#include "device_copies.h"
#include "rules.h"
#include "run_check.h"
#include "webgpu/program.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

static const char *const devices[] = {"webgpu", "webgpu:minimal"};

static void on_every_device(void (*check)(const char *device)) {
  for (size_t k = 0; k < sizeof devices / sizeof *devices && test_all.result == TEST_PASSED; k++) check(devices[k]);
}

/* ---- devices and variants ---- */

static void check_info(const rlx_device_info *info) {
  CHECK(strstr(info->driver, " on ") && info->max_block_bytes >= 256 << 20 && !info->is_mapped);
  CHECK(!strstr(info->name, "llvmpipe") || info->kind == RLX_DEVICE_SOFTWARE);
}

TEST(devices_come_best_first) { check_devices(&rlx_backend_webgpu, check_info); }

TEST(variants_take_away) {
  rlx_device *d;
  ACQUIRE("webgpu:minimal", &d);
  CHECK_EQ_INT(d->info.max_window_bytes, 128 << 20);
  CHECK_EQ_INT(d->info.max_block_bytes, 256 << 20);
  CHECK_EQ_INT(d->info.view_align, 256);
  const gpu_caps *c = &((wg_device *)d)->caps;
  CHECK(c->max_group <= 256 && c->max_shared == 16384 && c->max_groups_x == 65535 && c->subgroup == 0 && !c->has_f16);
  rlx_device_release(d);
  CHECK_OK(rlx_device_acquire("webgpu:subgroup=1", &d));
  CHECK_EQ_INT(((wg_device *)d)->caps.subgroup, 0);
  rlx_device_release(d);
  check_lowered_limits("webgpu");
}

/* ---- blocks ---- */

TEST(odd_ranges) { check_odd_ranges("webgpu"); }
TEST(odd_ranges_minimal) { check_odd_ranges("webgpu:minimal"); }

/* In host memory each call sees the copies before it. */
TEST(ranges_are_checked) {
  rlx_device *d;
  rlx_block *b, *host, *none;
  char bytes[8];
  check_wrong_ranges("webgpu");
  STOP_UNLESS_PASSED;
  ACQUIRE("webgpu", &d);
  const rlx_backend *v = d->backend;
  rlx_queue *q;
  CHECK_OK(v->queue_create(d, &q));
  CHECK_OK(v->block_create(d, 16, &b));
  CHECK_OK(v->block_create_host(d, 16, &host));
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
  v->block_destroy(d, b);
  CHECK_FAILS(v->block_create(d, UINT64_MAX / 2, &none), RLX_NO_MEMORY, "has buffers of at most");
  CHECK(none == NULL);
  v->queue_destroy(q);
  rlx_device_release(d);
}

TEST(large_transfers) { on_every_device(check_large_transfers); }
TEST(threads_share_a_device) { check_threads("webgpu"); }

/* ---- programs of copies: order, times, cancellation ---- */

/* With one unit of work per submission the caller's cancel function is polled before each step, and times stay in
 * order. */
TEST(submissions_are_cut_timed_and_stopped) {
  static const uint8_t pairs[4][2] = {{0, 4}, {4, 5}, {5, 6}, {6, 7}};
  static const char *const names[] = {"webgpu:submit=1", "webgpu:minimal,submit=1", "webgpu"};
  for (int k = 0; k < 3; k++) {
    copies c;
    copies_open(&c, names[k], pairs, 4);
    STOP_UNLESS_PASSED;
    const rlx_backend *v = c.d->backend;
    copies_check_stop(&c, k < 2);
    if (k < 2) copies_expect(&c, "01230067");
    const uint64_t n_before = ((wg_device *)c.d)->submitted;
    copies_run_timed(&c, 3);
    /* with the device's clock: the steps, and what it counted; otherwise a submission for each step */
    const bool has_clock = ((wg_device *)c.d)->has_timestamps && !c.p->times.is_refused;
    if (k == 2) CHECK_EQ_INT(((wg_device *)c.d)->submitted - n_before, has_clock ? 6 : 12);
    copies_expect(&c, "01230000");
    copies_expect_times(&c);
    CHECK_FAILS(v->submit(c.p, 2, 3, &(rlx_run_args){0}), RLX_INVALID, "3 steps from 2");
    CHECK_OK(v->submit(c.p, 4, 0, &(rlx_run_args){0}));
    copies_close(&c);
  }
}

TEST(wrong_programs_are_reported) {
  copies c;
  copies_open(&c, "webgpu", (const uint8_t[1][2]){{0, 1}}, 1);
  STOP_UNLESS_PASSED;
  check_wrong_programs(&c);
  copies_close(&c);
}

/* ---- programs of kernels ---- */

/* What the library allocates itself is not counted. */
static void check_steady_runs(const char *device) {
  steady s;
  steady_open(&s, device, STEADY_SOFTMAX, 2);
  STOP_UNLESS_PASSED;
  steady_check(&s);
  steady_close(&s);
}

TEST(steady_runs_allocate_nothing) { on_every_device(check_steady_runs); }

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

TEST(an_arena_is_split_into_blocks) {
  check_arena_is_split("webgpu:block=65536");
  STOP_UNLESS_PASSED;
  check_arena_is_split("webgpu:minimal,block=65536");
}

TEST(weights_are_split_into_blocks) { check_weights_are_split("webgpu:block=65536"); }

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
