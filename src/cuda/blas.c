/* cuBLASLt's matrices are stored by columns, ours by rows. So it computes y^T = b^T a^T: its left factor is our b, its
 * right factor our a, and its rows are our columns n. */
#include "cuda/blas.h"

#include "base/library.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"

#if defined(_WIN32)
static const char *const names[] = {"cublasLt64_13.dll", "cublasLt64_12.dll", "cublasLt64_11.dll"};
#else
static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so",
                                    "/usr/local/cuda/lib64/libcublasLt.so"};
#endif

struct cu_product {
  cublasLtMatmulDesc desc;
  cublasLtMatrixLayout a, b, y;
  cublasLtAlgo algo;
  CUdeviceptr at[GPU_LIBRARY_WINDOWS];
  uint64_t work_bytes;
};

/* ---- the library ---- */

static cu_blas functions;
static bool is_loaded;

static void load(void) {
  void *library = rlx_library_open_first(names, sizeof names / sizeof *names);
  bool all = library != NULL;
#define BLAS_FUNCTION(name, args) all = all && rlx_library_find(library, "cublasLt" #name, &functions.name);
#include "cuda/blas.def"
#undef BLAS_FUNCTION
  is_loaded = all;
}

void cu_blas_open(cu_device *d) {
  static rlx_once once = RLX_ONCE_INIT;
  rlx_once_run(&once, load);
  if (!is_loaded) return;
  cublasStatus s = functions.Create(&d->blas_handle);
  if (s) {
    rlx_log_write(RLX_LOG_WARN, "cuda: cuBLASLt cannot be started (status %d): products use our own kernels", s);
    d->blas_handle = NULL;
    return;
  }
  d->blas = &functions;
  d->caps.has_library = true;
  cu_describe(d->loader, d->physical, &d->caps, d->uses_ptx, &d->base.info);
}

void cu_blas_close(cu_device *d) {
  if (d->blas_handle) d->blas->Destroy(d->blas_handle);
  d->blas_handle = NULL;
}

static rlx_status status_of(cublasStatus s) {
  return s == CUBLAS_STATUS_ALLOC_FAILED ? RLX_NO_MEMORY : RLX_UNSUPPORTED;
}

static rlx_status fail(cublasStatus s, const gpu_params_library *p, const char *what) {
  return RLX_FAIL(status_of(s), "cuda: cuBLASLt: %s of a product [%u, %u] x [%u, %u]: status %d", what, (unsigned)p->m,
                  (unsigned)p->k, (unsigned)p->k, (unsigned)p->n, s);
}

/* ---- a product ---- */

static int type_of(uint32_t t) { return t == RLX_F16 ? CUDA_R_16F : t == RLX_BF16 ? CUDA_R_16BF : CUDA_R_32F; }

static cublasStatus describe(const cu_blas *f, const gpu_params_library *p, cu_product *out) {
  const int transposed = CUBLAS_OP_T;
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (p->has_bias || p->is_relu)
    epilogue = (p->has_bias ? CUBLASLT_EPILOGUE_BIAS : 0) + (p->is_relu ? CUBLASLT_EPILOGUE_RELU : 0);
  cublasStatus s = f->MatmulDescCreate(&out->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  if (!s && p->trans_b)
    s = f->MatmulDescSetAttribute(out->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
  if (!s) s = f->MatmulDescSetAttribute(out->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
  if (!s && p->has_bias) {
    const void *bias = (const void *)(uintptr_t)out->at[GPU_LIBRARY_BIAS];
    s = f->MatmulDescSetAttribute(out->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
  }
  return s;
}

static cublasStatus lay_out(const cu_blas *f, cublasLtMatrixLayout *out, uint32_t type, uint32_t rows, uint32_t columns,
                            uint32_t batches, uint64_t step) {
  const int32_t n = (int32_t)batches;
  const int64_t offset = (int64_t)step;
  cublasStatus s = f->MatrixLayoutCreate(out, type_of(type), rows, columns, rows);
  if (s || batches == 1) return s;
  s = f->MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n, sizeof n);
  return s ? s : f->MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset);
}

static cublasStatus lay_out_all(const cu_blas *f, const gpu_params_library *p, cu_product *out) {
  const uint32_t rows = p->trans_b ? p->k : p->n, columns = p->trans_b ? p->n : p->k;
  cublasStatus s = lay_out(f, &out->b, p->type, rows, columns, p->batches, p->b_step);
  if (!s) s = lay_out(f, &out->a, p->type, p->k, p->m, p->batches, p->a_step);
  return s ? s : lay_out(f, &out->y, p->y_type, p->n, p->m, p->batches, (uint64_t)p->m * p->n);
}

/* The largest power of two up to 256 that divides an address. */
static uint32_t align_of(CUdeviceptr at) {
  uint32_t n = CU_ALIGN;
  while (at % n) n /= 2;
  return n;
}

static cublasStatus choose(const cu_device *d, cu_product *out, const char **what) {
  const cu_blas *f = d->blas;
  const uint32_t aligns[] = {align_of(out->at[GPU_LIBRARY_B]), align_of(out->at[GPU_LIBRARY_A]),
                             align_of(out->at[GPU_LIBRARY_Y]), align_of(out->at[GPU_LIBRARY_Y])};
  cublasLtMatmulPreference preference = NULL;
  cublasStatus s = f->MatmulPreferenceCreate(&preference);
  if (!s)
    s = f->MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &out->work_bytes,
                                        sizeof out->work_bytes);
  for (int i = 0; i < 4 && !s; i++)
    s = f->MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i, &aligns[i],
                                        sizeof aligns[i]);
  cublasLtHeuristicResult found = {0};
  int n = 0;
  *what = "the choice of an algorithm";
  if (!s)
    s = f->MatmulAlgoGetHeuristic(d->blas_handle, out->desc, out->b, out->a, out->y, out->y, preference, 1, &found, &n);
  if (!s && n < 1) s = CUBLAS_STATUS_NOT_SUPPORTED;
  if (preference) f->MatmulPreferenceDestroy(preference);
  out->algo = found.algo;
  return s ? s : found.state;
}

rlx_status cu_product_create(cu_device *d, const gpu_params_library *p, const CUdeviceptr *windows, uint64_t work_bytes,
                             cu_product **out) {
  *out = NULL;
  cu_product *made = rlx_new(cu_product);
  if (!made) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a product");
  for (int i = 0; i < GPU_LIBRARY_WINDOWS; i++) made->at[i] = windows[i];
  made->work_bytes = work_bytes;
  const char *what = "the description";
  cublasStatus s = describe(d->blas, p, made);
  if (!s) s = lay_out_all(d->blas, p, made);
  if (!s) s = choose(d, made, &what);
  if (!s) {
    *out = made;
    return RLX_OK;
  }
  cu_product_destroy(d, made);
  return fail(s, p, what);
}

void cu_product_destroy(const cu_device *d, cu_product *p) {
  if (!p) return;
  if (p->desc) d->blas->MatmulDescDestroy(p->desc);
  if (p->a) d->blas->MatrixLayoutDestroy(p->a);
  if (p->b) d->blas->MatrixLayoutDestroy(p->b);
  if (p->y) d->blas->MatrixLayoutDestroy(p->y);
  rlx_mem_free(p);
}

rlx_status cu_product_launch(cu_device *d, const cu_product *p, CUstream stream) {
  static const float one = 1, zero = 0;
  void *at[GPU_LIBRARY_WINDOWS];
  for (int i = 0; i < GPU_LIBRARY_WINDOWS; i++) at[i] = (void *)(uintptr_t)p->at[i];
  const cublasStatus s = d->blas->Matmul(d->blas_handle, p->desc, &one, at[GPU_LIBRARY_B], p->b, at[GPU_LIBRARY_A],
                                         p->a, &zero, at[GPU_LIBRARY_Y], p->y, at[GPU_LIBRARY_Y], p->y, &p->algo,
                                         at[GPU_LIBRARY_WORK], p->work_bytes, stream);
  if (!s) return RLX_OK;
  const CUresult lost = d->f->CtxSynchronize(); /* tells a lost context; it cannot while a stream records */
  if (lost) return cu_fail(d, lost, "a product by cuBLASLt (status %d)", s);
  return RLX_FAIL(status_of(s), "cuda: a product by cuBLASLt: status %d", s);
}
