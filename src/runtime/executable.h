/* An executable from inside: a graph with what the caller said about it, and instances of it by size.
 *
 * Where all sizes are known when it is compiled there is one instance, and values go straight to its memory. Where
 * symbols are open, sizes follow from the shapes of what is written: inputs are held on the host until a run, which knows
 * all of them, finds or makes the instance and gives it what it has not seen yet.
 *
 * The instance in use, `now`, stays; the others are kept in the session's cache of programs (cache.h), and may be taken out of the
 * list at any time, under the cache's lock. All of them compute in one scratch, so only `now` has values.
 *
 * `lock` is held by whoever uses the executable; all others are told that it is busy. */
#ifndef RLX_RUNTIME_EXECUTABLE_H
#define RLX_RUNTIME_EXECUTABLE_H

#include "base/lock.h"
#include "runtime/instance.h"

/* An input, param or state of the graph as given. */
typedef struct rlx_leaf {
  rlx_node node;
  rlx_op op;
  const char *name;
  bool has_shape; /* `shape` was given by a write or bind */
  rlx_dims shape;
  bool has_value;  /* of an input: written, bound or fed */
  rlx_tensor held; /* where symbols are open: what was written */
  size_t held_cap;
  bool is_dirty;     /* held, and the instance has not seen it */
  rlx_node here;     /* in the graph that runs; 0: nothing needs it */
  const void *bound; /* the caller's memory, or NULL */
  size_t bound_bytes;
  bool is_taken;   /* what the instance has came from there */
  uint32_t fed_by; /* 1 + the output that goes here after a run; 0: none */
  uint64_t mark;   /* of the call that named it last */
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
  rlx_compile_key key; /* sizes: those that were fixed when it was compiled, -1 for the others */
  int64_t *sizes;      /* room to work sizes out */
  bool no_cache, plan_only, is_open;
  rlx_leaf *leaves; /* by node */
  size_t n_leaves;
  rlx_result *results; /* by output */
  size_t n_results;
  rlx_scratch *scratch;
  RLX_ARRAY(rlx_instance *) instances; /* under the cache's lock */
  rlx_instance *now;                   /* NULL until there is one */
  rlx_compiled *compiled;              /* likewise; of `now`, or without memory yet */
  unsigned char *feed_staging;         /* where feeds read what others write; else NULL */
  rlx_block *ring;                     /* outputs of runs that are not waited for (repeat.c); NULL until needed */
  rlx_block *download;                 /* host memory for outputs of a run in flight (async.c); likewise */
  uint64_t mark;
  atomic_uint_least64_t draw;
  rlx_watch watch;
  rlx_budget budget; /* of the call whose turn it is */
  rlx_observe_fn observe;
  void *observe_user;
  rlx_profile *profile; /* NULL: off */
};

/* Takes the turn and opens the call's budget, or says that the executable is busy (or NULL): match with rlx_leave, which gives the
 * status as the caller sees it, and after which the executable may be gone. */
rlx_status rlx_enter(rlx_executable *e, const char *call);
rlx_status rlx_leave(rlx_executable *e, rlx_status s);
/* Looking is for callbacks of its own run too, and takes nothing: it has no budget. */
rlx_status rlx_look(const rlx_executable *e, const char *call);
void rlx_look_away(const rlx_executable *e);

/* rlx_compile for programs that never run at the same time and have each input written before each run: they compute in one scratch.
 * An input or output of one is gone once another runs, and says so. */
rlx_status rlx_compile_sharing(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options,
                               rlx_scratch *scratch, rlx_executable **out);

/* Where its work is submitted: the queue of its states, so that all who use them are in order. */
rlx_queue *rlx_executable_queue(const rlx_executable *e);

/* Of the host, without instances and what was compiled. */
uint64_t rlx_executable_host_bytes(const rlx_executable *e);

rlx_leaf *rlx_leaf_find(const rlx_executable *e, const char *name);
/* The index of an output, or UINT32_MAX. */
uint32_t rlx_result_find(const rlx_executable *e, const char *name);
/* Works out the sizes and makes the instance for them the current one, with its memory unless only the plan is asked. */
rlx_status rlx_executable_resolve(rlx_executable *e, const rlx_watch *watch, bool plan_only);

/* values.c: writing and reading by name; the turn is taken. */
rlx_status rlx_value_check(const rlx_executable *e, const rlx_leaf *l, const rlx_tensor *v);
rlx_status rlx_value_write(rlx_executable *e, rlx_leaf *l, const rlx_tensor *v);
rlx_status rlx_values_upload(rlx_executable *e); /* what is held or bound, into the instance */
/* Checks the room in out, and fills in shape and bytes; then reads, after a run. */
rlx_status rlx_result_room(const rlx_executable *e, uint32_t output, rlx_tensor *out);
rlx_status rlx_result_read(rlx_executable *e, uint32_t output, const rlx_tensor *out);
rlx_status rlx_results_download(rlx_executable *e); /* into bound memory */
/* Where an output lies, with so many bytes as stored; NULL: it is a weight that is packed. */
const rlx_arena_entry *rlx_result_entry(const rlx_executable *e, uint32_t output, size_t bytes);

/* feed.c */
rlx_status rlx_feeds_prepare(rlx_executable *e);
rlx_status rlx_feeds_run(rlx_executable *e);
/* Where no feed needs the host: and by copies behind a run that was sent. */
bool rlx_feeds_can_submit(const rlx_executable *e);
rlx_status rlx_feeds_submit(rlx_executable *e);

/* run.c: the steps of the current instance, which is ready. */
typedef struct rlx_step_visitor {
  rlx_status (*before)(void *user, size_t step); /* may be NULL */
  rlx_status (*after)(void *user, size_t step);
  void *user;
} rlx_step_visitor;
rlx_status rlx_steps_run(rlx_executable *e, const rlx_step_visitor *visitor);
/* The same without waiting, where nothing has to be seen on the way: rlx_steps_settle waits, whatever has failed since, and
 * passes the status on, or says what it found. */
bool rlx_steps_can_submit(const rlx_executable *e);
rlx_status rlx_steps_submit(rlx_executable *e);
rlx_status rlx_steps_settle(rlx_executable *e, rlx_status s);
/* Names that a call wants to read: outputs of the graph, each once. */
rlx_status rlx_outputs_check(rlx_executable *e, const char *call, const rlx_named_tensor *outputs, size_t n);
/* Everything before the steps. While it holds, weights that the run reads cannot be set: rlx_run_end, unless it failed. */
rlx_status rlx_run_begin(rlx_executable *e);
void rlx_run_end(rlx_executable *e);
/* rlx_run in two parts: inputs written and outputs described; then the run, its outputs and the feeds. */
rlx_status rlx_run_prepare(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                           rlx_named_tensor *outputs, size_t n_outputs);
rlx_status rlx_run_prepared(rlx_executable *e, const rlx_named_tensor *outputs, size_t n_outputs);
/* Names the steps that ran, for a failure that was found only by waiting. */
rlx_status rlx_steps_frame(const rlx_executable *e, rlx_status s);
/* A run from begin to end. */
rlx_status rlx_run_whole(rlx_executable *e, const rlx_step_visitor *visitor);

/* profile.c */
void rlx_profile_destroy(rlx_profile *p);
rlx_status rlx_profile_begin(rlx_profile *p, const rlx_compiled *c); /* a run; makes room where the graph is new */
void rlx_profile_times(rlx_profile *p, uint64_t **begin_ns, uint64_t **end_ns); /* by step */
void rlx_profile_end(rlx_profile *p);
void rlx_profile_text(const rlx_profile *p, bool json, rlx_str *out);
void rlx_profile_trace(const rlx_profile *p, const rlx_device_info *d, rlx_str *out);

#endif
