/* rlx trace: one run as a Chrome trace (for Perfetto), and a table of the slowest ops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct request {
  cli_task task; /* must be first: a task is cast to its request */
  const char *out;
  int64_t warm_up;
} request;

static bool has_output_path(const cli_task *t, int *exit_code) {
  const char *out = ((const request *)t)->out;
  if (!out) *exit_code = cli_wrong(t->self, "-o is missing: where should the trace go?");
  else *exit_code = cli_target_check("-o", out, &(cli_reads){t->words.v[0].value, &t->model.inputs}, true);
  return *exit_code == CLI_DONE;
}

static int write_report(const request *r, rlx_executable *e) {
  char *trace, *table;
  if (cli_check(rlx_executable_report(e, RLX_REPORT_TRACE, RLX_JSON, &trace), "trace", NULL)) return CLI_FAILED;
  int code = cli_write_file(r->out, trace, strlen(trace));
  rlx_free(trace);
  if (code) return code;
  rlx_report_format format = r->task.common.json ? RLX_JSON : RLX_TEXT;
  if (r->task.common.quiet && !r->task.common.json) return CLI_DONE;
  if (cli_check(rlx_executable_report(e, RLX_REPORT_PROFILE, format, &table), "trace", NULL)) return CLI_FAILED;
  cli_put_plain(stdout, table, true);
  rlx_free(table);
  if (!r->task.common.json) cli_note("wrote %s; open it at https://ui.perfetto.dev", r->out);
  return CLI_DONE;
}

static int trace(const cli_task *t, const cli_model *m, cli_engine *e) {
  const request *r = (const request *)t;
  rlx_status s = RLX_OK;
  for (int64_t i = 0; i < r->warm_up && !s; i++) s = rlx_executable_run(e->executable);
  if (!s) s = rlx_executable_profile(e->executable, true);
  if (!s) s = rlx_executable_run(e->executable);
  return s ? cli_check(s, m->path, NULL) : write_report(r, e->executable);
}

int cli_trace(const cli_command *self, int argc, char **argv) {
  request r = {.task = {.self = self, .model.seed = 1, .check = has_output_path, .run = trace}, .warm_up = 1};
  const cli_option own[] = {
    {"-o", "FILE", "where the trace goes", CLI_TEXT, &r.out, 0, 0},
    {"--warm-up", "N", "runs before the one that is traced", CLI_NUMBER, &r.warm_up, 0, 1000000},
  };
  return cli_task_run(&r.task, own, sizeof own / sizeof *own, argc, argv);
}
