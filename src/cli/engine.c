/* A model on a device: session, executable and values. Shared by run, compare, bench and trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int cli_session_open(const cli_common *common, const char *device, uint32_t threads, rlx_session **out) {
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = threads,
                           .limits = cli_limited()->limits};
  if (cli_check(rlx_session_create(&desc, out), device ? "--device" : NULL, NULL)) return CLI_FAILED;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  if (common->verbose && !rlx_session_device(*out, &info)) cli_note("device %s: %s", info.backend, info.name);
  return CLI_DONE;
}

/* Writes every leaf that has a value; reports every value that does not fit. */
static int write_values(const cli_model *m, rlx_executable *e) {
  int code = CLI_DONE;
  for (rlx_node n = 1; n <= rlx_graph_size(m->graph); n++) {
    const char *name = rlx_node_name(m->graph, n);
    if (name && m->values[n].data && cli_check(rlx_executable_write(e, name, &m->values[n]), m->path, NULL))
      code = CLI_FAILED;
  }
  return code;
}

int cli_engine_open(const cli_common *common, const cli_engine_options *options, const cli_model *m, cli_engine *e) {
  *e = (cli_engine){0};
  if (cli_session_open(common, common->device, (uint32_t)common->threads, &e->session)) return CLI_FAILED;
  rlx_compile_options compile = {RLX_COMPILE_OPTIONS_INIT, .without = options->without, .switches = options->switches};
  if (m->onnx) {
    if (cli_check(rlx_weights_create(e->session, &e->weights), m->path, NULL)) return CLI_FAILED;
    compile.weights = e->weights;
  }
  if (cli_check(rlx_compile(e->session, m->graph, &compile, &e->executable), m->path, NULL)) return CLI_FAILED;
  if (m->onnx && cli_check(rlx_onnx_load(m->onnx->model, m->graph, e->weights, NULL), m->path, NULL)) return CLI_FAILED;
  return write_values(m, e->executable);
}

void cli_engine_close(cli_engine *e) {
  rlx_executable_destroy(e->executable);
  rlx_weights_destroy(e->weights);
  rlx_session_destroy(e->session);
  free(e->buffers);
  *e = (cli_engine){0};
}

rlx_status cli_engine_get(void *engine, const char *name, rlx_tensor *view) {
  cli_engine *e = engine;
  rlx_status s = rlx_executable_describe(e->executable, name, view);
  if (s) return s;
  void *grown = realloc(e->buffers, view->bytes ? view->bytes : 1);
  if (!grown) return RLX_NO_MEMORY;
  e->buffers = view->data = grown;
  return rlx_executable_read(e->executable, name, view);
}

static int run_task(const cli_task *t, cli_model *m, cli_engine *e) {
  int code = cli_model_load(t->words.v[0].value, &t->model, m);
  if (m->graph && t->before && t->before(t, m)) code = CLI_FAILED;
  if (code || cli_model_bind(m) || cli_engine_open(&t->common, &t->engine, m, e)) return CLI_FAILED;
  return t->run(t, m, e);
}

static int run_parsed(const cli_task *t) {
  int code;
  if (t->words.n != 1) return cli_wrong(t->self, "expected one file, got %zu", t->words.n);
  if (t->check && !t->check(t, &code)) return code;
  cli_model m = {0};
  cli_engine e = {0};
  code = run_task(t, &m, &e);
  cli_engine_close(&e);
  cli_model_deinit(&m);
  return code;
}

int cli_task_run(cli_task *t, const cli_option *own, size_t n, int argc, char **argv) {
  const cli_option shared[] = {CLI_MODEL_OPTIONS(t->model), CLI_ENGINE_OPTIONS(t->engine)};
  enum { SHARED = sizeof shared / sizeof *shared, MAX = 16 };
  cli_option options[MAX];
  int code = CLI_FAILED;
  if (SHARED + n > MAX) return cli_fail("too many options"); /* a bug in the command */
  memcpy(options, shared, sizeof shared);
  if (n) memcpy(options + SHARED, own, n * sizeof *own);
  if (cli_parse(t->self, argc, argv, options, SHARED + n, &t->common, &t->words, &code)) code = run_parsed(t);
  cli_list_deinit(&t->words);
  cli_model_options_deinit(&t->model);
  return code;
}
