/* Codes and scales of block types in registers; only for the quant_*.simd.c files.
 *
 * Weights are stored in groups of 16 rows (quant_pack.c). Where a row's block has a field of units of 1, 2 or 4 bytes,
 * a group has the first unit of row 0, of row 1, .. of row 15, then the next unit. So a field at offset o of a block is
 * at 16 o of a group's block. One load gives the same four bytes of as many rows as there are lanes, and each lane
 * accumulates one row's dot product: no reduction across lanes. `b` is a group's block and `r` the row in lane 0.
 *
 * A block is processed as parts of 32 elements. q_codes gives four consecutive elements of every lane's row as four
 * bytes; all layouts of SPEC 1.2 keep such four together. The type T is a compile-time constant at every call, so the
 * compiler resolves every `switch` below. */
#ifndef RLX_CPU_QUANT_CODES_H
#define RLX_CPU_QUANT_CODES_H

#include "cpu/quant.h"
#include "cpu/simd.h"
#include "quant/blocks.h"

/* ---- words ---- */

/* Shifts by amounts that become constant only after unrolling. */
typedef uint32_t q_u32 __attribute__((vector_size(4 * VF_LANES)));
CPU_INLINE vi q_shr(vi a, int k) { return (vi)((q_u32)a >> k); }
CPU_INLINE vi q_shl(vi a, int k) { return (vi)((q_u32)a << k); }
CPU_INLINE vi q_and(vi a, uint32_t bits) { return vi_and(a, vi_set((int32_t)bits)); }

/* Unit i of a field. */
CPU_INLINE vi q_word(const uint8_t *b, size_t r, int field, int i) {
  return vi_load((const int32_t *)(const void *)(b + CPU_QUANT_ROWS * (field + 4 * i) + 4 * r));
}
CPU_INLINE vf q_f16(const uint8_t *b, size_t r, int field) {
  uint16_t v[VF_LANES];
  memcpy(v, b + (size_t)(CPU_QUANT_ROWS * field) + 2 * r, sizeof v);
  return vf_load_f16(v);
}
CPU_INLINE vi q_u16(const uint8_t *b, size_t r, int field) {
  uint16_t v[VF_LANES];
  memcpy(v, b + (size_t)(CPU_QUANT_ROWS * field) + 2 * r, sizeof v);
  return vi_load_u16(v);
}
CPU_INLINE vi q_u8(const uint8_t *b, size_t r, int field, int i) {
  return vi_load_u8(b + (size_t)(CPU_QUANT_ROWS * (field + i)) + r);
}

/* ---- properties of a type ---- */

/* The block types with inner loops; others are decoded first (quant.c). */
/* clang-format off */
#define CPU_QUANT_TYPES(X)                                                                                \
  X(Q4_0, q4_0) X(Q4_1, q4_1) X(Q5_0, q5_0) X(Q5_1, q5_1) X(Q8_0, q8_0) X(IQ4_NL, iq4_nl) X(MXFP4, mxfp4) \
  X(Q2_K, q2_k) X(Q3_K, q3_k) X(Q4_K, q4_k) X(Q5_K, q5_k) X(Q6_K, q6_k) X(Q8_K, q8_k) X(IQ4_XS, iq4_xs)   \
  X(TQ1_0, tq1_0) X(TQ2_0, tq2_0)
/* clang-format on */

CPU_INLINE bool q_is_super(rlx_dtype T) {
  return T == RLX_Q2_K || T == RLX_Q3_K || T == RLX_Q4_K || T == RLX_Q5_K || T == RLX_Q6_K || T == RLX_Q8_K ||
         T == RLX_IQ4_XS || T == RLX_TQ1_0 || T == RLX_TQ2_0;
}
/* Bytes of a group's block. */
CPU_INLINE size_t q_step(rlx_dtype T) {
#define Q_STEP(TYPE, name) \
  if (T == RLX_##TYPE) return (size_t)CPU_QUANT_ROWS * TYPE##_BYTES;
  CPU_QUANT_TYPES(Q_STEP)
#undef Q_STEP
  return 0;
}
CPU_INLINE int q_parts(rlx_dtype T) { return q_is_super(T) ? SUPER_BLOCK / 32 : 1; }
/* Scales per part. */
CPU_INLINE int q_subs(rlx_dtype T) { return T == RLX_Q2_K || T == RLX_Q3_K || T == RLX_Q6_K ? 2 : 1; }
CPU_INLINE bool q_has_min(rlx_dtype T) {
  return T == RLX_Q4_1 || T == RLX_Q5_1 || T == RLX_Q2_K || T == RLX_Q4_K || T == RLX_Q5_K;
}
/* Whether the sub-blocks of a super-block have their own integer scales. */
CPU_INLINE bool q_has_sub_scale(rlx_dtype T) {
  return T == RLX_Q2_K || T == RLX_Q3_K || T == RLX_Q4_K || T == RLX_Q5_K || T == RLX_Q6_K || T == RLX_IQ4_XS;
}
CPU_INLINE bool q_is_8_bit(rlx_dtype T) { return T == RLX_Q8_0 || T == RLX_Q8_K || T == RLX_IQ4_NL || T == RLX_IQ4_XS; }
/* How much codes are offset. 8-bit codes are signed where the set multiplies them so. */
CPU_INLINE int q_offset(rlx_dtype T) {
  switch (T) {
    case RLX_Q4_0: return 8;
    case RLX_Q5_0: return 16;
    case RLX_MXFP4: return 12;
    case RLX_Q3_K: return 4;
    case RLX_Q6_K: return 32;
    case RLX_TQ1_0:
    case RLX_TQ2_0: return 1;
    case RLX_Q8_0:
    case RLX_Q8_K:
    case RLX_IQ4_NL:
    case RLX_IQ4_XS: return VB_SIGNED ? 0 : 128;
    default: return 0;
  }
}

/* Words of codes whose products with 8-bit elements can be added in 16 bits: an element is at most 127 in size, and a
 * sum has VB_SHORT products of each word. */
CPU_INLINE int q_run(rlx_dtype T) {
  const int most = VB_SHORT == 1 ? 2 : 1;
  if (!VB_SHORT) return 8;
  switch (T) { /* the largest code */
    case RLX_Q8_0:
    case RLX_Q8_K:
    case RLX_IQ4_NL:
    case RLX_IQ4_XS: return most;   /* 128 */
    case RLX_Q6_K: return 2 * most; /* 63 */
    case RLX_Q5_0:
    case RLX_Q5_1:
    case RLX_Q5_K:
    case RLX_MXFP4: return 4 * most; /* 31, 24 */
    default: return 8;               /* 15 */
  }
}

/* ---- codes ---- */

/* Each byte times 3^k, modulo 256: makes base-3 digit k the leading digit (decode_k.c describes the encoding). */
CPU_INLINE vi q_times_3(vi x, int k) {
  for (int i = 0; i < k; i++) x = vb_add(x, vb_add(x, x));
  return x;
}
/* The leading digit of each byte: the carry of one more multiplication by 3, which is 1 from 86 on and 2 from 171
 * on. */
CPU_INLINE vi q_leading_digit(vi x) { return vb_count(x, 86, 171); }
/* Part j, word i of tq1_0, with its digit leading: five digits of 32 bytes, five of 16, four of 4. */
CPU_INLINE vi q_tq1_0(const uint8_t *b, size_t r, int j, int i) {
  if (j < 5) return q_times_3(q_word(b, r, TQ1_0_QS, i), j);
  int k = 2 * (j - 5) + i / 4; /* digit of the 16 bytes; past the fifth, of the 4 */
  if (k < 5) return q_times_3(q_word(b, r, TQ1_0_QS, 8 + i % 4), k);
  return q_times_3(q_word(b, r, TQ1_0_QH, 0), i % 4);
}

#if !defined(VB_OWN_NIBBLES)
CPU_INLINE vi vb_nibbles(vi a, int half) { return q_and(q_shr(a, 4 * half), 0x0f0f0f0f); }
#endif

/* Four bits of word i % 4; the high ones for the upper half of 32. */
CPU_INLINE vi q_nibbles(const uint8_t *b, size_t r, int field, int i) {
  return vb_nibbles(q_word(b, r, field, i % 4), i / 4);
}
/* Bit i of each byte as bit 4: the fifth bits, in the order of quant_pack.c. */
CPU_INLINE vi q_fifth(const uint8_t *b, size_t r, int field, int i) {
  vi h = q_word(b, r, field, 0);
  return q_and(i < 4 ? q_shl(h, 4 - i) : q_shr(h, i - 4), 0x10101010);
}
/* Two bits of 32 bytes for 128 elements; part j of 8. */
CPU_INLINE vi q_two_bits(const uint8_t *b, size_t r, int field, int j, int i) {
  return q_and(q_shr(q_word(b, r, field, j / 4 * 8 + i), j % 4 * 2), 0x03030303);
}
/* One bit of 32 bytes for 256 elements. */
CPU_INLINE vi q_one_bit(const uint8_t *b, size_t r, int field, int j, int i) {
  return q_and(q_shr(q_word(b, r, field, i), j), 0x01010101);
}
/* Four bits of 32 bytes for 64 elements. */
CPU_INLINE vi q_four_bits(const uint8_t *b, size_t r, int field, int j, int i) {
  return vb_nibbles(q_word(b, r, field, j / 2 * 8 + i), j % 2);
}

/* Elements 4i .. 4i + 3 of part j. */
CPU_INLINE vi q_codes(rlx_dtype T, const uint8_t *b, size_t r, int j, int i) {
  const uint32_t flip = VB_SIGNED ? 0 : 0x80808080u;
  switch (T) {
    case RLX_Q4_0: return q_nibbles(b, r, Q4_0_QS, i);
    case RLX_Q4_1: return q_nibbles(b, r, Q4_1_QS, i);
    case RLX_Q5_0: return vi_or(q_nibbles(b, r, Q5_0_QS, i), q_fifth(b, r, Q5_0_QH, i));
    case RLX_Q5_1: return vi_or(q_nibbles(b, r, Q5_1_QS, i), q_fifth(b, r, Q5_1_QH, i));
    case RLX_Q8_0: return vi_xor(q_word(b, r, Q8_0_QS, i), vi_set((int32_t)flip));
    case RLX_Q8_K: return vi_xor(q_word(b, r, Q8_K_QS, 8 * j + i), vi_set((int32_t)flip));
    case RLX_IQ4_NL: return vb_lookup(rlx_iq4_levels, q_offset(T), q_nibbles(b, r, IQ4_NL_QS, i));
    case RLX_IQ4_XS: return vb_lookup(rlx_iq4_levels, q_offset(T), q_nibbles(b, r, IQ4_XS_QS + 16 * j, i));
    case RLX_MXFP4: return vb_lookup(rlx_mxfp4_levels, q_offset(T), q_nibbles(b, r, MXFP4_QS, i));
    case RLX_Q2_K: return q_two_bits(b, r, Q2_K_QS, j, i);
    case RLX_Q3_K: return vi_or(q_two_bits(b, r, Q3_K_QS, j, i), q_shl(q_one_bit(b, r, Q3_K_HMASK, j, i), 2));
    case RLX_Q4_K: return q_four_bits(b, r, Q4_K_QS, j, i);
    case RLX_Q5_K: return vi_or(q_four_bits(b, r, Q5_K_QS, j, i), q_shl(q_one_bit(b, r, Q5_K_QH, j, i), 4));
    case RLX_Q6_K: {
      vi low = vb_nibbles(q_word(b, r, Q6_K_QL, j / 4 * 16 + j % 2 * 8 + i), j % 4 / 2);
      return vi_or(low, q_shl(q_two_bits(b, r, Q6_K_QH, j, i), 4));
    }
    case RLX_TQ1_0: return q_leading_digit(q_tq1_0(b, r, j, i));
    default: return q_two_bits(b, r, TQ2_0_QS, j, i);
  }
}

/* ---- scales ---- */

/* Byte j % 4 of each word. */
CPU_INLINE vi q_byte(vi words, int j) { return q_and(q_shr(words, 8 * (j % 4)), 255); }

/* q4_k and q5_k: scales 0-3 and mins 0-3 are the low six bits of words 0 and 1. Of 4-7 the low four bits are in word 2,
 * the high two in the top bits of words 0 and 1. */
CPU_INLINE vi q_k_scale(const uint8_t *b, size_t r, int j) {
  vi first = q_word(b, r, Q4_K_SCALES, 0);
  if (j < 4) return q_byte(q_and(first, 0x3f3f3f3f), j);
  return q_byte(vi_or(q_and(q_word(b, r, Q4_K_SCALES, 2), 0x0f0f0f0f), q_and(q_shr(first, 2), 0x30303030)), j);
}
CPU_INLINE vi q_k_min(const uint8_t *b, size_t r, int j) {
  vi first = q_word(b, r, Q4_K_SCALES, 1);
  if (j < 4) return q_byte(q_and(first, 0x3f3f3f3f), j);
  vi low = q_and(q_shr(q_word(b, r, Q4_K_SCALES, 2), 4), 0x0f0f0f0f);
  return q_byte(vi_or(low, q_and(q_shr(first, 2), 0x30303030)), j);
}
/* q3_k, scale s of 16. */
CPU_INLINE vi q_3_scale(const uint8_t *b, size_t r, int s) {
  vi low = q_and(q_shr(q_word(b, r, Q3_K_SCALES, s / 4 % 2), s / 8 * 4), 0x0f0f0f0f);
  vi high = q_and(q_shr(q_word(b, r, Q3_K_SCALES, 2), s / 4 * 2), 0x03030303);
  return vi_sub(q_byte(vi_or(low, q_shl(high, 4)), s), vi_set(32));
}
/* 2^(e - 128) from its bits, subnormal for e below 2. */
CPU_INLINE vf q_mxfp4_scale(vi e) {
  vi small = vi_mul(vi_add(e, vi_set(1)), vi_set(0x00200000));
  return vf_from_bits(vi_select(vi_lt(e, vi_set(2)), small, vi_shl(vi_sub(e, vi_set(1)), 23)));
}

/* The integer scale of sub-block h of part j, if the type has one (q_has_sub_scale). */
CPU_INLINE vf q_sub_scale(rlx_dtype T, const uint8_t *b, size_t r, int j, int h) {
  switch (T) {
    case RLX_Q2_K: return vf_of_vi(q_and(q_u8(b, r, Q2_K_SCALES, 2 * j + h), 15));
    case RLX_Q3_K: return vf_of_vi(q_3_scale(b, r, 2 * j + h));
    case RLX_Q6_K:
      return vf_of_vi(vi_load_i8((const int8_t *)b + (size_t)(CPU_QUANT_ROWS * (Q6_K_SCALES + 2 * j + h)) + r));
    case RLX_IQ4_XS: {
      vi low = q_and(q_shr(q_word(b, r, IQ4_XS_SCALES_L, 0), 4 * j), 15);
      vi high = q_and(q_shr(q_u16(b, r, IQ4_XS_SCALES_H), 2 * j), 3);
      return vf_of_vi(vi_sub(vi_or(low, q_shl(high, 4)), vi_set(32)));
    }
    default: return vf_of_vi(q_k_scale(b, r, j));
  }
}
CPU_INLINE vf q_sub_min(rlx_dtype T, const uint8_t *b, size_t r, int j, int h) {
  return vf_of_vi(T == RLX_Q2_K ? q_shr(q_u8(b, r, Q2_K_SCALES, 2 * j + h), 4) : q_k_min(b, r, j));
}
/* The scale of the block. */
CPU_INLINE vf q_scale(rlx_dtype T, const uint8_t *b, size_t r) {
  switch (T) {
    case RLX_MXFP4: return q_mxfp4_scale(q_u8(b, r, MXFP4_E, 0));
    case RLX_Q8_K: return vf_from_bits(q_word(b, r, Q8_K_D, 0));
    case RLX_Q2_K: return q_f16(b, r, Q2_K_D);
    case RLX_Q3_K: return q_f16(b, r, Q3_K_D);
    case RLX_Q6_K: return q_f16(b, r, Q6_K_D);
    case RLX_TQ1_0: return q_f16(b, r, TQ1_0_D);
    case RLX_TQ2_0: return q_f16(b, r, TQ2_0_D);
    default: return q_f16(b, r, 0); /* the first field */
  }
}
/* What is added per element (q4_1, q5_1), or the scale of the mins, which are subtracted. */
CPU_INLINE vf q_min(rlx_dtype T, const uint8_t *b, size_t r) { return q_f16(b, r, T == RLX_Q2_K ? Q2_K_DMIN : 2); }

#endif
