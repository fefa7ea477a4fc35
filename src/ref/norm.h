/* The norm over the last axes, for the norm ops and the fused ops that contain one. */
#ifndef RLX_REF_NORM_H
#define RLX_REF_NORM_H

#include "ref/ref.h"

/* out = norm(x) gamma + beta over all axes from `axis` on, about the mean (centre) or about zero (rms). gamma and beta
 * may be NULL; x may have another float dtype than out. */
void rlx_norm_last(rlx_ref_call *c, const rlx_tensor *x, const rlx_tensor *gamma, const rlx_tensor *beta, int64_t axis,
                   bool centre, double eps, rlx_tensor *out);

/* x, or if `normed` rms_norm(x) gamma over the last axis, unrounded, in scratch memory of the call; *own holds its
 * tensor. */
rlx_status rlx_norm_rows(rlx_ref_call *c, const rlx_tensor *x, bool normed, double eps, const rlx_tensor *gamma,
                         rlx_tensor *own, const rlx_tensor **out);

#endif
