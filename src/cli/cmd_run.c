/* rlx run: compiles a graph for a device and runs it once, with .npy files as inputs and outputs. Like eval, but
 * fast. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

typedef struct request {
  cli_task task; /* must be first: a task is cast to its request */
  const char *out, *dump;
} request;

static const request *request_of(const cli_task *t) { return (const request *)t; }

static int check_folder(const cli_task *t, const cli_model *m) {
  const request *r = request_of(t);
  if (r->dump && cli_folder_check("--dump", r->dump)) return CLI_FAILED;
  return cli_results_check(r->out, m->graph, &(cli_reads){m->path, &t->model.inputs});
}

static void report(const cli_task *t, const cli_engine *e, double seconds) {
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  if (!t->common.verbose || rlx_executable_memory(e->executable, &memory)) return;
  fprintf(stderr,
          "rlx: %u steps on the device, %u on the host, %.3f ms; weights %llu, state %llu, scratch %llu bytes\n",
          memory.n_native, memory.n_host, seconds * 1e3, (unsigned long long)memory.weights,
          (unsigned long long)memory.state, (unsigned long long)memory.scratch);
}

/* ---- Intermediate values: each step's result into DIR/NODE_op.npy, as it is computed ---- */

typedef struct dump {
  const char *folder;
  const rlx_graph *graph;
  int code;
} dump;

static void dump_value(void *user, rlx_node node, const rlx_tensor *value) {
  dump *d = user;
  char path[4096];
  int n = snprintf(path, sizeof path, "%s/%u_%s.npy", d->folder, (unsigned)node, rlx_node_op(d->graph, node));
  if (n < 0 || (size_t)n >= sizeof path) d->code = cli_fail("--dump: the folder's name is too long");
  if (d->code) return; /* report only the first failure: the folder or disk is the cause */
  cli_hold_interrupts();
  d->code = cli_check(rlx_npy_write(path, value), "--dump", NULL);
  cli_release_interrupts();
}

static int dump_all(const cli_task *t, const cli_model *m, cli_engine *e) {
  dump d = {.folder = request_of(t)->dump, .graph = rlx_executable_graph(e->executable)};
  if (!cli_make_folder(d.folder) && errno != EEXIST) return cli_fail("--dump %s: %s", d.folder, strerror(errno));
  rlx_status s = rlx_executable_observe(e->executable, dump_value, &d);
  if (!s) s = rlx_executable_run(e->executable);
  return s ? cli_check(s, m->path, NULL) : d.code;
}

static int run(const cli_task *t, const cli_model *m, cli_engine *e) {
  if (request_of(t)->dump && dump_all(t, m, e)) return CLI_FAILED;
  double begin = cli_seconds(); /* after a dump no second run: it would advance the states twice */
  if (!request_of(t)->dump && cli_check(rlx_executable_run(e->executable), m->path, NULL)) return CLI_FAILED;
  double seconds = cli_seconds() - begin;
  report(t, e, seconds);
  return cli_results_write(&(cli_results){.common = &t->common,
                                          .graph = m->graph,
                                          .folder = request_of(t)->out,
                                          .get = cli_engine_get,
                                          .user = e,
                                          .seconds = seconds});
}

/* An ONNX model, whose graph may be cut where sizes depend on values, runs through a runner. */
static bool run_onnx(const cli_task *t, int *code) {
  if (request_of(t)->dump || !cli_is_onnx(t->words.v[0].value)) return true;
  cli_onnx_task task = {&t->common, t->words.v[0].value, request_of(t)->out, &t->model, &t->engine};
  *code = cli_onnx_run(&task);
  return false;
}

int cli_run(const cli_command *self, int argc, char **argv) {
  request r = {.task = {.self = self, .model.seed = -1, .check = run_onnx, .before = check_folder, .run = run}};
  const cli_option own[] = {
    {"--out", "DIR", "write each output to DIR/NAME.npy ('/' becomes '_')", CLI_TEXT, &r.out, 0, 0},
    {"--dump", "DIR", "write every value that is computed to DIR/NODE_op.npy", CLI_TEXT, &r.dump, 0, 0},
  };
  return cli_task_run(&r.task, own, sizeof own / sizeof *own, argc, argv);
}
