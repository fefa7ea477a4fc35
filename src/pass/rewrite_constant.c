/* Constants that a rewrite computes: tables of angles, positions to read, decoded codes. Each is a function of the
 * element's index, called once per element and stored by the rules of cast. */
#include "ir/walk.h"
#include "pass/rewrite.h"

rlx_node rlx_rewrite_constant(const rlx_rewrite *r, rlx_dtype dtype, rlx_dims shape,
                              double (*value)(const void *user, int64_t i), const void *user) {
  rlx_tensor t = {.dtype = dtype, .shape = shape};
  rlx_status s = rlx_tensor_bytes(dtype, shape, &t.bytes);
  if (!s && !(t.data = rlx_mem_alloc(t.bytes))) s = RLX_FAIL(RLX_NO_MEMORY, "a constant of %zu bytes", t.bytes);
  if (s) return rlx_graph_set_error(r->to, s);
  for (size_t i = 0; i < rlx_tensor_count(&t); i++) rlx_store_value(&t, i, value(user, (int64_t)i));
  rlx_node constant = rlx_op_constant(r->to, dtype, shape, t.data, t.bytes);
  rlx_mem_free(t.data);
  return constant;
}
