/* The norm over the last axes, for the ops that are one and the fused op that holds one. */
#ifndef RLX_REF_NORM_H
#define RLX_REF_NORM_H

#include "ref/ref.h"

/* out = norm(x) gamma + beta over all axes from `axis`, about the mean (centre) or about zero (rms). gamma and beta may be
 * NULL; x may have another float type than out. */
void rlx_norm_last(const rlx_tensor *x, const rlx_tensor *gamma, const rlx_tensor *beta, int64_t axis, bool centre,
                   double eps, rlx_tensor *out);

#endif
