/* Leaves. A constant copies its bytes. The evaluator supplies the values of inputs, params and states, so computing one
 * is an error of the caller. */
#include "ref/ref.h"

static rlx_status fail_leaf(const rlx_ref_call *c) {
  return RLX_FAIL(RLX_INVALID, "%s has no kernel: the evaluator supplies its value",
                  rlx_op_table_get(c->node->op)->name);
}

rlx_status rlx_ref_input(rlx_ref_call *c) { return fail_leaf(c); }
rlx_status rlx_ref_param(rlx_ref_call *c) { return fail_leaf(c); }
rlx_status rlx_ref_state(rlx_ref_call *c) { return fail_leaf(c); }

rlx_status rlx_ref_constant(rlx_ref_call *c) {
  const rlx_blob *data = RLX_ATTRS(constant, c)->data;
  rlx_ref_copy(c, c->out->data, data->data, data->bytes);
  return RLX_OK;
}
