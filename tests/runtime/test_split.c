/* Weights larger than the device binds to a kernel: split by rows, the products and lookups that read them with it, all
 * of it on the device, in every way that a weight gets its value. "emu:small" runs everywhere; the others where there is
 * a driver. */
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/weights.h"
#include "test.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

static const char *const devices[] = {"emu:small", "vulkan:block=32768,window=16384", "webgpu:block=32768,window=16384",
                                      "cuda:block=32768,window=16384"};
enum { DEVICES = sizeof devices / sizeof *devices };

/* Indices of both signs, from x. */
#define INDEX(scale, type)                                                                                             \
  "%k = constant : f32[] = [" scale "]; %c = clamp(%x) {lo=-2.0, hi=2.0}; %s = mul(%c, %k); %idx = cast(%s) {to=" type \
  "}; "

/* Sizes that are no multiples of anything; weights of 2 to 9 bindings, some larger than a block. */
static const struct {
  const char *leaves, *expr;
} cases[] = {
  {"x: f32[1,67]; param w: f32[997,67]", "matmul(%x, %w) {trans_b=true}"},
  {"x: bf16[2,2,700]; param w: bf16[700,33]", "matmul(%x, %w)"},
  /* one weight for lookups and products */
  {"param w: q8_0[1009,64]; x: f32[3]",
   INDEX("504", "i32") "%r = gather(%w, %idx); %y = rms_norm(%r); matmul(%y, %w) {trans_b=true}"},
  {"x: f32[3,67]; param w: f16[997,67]", "matmul(%x, %w) {trans_b=true}"},
  {"x: f16[3,64]; param w: f16[301,64]", "matmul(%x, %w) {trans_b=true}"},
  {"x: f32[2,2,64]; param w: q8_0[1009,64]", "matmul(%x, %w) {trans_b=true}"},
  {"x: f32[1,256]; param w: q4_k[513,256]", "matmul(%x, %w) {trans_b=true}"},
  {"x: f32[3,512]; param w: q6_k[77,512]", "matmul(%x, %w) {trans_b=true}"},
  {"x: f32[3,1031]; param w: f32[1031,19]", "matmul(%x, %w)"},
  {"x: f16[3,1031]; param w: f16[1031,19]", "matmul(%x, %w)"},
  {"param w: f32[129,65]; x: f32[65,3]", "matmul(%w, %x)"},
  {"param w: f32[129,65]; x: f32[3,65]", "matmul(%w, %x) {trans_b=true}"},
  {"param w: f32[1003,17]; x: f32[7]", INDEX("501", "i32") "gather(%w, %idx)"},
  {"param w: f16[1003,17]; x: f32[2,3]", INDEX("501", "i64") "gather(%w, %idx)"},
  {"param w: i32[401,3,5]; x: f32[2,2]", INDEX("200", "i32") "gather(%w, %idx)"},
  {"param w: q4_k[251,256]; x: f32[9]", INDEX("125", "i32") "gather(%w, %idx)"},
  {"param w: f16[1003,17]; x: f32[]", INDEX("501", "i32") "gather(%w, %idx)"},
  {"x: f32[3,67]; param w: f32[997,67]; param b: f32[997]",
   "%y = matmul(%x, %w) {trans_b=true}; %z = add(%y, %b); gelu(%z)"},
};
enum { CASES = sizeof cases / sizeof *cases, SOME = 3 };

static void check_cases(const char *device) {
  rlx_session *s;
  OPEN_SESSION(device, 2, &s);
  const int n = strncmp(device, "webgpu", 6) == 0 ? SOME : CASES; /* there pipelines are slow to create */
  for (int i = 0; i < n; i++) {
    rlx_graph *g;
    CHECK_OK(expr_graph(cases[i].leaves, cases[i].expr, &g));
    rlx_status status = run_check(s, g, OPTIONS(.switches = RLX_SWITCH_FORBID_HOST), 5, 2, false);
    if (status) FAIL("%s; %s on %s: %s", cases[i].leaves, cases[i].expr, device, rlx_message());
    rlx_graph_destroy(g);
  }
  rlx_session_destroy(s);
}

TEST(products_and_lookups) { check_cases(devices[0]); }
TEST(products_and_lookups_on_vulkan) { check_cases(devices[1]); }
TEST(products_and_lookups_on_webgpu) { check_cases(devices[2]); }
TEST(products_and_lookups_on_cuda) { check_cases(devices[3]); }

/* ---- values ---- */

enum { ROWS = 997, COLUMNS = 67, LOOKUPS = 4 };
static const int32_t ids[LOOKUPS] = {0, 255, 996, -1};
static float table[ROWS * COLUMNS];

static void fill_table(float first) {
  for (int i = 0; i < ROWS * COLUMNS; i++) table[i] = first + (float)(i % 8191);
}
static rlx_tensor table_tensor(void) { return (rlx_tensor){RLX_F32, RLX_DIMS(ROWS, COLUMNS), {table}, sizeof table}; }

static rlx_status lookup_graph(rlx_graph **out) {
  return expr_graph("param w: f32[997,67]; idx: i32[4]", "gather(%w, %idx)", out);
}

static void check_lookup(rlx_executable *e) {
  float got[LOOKUPS * COLUMNS];
  rlx_tensor idx = {RLX_I32, RLX_DIMS(LOOKUPS), {(void *)(uintptr_t)ids}, sizeof ids};
  rlx_tensor y = {RLX_F32, RLX_DIMS(LOOKUPS, COLUMNS), {got}, sizeof got};
  CHECK_OK(rlx_executable_write(e, "idx", &idx));
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(rlx_executable_read(e, "y", &y));
  for (int i = 0; i < LOOKUPS; i++) {
    int row = ids[i] < 0 ? ids[i] + ROWS : ids[i];
    CHECK(memcmp(got + i * COLUMNS, table + row * COLUMNS, COLUMNS * sizeof *got) == 0);
  }
}

/* Set before and after an executable holds the parts, again, and in another type. */
TEST(values_that_are_set) {
  rlx_session *s;
  rlx_graph *g;
  rlx_weights *w;
  rlx_executable *e, *other;
  OPEN_SESSION(devices[0], 1, &s);
  CHECK_OK(lookup_graph(&g));
  CHECK_OK(rlx_weights_create(s, &w));
  fill_table(1);
  rlx_tensor t = table_tensor();
  CHECK_OK(rlx_weights_set(w, "w", &t));
  CHECK(rlx_weights_has(w, "w"));
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = w, .switches = RLX_SWITCH_FORBID_HOST), &e));
  check_lookup(e);
  fill_table(2);
  CHECK_OK(rlx_weights_set(w, "w", &t));
  CHECK(rlx_weights_has(w, "w"));
  check_lookup(e);
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = w, .no_cache = true), &other));
  check_lookup(other);
  fill_table(3);
  double *wide = malloc(sizeof *wide * ROWS * COLUMNS);
  CHECK(wide);
  for (int i = 0; i < ROWS * COLUMNS; i++) wide[i] = table[i];
  rlx_tensor in_f64 = {RLX_F64, RLX_DIMS(ROWS, COLUMNS), {wide}, sizeof *wide * ROWS * COLUMNS};
  CHECK_OK(rlx_executable_write(e, "w", &in_f64));
  check_lookup(other);
  free(wide);
  rlx_executable_destroy(other);
  rlx_executable_destroy(e);
  rlx_weights_destroy(w);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(a_value_that_is_missing) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  OPEN_SESSION(devices[0], 1, &s);
  CHECK_OK(lookup_graph(&g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  rlx_tensor idx = {RLX_I32, RLX_DIMS(LOOKUPS), {(void *)(uintptr_t)ids}, sizeof ids};
  CHECK_OK(rlx_executable_write(e, "idx", &idx));
  CHECK_FAILS(rlx_executable_run(e), RLX_INVALID, "param 'w' is not set");
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- values that are read when they are needed, and that several threads read ---- */

static int n_rows_read, n_whole;
static bool rows_fail;

static rlx_status read_whole(void *user, const char *name, const rlx_type *type, void *to) {
  (void)user, (void)name, (void)type;
  n_whole++;
  memcpy(to, table, sizeof table);
  return RLX_OK;
}
static rlx_status read_rows(void *user, const char *name, const rlx_type *type, size_t first, size_t rows, void *to) {
  (void)user, (void)name, (void)type;
  if (rows_fail) return RLX_NOT_FOUND;
  n_rows_read += (int)rows;
  memcpy(to, table + first * COLUMNS, rows * COLUMNS * sizeof *table);
  return RLX_OK;
}
static rlx_status read_part(void *user, uint64_t from, void *to, size_t bytes) {
  (void)user;
  memcpy(to, (const char *)table + from, bytes);
  return RLX_OK;
}

static void check_source(bool no_rows) {
  rlx_session *s;
  rlx_graph *g;
  rlx_weights *w;
  rlx_executable *e;
  OPEN_SESSION(devices[0], 1, &s);
  CHECK_OK(lookup_graph(&g));
  CHECK_OK(rlx_weights_create(s, &w));
  fill_table(4);
  n_rows_read = n_whole = 0;
  rows_fail = no_rows;
  rlx_weights_set_source(w, (rlx_weight_source){read_whole, read_rows, NULL});
  CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = w), &e));
  check_lookup(e);
  CHECK_EQ_INT(n_rows_read, no_rows ? 0 : ROWS);
  CHECK_EQ_INT(n_whole, no_rows);
  rlx_executable_destroy(e);
  rlx_weights_destroy(w);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(a_source_of_rows) { check_source(false); }
TEST(a_source_of_whole_weights) { check_source(true); }

/* Bytes that go to the parts, one after the other, or to memory of the host until there are parts. */
static void check_bytes(bool compiled_first) {
  rlx_session *s;
  rlx_graph *g;
  rlx_weights *w;
  rlx_executable *e = NULL;
  OPEN_SESSION(devices[0], 2, &s);
  CHECK_OK(lookup_graph(&g));
  CHECK_OK(rlx_weights_create(s, &w));
  fill_table(5);
  if (compiled_first) CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = w), &e));
  const rlx_type type = {RLX_F32, RLX_DIMS(ROWS, COLUMNS)};
  CHECK(rlx_weights_is_plain(w, "w", &type));
  CHECK_OK(rlx_weights_put_from(w, "w", &type, &(rlx_byte_source){.read = read_part}));
  if (!compiled_first) CHECK_OK(rlx_compile(s, g, OPTIONS(.weights = w), &e));
  check_lookup(e);
  CHECK(rlx_weights_bytes(w) < 2 * sizeof table);
  rlx_executable_destroy(e);
  rlx_weights_destroy(w);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(bytes_for_parts) { check_bytes(true); }
TEST(bytes_before_parts) { check_bytes(false); }

/* ---- memory that fails ---- */

typedef struct world {
  rlx_session *session;
  rlx_graph *graph;
  rlx_weights *weights;
  rlx_executable *executable;
} world;

static rlx_status compile_once(void *user) {
  const world *w = user;
  rlx_session *s; /* of its own: a session keeps blocks */
  rlx_executable *e = NULL;
  RLX_TRY(run_session(devices[0], 1, &s));
  rlx_status status = rlx_compile(s, w->graph, NULL, &e);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  return status;
}

static rlx_status set_and_run(void *user) {
  const world *w = user;
  const rlx_tensor t = table_tensor();
  RLX_TRY(rlx_weights_set(w->weights, "w", &t));
  return rlx_executable_run(w->executable);
}

static rlx_status set_unread(void *user) {
  const world *w = user;
  const rlx_tensor t = table_tensor();
  rlx_weights *other;
  RLX_TRY(rlx_weights_create(w->session, &other));
  rlx_status s = rlx_weights_set(other, "w", &t);
  rlx_weights_destroy(other);
  return s;
}

TEST(memory_that_fails) {
  world w;
  OPEN_SESSION(devices[0], 1, &w.session);
  CHECK_OK(expr_graph("param w: f32[997,67]; idx: i32[4]", "gather(%w, %idx)", &w.graph));
  CHECK_OK(rlx_weights_create(w.session, &w.weights));
  CHECK_OK(rlx_compile(w.session, w.graph, OPTIONS(.weights = w.weights), &w.executable));
  fill_table(6);
  const rlx_tensor t = table_tensor();
  CHECK_OK(rlx_weights_set(w.weights, "w", &t));
  check_lookup(w.executable);
  CHECK_OK(alloc_sweep(set_and_run, &w));
  CHECK_OK(alloc_sweep(set_unread, &w));
  CHECK_OK(alloc_sweep(compile_once, &w));
  check_lookup(w.executable);
  rlx_executable_destroy(w.executable);
  rlx_weights_destroy(w.weights);
  rlx_graph_destroy(w.graph);
  rlx_session_destroy(w.session);
}

TEST(rows_of_block_types_are_whole) {
  rlx_graph *g;
  CHECK_FAILS(expr_graph("param w: q8_0[4,64]", "slice(%w) {axes=[1], start=[0], stop=[32]}", &g), RLX_INVALID,
              "the last axis of q8_0 is not sliced");
  CHECK_FAILS(expr_graph("param w: q8_0[4,64]", "slice(%w) {axes=[-1], start=[-1], stop=[-100], step=[-1]}", &g),
              RLX_INVALID, "the last axis");
  CHECK_OK(expr_graph("param w: q8_0[4,64]", "slice(%w) {axes=[1], start=[0], stop=[64]}", &g));
  rlx_graph_destroy(g);
}
