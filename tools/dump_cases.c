/* Writes every conformance case for the golden script: DIR/cases.json with the graphs, DIR/<n>.bin with each leaf's
 * bytes. Usage: dump_cases DIR [op,op,..]. The script (tools/goldens/make_goldens.py) reads them and writes goldens. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "conform/conform.h"
#include "conform/golden.h"
#include "ir/text.h"

static void add_dims(rlx_str *s, const rlx_dims *d) {
  rlx_str_add_char(s, '[');
  for (int i = 0; i < d->n; i++) rlx_str_add(s, "%s%lld", i ? "," : "", (long long)d->v[i]);
  rlx_str_add_char(s, ']');
}

static void add_double(rlx_str *s, double x) { /* Python's json reads these words */
  if (isnan(x)) rlx_str_add(s, "NaN");
  else if (isinf(x)) rlx_str_add(s, x < 0 ? "-Infinity" : "Infinity");
  else rlx_str_add_double(s, x);
}

static void add_graph(rlx_str *s, const rlx_graph *g);

static void add_attr(rlx_str *s, const rlx_attr_field *f, const void *at) {
  switch (f->kind) {
    case RLX_ATTR_INT:
    case RLX_ATTR_BOOL:
    case RLX_ATTR_DIMS:
    case RLX_ATTR_TEXT: rlx_text_attr(s, NULL, f, at, 0); break; /* the text form is JSON here */
    case RLX_ATTR_ENUM:
    case RLX_ATTR_TYPE:
      rlx_str_add_char(s, '"');
      rlx_text_attr(s, NULL, f, at, 0);
      rlx_str_add_char(s, '"');
      break;
    case RLX_ATTR_FLOAT: add_double(s, *(const double *)at); break;
    case RLX_ATTR_FLOATS: {
      const rlx_floats *v = at;
      rlx_str_add_char(s, '[');
      for (int i = 0; i < v->n; i++) {
        if (i) rlx_str_add_char(s, ',');
        add_double(s, v->v[i]);
      }
      rlx_str_add_char(s, ']');
      break;
    }
    case RLX_ATTR_GRAPH: add_graph(s, *(rlx_graph *const *)at); break;
    case RLX_ATTR_DATA: {
      const rlx_blob *b = *(rlx_blob *const *)at;
      rlx_str_add_char(s, '"');
      for (size_t i = 0; i < b->bytes; i++) rlx_str_add(s, "%02x", b->data[i]);
      rlx_str_add_char(s, '"');
      break;
    }
  }
}

static void add_node(rlx_str *s, const rlx_graph *g, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(g, id);
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  rlx_str_add(s, "{\"id\":%u,\"op\":\"%s\",\"dtype\":\"%s\",\"shape\":", (unsigned)id, row->name,
              rlx_dtype_name(n->type.dtype));
  add_dims(s, &n->type.shape);
  rlx_str_add(s, ",\"inputs\":[");
  for (uint32_t i = 0; i < n->n_in; i++) rlx_str_add(s, "%s%u", i ? "," : "", (unsigned)n->in[i]);
  rlx_str_add(s, "],\"attrs\":{");
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    rlx_str_add(s, "%s\"%s\":", i ? "," : "", row->attrs[i].name);
    add_attr(s, &row->attrs[i], rlx_attr_at(n->attrs, &row->attrs[i]));
  }
  rlx_str_add(s, "}}");
}

static void add_graph(rlx_str *s, const rlx_graph *g) {
  rlx_str_add(s, "{\"nodes\":[");
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (id > 1) rlx_str_add(s, ",\n");
    add_node(s, g, id);
  }
  rlx_str_add(s, "],\"outputs\":[");
  for (size_t i = 0; i < g->outputs.n; i++) rlx_str_add(s, "%s%u", i ? "," : "", (unsigned)g->outputs.v[i].node);
  rlx_str_add(s, "]}");
}

static rlx_status dump_case(rlx_str *s, const char *dir, rlx_op op, const rlx_case *c, unsigned *files) {
  rlx_case_built b;
  RLX_TRY(rlx_case_build(op, c, &b));
  rlx_str_add(s, "{\"op\":\"%s\",\"case\":\"%s\",\"inputs_hash\":\"%016llx\",\"values\":{", rlx_op_table_get(op)->name,
              c->name, (unsigned long long)rlx_golden_inputs_hash(&b));
  rlx_status status = RLX_OK;
  for (size_t i = 0; i < b.n_values && !status; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%u.bin", dir, *files);
    rlx_str_add(s, "%s\"%s\":\"%u.bin\"", i ? "," : "", b.names[i], (*files)++);
    status = rlx_file_write(path, b.values[i].data, b.values[i].bytes);
  }
  rlx_str_add(s, "},\"graph\":");
  add_graph(s, b.graph);
  rlx_str_add_char(s, '}');
  rlx_case_deinit(&b);
  return status;
}

static bool is_wanted(const char *list, const char *op) {
  size_t n = strlen(op);
  for (const char *p = list; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
    if (strcspn(p, ",") == n && memcmp(p, op, n) == 0) return true;
  return !list;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: dump_cases DIR [op,op,..]\n");
    return 2;
  }
  rlx_str s = {0};
  unsigned files = 0, cases = 0, failed = 0;
  rlx_str_add(&s, "{\"cases\":[\n");
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *table = rlx_case_table_get((rlx_op)op);
    if (!is_wanted(argc > 2 ? argv[2] : NULL, rlx_op_table_get((rlx_op)op)->name)) continue;
    for (size_t i = 0; i < table->n; i++) {
      size_t before = s.n;
      if (cases) rlx_str_add(&s, ",\n");
      if (dump_case(&s, argv[1], (rlx_op)op, &table->v[i], &files)) {
        fprintf(stderr, "%s\n", rlx_message());
        s.n = before;
        failed++;
      } else {
        cases++;
      }
    }
  }
  rlx_str_add(&s, "\n]}\n");
  char path[1024];
  snprintf(path, sizeof path, "%s/cases.json", argv[1]);
  if (s.failed || rlx_file_write(path, s.v, s.n)) {
    fprintf(stderr, "%s\n", rlx_message());
    return 1;
  }
  rlx_str_deinit(&s);
  fprintf(stderr, "%u cases written, %u could not be built\n", cases, failed);
  return failed ? 1 : 0;
}
