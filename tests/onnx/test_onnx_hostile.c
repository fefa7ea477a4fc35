/* ONNX models that are small to write and would be large to hold: all end within a second and 64 MiB beyond their own size. */
#include <unistd.h>

#include "base/str.h"
#include "cost.h"
#include "onnx_image.h"
#include "rlx/onnx.h"
#include "test.h"

/* Opens, and if that works imports and runs; the first failure. */
static rlx_status try_model(const onnx_image *f, cost *c) {
  rlx_onnx *m;
  rlx_graph *g = NULL;
  float x[2] = {1, 2};
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(2), {x}, sizeof x}};
  *c = begin_cost();
  rlx_status s = rlx_onnx_open_memory(f->v, f->n, NULL, &m);
  if (!s) s = rlx_onnx_graph(m, NULL, &in, rlx_onnx_input_count(m) ? 1 : 0, &g, NULL);
  *c = end_cost(*c);
  rlx_graph_destroy(g);
  rlx_onnx_close(m);
  return s;
}

typedef struct hostile {
  const char *name;
  void (*build)(onnx_image *f);
  rlx_status status;
  const char *part;
} hostile;

#define HOSTILE(name, status, part) \
  { #name, name, status, part }

static void check_all(const hostile *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    onnx_image f = {0};
    cost c;
    v[i].build(&f);
    rlx_status s = try_model(&f, &c);
    if (s != v[i].status || (s && !strstr(rlx_message(), v[i].part)))
      FAIL("%s: expected '%s' with <%s>, got '%s': %.300s", v[i].name, rlx_status_name(v[i].status), v[i].part,
           rlx_status_name(s), rlx_message());
    check_cost(v[i].name, f.n, 1, &c);
    image_free(&f);
    if (test_has_failed()) return;
  }
}
#define CHECK_ALL(v) check_all(v, sizeof(v) / sizeof *(v))

/* ---- many of everything ---- */

static void begin(onnx_image *f) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
}

/* A graph that is right in itself: x goes through. */
static void through(onnx_image *f) {
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_value(f, GRAPH_OUTPUT, "x", 1, "2");
}

static const char *number(const char *prefix, unsigned i) {
  static char text[4][32];
  static unsigned next;
  char *p = text[next++ % 4];
  snprintf(p, sizeof text[0], "%s%u", prefix, i);
  return p;
}

static void million_nodes(onnx_image *f) {
  begin(f);
  for (int i = 0; i < 1000000; i++) image_raw(f, "\x0a\x03\x22\x01N", 5);
  image_end(f);
}
static void many_nodes(onnx_image *f) { /* as many as are allowed */
  begin(f);
  for (int i = 0; i < 1 << 17; i++) image_raw(f, "\x0a\x03\x22\x01N", 5);
  image_end(f);
}
static void long_chain(onnx_image *f) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  for (unsigned i = 0; i < 20000; i++) image_node(f, "Relu", i ? number("a", i) : "x", number("a", i + 1), "");
  image_value(f, GRAPH_OUTPUT, number("a", 20000), 1, "2");
  image_end(f);
}
static void many_outputs(onnx_image *f) { /* of one node */
  begin(f);
  image_begin(f, GRAPH_NODE);
  for (unsigned i = 0; i < (1 << 19) - 4; i++) image_text(f, NODE_OUT, number("", i));
  image_text(f, NODE_OP, "Split");
  image_end(f);
  image_end(f);
}
static void many_texts(onnx_image *f) {
  begin(f);
  image_begin(f, GRAPH_NODE);
  for (unsigned i = 0; i < 4000000; i++) image_raw(f, "\x0a\x01x", 3);
  image_text(f, NODE_OP, "Concat");
  image_end(f);
  image_end(f);
}
static void many_attributes(onnx_image *f) {
  begin(f);
  image_node_begin(f, "Relu", "-", "y", "");
  for (unsigned i = 0; i < 300000; i++) image_raw(f, "\x2a\x05\x0a\x01n\x18\x00", 7);
  image_end(f);
  image_end(f);
}
static void attributes_of_many(onnx_image *f) { /* 2,048 nodes of 256 */
  char name[8];
  begin(f);
  for (unsigned k = 0; k < 2047; k++) {
    image_node_begin(f, "Relu", "-", number("y", k), "");
    for (unsigned i = 0; i < 256; i++) {
      snprintf(name, sizeof name, "%c%c=1", 'a' + i / 16, 'a' + i % 16);
      image_attributes(f, name);
    }
    image_end(f);
  }
  image_end(f);
}
static void many_numbers(onnx_image *f) {
  begin(f);
  image_node_begin(f, "Relu", "-", "y", "");
  image_begin(f, NODE_ATTRIBUTE);
  image_text(f, ATTRIBUTE_NAME, "perm");
  image_begin(f, ATTRIBUTE_INTS);
  for (unsigned i = 0; i < 5000000; i++) image_raw(f, "\1", 1);
  image_end(f);
  image_end(f);
  image_end(f);
  image_end(f);
}
static void many_initializers(onnx_image *f) {
  begin(f);
  for (unsigned i = 0; i < 1 << 18; i++) image_raw(f, "\x2a\x04\x08\x00\x10\x01", 6); /* 0 floats without a name */
  image_end(f);
}
static void too_many_initializers(onnx_image *f) {
  begin(f);
  for (unsigned i = 0; i < 1000000; i++) image_raw(f, "\x2a\x04\x08\x00\x10\x01", 6);
  image_end(f);
}
static void named_initializers(onnx_image *f) {
  begin(f);
  through(f);
  for (unsigned i = 0; i < 100000; i++) {
    image_value(f, GRAPH_INPUT, number("i", i), 1, "0");
    image_tensor(f, GRAPH_INITIALIZER, number("i", i), 1, "0", "", 0);
  }
  image_end(f);
}
static void many_dims(onnx_image *f) {
  begin(f);
  image_begin(f, GRAPH_INITIALIZER);
  image_begin(f, TENSOR_DIMS);
  for (unsigned i = 0; i < 5000000; i++) image_raw(f, "\1", 1);
  image_end(f);
  image_int(f, TENSOR_TYPE, 1);
  image_end(f);
  image_end(f);
}
static void many_axes(onnx_image *f) { /* of a declared value */
  begin(f);
  image_begin(f, GRAPH_INPUT);
  image_text(f, 1, "x");
  image_begin(f, 2);
  image_begin(f, 1);
  image_int(f, 1, 1);
  image_begin(f, 2);
  for (unsigned i = 0; i < 5000000; i++) image_raw(f, "\x0a\0", 2);
  image_end(f);
  image_end(f);
  image_end(f);
  image_end(f);
  image_end(f);
}
static void many_strings(onnx_image *f) {
  begin(f);
  through(f);
  image_tensor_begin(f, GRAPH_INITIALIZER, "s", 8, "400000");
  for (unsigned i = 0; i < 400000; i++) image_raw(f, "\x32\0", 2);
  image_end(f);
  image_end(f);
}
static void many_functions(onnx_image *f) {
  image_model(f, 17);
  for (unsigned i = 0; i < 100000; i++) {
    image_begin(f, MODEL_FUNCTION);
    image_text(f, FUNCTION_NAME, number("F", i));
    image_opset(f, FUNCTION_OPSET, "", 17);
    image_end(f);
  }
  image_begin(f, MODEL_GRAPH);
  through(f);
  for (unsigned i = 0; i < 100000; i++) image_node(f, number("F", i), "-", "-", "");
  image_end(f);
}
static void many_opsets(onnx_image *f) {
  image_model(f, 17);
  for (unsigned i = 0; i < 100000; i++) image_opset(f, MODEL_OPSET, number("d", i), 1);
  image_begin(f, MODEL_GRAPH);
  image_end(f);
}
static void much_metadata(onnx_image *f) {
  image_model(f, 17);
  for (unsigned i = 0; i < 1000000; i++) image_raw(f, "\x72\0", 2);
  image_begin(f, MODEL_GRAPH);
  image_end(f);
}
static void long_name(onnx_image *f) {
  char *name = malloc(1 << 22);
  memset(name, 'a', (1 << 22) - 1);
  name[(1 << 22) - 1] = '\0';
  begin(f);
  image_node(f, name, "-", "y", "");
  image_end(f);
  free(name);
}

TEST(counts) {
  static const hostile cases[] = {
    HOSTILE(million_nodes, RLX_UNSUPPORTED, "1000000 nodes, expected at most"),
    HOSTILE(many_nodes, RLX_UNSUPPORTED, "N (ai.onnx 17), 131072 nodes"),
    HOSTILE(long_chain, RLX_OK, ""),
    HOSTILE(many_outputs, RLX_INVALID, "Split"),
    HOSTILE(many_texts, RLX_UNSUPPORTED, "a node of 4000000 inputs"),
    HOSTILE(many_attributes, RLX_UNSUPPORTED, "300000 attributes"),
    HOSTILE(attributes_of_many, RLX_UNSUPPORTED, "more memory"),
    HOSTILE(many_numbers, RLX_UNSUPPORTED, "numbers"),
    HOSTILE(many_initializers, RLX_UNSUPPORTED, "more memory than"),
    HOSTILE(too_many_initializers, RLX_UNSUPPORTED, "tensors"),
    HOSTILE(named_initializers, RLX_OK, ""),
    HOSTILE(many_dims, RLX_UNSUPPORTED, "numbers"),
    HOSTILE(many_axes, RLX_UNSUPPORTED, "sizes"),
    HOSTILE(many_strings, RLX_OK, ""),
    HOSTILE(many_functions, RLX_OK, ""),
    HOSTILE(many_opsets, RLX_UNSUPPORTED, "100001 opsets"),
    HOSTILE(much_metadata, RLX_UNSUPPORTED, "1000000 entries of metadata"),
    HOSTILE(long_name, RLX_INVALID, "a node's op has 4194303 bytes"),
  };
  CHECK_ALL(cases);
}

/* ---- depth ---- */

static void nested(onnx_image *f, int depth) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  for (int i = 0; i < depth; i++) {
    image_node_begin(f, "If", "x", "y", "");
    image_branch_begin(f, "then_branch");
  }
  for (int i = 0; i < depth; i++) {
    image_branch_end(f);
    image_end(f);
  }
  image_end(f);
}
static void nested_10000(onnx_image *f) { nested(f, 10000); }
static void nested_33(onnx_image *f) { nested(f, 33); }

/* n levels of functions, each calling the next twice. */
static void doubling(onnx_image *f, unsigned levels) {
  image_model(f, 17);
  for (unsigned i = 0; i < levels; i++) {
    image_begin(f, MODEL_FUNCTION);
    image_text(f, FUNCTION_NAME, number("F", i));
    image_text(f, FUNCTION_IN, "x");
    image_text(f, FUNCTION_OUT, "y");
    image_opset(f, FUNCTION_OPSET, "", 17);
    for (int k = 0; k < 2; k++) {
      image_begin(f, FUNCTION_NODE);
      image_text(f, NODE_IN, k ? "z" : "x");
      image_text(f, NODE_OUT, k ? "y" : "z");
      image_text(f, NODE_OP, i + 1 < levels ? number("F", i + 1) : "Relu");
      image_end(f);
    }
    image_end(f);
  }
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node(f, "F0", "x", "y", "");
  image_value(f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(f);
}
static void doubling_30(onnx_image *f) { doubling(f, 30); }
static void doubling_10(onnx_image *f) { doubling(f, 10); }
static void doubling_40(onnx_image *f) { doubling(f, 40); }
static void long_ring(onnx_image *f) { /* 100,000 functions, each calling the next */
  image_model(f, 17);
  for (unsigned i = 0; i < 100000; i++) {
    image_begin(f, MODEL_FUNCTION);
    image_text(f, FUNCTION_NAME, number("F", i));
    image_opset(f, FUNCTION_OPSET, "", 17);
    image_begin(f, FUNCTION_NODE);
    image_text(f, NODE_OP, number("F", (i + 1) % 100000));
    image_end(f);
    image_end(f);
  }
  image_begin(f, MODEL_GRAPH);
  image_end(f);
}

TEST(depth) {
  static const hostile cases[] = {
    HOSTILE(nested_10000, RLX_UNSUPPORTED, "graphs in graphs more than 32 deep"),
    HOSTILE(nested_33, RLX_UNSUPPORTED, "graphs in graphs more than 32 deep"),
    HOSTILE(doubling_10, RLX_OK, ""),
    HOSTILE(doubling_30, RLX_UNSUPPORTED, "nodes, with functions written out"),
    HOSTILE(doubling_40, RLX_UNSUPPORTED, "functions in functions more than 32 deep"),
    HOSTILE(long_ring, RLX_UNSUPPORTED, "functions in functions more than 32 deep"),
  };
  CHECK_ALL(cases);
}

/* ---- names that collide ---- */

/* With the hash's seed known, names of one slot could be chosen; without it the best is names that collide for one seed. */
TEST(colliding_names) {
  enum { N = 20000, SLOTS = 1 << 16 };
  onnx_image f = {0};
  cost c;
  unsigned found = 0;
  begin(&f);
  image_value(&f, GRAPH_INPUT, "x", 1, "2");
  for (unsigned i = 0; found < N && i < (1u << 27); i++) {
    const char *name = number("n", i);
    if ((rlx_text_hash(1, name) & (SLOTS - 1)) > 64) continue;
    image_node(&f, "Relu", "x", name, "");
    found++;
  }
  image_value(&f, GRAPH_OUTPUT, "x", 1, "2");
  image_end(&f);
  CHECK_EQ_INT(found, N);
  CHECK_OK(try_model(&f, &c));
  check_cost("colliding_names", f.n, 1, &c);
  image_free(&f);
}

/* ---- sizes ---- */

/* One op with a list of numbers that makes a large result, whose value is then asked for as a shape. */
static void sized(onnx_image *f, const char *op, const int64_t *sizes, size_t n) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_ints(f, GRAPH_INITIALIZER, "s", number("", (unsigned)n), sizes, n);
  image_ints(f, GRAPH_INITIALIZER, "one", "1", (const int64_t[]){1}, 1);
  image_node(f, op, strcmp(op, "ConstantOfShape") == 0 ? "s" : "one,s", "y", "");
  image_node(f, "Abs", "y", "z", "");
  image_value(f, GRAPH_OUTPUT, "z", 7, NULL);
  image_end(f);
}
static void constant_of_2_40(onnx_image *f) { sized(f, "ConstantOfShape", (const int64_t[]){1ll << 40}, 1); }
static void constant_wraps(onnx_image *f) { sized(f, "ConstantOfShape", (const int64_t[]){1ll << 32, 1ll << 32}, 2); }
static void constant_negative(onnx_image *f) { sized(f, "ConstantOfShape", (const int64_t[]){-5}, 1); }
static void expand_2_40(onnx_image *f) { sized(f, "Expand", (const int64_t[]){1ll << 40}, 1); }
static void expand_wraps(onnx_image *f) { sized(f, "Expand", (const int64_t[]){1ll << 62, 4, 1}, 3); }
static void tile_2_40(onnx_image *f) { sized(f, "Tile", (const int64_t[]){1ll << 40}, 1); }
static void tile_negative(onnx_image *f) { sized(f, "Tile", (const int64_t[]){-1}, 1); }

static void range(onnx_image *f, int64_t start, int64_t limit, int64_t delta) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_ints(f, GRAPH_INITIALIZER, "a", "", &start, 1);
  image_ints(f, GRAPH_INITIALIZER, "b", "", &limit, 1);
  image_ints(f, GRAPH_INITIALIZER, "c", "", &delta, 1);
  image_node(f, "Range", "a,b,c", "y", "");
  image_value(f, GRAPH_OUTPUT, "y", 7, NULL);
  image_end(f);
}
static void range_2_40(onnx_image *f) { range(f, 0, 1ll << 40, 1); }
static void range_all(onnx_image *f) { range(f, INT64_MIN, INT64_MAX, 1); }
static void range_step_0(onnx_image *f) { range(f, 0, 5, 0); }
static void range_empty(onnx_image *f) { range(f, INT64_MAX, INT64_MIN, 1); }

/* What is not too large to be said, but to be computed on the way. */
static void asked_large(onnx_image *f) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_ints(f, GRAPH_INITIALIZER, "s", "1", (const int64_t[]){1 << 30}, 1);
  image_node(f, "ConstantOfShape", "s", "y", "");
  image_node(f, "NonZero", "y", "z", "");
  image_value(f, GRAPH_OUTPUT, "z", 7, NULL);
  image_end(f);
}

TEST(sizes) {
  SKIP_WITH_32_BITS();
  static const hostile cases[] = {
    HOSTILE(constant_of_2_40, RLX_UNSUPPORTED, "ConstantOfShape"),
    HOSTILE(constant_wraps, RLX_UNSUPPORTED, "ConstantOfShape"),
    HOSTILE(constant_negative, RLX_INVALID, "ConstantOfShape"),
    HOSTILE(expand_2_40, RLX_UNSUPPORTED, "Expand"),
    HOSTILE(expand_wraps, RLX_UNSUPPORTED, "Expand"),
    HOSTILE(tile_2_40, RLX_UNSUPPORTED, "Tile"),
    HOSTILE(tile_negative, RLX_INVALID, "Tile"),
    HOSTILE(range_2_40, RLX_UNSUPPORTED, "Range"),
    HOSTILE(range_all, RLX_UNSUPPORTED, "Range"),
    HOSTILE(range_step_0, RLX_INVALID, "Range"),
    HOSTILE(range_empty, RLX_OK, ""),
    HOSTILE(asked_large, RLX_OK, ""), /* the graph ends before NonZero */
  };
  CHECK_ALL(cases);
}

/* ---- loops ---- */

/* A loop of `trips` (NULL: no limit) whose condition stays what it was; its body doubles x in `nodes` steps. */
static void loop(onnx_image *f, const int64_t *trips, bool scans, unsigned nodes) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  if (trips) image_ints(f, GRAPH_INITIALIZER, "m", "", trips, 1);
  image_tensor(f, GRAPH_INITIALIZER, "c", 9, "", "\1", 1);
  image_node_begin(f, "Loop", trips ? "m,c,x" : ",c,x", scans ? "y,s" : "y", "");
  image_branch_begin(f, "body");
  image_value(f, GRAPH_INPUT, "i", 7, "");
  image_value(f, GRAPH_INPUT, "go", 9, "");
  image_value(f, GRAPH_INPUT, "a0", 1, "2");
  image_node(f, "Identity", "go", "on", "");
  for (unsigned i = 0; i < nodes; i++) {
    char in[64];
    snprintf(in, sizeof in, "a%u,a%u", i, i);
    image_node(f, "Add", in, number("a", i + 1), "");
  }
  image_value(f, GRAPH_OUTPUT, "on", 9, "");
  image_value(f, GRAPH_OUTPUT, number("a", nodes), 1, NULL);
  if (scans) image_value(f, GRAPH_OUTPUT, "i", 7, NULL);
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(f);
}
static void loop_of_3(onnx_image *f) { loop(f, &(const int64_t){3}, true, 1); }
static void loop_without_end(onnx_image *f) { loop(f, NULL, false, 1); }
static void loop_of_all_trips(onnx_image *f) { loop(f, &(const int64_t){INT64_MAX}, false, 1); }
static void loop_that_scans(onnx_image *f) { loop(f, &(const int64_t){INT64_MAX}, true, 1); }
static void loop_of_nothing(onnx_image *f) { loop(f, NULL, false, 0); }
static void loop_of_much(onnx_image *f) { loop(f, &(const int64_t){1ll << 40}, false, 1000); }
static void loop_of_minus_1(onnx_image *f) { loop(f, &(const int64_t){-1}, false, 1); }

/* Each trip doubles what is carried. */
static void loop_that_grows(onnx_image *f) {
  begin(f);
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_tensor(f, GRAPH_INITIALIZER, "c", 9, "", "\1", 1);
  image_node_begin(f, "Loop", ",c,x", "y", "");
  image_branch_begin(f, "body");
  image_value(f, GRAPH_INPUT, "i", 7, "");
  image_value(f, GRAPH_INPUT, "go", 9, "");
  image_value(f, GRAPH_INPUT, "a", 1, NULL);
  image_node(f, "Concat", "a,a", "b", "axis=0");
  image_value(f, GRAPH_OUTPUT, "go", 9, "");
  image_value(f, GRAPH_OUTPUT, "b", 1, NULL);
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(f);
}

/* Whether it goes on is computed: each trip is a graph of its own. With a real runner, which a limit has to stop. */
TEST(loop_on_values) {
  onnx_image f = {0};
  rlx_onnx *m;
  rlx_session *session;
  rlx_onnx_runner *r;
  float x[2] = {1, 2};
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(2), {x}, sizeof x}};
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .max_trips = 50};
  begin(&f);
  image_value(&f, GRAPH_INPUT, "x", 1, "2");
  image_tensor(&f, GRAPH_INITIALIZER, "c", 9, "", "\1", 1);
  image_node_begin(&f, "Loop", ",c,x", "y", "");
  image_branch_begin(&f, "body");
  image_value(&f, GRAPH_INPUT, "i", 7, "");
  image_value(&f, GRAPH_INPUT, "go", 9, "");
  image_value(&f, GRAPH_INPUT, "a", 1, "2");
  image_node(&f, "Add", "a,a", "b", "");
  image_node(&f, "ReduceMax", "b", "max", "keepdims=0");
  image_node(&f, "Equal", "max,max", "on", "");
  image_value(&f, GRAPH_OUTPUT, "on", 9, "");
  image_value(&f, GRAPH_OUTPUT, "b", 1, NULL);
  image_branch_end(&f);
  image_end(&f);
  image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session));
  CHECK_OK(rlx_onnx_runner_create(session, m, &o, &r));
  CHECK_FAILS(rlx_onnx_run(r, &in, 1), RLX_LIMIT, "not ended after 49 trips"); /* the first is not in the node */
  CHECK_FAILS(rlx_onnx_run(r, &in, 1), RLX_LIMIT, "not ended after 49 trips"); /* the first is not in the node */
  rlx_onnx_runner_destroy(r);
  rlx_session_destroy(session);
  rlx_onnx_close(m);
  image_free(&f);
}

TEST(loops) {
  static const hostile cases[] = {
    HOSTILE(loop_of_3, RLX_OK, ""),
    HOSTILE(loop_without_end, RLX_UNSUPPORTED, "Loop"),
    HOSTILE(loop_of_all_trips, RLX_UNSUPPORTED, "Loop"),
    HOSTILE(loop_that_scans, RLX_UNSUPPORTED, "Loop"),
    HOSTILE(loop_of_nothing, RLX_UNSUPPORTED, "Loop"),
    HOSTILE(loop_of_much, RLX_UNSUPPORTED, "Loop"),
    HOSTILE(loop_of_minus_1, RLX_OK, ""),
    HOSTILE(loop_that_grows, RLX_INVALID, "(Concat)"),
  };
  CHECK_ALL(cases);
}
