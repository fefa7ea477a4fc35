/* The loops shared by the quant_*.simd.c files: over blocks and over the rows of a tile, and the generated tables.
 *
 * A file defines q_block, the product of one block, and Q_VECTORS(tile), how many vectors of a group's rows it takes at
 * once; the loop over a group and a function for every type and tile come from here. Everything is inlined with T and
 * tile as compile-time constants, so a type has no cost for features that it lacks. */
#ifndef RLX_CPU_QUANT_LOOP_H
#define RLX_CPU_QUANT_LOOP_H

#include "cpu/quant_codes.h"

/* For each m of n, at most 8. Unrolled by the preprocessor: otherwise sums in an array stay in memory until the
 * compiler unrolls the loop, and its alias analysis of every load makes compiling a third slower. */
#if defined(VF_SANITIZED)
#define Q_EACH(n, ...) \
  for (int m = 0; m < (n); m++) __VA_ARGS__;
#else
#define Q_EACH_(index, ...) \
  {                         \
    enum { m = (index) };   \
    __VA_ARGS__;            \
  }
#define Q_EACH(n, ...)                 \
  Q_EACH_(0, __VA_ARGS__)              \
  if ((n) > 1) Q_EACH_(1, __VA_ARGS__) \
  if ((n) > 2) Q_EACH_(2, __VA_ARGS__) \
  if ((n) > 3) Q_EACH_(3, __VA_ARGS__) \
  if ((n) > 4) Q_EACH_(4, __VA_ARGS__) \
  if ((n) > 5) Q_EACH_(5, __VA_ARGS__) \
  if ((n) > 6) Q_EACH_(6, __VA_ARGS__) \
  if ((n) > 7) Q_EACH_(7, __VA_ARGS__)
#endif
enum { Q_SUMS_MAX = 8 };
#define Q_SUMS(...) Q_EACH(tile *vecs, __VA_ARGS__)
#define Q_VECS(...) Q_EACH(vecs, __VA_ARGS__)

/* Adds to the sums the products of a block, in `vecs` vectors from lane r on, with `tile` rows of k elements: sum[m] is
 * that of row m / vecs with vector m % vecs. The block begins at element 32 * part of the rows. */
CPU_INLINE void q_block(rlx_dtype T, int tile, int vecs, const uint8_t *b, size_t r, const void *const *rows, size_t k,
                        size_t part, vf *sum);

/* A cpu_quant_dot_fn. */
CPU_INLINE void q_group(rlx_dtype T, int tile, int vecs, const uint8_t *group, size_t n_blocks,
                        const void *const *row_list, size_t k, size_t at, float (*sums)[CPU_QUANT_ROWS]) {
  const void *rows[CPU_QUANT_TILE_MAX];
  Q_EACH(tile, rows[m] = row_list[m])
  VF_LOOP
  for (size_t r = 0; r < CPU_QUANT_ROWS; r += (size_t)vecs * VF_LANES) {
    vf sum[Q_SUMS_MAX];
    const uint8_t *b = group;
    Q_SUMS(sum[m] = vf_load(sums[m / vecs] + r + m % vecs * VF_LANES))
    for (size_t i = 0, part = at / 32; i < n_blocks; i++, part += (size_t)q_parts(T), b += q_step(T))
      q_block(T, tile, vecs, b, r, rows, k, part, sum);
    Q_SUMS(vf_store(sums[m / vecs] + r + m % vecs * VF_LANES, sum[m]))
  }
}

/* ---- the table: Q_FUNCTIONS once, then Q_TABLE as the `dot` of a table ---- */

#define Q_FUNCTION_(TYPE, name, tile)                                                                                  \
  static void dot_##name##_##tile(const uint8_t *group, size_t n_blocks, const void *const *rows, size_t k, size_t at, \
                                  float(*sums)[CPU_QUANT_ROWS]) {                                                      \
    q_group(RLX_##TYPE, tile, Q_VECTORS(tile), group, n_blocks, rows, k, at, sums);                                    \
  }
#define Q_TYPE_FUNCTIONS_(TYPE, name) VB_EACH_TILE(Q_FUNCTION_, TYPE, name)
#define Q_FUNCTIONS CPU_QUANT_TYPES(Q_TYPE_FUNCTIONS_)
#define Q_ENTRY_(TYPE, name, tile) dot_##name##_##tile,
#define Q_TYPE_ENTRIES_(TYPE, name) [RLX_##TYPE] = {VB_EACH_TILE(Q_ENTRY_, TYPE, name)},
#define Q_TABLE \
  { CPU_QUANT_TYPES(Q_TYPE_ENTRIES_) }

#endif
