/* Mutation of one word of a SPIR-V module: shared by the fuzz target and its seeded test. */
#ifndef RLX_TESTS_SPIRV_CHANGE_H
#define RLX_TESTS_SPIRV_CHANGE_H

#include <stddef.h>
#include <stdint.h>

enum { SPIRV_CHANGES = 8 }; /* kinds of mutation */

/* Changes the word at `where` (any number) according to `kind` and `value`. The module may become shorter. */
void spirv_change(uint32_t *words, size_t *n_words, uint32_t where, uint32_t kind, uint32_t value);

#endif
