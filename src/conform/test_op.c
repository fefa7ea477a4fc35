/* "rlx.test.scale_add": a minimal custom op that uses every feature: two inputs, a shape rule that rejects inputs, a
 * parsed config, every float dtype. It is registered when cases are built, so a program that runs no cases does not
 * have it. */
#include "conform/test_op.h"

#include <string.h>

#include "base/str.h"
#include "ir/custom.h"
#include "ir/dtype.h"
#include "ir/element.h"
#include "ir/walk.h"

static rlx_status refuse(rlx_custom_call *call, const char *why) {
  strncpy(call->message, why, sizeof call->message - 1);
  return RLX_INVALID;
}

/* The config is the scale as a number; empty means 1. */
static bool read_scale(const rlx_custom_call *call, double *scale) {
  *scale = 1;
  return !*call->config || rlx_text_to_double(call->config, strlen(call->config), scale);
}

static rlx_status scale_add_shape(rlx_custom_call *call) {
  double scale;
  if (call->n_inputs != 2) return refuse(call, "takes 2 inputs");
  const rlx_tensor *a = call->inputs[0], *b = call->inputs[1];
  if (!rlx_dtype_is_float(a->dtype) || a->dtype != b->dtype) return refuse(call, "takes two inputs of one float type");
  if (!rlx_dims_equal(&a->shape, &b->shape)) return refuse(call, "takes two inputs of one shape");
  if (!read_scale(call, &scale)) return refuse(call, "its config must be a number");
  call->output->dtype = a->dtype;
  call->output->shape = a->shape;
  return RLX_OK;
}

static rlx_status scale_add_kernel(rlx_custom_call *call) {
  double scale;
  if (!read_scale(call, &scale)) return refuse(call, "its config must be a number");
  for (size_t i = 0, n = rlx_tensor_count(call->output); i < n; i++)
    rlx_store(call->output, i, scale * rlx_load(call->inputs[0], i) + rlx_load(call->inputs[1], i));
  return RLX_OK;
}

rlx_status rlx_test_op_register(void) {
  static rlx_custom_entry entry = {.name = "rlx.test.scale_add", .shape = scale_add_shape, .kernel = scale_add_kernel};
  return rlx_custom_add(&entry);
}
