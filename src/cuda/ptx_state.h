/* What the files of the PTX translator (ptx.h) share.
 *
 * A value is a list of leaves: the scalars of a vector, an array or a struct, one after the other. A leaf is a number,
 * a 32-bit register or a predicate. So taking a part of a value, building one of parts and changing its type need no
 * instructions. A pointer is a variable and an offset, of which a part may be in a register.
 *
 * Calls are expanded in place: functions are not recursive, so every id has one value at a time, and the second
 * expansion of a function replaces the values of the first.
 *
 * A variable of a function lives in registers, one per leaf, as long as every index into it is a number. When another
 * index is met, the variable is marked as in memory and the translation begins anew (ptx.c). If all that is ever stored
 * in it is one constant, it is a table of the module. */
#ifndef RLX_CUDA_PTX_STATE_H
#define RLX_CUDA_PTX_STATE_H

#include <stdbool.h>

#include "base/array.h"
#include "base/str.h"
#include "cuda/ptx.h"
#include "gpu/spirv_words.h"

enum {                        /* limits: far above what kernels need, so that no module takes long or much memory */
       PTX_MAX_LEAVES = 4096, /* of a value */
       PTX_MAX_ALL_LEAVES = 1 << 20,
       PTX_MAX_WORDS = 1 << 23, /* translated, calls expanded */
       PTX_MAX_TEXT = 32 << 20,
       PTX_MAX_VARIABLE = 1 << 20, /* bytes */
       PTX_MAX_DEPTH = 64,         /* of calls */
};

enum { /* SPIR-V's storage classes */
       CLASS_INPUT = 1,
       CLASS_WORKGROUP = 4,
       CLASS_PRIVATE = 6,
       CLASS_FUNCTION = 7,
       CLASS_PUSH_CONSTANT = 9,
       CLASS_STORAGE_BUFFER = 12,
};

typedef enum ptx_kind {
  PTX_NONE, /* not a type */
  PTX_VOID,
  PTX_BOOL,
  PTX_INT,
  PTX_FLOAT,
  PTX_VECTOR,
  PTX_ARRAY, /* n of 0: of a length that the module does not know */
  PTX_STRUCT,
  PTX_POINTER,
  PTX_FUNCTION,
} ptx_kind;

typedef struct ptx_type {
  ptx_kind kind;
  bool is_signed;
  uint32_t of;                   /* type of elements, or of what a pointer leads to */
  uint32_t n;                    /* elements or members */
  uint32_t at;                   /* of a struct: offset of its members' types in the module */
  uint32_t class;                /* of a pointer */
  uint32_t n_leaves;             /* 0: a value of this type cannot be loaded as a whole */
  uint32_t bytes, align, stride; /* in memory */
} ptx_type;

typedef enum ptx_leaf_kind { LEAF_NUMBER, LEAF_WORD, LEAF_FLAG } ptx_leaf_kind;
typedef struct ptx_leaf {
  ptx_leaf_kind kind;
  uint32_t v; /* the number, or the register's */
} ptx_leaf;

typedef struct ptx_value {
  uint32_t type;
  uint32_t first, n; /* leaves; of a pointer: `first` is its index, and n is 1 */
  bool is_pointer;
} ptx_value;

typedef struct ptx_pointer {
  uint32_t root;        /* id of the variable */
  uint32_t variable;    /* its number in the text; its first leaf; of an input: which one */
  uint32_t class, type; /* type: of what it leads to */
  bool in_registers, is_table;
  uint32_t offset;   /* bytes; in registers: leaves */
  bool has_register; /* the address without the offset is in this register; otherwise it is the variable's */
  uint32_t address;
} ptx_pointer;

typedef struct ptx_id {
  ptx_type type;
  ptx_value value;
  uint32_t at;             /* offset of a function or a label */
  uint32_t binding, built; /* decorations; UINT32_MAX: none */
  uint32_t array_stride;   /* 0: none */
  bool in_memory;          /* of a variable: see above */
  uint32_t store_at;       /* of a variable: offset of its store of a constant as a whole; 0: none */
  bool is_varied;          /* of a variable: there are other stores */
  uint32_t table;          /* of a variable: 1 + the number of its table; 0: none */
  bool is_active;          /* of a function: it is being expanded */
} ptx_id;

typedef struct ptx_member {
  uint32_t type, index, offset;
} ptx_member;

typedef struct ptx_frame { /* a function that is being expanded */
  uint32_t number;         /* of this expansion, for its labels */
  uint32_t begin, end;     /* offsets of the function */
  uint32_t block;          /* the label of the current block */
  uint32_t depth;
  bool is_entry;
  uint32_t result, n_result; /* leaves */
} ptx_frame;

typedef struct ptx_state {
  const uint32_t *w;
  size_t n;
  uint32_t bound;
  const cu_ptx_desc *desc;
  ptx_id *id;
  RLX_ARRAY(ptx_leaf) leaves;
  RLX_ARRAY(ptx_pointer) pointers;
  RLX_ARRAY(ptx_member) members;
  uint32_t extension, entry;
  uint32_t n_words, n_flags, n_longs, n_halves; /* registers */
  uint32_t n_frames, n_locals, n_tables;
  size_t n_constant_leaves; /* those of the module's constants: they do not change */
  size_t n_translated;
  bool again; /* a variable was marked as in memory */
  rlx_str body, variables, prologue, tables;
} ptx_state;

/* ---- ids and leaves (ptx_types.c) ---- */

rlx_status ptx_read_module(ptx_state *s); /* types, constants and variables */
ptx_id *ptx_id_at(ptx_state *s, uint32_t id);
static inline const ptx_type *ptx_type_at(ptx_state *s, uint32_t id) { return &ptx_id_at(s, id)->type; }
rlx_status ptx_unsupported(const ptx_state *s, const uint32_t *i);

/* Gives an id a value of this type with room for its leaves, all zeros. */
rlx_status ptx_define(ptx_state *s, uint32_t id, uint32_t type, ptx_value *out);
/* The same with new registers. */
rlx_status ptx_define_registers(ptx_state *s, uint32_t id, uint32_t type, ptx_value *out);
/* The value of an id, which is not a pointer. */
rlx_status ptx_get(ptx_state *s, uint32_t id, ptx_value *out);
rlx_status ptx_get_pointer(ptx_state *s, uint32_t id, ptx_pointer *out);
/* Gives an id the leaves of another one: *v with the new type. */
rlx_status ptx_alias(ptx_state *s, uint32_t id, uint32_t type, const ptx_value *v);

static inline ptx_leaf ptx_leaf_of(const ptx_state *s, const ptx_value *v, uint32_t i) {
  return s->leaves.v[v->first + i];
}
/* Leaf i of an operand; that of a scalar for all i. */
static inline ptx_leaf ptx_leaf_or_only(const ptx_state *s, const ptx_value *v, uint32_t i) {
  return s->leaves.v[v->first + (v->n == 1 ? 0 : i < v->n ? i : v->n - 1)];
}
static inline ptx_leaf ptx_new_word(ptx_state *s) { return (ptx_leaf){LEAF_WORD, s->n_words++}; }
static inline ptx_leaf ptx_new_flag(ptx_state *s) { return (ptx_leaf){LEAF_FLAG, s->n_flags++}; }
/* Whether the leaves of a type are predicates. Structs have none. */
bool ptx_is_flags(ptx_state *s, uint32_t type);
/* The value of a 32-bit constant; false: not a number. */
bool ptx_number(ptx_state *s, uint32_t id, uint32_t *out);

/* ---- text (ptx_types.c) ---- */

typedef struct ptx_text {
  char v[16];
} ptx_text;
ptx_text ptx_word(ptx_leaf l);  /* as an integer operand */
ptx_text ptx_float(ptx_leaf l); /* as a float operand */
/* A leaf as a predicate: a number is moved to a register first. */
ptx_text ptx_flag(ptx_state *s, ptx_leaf l);
void ptx_move(ptx_state *s, ptx_leaf to, ptx_leaf from);

/* ---- instructions ---- */

rlx_status ptx_variable(ptx_state *s, const uint32_t *i);              /* ptx_memory.c */
rlx_status ptx_memory_instruction(ptx_state *s, const uint32_t *i);    /* load, store, access chain */
rlx_status ptx_plain_instruction(ptx_state *s, const uint32_t *i);     /* ptx_plain.c: all that computes */
rlx_status ptx_composite_instruction(ptx_state *s, const uint32_t *i); /* ptx_plain.c: vectors and their parts */
/* Expands the function at this offset (ptx_flow.c). */
rlx_status ptx_function(ptx_state *s, ptx_frame *f, const uint32_t *arguments, uint32_t n_arguments);

static inline uint32_t ptx_op(const uint32_t *i) { return *i & 0xffff; }
static inline uint32_t ptx_length(const uint32_t *i) { return *i >> 16; }

#endif
