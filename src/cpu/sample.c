/* sample: draws one token per row of logits, exactly the token that the reference draws (defined in ref/random.c).
 *
 * The reference sorts all tokens and adds weights e^((logit - largest) / temperature) in f64, largest first. The first
 * weight is 1. So a weight below 2^-53 changes no running sum, is never drawn and never decides where top_p ends.
 * Tokens that far down are dropped before sorting, and top_k selects its k best of the rest. What remains is computed
 * as in the reference, in the same order and in f64, so that rounding cannot select another token.
 *
 * Without top_k this would sort nearly all tokens, although the drawn one is nearly always among the first. So the LIST
 * best tokens are tried first. Their running sums are bit-identical to the reference's. The sum over all tokens, which
 * the reference adds in sorted order, is only bounded, in any order. If both bounds select the same token, it is the
 * result. If they do not, or if the token is not in the list, all tokens are sorted. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"
#include "base/philox.h"
#include "cpu/move.h"
#include "cpu/order.h"
#include "ir/sampling.h"

enum { MAX_TASKS = 8 };

/* Distance below the largest logit, in units of the temperature: e^-37 is below 2^-53, and 3 allow for rounding. */
static const double NEGLIGIBLE = 40;
/* Tokens below FAR have weights of at most TINY; the bounds of the sum only count them. */
static const double FAR = 25, TINY = 1.4e-11;
enum { LIST = 256 };

typedef struct sampling {
  const cpu_call *c;
  rlx_sampling settings;
  int64_t seed;
  rlx_dtype dtype;
  size_t n, size;
  size_t grain; /* rows per task */
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
    c->why = "f64 logits and non-finite temperatures run through the reference";
    return false;
  }
  /* Two lists for sorting, and the weights. */
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

/* Lists the tokens at or above `min` as cpu_order_entry encodes them; returns how many. */
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

/* The reference's steps 5 to 7 over the n tokens that top_p kept; returns the index of the chosen one. */
static size_t choose(const rlx_sampling *a, const double *weight, size_t n, double u) {
  while (n > 1 && weight[n - 1] < a->min_p) n--;
  double mark = u * sum_weights(weight, n), sum = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if ((sum += weight[i]) > mark) return i;
  return n - 1;
}

/* Step 4: how many of n sorted tokens make up top_p of the weight. */
static size_t cut(const rlx_sampling *a, const double *weight, size_t n) {
  if (!(a->top_p < 1)) return n;
  double mass = a->top_p * sum_weights(weight, n), sum = 0;
  for (size_t i = 0; i < n; i++)
    if ((sum += weight[i]) >= mass) return i + 1;
  return n;
}

/* ---- the best tokens only ---- */

typedef struct bounds { /* bounds of a sum of weights that hold for any order of addition */
  double low, high;
} bounds;

static double weight_of(const sampling *s, float logit, double max) {
  return (double)logit == max ? 1 : exp(((double)logit - max) / s->settings.temperature);
}

static bounds bound_sum(const sampling *s, const void *x, const uint64_t *list, size_t n, double max) {
  double near = max - FAR * s->settings.temperature, sum = 0;
  size_t n_far = 0, done = 0;
  for (size_t i = 0; i < n; i++) {
    float logit = logit_at(s->dtype, x, (uint32_t)list[i]);
    if (logit < near) n_far++;
    else sum += weight_of(s, logit, max);
    if (cpu_stops_after(&done, 16)) break;
  }
  const double rounding = (double)(n + 8) * 0x1p-51; /* twice what n additions can lose in either order */
  return (bounds){sum * (1 - rounding), (sum + TINY * (double)n_far) * (1 + rounding)};
}

/* The index of the first running sum that is >= share * sum (or above it), where the sum is only known by its bounds.
 * False: not among these weights, or the bounds disagree. */
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

/* The index of the chosen token among the LIST best; false: more tokens are needed. */
static bool choose_of_list(const rlx_sampling *a, const double *weight, bounds total, double u, size_t *out) {
  size_t n = LIST;
  if (a->top_p < 1) {
    if (!find_mark(weight, LIST, a->top_p, total, false, &n)) return false;
    n++;
  } else if (!(a->min_p > 0)) {
    return find_mark(weight, LIST, u, total, true, out);
  } else if (weight[LIST - 1] >= a->min_p) {
    return false; /* more tokens may pass min_p, and their sum is not known */
  }
  *out = choose(a, weight, n, u);
  return true;
}

/* Returns any token after a stop. */
static size_t draw_token(const sampling *s, const void *x, size_t row, size_t largest, uint64_t *list) {
  const rlx_sampling *a = &s->settings;
  double max = (double)logit_at(s->dtype, x, largest), *weight = (double *)(void *)(list + 2 * s->n);
  size_t n = list_tokens(s, x, max - NEGLIGIBLE * a->temperature, list), token;
  size_t k = a->top_k > 0 && a->top_k < n ? (size_t)a->top_k : n;
  const double u = rlx_philox_unit(rlx_philox((uint64_t)s->seed, row, s->draw).v[0]);
  if (k == n && n >= 8 * LIST) { /* so that the selection leaves `list` unchanged */
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
    /* The first of the largest; NaN is above all. */
    size_t token = cpu_order(s->c->isa)->extreme(s->dtype, x, s->n, true);
    bool has_tokens = isfinite(logit_at(s->dtype, x, token));
    if (has_tokens && s->settings.temperature > 0) token = draw_token(s, x, row, token, list);
    ((int32_t *)s->c->out)[row] = has_tokens ? (int32_t)token : -1;
  }
}

static rlx_status run_sample(const cpu_call *c) {
  const rlx_type *x = cpu_in_type(c, 0), *draw = cpu_in_type(c, 1);
  const rlx_attrs_sample *a = c->attrs;
  sampling s = {.c = c,
                .settings = {a->temperature, a->top_p, a->min_p, (uint64_t)a->top_k},
                .seed = a->seed,
                .dtype = x->dtype,
                .n = (size_t)x->shape.v[x->shape.n - 1],
                .size = rlx_dtype_size(x->dtype),
                .draw = draw ? (uint64_t)cpu_index_at(c->in[1], draw->dtype == RLX_I64, 0) : c->draw};
  if (has_settings(c->node)) s.settings = rlx_sampling_read(c->in[2], (uint64_t)a->top_k);
  size_t rows = rlx_dims_count(&c->node->type.shape);
  s.grain = (rows - 1) / count_tasks(rows) + 1;
  /* A small amount of work is not worth a second thread. */
  if ((double)rows * (double)s.n * (s.settings.temperature > 0 ? 20 : 0.1) < 16000) s.grain = rows;
  cpu_parallel(c->pool, rows, s.grain, sample_rows, &s);
  return RLX_OK;
}

const cpu_kernel cpu_sample_kernel = {.claim = claim_sample, .run = run_sample};
