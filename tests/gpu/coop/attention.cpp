/* attention_coop*.matrix.k and attention_wide*.hopper.k on the host (k_coop.h, k_hopper.h) against the formula in
 * double: random shapes, masks, splits and element mappings of matrices, non-finite values at masked keys.
 *
 *   attention NUMBER SEED     closes with 'N passed, N failed, N skipped'
 *
 * Compiled once for each kernel: KERNEL_FILE, COOP_BF16 for those of bf16, COOP_HOPPER for attention_wide*. */
#include "cases.h"
/* */
#include KERNEL_FILE

#ifdef COOP_BF16
static const double TOLERANCE = 1e-2;
static const u32 INFINITE = 0x7f80, NOT_A_NUMBER = 0x7fc0;
#else
static const double TOLERANCE = 2e-3;
static const u32 INFINITE = 0x7c00, NOT_A_NUMBER = 0x7e00;
#endif

/* ---- the launch ---- */

#ifdef COOP_HOPPER
static u32 SUBS;                                   /* has no effect */
static const u32 GROUP_ROWS = 128, MAX_KEYS = 700; /* rings of buffers go round */
static void run(u32 number) {
  hopper_begin((5 + Q_SPLIT) * 256 * WIDE + 1024);
  run_group(number, 384);
  hopper_end();
}
#else
static const u32 MAX_KEYS = 200;
#define GROUP_ROWS (16 * SUBS)
static void run(u32 number) { run_group(number, 32 * SUBS); }
#endif

/* ---- random cases ---- */

static std::vector<u32> draw_tensor(size_t n, f32 size) {
  std::vector<u32> words((n + 7) / 8 * 4);
  for (size_t i = 0; i < n; i++) words[i / 2] |= (u32)float16_t(draw_value(size)).bits << 16 * (i % 2);
  return words;
}
static double at(const std::vector<u32> &words, size_t i) { return (double)(f32)element_of(words[i / 2], i % 2); }
/* q and what has its type: f32 with Q_F32 */
static std::vector<u32> draw_like_q(size_t n, f32 size) {
  if (!Q_F32) return draw_tensor(n, size);
  std::vector<u32> words((n + 3) / 4 * 4);
  for (size_t i = 0; i < n; i++) words[i] = AS_U32(draw_value(size));
  return words;
}
static double at_like_q(const std::vector<u32> &words, size_t i) {
  return Q_F32 ? (double)AS_F32(words[i]) : at(words, i);
}

struct a_case {
  u32 batch, kv_heads, heads_per_kv, queries, keys, d, dv;
  bool places_first;
  u32 n_keys[2];          /* by batch row: keys of this run */
  i32 offset[2];          /* by batch row: the key of query 0 */
  std::vector<u32> sinks; /* only if EXTRA is 2 */
  u32 heads() const { return kv_heads * heads_per_kv; }
  size_t rows() const { return (size_t)batch * heads() * queries; }
};

static void draw_constants() {
  element_layout = draw(0, 3);
#ifdef COOP_HOPPER
  products_late = draw(0, 1);
#endif
  Q_F32 = T_IN == T_F16 && draw(0, 1);
  Q_SPLIT = Q_F32 && draw(0, 3) > 0;
  SUBS = 4 * draw(1, 2);
  CAUSAL = draw(0, 2) > 0;
  HAS_CAP = draw(0, 3) == 0;
  HAS_LEN = draw(0, 1);
  EXTRA = draw(0, 2);
  SPLIT = draw(0, 3) > 0;
  PARTIAL = draw(0, 2) == 0;
  if (EXTRA == 1 && !CAUSAL) EXTRA = 0; /* an offset only moves the mask */
  if (EXTRA == 2 && PARTIAL) EXTRA = 0; /* then the combine kernel applies the sinks */
}

static void set_strides(const a_case &c) {
  u32 h = c.heads(), k = c.kv_heads;
  if (c.places_first) {
    p.q_place = h * c.d, p.k_place = k * c.d, p.v_place = k * c.dv, p.y_place = h;
    p.q_head = c.d, p.k_head = c.d, p.v_head = c.dv, p.y_head = 1;
  } else {
    p.q_place = c.d, p.k_place = c.d, p.v_place = c.dv, p.y_place = 1;
    p.q_head = c.queries * c.d, p.k_head = c.keys * c.d, p.v_head = c.keys * c.dv, p.y_head = c.queries;
  }
}

static void draw_lengths(a_case &c) {
  p.len_step = draw(0, 1), p.offset_step = draw(0, 1);
  for (u32 b = 0; b < 2; b++) c.n_keys[b] = HAS_LEN ? b && !p.len_step ? c.n_keys[0] : draw(0, c.keys) : c.keys;
  for (u32 b = 0; b < 2; b++) {
    i32 drawn = (i32)draw(0, c.queries + c.keys) - (i32)c.queries, usual = (i32)c.n_keys[b] - (i32)c.queries;
    c.offset[b] = EXTRA != 1 ? usual : b && !p.offset_step ? c.offset[0] : drawn;
  }
  len.words = {c.n_keys[0], c.n_keys[1]};
  extra.words = {(u32)c.offset[0], (u32)c.offset[1]};
  if (EXTRA == 2) extra.words = c.sinks = draw_like_q(c.heads(), 1);
}

static void poison_values(size_t n) {
  for (u32 i = 0; i < 2; i++) {
    u32 where = draw(0, (u32)n - 1), shift = 16 * (where % 2);
    u32 what = draw(0, 1) ? INFINITE : NOT_A_NUMBER;
    v.words[where / 2] = (v.words[where / 2] & ~(0xffffu << shift)) | what << shift;
  }
}

static a_case draw_case() {
  a_case c = {};
  draw_constants();
  c.batch = draw(1, 2), c.kv_heads = draw(1, 2), c.heads_per_kv = draw(1, 3), c.queries = draw(1, 150);
  c.keys = draw(0, 2) ? draw(1, MAX_KEYS) : c.queries;
  c.d = 8 * draw(1, WIDE / 8), c.dv = 8 * draw(1, WIDE / 8), c.places_first = draw(0, 1);
  p = {};
  p.n_batch = c.batch, p.n_q = c.queries, p.n_keys = c.keys, p.n_kv = c.kv_heads, p.heads_per_kv = c.heads_per_kv;
  p.d = c.d, p.dv = c.dv, p.hidden = 0xff800000u, p.scale = 1 / sqrtf((f32)c.d), p.softcap = 2;
  p.window = CAUSAL && draw(0, 2) == 0 ? draw(1, 100) : 0;
  p.splits = PARTIAL ? draw(2, 3) : 1;
  p.row_blocks = (c.heads_per_kv * c.queries + GROUP_ROWS - 1) / GROUP_ROWS;
  p.groups = p.splits * c.kv_heads * c.batch * p.row_blocks;
  set_strides(c);
  draw_lengths(c);
  size_t n_values = (size_t)c.batch * c.kv_heads * c.keys * c.dv;
  q.words = draw_like_q(c.rows() * c.d, Q_F32 && draw(0, 1) ? 1e-4f : 1);
  k.words = draw_tensor((size_t)c.batch * c.kv_heads * c.keys * c.d, 1);
  v.words = draw_tensor(n_values, draw(0, 1) && SPLIT ? 9 : 1); /* larger than one number per weight allows */
  if (CAUSAL && draw(0, 1)) poison_values(n_values);
  y.words.assign(PARTIAL ? p.splits * c.rows() * c.dv : c.rows() * c.dv / (Q_F32 ? 1 : 2), 0xdeadbeef);
  stats.words.assign(2 * p.splits * c.rows(), 0xdeadbeef);
  return c;
}

/* ---- expected and actual results ---- */

struct a_row {
  u32 batch, head, query;
};

static bool is_seen(const a_case &c, const a_row &r, u32 key) {
  i32 own = (i32)r.query + c.offset[r.batch], j = (i32)key;
  return !CAUSAL || (j <= own && (p.window == 0 || j + (i32)p.window > own));
}

static std::vector<double> wanted(const a_case &c, const a_row &r) {
  size_t q_at = (size_t)r.batch * c.heads() * c.queries * c.d + r.query * p.q_place + r.head * p.q_head;
  u32 kv = r.head / c.heads_per_kv;
  std::vector<double> score(c.n_keys[r.batch], -INFINITY), sum(c.dv, 0.0);
  double max = c.sinks.empty() ? -INFINITY : at_like_q(c.sinks, r.head), total = 0;
  for (u32 j = 0; j < score.size(); j++) {
    size_t k_at = (size_t)r.batch * c.keys * c.kv_heads * c.d + j * p.k_place + kv * p.k_head;
    if (!is_seen(c, r, j)) continue;
    score[j] = 0;
    for (u32 e = 0; e < c.d; e++) score[j] += at_like_q(q.words, q_at + e) * at(k.words, k_at + e);
    score[j] *= (double)p.scale;
    if (HAS_CAP) score[j] = (double)p.softcap * tanh(score[j] / (double)p.softcap);
    max = fmax(max, score[j]);
  }
  if (!c.sinks.empty()) total = exp(at_like_q(c.sinks, r.head) - max);
  for (u32 j = 0; j < score.size(); j++) {
    size_t v_at = (size_t)r.batch * c.keys * c.kv_heads * c.dv + j * p.v_place + kv * p.v_head;
    if (!is_seen(c, r, j)) continue;
    double weight = exp(score[j] - max);
    total += weight;
    for (u32 e = 0; e < c.dv; e++) sum[e] += weight * at(v.words, v_at + e);
  }
  for (double &x : sum) x = total == 0 ? 0 : x / total;
  return sum;
}

static double found(const a_case &c, size_t row, u32 e) {
  if (!PARTIAL) return at_like_q(y.words, row * c.dv + e);
  double max = -INFINITY, total = 0, sum = 0;
  for (u32 s = 0; s < p.splits; s++) max = fmax(max, (double)AS_F32(stats.words[2 * (s * c.rows() + row)]));
  for (u32 s = 0; s < p.splits; s++) {
    size_t part = s * c.rows() + row;
    double share = exp((double)AS_F32(stats.words[2 * part]) - max);
    total += share * (double)AS_F32(stats.words[2 * part + 1]);
    sum += share * (double)AS_F32(y.words[part * c.dv + e]);
  }
  return total == 0 ? 0 : sum / total;
}

/* One number per weight or per element of q is the choice of who calls: a result of f32 is as inaccurate as of f16. */
static double tolerance() { return Q_SPLIT && SPLIT ? 1e-4 : TOLERANCE; }
static bool is_right(double x, double want) {
  if (std::isnan(want)) return std::isnan(x);
  if (std::isinf(want)) return x == want || std::isnan(x); /* the product may multiply infinity by a weight of 0 */
  return fabs(x - want) <= tolerance() + tolerance() * fabs(want);
}

/* SPEC section 8: the tolerance of each element, and of the whole a tenth of that. The whole is checked only with
 * weights of two numbers (SPLIT), and if it is an average: among few elements one rounding could exceed it. */
static bool check_case(const a_case &c, double *whole) {
  const size_t FEW = 1000;
  double errors = 0, size = 0;
  for (size_t i = 0; i < c.rows(); i++) {
    a_row r = {(u32)(i / (c.heads() * c.queries)), (u32)(i / c.queries % c.heads()), (u32)(i % c.queries)};
    size_t row = (size_t)r.batch * c.heads() * c.queries + r.query * p.y_place + r.head * p.y_head;
    std::vector<double> want = wanted(c, r);
    for (u32 e = 0; e < c.dv; e++) {
      double x = found(c, row, e), exact = PARTIAL || Q_F32 ? want[e] : (double)(f32)float16_t((f32)want[e]);
      if (!is_right(x, want[e])) {
        printf("batch %u, head %u, query %u, element %u is %g but must be %g\n", r.batch, r.head, r.query, e, x,
               want[e]);
        return false;
      }
      if (std::isfinite(x) && std::isfinite(exact)) errors += (x - exact) * (x - exact), size += exact * exact;
    }
  }
  *whole = size > 0 ? sqrt(errors / size) : 0;
  return !SPLIT || Q_F32 != Q_SPLIT || c.rows() * c.dv < FEW || *whole <= tolerance() / 10;
}

static bool pass_case() {
  a_case c = draw_case();
  double whole = 0;
  for (u32 g = 0; g < p.groups; g++) run(g);
  if (check_case(c, &whole)) return true;
  printf(
    "elements lie by %u, %u sub-groups, %u x %u (%u) heads, %u queries, %u keys, %u and %u "
    "wide, causal %u, cap %u, len %u, extra %u, window %u, %u splits, two weights %u, q of %u f16: off by %.3g of the "
    "whole\n",
    element_layout, SUBS, c.batch, c.heads(), c.kv_heads, c.queries, c.keys, c.d, c.dv, CAUSAL, HAS_CAP, HAS_LEN, EXTRA,
    p.window, p.splits, SPLIT, Q_F32 + Q_SPLIT, whole);
  return false;
}
