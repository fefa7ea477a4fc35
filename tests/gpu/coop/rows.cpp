/* rows_coop*.matrix.k, rows_direct*.matrix.k, quant_wide*.hopper.k and quant_few*.hopper.k on the host (k_coop.h,
 * k_hopper.h) against sums in double: random shapes and types, parts of k, rows far outside the range of f16, non-finite values. Elements of block
 * types are decoded with blocks.kh, which the kernels do not use.
 *
 *   rows NUMBER SEED     closes with 'N passed, N failed, N skipped'
 *
 * Compiled once for each kernel: KERNEL_FILE, COOP_BF16 for those of bf16, COOP_HOPPER for quant_wide* and quant_few*
 * (COOP_FEW). */
#include "cases.h"
/* */
#include KERNEL_FILE

#ifdef COOP_FEW
#define IS_FEW
#define ROWS_BLOCKS
static u32 TX, SUBS, AHEAD; /* have no effect */
#elif defined(COOP_HOPPER)
#define IS_WIDE
#define ROWS_BLOCKS
#define FC (BN / 16 + 1)
static u32 TX, SUBS;
#elif !defined(ROWS_DIRECT)
#define FC FM
#define FR FN
#endif
static const u32 K_PART = 256; /* parts of k are multiples of this */

struct a_case {
  u32 splits;
  bool odd;               /* some element is not finite */
  std::vector<double> xs; /* [m, k] */
  std::vector<double> ws; /* [n, k] */
  std::vector<double> es; /* what EXTRA means: [n], [1] or [m, n] */
};

/* ---- elements ---- */

static void put_half(std::vector<u32> &words, size_t i, uint16_t bits) {
  words[i / 2] = (words[i / 2] & ~(0xffffu << 16 * (i % 2))) | (u32)bits << 16 * (i % 2);
}
static double half_at(const std::vector<u32> &words, size_t i) { return (double)(f32)element_of(words[i / 2], i % 2); }

static std::vector<u32> draw_floats(size_t n, u32 type, f32 size, std::vector<double> &values) {
  std::vector<u32> words((n + 7) / 8 * (type == T_F32 ? 8 : 4));
  values.resize(n);
  for (size_t i = 0; i < n; i++) {
    f32 v = draw_value(size);
    if (type == T_F32) words[i] = AS_U32(v), values[i] = (double)v;
    else put_half(words, i, float16_t(v).bits), values[i] = half_at(words, i);
  }
  return words;
}

#ifdef ROWS_DIRECT
/* The output of quant_f16.k: f16 with a scale, two per element for a dense weight and one for a block type, in crossed
 * pairs; interleaved by eight rows. */
static void draw_f16(a_case &c) {
  size_t rows = (p.m + 7) / 8 * 8, planes = PHASES;
  x4.words.assign(planes * rows * p.k / 2, 0x7e007e00u); /* NaN: rows past the last must not be used */
  c.xs.assign((size_t)p.m * p.k, 0);
  scales.words.resize(p.m);
  for (u32 r = 0; r < p.m; r++) {
    scales.words[r] = AS_U32(ldexpf(1, (int)draw(0, 40) - 20));
    for (u32 i = 0; i < p.k; i++) {
      static const u32 crossed[] = {0, 2, 1, 3};
      size_t element = planes == 1 ? i % 8 / 4 * 4 + crossed[i % 4] : i % 8;
      f32 v = draw_value(16000);
      for (size_t plane = 0; plane < planes; plane++) {
        float16_t first(v);
        size_t vector = (((plane * rows + r) / 8) * (p.k / 8) + i / 8) * 8 + r % 8;
        put_half(x4.words, vector * 8 + element, first.bits);
        c.xs[(size_t)r * p.k + i] += (double)(f32)first * (double)AS_F32(scales.words[r]);
        v -= (f32)first;
      }
    }
  }
}
#endif

#ifdef IS_FEW
/* The output of quant_groups.k of the f32 in x4: f16 by superblocks, groups of 32, rows and vectors of eight; sums. */
static void draw_groups(a_case &c) {
  const u32 blocks = p.k / 256, all = (blocks + BESIDE - 1) / BESIDE * BESIDE;
  xs.words.assign((size_t)all * BN * 136, 0);
  factors.words.assign((size_t)all * BN, 0);
  for (u32 r = 0; r < p.m; r++)
    for (u32 block = 0; block < blocks; block++) {
      const int power = (int)draw(0, 40) - 20;
      u32 *to = &xs.words[(size_t)block * BN * 136];
      factors.words[block * BN + r] = AS_U32(ldexpf(1, power + 24));
      for (u32 group = 0; group < 8; group++) {
        f32 sum = 0;
        for (u32 i = 0; i < 32; i++) {
          static const u32 crossed[] = {0, 2, 1, 3};
          const size_t at = (size_t)r * p.k + block * 256 + group * 32 + i;
          const bool is_odd = !std::isfinite(c.xs[at]);
          const float16_t v(is_odd ? (f32)c.xs[at] : draw_value(500));
          const u32 half = ((group * BN + r) * 4 + i / 8) * 8 + i % 8 / 4 * 4 + crossed[i % 4];
          to[half / 2] |= (u32)v.bits << 16 * (half % 2);
          sum += (f32)v;
          if (!is_odd) c.xs[at] = ldexp((double)(f32)v, power), x4.words[at] = AS_U32((f32)c.xs[at]);
        }
        const float16_t leading(sum), residue(sum - (f32)leading);
        u32 *totals = to + BN * 128 + r * 8;
        totals[group / 2] |= (u32)leading.bits << 16 * (group % 2);
        totals[4 + group / 2] |= (u32)residue.bits << 16 * (group % 2);
      }
    }
}
#endif

#ifdef IS_WIDE
/* The output of quant_stages.k: by rounds and rows, each 64 elements, whose vectors are permuted. A round is a run of each
 * of four units; the elements of unit t are those of invocation t. */
static void draw_staged(a_case &c) {
  const u32 runs = RUNS, per_block = 1u << k_unit_shift(TB), spans = (p.k + 64 * runs - 1) / (64 * runs);
  x4.words.assign((size_t)spans * runs * p.m * 32, 0);
  c.xs.assign((size_t)p.m * p.k, 0);
  scales.words.resize(p.m);
  for (u32 r = 0; r < p.m; r++) {
    scales.words[r] = AS_U32(ldexpf(1, (int)draw(0, 40) - 20));
    for (u32 round = 0; round < spans * runs; round++)
      for (u32 i = 0; i < 64; i++) {
        const u32 t = i / 2 % 4, element = i / 16 * 4 + i % 2 * 2 + i / 8 % 2, unit = round / runs * 4 + t;
        const u32 k =
          (unit / per_block << k_block_shift(TB)) + 4 * k_run_quad(TB, unit % per_block, round % runs) + element;
        if (k >= p.k) continue;
        float16_t v(draw_value(16000));
        put_half(x4.words, ((size_t)round * p.m * 8 + (r * 8 + (i / 8 ^ r % 8))) * 8 + i % 8, v.bits);
        c.xs[(size_t)r * p.k + k] = (double)(f32)v * (double)AS_F32(scales.words[r]);
      }
  }
}
#endif

static void draw_x(a_case &c) {
#ifdef IS_WIDE
  draw_staged(c);
  return;
#endif
#ifdef ROWS_DIRECT
  if (TX == T_SCALED_F16) {
    draw_f16(c);
    return;
  }
#endif
  x4.words = draw_floats((size_t)p.m * p.k, TX, 1, c.xs);
  for (u32 r = 0; r < p.m && TX == T_F32; r++) { /* rows of every magnitude, including zero */
    static const f32 sizes[] = {1, 1, 1, 100, 1e-3f, 3e4f, 1e20f, 1e-20f, 0};
    f32 by = sizes[draw(0, draw(0, 1) ? 3 : 8)];
    for (size_t i = (size_t)r * p.k; i < (size_t)(r + 1) * p.k; i++) {
      f32 v = by * AS_F32(x4.words[i]);
      x4.words[i] = AS_U32(v), c.xs[i] = (double)v;
    }
  }
  if (c.odd && TX == T_F32) {
    size_t i = draw(0, p.m * p.k - 1);
    x4.words[i] = draw(0, 1) ? 0x7f800000u : 0x7fc00000u, c.xs[i] = (double)AS_F32(x4.words[i]);
  }
#ifdef IS_FEW
  draw_groups(c);
#endif
}

#ifdef ROWS_BLOCKS
/* Planes of a type: bytes of each, and the kind: codes, f16, f16 then bytes, f32, exponents. */
struct a_plane {
  u32 bytes;
  char kind;
};
static const a_plane planes[][4] = {{{16, 'c'}, {2, 'h'}},
                                    {{16, 'c'}, {4, 'h'}},
                                    {{16, 'c'}, {4, 'c'}, {2, 'h'}},
                                    {{16, 'c'}, {4, 'h'}, {4, 'c'}},
                                    {{32, 'c'}, {2, 'h'}},
                                    {{64, 'c'}, {16, 'c'}, {4, 'h'}},
                                    {{64, 'c'}, {32, 'c'}, {12, 'c'}, {2, 'h'}},
                                    {{128, 'c'}, {16, '2'}},
                                    {{128, 'c'}, {32, 'c'}, {16, '2'}},
                                    {{128, 'c'}, {64, 'c'}, {16, 'c'}, {2, 'h'}},
                                    {{256, 'c'}, {32, 'c'}, {4, 'f'}},
                                    {{16, 'c'}, {2, 'h'}},
                                    {{128, 'c'}, {8, '1'}},
                                    {{16, 'c'}, {1, 'e'}},
                                    {{48, 'c'}, {4, 'c'}, {2, 'h'}},
                                    {{64, 'c'}, {2, 'h'}}};

static void draw_plane(uint8_t *to, const a_plane &plane, u32 n_blocks) {
  for (u32 i = 0; i < n_blocks * plane.bytes; i++) to[i] = (uint8_t)draw(0, 255);
  for (u32 b = 0; b < n_blocks; b++) {
    uint8_t *at = to + b * plane.bytes;
    f32 d = draw_value(0.01f);
    u32 halves = plane.kind == 'h' ? plane.bytes / 2 : plane.kind == '2' ? 2 : plane.kind == '1';
    for (u32 i = 0; i < halves; i++) {
      float16_t v(draw_value(0.01f));
      memcpy(at + 2 * i, &v.bits, 2);
    }
    if (plane.kind == 'f') memcpy(at, &d, 4);
    if (plane.kind == 'e') *at = (uint8_t)draw(118, 130);
  }
}

static void draw_w(a_case &c) {
  u32 shift = k_block_shift(TB), n_blocks = p.n * (p.k >> shift), at = 0, wide = 0, n = 0;
  std::vector<uint8_t> bytes;
  u32 starts[5] = {};
  for (; n < 4 && planes[TB - T_Q4_0][n].bytes; n++) {
    const a_plane &plane = planes[TB - T_Q4_0][n];
    starts[n] = at, at += K_PAD(n_blocks * plane.bytes);
    bytes.resize(at);
    draw_plane(&bytes[starts[n]], plane, n_blocks);
  }
  starts[n] = at;
  while (wide < n && planes[TB - T_Q4_0][wide].bytes % 16 == 0) wide++;
  std::vector<u32> all(bytes.size() / 4);
  memcpy(all.data(), bytes.data(), bytes.size());
  w4.words.assign(all.begin(), all.begin() + starts[wide] / 4);
  wb.words.assign(all.begin() + starts[wide] / 4, all.end());
  if (wide > 1) p.a1 = starts[1] / 16;
  if (wide > 2) p.a2 = starts[2] / 16;
  if (wide + 1 < n) p.b1 = (starts[wide + 1] - starts[wide]) / 4;
#if !defined(ROWS_DIRECT) && !defined(IS_WIDE)
  p.two_23 = 0x4b000000u;
#endif
  c.ws.resize((size_t)p.n * p.k);
#define WORD(i) all[i]
/* Types with a grid have no such kernel (they need grid_blocks.kh). */
#define k_is_grid(T) false
#define K_QUAD_GRID(W, T, b, q, codes, scale)
  for (u32 i = 0; i < p.n * p.k; i++) {
    f32 v;
    BLOCK_ELEMENT(WORD, TB, 1u, n_blocks, i >> shift, (i & ((1u << shift) - 1u)), v)
    c.ws[i] = (double)v;
  }
}
static const u32 K_UNIT = 32, T_OWN = T_F32;
static const double LOOSE = 1.5e-3; /* x and w are rounded to f16 */
#else
static void draw_w(a_case &c) {
  w4.words = draw_floats((size_t)p.n * p.k, T_W, 1, c.ws);
  if (!c.odd) return;
  size_t i = draw(0, p.n * p.k - 1);
  if (T_W == T_F32) w4.words[i] = 0x7f800000u;
  else put_half(w4.words, i, float16_t(INFINITY).bits);
  c.ws[i] = INFINITY;
}
static const u32 K_UNIT = 8, T_OWN = T_W;
static const double LOOSE = 1e-6;
#endif

/* ---- cases ---- */

static void draw_constants() {
#ifdef IS_WIDE
  products_late = draw(0, 1);
  DOWN = draw(1, 2);
#elif defined(ROWS_DIRECT)
  element_layout = 1;
#else
  element_layout = draw(0, 3);
#endif
  SUBS = draw(1, 8);
  AHEAD = 1u << draw(0, 2);
  TX = draw(0, 2) ? T_F32 : T_OWN;
#ifdef ROWS_DIRECT
  DOWN = 1u << draw(0, 2);
  SUBS = DOWN * draw(1, 8 / DOWN);
#ifndef ROWS_F32
  if (draw(0, 1)) TX = T_SCALED_F16;
#endif
#endif
  TY = draw(0, 1) ? T_F32 : T_OWN;
  EXTRA = draw(0, 3);
  ACT = 0;
  TE = EXTRA == EXTRA_GATE || draw(0, 1) ? T_F32 : T_OWN;
#ifdef ROWS_BLOCKS
  do TB = draw(T_Q4_0, T_TQ2_0);
  while (TB == T_TQ1_0);
#endif
#ifdef IS_FEW
  TX = T_F32;
  TB = draw(0, 1) ? T_Q4_K : T_Q8_0;
  do group_size = draw(0, 2) ? 256 : 512, DOWN = 1u << draw(0, 3), STAGES = draw(2, 4);
  while (STAGES * STAGE_BYTES + 1024 > DYNAMIC_MAX);
#endif
#ifdef IS_WIDE
  if (AHEAD * RUNS % 2) AHEAD *= 2; /* two left factors take turns */
#endif
}

static a_case draw_case() {
  a_case c = {};
  draw_constants();
  u32 unit = K_UNIT;
#ifdef ROWS_BLOCKS
  unit = 1u << k_block_shift(TB);
#endif
#ifdef IS_FEW
  unit = 256;
  const u32 max_rows = BN;
#else
  const u32 max_rows = 16 * FC;
#endif
  p = {};
  p.m = draw(1, max_rows), p.n = draw(1, draw(0, 3) ? 70 : 300), p.k = unit * draw(1, 1400 / unit);
  c.splits = draw(0, 2) ? 1 : draw(2, 3);
  c.odd = draw(0, 4) == 0;
#ifdef IS_FEW
  c.splits = 1;
  if (draw(0, 2) == 0) p.k += 256 * draw(0, 16);
#elif defined(IS_WIDE)
  c.odd = false;
#elif defined(ROWS_DIRECT)
  if (TX == T_SCALED_F16) c.odd = false; /* an infinity times both parts may be NaN */
#endif
  if (c.splits > 1) TY = T_F32, EXTRA = 0;
  if (TY != T_F32) p.n += p.n % 2;
  VEC_Y = TY == T_F32 && p.n % 4 == 0;
#ifndef IS_FEW
  p.k_part = ((p.k + c.splits - 1) / c.splits + K_PART - 1) / K_PART * K_PART;
#endif
#ifdef IS_FEW
  p.groups = (p.n + 16 * DOWN - 1) / (16 * DOWN);
#elif defined(IS_WIDE)
  p.tiles_m = (p.m + BN - 1) / BN, p.tiles_n = (p.n + 64 * DOWN - 1) / (64 * DOWN);
  c.splits = (p.k + p.k_part - 1) / p.k_part; /* no part is empty */
  p.groups = p.tiles_m * p.tiles_n * c.splits;
#else
  u32 height = 16 * FR;
#ifdef ROWS_DIRECT
  height *= DOWN;
  PACKED = p.m <= 8;
#endif
  p.tiles = (p.n + height - 1) / height;
  p.groups = p.tiles * c.splits;
#endif
  draw_x(c);
  draw_w(c);
  extra.words = draw_floats(EXTRA == EXTRA_GATE ? p.m * p.n : p.n, TE, 1, c.es);
  size_t words = ((size_t)c.splits * p.m * p.n + (TY != T_F32)) >> (TY != T_F32);
  y.words.assign(VEC_Y ? 0 : words, 0xdeadbeef);
  y4.words.assign(VEC_Y ? words : 0, 0xdeadbeef);
  return c;
}

static double found(const a_case &c, u32 i) {
  const std::vector<u32> &words = VEC_Y ? y4.words : y.words;
  double sum = 0;
  for (u32 s = 0; s < c.splits; s++) {
    size_t at = (size_t)s * p.m * p.n + i;
    sum += TY == T_F32 ? (double)AS_F32(words[at]) : half_at(words, at);
  }
  return sum;
}

static bool check_element(const a_case &c, u32 r, u32 n) {
  double sum = 0, size = 0;
  for (u32 i = 0; i < p.k; i++) {
    double v = c.xs[(size_t)r * p.k + i] * c.ws[(size_t)n * p.k + i];
    sum += v, size += fabs(v);
  }
  double max = 0; /* the error of x is relative to the row's largest element */
  for (u32 i = 0; i < p.k; i++) max = fmax(max, fabs(c.xs[(size_t)r * p.k + i]));
  if (EXTRA == EXTRA_BIAS) sum += c.es[n];
  if (EXTRA == EXTRA_ONE_BIAS) sum += c.es[0];
  if (EXTRA == EXTRA_GATE) sum *= c.es[(size_t)r * p.n + n], size *= fabs(c.es[(size_t)r * p.n + n]);
  double x = found(c, r * p.n + n), narrow = TY == T_F32 ? 1e-6 : TY == T_BF16 ? 8e-3 : 1e-3;
  bool fits = TY != T_F16 || fabs(sum) < 65000;
  bool right = std::isnan(sum)            ? std::isnan(x)
               : std::isinf(sum) || !fits ? x == sum || (!fits && (std::isinf(x) || fabs(x) > 64000))
                                          : fabs(x - sum) <= LOOSE * size + narrow * fabs(sum) + 1e-7;
  if (!right) printf("row %u (to %g), column %u is %.9g but must be %.9g (of sizes %g)\n", r, max, n, x, sum, size);
  return right;
}

static void run(u32 number) {
#ifdef IS_FEW
  const u32 sums = WARPS * BN * 80;
  hopper_begin((STAGES * STAGE_BYTES > sums ? STAGES * STAGE_BYTES : sums) + 1024);
  run_group(number, group_size);
  hopper_end();
#elif defined(IS_WIDE)
  const u32 x = 4 * (2 / DOWN) * BN * 128, sums = 2 * BN * 272;
  hopper_begin((x > sums ? x : sums) + 1024);
  run_group(number, 384);
  hopper_end();
#else
  run_group(number, 32 * SUBS);
#endif
}

static bool pass_case() {
  a_case c = draw_case();
  for (u32 g = 0; g < p.groups; g++) run(g);
  bool right = true;
  for (u32 e = 0; e < p.m * p.n && right; e++) right = check_element(c, e / p.n, e % p.n);
  if (right) return true;
  printf("elements lie by %u, %u sub-groups, %u ahead, types %u %u %u, extra %u, %u x %u x %u, "
         "%u parts, odd %d",
         element_layout, SUBS, AHEAD, TX, TY, TE, EXTRA, p.m, p.n, p.k, c.splits, c.odd);
#ifdef ROWS_BLOCKS
  printf(", blocks of type %u", TB);
#endif
  printf("\n");
  return false;
}
