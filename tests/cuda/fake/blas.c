/* The fake cuBLASLt: descriptions are read back as they were given, and a product is computed on the host when its
 * stream is executed. There is one algorithm. It refuses what the backend should not ask for: alignments that the
 * addresses do not have, work memory that is not there, other types. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"

typedef struct object { /* of any kind: which fields count depends on it */
  enum { HANDLE = 1, DESC, LAYOUT, PREFERENCE } kind;
  int compute, is_transposed, epilogue;
  uint64_t bias;
  fake_matrix matrix;
  int32_t n_batches;
  uint64_t work_bytes;
  uint32_t aligns[4];
} object;

static cublasStatus create(void **out, object made) {
  fake_lock();
  const bool fails = fake_fails(&fake_count.creates, fake_plan.fail_create);
  *out = fails ? NULL : fake_handle_new(FAKE_BLAS, fake_copy(&made, sizeof made));
  fake_unlock(0);
  return fails ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* Under the lock. NULL: no such object. */
static object *find(const void *handle, int kind) {
  object *o = fake_handle_find(FAKE_BLAS, handle);
  return o && (int)o->kind == kind ? o : NULL;
}

static cublasStatus destroy(const void *handle, int kind) {
  fake_lock();
  object *o = find(handle, kind);
  if (o) fake_handle_free(handle);
  free(o);
  fake_unlock(0);
  return o ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus refuse(const char *why) {
  fake_refuse(CUDA_ERROR_INVALID_VALUE, "%s", why);
  fake_unlock(0);
  return CUBLAS_STATUS_INVALID_VALUE;
}

/* ---- objects ---- */

cublasStatus cublasLtCreate(cublasLtHandle *out) { return create((void **)out, (object){.kind = HANDLE}); }
cublasStatus cublasLtDestroy(cublasLtHandle h) { return destroy(h, HANDLE); }

cublasStatus cublasLtMatmulDescCreate(cublasLtMatmulDesc *out, int compute, int scale_type) {
  if (compute != CUBLAS_COMPUTE_32F || scale_type != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  return create((void **)out, (object){.kind = DESC, .compute = compute, .epilogue = CUBLASLT_EPILOGUE_DEFAULT});
}
cublasStatus cublasLtMatmulDescDestroy(cublasLtMatmulDesc d) { return destroy(d, DESC); }

cublasStatus cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc d, int attribute, const void *value, size_t bytes) {
  fake_lock();
  object *o = find(d, DESC);
  if (!o) return refuse("not a description of a product");
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA && bytes == sizeof(int)) memcpy(&o->is_transposed, value, bytes);
  else if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE && bytes == sizeof(int)) memcpy(&o->epilogue, value, bytes);
  else if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER && bytes == sizeof(void *)) memcpy(&o->bias, value, bytes);
  else return refuse("an attribute of a product that the fake does not know");
  fake_unlock(0);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus cublasLtMatrixLayoutCreate(cublasLtMatrixLayout *out, int type, uint64_t rows, uint64_t columns,
                                        int64_t column_step) {
  const bool is_known = type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
  if (!is_known || !rows || !columns || column_step < (int64_t)rows) return CUBLAS_STATUS_INVALID_VALUE;
  return create(
    (void **)out,
    (object){.kind = LAYOUT, .matrix = {.type = type, rows, columns, .column_step = column_step}, .n_batches = 1});
}
cublasStatus cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout l) { return destroy(l, LAYOUT); }

cublasStatus cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout l, int attribute, const void *value, size_t bytes) {
  fake_lock();
  object *o = find(l, LAYOUT);
  if (!o) return refuse("not a layout of a matrix");
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4) memcpy(&o->n_batches, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == 8)
    memcpy(&o->matrix.step, value, bytes);
  else return refuse("an attribute of a layout that the fake does not know");
  fake_unlock(0);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference *out) {
  return create((void **)out, (object){.kind = PREFERENCE, .aligns = {256, 256, 256, 256}});
}
cublasStatus cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference p) { return destroy(p, PREFERENCE); }

cublasStatus cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference p, int attribute, const void *value,
                                                  size_t bytes) {
  const int which = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  fake_lock();
  object *o = find(p, PREFERENCE);
  if (!o) return refuse("not a preference");
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8) memcpy(&o->work_bytes, value, bytes);
  else if (which >= 0 && which < 4 && bytes == 4) memcpy(&o->aligns[which], value, bytes);
  else return refuse("an attribute of a preference that the fake does not know");
  fake_unlock(0);
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- products ---- */

/* The algorithm: the alignments and the work memory that it was chosen for. */
cublasStatus cublasLtMatmulAlgoGetHeuristic(cublasLtHandle h, cublasLtMatmulDesc d, cublasLtMatrixLayout a,
                                            cublasLtMatrixLayout b, cublasLtMatrixLayout c, cublasLtMatrixLayout y,
                                            cublasLtMatmulPreference p, int n_requested,
                                            cublasLtHeuristicResult *results, int *n_returned) {
  fake_lock();
  *n_returned = 0;
  const object *preference = find(p, PREFERENCE);
  const bool all = find(h, HANDLE) && find(d, DESC) && find(a, LAYOUT) && find(b, LAYOUT) && find(c, LAYOUT) &&
                   find(y, LAYOUT) && preference && n_requested > 0;
  if (!all) return refuse("a handle of cuBLASLt that is not one, or of another kind");
  *results = (cublasLtHeuristicResult){.work_bytes = preference->work_bytes};
  for (int i = 0; i < 4; i++) results->algo.data[i] = preference->aligns[i];
  results->algo.data[4] = preference->work_bytes;
  *n_returned = 1;
  fake_unlock(0);
  return CUBLAS_STATUS_SUCCESS;
}

static bool has_shapes(const object *d, const fake_matrix *a, const fake_matrix *b, const fake_matrix *y) {
  const uint64_t rows = d->is_transposed ? a->columns : a->rows, depth = d->is_transposed ? a->rows : a->columns;
  return rows == y->rows && depth == b->rows && b->columns == y->columns && a->type == b->type &&
         (y->type == a->type || y->type == CUDA_R_32F);
}

cublasStatus cublasLtMatmul(cublasLtHandle h, cublasLtMatmulDesc d, const void *alpha, const void *a,
                            cublasLtMatrixLayout a_layout, const void *b, cublasLtMatrixLayout b_layout,
                            const void *beta, const void *c, cublasLtMatrixLayout c_layout, void *y,
                            cublasLtMatrixLayout y_layout, const cublasLtAlgo *algo, void *work, size_t work_bytes,
                            CUstream stream) {
  fake_lock();
  fake_context *context = NULL;
  fake_stream *s = NULL;
  const object *desc = find(d, DESC), *la = find(a_layout, LAYOUT), *lb = find(b_layout, LAYOUT),
               *ly = find(y_layout, LAYOUT);
  if (!find(h, HANDLE) || !desc || !la || !lb || !ly || !find(c_layout, LAYOUT) || c != y)
    return refuse("a handle of cuBLASLt that is not one");
  if (*(const float *)alpha != 1 || *(const float *)beta != 0) return refuse("factors other than 1 and 0");
  if (!has_shapes(desc, &la->matrix, &lb->matrix, &ly->matrix)) return refuse("shapes or types that do not fit");
  if ((uintptr_t)a % algo->data[0] || (uintptr_t)b % algo->data[1] || (uintptr_t)y % algo->data[3])
    return refuse("addresses without the alignment that the algorithm was chosen for");
  if (work_bytes < algo->data[4]) return refuse("less work memory than the algorithm was chosen for");
  CUresult r = fake_submit(stream, &fake_count.launches, &context, &s);
  if (!r && work_bytes && !fake_range(context, (uintptr_t)work, work_bytes))
    return refuse("work memory that is not one");
  if (r) {
    fake_unlock(r);
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  const bool has_bias = desc->epilogue >= CUBLASLT_EPILOGUE_BIAS;
  const fake_launch launch = {.is_product = true,
                              .product = {.at = {(uintptr_t)a, (uintptr_t)b, (uintptr_t)y, has_bias ? desc->bias : 0},
                                          .a = la->matrix,
                                          .b = lb->matrix,
                                          .y = ly->matrix,
                                          .n_batches = ly->n_batches,
                                          .is_a_transposed = desc->is_transposed == CUBLAS_OP_T,
                                          .is_relu = (desc->epilogue & CUBLASLT_EPILOGUE_RELU) != 0}};
  if (fake_recorded(s)) r = fake_graph_add_launch(fake_recorded(s), &launch);
  else {
    fake_op *op = fake_push(s, FAKE_OP_LAUNCH);
    op->launch = launch;
    op->lose = fake_loses_now();
  }
  fake_unlock(r);
  return r ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

static size_t size_of(int type) { return type == CUDA_R_32F ? 4 : 2; }

static double get(const unsigned char *v, int type, uint64_t i) {
  uint16_t half;
  float f;
  if (type == CUDA_R_32F) {
    memcpy(&f, v + 4 * i, 4);
    return (double)f;
  }
  memcpy(&half, v + 2 * i, 2);
  return (double)(type == CUDA_R_16F ? rlx_f16_to_f32(half) : rlx_bf16_to_f32(half));
}

static void put(unsigned char *v, int type, uint64_t i, double x) {
  const float f = (float)x;
  if (type == CUDA_R_32F) {
    memcpy(v + 4 * i, &f, 4);
    return;
  }
  const uint16_t half = type == CUDA_R_16F ? rlx_f32_to_f16(f) : rlx_f32_to_bf16(f);
  memcpy(v + 2 * i, &half, 2);
}

static unsigned char *range_of(fake_context *c, uint64_t at, const fake_matrix *m, int32_t n) {
  const uint64_t last = (uint64_t)(n - 1) * (uint64_t)m->step + (m->columns - 1) * (uint64_t)m->column_step + m->rows;
  return fake_range(c, at, last * size_of(m->type));
}

static double sum_of(const fake_product *p, const unsigned char *a, const unsigned char *b, uint64_t row,
                     uint64_t column) {
  double sum = 0;
  for (uint64_t k = 0; k < p->b.rows; k++) {
    const uint64_t step = (uint64_t)p->a.column_step, i = p->is_a_transposed ? row * step + k : k * step + row;
    sum += get(a, p->a.type, i) * get(b, p->b.type, column * (uint64_t)p->b.column_step + k);
  }
  return sum;
}

/* Sets the bytes of a matrix as written, or returns whether they are. */
static bool follow(fake_context *c, uint64_t at, const fake_matrix *m, int32_t n, bool is_write) {
  unsigned char *written = fake_written(c, at);
  const size_t size = size_of(m->type), bytes = m->rows * size;
  for (uint64_t i = 0; written && i < (uint64_t)n * m->columns; i++) {
    unsigned char *column =
      written + (i / m->columns * (uint64_t)m->step + i % m->columns * (uint64_t)m->column_step) * size;
    if (is_write) memset(column, 1, bytes);
    else if (memchr(column, 0, bytes)) return false;
  }
  return true;
}

static CUresult follow_product(fake_context *c, const fake_product *p, char text[256]) {
  const fake_matrix bias = {p->y.type, p->y.rows, 1, 0, 0};
  const bool ok = follow(c, p->at[0], &p->a, p->n_batches, false) && follow(c, p->at[1], &p->b, p->n_batches, false) &&
                  (!p->at[3] || follow(c, p->at[3], &bias, 1, false));
  follow(c, p->at[2], &p->y, p->n_batches, true);
  if (ok) return CUDA_SUCCESS;
  snprintf(text, 256, "a product reads bytes of a matrix that nothing wrote");
  return fake_unwritten(text);
}

CUresult fake_execute_product(fake_context *c, const fake_product *p, char text[256]) {
  const unsigned char *a = range_of(c, p->at[0], &p->a, p->n_batches), *b = range_of(c, p->at[1], &p->b, p->n_batches);
  unsigned char *y = range_of(c, p->at[2], &p->y, p->n_batches);
  const unsigned char *bias = p->at[3] ? fake_range(c, p->at[3], p->y.rows * size_of(p->y.type)) : NULL;
  if (!a || !b || !y || (p->at[3] && !bias)) {
    snprintf(text, 256, "a matrix of a product that is not in memory");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  fake_count.kernels++;
  fake_count.products++;
  if (fake_device.is_blind) return CUDA_SUCCESS;
  CUresult unwritten = follow_product(c, p, text);
  if (unwritten) return unwritten;
  for (int32_t n = 0; n < p->n_batches; n++)
    for (uint64_t column = 0; column < p->y.columns; column++)
      for (uint64_t row = 0; row < p->y.rows; row++) {
        const uint64_t i = (uint64_t)n;
        double v = sum_of(p, a + i * (uint64_t)p->a.step * size_of(p->a.type),
                          b + i * (uint64_t)p->b.step * size_of(p->b.type), row, column);
        if (bias) v += get(bias, p->y.type, row);
        if (p->is_relu && v < 0) v = 0;
        put(y, p->y.type, i * (uint64_t)p->y.step + column * (uint64_t)p->y.column_step + row, v);
      }
  return CUDA_SUCCESS;
}
