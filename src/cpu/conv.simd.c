/* Inner loops of convolution and pooling: see conv.h.
 *
 * Most time is spent in `multiply`. With AVX-512, eight channels by three vectors of positions are 24 sums in
 * registers: each step of k loads three vectors and broadcasts eight weights for 24 multiply-adds. Where fewer sums
 * stay in registers a tile has two vectors, and a panel two such tiles. Positions that fill no vector swap the roles:
 * sixteen channels are in a vector, and each position is broadcast. */
#include "cpu/conv.h"

#include "cpu/math.h"

enum {
  TILE_VECS = VF_SUMS < 12 ? 2 : 3,       /* vectors of a register tile, */
  CHANNELS_AT_ONCE = VF_SUMS / TILE_VECS, /* and its channels */
  VECS = TILE_VECS == 2 ? 4 : 3,          /* of a panel: whole tiles */
  CHANNELS = CPU_CONV_CHANNELS,
  AHEAD = 32,                 /* steps of k that weights are prefetched ahead: they may be in memory */
  WIDE = CHANNELS / VF_LANES, /* vectors per block of channels, */
  TAIL = VF_SUMS / WIDE >= 8   ? 8
         : VF_SUMS / WIDE >= 4 ? 4
                               : 2 /* and remaining positions processed together */
};

static void finish(const cpu_conv_epilogue *end, const float *x, void *dst, size_t n) {
  vf b = vf_set(end->bias);
  for (size_t i = 0; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf v = vf_add(vf_load_upto(x + i, left), b);
    if (end->residual) v = vf_add(v, vf_load_as_n(end->type, end->residual, i, left));
    if (end->act) v = vf_activate(end->act, v);
    if (end->type == RLX_F32 && left == VF_LANES) vf_store((float *)dst + i, v);
    else vf_store_as_n(end->type, dst, i, v, left);
  }
}

/* ---- shuffles ---- */

/* Every second element. Does not read the last of the 2 VF_LANES elements from x on. */
CPU_INLINE vf load_even(const float *x) {
  return VF_SHUFFLE(vf_load(x), vf_load_n(x + VF_LANES, VF_LANES - 1), VF_EVEN);
}

CPU_INLINE vf load_by(size_t stride, const float *x) { /* stride: 1 or 2 */
  if (stride == 1) return vf_load(x);
  return VF_SHUFFLE(vf_load(x), vf_load(x + VF_LANES), VF_EVEN);
}

static void copy_strided(const float *x, size_t stride, float *y, size_t n) {
  size_t i = 0;
  if (stride == 2)
    for (; i < n; i += VF_LANES) {
      size_t m = n - i < VF_LANES ? n - i : VF_LANES, reach = 2 * m - 1, low = reach < VF_LANES ? reach : VF_LANES;
      vf_store_upto(y + i, VF_SHUFFLE(vf_load_upto(x + 2 * i, low), vf_load_n(x + 2 * i + low, reach - low), VF_EVEN),
                    m);
    }
  for (; i < n; i++) y[i] = x[i * stride];
}

/* ---- panels ---- */

CPU_INLINE void copy_floats(const float *from, float *to, size_t n) {
  size_t j = 0;
  for (; j + VF_LANES <= n; j += VF_LANES) vf_store(to + j, vf_load(from + j));
  if (j < n) vf_store_n(to + j, vf_load_n(from + j, n - j), n - j);
}

static void fill_row(rlx_dtype type, const void *plane, const cpu_conv_run *runs, size_t n_runs, size_t columns,
                     float *row) {
  size_t covered = 0;
  for (size_t i = 0; i < n_runs; i++) covered += runs[i].length;
  if (covered < columns)
    for (size_t j = 0; j < columns; j += VF_LANES) vf_store(row + j, vf_zero());
  for (size_t i = 0; i < n_runs; i++) {
    const cpu_conv_run *r = &runs[i];
    const float *from = (const float *)plane + r->from;
    if (type == RLX_F32 && r->stride == 1) copy_floats(from, row + r->to, r->length);
    else if (type == RLX_F32) copy_strided(from, r->stride, row + r->to, r->length);
    else
      for (size_t j = 0; j < r->length; j++) row[r->to + j] = vf_get_as(type, plane, r->from + j * r->stride);
  }
}

/* Full vectors may write past their segment, where the next one follows; only the last segment is copied exactly. */
static void fill_taps(const float *x, const size_t *taps, size_t n_taps, const cpu_conv_segment *segments,
                      size_t n_segments, size_t step, float *rows) {
  for (size_t t = 0; t < n_taps; t++, rows += step) {
    for (size_t i = 0; i + 1 < n_segments; i++) {
      const float *from = x + taps[t] + segments[i].from;
      float *to = rows + segments[i].to;
      for (size_t j = 0; j < segments[i].length; j += VF_LANES) {
        if (segments[i].to + j + VF_LANES <= step) vf_store(to + j, vf_load(from + j));
        else vf_store_n(to + j, vf_load(from + j), step - segments[i].to - j);
      }
    }
    copy_floats(x + taps[t] + segments[n_segments - 1].from, rows + segments[n_segments - 1].to,
                segments[n_segments - 1].length);
  }
}

/* A block of sums: its panel and weights, and where the sums come from and go to. */
typedef struct block {
  const float *w, *panel;
  size_t ldb, rows, lda, channels;
  float *acc;
  bool add;
  const cpu_conv_out *out;
} block;

CPU_INLINE vf finish_one(const cpu_conv_out *out, vf v, size_t channel, size_t column) {
  size_t at = channel * out->step + column;
  if (out->bias) v = vf_add(v, vf_set(out->bias[channel]));
  if (out->residual) v = vf_add(v, vf_load(out->residual + at));
  return out->act ? vf_activate(out->act, v) : v;
}

/* `n` channels from `first` on by `vecs` vectors of positions from column `at` on; n and vecs are compile-time
 * constants. */
CPU_INLINE void multiply_vectors(const int n, const int vecs, const block *b, size_t first, size_t at) {
  const float *panel = b->panel + at, *w = b->w + first;
  float *acc = b->acc + first * b->lda + at;
  vf sum[CHANNELS][TILE_VECS], done[CHANNELS][TILE_VECS]; /* only constant indices into sum: it is in registers */
  VF_UNROLL
  for (int c = 0; c < n; c++) {
    VF_UNROLL
    for (int j = 0; j < vecs; j++)
      sum[c][j] = b->add ? vf_load(acc + (size_t)c * b->lda + (size_t)j * VF_LANES) : vf_zero();
  }
  for (size_t t = 0; t < b->rows; t++, panel += b->ldb, w += CHANNELS) {
    vf x[TILE_VECS];
    __builtin_prefetch(w + AHEAD * CHANNELS);
    VF_UNROLL
    for (int j = 0; j < vecs; j++) x[j] = vf_load(panel + j * VF_LANES);
    VF_UNROLL
    for (int c = 0; c < n; c++) {
      va y = va_load(w + c / VF_QUAD * VF_QUAD);
      VF_UNROLL
      for (int j = 0; j < vecs; j++) sum[c][j] = va_fma(y, c % VF_QUAD, x[j], sum[c][j]);
    }
  }
  VF_UNROLL
  for (int c = 0; c < n; c++) {
    VF_UNROLL
    for (int j = 0; j < vecs; j++) done[c][j] = sum[c][j];
  }
  VF_LOOP
  for (int c = 0; c < n; c++) {
    VF_LOOP
    for (int j = 0; j < vecs; j++) {
      size_t channel = first + (size_t)c, column = (size_t)j * VF_LANES;
      if (!b->out) vf_store(acc + (size_t)c * b->lda + column, done[c][j]);
      else if (channel < b->channels)
        vf_store(b->out->dst + channel * b->out->step + at + column,
                 finish_one(b->out, done[c][j], channel, at + column));
    }
  }
}

/* Stores one column of sums, by channel, with the epilogue if there is one. */
CPU_INLINE void put_column(const block *b, size_t column, float sums[CHANNELS]) {
  for (size_t c = 0; b->add && c < b->channels; c++) sums[c] += b->acc[c * b->lda + column];
  if (!b->out) {
    for (size_t c = 0; c < b->channels; c++) b->acc[c * b->lda + column] = sums[c];
    return;
  }
  const cpu_conv_out *out = b->out;
  for (size_t c = 0; out->residual && c < b->channels; c++) {
    if (out->bias) sums[c] += out->bias[c];
    sums[c] += out->residual[c * out->step + column];
  }
  for (size_t c = 0; !out->residual && out->bias && c < b->channels; c++) sums[c] += out->bias[c];
  for (size_t v = 0; out->act && v < CHANNELS; v += VF_LANES)
    vf_store(sums + v, vf_activate(out->act, vf_load(sums + v)));
  for (size_t c = 0; c < b->channels; c++) out->dst[c * out->step + column] = sums[c];
}

/* One step of k. */
CPU_INLINE void add_positions(const int n, const float *panel, const float *w, vf sum[TAIL][WIDE]) {
  VF_UNROLL
  for (int j = 0; j < n; j++) {
    VF_UNROLL
    for (int v = 0; v < WIDE; v++) sum[j][v] = vf_fma(vf_set(panel[j]), vf_load(w + v * VF_LANES), sum[j][v]);
  }
}

/* All sixteen channels by n positions. With few positions, each has several sums, to hide the latency of a
 * multiply-add. n and `sums` are compile-time constants. */
CPU_INLINE void multiply_positions(const int n, const int sums, const block *b, size_t first) {
  const float *panel = b->panel + first, *w = b->w;
  vf sum[4][TAIL][WIDE];
  VF_UNROLL
  for (int i = 0; i < sums * n * WIDE; i++) sum[i / WIDE / n][i / WIDE % n][i % WIDE] = vf_zero();
  size_t t = 0;
  for (; t + (size_t)sums <= b->rows; t += (size_t)sums) {
    VF_UNROLL
    for (int s = 0; s < sums; s++, panel += b->ldb, w += CHANNELS) {
      __builtin_prefetch(w + AHEAD * CHANNELS);
      add_positions(n, panel, w, sum[s]);
    }
  }
  for (; t < b->rows; t++, panel += b->ldb, w += CHANNELS) add_positions(n, panel, w, sum[0]);
  float column[TAIL][CHANNELS];
  VF_UNROLL
  for (int j = 0; j < n; j++) {
    VF_UNROLL
    for (int v = 0; v < WIDE; v++) {
      VF_UNROLL
      for (int s = 1; s < sums; s++) sum[0][j][v] = vf_add(sum[0][j][v], sum[s][j][v]);
      vf_store(column[j] + v * VF_LANES, sum[0][j][v]);
    }
  }
  VF_LOOP
  for (int j = 0; j < n; j++) put_column(b, first + (size_t)j, column[j]);
}

static void multiply_tail(size_t n, const block *b, size_t first) {
#define SUMS_OF(k) (VF_SUMS >= 2 * WIDE * (k) ? VF_SUMS / WIDE / (k) : 1)
#define POSITIONS(k, sums) \
  case k: multiply_positions(k < TAIL ? k : TAIL, SUMS_OF(k) < sums ? SUMS_OF(k) : sums, b, first); break;
  switch (n) {
    POSITIONS(1, 4)
    POSITIONS(2, 2) POSITIONS(3, 2) POSITIONS(4, 1) POSITIONS(5, 1) POSITIONS(6, 1) POSITIONS(7, 1) POSITIONS(8, 1)
  }
}

static void multiply(const float *w, const float *panel, size_t ldb, size_t rows, size_t columns, size_t channels,
                     bool add, float *acc, size_t lda, const cpu_conv_out *out) {
  size_t vecs = columns / VF_LANES;
  block b = {w, panel, ldb, rows, lda, channels, acc, add, out};
  size_t at = 0;
  for (; vecs >= TILE_VECS; vecs -= TILE_VECS, at += TILE_VECS * VF_LANES)
    for (size_t c = 0; c < channels; c += CHANNELS_AT_ONCE) multiply_vectors(CHANNELS_AT_ONCE, TILE_VECS, &b, c, at);
  for (size_t c = 0; vecs == 2 && c < channels; c += CHANNELS_AT_ONCE) multiply_vectors(CHANNELS_AT_ONCE, 2, &b, c, at);
  for (size_t c = 0; vecs == 1 && c < channels; c += 2 * CHANNELS_AT_ONCE)
    multiply_vectors(2 * CHANNELS_AT_ONCE, 1, &b, c, at);
  for (size_t j = columns / VF_LANES * VF_LANES; j < columns; j += TAIL)
    multiply_tail(columns - j < TAIL ? columns - j : TAIL, &b, j);
}

/* ---- Winograd F(4x4, 3x3) ---- */

enum { TILE = CPU_WINOGRAD_TILE };

/* Beyond this magnitude the sums of a transform or of the products could overflow f32 where the direct sums do not. */
#define MAX_VALUE 1e15f

static bool split_row(const float *row, size_t tiles, float *to, size_t step) {
  vf max = vf_set(MAX_VALUE), min = vf_set(-MAX_VALUE);
  vm in_range = vf_eq(max, max);
  for (size_t t = 0; t < tiles; t += VF_LANES) {
    size_t n = tiles - t < VF_LANES ? tiles - t : VF_LANES;
    for (int half = 0; half < 2; half++) { /* columns 0 to 3 of a tile; then 4 and 5, which are 0 and 1 of the next */
      const float *x = row + 4 * (t + (size_t)half);
      vf a = vf_load(x), b = vf_load(x + VF_LANES), c = vf_load(x + 2 * VF_LANES), d = vf_load(x + 3 * VF_LANES);
      vf even0 = VF_SHUFFLE(a, b, VF_EVEN), odd0 = VF_SHUFFLE(a, b, VF_ODD), even1 = VF_SHUFFLE(c, d, VF_EVEN),
         odd1 = VF_SHUFFLE(c, d, VF_ODD);
      vf p[4] = {VF_SHUFFLE(even0, even1, VF_EVEN), VF_SHUFFLE(odd0, odd1, VF_EVEN), VF_SHUFFLE(even0, even1, VF_ODD),
                 VF_SHUFFLE(odd0, odd1, VF_ODD)};
      for (size_t s = 0; s < (half ? 2 : 4); s++) {
        in_range = vm_and(in_range, vm_and(vf_le(p[s], max), vf_le(min, p[s])));
        vf_store_n(to + (4 * (size_t)half + s) * step + t, p[s], n);
      }
    }
  }
  return !vm_any(vm_not(in_range));
}

/* The interpolation points: 0, +-NEAR, +-FAR, infinity. */
#define NEAR CPU_WINOGRAD_NEAR
#define FAR CPU_WINOGRAD_FAR
#define BOTH (NEAR * NEAR + FAR * FAR)

/* One row of B^T d: d times the polynomials that vanish at all points but one. */
CPU_INLINE void line_in(const vf d[TILE], vf t[TILE]) {
  vf near2 = vf_set(NEAR * NEAR), far2 = vf_set(FAR * FAR), both = vf_set(BOTH),
     product = vf_set(NEAR * NEAR * FAR * FAR);
  vf a = vf_fnma(far2, d[2], d[4]), b = vf_mul(vf_set(NEAR), vf_fnma(far2, d[1], d[3]));
  vf c = vf_fnma(near2, d[2], d[4]), e = vf_mul(vf_set(FAR), vf_fnma(near2, d[1], d[3]));
  t[0] = vf_fma(product, d[0], vf_fnma(both, d[2], d[4]));
  t[1] = vf_add(a, b);
  t[2] = vf_sub(a, b);
  t[3] = vf_add(c, e);
  t[4] = vf_sub(c, e);
  t[5] = vf_fma(product, d[1], vf_fnma(both, d[3], d[5]));
}

/* One row of A^T m: powers of the points. */
CPU_INLINE void line_out(const vf m[TILE], vf y[4]) {
  vf s = vf_add(m[1], m[2]), d = vf_sub(m[1], m[2]), u = vf_add(m[3], m[4]), v = vf_sub(m[3], m[4]);
  y[0] = vf_add(vf_add(m[0], s), u);
  y[1] = vf_fma(vf_set(FAR), v, vf_mul(vf_set(NEAR), d));
  y[2] = vf_fma(vf_set(FAR * FAR), u, vf_mul(vf_set(NEAR * NEAR), s));
  y[3] = vf_add(vf_fma(vf_set(FAR * FAR * FAR), v, vf_mul(vf_set(NEAR * NEAR * NEAR), d)), m[5]);
}

static void tiles_in(const float *d, size_t step, size_t tiles, float *v, size_t v_step) {
  vf half[TILE][TILE];
  for (size_t s = 0; s < TILE; s++) {
    vf x[TILE], t[TILE];
    for (size_t r = 0; r < TILE; r++) x[r] = vf_load(d + (r % 4 * TILE + s) * step + r / 4 * tiles);
    line_in(x, t);
    for (size_t r = 0; r < TILE; r++) half[r][s] = t[r];
  }
  for (size_t r = 0; r < TILE; r++) {
    vf t[TILE];
    line_in(half[r], t);
    for (size_t s = 0; s < TILE; s++) vf_store(v + (r * TILE + s) * v_step, t[s]);
  }
}

static void tiles_out(const float *m, size_t m_step, float *rows, size_t row_step) {
  vf half[TILE][4];
  for (size_t r = 0; r < TILE; r++) {
    vf x[TILE];
    for (size_t s = 0; s < TILE; s++) x[s] = vf_load(m + (r * TILE + s) * m_step);
    line_out(x, half[r]);
  }
  vf y[4][4];
  for (size_t j = 0; j < 4; j++) {
    vf x[TILE], t[4];
    for (size_t r = 0; r < TILE; r++) x[r] = half[r][j];
    line_out(x, t);
    for (size_t i = 0; i < 4; i++) y[i][j] = t[i];
  }
  for (size_t i = 0; i < 4; i++, rows += row_step) {
    vf a = VF_SHUFFLE(y[i][0], y[i][2], VF_LOW), b = VF_SHUFFLE(y[i][0], y[i][2], VF_HIGH);
    vf c = VF_SHUFFLE(y[i][1], y[i][3], VF_LOW), d = VF_SHUFFLE(y[i][1], y[i][3], VF_HIGH);
    vf_store(rows, VF_SHUFFLE(a, c, VF_LOW));
    vf_store(rows + VF_LANES, VF_SHUFFLE(a, c, VF_HIGH));
    vf_store(rows + 2 * VF_LANES, VF_SHUFFLE(b, d, VF_LOW));
    vf_store(rows + 3 * VF_LANES, VF_SHUFFLE(b, d, VF_HIGH));
  }
}

/* ---- planes of depthwise convolutions ---- */

/* Full vectors may write past what they fill: zeros follow there anyway, the padding after it and before the next
 * row. */
static void pad_plane(const cpu_depthwise_plane *p) {
  float *to = p->padded;
  size_t pitch = p->stride * p->phase;
  for (size_t i = 0; i < p->pad_rows * pitch; i += VF_LANES) vf_store(to + i, vf_zero());
  to += p->pad_rows * pitch;
  for (size_t y = 0; y < p->rows && p->pad_rows + y < p->padded_rows; y++)
    for (size_t phase = 0; phase < p->stride; phase++, to += p->phase) {
      const float *from = p->x + y * p->width;
      /* Column `begin` of this phase is the plane's column `first`. */
      size_t begin = p->stride == 1 ? p->pad : (p->pad + 1 - phase) / 2, first = begin * p->stride + phase - p->pad;
      size_t n = p->width > first ? (p->width - first - 1) / p->stride + 1 : 0;
      if (n > p->phase - begin) n = p->phase - begin;
      for (size_t i = 0; i < begin; i += VF_LANES) vf_store(to + i, vf_zero());
      if (p->stride == 1)
        for (size_t i = 0; i < n; i += VF_LANES)
          vf_store(to + begin + i, vf_load_upto(from + i, n - i < VF_LANES ? n - i : VF_LANES));
      else copy_strided(from + first, 2, to + begin, n);
      for (size_t i = begin + n; i < p->phase; i += VF_LANES) vf_store(to + i, vf_zero());
    }
  for (float *end = p->padded + p->padded_rows * pitch; to < end; to += VF_LANES) vf_store(to, vf_zero());
}

/* The cheap part of the epilogue: residual and relu. `depthwise` applies other activations to the whole plane. */
CPU_INLINE void put_sums(const cpu_depthwise_plane *p, size_t y, size_t i, vf sum) {
  size_t m = p->n - i < VF_LANES ? p->n - i : VF_LANES, at = y * p->n + i;
  if (p->end.residual) sum = vf_add(sum, vf_load_upto((const float *)p->end.residual + at, m));
  if (p->end.act == RLX_ACT_RELU) sum = vf_activate(RLX_ACT_RELU, sum);
  vf_store_upto(p->out + at, sum, m);
}

/* The kernel and the stride may be compile-time constants. */
CPU_INLINE void depthwise_rows(const cpu_depthwise_plane *p, size_t kernel_rows, size_t kernel, size_t stride) {
  vf bias = vf_set(p->end.bias);
  size_t pitch = stride * p->phase;
  for (size_t y = 0; y < p->out_rows; y++) {
    for (size_t i = 0; i < p->n; i += VF_LANES) {
      const float *x = p->padded + y * p->stride_rows * pitch + i, *w = p->w;
      vf sum = bias;
      for (size_t r = 0; r < kernel_rows; r++, x += pitch, w += kernel)
        for (size_t c = 0; c < kernel; c++)
          sum = vf_fma(vf_set(w[c]), vf_load(x + c % stride * p->phase + c / stride), sum);
      put_sums(p, y, i, sum);
    }
  }
}

/* VF_LANES elements from column `at` on, zeros outside the row. Kernels of 3x3 and 5x5 with padding of half their size
 * use it instead of a padded copy: the shifted forms of a row are made in registers. */
CPU_INLINE vf row_at(const float *row, size_t width, size_t at) {
  return at >= width ? vf_zero() : vf_load_upto(row + at, width - at < VF_LANES ? width - at : VF_LANES);
}

/* taps[c]: the inputs of tap c for positions i and on; the kernel and the stride are compile-time constants. */
CPU_INLINE void row_taps(const size_t kernel, const size_t stride, const float *row, size_t width, size_t i,
                         vf taps[5]) {
  const size_t half = kernel / 2;
  size_t at = i * stride;
  vf here = row_at(row, width, at), next = row_at(row, width, at + VF_LANES), before = vf_zero();
  if (i > 0) before = row_at(row, width, at - VF_LANES);
  if (stride == 1) {
    taps[half] = here;
    taps[half - 1] = VF_SHUFFLE(before, here, VF_FROM(VF_LANES - 1));
    taps[half + 1] = VF_SHUFFLE(here, next, VF_FROM(1));
    if (half == 2) taps[0] = VF_SHUFFLE(before, here, VF_FROM(VF_LANES - 2));
    if (half == 2) taps[4] = VF_SHUFFLE(here, next, VF_FROM(2));
    return;
  }
  vf even = VF_SHUFFLE(here, next, VF_EVEN), odd = VF_SHUFFLE(here, next, VF_ODD);
  taps[half] = even;
  taps[half + 1] = odd;
  taps[half - 1] = VF_SHUFFLE(before, odd, VF_FROM(VF_LANES - 1));
  if (half == 2) { /* one element further to either side */
    vf far = vf_zero();
    if (i > 0) far = row_at(row, width, at - VF_LANES - 1);
    taps[0] = VF_SHUFFLE(far, even, VF_FROM(VF_LANES - 1));
    taps[4] = VF_SHUFFLE(even, row_at(row, width, at + 2 * VF_LANES), VF_FROM(1));
  }
}

CPU_INLINE void depthwise_centred(const cpu_depthwise_plane *p, const size_t kernel, const size_t stride) {
  vf w[5][5];
  VF_UNROLL
  for (size_t t = 0; t < kernel * kernel; t++) w[t / kernel][t % kernel] = vf_set(p->w[t]);
  vf bias = vf_set(p->end.bias);
  for (size_t y = 0; y < p->out_rows; y++)
    for (size_t i = 0; i < p->n; i += VF_LANES) {
      vf sum = bias;
      for (size_t r = 0; r < kernel; r++) {
        size_t from = y * p->stride_rows + r; /* in the padded plane */
        vf taps[5];
        if (from < p->pad_rows || from - p->pad_rows >= p->rows) continue;
        row_taps(kernel, stride, p->x + (from - p->pad_rows) * p->width, p->width, i, taps);
        vf part = vf_mul(w[r][0], taps[0]); /* a sum per row: shortens the chain of dependent multiply-adds */
        VF_UNROLL
        for (size_t c = 1; c < kernel; c++) part = vf_fma(w[r][c], taps[c], part);
        sum = vf_add(sum, part);
      }
      put_sums(p, y, i, sum);
    }
}

/* 3x3 or 5x5 with stride 1 and padding that keeps the plane's size. Each input row is read once and added to all result
 * rows that use it. sum[j] belongs to row y - half + j. */
CPU_INLINE void depthwise_same(const cpu_depthwise_plane *p, const size_t kernel) {
  const size_t half = kernel / 2;
  vf w[5][5], bias = vf_set(p->end.bias), sum[6];
  VF_UNROLL
  for (size_t t = 0; t < kernel * kernel; t++) w[t / kernel][t % kernel] = vf_set(p->w[t]);
  for (size_t i = 0; i < p->n; i += VF_LANES) {
    VF_UNROLL
    for (size_t j = 0; j < kernel; j++) sum[j] = bias;
    for (size_t y = 0; y < p->rows; y++) {
      vf taps[5];
      row_taps(kernel, 1, p->x + y * p->width, p->width, i, taps);
      VF_UNROLL
      for (size_t t = 0; t < kernel * kernel; t++)
        sum[t % kernel] = vf_fma(w[kernel - 1 - t % kernel][t / kernel], taps[t / kernel], sum[t % kernel]);
      if (y >= half) put_sums(p, y - half, i, sum[0]);
      sum[kernel] = bias;
      VF_UNROLL
      for (size_t j = 0; j < kernel; j++) sum[j] = sum[j + 1];
    }
    VF_UNROLL
    for (size_t j = 0; j < half; j++)
      if (p->rows + j >= half) put_sums(p, p->rows + j - half, i, sum[j]);
  }
}

static void depthwise_sums(const cpu_depthwise_plane *p) {
  bool square = p->kernel == p->kernel_rows;
  /* With fewer rows than the kernel has, most products of depthwise_same would belong to rows outside. */
  bool same = p->pad_rows == p->kernel / 2 && p->stride_rows == 1 && p->stride == 1 && p->out_rows == p->rows &&
              p->rows >= p->kernel;
  if (!p->padded && p->kernel == 3 && same) depthwise_same(p, 3);
  else if (!p->padded && p->kernel == 5 && same) depthwise_same(p, 5);
  else if (!p->padded && p->kernel == 3 && p->stride == 1) depthwise_centred(p, 3, 1);
  else if (!p->padded && p->kernel == 3) depthwise_centred(p, 3, 2);
  else if (!p->padded && p->stride == 1) depthwise_centred(p, 5, 1);
  else if (!p->padded) depthwise_centred(p, 5, 2);
  else if (square && p->kernel == 3 && p->stride == 1) depthwise_rows(p, 3, 3, 1);
  else if (square && p->kernel == 3) depthwise_rows(p, 3, 3, 2);
  else if (square && p->kernel == 5 && p->stride == 1) depthwise_rows(p, 5, 5, 1);
  else if (square && p->kernel == 5) depthwise_rows(p, 5, 5, 2);
  else depthwise_rows(p, p->kernel_rows, p->kernel, p->stride);
}

static void depthwise(const cpu_depthwise_plane *p) {
  depthwise_sums(p);
  size_t n = p->out_rows * p->n;
  if (p->end.act && p->end.act != RLX_ACT_RELU)
    for (size_t i = 0; i < n; i += VF_LANES) {
      size_t m = n - i < VF_LANES ? n - i : VF_LANES;
      vf_store_upto(p->out + i, vf_activate(p->end.act, vf_load_upto(p->out + i, m)), m);
    }
}

/* ---- pooling ---- */

CPU_INLINE vf max_of(vf a, vf b) {
  return vf_select(vm_or(vf_lt(b, a), vf_is_nan(a)), a, b); /* NaN propagates: b < a is false for a NaN in b */
}
CPU_INLINE vf combine(const bool is_max, vf a, vf b) { return is_max ? max_of(a, b) : vf_add(a, b); }

/* Reduces the rows of the window into the line, then along the line. */
CPU_INLINE void pool_line(const bool is_max, const cpu_pool_row *r) {
  for (size_t i = 0; i < r->width; i += VF_LANES) {
    size_t m = r->width - i < VF_LANES ? r->width - i : VF_LANES;
    vf v = vf_load_upto(r->rows[0] + i, m);
    for (size_t k = 1; k < r->n_rows; k++) v = combine(is_max, vf_load_upto(r->rows[k] + i, m), v);
    vf_store_upto(r->line + r->pad + i, v, m);
  }
  for (size_t i = 0; i < r->n; i += VF_LANES) {
    const float *x = r->line + i * r->stride;
    vf v = load_by(r->stride, x);
    for (size_t k = 1; k < r->kernel; k++) {
      x += r->dilation;
      v = combine(is_max, load_by(r->stride, x), v);
    }
    if (!is_max) v = vf_div(v, vf_mul(vf_load(r->taps + i), vf_set(r->row_taps)));
    vf_store_upto(r->out + i, v, r->n - i < VF_LANES ? r->n - i : VF_LANES);
  }
}

static void pool_row(bool is_max, const cpu_pool_row *r) {
  if (is_max) pool_line(true, r);
  else pool_line(false, r);
}

static float sum_all(const float *x, size_t n) {
  vf sum[4] = {vf_zero(), vf_zero(), vf_zero(), vf_zero()};
  size_t i = 0;
  for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
    VF_UNROLL
    for (size_t j = 0; j < 4; j++) sum[j] = vf_add(sum[j], vf_load(x + i + j * VF_LANES));
  }
  for (; i < n; i += VF_LANES) sum[0] = vf_add(sum[0], vf_load_n(x + i, n - i < VF_LANES ? n - i : VF_LANES));
  return vf_sum(vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3])));
}

static float max_all(const float *x, size_t n) {
  vf max[4];
  VF_UNROLL
  for (size_t j = 0; j < 4; j++) max[j] = vf_set(-INFINITY);
  size_t i = 0;
  for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
    VF_UNROLL
    for (size_t j = 0; j < 4; j++) max[j] = max_of(vf_load(x + i + j * VF_LANES), max[j]);
  }
  for (; i + VF_LANES <= n; i += VF_LANES) max[0] = max_of(vf_load(x + i), max[0]);
  float lanes[VF_LANES], result = -INFINITY;
  vf_store(lanes, max_of(max_of(max[0], max[1]), max_of(max[2], max[3])));
  for (size_t j = 0; j < VF_LANES + n - i; j++) {
    float a = j < VF_LANES ? lanes[j] : x[i + j - VF_LANES];
    if (a > result || a != a) result = a;
  }
  return result;
}

/* ---- rows ---- */

/* Two vectors at a time: each sum stays in its register over all taps. */
static void add_taps(const float *w, const float *const *x, size_t taps, float *y, size_t n) {
  size_t i = 0;
  for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
    vf a = vf_zero(), b = vf_zero();
    for (size_t t = 0; t < taps; t++) {
      vf v = vf_set(w[t]);
      a = vf_fma(v, vf_load(x[t] + i), a);
      b = vf_fma(v, vf_load(x[t] + i + VF_LANES), b);
    }
    vf_store(y + i, a);
    vf_store(y + i + VF_LANES, b);
  }
  for (; i < n; i += VF_LANES) {
    size_t left = n - i < VF_LANES ? n - i : VF_LANES;
    vf a = vf_zero();
    for (size_t t = 0; t < taps; t++) a = vf_fma(vf_set(w[t]), vf_load_n(x[t] + i, left), a);
    vf_store_n(y + i, a, left);
  }
}

static void max_strided(const float *x, size_t stride, float *y, size_t n) {
  size_t i = 0;
  if (stride <= 2)
    for (; i + VF_LANES <= n; i += VF_LANES)
      vf_store(y + i, max_of(stride == 1 ? vf_load(x + i) : load_even(x + 2 * i), vf_load(y + i)));
  for (; i < n; i++) {
    float a = x[i * stride];
    if (a > y[i] || a != a) y[i] = a;
  }
}

static void sum_strided(const float *x, size_t stride, float *y, size_t n) {
  size_t i = 0;
  if (stride <= 2)
    for (; i + VF_LANES <= n; i += VF_LANES)
      vf_store(y + i, vf_add(vf_load(y + i), stride == 1 ? vf_load(x + i) : load_even(x + 2 * i)));
  for (; i < n; i++) y[i] += x[i * stride];
}

const cpu_conv_table CPU_TABLE(cpu_conv) = {.lanes = VF_LANES,
                                            .vecs = VECS,
                                            .fill_taps = fill_taps,
                                            .fill_row = fill_row,
                                            .multiply = multiply,
                                            .finish = finish,
                                            .add_taps = add_taps,
                                            .copy_strided = copy_strided,
                                            .max_strided = max_strided,
                                            .sum_strided = sum_strided,
                                            .pad_plane = pad_plane,
                                            .depthwise = depthwise,
                                            .pool_row = pool_row,
                                            .sum_all = sum_all,
                                            .max_all = max_all,
                                            .split_row = split_row,
                                            .tiles_in = tiles_in,
                                            .tiles_out = tiles_out};
