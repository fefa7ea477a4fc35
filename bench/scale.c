/* Scale: how time and memory grow with the graph. For each kind of big graph (tests/support/big_graph.h) and each size, the time
 * per node of every step from building to destroying, each pass alone and the whole pipeline, and the peak of memory.
 *
 * The last column is the time per node at the largest size over that at the smallest: near 1 is linear; a little more is
 * memory that no longer fits the caches; 10 or 100 would be quadratic. docs/performance.md keeps results.
 *
 *   scale                         wide and chain at 10^4, 10^5 and 10^6 nodes
 *   scale --kinds all --sizes 10000,100000
 *   scale --limit 8               exit code 1 if a ratio is above 8
 *
 * Each size runs in a process of its own, so that its peak of memory is its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "big_graph.h"
#include "graphs.h"
#include "pass/pass.h"

enum { MAX_STEPS = 32, MAX_SIZES = 8, NAME_BYTES = 32 };

typedef struct result {
  uint32_t n_nodes; /* what the graph came to have */
  uint32_t n_steps;
  long peak_kib;
  struct {
    char name[NAME_BYTES];
    double seconds; /* the best of a few */
  } steps[MAX_STEPS];
  bool failed;
} result;

/* Processor time, user and system: it does not count what other programs take. All steps run on one thread. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- one size ---- */

typedef struct bench {
  result *r;
  const big_graph_kind *kind;
  uint32_t n_nodes;
  uint32_t next; /* step */
  double start;
} bench;

static void begin(bench *b) { b->start = now(); }

/* Ends a step; in a later repetition the better time stands. */
static void end(bench *b, const char *name) {
  double seconds = now() - b->start;
  if (b->next == MAX_STEPS) return;
  bool is_new = b->next == b->r->n_steps;
  if (is_new) snprintf(b->r->steps[b->r->n_steps++].name, NAME_BYTES, "%s", name);
  if (is_new || seconds < b->r->steps[b->next].seconds) b->r->steps[b->next].seconds = seconds;
  b->next++;
}

static rlx_status bench_text(bench *b, const rlx_graph *g) {
  char *text = NULL;
  rlx_graph *again = NULL;
  begin(b);
  RLX_TRY(rlx_graph_print(g, &text));
  end(b, "print");
  begin(b);
  rlx_status s = rlx_graph_parse(text, strlen(text), &again);
  end(b, "parse");
  rlx_free(text);
  RLX_TRY(s);
  begin(b);
  bool is_same = rlx_graph_same(g, again);
  end(b, "compare");
  rlx_graph_destroy(again);
  return is_same ? RLX_OK : RLX_FAIL(RLX_INVALID, "the text did not come back as the same graph");
}

static rlx_status bench_bind(bench *b, const rlx_graph *g) {
  rlx_graph *bound = NULL;
  begin(b);
  RLX_TRY(rlx_graph_bind(g, NULL, 0, &bound));
  end(b, "bind");
  rlx_graph_destroy(bound);
  return RLX_OK;
}

static rlx_status bench_passes(bench *b, const rlx_graph *g) {
  for (size_t i = 0; i < rlx_passes_count; i++) {
    char name[NAME_BYTES];
    rlx_pass_context ctx = {.supports = only_primitives}; /* legalise has all the work it can have */
    rlx_graph *out = NULL;
    snprintf(name, sizeof name, "pass %s", rlx_passes[i].name);
    begin(b);
    RLX_TRY(rlx_pass_run(&rlx_passes[i], g, &ctx, &out));
    end(b, name);
    rlx_graph_destroy(out);
    rlx_graph_destroy(ctx.load);
  }
  return RLX_OK;
}

static rlx_status bench_pipeline(bench *b, const rlx_graph *g, rlx_supports_fn supports, const char *name) {
  rlx_optimized *o = NULL;
  begin(b);
  RLX_TRY(rlx_optimize(g, &(rlx_optimize_options){RLX_OPTIMIZE_OPTIONS_INIT, .supports = supports}, &o));
  end(b, name);
  rlx_optimized_destroy(o);
  return RLX_OK;
}

static rlx_status bench_eval(bench *b, const rlx_graph *g) {
  rlx_tensor y;
  begin(b);
  RLX_TRY(big_graph_run(g, NULL, &y));
  end(b, "evaluate");
  rlx_free(y.data);
  return RLX_OK;
}

static rlx_status bench_steps(bench *b, const rlx_graph *g) {
  begin(b);
  RLX_TRY(rlx_graph_verify(g));
  end(b, "verify");
  begin(b);
  uint64_t hash = rlx_graph_hash(g);
  end(b, "hash");
  if (hash == 0) printf("a hash of 0\n"); /* so that it is not left out as unused */
  RLX_TRY(bench_text(b, g));
  RLX_TRY(bench_bind(b, g));
  RLX_TRY(bench_passes(b, g));
  RLX_TRY(bench_pipeline(b, g, NULL, "optimise"));
  RLX_TRY(bench_pipeline(b, g, only_primitives, "optimise, primitives"));
  return bench_eval(b, g);
}

static rlx_status bench_once(bench *b) {
  big_graph big;
  b->next = 0;
  begin(b);
  RLX_TRY(big_graph_make(b->kind, b->n_nodes, &big));
  end(b, "build");
  b->r->n_nodes = rlx_graph_size(big.graph);
  rlx_status s = bench_steps(b, big.graph);
  begin(b);
  rlx_graph_destroy(big.graph);
  end(b, "destroy");
  return s;
}

/* As many repetitions as make a hundred thousand nodes or so: enough for small sizes to be steady. */
static void bench_size(const big_graph_kind *kind, uint32_t n_nodes, result *r) {
  *r = (result){.n_nodes = n_nodes};
  bench b = {.r = r, .kind = kind, .n_nodes = n_nodes};
  uint32_t repeats = n_nodes >= 500000 ? 1 : n_nodes >= 50000 ? 3 : 10;
  for (uint32_t i = 0; i < repeats && !r->failed; i++) r->failed = bench_once(&b) != RLX_OK;
  if (r->failed) fprintf(stderr, "%s of %u nodes: %s\n", kind->name, (unsigned)n_nodes, rlx_message());
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) r->peak_kib = usage.ru_maxrss;
}

static bool bench_apart(const big_graph_kind *kind, uint32_t n_nodes, result *r) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bench_size(kind, n_nodes, r);
    bool written = write(ends[1], r, sizeof *r) == (ssize_t)sizeof *r;
    _exit(written && !r->failed ? 0 : 1);
  }
  close(ends[1]);
  size_t got = 0;
  for (ssize_t n = 1; child > 0 && n > 0 && got<sizeof *r; got += n> 0 ? (size_t)n : 0)
    n = read(ends[0], (char *)r + got, sizeof *r - got);
  close(ends[0]);
  int status = 1;
  if (child > 0) waitpid(child, &status, 0);
  return got == sizeof *r && status == 0;
}

/* ---- the table ---- */

static double per_node(const result *r, uint32_t step) { return r->steps[step].seconds / r->n_nodes; }

static double print_kind(const big_graph_kind *kind, const result *r, size_t n) {
  double worst = 0;
  printf("\n%s: %s\n%-22s", kind->name, kind->doc, "microseconds per node");
  for (size_t i = 0; i < n; i++) printf(" %9u", (unsigned)r[i].n_nodes);
  printf("   ratio   seconds at %u\n", (unsigned)r[n - 1].n_nodes);
  for (uint32_t step = 0; step < r[0].n_steps; step++) {
    double ratio = per_node(&r[n - 1], step) / per_node(&r[0], step);
    printf("%-22s", r[0].steps[step].name);
    for (size_t i = 0; i < n; i++) printf(" %9.3f", 1e6 * per_node(&r[i], step));
    printf("  %6.2f   %7.3f\n", ratio, r[n - 1].steps[step].seconds);
    if (ratio > worst) worst = ratio;
  }
  printf("%-22s", "peak bytes per node");
  for (size_t i = 0; i < n; i++) printf(" %9.0f", 1024.0 * (double)r[i].peak_kib / r[i].n_nodes);
  printf("\n");
  return worst;
}

static size_t parse_sizes(const char *list, uint32_t sizes[MAX_SIZES]) {
  size_t n = 0;
  for (const char *p = list; *p && n < MAX_SIZES; n++) {
    char *rest;
    unsigned long v = strtoul(p, &rest, 10);
    if (rest == p || v < 16 || v > 100000000 || (*rest && *rest != ',')) return 0;
    sizes[n] = (uint32_t)v;
    p = *rest ? rest + 1 : rest;
  }
  return n;
}

static bool is_named(const char *list, const char *name) {
  if (strcmp(list, "all") == 0) return true;
  size_t length = strlen(name);
  for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
    if (strncmp(p, name, length) == 0 && (p[length] == ',' || p[length] == 0)) return true;
  return false;
}

int main(int argc, char **argv) {
  const char *kinds = "wide,chain", *list = "10000,100000,1000000";
  double limit = 0, worst = 0;
  for (int i = 1; i < argc; i += 2) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (value && strcmp(argv[i], "--kinds") == 0) kinds = value;
    else if (value && strcmp(argv[i], "--sizes") == 0) list = value;
    else if (value && strcmp(argv[i], "--limit") == 0) limit = atof(value);
    else {
      printf("usage: scale [--kinds all|NAME,..] [--sizes N,..] [--limit RATIO]\n");
      for (size_t k = 0; k < big_graph_kinds_count; k++)
        printf("  %-10s %s\n", big_graph_kinds[k].name, big_graph_kinds[k].doc);
      return 2;
    }
  }
  uint32_t sizes[MAX_SIZES];
  size_t n = parse_sizes(list, sizes);
  static result results[MAX_SIZES];
  if (n == 0) return fprintf(stderr, "--sizes takes up to %d numbers from 16 on, got '%s'\n", MAX_SIZES, list), 2;
  for (size_t k = 0; k < big_graph_kinds_count; k++) {
    if (!is_named(kinds, big_graph_kinds[k].name)) continue;
    for (size_t i = 0; i < n; i++)
      if (!bench_apart(&big_graph_kinds[k], sizes[i], &results[i])) return 1;
    double ratio = print_kind(&big_graph_kinds[k], results, n);
    if (ratio > worst) worst = ratio;
    fflush(stdout);
  }
  if (limit > 0 && worst > limit) return printf("\na ratio of %.2f is above the limit of %.2f\n", worst, limit), 1;
  return 0;
}
