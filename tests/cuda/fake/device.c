/* The device and its settings, the controls of tests, and what every other file here uses: the lock, the reasons of
 * refused calls, the random numbers. */
#include "fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_settings fake_device;
fake_cuda_plan fake_plan;
fake_cuda_counts fake_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_initialised, is_forked;
static uint64_t random_state = 1;

/* ---- the lock ---- */

/* CUDA cannot be used in a forked child of a process that has used it. */
static void begin_child(void) {
  static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  lock = fresh;
  if (is_initialised) is_forked = true;
}
__attribute__((constructor)) static void register_fork_handler(void) { (void)pthread_atfork(NULL, NULL, begin_child); }

void fake_lock(void) { pthread_mutex_lock(&lock); }

CUresult fake_unlock(CUresult r) {
  pthread_mutex_unlock(&lock);
  return r;
}

CUresult fake_ready(void) {
  if (is_forked) return fake_refuse(CUDA_ERROR_NOT_INITIALIZED, "a forked child of a process that has called cuInit");
  return is_initialised ? CUDA_SUCCESS : fake_refuse(CUDA_ERROR_NOT_INITIALIZED, "expected cuInit before");
}

/* ---- reasons ---- */

void fake_log(const char *what, const char *text) {
  if (fake_device.is_logged) fprintf(stderr, "fake CUDA: %s: %s\n", what, text);
}

CUresult fake_refuse(CUresult r, const char *fmt, ...) {
  fake_count.refused++;
  va_list args;
  va_start(args, fmt);
  vsnprintf(fake_count.reason, sizeof fake_count.reason, fmt, args);
  va_end(args);
  const char *name = "an error without a name";
  (void)fake_GetErrorName(r, &name);
  fake_log(name, fake_count.reason);
  return r;
}

/* ---- helpers ---- */

bool fake_fails(uint64_t *counter, uint64_t at) {
  uint64_t now = ++*counter;
  return at != 0 && (fake_plan.fails_from_then_on ? now >= at : now == at);
}

CUresult fake_loses_now(void) {
  if (fake_count.launches != fake_plan.lose_at_launch) return CUDA_SUCCESS;
  return fake_plan.lose_with ? fake_plan.lose_with : CUDA_ERROR_ILLEGAL_ADDRESS;
}

uint32_t fake_random(uint32_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((random_state >> 32) * below >> 32);
}

void *fake_new(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (p) return p;
  fprintf(stderr, "fake CUDA: the process has no memory for %zu bytes\n", bytes);
  abort();
}

void *fake_copy(const void *p, size_t bytes) {
  void *copy = fake_new(bytes);
  if (bytes) memcpy(copy, p, bytes);
  return copy;
}

/* ---- controls ---- */

FAKE_EXPORT void fake_cuda_set(const fake_cuda_plan *plan);
FAKE_EXPORT void fake_cuda_set(const fake_cuda_plan *plan) {
  fake_lock();
  fake_plan = *plan;
  memset(&fake_count, 0, sizeof fake_count);
  fake_unlock(0);
}

FAKE_EXPORT void fake_cuda_get(fake_cuda_counts *out);
FAKE_EXPORT void fake_cuda_get(fake_cuda_counts *out) {
  fake_lock();
  *out = fake_count;
  out->contexts = fake_handle_count(FAKE_CONTEXT);
  out->streams = fake_handle_count(FAKE_STREAM);
  out->events = fake_handle_count(FAKE_EVENT);
  out->modules = fake_handle_count(FAKE_MODULE);
  out->graphs = fake_handle_count(FAKE_GRAPH);
  out->graph_execs = fake_handle_count(FAKE_EXEC);
  out->programs = fake_handle_count(FAKE_PROGRAM);
  fake_memory_count(out);
  out->live = out->contexts + out->allocations + out->pinned + out->streams + out->events + out->modules + out->graphs +
              out->graph_execs + out->programs;
  out->pending = fake_pending();
  fake_unlock(0);
}

/* ---- the device ---- */

static uint64_t number(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void read_settings(void) {
  fake_settings *s = &fake_device;
  s->seed = number("FAKE_CUDA_SEED", 1);
  s->memory_bytes = number("FAKE_CUDA_MEMORY", (uint64_t)1 << 30);
  s->n_devices = (int)number("FAKE_CUDA_DEVICES", 1);
  s->units = (int)number("FAKE_CUDA_UNITS", 4);
  s->threads = (int)number("FAKE_CUDA_THREADS", 256);
  s->shared_bytes = (int)number("FAKE_CUDA_SHARED", 16 << 10);
  s->grid_x = (int)number("FAKE_CUDA_GRID", 7);
  s->warp = (int)number("FAKE_CUDA_WARP", 0);
  s->arch = (int)number("FAKE_CUDA_ARCH", 90);
  s->version = (int)number("FAKE_CUDA_VERSION", 13000);
  s->nvrtc_arch = (int)number("FAKE_NVRTC_ARCH", 1000);
  s->is_blind = number("FAKE_CUDA_BLIND", 0) != 0;
  s->is_logged = number("FAKE_CUDA_LOG", 0) != 0;
  s->init = (int)number("FAKE_CUDA_INIT", 1);
  const char *name = getenv("FAKE_CUDA_NAME");
  snprintf(s->name, sizeof s->name, "%s", name && *name ? name : "fake CUDA device");
  random_state = s->seed * 2654435761u + 1;
}

__attribute__((constructor)) static void read_settings_first(void) { read_settings(); } /* NVRTC has no cuInit */

CUresult fake_Init(unsigned flags) {
  fake_lock();
  if (is_forked) return fake_unlock(fake_ready());
  read_settings();
  if (flags) return fake_unlock(fake_refuse(CUDA_ERROR_INVALID_VALUE, "cuInit: expected flags 0, got %u", flags));
  if (fake_device.n_devices < 1) return fake_unlock(fake_refuse(CUDA_ERROR_NO_DEVICE, "FAKE_CUDA_DEVICES is 0"));
  is_initialised = true;
  return fake_unlock(CUDA_SUCCESS);
}

CUresult fake_DriverGetVersion(int *version) {
  fake_lock();
  *version = fake_device.version;
  return fake_unlock(CUDA_SUCCESS);
}

CUresult fake_GetErrorName(CUresult r, const char **out) {
#define NAMED(error) \
  { error, #error }
  static const struct {
    CUresult error;
    const char *name;
  } names[] = {
    NAMED(CUDA_SUCCESS),
    NAMED(CUDA_ERROR_INVALID_VALUE),
    NAMED(CUDA_ERROR_OUT_OF_MEMORY),
    NAMED(CUDA_ERROR_NOT_INITIALIZED),
    NAMED(CUDA_ERROR_NO_DEVICE),
    NAMED(CUDA_ERROR_INVALID_DEVICE),
    NAMED(CUDA_ERROR_INVALID_IMAGE),
    NAMED(CUDA_ERROR_INVALID_CONTEXT),
    NAMED(CUDA_ERROR_NO_BINARY_FOR_GPU),
    NAMED(CUDA_ERROR_ECC_UNCORRECTABLE),
    NAMED(CUDA_ERROR_INVALID_PTX),
    NAMED(CUDA_ERROR_INVALID_HANDLE),
    NAMED(CUDA_ERROR_NOT_FOUND),
    NAMED(CUDA_ERROR_NOT_READY),
    NAMED(CUDA_ERROR_ILLEGAL_ADDRESS),
    NAMED(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
    NAMED(CUDA_ERROR_LAUNCH_TIMEOUT),
    NAMED(CUDA_ERROR_CONTEXT_IS_DESTROYED),
    NAMED(CUDA_ERROR_MISALIGNED_ADDRESS),
    NAMED(CUDA_ERROR_LAUNCH_FAILED),
    NAMED(CUDA_ERROR_NOT_SUPPORTED),
    NAMED(CUDA_ERROR_UNKNOWN),
  };
#undef NAMED
  *out = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].error == r) *out = names[i].name;
  return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_device(CUdevice d) {
  CUresult r = fake_ready();
  return r || d == 0 ? r : fake_refuse(CUDA_ERROR_INVALID_DEVICE, "expected device 0, got %d", d);
}

CUresult fake_DeviceGetCount(int *n) {
  fake_lock();
  *n = 1;
  return fake_unlock(fake_ready());
}

CUresult fake_DeviceGet(CUdevice *out, int ordinal) {
  fake_lock();
  *out = 0;
  return fake_unlock(check_device(ordinal));
}

CUresult fake_DeviceGetName(char *name, int bytes, CUdevice d) {
  fake_lock();
  CUresult r = check_device(d);
  if (!r && bytes > 0) snprintf(name, (size_t)bytes, "%s", fake_device.name);
  return fake_unlock(r);
}

CUresult fake_DeviceGetUuid(CUuuid *out, CUdevice d) {
  fake_lock();
  memcpy(out->bytes, "fake CUDA device", 16);
  return fake_unlock(check_device(d));
}

CUresult fake_DeviceTotalMem(size_t *bytes, CUdevice d) {
  fake_lock();
  *bytes = fake_device.memory_bytes;
  return fake_unlock(check_device(d));
}

CUresult fake_DeviceGetAttribute(int *out, int attribute, CUdevice d) {
  fake_lock();
  CUresult r = check_device(d);
  const fake_settings *s = &fake_device;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *out = s->threads; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *out = s->grid_x; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *out = s->shared_bytes; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *out = s->warp; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *out = s->units; break;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED: *out = 0; break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *out = 1; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *out = s->arch / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *out = s->arch % 10; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *out = s->shared_bytes; break;
    default: r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d is not one that the fake knows", attribute);
  }
  return fake_unlock(r);
}

/* NVIDIA's own libraries ask the driver for tables of private functions; the real NVRTC, which tests may use beside this
 * driver, goes on without them. */
FAKE_EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id);
FAKE_EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  (void)id;
  *table = NULL;
  return CUDA_ERROR_NOT_FOUND;
}
