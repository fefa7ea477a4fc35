/* The text form, in: recursive descent over the grammar that text_print.c shows.
 *
 * Text is hostile until parsed: every number is range-checked, nesting is bounded, and nothing is trusted that
 * rlx_graph_add does not accept. Names after % are any letters, digits, '_' or '.'; they need not be in order. The type
 * after ':' is required for leaves and checked where given. ';' counts as white space and '#' begins a comment. */
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/str.h"
#include "ir/graph.h"

typedef struct parser {
  const char *at, *end, *begin;
  rlx_name_map ops;   /* op names */
  rlx_bump scratch;   /* names of nodes, strings */
  uint32_t depth;
} parser;

/* ---- words ---- */

static size_t line_of(const parser *p, const char *at, size_t *column) {
  size_t line = 1;
  *column = 1;
  for (const char *c = p->begin; c < at; c++) {
    *column = *c == '\n' ? 1 : *column + 1;
    line += *c == '\n';
  }
  return line;
}

static rlx_status fail_at(const parser *p, const char *expected) {
  char found[24] = "the end";
  size_t n = 0, column, line = line_of(p, p->at, &column);
  while (p->at + n < p->end && n < 16 && p->at[n] >= ' ' && p->at[n] < 127) {
    found[n] = p->at[n];
    n++;
  }
  if (n) found[n] = 0;
  else if (p->at < p->end) snprintf(found, sizeof found, "byte 0x%02x", (unsigned)(unsigned char)*p->at);
  return RLX_FAIL(RLX_INVALID, "line %zu, column %zu: expected %s, found '%s'", line, column, expected, found);
}

/* The graph's own words for what is wrong, with the place in the text before them. */
static rlx_status graph_status(const parser *p, const rlx_graph *g, const char *at) {
  size_t column;
  RLX_TRY_AT(rlx_graph_status(g), "line %zu", line_of(p, at, &column));
  return RLX_OK;
}

static void skip_space(parser *p) {
  while (p->at < p->end) {
    if (*p->at == '#')
      while (p->at < p->end && *p->at != '\n') p->at++;
    else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r' || *p->at == ';') p->at++;
    else return;
  }
}

static bool accept(parser *p, char c) {
  skip_space(p);
  if (p->at >= p->end || *p->at != c) return false;
  p->at++;
  return true;
}

static rlx_status expect(parser *p, char c) {
  char expected[4] = {'\'', c, '\'', 0};
  return accept(p, c) ? RLX_OK : fail_at(p, expected);
}

/* Whatever the locale. */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_word_char(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; }

/* A run of word characters; n is 0 if there is none. */
static const char *word(parser *p, size_t *n) {
  skip_space(p);
  const char *from = p->at;
  while (p->at < p->end && is_word_char(*p->at)) p->at++;
  *n = (size_t)(p->at - from);
  return from;
}

static bool accept_word(parser *p, const char *text) {
  skip_space(p);
  const char *before = p->at;
  size_t n;
  const char *w = word(p, &n);
  if (n == strlen(text) && memcmp(w, text, n) == 0) return true;
  p->at = before;
  return false;
}

static rlx_status text_copy(parser *p, const char *text, size_t n, const char **out) {
  *out = rlx_bump_text(&p->scratch, text, n);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "parsing");
}

/* A number's characters: digits, sign, point, exponent, inf, nan. */
static const char *number_text(parser *p, size_t *n) {
  skip_space(p);
  const char *from = p->at;
  while (p->at < p->end && (is_word_char(*p->at) || ((*p->at == '-' || *p->at == '+') && (p->at == from || p->at[-1] == 'e' || p->at[-1] == 'E')))) p->at++;
  *n = (size_t)(p->at - from);
  return from;
}

static rlx_status parse_double(parser *p, double *out) {
  size_t n;
  const char *from = number_text(p, &n);
  if (n && rlx_text_to_double(from, n, out)) return RLX_OK;
  p->at = from;
  return fail_at(p, "a number");
}

static rlx_status parse_int(parser *p, int64_t *out) {
  size_t n;
  const char *from = number_text(p, &n);
  bool negative = n && *from == '-';
  uint64_t limit = negative ? (uint64_t)1 << 63 : INT64_MAX, v = 0;
  size_t i = negative ? 1 : 0;
  bool ok = i < n;
  for (; ok && i < n; i++) {
    uint64_t digit = (uint64_t)(from[i] - '0');
    ok = from[i] >= '0' && from[i] <= '9' && v <= (limit - digit) / 10;
    v = v * 10 + digit;
  }
  if (!ok) {
    p->at = from;
    return fail_at(p, "an integer of 64 bits");
  }
  *out = negative ? (int64_t)(0 - v) : (int64_t)v;
  return RLX_OK;
}

static bool hex_value(char c, uint32_t *out) {
  if (c >= '0' && c <= '9') *out = (uint32_t)(c - '0');
  else if (c >= 'a' && c <= 'f') *out = (uint32_t)(c - 'a' + 10);
  else if (c >= 'A' && c <= 'F') *out = (uint32_t)(c - 'A' + 10);
  else return false;
  return true;
}

/* \uXXXX below the surrogates and above them as UTF-8; NUL and surrogates are refused. */
static rlx_status parse_unicode(parser *p, rlx_str *s) {
  uint32_t code = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t digit;
    if (p->at >= p->end || !hex_value(*p->at, &digit)) return fail_at(p, "four hex digits");
    code = code * 16 + digit;
    p->at++;
  }
  if (code == 0 || (code >= 0xd800 && code < 0xe000)) return fail_at(p, "a character other than NUL and surrogates");
  if (code >= 0x800) rlx_str_add_char(s, (char)(0xe0 | (code >> 12)));
  if (code >= 0x80) rlx_str_add_char(s, (char)((code >= 0x800 ? 0x80 : 0xc0) | ((code >> 6) & (code >= 0x800 ? 0x3f : 0x1f))));
  rlx_str_add_char(s, (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code));
  return RLX_OK;
}

static rlx_status parse_string_into(parser *p, rlx_str *s) {
  RLX_TRY(expect(p, '"'));
  while (p->at < p->end && *p->at != '"') {
    char c = *p->at;
    if (!c || c == '\n') return fail_at(p, "the end of the string");
    p->at++;
    if (c != '\\') {
      rlx_str_add_char(s, c);
      continue;
    }
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char escape = p->at < p->end ? *p->at++ : 0;
    const char *known = escape ? strchr(letters, escape) : NULL;
    if (known) rlx_str_add_char(s, meant[known - letters]);
    else if (escape == 'u') RLX_TRY(parse_unicode(p, s));
    else return fail_at(p, "an escape of JSON");
  }
  return expect(p, '"');
}

static rlx_status parse_string(parser *p, const char **out) {
  rlx_str s = {0};
  rlx_str_add_bytes(&s, "", 0);
  rlx_status status = parse_string_into(p, &s);
  if (!status && s.failed) status = RLX_FAIL(RLX_NO_MEMORY, "parsing a string");
  if (!status) status = text_copy(p, s.v ? s.v : "", s.n, out);
  rlx_str_deinit(&s);
  return status;
}

/* ---- types ---- */

static rlx_status parse_dtype(parser *p, rlx_dtype *out) {
  size_t n;
  const char *w = word(p, &n);
  char name[16] = {0};
  if (n && n < sizeof name) memcpy(name, w, n);
  *out = rlx_dtype_from_name(name);
  if (*out != RLX_DTYPE_COUNT) return RLX_OK;
  p->at = w;
  return fail_at(p, "an element type");
}

/* "[1,B,?]". Unknown sizes are only for types that are checked, not for attributes. */
static rlx_status parse_dims(parser *p, rlx_graph *g, bool allow_unknown, rlx_dims *out) {
  *out = (rlx_dims){.n = 0};
  RLX_TRY(expect(p, '['));
  if (accept(p, ']')) return RLX_OK;
  do {
    if (out->n == RLX_MAX_RANK) return fail_at(p, "at most 8 entries");
    int64_t *d = &out->v[out->n++];
    skip_space(p);
    if (p->at < p->end && is_letter(*p->at)) {
      size_t n;
      const char *w = word(p, &n), *name;
      RLX_TRY(text_copy(p, w, n, &name));
      *d = rlx_symbol(g, name);
      RLX_TRY(graph_status(p, g, w));
    } else if (allow_unknown && accept(p, '?')) {
      *d = RLX_DIM_UNKNOWN;
    } else {
      RLX_TRY(parse_int(p, d));
      if (rlx_dim_is_open(*d)) return fail_at(p, "a size");
    }
  } while (accept(p, ','));
  return expect(p, ']');
}

static rlx_status parse_type(parser *p, rlx_graph *g, rlx_type *out) {
  RLX_TRY(parse_dtype(p, &out->dtype));
  return parse_dims(p, g, true, &out->shape);
}

/* ---- attributes ---- */

static rlx_status parse_graph(parser *p, rlx_graph **out);

static rlx_status parse_enum(parser *p, const char *names, int32_t *out) {
  size_t n;
  const char *w = word(p, &n);
  int32_t i = 0;
  for (const char *name = names; n && *name; i++) {
    size_t length = strcspn(name, " ");
    if (length == n && memcmp(name, w, n) == 0) {
      *out = i;
      return RLX_OK;
    }
    name += length + (name[length] == ' ');
  }
  p->at = w;
  return fail_at(p, names);
}

static rlx_status parse_floats(parser *p, rlx_floats *out) {
  *out = (rlx_floats){.n = 0};
  RLX_TRY(expect(p, '['));
  if (accept(p, ']')) return RLX_OK;
  do {
    if (out->n == RLX_MAX_RANK) return fail_at(p, "at most 8 entries");
    RLX_TRY(parse_double(p, &out->v[out->n++]));
  } while (accept(p, ','));
  return expect(p, ']');
}

static rlx_status parse_attr(parser *p, rlx_graph *g, const rlx_attr_field *f, void *at) {
  switch (f->kind) {
    case RLX_ATTR_INT: return parse_int(p, at);
    case RLX_ATTR_FLOAT: return parse_double(p, at);
    case RLX_ATTR_BOOL:
      *(bool *)at = accept_word(p, "true");
      return *(bool *)at || accept_word(p, "false") ? RLX_OK : fail_at(p, "true or false");
    case RLX_ATTR_ENUM: return parse_enum(p, f->names, at);
    case RLX_ATTR_TYPE: return parse_dtype(p, at);
    case RLX_ATTR_DIMS: return parse_dims(p, g, false, at);
    case RLX_ATTR_FLOATS: return parse_floats(p, at);
    case RLX_ATTR_TEXT: return parse_string(p, at);
    case RLX_ATTR_GRAPH: return parse_graph(p, at);
    case RLX_ATTR_DATA: break;
  }
  return fail_at(p, "an attribute that can be written");
}

/* "{name=value, ..}" over the defaults that attrs holds. Sub-graphs parsed so far are owned by attrs, also on failure. */
static rlx_status parse_attrs(parser *p, rlx_graph *g, const rlx_op_row *row, void *attrs) {
  uint32_t seen = 0;
  if (!accept(p, '{') || accept(p, '}')) return RLX_OK;
  do {
    size_t n;
    const char *w = word(p, &n);
    uint32_t i = 0;
    while (i < row->n_attrs && (strlen(row->attrs[i].name) != n || memcmp(row->attrs[i].name, w, n) != 0)) i++;
    if (i == row->n_attrs || row->attrs[i].kind == RLX_ATTR_DATA) {
      p->at = w;
      return fail_at(p, "an attribute of this op");
    }
    if (seen & (1u << i)) {
      p->at = w;
      return fail_at(p, "each attribute once");
    }
    seen |= 1u << i;
    RLX_TRY(expect(p, '='));
    RLX_TRY(parse_attr(p, g, &row->attrs[i], rlx_attr_at(attrs, &row->attrs[i])));
  } while (accept(p, ','));
  return expect(p, '}');
}

/* ---- constants ---- */

static void store_number(unsigned char *at, rlx_dtype dtype, double f, int64_t n) {
  float f32 = (float)f;
  uint16_t half = dtype == RLX_F16 ? rlx_f64_to_f16(f) : rlx_f64_to_bf16(f);
  switch (dtype) { /* integers: the low bytes, the machine being little endian like the formats */
    case RLX_F32: memcpy(at, &f32, sizeof f32); break;
    case RLX_F64: memcpy(at, &f, sizeof f); break;
    case RLX_F16: case RLX_BF16: memcpy(at, &half, sizeof half); break;
    default: memcpy(at, &n, rlx_dtype_size(dtype)); break;
  }
}

static rlx_status parse_list(parser *p, rlx_type type, rlx_blob *b) {
  size_t count = rlx_dims_count(&type.shape), size = rlx_dtype_size(type.dtype);
  if (!size || type.dtype == RLX_C64) return fail_at(p, "hex bytes for this type");
  RLX_TRY(expect(p, '['));
  for (size_t i = 0; i < count; i++) {
    double f = 0;
    int64_t n = 0;
    if (i) RLX_TRY(expect(p, ','));
    if (type.dtype == RLX_BOOL && accept_word(p, "true")) n = 1;
    else if (type.dtype == RLX_BOOL && accept_word(p, "false")) n = 0;
    else RLX_TRY(rlx_dtype_is_float(type.dtype) ? parse_double(p, &f) : parse_int(p, &n));
    int64_t kept = type.dtype == RLX_I64 ? n : type.dtype == RLX_I32 ? (int32_t)n : type.dtype == RLX_U32 ? (int64_t)(uint32_t)n
                 : type.dtype == RLX_I16 ? (int16_t)n : type.dtype == RLX_I8 ? (int8_t)n : type.dtype == RLX_U8 ? (int64_t)(uint8_t)n : n != 0;
    if (kept != n) return fail_at(p, "numbers that fit the type before this");
    store_number(b->data + i * size, type.dtype, f, n);
  }
  return expect(p, ']');
}

static rlx_status parse_hex(parser *p, rlx_blob *b) {
  RLX_TRY(expect(p, '"'));
  for (size_t i = 0; i < b->bytes; i++) {
    uint32_t high, low;
    if (p->end - p->at < 2 || !hex_value(p->at[0], &high) || !hex_value(p->at[1], &low)) return fail_at(p, "two hex digits per byte");
    b->data[i] = (unsigned char)(high * 16 + low);
    p->at += 2;
  }
  return expect(p, '"');
}

static rlx_status parse_constant_data(parser *p, rlx_type type, rlx_blob **out) {
  size_t bytes, column;
  RLX_TRY(expect(p, '='));
  RLX_TRY_AT(rlx_tensor_bytes(type.dtype, type.shape, &bytes), "line %zu", line_of(p, p->at, &column));
  /* A byte takes at least one character of text: refuse sizes that the text cannot hold before allocating. */
  if (bytes / 8 > (size_t)(p->end - p->at)) return fail_at(p, "data for the whole constant");
  *out = rlx_blob_create(bytes);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "a constant of %zu bytes", bytes);
  return accept_word(p, "hex") ? parse_hex(p, *out) : parse_list(p, type, *out);
}

/* ---- statements ---- */

typedef struct body {
  rlx_graph *graph;
  rlx_name_map nodes; /* the name after % -> node */
  RLX_ARRAY(rlx_node) inputs;
} body;

static rlx_status parse_node_ref(parser *p, const body *b, rlx_node *out) {
  RLX_TRY(expect(p, '%'));
  size_t n;
  const char *w = word(p, &n);
  char name[128];
  if (n && n < sizeof name) {
    memcpy(name, w, n);
    name[n] = 0;
    if (rlx_name_map_get(&b->nodes, name, out)) return RLX_OK;
  }
  p->at = w;
  return fail_at(p, "the name of an earlier node");
}

static rlx_status parse_inputs(parser *p, body *b) {
  b->inputs.n = 0;
  RLX_TRY(expect(p, '('));
  if (accept(p, ')')) return RLX_OK;
  do {
    rlx_node in = RLX_NONE;
    if (!accept_word(p, "_")) RLX_TRY(parse_node_ref(p, b, &in));
    if (!rlx_array_push(&b->inputs, in)) return RLX_FAIL(RLX_NO_MEMORY, "parsing");
  } while (accept(p, ','));
  return expect(p, ')');
}

static rlx_status parse_leaf(parser *p, body *b, rlx_op op, rlx_node *out) {
  rlx_type type;
  const char *name = NULL, *from = p->at;
  rlx_blob *data = NULL;
  if (op != RLX_OP_constant) RLX_TRY(parse_string(p, &name));
  RLX_TRY(expect(p, ':'));
  RLX_TRY(parse_type(p, b->graph, &type));
  rlx_attrs_input named = {.name = name, .dtype = type.dtype, .shape = type.shape};
  rlx_status s = op == RLX_OP_constant ? parse_constant_data(p, type, &data) : RLX_OK;
  rlx_attrs_constant constant = {.data = data, .dtype = type.dtype, .shape = type.shape};
  if (!s) {
    *out = rlx_graph_add(b->graph, op, NULL, 0, op == RLX_OP_constant ? (const void *)&constant : (const void *)&named);
    s = graph_status(p, b->graph, from);
  }
  rlx_blob_release(data);
  return s;
}

static rlx_status parse_call(parser *p, body *b, rlx_op op, rlx_node *out) {
  const rlx_op_row *row = rlx_op_get(op);
  const char *from = p->at;
  RLX_TRY(parse_inputs(p, b));
  void *attrs = rlx_bump_copy(&p->scratch, row->attrs_default, 1, row->attrs_bytes ? row->attrs_bytes : 1);
  if (!attrs) return RLX_FAIL(RLX_NO_MEMORY, "parsing");
  rlx_status s = parse_attrs(p, b->graph, row, attrs);
  if (!s) {
    *out = rlx_graph_add(b->graph, op, b->inputs.v, (uint32_t)b->inputs.n, attrs);
    s = graph_status(p, b->graph, from);
  }
  rlx_attrs_release(row, attrs); /* the sub-graphs that were parsed; the node has its own references */
  RLX_TRY(s);
  if (!accept(p, ':')) return RLX_OK;
  rlx_type written;
  from = p->at;
  RLX_TRY(parse_type(p, b->graph, &written));
  const rlx_type *type = &rlx_graph_at(b->graph, *out)->type;
  if (written.dtype == type->dtype && rlx_dims_equal(&written.shape, &type->shape)) return RLX_OK;
  p->at = from;
  return rlx_fail_frame(fail_at(p, "the type that the op gives"), "%s is %s%s", row->name, rlx_dtype_name(type->dtype), RLX_DIMS_TEXT(type->shape));
}

/* "%name = op ..." */
static rlx_status parse_node(parser *p, body *b) {
  size_t n;
  uint32_t op, seen;
  const char *w = word(p, &n), *name, *op_name;
  if (!n || n >= 128) return fail_at(p, "a node's name of at most 127 characters");
  RLX_TRY(text_copy(p, w, n, &name));
  if (rlx_name_map_get(&b->nodes, name, &seen)) {
    p->at = w;
    return fail_at(p, "a name that is not taken");
  }
  RLX_TRY(expect(p, '='));
  const char *op_at = word(p, &n);
  RLX_TRY(text_copy(p, op_at, n, &op_name));
  if (!rlx_name_map_get(&p->ops, op_name, &op)) {
    p->at = op_at;
    return fail_at(p, "the name of an op");
  }
  rlx_node id = RLX_NONE;
  RLX_TRY(rlx_op_has((rlx_op)op, RLX_TRAIT_LEAF) ? parse_leaf(p, b, (rlx_op)op, &id) : parse_call(p, b, (rlx_op)op, &id));
  return rlx_name_map_put(&b->nodes, name, id) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "parsing");
}

static rlx_status parse_output(parser *p, body *b) {
  const char *name, *from = p->at;
  rlx_node id;
  RLX_TRY(parse_string(p, &name));
  RLX_TRY(expect(p, '='));
  RLX_TRY(parse_node_ref(p, b, &id));
  rlx_output(b->graph, name, id);
  return graph_status(p, b->graph, from);
}

static rlx_status parse_symbols(parser *p, body *b) {
  do {
    size_t n;
    const char *w = word(p, &n), *name;
    RLX_TRY(text_copy(p, w, n, &name));
    rlx_symbol(b->graph, name);
    RLX_TRY(graph_status(p, b->graph, w));
  } while (accept(p, ','));
  return RLX_OK;
}

static rlx_status parse_statements(parser *p, body *b) {
  while (!accept(p, '}')) {
    if (accept(p, '%')) RLX_TRY(parse_node(p, b));
    else if (accept_word(p, "output")) RLX_TRY(parse_output(p, b));
    else if (accept_word(p, "symbols")) RLX_TRY(parse_symbols(p, b));
    else return fail_at(p, "'%', 'output', 'symbols' or '}'");
  }
  size_t column;
  RLX_TRY_AT(rlx_graph_finish(b->graph), "line %zu", line_of(p, p->at, &column));
  return RLX_OK;
}

static rlx_status parse_graph(parser *p, rlx_graph **out) {
  *out = NULL;
  if (!accept_word(p, "graph")) return fail_at(p, "'graph'");
  RLX_TRY(expect(p, '{'));
  if (p->depth > RLX_MAX_DEPTH) return fail_at(p, "sub-graphs nested at most 16 deep");
  body b = {0};
  RLX_TRY(rlx_graph_create(&b.graph));
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
    if (!rlx_name_map_put(&p->ops, rlx_op_get((rlx_op)op)->name, op)) return RLX_FAIL(RLX_NO_MEMORY, "parsing");
  RLX_TRY(parse_graph(p, out));
  skip_space(p);
  if (p->at == p->end) return RLX_OK;
  rlx_graph_destroy(*out);
  *out = NULL;
  return fail_at(p, "the end of the text");
}

rlx_status rlx_graph_parse(const char *text, size_t bytes, rlx_graph **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_graph_parse: out is NULL");
  *out = NULL;
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_graph_parse: text is NULL");
  parser p = {.at = text, .begin = text, .end = text + bytes};
  rlx_status s = parse_all(&p, out);
  rlx_name_map_deinit(&p.ops);
  rlx_bump_deinit(&p.scratch);
  return s;
}
