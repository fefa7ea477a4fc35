/* Block types and small float codes on every bit pattern: the decoders against `gguf` (hashes of quant_every.h), and
 * all readers of packed weights (the reference, the CPU kernels in every instruction set, the GPU kernels on the
 * emulated GPU) against the decoders.
 *
 * Products are designed to be nearly exact. x holds integers, and each run of 16 has one of magnitude 127, so
 * quantising x to 8 bits changes nothing. All but one run is zero, so that one wrong code in 16 shows. RLX_TEST_DEVICES
 * names other devices. */
#include <float.h>
#include <stdlib.h>

#include "cpu/quant.h"
#include "quant/blocks.h"
#include "quant/codes.h"
#include "quant_every.h"
#include "test.h"

static const char *name_of(const every_type *t) { return rlx_dtype_describe(t->dtype)->name; }
static size_t elements_of(const every_type *t) { return rlx_dtype_describe(t->dtype)->block_elements; }
static size_t bytes_of(const every_type *t) { return rlx_dtype_describe(t->dtype)->block_bytes; }
static bool same_bits(float a, float b) { return rlx_f32_bits(a) == rlx_f32_bits(b) || (isnan(a) && isnan(b)); }

/* ---- the decoders ---- */

static uint64_t hash_set(const every_type *t, every_set set) {
  enum { AT_ONCE = 16 };
  static uint8_t blocks[AT_ONCE * EVERY_MAX_BYTES];
  static float values[AT_ONCE * SUPER_BLOCK];
  uint64_t hash = 0;
  size_t n = every_count(t, set), elements = elements_of(t);
  for (size_t b = 0; b < n; b += AT_ONCE) {
    for (size_t i = 0; i < AT_ONCE; i++) every_block(t, set, b + i, blocks + i * bytes_of(t));
    if (rlx_quant_decode(t->dtype, blocks, values, AT_ONCE * elements)) return 0;
    hash += every_hash(values, b * elements, AT_ONCE * elements);
  }
  return hash;
}

TEST(decoders_equal_those_of_gguf) {
  FILE *f = fopen(RLX_TEST_DATA "/quant/every.txt", "r");
  CHECK(f != NULL);
  char name[16];
  unsigned long long want[EVERY_SETS];
  int lines = 0;
  while (fscanf(f, "%15s %llx %llx %llx", name, &want[0], &want[1], &want[2]) == 4) {
    for (int t = 0; t < EVERY_TYPES; t++) {
      if (strcmp(name, name_of(&every_types[t])) != 0) continue;
      lines++;
      for (int set = 0; set < EVERY_SETS; set++)
        if (hash_set(&every_types[t], (every_set)set) != want[set])
          FAIL("%s: set %d is decoded otherwise than by gguf", name, set);
    }
  }
  fclose(f);
  CHECK_EQ_INT(lines, EVERY_TYPES);
}

/* Every scale with every code, by the formula. */
TEST(every_scale_times_every_code) {
  static const rlx_dtype plain[] = {RLX_Q4_0, RLX_Q5_0, RLX_Q8_0, RLX_IQ4_NL};
  uint8_t block[Q8_0_BYTES];
  float values[SMALL_BLOCK];
  for (size_t t = 0; t < sizeof plain / sizeof *plain; t++)
    for (uint32_t scale = 0; scale < 65536; scale++) {
      double d = (double)rlx_f16_to_f32((uint16_t)scale);
      int per_scale = plain[t] == RLX_Q8_0 ? 8 : 1;
      for (int part = 0; part < per_scale; part++) {
        store_le16(block, (uint16_t)scale);
        for (int i = 0; i < 32; i++) {
          if (plain[t] == RLX_Q8_0) block[Q8_0_QS + i] = (uint8_t)(32 * part + i);
          else if (i < 16) block[(plain[t] == RLX_Q5_0 ? Q5_0_QS : Q4_0_QS) + i] = (uint8_t)(i | i << 4);
        }
        if (plain[t] == RLX_Q5_0) store_le32(block + Q5_0_QH, 0xffff0000u);
        CHECK_OK(rlx_quant_decode(plain[t], block, values, 32));
        for (int i = 0; i < 32; i++) {
          int code = plain[t] == RLX_Q4_0   ? i % 16 - 8
                     : plain[t] == RLX_Q5_0 ? i - 16
                     : plain[t] == RLX_Q8_0 ? (int8_t)(32 * part + i)
                                            : rlx_iq4_levels[i % 16];
          float want = (float)(d * (double)code);
          if (!same_bits(values[i], want))
            FAIL("%s: scale %04x, code %d: expected %a, got %a", rlx_dtype_describe(plain[t])->name, (unsigned)scale,
                 code, (double)want, (double)values[i]);
        }
      }
    }
}

/* All 256 scales of mxfp4: 2^(e - 127) times the e2m1 value. 255 is 2^128 and not NaN, as programs that use this type
 * read it. */
TEST(every_scale_of_mxfp4) {
  uint8_t block[MXFP4_BYTES];
  float values[SMALL_BLOCK];
  for (int i = 0; i < 16; i++) block[MXFP4_QS + i] = (uint8_t)(i | i << 4);
  for (int e = 0; e < 256; e++) {
    block[MXFP4_E] = (uint8_t)e;
    CHECK_OK(rlx_quant_decode(RLX_MXFP4, block, values, 32));
    for (int i = 0; i < 32; i++) {
      double exact = ldexp((double)rlx_e2m1_to_f32((uint8_t)(i % 16)), e - 127);
      float want = i % 16 == 8 ? 0.0f : (float)exact; /* the levels are integers there: no -0 */
      if (!same_bits(values[i], want))
        FAIL("e %d, code %d: expected %a, got %a", e, i % 16, (double)want, (double)values[i]);
    }
  }
}

/* ---- on devices ---- */

enum { ROWS = 1024, MAX_X = 16, RUN = 16 };

static const char *const usual_devices[] = {"cpu:base", "cpu:avx2", "cpu", "emu"};
static const char *devices[8];
static size_t n_devices;

static size_t find_devices(void) {
  static char names[256];
  const char *chosen = getenv("RLX_TEST_DEVICES");
  n_devices = 0;
  if (chosen) snprintf(names, sizeof names, "%s", chosen);
  for (char *at = chosen ? strtok(names, ",") : NULL; at && n_devices < 8; at = strtok(NULL, ","))
    devices[n_devices++] = at;
  for (size_t i = 0; !chosen && i < sizeof usual_devices / sizeof *usual_devices; i++)
    devices[n_devices++] = usual_devices[i];
  return n_devices;
}

/* NULL where the machine does not support it. */
static rlx_session *open_device(const char *name) {
  rlx_session *s = NULL;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = name, .n_threads = 1};
  if (rlx_session_create(&d, &s)) printf("  %s: %s\n", name, rlx_message());
  return s;
}

static rlx_executable *compile(rlx_session *s, const char *text, bool exact) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT, .switches = exact ? RLX_SWITCH_EXACT : 0};
  if (rlx_graph_parse(text, strlen(text), &g) || rlx_compile(s, g, &o, &e)) printf("%s: %s\n", text, rlx_message());
  rlx_graph_destroy(g);
  return e;
}

static rlx_status put_weight(rlx_executable *e, const every_type *t, size_t rows, uint8_t *blocks) {
  return rlx_executable_write(
    e, "w", &(rlx_tensor){t->dtype, RLX_DIMS((int64_t)rows, (int64_t)elements_of(t)), {blocks}, rows * bytes_of(t)});
}

/* Blocks `first` and on of a set. Past EVERY_SETS a designed set: each byte takes each value four times in ROWS
 * blocks. */
static void fill(const every_type *t, int set, size_t first, uint8_t *blocks) {
  for (size_t b = 0; b < ROWS; b++, blocks += bytes_of(t)) {
    if (set < EVERY_SETS) {
      every_block(t, (every_set)set, first + b, blocks);
      continue;
    }
    for (size_t i = 0; i < bytes_of(t); i++) {
      uint32_t r = every_random(EVERY_BYTE, 0, i);
      blocks[i] = (uint8_t)((b + 256 * b / 1024) * (2 * r + 1) + (r >> 8));
    }
    every_sane_scales(t, EVERY_BYTE, b, blocks);
  }
}

/* The cast to f32 must have the decoder's bits. */
static void check_cast(rlx_session *s, const char *device, const every_type *t, int set, size_t first, size_t count) {
  static uint8_t blocks[ROWS * EVERY_MAX_BYTES];
  static float want[ROWS * SUPER_BLOCK], found[ROWS * SUPER_BLOCK];
  size_t n = ROWS * elements_of(t);
  char text[256];
  snprintf(text, sizeof text,
           "graph {\n%%1 = param \"w\" : %s[%d,%zu]\n%%2 = cast(%%1) {to=f32}\noutput \"y\" = %%2\n}\n", name_of(t),
           (int)ROWS, elements_of(t));
  rlx_executable *e = compile(s, text, true);
  CHECK(e != NULL);
  for (size_t b = first; b < first + count; b += ROWS) {
    fill(t, set, b, blocks);
    CHECK_OK(rlx_quant_decode(t->dtype, blocks, want, n));
    CHECK_OK(put_weight(e, t, ROWS, blocks));
    rlx_named_tensor y = {"y", {.data = found, .bytes = n * sizeof *found}};
    CHECK_OK(rlx_run(e, NULL, 0, &y, 1));
    for (size_t i = 0; i < n; i++)
      if (!same_bits(found[i], want[i]) && !(want[i] == 0 && found[i] == 0))
        FAIL("%s, %s, set %d: element %zu of block %zu is %a, the decoder says %a", device, name_of(t), set,
             i % elements_of(t), b + i / elements_of(t), (double)found[i], (double)want[i]);
  }
  rlx_executable_destroy(e);
}

static const float numbers[RUN] = {127, 9, 31, -57, 3, 101, -77, 13, 45, -127, 63, -21, 89, 5, -111, 35};

/* m rows; row i has its values in run (first + i) of k. */
static void fill_x(size_t m, size_t k, size_t first, float *x) {
  memset(x, 0, m * k * sizeof *x);
  for (size_t i = 0; i < m; i++) memcpy(x + i * k + (first + i) % (k / RUN) * RUN, numbers, sizeof numbers);
}

/* A weight in parts: a + b, where b is what a min or an offset adds. a is valid even where f32 cannot represent it. */
typedef struct parts {
  double a[SUPER_BLOCK], b[SUPER_BLOCK];
  bool is_finite, overflows; /* overflows: some a is finite, but not as an f32 */
} parts;

static void decode_parts(const every_type *t, const uint8_t *block, parts *out) {
  uint8_t copy[EVERY_MAX_BYTES];
  float v[SUPER_BLOCK];
  size_t n = elements_of(t);
  for (int part = 0; part < 2; part++) {
    double *to = part ? out->b : out->a;
    memcpy(copy, block, bytes_of(t));
    if (t->f16_at[1] >= 0) memset(copy + t->f16_at[!part], 0, 2);
    bool there = (part == 0 || t->f16_at[1] >= 0) && rlx_quant_decode(t->dtype, copy, v, n) == RLX_OK;
    for (size_t i = 0; i < n; i++) to[i] = there ? (double)v[i] : 0;
  }
  if (t->dtype == RLX_MXFP4)
    for (int i = 0; i < SMALL_BLOCK; i++) {
      int code = i < 16 ? block[MXFP4_QS + i] & 15 : block[MXFP4_QS + i - 16] >> 4;
      out->a[i] = ldexp((double)rlx_e2m1_to_f32((uint8_t)code), block[MXFP4_E] - 127);
    }
  for (size_t i = 0; t->dtype == RLX_Q8_K && i < n; i++)
    out->a[i] = (double)rlx_f32_from_bits(load_le32(block)) * (double)(int8_t)block[Q8_K_QS + i];
  out->is_finite = true, out->overflows = false;
  for (size_t i = 0; i < n; i++) {
    out->is_finite = out->is_finite && isfinite(out->a[i]) && isfinite(out->b[i]);
    out->overflows = out->overflows || (isfinite(out->a[i]) && fabs(out->a[i]) > (double)FLT_MAX);
  }
}

/* x is zero except in the run from `run` on. */
static bool is_right(const parts *w, const float *x, size_t run, size_t n, float y, double share, double *want) {
  double sum = 0, size = 0, flushed = 0; /* flushed: the change where a device flushes subnormal weights to 0 */
  size_t first = w->is_finite ? run : 0, last = w->is_finite ? run + RUN : n;
  for (size_t i = first; i < last; i++) {
    sum += (double)x[i] * (w->a[i] + w->b[i]);
    size += fabs((double)x[i]) * (fabs(w->a[i]) + fabs(w->b[i]));
    flushed +=
      fabs((double)x[i]) * 128 * (double)FLT_MIN; /* a subnormal scale may be flushed as well, whatever its codes */
  }
  *want = sum;
  if (!w->is_finite) return !isfinite(y); /* as 0 times such a weight is NaN */
  /* A weight beyond f32 (mxfp4 from e = 253 on, q8_k) decodes to infinity, but its product need not be infinite. */
  if ((w->overflows || size > (double)FLT_MAX) && !isfinite(y)) return true;
  return fabs((double)y - sum) <= share * size + flushed + 1e-36;
}

static void check_product(rlx_session *s, const char *device, const every_type *t, int set, size_t first, size_t count,
                          size_t m, bool exact) {
  static uint8_t blocks[ROWS * EVERY_MAX_BYTES];
  static float x[MAX_X * SUPER_BLOCK], y[MAX_X * ROWS];
  static parts weights[ROWS];
  size_t k = elements_of(t), runs = k / RUN;
  char text[512];
  snprintf(text, sizeof text,
           "graph {\n%%1 = input \"x\" : f32[%zu,%zu]\n%%2 = param \"w\" : %s[%d,%zu]\n"
           "%%3 = matmul(%%1, %%2) {trans_b=true}\noutput \"y\" = %%3\n}\n",
           m, k, name_of(t), (int)ROWS, k);
  /* The matrix units of a real GPU take 16-bit operands, unless products must be exact. */
  double share = !exact && strcmp(device, "vulkan") == 0 ? 1e-3 : 4e-6;
  rlx_executable *e = compile(s, text, exact);
  CHECK(e != NULL);
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS((int64_t)m, (int64_t)k), {x}, m * k * sizeof *x}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = m * ROWS * sizeof *y}};
  for (size_t b = first; b < first + count; b += ROWS) {
    fill(t, set, b, blocks);
    for (size_t i = 0; i < ROWS; i++) decode_parts(t, blocks + i * bytes_of(t), &weights[i]);
    CHECK_OK(put_weight(e, t, ROWS, blocks));
    size_t rounds = set < EVERY_SETS ? 1 : (runs + m - 1) / m;
    for (size_t round = 0; round < rounds; round++) {
      fill_x(m, k, b / ROWS + round * m, x);
      CHECK_OK(rlx_run(e, &in, 1, &out, 1));
      for (size_t i = 0; i < m * ROWS; i++) {
        double want;
        size_t run = (b / ROWS + round * m + i / ROWS) % runs * RUN;
        if (!is_right(&weights[i % ROWS], x + i / ROWS * k, run, k, y[i], share, &want))
          FAIL("%s, %s, %s, set %d, %zu rows: block %zu, row %zu is %g, expected %g", device, name_of(t),
               exact ? "exact" : "rounded", set, m, b + i % ROWS, i / ROWS, (double)y[i], want);
      }
    }
  }
  rlx_executable_destroy(e);
}

/* Scales: all of them where the set covers all, else the subnormal ones, the infinite and the NaN of both signs. */
static void check_scales(rlx_session *s, const char *device, const every_type *t, bool all) {
  for (size_t b = 0; b < every_count(t, EVERY_SCALE) && !test_has_failed(); b += ROWS) {
    if (!all && b != 0 && b % 0x8000 != 0x7c00) continue;
    check_cast(s, device, t, EVERY_SCALE, b, ROWS);
    check_product(s, device, t, EVERY_SCALE, b, ROWS, 1, false);
    check_product(s, device, t, EVERY_SCALE, b, ROWS, 1, true);
  }
}

static void check_device(rlx_session *s, const char *device, const every_type *t) {
  bool is_slow = strncmp(device, "cpu", 3) != 0; /* emulated */
  bool is_first = t->dtype == RLX_Q8_0 || t->dtype == RLX_Q4_1;
  bool is_full = is_first || (!is_slow && (t->dtype == RLX_Q2_K || t->dtype == RLX_Q6_K || t->dtype == RLX_Q8_K));
  size_t products = every_count(t, EVERY_PRODUCT) / ROWS * ROWS;
  check_cast(s, device, t, EVERY_SETS, 0, ROWS);
  check_scales(s, device, t, is_full);
  if (t->dtype == RLX_MXFP4) check_cast(s, device, t, EVERY_PRODUCT, 0, products);
  for (int exact = 0; exact < 2 && !test_has_failed(); exact++) {
    check_product(s, device, t, EVERY_SETS, 0, ROWS, 8, exact);
    if (!is_slow || t->dtype == RLX_Q4_K) check_product(s, device, t, EVERY_SETS, 0, ROWS, 1, exact);
    if (!is_slow || t->dtype == RLX_Q4_K) check_product(s, device, t, EVERY_SETS, 0, ROWS, 16, exact);
  }
  if (!cpu_quant(CPU_ISA_FIRST)->dot[t->dtype][0]) return; /* decoded by the decoders themselves */
  /* The same code unpacks scales for both, so the two alternate. */
  for (size_t b = 0; b < products && (!is_slow || t->dtype == RLX_MXFP4) && !test_has_failed(); b += ROWS)
    check_product(s, device, t, EVERY_PRODUCT, b, ROWS, 1, b / ROWS % 2);
}

TEST(every_device_reads_what_the_decoders_read) {
  for (size_t i = 0; i < find_devices() && !test_has_failed(); i++) {
    rlx_session *s = open_device(devices[i]);
    for (int t = 0; s && t < EVERY_TYPES && !test_has_failed(); t++) check_device(s, devices[i], &every_types[t]);
    rlx_session_destroy(s);
  }
}

/* ---- the schemes of dequant_matmul ---- */

/* y = x w with these operands; `text` names the scheme and the optional inputs. */
static void check_scheme(rlx_session *s, const char *device, const char *text, const rlx_named_tensor *in, size_t n_in,
                         const float *want, size_t n) {
  static float y[4096];
  rlx_executable *e = compile(s, text, true);
  CHECK(e != NULL && n <= 4096);
  rlx_named_tensor out = {"y", {.data = y, .bytes = n * sizeof *y}};
  CHECK_OK(rlx_run(e, in, n_in, &out, 1));
  for (size_t j = 0; j < n; j++)
    if (!same_bits(y[j], want[j]) && !(y[j] == 0 && want[j] == 0) &&
        !(fabsf(want[j]) < FLT_MIN && fabsf(y[j]) < FLT_MIN)) /* a GPU may flush subnormals to zero */
      FAIL("%s: %s: column %zu is %a, expected %a", device, text, j, (double)y[j], (double)want[j]);
  rlx_executable_destroy(e);
}

#define SCHEME(inputs, call) \
  "graph {\n%1 = input \"x\" : f32[1,1]\n" inputs "%9 = dequant_matmul(" call "\noutput \"y\" = %9\n}\n"

static void check_fp8(rlx_session *s, const char *device, bool is_e5m2) {
  float x = 1, scale[256], want[256];
  uint8_t codes[256];
  for (int with_scale = 0; with_scale < 2; with_scale++) {
    for (int i = 0; i < 256; i++) {
      codes[i] = (uint8_t)i;
      scale[i] = i % 64 == 63 ? INFINITY : i % 64 == 62 ? NAN : (float)(i % 16 - 7);
      want[i] = is_e5m2 ? rlx_e5m2_to_f32(codes[i]) : rlx_e4m3_to_f32(codes[i]);
      if (with_scale) want[i] = (float)((double)want[i] * (double)scale[i]);
    }
    rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(1, 1), {&x}, sizeof x}},
                             {"w", {RLX_U8, RLX_DIMS(1, 256), {codes}, sizeof codes}},
                             {"s", {RLX_F32, RLX_DIMS(256), {scale}, sizeof scale}}};
    static const char *const texts[2][2] = {
      {SCHEME("%2 = input \"w\" : u8[1,256]\n", "%1, %2) {scheme=fp8_e4m3}"),
       SCHEME("%2 = input \"w\" : u8[1,256]\n", "%1, %2) {scheme=fp8_e5m2}")},
      {SCHEME("%2 = input \"w\" : u8[1,256]\n%3 = input \"s\" : f32[256]\n", "%1, %2, %3) {scheme=fp8_e4m3}"),
       SCHEME("%2 = input \"w\" : u8[1,256]\n%3 = input \"s\" : f32[256]\n", "%1, %2, %3) {scheme=fp8_e5m2}")}};
    check_scheme(s, device, texts[with_scale][is_e5m2], in, with_scale ? 3 : 2, want, 256);
  }
}

/* Every code with every scale. */
static void check_nvfp4(rlx_session *s, const char *device) {
  static uint8_t codes[4096], scales[4096];
  static float want[4096];
  float x = 2, global = 0.375f;
  for (int i = 0; i < 4096; i++) {
    codes[i] = (uint8_t)(i & 15);
    scales[i] = (uint8_t)(i >> 4);
    want[i] = 2 * rlx_e2m1_to_f32(codes[i]) * (rlx_e4m3_to_f32(scales[i]) * global);
  }
  rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(1, 1), {&x}, sizeof x}},
                           {"w", {RLX_U8, RLX_DIMS(1, 4096), {codes}, sizeof codes}},
                           {"s", {RLX_U8, RLX_DIMS(1, 4096), {scales}, sizeof scales}},
                           {"g", {RLX_F32, RLX_SCALAR, {&global}, sizeof global}}};
  check_scheme(s, device,
               SCHEME("%2 = input \"w\" : u8[1,4096]\n%3 = input \"s\" : u8[1,4096]\n%4 = input \"g\" : f32[]\n",
                      "%1, %2, %3, _, %4) {scheme=nvfp4}"),
               in, 4, want, 4096);
}

/* Every code with extreme and non-finite scales. */
static void check_int4(rlx_session *s, const char *device) {
  static const float extreme[16] = {0,     -0.0f,    1,         -1,  0x1p-126f, 0x1p-149f, 3e38f, -3e38f,
                                    1e30f, INFINITY, -INFINITY, NAN, 0.1f,      1e-20f,    65504, 0.5f};
  uint8_t codes[256];
  float scales[256], want[256], x = 1;
  for (int i = 0; i < 256; i++) {
    codes[i] = (uint8_t)(i & 15);
    scales[i] = extreme[i >> 4];
    want[i] = (float)((i & 15) - 8) * scales[i];
  }
  rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(1, 1), {&x}, sizeof x}},
                           {"w", {RLX_U8, RLX_DIMS(1, 256), {codes}, sizeof codes}},
                           {"s", {RLX_F32, RLX_DIMS(1, 256), {scales}, sizeof scales}}};
  check_scheme(s, device,
               SCHEME("%2 = input \"w\" : u8[1,256]\n%3 = input \"s\" : f32[1,256]\n", "%1, %2, %3) {scheme=int4}"), in,
               3, want, 256);
}

TEST(every_code_of_the_schemes) {
  for (size_t i = 0; i < find_devices() && !test_has_failed(); i++) {
    rlx_session *s = open_device(devices[i]);
    if (!s) continue;
    check_fp8(s, devices[i], false);
    check_fp8(s, devices[i], true);
    check_nvfp4(s, devices[i]);
    check_int4(s, devices[i]);
    rlx_session_destroy(s);
  }
}
