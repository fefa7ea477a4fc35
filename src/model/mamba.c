/* Mamba: a recurrent model. In place of attention, each channel carries a small state from token to token; there is no
 * feed-forward part.
 *
 *   out(scan(silu(conv(u))) * silu(z)),   [u, z] = in x
 *
 * The state of a layer is the last inputs of its short convolution (conv.N) and the state of the selective scan
 * (ssm.N), both of fixed size. Tokens past `length` must not change them although the graph computes all T. For such
 * a token, dt is set to 0, which leaves the scan state unchanged, and the stored convolution inputs are those before
 * `length`. At position 0 both start as zeros, so a state needs no clearing. */
#include <stdio.h>

#include "model/family.h"

static void read_mamba(lm_reader *r, lm_config *c) {
  c->inner = lm_key_size(r, "ssm.inner_size", "intermediate_size d_inner", LM_NEEDED);
  c->state = lm_key_size(r, "ssm.state_size", "state_size d_state", LM_NEEDED);
  c->kernel = lm_key_size(r, "ssm.conv_kernel", "conv_kernel d_conv", LM_NEEDED);
  c->dt_rank = lm_key_size(r, "ssm.time_step_rank", "time_step_rank dt_rank", (c->width + 15) / 16);
  if (c->kernel < 2) lm_reader_fail(r, RLX_UNSUPPORTED, "a convolution of 1 tap");
  if (lm_key_bool(r, "ssm.dt_b_c_rms", NULL, false))
    lm_reader_fail(r, RLX_UNSUPPORTED, "mamba.ssm.dt_b_c_rms: norms inside the scan are not supported");
}

static rlx_node state_of(lm_build *b, const char *kind, uint32_t layer, rlx_dims shape) {
  char name[32];
  snprintf(name, sizeof name, "%s.%u", kind, (unsigned)layer);
  return rlx_op_state(b->g, name, RLX_F32, shape);
}

/* Overwrites the whole state. No node reads the result of the update; only its effect matters. */
static void store_state(lm_build *b, rlx_node state, rlx_node value) {
  rlx_op_update(b->g, state, value, lm_i32(b, 0), 0);
}

/* Convolves u [B, T, inner] and stores the last inputs before `length`. */
static rlx_node convolve(lm_build *b, uint32_t layer, rlx_node u) {
  const lm_config *c = b->c;
  rlx_graph *g = b->g;
  rlx_node state = state_of(b, "conv", layer, RLX_DIMS(b->sequences, c->inner, c->kernel - 1));
  rlx_node before = lm_fresh(b, state), x = rlx_op_transpose(g, u, RLX_DIMS(0, 2, 1));
  rlx_node w = lm_weight_node(b, "blk.%.ssm_conv1d.weight", layer),
           bias = lm_weight_node(b, "blk.%.ssm_conv1d.bias", layer);
  rlx_node y = rlx_op_causal_conv(g, x, w, bias, before, RLX_OUT_Y);
  if (!b->length) {
    store_state(b, state, rlx_op_causal_conv(g, x, w, bias, before, RLX_OUT_STATE));
  } else {
    /* Of the old and new inputs, those at length .. length + kernel - 2; all channels of a sequence use the same
     * index. */
    rlx_node all = rlx_op_concat(g, (rlx_node[]){before, x}, 2, 2);
    rlx_node at = rlx_op_add(g, rlx_op_reshape(g, b->length, RLX_DIMS(b->sequences, 1, 1)),
                             rlx_op_range(g, 0, 1, c->kernel - 1, RLX_I32));
    at = rlx_op_expand(g, at, RLX_DIMS(b->sequences, c->inner, c->kernel - 1));
    store_state(b, state, rlx_op_gather_elements(g, all, at, 2));
  }
  return rlx_op_transpose(g, y, RLX_DIMS(0, 2, 1));
}

static rlx_node scan(lm_build *b, uint32_t i, rlx_node x) {
  const lm_config *c = b->c;
  rlx_graph *g = b->g;
  rlx_node uz = lm_linear(b, "blk.%.ssm_in", i, x);
  rlx_node z = rlx_op_narrow(g, uz, 2, c->inner, c->inner);
  rlx_node u = rlx_op_silu(g, convolve(b, i, rlx_op_narrow(g, uz, 2, 0, c->inner)));
  rlx_node dbc = lm_linear(b, "blk.%.ssm_x", i, u);
  rlx_node dt = rlx_op_softplus(g, lm_linear(b, "blk.%.ssm_dt", i, rlx_op_narrow(g, dbc, 2, 0, c->dt_rank)));
  if (b->length) {
    rlx_node counts =
      rlx_op_lt(g, rlx_op_range(g, 0, 1, b->tokens, RLX_I32), rlx_op_reshape(g, b->length, RLX_DIMS(b->sequences, 1)));
    counts = rlx_op_reshape(g, counts, RLX_DIMS(b->sequences, b->tokens, 1));
    dt = rlx_op_where(g, counts, dt, rlx_op_scalar(g, RLX_F32, 0));
  }
  rlx_node to = rlx_op_narrow(g, dbc, 2, c->dt_rank, c->state),
           from = rlx_op_narrow(g, dbc, 2, c->dt_rank + c->state, c->state);
  rlx_node a = lm_weight_node(b, "blk.%.ssm_a", i), d = lm_weight_node(b, "blk.%.ssm_d", i);
  rlx_node state = state_of(b, "ssm", i, RLX_DIMS(b->sequences, c->inner, c->state)), before = lm_fresh(b, state);
  rlx_node y = rlx_op_selective_scan(g, u, dt, a, to, from, d, before, RLX_OUT_Y);
  store_state(b, state, rlx_op_selective_scan(g, u, dt, a, to, from, d, before, RLX_OUT_H));
  return lm_linear(b, "blk.%.ssm_out", i, rlx_op_mul(g, y, rlx_op_silu(g, z)));
}

/* clang-format off */
static const lm_tensor tensors[] = {
  LM_TENSOR("blk.%.ssm_in.weight", "layers.%.mixer.in_proj.weight", {LM_TWO_INNER, LM_WIDTH}),
  LM_TENSOR("blk.%.ssm_in.bias", "layers.%.mixer.in_proj.bias", {LM_TWO_INNER}, .is_optional = true),
  LM_TENSOR("blk.%.ssm_conv1d.weight", "layers.%.mixer.conv1d.weight", {LM_INNER, LM_KERNEL}, .as_f32 = true),
  LM_TENSOR("blk.%.ssm_conv1d.bias", "layers.%.mixer.conv1d.bias", {LM_INNER}, .is_optional = true),
  LM_TENSOR("blk.%.ssm_x.weight", "layers.%.mixer.x_proj.weight", {LM_DT_B_C, LM_INNER}),
  LM_TENSOR("blk.%.ssm_dt.weight", "layers.%.mixer.dt_proj.weight", {LM_INNER, LM_DT_RANK}),
  LM_TENSOR("blk.%.ssm_dt.bias", "layers.%.mixer.dt_proj.bias", {LM_INNER}),
  LM_TENSOR("blk.%.ssm_a", "layers.%.mixer.A_log", {LM_INNER, LM_STATE}, .recipe = LM_NEG_EXP, .as_f32 = true),
  LM_TENSOR("blk.%.ssm_d", "layers.%.mixer.D", {LM_INNER}),
  LM_TENSOR("blk.%.ssm_out.weight", "layers.%.mixer.out_proj.weight", {LM_WIDTH, LM_INNER}),
  LM_TENSOR("blk.%.ssm_out.bias", "layers.%.mixer.out_proj.bias", {LM_WIDTH}, .is_optional = true),
};
/* clang-format on */

const lm_family lm_mamba = {
  .name = "mamba",
  .architectures = "MambaForCausalLM MambaModel mamba",
  .has = LM_OUTPUT_NORM | LM_ATTN_NORM,
  .may_have = LM_OUTPUT,
  .positions = LM_NO_ROPE,
  .is_recurrent = true,
  .is_tied = true,
  .hf_names = "token_embd=embeddings output_norm=norm_f attn_norm=norm",
  .read = read_mamba,
  LM_OWN_TENSORS(tensors),
  .mix = scan,
};
