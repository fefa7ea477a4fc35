/* Large products by cuBLASLt (gpu/library.h), on machines that have libcublasLt. Others do without it: their products
 * are our own kernels. */
#ifndef RLX_CUDA_BLAS_H
#define RLX_CUDA_BLAS_H

#include "cuda/blas_api.h"
#include "cuda/cu.h"
#include "gpu/library.h"

/* Sets d->blas, d->blas_handle and caps.has_library if there is the library; otherwise leaves them. The context is
 * current. */
void cu_blas_open(cu_device *d);
void cu_blas_close(cu_device *d); /* the context is current, or nothing was opened */

/* A product whose algorithm is chosen. */
typedef struct cu_product cu_product;
rlx_status cu_product_create(cu_device *d, const gpu_params_library *p, const CUdeviceptr *windows, uint64_t work_bytes,
                             cu_product **out);
void cu_product_destroy(const cu_device *d, cu_product *p); /* NULL is fine */
/* Submits it to a stream, which may be one that records. The context is current. */
rlx_status cu_product_launch(cu_device *d, const cu_product *p, CUstream stream);

#endif
