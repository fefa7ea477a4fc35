/* Device memory is written before it is read: the fake driver knows of each byte of an allocation whether a copy, a set
 * or a kernel wrote it, and a read of one that nothing wrote is a fault, as compute-sanitizer's initcheck reports it.
 * Every conformance case and random graphs are run so. No freed block is used again: its bytes count as written. */
#include "test.h"

#ifndef RLX_CUDA
TEST(cuda) { SKIP("this library was built without CUDA"); }
#else
#include <stdlib.h>

#include "cuda_fake.h"
#include "device/registry.h"
#include "random_graph.h"
#include "rules.h"
#include "run_check.h"

/* Before main. */
__attribute__((constructor)) static void enter(int argc, char **argv) {
  setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
  if (!cuda_fake_enter(argc, argv)) exit(1);
}

static rlx_status open_session(const char *device, rlx_session **out) {
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1, .no_pool = true};
  return rlx_session_create(&desc, out);
}

/* ---- what is found ---- */

typedef struct memory {
  rlx_device *device;
  rlx_queue *queue;
  rlx_block *block;
} memory;

static void make_memory(memory *m) {
  CHECK_OK(rlx_device_acquire("cuda", &m->device));
  CHECK_OK(m->device->backend->queue_create(m->device, &m->queue));
  CHECK_OK(m->device->backend->block_create(m->device, 64, &m->block));
}

static void free_memory(memory *m) {
  m->device->backend->block_destroy(m->device, m->block);
  m->device->backend->queue_destroy(m->queue);
  rlx_device_release(m->device);
}

TEST(reads_of_unwritten_bytes_are_faults) {
  memory m;
  unsigned char bytes[64] = {0};
  make_memory(&m);
  const rlx_backend *b = m.device->backend;
  CHECK_OK(b->write(m.queue, m.block, 0, bytes, 7));
  CHECK_OK(b->zero(m.queue, m.block, 8, 8));
  CHECK_OK(b->read(m.queue, m.block, 0, bytes, 7));
  CHECK_OK(b->read(m.queue, m.block, 8, bytes, 8));
  CHECK_OK(b->copy(m.queue, m.block, 32, m.block, 0, 8)); /* byte 7 stays unwritten */
  CHECK_OK(b->read(m.queue, m.block, 32, bytes, 7));
  CHECK(b->read(m.queue, m.block, 32, bytes, 8) != RLX_OK);
  fake_cuda_counts counts;
  CHECK(cuda_fake_get(&counts));
  CHECK(strstr(counts.fault, "reads byte 7, which nothing wrote"));
  free_memory(&m);
}

/* ---- what must not be ---- */

static bool print_failure(void *user, const rlx_conform_row *row) {
  size_t *failed = user;
  if (row->result < RLX_CONFORM_UNSUPPORTED) return false;
  if ((*failed)++ < 20) printf("  %s/%s: %s\n", row->op, row->name, row->why);
  return false;
}

static void check_cases(const char *device) {
  size_t failed = 0;
  rlx_session *s;
  CHECK_OK(open_session(device, &s));
  rlx_status status = RLX_OK;
  for (char letter = 'a'; letter <= 'z' && !status; letter++)
    if (test_takes((size_t)letter, 0, 3)) {
      status = rlx_conform(s, (char[]){letter, '*', 0}, print_failure, &failed);
      if (status == RLX_NOT_FOUND) status = RLX_OK; /* no op begins so */
    }
  rlx_session_destroy(s);
  CHECK_OK(status);
  CHECK_EQ_INT(failed, 0);
}

TEST(cases) { check_cases("cuda"); }
TEST(cases_through_ptx) { check_cases("cuda:ptx"); }

static void check_graphs(const char *device, int n) {
  rlx_session *s;
  CHECK_OK(open_session(device, &s));
  const rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT};
  for (int i = 1; i <= n && !test_has_failed(); i++) {
    random_graph r;
    CHECK_OK(random_graph_make((uint64_t)i, 4 + (uint32_t)(i % 40), &r));
    rlx_status status = run_check(s, r.graph, &options, (uint64_t)i, 2, false);
    if (status) FAIL("random graph %d: %s", i, rlx_message());
    random_graph_deinit(&r);
  }
  rlx_session_destroy(s);
}

TEST(random_graphs) { check_graphs("cuda", 150); }
TEST(random_graphs_as_one_kernel) { check_graphs("cuda:walk=1", 50); }
TEST(random_graphs_with_a_library) { check_graphs("cuda:library=1", 50); }
#endif
