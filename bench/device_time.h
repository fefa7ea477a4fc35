/* How long a run takes on a device, for the benchmarks of devices. */
#ifndef BENCH_DEVICE_TIME_H
#define BENCH_DEVICE_TIME_H

#include <stdlib.h>

#include "base/log.h"
#include "rlx/rlx.h"

static inline int bench_by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* The median run. A device that was idle while inputs travelled runs at a fraction of its clock, and takes a while to come back:
 * so it is kept busy for `warm` seconds before anything counts. warm 0: one run, for those who only look at results. */
static inline rlx_status bench_device_time(rlx_executable *e, double warm, double *seconds) {
  enum { ROUNDS = 25 };
  const int rounds = warm > 0 ? ROUNDS : 1;
  const uint64_t warm_ns = (uint64_t)(warm * 1e9);
  double took[ROUNDS] = {0};
  rlx_status s = RLX_OK;
  for (uint64_t begin = rlx_now_ns(); !s && rlx_now_ns() - begin < warm_ns;) s = rlx_executable_run(e);
  for (int i = 0; i < rounds && !s; i++) {
    uint64_t begin = rlx_now_ns();
    s = rlx_executable_run(e);
    took[i] = (double)(rlx_now_ns() - begin) * 1e-9;
  }
  qsort(took, (size_t)rounds, sizeof *took, bench_by_value);
  *seconds = took[rounds / 2];
  return s;
}

#endif
