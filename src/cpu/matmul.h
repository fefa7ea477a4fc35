/* One matrix product, as the matmul-like ops hand it to whoever runs it.
 *
 *   out[i, j]  =  store( act( sum over k of a[i, k] b[k, j]  + bias[j] ) )        i < m, j < n
 *
 * matmul.c holds the ops (matmul, fused_matmul_bias_act, fused_gate_up, lora_matmul, grouped_matmul and
 * dequant_grouped_matmul): it claims nodes, flattens and walks batches, gathers the rows of experts, and makes each op
 * out of products. The products themselves are in gemm.c, where b is f32, f16 or bf16, and behind quant.h, where b is a
 * block type: cpu_quant_claim says whether it can and what it needs, cpu_quant_product runs one.
 *
 * A product cuts itself into tasks for p->pool by its sizes alone and returns when all are done; it allocates nothing.
 * p->work belongs to it alone while it runs, and holds whatever was left there before. */
#ifndef RLX_CPU_MATMUL_H
#define RLX_CPU_MATMUL_H

#include "cpu/cpu.h"

/* What becomes of act(sum + bias): stored; added to what out holds; or multiplied with what out holds. The last two
 * read out at the very places they write. */
typedef enum cpu_store { CPU_STORE, CPU_STORE_ADD, CPU_STORE_MUL } cpu_store;

/* The sizes and types of a product: all that claims, layouts and work memory may depend on. */
typedef struct cpu_product_shape {
  size_t m, n, k;     /* any of them may be 0; k = 0 is a sum of nothing, 0 */
  size_t n_batch;     /* how many such products, side by side; always 1 where b is a block type */
  rlx_dtype a_type;   /* f32, f16 or bf16; f32 where b is a block type */
  rlx_dtype b_type;   /* a_type, or another float or block type beside an f32 a */
  rlx_dtype out_type; /* also of bias; a_type, or f32 */
  bool trans_b;       /* b lies as [n, k] in the graph, else as [k, n] */
  uint32_t b_layout;  /* 0: as the graph has it; else one of the layouts of this product's wish */
  cpu_isa isa;
  bool exact; /* the activations stay f32: no 8-bit blocks of them */
} cpu_product_shape;

typedef struct cpu_product cpu_product;
struct cpu_product {
  cpu_product_shape shape;
  const void *a; /* row i begins a_row elements after row i - 1, or at rows[i] * a_row where rows is not NULL */
  size_t a_row;
  const void *b; /* one matrix, in the graph's order or in its layout */
  void *out;     /* rows as those of a: out_row apart, or at rows[i] * out_row */
  size_t out_row;
  const uint32_t *rows; /* m of them, or NULL: 0, 1, 2, .. */
  const void *bias;     /* n elements, or NULL */
  int32_t act;          /* RLX_ACT_* */
  cpu_store store;
  void *work; /* aligned to 64; as many bytes as the claim asked for (for any m up to the claim's) */
  rlx_pool *pool;

  /* Where b is a block type: a further product that cpu_quant_joins this one, of the same n and without a `then`, whose
   * part of out is computed right after this one's. NULL: none. */
  const cpu_product *then;

  /* For gemm.c alone; zero where b is a block type. Further products of the same m and n (what concerns out and pool is
   * this one's). The sums of `plus`, which has work of its own, are added to these before the bias; what is stored is
   * multiplied by those of `times`, which has this one's a, sizes and work. */
  const cpu_product *plus, *times;
  /* Where matrix i of a batch lies: elements of a, matrices of b. Matrix i of out is m * out_row elements on. */
  rlx_dims batch;
  size_t a_batch[RLX_MAX_RANK], b_batch[RLX_MAX_RANK];
};

/* Matrix i of a batch with these strides. */
static inline size_t cpu_batch_offset(const cpu_product *p, const size_t *stride, size_t i) {
  size_t offset = 0;
  for (int d = p->batch.n - 1; d >= 0; d--) {
    offset += i % (size_t)p->batch.v[d] * stride[d];
    i /= (size_t)p->batch.v[d];
  }
  return offset;
}

/* What a product needs: in the words of rlx_claim, for one weight matrix. */
typedef struct cpu_product_claim {
  uint64_t work_bytes; /* grows with m: enough for every smaller m too */
  uint32_t preferred; /* the layout that b should have where it is a weight; by b's type, its shape and trans_b alone */
  const char *why;    /* where false was returned */
} cpu_product_claim;

/* gemm.c. b_type is f32, f16 or bf16: a_type, or any of the three beside an f32 a. */
bool cpu_gemm_claim(const cpu_product_shape *s, cpu_product_claim *out);
void cpu_gemm_product(const cpu_product *p);

/* What a product with the rows of this matrix ([n, k], trans_b) wishes for: matmul.c. */
uint32_t cpu_product_layout(cpu_isa isa, const rlx_type *matrix);

/* quant.h declares, for block types of b, with the same meaning:
 *   bool cpu_quant_claim(const cpu_product_shape *s, cpu_product_claim *out);
 *   void cpu_quant_product(const cpu_product *p);
 * A weight with leading axes ([E, N, K]) is packed matrix by matrix, each cpu_quant_matrix_bytes long:
 *   uint64_t cpu_quant_matrix_bytes(const cpu_product_shape *s);   of one matrix of b, in s->b_layout (0: as in the
 * graph)
 */
uint64_t cpu_gemm_matrix_bytes(const cpu_product_shape *s);

#endif
