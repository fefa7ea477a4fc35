/* Parser of the text form: recursive descent over the grammar shown in text_print.c.
 *
 * The text is untrusted: every number is range-checked, nesting is bounded, and rlx_graph_add checks every node. Names
 * after % are any letters, digits, '_' or '.'; they need not be in order. The type after ':' is required for leaves and
 * checked if present. */
#include <string.h>

#include "base/half.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "ir/text_lex.h"

typedef struct parser {
  rlx_lexer lex;
  rlx_name_map ops; /* op names */
  uint32_t depth;
} parser;

/* The graph's error, prefixed with the line in the text. */
static rlx_status graph_status(const parser *p, const rlx_graph *g, const char *at) {
  size_t column;
  RLX_TRY_AT(rlx_graph_status(g), "line %zu", rlx_lex_line(&p->lex, at, &column));
  return RLX_OK;
}

/* ---- types ---- */

static rlx_status parse_dtype(parser *p, rlx_dtype *out) {
  size_t n;
  const char *w = rlx_lex_word(&p->lex, &n);
  char name[16] = {0};
  if (n && n < sizeof name) memcpy(name, w, n);
  *out = rlx_dtype_from_name(name);
  if (*out != RLX_DTYPE_UNKNOWN) return RLX_OK;
  p->lex.at = w;
  return rlx_lex_fail(&p->lex, "an element type");
}

/* "[1,B,?]". Unknown sizes are allowed only in types that are checked, not in attributes. */
static rlx_status parse_dims(parser *p, rlx_graph *g, bool allow_unknown, rlx_dims *out) {
  *out = (rlx_dims){.n = 0};
  RLX_TRY(rlx_lex_expect(&p->lex, '['));
  if (rlx_lex_accept(&p->lex, ']')) return RLX_OK;
  do {
    if (out->n == RLX_MAX_RANK) return rlx_lex_fail(&p->lex, "at most 8 entries");
    int64_t *d = &out->v[out->n++];
    rlx_lex_skip(&p->lex);
    if (p->lex.at < p->lex.end && rlx_lex_is_letter(*p->lex.at)) {
      size_t n;
      const char *w = rlx_lex_word(&p->lex, &n), *name;
      RLX_TRY(rlx_lex_copy(&p->lex, w, n, &name));
      *d = rlx_graph_add_symbol(g, name);
      RLX_TRY(graph_status(p, g, w));
    } else if (allow_unknown && rlx_lex_accept(&p->lex, '?')) {
      *d = RLX_DIM_UNKNOWN;
    } else {
      RLX_TRY(rlx_lex_int(&p->lex, d));
      if (rlx_dim_is_open(*d)) return rlx_lex_fail(&p->lex, "a size");
    }
  } while (rlx_lex_accept(&p->lex, ','));
  return rlx_lex_expect(&p->lex, ']');
}

static rlx_status parse_type(parser *p, rlx_graph *g, rlx_type *out) {
  RLX_TRY(parse_dtype(p, &out->dtype));
  return parse_dims(p, g, true, &out->shape);
}

/* ---- attributes ---- */

static rlx_status parse_graph(parser *p, rlx_graph **out);

static rlx_status parse_enum(parser *p, const char *names, int32_t *out) {
  size_t n;
  const char *w = rlx_lex_word(&p->lex, &n);
  int32_t i = 0;
  for (const char *name = names; n && *name; i++) {
    size_t length = strcspn(name, " ");
    if (length == n && memcmp(name, w, n) == 0) {
      *out = i;
      return RLX_OK;
    }
    name += length + (name[length] == ' ');
  }
  p->lex.at = w;
  return rlx_lex_fail(&p->lex, names);
}

static rlx_status parse_floats(parser *p, rlx_floats *out) {
  *out = (rlx_floats){.n = 0};
  RLX_TRY(rlx_lex_expect(&p->lex, '['));
  if (rlx_lex_accept(&p->lex, ']')) return RLX_OK;
  do {
    if (out->n == RLX_MAX_RANK) return rlx_lex_fail(&p->lex, "at most 8 entries");
    RLX_TRY(rlx_lex_double(&p->lex, &out->v[out->n++]));
  } while (rlx_lex_accept(&p->lex, ','));
  return rlx_lex_expect(&p->lex, ']');
}

static rlx_status parse_attr(parser *p, rlx_graph *g, const rlx_attr_field *f, void *at) {
  switch (f->kind) {
    case RLX_ATTR_INT: return rlx_lex_int(&p->lex, at);
    case RLX_ATTR_FLOAT: return rlx_lex_double(&p->lex, at);
    case RLX_ATTR_BOOL:
      *(bool *)at = rlx_lex_accept_word(&p->lex, "true");
      return *(bool *)at || rlx_lex_accept_word(&p->lex, "false") ? RLX_OK : rlx_lex_fail(&p->lex, "true or false");
    case RLX_ATTR_ENUM: return parse_enum(p, f->names, at);
    case RLX_ATTR_TYPE: return parse_dtype(p, at);
    case RLX_ATTR_DIMS: return parse_dims(p, g, false, at);
    case RLX_ATTR_FLOATS: return parse_floats(p, at);
    case RLX_ATTR_TEXT: return rlx_lex_string(&p->lex, at);
    case RLX_ATTR_GRAPH: return parse_graph(p, at);
    case RLX_ATTR_DATA: break;
  }
  return rlx_lex_fail(&p->lex, "an attribute that can be written");
}

/* "{name=value, ..}", over the defaults in attrs. attrs owns the sub-graphs parsed so far, even on failure. */
static rlx_status parse_attrs(parser *p, rlx_graph *g, const rlx_op_table_row *row, void *attrs) {
  uint32_t seen = 0;
  if (!rlx_lex_accept(&p->lex, '{') || rlx_lex_accept(&p->lex, '}')) return RLX_OK;
  do {
    size_t n;
    const char *w = rlx_lex_word(&p->lex, &n);
    const rlx_attr_field *f = rlx_attr_find(row, w, n);
    if (!f || f->kind == RLX_ATTR_DATA) {
      p->lex.at = w;
      return rlx_lex_fail(&p->lex, "an attribute of this op");
    }
    uint32_t bit = 1u << (f - row->attrs);
    if (seen & bit) {
      p->lex.at = w;
      return rlx_lex_fail(&p->lex, "each attribute once");
    }
    seen |= bit;
    RLX_TRY(rlx_lex_expect(&p->lex, '='));
    RLX_TRY(parse_attr(p, g, f, rlx_attr_at(attrs, f)));
  } while (rlx_lex_accept(&p->lex, ','));
  return rlx_lex_expect(&p->lex, '}');
}

/* ---- constants ---- */

static void store_number(unsigned char *at, rlx_dtype dtype, double f, int64_t n) {
  float f32 = (float)f;
  uint16_t half = dtype == RLX_F16 ? rlx_f64_to_f16(f) : rlx_f64_to_bf16(f);
  switch (dtype) { /* integers: the low bytes, because machine and formats are little endian */
    case RLX_F32: memcpy(at, &f32, sizeof f32); break;
    case RLX_F64: memcpy(at, &f, sizeof f); break;
    case RLX_F16:
    case RLX_BF16: memcpy(at, &half, sizeof half); break;
    default: memcpy(at, &n, rlx_dtype_size(dtype)); break;
  }
}

static rlx_status parse_list(parser *p, rlx_type type, rlx_blob *b) {
  size_t count = rlx_dims_count(&type.shape), size = rlx_dtype_size(type.dtype);
  if (!rlx_text_lists(type.dtype)) return rlx_lex_fail(&p->lex, "hex bytes for this type");
  RLX_TRY(rlx_lex_expect(&p->lex, '['));
  for (size_t i = 0; i < count; i++) {
    double f = 0;
    int64_t n = 0;
    if (i) RLX_TRY(rlx_lex_expect(&p->lex, ','));
    if (type.dtype == RLX_BOOL && rlx_lex_accept_word(&p->lex, "true")) n = 1;
    else if (type.dtype == RLX_BOOL && rlx_lex_accept_word(&p->lex, "false")) n = 0;
    else RLX_TRY(rlx_dtype_is_float(type.dtype) ? rlx_lex_double(&p->lex, &f) : rlx_lex_int(&p->lex, &n));
    if (n < rlx_dtype_min(type.dtype) || n > rlx_dtype_max(type.dtype))
      return rlx_lex_fail(&p->lex, "numbers that fit the type before this");
    store_number(b->data + i * size, type.dtype, f, n);
  }
  return rlx_lex_expect(&p->lex, ']');
}

static rlx_status parse_hex(parser *p, rlx_blob *b) {
  RLX_TRY(rlx_lex_expect(&p->lex, '"'));
  for (size_t i = 0; i < b->bytes; i++) {
    uint32_t high, low;
    if (p->lex.end - p->lex.at < 2 || !rlx_lex_hex(p->lex.at[0], &high) || !rlx_lex_hex(p->lex.at[1], &low))
      return rlx_lex_fail(&p->lex, "two hex digits per byte");
    b->data[i] = (unsigned char)(high * 16 + low);
    p->lex.at += 2;
  }
  return rlx_lex_expect(&p->lex, '"');
}

static rlx_status parse_constant_data(parser *p, rlx_type type, rlx_blob **out) {
  size_t bytes, column;
  RLX_TRY(rlx_lex_expect(&p->lex, '='));
  RLX_TRY_AT(rlx_tensor_bytes(type.dtype, type.shape, &bytes), "line %zu", rlx_lex_line(&p->lex, p->lex.at, &column));
  /* A byte takes at least one character of text: sizes that the text cannot contain are rejected before allocating. */
  if (bytes / 8 > (size_t)(p->lex.end - p->lex.at)) return rlx_lex_fail(&p->lex, "data for the whole constant");
  *out = rlx_blob_create(bytes);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "a constant of %zu bytes", bytes);
  return rlx_lex_accept_word(&p->lex, "hex") ? parse_hex(p, *out) : parse_list(p, type, *out);
}

/* ---- statements ---- */

typedef struct body {
  rlx_graph *graph;
  rlx_name_map nodes; /* the name after % -> node */
  RLX_ARRAY(rlx_node) inputs;
} body;

static rlx_status parse_node_ref(parser *p, const body *b, rlx_node *out) {
  RLX_TRY(rlx_lex_expect(&p->lex, '%'));
  size_t n;
  const char *w = rlx_lex_word(&p->lex, &n);
  char name[128];
  if (n && n < sizeof name) {
    memcpy(name, w, n);
    name[n] = 0;
    uint32_t id;
    if (rlx_name_map_get(&b->nodes, name, &id)) return *out = id, RLX_OK;
  }
  p->lex.at = w;
  return rlx_lex_fail(&p->lex, "the name of an earlier node");
}

static rlx_status parse_inputs(parser *p, body *b) {
  b->inputs.n = 0;
  RLX_TRY(rlx_lex_expect(&p->lex, '('));
  if (rlx_lex_accept(&p->lex, ')')) return RLX_OK;
  do {
    rlx_node in = RLX_NONE;
    if (!rlx_lex_accept_word(&p->lex, "_")) RLX_TRY(parse_node_ref(p, b, &in));
    if (!rlx_array_push(&b->inputs, in)) return RLX_FAIL(RLX_NO_MEMORY, "parsing");
  } while (rlx_lex_accept(&p->lex, ','));
  return rlx_lex_expect(&p->lex, ')');
}

static rlx_status parse_leaf(parser *p, body *b, rlx_op op, rlx_node *out) {
  rlx_type type;
  const char *name = NULL, *from = p->lex.at;
  rlx_blob *data = NULL;
  if (op != RLX_OP_constant) RLX_TRY(rlx_lex_string(&p->lex, &name));
  RLX_TRY(rlx_lex_expect(&p->lex, ':'));
  RLX_TRY(parse_type(p, b->graph, &type));
  rlx_attrs_input named = {.name = name, .dtype = type.dtype, .shape = type.shape};
  rlx_status s = op == RLX_OP_constant ? rlx_graph_name_symbols(b->graph, parse_constant_data(p, type, &data)) : RLX_OK;
  rlx_attrs_constant constant = {.data = data, .dtype = type.dtype, .shape = type.shape};
  if (!s) {
    *out = rlx_graph_add(b->graph, op, NULL, 0, op == RLX_OP_constant ? (const void *)&constant : (const void *)&named);
    s = graph_status(p, b->graph, from);
  }
  rlx_blob_release(data);
  return s;
}

static rlx_status parse_call(parser *p, body *b, rlx_op op, rlx_node *out) {
  const rlx_op_table_row *row = rlx_op_table_get(op);
  const char *from = p->lex.at;
  RLX_TRY(parse_inputs(p, b));
  void *attrs = rlx_bump_copy(&p->lex.scratch, row->attrs_default, 1, row->attrs_bytes ? row->attrs_bytes : 1);
  if (!attrs) return RLX_FAIL(RLX_NO_MEMORY, "parsing");
  rlx_status s = parse_attrs(p, b->graph, row, attrs);
  if (!s) {
    *out = rlx_graph_add(b->graph, op, b->inputs.v, (uint32_t)b->inputs.n, attrs);
    s = graph_status(p, b->graph, from);
  }
  rlx_attrs_release(row, attrs); /* the parsed sub-graphs; the node has its own references */
  RLX_TRY(s);
  if (!rlx_lex_accept(&p->lex, ':')) return RLX_OK;
  rlx_type written;
  from = p->lex.at;
  RLX_TRY(parse_type(p, b->graph, &written));
  const rlx_type *type = &rlx_graph_at(b->graph, *out)->type;
  if (rlx_type_equal(&written, type)) return RLX_OK;
  p->lex.at = from;
  rlx_fail_frame(rlx_lex_fail(&p->lex, "the type that the op gives"), "%s is %s%s", row->name,
                 rlx_dtype_name(type->dtype), RLX_DIMS_TEXT(type->shape));
  return rlx_graph_name_symbols(b->graph, RLX_INVALID);
}

/* "%name = op ..." */
static rlx_status parse_node(parser *p, body *b) {
  size_t n;
  uint32_t op, seen;
  const char *w = rlx_lex_word(&p->lex, &n), *name, *op_name;
  if (!n || n >= 128) return rlx_lex_fail(&p->lex, "a node's name of at most 127 characters");
  RLX_TRY(rlx_lex_copy(&p->lex, w, n, &name));
  if (rlx_name_map_get(&b->nodes, name, &seen)) {
    p->lex.at = w;
    return rlx_lex_fail(&p->lex, "a name that is not taken");
  }
  RLX_TRY(rlx_lex_expect(&p->lex, '='));
  const char *op_at = rlx_lex_word(&p->lex, &n);
  RLX_TRY(rlx_lex_copy(&p->lex, op_at, n, &op_name));
  if (!rlx_name_map_get(&p->ops, op_name, &op)) {
    p->lex.at = op_at;
    return rlx_lex_fail(&p->lex, "the name of an op");
  }
  rlx_node id = RLX_NONE;
  RLX_TRY(rlx_op_table_has((rlx_op)op, RLX_TRAIT_LEAF) ? parse_leaf(p, b, (rlx_op)op, &id)
                                                       : parse_call(p, b, (rlx_op)op, &id));
  return rlx_name_map_put(&b->nodes, name, (uint32_t)id) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "parsing");
}

static rlx_status parse_output(parser *p, body *b) {
  const char *name, *from = p->lex.at;
  rlx_node id;
  RLX_TRY(rlx_lex_string(&p->lex, &name));
  RLX_TRY(rlx_lex_expect(&p->lex, '='));
  RLX_TRY(parse_node_ref(p, b, &id));
  rlx_graph_add_output(b->graph, name, id);
  return graph_status(p, b->graph, from);
}

static rlx_status parse_symbols(parser *p, body *b) {
  do {
    size_t n;
    const char *w = rlx_lex_word(&p->lex, &n), *name;
    RLX_TRY(rlx_lex_copy(&p->lex, w, n, &name));
    rlx_graph_add_symbol(b->graph, name);
    RLX_TRY(graph_status(p, b->graph, w));
  } while (rlx_lex_accept(&p->lex, ','));
  return RLX_OK;
}

static rlx_status parse_statements(parser *p, body *b) {
  while (!rlx_lex_accept(&p->lex, '}')) {
    if (rlx_lex_accept(&p->lex, '%')) RLX_TRY(parse_node(p, b));
    else if (rlx_lex_accept_word(&p->lex, "output")) RLX_TRY(parse_output(p, b));
    else if (rlx_lex_accept_word(&p->lex, "symbols")) RLX_TRY(parse_symbols(p, b));
    else return rlx_lex_fail(&p->lex, "'%', 'output', 'symbols' or '}'");
  }
  size_t column;
  RLX_TRY_AT(rlx_graph_finish(b->graph), "line %zu", rlx_lex_line(&p->lex, p->lex.at, &column));
  return RLX_OK;
}

static rlx_status parse_graph(parser *p, rlx_graph **out) {
  *out = NULL;
  if (!rlx_lex_accept_word(&p->lex, "graph")) return rlx_lex_fail(&p->lex, "'graph'");
  RLX_TRY(rlx_lex_expect(&p->lex, '{'));
  if (p->depth > RLX_MAX_DEPTH) return rlx_lex_fail(&p->lex, "sub-graphs nested at most 16 deep");
  body b = {0};
  RLX_TRY(rlx_graph_begin(&b.graph));
  p->depth++;
  rlx_status s = parse_statements(p, &b);
  p->depth--;
  rlx_name_map_deinit(&b.nodes);
  rlx_array_deinit(&b.inputs);
  if (s) rlx_graph_destroy(b.graph);
  else *out = b.graph;
  return s;
}

static rlx_status parse_all(parser *p, rlx_graph **out) {
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++)
    if (!rlx_name_map_put(&p->ops, rlx_op_table_get((rlx_op)op)->name, op)) return RLX_FAIL(RLX_NO_MEMORY, "parsing");
  RLX_TRY(parse_graph(p, out));
  rlx_lex_skip(&p->lex);
  if (p->lex.at == p->lex.end) return RLX_OK;
  rlx_graph_destroy(*out);
  *out = NULL;
  return rlx_lex_fail(&p->lex, "the end of the text");
}

rlx_status rlx_graph_parse(const char *text, size_t bytes, rlx_graph **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_graph_parse: out is NULL");
  *out = NULL;
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_graph_parse: text is NULL");
  parser p = {.lex = {.at = text, .begin = text, .end = text + bytes}};
  rlx_status s = parse_all(&p, out);
  rlx_name_map_deinit(&p.ops);
  rlx_bump_deinit(&p.lex.scratch);
  return s;
}
