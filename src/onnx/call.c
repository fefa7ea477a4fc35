/* Implements the interface for op functions: inputs, attributes, results and host steps. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir/element.h"
#include "ir/walk.h"
#include "onnx/importer.h"

/* ---- inputs ---- */

rlx_node onnx_node_of(onnx_call *c, onnx_value *v) { return onnx_value_node(c->imp, v); }
rlx_node onnx_in(onnx_call *c, uint32_t i) { return onnx_has(c, i) ? onnx_value_node(c->imp, c->in[i]) : RLX_NONE; }
rlx_dims onnx_shape(const onnx_call *c, uint32_t i) { return onnx_has(c, i) ? c->in[i]->is.shape : RLX_SCALAR; }
rlx_dtype onnx_dtype(const onnx_call *c, uint32_t i) { return onnx_has(c, i) ? c->in[i]->is.dtype : RLX_DTYPE_UNKNOWN; }
onnx_type onnx_in_type(const onnx_call *c, uint32_t i) { return onnx_has(c, i) ? c->in[i]->type : ONNX_UNDEFINED; }

/* ---- known values ---- */

static rlx_status tensor_of(const onnx_value *v, rlx_tensor *out) {
  *out = (rlx_tensor){.dtype = v->is.dtype, .shape = v->is.shape, .const_data = v->known};
  return rlx_tensor_bytes(v->is.dtype, v->is.shape, &out->bytes);
}

bool onnx_is_known(onnx_call *c, uint32_t i) {
  return onnx_has(c, i) && onnx_know(c->imp, c->in[i]) == RLX_OK && c->in[i]->known;
}

/* With `open`, the known bytes may be sizes. */
static rlx_status need(onnx_call *c, uint32_t i, bool open, rlx_tensor *out) {
  if (!onnx_has(c, i)) return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)i);
  onnx_value *v = c->in[i];
  RLX_TRY(onnx_know(c->imp, v));
  if (c->imp->is_symbolic && (!v->known || (v->is_open && !open))) return onnx_need_numbers(c->imp, c->node->op);
  if (v->known) return tensor_of(v, out);
  c->imp->asked = v;
  snprintf(c->imp->why, sizeof c->imp->why, "node %u '%.100s' (%.60s) needs the value of '%.60s'",
           (unsigned)c->node->number, c->node->name, c->node->op, c->node->in[i]);
  return ONNX_AGAIN;
}

rlx_status onnx_need(onnx_call *c, uint32_t i, rlx_tensor *out) { return need(c, i, false, out); }

rlx_status onnx_force(onnx_call *c, onnx_value *v, const char *why, rlx_tensor *out) {
  onnx_importer *imp = c->imp;
  if (v->refused) return RLX_UNSUPPORTED;
  RLX_TRY(onnx_know(imp, v));
  if (imp->is_symbolic && (!v->known || v->is_open)) return onnx_need_numbers(imp, why);
  if (!v->known && imp->inner) return RLX_FAIL(RLX_UNSUPPORTED, "%s, in a loop", why);
  if (!v->known && !v->live) RLX_TRY(onnx_cut(imp, v, why));
  if (!v->known) RLX_TRY(onnx_stop(imp, imp->client->value(imp->client->user, v->live - 1, &v->known)));
  v->node = 0; /* existing readers keep the graph input; later readers use a constant */
  c->g = imp->g;
  return tensor_of(v, out);
}

rlx_status onnx_force_holding(onnx_call *c, onnx_value *v, const char *why, onnx_value *const *held, size_t n_held,
                              rlx_tensor *out) {
  onnx_scope *s = c->scope;
  onnx_value *const *before = s->held;
  size_t n_before = s->n_held;
  RLX_TRY(onnx_know(c->imp, v));
  if (v->known || v->live || v->refused) return onnx_force(c, v, why, out);
  onnx_value **all = onnx_alloc(c->imp, n_before + n_held + 1, sizeof *all);
  if (!all) return RLX_FAIL(RLX_NO_MEMORY, "%zu values", n_before + n_held);
  for (size_t i = 0; i < n_before; i++) all[i] = before[i];
  for (size_t i = 0; i < n_held; i++) all[n_before + i] = held[i];
  s->held = all;
  s->n_held = n_before + n_held;
  rlx_status status = onnx_force(c, v, why, out);
  s->held = before;
  s->n_held = n_before;
  return status;
}

uint64_t onnx_max_trips(const onnx_call *c) { return c->imp->max_trips; }

rlx_status onnx_need_ints(onnx_call *c, uint32_t i, onnx_ints *out) {
  rlx_tensor t;
  RLX_TRY(onnx_need(c, i, &t));
  out->n = rlx_tensor_count(&t);
  out->v = t.data;
  if (t.dtype == RLX_I64) return RLX_OK;
  if (!rlx_dtype_is_int(t.dtype) && t.dtype != RLX_BOOL)
    return RLX_FAIL(RLX_INVALID, "input %u is %s, expected integers", (unsigned)i, onnx_type_name(c->in[i]->type));
  int64_t *v = onnx_alloc(c->imp, out->n + 1, sizeof *v);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "%zu integers", out->n);
  for (size_t k = 0; k < out->n; k++) v[k] = rlx_load_int(&t, k);
  out->v = v;
  return RLX_OK;
}

rlx_status onnx_need_sizes(onnx_call *c, uint32_t i, onnx_ints *out) {
  rlx_tensor t;
  RLX_TRY(need(c, i, true, &t));
  if (!c->in[i]->is_open) {
    RLX_TRY(onnx_need_ints(c, i, out));
    for (size_t k = 0; c->imp->is_symbolic && k < out->n; k++) /* a number that reads as a size code */
      if (rlx_dim_is_open(out->v[k])) return onnx_need_numbers(c->imp, c->node->op);
    return RLX_OK;
  }
  *out = (onnx_ints){t.data, rlx_tensor_count(&t)};
  return RLX_OK;
}

rlx_status onnx_need_int(onnx_call *c, uint32_t i, int64_t *out) {
  onnx_ints v;
  RLX_TRY(onnx_need_ints(c, i, &v));
  if (v.n != 1) return RLX_FAIL(RLX_INVALID, "input %u has %zu elements, expected one", (unsigned)i, v.n);
  *out = v.v[0];
  return RLX_OK;
}

static rlx_status copy_dims(uint32_t i, const onnx_ints *v, rlx_dims *out) {
  if (v->n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_UNSUPPORTED, "input %u names %zu axes, and RLX has at most %d", (unsigned)i, v->n,
                    RLX_MAX_RANK);
  *out = (rlx_dims){.n = (int32_t)v->n};
  if (v->n) memcpy(out->v, v->v, v->n * sizeof *v->v);
  return RLX_OK;
}

rlx_status onnx_need_dims(onnx_call *c, uint32_t i, rlx_dims *out) {
  onnx_ints v;
  RLX_TRY(onnx_need_ints(c, i, &v));
  return copy_dims(i, &v, out);
}

rlx_status onnx_need_shape(onnx_call *c, uint32_t i, rlx_dims *out) {
  onnx_ints v;
  RLX_TRY(onnx_need_sizes(c, i, &v));
  return copy_dims(i, &v, out);
}

rlx_status onnx_need_number(onnx_call *c, uint32_t i, double *out) {
  rlx_tensor t;
  RLX_TRY(onnx_need(c, i, &t));
  if (rlx_tensor_count(&t) != 1)
    return RLX_FAIL(RLX_INVALID, "input %u has %zu elements, expected one", (unsigned)i, rlx_tensor_count(&t));
  *out = rlx_load(&t, 0);
  return RLX_OK;
}

rlx_status onnx_need_bool(onnx_call *c, uint32_t i, bool *out) {
  double x;
  RLX_TRY(onnx_need_number(c, i, &x));
  *out = x != 0;
  return RLX_OK;
}

/* ---- attributes ---- */

const onnx_attribute *onnx_find_in(const onnx_attribute *v, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(v[i].name, name) == 0) return &v[i];
  return NULL;
}

/* An attribute that refers to one of the enclosing function resolves to the call's, the function's default, or none. */
static const onnx_attribute *resolve(const onnx_scope *s, const onnx_attribute *a) {
  while (a && *a->refers) {
    const char *name = a->refers;
    if (!s->function) return NULL;
    const onnx_scope *outer = s;
    while (outer->caller && outer->caller->function == s->function && outer->caller->call == s->call)
      outer = outer->caller;
    a = onnx_find_in(s->call->attributes, s->call->n_attributes, name);
    if (!a) {
      a = onnx_find_in(s->function->defaults, s->function->n_defaults, name);
      return a && !*a->refers ? a : NULL;
    }
    s = outer->caller;
  }
  return a;
}

const onnx_attribute *onnx_attribute_find(const onnx_call *c, const char *name) {
  const onnx_attribute *a = onnx_find_in(c->node->attributes, c->node->n_attributes, name);
  if (a) c->asked[a - c->node->attributes] = true;
  return resolve(c->scope, a);
}

void onnx_pass_over(const onnx_call *c, const char *names) {
  for (const char *at = names; *at;) {
    size_t n = strcspn(at, " ");
    for (uint32_t i = 0; i < c->node->n_attributes; i++) {
      const char *name = c->node->attributes[i].name;
      if (strlen(name) == n && memcmp(name, at, n) == 0) c->asked[i] = true;
    }
    at += n;
    at += strspn(at, " ");
  }
}

bool onnx_has_attribute(const onnx_call *c, const char *name) { return onnx_attribute_find(c, name) != NULL; }

/* *out: the attribute, NULL if absent. */
static rlx_status find_kind(const onnx_call *c, const char *name, onnx_kind kind, const onnx_attribute **out) {
  *out = onnx_attribute_find(c, name);
  if (*out && (*out)->kind != kind)
    return RLX_FAIL(RLX_INVALID, "attribute '%s' is %s, expected %s", name, onnx_kind_name((*out)->kind),
                    onnx_kind_name(kind));
  return RLX_OK;
}

rlx_status onnx_int(const onnx_call *c, const char *name, int64_t fallback, int64_t *out) {
  const onnx_attribute *a;
  RLX_TRY(find_kind(c, name, ONNX_KIND_INT, &a));
  *out = a ? a->i : fallback;
  return RLX_OK;
}

rlx_status onnx_flag(const onnx_call *c, const char *name, bool fallback, bool *out) {
  int64_t i;
  RLX_TRY(onnx_int(c, name, fallback, &i));
  *out = i != 0;
  return RLX_OK;
}

rlx_status onnx_float(const onnx_call *c, const char *name, double fallback, double *out) {
  const onnx_attribute *a;
  RLX_TRY(find_kind(c, name, ONNX_KIND_FLOAT, &a));
  *out = a ? a->f : fallback;
  return RLX_OK;
}

rlx_status onnx_text_of(const onnx_call *c, const char *name, const char *fallback, const char **out) {
  const onnx_attribute *a;
  RLX_TRY(find_kind(c, name, ONNX_KIND_STRING, &a));
  *out = a ? a->s.v : fallback;
  return RLX_OK;
}

rlx_status onnx_word(const onnx_call *c, const char *name, const char *const *words, int *out) {
  const char *text;
  RLX_TRY(onnx_text_of(c, name, words[0], &text));
  for (*out = 0; words[*out]; ++*out)
    if (strcmp(words[*out], text) == 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "attribute '%s' is '%.40s', expected '%s' or the like", name, text, words[0]);
}

rlx_status onnx_ints_of(const onnx_call *c, const char *name, onnx_ints *out) {
  const onnx_attribute *a;
  RLX_TRY(find_kind(c, name, ONNX_KIND_INTS, &a));
  *out = a ? (onnx_ints){a->ints, a->n} : (onnx_ints){NULL, 0};
  for (size_t i = 0; c->imp->is_symbolic && i < out->n; i++) /* a number that reads as a size code */
    if (rlx_dim_is_open(out->v[i])) return onnx_need_numbers(c->imp, c->node->op);
  return RLX_OK;
}

rlx_status onnx_dims_of(const onnx_call *c, const char *name, rlx_dims *out) {
  onnx_ints v;
  *out = RLX_SCALAR;
  RLX_TRY(onnx_ints_of(c, name, &v));
  if (v.n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_UNSUPPORTED, "attribute '%s' has %zu numbers, and RLX has at most %d axes", name, v.n,
                    RLX_MAX_RANK);
  out->n = (int32_t)v.n;
  if (v.n) memcpy(out->v, v.v, v.n * sizeof *v.v);
  return RLX_OK;
}

rlx_status onnx_floats_of(const onnx_call *c, const char *name, const double **v, size_t *n) {
  const onnx_attribute *a;
  RLX_TRY(find_kind(c, name, ONNX_KIND_FLOATS, &a));
  *v = a ? a->floats : NULL;
  *n = a ? a->n : 0;
  return RLX_OK;
}

rlx_status onnx_graph_of(const onnx_call *c, const char *name, const onnx_graph **out) {
  const onnx_attribute *a;
  RLX_TRY(find_kind(c, name, ONNX_KIND_GRAPH, &a));
  if (!a) return RLX_FAIL(RLX_INVALID, "attribute '%s' is missing", name);
  *out = a->graph;
  return RLX_OK;
}

rlx_status onnx_axis(const onnx_call *c, int64_t axis, int rank, int *out) {
  (void)c;
  if (axis < -rank || axis >= rank) return RLX_FAIL(RLX_INVALID, "axis %" PRId64 " of %d", axis, rank);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return RLX_OK;
}

rlx_status onnx_axes(const onnx_call *c, rlx_dims *axes, int rank) {
  for (int i = 0; i < axes->n; i++) {
    int axis;
    RLX_TRY(onnx_axis(c, axes->v[i], rank, &axis));
    for (int k = 0; k < i; k++)
      if (axes->v[k] == axis) return RLX_FAIL(RLX_INVALID, "axis %d comes twice", axis);
    axes->v[i] = axis;
  }
  return RLX_OK;
}

/* ---- results ---- */

void onnx_set_value(onnx_call *c, uint32_t i, onnx_value *v) {
  if (i < c->n_out) c->out[i] = v;
}

rlx_status onnx_value_make(onnx_call *c, rlx_node n, onnx_type type, onnx_value **out) {
  RLX_TRY(rlx_graph_status(c->imp->g));
  if (!n) return RLX_FAIL(RLX_INVALID, "a result is no node");
  if (!rlx_dims_open(&rlx_graph_at(c->imp->g, n)->type.shape))
    RLX_TRY(onnx_check_extent(&rlx_graph_at(c->imp->g, n)->type.shape));
  onnx_value *v = onnx_value_new(c->imp);
  if (!v) return RLX_NO_MEMORY;
  v->type = type;
  v->is = rlx_graph_at(c->imp->g, n)->type;
  v->node = n;
  *out = v;
  return RLX_OK;
}

rlx_status onnx_set_as(onnx_call *c, uint32_t i, rlx_node n, onnx_type type) {
  return i < c->n_out ? onnx_value_make(c, n, type, &c->out[i]) : RLX_OK;
}

rlx_status onnx_set(onnx_call *c, uint32_t i, rlx_node n) {
  RLX_TRY(rlx_graph_status(c->imp->g));
  return onnx_set_as(c, i, n, n ? onnx_type_of(rlx_graph_at(c->imp->g, n)->type.dtype) : ONNX_UNDEFINED);
}

rlx_status onnx_set_like(onnx_call *c, uint32_t i, rlx_node n, uint32_t like) {
  return onnx_set_as(c, i, n, onnx_in_type(c, like));
}

rlx_status onnx_set_ints(onnx_call *c, uint32_t i, const int64_t *v, size_t n, bool is_scalar) {
  if (i >= c->n_out) return RLX_OK;
  int64_t *copy = onnx_alloc(c->imp, n + 1, sizeof *copy);
  if (!copy) return RLX_FAIL(RLX_NO_MEMORY, "%zu integers", n);
  if (n) memcpy(copy, v, n * sizeof *v);
  rlx_tensor t = {.dtype = RLX_I64, .shape = is_scalar ? RLX_SCALAR : RLX_DIMS((int64_t)n), .data = copy};
  return onnx_value_known(c->imp, ONNX_INT64, &t, &c->out[i]);
}

rlx_status onnx_set_sizes(onnx_call *c, uint32_t i, const int64_t *v, size_t n, bool is_scalar) {
  RLX_TRY(onnx_set_ints(c, i, v, n, is_scalar));
  for (size_t k = 0; i < c->n_out && k < n; k++) c->out[i]->is_open |= rlx_dim_is_open(v[k]);
  return RLX_OK;
}

rlx_status onnx_refuse(onnx_call *c, const char *fmt, ...) {
  char text[400];
  va_list args;
  (void)c;
  va_start(args, fmt);
  rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  return RLX_FAIL(RLX_UNSUPPORTED, "%s", text);
}

/* ---- steps of the host ---- */

/* Frees all possible outputs: a step may produce more than the node names. */
static void free_outputs(rlx_tensor out[ONNX_HOST_MAX]) {
  for (uint32_t i = 0; i < ONNX_HOST_MAX; i++) rlx_mem_free(out[i].data);
}

/* All inputs are known, so the step runs during the import and its results are known. */
static rlx_status compute_now(onnx_call *c, onnx_host_fn fn, const int64_t *p, const rlx_tensor *in, uint32_t n_in) {
  rlx_tensor out[ONNX_HOST_MAX] = {{0}};
  onnx_host_call h = {.in = in, .n_in = n_in, .out = out, .n_out = c->n_out, .p = p};
  rlx_status s = fn(&h);
  for (uint32_t i = 0; i < c->n_out && !s; i++) {
    if (!(out[i].bytes || out[i].data)) continue;
    rlx_tensor kept = out[i];
    kept.data = rlx_bump_copy(&c->imp->bump, out[i].data, out[i].bytes + !out[i].bytes, 1);
    s = kept.data ? onnx_value_known(c->imp, onnx_type_of(kept.dtype), &kept, &c->out[i])
                  : RLX_FAIL(RLX_NO_MEMORY, "a value");
  }
  free_outputs(out);
  return s;
}

static rlx_status make_live(onnx_call *c, uint32_t i, const rlx_type *type) {
  onnx_value *v = onnx_value_new(c->imp);
  if (!v) return RLX_NO_MEMORY;
  v->type = onnx_type_of(type->dtype);
  v->is = *type;
  c->out[i] = v;
  return onnx_live_add(c->imp, v, *c->node->out[i] ? c->node->out[i] : "unnamed");
}

rlx_status onnx_on_host(onnx_call *c, onnx_host_fn fn, const int64_t p[ONNX_HOST_NUMBERS]) {
  onnx_importer *imp = c->imp;
  rlx_tensor known[ONNX_HOST_MAX] = {{0}};
  uint32_t live[ONNX_HOST_MAX] = {0};
  rlx_type types[ONNX_HOST_MAX];
  char why[256];
  bool all = true, cut = false;
  if (c->n_in > ONNX_HOST_MAX || c->n_out > ONNX_HOST_MAX)
    return RLX_FAIL(RLX_INVALID, "%u inputs and %u outputs", (unsigned)c->n_in, (unsigned)c->n_out);
  snprintf(why, sizeof why, "node %u '%.100s' (%.60s): the size of its result depends on values",
           (unsigned)c->node->number, c->node->name, c->node->op);
  for (uint32_t i = 0; i < c->n_in; i++) {
    known[i].dtype = RLX_DTYPE_UNKNOWN;
    if (!c->in[i]) continue;
    RLX_TRY(onnx_know(imp, c->in[i]));
    if (imp->is_symbolic && (!c->in[i]->known || c->in[i]->is_open)) return onnx_need_numbers(imp, c->node->op);
    if (c->in[i]->known) RLX_TRY(tensor_of(c->in[i], &known[i]));
    else all = false, cut |= !c->in[i]->live;
  }
  if (all) return compute_now(c, fn, p, known, c->n_in);
  if (imp->inner) return RLX_FAIL(RLX_UNSUPPORTED, "%s, in a loop", why);
  if (cut) RLX_TRY(onnx_cut(imp, NULL, why));
  c->g = imp->g;
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i] && !c->in[i]->known) live[i] = c->in[i]->live;
  uint32_t first = (uint32_t)imp->live.n;
  RLX_TRY(
    onnx_stop(imp, imp->client->host(imp->client->user, fn, p, live, known, c->n_in, first, types, c->n_out, why)));
  for (uint32_t i = 0; i < c->n_out; i++) {
    if (types[i].dtype == RLX_DTYPE_UNKNOWN && *c->node->out[i])
      return RLX_FAIL(RLX_INVALID, "output %u ('%s') is not one of this op", (unsigned)i, c->node->out[i]);
    RLX_TRY(make_live(c, i, &types[i]));
  }
  return RLX_OK;
}
