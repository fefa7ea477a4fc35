/* Block types and small float codes: decoders against golden blocks (tools/make_quant_goldens.py), encoders by their
 * error and by their output for values that no weight should have. */
#include <float.h>
#include <stdlib.h>

#include "base/half.h"
#include "quant/codes.h"
#include "quant_data.h"
#include "test.h"

enum { CHUNK = QUANT_CHUNK, BLOCK_TYPES = 24 };

typedef struct block_type {
  rlx_dtype dtype;
  double error;  /* bound on Gaussian values: what bench/quant_error prints, plus one per cent */
  int f16_at[2]; /* offsets of f16 scales in a block, -1: none */
} block_type;

static const block_type block_types[BLOCK_TYPES] = {
  {RLX_Q4_0, 0.0818, {0, -1}},    {RLX_Q4_1, 0.0698, {0, 2}},    {RLX_Q5_0, 0.0404, {0, -1}},
  {RLX_Q5_1, 0.0337, {0, 2}},     {RLX_Q8_0, 0.00506, {0, -1}},  {RLX_Q2_K, 0.2620, {80, 82}},
  {RLX_Q3_K, 0.1451, {108, -1}},  {RLX_Q4_K, 0.0702, {0, 2}},    {RLX_Q5_K, 0.0347, {0, 2}},
  {RLX_Q6_K, 0.0171, {208, -1}},  {RLX_Q8_K, 0.00700, {-1, -1}}, {RLX_IQ4_NL, 0.0744, {0, -1}},
  {RLX_IQ4_XS, 0.0750, {0, -1}},  {RLX_MXFP4, 0.1137, {-1, -1}}, {RLX_TQ1_0, 0.4410, {52, -1}},
  {RLX_TQ2_0, 0.4410, {64, -1}},  {RLX_IQ1_S, 0.4487, {0, -1}},  {RLX_IQ1_M, 0.4155, {-1, -1}},
  {RLX_IQ2_XXS, 0.3309, {0, -1}}, {RLX_IQ2_XS, 0.2898, {0, -1}}, {RLX_IQ2_S, 0.2417, {0, -1}},
  {RLX_IQ3_XXS, 0.1801, {0, -1}}, {RLX_IQ3_S, 0.1319, {0, -1}},  {RLX_NVFP4, 0.0825, {-1, -1}},
};

/* Whether a type has scales for values of this size: those of nvfp4 are plain e4m3, without a scale for all of them. */
static bool reaches(rlx_dtype t, double size) { return t != RLX_NVFP4 || (size < 2688 && size > 1e-3); }

static const char *name_of(rlx_dtype dtype) { return rlx_dtype_describe(dtype)->name; }

static uint32_t le32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The payload of a NaN is not specified. */
static bool same_bits(float a, float b) { return rlx_f32_bits(a) == rlx_f32_bits(b) || (isnan(a) && isnan(b)); }

/* ---- Decoders ---------- */

static void check_golden(rlx_dtype dtype) {
  static uint8_t file[32768];
  static float values[18 * 256];
  const rlx_dtype_info *info = rlx_dtype_describe(dtype);
  char path[4096];
  snprintf(path, sizeof path, "%s/quant/%s.bin", RLX_TEST_DATA, info->name);
  FILE *f = fopen(path, "rb");
  if (!f) FAIL("cannot open %s", path);
  size_t bytes = fread(file, 1, sizeof file, f);
  fclose(f);
  CHECK(bytes > 4);
  size_t count = le32(file), n = count * info->block_elements;
  CHECK(count > 0 && n <= sizeof values / sizeof values[0]);
  CHECK_EQ_INT(bytes, 4 + count * info->block_bytes + n * 4);
  CHECK_OK(rlx_quant_decode(dtype, file + 4, values, n));
  const uint8_t *expected = file + 4 + count * info->block_bytes;
  for (size_t i = 0; i < n; i++) {
    float want = rlx_f32_from_bits(le32(expected + 4 * i));
    if (!same_bits(values[i], want))
      FAIL("%s: element %zu: expected %a, got %a", info->name, i, (double)want, (double)values[i]);
  }
  /* A mapped file guarantees no alignment: the same from an odd address. */
  memmove(file + 5, file + 4, count * info->block_bytes);
  static float again[18 * 256];
  CHECK_OK(rlx_quant_decode(dtype, file + 5, again, n));
  for (size_t i = 0; i < n; i++) CHECK(same_bits(values[i], again[i]));
}

TEST(quant_decode_equals_golden_bits) {
  for (int t = 0; t < BLOCK_TYPES; t++) {
    check_golden(block_types[t].dtype);
    if (test_has_failed()) return;
  }
}

TEST(quant_knows_the_block_types) {
  int blocks = 0;
  for (int t = 0; t < (int)rlx_dtype_count(); t++) {
    bool is_block = rlx_dtype_describe((rlx_dtype)t)->block_elements > 1;
    CHECK(rlx_quant_is_block((rlx_dtype)t) == is_block);
    CHECK(rlx_quant_can_encode((rlx_dtype)t) == is_block);
    blocks += is_block;
  }
  CHECK_EQ_INT(blocks, BLOCK_TYPES);
  CHECK(!rlx_quant_is_block(RLX_DTYPE_UNKNOWN) && !rlx_quant_can_encode(RLX_DTYPE_UNKNOWN));
  CHECK(!rlx_quant_is_block((rlx_dtype)-1) && !rlx_quant_can_encode((rlx_dtype)-1));
}

TEST(quant_refuses_what_it_cannot_do) {
  uint8_t blocks[QUANT_CHUNK_BYTES];
  float x[CHUNK];
  memset(blocks, 0x5a, sizeof blocks);
  for (int i = 0; i < CHUNK; i++) x[i] = 7;
  CHECK_FAILS(rlx_quant_decode(RLX_Q4_0, blocks, x, 33), RLX_INVALID, "33 elements are not whole blocks of 32 (q4_0)");
  CHECK_FAILS(rlx_quant_encode(RLX_Q4_0, x, blocks, 31), RLX_INVALID, "31 elements are not whole blocks of 32 (q4_0)");
  CHECK_FAILS(rlx_quant_decode(RLX_Q4_K, blocks, x, 128), RLX_INVALID,
              "128 elements are not whole blocks of 256 (q4_k)");
  CHECK_FAILS(rlx_quant_encode(RLX_Q6_K, x, blocks, 255), RLX_INVALID,
              "255 elements are not whole blocks of 256 (q6_k)");
  CHECK_FAILS(rlx_quant_decode(RLX_F32, blocks, x, 32), RLX_INVALID, "quant decode: expected a block type, got f32");
  CHECK_FAILS(rlx_quant_encode(RLX_I8, x, blocks, 32), RLX_INVALID, "quant encode: expected a block type, got i8");
  CHECK_FAILS(rlx_quant_decode(RLX_DTYPE_UNKNOWN, blocks, x, 32), RLX_INVALID, "unknown dtype");
  CHECK_FAILS(rlx_quant_encode((rlx_dtype)-1, x, blocks, 32), RLX_INVALID, "unknown dtype");
  for (int i = 0; i < CHUNK; i++) CHECK(x[i] == 7);
  for (size_t i = 0; i < sizeof blocks; i++) CHECK(blocks[i] == 0x5a);
  for (int t = 0; t < BLOCK_TYPES; t++) {
    CHECK_OK(rlx_quant_decode(block_types[t].dtype, NULL, NULL, 0));
    CHECK_OK(rlx_quant_encode(block_types[t].dtype, NULL, NULL, 0));
  }
}

/* ---- Encoders: error ---------- */

TEST(quant_encode_error_on_gaussian_numbers) {
  for (int t = 0; t < BLOCK_TYPES; t++) {
    const block_type *type = &block_types[t];
    double error = quant_relative_error(type->dtype);
    if (!(error >= 0 && error <= type->error))
      FAIL("%s: expected an error of at most %g, got %g", name_of(type->dtype), type->error, error);
    /* Far below the bound would mean that the measure is broken. */
    CHECK(error > 0.9 * type->error);
  }
}

/* errors.txt: type, error of gguf's encoder, error of ggml's; "-" where there is none. */
TEST(quant_encode_error_reaches_the_usual_encoders) {
  FILE *f = fopen(RLX_TEST_DATA "/quant/errors.txt", "r");
  CHECK(f != NULL);
  char name[16], usual[2][16];
  int lines = 0, compared = 0;
  while (fscanf(f, "%15s %15s %15s", name, usual[0], usual[1]) == 3) {
    lines++;
    rlx_dtype dtype = rlx_dtype_from_name(name);
    double error = quant_relative_error(dtype);
    for (int i = 0; i < 2; i++) {
      if (strcmp(usual[i], "-") == 0) continue;
      compared++;
      double limit = atof(usual[i]);
      if (!(error >= 0 && error <= limit)) {
        fclose(f);
        FAIL("%s: the usual encoder leaves %g, ours %g", name, limit, error);
      }
    }
  }
  fclose(f);
  CHECK_EQ_INT(lines, BLOCK_TYPES);
  CHECK_EQ_INT(compared, 8 + 15); /* all but q8_k have one to compare with */
}

/* Blocks are fitted several at once; each must be encoded as it is alone, for any number of them. */
TEST(quant_encode_block_by_block) {
  enum { MAX = 11 };
  static float x[MAX * CHUNK];
  static uint8_t together[MAX * QUANT_CHUNK_BYTES + 1], alone[QUANT_CHUNK_BYTES];
  for (int i = 0; i < MAX * CHUNK; i++) x[i] = quant_gaussian((uint64_t)i) * ldexpf(1, i / 32 % 7 * 9 - 20);
  for (int t = 0; t < BLOCK_TYPES; t++) {
    const rlx_dtype_info *info = rlx_dtype_describe(block_types[t].dtype);
    for (size_t n = 1; n <= MAX; n++) {
      memset(together, 0xff, sizeof together);
      CHECK_OK(rlx_quant_encode(block_types[t].dtype, x, together, n * info->block_elements));
      CHECK(together[n * info->block_bytes] == 0xff);
      for (size_t k = 0; k < n; k++) {
        CHECK_OK(rlx_quant_encode(block_types[t].dtype, x + k * info->block_elements, alone, info->block_elements));
        if (memcmp(alone, together + k * info->block_bytes, info->block_bytes) != 0)
          FAIL("%s: block %zu of %zu is not as it is alone", info->name, k, n);
      }
    }
  }
}

/* ---- Encoders: extreme and non-finite values ---------- */

static bool is_finite_f16(const uint8_t *p) { return ((p[0] | p[1] << 8) & 0x7c00) != 0x7c00; }

/* Encodes and decodes a chunk; everything stored and everything decoded must be finite. */
static void round_trip(const block_type *type, const float *x, float *y) {
  uint8_t blocks[QUANT_CHUNK_BYTES];
  const rlx_dtype_info *info = rlx_dtype_describe(type->dtype);
  memset(blocks, 0xff, sizeof blocks); /* NaN as scales: detects an encoder that skips a byte */
  CHECK_OK(rlx_quant_encode(type->dtype, x, blocks, CHUNK));
  for (size_t at = 0; at < CHUNK / info->block_elements * info->block_bytes; at += info->block_bytes)
    for (int i = 0; i < 2; i++)
      if (type->f16_at[i] >= 0 && !is_finite_f16(blocks + at + type->f16_at[i]))
        FAIL("%s: the f16 at byte %d of a block is not finite", info->name, type->f16_at[i]);
  CHECK_OK(rlx_quant_decode(type->dtype, blocks, y, CHUNK));
  for (int i = 0; i < CHUNK; i++)
    if (!isfinite(y[i])) FAIL("%s: element %d: %g became %g", info->name, i, (double)x[i], (double)y[i]);
}

/* Sum of squares of x - y; of x alone for y NULL. Non-finite values count as what they are encoded as. */
static double distance(const float *x, const float *y) {
  double sum = 0;
  for (int i = 0; i < CHUNK; i++) {
    double v = isnan(x[i]) ? 0 : fmax(-FLT_MAX, fmin(FLT_MAX, (double)x[i])), e = v - (y ? (double)y[i] : 0);
    sum += e * e;
  }
  return sum;
}

TEST(quant_encode_zeros) {
  float x[CHUNK] = {0}, y[CHUNK];
  for (int i = 0; i < CHUNK; i += 3) x[i] = -0.0f;
  for (int t = 0; t < BLOCK_TYPES; t++) {
    round_trip(&block_types[t], x, y);
    if (test_has_failed()) return;
    for (int i = 0; i < CHUNK; i++) CHECK(y[i] == 0);
  }
}

TEST(quant_encode_constants) {
  const float constants[] = {1, -1, 0.37f, -1000, 0.06f, 60000, -60000};
  float x[CHUNK], y[CHUNK];
  for (size_t c = 0; c < sizeof constants / sizeof constants[0]; c++)
    for (int t = 0; t < BLOCK_TYPES; t++) {
      for (int i = 0; i < CHUNK; i++) x[i] = constants[c];
      round_trip(&block_types[t], x, y);
      if (test_has_failed()) return;
      if (!reaches(block_types[t].dtype, fabs((double)constants[c]))) continue;
      /* One f16 rounding, or two of a pair; mxfp4 has only 8 magnitudes, nvfp4 those times 8. */
      double allowed = block_types[t].dtype == RLX_MXFP4 ? 0.15 : block_types[t].dtype == RLX_NVFP4 ? 0.032 : 0.002;
      double error = sqrt(distance(x, y) / distance(x, NULL));
      if (!(error <= allowed))
        FAIL("%s: constant %g: relative error %g", name_of(block_types[t].dtype), (double)constants[c], error);
    }
}

/* 1e6 exceeds the f16 of a scale or an offset alone, but not scale times code plus offset, except in types with small
 * codes. */
TEST(quant_encode_offset_beyond_f16) {
  float x[CHUNK], y[CHUNK];
  for (int sign = -1; sign <= 1; sign += 2)
    for (int t = 0; t < BLOCK_TYPES; t++) {
      rlx_dtype dtype = block_types[t].dtype;
      if (dtype == RLX_Q4_0 || dtype == RLX_TQ1_0 || dtype == RLX_TQ2_0 || !reaches(dtype, 9e5)) continue;
      for (int i = 0; i < CHUNK; i++) x[i] = (float)sign * (9e5f + 300.0f * (float)(i % 32));
      round_trip(&block_types[t], x, y);
      if (test_has_failed()) return;
      double error = sqrt(distance(x, y) / distance(x, NULL));
      if (!(error < 0.14)) FAIL("%s: relative error %g", name_of(dtype), error);
    }
}

/* Beyond any scale: the last level with the right sign, never an infinity. */
TEST(quant_encode_saturates) {
  const float huge[] = {1e12f, 3e30f, FLT_MAX, INFINITY};
  float x[CHUNK], y[CHUNK];
  for (size_t h = 0; h < sizeof huge / sizeof huge[0]; h++)
    for (int t = 0; t < BLOCK_TYPES; t++) {
      for (int i = 0; i < CHUNK; i++) x[i] = i % 32 == 5 ? huge[h] : i % 32 == 9 ? -huge[h] : 1.0f;
      round_trip(&block_types[t], x, y);
      if (test_has_failed()) return;
      const float far = reaches(block_types[t].dtype, 60000) ? 60000 : 2687;
      for (int i = 0; i < CHUNK; i++) {
        if (i % 32 == 5 && !(y[i] > far))
          FAIL("%s: %g became %g", name_of(block_types[t].dtype), (double)x[i], (double)y[i]);
        if (i % 32 == 9) CHECK(y[i] < -far);
      }
      /* All huge and of one sign. */
      for (int i = 0; i < CHUNK; i++) x[i] = huge[h];
      round_trip(&block_types[t], x, y);
      if (test_has_failed()) return;
      for (int i = 0; i < CHUNK; i++) CHECK(y[i] > far);
    }
}

/* Near the largest f32, the smallest error may need a scale that decodes the largest value to infinity. */
TEST(quant_encode_fit_does_not_overshoot) {
  float x[CHUNK], y[CHUNK];
  for (int i = 0; i < CHUNK; i++) x[i] = i ? (float)(FLT_MAX * (10.3 / 127)) : FLT_MAX;
  for (int t = 0; t < BLOCK_TYPES; t++) {
    round_trip(&block_types[t], x, y);
    if (test_has_failed()) return;
  }
}

TEST(quant_encode_takes_nan_as_zero_and_infinity_as_largest) {
  float x[CHUNK], plain[CHUNK];
  uint8_t a[QUANT_CHUNK_BYTES] = {0}, b[QUANT_CHUNK_BYTES] = {0};
  for (int with_infinity = 0; with_infinity < 2; with_infinity++)
    for (int t = 0; t < BLOCK_TYPES; t++) {
      for (int i = 0; i < CHUNK; i++) x[i] = plain[i] = quant_gaussian((uint64_t)i);
      for (int i = 3; i < CHUNK; i += 7) {
        x[i] = i % 2 ? NAN : -NAN;
        plain[i] = 0;
      }
      if (with_infinity) {
        x[40] = INFINITY, plain[40] = FLT_MAX;
        x[50] = -INFINITY, plain[50] = -FLT_MAX;
      }
      CHECK_OK(rlx_quant_encode(block_types[t].dtype, x, a, CHUNK));
      CHECK_OK(rlx_quant_encode(block_types[t].dtype, plain, b, CHUNK));
      CHECK(memcmp(a, b, sizeof a) == 0);
    }
}

/* Values below the resolution of an f16 scale: the result is no worse than zeros. */
TEST(quant_encode_tiny_numbers) {
  const float sizes[] = {1e-5f, 1e-6f, 1e-7f, 3e-8f, 1e-8f, 1e-20f, 1e-38f, 1e-41f, 1e-45f};
  float x[CHUNK], y[CHUNK];
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
    for (int t = 0; t < BLOCK_TYPES; t++) {
      for (int i = 0; i < CHUNK; i++) x[i] = sizes[s] * quant_gaussian((uint64_t)i);
      round_trip(&block_types[t], x, y);
      if (test_has_failed()) return;
      if (!(distance(x, y) <= distance(x, NULL) * (1 + 1e-6)))
        FAIL("%s: numbers near %g are worse than zeros", name_of(block_types[t].dtype), (double)sizes[s]);
      /* Subnormal scales are coarse but not lost: down to 1e-6 every type keeps more than half. */
      if (s < 2 && reaches(block_types[t].dtype, (double)sizes[s])) CHECK(distance(x, y) < 0.3 * distance(x, NULL));
    }
}

/* Arbitrary bits as floats: finite, and no worse than zeros. */
TEST(quant_encode_any_bits) {
  float x[CHUNK], y[CHUNK];
  uint64_t draw = 1u << 20;
  for (int round = 0; round < 64; round++)
    for (int t = 0; t < BLOCK_TYPES; t++) {
      for (int i = 0; i < CHUNK; i++) {
        uint32_t bits = (uint32_t)(quant_uniform(draw++) * 0x1p32);
        /* Each round uses fewer of the exponents, so that not every block has an infinity. */
        uint32_t kept = round % 4 == 0   ? 0xffffffffu
                        : round % 4 == 1 ? 0x9fffffffu
                        : round % 4 == 2 ? 0x8fffffffu
                                         : 0xc7ffffffu;
        x[i] = rlx_f32_from_bits(bits & kept);
      }
      round_trip(&block_types[t], x, y);
      if (test_has_failed()) return;
      if (!(distance(x, y) <= distance(x, NULL) * (1 + 1e-6)))
        FAIL("%s: round %d is worse than zeros", name_of(block_types[t].dtype), round);
    }
}

TEST(quant_encode_ternary_is_exact) {
  float x[CHUNK], y[CHUNK];
  for (int i = 0; i < CHUNK; i++) x[i] = 0.375f * (float)((int)(3 * quant_uniform((uint64_t)i)) - 1);
  for (int t = 0; t < BLOCK_TYPES; t++) {
    if (block_types[t].dtype != RLX_TQ1_0 && block_types[t].dtype != RLX_TQ2_0) continue;
    round_trip(&block_types[t], x, y);
    if (test_has_failed()) return;
    for (int i = 0; i < CHUNK; i++) CHECK(x[i] == y[i]);
  }
}

TEST(quant_encode_q8_k_stores_sums) {
  float x[CHUNK];
  uint8_t block[292];
  for (int i = 0; i < CHUNK; i++) x[i] = quant_gaussian((uint64_t)i);
  CHECK_OK(rlx_quant_encode(RLX_Q8_K, x, block, CHUNK));
  for (int j = 0; j < 16; j++) {
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += (int8_t)block[4 + 16 * j + i];
    CHECK_EQ_INT((int16_t)(block[260 + 2 * j] | block[261 + 2 * j] << 8), sum);
  }
}

/* Weights that are all positive, such as those of a norm: the k-quants add their mins by a negative dmin. */
TEST(quant_encode_positive_numbers) {
  float x[CHUNK], y[CHUNK];
  for (int i = 0; i < CHUNK; i++) x[i] = 5 + 0.1f * quant_gaussian((uint64_t)i);
  for (int t = 0; t < BLOCK_TYPES; t++) {
    rlx_dtype dtype = block_types[t].dtype;
    if (dtype != RLX_Q2_K && dtype != RLX_Q4_K && dtype != RLX_Q5_K) continue;
    round_trip(&block_types[t], x, y);
    if (test_has_failed()) return;
    CHECK(sqrt(distance(x, y) / CHUNK) < 0.1 * (dtype == RLX_Q2_K ? 0.6 : dtype == RLX_Q4_K ? 0.2 : 0.15));
  }
}

/* ---- Small float codes ---------- */

/* The value of sign, exponent and mantissa fields by definition, normal and subnormal. */
static double small_float(int code, int exponent_bits, int mantissa_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1, mantissa = code & ((1 << mantissa_bits) - 1);
  int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1), sign = code >> (mantissa_bits + exponent_bits) & 1;
  double value = exponent == 0 ? ldexp(mantissa, 1 - bias - mantissa_bits)
                               : ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return sign ? -value : value;
}

TEST(quant_codes_e4m3) {
  for (int code = 0; code < 256; code++) {
    float v = rlx_e4m3_to_f32((uint8_t)code);
    if ((code & 0x7f) == 0x7f) CHECK(isnan(v));
    else CHECK(same_bits(v, (float)small_float(code, 4, 3)));
  }
  CHECK(rlx_e4m3_to_f32(0x7e) == 448.0f && rlx_e4m3_to_f32(0x01) == 0x1p-9f && rlx_e4m3_to_f32(0xb8) == -1.0f);
}

TEST(quant_codes_e5m2) {
  for (int code = 0; code < 256; code++) {
    float v = rlx_e5m2_to_f32((uint8_t)code);
    int rest = code & 0x7f;
    if (rest == 0x7c) CHECK(isinf(v) && (v < 0) == (code >= 128));
    else if (rest > 0x7c) CHECK(isnan(v));
    else CHECK(same_bits(v, (float)small_float(code, 5, 2)));
  }
  CHECK(rlx_e5m2_to_f32(0x7b) == 57344.0f && rlx_e5m2_to_f32(0x01) == 0x1p-16f && rlx_e5m2_to_f32(0xbc) == -1.0f);
}

TEST(quant_codes_e2m1) {
  for (int code = 0; code < 256; code++)
    CHECK(same_bits(rlx_e2m1_to_f32((uint8_t)code), (float)small_float(code & 15, 2, 1)));
  CHECK(rlx_e2m1_to_f32(7) == 6.0f && rlx_e2m1_to_f32(9) == -0.5f);
}

/* ---- Rounding rows of states ---------- */

static double round_error(rlx_dtype t, double size) {
  enum { N = 32 * 64 };
  static float x[N], y[N];
  static uint8_t blocks[N / 32 * 34];
  double error = 0, sum = 0;
  uint32_t seed = 7;
  for (int i = 0; i < N; i++) {
    double v = 0; /* roughly Gaussian */
    for (int k = 0; k < 12; k++) seed = seed * 1664525u + 1013904223u, v += (double)(seed >> 8) / (1 << 24) - 0.5;
    x[i] = (float)(v * size);
  }
  rlx_quant_round(t, x, blocks, N);
  if (rlx_quant_decode(t, blocks, y, N)) return 1e9;
  for (int i = 0; i < N; i++) error += pow((double)x[i] - (double)y[i], 2), sum += pow((double)x[i], 2);
  return sqrt(error / sum);
}

/* From scales that are not among the subnormal ones. */
TEST(rows_are_rounded) {
  for (double size = 1e-2; size < 1e5; size *= 10) {
    CHECK(round_error(RLX_Q8_0, size) < 0.0065);
    CHECK(round_error(RLX_Q4_0, size) < 0.11);
  }
}

TEST(what_is_not_finite_stays_so) {
  static const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX};
  static const rlx_dtype types[] = {RLX_Q8_0, RLX_Q4_0};
  for (size_t i = 0; i < 12; i++) {
    float x[32], y[32];
    uint8_t block[34];
    bool all = true;
    for (int k = 0; k < 32; k++) x[k] = 1;
    x[i] = odd[i / 2];
    rlx_quant_round(types[i % 2], x, block, 32);
    CHECK_OK(rlx_quant_decode(types[i % 2], block, y, 32));
    for (int k = 0; k < 32; k++) all = all && isfinite(y[k]);
    CHECK(!all && !isfinite(y[i]));
  }
}

TEST(rows_of_nothing_and_of_very_little) {
  static const float small[] = {0, -0.0f, 1e-45f, -1e-38f, 1e-30f, 1e-9f};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
    float x[32] = {0}, y[32];
    uint8_t block[34];
    for (int k = 0; k < 32; k += 3) x[k] = small[i];
    for (int t = 0; t < 2; t++) {
      rlx_quant_round(t ? RLX_Q4_0 : RLX_Q8_0, x, block, 32);
      CHECK_OK(rlx_quant_decode(t ? RLX_Q4_0 : RLX_Q8_0, block, y, 32));
      for (int k = 0; k < 32; k++) CHECK(fabsf(y[k] - x[k]) <= fabsf(x[k]) + 1e-12f);
    }
  }
}
