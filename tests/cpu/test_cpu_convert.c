/* f16 and bf16 to f32 and back, on every instruction set of this machine: all values of 16 bits, and every rounding. The
 * portable conversions of base/half.h are what they are compared with. */
#include "base/half.h"
#include "cpu/attention.h"
#include "cpu/pointwise.h"
#include "test.h"

enum { ALL = 1 << 16 };

static bool is_nan(uint32_t bits) { return (bits & INT32_MAX) > 0x7f800000; }
/* The same bits, or a NaN for a NaN. */
static bool same(float found, float want) {
  uint32_t f = rlx_f32_bits(found), w = rlx_f32_bits(want);
  return is_nan(w) ? is_nan(f) : f == w;
}
/* The same bits, or a quiet NaN for a NaN. */
static bool same_half(rlx_dtype type, uint16_t found, uint16_t want) {
  const uint16_t infinite = type == RLX_F16 ? 0x7c00 : 0x7f80, quiet = type == RLX_F16 ? 0x200 : 0x40;
  if ((want & 0x7fff) <= infinite) return found == want;
  return (found & 0x7fff) > infinite && (found & quiet);
}

#define EXPECT(cond, ...) \
  if (!(cond)) FAIL(__VA_ARGS__)

static uint16_t halves[ALL + 1];
static float floats[ALL + 1];

TEST(every_value_widens) {
  for (int t = 0; t < 2; t++) {
    const rlx_dtype type = t ? RLX_BF16 : RLX_F16;
    for (uint32_t i = 0; i < ALL; i++) halves[i + 1] = (uint16_t)i;
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
      for (int kernel = 0; kernel < 2; kernel++) {
        if (kernel) cpu_floats_load((cpu_isa)isa, type, halves + 1, floats + 1, ALL);
        else cpu_attention((cpu_isa)isa)->widen(type, halves + 1, ALL / 8, 8, ALL / 8, floats + 1);
        for (uint32_t i = 0; i < ALL; i++) {
          float want = t ? rlx_bf16_to_f32((uint16_t)i) : rlx_f16_to_f32((uint16_t)i);
          EXPECT(same(floats[i + 1], want), "%s, %s %04x: %08x is not %08x", cpu_isa_name((cpu_isa)isa),
                 rlx_dtype_name(type), i, rlx_f32_bits(floats[i + 1]), rlx_f32_bits(want));
        }
      }
  }
}

/* Every sign, exponent and the first bits of the fraction, with low bits at, below and above a half of the last bit that
 * is kept. */
TEST(every_rounding) {
  static const uint32_t low[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x7fff, 0x8000, 0x8001, 0xffff};
  for (size_t l = 0; l < sizeof low / sizeof *low; l++) {
    for (uint32_t i = 0; i < ALL; i++) floats[i + 1] = rlx_f32_from_bits(i << 16 | low[l]);
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
      for (int t = 0; t < 2; t++) {
        const rlx_dtype type = t ? RLX_BF16 : RLX_F16;
        cpu_floats_store((cpu_isa)isa, type, floats + 1, halves + 1, ALL);
        for (uint32_t i = 0; i < ALL; i++) {
          uint16_t want = t ? rlx_f32_to_bf16(floats[i + 1]) : rlx_f32_to_f16(floats[i + 1]);
          EXPECT(same_half(type, halves[i + 1], want), "%s, %08x to %s: %04x is not %04x", cpu_isa_name((cpu_isa)isa),
                 rlx_f32_bits(floats[i + 1]), rlx_dtype_name(type), halves[i + 1], want);
        }
      }
  }
}

/* Any number of elements; nothing is written past them. */
TEST(every_length) {
  for (size_t n = 0; n < 70; n++)
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
      for (int t = 0; t < 2; t++) {
        const rlx_dtype type = t ? RLX_BF16 : RLX_F16;
        for (size_t i = 0; i <= n; i++) floats[i] = (float)i + 0.25f, halves[i] = 0x7777;
        cpu_floats_store((cpu_isa)isa, type, floats, halves, n);
        EXPECT(halves[n] == 0x7777, "%s: %zu elements are stored, and more", cpu_isa_name((cpu_isa)isa), n);
        for (size_t i = 0; i < n; i++)
          EXPECT(halves[i] == (t ? rlx_f32_to_bf16(floats[i]) : rlx_f32_to_f16(floats[i])), "element %zu of %zu", i, n);
        floats[n] = -1;
        cpu_attention((cpu_isa)isa)->widen(type, halves, 0, 1, n, floats);
        EXPECT(floats[n] == -1, "%s: %zu elements are widened, and more", cpu_isa_name((cpu_isa)isa), n);
        for (size_t i = 0; i < n; i++)
          EXPECT(floats[i] == (t ? rlx_bf16_to_f32(halves[i]) : rlx_f16_to_f32(halves[i])), "element %zu of %zu", i, n);
      }
}
