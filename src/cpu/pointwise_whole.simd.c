/* Element-wise ops on tiles of integers (i64) and bools (bytes), from the scalar formulas of ir/scalar.h. These are
 * plain loops, which the compiler vectorises where the set has the instructions. Wrapping to narrower dtypes is a
 * separate step (pointwise_move.simd.c), so one loop serves all widths. */
#include "cpu/pointwise.h"
#include "ir/scalar.h"

#define LOOP(tile_name, T, R, formula)                   \
  static void tile_name(CPU_TILE_ARGS) {                 \
    CPU_TILE_UNUSED;                                     \
    const T *x = a, *y = b;                              \
    R *to = dst;                                         \
    (void)y;                                             \
    for (size_t k = 0; k < n; k++) to[k] = (R)(formula); \
  }

/* ---- integers ---- */

#define INT_UNARY(name, formula) LOOP(ints_##name, int64_t, int64_t, rlx_scalar_##name##_i(x[k]))
RLX_INT_UNARY(INT_UNARY)
#undef INT_UNARY
#define BINARY(name, types, traits, float_formula, int_formula, doc) \
  LOOP(ints_##name, int64_t, int64_t, rlx_scalar_##name##_i(x[k], y[k], p->bits))
#define COMPARE(name, operator, traits, doc)                             \
  LOOP(ints_##name, int64_t, uint8_t, rlx_scalar_##name##_i(x[k], y[k])) \
  LOOP(bools_##name, uint8_t, uint8_t, rlx_scalar_##name##_i(x[k], y[k]))
#include "ir/binary.def"
#undef BINARY
#undef COMPARE
LOOP(ints_clamp, int64_t, int64_t, (x[k] < p->lo ? p->lo : x[k]) > p->hi ? p->hi : x[k] < p->lo ? p->lo : x[k])

static void ints_where(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const uint8_t *x = a;
  const int64_t *t = b, *f = c;
  int64_t *to = dst;
  for (size_t k = 0; k < n; k++) to[k] = x[k] ? t[k] : f[k];
}

/* a: codes, b: scales, c: zero points; the result is floats. */
static void ints_dequantize(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const int64_t *x = a, *zero = c;
  const float *scale = b;
  float *to = dst;
  for (size_t k = 0; k < n; k++) to[k] = (float)((double)(x[k] - zero[k]) * (double)scale[k]);
}

/* ---- bools ---- */

LOOP(bools_and, uint8_t, uint8_t, x[k] & y[k])
LOOP(bools_or, uint8_t, uint8_t, x[k] | y[k])
LOOP(bools_xor, uint8_t, uint8_t, x[k] ^ y[k])
LOOP(bools_not, uint8_t, uint8_t, !x[k])

static void bools_where(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const uint8_t *x = a, *t = b, *f = c;
  uint8_t *to = dst;
  for (size_t k = 0; k < n; k++) to[k] = x[k] ? t[k] : f[k];
}

/* clang-format off */
const cpu_tile_ops CPU_TABLE(cpu_tile_ints) = {.op = {
#define INT_UNARY(name, formula) [RLX_OP_##name] = ints_##name,
  RLX_INT_UNARY(INT_UNARY)
#undef INT_UNARY
#define BINARY(name, types, traits, float_formula, int_formula, doc) [RLX_OP_##name] = ints_##name,
#define COMPARE(name, operator, traits, doc) [RLX_OP_##name] = ints_##name,
#include "ir/binary.def"
#undef BINARY
#undef COMPARE
  [RLX_OP_clamp] = ints_clamp, [RLX_OP_where] = ints_where, [RLX_OP_dequantize] = ints_dequantize,
}};

const cpu_tile_ops CPU_TABLE(cpu_tile_bools) = {.op = {
#define BINARY(name, types, traits, float_formula, int_formula, doc)
#define COMPARE(name, operator, traits, doc) [RLX_OP_##name] = bools_##name,
#include "ir/binary.def"
#undef BINARY
#undef COMPARE
  [RLX_OP_and] = bools_and, [RLX_OP_or] = bools_or, [RLX_OP_xor] = bools_xor,
  [RLX_OP_not] = bools_not, [RLX_OP_where] = bools_where,
}};
/* clang-format on */
