/* Fault injection for the Vulkan backend: memory that runs out at call N, creations that fail at call N, a device that
 * is lost at submission or wait N, the smallest limits that Vulkan allows. Also the reports of the validation layers on
 * a correct run.
 *
 * A process selects its driver at its first use of Vulkan, from the environment. So each test runs in a child process,
 * forked before any use of Vulkan, with its own environment. Its checks print as usual, and its exit status is the
 * result. */
#include "test.h"

#ifndef RLX_VULKAN
TEST(vulkan_faults) { SKIP("this library was built without Vulkan"); }
#else
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "device/queue.h"
#include "device_faults.h"
#include "folder.h"
#include "rules.h"
#include "run_check.h"
#include "vk_fault.h"
#include "vulkan/program.h"

#define LAVAPIPE "libvulkan_lvp.so"
#define VALIDATION "VK_LAYER_KHRONOS_validation"

/* ---- children ---- */

/* Runs a test's body in a child without a pipeline cache: a file has the name of its folder. `output`: a file for what
 * the child prints. */
static void in_child(void (*body)(void), const char *output) {
  fflush(stdout);
  CHECK_OK(rlx_file_write(folder_path("no-cache"), "", 0));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    setenv("XDG_CACHE_HOME", folder_path("no-cache"), 1);
    setenv("MESA_SHADER_CACHE_DIR", folder_path("mesa"), 1); /* hundreds of runs compile the same kernels */
    if (output && !freopen(output, "w", stdout)) _exit(TEST_FAILED);
    body();
    fflush(stdout);
    _exit((int)test_all.result);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) FAIL("the child died of signal %d", WTERMSIG(status));
  test_all.result = (test_result)WEXITSTATUS(status); /* the child has printed the reason */
}

static bool has_library(const char *name) {
  void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (library) return true;
  /* A child tries to load it, so that neither this process nor the children forked later have it loaded. */
  pid_t child = fork();
  if (child == 0) _exit(dlopen(name, RTLD_LAZY | RTLD_LOCAL) ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Sets the environment so that children use our driver in front of lavapipe. */
#define USE_FAULT_DRIVER(minimum)                                                                                      \
  do {                                                                                                                 \
    static const char manifest_[] =                                                                                    \
      "{\"file_format_version\":\"1.0.0\",\"ICD\":{\"library_path\":\"" FAULT_DRIVER "\",\"api_version\":\"1.3.0\"}}"; \
    if (!has_library(LAVAPIPE)) SKIP("lavapipe (mesa-vulkan-drivers) is not installed");                               \
    if (!has_library("libvulkan.so.1")) SKIP("the Vulkan loader is not installed");                                    \
    CHECK(folder_begin());                                                                                             \
    CHECK_OK(rlx_file_write(folder_path("fault.json"), manifest_, sizeof manifest_ - 1));                              \
    setenv("VK_ICD_FILENAMES", folder_path("fault.json"), 1);                                                          \
    setenv("VK_DRIVER_FILES", folder_path("fault.json"), 1);                                                           \
    setenv(VK_FAULT_DRIVER, LAVAPIPE, 1);                                                                              \
    setenv(VK_FAULT_MINIMUM, (minimum), 1);                                                                            \
  } while (0)

static vk_fault_set_fn fault_set;
static vk_fault_get_fn fault_get;

/* In the child: finds the controls of the driver, which is loaded by then. */
static void find_controls(void) {
  const char *why;
  CHECK(rlx_backend_vulkan.count(&why) > 0);
  void *driver = dlopen(FAULT_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  CHECK(driver);
  void *set = dlsym(driver, VK_FAULT_SET), *get = dlsym(driver, VK_FAULT_GET);
  CHECK(set && get);
  memcpy(&fault_set, &set, sizeof set);
  memcpy(&fault_get, &get, sizeof get);
}

/* ---- the work that faults are injected into ---- */

static const char *const devices[] = {"vulkan", "vulkan:staging", "vulkan:minimal,staging", "vulkan:staging,submit=1"};
enum { N_DEVICES = sizeof devices / sizeof *devices, ROWS = 40, COLS = 96, N_AHEAD = 6 };

static const fault_work work = {
  .leaves = "x: f32[40,96]; param w: f32[40,96]",
  .expr = "%a = softmax(%x); %b = softmax(%a); %c = softmax(%w); %d = softmax(%b); add(%d, %c)",
  .rows = ROWS,
  .cols = COLS,
  .n_out = ROWS * COLS,
  .low = 0.02f,
  .high = 0.0210f,
  .n_ahead = N_AHEAD,
};

typedef enum fault { FAIL_MEMORY, FAIL_CREATE, FAIL_CALL, LOSE_AT_SUBMIT, LOSE_AT_WAIT, FAULT_COUNT } fault;

/* A failure may be recovered from: a smaller chunk of memory. */
static const fault_kind kinds[FAULT_COUNT] = {
  [FAIL_MEMORY] = {.status = RLX_NO_MEMORY,
                   .part = "the device is out of memory",
                   .also = "bytes of device memory for"},
  [FAIL_CREATE] = {.status = RLX_NO_MEMORY, .part = "the driver is out of host memory", .is_named = true},
  [FAIL_CALL] = {.status = RLX_NO_MEMORY, .part = "the driver is out of host memory"},
  [LOSE_AT_SUBMIT] = {.status = RLX_DEVICE_LOST, .part = "the device is lost", .is_named = true},
  [LOSE_AT_WAIT] = {.status = RLX_DEVICE_LOST, .part = "the device is lost", .is_named = true},
};

static void plan_fault(int kind, uint64_t at) {
  const vk_fault_plan plan = {.fail_memory = kind == FAIL_MEMORY ? at : 0,
                              .fail_create = kind == FAIL_CREATE ? at : 0,
                              .fail_call = kind == FAIL_CALL ? at : 0,
                              .lose_at_submit = kind == LOSE_AT_SUBMIT ? at : 0,
                              .lose_at_wait = kind == LOSE_AT_WAIT ? at : 0};
  fault_set(&plan);
}

static vk_fault_counts counts_now(void) {
  vk_fault_counts c;
  fault_get(&c);
  return c;
}

static uint64_t count_calls(int kind) {
  const vk_fault_counts c = counts_now();
  const uint64_t counts[FAULT_COUNT] = {c.memory, c.creates, c.calls, c.submits, c.waits};
  return counts[kind];
}

static int64_t count_live(void) { return counts_now().live; }

static void sweep(fault kind) {
  static const fault_driver driver = {kinds, plan_fault, count_calls, count_live};
  find_controls();
  if (test_has_failed()) return;
  rlx_graph *g = fault_graph(&work);
  CHECK(g);
  for (int k = 0; k < N_DEVICES && !test_has_failed(); k++) check_faults(&driver, &work, devices[k], (int)kind, g);
  rlx_graph_destroy(g);
}

static void sweep_memory(void) { sweep(FAIL_MEMORY); }
static void sweep_creations(void) { sweep(FAIL_CREATE); }
static void sweep_calls(void) { sweep(FAIL_CALL); }
static void sweep_submissions(void) { sweep(LOSE_AT_SUBMIT); }
static void sweep_waits(void) { sweep(LOSE_AT_WAIT); }

TEST(memory_that_runs_out_at_call_n) {
  USE_FAULT_DRIVER("0");
  in_child(sweep_memory, NULL);
}
TEST(creations_that_fail_at_call_n) {
  USE_FAULT_DRIVER("0");
  in_child(sweep_creations, NULL);
}
TEST(other_calls_that_fail_at_call_n) {
  USE_FAULT_DRIVER("0");
  in_child(sweep_calls, NULL);
}
TEST(a_device_lost_at_submission_n) {
  USE_FAULT_DRIVER("0");
  in_child(sweep_submissions, NULL);
}
TEST(a_device_lost_at_wait_n) {
  USE_FAULT_DRIVER("0");
  in_child(sweep_waits, NULL);
}

/* ---- after a loss ---- */

static void lose(bool is_on) { plan_fault(LOSE_AT_SUBMIT, is_on); }

static void lose_and_go_on(void) {
  find_controls();
  if (test_has_failed()) return;
  check_lost_device(&work, "vulkan:staging", lose, "(softmax)");
  CHECK_EQ_INT(count_live(), 0);
}

TEST(a_lost_device_is_reported_and_replaced) {
  USE_FAULT_DRIVER("0");
  in_child(lose_and_go_on, NULL);
}

/* ---- the minimum limits of Vulkan: the driver aborts on a binding beyond them ---- */

static void run_with_least(void) {
  char message[1024];
  rlx_device *d;
  find_controls();
  if (test_has_failed()) return;
  CHECK_OK(rlx_device_acquire("vulkan", &d));
  const gpu_caps *c = &((vk_device *)d)->caps;
  CHECK(c->max_group == 128 && c->max_shared == 16384 && c->max_groups_x == 65535 && c->subgroup == 0);
  CHECK(d->info.max_window_bytes == 128 << 20 && d->info.max_block_bytes == 1 << 30 && d->info.view_align == 256);
  rlx_device_release(d);
  rlx_graph *g = fault_graph(&work);
  CHECK(g);
  CHECK_OK(fault_run(&work, "vulkan", g, message));
  rlx_graph_destroy(g);
  CHECK_OK(expr_graph("x: f32[70000,3]", "softmax(%x)", &g)); /* more workgroups than the limit in x */
  rlx_session *s;
  CHECK_OK(run_session("vulkan", 1, &s));
  CHECK_OK(run_check(s, g, NULL, 3, 1, false));
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
}

TEST(the_least_limits) {
  USE_FAULT_DRIVER("1");
  in_child(run_with_least, NULL);
}

/* ---- the validation layers ---- */

#define USE_VALIDATION()                                                                                    \
  do {                                                                                                      \
    if (!has_library("libVkLayer_khronos_validation.so")) SKIP("vulkan-validationlayers is not installed"); \
    if (!has_library("libvulkan.so.1")) SKIP("the Vulkan loader is not installed");                         \
    CHECK(folder_begin());                                                                                  \
    unsetenv("VK_ICD_FILENAMES");                                                                           \
    unsetenv("VK_DRIVER_FILES");                                                                            \
    setenv("VK_INSTANCE_LAYERS", VALIDATION, 1);                                                            \
    setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT", 1);           \
  } while (0)

static void forget_validation(void) {
  unsetenv("VK_INSTANCE_LAYERS");
  unsetenv("VK_LAYER_ENABLES");
}

/* Counts the occurrences of a word in a file. */
static int count_word(const char *path, const char *word) {
  char *text;
  size_t bytes;
  int n = 0;
  if (rlx_file_read(path, 1 << 24, &text, &bytes)) return -1;
  for (const char *at = text; (at = strstr(at, word)); at++) n++;
  rlx_mem_free(text);
  return n;
}

static void show_file(const char *path) {
  char *text;
  size_t bytes;
  if (rlx_file_read(path, 1 << 24, &text, &bytes)) return;
  printf("%.3000s\n", text);
  rlx_mem_free(text);
}

/* Feeds are queued after runs that the caller has not waited for, and before the next run. */
static void run_ahead_on(const char *device, const rlx_graph *g) {
  static float x[ROWS * COLS], all[N_AHEAD][ROWS * COLS];
  rlx_session *s;
  rlx_executable *e;
  rlx_named_tensor out = {"y", {.data = all, .bytes = sizeof all}};
  CHECK_OK(run_session(device, 1, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_feed(e, "y", "s"));
  CHECK_OK(rlx_executable_write(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(ROWS, COLS), {x}, sizeof x}));
  for (int i = 0; i < 2; i++) CHECK_OK(rlx_executable_repeat(e, N_AHEAD, &out, 1));
  CHECK(all[N_AHEAD - 1][0] > all[0][0]);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
}

static void run_validated(void) {
  char message[1024];
  rlx_graph *g = fault_graph(&work);
  CHECK(g);
  for (int k = 0; k < N_DEVICES; k++) CHECK_OK(fault_run(&work, devices[k], g, message));
  rlx_session *s;
  rlx_executable *e;
  rlx_graph_destroy(g);
  CHECK_OK(expr_graph("x: f32[40,96]; state s: f32[40,96]", "%a = softmax(%x); add(%a, %s)", &g));
  CHECK_OK(run_session("vulkan:staging", 1, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_feed(e, "y", "s"));
  CHECK_OK(rlx_executable_profile(e, true)); /* timestamps */
  static float x[ROWS * COLS];
  CHECK_OK(rlx_executable_write(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(ROWS, COLS), {x}, sizeof x}));
  for (int i = 0; i < 3; i++) CHECK_OK(rlx_executable_run(e));
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  for (int k = 0; k < N_DEVICES; k++) run_ahead_on(devices[k], g);
  rlx_graph_destroy(g);
}

TEST(validation_has_nothing_to_say) {
  USE_VALIDATION();
  char path[300];
  snprintf(path, sizeof path, "%s", folder_path("said"));
  in_child(run_validated, path);
  forget_validation();
  if (test_all.result != TEST_PASSED || count_word(path, "VUID") || count_word(path, "SYNC-") ||
      count_word(path, "Validation")) {
    show_file(path);
    FAIL("the validation layer, or a check under it, complains");
  }
}

/* Provokes validation errors: a copy without a barrier after another, and a buffer of no bytes. If they are not
 * reported, the test above proves nothing. */
static void run_wrongly(void) {
  rlx_device *base;
  CHECK_OK(rlx_device_acquire("vulkan:staging", &base));
  vk_device *d = (vk_device *)base;
  VkBuffer buffer = VK_NULL_HANDLE;
  d->CreateBuffer(d->handle, &(VkBufferCreateInfo){.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .usage = 1}, NULL,
                  &buffer);
  rlx_block *b;
  CHECK_OK(base->backend->block_create(base, 1024, &b));
  rlx_queue *q;
  CHECK_OK(base->backend->queue_create(base, &q));
  CHECK_OK(base->backend->zero(q, b, 0, 512)); /* opens a batch */
  const vk_range *r = vk_range_of(b);
  d->CmdFillBuffer(vk_queue_of(q)->staging.open->cmd, r->chunk->buffer, r->offset, 512, 1);
  CHECK_OK(rlx_queue_sync(q));
  base->backend->queue_destroy(q);
  base->backend->block_destroy(base, b);
  rlx_device_release(base);
}

TEST(validation_would_speak_up) {
  USE_VALIDATION();
  char path[300];
  snprintf(path, sizeof path, "%s", folder_path("said"));
  in_child(run_wrongly, path);
  forget_validation();
  CHECK(count_word(path, "VUID-VkBufferCreateInfo-size") > 0);
  CHECK(count_word(path, "SYNC-HAZARD-WRITE-AFTER-WRITE") > 0 || count_word(path, "SYNC-HAZARD-WRITE_AFTER_WRITE") > 0);
}
#endif
