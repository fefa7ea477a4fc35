/* A model on a device: the session, the executable and its values. What run, compare, bench and trace share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int cli_session_open(const cli_common *common, const char *device, uint32_t threads, rlx_session **out) {
  rlx_session_desc desc = {.struct_bytes = sizeof desc, .device = device, .threads = threads};
  if (cli_check(rlx_session_create(&desc, out), device ? "--device" : NULL, NULL)) return CLI_FAILED;
  rlx_device_info info;
  if (common->verbose && !rlx_session_device(*out, &info))
    fprintf(stderr, "rlx: device %s: %s\n", info.backend, info.name);
  return CLI_DONE;
}

/* Every leaf that has a value; all that do not fit are told. */
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
  rlx_compile_options compile = {.struct_bytes = sizeof compile,
                                 .without = options->without,
                                 .exact = options->exact,
                                 .forbid_host = options->no_host};
  if (cli_check(rlx_compile(e->session, m->graph, &compile, &e->executable), m->path, NULL)) return CLI_FAILED;
  return write_values(m, e->executable);
}

void cli_engine_close(cli_engine *e) {
  rlx_executable_destroy(e->executable);
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
