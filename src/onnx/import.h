/* The importer: converts an ONNX model, for given input sizes, to graphs of RLX ops.
 *
 * It visits the nodes in order and calls one function per ONNX op (table: ops.def), which adds RLX nodes to the
 * graph under construction. Values that follow from sizes and small constants are computed during the import. So the
 * shape arithmetic that exporters write disappears: a function that needs a shape, an axis or a length gets numbers.
 * Sizes are numbers, or symbols where the import makes a template (symbolic.c).
 *
 * If a function needs a value that depends on input data, the graph is cut. The part built so far ends with all
 * values that are used later as outputs, the client runs it, and a new graph begins in which they are inputs and the
 * needed value is known. Ops whose result size depends on data (NonZero) are host steps between two graphs. If reads
 * its condition and imports one branch. Loop and Scan import their body once per iteration, or as one sub-graph if
 * its shapes are constant and it is cheap (inner.c).
 *
 * The import is deterministic: the same model, sizes and values give the same graphs. The runner relies on this. */
#ifndef RLX_ONNX_IMPORT_H
#define RLX_ONNX_IMPORT_H

#include "ir/algebra.h"
#include "onnx/model.h"

/* ---- values ---- */

typedef struct onnx_value {
  onnx_type type;            /* its element type in ONNX */
  rlx_type is;               /* what carries it, and its shape */
  rlx_node node;             /* in the graph being built; 0: not there yet */
  const void *known;         /* its bytes; NULL: not known */
  bool is_open;              /* they are i64 elements of which some are size codes: symbolic.c */
  const onnx_tensor *weight; /* in a file; NULL: not */
  const char *leaf;          /* the name of its input or param */
  uint32_t live;             /* 1 + its number among the values that go from graph to graph; 0: it does not */
  bool refused;              /* it could not be imported; nothing that reads it can */
  uint32_t mark;             /* of a walk for what is used later */
  uint32_t index;            /* among the importer's values */
} onnx_value;

/* Arguments of a host step. The step allocates out[i].data with rlx_mem_alloc and sets type and shape. */
typedef struct onnx_host_call {
  const rlx_tensor *in;
  uint32_t n_in; /* absent ones have no data and dtype RLX_DTYPE_UNKNOWN */
  rlx_tensor *out;
  uint32_t n_out;
  const int64_t *p; /* numbers that follow from the op's attributes, ONNX_HOST_NUMBERS of them */
} onnx_host_call;
typedef rlx_status (*onnx_host_fn)(onnx_host_call *c);
enum { ONNX_HOST_NUMBERS = 6, ONNX_HOST_MAX = 6 /* inputs, and outputs */ };

/* ---- the client: runs graphs and provides values ---- */

/* A value passed between graphs. Numbers are assigned to model inputs first, then to results in order of appearance. */
typedef struct onnx_live {
  const char *leaf;
  uint32_t number;
} onnx_live;

typedef struct onnx_client {
  void *user;
  /* A graph is complete. in: the live values it reads; out: its outputs. `why`: the reason for the cut; NULL: the
   * model ends here. Returning RLX_CANCELLED stops the import. */
  rlx_status (*graph)(void *user, rlx_graph *g, const onnx_live *in, size_t n_in, const onnx_live *out, size_t n_out,
                      const char *why);
  /* The bytes of a live value, computed by an earlier graph. They must stay valid until the import ends. */
  rlx_status (*value)(void *user, uint32_t live, const void **bytes);
  /* A host step. in[i] is a live value's number + 1, or 0 for the tensor known[i]. The client sets the types of the
   * outputs, which are live values from number `first` on. */
  rlx_status (*host)(void *user, onnx_host_fn fn, const int64_t *p, const uint32_t *in, const rlx_tensor *known,
                     uint32_t n_in, uint32_t first, rlx_type *out, uint32_t n_out, const char *why);
  bool no_loops; /* control flow would run on the host: unroll every loop */
} onnx_client;

typedef struct onnx_input {
  const char *name;
  rlx_type type;                /* as given by the caller; converted to the carrier of the declared type */
  uint8_t symbol[RLX_MAX_RANK]; /* by axis: 0 a number, else the symbol's number from 1 on, with this size as sample */
} onnx_input;

/* Imports the model for inputs of these types, in any order: one for each model input that has no default or is
 * given. */
/* If axes are symbols, the client gets a template graph (symbolic.c). The import fails if it needs a number. */
rlx_status onnx_import(rlx_onnx *m, const onnx_input *inputs, size_t n, uint64_t max_trips, const onnx_client *client);

/* ---- interface for op functions ---- */

typedef struct onnx_importer onnx_importer;
typedef struct onnx_scope onnx_scope;

typedef struct onnx_call {
  onnx_importer *imp;
  onnx_scope *scope;
  const onnx_node *node;
  int64_t opset; /* of the node's domain */
  rlx_graph *g;
  onnx_value **in; /* NULL: left out */
  onnx_value **out;
  uint32_t n_in, n_out;
  bool *asked; /* per attribute of the node: whether the function has read it */
} onnx_call;

typedef rlx_status (*onnx_op_fn)(onnx_call *c);
typedef struct onnx_op_row {
  const char *domain, *name;
  int since, until;       /* versions of the domain's opset; until 0: the newest */
  uint8_t min_in, max_in; /* 255: any number */
  onnx_op_fn fn;
  bool takes_open; /* sizes that are symbols: symbolic.c */
} onnx_op_row;
const onnx_op_row *onnx_op_find(const char *domain, const char *name, int64_t opset);
size_t onnx_op_rows(const onnx_op_row **rows);

/* Returned by a function that needs a value that is not known: the graph is cut and the function called again. */
#define ONNX_AGAIN RLX_STATUS_COUNT

/* Inputs. A function must request all values it needs known before it adds nodes. */
static inline bool onnx_has(const onnx_call *c, uint32_t i) { return i < c->n_in && c->in[i]; }
rlx_node onnx_in(onnx_call *c, uint32_t i); /* 0: left out */
rlx_dims onnx_shape(const onnx_call *c, uint32_t i);
rlx_dtype onnx_dtype(const onnx_call *c, uint32_t i);
onnx_type onnx_in_type(const onnx_call *c, uint32_t i);
static inline int onnx_rank(const onnx_call *c, uint32_t i) { return onnx_shape(c, i).n; }
rlx_node onnx_node_of(onnx_call *c, onnx_value *v);

/* Known values of inputs. Each returns RLX_OK, ONNX_AGAIN or a failure. A missing input is a failure. */
typedef struct onnx_ints {
  const int64_t *v;
  size_t n;
} onnx_ints;
rlx_status onnx_need(onnx_call *c, uint32_t i, rlx_tensor *out);
rlx_status onnx_need_ints(onnx_call *c, uint32_t i, onnx_ints *out); /* of any integer type */
rlx_status onnx_need_int(onnx_call *c, uint32_t i, int64_t *out);    /* the one element */
rlx_status onnx_need_dims(onnx_call *c, uint32_t i, rlx_dims *out);  /* at most RLX_MAX_RANK numbers */
rlx_status onnx_need_number(onnx_call *c, uint32_t i, double *out);  /* the one element, of any real type */
rlx_status onnx_need_bool(onnx_call *c, uint32_t i, bool *out);
bool onnx_is_known(onnx_call *c, uint32_t i); /* never cuts the graph */
/* The same for sizes that may be open. Only functions of ops marked OPEN in ops.def may call these. */
rlx_status onnx_need_sizes(onnx_call *c, uint32_t i, onnx_ints *out);
rlx_status onnx_need_shape(onnx_call *c, uint32_t i, rlx_dims *out); /* at most RLX_MAX_RANK sizes */
/* Decisions on sizes that may be open (symbolic.c); arithmetic on them: rlx_size_*. */
bool onnx_less(onnx_call *c, int64_t a, int64_t b);
bool onnx_equal(onnx_call *c, int64_t a, int64_t b);
bool onnx_same_shape(onnx_call *c, const rlx_dims *a, const rlx_dims *b);

/* Attributes. Each fails if the attribute has another type. Reading or testing an attribute marks it as known to the
 * function; a node with an attribute that its function did not read is refused (attributes.c). */
const onnx_attribute *onnx_attribute_find(const onnx_call *c, const char *name); /* NULL: not there */
bool onnx_has_attribute(const onnx_call *c, const char *name);
/* Marks attributes (names separated by blanks) that have no effect on the path the function has taken. */
void onnx_pass_over(const onnx_call *c, const char *names);
rlx_status onnx_int(const onnx_call *c, const char *name, int64_t fallback, int64_t *out);
rlx_status onnx_flag(const onnx_call *c, const char *name, bool fallback, bool *out); /* an int that is 0 or 1 */
rlx_status onnx_float(const onnx_call *c, const char *name, double fallback, double *out);
rlx_status onnx_text_of(const onnx_call *c, const char *name, const char *fallback, const char **out);
/* Which of the words (ended by NULL) it is; fails at any other. The first is the fallback. */
rlx_status onnx_word(const onnx_call *c, const char *name, const char *const *words, int *out);
rlx_status onnx_ints_of(const onnx_call *c, const char *name, onnx_ints *out); /* none: n 0 */
rlx_status onnx_dims_of(const onnx_call *c, const char *name, rlx_dims *out);  /* at most RLX_MAX_RANK */
rlx_status onnx_floats_of(const onnx_call *c, const char *name, const double **v, size_t *n);
rlx_status onnx_graph_of(const onnx_call *c, const char *name, const onnx_graph **out);
/* Axes that may count from the end, as 0 .. rank-1; fails outside, and at one that comes twice. */
rlx_status onnx_axis(const onnx_call *c, int64_t axis, int rank, int *out);
rlx_status onnx_axes(const onnx_call *c, rlx_dims *axes, int rank);

/* Results. */
rlx_status onnx_set(onnx_call *c, uint32_t i, rlx_node n);                     /* of the type that is stored so */
rlx_status onnx_set_as(onnx_call *c, uint32_t i, rlx_node n, onnx_type type);  /* u16, u64, .. in their carrier */
rlx_status onnx_set_like(onnx_call *c, uint32_t i, rlx_node n, uint32_t like); /* of the type of an input */
rlx_status onnx_set_ints(onnx_call *c, uint32_t i, const int64_t *v, size_t n, bool is_scalar);  /* i64, known */
rlx_status onnx_set_sizes(onnx_call *c, uint32_t i, const int64_t *v, size_t n, bool is_scalar); /* may be open */
rlx_status onnx_value_make(onnx_call *c, rlx_node n, onnx_type type, onnx_value **out);          /* of no output */
void onnx_set_value(onnx_call *c, uint32_t i, onnx_value *v);                                    /* the very value */
static inline bool onnx_wants(const onnx_call *c, uint32_t i) { return i < c->n_out && *c->node->out[i]; }
/* A tensor of the file as a value: a constant if it is small, else a param. */
rlx_status onnx_value_from_tensor(onnx_importer *imp, const onnx_tensor *t, const char *name, onnx_value **out);
/* A sparse tensor of the file, written out dense. */
rlx_status onnx_value_from_sparse(onnx_importer *imp, const onnx_sparse *s, onnx_value **out);
/* A value of memory that the importer owns. */
rlx_status onnx_value_known(onnx_importer *imp, onnx_type type, const rlx_tensor *t, onnx_value **out);
/* Fails with RLX_UNSUPPORTED and the reason. The import continues with other nodes, so that all refused nodes are
 * reported. */
rlx_status onnx_refuse(onnx_call *c, const char *fmt, ...) RLX_PRINTF(2, 3);
/* Runs on the host once its inputs are there; results have the sizes that come out. */
rlx_status onnx_on_host(onnx_call *c, onnx_host_fn fn, const int64_t p[ONNX_HOST_NUMBERS]);
rlx_onnx *onnx_model_of(onnx_importer *imp);
/* Memory as long as the import. NULL: none. */
void *onnx_alloc(onnx_importer *imp, size_t count, size_t size);

/* ---- graphs inside: control.c, import.c ---- */

typedef struct onnx_body {
  const onnx_graph *graph;
  onnx_value *const *in; /* values of its inputs */
  uint32_t n_in;
  onnx_value **out; /* values of its outputs */
  uint32_t n_out;
  /* Values that must survive a cut although no name refers to them: what a loop holds. */
  onnx_value *const *held;
  size_t n_held;
} onnx_body;
/* Imports a sub-graph in place: names of the graphs around it are seen. */
rlx_status onnx_import_body(onnx_call *c, const onnx_body *b);
/* The value known, now: for functions that hold no nodes. Cuts the graph where it must. */
rlx_status onnx_force(onnx_call *c, onnx_value *v, const char *why, rlx_tensor *out);
/* The same where values that no name leads to must outlive a cut. */
rlx_status onnx_force_holding(onnx_call *c, onnx_value *v, const char *why, onnx_value *const *held, size_t n_held,
                              rlx_tensor *out);
uint64_t onnx_max_trips(const onnx_call *c);

#endif
