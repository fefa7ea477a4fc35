/* Functions, blocks and branches. A phi is a set of registers that each predecessor writes before it branches. On an
 * edge the writes happen at once: if one of them reads what another one writes, all go through new registers. */
#include "cuda/ptx_state.h"

enum { OP_FUNCTION_PARAMETER = 55, OP_VARIABLE = 59, OP_BITCAST = 124, OP_RETURN = 253, OP_RETURN_VALUE = 254 };
enum { SCOPE_WORKGROUP = 2 };

static rlx_status invalid(const ptx_state *s, const uint32_t *i, const char *expected) {
  return RLX_FAIL(RLX_INVALID, "kernel %s: SPIR-V instruction %u: expected %s", s->desc->name, (unsigned)ptx_op(i),
                  expected);
}

/* ---- phis ---- */

/* The first instruction of the block with this label, if it is one of the function's; otherwise NULL. */
static const uint32_t *block_at(ptx_state *s, const ptx_frame *f, uint32_t label) {
  const uint32_t at = ptx_id_at(s, label)->at;
  if (label == 0 || label >= s->bound || at <= f->begin || at >= f->end || ptx_op(s->w + at) != OP_LABEL) return NULL;
  return s->w + at + ptx_length(s->w + at);
}

/* Whether a phi has one value, wherever the branch comes from. Then it is that value: indices of unrolled loops that
 * are numbers stay numbers. */
static bool is_copy(const uint32_t *phi) {
  for (uint32_t k = 3; k + 1 < ptx_length(phi); k += 2)
    if (phi[k] != phi[3] || phi[k] == phi[2]) return false;
  return ptx_length(phi) >= 5;
}

/* What a phi becomes when the branch comes from `block`; NULL: it does not know that block. */
static const ptx_value *incoming(ptx_state *s, const uint32_t *phi, uint32_t block) {
  for (uint32_t k = 3; k + 1 < ptx_length(phi); k += 2)
    if (phi[k + 1] == block) return &ptx_id_at(s, phi[k])->value;
  return NULL;
}

typedef struct range { /* of the registers of a block's phis: they follow each other */
  uint32_t words, end_words, flags, end_flags;
} range;

static void widen(range *r, ptx_leaf l) {
  uint32_t *low = l.kind == LEAF_FLAG ? &r->flags : &r->words,
           *high = l.kind == LEAF_FLAG ? &r->end_flags : &r->end_words;
  if (l.v < *low) *low = l.v;
  if (l.v >= *high) *high = l.v + 1;
}

static bool is_within(const range *r, ptx_leaf l) {
  return l.kind == LEAF_FLAG   ? l.v >= r->flags && l.v < r->end_flags
         : l.kind == LEAF_WORD ? l.v >= r->words && l.v < r->end_words
                               : false;
}

static rlx_status check_phis(ptx_state *s, const ptx_frame *f, const uint32_t *phi, range *r) {
  *r = (range){.words = UINT32_MAX, .flags = UINT32_MAX};
  for (; ptx_op(phi) == OP_PHI; phi += ptx_length(phi)) {
    if (is_copy(phi)) continue;
    const ptx_value to = ptx_id_at(s, phi[2])->value, *from = incoming(s, phi, f->block);
    if (!from || !from->n || from->is_pointer || from->n != to.n || to.is_pointer ||
        ptx_is_flags(s, from->type) != ptx_is_flags(s, to.type))
      return invalid(s, phi, "a value from each predecessor");
    for (uint32_t j = 0; j < to.n; j++) widen(r, ptx_leaf_of(s, &to, j));
    s->n_translated += ptx_length(phi);
  }
  return RLX_OK;
}

static bool overlaps(ptx_state *s, const ptx_frame *f, const uint32_t *phi, const range *r) {
  for (; ptx_op(phi) == OP_PHI; phi += ptx_length(phi)) {
    if (is_copy(phi)) continue;
    const ptx_value to = ptx_id_at(s, phi[2])->value, *from = incoming(s, phi, f->block);
    for (uint32_t j = 0; j < to.n; j++)
      if (ptx_leaf_of(s, from, j).v != ptx_leaf_of(s, &to, j).v && is_within(r, ptx_leaf_of(s, from, j))) return true;
  }
  return false;
}

/* Writes the phis of the block at `first`. Through new registers, the moves are done twice: to these, and from them. */
static void move_phis(ptx_state *s, const ptx_frame *f, const uint32_t *first, bool through) {
  const uint32_t words = s->n_words, flags = s->n_flags;
  for (int round = through ? 0 : 1; round < 2; round++) {
    uint32_t word = words, flag = flags;
    for (const uint32_t *phi = first; ptx_op(phi) == OP_PHI; phi += ptx_length(phi)) {
      if (is_copy(phi)) continue;
      const ptx_value to = ptx_id_at(s, phi[2])->value, *from = incoming(s, phi, f->block);
      for (uint32_t j = 0; j < to.n; j++) {
        const ptx_leaf x = ptx_leaf_of(s, from, j), y = ptx_leaf_of(s, &to, j);
        const ptx_leaf between = {y.kind, y.kind == LEAF_FLAG ? flag++ : word++};
        if (through) ptx_move(s, round ? y : between, round ? between : x);
        else if (x.kind != y.kind || x.v != y.v) ptx_move(s, y, x);
      }
    }
    if (through) s->n_words = word, s->n_flags = flag;
  }
}

/* ---- branches ---- */

static rlx_status go(ptx_state *s, const ptx_frame *f, const uint32_t *i, uint32_t label) {
  const uint32_t *first = block_at(s, f, label);
  range r;
  if (!first) return invalid(s, i, "a label of the function");
  RLX_TRY(check_phis(s, f, first, &r));
  move_phis(s, f, first, overlaps(s, f, first, &r));
  rlx_str_add(&s->body, "bra L%u_%u;\n", (unsigned)f->number, (unsigned)label);
  return RLX_OK;
}

/* If the predicate holds. The edge has instructions of its own where the block has phis. */
static rlx_status go_if(ptx_state *s, const ptx_frame *f, const uint32_t *i, const char *flag, uint32_t label) {
  const uint32_t *first = block_at(s, f, label);
  if (!first) return invalid(s, i, "a label of the function");
  if (ptx_op(first) != OP_PHI) {
    rlx_str_add(&s->body, "@%s bra L%u_%u;\n", flag, (unsigned)f->number, (unsigned)label);
    return RLX_OK;
  }
  const unsigned skip = (unsigned)s->n_frames++;
  rlx_str_add(&s->body, "@!%s bra L%u;\n", flag, skip);
  RLX_TRY(go(s, f, i, label));
  rlx_str_add(&s->body, "L%u:\n", skip);
  return RLX_OK;
}

static rlx_status branch_conditional(ptx_state *s, const ptx_frame *f, const uint32_t *i) {
  ptx_value c;
  RLX_TRY(ptx_get(s, i[1], &c));
  if (c.n != 1 || !ptx_is_flags(s, c.type)) return invalid(s, i, "a condition");
  const ptx_leaf l = ptx_leaf_of(s, &c, 0);
  if (l.kind == LEAF_NUMBER) return go(s, f, i, l.v ? i[2] : i[3]);
  RLX_TRY(go_if(s, f, i, ptx_flag(s, l).v, i[2]));
  return go(s, f, i, i[3]);
}

static rlx_status branch_switch(ptx_state *s, const ptx_frame *f, const uint32_t *i) {
  ptx_value x;
  RLX_TRY(ptx_get(s, i[1], &x));
  if (x.n != 1 || ptx_is_flags(s, x.type)) return invalid(s, i, "a selector");
  const ptx_leaf l = ptx_leaf_of(s, &x, 0);
  for (uint32_t k = 3; k + 1 < ptx_length(i); k += 2) {
    if (l.kind == LEAF_NUMBER && l.v == i[k]) return go(s, f, i, i[k + 1]);
    if (l.kind == LEAF_NUMBER) continue;
    const ptx_leaf is_case = ptx_new_flag(s);
    rlx_str_add(&s->body, "setp.eq.u32 %%p%u, %s, %u;\n", (unsigned)is_case.v, ptx_word(l).v, (unsigned)i[k]);
    RLX_TRY(go_if(s, f, i, ptx_flag(s, is_case).v, i[k + 1]));
  }
  return go(s, f, i, i[2]);
}

static rlx_status leave(ptx_state *s, const ptx_frame *f, const uint32_t *i) {
  ptx_value v;
  if (f->is_entry) {
    rlx_str_add(&s->body, "ret;\n");
    return RLX_OK;
  }
  if (ptx_op(i) == OP_RETURN_VALUE) {
    if (ptx_length(i) != 2) return invalid(s, i, "a value");
    RLX_TRY(ptx_get(s, i[1], &v));
    if (v.n != f->n_result) return invalid(s, i, "a value of the function's type");
    for (uint32_t j = 0; j < v.n; j++) {
      const ptx_leaf to = s->leaves.v[f->result + j], from = ptx_leaf_of(s, &v, j);
      if (from.kind != LEAF_NUMBER && from.kind != to.kind) return invalid(s, i, "a value of the function's type");
      ptx_move(s, to, from);
    }
  }
  rlx_str_add(&s->body, "bra E%u;\n", (unsigned)f->number);
  return RLX_OK;
}

/* ---- calls ---- */

static rlx_status call(ptx_state *s, const ptx_frame *from, const uint32_t *i) {
  ptx_id *callee = ptx_id_at(s, i[3]);
  ptx_frame f = {.number = s->n_frames++, .begin = callee->at, .depth = from->depth + 1};
  if (i[3] == 0 || i[3] >= s->bound || !callee->at || ptx_op(s->w + callee->at) != OP_FUNCTION)
    return invalid(s, i, "a function");
  if (callee->is_active || f.depth > PTX_MAX_DEPTH) return ptx_unsupported(s, i);
  if (ptx_type_at(s, i[1])->kind != PTX_VOID) {
    ptx_value v;
    RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
    f.result = v.first;
    f.n_result = v.n;
  }
  callee->is_active = true;
  rlx_status status = ptx_function(s, &f, i + 4, ptx_length(i) - 4);
  callee->is_active = false;
  rlx_str_add(&s->body, "E%u:\n", (unsigned)f.number);
  return status;
}

/* An argument is the caller's value or pointer itself: neither changes while the callee runs. */
static rlx_status take_argument(ptx_state *s, const uint32_t *i, uint32_t argument) {
  if (ptx_length(i) != 3 || i[2] == 0 || i[2] >= s->bound) return ptx_unsupported(s, i);
  const ptx_value v = ptx_id_at(s, argument)->value;
  if (!v.n) return invalid(s, i, "an argument that is defined");
  if (!v.is_pointer) return ptx_alias(s, i[2], i[1], &v);
  ptx_id_at(s, i[2])->value = v;
  return RLX_OK;
}

/* ---- functions ---- */

static rlx_status barrier(ptx_state *s, const uint32_t *i) {
  uint32_t scope;
  if (ptx_length(i) != 4 || !ptx_number(s, i[1], &scope) || scope != SCOPE_WORKGROUP) return ptx_unsupported(s, i);
  rlx_str_add(&s->body, "bar.sync 0;\n");
  return RLX_OK;
}

static rlx_status instruction(ptx_state *s, ptx_frame *f, const uint32_t *i) {
  const uint32_t op = ptx_op(i);
  ptx_value v;
  switch (op) {
    case OP_LABEL:
      f->block = i[1];
      rlx_str_add(&s->body, "L%u_%u:\n", (unsigned)f->number, (unsigned)i[1]);
      return RLX_OK;
    case OP_PHI:
      if (!is_copy(i)) return RLX_OK;
      RLX_TRY(ptx_get(s, i[3], &v));
      return ptx_alias(s, i[2], i[1], &v);
    case OP_LOOP_MERGE:
    case OP_SELECTION_MERGE: return RLX_OK;
    case OP_UNDEF: return ptx_length(i) == 3 ? ptx_define(s, i[2], i[1], &v) : ptx_unsupported(s, i);
    case OP_VARIABLE: return ptx_variable(s, i);
    case OP_LOAD:
    case OP_STORE:
    case OP_ACCESS_CHAIN: return ptx_memory_instruction(s, i);
    case OP_CONSTRUCT:
    case OP_EXTRACT:
    case OP_INSERT:
    case OP_COPY_OBJECT:
    case OP_BITCAST: return ptx_composite_instruction(s, i);
    case OP_CALL: return call(s, f, i);
    case OP_BARRIER: return barrier(s, i);
    case OP_BRANCH: return go(s, f, i, i[1]);
    case OP_BRANCH_CONDITIONAL: return branch_conditional(s, f, i);
    case OP_SWITCH: return branch_switch(s, f, i);
    case OP_RETURN:
    case OP_RETURN_VALUE: return leave(s, f, i);
    case OP_UNREACHABLE: rlx_str_add(&s->body, "trap;\n"); return RLX_OK;
    default: return ptx_plain_instruction(s, i);
  }
}

/* Takes the arguments and gives each phi its registers; finds the end of the function. */
static rlx_status begin(ptx_state *s, ptx_frame *f, const uint32_t *arguments, uint32_t n_arguments) {
  uint32_t n = 0;
  ptx_value v;
  for (f->end = f->begin; ptx_op(s->w + f->end) != OP_FUNCTION_END; f->end += ptx_length(s->w + f->end)) {
    const uint32_t *i = s->w + f->end;
    if (ptx_op(i) == OP_PHI && !is_copy(i)) RLX_TRY(ptx_define_registers(s, i[2], i[1], &v));
    if (ptx_op(i) != OP_FUNCTION_PARAMETER) continue;
    if (n >= n_arguments) return invalid(s, i, "an argument");
    RLX_TRY(take_argument(s, i, arguments[n++]));
  }
  return RLX_OK;
}

rlx_status ptx_function(ptx_state *s, ptx_frame *f, const uint32_t *arguments, uint32_t n_arguments) {
  RLX_TRY(begin(s, f, arguments, n_arguments));
  s->n_translated += f->end - f->begin;
  for (uint32_t at = f->begin + ptx_length(s->w + f->begin); at < f->end; at += ptx_length(s->w + at)) {
    if (ptx_op(s->w + at) == OP_FUNCTION_PARAMETER) continue;
    if (s->n_translated > PTX_MAX_WORDS || s->body.n + s->variables.n > PTX_MAX_TEXT)
      return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s: too large for PTX", s->desc->name);
    RLX_TRY(instruction(s, f, s->w + at));
  }
  return RLX_OK;
}
