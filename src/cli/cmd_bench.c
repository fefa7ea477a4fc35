/* rlx bench: run time of a graph, or of single ops at model sizes, on one or several devices and thread counts.
 *
 * All settings are measured interleaved, run by run, so load on the machine affects all of them equally. A sample is
 * one run, or as many as fill two milliseconds. Values stay on the device: rlx_executable_run is timed without
 * transfers. An ONNX model is timed as rlx_onnx_run, including transfers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define SAMPLE_SECONDS 0.002

typedef struct request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_model_options model;
  cli_engine_options engine;
  const char *threads, *format;
  int64_t repeats, prompt, tokens, depth, sequences;
  size_t n_printed;
} request;

/* One device with one thread count. */
typedef struct setting {
  cli_setting what;
  cli_engine engine;
  rlx_onnx_runner *runner; /* ONNX models: run as a whole, in as many graphs as needed */
  const cli_onnx *onnx;
  size_t runs; /* in a sample */
  double *samples;
  cli_summary time;
} setting;

typedef struct job {
  request *r;
  const char *name;
  double flops, bytes; /* 0: not known */
  setting v[CLI_MAX_SETTINGS];
  size_t n;
} job;

/* ---- Measuring ------------------------------------------------------------------------------------------------ */

static int open_runner(const job *j, const cli_common *common, const cli_onnx *o, setting *s) {
  rlx_onnx_options options = {RLX_ONNX_OPTIONS_INIT, .bindings = o->bindings, .n_bindings = o->n_bindings,
                              .without = j->r->engine.without, .switches = j->r->engine.switches};
  s->onnx = o;
  if (cli_session_open(common, common->device, (uint32_t)common->threads, &s->engine.session)) return CLI_FAILED;
  return cli_check(rlx_onnx_runner_create(s->engine.session, o->model, &options, &s->runner), o->path, NULL);
}

static int open_settings(job *j, const cli_model *m) {
  cli_settings list;
  int code = cli_settings_list(j->r->self, &j->r->common, j->r->threads, &list);
  for (j->n = 0; j->n < list.n && !code; j->n++) {
    setting *s = &j->v[j->n];
    cli_common common = j->r->common;
    s->what = list.v[j->n];
    common.device = s->what.device[0] ? s->what.device : NULL;
    common.threads = s->what.threads;
    s->samples = calloc((size_t)j->r->repeats, sizeof *s->samples);
    if (!s->samples) return cli_fail("out of memory");
    code = m->onnx ? open_runner(j, &common, m->onnx, s) : cli_engine_open(&common, &j->r->engine, m, &s->engine);
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    if (!code && !s->what.device[0] && !rlx_session_device(s->engine.session, &info))
      snprintf(s->what.device, sizeof s->what.device, "%s", info.backend);
  }
  return code;
}

static void close_settings(job *j) {
  for (size_t i = 0; i < j->n; i++) {
    rlx_onnx_runner_destroy(j->v[i].runner);
    cli_engine_close(&j->v[i].engine);
    free(j->v[i].samples);
  }
}

static rlx_status run_sample(setting *s, double *seconds) {
  rlx_status status = RLX_OK;
  double begin = cli_seconds();
  for (size_t i = 0; i < s->runs && !status; i++)
    status =
      s->runner ? rlx_onnx_run(s->runner, s->onnx->given, s->onnx->n_given) : rlx_executable_run(s->engine.executable);
  *seconds = (cli_seconds() - begin) / (double)s->runs;
  return status;
}

/* Warm-up run, which also determines the runs per sample. */
static rlx_status calibrate(setting *s) {
  double seconds = 0;
  s->runs = 1;
  rlx_status status = run_sample(s, &seconds);
  if (!status) status = run_sample(s, &seconds);
  if (!status && seconds < SAMPLE_SECONDS) s->runs = (size_t)(SAMPLE_SECONDS / (seconds + 1e-9)) + 1;
  return status;
}

static int measure(job *j) {
  size_t n = (size_t)j->r->repeats;
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < j->n && !s; i++) s = calibrate(&j->v[i]);
  for (size_t k = 0; k < n && !s; k++)
    for (size_t i = 0; i < j->n && !s; i++) s = run_sample(&j->v[i], &j->v[i].samples[k]);
  for (size_t i = 0; i < j->n && !s; i++) j->v[i].time = cli_summarise(j->v[i].samples, n);
  return cli_check(s, j->name, NULL);
}

void cli_bench_json_row(bool is_first) {
  if (is_first) cli_json_begin();
  fputs(is_first ? "{\"rows\":[{" : ",{", stdout);
}

/* ---- Printing ------------------------------------------------------------------------------------------------ */

static void print_row(job *j, const setting *s) {
  const char *format = j->r->format;
  double ratio = j->v[0].time.mean / s->time.mean, gflops = j->flops / s->time.mean / 1e9,
         gbs = j->bytes / s->time.mean / 1e9;
  bool first = j->r->n_printed++ == 0;
  if (strcmp(format, "json") == 0) {
    cli_bench_json_row(first);
    fputs("\"name\":", stdout);
    cli_print_quoted(j->name);
    fputs(",\"device\":", stdout);
    cli_print_quoted(s->what.device);
    printf(",\"threads\":%u", s->what.threads);
    const struct {
      const char *name;
      double value;
    } numbers[] = {{"mean", s->time.mean}, {"spread", s->time.spread}, {"best", s->time.best},
                   {"ratio", ratio},       {"gflops", gflops},         {"gbs", gbs}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      printf(",\"%s\":", numbers[i].name);
      cli_json_real(numbers[i].value, 9);
    }
    putchar('}');
  } else if (strcmp(format, "csv") == 0) {
    if (first) puts("name,device,threads,mean_s,spread_s,best_s,ratio,gflops,gbs");
    printf("%s,%s,%u,%.9g,%.9g,%.9g,%.4f,%.4g,%.4g\n", j->name, s->what.device, s->what.threads, s->time.mean,
           s->time.spread, s->time.best, ratio, gflops, gbs);
  } else {
    if (first)
      puts("| graph | device | threads | mean ms | spread | best ms | GFLOP/s | GB/s | ratio |\n"
           "|---|---|---:|---:|---:|---:|---:|---:|---:|");
    fputs("| ", stdout);
    cli_print_plain(j->name);
    printf(" | %s | ", s->what.device);
    if (s->what.threads) printf("%u", s->what.threads);
    else fputs("all", stdout);
    printf(" | %.3f | %.1f %% | %.3f | ", s->time.mean * 1e3, 100 * s->time.spread / s->time.mean, s->time.best * 1e3);
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
  int code = open_settings(j, m);
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
    if (pattern && !cli_fits(pattern, cli_bench_ops[i].name)) continue;
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
  cli_model m = {.options = &r->model, .path = path};
  int code;
  if (cli_is_onnx(path)) {
    m.onnx = calloc(1, sizeof *m.onnx);
    code = m.onnx ? cli_onnx_open(path, &r->model, false, m.onnx) : cli_fail("out of memory");
  } else {
    code = cli_model_load(path, &r->model, &m);
  }
  if (!code) code = bench_model(&(job){.r = r, .name = path}, &m);
  cli_model_deinit(&m);
  return code;
}

static int bench_lm(request *r, const char *path) {
#ifdef RLX_LM
  cli_bench_lm_request lm = {.self = r->self,
                             .common = &r->common,
                             .path = path,
                             .threads = r->threads,
                             .format = r->format,
                             .repeats = (size_t)r->repeats,
                             .prompt = r->prompt,
                             .tokens = r->tokens,
                             .depth = r->depth,
                             .sequences = r->sequences,
                             .switches = r->engine.switches,
                             .n_printed = &r->n_printed};
  return cli_bench_lm(&lm);
#else
  (void)r;
  return cli_without_lm(path);
#endif
}

static int bench(request *r) {
  if (r->common.json) r->format = "json";
  if (strcmp(r->format, "json") == 0) cli_json_expect();
  if (strcmp(r->format, "md") != 0 && strcmp(r->format, "json") != 0 && strcmp(r->format, "csv") != 0)
    return cli_wrong(r->self, "-o takes md, json or csv, got '%s'", r->format);
  if (r->words.n == 0) return cli_wrong(r->self, "expected a file, or 'ops'");
  bool is_ops = strcmp(r->words.v[0].value, "ops") == 0;
  if (is_ops && r->words.n > 2) return cli_wrong(r->self, "expected one pattern, got %zu", r->words.n - 1);
  int code = CLI_DONE;
  if (is_ops) code = bench_ops(r, r->words.n > 1 ? r->words.v[1].value : NULL);
  for (size_t i = 0; !is_ops && i < r->words.n && code != CLI_USAGE && !ferror(stdout); i++) {
    const char *path = r->words.v[i].value;
    int one = cli_is_weight_file(path) ? bench_lm(r, path) : bench_file(r, path);
    if (one) code = one;
  }
  if (strcmp(r->format, "json") == 0 && code != CLI_USAGE) {
    if (!r->n_printed) cli_json_begin();
    fputs(r->n_printed ? "]" : "{\"rows\":[]", stdout);
    cli_json_end();
  }
  return code;
}

int cli_bench(const cli_command *self, int argc, char **argv) {
  request r = {
    .self = self, .model.seed = 1, .format = "md", .repeats = 10, .prompt = 512, .tokens = 128, .sequences = 1};
  const cli_option options[] = {
    CLI_MODEL_OPTIONS(r.model),
    CLI_ENGINE_OPTIONS(r.engine),
    {"-p", "N", "of a language model: tokens of the prompt (default 512; 0: none)", CLI_NUMBER, &r.prompt, 0, 1000000},
    {"-n", "N", "of a language model: tokens to generate (default 128; 0: none)", CLI_NUMBER, &r.tokens, 0, 1000000},
    {"-d", "N", "of a language model: tokens that its context holds before (default 0)", CLI_NUMBER, &r.depth, 0,
     1000000},
    {"-b", "N", "of a language model: sequences computed together (default 1)", CLI_NUMBER, &r.sequences, 1, 1024},
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
