/* The arena's contract: typed reads and writes for every pair of types, odd counts, wrong counts, values larger than
 * the staging buffer, unaligned pointers. Values are compared with the reference's `cast`, element by element, NaNs
 * only as NaNs; and with known numbers, so that arena and reference cannot be wrong together. */
#include <stdlib.h>

#include "arena_world.h"
#include "quant/quant.h"
#include "ref/ref.h"

/* ---- data ---- */

/* Values of every kind: any bits, small numbers, numbers around the edges of integer types, infinities and NaN. */
static double random_number(void) {
  /* clang-format off */
  static const double edges[] = {
    0, -0.0, 0.5, -0.5, 1, 127, 128, -128, -129, 255, 256, 32767, 32768, 65504, 65520, 2147483647.0, 2147483648.0,
    -2147483649.0, 4294967296.0, 9.3e18, -9.3e18, 1e-8, 6e-8, 3.4e38, 1e300, INFINITY, -INFINITY, NAN,
  };
  /* clang-format on */
  uint64_t r = random_bits();
  if (r % 3 == 0) return edges[r / 3 % (sizeof edges / sizeof *edges)];
  return (double)(int64_t)(r % 2001 - 1000) / (r & 4096 ? 7.0 : 1.0);
}

static void fill(rlx_dtype dtype, void *data, size_t count) {
  rlx_tensor t = {.dtype = dtype, .data = data};
  for (size_t i = 0, n = elements_bytes(dtype, count); i < n; i += 8) {
    const uint64_t bits = random_bits();
    memcpy((char *)data + i, &bits, n - i < 8 ? n - i : 8);
  }
  for (size_t i = 0; (rlx_dtype_is_float(dtype) || rlx_dtype_is_int(dtype)) && i < count; i++)
    if (random_bits() % 4) rlx_store_value(&t, i, random_number());
}

static void expect_cast(rlx_dtype to, void *dst, rlx_dtype from, const void *src, size_t count) {
  rlx_tensor d = {.dtype = to, .data = dst}, s = {.dtype = from, .const_data = src};
  if (rlx_dtype_is_block(from) && to == RLX_F32) CHECK_OK(rlx_quant_decode(from, src, dst, count));
  else if (to == from && to != RLX_BOOL) memcpy(dst, src, elements_bytes(to, count));
  else
    for (size_t i = 0; i < count; i++) rlx_convert(&d, i, &s, i);
}

/* Equal bits, or NaN and NaN. */
static bool is_equal(rlx_dtype dtype, const void *a, const void *b, size_t count, bool is_converted) {
  if (!is_converted || !rlx_dtype_is_float(dtype)) return memcmp(a, b, elements_bytes(dtype, count)) == 0;
  rlx_tensor ta = {.dtype = dtype, .const_data = a}, tb = {.dtype = dtype, .const_data = b};
  size_t size = rlx_dtype_size(dtype);
  for (size_t i = 0; i < count; i++) {
    double x = rlx_load(&ta, i), y = rlx_load(&tb, i);
    if (x != x && y != y) continue;
    if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) != 0) return false;
  }
  return true;
}

/* ---- the cases ---- */

/* Whether a host array of `from` can be converted to `to`, by the contract. */
static bool is_conversion(rlx_dtype from, rlx_dtype to) {
  if (from == to) return true;
  if (rlx_dtype_is_block(from)) return to == RLX_F32;
  return from != RLX_C64 && to != RLX_C64 && !rlx_dtype_is_block(to);
}

static void check_write(world *w, rlx_dtype host, void *data, void *expected) {
  const rlx_dtype stored = w->type[2].dtype;
  const size_t count = count_of(w, 2), bytes = (size_t)w->at[2].bytes;
  fill(host, data, count);
  if (!is_conversion(host, stored)) {
    CHECK_FAILS(rlx_arena_write(w->a, 2, host, data, count), RLX_UNSUPPORTED, rlx_dtype_name(stored));
    world_compare(w);
    return;
  }
  CHECK_OK(rlx_arena_write(w->a, 2, host, data, count));
  expect_cast(stored, expected, host, data, count);
  CHECK_OK(rlx_arena_read_raw(w->a, 2, 0, image_of(w, 2), bytes));
  if (!is_equal(stored, image_of(w, 2), expected, count, host != stored))
    FAIL("%zu of %s written as %s: wrong values", count, rlx_dtype_name(stored), rlx_dtype_name(host));
  world_compare(w);
}

static void check_read(world *w, rlx_dtype host, unsigned char *data, void *expected) {
  const rlx_dtype stored = w->type[2].dtype;
  const size_t count = count_of(w, 2);
  const size_t bytes = elements_bytes(host, count);
  memset(data, POISON, bytes + 8);
  if (!is_conversion(stored, host)) {
    CHECK_FAILS(rlx_arena_read(w->a, 2, host, data, count), RLX_UNSUPPORTED, rlx_dtype_name(stored));
    for (size_t i = 0; i < bytes + 8; i++) CHECK(data[i] == POISON);
    return;
  }
  CHECK_OK(rlx_arena_read(w->a, 2, host, data, count));
  expect_cast(host, expected, stored, image_of(w, 2), count);
  if (!is_equal(host, data, expected, count, host != stored))
    FAIL("%zu of %s read as %s: wrong values", count, rlx_dtype_name(stored), rlx_dtype_name(host));
  for (size_t i = 0; i < 8; i++) CHECK(data[bytes + i] == POISON);
}

static void check_pairs(rlx_device *d, rlx_dtype stored, size_t count) {
  world w;
  const rlx_type types[] = {TYPE(RLX_U8, 5), TYPE(stored, (int64_t)count), TYPE(RLX_I16, 3), TYPE(RLX_BOOL, 7)};
  world_open(&w, d, types, 4);
  STOP_IF_FAILED;
  const size_t room = count * 8 + 512;
  void *data = malloc(room), *expected = malloc(room);
  CHECK(data && expected);
  for (int host = 0; host < RLX_DTYPE_COUNT; host++) {
    if (count % rlx_dtype_describe((rlx_dtype)host)->block_elements) continue;
    fill(stored, expected, count); /* data to read, whatever was there before */
    CHECK_OK(rlx_arena_write(w.a, 2, stored, expected, count));
    CHECK_OK(rlx_arena_read_raw(w.a, 2, 0, image_of(&w, 2), (size_t)w.at[2].bytes));
    check_read(&w, (rlx_dtype)host, data, expected);
    STOP_IF_FAILED;
    check_write(&w, (rlx_dtype)host, data, expected);
    STOP_IF_FAILED;
  }
  free(data);
  free(expected);
  world_close(&w);
}

void every_pair_of_types(rlx_device *d) {
  static const size_t counts[] = {1, 2, 3, 5, 31, 33, 256, 257};
  for (int stored = 0; stored < RLX_DTYPE_COUNT; stored++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      if (counts[i] % rlx_dtype_describe((rlx_dtype)stored)->block_elements) continue;
      check_pairs(d, (rlx_dtype)stored, counts[i]);
      STOP_IF_FAILED;
    }
}

/* Numbers known beforehand, so that the case above cannot be wrong together with the reference. */
void known_conversions(rlx_device *d) {
  /* clang-format off */
  static const struct {
    rlx_dtype from, to;
    double x, y;
  } rows[] = {
    {RLX_F32, RLX_F16, 65519, 65504}, {RLX_F32, RLX_F16, 65520, INFINITY}, {RLX_F32, RLX_F16, 2049, 2048},
    {RLX_F32, RLX_F16, 2051, 2052}, {RLX_F32, RLX_BF16, 257, 256}, {RLX_F32, RLX_BF16, 259, 260},
    {RLX_F64, RLX_F16, 1e-8, 0}, {RLX_F32, RLX_I8, 300, 127}, {RLX_F32, RLX_I8, -300, -128},
    {RLX_F32, RLX_U8, -1, 0}, {RLX_F32, RLX_U8, 255.9, 255}, {RLX_F32, RLX_I32, 3e9, 2147483647.0},
    {RLX_F32, RLX_I32, -1.9, -1}, {RLX_F32, RLX_I32, NAN, 0}, {RLX_F32, RLX_BOOL, 0.5, 1},
    {RLX_I64, RLX_I32, 4294967296.0, 2147483647.0}, {RLX_I64, RLX_I32, -4294967296.0, -2147483648.0},
    {RLX_I64, RLX_I16, 40000, 32767}, {RLX_I32, RLX_U32, -5, 0}, {RLX_U32, RLX_I32, 4294967295.0, 2147483647.0},
    {RLX_I32, RLX_I64, -7, -7}, {RLX_I32, RLX_F16, 2049, 2048}, {RLX_I64, RLX_F32, 16777217, 16777216},
    {RLX_BOOL, RLX_F32, 1, 1}, {RLX_I8, RLX_BOOL, -3, 1}, {RLX_F16, RLX_F32, 0.0999755859375, 0.0999755859375},
    {RLX_BF16, RLX_F64, 1.5, 1.5},
  };
  /* clang-format on */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    world w;
    world_open(&w, d, &TYPE(rows[i].to, 1), 1);
    STOP_IF_FAILED;
    int64_t data = 0, found = 0;
    rlx_tensor from = {.dtype = rows[i].from, .data = &data}, to = {.dtype = rows[i].to, .data = &found};
    rlx_store_value(&from, 0, rows[i].x);
    CHECK_OK(rlx_arena_write(w.a, 1, rows[i].from, &data, 1));
    CHECK_OK(rlx_arena_read(w.a, 1, rows[i].to, &found, 1));
    double y = rlx_load(&to, 0);
    if (y != rows[i].y) FAIL("row %zu: %g as %s gave %g", i, rows[i].x, rlx_dtype_name(rows[i].to), y);
    world_close(&w);
  }
}

/* Through unaligned pointers; a type that cannot be converted from the host's is written as itself. */
static void check_unaligned(rlx_device *d, rlx_dtype stored, rlx_dtype host, size_t count) {
  world w;
  const rlx_type types[] = {TYPE(stored, (int64_t)count), TYPE(RLX_U8, 3), TYPE(RLX_U8, 3)};
  world_open(&w, d, types, 3);
  STOP_IF_FAILED;
  char *data = malloc(count * 8 + 16), *moved = malloc(count * 8 + 16), *expected = malloc(count * 8 + 16);
  CHECK(data && moved && expected);
  const rlx_dtype from = is_conversion(host, stored) ? host : stored;
  fill(from, data, count);
  memcpy(moved + 1, data, elements_bytes(from, count));
  CHECK_OK(rlx_arena_write(w.a, 1, from, moved + 1, count));
  expect_cast(stored, expected, from, data, count);
  CHECK_OK(rlx_arena_read_raw(w.a, 1, 0, image_of(&w, 1), (size_t)w.at[1].bytes));
  CHECK(is_equal(stored, image_of(&w, 1), expected, count, from != stored));
  world_compare(&w);
  STOP_IF_FAILED;
  CHECK_OK(rlx_arena_read(w.a, 1, host, moved + 3, count));
  expect_cast(host, expected, stored, image_of(&w, 1), count);
  memcpy(data, moved + 3, elements_bytes(host, count)); /* aligned, for the comparison */
  CHECK(is_equal(host, data, expected, count, host != stored));
  free(data);
  free(moved);
  free(expected);
  world_close(&w);
}

/* Values larger than the staging buffer. */
void large_and_unaligned(rlx_device *d) {
  enum { N = 150007, N_BLOCKED = 256 * 2000 };
  /* clang-format off */
  static const struct {
    rlx_dtype stored, host;
    size_t count;
  } rows[] = {
    {RLX_F16, RLX_F32, N}, {RLX_F32, RLX_F16, N}, {RLX_BF16, RLX_F32, N}, {RLX_F32, RLX_BF16, N},
    {RLX_F64, RLX_F32, N}, {RLX_I8, RLX_F64, N}, {RLX_BOOL, RLX_I64, N}, {RLX_I32, RLX_I64, N},
    {RLX_I64, RLX_I32, N}, {RLX_BOOL, RLX_BOOL, N}, {RLX_Q4_K, RLX_F32, N_BLOCKED},
    {RLX_MXFP4, RLX_F32, N_BLOCKED}, {RLX_Q8_K, RLX_F32, N_BLOCKED}, {RLX_Q8_0, RLX_Q8_0, N_BLOCKED},
  };
  /* clang-format on */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    check_unaligned(d, rows[i].stored, rows[i].host, rows[i].count);
    STOP_IF_FAILED;
  }
}

void wrong_counts(rlx_device *d) {
  world w;
  const rlx_type types[] = {TYPE(RLX_F32, 2, 3), TYPE(RLX_F16, 5), TYPE(RLX_Q8_0, 2, 32)};
  world_open(&w, d, types, 3);
  STOP_IF_FAILED;
  static const struct {
    rlx_node node;
    size_t count;
  } rows[] = {{1, 0}, {1, 5}, {1, 7}, {1, SIZE_MAX}, {1, SIZE_MAX / 4 + 1}, {2, 4}, {2, 6}, {3, 32}, {3, 63}, {3, 96}};
  unsigned char data[512];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int same = 0; same < 2; same++) {
      rlx_dtype host = same ? w.type[rows[i].node].dtype : RLX_F32;
      memset(data, POISON, sizeof data);
      CHECK_FAILS(rlx_arena_read(w.a, rows[i].node, host, data, rows[i].count), RLX_INVALID, "elements, got");
      for (size_t k = 0; k < sizeof data; k++) CHECK(data[k] == POISON);
      if (!is_conversion(host, w.type[rows[i].node].dtype)) continue;
      CHECK_FAILS(rlx_arena_write(w.a, rows[i].node, host, data, rows[i].count), RLX_INVALID, "elements, got");
      world_compare(&w);
      STOP_IF_FAILED;
    }
  CHECK_FAILS(rlx_arena_write(w.a, 1, RLX_F32, NULL, 6), RLX_INVALID, "data is NULL");
  CHECK_FAILS(rlx_arena_read(w.a, 1, RLX_F32, NULL, 6), RLX_INVALID, "data is NULL");
  CHECK_FAILS(rlx_arena_write(w.a, 1, (rlx_dtype)99, data, 6), RLX_INVALID, "unknown dtype 99");
  CHECK_FAILS(rlx_arena_read(w.a, 1, (rlx_dtype)-1, data, 6), RLX_INVALID, "unknown dtype -1");
  CHECK_FAILS(rlx_arena_write(w.a, 4, RLX_F32, data, 6), RLX_NOT_FOUND, "node 4 has no place");
  CHECK_FAILS(rlx_arena_read(w.a, 5, RLX_F32, data, 6), RLX_INVALID, "node 5");
  CHECK_FAILS(rlx_arena_write(NULL, 1, RLX_F32, data, 6), RLX_INVALID, "arena is NULL");
  CHECK_FAILS(rlx_arena_read(NULL, 1, RLX_F32, data, 6), RLX_INVALID, "arena is NULL");
  world_compare(&w);
  STOP_IF_FAILED;
  world_close(&w);
}
