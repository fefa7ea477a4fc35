/* The interface between the matmul-like ops and the products that they run.
 *
 *     out[i, j]  =  store( act( sum over k of a[i, k] b[k, j]  + bias[j] ) )        i < m, j < n
 *
 * matmul.c holds the ops (matmul, fused_matmul_bias_act, fused_gate_up, lora_matmul, grouped_matmul and
 * dequant_grouped_matmul). It claims nodes, flattens and iterates over batches, gathers the rows of experts, and
 * expresses each op as products. The products are in gemm.c, where b is f32, f16 or bf16, and in quant.c, where b is a
 * block type.
 *
 * A product splits itself into tasks for p->pool by its sizes alone and returns when all are done. It allocates
 * nothing. p->work is exclusively its own while it runs; the initial contents are undefined. */
#ifndef RLX_CPU_MATMUL_H
#define RLX_CPU_MATMUL_H

#include "cpu/cpu.h"

/* What happens to act(sum + bias): it is stored, added to what out holds, or multiplied with what out holds. The last
 * two read each element of out just before they write it. */
typedef enum cpu_store { CPU_STORE, CPU_STORE_ADD, CPU_STORE_MUL } cpu_store;

/* The sizes and dtypes of a product: claims, layouts and work memory depend on nothing else. */
typedef struct cpu_product_shape {
  size_t m, n, k;     /* any of them may be 0; with k = 0 the sums are 0 */
  size_t n_batch;     /* number of such products; always 1 where b is a block type */
  rlx_dtype a_type;   /* f32, f16 or bf16; f32 where b is a block type */
  rlx_dtype b_type;   /* a_type, or another float or block type with an f32 a */
  rlx_dtype out_type; /* of bias as well; a_type, or f32 */
  bool trans_b;       /* b is [n, k] in the graph, else [k, n] */
  uint32_t b_layout;  /* 0: row-major; else the preferred layout of this product */
  cpu_isa isa;
  bool exact; /* the activations stay f32: they are not quantised to 8-bit blocks */
} cpu_product_shape;

typedef struct cpu_product cpu_product;
struct cpu_product {
  cpu_product_shape shape;
  const void *a; /* row i is at i * a_row elements, or at rows[i] * a_row where rows is not NULL */
  size_t a_row;
  const void *b; /* one matrix, row-major or in its layout */
  void *out;     /* rows like those of a: out_row apart, or at rows[i] * out_row */
  size_t out_row;
  const uint32_t *rows; /* m row indices, or NULL: 0, 1, 2, .. */
  const void *bias;     /* n elements, or NULL */
  int32_t act;          /* RLX_ACT_* */
  cpu_store store;
  void *work; /* aligned to 64; the claim's work_bytes (enough for any m up to the claim's) */
  rlx_pool *pool;

  /* Where b is a block type: a further product, for which cpu_quant_joins(this, then) is true, of the same n and
   * without a `then`. Its part of out is computed right after this one's. NULL: none. */
  const cpu_product *then;

  /* For gemm.c only; NULL where b is a block type. Further products of the same m and n; out and pool are this one's.
   * The sums of `plus`, which has its own work memory, are added before the bias. What is stored is multiplied by the
   * sums of `times`, which uses this one's a, sizes and work memory. */
  const cpu_product *plus, *times;
  /* Strides of a batch: of a in elements, of b in matrices. Matrix i of out is at i * m * out_row elements. */
  rlx_dims batch;
  size_t a_batch[RLX_MAX_RANK], b_batch[RLX_MAX_RANK];
};

/* The offset of matrix i of a batch with these strides. */
static inline size_t cpu_batch_offset(const cpu_product *p, const size_t *stride, size_t i) {
  size_t offset = 0;
  for (int d = p->batch.n - 1; d >= 0; d--) {
    offset += i % (size_t)p->batch.v[d] * stride[d];
    i /= (size_t)p->batch.v[d];
  }
  return offset;
}

/* What a product needs: like rlx_claim, for one weight matrix. */
typedef struct cpu_product_claim {
  uint64_t work_bytes; /* grows with m: enough for every smaller m as well */
  uint32_t preferred;  /* the preferred layout of b where it is a weight; depends on b's dtype, shape and trans_b */
  const char *why;     /* set where false was returned */
} cpu_product_claim;

/* gemm.c. b_type is f32, f16 or bf16: a_type, or any of the three with an f32 a. */
bool cpu_gemm_claim(const cpu_product_shape *s, cpu_product_claim *out);
void cpu_gemm_product(const cpu_product *p);

/* The preferred layout of this matrix as b, [n, k] with trans_b: matmul.c. */
uint32_t cpu_product_layout(cpu_isa isa, const rlx_type *matrix);

/* quant.h declares the same for block types of b: cpu_quant_claim, cpu_quant_product and cpu_quant_matrix_bytes. The
 * bytes are those of one matrix of b in s->b_layout (0: row-major); a weight with leading axes ([E, N, K]) is packed
 * matrix by matrix. */
uint64_t cpu_gemm_matrix_bytes(const cpu_product_shape *s);

#endif
