/* See the header. A line is built like a conformance case, evaluated by the reference, and run on each device. */
#include "gpu_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ref/eval.h"
#include "ref/ref.h"
#include "test.h"

typedef enum measure { CLOSE, BITS, ROUNDED } measure;

/* ---- devices and the seed, for the life of the program ---- */

enum { MAX_DEVICES = 8 };
static struct {
  char names[128];
  const char *name[MAX_DEVICES];
  rlx_session *session[MAX_DEVICES];
  int n;
  uint64_t seed;
} all;

static void close_all(void) {
  for (int i = 0; i < all.n; i++) rlx_session_destroy(all.session[i]);
}

static rlx_status add_device(const char *name) {
  rlx_session *s;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = name, .n_threads = 1};
  rlx_status status = rlx_session_create(&desc, &s);
  if (status == RLX_NOT_FOUND) return RLX_OK;
  if (status || all.n == MAX_DEVICES) return status;
  all.name[all.n] = name;
  all.session[all.n++] = s;
  return RLX_OK;
}

static rlx_status open_all(void) {
  static bool is_open;
  if (is_open) return all.n ? RLX_OK : RLX_FAIL(RLX_NOT_FOUND, "there is no device to test");
  is_open = true;
  const char *names = getenv("RLX_TEST_DEVICES"), *seed = getenv("RLX_TEST_SEED");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  all.seed =
    seed ? strtoull(seed, NULL, 10) : ((uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec) % 1000000000u;
  snprintf(all.names, sizeof all.names, "%s", names ? names : "emu,vulkan");
  char *rest = NULL;
  for (char *name = strtok_r(all.names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
    RLX_TRY_AT(add_device(name), "device %s", name);
  printf("inputs of RLX_TEST_SEED=%llu\n", (unsigned long long)all.seed);
  atexit(close_all); /* registered after the drivers are loaded, so that they still exist when it runs */
  return all.n ? RLX_OK : RLX_FAIL(RLX_NOT_FOUND, "there is no device to test");
}

void gpu_check_choose(gpu_choices choices) {
  if (open_all()) return; /* the following check reports it */
  for (int i = 0; i < all.n; i++) gpu_choose(all.session[i], choices);
}

bool gpu_check_has(const char *device) {
  if (open_all()) return false;
  for (int i = 0; i < all.n; i++)
    if (strcmp(all.name[i], device) == 0) return true;
  return false;
}

/* ---- one line ---- */

static rlx_status copy_of(const rlx_tensor *view, rlx_tensor *out) {
  RLX_TRY(rlx_tensor_create(&(rlx_type){view->dtype, view->shape}, out));
  if (out->bytes) memcpy(out->data, view->data, out->bytes);
  return RLX_OK;
}

static rlx_status reference(const rlx_case_built *b, rlx_tensor *want) {
  rlx_evaluator *e;
  rlx_tensor view;
  const char *name;
  RLX_TRY(rlx_evaluator_create(b->graph, &e));
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < b->n_values && !s; i++) s = rlx_evaluator_set(e, b->names[i], &b->values[i]);
  if (!s) s = rlx_evaluator_run(e);
  rlx_graph_output_at(b->graph, 0, &name);
  if (!s) s = rlx_evaluator_get(e, name, &view);
  if (!s) s = copy_of(&view, want);
  rlx_evaluator_destroy(e);
  return s;
}

/* Equal bits, except for the payload of NaNs; -0 is not 0. */
static rlx_status compare_bits(const rlx_tensor *y, const rlx_tensor *r) {
  double error;
  if (memcmp(y->data, r->data, y->bytes) == 0) return RLX_OK;
  return rlx_compare(y, r, (rlx_tolerance){.signs = true}, &error);
}

static rlx_status compare(const rlx_graph *g, rlx_tensor *found, const rlx_tensor *want, measure how) {
  double error;
  rlx_node result = g->outputs.v[0].node;
  if (how == BITS) return compare_bits(found, want);
  return rlx_compare(found, want, how == ROUNDED ? rlx_tolerance_rounded(g, result) : rlx_tolerance_strict(g, result),
                     &error);
}

/* Runs twice, so that leftovers of a run show; the result is poisoned before. States are reset each time. */
static rlx_status run_twice(rlx_executable *e, const rlx_case_built *b, const rlx_tensor *want, measure how) {
  const char *name;
  rlx_tensor found;
  RLX_TRY(copy_of(want, &found));
  rlx_graph_output_at(b->graph, 0, &name);
  rlx_status s = RLX_OK;
  for (int run = 0; run < 2 && !s; run++) {
    for (size_t i = 0; i < b->n_values && !s; i++) s = rlx_executable_write(e, b->names[i], &b->values[i]);
    memset(found.data, 0xa5, found.bytes);
    if (!s) s = rlx_executable_run(e);
    if (!s) s = rlx_executable_read(e, name, &found);
    if (!s) s = compare(b->graph, &found, want, how);
  }
  rlx_tensor_deinit(&found);
  return s;
}

static rlx_status check_on(rlx_session *session, const rlx_case_built *b, const rlx_tensor *want, measure how) {
  rlx_executable *e;
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT,
                                 .switches = RLX_SWITCH_FORBID_HOST | (how != ROUNDED ? RLX_SWITCH_EXACT : 0u),
                                 .without = "fold,cleanup"};
  RLX_TRY(rlx_compile(session, b->graph, &options, &e));
  rlx_status s = run_twice(e, b, want, how);
  rlx_executable_destroy(e);
  return s;
}

/* The reference needs no device, but the command requires one. */
static const char *where_to_repeat(const char *where) {
  for (int i = 0; i < all.n; i++)
    if (where == all.name[i]) return where;
  return all.n ? all.name[0] : "emu";
}

static bool check_case(rlx_op op, const rlx_case *c, measure how, const rlx_tensor *given) {
  rlx_case_built b = {0};
  rlx_tensor want = {0};
  const char *where = "the reference";
  rlx_status s = open_all();
  if (!s) s = rlx_case_build(op, c, &b);
  if (!s) s = given ? copy_of(given, &want) : reference(&b, &want);
  for (int i = 0; i < all.n && !s; i++) {
    where = all.name[i];
    s = check_on(all.session[i], &b, &want, how);
  }
  if (s) {
    printf("%s on %s: %s <%s> %s: %s\n", rlx_op_table_get(op)->name, where, c->name, c->inputs, c->expr, rlx_message());
    printf("  repeat: RLX_TEST_SEED=%llu RLX_TEST_DEVICES=%s %s %s\n", (unsigned long long)all.seed,
           where_to_repeat(where), test_all.program, test_all.current->name);
  }
  rlx_tensor_deinit(&want);
  rlx_case_deinit(&b);
  return s == RLX_OK;
}

/* The values are seeded by the case's name. */
static bool check_line(rlx_op op, const char *inputs, const char *expr, measure how) {
  char name[32];
  if (open_all()) printf("%s\n", rlx_message());
  snprintf(name, sizeof name, "line %llu", (unsigned long long)all.seed);
  return check_case(op, &(rlx_case){name, inputs, expr}, how, NULL);
}

bool gpu_check_text(rlx_op op, const char *inputs, const char *expr) { return check_line(op, inputs, expr, CLOSE); }
bool gpu_check_bits(rlx_op op, const char *inputs, const char *expr) { return check_line(op, inputs, expr, BITS); }
bool gpu_check_rounded(rlx_op op, const char *inputs, const char *expr) {
  return check_line(op, inputs, expr, ROUNDED);
}

bool gpu_check_values(rlx_op op, const char *inputs, const char *expr, rlx_dims shape, const float *want) {
  rlx_tensor given = {.dtype = RLX_F32, .shape = shape, .const_data = want};
  if (rlx_tensor_bytes(given.dtype, shape, &given.bytes)) return false;
  return check_case(op, &(rlx_case){"values", inputs, expr}, BITS, &given);
}

static bool check_random(rlx_op op, size_t n, gpu_check_write write, measure how) {
  bool ok = true;
  if (open_all()) printf("%s\n", rlx_message());
  for (size_t i = 0; i < n; i++) {
    gpu_check_line *line = calloc(1, sizeof *line);
    if (!line) return false;
    uint64_t seed = rlx_hash_bytes(all.seed * 1000 + i, rlx_op_table_get(op)->name, strlen(rlx_op_table_get(op)->name));
    char name[48];
    snprintf(name, sizeof name, "random %zu of %llu", i, (unsigned long long)all.seed);
    write(&seed, line);
    ok &= check_case(op, &(rlx_case){name, line->inputs, line->expr}, how, NULL);
    free(line);
  }
  return ok;
}

/* Inputs are new in every run, so a few per run add up; RLX_SOAK=1: ten times as many. */
static size_t how_many(size_t n) {
  if (getenv("RLX_SOAK")) return 10 * n;
  return TEST_IS_SANITIZED ? n / 5 + 1 : n / 3 + 1;
}

bool gpu_check_random(rlx_op op, size_t n, gpu_check_write write) {
  return check_random(op, how_many(n), write, CLOSE);
}
bool gpu_check_random_bits(rlx_op op, size_t n, gpu_check_write write) {
  return check_random(op, how_many(n), write, BITS);
}

/* ---- for writers ---- */

int gpu_check_int(uint64_t *seed, int lo, int hi) {
  *seed = rlx_hash_bytes(*seed, "next", 4);
  return lo + (int)((*seed >> 20) % (uint64_t)(hi - lo + 1));
}

const char *gpu_check_pick(uint64_t *seed, const char *const *texts, size_t n) {
  return texts[gpu_check_int(seed, 0, (int)n - 1)];
}

void gpu_check_print(char (*to)[1024], const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(*to, sizeof *to, fmt, args);
  va_end(args);
}
