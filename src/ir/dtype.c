/* Element and block types: names and sizes, one row each, in the order of the enum. */
#include <string.h>

#include "base/arith.h"
#include "ir/op.h"
#include "ir/shape.h"

static const rlx_dtype_info types[RLX_DTYPE_COUNT] = {
  [RLX_F32] = {"f32", 1, 4},           [RLX_F16] = {"f16", 1, 2},       [RLX_BF16] = {"bf16", 1, 2},
  [RLX_F64] = {"f64", 1, 8},           [RLX_I8] = {"i8", 1, 1},         [RLX_U8] = {"u8", 1, 1},
  [RLX_I16] = {"i16", 1, 2},           [RLX_I32] = {"i32", 1, 4},       [RLX_U32] = {"u32", 1, 4},
  [RLX_I64] = {"i64", 1, 8},           [RLX_BOOL] = {"bool", 1, 1},     [RLX_C64] = {"c64", 1, 8},
  [RLX_Q4_0] = {"q4_0", 32, 18},       [RLX_Q4_1] = {"q4_1", 32, 20},   [RLX_Q5_0] = {"q5_0", 32, 22},
  [RLX_Q5_1] = {"q5_1", 32, 24},       [RLX_Q8_0] = {"q8_0", 32, 34},   [RLX_Q2_K] = {"q2_k", 256, 84},
  [RLX_Q3_K] = {"q3_k", 256, 110},     [RLX_Q4_K] = {"q4_k", 256, 144}, [RLX_Q5_K] = {"q5_k", 256, 176},
  [RLX_Q6_K] = {"q6_k", 256, 210},     [RLX_Q8_K] = {"q8_k", 256, 292}, [RLX_IQ4_NL] = {"iq4_nl", 32, 18},
  [RLX_IQ4_XS] = {"iq4_xs", 256, 136}, [RLX_MXFP4] = {"mxfp4", 32, 17}, [RLX_TQ1_0] = {"tq1_0", 256, 54},
  [RLX_TQ2_0] = {"tq2_0", 256, 66},
};

const rlx_dtype_info *rlx_dtype_describe(rlx_dtype dtype) {
  return (unsigned)dtype < RLX_DTYPE_COUNT ? &types[dtype] : NULL;
}

rlx_dtype rlx_dtype_from_name(const char *name) {
  for (int i = 0; name && i < RLX_DTYPE_COUNT; i++)
    if (strcmp(types[i].name, name) == 0) return (rlx_dtype)i;
  return RLX_DTYPE_COUNT;
}

const char *rlx_dtype_name(rlx_dtype t) { return (unsigned)t < RLX_DTYPE_COUNT ? types[t].name : "?"; }

size_t rlx_dtype_size(rlx_dtype t) {
  return (unsigned)t < RLX_DTYPE_COUNT && types[t].block_elements == 1 ? types[t].block_bytes : 0;
}

rlx_status rlx_tensor_bytes(rlx_dtype dtype, rlx_dims shape, size_t *bytes) {
  if (!bytes) return RLX_FAIL(RLX_INVALID, "rlx_tensor_bytes: bytes is NULL");
  *bytes = 0;
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  if (!t) return RLX_FAIL(RLX_INVALID, "unknown dtype %d", (int)dtype);
  if (shape.n < 0 || shape.n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "rank %d is not in 0..%d", (int)shape.n, RLX_MAX_RANK);
  size_t count = 1;
  for (int i = 0; i < shape.n; i++) {
    int64_t d = shape.v[i];
    if (rlx_dim_is_open(d))
      return RLX_FAIL(RLX_INVALID, "axis %d of %s%s is not bound to a number", i, t->name, RLX_DIMS_TEXT(shape));
    if (d < 0) return RLX_FAIL(RLX_INVALID, "axis %d of %s%s is negative", i, t->name, RLX_DIMS_TEXT(shape));
    if (i == shape.n - 1 && t->block_elements > 1) {
      if (d % t->block_elements)
        return RLX_FAIL(RLX_INVALID, "the last axis of %s%s is not a multiple of the block of %u", t->name,
                        RLX_DIMS_TEXT(shape), (unsigned)t->block_elements);
      d /= t->block_elements;
    }
    if (!rlx_mul_size(count, (size_t)d, &count) || count > (size_t)INT64_MAX)
      return RLX_FAIL(RLX_INVALID, "the size of %s%s overflows", t->name, RLX_DIMS_TEXT(shape));
  }
  if (shape.n == 0 && t->block_elements > 1)
    return RLX_FAIL(RLX_INVALID, "a scalar cannot have the block type %s", t->name);
  size_t total;
  if (!rlx_mul_size(count, t->block_bytes, &total) || total > (size_t)INT64_MAX)
    return RLX_FAIL(RLX_INVALID, "the bytes of %s%s overflow", t->name, RLX_DIMS_TEXT(shape));
  *bytes = total;
  return RLX_OK;
}
