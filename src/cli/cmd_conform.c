/* rlx conform: runs every conformance case on one device against the reference. Use it to test a new GPU. */
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

typedef struct tally {
  const cli_common *common;
  size_t n[4]; /* by result */
  bool is_terminal;
} tally;

static void json_row(const tally *t, const rlx_conform_row *row) {
  bool first = t->n[0] + t->n[1] + t->n[2] + t->n[3] == 1;
  printf("%s{\"op\":\"%s\",\"case\":", first ? "" : ",", row->op);
  cli_print_quoted(row->name);
  printf(",\"result\":\"%s\",\"why\":", rlx_conform_result_name(row->result));
  cli_print_quoted(row->why);
  fputs(",\"error\":", stdout);
  cli_json_real(row->error, 3);
  putchar('}');
}

static bool on_row(void *user, const rlx_conform_row *row) {
  tally *t = user;
  t->n[row->result]++;
  if (t->common->json) {
    json_row(t, row);
    return false;
  }
  bool shown = row->result == RLX_CONFORM_FAIL || row->result == RLX_CONFORM_UNSUPPORTED || t->common->verbose;
  if (t->is_terminal) fprintf(stderr, "\r\033[K%s%s", shown ? "" : row->op, shown ? "" : " ..");
  if (!shown || t->common->quiet) return false;
  printf("%-11s %s/%s", rlx_conform_result_name(row->result), row->op, row->name);
  if (row->result <= RLX_CONFORM_HOST) printf("  error %.3g of the tolerance", row->error);
  if (row->why[0]) fputs(": ", stdout), cli_print_plain(row->why);
  putchar('\n');
  return false;
}

static int conform(const cli_common *common, const char *pattern) {
  rlx_session *session;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  if (cli_session_open(common, common->device, (uint32_t)common->threads, &session)) return CLI_FAILED;
  tally t = {.common = common, .is_terminal = !common->json && !common->quiet && isatty(2) == 1};
  rlx_status s = rlx_session_device(session, &info);
  bool is_described = !s;
  if (!s && common->json) {
    cli_json_begin();
    fputs("{\"device\":", stdout);
    cli_print_quoted(info.name);
    printf(",\"backend\":\"%s\",\"cases\":[", info.backend);
  }
  if (!s) s = rlx_conform(session, pattern, on_row, &t);
  rlx_session_destroy(session);
  if (t.is_terminal) fputs("\r\033[K", stderr);
  size_t all = t.n[0] + t.n[1] + t.n[2] + t.n[3], failed = t.n[RLX_CONFORM_FAIL];
  int code = cli_check(s, "conform", NULL);
  if (!code && !all) code = cli_fail("conform: no op matches '%s'; 'rlx ops' lists them", pattern);
  if (!code && failed && common->json) code = cli_fail("conform: %zu of %zu cases are wrong", failed, all);
  if (common->json && is_described) {
    putchar(']');
    cli_json_end();
  }
  if (code) return code;
  if (!common->json) {
    printf("%s: %zu native, %zu with the host's help, %zu unsupported, %zu wrong\n", info.backend, t.n[0], t.n[1],
           t.n[2], failed);
    printf("%zu passed, %zu failed, %zu skipped\n", t.n[0] + t.n[1], failed, t.n[2]);
  }
  return failed ? CLI_FAILED : CLI_DONE;
}

int cli_conform(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  const char *pattern = NULL;
  const cli_option options[] = {
    {"--op", "PATTERN", "only ops whose name fits (* and ? stand for anything)", CLI_TEXT, &pattern, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, 1, &common, &words, &code))
    code = words.n ? cli_wrong(self, "expected no words, got '%s'", words.v[0].value) : conform(&common, pattern);
  cli_list_deinit(&words);
  return code;
}
