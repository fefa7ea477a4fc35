/* Opens a device, and the variants of it that a name can select.
 *
 * "cuda:window=65536" is a variant: words separated by commas, which make the device smaller for tests:
 *
 *   block=N    blocks of at most N bytes
 *   window=N   windows of kernels of at most N bytes
 *   submit=N   runs that can be stopped are submitted in parts of at most N units of work
 *   walk=N     a span of steps becomes one kernel after N runs (walk.h)
 *   library=N  products of at least N multiply-adds are cuBLASLt's, where there is one (blas.h)
 *   late       no kernel of a graph starts before the one before it has ended (record.c)
 *   ptx        kernels are compiled by the driver, as on a machine without NVRTC (ptx.h) */
#include <stdio.h>
#include <string.h>

#include "base/cache_file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cuda/blas.h"
#include "cuda/compile.h"
#include "cuda/cu.h"
#include "cuda/walk.h"
#include "gpu/device_words.h"

/* ---- failures ---- */

static rlx_status status_of(CUresult r) {
  switch (r) {
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: return RLX_NO_MEMORY;
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN: return RLX_DEVICE_LOST;
    default: return RLX_UNSUPPORTED;
  }
}

rlx_status cu_fail(cu_device *d, CUresult r, const char *fmt, ...) {
  char what[288], number[32];
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(what, sizeof what, fmt, args);
  va_end(args);
  const char *name = NULL;
  if (r == CUDA_ERROR_OUT_OF_MEMORY) name = "the device is out of memory";
  else if (d->f->GetErrorName(r, &name)) name = NULL;
  snprintf(number, sizeof number, "error %d", r);
  if (status_of(r) == RLX_DEVICE_LOST && !atomic_exchange(&d->lost_begun, true)) {
    snprintf(d->lost_why, sizeof d->lost_why, "%s: %s", what, name ? name : number);
    atomic_store(&d->base.is_lost, true);
    rlx_log_write(RLX_LOG_ERROR, "cuda: %s: %s: the device is lost", d->base.info.name, d->lost_why);
  }
  return RLX_FAIL(status_of(r), "cuda: %s: %s", what, name ? name : number);
}

rlx_status cu_check(cu_device *d) {
  if (!atomic_load(&d->base.is_lost)) return RLX_OK;
  return RLX_FAIL(RLX_DEVICE_LOST, "cuda: %.100s was lost before (%s); a new session opens it anew", d->base.info.name,
                  d->lost_why);
}

/* ---- the context ---- */

bool cu_enter_any(cu_device *d) { return d->context && d->f->CtxPushCurrent(d->context) == CUDA_SUCCESS; }

rlx_status cu_enter(cu_device *d) {
  RLX_TRY(cu_check(d));
  CUresult r = d->f->CtxPushCurrent(d->context);
  return r ? cu_fail(d, r, "the context of %.100s", d->base.info.name) : RLX_OK;
}

void cu_leave(cu_device *d) {
  CUcontext context;
  d->f->CtxPopCurrent(&context);
}

/* ---- opening ---- */

typedef struct variant { /* in the order of the words; 0: the device's own value */
  uint64_t block, window, submit, walk, library, late, ptx;
} variant;
static const char *const words[] = {"block=", "window=", "submit=", "walk=", "library=", "late", "ptx"};

/* Also where NVRTC is absent. A walk is composed of CUDA texts, so there are none. */
static void use_ptx(cu_device *d) {
  d->uses_ptx = true;
  d->overlaps = false; /* only our compiler's kernels wait themselves */
  d->walk_runs = 0;
  cu_caps_without_compiler(&d->caps);
  cu_describe(d->loader, d->physical, &d->caps, true, &d->base.info);
}

/* Compute capability 9.0, with a compiler that makes code for the exact chip. */
static bool can_overlap(const cu_device *d) {
  return d->physical->major == 9 && d->physical->minor == 0 && d->loader->compiler_version >= 12000 &&
         d->loader->graph_add_dependencies;
}

static void apply_variant(cu_device *d, const variant *v) {
  rlx_device_info *info = &d->base.info;
  if (v->block) info->max_block_bytes = v->block;
  if (v->window && v->window < d->caps.max_window_bytes)
    d->caps.max_window_bytes = v->window > 16 ? v->window / 16 * 16 : v->window;
  info->max_window_bytes = d->caps.max_window_bytes;
  d->submit_cost = v->submit ? v->submit : (uint64_t)gpu_tuned(&d->caps)->submit_millions * 1000000;
  d->walk_runs = v->walk ? v->walk : gpu_tuned(&d->caps)->walk_runs;
  d->caps.choices.library_min_products = v->library;
  d->walk_min = v->walk ? 1 : gpu_tuned(&d->caps)->walk_min;
  d->overlaps = !v->late && can_overlap(d);
  if (v->ptx || !d->loader->compiler_version) use_ptx(d);
}

static rlx_status prepare(cu_device *d) {
  size_t free_bytes = 0, bytes = 0;
  CUresult r = d->f->MemAlloc(&d->nothing, CU_ALIGN);
  if (!r) r = d->f->MemsetD8Async(d->nothing, 0, CU_ALIGN, NULL);
  if (!r) r = d->f->CtxSynchronize();
  if (r) return cu_fail(d, r, "first memory of %.100s", d->base.info.name);
  if (!d->f->MemGetInfo(&free_bytes, &bytes)) d->base.info.free_bytes = free_bytes;
  cu_blas_open(d);
  rlx_cache_limit("cuda", ".code", RLX_CACHE_LIMIT_BYTES);
  return gpu_pipelines_init(&d->pipelines, &cu_pipeline_maker, d, d->uses_ptx ? gpu_column_spirv : gpu_column_cuda,
                            &d->caps);
}

static const char after_fault[] =
  " after a fault: close the sessions that have lost it; if that does not help, the driver serves only a new process";

static rlx_status fill(cu_device *d, const rlx_open_options *options) {
  variant v = {0};
  RLX_TRY(gpu_device_words("cuda", options ? options->variant : NULL, words, sizeof words / sizeof *words, &v.block));
  apply_variant(d, &v);
  if (!rlx_mutex_init(&d->lock)) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a mutex");
  d->n_locks++;
  if (!rlx_cond_init(&d->waited)) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a condition variable");
  d->n_locks++;
  if (!rlx_mutex_init(&d->walk_lock)) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a mutex");
  d->n_locks++;
  CUcontext created;
  CUresult r = d->f->CtxCreate(&created, CU_CTX_MAP_HOST, d->physical->handle); /* and makes it current */
  if (r)
    return cu_fail(d, r, "opening %.100s%s", d->base.info.name, status_of(r) == RLX_DEVICE_LOST ? after_fault : "");
  d->context = created;
  rlx_status s = prepare(d);
  cu_leave(d);
  return s;
}

rlx_status cu_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  *out = NULL;
  const cu_loader *l = cu_loader_get();
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(rlx_backend_cuda.describe(index, &info));
  cu_device *d = rlx_new(cu_device);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a device");
  d->base.backend = &rlx_backend_cuda;
  d->base.info = info;
  d->loader = l;
  d->f = &l->driver;
  d->physical = &l->devices[index];
  d->caps = d->physical->caps;
  rlx_status s = fill(d, options);
  if (s) cu_device_close(&d->base);
  else *out = &d->base;
  return s;
}

void cu_device_close(rlx_device *base) {
  if (!base) return;
  cu_device *d = cu_device_of(base);
  if (cu_enter_any(d)) {
    cu_walkers_destroy(d);
    cu_blas_close(d);
    gpu_pipelines_deinit(&d->pipelines);
    if (d->nothing) d->f->MemFree(d->nothing);
    cu_leave(d);
  }
  if (d->context) d->f->CtxDestroy(d->context);
  if (d->n_locks > 2) rlx_mutex_destroy(&d->walk_lock);
  if (d->n_locks > 1) rlx_cond_destroy(&d->waited);
  if (d->n_locks > 0) rlx_mutex_destroy(&d->lock);
  rlx_mem_free(d);
}
