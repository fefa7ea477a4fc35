/* Element and block types by class, and sets of types: queries on the table types.def. */
#ifndef RLX_IR_DTYPE_H
#define RLX_IR_DTYPE_H

#include "base/status.h"
#include "ir/types.def"

/* clang-format off */
typedef enum rlx_type_class {
  RLX_CLASS_FLOAT, RLX_CLASS_INTEGER, RLX_CLASS_BOOL, RLX_CLASS_COMPLEX, RLX_CLASS_BLOCK,
  RLX_CLASS_FLOAT8, RLX_CLASS_UINT64
} rlx_type_class;
/* clang-format on */

#define RLX_TYPE_ONE_(...) +1
#define RLX_DTYPE_COUNT (0 RLX_TYPE_TABLE(RLX_TYPE_ONE_)) /* types are 0 .. count - 1 */

/* A type as the table has it; rlx_dtype_describe gives the public part. */
typedef struct rlx_type_row {
  rlx_dtype_info info;
  rlx_type_class class;
  int16_t digits, exponent; /* bits of an integer or of a mantissa; of an exponent */
  bool is_signed;
  int16_t gguf, file_type, onnx; /* the type's numbers in file formats; -1 or, for ONNX, 0: none */
  const char *safetensors, *npy; /* "": none */
} rlx_type_row;
const rlx_type_row *rlx_type_get(rlx_dtype t); /* NULL for an unknown value */

typedef uint64_t rlx_type_set;
#define RLX_TYPE_BIT(dtype) (UINT64_C(1) << (dtype))
/* The bit of a row in the set of a class. Each macro pastes the class itself, because pasted tokens are not
 * expanded. */
#define RLX_TYPE_IF_(number, is_in) ((is_in) ? RLX_TYPE_BIT(number) : 0) |
#define RLX_TYPE_FLOAT_(ID, number, name, class_, ...) RLX_TYPE_IF_(number, RLX_CLASS_##class_ == RLX_CLASS_FLOAT)
#define RLX_TYPE_INTEGER_(ID, number, name, class_, ...) RLX_TYPE_IF_(number, RLX_CLASS_##class_ == RLX_CLASS_INTEGER)
#define RLX_TYPE_BLOCK_(ID, number, name, class_, ...) RLX_TYPE_IF_(number, RLX_CLASS_##class_ == RLX_CLASS_BLOCK)
#define RLX_TYPE_FLOAT8_(ID, number, name, class_, ...) RLX_TYPE_IF_(number, RLX_CLASS_##class_ == RLX_CLASS_FLOAT8)
#define RLX_TYPES_FLOAT (RLX_TYPE_TABLE(RLX_TYPE_FLOAT_) 0)
#define RLX_TYPES_INTEGER (RLX_TYPE_TABLE(RLX_TYPE_INTEGER_) 0)
#define RLX_TYPES_BLOCK (RLX_TYPE_TABLE(RLX_TYPE_BLOCK_) 0)
#define RLX_TYPES_FLOAT8 (RLX_TYPE_TABLE(RLX_TYPE_FLOAT8_) 0)
/* Types that devices only move; the reference computes with them. */
#define RLX_TYPES_MOVED (RLX_TYPES_FLOAT8 | RLX_TYPE_BIT(RLX_U16) | RLX_TYPE_BIT(RLX_U64))

/* t must be a type of the table or RLX_DTYPE_UNKNOWN. */
static inline bool rlx_type_in(rlx_type_set set, rlx_dtype t) { return set >> ((unsigned)t & 63) & 1; }
static inline bool rlx_dtype_is_float(rlx_dtype t) { return rlx_type_in(RLX_TYPES_FLOAT, t); }
static inline bool rlx_dtype_is_float8(rlx_dtype t) { return rlx_type_in(RLX_TYPES_FLOAT8, t); }
static inline bool rlx_dtype_is_int(rlx_dtype t) { return rlx_type_in(RLX_TYPES_INTEGER, t); }
/* The block types of states: a row is rounded to them as it is written (quant/round.c). */
#define RLX_TYPES_STATE_BLOCK (RLX_TYPE_BIT(RLX_Q8_0) | RLX_TYPE_BIT(RLX_Q4_0))
static inline bool rlx_dtype_is_block(rlx_dtype t) { return rlx_type_in(RLX_TYPES_BLOCK, t); }
/* The float types of matrix products other than f64. */
static inline bool rlx_dtype_is_weight_float(rlx_dtype t) {
  return rlx_type_in(RLX_TYPE_BIT(RLX_F32) | RLX_TYPE_BIT(RLX_F16) | RLX_TYPE_BIT(RLX_BF16), t);
}
/* An integer type or bool without negative values. */
bool rlx_dtype_is_unsigned(rlx_dtype t);
/* The smallest and largest value of an integer type or bool. */
int64_t rlx_dtype_min(rlx_dtype t);
int64_t rlx_dtype_max(rlx_dtype t);

/* Bytes of one element; 0 for a block type. */
size_t rlx_dtype_size(rlx_dtype t);
/* Bytes of n elements in a row; of a block type n is whole blocks. */
size_t rlx_dtype_row_bytes(rlx_dtype t, size_t n);
const char *rlx_dtype_name(rlx_dtype t); /* "?" if unknown */

#endif
