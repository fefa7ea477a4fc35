/* Moving elements by position, as lists of boxes.
 *
 * Transpose, slice, expand, tile, reverse, concat, roll, pad, space_to_depth and depth_to_space are all lists of boxes.
 * A box is an n-dimensional region of the result; each axis has its own stride in the source (0 repeats, negative
 * reverses). A kernel describes its boxes once, when the program is created. cpu_moves_add canonicalises each: adjacent
 * axes that continue one another are merged, and a contiguous last axis becomes a longer element. One function runs
 * them all. */
#ifndef RLX_CPU_MOVE_H
#define RLX_CPU_MOVE_H

#include <string.h>

#include "cpu/cpu.h"

enum { CPU_BOX_RANK = 2 * RLX_MAX_RANK, CPU_BOX_FILL = UINT32_MAX };

typedef struct cpu_box {
  uint32_t input; /* the source; CPU_BOX_FILL: the fill element, with strides of 0 */
  int n;
  size_t unit; /* bytes of an element */
  size_t dim[CPU_BOX_RANK];
  ptrdiff_t from[CPU_BOX_RANK], to[CPU_BOX_RANK]; /* strides in bytes */
  ptrdiff_t from_at, to_at;                       /* offsets of the first element */
  bool tiled;            /* axes n-2 and n-1 are transposed: one is contiguous in the source, the other in the result */
  size_t tile_a, tile_b; /* elements of those axes in a tile */
} cpu_box;

typedef struct cpu_moves {
  unsigned char fill[8];
  size_t n, cap;
  cpu_box *v;
} cpu_moves;

/* Space for `cap` boxes. */
cpu_moves *cpu_moves_create(rlx_bump *memory, size_t cap);
/* Canonicalises the box and adds it; an empty one is dropped. */
void cpu_moves_add(cpu_moves *m, cpu_box box);
/* Runs c->prepared, a cpu_moves. */
rlx_status cpu_moves_run(const cpu_call *c);

/* The inner loops, by instruction set and element size (1, 2, 4, 8 bytes: index 0 to 3). */
typedef struct cpu_move_table {
  /* dst[a][b] = src[b][a]: a < n_a rows of dst, dst_step bytes apart; b < n_b rows of src, src_step apart. */
  void (*tile[4])(const unsigned char *src, ptrdiff_t src_step, unsigned char *dst, ptrdiff_t dst_step, size_t n_a,
                  size_t n_b);
  void (*round)(rlx_dtype to_type, const float *src, void *dst, size_t n); /* f32 to f16 or bf16 */
  bool whole_lines[4]; /* writes whole 64-byte cache lines, so a buffer gains nothing */
} cpu_move_table;
CPU_TABLES(cpu_move_table, cpu_move)

/* A parallel memcpy. */
void cpu_move_bytes(rlx_pool *pool, const void *src, void *dst, size_t bytes);
/* memcpy inside a task. Long copies poll whether to stop, and may then be incomplete. */
enum { CPU_LONG_COPY = 1 << 20 };
void cpu_copy_long(void *dst, const void *src, size_t bytes);
static inline void cpu_copy(void *dst, const void *src, size_t bytes) {
  if (bytes > CPU_LONG_COPY) cpu_copy_long(dst, src, bytes);
  else memcpy(dst, src, bytes);
}

/* Element i of an index tensor (i32 or i64). */
static inline int64_t cpu_index_at(const void *idx, bool wide, size_t i) {
  return wide ? ((const int64_t *)idx)[i] : ((const int32_t *)idx)[i];
}

#endif
