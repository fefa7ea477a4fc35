/* The module outside its functions: types, constants and decorations; and the values of ids (ptx_state.h). */
#include <stdio.h>
#include <string.h>

#include "cuda/ptx_state.h"

enum { DECORATION_ARRAY_STRIDE = 6, DECORATION_BUILT_IN = 11, DECORATION_BINDING = 33, DECORATION_OFFSET = 35 };
enum {
  OP_NULL = 46,
  OP_EXTENSION = 10,
  OP_EXT_IMPORT = 11,
  OP_MEMORY_MODEL = 14,
  OP_EXECUTION_MODE = 16,
  OP_CAPABILITY = 17,
  OP_TYPE_VOID = 19,
  OP_TYPE_FLOAT = 22,
  OP_TYPE_VECTOR = 23,
  OP_TYPE_ARRAY = 28,
  OP_TYPE_RUNTIME_ARRAY = 29,
  OP_TYPE_STRUCT = 30,
  OP_TYPE_POINTER = 32,
  OP_TYPE_FUNCTION = 33,
  OP_VARIABLE = 59,
  OP_MEMBER_DECORATE = 72,
};

/* ---- ids ---- */

ptx_id *ptx_id_at(ptx_state *s, uint32_t id) { return &s->id[id < s->bound ? id : 0]; }

rlx_status ptx_unsupported(const ptx_state *s, const uint32_t *i) {
  return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s: SPIR-V instruction %u of %u words has no PTX", s->desc->name,
                  (unsigned)ptx_op(i), (unsigned)ptx_length(i));
}

static rlx_status invalid(const ptx_state *s, uint32_t id, const char *expected) {
  return RLX_FAIL(RLX_INVALID, "kernel %s: SPIR-V id %u: expected %s", s->desc->name, (unsigned)id, expected);
}

static rlx_status no_memory(const ptx_state *s) { return RLX_FAIL(RLX_NO_MEMORY, "PTX of kernel %s", s->desc->name); }

/* ---- leaves ---- */

bool ptx_is_flags(ptx_state *s, uint32_t type) {
  const ptx_type *t = ptx_type_at(s, type);
  for (int depth = 0; depth < 8 && (t->kind == PTX_VECTOR || t->kind == PTX_ARRAY); depth++) t = ptx_type_at(s, t->of);
  return t->kind == PTX_BOOL;
}

static rlx_status add_leaves(ptx_state *s, uint32_t n, uint32_t *first) {
  if (n > PTX_MAX_ALL_LEAVES - s->leaves.n)
    return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s: more than %d scalars", s->desc->name, PTX_MAX_ALL_LEAVES);
  if (!rlx_array_reserve(&s->leaves, n)) return no_memory(s);
  *first = (uint32_t)s->leaves.n;
  memset(s->leaves.v + s->leaves.n, 0, n * sizeof *s->leaves.v);
  s->leaves.n += n;
  return RLX_OK;
}

rlx_status ptx_define(ptx_state *s, uint32_t id, uint32_t type, ptx_value *out) {
  const uint32_t n = ptx_type_at(s, type)->n_leaves;
  if (id == 0 || id >= s->bound) return invalid(s, id, "an id below the bound");
  if (!n) return invalid(s, type, "a type of values");
  *out = (ptx_value){.type = type, .n = n};
  RLX_TRY(add_leaves(s, n, &out->first));
  ptx_id_at(s, id)->value = *out;
  return RLX_OK;
}

rlx_status ptx_define_registers(ptx_state *s, uint32_t id, uint32_t type, ptx_value *out) {
  RLX_TRY(ptx_define(s, id, type, out));
  const bool is_flags = ptx_is_flags(s, type);
  for (uint32_t i = 0; i < out->n; i++) s->leaves.v[out->first + i] = is_flags ? ptx_new_flag(s) : ptx_new_word(s);
  return RLX_OK;
}

rlx_status ptx_get(ptx_state *s, uint32_t id, ptx_value *out) {
  *out = ptx_id_at(s, id)->value;
  return out->n && !out->is_pointer ? RLX_OK : invalid(s, id, "a value defined before its use");
}

rlx_status ptx_get_pointer(ptx_state *s, uint32_t id, ptx_pointer *out) {
  const ptx_value v = ptx_id_at(s, id)->value;
  if (!v.n || !v.is_pointer) return invalid(s, id, "a pointer defined before its use");
  *out = s->pointers.v[v.first];
  return RLX_OK;
}

rlx_status ptx_alias(ptx_state *s, uint32_t id, uint32_t type, const ptx_value *v) {
  if (id == 0 || id >= s->bound) return invalid(s, id, "an id below the bound");
  if (v->is_pointer || ptx_type_at(s, type)->n_leaves != v->n || ptx_is_flags(s, type) != ptx_is_flags(s, v->type))
    return invalid(s, id, "a type with the operand's number of scalars");
  ptx_id_at(s, id)->value = (ptx_value){.type = type, .first = v->first, .n = v->n};
  return RLX_OK;
}

bool ptx_number(ptx_state *s, uint32_t id, uint32_t *out) {
  const ptx_value v = ptx_id_at(s, id)->value;
  if (v.n != 1 || v.is_pointer || s->leaves.v[v.first].kind != LEAF_NUMBER) return false;
  *out = s->leaves.v[v.first].v;
  return true;
}

/* ---- text ---- */

ptx_text ptx_word(ptx_leaf l) {
  ptx_text t;
  snprintf(t.v, sizeof t.v, l.kind == LEAF_NUMBER ? "%u" : "%%r%u", (unsigned)l.v);
  return t;
}

ptx_text ptx_float(ptx_leaf l) {
  ptx_text t;
  snprintf(t.v, sizeof t.v, l.kind == LEAF_NUMBER ? "0f%08X" : "%%r%u", (unsigned)l.v);
  return t;
}

ptx_text ptx_flag(ptx_state *s, ptx_leaf l) {
  if (l.kind == LEAF_NUMBER) {
    const ptx_leaf to = ptx_new_flag(s);
    ptx_move(s, to, l);
    l = to;
  }
  ptx_text t;
  snprintf(t.v, sizeof t.v, "%%p%u", (unsigned)l.v);
  return t;
}

void ptx_move(ptx_state *s, ptx_leaf to, ptx_leaf from) {
  if (to.kind == LEAF_FLAG && from.kind == LEAF_NUMBER)
    rlx_str_add(&s->body, "setp.ne.u32 %%p%u, %u, 0;\n", (unsigned)to.v, from.v != 0);
  else if (to.kind == LEAF_FLAG) rlx_str_add(&s->body, "mov.pred %%p%u, %%p%u;\n", (unsigned)to.v, (unsigned)from.v);
  else rlx_str_add(&s->body, "mov.b32 %%r%u, %s;\n", (unsigned)to.v, ptx_word(from).v);
}

/* ---- types ---- */

static void lay_out_elements(ptx_state *s, uint32_t id, ptx_type *t) {
  const ptx_type *of = ptx_type_at(s, t->of);
  const uint32_t given = ptx_id_at(s, id)->array_stride;
  t->align = of->align;
  t->stride = given ? given : of->align ? (of->bytes + of->align - 1) / of->align * of->align : 0;
  const uint64_t leaves = (uint64_t)t->n * of->n_leaves, bytes = (uint64_t)t->n * t->stride;
  t->n_leaves = leaves <= PTX_MAX_LEAVES ? (uint32_t)leaves : 0;
  t->bytes = bytes <= PTX_MAX_VARIABLE ? (uint32_t)bytes : 0;
}

static rlx_status read_vector(ptx_state *s, uint32_t id, const uint32_t *i, ptx_type *t) {
  const ptx_type *of = ptx_type_at(s, i[2]);
  *t = (ptx_type){.kind = PTX_VECTOR, .of = i[2], .n = i[3]};
  if (of->kind < PTX_BOOL || of->kind > PTX_FLOAT || t->n < 2 || t->n > 4) return invalid(s, id, "2 to 4 scalars");
  t->n_leaves = t->n;
  t->stride = 4;
  t->bytes = 4 * t->n;
  t->align = t->n == 3 ? 4 : t->bytes;
  return RLX_OK;
}

static rlx_status read_array(ptx_state *s, uint32_t id, const uint32_t *i, ptx_type *t) {
  const ptx_kind of = ptx_type_at(s, i[2])->kind;
  *t = (ptx_type){.kind = PTX_ARRAY, .of = i[2]};
  if (of < PTX_BOOL || of > PTX_ARRAY) return invalid(s, id, "an array of scalars, vectors or arrays");
  if (ptx_op(i) == OP_TYPE_ARRAY && (!ptx_number(s, i[3], &t->n) || !t->n))
    return invalid(s, id, "an array whose length is a number");
  lay_out_elements(s, id, t);
  return RLX_OK;
}

/* A struct is a block of a window or of parameters, whose members have offsets, or the result of an instruction. */
static rlx_status read_struct(ptx_state *s, const uint32_t *i, ptx_type *t) {
  *t = (ptx_type){.kind = PTX_STRUCT, .n = ptx_length(i) - 2, .at = (uint32_t)(i + 2 - s->w)};
  for (uint32_t k = 0; k < t->n; k++) {
    const ptx_type *m = ptx_type_at(s, i[2 + k]);
    if (m->kind == PTX_NONE) return invalid(s, i[2 + k], "a type");
    t->n_leaves += m->kind == PTX_INT || m->kind == PTX_FLOAT ? 1 : PTX_MAX_LEAVES;
    if (t->n_leaves > PTX_MAX_LEAVES) break;
  }
  if (t->n_leaves > PTX_MAX_LEAVES) t->n_leaves = 0;
  return RLX_OK;
}

static rlx_status read_type(ptx_state *s, const uint32_t *i) {
  const uint32_t id = i[1], n = ptx_length(i);
  const ptx_type scalar = {.n = 1, .n_leaves = 1, .bytes = 4, .align = 4, .stride = 4};
  if (id == 0 || id >= s->bound) return invalid(s, id, "an id below the bound");
  ptx_type *t = &ptx_id_at(s, id)->type, made = scalar;
  switch (ptx_op(i)) {
    case OP_TYPE_VOID: made = (ptx_type){.kind = PTX_VOID}; break;
    case OP_TYPE_BOOL: made.kind = PTX_BOOL; break;
    case OP_TYPE_INT:
      if (n != 4 || i[2] != 32) return ptx_unsupported(s, i);
      made.kind = PTX_INT, made.is_signed = i[3] != 0;
      break;
    case OP_TYPE_FLOAT:
      if (n < 3 || i[2] != 32) return ptx_unsupported(s, i);
      made.kind = PTX_FLOAT;
      break;
    case OP_TYPE_VECTOR:
      if (n != 4) return ptx_unsupported(s, i);
      RLX_TRY(read_vector(s, id, i, &made));
      break;
    case OP_TYPE_ARRAY:
    case OP_TYPE_RUNTIME_ARRAY:
      if (n != (ptx_op(i) == OP_TYPE_ARRAY ? 4u : 3u)) return ptx_unsupported(s, i);
      RLX_TRY(read_array(s, id, i, &made));
      break;
    case OP_TYPE_STRUCT: RLX_TRY(read_struct(s, i, &made)); break;
    case OP_TYPE_POINTER:
      if (n != 4) return ptx_unsupported(s, i);
      made = (ptx_type){.kind = PTX_POINTER, .class = i[2], .of = i[3]};
      break;
    default: made = (ptx_type){.kind = PTX_FUNCTION}; break;
  }
  *t = made;
  return RLX_OK;
}

/* ---- constants ---- */

static rlx_status read_constant(ptx_state *s, const uint32_t *i) {
  const uint32_t op = ptx_op(i), n = ptx_length(i);
  ptx_value v, part;
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  if (op == OP_NULL) return RLX_OK;
  if (op == OP_CONSTANT_TRUE || op == OP_CONSTANT_FALSE || op == OP_CONSTANT) {
    if (v.n != 1 || (op == OP_CONSTANT && n != 4)) return ptx_unsupported(s, i);
    s->leaves.v[v.first].v = op == OP_CONSTANT ? i[3] : op == OP_CONSTANT_TRUE;
    return RLX_OK;
  }
  uint32_t at = 0;
  for (uint32_t k = 3; k < n; k++) {
    RLX_TRY(ptx_get(s, i[k], &part));
    if (part.n > v.n - at) return invalid(s, i[2], "as many parts as its type has");
    for (uint32_t j = 0; j < part.n; j++) s->leaves.v[v.first + at++] = s->leaves.v[part.first + j];
  }
  return at == v.n ? RLX_OK : invalid(s, i[2], "as many parts as its type has");
}

/* The specialiser has computed all but quotients by 0 and shifts by 32 or more, which may have any value, and what is
 * computed from them. An operation that is not known stays without a value, and its use is refused. */
static rlx_status read_operation(ptx_state *s, const uint32_t *i) {
  enum { U_DIV = 134, U_MOD = 137, SHIFT_RIGHT = 194, SHIFT_LEFT = 196, FIRST = 4, MAX_OPERANDS = 3 };
  uint32_t x[MAX_OPERANDS] = {0}, y = 0, n = ptx_length(i) - FIRST;
  ptx_value v;
  if (ptx_length(i) <= FIRST || n > MAX_OPERANDS || i[3] == OP_EXTRACT) return RLX_OK;
  for (uint32_t k = 0; k < n; k++)
    if (!ptx_number(s, i[FIRST + k], &x[k])) return RLX_OK;
  const bool is_any = n == 2 && (i[3] == U_DIV || i[3] == U_MOD || i[3] == SHIFT_RIGHT || i[3] == SHIFT_LEFT);
  if (!spirv_evaluate(i[3], x, n, &y) && !is_any) return RLX_OK;
  RLX_TRY(ptx_define(s, i[2], i[1], &v));
  s->leaves.v[v.first].v = y;
  return RLX_OK;
}

/* ---- decorations ---- */

static void read_decoration(ptx_state *s, const uint32_t *i) {
  if (ptx_length(i) != 4) return;
  ptx_id *d = ptx_id_at(s, i[1]);
  if (i[2] == DECORATION_BINDING) d->binding = i[3];
  if (i[2] == DECORATION_BUILT_IN) d->built = i[3];
  if (i[2] == DECORATION_ARRAY_STRIDE) d->array_stride = i[3];
}

static rlx_status read_member(ptx_state *s, const uint32_t *i) {
  if (ptx_length(i) != 5 || i[3] != DECORATION_OFFSET) return RLX_OK;
  return rlx_array_push(&s->members, ((ptx_member){i[1], i[2], i[4]})) ? RLX_OK : no_memory(s);
}

/* ---- the module ---- */

static rlx_status read_global(ptx_state *s, const uint32_t *i) {
  const uint32_t op = ptx_op(i), n = ptx_length(i);
  switch (op) {
    case OP_EXTENSION:
    case OP_MEMORY_MODEL:
    case OP_EXECUTION_MODE:
    case OP_CAPABILITY: return RLX_OK;
    case OP_EXT_IMPORT:
      if (n > 1) s->extension = i[1];
      return RLX_OK;
    case OP_ENTRY_POINT: s->entry = i[2]; return RLX_OK;
    case OP_DECORATE: read_decoration(s, i); return RLX_OK;
    case OP_MEMBER_DECORATE: return read_member(s, i);
    case OP_UNDEF:
    case OP_NULL:
    case OP_CONSTANT_TRUE:
    case OP_CONSTANT_FALSE:
    case OP_CONSTANT:
    case OP_CONSTANT_COMPOSITE:
    case OP_SPEC_COMPOSITE: {
      if (n < 3) return ptx_unsupported(s, i);
      ptx_value v;
      return op == OP_UNDEF ? ptx_define(s, i[2], i[1], &v) : read_constant(s, i);
    }
    case OP_SPEC_OP: return read_operation(s, i);
    case OP_VARIABLE: return ptx_variable(s, i);
    default: break;
  }
  if (op >= OP_TYPE_VOID && op <= OP_TYPE_FUNCTION && n > 1) return read_type(s, i);
  return ptx_unsupported(s, i);
}

static void note_labels(ptx_state *s, size_t at) {
  for (; at < s->n; at += ptx_length(s->w + at)) {
    const uint32_t op = ptx_op(s->w + at);
    if (op == OP_LABEL) ptx_id_at(s, s->w[at + 1])->at = (uint32_t)at;
    if (op == OP_FUNCTION) ptx_id_at(s, s->w[at + 2])->at = (uint32_t)at;
  }
}

rlx_status ptx_read_module(ptx_state *s) {
  size_t at = SPIRV_HEADER_WORDS;
  for (uint32_t i = 0; i < s->bound; i++) s->id[i].binding = s->id[i].built = UINT32_MAX;
  for (; at < s->n && ptx_op(s->w + at) != OP_FUNCTION; at += ptx_length(s->w + at)) RLX_TRY(read_global(s, s->w + at));
  note_labels(s, at);
  s->n_constant_leaves = s->leaves.n;
  return RLX_OK;
}
