/* The builder: vision, sequence models, signal and random. */
#include "ir/build.h"
#include "ir/sampling.h"

/* ---- vision ---- */

rlx_node rlx_op_conv(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, const rlx_op_conv_desc *desc) {
  const rlx_op_conv_desc *d = DESC(rlx_op_conv_desc);
  if (!d) return RLX_NONE;
  return NODE(conv, (x, w, bias), .stride = d->stride, .dilation = d->dilation, .pad_lo = d->pad_lo,
              .pad_hi = d->pad_hi, .groups = rlx_or_one(d->groups));
}

rlx_node rlx_op_fused_conv_bias_act(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, rlx_node residual,
                                    const rlx_op_conv_desc *desc, rlx_act act) {
  const rlx_op_conv_desc *d = DESC(rlx_op_conv_desc);
  if (!d) return RLX_NONE;
  return NODE(fused_conv_bias_act, (x, w, bias, residual), .stride = d->stride, .dilation = d->dilation,
              .pad_lo = d->pad_lo, .pad_hi = d->pad_hi, .groups = rlx_or_one(d->groups), .act = (int32_t)act);
}

rlx_node rlx_op_conv_transpose(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias,
                               const rlx_op_conv_transpose_desc *desc) {
  const rlx_op_conv_transpose_desc *d = DESC(rlx_op_conv_transpose_desc);
  if (!d) return RLX_NONE;
  return NODE(conv_transpose, (x, w, bias), .stride = d->stride, .dilation = d->dilation, .pad_lo = d->pad_lo,
              .pad_hi = d->pad_hi, .output_pad = d->output_pad, .groups = rlx_or_one(d->groups));
}

rlx_node rlx_op_pool_max(rlx_graph *g, rlx_node x, const rlx_op_pool_desc *desc) {
  const rlx_op_pool_desc *d = DESC(rlx_op_pool_desc);
  if (!d) return RLX_NONE;
  if (g && !g->error && d->count_pad)
    return rlx_graph_set_error(
      g, RLX_FAIL(RLX_INVALID, "rlx_op_pool_max: count_pad is for pool_avg; padding is never the largest"));
  return NODE(pool_max, (x), .kernel = d->kernel, .stride = d->stride, .dilation = d->dilation, .pad_lo = d->pad_lo,
              .pad_hi = d->pad_hi, .ceil = d->ceil);
}

rlx_node rlx_op_pool_avg(rlx_graph *g, rlx_node x, const rlx_op_pool_desc *desc) {
  const rlx_op_pool_desc *d = DESC(rlx_op_pool_desc);
  if (!d) return RLX_NONE;
  return NODE(pool_avg, (x), .kernel = d->kernel, .stride = d->stride, .dilation = d->dilation, .pad_lo = d->pad_lo,
              .pad_hi = d->pad_hi, .ceil = d->ceil, .count_pad = d->count_pad);
}

rlx_node rlx_op_global_pool_max(rlx_graph *g, rlx_node x) { return rlx_op_pool_max(g, x, NULL); }
rlx_node rlx_op_global_pool_avg(rlx_graph *g, rlx_node x) { return rlx_op_pool_avg(g, x, NULL); }

rlx_node rlx_op_im2col(rlx_graph *g, rlx_node x, const rlx_op_im2col_desc *desc) {
  const rlx_op_im2col_desc *d = DESC(rlx_op_im2col_desc);
  if (!d) return RLX_NONE;
  return NODE(im2col, (x), .kernel = d->kernel, .stride = d->stride, .dilation = d->dilation, .pad_lo = d->pad_lo,
              .pad_hi = d->pad_hi);
}

rlx_node rlx_op_resize(rlx_graph *g, rlx_node x, rlx_dims size, const rlx_op_resize_desc *desc) {
  const rlx_op_resize_desc *d = DESC(rlx_op_resize_desc);
  if (!d) return RLX_NONE;
  return NODE(resize, (x), .size = size, .scale = d->scale, .mode = (int32_t)d->mode, .coords = (int32_t)d->coords,
              .nearest = (int32_t)d->nearest);
}

rlx_node rlx_op_grid_sample(rlx_graph *g, rlx_node x, rlx_node grid, rlx_grid_mode mode, rlx_grid_padding padding,
                            bool align_corners) {
  return NODE(grid_sample, (x, grid), .mode = (int32_t)mode, .padding = (int32_t)padding,
              .align_corners = align_corners);
}

/* ---- sequence models ---- */

/* hidden 0: taken from w_hh, which is [gates x H, H] in all three ops. */
static int64_t hidden_of(const rlx_graph *g, int64_t hidden, const rlx_node *weights, size_t n) {
  rlx_dims w_hh = weights && n > 1 ? rlx_node_shape(g, weights[1]) : (rlx_dims){.n = 0};
  return hidden == 0 && w_hh.n == 2 ? w_hh.v[1] : hidden;
}

/* The attributes that all three ops share, from a description d. */
#define RECURRENT                                                                                                     \
  .hidden = hidden_of(g, d->hidden, weights, n), .layers = rlx_or_one(d->layers), .direction = (int32_t)d->direction, \
  .batch_first = d->batch_first, .bias = !d->no_bias, .out = (int32_t)d->out

rlx_node rlx_op_rnn(rlx_graph *g, rlx_node x, const rlx_node *weights, size_t n, const rlx_op_rnn_desc *desc) {
  const rlx_op_rnn_desc *d = DESC(rlx_op_rnn_desc);
  if (!d) return RLX_NONE;
  rlx_attrs_rnn attrs = {RECURRENT, .act = (int32_t)d->act};
  return rlx_build_after(g, RLX_OP_rnn, (const rlx_node[]){x, d->h0}, 2, weights, n, &attrs);
}

rlx_node rlx_op_gru(rlx_graph *g, rlx_node x, const rlx_node *weights, size_t n, const rlx_op_gru_desc *desc) {
  const rlx_op_gru_desc *d = DESC(rlx_op_gru_desc);
  if (!d) return RLX_NONE;
  rlx_attrs_gru attrs = {RECURRENT, .reset_after = !d->reset_before};
  return rlx_build_after(g, RLX_OP_gru, (const rlx_node[]){x, d->h0}, 2, weights, n, &attrs);
}

rlx_node rlx_op_lstm(rlx_graph *g, rlx_node x, const rlx_node *weights, size_t n, const rlx_op_lstm_desc *desc) {
  const rlx_op_lstm_desc *d = DESC(rlx_op_lstm_desc);
  if (!d) return RLX_NONE;
  rlx_attrs_lstm attrs = {RECURRENT};
  return rlx_build_after(g, RLX_OP_lstm, (const rlx_node[]){x, d->h0, d->c0}, 3, weights, n, &attrs);
}
#undef RECURRENT

rlx_node rlx_op_selective_scan(rlx_graph *g, rlx_node x, rlx_node dt, rlx_node a, rlx_node b, rlx_node c, rlx_node d,
                               rlx_node h0, rlx_out out) {
  return NODE(selective_scan, (x, dt, a, b, c, d, h0), .out = (int32_t)out);
}

rlx_node rlx_op_mamba2(rlx_graph *g, rlx_node x, rlx_node dt, rlx_node a, rlx_node b, rlx_node c, rlx_node d,
                       rlx_node h0, rlx_out out) {
  return NODE(mamba2, (x, dt, a, b, c, d, h0), .out = (int32_t)out);
}

rlx_node rlx_op_gated_delta_net(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, rlx_node decay, rlx_node beta,
                                rlx_node h0, rlx_out out) {
  return NODE(gated_delta_net, (q, k, v, decay, beta, h0), .out = (int32_t)out);
}

rlx_node rlx_op_causal_conv(rlx_graph *g, rlx_node x, rlx_node w, rlx_node bias, rlx_node state, rlx_out out) {
  return NODE(causal_conv, (x, w, bias, state), .out = (int32_t)out);
}

/* ---- signal ---- */

#define TRANSFORM(name)                                                                          \
  rlx_node rlx_op_##name(rlx_graph *g, rlx_node x, int64_t axis, int64_t n, rlx_fft_norm norm) { \
    return NODE(name, (x), .axis = axis, .n = n, .norm = (int32_t)norm);                         \
  }
TRANSFORM(fft)
TRANSFORM(ifft)
TRANSFORM(rfft)
TRANSFORM(irfft)
#undef TRANSFORM

rlx_node rlx_op_stft(rlx_graph *g, rlx_node x, rlx_node window, int64_t n_fft, rlx_pad_mode pad,
                     const rlx_op_stft_desc *desc) {
  const rlx_op_stft_desc *d = DESC(rlx_op_stft_desc);
  if (!d) return RLX_NONE;
  return NODE(stft, (x, window), .n_fft = n_fft, .hop = d->hop, .center = !d->no_center, .pad = (int32_t)pad,
              .onesided = !d->two_sided, .normalized = d->normalized);
}

/* ---- random ---- */

rlx_node rlx_op_rng_uniform(rlx_graph *g, rlx_node draw, rlx_dims shape, rlx_dtype to, int64_t seed, double lo,
                            double hi) {
  return NODE(rng_uniform, (draw), .shape = shape, .to = to, .seed = seed, .lo = lo, .hi = hi);
}

rlx_node rlx_op_rng_normal(rlx_graph *g, rlx_node draw, rlx_dims shape, rlx_dtype to, int64_t seed, double mean,
                           double std) {
  return NODE(rng_normal, (draw), .shape = shape, .to = to, .seed = seed, .mean = mean, .std = std);
}

rlx_node rlx_op_sample(rlx_graph *g, rlx_node logits, double temperature, const rlx_op_sample_desc *desc) {
  const rlx_op_sample_desc *d = DESC(rlx_op_sample_desc);
  if (!d) return RLX_NONE;
  return NODE(sample, (logits, d->draw, d->settings), .temperature = temperature, .top_k = d->top_k,
              .top_p = d->top_p != 0 ? d->top_p : RLX_NEUTRAL_top_p, .min_p = d->min_p, .seed = d->seed);
}
