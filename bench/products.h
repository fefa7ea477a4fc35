/* Operands of matrix products for benchmarks that also look whether the results are right: a piece of random values, again and
 * again, of a length that has few divisors, so that rows differ. */
#ifndef BENCH_PRODUCTS_H
#define BENCH_PRODUCTS_H

#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/status.h"
#include "ref/eval.h"
#include "rlx/rlx.h"

enum { BENCH_PIECE = 251 * 256, BENCH_SAMPLES = 1000 };

typedef struct bench_values {
  float value[BENCH_PIECE]; /* as the type has them */
  unsigned char stored[4 * BENCH_PIECE];
  size_t bytes;
} bench_values;

static uint64_t bench_seed = 1;
static inline uint32_t bench_draw(void) {
  bench_seed = bench_seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(bench_seed >> 33);
}

static inline float bench_float(rlx_dtype t, const void *stored, int64_t i) {
  if (t == RLX_F32) return ((const float *)stored)[i];
  uint16_t bits = ((const uint16_t *)stored)[i];
  return t == RLX_F16 ? rlx_f16_to_f32(bits) : rlx_bf16_to_f32(bits);
}

/* Of f32, f16, bf16 or a block type. */
static inline rlx_status bench_values_draw(bench_values *v, rlx_dtype t) {
  const rlx_dtype_info *info = rlx_dtype_describe(t);
  v->bytes = BENCH_PIECE / info->block_elements * info->block_bytes;
  for (int i = 0; i < BENCH_PIECE; i++) v->value[i] = (float)((double)bench_draw() / 1073741824.0 - 1.0);
  if (info->block_elements > 1) {
    RLX_TRY(rlx_quant_encode(t, v->value, v->stored, BENCH_PIECE));
    return rlx_quant_decode(t, v->stored, v->value, BENCH_PIECE);
  }
  if (t == RLX_F32) memcpy(v->stored, v->value, sizeof v->value);
  for (int i = 0; t != RLX_F32 && i < BENCH_PIECE; i++) {
    uint16_t narrow = t == RLX_F16 ? rlx_f32_to_f16(v->value[i]) : rlx_f32_to_bf16(v->value[i]);
    memcpy(v->stored + 2 * (size_t)i, &narrow, 2);
    v->value[i] = t == RLX_F16 ? rlx_f16_to_f32(narrow) : rlx_bf16_to_f32(narrow);
  }
  return RLX_OK;
}

static inline rlx_status bench_values_write(rlx_executable *e, const char *name, rlx_dtype t, rlx_dims dims,
                                            const bench_values *v) {
  rlx_tensor x;
  RLX_TRY(rlx_tensor_create(&(rlx_type){t, dims}, &x));
  for (size_t at = 0; at < x.bytes; at += v->bytes)
    memcpy((char *)x.data + at, v->stored, x.bytes - at < v->bytes ? x.bytes - at : v->bytes);
  rlx_status s = rlx_executable_write(e, name, &x);
  rlx_tensor_deinit(&x);
  return s;
}

typedef struct bench_product { /* y [m, n] of type y_type = a [m, k] times b, [n, k] where trans, else [k, n] */
  int64_t m, n, k;
  bool trans;
  rlx_dtype y_type;
  const bench_values *a, *b;
  bool is_gated; /* y = relu(a b) * (a b) */
} bench_product;

/* The relative error of BENCH_SAMPLES results, the edges among them; infinite where one is not a number. */
static inline rlx_status bench_product_error(rlx_executable *e, const char *name, const bench_product *p,
                                             double *error) {
  rlx_tensor y;
  RLX_TRY(rlx_tensor_create(&(rlx_type){p->y_type, RLX_DIMS(p->m, p->n)}, &y));
  memset(y.data, 0xff, y.bytes);
  rlx_status status = rlx_executable_read(e, name, &y);
  double off = 0, size = 0;
  for (int i = 0; i < BENCH_SAMPLES && !status; i++) {
    int64_t r = bench_draw() % p->m, c = bench_draw() % p->n;
    if (i % 8 == 0) r = p->m - 1;
    if (i % 8 == 1) c = p->n - 1;
    double want = 0;
    for (int64_t k = 0; k < p->k; k++)
      want += (double)p->a->value[(r * p->k + k) % BENCH_PIECE] *
              (double)p->b->value[(p->trans ? c * p->k + k : k * p->n + c) % BENCH_PIECE];
    if (p->is_gated) want *= fmax(want, 0);
    double found = (double)bench_float(p->y_type, y.data, r * p->n + c);
    off += (found - want) * (found - want), size += want * want;
  }
  rlx_tensor_deinit(&y);
  *error = isfinite(off) ? sqrt(off / size) : (double)INFINITY;
  return status;
}

#endif
