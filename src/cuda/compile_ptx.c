/* Pipelines without NVRTC: the kernel's SPIR-V, specialised and unrolled as for Vulkan, becomes PTX (ptx.h), which the
 * driver's own compiler takes. The driver keeps the machine code in a cache of its own. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/compile.h"
#include "cuda/ptx.h"
#include "gpu/spirv.h"

enum { LOG_BYTES = 1024 };

static char *copy_text(const char *text) {
  const size_t n = strlen(text) + 1;
  char *copy = rlx_mem_alloc(n);
  if (copy) memcpy(copy, text, n);
  return copy;
}

/* The message of the failed call becomes the reason: nobody sees it in this thread. */
static int reason(rlx_status status, cu_code *out) {
  if (status == RLX_NO_MEMORY) return CU_NO_MEMORY;
  out->why = copy_text(rlx_message());
  return CU_COMPILER_FAILED;
}

static rlx_status make_text(const gpu_pipeline *q, const gpu_code *code, char **text) {
  uint32_t values[GPU_CONSTANT_PACKS_F16 + 1] = {q->group_size}, *words;
  size_t n_words;
  const cu_ptx_desc desc = {.name = q->kernel->name,
                            .group_size = q->group_size,
                            .n_windows = q->kernel->n_windows,
                            .params_bytes = q->kernel->params_bytes};
  for (uint32_t i = 0; i < q->kernel->n_constants; i++) values[i + 1] = q->constants[i];
  values[GPU_CONSTANT_PACKS_F16] = 1; /* cvt.rn rounds to nearest even */
  RLX_TRY(gpu_spirv_specialise(code->words, code->n, values, GPU_CONSTANT_PACKS_F16 + 1, &words, &n_words));
  rlx_status s = gpu_spirv_unroll(&words, &n_words);
  if (!s) s = cu_ptx_make(words, n_words, &desc, text);
  rlx_mem_free(words);
  return s;
}

static int load_text(const cu_device *d, const char *name, const char *text, cu_code *out) {
  char log[LOG_BYTES] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  CUresult r = d->f->ModuleLoadDataEx(&out->module, text, 2, options, values);
  if (!r) r = d->f->ModuleGetFunction(&out->function, out->module, name);
  if (r && out->module) {
    d->f->ModuleUnload(out->module);
    out->module = NULL;
  }
  log[sizeof log - 1] = 0;
  const bool is_refused = r == CUDA_ERROR_INVALID_PTX || r == CUDA_ERROR_INVALID_IMAGE;
  if (!is_refused || !*log) return r;
  out->why = copy_text(log);
  return CU_COMPILER_FAILED;
}

int cu_code_build_ptx(const cu_device *d, const gpu_pipeline *q, const gpu_code *code, cu_code *out) {
  char *text = NULL;
  *out = (cu_code){0};
  rlx_status s = make_text(q, code, &text);
  if (s) return reason(s, out);
  int failed = load_text(d, q->kernel->name, text, out);
  rlx_mem_free(text);
  return failed;
}
