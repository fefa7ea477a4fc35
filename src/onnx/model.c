/* Opens and closes models and answers queries about them. */
#include "onnx/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/budget.h"
#include "base/mem.h"
#include "base/os_file.h"
#include "base/sized.h"
#include "onnx/import.h"

const char *onnx_kind_name(onnx_kind k) {
  static const char *const names[ONNX_KINDS] = {"nothing", "a float",         "an int",         "a string", "a tensor",
                                                "a graph", "floats",          "ints",           "strings",  "tensors",
                                                "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return (unsigned)k < ONNX_KINDS ? names[k] : "?";
}

/* ---- opening ---- */

/* Common files that are not ONNX models, recognised by their first bytes. */
static rlx_status other_format(const rlx_onnx *m, const char **what) {
  static const struct {
    const char *begin, *what;
  } others[] = {{"GGUF", "a GGUF file"},
                {"PK\3\4", "a zip archive"},
                {"<!DOCTYPE", "an HTML page"},
                {"<!doctype", "an HTML page"},
                {"<html", "an HTML page"},
                {"version https://git-lfs", "a Git LFS pointer, not the file itself; fetch it with git lfs pull"},
                {"\x89HDF", "an HDF5 file"},
                {"\x93NUMPY", "a .npy array"},
                {"ORTM", "a model in ONNX Runtime's own format"}};
  char head[32] = {0};
  const wire_source *s = &m->files.v[0].source;
  size_t n = s->bytes < sizeof head - 1 ? (size_t)s->bytes : sizeof head - 1;
  *what = NULL;
  RLX_TRY(wire_source_read(s, 0, head, n));
  for (size_t i = 0; i < sizeof others / sizeof *others && !*what; i++)
    if (strncmp(head, others[i].begin, strlen(others[i].begin)) == 0) *what = others[i].what;
  if (!*what && n >= 8 && s->bytes > 8 && memcmp(head + 4, "ORTM", 4) == 0)
    *what = "a model in ONNX Runtime's own format";
  return RLX_OK;
}

static int by_op(const void *a, const void *b) {
  const rlx_onnx_op_use *x = a, *y = b;
  int order = strcmp(x->op, y->op);
  if (!order) order = strcmp(x->domain, y->domain);
  return order ? order : (x->opset > y->opset) - (x->opset < y->opset);
}

static bool is_function(const rlx_onnx *m, const onnx_node *n) { return onnx_find_function(m, n) != NULL; }

static rlx_status list_nodes(rlx_onnx *m, const onnx_node *nodes, uint32_t n, const onnx_opset *opsets,
                             uint32_t n_opsets) {
  for (uint32_t i = 0; i < n; i++) {
    int64_t opset = onnx_opset_version(opsets, n_opsets, nodes[i].domain);
    rlx_onnx_op_use u = {RLX_ONNX_OP_USE_INIT, nodes[i].op, nodes[i].domain, opset, 1, is_function(m, &nodes[i])};
    if (!rlx_array_push(&m->uses, u)) return RLX_FAIL(RLX_NO_MEMORY, "the list of ops");
    for (uint32_t k = 0; k < nodes[i].n_attributes; k++) {
      const onnx_graph *g = nodes[i].attributes[k].graph;
      if (g) RLX_TRY(list_nodes(m, g->nodes, g->n_nodes, opsets, n_opsets));
    }
  }
  return RLX_OK;
}

/* Ops in use, each once. */
static rlx_status list_uses(rlx_onnx *m) {
  RLX_TRY(list_nodes(m, m->graph->nodes, m->graph->n_nodes, m->opsets, m->n_opsets));
  for (uint32_t i = 0; i < m->n_functions; i++)
    RLX_TRY(
      list_nodes(m, m->functions[i].nodes, m->functions[i].n_nodes, m->functions[i].opsets, m->functions[i].n_opsets));
  if (m->uses.n) qsort(m->uses.v, m->uses.n, sizeof *m->uses.v, by_op);
  size_t n = 0;
  for (size_t i = 0; i < m->uses.n; i++) {
    rlx_onnx_op_use *last = n ? &m->uses.v[n - 1] : NULL;
    if (last && by_op(last, &m->uses.v[i]) == 0) {
      last->n_uses++;
      last->supported &= m->uses.v[i].supported;
    } else {
      m->uses.v[n++] = m->uses.v[i];
    }
  }
  m->uses.n = n;
  for (size_t i = 0; i < n; i++)
    m->uses.v[i].supported |= onnx_op_find(m->uses.v[i].domain, m->uses.v[i].op, m->uses.v[i].opset) != NULL;
  return RLX_OK;
}

static rlx_status take_in(rlx_onnx *m) {
  m->file_bytes = m->files.v[0].source.bytes;
  const char *other;
  RLX_TRY(other_format(m, &other));
  if (other) return RLX_FAIL(RLX_INVALID, "expected an ONNX model, got %s", other);
  RLX_TRY_AT(onnx_read(m), "expected an ONNX model");
  RLX_TRY(onnx_sort_functions(m));
  RLX_TRY(onnx_check(m));
  for (uint32_t i = 0; i < m->graph->n_inputs; i++)
    if (!rlx_name_map_put(&m->inputs, m->graph->inputs[i].name, i)) return RLX_FAIL(RLX_NO_MEMORY, "names of inputs");
  for (uint32_t i = 0; i < m->graph->n_initializers; i++)
    if (!rlx_name_map_put(&m->defaults, m->graph->initializers[i].name, i))
      return RLX_FAIL(RLX_NO_MEMORY, "names of weights");
  RLX_TRY(list_uses(m));
  return onnx_list_weights(m);
}

static rlx_status keep_folder(rlx_onnx *m, const char *path) {
  const size_t n = rlx_os_folder_bytes(path);
  m->folder = rlx_mem_calloc(n + 2, 1);
  if (!m->folder) return RLX_FAIL(RLX_NO_MEMORY, "the folder of '%s'", path);
  memcpy(m->folder, n ? path : ".", n ? n : 1);
  return RLX_OK;
}

static rlx_status create(rlx_onnx **out) {
  rlx_onnx *m = rlx_new(rlx_onnx);
  onnx_file f = {.source.fd = -1};
  *out = m;
  if (!m) return RLX_FAIL(RLX_NO_MEMORY, "an ONNX model");
  atomic_init(&m->refs, 1u);
  return rlx_array_push(&m->files, f) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "an ONNX model");
}

static rlx_status open_path(const char *path, rlx_onnx *m) {
  onnx_file *f = &m->files.v[0];
  size_t n = strlen(path) + 1;
  f->path = rlx_mem_alloc(n);
  if (!f->path) return RLX_FAIL(RLX_NO_MEMORY, "'%s'", path);
  memcpy(f->path, path, n);
  RLX_TRY(wire_source_open(f->path, &f->source));
  RLX_TRY(keep_folder(m, path));
  RLX_TRY_AT(take_in(m), "%s", path);
  return RLX_OK;
}

static rlx_status end_open(rlx_onnx *m, rlx_status s, rlx_onnx **out) {
  if (!s) *out = m;
  else rlx_onnx_close(m);
  return s;
}

rlx_status rlx_onnx_open(const char *path, const rlx_watch *watch, rlx_onnx **out) {
  rlx_onnx *m;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_open: out is NULL");
  *out = NULL;
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_onnx_open: path is NULL");
  RLX_TRY(rlx_watch_check("rlx_onnx_open", watch));
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_onnx_open", watch ? &watch->limits : NULL, RLX_LOAD_WORK, watch);
  rlx_status s = create(&m);
  if (!s) s = open_path(path, m);
  return end_open(m, rlx_budget_end(&budget, s), out);
}

rlx_status rlx_onnx_open_memory(const void *data, size_t bytes, const rlx_watch *watch, rlx_onnx **out) {
  rlx_onnx *m;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_open_memory: out is NULL");
  *out = NULL;
  if (!data && bytes) return RLX_FAIL(RLX_INVALID, "rlx_onnx_open_memory: data is NULL");
  RLX_TRY(rlx_watch_check("rlx_onnx_open_memory", watch));
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_onnx_open_memory", watch ? &watch->limits : NULL, RLX_LOAD_WORK, watch);
  rlx_status s = create(&m);
  if (!s) wire_source_from(data, bytes, &m->files.v[0].source);
  if (!s) s = take_in(m);
  return end_open(m, rlx_budget_end(&budget, s), out);
}

rlx_onnx *onnx_retain(rlx_onnx *m) {
  atomic_fetch_add(&m->refs, 1u);
  return m;
}

void rlx_onnx_close(rlx_onnx *m) {
  if (!m || atomic_fetch_sub(&m->refs, 1u) != 1) return;
  for (size_t i = 0; i < m->files.n; i++) {
    wire_source_close(&m->files.v[i].source);
    rlx_mem_free(m->files.v[i].path);
  }
  rlx_array_deinit(&m->files);
  rlx_array_deinit(&m->uses);
  rlx_array_deinit(&m->weights);
  rlx_array_deinit(&m->by_tensor);
  rlx_name_map_deinit(&m->inputs);
  rlx_name_map_deinit(&m->defaults);
  rlx_mem_free(m->folder);
  rlx_bump_deinit(&m->bump);
  rlx_mem_free(m);
}

/* ---- queries ---- */

uint32_t rlx_onnx_input_count(const rlx_onnx *m) { return m ? m->graph->n_inputs : 0; }
uint32_t rlx_onnx_output_count(const rlx_onnx *m) { return m ? m->graph->n_outputs : 0; }

bool onnx_has_default(const rlx_onnx *m, const char *name) {
  uint32_t ignored;
  return rlx_name_map_get(&m->defaults, name, &ignored);
}

static rlx_status describe_value(const rlx_onnx *m, const onnx_value_info *v, rlx_onnx_value *out) {
  bool is_tensor = strcmp(v->kind, "tensor") == 0;
  rlx_onnx_value d = {
    .name = v->name, .type = is_tensor ? onnx_type_name(v->type) : v->kind, .dtype = RLX_DTYPE_UNKNOWN, .rank = -1};
  if (is_tensor) d.dtype = onnx_type_carrier(v->type);
  if (v->rank > RLX_MAX_RANK) return RLX_FAIL(RLX_UNSUPPORTED, "'%s' has %d axes", v->name, (int)v->rank);
  d.rank = v->rank;
  for (int i = 0; i < v->rank; i++) {
    d.dim[i].size = v->dims[i].size;
    d.dim[i].symbol = v->dims[i].symbol;
  }
  d.has_default = onnx_has_default(m, v->name);
  return RLX_SIZED_WRITE("rlx_onnx_value", &d, out);
}

rlx_status rlx_onnx_input_at(const rlx_onnx *m, uint32_t i, rlx_onnx_value *out) {
  if (!m || !out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_input_at: a NULL");
  if (i >= m->graph->n_inputs)
    return RLX_FAIL(RLX_NOT_FOUND, "input %u of %u", (unsigned)i, (unsigned)m->graph->n_inputs);
  return describe_value(m, &m->graph->inputs[i], out);
}

rlx_status rlx_onnx_output_at(const rlx_onnx *m, uint32_t i, rlx_onnx_value *out) {
  if (!m || !out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_output_at: a NULL");
  if (i >= m->graph->n_outputs)
    return RLX_FAIL(RLX_NOT_FOUND, "output %u of %u", (unsigned)i, (unsigned)m->graph->n_outputs);
  return describe_value(m, &m->graph->outputs[i], out);
}

rlx_status rlx_onnx_describe(const rlx_onnx *m, rlx_onnx_info *out) {
  if (!m || !out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_describe: a NULL");
  rlx_onnx_info info = {.producer = m->producer,
                        .producer_version = m->producer_version,
                        .domain = m->domain,
                        .graph = m->graph->name,
                        .doc = m->doc,
                        .ir_version = m->ir_version,
                        .model_version = m->model_version,
                        .file_bytes = m->file_bytes,
                        .weight_bytes = m->weight_bytes,
                        .n_weights = m->n_weights,
                        .n_initializers = m->graph->n_initializers,
                        .n_nodes = m->n_nodes,
                        .n_functions = m->n_functions,
                        .n_opsets = m->n_opsets,
                        .n_metadata = m->n_metadata};
  return RLX_SIZED_WRITE("rlx_onnx_info", &info, out);
}

const char *rlx_onnx_opset_at(const rlx_onnx *m, uint32_t i, int64_t *version) {
  if (!m || i >= m->n_opsets) return NULL;
  if (version) *version = m->opsets[i].version;
  return *m->opsets[i].domain ? m->opsets[i].domain : "ai.onnx";
}

const char *rlx_onnx_metadata_at(const rlx_onnx *m, uint32_t i, const char **value) {
  if (!m || i >= m->n_metadata) return NULL;
  if (value) *value = m->metadata[i].value;
  return m->metadata[i].key;
}

uint32_t rlx_onnx_op_count(const rlx_onnx *m) { return m ? (uint32_t)m->uses.n : 0; }

rlx_status rlx_onnx_op_at(const rlx_onnx *m, uint32_t i, rlx_onnx_op_use *out) {
  if (!m || !out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_op_at: a NULL");
  if (i >= m->uses.n) return RLX_FAIL(RLX_NOT_FOUND, "op %u of %zu", (unsigned)i, m->uses.n);
  rlx_onnx_op_use use = m->uses.v[i];
  if (!*use.domain) use.domain = "ai.onnx";
  return RLX_SIZED_WRITE("rlx_onnx_op_use", &use, out);
}

rlx_status rlx_onnx_weight_at(const rlx_onnx *m, uint32_t i, rlx_onnx_weight *out) {
  if (!m || !out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_weight_at: a NULL");
  if (i >= m->graph->n_initializers)
    return RLX_FAIL(RLX_NOT_FOUND, "weight %u of %u", (unsigned)i, (unsigned)m->graph->n_initializers);
  const onnx_tensor *t = &m->graph->initializers[i];
  rlx_onnx_weight w = {.name = t->name,
                       .type = onnx_type_name(t->type),
                       .dtype = onnx_type_carrier(t->type),
                       .shape = t->dims,
                       .bytes = t->bytes,
                       .external = t->file != 0};
  return RLX_SIZED_WRITE("rlx_onnx_weight", &w, out);
}

/* ---- single tensors ---- */

static const onnx_tensor *find_tensor(const rlx_onnx *m, const char *name) {
  const onnx_weight *w = onnx_weight_named(m, name);
  uint32_t i;
  if (w) return w->tensor;
  return rlx_name_map_get(&m->defaults, name, &i) ? &m->graph->initializers[i] : NULL;
}

rlx_status rlx_onnx_weight_read(const rlx_onnx *m, const char *name, rlx_tensor *out) {
  size_t bytes;
  if (!m || !name || !out) return RLX_FAIL(RLX_INVALID, "rlx_onnx_weight_read: a NULL");
  *out = (rlx_tensor){0};
  const onnx_tensor *t = find_tensor(m, name);
  if (!t) return RLX_FAIL(RLX_NOT_FOUND, "the model has no weight '%s'", name);
  RLX_TRY(onnx_tensor_bytes(t, &bytes));
  void *data = rlx_mem_alloc(bytes);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s': %zu bytes", name, bytes);
  rlx_status s = onnx_tensor_read(m, t, data);
  if (s) rlx_mem_free(data);
  else *out = (rlx_tensor){onnx_type_carrier(t->type), t->dims, {data}, bytes};
  return s;
}

static rlx_status read_tensor(rlx_onnx *m, char *name, size_t cap, rlx_tensor *out) {
  onnx_tensor t;
  wire_source own = m->files.v[0].source;
  size_t bytes;
  RLX_TRY(onnx_read_tensor(m, (wire){&own, 0, own.bytes}, &t));
  RLX_TRY(onnx_tensor_bytes(&t, &bytes));
  void *data = rlx_mem_alloc(bytes);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "a tensor of %zu bytes", bytes);
  rlx_status s = onnx_tensor_read(m, &t, data);
  if (s) {
    rlx_mem_free(data);
    return s;
  }
  *out = (rlx_tensor){onnx_type_carrier(t.type), t.dims, {data}, bytes};
  if (name && cap) {
    size_t n = strlen(t.name) < cap - 1 ? strlen(t.name) : cap - 1;
    memcpy(name, t.name, n);
    name[n] = '\0';
  }
  return RLX_OK;
}

rlx_status rlx_onnx_tensor_read(const char *path, char *name, size_t cap, rlx_tensor *out) {
  rlx_onnx *m;
  if (!out || !path) return RLX_FAIL(RLX_INVALID, "rlx_onnx_tensor_read: a NULL");
  *out = (rlx_tensor){0};
  rlx_status s = create(&m);
  if (!s) s = wire_source_open(path, &m->files.v[0].source);
  if (!s) s = read_tensor(m, name, cap, out);
  rlx_onnx_close(m);
  if (s) return rlx_fail_frame(s, "%s", path);
  return RLX_OK;
}
