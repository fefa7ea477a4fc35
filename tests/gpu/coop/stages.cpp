/* quant_stages.hopper.k on the host (k_coop.h): random rows of every magnitude, some with non-finite elements. The result
 * is looked up element by element, where quant_wide.kh reads it.
 *
 *   stages NUMBER SEED     closes with 'N passed, N failed, N skipped'
 *
 * Compiled with KERNEL_FILE and COOP_HOPPER. */
#include "cases.h"
/* */
#include KERNEL_FILE

static void draw_x(std::vector<f32> &values) {
  static const f32 sizes[] = {1, 1, 100, 1e-3f, 3e4f, 1e20f, 1e-20f, 0};
  values.resize((size_t)p.rows * p.k);
  for (u32 r = 0; r < p.rows; r++) {
    f32 by = sizes[draw(0, 7)];
    for (u32 k = 0; k < p.k; k++) values[(size_t)r * p.k + k] = by * ((f32)(next() >> 8) / 8388608.0f - 1.0f);
  }
  if (draw(0, 3) == 0) values[draw(0, p.rows * p.k - 1)] = draw(0, 1) ? INFINITY : NAN;
  x.words.resize(values.size());
  memcpy(x.words.data(), values.data(), values.size() * 4);
}

/* Element i of 64 of a round and row, as bits. */
static u32 staged(u32 round, u32 row, u32 i) {
  const size_t vector = ((size_t)round * p.rows + row) * 8 + (i / 8 ^ row % 8), element = vector * 8 + i % 8;
  return y.words[element / 2] >> 16 * (element % 2) & 0xffffu;
}

static bool check_row(const std::vector<f32> &values, u32 row) {
  f32 highest = 0;
  for (u32 k = 0; k < p.k; k++) {
    f32 v = fabsf(values[(size_t)row * p.k + k]);
    if (std::isfinite(v) && v > highest) highest = v;
  }
  const f32 back = AS_F32(scales.words[row]), scaled = highest / back;
  if (highest > 1e-30f && !(scaled >= 8192 && scaled < 32768)) {
    printf("row %u: the largest element %g is %g\n", row, highest, scaled);
    return false;
  }
  const u32 runs = 1u << k_run_shift(TB), per_block = 1u << k_unit_shift(TB);
  for (u32 round = 0; round < p.rounds; round++)
    for (u32 i = 0; i < 64; i++) {
      const u32 t = i / 2 % 4, unit = round / runs * 4 + t;
      const u32 k = (unit / per_block << k_block_shift(TB)) + 4 * k_run_quad(TB, unit % per_block, round % runs) +
                    i / 16 * 4 + i % 2 * 2 + i / 8 % 2;
      const f32 v = k < p.k ? values[(size_t)row * p.k + k] : 0;
      const u32 want = (u32)float16_t(v / back).bits, found = staged(round, row, i);
      if (found == want || (std::isnan(v) && (found & 0x7fffu) > 0x7c00u)) continue;
      printf("row %u, round %u, element %u (k %u, %g) is 0x%x but must be 0x%x\n", row, round, i, k, v, found, want);
      return false;
    }
  return true;
}

static void run(u32 number) {
  hopper_begin(0);
  run_group(number, 256);
  hopper_end();
}

static bool pass_case() {
  element_layout = 0;
  do TB = draw(T_Q4_0, T_TQ2_0);
  while (TB == T_TQ1_0);
  const u32 unit = 1u << k_block_shift(TB), span = 64u << k_run_shift(TB);
  p = {};
  p.rows = draw(1, 20), p.k = unit * draw(1, 1400 / unit);
  p.rounds = (p.k + span - 1) / span << k_run_shift(TB);
  std::vector<f32> values;
  draw_x(values);
  y.words.assign((size_t)p.rounds * p.rows * 32, 0x7e007e00u);
  scales.words.assign(p.rows, 0);
  p.groups = p.rows;
  bool right = true;
  for (u32 g = 0; g < p.rows; g++) run(g);
  for (u32 r = 0; r < p.rows && right; r++) right = check_row(values, r);
  if (right) return true;
  printf("blocks of type %u, %u rows of %u\n", TB, p.rows, p.k);
  return false;
}
