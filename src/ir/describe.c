/* The op table for the public header: every column as text, in a struct of the caller, so that documentation and
 * command line are generated from the table without internal headers. */
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/str.h"
#include "ir/text.h"

/* RLX_OP_MAX_INPUTS, the length of per-input arrays in backends, suffices for every row. */
#define IN_NONE
#define IN(name, type) 1 +
#define OPT(name, type) 1 +
#define MANY(name, type) 1 +
#define A_NONE
#define A_INT(name, fallback, doc) 1 +
#define A_FLOAT(name, fallback, doc) 1 +
#define A_BOOL(name, fallback, doc) 1 +
#define A_ENUM(name, names, fallback, doc) 1 +
#define A_TYPE(name, fallback, doc) 1 +
#define A_DIMS(name, doc) 1 +
#define A_FLOATS(name, doc) 1 +
#define A_TEXT(name, doc) 1 +
#define A_GRAPH(name, doc) 1 +
#define A_DATA(name, doc) 1 +
#define OP(name, types, inputs, result, shape, attrs, traits, doc) \
  _Static_assert(RLX_UNPAREN inputs 0 <= RLX_OP_MAX_INPUTS, "RLX_OP_MAX_INPUTS is too small");
#include "ir/ops.def"
#undef OP

static const char *type_word(rlx_in_type type) {
  static const char *const words[] = {
    [RLX_IN_T] = "T",         [RLX_IN_W] = "W",         [RLX_IN_WF] = "WF",   [RLX_IN_KV] = "KV",
    [RLX_IN_INDEX] = "INDEX", [RLX_IN_BLOCK] = "BLOCK", [RLX_IN_U] = "U",     [RLX_IN_TO] = "TO",
    [RLX_IN_RULE] = "RULE",   [RLX_IN_F32] = "f32",     [RLX_IN_I32] = "i32", [RLX_IN_BOOL] = "bool",
    [RLX_IN_C64] = "c64",
  };
  return words[type];
}

static const char *kind_word(rlx_attr_kind kind) {
  static const char *const words[] = {
    [RLX_ATTR_INT] = "int",     [RLX_ATTR_FLOAT] = "float", [RLX_ATTR_BOOL] = "bool",     [RLX_ATTR_ENUM] = "enum",
    [RLX_ATTR_TYPE] = "type",   [RLX_ATTR_DIMS] = "dims",   [RLX_ATTR_FLOATS] = "floats", [RLX_ATTR_TEXT] = "text",
    [RLX_ATTR_GRAPH] = "graph", [RLX_ATTR_DATA] = "data",
  };
  return words[kind];
}

static void add_word(char *list, size_t cap, const char *word) {
  size_t n = strlen(list);
  snprintf(list + n, cap - n, "%s%s", n ? " " : "", word);
}

static void describe_types(rlx_type_set types, rlx_op_table_info *out) {
  for (int t = 0; t < RLX_DTYPE_COUNT; t++)
    if (rlx_type_in(types, (rlx_dtype)t)) add_word(out->types, sizeof out->types, rlx_dtype_name((rlx_dtype)t));
}

static void describe_traits(uint32_t traits, rlx_op_table_info *out) {
  static const struct {
    uint32_t bit;
    const char *name;
  } names[] = {
    {RLX_TRAIT_LEAF, "leaf"},           {RLX_TRAIT_POINTWISE, "pointwise"}, {RLX_TRAIT_COMMUTES, "commutes"},
    {RLX_TRAIT_VIEW, "view"},           {RLX_TRAIT_MOVES, "moves"},         {RLX_TRAIT_IN_PLACE, "in_place"},
    {RLX_TRAIT_COMPOSITE, "composite"}, {RLX_TRAIT_FUSED, "fused"},         {RLX_TRAIT_EFFECT, "effect"},
    {RLX_TRAIT_RANDOM, "random"},       {RLX_TRAIT_CONTROL, "control"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (traits & names[i].bit) add_word(out->traits, sizeof out->traits, names[i].name);
}

/* The default in the text form. Text, graph and data attributes have none. */
static rlx_status describe_attribute(const rlx_op_table_row *row, const rlx_attr_field *f,
                                     rlx_op_table_attribute *out) {
  *out = (rlx_op_table_attribute){
    .name = f->name, .doc = f->doc, .kind = kind_word(f->kind), .names = f->names ? f->names : ""};
  if (f->kind == RLX_ATTR_TEXT || f->kind == RLX_ATTR_GRAPH || f->kind == RLX_ATTR_DATA) return RLX_OK;
  rlx_str s = {0};
  char *text;
  rlx_text_attr(&s, NULL, f, rlx_attr_at(row->attrs_default, f), 0);
  RLX_TRY(rlx_str_take(&s, &text));
  snprintf(out->fallback, sizeof out->fallback, "%s", text);
  rlx_mem_free(text);
  return RLX_OK;
}

/* ---- the calls ---- */

uint32_t rlx_op_table_size(void) { return RLX_OP_COUNT - 1; }

uint32_t rlx_op_table_find(const char *name) {
  rlx_op op = name ? rlx_op_table_from_name(name, strlen(name)) : RLX_OP_INVALID;
  return op == RLX_OP_INVALID ? rlx_op_table_size() : (uint32_t)op - 1;
}

static rlx_status find_row(const char *call, uint32_t op, const rlx_op_table_row **row) {
  if (op >= rlx_op_table_size())
    return RLX_FAIL(RLX_INVALID, "%s: there is no op %u, only %u of them", call, (unsigned)op,
                    (unsigned)rlx_op_table_size());
  *row = rlx_op_table_get((rlx_op)(op + 1));
  return RLX_OK;
}

rlx_status rlx_op_table_describe(uint32_t op, rlx_op_table_info *out) {
  const rlx_op_table_row *row;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_op_table_describe: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_op_table_info", out));
  RLX_TRY(find_row("rlx_op_table_describe", op, &row));
  rlx_op_table_info info = {.name = row->name,
                            .doc = row->doc,
                            .result = type_word(row->result),
                            .min_inputs = row->n_required,
                            .max_inputs = row->many ? UINT32_MAX : row->n_inputs,
                            .n_inputs = row->n_inputs,
                            .n_attributes = row->n_attrs};
  describe_types(row->types, &info);
  describe_traits(row->traits, &info);
  return RLX_SIZED_WRITE("rlx_op_table_info", &info, out);
}

rlx_status rlx_op_table_input_at(uint32_t op, uint32_t i, rlx_op_table_input *out) {
  const rlx_op_table_row *row;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_op_table_input_at: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_op_table_input", out));
  RLX_TRY(find_row("rlx_op_table_input_at", op, &row));
  if (i >= row->n_inputs)
    return RLX_FAIL(RLX_INVALID, "rlx_op_table_input_at: %s has %u inputs, not %u", row->name, (unsigned)row->n_inputs,
                    (unsigned)i + 1);
  rlx_op_table_input input = {.name = row->inputs[i].name,
                              .type = type_word(row->inputs[i].type),
                              .mode = (rlx_op_table_input_mode)row->inputs[i].mode};
  return RLX_SIZED_WRITE("rlx_op_table_input", &input, out);
}

rlx_status rlx_op_table_attribute_at(uint32_t op, uint32_t i, rlx_op_table_attribute *out) {
  const rlx_op_table_row *row;
  rlx_op_table_attribute attribute;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_op_table_attribute_at: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_op_table_attribute", out));
  RLX_TRY(find_row("rlx_op_table_attribute_at", op, &row));
  if (i >= row->n_attrs)
    return RLX_FAIL(RLX_INVALID, "rlx_op_table_attribute_at: %s has %u attributes, not %u", row->name,
                    (unsigned)row->n_attrs, (unsigned)i + 1);
  RLX_TRY(describe_attribute(row, &row->attrs[i], &attribute));
  return RLX_SIZED_WRITE("rlx_op_table_attribute", &attribute, out);
}
