/* How the formats call tensor types, for their readers and writers. What RLX does not have
 * is refused by name, or, where a GGUF may have it, has RLX_DTYPE_UNKNOWN for a dtype. */
#ifndef RLX_IO_FILE_TYPES_H
#define RLX_IO_FILE_TYPES_H

#include "base/status.h"
#include "rlx/lm.h"

enum { GGUF_ALIGNMENT = 32, GGUF_MAX_ALIGNMENT = 1 << 20 };

/* Fills in dtype, type and bytes, by the shape that is there. */
rlx_status gguf_tensor_type(uint64_t type, rlx_file_tensor *t);
rlx_status gguf_tensor_code(rlx_dtype dtype, uint32_t *out);
rlx_status safetensors_type(const char *name, rlx_dtype *out);
rlx_status safetensors_name(rlx_dtype dtype, const char **out);

#endif
