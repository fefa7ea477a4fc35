/* 4 lanes: 64-bit Arm. Included by simd.h, which says what the names mean.
 *
 * NEON is part of every such processor, with fused multiply-adds, conversions of f16 and 32 registers. Two later
 * extensions are sets of their own (isa.def), of which only the products of bytes and the rounding to bf16 differ:
 *
 *     neon        products of 16 bits, added in lanes of 16 bits while they fit
 *     neon_dot    SDOT: four products per lane, with a word of the other factor that is chosen by its index
 *     neon_i8mm   SMMLA: two rows of codes by two rows of elements, eight of each; BFCVTN
 *
 * A multiply-add can take one lane of a register for all lanes, so that one load serves four of them: va_ and vw_. */
#include <arm_neon.h>

#define VF_LANES 4
#define VF_REGISTERS 32
#define VF_FMA_IS_EXACT 1
#define VF_TILE_ROWS 12 /* rows of a register tile with two vectors each */
typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;

/* ---- loads and stores ---- */

CPU_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
CPU_INLINE void vf_store(float *p, vf v) { vst1q_f32(p, v); }
CPU_INLINE vf vf_load_n(const float *p, size_t n) {
  if (n >= 4) return vld1q_f32(p);
  if (n >= 2) {
    float32x4_t low = vcombine_f32(vld1_f32(p), vdup_n_f32(0));
    return n == 3 ? vld1q_lane_f32(p + 2, low, 2) : low;
  }
  return n == 1 ? vld1q_lane_f32(p, vdupq_n_f32(0), 0) : vdupq_n_f32(0);
}
CPU_INLINE void vf_store_n(float *p, vf v, size_t n) {
  if (n >= 4) vst1q_f32(p, v);
  else if (n >= 2) vst1_f32(p, vget_low_f32(v));
  if (n == 3) vst1q_lane_f32(p + 2, v, 2);
  else if (n == 1) vst1q_lane_f32(p, v, 0);
}
CPU_INLINE vi vi_load(const int32_t *p) { return vld1q_s32(p); }
CPU_INLINE void vi_store(int32_t *p, vi v) { vst1q_s32(p, v); }
CPU_INLINE vi vi_load_u16(const uint16_t *p) { return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))); }
CPU_INLINE void vi_store_u16(uint16_t *p, vi v) { vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(v))); }
CPU_INLINE uint8x8_t four_bytes_(const void *p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  return vreinterpret_u8_u32(vdup_n_u32(four));
}
CPU_INLINE vi vi_load_i8(const int8_t *p) {
  return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(four_bytes_(p)))));
}
CPU_INLINE vi vi_load_u8(const uint8_t *p) {
  return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(four_bytes_(p)))));
}

/* ---- arithmetic ---- */

CPU_INLINE vf vf_set(float x) { return vdupq_n_f32(x); }
CPU_INLINE vf vf_zero(void) { return vdupq_n_f32(0); }
CPU_INLINE vi vi_set(int32_t x) { return vdupq_n_s32(x); }
CPU_INLINE vi vf_bits(vf a) { return vreinterpretq_s32_f32(a); }
CPU_INLINE vf vf_from_bits(vi a) { return vreinterpretq_f32_s32(a); }
CPU_INLINE vm vm_first(size_t n) {
  static const uint32_t lane[4] = {0, 1, 2, 3};
  return vcltq_u32(vld1q_u32(lane), vdupq_n_u32((uint32_t)n));
}
CPU_INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
CPU_INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
CPU_INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
CPU_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
CPU_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
CPU_INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
CPU_INLINE vf vf_select(vm m, vf t, vf f) { return vbslq_f32(m, t, f); }
CPU_INLINE vi vi_select(vm m, vi t, vi f) { return vbslq_s32(m, t, f); }
CPU_INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); } /* FMAX gives a NaN of either */
CPU_INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
CPU_INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }
CPU_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
CPU_INLINE vf vf_floor(vf a) { return vrndmq_f32(a); }
CPU_INLINE vf vf_ceil(vf a) { return vrndpq_f32(a); }
CPU_INLINE vm vf_lt(vf a, vf b) { return vcltq_f32(a, b); }
CPU_INLINE vm vf_le(vf a, vf b) { return vcleq_f32(a, b); }
CPU_INLINE vm vf_eq(vf a, vf b) { return vceqq_f32(a, b); }
CPU_INLINE vm vf_is_nan(vf a) { return vmvnq_u32(vceqq_f32(a, a)); }
CPU_INLINE vm vm_and(vm a, vm b) { return vandq_u32(a, b); }
CPU_INLINE vm vm_or(vm a, vm b) { return vorrq_u32(a, b); }
CPU_INLINE vm vm_not(vm a) { return vmvnq_u32(a); }
CPU_INLINE int vm_any(vm a) { return vmaxvq_u32(a) != 0; }
/* Intrinsics wrap, as with the other sets. */
CPU_INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
CPU_INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
CPU_INLINE vi vi_mul(vi a, vi b) { return vmulq_s32(a, b); }
CPU_INLINE vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
CPU_INLINE vi vi_or(vi a, vi b) { return vorrq_s32(a, b); }
CPU_INLINE vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
typedef uint32_t vu_ __attribute__((vector_size(16)));
typedef int32_t vs_ __attribute__((vector_size(16)));
CPU_INLINE vi vi_shl(vi a, int k) { return (vi)((vu_)a << k); } /* the intrinsics take literals */
CPU_INLINE vi vi_shr(vi a, int k) { return (vi)((vu_)a >> k); }
CPU_INLINE vi vi_sar(vi a, int k) { return (vi)((vs_)a >> k); }
CPU_INLINE vm vi_lt(vi a, vi b) { return vcltq_s32(a, b); }
CPU_INLINE vm vi_eq(vi a, vi b) { return vceqq_s32(a, b); }
/* Values that do not fit give INT32_MIN, as on x86; the instruction saturates, which is that for the smallest, and
 * makes 0 of NaN. */
CPU_INLINE vi fit_(vf a, vi whole) { return vi_select(vf_lt(a, vf_set(2147483648.0f)), whole, vi_set(INT32_MIN)); }
CPU_INLINE vi vi_trunc(vf a) { return fit_(a, vcvtq_s32_f32(a)); }
CPU_INLINE vi vi_of_vf(vf a) { return fit_(a, vcvtnq_s32_f32(a)); } /* to nearest */
CPU_INLINE vf vf_of_vi(vi a) { return vcvtq_f32_s32(a); }

#define VF_OWN_SIGN
CPU_INLINE vf vf_neg(vf a) { return vnegq_f32(a); }
CPU_INLINE vf vf_abs(vf a) { return vabsq_f32(a); }

#define VF_OWN_SCALE
CPU_INLINE vf vf_reciprocal(vf x) { return vdivq_f32(vdupq_n_f32(1), x); }
CPU_INLINE vf vf_nearest(vf x) { return vrndnq_f32(x); }
CPU_INLINE vf vf_scale(vf y, vf n) {
  vi i = vcvtq_s32_f32(n), half = vshrq_n_s32(i, 1), bias = vdupq_n_s32(127);
  y = vmulq_f32(y, vf_from_bits(vshlq_n_s32(vaddq_s32(half, bias), 23)));
  return vmulq_f32(y, vf_from_bits(vshlq_n_s32(vaddq_s32(vsubq_s32(i, half), bias), 23)));
}

/* ---- across lanes ---- */

CPU_INLINE float vf_sum(vf a) { return vaddvq_f32(a); }
CPU_INLINE float vf_hmax(vf a) { return vmaxnmvq_f32(a); }
CPU_INLINE float vf_hmin(vf a) { return vminnmvq_f32(a); }
CPU_INLINE int32_t vi_sum(vi a) { return vaddvq_s32(a); }

/* ---- one lane for all ---- */

#define VF_OWN_LANES
typedef vf va;
CPU_INLINE va va_load(const float *p) { return vld1q_f32(p); }
CPU_INLINE vf va_fma(va a, int i, vf b, vf c) {
  switch (i) { /* the intrinsics take literals */
    case 0: return vfmaq_laneq_f32(c, b, a, 0);
    case 1: return vfmaq_laneq_f32(c, b, a, 1);
    case 2: return vfmaq_laneq_f32(c, b, a, 2);
    default: return vfmaq_laneq_f32(c, b, a, 3);
  }
}

/* ---- f16 and bf16 ---- */

CPU_INLINE vf vf_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
CPU_INLINE void vf_store_f16(uint16_t *p, vf v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }
#define VF_OWN_BF16_LOAD
CPU_INLINE vf vf_load_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define VF_OWN_BF16_STORE
CPU_INLINE void vf_store_bf16(uint16_t *p, vf v) {
  bfloat16x4_t rounded = vcvt_bf16_f32(v);
  memcpy(p, &rounded, sizeof rounded);
}
#endif
/* Eight at once: one load. */
#define VF_OWN_TWO
CPU_INLINE void vf_load_two_f16(const uint16_t *p, vf *low, vf *high) {
  float16x8_t v = vreinterpretq_f16_u16(vld1q_u16(p));
  *low = vcvt_f32_f16(vget_low_f16(v)), *high = vcvt_high_f32_f16(v);
}
CPU_INLINE void vf_load_two_bf16(const uint16_t *p, vf *low, vf *high) {
  uint16x8_t v = vld1q_u16(p);
  *low = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16));
  *high = vreinterpretq_f32_u32(vshll_high_n_u16(v, 16));
}

#define VX_FEW 1
#define VX_MANY 1

/* ---- bytes, four per lane ---- */

CPU_INLINE uint8x16_t u8_(vi a) { return vreinterpretq_u8_s32(a); }
CPU_INLINE int8x16_t s8_(vi a) { return vreinterpretq_s8_s32(a); }
CPU_INLINE vi vb_add(vi a, vi b) { return vreinterpretq_s32_u8(vaddq_u8(u8_(a), u8_(b))); }
CPU_INLINE vi vb_count(vi a, int first, int second) {
  uint8x16_t one = vcgeq_u8(u8_(a), vdupq_n_u8((uint8_t)first));
  uint8x16_t two = vcgeq_u8(u8_(a), vdupq_n_u8((uint8_t)second));
  return vreinterpretq_s32_s8(vnegq_s8(vreinterpretq_s8_u8(vaddq_u8(one, two))));
}
#define VB_OWN_NIBBLES
CPU_INLINE vi vb_nibbles(vi a, int half) {
  return vreinterpretq_s32_u8(half ? vshrq_n_u8(u8_(a), 4) : vandq_u8(u8_(a), vdupq_n_u8(15)));
}
CPU_INLINE vi vb_lookup(const int8_t *table, int offset, vi nibbles) {
  int8x16_t t = vaddq_s8(vld1q_s8(table), vdupq_n_s8((int8_t)offset));
  return vreinterpretq_s32_s8(vqtbl1q_s8(t, u8_(nibbles)));
}

#define VB_UNROLLS 1
#define VB_FORGETS \
  __asm__ volatile("" ::: "memory") /* else words that the next part needs too are kept, on the stack */
#define VB_EXPANDS 1
#define VB_EXPANDED_VECTORS 2
#define VB_SIGNED 1
#define VB_EACH_TILE(X, ...) X(__VA_ARGS__, 1) X(__VA_ARGS__, 4)
#define VB_VECTORS(tile) ((tile) == 1 ? 4 : 2)
#define VB_MAX_BYTES 1
CPU_INLINE size_t vb_bytes(bool is_8) { return (void)is_8, 1; }
CPU_INLINE void vb_store(bool is_8, uint8_t *p, vi elements) {
  int16x4_t words = vmovn_s32(elements);
  uint32x2_t bytes = vreinterpret_u32_s8(vmovn_s16(vcombine_s16(words, words)));
  uint32_t four = vget_lane_u32(bytes, 0);
  (void)is_8;
  memcpy(p, &four, sizeof four);
}
typedef vi vb;
#if defined(__ARM_FEATURE_DOTPROD)
#define VB_SHORT 0
#define VB_OWN_WORDS
typedef vi vs;
typedef int8x16_t vw;
CPU_INLINE vs vs_begin(vi sum) { return sum; }
CPU_INLINE vi vs_end(vi sum, vs s) { return (void)sum, s; }
CPU_INLINE vw vw_load(bool is_8, const uint8_t *p) { return (void)is_8, vreinterpretq_s8_u8(vld1q_u8(p)); }
CPU_INLINE vs vw_dot(bool is_8, vs s, vi codes, vw q, int i) {
  (void)is_8;
  switch (i) {
    case 0: return vdotq_laneq_s32(s, s8_(codes), q, 0);
    case 1: return vdotq_laneq_s32(s, s8_(codes), q, 1);
    case 2: return vdotq_laneq_s32(s, s8_(codes), q, 2);
    default: return vdotq_laneq_s32(s, s8_(codes), q, 3);
  }
}
#else
/* A lane of 16 bits has one product of each word; two such lanes, and at the end two of 32 bits, are a row's sum. */
#define VB_SHORT 1
#define VB_OWN_TOTAL
typedef struct vs {
  int16x8_t low, high;
} vs;
typedef struct vt {
  int32x4_t low, high;
} vt;
CPU_INLINE vt vt_begin(vi sum) { /* in one lane of each pair */
  vi half = vandq_s32(sum, vreinterpretq_s32_s64(vdupq_n_s64(UINT32_MAX)));
  return (vt){half, half};
}
CPU_INLINE vi vt_end(vt t) { return vpaddq_s32(t.low, t.high); }
CPU_INLINE vs vs_begin(vt sum) { return (void)sum, (vs){vdupq_n_s16(0), vdupq_n_s16(0)}; }
CPU_INLINE vs vs_dot(bool is_8, vs s, vi codes, vb q) {
  (void)is_8;
  return (vs){vmlal_s8(s.low, vget_low_s8(s8_(codes)), vget_low_s8(s8_(q))), vmlal_high_s8(s.high, s8_(codes), s8_(q))};
}
CPU_INLINE vt vs_end(vt sum, vs s) { return (vt){vpadalq_s16(sum.low, s.low), vpadalq_s16(sum.high, s.high)}; }
#endif

#if defined(__ARM_FEATURE_MATMUL_INT8)
#define VB_PAIRS 1
typedef int8x16_t vp;
CPU_INLINE vi vp_codes(vi first, vi second, int half) {
  return half ? vzip2q_s32(first, second) : vzip1q_s32(first, second);
}
CPU_INLINE vp vp_load(const uint8_t *a, const uint8_t *b, int i) {
  int64x2_t x = vreinterpretq_s64_u8(vld1q_u8(a)), y = vreinterpretq_s64_u8(vld1q_u8(b));
  return vreinterpretq_s8_s64(i ? vzip2q_s64(x, y) : vzip1q_s64(x, y));
}
CPU_INLINE vi vp_dot(vi s, vp q, vi codes) { return vmmlaq_s32(s, q, s8_(codes)); }
CPU_INLINE vi vp_row(vi low, vi high, int row) {
  int64x2_t x = vreinterpretq_s64_s32(low), y = vreinterpretq_s64_s32(high);
  return vreinterpretq_s32_s64(row ? vzip2q_s64(x, y) : vzip1q_s64(x, y));
}
#endif
