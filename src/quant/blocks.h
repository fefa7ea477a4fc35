/* Byte offsets of the fields of each block type; internal to src/quant and the kernels that read packed weights.
 *
 * A block is read as an array of bytes. No struct is overlaid, so neither the alignment of a mapped file nor the byte
 * order of the machine matters. The offsets below describe a layout completely; the decoders document how codes are
 * packed into `qs`, and the encoders mirror them. */
#ifndef RLX_QUANT_BLOCKS_H
#define RLX_QUANT_BLOCKS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "ir/dtype.h"

typedef void rlx_block_decode(const uint8_t *block, float *dst);
/* weight: of the squared error of each element, as many as there are elements; NULL: 1 for each. */
typedef void rlx_block_encode(const float *src, const float *weight, uint8_t *dst, size_t n_blocks);

/* Every BLOCK entry of the type table has both. */
#define RLX_BLOCK_FLOAT(ID, name)
#define RLX_BLOCK_INTEGER(ID, name)
#define RLX_BLOCK_BOOL(ID, name)
#define RLX_BLOCK_COMPLEX(ID, name)
#define RLX_BLOCK_FLOAT8(ID, name)
#define RLX_BLOCK_UINT64(ID, name)
#define RLX_BLOCK_BLOCK(ID, name)       \
  rlx_block_decode rlx_##name##_decode; \
  rlx_block_encode rlx_##name##_encode;
#define RLX_BLOCK_DECLARE(ID, number, name, class_, ...) RLX_BLOCK_##class_(ID, name)
RLX_TYPE_TABLE(RLX_BLOCK_DECLARE)
#undef RLX_BLOCK_DECLARE
#undef RLX_BLOCK_BLOCK /* quant.c redefines it */

enum { SMALL_BLOCK = 32, NVFP4_ELEMENTS = 64, SUPER_BLOCK = 256 }; /* elements */

/* Byte offsets. D is the f16 scale (Q8_K: f32), M or DMIN the f16 offset or its scale, QS the low bits of the codes, QH
 * the high ones. BYTES is the size of a block, as in the type table. */
enum { Q4_0_D = 0, Q4_0_QS = 2, Q4_0_BYTES = 18 };
enum { Q4_1_D = 0, Q4_1_M = 2, Q4_1_QS = 4, Q4_1_BYTES = 20 };
enum { Q5_0_D = 0, Q5_0_QH = 2, Q5_0_QS = 6, Q5_0_BYTES = 22 };
enum { Q5_1_D = 0, Q5_1_M = 2, Q5_1_QH = 4, Q5_1_QS = 8, Q5_1_BYTES = 24 };
enum { Q8_0_D = 0, Q8_0_QS = 2, Q8_0_BYTES = 34 };
enum { IQ4_NL_D = 0, IQ4_NL_QS = 2, IQ4_NL_BYTES = 18 };
enum { MXFP4_E = 0, MXFP4_QS = 1, MXFP4_BYTES = 17 };
enum { Q2_K_SCALES = 0, Q2_K_QS = 16, Q2_K_D = 80, Q2_K_DMIN = 82, Q2_K_BYTES = 84 };
enum { Q3_K_HMASK = 0, Q3_K_QS = 32, Q3_K_SCALES = 96, Q3_K_D = 108, Q3_K_BYTES = 110 };
enum { Q4_K_D = 0, Q4_K_DMIN = 2, Q4_K_SCALES = 4, Q4_K_QS = 16, Q4_K_BYTES = 144 };
enum { Q5_K_D = 0, Q5_K_DMIN = 2, Q5_K_SCALES = 4, Q5_K_QH = 16, Q5_K_QS = 48, Q5_K_BYTES = 176 };
enum { Q6_K_QL = 0, Q6_K_QH = 128, Q6_K_SCALES = 192, Q6_K_D = 208, Q6_K_BYTES = 210 };
enum { Q8_K_D = 0, Q8_K_QS = 4, Q8_K_SUMS = 260, Q8_K_BYTES = 292 };
enum { IQ4_XS_D = 0, IQ4_XS_SCALES_H = 2, IQ4_XS_SCALES_L = 4, IQ4_XS_QS = 8, IQ4_XS_BYTES = 136 };
enum { IQ1_S_D = 0, IQ1_S_QS = 2, IQ1_S_QH = 34, IQ1_S_BYTES = 50 };
enum { IQ1_M_QS = 0, IQ1_M_QH = 32, IQ1_M_SCALES = 48, IQ1_M_BYTES = 56 };
enum { IQ2_XXS_D = 0, IQ2_XXS_QS = 2, IQ2_XXS_BYTES = 66 };
enum { IQ2_XS_D = 0, IQ2_XS_QS = 2, IQ2_XS_SCALES = 66, IQ2_XS_BYTES = 74 };
enum { IQ2_S_D = 0, IQ2_S_QS = 2, IQ2_S_SIGNS = 34, IQ2_S_QH = 66, IQ2_S_SCALES = 74, IQ2_S_BYTES = 82 };
enum { IQ3_XXS_D = 0, IQ3_XXS_QS = 2, IQ3_XXS_SIGNS = 66, IQ3_XXS_BYTES = 98 };
enum { IQ3_S_D = 0, IQ3_S_QS = 2, IQ3_S_QH = 66, IQ3_S_SIGNS = 74, IQ3_S_SCALES = 106, IQ3_S_BYTES = 110 };
enum { NVFP4_SCALES = 0, NVFP4_QS = 4, NVFP4_BYTES = 36 };
enum { TQ1_0_QS = 0, TQ1_0_QH = 48, TQ1_0_D = 52, TQ1_0_BYTES = 54 };
enum { TQ2_0_QS = 0, TQ2_0_D = 64, TQ2_0_BYTES = 66 };

/* The 16 levels of the iq4 types, ascending; denser near zero, where most weights are. */
extern const int8_t rlx_iq4_levels[16];
/* The values of the e2m1 codes, doubled to be integers; so the scale that goes with them is halved: 2^(e-128). */
extern const int8_t rlx_mxfp4_levels[16];
float rlx_mxfp4_scale(uint8_t e);
/* The scale for the same levels from an unsigned e4m3: half of its value. 0x7f is 0, as programs that use this type
 * read it. */
float rlx_nvfp4_scale(uint8_t e);

/* The grids of the iq types, and the levels of their entries' codes (decode_iq.c). */
extern const uint16_t rlx_iq1_grid[2048], rlx_iq2_xxs_grid[256], rlx_iq2_xs_grid[512], rlx_iq2_s_grid[1024];
extern const uint16_t rlx_iq3_xxs_grid[256], rlx_iq3_s_grid[512];
extern const int8_t rlx_iq1_levels[2][4], rlx_iq2_levels[4], rlx_iq3_xxs_levels[8], rlx_iq3_s_levels[8];
/* The grid of a type and the number of its entries, which is even; NULL: none. */
const uint16_t *rlx_grid_of(rlx_dtype dtype, uint32_t *n);
uint16_t rlx_iq1_m_scale(const uint8_t *block); /* the block's f16, which is stored in four parts */

static inline uint16_t load_le16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t load_le32(const uint8_t *p) { return load_le16(p) | (uint32_t)load_le16(p + 2) << 16; }
static inline float load_f16(const uint8_t *p) { return rlx_f16_to_f32(load_le16(p)); }

static inline void store_le16(uint8_t *p, uint16_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
}
static inline void store_le32(uint8_t *p, uint32_t v) {
  store_le16(p, (uint16_t)v);
  store_le16(p + 2, (uint16_t)(v >> 16));
}

#endif
