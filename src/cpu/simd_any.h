/* 4 lanes in the compiler's vector types: any machine, with SSE2's products of 16 bits where available. Included by
 * simd.h, which says what the names mean. */
#include <math.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#define VF_LANES 4
#define VF_REGISTERS 16
#define VF_FMA_IS_EXACT 0
#define VF_TILE_ROWS 6 /* rows of a register tile with two vectors each */
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
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
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
CPU_INLINE int32_t vi_sum(vi a) { return (int32_t)((uint32_t)a[0] + (uint32_t)a[1] + (uint32_t)a[2] + (uint32_t)a[3]); }

#define VX_FEW 1
#define VX_MANY 1

/* ---- bytes, four per lane ---- */

typedef uint8_t vu8_ __attribute__((vector_size(16)));
CPU_INLINE vi vb_add(vi a, vi b) { return (vi)((vu8_)a + (vu8_)b); }
CPU_INLINE vi vb_count(vi a, int first, int second) {
  const vu8_ zero = {0}, low = zero + (uint8_t)first, high = zero + (uint8_t)second;
  return (vi)(zero - (vu8_)((vu8_)a >= low) - (vu8_)((vu8_)a >= high));
}
CPU_INLINE vi vb_lookup(const int8_t *table, int offset, vi nibbles) {
  uint8_t v[16];
  memcpy(v, &nibbles, sizeof v);
  for (size_t i = 0; i < sizeof v; i++) v[i] = (uint8_t)(table[v[i]] + offset);
  memcpy(&nibbles, v, sizeof v);
  return nibbles;
}

#define VB_UNROLLS 0
#define VB_EXPANDS 0
#define VB_SIGNED 1
#define VB_SHORT 0
#define VB_MAX_BYTES 1
CPU_INLINE size_t vb_bytes(bool is_8) { return (void)is_8, 1; }
#define VB_EACH_TILE(X, ...) X(__VA_ARGS__, 1) X(__VA_ARGS__, 4)
#define VB_VECTORS(tile) 1
typedef vi vb;
typedef vi vs;
CPU_INLINE void vb_store(bool is_8, uint8_t *p, vi elements) {
  (void)is_8;
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)elements[i];
}
CPU_INLINE vs vs_begin(vi sum) { return sum; }
CPU_INLINE vi vs_end(vi sum, vs s) { return (void)sum, s; }
#if defined(__SSE2__)
/* Bytes 0 and 2, and 1 and 3, as pairs of 16 bits. */
CPU_INLINE vs vs_dot(bool is_8, vs s, vi codes, vb q) {
  __m128i c = (__m128i)codes, x = (__m128i)q, even, odd;
  if (is_8) {
    even = _mm_srai_epi16(_mm_slli_epi16(c, 8), 8);
    odd = _mm_srai_epi16(c, 8);
  } else {
    even = _mm_and_si128(c, _mm_set1_epi16(255));
    odd = _mm_srli_epi16(c, 8);
  }
  even = _mm_madd_epi16(even, _mm_srai_epi16(_mm_slli_epi16(x, 8), 8));
  return vi_add(s, (vi)_mm_add_epi32(even, _mm_madd_epi16(odd, _mm_srai_epi16(x, 8))));
}
#else
CPU_INLINE vs vs_dot(bool is_8, vs s, vi codes, vb q) {
  for (int i = 0; i < 4; i++) {
    vi c = vi_shl(codes, 24 - 8 * i);
    c = is_8 ? vi_sar(c, 24) : vi_shr(c, 24);
    s = vi_add(s, vi_mul(c, vi_sar(vi_shl(q, 24 - 8 * i), 24)));
  }
  return s;
}
#endif
