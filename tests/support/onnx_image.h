/* ONNX messages, written field by field: valid and invalid models for tests, so that the reader is checked against the
 * format.
 *
 *   onnx_image f = {0};
 *   image_model(&f, 17);                                 ir version and opset
 *   image_begin(&f, MODEL_GRAPH);
 *   image_value(&f, GRAPH_INPUT, "x", 1, "N,3");         a float of N x 3
 *   image_node(&f, "Softmax", "x", "y", "axis=1");
 *   image_value(&f, GRAPH_OUTPUT, "y", 1, "N,3");
 *   image_end(&f);                                       f.v, f.n
 *   image_free(&f);
 *
 * Types are ONNX's numbers: 1 float, 6 int32, 7 int64, 8 string, 9 bool. */
#ifndef RLX_TESTS_ONNX_IMAGE_H
#define RLX_TESTS_ONNX_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Field numbers, by message. */
enum {
  MODEL_IR = 1,
  MODEL_PRODUCER = 2,
  MODEL_GRAPH = 7,
  MODEL_OPSET = 8,
  MODEL_METADATA = 14,
  MODEL_FUNCTION = 25,
  GRAPH_NODE = 1,
  GRAPH_NAME = 2,
  GRAPH_INITIALIZER = 5,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  GRAPH_SPARSE = 15,
  NODE_IN = 1,
  NODE_OUT = 2,
  NODE_NAME = 3,
  NODE_OP = 4,
  NODE_ATTRIBUTE = 5,
  NODE_DOMAIN = 7,
  ATTRIBUTE_NAME = 1,
  ATTRIBUTE_FLOAT = 2,
  ATTRIBUTE_INT = 3,
  ATTRIBUTE_TEXT = 4,
  ATTRIBUTE_TENSOR = 5,
  ATTRIBUTE_GRAPH = 6,
  ATTRIBUTE_FLOATS = 7,
  ATTRIBUTE_INTS = 8,
  ATTRIBUTE_TYPE = 20,
  ATTRIBUTE_REFERS = 21,
  TENSOR_DIMS = 1,
  TENSOR_TYPE = 2,
  TENSOR_FLOATS = 4,
  TENSOR_INT32S = 5,
  TENSOR_STRINGS = 6,
  TENSOR_INT64S = 7,
  TENSOR_NAME = 8,
  TENSOR_RAW = 9,
  TENSOR_EXTERNAL = 13,
  TENSOR_LOCATION = 14,
  FUNCTION_NAME = 1,
  FUNCTION_IN = 4,
  FUNCTION_OUT = 5,
  FUNCTION_ATTRIBUTE = 6,
  FUNCTION_NODE = 7,
  FUNCTION_OPSET = 9,
  FUNCTION_DOMAIN = 10,
  FUNCTION_DEFAULT = 11,
};

typedef struct onnx_image {
  unsigned char *v;
  size_t n, cap;
  size_t *open; /* the offsets of messages that have not ended */
  size_t n_open, cap_open;
} onnx_image;

void image_free(onnx_image *f);
bool image_write(const onnx_image *f, const char *path);

/* ---- wire format ---- */
void image_raw(onnx_image *f, const void *data, size_t n); /* plain bytes, no field */
void image_varint(onnx_image *f, uint64_t x);
void image_tag(onnx_image *f, uint32_t field, unsigned wire_type);
void image_int(onnx_image *f, uint32_t field, int64_t x);
void image_float(onnx_image *f, uint32_t field, float x);
void image_bytes(onnx_image *f, uint32_t field, const void *data, size_t n);
void image_text(onnx_image *f, uint32_t field, const char *text);
void image_texts(onnx_image *f, uint32_t field, const char *list); /* "a,b,,c": one field each, "-": none */
void image_begin(onnx_image *f, uint32_t field);                   /* a message in this field, to .. */
void image_end(onnx_image *f);

/* ---- parts of a model ---- */
void image_opset(onnx_image *f, uint32_t field, const char *domain, int64_t version);
void image_model(onnx_image *f, int64_t opset);
/* dims: "N,3" with symbols and numbers, "" for a scalar, NULL for no shape. */
void image_value(onnx_image *f, uint32_t field, const char *name, int type, const char *dims);
/* Attributes as text, separated by spaces: axis=1 alpha=0.5 mode='linear' perm=[1,0] scales=[1.0,2.0] body=@outer (a
 * reference). */
void image_attributes(onnx_image *f, const char *text);
void image_node_begin(onnx_image *f, const char *op, const char *in, const char *out, const char *attributes);
void image_node(onnx_image *f, const char *op, const char *in, const char *out, const char *attributes);
/* An attribute that is a graph: write the graph's fields, then image_branch_end. In a node that is open. */
void image_branch_begin(onnx_image *f, const char *name);
void image_branch_end(onnx_image *f);
/* Tensors with raw bytes, typed numbers, or in a file beside the model (NULL: the entry is omitted). */
void image_tensor_begin(onnx_image *f, uint32_t field, const char *name, int type, const char *dims);
void image_tensor(onnx_image *f, uint32_t field, const char *name, int type, const char *dims, const void *data,
                  size_t bytes);
void image_ints(onnx_image *f, uint32_t field, const char *name, const char *dims, const int64_t *v, size_t n);
void image_floats(onnx_image *f, uint32_t field, const char *name, const char *dims, const float *v, size_t n);
void image_external(onnx_image *f, uint32_t field, const char *name, int type, const char *dims, const char *location,
                    const char *offset, const char *length);

#endif
