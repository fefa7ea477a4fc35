/* Products of 8-bit activations with block-type weights, 16 rows of the weight at a time.
 *
 * Row i of a is stored as integers q with a scale per 32. So the sum over a sub-block of the weight is an integer sum,
 * computed with 8-bit multiply-add instructions: each lane is a row of the weight, and four elements of a are broadcast
 * to all lanes. The f32 work is once per sub-block: times the weight's scale, times a's.
 *
 * Offsets and mins cost nothing per element. sum(q (code - offset)) = sum(q code) - offset sum(q), and the second term
 * is precomputed (it starts the sum). A min multiplies scale * sum(q). Both use the sums of the rounded q, not of a:
 * then the error is a's rounding times the weight, and not times the larger code. */
#include "cpu/quant_loop.h"

#if VF_LANES == 4 && defined(__SSE2__)
#include <emmintrin.h>
#endif

/* ---- four 8-bit products added to each lane ---- */

/* codes (from q_codes: unsigned up to 63, or of an 8-bit type) times q, the same four values in every lane. */
CPU_INLINE vi q_dot(rlx_dtype T, vi sum, vi codes, vi q) {
#if VF_LANES == 16
  (void)T;
  return _mm512_dpbusd_epi32(sum, codes, q);
#elif VF_LANES == 8
  /* Pairs of products are added in 16 bits: 2 * 63 * 127 and 2 * 128 * 127 fit. */
  __m256i pairs = q_is_8_bit(T) ? _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(q, codes))
                                : _mm256_maddubs_epi16(codes, q);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#elif defined(__SSE2__)
  /* Bytes 0 and 2, and 1 and 3, as pairs of 16 bits. */
  __m128i c = (__m128i)codes, x = (__m128i)q, even, odd;
  if (q_is_8_bit(T)) {
    even = _mm_srai_epi16(_mm_slli_epi16(c, 8), 8);
    odd = _mm_srai_epi16(c, 8);
  } else {
    even = _mm_and_si128(c, _mm_set1_epi16(255));
    odd = _mm_srli_epi16(c, 8);
  }
  even = _mm_madd_epi16(even, _mm_srai_epi16(_mm_slli_epi16(x, 8), 8));
  return vi_add(sum, (vi)_mm_add_epi32(even, _mm_madd_epi16(odd, _mm_srai_epi16(x, 8))));
#else
  for (int i = 0; i < 4; i++) {
    vi c = q_shl(codes, 24 - 8 * i);
    c = q_is_8_bit(T) ? vi_sar(c, 24) : vi_shr(c, 24);
    sum = vi_add(sum, vi_mul(c, vi_sar(q_shl(q, 24 - 8 * i), 24)));
  }
  return sum;
#endif
}

/* ---- an 8-bit row: k codes, k/32 scales, and per sub-block of the weight an i32 or f32 term for its offset or min
 * ---- */

CPU_INLINE vi row_codes(const uint8_t *row, size_t at) {
  int32_t four;
  memcpy(&four, row + at, sizeof four);
  return vi_set(four);
}
CPU_INLINE float row_scale(const uint8_t *row, size_t k, size_t part) {
  float scale;
  memcpy(&scale, row + k + 4 * part, sizeof scale);
  return scale;
}
CPU_INLINE const uint8_t *row_extra(const uint8_t *row, size_t k, size_t sub) { return row + k + k / 8 + 4 * sub; }
CPU_INLINE vi row_start(const uint8_t *row, size_t k, size_t sub) {
  int32_t start;
  memcpy(&start, row_extra(row, k, sub), sizeof start);
  return vi_set(start);
}
CPU_INLINE vf row_sum(const uint8_t *row, size_t k, size_t sub) {
  float sum;
  memcpy(&sum, row_extra(row, k, sub), sizeof sum);
  return vf_set(sum);
}

/* Quantises 32 elements to 8-bit integers and sums each half (the sums wrap where elements are non-finite). Returns the
 * scale. *bad collects non-finite values: x * 0 is NaN for them. */
CPU_INLINE float quantise_part(const float *a, int8_t *q, uint32_t *sum, vf *bad, bool *in_range) {
  vf max = vf_zero();
  Q_UNROLL
  for (int i = 0; i < 32; i += VF_LANES) {
    vf x = vf_load(a + i);
    max = vf_max(max, vf_abs(x));
    *bad = vf_fma(x, vf_zero(), *bad);
  }
  float largest = vf_hmax(max);
  /* Otherwise a scale or its reciprocal would not be a normal number. */
  *in_range = *in_range && (largest == 0 || (largest >= 1e-30f && largest <= 1e30f));
  vf up = vf_set(largest > 0 ? 127 / largest : 0);
#if VF_LANES == 16
  for (int h = 0; h < 2; h++) {
    __m512i whole = (__m512i)vi_of_vf(vf_mul(vf_load(a + 16 * h), up));
    _mm_storeu_si128((__m128i *)(void *)(q + 16 * h), _mm512_cvtepi32_epi8(whole));
    sum[h] = (uint32_t)_mm512_reduce_add_epi32(whole);
  }
#else
  int32_t whole[32];
  Q_UNROLL
  for (int i = 0; i < 32; i += VF_LANES) vi_store(whole + i, vi_of_vf(vf_mul(vf_load(a + i), up)));
  for (int i = 0; i < 32; i++) q[i] = (int8_t)whole[i];
  int32_t half[2] = {0, 0};
  for (int i = 0; i < 16; i++) half[0] += q[i], half[1] += q[i + 16];
  sum[0] = (uint32_t)half[0];
  sum[1] = (uint32_t)half[1];
#endif
  return largest / 127;
}

static bool quantise(rlx_dtype T, const float *a, size_t k, void *out) {
  uint8_t *row = out, *extra = row + k + k / 8;
  int subs = q_subs(T), offset = q_offset(T);
  bool in_range = true, has_min = q_has_min(T);
  vf bad = vf_zero();
  for (size_t part = 0; part < k / 32; part++) {
    uint32_t sum[2];
    float scale = quantise_part(a + 32 * part, (int8_t *)row + 32 * part, sum, &bad, &in_range);
    if (subs == 1) sum[0] += sum[1];
    memcpy(row + k + 4 * part, &scale, sizeof scale);
    for (int h = 0; h < subs; h++, extra += 4) {
      float low = scale * (float)(int32_t)sum[h];
      uint32_t start = 0u - (uint32_t)offset * sum[h];
      memcpy(extra, has_min ? (const void *)&low : (const void *)&start, 4);
    }
  }
  return in_range && vf_sum(bad) == 0;
}

/* ---- the loops ---- */

/* With one row, memory bandwidth is the limit. The fields of a super-block are read alternately, which defeats the
 * hardware prefetcher. So a whole block some bytes ahead is prefetched into the L2 cache. Blocks of 32 are read
 * sequentially: they need it only near by, and further ahead it disturbs the hardware prefetcher (docs/performance.md).
 * Past the end it has no effect. */
enum { PREFETCH_NEAR = 1024, PREFETCH_FAR = 10240 };
CPU_INLINE size_t prefetch_bytes(rlx_dtype T) { return q_is_super(T) ? PREFETCH_FAR : PREFETCH_NEAR; }
CPU_INLINE void prefetch(rlx_dtype T, const uint8_t *b, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(b + prefetch_bytes(T) + i, 0, 2);
}

/* Part j of tq1_0 without extracting digits. A byte y with leading digit t becomes 3 y - 256 t when it is multiplied by
 * 3 modulo 256, so 256 sum(q t) = 3 sum(q y) - sum(q y'). For one row; with more rows, extracting the digits once is
 * cheaper. */
CPU_INLINE vi dot_trits(const uint8_t *b, size_t r, int j, const uint8_t *row, size_t at, vi start) {
  vi now = vi_set(0), next = vi_set(0);
  Q_UNROLL
  for (int i = 0; i < 8; i++) {
    vi y = q_tq1_0(b, r, j, i), q = row_codes(row, at + 4 * (size_t)i);
    now = q_dot(RLX_TQ1_0, now, y, q);
    next = q_dot(RLX_TQ1_0, next, q_times_3(y, 1), q);
  }
  return vi_add(start, vi_sar(vi_sub(vi_add(now, vi_add(now, now)), next), 8));
}

/* Sub-block h of part j times `tile` rows: integer sums, as f32. */
CPU_INLINE void dot_sub(rlx_dtype T, int tile, const uint8_t *b, size_t r, int j, int h, const void *const *rows,
                        size_t k, size_t part, vf *out) {
  vi sum[CPU_QUANT_TILE_MAX];
  const int words = 8 / q_subs(T);
  Q_ROWS(tile, sum[m] = q_offset(T) ? row_start(rows[m], k, part * (size_t)q_subs(T) + (size_t)h) : vi_set(0))
  if (T == RLX_TQ1_0 && tile == 1 && VF_LANES == 16) { /* where q_dot takes codes of all 8 bits */
    out[0] = vf_of_vi(dot_trits(b, r, j, rows[0], 32 * part, sum[0]));
    return;
  }
  Q_UNROLL
  for (int i = h * words; i < (h + 1) * words; i++) {
    vi codes = q_codes(T, b, r, j, i);
    Q_ROWS(tile, sum[m] = q_dot(T, sum[m], codes, row_codes(rows[m], 32 * part + 4 * (size_t)i)))
  }
  Q_ROWS(tile, out[m] = vf_of_vi(sum[m]))
}

/* A block of 32: sum += d * scale * integer sum + min * row's sum. */
CPU_INLINE void dot_small(rlx_dtype T, int tile, const uint8_t *b, size_t r, const void *const *rows, size_t k,
                          size_t part, vf *sum) {
  vf whole[CPU_QUANT_TILE_MAX], d = q_scale(T, b, r);
  dot_sub(T, tile, b, r, 0, 0, rows, k, part, whole);
  Q_ROWS(tile, {
    sum[m] = vf_fma(whole[m], vf_mul(d, vf_set(row_scale(rows[m], k, part))), sum[m]);
    if (q_has_min(T)) sum[m] = vf_fma(q_min(T, b, r), row_sum(rows[m], k, part), sum[m]);
  })
}

/* Part j of a block of 256, with the sub-blocks' integer scales and mins; `part` counts from the start of the rows. */
CPU_INLINE void dot_part(rlx_dtype T, int tile, const uint8_t *b, size_t r, int j, const void *const *rows, size_t k,
                         size_t part, vf *scaled, vf *low) {
  const int subs = q_subs(T);
  vf inside[CPU_QUANT_TILE_MAX];
  Q_UNROLL
  for (int h = 0; h < subs; h++) {
    vf whole[CPU_QUANT_TILE_MAX];
    dot_sub(T, tile, b, r, j, h, rows, k, part, whole);
    vf scale = q_has_sub_scale(T) ? q_sub_scale(T, b, r, j, h) : vf_set(1);
    vf min = q_has_min(T) ? q_sub_min(T, b, r, j, h) : vf_zero();
    Q_ROWS(tile, {
      if (!q_has_sub_scale(T)) inside[m] = whole[m];
      else inside[m] = h == 0 ? vf_mul(whole[m], scale) : vf_fma(whole[m], scale, inside[m]);
      if (q_has_min(T)) low[m] = vf_fma(min, row_sum(rows[m], k, part * (size_t)subs + (size_t)h), low[m]);
    })
  }
  Q_ROWS(tile, scaled[m] = vf_fma(inside[m], vf_set(row_scale(rows[m], k, part)), scaled[m]))
}

/* Parts of a super-block are unrolled where constant shifts are worth the code size. With several rows that takes long
 * to compile, so only the types that model files use are unrolled. */
CPU_INLINE bool is_unrolled(rlx_dtype T, int tile) {
  if (VF_LANES == 4) return false;
  return tile == 1 || (VF_LANES == 16 && T != RLX_Q8_K && T != RLX_TQ1_0 && T != RLX_TQ2_0);
}

/* A block of 256: d and dmin are applied once, at the end. */
CPU_INLINE void dot_super(rlx_dtype T, int tile, const uint8_t *b, size_t r, const void *const *rows, size_t k,
                          size_t part, vf *sum) {
  vf scaled[CPU_QUANT_TILE_MAX], low[CPU_QUANT_TILE_MAX];
  Q_ROWS(tile, scaled[m] = low[m] = vf_zero())
  if (is_unrolled(T, tile)) {
    Q_UNROLL
    for (int j = 0; j < SUPER_BLOCK / 32; j++) dot_part(T, tile, b, r, j, rows, k, part + (size_t)j, scaled, low);
  } else {
    Q_LOOP
    for (int j = 0; j < SUPER_BLOCK / 32; j++) dot_part(T, tile, b, r, j, rows, k, part + (size_t)j, scaled, low);
  }
  Q_ROWS(tile, {
    sum[m] = vf_fma(scaled[m], q_scale(T, b, r), sum[m]);
    if (q_has_min(T)) sum[m] = vf_fnma(low[m], q_min(T, b, r), sum[m]);
  })
}

CPU_INLINE void q_block(rlx_dtype T, int tile, const uint8_t *b, size_t r, const void *const *rows, size_t k,
                        size_t part, vf *sum) {
  if (tile == 1 && r == 0) prefetch(T, b, q_step(T));
  if (q_is_super(T)) dot_super(T, tile, b, r, rows, k, part, sum);
  else dot_small(T, tile, b, r, rows, k, part, sum);
}

/* Vector c holds rows 4 i + c in its 128-bit lane i. Transposing the 4 x 4 words of each lane gives word w of all 16
 * rows, in order, in vector w. */
static void transpose(const uint8_t *rows, size_t row_bytes, size_t n_words, uint8_t *out) {
  size_t w = 0;
#if VF_LANES == 16
  for (; w + 4 <= n_words; w += 4) {
    __m512i v[4];
    for (int c = 0; c < 4; c++) {
      const uint8_t *from = rows + (size_t)c * row_bytes + 4 * w;
      v[c] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)from));
      v[c] = _mm512_inserti32x4(v[c], _mm_loadu_si128((const __m128i *)(const void *)(from + 4 * row_bytes)), 1);
      v[c] = _mm512_inserti32x4(v[c], _mm_loadu_si128((const __m128i *)(const void *)(from + 8 * row_bytes)), 2);
      v[c] = _mm512_inserti32x4(v[c], _mm_loadu_si128((const __m128i *)(const void *)(from + 12 * row_bytes)), 3);
    }
    __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
    __m512i c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    _mm512_storeu_si512(out + 64 * w, _mm512_unpacklo_epi64(a, c));
    _mm512_storeu_si512(out + 64 * w + 64, _mm512_unpackhi_epi64(a, c));
    _mm512_storeu_si512(out + 64 * w + 128, _mm512_unpacklo_epi64(b, d));
    _mm512_storeu_si512(out + 64 * w + 192, _mm512_unpackhi_epi64(b, d));
  }
#elif VF_LANES == 8
  for (; w + 4 <= n_words; w += 4)
    for (size_t half = 0; half < 2; half++) { /* 8 rows: the same with two lanes */
      __m256i v[4];
      for (size_t c = 0; c < 4; c++) {
        const uint8_t *from = rows + (8 * half + c) * row_bytes + 4 * w;
        v[c] = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)from));
        v[c] = _mm256_inserti128_si256(v[c], _mm_loadu_si128((const __m128i *)(const void *)(from + 4 * row_bytes)), 1);
      }
      __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
      __m256i c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
      uint8_t *to = out + 64 * w + 32 * half;
      _mm256_storeu_si256((__m256i *)(void *)to, _mm256_unpacklo_epi64(a, c));
      _mm256_storeu_si256((__m256i *)(void *)(to + 64), _mm256_unpackhi_epi64(a, c));
      _mm256_storeu_si256((__m256i *)(void *)(to + 128), _mm256_unpacklo_epi64(b, d));
      _mm256_storeu_si256((__m256i *)(void *)(to + 192), _mm256_unpackhi_epi64(b, d));
    }
#endif
  for (size_t r = 0; r < CPU_QUANT_ROWS; r++)
    for (size_t i = w; i < n_words; i++) memcpy(out + 64 * i + 4 * r, rows + r * row_bytes + 4 * i, 4);
}

static void add_scaled(float *y, const float *w, float x, size_t n) {
  size_t i = 0;
  vf factor = vf_set(x);
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, vf_fma(vf_load(w + i), factor, vf_load(y + i)));
  if (i < n) vf_store_n(y + i, vf_fma(vf_load_n(w + i, n - i), factor, vf_load_n(y + i, n - i)), n - i);
}

static float dot_floats(const float *a, const float *w, size_t n) {
  size_t i = 0;
  vf sum = vf_zero();
  for (; i + VF_LANES <= n; i += VF_LANES) sum = vf_fma(vf_load(a + i), vf_load(w + i), sum);
  if (i < n) sum = vf_fma(vf_load_n(a + i, n - i), vf_load_n(w + i, n - i), sum);
  return vf_sum(sum);
}

Q_FUNCTIONS
const cpu_quant_table CPU_TABLE(cpu_quant) = {
  .quantise = quantise, .dot = Q_TABLE, .transpose = transpose, .add_scaled = add_scaled, .dot_floats = dot_floats};
