/* Vectors of f32 and i32 with one set of names for every instruction set. Only for *.simd.c files, which are compiled
 * once per set: VF_LANES and the definitions (simd_*.h) change, the loops do not. A loop asks for a property by its
 * name here, never for an instruction set.
 *
 *     vf  floats    vi  32-bit integers    vm  a mask, one truth value per lane
 *
 * Loads and stores need no alignment. The _n forms access only the first n lanes (0 <= n <= VF_LANES); the others read
 * as 0. vf_fma(a, b, c) is a * b + c, rounded once where the set has FMA. vf_max(a, b) is b where either is NaN, as on
 * x86; kernels that must propagate NaN do so explicitly.
 *
 * Properties: VF_LANES; VF_REGISTERS, 16 or 32; VF_TILE_ROWS, the rows of a register tile of two vectors each (gemm);
 * VF_SUMS, how many sums a loop keeps in registers, by default three quarters of them; VF_FMA_IS_EXACT, whether vf_fma
 * always rounds once.
 *
 * Some sets multiply by one lane of a register, so that a load serves several of them. va x = va_load(p) is VF_QUAD
 * floats, and va_fma(x, i, b, c) is p[i] * b + c in every lane, for a constant i. vf_load_two_as loads two vectors that
 * follow each other.
 *
 * Bytes. A vi is also four bytes per lane: vb_add wraps, vb_lookup reads a table of 16 by the bytes (0 .. 15) and adds
 * an offset, vb_nibbles takes the low or the high four bits of each, vb_count counts how many of two rising limits a
 * byte reaches. A sum of products of codes (bytes of a weight) with four elements of a row, in every lane, is a vs:
 *
 *     vt sum = vt_begin(start);
 *     vs s = vs_begin(sum);                   as often as the sum fits: s = vw_dot(is_8, s, vc_of(is_8, codes), q, i);
 *     sum = vs_end(sum, s);
 *     vt_end(sum)
 *
 * Here q is a vw, 16 elements of a row, of which word i (constant) is multiplied. VB_SHORT: how many products of a word
 * are added in 16 bits, which they must fit until vs_end; 0: none. Codes are unsigned and below 128, or of 8 bits
 * (is_8): signed, or where VB_SIGNED is 0 unsigned. vb_store writes VF_LANES elements of a row as vb_load reads them,
 * in vb_bytes(is_8) bytes each (at most VB_MAX_BYTES). VB_EACH_TILE: the tiles of 1, 4 and 8 rows that fit in
 * registers, and VB_VECTORS(tile) how many vectors of codes with each. VB_UNROLLS: whether to unroll a super-block, and
 * VB_FORGETS a statement between its parts.
 *
 * VB_EXPANDS: whether many rows are worth storing a weight's codes and scales as they are multiplied (a vc, floats),
 * and VB_EXPANDED_VECTORS how many vectors of them are multiplied with four rows.
 *
 * VB_PAIRS: sums of two rows of elements (q) with eight codes of two rows of a weight. vp_codes(first, second, half)
 * are two words of the rows of half a vector, vp_load(a, b, i) eight of 16 elements of two rows, s = vp_dot(s, q,
 * codes) a sum for half a vector, and vp_row(low, high, row) the sums of one of the rows with the whole vector. */
#ifndef RLX_CPU_SIMD_H
#define RLX_CPU_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "cpu/cpu.h"

#define CPU_INLINE static inline __attribute__((always_inline, unused))

/* VF_UNROLL: loops with constant bounds, to be unrolled: otherwise an array of sums stays in memory (not under a
 * sanitizer, whose checks would make compiling take minutes). VF_LOOP: loops that must not be unrolled. clang's warning
 * about loops that it could not unroll is disabled. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VF_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define VF_SANITIZED
#endif
#endif
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define VF_LOOP _Pragma("clang loop unroll(disable)")
#else
#define VF_LOOP _Pragma("GCC unroll 1")
#endif
#if defined(VF_SANITIZED)
#define VF_UNROLL VF_LOOP
#elif defined(__clang__)
#define VF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VF_UNROLL _Pragma("GCC unroll 32")
#endif

/* Lanes of a and after them those of b, by constant numbers. `index`: vectors of integers as wide as their elements, by
 * which gcc before 12 is given the numbers. */
#if defined(__clang__) || __GNUC__ >= 12
#define VX_SHUFFLE(index, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define VX_SHUFFLE(index, a, b, ...) __builtin_shuffle(a, b, (index){__VA_ARGS__})
#endif

/* 16 bytes; vx_load2 and vx_load4 are as many of them, `step` bytes apart, in one vector (VX_FEW, VX_MANY). */
typedef uint8_t vx_bytes_ __attribute__((vector_size(16)));
CPU_INLINE vx_bytes_ vx_load1(const unsigned char *p, ptrdiff_t step) {
  vx_bytes_ v;
  (void)step;
  memcpy(&v, p, sizeof v);
  return v;
}

#if defined(__AVX512F__)
#include "cpu/simd_avx512.h"
#elif defined(__AVX2__)
#include "cpu/simd_avx2.h"
#elif defined(__wasm_simd128__)
#include "cpu/simd_wasm.h"
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include "cpu/simd_neon.h"
#else
#include "cpu/simd_any.h"
#endif

/* ---- common to all sets ---- */

#if !defined(VF_SUMS)
#define VF_SUMS (VF_REGISTERS / 4 * 3)
#endif

#if VB_MAX_BYTES == 1
typedef vi vc;
CPU_INLINE vc vc_of(bool is_8, vi codes) { return (void)is_8, codes; }
CPU_INLINE vb vb_load(bool is_8, const uint8_t *p) {
  int32_t four;
  (void)is_8;
  memcpy(&four, p, sizeof four);
  return vi_set(four);
}
#endif

#if !defined(VB_OWN_TOTAL)
typedef vi vt;
CPU_INLINE vt vt_begin(vi sum) { return sum; }
CPU_INLINE vi vt_end(vt sum) { return sum; }
#endif

#if !defined(VB_OWN_WORDS)
typedef const uint8_t *vw;
CPU_INLINE vw vw_load(bool is_8, const uint8_t *p) { return (void)is_8, p; }
CPU_INLINE vs vw_dot(bool is_8, vs s, vc codes, vw q, int i) {
  return vs_dot(is_8, s, codes, vb_load(is_8, q + vb_bytes(is_8) * 4 * (size_t)i));
}
#endif

#if !defined(VB_EXPANDED_VECTORS)
#define VB_EXPANDED_VECTORS 1
#endif
#if !defined(VB_PAIRS)
#define VB_PAIRS 0
#endif

#if !defined(VB_FORGETS)
#define VB_FORGETS (void)0
#endif

enum { VF_QUAD = 4 };
#if !defined(VF_OWN_LANES)
typedef const float *va;
CPU_INLINE va va_load(const float *p) { return p; }
CPU_INLINE vf va_fma(va x, int i, vf b, vf c) { return vf_fma(vf_set(x[i]), b, c); }
#endif

#if !defined(VF_OWN_SIGN)
CPU_INLINE vf vf_neg(vf a) { return vf_from_bits(vi_xor(vf_bits(a), vi_set(INT32_MIN))); }
CPU_INLINE vf vf_abs(vf a) { return vf_from_bits(vi_and(vf_bits(a), vi_set(INT32_MAX))); }
#endif

#if !defined(VF_OWN_SCALE)
/* 1 / x for x near 1 .. 1e4, to about the last bit. Where the set has a good first approximation, this is faster than
 * dividing. */
CPU_INLINE vf vf_reciprocal(vf x) { return vf_div(vf_set(1), x); }
/* The nearest integer to |x| < 2^22, as a float: adding 1.5 2^23 leaves no bits for a fraction, so the sum rounds. */
CPU_INLINE vf vf_nearest(vf x) { return vf_sub(vf_add(x, vf_set(12582912.0f)), vf_set(12582912.0f)); }
/* y 2^n for an integral n in -300..300 and y near 1, in two steps, so that the result may be denormal or infinite. */
CPU_INLINE vf vf_scale(vf y, vf n) {
  vi i = vi_sub(vf_bits(vf_add(n, vf_set(12582912.0f))), vi_set(0x4b400000));
  vi half = vi_sar(i, 1), bias = vi_set(127);
  y = vf_mul(y, vf_from_bits(vi_shl(vi_add(half, bias), 23)));
  return vf_mul(y, vf_from_bits(vi_shl(vi_add(vi_sub(i, half), bias), 23)));
}
#endif

#if !defined(VF_OWN_BF16_LOAD)
CPU_INLINE vf vf_load_bf16(const uint16_t *p) { return vf_from_bits(vi_shl(vi_load_u16(p), 16)); }
#endif
/* Rounds to nearest even; NaN stays NaN. */
CPU_INLINE vi vi_bf16_of_(vf v) {
  vi bits = vf_bits(v);
  vi odd = vi_and(vi_shr(bits, 16), vi_set(1));
  vi rounded = vi_shr(vi_add(bits, vi_add(odd, vi_set(0x7fff))), 16);
  return vi_select(vf_is_nan(v), vi_or(vi_shr(bits, 16), vi_set(0x40)), rounded);
}
#if !defined(VF_OWN_BF16_STORE)
CPU_INLINE void vf_store_bf16(uint16_t *p, vf v) { vi_store_u16(p, vi_bf16_of_(v)); }
#endif

/* The first n lanes of 16-bit floats, through a small buffer. */
CPU_INLINE vf vf_load_f16_n(const uint16_t *p, size_t n) {
  uint16_t b[VF_LANES] = {0};
  memcpy(b, p, n * sizeof *b);
  return vf_load_f16(b);
}
CPU_INLINE vf vf_load_bf16_n(const uint16_t *p, size_t n) {
  uint16_t b[VF_LANES] = {0};
  memcpy(b, p, n * sizeof *b);
  return vf_load_bf16(b);
}
CPU_INLINE void vf_store_f16_n(uint16_t *p, vf v, size_t n) {
  uint16_t b[VF_LANES];
  vf_store_f16(b, v);
  memcpy(p, b, n * sizeof *b);
}
CPU_INLINE void vf_store_bf16_n(uint16_t *p, vf v, size_t n) {
  uint16_t b[VF_LANES];
  vf_store_bf16(b, v);
  memcpy(p, b, n * sizeof *b);
}

/* f32, f16 or bf16 in memory from element `at` on. `type` is meant to be a compile-time constant after inlining. */
CPU_INLINE vf vf_load_as(rlx_dtype type, const void *p, size_t at) {
  if (type == RLX_F16) return vf_load_f16((const uint16_t *)p + at);
  if (type == RLX_BF16) return vf_load_bf16((const uint16_t *)p + at);
  return vf_load((const float *)p + at);
}
/* Elements at, at + 1, .. 2 VF_LANES of them. */
CPU_INLINE void vf_load_two_as(rlx_dtype type, const void *p, size_t at, vf *low, vf *high) {
#if defined(VF_OWN_TWO)
  if (type == RLX_F16) {
    vf_load_two_f16((const uint16_t *)p + at, low, high);
    return;
  }
  if (type == RLX_BF16) {
    vf_load_two_bf16((const uint16_t *)p + at, low, high);
    return;
  }
#endif
  *low = vf_load_as(type, p, at), *high = vf_load_as(type, p, at + VF_LANES);
}
CPU_INLINE vf vf_load_as_n(rlx_dtype type, const void *p, size_t at, size_t n) {
  if (type == RLX_F16) return vf_load_f16_n((const uint16_t *)p + at, n);
  if (type == RLX_BF16) return vf_load_bf16_n((const uint16_t *)p + at, n);
  return vf_load_n((const float *)p + at, n);
}
CPU_INLINE void vf_store_as(rlx_dtype type, void *p, size_t at, vf v) {
  if (type == RLX_F16) vf_store_f16((uint16_t *)p + at, v);
  else if (type == RLX_BF16) vf_store_bf16((uint16_t *)p + at, v);
  else vf_store((float *)p + at, v);
}
CPU_INLINE void vf_store_as_n(rlx_dtype type, void *p, size_t at, vf v, size_t n) {
  if (type == RLX_F16) vf_store_f16_n((uint16_t *)p + at, v, n);
  else if (type == RLX_BF16) vf_store_bf16_n((uint16_t *)p + at, v, n);
  else vf_store_n((float *)p + at, v, n);
}

/* A single element of the same. */
CPU_INLINE float vf_get_as(rlx_dtype type, const void *p, size_t at) {
  if (type == RLX_F32) return ((const float *)p)[at];
  uint16_t half = ((const uint16_t *)p)[at];
  return type == RLX_F16 ? rlx_f16_to_f32(half) : rlx_bf16_to_f32(half);
}
CPU_INLINE void vf_put_as(rlx_dtype type, void *p, size_t at, float x) {
  if (type == RLX_F32) ((float *)p)[at] = x;
  else ((uint16_t *)p)[at] = type == RLX_F16 ? rlx_f32_to_f16(x) : rlx_f32_to_bf16(x);
}

/* ---- shuffles of two vectors: VF_SHUFFLE(a, b, VF_EVEN) ---- */

#define VF_SHUFFLE(a, b, ...) VX_SHUFFLE(vf_lanes_, a, b, __VA_ARGS__)
typedef int32_t vf_lanes_ __attribute__((vector_size(4 * VF_LANES)));
/* For every lane l: VF_LIST_(X, d) is X(0, d), X(1, d), .. */
#define VF_LIST_4_(X, l, d) X(l, d), X((l) + 1, d), X((l) + 2, d), X((l) + 3, d)
#define VF_LIST_8_(X, l, d) VF_LIST_4_(X, l, d), VF_LIST_4_(X, (l) + 4, d)
#if VF_LANES == 16
#define VF_LIST_(X, d) VF_LIST_8_(X, 0, d), VF_LIST_8_(X, 8, d)
#elif VF_LANES == 8
#define VF_LIST_(X, d) VF_LIST_8_(X, 0, d)
#else
#define VF_LIST_(X, d) VF_LIST_4_(X, 0, d)
#endif
#define VF_STEP_2_(l, d) (2 * (l) + (d))
#define VF_PAIR_(l, d) ((l) / 2 + (d) + (l) % 2 * VF_LANES)
#define VF_NEXT_(l, d) ((l) + (d))
#define VF_EVEN VF_LIST_(VF_STEP_2_, 0)
#define VF_ODD VF_LIST_(VF_STEP_2_, 1)
#define VF_LOW VF_LIST_(VF_PAIR_, 0)               /* the low halves interleaved */
#define VF_HIGH VF_LIST_(VF_PAIR_, (VF_LANES / 2)) /* the high halves */
#define VF_FROM(k) VF_LIST_(VF_NEXT_, k)           /* lanes k and on of a, then of b */

/* Transposes VF_LANES vectors in log2 stages: at distance d, lanes whose index has bit d are swapped with vectors whose
 * index has it. */
#define VF_SWAP_A_(l, d) ((l) & (d) ? VF_LANES + (l) - (d) : (l))
#define VF_SWAP_B_(l, d) ((l) & (d) ? VF_LANES + (l) : (l) + (d))
#define VF_SWAP_STAGE_(d)                                     \
  for (int i = 0; i < VF_LANES; i++)                          \
    if (!(i & (d))) {                                         \
      vf a = r[i], b = r[i + (d)];                            \
      r[i] = VF_SHUFFLE(a, b, VF_LIST_(VF_SWAP_A_, d));       \
      r[i + (d)] = VF_SHUFFLE(a, b, VF_LIST_(VF_SWAP_B_, d)); \
    }
CPU_INLINE void vf_transpose(vf r[VF_LANES]) {
#if VF_LANES == 16
  VF_SWAP_STAGE_(8)
#endif
#if VF_LANES >= 8
  VF_SWAP_STAGE_(4)
#endif
  VF_SWAP_STAGE_(2)
  VF_SWAP_STAGE_(1)
}

#endif
