/* Internal state of the importer, shared by import.c, value.c, cut.c, call.c, inner.c and symbolic.c. Op functions
 * use import.h. */
#ifndef RLX_ONNX_IMPORTER_H
#define RLX_ONNX_IMPORTER_H

#include <stdio.h>

#include "base/str.h"
#include "onnx/import.h"

/* A graph or function that is being imported. */
struct onnx_scope {
  onnx_scope *outer;  /* the enclosing scope for name lookup; NULL: none */
  onnx_scope *caller; /* resumed when this one ends */
  rlx_name_map names; /* to numbers in importer.values */
  const onnx_node *nodes;
  uint32_t n_nodes, at; /* at: the one being imported */
  const char *const *outputs;
  uint32_t n_outputs;
  const onnx_opset *opsets;
  uint32_t n_opsets;
  const onnx_function *function; /* and the node that calls it, in `caller`; NULL: a graph */
  const onnx_node *call;
  onnx_value *const *held;
  size_t n_held;
  int depth;
};

/* A loop body that is being imported as a sub-graph: inner.c. */
typedef struct onnx_inner {
  uint32_t n_outer;                 /* values with smaller indices belong to the outer graph and are captured on use */
  RLX_ARRAY(onnx_value *) captured; /* in the order of the inputs that they became */
  RLX_ARRAY(const void *) known;    /* of the outer graph */
} onnx_inner;

struct onnx_importer {
  rlx_onnx *m;
  const onnx_client *client;
  rlx_bump bump;
  rlx_graph *g;
  RLX_ARRAY(onnx_value *) values;
  RLX_ARRAY(const void *) known; /* bytes of nodes of g */
  RLX_ARRAY(bool) open;          /* which of them hold sizes: symbolic.c */
  RLX_ARRAY(rlx_blob *) blobs;   /* own the bytes of constants in `known` */
  rlx_node folded;               /* nodes below this have been folded if possible */
  onnx_scope *scope;             /* the innermost */
  onnx_inner *inner;             /* NULL: none */
  RLX_ARRAY(onnx_live) live;     /* all so far, by number */
  onnx_value *asked;             /* for ONNX_AGAIN */
  char why[256];                 /* the reason for the request */
  rlx_str refused;
  uint32_t n_refused;
  bool is_symbolic, needs_numbers; /* symbolic.c; needs_numbers: the symbolic import has failed */
  bool is_stopped;                 /* by a limit or the client: then a failure is not specific to a node */
  uint64_t n_imported, max_trips;
  uint32_t walk; /* number of the last walk that marked values */
};

/* import.c */
rlx_status onnx_stop(onnx_importer *imp,
                     rlx_status s); /* marks a failure that ends the import; passes RLX_OK through */
onnx_value *onnx_lookup(const onnx_importer *imp, const onnx_scope *s, const char *name);
/* call.c */
const onnx_attribute *onnx_find_in(const onnx_attribute *v, uint32_t n, const char *name);
/* attributes.c: RLX_UNSUPPORTED if the node has attributes that its op's function did not read; names all of them.
 * Called after the function. */
rlx_status onnx_check_attributes(const onnx_call *c);
/* Counts and lists in `out` the node's attributes that its op does not have in this opset, or that the model
 * function it calls (f, else NULL) does not declare. */
uint32_t onnx_list_foreign(const onnx_node *n, int64_t opset, const onnx_function *f, rlx_str *out);
/* value.c */
onnx_value *onnx_value_new(onnx_importer *imp); /* NULL: no memory; the error is set */
rlx_status onnx_fold_new(onnx_importer *imp);   /* folds the nodes added since the last call */
void onnx_take_known(onnx_importer *imp, onnx_value *v);
rlx_status onnx_know(onnx_importer *imp,
                     onnx_value *v); /* computes its bytes if they follow from constants and weights */
rlx_node onnx_value_node(onnx_importer *imp, onnx_value *v);
/* symbolic.c */
rlx_status onnx_need_numbers(onnx_importer *imp, const char *what); /* ends an import with symbols */
/* Fails where an input has open sizes and the op's function does not take them. */
rlx_status onnx_check_open(const onnx_call *c, bool takes_open);
/* A node of g with inputs that are known, some as sizes. *bytes NULL: the result is not known. */
rlx_status onnx_compute_sizes(onnx_importer *imp, const rlx_node_rec *n, const rlx_tensor *const *in,
                              const bool *is_open, const void **bytes, bool *result_is_open);
/* inner.c: adds an input of the body for a value of the outer graph. */
rlx_node onnx_capture(onnx_importer *imp, onnx_value *v);
/* cut.c */
rlx_status onnx_live_add(onnx_importer *imp, onnx_value *v, const char *name);
/* Ends the graph with all values that are used later as outputs and begins another. `also`: a value that must be
 * among them, or NULL. */
rlx_status onnx_cut(onnx_importer *imp, onnx_value *also, const char *why);
/* Ends the graph with the model's outputs. */
rlx_status onnx_finish(onnx_importer *imp);

#endif
