/* Mutations of ONNX messages that stay messages: a field is changed, dropped or duplicated, and all enclosing lengths
 * are updated. */
#ifndef RLX_TESTS_ONNX_MUTATE_H
#define RLX_TESTS_ONNX_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* In place. Returns the new size, at most cap, or 0 if the bytes are no message. */
size_t onnx_mutate(uint8_t *data, size_t bytes, size_t cap, uint64_t *random);

#endif
