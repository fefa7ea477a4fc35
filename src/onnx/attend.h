/* A common description of attention for ops_attention.c and the com.microsoft ops. */
#ifndef RLX_ONNX_ATTEND_H
#define RLX_ONNX_ATTEND_H

#include "onnx/compose.h"

typedef struct onnx_attend {
  rlx_node q, k, v;          /* [B, H, S, D], or [B, S, H, D] */
  bool by_sequence;          /* the latter, and so is the result */
  rlx_node bias;             /* added to the scores: floats that broadcast to [B, H, Sq, Sk]; none: 0 */
  bool causal;               /* key j is seen by query i iff j <= i + offset */
  int64_t offset;            /* or */
  rlx_node offsets, lengths; /* i32 [B]; and how many keys there are; none: all */
  int64_t left, right;       /* window before and after a query's position; -1: unbounded */
  double scale, softcap;     /* scale NAN: 1 / sqrt(D) */
  rlx_dtype precision;       /* of the softmax if the scores are an output; RLX_DTYPE_UNKNOWN: that of the values */
  rlx_node sinks;            /* [H] */
} onnx_attend;
/* The scores at stages of the way, which come with the result. */
typedef struct onnx_scores {
  rlx_node raw, capped, biased, weights;
} onnx_scores;
/* scores may be NULL: then one op does it. */
rlx_node onnx_attention(onnx_call *c, const onnx_attend *a, onnx_scores *scores);

rlx_node onnx_split_heads(onnx_call *c, rlx_node x, int64_t heads); /* [B, S, H D] as [B, S, H, D] */
rlx_node onnx_join_heads(onnx_call *c, rlx_node x);                 /* and back */
rlx_node onnx_swap_heads(onnx_call *c, rlx_node x);                 /* [B, S, H, D] as [B, H, S, D], and back */
/* A mask of bools as what is added to scores: 0 or -inf. */
rlx_node onnx_mask_bias(onnx_call *c, rlx_node mask, rlx_dtype dtype);

/* Rotates x [B, S, H, D] (or by heads) with tables cos and sin [P, n / 2], read at positions [B, S]. */
typedef struct onnx_rope {
  rlx_node cos, sin, positions;
  bool by_heads, interleaved;
  int64_t n_rot; /* 0: all */
} onnx_rope;
rlx_node onnx_rotate(onnx_call *c, rlx_node x, const onnx_rope *r);

#endif
