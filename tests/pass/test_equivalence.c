/* Passes preserve results: random graphs give the same results before and after each pass alone and the whole pipeline.
 *
 * Results that no pass may change must be bit-identical, the others within a tolerance (random_graph.h). A failing
 * graph is reduced as long as it still fails, and printed as text. Seeds are fixed; RLX_GRAPHS=n runs n of them and
 * RLX_SEED=s only that one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conform/values.h"
#include "pass/pass.h"
#include "random_graph.h"
#include "ref/eval.h"
#include "test.h"

enum { GRAPHS = 10000, GRAPHS_SANITIZED = 2000, SOAK_GRAPHS = 200000, NODES = 48 };

/* ---- running a graph on the leaves of another ---- */

typedef struct source {
  const rlx_graph *graph;
  rlx_tensor *leaves;
} source;

static const rlx_tensor *find_leaf(const source *s, const char *name) {
  rlx_node id = rlx_graph_leaf(s->graph, name);
  return id ? &s->leaves[id] : NULL;
}

static void free_outputs(const rlx_graph *g, rlx_tensor *outputs) {
  for (size_t i = 0; outputs && i < g->outputs.n; i++) rlx_tensor_deinit(&outputs[i]);
  free(outputs);
}

/* Leaves come from s, or from the outputs of the load graph. */
static rlx_status run_graph(const rlx_graph *g, const source *s, const rlx_graph *load, const rlx_tensor *loaded,
                            rlx_tensor **outputs) {
  const rlx_tensor **leaves = calloc(rlx_graph_end(g), sizeof *leaves);
  rlx_tensor *out = calloc(g->outputs.n, sizeof *out);
  *outputs = out;
  rlx_status status = leaves && out ? RLX_OK : RLX_NO_MEMORY;
  for (rlx_node id = 1; id < rlx_graph_end(g) && !status; id++) {
    const char *name = rlx_node_name(g, id);
    if (!name) continue;
    leaves[id] = find_leaf(s, name);
    uint32_t i;
    if (!leaves[id] && load && rlx_name_map_get(&load->output_names, name, &i)) leaves[id] = &loaded[i];
  }
  for (size_t i = 0; i < g->outputs.n && !status; i++)
    status = rlx_tensor_create(&rlx_graph_at(g, g->outputs.v[i].node)->type, &out[i]);
  if (!status) status = rlx_eval_graph(g, &(rlx_eval_context){.draw = 3}, leaves, out, NULL);
  free((void *)leaves);
  return status;
}

/* ---- comparing ---- */

static bool same_bits(const rlx_tensor *y, const rlx_tensor *r) {
  if (memcmp(y->data, r->data, y->bytes) == 0) return true;
  if (!rlx_dtype_is_float(y->dtype)) return false;
  size_t size = rlx_dtype_size(y->dtype);
  for (size_t i = 0; i < rlx_tensor_count(y); i++) /* NaN has many patterns */
    if (memcmp((char *)y->data + i * size, (char *)r->data + i * size, size) != 0 &&
        !(isnan(rlx_load(y, i)) && isnan(rlx_load(r, i))))
      return false;
  return true;
}

/* Within a tolerance of the tensor's own size: errors of sums are relative to their largest terms. */
static bool is_close(const rlx_tensor *y, const rlx_tensor *r) {
  if (y->dtype == RLX_C64) { /* as pairs of f32 */
    rlx_tensor y_parts = *y, r_parts = *r;
    y_parts.dtype = r_parts.dtype = RLX_F32;
    y_parts.shape = r_parts.shape = RLX_DIMS((int64_t)(y->bytes / sizeof(float)));
    return is_close(&y_parts, &r_parts);
  }
  if (!rlx_dtype_is_float(y->dtype)) return same_bits(y, r);
  double tol = y->dtype == RLX_F16 ? 1e-2 : y->dtype == RLX_BF16 ? 6e-2 : 1e-3, size = 1;
  size_t count = rlx_tensor_count(y);
  for (size_t i = 0; i < count; i++)
    if (isfinite(rlx_load(r, i))) size = fmax(size, fabs(rlx_load(r, i)));
  for (size_t i = 0; i < count; i++) {
    double a = rlx_load(y, i), b = rlx_load(r, i);
    if (isnan(a) && isnan(b)) continue;
    if (isinf(a) || isinf(b) ? a != b : !(fabs(a - b) <= tol * size)) return false;
  }
  return true;
}

static rlx_status compare_output(const rlx_graph *g, size_t i, const rlx_tensor *y, const rlx_tensor *r, bool exact) {
  const char *name = g->outputs.v[i].name;
  if (y->dtype != r->dtype || !rlx_dims_equal(&y->shape, &r->shape))
    return RLX_FAIL(RLX_INVALID, "output %s changed its type", name);
  if (exact ? same_bits(y, r) : is_close(y, r)) return RLX_OK;
  for (size_t k = 0; k < rlx_tensor_count(y) && rlx_dtype_is_float(y->dtype); k++)
    if (rlx_load(y, k) != rlx_load(r, k))
      return RLX_FAIL(RLX_INVALID, "output %s[%zu] is %.9g, was %.9g (%s)", name, k, rlx_load(y, k), rlx_load(r, k),
                      exact ? "to the bit" : "tolerance");
  return RLX_FAIL(RLX_INVALID, "output %s changed", name);
}

/* ---- one experiment: a pass (or all) on a graph ---- */

typedef struct experiment {
  const rlx_pass *pass; /* NULL: the pipeline */
  uint64_t seed;
  bool changed; /* out: the pass did something */
} experiment;

/* A target that lacks some ops, another set for each seed. */
static bool supports_some(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)why;
  uint64_t h = *(const uint64_t *)user ^ ((uint64_t)rlx_graph_at(g, n)->op * 0x9e3779b97f4a7c15u);
  return rlx_random_next(&h) % 3 != 0;
}

static rlx_status run_pipeline(const rlx_graph *g, rlx_pass_context *ctx, rlx_graph **out) {
  rlx_graph *current = rlx_graph_retain(g);
  for (size_t i = 0; i < rlx_passes_count; i++) {
    rlx_graph *next;
    rlx_status s = rlx_pass_run(&rlx_passes[i], current, ctx, &next);
    rlx_graph_destroy(current);
    if (s) return s;
    current = next;
  }
  *out = current;
  return RLX_OK;
}

static rlx_status check_results(const rlx_graph *before, const rlx_graph *after, const rlx_graph *load, const source *s,
                                const uint8_t *exactness, uint8_t loose) {
  rlx_tensor *want = NULL, *got = NULL, *loaded = NULL;
  rlx_status status = run_graph(before, s, NULL, NULL, &want);
  if (!status && load) status = run_graph(load, s, NULL, NULL, &loaded);
  if (!status) status = run_graph(after, s, load, loaded, &got);
  for (size_t i = 0; i < before->outputs.n && !status; i++)
    status =
      compare_output(before, i, &got[i], &want[i], !exactness || !(exactness[before->outputs.v[i].node] & loose));
  free_outputs(before, want);
  free_outputs(after, got);
  if (load) free_outputs(load, loaded);
  return status;
}

/* exactness NULL: only the tolerance applies (a reduced graph has none). */
static rlx_status try_experiment(experiment *e, const rlx_graph *g, const uint8_t *exactness) {
  uint64_t target = rlx_hash_bytes(e->seed, "target", 6);
  rlx_pass_context ctx = {.supports = supports_some, .supports_user = &target};
  rlx_graph *after = NULL;
  bool rewrites = !e->pass || strcmp(e->pass->name, "legalise") == 0 || strcmp(e->pass->name, "idiom") == 0;
  if (!e->pass && e->seed % 2) ctx.supports = NULL; /* half of the pipelines run for a target that has everything */
  RLX_TRY(e->pass ? rlx_pass_run(e->pass, g, &ctx, &after) : run_pipeline(g, &ctx, &after));
  e->changed = !rlx_graph_same(g, after);
  source s = {.graph = g};
  rlx_status status = random_leaves(g, e->seed, &s.leaves);
  if (!status)
    status = check_results(g, after, ctx.load, &s, exactness, rewrites ? LOOSE_FUSED | LOOSE_REWRITE : LOOSE_FUSED);
  random_leaves_free(g, s.leaves);
  rlx_graph_destroy(ctx.load);
  rlx_graph_destroy(after);
  return status;
}

/* ---- reducing a failing graph ---- */

/* g with node `cut` replaced by an input, only output `keep` (or all), and without dead nodes. */
static rlx_graph *make_smaller(const rlx_graph *g, const uint8_t *exactness, rlx_node cut, size_t keep,
                               uint8_t **new_exactness) {
  uint32_t end = rlx_graph_end(g);
  rlx_graph *out = NULL;
  rlx_node *map = calloc(end, sizeof *map);
  bool *live = calloc(end, sizeof *live);
  uint8_t *exact = calloc(end, sizeof *exact);
  *new_exactness = exact;
  if (!map || !live || !exact || rlx_graph_begin(&out)) goto done;
  for (size_t i = 0; i < g->outputs.n; i++)
    if (keep == SIZE_MAX || keep == i) live[g->outputs.v[i].node] = true;
  for (rlx_node id = end - 1; id > 0; id--)
    for (uint32_t i = 0; live[id] && id != cut && i < rlx_graph_at(g, id)->n_in; i++)
      live[rlx_graph_at(g, id)->in[i]] = true;
  for (rlx_node id = 1; id < end; id++) {
    if (!live[id]) continue;
    char name[24];
    snprintf(name, sizeof name, "cut%u", (unsigned)id);
    const rlx_type *t = &rlx_graph_at(g, id)->type;
    map[id] = id == cut ? rlx_op_input(out, name, t->dtype, t->shape) : rlx_graph_copy_node(out, g, id, map);
    if (map[id]) exact[map[id]] = exactness[id];
  }
  for (size_t i = 0; i < g->outputs.n; i++)
    if (keep == SIZE_MAX || keep == i) rlx_graph_add_output(out, g->outputs.v[i].name, map[g->outputs.v[i].node]);
  if (rlx_graph_finish(out)) {
    rlx_graph_destroy(out);
    out = NULL;
  }
done:
  free(map);
  free(live);
  return out;
}

/* Keeps the smaller graph if it still fails. */
static bool take_if_failing(experiment *e, rlx_graph **g, uint8_t **exactness, rlx_node cut, size_t keep) {
  uint8_t *exact;
  rlx_graph *smaller = make_smaller(*g, *exactness, cut, keep, &exact);
  bool fails = smaller && try_experiment(e, smaller, exact);
  rlx_graph_destroy(fails ? *g : smaller);
  free(fails ? *exactness : exact);
  if (fails) *g = smaller, *exactness = exact;
  return fails;
}

static bool shrink_once(experiment *e, rlx_graph **g, uint8_t **exactness) {
  for (size_t keep = 0; (*g)->outputs.n > 1 && keep < (*g)->outputs.n; keep++)
    if (take_if_failing(e, g, exactness, RLX_NONE, keep)) return true;
  for (rlx_node cut = rlx_graph_end(*g) - 1; cut > 0; cut--) {
    rlx_op op = rlx_graph_at(*g, cut)->op;
    if (rlx_op_table_has(op, RLX_TRAIT_LEAF) && op != RLX_OP_constant) continue;
    if (take_if_failing(e, g, exactness, cut, SIZE_MAX)) return true;
  }
  return false;
}

static void print_smallest(experiment *e, const random_graph *r) {
  rlx_graph *g = rlx_graph_retain(r->graph);
  uint8_t *exactness = calloc(rlx_graph_end(g), 1);
  if (!exactness) return;
  memcpy(exactness, r->exactness, rlx_graph_end(g));
  while (shrink_once(e, &g, &exactness)) {}
  char *text;
  rlx_status s = try_experiment(e, g, exactness);
  printf("  seed %llu, pass %s: %s\n", (unsigned long long)e->seed, e->pass ? e->pass->name : "(all)",
         s ? rlx_message() : "?");
  if (!rlx_graph_print(g, &text)) {
    printf("%s", text);
    rlx_free(text);
  }
  rlx_graph_destroy(g);
  free(exactness);
}

/* ---- the campaign ---- */

enum { MAX_PASSES = 32 };
static uint64_t changed_by[MAX_PASSES + 1];

static bool check_seed(uint64_t seed) {
  random_graph r;
  if (random_graph_make(seed, 4 + (uint32_t)(seed % NODES), &r)) {
    printf("  seed %llu: no graph: %s\n", (unsigned long long)seed, rlx_message());
    return false;
  }
  bool ok = true;
  for (size_t i = 0; i <= rlx_passes_count; i++) {
    experiment e = {.pass = i < rlx_passes_count ? &rlx_passes[i] : NULL, .seed = seed};
    if (try_experiment(&e, r.graph, r.exactness)) {
      ok = false;
      print_smallest(&e, &r);
    }
    changed_by[i] += e.changed;
  }
  random_graph_deinit(&r);
  return ok;
}

static uint64_t from_environment(const char *name, uint64_t fallback) {
  const char *text = getenv(name);
  return text && *text ? strtoull(text, NULL, 10) : fallback;
}

TEST(passes_keep_results_on_random_graphs) {
  uint64_t n = TEST_IS_SANITIZED ? GRAPHS_SANITIZED : GRAPHS;
  if (getenv("RLX_SOAK")) n = TEST_IS_SANITIZED ? SOAK_GRAPHS / 10 : SOAK_GRAPHS;
  n = from_environment("RLX_GRAPHS", n);
  uint64_t only = from_environment("RLX_SEED", 0), bad = 0;
  for (uint64_t seed = only ? only : 1; seed <= (only ? only : n) && bad < 5; seed++) bad += !check_seed(seed);
  printf("  %llu random graphs, %zu passes each alone and the pipeline\n", (unsigned long long)(only ? 1 : n),
         rlx_passes_count);
  for (size_t i = 0; i <= rlx_passes_count; i++)
    printf("  %-10s changed %llu\n", i < rlx_passes_count ? rlx_passes[i].name : "(all)",
           (unsigned long long)changed_by[i]);
  CHECK(bad == 0);
  for (size_t i = 0; i <= rlx_passes_count && n >= 100 && !only; i++)
    CHECK(changed_by[i] > n / 100); /* each pass had work to do */
}

/* The check itself must be able to fail: a "pass" that negates an output is caught and reduced to a few nodes. */
static rlx_status break_it(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  rlx_walk w;
  RLX_TRY(rlx_walk_init(in, out, &w));
  rlx_status s = RLX_OK;
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++) {
    s = rlx_walk_copy(&w, id);
    if (!s && rlx_graph_at(in, id)->op == RLX_OP_tanh) w.map[id] = rlx_graph_add(out, RLX_OP_neg, &w.map[id], 1, NULL);
  }
  if (!s) s = rlx_walk_end(&w, ctx);
  rlx_walk_deinit(&w);
  return s;
}

TEST(a_broken_pass_is_caught_and_shrunk) {
  static const rlx_pass broken = {"broken", "negates tanh", break_it};
  for (uint64_t seed = 1; seed < 2000; seed++) {
    random_graph r;
    CHECK_OK(random_graph_make(seed, 20, &r));
    experiment e = {.pass = &broken, .seed = seed};
    if (!try_experiment(&e, r.graph, r.exactness)) {
      random_graph_deinit(&r);
      continue;
    }
    rlx_graph *g = rlx_graph_retain(r.graph);
    uint8_t *exactness = calloc(rlx_graph_end(g), 1);
    CHECK(exactness != NULL);
    memcpy(exactness, r.exactness, rlx_graph_end(g));
    while (shrink_once(&e, &g, &exactness)) {}
    uint32_t size = rlx_graph_size(g);
    rlx_graph_destroy(g);
    free(exactness);
    random_graph_deinit(&r);
    CHECK(size <= 8); /* tanh, and what leads from it to an output */
    return;
  }
  FAIL("no random graph showed the broken pass");
}
