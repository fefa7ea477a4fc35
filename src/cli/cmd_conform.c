/* rlx conform: runs every conformance case on one device against the reference. Use it to test a new GPU. */
#include <stdio.h>
#include <string.h>

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

/* The largest errors of an op's cases, as parts of the values' root mean square. */
typedef struct op_error {
  char op[48];
  size_t n_cases;
  double largest, whole;
} op_error;

enum { MAX_OPS = 512 };

typedef struct tally {
  const cli_common *common;
  size_t n[4]; /* by result */
  bool is_terminal;
  op_error ops[MAX_OPS]; /* in the order of their cases */
  size_t n_ops;
} tally;

/* The cases of an op follow each other. */
static void note_error(tally *t, const rlx_conform_row *row) {
  if (!t->n_ops || strcmp(t->ops[t->n_ops - 1].op, row->op) != 0) {
    if (t->n_ops == MAX_OPS) return;
    snprintf(t->ops[t->n_ops++].op, sizeof t->ops->op, "%s", row->op);
  }
  op_error *e = &t->ops[t->n_ops - 1];
  e->n_cases++;
  if (row->largest > e->largest) e->largest = row->largest;
  if (row->whole > e->whole) e->whole = row->whole;
}

static void json_errors(const tally *t) {
  fputs("],\"ops\":[", stdout);
  for (size_t i = 0; i < t->n_ops; i++) {
    const op_error *e = &t->ops[i];
    printf("%s{\"op\":\"%s\",\"cases\":%zu,\"largest\":", i ? "," : "", e->op, e->n_cases);
    cli_json_real(e->largest, 3);
    fputs(",\"whole\":", stdout);
    cli_json_real(e->whole, 3);
    putchar('}');
  }
}

/* Ops whose results are exact, or nearly so, are left out. */
static void print_errors(const tally *t) {
  const double least = 1e-5;
  size_t n = 0;
  for (size_t i = 0; i < t->n_ops; i++) {
    const op_error *e = &t->ops[i];
    if (e->whole < least) continue;
    if (!n++) puts("errors as parts of the values' root mean square: op, cases, largest element, whole tensor");
    printf("  %-32s %4zu  %8.1e  %8.1e\n", e->op, e->n_cases, e->largest, e->whole);
  }
}

static void json_row(const tally *t, const rlx_conform_row *row) {
  bool first = t->n[0] + t->n[1] + t->n[2] + t->n[3] == 1;
  printf("%s{\"op\":\"%s\",\"case\":", first ? "" : ",", row->op);
  cli_print_quoted(row->name);
  printf(",\"result\":\"%s\",\"why\":", rlx_conform_result_name(row->result));
  cli_print_quoted(row->why);
  fputs(",\"error\":", stdout);
  cli_json_real(row->error, 3);
  fputs(",\"largest\":", stdout);
  cli_json_real(row->largest, 3);
  fputs(",\"whole\":", stdout);
  cli_json_real(row->whole, 3);
  putchar('}');
}

static bool on_row(void *user, const rlx_conform_row *row) {
  tally *t = user;
  t->n[row->result]++;
  note_error(t, row);
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
  tally t = {.common = common, .is_terminal = !common->json && !common->quiet && cli_is_terminal(2)};
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
    json_errors(&t);
    putchar(']');
    cli_json_end();
  }
  if (code) return code;
  if (!common->json) {
    if ((r->switches & RLX_SWITCH_FAST_F16) && !common->quiet) print_errors(&t);
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
