/* Unrolls loops that are marked for it. Drivers may leave them rolled; then an array that such a loop indexes lives in
 * memory instead of registers, which costs a kernel most of its speed.
 *
 * A loop is unrolled if it has the form that the kernels' compilers generate for `for (u32 i = a; i < b; i += c)`: the
 * header has the exit test, the test is phi < constant, the phi steps by a constant, the test is the only exit, and the
 * loop's blocks are contiguous from the header to the merge block. The blocks are copied once per trip with new ids. In
 * each copy, a phi of the header is replaced by the value from the previous copy. The header itself stays, with its own
 * ids, as the end of the loop, so code after the loop is unchanged.
 *
 * Innermost loops are unrolled first, one per pass over the module, until none is left or the module would become too
 * large. A loop with an instruction that this file does not know stays rolled: literals must not be renamed as ids. */
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "gpu/spirv.h"
#include "gpu/spirv_words.h"

enum {
  UNROLL = 1,
  MAX_TRIPS = 64,
  MAX_WORDS = 1 << 17, /* per module */
  MAX_STEPS = 1 << 28, /* bound on the words examined per module: far more than a kernel takes */
};

typedef RLX_ARRAY(uint32_t) word_list;

typedef struct loop {
  uint32_t header, merge, body; /* labels; body: where the header branches while the test holds */
  size_t begin, end;            /* offsets of the header's label and the merge block's */
  uint32_t induction, type;     /* the phi that counts, and its type */
  uint32_t first, step, trips;
} loop;

typedef struct unroller {
  const uint32_t *w;
  size_t n;
  uint32_t bound;
  uint32_t *value; /* by id: of 32-bit constants */
  bool *known;
  uint32_t *where;            /* by id: offset of the definition in a function, by a known instruction; 0: none */
  uint32_t *order;            /* by id: 1 + its index among the loop's definitions; 0: defined elsewhere */
  uint32_t n_defined, n_kept; /* definitions in the loop; those of the header, which come first and are kept */
  uint32_t *alias;            /* by id: the value of a header's phi in this copy */
  uint32_t *next;             /* the same for the next copy */
  word_list out;
  bool failed;
} unroller;

static uint32_t op_of(const uint32_t *at) { return *at & 0xffff; }
static uint32_t length_of(const uint32_t *at) { return *at >> 16; }

/* ---- instructions ---- */

static bool is_between(uint32_t op, uint32_t first, uint32_t last) { return op >= first && op <= last; }

/* Word index of an instruction's result id; 0: it has none. */
static uint32_t result_at(uint32_t op) {
  if (op == OP_LABEL) return 1;
  if (op == OP_STORE || op == OP_BARRIER || op == OP_MEMORY_BARRIER || op == OP_MATRIX_STORE ||
      (op >= OP_LOOP_MERGE && op <= OP_UNREACHABLE) || op == OP_ATOMIC_STORE)
    return 0;
  return 2;
}

/* Whether this file knows which words of the instruction are ids. */
static bool is_known(uint32_t op) {
  static const uint16_t others[] = {OP_EXT_INST,
                                    OP_CALL,
                                    OP_LOAD,
                                    OP_STORE,
                                    OP_ACCESS_CHAIN,
                                    OP_SHUFFLE,
                                    OP_CONSTRUCT,
                                    OP_EXTRACT,
                                    OP_INSERT,
                                    OP_COPY_OBJECT,
                                    OP_BARRIER,
                                    OP_MEMORY_BARRIER,
                                    OP_PHI,
                                    OP_LOOP_MERGE,
                                    OP_SELECTION_MERGE,
                                    OP_LABEL,
                                    OP_BRANCH,
                                    OP_BRANCH_CONDITIONAL,
                                    OP_SWITCH,
                                    OP_UNREACHABLE,
                                    OP_GROUP_SHUFFLE,
                                    OP_GROUP_SHUFFLE_XOR,
                                    OP_SDOT,
                                    OP_SDOT_SUM,
                                    OP_MATRIX_LOAD,
                                    OP_MATRIX_STORE,
                                    OP_MATRIX_MUL_ADD,
                                    OP_UNDEF};
  if (is_between(op, OP_FIRST_PLAIN, OP_LAST_PLAIN) || is_between(op, OP_ATOMIC_FIRST, OP_ATOMIC_LAST) ||
      is_between(op, OP_GROUP_FIRST, OP_GROUP_LAST))
    return true;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i] == op) return true;
  return false;
}

/* Whether word i of a known instruction is an id. */
static bool is_id(uint32_t op, uint32_t i) {
  switch (op) {
    case OP_EXT_INST: return i != 4;
    case OP_LOAD: return i <= 3;
    case OP_STORE: return i <= 2;
    case OP_SHUFFLE: return i <= 4;
    case OP_EXTRACT: return i <= 3;
    case OP_INSERT: return i <= 4;
    case OP_LOOP_MERGE: return i <= 2;
    case OP_SELECTION_MERGE: return i <= 1;
    case OP_BRANCH_CONDITIONAL: return i <= 3;
    case OP_SWITCH: return i <= 2 || i % 2 == 0; /* selector, default, then alternating literals and labels */
    case OP_SDOT: return i <= 4;
    case OP_SDOT_SUM: return i <= 5;
    case OP_MATRIX_LOAD: return i <= 5;
    case OP_MATRIX_STORE: return i <= 4;
    case OP_MATRIX_MUL_ADD: return i <= 5;
    default: return !is_between(op, OP_GROUP_FIRST, OP_GROUP_LAST) || i != 4;
  }
}

/* ---- finding a loop ---- */

/* The result id of an instruction; 0: none, or above the bound. */
static uint32_t result_of(const unroller *u, const uint32_t *i) {
  uint32_t r = result_at(op_of(i));
  return r && length_of(i) > r && i[r] < u->bound ? i[r] : 0;
}

/* The instruction that defines an id, if within [begin, end); otherwise NULL. */
static const uint32_t *definition(const unroller *u, size_t begin, size_t end, uint32_t id) {
  size_t at = id < u->bound ? u->where[id] : 0;
  return at && at >= begin && at < end ? u->w + at : NULL;
}

static bool is_number(const unroller *u, uint32_t id) { return id < u->bound && u->known[id]; }

static bool is_inside(const unroller *u, const loop *l, uint32_t label) {
  const uint32_t *d = definition(u, l->begin, l->end, label);
  return d && op_of(d) == OP_LABEL;
}

/* Requires a phi with constant start and step, and a test against a constant. */
static bool count_trips(const unroller *u, loop *l, const uint32_t *test) {
  if ((op_of(test) != OP_ULESS && op_of(test) != OP_SLESS) || length_of(test) != 5) return false;
  l->induction = test[3];
  const uint32_t bound = test[4], *phi = definition(u, l->begin, l->end, l->induction);
  if (!phi || op_of(phi) != OP_PHI || length_of(phi) != 7 || !is_number(u, bound)) return false;
  int round = is_inside(u, l, phi[4]) ? 3 : 5; /* the pair from the back edge */
  uint32_t start = phi[round == 3 ? 5 : 3];
  const uint32_t *step = definition(u, l->begin, l->end, phi[round]);
  if (!step || op_of(step) != OP_IADD || length_of(step) != 5 || step[3] != l->induction) return false;
  if (!is_number(u, step[4]) || !is_number(u, start)) return false;
  l->type = phi[1];
  l->first = u->value[start];
  l->step = u->value[step[4]];
  uint32_t last = u->value[bound];
  if (!l->step || l->step > MAX_TRIPS || l->first > INT32_MAX || last > INT32_MAX) return false;
  l->trips = last > l->first ? (last - l->first + l->step - 1) / l->step : 0;
  return l->trips <= MAX_TRIPS;
}

/* The test is the only exit, there is one back edge, all instructions are known, and no inner loop is marked. */
static bool is_simple(const unroller *u, const loop *l, uint32_t round) {
  uint32_t to_round = 0, is_merge = 0;
  for (size_t at = l->begin; at < l->end; at += length_of(u->w + at)) {
    const uint32_t *i = u->w + at;
    uint32_t op = op_of(i);
    if (!is_known(op) || (result_at(op) && !result_of(u, i))) return false;
    if (op == OP_LOOP_MERGE && i[1] != l->merge && (i[3] & UNROLL)) return false;
    if (op == OP_SELECTION_MERGE && i[1] == round) is_merge++;
    if (op == OP_BRANCH || op == OP_BRANCH_CONDITIONAL || op == OP_SWITCH) {
      for (uint32_t k = op == OP_BRANCH ? 1 : 2; k < length_of(i); k++) {
        if (!is_id(op, k)) continue;
        bool is_test = op == OP_BRANCH_CONDITIONAL && i[3] == l->merge && i[2] == l->body;
        if (i[k] == l->merge ? !is_test : !is_inside(u, l, i[k])) return false;
        if (i[k] == l->header && op != OP_BRANCH) return false;
        to_round += i[k] == round;
      }
    }
  }
  return to_round <= 1 || is_merge;
}

static bool find_end(const unroller *u, loop *l) {
  for (size_t at = l->begin; op_of(u->w + at) != OP_FUNCTION_END; at += length_of(u->w + at))
    if (op_of(u->w + at) == OP_LABEL && u->w[at + 1] == l->merge) {
      l->end = at;
      return true;
    }
  return false;
}

/* Finds the first loop that can be unrolled, examining at most *steps words; subtracts those examined. */
static bool find_loop(const unroller *u, loop *l, size_t *steps) {
  size_t block = 0;
  for (size_t at = SPIRV_HEADER_WORDS; at < u->n && *steps >= u->n; at += length_of(u->w + at)) {
    const uint32_t *i = u->w + at;
    if (op_of(i) == OP_LABEL) block = at;
    if (op_of(i) != OP_LOOP_MERGE || !(i[3] & UNROLL)) continue;
    const uint32_t *branch = i + length_of(i);
    if (op_of(branch) != OP_BRANCH_CONDITIONAL || branch[3] != i[1]) continue;
    *l = (loop){.header = u->w[block + 1], .merge = i[1], .body = branch[2], .begin = block};
    const uint32_t *test = find_end(u, l) ? definition(u, l->begin, l->end, branch[1]) : NULL;
    *steps -= (test ? l->end : u->n) - l->begin;
    if (!test || !count_trips(u, l, test) || !is_simple(u, l, i[2])) continue;
    size_t more = l->trips * (l->end - l->begin); /* words added; an upper bound of new ids */
    if (u->n + more <= MAX_WORDS && u->bound + more + l->trips < SPIRV_MAX_IDS) return true;
  }
  return false;
}

/* ---- writing ---- */

static void put(unroller *u, uint32_t word) {
  if (!u->failed && !rlx_array_push(&u->out, word)) u->failed = true;
}

/* The id in copy `copy` of an id of the loop. */
static uint32_t renamed(const unroller *u, uint32_t id, uint32_t copy) {
  if (id >= u->bound) return id;
  if (u->alias[id]) return u->alias[id];
  return u->order[id] ? u->bound + copy * u->n_defined + u->order[id] - 1 : id;
}

/* Id of the induction variable's value in copy `copy`: these follow the ids of all copies. */
static uint32_t number_id(const unroller *u, const loop *l, uint32_t copy) {
  return u->bound + l->trips * u->n_defined + copy;
}

static uint32_t incoming(const unroller *u, const loop *l, const uint32_t *phi, bool from_within) {
  for (uint32_t k = 3; k + 1 < length_of(phi); k += 2)
    if (is_inside(u, l, phi[k + 1]) == from_within) return phi[k];
  return 0;
}

/* Sets the header's phis for copy `copy` from those of the previous copy. */
static void set_phis(unroller *u, const loop *l, uint32_t copy) {
  size_t at = l->begin + length_of(u->w + l->begin), after = at;
  for (; op_of(u->w + after) == OP_PHI; after += length_of(u->w + after)) {
    const uint32_t *phi = u->w + after;
    uint32_t v = incoming(u, l, phi, copy > 0);
    u->next[phi[2]] = copy ? renamed(u, v, copy - 1) : v;
    if (phi[2] == l->induction) u->next[phi[2]] = number_id(u, l, copy);
  }
  for (; at < after; at += length_of(u->w + at)) u->alias[u->w[at + 2]] = u->next[u->w[at + 2]];
}

static void put_copy(unroller *u, const loop *l, uint32_t copy) {
  for (size_t at = l->begin; at < l->end; at += length_of(u->w + at)) {
    const uint32_t *i = u->w + at;
    uint32_t op = op_of(i), n = length_of(i);
    bool is_test = op == OP_BRANCH_CONDITIONAL && i[3] == l->merge;
    if (op == OP_PHI && u->alias[i[2]]) continue;
    if (op == OP_LOOP_MERGE && i[1] == l->merge) continue;
    if (is_test) {
      put(u, 2u << 16 | OP_BRANCH);
      put(u, renamed(u, l->body, copy));
      continue;
    }
    put(u, i[0]);
    for (uint32_t k = 1; k < n; k++) {
      uint32_t to = is_id(op, k) ? renamed(u, i[k], copy) : i[k];
      /* The back edge leads to the next copy, and from the last to the header, which ends the loop. */
      if (op == OP_BRANCH && i[k] == l->header)
        to = copy + 1 < l->trips ? u->bound + (copy + 1) * u->n_defined + u->order[l->header] - 1 : l->header;
      put(u, to);
    }
  }
}

/* Writes the header as the end of the loop: its phis are the last values, and it branches to the merge block. */
static void put_end(unroller *u, const loop *l) {
  for (size_t at = l->begin;; at += length_of(u->w + at)) {
    const uint32_t *i = u->w + at;
    if (op_of(i) == OP_LOOP_MERGE) break;
    if (op_of(i) == OP_PHI) {
      put(u, 4u << 16 | OP_COPY_OBJECT);
      put(u, i[1]);
      put(u, i[2]);
      put(u, u->alias[i[2]]);
      continue;
    }
    for (uint32_t k = 0; k < length_of(i); k++) put(u, i[k]);
  }
  put(u, 2u << 16 | OP_BRANCH);
  put(u, l->merge);
}

/* An instruction outside the loop: branches to the header go to the first copy instead. */
static void put_outside(unroller *u, const loop *l, const uint32_t *i) {
  uint32_t op = op_of(i), first = l->trips ? u->bound + u->order[l->header] - 1 : l->header;
  bool is_of_loop = op == OP_DECORATE && i[1] < u->bound && u->order[i[1]];
  bool leads = op == OP_BRANCH || op == OP_BRANCH_CONDITIONAL || op == OP_SWITCH || op == OP_SELECTION_MERGE;
  /* Of the loop's ids only the header's remain. */
  for (uint32_t k = 0; k < length_of(i) && !(is_of_loop && u->order[i[1]] > u->n_kept); k++)
    put(u, leads && k && is_id(op, k) && i[k] == l->header ? first : i[k]);
  if (!is_of_loop) return;
  for (uint32_t copy = 0; copy < l->trips; copy++)
    for (uint32_t k = 0; k < length_of(i); k++)
      put(u, k == 1 ? u->bound + copy * u->n_defined + u->order[i[1]] - 1 : i[k]);
}

static void put_numbers(unroller *u, const loop *l) {
  for (uint32_t copy = 0; copy <= l->trips; copy++) {
    put(u, 4u << 16 | OP_CONSTANT);
    put(u, l->type);
    put(u, number_id(u, l, copy));
    put(u, l->first + copy * l->step);
  }
}

static void unroll(unroller *u, const loop *l) {
  memset(u->order, 0, u->bound * sizeof *u->order);
  memset(u->alias, 0, u->bound * sizeof *u->alias);
  u->n_defined = 0;
  for (size_t at = l->begin; at < l->end; at += length_of(u->w + at)) {
    uint32_t r = result_at(op_of(u->w + at));
    if (r) u->order[u->w[at + r]] = ++u->n_defined;
    if (op_of(u->w + at) == OP_LOOP_MERGE && u->w[at + 1] == l->merge) u->n_kept = u->n_defined;
  }
  for (size_t k = 0; k < SPIRV_HEADER_WORDS; k++) put(u, u->w[k]);
  bool has_numbers = false;
  for (size_t at = SPIRV_HEADER_WORDS; at < u->n && !u->failed;) {
    if (op_of(u->w + at) == OP_FUNCTION && !has_numbers) {
      put_numbers(u, l);
      has_numbers = true;
    }
    if (at != l->begin) {
      put_outside(u, l, u->w + at);
      at += length_of(u->w + at);
      continue;
    }
    for (uint32_t copy = 0; copy < l->trips; copy++) {
      set_phis(u, l, copy);
      put_copy(u, l, copy);
    }
    set_phis(u, l, l->trips);
    put_end(u, l);
    at = l->end;
  }
  if (!u->failed) u->out.v[3] = u->bound + l->trips * u->n_defined + l->trips + 1;
}

/* ---- entry ---- */

static void unroller_deinit(unroller *u) {
  rlx_mem_free(u->value);
  rlx_mem_free(u->known);
  rlx_mem_free(u->where);
  rlx_mem_free(u->order);
  rlx_mem_free(u->alias);
  rlx_mem_free(u->next);
}

static bool read_module(unroller *u, const uint32_t *words, size_t n_words) {
  *u = (unroller){.w = words, .n = n_words, .bound = words[3]};
  u->value = rlx_mem_calloc(u->bound, sizeof *u->value);
  u->known = rlx_mem_calloc(u->bound, sizeof *u->known);
  u->where = rlx_mem_calloc(u->bound, sizeof *u->where);
  u->order = rlx_mem_calloc(u->bound, sizeof *u->order);
  u->alias = rlx_mem_calloc(u->bound, sizeof *u->alias);
  u->next = rlx_mem_calloc(u->bound, sizeof *u->next);
  if (!u->value || !u->known || !u->where || !u->order || !u->alias || !u->next) return false;
  size_t at = SPIRV_HEADER_WORDS;
  for (; at < n_words && op_of(words + at) != OP_FUNCTION; at += length_of(words + at))
    if (op_of(words + at) == OP_CONSTANT && length_of(words + at) == 4 && words[at + 2] < u->bound) {
      u->value[words[at + 2]] = words[at + 3];
      u->known[words[at + 2]] = true;
    }
  for (; at < n_words; at += length_of(words + at))
    if (is_known(op_of(words + at))) u->where[result_of(u, words + at)] = (uint32_t)at;
  u->where[0] = 0; /* written by instructions without a result */
  return true;
}

rlx_status gpu_spirv_unroll(uint32_t **words, size_t *n_words) {
  for (size_t steps = MAX_STEPS;;) {
    if (!spirv_is_whole(*words, *n_words)) return RLX_FAIL(RLX_INVALID, "%zu words are not a SPIR-V module", *n_words);
    unroller u;
    loop l;
    bool ok = read_module(&u, *words, *n_words), found = ok && find_loop(&u, &l, &steps);
    if (found) unroll(&u, &l);
    ok = ok && !u.failed;
    unroller_deinit(&u);
    if (!ok) {
      rlx_array_deinit(&u.out);
      return RLX_FAIL(RLX_NO_MEMORY, "unrolling a kernel of %zu words", *n_words);
    }
    if (!found) return RLX_OK;
    const size_t taken = *n_words + u.bound; /* words of this pass and its tables */
    steps -= steps < taken ? steps : taken;
    rlx_mem_free(*words);
    *words = u.out.v;
    *n_words = u.out.n;
  }
}
