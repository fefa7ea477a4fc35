/* What the files that read SPIR-V share: the opcodes they use, the validity check at their entry, and arithmetic on
 * constants. */
#ifndef RLX_GPU_SPIRV_WORDS_H
#define RLX_GPU_SPIRV_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { /* opcodes */
       OP_UNDEF = 1,
       OP_EXT_INST = 12,
       OP_ENTRY_POINT = 15,
       OP_TYPE_BOOL = 20,
       OP_TYPE_INT = 21,
       OP_CONSTANT_TRUE = 41,
       OP_CONSTANT_FALSE = 42,
       OP_CONSTANT = 43,
       OP_CONSTANT_COMPOSITE = 44,
       OP_SPEC_TRUE = 48,
       OP_SPEC_FALSE = 49,
       OP_SPEC_CONSTANT = 50,
       OP_SPEC_COMPOSITE = 51,
       OP_SPEC_OP = 52,
       OP_FUNCTION = 54,
       OP_FUNCTION_END = 56,
       OP_CALL = 57,
       OP_LOAD = 61,
       OP_STORE = 62,
       OP_ACCESS_CHAIN = 65,
       OP_DECORATE = 71,
       OP_SHUFFLE = 79,
       OP_CONSTRUCT = 80,
       OP_EXTRACT = 81,
       OP_INSERT = 82,
       OP_COPY_OBJECT = 83,
       OP_FIRST_PLAIN = 109, /* conversions, arithmetic, comparisons, bit operations: all operands are ids */
       OP_IADD = 128,
       OP_ULESS = 176,
       OP_SLESS = 177,
       OP_LAST_PLAIN = 205,
       OP_BARRIER = 224,
       OP_MEMORY_BARRIER = 225,
       OP_ATOMIC_FIRST = 227,
       OP_ATOMIC_STORE = 228,
       OP_ATOMIC_LAST = 242,
       OP_PHI = 245,
       OP_LOOP_MERGE = 246,
       OP_SELECTION_MERGE = 247,
       OP_LABEL = 248,
       OP_BRANCH = 249, /* this and all up to OP_UNREACHABLE end a block */
       OP_BRANCH_CONDITIONAL = 250,
       OP_SWITCH = 251,
       OP_UNREACHABLE = 255,
       OP_GROUP_SHUFFLE = 345,
       OP_GROUP_SHUFFLE_XOR = 346,
       OP_GROUP_FIRST = 349, /* subgroup reductions: the third operand is a literal */
       OP_GROUP_LAST = 364,
       OP_SDOT = 4450,
       OP_SDOT_SUM = 4453,
       OP_MATRIX_LOAD = 4457,
       OP_MATRIX_STORE = 4458,
       OP_MATRIX_MUL_ADD = 4459,
};

enum {
  SPIRV_HEADER_WORDS = 5,
  SPIRV_MAX_IDS = 1 << 22, /* SPIR-V's own limit on ids; bounds the tables indexed by id */
};

/* Whether the words are whole instructions, each at least as long as its readers here assume. Functions must end.
 * Blocks must begin with a label and end with a terminator; a merge declaration must directly precede it. After this
 * check a walk over the instructions stays in bounds, and one from a label finds the block's end. Ids may still be
 * anything. */
bool spirv_is_whole(const uint32_t *words, size_t n_words);

/* Evaluates an operation on n known 32-bit integers or bools (0, 1); false: not one that kernels use on constants. */
bool spirv_evaluate(uint32_t op, const uint32_t *x, uint32_t n, uint32_t *y);

#endif
