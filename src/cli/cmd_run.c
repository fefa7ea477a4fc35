/* rlx run: compile a graph for a device and run it once, arrays in and out as .npy. The same as eval, but fast. */
#include <stdio.h>

#include "cli/cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model;
  cli_engine_options engine;
  const char *out;
} request;

static void tell(const request *r, const cli_engine *e, double seconds) {
  rlx_memory memory;
  if (!r->common.verbose || rlx_executable_memory(e->executable, &memory)) return;
  fprintf(stderr,
          "rlx: %u steps on the device, %u on the host, %.3f ms; weights %llu, state %llu, scratch %llu bytes\n",
          memory.native, memory.host, seconds * 1e3, (unsigned long long)memory.weights,
          (unsigned long long)memory.state, (unsigned long long)memory.scratch);
}

static int run_model(const request *r, cli_model *m, cli_engine *e) {
  int code = cli_model_load(r->words.v[0].value, &r->model, m);
  if (m->graph && cli_results_check(r->out, m->graph)) code = CLI_FAILED;
  if (code || cli_model_bind(m) || cli_engine_open(&r->common, &r->engine, m, e)) return CLI_FAILED;
  double begin = cli_seconds();
  if (cli_check(rlx_executable_run(e->executable), m->path, NULL)) return CLI_FAILED;
  double seconds = cli_seconds() - begin;
  tell(r, e, seconds);
  return cli_results_write(&(cli_results){
    .common = &r->common, .graph = m->graph, .folder = r->out, .get = cli_engine_get, .user = e, .seconds = seconds});
}

int cli_run(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = -1};
  const cli_option options[] = {
    CLI_MODEL_OPTIONS(r.model),
    CLI_ENGINE_OPTIONS(r.engine),
    {"--out", "DIR", "write each output to DIR/NAME.npy ('/' becomes '_')", CLI_TEXT, &r.out, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    cli_model m = {0};
    cli_engine e = {0};
    if (r.words.n != 1) code = cli_wrong(self, "expected one file, found %zu", r.words.n);
    else code = run_model(&r, &m, &e);
    cli_engine_close(&e);
    if (m.options) cli_model_deinit(&m);
  }
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
