/* Shape rules of random ops. Attributes are untrusted: each must be a value that the formula can use. */
#include <math.h>

#include "ir/infer.h"
#include "ir/sampling.h"

/* The optional draw number: one integer. */
static rlx_status check_draw(const rlx_infer *c, uint32_t i) {
  return rlx_infer_in(c, i) ? rlx_expect_rank(c, i, 0) : RLX_OK;
}

rlx_status rlx_shape_rng(rlx_infer *c) {
  RLX_TRY(check_draw(c, 0));
  bool uniform = c->op == RLX_OP_rng_uniform;
  c->out.shape = uniform ? RLX_ATTRS(rng_uniform, c)->shape : RLX_ATTRS(rng_normal, c)->shape;
  for (int i = 0; i < c->out.shape.n; i++)
    if (c->out.shape.v[i] < 0 && !rlx_dim_is_open(c->out.shape.v[i]))
      return RLX_FAIL(RLX_INVALID, "axis %d of %s is negative", i, RLX_DIMS_TEXT(c->out.shape));
  if (!rlx_dtype_is_float(c->out.dtype))
    return RLX_FAIL(RLX_INVALID, "gives a float type, not %s", rlx_dtype_name(c->out.dtype));
  if (uniform) {
    double lo = RLX_ATTRS(rng_uniform, c)->lo, hi = RLX_ATTRS(rng_uniform, c)->hi;
    if (!(lo <= hi) || !isfinite(hi - lo))
      return RLX_FAIL(RLX_INVALID, "lo is %g and hi is %g: not a finite range", lo, hi);
    return RLX_OK;
  }
  double mean = RLX_ATTRS(rng_normal, c)->mean, std = RLX_ATTRS(rng_normal, c)->std;
  if (!isfinite(mean)) return RLX_FAIL(RLX_INVALID, "mean is %g but must be finite", mean);
  if (!isfinite(std) || std < 0) return RLX_FAIL(RLX_INVALID, "std is %g but must be finite and not negative", std);
  return RLX_OK;
}

rlx_status rlx_shape_sample(rlx_infer *c) {
  const rlx_attrs_sample *a = c->attrs;
  const rlx_dims *x = rlx_infer_shape(c, 0);
  RLX_TRY(check_draw(c, 1));
  if (rlx_infer_in(c, 2)) RLX_TRY(rlx_expect_shape(c, 2, RLX_DIMS(RLX_SAMPLING_COUNT)));
  if (x->n < 1) return RLX_FAIL(RLX_INVALID, "input 0 (logits) is a scalar but must have an axis of tokens");
  int64_t tokens = x->v[x->n - 1];
  if (!rlx_dim_is_open(tokens) && (tokens < 1 || tokens > INT32_MAX))
    return RLX_FAIL(RLX_INVALID, "input 0 (logits) is %s: the last axis must have 1..%d tokens", RLX_DIMS_TEXT(*x),
                    INT32_MAX);
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) \
  RLX_TRY(rlx_sampling_check(RLX_SAMPLING_##name, #name, (double)a->name));
#include "ir/sampling.def"
#undef SAMPLING
  c->out.shape = *x;
  c->out.shape.n--;
  return RLX_OK;
}
