/* Weights of block types on all GPUs: how they may lie, and the lowerings that read them.
 *
 * quant_layout.c   weights in planes, GPU_LAYOUT_PLANES
 * lower_quant.c    decoding
 * quant_product.c  products with block types on the right (the seam to dense products is matmul.h)
 * lower_dequant.c  dequant_matmul, whose scales are inputs; the 8-bit integer products
 *
 * kernels/blocks.kh decodes both layouts. A lowering that reads a block type wishes for planes with gpu_prefer_planes and
 * tells its kernel which layout came with gpu_in_planes. */
#ifndef RLX_GPU_QUANT_H
#define RLX_GPU_QUANT_H

#include "gpu/matmul_plan.h"

/* A family in the high byte, as on the CPU. */
enum { GPU_LAYOUT_QUANT = 0x200, GPU_LAYOUT_PLANES = GPU_LAYOUT_QUANT + 1 };

typedef struct gpu_plane {
  uint16_t offset, bytes; /* of a block's piece: in the plain block, and how long. 0 bytes: no such plane */
} gpu_plane;
enum { GPU_MAX_PLANES = 4 };

bool gpu_decodes(rlx_dtype dtype);               /* whether kernels/blocks.kh knows the block type */
const gpu_plane *gpu_planes_of(rlx_dtype dtype); /* GPU_MAX_PLANES of them; none: 0 bytes */
uint64_t gpu_plane_start(rlx_dtype dtype, uint64_t n_blocks, uint32_t plane); /* bytes; GPU_MAX_PLANES: the end */
uint64_t gpu_planes_bytes(const rlx_type *type);                              /* 0: not of blocks */
rlx_status gpu_planes_repack(const rlx_type *type, bool to_layout, const void *src, void *dst, rlx_pool *pool);

/* Input i is wished to lie in planes (nothing happens where it is of no block type); how it lies, for the constant PLANES of
 * a kernel; its number of blocks. */
void gpu_prefer_planes(gpu_lowering *l, uint32_t i);
static inline uint32_t gpu_in_planes(const gpu_lowering *l, uint32_t i) { return l->layout[i] == GPU_LAYOUT_PLANES; }
uint32_t gpu_blocks(const rlx_type *t);
/* The grid of a type of iq1 to iq3, two entries to a word; no window where it has none. */
gpu_window gpu_block_grid(gpu_lowering *l, rlx_dtype dtype);
/* Input i, all of it, to this float type and window. */
void gpu_decode(gpu_lowering *l, uint32_t i, rlx_dtype type, gpu_window to);

void gpu_lower_cast_blocks(gpu_lowering *l);   /* cast from a block type */
void gpu_lower_gather_blocks(gpu_lowering *l); /* gather's rows of a block type */

/* ---- tiled products whose right side is decoded on its way (kernels/matmul_tile.kh) ---- */

typedef struct gpu_coded {
  const gpu_kernel *kernel; /* matmul_blocks, matmul_codes */
  gpu_window scale, more;   /* matmul_codes: its scales; zero points or a global scale */
  gpu_window grid;          /* matmul_blocks */
  uint32_t number;          /* the kernel's own parameter: blocks of the weight, or elements that share a scale */
  uint32_t planes;          /* matmul_blocks: its own constant */
  uint32_t scheme, has_scale, has_zero; /* matmul_codes: its own constants */
} gpu_coded;
/* As gpu_product_choose and gpu_product_in_tiles; p->b is the codes, in words. */
bool gpu_coded_tile(const gpu_caps *caps, const gpu_product *p, uint32_t m, uint32_t batches, product_choice *out);
void gpu_coded_product(gpu_lowering *l, const gpu_product *p, const gpu_coded *b, const product_choice *choice,
                       const product_rows *rows);

#endif
