/* Vectors of f32 and i32 with one set of names for every instruction set. Only for *.simd.c files, which are compiled
 * once per set: VF_LANES and the definitions change, the loops do not.
 *
 *     vf  floats    vi  32-bit integers    vm  a mask, one truth value per lane
 *
 * Loads and stores need no alignment. The _n forms access only the first n lanes (0 <= n <= VF_LANES); the others read
 * as 0. vf_fma(a, b, c) is a * b + c, rounded once where the set has FMA. vf_max(a, b) is b where either is NaN, as on
 * x86; kernels that must propagate NaN do so explicitly. */
#ifndef RLX_CPU_SIMD_H
#define RLX_CPU_SIMD_H

#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "cpu/cpu.h"

#define CPU_INLINE static inline __attribute__((always_inline, unused))

#if defined(__AVX512F__)
/* ---- 16 lanes: AVX-512 F, BW, VL, DQ, VNNI ---- */
#include <immintrin.h>
#define VF_LANES 16
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

#elif defined(__AVX2__)
/* ---- 8 lanes: AVX2, FMA, F16C ---- */
#include <immintrin.h>
#define VF_LANES 8
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

#else
/* ---- 4 lanes in the compiler's vector types: any machine; with NEON's fused multiply-add where available ---- */
#include <math.h>
#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#define VF_LANES 4
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef vi vm;
typedef uint32_t vu_ __attribute__((vector_size(16)));
CPU_INLINE vm vm_first(size_t n) {
  int32_t k = (int32_t)n;
  vi lane = {0, 1, 2, 3}, end = {k, k, k, k};
  return lane < end;
}
CPU_INLINE vf vf_load(const float *p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}
CPU_INLINE void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
CPU_INLINE vf vf_load_n(const float *p, size_t n) {
  vf v = {0, 0, 0, 0};
  for (size_t i = 0; i < n; i++) v[i] = p[i];
  return v;
}
CPU_INLINE void vf_store_n(float *p, vf v, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = v[i];
}
CPU_INLINE vf vf_set(float x) { return (vf){x, x, x, x}; }
CPU_INLINE vf vf_zero(void) { return (vf){0, 0, 0, 0}; }
CPU_INLINE vi vf_bits(vf a) { return (vi)a; }
CPU_INLINE vf vf_from_bits(vi a) { return (vf)a; }
CPU_INLINE vf vf_select(vm m, vf t, vf f) { return (vf)((m & (vi)t) | (~m & (vi)f)); }
CPU_INLINE vi vi_select(vm m, vi t, vi f) { return (m & t) | (~m & f); }
CPU_INLINE vf vf_add(vf a, vf b) { return a + b; }
CPU_INLINE vf vf_sub(vf a, vf b) { return a - b; }
CPU_INLINE vf vf_mul(vf a, vf b) { return a * b; }
CPU_INLINE vf vf_div(vf a, vf b) { return a / b; }
CPU_INLINE vf vf_max(vf a, vf b) { return vf_select(a > b, a, b); }
CPU_INLINE vf vf_min(vf a, vf b) { return vf_select(a < b, a, b); }
CPU_INLINE vf vf_sqrt(vf a) { return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])}; }
#if defined(__ARM_NEON) && defined(__aarch64__)
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return (vf)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
#else
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
#endif
CPU_INLINE vf vf_round(vf a) { return (vf){rintf(a[0]), rintf(a[1]), rintf(a[2]), rintf(a[3])}; }
CPU_INLINE vf vf_floor(vf a) { return (vf){floorf(a[0]), floorf(a[1]), floorf(a[2]), floorf(a[3])}; }
CPU_INLINE vf vf_ceil(vf a) { return (vf){ceilf(a[0]), ceilf(a[1]), ceilf(a[2]), ceilf(a[3])}; }
CPU_INLINE vm vf_lt(vf a, vf b) { return a < b; }
CPU_INLINE vm vf_le(vf a, vf b) { return a <= b; }
CPU_INLINE vm vf_eq(vf a, vf b) { return a == b; }
CPU_INLINE vm vf_is_nan(vf a) { return a != a; }
CPU_INLINE vm vm_and(vm a, vm b) { return a & b; }
CPU_INLINE vm vm_or(vm a, vm b) { return a | b; }
CPU_INLINE vm vm_not(vm a) { return ~a; }
CPU_INLINE int vm_any(vm a) { return (a[0] | a[1] | a[2] | a[3]) != 0; }
CPU_INLINE vi vi_load(const int32_t *p) {
  vi v;
  memcpy(&v, p, sizeof v);
  return v;
}
CPU_INLINE void vi_store(int32_t *p, vi v) { memcpy(p, &v, sizeof v); }
CPU_INLINE vi vi_set(int32_t x) { return (vi){x, x, x, x}; }
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
/* Values that do not fit give INT32_MIN, as on x86. */
CPU_INLINE int32_t vi_lane_(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (int32_t)x : INT32_MIN; }
CPU_INLINE vi vi_trunc(vf a) { return (vi){vi_lane_(a[0]), vi_lane_(a[1]), vi_lane_(a[2]), vi_lane_(a[3])}; }
CPU_INLINE vi vi_of_vf(vf a) { return vi_trunc(vf_round(a)); }
CPU_INLINE vf vf_of_vi(vi a) { return (vf){(float)a[0], (float)a[1], (float)a[2], (float)a[3]}; }
CPU_INLINE float vf_sum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
CPU_INLINE float vf_hmax(vf a) {
  vf b = vf_max(a, (vf){a[2], a[3], a[0], a[1]});
  return b[0] > b[1] ? b[0] : b[1];
}
CPU_INLINE float vf_hmin(vf a) {
  vf b = vf_min(a, (vf){a[2], a[3], a[0], a[1]});
  return b[0] < b[1] ? b[0] : b[1];
}
CPU_INLINE vf vf_load_f16(const uint16_t *p) {
  return (vf){rlx_f16_to_f32(p[0]), rlx_f16_to_f32(p[1]), rlx_f16_to_f32(p[2]), rlx_f16_to_f32(p[3])};
}
CPU_INLINE void vf_store_f16(uint16_t *p, vf v) {
  for (int i = 0; i < 4; i++) p[i] = rlx_f32_to_f16(v[i]);
}
CPU_INLINE vi vi_load_u16(const uint16_t *p) { return (vi){p[0], p[1], p[2], p[3]}; }
CPU_INLINE void vi_store_u16(uint16_t *p, vi v) {
  for (int i = 0; i < 4; i++) p[i] = (uint16_t)v[i];
}
CPU_INLINE vi vi_load_i8(const int8_t *p) { return (vi){p[0], p[1], p[2], p[3]}; }
CPU_INLINE vi vi_load_u8(const uint8_t *p) { return (vi){p[0], p[1], p[2], p[3]}; }
#endif

/* ---- common to all sets ---- */

CPU_INLINE vf vf_neg(vf a) { return vf_from_bits(vi_xor(vf_bits(a), vi_set(INT32_MIN))); }
CPU_INLINE vf vf_abs(vf a) { return vf_from_bits(vi_and(vf_bits(a), vi_set(INT32_MAX))); }

CPU_INLINE vf vf_load_bf16(const uint16_t *p) { return vf_from_bits(vi_shl(vi_load_u16(p), 16)); }
/* Rounds to nearest even; NaN stays NaN. */
CPU_INLINE vi vi_bf16_of_(vf v) {
  vi bits = vf_bits(v);
  vi odd = vi_and(vi_shr(bits, 16), vi_set(1));
  vi rounded = vi_shr(vi_add(bits, vi_add(odd, vi_set(0x7fff))), 16);
  return vi_select(vf_is_nan(v), vi_or(vi_shr(bits, 16), vi_set(0x40)), rounded);
}
CPU_INLINE void vf_store_bf16(uint16_t *p, vf v) { vi_store_u16(p, vi_bf16_of_(v)); }

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

#endif
