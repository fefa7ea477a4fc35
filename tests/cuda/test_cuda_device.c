/* Faults that a real GPU has by itself: a graph larger than its memory, another process that holds the memory, a kernel
 * that reads memory that is gone. Each is a status with a message, the process lives, and the device works again.
 *
 * With RLX_TEST_DEVICES=cuda it is the machine's GPU; otherwise the fake driver, so that the test itself is tested:
 *
 *   RLX_TEST_DEVICES=cuda test_cuda_device */
#include "test.h"

#ifndef RLX_CUDA
TEST(cuda_device) { SKIP("this library was built without CUDA"); }
#else
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/cu.h"
#include "cuda_fake.h"
#include "device/arena.h"
#include "device_checks.h"
#include "rules.h"
#include "run_check.h"

static bool is_fake(void) {
  fake_cuda_counts counts;
  return cuda_fake_get(&counts);
}

__attribute__((constructor)) static void enter(int argc, char **argv) {
  const char *devices = getenv("RLX_TEST_DEVICES");
  if (!(devices && strstr(devices, "cuda")) && !cuda_fake_enter(argc, argv)) exit(1);
}

/* A session, or the test is skipped. */
static void open_session(rlx_session **out, rlx_device_info *info) {
  *info = (rlx_device_info){RLX_DEVICE_INFO_INIT};
  rlx_status s = run_session("cuda", 1, out);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  CHECK_OK(rlx_session_device(*out, info));
}

/* What any device that works can do. */
static void check_works(rlx_session *s) {
  rlx_graph *g;
  CHECK_OK(expr_graph("x: f32[8,16]; param w: f32[16,16]", "%m = matmul(%x, %w); softmax(%m)", &g));
  CHECK_OK(run_check(s, g, NULL, 7, 2, false));
  rlx_graph_destroy(g);
}

/* A sum of inputs that take this many bytes together, each below what kernels count in 32 bits. */
static rlx_status make_large(uint64_t bytes, rlx_graph **out) {
  const uint64_t each = bytes < UINT64_C(2) << 30 ? bytes : UINT64_C(2) << 30;
  RLX_TRY(rlx_graph_create(out));
  rlx_node sum = 0;
  for (uint64_t i = 0; i * each < bytes; i++) {
    char name[24];
    snprintf(name, sizeof name, "x%llu", (unsigned long long)i);
    rlx_node x = rlx_op_input(*out, name, RLX_F32, RLX_DIMS((int64_t)(each >> 22), 1 << 20));
    sum = i ? rlx_op_add(*out, sum, x) : x;
  }
  rlx_graph_add_output(*out, "y", rlx_op_exp(*out, sum));
  return rlx_graph_finish(*out);
}

static rlx_status compile_once(rlx_session *s, const rlx_graph *g) {
  rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT, .no_cache = true};
  rlx_executable *e = NULL;
  rlx_status status = rlx_compile(s, g, &o, &e);
  rlx_executable_destroy(e);
  return status;
}

static bool is_out_of_memory(rlx_status s) { return s == RLX_NO_MEMORY || s == RLX_LIMIT; }

TEST(a_graph_larger_than_the_memory) {
  rlx_session *s = NULL;
  rlx_device_info info;
  rlx_graph *g;
  open_session(&s, &info);
  STOP_UNLESS_PASSED;
  CHECK_OK(make_large(info.memory_bytes + (UINT64_C(1) << 30), &g));
  rlx_status status = compile_once(s, g);
  if (!is_out_of_memory(status)) FAIL("expected a lack of memory, got status %d: %s", (int)status, rlx_message());
  CHECK(strlen(rlx_message()) > 0 && strstr(rlx_message(), info.name));
  check_works(s);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- another process ---- */

/* The other process: holds what it can get of the memory until its input ends. */
TEST(holding_the_memory_for_another_program) {
  enum { MAX_HELD = 4096 };
  static rlx_block *held[MAX_HELD];
  rlx_device *d;
  size_t n = 0;
  char byte = 'h';
  if (!getenv("RLX_TEST_HOLD")) return;
  CHECK_OK(rlx_device_acquire("cuda", &d));
  for (uint64_t bytes = UINT64_C(4) << 30; bytes >= (64 << 20) && n < MAX_HELD; bytes /= 2)
    while (n < MAX_HELD && d->backend->block_create(d, bytes, &held[n]) == RLX_OK) n++;
  CHECK(write(STDOUT_FILENO, &byte, 1) == 1);
  CHECK(read(STDIN_FILENO, &byte, 1) == 0);
  for (size_t i = 0; i < n; i++) d->backend->block_destroy(d, held[i]);
  rlx_device_release(d);
}

typedef struct holder {
  pid_t process;
  int to, from;
} holder;

/* Returns when the other process has the memory. */
static bool holder_begin(holder *h) {
  int in[2], out[2];
  char byte;
  if (pipe(in) || pipe(out)) return false;
  fflush(stdout);
  h->process = fork();
  if (h->process == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (int i = 0; i < 2; i++) close(in[i]), close(out[i]);
    setenv("RLX_TEST_HOLD", "1", 1);
    execl("/proc/self/exe", "test_cuda_device", "holding_the_memory_for_another_program", (char *)NULL);
    _exit(9);
  }
  close(in[0]), close(out[1]);
  h->to = in[1], h->from = out[0];
  return h->process > 0 && read(h->from, &byte, 1) == 1 && byte == 'h';
}

static void holder_end(holder *h) {
  int status;
  close(h->to);
  close(h->from);
  if (h->process > 0) CHECK(waitpid(h->process, &status, 0) == h->process);
}

TEST(memory_that_another_process_holds) {
  enum { BYTES = 1 << 30 };
  rlx_session *s = NULL;
  rlx_device_info info;
  rlx_graph *g;
  holder h = {-1, -1, -1};
  if (is_fake()) SKIP("the memory of the fake device is that of one process");
  open_session(&s, &info);
  STOP_UNLESS_PASSED;
  CHECK_OK(make_large(BYTES, &g));
  const bool is_held = holder_begin(&h);
  rlx_status status = is_held ? compile_once(s, g) : RLX_OK;
  const bool is_reported = is_out_of_memory(status) && strstr(rlx_message(), "memory");
  holder_end(&h);
  if (!is_held) FAIL("the other process did not get the memory");
  if (!is_reported) FAIL("expected a lack of memory, got status %d: %s", (int)status, rlx_message());
  CHECK_OK(compile_once(s, g));
  check_works(s);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- an illegal address ---- */

/* Returns the block of w to the driver, so that a kernel that reads it has an illegal address. It is large: then it is
 * a mapping of its own. */
static void free_weight(rlx_executable *e) {
  const rlx_graph *g = rlx_executable_graph(e);
  rlx_arena *a;
  CHECK_OK(rlx_executable_arena(e, &a));
  for (rlx_node id = 1; id <= rlx_graph_size(g); id++) {
    if (strcmp(rlx_node_op(g, id), "param") != 0) continue;
    const rlx_arena_entry *entry = rlx_arena_get(a, id);
    rlx_device *d;
    CHECK(entry && entry->at.block);
    CHECK_OK(rlx_device_acquire("cuda", &d));
    CHECK_OK(cu_enter(cu_device_of(d)));
    CHECK(cu_device_of(d)->f->MemFree(cu_address(entry->at.block)) == CUDA_SUCCESS);
    cu_leave(cu_device_of(d));
    rlx_device_release(d);
  }
}

/* A new session works. NVIDIA's driver refuses contexts after such a fault, at least while the faulty one is there (seen
 * on an H200): then the session has a status that says so. */
static void check_reopens(void) {
  rlx_session *fresh;
  rlx_status status = run_session("cuda", 1, &fresh);
  if (status && !is_fake()) {
    if (status != RLX_DEVICE_LOST || !strstr(rlx_message(), "new process"))
      FAIL("status %d: %s", (int)status, rlx_message());
    printf("  not opened: %s\n", rlx_message());
    return;
  }
  CHECK_OK(status);
  check_works(fresh);
  rlx_session_destroy(fresh);
}

TEST(an_illegal_address) {
  enum { ROWS = 4096, COLS = 4096 };
  rlx_session *s = NULL;
  rlx_device_info info;
  rlx_graph *g;
  rlx_executable *e;
  open_session(&s, &info);
  STOP_UNLESS_PASSED;
  CHECK_OK(expr_graph("param w: f32[4096,4096]; x: f32[4096,4096]", "add(%w, %x)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  float *zeros = calloc((size_t)ROWS * COLS, sizeof *zeros);
  CHECK(zeros);
  const rlx_tensor value = {RLX_F32, RLX_DIMS(ROWS, COLS), {zeros}, (size_t)ROWS * COLS * sizeof *zeros};
  CHECK_OK(rlx_executable_write(e, "w", &value));
  CHECK_OK(rlx_executable_write(e, "x", &value));
  CHECK_OK(rlx_executable_run(e));
  free_weight(e);
  rlx_status status = rlx_executable_run(e);
  if (!status) status = rlx_executable_read(e, "y", &(rlx_tensor){RLX_F32, value.shape, {zeros}, value.bytes});
  if (status != RLX_DEVICE_LOST) FAIL("expected a lost device, got status %d: %s", (int)status, rlx_message());
  CHECK(strstr(rlx_message(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(rlx_executable_run(e) == RLX_DEVICE_LOST);
  check_reopens();
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  check_reopens();
  rlx_graph_destroy(g);
  free(zeros);
}
#endif
