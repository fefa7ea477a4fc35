/* Random ops: formulas over Philox words (philox.h), and sampling of a token.
 *
 * sample draws one token from each row of logits. Its steps, so that every device draws the same token:
 *      1. A row that contains NaN or +inf, or nothing above -inf, has no distribution: the result is -1.
 *      2. Order the tokens by logit, largest first; among equal logits the smaller index first. With temperature 0 the
 *         first token is the result.
 *      3. top_k > 0 keeps the first top_k of them.
 *      4. Weights are e^((logit - largest) / temperature), so the largest has weight 1.
 *      5. top_p < 1 keeps the shortest prefix whose share of the kept weight is >= top_p, at least one token.
 *      6. min_p drops those whose weight is below min_p times the largest.
 *      7. u is the row's uniform number (word 0, element = row). The result is the first token, in this order, at
 *         which the running weight exceeds u times the weight of all that are left. */
#include <math.h>

#include "base/philox.h"
#include "ir/sampling.h"
#include "ref/order.h"

/* The draw number: the optional input, else the run's. */
static uint64_t draw_number(const rlx_ref_call *c, uint32_t input) {
  const rlx_tensor *draw = rlx_ref_in(c, input);
  return draw ? (uint64_t)rlx_load_int(draw, 0) : c->draw;
}

rlx_status rlx_ref_rng_uniform(rlx_ref_call *c) {
  const rlx_attrs_rng_uniform *a = c->attrs;
  uint64_t draw = draw_number(c, 0);
  RLX_REF_EACH(c, i, rlx_tensor_count(c->out))
    rlx_store(c->out, i, a->lo + (a->hi - a->lo) * rlx_philox_unit(rlx_philox((uint64_t)a->seed, i, draw).v[0]));
  return RLX_OK;
}

/* One normal number per element. The second of the Box-Muller pair is not used, so that elements are independent. */
rlx_status rlx_ref_rng_normal(rlx_ref_call *c) {
  const rlx_attrs_rng_normal *a = c->attrs;
  const double two_pi = 6.283185307179586476925;
  uint64_t draw = draw_number(c, 0);
  RLX_REF_EACH(c, i, rlx_tensor_count(c->out)) {
    rlx_philox_words w = rlx_philox((uint64_t)a->seed, i, draw);
    double u1 = rlx_philox_unit(w.v[0]) + 0x1p-24; /* in (0, 1]: its logarithm is finite */
    rlx_store(c->out, i, a->mean + a->std * sqrt(-2.0 * log(u1)) * cos(two_pi * rlx_philox_unit(w.v[1])));
  }
  return RLX_OK;
}

/* ---- sample ---- */

/* The attributes, or the optional input instead. */
static rlx_sampling sampling_of(const rlx_ref_call *c) {
  const rlx_attrs_sample *a = c->attrs;
  const rlx_tensor *settings = rlx_ref_in(c, 2);
  if (!settings) return (rlx_sampling){a->temperature, a->top_p, a->min_p, (uint64_t)a->top_k};
  return rlx_sampling_read(settings->data, (uint64_t)a->top_k);
}

/* A row of logits, the order of its tokens and, in that order, their weights. */
typedef struct row_order {
  double *logit, *weight;
  size_t *order, *spare;
} row_order;

static double sum_weights(const double *weight, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += weight[i];
  return sum;
}

/* The length of the shortest prefix whose weight reaches `mass`; n if none does. */
static size_t prefix_of(const double *weight, size_t n, double mass) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    if ((sum += weight[i]) >= mass) return i + 1;
  return n;
}

/* The index in the order of the token that u selects; the row's maximum is finite. */
static size_t choose(rlx_ref_call *c, const rlx_sampling *a, const row_order *row, size_t n, double u) {
  if (a->top_k > 0 && a->top_k < n) n = (size_t)a->top_k;
  double largest = row->logit[row->order[0]];
  RLX_REF_EACH(c, i, n) {
    double logit = row->logit[row->order[i]];
    row->weight[i] = logit == largest ? 1 : exp((logit - largest) / a->temperature);
  }
  if (a->top_p < 1) n = prefix_of(row->weight, n, a->top_p * sum_weights(row->weight, n));
  while (n > 1 && row->weight[n - 1] < a->min_p) n--;
  double mark = u * sum_weights(row->weight, n), sum = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if ((sum += row->weight[i]) > mark) return i;
  return n - 1;
}

rlx_status rlx_ref_sample(rlx_ref_call *c) {
  const rlx_attrs_sample *a = c->attrs;
  const rlx_sampling settings = sampling_of(c);
  const rlx_tensor *logits = c->in[0];
  size_t n = (size_t)logits->shape.v[logits->shape.n - 1];
  uint64_t draw = draw_number(c, 1);
  row_order r;
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *r.logit, &r.logit));
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *r.weight, &r.weight));
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *r.order, &r.order));
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *r.spare, &r.spare));
  for (size_t row = 0, rows = rlx_tensor_count(c->out); row < rows && rlx_ref_continues(c, 1); row++) {
    double largest = -(double)INFINITY;
    RLX_REF_EACH(c, i, n) {
      double logit = r.logit[i] = rlx_load(logits, row * n + i);
      if (logit > largest || isnan(logit)) largest = logit; /* NaN stays: no value compares above it */
    }
    int64_t pick = -1;
    if (isfinite(largest)) {
      rlx_ref_sort_positions(c, &(rlx_ref_keys){.f = r.logit}, true, n, &r.order, &r.spare);
      if (c->stopped) return RLX_OK;
      double u = rlx_philox_unit(rlx_philox((uint64_t)a->seed, row, draw).v[0]);
      pick = (int64_t)r.order[settings.temperature == 0 ? 0 : choose(c, &settings, &r, n, u)];
    }
    rlx_store_int(c->out, row, pick);
  }
  return RLX_OK;
}
