/* PTX for the fake driver: the subset that src/cuda/ptx.c writes, one instruction per line, is read and run thread by
 * thread. Anything else is refused with a reason, so the fake also checks what the translator emits. */
#ifndef RLX_TESTS_CUDA_FAKE_PTX_H
#define RLX_TESTS_CUDA_FAKE_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu.h"

typedef enum ptx_operand_kind {
  PTX_NOTHING,
  PTX_WORD,    /* %r */
  PTX_FLAG,    /* %p */
  PTX_LONG,    /* %d */
  PTX_HALF,    /* %h */
  PTX_NUMBER,  /* an integer or the bits of a float */
  PTX_SPECIAL, /* which one: ptx_special */
  PTX_PLACE,   /* an address in shared or local memory: `offset` from its beginning */
  PTX_TABLE,   /* the same in the module's tables */
  PTX_IN_WORD, /* [%r + offset] */
  PTX_IN_LONG, /* [%d + offset] */
  PTX_IN_PARAM /* offset into the kernel's parameters: windows of 8 bytes each, then the struct */
} ptx_operand_kind;

typedef enum ptx_special { PTX_TID, PTX_CTAID_X, PTX_CTAID_Y, PTX_NCTAID_X, PTX_LANE, PTX_ZERO, PTX_ONE } ptx_special;

typedef struct ptx_operand {
  ptx_operand_kind kind;
  uint32_t v;      /* register, number or special */
  uint32_t offset; /* of addresses */
} ptx_operand;

enum { PTX_MAX_OPERANDS = 5 };

typedef struct ptx_line {
  uint16_t op;     /* PTX_OP_x of ptx_ops.def */
  uint8_t n;       /* operands */
  int8_t guard;    /* 0: none; 1: if the predicate holds; -1: if not */
  uint32_t flag;   /* the guard's predicate */
  uint32_t target; /* of a branch: the line */
  uint32_t hint;   /* the window that was accessed last */
  uint32_t number; /* in the text, for messages */
  ptx_operand x[PTX_MAX_OPERANDS];
} ptx_line;

enum {
#define PTX_OP(name, text, sources) PTX_OP_##name,
#include "ptx_ops.def"
#undef PTX_OP
  PTX_OP_COUNT
};

typedef struct ptx_program {
  char name[64];
  uint32_t n_windows, params_bytes, group_size;
  uint32_t n_words, n_flags, n_longs, n_halves;
  uint32_t shared_bytes, local_bytes;
  uint32_t *tables; /* one after the other */
  size_t n_table_words;
  ptx_line *lines;
  size_t n_lines;
} ptx_program;

/* NULL: not such a text; `why` has the reason. */
ptx_program *ptx_read(const char *text, char why[256]);
void ptx_free(ptx_program *p);

typedef struct ptx_memory { /* a range of addresses that a launch may access; host is NULL: none */
  uint64_t address;
  size_t bytes;
  unsigned char *host;
  unsigned char *written; /* as in fake_memory */
} ptx_memory;

typedef struct ptx_launch {
  const uint64_t *windows;
  const uint32_t *params;
  const ptx_memory *memory; /* by window: its allocation */
  uint32_t grid_x, grid_y;
} ptx_launch;

/* False: a fault, with a text. True with a text: the first read of bytes that nothing wrote. */
bool ptx_run(ptx_program *p, const ptx_launch *l, char text[256]);

#endif
