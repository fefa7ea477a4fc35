/* Lowers products with weights that are quantised but not of a block type: dequant_matmul, whose scales are inputs, and
 * the 8-bit integer ops q_matmul and q_conv2d. */
#include "gpu/quant.h"
#include "gpu/window.h"

/* ---- dequant_matmul ---- */

enum { NVFP4_BLOCK = 16 };

void gpu_lower_dequant_matmul(gpu_lowering *l) {
  const rlx_attrs_dequant_matmul *attrs = RLX_ATTRS(dequant_matmul, l->node);
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  uint32_t k = (uint32_t)x->shape.v[x->shape.n - 1], n = (uint32_t)y->shape.v[y->shape.n - 1];
  if (gpu_count(y) == 0) return;
  uint64_t block = attrs->scheme == RLX_SCHEME_NVFP4 ? NVFP4_BLOCK : (uint64_t)attrs->block;
  if (block == 0 || block > k) block = (uint64_t)k + 1;
  gpu_product p = {.m = gpu_count(y) / n,
                   .n = n,
                   .k = k,
                   .a_type = RLX_F32,
                   .b_type = RLX_F32,
                   .y_type = RLX_F32,
                   .a = gpu_in(l, 0),
                   .b = gpu_in(l, 1),
                   .y = gpu_out(l)};
  gpu_coded codes = {.kernel = &gpu_kernel_matmul_codes,
                     .scale = gpu_in(l, 2),
                     .more = gpu_in(l, gpu_has_in(l, 4) ? 4 : 3),
                     .number = (uint32_t)block,
                     .scheme = (uint32_t)attrs->scheme,
                     .has_scale = gpu_has_in(l, 2),
                     .has_zero = gpu_has_in(l, 3)};
  product_choice choice;
  if ((uint64_t)k * n > INT32_MAX) gpu_refuse(l, "a weight of more than 2^31 elements");
  else if (gpu_coded_tile(l->caps, &p, p.m, 1, &choice)) gpu_coded_product(l, &p, &codes, &choice, NULL);
  else gpu_refuse(l, "no tile of a matrix product fits the device");
}

/* ---- 8-bit integers: inputs a, b, their scales and y's, their zero points and y's, bias ---- */

enum { A = 0, B = 1, A_SCALE = 2, B_SCALE = 3, Y_SCALE = 4, A_ZERO = 5, B_ZERO = 6, Y_ZERO = 7, BIAS = 8 };

/* Computes the per-channel constants of the 8-bit products, for n channels. */
static gpu_window emit_channels(gpu_lowering *l, uint32_t n) {
  gpu_window to = gpu_work(l, (uint64_t)n * 32);
  uint32_t zeros = !gpu_has_in(l, B_ZERO) ? 0 : gpu_count(gpu_in_type(l, B_ZERO)) == 1 ? 2 : 1;
  gpu_params_q_channels p = {.n = n};
  gpu_constants_q_channels c = {.ta = (uint32_t)gpu_in_type(l, A)->dtype,
                                .tb = (uint32_t)gpu_in_type(l, B)->dtype,
                                .ty = (uint32_t)gpu_out_type(l)->dtype,
                                .scales = gpu_count(gpu_in_type(l, B_SCALE)) != 1,
                                .zeros = zeros,
                                .has_a_zero = gpu_has_in(l, A_ZERO),
                                .has_y_zero = gpu_has_in(l, Y_ZERO),
                                .has_bias = gpu_has_in(l, BIAS)};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(q_channels, p, c), .groups = gpu_ceil_div(n, 128), .group_size = 128,
                            .windows = {gpu_in(l, A_SCALE), gpu_in(l, B_SCALE), gpu_in(l, Y_SCALE), gpu_in(l, A_ZERO),
                                        gpu_in(l, B_ZERO), gpu_in(l, Y_ZERO), gpu_in(l, BIAS), to}});
  return to;
}

void gpu_lower_q_matmul(gpu_lowering *l) {
  enum { ROWS = 4, COLUMNS = 4, GROUP = 64 };
  const rlx_type *a = gpu_in_type(l, A), *b = gpu_in_type(l, B), *y = gpu_out_type(l);
  gpu_product p = gpu_product_of(l, A, B, false);
  uint32_t count = gpu_count(y);
  if (count == 0) return;
  bool packs = p.n % COLUMNS == 0;
  gpu_window channels = emit_channels(l, p.n), to = packs ? gpu_out(l) : gpu_work(l, (uint64_t)count * 4);
  gpu_params_q_matmul params = {.m = p.m,
                                .n = p.n,
                                .k = p.k,
                                .tiles_m = gpu_ceil_div(p.m, ROWS),
                                .tiles_n = gpu_ceil_div(p.n, COLUMNS * GROUP),
                                .last_a = p.k ? gpu_words(a) - 1 : 0,
                                .last_b = p.k ? gpu_words(b) - 1 : 0,
                                PRODUCT_AXES(&p)};
  gpu_constants_q_matmul c = {
    .ta = (uint32_t)a->dtype, .tb = (uint32_t)b->dtype, .ty = (uint32_t)y->dtype, .packed = packs, .axes = p.n_axes};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(q_matmul, params, c),
                            .groups = params.tiles_m * params.tiles_n * gpu_product_batches(&p), .group_size = GROUP,
                            .windows = {gpu_in(l, A), gpu_in(l, B), channels, to}, .cost = (uint64_t)count * p.k / 8});
  if (!packs) gpu_convert(l, to, RLX_I32, gpu_out(l), y->dtype, count);
}

void gpu_lower_q_conv2d(gpu_lowering *l) {
  const rlx_attrs_q_conv2d *attrs = RLX_ATTRS(q_conv2d, l->node);
  const rlx_type *x = gpu_in_type(l, A), *w = gpu_in_type(l, B), *y = gpu_out_type(l);
  rlx_conv_window window;
  gpu_sliding s;
  uint32_t count = gpu_count(y);
  if (count == 0) return;
  if (RLX_WINDOW_READ(attrs, w->shape.v + 2, 2, &window)) {
    gpu_refuse(l, "a window that cannot be read");
    return;
  }
  if (!gpu_sliding_init(l, &window, &x->shape, &y->shape, false, &s)) return;
  gpu_window channels = emit_channels(l, (uint32_t)w->shape.v[0]);
  gpu_params_q_conv2d p = {.count = count,
                           .out_channels = (uint32_t)w->shape.v[0],
                           .out_h = s.out[1],
                           .out_w = s.out[2],
                           .in_channels = (uint32_t)x->shape.v[1],
                           .in_h = s.in[1],
                           .in_w = s.in[2],
                           .in_each = (uint32_t)w->shape.v[1],
                           .out_each = (uint32_t)(w->shape.v[0] / attrs->groups),
                           .kernel_h = s.kernel[1],
                           .kernel_w = s.kernel[2],
                           .stride_h = s.stride[1],
                           .stride_w = s.stride[2],
                           .dilation_h = s.dilation[1],
                           .dilation_w = s.dilation[2],
                           .pad_h = s.pad[1],
                           .pad_w = s.pad[2]};
  gpu_constants_q_conv2d c = {.tx = (uint32_t)x->dtype, .tw = (uint32_t)w->dtype, .ty = (uint32_t)y->dtype};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(q_conv2d, p, c), .groups = gpu_ceil_div(gpu_ceil_div(count, 4), 128),
                            .group_size = 128, .windows = {gpu_in(l, A), gpu_in(l, B), channels, gpu_out(l)},
                            .cost = (uint64_t)count * p.in_each * s.taps});
}
