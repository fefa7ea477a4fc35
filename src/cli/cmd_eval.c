/* rlx eval: runs a graph on the reference, with .npy files as inputs and outputs. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model;
  const char *out, *pass, *without;
} request;

typedef struct job {
  const request *r;
  cli_model model;
  rlx_optimized *optimized; /* NULL without passes */
  rlx_evaluator *evaluator;
  double seconds;
} job;

static const rlx_graph *graph_to_run(const job *j) {
  return j->optimized ? rlx_optimized_graph(j->optimized) : j->model.graph;
}

/* ---- Running ------------------------------------------------------------------------------------------------- */

/* Sets every leaf of g that has a value; reports every value that does not fit. */
static int set_values(const job *j, const rlx_graph *g, rlx_evaluator *e) {
  int code = CLI_DONE;
  for (rlx_node n = 1; n <= rlx_graph_size(g); n++) {
    const char *name = rlx_node_name(g, n);
    uint32_t from = name ? cli_leaf_number(j->model.graph, name) : 0;
    if (from && j->model.values[from].data &&
        cli_check(rlx_evaluator_set(e, name, &j->model.values[from]), j->model.path, NULL))
      code = CLI_FAILED;
  }
  return code;
}

/* Runs the part that passes moved to load time: its outputs are params of the main graph. */
static int run_load(const job *j, const rlx_graph *load) {
  rlx_evaluator *e;
  rlx_tensor t;
  if (cli_check(rlx_evaluator_create(load, &e), j->model.path, NULL)) return CLI_FAILED;
  rlx_evaluator_set_limits(e, &cli_limited()->limits);
  int code = set_values(j, load, e);
  rlx_status s = code ? RLX_OK : rlx_evaluator_run(e);
  for (uint32_t i = 0; !s && !code && i < rlx_graph_output_count(load); i++) {
    const char *name;
    rlx_graph_output_at(load, i, &name);
    s = rlx_evaluator_get(e, name, &t);
    if (!s) s = rlx_evaluator_set(j->evaluator, name, &t);
  }
  rlx_evaluator_destroy(e);
  return s ? cli_check(s, j->model.path, NULL) : code;
}

static int optimize(job *j) {
  const request *r = j->r;
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .without = r->without};
  if (r->pass && strcmp(r->pass, "all") != 0) options.passes = r->pass;
  return cli_check(rlx_optimize(j->model.graph, &options, &j->optimized), j->model.path, NULL);
}

static int run_graph(job *j) {
  const rlx_graph *g = graph_to_run(j), *load = j->optimized ? rlx_optimized_load(j->optimized) : NULL;
  if (cli_check(rlx_evaluator_create(g, &j->evaluator), j->model.path, NULL)) return CLI_FAILED;
  rlx_evaluator_set_limits(j->evaluator, &cli_limited()->limits);
  if (set_values(j, g, j->evaluator)) return CLI_FAILED;
  if (load && run_load(j, load)) return CLI_FAILED;
  double begin = cli_seconds();
  if (cli_check(rlx_evaluator_run(j->evaluator), j->model.path, NULL)) return CLI_FAILED;
  j->seconds = cli_seconds() - begin;
  if (j->r->common.verbose) cli_note("%s: %u nodes in %.3f s", j->model.path, (unsigned)rlx_graph_size(g), j->seconds);
  return CLI_DONE;
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static rlx_status get_output(void *user, const char *name, rlx_tensor *view) {
  return rlx_evaluator_get(user, name, view);
}

static int run_job(job *j) {
  const request *r = j->r;
  int code = cli_model_load(r->words.v[0].value, &r->model, &j->model);
  if (j->model.graph && cli_results_check(r->out, j->model.graph, &(cli_reads){r->words.v[0].value, &r->model.inputs}))
    code = CLI_FAILED;
  if (code || cli_model_bind(&j->model) || cli_model_load_weights(&j->model)) return CLI_FAILED;
  if ((r->pass || r->without) && optimize(j)) return CLI_FAILED;
  if (run_graph(j)) return CLI_FAILED;
  return cli_results_write(&(cli_results){.common = &r->common,
                                          .graph = graph_to_run(j),
                                          .folder = r->out,
                                          .get = get_output,
                                          .user = j->evaluator,
                                          .seconds = j->seconds});
}

static int run(const request *r) {
  if (r->words.n != 1) return cli_wrong(r->self, "expected one file, got %zu", r->words.n);
  job j = {.r = r};
  int code = run_job(&j);
  rlx_evaluator_destroy(j.evaluator);
  rlx_optimized_destroy(j.optimized);
  cli_model_deinit(&j.model);
  return code;
}

int cli_eval(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = -1};
  const cli_option options[] = {
    CLI_MODEL_OPTIONS(r.model),
    {"--out", "DIR", "write each output to DIR/NAME.npy ('/' becomes '_')", CLI_TEXT, &r.out, 0, 0},
    {"--pass", "LIST", "run these passes first (comma-separated, or 'all')", CLI_TEXT, &r.pass, 0, 0},
    {"--without", "LIST", "leave these out", CLI_TEXT, &r.without, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
