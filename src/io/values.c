/* Checks tensor values. Floats are tested by their bits: an exponent of all ones is infinity or NaN. */
#include "io/values.h"

#include <string.h>

#include "ir/op.h"

/* Bit masks of a float type: exponent, and everything but the sign. */
typedef struct layout {
  size_t size;
  uint64_t exponent, magnitude;
} layout;

static layout layout_of(rlx_dtype dtype) {
  const rlx_type_row *t = rlx_type_get(dtype);
  if (t->exponent == 0 || dtype == RLX_F8E4M3) return (layout){0, 0, 0};
  int mantissa = t->digits - 1; /* the leading 1 is implicit */
  return (layout){.size = dtype == RLX_C64 ? 4 : t->info.block_bytes,
                  .exponent = ((UINT64_C(1) << t->exponent) - 1) << mantissa,
                  .magnitude = (UINT64_C(1) << (t->exponent + mantissa)) - 1};
}

static uint64_t bits_at(const unsigned char *p, size_t size) {
  uint16_t h;
  uint32_t w;
  uint64_t d;
  if (size == 1) return *p;
  if (size == 2) return memcpy(&h, p, 2), h;
  if (size == 4) return memcpy(&w, p, 4), w;
  memcpy(&d, p, 8);
  return d;
}

const char *values_find_bad(rlx_dtype dtype, const void *data, size_t bytes, size_t *at) {
  const unsigned char *p = data;
  layout l = layout_of(dtype);
  for (size_t i = 0; dtype == RLX_BOOL && i < bytes; i++)
    if (p[i] > 1) return *at = i, "is no bool";
  for (size_t i = 0; dtype == RLX_F8E4M3 && i < bytes; i++) /* the largest exponent holds numbers except for one code */
    if ((p[i] & 127) == 127) return *at = i, "is not a number";
  for (size_t i = 0; l.size && i < bytes / l.size; i++) {
    uint64_t bits = bits_at(p + i * l.size, l.size);
    if ((bits & l.exponent) != l.exponent) continue;
    *at = dtype == RLX_C64 ? i / 2 : i;
    return (bits & l.magnitude) == l.exponent ? "is infinite" : "is not a number";
  }
  return NULL;
}

bool values_are_zero(rlx_dtype dtype, const void *data, size_t bytes) {
  const unsigned char *p = data;
  layout l = layout_of(dtype);
  if (dtype == RLX_F8E4M3) l = (layout){.size = 1, .magnitude = 127};
  for (size_t i = 0; l.size && i < bytes / l.size; i++)
    if (bits_at(p + i * l.size, l.size) & l.magnitude) return false;
  return l.size > 0;
}

bool values_should_differ(const char *name, rlx_dtype dtype) {
  size_t n = strlen(name);
  bool is_bias = n >= 4 && strcmp(name + n - 4, "bias") == 0;
  return !is_bias && (rlx_dtype_is_block(dtype) || layout_of(dtype).size || dtype == RLX_F8E4M3);
}
