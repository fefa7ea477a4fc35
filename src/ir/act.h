/* The activations that fused ops can apply: their names in rlx_act and the corresponding ops. None is 0 and not in the
 * list. Everything that needs a row per activation is generated from RLX_ACTS. */
#ifndef RLX_IR_ACT_H
#define RLX_IR_ACT_H

#include "ir/op.h"

#define RLX_ACTS(ROW)           \
  ROW(RELU, relu)               \
  ROW(GELU, gelu)               \
  ROW(GELU_APPROX, gelu_approx) \
  ROW(SILU, silu)               \
  ROW(SIGMOID, sigmoid)         \
  ROW(TANH, tanh)

/* The enum's names in the op table. */
#define RLX_ACT_NAME(NAME, op) " " #op
#define RLX_ACT_NAMES "none" RLX_ACTS(RLX_ACT_NAME)

/* RLX_OP_INVALID for RLX_ACT_NONE. */
static inline rlx_op rlx_act_op(int32_t act) {
#define RLX_ACT_OP(NAME, op) [RLX_ACT_##NAME] = RLX_OP_##op,
  static const rlx_op ops[] = {[RLX_ACT_NONE] = RLX_OP_INVALID, RLX_ACTS(RLX_ACT_OP)};
#undef RLX_ACT_OP
  return ops[act];
}

/* RLX_ACT_NONE if the op is no activation. */
static inline int32_t rlx_act_of(rlx_op op) {
#define RLX_ACT_CASE(NAME, op) \
  case RLX_OP_##op: return RLX_ACT_##NAME;
  switch (op) {
    RLX_ACTS(RLX_ACT_CASE)
    default: return RLX_ACT_NONE;
  }
#undef RLX_ACT_CASE
}

/* Checks the order: the attribute numbers its names from 0, and must agree with rlx_act. */
#define RLX_ACT_PLACE(NAME, op) RLX_ACT_PLACE_##NAME,
#define RLX_ACT_CHECK(NAME, op) \
  _Static_assert((int)RLX_ACT_PLACE_##NAME == (int)RLX_ACT_##NAME, "the list is in rlx_act's order");
enum { RLX_ACT_PLACE_NONE, RLX_ACTS(RLX_ACT_PLACE) };
RLX_ACTS(RLX_ACT_CHECK)
#undef RLX_ACT_PLACE
#undef RLX_ACT_CHECK

#endif
