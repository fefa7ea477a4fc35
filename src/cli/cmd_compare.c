/* rlx compare: a device against the reference, node by node. The reference computes each node on the inputs that the
 * device used, so the first differing row is where the error originates, not where it becomes visible. */
#include <stdio.h>

#include "cli/cli.h"

typedef struct table {
  const cli_task *task;
  const rlx_graph *graph; /* the compiled one */
  size_t rows, native;
  rlx_compare_row first; /* first row that differs; node 0: none */
  rlx_compare_row odd;   /* first row with non-finite values; node 0: none */
} table;

static void print_row(const table *t, const rlx_compare_row *row) {
  printf("%-5s %%%-5u %-24s ", row->host ? "host" : row->ok ? "ok" : "DIFF", (unsigned)row->node, row->op);
  cli_print_type(t->graph, row->node);
  if (!row->host) printf("  error %.3g of the tolerance, at most %.3g (element %zu)", row->error, row->worst, row->at);
  if (row->n_not_finite) printf(", %zu not finite", row->n_not_finite);
  if (row->why[0]) fputs(": ", stdout), cli_print_plain(row->why);
  putchar('\n');
}

static void json_row(const table *t, const rlx_compare_row *row) {
  printf("%s{\"node\":%u,\"op\":\"%s\",", t->rows ? "," : "", (unsigned)row->node, row->op);
  cli_json_type(t->graph, row->node);
  printf(",\"host\":%s,\"ok\":%s,\"error\":", row->host ? "true" : "false", row->ok ? "true" : "false");
  cli_json_real(row->error, 6);
  fputs(",\"worst\":", stdout);
  cli_json_real(row->worst, 6);
  printf(",\"at\":%zu,\"not_finite\":%zu,\"why\":", row->at, row->n_not_finite);
  cli_print_quoted(row->why);
  putchar('}');
}

static void on_row(void *user, const rlx_compare_row *row) {
  table *t = user;
  if (t->task->common.json) json_row(t, row);
  else if (t->task->common.verbose || (!row->ok && !t->task->common.quiet)) print_row(t, row);
  t->rows++;
  if (!row->host) t->native++;
  if (!row->ok && !t->first.node) t->first = *row;
  if (row->n_not_finite && !t->odd.node) t->odd = *row;
}

static int compare(const cli_task *task, const cli_model *m, cli_engine *e) {
  table t = {.task = task, .graph = rlx_executable_graph(e->executable)};
  uint32_t differ = 0;
  if (task->common.json) {
    cli_json_begin();
    fputs("{\"nodes\":[", stdout);
  }
  rlx_status s = rlx_executable_compare(e->executable, on_row, &t, &differ);
  int code = cli_check(s, m->path, NULL);
  if (!code && !task->common.json && !task->common.quiet)
    printf("%zu of %zu steps compared (the host ran the others), %u differ\n", t.native, t.rows, differ);
  if (!code && t.odd.node && !task->common.json && !task->common.quiet)
    printf("the first numbers that are not finite: node %u (%s), %zu of its elements\n", (unsigned)t.odd.node, t.odd.op,
           t.odd.n_not_finite);
  if (differ)
    code =
      cli_fail("%s: first difference at node %u (%s): %s", m->path, (unsigned)t.first.node, t.first.op, t.first.why);
  if (task->common.json) {
    printf("],\"differ\":%u,\"first\":%u,\"first_not_finite\":%u", differ, (unsigned)t.first.node,
           (unsigned)t.odd.node);
    cli_json_end();
  }
  return code;
}

int cli_compare(const cli_command *self, int argc, char **argv) {
  cli_task task = {.self = self, .model.seed = 1, .run = compare};
  return cli_task_run(&task, NULL, 0, argc, argv);
}
