/* rlx plan: the device memory that a graph, or the decode program of a language model (lm_plan.c), needs, without
 * running it; with --csv, a bare placement problem (plan_csv.c). Only the plan is computed: no memory for weights or
 * scratch is allocated. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model; /* --dim; for ONNX also --input */
  cli_engine_options engine;
  cli_csv_options csv;
  const char *svg;
  int64_t context;
  bool dispatch;
} request;

static int print_report(const rlx_executable *e, rlx_report_kind kind, rlx_report_format format) {
  char *text;
  if (cli_check(rlx_executable_report(e, kind, format, &text), "plan", NULL)) return CLI_FAILED;
  cli_put_plain(stdout, text, true);
  if (format == RLX_JSON) putchar('\n');
  rlx_free(text);
  return CLI_DONE;
}

static int write_picture(const char *path, const rlx_executable *e) {
  char *text;
  if (cli_check(rlx_executable_report(e, RLX_REPORT_PLAN, RLX_SVG, &text), "plan", NULL)) return CLI_FAILED;
  int code = cli_write_file(path, text, strlen(text));
  rlx_free(text);
  return code;
}

static int report(const request *r, const rlx_executable *e) {
  if (r->svg && write_picture(r->svg, e)) return CLI_FAILED;
  if (r->common.json) return print_report(e, r->dispatch ? RLX_REPORT_DISPATCH : RLX_REPORT_PLAN, RLX_JSON);
  if (r->common.quiet) return CLI_DONE;
  if (r->dispatch && print_report(e, RLX_REPORT_DISPATCH, RLX_TEXT)) return CLI_FAILED;
  return print_report(e, RLX_REPORT_PLAN, RLX_TEXT);
}

static int plan_graph(const request *r, rlx_graph **g, cli_engine *e) {
  const char *path = r->words.v[0].value;
  if (cli_load_any(path, &r->model, &r->common, g)) return CLI_FAILED;
  if (!cli_is_onnx(path) && cli_bind(path, &r->model.dims, NULL, g)) return CLI_FAILED;
  if (cli_session_open(&r->common, r->common.device, (uint32_t)r->common.threads, &e->session)) return CLI_FAILED;
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .without = r->engine.without, .switches = r->engine.switches,
                                 .plan_only = true};
  if (cli_check(rlx_compile(e->session, *g, &options, &e->executable), path, NULL)) return CLI_FAILED;
  return report(r, e->executable);
}

#ifdef RLX_LM
static int show_lm(void *user, const rlx_executable *e) { return report(user, e); }
#endif

/* A language model builds its graphs and sizes itself. */
static int plan_lm(request *r) {
  const char *path = r->words.v[0].value;
  const struct {
    const char *name;
    bool is_given;
  } others[] = {{"--dim", r->model.dims.n > 0}, {"--input", r->model.inputs.n > 0}, {"--without", r->engine.without}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].is_given) return cli_wrong(r->self, "%s goes with graphs, not with a language model", others[i].name);
#ifdef RLX_LM
  return cli_plan_lm(&(cli_plan_lm_request){&r->common, path, r->context, r->engine.switches, show_lm, r});
#else
  return cli_without_lm(path);
#endif
}

static int plan(request *r) {
  if (r->csv.path && r->words.n) return cli_wrong(r->self, "--csv and a graph: expected one of them");
  if (r->csv.path) return cli_plan_csv(&r->common, &r->csv);
  if (r->csv.out || r->csv.capacity || r->csv.budget)
    return cli_wrong(r->self, "--%s goes with --csv", r->csv.out ? "out" : r->csv.capacity ? "capacity" : "budget");
  if (r->words.n != 1) return cli_wrong(r->self, "expected one file, got %zu", r->words.n);
  if (r->svg && cli_target_check("--svg", r->svg, &(cli_reads){r->words.v[0].value, &r->model.inputs}, true))
    return CLI_FAILED;
  if (cli_is_weight_file(r->words.v[0].value)) return plan_lm(r);
  if (r->context) return cli_wrong(r->self, "--context goes with a language model");
  rlx_graph *g = NULL;
  cli_engine e = {0};
  int code = plan_graph(r, &g, &e);
  cli_engine_close(&e);
  rlx_graph_destroy(g);
  return code;
}

int cli_plan(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = -1};
  const cli_option options[] = {
    {"--dim", "NAME=SIZE", "give a symbol its size", CLI_PAIRS, &r.model.dims, 0, INT64_MAX},
    {"--input", "NAME=FILE.npy", "of an ONNX model: an input's sizes, and its value where that decides", CLI_PAIRS,
     &r.model.inputs, 0, 0},
    {"--svg", "FILE", "a picture: time across, address up", CLI_TEXT, &r.svg, 0, 0},
    {"--dispatch", NULL, "also what runs where, and why", CLI_FLAG, &r.dispatch, 0, 0},
    {"--context", "N", "of a language model: tokens that are remembered", CLI_NUMBER, &r.context, 1, 16777216},
    CLI_ENGINE_OPTIONS(r.engine),
    CLI_SWITCHES_PLAN(r.engine),
    {"--csv", "FILE", "a bare problem: columns id,lower,upper,size", CLI_TEXT, &r.csv.path, 0, 0},
    {"--capacity", "BYTES", "with --csv: fail where the peak is above", CLI_NUMBER, &r.csv.capacity, 0, INT64_MAX},
    {"--budget", "STEPS", "with --csv: of the search", CLI_NUMBER, &r.csv.budget, 0, INT64_MAX},
    {"--out", "FILE", "with --csv: the rows again, with a column offset", CLI_TEXT, &r.csv.out, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    r.csv.no_search = r.engine.switches & RLX_SWITCH_NO_SEARCH;
    code = plan(&r);
  }
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
