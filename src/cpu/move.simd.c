/* Transposes tiles in registers, within the 16-byte lanes of a vector.
 *
 * A lane holds N elements. N rows of N become N columns in log2(N) rounds; each round interleaves row i with row i +
 * N/2. On the indices of the N * N elements a round is a rotation by one bit, and log2(N) rotations swap row and
 * column. A vector of several lanes does this for as many squares at once, taken from source rows N apart, so that its
 * results are whole rows of the destination. A tile that would extend past the edge is moved back inside: the overlap
 * is written twice with the same values. What is smaller than a tile is copied element by element along its longer
 * side. */
#include "cpu/move.h"
#include "cpu/simd.h"

typedef const unsigned char *src_bytes;
typedef unsigned char *dst_bytes;

/* ---- shuffles that interleave two vectors, by elements per lane and number of lanes ---- */

#define AT2(o, n) o, o + n
#define AT4(o, n) AT2(o, n), AT2(o + 1, n)
#define AT8(o, n) AT4(o, n), AT4(o + 2, n)
#define AT16(o, n) AT8(o, n), AT8(o + 4, n)
#define LO_2_1 AT2(0, 2)
#define HI_2_1 AT2(1, 2)
#define LO_2_2 AT2(0, 4), AT2(2, 4)
#define HI_2_2 AT2(1, 4), AT2(3, 4)
#define LO_2_4 AT2(0, 8), AT2(2, 8), AT2(4, 8), AT2(6, 8)
#define HI_2_4 AT2(1, 8), AT2(3, 8), AT2(5, 8), AT2(7, 8)
#define LO_4_1 AT4(0, 4)
#define HI_4_1 AT4(2, 4)
#define LO_4_2 AT4(0, 8), AT4(4, 8)
#define HI_4_2 AT4(2, 8), AT4(6, 8)
#define LO_4_4 AT4(0, 16), AT4(4, 16), AT4(8, 16), AT4(12, 16)
#define HI_4_4 AT4(2, 16), AT4(6, 16), AT4(10, 16), AT4(14, 16)
#define LO_8_1 AT8(0, 8)
#define HI_8_1 AT8(4, 8)
#define LO_8_2 AT8(0, 16), AT8(8, 16)
#define HI_8_2 AT8(4, 16), AT8(12, 16)
#define LO_16_1 AT16(0, 16)
#define HI_16_1 AT16(8, 16)
#define LO_16_2 AT16(0, 32), AT16(16, 32)
#define HI_16_2 AT16(8, 32), AT16(24, 32)

#define ROUND(N, L, from, to)                                                \
  for (int i = 0; i < N / 2; i++) {                                          \
    to[2 * i] = VX_SHUFFLE(row, from[i], from[i + N / 2], LO_##N##_##L);     \
    to[2 * i + 1] = VX_SHUFFLE(row, from[i], from[i + N / 2], HI_##N##_##L); \
  }
#define ROUNDS_2(L) ROUND(2, L, r, t)
#define ROUNDS_4(L) ROUND(4, L, r, t) ROUND(4, L, t, r)
#define ROUNDS_8(L) ROUND(8, L, r, t) ROUND(8, L, t, r) ROUND(8, L, r, t)
#define ROUNDS_16(L) ROUND(16, L, r, t) ROUND(16, L, t, r) ROUND(16, L, r, t) ROUND(16, L, t, r)
#define LAST_2 t
#define LAST_4 r
#define LAST_8 t
#define LAST_16 r

/* ---- tiles of N rows of the destination, each of N * L elements ---- */

#define TILE(name, T, N, L)                                                                                    \
  CPU_INLINE void name##_square(src_bytes src, ptrdiff_t src_step, dst_bytes dst, ptrdiff_t dst_step) {        \
    typedef T row __attribute__((vector_size(16 * L)));                                                        \
    row r[N], t[N];                                                                                            \
    for (int i = 0; i < N; i++) r[i] = (row)vx_load##L(src + i * src_step, N * src_step);                      \
    ROUNDS_##N(L) for (int i = 0; i < N; i++) memcpy(dst + i * dst_step, &LAST_##N[i], 16 * L);                \
  }                                                                                                            \
  static void name##_squares(src_bytes src, ptrdiff_t src_step, dst_bytes dst, ptrdiff_t dst_step, size_t n_a, \
                             size_t n_b) {                                                                     \
    for (size_t b = 0; b < n_b; b += N * L) {                                                                  \
      size_t row = b + N * L <= n_b ? b : n_b - N * L;                                                         \
      for (size_t a = 0; a < n_a; a += N) {                                                                    \
        size_t at = a + N <= n_a ? a : n_a - N;                                                                \
        name##_square(src + (ptrdiff_t)row * src_step + (ptrdiff_t)(at * sizeof(T)), src_step,                 \
                      dst + (ptrdiff_t)at * dst_step + (ptrdiff_t)(row * sizeof(T)), dst_step);                \
      }                                                                                                        \
    }                                                                                                          \
  }

#define BY_ONE(name, T)                                                                                               \
  static void name##_by_one(src_bytes src, ptrdiff_t src_step, dst_bytes dst, ptrdiff_t dst_step, size_t n_a,         \
                            size_t n_b) {                                                                             \
    const ptrdiff_t size = (ptrdiff_t)sizeof(T);                                                                      \
    if (n_a > n_b) {                                                                                                  \
      for (size_t b = 0; b < n_b; b++, src += src_step, dst += size)                                                  \
        for (size_t a = 0; a < n_a; a++) memcpy(dst + (ptrdiff_t)a * dst_step, src + (ptrdiff_t)a * size, sizeof(T)); \
    } else {                                                                                                          \
      for (size_t a = 0; a < n_a; a++, src += size, dst += dst_step)                                                  \
        for (size_t b = 0; b < n_b; b++) memcpy(dst + (ptrdiff_t)b * size, src + (ptrdiff_t)b * src_step, sizeof(T)); \
    }                                                                                                                 \
  }

/* Wide tiles, else tiles of one lane, else single elements. */
#define SIZES(name, T, N, L) SIZES_(name, T, N, L)
#define SIZES_(name, T, N, L)                                                                                      \
  TILE(name##_wide, T, N, L)                                                                                       \
  TILE(name##_lane, T, N, 1)                                                                                       \
  BY_ONE(name, T)                                                                                                  \
  static void name(src_bytes src, ptrdiff_t src_step, dst_bytes dst, ptrdiff_t dst_step, size_t n_a, size_t n_b) { \
    if (n_a >= N && n_b >= N * L) name##_wide_squares(src, src_step, dst, dst_step, n_a, n_b);                     \
    else if (n_a >= N && n_b >= N) name##_lane_squares(src, src_step, dst, dst_step, n_a, n_b);                    \
    else name##_by_one(src, src_step, dst, dst_step, n_a, n_b);                                                    \
  }

SIZES(tile1, uint8_t, 16, VX_FEW)
SIZES(tile2, uint16_t, 8, VX_FEW)
SIZES(tile4, uint32_t, 4, VX_MANY)
SIZES(tile8, uint64_t, 2, VX_MANY)

static void round_floats(rlx_dtype to_type, const float *src, void *dst, size_t n) {
  size_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store_as(to_type, dst, i, vf_load(src + i));
  for (; i < n; i++) vf_put_as(to_type, dst, i, src[i]);
}

const cpu_move_table CPU_TABLE(cpu_move) = {.round = round_floats,
                                            .tile = {tile1, tile2, tile4, tile8},
                                            .whole_lines = {false, false, VF_LANES >= 16, VF_LANES >= 16}};
