/* Element-wise work over tiles: shared by the compiler of element-wise nodes (pointwise_build.c), the loop that runs
 * its programs (pointwise.c) and the tile functions (pointwise_*.simd.c).
 *
 * A tile is a short run of elements of the result. Inside a tile, values have one of three forms, whatever their dtype:
 * floats as f32 (f16 and bf16 are rounded to their type after each step, as single nodes would be), integers as i64
 * (wrapped to their type after each step), bools as bytes. A tile function computes one tile from up to three others.
 * It reads element i of its operands no later than it writes element i, so the result may alias an operand of the same
 * form. Other kernels use the functions that load and store. */
#ifndef RLX_CPU_POINTWISE_H
#define RLX_CPU_POINTWISE_H

#include "cpu/cpu.h"

typedef enum cpu_form { CPU_FLOATS, CPU_INTS, CPU_BOOLS, CPU_FORM_COUNT } cpu_form;

static inline cpu_form cpu_form_of(rlx_dtype t) {
  return rlx_dtype_is_float(t) || rlx_dtype_is_block(t) ? CPU_FLOATS : t == RLX_BOOL ? CPU_BOOLS : CPU_INTS;
}

/* Parameters of a tile function besides its operands. */
typedef struct cpu_tile_args {
  float alpha, beta;
  int64_t lo, hi; /* bounds of clamps and of conversions to integers */
  int bits;       /* width of the integer dtype */
} cpu_tile_args;

/* Computes n elements of dst from those of a, b and c, as many as the function has operands. */
#define CPU_TILE_ARGS const cpu_tile_args *p, void *dst, const void *a, const void *b, const void *c, size_t n
#define CPU_TILE_UNUSED (void)p, (void)a, (void)b, (void)c
typedef void (*cpu_tile_fn)(CPU_TILE_ARGS);

/* By op; NULL where the form has no such op. For floats, batch_norm_inference is its one step that is not an op: the
 * deviation. */
typedef struct cpu_tile_ops {
  cpu_tile_fn op[RLX_OP_COUNT];
} cpu_tile_ops;
CPU_TABLES(cpu_tile_ops, cpu_tile_floats)
CPU_TABLES(cpu_tile_ops, cpu_tile_ints)
CPU_TABLES(cpu_tile_ops, cpu_tile_bools)

typedef struct cpu_tile_moves {
  cpu_tile_fn load[RLX_DTYPE_COUNT];  /* from memory of this dtype into a tile; NULL: the dtype has no tiles */
  cpu_tile_fn store[RLX_DTYPE_COUNT]; /* from a tile into memory; rounds floats, truncates integers to the width */
  cpu_tile_fn fit[RLX_DTYPE_COUNT];   /* rounds or wraps a tile to the dtype; NULL: every value of the form fits */
  cpu_tile_fn fill[CPU_FORM_COUNT];   /* n times the element at a */
  /* [from][to]; to integers: saturated to args lo..hi; NULL: a copy */
  cpu_tile_fn convert[CPU_FORM_COUNT][CPU_FORM_COUNT];
  cpu_tile_fn ints_to_odd; /* integers to floats by round-to-odd: they will be rounded again, to bf16 */
} cpu_tile_moves;
CPU_TABLES(cpu_tile_moves, cpu_tile_move)

/* n floats of a dtype (f32, f16, bf16) to f32 and back, for kernels that compute in f32. */
static inline void cpu_floats_load(cpu_isa isa, rlx_dtype type, const void *src, float *dst, size_t n) {
  cpu_tile_move(isa)->load[type](NULL, dst, src, NULL, NULL, n);
}
static inline void cpu_floats_store(cpu_isa isa, rlx_dtype type, const float *src, void *dst, size_t n) {
  cpu_tile_move(isa)->store[type](NULL, dst, src, NULL, NULL, n);
}

/* ---- axes ---- */

/* A loop nest over a row-major result, with the strides of each operand in elements. Axes are merged where all operands
 * allow it. */
enum { CPU_AXES_OPERANDS = 24 };
typedef struct cpu_axes {
  int n;
  int n_operands;
  size_t size[RLX_MAX_RANK];
  size_t stride[CPU_AXES_OPERANDS][RLX_MAX_RANK];
} cpu_axes;
void cpu_axes_begin(cpu_axes *x, const rlx_dims *shape);
/* Adds an operand of this shape, broadcast to the result's. */
void cpu_axes_broadcast(cpu_axes *x, const rlx_dims *shape);
void cpu_axes_collapse(cpu_axes *x);

/* ---- programs ---- */

enum {
  CPU_PW_MAX_STEPS = 288,
  CPU_PW_MAX_VALUES = 224,
  CPU_PW_MAX_OPERANDS = CPU_AXES_OPERANDS,
  CPU_PW_SLOT_BYTES = 32 * 1024, /* tiles of one task: the L1 cache */
  CPU_PW_MAX_TILE = 4096,
  CPU_PW_NONE = 0xffff
};

typedef enum cpu_pw_access {
  CPU_PW_FLAT,  /* indexed like the result */
  CPU_PW_ONE,   /* one element for all */
  CPU_PW_RUNS,  /* broadcast along some axes */
  CPU_PW_BLOCKS /* a block type, indexed like the result */
} cpu_pw_access;

typedef struct cpu_pw_operand {
  const void *constant; /* NULL: an input */
  uint32_t input;
  rlx_dtype dtype;
  cpu_pw_access access;
  bool in_form; /* memory has the form of a tile: no copy where it is contiguous */
  uint32_t bytes;
  size_t stride[RLX_MAX_RANK];
  cpu_tile_fn load, fill;
  uint16_t value;
} cpu_pw_operand;

/* One step of a tile: `fn` computes value dst from values a, b, c; without fn, operand a is loaded. */
typedef struct cpu_pw_step {
  cpu_tile_fn fn;
  uint16_t dst, a, b, c;
  cpu_tile_args args;
} cpu_pw_step;

typedef struct cpu_pw_value {
  cpu_form form;
  uint16_t slot; /* CPU_PW_NONE: read or written in place */
} cpu_pw_value;

/* A compiled node: all that does not change between runs. */
typedef struct cpu_pw_program {
  cpu_axes axes;                      /* sizes only: strides are in the operands */
  size_t count;                       /* elements of the result */
  size_t tile, per_row, row, n_tiles; /* tile t is part t % per_row of row t / per_row */
  uint32_t n_operands, n_steps, n_values, n_slots, slot_bytes;
  cpu_pw_operand *operands;
  cpu_pw_step *steps;
  cpu_pw_value *values;
  uint16_t result;    /* the value that is stored */
  cpu_tile_fn store;  /* NULL: the last step writes the result itself */
  uint32_t out_bytes; /* of an element */
  double cost;        /* nanoseconds per element, about */
} cpu_pw_program;

/* Compiles a node: an element-wise op, or a region. False: not supported, and *why gives the reason. With memory NULL
 * it only checks. */
bool cpu_pw_build(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, rlx_bump *memory, cpu_pw_program *out,
                  const char **why);
extern const char cpu_pw_no_memory[]; /* the `why` of a failed allocation */

#endif
