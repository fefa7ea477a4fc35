/* 8 lanes: AVX2, FMA, F16C. Included by simd.h, which says what the names mean. */
#include <immintrin.h>
#define VF_LANES 8
#define VF_REGISTERS 16
#define VF_FMA_IS_EXACT 1
#define VF_TILE_ROWS 6 /* rows of a register tile with two vectors each */
typedef __m256 vf;
typedef __m256i vi;
typedef __m256i vm;
CPU_INLINE vm vm_first(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
CPU_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
CPU_INLINE void vf_store(float *p, vf v) { _mm256_storeu_ps(p, v); }
CPU_INLINE vf vf_load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, vm_first(n)); }
CPU_INLINE void vf_store_n(float *p, vf v, size_t n) { _mm256_maskstore_ps(p, vm_first(n), v); }
CPU_INLINE vf vf_set(float x) { return _mm256_set1_ps(x); }
CPU_INLINE vf vf_zero(void) { return _mm256_setzero_ps(); }
CPU_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
CPU_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
CPU_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
CPU_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
CPU_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
CPU_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
CPU_INLINE vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
CPU_INLINE vf vf_round(vf a) { return _mm256_round_ps(a, 8); }
CPU_INLINE vf vf_floor(vf a) { return _mm256_round_ps(a, 9); }
CPU_INLINE vf vf_ceil(vf a) { return _mm256_round_ps(a, 10); }
CPU_INLINE vm vf_lt(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
CPU_INLINE vm vf_le(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LE_OQ)); }
CPU_INLINE vm vf_eq(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
CPU_INLINE vm vf_is_nan(vf a) { return _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
CPU_INLINE vm vm_and(vm a, vm b) { return _mm256_and_si256(a, b); }
CPU_INLINE vm vm_or(vm a, vm b) { return _mm256_or_si256(a, b); }
CPU_INLINE vm vm_not(vm a) { return _mm256_xor_si256(a, _mm256_set1_epi32(-1)); }
CPU_INLINE int vm_any(vm a) { return _mm256_movemask_ps(_mm256_castsi256_ps(a)) != 0; }
CPU_INLINE vf vf_select(vm m, vf t, vf f) { return _mm256_blendv_ps(f, t, _mm256_castsi256_ps(m)); }
CPU_INLINE vi vi_select(vm m, vi t, vi f) { return _mm256_blendv_epi8(f, t, m); }
CPU_INLINE vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
CPU_INLINE void vi_store(int32_t *p, vi v) { _mm256_storeu_si256((__m256i *)(void *)p, v); }
CPU_INLINE vi vi_set(int32_t x) { return _mm256_set1_epi32(x); }
CPU_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
CPU_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
CPU_INLINE vi vi_mul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
CPU_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
CPU_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
CPU_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
#define vi_shl(a, k) _mm256_slli_epi32((a), (k))
#define vi_shr(a, k) _mm256_srli_epi32((a), (k))
#define vi_sar(a, k) _mm256_srai_epi32((a), (k))
CPU_INLINE vm vi_lt(vi a, vi b) { return _mm256_cmpgt_epi32(b, a); }
CPU_INLINE vm vi_eq(vi a, vi b) { return _mm256_cmpeq_epi32(a, b); }
CPU_INLINE vi vi_of_vf(vf a) { return _mm256_cvtps_epi32(a); }
CPU_INLINE vi vi_trunc(vf a) { return _mm256_cvttps_epi32(a); }
CPU_INLINE vf vf_of_vi(vi a) { return _mm256_cvtepi32_ps(a); }
CPU_INLINE vi vf_bits(vf a) { return _mm256_castps_si256(a); }
CPU_INLINE vf vf_from_bits(vi a) { return _mm256_castsi256_ps(a); }
CPU_INLINE float vf_sum(vf a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
CPU_INLINE float vf_hmax(vf a) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
CPU_INLINE float vf_hmin(vf a) {
  __m128 s = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  s = _mm_min_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_min_ss(s, _mm_movehdup_ps(s)));
}
CPU_INLINE vf vf_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
CPU_INLINE void vf_store_f16(uint16_t *p, vf v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
CPU_INLINE vi vi_load_u16(const uint16_t *p) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
CPU_INLINE void vi_store_u16(uint16_t *p, vi v) {
  vi low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
  __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storeu_si128((__m128i *)(void *)p, packed);
}
CPU_INLINE vi vi_load_i8(const int8_t *p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
CPU_INLINE vi vi_load_u8(const uint8_t *p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
CPU_INLINE int32_t vi_sum(vi a) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

#define VX_FEW 2
#define VX_MANY 2
CPU_INLINE __m256i vx_load2(const unsigned char *p, ptrdiff_t step) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256((__m128i)vx_load1(p, step)), (__m128i)vx_load1(p + step, step),
                                 1);
}

/* ---- bytes, four per lane ---- */

CPU_INLINE vi vb_add(vi a, vi b) { return _mm256_add_epi8(a, b); }
CPU_INLINE vi vb_count(vi a, int first, int second) {
  __m256i one = _mm256_cmpeq_epi8(_mm256_max_epu8(a, _mm256_set1_epi8((char)first)), a);
  __m256i two = _mm256_cmpeq_epi8(_mm256_max_epu8(a, _mm256_set1_epi8((char)second)), a);
  return _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(one, two));
}
CPU_INLINE vi vb_lookup(const int8_t *table, int offset, vi nibbles) {
  __m128i t = _mm_add_epi8(_mm_loadu_si128((const __m128i *)(const void *)table), _mm_set1_epi8((char)offset));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), nibbles);
}

/* Pairs of products are added in 16 bits; 8-bit codes give their sign to the element. */
#define VB_UNROLLS 1
#define VB_EXPANDS 0
#define VB_SIGNED 1
#define VB_SHORT 2
#define VB_MAX_BYTES 1
CPU_INLINE size_t vb_bytes(bool is_8) { return (void)is_8, 1; }
#define VB_EACH_TILE(X, ...) X(__VA_ARGS__, 1) X(__VA_ARGS__, 4)
#define VB_VECTORS(tile) 1
typedef vi vb;
typedef vi vs;
CPU_INLINE void vb_store(bool is_8, uint8_t *p, vi elements) {
  (void)is_8;
  __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(elements), _mm256_extracti128_si256(elements, 1));
  _mm_storel_epi64((__m128i *)(void *)p, _mm_packs_epi16(words, words));
}
CPU_INLINE vs vs_begin(vi sum) { return (void)sum, _mm256_setzero_si256(); }
CPU_INLINE vs vs_dot(bool is_8, vs s, vi codes, vb q) {
  __m256i pairs =
    is_8 ? _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(q, codes)) : _mm256_maddubs_epi16(codes, q);
  return _mm256_add_epi16(s, pairs);
}
CPU_INLINE vi vs_end(vi sum, vs s) { return _mm256_add_epi32(sum, _mm256_madd_epi16(s, _mm256_set1_epi16(1))); }
