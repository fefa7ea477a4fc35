/* Large graphs: a mix of 10^6 nodes, a chain 10^6 deep, and graphs of 10^5 nodes that each stress one thing are built,
 * verified, optimised and evaluated, and must give the known result. Nothing is timed here (bench/scale.c does that),
 * but a quadratic step would not finish. A fifth of the size under sanitizers. */
#include "big_graph.h"

#include <math.h>

#include "graphs.h"
#include "pass/pass.h"
#include "test.h"

#if TEST_IS_SANITIZED
enum { LARGE = 200000, MIDDLE = 20000 };
#else
enum { LARGE = 1000000, MIDDLE = 100000 };
#endif

/* ---- checks ---- */

static double element(const rlx_tensor *t, size_t i) {
  return t->dtype == RLX_F32 ? (double)((const float *)t->data)[i] : (double)((const int32_t *)t->data)[i];
}

static size_t count(const rlx_tensor *t) { return t->bytes / 4; } /* only f32 and i32 occur here */

static rlx_status check_value(const rlx_graph *g, const rlx_graph *load, double value) {
  rlx_tensor y;
  RLX_TRY(big_graph_run(g, load, &y));
  rlx_status s = y.bytes ? RLX_OK : RLX_FAIL(RLX_INVALID, "the result is empty");
  for (size_t i = 0; i < count(&y) && !s; i++)
    if (element(&y, i) != value) s = RLX_FAIL(RLX_INVALID, "element %zu is %g, not %g", i, element(&y, i), value);
  rlx_free(y.data);
  return s;
}

/* Optimises, and passes the optimised graph and its load graph to a check. */
typedef rlx_status (*check_fn)(const rlx_graph *g, const rlx_graph *load, const void *user);

static rlx_status check_optimised(const rlx_graph *g, rlx_supports_fn supports, check_fn check, const void *user) {
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .supports = supports};
  rlx_optimized *o = NULL;
  RLX_TRY_AT(rlx_optimize(g, &options, &o), "optimising");
  rlx_status s = rlx_graph_verify(rlx_optimized_graph(o));
  if (!s) s = check(rlx_optimized_graph(o), rlx_optimized_load(o), user);
  rlx_optimized_destroy(o);
  return s ? rlx_fail_frame(s, "%s", supports ? "optimised for primitives" : "optimised") : RLX_OK;
}

/* ---- graphs whose result is known ---- */

static rlx_status check_known(const rlx_graph *g, const rlx_graph *load, const void *user) {
  return check_value(g, load, *(const double *)user);
}

/* Both targets, or only the one that has everything. */
static rlx_status check_kind(const char *name, uint32_t size, bool both) {
  big_graph big;
  RLX_TRY(big_graph_make(big_graph_find(name), size, &big));
  rlx_status s = rlx_graph_size(big.graph) >= size - 1 ? RLX_OK : RLX_FAIL(RLX_INVALID, "the graph is too small");
  if (!s) s = rlx_graph_verify(big.graph);
  if (!s) s = check_value(big.graph, NULL, big.value);
  if (!s) s = check_optimised(big.graph, NULL, check_known, &big.value);
  if (!s && both) s = check_optimised(big.graph, only_primitives, check_known, &big.value);
  rlx_graph_destroy(big.graph);
  return s;
}

TEST(large_chain) { CHECK_OK(check_kind("chain", LARGE, false)); }
TEST(chain_of_additions_and_layouts) { CHECK_OK(check_kind("chain", MIDDLE, true)); }
TEST(chain_of_additions) { CHECK_OK(check_kind("count", MIDDLE, true)); }
TEST(one_value_with_many_readers_and_many_inputs) { CHECK_OK(check_kind("fan", MIDDLE, true)); }
TEST(chain_of_constants) { CHECK_OK(check_kind("constants", MIDDLE, true)); }
TEST(chains_of_weights) { CHECK_OK(check_kind("weights", MIDDLE, true)); }
TEST(many_names) { CHECK_OK(check_kind("names", MIDDLE, true)); }
TEST(chain_of_updates) { CHECK_OK(check_kind("updates", MIDDLE, true)); }

/* ---- the mix, whose result is known only by evaluation ---- */

/* Fusing and rewriting may round differently; the values of this graph stay within -2..2. */
static rlx_status check_close(const rlx_graph *g, const rlx_graph *load, const void *user) {
  const rlx_tensor *want = user;
  rlx_tensor y;
  RLX_TRY(big_graph_run(g, load, &y));
  rlx_status s =
    y.bytes == want->bytes ? RLX_OK : RLX_FAIL(RLX_INVALID, "%zu bytes instead of %zu", y.bytes, want->bytes);
  for (size_t i = 0; i < count(&y) && !s; i++)
    if (!(fabs(element(&y, i) - element(want, i)) <= 1e-4))
      s = RLX_FAIL(RLX_INVALID, "element %zu is %g, not %g", i, element(&y, i), element(want, i));
  rlx_free(y.data);
  return s;
}

static rlx_status check_wide(uint32_t size, rlx_supports_fn supports) {
  big_graph big;
  rlx_tensor y = {0};
  RLX_TRY(big_graph_make(big_graph_find("wide"), size, &big));
  rlx_status s = rlx_graph_verify(big.graph);
  if (!s) s = big_graph_run(big.graph, NULL, &y);
  if (!s && !(element(&y, 0) > -2 && element(&y, 0) < 2)) s = RLX_FAIL(RLX_INVALID, "element 0 is %g", element(&y, 0));
  if (!s) s = check_optimised(big.graph, supports, check_close, &y);
  rlx_free(y.data);
  rlx_graph_destroy(big.graph);
  return s;
}

TEST(large_mix) { CHECK_OK(check_wide(LARGE, NULL)); }
TEST(mix_for_primitives) { CHECK_OK(check_wide(MIDDLE, only_primitives)); }

/* ---- the passes find what the generator put in ---- */

static rlx_status size_after(const char *pass, const rlx_graph *g, uint32_t *size) {
  rlx_optimized *o = NULL;
  RLX_TRY(rlx_optimize(g, &(rlx_optimize_options){RLX_OPTIMIZE_OPTIONS_INIT, .passes = pass}, &o));
  *size = rlx_graph_size(rlx_optimized_graph(o));
  rlx_optimized_destroy(o);
  return RLX_OK;
}

TEST(passes_find_their_share) {
  static const char *const passes[] = {"fold", "dedupe", "dead", "simplify", "idiom", "fuse"};
  big_graph big;
  CHECK_OK(big_graph_make(big_graph_find("wide"), MIDDLE, &big));
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    uint32_t size = 0, before = rlx_graph_size(big.graph);
    rlx_status s = size_after(passes[i], big.graph, &size);
    if (s || size > before - before / 100) {
      test_report(TEST_FAILED, __FILE__, __LINE__, "%s leaves %u of %u nodes: %s", passes[i], (unsigned)size,
                  (unsigned)before, s ? rlx_message() : "");
      break;
    }
  }
  rlx_graph_destroy(big.graph);
}

/* ---- text ---- */

static rlx_status check_text(const char *name) {
  big_graph big;
  RLX_TRY(big_graph_make(big_graph_find(name), MIDDLE, &big));
  rlx_status s = graph_round_trip(big.graph);
  rlx_graph_destroy(big.graph);
  return s;
}

TEST(text_round_trip) {
  for (size_t i = 0; i < big_graph_kinds_count; i++)
    if (check_text(big_graph_kinds[i].name)) FAIL("%s: %s", big_graph_kinds[i].name, rlx_message());
}
