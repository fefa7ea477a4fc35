/* Dense matrix products (GEMM, GEMV) for lowerings, and the interface to products with quantised weights.
 *
 * gpu_product describes one product, or a batch of them, of windows of f32, f16 or bf16. matmul_plan.c chooses the
 * kernel, the tiles and whether k is split (split-K). lower_matmul.c makes products from the matmul-like ops; other
 * lowerings may use them as well (a 1 x 1 convolution is one).
 *
 * If the right side is of a block type, lower_matmul.c passes the whole node on to quant_product.c, which then also
 * handles result type, bias and activation. */
#ifndef RLX_GPU_MATMUL_H
#define RLX_GPU_MATMUL_H

#include "gpu/gpu.h"

enum { GPU_PRODUCT_AXES = RLX_MAX_RANK - 2 };

typedef enum gpu_product_extra { /* the values of kernels/matmul.kh */
                                 GPU_EXTRA_NONE,
                                 GPU_EXTRA_BIAS,     /* extra [n], added */
                                 GPU_EXTRA_ONE_BIAS, /* extra [1], added to all elements */
                                 GPU_EXTRA_GATE,     /* extra f32 [batch, m, n]: the result is act(extra) * product */
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
  gpu_window gamma; /* if set: the left side is rms_norm(a) gamma; gpu_product_norm has checked the conditions */
  float eps;
  /* For f32 as f16 on matrix units (matmul_f16.c), without batch axes. `residues`, if not 0: the elements from a to a
   * second matrix, whose product with b is added. `scales`, if set: f32, by which rows of the sums are multiplied. */
  uint32_t residues;
  gpu_window scales;
  gpu_window up; /* if set: a second b, [n, k], and the result is act(a b) * (a up); gpu_product_in_one decides */
  /* The batch axes, innermost first, with the strides of a and b along each in elements (0: broadcast). */
  uint32_t n_axes;
  uint32_t size[GPU_PRODUCT_AXES], a_step[GPU_PRODUCT_AXES], b_step[GPU_PRODUCT_AXES];
} gpu_product;

/* The product of inputs a_in and b_in, with a result of the node's shape; the caller may change y, extra and act. If b
 * has no batch, a's batch axes are merged into m. */
gpu_product gpu_product_of(const gpu_lowering *l, uint32_t a_in, uint32_t b_in, bool trans_b);
/* Adds an axis outside the present ones; axes that are contiguous with each other are merged. */
void gpu_product_axis(gpu_product *p, uint32_t size, uint32_t a_step, uint32_t b_step);
/* The rms_norm prologue of an op (input `gamma`, attributes norm and eps). Supported for one row of f32 in whole
 * vectors and b [n, k]; anything else is refused. Does nothing if `norm` is false. */
void gpu_product_norm(gpu_lowering *l, gpu_product *p, uint32_t gamma, bool norm, double eps);
/* Emits the norm as a separate dispatch, for kernels without that prologue. Does nothing if there is no norm. */
void gpu_product_norm_first(gpu_lowering *l, gpu_product *p);
/* Emits the dispatches of the product. Does nothing if the result has no elements. */
void gpu_product_emit(gpu_lowering *l, const gpu_product *p);

/* act(gate) * (x up); `gate` is x times the first weight, with its activation; up has the shape of gate's b. */
void gpu_product_gate_up(gpu_lowering *l, const gpu_product *gate, gpu_window up, rlx_dtype up_type);

/* Row i of a [m, k] times matrix index[i] of b [n_experts, k, n] (or [.., n, k]); zeros if out of range. No batch. */
typedef struct gpu_experts {
  gpu_window index;
  rlx_dtype index_type; /* i32 or i64 */
  uint32_t n_experts;
} gpu_experts;
void gpu_product_experts(gpu_lowering *l, const gpu_product *p, const gpu_experts *e);

/* Attributes of a fused product. Its bias is input 2, the gamma of the norm of a's rows is input 3. */
typedef struct gpu_fused_product {
  bool trans_b;
  int32_t act;
  bool norm;
  double eps;
} gpu_fused_product;
/* Adds activation, bias and norm to the product. */
void gpu_product_end(gpu_lowering *l, gpu_product *p, const gpu_fused_product *f);
void gpu_lower_matmul_blocks(gpu_lowering *l, const gpu_fused_product *f);  /* input 1 is of a block type */
void gpu_lower_gate_up_blocks(gpu_lowering *l, const gpu_fused_product *f); /* input 1 or 2 is of a block type */
void gpu_lower_grouped_blocks(gpu_lowering *l);                             /* dequant_grouped_matmul */

#endif
