/* Products of f32 activations with block-type weights, 16 rows of the weight at a time. Only the f32 sums are rounded.
 *
 * Codes are converted to floats in registers: a byte in the mantissa of 2^23 is exactly 2^23 plus the byte, and
 * subtracting 2^23 and the offset leaves the code. A sub-block is summed by itself and scaled at its end. For types
 * with mins, each value is computed in full first, as in the decoder, so that an infinite element of a is multiplied by
 * the true sign of the weight. */
#define Q_VECTORS(tile) 1
#include "cpu/quant_loop.h"

#define TWO_23 8388608.0f

/* Byte c of each lane as a float, minus the offset. */
CPU_INLINE vf code_float(vi codes, int c, float offset) {
  vi byte = c < 3 ? q_and(q_shr(codes, 8 * c), 255) : q_shr(codes, 24);
  return vf_sub(vf_from_bits(vi_or(byte, vi_set(0x4b000000))), vf_set(TWO_23 + offset));
}

CPU_INLINE vf row_element(const float *row, size_t i) { return vf_set(row[i]); }

/* sum[m] += the product of sub-block h of part j, whose first element is a[at], with row m. */
CPU_INLINE void exact_sub(rlx_dtype T, int tile, const uint8_t *b, size_t r, int j, int h, const void *const *rows,
                          size_t at, vf scale, vf min, vf *sum) {
  const int words = 8 / q_subs(T);
  const bool flip = VB_SIGNED && q_is_8_bit(T); /* signed codes are made unsigned */
  const float offset = (float)(flip ? 128 : q_offset(T));
  vf inside[CPU_QUANT_TILE_MAX];
  Q_EACH(tile, inside[m] = vf_zero())
  for (int i = h * words; i < (h + 1) * words; i++) {
    vi codes = q_codes(T, b, r, j, i);
    if (flip) codes = vi_xor(codes, vi_set((int32_t)0x80808080u));
    VF_UNROLL
    for (int c = 0; c < 4; c++) {
      vf w = code_float(codes, c, offset);
      if (q_has_min(T)) w = vf_fma(w, scale, min);
      Q_EACH(tile, inside[m] = vf_fma(w, row_element(rows[m], at + (size_t)(4 * i + c)), inside[m]))
    }
  }
  Q_EACH(tile, sum[m] = q_has_min(T) ? vf_add(sum[m], inside[m]) : vf_fma(inside[m], scale, sum[m]))
}

CPU_INLINE void q_block(rlx_dtype T, int tile, int vecs, const uint8_t *b, size_t r, const void *const *rows, size_t k,
                        size_t part, vf *sum) {
  (void)vecs, (void)k;
  vf d = q_scale(T, b, r), scale = d, min = vf_zero();
  if (q_has_min(T)) min = q_min(T, b, r);
  if (!q_is_super(T)) {
    exact_sub(T, tile, b, r, 0, 0, rows, 32 * part, scale, min, sum);
    return;
  }
  vf dmin = vf_neg(min);
  VF_LOOP
  for (int j = 0; j < SUPER_BLOCK / 32; j++) {
    VF_UNROLL
    for (int h = 0; h < q_subs(T); h++) {
      if (q_has_sub_scale(T)) scale = vf_mul(d, q_sub_scale(T, b, r, j, h));
      if (q_has_min(T)) min = vf_mul(dmin, q_sub_min(T, b, r, j, h));
      exact_sub(T, tile, b, r, j, h, rows, 32 * (part + (size_t)j), scale, min, sum);
    }
  }
}

Q_FUNCTIONS
const cpu_quant_exact_table CPU_TABLE(cpu_quant_exact) = {.dot = Q_TABLE};
