/* Weights of block types on all GPUs: their layouts, and the lowerings that read them.
 *
 * quant_layout.c   the layout in planes, GPU_LAYOUT_PLANES
 * lower_quant.c    decoding
 * quant_product.c  products with block types on the right (called from dense products through matmul.h)
 * quant_few.c      those of few rows on matrix units
 * quant_wide.c     those on Hopper's products of warp groups
 * lower_dequant.c  dequant_matmul, whose scales are inputs; the 8-bit integer products
 *
 * kernels/blocks.kh decodes both layouts, plain and planes. A lowering that reads a block type states its preference
 * with gpu_prefer_planes and passes gpu_in_planes to its kernel. */
#ifndef RLX_GPU_QUANT_H
#define RLX_GPU_QUANT_H

#include "gpu/matmul_plan.h"

/* The high byte is the layout family, as on the CPU. */
enum { GPU_LAYOUT_QUANT = 0x200, GPU_LAYOUT_PLANES = GPU_LAYOUT_QUANT + 1 };

typedef struct gpu_plane {
  uint16_t offset, bytes; /* of the plane's part of a block: offset in the plain block, and size. 0 bytes: no plane */
} gpu_plane;
enum { GPU_MAX_PLANES = 4 };

bool gpu_decodes(rlx_dtype dtype);               /* whether kernels/blocks.kh decodes the block type */
const gpu_plane *gpu_planes_of(rlx_dtype dtype); /* GPU_MAX_PLANES of them; none: 0 bytes */
uint64_t gpu_plane_start(rlx_dtype dtype, uint64_t n_blocks, uint32_t plane); /* bytes; GPU_MAX_PLANES: the end */
uint64_t gpu_planes_bytes(const rlx_type *type);                              /* 0: not a block type */
void gpu_planes_part(const rlx_type *type, const void *src, uint64_t from, void *dst, size_t bytes); /* repack_part */
rlx_status gpu_planes_repack(const rlx_type *type, bool to_layout, const void *src, void *dst, rlx_pool *pool);

/* For input i: prefer the layout in planes (no effect if not a block type); whether it is stored in planes, for a
 * kernel's constant PLANES; its number of blocks. */
void gpu_prefer_planes(gpu_lowering *l, uint32_t i);
static inline uint32_t gpu_in_planes(const gpu_lowering *l, uint32_t i) { return l->layout[i] == GPU_LAYOUT_PLANES; }
uint32_t gpu_blocks(const rlx_type *t);
/* The codebook grid of the iq1 to iq3 types, two entries per word; GPU_NONE if the type has none. */
gpu_window gpu_block_grid(gpu_lowering *l, rlx_dtype dtype);
/* Decodes all of input i to this float type and window. */
void gpu_decode(gpu_lowering *l, uint32_t i, rlx_dtype type, gpu_window to);

/* Products on Hopper's products of warp groups (quant_wide.c); the weight is stored in planes and fits f16. */
bool gpu_product_is_wide_blocks(const gpu_lowering *l, const gpu_product *p);
void gpu_product_wide_blocks(gpu_lowering *l, const gpu_product *p, const product_planes *planes);

/* Products of few rows (quant_few.c); the weight is stored in planes. x is rounded first, once for several weights. */
typedef struct product_groups {
  gpu_window x, factors;
} product_groups;
bool gpu_product_is_few_blocks(const gpu_lowering *l, const gpu_product *p);
product_groups gpu_product_groups(gpu_lowering *l, const gpu_product *p);
void gpu_product_few_blocks(gpu_lowering *l, const gpu_product *p, const product_planes *planes,
                            const product_groups *x);

void gpu_lower_cast_blocks(gpu_lowering *l);   /* cast from a block type */
void gpu_lower_gather_blocks(gpu_lowering *l); /* gather's rows of a block type */

/* ---- tiled products that decode the right side while loading it (kernels/matmul_tile.kh) ---- */

typedef struct gpu_coded {
  const gpu_kernel *kernel;             /* matmul_blocks, matmul_codes */
  gpu_window scale, more;               /* matmul_codes: the scales; zero points or a global scale */
  gpu_window grid;                      /* matmul_blocks */
  uint32_t number;                      /* the kernel's own parameter: blocks of the weight, or elements per scale */
  uint32_t planes;                      /* matmul_blocks: its own constant */
  uint32_t scheme, has_scale, has_zero; /* matmul_codes: its own constants */
} gpu_coded;
/* Like gpu_product_choose and gpu_product_in_tiles; p->b is the codes, in words. */
bool gpu_coded_tile(const gpu_caps *caps, const gpu_product *p, uint32_t m, uint32_t batches, product_choice *out);
void gpu_coded_product(gpu_lowering *l, const gpu_product *p, const gpu_coded *b, const product_choice *choice,
                       const product_rows *rows);

#endif
