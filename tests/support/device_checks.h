/* What every device must do, checked through its backend: transfers at odd places, of large blocks and by several
 * threads, the order of a backend's devices, runs that allocate nothing, arenas and weights in several blocks.
 *
 *   TEST(large_transfers) { check_large_transfers("vulkan:staging"); }
 *
 * A check takes the name of a device and runs the harness's CHECKs; the test is skipped, with the registry's reason, if
 * there is no such device. Programs of copies are in device_copies.h, faults in device_faults.h, the arena's contract
 * in arena_contract.h. */
#ifndef RLX_TESTS_DEVICE_CHECKS_H
#define RLX_TESTS_DEVICE_CHECKS_H

#include "device/backend.h"
#include "device/registry.h"
#include "test.h"

/* Acquires the device of this name until the end of the test; skips the test if there is none. */
#define ACQUIRE(name, out)                                    \
  do {                                                        \
    rlx_status acquired_ = rlx_device_acquire((name), (out)); \
    if (acquired_ == RLX_NOT_FOUND) SKIP(rlx_message());      \
    CHECK_OK(acquired_);                                      \
  } while (0)

/* After a helper that has checks or may skip. */
#define STOP_UNLESS_PASSED \
  if (test_all.result != TEST_PASSED) return

/* ---- a backend's list ---- */

/* Every device is described and the best come first; `more` checks what only this backend promises. */
void check_devices(const rlx_backend *backend, void (*more)(const rlx_device_info *info));
/* The variants block=N and window=N of the backend of this name, which has a device, and one that does not exist. */
void check_lowered_limits(const char *backend);

/* ---- transfers ---- */

/* Writes, reads, copies and fills at unaligned offsets, in one block and between two. */
void check_odd_ranges(const char *device);
/* Ranges outside of a block, ranges that overlap, empty ones. */
void check_wrong_ranges(const char *device);
/* Larger than all memory for staging, from an unaligned offset, in both directions and inside the device. */
void check_large_transfers(const char *device);
/* Several threads move data on two queues of one device. */
void check_threads(const char *device);

/* ---- compiled graphs ---- */

/* y: three softmax in a chain, of x: f32 of this shape ("[32,64]"). */
rlx_status softmax_graph(const char *shape, rlx_graph **out);

/* A graph of x: f32[32,64] in a compiled form that has one step for each node. */
typedef struct steady {
  rlx_session *session;
  rlx_graph *graph;
  rlx_executable *executable;
} steady;
/* Compiles the expression and runs it n times. */
void steady_open(steady *s, const char *device, const char *expr, int n);
/* 20 more runs, which must allocate nothing of the host's. */
void steady_check(steady *s);
void steady_close(steady *s);
/* What softmax_graph has. */
#define STEADY_SOFTMAX "%a = softmax(%x); %b = softmax(%a); softmax(%b)"

/* On a device with block=65536. Four values of 64 KiB are live at once, and a block holds one. */
void check_arena_is_split(const char *device);
/* The same of weights that are together larger than the largest block. */
void check_weights_are_split(const char *device);

#endif
