/* Names of tensor types in file formats, for readers and writers. A type that RLX does not have is refused by name,
 * or, in a GGUF, has the dtype RLX_DTYPE_UNKNOWN. */
#ifndef RLX_IO_FILE_TYPES_H
#define RLX_IO_FILE_TYPES_H

#include "base/status.h"
#include "rlx/lm.h"

enum { GGUF_ALIGNMENT = 32, GGUF_MAX_ALIGNMENT = 1 << 20 };

/* Sets dtype, type and bytes from the shape. */
rlx_status gguf_tensor_type(uint64_t type, rlx_file_tensor *t);
rlx_status gguf_tensor_code(rlx_dtype dtype, uint32_t *out);
rlx_status safetensors_type(const char *name, rlx_dtype *out);
rlx_status safetensors_name(rlx_dtype dtype, const char **out);

#endif
