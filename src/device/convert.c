/* Conversion of arrays. The general path follows the reference element by element (rlx_convert), through two small
 * aligned buffers. The pairs that are common for weights and activations have direct loops, which give the same
 * bits. */
#include "device/convert.h"

#include "ir/element.h"
#include "quant/quant.h"

/* Elements per chunk: whole blocks of every block type. */
enum { PIECE = 256 };

rlx_status rlx_convert_check(rlx_dtype from, rlx_dtype to) {
  if (!rlx_dtype_describe(from)) return RLX_FAIL(RLX_INVALID, "unknown dtype %d", (int)from);
  if (!rlx_dtype_describe(to)) return RLX_FAIL(RLX_INVALID, "unknown dtype %d", (int)to);
  if (from == to) return RLX_OK;
  if (from == RLX_C64 || to == RLX_C64)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s as %s: c64 is read and written only as c64", rlx_dtype_name(from),
                    rlx_dtype_name(to));
  if (rlx_dtype_is_block(to))
    return RLX_FAIL(RLX_UNSUPPORTED, "%s as %s: a block type is written only as its own bytes", rlx_dtype_name(from),
                    rlx_dtype_name(to));
  if (rlx_dtype_is_block(from) && to != RLX_F32)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s as %s: a block type is read as its own bytes or as f32", rlx_dtype_name(from),
                    rlx_dtype_name(to));
  return RLX_OK;
}

size_t rlx_bools_check(const void *bytes, size_t n) {
  const uint8_t *v = bytes;
  for (size_t i = 0; i < n; i++)
    if (v[i] > 1) return i;
  return n;
}

/* ---- direct loops; memcpy is how C reads a number that may be unaligned ---- */

static int32_t i32_of(int64_t x) { return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x; }

#define LOOP(name, T_TO, T_FROM, expr)                              \
  static void name(void *dst, const void *src, size_t count) {      \
    for (size_t i = 0; i < count; i++) {                            \
      T_FROM x;                                                     \
      memcpy(&x, (const char *)src + i * sizeof(T_FROM), sizeof x); \
      const T_TO y = (expr);                                        \
      memcpy((char *)dst + i * sizeof(T_TO), &y, sizeof y);         \
    }                                                               \
  }
LOOP(f32_from_f16, float, uint16_t, rlx_f16_to_f32(x))
LOOP(f32_from_bf16, float, uint16_t, rlx_bf16_to_f32(x))
LOOP(f16_from_f32, uint16_t, float, rlx_f32_to_f16(x))
LOOP(bf16_from_f32, uint16_t, float, rlx_f32_to_bf16(x))
LOOP(f32_from_f64, float, double, (float)x)
LOOP(f64_from_f32, double, float, (double)x)
LOOP(i64_from_i32, int64_t, int32_t, x)
LOOP(i32_from_i64, int32_t, int64_t, i32_of(x))
LOOP(bool_from_bool, uint8_t, uint8_t, x != 0)
#undef LOOP

typedef void (*convert_loop)(void *dst, const void *src, size_t count);
static const convert_loop loops[RLX_DTYPE_COUNT][RLX_DTYPE_COUNT] = {
  [RLX_F32] = {[RLX_F16] = f32_from_f16, [RLX_BF16] = f32_from_bf16, [RLX_F64] = f32_from_f64},
  [RLX_F16] = {[RLX_F32] = f16_from_f32},
  [RLX_BF16] = {[RLX_F32] = bf16_from_f32},
  [RLX_F64] = {[RLX_F32] = f64_from_f32},
  [RLX_I64] = {[RLX_I32] = i64_from_i32},
  [RLX_I32] = {[RLX_I64] = i32_from_i64},
  [RLX_BOOL] = {[RLX_BOOL] = bool_from_bool},
};

/* ---- the general path, in chunks ---- */

typedef union piece { /* PIECE elements of any type, aligned for all of them */
  double f64[PIECE];
  int64_t i64[PIECE];
} piece;

static void convert_piece(rlx_dtype to, void *dst, rlx_dtype from, const void *src, size_t count) {
  piece in, out;
  memcpy(&in, src, count * rlx_dtype_size(from));
  const rlx_tensor a = {.dtype = from, .data = &in};
  rlx_tensor b = {.dtype = to, .data = &out};
  for (size_t i = 0; i < count; i++) rlx_convert(&b, i, &a, i);
  memcpy(dst, &out, count * rlx_dtype_size(to));
}

/* A decoder reads bytes but writes floats, so only the result is buffered. */
static rlx_status decode_piece(void *dst, rlx_dtype from, const void *src, size_t count) {
  float out[PIECE];
  RLX_TRY(rlx_quant_decode(from, src, out, count));
  memcpy(dst, out, count * sizeof *out);
  return RLX_OK;
}

rlx_status rlx_convert_array(rlx_dtype to, void *dst, rlx_dtype from, const void *src, size_t count) {
  if (count == 0) return RLX_OK;
  if (loops[to][from]) {
    loops[to][from](dst, src, count);
    return RLX_OK;
  }
  if (to == from) {
    memcpy(dst, src, (size_t)rlx_elements_bytes(to, count));
    return RLX_OK;
  }
  for (size_t at = 0; at < count; at += PIECE) {
    size_t n = count - at < PIECE ? count - at : PIECE;
    char *d = (char *)dst + rlx_elements_bytes(to, at);
    const char *s = (const char *)src + rlx_elements_bytes(from, at);
    if (rlx_dtype_is_block(from)) RLX_TRY(decode_piece(d, from, s, n));
    else convert_piece(to, d, from, s, n);
  }
  return RLX_OK;
}
