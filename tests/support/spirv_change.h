/* A word of a module changed: what the fuzz target and its test under a fixed seed share. */
#ifndef RLX_TESTS_SPIRV_CHANGE_H
#define RLX_TESTS_SPIRV_CHANGE_H

#include <stddef.h>
#include <stdint.h>

enum { SPIRV_CHANGES = 8 }; /* kinds of them */

/* The word at `where` (any number) is changed as `kind` says, by `value`. The module may become shorter. */
void spirv_change(uint32_t *words, size_t *n_words, uint32_t where, uint32_t kind, uint32_t value);

#endif
