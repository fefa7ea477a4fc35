/* Command line options from tables.
 *
 * "--name value" equals "--name=value", and "-n 3" equals "-n3"; "--" ends the options; "-" is a word. If a
 * single-valued option is repeated, the last value counts. NAME=VALUE is split in place, in argv. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MAX_THREADS = 1024 };

/* ---- Lists --------------------------------------------------------------------------------------------------- */

static bool append(cli_list *list, cli_word word) {
  cli_word *grown = realloc(list->v, (list->n + 1) * sizeof *grown);
  if (!grown) return false;
  list->v = grown;
  list->v[list->n++] = word;
  return true;
}

void cli_list_deinit(cli_list *list) {
  free(list->v);
  *list = (cli_list){0};
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

bool cli_to_number(const char *text, int64_t min, int64_t max, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  bool ok = !errno && end != text && !*end && strchr("-0123456789", text[0]) && v >= min && v <= max;
  if (ok) *out = v;
  return ok;
}

/* The program never calls setlocale, so the decimal separator is a point. */
bool cli_to_real(const char *text, double min, double max, double *out) {
  char *end;
  double v = strtod(text, &end);
  bool ok = end != text && !*end && strchr("+-.0123456789", text[0]) && v >= min && v <= max; /* not NaN */
  if (ok) *out = v;
  return ok;
}

/* State of one call of cli_parse. */
typedef struct parse {
  const cli_command *command;
  int argc, at;
  char **argv;
  cli_list *words;
  const cli_option *options; /* those of the command, then the common ones */
  size_t n;
} parse;

static int store_pair(const parse *p, const cli_option *o, char *text) {
  cli_list *list = o->target;
  char *equals = strchr(text, '=');
  int64_t number;
  bool ok = equals && equals != text && equals[1];
  if (ok && o->max) ok = cli_to_number(equals + 1, o->min, o->max, &number);
  if (!ok) return cli_wrong(p->command, "%s takes %s, got '%s'", o->name, o->value, text);
  *equals = '\0';
  for (size_t i = 0; i < list->n; i++)
    if (strcmp(list->v[i].name, text) == 0) return cli_wrong(p->command, "%s gives '%s' twice", o->name, text);
  return append(list, (cli_word){text, equals + 1}) ? CLI_DONE : cli_fail("out of memory");
}

/* A number with an optional suffix K, M, G or T (powers of 1024). */
static bool to_bytes(const char *text, uint64_t *out) {
  static const char units[] = "KMGT";
  char digits[24];
  size_t n = strspn(text, "0123456789");
  const char *unit = text[n] ? strchr(units, text[n]) : NULL;
  int64_t number, max = INT64_MAX;
  if (n == 0 || n >= sizeof digits || (text[n] && (!unit || text[n + 1]))) return false;
  memcpy(digits, text, n);
  digits[n] = '\0';
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (!cli_to_number(digits, 1, max >> shift, &number)) return false;
  *out = (uint64_t)number << shift;
  return true;
}

static int store(const parse *p, const cli_option *o, char *value) {
  switch (o->kind) {
    case CLI_SWITCH: *(uint32_t *)o->target |= (uint32_t)o->min; break;
    case CLI_FLAG: *(bool *)o->target = true; break;
    case CLI_TEXT: *(const char **)o->target = value; break;
    case CLI_PAIRS: return store_pair(p, o, value);
    case CLI_TEXTS: return append(o->target, (cli_word){NULL, value}) ? CLI_DONE : cli_fail("out of memory");
    case CLI_REAL:
      if (!cli_to_real(value, (double)o->min, (double)o->max, o->target))
        return cli_wrong(p->command, "%s takes a number from %" PRId64 " to %" PRId64 ", got '%s'", o->name, o->min,
                         o->max, value);
      break;
    case CLI_BYTES:
      if (!to_bytes(value, o->target))
        return cli_wrong(p->command, "%s takes bytes, such as 500000000, 512M or 2G, got '%s'", o->name, value);
      break;
    case CLI_NUMBER:
      if (!cli_to_number(value, o->min, o->max, o->target))
        return cli_wrong(p->command, "%s takes a whole number from %" PRId64 " to %" PRId64 ", got '%s'", o->name,
                         o->min, o->max, value);
      break;
  }
  return CLI_DONE;
}

/* ---- Parsing ------------------------------------------------------------------------------------------------- */

static void show_options(const cli_option *options, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char left[40];
    const char *value = options[i].value;
    snprintf(left, sizeof left, "%s%s%s", options[i].name, value ? " " : "", value ? value : "");
    printf("  %-22s %s\n", left, options[i].doc);
  }
}

/* Iterates over the names of an option: "-p, --prompt" has two. */
static const char *next_name(const char *at, size_t *bytes) {
  at += strspn(at, ", ");
  *bytes = strcspn(at, ",");
  return *bytes ? at : NULL;
}

static const cli_option *find_option(const parse *p, const char *word, size_t bytes) {
  for (size_t i = 0; i < p->n; i++) {
    size_t n;
    for (const char *name = p->options[i].name; (name = next_name(name, &n)); name += n)
      if (n == bytes && memcmp(name, word, bytes) == 0) return &p->options[i];
  }
  return NULL;
}

static int report_unknown(const parse *p, const char *word, size_t bytes) {
  char name[100], guess[80];
  snprintf(name, sizeof name, "%.*s", bytes < sizeof name ? (int)bytes : (int)sizeof name - 1, word);
  cli_guess g = {.word = name};
  for (size_t i = 0; i < p->n; i++) {
    size_t n;
    for (const char *at = p->options[i].name; (at = next_name(at, &n)); at += n)
      if (n > 2) cli_guess_try(&g, at, n);
  }
  cli_guess_text(&g, guess, sizeof guess);
  return cli_wrong(p->command, "there is no option '%s'%s", name, guess);
}

/* Parses the option at p->at and its value. */
static int parse_option(parse *p) {
  char *word = p->argv[p->at], *equals = word[1] == '-' ? strchr(word, '=') : NULL, *value = equals ? equals + 1 : NULL;
  size_t bytes = equals ? (size_t)(equals - word) : strlen(word);
  const cli_option *o = find_option(p, word, bytes);
  if (!o && word[1] != '-' && bytes > 2) { /* -n3 */
    o = find_option(p, word, 2);
    if (o && !o->value) o = NULL;
    value = word + 2;
  }
  if (!o) return report_unknown(p, word, bytes);
  if (!o->value && value) return cli_wrong(p->command, "%s takes no value", o->name);
  if (o->value && !value) value = p->at + 1 < p->argc ? p->argv[++p->at] : NULL;
  if (o->value && !value) return cli_wrong(p->command, "%s needs a value: %s", o->name, o->value);
  return store(p, o, value);
}

/* Log callback: prints to stderr. `user` points to the highest level to show. */
static void show_log(void *user, rlx_log_level level, const char *text) {
  static const char *const names[] = {"error", "warning", "info", "debug"};
  if (level <= *(const rlx_log_level *)user) cli_note("%s: %s", names[level], text);
}

/* A named device must exist even if the command does not use it. A list (bench) is checked by the command. */
static int check_device(const char *device) {
  rlx_session *session = NULL;
  if (!device || strchr(device, ',')) return CLI_DONE;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1};
  int code = cli_check(rlx_session_create(&desc, &session), "--device", NULL);
  rlx_session_destroy(session);
  return code;
}

static rlx_watch limited;

const rlx_watch *cli_limited(void) { return &limited; }

static int begin(const cli_common *common) {
  static rlx_log_level max = RLX_LOG_WARN;
  if (common->json) cli_json_expect();
  if (common->quiet) max = RLX_LOG_ERROR;
  if (common->verbose) max = RLX_LOG_DEBUG;
  rlx_set_log(show_log, &max);
  limited.limits = (rlx_limits){.host_bytes = common->memory, .device_bytes = common->memory};
  if (common->time_limit > 0) cli_set_time_limit(common->time_limit, common->json);
  return check_device(common->device);
}

bool cli_parse(const cli_command *command, int argc, char **argv, const cli_option *options, size_t n,
               cli_common *common, cli_list *words, int *exit_code) {
  const cli_option shared[] = {
    {"--json", NULL, "one JSON document on standard output", CLI_FLAG, &common->json, 0, 0},
    {"--device", "NAME", "where to run: name, index or UUID ('rlx devices')", CLI_TEXT, &common->device, 0, 0},
    {"--threads", "N", "threads of the host (default: one per core)", CLI_NUMBER, &common->threads, 1, MAX_THREADS},
    {"--memory", "SIZE", "most memory to take, of the host and of the device (512M, 2G)", CLI_BYTES, &common->memory, 0,
     0},
    {"--time-limit", "S", "fail after so many seconds", CLI_REAL, &common->time_limit, 0, 1000000000},
    {"-q", NULL, "print less", CLI_FLAG, &common->quiet, 0, 0},
    {"-v", NULL, "print more, on standard error", CLI_FLAG, &common->verbose, 0, 0},
    {"-h, --help", NULL, "this", CLI_FLAG, NULL, 0, 0},
  };
  enum { N_SHARED = sizeof shared / sizeof *shared, MAX = 64 };
  cli_option all[MAX];
  *exit_code = CLI_FAILED;
  if (n + N_SHARED > MAX) return cli_fail("too many options"), false; /* a bug in the command */
  if (n) memcpy(all, options, n * sizeof *options);
  memcpy(all + n, shared, sizeof shared);
  parse p = {.command = command, .argc = argc, .argv = argv, .words = words, .options = all, .n = n + N_SHARED};
  bool only_words = false;
  *exit_code = CLI_DONE;
  for (p.at = 1; p.at < argc && *exit_code == CLI_DONE; p.at++) {
    char *word = argv[p.at];
    bool is_option = !only_words && word[0] == '-' && word[1];
    if (is_option && (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)) {
      printf("usage: rlx %s\n\n%s\n\n", command->usage, command->doc);
      show_options(p.options, p.n);
      printf("\nexample: %s\n", command->example);
      return false;
    }
    if (is_option && strcmp(word, "--") == 0) only_words = true;
    else if (is_option) *exit_code = parse_option(&p);
    else if (!append(words, (cli_word){NULL, word})) *exit_code = cli_fail("out of memory");
  }
  if (*exit_code == CLI_DONE) *exit_code = begin(common);
  return *exit_code == CLI_DONE;
}
