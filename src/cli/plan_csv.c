/* A bare placement problem from a CSV file: columns id, lower, upper, size in any order (others are ignored); a
 * buffer is live in [lower, upper). The result is an offset for each row. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

enum { ID, LOWER, UPPER, SIZE, N_COLUMNS, MAX_FIELDS = 64 };
static const char *const column_names[N_COLUMNS] = {"id", "lower", "upper", "size"};

typedef struct problem {
  const cli_csv_options *o;
  char *text;
  rlx_place_item *items;
  char **ids; /* pointers into text */
  uint64_t *offsets;
  size_t n, cap;
  size_t column[N_COLUMNS]; /* index of the column in a line */
} problem;

static void problem_deinit(problem *p) {
  free(p->text);
  free(p->items);
  free(p->ids);
  free(p->offsets);
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

static char *trim(char *s) {
  s += strspn(s, " \t\"");
  size_t n = strlen(s);
  while (n && strchr(" \t\r\"", s[n - 1])) s[--n] = '\0';
  return s;
}

/* Splits a line at commas, in place; returns the number of fields. */
static size_t split(char *line, char **fields) {
  size_t n = 0;
  for (char *p = line; n < MAX_FIELDS; n++) {
    char *comma = strchr(p, ',');
    if (comma) *comma = '\0';
    fields[n] = trim(p);
    if (!comma) return n + 1;
    p = comma + 1;
  }
  return n;
}

static int read_header(problem *p, char *line) {
  char *fields[MAX_FIELDS];
  size_t n = split(line, fields);
  for (int c = 0; c < N_COLUMNS; c++) {
    size_t i = 0;
    while (i < n && strcmp(fields[i], column_names[c]) != 0) i++;
    if (i == n)
      return cli_fail("%s: line 1: there is no column '%s'; expected id,lower,upper,size", p->o->path, column_names[c]);
    p->column[c] = i;
  }
  return CLI_DONE;
}

static int read_row(problem *p, char *line, size_t number) {
  char *fields[MAX_FIELDS];
  size_t n = split(line, fields);
  int64_t value[N_COLUMNS];
  for (int c = 0; c < N_COLUMNS; c++) {
    if (p->column[c] >= n) return cli_fail("%s: line %zu: '%s' is missing", p->o->path, number, column_names[c]);
    int64_t min = c == SIZE ? 0 : INT64_MIN;
    if (c != ID && !cli_to_number(fields[p->column[c]], min, INT64_MAX, &value[c]))
      return cli_fail("%s: line %zu: %s '%s' is not a whole number%s", p->o->path, number, column_names[c],
                      fields[p->column[c]], c == SIZE ? " from 0 on" : "");
  }
  if (value[LOWER] > value[UPPER])
    return cli_fail("%s: line %zu: lower %" PRId64 " is above upper %" PRId64, p->o->path, number, value[LOWER],
                    value[UPPER]);
  if (p->n == p->cap) {
    size_t cap = p->cap ? p->cap * 2 : 1024;
    void *items = realloc(p->items, cap * sizeof *p->items);
    if (items) p->items = items;
    void *ids = items ? realloc(p->ids, cap * sizeof *p->ids) : NULL;
    if (!ids) return cli_fail("out of memory");
    p->ids = ids;
    p->cap = cap;
  }
  p->items[p->n] = (rlx_place_item){value[LOWER], value[UPPER], (uint64_t)value[SIZE]};
  p->ids[p->n++] = fields[p->column[ID]];
  return CLI_DONE;
}

static int read_rows(problem *p) {
  size_t number = 0;
  int code = CLI_DONE;
  for (char *line = p->text, *next; line && *line && !code; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    if (!number++) code = read_header(p, line);
    else if (*trim(line)) code = read_row(p, line, number);
  }
  if (!number) return cli_fail("%s: the file is empty; expected a line id,lower,upper,size first", p->o->path);
  return code;
}

static int by_id(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int check_ids(const problem *p) {
  char **sorted = malloc((p->n + 1) * sizeof *sorted);
  if (!sorted) return cli_fail("out of memory");
  int code = CLI_DONE;
  if (p->n) memcpy(sorted, p->ids, p->n * sizeof *sorted);
  qsort(sorted, p->n, sizeof *sorted, by_id);
  for (size_t i = 1; i < p->n && !code; i++)
    if (strcmp(sorted[i - 1], sorted[i]) == 0) code = cli_fail("%s: id '%s' is there twice", p->o->path, sorted[i]);
  free(sorted);
  return code;
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

static int write_rows(const problem *p) {
  size_t bytes = 64, at = 0;
  for (size_t i = 0; i < p->n; i++) bytes += strlen(p->ids[i]) + 96;
  char *text = malloc(bytes);
  if (!text) return cli_fail("out of memory");
  at += (size_t)snprintf(text, bytes, "id,lower,upper,size,offset\n");
  for (size_t i = 0; i < p->n; i++) {
    const rlx_place_item *it = &p->items[i];
    at += (size_t)snprintf(text + at, bytes - at, "%s,%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 "\n", p->ids[i],
                           it->lower, it->upper, it->bytes, p->offsets[i]);
  }
  int code = cli_write_file(p->o->out, text, at);
  free(text);
  return code;
}

static void print_json(const problem *p, const rlx_place_result *r, double seconds) {
  cli_json_begin();
  printf("{\"peak\":%" PRIu64 ",\"lower_bound\":%" PRIu64 ",\"greedy\":%" PRIu64 ",\"steps\":%" PRIu64
         ",\"seconds\":%.6f,\"offsets\":{",
         r->peak, r->lower_bound, r->greedy, r->steps, seconds);
  for (size_t i = 0; i < p->n; i++) {
    if (i) putchar(',');
    cli_print_quoted(p->ids[i]);
    printf(":%" PRIu64, p->offsets[i]);
  }
  putchar('}');
  cli_json_end();
}

static void print_text(const problem *p, const rlx_place_result *r, double seconds) {
  double bound = r->lower_bound ? (double)r->lower_bound : 1;
  printf("%zu values: peak %" PRIu64 " bytes, lower bound %" PRIu64 " (ratio %.4f), greedy %" PRIu64
         " (%.4f), %.3f s\n",
         p->n, r->peak, r->lower_bound, (double)r->peak / bound, r->greedy, (double)r->greedy / bound, seconds);
}

/* ---- Entry point --------------------------------------------------------------------------------------------- */

static int solve(problem *p, const cli_common *common) {
  p->offsets = calloc(p->n + 1, sizeof *p->offsets);
  if (!p->offsets) return cli_fail("out of memory");
  rlx_place_options options = {RLX_PLACE_OPTIONS_INIT, .capacity = (uint64_t)p->o->capacity,
                               .budget = (uint64_t)p->o->budget, .no_search = p->o->no_search};
  rlx_place_result r = {RLX_PLACE_RESULT_INIT};
  double begin = cli_seconds();
  if (cli_check(rlx_place(p->items, p->n, &options, p->offsets, &r), p->o->path, NULL)) return CLI_FAILED;
  double seconds = cli_seconds() - begin;
  if (p->o->out && write_rows(p)) return CLI_FAILED;
  int code = CLI_DONE;
  if (!common->json && !common->quiet) print_text(p, &r, seconds);
  if (p->o->capacity && r.peak > (uint64_t)p->o->capacity)
    code = cli_fail("%s: the peak of %" PRIu64 " is above the capacity of %" PRId64 "; the lower bound is %" PRIu64,
                    p->o->path, r.peak, p->o->capacity, r.lower_bound);
  if (common->json) print_json(p, &r, seconds);
  return code;
}

int cli_plan_csv(const cli_common *common, const cli_csv_options *options) {
  problem p = {.o = options};
  int code = options->out ? cli_target_check("--out", options->out, &(cli_reads){options->path, NULL}, true) : CLI_DONE;
  if (!code) code = cli_read_file(options->path, &p.text);
  if (!code) code = read_rows(&p);
  if (!code) code = check_ids(&p);
  if (!code) code = solve(&p, common);
  problem_deinit(&p);
  return code;
}
