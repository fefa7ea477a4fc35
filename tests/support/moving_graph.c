/* See the header. Nodes are proposed, and inference accepts or rejects them, as in random_graph.c. */
#include "moving_graph.h"

#include <stdio.h>

#include "conform/values.h"
#include "ir/infer.h"
#include "random_graph.h"

enum { MAX_ELEMENTS = 20000, MAX_STATES = 4 };

typedef struct maker {
  rlx_graph *g;
  uint64_t random;
  int64_t symbol; /* 0: none */
  uint32_t n_leaves;
  rlx_node state[MAX_STATES]; /* the newest value of each */
  uint32_t n_states;
} maker;

static uint32_t below(maker *m, uint32_t n) { return (uint32_t)rlx_random_below(&m->random, n); }
static bool chance(maker *m, uint32_t one_in) { return below(m, one_in) == 0; }
static const rlx_type *type_of(const maker *m, rlx_node id) { return &rlx_graph_at(m->g, id)->type; }

static rlx_node propose(maker *m, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs) {
  const rlx_op_table_row *row = rlx_op_table_get(op);
  if (!attrs) attrs = row->attrs_default;
  for (uint32_t i = 0; i < n_in; i++)
    if (!in[i]) return RLX_NONE;
  rlx_infer c = {.graph = m->g, .op = op, .row = row, .attrs = attrs, .ids = in, .n_in = n_in};
  if (rlx_infer_run(&c)) return RLX_NONE;
  int64_t count = 1;
  for (int i = 0; i < c.out.shape.n; i++) count *= c.out.shape.v[i] < 0 ? 8 : c.out.shape.v[i];
  return count > MAX_ELEMENTS ? RLX_NONE : rlx_graph_add(m->g, op, in, n_in, attrs);
}

#define PROPOSE(op, attrs, ...)                            \
  propose(m, RLX_OP_##op, (const rlx_node[]){__VA_ARGS__}, \
          (uint32_t)(sizeof((const rlx_node[]){__VA_ARGS__}) / sizeof(rlx_node)), (attrs))

/* ---- leaves ---- */

static rlx_dtype random_dtype(maker *m) {
  static const rlx_dtype types[] = {RLX_I32, RLX_I32, RLX_I32, RLX_F32, RLX_F32,
                                    RLX_F16, RLX_I8,  RLX_I64, RLX_U8,  RLX_BOOL};
  return types[below(m, sizeof types / sizeof *types)];
}

static rlx_node leaf(maker *m, rlx_op op, rlx_dtype dtype, rlx_dims shape) {
  char name[24];
  snprintf(name, sizeof name, "%s%u", rlx_op_table_get(op)->name, (unsigned)m->n_leaves++);
  return propose(m, op, NULL, 0, &(rlx_attrs_input){.name = name, .dtype = dtype, .shape = shape});
}

static rlx_dims random_shape(maker *m) {
  rlx_dims d = {.n = (int32_t)below(m, 4)};
  for (int i = 0; i < d.n; i++)
    d.v[i] = chance(m, 40) ? 0 : chance(m, 4) ? 1 : chance(m, 5) ? 17 + below(m, 40) : 1 + below(m, 7);
  return d;
}

static rlx_node make_leaf(maker *m) {
  rlx_dims shape = random_shape(m);
  rlx_op op = chance(m, 3) ? RLX_OP_param : RLX_OP_input;
  if (m->symbol && shape.n && op == RLX_OP_input && chance(m, 2)) shape.v[0] = m->symbol;
  return leaf(m, op, random_dtype(m), shape);
}

static rlx_node make_state(maker *m) {
  if (m->n_states == MAX_STATES) return RLX_NONE;
  rlx_dims shape = random_shape(m);
  if (!shape.n) shape = RLX_DIMS(5);
  rlx_node id = leaf(m, RLX_OP_state, random_dtype(m), shape);
  if (id) m->state[m->n_states++] = id;
  return id;
}

static rlx_node make_constant(maker *m) {
  rlx_type type = {random_dtype(m), random_shape(m)};
  rlx_attrs_constant attrs = {.dtype = type.dtype, .shape = type.shape};
  attrs.data = random_blob(&type, rlx_random_next(&m->random));
  rlx_node id = attrs.data ? propose(m, RLX_OP_constant, NULL, 0, &attrs) : rlx_graph_set_error(m->g, RLX_NO_MEMORY);
  rlx_blob_release(attrs.data);
  return id;
}

/* Any node, later ones more likely; RLX_DTYPE_UNKNOWN: of any type. */
static rlx_node pick(maker *m, rlx_dtype want) {
  uint32_t end = rlx_graph_end(m->g);
  for (int tries = 0; tries < 12; tries++) {
    uint32_t a = 1 + below(m, end - 1), b = 1 + below(m, end - 1);
    rlx_node id = a > b ? a : b;
    if (want == RLX_DTYPE_UNKNOWN || type_of(m, id)->dtype == want) return id;
  }
  return want == RLX_DTYPE_UNKNOWN ? 1 : RLX_NONE;
}

static rlx_node pick_any(maker *m) { return pick(m, RLX_DTYPE_UNKNOWN); }

/* ---- moves ---- */

static int64_t random_axis(maker *m, int rank) { return rank ? (int64_t)below(m, (uint32_t)rank) : 0; }

static rlx_node slice_of(maker *m, rlx_node x, int64_t axis, int64_t start, int64_t stop) {
  return PROPOSE(
    slice,
    (&(rlx_attrs_slice){.axes = RLX_DIMS(axis), .start = RLX_DIMS(start), .stop = RLX_DIMS(stop), .step = RLX_DIMS(1)}),
    x);
}

/* Mostly of the first axis that is not 1: contiguous, so it is a view. */
static rlx_node make_slice(maker *m) {
  rlx_node x = pick_any(m);
  rlx_dims s = type_of(m, x)->shape;
  if (!s.n) return RLX_NONE;
  int64_t axis = 0;
  while (axis + 1 < s.n && s.v[axis] == 1) axis++;
  if (chance(m, 4)) axis = random_axis(m, s.n);
  uint32_t n = s.v[axis] < 0 ? 4 : (uint32_t)s.v[axis];
  int64_t start = below(m, n ? n : 1), stop = start + 1 + below(m, n + 1 - (uint32_t)start);
  if (chance(m, 20)) stop = start;
  return slice_of(m, x, axis, start, stop);
}

static rlx_node make_reshape(maker *m) {
  rlx_node x = pick_any(m);
  rlx_dims s = type_of(m, x)->shape, to = {.n = 0};
  switch (below(m, 3)) {
    case 0: to = RLX_DIMS(-1); break;
    case 1: /* a 1 somewhere */
      if (s.n == 4) return RLX_NONE;
      to = s;
      to.v[to.n++] = 1;
      break;
    default: to = RLX_DIMS(1 + (int64_t)below(m, 6), -1); break;
  }
  return PROPOSE(reshape, &(rlx_attrs_reshape){.shape = to}, x);
}

static rlx_node make_concat(maker *m) {
  rlx_node in[4] = {pick_any(m)};
  rlx_dims s = type_of(m, in[0])->shape;
  if (!s.n) return RLX_NONE;
  uint32_t n = 1 + below(m, 4);
  for (uint32_t i = 1; i < n; i++) {
    in[i] = chance(m, 5) ? in[0] : pick(m, type_of(m, in[0])->dtype);
    for (int tries = 0; tries < 8 && in[i] && type_of(m, in[i])->shape.n != s.n; tries++)
      in[i] = pick(m, type_of(m, in[0])->dtype);
    if (!in[i]) in[i] = in[0];
  }
  rlx_node id = propose(m, RLX_OP_concat, in, n, &(rlx_attrs_concat){.axis = chance(m, 3) ? random_axis(m, s.n) : 0});
  if (id || n < 2) return id;
  rlx_node a = PROPOSE(reshape, &(rlx_attrs_reshape){.shape = RLX_DIMS(-1)}, in[0]); /* those always match */
  rlx_node b = PROPOSE(reshape, &(rlx_attrs_reshape){.shape = RLX_DIMS(-1)}, in[1]);
  return PROPOSE(concat, &(rlx_attrs_concat){.axis = 0}, a, b, chance(m, 2) ? a : b);
}

static rlx_node make_shuffle(maker *m) {
  rlx_node x = pick_any(m);
  rlx_dims s = type_of(m, x)->shape;
  int64_t axis = random_axis(m, s.n);
  switch (below(m, 6)) {
    case 0: return PROPOSE(transpose, NULL, x);
    case 1: return PROPOSE(roll, (&(rlx_attrs_roll){.shifts = RLX_DIMS(1), .axes = RLX_DIMS(axis)}), x);
    case 2: return PROPOSE(reverse, (&(rlx_attrs_reverse){.axes = RLX_DIMS(axis)}), x);
    case 3: return PROPOSE(cast, &(rlx_attrs_cast){.to = random_dtype(m)}, x);
    case 4: {
      rlx_attrs_range rows = {.count = RLX_DIMS(1 + (int64_t)below(m, 3)), .to = RLX_I32}; /* always the first */
      if (!s.n || s.v[axis] <= 0) return RLX_NONE;
      return PROPOSE(gather, &(rlx_attrs_gather){.axis = axis}, x, propose(m, RLX_OP_range, NULL, 0, &rows));
    }
    default: {
      rlx_attrs_tile a = {.reps = {.n = s.n}};
      for (int i = 0; i < s.n; i++) a.reps.v[i] = 1 + below(m, 2);
      return PROPOSE(tile, &a, x);
    }
  }
}

/* ---- exact arithmetic ---- */

static rlx_node make_pointwise(maker *m) {
  static const rlx_op two[] = {RLX_OP_add,    RLX_OP_sub,     RLX_OP_mul,     RLX_OP_max, RLX_OP_min,
                               RLX_OP_bit_or, RLX_OP_bit_xor, RLX_OP_bit_and, RLX_OP_xor, RLX_OP_lt,
                               RLX_OP_eq,     RLX_OP_and,     RLX_OP_add,     RLX_OP_sub};
  static const rlx_op one[] = {RLX_OP_neg, RLX_OP_abs, RLX_OP_not, RLX_OP_relu, RLX_OP_sign};
  rlx_node a = pick_any(m);
  if (chance(m, 3)) return propose(m, one[below(m, 5)], &a, 1, NULL);
  rlx_node b = pick(m, type_of(m, a)->dtype);
  if (chance(m, 5)) return PROPOSE(where, NULL, pick(m, RLX_BOOL), a, b);
  return propose(m, two[below(m, sizeof two / sizeof *two)], (rlx_node[]){a, b}, 2, NULL);
}

static rlx_node make_reduce(maker *m) {
  rlx_node x = pick_any(m);
  rlx_dtype t = type_of(m, x)->dtype;
  int rank = type_of(m, x)->shape.n;
  rlx_attrs_reduce_max a = {.axes = rank ? RLX_DIMS(random_axis(m, rank)) : RLX_SCALAR, .keep = chance(m, 2)};
  bool is_whole = t == RLX_I32 || t == RLX_I64;
  return propose(m, is_whole && chance(m, 2) ? RLX_OP_reduce_sum : RLX_OP_reduce_max, &x, 1, &a);
}

/* ---- updates ---- */

/* An index from 0 to `last` that no pass can fold. */
static rlx_node random_place(maker *m, int64_t last) {
  rlx_node x = leaf(m, RLX_OP_input, RLX_I32, RLX_SCALAR);
  return PROPOSE(clamp, (&(rlx_attrs_clamp){.lo = (double)below(m, (uint32_t)last + 1), .hi = (double)last}), x);
}

static rlx_node make_update(maker *m) {
  if (!m->n_states) return make_state(m);
  uint32_t k = below(m, m->n_states);
  rlx_node state = m->state[k], rows = RLX_NONE;
  rlx_dims s = type_of(m, state)->shape, r = s;
  int64_t axis = chance(m, 3) ? random_axis(m, s.n) : 0;
  r.v[axis] = s.v[axis] ? 1 + below(m, (uint32_t)s.v[axis]) : 0;
  if (chance(m, 12)) r.v[axis] = 0;
  switch (below(m, 4)) {
    case 0: rows = leaf(m, RLX_OP_input, type_of(m, state)->dtype, r); break;
    case 1: rows = slice_of(m, state, axis, s.v[axis] - r.v[axis], s.v[axis]); break; /* of itself */
    case 2: {
      rlx_node old = rlx_graph_at(m->g, state)->n_in ? rlx_graph_at(m->g, state)->in[0] : state;
      rows = slice_of(m, old, axis, 0, r.v[axis]);
      break;
    }
    default: { /* anything of the right shape, cast or not */
      rlx_node x = pick(m, type_of(m, state)->dtype);
      rows = x ? PROPOSE(expand, &(rlx_attrs_expand){.shape = r}, x) : RLX_NONE;
      if (x && rlx_type_equal(type_of(m, x), &(rlx_type){type_of(m, state)->dtype, r})) rows = x;
    }
  }
  if (!rows) return RLX_NONE;
  r = type_of(m, rows)->shape;
  rlx_node at = random_place(m, s.v[axis] - r.v[axis]);
  rlx_node id = PROPOSE(update, &(rlx_attrs_update){.axis = axis}, state, rows, at);
  if (id) m->state[k] = id;
  return id;
}

/* ---- control flow ---- */

/* Two inputs, two outputs that mix them. */
static rlx_graph *make_body(maker *m, const rlx_type *t, bool other) {
  rlx_graph *g;
  if (rlx_graph_begin(&g)) return NULL;
  rlx_node a = rlx_op_input(g, "a", t->dtype, t->shape), b = rlx_op_input(g, "b", t->dtype, t->shape);
  rlx_node mix = other ? rlx_op_max(g, a, b) : rlx_op_sub(g, a, b);
  rlx_graph_add_output(g, "p", chance(m, 3) ? b : mix);
  rlx_graph_add_output(g, "q", chance(m, 3) ? mix : a);
  if (!rlx_graph_finish(g)) return g;
  rlx_graph_destroy(g);
  return NULL;
}

static rlx_node make_if(maker *m) {
  rlx_node a = pick_any(m), b = RLX_NONE;
  for (int tries = 0; tries < 6 && !b; tries++) {
    b = pick(m, type_of(m, a)->dtype);
    if (b && !rlx_type_equal(type_of(m, a), type_of(m, b))) b = RLX_NONE;
  }
  rlx_type t = *type_of(m, a);
  for (int i = 0; i < t.shape.n; i++)
    if (t.shape.v[i] < 0) return RLX_NONE;
  if (t.dtype == RLX_BOOL) return RLX_NONE;
  rlx_node cond = leaf(m, RLX_OP_input, RLX_BOOL, RLX_SCALAR), outs[2] = {0};
  rlx_graph *yes = make_body(m, &t, false), *no = make_body(m, &t, true);
  if (yes && no && cond) rlx_op_if(m->g, cond, yes, no, (rlx_node[]){a, b ? b : a}, 2, outs, 1 + below(m, 2));
  rlx_graph_destroy(yes);
  rlx_graph_destroy(no);
  return outs[0];
}

/* ---- all of it ---- */

static rlx_node (*const makers[])(maker *) = {
  make_leaf,      make_state,  make_constant, make_slice,  make_slice,   make_slice,     make_reshape,
  make_reshape,   make_concat, make_concat,   make_concat, make_shuffle, make_pointwise, make_pointwise,
  make_pointwise, make_reduce, make_update,   make_update, make_update,  make_if,
};

static void add_outputs(maker *m) {
  uint32_t n = 0;
  for (rlx_node id = rlx_graph_end(m->g) - 1; id > 0; id--) {
    bool is_new_state = false;
    for (uint32_t i = 0; i < m->n_states; i++) is_new_state |= m->state[i] == id;
    if (n && !(is_new_state && !chance(m, 3)) && !chance(m, 5)) continue;
    for (int copies = chance(m, 8) ? 2 : 1; copies > 0; copies--) {
      char name[16];
      snprintf(name, sizeof name, "y%u", (unsigned)n++);
      rlx_graph_add_output(m->g, name, id);
    }
  }
}

rlx_status moving_graph_make(uint64_t seed, uint32_t n_nodes, bool with_symbol, rlx_graph **out) {
  maker m = {.random = seed};
  RLX_TRY(rlx_graph_begin(&m.g));
  if (with_symbol) m.symbol = rlx_graph_add_symbol(m.g, "N");
  while (with_symbol && rlx_graph_end(m.g) < 2 && !rlx_graph_status(m.g))
    leaf(&m, RLX_OP_input, random_dtype(&m), RLX_DIMS(m.symbol, 1 + (int64_t)below(&m, 3)));
  while (rlx_graph_end(m.g) < 4 && !rlx_graph_status(m.g)) make_leaf(&m);
  for (uint32_t tries = 0; rlx_graph_end(m.g) <= n_nodes && tries < 20 * n_nodes && !rlx_graph_status(m.g); tries++)
    makers[below(&m, sizeof makers / sizeof *makers)](&m);
  if (!rlx_graph_status(m.g)) add_outputs(&m);
  rlx_status s = rlx_graph_finish(m.g);
  if (s) rlx_graph_destroy(m.g);
  *out = s ? NULL : m.g;
  return s;
}
