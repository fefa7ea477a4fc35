/* Times of steps from the device's own clock, where it has one (the feature timestamp-query): a query at the beginning
 * and one at the end of a compute pass. Then each step has passes of its own, but they are submitted together. */
#ifndef RLX_WEBGPU_TIMES_H
#define RLX_WEBGPU_TIMES_H

#include "webgpu/program.h"

/* Whether this program's steps can be timed so; the first call creates what is needed for it. */
bool wg_times_ready(rlx_program *p);
bool wg_times_full(const rlx_program *p); /* the part must end before the next pass */
/* A pass with times, of this step. */
WGPUComputePassEncoder wg_times_pass(rlx_program *p, WGPUCommandEncoder e, size_t step);
/* Around what is in no pass. */
void wg_times_before(rlx_program *p, WGPUCommandEncoder e, size_t step);
void wg_times_after(rlx_program *p, WGPUCommandEncoder e);
/* The last commands of a part. */
void wg_times_resolve(rlx_program *p, WGPUCommandEncoder e);
/* After a part that was submitted at start_ns is done: the times of its steps, counted from step `first`. */
rlx_status wg_times_read(rlx_program *p, uint64_t start_ns, size_t first, const rlx_run_args *args);
void wg_times_deinit(rlx_program *p);

#endif
