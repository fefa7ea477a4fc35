/* sample: one token of each row of logits, the very one that the reference draws (ref/random.c says what that means).
 *
 * The reference sorts all tokens and adds up weights e^((logit - largest) / temperature) in f64, largest first. The first
 * weight is 1, so a weight below 2^-53 changes no running sum, is never drawn, and never decides where top_p ends: tokens
 * that far down are left out before anything is sorted, top_k takes only its k best out of the rest, and what remains is
 * computed as the reference does, in the same order and in f64. So no rounding can make another token of it.
 *
 * Without top_k that would sort nearly all tokens for one that is nearly always among the first. So the few best are looked at
 * alone: their running sums are the reference's, to the bit, and of the sum over all tokens, which the reference adds up in
 * order, only its bounds are worked out, in any order. Where both bounds lead to the same token, it is the one; where they
 * do not, or it is not among the few, all are sorted after all. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"
#include "base/philox.h"
#include "cpu/move.h"
#include "cpu/order.h"
#include "ir/sampling.h"

enum { MAX_TASKS = 8 };

/* In units of the temperature below the largest logit: e^-37 is below 2^-53, and 3 are for rounding. */
static const double NEGLIGIBLE = 40;
/* Nearly so: tokens this far down have weights of at most TINY, of which the bounds of the sum count how many there are. */
static const double FAR = 25, TINY = 1.4e-11;
enum { LIST = 256 };

typedef struct sampling {
  const cpu_call *c;
  rlx_sampling how;
  int64_t seed;
  rlx_dtype dtype;
  size_t n, size;
  size_t grain; /* rows of a task */
  uint64_t draw;
} sampling;

static size_t count_tasks(size_t rows) { return rows < MAX_TASKS ? rows : MAX_TASKS; }

static bool has_settings(const rlx_node_rec *node) { return node->n_in > 2 && node->in[2]; }

static bool claim_sample(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *node = rlx_graph_at(q->graph, q->node);
  const rlx_type *x = &rlx_graph_at(q->graph, node->in[0])->type;
  const rlx_attrs_sample *a = node->attrs;
  size_t n = (size_t)x->shape.v[x->shape.n - 1], work = 0;
  if (x->dtype == RLX_F64 || n > INT32_MAX || !isfinite(a->temperature)) {
    c->why = "f64 logits and odd temperatures run through the reference";
    return false;
  }
  /* Two lists to sort with, and the weights. */
  if ((a->temperature > 0 || has_settings(node)) &&
      (!rlx_mul_size(count_tasks(rlx_dims_count(&node->type.shape)), 3 * sizeof(uint64_t), &work) ||
       !rlx_mul_size(work, n, &work))) {
    c->why = "its lists would not fit in memory";
    return false;
  }
  c->work_bytes = work;
  return true;
}

static float logit_at(rlx_dtype dtype, const void *x, size_t i) {
  if (dtype == RLX_F32) return ((const float *)x)[i];
  uint16_t half = ((const uint16_t *)x)[i];
  return dtype == RLX_F16 ? rlx_f16_to_f32(half) : rlx_bf16_to_f32(half);
}

/* Tokens at or above `min`, as cpu_order_list has them; how many. */
static size_t list_tokens(const sampling *s, const void *x, double min, uint64_t *list) {
  size_t count = 0, done = 0;
  for (size_t i = 0; i < s->n; i++) {
    float logit = logit_at(s->dtype, x, i);
    list[count] = cpu_order_entry(logit, i);
    count += logit >= min;
    if (cpu_stops_after(&done, 2)) return 0;
  }
  return count;
}

static double sum_weights(const double *weight, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += weight[i];
  return sum;
}

/* The reference's own steps 5 to 7, over the n tokens that top_p left; returns which of them. */
static size_t choose(const rlx_sampling *a, const double *weight, size_t n, double u) {
  while (n > 1 && weight[n - 1] < a->min_p) n--;
  double mark = u * sum_weights(weight, n), sum = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if ((sum += weight[i]) > mark) return i;
  return n - 1;
}

/* Step 4: how many of n tokens in order have top_p of the weight. */
static size_t cut(const rlx_sampling *a, const double *weight, size_t n) {
  if (!(a->top_p < 1)) return n;
  double mass = a->top_p * sum_weights(weight, n), sum = 0;
  for (size_t i = 0; i < n; i++)
    if ((sum += weight[i]) >= mass) return i + 1;
  return n;
}

/* ---- the few best ---- */

typedef struct bounds { /* of a sum of weights, however it was added up */
  double low, high;
} bounds;

static double weight_of(const sampling *s, float logit, double max) {
  return (double)logit == max ? 1 : exp(((double)logit - max) / s->how.temperature);
}

static bounds bound_sum(const sampling *s, const void *x, const uint64_t *list, size_t n, double max) {
  double near = max - FAR * s->how.temperature, sum = 0;
  size_t n_far = 0, done = 0;
  for (size_t i = 0; i < n; i++) {
    float logit = logit_at(s->dtype, x, (uint32_t)list[i]);
    if (logit < near) n_far++;
    else sum += weight_of(s, logit, max);
    if (cpu_stops_after(&done, 16)) break;
  }
  const double rounding = (double)(n + 8) * 0x1p-51; /* twice what n additions can lose, here and there */
  return (bounds){sum * (1 - rounding), (sum + TINY * (double)n_far) * (1 + rounding)};
}

/* The first running sum that is at least the mark (or above it), which is somewhere between bounds; false: not among these,
 * or the bounds disagree. */
static bool find_mark(const double *weight, size_t n, double share, bounds of, bool above, size_t *out) {
  double sum = 0;
  const double low = share * of.low, high = share * of.high;
  for (size_t i = 0; i < n; i++) {
    *out = i;
    sum += weight[i];
    if (above ? sum > high : sum >= high) return true;
    if (above ? sum > low : sum >= low) return false;
  }
  return false;
}

/* Which of the first FEW of all tokens; false: that takes more of them. */
static bool choose_of_list(const rlx_sampling *a, const double *weight, bounds total, double u, size_t *out) {
  size_t n = LIST;
  if (a->top_p < 1) {
    if (!find_mark(weight, LIST, a->top_p, total, false, &n)) return false;
    n++;
  } else if (!(a->min_p > 0)) {
    return find_mark(weight, LIST, u, total, true, out);
  } else if (weight[LIST - 1] >= a->min_p) {
    return false; /* and perhaps more of them, whose sum is not known */
  }
  *out = choose(a, weight, n, u);
  return true;
}

/* Where it is stopped, some token. */
static size_t draw_token(const sampling *s, const void *x, size_t row, size_t largest, uint64_t *list) {
  const rlx_sampling *a = &s->how;
  double max = (double)logit_at(s->dtype, x, largest), *weight = (double *)(void *)(list + 2 * s->n);
  size_t n = list_tokens(s, x, max - NEGLIGIBLE * a->temperature, list), token;
  size_t k = a->top_k > 0 && a->top_k < n ? (size_t)a->top_k : n;
  const double u = rlx_philox_unit(rlx_philox((uint64_t)s->seed, row, s->draw).v[0]);
  if (k == n && n >= 8 * LIST) { /* so that taking them leaves the list as it is */
    const uint64_t *best = cpu_order_smallest(list, list + s->n, n, LIST);
    if (!best) return largest;
    for (size_t i = 0; i < LIST; i++) weight[i] = weight_of(s, logit_at(s->dtype, x, (uint32_t)best[i]), max);
    if (choose_of_list(a, weight, bound_sum(s, x, list, n, max), u, &token)) return (uint32_t)best[token];
  }
  const uint64_t *best = n ? cpu_order_smallest(list, list + s->n, n, k) : NULL;
  if (!best) return largest;
  for (size_t i = 0, done = 0; i < k; i++) {
    weight[i] = weight_of(s, logit_at(s->dtype, x, (uint32_t)best[i]), max);
    if (cpu_stops_after(&done, 16)) return largest;
  }
  return (uint32_t)best[choose(a, weight, cut(a, weight, k), u)];
}

static void sample_rows(void *user, size_t begin, size_t end, unsigned thread) {
  const sampling *s = user;
  (void)thread;
  uint64_t *list = (uint64_t *)s->c->work + begin / s->grain * 3 * s->n;
  for (size_t row = begin, done = 0; row < end && !cpu_stops_after(&done, s->n); row++) {
    const unsigned char *x = (const unsigned char *)s->c->in[0] + row * s->n * s->size;
    size_t token = cpu_order(s->c->isa)->extreme(s->dtype, x, s->n, true); /* the first of the largest; NaN beats all */
    bool has_tokens = isfinite(logit_at(s->dtype, x, token));
    if (has_tokens && s->how.temperature > 0) token = draw_token(s, x, row, token, list);
    ((int32_t *)s->c->out)[row] = has_tokens ? (int32_t)token : -1;
  }
}

static rlx_status run_sample(const cpu_call *c) {
  const rlx_type *x = cpu_in_type(c, 0), *draw = cpu_in_type(c, 1);
  const rlx_attrs_sample *a = c->attrs;
  sampling s = {.c = c,
                .how = {a->temperature, a->top_p, a->min_p, (uint64_t)a->top_k},
                .seed = a->seed,
                .dtype = x->dtype,
                .n = (size_t)x->shape.v[x->shape.n - 1],
                .size = rlx_dtype_size(x->dtype),
                .draw = draw ? (uint64_t)cpu_index_at(c->in[1], draw->dtype == RLX_I64, 0) : c->draw};
  if (has_settings(c->node)) s.how = rlx_sampling_read(c->in[2], (uint64_t)a->top_k);
  size_t rows = rlx_dims_count(&c->node->type.shape);
  s.grain = (rows - 1) / count_tasks(rows) + 1;
  /* Few short rows are not worth a second thread. */
  if ((double)rows * (double)s.n * (s.how.temperature > 0 ? 20 : 0.1) < 16000) s.grain = rows;
  cpu_parallel(c->pool, rows, s.grain, sample_rows, &s);
  return RLX_OK;
}

const cpu_kernel cpu_sample_kernel = {.claim = claim_sample, .run = run_sample};
