/* 8-bit floats by their definition: the value of every code is (-1)^s * m * 2^e with ldexp, and a number becomes the
 * code with the nearest value, on ties the even one, beyond the range the largest. Every f16 and bf16, and both sides
 * of every tie. And conversions between these, u16, u64 and the other types, with hand-written results. */
#include "base/float8.h"

#include <math.h>

#include "base/half.h"
#include "ir/element.h"
#include "test.h"

typedef struct format {
  rlx_dtype dtype;
  int mantissa, bias;
  unsigned largest; /* code */
  float (*decode)(uint8_t);
  uint8_t (*encode)(double);
} format;
static const format formats[] = {{RLX_F8E4M3, 3, 7, 0x7e, rlx_e4m3_to_f32, rlx_f64_to_e4m3},
                                 {RLX_F8E5M2, 2, 15, 0x7b, rlx_e5m2_to_f32, rlx_f64_to_e5m2}};
enum { N_FORMATS = 2 };

static double value_of(const format *f, unsigned code) {
  int exponent = (int)(code & 127) >> f->mantissa, fraction = (int)code & ((1 << f->mantissa) - 1);
  double v = exponent ? ldexp(fraction + (1 << f->mantissa), exponent - f->bias - f->mantissa)
                      : ldexp(fraction, 1 - f->bias - f->mantissa);
  return code & 128 ? -v : v;
}

static unsigned nearest(const format *f, double x) {
  unsigned best = 0, sign = signbit(x) ? 128 : 0;
  if (fabs(x) >= value_of(f, f->largest)) return f->largest | sign;
  for (unsigned c = 1; c <= f->largest; c++) {
    double was = fabs(fabs(x) - value_of(f, best)), now = fabs(fabs(x) - value_of(f, c));
    if (now < was || (now == was && c % 2 == 0)) best = c;
  }
  return best | sign;
}

static void check(const format *f, double x) {
  unsigned want = nearest(f, x), found = f->encode(x);
  if (isnan(x) ? !isnan(f->decode((uint8_t)found)) : found != want)
    FAIL("%s: %a became %02x, expected %02x", rlx_dtype_describe(f->dtype)->name, x, found, want);
}

TEST(every_code_has_its_value) {
  for (int i = 0; i < N_FORMATS; i++)
    for (unsigned code = 0; code < 256; code++) {
      float v = formats[i].decode((uint8_t)code);
      bool is_infinite = formats[i].dtype == RLX_F8E5M2 && (code & 127) == 0x7c;
      if (is_infinite) CHECK(isinf(v) && (signbit(v) != 0) == (code >= 128));
      else if ((code & 127) > formats[i].largest) CHECK(isnan(v));
      else CHECK((double)v == value_of(&formats[i], code) && (signbit(v) != 0) == (code >= 128));
      if (!is_infinite && !isnan(v)) CHECK_EQ_INT(formats[i].encode((double)v), code);
    }
}

TEST(every_number_of_16_bits_rounds_to_the_nearest) {
  for (int i = 0; i < N_FORMATS && !test_has_failed(); i++)
    for (unsigned h = 0; h < 65536; h++) {
      check(&formats[i], (double)rlx_f16_to_f32((uint16_t)h));
      check(&formats[i], (double)rlx_bf16_to_f32((uint16_t)h));
    }
}

TEST(half_ways_go_to_the_even_code) {
  for (int i = 0; i < N_FORMATS && !test_has_failed(); i++)
    for (unsigned code = 0; code <= formats[i].largest; code++) {
      double half = (value_of(&formats[i], code) + value_of(&formats[i], code + 1)) / 2; /* the last one saturates */
      double list[] = {half, nextafter(half, 0), nextafter(half, INFINITY)};
      for (int k = 0; k < 3; k++) check(&formats[i], list[k]), check(&formats[i], -list[k]);
    }
}

/* ---- conversions ---- */

static uint64_t convert(rlx_dtype from, uint64_t bits, rlx_dtype to) {
  uint64_t out = 0;
  rlx_tensor a = {.dtype = from, .data = &bits}, b = {.dtype = to, .data = &out};
  rlx_convert(&b, 0, &a, 0);
  return out;
}

static uint64_t f32(float v) { return rlx_f32_bits(v); }
static uint64_t f64(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

TEST(conversions_of_the_new_types) {
  const uint64_t max = UINT64_MAX, high = UINT64_C(1) << 63;
  struct {
    rlx_dtype from;
    uint64_t bits;
    rlx_dtype to;
    uint64_t want;
  } cases[] = {
    {RLX_F32, f32(-1), RLX_U16, 0},
    {RLX_F32, f32(65535.5f), RLX_U16, 65535},
    {RLX_F32, f32(1e9f), RLX_U16, 65535},
    {RLX_F32, f32(NAN), RLX_U16, 0},
    {RLX_I32, (uint32_t)-7, RLX_U16, 0},
    {RLX_I64, 70000, RLX_U16, 65535},
    {RLX_U16, 65535, RLX_I16, 32767},
    {RLX_U16, 65535, RLX_F32, f32(65535)},
    {RLX_U16, 3, RLX_BOOL, 1},
    {RLX_F32, f32(-1), RLX_U64, 0},
    {RLX_F32, f32(NAN), RLX_U64, 0},
    {RLX_F32, f32(INFINITY), RLX_U64, max},
    {RLX_F32, f32(0x1p63f), RLX_U64, high},
    {RLX_F64, f64(0x1p64), RLX_U64, max},
    {RLX_F64, f64(12.9), RLX_U64, 12},
    {RLX_I8, 0xff, RLX_U64, 0},
    {RLX_I64, INT64_MAX, RLX_U64, INT64_MAX},
    {RLX_U32, UINT32_MAX, RLX_U64, UINT32_MAX},
    {RLX_U64, max, RLX_U32, UINT32_MAX},
    {RLX_U64, max, RLX_I64, INT64_MAX},
    {RLX_U64, high, RLX_I8, 127},
    {RLX_U64, max, RLX_F32, f32(0x1p64f)},
    {RLX_U64, max, RLX_F64, f64(0x1p64)},
    {RLX_U64, high + 1, RLX_F64, f64(0x1p63)},
    {RLX_U64, high + (UINT64_C(1) << 39), RLX_F32, f32(0x1p63f)}, /* a tie: to even */
    /* just above the tie, by less than a double resolves */
    {RLX_U64, high + (UINT64_C(1) << 39) + 1, RLX_F32, f32(0x1.000002p63f)},
    {RLX_U64, high, RLX_BOOL, 1},
    {RLX_U64, high, RLX_F8E4M3, 0x7e},
    {RLX_F32, f32(449), RLX_F8E4M3, 0x7e},
    {RLX_F32, f32(-INFINITY), RLX_F8E4M3, 0xfe},
    {RLX_F32, f32(INFINITY), RLX_F8E5M2, 0x7b},
    {RLX_F32, f32(NAN), RLX_F8E4M3, 0x7f},
    {RLX_I32, (uint32_t)-3, RLX_F8E4M3, 0xc4},
    {RLX_BOOL, 1, RLX_F8E5M2, 0x3c},
    {RLX_F8E4M3, 0x7f, RLX_I32, 0},
    {RLX_F8E4M3, 0x7f, RLX_BOOL, 1},
    {RLX_F8E4M3, 0x80, RLX_BOOL, 0},
    {RLX_F8E4M3, 0xfe, RLX_I8, 0x80},
    {RLX_F8E5M2, 0x7c, RLX_F32, f32(INFINITY)},
    {RLX_F8E5M2, 0x7c, RLX_F8E4M3, 0x7e},
    {RLX_F8E4M3, 0x39, RLX_F8E5M2, 0x3c}, /* 1.125: a tie, to 1 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t found = convert(cases[i].from, cases[i].bits, cases[i].to);
    if (found != cases[i].want)
      FAIL("%s %llx as %s is %llx, expected %llx", rlx_dtype_describe(cases[i].from)->name,
           (unsigned long long)cases[i].bits, rlx_dtype_describe(cases[i].to)->name, (unsigned long long)found,
           (unsigned long long)cases[i].want);
  }
}
