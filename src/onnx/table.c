/* The table of ONNX ops, looked up by domain, name and opset version. */
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "onnx/importer.h"
#include "onnx/ops.h"

#define ROW(domain, name, since, until, min, max, fn) {domain, name, since, until, min, max, fn, false},
#define OPEN(domain, name, since, until, min, max, fn) {domain, name, since, until, min, max, fn, true},
static const onnx_op_row rows[] = {
#include "onnx/ops.def"
};
#undef OPEN
#undef ROW

size_t onnx_op_rows(const onnx_op_row **out) {
  *out = rows;
  return sizeof rows / sizeof *rows;
}

/* The rows sorted by name, for binary search. */
enum { N_ROWS = sizeof rows / sizeof *rows };
static const onnx_op_row *sorted[N_ROWS];
static rlx_once sorted_once = RLX_ONCE_INIT;

static int by_name(const void *a, const void *b) {
  return strcmp((*(const onnx_op_row *const *)a)->name, (*(const onnx_op_row *const *)b)->name);
}

static void sort_rows(void) {
  for (size_t i = 0; i < N_ROWS; i++) sorted[i] = &rows[i];
  qsort(sorted, N_ROWS, sizeof *sorted, by_name);
}

const onnx_op_row *onnx_op_find(const char *domain, const char *name, int64_t opset) {
  size_t low = 0, high = N_ROWS; /* the first row of this name is in low .. high */
  rlx_once_run(&sorted_once, sort_rows);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (strcmp(sorted[middle]->name, name) < 0) low = middle + 1;
    else high = middle;
  }
  for (; low < N_ROWS && strcmp(sorted[low]->name, name) == 0; low++) {
    const onnx_op_row *r = sorted[low];
    if (strcmp(r->domain, domain) == 0 && opset >= r->since && (!r->until || opset <= r->until)) return r;
  }
  return NULL;
}

/* ---- what a model needs and RLX does not have ---- */

enum { MAX_REPORT = 2500 }; /* bytes */

typedef struct refusals {
  rlx_str text;
  uint32_t n;
} refusals;

static void refuse_ops(const rlx_onnx *m, refusals *r) {
  for (size_t i = 0; i < m->uses.n; i++) {
    const rlx_onnx_op_use *u = &m->uses.v[i];
    if (u->supported) continue;
    r->n++;
    if (r->text.n < MAX_REPORT)
      rlx_str_add(&r->text, "; %s (%s %lld), %u node%s: %s", u->op, *u->domain ? u->domain : "ai.onnx",
                  (long long)u->opset, (unsigned)u->n_uses, u->n_uses == 1 ? "" : "s",
                  u->opset ? "RLX does not have this op" : "its domain is not imported");
  }
}

/* Nodes with attributes that their op does not have, those of branches and functions too. */
static void refuse_attributes(const rlx_onnx *m, const onnx_node *nodes, uint32_t n, const onnx_opset *opsets,
                              uint32_t n_opsets, refusals *r) {
  for (uint32_t i = 0; i < n; i++) {
    const onnx_node *x = &nodes[i];
    const onnx_function *f = onnx_find_function(m, x);
    int64_t opset = onnx_opset_version(opsets, n_opsets, x->domain);
    rlx_str names = {0};
    uint32_t count = f || onnx_op_find(x->domain, x->op, opset) ? onnx_list_foreign(x, opset, f, &names) : 0;
    r->n += count;
    if (count && r->text.n < MAX_REPORT)
      rlx_str_add(&r->text, "; node %u '%s': %s (%s %lld)%s the attribute%s %s", (unsigned)x->number, x->name, x->op,
                  *x->domain ? x->domain : "ai.onnx", (long long)opset,
                  f || !*x->domain ? " does not have" : ": RLX does not read", count == 1 ? "" : "s",
                  names.v ? names.v : "");
    rlx_str_deinit(&names);
    for (uint32_t k = 0; k < x->n_attributes; k++) {
      const onnx_graph *g = x->attributes[k].graph;
      if (g) refuse_attributes(m, g->nodes, g->n_nodes, opsets, n_opsets, r);
    }
  }
}

static void refuse_values(const char *what, const onnx_value_info *v, uint32_t n, refusals *r) {
  for (uint32_t i = 0; i < n; i++) {
    bool is_tensor = strcmp(v[i].kind, "tensor") == 0;
    if ((is_tensor && onnx_type_carrier(v[i].type) != RLX_DTYPE_UNKNOWN) || !*v[i].kind) continue;
    r->n++;
    if (r->text.n < MAX_REPORT)
      rlx_str_add(&r->text, "; %s '%s': RLX has no %s%s", what, v[i].name, is_tensor ? "tensors of " : v[i].kind,
                  is_tensor ? onnx_type_name(v[i].type) : "s");
  }
}

rlx_status rlx_onnx_supported(const rlx_onnx *m) {
  refusals r = {.n = 0};
  if (!m) return RLX_FAIL(RLX_INVALID, "rlx_onnx_supported: model is NULL");
  refuse_ops(m, &r);
  refuse_attributes(m, m->graph->nodes, m->graph->n_nodes, m->opsets, m->n_opsets, &r);
  for (uint32_t i = 0; i < m->n_functions; i++)
    refuse_attributes(m, m->functions[i].nodes, m->functions[i].n_nodes, m->functions[i].opsets,
                      m->functions[i].n_opsets, &r);
  refuse_values("input", m->graph->inputs, m->graph->n_inputs, &r);
  refuse_values("output", m->graph->outputs, m->graph->n_outputs, &r);
  rlx_status s = r.n ? RLX_FAIL(RLX_UNSUPPORTED, "%u thing%s that RLX cannot import%s%s", (unsigned)r.n,
                                r.n == 1 ? "" : "s", r.text.v ? r.text.v : "", r.text.n < MAX_REPORT ? "" : "; ..")
                     : RLX_OK;
  rlx_str_deinit(&r.text);
  return s;
}
