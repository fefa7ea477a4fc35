/* rlx eval: run a graph through the reference, arrays in and out as .npy.
 *
 * Everything is checked before the run begins: all arrays are read, all that is wrong with them or missing is told, and
 * the output folder is looked at. Nothing is written before the run has succeeded. Values are kept by the nodes of the
 * graph as it was loaded; passes may drop leaves or add some, so there they are matched by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

enum { SHOWN_VALUES = 8 };

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words, inputs, dims;
  const char *out, *pass, *without;
  int64_t seed; /* of --random; -1: not asked for */
} request;

/* One evaluation. */
typedef struct job {
  const request *r;
  const char *path;
  rlx_graph *graph;
  rlx_tensor *values;       /* by node of graph; NULL data where there is none */
  rlx_evaluator *random;    /* owns the values that are random; NULL without --random */
  rlx_optimized *optimized; /* NULL without passes */
  rlx_evaluator *evaluator;
  double seconds;
} job;

static const rlx_graph *graph_to_run(const job *j) {
  return j->optimized ? rlx_optimized_graph(j->optimized) : j->graph;
}

static void job_deinit(job *j) {
  for (size_t i = 0; j->values && i < j->r->inputs.n; i++)
    rlx_free(j->values[rlx_graph_find(j->graph, j->r->inputs.v[i].name)].data); /* unknown: entry 0, which is empty */
  free(j->values);
  rlx_evaluator_destroy(j->evaluator);
  rlx_evaluator_destroy(j->random);
  rlx_optimized_destroy(j->optimized);
  rlx_graph_destroy(j->graph);
}

/* ---- Values that are given ----------------------------------------------------------------------------------- */

static int read_value(const job *j, const cli_word *input) {
  rlx_node n = rlx_graph_find(j->graph, input->name);
  if (!n) return cli_fail("--input '%s': %s has no input, param or state of this name", input->name, j->path);
  return cli_check(rlx_npy_read(input->value, &j->values[n]), "--input", input->name);
}

/* A leaf that must be given a value and has none; a state begins with zeros. */
static bool lacks_value(const job *j, rlx_node n) {
  return rlx_node_name(j->graph, n) && !j->values[n].data && strcmp(rlx_node_op(j->graph, n), "state") != 0;
}

static bool is_asked_for(const job *j, const char *name) {
  for (size_t i = 0; i < j->r->inputs.n; i++)
    if (strcmp(j->r->inputs.v[i].name, name) == 0) return true;
  return false;
}

static int read_values(const job *j) {
  int code = CLI_DONE;
  for (size_t i = 0; i < j->r->inputs.n; i++)
    if (read_value(j, &j->r->inputs.v[i])) code = CLI_FAILED;
  for (rlx_node n = 1; j->r->seed < 0 && n <= rlx_graph_size(j->graph); n++) {
    const char *name = rlx_node_name(j->graph, n);
    if (lacks_value(j, n) && !is_asked_for(j, name)) /* one that could not be read is not missing as well */
      code = cli_fail("%s '%s' has no value; add --input %s=FILE.npy, or --random SEED", rlx_node_op(j->graph, n), name,
                      name);
  }
  return code;
}

/* .npy has no block types: such a param takes its bytes from an array of u8. */
static void take_as_blocks(const rlx_graph *g, rlx_node n, rlx_tensor *t) {
  size_t bytes;
  rlx_dims shape = rlx_node_shape(g, n);
  rlx_dtype dtype = rlx_node_dtype(g, n);
  if (!t->data || t->dtype != RLX_U8 || rlx_dtype_describe(dtype)->block_elements == 1) return;
  if (rlx_tensor_bytes(dtype, shape, &bytes) || bytes != t->bytes) return; /* setting it will tell */
  t->dtype = dtype;
  t->shape = shape;
}

/* ---- Random values ------------------------------------------------------------------------------------------- */

/* Floats in -1 .. 1, integers and bools 0 or 1 (which most indices may be); the draw is the leaf's number, so that
 * equal seeds give equal values however many leaves are given. */
static rlx_node random_node(rlx_graph *g, rlx_dtype dtype, rlx_dims shape, int64_t seed, rlx_node leaf) {
  bool is_real = dtype == RLX_F32 || dtype == RLX_F16 || dtype == RLX_BF16 || dtype == RLX_F64;
  bool is_complex = dtype == RLX_C64 && shape.n < RLX_MAX_RANK;
  if (is_complex) shape.v[shape.n++] = 2;
  rlx_node x = rlx_rng_uniform(g, rlx_scalar(g, RLX_I64, (double)leaf), shape, RLX_F32, seed, -1, 1);
  if (is_complex) return rlx_view_as_complex(g, x);
  return rlx_cast(g, is_real ? x : rlx_gt(g, x, rlx_scalar(g, RLX_F32, 0)), dtype);
}

static int fill_random(job *j) {
  int code = CLI_DONE;
  rlx_graph *g;
  rlx_status s = rlx_graph_create(&g);
  bool any = false;
  for (rlx_node n = 1; !s && n <= rlx_graph_size(j->graph); n++) {
    rlx_dtype dtype = rlx_node_dtype(j->graph, n);
    const char *name = rlx_node_name(j->graph, n);
    if (!lacks_value(j, n)) continue;
    if (rlx_dtype_describe(dtype)->block_elements > 1)
      code = cli_fail("--random cannot make %s '%s', which is %s; add --input %s=FILE.npy, its bytes as u8",
                      rlx_node_op(j->graph, n), name, rlx_dtype_describe(dtype)->name, name);
    rlx_output(g, name, random_node(g, dtype, rlx_node_shape(j->graph, n), j->r->seed, n));
    any = true;
  }
  if (!s && !code && any) s = rlx_graph_finish(g);
  if (!s && !code && any) s = rlx_evaluator_create(g, &j->random);
  if (!s && j->random) s = rlx_evaluator_run(j->random);
  for (rlx_node n = 1; !s && j->random && n <= rlx_graph_size(j->graph); n++)
    if (lacks_value(j, n)) s = rlx_evaluator_get(j->random, rlx_node_name(j->graph, n), &j->values[n]);
  rlx_graph_destroy(g);
  return s ? cli_check(s, "--random", NULL) : code;
}

/* ---- Running ------------------------------------------------------------------------------------------------- */

/* Sets every leaf of g that has a value; all that do not fit are told. */
static int set_values(const job *j, const rlx_graph *g, rlx_evaluator *e) {
  int code = CLI_DONE;
  for (rlx_node n = 1; n <= rlx_graph_size(g); n++) {
    const char *name = rlx_node_name(g, n);
    rlx_node from = name ? rlx_graph_find(j->graph, name) : RLX_NONE;
    if (from && j->values[from].data && cli_check(rlx_evaluator_set(e, name, &j->values[from]), j->path, NULL))
      code = CLI_FAILED;
  }
  return code;
}

/* What passes moved to load time: its outputs are params of the graph to run. */
static int run_load(const job *j, const rlx_graph *load) {
  rlx_evaluator *e;
  rlx_tensor t;
  if (cli_check(rlx_evaluator_create(load, &e), j->path, NULL)) return CLI_FAILED;
  int code = set_values(j, load, e);
  rlx_status s = code ? RLX_OK : rlx_evaluator_run(e);
  for (uint32_t i = 0; !s && !code && i < rlx_graph_outputs(load); i++) {
    const char *name;
    rlx_graph_output(load, i, &name);
    s = rlx_evaluator_get(e, name, &t);
    if (!s) s = rlx_evaluator_set(j->evaluator, name, &t);
  }
  rlx_evaluator_destroy(e);
  return s ? cli_check(s, j->path, NULL) : code;
}

static int optimize(job *j) {
  const request *r = j->r;
  rlx_optimize_options options = {.struct_bytes = sizeof options, .without = r->without};
  if (r->pass && strcmp(r->pass, "all") != 0) options.passes = r->pass;
  return cli_check(rlx_optimize(j->graph, &options, &j->optimized), j->path, NULL);
}

static double seconds_now(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_graph(job *j) {
  const rlx_graph *g = graph_to_run(j), *load = j->optimized ? rlx_optimized_load(j->optimized) : NULL;
  if (cli_check(rlx_evaluator_create(g, &j->evaluator), j->path, NULL)) return CLI_FAILED;
  if (set_values(j, g, j->evaluator)) return CLI_FAILED;
  if (load && run_load(j, load)) return CLI_FAILED;
  double begin = seconds_now();
  if (cli_check(rlx_evaluator_run(j->evaluator), j->path, NULL)) return CLI_FAILED;
  j->seconds = seconds_now() - begin;
  if (j->r->common.verbose)
    fprintf(stderr, "rlx: %s: %u nodes in %.3f s\n", j->path, (unsigned)rlx_graph_size(g), j->seconds);
  return CLI_DONE;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------- */

/* The file of an output; slashes become '_', so that a name cannot leave the folder. Free with free. */
static char *output_path(const char *folder, const char *name) {
  size_t bytes = strlen(folder) + strlen(name) + sizeof "/.npy";
  char *path = malloc(bytes);
  if (!path) return NULL;
  snprintf(path, bytes, "%s/%s.npy", folder, name);
  for (char *p = path + strlen(folder) + 1; *p; p++)
    if (*p == '/') *p = '_';
  return path;
}

/* By the file names that they give: '/' counts as '_'. */
static int compare_names(const void *a, const void *b) {
  const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;
#define IN_FILE(c) ((c) == '/' ? '_' : (c))
  while (*x && IN_FILE(*x) == IN_FILE(*y)) x++, y++;
  return IN_FILE(*x) - IN_FILE(*y);
#undef IN_FILE
}

/* Outputs whose names differ in '/' and '_' alone would overwrite each other. */
static int check_names(const rlx_graph *g) {
  uint32_t n = rlx_graph_outputs(g);
  const char **names = calloc(n, sizeof *names);
  if (!names) return cli_fail("out of memory");
  int code = CLI_DONE;
  for (uint32_t i = 0; i < n; i++) rlx_graph_output(g, i, &names[i]);
  qsort(names, n, sizeof *names, compare_names);
  for (uint32_t i = 1; i < n; i++)
    if (compare_names(&names[i - 1], &names[i]) == 0)
      code = cli_fail("--out: outputs '%s' and '%s' would be one file", names[i - 1], names[i]);
  free(names);
  return code;
}

static int check_can_write(const char *out, const char *folder) {
  struct stat st;
  if (stat(folder, &st) != 0) return cli_fail("--out %s: cannot use '%s': %s", out, folder, strerror(errno));
  if (!S_ISDIR(st.st_mode)) return cli_fail("--out %s: expected a folder, but '%s' is none", out, folder);
  return access(folder, W_OK | X_OK) ? cli_fail("--out %s: cannot write '%s': %s", out, folder, strerror(errno))
                                     : CLI_DONE;
}

/* Whether the folder can be used, or made in its parent: asked before a run whose result would be lost. */
static int check_folder(const char *out) {
  struct stat st;
  if (!*out || stat(out, &st) == 0 || errno != ENOENT) return check_can_write(out, out);
  size_t n = strlen(out);
  while (n > 1 && out[n - 1] == '/') n--;
  while (n > 0 && out[n - 1] != '/') n--;
  char *parent = malloc(n + 2);
  if (!parent) return cli_fail("out of memory");
  memcpy(parent, n ? out : ".", n ? n : 1);
  parent[n ? n : 1] = '\0';
  int code = check_can_write(out, parent);
  free(parent);
  return code;
}

static void print_values(const rlx_tensor *t) {
  size_t count = t->bytes / rlx_dtype_describe(t->dtype)->block_bytes;
  if (cli_print_values(t, SHOWN_VALUES, false)) fputs("?", stdout);
  if (count > SHOWN_VALUES) printf(" .. (%zu in all)", count);
}

static void print_tensor(const request *r, const char *name, const rlx_tensor *t, const char *path) {
  const char *type = rlx_dtype_describe(t->dtype)->name;
  if (r->common.json) {
    fputs("{\"name\":", stdout);
    cli_print_quoted(name);
    printf(",\"dtype\":\"%s\",\"shape\":", type);
    cli_print_sizes(t->shape);
    fputs(path ? ",\"file\":" : ",\"values\":[", stdout);
    if (path) cli_print_quoted(path);
    else fputs(cli_print_values(t, SIZE_MAX, true) ? "null]" : "]", stdout);
    putchar('}');
    return;
  }
  cli_print_plain(name);
  printf(": %s", type);
  cli_print_sizes(t->shape);
  fputs(path ? " -> " : " = ", stdout);
  if (path) cli_print_plain(path);
  else print_values(t);
  putchar('\n');
}

static int write_output(const job *j, const char *name, const char **comma) {
  const request *r = j->r;
  rlx_tensor t;
  char *path = NULL;
  if (cli_check(rlx_evaluator_get(j->evaluator, name, &t), "output", name)) return CLI_FAILED;
  if (r->out && !(path = output_path(r->out, name))) return cli_fail("out of memory");
  rlx_status s = r->out ? rlx_npy_write(path, &t) : RLX_OK;
  if (!s && (r->common.json || !r->common.quiet)) {
    if (r->common.json) fputs(*comma, stdout);
    print_tensor(r, name, &t, path);
    *comma = ",";
  }
  free(path);
  return cli_check(s, "output", name);
}

static int write_outputs(const job *j) {
  const request *r = j->r;
  const rlx_graph *g = graph_to_run(j);
  const char *comma = "";
  int code = CLI_DONE;
  bool made = r->out && mkdir(r->out, 0777) == 0;
  if (r->out && !made && errno != EEXIST) return cli_fail("--out %s: %s", r->out, strerror(errno));
  if (r->common.json) fputs("{\"outputs\":[", stdout);
  for (uint32_t i = 0; i < rlx_graph_outputs(g); i++) {
    const char *name;
    rlx_graph_output(g, i, &name);
    if (write_output(j, name, &comma)) code = CLI_FAILED;
  }
  if (code && made) rmdir(r->out); /* nothing was written, or this fails */
  if (r->common.json) printf("],\"seconds\":%.6f}\n", j->seconds);
  return code;
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static int run_job(job *j) {
  const request *r = j->r;
  if (cli_load_graph(j->path, &j->graph)) return CLI_FAILED;
  j->values = calloc((size_t)rlx_graph_size(j->graph) + 1, sizeof *j->values);
  if (!j->values) return cli_fail("out of memory");
  int code = read_values(j);
  if (r->out && check_folder(r->out)) code = CLI_FAILED;
  if (r->out && check_names(j->graph)) code = CLI_FAILED;
  if (code || cli_bind(j->path, &r->dims, j->values, &j->graph)) return CLI_FAILED;
  for (rlx_node n = 1; n <= rlx_graph_size(j->graph); n++) take_as_blocks(j->graph, n, &j->values[n]);
  if (r->seed >= 0 && fill_random(j)) return CLI_FAILED;
  if ((r->pass || r->without) && optimize(j)) return CLI_FAILED;
  if (run_graph(j)) return CLI_FAILED;
  cli_hold_interrupts();
  code = write_outputs(j);
  cli_release_interrupts();
  return code;
}

static int run(const request *r) {
  if (r->words.n != 1) return cli_wrong(r->self, "expected one file, found %zu", r->words.n);
  job j = {.r = r, .path = r->words.v[0].value};
  int code = run_job(&j);
  job_deinit(&j);
  return code;
}

int cli_eval(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .seed = -1};
  const cli_option options[] = {
    {"--input", "NAME=FILE.npy", "the value of an input, param or state; repeat for each", CLI_PAIRS, &r.inputs, 0, 0},
    {"--dim", "NAME=SIZE", "give a symbol its size (else the inputs do)", CLI_PAIRS, &r.dims, 0, INT64_MAX},
    {"--out", "DIR", "write each output to DIR/NAME.npy ('/' becomes '_')", CLI_TEXT, &r.out, 0, 0},
    {"--random", "SEED", "random values for what is not given", CLI_NUMBER, &r.seed, 0, INT64_MAX},
    {"--pass", "LIST", "run these passes first (comma-separated, or 'all')", CLI_TEXT, &r.pass, 0, 0},
    {"--without", "LIST", "leave these out", CLI_TEXT, &r.without, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_list_deinit(&r.inputs);
  cli_list_deinit(&r.dims);
  return code;
}
