/* Norms and softmax.
 *
 * Every norm with its own statistics does the same to different sets of elements: compute the mean and the biased
 * variance of a set (two passes), subtract, divide, scale. They differ in how a set is laid out and which gamma an
 * element gets. A `span` describes both, so one function serves layer_norm, rms_norm, layer_norm_2d, group_norm and
 * instance_norm. */
#include "ref/norm.h"

#include <math.h>

/* Elements start, start + step, .. (n of them) are normalised together; element k uses gamma[channel + k / run]. */
typedef struct span {
  size_t start, step, n;
  size_t channel, run;
} span;

static double affine(const rlx_tensor *gamma, const rlx_tensor *beta, size_t channel, double x) {
  if (gamma) x *= rlx_load(gamma, channel);
  if (beta) x += rlx_load(beta, channel);
  return x;
}

/* The operands and parameters of a norm. */
typedef struct norm {
  const rlx_tensor *x, *gamma, *beta;
  rlx_tensor *out;
  bool centre; /* about the mean; else about zero (rms) */
  double eps;
} norm;

static norm norm_of(const rlx_ref_call *c, double eps) {
  return (norm){
    .x = c->in[0], .gamma = rlx_ref_in(c, 1), .beta = rlx_ref_in(c, 2), .out = c->out, .centre = true, .eps = eps};
}

static void normalize(rlx_ref_call *c, const norm *m, span s) {
  const rlx_tensor *x = m->x;
  double sum = 0, squares = 0;
  RLX_REF_EACH(c, k, m->centre ? s.n : 0) sum += rlx_load(x, s.start + k * s.step);
  double mean = m->centre ? sum / (double)s.n : 0;
  RLX_REF_EACH(c, k, s.n) {
    double d = rlx_load(x, s.start + k * s.step) - mean;
    squares += d * d;
  }
  double deviation = sqrt(squares / (double)s.n + m->eps);
  RLX_REF_EACH(c, k, s.n) {
    size_t at = s.start + k * s.step;
    double y = (rlx_load(x, at) - mean) / deviation;
    rlx_store(m->out, at, affine(m->gamma, m->beta, s.channel + k / s.run, y));
  }
}

/* ---- over the last axes ---- */

void rlx_norm_last(rlx_ref_call *c, const rlx_tensor *x, const rlx_tensor *gamma, const rlx_tensor *beta, int64_t axis,
                   bool centre, double eps, rlx_tensor *out) {
  const norm m = {.x = x, .gamma = gamma, .beta = beta, .out = out, .centre = centre, .eps = eps};
  const rlx_dims *shape = &x->shape;
  size_t rows = 1, n = 1;
  for (int i = 0; i < shape->n; i++) *(i < rlx_axis_of(axis, shape->n) ? &rows : &n) *= (size_t)shape->v[i];
  for (size_t r = 0; r < rows && rlx_ref_continues(c, 1); r++)
    normalize(c, &m, (span){.start = r * n, .step = 1, .n = n, .run = 1});
}

rlx_status rlx_norm_rows(rlx_ref_call *c, const rlx_tensor *x, bool normed, double eps, const rlx_tensor *gamma,
                         rlx_tensor *own, const rlx_tensor **out) {
  *out = x;
  if (!normed) return RLX_OK;
  size_t count = rlx_tensor_count(x);
  *own = (rlx_tensor){.dtype = RLX_F64, .shape = x->shape, .bytes = count * sizeof(double)};
  RLX_TRY(rlx_ref_scratch(c, count, sizeof(double), &own->data));
  rlx_norm_last(c, x, gamma, NULL, -1, false, eps, own);
  *out = own;
  return RLX_OK;
}

static rlx_status norm_last(rlx_ref_call *c, int64_t axis, bool centre, double eps) {
  rlx_norm_last(c, c->in[0], rlx_ref_in(c, 1), rlx_ref_in(c, 2), axis, centre, eps, c->out);
  return RLX_OK;
}

rlx_status rlx_ref_layer_norm(rlx_ref_call *c) {
  return norm_last(c, RLX_ATTRS(layer_norm, c)->axis, true, RLX_ATTRS(layer_norm, c)->eps);
}
rlx_status rlx_ref_rms_norm(rlx_ref_call *c) {
  return norm_last(c, RLX_ATTRS(rms_norm, c)->axis, false, RLX_ATTRS(rms_norm, c)->eps);
}

/* ---- [N, C, ..] ---- */

rlx_status rlx_ref_layer_norm_2d(rlx_ref_call *c) {
  rlx_lines l = rlx_lines_of(&c->in[0]->shape, 1);
  norm m = norm_of(c, RLX_ATTRS(layer_norm_2d, c)->eps);
  for (size_t line = 0; line < l.outer * l.inner && rlx_ref_continues(c, 1); line++)
    normalize(c, &m, (span){.start = rlx_line_start(l, line), .step = l.inner, .n = l.n, .run = 1});
  return RLX_OK;
}

static rlx_status norm_groups(rlx_ref_call *c, size_t groups, double eps) {
  rlx_lines l = rlx_lines_of(&c->in[0]->shape, 1);
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  size_t channels = l.n / groups, n = channels * l.inner;
  norm m = norm_of(c, eps);
  for (size_t g = 0; g < l.outer * groups && rlx_ref_continues(c, 1); g++)
    normalize(c, &m, (span){.start = g * n, .step = 1, .n = n, .channel = g % groups * channels, .run = l.inner});
  return RLX_OK;
}

rlx_status rlx_ref_group_norm(rlx_ref_call *c) {
  return norm_groups(c, (size_t)RLX_ATTRS(group_norm, c)->groups, RLX_ATTRS(group_norm, c)->eps);
}

rlx_status rlx_ref_instance_norm(rlx_ref_call *c) {
  return norm_groups(c, (size_t)c->in[0]->shape.v[1], RLX_ATTRS(instance_norm, c)->eps);
}

rlx_status rlx_ref_batch_norm_inference(rlx_ref_call *c) {
  rlx_lines l = rlx_lines_of(&c->in[0]->shape, 1);
  double eps = RLX_ATTRS(batch_norm_inference, c)->eps;
  RLX_REF_EACH(c, i, l.outer * l.n * l.inner) {
    size_t channel = i / l.inner % l.n;
    double y = (rlx_load(c->in[0], i) - rlx_load(c->in[1], channel)) / sqrt(rlx_load(c->in[2], channel) + eps);
    rlx_store(c->out, i, affine(rlx_ref_in(c, 3), rlx_ref_in(c, 4), channel, y));
  }
  return RLX_OK;
}

/* ---- softmax ---- */
/* A row whose maximum is -inf (all masked) or inf is NaN, as in PyTorch: the difference of infinities is NaN. */

static rlx_status soft(rlx_ref_call *c, int64_t axis, bool logarithm) {
  const rlx_tensor *x = c->in[0];
  rlx_lines l = rlx_lines_of(&x->shape, axis);
  for (size_t line = 0; line < l.outer * l.inner && rlx_ref_continues(c, 1); line++) {
    size_t start = rlx_line_start(l, line);
    double largest = -RLX_INFINITY, sum = 0;
    RLX_REF_EACH(c, k, l.n) largest = fmax(largest, rlx_load(x, start + k * l.inner));
    /* fmax ignored NaN; it propagates in the sum. */
    RLX_REF_EACH(c, k, l.n) sum += exp(rlx_load(x, start + k * l.inner) - largest);
    RLX_REF_EACH(c, k, l.n) {
      double d = rlx_load(x, start + k * l.inner) - largest;
      rlx_store(c->out, start + k * l.inner, logarithm ? d - log(sum) : exp(d) / sum);
    }
  }
  return RLX_OK;
}

rlx_status rlx_ref_softmax(rlx_ref_call *c) { return soft(c, RLX_ATTRS(softmax, c)->axis, false); }
rlx_status rlx_ref_log_softmax(rlx_ref_call *c) { return soft(c, RLX_ATTRS(log_softmax, c)->axis, true); }
