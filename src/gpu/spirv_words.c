/* Validity check of SPIR-V modules, and arithmetic on their constants: see the header. */
#include "gpu/spirv_words.h"

/* Minimum length of an instruction: its readers do not check again. */
static uint32_t min_words(uint32_t op) {
  if (op >= OP_CONSTANT_TRUE && op <= OP_SPEC_OP) return 3;
  switch (op) {
    case OP_ENTRY_POINT: return 4;
    case OP_FUNCTION: return 5;
    case OP_CALL: return 4;
    case OP_DECORATE: return 3;
    case OP_PHI: return 3;
    case OP_LOOP_MERGE: return 4;
    case OP_SELECTION_MERGE: return 3;
    case OP_LABEL: return 2;
    case OP_BRANCH: return 2;
    case OP_BRANCH_CONDITIONAL: return 4;
    case OP_SWITCH: return 3;
    default: return 1;
  }
}

typedef enum state { OUTSIDE, IN_FUNCTION, IN_BLOCK, AFTER_MERGE } state;

/* Updates the state for an instruction; false: it is not allowed here. */
static bool advance(state *p, uint32_t op) {
  const state from = *p;
  switch (op) {
    case OP_FUNCTION: *p = IN_FUNCTION; return from == OUTSIDE;
    case OP_FUNCTION_END: *p = OUTSIDE; return from == IN_FUNCTION;
    case OP_LABEL: *p = IN_BLOCK; return from == IN_FUNCTION;
    case OP_LOOP_MERGE:
    case OP_SELECTION_MERGE: *p = AFTER_MERGE; return from == IN_BLOCK;
    default: break;
  }
  if (op < OP_BRANCH || op > OP_UNREACHABLE) return from != AFTER_MERGE;
  *p = IN_FUNCTION;
  return from == IN_BLOCK || from == AFTER_MERGE;
}

bool spirv_is_whole(const uint32_t *words, size_t n_words) {
  if (n_words < SPIRV_HEADER_WORDS || n_words > UINT32_MAX || words[0] != 0x07230203u) return false;
  if (words[3] == 0 || words[3] > SPIRV_MAX_IDS) return false;
  state p = OUTSIDE;
  for (size_t at = SPIRV_HEADER_WORDS; at < n_words; at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffff, n = words[at] >> 16;
    if (n < min_words(op) || n > n_words - at || !advance(&p, op)) return false;
  }
  return p == OUTSIDE;
}

bool spirv_evaluate(uint32_t op, const uint32_t *x, uint32_t n, uint32_t *y) {
  const uint32_t a = n > 0 ? x[0] : 0, b = n > 1 ? x[1] : 0;
  const int32_t i = (int32_t)a, j = (int32_t)b;
  switch (op) {
    case 128: *y = a + b; return n == 2;
    case 130: *y = a - b; return n == 2;
    case 132: *y = a * b; return n == 2;
    case 134: *y = b ? a / b : 0; return n == 2 && b;
    case 137: *y = b ? a % b : 0; return n == 2 && b;
    case 164: *y = a == b; return n == 2; /* on bools */
    case 165: *y = a != b; return n == 2;
    case 166: *y = a || b; return n == 2;
    case 167: *y = a && b; return n == 2;
    case 168: *y = !a; return n == 1;
    case 169: *y = n > 2 && a ? b : n > 2 ? x[2] : 0; return n == 3;
    case 170: *y = a == b; return n == 2;
    case 171: *y = a != b; return n == 2;
    case 172: *y = a > b; return n == 2;
    case 173: *y = i > j; return n == 2;
    case 174: *y = a >= b; return n == 2;
    case 175: *y = i >= j; return n == 2;
    case 176: *y = a < b; return n == 2;
    case 177: *y = i < j; return n == 2;
    case 178: *y = a <= b; return n == 2;
    case 179: *y = i <= j; return n == 2;
    case 194: *y = b < 32 ? a >> b : 0; return n == 2 && b < 32;
    case 196: *y = b < 32 ? a << b : 0; return n == 2 && b < 32;
    case 197: *y = a | b; return n == 2;
    case 198: *y = a ^ b; return n == 2;
    case 199: *y = a & b; return n == 2;
    case 200: *y = ~a; return n == 1;
    default: return false;
  }
}
