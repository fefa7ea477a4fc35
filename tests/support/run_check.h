/* Compares a session with the evaluator: the same graph, the same values, run after run, every output and every state.
 *
 * Nothing here depends on the test harness. */
#ifndef RLX_TESTS_RUN_CHECK_H
#define RLX_TESTS_RUN_CHECK_H

#include "ir/graph.h"

/* A session on a device by name, with this number of threads (0: one per core). */
rlx_status run_session(const char *device, uint32_t threads, rlx_session **out);

/* The same in a test, which is skipped if there is no such device. */
#define OPEN_SESSION(device, threads, out)                             \
  do {                                                                 \
    rlx_status open_status_ = run_session((device), (threads), (out)); \
    if (open_status_ == RLX_NOT_FOUND) SKIP(rlx_message());            \
    CHECK_OK(open_status_);                                            \
  } while (0)

/* Writes leaves (by node id, of a graph without symbols) into an executable or an evaluator. */
rlx_status run_write_leaves(rlx_executable *e, const rlx_graph *g, const rlx_tensor *leaves);
rlx_status run_set_leaves(rlx_evaluator *e, const rlx_graph *g, const rlx_tensor *leaves);
/* A value by name, with memory of its own (rlx_tensor_deinit). */
rlx_status run_read(rlx_executable *e, const char *name, rlx_tensor *out);
/* Compares every output and state. bits: bit for bit (except NaN payloads); else close, relative to the largest
 * value. */
rlx_status run_compare(rlx_executable *e, const rlx_evaluator *want, const rlx_graph *g, bool bits);
/* The whole check: compiles g with options (NULL: the defaults), sets random leaves, runs `runs` times, compares each
 * time. */
rlx_status run_check(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options, uint64_t seed, int runs,
                     bool bits);

#endif
