/* Encoders of the block types whose codes are indices into a grid: iq1, iq2, iq3.
 *
 * The measure is the sum of squared errors of the decoded values, each times the weight of its element (1 unless the
 * caller has an importance matrix). Signs are those of the values. Where seven bits encode eight signs and their number
 * would be odd, the value whose square counts least gets the wrong sign. The search goes bottom-up:
 *
 *     an entry   Under a given scale the error of an entry is a sum over its two bytes. So two tables of 256 sums
 *                are computed, and the best entry of the grid is found with them.
 *     a scale    Of 16 or 32 elements: a few initial values, each with the best entries and then the best scale for
 *                these.
 *     the f16    Initially such that the largest scale has the largest code. For every scale the codes next to it
 *                are tried. Then the best f16 for this choice is computed, and all is repeated under it.
 *
 * Any input gives a block that decodes to finite values with an error of at most that of zeros. NaN is encoded as 0, an
 * infinity as the largest f32. Packing mirrors decode_iq.c. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "quant/blocks.h"
#include "quant/fit.h"

enum { MAX_SUBS = 16, MAX_ENTRIES = 64, GROUP = 8, GROUPS = SUPER_BLOCK / GROUP };

/* The parameters of a type. A value is d * (2 code + 1) * unit * level. */
typedef struct grid_type {
  const uint16_t *grid;
  int n_grid;
  int bits;              /* per element of an entry: 2 or 4 */
  int n_levels;          /* 3 or 8 */
  const int8_t *levels;  /* of iq1: with the eighth added */
  const int8_t *shifted; /* of iq1: with it subtracted; else NULL */
  int sub;               /* elements that share a scale */
  int max_code;          /* of a scale */
  double unit;
  bool signs, even;  /* separate signs; an even number of them in eight elements */
  bool shift_of_sub; /* the choice of `shifted` is per scale, not per eight elements */
} grid_type;

/* The encoding of a block. */
typedef struct grid_block {
  uint16_t d;
  uint8_t code[MAX_SUBS];
  uint16_t index[MAX_ENTRIES];
  uint8_t signs[GROUPS];
  bool shifted[GROUPS];
} grid_block;

/* The elements of a block and their weights. */
typedef struct values {
  double x[SUPER_BLOCK], w[SUPER_BLOCK];
} values;

/* The error of a choice relative to encoding zeros (so that values out of reach do not dominate), and the sums that
 * determine its best scale: of value times level, and of level squared. */
typedef struct fit {
  double error, dot, square;
} fit;

static void add_fit(fit *to, fit f) {
  to->error += f.error;
  to->dot += f.dot;
  to->square += f.square;
}

/* ---- an entry ---- */

/* Runs of entries with the same high byte; they are consecutive, as a grid is sorted. */
typedef struct runs {
  int n;
  uint8_t byte[256];
  uint16_t start[257];
} runs;

static void find_runs(const grid_type *g, runs *r) {
  r->n = 0;
  for (int i = 0; i < g->n_grid; i++) {
    if (i && g->grid[i] >> 8 == g->grid[i - 1] >> 8) continue;
    r->byte[r->n] = (uint8_t)(g->grid[i] >> 8);
    r->start[r->n++] = (uint16_t)i;
  }
  r->start[r->n] = (uint16_t)g->n_grid;
}

/* The errors of every byte of an entry whose elements are t[0], t[1], ... with weights w under scale s. Returns the
 * smallest. */
static double make_table(const grid_type *g, const int8_t *levels, const double *t, const double *w, double s,
                         double *table) {
  double miss[4][8], total = 0;
  const int per = 8 / g->bits;
  for (int i = 0; i < per; i++) {
    double min = INFINITY;
    for (int c = 0; c < g->n_levels; c++) {
      double v = s * (double)levels[c];
      miss[i][c] = w[i] * v * (v - 2 * t[i]);
      min = fmin(min, miss[i][c]);
    }
    total += min;
  }
  for (int a = 0; a < g->n_levels; a++)
    for (int b = 0; b < g->n_levels; b++) {
      double two = miss[0][a] + miss[1][b];
      if (per == 2) table[a | b << 4] = two;
      for (int c = 0; per == 4 && c < g->n_levels; c++)
        for (int e = 0; e < g->n_levels; e++) table[a | b << 2 | c << 4 | e << 6] = two + miss[2][c] + miss[3][e];
    }
  return total;
}

/* The best entry for the values t with weights w under s. */
static fit best_entry(const grid_type *g, const runs *r, const int8_t *levels, const double *t, const double *w,
                      double s, uint16_t *index) {
  double low[256], high[256];
  const int n = 16 / g->bits;
  double min_low = make_table(g, levels, t, w, s, low);
  make_table(g, levels, t + n / 2, w + n / 2, s, high);
  fit f = {.error = INFINITY};
  *index = 0;
  int likely = 0;
  for (int k = 1; k < r->n; k++)
    if (high[r->byte[k]] < high[r->byte[likely]]) likely = k;
  for (int k = -1; k < r->n; k++) { /* the most likely run first: most others are then pruned */
    int run = k < 0 ? likely : k;
    double above = high[r->byte[run]];
    for (int i = r->start[run]; above + min_low < f.error && i < r->start[run + 1]; i++) {
      double e = low[g->grid[i] & 255] + above;
      if (e < f.error) f.error = e, *index = (uint16_t)i;
    }
  }
  for (int i = 0; i < n; i++) {
    double level = levels[g->grid[*index] >> g->bits * i & ((1 << g->bits) - 1)];
    f.dot += w[i] * t[i] * level;
    f.square += w[i] * level * level;
  }
  return f;
}

/* ---- eight elements ---- */

/* Chooses their signs, and sets t to the values without them. */
static uint8_t choose_signs(const grid_type *g, const double *x, const double *w, double *t) {
  unsigned signs = 0, ones = 0;
  int smallest = 0;
  for (int i = 0; i < GROUP; i++) {
    if (g->signs && x[i] < 0) signs |= 1u << i, ones++;
    if (w[i] * x[i] * x[i] < w[smallest] * x[smallest] * x[smallest]) smallest = i;
  }
  if (g->even && ones % 2) signs ^= 1u << smallest;
  for (int i = 0; i < GROUP; i++) t[i] = signs >> i & 1 ? -x[i] : x[i];
  return (uint8_t)signs;
}

/* Fits group `at` of a block under s, with given levels. */
static fit fit_group(const grid_type *g, const runs *r, const int8_t *levels, const values *x, double s, int at,
                     grid_block *out) {
  double t[GROUP];
  fit sum = {0};
  const int n = 16 / g->bits;
  out->signs[at] = choose_signs(g, x->x + GROUP * at, x->w + GROUP * at, t);
  out->shifted[at] = levels == g->shifted;
  for (int i = 0; i < GROUP; i += n)
    add_fit(&sum, best_entry(g, r, levels, t + i, x->w + GROUP * at + i, s, &out->index[(GROUP * at + i) / n]));
  return sum;
}

/* With the better of the two sets of levels. */
static fit fit_either(const grid_type *g, const runs *r, const values *x, double s, int at, grid_block *out) {
  fit a = fit_group(g, r, g->levels, x, s, at, out);
  if (!g->shifted) return a;
  uint16_t index = out->index[at]; /* such types have one entry per eight elements */
  fit b = fit_group(g, r, g->shifted, x, s, at, out);
  if (b.error < a.error) return b;
  out->index[at] = index;
  out->shifted[at] = false;
  return a;
}

/* ---- elements that share a scale ---- */

static fit fit_sub(const grid_type *g, const runs *r, const values *x, double s, int j, grid_block *out) {
  const int n = g->sub / GROUP;
  fit sum = {0};
  if (!g->shift_of_sub) {
    for (int i = 0; i < n; i++) add_fit(&sum, fit_either(g, r, x, s, n * j + i, out));
    return sum;
  }
  uint16_t index[SMALL_BLOCK / GROUP];
  fit other = {0};
  for (int i = 0; i < n; i++) add_fit(&sum, fit_group(g, r, g->levels, x, s, n * j + i, out));
  for (int i = 0; i < n; i++) index[i] = out->index[n * j + i];
  for (int i = 0; i < n; i++) add_fit(&other, fit_group(g, r, g->shifted, x, s, n * j + i, out));
  if (other.error < sum.error) return other;
  for (int i = 0; i < n; i++) out->index[n * j + i] = index[i], out->shifted[n * j + i] = false;
  return sum;
}

/* The best scale of sub-block j by itself, as a factor of levels. */
static double best_scale(const grid_type *g, const runs *r, const values *x, int j) {
  /* The largest value as the highest level, and as one beyond it: with few levels, values at the far end are few. Where
   * all values have a similar magnitude, also as the lowest level and the next: a grid may lack the points needed
   * higher up. */
  const double guesses[] = {1, 0.8, 0.62, (double)g->levels[g->n_levels - 1] / abs(g->levels[0]),
                            (double)g->levels[g->n_levels - 1] / g->levels[1]};
  double largest = 0, squares = 0, best = 0, min = INFINITY;
  for (int i = 0; i < g->sub; i++) {
    double v = x->x[g->sub * j + i];
    largest = fmax(largest, fabs(v));
    squares += v * v;
  }
  if (largest == 0) return 0;
  grid_block scratch;
  for (int k = 0; k < (squares > 0.6 * g->sub * largest * largest ? 5 : 3); k++) {
    double s = largest * guesses[k] / (double)g->levels[g->n_levels - 1];
    for (int round = 0; round < 2; round++) {
      fit f = fit_sub(g, r, x, s, j, &scratch);
      if (f.error < min) min = f.error, best = s;
      if (!(f.square > 0) || !(f.dot > 0)) break;
      s = f.dot / f.square;
    }
  }
  return best;
}

/* ---- a block ---- */

/* Encodes a block with this f16. Returns the error, and in *better the best scale for the choice. */
static double fit_block(const grid_type *g, const runs *r, const values *x, const double *wanted, uint16_t d,
                        double *better, grid_block *out) {
  double unit = (double)rlx_f16_to_f32(d) * g->unit, error = 0, dot = 0, square = 0;
  out->d = d;
  for (int j = 0; j < SUPER_BLOCK / g->sub; j++) {
    double code = (wanted[j] / unit - 1) / 2;
    int near = code > g->max_code ? g->max_code : code > 0 ? (int)(code + 0.5) : 0;
    fit best = {.error = INFINITY};
    grid_block tried, kept = {0};
    for (int c = near - 1; c <= near + 1; c++) {
      if (c < 0 || c > g->max_code) continue;
      double odd = 2 * c + 1;
      fit f = fit_sub(g, r, x, unit * odd, j, &tried);
      if (f.error >= best.error) continue;
      best = (fit){f.error, f.dot * odd, f.square * odd * odd};
      out->code[j] = (uint8_t)c;
      kept = tried;
    }
    const int groups = g->sub / GROUP, entries = g->sub * g->bits / 16;
    memcpy(out->index + entries * j, kept.index + entries * j, (size_t)entries * sizeof *out->index);
    memcpy(out->signs + groups * j, kept.signs + groups * j, (size_t)groups * sizeof *out->signs);
    memcpy(out->shifted + groups * j, kept.shifted + groups * j, (size_t)groups * sizeof *out->shifted);
    error += best.error, dot += best.dot, square += best.square;
  }
  *better = square > 0 ? dot / square / g->unit : 0;
  return error;
}

static void encode_block(const grid_type *g, const runs *r, const float *src, const float *weight, grid_block *out) {
  values x;
  double wanted[MAX_SUBS], top = 0, min = 0, better;
  for (int i = 0; i < SUPER_BLOCK; i++)
    x.x[i] = isnan(src[i]) ? 0 : fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, (double)src[i]));
  for (int i = 0; i < SUPER_BLOCK; i++) x.w[i] = weight ? (double)weight[i] : 1;
  *out = (grid_block){0};
  for (int j = 0; j < SUPER_BLOCK / g->sub; j++) top = fmax(top, wanted[j] = best_scale(g, r, &x, j));
  if (top == 0) return;
  /* The largest scale with the largest code, and with a smaller one: the others then have finer steps. */
  for (int shrink = 0; shrink < 2; shrink++) {
    double d = top / (g->unit * (2 * g->max_code + 1 + 4 * shrink));
    for (int round = 0; round < 2; round++) {
      grid_block tried = {0};
      uint16_t h = rlx_fit_f16(d);
      double error = fit_block(g, r, &x, wanted, h ? h : 1, &better, &tried);
      if (error < min) min = error, *out = tried;
      if (better <= 0 || rlx_fit_f16(better) == tried.d) break;
      d = better;
    }
  }
}

/* ---- the types ---- */

static const grid_type iq2_xxs = {rlx_iq2_xxs_grid, 256, 2, 3, rlx_iq2_levels, NULL, 32, 15, 0.125, true, true, false};
static const grid_type iq2_xs = {rlx_iq2_xs_grid, 512, 2, 3, rlx_iq2_levels, NULL, 16, 15, 0.125, true, true, false};
static const grid_type iq2_s = {rlx_iq2_s_grid, 1024, 2, 3, rlx_iq2_levels, NULL, 16, 15, 0.125, true, false, false};
static const grid_type iq3_xxs = {
  rlx_iq3_xxs_grid, 256, 4, 8, rlx_iq3_xxs_levels, NULL, 32, 15, 0.25, true, true, false};
static const grid_type iq3_s = {rlx_iq3_s_grid, 512, 4, 8, rlx_iq3_s_levels, NULL, 32, 15, 1, true, false, false};
static const grid_type iq1_s = {rlx_iq1_grid, 2048,  2,     3,   rlx_iq1_levels[0], rlx_iq1_levels[1], 32, 7,
                                0.125,        false, false, true};
static const grid_type iq1_m = {rlx_iq1_grid, 2048,  2,     3,    rlx_iq1_levels[0], rlx_iq1_levels[1], 16, 7,
                                0.125,        false, false, false};

/* Four times seven signs and the code of a scale. */
static uint32_t signs_and_code(const grid_block *b, int j) {
  uint32_t word = (uint32_t)b->code[j] << 28;
  for (int i = 0; i < 4; i++) word |= (uint32_t)(b->signs[4 * j + i] & 127) << 7 * i;
  return word;
}

static void store_iq2_xxs(const grid_block *b, uint8_t *block) {
  store_le16(block + IQ2_XXS_D, b->d);
  for (int j = 0; j < 8; j++) {
    for (int i = 0; i < 4; i++) block[IQ2_XXS_QS + 8 * j + i] = (uint8_t)b->index[4 * j + i];
    store_le32(block + IQ2_XXS_QS + 8 * j + 4, signs_and_code(b, j));
  }
}

/* Two codes of scales per byte. */
static void store_nibbles(const uint8_t *code, int n, uint8_t *to) {
  for (int i = 0; i < n; i++) to[i] = (uint8_t)(code[2 * i] | code[2 * i + 1] << 4);
}

static void store_iq2_xs(const grid_block *b, uint8_t *block) {
  store_le16(block + IQ2_XS_D, b->d);
  for (int i = 0; i < 32; i++)
    store_le16(block + IQ2_XS_QS + 2 * i, (uint16_t)(b->index[i] | (b->signs[i] & 127) << 9));
  store_nibbles(b->code, 8, block + IQ2_XS_SCALES);
}

static void store_iq2_s(const grid_block *b, uint8_t *block) {
  store_le16(block + IQ2_S_D, b->d);
  memset(block + IQ2_S_QH, 0, 8);
  for (int i = 0; i < 32; i++) {
    block[IQ2_S_QS + i] = (uint8_t)b->index[i];
    block[IQ2_S_QH + i / 4] |= (uint8_t)(b->index[i] >> 8 << (i % 4 * 2));
    block[IQ2_S_SIGNS + i] = b->signs[i];
  }
  store_nibbles(b->code, 8, block + IQ2_S_SCALES);
}

static void store_iq3_xxs(const grid_block *b, uint8_t *block) {
  store_le16(block + IQ3_XXS_D, b->d);
  for (int i = 0; i < 64; i++) block[IQ3_XXS_QS + i] = (uint8_t)b->index[i];
  for (int j = 0; j < 8; j++) store_le32(block + IQ3_XXS_SIGNS + 4 * j, signs_and_code(b, j));
}

static void store_iq3_s(const grid_block *b, uint8_t *block) {
  store_le16(block + IQ3_S_D, b->d);
  memset(block + IQ3_S_QH, 0, 8);
  for (int i = 0; i < 64; i++) {
    block[IQ3_S_QS + i] = (uint8_t)b->index[i];
    block[IQ3_S_QH + i / 8] |= (uint8_t)(b->index[i] >> 8 << i % 8);
  }
  memcpy(block + IQ3_S_SIGNS, b->signs, 32);
  store_nibbles(b->code, 4, block + IQ3_S_SCALES);
}

static void store_iq1_s(const grid_block *b, uint8_t *block) {
  store_le16(block + IQ1_S_D, b->d);
  for (int j = 0; j < 8; j++) {
    uint32_t high = (uint32_t)b->code[j] << 12 | (uint32_t)b->shifted[4 * j] << 15;
    for (int i = 0; i < 4; i++) {
      block[IQ1_S_QS + 4 * j + i] = (uint8_t)b->index[4 * j + i];
      high |= (uint32_t)(b->index[4 * j + i] >> 8) << 3 * i;
    }
    store_le16(block + IQ1_S_QH + 2 * j, (uint16_t)high);
  }
}

static void store_iq1_m(const grid_block *b, uint8_t *block) {
  memset(block + IQ1_M_QH, 0, 16);
  for (int i = 0; i < 32; i++) {
    block[IQ1_M_QS + i] = (uint8_t)b->index[i];
    block[IQ1_M_QH + i / 2] |= (uint8_t)((b->index[i] >> 8 | b->shifted[i] << 3) << (i % 2 * 4));
  }
  for (int i = 0; i < 4; i++) {
    uint32_t scales = (uint32_t)(b->d >> 4 * i & 15) << 12;
    for (int k = 0; k < 4; k++) scales |= (uint32_t)b->code[4 * i + k] << 3 * k;
    store_le16(block + IQ1_M_SCALES + 2 * i, (uint16_t)scales);
  }
}

typedef void store_block(const grid_block *b, uint8_t *block);

static void encode_each(const grid_type *g, store_block *store, size_t bytes, const float *src, const float *weight,
                        uint8_t *dst, size_t n) {
  grid_block b;
  runs r;
  find_runs(g, &r);
  for (; n > 0; n--, src += SUPER_BLOCK, dst += bytes) {
    encode_block(g, &r, src, weight, &b);
    store(&b, dst);
    if (weight) weight += SUPER_BLOCK;
  }
}

#define ENCODER(name, TYPE)                                                                 \
  void rlx_##name##_encode(const float *src, const float *weight, uint8_t *dst, size_t n) { \
    encode_each(&name, store_##name, TYPE##_BYTES, src, weight, dst, n);                    \
  }
ENCODER(iq1_s, IQ1_S)
ENCODER(iq1_m, IQ1_M)
ENCODER(iq2_xxs, IQ2_XXS)
ENCODER(iq2_xs, IQ2_XS)
ENCODER(iq2_s, IQ2_S)
ENCODER(iq3_xxs, IQ3_XXS)
ENCODER(iq3_s, IQ3_S)
