/* A runner from the inside: the tree of steps (runner.c), inputs and the single graph (graph.c). */
#ifndef RLX_ONNX_RUNNER_H
#define RLX_ONNX_RUNNER_H

#include "base/lock.h"
#include "onnx/import.h"
#include "ref/eval.h"
#include "runtime/executable.h"

typedef enum onnx_step_kind { ONNX_STEP_GRAPH, ONNX_STEP_VALUE, ONNX_STEP_HOST } onnx_step_kind;

/* A leaf of a graph, and which value goes there or comes from there. */
typedef struct onnx_link {
  char *leaf;
  uint32_t number;
} onnx_link;

typedef struct onnx_step onnx_step;
typedef struct onnx_branch {
  void *key;
  size_t key_bytes;
  onnx_step *step;
  struct onnx_branch *sibling;
} onnx_branch;

struct onnx_step {
  onnx_step_kind kind;
  char *why;
  onnx_branch *branches;
  /* a graph */
  rlx_executable *executable;
  RLX_ARRAY(onnx_link) links; /* inputs, then outputs */
  size_t n_links_in;
  bool is_last; /* its outputs are the model's */
  /* a value that is looked at, or the first that a step of the host makes */
  uint32_t first;
  /* a step of the host */
  onnx_host_fn fn;
  int64_t p[ONNX_HOST_NUMBERS];
  uint32_t in[ONNX_HOST_MAX]; /* a live value's number + 1; 0: known, or left out */
  rlx_tensor known[ONNX_HOST_MAX];
  uint32_t n_in, n_out;
};

/* All that was compiled for one set of input sizes. */
typedef struct onnx_path {
  rlx_cached cached; /* one path is in use: that of the last run, whose parts may be looked at */
  rlx_onnx_runner *runner;
  struct onnx_path *next; /* under the cache's lock */
  onnx_branch root;       /* its key: the sizes */
  uint64_t bytes;         /* of its steps, but for what the cache counts by itself: compiled graphs and instances */
} onnx_path;

/* A model imported with symbols: one graph for many sizes (template.c). */
typedef struct onnx_template onnx_template;

typedef struct onnx_box {
  rlx_tensor tensor;
  void *own; /* NULL: the bytes are the caller's */
  size_t cap;
} onnx_box;

struct rlx_onnx_runner {
  rlx_lock lock;
  rlx_session *session;
  rlx_onnx *model;
  rlx_weights *weights;
  rlx_onnx_options options;
  char *without;
  onnx_path *paths, *path;          /* all, and the one in use; NULL: none */
  RLX_ARRAY(rlx_scratch *) scratch; /* of the first graph of every path, of the second .. */
  size_t n_graphs;                  /* that the importer has come by in this run */
  RLX_ARRAY(onnx_box) live;
  RLX_ARRAY(int64_t) key; /* of this run's inputs */
  RLX_ARRAY(onnx_step *) parts;
  onnx_box *outputs;
  onnx_input *given;
  uint32_t n_given;
  onnx_input *first; /* the inputs of the first run that imported; NULL: none yet */
  uint32_t n_first;
  RLX_ARRAY(onnx_template *) templates;
  uint32_t n_refused_templates; /* imports with symbols that needed numbers */
  onnx_branch *at;              /* where the importer is */
  size_t n_done, n_met;         /* steps of this run that were done, and that the importer has come by */
  size_t n_kept;                /* steps come by while importing since the tree was empty */
  uint64_t n_compiled;
  bool has_run;
};

/* template.c. Imports with symbols for the sizes in which the inputs (n each) differ. Fails where that needs numbers, or where
 * the inputs differ in more than sizes. */
rlx_status onnx_template_make(rlx_onnx *m, const onnx_input *first, const onnx_input *now, size_t n, uint64_t max_trips,
                              bool no_loops, onnx_template **out);
void onnx_template_destroy(onnx_template *t);
/* The graph for these inputs, and what its leaves are, which stays the template's; RLX_INVALID: it is none for them. */
rlx_status onnx_template_bind(const onnx_template *t, const onnx_input *inputs, size_t n, rlx_graph **out);
typedef struct onnx_leaves {
  const onnx_live *in, *out;
  size_t n_in, n_out;
} onnx_leaves;
onnx_leaves onnx_template_leaves(const onnx_template *t);

/* graph.c */
rlx_status onnx_check_input(const onnx_value_info *d, const rlx_tensor *t);
/* The tensor as what carries the declared type: itself, or converted into the box's own memory. */
rlx_status onnx_convert_input(const onnx_value_info *d, const rlx_tensor *t, onnx_box *out);

#endif
