/* How the formats call tensor types.
 *
 * GGUF numbers them; numbers of types that were withdrawn, or that RLX does not have, are listed too, so that a refusal can
 * say what it refuses. */
#include <inttypes.h>
#include <string.h>

#include "io/file_types.h"
#include "ir/op.h"

/* clang-format off */
static const struct {
  const char *name;
  rlx_dtype dtype; /* RLX_DTYPE_COUNT: there is none */
  bool is_gone;
} gguf[] = {
  [0] = {"f32", RLX_F32, 0},   [1] = {"f16", RLX_F16, 0},   [2] = {"q4_0", RLX_Q4_0, 0}, [3] = {"q4_1", RLX_Q4_1, 0},
  [4] = {"q4_2", RLX_DTYPE_COUNT, 1}, [5] = {"q4_3", RLX_DTYPE_COUNT, 1},
  [6] = {"q5_0", RLX_Q5_0, 0}, [7] = {"q5_1", RLX_Q5_1, 0}, [8] = {"q8_0", RLX_Q8_0, 0}, [9] = {"q8_1", RLX_DTYPE_COUNT, 0},
  [10] = {"q2_k", RLX_Q2_K, 0}, [11] = {"q3_k", RLX_Q3_K, 0}, [12] = {"q4_k", RLX_Q4_K, 0}, [13] = {"q5_k", RLX_Q5_K, 0},
  [14] = {"q6_k", RLX_Q6_K, 0}, [15] = {"q8_k", RLX_Q8_K, 0},
  [16] = {"iq2_xxs", RLX_DTYPE_COUNT, 0}, [17] = {"iq2_xs", RLX_DTYPE_COUNT, 0}, [18] = {"iq3_xxs", RLX_DTYPE_COUNT, 0},
  [19] = {"iq1_s", RLX_DTYPE_COUNT, 0}, [20] = {"iq4_nl", RLX_IQ4_NL, 0}, [21] = {"iq3_s", RLX_DTYPE_COUNT, 0},
  [22] = {"iq2_s", RLX_DTYPE_COUNT, 0}, [23] = {"iq4_xs", RLX_IQ4_XS, 0},
  [24] = {"i8", RLX_I8, 0}, [25] = {"i16", RLX_I16, 0}, [26] = {"i32", RLX_I32, 0}, [27] = {"i64", RLX_I64, 0},
  [28] = {"f64", RLX_F64, 0}, [29] = {"iq1_m", RLX_DTYPE_COUNT, 0}, [30] = {"bf16", RLX_BF16, 0},
  [31] = {"q4_0_4_4", RLX_DTYPE_COUNT, 1}, [32] = {"q4_0_4_8", RLX_DTYPE_COUNT, 1}, [33] = {"q4_0_8_8", RLX_DTYPE_COUNT, 1},
  [34] = {"tq1_0", RLX_TQ1_0, 0}, [35] = {"tq2_0", RLX_TQ2_0, 0},
  [36] = {"iq4_nl_4_4", RLX_DTYPE_COUNT, 1}, [37] = {"iq4_nl_4_8", RLX_DTYPE_COUNT, 1},
  [38] = {"iq4_nl_8_8", RLX_DTYPE_COUNT, 1}, [39] = {"mxfp4", RLX_MXFP4, 0},
};
/* clang-format on */
enum { N_GGUF = sizeof gguf / sizeof *gguf };

rlx_status gguf_tensor_type(uint64_t type, rlx_dtype *out) {
  *out = RLX_F32;
  if (type >= N_GGUF) return RLX_FAIL(RLX_UNSUPPORTED, "tensor type %" PRIu64 " is not known", type);
  if (gguf[type].dtype == RLX_DTYPE_COUNT)
    return RLX_FAIL(RLX_UNSUPPORTED, "tensor type %" PRIu64 " (%s) %s", type, gguf[type].name,
                    gguf[type].is_gone ? "was withdrawn from GGUF" : "is not supported");
  *out = gguf[type].dtype;
  return RLX_OK;
}

rlx_status gguf_tensor_code(rlx_dtype dtype, uint32_t *out) {
  *out = 0;
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
