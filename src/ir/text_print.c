/* Printer of the text form: a graph as text that the parser reads back to an identical graph.
 *
 *   graph {
 *     symbols B
 *     %1 = input "x" : f32[B,4]
 *     %2 = constant : f32[4] = [0, 1, 0.5, -1]
 *     %3 = add(%1, %2) : f32[B,4]
 *     %4 = softmax(%3) {axis=0} : f32[B,4]
 *     output "y" = %4
 *   }
 *
 * An absent optional input is "_". Attributes at their default are omitted. Enums are printed by name, sub-graphs in
 * place. A small constant is a list, a larger one hex bytes. */
#include <inttypes.h>
#include <math.h>

#include "base/half.h"
#include "base/str.h"
#include "ir/algebra.h"
#include "ir/text.h"

enum { LIST_LIMIT = 16 }; /* maximum number of elements printed as a list */

static void print_graph(rlx_str *s, const rlx_graph *g, int indent);

static void print_dims(rlx_str *s, const rlx_graph *g, const rlx_dims *d) {
  rlx_str_add_char(s, '[');
  for (int i = 0; i < d->n; i++) {
    if (i) rlx_str_add_char(s, ',');
    if (d->v[i] == RLX_DIM_UNKNOWN) rlx_str_add_char(s, '?');
    else if (rlx_dim_is_symbol(d->v[i])) rlx_algebra_text(g, d->v[i], s);
    else rlx_str_add(s, "%" PRId64, d->v[i]);
  }
  rlx_str_add_char(s, ']');
}

void rlx_text_type(rlx_str *s, const rlx_graph *g, const rlx_type *t) {
  rlx_str_add(s, "%s", rlx_dtype_name(t->dtype));
  print_dims(s, g, &t->shape);
}

/* The i-th of space-separated names. */
static void print_enum(rlx_str *s, const char *names, int32_t i) {
  for (; i > 0; i--)
    while (*names++ != ' ') {}
  size_t n = 0;
  while (names[n] && names[n] != ' ') n++;
  rlx_str_add_bytes(s, names, n);
}

void rlx_text_attr(rlx_str *s, const rlx_graph *g, const rlx_attr_field *f, const void *at, int indent) {
  switch (f->kind) {
    case RLX_ATTR_INT: rlx_str_add(s, "%" PRId64, *(const int64_t *)at); break;
    case RLX_ATTR_FLOAT: rlx_str_add_double(s, *(const double *)at); break;
    case RLX_ATTR_BOOL: rlx_str_add(s, "%s", *(const bool *)at ? "true" : "false"); break;
    case RLX_ATTR_ENUM: print_enum(s, f->names, *(const int32_t *)at); break;
    case RLX_ATTR_TYPE: rlx_str_add(s, "%s", rlx_dtype_name(*(const rlx_dtype *)at)); break;
    case RLX_ATTR_DIMS: print_dims(s, g, at); break;
    case RLX_ATTR_FLOATS: {
      const rlx_floats *v = at;
      rlx_str_add_char(s, '[');
      for (int i = 0; i < v->n; i++) {
        if (i) rlx_str_add_char(s, ',');
        rlx_str_add_double(s, v->v[i]);
      }
      rlx_str_add_char(s, ']');
      break;
    }
    case RLX_ATTR_TEXT: {
      const char *text = *(const char *const *)at;
      rlx_str_add_quoted(s, text ? text : "");
      break;
    }
    case RLX_ATTR_GRAPH: print_graph(s, *(rlx_graph *const *)at, indent); break;
    case RLX_ATTR_DATA: break; /* printed by print_constant */
  }
}

/* ---- constants ---- */

static bool load_number(const rlx_blob *b, rlx_dtype dtype, size_t i, double *f, int64_t *n) {
  const unsigned char *at = b->data + i * rlx_dtype_size(dtype);
  union {
    float f32;
    double f64;
    uint16_t u16;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    unsigned char bytes[8];
  } v = {.i64 = 0};
  for (size_t k = 0; k < rlx_dtype_size(dtype); k++) v.bytes[k] = at[k];
  switch (dtype) {
    case RLX_F32: *f = (double)v.f32; return true;
    case RLX_F64: *f = v.f64; return true;
    case RLX_F16: *f = (double)rlx_f16_to_f32(v.u16); return true;
    case RLX_BF16: *f = (double)rlx_bf16_to_f32(v.u16); return true;
    case RLX_I8: *n = v.i8; return false;
    case RLX_U8:
    case RLX_BOOL: *n = v.u8; return false;
    case RLX_I16: *n = v.i16; return false;
    case RLX_U16: *n = v.u16; return false;
    case RLX_I32: *n = v.i32; return false;
    case RLX_U32: *n = v.u32; return false;
    default: *n = v.i64; return false;
  }
}

/* Printed as bytes instead: NaN, which has many bit patterns, block types, which have no elements to list, and the
 * rarely read 8-bit floats and u64. */
static bool can_list(const rlx_blob *b, rlx_dtype dtype, size_t count) {
  if (count > LIST_LIMIT || !rlx_text_lists(dtype)) return false;
  for (size_t i = 0; rlx_dtype_is_float(dtype) && i < count; i++) {
    double f = 0;
    int64_t n;
    load_number(b, dtype, i, &f, &n);
    if (isnan(f)) return false;
  }
  return true;
}

static void print_constant(rlx_str *s, const rlx_node_rec *node) {
  const rlx_blob *b = RLX_ATTRS(constant, node)->data;
  size_t count = rlx_dims_count(&node->type.shape);
  rlx_dtype dtype = node->type.dtype;
  if (!can_list(b, dtype, count)) {
    static const char digits[] = "0123456789abcdef";
    rlx_str_add(s, " = hex \"");
    for (size_t i = 0; i < b->bytes; i++) {
      char two[2] = {digits[b->data[i] >> 4], digits[b->data[i] & 15]};
      rlx_str_add_bytes(s, two, 2);
    }
    rlx_str_add_char(s, '"');
    return;
  }
  rlx_str_add(s, " = [");
  for (size_t i = 0; i < count; i++) {
    double f = 0;
    int64_t n = 0;
    if (i) rlx_str_add(s, ", ");
    if (!load_number(b, dtype, i, &f, &n)) rlx_str_add(s, "%" PRId64, n);
    else if (dtype == RLX_F64) rlx_str_add_double(s, f);
    else rlx_str_add_float(s, (float)f);
  }
  rlx_str_add_char(s, ']');
}

/* ---- nodes and graphs ---- */

void rlx_text_node(rlx_str *s, const rlx_graph *g, rlx_node id, int indent) {
  const rlx_node_rec *node = rlx_graph_at(g, id);
  const rlx_op_table_row *row = rlx_op_table_get(node->op);
  rlx_str_add(s, "%%%u = %s", (unsigned)id, row->name);
  if (row->traits & RLX_TRAIT_LEAF) {
    const char *name = rlx_node_name(g, id);
    if (name) {
      rlx_str_add_char(s, ' ');
      rlx_str_add_quoted(s, name);
    }
  } else {
    rlx_str_add_char(s, '(');
    for (uint32_t i = 0; i < node->n_in; i++) {
      if (i) rlx_str_add(s, ", ");
      if (node->in[i]) rlx_str_add(s, "%%%u", (unsigned)node->in[i]);
      else rlx_str_add_char(s, '_');
    }
    rlx_str_add_char(s, ')');
    const char *before = " {";
    for (uint32_t i = 0; i < row->n_attrs; i++) {
      const rlx_attr_field *f = &row->attrs[i];
      const void *at = rlx_attr_at(node->attrs, f);
      if (rlx_attr_equal(f, at, rlx_attr_at(row->attrs_default, f))) continue;
      rlx_str_add(s, "%s%s=", before, f->name);
      rlx_text_attr(s, g, f, at, indent);
      before = ", ";
    }
    if (before[0] == ',') rlx_str_add_char(s, '}');
  }
  rlx_str_add(s, " : ");
  rlx_text_type(s, g, &node->type);
  if (node->op == RLX_OP_constant) print_constant(s, node);
}

static void print_graph(rlx_str *s, const rlx_graph *g, int indent) {
  rlx_str_add(s, "graph {\n");
  if (g->symbols.n) {
    rlx_str_add(s, "%*ssymbols", indent + 2, "");
    for (size_t i = 0; i < g->symbols.n; i++) rlx_str_add(s, "%s %s", i ? "," : "", g->symbols.v[i]);
    rlx_str_add_char(s, '\n');
  }
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    rlx_str_add(s, "%*s", indent + 2, "");
    rlx_text_node(s, g, id, indent + 2);
    rlx_str_add_char(s, '\n');
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    rlx_str_add(s, "%*soutput ", indent + 2, "");
    rlx_str_add_quoted(s, g->outputs.v[i].name);
    rlx_str_add(s, " = %%%u\n", (unsigned)g->outputs.v[i].node);
  }
  rlx_str_add(s, "%*s}", indent, "");
}

rlx_status rlx_graph_print(const rlx_graph *g, char **text) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_graph_print: text is NULL");
  *text = NULL;
  if (!g) return RLX_FAIL(RLX_INVALID, "rlx_graph_print: the graph is NULL");
  rlx_str s = {0};
  print_graph(&s, g, 0);
  rlx_str_add_char(&s, '\n');
  return rlx_str_take(&s, text);
}

void rlx_free(void *p) { rlx_mem_free(p); }
