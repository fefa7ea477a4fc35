/* Placement: how near to the bound, how fast. For each kind of problem (tests/support/place_cases.h) a few of each size, and the
 * time against the number of values for the kind that a big graph gives.
 *
 *   place                          the table
 *   place --seeds 20               that many problems for each row (default 6)
 *   place --only cuts --n 300      one kind, one size, a line for each problem
 *   place --budget 5000            million steps for each problem (default 500: about a second; 0: what rlx_place takes)
 *
 * "met" counts the problems whose known capacity (the bound where none is known) was reached. The ratios are against that
 * capacity, means over the row; seconds are processor time, mean and most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "place_cases.h"

typedef struct row {
  const char *kind;
  size_t n;
} row;

static const row rows[] = {
  {"cuts", 150},    {"cuts", 300},      {"cuts", 450},      {"grid", 300},    {"frayed", 150},   {"frayed", 300},
  {"program", 150}, {"program", 300},   {"program", 450},   {"trace", 150},   {"trace", 300},    {"trace", 450},
  {"tiles", 300},   {"allocator", 300}, {"allocator", 450}, {"network", 300}, {"network", 3000},
};

typedef struct settings {
  uint64_t n_seeds, budget;
  bool is_verbose;
} settings;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of one problem. */
typedef struct outcome {
  double greedy, found, seconds; /* the first two against the capacity */
  bool is_met;
} outcome;

static rlx_status solve(const place_case *c, const settings *set, outcome *out) {
  uint64_t *offsets = rlx_mem_calloc(c->n, sizeof *offsets);
  if (!offsets) return RLX_FAIL(RLX_NO_MEMORY, "offsets");
  rlx_place_options options = {RLX_PLACE_OPTIONS_INIT, .capacity = c->capacity, .budget = set->budget};
  rlx_place_result r = {RLX_PLACE_RESULT_INIT};
  double start = now();
  rlx_status s = rlx_place(c->items, c->n, &options, offsets, &r);
  out->seconds = now() - start;
  rlx_mem_free(offsets);
  if (s) return s;
  double capacity = (double)(c->capacity ? c->capacity : r.lower_bound);
  out->greedy = (double)r.greedy / capacity;
  out->found = (double)r.peak / capacity;
  out->is_met = out->found <= 1;
  if (set->is_verbose)
    printf("    n %zu, greedy %.3f, found %.3f, %.3f s, %.0f million steps\n", c->n, out->greedy, out->found,
           out->seconds, (double)r.steps * 1e-6);
  return RLX_OK;
}

static rlx_status print_row(const place_case_kind *kind, size_t n, const settings *set) {
  outcome sum = {0};
  double max = 0, worst = 0;
  unsigned n_met = 0;
  for (uint64_t seed = 1; seed <= set->n_seeds; seed++) {
    place_case c;
    outcome one;
    RLX_TRY(kind->make(seed * 7919, n, &c));
    rlx_status s = solve(&c, set, &one);
    place_case_deinit(&c);
    RLX_TRY(s);
    sum.greedy += one.greedy;
    sum.found += one.found;
    sum.seconds += one.seconds;
    if (one.seconds > max) max = one.seconds;
    if (one.found > worst) worst = one.found;
    n_met += one.is_met;
  }
  double count = (double)set->n_seeds;
  printf("| %-9s | %7zu | %6.3f | %6.4f | %6.4f | %3u of %-3u | %7.3f | %7.3f |\n", kind->name, n, sum.greedy / count,
         sum.found / count, worst, n_met, (unsigned)set->n_seeds, sum.seconds / count, max);
  return RLX_OK;
}

static const place_case_kind *find_kind(const char *name) {
  for (size_t k = 0; k < n_place_case_kinds; k++)
    if (strcmp(place_case_kinds[k].name, name) == 0) return &place_case_kinds[k];
  return NULL;
}

/* Time against size, up to a million values. */
static rlx_status print_growth(void) {
  printf("\n| values    | seconds | ns a value | found/bound |\n|---|---|---|---|\n");
  for (size_t n = 1000; n <= 1000000; n *= 10) {
    place_case c;
    outcome one;
    RLX_TRY(place_case_network(1, n, &c));
    rlx_status s = solve(&c, &(settings){0}, &one);
    place_case_deinit(&c);
    RLX_TRY(s);
    printf("| %9zu | %7.3f | %10.0f | %11.4f |\n", n, one.seconds, one.seconds / (double)n * 1e9, one.found);
  }
  return RLX_OK;
}

static rlx_status run(const settings *set, const char *only, size_t only_n) {
  printf("| kind      | values  | greedy | found  | worst  | met        | seconds | most    |\n"
         "|---|---|---|---|---|---|---|---|\n");
  if (only) {
    const place_case_kind *kind = find_kind(only);
    if (!kind) return RLX_FAIL(RLX_INVALID, "no kind of problem is called '%s'", only);
    return print_row(kind, only_n, set);
  }
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) RLX_TRY(print_row(find_kind(rows[k].kind), rows[k].n, set));
  return print_growth();
}

int main(int argc, char **argv) {
  settings set = {.n_seeds = 6, .budget = 500 * 1000000};
  const char *only = NULL;
  size_t n = 300;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seeds") == 0) set.n_seeds = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--budget") == 0) set.budget = strtoull(argv[i + 1], NULL, 10) * 1000000;
    else if (strcmp(argv[i], "--n") == 0) n = strtoull(argv[i + 1], NULL, 10);
    else if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    else fprintf(stderr, "place: unknown option '%s'\n", argv[i]);
  }
  set.is_verbose = only != NULL;
  if (set.n_seeds == 0) set.n_seeds = 1;
  rlx_status s = run(&set, only, n);
  if (s) fprintf(stderr, "place: %s\n", rlx_message());
  return s != RLX_OK;
}
