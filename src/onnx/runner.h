/* Internal state of a runner: the tree of steps (runner.c), templates (template.c), inputs and the single graph
 * (graph.c). */
#ifndef RLX_ONNX_RUNNER_H
#define RLX_ONNX_RUNNER_H

#include "base/lock.h"
#include "onnx/import.h"
#include "ref/eval.h"
#include "runtime/executable.h"

typedef enum onnx_step_kind { ONNX_STEP_GRAPH, ONNX_STEP_VALUE, ONNX_STEP_HOST } onnx_step_kind;

/* A leaf or output of a graph and the live value connected to it. */
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
  bool is_last; /* its outputs are the model's outputs */
  /* the value that is read, or the first output of a host step */
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
  rlx_cached cached; /* the path of the last run is in use: its parts may be queried */
  rlx_onnx_runner *runner;
  struct onnx_path *next; /* under the cache's lock */
  onnx_branch root;       /* its key: the sizes */
  uint64_t bytes;         /* of its steps, without compiled graphs and instances, which the cache counts itself */
} onnx_path;

/* A model imported with symbols (template.c). */
typedef struct onnx_template onnx_template;

typedef struct onnx_box {
  rlx_tensor tensor;
  void *own; /* NULL: the caller owns the bytes */
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
  RLX_ARRAY(rlx_scratch *) scratch; /* [i]: of graph i of every path */
  size_t n_graphs;                  /* graphs visited by the importer in this run */
  RLX_ARRAY(onnx_box) live;
  RLX_ARRAY(int64_t) key; /* of this run's inputs */
  RLX_ARRAY(onnx_step *) parts;
  onnx_box *outputs;
  onnx_input *given;
  uint32_t n_given;
  onnx_input *first; /* inputs of the first run; NULL: none yet */
  uint32_t n_first;
  RLX_ARRAY(onnx_template *) templates;
  uint32_t n_refused_templates; /* symbolic imports that failed */
  onnx_branch *at;              /* position of the importer */
  size_t n_done, n_met;         /* steps of this run that were executed; visited by the importer */
  size_t n_kept;                /* steps visited while importing since the tree was empty */
  uint64_t n_compiled;
  bool has_run;
};

/* template.c. Imports with symbols for the sizes in which the inputs (n each) differ. Fails if that needs numbers,
 * or if the inputs differ in more than sizes. */
rlx_status onnx_template_make(rlx_onnx *m, const onnx_input *first, const onnx_input *now, size_t n, uint64_t max_trips,
                              bool no_loops, onnx_template **out);
void onnx_template_destroy(onnx_template *t);
/* Binds the template for these inputs; RLX_INVALID: it does not fit them. */
rlx_status onnx_template_bind(const onnx_template *t, const onnx_input *inputs, size_t n, rlx_graph **out);
typedef struct onnx_leaves {
  const onnx_live *in, *out;
  size_t n_in, n_out;
} onnx_leaves;
onnx_leaves onnx_template_leaves(const onnx_template *t);

/* graph.c */
rlx_status onnx_check_input(const onnx_value_info *d, const rlx_tensor *t);
/* Converts the tensor to the carrier of the declared type: the tensor itself, or a copy in the box's memory. */
rlx_status onnx_convert_input(const onnx_value_info *d, const rlx_tensor *t, onnx_box *out);

#endif
