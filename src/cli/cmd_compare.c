/* rlx compare: a device against the reference, node by node. Each node is also computed by the reference on the very inputs
 * that the device had, so the first row that differs is where the fault is, not where it came to light. */
#include <stdio.h>

#include "cli/cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model;
  cli_engine_options engine;
} request;

typedef struct table {
  const request *r;
  const rlx_graph *graph; /* the compiled one */
  size_t rows, native;
  rlx_compare_row first; /* that differs; node 0 where none does */
} table;

static void print_row(const table *t, const rlx_compare_row *row) {
  printf("%-5s %%%-5u %-24s ", row->host ? "host" : row->ok ? "ok" : "DIFF", row->node, row->op);
  cli_print_type(t->graph, row->node);
  if (!row->host) printf("  error %.3g of the tolerance, at most %.3g (element %zu)", row->error, row->worst, row->at);
  if (row->why[0]) fputs(": ", stdout), cli_print_plain(row->why);
  putchar('\n');
}

static void json_number(double v) {
  if (v - v == 0) printf("%.6g", v);
  else fputs("null", stdout);
}

static void json_row(const table *t, const rlx_compare_row *row) {
  printf("%s{\"node\":%u,\"op\":\"%s\",", t->rows ? "," : "", row->node, row->op);
  cli_json_type(t->graph, row->node);
  printf(",\"host\":%s,\"ok\":%s,\"error\":", row->host ? "true" : "false", row->ok ? "true" : "false");
  json_number(row->error);
  fputs(",\"worst\":", stdout);
  json_number(row->worst);
  printf(",\"at\":%zu,\"why\":", row->at);
  cli_print_quoted(row->why);
  putchar('}');
}

static void take_row(void *user, const rlx_compare_row *row) {
  table *t = user;
  if (t->r->common.json) json_row(t, row);
  else if (t->r->common.verbose || (!row->ok && !t->r->common.quiet)) print_row(t, row);
  t->rows++;
  if (!row->host) t->native++;
  if (!row->ok && !t->first.node) t->first = *row;
}

static int compare(const request *r, cli_model *m, cli_engine *e) {
  if (cli_model_load(r->words.v[0].value, &r->model, m) || cli_model_bind(m)) return CLI_FAILED;
  if (cli_engine_open(&r->common, &r->engine, m, e)) return CLI_FAILED;
  table t = {.r = r, .graph = rlx_executable_graph(e->executable)};
  uint32_t differ = 0;
  if (r->common.json) fputs("{\"nodes\":[", stdout);
  rlx_status s = rlx_executable_compare(e->executable, take_row, &t, &differ);
  if (r->common.json) printf("],\"differ\":%u,\"first\":%u}\n", differ, t.first.node);
  if (s) return cli_check(s, m->path, NULL);
  if (!r->common.json && !r->common.quiet)
    printf("%zu of %zu steps compared (the host ran the others), %u differ\n", t.native, t.rows, differ);
  if (!differ) return CLI_DONE;
  return cli_fail("%s: first difference at node %u (%s): %s", m->path, t.first.node, t.first.op, t.first.why);
}

int cli_compare(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = 1};
  const cli_option options[] = {CLI_MODEL_OPTIONS(r.model), CLI_ENGINE_OPTIONS(r.engine)};
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code)) {
    cli_model m = {0};
    cli_engine e = {0};
    if (r.words.n != 1) code = cli_wrong(self, "expected one file, found %zu", r.words.n);
    else code = compare(&r, &m, &e);
    cli_engine_close(&e);
    if (m.options) cli_model_deinit(&m);
  }
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
