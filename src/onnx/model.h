/* An ONNX model in memory: filled by read.c, validated by check.c, read by the importer.
 *
 * It mirrors the file: graphs of nodes that refer to values by name, attributes, and tensors given by their offset
 * in a file. All of it is in one bump allocator; only tensor data stay in the files, which remain open. */
#ifndef RLX_ONNX_MODEL_H
#define RLX_ONNX_MODEL_H

#include <stdatomic.h>

#include "base/array.h"
#include "base/bump.h"
#include "ir/graph.h"
#include "onnx/wire.h"
#include "rlx/onnx.h"

/* Limits, far above what models have, keep what a hostile file costs near its own size. */
enum {
  ONNX_MAX_NODES = 1 << 17,
  ONNX_MAX_ATTRIBUTES = 1 << 19,
  ONNX_MAX_TEXTS = 1 << 19,
  ONNX_MAX_BYTES = 24 << 20,   /* of structs, beyond the file's own size */
  ONNX_MAX_IMPORTED = 1 << 17, /* nodes, with loops and functions written out */
  ONNX_MAX_NUMBERS = 1 << 22,  /* in lists of attributes, and sizes of tensors */
  ONNX_MAX_TENSORS = 1 << 18,
  ONNX_MAX_CUTS = 1 << 12, /* of a run: sizes and branches that depend on values */
  ONNX_MAX_FILES = 1024,   /* of external data */
  ONNX_MAX_OPSETS = 64,
  ONNX_MAX_PER_NODE = 256, /* attributes */
  ONNX_MAX_DEPTH = 32,     /* graphs in graphs, functions in functions */
  ONNX_NEWEST_OPSET = 28,  /* of ai.onnx: what the table of ops was written from */
};

#define ONNX_MAX_EXTENT ((int64_t)1 << 44) /* product of a shape's sizes, with 1 for 0 */

/* Element types, with ONNX's numbers. */
typedef enum onnx_type {
  ONNX_UNDEFINED,
  ONNX_FLOAT,
  ONNX_UINT8,
  ONNX_INT8,
  ONNX_UINT16,
  ONNX_INT16,
  ONNX_INT32,
  ONNX_INT64,
  ONNX_STRING,
  ONNX_BOOL,
  ONNX_FLOAT16,
  ONNX_DOUBLE,
  ONNX_UINT32,
  ONNX_UINT64,
  ONNX_COMPLEX64,
  ONNX_COMPLEX128,
  ONNX_BFLOAT16,
  ONNX_FLOAT8E4M3FN,
  ONNX_FLOAT8E4M3FNUZ,
  ONNX_FLOAT8E5M2,
  ONNX_FLOAT8E5M2FNUZ,
  ONNX_UINT4,
  ONNX_INT4,
  ONNX_FLOAT4E2M1,
  ONNX_FLOAT8E8M0,
  ONNX_UINT2,
  ONNX_INT2,
  ONNX_TYPES
} onnx_type;
const char *onnx_type_name(onnx_type t);  /* "float"; "type 99" is "?" */
rlx_dtype onnx_type_carrier(onnx_type t); /* RLX_DTYPE_UNKNOWN: none */
onnx_type onnx_type_of(rlx_dtype dtype);  /* the one that is stored just so */

typedef struct onnx_text {
  const char *v; /* NUL-terminated; may hold others */
  size_t n;
} onnx_text;

/* Where the bytes of a tensor are: raw (as memory has them, little endian) or fields of its message. */
typedef struct onnx_tensor {
  const char *name; /* "" for none */
  onnx_type type;
  rlx_dims dims; /* what has a higher rank is refused when the file is read */
  size_t elements;
  uint32_t file;      /* 0: the model's own */
  uint64_t at, bytes; /* of raw bytes, or of the whole message */
  bool is_raw;
  const onnx_text *strings; /* of a tensor of strings: elements of them */
} onnx_tensor;

typedef struct onnx_sparse {
  onnx_tensor values, indices;
  rlx_dims dims;
} onnx_sparse;

typedef enum onnx_kind {
  ONNX_KIND_NONE,
  ONNX_KIND_FLOAT,
  ONNX_KIND_INT,
  ONNX_KIND_STRING,
  ONNX_KIND_TENSOR,
  ONNX_KIND_GRAPH,
  ONNX_KIND_FLOATS,
  ONNX_KIND_INTS,
  ONNX_KIND_STRINGS,
  ONNX_KIND_TENSORS,
  ONNX_KIND_GRAPHS,
  ONNX_KIND_SPARSE,
  ONNX_KIND_SPARSES,
  ONNX_KIND_TYPE,
  ONNX_KIND_TYPES,
  ONNX_KINDS
} onnx_kind;
const char *onnx_kind_name(onnx_kind k);

typedef struct onnx_graph onnx_graph;
typedef struct onnx_attribute {
  const char *name;
  const char *refers; /* to an attribute of the function that this node is in; "" if not */
  onnx_kind kind;
  double f;
  int64_t i;
  onnx_text s;
  const onnx_tensor *tensor;
  const onnx_sparse *sparse;
  const onnx_graph *graph;
  const double *floats;
  const int64_t *ints;
  const onnx_text *strings;
  size_t n; /* of the list */
} onnx_attribute;

typedef struct onnx_node {
  const char *name, *op, *domain, *overload; /* "" where the file has none; domain "" is ai.onnx */
  const char *const *in;                     /* "": left out */
  const char *const *out;
  const onnx_attribute *attributes;
  uint32_t n_in, n_out, n_attributes;
  uint32_t number; /* in its graph, from 0 */
} onnx_node;

typedef struct onnx_value_info {
  const char *name;
  const char *kind; /* "tensor", or what it is instead: "sequence", "optional", .. */
  onnx_type type;
  int32_t rank; /* -1: not declared */
  const struct onnx_dim {
    int64_t size; /* -1: not a number */
    const char *symbol;
  } * dims;
} onnx_value_info;

struct onnx_graph {
  const char *name;
  const onnx_node *nodes;
  const onnx_tensor *initializers;
  const onnx_sparse *sparse;
  const onnx_value_info *inputs, *outputs;
  uint32_t n_nodes, n_initializers, n_sparse, n_inputs, n_outputs;
};

typedef struct onnx_opset {
  const char *domain; /* "" is ai.onnx */
  int64_t version;
} onnx_opset;

typedef struct onnx_function {
  const char *domain, *name, *overload;
  const char *const *in;
  const char *const *out;
  const char *const *attribute_names; /* that have no default */
  const onnx_attribute *defaults;
  const onnx_node *nodes;
  const onnx_opset *opsets;
  uint32_t n_in, n_out, n_attribute_names, n_defaults, n_nodes, n_opsets;
} onnx_function;

/* A tensor that becomes a param of graphs, by the name it has there. */
typedef struct onnx_weight {
  const char *leaf;
  const onnx_tensor *tensor;
} onnx_weight;

/* For finding a weight by its tensor: sorted by that. */
typedef struct onnx_weight_place {
  const onnx_tensor *tensor;
  uint32_t weight;
} onnx_weight_place;

typedef struct onnx_file {
  wire_source source;
  char *path;
} onnx_file;

struct rlx_onnx {
  atomic_uint refs;
  rlx_bump bump;
  char *folder; /* of the model; NULL from memory */
  RLX_ARRAY(onnx_file) files;
  int64_t ir_version, model_version;
  const char *producer, *producer_version, *domain, *doc;
  const onnx_opset *opsets;
  const onnx_function *functions;
  const struct onnx_pair { const char *key, *value; } * metadata;
  uint32_t n_opsets, n_functions, n_metadata;
  const onnx_graph *graph;
  uint64_t file_bytes, weight_bytes; /* weights: all tensors, including small ones and those of Constant nodes */
  uint32_t n_weights;
  uint32_t n_nodes, n_tensors;
  size_t n_attributes, n_texts, n_numbers; /* against the limits */
  RLX_ARRAY(rlx_onnx_op_use) uses;
  RLX_ARRAY(onnx_weight) weights; /* sorted by name */
  RLX_ARRAY(onnx_weight_place) by_tensor;
  rlx_name_map inputs;           /* of the main graph, by name */
  const onnx_function **by_name; /* the functions, sorted */
  rlx_name_map defaults;         /* the main graph's initializers */
};

rlx_onnx *onnx_retain(rlx_onnx *m);
bool onnx_has_default(const rlx_onnx *m, const char *name); /* whether an input of this name has one */

/* ---- read.c, external.c ---- */
rlx_status onnx_read(rlx_onnx *m);
rlx_status onnx_read_tensor(rlx_onnx *m, wire w, onnx_tensor *out);
/* The file of a tensor's external data, opened safely; its number in m->files. */
rlx_status onnx_external_open(rlx_onnx *m, const char *location, uint32_t *file);

/* ---- tensor.c ---- */
/* Fails if the product of the sizes overflows; sizes of 0 are skipped, so that the others are bounded as well. Every
 * shape given by a file or a caller, or made by an op, is checked here. */
rlx_status onnx_check_extent(const rlx_dims *d);
/* What the tensor's value takes in memory as carried. */
rlx_status onnx_tensor_bytes(const onnx_tensor *t, size_t *bytes);
/* Its value, converted to what carries it, into memory of that size. */
rlx_status onnx_tensor_read(const rlx_onnx *m, const onnx_tensor *t, void *to);
/* Some rows of axis 0; RLX_NOT_FOUND if the file does not store them in the carrier's layout. */
rlx_status onnx_tensor_read_rows(const rlx_onnx *m, const onnx_tensor *t, size_t first, size_t rows, void *to);
/* Bytes that the type takes raw in a file: of n elements, two to a byte for 4-bit types. */
rlx_status onnx_raw_bytes(onnx_type t, size_t n, size_t *bytes);

/* ---- weights.c ---- */
enum {
  ONNX_CONSTANT_BYTES = 1024
}; /* a tensor of at most this becomes a constant of the graph, a larger one a param */
/* Lists and names all tensors of the model that become params. Those of the main graph keep their names; others (in
 * branches, functions, Constant nodes) get their file and offset as a suffix, because names may repeat. */
rlx_status onnx_list_weights(rlx_onnx *m);
const onnx_weight *onnx_weight_of(const rlx_onnx *m, const onnx_tensor *t); /* NULL: it is not one */
const onnx_weight *onnx_weight_named(const rlx_onnx *m, const char *leaf);

/* ---- check.c ---- */
/* Names are defined once and before they are used, outputs are produced, functions do not call themselves. */
rlx_status onnx_check(const rlx_onnx *m);
/* The opset version that a domain has here; 0: it is not imported. */
int64_t onnx_opset_version(const onnx_opset *v, uint32_t n, const char *domain);
rlx_status onnx_sort_functions(rlx_onnx *m); /* before the first search; refuses two of one name */
const onnx_function *onnx_find_function(const rlx_onnx *m, const onnx_node *n);

#endif
