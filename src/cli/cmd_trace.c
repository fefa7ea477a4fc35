/* rlx trace: one run as a Chrome trace (Perfetto opens it), and the slowest ops as a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model;
  cli_engine_options engine;
  const char *out;
  int64_t warm_up;
} request;

static int write_report(const request *r, rlx_executable *e) {
  char *trace, *table;
  if (cli_check(rlx_executable_report(e, RLX_REPORT_TRACE, RLX_JSON, &trace), "trace", NULL)) return CLI_FAILED;
  int code = cli_write_file(r->out, trace, strlen(trace));
  rlx_free(trace);
  if (code) return code;
  rlx_report_format format = r->common.json ? RLX_JSON : RLX_TEXT;
  if (r->common.quiet && !r->common.json) return CLI_DONE;
  if (cli_check(rlx_executable_report(e, RLX_REPORT_PROFILE, format, &table), "trace", NULL)) return CLI_FAILED;
  fputs(table, stdout);
  rlx_free(table);
  if (!r->common.json) fprintf(stderr, "rlx: wrote %s; open it at https://ui.perfetto.dev\n", r->out);
  return CLI_DONE;
}

static int trace(const request *r, cli_model *m, cli_engine *e) {
  if (cli_model_load(r->words.v[0].value, &r->model, m) || cli_model_bind(m)) return CLI_FAILED;
  if (cli_engine_open(&r->common, &r->engine, m, e)) return CLI_FAILED;
  rlx_status s = RLX_OK;
  for (int64_t i = 0; i < r->warm_up && !s; i++) s = rlx_executable_run(e->executable);
  if (!s) s = rlx_executable_profile(e->executable, true);
  if (!s) s = rlx_executable_run(e->executable);
  return s ? cli_check(s, m->path, NULL) : write_report(r, e->executable);
}

int cli_trace(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = 1, .warm_up = 1};
  const cli_option options[] = {
    CLI_MODEL_OPTIONS(r.model),
    CLI_ENGINE_OPTIONS(r.engine),
    {"-o", "FILE", "where the trace goes", CLI_TEXT, &r.out, 0, 0},
    {"--warm-up", "N", "runs before the one that is traced", CLI_NUMBER, &r.warm_up, 0, 1000000},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    cli_model m = {0};
    cli_engine e = {0};
    if (r.words.n != 1) code = cli_wrong(self, "expected one file, found %zu", r.words.n);
    else if (!r.out) code = cli_wrong(self, "-o is missing: where should the trace go?");
    else code = trace(&r, &m, &e);
    cli_engine_close(&e);
    if (m.options) cli_model_deinit(&m);
  }
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
