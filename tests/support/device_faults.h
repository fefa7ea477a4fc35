/* Faults of a device: every call of a kind fails once in a piece of work that uses all of a backend, and nothing may be
 * left behind; a lost device; a host that runs out of memory; libraries that are not there.
 *
 * How a fault is planned is the backend's: a driver or library that fails on demand, behind `fault_driver`. */
#ifndef RLX_TESTS_DEVICE_FAULTS_H
#define RLX_TESTS_DEVICE_FAULTS_H

#include "device_checks.h"

/* ---- the work ---- */

/* A graph of x and w (both f32[rows, cols]) to y; y of all zeroes has n_out elements between low and high. */
typedef struct fault_work {
  const char *leaves, *expr;
  uint32_t rows, cols, n_out;
  float low, high;
  bool no_pool;     /* a session without a pool of blocks */
  uint32_t n_ahead; /* runs that are not waited for, each of which must give what a single run does; 0: none */
} fault_work;

enum { FAULT_MAX_FLOATS = 40 * 96, FAULT_MAX_AHEAD = 6 };

/* The graph, or NULL after printing why. */
rlx_graph *fault_graph(const fault_work *w);
/* Everything from opening a device to a result, with two runs and then those ahead; closes all of it. `message`
 * receives the message of the first failure. */
rlx_status fault_run(const fault_work *w, const char *device, const rlx_graph *g, char message[1024]);

/* ---- every call fails once ---- */

typedef struct fault_kind {
  rlx_status status;       /* expected of the work */
  const char *part, *also; /* of its message; NULL: nothing more */
  bool is_named;           /* at least one of the messages names a node */
  bool is_final;           /* the work cannot recover from it */
} fault_kind;

typedef struct fault_driver {
  const fault_kind *kinds;
  void (*plan)(int kind, uint64_t at); /* call `at` of this kind fails, counted from 1; 0: none */
  uint64_t (*count)(int kind);         /* the calls of this kind since then */
  int64_t (*live)(void);               /* objects of the driver that are left; NULL: not known */
} fault_driver;

/* Each call of this kind fails once. Every failure is reported as the kind says, nothing is left behind, and a new
 * session works. */
void check_faults(const fault_driver *driver, const fault_work *w, const char *device, int kind, const rlx_graph *g);

/* Every call on a lost device reports the loss; a new acquire gets a working device at once. `lose` makes the next run
 * lose it, or ends that; the message then has `part`. */
void check_lost_device(const fault_work *w, const char *device, void (*lose)(bool is_on), const char *part);

/* ---- the host ---- */

/* Every allocation fails once while memory, pipelines and a program for a compiled graph are created and run. The
 * device is one that no other test has open, and which keeps no pipelines; it is released. */
void check_failing_host(const char *device, rlx_device *d);

/* Runs one test of this program (`listing_for_another_program`) in a fresh process, with one variable set (NULL:
 * removed) and RLX_TEST_PART set to `part`. Returns its exit status. */
int list_again(const char *program, const char *name, const char *value, const char *part);

#endif
