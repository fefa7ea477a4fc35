/* Tests of the Vulkan backend on the first available device: variants, memory, transfers, programs, lowered limits.
 * Pipelines are in test_vulkan_pipelines.c; tests with a failing or missing driver are in test_vulkan_faults.c and
 * test_cli_vulkan.py; the arena's contract on Vulkan is in some rows of test_arena.c. */
#include "test.h"

#ifndef RLX_VULKAN
TEST(vulkan) { SKIP("this library was built without Vulkan"); }
#else
#include <stdlib.h>

#include "base/mem.h"
#include "device_copies.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/executable.h"
#include "vulkan/program.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* Not every device has every type of memory. */
static bool is_absent(const char *name) {
  rlx_device *d;
  if (rlx_device_acquire(name, &d)) return strcmp(name, "vulkan") != 0;
  rlx_device_release(d);
  return false;
}

static const char *const memories[] = {"vulkan", "vulkan:staging", "vulkan:mapped", "vulkan:minimal,staging"};
enum { N_MEMORIES = sizeof memories / sizeof *memories };

static void on_every_memory(void (*check)(const char *device)) {
  for (int k = 0; k < N_MEMORIES && test_all.result == TEST_PASSED; k++)
    if (!is_absent(memories[k])) check(memories[k]);
}

/* ---- devices and variants ---- */

static void check_info(const rlx_device_info *info) {
  CHECK(info->memory_bytes > 0 && info->max_block_bytes >= 1 << 30);
}

TEST(devices_come_best_first) { check_devices(&rlx_backend_vulkan, check_info); }

TEST(a_device_is_found_by_its_uuid) {
  rlx_device *d, *again;
  ACQUIRE("vulkan", &d);
  CHECK_OK(rlx_device_acquire(d->info.uuid, &again));
  CHECK(again == d);
  rlx_device_release(again);
  rlx_device_release(d);
}

TEST(variants_take_away) {
  rlx_device *d;
  ACQUIRE("vulkan:minimal,staging", &d);
  CHECK_EQ_INT(d->info.max_window_bytes, 128 << 20);
  CHECK_EQ_INT(d->info.view_align, 256);
  CHECK(!d->info.is_mapped);
  const gpu_caps *c = &((vk_device *)d)->caps;
  CHECK(c->max_group == 128 && c->max_shared == 16384 && c->max_groups_x == 65535 && c->subgroup == 0);
  CHECK(!c->has_dot8 && !c->has_f16 && !c->has_coopmat && !c->has_coopmat_bf16);
  rlx_device_release(d);
  check_lowered_limits("vulkan");
}

/* ---- blocks ---- */

TEST(odd_ranges) { check_odd_ranges("vulkan"); }
TEST(odd_ranges_staging) { check_odd_ranges("vulkan:staging"); }
TEST(odd_ranges_minimal) { check_odd_ranges("vulkan:minimal,staging"); }

TEST(ranges_are_checked) { check_wrong_ranges("vulkan:staging"); }
TEST(large_transfers) { on_every_memory(check_large_transfers); }
TEST(threads_share_a_device) { on_every_memory(check_threads); }

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

/* ---- programs of copies: order, barriers, times, cancellation ---- */

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
    STOP_UNLESS_PASSED;
    copies_run(&c, 0, 4, &(rlx_run_args){0});
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
    STOP_UNLESS_PASSED;
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

/* With one unit of work per submission the caller's cancel function is polled before each step, and times stay in
 * order. */
TEST(submissions_are_cut_timed_and_stopped) {
  static const uint8_t pairs[4][2] = {{0, 4}, {4, 5}, {5, 6}, {6, 7}};
  static const char *const devices[] = {"vulkan:staging,submit=1", "vulkan:minimal,submit=1", "vulkan"};
  for (int k = 0; k < 3; k++) {
    copies c;
    copies_open(&c, devices[k], pairs, 4);
    STOP_UNLESS_PASSED;
    copies_check_stop(&c, k < 2);
    if (k < 2) copies_expect(&c, "01230067");
    copies_run_timed(&c, 3);
    copies_expect(&c, "01230000");
    copies_expect_times(&c);
    CHECK(c.end[3] > c.begin[0]);
    copies_close(&c);
  }
}

TEST(wrong_programs_are_reported) {
  copies c;
  copies_open(&c, "vulkan", (const uint8_t[1][2]){{0, 1}}, 1);
  STOP_UNLESS_PASSED;
  check_wrong_programs(&c);
  copies_close(&c);
}

/* ---- programs of kernels ---- */

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

/* A chain of three kernels is three dispatches with two barriers between them; runs after the first allocate
 * nothing. */
static void check_steady_runs(const char *device) {
  steady s;
  steady_open(&s, device, STEADY_SOFTMAX, 2);
  STOP_UNLESS_PASSED;
  vk_counts counts;
  vk_program_counts(s.executable->now->program, &counts);
  CHECK_EQ_INT(counts.dispatches, 3);
  CHECK_EQ_INT(counts.barriers, 3);
  steady_check(&s);
  steady_close(&s);
}

TEST(steady_runs_allocate_nothing) { on_every_memory(check_steady_runs); }

/* ---- lowered limits ---- */

TEST(an_arena_is_split_into_blocks) {
  check_arena_is_split("vulkan:staging,block=65536");
  if (!is_absent("vulkan:mapped,block=65536")) check_arena_is_split("vulkan:mapped,block=65536");
  if (!is_absent("vulkan:minimal,block=65536")) check_arena_is_split("vulkan:minimal,block=65536");
}

TEST(weights_are_split_into_blocks) { check_weights_are_split("vulkan:staging,block=65536"); }

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
