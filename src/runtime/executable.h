/* Internals of an executable: a graph, the values and bindings that the caller set, and one instance per set of sizes.
 *
 * If all sizes are known at compile time there is one instance, and values are written directly to its memory. With
 * open symbols, sizes follow from the shapes of written values: inputs are held on the host until a run. At that point
 * all sizes are known; the run finds or creates the instance and uploads the inputs that it does not have yet.
 *
 * The current instance, `now`, is not evicted. The others are entries of the session's cache of programs (cache.h) and
 * may be removed from the list at any time, under the cache's lock. All of them compute in one scratch, so only `now`
 * has values.
 *
 * `lock` is held by the caller that uses the executable; all other callers get RLX_BUSY. */
#ifndef RLX_RUNTIME_EXECUTABLE_H
#define RLX_RUNTIME_EXECUTABLE_H

#include "base/lock.h"
#include "runtime/instance.h"

/* An input, param or state of the source graph. */
typedef struct rlx_leaf {
  rlx_node node;
  rlx_op op;
  const char *name;
  bool has_shape; /* `shape` was set by a write or bind */
  rlx_dims shape;
  bool has_value;  /* of an input: written, bound or fed */
  rlx_tensor held; /* with open symbols: the written value */
  size_t held_cap;
  bool is_dirty;     /* of an input: held, not uploaded yet; of a state: written since the last run */
  rlx_node here;     /* node in the compiled graph; 0: unused */
  const void *bound; /* the caller's memory, or NULL */
  size_t bound_bytes;
  bool is_taken;   /* the instance's value was uploaded from `bound` */
  uint32_t fed_by; /* 1 + index of the output fed to it after a run; 0: none */
  uint64_t mark;   /* number of the last call that named it */
} rlx_leaf;

typedef struct rlx_result { /* an output */
  rlx_node here;
  void *bound;
  size_t bound_bytes;
  uint64_t mark;
} rlx_result;

typedef struct rlx_profile rlx_profile; /* profile.c */

struct rlx_executable {
  rlx_lock lock;
  rlx_session *session;
  rlx_weights *weights;
  rlx_states *states;
  rlx_compile_key key; /* sizes: those fixed at compile time, -1 for the others */
  int64_t *sizes;      /* the inferred sizes */
  bool no_cache, plan_only, is_open;
  bool has_states;
  rlx_leaf *leaves; /* sorted by node */
  size_t n_leaves;
  rlx_result *results; /* by output */
  size_t n_results;
  rlx_scratch *scratch;
  RLX_ARRAY(rlx_instance *) instances; /* under the cache's lock */
  rlx_instance *now;                   /* NULL until there is one */
  rlx_compiled *compiled;              /* likewise; that of `now`, or one without an instance yet */
  unsigned char *feed_staging;         /* host memory for feeds that overlap (feed.c); else NULL */
  rlx_block *ring;                     /* outputs of runs in flight (repeat.c); NULL until needed */
  rlx_block *download;                 /* outputs of a run in flight, in host memory (async.c); likewise */
  uint64_t mark;
  atomic_uint_least64_t draw;
  rlx_watch watch;
  rlx_budget budget; /* of the call that holds the lock */
  rlx_observe_fn observe;
  void *observe_user;
  rlx_profile *profile; /* NULL: off */
};

/* Acquires the lock and begins the call's budget. RLX_BUSY if another call holds the lock, RLX_INVALID if e is NULL.
 * Match with rlx_leave, which returns the status for the caller; after it the executable may be freed. */
rlx_status rlx_enter(rlx_executable *e, const char *call);
rlx_status rlx_leave(rlx_executable *e, rlx_status s);
/* The same for a call that also accesses the memory of states, if there are any (states.h). */
rlx_status rlx_enter_states(rlx_executable *e, const char *call);
rlx_status rlx_leave_states(rlx_executable *e, rlx_status s);
/* Acquire and release the lock for a query. Callbacks of the executable's own run may query too. No budget is begun. */
rlx_status rlx_enter_nested(const rlx_executable *e, const char *call);
void rlx_leave_nested(const rlx_executable *e);

/* rlx_compile for programs that share one scratch: they never run at the same time, and every input is written before
 * each run. An input or output of one is lost once another runs; reading it then fails. */
rlx_status rlx_compile_sharing(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options,
                               rlx_scratch *scratch, rlx_executable **out);

/* The queue for its work: that of its states, so that all executables that use them execute in order. */
rlx_queue *rlx_executable_queue(const rlx_executable *e);

/* Host memory, without instances and compiled graphs. */
uint64_t rlx_executable_host_bytes(const rlx_executable *e);

rlx_leaf *rlx_leaf_find(const rlx_executable *e, const char *name);
/* The index of an output, or UINT32_MAX. */
uint32_t rlx_result_find(const rlx_executable *e, const char *name);
/* Infers the sizes and makes the instance for them the current one. With plan_only no instance is created. */
rlx_status rlx_executable_resolve(rlx_executable *e, const rlx_watch *watch, bool plan_only);

/* values.c: writing and reading by name; the caller holds the lock. */
rlx_status rlx_value_check(const rlx_executable *e, const rlx_leaf *l, const rlx_tensor *v);
rlx_status rlx_value_write(rlx_executable *e, rlx_leaf *l, const rlx_tensor *v);
rlx_status rlx_values_upload(rlx_executable *e); /* held and bound inputs, to the instance */
/* rlx_result_room checks the capacity of out and sets its shape and bytes. rlx_result_read then reads, after a run. */
rlx_status rlx_result_room(const rlx_executable *e, uint32_t output, rlx_tensor *out);
rlx_status rlx_result_read(rlx_executable *e, uint32_t output, const rlx_tensor *out);
rlx_status rlx_results_download(rlx_executable *e); /* into bound memory */
/* Location of an output that is stored plain, with this many bytes; NULL: it is a packed weight. */
const rlx_arena_entry *rlx_result_entry(const rlx_executable *e, uint32_t output, size_t bytes);

/* feed.c */
rlx_status rlx_feeds_prepare(rlx_executable *e);
rlx_status rlx_feeds_run(rlx_executable *e);
/* If no feed needs the host, feeds can be submitted as copies after a submitted run. */
bool rlx_feeds_can_submit(const rlx_executable *e);
rlx_status rlx_feeds_submit(rlx_executable *e);

/* run.c: executes the steps of the current instance, which must be ready. */
typedef struct rlx_step_visitor {
  rlx_status (*before)(void *user, size_t step); /* may be NULL */
  rlx_status (*after)(void *user, size_t step);
  void *user;
} rlx_step_visitor;
rlx_status rlx_steps_run(rlx_executable *e, const rlx_step_visitor *visitor);
/* The same without waiting, if nothing has to be observed between the steps. rlx_steps_settle waits even if s is a
 * failure, unless the device is lost; it returns the failure of the wait, or else s. */
bool rlx_steps_can_submit(const rlx_executable *e);
rlx_status rlx_steps_submit(rlx_executable *e);
rlx_status rlx_steps_settle(rlx_executable *e, rlx_status s);
/* Checks the names of the outputs that a call reads: each exists and occurs once. */
rlx_status rlx_outputs_check(rlx_executable *e, const char *call, const rlx_named_tensor *outputs, size_t n);
/* Everything before the steps. Until rlx_run_end, weights that the run reads cannot be set. Call rlx_run_end unless it
 * failed. */
rlx_status rlx_run_begin(rlx_executable *e);
void rlx_run_end(rlx_executable *e);
/* rlx_run in two parts: first the inputs are written and the outputs described; then the run, its outputs and the
 * feeds. */
rlx_status rlx_run_prepare(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                           rlx_named_tensor *outputs, size_t n_outputs);
rlx_status rlx_run_prepared(rlx_executable *e, const rlx_named_tensor *outputs, size_t n_outputs);
/* Adds the range of executed nodes to the message of a failure that was detected only by waiting. */
rlx_status rlx_steps_frame(const rlx_executable *e, rlx_status s);
/* A run from rlx_run_begin to rlx_run_end. */
rlx_status rlx_run_whole(rlx_executable *e, const rlx_step_visitor *visitor);

/* profile.c */
void rlx_profile_destroy(rlx_profile *p);
rlx_status rlx_profile_begin(rlx_profile *p, const rlx_compiled *c); /* of a run; allocates for a new graph */
void rlx_profile_times(rlx_profile *p, uint64_t **begin_ns, uint64_t **end_ns); /* by step */
void rlx_profile_end(rlx_profile *p);
void rlx_profile_text(const rlx_profile *p, bool json, rlx_str *out);
void rlx_profile_trace(const rlx_profile *p, const rlx_device_info *d, rlx_str *out);

#endif
