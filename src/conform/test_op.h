/* The custom op that the cases of `custom` use: "rlx.test.scale_add", scale * a + b, with the scale in its config. */
#ifndef RLX_CONFORM_TEST_OP_H
#define RLX_CONFORM_TEST_OP_H

#include "base/status.h"

/* Registers the op; may be called any number of times. Allocates nothing. */
rlx_status rlx_test_op_register(void);

#endif
