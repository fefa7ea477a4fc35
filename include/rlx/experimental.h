/* RLX: expert functions on top of rlx.h. They are installed and tested like the rest, but follow the compiler's
 * internals: any version may change them, and rlx.h's promise that a program keeps working with later libraries does
 * not apply. */
#ifndef RLX_EXPERIMENTAL_H
#define RLX_EXPERIMENTAL_H

#include <rlx/rlx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Fused ops, which the compiler makes of those in rlx.h; bias, gamma and beta or none ---- */
typedef enum rlx_act {
  RLX_ACT_NONE = 0,
  RLX_ACT_RELU = 1,
  RLX_ACT_GELU = 2,
  RLX_ACT_GELU_APPROX = 3,
  RLX_ACT_SILU = 4,
  RLX_ACT_SIGMOID = 5,
  RLX_ACT_TANH = 6
} rlx_act;
RLX_API rlx_node rlx_op_fused_matmul_bias_act(rlx_graph *g, rlx_node a, rlx_node b, rlx_node bias, bool trans_b,
                                              rlx_act act);
/* act(conv(x, w, bias) + residual); bias and residual or none */
RLX_API rlx_node rlx_op_fused_conv_bias_act(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, rlx_node residual,
                                            const rlx_op_conv_desc *desc, rlx_act act);
typedef enum rlx_norm_kind { RLX_NORM_RMS = 0, RLX_NORM_LAYER = 1 } rlx_norm_kind;
RLX_API rlx_node rlx_op_fused_residual_norm(rlx_graph *g, rlx_node x, rlx_node residual, rlx_node gamma, rlx_node beta,
                                            rlx_norm_kind kind, double eps);
RLX_API rlx_node rlx_op_fused_swiglu(rlx_graph *g, rlx_node gate, rlx_node up, rlx_act act); /* act(gate) * up */
/* act(x w_gate) * (x w_up) */
RLX_API rlx_node rlx_op_fused_gate_up(rlx_graph *g, rlx_node x, rlx_node w_gate, rlx_node w_up, bool trans_b,
                                      rlx_act act);
/* The same with rms_norm(a) gamma instead of a, and rms_norm(x) gamma instead of x; gamma or none */
RLX_API rlx_node rlx_op_fused_norm_matmul(rlx_graph *g, rlx_node a, rlx_node b, rlx_node bias, rlx_node gamma,
                                          bool trans_b, rlx_act act, double eps);
RLX_API rlx_node rlx_op_fused_norm_gate_up(rlx_graph *g, rlx_node x, rlx_node w_gate, rlx_node w_up, rlx_node gamma,
                                           bool trans_b, rlx_act act, double eps);
/* rope(rms_norm(x) gamma), normalised per head */
RLX_API rlx_node rlx_op_fused_norm_rope(rlx_graph *g, rlx_node x, rlx_node gamma, const rlx_op_rope_desc *desc,
                                        double eps);
/* update along axis 1 with rope(rows), or, if `norm`, with rope(rms_norm(rows) gamma). Used fields of desc: style,
 * positions (none: those that the rows have in the state), factors, n_rot and theta. */
RLX_API rlx_node rlx_op_fused_rope_update(rlx_graph *g, rlx_node state, rlx_node rows, rlx_node at,
                                          const rlx_op_rope_desc *desc, bool norm, rlx_node gamma, double eps);
/* Attention of one new position per batch row, before its key and value are written to the states: rows
 * [B, 1, H + 2 Hkv, D] are its heads of q, k and v, the states are [B, C, Hkv, D], `at` is a scalar or [B]. */
typedef struct rlx_op_fused_rope_attention_desc {
  size_t struct_bytes;
  rlx_rope_style style;
  bool norm; /* q and k are rms_norm(q) gamma_q and rms_norm(k) gamma_k before rope */
  rlx_node factors, gamma_q, gamma_k;
  int64_t n_rot, window; /* 0: all of a head; all earlier positions */
  double theta;          /* 0: 10000 */
  double eps, scale;     /* scale 0: 1 / sqrt(D) */
  double softcap;        /* 0: none */
} rlx_op_fused_rope_attention_desc;
#define RLX_OP_FUSED_ROPE_ATTENTION_DESC_INIT RLX_SIZED(rlx_op_fused_rope_attention_desc)
RLX_API rlx_node rlx_op_fused_rope_attention(rlx_graph *g, rlx_node rows, rlx_node k, rlx_node v, rlx_node at,
                                             const rlx_op_fused_rope_attention_desc *desc);
typedef struct rlx_op_fused_attention_block_desc {
  size_t struct_bytes;
  rlx_node b_qkv, b_out;
  int64_t heads, kv_heads, head_dim; /* 0: 1, heads, E / heads */
  bool trans_b, causal;
  double scale; /* 0: 1 / sqrt(head_dim) */
} rlx_op_fused_attention_block_desc;
#define RLX_OP_FUSED_ATTENTION_BLOCK_DESC_INIT RLX_SIZED(rlx_op_fused_attention_block_desc)
RLX_API rlx_node rlx_op_fused_attention_block(rlx_graph *g, rlx_node x, rlx_node w_qkv, rlx_node w_out,
                                              const rlx_op_fused_attention_block_desc *desc);

/* A graph of element-wise ops executed as one; its i-th input is xs[i]. Made by fusion. */
RLX_API rlx_node rlx_op_region(rlx_graph *g, const rlx_graph *body, const rlx_node *xs, size_t n);

/* ---- Conformance: every case of every op on a session's device, against the reference ---- */

typedef enum rlx_conform_result {
  RLX_CONFORM_PASS = 0,        /* correct, and the device ran all of it */
  RLX_CONFORM_HOST = 1,        /* correct, but the host ran part of it */
  RLX_CONFORM_UNSUPPORTED = 2, /* rejected, with a reason */
  RLX_CONFORM_FAIL = 3
} rlx_conform_result;
typedef struct rlx_conform_row {
  const char *op, *name;
  rlx_conform_result result;
  const char *why; /* the reason, or what the host had to run and why; "" if the device ran all of it */
  double error;    /* the largest error as a fraction of the tolerance */
  /* Of floats, as parts of the root mean square of the reference's values: the largest error of an element, and the
   * root mean square of all errors. Values that are not finite do not count. 0: not floats, or the case did not run. */
  double largest, whole;
} rlx_conform_row;
RLX_API const char *rlx_conform_result_name(rlx_conform_result r); /* "PASS" */
/* pattern: ops whose name matches (wildcards * and ?); NULL: all. fn returns true to stop: RLX_CANCELLED. */
RLX_API RLX_MUST_CHECK rlx_status rlx_conform(rlx_session *s, const char *pattern,
                                              bool (*fn)(void *user, const rlx_conform_row *row), void *user);
typedef struct rlx_conform_options {
  size_t struct_bytes;
  const char *pattern; /* as above */
  /* rlx_switch: compiles every case with them. RLX_SWITCH_FAST_F16 has a tolerance of its own: where f32 is multiplied
   * with f16, 2e-3 sqrt(K) per element and 5e-4 of the whole tensor. */
  uint64_t switches;
} rlx_conform_options;
#define RLX_CONFORM_OPTIONS_INIT RLX_SIZED(rlx_conform_options)
/* options may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_conform_with(rlx_session *s, const rlx_conform_options *options,
                                                   bool (*fn)(void *user, const rlx_conform_row *row), void *user);

/* ---- Placement: the planner's offset assignment, for any set of values ---------------------------------------- */

/* A value that occupies `bytes` at the times lower <= t < upper. */
typedef struct rlx_place_item {
  int64_t lower, upper;
  uint64_t bytes;
} rlx_place_item;
typedef struct rlx_place_options {
  size_t struct_bytes;
  bool no_search;    /* greedy orders only */
  uint64_t align;    /* of every offset; 0: 1 */
  uint64_t capacity; /* stop searching once the peak is at most this; 0: search for the lower bound */
  uint64_t budget;   /* of the search, counted in steps so that results do not depend on the clock; 0: a default */
} rlx_place_options;
#define RLX_PLACE_OPTIONS_INIT RLX_SIZED(rlx_place_options)
typedef struct rlx_place_result {
  size_t struct_bytes;
  uint64_t peak;
  uint64_t lower_bound; /* the maximum of bytes live at one time: no placement is below it */
  uint64_t greedy;      /* the peak of greedy-by-size alone */
  uint64_t steps;       /* steps of the budget used */
} rlx_place_result;
#define RLX_PLACE_RESULT_INIT RLX_SIZED(rlx_place_result)
/* Writes n offsets. The result is deterministic, and the peak is never above greedy-by-size. A peak above `capacity` is
 * not an error of this call. options may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_place(const rlx_place_item *items, size_t n, const rlx_place_options *options,
                                            uint64_t *offsets, rlx_place_result *result);

/* ---- Files ---- */

/* NumPy's .npy. The tensor read owns its data: rlx_free(tensor.data). Writing replaces the file atomically. */
RLX_API RLX_MUST_CHECK rlx_status rlx_npy_read(const char *path, rlx_tensor *out);
RLX_API RLX_MUST_CHECK rlx_status rlx_npy_write(const char *path, const rlx_tensor *tensor);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
