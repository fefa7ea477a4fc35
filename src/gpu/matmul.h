/* Dense matrix products for lowerings, and the seam to products with weights of a block type.
 *
 * gpu_product is one product, or a batch of them, of windows of f32, f16 or bf16; which kernel makes it, in what tiles and
 * whether k is split is decided in matmul_plan.c. lower_matmul.c makes products of the matmul-like ops; other lowerings may
 * use them too (a 1 x 1 convolution is one).
 *
 * Where a right side is of a block type, lower_matmul.c hands the whole node over: its result's type, bias and activation
 * are then the other's affair. */
#ifndef RLX_GPU_MATMUL_H
#define RLX_GPU_MATMUL_H

#include "gpu/gpu.h"

enum { GPU_PRODUCT_AXES = RLX_MAX_RANK - 2 };

typedef enum gpu_product_extra { /* the numbers of kernels/matmul.kh */
                                 GPU_EXTRA_NONE,
                                 GPU_EXTRA_BIAS,     /* extra [n], added */
                                 GPU_EXTRA_ONE_BIAS, /* extra [1], added to all */
                                 GPU_EXTRA_GATE, /* extra f32 [batch, m, n]: the result is act(extra) times the product */
} gpu_product_extra;

typedef struct gpu_product {
  uint32_t m, n, k;
  bool trans_b;                     /* b is [n, k] */
  rlx_dtype a_type, b_type, y_type; /* f32, f16 or bf16 */
  gpu_window a, b, y;               /* y: [batch, m, n] */
  gpu_product_extra extra;
  rlx_dtype extra_type;
  gpu_window extra_window;
  rlx_act act;
  gpu_window gamma; /* there: rms_norm(a) gamma in place of a; as gpu_product_norm has seen that it may be */
  float eps;
  /* The batch: axes from the last to the first, and how many elements a and b move along each (0: the same matrix). */
  uint32_t n_axes;
  uint32_t size[GPU_PRODUCT_AXES], a_step[GPU_PRODUCT_AXES], b_step[GPU_PRODUCT_AXES];
} gpu_product;

/* Of inputs a_in and b_in, to a result of the node's shape; y, extra and act are the caller's to change. Where b has no batch,
 * the rows of all of a's batch are those of one a. */
gpu_product gpu_product_of(const gpu_lowering *l, uint32_t a_in, uint32_t b_in, bool trans_b);
/* Adds an axis outside of those there are; axes that lie one behind the other become one. */
void gpu_product_axis(gpu_product *p, uint32_t size, uint32_t a_step, uint32_t b_step);
/* The rms_norm that an op begins with (input `gamma`, attributes norm and eps): for one row of f32 in vectors and b [n, k]; refuses
 * any other. Nothing without. */
void gpu_product_norm(gpu_lowering *l, gpu_product *p, uint32_t gamma, bool norm, double eps);
/* The norm in a dispatch of its own, for products whose kernel does not take it. Nothing where there is none. */
void gpu_product_norm_first(gpu_lowering *l, gpu_product *p);
/* The dispatches that make it. Nothing where the result has no elements. */
void gpu_product_emit(gpu_lowering *l, const gpu_product *p);

/* act(gate) * (x up), `gate` being x times the first weight with its activation; up is of the shape of its b. */
void gpu_product_gate_up(gpu_lowering *l, const gpu_product *gate, gpu_window up, rlx_dtype up_type);

/* Row i of a [m, k] times matrix index[i] of b [n_experts, k, n] (or [.., n, k]); out of range: zeros. No batch. */
typedef struct gpu_experts {
  gpu_window index;
  rlx_dtype index_type; /* i32 or i64 */
  uint32_t n_experts;
} gpu_experts;
void gpu_product_experts(gpu_lowering *l, const gpu_product *p, const gpu_experts *e);

/* What a fused product is beside its two factors: bias (input 2), gamma of the norm of a's rows (input 3). */
typedef struct gpu_fused_product {
  bool trans_b;
  int32_t act;
  bool norm;
  double eps;
} gpu_fused_product;
/* Activation, bias and norm of a product that has them. */
void gpu_product_end(gpu_lowering *l, gpu_product *p, const gpu_fused_product *f);
void gpu_lower_matmul_blocks(gpu_lowering *l, const gpu_fused_product *f);  /* input 1 is of a block type */
void gpu_lower_gate_up_blocks(gpu_lowering *l, const gpu_fused_product *f); /* input 1 or input 2 is */
void gpu_lower_grouped_blocks(gpu_lowering *l);                             /* dequant_grouped_matmul */

#endif
