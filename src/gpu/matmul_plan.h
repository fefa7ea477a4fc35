/* Internal interface of the matrix products (matmul.h), shared by seven files:
 *
 *   matmul_plan.c    choice of kernel; products with a gate; experts; the second pass of split-K
 *   matmul_tiles.c   the tiled kernels: the table of tiles, the cost model that chooses one, their dispatches
 *   matmul_rows.c    the kernels for skinny products (1 to 8 rows)
 *   matmul_narrow.c  the kernels for narrow products, on matrix units
 *   matmul_direct.c  the same when the element-to-lane mapping of matrices is known
 *   matmul_f16.c     f32 times f16 as two f16 products
 *   matmul_library.c large products by the vendor's library (library.h)
 *
 * Measured thresholds are in tuning.def, except the rates of tiles (matmul_tiles.c). */
#ifndef RLX_GPU_MATMUL_PLAN_H
#define RLX_GPU_MATMUL_PLAN_H

#include "gpu/matmul.h"

extern const char gpu_no_tile[]; /* reason for refusing a product */
uint32_t gpu_product_batches(const gpu_product *p);
/* Whether rows of `width` elements start at multiples of 16 bytes. */
bool gpu_product_vectors(rlx_dtype t, uint32_t width);
static inline gpu_window gpu_window_if(bool wanted, gpu_window w) {
  return wanted ? w : (gpu_window){GPU_NONE, 0, 0, 0};
}

/* The batch axes, as kernel parameters. */
#define PRODUCT_AXES(p)                                                                                              \
  .d0 = (p)->size[0], .d1 = (p)->size[1], .d2 = (p)->size[2], .d3 = (p)->size[3], .d4 = (p)->size[4],                \
  .d5 = (p)->size[5], .sa0 = (p)->a_step[0], .sa1 = (p)->a_step[1], .sa2 = (p)->a_step[2], .sa3 = (p)->a_step[3],    \
  .sa4 = (p)->a_step[4], .sa5 = (p)->a_step[5], .sb0 = (p)->b_step[0], .sb1 = (p)->b_step[1], .sb2 = (p)->b_step[2], \
  .sb3 = (p)->b_step[3], .sb4 = (p)->b_step[4], .sb5 = (p)->b_step[5]

/* What a product kernel writes: the result itself, or f32 partial sums [split, batch, m, n] for the second pass. */
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
void gpu_product_sum(gpu_lowering *l, const gpu_product *p, gpu_window parts, uint32_t splits); /* the second pass */

/* A product with one expert per row of a. */
typedef struct product_rows {
  gpu_window window;    /* skinny: the expert indices; tiles: the output of moe_rows and moe_tiles */
  rlx_dtype index_type; /* of idx: i32 or i64 */
  uint32_t n_experts;
  uint32_t n_tiles; /* tiles: upper bound of the rows of tiles */
  uint32_t list;    /* tiles: word offset of the sorted rows */
} product_rows;
/* Sorts m rows by expert, for tiles of `height` rows. */
product_rows gpu_product_sort_rows(gpu_lowering *l, const gpu_experts *e, uint32_t m, uint32_t height);

/* act(gate) * (x up) as two products: `first` writes f32 to work memory, and `second` reads that as its gate. */
void gpu_product_in_two(gpu_lowering *l, const gpu_product *gate, gpu_window up, rlx_dtype up_type, gpu_product *first,
                        gpu_product *second);

/* ---- skinny products: 1 to 8 rows ---- */

enum { PRODUCT_SKINNY_ROWS = 8 };
/* Whether m rows are few enough for the skinny kernels. */
bool gpu_product_is_skinny(const gpu_caps *caps, const gpu_product *p, uint32_t m);
/* up: a second weight of the same type and shape for act(a b) * (a up), or NULL. With b [k, n], up is supported for at
 * most four rows. rows: NULL, or the experts of p's m rows. */
void gpu_product_skinny(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows);

/* ---- narrow products on matrix units, with a dense weight or one of a block type ---- */

typedef struct product_planes { /* of a block type: quant_units.kh */
  gpu_window wide, narrow;      /* the planes of whole 16-byte vectors, and the others */
  uint32_t a1, a2, b1;
} product_planes;
bool gpu_product_is_narrow(const gpu_lowering *l, const gpu_product *p);
bool gpu_product_narrow_blocks(const gpu_lowering *l,
                               const gpu_product *p); /* the weight is stored in planes, and is not tq1_0 */
void gpu_product_narrow(gpu_lowering *l, const gpu_product *p, const product_planes *planes); /* NULL: dense */

/* Used by the two above when the element-to-lane mapping of matrices is known (matmul_direct.c). */
bool gpu_product_is_direct(const gpu_lowering *l, const gpu_product *p);
void gpu_product_direct(gpu_lowering *l, const gpu_product *p, const product_planes *planes);

/* ---- tiles ---- */

typedef enum product_unit {                /* which kernel */
                            PRODUCT_8X8,   /* matmul8 */
                            PRODUCT_4X4,   /* matmul4 */
                            PRODUCT_COOP4, /* matmul_coop4, or its bf16 form */
                            PRODUCT_COOP2,
                            PRODUCT_WIDE, /* matmul_wide256 (4 across) and matmul_wide128 (2): caps->has_wgmma */
} product_unit;
typedef struct product_tile {
  uint8_t unit;          /* product_unit */
  uint8_t across, down;  /* subgroup tiles (32 invocations each) along n and m */
  uint8_t depth, stages; /* tile size along k; number of shared buffers, 0: one buffer and no prefetch (coop) */
  uint8_t rate;          /* percent of the arithmetic rate of the best tile of its kind; 0: only for benchmarks */
  uint8_t rate_t;        /* the same for b [n, k] */
} product_tile;
extern const product_tile gpu_product_tiles[];
extern const size_t gpu_product_tile_count;
extern const product_tile gpu_product_pair_tiles[]; /* for two matrices of a (gpu_product.residues) */
extern const size_t gpu_product_pair_tile_count;
uint32_t gpu_tile_rows(const product_tile *t);
uint32_t gpu_tile_columns(const product_tile *t);
uint32_t gpu_tile_group(const product_tile *t);

typedef struct product_choice {
  product_tile tile; /* adapted to the device */
  uint32_t splits;
  uint64_t time; /* estimated, in the units of matmul_tiles.c; 0 if a benchmark or a test chose */
} product_choice;
/* Whether a product of so many rows is large enough for matrix units, where they support it. */
bool gpu_product_suits_coop(const gpu_caps *caps, const gpu_product *p, uint32_t rows);
/* The best tile for `batches` products of m rows each; false if the device has room for none. */
bool gpu_product_choose(const gpu_caps *caps, const gpu_product *p, uint32_t m, uint32_t batches, product_choice *out);
void gpu_product_in_tiles(gpu_lowering *l, const gpu_product *p, const product_choice *choice,
                          const product_rows *rows);
/* Emits act(a b) * (a up) as one dispatch of tiles on matrix units if that is no slower than two products; returns
 * whether it has. */
bool gpu_product_in_one(gpu_lowering *l, const gpu_product *gate, gpu_window up);
/* Only the f32 partial sums [split, batch, m, n], in work memory. */
gpu_window gpu_product_parts(gpu_lowering *l, const gpu_product *p, const product_choice *choice);

/* ---- f32 times f16 on matrix units (matmul_f16.c) ---- */

typedef struct product_f16 { /* each row of a as one or two rows of f16, and their scales */
  uint32_t n_rows;           /* 1 or 2 */
  gpu_window a, scales;
} product_f16;
bool gpu_product_can_f16(const gpu_lowering *l, const gpu_product *p); /* types and sizes */
bool gpu_product_takes_f16(const gpu_lowering *l, const gpu_product *p);
typedef enum product_order { /* order of their vectors: kernels/quant_f16.k */
                             PRODUCT_BY_ROWS,
                             PRODUCT_BY_EIGHTS,
                             PRODUCT_BY_EIGHTS_CROSSED,
} product_order;
product_f16 gpu_product_to_f16(gpu_lowering *l, const gpu_product *p, bool with_rest, product_order order);
void gpu_product_of_f16(gpu_lowering *l, const gpu_product *p, const product_f16 *a);
/* act(gate) * (x up), as gpu_product_gate_up: gate has the activation and the result. */
void gpu_product_gate_up_of_f16(gpu_lowering *l, const gpu_product *gate, gpu_window up, const product_f16 *a);

#endif
