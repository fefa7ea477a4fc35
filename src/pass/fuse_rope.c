/* Fusions around rotary positions: the norm of the heads before them, and the update that writes turned rows into a state.
 *
 * Neither takes nodes away from others: where a norm or a rope is read by more than the pattern it stays for them, and the
 * pattern does it again for itself. An update may see some of the heads that a rope turned (of q and k together, k): it then
 * turns those heads alone, and no longer waits for the others. */
#include "ir/slice.h"
#include "pass/fuse.h"

enum { X, POSITIONS, OFFSET, FACTORS, COSINES, SINES }; /* inputs of rope */
enum { STATE, ROWS, AT };                               /* and of update */

static rlx_node input_of(const rlx_node_rec *n, uint32_t i) { return i < n->n_in ? n->in[i] : RLX_NONE; }

/* rope(norm(x)) */
bool rlx_fuse_norm_rope(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *rope = rlx_fuse_at(f, root), *norm = rlx_fuse_norm_before(f, rope->in[X]);
  rlx_attrs_rope attrs = *RLX_ATTRS(rope, rope);
  if (!norm || attrs.norm) return false;
  attrs.norm = true;
  attrs.eps = RLX_ATTRS(rms_norm, norm)->eps;
  m->op = RLX_OP_rope;
  m->attrs.rope_ = attrs;
  rlx_match_add(m, norm->in[0]);
  for (uint32_t i = POSITIONS; i <= SINES; i++) rlx_match_add(m, input_of(rope, i));
  rlx_match_add(m, norm->in[1]);
  return true;
}

/* Some heads of [B, S, H, D]. */
static bool cuts_heads(const rlx_fuse *f, const rlx_node_rec *slice) {
  const rlx_dims *shape = rlx_fuse_shape(f, slice->in[0]);
  rlx_slice_axis axis[RLX_MAX_RANK];
  if (shape->n != 4 || rlx_slice_resolve(RLX_ATTRS(slice, slice), shape, axis) != RLX_OK) return false;
  for (int i = 0; i < shape->n; i++)
    if (axis[i].step != 1 || (i != 2 && axis[i].count != shape->v[i])) return false;
  return true;
}

/* update(state, rope(norm(x))), perhaps of some of the heads, with the positions given or counted from where the rows go. */
bool rlx_fuse_turned_update(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *update = rlx_fuse_at(f, root), *rope = rlx_fuse_at(f, update->in[ROWS]);
  rlx_attrs_update attrs = *RLX_ATTRS(update, update);
  rlx_node sliced = RLX_NONE;
  if (rope->op == RLX_OP_slice && cuts_heads(f, rope)) {
    sliced = update->in[ROWS];
    rope = rlx_fuse_at(f, rope->in[0]);
  }
  if (attrs.turn || attrs.axis != 1 || rope->op != RLX_OP_rope || input_of(rope, COSINES)) return false;
  const rlx_attrs_rope *turn = RLX_ATTRS(rope, rope);
  rlx_node positions = input_of(rope, POSITIONS);
  bool counted = !positions && input_of(rope, OFFSET) && input_of(rope, OFFSET) == update->in[AT];
  if (turn->layout != RLX_LAYOUT_BSHD || turn->norm || (!positions && !counted)) return false;
  const rlx_node_rec *norm = rlx_fuse_norm_before(f, rope->in[X]);
  attrs.turn = true;
  attrs.style = turn->style;
  attrs.n_rot = turn->n_rot;
  attrs.theta = turn->theta;
  attrs.norm = norm != NULL;
  attrs.eps = norm ? RLX_ATTRS(rms_norm, norm)->eps : 0;
  m->op = RLX_OP_update;
  m->attrs.update_ = attrs;
  rlx_match_add(m, update->in[STATE]);
  rlx_match_add_in(m, (rlx_fuse_in){.node = norm ? norm->in[0] : rope->in[X], .sliced = sliced});
  rlx_match_add(m, update->in[AT]);
  rlx_match_add(m, positions);
  rlx_match_add(m, input_of(rope, FACTORS));
  rlx_match_add(m, norm ? norm->in[1] : RLX_NONE);
  return true;
}
