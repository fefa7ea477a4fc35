/* Overrides of the lowerings' choices for the GPU of a session, for tests and benchmarks. */
#ifndef RLX_TESTS_GPU_CHOICE_H
#define RLX_TESTS_GPU_CHOICE_H

#include "gpu/gpu.h"

/* Applies to what the session compiles from now on; all zeros: no override. Devices that are no GPUs ignore it. */
void gpu_choose(rlx_session *session, gpu_choices choices);

#endif
