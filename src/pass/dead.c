/* Dead nodes: what no output and no state update needs is left out.
 *
 * Inputs, params and states stay though nothing reads them: they are the graph's interface, and a caller that sets them
 * by name must not fail because a pass found them idle. */
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
