/* matmul_coop*.matrix.k and matmul_wide*.hopper.k on the host (k_coop.h, k_hopper.h) against sums in double: random
 * shapes, tiles, batches, splits of k and types of the result.
 *
 *   matmul NUMBER SEED     closes with 'N passed, N failed, N skipped'
 *
 * Compiled once for each kernel: KERNEL_FILE, COOP_BF16 for those of bf16, COOP_HOPPER for matmul_wide*. */
#include "cases.h"
/* */
#include KERNEL_FILE

#ifdef COOP_BF16
static const u32 T_OWN = T_BF16;
#else
static const u32 T_OWN = T_F16;
#endif

static double half_at(const std::vector<u32> &words, size_t i) { return (double)(f32)element_of(words[i / 2], i % 2); }

/* n elements of the kernel's 16-bit type, and their values. */
static std::vector<u32> draw_halves(size_t n, std::vector<double> &values) {
  std::vector<u32> words((n + 7) / 8 * 4);
  values.resize(n);
  for (size_t i = 0; i < n; i++) {
    words[i / 2] |= (u32)float16_t(draw_value()).bits << 16 * (i % 2);
    values[i] = half_at(words, i);
  }
  return words;
}

struct a_case {
  u32 splits, batches;
  std::vector<double> as, bs, es; /* [batch, m, k], [batch, k, n] or [batch, n, k], [n] */
  std::vector<double> scales;     /* [m], or empty */
  std::vector<double> ups;        /* DUAL: as bs */
};

#ifdef COOP_HOPPER
static u32 EVEN, AHEAD; /* have no effect */
static const u32 PAIR = 0, SCALED = 0, DUAL = 0;
static window<u32> scales;
static window<u32x4> up4;
static void run(u32 number) {
  hopper_begin(STAGES * STAGE + 1024);
  run_group(number, 384);
  hopper_end();
}
static void draw_tile() {
  products_late = draw(0, 1);
  TRANS = draw(0, 1);
  GATHER = 0;
  ACT = 0;
}
#else
static void run(u32 number) { run_group(number, 32 * SX * SY); }
static void draw_tile() {
  element_layout = draw(0, 3);
  SX = draw(1, 2), SY = draw(1, 2);
  BK = draw(0, 1) ? 32 : 16;
  STAGES = draw(1, 2);
  AHEAD = draw(0, 1);
  TRANS = draw(0, 1);
  PAIR = draw(0, 2) == 0;
  if (PAIR && 2 * BM * BK / 8 > LOADS * 32 * SX * SY) PAIR = 0; /* no lowering gives an invocation more */
  SCALED = draw(0, 2) == 0;
  DUAL = TRANS && draw(0, 2) == 0;
  SIZE_A = STAGES * A_ROWS * (BK / 8 + 1);
  SIZE_TILE = SIZE_A + STAGES * (TRANS ? B_COLUMNS * (BK / 8 + 1) : BK * (B_COLUMNS / 8 + 1));
  if (SIZE_TILE < 144 * SX * SY) SIZE_TILE = 144 * SX * SY;
  SIZE_ROWS = 1;
  GATHER = 0;
  ACT = 0;
}
#endif

static a_case draw_case() {
  a_case c = {};
  draw_tile();
  p = {};
  const bool whole = draw(0, 3) == 0;
  p.m = whole ? BM * draw(1, 2) : draw(1, 150);
  p.n = whole ? BN : TRANS ? draw(1, 150) : 8 * draw(1, 20);
  p.k = whole ? BK * draw(1, 4) : 8 * draw(1, draw(0, 3) ? 20 : 100);
  c.splits = DUAL || draw(0, 2) ? 1 : 2;
  c.batches = PAIR || draw(0, 2) ? 1 : 2;
  p.k_part = ((p.k + c.splits - 1) / c.splits + BK - 1) / BK * BK;
  p.batches = c.batches;
  p.tiles_m = (p.m + BM - 1) / BM, p.tiles_n = (p.n + BN - 1) / BN;
  AXES = c.batches > 1;
  p.d0 = c.batches, p.sa0 = p.m * p.k, p.sb0 = p.k * p.n; /* PAIR: the second matrix, too, is after the first */
  EVEN = p.m % BM == 0 && p.n % BN == 0 && p.k_part * c.splits == p.k;
  TY = c.splits > 1 || draw(0, 1) || p.n % 2 ? T_F32 : T_OWN;
  EXTRA = c.splits == 1 && !DUAL && draw(0, 1) ? EXTRA_BIAS : EXTRA_NONE;
  ACT = DUAL && draw(0, 1);
  TE = T_OWN;
  VEC_Y = TY == T_F32 && p.n % 4 == 0;
  p.groups = p.tiles_m * p.tiles_n * c.splits * c.batches;
  a4.words = draw_halves((size_t)c.batches * p.m * p.k * (1 + PAIR), c.as);
  b4.words = draw_halves((size_t)c.batches * p.k * p.n, c.bs);
  if (DUAL) up4.words = draw_halves((size_t)c.batches * p.k * p.n, c.ups);
  extra.words = draw_halves(p.n, c.es);
  scales.words.clear();
  for (u32 i = 0; SCALED && i < p.m; i++) scales.words.push_back(AS_U32(draw_value()));
  for (u32 w : scales.words) c.scales.push_back((double)AS_F32(w));
  const size_t elements = (size_t)c.splits * c.batches * p.m * p.n, words = TY == T_F32 ? elements : elements / 2;
  y.words.assign(VEC_Y ? 0 : words, 0xdeadbeef);
  y4.words.assign(VEC_Y ? words : 0, 0xdeadbeef);
  return c;
}

static bool check_element(const a_case &c, u32 batch, u32 row, u32 column) {
  const std::vector<u32> &words = VEC_Y ? y4.words : y.words;
  double sum = 0, up = 0, size = 1, up_size = 1, found = 0;
  for (u32 i = 0; i < p.k; i++) {
    const size_t b = TRANS ? ((size_t)batch * p.n + column) * p.k + i : ((size_t)batch * p.k + i) * p.n + column;
    const size_t a = ((size_t)batch * p.m + row) * p.k + i;
    const double v = (c.as[a] + (PAIR ? c.as[a + p.m * p.k] : 0)) * c.bs[b];
    sum += v, size += fabs(v);
    const double w = DUAL ? (c.as[a] + (PAIR ? c.as[a + p.m * p.k] : 0)) * c.ups[b] : 0;
    up += w, up_size += fabs(w);
  }
  if (SCALED) sum *= c.scales[row], up *= c.scales[row];
  if (ACT) sum = fmax(sum, 0);
  if (DUAL) sum *= up, size *= up_size;
  if (EXTRA == EXTRA_BIAS) sum += c.es[column];
  for (u32 s = 0; s < c.splits; s++) {
    const size_t at = (((size_t)s * c.batches + batch) * p.m + row) * p.n + column;
    found += TY == T_F32 ? (double)AS_F32(words[at]) : half_at(words, at);
  }
  const double narrow = TY == T_F32 ? 0 : TY == T_BF16 ? 8e-3 : 1e-3;
  if (fabs(found - sum) <= 1e-6 * size + narrow * fabs(sum)) return true;
  printf("batch %u, row %u, column %u is %.9g but must be %.9g\n", batch, row, column, found, sum);
  return false;
}

static bool pass_case() {
  a_case c = draw_case();
  for (u32 g = 0; g < p.groups; g++) run(g);
  bool right = true;
  for (u32 b = 0; b < c.batches && right; b++)
    for (u32 e = 0; e < p.m * p.n && right; e++) right = check_element(c, b, e / p.n, e % p.n);
  if (right) return true;
  printf("elements lie by %u, tile %u x %u, step %u, %u stages, ahead %u, transposed %u, type %u, "
         "extra %u, even %u, %u x %u x %u, %u parts, %u batches, pair %u, scaled %u, dual %u\n",
         element_layout, BM, BN, BK, STAGES, AHEAD, TRANS, TY, EXTRA, EVEN, p.m, p.n, p.k, c.splits, c.batches, PAIR,
         SCALED, DUAL);
  return false;
}
