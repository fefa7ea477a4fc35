/* NaN, infinities, minus zero and denormals through every op: the conformance cases again, with such a value written
 * into each float input in turn, on the CPU in every instruction set and on the emulated GPU. The result must be that
 * of the reference, with NaN and infinities at the same positions. RLX_TEST_DEVICES names other devices.
 *
 * The table `exceptions` lists where ops differ, and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conform/conform.h"
#include "ref/eval.h"
#include "ref/ref.h"
#include "runtime/executable.h"
#include "test.h"

/* ---- devices ---- */

enum { MAX_DEVICES = 8, MAX_ELEMENTS = 1000, MAX_ELEMENTS_EMULATED = 200 };

typedef struct device {
  const char *name;
  rlx_session *session;
  rlx_executable *executable; /* of the current case */
} device;

static device devices[MAX_DEVICES];
static size_t n_devices;

static void open_devices(void) {
  static char names[256];
  const char *chosen = getenv("RLX_TEST_DEVICES");
  snprintf(names, sizeof names, "%s", chosen ? chosen : "cpu:base,cpu:avx2,cpu,emu");
  char *rest = NULL; /* not strtok: drivers call it */
  for (char *at = strtok_r(names, ",", &rest); at && n_devices < MAX_DEVICES; at = strtok_r(NULL, ",", &rest)) {
    rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = at, .n_threads = 1};
    devices[n_devices].name = at;
    if (rlx_session_create(&d, &devices[n_devices].session)) printf("  %s: %s\n", at, rlx_message());
    else n_devices++;
  }
}

static void close_devices(void) {
  for (size_t i = 0; i < n_devices; i++) rlx_session_destroy(devices[i].session);
  n_devices = 0;
}

/* ---- special values ---- */

typedef struct special {
  const char *name;
  double value; /* for f32 */
  double half;  /* for f16 */
} special;

static const special specials[] = {
  {"NaN", (double)NAN, (double)NAN},
  {"inf", (double)INFINITY, (double)INFINITY},
  {"-inf", -(double)INFINITY, -(double)INFINITY},
  {"-0", -0.0, -0.0},
  {"denormal", 0x1p-130, 0x1p-20},
};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

static bool is_planted(rlx_dtype t) { return t == RLX_F32 || t == RLX_F16 || t == RLX_BF16 || t == RLX_C64; }

/* Writes it into one element, which depends on the case; for c64 into one of its parts. */
static void plant(rlx_tensor *t, const special *s, size_t salt) {
  size_t n = rlx_tensor_count(t);
  rlx_tensor parts = *t;
  if (t->dtype == RLX_C64) parts.dtype = RLX_F32, n *= 2;
  rlx_store(&parts, (salt * 7919 + 5) % n, t->dtype == RLX_F16 ? s->half : s->value);
}

/* ---- exceptions: as documented for the ops ---- */

typedef enum measure {
  AS_REFERENCE,
  MAY_SPREAD, /* what is non-finite in the reference is so here; further elements may be NaN */
  SOME,       /* the result contains a non-finite value */
  SKIPPED
} measure;

typedef struct exception {
  const char *op, *leaf, *specials; /* leaf and specials: "" for any */
  measure how;
} exception;

static const exception exceptions[] = {
  /* A weight is multiplied by the zeros of the padding, or between the elements: 0 times NaN. */
  {"conv", "w", "NaN inf -inf", MAY_SPREAD},
  {"conv_transpose", "w", "NaN inf -inf", MAY_SPREAD},
  {"fused_conv_bias_act", "w", "NaN inf -inf", MAY_SPREAD},
  {"causal_conv", "w", "NaN inf -inf", MAY_SPREAD},
  /* Fast transforms omit products with 0 and 1 that the definition contains. */
  {"fft", "", "NaN inf -inf", SOME},
  {"ifft", "", "NaN inf -inf", SOME},
  {"rfft", "", "NaN inf -inf", SOME},
  {"irfft", "", "NaN inf -inf", SOME},
  {"stft", "", "NaN inf -inf", SOME},
  /* A factor of 1e-39 gives an angle of 1e39, whose sine is meaningless in f32. */
  {"rope", "f", "denormal", SKIPPED},
  {"fused_norm_rope", "f", "denormal", SKIPPED},
  {"fused_rope_update", "f", "denormal", SKIPPED},
  {"fused_rope_attention", "f", "denormal", SKIPPED},
  /* Whether -0 is less than a bound of 0 is not specified: devices may treat them as equal. */
  {"clamp", "", "-0", SKIPPED},
};

static measure measure_of(const char *op, const char *leaf, const special *s) {
  for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++) {
    const exception *e = &exceptions[i];
    if (strcmp(e->op, op) == 0 && (!e->leaf[0] || strcmp(e->leaf, leaf) == 0) && strstr(e->specials, s->name))
      return e->how;
  }
  return AS_REFERENCE;
}

/* Cases that already contain such values, or the largest: two of them may be combined in another order. */
static bool is_special_already(const rlx_case *c) {
  return strstr(c->inputs, "special") || strstr(c->name, "special") || strstr(c->name, "far");
}

/* ---- one case ---- */

typedef struct counts {
  size_t runs, failures;
} counts;
static size_t n_runs; /* of all ops */

static bool is_float(rlx_dtype t) { return rlx_dtype_is_float(t) || t == RLX_C64; }

/* The number of non-finite elements. */
static size_t count_odd(const rlx_tensor *t) {
  rlx_tensor parts = *t;
  size_t n = rlx_tensor_count(t) * (t->dtype == RLX_C64 ? 2 : 1), count = 0;
  if (t->dtype == RLX_C64) parts.dtype = RLX_F32;
  for (size_t i = 0; is_float(t->dtype) && i < n; i++)
    if (!isfinite(rlx_load(&parts, i))) count++;
  return count;
}

static rlx_status compare(rlx_tensor *found, const rlx_tensor *want, rlx_tolerance tol, measure how) {
  double error;
  if (how == SOME) {
    if (!count_odd(want) == !count_odd(found)) return RLX_OK;
    return RLX_FAIL(RLX_INVALID, "%zu elements are not finite, expected %zu or some", count_odd(found),
                    count_odd(want));
  }
  for (size_t i = 0; how == MAY_SPREAD && i < rlx_tensor_count(want); i++)
    if (isnan(rlx_load(found, i))) rlx_store(found, i, rlx_load(want, i));
  return rlx_compare(found, want, tol, &error);
}

static rlx_status run_on(device *d, const rlx_case_built *b, const rlx_tensor *want, measure how) {
  rlx_tensor found = {0};
  const char *name;
  for (size_t i = 0; i < b->n_values; i++) RLX_TRY(rlx_executable_write(d->executable, b->names[i], &b->values[i]));
  RLX_TRY(rlx_executable_run(d->executable));
  rlx_node result = b->graph->outputs.v[0].node;
  rlx_graph_output_at(b->graph, 0, &name);
  RLX_TRY(rlx_tensor_create(&rlx_graph_at(b->graph, result)->type, &found));
  rlx_status s = rlx_executable_read(d->executable, name, &found);
  if (!s) s = compare(&found, want, rlx_tolerance_strict(b->graph, result), how);
  rlx_tensor_deinit(&found);
  return s;
}

/* All run as often as the reference, as random ops depend on the number of runs. */
static void run_planted(rlx_op op, const rlx_case *c, rlx_case_built *b, rlx_evaluator *e, size_t leaf,
                        const special *s, counts *n) {
  measure how = measure_of(rlx_op_table_get(op)->name, b->names[leaf], s);
  rlx_tensor want;
  rlx_status status = RLX_OK;
  const char *name;
  rlx_graph_output_at(b->graph, 0, &name);
  for (size_t i = 0; i < b->n_values && !status; i++) status = rlx_evaluator_set(e, b->names[i], &b->values[i]);
  if (!status) status = rlx_evaluator_run(e);
  if (!status) status = rlx_evaluator_get(e, name, &want);
  for (size_t i = 0; i < n_devices; i++) {
    if (!devices[i].executable) continue;
    n->runs++;
    rlx_status found = status || how == SKIPPED ? RLX_OK : run_on(&devices[i], b, &want, how);
    if (!found) continue;
    if (n->failures++ < 8)
      printf("  %s: %s/%s, %s in %s: %s\n", devices[i].name, rlx_op_table_get(op)->name, c->name, s->name,
             b->names[leaf], rlx_message());
  }
}

static void run_case(rlx_op op, const rlx_case *c, rlx_case_built *b, counts *n) {
  size_t size = 0;
  rlx_evaluator *e = NULL;
  for (size_t i = 0; i < b->n_values; i++) size += rlx_tensor_count(&b->values[i]);
  if (size > MAX_ELEMENTS || rlx_dims_count(&rlx_graph_at(b->graph, b->graph->outputs.v[0].node)->type.shape) == 0)
    return;
  for (size_t i = 0; i < n_devices; i++) {
    rlx_compile_options o = {RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_EXACT};
    if (size > MAX_ELEMENTS_EMULATED && strncmp(devices[i].name, "cpu", 3) != 0) continue;
    if (rlx_compile(devices[i].session, b->graph, &o, &devices[i].executable)) devices[i].executable = NULL;
  }
  if (rlx_evaluator_create(b->graph, &e)) return;
  for (size_t leaf = 0; leaf < b->n_values; leaf++) {
    rlx_tensor *t = &b->values[leaf];
    if (!is_planted(t->dtype) || rlx_tensor_count(t) == 0) continue;
    void *before = malloc(t->bytes);
    memcpy(before, t->data, t->bytes);
    for (size_t k = 0; k < N_SPECIALS; k++) {
      plant(t, &specials[k], leaf + k + strlen(c->name));
      run_planted(op, c, b, e, leaf, &specials[k], n);
      memcpy(t->data, before, t->bytes);
    }
    free(before);
  }
  rlx_evaluator_destroy(e);
  for (size_t i = 0; i < n_devices; i++) {
    rlx_executable_destroy(devices[i].executable);
    devices[i].executable = NULL;
  }
}

static bool check_op(rlx_op op) {
  const rlx_case_table *table = rlx_case_table_get(op);
  counts n = {0};
  if (!n_devices) open_devices();
  for (size_t i = 0; i < table->n; i++) {
    rlx_case_built b;
    if (is_special_already(&table->v[i]) || rlx_case_build(op, &table->v[i], &b)) continue;
    run_case(op, &table->v[i], &b, &n);
    rlx_case_deinit(&b);
  }
  n_runs += n.runs;
  return n.failures == 0;
}

#define OP(name, types, inputs, result, shape, attrs, traits, doc) \
  TEST(special_##name) { CHECK(check_op(RLX_OP_##name)); }
#include "ir/ops.def"
#undef OP

TEST(zz_all_ops_were_run) {
  close_devices();
  printf("  %zu runs\n", n_runs);
  CHECK(n_runs > 10000);
}
