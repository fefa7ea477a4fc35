/* rlx run: compile a graph for a device and run it once, arrays in and out as .npy. The same as eval, but fast. */
#include <stdio.h>

#include "cli/cli.h"

typedef struct request {
  cli_task task; /* first, so that a task is a request */
  const char *out;
} request;

static const request *request_of(const cli_task *t) { return (const request *)t; }

static int check_folder(const cli_task *t, const cli_model *m) {
  return cli_results_check(request_of(t)->out, m->graph);
}

static void tell(const cli_task *t, const cli_engine *e, double seconds) {
  rlx_memory memory;
  if (!t->common.verbose || rlx_executable_memory(e->executable, &memory)) return;
  fprintf(stderr,
          "rlx: %u steps on the device, %u on the host, %.3f ms; weights %llu, state %llu, scratch %llu bytes\n",
          memory.native, memory.host, seconds * 1e3, (unsigned long long)memory.weights,
          (unsigned long long)memory.state, (unsigned long long)memory.scratch);
}

static int run(const cli_task *t, const cli_model *m, cli_engine *e) {
  double begin = cli_seconds();
  if (cli_check(rlx_executable_run(e->executable), m->path, NULL)) return CLI_FAILED;
  double seconds = cli_seconds() - begin;
  tell(t, e, seconds);
  return cli_results_write(&(cli_results){.common = &t->common,
                                          .graph = m->graph,
                                          .folder = request_of(t)->out,
                                          .get = cli_engine_get,
                                          .user = e,
                                          .seconds = seconds});
}

int cli_run(const cli_command *self, int argc, char **argv) {
  request r = {.task = {.self = self, .model.seed = -1, .before = check_folder, .run = run}};
  const cli_option own = {"--out", "DIR", "write each output to DIR/NAME.npy ('/' becomes '_')", CLI_TEXT, &r.out,
                          0,       0};
  return cli_task_run(&r.task, &own, 1, argc, argv);
}
