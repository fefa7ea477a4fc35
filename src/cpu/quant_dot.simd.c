/* Products of 8-bit activations with block-type weights, 16 rows of the weight at a time.
 *
 * Row i of a is stored as integers q with a scale per 32. So the sum over a sub-block of the weight is an integer sum,
 * computed with 8-bit multiply-add instructions: each lane is a row of the weight, and four elements of a are broadcast
 * to all lanes. The f32 work is once per sub-block: times the weight's scale, times a's.
 *
 * Offsets and mins cost nothing per element. sum(q (code - offset)) = sum(q code) - offset sum(q), and the second term
 * is precomputed (it starts the sum). A min multiplies scale * sum(q). Both use the sums of the rounded q, not of a:
 * then the error is a's rounding times the weight, and not times the larger code. */
#define Q_VECTORS(tile) VB_VECTORS(tile)
#include "cpu/quant_loop.h"

/* ---- an 8-bit row: k codes, k/32 scales, and per sub-block of the weight an i32 or f32 term for its offset or min
 * ---- */

/* Bytes of the codes of n elements. */
CPU_INLINE size_t codes_bytes(rlx_dtype T, size_t n) { return vb_bytes(q_is_8_bit(T)) * n; }
/* 16 of them. */
CPU_INLINE vw row_codes(rlx_dtype T, const uint8_t *row, size_t at) {
  return vw_load(q_is_8_bit(T), row + codes_bytes(T, at));
}
CPU_INLINE float row_scale(rlx_dtype T, const uint8_t *row, size_t k, size_t part) {
  float scale;
  memcpy(&scale, row + codes_bytes(T, k) + 4 * part, sizeof scale);
  return scale;
}
CPU_INLINE const uint8_t *row_extra(rlx_dtype T, const uint8_t *row, size_t k, size_t sub) {
  return row + codes_bytes(T, k) + k / 8 + 4 * sub;
}
CPU_INLINE vi row_start(rlx_dtype T, const uint8_t *row, size_t k, size_t sub) {
  int32_t start;
  memcpy(&start, row_extra(T, row, k, sub), sizeof start);
  return vi_set(start);
}
CPU_INLINE vf row_sum(rlx_dtype T, const uint8_t *row, size_t k, size_t sub) {
  float sum;
  memcpy(&sum, row_extra(T, row, k, sub), sizeof sum);
  return vf_set(sum);
}

/* Quantises 32 elements to 8-bit integers and sums each half (the sums wrap where elements are non-finite). Returns the
 * scale. *bad collects non-finite values: x * 0 is NaN for them. */
CPU_INLINE float quantise_part(bool is_8, const float *a, uint8_t *q, uint32_t *sum, vf *bad, bool *in_range) {
  vf max = vf_zero();
  VF_UNROLL
  for (int i = 0; i < 32; i += VF_LANES) {
    vf x = vf_load(a + i);
    max = vf_max(max, vf_abs(x));
    *bad = vf_fma(x, vf_zero(), *bad);
  }
  float largest = vf_hmax(max);
  /* Otherwise a scale or its reciprocal would not be a normal number. */
  *in_range = *in_range && (largest == 0 || (largest >= 1e-30f && largest <= 1e30f));
  vf up = vf_set(largest > 0 ? 127 / largest : 0);
  for (int h = 0; h < 2; h++) {
    vi total = vi_set(0);
    VF_UNROLL
    for (int i = 16 * h; i < 16 * h + 16; i += VF_LANES) {
      vi whole = vi_of_vf(vf_mul(vf_load(a + i), up));
      vb_store(is_8, q + vb_bytes(is_8) * (size_t)i, whole);
      total = vi_add(total, whole);
    }
    sum[h] = (uint32_t)vi_sum(total);
  }
  return largest / 127;
}

CPU_INLINE bool quantise_row(bool is_8, rlx_dtype T, const float *a, size_t k, uint8_t *row) {
  uint8_t *scales = row + vb_bytes(is_8) * k, *extra = scales + k / 8;
  int subs = q_subs(T), offset = q_offset(T);
  bool in_range = true, has_min = q_has_min(T);
  vf bad = vf_zero();
  for (size_t part = 0; part < k / 32; part++, scales += 4) {
    uint32_t sum[2];
    float scale = quantise_part(is_8, a + 32 * part, row + vb_bytes(is_8) * 32 * part, sum, &bad, &in_range);
    if (subs == 1) sum[0] += sum[1];
    memcpy(scales, &scale, sizeof scale);
    for (int h = 0; h < subs; h++, extra += 4) {
      float low = scale * (float)(int32_t)sum[h];
      uint32_t start = 0u - (uint32_t)offset * sum[h];
      memcpy(extra, has_min ? (const void *)&low : (const void *)&start, 4);
    }
  }
  return in_range && vf_sum(bad) == 0;
}

static bool quantise(rlx_dtype T, const float *a, size_t k, void *row) {
  return q_is_8_bit(T) ? quantise_row(true, T, a, k, row) : quantise_row(false, T, a, k, row);
}

/* ---- the loops ---- */

/* With one row, memory bandwidth is the limit. The fields of a super-block are read alternately, which defeats the
 * hardware prefetcher. So a whole block some bytes ahead is prefetched into the L2 cache. Blocks of 32 are read
 * sequentially: they need it only near by, and further ahead it disturbs the hardware prefetcher (docs/performance.md).
 * Past the end it has no effect. */
enum { PREFETCH_NEAR = 1024, PREFETCH_FAR = 10240 };
CPU_INLINE size_t prefetch_bytes(rlx_dtype T) { return q_is_super(T) ? PREFETCH_FAR : PREFETCH_NEAR; }
CPU_INLINE void prefetch(rlx_dtype T, const uint8_t *b, size_t bytes) {
  VF_UNROLL
  for (size_t i = 0; i < bytes; i += 64) __builtin_prefetch(b + prefetch_bytes(T) + i, 0, 2);
}

/* Part j of tq1_0 without extracting digits. A byte y with leading digit t becomes 3 y - 256 t when it is multiplied by
 * 3 modulo 256, so 256 sum(q t) = 3 sum(q y) - sum(q y'). For one row, where codes of all 8 bits may be unsigned; with
 * more rows, extracting the digits once is cheaper. */
CPU_INLINE vi dot_trits(const uint8_t *b, size_t r, int j, const uint8_t *row, size_t at, vi start) {
  vi zero = vi_set(0);
  vs now = vs_begin(vt_begin(zero)), next = now;
  VF_UNROLL
  for (int i = 0; i < 8; i++) {
    vi y = q_tq1_0(b, r, j, i);
    vw q = row_codes(RLX_TQ1_0, row, at + 16 * (size_t)(i / 4));
    now = vw_dot(false, now, vc_of(false, y), q, i % 4);
    next = vw_dot(false, next, vc_of(false, q_times_3(y, 1)), q, i % 4);
  }
  vi thrice = vt_end(vs_end(vt_begin(zero), now));
  thrice = vi_add(thrice, vi_add(thrice, thrice));
  return vi_add(start, vi_sar(vi_sub(thrice, vt_end(vs_end(vt_begin(zero), next))), 8));
}

/* ---- an expanded group ---- */

/* What is extracted from a group's block, stored once for many rows of a (VB_EXPANDS): the codes as vs_dot takes
 * them, [part][word][vector of rows] (VB_PAIRS: two words of half the rows each); then floats by row: the scale, the
 * min, and the scales and mins of the sub-blocks. */
CPU_INLINE size_t x_codes_bytes(rlx_dtype T) {
  return (size_t)q_parts(T) * 8 * (CPU_QUANT_ROWS / VF_LANES) * sizeof(vc);
}
CPU_INLINE size_t x_step(rlx_dtype T) {
  size_t n_subs = q_is_super(T) ? (size_t)(q_parts(T) * q_subs(T)) : 0;
  return x_codes_bytes(T) + (2 + 2 * n_subs) * CPU_QUANT_ROWS * sizeof(float);
}
CPU_INLINE uint8_t *x_codes(const uint8_t *x, size_t r, int j, int i) {
  size_t at = (size_t)(8 * j + i) * (CPU_QUANT_ROWS / VF_LANES) + r / VF_LANES;
  return (uint8_t *)(uintptr_t)x + at * sizeof(vc);
}
/* Floats 0: the scale, 1: the min, 2 + 2 s and 3 + 2 s: those of sub-block s. */
CPU_INLINE float *x_floats(rlx_dtype T, const uint8_t *x, size_t r, int which) {
  return (float *)(void *)((uint8_t *)(uintptr_t)x + x_codes_bytes(T)) + (size_t)(which * CPU_QUANT_ROWS) + r;
}

CPU_INLINE void expand_block(rlx_dtype T, const uint8_t *b, uint8_t *x) {
  VF_LOOP
  for (size_t r = 0; r < CPU_QUANT_ROWS; r += VF_LANES) {
    vf_store(x_floats(T, x, r, 0), q_scale(T, b, r));
    if (q_has_min(T)) vf_store(x_floats(T, x, r, 1), q_min(T, b, r));
    VF_LOOP
    for (int j = 0; j < q_parts(T); j++) {
      for (int i = 0; i < 8; i++) {
#if VB_PAIRS
        vc codes = vp_codes(q_codes(T, b, r, j, i / 2 * 2), q_codes(T, b, r, j, i / 2 * 2 + 1), i % 2);
#else
        vc codes = vc_of(q_is_8_bit(T), q_codes(T, b, r, j, i));
#endif
        memcpy(x_codes(x, r, j, i), &codes, sizeof codes);
      }
      for (int h = 0; q_is_super(T) && h < q_subs(T); h++) {
        int s = j * q_subs(T) + h;
        if (q_has_sub_scale(T)) vf_store(x_floats(T, x, r, 2 + 2 * s), q_sub_scale(T, b, r, j, h));
        if (q_has_min(T)) vf_store(x_floats(T, x, r, 3 + 2 * s), q_sub_min(T, b, r, j, h));
      }
    }
  }
}

/* What a loop reads, from a packed block (x false) or an expanded one. */
CPU_INLINE vc get_codes(rlx_dtype T, bool x, const uint8_t *b, size_t r, int j, int i) {
  if (!x) return vc_of(q_is_8_bit(T), q_codes(T, b, r, j, i));
  vc codes;
  memcpy(&codes, x_codes(b, r, j, i), sizeof codes);
  return codes;
}
CPU_INLINE vf get_scale(rlx_dtype T, bool x, const uint8_t *b, size_t r) {
  return x ? vf_load(x_floats(T, b, r, 0)) : q_scale(T, b, r);
}
CPU_INLINE vf get_min(rlx_dtype T, bool x, const uint8_t *b, size_t r) {
  if (!q_has_min(T)) return vf_zero();
  return x ? vf_load(x_floats(T, b, r, 1)) : q_min(T, b, r);
}
CPU_INLINE vf get_sub_scale(rlx_dtype T, bool x, const uint8_t *b, size_t r, int j, int h) {
  if (!q_has_sub_scale(T)) return vf_set(1);
  return x ? vf_load(x_floats(T, b, r, 2 + 2 * (j * q_subs(T) + h))) : q_sub_scale(T, b, r, j, h);
}
CPU_INLINE vf get_sub_min(rlx_dtype T, bool x, const uint8_t *b, size_t r, int j, int h) {
  if (!q_has_min(T)) return vf_zero();
  return x ? vf_load(x_floats(T, b, r, 3 + 2 * (j * q_subs(T) + h))) : q_sub_min(T, b, r, j, h);
}

/* ---- products ---- */

/* Below, sum m of a tile belongs to row m / vecs of a and to vector m % vecs of the weight's rows. */
#define ROW (rows[m / vecs])
#define LANE (r + (size_t)(m % vecs) * VF_LANES)

/* Adds the products of words `from` to `end` of part j. */
CPU_INLINE void dot_words(rlx_dtype T, bool x, int tile, int vecs, const uint8_t *b, size_t r, int j, int from, int end,
                          const void *const *rows, size_t part, vt *sum) {
  vs some[Q_SUMS_MAX];
  Q_SUMS(some[m] = vs_begin(sum[m]))
  VF_UNROLL
  for (int i = from; i < end; i++) {
    vc codes[Q_SUMS_MAX];
    Q_VECS(codes[m] = get_codes(T, x, b, LANE, j, i))
    Q_SUMS(some[m] = vw_dot(q_is_8_bit(T), some[m], codes[m % vecs],
                            row_codes(T, ROW, 32 * part + 16 * (size_t)(i / 4)), i % 4))
  }
  Q_SUMS(sum[m] = vs_end(sum[m], some[m]))
}

#if VB_PAIRS
/* The same with expanded codes, two rows of a at a time: pair[m] is the sum for half a vector. */
CPU_INLINE void dot_pairs(rlx_dtype T, int tile, int vecs, const uint8_t *b, size_t r, int j, int from, int end,
                          const void *const *rows, size_t part, vt *sum) {
  vi pair[Q_SUMS_MAX];
  Q_SUMS(pair[m] = vi_set(0))
  VF_UNROLL
  for (int i = from; i < end; i += 2) {
    size_t at = 32 * part + 16 * (size_t)(i / 4);
    vi codes[Q_SUMS_MAX];
    vp q[Q_SUMS_MAX];
    Q_EACH(2 * vecs, codes[m] = get_codes(T, true, b, r + (size_t)(m / 2) * VF_LANES, j, i + m % 2))
    Q_EACH(tile / 2,
           q[m] = vp_load((const uint8_t *)rows[2 * m] + at, (const uint8_t *)rows[2 * m + 1] + at, i / 2 % 2))
    Q_SUMS(pair[m] = vp_dot(pair[m], q[m / (2 * vecs)], codes[m % (2 * vecs)]))
  }
#define PAIR_OF(m) (2 * ((m) / vecs / 2 * vecs + (m) % vecs))
  Q_SUMS(sum[m] = vi_add(sum[m], vp_row(pair[PAIR_OF(m)], pair[PAIR_OF(m) + 1], m / vecs % 2)))
}
#endif

/* Sub-block h of part j: integer sums, as f32. */
CPU_INLINE void dot_sub(rlx_dtype T, bool x, int tile, int vecs, const uint8_t *b, size_t r, int j, int h,
                        const void *const *rows, size_t k, size_t part, vf *out) {
  vt sum[Q_SUMS_MAX];
  const int words = 8 / q_subs(T), run = q_run(T), from = h * words;
  const size_t sub = part * (size_t)q_subs(T) + (size_t)h;
  if (T == RLX_TQ1_0 && tile == 1 && vecs == 1 && !VB_SIGNED && !x) {
    out[0] = vf_of_vi(dot_trits(b, r, j, rows[0], 32 * part, row_start(T, rows[0], k, sub)));
    return;
  }
  Q_SUMS(sum[m] = vt_begin(q_offset(T) ? row_start(T, ROW, k, sub) : vi_set(0)))
#if VB_PAIRS
  if (x) dot_pairs(T, tile, vecs, b, r, j, from, from + words, rows, part, sum);
  else
#endif
    if (run >= words)
    dot_words(T, x, tile, vecs, b, r, j, from, from + words, rows, part, sum);
  else {
    VF_UNROLL
    for (int i = from; i < from + words; i += run) dot_words(T, x, tile, vecs, b, r, j, i, i + run, rows, part, sum);
  }
  Q_SUMS(out[m] = vf_of_vi(vt_end(sum[m])))
}

/* A block of 32: sum += d * scale * integer sum + min * row's sum. */
CPU_INLINE void dot_small(rlx_dtype T, bool x, int tile, int vecs, const uint8_t *b, size_t r, const void *const *rows,
                          size_t k, size_t part, vf *sum) {
  vf whole[Q_SUMS_MAX], d[Q_SUMS_MAX], min[Q_SUMS_MAX];
  dot_sub(T, x, tile, vecs, b, r, 0, 0, rows, k, part, whole);
  Q_VECS(d[m] = get_scale(T, x, b, LANE))
  Q_VECS(min[m] = get_min(T, x, b, LANE))
  Q_SUMS({
    sum[m] = vf_fma(whole[m], vf_mul(d[m % vecs], vf_set(row_scale(T, ROW, k, part))), sum[m]);
    if (q_has_min(T)) sum[m] = vf_fma(min[m % vecs], row_sum(T, ROW, k, part), sum[m]);
  })
}

/* Part j of a block of 256, with the sub-blocks' integer scales and mins; `part` counts from the start of the rows. */
CPU_INLINE void dot_part(rlx_dtype T, bool x, int tile, int vecs, const uint8_t *b, size_t r, int j,
                         const void *const *rows, size_t k, size_t part, vf *scaled, vf *low) {
  const int subs = q_subs(T);
  vf inside[Q_SUMS_MAX];
  VF_UNROLL
  for (int h = 0; h < subs; h++) {
    vf whole[Q_SUMS_MAX], scale[Q_SUMS_MAX], min[Q_SUMS_MAX];
    dot_sub(T, x, tile, vecs, b, r, j, h, rows, k, part, whole);
    Q_VECS(scale[m] = get_sub_scale(T, x, b, LANE, j, h))
    Q_VECS(min[m] = get_sub_min(T, x, b, LANE, j, h))
    Q_SUMS({
      if (!q_has_sub_scale(T)) inside[m] = whole[m];
      else inside[m] = h == 0 ? vf_mul(whole[m], scale[m % vecs]) : vf_fma(whole[m], scale[m % vecs], inside[m]);
      if (q_has_min(T)) low[m] = vf_fma(min[m % vecs], row_sum(T, ROW, k, part * (size_t)subs + (size_t)h), low[m]);
    })
  }
  Q_SUMS(scaled[m] = vf_fma(inside[m], vf_set(row_scale(T, ROW, k, part)), scaled[m]))
}

/* Parts of a super-block are unrolled where constant shifts are worth the code size. With several rows that takes long
 * to compile, so only the types that model files use are unrolled. */
CPU_INLINE bool is_unrolled(rlx_dtype T, int tile) {
  if (!VB_UNROLLS) return false;
  return tile == 1 || (VF_LANES == 16 && T != RLX_Q8_K && T != RLX_TQ1_0 && T != RLX_TQ2_0);
}

/* A block of 256: d and dmin are applied once, at the end. */
CPU_INLINE void dot_super(rlx_dtype T, bool x, int tile, int vecs, const uint8_t *b, size_t r, const void *const *rows,
                          size_t k, size_t part, vf *sum) {
  vf scaled[Q_SUMS_MAX], low[Q_SUMS_MAX];
  Q_SUMS(scaled[m] = low[m] = vf_zero())
  if (is_unrolled(T, tile)) {
    VF_UNROLL
    for (int j = 0; j < SUPER_BLOCK / 32; j++) {
      dot_part(T, x, tile, vecs, b, r, j, rows, k, part + (size_t)j, scaled, low);
      VB_FORGETS;
    }
  } else {
    VF_LOOP
    for (int j = 0; j < SUPER_BLOCK / 32; j++)
      dot_part(T, x, tile, vecs, b, r, j, rows, k, part + (size_t)j, scaled, low);
  }
  vf d[Q_SUMS_MAX], min[Q_SUMS_MAX];
  Q_VECS(d[m] = get_scale(T, x, b, LANE))
  Q_VECS(min[m] = get_min(T, x, b, LANE))
  Q_SUMS({
    sum[m] = vf_fma(scaled[m], d[m % vecs], sum[m]);
    if (q_has_min(T)) sum[m] = vf_fnma(low[m], min[m % vecs], sum[m]);
  })
}

CPU_INLINE void dot_block(rlx_dtype T, bool x, int tile, int vecs, const uint8_t *b, size_t r, const void *const *rows,
                          size_t k, size_t part, vf *sum) {
  if (q_is_super(T)) dot_super(T, x, tile, vecs, b, r, rows, k, part, sum);
  else dot_small(T, x, tile, vecs, b, r, rows, k, part, sum);
}

CPU_INLINE void q_block(rlx_dtype T, int tile, int vecs, const uint8_t *b, size_t r, const void *const *rows, size_t k,
                        size_t part, vf *sum) {
  if (tile == 1 && r == 0) prefetch(T, b, q_step(T));
  dot_block(T, false, tile, vecs, b, r, rows, k, part, sum);
}

/* The same loop as q_group, over expanded blocks. */
CPU_INLINE void expanded_group(rlx_dtype T, const uint8_t *group, size_t n_blocks, const void *const *row_list,
                               size_t k, size_t at, float (*sums)[CPU_QUANT_ROWS]) {
  enum { tile = CPU_QUANT_EXPANDED_ROWS, vecs = VB_EXPANDED_VECTORS }; /* more sums would not stay in registers */
  const void *rows[tile];
  Q_EACH(tile, rows[m % tile] = row_list[m % tile])
  VF_LOOP
  for (size_t r = 0; r < CPU_QUANT_ROWS; r += (size_t)vecs * VF_LANES) {
    vf sum[Q_SUMS_MAX];
    const uint8_t *b = group;
    Q_SUMS(sum[m] = vf_load(sums[m / vecs] + r + m % vecs * VF_LANES))
    for (size_t i = 0, part = at / 32; i < n_blocks; i++, part += (size_t)q_parts(T), b += x_step(T))
      dot_block(T, true, tile, vecs, b, r, rows, k, part, sum);
    Q_SUMS(vf_store(sums[m / vecs] + r + m % vecs * VF_LANES, sum[m]))
  }
}

#define X_FUNCTIONS_(TYPE, name)                                                                                   \
  static void expanded_##name(const uint8_t *group, size_t n_blocks, const void *const *rows, size_t k, size_t at, \
                              float(*sums)[CPU_QUANT_ROWS]) {                                                      \
    expanded_group(RLX_##TYPE, group, n_blocks, rows, k, at, sums);                                                \
  }                                                                                                                \
  static void expand_##name(const uint8_t *group, size_t n_blocks, uint8_t *out) {                                 \
    for (; n_blocks > 0; n_blocks--, group += q_step(RLX_##TYPE), out += x_step(RLX_##TYPE))                       \
      expand_block(RLX_##TYPE, group, out);                                                                        \
    _Static_assert(CPU_QUANT_EXPANDED_BYTES >= 8 * 8 * 16 * sizeof(vc) / VF_LANES + 34 * 64, "a super-block");     \
  }
#define X_ENTRY_(TYPE, name) [RLX_##TYPE] = {expand_##name, expanded_##name},

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
#if VB_EXPANDS
CPU_QUANT_TYPES(X_FUNCTIONS_)
#else
#undef X_ENTRY_
#define X_ENTRY_(TYPE, name)
#endif
const cpu_quant_table CPU_TABLE(cpu_quant) = {.element_bytes = VB_MAX_BYTES,
                                              .quantise = quantise,
                                              .dot = Q_TABLE,
                                              .expanded = {CPU_QUANT_TYPES(X_ENTRY_)},
                                              .add_scaled = add_scaled,
                                              .dot_floats = dot_floats};
