/* Rows that an update rotates on their way into the state. */
#ifndef RLX_REF_ROPE_H
#define RLX_REF_ROPE_H

#include "ref/ref.h"

/* The rows of fused_rope_update as it writes them: unrounded, in memory of the call; *own is where their tensor is. */
rlx_status rlx_rope_rows(rlx_ref_call *c, rlx_tensor *own, const rlx_tensor **out);

#endif
