/* 16 lanes: AVX-512 F, BW, VL, DQ, VNNI. Included by simd.h, which says what the names mean. */
#include <immintrin.h>
#define VF_LANES 16
#define VF_REGISTERS 32
#define VF_FMA_IS_EXACT 1
#define VF_TILE_ROWS 14 /* rows of a register tile with two vectors each */
typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;
CPU_INLINE vm vm_first(size_t n) { return (vm)((1u << n) - 1u); }
CPU_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
CPU_INLINE void vf_store(float *p, vf v) { _mm512_storeu_ps(p, v); }
CPU_INLINE vf vf_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(vm_first(n), p); }
CPU_INLINE void vf_store_n(float *p, vf v, size_t n) { _mm512_mask_storeu_ps(p, vm_first(n), v); }
CPU_INLINE vf vf_set(float x) { return _mm512_set1_ps(x); }
CPU_INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
CPU_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
CPU_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
CPU_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
CPU_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
CPU_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
CPU_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
CPU_INLINE vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a * b */
CPU_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, 8); }           /* ties to even */
CPU_INLINE vf vf_floor(vf a) { return _mm512_roundscale_ps(a, 9); }
CPU_INLINE vf vf_ceil(vf a) { return _mm512_roundscale_ps(a, 10); }
CPU_INLINE vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
CPU_INLINE vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
CPU_INLINE vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
CPU_INLINE vm vf_is_nan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
CPU_INLINE vm vm_and(vm a, vm b) { return (vm)(a & b); }
CPU_INLINE vm vm_or(vm a, vm b) { return (vm)(a | b); }
CPU_INLINE vm vm_not(vm a) { return (vm)~a; }
CPU_INLINE int vm_any(vm a) { return a != 0; }
CPU_INLINE vf vf_select(vm m, vf t, vf f) { return _mm512_mask_blend_ps(m, f, t); }
CPU_INLINE vi vi_select(vm m, vi t, vi f) { return _mm512_mask_blend_epi32(m, f, t); }
CPU_INLINE vi vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
CPU_INLINE void vi_store(int32_t *p, vi v) { _mm512_storeu_si512(p, v); }
CPU_INLINE vi vi_set(int32_t x) { return _mm512_set1_epi32(x); }
CPU_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
CPU_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
CPU_INLINE vi vi_mul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
CPU_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
CPU_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
CPU_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
#define vi_shl(a, k) _mm512_slli_epi32((a), (k))
#define vi_shr(a, k) _mm512_srli_epi32((a), (k)) /* logical */
#define vi_sar(a, k) _mm512_srai_epi32((a), (k)) /* arithmetic */
CPU_INLINE vm vi_lt(vi a, vi b) { return _mm512_cmplt_epi32_mask(a, b); }
CPU_INLINE vm vi_eq(vi a, vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
CPU_INLINE vi vi_of_vf(vf a) { return _mm512_cvtps_epi32(a); } /* to nearest */
CPU_INLINE vi vi_trunc(vf a) { return _mm512_cvttps_epi32(a); }
CPU_INLINE vf vf_of_vi(vi a) { return _mm512_cvtepi32_ps(a); }
CPU_INLINE vi vf_bits(vf a) { return _mm512_castps_si512(a); }
CPU_INLINE vf vf_from_bits(vi a) { return _mm512_castsi512_ps(a); }
CPU_INLINE float vf_sum(vf a) { return _mm512_reduce_add_ps(a); }
CPU_INLINE float vf_hmax(vf a) { return _mm512_reduce_max_ps(a); }
CPU_INLINE float vf_hmin(vf a) { return _mm512_reduce_min_ps(a); }
CPU_INLINE vf vf_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
CPU_INLINE void vf_store_f16(uint16_t *p, vf v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
CPU_INLINE vi vi_load_u16(const uint16_t *p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
CPU_INLINE void vi_store_u16(uint16_t *p, vi v) { /* the low 16 bits of each lane */
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(v));
}
CPU_INLINE vi vi_load_i8(const int8_t *p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
CPU_INLINE vi vi_load_u8(const uint8_t *p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
CPU_INLINE int32_t vi_sum(vi a) { return _mm512_reduce_add_epi32(a); }

#define VF_OWN_SCALE
CPU_INLINE vf vf_reciprocal(vf x) {
  vf y = _mm512_rcp14_ps(x);
  return vf_fma(y, vf_fnma(x, y, vf_set(1)), y);
}
CPU_INLINE vf vf_nearest(vf x) { return vf_round(x); }
CPU_INLINE vf vf_scale(vf y, vf n) { return _mm512_scalef_ps(y, n); }

#define VX_FEW 2
#define VX_MANY 4
CPU_INLINE __m256i vx_load2(const unsigned char *p, ptrdiff_t step) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)vx_load1(p, step)), (__m128i)vx_load1(p + step, step),
                                 1);
}
CPU_INLINE __m512i vx_load4(const unsigned char *p, ptrdiff_t step) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(vx_load2(p, step)), vx_load2(p + 2 * step, step), 1);
}

/* ---- bytes, four per lane ---- */

CPU_INLINE vi vb_add(vi a, vi b) { return _mm512_add_epi8(a, b); }
CPU_INLINE vi vb_count(vi a, int first, int second) {
  const __m512i one = _mm512_set1_epi8(1);
  __m512i n = _mm512_maskz_mov_epi8(_mm512_cmpge_epu8_mask(a, _mm512_set1_epi8((char)first)), one);
  return _mm512_mask_add_epi8(n, _mm512_cmpge_epu8_mask(a, _mm512_set1_epi8((char)second)), n, one);
}
CPU_INLINE vi vb_lookup(const int8_t *table, int offset, vi nibbles) {
  __m128i t = _mm_add_epi8(_mm_loadu_si128((const __m128i *)(const void *)table), _mm_set1_epi8((char)offset));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), nibbles);
}

/* One instruction for four products per lane: unsigned codes of all 8 bits, signed elements. */
#define VB_UNROLLS 1
#define VB_EXPANDS 0
#define VB_SIGNED 0
#define VB_SHORT 0
#define VB_MAX_BYTES 1
CPU_INLINE size_t vb_bytes(bool is_8) { return (void)is_8, 1; }
#define VB_EACH_TILE(X, ...) X(__VA_ARGS__, 1) X(__VA_ARGS__, 4) X(__VA_ARGS__, 8)
#define VB_VECTORS(tile) 1
typedef vi vb;
typedef vi vs;
CPU_INLINE void vb_store(bool is_8, uint8_t *p, vi elements) {
  (void)is_8;
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(elements));
}
CPU_INLINE vs vs_begin(vi sum) { return sum; }
CPU_INLINE vs vs_dot(bool is_8, vs s, vi codes, vb q) { return (void)is_8, _mm512_dpbusd_epi32(s, codes, q); }
CPU_INLINE vi vs_end(vi sum, vs s) { return (void)sum, s; }
