/* f16 and bf16 against an independent method: the value of every pattern by its definition, (-1)^s * m * 2^e with
 * ldexp, and conversion to 16 bits by searching the sorted values for the nearest. All 65,536 patterns, and both sides
 * of every rounding boundary. */
#include "base/half.h"

#include <math.h>
#include <stdint.h>

#include "conform/values.h"
#include "test.h"

typedef struct format {
  const char *name;
  int mantissa; /* bits */
  float (*to_f32)(uint16_t);
  uint16_t (*from_f32)(float);
  uint16_t (*from_f64)(double);
} format;

static const format formats[] = {
  {"f16", 10, rlx_f16_to_f32, rlx_f32_to_f16, rlx_f64_to_f16},
  {"bf16", 7, rlx_bf16_to_f32, rlx_f32_to_bf16, rlx_f64_to_bf16},
};
enum { N_FORMATS = 2 };

static unsigned infinity_of(const format *f) { return 0x7FFFu >> f->mantissa << f->mantissa; }

/* The value of a pattern below infinity. The pattern of infinity gives the number that would follow if the format
 * continued, which is what overflow is rounded against. */
static double value_of(const format *f, unsigned pattern) {
  int exponent_bits = 15 - f->mantissa, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = (int)(pattern >> f->mantissa);
  unsigned fraction = pattern & ((1u << f->mantissa) - 1);
  if (exponent == 0) return ldexp((double)fraction, 1 - bias - f->mantissa);
  return ldexp((double)(fraction + (1u << f->mantissa)), exponent - bias - f->mantissa);
}

/* The nearest pattern to |x| by bisection; on ties the even one. */
static uint16_t nearest(const format *f, double x) {
  double size = fabs(x);
  unsigned sign = signbit(x) ? 0x8000u : 0, low = 0, high = infinity_of(f);
  if (size >= value_of(f, high)) return (uint16_t)(sign | high);
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    if (value_of(f, middle) <= size) low = middle;
    else high = middle;
  }
  double below = size - value_of(f, low), above = value_of(f, high) - size;
  bool takes_low = below < above || (below == above && low % 2 == 0);
  return (uint16_t)(sign | (takes_low ? low : high));
}

TEST(every_pattern_widens_to_its_value) {
  for (int i = 0; i < N_FORMATS; i++) {
    const format *f = &formats[i];
    unsigned infinity = infinity_of(f);
    for (unsigned h = 0; h < 65536; h++) {
      unsigned pattern = h & 0x7FFF;
      float x = f->to_f32((uint16_t)h);
      if ((signbit(x) != 0) != (h >= 0x8000)) FAIL("%s %04x: sign of %a", f->name, h, (double)x);
      bool ok = pattern > infinity    ? isnan(x) && (rlx_f32_bits(x) & 0x00400000u) != 0
                : pattern == infinity ? isinf(x)
                                      : fabs((double)x) == value_of(f, pattern);
      if (!ok) FAIL("%s %04x became %a", f->name, h, (double)x);
    }
  }
}

TEST(every_pattern_comes_back) {
  for (int i = 0; i < N_FORMATS; i++) {
    const format *f = &formats[i];
    unsigned infinity = infinity_of(f), quiet = 1u << (f->mantissa - 1);
    for (unsigned h = 0; h < 65536; h++) {
      unsigned expected = (h & 0x7FFF) > infinity ? h | quiet : h;
      float x = f->to_f32((uint16_t)h);
      if (f->from_f32(x) != expected) FAIL("%s %04x by f32: %04x", f->name, h, f->from_f32(x));
      if (f->from_f64((double)x) != expected) FAIL("%s %04x by f64: %04x", f->name, h, f->from_f64((double)x));
    }
  }
}

static bool rounds_right(const format *f, double x) {
  bool ok = f->from_f64(x) == nearest(f, x) && f->from_f64(-x) == nearest(f, -x);
  float single = (float)x;
  return ok && f->from_f32(single) == nearest(f, (double)single) && f->from_f32(-single) == nearest(f, -(double)single);
}

/* Each boundary between neighbours is a tie; one f32 step and one f64 step to either side are not. */
TEST(every_boundary_rounds_to_nearest_even) {
  for (int i = 0; i < N_FORMATS; i++) {
    const format *f = &formats[i];
    for (unsigned h = 0; h < infinity_of(f); h++) {
      double low = value_of(f, h), tie = (low + value_of(f, h + 1)) / 2;
      const double around[] = {
        low,
        nextafter(low, INFINITY),
        nextafter(low, 0),
        (double)nextafterf((float)low, INFINITY),
        tie,
        nextafter(tie, INFINITY),
        nextafter(tie, 0),
        (double)nextafterf((float)tie, INFINITY),
        (double)nextafterf((float)tie, 0),
      };
      if (f->from_f64(tie) != (h % 2 == 0 ? h : h + 1)) FAIL("%s: tie above %04x", f->name, h);
      if (f->from_f32((float)tie) != (h % 2 == 0 ? h : h + 1)) FAIL("%s: f32 tie above %04x", f->name, h);
      for (size_t k = 0; k < sizeof around / sizeof *around; k++)
        if (!rounds_right(f, around[k])) FAIL("%s: %a, near %04x", f->name, around[k], h);
    }
  }
}

TEST(random_numbers_round_to_nearest_even) {
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (int n = 0; n < 200000; n++) {
    uint64_t r = rlx_random_next(&state);
    /* 1.fraction * 2^e, with e over the range of both formats and beyond */
    double x = ldexp(1.0 + (double)(r >> 12) * 0x1p-52, (int)(rlx_random_next(&state) % 300) - 150);
    for (int i = 0; i < N_FORMATS; i++)
      if (!rounds_right(&formats[i], x)) FAIL("%s: %a", formats[i].name, x);
  }
}

/* Just beyond a tie by less than f32 resolves: rounding to f32 first lands on the tie, and then on the wrong side for
 * every second pattern. The count shows that these cases distinguish the two methods. */
TEST(f64_is_rounded_once) {
  for (int i = 0; i < N_FORMATS; i++) {
    const format *f = &formats[i];
    int n_apart = 0;
    for (unsigned h = 0; h < infinity_of(f); h++) {
      double tie = (value_of(f, h) + value_of(f, h + 1)) / 2;
      double above = tie * (1 + 0x1p-40), below = tie * (1 - 0x1p-40);
      if (f->from_f64(above) != h + 1) FAIL("%s: above the tie over %04x", f->name, h);
      if (f->from_f64(below) != h) FAIL("%s: below the tie over %04x", f->name, h);
      n_apart += f->from_f32((float)above) != h + 1;
      n_apart += f->from_f32((float)below) != h;
    }
    CHECK_EQ_INT(n_apart, infinity_of(f));
  }
}

TEST(ends_of_the_range) {
  CHECK_EQ_INT(rlx_f32_to_f16(65504.0f), 0x7BFF);
  CHECK_EQ_INT(rlx_f32_to_f16(65519.996f), 0x7BFF);
  CHECK_EQ_INT(rlx_f32_to_f16(65520.0f), 0x7C00);
  CHECK_EQ_INT(rlx_f64_to_f16(-65520.0), 0xFC00);
  CHECK_EQ_INT(rlx_f32_to_f16(0x1p-24f), 0x0001);
  CHECK_EQ_INT(rlx_f32_to_f16(0x1p-25f), 0x0000);
  CHECK_EQ_INT(rlx_f32_to_f16(0x1.000002p-25f), 0x0001);
  CHECK_EQ_INT(rlx_f64_to_f16(-0x1p-1074), 0x8000);
  CHECK_EQ_INT(rlx_f64_to_f16(0x1.fffffffffffffp+1023), 0x7C00);
  CHECK_EQ_INT(rlx_f32_to_bf16(0x1.fffffep+127f), 0x7F80);
  CHECK_EQ_INT(rlx_f32_to_bf16(-0x1.fep+127f), 0xFF7F);
  CHECK_EQ_INT(rlx_f32_to_bf16(0x1p-133f), 0x0001);
  CHECK_EQ_INT(rlx_f32_to_bf16(0x1p-149f), 0x0000);
  CHECK_EQ_INT(rlx_f64_to_bf16(0x1.0000000000001p-134), 0x0001);
  CHECK_EQ_INT(rlx_f64_to_bf16(0x1p-134), 0x0000);
  CHECK_EQ_INT(rlx_f64_to_bf16(0x1p-1074), 0x0000);
}

/* A NaN with a payload only in the dropped bits must not become infinity. */
TEST(nan_stays_nan) {
  uint32_t low_payload = 0xFF800001u;
  float x;
  memcpy(&x, &low_payload, sizeof x);
  CHECK_EQ_INT(rlx_f32_to_f16(x), 0xFE00);
  CHECK_EQ_INT(rlx_f32_to_bf16(x), 0xFFC0);
  uint64_t wide_payload = 0x7FF0000000000001u;
  double y;
  memcpy(&y, &wide_payload, sizeof y);
  CHECK_EQ_INT(rlx_f64_to_f16(y), 0x7E00);
  CHECK_EQ_INT(rlx_f64_to_bf16(y), 0x7FC0);
}
