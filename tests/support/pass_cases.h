/* Cases of passes: an input graph, the expected graph, and a check that results are preserved.
 *
 * Both graphs are written as statements; STAYS means that nothing may change. Both are parsed and printed, so the text
 * in a case need not be in the printer's form. Every case is also evaluated before and after, on values that include
 * NaN, infinities, -0 and the ends of the integers; within a tolerance if a fusion rounds less often, else bit for
 * bit. */
#ifndef RLX_TESTS_PASS_CASES_H
#define RLX_TESTS_PASS_CASES_H

#include <math.h>
#include <stdlib.h>

#include "conform/values.h"
#include "graphs.h"
#include "pass/pass.h"
#include "ref/ref.h"
#include "test.h"

/* ---- evaluation ---------------------------------------------------------------------------------------------- */

/* How leaves are filled: by their names and a seed, optionally with special values. */
typedef struct filling {
  uint64_t seed;
  bool special;
} filling;

static inline void fill_leaf(void *user, const char *name, rlx_tensor *t) {
  static const double odd[] = {0.0,  -0.0,  INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 65504,
                               3e38, -3e38, 0.5,      1.5,       2.5, -0.5,  0.1};
  const filling *how = user;
  if (rlx_dtype_is_block(t->dtype)) {
    memset(t->data, 0x3c, t->bytes); /* any bytes are valid blocks */
    return;
  }
  uint64_t state = rlx_hash_bytes(how->seed, name, strlen(name));
  size_t n = rlx_dims_count(&t->shape);
  for (size_t i = 0; i < n; i++) {
    uint64_t r = rlx_random_next(&state);
    double x = (double)(r >> 11) / 9007199254740992.0 * 4 - 2;
    if (how->special && r % 3 == 0) x = odd[(r >> 8) % (sizeof odd / sizeof *odd)];
    if (rlx_dtype_is_float(t->dtype)) rlx_store(t, i, x);
    else if (t->dtype == RLX_BOOL) rlx_store_int(t, i, (int64_t)(r >> 20 & 1));
    else rlx_store_int(t, i, r % 4 ? (int64_t)(r >> 40) % 9 - 4 : (int64_t)r);
  }
}

/* Params may come from a load graph that ran. */
static inline rlx_status run_graph(const rlx_graph *g, filling how, const rlx_evaluator *load, rlx_evaluator **out) {
  RLX_TRY(rlx_evaluator_create(g, out));
  RLX_TRY(graph_set_leaves(*out, g, load, fill_leaf, &how));
  return rlx_evaluator_run(*out);
}

static inline bool close_enough(const rlx_tensor *a, const rlx_tensor *b, double tolerance) {
  if (a->dtype != b->dtype || !rlx_dims_equal(&a->shape, &b->shape)) return false;
  if (a->dtype == RLX_C64) return memcmp(a->data, b->data, a->bytes) == 0;
  for (size_t i = 0; i < rlx_dims_count(&a->shape); i++) {
    if (!rlx_dtype_is_float(a->dtype)) {
      if (rlx_load_int(a, i) != rlx_load_int(b, i)) return false;
      continue;
    }
    double x = rlx_load(a, i), y = rlx_load(b, i);
    if (isnan(x) && isnan(y)) continue;
    bool same = x == y && signbit(x) == signbit(y);
    if (!same && !(tolerance > 0 && fabs(x - y) <= tolerance * (1 + fabs(y)))) return false;
  }
  return true;
}

static inline void check_once(const rlx_graph *before, const rlx_graph *after, const rlx_graph *load, double tolerance,
                              filling how, const char *what) {
  rlx_evaluator *a = NULL, *b = NULL, *l = NULL;
  rlx_status s = run_graph(before, how, NULL, &a);
  if (!s && load) s = run_graph(load, how, NULL, &l);
  if (!s) s = run_graph(after, how, l, &b);
  bool ok = s == RLX_OK;
  for (uint32_t i = 0; ok && i < rlx_graph_output_count(before); i++) {
    const char *name;
    rlx_tensor x, y;
    rlx_graph_output_at(before, i, &name);
    ok = !rlx_evaluator_get(a, name, &x) && !rlx_evaluator_get(b, name, &y) && close_enough(&y, &x, tolerance);
  }
  rlx_evaluator_destroy(a);
  rlx_evaluator_destroy(b);
  rlx_evaluator_destroy(l);
  if (s) FAIL("%s: evaluating: %s", what, rlx_message());
  if (!ok) FAIL("%s: the results differ (seed %d)", what, (int)how.seed);
}

/* tolerance 0: bit for bit, with special values, often enough that each occurs with each operand. */
static inline void check_results(const rlx_graph *before, const rlx_graph *after, const rlx_graph *load,
                                 double tolerance, const char *what) {
  for (uint64_t seed = 0; seed < (tolerance == 0 ? 30 : 2) && !test_has_failed(); seed++)
    check_once(before, after, load, tolerance, (filling){.seed = seed, .special = tolerance == 0}, what);
}

/* ---- cases --------------------------------------------------------------------------------------------------- */

static inline char *wrap(const char *statements) {
  size_t n = strlen(statements) + 16;
  char *text = malloc(n);
  snprintf(text, n, "graph { %s }", statements);
  return text;
}

static inline rlx_graph *parse(const char *statements) {
  char *text = wrap(statements);
  rlx_graph *g = NULL;
  if (rlx_graph_parse(text, strlen(text), &g)) printf("%s\n  in: %s\n", rlx_message(), text);
  free(text);
  return g;
}

static inline rlx_optimized *optimize(const rlx_graph *g, const char *passes, rlx_supports_fn supports) {
  rlx_optimized *o = NULL;
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .passes = passes, .supports = supports};
  if (rlx_optimize(g, &options, &o)) printf("%s\n", rlx_message());
  return o;
}

typedef struct pass_case {
  const char *before, *after; /* after NULL: nothing changes */
  const char *load;           /* of hoist */
  double tolerance;
  rlx_supports_fn supports;
} pass_case;

static inline void compare_text(const rlx_graph *got, const char *statements, const char *before) {
  rlx_graph *want = parse(statements);
  char *got_text = NULL, *want_text = NULL;
  bool printed = want && !rlx_graph_print(got, &got_text) && !rlx_graph_print(want, &want_text);
  bool same = printed && strcmp(got_text, want_text) == 0;
  if (!same) printf("from %s\ngot %swant %s", before, got_text ? got_text : "?\n", want_text ? want_text : "?\n");
  rlx_free(got_text);
  rlx_free(want_text);
  rlx_graph_destroy(want);
  CHECK(same);
}

static inline void check_case(const char *pass, const pass_case *c) {
  rlx_graph *g = parse(c->before);
  CHECK(g != NULL);
  rlx_optimized *o = optimize(g, pass, c->supports);
  if (o) compare_text(rlx_optimized_graph(o), c->after ? c->after : c->before, c->before);
  if (o && c->load) compare_text(rlx_optimized_load(o), c->load, c->before);
  if (o && !c->load && rlx_optimized_load(o)) FAIL("%s: there is a load graph", c->before);
  if (o && !test_has_failed()) check_results(g, rlx_optimized_graph(o), rlx_optimized_load(o), c->tolerance, c->before);
  rlx_optimized_destroy(o);
  rlx_graph_destroy(g);
  CHECK(o != NULL);
}

#define BECOMES(text, result, ...) \
  { .before = text, .after = result, __VA_ARGS__ }
#define STAYS(text, ...) \
  { .before = text, __VA_ARGS__ }
#define CASES_OF(pass, ...)                                          \
  do {                                                               \
    static const pass_case cases_[] = {__VA_ARGS__};                 \
    for (size_t i_ = 0; i_ < sizeof cases_ / sizeof *cases_; i_++) { \
      check_case((pass), &cases_[i_]);                               \
      if (test_has_failed()) return;                                 \
    }                                                                \
  } while (0)

/* Leaves that most cases use. */
#define X "%x = input \"x\" : f32[2,3]\n"
#define I "%i = input \"i\" : i32[2,3]\n"
#define B "%b = input \"b\" : bool[2,3]\n"
#define Y(node) "output \"y\" = %" #node
#define F(value) "%c = constant : f32[] = [" value "]; "
#define N(value) "%c = constant : i32[] = [" value "]; "
#define T(value) "%c = constant : bool[] = [" value "]; "

#endif
