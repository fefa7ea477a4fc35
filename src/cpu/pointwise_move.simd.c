/* Moves tiles to and from memory and converts between forms: loads, stores, fills, casts, and fitting a value to a
 * node's dtype. */
#include <math.h>

#include "cpu/pointwise.h"
#include "cpu/simd.h"

/* In place there is nothing to do. */
#define COPY(name, T)                            \
  static void name(CPU_TILE_ARGS) {              \
    CPU_TILE_UNUSED;                             \
    if (dst != a) memcpy(dst, a, n * sizeof(T)); \
  }
COPY(copy_1, uint8_t)
COPY(copy_4, float)
COPY(copy_8, int64_t)

#define LOOP(name, T, R, formula)                        \
  static void name(CPU_TILE_ARGS) {                      \
    CPU_TILE_UNUSED;                                     \
    const T *x = a;                                      \
    R *to = dst;                                         \
    for (size_t k = 0; k < n; k++) to[k] = (R)(formula); \
  }

/* ---- 16-bit floats ---- */

#define HALF(type)                                                                    \
  static void load_##type(CPU_TILE_ARGS) {                                            \
    CPU_TILE_UNUSED;                                                                  \
    const uint16_t *x = a;                                                            \
    float *to = dst;                                                                  \
    size_t k = 0;                                                                     \
    for (; k + VF_LANES <= n; k += VF_LANES) vf_store(to + k, vf_load_##type(x + k)); \
    if (k < n) vf_store_n(to + k, vf_load_##type##_n(x + k, n - k), n - k);           \
  }                                                                                   \
  static void store_##type(CPU_TILE_ARGS) {                                           \
    CPU_TILE_UNUSED;                                                                  \
    const float *x = a;                                                               \
    uint16_t *to = dst;                                                               \
    size_t k = 0;                                                                     \
    for (; k + VF_LANES <= n; k += VF_LANES) vf_store_##type(to + k, vf_load(x + k)); \
    if (k < n) vf_store_##type##_n(to + k, vf_load_n(x + k, n - k), n - k);           \
  }                                                                                   \
  static void fit_##type(CPU_TILE_ARGS) {                                             \
    CPU_TILE_UNUSED;                                                                  \
    const float *x = a;                                                               \
    float *to = dst;                                                                  \
    uint16_t rounded[VF_LANES];                                                       \
    for (size_t k = 0; k < n; k += VF_LANES) {                                        \
      size_t m = n - k < VF_LANES ? n - k : VF_LANES;                                 \
      vf_store_##type(rounded, m == VF_LANES ? vf_load(x + k) : vf_load_n(x + k, m)); \
      vf v = vf_load_##type(rounded);                                                 \
      if (m == VF_LANES) vf_store(to + k, v);                                         \
      else vf_store_n(to + k, v, m);                                                  \
    }                                                                                 \
  }
HALF(f16)
HALF(bf16)

/* ---- integers ---- */

#define WHOLE(type, T)                 \
  LOOP(load_##type, T, int64_t, x[k])  \
  LOOP(store_##type, int64_t, T, x[k]) \
  LOOP(fit_##type, int64_t, int64_t, (T)x[k])
WHOLE(i8, int8_t)
WHOLE(u8, uint8_t)
WHOLE(i16, int16_t)
WHOLE(i32, int32_t)
WHOLE(u32, uint32_t)

/* ---- fills ---- */

#define FILL(name, T)                             \
  static void name(CPU_TILE_ARGS) {               \
    CPU_TILE_UNUSED;                              \
    T value;                                      \
    memcpy(&value, a, sizeof value);              \
    T *to = dst;                                  \
    for (size_t k = 0; k < n; k++) to[k] = value; \
  }
FILL(fill_floats, float)
FILL(fill_ints, int64_t)
FILL(fill_bools, uint8_t)

/* ---- casts ---- */

/* Truncates and saturates; NaN gives 0. As doubles the bounds may be rounded outwards, so equality saturates. */
static void floats_to_ints(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const float *x = a;
  int64_t *to = dst;
  double lo = (double)p->lo, hi = (double)p->hi;
  for (size_t k = 0; k < n; k++) {
    double v = (double)x[k];
    to[k] = v != v ? 0 : v <= lo ? p->lo : v >= hi ? p->hi : (int64_t)v;
  }
}
LOOP(floats_to_bools, float, uint8_t, x[k] != 0)
LOOP(ints_to_floats, int64_t, float, x[k])
LOOP(ints_to_bools, int64_t, uint8_t, x[k] != 0)
LOOP(ints_to_ints, int64_t, int64_t, x[k]<p->lo ? p->lo : x[k]> p->hi ? p->hi : x[k])
LOOP(bools_to_floats, uint8_t, float, x[k])
LOOP(bools_to_ints, uint8_t, int64_t, x[k])

/* Round-to-odd to 24 bits: the last bit is set where any below it was, so that a later rounding to fewer bits is
 * correct. */
static void ints_to_odd(CPU_TILE_ARGS) {
  CPU_TILE_UNUSED;
  const int64_t *x = a;
  float *to = dst;
  for (size_t k = 0; k < n; k++) {
    uint64_t m = x[k] < 0 ? 0 - (uint64_t)x[k] : (uint64_t)x[k], kept = m;
    int drop = 0;
    while (kept >> 24) kept >>= 1, drop++;
    if (kept << drop != m) kept |= 1;
    float v = ldexpf((float)kept, drop);
    to[k] = x[k] < 0 ? -v : v;
  }
}

const cpu_tile_moves CPU_TABLE(cpu_tile_move) = {
  .load = {[RLX_F32] = copy_4,
           [RLX_F16] = load_f16,
           [RLX_BF16] = load_bf16,
           [RLX_I8] = load_i8,
           [RLX_U8] = load_u8,
           [RLX_I16] = load_i16,
           [RLX_I32] = load_i32,
           [RLX_U32] = load_u32,
           [RLX_I64] = copy_8,
           [RLX_BOOL] = copy_1},
  .store = {[RLX_F32] = copy_4,
            [RLX_F16] = store_f16,
            [RLX_BF16] = store_bf16,
            [RLX_I8] = store_i8,
            [RLX_U8] = store_u8,
            [RLX_I16] = store_i16,
            [RLX_I32] = store_i32,
            [RLX_U32] = store_u32,
            [RLX_I64] = copy_8,
            [RLX_BOOL] = copy_1},
  .fit = {[RLX_F16] = fit_f16,
          [RLX_BF16] = fit_bf16,
          [RLX_I8] = fit_i8,
          [RLX_U8] = fit_u8,
          [RLX_I16] = fit_i16,
          [RLX_I32] = fit_i32,
          [RLX_U32] = fit_u32},
  .fill = {[CPU_FLOATS] = fill_floats, [CPU_INTS] = fill_ints, [CPU_BOOLS] = fill_bools},
  .convert = {[CPU_FLOATS] = {[CPU_FLOATS] = copy_4, [CPU_INTS] = floats_to_ints, [CPU_BOOLS] = floats_to_bools},
              [CPU_INTS] = {[CPU_FLOATS] = ints_to_floats, [CPU_INTS] = ints_to_ints, [CPU_BOOLS] = ints_to_bools},
              [CPU_BOOLS] = {[CPU_FLOATS] = bools_to_floats, [CPU_INTS] = bools_to_ints, [CPU_BOOLS] = copy_1}},
  .ints_to_odd = ints_to_odd,
};
