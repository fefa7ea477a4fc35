/* ONNX models as users run them: opening, looking, running with several sizes, cuts, branches, functions, and every call's refusals. */
#include <pthread.h>
#include <stdlib.h>

#include "faults.h"
#include "onnx_image.h"
#include "own_memory.h"
#include "rlx/onnx.h"
#include "test.h"

static rlx_status open_session(rlx_session **out) {
  return rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1}, out);
}

static rlx_named_tensor floats_of(const char *name, rlx_dims shape, float *v, size_t n) {
  return (rlx_named_tensor){name, {RLX_F32, shape, {v}, n * sizeof *v}};
}
static rlx_named_tensor ints_of(const char *name, rlx_dims shape, int64_t *v, size_t n) {
  return (rlx_named_tensor){name, {RLX_I64, shape, {v}, n * sizeof *v}};
}
static rlx_named_tensor flag_of(const char *name, uint8_t *v) {
  return (rlx_named_tensor){name, {RLX_BOOL, RLX_SCALAR, {v}, 1}};
}

/* A model, a session and a runner of it. */
typedef struct world {
  onnx_image f;
  rlx_session *session;
  rlx_onnx *model;
  rlx_onnx_runner *runner;
} world;

static rlx_status open_world(world *w) {
  rlx_status s = rlx_onnx_open_memory(w->f.v, w->f.n, NULL, &w->model);
  if (!s) s = open_session(&w->session);
  return s ? s : rlx_onnx_runner_create(w->session, w->model, NULL, &w->runner);
}

static void close_world(world *w) {
  rlx_onnx_runner_destroy(w->runner);
  rlx_onnx_close(w->model);
  rlx_session_destroy(w->session);
  image_free(&w->f);
  *w = (world){0};
}

/* Output i of the last run, as floats. */
static bool output_is(const rlx_onnx_runner *r, uint32_t i, const float *want, size_t n) {
  rlx_tensor t;
  if (rlx_onnx_runner_output(r, i, NULL, &t) || t.dtype != RLX_F32 || t.bytes != n * sizeof *want) return false;
  for (size_t k = 0; k < n; k++)
    if (((const float *)t.data)[k] != want[k]) return false;
  return true;
}

/* ---- a model of its own words ---- */

/* y = Relu(x) + w, z = x as it is */
static void simple(onnx_image *f) {
  image_model(f, 17);
  image_opset(f, MODEL_OPSET, "com.microsoft", 1);
  image_text(f, MODEL_PRODUCER, "tests");
  image_begin(f, MODEL_METADATA);
  image_text(f, 1, "author");
  image_text(f, 2, "nobody");
  image_end(f);
  image_begin(f, MODEL_GRAPH);
  image_text(f, GRAPH_NAME, "simple");
  image_value(f, GRAPH_INPUT, "x", 1, "N,2");
  image_floats(f, GRAPH_INITIALIZER, "w", "2", (const float[]){10, 20}, 2);
  image_node(f, "Relu", "x", "r", "");
  image_node(f, "Add", "r,w", "y", "");
  image_value(f, GRAPH_OUTPUT, "y", 1, "N,2");
  image_value(f, GRAPH_OUTPUT, "x", 1, "N,2");
  image_end(f);
}

TEST(describe) {
  onnx_image f = {0};
  rlx_onnx *m;
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  rlx_onnx_op_use use = {RLX_ONNX_OP_USE_INIT};
  rlx_onnx_weight weight = {RLX_ONNX_WEIGHT_INIT};
  rlx_tensor t;
  const char *text;
  int64_t version;
  simple(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_OK(rlx_onnx_describe(m, &info));
  CHECK_EQ_STR(info.producer, "tests");
  CHECK_EQ_STR(info.graph, "simple");
  CHECK(info.n_nodes == 2 && info.n_initializers == 1 && info.n_functions == 0 && info.ir_version == 8);
  CHECK(info.file_bytes == f.n && info.weight_bytes == 8);
  CHECK_EQ_STR(rlx_onnx_opset_at(m, 0, &version), "ai.onnx");
  CHECK(version == 17);
  CHECK_EQ_STR(rlx_onnx_opset_at(m, 1, NULL), "com.microsoft");
  CHECK(!rlx_onnx_opset_at(m, 2, NULL));
  CHECK_EQ_STR(rlx_onnx_metadata_at(m, 0, &text), "author");
  CHECK_EQ_STR(text, "nobody");
  CHECK(!rlx_onnx_metadata_at(m, 1, NULL));
  CHECK(rlx_onnx_input_count(m) == 1 && rlx_onnx_output_count(m) == 2);
  CHECK_OK(rlx_onnx_input_at(m, 0, &v));
  CHECK_EQ_STR(v.name, "x");
  CHECK_EQ_STR(v.type, "float");
  CHECK_EQ_STR(v.dim[0].symbol, "N");
  CHECK(v.dtype == RLX_F32 && v.rank == 2 && v.dim[0].size == -1 && v.dim[1].size == 2 && !v.has_default);
  CHECK_FAILS(rlx_onnx_input_at(m, 1, &v), RLX_NOT_FOUND, "input 1 of 1");
  CHECK_OK(rlx_onnx_output_at(m, 1, &v));
  CHECK_FAILS(rlx_onnx_output_at(m, 2, &v), RLX_NOT_FOUND, "output 2 of 2");
  CHECK(rlx_onnx_op_count(m) == 2);
  CHECK_OK(rlx_onnx_op_at(m, 0, &use));
  CHECK_EQ_STR(use.op, "Add");
  CHECK(use.n_uses == 1 && use.opset == 17 && use.supported);
  CHECK_FAILS(rlx_onnx_op_at(m, 2, &use), RLX_NOT_FOUND, "op 2 of 2");
  CHECK_OK(rlx_onnx_weight_at(m, 0, &weight));
  CHECK_EQ_STR(weight.name, "w");
  CHECK(weight.shape.n == 1 && weight.shape.v[0] == 2 && !weight.external);
  CHECK_FAILS(rlx_onnx_weight_at(m, 1, &weight), RLX_NOT_FOUND, "weight 1 of 1");
  CHECK_OK(rlx_onnx_weight_read(m, "w", &t));
  CHECK(t.bytes == 8 && ((const float *)t.data)[1] == 20);
  rlx_free(t.data);
  CHECK_FAILS(rlx_onnx_weight_read(m, "v", &t), RLX_NOT_FOUND, "no weight 'v'");
  rlx_onnx_close(m);
  image_free(&f);
}

TEST(nulls) {
  world w = {0};
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  rlx_onnx_op_use use = {RLX_ONNX_OP_USE_INIT};
  rlx_onnx_weight weight = {RLX_ONNX_WEIGHT_INIT};
  rlx_onnx_runner_part part = {RLX_ONNX_RUNNER_PART_INIT};
  rlx_tensor t;
  rlx_graph *g;
  rlx_onnx *m;
  rlx_onnx_runner *r;
  simple(&w.f);
  CHECK_OK(open_world(&w));
  CHECK_FAILS(rlx_onnx_open(NULL, NULL, &m), RLX_INVALID, "path is NULL");
  CHECK_FAILS(rlx_onnx_open("x", NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_onnx_open_memory(NULL, 4, NULL, &m), RLX_INVALID, "data is NULL");
  CHECK_FAILS(rlx_onnx_open_memory("x", 1, NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_onnx_supported(NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_describe(NULL, &info), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_describe(w.model, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_input_at(NULL, 0, &v), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_input_at(w.model, 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_output_at(NULL, 0, &v), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_output_at(w.model, 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_op_at(NULL, 0, &use), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_op_at(w.model, 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_weight_at(NULL, 0, &weight), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_weight_at(w.model, 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_weight_read(NULL, "w", &t), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_weight_read(w.model, NULL, &t), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_weight_read(w.model, "w", NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_tensor_read(NULL, NULL, 0, &t), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_tensor_read("x", NULL, 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_runner_create(NULL, w.model, NULL, &r), RLX_INVALID, "the session is NULL");
  CHECK_FAILS(rlx_onnx_runner_create(w.session, NULL, NULL, &r), RLX_INVALID, "the model is NULL");
  CHECK_FAILS(rlx_onnx_runner_create(w.session, w.model, NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_onnx_runner_create(w.session, w.model, &(rlx_onnx_options){.struct_bytes = 3}, &r), RLX_INVALID,
              "struct_bytes is 3");
  CHECK_FAILS(rlx_onnx_run(NULL, NULL, 0), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_run(w.runner, NULL, 1), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_runner_output(NULL, 0, NULL, &t), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_runner_output(w.runner, 0, NULL, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_runner_part_at(NULL, 0, &part), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_runner_part_at(w.runner, 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_graph(NULL, NULL, NULL, 0, &g, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, NULL, 0, NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, NULL, 1, &g, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_onnx_load(NULL, NULL, NULL, NULL), RLX_INVALID, "NULL");
  CHECK(!rlx_onnx_input_count(NULL) && !rlx_onnx_output_count(NULL) && !rlx_onnx_op_count(NULL) &&
        !rlx_onnx_runner_part_count(NULL));
  CHECK(!rlx_onnx_runner_compile_count(NULL) && !rlx_onnx_opset_at(NULL, 0, NULL) &&
        !rlx_onnx_metadata_at(NULL, 0, NULL));
  rlx_onnx_close(NULL);
  rlx_onnx_runner_destroy(NULL);
  close_world(&w);
}

/* ---- runs ---- */

TEST(each_size_is_compiled_once) {
  world w = {0};
  float x[6] = {-1, 1, 2, -2, 3, 3};
  rlx_tensor t;
  const char *name;
  simple(&w.f);
  CHECK_OK(open_world(&w));
  CHECK_FAILS(rlx_onnx_runner_output(w.runner, 0, NULL, &t), RLX_INVALID, "before a run");
  for (int round = 0; round < 3; round++) {
    rlx_named_tensor one = floats_of("x", RLX_DIMS(1, 2), x, 2), three = floats_of("x", RLX_DIMS(3, 2), x, 6);
    CHECK_OK(rlx_onnx_run(w.runner, &one, 1));
    CHECK(output_is(w.runner, 0, (const float[]){10, 21}, 2));
    CHECK_OK(rlx_onnx_run(w.runner, &three, 1));
    CHECK(output_is(w.runner, 0, (const float[]){10, 21, 12, 20, 13, 23}, 6));
    CHECK(output_is(w.runner, 1, x, 6));
    CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 2);
  }
  CHECK_OK(rlx_onnx_runner_output(w.runner, 1, &name, &t));
  CHECK_EQ_STR(name, "x");
  CHECK_FAILS(rlx_onnx_runner_output(w.runner, 2, NULL, &t), RLX_NOT_FOUND, "output 2 of 2");
  CHECK_EQ_INT(rlx_onnx_runner_part_count(w.runner), 1);
  /* The model and the session may go first. */
  rlx_onnx_close(w.model);
  rlx_session_destroy(w.session);
  w.model = NULL;
  w.session = NULL;
  rlx_named_tensor two = floats_of("x", RLX_DIMS(2, 2), x, 4);
  CHECK_OK(rlx_onnx_run(w.runner, &two, 1));
  CHECK(output_is(w.runner, 0, (const float[]){10, 21, 12, 20}, 4));
  close_world(&w);
}

/* Hundreds of sizes with room for a few: results stay right, memory level, and the last sizes are not compiled again. */
/* The runner's memory is its session's; the model's, which others may use, is not. */
TEST(a_session_with_an_allocator) {
  own_memory m = {0};
  world w = {0};
  float x[] = {1, -2, 3, 4};
  simple(&w.f);
  CHECK_OK(rlx_onnx_open_memory(w.f.v, w.f.n, NULL, &w.model));
  CHECK_OK(own_session(&m, "cpu", 1, &w.session));
  size_t heap = rlx_mem_live() - atomic_load(&m.n_live);
  CHECK_OK(rlx_onnx_runner_create(w.session, w.model, NULL, &w.runner));
  for (int64_t rows = 1; rows <= 2; rows++)
    CHECK_OK(rlx_onnx_run(
      w.runner, &(rlx_named_tensor){"x", {RLX_F32, RLX_DIMS(rows, 2), {x}, (size_t)rows * 2 * sizeof *x}}, 1));
  CHECK(output_is(w.runner, 0, (const float[]){11, 20, 13, 24}, 4));
  CHECK(atomic_load(&m.n_live) > 20);
  CHECK_EQ_INT(rlx_mem_live() - atomic_load(&m.n_live), heap);
  close_world(&w);
  CHECK(own_is_whole(&m));
}

TEST(sizes_beyond_the_budget) {
  enum { SIZES = 400 };
  static float x[2 * SIZES];
  world w = {0};
  size_t blocks = 0;
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  simple(&w.f);
  for (int i = 0; i < 2 * SIZES; i++) x[i] = (float)(i % 5) - 2;
  CHECK_OK(rlx_onnx_open_memory(w.f.v, w.f.n, NULL, &w.model));
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1, .cache_bytes = 128 << 10};
  CHECK_OK(rlx_session_create(&desc, &w.session));
  CHECK_OK(rlx_onnx_runner_create(w.session, w.model, NULL, &w.runner));
  for (int64_t n = SIZES; n > 0; n--) { /* the largest first: scratch and outputs have their size then */
    rlx_tensor t;
    rlx_named_tensor in = floats_of("x", RLX_DIMS(n, 2), x, 2 * (size_t)n);
    CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
    const float *y = t.data, last = x[2 * n - 1] > 0 ? x[2 * n - 1] : 0;
    CHECK(t.shape.v[0] == n && y[0] == 10 && y[2 * n - 1] == 20 + last);
    if (n == SIZES - 100) blocks = rlx_mem_live();
  }
  CHECK(rlx_mem_live() <= blocks + 64);
  CHECK_OK(rlx_session_stats_get(w.session, &stats));
  CHECK(stats.cache_evicted > 100 && stats.cache_bytes <= stats.cache_budget);
  CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), SIZES);
  for (int64_t n = 2; n > 0; n--) {
    rlx_named_tensor in = floats_of("x", RLX_DIMS(n, 2), x, 2 * (size_t)n);
    CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
  }
  CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), SIZES);
  close_world(&w);
}

TEST(an_axis_of_no_elements) {
  world w = {0};
  simple(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor none = floats_of("x", RLX_DIMS(0, 2), NULL, 0);
  CHECK_OK(rlx_onnx_run(w.runner, &none, 1));
  CHECK(output_is(w.runner, 0, NULL, 0));
  close_world(&w);
}

TEST(bad_inputs) {
  world w = {0};
  float x[4] = {1, 2, 3, 4};
  int64_t k[2] = {1, 2};
  simple(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor good = floats_of("x", RLX_DIMS(1, 2), x, 2);
  rlx_named_tensor twice[2] = {good, good}, other[2] = {good, floats_of("q", RLX_DIMS(1, 2), x, 2)};
  rlx_named_tensor ints = ints_of("x", RLX_DIMS(1, 2), k, 2), flat = floats_of("x", RLX_DIMS(2), x, 2);
  rlx_named_tensor wide = floats_of("x", RLX_DIMS(1, 3), x, 3), nameless = floats_of(NULL, RLX_DIMS(1, 2), x, 2);
  rlx_named_tensor short_one = floats_of("x", RLX_DIMS(2, 2), x, 3), no_data = floats_of("x", RLX_DIMS(1, 2), NULL, 2);
  rlx_named_tensor rank = good, negative = floats_of("x", RLX_DIMS(-1, 2), x, 2), type = good;
  rank.tensor.shape.n = 99;
  type.tensor.dtype = (rlx_dtype)1000;
  CHECK_FAILS(rlx_onnx_run(w.runner, NULL, 0), RLX_INVALID, "input 'x' has no value");
  CHECK_FAILS(rlx_onnx_run(w.runner, twice, 2), RLX_INVALID, "input 'x' is given twice");
  CHECK_FAILS(rlx_onnx_run(w.runner, other, 2), RLX_NOT_FOUND, "no input 'q'");
  CHECK_FAILS(rlx_onnx_run(w.runner, &nameless, 1), RLX_INVALID, "input 0 has no name");
  CHECK_FAILS(rlx_onnx_run(w.runner, &ints, 1), RLX_INVALID, "input 'x' is i64, expected float");
  CHECK_FAILS(rlx_onnx_run(w.runner, &flat, 1), RLX_INVALID, "input 'x' has 1 axes, expected 2");
  CHECK_FAILS(rlx_onnx_run(w.runner, &wide, 1), RLX_INVALID, "axis 1 has 3 elements, expected 2");
  CHECK_FAILS(rlx_onnx_run(w.runner, &short_one, 1), RLX_INVALID, "input 'x': has 12 bytes");
  CHECK_FAILS(rlx_onnx_run(w.runner, &no_data, 1), RLX_INVALID, "input 'x': has no data");
  CHECK_FAILS(rlx_onnx_run(w.runner, &rank, 1), RLX_INVALID, "input 'x'");
  CHECK_FAILS(rlx_onnx_run(w.runner, &negative, 1), RLX_INVALID, "input 'x'");
  CHECK_FAILS(rlx_onnx_run(w.runner, &type, 1), RLX_INVALID, "input 'x'");
  /* A graph asks the same, but for missing data. */
  rlx_graph *g;
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, twice, 2, &g, NULL), RLX_INVALID, "input 'x' is given twice");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, other, 2, &g, NULL), RLX_NOT_FOUND, "no input 'q'");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, &nameless, 1, &g, NULL), RLX_INVALID, "input 0 has no name");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, &ints, 1, &g, NULL), RLX_INVALID, "input 'x' is i64");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, &short_one, 1, &g, NULL), RLX_INVALID, "has 12 bytes");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, &rank, 1, &g, NULL), RLX_INVALID, "input 'x'");
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, &type, 1, &g, NULL), RLX_INVALID, "input 'x'");
  CHECK_OK(rlx_onnx_run(w.runner, &good, 1)); /* none of it has hurt */
  CHECK(output_is(w.runner, 0, (const float[]){11, 22}, 2));
  close_world(&w);
}

TEST(inputs_are_converted) {
  world w = {0};
  double x[2] = {-3, 4};
  simple(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in = {"x", {RLX_F64, RLX_DIMS(1, 2), {x}, sizeof x}};
  for (int round = 0; round < 2; round++) {
    CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
    CHECK(output_is(w.runner, 0, (const float[]){10, 24}, 2));
    x[1]++;
    CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
    CHECK(output_is(w.runner, 0, (const float[]){10, 25}, 2));
    x[1]--;
  }
  close_world(&w);
}

/* Declared sizes whose product is none, with a 0 beside them or without. */
TEST(inputs_of_no_size) {
  static const char *const shapes[] = {"9223372036854775807,99,1", "0,9223372036854775807,99", "4294967296,4294967296"};
  for (size_t i = 0; i < 3; i++) {
    onnx_image f = {0};
    rlx_onnx *m;
    rlx_graph *g;
    image_model(&f, 17);
    image_begin(&f, MODEL_GRAPH);
    image_value(&f, GRAPH_INPUT, "x", 1, shapes[i]);
    image_node(&f, "Flatten", "x", "y", "axis=2");
    image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
    image_end(&f);
    CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
    CHECK_FAILS(rlx_onnx_graph(m, NULL, NULL, 0, &g, NULL), RLX_INVALID, "input 'x': a size that no memory has");
    rlx_onnx_close(m);
    image_free(&f);
  }
}

/* ---- sizes that depend on values ---- */

/* k = NonZero(x), y = Shape of it: a cut in the middle, and nodes on both sides. */
static void cut_model(onnx_image *f) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "x", 1, "N");
  image_node(f, "Relu", "x", "r", "");
  image_node(f, "NonZero", "r", "k", "");
  image_node(f, "Mul", "k,k", "k2", "");
  image_node(f, "Abs", "r", "a", "");
  image_value(f, GRAPH_OUTPUT, "k2", 7, NULL);
  image_value(f, GRAPH_OUTPUT, "a", 1, NULL);
  image_end(f);
}

TEST(cut_in_the_middle) {
  world w = {0};
  float x[4] = {-1, 5, 0, 2}, y[4] = {1, 1, 1, 1};
  rlx_tensor t;
  rlx_onnx_runner_part part = {RLX_ONNX_RUNNER_PART_INIT};
  cut_model(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor first = floats_of("x", RLX_DIMS(4), x, 4), second = floats_of("x", RLX_DIMS(4), y, 4);
  for (int round = 0; round < 3; round++) {
    CHECK_OK(rlx_onnx_run(w.runner, &first, 1));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
    CHECK(t.dtype == RLX_I64 && t.shape.n == 2 && t.shape.v[1] == 2 && ((int64_t *)t.data)[1] == 9);
    CHECK(output_is(w.runner, 1, (const float[]){0, 5, 0, 2}, 4));
    CHECK_OK(rlx_onnx_run(w.runner, &second, 1));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
    CHECK(t.shape.v[1] == 4 && ((int64_t *)t.data)[3] == 9);
    CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner),
                 3); /* the part before, and one after for two places and for four */
  }
  CHECK_EQ_INT(rlx_onnx_runner_part_count(w.runner), 3);
  CHECK_OK(rlx_onnx_runner_part_at(w.runner, 1, &part));
  CHECK(!part.executable && strstr(part.why, "NonZero"));
  CHECK_OK(rlx_onnx_runner_part_at(w.runner, 2, &part));
  CHECK(part.executable && !*part.why);
  CHECK_FAILS(rlx_onnx_runner_part_at(w.runner, 3, &part), RLX_NOT_FOUND, "no such part");
  rlx_graph *g;
  char *cut;
  CHECK_OK(rlx_onnx_graph(w.model, NULL, &first, 1, &g, &cut));
  CHECK(cut && strstr(cut, "NonZero"));
  rlx_free(cut);
  rlx_graph_destroy(g);
  CHECK_OK(rlx_onnx_graph(w.model, NULL, &first, 1, &g, NULL));
  rlx_graph_destroy(g);
  close_world(&w);
}

TEST(graph_without_cut) {
  onnx_image f = {0};
  rlx_onnx *m;
  rlx_graph *g;
  char *cut = "";
  rlx_binding n = {"N", 3}, bad = {"N", -3}, nameless = {NULL, 3};
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .bindings = &n, .n_bindings = 1};
  simple(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_FAILS(rlx_onnx_graph(m, NULL, NULL, 0, &g, &cut), RLX_INVALID, "no size is given for N");
  CHECK(!g && !cut);
  CHECK_OK(rlx_onnx_graph(m, &o, NULL, 0, &g, &cut));
  CHECK(g && !cut);
  rlx_graph_destroy(g);
  o.bindings = &bad;
  CHECK_FAILS(rlx_onnx_graph(m, &o, NULL, 0, &g, &cut), RLX_INVALID, "N is -3");
  o.bindings = &nameless;
  CHECK_FAILS(rlx_onnx_graph(m, &o, NULL, 0, &g, &cut), RLX_INVALID, "binding 0 has no symbol");
  o.bindings = NULL;
  CHECK_FAILS(rlx_onnx_graph(m, &o, NULL, 0, &g, &cut), RLX_INVALID, "bindings is NULL");
  o.struct_bytes = 1;
  CHECK_FAILS(rlx_onnx_graph(m, &o, NULL, 0, &g, &cut), RLX_INVALID, "struct_bytes is 1");
  rlx_onnx_close(m);
  image_free(&f);
}

/* An input that is data in one place and a shape in another. */
TEST(input_as_data_and_as_shape) {
  world w = {0};
  int64_t s[2] = {2, 1};
  rlx_tensor t;
  image_model(&w.f, 17);
  image_begin(&w.f, MODEL_GRAPH);
  image_value(&w.f, GRAPH_INPUT, "s", 7, "2");
  image_node(&w.f, "Add", "s,s", "d", "");
  image_node(&w.f, "Reshape", "d,s", "e", "");
  image_node(&w.f, "Mul", "e,s", "y", "");
  image_value(&w.f, GRAPH_OUTPUT, "y", 7, NULL);
  image_end(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in = ints_of("s", RLX_DIMS(2), s, 2);
  for (int round = 0; round < 2; round++) {
    CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
    CHECK(t.shape.n == 2 && t.shape.v[0] == 2 && t.shape.v[1] == 2 && ((int64_t *)t.data)[0] == 8);
  }
  s[0] = 1, s[1] = 2;
  CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
  CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
  CHECK(t.shape.v[0] == 1 && ((int64_t *)t.data)[1] == 8);
  s[0] = 3;
  CHECK_FAILS(rlx_onnx_run(w.runner, &in, 1), RLX_INVALID, "(Reshape)");
  s[0] = 2, s[1] = 1;
  CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
  rlx_graph *g;
  char *cut;
  CHECK_OK(rlx_onnx_graph(w.model, NULL, &in, 1, &g, &cut));
  CHECK(!cut);
  rlx_graph_destroy(g);
  in.tensor.data = NULL;
  in.tensor.bytes = 0;
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, &in, 1, &g, &cut), RLX_INVALID, "what input 's' holds");
  close_world(&w);
}

/* ---- branches ---- */

static void branch(onnx_image *f, const char *name, const char *op, const char *out) {
  image_branch_begin(f, name);
  image_node(f, op, "x", out, "");
  image_value(f, GRAPH_OUTPUT, out, 1, NULL);
  image_branch_end(f);
}

static void if_model(onnx_image *f) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "c", 9, "");
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node_begin(f, "If", "c", "b", "");
  branch(f, "then_branch", "Relu", "t");
  branch(f, "else_branch", "Abs", "e");
  image_end(f);
  image_node(f, "Add", "b,x", "y", "");
  image_value(f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(f);
}

TEST(both_branches) {
  world w = {0};
  float x[2] = {-1, 2};
  uint8_t c = 0;
  if_model(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in[2] = {flag_of("c", &c), floats_of("x", RLX_DIMS(2), x, 2)};
  for (int round = 0; round < 3; round++) {
    c = 1;
    CHECK_OK(rlx_onnx_run(w.runner, in, 2));
    CHECK(output_is(w.runner, 0, (const float[]){-1, 4}, 2));
    c = 0;
    CHECK_OK(rlx_onnx_run(w.runner, in, 2));
    CHECK(output_is(w.runner, 0, (const float[]){0, 4}, 2));
    CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 2);
  }
  c = 7;
  CHECK_FAILS(rlx_onnx_run(w.runner, in, 2), RLX_INVALID, "input 'c': element 0 is 7, not 0 or 1");
  close_world(&w);
}

/* Sums of what was so far, three trips; the sums, and each of them. */
static void loop_model(onnx_image *f) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "n", 7, "");
  image_value(f, GRAPH_INPUT, "x", 1, "2");
  image_node_begin(f, "Loop", "n,,x", "y,all", "");
  image_branch_begin(f, "body");
  image_value(f, GRAPH_INPUT, "i", 7, "");
  image_value(f, GRAPH_INPUT, "go", 9, "");
  image_value(f, GRAPH_INPUT, "a", 1, "2");
  image_node(f, "Add", "a,x", "b", "");
  image_value(f, GRAPH_OUTPUT, "go", 9, "");
  image_value(f, GRAPH_OUTPUT, "b", 1, "2");
  image_value(f, GRAPH_OUTPUT, "i", 7, "");
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "y", 1, "2");
  image_value(f, GRAPH_OUTPUT, "all", 7, NULL);
  image_end(f);
}

TEST(loop_by_an_input) {
  world w = {0};
  float x[2] = {1, 2};
  int64_t n;
  rlx_tensor t;
  loop_model(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in[2] = {ints_of("n", RLX_SCALAR, &n, 1), floats_of("x", RLX_DIMS(2), x, 2)};
  for (int round = 0; round < 2; round++)
    for (n = 0; n < 4; n++) {
      CHECK_OK(rlx_onnx_run(w.runner, in, 2));
      CHECK(output_is(w.runner, 0, (const float[]){(float)(n + 1), (float)(2 * n + 2)}, 2));
      CHECK_OK(rlx_onnx_runner_output(w.runner, 1, NULL, &t));
      CHECK(t.shape.n == 1 && t.shape.v[0] == n && (n == 0 || ((int64_t *)t.data)[n - 1] == n - 1));
    }
  CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 4);
  close_world(&w);
}

/* ---- loops that are one node ---- */

static uint32_t count_nodes(const rlx_graph *g, const char *op) {
  uint32_t n = 0;
  for (rlx_node id = 1; id <= rlx_graph_size(g); id++) n += strcmp(rlx_node_op(g, id), op) == 0;
  return n;
}

/* Many trips of a body whose shapes hold: one node, with what it reads around it captured; few trips are written out. */
TEST(a_loop_of_many_trips_is_one_node) {
  world w = {0};
  float x[2] = {1, 2};
  int64_t n = 100;
  rlx_tensor t;
  rlx_graph *g;
  char *cut;
  loop_model(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in[2] = {ints_of("n", RLX_SCALAR, &n, 1), floats_of("x", RLX_DIMS(2), x, 2)};
  for (int round = 0; round < 2; round++) {
    CHECK_OK(rlx_onnx_run(w.runner, in, 2));
    CHECK(output_is(w.runner, 0, (const float[]){101, 202}, 2));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 1, NULL, &t));
    CHECK(t.shape.n == 1 && t.shape.v[0] == 100 && ((int64_t *)t.data)[0] == 0 && ((int64_t *)t.data)[99] == 99);
  }
  CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 1);
  CHECK_OK(rlx_onnx_graph(w.model, NULL, in, 2, &g, &cut));
  CHECK(!cut && count_nodes(g, "scan") == 2 && count_nodes(g, "add") == 0);
  rlx_graph_destroy(g);
  n = 5;
  CHECK_OK(rlx_onnx_graph(w.model, NULL, in, 2, &g, &cut));
  CHECK(!cut && count_nodes(g, "scan") == 0 && count_nodes(g, "add") == 5);
  rlx_graph_destroy(g);
  n = 100; /* where the host may not run anything */
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST};
  CHECK_OK(rlx_onnx_graph(w.model, &o, in, 2, &g, &cut));
  CHECK(!cut && count_nodes(g, "scan") == 0 && count_nodes(g, "add") == 100);
  rlx_graph_destroy(g);
  close_world(&w);
}

/* Doubles a until its first element is no longer below the limit, or 5 trips are over; k counts the trips. */
static void while_model(onnx_image *f, bool has_max, bool has_product) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  if (has_max) image_ints(f, GRAPH_INITIALIZER, "max", "", (const int64_t[]){5}, 1);
  image_floats(f, GRAPH_INITIALIZER, "w", "2,2", (const float[]){2, 0, 0, 2}, 4);
  image_value(f, GRAPH_INPUT, "limit", 1, "");
  image_value(f, GRAPH_INPUT, "x", 1, "1,2");
  image_ints(f, GRAPH_INITIALIZER, "zero", "", (const int64_t[]){0}, 1);
  image_node_begin(f, "Loop", has_max ? "max,,x,zero" : ",,x,zero", "y,k", "");
  image_branch_begin(f, "body");
  image_value(f, GRAPH_INPUT, "i", 7, "");
  image_value(f, GRAPH_INPUT, "go", 9, "");
  image_value(f, GRAPH_INPUT, "a", 1, "1,2");
  image_value(f, GRAPH_INPUT, "before", 7, "");
  if (has_product) image_node(f, "MatMul", "a,w", "b", "");
  else image_node(f, "Add", "a,a", "b", "");
  image_ints(f, GRAPH_INITIALIZER, "one", "", (const int64_t[]){1}, 1);
  image_node(f, "Add", "i,one", "count", "");
  image_node(f, "ReduceMin", "b", "part", "axes=[1]");
  image_node(f, "Less", "part,limit", "less", "");
  image_node(f, "Squeeze", "less", "on", "");
  image_value(f, GRAPH_OUTPUT, "on", 9, "");
  image_value(f, GRAPH_OUTPUT, "b", 1, "1,2");
  image_value(f, GRAPH_OUTPUT, "count", 7, "");
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "y", 1, "1,2");
  image_value(f, GRAPH_OUTPUT, "k", 7, "");
  image_end(f);
}

/* A condition that a run gives: the first trip, then one node; other values follow without another compile. */
TEST(a_loop_that_its_values_end) {
  for (int kind = 0; kind < 4; kind++) {
    bool has_max = kind & 1, has_product = kind & 2;
    world w = {0};
    float x[2] = {1, 2}, limit;
    rlx_tensor t;
    while_model(&w.f, has_max, has_product);
    CHECK_OK(open_world(&w));
    rlx_named_tensor in[2] = {floats_of("limit", RLX_SCALAR, &limit, 1), floats_of("x", RLX_DIMS(1, 2), x, 2)};
    for (int trips = 1; trips < 9; trips++) {
      float scale = (float)(1 << (has_max && trips > 5 ? 5 : trips));
      limit = (float)(1 << trips);
      CHECK_OK(rlx_onnx_run(w.runner, in, 2));
      CHECK(output_is(w.runner, 0, (const float[]){scale, 2 * scale}, 2));
      CHECK_OK(rlx_onnx_runner_output(w.runner, 1, NULL, &t));
      CHECK_EQ_INT(*(int64_t *)t.data, has_max && trips > 5 ? 5 : trips);
      if (!has_product) CHECK_EQ_INT(rlx_onnx_runner_part_count(w.runner), 1);
    }
    if (!has_product) CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 1);
    else CHECK(rlx_onnx_runner_compile_count(w.runner) > 1); /* looked at after each trip: the host would be slow */
    close_world(&w);
  }
}

/* The bound on trips holds in the node, too; a loop that ends by itself just then is fine. */
TEST(a_loop_that_its_values_do_not_end) {
  world w = {0};
  float x[2] = {1, 2}, limit = 8;
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .max_trips = 3};
  while_model(&w.f, false, false);
  CHECK_OK(rlx_onnx_open_memory(w.f.v, w.f.n, NULL, &w.model));
  CHECK_OK(open_session(&w.session));
  CHECK_OK(rlx_onnx_runner_create(w.session, w.model, &o, &w.runner));
  rlx_named_tensor in[2] = {floats_of("limit", RLX_SCALAR, &limit, 1), floats_of("x", RLX_DIMS(1, 2), x, 2)};
  CHECK_OK(rlx_onnx_run(w.runner, in, 2));
  CHECK(output_is(w.runner, 0, (const float[]){8, 16}, 2));
  limit = 9;
  CHECK_FAILS(rlx_onnx_run(w.runner, in, 2), RLX_LIMIT, "has not ended after 2 trips");
  close_world(&w);
}

/* a goes round as a + row; y stacks what was so far along axis 1, both backwards or both forwards. */
static void scan_model(onnx_image *f, const char *attributes) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "a", 1, "2");
  image_value(f, GRAPH_INPUT, "x", 1, "2,N");
  image_node_begin(f, "Scan", "a,x", "last,all", attributes);
  image_branch_begin(f, "body");
  image_value(f, GRAPH_INPUT, "p", 1, "2");
  image_value(f, GRAPH_INPUT, "s", 1, "2");
  image_node(f, "Add", "p,s", "q", "");
  image_node(f, "Identity", "q", "r", "");
  image_value(f, GRAPH_OUTPUT, "q", 1, "2");
  image_value(f, GRAPH_OUTPUT, "r", 1, "2");
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "last", 1, "2");
  image_value(f, GRAPH_OUTPUT, "all", 1, NULL);
  image_end(f);
}

TEST(a_scan_along_other_axes_and_backwards) {
  enum { N = 40 };
  float a[2] = {100, 200}, x[2 * N];
  for (int i = 0; i < 2 * N; i++) x[i] = (float)(i % N);
  for (int back = 0; back < 2; back++) {
    world w = {0};
    rlx_tensor t;
    scan_model(&w.f, back ? "num_scan_inputs=1 scan_input_axes=[1] scan_output_axes=[1] scan_input_directions=[1] "
                            "scan_output_directions=[1]"
                          : "num_scan_inputs=1 scan_input_axes=[1] scan_output_axes=[1]");
    CHECK_OK(open_world(&w));
    rlx_named_tensor in[2] = {floats_of("a", RLX_DIMS(2), a, 2), floats_of("x", RLX_DIMS(2, N), x, 2 * N)};
    CHECK_OK(rlx_onnx_run(w.runner, in, 2));
    CHECK(output_is(w.runner, 0, (const float[]){100 + N * (N - 1) / 2, 200 + N * (N - 1) / 2}, 2));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 1, NULL, &t));
    const float *y = t.data, first = back ? 100 + N * (N - 1) / 2 : 100;
    CHECK(t.shape.n == 2 && t.shape.v[0] == 2 && t.shape.v[1] == N);
    CHECK(y[0] == first && y[N] == first + 100 && y[N - 1] == (back ? 100 + N - 1 : 100 + N * (N - 1) / 2));
    close_world(&w);
  }
}

/* A body whose value grows is written out, and so is one that looks at what it holds. */
static void growing_model(onnx_image *f) {
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "n", 7, "");
  image_value(f, GRAPH_INPUT, "x", 1, "1");
  image_node_begin(f, "Loop", "n,,x", "y", "");
  image_branch_begin(f, "body");
  image_value(f, GRAPH_INPUT, "i", 7, "");
  image_value(f, GRAPH_INPUT, "go", 9, "");
  image_value(f, GRAPH_INPUT, "a", 1, NULL);
  image_node(f, "Concat", "a,x", "b", "axis=0");
  image_value(f, GRAPH_OUTPUT, "go", 9, "");
  image_value(f, GRAPH_OUTPUT, "b", 1, NULL);
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(f);
}

TEST(a_loop_whose_value_grows) {
  world w = {0};
  float x[1] = {3};
  int64_t n = 50;
  rlx_tensor t;
  growing_model(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in[2] = {ints_of("n", RLX_SCALAR, &n, 1), floats_of("x", RLX_DIMS(1), x, 1)};
  CHECK_OK(rlx_onnx_run(w.runner, in, 2));
  CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
  CHECK(t.shape.n == 1 && t.shape.v[0] == 51 && ((float *)t.data)[50] == 3);
  close_world(&w);
}

/* ---- functions, defaults, weights ---- */

/* F(x) = Softmax(x, axis = @a) with a = 0 by default; the model calls it once with a = 1 and once without. */
static void function_model(onnx_image *f) {
  image_model(f, 17);
  image_opset(f, MODEL_OPSET, "my", 1);
  image_begin(f, MODEL_FUNCTION);
  image_text(f, FUNCTION_NAME, "F");
  image_text(f, FUNCTION_DOMAIN, "my");
  image_text(f, FUNCTION_IN, "x");
  image_text(f, FUNCTION_IN, "left_out");
  image_text(f, FUNCTION_OUT, "y");
  image_begin(f, FUNCTION_DEFAULT);
  image_text(f, ATTRIBUTE_NAME, "a");
  image_int(f, ATTRIBUTE_INT, 0);
  image_int(f, ATTRIBUTE_TYPE, 2);
  image_end(f);
  image_opset(f, FUNCTION_OPSET, "", 17);
  image_begin(f, FUNCTION_NODE);
  image_text(f, NODE_IN, "x");
  image_text(f, NODE_OUT, "y");
  image_text(f, NODE_OP, "Softmax");
  image_attributes(f, "axis=@a");
  image_end(f);
  image_end(f);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "x", 1, "2,1");
  image_node_begin(f, "F", "x", "p", "a=1");
  image_text(f, NODE_DOMAIN, "my");
  image_end(f);
  image_node_begin(f, "F", "x", "q", "");
  image_text(f, NODE_DOMAIN, "my");
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "p", 1, NULL);
  image_value(f, GRAPH_OUTPUT, "q", 1, NULL);
  image_end(f);
}

TEST(functions_with_attributes) {
  world w = {0};
  float x[2] = {3, 3};
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  function_model(&w.f);
  CHECK_OK(open_world(&w));
  CHECK_OK(rlx_onnx_describe(w.model, &info));
  CHECK(info.n_functions == 1 && info.n_nodes == 3);
  rlx_named_tensor in = floats_of("x", RLX_DIMS(2, 1), x, 2);
  CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
  CHECK(output_is(w.runner, 0, (const float[]){1, 1}, 2));
  CHECK(output_is(w.runner, 1, (const float[]){0.5f, 0.5f}, 2));
  close_world(&w);
}

TEST(input_with_default) {
  world w = {0};
  float x[2] = {1, 2}, bias[2] = {5, 5};
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  image_model(&w.f, 17);
  image_begin(&w.f, MODEL_GRAPH);
  image_value(&w.f, GRAPH_INPUT, "x", 1, "2");
  image_value(&w.f, GRAPH_INPUT, "b", 1, "2");
  image_floats(&w.f, GRAPH_INITIALIZER, "b", "2", (const float[]){10, 20}, 2);
  image_node(&w.f, "Add", "x,b", "y", "");
  image_value(&w.f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(&w.f);
  CHECK_OK(open_world(&w));
  CHECK_OK(rlx_onnx_input_at(w.model, 1, &v));
  CHECK(v.has_default);
  rlx_named_tensor in[2] = {floats_of("x", RLX_DIMS(2), x, 2), floats_of("b", RLX_DIMS(2), bias, 2)};
  for (int round = 0; round < 2; round++) {
    CHECK_OK(rlx_onnx_run(w.runner, in, 1));
    CHECK(output_is(w.runner, 0, (const float[]){11, 22}, 2));
    CHECK_OK(rlx_onnx_run(w.runner, in, 2));
    CHECK(output_is(w.runner, 0, (const float[]){6, 7}, 2));
  }
  CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 2);
  close_world(&w);
}

/* A weight above a KiB is a param, read once for all sizes; the same in a branch, where its name may be another's, too. */
static void weight_model(onnx_image *f) {
  static float big[512];
  for (int i = 0; i < 512; i++) big[i] = (float)i;
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "x", 1, "N,512");
  image_value(f, GRAPH_INPUT, "c", 9, "");
  image_floats(f, GRAPH_INITIALIZER, "w", "512", big, 512);
  image_node(f, "Add", "x,w", "s", "");
  image_node_begin(f, "If", "c", "y", "");
  image_branch_begin(f, "then_branch");
  image_tensor(f, GRAPH_INITIALIZER, "w", 1, "512", big, sizeof big); /* hides the outer one */
  image_node(f, "Sub", "s,w", "t", "");
  image_value(f, GRAPH_OUTPUT, "t", 1, NULL);
  image_branch_end(f);
  image_branch_begin(f, "else_branch");
  image_node(f, "Add", "s,w", "e", "");
  image_value(f, GRAPH_OUTPUT, "e", 1, NULL);
  image_branch_end(f);
  image_end(f);
  image_value(f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(f);
}

TEST(weights_are_params) {
  world w = {0};
  float *x = calloc(1024, sizeof *x);
  uint8_t c = 0;
  rlx_tensor t;
  CHECK(x);
  weight_model(&w.f);
  CHECK_OK(open_world(&w));
  rlx_named_tensor in[2] = {floats_of("x", RLX_DIMS(1, 512), x, 512), flag_of("c", &c)};
  for (int64_t n = 1; n <= 2; n++)
    for (c = 0; c < 2; c++) {
      in[0] = floats_of("x", RLX_DIMS(n, 512), x, (size_t)n * 512);
      CHECK_OK(rlx_onnx_run(w.runner, in, 2));
      CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
      CHECK(((const float *)t.data)[n * 512 - 1] == (c ? 0 : 1022));
    }
  CHECK_EQ_INT(rlx_onnx_runner_compile_count(w.runner), 4);
  rlx_graph *g;
  c = 0;
  CHECK_OK(rlx_onnx_graph(w.model, NULL, in, 2, &g, NULL));
  bool has_param = false;
  for (rlx_node id = 1; id <= rlx_graph_size(g); id++)
    has_param |= strcmp(rlx_node_op(g, id), "param") == 0 && strcmp(rlx_node_name(g, id), "w") == 0;
  CHECK(has_param);
  rlx_weights *weights;
  CHECK_OK(rlx_weights_create(w.session, &weights));
  CHECK_OK(rlx_onnx_load(w.model, g, weights, NULL));
  CHECK(rlx_weights_has(weights, "w"));
  rlx_weights_destroy(weights);
  rlx_graph_destroy(g);
  free(x);
  close_world(&w);
}

/* A weight of more than 16 MiB comes from the file piece by piece: packed by rows where it is turned, as it is where it is added. */
TEST(large_weights_come_in_pieces) {
  enum { N = 2053, K = 2050 };
  world w = {0};
  rlx_tensor t;
  float *big = malloc(sizeof *big * N * K), *x = calloc(K, sizeof *x);
  CHECK(big && x);
  for (size_t i = 0; i < (size_t)N * K; i++) big[i] = (float)(i % 1021) - 500;
  image_model(&w.f, 17);
  image_begin(&w.f, MODEL_GRAPH);
  image_value(&w.f, GRAPH_INPUT, "x", 1, "1,2050");
  image_tensor(&w.f, GRAPH_INITIALIZER, "w", 1, "2053,2050", big, sizeof *big * N * K);
  image_tensor(&w.f, GRAPH_INITIALIZER, "v", 1, "2053,2050", big, sizeof *big * N * K);
  image_node(&w.f, "Gemm", "x,w", "y", "transB=1");
  image_node(&w.f, "Add", "x,v", "z", "");
  image_value(&w.f, GRAPH_OUTPUT, "y", 1, NULL);
  image_value(&w.f, GRAPH_OUTPUT, "z", 1, NULL);
  image_end(&w.f);
  CHECK_OK(open_world(&w));
  x[0] = 1, x[K - 1] = 2;
  rlx_named_tensor in = floats_of("x", RLX_DIMS(1, K), x, K);
  CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
  CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
  for (size_t i = 0; i < N; i++) CHECK(((const float *)t.data)[i] == big[i * K] + 2 * big[i * K + K - 1]);
  CHECK_OK(rlx_onnx_runner_output(w.runner, 1, NULL, &t));
  for (size_t i = 0; i < (size_t)N * K; i++) CHECK(((const float *)t.data)[i] == big[i] + x[i % K]);
  free(big);
  free(x);
  close_world(&w);
}

/* Outputs that no node computes: an initializer small and large, and one of strings, which there are not. */
TEST(outputs_without_nodes) {
  world w = {0};
  image_model(&w.f, 17);
  image_begin(&w.f, MODEL_GRAPH);
  image_floats(&w.f, GRAPH_INITIALIZER, "w", "2", (const float[]){1, 2}, 2);
  image_value(&w.f, GRAPH_OUTPUT, "w", 1, "2");
  image_end(&w.f);
  CHECK_OK(open_world(&w));
  CHECK_OK(rlx_onnx_run(w.runner, NULL, 0));
  CHECK(output_is(w.runner, 0, (const float[]){1, 2}, 2));
  close_world(&w);
  image_model(&w.f, 17);
  image_begin(&w.f, MODEL_GRAPH);
  image_tensor_begin(&w.f, GRAPH_INITIALIZER, "s", 8, "1");
  image_text(&w.f, TENSOR_STRINGS, "hello");
  image_end(&w.f);
  image_begin(&w.f, GRAPH_OUTPUT);
  image_text(&w.f, 1, "s");
  image_end(&w.f);
  image_end(&w.f);
  CHECK_OK(rlx_onnx_open_memory(w.f.v, w.f.n, NULL, &w.model));
  rlx_graph *g;
  CHECK_FAILS(rlx_onnx_graph(w.model, NULL, NULL, 0, &g, NULL), RLX_UNSUPPORTED, "output 's' is a tensor of string");
  close_world(&w);
}

/* Inputs and outputs of types that RLX does not have are all told. */
TEST(types_are_reported) {
  onnx_image f = {0};
  rlx_onnx *m;
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "a", 8, "1");
  image_value(&f, GRAPH_INPUT, "b", 15, "1");
  image_begin(&f, GRAPH_INPUT);
  image_text(&f, 1, "c");
  image_begin(&f, 2);
  image_begin(&f, 4); /* a sequence */
  image_end(&f);
  image_end(&f);
  image_end(&f);
  image_value(&f, GRAPH_OUTPUT, "a", 8, "1");
  image_end(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "input 'a': RLX has no tensors of string");
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "input 'b': RLX has no tensors of complex128");
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "input 'c': RLX has no sequences");
  CHECK_FAILS(rlx_onnx_supported(m), RLX_UNSUPPORTED, "output 'a': RLX has no tensors of string");
  rlx_onnx_close(m);
  image_free(&f);
}

/* The models above, which are also seeds of the fuzzer: RLX_CORPUS=FOLDER test_onnx seeds writes them. */
TEST(seeds_open) {
  static const struct {
    const char *name;
    void (*build)(onnx_image *f);
  } all[] = {
    {"simple", simple}, {"cut", cut_model}, {"if", if_model}, {"function", function_model}, {"loop", loop_model}};
  const char *folder = getenv("RLX_CORPUS");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    onnx_image f = {0};
    rlx_onnx *m;
    char path[256];
    all[i].build(&f);
    CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
    CHECK_OK(rlx_onnx_supported(m));
    rlx_onnx_close(m);
    snprintf(path, sizeof path, "%s/model-%s", folder ? folder : "", all[i].name);
    CHECK(!folder || image_write(&f, path));
    image_free(&f);
  }
}

/* ---- faults and threads ---- */

typedef struct job {
  void (*build)(onnx_image *f);
  rlx_named_tensor *in;
  size_t n;
} job;

/* The image is the test's own memory, which is not swept. */
static rlx_status whole_life(void *user) {
  const job *j = user;
  world w = {0};
  j->build(&w.f);
  rlx_status s = open_world(&w);
  if (!s) s = rlx_onnx_run(w.runner, j->in, j->n);
  if (!s) s = rlx_onnx_run(w.runner, j->in, j->n);
  close_world(&w);
  return s;
}

TEST(every_allocation_fails) {
  float x[4] = {-1, 5, 0, 2}, y[2] = {1, 2};
  uint8_t c = 1;
  rlx_named_tensor cut_in = floats_of("x", RLX_DIMS(4), x, 4),
                   in[2] = {flag_of("c", &c), floats_of("x", RLX_DIMS(2), y, 2)};
  rlx_named_tensor called = floats_of("x", RLX_DIMS(2, 1), y, 2);
  job cut = {cut_model, &cut_in, 1}, branches = {if_model, in, 2}, functions = {function_model, &called, 1};
  CHECK_OK(whole_life(&cut));
  CHECK_OK(alloc_sweep(whole_life, &cut));
  CHECK_OK(alloc_sweep(whole_life, &branches));
  CHECK_OK(alloc_sweep(whole_life, &functions));
}

/* A runner that ran out of memory in one run goes on with the next. */
TEST(runs_after_a_failed_one) {
  for (size_t at = 1; at < 200; at++) {
    world w = {0};
    float x[4] = {-1, 5, 0, 2};
    rlx_tensor t;
    rlx_named_tensor in = floats_of("x", RLX_DIMS(4), x, 4);
    cut_model(&w.f);
    CHECK_OK(open_world(&w));
    alloc_sweep_point point = {.fail_at = at};
    rlx_mem_set_hook(alloc_sweep_hook, &point);
    rlx_status s = rlx_onnx_run(w.runner, &in, 1);
    rlx_mem_set_hook(NULL, NULL);
    CHECK(s == RLX_OK || s == RLX_NO_MEMORY);
    CHECK_OK(rlx_onnx_run(w.runner, &in, 1));
    CHECK_OK(rlx_onnx_runner_output(w.runner, 0, NULL, &t));
    CHECK(t.shape.v[1] == 2 && ((int64_t *)t.data)[1] == 9);
    close_world(&w);
  }
}

typedef struct thread_job {
  rlx_session *session;
  rlx_onnx *model;
  bool ok;
} thread_job;

static void *run_in_thread(void *user) {
  thread_job *j = user;
  rlx_onnx_runner *r;
  float x[64] = {0};
  j->ok = rlx_onnx_runner_create(j->session, j->model, NULL, &r) == RLX_OK;
  for (int64_t n = 1; n <= 32 && j->ok; n++) {
    rlx_named_tensor in = floats_of("x", RLX_DIMS(n, 2), x, (size_t)n * 2);
    rlx_tensor t;
    j->ok = !rlx_onnx_run(r, &in, 1) && !rlx_onnx_runner_output(r, 0, NULL, &t) && ((float *)t.data)[2 * n - 1] == 20;
  }
  rlx_onnx_runner_destroy(r);
  return NULL;
}

TEST(two_threads) {
  onnx_image f = {0};
  rlx_onnx *m;
  rlx_session *s;
  pthread_t thread[2];
  simple(&f);
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_OK(open_session(&s));
  thread_job jobs[2] = {{s, m, false}, {s, m, false}};
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&thread[i], NULL, run_in_thread, &jobs[i]) == 0);
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  CHECK(jobs[0].ok && jobs[1].ok);
  rlx_onnx_close(m);
  rlx_session_destroy(s);
  image_free(&f);
}
