/* rlx onnx-test: runs folders of ONNX test data, each a model with inputs and expected outputs.
 *
 * A case is a folder with model.onnx and test_data_set_0, _1, .. next to it, which hold input_0.pb, .., output_0.pb,
 * ..: the layout of ONNX's own operator tests. Other folders are searched for cases. A model that RLX refuses is
 * skipped, with the reason. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/onnx.h"

enum { MAX_PATH = 4096, MAX_TENSORS = 64, MAX_DEPTH = 8 };

typedef enum verdict { PASSED, FAILED, SKIPPED } verdict;
static const char *const verdict_names[] = {"PASS", "FAIL", "SKIP"};

typedef struct request {
  cli_common common;
  const char *only, *without;
  double rtol, atol;
  uint32_t switches; /* rlx_switch */
  rlx_session *session;
  size_t n[3];
  char why[2048]; /* of the current case */
  char ops[1024]; /* its ops, separated by blanks */
  bool is_random; /* uses random numbers: only types and shapes are compared */
} request;

typedef struct tensors {
  rlx_named_tensor v[MAX_TENSORS];
  size_t n;
} tensors;

static void tensors_free(tensors *t) {
  for (size_t i = 0; i < t->n; i++) rlx_free(t->v[i].tensor.data);
  t->n = 0;
}

/* ---- Comparison ---- */

static bool is_float(rlx_dtype d) { return d == RLX_F32 || d == RLX_F16 || d == RLX_BF16 || d == RLX_F64; }

static size_t count_of(const rlx_tensor *t) {
  size_t n = 1;
  for (int i = 0; i < t->shape.n; i++) n *= (size_t)t->shape.v[i];
  return n;
}

/* Converts any float type to double with a cast of the library. */
static double *as_doubles(const rlx_tensor *t) {
  size_t n = count_of(t);
  double *out = malloc((n + 1) * sizeof *out);
  rlx_graph *g = NULL;
  rlx_evaluator *e = NULL;
  rlx_tensor view;
  rlx_status s = out ? rlx_graph_create(&g) : RLX_NO_MEMORY;
  if (!s) rlx_graph_add_output(g, "y", rlx_op_cast(g, rlx_op_input(g, "x", t->dtype, t->shape), RLX_F64));
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = rlx_evaluator_create(g, &e);
  if (!s) s = rlx_evaluator_set(e, "x", t);
  if (!s) s = rlx_evaluator_run(e);
  if (!s) s = rlx_evaluator_get(e, "y", &view);
  if (!s) memcpy(out, view.data, n * sizeof *out);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  if (!s) return out;
  free(out);
  return NULL;
}

typedef struct tolerance {
  double rtol, atol;
} tolerance;

/* ONNX's own runner allows bf16, with its 8-bit significand, an error of two units in the last place. Values that
 * are 0 up to rounding next to large ones (imaginary parts of a transform) may be off by the tolerance relative to
 * the largest value. */
static tolerance tolerance_of(const request *r, rlx_dtype dtype, const double *want, size_t n) {
  tolerance t = {dtype == RLX_BF16 && r->rtol < 0x1p-6 ? 0x1p-6 : r->rtol, r->atol};
  for (size_t i = 0; i < n; i++)
    if (isfinite(want[i]) && r->atol * fabs(want[i]) > t.atol) t.atol = r->atol * fabs(want[i]);
  return t;
}

static bool is_near(tolerance t, double got, double want) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return want == got;
  return fabs(got - want) <= t.atol + t.rtol * fabs(want);
}

static bool same_floats(request *r, const char *name, const rlx_tensor *got, const rlx_tensor *want) {
  size_t n = count_of(got), wrong = 0, first = 0;
  double *a = as_doubles(got), *b = as_doubles(want);
  tolerance t = a && b ? tolerance_of(r, got->dtype, b, n) : (tolerance){0, 0};
  for (size_t i = 0; a && b && i < n; i++) {
    if (is_near(t, a[i], b[i])) continue;
    if (!wrong++) first = i;
  }
  if (!a || !b) snprintf(r->why, sizeof r->why, "output '%s': %s", name, rlx_message());
  else if (wrong)
    snprintf(r->why, sizeof r->why, "output '%s': %zu of %zu elements differ, first %zu: %.9g, expected %.9g", name,
             wrong, n, first, a[first], b[first]);
  bool same = a && b && !wrong;
  free(a);
  free(b);
  return same;
}

static void text_of(const rlx_tensor *t, char *out, size_t cap) {
  int n = snprintf(out, cap, "%s[", rlx_dtype_describe(t->dtype)->name);
  for (int i = 0; i < t->shape.n && n > 0 && (size_t)n < cap; i++)
    n += snprintf(out + n, cap - (size_t)n, "%s%lld", i ? "," : "", (long long)t->shape.v[i]);
  if (n > 0 && (size_t)n + 1 < cap) memcpy(out + n, "]", 2);
}

static bool same_output(request *r, const char *name, const rlx_tensor *got, const rlx_tensor *want) {
  bool fits = got->dtype == want->dtype && got->shape.n == want->shape.n;
  for (int i = 0; fits && i < got->shape.n; i++) fits = got->shape.v[i] == want->shape.v[i];
  if (!fits) {
    char a[256], b[256];
    text_of(got, a, sizeof a);
    text_of(want, b, sizeof b);
    snprintf(r->why, sizeof r->why, "output '%s' is %s, expected %s", name, a, b);
    return false;
  }
  if (r->is_random) return true;
  if (is_float(got->dtype)) return same_floats(r, name, got, want);
  if (got->bytes == want->bytes && (!got->bytes || memcmp(got->data, want->data, got->bytes) == 0)) return true;
  snprintf(r->why, sizeof r->why, "output '%s' differs", name);
  return false;
}

/* ---- One case ---- */

static bool exists(const char *path) {
  cli_stat st;
  return cli_look(path, &st);
}

/* Reads input_0.pb, input_1.pb, .. of a data set. */
static rlx_status read_all(const char *folder, const char *kind, tensors *out) {
  char path[MAX_PATH];
  for (out->n = 0; out->n < MAX_TENSORS; out->n++) {
    int n = snprintf(path, sizeof path, "%s/%s_%zu.pb", folder, kind, out->n);
    if (n < 0 || (size_t)n >= sizeof path || !exists(path)) return RLX_OK;
    rlx_status s = rlx_onnx_tensor_read(path, NULL, 0, &out->v[out->n].tensor);
    if (s) return s;
  }
  return RLX_OK;
}

/* Old test data stores bf16 as 16-bit patterns in an integer tensor. */
static void reinterpret_bf16(rlx_dtype declared, rlx_tensor *t) {
  if (declared != RLX_BF16 || t->dtype != RLX_I32) return;
  for (size_t i = 0, n = count_of(t); i < n; i++) ((uint16_t *)t->data)[i] = (uint16_t)((const int32_t *)t->data)[i];
  t->dtype = RLX_BF16;
  t->bytes /= 2;
}

/* Data sets list the inputs in model order; inputs with defaults are included only if all are given. */
static void name_inputs(const rlx_onnx *m, tensors *in) {
  uint32_t required = 0;
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  for (uint32_t i = 0; i < rlx_onnx_input_count(m); i++) required += !rlx_onnx_input_at(m, i, &v) && !v.has_default;
  size_t k = 0;
  for (uint32_t i = 0; i < rlx_onnx_input_count(m) && k < in->n; i++)
    if (!rlx_onnx_input_at(m, i, &v) && (in->n > required || !v.has_default)) {
      reinterpret_bf16(v.dtype, &in->v[k].tensor);
      in->v[k++].name = v.name;
    }
  in->n = k;
}

static verdict classify_failure(request *r, rlx_status s) {
  snprintf(r->why, sizeof r->why, "%s", rlx_message());
  return s == RLX_UNSUPPORTED ? SKIPPED : FAILED;
}

static verdict run_set(request *r, const rlx_onnx *m, rlx_onnx_runner *runner, const char *folder) {
  tensors in = {.n = 0}, want = {.n = 0};
  verdict v = PASSED;
  rlx_status s = read_all(folder, "input", &in);
  if (!s) s = read_all(folder, "output", &want);
  if (!s) {
    name_inputs(m, &in);
    s = rlx_onnx_run(runner, in.v, in.n);
  }
  for (uint32_t i = 0; i < want.n && !s && v == PASSED; i++) {
    const char *name;
    rlx_tensor got;
    s = rlx_onnx_runner_output(runner, i, &name, &got);
    if (!s) reinterpret_bf16(got.dtype, &want.v[i].tensor);
    if (!s && !same_output(r, name, &got, &want.v[i].tensor)) v = FAILED;
  }
  if (s) v = classify_failure(r, s);
  tensors_free(&in);
  tensors_free(&want);
  return v;
}

/* Lists the ops; those of another domain with its name. */
static void list_ops(request *r, const rlx_onnx *m) {
  rlx_onnx_op_use u = {RLX_ONNX_OP_USE_INIT};
  size_t n = 0;
  for (uint32_t i = 0; i < rlx_onnx_op_count(m) && n + 1 < sizeof r->ops; i++) {
    if (rlx_onnx_op_at(m, i, &u)) return;
    bool is_own = strcmp(u.domain, "ai.onnx") == 0;
    r->is_random |=
      strncmp(u.op, "Random", 6) == 0 || strcmp(u.op, "Bernoulli") == 0 || strcmp(u.op, "Multinomial") == 0;
    int k = snprintf(r->ops + n, sizeof r->ops - n, "%s%s%s%s", n ? " " : "", is_own ? "" : u.domain, is_own ? "" : ".",
                     u.op);
    n += k > 0 ? (size_t)k : 0;
  }
}

static verdict run_case(request *r, const char *folder) {
  char path[MAX_PATH];
  rlx_onnx *m = NULL;
  rlx_onnx_runner *runner = NULL;
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .without = r->without, .switches = r->switches};
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  rlx_status s = rlx_onnx_open(path, cli_limited(), &m);
  if (!s) list_ops(r, m);
  if (!s) s = rlx_onnx_runner_create(r->session, m, &o, &runner);
  verdict v = s ? classify_failure(r, s) : PASSED;
  int sets = 0;
  for (; v == PASSED; sets++) {
    int n = snprintf(path, sizeof path, "%s/test_data_set_%d", folder, sets);
    if (n < 0 || (size_t)n >= sizeof path || !exists(path)) break;
    v = run_set(r, m, runner, path);
  }
  if (v == PASSED && !sets) {
    snprintf(r->why, sizeof r->why, "no test_data_set_0 beside the model");
    v = FAILED;
  }
  if (v == PASSED && r->is_random) {
    snprintf(r->why, sizeof r->why, "it draws numbers, which cannot agree; types and shapes do");
    v = SKIPPED;
  }
  rlx_onnx_runner_destroy(runner);
  rlx_onnx_close(m);
  return v;
}

/* ---- Folders ---- */

static void report(request *r, const char *folder, const char *name, verdict v) {
  if (r->common.json) {
    printf("%s{\"case\":", r->n[0] + r->n[1] + r->n[2] > 1 ? "," : "");
    cli_print_quoted(name);
    fputs(",\"folder\":", stdout);
    cli_print_quoted(folder);
    printf(",\"result\":\"%s\",\"why\":", verdict_names[v]);
    cli_print_quoted(v == PASSED ? "" : r->why);
    fputs(",\"ops\":", stdout);
    cli_print_words(r->ops);
    putchar('}');
    return;
  }
  if (r->common.quiet && v == PASSED) return;
  printf("%s ", verdict_names[v]);
  cli_print_plain(name);
  if (v != PASSED) {
    for (char *p = r->why; *p; p++)
      if (*p == '\n') *p = ' ';
    fputs(": ", stdout);
    cli_print_plain(r->why);
  }
  putchar('\n');
  fflush(stdout);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int walk(request *r, const char *folder, int depth, size_t *found);

static int walk_entries(request *r, const char *folder, char **names, size_t n, int depth, size_t *found) {
  int code = CLI_DONE;
  for (size_t i = 0; i < n; i++) {
    char path[MAX_PATH];
    cli_stat st;
    int k = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (k > 0 && (size_t)k < sizeof path && cli_look(path, &st) && st.is_folder && walk(r, path, depth + 1, found))
      code = CLI_FAILED;
  }
  return code;
}

static int walk_folder(request *r, const char *folder, int depth, size_t *found) {
  size_t n;
  char **names = cli_list_folder(folder, &n);
  if (!names) return cli_fail("%s: cannot be opened as a folder", folder);
  if (n) qsort(names, n, sizeof *names, by_name);
  int code = walk_entries(r, folder, names, n, depth, found);
  for (size_t i = 0; i < n; i++) free(names[i]);
  free(names);
  return code;
}

/* The last part of the path; all of it where that is empty. */
static const char *name_of(const char *path) {
  const char *last = path;
  for (const char *p = path; *p; p++)
    if (cli_is_separator(*p)) last = p[1] ? p + 1 : path;
  return last;
}

static int walk(request *r, const char *folder, int depth, size_t *found) {
  char path[MAX_PATH];
  int n = snprintf(path, sizeof path, "%s/model.onnx", folder);
  if (n < 0 || (size_t)n >= sizeof path) return cli_fail("%s: the path is too long", folder);
  if (!exists(path)) return depth < MAX_DEPTH ? walk_folder(r, folder, depth, found) : CLI_DONE;
  const char *name = name_of(folder);
  ++*found;
  if (r->only && !cli_fits(r->only, name)) return CLI_DONE;
  r->why[0] = r->ops[0] = '\0';
  r->is_random = false;
  verdict v = run_case(r, folder);
  r->n[v]++;
  report(r, folder, name, v);
  return CLI_DONE;
}

static int test(request *r, const cli_list *words) {
  int code = CLI_DONE;
  if (cli_session_open(&r->common, r->common.device, (uint32_t)r->common.threads, &r->session)) return CLI_FAILED;
  if (r->common.json) {
    cli_json_begin();
    fputs("{\"cases\":[", stdout);
  }
  for (size_t i = 0; i < words->n; i++) {
    size_t found = 0;
    if (walk(r, words->v[i].value, 0, &found)) code = CLI_FAILED;
    else if (!found) code = cli_fail("%s: no folder in it has a model.onnx", words->v[i].value);
  }
  rlx_session_destroy(r->session);
  if (!r->common.json) printf("%zu passed, %zu failed, %zu skipped\n", r->n[PASSED], r->n[FAILED], r->n[SKIPPED]);
  if (r->n[FAILED]) code = cli_fail("%zu of %zu cases failed", r->n[FAILED], r->n[0] + r->n[1] + r->n[2]);
  if (r->common.json) {
    printf("],\"passed\":%zu,\"failed\":%zu,\"skipped\":%zu", r->n[PASSED], r->n[FAILED], r->n[SKIPPED]);
    cli_json_end();
  }
  return code;
}

int cli_onnx_test(const cli_command *self, int argc, char **argv) {
  request r = {.rtol = 1e-3, .atol = 1e-7};
  cli_list words = {0};
  const cli_option options[] = {
    {"--only", "PATTERN", "only cases whose folder's name fits (* and ? stand for anything)", CLI_TEXT, &r.only, 0, 0},
    {"--without", "LIST", "passes to leave out", CLI_TEXT, &r.without, 0, 0},
    CLI_SWITCH_NO_HOST(r),
    {"--rtol", "X", "how far results may be off, as a share (1e-3)", CLI_REAL, &r.rtol, 0, 1000},
    {"--atol", "X", "and besides (1e-7)", CLI_REAL, &r.atol, 0, 1000},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &words, &code))
    code = words.n ? test(&r, &words) : cli_wrong(self, "expected folders of test data");
  cli_list_deinit(&words);
  return code;
}
