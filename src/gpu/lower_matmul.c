/* Lowers the matmul-like ops to products (matmul.h). Composite ops that are not here (dot_general, lora_matmul, the
 * attention block) are rewritten into these and into moves, most of which are views. */
#include "gpu/lines.h"
#include "gpu/matmul_plan.h"
#include "ir/walk.h"

gpu_product gpu_product_of(const gpu_lowering *l, uint32_t a_in, uint32_t b_in, bool trans_b) {
  const rlx_type *a = gpu_in_type(l, a_in), *b = gpu_in_type(l, b_in), *y = gpu_out_type(l);
  const rlx_dims *s = &y->shape;
  gpu_product p = {.m = (uint32_t)s->v[s->n - 2],
                   .n = (uint32_t)s->v[s->n - 1],
                   .k = (uint32_t)a->shape.v[a->shape.n - 1],
                   .trans_b = trans_b,
                   .a_type = a->dtype,
                   .b_type = b->dtype,
                   .y_type = y->dtype,
                   .a = gpu_in(l, a_in),
                   .b = gpu_in(l, b_in),
                   .y = gpu_out(l)};
  rlx_dims own_a = a->shape, own_b = b->shape, batch = *s;
  own_a.n -= 2, own_b.n -= 2, batch.n -= 2;
  if (rlx_dims_count(&own_b) == 1) {
    p.m *= (uint32_t)rlx_dims_count(&batch);
    return p;
  }
  size_t a_stride[RLX_MAX_RANK], b_stride[RLX_MAX_RANK];
  rlx_broadcast_strides(&own_a, &batch, a_stride);
  rlx_broadcast_strides(&own_b, &batch, b_stride);
  for (int i = batch.n - 1; i >= 0; i--)
    gpu_product_axis(&p, (uint32_t)batch.v[i], (uint32_t)a_stride[i] * p.m * p.k, (uint32_t)b_stride[i] * p.k * p.n);
  return p;
}

void gpu_product_norm(gpu_lowering *l, gpu_product *p, uint32_t gamma, bool norm, double eps) {
  if (!norm) return;
  bool floats = p->a_type == RLX_F32 && gpu_has_in(l, gamma) && gpu_in_type(l, gamma)->dtype == RLX_F32;
  bool whole = rlx_dtype_is_block(p->b_type) || gpu_product_vectors(p->b_type, p->k);
  if (floats && whole && p->m == 1 && p->n_axes == 0 && p->trans_b && p->k >= 64 && p->k % 4 == 0 && eps >= 1e-30) {
    p->gamma = gpu_in(l, gamma);
    p->eps = (float)eps;
  } else {
    gpu_refuse(l, "a norm before a product of anything but one row of f32 with a weight [N, K]");
  }
}

void gpu_product_norm_first(gpu_lowering *l, gpu_product *p) {
  if (!p->gamma.from) return;
  gpu_window to = gpu_work(l, (uint64_t)p->k * 4);
  gpu_rms_norm_row(l, p->a, p->gamma, p->k, (double)p->eps, to);
  p->a = to;
  p->gamma = (gpu_window){GPU_NONE, 0, 0, 0};
}

static bool is_block_input(const gpu_lowering *l, uint32_t i) { return rlx_dtype_is_block(gpu_in_type(l, i)->dtype); }

void gpu_lower_matmul(gpu_lowering *l) {
  if (is_block_input(l, 1)) {
    gpu_lower_matmul_blocks(l, &(gpu_fused_product){.trans_b = RLX_ATTRS(matmul, l->node)->trans_b});
    return;
  }
  gpu_product p = gpu_product_of(l, 0, 1, RLX_ATTRS(matmul, l->node)->trans_b);
  gpu_product_emit(l, &p);
}

void gpu_product_end(gpu_lowering *l, gpu_product *p, const gpu_fused_product *f) {
  p->act = (rlx_act)f->act;
  if (gpu_has_in(l, 2)) {
    p->extra = GPU_EXTRA_BIAS;
    p->extra_type = gpu_in_type(l, 2)->dtype;
    p->extra_window = gpu_in(l, 2);
  }
  gpu_product_norm(l, p, 3, f->norm, f->eps);
}

/* act(a b + bias); with f->norm, a's rows are normalised first. */
static void lower_biased(gpu_lowering *l, const gpu_fused_product *f) {
  if (is_block_input(l, 1)) {
    gpu_lower_matmul_blocks(l, f);
    return;
  }
  gpu_product p = gpu_product_of(l, 0, 1, f->trans_b);
  gpu_product_end(l, &p, f);
  gpu_product_emit(l, &p);
}

void gpu_lower_fused_matmul(gpu_lowering *l) {
  const rlx_attrs_fused_matmul_bias_act *a = RLX_ATTRS(fused_matmul_bias_act, l->node);
  lower_biased(l, &(gpu_fused_product){.trans_b = a->trans_b, .act = a->act});
}

void gpu_lower_norm_matmul(gpu_lowering *l) {
  const rlx_attrs_fused_norm_matmul *a = RLX_ATTRS(fused_norm_matmul, l->node);
  lower_biased(l, &(gpu_fused_product){.trans_b = a->trans_b, .act = a->act, .norm = true, .eps = a->eps});
}

static void lower_gate_up(gpu_lowering *l, const gpu_fused_product *f) {
  if (is_block_input(l, 1) || is_block_input(l, 2)) {
    gpu_lower_gate_up_blocks(l, f);
    return;
  }
  gpu_product p = gpu_product_of(l, 0, 1, f->trans_b);
  p.act = (rlx_act)f->act;
  gpu_product_norm(l, &p, 3, f->norm, f->eps);
  gpu_product_gate_up(l, &p, gpu_in(l, 2), gpu_in_type(l, 2)->dtype);
}

void gpu_lower_gate_up(gpu_lowering *l) {
  const rlx_attrs_fused_gate_up *a = RLX_ATTRS(fused_gate_up, l->node);
  lower_gate_up(l, &(gpu_fused_product){.trans_b = a->trans_b, .act = a->act});
}

void gpu_lower_norm_gate_up(gpu_lowering *l) {
  const rlx_attrs_fused_norm_gate_up *a = RLX_ATTRS(fused_norm_gate_up, l->node);
  lower_gate_up(l, &(gpu_fused_product){.trans_b = a->trans_b, .act = a->act, .norm = true, .eps = a->eps});
}

void gpu_lower_grouped_matmul(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0), *w = gpu_in_type(l, 1), *idx = gpu_in_type(l, 2);
  bool trans_b = RLX_ATTRS(grouped_matmul, l->node)->trans_b;
  gpu_product p = {.m = (uint32_t)x->shape.v[0],
                   .n = (uint32_t)w->shape.v[trans_b ? 1 : 2],
                   .k = (uint32_t)x->shape.v[1],
                   .trans_b = trans_b,
                   .a_type = x->dtype,
                   .b_type = w->dtype,
                   .y_type = gpu_out_type(l)->dtype,
                   .a = gpu_in(l, 0),
                   .b = gpu_in(l, 1),
                   .y = gpu_out(l)};
  gpu_experts e = {.index = gpu_in(l, 2), .index_type = idx->dtype, .n_experts = (uint32_t)w->shape.v[0]};
  gpu_product_experts(l, &p, &e);
}
