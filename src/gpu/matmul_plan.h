/* What matmul_plan.c shares with its kin: the pieces of making a product of windows. */
#ifndef RLX_GPU_MATMUL_PLAN_H
#define RLX_GPU_MATMUL_PLAN_H

#include "gpu/matmul.h"

uint32_t gpu_product_batches(const gpu_product *p);
bool gpu_product_vectors(rlx_dtype t, uint32_t width);

/* The batch axes as parameters of a kernel. */
#define PRODUCT_AXES(p)                                                                                              \
  .d0 = (p)->size[0], .d1 = (p)->size[1], .d2 = (p)->size[2], .d3 = (p)->size[3], .d4 = (p)->size[4],                \
  .d5 = (p)->size[5], .sa0 = (p)->a_step[0], .sa1 = (p)->a_step[1], .sa2 = (p)->a_step[2], .sa3 = (p)->a_step[3],    \
  .sa4 = (p)->a_step[4], .sa5 = (p)->a_step[5], .sb0 = (p)->b_step[0], .sb1 = (p)->b_step[1], .sb2 = (p)->b_step[2], \
  .sb3 = (p)->b_step[3], .sb4 = (p)->b_step[4], .sb5 = (p)->b_step[5]

/* What a product kernel writes: the result itself, or f32 parts [split, batch, m, n] for the second pass. */
typedef struct product_target {
  gpu_window y;
  rlx_dtype type;
  gpu_product_extra extra;
  rlx_dtype extra_type;
  gpu_window extra_window;
  rlx_act act;
  bool is_part;
} product_target;
product_target gpu_product_target(gpu_lowering *l, const gpu_product *p, uint32_t splits);
/* The second pass. */
void gpu_product_sum(gpu_lowering *l, const gpu_product *p, gpu_window parts, uint32_t splits);

/* A product with one expert per row of a. */
typedef struct product_rows {
  gpu_window window;    /* matvec: idx; tiles: what moe_tiles and moe_rows made */
  rlx_dtype index_type; /* of idx: i32 or i64 */
  uint32_t n_experts;
  uint32_t n_tiles; /* tiles: at most so many rows of tiles; */
  uint32_t list;    /* where the rows of experts begin, in words */
} product_rows;

/* The model of a tiled product's time; the numbers are products that a multiprocessor does in that time. */
typedef struct product_model {
  uint32_t rows, columns, group; /* the tile and its invocations */
  uint32_t rate;                 /* percent */
  uint32_t full, prologue, pass, part_traffic;
} product_model;
uint64_t gpu_product_cost(const product_model *model, uint32_t units, uint64_t groups, uint32_t k, uint32_t splits,
                          uint64_t outputs);

#endif
