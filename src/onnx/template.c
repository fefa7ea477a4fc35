/* Templates: a model imported once with symbols and bound for each size.
 *
 * The sizes in which two runs differ become symbols; sizes that changed in the same way share one. The import
 * (symbolic.c) produces a graph with guards. Binding substitutes numbers and fails if a guard does not hold. The
 * result equals the graph of an import for these numbers. A template is one graph: an import that would cut it
 * fails. */
#include <string.h>

#include "base/mem.h"
#include "onnx/runner.h"

struct onnx_template {
  rlx_graph *graph;
  onnx_input *inputs; /* numbers, and symbols with their samples */
  size_t n_inputs;
  onnx_live *in, *out;
  size_t n_in, n_out;
};

void onnx_template_destroy(onnx_template *t) {
  if (!t) return;
  for (size_t i = 0; t->in && i < t->n_in; i++) rlx_mem_free((void *)(uintptr_t)t->in[i].leaf);
  for (size_t i = 0; t->out && i < t->n_out; i++) rlx_mem_free((void *)(uintptr_t)t->out[i].leaf);
  rlx_mem_free(t->in);
  rlx_mem_free(t->out);
  rlx_mem_free(t->inputs);
  rlx_graph_destroy(t->graph);
  rlx_mem_free(t);
}

onnx_leaves onnx_template_leaves(const onnx_template *t) { return (onnx_leaves){t->in, t->out, t->n_in, t->n_out}; }

/* ---- making ---- */

static rlx_status copy_leaves(const onnx_live *v, size_t n, onnx_live **out, size_t *n_out) {
  *out = rlx_mem_calloc(n + 1, sizeof **out);
  *n_out = *out ? n : 0;
  for (size_t i = 0; *out && i < n; i++) {
    size_t bytes = strlen(v[i].leaf) + 1;
    char *leaf = rlx_mem_alloc(bytes);
    if (!leaf) return RLX_FAIL(RLX_NO_MEMORY, "a template");
    memcpy(leaf, v[i].leaf, bytes);
    (*out)[i] = (onnx_live){leaf, v[i].number};
  }
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a template");
}

static rlx_status on_graph(void *user, rlx_graph *g, const onnx_live *in, size_t n_in, const onnx_live *out,
                           size_t n_out, const char *why) {
  onnx_template *t = user;
  if (why || t->graph) return RLX_FAIL(RLX_UNSUPPORTED, "a template is one graph");
  t->graph = rlx_graph_retain(g);
  RLX_TRY(copy_leaves(in, n_in, &t->in, &t->n_in));
  return copy_leaves(out, n_out, &t->out, &t->n_out);
}

static rlx_status on_value(void *user, uint32_t live, const void **bytes) {
  (void)user, (void)live, (void)bytes;
  return RLX_FAIL(RLX_UNSUPPORTED, "a template has no values");
}

static rlx_status on_host(void *user, onnx_host_fn fn, const int64_t *p, const uint32_t *in, const rlx_tensor *known,
                          uint32_t n_in, uint32_t first, rlx_type *out, uint32_t n_out, const char *why) {
  (void)user, (void)fn, (void)p, (void)in, (void)known, (void)n_in, (void)first, (void)out, (void)n_out;
  return RLX_FAIL(RLX_UNSUPPORTED, "a template has no steps of the host: %s", why);
}

/* Assigns symbols to sizes that differ; sizes with the same pair of values share one. */
static rlx_status choose_symbols(const onnx_input *first, const onnx_input *now, size_t n, onnx_input *out) {
  enum { MAX_SYMBOLS = 64 };
  int64_t pairs[MAX_SYMBOLS][2];
  uint8_t n_symbols = 0;
  for (size_t i = 0; i < n; i++) {
    const rlx_dims *a = &first[i].type.shape, *b = &now[i].type.shape;
    out[i] = (onnx_input){.name = now[i].name, .type = now[i].type};
    if (strcmp(first[i].name, now[i].name) != 0 || a->n != b->n || first[i].type.dtype != now[i].type.dtype)
      return RLX_FAIL(RLX_INVALID, "input '%s' differs in more than sizes", now[i].name);
    for (int k = 0; k < a->n; k++) {
      if (a->v[k] == b->v[k]) continue;
      uint8_t s = 0;
      while (s < n_symbols && (pairs[s][0] != a->v[k] || pairs[s][1] != b->v[k])) s++;
      if (s == MAX_SYMBOLS) return RLX_FAIL(RLX_UNSUPPORTED, "more than %d sizes differ", MAX_SYMBOLS);
      if (s == n_symbols) pairs[n_symbols][0] = a->v[k], pairs[n_symbols++][1] = b->v[k];
      out[i].symbol[k] = (uint8_t)(s + 1);
    }
  }
  return n_symbols ? RLX_OK : RLX_FAIL(RLX_INVALID, "no size differs");
}

static rlx_status make(rlx_onnx *m, const onnx_input *first, const onnx_input *now, size_t n, uint64_t max_trips,
                       bool no_loops, onnx_template *t) {
  onnx_client client = {t, on_graph, on_value, on_host, .no_loops = no_loops};
  if (!(t->inputs = rlx_mem_calloc(n + 1, sizeof *t->inputs))) return RLX_FAIL(RLX_NO_MEMORY, "a template");
  t->n_inputs = n;
  RLX_TRY(choose_symbols(first, now, n, t->inputs));
  RLX_TRY(onnx_import(m, t->inputs, n, max_trips, &client));
  return t->graph ? RLX_OK : RLX_FAIL(RLX_INVALID, "the model has no graph");
}

rlx_status onnx_template_make(rlx_onnx *m, const onnx_input *first, const onnx_input *now, size_t n, uint64_t max_trips,
                              bool no_loops, onnx_template **out) {
  onnx_template *t = *out = NULL;
  if (!(t = rlx_new(onnx_template))) return RLX_FAIL(RLX_NO_MEMORY, "a template");
  rlx_status s = make(m, first, now, n, max_trips, no_loops, t);
  if (s) onnx_template_destroy(t);
  else *out = t;
  return s;
}

/* ---- binding ---- */

static rlx_status read_sizes(const onnx_template *t, const onnx_input *inputs, size_t n, int64_t *sizes) {
  bool fits = n == t->n_inputs;
  for (uint32_t i = 0; i < rlx_graph_symbol_count(t->graph); i++) sizes[i] = -1;
  for (size_t i = 0; fits && i < n; i++) {
    const rlx_dims *want = &t->inputs[i].type.shape, *have = &inputs[i].type.shape;
    fits = strcmp(t->inputs[i].name, inputs[i].name) == 0 && want->n == have->n &&
           t->inputs[i].type.dtype == inputs[i].type.dtype;
    for (int k = 0; fits && k < want->n; k++) {
      int64_t *size = t->inputs[i].symbol[k] ? &sizes[t->inputs[i].symbol[k] - 1] : NULL;
      if (size && *size < 0) *size = have->v[k];
      fits = have->v[k] == (size ? *size : want->v[k]);
    }
  }
  return fits ? RLX_OK : RLX_FAIL(RLX_INVALID, "the template is for other sizes");
}

/* Larger graphs are left to an import for numbers, which has exact limits. */
static rlx_status check_extents(const rlx_graph *g) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_dims *d = &rlx_graph_at(g, id)->type.shape;
    int64_t count = 1;
    for (int i = 0; i < d->n; i++) {
      if (d->v[i] > INT32_MAX / (count ? count : 1)) return RLX_FAIL(RLX_INVALID, "the template is for smaller sizes");
      count *= d->v[i];
    }
  }
  return RLX_OK;
}

rlx_status onnx_template_bind(const onnx_template *t, const onnx_input *inputs, size_t n, rlx_graph **out) {
  *out = NULL;
  int64_t *sizes = rlx_mem_calloc((size_t)rlx_graph_symbol_count(t->graph) + 1, sizeof *sizes);
  rlx_graph *g = NULL;
  rlx_status s = sizes ? read_sizes(t, inputs, n, sizes) : RLX_FAIL(RLX_NO_MEMORY, "binding");
  if (!s) s = rlx_graph_bind_sizes(t->graph, sizes, &g);
  if (!s) s = check_extents(g);
  rlx_mem_free(sizes);
  if (s) rlx_graph_destroy(g);
  else *out = g;
  return s;
}
