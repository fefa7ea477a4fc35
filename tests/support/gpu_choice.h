/* What a test or a benchmark chooses for the GPU of a session, instead of the lowerings. */
#ifndef RLX_TESTS_GPU_CHOICE_H
#define RLX_TESTS_GPU_CHOICE_H

#include "gpu/gpu.h"

/* For what the session compiles from now on; all zeros: nothing. Devices that are no GPUs ignore it. */
void gpu_choose(rlx_session *session, gpu_choices choices);

#endif
