/* Made by tools/kernels. */

#include "emu/emu.h"

extern const emu_kernel emu_kernel_arg;
extern const emu_kernel emu_kernel_attention;
extern const emu_kernel emu_kernel_attention4;
extern const emu_kernel emu_kernel_attention_combine;
extern const emu_kernel emu_kernel_attention_decode;
extern const emu_kernel emu_kernel_attention_decode_rope;
extern const emu_kernel emu_kernel_causal_conv;
extern const emu_kernel emu_kernel_conv_depthwise;
extern const emu_kernel emu_kernel_conv_direct;
extern const emu_kernel emu_kernel_conv_sum;
extern const emu_kernel emu_kernel_conv_tile;
extern const emu_kernel emu_kernel_conv_transpose;
extern const emu_kernel emu_kernel_convert;
extern const emu_kernel emu_kernel_decode;
extern const emu_kernel emu_kernel_fft;
extern const emu_kernel emu_kernel_fft_out;
extern const emu_kernel emu_kernel_grid_sample;
extern const emu_kernel emu_kernel_im2col;
extern const emu_kernel emu_kernel_linear_scan;
extern const emu_kernel emu_kernel_matmul4;
extern const emu_kernel emu_kernel_matmul8;
extern const emu_kernel emu_kernel_matmul_blocks;
extern const emu_kernel emu_kernel_matmul_codes;
extern const emu_kernel emu_kernel_matmul_sum;
extern const emu_kernel emu_kernel_matvec1;
extern const emu_kernel emu_kernel_matvec1_norm;
extern const emu_kernel emu_kernel_matvec8;
extern const emu_kernel emu_kernel_matvec_kn;
extern const emu_kernel emu_kernel_moe_rows;
extern const emu_kernel emu_kernel_moe_tiles;
extern const emu_kernel emu_kernel_normalize;
extern const emu_kernel emu_kernel_normalize4;
extern const emu_kernel emu_kernel_one_hot;
extern const emu_kernel emu_kernel_pick;
extern const emu_kernel emu_kernel_place;
extern const emu_kernel emu_kernel_place4;
extern const emu_kernel emu_kernel_pointwise;
extern const emu_kernel emu_kernel_pointwise4;
extern const emu_kernel emu_kernel_pointwise64;
extern const emu_kernel emu_kernel_pool;
extern const emu_kernel emu_kernel_pool_lanes;
extern const emu_kernel emu_kernel_probe_f16;
extern const emu_kernel emu_kernel_q_channels;
extern const emu_kernel emu_kernel_q_conv2d;
extern const emu_kernel emu_kernel_q_matmul;
extern const emu_kernel emu_kernel_quant_f16;
extern const emu_kernel emu_kernel_quant_matvec;
extern const emu_kernel emu_kernel_quant_matvec_norm;
extern const emu_kernel emu_kernel_quant_rows;
extern const emu_kernel emu_kernel_range;
extern const emu_kernel emu_kernel_recurrent_loop;
extern const emu_kernel emu_kernel_recurrent_pack;
extern const emu_kernel emu_kernel_recurrent_start;
extern const emu_kernel emu_kernel_recurrent_step;
extern const emu_kernel emu_kernel_reduce;
extern const emu_kernel emu_kernel_resize;
extern const emu_kernel emu_kernel_resize_rows;
extern const emu_kernel emu_kernel_resolve;
extern const emu_kernel emu_kernel_rng;
extern const emu_kernel emu_kernel_rope;
extern const emu_kernel emu_kernel_rope4;
extern const emu_kernel emu_kernel_rotate_rows;
extern const emu_kernel emu_kernel_sample_pick;
extern const emu_kernel emu_kernel_sample_sums;
extern const emu_kernel emu_kernel_scan;
extern const emu_kernel emu_kernel_scatter;
extern const emu_kernel emu_kernel_scatter_split;
extern const emu_kernel emu_kernel_softmax;
extern const emu_kernel emu_kernel_softmax4;
extern const emu_kernel emu_kernel_sort_block;
extern const emu_kernel emu_kernel_sort_merge;
extern const emu_kernel emu_kernel_strided;
extern const emu_kernel emu_kernel_transpose;
extern const emu_kernel emu_kernel_transpose8;

const emu_kernel *const emu_kernels[] = {
  &emu_kernel_arg,
  &emu_kernel_attention,
  &emu_kernel_attention4,
  &emu_kernel_attention_combine,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_attention_decode,
  &emu_kernel_attention_decode_rope,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_causal_conv,
  NULL,
  NULL,
  &emu_kernel_conv_depthwise,
  &emu_kernel_conv_direct,
  &emu_kernel_conv_sum,
  &emu_kernel_conv_tile,
  &emu_kernel_conv_transpose,
  NULL,
  NULL,
  &emu_kernel_convert,
  &emu_kernel_decode,
  &emu_kernel_fft,
  &emu_kernel_fft_out,
  NULL,
  NULL,
  &emu_kernel_grid_sample,
  &emu_kernel_im2col,
  &emu_kernel_linear_scan,
  &emu_kernel_matmul4,
  &emu_kernel_matmul8,
  &emu_kernel_matmul_blocks,
  &emu_kernel_matmul_codes,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_matmul_sum,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_matvec1,
  &emu_kernel_matvec1_norm,
  &emu_kernel_matvec8,
  &emu_kernel_matvec_kn,
  &emu_kernel_moe_rows,
  &emu_kernel_moe_tiles,
  &emu_kernel_normalize,
  &emu_kernel_normalize4,
  &emu_kernel_one_hot,
  &emu_kernel_pick,
  &emu_kernel_place,
  &emu_kernel_place4,
  &emu_kernel_pointwise,
  &emu_kernel_pointwise4,
  &emu_kernel_pointwise64,
  &emu_kernel_pool,
  &emu_kernel_pool_lanes,
  &emu_kernel_probe_f16,
  &emu_kernel_q_channels,
  &emu_kernel_q_conv2d,
  &emu_kernel_q_matmul,
  NULL,
  &emu_kernel_quant_f16,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_quant_matvec,
  &emu_kernel_quant_matvec_norm,
  &emu_kernel_quant_rows,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_range,
  &emu_kernel_recurrent_loop,
  &emu_kernel_recurrent_pack,
  &emu_kernel_recurrent_start,
  &emu_kernel_recurrent_step,
  &emu_kernel_reduce,
  &emu_kernel_resize,
  &emu_kernel_resize_rows,
  &emu_kernel_resolve,
  &emu_kernel_rng,
  &emu_kernel_rope,
  &emu_kernel_rope4,
  &emu_kernel_rotate_rows,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  &emu_kernel_sample_pick,
  &emu_kernel_sample_sums,
  &emu_kernel_scan,
  &emu_kernel_scatter,
  &emu_kernel_scatter_split,
  &emu_kernel_softmax,
  &emu_kernel_softmax4,
  &emu_kernel_sort_block,
  &emu_kernel_sort_merge,
  &emu_kernel_strided,
  &emu_kernel_transpose,
  &emu_kernel_transpose8,
};
