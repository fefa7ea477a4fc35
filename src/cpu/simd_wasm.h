/* 4 lanes: WebAssembly's SIMD128, with or without relaxed SIMD. Included by simd.h, which says what the names mean.
 *
 * A module is validated as a whole, so relaxed SIMD is a second module and not a choice at run time. It gives two
 * things: multiply-add in one instruction, rounded once or twice as the machine likes, and products of bytes added in
 * pairs, where one factor must be in 0 .. 127 (i7).
 *
 * WebAssembly has no instructions for f16. Both conversions are integer arithmetic with one float operation, which
 * rounds or quiets a NaN; they agree with base/half.c. */
#include <wasm_simd128.h>

#define VF_LANES 4
#define VF_REGISTERS 16   /* of x86-64, which leaves no more than NEON */
#define VF_FMA_IS_EXACT 0 /* vf_fma may round twice */
#define VF_TILE_ROWS 4    /* rows of a register tile with two vectors each */
#define VF_SUMS 8         /* of more, engines keep some in memory, at half the speed (docs/performance.md) */
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef vi vm;
typedef uint32_t vu_ __attribute__((vector_size(16)));

/* ---- loads and stores ---- */

CPU_INLINE vf vf_load(const float *p) { return (vf)wasm_v128_load(p); }
CPU_INLINE void vf_store(float *p, vf v) { wasm_v128_store(p, (v128_t)v); }
CPU_INLINE vf vf_load_n(const float *p, size_t n) {
  if (n >= 4) return vf_load(p);
  if (n == 3) return (vf)wasm_v128_load32_lane(p + 2, wasm_v128_load64_zero(p), 2);
  if (n == 2) return (vf)wasm_v128_load64_zero(p);
  return n == 1 ? (vf)wasm_v128_load32_zero(p) : (vf){0, 0, 0, 0};
}
CPU_INLINE void vf_store_n(float *p, vf v, size_t n) {
  if (n >= 4) wasm_v128_store(p, (v128_t)v);
  else if (n >= 2) wasm_v128_store64_lane(p, (v128_t)v, 0);
  if (n == 3) wasm_v128_store32_lane(p + 2, (v128_t)v, 2);
  else if (n == 1) wasm_v128_store32_lane(p, (v128_t)v, 0);
}
CPU_INLINE vi vi_load(const int32_t *p) { return (vi)wasm_v128_load(p); }
CPU_INLINE void vi_store(int32_t *p, vi v) { wasm_v128_store(p, (v128_t)v); }
CPU_INLINE vi vi_load_u16(const uint16_t *p) { return (vi)wasm_u32x4_load16x4(p); }
CPU_INLINE void vi_store_u16(uint16_t *p, vi v) { /* the low 16 bits of each lane */
  wasm_v128_store64_lane(p, wasm_i16x8_shuffle((v128_t)v, (v128_t)v, 0, 2, 4, 6, 0, 2, 4, 6), 0);
}
CPU_INLINE vi vi_load_i8(const int8_t *p) {
  return (vi)wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p)));
}
CPU_INLINE vi vi_load_u8(const uint8_t *p) {
  return (vi)wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p)));
}

/* ---- arithmetic ---- */

CPU_INLINE vf vf_set(float x) { return (vf)wasm_f32x4_splat(x); }
CPU_INLINE vf vf_zero(void) { return (vf){0, 0, 0, 0}; }
CPU_INLINE vi vi_set(int32_t x) { return (vi)wasm_i32x4_splat(x); }
CPU_INLINE vi vf_bits(vf a) { return (vi)a; }
CPU_INLINE vf vf_from_bits(vi a) { return (vf)a; }
CPU_INLINE vm vm_first(size_t n) { return (vi){0, 1, 2, 3} < vi_set((int32_t)n); }
CPU_INLINE vf vf_add(vf a, vf b) { return a + b; }
CPU_INLINE vf vf_sub(vf a, vf b) { return a - b; }
CPU_INLINE vf vf_mul(vf a, vf b) { return a * b; }
CPU_INLINE vf vf_div(vf a, vf b) { return a / b; }
/* pmax(x, y) is x < y ? y : x: with b first it is b where either is NaN. */
CPU_INLINE vf vf_max(vf a, vf b) { return (vf)wasm_f32x4_pmax((v128_t)b, (v128_t)a); }
CPU_INLINE vf vf_min(vf a, vf b) { return (vf)wasm_f32x4_pmin((v128_t)b, (v128_t)a); }
CPU_INLINE vf vf_sqrt(vf a) { return (vf)wasm_f32x4_sqrt((v128_t)a); }
CPU_INLINE vf vf_round(vf a) { return (vf)wasm_f32x4_nearest((v128_t)a); }
CPU_INLINE vf vf_floor(vf a) { return (vf)wasm_f32x4_floor((v128_t)a); }
CPU_INLINE vf vf_ceil(vf a) { return (vf)wasm_f32x4_ceil((v128_t)a); }
#if defined(__wasm_relaxed_simd__)
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return (vf)wasm_f32x4_relaxed_madd((v128_t)a, (v128_t)b, (v128_t)c); }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return (vf)wasm_f32x4_relaxed_nmadd((v128_t)a, (v128_t)b, (v128_t)c); }
#else
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
#endif
CPU_INLINE vm vf_lt(vf a, vf b) { return a < b; }
CPU_INLINE vm vf_le(vf a, vf b) { return a <= b; }
CPU_INLINE vm vf_eq(vf a, vf b) { return a == b; }
CPU_INLINE vm vf_is_nan(vf a) { return a != a; }
CPU_INLINE vm vm_and(vm a, vm b) { return a & b; }
CPU_INLINE vm vm_or(vm a, vm b) { return a | b; }
CPU_INLINE vm vm_not(vm a) { return ~a; }
CPU_INLINE int vm_any(vm a) { return wasm_v128_any_true((v128_t)a); }
CPU_INLINE vi vi_select(vm m, vi t, vi f) {
#if defined(__wasm_relaxed_simd__) /* the mask's lanes are all ones or all zeros, for which it is exact */
  return (vi)wasm_i32x4_relaxed_laneselect((v128_t)t, (v128_t)f, (v128_t)m);
#else
  return (vi)wasm_v128_bitselect((v128_t)t, (v128_t)f, (v128_t)m);
#endif
}
CPU_INLINE vf vf_select(vm m, vf t, vf f) { return (vf)vi_select(m, (vi)t, (vi)f); }
/* Unsigned arithmetic, so that sums and products wrap as with the other sets. */
CPU_INLINE vi vi_add(vi a, vi b) { return (vi)((vu_)a + (vu_)b); }
CPU_INLINE vi vi_sub(vi a, vi b) { return (vi)((vu_)a - (vu_)b); }
CPU_INLINE vi vi_mul(vi a, vi b) { return (vi)((vu_)a * (vu_)b); }
CPU_INLINE vi vi_and(vi a, vi b) { return a & b; }
CPU_INLINE vi vi_or(vi a, vi b) { return a | b; }
CPU_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
CPU_INLINE vi vi_shl(vi a, int k) { return (vi)((vu_)a << k); }
CPU_INLINE vi vi_shr(vi a, int k) { return (vi)((vu_)a >> k); }
CPU_INLINE vi vi_sar(vi a, int k) { return a >> k; }
CPU_INLINE vm vi_lt(vi a, vi b) { return a < b; }
CPU_INLINE vm vi_eq(vi a, vi b) { return a == b; }
/* Values that do not fit give INT32_MIN, as on x86; the instruction saturates and makes 0 of NaN. */
CPU_INLINE vi vi_trunc(vf a) {
  vm fits = vm_and(vf_le(vf_set(-2147483648.0f), a), vf_lt(a, vf_set(2147483648.0f)));
  return vi_select(fits, (vi)wasm_i32x4_trunc_sat_f32x4((v128_t)a), vi_set(INT32_MIN));
}
CPU_INLINE vi vi_of_vf(vf a) { return vi_trunc(vf_round(a)); } /* to nearest */
CPU_INLINE vf vf_of_vi(vi a) { return (vf)wasm_f32x4_convert_i32x4((v128_t)a); }

/* ---- across lanes ---- */

#define VF_SWAP_(a, x, y, z, w) __builtin_shufflevector((a), (a), x, y, z, w)
CPU_INLINE float vf_sum(vf a) {
  vf b = a + VF_SWAP_(a, 2, 3, 0, 1);
  return b[0] + b[1];
}
CPU_INLINE float vf_hmax(vf a) {
  vf b = vf_max(a, VF_SWAP_(a, 2, 3, 0, 1));
  return b[0] > b[1] ? b[0] : b[1];
}
CPU_INLINE float vf_hmin(vf a) {
  vf b = vf_min(a, VF_SWAP_(a, 2, 3, 0, 1));
  return b[0] < b[1] ? b[0] : b[1];
}
CPU_INLINE int32_t vi_sum(vi a) {
  vi b = vi_add(a, VF_SWAP_(a, 2, 3, 0, 1));
  return (int32_t)((uint32_t)b[0] + (uint32_t)b[1]);
}

/* ---- f16 ---- */

/* The bits, sign-extended and shifted to their place in an f32: sign, exponent and fraction are right but for the
 * exponent's bias, 112 too small, which the product corrects; it is exact for subnormals too. */
CPU_INLINE vf vf_load_f16(const uint16_t *p) {
  const vi top = vi_set(0x0f800000);
  vi t = vi_and(vi_shl((vi)wasm_i32x4_load16x4(p), 13), vi_set((int32_t)0x8fffe000u));
  vm special = vi_eq(vi_and(t, top), top); /* infinity or NaN */
  return vf_mul(vf_from_bits(vi_or(t, vi_and(special, vi_set(0x7f800000)))), vf_set(0x1p112f));
}
/* Normal numbers are rounded by an addition to the bits, subnormal ones by adding 1/2, whose last bit is the smallest
 * f16. */
CPU_INLINE void vf_store_f16(uint16_t *p, vf v) {
  vi bits = vf_bits(v), size = vi_and(bits, vi_set(INT32_MAX)), odd = vi_and(vi_shr(size, 13), vi_set(1));
  vi normal = vi_shr(vi_add(vi_add(size, vi_set((int32_t)0xc8000fffu)), odd), 13);
  vi small = vi_sub(vf_bits(vf_add(vf_from_bits(size), vf_set(0.5f))), vi_set(0x3f000000));
  vi large = vi_set(0x7c00), nan = vi_or(vi_set(0x7e00), vi_and(vi_shr(size, 13), vi_set(0x3ff)));
  vi half = vi_select(vi_lt(size, vi_set(0x38800000)), small, normal);
  half = vi_select(vi_lt(vi_set(0x477fefff), size), large, half);
  half = vi_select(vi_lt(vi_set(0x7f800000), size), nan, half);
  vi_store_u16(p, vi_or(half, vi_and(vi_shr(bits, 16), vi_set(0x8000))));
}

#define VX_FEW 1
#define VX_MANY 1

/* ---- bytes, four per lane ---- */

CPU_INLINE vi vb_add(vi a, vi b) { return (vi)wasm_i8x16_add((v128_t)a, (v128_t)b); }
CPU_INLINE vi vb_count(vi a, int first, int second) {
  v128_t one = wasm_u8x16_ge((v128_t)a, wasm_u8x16_splat((uint8_t)first));
  return (vi)wasm_i8x16_neg(wasm_i8x16_add(one, wasm_u8x16_ge((v128_t)a, wasm_u8x16_splat((uint8_t)second))));
}
CPU_INLINE vi vb_lookup(const int8_t *table, int offset, vi nibbles) {
  v128_t t = wasm_i8x16_add(wasm_v128_load(table), wasm_i8x16_splat((int8_t)offset));
#if defined(__wasm_relaxed_simd__)
  return (vi)wasm_i8x16_relaxed_swizzle(t, (v128_t)nibbles);
#else
  return (vi)wasm_i8x16_swizzle(t, (v128_t)nibbles);
#endif
}

#define VB_UNROLLS 0
#define VB_EXPANDS 1
#define VB_SIGNED 1
#define VB_EACH_TILE(X, ...) X(__VA_ARGS__, 1) X(__VA_ARGS__, 4)
#define VB_VECTORS(tile) ((tile) == 1 ? 4 : 2)
#define VB_MAX_BYTES 2
#if defined(__wasm_relaxed_simd__)
/* Codes below 128 are the i7 factor, and an element of a row is a signed byte. An 8-bit code is the signed factor, and
 * an element is split into its positive and its negative part, of which one is 0: both are i7, and the difference of
 * the two sums of a pair fits 16 bits. */
#define VB_SHORT 2
CPU_INLINE size_t vb_bytes(bool is_8) { return is_8 ? 2 : 1; }
typedef struct vb {
  v128_t q, minus;
} vb;
typedef vi vc;
typedef v128_t vs; /* 8 sums of 16 bits */
CPU_INLINE vc vc_of(bool is_8, vi codes) { return (void)is_8, codes; }
CPU_INLINE vb vb_load(bool is_8, const uint8_t *p) {
  if (!is_8) return (vb){.q = wasm_v128_load32_splat(p)};
  return (vb){.q = wasm_v128_load32_splat(p), .minus = wasm_v128_load32_splat(p + 4)};
}
CPU_INLINE void vb_store(bool is_8, uint8_t *p, vi elements) {
  v128_t zero = wasm_i32x4_splat(0), x = (v128_t)elements;
  v128_t low = is_8 ? wasm_i32x4_max(x, zero) : x, high = is_8 ? wasm_i32x4_max(wasm_i32x4_neg(x), zero) : zero;
  v128_t bytes = wasm_i16x8_narrow_i32x4(low, high);
  bytes = wasm_i8x16_narrow_i16x8(bytes, bytes);
  if (is_8) wasm_v128_store64_lane(p, bytes, 0);
  else wasm_v128_store32_lane(p, bytes, 0);
}
CPU_INLINE vs vs_begin(vi sum) { return (void)sum, wasm_i32x4_splat(0); }
CPU_INLINE vs vs_dot(bool is_8, vs s, vc codes, vb q) {
  if (!is_8) return wasm_i16x8_add(s, wasm_i16x8_relaxed_dot_i8x16_i7x16(q.q, (v128_t)codes));
  v128_t plus = wasm_i16x8_relaxed_dot_i8x16_i7x16((v128_t)codes, q.q);
  return wasm_i16x8_add(s, wasm_i16x8_sub(plus, wasm_i16x8_relaxed_dot_i8x16_i7x16((v128_t)codes, q.minus)));
}
CPU_INLINE vi vs_end(vi sum, vs s) { return vi_add(sum, (vi)wasm_i32x4_extadd_pairwise_i16x8(s)); }
#else
/* Products of 16 bits, added in pairs: bytes 0 and 2, and 1 and 3, of a lane. A row stores its elements so. */
#define VB_SHORT 0
CPU_INLINE size_t vb_bytes(bool is_8) { return (void)is_8, 2; }
typedef struct vb {
  v128_t even, odd;
} vb;
typedef vb vc;
typedef vi vs;
CPU_INLINE vc vc_of(bool is_8, vi codes) {
  v128_t c = (v128_t)codes;
  if (is_8) return (vc){wasm_i16x8_shr(wasm_i16x8_shl(c, 8), 8), wasm_i16x8_shr(c, 8)};
  return (vc){wasm_v128_and(c, wasm_i16x8_splat(255)), wasm_u16x8_shr(c, 8)};
}
CPU_INLINE vb vb_load(bool is_8, const uint8_t *p) {
  (void)is_8;
  return (vb){wasm_v128_load32_splat(p), wasm_v128_load32_splat(p + 4)};
}
CPU_INLINE void vb_store(bool is_8, uint8_t *p, vi elements) {
  v128_t x = (v128_t)elements;
  (void)is_8;
  wasm_v128_store64_lane(p, wasm_i16x8_shuffle(x, x, 0, 4, 2, 6, 0, 4, 2, 6), 0);
}
CPU_INLINE vs vs_begin(vi sum) { return sum; }
CPU_INLINE vs vs_dot(bool is_8, vs s, vc c, vb q) {
  (void)is_8;
  return vi_add(vi_add(s, (vi)wasm_i32x4_dot_i16x8(c.even, q.even)), (vi)wasm_i32x4_dot_i16x8(c.odd, q.odd));
}
CPU_INLINE vi vs_end(vi sum, vs s) { return (void)sum, s; }
#endif
