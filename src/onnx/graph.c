/* Checks and converts inputs, and imports a model as a single graph. */
#include <inttypes.h>
#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "base/sized.h"
#include "ir/switches.h"
#include "onnx/runner.h"

/* ---- inputs ---- */

static bool is_integer(rlx_dtype d) { return rlx_dtype_is_int(d) || d == RLX_BOOL; }

rlx_status onnx_check_input(const onnx_value_info *d, const rlx_tensor *t) {
  rlx_dtype carrier = onnx_type_carrier(d->type);
  if (strcmp(d->kind, "tensor") != 0 || carrier == RLX_DTYPE_UNKNOWN)
    return RLX_FAIL(RLX_UNSUPPORTED, "input '%s' is a %s of %s, which RLX does not have", d->name,
                    *d->kind ? d->kind : "value", onnx_type_name(d->type));
  bool fits = t->dtype == carrier || (rlx_dtype_is_float(t->dtype) && rlx_dtype_is_float(carrier)) ||
              (is_integer(t->dtype) && is_integer(carrier));
  if (!fits)
    return RLX_FAIL(RLX_INVALID, "input '%s' is %s, expected %s", d->name, rlx_dtype_describe(t->dtype)->name,
                    onnx_type_name(d->type));
  return RLX_OK;
}

rlx_status onnx_convert_input(const onnx_value_info *d, const rlx_tensor *t, onnx_box *out) {
  rlx_dtype carrier = onnx_type_carrier(d->type);
  if (t->dtype == carrier) {
    out->tensor = *t;
    return RLX_OK;
  }
  rlx_tensor want = {.dtype = carrier, .shape = t->shape};
  RLX_TRY(rlx_tensor_bytes(carrier, t->shape, &want.bytes));
  void *own = rlx_mem_alloc(want.bytes);
  if (!own) return RLX_FAIL(RLX_NO_MEMORY, "input '%s'", d->name);
  want.data = own;
  for (size_t i = 0, n = rlx_dims_count(&t->shape); i < n; i++) rlx_convert(&want, i, t, i);
  rlx_mem_free(out->own);
  *out = (onnx_box){.tensor = want, .own = own, .cap = want.bytes};
  return RLX_OK;
}

/* ---- shapes where none are given ---- */

static int64_t size_of_symbol(const rlx_onnx_options *o, const char *symbol) {
  for (size_t i = 0; o && i < o->n_bindings; i++)
    if (strcmp(o->bindings[i].symbol, symbol) == 0) return o->bindings[i].size;
  return -1;
}

/* The size of a symbol: from bindings, or from a given input that declares the same symbol. */
static int64_t find_size(const rlx_onnx *m, const rlx_onnx_options *o, const rlx_named_tensor *v, size_t n,
                         const char *symbol) {
  int64_t size = size_of_symbol(o, symbol);
  for (uint32_t i = 0; size < 0 && i < m->graph->n_inputs; i++) {
    const onnx_value_info *d = &m->graph->inputs[i];
    for (size_t k = 0; k < n; k++) {
      if (strcmp(v[k].name, d->name) != 0 || v[k].tensor.shape.n != d->rank) continue;
      for (int a = 0; a < d->rank; a++)
        if (d->dims[a].symbol && strcmp(d->dims[a].symbol, symbol) == 0) size = v[k].tensor.shape.v[a];
    }
  }
  return size;
}

static rlx_status shape_of(const rlx_onnx *m, const rlx_onnx_options *o, const rlx_named_tensor *v, size_t n,
                           const onnx_value_info *d, rlx_dims *out) {
  if (d->rank < 0) return RLX_FAIL(RLX_INVALID, "input '%s' has no declared shape: give it a value", d->name);
  if (d->rank > RLX_MAX_RANK) return RLX_FAIL(RLX_UNSUPPORTED, "input '%s' has %d axes", d->name, (int)d->rank);
  *out = (rlx_dims){.n = d->rank};
  for (int a = 0; a < d->rank; a++) {
    const char *symbol = d->dims[a].symbol;
    out->v[a] = d->dims[a].size >= 0 ? d->dims[a].size : symbol ? find_size(m, o, v, n, symbol) : -1;
    if (out->v[a] >= 0) continue;
    if (symbol) return RLX_FAIL(RLX_INVALID, "input '%s': no size is given for %s", d->name, symbol);
    return RLX_FAIL(RLX_INVALID, "input '%s': axis %d has no declared size: give the input a value", d->name, a);
  }
  return RLX_OK;
}

/* ---- the model as one graph ---- */

typedef struct single {
  const rlx_onnx *m;
  const onnx_input *given;
  size_t n_given;
  const rlx_named_tensor *v;
  size_t n;
  onnx_box *boxes; /* indexed like `given` */
  rlx_graph *graph;
  char *cut;
} single;

static rlx_status take_graph(void *user, rlx_graph *g, const onnx_live *in, size_t n_in, const onnx_live *out,
                             size_t n_out, const char *why) {
  single *s = user;
  (void)in, (void)n_in, (void)out, (void)n_out;
  s->graph = rlx_graph_retain(g);
  if (!why) return RLX_OK;
  size_t n = strlen(why) + 1;
  s->cut = rlx_mem_alloc(n);
  if (!s->cut) return RLX_FAIL(RLX_NO_MEMORY, "a text");
  memcpy(s->cut, why, n);
  return RLX_FAIL(RLX_CANCELLED, "the graph is cut: %s", why);
}

static rlx_status take_value(void *user, uint32_t live, const void **bytes) {
  single *s = user;
  if (live < s->n_given && s->boxes[live].tensor.data) {
    *bytes = s->boxes[live].tensor.data;
    return RLX_OK;
  }
  const char *name = live < s->n_given ? s->given[live].name : "a value";
  return RLX_FAIL(RLX_INVALID, "sizes or branches depend on what input '%s' holds: give it a value", name);
}

static rlx_status take_host(void *user, onnx_host_fn fn, const int64_t *p, const uint32_t *in, const rlx_tensor *known,
                            uint32_t n_in, uint32_t first, rlx_type *out, uint32_t n_out, const char *why) {
  (void)user, (void)fn, (void)p, (void)in, (void)known, (void)n_in, (void)first, (void)out, (void)n_out;
  return RLX_FAIL(RLX_UNSUPPORTED, "there is no graph before %s", why);
}

static rlx_status gather(const rlx_onnx *m, const rlx_onnx_options *o, const rlx_named_tensor *v, size_t n,
                         onnx_input *given, onnx_box *boxes, size_t *n_given) {
  *n_given = 0;
  for (uint32_t i = 0; i < m->graph->n_inputs; i++) {
    const onnx_value_info *d = &m->graph->inputs[i];
    const rlx_named_tensor *t = NULL;
    rlx_onnx_value declared = {RLX_ONNX_VALUE_INIT};
    RLX_TRY(rlx_onnx_input_at(m, i, &declared));
    for (size_t k = 0; k < n; k++)
      if (strcmp(v[k].name, d->name) == 0) t = &v[k];
    if (!t && declared.has_default) continue;
    onnx_input *in = &given[*n_given];
    in->name = d->name;
    in->type.dtype = onnx_type_carrier(d->type);
    if (t) in->type.shape = t->tensor.shape;
    else RLX_TRY(shape_of(m, o, v, n, d, &in->type.shape));
    if (t) RLX_TRY(onnx_check_input(d, &t->tensor));
    if (t && t->tensor.data) RLX_TRY(onnx_convert_input(d, &t->tensor, &boxes[*n_given]));
    ++*n_given;
  }
  return RLX_OK;
}

static rlx_status import_single(rlx_onnx *m, const rlx_onnx_options *o, single *s, onnx_input *given) {
  onnx_client client = {s, take_graph, take_value, take_host, .no_loops = o->switches & RLX_SWITCH_FORBID_HOST};
  RLX_TRY(gather(m, o, s->v, s->n, given, s->boxes, &s->n_given));
  rlx_status status = onnx_import(m, given, s->n_given, o->max_trips, &client);
  return status == RLX_CANCELLED && s->cut ? RLX_OK : status;
}

static rlx_status check_options(const rlx_onnx_options *o) {
  RLX_TRY(rlx_watch_check("rlx_onnx_graph", &o->watch));
  if (o->n_bindings && !o->bindings) return RLX_FAIL(RLX_INVALID, "rlx_onnx_graph: bindings is NULL");
  for (size_t i = 0; i < o->n_bindings; i++) {
    if (!o->bindings[i].symbol) return RLX_FAIL(RLX_INVALID, "rlx_onnx_graph: binding %zu has no symbol", i);
    if (o->bindings[i].size < 0)
      return RLX_FAIL(RLX_INVALID, "rlx_onnx_graph: %s is %" PRId64, o->bindings[i].symbol, o->bindings[i].size);
  }
  return RLX_OK;
}

/* Checks the given inputs; data may be absent. */
static rlx_status check_given(const rlx_onnx *m, const rlx_named_tensor *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const rlx_tensor *t = &v[i].tensor;
    size_t bytes;
    uint32_t ignored;
    if (!v[i].name) return RLX_FAIL(RLX_INVALID, "input %zu has no name", i);
    if (!rlx_name_map_get(&m->inputs, v[i].name, &ignored))
      return RLX_FAIL(RLX_NOT_FOUND, "the model has no input '%s'", v[i].name);
    for (size_t k = 0; k < i; k++)
      if (strcmp(v[k].name, v[i].name) == 0) return RLX_FAIL(RLX_INVALID, "input '%s' is given twice", v[i].name);
    RLX_TRY_AT(t->data ? rlx_tensor_check(t) : rlx_tensor_bytes(t->dtype, t->shape, &bytes), "input '%s'", v[i].name);
  }
  return RLX_OK;
}

rlx_status rlx_onnx_graph(rlx_onnx *m, const rlx_onnx_options *options, const rlx_named_tensor *inputs, size_t n,
                          rlx_graph **out, char **cut) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_graph: out is NULL");
  *out = NULL;
  if (cut) *cut = NULL;
  if (!m || (n && !inputs)) return RLX_FAIL(RLX_INVALID, "rlx_onnx_graph: a NULL");
  rlx_onnx_options o;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_onnx_options", options, &o), "rlx_onnx_graph");
  RLX_TRY_AT(rlx_switches_check(o.switches), "rlx_onnx_graph");
  RLX_TRY(check_options(&o));
  RLX_TRY(check_given(m, inputs, n));
  RLX_TRY(rlx_onnx_supported(m));
  size_t max = (size_t)m->graph->n_inputs + 1;
  onnx_input *given = rlx_mem_calloc(max, sizeof *given);
  single s = {.m = m, .given = given, .v = inputs, .n = n, .boxes = rlx_mem_calloc(max, sizeof *s.boxes)};
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_onnx_graph", &o.watch.limits, RLX_LOAD_WORK, &o.watch);
  rlx_status status =
    given && s.boxes ? import_single(m, &o, &s, given) : RLX_FAIL(RLX_NO_MEMORY, "the inputs of a model");
  status = rlx_budget_end(&budget, status);
  for (size_t i = 0; s.boxes && i < max; i++) rlx_mem_free(s.boxes[i].own);
  rlx_mem_free(s.boxes);
  rlx_mem_free(given);
  if (status || !cut) rlx_mem_free(s.cut);
  else *cut = s.cut;
  if (status) rlx_graph_destroy(s.graph);
  else *out = s.graph;
  return status;
}
