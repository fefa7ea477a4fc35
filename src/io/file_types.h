/* How the formats call tensor types, for their readers and writers. Types that RLX does not have are refused by name. */
#ifndef RLX_IO_FILE_TYPES_H
#define RLX_IO_FILE_TYPES_H

#include "base/status.h"

enum { GGUF_ALIGNMENT = 32, GGUF_MOST_ALIGNMENT = 1 << 20 };

rlx_status gguf_tensor_type(uint64_t type, rlx_dtype *out);
rlx_status gguf_tensor_code(rlx_dtype dtype, uint32_t *out);
rlx_status safetensors_type(const char *name, rlx_dtype *out);
rlx_status safetensors_name(rlx_dtype dtype, const char **out);

#endif
