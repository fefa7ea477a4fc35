/* Made by tools/kernels. */

#ifndef RLX_GPU_GEN_KERNELS_H
#define RLX_GPU_GEN_KERNELS_H

#include <stdint.h>

enum {
  GPU_INDEX_arg,
  GPU_INDEX_attention,
  GPU_INDEX_attention4,
  GPU_INDEX_attention_combine,
  GPU_INDEX_attention_coop128,
  GPU_INDEX_attention_coop128_bf16,
  GPU_INDEX_attention_coop64,
  GPU_INDEX_attention_coop64_bf16,
  GPU_INDEX_attention_decode,
  GPU_INDEX_attention_decode_rope,
  GPU_INDEX_attention_wide128,
  GPU_INDEX_attention_wide128_bf16,
  GPU_INDEX_attention_wide64,
  GPU_INDEX_attention_wide64_bf16,
  GPU_INDEX_causal_conv,
  GPU_INDEX_conv_coop,
  GPU_INDEX_conv_coop_bf16,
  GPU_INDEX_conv_depthwise,
  GPU_INDEX_conv_direct,
  GPU_INDEX_conv_sum,
  GPU_INDEX_conv_tile,
  GPU_INDEX_conv_transpose,
  GPU_INDEX_conv_wide,
  GPU_INDEX_conv_wide_bf16,
  GPU_INDEX_convert,
  GPU_INDEX_decode,
  GPU_INDEX_fft,
  GPU_INDEX_fft_out,
  GPU_INDEX_fragments,
  GPU_INDEX_fragments_bf16,
  GPU_INDEX_grid_sample,
  GPU_INDEX_im2col,
  GPU_INDEX_linear_scan,
  GPU_INDEX_matmul4,
  GPU_INDEX_matmul8,
  GPU_INDEX_matmul_blocks,
  GPU_INDEX_matmul_codes,
  GPU_INDEX_matmul_coop2,
  GPU_INDEX_matmul_coop2_bf16,
  GPU_INDEX_matmul_coop4,
  GPU_INDEX_matmul_coop4_bf16,
  GPU_INDEX_matmul_sum,
  GPU_INDEX_matmul_wide128,
  GPU_INDEX_matmul_wide128_bf16,
  GPU_INDEX_matmul_wide256,
  GPU_INDEX_matmul_wide256_bf16,
  GPU_INDEX_matvec1,
  GPU_INDEX_matvec1_norm,
  GPU_INDEX_matvec8,
  GPU_INDEX_matvec_kn,
  GPU_INDEX_moe_rows,
  GPU_INDEX_moe_tiles,
  GPU_INDEX_normalize,
  GPU_INDEX_normalize4,
  GPU_INDEX_one_hot,
  GPU_INDEX_pick,
  GPU_INDEX_place,
  GPU_INDEX_place4,
  GPU_INDEX_pointwise,
  GPU_INDEX_pointwise4,
  GPU_INDEX_pointwise64,
  GPU_INDEX_pool,
  GPU_INDEX_pool_lanes,
  GPU_INDEX_probe_f16,
  GPU_INDEX_q_channels,
  GPU_INDEX_q_conv2d,
  GPU_INDEX_q_matmul,
  GPU_INDEX_quant_coop,
  GPU_INDEX_quant_f16,
  GPU_INDEX_quant_few16,
  GPU_INDEX_quant_few32,
  GPU_INDEX_quant_few8,
  GPU_INDEX_quant_groups,
  GPU_INDEX_quant_matvec,
  GPU_INDEX_quant_matvec_norm,
  GPU_INDEX_quant_rows,
  GPU_INDEX_quant_stages,
  GPU_INDEX_quant_wide128,
  GPU_INDEX_quant_wide32,
  GPU_INDEX_quant_wide64,
  GPU_INDEX_range,
  GPU_INDEX_recurrent_loop,
  GPU_INDEX_recurrent_pack,
  GPU_INDEX_recurrent_start,
  GPU_INDEX_recurrent_step,
  GPU_INDEX_reduce,
  GPU_INDEX_resize,
  GPU_INDEX_resize_rows,
  GPU_INDEX_resolve,
  GPU_INDEX_rng,
  GPU_INDEX_rope,
  GPU_INDEX_rope4,
  GPU_INDEX_rotate_rows,
  GPU_INDEX_rows_coop1,
  GPU_INDEX_rows_coop1_bf16,
  GPU_INDEX_rows_coop2,
  GPU_INDEX_rows_coop2_bf16,
  GPU_INDEX_rows_coop4,
  GPU_INDEX_rows_coop4_bf16,
  GPU_INDEX_rows_direct1,
  GPU_INDEX_rows_direct2,
  GPU_INDEX_rows_direct2_blocks,
  GPU_INDEX_rows_direct_blocks,
  GPU_INDEX_rows_direct_f32,
  GPU_INDEX_rows_full1,
  GPU_INDEX_rows_full2,
  GPU_INDEX_rows_full4,
  GPU_INDEX_sample_pick,
  GPU_INDEX_sample_sums,
  GPU_INDEX_scan,
  GPU_INDEX_scatter,
  GPU_INDEX_scatter_split,
  GPU_INDEX_softmax,
  GPU_INDEX_softmax4,
  GPU_INDEX_sort_block,
  GPU_INDEX_sort_merge,
  GPU_INDEX_strided,
  GPU_INDEX_transpose,
  GPU_INDEX_transpose8,
  GPU_KERNEL_COUNT
};

typedef struct gpu_params_arg { uint32_t groups; uint32_t lines; uint32_t n; uint32_t inner; uint32_t chunks; uint32_t chunk; } gpu_params_arg;
typedef struct gpu_constants_arg { uint32_t t; uint32_t smallest; uint32_t lanes; uint32_t strided; uint32_t stage; uint32_t to; uint32_t is_token; } gpu_constants_arg;
extern const struct gpu_kernel gpu_kernel_arg;

typedef struct gpu_params_attention { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention;
typedef struct gpu_constants_attention { uint32_t t_q; uint32_t t_k; uint32_t t_v; uint32_t rows_each; uint32_t cols; uint32_t depth; uint32_t v_step; uint32_t piece; uint32_t red; uint32_t in_lanes; uint32_t causal; uint32_t has_mask; uint32_t has_bias; uint32_t has_cap; uint32_t has_len; uint32_t extra; uint32_t partial; } gpu_constants_attention;
extern const struct gpu_kernel gpu_kernel_attention;

typedef struct gpu_params_attention4 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention4;
typedef gpu_constants_attention gpu_constants_attention4;
extern const struct gpu_kernel gpu_kernel_attention4;

typedef struct gpu_params_attention_combine { uint32_t groups; uint32_t rows; uint32_t dv; uint32_t splits; uint32_t stats; uint32_t heads; uint32_t head_rows; } gpu_params_attention_combine;
typedef struct gpu_constants_attention_combine { uint32_t t_q; uint32_t t_y; uint32_t has_sinks; } gpu_constants_attention_combine;
extern const struct gpu_kernel gpu_kernel_attention_combine;

typedef struct gpu_params_attention_coop128 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_coop128;
typedef struct gpu_constants_attention_coop128 { uint32_t subs; uint32_t causal; uint32_t has_cap; uint32_t has_len; uint32_t extra; uint32_t partial; uint32_t split; uint32_t q_f32; uint32_t q_split; } gpu_constants_attention_coop128;
extern const struct gpu_kernel gpu_kernel_attention_coop128;

typedef struct gpu_params_attention_coop128_bf16 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_coop128_bf16;
typedef gpu_constants_attention_coop128 gpu_constants_attention_coop128_bf16;
extern const struct gpu_kernel gpu_kernel_attention_coop128_bf16;

typedef struct gpu_params_attention_coop64 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_coop64;
typedef gpu_constants_attention_coop128 gpu_constants_attention_coop64;
extern const struct gpu_kernel gpu_kernel_attention_coop64;

typedef struct gpu_params_attention_coop64_bf16 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_coop64_bf16;
typedef gpu_constants_attention_coop128 gpu_constants_attention_coop64_bf16;
extern const struct gpu_kernel gpu_kernel_attention_coop64_bf16;

typedef struct gpu_params_attention_decode { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_decode;
typedef struct gpu_constants_attention_decode { uint32_t t_q; uint32_t t_k; uint32_t t_v; uint32_t rows; uint32_t lanes; uint32_t k_vecs; uint32_t v_vecs; uint32_t unroll; uint32_t causal; uint32_t has_mask; uint32_t has_bias; uint32_t has_cap; uint32_t has_len; uint32_t extra; uint32_t red; uint32_t query; uint32_t joined; uint32_t careful; uint32_t in_regs; uint32_t whole; } gpu_constants_attention_decode;
extern const struct gpu_kernel gpu_kernel_attention_decode;

typedef struct gpu_params_attention_decode_rope { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; uint32_t n_rot; float eps; } gpu_params_attention_decode_rope;
typedef struct gpu_constants_attention_decode_rope { uint32_t t_q; uint32_t t_k; uint32_t t_v; uint32_t rows; uint32_t lanes; uint32_t k_vecs; uint32_t v_vecs; uint32_t unroll; uint32_t causal; uint32_t has_mask; uint32_t has_bias; uint32_t has_cap; uint32_t has_len; uint32_t extra; uint32_t red; uint32_t query; uint32_t joined; uint32_t careful; uint32_t in_regs; uint32_t whole; uint32_t angles; uint32_t is_gptj; uint32_t per; uint32_t norm; uint32_t has_gamma_q; uint32_t has_gamma_k; uint32_t fresh; } gpu_constants_attention_decode_rope;
extern const struct gpu_kernel gpu_kernel_attention_decode_rope;

typedef struct gpu_params_attention_wide128 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_wide128;
typedef struct gpu_constants_attention_wide128 { uint32_t q_f32; uint32_t causal; uint32_t has_cap; uint32_t has_len; uint32_t extra; uint32_t partial; uint32_t split; uint32_t q_split; } gpu_constants_attention_wide128;
extern const struct gpu_kernel gpu_kernel_attention_wide128;

typedef struct gpu_params_attention_wide128_bf16 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_wide128_bf16;
typedef gpu_constants_attention_wide128 gpu_constants_attention_wide128_bf16;
extern const struct gpu_kernel gpu_kernel_attention_wide128_bf16;

typedef struct gpu_params_attention_wide64 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_wide64;
typedef gpu_constants_attention_wide128 gpu_constants_attention_wide64;
extern const struct gpu_kernel gpu_kernel_attention_wide64;

typedef struct gpu_params_attention_wide64_bf16 { uint32_t groups; uint32_t n_batch; uint32_t n_q; uint32_t n_keys; uint32_t n_kv; uint32_t heads_per_kv; uint32_t d; uint32_t dv; uint32_t q_place; uint32_t q_head; uint32_t k_place; uint32_t k_head; uint32_t v_place; uint32_t v_head; uint32_t y_place; uint32_t y_head; uint32_t bias_batch; uint32_t bias_head; uint32_t bias_q; uint32_t bias_key; uint32_t len_step; uint32_t offset_step; uint32_t window; uint32_t splits; uint32_t row_blocks; uint32_t stats; uint32_t hidden; float scale; float softcap; } gpu_params_attention_wide64_bf16;
typedef gpu_constants_attention_wide128 gpu_constants_attention_wide64_bf16;
extern const struct gpu_kernel gpu_kernel_attention_wide64_bf16;

typedef struct gpu_params_causal_conv { uint32_t groups; uint32_t lines; uint32_t channels; uint32_t steps; uint32_t taps; uint32_t pieces; } gpu_params_causal_conv;
typedef struct gpu_constants_causal_conv { uint32_t t; uint32_t t_y; uint32_t has_bias; uint32_t has_state; uint32_t wants_state; } gpu_constants_causal_conv;
extern const struct gpu_kernel gpu_kernel_causal_conv;

typedef struct gpu_params_conv_coop { uint32_t groups; uint32_t places; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t y_part; uint32_t channels; uint32_t kv; uint32_t kv_part; uint32_t cv; uint32_t taps; uint32_t tiles_o; uint32_t tiles_p; } gpu_params_conv_coop;
typedef struct gpu_constants_conv_coop { uint32_t sx; uint32_t sy; uint32_t stages; uint32_t size_a; uint32_t size_tile; uint32_t t; uint32_t final; uint32_t has_bias; } gpu_constants_conv_coop;
extern const struct gpu_kernel gpu_kernel_conv_coop;

typedef struct gpu_params_conv_coop_bf16 { uint32_t groups; uint32_t places; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t y_part; uint32_t channels; uint32_t kv; uint32_t kv_part; uint32_t cv; uint32_t taps; uint32_t tiles_o; uint32_t tiles_p; } gpu_params_conv_coop_bf16;
typedef gpu_constants_conv_coop gpu_constants_conv_coop_bf16;
extern const struct gpu_kernel gpu_kernel_conv_coop_bf16;

typedef struct gpu_params_conv_depthwise { uint32_t groups; uint32_t in_y; uint32_t in_x; uint32_t pad_y; uint32_t pad_x; uint32_t out_y; uint32_t words; uint32_t words_m; uint32_t words_s; uint32_t blocks; uint32_t blocks_m; uint32_t blocks_s; uint32_t channels; uint32_t channels_m; uint32_t channels_s; uint32_t each_out; uint32_t n; } gpu_params_conv_depthwise;
typedef struct gpu_constants_conv_depthwise { uint32_t t; uint32_t tw; uint32_t has_bias; uint32_t ky; uint32_t kx; uint32_t sy; uint32_t sx; uint32_t dy; uint32_t dx; } gpu_constants_conv_depthwise;
extern const struct gpu_kernel gpu_kernel_conv_depthwise;

typedef struct gpu_params_conv_direct { uint32_t groups; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t kernel_z; uint32_t kernel_y; uint32_t kernel_x; int32_t stride_z; int32_t stride_y; int32_t stride_x; int32_t dilation_z; int32_t dilation_y; int32_t dilation_x; int32_t pad_z; int32_t pad_y; int32_t pad_x; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t channels; uint32_t channels_m; uint32_t channels_s; uint32_t in_channels; uint32_t each_in; uint32_t each_out; uint32_t n; } gpu_params_conv_direct;
typedef struct gpu_constants_conv_direct { uint32_t t; uint32_t tw; uint32_t has_bias; } gpu_constants_conv_direct;
extern const struct gpu_kernel gpu_kernel_conv_direct;

typedef struct gpu_params_conv_sum { uint32_t groups; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t channels; uint32_t channels_m; uint32_t channels_s; uint32_t parts; uint32_t n; } gpu_params_conv_sum;
typedef struct gpu_constants_conv_sum { uint32_t t; uint32_t has_bias; } gpu_constants_conv_sum;
extern const struct gpu_kernel gpu_kernel_conv_sum;

typedef struct gpu_params_conv_tile { uint32_t groups; uint32_t places; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t x_image; uint32_t x_group; uint32_t y_image; uint32_t y_plane; uint32_t y_part; uint32_t w_group; uint32_t w_channel; uint32_t each_out; uint32_t k; uint32_t k_part; uint32_t taps; uint32_t tiles_o; uint32_t tiles_p; uint32_t conv_groups; } gpu_params_conv_tile;
typedef struct gpu_constants_conv_tile { uint32_t t; uint32_t tw; uint32_t cols; uint32_t each; uint32_t size_w; uint32_t masked; uint32_t tabled; uint32_t w4; uint32_t has_bias; uint32_t stepped; } gpu_constants_conv_tile;
extern const struct gpu_kernel gpu_kernel_conv_tile;

typedef struct gpu_params_conv_transpose { uint32_t groups; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t kernel_z; uint32_t kernel_y; uint32_t kernel_x; int32_t stride_z; int32_t stride_y; int32_t stride_x; int32_t dilation_z; int32_t dilation_y; int32_t dilation_x; int32_t pad_z; int32_t pad_y; int32_t pad_x; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t channels; uint32_t channels_m; uint32_t channels_s; uint32_t in_channels; uint32_t each_in; uint32_t each_out; uint32_t n; } gpu_params_conv_transpose;
typedef gpu_constants_conv_direct gpu_constants_conv_transpose;
extern const struct gpu_kernel gpu_kernel_conv_transpose;

typedef struct gpu_params_conv_wide { uint32_t groups; uint32_t places; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t y_part; uint32_t channels; uint32_t kv; uint32_t kv_part; uint32_t cv; uint32_t taps; uint32_t tiles_o; uint32_t tiles_p; } gpu_params_conv_wide;
typedef struct gpu_constants_conv_wide { uint32_t across; uint32_t t; uint32_t final; uint32_t has_bias; } gpu_constants_conv_wide;
extern const struct gpu_kernel gpu_kernel_conv_wide;

typedef struct gpu_params_conv_wide_bf16 { uint32_t groups; uint32_t places; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t y_part; uint32_t channels; uint32_t kv; uint32_t kv_part; uint32_t cv; uint32_t taps; uint32_t tiles_o; uint32_t tiles_p; } gpu_params_conv_wide_bf16;
typedef gpu_constants_conv_wide gpu_constants_conv_wide_bf16;
extern const struct gpu_kernel gpu_kernel_conv_wide_bf16;

typedef struct gpu_params_convert { uint32_t groups; uint32_t n; } gpu_params_convert;
typedef struct gpu_constants_convert { uint32_t tx; uint32_t ty; } gpu_constants_convert;
extern const struct gpu_kernel gpu_kernel_convert;

typedef struct gpu_params_decode { uint32_t groups; uint32_t n; uint32_t n_blocks; uint32_t per; uint32_t experts; uint32_t from_end; } gpu_params_decode;
typedef struct gpu_constants_decode { uint32_t t; uint32_t planes; uint32_t ty; uint32_t ti; } gpu_constants_decode;
extern const struct gpu_kernel gpu_kernel_decode;

typedef struct gpu_params_fft { uint32_t groups; uint32_t rows; uint32_t log_r; uint32_t log_t; uint32_t log_l; uint32_t rows_in; uint32_t rows_out; uint32_t inner; uint32_t n; uint32_t zn; uint32_t n_in; uint32_t n_out; float scale; uint32_t roots_at; uint32_t low_at; uint32_t low_log; uint32_t high_at; uint32_t twiddle_at; uint32_t chirp_at; } gpu_params_fft;
typedef struct gpu_constants_fft { uint32_t in_mode; uint32_t out_mode; uint32_t inverse; uint32_t blue; } gpu_constants_fft;
extern const struct gpu_kernel gpu_kernel_fft;

typedef struct gpu_params_fft_out { uint32_t groups; uint32_t count; uint32_t pitch; uint32_t inner; uint32_t zn; uint32_t n_out; float scale; uint32_t twiddle_at; uint32_t chirp_at; } gpu_params_fft_out;
typedef struct gpu_constants_fft_out { uint32_t out_mode; uint32_t inverse; uint32_t blue; } gpu_constants_fft_out;
extern const struct gpu_kernel gpu_kernel_fft_out;

typedef struct gpu_params_fragments { uint32_t groups; } gpu_params_fragments;
extern const struct gpu_kernel gpu_kernel_fragments;

typedef struct gpu_params_fragments_bf16 { uint32_t groups; } gpu_params_fragments_bf16;
extern const struct gpu_kernel gpu_kernel_fragments_bf16;

typedef struct gpu_params_grid_sample { uint32_t groups; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t channels; uint32_t places; uint32_t words; uint32_t words_m; uint32_t words_s; uint32_t chunks; uint32_t chunks_m; uint32_t chunks_s; uint32_t n; } gpu_params_grid_sample;
typedef struct gpu_constants_grid_sample { uint32_t t; uint32_t to; uint32_t axes; uint32_t mode; uint32_t padding; uint32_t align; } gpu_constants_grid_sample;
extern const struct gpu_kernel gpu_kernel_grid_sample;

typedef struct gpu_params_im2col { uint32_t groups; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t kernel_z; uint32_t kernel_y; uint32_t kernel_x; int32_t stride_z; int32_t stride_y; int32_t stride_x; int32_t dilation_z; int32_t dilation_y; int32_t dilation_x; int32_t pad_z; int32_t pad_y; int32_t pad_x; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t kw; uint32_t kw_m; uint32_t kw_s; uint32_t kh; uint32_t kh_m; uint32_t kh_s; uint32_t n; } gpu_params_im2col;
typedef struct gpu_constants_im2col { uint32_t bytes; } gpu_constants_im2col;
extern const struct gpu_kernel gpu_kernel_im2col;

typedef struct gpu_params_linear_scan { uint32_t groups; uint32_t steps; uint32_t heads; uint32_t inner; uint32_t outers; uint32_t groups_bc; uint32_t n; uint32_t blocks; float scale; } gpu_params_linear_scan;
typedef struct gpu_constants_linear_scan { uint32_t t; uint32_t mode; uint32_t lanes; uint32_t fours; uint32_t steps; uint32_t has_d; uint32_t has_h0; uint32_t wants_h; uint32_t t_y; uint32_t red; uint32_t padded; } gpu_constants_linear_scan;
extern const struct gpu_kernel gpu_kernel_linear_scan;

typedef struct gpu_params_matmul4 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul4;
typedef struct gpu_constants_matmul4 { uint32_t wx; uint32_t wy; uint32_t bk; uint32_t stages; uint32_t size_a; uint32_t size_b; uint32_t size_rows; uint32_t ta; uint32_t tb; uint32_t trans; uint32_t vec_a; uint32_t vec_b; uint32_t vec_y; uint32_t axes; uint32_t gather; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; } gpu_constants_matmul4;
extern const struct gpu_kernel gpu_kernel_matmul4;

typedef struct gpu_params_matmul8 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul8;
typedef gpu_constants_matmul4 gpu_constants_matmul8;
extern const struct gpu_kernel gpu_kernel_matmul8;

typedef struct gpu_params_matmul_blocks { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; uint32_t n_blocks; } gpu_params_matmul_blocks;
typedef struct gpu_constants_matmul_blocks { uint32_t wx; uint32_t wy; uint32_t bk; uint32_t stages; uint32_t size_a; uint32_t size_b; uint32_t size_rows; uint32_t ta; uint32_t tb; uint32_t trans; uint32_t vec_a; uint32_t vec_b; uint32_t vec_y; uint32_t axes; uint32_t gather; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t planes; } gpu_constants_matmul_blocks;
extern const struct gpu_kernel gpu_kernel_matmul_blocks;

typedef struct gpu_params_matmul_codes { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; uint32_t block; } gpu_params_matmul_codes;
typedef struct gpu_constants_matmul_codes { uint32_t wx; uint32_t wy; uint32_t bk; uint32_t stages; uint32_t size_a; uint32_t size_b; uint32_t size_rows; uint32_t ta; uint32_t tb; uint32_t trans; uint32_t vec_a; uint32_t vec_b; uint32_t vec_y; uint32_t axes; uint32_t gather; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t scheme; uint32_t has_scale; uint32_t has_zero; } gpu_constants_matmul_codes;
extern const struct gpu_kernel gpu_kernel_matmul_codes;

typedef struct gpu_params_matmul_coop2 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_coop2;
typedef struct gpu_constants_matmul_coop2 { uint32_t sx; uint32_t sy; uint32_t bk; uint32_t stages; uint32_t size_a; uint32_t size_tile; uint32_t size_rows; uint32_t trans; uint32_t even; uint32_t vec_y; uint32_t axes; uint32_t gather; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t ahead; uint32_t pair; uint32_t scaled; uint32_t dual; } gpu_constants_matmul_coop2;
extern const struct gpu_kernel gpu_kernel_matmul_coop2;

typedef struct gpu_params_matmul_coop2_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_coop2_bf16;
typedef gpu_constants_matmul_coop2 gpu_constants_matmul_coop2_bf16;
extern const struct gpu_kernel gpu_kernel_matmul_coop2_bf16;

typedef struct gpu_params_matmul_coop4 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_coop4;
typedef gpu_constants_matmul_coop2 gpu_constants_matmul_coop4;
extern const struct gpu_kernel gpu_kernel_matmul_coop4;

typedef struct gpu_params_matmul_coop4_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_coop4_bf16;
typedef gpu_constants_matmul_coop2 gpu_constants_matmul_coop4_bf16;
extern const struct gpu_kernel gpu_kernel_matmul_coop4_bf16;

typedef struct gpu_params_matmul_sum { uint32_t groups; uint32_t n; uint32_t count; uint32_t splits; } gpu_params_matmul_sum;
typedef struct gpu_constants_matmul_sum { uint32_t vec_y; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t scaled; } gpu_constants_matmul_sum;
extern const struct gpu_kernel gpu_kernel_matmul_sum;

typedef struct gpu_params_matmul_wide128 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_wide128;
typedef struct gpu_constants_matmul_wide128 { uint32_t trans; uint32_t vec_y; uint32_t axes; uint32_t gather; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; } gpu_constants_matmul_wide128;
extern const struct gpu_kernel gpu_kernel_matmul_wide128;

typedef struct gpu_params_matmul_wide128_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_wide128_bf16;
typedef gpu_constants_matmul_wide128 gpu_constants_matmul_wide128_bf16;
extern const struct gpu_kernel gpu_kernel_matmul_wide128_bf16;

typedef struct gpu_params_matmul_wide256 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_wide256;
typedef gpu_constants_matmul_wide128 gpu_constants_matmul_wide256;
extern const struct gpu_kernel gpu_kernel_matmul_wide256;

typedef struct gpu_params_matmul_wide256_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matmul_wide256_bf16;
typedef gpu_constants_matmul_wide128 gpu_constants_matmul_wide256_bf16;
extern const struct gpu_kernel gpu_kernel_matmul_wide256_bf16;

typedef struct gpu_params_matvec1 { uint32_t groups; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t parts; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; float eps; } gpu_params_matvec1;
typedef struct gpu_constants_matvec1 { uint32_t team; uint32_t mr; uint32_t tx; uint32_t tw; uint32_t vec; uint32_t dual; uint32_t indexed; uint32_t ti; uint32_t axes; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t ahead; } gpu_constants_matvec1;
extern const struct gpu_kernel gpu_kernel_matvec1;

typedef struct gpu_params_matvec1_norm { uint32_t groups; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t parts; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; float eps; } gpu_params_matvec1_norm;
typedef gpu_constants_matvec1 gpu_constants_matvec1_norm;
extern const struct gpu_kernel gpu_kernel_matvec1_norm;

typedef struct gpu_params_matvec8 { uint32_t groups; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t parts; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; float eps; } gpu_params_matvec8;
typedef gpu_constants_matvec1 gpu_constants_matvec8;
extern const struct gpu_kernel gpu_kernel_matvec8;

typedef struct gpu_params_matvec_kn { uint32_t groups; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t parts; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_matvec_kn;
typedef struct gpu_constants_matvec_kn { uint32_t team_n; uint32_t mr; uint32_t tx; uint32_t tw; uint32_t vec_x; uint32_t vec; uint32_t dual; uint32_t indexed; uint32_t ti; uint32_t axes; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; } gpu_constants_matvec_kn;
extern const struct gpu_kernel gpu_kernel_matvec_kn;

typedef struct gpu_params_moe_rows { uint32_t groups; uint32_t m; uint32_t experts; uint32_t counts; uint32_t starts; uint32_t list; } gpu_params_moe_rows;
typedef struct gpu_constants_moe_rows { uint32_t ti; } gpu_constants_moe_rows;
extern const struct gpu_kernel gpu_kernel_moe_rows;

typedef struct gpu_params_moe_tiles { uint32_t groups; uint32_t experts; uint32_t counts; uint32_t starts; uint32_t height; uint32_t n_tiles; } gpu_params_moe_tiles;
extern const struct gpu_kernel gpu_kernel_moe_tiles;

typedef struct gpu_params_normalize { uint32_t groups; uint32_t lines; uint32_t n; uint32_t inner; uint32_t chunks; uint32_t chunk; float eps; float fine; float coarse; uint32_t sets; uint32_t channels; uint32_t run; } gpu_params_normalize;
typedef struct gpu_constants_normalize { uint32_t t; uint32_t ty; uint32_t unit; uint32_t lanes; uint32_t per; uint32_t strided; uint32_t stage; uint32_t centre; uint32_t has_residual; uint32_t has_gamma; uint32_t has_beta; } gpu_constants_normalize;
extern const struct gpu_kernel gpu_kernel_normalize;

typedef struct gpu_params_normalize4 { uint32_t groups; uint32_t rows; uint32_t n; uint32_t chunks; uint32_t chunk; float eps; float fine; float coarse; uint32_t sets; uint32_t channels; uint32_t run; } gpu_params_normalize4;
typedef struct gpu_constants_normalize4 { uint32_t t; uint32_t lanes; uint32_t vecs; uint32_t stage; uint32_t centre; uint32_t has_residual; uint32_t has_gamma; uint32_t has_beta; uint32_t by_channel; uint32_t even; } gpu_constants_normalize4;
extern const struct gpu_kernel gpu_kernel_normalize4;

typedef struct gpu_params_one_hot { uint32_t groups; uint32_t elements; uint32_t depth; uint32_t inner; uint32_t on; uint32_t on_hi; uint32_t off; uint32_t off_hi; } gpu_params_one_hot;
typedef struct gpu_constants_one_hot { uint32_t log; uint32_t idx_t; } gpu_constants_one_hot;
extern const struct gpu_kernel gpu_kernel_one_hot;

typedef struct gpu_params_pick { uint32_t groups; uint32_t items; uint32_t elements; uint32_t step; uint32_t size; uint32_t stride; uint32_t base; uint32_t d0; uint32_t m0; uint32_t s0; uint32_t st0; uint32_t lo0; uint32_t n0; uint32_t d1; uint32_t m1; uint32_t s1; uint32_t st1; uint32_t lo1; uint32_t n1; uint32_t d2; uint32_t m2; uint32_t s2; uint32_t st2; uint32_t lo2; uint32_t n2; uint32_t d3; uint32_t m3; uint32_t s3; uint32_t st3; uint32_t lo3; uint32_t n3; } gpu_params_pick;
typedef struct gpu_constants_pick { uint32_t log; uint32_t rank; uint32_t depth; uint32_t idx_t; } gpu_constants_pick;
extern const struct gpu_kernel gpu_kernel_pick;

typedef struct gpu_params_place { uint32_t groups; uint32_t items; uint32_t step; uint32_t rows; uint32_t run; uint32_t run_m; uint32_t run_s; uint32_t pitch; uint32_t first; uint32_t inner; uint32_t limit; uint32_t per; uint32_t end0; uint32_t end1; uint32_t end2; uint32_t end3; uint32_t end4; } gpu_params_place;
typedef struct gpu_constants_place { uint32_t parts; uint32_t at_t; uint32_t log; uint32_t round_t; } gpu_constants_place;
extern const struct gpu_kernel gpu_kernel_place;

typedef struct gpu_params_place4 { uint32_t groups; uint32_t items; uint32_t step; uint32_t rows; uint32_t run; uint32_t run_m; uint32_t run_s; uint32_t pitch; uint32_t first; uint32_t inner; uint32_t limit; uint32_t per; uint32_t end0; uint32_t end1; uint32_t end2; uint32_t end3; uint32_t end4; } gpu_params_place4;
typedef gpu_constants_place gpu_constants_place4;
extern const struct gpu_kernel gpu_kernel_place4;

typedef struct gpu_params_pointwise { uint32_t groups; uint32_t n; uint32_t c0; uint32_t c1; uint32_t c2; uint32_t c3; uint32_t c4; uint32_t c5; uint32_t c6; uint32_t c7; uint32_t c8; uint32_t c9; uint32_t c10; uint32_t c11; uint32_t d0; uint32_t m0; uint32_t s0; uint32_t d1; uint32_t m1; uint32_t s1; uint32_t a0; uint32_t a1; uint32_t a2; uint32_t a3; uint32_t a4; uint32_t a5; uint32_t b0; uint32_t b1; uint32_t b2; uint32_t b3; uint32_t b4; uint32_t b5; } gpu_params_pointwise;
typedef struct gpu_constants_pointwise { uint32_t s0; uint32_t s1; uint32_t s2; uint32_t s3; uint32_t s4; uint32_t s5; uint32_t s6; uint32_t s7; uint32_t s8; uint32_t s9; uint32_t s10; uint32_t s11; uint32_t s12; uint32_t s13; uint32_t s14; uint32_t s15; uint32_t steps; uint32_t tx; uint32_t ty; uint32_t used; uint32_t rank; uint32_t flat; } gpu_constants_pointwise;
extern const struct gpu_kernel gpu_kernel_pointwise;

typedef struct gpu_params_pointwise4 { uint32_t groups; uint32_t n; uint32_t c0; uint32_t c1; uint32_t c2; uint32_t c3; uint32_t c4; uint32_t c5; uint32_t c6; uint32_t c7; uint32_t c8; uint32_t c9; uint32_t c10; uint32_t c11; uint32_t d0; uint32_t m0; uint32_t s0; uint32_t d1; uint32_t m1; uint32_t s1; uint32_t a0; uint32_t a1; uint32_t a2; uint32_t a3; uint32_t a4; uint32_t a5; uint32_t b0; uint32_t b1; uint32_t b2; uint32_t b3; uint32_t b4; uint32_t b5; } gpu_params_pointwise4;
typedef struct gpu_constants_pointwise4 { uint32_t s0; uint32_t s1; uint32_t s2; uint32_t s3; uint32_t s4; uint32_t s5; uint32_t s6; uint32_t s7; uint32_t s8; uint32_t s9; uint32_t s10; uint32_t s11; uint32_t s12; uint32_t s13; uint32_t s14; uint32_t s15; uint32_t steps; uint32_t tx; uint32_t ty; uint32_t used; uint32_t rank; uint32_t chunk; uint32_t units; } gpu_constants_pointwise4;
extern const struct gpu_kernel gpu_kernel_pointwise4;

typedef struct gpu_params_pointwise64 { uint32_t groups; uint32_t n; uint32_t c0; uint32_t c1; uint32_t c2; uint32_t c3; uint32_t c4; uint32_t c5; uint32_t c6; uint32_t c7; uint32_t c8; uint32_t c9; uint32_t c10; uint32_t c11; uint32_t h0; uint32_t h1; uint32_t h2; uint32_t h3; uint32_t h4; uint32_t h5; uint32_t h6; uint32_t h7; uint32_t h8; uint32_t h9; uint32_t h10; uint32_t h11; } gpu_params_pointwise64;
typedef gpu_constants_pointwise gpu_constants_pointwise64;
extern const struct gpu_kernel gpu_kernel_pointwise64;

typedef struct gpu_params_pool { uint32_t groups; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t kernel_z; uint32_t kernel_y; uint32_t kernel_x; int32_t stride_z; int32_t stride_y; int32_t stride_x; int32_t dilation_z; int32_t dilation_y; int32_t dilation_x; int32_t pad_z; int32_t pad_y; int32_t pad_x; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t padded_z; uint32_t padded_y; uint32_t padded_x; uint32_t n; } gpu_params_pool;
typedef struct gpu_constants_pool { uint32_t t; uint32_t is_max; uint32_t count_pad; } gpu_constants_pool;
extern const struct gpu_kernel gpu_kernel_pool;

typedef struct gpu_params_pool_lanes { uint32_t groups; uint32_t in_z; uint32_t in_y; uint32_t in_x; uint32_t kernel_z; uint32_t kernel_y; uint32_t kernel_x; int32_t stride_z; int32_t stride_y; int32_t stride_x; int32_t dilation_z; int32_t dilation_y; int32_t dilation_x; int32_t pad_z; int32_t pad_y; int32_t pad_x; uint32_t plane; uint32_t plane_m; uint32_t plane_s; uint32_t slice; uint32_t slice_m; uint32_t slice_s; uint32_t row; uint32_t row_m; uint32_t row_s; uint32_t padded_z; uint32_t padded_y; uint32_t padded_x; uint32_t n; } gpu_params_pool_lanes;
typedef struct gpu_constants_pool_lanes { uint32_t t; uint32_t is_max; uint32_t count_pad; uint32_t lanes; } gpu_constants_pool_lanes;
extern const struct gpu_kernel gpu_kernel_pool_lanes;

typedef struct gpu_params_probe_f16 { uint32_t groups; uint32_t n; uint32_t nan; } gpu_params_probe_f16;
extern const struct gpu_kernel gpu_kernel_probe_f16;

typedef struct gpu_params_q_channels { uint32_t groups; uint32_t n; } gpu_params_q_channels;
typedef struct gpu_constants_q_channels { uint32_t ta; uint32_t tb; uint32_t ty; uint32_t scales; uint32_t zeros; uint32_t has_a_zero; uint32_t has_y_zero; uint32_t has_bias; } gpu_constants_q_channels;
extern const struct gpu_kernel gpu_kernel_q_channels;

typedef struct gpu_params_q_conv2d { uint32_t groups; uint32_t count; uint32_t out_channels; uint32_t out_h; uint32_t out_w; uint32_t in_channels; uint32_t in_h; uint32_t in_w; uint32_t in_each; uint32_t out_each; uint32_t kernel_h; uint32_t kernel_w; int32_t stride_h; int32_t stride_w; int32_t dilation_h; int32_t dilation_w; int32_t pad_h; int32_t pad_w; } gpu_params_q_conv2d;
typedef struct gpu_constants_q_conv2d { uint32_t tx; uint32_t tw; uint32_t ty; } gpu_constants_q_conv2d;
extern const struct gpu_kernel gpu_kernel_q_conv2d;

typedef struct gpu_params_q_matmul { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t tiles_m; uint32_t tiles_n; uint32_t last_a; uint32_t last_b; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; } gpu_params_q_matmul;
typedef struct gpu_constants_q_matmul { uint32_t ta; uint32_t tb; uint32_t ty; uint32_t packed; uint32_t axes; } gpu_constants_q_matmul;
extern const struct gpu_kernel gpu_kernel_q_matmul;

typedef struct gpu_params_quant_coop { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t batches; uint32_t tiles_m; uint32_t tiles_n; uint32_t list; uint32_t experts; uint32_t d0; uint32_t d1; uint32_t d2; uint32_t d3; uint32_t d4; uint32_t d5; uint32_t sa0; uint32_t sa1; uint32_t sa2; uint32_t sa3; uint32_t sa4; uint32_t sa5; uint32_t sb0; uint32_t sb1; uint32_t sb2; uint32_t sb3; uint32_t sb4; uint32_t sb5; uint32_t a1; uint32_t a2; uint32_t b1; uint32_t two_23; } gpu_params_quant_coop;
typedef struct gpu_constants_quant_coop { uint32_t tb; uint32_t sx; uint32_t sy; uint32_t bk; uint32_t size_a; uint32_t size_tile; uint32_t size_rows; uint32_t vec_y; uint32_t gather; uint32_t extra; uint32_t act; } gpu_constants_quant_coop;
extern const struct gpu_kernel gpu_kernel_quant_coop;

typedef struct gpu_params_quant_f16 { uint32_t groups; uint32_t k; uint32_t rest; } gpu_params_quant_f16;
typedef struct gpu_constants_quant_f16 { uint32_t rest; uint32_t eights; uint32_t crossed; } gpu_constants_quant_f16;
extern const struct gpu_kernel gpu_kernel_quant_f16;

typedef struct gpu_params_quant_few16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t a1; uint32_t a2; uint32_t b1; uint32_t two_23; } gpu_params_quant_few16;
typedef struct gpu_constants_quant_few16 { uint32_t tb; uint32_t down; uint32_t vec_y; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t stages; } gpu_constants_quant_few16;
extern const struct gpu_kernel gpu_kernel_quant_few16;

typedef struct gpu_params_quant_few32 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t a1; uint32_t a2; uint32_t b1; uint32_t two_23; } gpu_params_quant_few32;
typedef gpu_constants_quant_few16 gpu_constants_quant_few32;
extern const struct gpu_kernel gpu_kernel_quant_few32;

typedef struct gpu_params_quant_few8 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t a1; uint32_t a2; uint32_t b1; uint32_t two_23; } gpu_params_quant_few8;
typedef gpu_constants_quant_few16 gpu_constants_quant_few8;
extern const struct gpu_kernel gpu_kernel_quant_few8;

typedef struct gpu_params_quant_groups { uint32_t groups; uint32_t m; uint32_t bn; uint32_t blocks; uint32_t steps; } gpu_params_quant_groups;
extern const struct gpu_kernel gpu_kernel_quant_groups;

typedef struct gpu_params_quant_matvec { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t tiles; uint32_t a1; uint32_t a2; uint32_t b1; uint32_t experts; uint32_t runs; uint32_t two_23; float eps; } gpu_params_quant_matvec;
typedef struct gpu_constants_quant_matvec { uint32_t t; uint32_t rows; uint32_t cols; uint32_t lanes; uint32_t red; uint32_t mode; uint32_t dual; uint32_t extra; uint32_t act; uint32_t ti; uint32_t runs; uint32_t ahead; } gpu_constants_quant_matvec;
extern const struct gpu_kernel gpu_kernel_quant_matvec;

typedef struct gpu_params_quant_matvec_norm { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t tiles; uint32_t a1; uint32_t a2; uint32_t b1; uint32_t experts; uint32_t runs; uint32_t two_23; float eps; } gpu_params_quant_matvec_norm;
typedef gpu_constants_quant_matvec gpu_constants_quant_matvec_norm;
extern const struct gpu_kernel gpu_kernel_quant_matvec_norm;

typedef struct gpu_params_quant_rows { uint32_t groups; uint32_t count; } gpu_params_quant_rows;
extern const struct gpu_kernel gpu_kernel_quant_rows;

typedef struct gpu_params_quant_stages { uint32_t groups; uint32_t k; uint32_t rows; uint32_t rounds; } gpu_params_quant_stages;
typedef struct gpu_constants_quant_stages { uint32_t tb; } gpu_constants_quant_stages;
extern const struct gpu_kernel gpu_kernel_quant_stages;

typedef struct gpu_params_quant_wide128 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles_m; uint32_t tiles_n; uint32_t a1; uint32_t a2; uint32_t b1; } gpu_params_quant_wide128;
typedef struct gpu_constants_quant_wide128 { uint32_t tb; uint32_t down; uint32_t ahead; uint32_t vec_y; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; } gpu_constants_quant_wide128;
extern const struct gpu_kernel gpu_kernel_quant_wide128;

typedef struct gpu_params_quant_wide32 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles_m; uint32_t tiles_n; uint32_t a1; uint32_t a2; uint32_t b1; } gpu_params_quant_wide32;
typedef gpu_constants_quant_wide128 gpu_constants_quant_wide32;
extern const struct gpu_kernel gpu_kernel_quant_wide32;

typedef struct gpu_params_quant_wide64 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles_m; uint32_t tiles_n; uint32_t a1; uint32_t a2; uint32_t b1; } gpu_params_quant_wide64;
typedef gpu_constants_quant_wide128 gpu_constants_quant_wide64;
extern const struct gpu_kernel gpu_kernel_quant_wide64;

typedef struct gpu_params_range { uint32_t groups; uint32_t elements; uint32_t start; uint32_t start_hi; uint32_t step; uint32_t step_hi; } gpu_params_range;
typedef struct gpu_constants_range { uint32_t t; } gpu_constants_range;
extern const struct gpu_kernel gpu_kernel_range;

typedef struct gpu_params_recurrent_loop { uint32_t groups; uint32_t batches; uint32_t steps; uint32_t line_step; uint32_t time_step; uint32_t is_reverse; uint32_t last_at; uint32_t wants; } gpu_params_recurrent_loop;
typedef struct gpu_constants_recurrent_loop { uint32_t t; uint32_t kind; uint32_t gates; uint32_t has_bias; uint32_t hidden; uint32_t row_max; } gpu_constants_recurrent_loop;
extern const struct gpu_kernel gpu_kernel_recurrent_loop;

typedef struct gpu_params_recurrent_pack { uint32_t groups; uint32_t n; uint32_t hidden; } gpu_params_recurrent_pack;
typedef struct gpu_constants_recurrent_pack { uint32_t t_y; } gpu_constants_recurrent_pack;
extern const struct gpu_kernel gpu_kernel_recurrent_pack;

typedef struct gpu_params_recurrent_start { uint32_t groups; uint32_t n; uint32_t at; uint32_t rows; uint32_t hidden; } gpu_params_recurrent_start;
typedef struct gpu_constants_recurrent_start { uint32_t t; uint32_t what; uint32_t has_h0; uint32_t has_c0; } gpu_constants_recurrent_start;
extern const struct gpu_kernel gpu_kernel_recurrent_start;

typedef struct gpu_params_recurrent_step { uint32_t groups; uint32_t hidden; uint32_t batches; uint32_t line; uint32_t before; uint32_t line_step; uint32_t is_first; uint32_t last_at; uint32_t wants; } gpu_params_recurrent_step;
typedef struct gpu_constants_recurrent_step { uint32_t t; uint32_t kind; uint32_t gates; uint32_t phase; uint32_t has_bias; } gpu_constants_recurrent_step;
extern const struct gpu_kernel gpu_kernel_recurrent_step;

typedef struct gpu_params_reduce { uint32_t groups; uint32_t lines; uint32_t n; uint32_t chunks; uint32_t chunk; uint32_t kept1; uint32_t kept2; uint32_t kept3; uint32_t kept_step0; uint32_t kept_step1; uint32_t kept_step2; uint32_t kept_step3; uint32_t size1; uint32_t size2; uint32_t size3; uint32_t step0; uint32_t step1; uint32_t step2; uint32_t step3; uint32_t neutral; uint32_t neutral_high; float count; uint32_t empty; } gpu_params_reduce;
typedef struct gpu_constants_reduce { uint32_t t; uint32_t op; uint32_t lanes; uint32_t strided; uint32_t stage; uint32_t each; uint32_t axes; uint32_t batch; } gpu_constants_reduce;
extern const struct gpu_kernel gpu_kernel_reduce;

typedef struct gpu_params_resize { uint32_t groups; uint32_t axes; uint32_t changed; uint32_t n; } gpu_params_resize;
typedef gpu_constants_range gpu_constants_resize;
extern const struct gpu_kernel gpu_kernel_resize;

typedef struct gpu_params_resize_rows { uint32_t groups; uint32_t fours; uint32_t fours_m; uint32_t fours_s; uint32_t rows; uint32_t rows_m; uint32_t rows_s; uint32_t in_plane; uint32_t n; } gpu_params_resize_rows;
typedef struct gpu_constants_resize_rows { uint32_t t; uint32_t linear; } gpu_constants_resize_rows;
extern const struct gpu_kernel gpu_kernel_resize_rows;

typedef struct gpu_params_resolve { uint32_t groups; uint32_t tuples; } gpu_params_resolve;
typedef struct gpu_constants_resolve { uint32_t depth; uint32_t idx_t; } gpu_constants_resolve;
extern const struct gpu_kernel gpu_kernel_resolve;

typedef struct gpu_params_rng { uint32_t groups; uint32_t n; uint32_t seed_low; uint32_t seed_high; float start; float scale; } gpu_params_rng;
typedef struct gpu_constants_rng { uint32_t t; uint32_t is_normal; uint32_t draw; } gpu_constants_rng;
extern const struct gpu_kernel gpu_kernel_rng;

typedef struct gpu_params_rope { uint32_t groups; uint32_t n; uint32_t d; uint32_t n_rot; uint32_t heads; uint32_t tokens; uint32_t head_rows; uint32_t token_rows; uint32_t width; uint32_t table_rows; uint32_t heads_each; } gpu_params_rope;
typedef struct gpu_constants_rope { uint32_t t; uint32_t t_index; uint32_t positions; uint32_t angles; uint32_t is_gptj; } gpu_constants_rope;
extern const struct gpu_kernel gpu_kernel_rope;

typedef struct gpu_params_rope4 { uint32_t groups; uint32_t n; uint32_t d; uint32_t n_rot; uint32_t heads; uint32_t tokens; uint32_t head_rows; uint32_t token_rows; uint32_t width; uint32_t table_rows; uint32_t heads_each; } gpu_params_rope4;
typedef gpu_constants_rope gpu_constants_rope4;
extern const struct gpu_kernel gpu_kernel_rope4;

typedef struct gpu_params_rotate_rows { uint32_t groups; uint32_t n; uint32_t d; uint32_t n_rot; uint32_t heads; uint32_t tokens; uint32_t head_rows; uint32_t token_rows; uint32_t width; uint32_t table_rows; uint32_t heads_each; float eps; uint32_t capacity; uint32_t limit; uint32_t per_at; } gpu_params_rotate_rows;
typedef struct gpu_constants_rotate_rows { uint32_t t; uint32_t t_index; uint32_t positions; uint32_t angles; uint32_t is_gptj; uint32_t lanes; uint32_t per; uint32_t norm; uint32_t gamma; uint32_t placed; uint32_t at_t; uint32_t to; } gpu_constants_rotate_rows;
extern const struct gpu_kernel gpu_kernel_rotate_rows;

typedef struct gpu_params_rows_coop1 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_coop1;
typedef struct gpu_constants_rows_coop1 { uint32_t subs; uint32_t ahead; uint32_t tx; uint32_t vec_y; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; } gpu_constants_rows_coop1;
extern const struct gpu_kernel gpu_kernel_rows_coop1;

typedef struct gpu_params_rows_coop1_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_coop1_bf16;
typedef gpu_constants_rows_coop1 gpu_constants_rows_coop1_bf16;
extern const struct gpu_kernel gpu_kernel_rows_coop1_bf16;

typedef struct gpu_params_rows_coop2 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_coop2;
typedef gpu_constants_rows_coop1 gpu_constants_rows_coop2;
extern const struct gpu_kernel gpu_kernel_rows_coop2;

typedef struct gpu_params_rows_coop2_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_coop2_bf16;
typedef gpu_constants_rows_coop1 gpu_constants_rows_coop2_bf16;
extern const struct gpu_kernel gpu_kernel_rows_coop2_bf16;

typedef struct gpu_params_rows_coop4 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_coop4;
typedef gpu_constants_rows_coop1 gpu_constants_rows_coop4;
extern const struct gpu_kernel gpu_kernel_rows_coop4;

typedef struct gpu_params_rows_coop4_bf16 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_coop4_bf16;
typedef gpu_constants_rows_coop1 gpu_constants_rows_coop4_bf16;
extern const struct gpu_kernel gpu_kernel_rows_coop4_bf16;

typedef struct gpu_params_rows_direct1 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_direct1;
typedef struct gpu_constants_rows_direct1 { uint32_t subs; uint32_t ahead; uint32_t tx; uint32_t vec_y; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t packed; uint32_t down; } gpu_constants_rows_direct1;
extern const struct gpu_kernel gpu_kernel_rows_direct1;

typedef struct gpu_params_rows_direct2 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_direct2;
typedef gpu_constants_rows_direct1 gpu_constants_rows_direct2;
extern const struct gpu_kernel gpu_kernel_rows_direct2;

typedef struct gpu_params_rows_direct2_blocks { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; uint32_t a1; uint32_t a2; uint32_t b1; } gpu_params_rows_direct2_blocks;
typedef struct gpu_constants_rows_direct2_blocks { uint32_t subs; uint32_t ahead; uint32_t tx; uint32_t vec_y; uint32_t ty; uint32_t extra; uint32_t act; uint32_t te; uint32_t packed; uint32_t down; uint32_t tb; } gpu_constants_rows_direct2_blocks;
extern const struct gpu_kernel gpu_kernel_rows_direct2_blocks;

typedef struct gpu_params_rows_direct_blocks { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; uint32_t a1; uint32_t a2; uint32_t b1; } gpu_params_rows_direct_blocks;
typedef gpu_constants_rows_direct2_blocks gpu_constants_rows_direct_blocks;
extern const struct gpu_kernel gpu_kernel_rows_direct_blocks;

typedef struct gpu_params_rows_direct_f32 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_direct_f32;
typedef gpu_constants_rows_direct1 gpu_constants_rows_direct_f32;
extern const struct gpu_kernel gpu_kernel_rows_direct_f32;

typedef struct gpu_params_rows_full1 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_full1;
typedef gpu_constants_rows_coop1 gpu_constants_rows_full1;
extern const struct gpu_kernel gpu_kernel_rows_full1;

typedef struct gpu_params_rows_full2 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_full2;
typedef gpu_constants_rows_coop1 gpu_constants_rows_full2;
extern const struct gpu_kernel gpu_kernel_rows_full2;

typedef struct gpu_params_rows_full4 { uint32_t groups; uint32_t m; uint32_t n; uint32_t k; uint32_t k_part; uint32_t tiles; } gpu_params_rows_full4;
typedef gpu_constants_rows_coop1 gpu_constants_rows_full4;
extern const struct gpu_kernel gpu_kernel_rows_full4;

typedef struct gpu_params_sample_pick { uint32_t groups; uint32_t n; uint32_t pitch; uint32_t chunks; uint32_t chunk; float temperature; uint32_t top_p; uint32_t seed_low; uint32_t seed_high; } gpu_params_sample_pick;
typedef struct gpu_constants_sample_pick { uint32_t has_settings; uint32_t draw; } gpu_constants_sample_pick;
extern const struct gpu_kernel gpu_kernel_sample_pick;

typedef struct gpu_params_sample_sums { uint32_t groups; uint32_t n; uint32_t pitch; uint32_t chunks; uint32_t chunk; float temperature; float min_p; } gpu_params_sample_sums;
typedef struct gpu_constants_sample_sums { uint32_t has_settings; } gpu_constants_sample_sums;
extern const struct gpu_kernel gpu_kernel_sample_sums;

typedef struct gpu_params_scan { uint32_t groups; uint32_t lines; uint32_t n; uint32_t inner; uint32_t blocks; uint32_t chunks; uint32_t chunk; uint32_t neutral; uint32_t neutral_high; } gpu_params_scan;
typedef struct gpu_constants_scan { uint32_t t; uint32_t op; uint32_t lanes; uint32_t strided; uint32_t exclusive; uint32_t reverse; uint32_t packed; uint32_t cut; } gpu_constants_scan;
extern const struct gpu_kernel gpu_kernel_scan;

typedef struct gpu_params_scatter { uint32_t groups; uint32_t lines; uint32_t ranges; uint32_t range_size; uint32_t count; uint32_t u_step; uint32_t stride; uint32_t d0; uint32_t m0; uint32_t s0; uint32_t st0; uint32_t lo0; uint32_t n0; uint32_t d1; uint32_t m1; uint32_t s1; uint32_t st1; uint32_t lo1; uint32_t n1; uint32_t d2; uint32_t m2; uint32_t s2; uint32_t st2; uint32_t lo2; uint32_t n2; uint32_t d3; uint32_t m3; uint32_t s3; uint32_t st3; uint32_t lo3; uint32_t n3; } gpu_params_scatter;
typedef struct gpu_constants_scatter { uint32_t tu; uint32_t kind; uint32_t reduction; uint32_t columns; uint32_t rank; } gpu_constants_scatter;
extern const struct gpu_kernel gpu_kernel_scatter;

typedef struct gpu_params_scatter_split { uint32_t groups; uint32_t lines; uint32_t ranges; uint32_t range_size; uint32_t count; uint32_t u_step; uint32_t stride; uint32_t d0; uint32_t m0; uint32_t s0; uint32_t st0; uint32_t lo0; uint32_t n0; uint32_t d1; uint32_t m1; uint32_t s1; uint32_t st1; uint32_t lo1; uint32_t n1; uint32_t d2; uint32_t m2; uint32_t s2; uint32_t st2; uint32_t lo2; uint32_t n2; uint32_t d3; uint32_t m3; uint32_t s3; uint32_t st3; uint32_t lo3; uint32_t n3; } gpu_params_scatter_split;
typedef gpu_constants_scatter gpu_constants_scatter_split;
extern const struct gpu_kernel gpu_kernel_scatter_split;

typedef struct gpu_params_softmax { uint32_t groups; uint32_t lines; uint32_t n; uint32_t inner; uint32_t chunks; uint32_t chunk; } gpu_params_softmax;
typedef struct gpu_constants_softmax { uint32_t t; uint32_t ty; uint32_t unit; uint32_t lanes; uint32_t per; uint32_t strided; uint32_t stage; uint32_t is_log; } gpu_constants_softmax;
extern const struct gpu_kernel gpu_kernel_softmax;

typedef struct gpu_params_softmax4 { uint32_t groups; uint32_t rows; uint32_t cols; uint32_t chunks; uint32_t chunk; } gpu_params_softmax4;
typedef struct gpu_constants_softmax4 { uint32_t t; uint32_t is_log; uint32_t lanes; uint32_t vecs; uint32_t stage; } gpu_constants_softmax4;
extern const struct gpu_kernel gpu_kernel_softmax4;

typedef struct gpu_params_sort_block { uint32_t groups; uint32_t lines; uint32_t n; uint32_t inner; uint32_t items; uint32_t pieces; uint32_t take; uint32_t kept; } gpu_params_sort_block;
typedef struct gpu_constants_sort_block { uint32_t t; uint32_t to; uint32_t descending; uint32_t size; uint32_t capacity; uint32_t highs; uint32_t from_items; uint32_t final; } gpu_constants_sort_block;
extern const struct gpu_kernel gpu_kernel_sort_block;

typedef struct gpu_params_sort_merge { uint32_t groups; uint32_t lines; uint32_t n; uint32_t inner; uint32_t run; uint32_t take; } gpu_params_sort_merge;
typedef struct gpu_constants_sort_merge { uint32_t t; uint32_t to; uint32_t final; } gpu_constants_sort_merge;
extern const struct gpu_kernel gpu_kernel_sort_merge;

typedef struct gpu_params_strided { uint32_t groups; uint32_t items; uint32_t elements; uint32_t step; uint32_t origin; uint32_t fill; uint32_t fill_hi; int32_t k; uint32_t d0; uint32_t m0; uint32_t s0; uint32_t st0; uint32_t lo0; uint32_t n0; uint32_t d1; uint32_t m1; uint32_t s1; uint32_t st1; uint32_t lo1; uint32_t n1; uint32_t d2; uint32_t m2; uint32_t s2; uint32_t st2; uint32_t lo2; uint32_t n2; uint32_t d3; uint32_t m3; uint32_t s3; uint32_t st3; uint32_t lo3; uint32_t n3; } gpu_params_strided;
typedef struct gpu_constants_strided { uint32_t log; uint32_t rank; uint32_t maps; uint32_t tri; } gpu_constants_strided;
extern const struct gpu_kernel gpu_kernel_strided;

typedef struct gpu_params_transpose { uint32_t groups; uint32_t size_a; uint32_t size_b; uint32_t sa; uint32_t tb; uint32_t tiles_a; uint32_t tiles_b; uint32_t d0; uint32_t from0; uint32_t to0; uint32_t d1; uint32_t from1; uint32_t to1; uint32_t from2; uint32_t to2; } gpu_params_transpose;
typedef struct gpu_constants_transpose { uint32_t log; uint32_t side_log; } gpu_constants_transpose;
extern const struct gpu_kernel gpu_kernel_transpose;

typedef struct gpu_params_transpose8 { uint32_t groups; uint32_t size_a; uint32_t size_b; uint32_t sa; uint32_t tb; uint32_t tiles_a; uint32_t tiles_b; uint32_t d0; uint32_t from0; uint32_t to0; uint32_t d1; uint32_t from1; uint32_t to1; uint32_t from2; uint32_t to2; } gpu_params_transpose8;
extern const struct gpu_kernel gpu_kernel_transpose8;

#endif
