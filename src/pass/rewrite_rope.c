/* Rewrites of rope and axial_rope_2d: tables of cosines and sines, and the rotation of pairs by them.
 *
 * The rotated elements are reshaped to [.., 2, pairs] (neox) or [.., pairs, 2] (gptj); then both styles are the same
 * formula with another axis of size 2. The tables are inputs, or constants if the positions are known at compile time,
 * or computed from positions that are known only at run time. Angles are always computed in f64: a position of 10^5
 * times a frequency has no digits left in f32. */
#include <math.h>

#include "ir/definitions.h"
#include "pass/rewrite.h"

#define TABLE_LIMIT 0x1p22 /* elements of a constant table: 16 MiB of f32 */
#define TOO_WIDE "the table of frequencies would pass 2^22 elements"

/* Cosines and sines, [S, pairs] or [B, S, pairs]. */
typedef struct tables {
  rlx_node cos, sin;
} tables;

/* ---- the rotation ---- */

/* The shape of x, and its axis of tokens. */
typedef struct heads {
  rlx_dims shape; /* of x */
  int token_axis;
  int64_t tokens;
} heads;

static heads heads_of(const rlx_rewrite *r, int32_t layout) {
  int axis = layout == RLX_LAYOUT_BSHD ? 1 : 2;
  return (heads){.shape = r->type->shape, .token_axis = axis, .tokens = r->type->shape.v[axis]};
}

/* Rotates x, which has the heads' shape with 2 `pairs` elements per head. The tables have `batches` rows (1:
 * shared). */
static rlx_node rotate(const rlx_rewrite *r, rlx_node x, const heads *h, int64_t pairs, int32_t style, int64_t batches,
                       tables t) {
  rlx_graph *g = r->to;
  int two = style == RLX_ROPE_NEOX ? 3 : 4, pair_axis = 7 - two;
  rlx_dims paired = dims_append(dims_with(h->shape, 3, 2), 2), wide = RLX_DIMS(batches, 1, 1, 1, 1);
  paired.v[pair_axis] = wide.v[pair_axis] = pairs;
  wide.v[h->token_axis] = h->tokens;
  rlx_node both = rlx_op_reshape(g, x, paired), cos = rlx_op_reshape(g, t.cos, wide),
           sin = rlx_op_reshape(g, t.sin, wide);
  rlx_node a = rlx_op_narrow(g, both, two, 0, 1), b = rlx_op_narrow(g, both, two, 1, 1);
  rlx_node rotated[] = {rlx_op_sub(g, rlx_op_mul(g, a, cos), rlx_op_mul(g, b, sin)),
                        rlx_op_add(g, rlx_op_mul(g, a, sin), rlx_op_mul(g, b, cos))};
  return rlx_op_reshape(g, rlx_op_concat(g, rotated, 2, two), dims_with(h->shape, 3, 2 * pairs));
}

/* ---- tables ---- */

/* Frequencies, and positions known at compile time: token s is at s / divisor % modulus. */
typedef struct rotation {
  int64_t divisor, modulus, pairs;
  double theta;
} rotation;

static double frequency_at(const void *user, int64_t i) {
  const rotation *t = user;
  return rlx_rope_frequency(t->theta, i, t->pairs);
}
static double angle_at(const rotation *t, int64_t i) {
  return (double)(i / t->pairs / t->divisor % t->modulus) * frequency_at(t, i % t->pairs);
}
static double cos_at(const void *user, int64_t i) { return cos(angle_at(user, i)); }
static double sin_at(const void *user, int64_t i) { return sin(angle_at(user, i)); }

/* positions: f64 [S, 1] or [B, S, 1]. */
static tables computed_tables(const rlx_rewrite *r, rlx_node positions, rlx_node factors, const rotation *t) {
  rlx_graph *g = r->to;
  rlx_node frequencies = rlx_rewrite_constant(r, RLX_F64, RLX_DIMS(t->pairs), frequency_at, t);
  rlx_node angles = rlx_op_mul(g, positions, frequencies);
  if (factors) angles = rlx_op_div(g, angles, rlx_op_cast(g, factors, RLX_F64));
  rlx_dtype type = work_type(r->type->dtype);
  return (tables){as_type(r, rlx_op_cos(g, angles), type), as_type(r, rlx_op_sin(g, angles), type)};
}

/* Tables for positions known at compile time: constants, unless there are run-time factors or the tables are too
 * large. */
static tables known_tables(const rlx_rewrite *r, int64_t tokens, rlx_node factors, const rotation *t) {
  rlx_graph *g = r->to;
  rlx_dtype type = work_type(r->type->dtype);
  rlx_dims shape = RLX_DIMS(tokens, t->pairs);
  if (!factors && (double)tokens * (double)t->pairs <= TABLE_LIMIT)
    return (tables){rlx_rewrite_constant(r, type, shape, cos_at, t), rlx_rewrite_constant(r, type, shape, sin_at, t)};
  rlx_node at = coordinates(r, 0.0, tokens, 0, 2, RLX_F64);
  if (t->divisor > 1) at = rlx_op_floor(g, rlx_op_div(g, at, rlx_op_scalar(g, RLX_F64, (double)t->divisor)));
  if (t->modulus < tokens) at = rlx_op_mod(g, at, rlx_op_scalar(g, RLX_F64, (double)t->modulus));
  return computed_tables(r, at, factors, t);
}

/* ---- rope ---- */

enum { IN_X, IN_POSITIONS, IN_OFFSET, IN_FACTORS, IN_COS, IN_SIN, IN_GAMMA };

/* Run-time positions, [S] or [B, S] in this type; RLX_NONE if they are known at compile time. */
static rlx_node run_positions(const rlx_rewrite *r, int64_t tokens, rlx_dtype type) {
  rlx_node positions = input_of(r, IN_POSITIONS), offset = input_of(r, IN_OFFSET);
  if (positions) return as_type(r, positions, type);
  return offset ? rlx_op_add(r->to, rlx_op_range(r->to, 0.0, 1.0, tokens, type), as_type(r, offset, type)) : RLX_NONE;
}

/* The rows of a table input at the positions, in the work type. Positions keep their own type; an offset is i32. */
static rlx_node read_table(const rlx_rewrite *r, uint32_t table, int64_t tokens) {
  rlx_node given = input_of(r, IN_POSITIONS), rows = r->in[table];
  rlx_node positions = run_positions(r, tokens, given ? dtype_of(r, given) : RLX_I32);
  rows =
    positions ? rlx_op_gather(r->to, rows, plain_index(r, positions), 0) : rlx_op_narrow(r->to, rows, 0, 0, tokens);
  return as_type(r, rows, work_type(r->type->dtype));
}

static tables rope_tables(const rlx_rewrite *r, const heads *h, int64_t pairs) {
  rlx_node given = input_of(r, IN_POSITIONS), factors = input_of(r, IN_FACTORS);
  rotation t = {.divisor = 1, .modulus = INT64_MAX, .pairs = pairs, .theta = RLX_ATTRS(rope, r->node)->theta};
  if (input_of(r, IN_COS)) return (tables){read_table(r, IN_COS, h->tokens), read_table(r, IN_SIN, h->tokens)};
  rlx_node positions = run_positions(r, h->tokens, RLX_F64);
  if (!positions) return known_tables(r, h->tokens, factors, &t);
  rlx_dims column = dims_append(given ? shape_of(r, given) : RLX_DIMS(h->tokens), 1);
  return computed_tables(r, rlx_op_reshape(r->to, positions, column), factors, &t);
}

rlx_node rlx_rewrite_rope(rlx_rewrite *r) {
  const rlx_attrs_rope *attrs = RLX_ATTRS(rope, r->node);
  rlx_graph *g = r->to;
  rlx_node x = r->in[IN_X], positions = input_of(r, IN_POSITIONS), table = input_of(r, IN_COS);
  if (is_empty(r)) return x;
  heads h = heads_of(r, attrs->layout);
  int64_t size = h.shape.v[3], n_rot = attrs->n_rot ? attrs->n_rot : size;
  if (table && !positions && !input_of(r, IN_OFFSET) && shape_of(r, table).v[0] < h.tokens)
    return refuse(r, "the tables have fewer rows than there are positions");
  if ((double)n_rot / 2 > TABLE_LIMIT) return refuse(r, TOO_WIDE);
  int64_t batches = positions && shape_of(r, positions).n == 2 ? h.shape.v[0] : 1;
  rlx_node part = n_rot == size ? x : rlx_op_narrow(g, x, 3, 0, n_rot);
  rlx_node rotated = rotate(r, widen(r, part), &h, n_rot / 2, attrs->style, batches, rope_tables(r, &h, n_rot / 2));
  rotated = as_result(r, rotated);
  if (n_rot == size) return rotated;
  rlx_node parts[] = {rotated, rlx_op_narrow(g, x, 3, n_rot, size - n_rot)};
  return rlx_op_concat(g, parts, 2, 3);
}

/* ---- fused forms ---- */

/* A norm and a rope, in the work type. */
rlx_node rlx_rewrite_fused_norm_rope(rlx_rewrite *r) {
  const rlx_attrs_fused_norm_rope *a = RLX_ATTRS(fused_norm_rope, r->node);
  rlx_graph *g = r->to;
  if (is_empty(r)) return r->in[IN_X];
  rlx_node x = rlx_op_rms_norm(g, widen(r, r->in[IN_X]), wide_input(r, IN_GAMMA), RLX_NONE, -1, a->eps);
  return as_result(
    r, rlx_op_rope(g, x,
                   &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .layout = (rlx_layout)a->layout,
                                       .style = (rlx_rope_style)a->style, .positions = input_of(r, IN_POSITIONS),
                                       .offset = input_of(r, IN_OFFSET), .factors = input_of(r, IN_FACTORS),
                                       .cos = input_of(r, IN_COS), .sin = input_of(r, IN_SIN), .n_rot = a->n_rot,
                                       .theta = a->theta}));
}

/* A norm, a rope, an update. */
rlx_node rlx_rewrite_fused_rope_update(rlx_rewrite *r) {
  const rlx_attrs_fused_rope_update *a = RLX_ATTRS(fused_rope_update, r->node);
  rlx_graph *g = r->to;
  rlx_node rows = widen(r, r->in[1]), positions = input_of(r, 3);
  if (!positions) { /* those of the rows in the state */
    rlx_dims at = shape_of(r, r->in[2]);
    rlx_node first = rlx_op_reshape(g, r->in[2], at.n && at.v[0] != 1 ? RLX_DIMS(at.v[0], 1) : RLX_DIMS(1));
    positions = rlx_op_add(g, first, rlx_op_range(g, 0.0, 1.0, shape_of(r, r->in[1]).v[1], dtype_of(r, r->in[2])));
  }
  if (a->norm) rows = rlx_op_rms_norm(g, rows, wide_input(r, 5), RLX_NONE, -1, a->eps);
  rows =
    rlx_op_rope(g, rows,
                &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .style = (rlx_rope_style)a->style, .positions = positions,
                                    .factors = input_of(r, 4), .n_rot = a->n_rot, .theta = a->theta});
  return rlx_op_update(g, r->in[0], as_type(r, rows, dtype_of(r, r->in[1])), r->in[2], 1);
}

/* A state with a row replaced: the row where the position is `at`, [B or 1, 1, 1, 1]. */
static rlx_node with_row(const rlx_rewrite *r, rlx_node state, rlx_node row, rlx_node at) {
  rlx_graph *g = r->to;
  rlx_node here = rlx_op_eq(g, coordinates(r, 0.0, shape_of(r, state).v[1], 1, 4, RLX_I32), at);
  return rlx_op_where(g, here, as_type(r, row, dtype_of(r, state)), state);
}

/* A norm and rope of q and k, and attention over states that have the new rows. The updates that write these rows are
 * nodes of their own, so the states here are copies. */
rlx_node rlx_rewrite_fused_rope_attention(rlx_rewrite *r) {
  enum { ROWS, K, V, AT, FACTORS, GAMMA_Q, GAMMA_K };
  const rlx_attrs_fused_rope_attention *a = RLX_ATTRS(fused_rope_attention, r->node);
  rlx_graph *g = r->to;
  if (is_empty(r)) return nothing(r);
  const int64_t n_q = r->type->shape.v[2], n_kv = shape_of(r, r->in[K]).v[2];
  const rlx_dims each = shape_of(r, r->in[AT]);
  const int64_t n_at = each.n ? each.v[0] : 1;
  rlx_node at = rlx_op_reshape(g, r->in[AT], RLX_DIMS(n_at, 1, 1, 1)), head[2];
  for (int i = 0; i < 2; i++) {
    head[i] = widen(r, rlx_op_narrow(g, r->in[ROWS], 2, i ? n_q : 0, i ? n_kv : n_q));
    if (a->norm) head[i] = rlx_op_rms_norm(g, head[i], wide_input(r, i ? GAMMA_K : GAMMA_Q), RLX_NONE, -1, a->eps);
    head[i] = rlx_op_rope(
      g, head[i],
      &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .style = (rlx_rope_style)a->style,
                          .positions = rlx_op_reshape(g, r->in[AT], n_at > 1 ? RLX_DIMS(n_at, 1) : RLX_DIMS(1)),
                          .factors = input_of(r, FACTORS), .n_rot = a->n_rot, .theta = a->theta});
  }
  rlx_node k = with_row(r, r->in[K], head[1], at);
  rlx_node v = with_row(r, r->in[V], rlx_op_narrow(g, r->in[ROWS], 2, n_q + n_kv, n_kv), at);
  return as_result(
    r, rlx_op_attention(g, head[0], k, v,
                        &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .causal = true, .window = a->window,
                                                 .kv_len = rlx_op_add(g, r->in[AT], rlx_op_scalar(g, RLX_I32, 1)),
                                                 .kv_offset = r->in[AT], .scale = a->scale, .softcap = a->softcap}));
}

/* The pages of each batch row behind one another, [P, page, Hkv, D] to [B, N page, Hkv, D]; and attention. */
static rlx_node gather_pages(const rlx_rewrite *r, rlx_node x, rlx_node pages) {
  rlx_graph *g = r->to;
  rlx_dims all = shape_of(r, x), table = shape_of(r, pages);
  rlx_node last = rlx_op_scalar(g, RLX_I32, (double)(all.v[0] - 1));
  rlx_node index = rlx_op_max(g, rlx_op_min(g, pages, last), rlx_op_scalar(g, RLX_I32, 0));
  return rlx_op_reshape(g, rlx_op_gather(g, x, index, 0),
                        RLX_DIMS(table.v[0], table.v[1] * all.v[1], all.v[2], all.v[3]));
}

rlx_node rlx_rewrite_paged_attention(rlx_rewrite *r) {
  enum { Q, K, V, PAGES, KV_LEN, KV_OFFSET, SINKS };
  const rlx_attrs_paged_attention *a = RLX_ATTRS(paged_attention, r->node);
  if (is_empty(r)) return nothing(r);
  rlx_node k = gather_pages(r, r->in[K], r->in[PAGES]), v = gather_pages(r, r->in[V], r->in[PAGES]);
  return rlx_op_attention(r->to, r->in[Q], k, v,
                          &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .causal = a->causal,
                                                   .sinks = input_of(r, SINKS), .kv_len = input_of(r, KV_LEN),
                                                   .kv_offset = input_of(r, KV_OFFSET), .window = a->window,
                                                   .scale = a->scale, .softcap = a->softcap});
}

/* ---- axial_rope_2d ---- */

/* Half `side` of every head, rotated. */
static rlx_node rotate_half(const rlx_rewrite *r, const heads *h, int side, int32_t style, const rotation *t) {
  rlx_node half = rlx_op_narrow(r->to, r->in[0], 3, side * 2 * t->pairs, 2 * t->pairs);
  return rotate(r, widen(r, half), h, t->pairs, style, 1, known_tables(r, h->tokens, RLX_NONE, t));
}

/* The first half is rotated by the column, the second by the row. */
rlx_node rlx_rewrite_axial_rope_2d(rlx_rewrite *r) {
  const rlx_attrs_axial_rope_2d *attrs = RLX_ATTRS(axial_rope_2d, r->node);
  if (is_empty(r)) return r->in[0];
  heads h = heads_of(r, attrs->layout);
  rotation column = {.divisor = 1, .modulus = attrs->width, .pairs = h.shape.v[3] / 4, .theta = attrs->theta},
           row = column;
  row.divisor = attrs->width;
  row.modulus = INT64_MAX;
  if ((double)row.pairs > TABLE_LIMIT) return refuse(r, TOO_WIDE);
  rlx_node sides[] = {rotate_half(r, &h, 0, attrs->style, &column), rotate_half(r, &h, 1, attrs->style, &row)};
  return as_result(r, rlx_op_concat(r->to, sides, 2, 3));
}
