/* Builds a case: composes a text graph from its strings, parses it, and fills the leaves with the generators. conform.h
 * defines the syntax. */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "conform/conform.h"
#include "conform/test_op.h"
#include "conform/values.h"
#include "ref/eval.h"

enum { MAX_INPUTS = 32 };

/* One "name: dtype[sizes] generator" as slices of the source text. */
typedef struct input_spec {
  const char *kind; /* "input", "param", "state" */
  const char *name, *type, *generator;
  size_t name_n, type_n, generator_n;
} input_spec;

static const char *skip_blanks(const char *p) {
  while (*p == ' ' || *p == '\n' || *p == '\t') p++;
  return p;
}

static size_t word_length(const char *p) {
  size_t n = 0;
  while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.') n++;
  return n;
}

static rlx_status parse_input(const char **at, input_spec *s) {
  const char *p = skip_blanks(*at), *from = p;
  s->kind = NULL;
  s->name = p;
  s->name_n = word_length(p);
  p = skip_blanks(p + s->name_n);
  if (*p != ':') { /* the first word was the kind */
    s->kind = s->name_n == 5 && memcmp(s->name, "state", 5) == 0   ? "state"
              : s->name_n == 5 && memcmp(s->name, "param", 5) == 0 ? "param"
                                                                   : "input";
    s->name = p;
    s->name_n = word_length(p);
    p = skip_blanks(p + s->name_n);
  }
  if (*p != ':' || !s->name_n) return RLX_FAIL(RLX_INVALID, "inputs: expected 'name: type' at '%.20s'", from);
  s->type = p = skip_blanks(p + 1);
  while (*p && *p != ']') p++;
  if (*p != ']') return RLX_FAIL(RLX_INVALID, "inputs: expected a type at '%.20s'", s->type);
  s->type_n = (size_t)(++p - s->type);
  s->generator = p = skip_blanks(p);
  while (*p && *p != ';') p++;
  s->generator_n = (size_t)(p - s->generator);
  *at = *p == ';' ? p + 1 : p;
  if (!s->kind) { /* block types are weights */
    char dtype[16] = {0};
    size_t n = strcspn(s->type, "[");
    if (n < sizeof dtype) memcpy(dtype, s->type, n);
    s->kind = rlx_dtype_is_block(rlx_dtype_from_name(dtype)) ? "param" : "input";
  }
  return RLX_OK;
}

static rlx_status parse_inputs(const char *text, input_spec *specs, size_t *n) {
  *n = 0;
  for (const char *p = skip_blanks(text); *p; p = skip_blanks(p)) {
    if (*n == MAX_INPUTS) return RLX_FAIL(RLX_INVALID, "inputs: more than %d", MAX_INPUTS);
    RLX_TRY(parse_input(&p, &specs[(*n)++]));
  }
  return RLX_OK;
}

/* Where the last top-level statement begins. */
static const char *last_statement(const char *expr) {
  int depth = 0;
  bool quoted = false;
  const char *last = expr;
  for (const char *p = expr; *p; p++) {
    if (*p == '"' && (p == expr || p[-1] != '\\')) quoted = !quoted;
    if (quoted) continue;
    depth += (*p == '{' || *p == '(') - (*p == '}' || *p == ')');
    if (*p == ';' && depth == 0 && *skip_blanks(p + 1)) last = p + 1;
  }
  return skip_blanks(last);
}

static rlx_status graph_text(const rlx_case *c, const input_spec *specs, size_t n, char **out) {
  rlx_str s = {0};
  rlx_str_add(&s, "graph {\n");
  for (size_t i = 0; i < n; i++)
    rlx_str_add(&s, "%%%.*s = %s \"%.*s\" : %.*s\n", (int)specs[i].name_n, specs[i].name, specs[i].kind,
                (int)specs[i].name_n, specs[i].name, (int)specs[i].type_n, specs[i].type);
  const char *last = last_statement(c->expr);
  rlx_str_add_bytes(&s, c->expr, (size_t)(last - c->expr));
  if (*last == '%') {
    size_t name = word_length(last + 1);
    rlx_str_add(&s, "%s\noutput \"y\" = %.*s\n}\n", last, (int)name + 1, last);
  } else {
    rlx_str_add(&s, "%%result = %s\noutput \"y\" = %%result\n}\n", last);
  }
  return rlx_str_take(&s, out);
}

static rlx_status make_graph(const rlx_case *c, const input_spec *specs, size_t n, rlx_graph **out) {
  char *text;
  RLX_TRY(graph_text(c, specs, n, &text));
  rlx_status s = rlx_graph_parse(text, strlen(text), out);
  rlx_mem_free(text);
  return s;
}

static rlx_status fill(rlx_op op, const rlx_case *c, const input_spec *specs, size_t n, rlx_case_built *b) {
  b->values = rlx_mem_calloc(n ? n : 1, sizeof *b->values);
  b->names = rlx_mem_calloc(n ? n : 1, sizeof *b->names);
  if (!b->values || !b->names) return RLX_FAIL(RLX_NO_MEMORY, "a case");
  for (size_t i = 0; i < n; i++) {
    char name[64] = {0};
    if (specs[i].name_n >= sizeof name) return RLX_FAIL(RLX_INVALID, "inputs: a name is too long");
    memcpy(name, specs[i].name, specs[i].name_n);
    rlx_node id = rlx_graph_leaf(b->graph, name);
    if (!id) return RLX_FAIL(RLX_INVALID, "inputs: '%s' is not in the graph", name);
    const char *op_name = rlx_op_table_get(op)->name;
    uint64_t seed = rlx_hash_bytes(1, op_name, strlen(op_name));
    seed = rlx_hash_bytes(seed, c->name, strlen(c->name));
    seed = rlx_hash_bytes(seed, name, strlen(name));
    b->names[i] = rlx_node_name(b->graph, id);
    RLX_TRY(rlx_tensor_create(&rlx_graph_at(b->graph, id)->type, &b->values[i]));
    b->n_values = i + 1;
    RLX_TRY_AT(rlx_values_fill(&b->values[i], specs[i].generator, specs[i].generator_n, seed), "input '%s'", name);
  }
  return RLX_OK;
}

static rlx_status parse_case(const rlx_case *c, input_spec *specs, size_t *n, rlx_graph **out) {
  *out = NULL;
  RLX_TRY(rlx_test_op_register());
  RLX_TRY(parse_inputs(c->inputs, specs, n));
  return make_graph(c, specs, *n, out);
}

rlx_status rlx_case_graph(const rlx_case *c, rlx_graph **out) {
  input_spec specs[MAX_INPUTS];
  size_t n;
  return parse_case(c, specs, &n, out);
}

rlx_status rlx_case_build(rlx_op op, const rlx_case *c, rlx_case_built *out) {
  *out = (rlx_case_built){0};
  input_spec specs[MAX_INPUTS];
  size_t n;
  rlx_status s = parse_case(c, specs, &n, &out->graph);
  if (!s) s = fill(op, c, specs, n, out);
  if (!s) return RLX_OK;
  rlx_case_deinit(out);
  return rlx_fail_frame(s, "case %s of %s", c->name, rlx_op_table_get(op)->name);
}

void rlx_case_deinit(rlx_case_built *b) {
  for (size_t i = 0; i < b->n_values; i++) rlx_tensor_deinit(&b->values[i]);
  rlx_mem_free(b->values);
  rlx_mem_free((void *)b->names);
  rlx_graph_destroy(b->graph);
  *b = (rlx_case_built){0};
}
