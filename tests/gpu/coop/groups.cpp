/* quant_groups.hopper.k on the host (k_coop.h): random rows of every magnitude, some with non-finite elements. The
 * result is looked up element by element, where quant_few.kh reads it.
 *
 *   groups NUMBER SEED     closes with 'N passed, N failed, N skipped'
 *
 * Compiled with KERNEL_FILE and COOP_HOPPER. */
#include "cases.h"
/* */
#include KERNEL_FILE

static void draw_x() {
  static const f32 sizes[] = {1, 1, 100, 1e-3f, 3e4f, 1e20f, 1e-20f, 0};
  const u32 n = p.m * p.blocks * 256;
  x.words.resize(n);
  f32 by = 1;
  for (u32 i = 0; i < n; i++) {
    if (i % 256 == 0) by = sizes[draw(0, 7)];
    x.words[i] = AS_U32(draw_value(by));
  }
  if (draw(0, 3) == 0) x.words[draw(0, n - 1)] = draw(0, 1) ? 0x7f800000u : 0x7fc00000u;
}

static f32 half_at(size_t i) { return (f32)element_of(y.words[i / 2], i % 2); }
static bool is_same(f32 a, f32 b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/* Whether a superblock of a row is what x says. */
static bool check_block(u32 row, u32 block) {
  static const u32 crossed[] = {0, 2, 1, 3};
  const bool there = row < p.m && block < p.blocks;
  const size_t at = (size_t)block * p.bn * 272;
  const f32 back = AS_F32(factors.words[block * p.bn + row]) * 5.9604644775390625e-08f;
  f32 highest = 0;
  for (u32 group = 0; group < 8; group++) {
    double sum = 0;
    for (u32 i = 0; i < 32; i++) {
      const f32 v = there ? AS_F32(x.words[(row * p.blocks + block) * 256 + group * 32 + i]) : 0;
      const f32 found = half_at(at + ((group * p.bn + row) * 4 + i / 8) * 8 + i % 8 / 4 * 4 + crossed[i % 4]);
      if (std::isfinite(v)) highest = fmaxf(highest, fabsf(v));
      sum += (double)found;
      if (is_same(found, (f32)float16_t(v / back))) continue;
      printf("row %u, block %u, element %u (%g) is %g, to be multiplied by %g\n", row, block, group * 32 + i, v, found,
             back);
      return false;
    }
    const size_t total = at + p.bn * 256 + row * 16 + group;
    const double both = (double)half_at(total) + (double)half_at(total + 8);
    if (std::isfinite(sum) ? fabs(both - sum) <= 1e-5 * (1 + fabs(sum)) : !std::isfinite(both)) continue;
    printf("row %u, block %u: the sum of group %u is %g but must be %g\n", row, block, group, both, sum);
    return false;
  }
  if (highest <= 1e-30f || (highest / back >= 256 && highest / back < 512)) return true;
  printf("row %u, block %u: the largest element %g is to be multiplied by %g\n", row, block, highest, back);
  return false;
}

static bool pass_case() {
  element_layout = 0;
  p = {};
  p.bn = 8u << draw(0, 2), p.m = draw(1, p.bn), p.blocks = draw(1, 9), p.steps = (p.blocks + 3) / 4 * 4;
  draw_x();
  y.words.assign((size_t)p.steps * p.bn * 136, 0x7e007e00u);
  factors.words.assign((size_t)p.steps * p.bn, 0x7fc00000u);
  p.groups = (p.steps * p.bn + 3) / 4;
  for (u32 g = 0; g < p.groups; g++) {
    hopper_begin(0);
    run_group(g, 128);
    hopper_end();
  }
  for (u32 row = 0; row < p.bn; row++)
    for (u32 block = 0; block < p.steps; block++)
      if (!check_block(row, block)) return printf("%u of %u rows of %u blocks\n", p.m, p.bn, p.blocks), false;
  return true;
}
