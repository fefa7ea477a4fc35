/* Modules and launches. A module is the image of one kernel, which nvrtc.c makes from the kernel's name and constants;
 * a launch runs that kernel as C by the emulator of src/emu. A window reaches from the pointer that is passed to the
 * end of its allocation. A module can also be PTX, which is run as it is (ptx.h). */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/walk.h"
#include "emu/run.h"
#include "ptx.h"

typedef struct fake_module fake_module;
struct fake_module {
  fake_module *next;
  CUmodule handle;
  CUfunction function; /* NULL until it is asked for */
  fake_context *context;
  fake_image image;
  const gpu_kernel *kernel; /* NULL: blind, or composed of `more` */
  fake_image *more;
  ptx_program *ptx; /* or this */
};

uint64_t fake_checksum(const fake_image *image) {
  const unsigned char *p = (const unsigned char *)&image->arch, *end = (const unsigned char *)(image + 1);
  uint64_t sum = 14695981039346656037u;
  for (; p < end; p++) sum = (sum ^ *p) * 1099511628211u;
  return sum;
}

const gpu_kernel *fake_kernel(const char *name) {
  for (uint32_t i = 0; i < GPU_KERNEL_COUNT; i++)
    if (emu_kernels[i] && strcmp(gpu_kernels[i]->name, name) == 0) return gpu_kernels[i];
  return NULL;
}

/* ---- modules ---- */

/* For a look from outside: see cuda_fake.h. */
static void keep_ptx(const char *text) {
  static unsigned n;
  const char *folder = getenv("FAKE_CUDA_PTX");
  char path[512];
  if (!folder || !*folder) return;
  snprintf(path, sizeof path, "%s/%u.ptx", folder, n++);
  FILE *f = fopen(path, "w");
  if (!f) return;
  fputs(text, f);
  fclose(f);
}

/* PTX must have the parameters that the kernel's table says. */
static CUresult read_ptx(const char *text, fake_module *m) {
  char why[256] = "";
  keep_ptx(text);
  if (fake_fails(&fake_count.compiles, fake_plan.fail_compile)) {
    snprintf(fake_count.reason, sizeof fake_count.reason, "ptxas error: the plan makes this compilation fail");
    return CUDA_ERROR_INVALID_PTX;
  }
  m->ptx = ptx_read(text, why);
  if (!m->ptx) return fake_refuse(CUDA_ERROR_INVALID_PTX, "%s", why);
  m->kernel = fake_kernel(m->ptx->name);
  m->image.group_size = m->ptx->group_size;
  if (!m->kernel) return fake_refuse(CUDA_ERROR_INVALID_PTX, "PTX of an unknown kernel '%s'", m->ptx->name);
  if (m->ptx->n_windows != m->kernel->n_windows || m->ptx->params_bytes != m->kernel->params_bytes)
    return fake_refuse(CUDA_ERROR_INVALID_PTX, "kernel %s: expected %u windows and %u bytes, got %u and %u",
                       m->kernel->name, (unsigned)m->kernel->n_windows, (unsigned)m->kernel->params_bytes,
                       (unsigned)m->ptx->n_windows, (unsigned)m->ptx->params_bytes);
  if (m->ptx->group_size > (uint32_t)fake_device.threads || m->ptx->shared_bytes > (uint32_t)fake_device.shared_bytes)
    return fake_refuse(CUDA_ERROR_INVALID_PTX, "kernel %s: %u threads, %u bytes of shared memory", m->kernel->name,
                       (unsigned)m->ptx->group_size, (unsigned)m->ptx->shared_bytes);
  return CUDA_SUCCESS;
}

/* The magic is compared byte by byte: another image may be shorter. */
static CUresult read_image(const void *bytes, fake_module *m) {
  const char *magic = bytes;
  if (strncmp(magic, ".version", 8) == 0) return read_ptx(magic, m);
  for (size_t i = 0; i < sizeof m->image.magic; i++)
    if (magic[i] != FAKE_MAGIC[i]) return fake_refuse(CUDA_ERROR_INVALID_IMAGE, "an image that is not the fake's");
  memcpy(&m->image, bytes, sizeof m->image);
  if (m->image.checksum != fake_checksum(&m->image))
    return fake_refuse(CUDA_ERROR_INVALID_IMAGE, "an image whose bytes have changed");
  m->kernel = fake_kernel(m->image.kernel);
  if (m->image.n_more) m->more = fake_copy((const fake_image *)bytes + 1, m->image.n_more * sizeof *m->more);
  if (!m->kernel && !m->more)
    return fake_refuse(CUDA_ERROR_INVALID_IMAGE, "an image of an unknown kernel '%s'", m->image.kernel);
  if (m->image.arch &&
      (m->image.arch / 10 != (uint32_t)fake_device.arch / 10 || m->image.arch > (uint32_t)fake_device.arch))
    return fake_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "an image for sm_%u", (unsigned)m->image.arch);
  return CUDA_SUCCESS;
}

/* Writes the reason to the caller's buffer for it. */
static void write_error_log(unsigned n_options, const int *options, void **values) {
  char *buffer = NULL;
  size_t bytes = 0, written = 0;
  for (unsigned i = 0; i < n_options; i++) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = values[i];
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) bytes = (unsigned)(uintptr_t)values[i];
  }
  if (buffer && bytes) {
    snprintf(buffer, bytes, "%s", fake_count.reason);
    written = strlen(buffer) + 1;
  }
  for (unsigned i = 0; i < n_options; i++)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) values[i] = (void *)(uintptr_t)written;
}

static void module_free(fake_module *m) {
  if (m->function) fake_handle_free(m->function);
  if (m->handle) fake_handle_free(m->handle);
  free(m->more);
  ptx_free(m->ptx);
  free(m);
}

CUresult fake_ModuleLoadDataEx(CUmodule *out, const void *image, unsigned n_options, int *options, void **values) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (r) return fake_unlock(r);
  fake_module *m = fake_new(sizeof *m);
  if (!fake_device.is_blind) r = read_image(image, m);
  if (r) {
    write_error_log(n_options, options, values);
    module_free(m);
    return fake_unlock(r);
  }
  m->context = c;
  m->next = c->modules;
  c->modules = m;
  *out = m->handle = fake_handle_new(FAKE_MODULE, m);
  return fake_unlock(r);
}

CUresult fake_ModuleUnload(CUmodule handle) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current_or_lost(&c);
  if (!c) return fake_unlock(r);
  fake_module *m = fake_handle_find(FAKE_MODULE, handle);
  if (!m || m->context != c)
    return fake_unlock(r ? r
                         : fake_refuse(CUDA_ERROR_INVALID_HANDLE, "a handle that is not of a module of this context"));
  fake_module **at = &c->modules;
  while (*at != m) at = &(*at)->next;
  *at = m->next;
  module_free(m);
  return fake_unlock(r);
}

CUresult fake_ModuleGetFunction(CUfunction *out, CUmodule handle, const char *name) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  fake_module *m = r ? NULL : fake_handle_find(FAKE_MODULE, handle);
  if (!r && (!m || m->context != c)) r = fake_refuse(CUDA_ERROR_INVALID_HANDLE, "a handle that is not of a module");
  if (!r && m->kernel && strcmp(name, m->kernel->name) != 0)
    r = fake_refuse(CUDA_ERROR_NOT_FOUND, "function '%s' of a module that has '%s'", name, m->kernel->name);
  if (r) return fake_unlock(r);
  if (!m->function) m->function = fake_handle_new(FAKE_FUNCTION, m);
  *out = m->function;
  return fake_unlock(r);
}

void fake_modules_free(fake_context *c) {
  for (fake_module *m = c->modules; m;) {
    fake_module *next = m->next;
    module_free(m);
    m = next;
  }
}

bool fake_function_is_live(const fake_context *c, CUfunction f) {
  const fake_module *m = fake_handle_find(FAKE_FUNCTION, f);
  return m && m->context == c;
}

/* ---- launches ---- */

static CUresult check_shape(const CUDA_KERNEL_NODE_PARAMS_v1 *p, const fake_module *m) {
  if (p->grid_x == 0 || p->grid_y == 0 || p->grid_z != 1 || p->block_y != 1 || p->block_z != 1)
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "grid %u x %u x %u of blocks %u x %u x %u: expected x and y, x",
                       p->grid_x, p->grid_y, p->grid_z, p->block_x, p->block_y, p->block_z);
  if (p->grid_x > (unsigned)fake_device.grid_x || p->grid_y > 65535)
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "grid %u x %u: expected at most %d x 65535", p->grid_x, p->grid_y,
                       fake_device.grid_x);
  if (p->block_x > (unsigned)fake_device.threads || (m->kernel && p->block_x != m->image.group_size))
    return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                       "a block of %u threads: expected the kernel's K_C0, %u, and at most %d", p->block_x,
                       (unsigned)m->image.group_size, fake_device.threads);
  if (p->shared_bytes > (unsigned)fake_device.shared_bytes)
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%u bytes of shared memory: expected at most %d", p->shared_bytes,
                       fake_device.shared_bytes);
  return CUDA_SUCCESS;
}

CUresult fake_launch_read(const fake_context *c, const CUDA_KERNEL_NODE_PARAMS_v1 *p, fake_launch *out) {
  *out = (fake_launch){.function = p->func, .grid_x = p->grid_x, .grid_y = p->grid_y, .block_x = p->block_x};
  const fake_module *m = fake_handle_find(FAKE_FUNCTION, p->func);
  if (!m || m->context != c)
    return fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                       m ? "a function of another context" : "a handle that is not of a function");
  CUresult r = m->more ? CUDA_SUCCESS : check_shape(p, m);
  if (m->more) {
    memcpy(&out->steps, p->params[0], sizeof out->steps);
    memcpy(&out->n_steps, p->params[1], sizeof out->n_steps);
  }
  if (r || !m->kernel) return r;
  if (!p->params || p->extra) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "expected arguments by pointers to them");
  for (uint32_t i = 0; i < m->kernel->n_windows; i++) memcpy(&out->windows[i], p->params[i], sizeof(CUdeviceptr));
  memcpy(out->params, p->params[m->kernel->n_windows], m->kernel->params_bytes);
  return CUDA_SUCCESS;
}

/* ---- early windows ---- */

typedef struct early {
  struct early *next;
  uint64_t address;
  unsigned char *bytes, *written;
} early;
static early *kept;
static bool uses_kept;

static early *find_kept(const fake_memory *at) {
  for (early *e = kept; e; e = e->next)
    if (e->address == at->address) return e;
  return NULL;
}

void fake_early_keep(fake_context *c, const fake_launch *l) {
  const fake_module *m = fake_handle_find(FAKE_FUNCTION, l->function);
  for (uint32_t i = 0; m && m->kernel && i < m->kernel->n_windows; i++) {
    const fake_memory *at = m->kernel->early >> i & 1 && l->windows[i] ? fake_memory_at(c, l->windows[i]) : NULL;
    if (!at || find_kept(at)) continue;
    early *e = fake_new(sizeof *e);
    *e = (early){kept, at->address, fake_copy(at->host, at->bytes), NULL};
    if (at->written) e->written = fake_copy(at->written, at->bytes);
    kept = e;
  }
}

void fake_early_use(bool use) { uses_kept = use; }

void fake_early_free(void) {
  for (early *e = kept, *next; e; e = next) {
    next = e->next;
    free(e->bytes);
    free(e->written);
    free(e);
  }
  kept = NULL;
}

static CUresult execute_kernel(fake_context *c, const fake_image *image, const fake_launch *l, char text[256]) {
  const gpu_kernel *kernel = fake_kernel(image->kernel);
  emu_window windows[GPU_MAX_WINDOWS] = {{0}};
  for (uint32_t i = 0; i < kernel->n_windows; i++) {
    const fake_memory *at = l->windows[i] ? fake_memory_at(c, l->windows[i]) : NULL;
    if (!at) continue; /* empty: any access is a fault */
    if (l->windows[i] % image->window_align[i]) {
      snprintf(text, 256, "kernel %s: window %u is at %#llx, expected a multiple of %u", kernel->name, (unsigned)i,
               (unsigned long long)l->windows[i], (unsigned)image->window_align[i]);
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    }
    uint64_t offset = l->windows[i] - at->address;
    const early *e = uses_kept && kernel->early >> i & 1 ? find_kept(at) : NULL;
    unsigned char *written = e ? e->written : at->written;
    windows[i] = (emu_window){.data = (e ? e->bytes : at->host) + offset,
                              .bytes = (at->bytes - offset) / 4 * 4,
                              .written = written ? written + offset : NULL};
  }
  emu_launch launch = {kernel, image->constants, l->params, windows, l->grid_x, l->grid_y, l->block_x};
  if (!emu_dispatch(&launch, text)) return CUDA_ERROR_ILLEGAL_ADDRESS;
  return *text ? fake_unwritten(text) : CUDA_SUCCESS;
}

static CUresult execute_ptx(fake_context *c, const fake_module *m, const fake_launch *l, char text[256]) {
  ptx_memory memory[GPU_MAX_WINDOWS] = {{0}};
  *text = 0;
  for (uint32_t i = 0; i < m->kernel->n_windows; i++) {
    const fake_memory *at = l->windows[i] ? fake_memory_at(c, l->windows[i]) : NULL;
    if (at) memory[i] = (ptx_memory){at->address, at->bytes, at->host, at->written};
  }
  const ptx_launch launch = {l->windows, l->params, memory, l->grid_x, l->grid_y};
  if (!ptx_run(m->ptx, &launch, text)) return CUDA_ERROR_ILLEGAL_ADDRESS;
  return *text ? fake_unwritten(text) : CUDA_SUCCESS;
}

/* The steps of a level in a random order: any order must do. */
static CUresult execute_walk(fake_context *c, const fake_module *m, const fake_launch *l, char text[256]) {
  cu_walk_step *steps = (void *)fake_range(c, l->steps, l->n_steps * sizeof *steps);
  if (!steps) {
    snprintf(text, 256, "a table of %u steps that is not in memory", (unsigned)l->n_steps);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  steps = fake_copy(steps, l->n_steps * sizeof *steps);
  CUresult r = CUDA_SUCCESS;
  fake_count.walks++;
  for (uint32_t first = 0, end; first < l->n_steps && !r; first = end) {
    for (end = first + 1; end < l->n_steps && !steps[end - 1].ends;) end++;
    for (uint32_t i = first; i < end && !r; i++) {
      const uint32_t other = i + fake_random(end - i);
      cu_walk_step s = steps[other];
      steps[other] = steps[i];
      fake_launch one = {.grid_x = s.groups, .grid_y = 1};
      if (s.kernel >= m->image.n_more) {
        snprintf(text, 256, "step %u has kernel %u of %u", (unsigned)i, (unsigned)s.kernel, (unsigned)m->image.n_more);
        r = CUDA_ERROR_ILLEGAL_ADDRESS;
        break;
      }
      one.block_x = m->more[s.kernel].group_size;
      memcpy(one.windows, s.windows, sizeof one.windows);
      memcpy(one.params, s.params, sizeof one.params);
      fake_count.kernels++;
      r = execute_kernel(c, &m->more[s.kernel], &one, text);
    }
  }
  free(steps);
  return r;
}

CUresult fake_execute_launch(fake_context *c, const fake_launch *l, char text[256]) {
  if (l->is_product) return fake_execute_product(c, &l->product, text);
  const fake_module *m = fake_handle_find(FAKE_FUNCTION, l->function);
  if (!m) {
    snprintf(text, 256, "a launch of a kernel whose module was unloaded");
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  if (m->more) return execute_walk(c, m, l, text);
  fake_count.kernels++;
  if (m->ptx) return execute_ptx(c, m, l, text);
  return m->kernel ? execute_kernel(c, &m->image, l, text) : CUDA_SUCCESS;
}

/* The fake's kernels have no memory of that kind: any size is taken. */
CUresult fake_FuncSetAttribute(CUfunction f, int attribute, int value) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  if (!r && !fake_handle_find(FAKE_FUNCTION, f)) r = fake_refuse(CUDA_ERROR_INVALID_HANDLE, "not a function");
  if (!r && (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0))
    r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a function", attribute);
  return fake_unlock(r);
}

static CUresult submit_launch(const CUDA_KERNEL_NODE_PARAMS_v1 *p, CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  fake_launch launch;
  CUresult r = fake_submit(handle, &fake_count.launches, &c, &s);
  if (!r) r = fake_launch_read(c, p, &launch);
  if (r) return fake_unlock(r);
  fake_op *op = fake_push(s, FAKE_OP_LAUNCH);
  op->launch = launch;
  op->lose = fake_loses_now();
  return fake_unlock(r);
}

CUresult fake_LaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream handle, void **params,
                           void **extra) {
  const CUDA_KERNEL_NODE_PARAMS_v1 p = {f,       grid_x,  grid_y,       grid_z, block_x,
                                        block_y, block_z, shared_bytes, params, extra};
  return submit_launch(&p, handle);
}

CUresult fake_LaunchCooperativeKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                      unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream handle,
                                      void **params) {
  const CUDA_KERNEL_NODE_PARAMS_v1 p = {f,       grid_x,  grid_y,       grid_z, block_x,
                                        block_y, block_z, shared_bytes, params, NULL};
  if (grid_x > (unsigned)fake_device.units) {
    fake_lock();
    return fake_unlock(fake_refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "%u blocks: expected at most %d", grid_x,
                                   fake_device.units));
  }
  return submit_launch(&p, handle);
}
