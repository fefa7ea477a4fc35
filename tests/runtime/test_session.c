/* Sessions through the public API: weights and states that executables share, symbols inferred from inputs, feeds,
 * bound memory, clones, the cache, and all queries. Every test runs on each available device. */
#include "ir/switches.h"
#include "ref/eval.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

#define VALUE(data_, ...) \
  (&(rlx_tensor){.dtype = RLX_F32, .shape = RLX_DIMS(__VA_ARGS__), .data = (data_), .bytes = sizeof(data_)})
#define NAMED(name_, data_, ...)      \
  {                                   \
    .name = (name_), .tensor = {      \
      .dtype = RLX_F32,               \
      .shape = RLX_DIMS(__VA_ARGS__), \
      .const_data = (data_),          \
      .bytes = sizeof(data_)          \
    }                                 \
  }
#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* A test that runs once per device, in `s`. */
#define DEVICE_TEST(name)                     \
  static void name##_in(rlx_session *s);      \
  static void name##_on(const char *device) { \
    rlx_session *s;                           \
    OPEN_SESSION(device, 2, &s);              \
    name##_in(s);                             \
    rlx_session_destroy(s);                   \
  }                                           \
  TEST(name##_on_null) { name##_on("null"); } \
  TEST(name##_on_cpu) { name##_on("cpu"); }   \
  static void name##_in(rlx_session *s)

static void read_f32(rlx_executable *e, const char *name, float *out, size_t bytes) {
  rlx_tensor t = {.dtype = RLX_F32, .data = out, .bytes = bytes};
  CHECK_OK(rlx_executable_read(e, name, &t));
  CHECK(t.bytes == bytes);
}

/* y = x w^T. Hoisting makes the transpose a computed weight where transposes are not free. */
static rlx_graph *product(const char *rows, int64_t n_rows) {
  char leaves[128];
  rlx_graph *g = NULL;
  if (rows) snprintf(leaves, sizeof leaves, "x: f32[%s,3]; param w: f32[2,3]", rows);
  else snprintf(leaves, sizeof leaves, "x: f32[%d,3]; param w: f32[2,3]", (int)n_rows);
  rlx_status s =
    expr_graph(leaves, "%t = transpose(%w) {perm=[1,0]}; %c = concat(%t, %t) {axis=1}; matmul(%x, %c)", &g);
  return s ? NULL : g;
}

/* ---- a single run ---- */

DEVICE_TEST(run_in_one_call) {
  rlx_graph *g = product(NULL, 1);
  rlx_executable *e;
  float x[3] = {1, 2, 3}, w[6] = {1, 0, 0, 0, 1, 1}, y[4];
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  rlx_graph_destroy(g);
  rlx_named_tensor in[] = {NAMED("x", x, 1, 3), NAMED("w", w, 2, 3)}, out[] = {{"y", {.data = y, .bytes = sizeof y}}};
  CHECK_OK(rlx_run(e, in, 2, out, 1));
  CHECK(y[0] == 1 && y[1] == 5 && y[2] == 1 && y[3] == 5);
  CHECK(out[0].tensor.dtype == RLX_F32 && out[0].tensor.shape.n == 2 && out[0].tensor.shape.v[1] == 4);
  x[0] = 7; /* an input that is not passed keeps its value */
  CHECK_OK(rlx_run(e, in, 1, out, 1));
  CHECK(y[0] == 7 && y[1] == 5);
  rlx_executable_destroy(e);
}

/* ---- weights ---- */

DEVICE_TEST(weights_are_shared_and_stored_once) {
  rlx_weights *store;
  rlx_executable *e[2];
  float x[6] = {1, 2, 3, 4, 5, 6}, w[6] = {1, 0, 0, 0, 1, 1}, y[8];
  CHECK_OK(rlx_weights_create(s, &store));
  CHECK_OK(rlx_weights_set(store, "w", VALUE(w, 2, 3))); /* before anything is compiled */
  CHECK(rlx_weights_has(store, "w") && !rlx_weights_has(store, "v"));
  for (int i = 0; i < 2; i++) {
    rlx_graph *g = product(NULL, i + 1);
    CHECK(g);
    CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = store), &e[i]));
    rlx_graph_destroy(g);
  }
  rlx_weights_destroy(store); /* retained by the executables */
  for (int i = 0; i < 2; i++) {
    rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(i + 1, 3), {x}, 12 * (size_t)(i + 1)}};
    rlx_named_tensor out = {"y", {.data = y, .bytes = 16 * (size_t)(i + 1)}};
    CHECK_OK(rlx_run(e[i], &in, 1, &out, 1));
    CHECK(y[0] == 1 && y[1] == 5);
  }
  w[0] = 3; /* set through one of them, for both */
  CHECK_OK(rlx_executable_write(e[0], "w", VALUE(w, 2, 3)));
  CHECK_OK(rlx_executable_run(e[1]));
  read_f32(e[1], "y", y, sizeof y);
  CHECK(y[0] == 3 && y[1] == 5 && y[4] == 12);
  for (int i = 0; i < 2; i++) rlx_executable_destroy(e[i]);
}

/* A table that one executable only gathers from and another also multiplies with is stored once, in either order. */
DEVICE_TEST(a_table_is_stored_once) {
  static const char *leaves = "x: f32[1,96]; i: i32[2]; param t: f32[70,96]";
  static const char *both =
    "%g = gather(%t, %i); %r = slice(%g) {start=[0,0], stop=[1,96]}; matmul(%r, %t) {trans_b=true}";
  const char *exprs[] = {"gather(%t, %i)", "matmul(%x, %t) {trans_b=true}", both};
  enum { N = 70, K = 96 };
  static float t[N * K], x[K], y[2 * K];
  for (int i = 0; i < N * K; i++) t[i] = (float)(i % 13 - 6);
  for (int i = 0; i < K; i++) x[i] = t[5 * K + i];
  for (int first = 0; first < 3; first++) {
    rlx_weights *store;
    rlx_executable *e[3];
    uint64_t bytes = 0;
    CHECK_OK(rlx_weights_create(s, &store));
    for (int i = 0; i < 3; i++) {
      rlx_graph *g;
      CHECK_OK(expr_graph(leaves, exprs[(first + i) % 3], &g));
      CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = store), &e[i]));
      rlx_graph_destroy(g);
      if (i == 0) CHECK_OK(rlx_weights_set(store, "t", VALUE(t, N, K)));
      if (i == 0) bytes = rlx_weights_bytes(store);
      CHECK_EQ_INT(rlx_weights_bytes(store), bytes);
    }
    for (int i = 0; i < 3; i++) {
      int which = (first + i) % 3;
      if (which != 1)
        CHECK_OK(rlx_executable_write(e[i], "i", &(rlx_tensor){RLX_I32, RLX_DIMS(2), {(int32_t[]){5, 69}}, 8}));
      if (which == 1) CHECK_OK(rlx_executable_write(e[i], "x", VALUE(x, 1, K)));
      CHECK_OK(rlx_executable_run(e[i]));
      read_f32(e[i], "y", y, (which ? N : 2 * K) * sizeof *y);
      for (int k = 0; k < 2 * K && which == 0; k++) CHECK(y[k] == t[(k < K ? 5 : 68) * K + k]);
      for (int r = 0; r < N && which; r++) {
        float sum = 0;
        for (int k = 0; k < K; k++) sum += x[k] * t[r * K + k];
        CHECK(y[r] == sum); /* integers: exact */
      }
      rlx_executable_destroy(e[i]);
    }
    rlx_weights_destroy(store);
  }
}

DEVICE_TEST(computed_weights_drop_their_sources) {
  rlx_weights *store;
  rlx_executable *e;
  rlx_graph *g;
  enum { N = 64 };
  static float w[N * N], x[N], y[2 * N];
  for (int i = 0; i < N * N; i++) w[i] = (float)(i % 7);
  for (int i = 0; i < N; i++) x[i] = 1;
  CHECK_OK(expr_graph("x: f32[1,64]; param w: f32[64,64]",
                      "%a = reverse(%w) {axes=[0]}; %c = concat(%a, %a) {axis=1}; matmul(%x, %c)", &g));
  CHECK_OK(rlx_weights_create(s, &store));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = store), &e));
  CHECK_OK(rlx_weights_set(store, "w", VALUE(w, N, N)));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 1, N)));
  CHECK_OK(rlx_executable_run(e));
  CHECK(rlx_weights_bytes(store) >= 2 * sizeof w && rlx_weights_bytes(store) < 3 * sizeof w); /* without w */
  CHECK(rlx_weights_has(store, "w"));
  rlx_tensor back = {.dtype = RLX_F32, .data = y, .bytes = sizeof y};
  rlx_tensor w_back = {.dtype = RLX_F32, .data = w, .bytes = sizeof w};
  CHECK_OK(rlx_executable_read(e, "y", &back));
  CHECK_FAILS(rlx_executable_read(e, "w", &w_back), RLX_INVALID, "set it again");
  /* A later executable that reads w itself fails until w is set again. */
  rlx_executable *late;
  rlx_graph *plain;
  CHECK_OK(expr_graph("x: f32[1,64]; param w: f32[64,64]", "matmul(%x, %w)", &plain));
  CHECK_OK(rlx_compile(s, plain, OPTIONS(.weights = store), &late));
  CHECK_OK(rlx_executable_write(late, "x", VALUE(x, 1, N)));
  CHECK_FAILS(rlx_executable_run(late), RLX_INVALID, "param 'w'");
  CHECK_OK(rlx_weights_set(store, "w", VALUE(w, N, N)));
  CHECK_OK(rlx_executable_run(late));
  CHECK_OK(rlx_executable_run(e));
  rlx_executable_destroy(late);
  rlx_executable_destroy(e);
  rlx_weights_destroy(store);
  rlx_graph_destroy(plain);
  rlx_graph_destroy(g);
}

/* Sets a weight from inside a run. */
typedef struct meddler {
  rlx_weights *store;
  const rlx_tensor *value;
  rlx_status read, source, other;
} meddler;

static void meddle(void *user, const char *stage, uint64_t done, uint64_t of) {
  meddler *m = user;
  (void)done, (void)of;
  if (strcmp(stage, "run")) return;
  m->read = rlx_weights_set(m->store, "w", m->value);
  m->source = rlx_weights_set(m->store, "v", m->value);
  m->other = rlx_weights_set(m->store, "u", m->value);
}

DEVICE_TEST(a_weight_that_a_run_reads_is_busy) {
  rlx_executable *e;
  rlx_graph *g;
  enum { N = 16 };
  static float w[N * N], x[N];
  meddler m = {.value = VALUE(w, N, N)};
  CHECK_OK(expr_graph("x: f32[1,16]; param w: f32[16,16]; param v: f32[16,16]",
                      "%r = reverse(%v) {axes=[0]}; %c = concat(%r, %w) {axis=1}; %m = matmul(%x, %c); "
                      "%p = matmul(%x, %w); concat(%m, %p) {axis=1}",
                      &g));
  CHECK_OK(rlx_weights_create(s, &m.store));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = m.store), &e));
  CHECK_OK(rlx_weights_set(m.store, "w", m.value));
  CHECK_OK(rlx_weights_set(m.store, "v", m.value));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 1, N)));
  rlx_executable_set_watch(e, &(rlx_watch){.progress = meddle, .user = &m});
  CHECK_OK(rlx_executable_run(e));
  CHECK_EQ_INT(m.read, RLX_BUSY);
  CHECK_EQ_INT(m.source, RLX_BUSY); /* a weight that is read was computed from it */
  CHECK_EQ_INT(m.other, RLX_OK);
  CHECK_OK(rlx_weights_set(m.store, "w", m.value));
  CHECK_OK(rlx_weights_set(m.store, "v", m.value));
  rlx_executable_destroy(e);
  rlx_weights_destroy(m.store);
  rlx_graph_destroy(g);
}

DEVICE_TEST(weights_of_another_type_are_refused) {
  rlx_weights *store;
  rlx_executable *e;
  rlx_graph *g = product(NULL, 1);
  float w[6] = {0}, v[8] = {0};
  CHECK(g);
  CHECK_OK(rlx_weights_create(s, &store));
  CHECK_OK(rlx_weights_set(store, "w", VALUE(v, 2, 4)));
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.weights = store), &e), RLX_INVALID, "'w': expected f32[2,3], got f32[2,4]");
  CHECK_OK(rlx_weights_set(store, "w", VALUE(w, 2, 3))); /* not read yet: its type may change */
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = store), &e));
  CHECK_FAILS(rlx_weights_set(store, "w", VALUE(v, 2, 4)), RLX_INVALID, "[2,4]");
  CHECK_FAILS(rlx_executable_write(e, "w", VALUE(v, 2, 4)), RLX_INVALID, "must be [2,3]");
  rlx_executable_destroy(e);
  rlx_weights_destroy(store);
  rlx_graph_destroy(g);
}

DEVICE_TEST(writes_and_reads_convert) {
  rlx_executable *e;
  rlx_graph *g;
  double x[4] = {1, 2.5, 70000, -3}, y[4];
  CHECK_OK(expr_graph("x: f16[4]", "add(%x, %x)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "x", &(rlx_tensor){RLX_F64, RLX_DIMS(4), {x}, sizeof x}));
  CHECK_OK(rlx_executable_run(e));
  rlx_tensor out = {.dtype = RLX_F64, .data = y, .bytes = sizeof y};
  CHECK_OK(rlx_executable_read(e, "y", &out));
  CHECK(y[0] == 2 && y[1] == 5 && y[3] == -6);
  CHECK_OK(rlx_executable_read(e, "x", &out));
  CHECK(y[1] == 2.5 && y[3] == -3);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* ---- states ---- */

DEVICE_TEST(states_are_shared_between_prefill_and_decode) {
  rlx_states *states;
  rlx_executable *prefill, *decode;
  rlx_graph *g[2];
  float rows[6] = {1, 2, 3, 4, 5, 6}, row[2] = {7, 8}, sums[2];
  int32_t at = 0;
  rlx_tensor position = {.dtype = RLX_I32, .data = &at, .bytes = sizeof at};
  CHECK_OK(expr_graph("x: f32[3,2]; state kv: f32[5,2]; at: i32[]",
                      "%u = update(%kv, %x, %at); reduce_sum(%u) {axes=[0]}", &g[0]));
  CHECK_OK(expr_graph("x: f32[1,2]; state kv: f32[5,2]; at: i32[]",
                      "%u = update(%kv, %x, %at); reduce_sum(%u) {axes=[0]}", &g[1]));
  CHECK_OK(rlx_states_create(s, &states));
  CHECK_OK(rlx_compile(s, g[0], OPTIONS(.states = states), &prefill));
  CHECK_OK(rlx_compile(s, g[1], OPTIONS(.states = states), &decode));
  CHECK_OK(rlx_executable_write(prefill, "x", VALUE(rows, 3, 2)));
  CHECK_OK(rlx_executable_write(prefill, "at", &position));
  CHECK_OK(rlx_executable_run(prefill));
  for (at = 3; at < 5; at++) {
    CHECK_OK(rlx_executable_write(decode, "x", VALUE(row, 1, 2)));
    CHECK_OK(rlx_executable_write(decode, "at", &position));
    CHECK_OK(rlx_executable_run(decode));
  }
  read_f32(decode, "y", sums, sizeof sums);
  CHECK(sums[0] == 1 + 3 + 5 + 7 + 7 && sums[1] == 2 + 4 + 6 + 8 + 8);
  float kv[10];
  read_f32(prefill, "kv", kv, sizeof kv);
  CHECK(kv[0] == 1 && kv[9] == 8);
  CHECK_OK(rlx_states_zero(states));
  read_f32(decode, "kv", kv, sizeof kv);
  CHECK(kv[0] == 0 && kv[9] == 0);
  rlx_graph *other;
  rlx_executable *wrong;
  CHECK_OK(expr_graph("x: f32[1,2]; state kv: f32[6,2]; at: i32[]", "update(%kv, %x, %at)", &other));
  CHECK_FAILS(rlx_compile(s, other, OPTIONS(.states = states), &wrong), RLX_INVALID,
              "'kv': expected f32[6,2], got f32[5,2]");
  CHECK(wrong == NULL);
  rlx_states_destroy(states);
  rlx_executable_destroy(prefill);
  rlx_executable_destroy(decode);
  for (int i = 0; i < 2; i++) rlx_graph_destroy(g[i]);
  rlx_graph_destroy(other);
}

/* ---- feeds ---- */

DEVICE_TEST(feeds_go_around) {
  rlx_graph *g;
  rlx_executable *e;
  float a[2] = {1, 10}, b[2] = {1, 10}, out[2];
  CHECK_OK(rlx_graph_create(&g));
  rlx_node y = rlx_op_input(g, "b", RLX_F32, RLX_DIMS(2)), x = rlx_op_input(g, "a", RLX_F32, RLX_DIMS(2));
  rlx_graph_add_output(g, "sum", rlx_op_add(g, x, y));
  rlx_graph_add_output(g, "last", y); /* an output that is a fed input: feeds must not overwrite each other */
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_feed(e, "sum", "b"));
  CHECK_OK(rlx_executable_feed(e, "last", "a"));
  CHECK_OK(rlx_executable_write(e, "a", VALUE(a, 2)));
  CHECK_OK(rlx_executable_write(e, "b", VALUE(b, 2)));
  for (int i = 0; i < 10; i++) CHECK_OK(rlx_executable_run(e)); /* Fibonacci numbers */
  read_f32(e, "sum", out, sizeof out);
  CHECK(out[0] == 144 && out[1] == 1440);
  CHECK_OK(rlx_executable_feed(e, NULL, "b"));
  CHECK_FAILS(rlx_executable_feed(e, "none", "b"), RLX_NOT_FOUND, "no output 'none'");
  CHECK_FAILS(rlx_executable_feed(e, "sum", "sum"), RLX_NOT_FOUND, "'sum'");
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* ---- symbols ---- */

DEVICE_TEST(symbols_follow_the_inputs) {
  rlx_graph *g = product("N", 0);
  rlx_executable *e;
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  float x[30], w[6] = {1, 0, 0, 0, 1, 1}, y[40];
  for (int i = 0; i < 30; i++) x[i] = (float)i;
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK(rlx_executable_graph(e) == NULL);
  CHECK_OK(rlx_executable_write(e, "w", VALUE(w, 2, 3)));
  CHECK_FAILS(rlx_executable_run(e), RLX_INVALID, "symbol 'N'");
  static const int64_t sizes[] = {2, 5, 2, 10, 1, 5};
  for (int k = 0; k < 6; k++) {
    size_t n = (size_t)sizes[k];
    rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(sizes[k], 3), {x}, n * 12}},
                     out = {"y", {.data = y, .bytes = sizeof y}};
    CHECK_OK(rlx_run(e, &in, 1, &out, 1));
    CHECK(out.tensor.shape.v[0] == sizes[k] && out.tensor.bytes == n * 16);
    for (size_t i = 0; i < n; i++) CHECK(y[4 * i] == x[3 * i] && y[4 * i + 1] == x[3 * i + 1] + x[3 * i + 2]);
  }
  CHECK_OK(rlx_session_stats_get(s, &stats));
  CHECK(stats.n_compiled == 4);
  rlx_executable_destroy(e);
  CHECK_OK(rlx_compile(s, g, OPTIONS(.bindings = &(rlx_binding){"N", 5}, .n_bindings = 1), &e));
  CHECK_OK(rlx_session_stats_get(s, &stats));
  CHECK(stats.n_compiled == 4 && stats.n_cache_hits >= 1); /* compiled by the runs above */
  CHECK_FAILS(rlx_executable_write(e, "x", VALUE(x, 10, 3)), RLX_INVALID, "must be [5,3]");
  rlx_executable_destroy(e);
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.bindings = &(rlx_binding){"M", 5}, .n_bindings = 1), &e), RLX_NOT_FOUND,
              "'M'");
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.without = "polish"), &e), RLX_NOT_FOUND, "polish"); /* reported at once */
  rlx_graph_destroy(g);
}

DEVICE_TEST(symbols_in_states_begin_again) {
  rlx_graph *g;
  rlx_executable *e;
  float x[4] = {1, 2, 3, 4}, y[4];
  int32_t zero = 0;
  rlx_tensor at = {.dtype = RLX_I32, .data = &zero, .bytes = sizeof zero};
  CHECK_OK(expr_graph("x: f32[N]; state acc: f32[N]; at: i32[]", "%n = add(%acc, %x); update(%acc, %n, %at)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "at", &at));
  for (int k = 0; k < 5; k++) {
    size_t n = k == 2 ? 4 : 2; /* 2, 2, 4, 2, 2 */
    rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS((int64_t)n), {x}, n * 4}},
                     out = {"y", {.data = y, .bytes = sizeof y}};
    CHECK_OK(rlx_run(e, &in, 1, &out, 1));
    CHECK(y[1] == (k == 1 || k == 4 ? 4 : 2));
  }
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* ---- bound memory ---- */

DEVICE_TEST(bound_memory_is_used_by_every_run) {
  rlx_graph *g = product(NULL, 1);
  rlx_executable *e;
  float x[3] = {1, 2, 3}, w[6] = {1, 0, 0, 0, 1, 1}, y[4] = {0};
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "w", VALUE(w, 2, 3)));
  CHECK_OK(rlx_executable_bind_input(e, "x", x, sizeof x));
  CHECK_OK(rlx_executable_bind_output(e, "y", y, sizeof y));
  CHECK_OK(rlx_executable_run(e));
  CHECK(y[0] == 1 && y[1] == 5);
  x[0] = 9;
  CHECK_OK(rlx_executable_run(e));
  CHECK(y[0] == 9);
  CHECK_FAILS(rlx_executable_bind_input(e, "x", x, sizeof x - 4), RLX_INVALID, "12 bytes");
  CHECK_FAILS(rlx_executable_bind_input(e, "w", w, sizeof w), RLX_INVALID, "param");
  CHECK_FAILS(rlx_executable_bind_output(e, "z", w, sizeof w), RLX_NOT_FOUND, "no output 'z'");
  CHECK_FAILS(rlx_executable_bind_output(e, "x", w, sizeof w), RLX_NOT_FOUND, "no output 'x'");
  CHECK_FAILS(rlx_executable_bind_input(e, "y", w, sizeof w), RLX_NOT_FOUND, "no input 'y'");
  CHECK_OK(rlx_executable_bind_input(e, "x", NULL, 0));
  CHECK_OK(rlx_executable_bind_output(e, "y", NULL, 0));
  x[0] = 1, y[0] = 0;
  CHECK_OK(rlx_executable_run(e)); /* with the value of the last run */
  CHECK(y[0] == 0);
  read_f32(e, "y", y, sizeof y);
  CHECK(y[0] == 9);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

DEVICE_TEST(unbound_inputs_keep_their_value_for_other_sizes) {
  rlx_graph *g;
  rlx_executable *e;
  float x[4] = {1, 2, 3, 4}, old[2] = {7, 7}, k[2] = {10, 20}, y[4];
  CHECK_OK(expr_graph("x: f32[N,2]; k: f32[2]", "add(%x, %k)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "k", VALUE(old, 2)));
  CHECK_OK(rlx_executable_bind_input(e, "k", k, sizeof k));
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(2, 2), {x}, 16}}, out = {"y", {.data = y, .bytes = sizeof y}};
  CHECK_OK(rlx_run(e, &in, 1, &out, 1));
  CHECK(y[0] == 11 && y[3] == 24);
  CHECK_OK(rlx_executable_bind_input(e, "k", NULL, 0));
  k[0] = k[1] = 0; /* the memory is the caller's again */
  in.tensor = (rlx_tensor){RLX_F32, RLX_DIMS(1, 2), {x}, 8};
  CHECK_OK(rlx_run(e, &in, 1, &out, 1));
  CHECK(y[0] == 11 && y[1] == 22);
  CHECK_OK(rlx_executable_write(e, "k", VALUE(old, 2)));
  CHECK_OK(rlx_executable_bind_input(e, "k", k, sizeof k));
  CHECK_OK(rlx_executable_bind_input(e, "k", NULL, 0)); /* no run uploaded it: the written value stays */
  CHECK_OK(rlx_run(e, &in, 1, &out, 1));
  CHECK(y[0] == 8 && y[1] == 9);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* ---- clones and the cache ---- */

DEVICE_TEST(clones_share_weights_but_not_inputs) {
  rlx_graph *g = product(NULL, 1);
  rlx_executable *e, *twin;
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  float x[3] = {1, 2, 3}, w[6] = {1, 0, 0, 0, 1, 1}, y[4];
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "w", VALUE(w, 2, 3)));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 1, 3)));
  CHECK_OK(rlx_executable_clone(e, &twin));
  rlx_executable_destroy(e);
  CHECK_FAILS(rlx_executable_run(twin), RLX_INVALID, "input 'x' is not set");
  CHECK_OK(rlx_executable_write(twin, "x", VALUE(x, 1, 3)));
  CHECK_OK(rlx_executable_run(twin));
  read_f32(twin, "y", y, sizeof y);
  CHECK(y[0] == 1 && y[1] == 5);
  CHECK_OK(rlx_session_stats_get(s, &stats));
  CHECK(stats.n_compiled == 1 && stats.n_cache_hits == 1);
  rlx_executable_destroy(twin);
  rlx_graph_destroy(g);
}

/* ---- queries ---- */

typedef struct seen {
  int n, differ;
  bool found;
  float value;
  rlx_node node;
} seen;

static void see_value(void *user, rlx_node node, const rlx_tensor *value) {
  seen *o = user;
  o->n++;
  if (node == o->node) o->found = true, o->value = ((const float *)value->data)[0];
}

static void see_row(void *user, const rlx_compare_row *row) {
  seen *o = user;
  o->n++;
  o->differ += !row->ok;
}

DEVICE_TEST(values_can_be_watched_compared_and_found) {
  rlx_graph *g;
  rlx_executable *e;
  float x[4] = {1, 4, 9, 16};
  seen o = {0};
  uint32_t differ;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node in = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4)), root = rlx_op_sqrt(g, in),
           sorted = rlx_op_sort(g, root, 0, true);
  rlx_graph_add_output(g, "y", rlx_op_cumsum(g, sorted, 0, false, false));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.switches = RLX_SWITCH_KEEP_VALUES), &e));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 4)));
  o.node = rlx_executable_node(e, sorted);
  CHECK(o.node);
  CHECK_EQ_STR(rlx_node_op(rlx_executable_graph(e), o.node), "sort");
  CHECK_OK(rlx_executable_observe(e, see_value, &o));
  CHECK_OK(rlx_executable_run(e));
  CHECK(o.n >= 3 && o.found && o.value == 4);
  CHECK_OK(rlx_executable_observe(e, NULL, NULL));
  rlx_arena *arena;
  float kept[4];
  CHECK_OK(rlx_executable_arena(e, &arena));
  CHECK_OK(rlx_arena_read(arena, o.node, RLX_F32, kept, 4));
  CHECK(kept[0] == 4 && kept[3] == 1);
  o.n = 0;
  CHECK_OK(rlx_executable_compare(e, see_row, &o, &differ));
  CHECK(o.n >= 3 && o.differ == 0 && differ == 0);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

DEVICE_TEST(reports_say_something) {
  rlx_graph *g = product(NULL, 1);
  rlx_executable *e;
  char *text;
  float x[3] = {1, 2, 3}, w[6] = {0};
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  CHECK(g);
  CHECK_OK(rlx_compile(s, g, OPTIONS(.plan_only = true), &e));
  CHECK_OK(rlx_executable_memory(e, &memory));
  CHECK(memory.scratch > 0 && memory.weights > 0 && memory.n_native + memory.n_host > 0);
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  CHECK_OK(rlx_session_stats_get(s, &stats));
  CHECK(stats.used_bytes == 0); /* plan_only */
  for (int format = RLX_TEXT; format <= RLX_SVG; format++) {
    CHECK_OK(rlx_executable_report(e, RLX_REPORT_PLAN, (rlx_report_format)format, &text));
    CHECK(strlen(text) > 10);
    rlx_free(text);
  }
  CHECK_FAILS(rlx_executable_report(e, RLX_REPORT_PROFILE, RLX_TEXT, &text), RLX_INVALID, "profile");
  CHECK_FAILS(rlx_executable_report(e, RLX_REPORT_DISPATCH, RLX_SVG, &text), RLX_UNSUPPORTED, "SVG");
  CHECK_OK(rlx_executable_report(e, RLX_REPORT_DISPATCH, RLX_JSON, &text));
  CHECK(text[0] == '{' || text[0] == '[');
  rlx_free(text);
  CHECK_OK(rlx_executable_profile(e, true));
  CHECK_OK(rlx_executable_write(e, "w", VALUE(w, 2, 3)));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 1, 3)));
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(rlx_executable_report(e, RLX_REPORT_PROFILE, RLX_TEXT, &text));
  CHECK(strstr(text, "matmul") && strstr(text, "1 runs"));
  rlx_free(text);
  CHECK_OK(rlx_executable_report(e, RLX_REPORT_TRACE, RLX_JSON, &text));
  CHECK(strstr(text, "\"ph\":\"X\"") && strstr(text, "\"name\":\"matmul\"") && strstr(text, "thread_name"));
  rlx_free(text);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
}

/* The report names the kernels of a GPU's steps, in order; equal neighbours are counted in the text. A step of the host
 * says so, and a device without lowerings has no such part. */
TEST(the_dispatch_report_names_kernels) {
  static const struct {
    const char *device, *text, *json;
  } cases[] = {
    {"emu", "= matmul : f32[4,3] -> mat", "\"op\":\"matmul\",\"type\":\"f32[4,3]\",\"kernels\":[\"mat"},
    {"emu", "= dense_solve : f32[4,3] -> host", "\"op\":\"dense_solve\",\"type\":\"f32[4,3]\",\"how\":\"host\""},
  };
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  char *text;
  CHECK_OK(expr_graph("x: f32[4,4]; y: f32[4,3]", "%a = matmul(%x, %y); dense_solve(%x, %a)", &g));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    OPEN_SESSION(cases[i].device, 1, &s);
    CHECK_OK(rlx_compile(s, g, OPTIONS(.plan_only = true), &e));
    CHECK_OK(rlx_executable_report(e, RLX_REPORT_DISPATCH, RLX_TEXT, &text));
    if (!strstr(text, cases[i].text)) FAIL("expected %s in:\n%s", cases[i].text, text);
    rlx_free(text);
    CHECK_OK(rlx_executable_report(e, RLX_REPORT_DISPATCH, RLX_JSON, &text));
    if (!strstr(text, cases[i].json)) FAIL("expected %s in:\n%s", cases[i].json, text);
    rlx_free(text);
    rlx_executable_destroy(e);
    rlx_session_destroy(s);
  }
  OPEN_SESSION("cpu", 1, &s);
  CHECK_OK(rlx_compile(s, g, OPTIONS(.plan_only = true), &e));
  CHECK_OK(rlx_executable_report(e, RLX_REPORT_DISPATCH, RLX_JSON, &text));
  CHECK(!strstr(text, "steps"));
  rlx_free(text);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
}

TEST(a_forbidden_host_is_reported_with_all_nodes) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  OPEN_SESSION("null", 1, &s);
  CHECK_OK(expr_graph("x: f32[4]", "%a = exp(%x); %b = sort(%a) {axis=0}; cumsum(%b) {axis=0}", &g));
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.switches = RLX_SWITCH_FORBID_HOST), &e), RLX_UNSUPPORTED, "exp");
  CHECK(strstr(rlx_message(), "sort") && strstr(rlx_message(), "cumsum"));
  CHECK(e == NULL);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* Each switch is part of the cache key, and an unknown one is rejected. */
TEST(switches_are_distinguished) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  uint64_t n = 0;
  OPEN_SESSION("cpu", 1, &s);
  CHECK_OK(expr_graph("x: f32[4]", "exp(%x)", &g));
  for (int round = 0; round < 2; round++)
    for (uint32_t bit = 1; bit <= RLX_SWITCHES_KNOWN; bit <<= 1, n++) {
      CHECK_OK(rlx_compile(s, g, OPTIONS(.switches = bit), &e));
      rlx_executable_destroy(e);
    }
  CHECK_OK(rlx_session_stats_get(s, &stats));
  CHECK_EQ_INT(stats.n_compiled, n / 2);
  CHECK_EQ_INT(stats.n_cache_hits, n / 2);
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.switches = RLX_SWITCHES_KNOWN + 1u), &e), RLX_UNSUPPORTED, "switches 0x");
  CHECK(e == NULL);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* Nodes of the source graph, of the compiled graph and of an unrelated graph are not confused. */
TEST(nodes_of_other_graphs_are_refused) {
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_arena *arena;
  rlx_graph *g, *other;
  float x[4];
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &s));
  CHECK_OK(rlx_graph_create(&g));
  rlx_node in = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(4));
  rlx_graph_add_output(g, "y", rlx_op_exp(g, in));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_graph_create(&other));
  rlx_node foreign = rlx_op_input(other, "x", RLX_F32, RLX_DIMS(4));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_arena(e, &arena));
  rlx_node there = rlx_executable_node(e, in);
  CHECK(there && there != in && there == rlx_graph_find(rlx_executable_graph(e), "x"));
  CHECK(rlx_executable_node(e, foreign) == RLX_NONE && rlx_executable_node(e, there) == RLX_NONE);
  CHECK_OK(rlx_arena_read(arena, there, RLX_F32, x, 4));
  CHECK_OK(rlx_arena_read(arena, (uint32_t)there, RLX_F32, x, 4));
  CHECK_FAILS(rlx_arena_read(arena, in, RLX_F32, x, 4), RLX_INVALID, "of another graph");
  CHECK_FAILS(rlx_arena_write(arena, foreign, RLX_F32, x, 4), RLX_INVALID, "of another graph");
  CHECK(rlx_arena_has(arena, there) && !rlx_arena_has(arena, in));
  rlx_executable_destroy(e);
  rlx_graph_destroy(other);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(nodes_are_followed_through_the_passes) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  OPEN_SESSION("null", 1, &s);
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3)), w = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(3, 3));
  rlx_node unused = rlx_op_exp(g, x), same = rlx_op_reshape(g, x, RLX_DIMS(2, 3)),
           turned = rlx_op_reverse(g, w, RLX_DIMS(0));
  rlx_node product_node = rlx_op_matmul(g, same, turned), y = rlx_op_softmax(g, product_node, -1);
  rlx_graph_add_output(g, "y", y);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  const rlx_graph *made = rlx_executable_graph(e);
  CHECK_EQ_STR(rlx_node_name(made, rlx_executable_node(e, x)), "x");
  CHECK(rlx_executable_node(e, same) == rlx_executable_node(e, x));         /* simplified away */
  CHECK(rlx_executable_node(e, unused) == RLX_NONE);                        /* dead */
  CHECK_EQ_STR(rlx_node_op(made, rlx_executable_node(e, turned)), "param"); /* computed at load */
  CHECK_EQ_STR(rlx_node_op(made, rlx_executable_node(e, product_node)), "matmul");
  CHECK(rlx_executable_node(e, y) == rlx_graph_output_at(made, 0, NULL)); /* rewritten: the last of what it became */
  CHECK(rlx_executable_node(e, 1000) == RLX_NONE);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
