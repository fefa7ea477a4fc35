/* The op table in C: the enum of ops, one attribute struct per op, and a description of each row.
 *
 * Everything here is generated from ops.def. An op's attributes are a plain struct (rlx_attrs_conv has the fields of
 * conv's row, in that order). A table of field descriptions lets one routine copy, compare, hash, print, parse and
 * check them all (attrs.c). */
#ifndef RLX_IR_OP_H
#define RLX_IR_OP_H

#include "ir/dtype.h"
#include "rlx/experimental.h"

typedef struct rlx_blob rlx_blob; /* a constant's bytes, shared between graphs (graph.h) */

/* ---- the enum: RLX_OP_add ---- */
typedef enum rlx_op {
  RLX_OP_INVALID = 0,
#define OP(name, types, inputs, result, shape, attrs, traits, doc) RLX_OP_##name,
#include "ir/ops.def"
#undef OP
  RLX_OP_COUNT
} rlx_op;

/* ---- attribute structs: rlx_attrs_add ---- */
#define RLX_UNPAREN(...) __VA_ARGS__
#define A_INT(name, fallback, doc) int64_t name;
#define A_FLOAT(name, fallback, doc) double name;
#define A_BOOL(name, fallback, doc) bool name;
#define A_ENUM(name, names, fallback, doc) int32_t name;
#define A_TYPE(name, fallback, doc) rlx_dtype name;
#define A_DIMS(name, doc) rlx_dims name;
#define A_FLOATS(name, doc) rlx_floats name;
#define A_TEXT(name, doc) const char *name;
#define A_GRAPH(name, doc) rlx_graph *name;
#define A_DATA(name, doc) rlx_blob *name;
#define A_NONE char none_;
#define OP(name, types, inputs, result, shape, attrs, traits, doc) \
  typedef struct rlx_attrs_##name {                                \
    RLX_UNPAREN attrs                                              \
  } rlx_attrs_##name;
#include "ir/ops.def"
#undef OP
#include "ir/attrs_end.h"

/* Large enough for the attributes of any op. */
typedef union rlx_any_attrs {
#define OP(name, types, inputs, result, shape, attrs, traits, doc) rlx_attrs_##name name##_;
#include "ir/ops.def"
#undef OP
} rlx_any_attrs;

/* ---- descriptions ---- */
/* clang-format off */
typedef enum rlx_attr_kind {
  RLX_ATTR_INT, RLX_ATTR_FLOAT, RLX_ATTR_BOOL, RLX_ATTR_ENUM, RLX_ATTR_TYPE,
  RLX_ATTR_DIMS, RLX_ATTR_FLOATS, RLX_ATTR_TEXT, RLX_ATTR_GRAPH, RLX_ATTR_DATA
} rlx_attr_kind;
/* clang-format on */

typedef struct rlx_attr_field {
  const char *name;
  const char *doc;
  const char *names; /* of an enum, separated by spaces; else NULL */
  rlx_attr_kind kind;
  uint32_t offset; /* in the attribute struct */
} rlx_attr_field;

/* The types that an input or result may have; see the head of ops.def. Fixed types follow RLX_IN_FIXED. */
/* clang-format off */
typedef enum rlx_in_type {
  RLX_IN_T, RLX_IN_W, RLX_IN_WF, RLX_IN_KV, RLX_IN_INDEX, RLX_IN_BLOCK, RLX_IN_U, RLX_IN_TO, RLX_IN_RULE,
  RLX_IN_F32, RLX_IN_I32, RLX_IN_BOOL, RLX_IN_C64
} rlx_in_type;
/* clang-format on */

typedef enum rlx_in_mode { RLX_IN_REQUIRED, RLX_IN_OPTIONAL, RLX_IN_MANY } rlx_in_mode;

typedef struct rlx_in_field {
  const char *name;
  rlx_in_type type;
  rlx_in_mode mode;
} rlx_in_field;

/* clang-format off */
enum rlx_trait {
  RLX_TRAIT_LEAF = 1, RLX_TRAIT_POINTWISE = 2, RLX_TRAIT_COMMUTES = 4, RLX_TRAIT_VIEW = 8, RLX_TRAIT_IN_PLACE = 16,
  RLX_TRAIT_COMPOSITE = 32, RLX_TRAIT_FUSED = 64, RLX_TRAIT_EFFECT = 128, RLX_TRAIT_RANDOM = 256,
  RLX_TRAIT_CONTROL = 512, RLX_TRAIT_MOVES = 1024
};
/* clang-format on */

struct rlx_infer;
typedef rlx_status (*rlx_shape_rule)(struct rlx_infer *c);

#define RLX_OP_MAX_INPUTS 12 /* maximum number of inputs that a row names */

typedef struct rlx_op_table_row {
  const char *name;
  const char *doc;
  rlx_type_set types; /* what T may be; 0 if there is no T */
  uint32_t traits;
  const rlx_in_field *inputs;
  uint32_t n_inputs; /* fields; the last may be MANY */
  uint32_t n_required;
  bool many;
  rlx_in_type result;
  rlx_shape_rule shape;
  const rlx_attr_field *attrs;
  uint32_t n_attrs;
  uint32_t attrs_bytes; /* 0 if there are none */
  const void *attrs_default;
} rlx_op_table_row;

const rlx_op_table_row *rlx_op_table_get(rlx_op op);       /* never NULL for 0 < op < RLX_OP_COUNT */
rlx_op rlx_op_table_from_name(const char *name, size_t n); /* RLX_OP_INVALID if unknown */
static inline bool rlx_op_table_has(rlx_op op, uint32_t trait) { return (rlx_op_table_get(op)->traits & trait) != 0; }
/* Whether the op's result is its input 0, a state, with new rows: the state's value when the run ends. */
static inline bool rlx_op_is_update(rlx_op op) { return op == RLX_OP_update || op == RLX_OP_fused_rope_update; }

#endif
