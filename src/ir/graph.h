/* The graph: an append-only list of nodes.
 *
 * Nodes are numbered from 1; 0 is no node. A node's inputs are earlier nodes, so the list is in topological order and
 * every traversal is a loop, never a recursion. Names, inputs and attributes live in the graph's bump allocator. A
 * finished graph does not change. Graphs and constants' bytes are reference-counted, because graphs derived by passes
 * and sub-graph attributes share them.
 *
 * A public rlx_node has its graph's serial in the high 32 bits (rlx.h). Inside the library a node is its number alone:
 * a graph that the library builds has no serial until it is finished, and records, outputs and maps hold numbers.
 * Public nodes are translated only in rlx_graph_add, rlx_graph_add_output, the queries of rlx.h, and what an executable
 * reports (rlx_node_of). */
#ifndef RLX_IR_GRAPH_H
#define RLX_IR_GRAPH_H

#include <stdatomic.h>

#include "base/array.h"
#include "base/bump.h"
#include "ir/op.h"
#include "ir/shape.h"

#define RLX_MAX_DEPTH 16 /* nesting of sub-graphs */

struct rlx_blob {
  atomic_uint refs;
  size_t bytes;
  unsigned char *data; /* directly after this header */
};

typedef struct rlx_node_rec {
  rlx_op op;
  uint32_t n_in;
  const rlx_node *in; /* 0: an absent optional input */
  const void *attrs;  /* rlx_attrs_<op>, never NULL */
  rlx_type type;
} rlx_node_rec;

typedef struct rlx_output_rec {
  const char *name;
  rlx_node node;
} rlx_output_rec;

/* A hash map from names to numbers, with open addressing. */
typedef struct rlx_name_map {
  struct rlx_name_entry {
    const char *name;
    uint32_t value;
  } * v;
  size_t n, cap;
  uint64_t seed;
} rlx_name_map;

typedef struct rlx_algebra rlx_algebra; /* arithmetic on symbols (algebra.h) */

struct rlx_graph {
  atomic_uint refs;
  uint32_t serial; /* the high 32 bits of its nodes; 0 while the library builds it */
  rlx_bump bump;
  RLX_ARRAY(rlx_node_rec) nodes; /* [0] is the null node */
  RLX_ARRAY(rlx_output_rec) outputs;
  RLX_ARRAY(const char *) symbols;
  rlx_algebra *algebra; /* NULL: a size that follows from symbols is unknown until bind */
  rlx_name_map leaf_names, output_names;
  uint32_t depth; /* nesting: 0, or one more than the deepest sub-graph's */
  bool finished;
  atomic_uint_least64_t hash; /* of a finished graph, once computed; 0 before */
  rlx_status error;           /* the builder's first error, and its message */
  char message[512];
};

static inline const rlx_node_rec *rlx_graph_at(const rlx_graph *g, rlx_node id) { return &g->nodes.v[(uint32_t)id]; }
static inline uint32_t rlx_graph_end(const rlx_graph *g) { return (uint32_t)g->nodes.n; } /* ids are 1 .. end-1 */

/* rlx_node_of: the public node of a number. rlx_node_is_of: whether a node belongs to the graph, or is a plain
 * number. */
static inline rlx_node rlx_node_of(const rlx_graph *g, rlx_node number) {
  return number ? (rlx_node)g->serial << 32 | (uint32_t)number : RLX_NONE;
}
static inline bool rlx_node_is_of(const rlx_graph *g, rlx_node n) { return n >> 32 == g->serial || n >> 32 == 0; }

/* Creates a graph for use inside the library: its nodes are plain numbers. */
rlx_status rlx_graph_begin(rlx_graph **out);
/* The number of an input, param or state; 0 if there is none. */
rlx_node rlx_graph_leaf(const rlx_graph *g, const char *name);

/* The attributes of a node as their struct: RLX_ATTRS(softmax, node)->axis. */
#define RLX_ATTRS(op_name, node) ((const rlx_attrs_##op_name *)(node)->attrs)

/* How often each value is read, by live nodes and by outputs, plus one if the node has an effect; 0 means dead. uses
 * has rlx_graph_end entries, zeroed. Returns the maximum number of inputs of any node. */
uint32_t rlx_graph_count_uses(const rlx_graph *g, uint32_t *uses);

/* Creates every node: checks, infers, appends. attrs may be NULL for the defaults. 0 on failure (sticky). */
rlx_node rlx_graph_add(rlx_graph *g, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs);
/* Appends a copy of a node of another graph, with inputs translated by map (old id -> new id); copy_with also takes
 * other attributes. Both graphs must have the same symbols, or the node's sizes must be numbers. */
rlx_node rlx_graph_copy_node(rlx_graph *g, const rlx_graph *from, rlx_node id, const rlx_node *map);
rlx_node rlx_graph_copy_with(rlx_graph *g, const rlx_node_rec *n, const void *attrs, const rlx_node *map);
rlx_status rlx_graph_copy_outputs(rlx_graph *g, const rlx_graph *from, const rlx_node *map);
/* Records a builder error, with the thread's message, unless there is one already. Returns RLX_NONE. */
rlx_node rlx_graph_set_error(rlx_graph *g, rlx_status status);
/* Replaces "$0" in the thread's message by the name of g's symbol 0, and so on. Returns `status`. */
rlx_status rlx_graph_name_symbols(const rlx_graph *g, rlx_status status);
rlx_graph *rlx_graph_retain(const rlx_graph *g);

rlx_blob *rlx_blob_create(size_t bytes); /* not cleared; one reference */
rlx_blob *rlx_blob_retain(rlx_blob *b);
void rlx_blob_release(rlx_blob *b);

bool rlx_name_map_get(const rlx_name_map *m, const char *name, uint32_t *value);
bool rlx_name_map_put(rlx_name_map *m, const char *name,
                      uint32_t value); /* name must outlive the map; false: no memory */
void rlx_name_map_deinit(rlx_name_map *m);

/* Attributes, driven by the op's field table (attrs.c). */
static inline void *rlx_attr_at(const void *attrs, const rlx_attr_field *f) {
  return (char *)(uintptr_t)attrs + f->offset;
}
/* Whether a node does more than move elements, and its own type or an input's is in the set. */
bool rlx_graph_computes_with(const rlx_graph *g, const rlx_node_rec *n, rlx_type_set types);
/* The field of this name (n bytes), NULL if the op has none; and its value in attrs. */
const rlx_attr_field *rlx_attr_find(const rlx_op_table_row *row, const char *name, size_t n);
void *rlx_attr_named(const rlx_op_table_row *row, const void *attrs, const char *name);
rlx_status rlx_attrs_check(const rlx_graph *g, const rlx_op_table_row *row, const void *attrs);
/* A copy in g's memory: texts are copied, graphs and blobs retained. NULL: no memory. */
void *rlx_attrs_copy(rlx_graph *g, const rlx_op_table_row *row, const void *attrs);
void rlx_attrs_release(const rlx_op_table_row *row, const void *attrs);     /* releases what the copy retained */
bool rlx_attr_equal(const rlx_attr_field *f, const void *a, const void *b); /* one field's values */
bool rlx_attrs_equal(const rlx_op_table_row *row, const void *a, const void *b);
uint64_t rlx_attrs_hash(const rlx_op_table_row *row, const void *attrs);
uint64_t rlx_hash_bytes(uint64_t seed, const void *data, size_t bytes);

/* Binding in steps. sizes has an entry per symbol, -1 if unknown: first from bindings, then from the shapes of inputs,
 * params and states; rlx_graph_bind_sizes then makes the graph. Only the last step allocates. */
rlx_status rlx_graph_sizes(const rlx_graph *g, const rlx_binding *bindings, size_t n, int64_t *sizes);
rlx_status rlx_graph_sizes_add(const rlx_graph *g, const rlx_named_shape *input, int64_t *sizes);
rlx_status rlx_graph_bind_sizes(const rlx_graph *g, const int64_t *sizes, rlx_graph **out);

/* Whether two control nodes are results of one execution: equal except for the attribute `index`. */
bool rlx_node_is_sibling(const rlx_node_rec *a, const rlx_node_rec *b);

/* A hash of everything that rlx_graph_same compares. */
uint64_t rlx_graph_hash(const rlx_graph *g);

#endif
