/* Fusions around rope: the norm of the heads before it, and the update that writes rotated rows into a state.
 *
 * Neither removes nodes from other readers: a norm or a rope with other readers stays, and the pattern computes it
 * again. An update may write only some of the heads that a rope rotated (of q and k together, k). It then rotates those
 * heads alone and no longer waits for the others. */
#include "ir/slice.h"
#include "ir/walk.h"
#include "pass/fuse.h"

enum { X, POSITIONS, OFFSET, FACTORS, COSINES, SINES }; /* inputs of rope */
enum { STATE, ROWS, AT };                               /* and of update */

static rlx_node input_of(const rlx_node_rec *n, uint32_t i) { return i < n->n_in ? n->in[i] : RLX_NONE; }

/* rope(norm(x)) */
bool rlx_fuse_norm_rope(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *rope = rlx_fuse_at(f, root), *norm = rlx_fuse_norm_before(f, rope->in[X]);
  const rlx_attrs_rope *a = RLX_ATTRS(rope, rope);
  if (!norm) return false;
  m->op = RLX_OP_fused_norm_rope;
  m->attrs.fused_norm_rope_ = (rlx_attrs_fused_norm_rope){.layout = a->layout,
                                                          .style = a->style,
                                                          .n_rot = a->n_rot,
                                                          .theta = a->theta,
                                                          .eps = RLX_ATTRS(rms_norm, norm)->eps};
  rlx_match_add(m, norm->in[0]);
  for (uint32_t i = POSITIONS; i <= SINES; i++) rlx_match_add(m, input_of(rope, i));
  rlx_match_add(m, norm->in[1]);
  return true;
}

bool rlx_fuse_cuts_heads(const rlx_fuse *f, const rlx_node_rec *n, int64_t *first) {
  if (n->op != RLX_OP_slice) return false;
  const rlx_dims *shape = rlx_fuse_shape(f, n->in[0]);
  rlx_slice_axis axis[RLX_MAX_RANK];
  if (shape->n != 4 || rlx_slice_resolve(RLX_ATTRS(slice, n), shape, axis) != RLX_OK) return false;
  for (int i = 0; i < shape->n; i++)
    if (axis[i].step != 1 || (i != 2 && axis[i].count != shape->v[i])) return false;
  *first = axis[2].start;
  return true;
}

/* update(state, rope(norm(x))), possibly of some of the heads, with positions given or counted from the rows' index in
 * the state. */
bool rlx_fuse_rope_update(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *update = rlx_fuse_at(f, root), *rope = rlx_fuse_at(f, update->in[ROWS]);
  rlx_node sliced = RLX_NONE;
  int64_t first;
  if (rlx_fuse_cuts_heads(f, rope, &first)) {
    sliced = update->in[ROWS];
    rope = rlx_fuse_at(f, rope->in[0]);
  }
  if (rlx_update_is_packed(rlx_fuse_shape(f, update->in[STATE]), rlx_fuse_shape(f, update->in[ROWS]))) return false;
  if (rlx_dtype_is_block(update->type.dtype)) return false;
  if (RLX_ATTRS(update, update)->axis != 1 || rope->op != RLX_OP_rope || input_of(rope, COSINES)) return false;
  const rlx_attrs_rope *a = RLX_ATTRS(rope, rope);
  rlx_node positions = input_of(rope, POSITIONS);
  bool counted = !positions && input_of(rope, OFFSET) && input_of(rope, OFFSET) == update->in[AT];
  if (a->layout != RLX_LAYOUT_BSHD || (!positions && !counted)) return false;
  const rlx_node_rec *norm = rlx_fuse_norm_before(f, rope->in[X]);
  m->op = RLX_OP_fused_rope_update;
  m->attrs.fused_rope_update_ = (rlx_attrs_fused_rope_update){.style = a->style,
                                                              .n_rot = a->n_rot,
                                                              .theta = a->theta,
                                                              .norm = norm != NULL,
                                                              .eps = norm ? RLX_ATTRS(rms_norm, norm)->eps : 1e-5};
  rlx_match_add(m, update->in[STATE]);
  rlx_match_add_in(m, (rlx_fuse_in){.node = norm ? norm->in[0] : rope->in[X], .sliced = sliced});
  rlx_match_add(m, update->in[AT]);
  rlx_match_add(m, positions);
  rlx_match_add(m, input_of(rope, FACTORS));
  rlx_match_add(m, norm ? norm->in[1] : RLX_NONE);
  return true;
}
