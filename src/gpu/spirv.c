/* Specialises SPIR-V (see the header) in three passes: over the module's constants, which become plain ones; over each
 * function's blocks, to find the reachable ones; and over everything again, to write what is left.
 *
 * Two rules of structured control flow determine how a branch is folded. A two-way branch loses its merge declaration,
 * since its body can reach the merge block only by falling through. A switch keeps it and loses its cases: a `break`
 * inside a case may come from any depth. Merge and continue blocks of kept constructs are kept even if unreachable. */
#include "gpu/spirv.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/spirv_words.h"

enum { DECORATION_RELAXED = 0, DECORATION_SPEC_ID = 1, DECORATION_NO_CONTRACTION = 42, NO_SPEC_ID = -1 };

/* What is known about an id. */
typedef struct id_info {
  uint32_t at;     /* offset of its definition: a constant, a label, a function */
  uint32_t end;    /* of a label: offset of its block's last instruction */
  uint32_t value;  /* if known */
  int32_t spec_id; /* NO_SPEC_ID: none */
  bool known;      /* a 32-bit number or a bool whose value is known */
  bool is_bool;    /* of a type */
  bool is_word;    /* of a type: a bool or a 32-bit integer */
  bool is_reached; /* of a label or a function */
  bool is_in_use;  /* used by the kept part of a function */
} id_info;

typedef struct module {
  const uint32_t *w;
  size_t n;
  const uint32_t *constants;
  uint32_t n_constants, bound;
  id_info *id;
  size_t first_function; /* offset of the first function */
  uint32_t *stack;       /* worklist of blocks or functions */
  uint32_t n_stack;
  uint32_t *out;
  size_t n_out;
} module;

static uint32_t length(const module *m, size_t at) { return m->w[at] >> 16; }
static uint32_t opcode(const module *m, size_t at) { return m->w[at] & 0xffffu; }

/* ---- constants ---- */

/* Entry of an id from the module; checked here so that tables can be indexed with it. */
static id_info *info(module *m, uint32_t id) { return &m->id[id < m->bound ? id : 0]; }

/* Sets the value of the instruction's result. */
static void set(module *m, size_t at, uint32_t value) {
  if (!info(m, m->w[at + 1])->is_word) return;
  info(m, m->w[at + 2])->known = true;
  info(m, m->w[at + 2])->value = value;
}

/* Folds a constant's operation, or an instruction of a function, whose operands begin at `first` and are ids. */
static void try_evaluate(module *m, size_t at, uint32_t op, uint32_t first) {
  uint32_t x[3], y, n = length(m, at) - first;
  if (length(m, at) < first || n == 0 || n > 3) return;
  for (uint32_t i = 0; i < n; i++) {
    const id_info *o = info(m, m->w[at + first + i]);
    if (!o->known) return;
    x[i] = o->value;
  }
  if (spirv_evaluate(op, x, n, &y)) set(m, at, y);
}

/* Folds the extraction of a component of a composite constant: this is how kernels read the workgroup size. */
static void try_extract(module *m, size_t at) {
  if (length(m, at) != 6) return;
  size_t from = info(m, m->w[at + 4])->at;
  uint32_t which = m->w[at + 5], op = from ? opcode(m, from) : 0;
  if ((op != OP_SPEC_COMPOSITE && op != OP_CONSTANT_COMPOSITE) || which >= length(m, from) - 3) return;
  const id_info *part = info(m, m->w[from + 3 + which]);
  if (part->known) set(m, at, part->value);
}

static void note_constant(module *m, size_t at) {
  const uint32_t *w = m->w + at, op = opcode(m, at), n = length(m, at);
  if (op == OP_DECORATE && n == 4 && w[2] == DECORATION_SPEC_ID) info(m, w[1])->spec_id = (int32_t)w[3];
  if (op == OP_TYPE_BOOL && n == 2) info(m, w[1])->is_bool = info(m, w[1])->is_word = true;
  if (op == OP_TYPE_INT && n == 4) info(m, w[1])->is_word = w[2] == 32;
  if (op < OP_CONSTANT_TRUE || op > OP_SPEC_OP || n < 3) return;
  id_info *c = info(m, w[2]);
  c->at = (uint32_t)at;
  bool given = c->spec_id >= 0 && (uint32_t)c->spec_id < m->n_constants;
  switch (op) {
    case OP_CONSTANT_TRUE: set(m, at, 1); break;
    case OP_CONSTANT_FALSE: set(m, at, 0); break;
    case OP_SPEC_TRUE: set(m, at, given ? m->constants[c->spec_id] != 0 : 1); break;
    case OP_SPEC_FALSE: set(m, at, given ? m->constants[c->spec_id] != 0 : 0); break;
    case OP_CONSTANT:
      if (n == 4) set(m, at, w[3]);
      break;
    case OP_SPEC_CONSTANT:
      if (n == 4) set(m, at, given ? m->constants[c->spec_id] : w[3]);
      break;
    case OP_SPEC_OP:
      if (n > 4 && w[3] == OP_EXTRACT) try_extract(m, at);
      else if (n > 4) try_evaluate(m, at, w[3], 4);
      break;
    default: break;
  }
}

/* ---- blocks ---- */

/* Offset of a block's last instruction; `at` is its label. *merge: offset of its merge declaration, or 0. is_module has
 * checked that a last one exists. */
static size_t block_end(const module *m, size_t at, size_t *merge) {
  *merge = 0;
  for (;;) {
    uint32_t op = opcode(m, at);
    if (op == OP_LOOP_MERGE || op == OP_SELECTION_MERGE) *merge = at;
    if (op >= OP_BRANCH && op <= OP_UNREACHABLE) return at;
    at += length(m, at);
  }
}

/* The only remaining target of a branch; 0: there are still several. */
static uint32_t only_target(module *m, size_t at) {
  const uint32_t *w = m->w + at, n = length(m, at);
  if (opcode(m, at) == OP_BRANCH_CONDITIONAL && n >= 4 && info(m, w[1])->known)
    return info(m, w[1])->value ? w[2] : w[3];
  if (opcode(m, at) != OP_SWITCH || n < 3 || !info(m, w[1])->known) return 0;
  for (uint32_t i = 3; i + 1 < n; i += 2)
    if (w[i] == info(m, w[1])->value) return w[i + 1];
  return w[2];
}

/* Adds a block or a function to the worklist once. Invalid modules may pass any id: others are ignored. */
static void reach(module *m, uint32_t id, uint32_t op) {
  id_info *b = info(m, id);
  if (b->is_reached || !b->at || opcode(m, b->at) != op) return;
  b->is_reached = true;
  m->stack[m->n_stack++] = id;
}

static void reach_targets(module *m, size_t at) {
  const uint32_t *w = m->w + at, n = length(m, at);
  uint32_t only = only_target(m, at);
  if (only) reach(m, only, OP_LABEL);
  else if (opcode(m, at) == OP_BRANCH && n >= 2) reach(m, w[1], OP_LABEL);
  else if (opcode(m, at) == OP_BRANCH_CONDITIONAL && n >= 4) reach(m, w[2], OP_LABEL), reach(m, w[3], OP_LABEL);
  else if (opcode(m, at) == OP_SWITCH && n >= 3) {
    reach(m, w[2], OP_LABEL);
    for (uint32_t i = 4; i < n; i += 2) reach(m, w[i], OP_LABEL);
  }
}

static void reach_block(module *m, size_t label) {
  size_t merge, end = block_end(m, label, &merge);
  for (size_t at = label; at < end; at += length(m, at))
    if (length(m, at) > 3) try_evaluate(m, at, opcode(m, at), 3);
  bool dropped =
    merge && opcode(m, merge) == OP_SELECTION_MERGE && opcode(m, end) == OP_BRANCH_CONDITIONAL && only_target(m, end);
  if (merge && !dropped) {
    reach(m, m->w[merge + 1], OP_LABEL);
    if (opcode(m, merge) == OP_LOOP_MERGE) reach(m, m->w[merge + 2], OP_LABEL);
  }
  reach_targets(m, end);
}

/* Marks the reachable blocks of a function and pushes the functions that they call. */
static void reach_function(module *m, size_t at) {
  uint32_t below = m->n_stack;
  size_t end = at;
  while (opcode(m, end) != OP_FUNCTION_END) {
    if (opcode(m, end) == OP_LABEL) {
      size_t merge;
      info(m, m->w[end + 1])->at = (uint32_t)end;
      info(m, m->w[end + 1])->end = (uint32_t)block_end(m, end, &merge);
      if (m->n_stack == below) reach(m, m->w[end + 1], OP_LABEL); /* the entry block */
    }
    end += length(m, end);
  }
  while (m->n_stack > below) reach_block(m, info(m, m->stack[--m->n_stack])->at);
  for (size_t i = at; i < end;) {
    size_t merge, last = opcode(m, i) == OP_LABEL ? block_end(m, i, &merge) : i;
    if (opcode(m, i) == OP_LABEL && info(m, m->w[i + 1])->is_reached)
      for (size_t k = i; k < last; k += length(m, k))
        if (opcode(m, k) == OP_CALL) reach(m, m->w[k + 3], OP_FUNCTION);
    i = last + length(m, last);
  }
}

static void reach_all(module *m) {
  uint32_t entry = 0;
  for (size_t at = SPIRV_HEADER_WORDS; at < m->n; at += length(m, at)) {
    if (opcode(m, at) == OP_ENTRY_POINT) entry = m->w[at + 2];
    if (opcode(m, at) == OP_FUNCTION) info(m, m->w[at + 2])->at = (uint32_t)at;
  }
  reach(m, entry, OP_FUNCTION);
  /* On the stack, functions are below the blocks of the function being processed. */
  while (m->n_stack) reach_function(m, info(m, m->stack[--m->n_stack])->at);
}

/* ---- writing ---- */

static void put(module *m, uint32_t word) { m->out[m->n_out++] = word; }
static void copy(module *m, size_t at) {
  memcpy(m->out + m->n_out, m->w + at, length(m, at) * sizeof(uint32_t));
  m->n_out += length(m, at);
}

static void write_constant(module *m, size_t at) {
  const uint32_t *w = m->w + at, op = opcode(m, at);
  const id_info *c = op > OP_CONSTANT && op <= OP_SPEC_OP ? info(m, w[2]) : NULL;
  if (op == OP_DECORATE && w[2] == DECORATION_SPEC_ID) {
    const id_info *of = info(m, w[1]);
    if (!of->known) copy(m, at);
  } else if (op == OP_DECORATE && (w[2] == DECORATION_NO_CONTRACTION || w[2] == DECORATION_RELAXED)) {
    if (info(m, w[1])->is_in_use) copy(m, at);
  } else if (c && c->known && op >= OP_SPEC_TRUE && info(m, w[1])->is_bool) {
    put(m, (3u << 16) | (c->value ? OP_CONSTANT_TRUE : OP_CONSTANT_FALSE));
    put(m, w[1]);
    put(m, w[2]);
  } else if (c && c->known && op >= OP_SPEC_TRUE && length(m, at) >= 4) { /* never longer than the original */
    put(m, (4u << 16) | OP_CONSTANT);
    put(m, w[1]);
    put(m, w[2]);
    put(m, c->value);
  } else if (op == OP_SPEC_COMPOSITE) {
    bool all = true;
    for (uint32_t i = 3; i < length(m, at); i++)
      all = all && (info(m, w[i])->known || opcode(m, info(m, w[i])->at) < OP_SPEC_TRUE);
    size_t start = m->n_out;
    copy(m, at);
    if (all) m->out[start] = (length(m, at) << 16) | OP_CONSTANT_COMPOSITE;
  } else {
    copy(m, at);
  }
}

/* Whether block `from` still branches to `to`. */
static bool branches_to(module *m, uint32_t from, uint32_t to) {
  const id_info *b = info(m, from);
  if (!b->is_reached || opcode(m, b->at) != OP_LABEL) return false;
  uint32_t only = only_target(m, b->end);
  return !only || only == to;
}

static void write_phi(module *m, size_t at, uint32_t block) {
  const uint32_t *w = m->w + at, n = length(m, at);
  size_t start = m->n_out;
  put(m, 0), put(m, w[1]), put(m, w[2]);
  for (uint32_t i = 3; i + 1 < n; i += 2)
    if (branches_to(m, w[i + 1], block)) put(m, w[i]), put(m, w[i + 1]);
  uint32_t words = (uint32_t)(m->n_out - start);
  m->out[start] = (words << 16) | (words == 3 ? OP_UNDEF : OP_PHI);
}

static void write_block(module *m, size_t label) {
  size_t merge, end = block_end(m, label, &merge);
  uint32_t only = only_target(m, end);
  for (size_t at = label; at < end; at += length(m, at)) {
    if (at == merge && only && opcode(m, at) == OP_SELECTION_MERGE && opcode(m, end) == OP_BRANCH_CONDITIONAL) continue;
    if (opcode(m, at) == OP_PHI) write_phi(m, at, m->w[label + 1]);
    else copy(m, at);
  }
  if (!only) {
    copy(m, end);
  } else if (opcode(m, end) == OP_SWITCH) {
    put(m, (3u << 16) | OP_SWITCH), put(m, m->w[end + 1]), put(m, only);
  } else {
    put(m, (2u << 16) | OP_BRANCH), put(m, only);
  }
}

/* Returns the offset after the function. Instructions between functions are copied. */
static size_t write_function(module *m, size_t at) {
  if (opcode(m, at) != OP_FUNCTION) {
    copy(m, at);
    return at + length(m, at);
  }
  bool kept = info(m, m->w[at + 2])->is_reached;
  for (;; at += length(m, at)) {
    if (opcode(m, at) == OP_LABEL) {
      size_t merge, end = block_end(m, at, &merge);
      if (kept && info(m, m->w[at + 1])->is_reached) write_block(m, at);
      at = end;
    } else if (kept) {
      copy(m, at);
    }
    if (opcode(m, at) == OP_FUNCTION_END) return at + length(m, at);
  }
}

/* Writes the functions first, after space for the rest: which decorations to keep depends on what is left of them. */
static void write_all(module *m) {
  m->n_out = m->first_function;
  for (size_t at = m->first_function; at < m->n;) at = write_function(m, at);
  size_t end = m->n_out;
  for (size_t at = m->first_function; at < end; at += m->out[at] >> 16)
    if (m->out[at] >> 16 > 2) info(m, m->out[at + 2])->is_in_use = true;
  m->n_out = 0;
  for (size_t i = 0; i < SPIRV_HEADER_WORDS; i++) put(m, m->w[i]);
  for (size_t at = SPIRV_HEADER_WORDS; at < m->first_function; at += length(m, at)) write_constant(m, at);
  memmove(m->out + m->n_out, m->out + m->first_function, (end - m->first_function) * sizeof(uint32_t));
  m->n_out += end - m->first_function;
}

/* ---- entry ---- */

/* Checks the module and finds its first function. */
static bool is_module(module *m) {
  if (!spirv_is_whole(m->w, m->n)) return false;
  m->bound = m->w[3];
  size_t at = SPIRV_HEADER_WORDS;
  while (at < m->n && opcode(m, at) != OP_FUNCTION) at += length(m, at);
  m->first_function = at;
  return true;
}

rlx_status gpu_spirv_specialise(const uint32_t *words, size_t n_words, const uint32_t *constants, uint32_t n_constants,
                                uint32_t **out, size_t *n_out) {
  module m = {.w = words, .n = n_words, .constants = constants, .n_constants = n_constants};
  *out = NULL, *n_out = 0;
  if (!is_module(&m)) return RLX_FAIL(RLX_INVALID, "%zu words are not a SPIR-V module", n_words);
  m.id = rlx_mem_calloc(m.bound, sizeof *m.id);
  m.stack = rlx_mem_calloc(m.bound, sizeof *m.stack);
  m.out = rlx_mem_alloc(n_words * sizeof *m.out);
  bool ok = m.id && m.stack && m.out;
  if (ok) {
    for (uint32_t i = 0; i < m.bound; i++) m.id[i].spec_id = NO_SPEC_ID;
    for (size_t at = SPIRV_HEADER_WORDS; at < m.first_function; at += length(&m, at)) note_constant(&m, at);
    reach_all(&m);
    write_all(&m);
    *out = m.out, *n_out = m.n_out;
  }
  rlx_mem_free(m.id);
  rlx_mem_free(m.stack);
  if (!ok) rlx_mem_free(m.out);
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "specialising %zu words", n_words);
}
