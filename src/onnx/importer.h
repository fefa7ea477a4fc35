/* The importer from the inside: what import.c, value.c, cut.c and call.c share. Functions of ops see import.h alone. */
#ifndef RLX_ONNX_IMPORTER_H
#define RLX_ONNX_IMPORTER_H

#include <stdio.h>

#include "base/str.h"
#include "onnx/import.h"

/* A graph or function that is being imported. */
struct onnx_scope {
  onnx_scope *outer;  /* whose names are seen; NULL: none's */
  onnx_scope *caller; /* that goes on when this one ends */
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

/* A body that is being imported as a graph of its own: inner.c. */
typedef struct onnx_inner {
  uint32_t n_outer;                 /* values from before it, which are captured where it reads them */
  RLX_ARRAY(onnx_value *) captured; /* in the order of the inputs that they became */
  RLX_ARRAY(const void *) known;    /* of the graph around it */
} onnx_inner;

struct onnx_importer {
  rlx_onnx *m;
  const onnx_client *client;
  rlx_bump bump;
  rlx_graph *g;
  RLX_ARRAY(onnx_value *) values;
  RLX_ARRAY(const void *) known; /* bytes of nodes of g */
  RLX_ARRAY(bool) open;          /* which of them hold sizes: symbolic.c */
  RLX_ARRAY(rlx_blob *) blobs;   /* of constants that known bytes lie in */
  rlx_node folded;               /* nodes before it have been tried */
  onnx_scope *scope;             /* the innermost */
  onnx_inner *inner;             /* NULL: none */
  RLX_ARRAY(onnx_live) live;     /* all so far, by number */
  onnx_value *asked;             /* for ONNX_AGAIN */
  char why[256];                 /* it is asked for */
  rlx_str refused;
  uint32_t n_refused;
  bool is_symbolic, needs_numbers; /* symbolic.c; the second: the import with symbols is given up */
  bool is_stopped;                 /* by a limit or by the client: what fails then is no matter of single nodes */
  uint64_t n_imported, max_trips;
  uint32_t walk; /* number of the last walk that marked values */
};

/* import.c */
rlx_status onnx_stop(onnx_importer *imp,
                     rlx_status s); /* a failure that ends the import at once; RLX_OK is passed on */
onnx_value *onnx_lookup(const onnx_importer *imp, const onnx_scope *s, const char *name);
/* call.c */
const onnx_attribute *onnx_find_in(const onnx_attribute *v, uint32_t n, const char *name);
/* attributes.c: RLX_UNSUPPORTED where the node has attributes that its op's function, which has been called, does not know; all are
 * named. */
rlx_status onnx_check_attributes(const onnx_call *c);
/* How many attributes the node has that its op does not have in this opset, or that the model's function which it calls (else NULL)
 * does not name; they are listed in `out`. */
uint32_t onnx_list_foreign(const onnx_node *n, int64_t opset, const onnx_function *f, rlx_str *out);
/* value.c */
onnx_value *onnx_value_new(onnx_importer *imp); /* NULL: no memory, told */
rlx_status onnx_fold_new(onnx_importer *imp);   /* computes what can be of the nodes since the last call */
void onnx_take_known(onnx_importer *imp, onnx_value *v);
rlx_status onnx_know(onnx_importer *imp, onnx_value *v); /* its bytes, if no run is needed for them */
rlx_node onnx_value_node(onnx_importer *imp, onnx_value *v);
/* symbolic.c */
rlx_status onnx_need_numbers(onnx_importer *imp, const char *what); /* ends an import with symbols */
/* Fails where an input has open sizes and the op's function does not take them. */
rlx_status onnx_check_open(const onnx_call *c, bool takes_open);
/* A node of g with inputs that are known, some as sizes. *bytes NULL: the result is not known. */
rlx_status onnx_compute_sizes(onnx_importer *imp, const rlx_node_rec *n, const rlx_tensor *const *in,
                              const bool *is_open, const void **bytes, bool *result_is_open);
/* inner.c: an input of the body that stands for a value of the graphs around it. */
rlx_node onnx_capture(onnx_importer *imp, onnx_value *v);
/* cut.c */
rlx_status onnx_live_add(onnx_importer *imp, onnx_value *v, const char *name);
/* Ends the graph with what is used later as outputs, and begins another. `also`: what must be among them, or NULL. */
rlx_status onnx_cut(onnx_importer *imp, onnx_value *also, const char *why);
/* Ends it with the model's outputs. */
rlx_status onnx_finish(onnx_importer *imp);

#endif
