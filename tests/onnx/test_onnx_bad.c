/* ONNX models that are not: each has its status and words. The format, names and functions; external data, sizes and single ops have
 * files of their own. */
#include <stdlib.h>

#include "onnx_image.h"
#include "rlx/onnx.h"
#include "test.h"

typedef void (*build_fn)(onnx_image *f);

/* Not opened, and nothing is left. */
#define CHECK_REFUSED(image, code, part)                                                  \
  do {                                                                                    \
    rlx_onnx *refused_;                                                                   \
    CHECK_FAILS(rlx_onnx_open_memory((image).v, (image).n, NULL, &refused_), code, part); \
    CHECK(!refused_);                                                                     \
    image_free(&(image));                                                                 \
  } while (0)

/* ---- not a model at all ---- */

TEST(other_files) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *part;
  } cases[] = {{"", 0, "empty"},
               {"\x08", 1, "cuts off"},
               {"\x08\x07", 2, "no graph"},
               {"GGUF\3\0\0\0\0\0\0\0", 12, "a GGUF file"},
               {"PK\3\4\24\0\0\0\0\0", 10, "a zip archive"},
               {"<!DOCTYPE html><html>", 21, "an HTML page"},
               {"<html><body>", 12, "an HTML page"},
               {"version https://git-lfs.github.com/spec/v1\noid sha256:0", 54, "Git LFS pointer"},
               {"\x93NUMPY\1\0", 8, "a .npy array"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_onnx *m;
    CHECK_FAILS(rlx_onnx_open_memory(cases[i].bytes, cases[i].n, NULL, &m), RLX_INVALID, cases[i].part);
    CHECK(!m);
  }
}

TEST(random_bytes) {
  uint64_t x = 88172645463325252u;
  for (int round = 0; round < 20000; round++) {
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof bytes; i++) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      bytes[i] = (unsigned char)(x >> 32);
    }
    rlx_onnx *m;
    rlx_status s = rlx_onnx_open_memory(bytes, sizeof bytes, NULL, &m);
    CHECK(s == RLX_INVALID || s == RLX_UNSUPPORTED);
    CHECK(!m && *rlx_message());
  }
}

/* ---- a good one, to be spoiled ---- */

/* y = Relu(x) + w */
static void good_graph(onnx_image *f) {
  image_text(f, GRAPH_NAME, "main");
  image_value(f, GRAPH_INPUT, "x", 1, "N,2");
  image_floats(f, GRAPH_INITIALIZER, "w", "2", (const float[]){1, 2}, 2);
  image_node(f, "Relu", "x", "r", "");
  image_node(f, "Add", "r,w", "y", "");
  image_value(f, GRAPH_OUTPUT, "y", 1, "N,2");
}

static void good_model(onnx_image *f) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  good_graph(f);
  image_end(f);
}

TEST(good_one_opens) {
  onnx_image f = {0};
  rlx_onnx *m;
  good_model(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_OK(rlx_onnx_supported(m));
  rlx_onnx_close(m);
  image_free(&f);
}

/* Cut anywhere it is refused, or (between fields of the model) lacks something. */
TEST(every_prefix) {
  onnx_image f = {0};
  good_model(&f);
  for (size_t n = 0; n < f.n; n++) {
    rlx_onnx *m;
    unsigned char *exact = malloc(n + !n); /* so that a sanitizer sees what is read behind it */
    CHECK(exact);
    memcpy(exact, f.v, n);
    CHECK_FAILS(rlx_onnx_open_memory(exact, n, NULL, &m), RLX_INVALID, "expected an ONNX model");
    CHECK(!m);
    free(exact);
  }
  image_free(&f);
}

/* Any one byte changed: opened or refused with words, never more. */
TEST(every_byte) {
  onnx_image f = {0};
  good_model(&f);
  for (size_t i = 0; i < f.n; i++)
    for (int k = 0; k < 8; k++) {
      rlx_onnx *m;
      f.v[i] = (unsigned char)(f.v[i] ^ 1 << k);
      rlx_status s = rlx_onnx_open_memory(f.v, f.n, NULL, &m);
      CHECK(s ? !m && *rlx_message() : m != NULL);
      rlx_onnx_close(m);
      f.v[i] = (unsigned char)(f.v[i] ^ 1 << k);
    }
  image_free(&f);
}

/* ---- the wire ---- */

static void long_varint(onnx_image *f) { image_raw(f, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12); }
static void wide_varint(onnx_image *f) { image_raw(f, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11); }
static void length_past_end(onnx_image *f) { image_raw(f, "\x3a\x7f\x08", 3); }
static void length_of_all_bits(onnx_image *f) {
  image_raw(f, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08\x01", 13);
}
static void fixed_past_end(onnx_image *f) { image_raw(f, "\x09\x01\x02", 3); }
static void wire_type_3(onnx_image *f) { image_raw(f, "\x3b", 1); }
static void wire_type_4(onnx_image *f) { image_raw(f, "\x3c", 1); }
static void wire_type_6(onnx_image *f) { image_raw(f, "\x3e\x01", 2); }
static void wire_type_7(onnx_image *f) { image_raw(f, "\x3f\x01", 2); }
static void field_0(onnx_image *f) { image_raw(f, "\x02\x01\x41", 3); }
static void field_too_high(onnx_image *f) { image_raw(f, "\x80\x80\x80\x80\x10\x01", 6); }
static void graph_as_number(onnx_image *f) { image_int(f, MODEL_GRAPH, 1); }
static void version_as_text(onnx_image *f) {
  image_text(f, MODEL_IR, "8");
  good_model(f);
}
static void two_graphs(onnx_image *f) {
  good_model(f);
  image_begin(f, MODEL_GRAPH);
  image_end(f);
}
static void training(onnx_image *f) {
  good_model(f);
  image_begin(f, 20);
  image_end(f);
}

typedef struct bad {
  const char *name;
  build_fn build;
  rlx_status status;
  const char *part;
} bad;

#define BAD(name, status, part) \
  { #name, name, status, part }

/* Each is a whole model. */
#define CHECK_MODELS(cases)                                                                                    \
  for (size_t i_ = 0; i_ < sizeof(cases) / sizeof *(cases); i_++) {                                            \
    onnx_image image_ = {0};                                                                                   \
    rlx_onnx *m_;                                                                                              \
    (cases)[i_].build(&image_);                                                                                \
    rlx_status s_ = rlx_onnx_open_memory(image_.v, image_.n, NULL, &m_);                                       \
    if (s_ != (cases)[i_].status || m_ || !strstr(rlx_message(), (cases)[i_].part))                            \
      FAIL("%s: expected '%s' with <%s>, got '%s': %s", (cases)[i_].name, rlx_status_name((cases)[i_].status), \
           (cases)[i_].part, rlx_status_name(s_), rlx_message());                                              \
    image_free(&image_);                                                                                       \
  }

TEST(wire) {
  static const bad cases[] = {
    BAD(long_varint, RLX_INVALID, "more than 64 bits"),
    BAD(wide_varint, RLX_INVALID, "more than 64 bits"),
    BAD(length_past_end, RLX_INVALID, "a field of 127 bytes in a message that has 1 left"),
    BAD(length_of_all_bits, RLX_INVALID, "a field of 18446744073709551615 bytes"),
    BAD(fixed_past_end, RLX_INVALID, "a number of 8 bytes in a message that has 2 left"),
    BAD(wire_type_3, RLX_INVALID, "wire type 3 is reserved"),
    BAD(wire_type_4, RLX_INVALID, "wire type 4 is reserved"),
    BAD(wire_type_6, RLX_INVALID, "wire type 6 is reserved"),
    BAD(wire_type_7, RLX_INVALID, "wire type 7 is reserved"),
    BAD(field_0, RLX_INVALID, "no field has the number 0"),
    BAD(field_too_high, RLX_INVALID, "no field has the number"),
    BAD(graph_as_number, RLX_INVALID, "expected a length, got a varint"),
    BAD(version_as_text, RLX_INVALID, "ir_version"),
    BAD(two_graphs, RLX_INVALID, "2 graphs"),
    BAD(training, RLX_UNSUPPORTED, "training"),
  };
  CHECK_MODELS(cases);
}

/* ---- opsets ---- */

static void with_opset(onnx_image *f, const char *domain, int64_t version) {
  image_int(f, MODEL_IR, 8);
  if (domain) image_opset(f, MODEL_OPSET, domain, version);
  image_begin(f, MODEL_GRAPH);
  good_graph(f);
  image_end(f);
}

static void no_opset(onnx_image *f) { with_opset(f, NULL, 0); }
static void opset_0(onnx_image *f) { with_opset(f, "", 0); }
static void opset_999(onnx_image *f) { with_opset(f, "ai.onnx", 999); }
static void opset_negative(onnx_image *f) { with_opset(f, "", -1); }
static void opset_twice(onnx_image *f) {
  image_opset(f, MODEL_OPSET, "ai.onnx", 12);
  with_opset(f, "", 13);
}

TEST(opsets) {
  static const bad cases[] = {
    BAD(no_opset, RLX_INVALID, "no opset"),
    BAD(opset_0, RLX_INVALID, "opset 0"),
    BAD(opset_999, RLX_UNSUPPORTED, "opset of ai.onnx: expected 1 to"),
    BAD(opset_negative, RLX_INVALID, "opset -1"),
    BAD(opset_twice, RLX_INVALID, "two opsets of domain 'ai.onnx': 12 and 13"),
  };
  CHECK_MODELS(cases);
}

static void in_domain(onnx_image *f, const char *op, const char *in, const char *out, const char *domain) {
  image_node_begin(f, op, in, out, "");
  image_text(f, NODE_DOMAIN, domain);
  image_end(f);
}

/* Ops that there are not: all are told, and what has the name of one of ours in another domain is not ours. */
TEST(unknown_ops) {
  onnx_image f = {0};
  rlx_onnx *m;
  image_model(&f, 17);
  image_opset(&f, MODEL_OPSET, "com.example", 3);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "2");
  in_domain(&f, "Relu", "x", "a", "com.example");
  in_domain(&f, "Relu", "a", "b", "not.imported");
  image_node(&f, "Frobnicate", "b", "c", "");
  image_node(&f, "Relu", "c", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "Frobnicate (ai.onnx 17)");
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "Relu (com.example 3)");
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "Relu (not.imported 0), 1 node: its domain is not imported");
  rlx_onnx_close(m);
  image_free(&f);
}

/* ---- names ---- */

static void graph_of(onnx_image *f, build_fn inside) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  inside(f);
  image_end(f);
}

/* A model around the graph that `name_inside` writes. */
#define GRAPH_CASE(name)                                          \
  static void name##_inside(onnx_image *f);                       \
  static void name(onnx_image *f) { graph_of(f, name##_inside); } \
  static void name##_inside(onnx_image *f)

GRAPH_CASE(cycle) {
  image_node(f, "Relu", "b", "a", "");
  image_node(f, "Relu", "a", "b", "");
  image_value(f, GRAPH_OUTPUT, "b", 1, "2");
}
GRAPH_CASE(reads_itself) { image_node(f, "Relu", "a", "a", ""); }
GRAPH_CASE(undefined) { image_node(f, "Relu", "nowhere", "a", ""); }
GRAPH_CASE(output_never_made) { image_value(f, GRAPH_OUTPUT, "y", 1, "2"); }
GRAPH_CASE(two_makers) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node(f, "Relu", "x", "y", "");
  image_node(f, "Abs", "x", "y", "");
}
GRAPH_CASE(made_input) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node(f, "Relu", "x", "x", "");
}
GRAPH_CASE(made_initializer) {
  image_floats(f, GRAPH_INITIALIZER, "w", "1", (const float[]){1}, 1);
  image_node(f, "Relu", "w", "w", "");
}
GRAPH_CASE(two_inputs) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_value(f, GRAPH_INPUT, "x", 1, "2");
}
GRAPH_CASE(two_initializers) {
  image_floats(f, GRAPH_INITIALIZER, "w", "1", (const float[]){1}, 1);
  image_floats(f, GRAPH_INITIALIZER, "w", "1", (const float[]){2}, 1);
}
GRAPH_CASE(two_outputs) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_value(f, GRAPH_OUTPUT, "x", 1, "2");
  image_value(f, GRAPH_OUTPUT, "x", 1, "2");
}
GRAPH_CASE(nameless_input) { image_value(f, GRAPH_INPUT, "", 1, "2"); }
GRAPH_CASE(nameless_initializer) { image_floats(f, GRAPH_INITIALIZER, "", "1", (const float[]){1}, 1); }
GRAPH_CASE(nameless_output) { image_value(f, GRAPH_OUTPUT, "", 1, "2"); }
GRAPH_CASE(no_op) { image_node(f, "", "-", "y", ""); }
GRAPH_CASE(name_with_nul) {
  image_begin(f, GRAPH_NODE);
  image_bytes(f, NODE_OUT, "a\0b", 3);
  image_text(f, NODE_OP, "Relu");
  image_end(f);
}
GRAPH_CASE(name_not_utf8) { image_node(f, "Relu", "-", "\xff\xfe", ""); }
GRAPH_CASE(branch_undefined) {
  image_value(f, GRAPH_INPUT, "c", 9, "");
  image_node_begin(f, "If", "c", "y", "");
  image_branch_begin(f, "then_branch");
  image_node(f, "Relu", "later", "a", "");
  image_value(f, GRAPH_OUTPUT, "a", 1, NULL);
  image_branch_end(f);
  image_end(f);
  image_node(f, "Relu", "y", "later", "");
}
GRAPH_CASE(attribute_twice) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node(f, "Softmax", "x", "y", "axis=0 axis=1");
}
GRAPH_CASE(attribute_without_name) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node(f, "Softmax", "x", "y", "=1");
}

static void attribute_of(onnx_image *f, int type, void (*value)(onnx_image *f)) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node_begin(f, "Softmax", "x", "y", "");
  image_begin(f, NODE_ATTRIBUTE);
  image_text(f, ATTRIBUTE_NAME, "axis");
  if (value) value(f);
  if (type >= 0) image_int(f, ATTRIBUTE_TYPE, type);
  image_end(f);
  image_end(f);
}
static void one_float(onnx_image *f) { image_float(f, ATTRIBUTE_FLOAT, 1); }
static void int_as_text(onnx_image *f) { image_text(f, ATTRIBUTE_INT, "1"); }
static void odd_floats(onnx_image *f) { image_bytes(f, ATTRIBUTE_FLOATS, "12345", 5); }
GRAPH_CASE(attribute_empty) { attribute_of(f, -1, NULL); }
GRAPH_CASE(attribute_unknown_type) { attribute_of(f, 99, NULL); }
GRAPH_CASE(attribute_no_tensor) { attribute_of(f, 4, NULL); }
GRAPH_CASE(attribute_no_graph) { attribute_of(f, 5, NULL); }
GRAPH_CASE(attribute_no_sparse) { attribute_of(f, 11, NULL); }
GRAPH_CASE(attribute_other) { attribute_of(f, 2, one_float); }
GRAPH_CASE(attribute_wire) { attribute_of(f, 2, int_as_text); }
GRAPH_CASE(attribute_odd_list) { attribute_of(f, 6, odd_floats); }

TEST(names_and_attributes) {
  static const bad cases[] = {
    BAD(cycle, RLX_INVALID, "a cycle, or nodes out of order"),
    BAD(reads_itself, RLX_INVALID, "a cycle"),
    BAD(undefined, RLX_INVALID, "node 0 '' (Relu): input 'nowhere' is not defined"),
    BAD(output_never_made, RLX_INVALID, "output 'y' is never computed"),
    BAD(two_makers, RLX_INVALID, "output 'y' is defined twice"),
    BAD(made_input, RLX_INVALID, "output 'x' is defined twice"),
    BAD(made_initializer, RLX_INVALID, "output 'w' is defined twice"),
    BAD(two_inputs, RLX_INVALID, "input 'x' is defined twice"),
    BAD(two_initializers, RLX_INVALID, "initializer 'w' is defined twice"),
    BAD(two_outputs, RLX_INVALID, "output 'x' comes twice"),
    BAD(nameless_input, RLX_INVALID, "input 0 has no name"),
    BAD(nameless_initializer, RLX_INVALID, "initializer 0 has no name"),
    BAD(nameless_output, RLX_INVALID, "output 0 has no name"),
    BAD(no_op, RLX_INVALID, "node 0: no op"),
    BAD(name_with_nul, RLX_INVALID, "holds a NUL"),
    BAD(name_not_utf8, RLX_INVALID, "not UTF-8"),
    BAD(branch_undefined, RLX_INVALID, "input 'later' is not defined"),
    BAD(attribute_twice, RLX_INVALID, "attribute 'axis' comes twice"),
    BAD(attribute_without_name, RLX_INVALID, "without a name"),
    BAD(attribute_empty, RLX_INVALID, "attribute 'axis': no value"),
    BAD(attribute_unknown_type, RLX_INVALID, "attribute 'axis': no value"),
    BAD(attribute_no_tensor, RLX_INVALID, "a tensor that is not there"),
    BAD(attribute_no_graph, RLX_INVALID, "a graph that is not there"),
    BAD(attribute_no_sparse, RLX_INVALID, "a sparse tensor that is not there"),
    BAD(attribute_other, RLX_INVALID, "expected an int, got a float"),
    BAD(attribute_wire, RLX_INVALID, "i (field 3): expected a varint"),
    BAD(attribute_odd_list, RLX_INVALID, "a list of 4-byte numbers has 5 bytes"),
  };
  CHECK_MODELS(cases);
}

/* ---- tensors ---- */

GRAPH_CASE(raw_too_short) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "2,2", "0123456789ab", 12); }
GRAPH_CASE(raw_too_long) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "1", "01234567", 8); }
GRAPH_CASE(raw_none) { image_tensor_begin(f, GRAPH_INITIALIZER, "w", 1, "2"), image_end(f); }
GRAPH_CASE(typed_too_few) { image_ints(f, GRAPH_INITIALIZER, "w", "3", (const int64_t[]){1, 2}, 2); }
GRAPH_CASE(typed_too_many) { image_ints(f, GRAPH_INITIALIZER, "w", "1", (const int64_t[]){1, 2}, 2); }
GRAPH_CASE(raw_and_typed) {
  image_tensor_begin(f, GRAPH_INITIALIZER, "w", 7, "1");
  image_int(f, TENSOR_INT64S, 1);
  image_bytes(f, TENSOR_RAW, "01234567", 8);
  image_end(f);
}
GRAPH_CASE(two_typed) {
  image_tensor_begin(f, GRAPH_INITIALIZER, "w", 7, "1");
  image_int(f, TENSOR_INT64S, 1);
  image_int(f, TENSOR_INT32S, 1);
  image_end(f);
}
GRAPH_CASE(wrong_typed) {
  image_tensor_begin(f, GRAPH_INITIALIZER, "w", 1, "1");
  image_int(f, TENSOR_INT64S, 1);
  image_end(f);
}
GRAPH_CASE(raw_strings) { image_tensor(f, GRAPH_INITIALIZER, "w", 8, "1", "abc", 3); }
GRAPH_CASE(type_0) { image_tensor(f, GRAPH_INITIALIZER, "w", 0, "1", "0123", 4); }
GRAPH_CASE(type_99) { image_tensor(f, GRAPH_INITIALIZER, "w", 99, "1", "0123", 4); }
GRAPH_CASE(no_type) {
  image_begin(f, GRAPH_INITIALIZER);
  image_text(f, TENSOR_NAME, "w");
  image_end(f);
}
GRAPH_CASE(negative_size) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "-1", "0123", 4); }
GRAPH_CASE(size_2_40) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "1099511627776", "0123", 4); }
GRAPH_CASE(size_2_62) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "4611686018427387904", "", 0); }
GRAPH_CASE(size_wraps) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "4294967296,4294967296", "", 0); }
GRAPH_CASE(size_wraps_to_0) {
  image_tensor(f, GRAPH_INITIALIZER, "w", 1, "9223372036854775807,9223372036854775807,4", "", 0);
}
GRAPH_CASE(size_beside_0) {
  image_tensor(f, GRAPH_INITIALIZER, "w", 1, "0,9223372036854775807,9223372036854775807", "", 0);
}
GRAPH_CASE(rank_9) { image_tensor(f, GRAPH_INITIALIZER, "w", 1, "1,1,1,1,1,1,1,1,1", "0123", 4); }
GRAPH_CASE(segments) {
  image_tensor_begin(f, GRAPH_INITIALIZER, "w", 1, "1");
  image_begin(f, 3);
  image_end(f);
  image_end(f);
}
GRAPH_CASE(location_2) {
  image_tensor_begin(f, GRAPH_INITIALIZER, "w", 1, "0");
  image_int(f, TENSOR_LOCATION, 2);
  image_end(f);
}
GRAPH_CASE(external_in_memory) { image_external(f, GRAPH_INITIALIZER, "w", 1, "1", "w.bin", NULL, NULL); }
GRAPH_CASE(external_nowhere) { image_external(f, GRAPH_INITIALIZER, "w", 1, "1", NULL, NULL, NULL); }
GRAPH_CASE(sparse_empty) {
  image_begin(f, GRAPH_SPARSE);
  image_end(f);
}

TEST(tensors) {
  SKIP_WITH_32_BITS();
  static const bad cases[] = {
    BAD(raw_too_short, RLX_INVALID, "tensor 'w': 12 bytes for a tensor that takes 16"),
    BAD(raw_too_long, RLX_INVALID, "8 bytes for a tensor that takes 4"),
    BAD(raw_none, RLX_INVALID, "0 numbers for a tensor that takes 2"),
    BAD(typed_too_few, RLX_INVALID, "2 numbers for a tensor that takes 3"),
    BAD(typed_too_many, RLX_INVALID, "2 numbers for a tensor that takes 1"),
    BAD(raw_and_typed, RLX_INVALID, "both raw and typed data"),
    BAD(two_typed, RLX_INVALID, "int64 data in a field of another type"),
    BAD(wrong_typed, RLX_INVALID, "float data in a field of another type"),
    BAD(raw_strings, RLX_INVALID, "strings as raw data"),
    BAD(type_0, RLX_UNSUPPORTED, "element type 0"),
    BAD(type_99, RLX_UNSUPPORTED, "element type 99"),
    BAD(no_type, RLX_INVALID, "tensor 'w' has no element type"),
    BAD(negative_size, RLX_INVALID, "dimension 0 is -1"),
    BAD(size_2_40, RLX_INVALID, "4 bytes for a tensor that takes 4398046511104"),
    BAD(size_2_62, RLX_INVALID, "a size that no memory has"),
    BAD(size_wraps, RLX_INVALID, "a size that no memory has"),
    BAD(size_wraps_to_0, RLX_INVALID, "a size that no memory has"),
    BAD(size_beside_0, RLX_INVALID, "a size that no memory has"),
    BAD(rank_9, RLX_UNSUPPORTED, "9 dimensions"),
    BAD(segments, RLX_UNSUPPORTED, "segments"),
    BAD(location_2, RLX_INVALID, "location 2"),
    BAD(external_in_memory, RLX_UNSUPPORTED, "in memory"),
    BAD(external_nowhere, RLX_INVALID, "without a location"),
    BAD(sparse_empty, RLX_INVALID, "lacks values or indices"),
  };
  CHECK_MODELS(cases);
}

/* ---- functions ---- */

static void function(onnx_image *f, const char *name, const char *in, const char *out, const char *calls) {
  image_begin(f, MODEL_FUNCTION);
  image_text(f, FUNCTION_NAME, name);
  image_text(f, FUNCTION_DOMAIN, "my");
  image_texts(f, FUNCTION_IN, in);
  image_texts(f, FUNCTION_OUT, out);
  image_opset(f, FUNCTION_OPSET, "", 17);
  image_opset(f, FUNCTION_OPSET, "my", 1);
  image_begin(f, FUNCTION_NODE);
  image_text(f, NODE_IN, "x");
  image_text(f, NODE_OUT, "y");
  image_text(f, NODE_OP, calls);
  image_text(f, NODE_DOMAIN, strcmp(calls, "Relu") == 0 ? "" : "my");
  image_end(f);
  image_end(f);
}

static void calling(onnx_image *f, const char *op) {
  image_model(f, 17);
  image_opset(f, MODEL_OPSET, "my", 1);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  in_domain(f, op, "x", "y", "my");
  image_value(f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(f);
}

static void calls_itself(onnx_image *f) {
  calling(f, "F");
  function(f, "F", "x", "y", "F");
}
static void calls_in_a_ring(onnx_image *f) {
  calling(f, "F");
  function(f, "F", "x", "y", "G");
  function(f, "G", "x", "y", "H");
  function(f, "H", "x", "y", "F");
}
static void function_twice(onnx_image *f) {
  calling(f, "F");
  function(f, "F", "x", "y", "Relu");
  function(f, "F", "x", "y", "Relu");
}
static void function_output_missing(onnx_image *f) {
  calling(f, "F");
  function(f, "F", "x", "z", "Relu");
}
static void function_input_missing(onnx_image *f) {
  calling(f, "F");
  function(f, "F", "q", "y", "Relu");
}
static void function_input_twice(onnx_image *f) {
  calling(f, "F");
  function(f, "F", "x,x", "y", "Relu");
}
static void function_without_name(onnx_image *f) {
  calling(f, "F");
  function(f, "", "x", "y", "Relu");
}

TEST(functions) {
  static const bad cases[] = {
    BAD(calls_itself, RLX_INVALID, "function 'F' calls itself"),
    BAD(calls_in_a_ring, RLX_INVALID, "calls itself"),
    BAD(function_twice, RLX_INVALID, "function 'F' of 'my' is defined twice"),
    BAD(function_output_missing, RLX_INVALID, "function 'F': output 'z' is never computed"),
    BAD(function_input_missing, RLX_INVALID, "function 'F': node 0 '' (Relu): input 'x' is not defined"),
    BAD(function_input_twice, RLX_INVALID, "function 'F': input 'x' is defined twice"),
    BAD(function_without_name, RLX_INVALID, "a function without a name"),
  };
  CHECK_MODELS(cases);
}
