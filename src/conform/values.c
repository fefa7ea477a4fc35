/* Test values: one function per generator, selected by name. */
#include "conform/values.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "ir/element.h"
#include "quant/quant.h"

enum { MAX_ARGS = 64 };

typedef struct arguments {
  double v[MAX_ARGS];
  size_t n;
  uint64_t random;
} arguments;

/* Fills a tensor of scalar elements (c64 counts as twice as many f32). */
typedef void (*fill_fn)(rlx_tensor *t, size_t count, arguments *a);

static void fill_range(rlx_tensor *t, size_t count, arguments *a) {
  double lo = a->v[0], hi = a->v[1];
  for (size_t i = 0; i < count; i++) {
    double u = rlx_random_unit(&a->random);
    rlx_store_value(t, i, rlx_dtype_is_float(t->dtype) ? lo + (hi - lo) * u : floor(lo + (hi - lo) * u));
  }
}

static bool has_floats(rlx_dtype t) { return rlx_dtype_is_float(t) || rlx_dtype_is_float8(t); }

static void fill_plain(rlx_tensor *t, size_t count, arguments *a) {
  bool is_unsigned = t->dtype == RLX_U64 || (rlx_dtype_is_int(t->dtype) && rlx_dtype_is_unsigned(t->dtype));
  a->v[0] = t->dtype == RLX_BOOL ? 0 : has_floats(t->dtype) ? -2 : is_unsigned ? 0 : -8;
  a->v[1] = t->dtype == RLX_BOOL ? 2 : has_floats(t->dtype) ? 2 : is_unsigned ? 16 : 8;
  fill_range(t, count, a);
}

static void fill_values(rlx_tensor *t, size_t count, arguments *a) {
  for (size_t i = 0; i < count; i++) rlx_store_value(t, i, a->v[i % a->n]);
}

static void fill_special(rlx_tensor *t, size_t count, arguments *a) {
  fill_plain(t, count, a);
  bool is_double = t->dtype == RLX_F64, is_half = t->dtype == RLX_F16;
  double largest = is_double ? 1.7976931348623157e308 : is_half ? 65504 : 0x1.fep127;
  double min = is_double ? 0x1p-1022 : is_half ? 0x1p-14 : 0x1p-126;
  double list[] = {
    (double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0, largest, -largest, min, -min, min / 8, 1, -1};
  for (size_t i = 0; rlx_dtype_is_float(t->dtype) && i < count; i += 2)
    rlx_store_value(t, i, list[(i / 2) % (sizeof list / sizeof *list)]);
}

static void fill_distinct(rlx_tensor *t, size_t count, arguments *a) {
  for (size_t i = 0; i < count; i++) {
    bool is_unsigned = rlx_dtype_is_int(t->dtype) && rlx_dtype_is_unsigned(t->dtype);
    double v = (double)i - (is_unsigned ? 0 : (double)(count / 2));
    rlx_store_value(t, i, rlx_dtype_is_float(t->dtype) ? v / 8 : v);
  }
  size_t size = rlx_dtype_size(t->dtype);
  unsigned char *data = t->data, swap[8];
  for (size_t i = count; i > 1; i--) {
    size_t k = (size_t)rlx_random_below(&a->random, i);
    memcpy(swap, data + k * size, size);
    memcpy(data + k * size, data + (i - 1) * size, size);
    memcpy(data + (i - 1) * size, swap, size);
  }
}

static void fill_index(rlx_tensor *t, size_t count, arguments *a) {
  (void)a;
  for (size_t i = 0; i < count; i++) rlx_store_value(t, i, (double)i);
}

static const struct {
  const char *name;
  fill_fn fill;
  size_t min_args, max_args;
} generators[] = {
  {"", fill_plain, 0, 0},          {"range", fill_range, 2, 2},       {"values", fill_values, 1, MAX_ARGS},
  {"special", fill_special, 0, 0}, {"distinct", fill_distinct, 0, 0}, {"index", fill_index, 0, 0},
};

static rlx_status parse_arguments(const char *p, const char *end, arguments *a) {
  while (p < end && *p != ')') {
    const char *from = p;
    while (p < end && *p != ',' && *p != ')') p++;
    size_t n = (size_t)(p - from);
    while (n && *from == ' ') from++, n--;
    if (a->n == MAX_ARGS || !rlx_text_to_double(from, n, &a->v[a->n]))
      return RLX_FAIL(RLX_INVALID, "generator: '%.*s' is not a number", (int)n, from);
    a->n++;
    if (p < end && *p == ',') p++;
  }
  return RLX_OK;
}

/* Random blocks for types without an encoder: any codes, with the scale at this offset set to a moderate f16 (or
 * f32). */
static void fill_raw_blocks(rlx_tensor *t, uint64_t *random) {
  size_t block = rlx_dtype_describe(t->dtype)->block_bytes;
  size_t scale_at = t->dtype == RLX_TQ1_0 ? 52 : t->dtype == RLX_TQ2_0 ? 64 : 0;
  unsigned char *data = t->data;
  for (size_t i = 0; i < t->bytes; i++) data[i] = (unsigned char)rlx_random_next(random);
  for (size_t at = 0; at < t->bytes; at += block) {
    float scale = 0.001f + 0.01f * (float)rlx_random_unit(random);
    uint16_t half = rlx_f32_to_f16(scale);
    if (t->dtype == RLX_Q8_K) memcpy(data + at, &scale, sizeof scale);
    else memcpy(data + at + scale_at, &half, sizeof half);
  }
}

static rlx_status fill_blocks(rlx_tensor *t, fill_fn fill, arguments *a) {
  if (!rlx_quant_can_encode(t->dtype)) {
    fill_raw_blocks(t, &a->random);
    return RLX_OK;
  }
  size_t count = rlx_dims_count(&t->shape);
  float *values = rlx_mem_calloc(count ? count : 1, sizeof *values);
  if (!values) return RLX_FAIL(RLX_NO_MEMORY, "%zu values", count);
  rlx_tensor plain = {.dtype = RLX_F32, .shape = t->shape, .data = values, .bytes = count * sizeof *values};
  fill(&plain, count, a);
  rlx_status s = rlx_quant_encode(t->dtype, values, t->data, count);
  rlx_mem_free(values);
  return s;
}

rlx_status rlx_values_fill(rlx_tensor *t, const char *generator, size_t n, uint64_t seed) {
  while (n && generator[n - 1] == ' ') n--;
  size_t name = 0;
  while (name < n && generator[name] != '(') name++;
  arguments a = {.random = seed};
  if (name < n) RLX_TRY(parse_arguments(generator + name + 1, generator + n, &a));
  for (size_t i = 0; i < sizeof generators / sizeof *generators; i++) {
    if (strlen(generators[i].name) != name || memcmp(generators[i].name, generator, name) != 0) continue;
    if (a.n < generators[i].min_args || a.n > generators[i].max_args)
      return RLX_FAIL(RLX_INVALID, "generator '%s' does not take %zu numbers", generators[i].name, a.n);
    if (rlx_dtype_is_block(t->dtype)) return fill_blocks(t, generators[i].fill, &a);
    rlx_tensor parts = *t;
    size_t count = rlx_dims_count(&t->shape);
    if (t->dtype == RLX_C64) parts.dtype = RLX_F32;
    generators[i].fill(&parts, t->dtype == RLX_C64 ? 2 * count : count, &a);
    return RLX_OK;
  }
  return RLX_FAIL(RLX_INVALID, "unknown generator '%.*s'", (int)n, generator);
}
