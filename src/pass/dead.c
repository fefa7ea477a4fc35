/* Dead code elimination: drops nodes that no output and no state update needs.
 *
 * Inputs, params and states stay even if nothing reads them. They are the graph's interface: a caller that sets them by
 * name must not fail because a pass found them unused. */
#include "pass/pass.h"

rlx_status rlx_pass_dead(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  rlx_walk w;
  RLX_TRY(rlx_walk_init(in, out, &w));
  rlx_status s = RLX_OK;
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++)
    if (!rlx_walk_is_dead(&w, id)) s = rlx_walk_copy(&w, id);
  if (!s) s = rlx_walk_end(&w, ctx);
  rlx_walk_deinit(&w);
  return s;
}
