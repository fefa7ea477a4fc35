/* rlx bench: how long a graph, or an op at the sizes of models, takes; on one or several devices and numbers of threads.
 *
 * What is compared is measured side by side: the runs of all devices and thread counts take turns, so that a busy machine
 * is busy for all of them. A sample is one run, or as many as fill two milliseconds. Values are resident: what is timed
 * is rlx_executable_run, not the arrays' way in and out. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MOST_SETTINGS = 32 };
#define SAMPLE_SECONDS 0.002

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model;
  cli_engine_options engine;
  const char *threads, *format;
  int64_t repeats;
  size_t n_printed;
} request;

/* One device with one number of threads. */
typedef struct setting {
  char device[128];
  uint32_t threads;
  cli_engine engine;
  size_t runs; /* in a sample */
  double *samples;
  double mean, spread, best;
} setting;

typedef struct job {
  request *r;
  const char *name;
  double flops, bytes; /* 0: not known */
  setting v[MOST_SETTINGS];
  size_t n;
} job;

/* ---- What to measure ----------------------------------------------------------------------------------------- */

static int add_setting(job *j, const char *device, int64_t threads) {
  if (j->n == MOST_SETTINGS) return cli_wrong(j->r->self, "more than %d settings to compare", MOST_SETTINGS);
  setting *s = &j->v[j->n++];
  snprintf(s->device, sizeof s->device, "%s", device ? device : "");
  s->threads = (uint32_t)threads;
  return CLI_DONE;
}

static int add_settings(job *j, const char *device) {
  const char *list = j->r->threads;
  int code = CLI_DONE;
  if (!list) return add_setting(j, device, j->r->common.threads);
  while (!code) {
    size_t bytes = strcspn(list, ",");
    char text[16];
    int64_t threads;
    snprintf(text, sizeof text, "%.*s", (int)(bytes < 15 ? bytes : 15), list);
    if (!cli_to_number(text, 1, 1024, &threads))
      return cli_wrong(j->r->self, "-t takes numbers of threads such as 1,2, found '%s'", j->r->threads);
    code = add_setting(j, device, threads);
    list += bytes;
    if (*list++ != ',') break;
  }
  return code;
}

/* --device a,b: each with each number of threads. */
static int list_settings(job *j) {
  const char *list = j->r->common.device;
  int code = CLI_DONE;
  if (!list) return add_settings(j, NULL);
  while (!code) {
    char device[128];
    size_t bytes = strcspn(list, ",");
    if (!bytes)
      return cli_wrong(j->r->self, "--device takes names of devices such as cpu,null, found '%s'", j->r->common.device);
    snprintf(device, sizeof device, "%.*s", (int)(bytes < 127 ? bytes : 127), list);
    code = add_settings(j, device);
    list += bytes;
    if (*list++ != ',') break;
  }
  return code;
}

static int open_settings(job *j, const cli_model *m) {
  for (size_t i = 0; i < j->n; i++) {
    setting *s = &j->v[i];
    cli_common common = j->r->common;
    common.device = s->device[0] ? s->device : NULL;
    common.threads = s->threads;
    if (cli_engine_open(&common, &j->r->engine, m, &s->engine)) return CLI_FAILED;
    s->samples = calloc((size_t)j->r->repeats, sizeof *s->samples);
    if (!s->samples) return cli_fail("out of memory");
    rlx_device_info info;
    if (!s->device[0] && !rlx_session_device(s->engine.session, &info))
      snprintf(s->device, sizeof s->device, "%s", info.backend);
  }
  return CLI_DONE;
}

static void close_settings(job *j) {
  for (size_t i = 0; i < j->n; i++) {
    cli_engine_close(&j->v[i].engine);
    free(j->v[i].samples);
  }
}

/* ---- Measuring ----------------------------------------------------------------------------------------------- */

static rlx_status run_sample(setting *s, double *seconds) {
  rlx_status status = RLX_OK;
  double begin = cli_seconds();
  for (size_t i = 0; i < s->runs && !status; i++) status = rlx_executable_run(s->engine.executable);
  *seconds = (cli_seconds() - begin) / (double)s->runs;
  return status;
}

/* A first run to warm up, and to see how many make a sample. */
static rlx_status calibrate(setting *s) {
  double seconds = 0;
  s->runs = 1;
  rlx_status status = run_sample(s, &seconds);
  if (!status) status = run_sample(s, &seconds);
  if (!status && seconds < SAMPLE_SECONDS) s->runs = (size_t)(SAMPLE_SECONDS / (seconds + 1e-9)) + 1;
  return status;
}

static void summarise(setting *s, size_t n) {
  double sum = 0, squares = 0;
  s->best = INFINITY;
  for (size_t i = 0; i < n; i++) {
    sum += s->samples[i];
    s->best = fmin(s->best, s->samples[i]);
  }
  s->mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) squares += (s->samples[i] - s->mean) * (s->samples[i] - s->mean);
  s->spread = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

static int measure(job *j) {
  size_t n = (size_t)j->r->repeats;
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < j->n && !s; i++) s = calibrate(&j->v[i]);
  for (size_t k = 0; k < n && !s; k++)
    for (size_t i = 0; i < j->n && !s; i++) s = run_sample(&j->v[i], &j->v[i].samples[k]);
  for (size_t i = 0; i < j->n && !s; i++) summarise(&j->v[i], n);
  return cli_check(s, j->name, NULL);
}

/* ---- Printing ------------------------------------------------------------------------------------------------ */

static void print_row(job *j, const setting *s) {
  const char *format = j->r->format;
  double ratio = j->v[0].mean / s->mean, gflops = j->flops / s->mean / 1e9, gbs = j->bytes / s->mean / 1e9;
  bool first = j->r->n_printed++ == 0;
  if (strcmp(format, "json") == 0) {
    printf("%s{\"name\":", first ? "{\"rows\":[" : ",");
    cli_print_quoted(j->name);
    fputs(",\"device\":", stdout);
    cli_print_quoted(s->device);
    printf(",\"threads\":%u,\"mean\":%.9g,\"spread\":%.9g,\"best\":%.9g,\"ratio\":%.4f,\"gflops\":%.4g,\"gbs\":%.4g}",
           s->threads, s->mean, s->spread, s->best, ratio, gflops, gbs);
  } else if (strcmp(format, "csv") == 0) {
    if (first) puts("name,device,threads,mean_s,spread_s,best_s,ratio,gflops,gbs");
    printf("%s,%s,%u,%.9g,%.9g,%.9g,%.4f,%.4g,%.4g\n", j->name, s->device, s->threads, s->mean, s->spread, s->best,
           ratio, gflops, gbs);
  } else {
    if (first)
      puts("| graph | device | threads | mean ms | spread | best ms | GFLOP/s | GB/s | ratio |\n"
           "|---|---|---:|---:|---:|---:|---:|---:|---:|");
    printf("| %s | %s | ", j->name, s->device);
    if (s->threads) printf("%u", s->threads);
    else fputs("all", stdout);
    printf(" | %.3f | %.1f %% | %.3f | ", s->mean * 1e3, 100 * s->spread / s->mean, s->best * 1e3);
    if (j->flops > 0) printf("%.1f | ", gflops);
    else fputs("| ", stdout);
    if (j->bytes > 0) printf("%.1f | ", gbs);
    else fputs("| ", stdout);
    printf("%.2f |\n", ratio);
  }
  fflush(stdout);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static int bench_model(job *j, cli_model *m) {
  if (cli_model_bind(m)) return CLI_FAILED;
  int code = list_settings(j);
  if (!code) code = open_settings(j, m);
  if (!code) code = measure(j);
  for (size_t i = 0; i < j->n && !code; i++) print_row(j, &j->v[i]);
  close_settings(j);
  return code;
}

static int bench_op(request *r, const cli_bench_op *op) {
  rlx_graph *g;
  cli_model m;
  if (cli_check(rlx_graph_parse(op->text, strlen(op->text), &g), op->name, NULL)) return CLI_FAILED;
  int code = cli_model_take(op->name, g, &r->model, &m);
  if (!code) code = bench_model(&(job){.r = r, .name = op->name, .flops = op->flops, .bytes = op->bytes}, &m);
  cli_model_deinit(&m);
  return code;
}

static int bench_ops(request *r, const char *pattern) {
  int code = CLI_DONE;
  size_t found = 0;
  for (size_t i = 0; i < cli_bench_ops_count && code != CLI_USAGE && !ferror(stdout); i++) {
    if (pattern && fnmatch(pattern, cli_bench_ops[i].name, 0) != 0) continue;
    found++;
    int one = bench_op(r, &cli_bench_ops[i]);
    if (one) code = one;
  }
  if (found) return code;
  char names[1024] = "";
  for (size_t i = 0; i < cli_bench_ops_count; i++) {
    strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
    strncat(names, cli_bench_ops[i].name, sizeof names - strlen(names) - 1);
  }
  return cli_fail("bench ops: nothing fits '%s'; there are: %s", pattern, names);
}

static int bench_file(request *r, const char *path) {
  cli_model m;
  int code = cli_model_load(path, &r->model, &m);
  if (!code) code = bench_model(&(job){.r = r, .name = path}, &m);
  cli_model_deinit(&m);
  return code;
}

static int bench(request *r) {
  if (r->common.json) r->format = "json";
  if (strcmp(r->format, "md") != 0 && strcmp(r->format, "json") != 0 && strcmp(r->format, "csv") != 0)
    return cli_wrong(r->self, "-o takes md, json or csv, found '%s'", r->format);
  if (r->words.n == 0) return cli_wrong(r->self, "expected a file, or 'ops'");
  bool is_ops = strcmp(r->words.v[0].value, "ops") == 0;
  if (is_ops && r->words.n > 2) return cli_wrong(r->self, "expected one pattern, found %zu", r->words.n - 1);
  int code = CLI_DONE;
  if (is_ops) code = bench_ops(r, r->words.n > 1 ? r->words.v[1].value : NULL);
  for (size_t i = 0; !is_ops && i < r->words.n && code != CLI_USAGE && !ferror(stdout); i++) {
    int one = bench_file(r, r->words.v[i].value);
    if (one) code = one;
  }
  if (strcmp(r->format, "json") == 0 && code != CLI_USAGE) puts(r->n_printed ? "]}" : "{\"rows\":[]}");
  return code;
}

int cli_bench(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = 1, .format = "md", .repeats = 10};
  const cli_option options[] = {
    CLI_MODEL_OPTIONS(r.model),
    CLI_ENGINE_OPTIONS(r.engine),
    {"-t", "LIST", "numbers of threads to compare, such as 1,2", CLI_TEXT, &r.threads, 0, 0},
    {"-r", "N", "samples of each (default 10)", CLI_NUMBER, &r.repeats, 1, 1000000},
    {"-o", "FORMAT", "md, json or csv", CLI_TEXT, &r.format, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = bench(&r);
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
