/* Models imported with symbols: the graph that a template is bound to equals the graph of an import for numbers, for models of
 * single features and for random ones; and runners give the same results at new sizes as new runners do. */
#include "faults.h"
#include "onnx/runner.h"
#include "onnx_image.h"
#include "rlx/onnx.h"
#include "test.h"

/* ---- the graph of an import for numbers ---- */

static rlx_status take_graph(void *user, rlx_graph *g, const onnx_live *in, size_t n_in, const onnx_live *out,
                             size_t n_out, const char *why) {
  (void)in, (void)n_in, (void)out, (void)n_out;
  if (why) return RLX_FAIL(RLX_UNSUPPORTED, "it is cut: %s", why);
  *(rlx_graph **)user = rlx_graph_retain(g);
  return RLX_OK;
}
static rlx_status take_value(void *user, uint32_t live, const void **bytes) {
  (void)user, (void)live, (void)bytes;
  return RLX_FAIL(RLX_UNSUPPORTED, "a value");
}
static rlx_status take_host(void *user, onnx_host_fn fn, const int64_t *p, const uint32_t *in, const rlx_tensor *known,
                            uint32_t n_in, uint32_t first, rlx_type *out, uint32_t n_out, const char *why) {
  (void)user, (void)fn, (void)p, (void)in, (void)known, (void)n_in, (void)first, (void)out, (void)n_out, (void)why;
  return RLX_FAIL(RLX_UNSUPPORTED, "a step of the host");
}

static rlx_graph *import_numbers(rlx_onnx *m, const onnx_input *in) {
  rlx_graph *g = NULL;
  onnx_client client = {&g, take_graph, take_value, take_host, false};
  if (onnx_import(m, in, 1, 0, &client) == RLX_OK) return g;
  rlx_graph_destroy(g);
  return NULL;
}

/* x: f32 [n, m, 4] */
static onnx_input input_of(int64_t n, int64_t m) {
  return (onnx_input){.name = "x", .type = {RLX_F32, RLX_DIMS(n, m, 4)}};
}

typedef struct counts {
  size_t made, bound;
} counts;

/* The template from two sizes, at others: each is refused, or the graph of the import for numbers. */
static void check_model(const onnx_image *f, counts *found) {
  static const int64_t sizes[][2] = {{6, 5}, {9, 5}, {3, 2}, {1, 5}, {5, 1}, {8, 12}, {2, 2}, {16, 7}, {4, 0}};
  const onnx_input first = input_of(4, 3), now = input_of(6, 5);
  rlx_onnx *m;
  onnx_template *t;
  CHECK_OK(rlx_onnx_open_memory(f->v, f->n, NULL, &m));
  if (onnx_template_make(m, &first, &now, 1, 0, false, &t) == RLX_OK) {
    found->made++;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      const onnx_input in = input_of(sizes[i][0], sizes[i][1]);
      rlx_graph *bound;
      rlx_status s = onnx_template_bind(t, &in, 1, &bound);
      rlx_graph *want = import_numbers(m, &in);
      if (s) {
        CHECK(i || !want); /* the samples bind, unless they are bad sizes */
        rlx_graph_destroy(want);
        continue;
      }
      if (!want || !rlx_graph_same(bound, want)) printf("at [%d, %d, 4]\n", (int)sizes[i][0], (int)sizes[i][1]);
      CHECK(want && rlx_graph_same(bound, want));
      rlx_graph_destroy(want);
      rlx_graph_destroy(bound);
      found->bound++;
    }
  }
  onnx_template_destroy(t);
  rlx_onnx_close(m);
}

/* ---- single features ---- */

static void begin_model(onnx_image *f) {
  static const int64_t small[] = {0, 1, 2, 3, -1, INT64_MAX, INT64_MIN + 1};
  static const char *const names[] = {"c0", "c1", "c2", "c3", "last", "far", "before"};
  image_model(f, 17);
  image_begin(f, MODEL_GRAPH);
  image_value(f, GRAPH_INPUT, "x", 1, "N,M,4");
  for (int i = 0; i < 7; i++) image_ints(f, GRAPH_INITIALIZER, names[i], "1", &small[i], 1);
  image_ints(f, GRAPH_INITIALIZER, "zero", "", &small[0], 1);
  image_ints(f, GRAPH_INITIALIZER, "one", "", &small[1], 1);
  image_floats(f, GRAPH_INITIALIZER, "w", "4,4", (const float[16]){1}, 16);
  image_ints(f, GRAPH_INITIALIZER, "pads", "6", (const int64_t[]){0, 1, 0, 2, -1, 0}, 6);
  image_node(f, "Shape", "x", "s", "");
  image_node(f, "Gather", "s,c0", "n", "axis=0"); /* [1] */
  image_node(f, "Gather", "s,c1", "m", "axis=0");
}

/* A list of "Op in out attributes" lines, of which the last makes y. */
static void check_nodes(const char *const (*nodes)[4], size_t n, bool is_made) {
  onnx_image f = {0};
  counts found = {0};
  begin_model(&f);
  for (size_t i = 0; i < n; i++) image_node(&f, nodes[i][0], nodes[i][1], nodes[i][2], nodes[i][3]);
  image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(&f);
  check_model(&f, &found);
  if (!test_has_failed() && (found.made == 1) != is_made) printf("%s .. y\n", nodes[0][0]);
  image_free(&f);
  CHECK((found.made == 1) == is_made);
}

#define NODES(is_made, ...)                                       \
  do {                                                            \
    const char *const nodes_[][4] = {__VA_ARGS__};                \
    check_nodes(nodes_, sizeof nodes_ / sizeof *nodes_, is_made); \
    if (test_has_failed()) return;                                \
  } while (0)

TEST(shapes_of_shapes) {
  NODES(true, {"Concat", "m,n,last", "t", "axis=0"}, {"Reshape", "x,t", "y", ""});
  NODES(true, {"Mul", "n,m", "p", ""}, {"Concat", "p,last", "t", "axis=0"}, {"Reshape", "x,t", "y", ""});
  NODES(true, {"Concat", "c0,last", "t", "axis=0"}, {"Reshape", "x,t", "y", ""});
  NODES(true, {"Div", "n,c2", "h", ""}, {"Slice", "x,c0,h,c0", "y", ""});
  NODES(true, {"Slice", "x,c1,far,c1", "y", ""});
  NODES(true, {"Slice", "x,c0,last,c0", "y", ""});
  NODES(true, {"Slice", "x,c3,n,c1", "y", ""}); /* whether 3 .. n is empty, or past the end, are guards */
  NODES(false, {"Slice", "x,last,before,c0,last", "y", ""});
  NODES(true, {"Cast", "s", "i", "to=6"}, {"Gather", "i,c1", "k", "axis=0"}, {"Cast", "k", "l", "to=7"},
        {"Concat", "last,l", "t", "axis=0"}, {"Reshape", "x,t", "y", ""});
  NODES(true, {"Equal", "s,last", "e", ""}, {"Where", "e,c1,s", "t", ""}, {"Expand", "w,c1", "u", ""},
        {"Reshape", "x,t", "y", ""});
  NODES(true, {"Squeeze", "n", "k", ""}, {"Range", "zero,k,one", "r", ""}, {"Cast", "r", "q", "to=1"},
        {"Unsqueeze", "q,c1", "q1", ""}, {"Unsqueeze", "q1,c2", "q2", ""}, {"Mul", "x,q2", "y", ""});
  NODES(true, {"Size", "x", "k", ""}, {"Reshape", "k,c1", "k1", ""}, {"Reshape", "x,k1", "y", ""});
  NODES(true, {"ConstantOfShape", "s", "z", ""}, {"Add", "x,z", "y", ""});
  NODES(true, {"Max", "n,m", "k", ""}, {"Concat", "k,last", "t", "axis=0"}, {"Slice", "x,c0,k,c1", "y", ""});
  NODES(true, {"Sub", "n,m", "k", ""}, {"Slice", "x,c0,k,c0", "y", ""});
  NODES(true, {"Cast", "m", "f", "to=1"}, {"Sqrt", "f", "r", ""}, {"Div", "x,r", "y", ""});
}

TEST(sizes_of_nodes) {
  NODES(true, {"Flatten", "x", "y", "axis=2"});
  NODES(true, {"Transpose", "x", "t", "perm=[2,0,1]"}, {"Flatten", "t", "y", "axis=1"});
  NODES(true, {"MatMul", "x,w", "y", ""});
  NODES(true, {"Transpose", "x", "t", "perm=[0,2,1]"}, {"MatMul", "x,t", "u", ""}, {"Softmax", "u", "y", "axis=-1"});
  NODES(true, {"Pad", "x,pads", "y", "mode='reflect'"});
  NODES(true, {"Split", "x", "y,z", "axis=0"}); /* an even number of elements: a guard */
  NODES(true, {"Concat", "x,x", "c", "axis=1"}, {"Tile", "c,s", "y", ""});
  NODES(true, {"Unsqueeze", "x,c0", "u", ""}, {"MaxPool", "u", "p", "kernel_shape=[2,2] strides=[2,1]"},
        {"AveragePool", "p", "y", "kernel_shape=[1,3] pads=[0,1,0,1]"});
  NODES(false, {"Unsqueeze", "x,c0", "u", ""}, {"MaxPool", "u", "p", "kernel_shape=[2,2] strides=[2,2] ceil_mode=1"},
        {"Relu", "p", "y", ""});
  NODES(false, {"Unsqueeze", "x,c0", "u", ""}, {"MaxPool", "u", "y", "kernel_shape=[2,2] auto_pad='SAME_UPPER'"});
  NODES(true, {"ReduceMean", "x", "r", "axes=[1]"}, {"Sub", "x,r", "y", ""});
  NODES(true, {"Squeeze", "x", "y", ""}); /* no size of one: guards */
  NODES(false, {"NonZero", "x", "i", ""}, {"Cast", "i", "y", "to=1"});
  NODES(false, {"Hardmax", "x", "y", ""}); /* not marked OPEN */
}

/* ---- random models ---- */

static uint32_t state = 1;
static uint32_t random_below(uint32_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; }

static const char *random_of(const char *const *v, size_t n) { return v[random_below((uint32_t)n)]; }

/* Adds a node that reads float values f0 .. and sizes i0 ..; most models that come of it are good ones. */
static void random_node(onnx_image *f, int k, int *n_floats, int *n_sizes) {
  static const char *const arithmetic[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
  static const char *const one[] = {"Relu", "Sigmoid", "Neg"}, *const two[] = {"Add", "Mul"};
  char in[80], out[16], attributes[64] = "";
  const char *op = NULL;
  int x = (int)random_below((uint32_t)*n_floats), y = (int)random_below((uint32_t)*n_floats);
  int i = (int)random_below((uint32_t)*n_sizes), j = (int)random_below((uint32_t)*n_sizes);
  bool is_size = false;
  uint32_t kind = random_below(14);
  snprintf(in, sizeof in, "f%d", x);
  switch (kind) {
    case 0: op = random_of(one, 3); break;
    case 1: op = random_of(two, 2), snprintf(in, sizeof in, "f%d,f%d", x, y); break;
    case 2:
      op = "Concat", snprintf(in, sizeof in, "f%d,f%d", x, y);
      snprintf(attributes, sizeof attributes, "axis=%d", (int)random_below(2));
      break;
    case 3: op = "Slice", snprintf(in, sizeof in, "f%d,i%d,i%d,c%d", x, i, j, (int)random_below(2)); break;
    case 4:
      op = "Slice", snprintf(in, sizeof in, "f%d,c%d,i%d,c%d", x, (int)random_below(3), j, (int)random_below(2));
      break;
    case 5:
      op = "Transpose";
      snprintf(attributes, sizeof attributes, "perm=[%s]", random_below(2) ? "1,0,2" : "2,1,0");
      break;
    case 6:
      snprintf(in, sizeof in, "i%d,%s", i, random_below(2) ? "last,c1" : "i0,last");
      snprintf(out, sizeof out, "t%d", k);
      image_node(f, "Concat", in, out, "axis=0");
      op = "Reshape", snprintf(in, sizeof in, "f%d,t%d", x, k);
      break;
    case 7:
      op = "ReduceMean";
      snprintf(attributes, sizeof attributes, "axes=[%d]", (int)random_below(3));
      break;
    case 8:
      op = "Softmax";
      snprintf(attributes, sizeof attributes, "axis=%d", (int)random_below(3));
      break;
    case 9:
      snprintf(out, sizeof out, "t%d", k);
      image_node(f, "Shape", in, out, "");
      op = "Gather", snprintf(in, sizeof in, "t%d,c%d", k, (int)random_below(3));
      is_size = true;
      break;
    default:
      op = random_of(arithmetic, 6), is_size = true;
      if (random_below(2)) snprintf(in, sizeof in, "i%d,i%d", i, j);
      else snprintf(in, sizeof in, "i%d,c%d", i, 1 + (int)random_below(3));
      break;
  }
  snprintf(out, sizeof out, "%c%d", is_size ? 'i' : 'f', is_size ? (*n_sizes)++ : (*n_floats)++);
  image_node(f, op, in, out, attributes);
}

TEST(random_models) {
  enum { MODELS = TEST_IS_SANITIZED ? 400 : 4000 };
  counts found = {0};
  for (int i = 0; i < MODELS; i++) {
    onnx_image f = {0};
    int n_floats = 1, n_sizes = 2;
    char last[16];
    begin_model(&f);
    image_node(&f, "Identity", "x", "f0", "");
    image_node(&f, "Identity", "n", "i0", "");
    image_node(&f, "Identity", "m", "i1", "");
    for (int k = 0, n = 2 + (int)random_below(7); k < n; k++) random_node(&f, k, &n_floats, &n_sizes);
    snprintf(last, sizeof last, "f%d", n_floats - 1);
    image_node(&f, "Identity", last, "y", "");
    image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
    image_end(&f);
    check_model(&f, &found);
    image_free(&f);
    if (test_has_failed()) {
      printf("model %d\n", i);
      return;
    }
  }
  printf("%zu templates, %zu graphs\n", found.made, found.bound);
  CHECK(found.made > MODELS / 8 && found.bound > found.made);
}

/* ---- runners ---- */

/* y = x reshaped to [n m, 4] times w, the last row doubled where n is at least 3 (a Slice that may be empty). */
static void runner_model(onnx_image *f) {
  begin_model(f);
  image_node(f, "Mul", "n,m", "p", "");
  image_node(f, "Concat", "p,last", "t", "axis=0");
  image_node(f, "Reshape", "x,t", "r", "");
  image_node(f, "MatMul", "r,w", "z", "");
  image_node(f, "Slice", "z,c2,far,c0", "tail", "");
  image_node(f, "Concat", "z,tail", "y", "axis=0");
  image_value(f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(f);
}

static rlx_status run_at(rlx_onnx_runner *r, int64_t n, int64_t m, float *x) {
  for (int64_t i = 0; i < n * m * 4; i++) x[i] = (float)(i % 17) - 5;
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(n, m, 4), {x}, (size_t)(n * m * 4) * sizeof *x}};
  return rlx_onnx_run(r, &in, 1);
}

static rlx_status open_session(rlx_session **out) {
  return rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1}, out);
}

TEST(runners_agree) {
  static const int64_t sizes[][2] = {{4, 3}, {5, 3}, {7, 3}, {1, 1}, {1, 2}, {2, 3}, {7, 8}, {5, 3}, {2, 1}};
  float x[7 * 8 * 4];
  onnx_image f = {0};
  rlx_session *s;
  rlx_onnx *m;
  rlx_onnx_runner *kept, *fresh;
  rlx_tensor a, b;
  runner_model(&f);
  CHECK_OK(open_session(&s));
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_OK(rlx_onnx_runner_create(s, m, NULL, &kept));
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CHECK_OK(rlx_onnx_runner_create(s, m, NULL, &fresh));
    CHECK_OK(run_at(kept, sizes[i][0], sizes[i][1], x));
    CHECK_OK(run_at(fresh, sizes[i][0], sizes[i][1], x));
    CHECK_OK(rlx_onnx_runner_output(kept, 0, NULL, &a));
    CHECK_OK(rlx_onnx_runner_output(fresh, 0, NULL, &b));
    CHECK(a.bytes == b.bytes && a.shape.v[0] == b.shape.v[0] && memcmp(a.data, b.data, a.bytes) == 0);
    CHECK(rlx_onnx_runner_part_count(kept) == rlx_onnx_runner_part_count(fresh));
    rlx_onnx_runner_destroy(fresh);
  }
  CHECK(kept->templates.n >= 2); /* sizes for which the tail is empty take another one */
  rlx_onnx_runner_destroy(kept);
  rlx_onnx_close(m);
  rlx_session_destroy(s);
  image_free(&f);
}

/* An error at a new size is the error of an import for numbers. */
TEST(errors_are_the_same) {
  onnx_image f = {0};
  rlx_session *s;
  rlx_onnx *m;
  rlx_onnx_runner *r;
  float x[9 * 3 * 4];
  begin_model(&f);
  image_node(&f, "Concat", "c2,last,m", "t", "axis=0"); /* [2, -1, m]: n must be even */
  image_node(&f, "Reshape", "x,t", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(&f);
  CHECK_OK(open_session(&s));
  CHECK_OK(rlx_onnx_open_memory(f.v, f.n, NULL, &m));
  CHECK_OK(rlx_onnx_runner_create(s, m, NULL, &r));
  CHECK_OK(run_at(r, 2, 3, x));
  CHECK_OK(run_at(r, 4, 3, x));
  CHECK_OK(run_at(r, 6, 3, x));
  CHECK(r->templates.n == 1);
  x[0] = 0;
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(1, 1, 3), {x}, 12}};
  CHECK_FAILS(rlx_onnx_run(r, &in, 1), RLX_INVALID, "expected 4");
  CHECK_OK(run_at(r, 8, 3, x));
  rlx_onnx_runner_destroy(r);
  rlx_onnx_close(m);
  rlx_session_destroy(s);
  image_free(&f);
}

static rlx_status run_three(void *user) {
  const onnx_image *f = user;
  rlx_session *s = NULL;
  rlx_onnx *m = NULL;
  rlx_onnx_runner *r = NULL;
  float x[7 * 3 * 4];
  rlx_status status = open_session(&s);
  if (!status) status = rlx_onnx_open_memory(f->v, f->n, NULL, &m);
  if (!status) status = rlx_onnx_runner_create(s, m, NULL, &r);
  for (int64_t n = 4; n < 7 && !status; n++) status = run_at(r, n, 3, x);
  rlx_onnx_runner_destroy(r);
  rlx_onnx_close(m);
  rlx_session_destroy(s);
  return status;
}

TEST(memory_runs_out) {
  onnx_image f = {0};
  begin_model(&f);
  image_node(&f, "Concat", "m,n,last", "t", "axis=0");
  image_node(&f, "Reshape", "x,t", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, NULL);
  image_end(&f);
  CHECK_OK(alloc_sweep(run_three, &f));
  image_free(&f);
}
