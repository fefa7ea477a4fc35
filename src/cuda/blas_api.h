/* The part of cuBLASLt's interface that this backend calls, declared here as driver.h declares CUDA's. Matrices are
 * stored by columns. */
#ifndef RLX_CUDA_BLAS_API_H
#define RLX_CUDA_BLAS_API_H

#include "cuda/driver.h"

typedef int cublasStatus;
typedef struct cublasLtContext *cublasLtHandle;
typedef struct cublasLtMatmulDescOpaque *cublasLtMatmulDesc;
typedef struct cublasLtMatrixLayoutOpaque *cublasLtMatrixLayout;
typedef struct cublasLtMatmulPreferenceOpaque *cublasLtMatmulPreference;
typedef struct cublasLtAlgo {
  uint64_t data[8];
} cublasLtAlgo;
typedef struct cublasLtHeuristicResult {
  cublasLtAlgo algo;
  size_t work_bytes;
  cublasStatus state;
  float waves;
  int reserved[4];
} cublasLtHeuristicResult;

enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_COMPUTE_32F = 68, /* f32 sums; f32 factors as they are: no TF32 */
  CUDA_R_32F = 0,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
  CUBLAS_OP_T = 1,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2, /* and with a bias: their sum */
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5, /* then b, c, d */
};

typedef struct cu_blas { /* functions of libcublasLt */
#define BLAS_FUNCTION(name, args) cublasStatus(*name) args;
#include "cuda/blas.def"
#undef BLAS_FUNCTION
} cu_blas;

#endif
