/* The type table as data: names, sizes, ranges. */
#include "ir/dtype.h"

#include <string.h>

#include "base/arith.h"
#include "ir/shape.h"

/* Checks that each type of rlx.h has one row, in the order of the numbers, and that a type set has a bit for each. */
#define CHECK_(ID, number_, ...) _Static_assert((int)RLX_##ID == number_, "types.def and rlx.h differ in " #ID);
RLX_TYPE_TABLE(CHECK_)
_Static_assert(RLX_DTYPE_COUNT < 63, "a set of types is 64 bits, the last of which stands for none");

uint32_t rlx_dtype_count(void) { return RLX_DTYPE_COUNT; }

#define ROW_(ID, number_, name_, class_, elements, bytes, digits_, exponent_, sign, gguf_, file, tensors, onnx_, npy_) \
  [RLX_##ID] = {.info = {#name_, elements, bytes},                                                                     \
                .class = RLX_CLASS_##class_,                                                                           \
                .digits = digits_,                                                                                     \
                .exponent = exponent_,                                                                                 \
                .is_signed = sign,                                                                                     \
                .gguf = gguf_,                                                                                         \
                .file_type = file,                                                                                     \
                .onnx = onnx_,                                                                                         \
                .safetensors = tensors,                                                                                \
                .npy = npy_},
static const rlx_type_row types[RLX_DTYPE_COUNT] = {RLX_TYPE_TABLE(ROW_)};

const rlx_type_row *rlx_type_get(rlx_dtype t) { return (unsigned)t < RLX_DTYPE_COUNT ? &types[t] : NULL; }

const rlx_dtype_info *rlx_dtype_describe(rlx_dtype dtype) {
  return (unsigned)dtype < RLX_DTYPE_COUNT ? &types[dtype].info : NULL;
}

rlx_dtype rlx_dtype_from_name(const char *name) {
  for (int i = 0; name && i < RLX_DTYPE_COUNT; i++)
    if (strcmp(types[i].info.name, name) == 0) return (rlx_dtype)i;
  return RLX_DTYPE_UNKNOWN;
}

const char *rlx_dtype_name(rlx_dtype t) { return (unsigned)t < RLX_DTYPE_COUNT ? types[t].info.name : "?"; }

size_t rlx_dtype_size(rlx_dtype t) {
  return (unsigned)t < RLX_DTYPE_COUNT && types[t].info.block_elements == 1 ? types[t].info.block_bytes : 0;
}

size_t rlx_dtype_row_bytes(rlx_dtype t, size_t n) {
  return (unsigned)t < RLX_DTYPE_COUNT ? n / types[t].info.block_elements * types[t].info.block_bytes : 0;
}

static bool is_whole(rlx_dtype t) { return rlx_dtype_is_int(t) || t == RLX_BOOL; }

bool rlx_dtype_is_unsigned(rlx_dtype t) { return is_whole(t) && !types[t].is_signed; }
int64_t rlx_dtype_max(rlx_dtype t) {
  return !is_whole(t) ? 0 : types[t].digits >= 63 ? INT64_MAX : (INT64_C(1) << types[t].digits) - 1;
}
int64_t rlx_dtype_min(rlx_dtype t) { return is_whole(t) && types[t].is_signed ? -rlx_dtype_max(t) - 1 : 0; }

rlx_status rlx_tensor_bytes(rlx_dtype dtype, rlx_dims shape, size_t *bytes) {
  if (!bytes) return RLX_FAIL(RLX_INVALID, "rlx_tensor_bytes: bytes is NULL");
  *bytes = 0;
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  if (!t) return RLX_FAIL(RLX_INVALID, "unknown dtype %d", (int)dtype);
  if (shape.n < 0 || shape.n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "rank %d is not in 0..%d", (int)shape.n, RLX_MAX_RANK);
  uint64_t count = 1;
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
    if (!rlx_mul_u64(count, (uint64_t)d, &count) || count > INT64_MAX)
      return RLX_FAIL(RLX_INVALID, "the size of %s%s overflows", t->name, RLX_DIMS_TEXT(shape));
  }
  if (shape.n == 0 && t->block_elements > 1)
    return RLX_FAIL(RLX_INVALID, "a scalar cannot have the block type %s", t->name);
  uint64_t total;
  if (!rlx_mul_u64(count, t->block_bytes, &total) || total > INT64_MAX)
    return RLX_FAIL(RLX_INVALID, "the bytes of %s%s overflow", t->name, RLX_DIMS_TEXT(shape));
  if (!rlx_fits_memory(total))
    return RLX_FAIL(RLX_INVALID, "the %llu bytes of %s%s are more than this machine can address",
                    (unsigned long long)total, t->name, RLX_DIMS_TEXT(shape));
  *bytes = (size_t)total;
  return RLX_OK;
}
