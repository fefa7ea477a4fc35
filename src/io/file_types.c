/* How the formats call tensor types.
 *
 * GGUF numbers them. Those that RLX does not have are listed with the size of their blocks, so that a file with such tensors can
 * be looked at; those that were withdrawn only by name, so that a refusal can say what it refuses. */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "io/file_types.h"
#include "ir/op.h"
#include "ir/shape.h"

#define NONE RLX_DTYPE_COUNT
/* clang-format off */
static const struct {
  const char *name;
  rlx_dtype dtype;    /* NONE: there is none */
  uint32_t elements, bytes; /* of a block, where there is no dtype; 0: withdrawn */
} gguf[] = {
  [0] = {"f32", RLX_F32, 0, 0}, [1] = {"f16", RLX_F16, 0, 0}, [2] = {"q4_0", RLX_Q4_0, 0, 0}, [3] = {"q4_1", RLX_Q4_1, 0, 0},
  [4] = {"q4_2", NONE, 0, 0}, [5] = {"q4_3", NONE, 0, 0},
  [6] = {"q5_0", RLX_Q5_0, 0, 0}, [7] = {"q5_1", RLX_Q5_1, 0, 0}, [8] = {"q8_0", RLX_Q8_0, 0, 0}, [9] = {"q8_1", NONE, 32, 36},
  [10] = {"q2_k", RLX_Q2_K, 0, 0}, [11] = {"q3_k", RLX_Q3_K, 0, 0}, [12] = {"q4_k", RLX_Q4_K, 0, 0},
  [13] = {"q5_k", RLX_Q5_K, 0, 0}, [14] = {"q6_k", RLX_Q6_K, 0, 0}, [15] = {"q8_k", RLX_Q8_K, 0, 0},
  [16] = {"iq2_xxs", NONE, 256, 66}, [17] = {"iq2_xs", NONE, 256, 74}, [18] = {"iq3_xxs", NONE, 256, 98},
  [19] = {"iq1_s", NONE, 256, 50}, [20] = {"iq4_nl", RLX_IQ4_NL, 0, 0}, [21] = {"iq3_s", NONE, 256, 110},
  [22] = {"iq2_s", NONE, 256, 82}, [23] = {"iq4_xs", RLX_IQ4_XS, 0, 0},
  [24] = {"i8", RLX_I8, 0, 0}, [25] = {"i16", RLX_I16, 0, 0}, [26] = {"i32", RLX_I32, 0, 0}, [27] = {"i64", RLX_I64, 0, 0},
  [28] = {"f64", RLX_F64, 0, 0}, [29] = {"iq1_m", NONE, 256, 56}, [30] = {"bf16", RLX_BF16, 0, 0},
  [31] = {"q4_0_4_4", NONE, 0, 0}, [32] = {"q4_0_4_8", NONE, 0, 0}, [33] = {"q4_0_8_8", NONE, 0, 0},
  [34] = {"tq1_0", RLX_TQ1_0, 0, 0}, [35] = {"tq2_0", RLX_TQ2_0, 0, 0},
  [36] = {"iq4_nl_4_4", NONE, 0, 0}, [37] = {"iq4_nl_4_8", NONE, 0, 0}, [38] = {"iq4_nl_8_8", NONE, 0, 0},
  [39] = {"mxfp4", RLX_MXFP4, 0, 0}, [40] = {"nvfp4", NONE, 64, 36}, [41] = {"q1_0", NONE, 128, 18},
};
/* clang-format on */
enum { N_GGUF = sizeof gguf / sizeof *gguf };

/* As rlx_tensor_bytes, for a type that it does not know; sizes are 1 or more. */
static rlx_status block_bytes(uint64_t type, const rlx_dims *shape, size_t *out) {
  size_t n = 1;
  int64_t row = shape->v[shape->n - 1], block = gguf[type].elements;
  if (row % block)
    return RLX_FAIL(RLX_INVALID, "the last axis of %s%s is not a multiple of the block of %u", gguf[type].name,
                    RLX_DIMS_TEXT(*shape), (unsigned)block);
  bool fits = true;
  for (int i = 0; i < shape->n; i++)
    fits = fits && rlx_mul_size(n, (size_t)(i == shape->n - 1 ? row / block : shape->v[i]), &n);
  if (!fits || !rlx_mul_size(n, gguf[type].bytes, out) || *out > (size_t)INT64_MAX)
    return RLX_FAIL(RLX_INVALID, "the size of %s%s overflows", gguf[type].name, RLX_DIMS_TEXT(*shape));
  return RLX_OK;
}

rlx_status gguf_tensor_type(uint64_t type, rlx_file_tensor *t) {
  if (type >= N_GGUF) return RLX_FAIL(RLX_UNSUPPORTED, "tensor type %" PRIu64 " is not known", type);
  if (gguf[type].dtype == NONE && gguf[type].elements == 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor type %" PRIu64 " (%s) was withdrawn from GGUF", type, gguf[type].name);
  t->dtype = gguf[type].dtype;
  t->type = gguf[type].name;
  return t->dtype == NONE ? block_bytes(type, &t->shape, &t->bytes) : rlx_tensor_bytes(t->dtype, t->shape, &t->bytes);
}

rlx_status gguf_tensor_code(rlx_dtype dtype, uint32_t *out) {
  *out = dtype == NONE ? N_GGUF : 0;
  while (*out < N_GGUF && gguf[*out].dtype != dtype) (*out)++;
  return *out < N_GGUF ? RLX_OK : RLX_FAIL(RLX_UNSUPPORTED, "GGUF has no type for %s", rlx_dtype_name(dtype));
}

/* clang-format off */
static const struct {
  const char *name;
  rlx_dtype dtype;
} safetensors[] = {
  {"F32", RLX_F32}, {"F16", RLX_F16}, {"BF16", RLX_BF16}, {"F64", RLX_F64}, {"I8", RLX_I8}, {"U8", RLX_U8},
  {"I16", RLX_I16}, {"I32", RLX_I32}, {"U32", RLX_U32}, {"I64", RLX_I64}, {"BOOL", RLX_BOOL}, {"C64", RLX_C64},
};
/* clang-format on */
enum { N_SAFETENSORS = sizeof safetensors / sizeof *safetensors };

rlx_status safetensors_type(const char *name, rlx_dtype *out) {
  *out = RLX_F32;
  for (size_t i = 0; i < N_SAFETENSORS; i++)
    if (strcmp(safetensors[i].name, name) == 0) {
      *out = safetensors[i].dtype;
      return RLX_OK;
    }
  return RLX_FAIL(RLX_UNSUPPORTED, "dtype '%.32s' is not one of F32 F16 BF16 F64 I8 U8 I16 I32 U32 I64 BOOL C64", name);
}

rlx_status safetensors_name(rlx_dtype dtype, const char **out) {
  *out = NULL;
  for (size_t i = 0; i < N_SAFETENSORS; i++)
    if (safetensors[i].dtype == dtype) *out = safetensors[i].name;
  return *out ? RLX_OK : RLX_FAIL(RLX_UNSUPPORTED, "safetensors has no type for %s", rlx_dtype_name(dtype));
}
