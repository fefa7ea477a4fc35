/* The op table: ops.def as data. Each row refers to its shape rule by name, so a missing rule is a link error;
 * reference kernels and case tables are bound the same way in ref/dispatch.c and conform/cases.c.
 *
 * ops.def is included once per column that needs its own definition of the row's macros. */
#include "ir/op.h"

#include <string.h>

#include "ir/act.h"
#include "ir/infer.h"
#include "ir/sampling.h"

/* ---- shape rules, declared from the table ---- */
#define OP(name, types, inputs, result, shape, attrs, traits, doc) rlx_status rlx_shape_##shape(struct rlx_infer *c);
#include "ir/ops.def"
#undef OP

/* ---- how many inputs are required, and whether the last may repeat ---- */
#define IN_NONE
#define IN(name, type) 1 +
#define OPT(name, type) 0 +
#define MANY(name, type) 0 +
#define OP(name, types, inputs, result, shape, attrs, traits, doc) enum { required_##name = RLX_UNPAREN inputs 0 };
#include "ir/ops.def"
#undef OP
#undef IN
#undef MANY
#define IN(name, type) 0 +
#define MANY(name, type) 1 +
#define OP(name, types, inputs, result, shape, attrs, traits, doc) enum { many_##name = RLX_UNPAREN inputs 0 };
#include "ir/ops.def"
#undef OP
#undef IN
#undef OPT
#undef MANY

/* ---- default attributes ---- */
#define A_INT(name, fallback, doc) fallback,
#define A_FLOAT(name, fallback, doc) fallback,
#define A_BOOL(name, fallback, doc) fallback,
#define A_ENUM(name, names, fallback, doc) fallback,
#define A_TYPE(name, fallback, doc) fallback,
#define A_DIMS(name, doc) {{0}, 0},
#define A_FLOATS(name, doc) {{0}, 0},
#define A_TEXT(name, doc) NULL,
#define A_GRAPH(name, doc) NULL,
#define A_DATA(name, doc) NULL,
#define A_NONE 0
#define OP(name, types, inputs, result, shape, attrs, traits, doc) \
  static const rlx_attrs_##name defaults_##name = {RLX_UNPAREN attrs};
#include "ir/ops.def"
#undef OP
#include "ir/attrs_end.h"

/* ---- the rows. A function per op gives the field macros a struct to take offsets from ---- */
#define IN(name, type) {#name, RLX_IN_##type, RLX_IN_REQUIRED},
#define OPT(name, type) {#name, RLX_IN_##type, RLX_IN_OPTIONAL},
#define MANY(name, type) {#name, RLX_IN_##type, RLX_IN_MANY},
#define A_FIELD(name, kind, names, doc) {#name, doc, names, RLX_ATTR_##kind, (uint32_t)offsetof(attrs_t, name)},
#define A_INT(name, fallback, doc) A_FIELD(name, INT, NULL, doc)
#define A_FLOAT(name, fallback, doc) A_FIELD(name, FLOAT, NULL, doc)
#define A_BOOL(name, fallback, doc) A_FIELD(name, BOOL, NULL, doc)
#define A_ENUM(name, names, fallback, doc) A_FIELD(name, ENUM, names, doc)
#define A_TYPE(name, fallback, doc) A_FIELD(name, TYPE, NULL, doc)
#define A_DIMS(name, doc) A_FIELD(name, DIMS, NULL, doc)
#define A_FLOATS(name, doc) A_FIELD(name, FLOATS, NULL, doc)
#define A_TEXT(name, doc) A_FIELD(name, TEXT, NULL, doc)
#define A_GRAPH(name, doc) A_FIELD(name, GRAPH, NULL, doc)
#define A_DATA(name, doc) A_FIELD(name, DATA, NULL, doc)
#define A_NONE

/* The table's abbreviations, defined only in this file. */
#define NONE 0
#define FLOAT RLX_TYPES_FLOAT
#define INTEGER RLX_TYPES_INTEGER
#define NUMBER (FLOAT | INTEGER)
#define BOOLEAN RLX_TYPE_BIT(RLX_BOOL)
#define COMPLEX RLX_TYPE_BIT(RLX_C64)
#define F32_ONLY RLX_TYPE_BIT(RLX_F32)
#define STORED (RLX_TYPES_FLOAT8 | RLX_TYPE_BIT(RLX_U64))
#define ANYTHING (NUMBER | BOOLEAN | COMPLEX | STORED)
enum {
  LEAF = RLX_TRAIT_LEAF,
  POINTWISE = RLX_TRAIT_POINTWISE,
  COMMUTES = RLX_TRAIT_COMMUTES,
  VIEW = RLX_TRAIT_VIEW,
  IN_PLACE = RLX_TRAIT_IN_PLACE,
  COMPOSITE = RLX_TRAIT_COMPOSITE,
  FUSED = RLX_TRAIT_FUSED | RLX_TRAIT_COMPOSITE,
  EFFECT = RLX_TRAIT_EFFECT,
  RANDOM = RLX_TRAIT_RANDOM,
  CONTROL = RLX_TRAIT_CONTROL,
  MOVES = RLX_TRAIT_MOVES
};

#define COUNT_OF(a) ((uint32_t)(sizeof(a) / sizeof *(a)) - 1)
#define OP(name_, types_, inputs_, result_, shape_, attrs_, traits_, doc_)                                \
  static const rlx_op_table_row *row_##name_(void) {                                                      \
    typedef rlx_attrs_##name_ attrs_t;                                                                    \
    static const rlx_in_field ins[] = {RLX_UNPAREN inputs_{NULL, RLX_IN_U, RLX_IN_REQUIRED}};             \
    static const rlx_attr_field fields[] = {RLX_UNPAREN attrs_{NULL, NULL, NULL, RLX_ATTR_INT, 0}};       \
    static const rlx_op_table_row row = {.name = #name_,                                                  \
                                         .doc = doc_,                                                     \
                                         .types = (types_),                                               \
                                         .traits = (uint32_t)(traits_),                                   \
                                         .inputs = ins,                                                   \
                                         .n_inputs = COUNT_OF(ins),                                       \
                                         .n_required = required_##name_,                                  \
                                         .many = many_##name_ != 0,                                       \
                                         .result = RLX_IN_##result_,                                      \
                                         .shape = rlx_shape_##shape_,                                     \
                                         .attrs = fields,                                                 \
                                         .n_attrs = COUNT_OF(fields),                                     \
                                         .attrs_bytes = COUNT_OF(fields) ? (uint32_t)sizeof(attrs_t) : 0, \
                                         .attrs_default = &defaults_##name_};                             \
    return &row;                                                                                          \
  }
#include "ir/ops.def"
#undef OP

static const rlx_op_table_row *row_invalid(void) {
  static const rlx_op_table_row row = {.name = "invalid", .doc = "no op"};
  return &row;
}

static const rlx_op_table_row *(*const rows[RLX_OP_COUNT])(void) = {
  row_invalid,
#define OP(name, types, inputs, result, shape, attrs, traits, doc) row_##name,
#include "ir/ops.def"
#undef OP
};

const rlx_op_table_row *rlx_op_table_get(rlx_op op) {
  return rows[(unsigned)op < RLX_OP_COUNT ? op : RLX_OP_INVALID]();
}

rlx_op rlx_op_table_from_name(const char *name, size_t n) {
  for (uint32_t i = 1; i < RLX_OP_COUNT; i++) {
    const char *row_name = rows[i]()->name;
    if (strlen(row_name) == n && memcmp(row_name, name, n) == 0) return (rlx_op)i;
  }
  return RLX_OP_INVALID;
}
