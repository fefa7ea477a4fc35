/* rlx conform: runs every conformance case on one device against the reference. Use it to test a new GPU. */
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

typedef struct request {
  cli_common common;
  const char *pattern;
  uint32_t switches; /* rlx_switch */
} request;

static const struct {
  uint32_t bit;
  const char *option;
} named[] = {{RLX_SWITCH_EXACT, "exact"}, {RLX_SWITCH_FAST_CONV, "fast-conv"}, {RLX_SWITCH_FAST_F16, "fast-f16"}};

/* Prints the options that were given, with text around and between them; nothing if there are none. */
static void print_switches(uint32_t switches, const char *before, const char *between, const char *after) {
  const char *text = before;
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    if (!(switches & named[i].bit)) continue;
    printf("%s%s%s", text, named[i].option, after);
    text = between;
  }
}

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

static int conform(const request *r) {
  const cli_common *common = &r->common;
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
    printf(",\"backend\":\"%s\",\"options\":[", info.backend);
    print_switches(r->switches, "\"", ",\"", "\"");
    fputs("],\"cases\":[", stdout);
  }
  const rlx_conform_options options = {RLX_CONFORM_OPTIONS_INIT, .pattern = r->pattern, .switches = r->switches};
  if (!s) s = rlx_conform_with(session, &options, on_row, &t);
  rlx_session_destroy(session);
  if (t.is_terminal) fputs("\r\033[K", stderr);
  size_t all = t.n[0] + t.n[1] + t.n[2] + t.n[3], failed = t.n[RLX_CONFORM_FAIL];
  int code = cli_check(s, "conform", NULL);
  if (!code && !all) code = cli_fail("conform: no op matches '%s'; 'rlx ops' lists them", r->pattern);
  if (!code && failed && common->json) code = cli_fail("conform: %zu of %zu cases are wrong", failed, all);
  if (common->json && is_described) {
    putchar(']');
    cli_json_end();
  }
  if (code) return code;
  if (!common->json) {
    printf("%s", info.backend);
    print_switches(r->switches, " --", " --", "");
    printf(": %zu native, %zu with the host's help, %zu unsupported, %zu wrong\n", t.n[0], t.n[1], t.n[2], failed);
    printf("%zu passed, %zu failed, %zu skipped\n", t.n[0] + t.n[1], failed, t.n[2]);
  }
  return failed ? CLI_FAILED : CLI_DONE;
}

int cli_conform(const cli_command *self, int argc, char **argv) {
  request r = {0};
  cli_list words = {0};
  const cli_option options[] = {
    {"--op", "PATTERN", "only ops whose name fits (* and ? stand for anything)", CLI_TEXT, &r.pattern, 0, 0},
    CLI_SWITCH_EXACT(r),
    CLI_SWITCH_FAST_CONV(r),
    CLI_SWITCH_FAST_F16(r),
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &words, &code))
    code = words.n ? cli_wrong(self, "expected no words, got '%s'", words.v[0].value) : conform(&r);
  cli_list_deinit(&words);
  return code;
}
