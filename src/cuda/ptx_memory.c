/* Variables, pointers, loads and stores. Windows are .global, workgroup variables .shared; a function's variables are
 * registers or .local memory (ptx_state.h). */
#include "cuda/ptx_state.h"

enum {
  BUILT_NUM_WORKGROUPS = 24,
  BUILT_WORKGROUP_ID = 26,
  BUILT_LOCAL_ID = 27,
  BUILT_SUBGROUP_SIZE = 36,
  BUILT_SUBGROUP_ID = 40,
  BUILT_LANE = 41
};

/* ---- variables ---- */

static rlx_status fail(const ptx_state *s, uint32_t id, const char *why) {
  return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s: SPIR-V id %u: %s", s->desc->name, (unsigned)id, why);
}

static rlx_status define_pointer(ptx_state *s, uint32_t id, const ptx_pointer *p) {
  if (id == 0 || id >= s->bound) return RLX_FAIL(RLX_INVALID, "kernel %s: SPIR-V id %u", s->desc->name, (unsigned)id);
  if (s->pointers.n >= PTX_MAX_ALL_LEAVES) return fail(s, id, "too many pointers");
  if (!rlx_array_push(&s->pointers, *p)) return RLX_FAIL(RLX_NO_MEMORY, "PTX of kernel %s", s->desc->name);
  ptx_id_at(s, id)->value = (ptx_value){.first = (uint32_t)s->pointers.n - 1, .n = 1, .is_pointer = true};
  return RLX_OK;
}

/* The address of a window is loaded at the beginning of the kernel. */
static rlx_status window(ptx_state *s, uint32_t id, ptx_pointer *p) {
  const uint32_t binding = ptx_id_at(s, id)->binding;
  if (binding >= s->desc->n_windows) return fail(s, id, "a window that the kernel does not have");
  p->has_register = true;
  p->address = s->n_longs++;
  const unsigned r = (unsigned)p->address, b = (unsigned)binding;
  rlx_str_add(&s->prologue, "ld.param.u64 %%d%u, [w%u];\ncvta.to.global.u64 %%d%u, %%d%u;\n", r, b, r, r);
  return RLX_OK;
}

static rlx_status declare(ptx_state *s, uint32_t id, const ptx_type *t, const char *space, ptx_pointer *p) {
  if (!t->bytes) return fail(s, id, "a variable that is too large, or of a type that cannot be stored");
  p->variable = s->n_locals++;
  rlx_str_add(&s->variables, "%s .align 16 .b8 v%u[%u];\n", space, (unsigned)p->variable, (unsigned)t->bytes);
  return RLX_OK;
}

/* The variable's leaves follow each other; p->variable is the first. */
static rlx_status make_registers(ptx_state *s, uint32_t id, uint32_t type, ptx_pointer *p) {
  ptx_value v;
  RLX_TRY(ptx_define_registers(s, id, type, &v));
  p->in_registers = true;
  p->variable = v.first;
  return RLX_OK;
}

/* Whether a variable's only content is a constant: an array of words. */
static bool is_constant(ptx_state *s, uint32_t id, const ptx_type *t) {
  const ptx_id *d = ptx_id_at(s, id);
  const ptx_kind of = ptx_type_at(s, t->of)->kind;
  return d->store_at && !d->is_varied && t->kind == PTX_ARRAY && (of == PTX_INT || of == PTX_FLOAT) && t->n_leaves;
}

/* All expansions of a function share the table. */
static rlx_status make_table(ptx_state *s, uint32_t id, const ptx_type *t, ptx_pointer *p) {
  ptx_id *d = ptx_id_at(s, id);
  ptx_value v;
  RLX_TRY(ptx_get(s, s->w[d->store_at + 2], &v));
  if (v.n != t->n_leaves || t->stride != 4) return fail(s, id, "a constant of another type");
  if (!d->table) {
    d->table = ++s->n_tables;
    rlx_str_add(&s->tables, ".global .align 16 .b32 t%u[%u] = {", (unsigned)d->table, (unsigned)v.n);
    for (uint32_t k = 0; k < v.n; k++)
      rlx_str_add(&s->tables, "%s%s", k ? ", " : "", ptx_word(ptx_leaf_of(s, &v, k)).v);
    rlx_str_add(&s->tables, "};\n");
  }
  p->is_table = true;
  p->variable = d->table;
  return RLX_OK;
}

/* Remembers what is stored in a function's variable, for the next attempt. */
static void note_store(ptx_state *s, const uint32_t *i, const ptx_pointer *p, const ptx_value *v) {
  ptx_id *d = ptx_id_at(s, p->root);
  const uint32_t at = (uint32_t)(i - s->w);
  const bool is_whole = i[1] == p->root && v->first + (size_t)v->n <= s->n_constant_leaves;
  if (is_whole && (!d->store_at || d->store_at == at)) d->store_at = at;
  else d->is_varied = true;
}

rlx_status ptx_variable(ptx_state *s, const uint32_t *i) {
  if (ptx_length(i) != 4) return ptx_unsupported(s, i); /* with an initial value: kernels have none */
  const ptx_type *pointer = ptx_type_at(s, i[1]);
  const uint32_t id = i[2];
  if (pointer->kind != PTX_POINTER || pointer->class != i[3] || id == 0 || id >= s->bound)
    return RLX_FAIL(RLX_INVALID, "kernel %s: SPIR-V id %u: expected a variable", s->desc->name, (unsigned)id);
  ptx_pointer p = {.root = id, .class = i[3], .type = pointer->of};
  const ptx_type *t = ptx_type_at(s, p.type);
  switch (p.class) {
    case CLASS_STORAGE_BUFFER: RLX_TRY(window(s, id, &p)); break;
    case CLASS_WORKGROUP: RLX_TRY(declare(s, id, t, ".shared", &p)); break;
    case CLASS_PUSH_CONSTANT: break;
    case CLASS_INPUT: p.variable = ptx_id_at(s, id)->built; break;
    case CLASS_FUNCTION:
      if (ptx_id_at(s, id)->in_memory && is_constant(s, id, t)) RLX_TRY(make_table(s, id, t, &p));
      else if (ptx_id_at(s, id)->in_memory || !t->n_leaves) RLX_TRY(declare(s, id, t, ".local", &p));
      else RLX_TRY(make_registers(s, id, p.type, &p));
      break;
    default: return ptx_unsupported(s, i);
  }
  return define_pointer(s, id, &p);
}

/* ---- access chains ---- */

static rlx_status member(ptx_state *s, const uint32_t *i, uint32_t index, ptx_pointer *p) {
  const ptx_type *t = ptx_type_at(s, p->type);
  uint32_t k;
  if (!ptx_number(s, index, &k) || k >= t->n) return ptx_unsupported(s, i);
  for (size_t m = 0; m < s->members.n; m++) {
    if (s->members.v[m].type != p->type || s->members.v[m].index != k) continue;
    if (s->members.v[m].offset > PTX_MAX_VARIABLE || p->offset > PTX_MAX_VARIABLE) return ptx_unsupported(s, i);
    p->offset += s->members.v[m].offset;
    p->type = s->w[t->at + k];
    return RLX_OK;
  }
  return ptx_unsupported(s, i);
}

/* address += index * stride. Global and local addresses have 64 bits, shared ones 32. */
static rlx_status add_index(ptx_state *s, const uint32_t *i, uint32_t index, const ptx_type *t, ptx_pointer *p) {
  ptx_value v;
  RLX_TRY(ptx_get(s, index, &v));
  const ptx_type *of = ptx_type_at(s, v.type);
  if (v.n != 1 || of->kind != PTX_INT) return ptx_unsupported(s, i);
  const ptx_text x = ptx_word(ptx_leaf_of(s, &v, 0));
  const unsigned stride = (unsigned)t->stride, from = (unsigned)p->address, name = (unsigned)p->variable;
  if (p->class == CLASS_WORKGROUP) {
    unsigned base = from, to = s->n_words++;
    if (!p->has_register) {
      base = s->n_words++;
      rlx_str_add(&s->body, "mov.u32 %%r%u, v%u;\n", base, name);
    }
    rlx_str_add(&s->body, "mad.lo.u32 %%r%u, %s, %u, %%r%u;\n", to, x.v, stride, base);
    p->address = to;
  } else if (p->class == CLASS_STORAGE_BUFFER || p->class == CLASS_FUNCTION) {
    unsigned base = from, to = s->n_longs++;
    if (!p->has_register) {
      base = s->n_longs++;
      rlx_str_add(&s->body, "mov.u64 %%d%u, %c%u;\n", base, p->is_table ? 't' : 'v', name);
    }
    rlx_str_add(&s->body, "mad.wide.%s %%d%u, %s, %u, %%d%u;\n", of->is_signed ? "s32" : "u32", to, x.v, stride, base);
    p->address = to;
  } else return ptx_unsupported(s, i);
  p->has_register = true;
  return RLX_OK;
}

/* An index into elements. A variable in registers moves to memory if the index is not a number within it. */
static rlx_status element(ptx_state *s, const uint32_t *i, uint32_t index, ptx_pointer *p) {
  const ptx_type *t = ptx_type_at(s, p->type);
  uint32_t k = 0;
  const bool is_number = ptx_number(s, index, &k);
  if (p->in_registers) {
    if (is_number && k < t->n) p->offset += k * ptx_type_at(s, t->of)->n_leaves;
    else ptx_id_at(s, p->root)->in_memory = s->again = true;
  } else if (is_number) {
    const uint64_t at = p->offset + (uint64_t)k * t->stride;
    if (at > INT32_MAX) return ptx_unsupported(s, i);
    p->offset = (uint32_t)at;
  } else RLX_TRY(add_index(s, i, index, t, p));
  p->type = t->of;
  return RLX_OK;
}

static rlx_status access_chain(ptx_state *s, const uint32_t *i) {
  ptx_pointer p;
  if (ptx_length(i) < 4) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get_pointer(s, i[3], &p));
  for (uint32_t k = 4; k < ptx_length(i); k++) {
    const ptx_kind kind = ptx_type_at(s, p.type)->kind;
    if (kind == PTX_STRUCT) RLX_TRY(member(s, i, i[k], &p));
    else if (kind == PTX_VECTOR || kind == PTX_ARRAY) RLX_TRY(element(s, i, i[k], &p));
    else return ptx_unsupported(s, i);
  }
  return define_pointer(s, i[2], &p);
}

/* ---- loads and stores ---- */

static const char *space_of(const ptx_pointer *p) {
  return p->class == CLASS_WORKGROUP ? "shared" : p->class == CLASS_FUNCTION && !p->is_table ? "local" : "global";
}

static void add_address(ptx_state *s, const ptx_pointer *p, uint32_t offset) {
  const char *name = p->is_table && !p->has_register ? "t"
                     : !p->has_register              ? "v"
                     : p->class == CLASS_WORKGROUP   ? "%r"
                                                     : "%d";
  rlx_str_add(&s->body, "[%s%u+%u]", name, (unsigned)(p->has_register ? p->address : p->variable),
              (unsigned)(p->offset + offset));
}

/* A vector of 2 or 4 is one access, if its place allows it. */
static uint32_t together(const ptx_type *t, const ptx_pointer *p) {
  const bool is_pair = t->kind == PTX_VECTOR && (t->n == 2 || t->n == 4);
  return is_pair && p->offset % t->bytes == 0 ? t->n : 1;
}

static void access_vector(ptx_state *s, const ptx_pointer *p, uint32_t offset, uint32_t first, uint32_t n,
                          bool is_load) {
  const char *space = space_of(p), *many = n == 4 ? ".v4" : n == 2 ? ".v2" : "";
  rlx_str_add(&s->body, "%s.%s%s.b32 ", is_load ? "ld" : "st", space, many);
  if (!is_load) add_address(s, p, offset), rlx_str_add(&s->body, ", ");
  for (uint32_t k = 0; k < n; k++)
    rlx_str_add(&s->body, "%s%s%s",
                n > 1 && !k ? "{"
                : k         ? ", "
                            : "",
                ptx_word(s->leaves.v[first + k]).v, n > 1 && k + 1 == n ? "}" : "");
  if (is_load) rlx_str_add(&s->body, ", "), add_address(s, p, offset);
  rlx_str_add(&s->body, ";\n");
}

/* Loads or stores the leaves of a value in memory. */
static rlx_status access(ptx_state *s, const uint32_t *i, const ptx_pointer *p, const ptx_value *v, bool is_load) {
  const ptx_type *t = ptx_type_at(s, p->type), *part = t->kind == PTX_ARRAY ? ptx_type_at(s, t->of) : t;
  const uint32_t n_parts = t->kind == PTX_ARRAY ? t->n : 1;
  if (part->kind < PTX_INT || part->kind > PTX_VECTOR || ptx_is_flags(s, p->type) || n_parts * part->n_leaves != v->n)
    return ptx_unsupported(s, i);
  if ((uint64_t)p->offset + (uint64_t)n_parts * t->stride > INT32_MAX) return ptx_unsupported(s, i);
  const uint32_t step = part->n_leaves == 1 || t->kind == PTX_ARRAY ? 1 : together(t, p);
  for (uint32_t k = 0; k < n_parts; k++)
    for (uint32_t j = 0; j < part->n_leaves; j += step)
      access_vector(s, p, k * (n_parts > 1 ? t->stride : 0) + 4 * j, v->first + k * part->n_leaves + j, step, is_load);
  return RLX_OK;
}

/* A value that the hardware provides. */
static rlx_status load_built(ptx_state *s, const uint32_t *i, const ptx_pointer *p, const ptx_value *v) {
  static const char *const axes[] = {"x", "y", "z"};
  const char *vector = p->variable == BUILT_NUM_WORKGROUPS ? "nctaid"
                       : p->variable == BUILT_WORKGROUP_ID ? "ctaid"
                       : p->variable == BUILT_LOCAL_ID     ? "tid"
                                                           : NULL;
  for (uint32_t k = 0; k < v->n; k++) {
    const unsigned r = (unsigned)s->leaves.v[v->first + k].v;
    const uint32_t axis = p->offset / 4 + k;
    if (vector && axis < 3) rlx_str_add(&s->body, "mov.u32 %%r%u, %%%s.%s;\n", r, vector, axes[axis]);
    else if (p->variable == BUILT_LANE) rlx_str_add(&s->body, "mov.u32 %%r%u, %%laneid;\n", r);
    else if (p->variable == BUILT_SUBGROUP_SIZE) rlx_str_add(&s->body, "mov.u32 %%r%u, 32;\n", r);
    else if (p->variable == BUILT_SUBGROUP_ID)
      rlx_str_add(&s->body, "mov.u32 %%r%u, %%tid.x;\nshr.u32 %%r%u, %%r%u, 5;\n", r, r, r);
    else return ptx_unsupported(s, i);
  }
  return RLX_OK;
}

static rlx_status load_param(ptx_state *s, const uint32_t *i, const ptx_pointer *p, const ptx_value *v) {
  if (v->n != 1 || ptx_is_flags(s, p->type) || p->offset % 4 || p->offset + 4 > s->desc->params_bytes)
    return ptx_unsupported(s, i);
  rlx_str_add(&s->body, "ld.param.b32 %s, [params+%u];\n", ptx_word(ptx_leaf_of(s, v, 0)).v, (unsigned)p->offset);
  return RLX_OK;
}

static rlx_status load(ptx_state *s, const uint32_t *i) {
  ptx_pointer p;
  ptx_value v;
  if (ptx_length(i) < 4) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get_pointer(s, i[3], &p));
  if (p.type != i[1]) return ptx_unsupported(s, i);
  RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
  if (p.class == CLASS_INPUT) return load_built(s, i, &p, &v);
  if (p.class == CLASS_PUSH_CONSTANT) return load_param(s, i, &p, &v);
  if (!p.in_registers) return access(s, i, &p, &v, true);
  for (uint32_t k = 0; k < v.n; k++) ptx_move(s, s->leaves.v[v.first + k], s->leaves.v[p.variable + p.offset + k]);
  return RLX_OK;
}

static rlx_status store(ptx_state *s, const uint32_t *i) {
  ptx_pointer p;
  ptx_value v;
  if (ptx_length(i) < 3) return ptx_unsupported(s, i);
  RLX_TRY(ptx_get_pointer(s, i[1], &p));
  RLX_TRY(ptx_get(s, i[2], &v));
  if (p.type != v.type || p.class == CLASS_INPUT || p.class == CLASS_PUSH_CONSTANT) return ptx_unsupported(s, i);
  if (p.class == CLASS_FUNCTION) note_store(s, i, &p, &v);
  if (p.is_table) return RLX_OK;
  if (!p.in_registers) return access(s, i, &p, &v, false);
  for (uint32_t k = 0; k < v.n; k++) ptx_move(s, s->leaves.v[p.variable + p.offset + k], s->leaves.v[v.first + k]);
  return RLX_OK;
}

rlx_status ptx_memory_instruction(ptx_state *s, const uint32_t *i) {
  return ptx_op(i) == OP_LOAD ? load(s, i) : ptx_op(i) == OP_STORE ? store(s, i) : access_chain(s, i);
}
