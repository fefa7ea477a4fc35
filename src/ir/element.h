/* Loads, stores and conversions of one tensor element in host memory, for any element type.
 *
 * load and store handle any float type through double (one rounding). load_int and store_int handle integers and bool
 * through int64, stored modulo the width: u64 as the same bits, 8-bit floats as their code. load also reads integers,
 * as the nearest double. */
#ifndef RLX_IR_ELEMENT_H
#define RLX_IR_ELEMENT_H

#include "base/float8.h"
#include "base/half.h"
#include "ir/shape.h"

static inline double rlx_load(const rlx_tensor *t, size_t i) {
  switch (t->dtype) {
    case RLX_F32: return (double)((const float *)t->data)[i];
    case RLX_F64: return ((const double *)t->data)[i];
    case RLX_F16: return (double)rlx_f16_to_f32(((const uint16_t *)t->data)[i]);
    case RLX_BF16: return (double)rlx_bf16_to_f32(((const uint16_t *)t->data)[i]);
    case RLX_I8: return ((const int8_t *)t->data)[i];
    case RLX_U8:
    case RLX_BOOL: return ((const uint8_t *)t->data)[i];
    case RLX_I16: return ((const int16_t *)t->data)[i];
    case RLX_I32: return ((const int32_t *)t->data)[i];
    case RLX_U32: return ((const uint32_t *)t->data)[i];
    case RLX_I64: return (double)((const int64_t *)t->data)[i];
    case RLX_U16: return ((const uint16_t *)t->data)[i];
    case RLX_U64: return (double)((const uint64_t *)t->data)[i];
    case RLX_F8E4M3: return (double)rlx_e4m3_to_f32(((const uint8_t *)t->data)[i]);
    case RLX_F8E5M2: return (double)rlx_e5m2_to_f32(((const uint8_t *)t->data)[i]);
    default: return 0;
  }
}

static inline void rlx_store(rlx_tensor *t, size_t i, double x) {
  switch (t->dtype) {
    case RLX_F32: ((float *)t->data)[i] = (float)x; break;
    case RLX_F64: ((double *)t->data)[i] = x; break;
    case RLX_F16: ((uint16_t *)t->data)[i] = rlx_f64_to_f16(x); break;
    case RLX_BF16: ((uint16_t *)t->data)[i] = rlx_f64_to_bf16(x); break;
    case RLX_F8E4M3: ((uint8_t *)t->data)[i] = rlx_f64_to_e4m3(x); break;
    case RLX_F8E5M2: ((uint8_t *)t->data)[i] = rlx_f64_to_e5m2(x); break;
    default: break; /* integers use rlx_store_int or rlx_convert */
  }
}

static inline int64_t rlx_load_int(const rlx_tensor *t, size_t i) {
  switch (t->dtype) {
    case RLX_I8: return ((const int8_t *)t->data)[i];
    case RLX_U8:
    case RLX_F8E4M3:
    case RLX_F8E5M2:
    case RLX_BOOL: return ((const uint8_t *)t->data)[i];
    case RLX_I16: return ((const int16_t *)t->data)[i];
    case RLX_I32: return ((const int32_t *)t->data)[i];
    case RLX_U32: return ((const uint32_t *)t->data)[i];
    case RLX_U16: return ((const uint16_t *)t->data)[i];
    case RLX_I64:
    case RLX_U64: return ((const int64_t *)t->data)[i];
    default: return 0;
  }
}

static inline void rlx_store_int(rlx_tensor *t, size_t i, int64_t x) {
  switch (t->dtype) {
    case RLX_I8:
    case RLX_U8:
    case RLX_F8E4M3:
    case RLX_F8E5M2:
    case RLX_BOOL: ((uint8_t *)t->data)[i] = (uint8_t)x; break;
    case RLX_I16:
    case RLX_U16: ((uint16_t *)t->data)[i] = (uint16_t)x; break;
    case RLX_I32:
    case RLX_U32: ((uint32_t *)t->data)[i] = (uint32_t)x; break;
    case RLX_I64:
    case RLX_U64: ((int64_t *)t->data)[i] = x; break;
    default: break;
  }
}

/* Converts element i of src to element k of dst by the rules of `cast` (truncate, saturate, NaN to 0, bool is != 0). */
void rlx_convert(rlx_tensor *dst, size_t k, const rlx_tensor *src, size_t i);
/* Stores the double x by the rules of `cast`. */
void rlx_store_value(rlx_tensor *dst, size_t k, double x);

#endif
