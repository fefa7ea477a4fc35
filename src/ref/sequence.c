/* Sequence models with a linear state: selective_scan, mamba2, gated_delta_net; and the causal convolution used before
 * them.
 *
 * The three scans share one loop: for each batch, head and time, a step updates the head's state and computes the
 * head's part of y. Only the step differs. States stay f64 from start to end and are rounded once, as the result h. */
#include <math.h>

#include "ref/ref.h"

/* ---- the loop ---- */

/* Where a step reads: element [batch, time, head, 0] of an input with or without an axis of heads. */
typedef struct scan_at {
  size_t batch_time; /* batch * steps + time */
  size_t head, heads;
} scan_at;

typedef void (*scan_step)(rlx_ref_call *c, scan_at at, double *state, double *y);

typedef struct scan_shape {
  size_t batches, steps, heads;
  size_t state_size, y_size; /* elements per head */
} scan_shape;

/* h0 is the optional input at `h0_at`; wants_h selects which of the two results is computed. */
static rlx_status run_scan(rlx_ref_call *c, scan_shape s, uint32_t h0_at, bool wants_h, scan_step step) {
  const rlx_tensor *h0 = rlx_ref_in(c, h0_at);
  double *state, *y;
  if (rlx_tensor_count(c->out) == 0) return RLX_OK; /* all sizes below are of a result that exists */
  RLX_TRY(rlx_ref_scratch(c, s.state_size, sizeof *state, &state));
  RLX_TRY(rlx_ref_scratch(c, s.y_size, sizeof *y, &y));
  for (size_t batch = 0; batch < s.batches; batch++)
    for (size_t head = 0; head < s.heads && rlx_ref_continues(c, 1); head++) {
      size_t state_at = (batch * s.heads + head) * s.state_size;
      RLX_REF_EACH(c, i, s.state_size) state[i] = h0 ? rlx_load(h0, state_at + i) : 0;
      for (size_t time = 0; time < s.steps && rlx_ref_continues(c, s.y_size); time++) {
        scan_at at = {batch * s.steps + time, head, s.heads};
        step(c, at, state, y);
        for (size_t i = 0; !wants_h && i < s.y_size; i++)
          rlx_store(c->out, (at.batch_time * s.heads + head) * s.y_size + i, y[i]);
      }
      RLX_REF_EACH(c, i, wants_h ? s.state_size : 0) rlx_store(c->out, state_at + i, state[i]);
    }
  return RLX_OK;
}

static size_t axis(const rlx_tensor *t, int i) { return (size_t)t->shape.v[i]; }

/* The element of an input with one value per batch, time and head. */
static double per_head(const rlx_tensor *t, scan_at at) { return rlx_load(t, at.batch_time * at.heads + at.head); }

/* ---- selective_scan: a head is one channel with N states ---- */

enum { IN_X, IN_DT, IN_A, IN_B, IN_C, IN_D, IN_H0 };

static void selective_scan_step(rlx_ref_call *c, scan_at at, double *h, double *y) {
  const rlx_tensor *a = c->in[IN_A], *d = rlx_ref_in(c, IN_D);
  size_t n = axis(a, 1);
  double x = per_head(c->in[IN_X], at), dt = per_head(c->in[IN_DT], at), sum = 0;
  RLX_REF_EACH(c, i, n) {
    h[i] = exp(dt * rlx_load(a, at.head * n + i)) * h[i] + dt * rlx_load(c->in[IN_B], at.batch_time * n + i) * x;
    sum += rlx_load(c->in[IN_C], at.batch_time * n + i) * h[i];
  }
  y[0] = sum + (d ? rlx_load(d, at.head) * x : 0);
}

rlx_status rlx_ref_selective_scan(rlx_ref_call *c) {
  const rlx_tensor *x = c->in[IN_X];
  scan_shape s = {axis(x, 0), axis(x, 1), axis(x, 2), axis(c->in[IN_A], 1), 1};
  return run_scan(c, s, IN_H0, RLX_ATTRS(selective_scan, c)->out == 1, selective_scan_step);
}

/* ---- mamba2: a head has P channels that share one decay; its state is [P, N] ---- */

static void mamba2_step(rlx_ref_call *c, scan_at at, double *h, double *y) {
  const rlx_tensor *x = c->in[IN_X], *b = c->in[IN_B], *d = rlx_ref_in(c, IN_D);
  size_t n_p = axis(x, 3), groups = axis(b, 2), n = axis(b, 3);
  size_t group_at = (at.batch_time * groups + at.head / (at.heads / groups)) * n;
  double dt = per_head(c->in[IN_DT], at), decay = exp(dt * rlx_load(c->in[IN_A], at.head));
  for (size_t p = 0; p < n_p && rlx_ref_continues(c, n); p++) {
    double xp = rlx_load(x, (at.batch_time * at.heads + at.head) * n_p + p), sum = 0;
    for (size_t i = 0; i < n; i++) {
      h[p * n + i] = decay * h[p * n + i] + dt * xp * rlx_load(b, group_at + i);
      sum += h[p * n + i] * rlx_load(c->in[IN_C], group_at + i);
    }
    y[p] = sum + (d ? rlx_load(d, at.head) * xp : 0);
  }
}

rlx_status rlx_ref_mamba2(rlx_ref_call *c) {
  const rlx_tensor *x = c->in[IN_X];
  scan_shape s = {axis(x, 0), axis(x, 1), axis(x, 2), axis(x, 3) * axis(c->in[IN_B], 3), axis(x, 3)};
  return run_scan(c, s, IN_H0, RLX_ATTRS(mamba2, c)->out == 1, mamba2_step);
}

/* ---- gated_delta_net: the state [N, V] maps keys to values; a step decays it, then corrects what k maps to ---- */

enum { IN_Q, IN_K, IN_V, IN_G, IN_BETA, IN_S0 };

static void delta_step(rlx_ref_call *c, scan_at at, double *s, double *y) {
  size_t n = axis(c->in[IN_K], 3), n_v = axis(c->in[IN_V], 3), row = at.batch_time * at.heads + at.head;
  double decay = exp(per_head(c->in[IN_G], at)), beta = per_head(c->in[IN_BETA], at), scale = 1 / sqrt((double)n);
  RLX_REF_EACH(c, i, n * n_v) s[i] *= decay;
  for (size_t v = 0; v < n_v && rlx_ref_continues(c, 2 * n); v++) {
    double recalled = 0, sum = 0;
    for (size_t i = 0; i < n; i++) recalled += s[i * n_v + v] * rlx_load(c->in[IN_K], row * n + i);
    double correction = beta * (rlx_load(c->in[IN_V], row * n_v + v) - recalled);
    for (size_t i = 0; i < n; i++) {
      s[i * n_v + v] += rlx_load(c->in[IN_K], row * n + i) * correction;
      sum += s[i * n_v + v] * rlx_load(c->in[IN_Q], row * n + i);
    }
    y[v] = sum * scale;
  }
}

rlx_status rlx_ref_gated_delta_net(rlx_ref_call *c) {
  const rlx_tensor *k = c->in[IN_K], *v = c->in[IN_V];
  scan_shape s = {axis(k, 0), axis(k, 1), axis(k, 2), axis(k, 3) * axis(v, 3), axis(v, 3)};
  return run_scan(c, s, IN_S0, RLX_ATTRS(gated_delta_net, c)->out == 1, delta_step);
}

/* ---- causal_conv ---- */

/* Element t of a channel's line: first the past (zero if no state is given), then x. NULL: zero. */
static const char *line_element(const rlx_tensor *x, const rlx_tensor *state, size_t line, size_t past, size_t t) {
  const rlx_tensor *from = t < past ? state : x;
  size_t at = t < past ? line * past + t : line * axis(x, 2) + (t - past);
  return from ? (const char *)from->data + at * rlx_dtype_size(x->dtype) : NULL;
}

static double value_at(rlx_dtype dtype, const char *element) {
  rlx_tensor one = {.dtype = dtype, .const_data = element};
  return element ? rlx_load(&one, 0) : 0;
}

rlx_status rlx_ref_causal_conv(rlx_ref_call *c) {
  const rlx_tensor *x = c->in[0], *w = c->in[1], *bias = rlx_ref_in(c, 2), *state = rlx_ref_in(c, 3);
  size_t channels = axis(x, 1), steps = axis(x, 2), kernel = axis(w, 1), past = kernel - 1,
         size = rlx_dtype_size(x->dtype);
  for (size_t line = 0; line < axis(x, 0) * channels && rlx_ref_continues(c, 1); line++) {
    size_t channel = line % channels;
    if (RLX_ATTRS(causal_conv, c)->out == 1) { /* the last elements, bit-identical */
      RLX_REF_EACH(c, i, past) {
        const char *element = line_element(x, state, line, past, steps + i);
        char *to = (char *)c->out->data + (line * past + i) * size;
        if (element) memcpy(to, element, size);
        else memset(to, 0, size);
      }
      continue;
    }
    for (size_t t = 0; t < steps && rlx_ref_continues(c, 1); t++) {
      double sum = bias ? rlx_load(bias, channel) : 0;
      RLX_REF_EACH(c, k, kernel)
        sum += rlx_load(w, channel * kernel + k) * value_at(x->dtype, line_element(x, state, line, past, t + k));
      rlx_store(c->out, line * steps + t, sum);
    }
  }
  return RLX_OK;
}
