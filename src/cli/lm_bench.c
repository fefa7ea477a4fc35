/* rlx bench MODEL: tokens per second of prefill (pp512) and decode (tg128), as commonly reported: a prompt, up to the
 * logits of its last token; then single tokens one after the other. With -d both begin in a context that holds so many
 * tokens already; with -b several sequences are computed together, and the tokens of all count. Settings are measured
 * interleaved. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lm_cli.h"

typedef struct setting {
  cli_setting what;
  rlx_lm *lm;
  double *prompt, *tokens; /* samples */
} setting;

typedef struct job {
  const cli_bench_lm_request *r;
  rlx_lm_info info;
  int32_t *ids; /* arbitrary tokens, at least as many as the prompt and the depth */
  float *logits;
  rlx_lm_prompt *prompts; /* by sequence */
  setting v[CLI_MAX_SETTINGS];
  size_t n;
} job;

static int open_setting(job *j, setting *s) {
  cli_common common = *j->r->common;
  common.device = s->what.device[0] ? s->what.device : NULL;
  common.threads = s->what.threads;
  int64_t max = j->r->prompt > j->r->tokens ? j->r->prompt : j->r->tokens;
  cli_lm_options options = {.context = j->r->depth + max + 1, .sequences = j->r->sequences, .switches = j->r->switches};
  s->prompt = calloc(j->r->repeats, sizeof *s->prompt);
  s->tokens = calloc(j->r->repeats, sizeof *s->tokens);
  if (!s->prompt || !s->tokens) return cli_fail("out of memory");
  j->info = (rlx_lm_info){RLX_LM_INFO_INIT};
  int code = cli_lm_open(&common, &options, j->r->path, &s->lm);
  return code ? code : cli_check(rlx_lm_describe(s->lm, &j->info), NULL, NULL);
}

static int open_settings(job *j) {
  cli_settings list;
  int code = cli_settings_list(j->r->self, j->r->common, j->r->threads, &list);
  for (j->n = 0; j->n < list.n && !code;) {
    setting *s = &j->v[j->n++];
    s->what = list.v[j->n - 1];
    code = open_setting(j, s);
  }
  if (code) return code;
  const int64_t n_ids = (j->r->prompt > j->r->depth ? j->r->prompt : j->r->depth) + 1;
  j->ids = calloc((size_t)n_ids, sizeof *j->ids);
  j->logits = calloc(j->info.n_vocabulary, sizeof *j->logits);
  j->prompts = calloc((size_t)j->r->sequences, sizeof *j->prompts);
  if (!j->ids || !j->logits || !j->prompts) return cli_fail("out of memory");
  for (int64_t i = 0; i < n_ids; i++) j->ids[i] = (int32_t)((uint32_t)i * 7919u % j->info.n_vocabulary);
  return CLI_DONE;
}

static void close_settings(job *j) {
  for (size_t i = 0; i < j->n; i++) {
    rlx_lm_destroy(j->v[i].lm);
    free(j->v[i].prompt);
    free(j->v[i].tokens);
  }
  free(j->ids);
  free(j->logits);
  free(j->prompts);
}

static bool on_id(void *user, int32_t id) {
  (void)user;
  (void)id;
  return true;
}
static bool on_batch_id(void *user, uint32_t sequence, int32_t id) {
  (void)sequence;
  return on_id(user, id);
}

/* ---- Samples -------------------------------------------------------------------------------------------------- */

/* Every sequence holds `depth` tokens afterwards. */
static rlx_status return_to_depth(const job *j, const setting *s) {
  const uint32_t depth = (uint32_t)j->r->depth;
  rlx_status status = RLX_OK;
  for (uint32_t i = 0; i < (uint32_t)j->r->sequences && !status; i++) {
    const uint32_t held = rlx_lm_length(s->lm, i);
    if (held < depth) status = rlx_lm_append(s->lm, i, j->ids + held, depth - held, false, NULL);
    else status = rlx_lm_truncate(s->lm, i, depth);
  }
  return status;
}

/* Each sequence is given a prompt of `n` tokens and draws `n_drawn`. */
static rlx_status generate(const job *j, const setting *s, size_t n, int64_t n_drawn) {
  rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = (uint32_t)n_drawn, .ignore_end = true};
  for (int64_t i = 0; i < j->r->sequences; i++) j->prompts[i] = (rlx_lm_prompt){j->ids, n};
  if (j->r->sequences == 1) return rlx_lm_generate_ids(s->lm, j->ids, n, &options, on_id, NULL, NULL);
  return rlx_lm_generate_batch(s->lm, j->prompts, (size_t)j->r->sequences, &options, on_batch_id, NULL, NULL);
}

static rlx_status sample_prompt(const job *j, const setting *s, double *seconds) {
  const size_t n = (size_t)j->r->prompt;
  if (!n) return RLX_OK;
  rlx_status status = return_to_depth(j, s);
  double begin = cli_seconds();
  if (!status && j->r->sequences == 1) status = rlx_lm_append(s->lm, 0, j->ids, n, false, j->logits);
  else if (!status) status = generate(j, s, n, 1);
  *seconds = cli_seconds() - begin;
  return status;
}

static rlx_status sample_tokens(const job *j, const setting *s, double *seconds) {
  if (!j->r->tokens) return RLX_OK;
  rlx_status status = return_to_depth(j, s);
  double begin = cli_seconds();
  if (!status) status = generate(j, s, 1, j->r->tokens);
  *seconds = cli_seconds() - begin;
  return status;
}

static int measure(job *j) {
  double unused;
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < j->n && !s; i++) {
    s = sample_prompt(j, &j->v[i], &unused);
    if (!s) s = sample_tokens(j, &j->v[i], &unused);
  }
  for (size_t k = 0; k < j->r->repeats && !s; k++)
    for (size_t i = 0; i < j->n && !s; i++) {
      s = sample_prompt(j, &j->v[i], &j->v[i].prompt[k]);
      if (!s) s = sample_tokens(j, &j->v[i], &j->v[i].tokens[k]);
    }
  return cli_check(s, j->r->path, NULL);
}

/* Prints the mean and spread of the tokens per second of the samples. */
static void print_row(const job *j, const setting *s, const char *what, int64_t n, double *samples) {
  char test[96], at[32] = "", of[32] = "";
  rlx_device_info d = {RLX_DEVICE_INFO_INIT};
  const char *format = j->r->format;
  bool first = (*j->r->n_printed)++ == 0;
  for (size_t i = 0; i < j->r->repeats; i++) samples[i] = (double)(n * j->r->sequences) / samples[i];
  cli_summary rate = cli_summarise(samples, j->r->repeats);
  if (j->r->depth) snprintf(at, sizeof at, "@%" PRId64, j->r->depth);
  if (j->r->sequences > 1) snprintf(of, sizeof of, "x%" PRId64, j->r->sequences);
  snprintf(test, sizeof test, "%s%" PRId64 "%s%s", what, n, of, at);
  const char *device = s->what.device[0] ? s->what.device : rlx_lm_device(s->lm, &d) ? "" : d.backend;
  if (strcmp(format, "json") == 0) {
    cli_bench_json_row(first);
    fputs("\"model\":", stdout);
    cli_print_quoted(j->r->path);
    printf(",\"family\":\"%s\",\"weights\":\"%s\",\"bytes\":%" PRIu64 ",\"parameters\":%" PRIu64 ",\"device\":",
           j->info.family, j->info.weights, j->info.weight_bytes, j->info.n_parameters);
    cli_print_quoted(device);
    printf(",\"threads\":%u,\"test\":\"%s\",\"tokens_per_second\":", s->what.threads, test);
    cli_json_real(rate.mean, 9);
    fputs(",\"spread\":", stdout);
    cli_json_real(rate.spread, 9);
    putchar('}');
  } else if (strcmp(format, "csv") == 0) {
    if (first) puts("model,family,bytes,parameters,device,threads,test,tokens_per_second,spread");
    printf("%s,%s,%" PRIu64 ",%" PRIu64 ",%s,%u,%s,%.4f,%.4f\n", j->r->path, j->info.family, j->info.weight_bytes,
           j->info.n_parameters, device, s->what.threads, test, rate.mean, rate.spread);
  } else {
    if (first)
      puts("| model | size | params | device | threads | test | tokens/s |\n|---|---:|---:|---|---:|---:|---:|");
    printf("| %s %s | %.1f MiB | %.1f M | %s | ", j->info.family, j->info.weights,
           (double)j->info.weight_bytes / (1 << 20), (double)j->info.n_parameters / 1e6, device);
    if (s->what.threads) printf("%u", s->what.threads);
    else fputs("all", stdout);
    printf(" | %s | %.2f ± %.2f |\n", test, rate.mean, rate.spread);
  }
  fflush(stdout);
}

int cli_bench_lm(const cli_bench_lm_request *r) {
  job j = {.r = r};
  int code = r->prompt || r->tokens ? open_settings(&j) : cli_wrong(r->self, "-p 0 and -n 0 leave nothing to measure");
  if (!code) code = measure(&j);
  for (size_t i = 0; i < j.n && !code; i++) {
    if (r->prompt) print_row(&j, &j.v[i], "pp", r->prompt, j.v[i].prompt);
    if (r->tokens) print_row(&j, &j.v[i], "tg", r->tokens, j.v[i].tokens);
  }
  close_settings(&j);
  return code;
}
