/* Rotation of the rows that fused_rope_update writes into the state. */
#ifndef RLX_REF_ROPE_H
#define RLX_REF_ROPE_H

#include "ref/ref.h"

/* The rows of fused_rope_update after rotation: unrounded, in scratch memory of the call; *own holds their tensor. */
rlx_status rlx_rope_rows(rlx_ref_call *c, rlx_tensor *own, const rlx_tensor **out);

#endif
