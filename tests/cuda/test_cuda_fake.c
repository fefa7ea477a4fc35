/* Tests of the fake CUDA driver itself: order, laziness, events, graphs, faults, and kernels that compute what they
 * should. The library is loaded by its path, so these tests run on any machine, whatever drivers it has. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver.h"
#include "cuda_fake.h"
#include "gpu/gpu.h"
#include "test.h"

enum { PATTERN = 0xa5, MAX_OPTIONS = 16 };
#define NONE NULL /* the default stream */

static cu_driver cu;
static cu_compiler nvrtc;
static fake_cuda_set_fn fake_set;
static fake_cuda_get_fn fake_get;
static CUcontext context;

#define CHECK_CU(call) CHECK_EQ_INT(call, CUDA_SUCCESS)

/* ---- setup ---- */

static void *open_library(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", cuda_fake_folder(), name);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) printf("%s\n", dlerror());
  return library;
}

static void load(void) {
  void *driver = open_library("libcuda.so.1"), *compiler = open_library("libnvrtc.so.13");
  CHECK(driver && compiler);
#define CU_FUNCTION(name, symbol, args)              \
  cu.name = (CUresult(*) args)dlsym(driver, symbol); \
  CHECK(cu.name != NULL);
#define NVRTC_FUNCTION(name, args)                                  \
  nvrtc.name = (nvrtcResult(*) args)dlsym(compiler, "nvrtc" #name); \
  CHECK(nvrtc.name != NULL);
#include "cuda/functions.def"
#undef CU_FUNCTION
#undef NVRTC_FUNCTION
  nvrtc.GetErrorString = (const char *(*)(nvrtcResult))dlsym(compiler, "nvrtcGetErrorString");
  fake_set = (fake_cuda_set_fn)dlsym(driver, FAKE_CUDA_SET);
  fake_get = (fake_cuda_get_fn)dlsym(driver, FAKE_CUDA_GET);
  CHECK(nvrtc.GetErrorString && fake_set && fake_get);
}

/* A fresh context with no faults planned. */
static void begin(void) {
  load();
  if (test_has_failed()) return;
  CHECK_CU(cu.Init(0));
  while (cu.CtxPopCurrent(&context) == CUDA_SUCCESS) cu.CtxDestroy(context); /* of a test that has failed */
  fake_set(&(fake_cuda_plan){0});
  CHECK_CU(cu.CtxCreate(&context, CU_CTX_MAP_HOST, 0));
}
#define BEGIN \
  begin();    \
  if (test_has_failed()) return

static fake_cuda_counts counts(void) {
  fake_cuda_counts c;
  fake_get(&c);
  return c;
}

/* Destroys the context; nothing may be left. */
static void end(void) {
  CHECK_CU(cu.CtxDestroy(context));
  CHECK_EQ_INT(counts().live, 0);
  CHECK_EQ_INT(counts().pending, 0);
  CHECK_EQ_INT(counts().device_bytes, 0);
}

static CUstream new_stream(void) {
  CUstream s = NULL;
  cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING);
  return s;
}
static CUevent new_event(void) {
  CUevent e = NULL;
  cu.EventCreate(&e, CU_EVENT_DISABLE_TIMING);
  return e;
}
static CUdeviceptr new_memory(size_t bytes) {
  CUdeviceptr p = 0;
  cu.MemAlloc(&p, bytes);
  return p;
}
static unsigned char *new_pinned(size_t bytes) {
  void *p = NULL;
  cu.MemHostAlloc(&p, bytes, 0);
  return p;
}

/* ---- kernels ---- */

static nvrtcResult compile(const char *name, const char *text, uint32_t group, const uint32_t *constants, uint32_t n,
                           const char *arch, void **out, char *log, size_t log_bytes) {
  char storage[MAX_OPTIONS][32];
  const char *options[MAX_OPTIONS];
  for (uint32_t i = 0; i <= n; i++) {
    snprintf(storage[i], sizeof storage[i], "-DK_C%u=%uu", (unsigned)i, (unsigned)(i ? constants[i - 1] : group));
    options[i] = storage[i];
  }
  options[n + 1] = arch;
  *out = NULL;
  nvrtcProgram p = NULL;
  nvrtcResult r = nvrtc.CreateProgram(&p, text, name, 0, NULL, NULL);
  if (!r) r = nvrtc.CompileProgram(p, (int)n + 2, options);
  size_t bytes = 0;
  if (log && nvrtc.GetProgramLogSize(p, &bytes) == NVRTC_SUCCESS && bytes <= log_bytes) nvrtc.GetProgramLog(p, log);
  if (!r) r = nvrtc.GetCUBINSize(p, &bytes);
  if (!r && bytes) *out = malloc(bytes);
  if (*out) r = nvrtc.GetCUBIN(p, *out);
  nvrtc.DestroyProgram(&p);
  return r;
}

/* The function of a kernel, in a module of its own; NULL: something failed. */
static CUfunction function(const gpu_kernel *k, const char *text, uint32_t group, const void *constants) {
  char name[64];
  snprintf(name, sizeof name, "%s.cu", k->name);
  void *image = NULL;
  CUmodule m = NULL;
  CUfunction f = NULL;
  if (compile(name, text, group, constants, k->n_constants, "-arch=sm_90", &image, NULL, 0)) return NULL;
  cu.ModuleLoadDataEx(&m, image, 0, NULL, NULL);
  free(image);
  cu.ModuleGetFunction(&f, m, k->name);
  return f;
}

enum { RANGE_GROUP = 64, T_F32 = 0, T_I32 = 7 };
static CUfunction range_function(void) {
  return function(&gpu_kernel_range, "", RANGE_GROUP, &(gpu_constants_range){.t = T_I32});
}

/* y[i] = start + i, for n words. */
typedef struct range_args {
  CUdeviceptr y;
  gpu_params_range p;
  void *v[2];
  unsigned grid_x, grid_y;
} range_args;
static void range_set(range_args *a, CUdeviceptr y, uint32_t n, uint32_t start) {
  uint32_t groups = gpu_ceil_div(n, RANGE_GROUP);
  *a = (range_args){.y = y, .p = {.groups = groups, .elements = n, .start = start, .step = 1}};
  a->v[0] = &a->y;
  a->v[1] = &a->p;
  a->grid_x = groups < 7 ? groups : 7;
  a->grid_y = gpu_ceil_div(groups, a->grid_x);
}
static CUresult launch_range(CUfunction f, CUstream s, CUdeviceptr y, uint32_t n, uint32_t start) {
  range_args a;
  range_set(&a, y, n, start);
  return cu.LaunchKernel(f, a.grid_x, a.grid_y, 1, RANGE_GROUP, 1, 1, 0, s, a.v, NULL);
}
static CUgraphNode range_node(CUgraph g, CUfunction f, const CUgraphNode *after, size_t n_after, CUdeviceptr y,
                              uint32_t n, uint32_t start) {
  range_args a;
  range_set(&a, y, n, start);
  CUgraphNode node = NULL;
  cu.GraphAddKernelNode(&node, g, after, n_after,
                        &(CUDA_KERNEL_NODE_PARAMS_v1){f, a.grid_x, a.grid_y, 1, RANGE_GROUP, 1, 1, 0, a.v, NULL});
  return node;
}

/* ---- the device and contexts ---- */

static int attribute(int which) {
  int v = -1;
  cu.DeviceGetAttribute(&v, which, 0);
  return v;
}

TEST(device) {
  BEGIN;
  char name[64] = "";
  int version = 0, n = 0;
  size_t bytes = 0, left = 0;
  CHECK_CU(cu.DeviceGetName(name, sizeof name, 0));
  CHECK_EQ_STR(name, "fake CUDA device");
  CHECK_CU(cu.DriverGetVersion(&version));
  CHECK_EQ_INT(version, 13000);
  CHECK_CU(cu.DeviceGetCount(&n));
  CHECK_EQ_INT(n, 1);
  CHECK_CU(cu.DeviceTotalMem(&bytes, 0));
  CHECK_EQ_INT(bytes, 1 << 30);
  CHECK_CU(cu.MemGetInfo(&left, &bytes));
  CHECK_EQ_INT(left, 1 << 30);
  CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 0);
  CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), 7);
  CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
  setenv("FAKE_CUDA_WARP", "32", 1);
  setenv("FAKE_CUDA_GRID", "2147483647", 1);
  setenv("FAKE_CUDA_NAME", "a name", 1);
  CHECK_CU(cu.Init(0));
  unsetenv("FAKE_CUDA_WARP");
  unsetenv("FAKE_CUDA_GRID");
  unsetenv("FAKE_CUDA_NAME");
  CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  CHECK_EQ_INT(attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), 2147483647);
  CHECK_CU(cu.DeviceGetName(name, sizeof name, 0));
  CHECK_EQ_STR(name, "a name");
  CHECK_CU(cu.Init(0));
  CHECK_EQ_INT(cu.DeviceGet(&n, 1), CUDA_ERROR_INVALID_DEVICE);
  end();
}

TEST(no_device) {
  BEGIN;
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  CHECK_EQ_INT(cu.Init(0), CUDA_ERROR_NO_DEVICE);
  unsetenv("FAKE_CUDA_DEVICES");
  CHECK_CU(cu.Init(0));
  end();
}

static void *use_without_context(void *result) {
  CUdeviceptr p;
  *(CUresult *)result = cu.MemAlloc(&p, 4);
  return NULL;
}

TEST(contexts) {
  BEGIN;
  CUdeviceptr p = new_memory(64);
  CUstream s = new_stream();
  CUevent e = new_event();
  CUcontext other = NULL, popped = NULL;
  CHECK_CU(cu.CtxCreate(&other, 0, 0)); /* current now */
  CHECK_EQ_INT(cu.EventRecord(e, NONE), CUDA_ERROR_INVALID_HANDLE);
  CHECK_EQ_INT(cu.MemsetD8Async(p, 0, 64, s), CUDA_ERROR_INVALID_HANDLE);
  CHECK_EQ_INT(cu.MemsetD8Async(p, 0, 64, NONE), CUDA_ERROR_INVALID_VALUE); /* memory of another context */
  CHECK_EQ_INT(cu.StreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
  CHECK_CU(cu.CtxPopCurrent(&popped));
  CHECK(popped == other);
  CHECK_CU(cu.MemsetD8Async(p, 0, 64, s));
  CHECK_CU(cu.CtxPopCurrent(&popped));
  CHECK_EQ_INT(cu.MemsetD8Async(p, 0, 64, s), CUDA_ERROR_INVALID_CONTEXT);
  CHECK_EQ_INT(cu.CtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  CHECK_CU(cu.CtxPushCurrent(context));
  CUresult in_thread = CUDA_SUCCESS;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, use_without_context, &in_thread) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_EQ_INT(in_thread, CUDA_ERROR_INVALID_CONTEXT);
  CHECK_CU(cu.CtxPushCurrent(other));
  CHECK_CU(cu.CtxPushCurrent(other));
  CHECK_CU(cu.CtxDestroy(other)); /* is popped once */
  CHECK_EQ_INT(cu.CtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK_CU(cu.CtxPopCurrent(NULL));
  CHECK_CU(cu.CtxSynchronize());
  CHECK_EQ_INT(cu.CtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
  CHECK_CU(cu.StreamDestroy(s));
  CHECK_EQ_INT(cu.StreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
  end(); /* frees the rest */
}

TEST(not_in_forked_children) {
  BEGIN;
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0)
    _exit(cu.Init(0) == CUDA_ERROR_NOT_INITIALIZED && cu.CtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ_INT(status, 0);
  end();
}

/* ---- memory ---- */

TEST(memory) {
  BEGIN;
  CUdeviceptr p = new_memory(100), q = new_memory(100), none = 0;
  CHECK(p && q && p % 256 == 0 && q % 256 == 0);
  unsigned char bytes[100] = {0};
  CHECK_CU(cu.MemcpyDtoHAsync(bytes, p, 100, NONE));
  for (int i = 0; i < 100; i++) CHECK_EQ_INT(bytes[i], PATTERN);
  CHECK_EQ_INT(cu.MemcpyDtoHAsync(bytes, p + 1, 100, NONE), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemcpyHtoDAsync(p + 50, bytes, 51, NONE), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemcpyDtoDAsync(p, q, 101, NONE), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemcpyDtoDAsync(p, p + 10, 20, NONE), CUDA_ERROR_INVALID_VALUE); /* they overlap */
  CHECK_EQ_INT(cu.MemsetD8Async(p + 100, 0, 1, NONE), CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cu.MemsetD8Async(p + 100, 0, 0, NONE));
  CHECK(strstr(counts().reason, "overlap") == NULL);
  CHECK_EQ_INT(counts().refused, 5);
  CHECK_EQ_INT(cu.MemAlloc(&none, 0), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemAlloc(&none, ((size_t)1 << 30) - 199), CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(!none);
  CHECK_EQ_INT(counts().device_bytes, 200);
  CHECK_EQ_INT(cu.MemFree(p + 4), CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cu.MemFree(p));
  CHECK_EQ_INT(cu.MemFree(p), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemsetD8Async(p, 0, 1, NONE), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(counts().allocations, 1);
  unsigned char *pinned = new_pinned(16);
  CUdeviceptr same = 0;
  CHECK_CU(cu.MemHostGetDevicePointer(&same, pinned, 0));
  CHECK(same == (uintptr_t)pinned);
  CHECK_EQ_INT(cu.MemHostGetDevicePointer(&same, bytes, 0), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemcpyHtoDAsync(q, pinned, 17, NONE), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.MemFreeHost(bytes), CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cu.MemFreeHost(pinned));
  end();
}

TEST(copies_are_late_and_in_order) {
  BEGIN;
  CUstream s = new_stream();
  CUevent e = new_event();
  CUdeviceptr p = new_memory(4), q = new_memory(4);
  unsigned char *pinned = new_pinned(4), *back = new_pinned(4), pageable[4] = {9, 9, 9, 9};
  memset(pinned, 1, 4);
  CHECK_CU(cu.MemcpyHtoDAsync(p, pinned, 4, s));
  CHECK_CU(cu.MemcpyHtoDAsync(q, pageable, 4, s));
  CHECK_CU(cu.MemcpyDtoDAsync(q, p, 2, s));
  CHECK_CU(cu.MemsetD8Async(q, 5, 1, s));
  CHECK_CU(cu.MemcpyDtoHAsync(back, q, 4, s));
  CHECK_CU(cu.EventRecord(e, s));
  CHECK_EQ_INT(counts().pending, 6);
  for (int i = 0; i < 4; i++) CHECK_EQ_INT(back[i], PATTERN); /* nobody has waited */
  memset(pinned, 2, 4);                                       /* too early: the copy takes these bytes */
  memset(pageable, 8, 4);                                     /* taken at the call */
  CHECK_CU(cu.EventSynchronize(e));
  static const unsigned char want[4] = {5, 2, 9, 9};
  CHECK(memcmp(back, want, 4) == 0);
  /* To pageable memory: what is before it in the stream is executed, and no other stream. */
  CUstream other = new_stream();
  CHECK_CU(cu.MemsetD8Async(p, 7, 4, s));
  CHECK_CU(cu.MemcpyDtoHAsync(back, p, 4, other));
  CHECK_CU(cu.MemcpyDtoHAsync(pageable, p, 4, s));
  CHECK_EQ_INT(pageable[3], 7);
  CHECK_EQ_INT(counts().pending, 1);
  CHECK_CU(cu.StreamDestroy(other));
  CHECK_EQ_INT(back[0], 7);
  CHECK_CU(cu.MemsetD8Async(q, 7, 4, s));
  CHECK_CU(cu.MemFree(p)); /* waits for all */
  CHECK_EQ_INT(counts().pending, 0);
  end();
}

/* ---- events ---- */

TEST(events) {
  BEGIN;
  CUstream a = new_stream(), b = new_stream();
  CUevent e = new_event(), f = new_event();
  CUdeviceptr p = new_memory(1);
  unsigned char *seen = new_pinned(3);
  CHECK_CU(cu.EventQuery(e)); /* never recorded: done */
  CHECK_CU(cu.EventSynchronize(e));
  CHECK_CU(cu.StreamWaitEvent(b, e, 0));
  CHECK_EQ_INT(counts().pending, 0);
  /* b waits for the record of e at that time: not for what a does later. */
  CHECK_CU(cu.MemsetD8Async(p, 1, 1, a));
  CHECK_CU(cu.EventRecord(e, a));
  CHECK_CU(cu.StreamWaitEvent(b, e, 0));
  CHECK_CU(cu.MemcpyDtoHAsync(&seen[0], p, 1, b));
  CHECK_CU(cu.EventRecord(f, b));
  CHECK_CU(cu.MemsetD8Async(p, 2, 1, a));
  CHECK_CU(cu.EventRecord(e, a)); /* moves it */
  CHECK_CU(cu.EventSynchronize(f));
  CHECK_EQ_INT(seen[0], 1);
  CHECK_EQ_INT(counts().pending, 2);
  CHECK_CU(cu.EventSynchronize(e));
  CHECK_EQ_INT(counts().pending, 0);
  /* An event that is destroyed still orders what waits for it. */
  CHECK_CU(cu.MemsetD8Async(p, 3, 1, a));
  CHECK_CU(cu.EventRecord(e, a));
  CHECK_CU(cu.StreamWaitEvent(b, e, 0));
  CHECK_CU(cu.EventDestroy(e));
  CHECK_EQ_INT(cu.EventQuery(e), CUDA_ERROR_INVALID_HANDLE);
  CHECK_CU(cu.MemcpyDtoHAsync(&seen[1], p, 1, b));
  CHECK_CU(cu.EventRecord(f, b));
  CHECK_CU(cu.EventSynchronize(f));
  CHECK_EQ_INT(seen[1], 3);
  /* Without the wait the copy comes first: the fake shows that it is missing. */
  CHECK_CU(cu.MemsetD8Async(p, 4, 1, a));
  CHECK_CU(cu.MemcpyDtoHAsync(&seen[2], p, 1, b));
  CHECK_CU(cu.EventRecord(f, b));
  CHECK_CU(cu.EventSynchronize(f));
  CHECK_EQ_INT(seen[2], 3);
  end();
}

TEST(queries_end) {
  BEGIN;
  CUstream a = new_stream(), b = new_stream();
  CUevent e = new_event(), f = new_event();
  CUdeviceptr p = new_memory(1);
  int not_ready = 0;
  for (int i = 0; i < 20; i++) {
    for (int k = 0; k < 5; k++) CHECK_CU(cu.MemsetD8Async(p, (unsigned char)k, 1, a));
    CHECK_CU(cu.EventRecord(e, a));
    CHECK_CU(cu.StreamWaitEvent(b, e, 0));
    CHECK_CU(cu.EventRecord(f, b));
    CUresult r;
    while ((r = cu.EventQuery(f)) == CUDA_ERROR_NOT_READY) CHECK(++not_ready < 2000);
    CHECK_CU(r);
    CHECK_CU(cu.EventQuery(e));
  }
  CHECK(not_ready > 20);
  end();
}

TEST(elapsed_time) {
  BEGIN;
  CUevent from = NULL, to = NULL, no_timing = new_event();
  float ms = -1;
  CHECK_CU(cu.EventCreate(&from, CU_EVENT_DEFAULT));
  CHECK_CU(cu.EventCreate(&to, CU_EVENT_DEFAULT));
  CHECK_EQ_INT(cu.EventElapsedTime(&ms, from, to), CUDA_ERROR_INVALID_HANDLE);
  CHECK_CU(cu.EventRecord(from, NONE));
  CHECK_CU(cu.EventRecord(to, NONE));
  CHECK_CU(cu.EventRecord(no_timing, NONE));
  CHECK_EQ_INT(cu.EventElapsedTime(&ms, from, to), CUDA_ERROR_NOT_READY);
  CHECK_CU(cu.CtxSynchronize());
  CHECK_CU(cu.EventElapsedTime(&ms, from, to));
  CHECK(ms >= 0 && ms < 60000);
  CHECK_EQ_INT(cu.EventElapsedTime(&ms, from, no_timing), CUDA_ERROR_INVALID_HANDLE);
  end();
}

/* The plan can make waits run other streams as well. */
TEST(wander) {
  BEGIN;
  fake_set(&(fake_cuda_plan){.wander = 256});
  CUstream a = new_stream(), b = new_stream();
  CUevent e = new_event();
  CUdeviceptr p = new_memory(1);
  for (int i = 0; i < 50; i++) {
    CHECK_CU(cu.MemsetD8Async(p, 0, 1, a));
    CHECK_CU(cu.MemsetD8Async(p, 0, 1, b));
  }
  CHECK_CU(cu.EventRecord(e, a));
  CHECK_CU(cu.EventSynchronize(e));
  CHECK(counts().pending < 50);
  end();
}

/* ---- kernels ---- */

TEST(range_kernel) {
  BEGIN;
  enum { N = 1000 }; /* 16 groups: 7 x 3 */
  CUfunction f = range_function();
  CHECK(f != NULL);
  CUdeviceptr y = new_memory(N * 4);
  static int32_t got[N];
  CHECK_CU(launch_range(f, NONE, y, N, 5));
  CHECK_EQ_INT(counts().kernels, 0);
  CHECK_CU(cu.MemcpyDtoHAsync(got, y, sizeof got, NONE));
  CHECK_EQ_INT(counts().kernels, 1);
  for (int i = 0; i < N; i++) CHECK_EQ_INT(got[i], 5 + i);
  range_args a;
  range_set(&a, y, N, 0);
  CHECK_EQ_INT(cu.LaunchKernel(f, 8, 1, 1, RANGE_GROUP, 1, 1, 0, NONE, a.v, NULL), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.LaunchKernel(f, 1, 1, 1, RANGE_GROUP / 2, 1, 1, 0, NONE, a.v, NULL), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.LaunchKernel(f, 1, 1, 2, RANGE_GROUP, 1, 1, 0, NONE, a.v, NULL), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.LaunchKernel(f, 1, 1, 1, RANGE_GROUP, 1, 1, 1 << 20, NONE, a.v, NULL), CUDA_ERROR_INVALID_VALUE);
  CHECK_EQ_INT(cu.LaunchKernel((CUfunction)context, 1, 1, 1, RANGE_GROUP, 1, 1, 0, NONE, a.v, NULL),
               CUDA_ERROR_INVALID_HANDLE);
  end();
}

/* A kernel with barriers and shared memory, an absent window, and a window in pinned memory. */
TEST(softmax_kernel) {
  BEGIN;
  enum { LINES = 5, COLS = 37, GROUP = 64, LANES = 32 };
  gpu_constants_softmax constants = {.t = T_F32, .ty = T_F32, .unit = 1, .lanes = LANES, .per = 2};
  CUfunction f = function(&gpu_kernel_softmax, "", GROUP, &constants);
  CHECK(f != NULL);
  float x[LINES * COLS];
  for (int i = 0; i < LINES * COLS; i++) x[i] = (float)((i * 37 + 11) % 101) / 20;
  CUdeviceptr dx = new_memory(sizeof x), stats = 0;
  float *y = (float *)new_pinned(sizeof x);
  CUdeviceptr dy = 0;
  CHECK_CU(cu.MemHostGetDevicePointer(&dy, y, 0));
  gpu_params_softmax p = {.groups = 3, .lines = LINES, .n = COLS, .inner = 1, .chunks = 1, .chunk = COLS};
  void *args[] = {&dx, &dy, &stats, &p};
  CHECK_CU(cu.MemcpyHtoDAsync(dx, x, sizeof x, NONE));
  CHECK_CU(cu.LaunchKernel(f, 3, 1, 1, GROUP, 1, 1, 0, NONE, args, NULL));
  memset(&p, 0, sizeof p); /* the arguments were copied */
  dx = 0;
  CHECK_CU(cu.CtxSynchronize());
  for (int l = 0; l < LINES; l++) {
    double sum = 0;
    for (int i = 0; i < COLS; i++) sum += exp(x[l * COLS + i]);
    for (int i = 0; i < COLS; i++) CHECK(fabs(y[l * COLS + i] - exp(x[l * COLS + i]) / sum) < 1e-6);
  }
  end();
}

TEST(compiler) {
  BEGIN;
  void *image = NULL;
  char log[512] = "", *error = log;
  uint32_t t = T_I32;
  CHECK_EQ_INT(compile("no_such.cu", "", 64, &t, 1, "-w", &image, log, sizeof log), NVRTC_ERROR_COMPILATION);
  CHECK(strstr(log, "no_such"));
  CHECK_EQ_INT(compile("range.cu", "", 64, &t, 0, "-w", &image, log, sizeof log), NVRTC_ERROR_COMPILATION);
  CHECK(strstr(log, "K_C1"));
  CHECK_CU(compile("range.cu", "", 64, &t, 1, "-arch=compute_90", &image, NULL, 0));
  CHECK(!image); /* PTX alone */
  int major = 0, minor = 0;
  CHECK_CU(nvrtc.Version(&major, &minor));
  CHECK_EQ_INT(major, 13);
  CHECK_EQ_STR(nvrtc.GetErrorString(NVRTC_ERROR_COMPILATION), "NVRTC_ERROR_COMPILATION");
  /* Images that are not the fake's, changed, or for another device. */
  CUmodule m = NULL;
  CUfunction f = NULL;
  int options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2] = {error, (void *)sizeof log};
  CHECK_EQ_INT(cu.ModuleLoadDataEx(&m, "", 2, options, values), CUDA_ERROR_INVALID_IMAGE);
  CHECK(strstr(log, "fake"));
  CHECK_EQ_INT((uintptr_t)values[1], strlen(log) + 1);
  CHECK_CU(compile("range.cu", "", 64, &t, 1, "-arch=sm_80", &image, NULL, 0));
  CHECK_EQ_INT(cu.ModuleLoadDataEx(&m, image, 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU);
  free(image);
  CHECK_CU(compile("range.cu", "", 64, &t, 1, "-arch=sm_90", &image, NULL, 0));
  CHECK_CU(cu.ModuleLoadDataEx(&m, image, 0, NULL, NULL));
  CHECK_EQ_INT(cu.ModuleGetFunction(&f, m, "softmax"), CUDA_ERROR_NOT_FOUND);
  CHECK_CU(cu.ModuleGetFunction(&f, m, "range"));
  CHECK_CU(cu.ModuleUnload(m));
  CHECK_EQ_INT(launch_range(f, NONE, new_memory(4), 1, 0), CUDA_ERROR_INVALID_HANDLE);
  ((unsigned char *)image)[100] ^= 1;
  CHECK_EQ_INT(cu.ModuleLoadDataEx(&m, image, 0, NULL, NULL), CUDA_ERROR_INVALID_IMAGE);
  free(image);
  setenv("FAKE_NVRTC_ARCH", "89", 1);
  CHECK_CU(cu.Init(0));
  unsetenv("FAKE_NVRTC_ARCH");
  CHECK_EQ_INT(compile("range.cu", "", 64, &t, 1, "--gpu-architecture=sm_90", &image, NULL, 0), 5);
  CHECK_CU(cu.Init(0));
  end();
}

/* Every call reports the error of a lost context but those that destroy it; a new context works. */
static void check_lost(CUresult error, CUstream s, CUevent e, CUdeviceptr p) {
  CUdeviceptr q;
  char byte;
  size_t n;
  CHECK_EQ_INT(cu.EventQuery(e), error);
  CHECK_EQ_INT(cu.EventSynchronize(e), error);
  CHECK_EQ_INT(cu.CtxSynchronize(), error);
  CHECK_EQ_INT(cu.MemAlloc(&q, 4), error);
  CHECK_EQ_INT(cu.MemGetInfo(&n, &n), error);
  CHECK_EQ_INT(cu.MemcpyDtoHAsync(&byte, p, 1, s), error);
  CHECK_EQ_INT(cu.EventDestroy(e), error);
  CHECK_EQ_INT(cu.StreamDestroy(s), error);
  CHECK_EQ_INT(cu.MemFree(p), error);
  CHECK_EQ_INT(counts().pending, 0);
  end();
  if (test_has_failed()) return;
  CHECK_CU(cu.CtxCreate(&context, 0, 0));
  CHECK_CU(cu.CtxSynchronize());
  end();
}

TEST(access_outside) {
  BEGIN;
  CUstream s = new_stream();
  CUevent e = new_event();
  CUfunction f = range_function();
  CUdeviceptr y = new_memory(40);
  CHECK_CU(launch_range(f, s, y, 11, 0)); /* one word too many */
  CHECK_CU(cu.EventRecord(e, s));
  CHECK_CU(cu.MemsetD8Async(y, 0, 1, s));
  CHECK_EQ_INT(cu.EventSynchronize(e), CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(strstr(counts().fault, "kernel range") && strstr(counts().fault, "y[10], of 10 words"));
  check_lost(CUDA_ERROR_ILLEGAL_ADDRESS, s, e, y);
}

TEST(access_of_freed_memory) {
  BEGIN;
  CUfunction f = range_function();
  CUdeviceptr y = new_memory(40);
  CHECK_CU(cu.MemFree(y));
  CHECK_CU(launch_range(f, NONE, y, 10, 0));
  CHECK_EQ_INT(cu.CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  end();
}

/* Windows of words at multiples of 4, windows of vectors at multiples of 16. */
TEST(misaligned_window) {
  BEGIN;
  CUfunction f = range_function();
  CUdeviceptr y = new_memory(64);
  CHECK_CU(launch_range(f, NONE, y + 4, 10, 0));
  CHECK_CU(cu.CtxSynchronize());
  f = function(&gpu_kernel_range, "K_BEGIN(range, u32x4 *y) {}", RANGE_GROUP, &(gpu_constants_range){.t = T_I32});
  CHECK_CU(launch_range(f, NONE, y + 16, 10, 0));
  CHECK_CU(cu.CtxSynchronize());
  CHECK_CU(launch_range(f, NONE, y + 4, 10, 0));
  CHECK_EQ_INT(cu.CtxSynchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
  end();
}

TEST(module_unloaded_too_early) {
  BEGIN;
  void *image = NULL;
  uint32_t t = T_I32;
  CUmodule m = NULL;
  CUfunction f = NULL;
  CHECK_CU(compile("range.cu", "", RANGE_GROUP, &t, 1, "-w", &image, NULL, 0));
  CHECK_CU(cu.ModuleLoadDataEx(&m, image, 0, NULL, NULL));
  free(image);
  CHECK_CU(cu.ModuleGetFunction(&f, m, "range"));
  CHECK_CU(launch_range(f, NONE, new_memory(4), 1, 0));
  CHECK_CU(cu.ModuleUnload(m));
  CHECK_EQ_INT(cu.CtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  end();
}

TEST(blind) {
  BEGIN;
  setenv("FAKE_CUDA_BLIND", "1", 1);
  CHECK_CU(cu.Init(0));
  unsetenv("FAKE_CUDA_BLIND");
  CUmodule m = NULL;
  CUfunction f = NULL;
  CHECK_CU(cu.ModuleLoadDataEx(&m, "anything", 0, NULL, NULL));
  CHECK_CU(cu.ModuleGetFunction(&f, m, "any_function"));
  CHECK_CU(cu.LaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NONE, NULL, NULL));
  CHECK_CU(cu.CtxSynchronize());
  CHECK_CU(cu.Init(0));
  end();
}

/* ---- graphs ---- */

static CUgraphNode copy_node(CUgraph g, const CUgraphNode *after, size_t n_after, CUdeviceptr dst, CUdeviceptr src,
                             size_t bytes) {
  CUgraphNode node = NULL;
  cu.GraphAddMemcpyNode(&node, g, after, n_after,
                        &(CUDA_MEMCPY3D_v2){.src_type = CU_MEMORYTYPE_DEVICE,
                                            .src_device = src,
                                            .dst_type = CU_MEMORYTYPE_DEVICE,
                                            .dst_device = dst,
                                            .width = bytes,
                                            .height = 1,
                                            .depth = 1},
                        context);
  return node;
}

/* Each node writes its number to one word: the last writer is seen. */
TEST(graph_order) {
  BEGIN;
  enum { NODES = 8 };
  CUfunction f = range_function();
  CUdeviceptr y = new_memory(4);
  for (int has_edges = 0; has_edges < 2; has_edges++) {
    CUgraph g = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode nodes[NODES];
    CHECK_CU(cu.GraphCreate(&g, 0));
    for (uint32_t i = 0; i < NODES; i++) {
      nodes[i] = range_node(g, f, i ? &nodes[i - 1] : NULL, has_edges && i ? 1 : 0, y, 1, i);
      CHECK(nodes[i] != NULL);
    }
    CHECK_CU(cu.GraphInstantiate(&exec, g, 0));
    CHECK_CU(cu.GraphDestroy(g)); /* the instantiation is a copy */
    bool seen[NODES] = {false};
    int n_seen = 0;
    for (int run = 0; run < 60; run++) {
      uint32_t word = 0;
      CHECK_CU(cu.GraphLaunch(exec, NONE));
      CHECK_CU(cu.MemcpyDtoHAsync(&word, y, 4, NONE));
      CHECK(word < NODES);
      n_seen += !seen[word];
      seen[word] = true;
    }
    if (has_edges) CHECK(n_seen == 1 && seen[NODES - 1]);
    else CHECK(n_seen > NODES / 2);
    CHECK_CU(cu.GraphExecDestroy(exec));
  }
  CHECK_EQ_INT(counts().graph_launches, 120);
  CHECK_EQ_INT(counts().kernels, 120 * NODES);
  end();
}

/* A kernel, two copies after it, and a kernel after both that overwrites their source. */
TEST(graph_edges) {
  BEGIN;
  CUfunction f = range_function();
  CUdeviceptr x = new_memory(400), y = new_memory(400), z = new_memory(400);
  CUgraph g = NULL;
  CUgraphExec exec = NULL;
  CUgraphNode n[4];
  CHECK_CU(cu.GraphCreate(&g, 0));
  n[0] = range_node(g, f, NULL, 0, x, 100, 1);
  n[1] = copy_node(g, n, 1, y, x, 400);
  n[2] = copy_node(g, n, 1, z + 4, x, 396);
  n[3] = range_node(g, f, &n[1], 2, x, 100, 1000);
  CHECK(n[0] && n[1] && n[2] && n[3]);
  CHECK(!copy_node(g, NULL, 0, y, x + 4, 400)); /* outside */
  CUgraphNode twice[2] = {n[1], n[1]}, wrong = (CUgraphNode)(uintptr_t)12345678;
  CHECK(!copy_node(g, twice, 2, y, x, 400));
  CHECK(!copy_node(g, &wrong, 1, y, x, 400));
  CHECK_CU(cu.GraphInstantiate(&exec, g, 0));
  CHECK_CU(cu.GraphDestroy(g));
  CHECK_EQ_INT(cu.GraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
  CUstream a = new_stream(), b = new_stream();
  static uint32_t got[3][100];
  for (int run = 0; run < 20; run++) {
    CHECK_CU(cu.GraphLaunch(exec, a));
    CHECK_CU(cu.GraphLaunch(exec, b)); /* after the launch in a */
    CHECK_CU(cu.MemcpyDtoHAsync(got[0], x, 400, b));
    CHECK_EQ_INT(counts().pending, 0);
    CHECK_CU(cu.MemcpyDtoHAsync(got[1], y, 400, b));
    CHECK_CU(cu.MemcpyDtoHAsync(got[2], z, 400, b));
    for (uint32_t i = 0; i < 100; i++) {
      CHECK_EQ_INT(got[0][i], 1000 + i);
      CHECK_EQ_INT(got[1][i], 1 + i);
      CHECK_EQ_INT(got[2][i], i ? i : 0xa5a5a5a5);
    }
    CHECK_CU(cu.MemsetD8Async(x, 0, 400, a));
    CHECK_CU(cu.MemsetD8Async(y, 0, 400, a));
    CHECK_CU(cu.CtxSynchronize());
  }
  CHECK_CU(cu.GraphLaunch(exec, a));
  CHECK_CU(cu.GraphExecDestroy(exec)); /* the launch is still executed */
  CHECK_EQ_INT(cu.GraphLaunch(exec, a), CUDA_ERROR_INVALID_HANDLE);
  CHECK_CU(cu.MemcpyDtoHAsync(got[0], y, 400, a));
  CHECK_EQ_INT(got[0][99], 100);
  end();
}

TEST(graph_lost) {
  BEGIN;
  CUfunction f = range_function();
  CUdeviceptr x = new_memory(400), y = new_memory(400);
  CUgraph g = NULL;
  CUgraphExec exec = NULL;
  CHECK_CU(cu.GraphCreate(&g, 0));
  CUgraphNode n = copy_node(g, NULL, 0, y, x, 400);
  CHECK(range_node(g, f, &n, 1, x, 101, 0));
  CHECK_CU(cu.GraphInstantiate(&exec, g, 0));
  CHECK_CU(cu.GraphDestroy(g));
  CHECK_CU(cu.GraphLaunch(exec, NONE));
  CHECK_EQ_INT(cu.CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK_EQ_INT(cu.GraphExecDestroy(exec), CUDA_ERROR_ILLEGAL_ADDRESS);
  end();
}

/* ---- faults ---- */

/* Creates one object of each kind, in this order, until one fails. */
enum { CREATIONS = 7 };
static int create_each(CUfunction f, CUdeviceptr p) {
  CUstream s = NULL;
  CUevent e = NULL;
  CUgraph g = NULL;
  CUgraphExec exec = NULL;
  CUcontext c = NULL;
  if (cu.StreamCreate(&s, 0)) return 0;
  if (cu.EventCreate(&e, 0)) return 1;
  if (cu.GraphCreate(&g, 0)) return 2;
  int made = 3;
  if (range_node(g, f, NULL, 0, p, 1, 0)) made++;
  if (made == 4 && copy_node(g, NULL, 0, p, p + 4, 4)) made++;
  if (made == 5 && !cu.GraphInstantiate(&exec, g, 0)) made++;
  if (made == 6 && !cu.CtxCreate(&c, 0, 0)) {
    made++;
    cu.CtxDestroy(c);
  }
  cu.GraphDestroy(g);
  return made;
}

TEST(planned_failures) {
  BEGIN;
  CUfunction f = range_function();
  CUdeviceptr p = new_memory(8), q = 0;
  void *host = NULL;
  for (int i = 1; i <= CREATIONS + 1; i++) {
    fake_set(&(fake_cuda_plan){.fail_create = (uint64_t)i});
    CHECK_EQ_INT(create_each(f, p), i - 1);
    CHECK_EQ_INT(counts().refused, 0);
  }
  fake_set(&(fake_cuda_plan){.fail_create = 1});
  CHECK(!range_function()); /* its module */
  CHECK(range_function() != NULL);
  fake_set(&(fake_cuda_plan){.fail_memory = 2, .fail_host = 1, .fail_compile = 1, .fail_submit = 2});
  CHECK_CU(cu.MemAlloc(&q, 4));
  CHECK_EQ_INT(cu.MemAlloc(&q, 4), CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_CU(cu.MemAlloc(&q, 4));
  CHECK_EQ_INT(cu.MemHostAlloc(&host, 4, 0), CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_CU(cu.MemHostAlloc(&host, 4, 0));
  CHECK(!range_function());
  CHECK(range_function() != NULL);
  CHECK_CU(launch_range(f, NONE, p, 1, 0));
  CHECK_EQ_INT(launch_range(f, NONE, p, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_EQ_INT(counts().pending, 1);
  fake_set(&(fake_cuda_plan){.fail_memory = 2, .fails_from_then_on = true});
  CHECK_CU(cu.MemAlloc(&q, 4));
  CHECK_EQ_INT(cu.MemAlloc(&q, 4), CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_EQ_INT(cu.MemAlloc(&q, 4), CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_EQ_INT(counts().memory, 3);
  fake_set(&(fake_cuda_plan){0});
  end();
}

TEST(planned_loss) {
  static const int errors[] = {0, CUDA_ERROR_LAUNCH_FAILED};
  for (int i = 0; i < 2; i++) {
    BEGIN;
    CUstream s = new_stream();
    CUevent e = new_event();
    CUfunction f = range_function();
    CUdeviceptr y = new_memory(4);
    int error = i ? errors[i] : CUDA_ERROR_ILLEGAL_ADDRESS;
    fake_set(&(fake_cuda_plan){.lose_at_launch = 2, .lose_with = errors[i]});
    CHECK_CU(launch_range(f, s, y, 1, 0));
    CHECK_CU(cu.EventRecord(e, s));
    CHECK_CU(launch_range(f, s, y, 1, 0));
    CHECK_CU(cu.EventSynchronize(e)); /* the first launch */
    CHECK_CU(cu.EventRecord(e, s));   /* the second one is not executed yet */
    CHECK_EQ_INT(cu.EventSynchronize(e), error);
    check_lost(error, s, e, y);
    if (test_has_failed()) return;
  }
}

/* ---- threads, and the helper of other tests ---- */

enum { THREADS = 4, ROUNDS = 50 };
typedef struct worker {
  pthread_t thread;
  CUfunction f;
  uint32_t start;
  int failures;
} worker;

static void *work(void *user) {
  worker *w = user;
  w->failures += cu.CtxPushCurrent(context) != CUDA_SUCCESS;
  CUstream s = new_stream();
  CUevent e = new_event();
  CUdeviceptr y = new_memory(400);
  uint32_t *back = (uint32_t *)new_pinned(400);
  for (int i = 0; i < ROUNDS; i++) {
    w->failures += launch_range(w->f, s, y, 100, w->start) != CUDA_SUCCESS;
    w->failures += cu.MemcpyDtoHAsync(back, y, 400, s) != CUDA_SUCCESS;
    w->failures += cu.EventRecord(e, s) != CUDA_SUCCESS || cu.EventSynchronize(e) != CUDA_SUCCESS;
    w->failures += back[99] != w->start + 99;
  }
  w->failures += cu.StreamDestroy(s) || cu.EventDestroy(e) || cu.MemFree(y) || cu.MemFreeHost(back);
  w->failures += cu.CtxPopCurrent(NULL) != CUDA_SUCCESS;
  return NULL;
}

TEST(threads) {
  BEGIN;
  worker workers[THREADS];
  CUfunction f = range_function();
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.f = f, .start = 1000 * i};
    CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(workers[i].thread, NULL) == 0);
    CHECK_EQ_INT(workers[i].failures, 0);
  }
  end();
}

/* The child executes this program again, and this test in it. */
TEST(enter) {
  static const char variable[] = "CUDA_FAKE_TEST_ENTERED";
  if (getenv(variable)) {
    CHECK(cuda_fake_enter(0, NULL));
    fake_cuda_counts c;
    CHECK(cuda_fake_get(&c));
    CHECK(cuda_fake_set(&(fake_cuda_plan){0}));
    CHECK(dlopen("libnvrtc.so.13", RTLD_NOW) != NULL);
    return;
  }
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    setenv(variable, "1", 1);
    unsetenv("LD_LIBRARY_PATH");
    if (!freopen("/dev/null", "w", stdout)) _exit(2);
    char *args[] = {(char *)test_all.program, "enter", NULL};
    cuda_fake_enter(2, args);
    _exit(3);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_EQ_INT(status, 0);
}
