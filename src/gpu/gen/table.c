/* Made by tools/kernels. */

#include "gpu/kernel.h"

/* name, index, windows, writes, constants, bytes of parameters, whether it walks, early windows */
const gpu_kernel gpu_kernel_arg = {"arg", GPU_INDEX_arg, 3, 0x6, 7, sizeof(gpu_params_arg), 1, 0x0};
const gpu_kernel gpu_kernel_attention = {"attention", GPU_INDEX_attention, 8, 0x80, 17, sizeof(gpu_params_attention), 0, 0x0};
const gpu_kernel gpu_kernel_attention4 = {"attention4", GPU_INDEX_attention4, 8, 0x80, 17, sizeof(gpu_params_attention4), 0, 0x0};
const gpu_kernel gpu_kernel_attention_combine = {"attention_combine", GPU_INDEX_attention_combine, 3, 0x4, 3, sizeof(gpu_params_attention_combine), 1, 0x0};
const gpu_kernel gpu_kernel_attention_coop128 = {"attention_coop128", GPU_INDEX_attention_coop128, 7, 0x60, 9, sizeof(gpu_params_attention_coop128), 0, 0x0};
const gpu_kernel gpu_kernel_attention_coop128_bf16 = {"attention_coop128_bf16", GPU_INDEX_attention_coop128_bf16, 7, 0x60, 9, sizeof(gpu_params_attention_coop128_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_attention_coop64 = {"attention_coop64", GPU_INDEX_attention_coop64, 7, 0x60, 9, sizeof(gpu_params_attention_coop64), 0, 0x0};
const gpu_kernel gpu_kernel_attention_coop64_bf16 = {"attention_coop64_bf16", GPU_INDEX_attention_coop64_bf16, 7, 0x60, 9, sizeof(gpu_params_attention_coop64_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_attention_decode = {"attention_decode", GPU_INDEX_attention_decode, 8, 0x80, 20, sizeof(gpu_params_attention_decode), 1, 0x0};
const gpu_kernel gpu_kernel_attention_decode_rope = {"attention_decode_rope", GPU_INDEX_attention_decode_rope, 8, 0x80, 27, sizeof(gpu_params_attention_decode_rope), 1, 0x78};
const gpu_kernel gpu_kernel_attention_wide128 = {"attention_wide128", GPU_INDEX_attention_wide128, 7, 0x60, 8, sizeof(gpu_params_attention_wide128), 0, 0x0};
const gpu_kernel gpu_kernel_attention_wide128_bf16 = {"attention_wide128_bf16", GPU_INDEX_attention_wide128_bf16, 7, 0x60, 8, sizeof(gpu_params_attention_wide128_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_attention_wide64 = {"attention_wide64", GPU_INDEX_attention_wide64, 7, 0x60, 8, sizeof(gpu_params_attention_wide64), 0, 0x0};
const gpu_kernel gpu_kernel_attention_wide64_bf16 = {"attention_wide64_bf16", GPU_INDEX_attention_wide64_bf16, 7, 0x60, 8, sizeof(gpu_params_attention_wide64_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_causal_conv = {"causal_conv", GPU_INDEX_causal_conv, 5, 0x10, 5, sizeof(gpu_params_causal_conv), 1, 0x0};
const gpu_kernel gpu_kernel_conv_coop = {"conv_coop", GPU_INDEX_conv_coop, 5, 0x10, 8, sizeof(gpu_params_conv_coop), 0, 0x0};
const gpu_kernel gpu_kernel_conv_coop_bf16 = {"conv_coop_bf16", GPU_INDEX_conv_coop_bf16, 5, 0x10, 8, sizeof(gpu_params_conv_coop_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_conv_depthwise = {"conv_depthwise", GPU_INDEX_conv_depthwise, 4, 0x8, 9, sizeof(gpu_params_conv_depthwise), 0, 0x0};
const gpu_kernel gpu_kernel_conv_direct = {"conv_direct", GPU_INDEX_conv_direct, 4, 0x8, 3, sizeof(gpu_params_conv_direct), 0, 0x0};
const gpu_kernel gpu_kernel_conv_sum = {"conv_sum", GPU_INDEX_conv_sum, 3, 0x4, 2, sizeof(gpu_params_conv_sum), 0, 0x0};
const gpu_kernel gpu_kernel_conv_tile = {"conv_tile", GPU_INDEX_conv_tile, 7, 0x40, 10, sizeof(gpu_params_conv_tile), 0, 0x0};
const gpu_kernel gpu_kernel_conv_transpose = {"conv_transpose", GPU_INDEX_conv_transpose, 4, 0x8, 3, sizeof(gpu_params_conv_transpose), 0, 0x0};
const gpu_kernel gpu_kernel_conv_wide = {"conv_wide", GPU_INDEX_conv_wide, 5, 0x10, 4, sizeof(gpu_params_conv_wide), 0, 0x0};
const gpu_kernel gpu_kernel_conv_wide_bf16 = {"conv_wide_bf16", GPU_INDEX_conv_wide_bf16, 5, 0x10, 4, sizeof(gpu_params_conv_wide_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_convert = {"convert", GPU_INDEX_convert, 2, 0x2, 2, sizeof(gpu_params_convert), 1, 0x0};
const gpu_kernel gpu_kernel_decode = {"decode", GPU_INDEX_decode, 4, 0x4, 4, sizeof(gpu_params_decode), 1, 0x0};
const gpu_kernel gpu_kernel_fft = {"fft", GPU_INDEX_fft, 4, 0x2, 4, sizeof(gpu_params_fft), 0, 0x0};
const gpu_kernel gpu_kernel_fft_out = {"fft_out", GPU_INDEX_fft_out, 3, 0x2, 3, sizeof(gpu_params_fft_out), 0, 0x0};
const gpu_kernel gpu_kernel_fragments = {"fragments", GPU_INDEX_fragments, 1, 0x1, 0, sizeof(gpu_params_fragments), 0, 0x0};
const gpu_kernel gpu_kernel_fragments_bf16 = {"fragments_bf16", GPU_INDEX_fragments_bf16, 1, 0x1, 0, sizeof(gpu_params_fragments_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_grid_sample = {"grid_sample", GPU_INDEX_grid_sample, 3, 0x4, 6, sizeof(gpu_params_grid_sample), 0, 0x0};
const gpu_kernel gpu_kernel_im2col = {"im2col", GPU_INDEX_im2col, 2, 0x2, 1, sizeof(gpu_params_im2col), 0, 0x0};
const gpu_kernel gpu_kernel_linear_scan = {"linear_scan", GPU_INDEX_linear_scan, 8, 0x80, 11, sizeof(gpu_params_linear_scan), 1, 0x0};
const gpu_kernel gpu_kernel_matmul4 = {"matmul4", GPU_INDEX_matmul4, 8, 0xc0, 19, sizeof(gpu_params_matmul4), 0, 0x0};
const gpu_kernel gpu_kernel_matmul8 = {"matmul8", GPU_INDEX_matmul8, 8, 0xc0, 19, sizeof(gpu_params_matmul8), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_blocks = {"matmul_blocks", GPU_INDEX_matmul_blocks, 8, 0xc0, 20, sizeof(gpu_params_matmul_blocks), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_codes = {"matmul_codes", GPU_INDEX_matmul_codes, 8, 0xc0, 22, sizeof(gpu_params_matmul_codes), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_coop2 = {"matmul_coop2", GPU_INDEX_matmul_coop2, 8, 0x30, 20, sizeof(gpu_params_matmul_coop2), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_coop2_bf16 = {"matmul_coop2_bf16", GPU_INDEX_matmul_coop2_bf16, 8, 0x30, 20, sizeof(gpu_params_matmul_coop2_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_coop4 = {"matmul_coop4", GPU_INDEX_matmul_coop4, 8, 0x30, 20, sizeof(gpu_params_matmul_coop4), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_coop4_bf16 = {"matmul_coop4_bf16", GPU_INDEX_matmul_coop4_bf16, 8, 0x30, 20, sizeof(gpu_params_matmul_coop4_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_sum = {"matmul_sum", GPU_INDEX_matmul_sum, 6, 0x18, 6, sizeof(gpu_params_matmul_sum), 1, 0x0};
const gpu_kernel gpu_kernel_matmul_wide128 = {"matmul_wide128", GPU_INDEX_matmul_wide128, 6, 0x30, 8, sizeof(gpu_params_matmul_wide128), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_wide128_bf16 = {"matmul_wide128_bf16", GPU_INDEX_matmul_wide128_bf16, 6, 0x30, 8, sizeof(gpu_params_matmul_wide128_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_wide256 = {"matmul_wide256", GPU_INDEX_matmul_wide256, 6, 0x30, 8, sizeof(gpu_params_matmul_wide256), 0, 0x0};
const gpu_kernel gpu_kernel_matmul_wide256_bf16 = {"matmul_wide256_bf16", GPU_INDEX_matmul_wide256_bf16, 6, 0x30, 8, sizeof(gpu_params_matmul_wide256_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_matvec1 = {"matvec1", GPU_INDEX_matvec1, 8, 0x80, 14, sizeof(gpu_params_matvec1), 1, 0x28};
const gpu_kernel gpu_kernel_matvec1_norm = {"matvec1_norm", GPU_INDEX_matvec1_norm, 8, 0x80, 14, sizeof(gpu_params_matvec1_norm), 1, 0x28};
const gpu_kernel gpu_kernel_matvec8 = {"matvec8", GPU_INDEX_matvec8, 8, 0x80, 14, sizeof(gpu_params_matvec8), 1, 0x28};
const gpu_kernel gpu_kernel_matvec_kn = {"matvec_kn", GPU_INDEX_matvec_kn, 8, 0x80, 14, sizeof(gpu_params_matvec_kn), 1, 0x0};
const gpu_kernel gpu_kernel_moe_rows = {"moe_rows", GPU_INDEX_moe_rows, 2, 0x2, 1, sizeof(gpu_params_moe_rows), 1, 0x0};
const gpu_kernel gpu_kernel_moe_tiles = {"moe_tiles", GPU_INDEX_moe_tiles, 1, 0x1, 0, sizeof(gpu_params_moe_tiles), 1, 0x0};
const gpu_kernel gpu_kernel_normalize = {"normalize", GPU_INDEX_normalize, 6, 0x30, 11, sizeof(gpu_params_normalize), 1, 0x0};
const gpu_kernel gpu_kernel_normalize4 = {"normalize4", GPU_INDEX_normalize4, 8, 0x30, 10, sizeof(gpu_params_normalize4), 1, 0x0};
const gpu_kernel gpu_kernel_one_hot = {"one_hot", GPU_INDEX_one_hot, 2, 0x2, 2, sizeof(gpu_params_one_hot), 1, 0x0};
const gpu_kernel gpu_kernel_pick = {"pick", GPU_INDEX_pick, 6, 0x18, 4, sizeof(gpu_params_pick), 1, 0x0};
const gpu_kernel gpu_kernel_place = {"place", GPU_INDEX_place, 8, 0x80, 4, sizeof(gpu_params_place), 1, 0x0};
const gpu_kernel gpu_kernel_place4 = {"place4", GPU_INDEX_place4, 8, 0x80, 4, sizeof(gpu_params_place4), 1, 0x0};
const gpu_kernel gpu_kernel_pointwise = {"pointwise", GPU_INDEX_pointwise, 8, 0x80, 22, sizeof(gpu_params_pointwise), 1, 0x0};
const gpu_kernel gpu_kernel_pointwise4 = {"pointwise4", GPU_INDEX_pointwise4, 8, 0x80, 23, sizeof(gpu_params_pointwise4), 1, 0x0};
const gpu_kernel gpu_kernel_pointwise64 = {"pointwise64", GPU_INDEX_pointwise64, 8, 0x80, 22, sizeof(gpu_params_pointwise64), 1, 0x0};
const gpu_kernel gpu_kernel_pool = {"pool", GPU_INDEX_pool, 2, 0x2, 3, sizeof(gpu_params_pool), 0, 0x0};
const gpu_kernel gpu_kernel_pool_lanes = {"pool_lanes", GPU_INDEX_pool_lanes, 2, 0x2, 4, sizeof(gpu_params_pool_lanes), 0, 0x0};
const gpu_kernel gpu_kernel_probe_f16 = {"probe_f16", GPU_INDEX_probe_f16, 1, 0x1, 0, sizeof(gpu_params_probe_f16), 0, 0x0};
const gpu_kernel gpu_kernel_q_channels = {"q_channels", GPU_INDEX_q_channels, 8, 0x80, 8, sizeof(gpu_params_q_channels), 0, 0x0};
const gpu_kernel gpu_kernel_q_conv2d = {"q_conv2d", GPU_INDEX_q_conv2d, 4, 0x8, 3, sizeof(gpu_params_q_conv2d), 0, 0x0};
const gpu_kernel gpu_kernel_q_matmul = {"q_matmul", GPU_INDEX_q_matmul, 4, 0x8, 5, sizeof(gpu_params_q_matmul), 0, 0x0};
const gpu_kernel gpu_kernel_quant_coop = {"quant_coop", GPU_INDEX_quant_coop, 8, 0xc0, 11, sizeof(gpu_params_quant_coop), 0, 0x0};
const gpu_kernel gpu_kernel_quant_f16 = {"quant_f16", GPU_INDEX_quant_f16, 3, 0x6, 3, sizeof(gpu_params_quant_f16), 1, 0x0};
const gpu_kernel gpu_kernel_quant_few16 = {"quant_few16", GPU_INDEX_quant_few16, 8, 0x18, 8, sizeof(gpu_params_quant_few16), 0, 0x22};
const gpu_kernel gpu_kernel_quant_few32 = {"quant_few32", GPU_INDEX_quant_few32, 8, 0x18, 8, sizeof(gpu_params_quant_few32), 0, 0x22};
const gpu_kernel gpu_kernel_quant_few8 = {"quant_few8", GPU_INDEX_quant_few8, 8, 0x18, 8, sizeof(gpu_params_quant_few8), 0, 0x22};
const gpu_kernel gpu_kernel_quant_groups = {"quant_groups", GPU_INDEX_quant_groups, 3, 0x6, 0, sizeof(gpu_params_quant_groups), 0, 0x0};
const gpu_kernel gpu_kernel_quant_matvec = {"quant_matvec", GPU_INDEX_quant_matvec, 8, 0x80, 12, sizeof(gpu_params_quant_matvec), 1, 0x63};
const gpu_kernel gpu_kernel_quant_matvec_norm = {"quant_matvec_norm", GPU_INDEX_quant_matvec_norm, 8, 0x80, 12, sizeof(gpu_params_quant_matvec_norm), 1, 0x63};
const gpu_kernel gpu_kernel_quant_rows = {"quant_rows", GPU_INDEX_quant_rows, 2, 0x2, 0, sizeof(gpu_params_quant_rows), 1, 0x0};
const gpu_kernel gpu_kernel_quant_stages = {"quant_stages", GPU_INDEX_quant_stages, 3, 0x6, 1, sizeof(gpu_params_quant_stages), 0, 0x0};
const gpu_kernel gpu_kernel_quant_wide128 = {"quant_wide128", GPU_INDEX_quant_wide128, 7, 0x18, 8, sizeof(gpu_params_quant_wide128), 0, 0x0};
const gpu_kernel gpu_kernel_quant_wide32 = {"quant_wide32", GPU_INDEX_quant_wide32, 7, 0x18, 8, sizeof(gpu_params_quant_wide32), 0, 0x0};
const gpu_kernel gpu_kernel_quant_wide64 = {"quant_wide64", GPU_INDEX_quant_wide64, 7, 0x18, 8, sizeof(gpu_params_quant_wide64), 0, 0x0};
const gpu_kernel gpu_kernel_range = {"range", GPU_INDEX_range, 1, 0x1, 1, sizeof(gpu_params_range), 1, 0x0};
const gpu_kernel gpu_kernel_recurrent_loop = {"recurrent_loop", GPU_INDEX_recurrent_loop, 6, 0x30, 6, sizeof(gpu_params_recurrent_loop), 0, 0x0};
const gpu_kernel gpu_kernel_recurrent_pack = {"recurrent_pack", GPU_INDEX_recurrent_pack, 3, 0x4, 1, sizeof(gpu_params_recurrent_pack), 0, 0x0};
const gpu_kernel gpu_kernel_recurrent_start = {"recurrent_start", GPU_INDEX_recurrent_start, 3, 0x4, 4, sizeof(gpu_params_recurrent_start), 0, 0x0};
const gpu_kernel gpu_kernel_recurrent_step = {"recurrent_step", GPU_INDEX_recurrent_step, 6, 0x38, 5, sizeof(gpu_params_recurrent_step), 0, 0x0};
const gpu_kernel gpu_kernel_reduce = {"reduce", GPU_INDEX_reduce, 2, 0x2, 8, sizeof(gpu_params_reduce), 1, 0x0};
const gpu_kernel gpu_kernel_resize = {"resize", GPU_INDEX_resize, 3, 0x4, 1, sizeof(gpu_params_resize), 0, 0x0};
const gpu_kernel gpu_kernel_resize_rows = {"resize_rows", GPU_INDEX_resize_rows, 4, 0x8, 2, sizeof(gpu_params_resize_rows), 0, 0x0};
const gpu_kernel gpu_kernel_resolve = {"resolve", GPU_INDEX_resolve, 3, 0x4, 2, sizeof(gpu_params_resolve), 1, 0x0};
const gpu_kernel gpu_kernel_rng = {"rng", GPU_INDEX_rng, 2, 0x2, 3, sizeof(gpu_params_rng), 0, 0x0};
const gpu_kernel gpu_kernel_rope = {"rope", GPU_INDEX_rope, 6, 0x20, 5, sizeof(gpu_params_rope), 1, 0x0};
const gpu_kernel gpu_kernel_rope4 = {"rope4", GPU_INDEX_rope4, 6, 0x20, 5, sizeof(gpu_params_rope4), 1, 0x0};
const gpu_kernel gpu_kernel_rotate_rows = {"rotate_rows", GPU_INDEX_rotate_rows, 8, 0x20, 12, sizeof(gpu_params_rotate_rows), 1, 0x54};
const gpu_kernel gpu_kernel_rows_coop1 = {"rows_coop1", GPU_INDEX_rows_coop1, 5, 0x18, 8, sizeof(gpu_params_rows_coop1), 0, 0x0};
const gpu_kernel gpu_kernel_rows_coop1_bf16 = {"rows_coop1_bf16", GPU_INDEX_rows_coop1_bf16, 5, 0x18, 8, sizeof(gpu_params_rows_coop1_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_rows_coop2 = {"rows_coop2", GPU_INDEX_rows_coop2, 5, 0x18, 8, sizeof(gpu_params_rows_coop2), 0, 0x0};
const gpu_kernel gpu_kernel_rows_coop2_bf16 = {"rows_coop2_bf16", GPU_INDEX_rows_coop2_bf16, 5, 0x18, 8, sizeof(gpu_params_rows_coop2_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_rows_coop4 = {"rows_coop4", GPU_INDEX_rows_coop4, 5, 0x18, 8, sizeof(gpu_params_rows_coop4), 0, 0x0};
const gpu_kernel gpu_kernel_rows_coop4_bf16 = {"rows_coop4_bf16", GPU_INDEX_rows_coop4_bf16, 5, 0x18, 8, sizeof(gpu_params_rows_coop4_bf16), 0, 0x0};
const gpu_kernel gpu_kernel_rows_direct1 = {"rows_direct1", GPU_INDEX_rows_direct1, 6, 0x18, 10, sizeof(gpu_params_rows_direct1), 1, 0x0};
const gpu_kernel gpu_kernel_rows_direct2 = {"rows_direct2", GPU_INDEX_rows_direct2, 6, 0x18, 10, sizeof(gpu_params_rows_direct2), 1, 0x0};
const gpu_kernel gpu_kernel_rows_direct2_blocks = {"rows_direct2_blocks", GPU_INDEX_rows_direct2_blocks, 7, 0x18, 11, sizeof(gpu_params_rows_direct2_blocks), 1, 0x0};
const gpu_kernel gpu_kernel_rows_direct_blocks = {"rows_direct_blocks", GPU_INDEX_rows_direct_blocks, 7, 0x18, 11, sizeof(gpu_params_rows_direct_blocks), 1, 0x0};
const gpu_kernel gpu_kernel_rows_direct_f32 = {"rows_direct_f32", GPU_INDEX_rows_direct_f32, 6, 0x18, 10, sizeof(gpu_params_rows_direct_f32), 1, 0x0};
const gpu_kernel gpu_kernel_rows_full1 = {"rows_full1", GPU_INDEX_rows_full1, 5, 0x18, 8, sizeof(gpu_params_rows_full1), 0, 0x0};
const gpu_kernel gpu_kernel_rows_full2 = {"rows_full2", GPU_INDEX_rows_full2, 5, 0x18, 8, sizeof(gpu_params_rows_full2), 0, 0x0};
const gpu_kernel gpu_kernel_rows_full4 = {"rows_full4", GPU_INDEX_rows_full4, 5, 0x18, 8, sizeof(gpu_params_rows_full4), 0, 0x0};
const gpu_kernel gpu_kernel_sample_pick = {"sample_pick", GPU_INDEX_sample_pick, 5, 0x10, 2, sizeof(gpu_params_sample_pick), 1, 0x0};
const gpu_kernel gpu_kernel_sample_sums = {"sample_sums", GPU_INDEX_sample_sums, 3, 0x4, 1, sizeof(gpu_params_sample_sums), 1, 0x0};
const gpu_kernel gpu_kernel_scan = {"scan", GPU_INDEX_scan, 3, 0x2, 8, sizeof(gpu_params_scan), 0, 0x0};
const gpu_kernel gpu_kernel_scatter = {"scatter", GPU_INDEX_scatter, 4, 0x4, 5, sizeof(gpu_params_scatter), 0, 0x0};
const gpu_kernel gpu_kernel_scatter_split = {"scatter_split", GPU_INDEX_scatter_split, 4, 0x4, 5, sizeof(gpu_params_scatter_split), 0, 0x0};
const gpu_kernel gpu_kernel_softmax = {"softmax", GPU_INDEX_softmax, 3, 0x6, 8, sizeof(gpu_params_softmax), 1, 0x0};
const gpu_kernel gpu_kernel_softmax4 = {"softmax4", GPU_INDEX_softmax4, 3, 0x6, 5, sizeof(gpu_params_softmax4), 1, 0x0};
const gpu_kernel gpu_kernel_sort_block = {"sort_block", GPU_INDEX_sort_block, 4, 0xc, 8, sizeof(gpu_params_sort_block), 0, 0x0};
const gpu_kernel gpu_kernel_sort_merge = {"sort_merge", GPU_INDEX_sort_merge, 4, 0xc, 3, sizeof(gpu_params_sort_merge), 0, 0x0};
const gpu_kernel gpu_kernel_strided = {"strided", GPU_INDEX_strided, 5, 0xc, 4, sizeof(gpu_params_strided), 1, 0x0};
const gpu_kernel gpu_kernel_transpose = {"transpose", GPU_INDEX_transpose, 2, 0x2, 2, sizeof(gpu_params_transpose), 1, 0x0};
const gpu_kernel gpu_kernel_transpose8 = {"transpose8", GPU_INDEX_transpose8, 2, 0x2, 0, sizeof(gpu_params_transpose8), 1, 0x0};

const gpu_kernel *const gpu_kernels[GPU_KERNEL_COUNT] = {
  &gpu_kernel_arg,
  &gpu_kernel_attention,
  &gpu_kernel_attention4,
  &gpu_kernel_attention_combine,
  &gpu_kernel_attention_coop128,
  &gpu_kernel_attention_coop128_bf16,
  &gpu_kernel_attention_coop64,
  &gpu_kernel_attention_coop64_bf16,
  &gpu_kernel_attention_decode,
  &gpu_kernel_attention_decode_rope,
  &gpu_kernel_attention_wide128,
  &gpu_kernel_attention_wide128_bf16,
  &gpu_kernel_attention_wide64,
  &gpu_kernel_attention_wide64_bf16,
  &gpu_kernel_causal_conv,
  &gpu_kernel_conv_coop,
  &gpu_kernel_conv_coop_bf16,
  &gpu_kernel_conv_depthwise,
  &gpu_kernel_conv_direct,
  &gpu_kernel_conv_sum,
  &gpu_kernel_conv_tile,
  &gpu_kernel_conv_transpose,
  &gpu_kernel_conv_wide,
  &gpu_kernel_conv_wide_bf16,
  &gpu_kernel_convert,
  &gpu_kernel_decode,
  &gpu_kernel_fft,
  &gpu_kernel_fft_out,
  &gpu_kernel_fragments,
  &gpu_kernel_fragments_bf16,
  &gpu_kernel_grid_sample,
  &gpu_kernel_im2col,
  &gpu_kernel_linear_scan,
  &gpu_kernel_matmul4,
  &gpu_kernel_matmul8,
  &gpu_kernel_matmul_blocks,
  &gpu_kernel_matmul_codes,
  &gpu_kernel_matmul_coop2,
  &gpu_kernel_matmul_coop2_bf16,
  &gpu_kernel_matmul_coop4,
  &gpu_kernel_matmul_coop4_bf16,
  &gpu_kernel_matmul_sum,
  &gpu_kernel_matmul_wide128,
  &gpu_kernel_matmul_wide128_bf16,
  &gpu_kernel_matmul_wide256,
  &gpu_kernel_matmul_wide256_bf16,
  &gpu_kernel_matvec1,
  &gpu_kernel_matvec1_norm,
  &gpu_kernel_matvec8,
  &gpu_kernel_matvec_kn,
  &gpu_kernel_moe_rows,
  &gpu_kernel_moe_tiles,
  &gpu_kernel_normalize,
  &gpu_kernel_normalize4,
  &gpu_kernel_one_hot,
  &gpu_kernel_pick,
  &gpu_kernel_place,
  &gpu_kernel_place4,
  &gpu_kernel_pointwise,
  &gpu_kernel_pointwise4,
  &gpu_kernel_pointwise64,
  &gpu_kernel_pool,
  &gpu_kernel_pool_lanes,
  &gpu_kernel_probe_f16,
  &gpu_kernel_q_channels,
  &gpu_kernel_q_conv2d,
  &gpu_kernel_q_matmul,
  &gpu_kernel_quant_coop,
  &gpu_kernel_quant_f16,
  &gpu_kernel_quant_few16,
  &gpu_kernel_quant_few32,
  &gpu_kernel_quant_few8,
  &gpu_kernel_quant_groups,
  &gpu_kernel_quant_matvec,
  &gpu_kernel_quant_matvec_norm,
  &gpu_kernel_quant_rows,
  &gpu_kernel_quant_stages,
  &gpu_kernel_quant_wide128,
  &gpu_kernel_quant_wide32,
  &gpu_kernel_quant_wide64,
  &gpu_kernel_range,
  &gpu_kernel_recurrent_loop,
  &gpu_kernel_recurrent_pack,
  &gpu_kernel_recurrent_start,
  &gpu_kernel_recurrent_step,
  &gpu_kernel_reduce,
  &gpu_kernel_resize,
  &gpu_kernel_resize_rows,
  &gpu_kernel_resolve,
  &gpu_kernel_rng,
  &gpu_kernel_rope,
  &gpu_kernel_rope4,
  &gpu_kernel_rotate_rows,
  &gpu_kernel_rows_coop1,
  &gpu_kernel_rows_coop1_bf16,
  &gpu_kernel_rows_coop2,
  &gpu_kernel_rows_coop2_bf16,
  &gpu_kernel_rows_coop4,
  &gpu_kernel_rows_coop4_bf16,
  &gpu_kernel_rows_direct1,
  &gpu_kernel_rows_direct2,
  &gpu_kernel_rows_direct2_blocks,
  &gpu_kernel_rows_direct_blocks,
  &gpu_kernel_rows_direct_f32,
  &gpu_kernel_rows_full1,
  &gpu_kernel_rows_full2,
  &gpu_kernel_rows_full4,
  &gpu_kernel_sample_pick,
  &gpu_kernel_sample_sums,
  &gpu_kernel_scan,
  &gpu_kernel_scatter,
  &gpu_kernel_scatter_split,
  &gpu_kernel_softmax,
  &gpu_kernel_softmax4,
  &gpu_kernel_sort_block,
  &gpu_kernel_sort_merge,
  &gpu_kernel_strided,
  &gpu_kernel_transpose,
  &gpu_kernel_transpose8,
};
