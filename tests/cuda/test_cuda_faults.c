/* Fault injection for the CUDA backend, by the fake driver: memory that runs out at call N, creations, submissions and
 * compilations that fail at call N, a device lost at launch N. Each time the call is a status with a message, nothing
 * leaks, and a new session works. Also a driver that is missing, too old or without devices, no NVRTC, and no cuBLASLt.
 * What a real GPU has of these by itself is in test_cuda_device.c. */
#include "test.h"

#ifndef RLX_CUDA
TEST(cuda_faults) { SKIP("this library was built without CUDA"); }
#else
#include <stdlib.h>
#include <unistd.h>

#include "cuda/cu.h"
#include "cuda_fake.h"
#include "device_faults.h"
#include "folder.h"
#include "rules.h"
#include "run_check.h"

__attribute__((constructor)) static void enter(int argc, char **argv) {
  setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
  if (!getenv("RLX_TEST_NO_FAKE") && !cuda_fake_enter(argc, argv)) exit(1);
}

static const char *const devices[] = {"cuda", "cuda:submit=1", "cuda:ptx"};

/* A run that can be stopped, plain ones, and several that are not waited for. */
static const fault_work work = {
  .leaves = "x: f32[3,16]; param w: f32[3,16]",
  .expr = "%a = softmax(%x); %b = softmax(%a); %c = softmax(%w); %d = softmax(%b); %e = softmax(%d); add(%e, %c)",
  .rows = 3,
  .cols = 16,
  .n_out = 48,
  .low = 0.1249f,
  .high = 0.1251f,
  .n_ahead = 6,
};

typedef enum fault {
  FAIL_MEMORY,
  FAIL_HOST,
  FAIL_CREATE,
  FAIL_SUBMIT,
  FAIL_COMPILE,
  LOSE_AT_LAUNCH,
  FAULT_COUNT
} fault;

static const fault_kind kinds[FAULT_COUNT] = {
  [FAIL_MEMORY] = {.status = RLX_NO_MEMORY, .part = "the device is out of memory"},
  [FAIL_HOST] = {.status = RLX_NO_MEMORY, .part = "the device is out of memory"},
  [FAIL_CREATE] = {.status = RLX_NO_MEMORY, .part = "the device is out of memory"},
  [FAIL_SUBMIT] = {.status = RLX_NO_MEMORY, .part = "the device is out of memory"},
  [FAIL_COMPILE] = {.status = RLX_UNSUPPORTED, .part = "cuda: compiling kernel", .is_named = true},
  [LOSE_AT_LAUNCH] = {.status = RLX_DEVICE_LOST, .part = "CUDA_ERROR_ILLEGAL_ADDRESS", .is_named = true},
};

static bool fails_from_then_on;

static void plan_fault(int kind, uint64_t at) {
  const fake_cuda_plan plan = {.fail_memory = kind == FAIL_MEMORY ? at : 0,
                               .fail_host = kind == FAIL_HOST ? at : 0,
                               .fail_create = kind == FAIL_CREATE ? at : 0,
                               .fail_submit = kind == FAIL_SUBMIT ? at : 0,
                               .fail_compile = kind == FAIL_COMPILE ? at : 0,
                               .lose_at_launch = kind == LOSE_AT_LAUNCH ? at : 0,
                               .fails_from_then_on = at && fails_from_then_on};
  CHECK(cuda_fake_set(&plan));
}

static fake_cuda_counts counts_now(void) {
  fake_cuda_counts c = {0};
  if (!cuda_fake_get(&c)) test_report(TEST_FAILED, __FILE__, __LINE__, "the fake driver has no counts");
  return c;
}

static uint64_t count_calls(int kind) {
  const fake_cuda_counts c = counts_now();
  const uint64_t counts[FAULT_COUNT] = {c.memory, c.host, c.creates, c.submits, c.compiles, c.launches};
  return counts[kind];
}

static int64_t count_live(void) { return (int64_t)counts_now().live; }

static void sweep(fault kind) {
  static const fault_driver driver = {kinds, plan_fault, count_calls, count_live};
  rlx_graph *g = fault_graph(&work);
  CHECK(g);
  for (size_t k = 0; k < sizeof devices / sizeof *devices && !test_has_failed(); k++) {
    fails_from_then_on = false;
    check_faults(&driver, &work, devices[k], (int)kind, g);
    fails_from_then_on = true;
    if (!test_has_failed() && kind != LOSE_AT_LAUNCH) check_faults(&driver, &work, devices[k], (int)kind, g);
  }
  rlx_graph_destroy(g);
}

TEST(memory_that_runs_out_at_call_n) { sweep(FAIL_MEMORY); }
TEST(pinned_memory_that_runs_out_at_call_n) { sweep(FAIL_HOST); }
TEST(creations_that_fail_at_call_n) { sweep(FAIL_CREATE); }
TEST(submissions_that_fail_at_call_n) { sweep(FAIL_SUBMIT); }
TEST(compilations_that_fail_at_call_n) { sweep(FAIL_COMPILE); }
TEST(a_device_lost_at_launch_n) { sweep(LOSE_AT_LAUNCH); }

static void lose(bool is_on) {
  CHECK(cuda_fake_set(&(fake_cuda_plan){.lose_at_launch = is_on, .lose_with = is_on ? CUDA_ERROR_LAUNCH_FAILED : 0}));
}

TEST(a_lost_device_is_reported_and_replaced) {
  check_lost_device(&work, "cuda", lose, "CUDA_ERROR_LAUNCH_FAILED");
  CHECK_EQ_INT(count_live(), 0);
}

/* A program whose memory is more than the device has. */
TEST(a_graph_larger_than_the_device) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e = NULL;
  CHECK(cuda_fake_set(&(fake_cuda_plan){0}));
  CHECK_OK(expr_graph("x: f32[1,1]", "%a = expand(%x) {shape=[20000,20000]}; exp(%a)", &g));
  CHECK_OK(run_session("cuda", 1, &s));
  rlx_status status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_executable_run(e);
  CHECK(status == RLX_NO_MEMORY || status == RLX_LIMIT);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
}

/* ---- drivers that are not there or not enough: each in a program of its own ---- */

#define NO_COMPILER "no compiler" /* then there is a device, whose driver compiles */
#define NO_LIBRARY "no library"   /* then there is a device, all of whose products are our kernels */

/* With LD_LIBRARY_PATH set it is the machine's own driver and compiler, if it has them. */
static int list_with(const char *name, const char *value, const char *part) {
  if (strcmp(name, "LD_LIBRARY_PATH") == 0) setenv("RLX_TEST_NO_FAKE", "1", 1);
  const int status = list_again("test_cuda_faults", name, value, part);
  unsetenv("RLX_TEST_NO_FAKE");
  return status;
}

/* Products that would be cuBLASLt's. */
static void run_products(void) {
  rlx_session *s;
  rlx_graph *g;
  fake_cuda_counts counts;
  CHECK_OK(run_session("cuda:library=1", 1, &s));
  CHECK_OK(expr_graph("x: f16[40,64]; w: f16[64,24]", "matmul(%x, %w)", &g));
  CHECK_OK(run_check(s, g, NULL, 5, 2, false));
  CHECK(cuda_fake_get(&counts) && counts.kernels > 0 && counts.products == 0);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* The exit status is 0 if the reason why there is no device has the part. */
TEST(listing_for_another_program) {
  const char *part = getenv("RLX_TEST_PART"), *why = NULL;
  if (!part) return; /* the others run it */
  uint32_t n = rlx_backend_cuda.count(&why);
  rlx_device *d;
  if (strcmp(part, NO_COMPILER) == 0) {
    CHECK_OK(rlx_device_acquire("cuda", &d));
    if (strstr(d->info.driver, "NVRTC")) SKIP("this machine has what is to be missing");
    CHECK(n == 1 && !why && strstr(d->info.driver, "whose own compiler takes the kernels"));
    CHECK(!strstr(d->info.features, "coopmat"));
    rlx_device_release(d);
    return;
  }
  if (strcmp(part, NO_LIBRARY) == 0) {
    CHECK_OK(rlx_device_acquire("cuda:library=1", &d));
    if (cu_device_of(d)->blas) SKIP("this machine has what is to be missing");
    CHECK(strstr(d->info.driver, "NVRTC") && !strstr(d->info.driver, "whose own compiler"));
    CHECK(!strstr(d->info.features, "library"));
    rlx_device_release(d);
    run_products();
    return;
  }
  if (n && getenv("RLX_TEST_NO_FAKE")) SKIP("this machine has what is to be missing");
  if (n || !why || !strstr(why, part)) FAIL("%u devices: expected <%s>, got <%s>", n, part, why ? why : "none");
  CHECK_FAILS(rlx_device_acquire("cuda", &d), RLX_NOT_FOUND, "this backend has no device");
}

TEST(drivers_that_are_not_enough) {
  CHECK_EQ_INT(list_with("FAKE_CUDA_DEVICES", "0", "finds no GPU"), 0);
  CHECK_EQ_INT(list_with("FAKE_CUDA_VERSION", "11020", "11.4 is needed, it has 11.2"), 0);
  CHECK_EQ_INT(list_with("FAKE_CUDA_ARCH", "61", "no GPU of compute capability 7.5"), 0);
  CHECK_EQ_INT(list_with("LD_LIBRARY_PATH", "/dev/null/none", ""), 0); /* "no CUDA here", or a real driver's reason */
  char driver[600];
  CHECK(folder_begin());
  snprintf(driver, sizeof driver, "%s/libcuda.so.1", cuda_fake_folder());
  CHECK(symlink(driver, folder_path("libcuda.so.1")) == 0);
  CHECK_EQ_INT(list_with("LD_LIBRARY_PATH", folder_name(), NO_COMPILER), 0);
  CHECK(symlink(driver, folder_path("libnvrtc.so.13")) == 0);
  CHECK_EQ_INT(list_with("LD_LIBRARY_PATH", folder_name(), NO_LIBRARY), 0);
}
#endif
