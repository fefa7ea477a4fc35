/* The table of passes, and running one. */
#include "pass/pass.h"

#include "base/log.h"

const rlx_pass rlx_passes[] = {
#define PASS(name, doc) {#name, doc, rlx_pass_##name},
#include "pass/passes.def"
#undef PASS
};
const size_t rlx_passes_count = sizeof rlx_passes / sizeof *rlx_passes;

rlx_status rlx_pass_run(const rlx_pass *pass, const rlx_graph *in, rlx_pass_context *ctx, rlx_graph **out) {
  *out = NULL;
  rlx_graph *g;
  RLX_TRY(rlx_graph_begin(&g));
  rlx_trace_begin(pass->name);
  rlx_status s = pass->run(in, ctx, g);
  if (!s) s = rlx_graph_finish(g);
  rlx_trace_end(pass->name);
  if (s) {
    rlx_graph_destroy(g);
    return rlx_fail_frame(s, "pass %s", pass->name);
  }
  *out = g;
  return RLX_OK;
}

/* Rewrites leave constants to fold, duplicates and dead nodes. The three passes used here only remove nodes, which is
 * safe after legalise; simplify could create a node that the target lacks. */
rlx_status rlx_pass_cleanup(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  static const rlx_pass fold = {"fold", "", rlx_pass_fold}, dedupe = {"dedupe", "", rlx_pass_dedupe};
  rlx_graph *folded, *merged;
  RLX_TRY(rlx_pass_run(&fold, in, ctx, &folded));
  rlx_status s = rlx_pass_run(&dedupe, folded, ctx, &merged);
  rlx_graph_destroy(folded);
  if (!s) s = rlx_pass_dead(merged, ctx, out);
  rlx_graph_destroy(merged);
  return s;
}
