/* Attention for lowerings: the sizes that choose a kernel, and what the kernels share. lower_attention.c has the
 * kernels for many rows, attention_decode.c those for few. */
#ifndef RLX_GPU_ATTENTION_H
#define RLX_GPU_ATTENTION_H

#include "gpu/gpu.h"

typedef struct gpu_heads { /* strides in elements */
  uint32_t position, head;
} gpu_heads;

typedef struct gpu_attention {
  uint32_t n_batch, n_q, n_keys, n_heads, n_kv, d, dv;
  uint32_t group;       /* query heads per key head */
  uint32_t rows;        /* per key head */
  gpu_heads q, k, v, y; /* y in rows */
  uint32_t bias[4];     /* strides over [B, H, Sq, Sk] */
  rlx_dtype q_type, k_type, v_type;
  float scale, softcap;
  bool causal, by_16_bytes; /* rows of q, k and v start at multiples of 16 bytes */
  uint32_t window;
  uint32_t splits;
  gpu_window mask, bias_window, sinks, len, offset; /* GPU_NONE: absent */
  bool len_per_batch, offset_per_batch;             /* not one for all */
  const struct gpu_rotation *rotation;              /* of q and the new key (attention_decode.c); NULL: none */
} gpu_attention;

gpu_heads gpu_heads_of(const rlx_type *t, bool positions_first);
bool gpu_heads_are_vectors(const rlx_type *t); /* whole ones, of 16 bytes */
/* The attributes as the kernels take them. */
float gpu_attention_scale(double scale, uint32_t d);
uint32_t gpu_attention_window(int64_t window);

/* Number of key splits: `groups` workgroups times the splits give at most `wanted` workgroups per unit, because a few
 * more would run alone at the end. A split takes at least `min` keys. */
uint32_t gpu_attention_splits(const gpu_caps *caps, const gpu_attention *a, uint32_t groups, uint32_t wanted,
                              uint32_t min);
/* Work memory for the partial results of splits, and the kernel that merges them into the result. */
gpu_window gpu_attention_parts(gpu_lowering *l, const gpu_attention *a);
void gpu_attention_combine(gpu_lowering *l, const gpu_attention *a, gpu_window parts);
/* The parameters of all attention kernels: they have, or begin with, the same fields. */
gpu_params_attention gpu_attention_params(const gpu_attention *a, uint32_t row_blocks);

/* False if the kernels for many rows are faster or the only option. Sets a->splits. */
bool gpu_attention_decode(gpu_lowering *l, gpu_attention *a);

#endif
