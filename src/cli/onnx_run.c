/* rlx run on an ONNX model: through a runner, which continues where sizes depend on values. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static rlx_status get_output(void *user, const char *name, rlx_tensor *view) {
  const rlx_onnx_runner *r = user;
  const char *at;
  rlx_status s = RLX_OK;
  for (uint32_t i = 0; !s; i++) {
    s = rlx_onnx_runner_output(r, i, &at, view);
    if (!s && strcmp(at, name) == 0) return RLX_OK;
  }
  return s;
}

static void report(const cli_common *common, const rlx_onnx_runner *r, double seconds) {
  if (!common->verbose) return;
  for (uint32_t i = 0; i < rlx_onnx_runner_part_count(r); i++) {
    rlx_onnx_runner_part part = {RLX_ONNX_RUNNER_PART_INIT};
    rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
    if (rlx_onnx_runner_part_at(r, i, &part)) return;
    if (!part.executable) cli_note("part %u: on the host: %s", i, part.why);
    else if (!rlx_executable_memory(part.executable, &memory))
      fprintf(stderr, "rlx: part %u: %u steps on the device, %u on the host; weights %llu, scratch %llu bytes%s%s\n", i,
              memory.n_native, memory.n_host, (unsigned long long)memory.weights, (unsigned long long)memory.scratch,
              *part.why ? "; cut: " : "", part.why);
  }
  fprintf(stderr, "rlx: %.3f ms\n", seconds * 1e3);
}

/* Output names in the form that cli_results needs: a graph of constants with those outputs. */
static rlx_status name_outputs(const rlx_onnx *m, rlx_graph **out) {
  rlx_status s = rlx_graph_create(out);
  for (uint32_t i = 0; i < rlx_onnx_output_count(m) && !s; i++) {
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    s = rlx_onnx_output_at(m, i, &v);
    if (!s) rlx_graph_add_output(*out, v.name, rlx_op_scalar(*out, RLX_F32, 0));
  }
  return s ? s : rlx_graph_finish(*out);
}

static int run(const cli_onnx_task *t, cli_onnx *o, rlx_session *session, rlx_onnx_runner **runner,
               const rlx_graph *names) {
  cli_bar bar;
  cli_bar_begin(&bar, t->common);
  rlx_onnx_options options = {RLX_ONNX_OPTIONS_INIT,           .bindings = o->bindings,
                              .n_bindings = o->n_bindings,     .without = t->engine->without,
                              .switches = t->engine->switches, .watch = {.progress = cli_bar_draw, .user = &bar}};
  rlx_status s = rlx_onnx_runner_create(session, o->model, &options, runner);
  double begin = cli_seconds();
  if (!s) s = rlx_onnx_run(*runner, o->given, o->n_given);
  double seconds = cli_seconds() - begin;
  cli_bar_end(&bar);
  if (cli_check(s, t->path, NULL)) return CLI_FAILED;
  report(t->common, *runner, seconds);
  return cli_results_write(&(cli_results){
    .common = t->common, .graph = names, .folder = t->out, .get = get_output, .user = *runner, .seconds = seconds});
}

int cli_onnx_run(const cli_onnx_task *t) {
  cli_onnx o = {0};
  rlx_session *session = NULL;
  rlx_onnx_runner *runner = NULL;
  rlx_graph *names = NULL;
  int code = cli_onnx_open(t->path, t->model, false, &o);
  if (o.model && cli_check(name_outputs(o.model, &names), t->path, NULL)) code = CLI_FAILED;
  if (names && cli_results_check(t->out, names, &(cli_reads){t->path, &t->model->inputs})) code = CLI_FAILED;
  if (!code) code = cli_session_open(t->common, t->common->device, (uint32_t)t->common->threads, &session);
  if (!code) code = run(t, &o, session, &runner, names);
  rlx_onnx_runner_destroy(runner);
  rlx_session_destroy(session);
  rlx_graph_destroy(names);
  cli_onnx_close(&o);
  return code;
}
