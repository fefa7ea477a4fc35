/* Requests beside a batch: the same texts, computed together, by rlx_lm_submit and rlx_lm_step and by
 * rlx_lm_generate_batch.
 *
 *   lm_requests MODEL... [-b 8] [-n 32] [-p 16] [-t 2] [-c 0] [-r 5] [--device cpu]
 *
 * -b texts of -p tokens each are continued by -n tokens, in a context of -c (0: the model's). The two ways use one
 * model, in turns; the medians of their tokens per second are compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rlx/lm.h"

enum { MAX_TEXTS = 256, MAX_ROUNDS = 101, MAX_PROMPT = 4096 };

typedef struct request {
  uint32_t texts, tokens, prompt, threads, context;
  int rounds;
  const char *device;
} request;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(rlx_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "lm_requests: %s: %s\n", what, rlx_message());
  exit(1);
}

static bool take(void *user, uint32_t sequence, int32_t id) {
  (void)user, (void)sequence, (void)id;
  return true;
}

static void hear(void *user, const rlx_lm_event *e) {
  if (e->ended && strcmp(e->ended, "error") == 0) need(e->status, "a request");
  *(uint32_t *)user += e->id >= 0; /* tokens of this text */
}

static void make_prompt(int32_t *ids, uint32_t n, uint32_t text, uint32_t n_vocabulary) {
  for (uint32_t i = 0; i < n; i++) ids[i] = (int32_t)((7919u * (i + 1) + 104729u * text) % n_vocabulary);
}

/* Tokens per second behind the first ones. */
static double by_batch(rlx_lm *lm, const request *r, const rlx_lm_prompt *prompts, const rlx_lm_options *o) {
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  for (uint32_t i = 0; i < r->texts; i++) need(rlx_lm_truncate(lm, i, 0), "an empty sequence");
  need(rlx_lm_generate_batch(lm, prompts, r->texts, o, take, NULL, &stats), "a batch");
  return (stats.n_tokens - r->texts) / stats.seconds;
}

static uint32_t count(const uint32_t *drawn, uint32_t n, bool *all_began) {
  uint32_t sum = 0;
  *all_began = true;
  for (uint32_t i = 0; i < n; i++) sum += drawn[i], *all_began &= drawn[i] > 0;
  return sum;
}

/* Measured from when every text has its first token: the first ones have several then. */
static double by_requests(rlx_lm *lm, const request *r, const rlx_lm_prompt *prompts, const rlx_lm_options *o) {
  uint32_t left = 1, drawn[MAX_TEXTS] = {0}, before = 0;
  uint64_t number;
  bool all_began = false;
  double begin = 0;
  for (uint32_t i = 0; i < r->texts; i++) {
    rlx_lm_request q = {RLX_LM_REQUEST_INIT, .ids = prompts[i].ids, .n = prompts[i].n, .options = o,
                        .fn = hear,          .user = &drawn[i]};
    need(rlx_lm_submit(lm, &q, &number), "a request");
  }
  while (left) {
    need(rlx_lm_step(lm, &left), "a step");
    if (begin > 0) continue;
    before = count(drawn, r->texts, &all_began);
    if (all_began) begin = seconds();
  }
  return (count(drawn, r->texts, &all_began) - before) / (seconds() - begin);
}

static int by_size(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void measure(const char *path, const request *r) {
  static int32_t ids[MAX_TEXTS][MAX_PROMPT];
  rlx_lm_prompt prompts[MAX_TEXTS];
  double rates[2][MAX_ROUNDS];
  rlx_lm *lm;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  need(rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = path, .device = r->device, .n_threads = r->threads,
                                  .context = r->context, .n_sequences = r->texts},
                   &lm),
       path);
  need(rlx_lm_describe(lm, &info), path);
  for (uint32_t i = 0; i < r->texts; i++) {
    make_prompt(ids[i], r->prompt, i, info.n_vocabulary);
    prompts[i] = (rlx_lm_prompt){ids[i], r->prompt};
  }
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = r->tokens, .ignore_end = true};
  for (int i = -1; i < r->rounds; i++) { /* the first one compiles */
    double batch = by_batch(lm, r, prompts, &o), requests = by_requests(lm, r, prompts, &o);
    if (i >= 0) rates[0][i] = batch, rates[1][i] = requests;
  }
  for (int k = 0; k < 2; k++) qsort(rates[k], (size_t)r->rounds, sizeof **rates, by_size);
  double batch = rates[0][r->rounds / 2], requests = rates[1][r->rounds / 2];
  printf("| %s | %u | %u | %.1f | %.1f | %.2f |\n", strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
         (unsigned)r->texts, (unsigned)r->prompt, batch, requests, requests / batch);
  rlx_lm_destroy(lm);
}

/* False if there is no such option. */
static bool read_option(request *r, const char *name, const char *value) {
  uint32_t n = (uint32_t)strtoul(value, NULL, 10);
  if (strcmp(name, "--device") == 0) r->device = value;
  else if (strcmp(name, "-b") == 0 && n && n <= MAX_TEXTS) r->texts = n;
  else if (strcmp(name, "-n") == 0 && n > 1) r->tokens = n;
  else if (strcmp(name, "-p") == 0 && n && n <= MAX_PROMPT) r->prompt = n;
  else if (strcmp(name, "-t") == 0) r->threads = n;
  else if (strcmp(name, "-c") == 0) r->context = n;
  else if (strcmp(name, "-r") == 0 && n && n <= MAX_ROUNDS) r->rounds = (int)n;
  else return false;
  return true;
}

int main(int argc, char **argv) {
  request r = {.texts = 8, .tokens = 32, .prompt = 16, .threads = 2, .rounds = 5, .device = "cpu"};
  const char **paths = calloc((size_t)argc, sizeof *paths);
  int n_paths = 0;
  if (!paths) return 1;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-') paths[n_paths++] = argv[i];
    else if (i + 1 >= argc || !read_option(&r, argv[i], argv[i + 1])) {
      fprintf(stderr, "lm_requests: %s? The head of bench/lm_requests.c has the options\n", argv[i]);
      free(paths);
      return 2;
    } else i++;
  }
  if (n_paths)
    puts("| model | texts | prompt | batch, tokens/s | requests, tokens/s | ratio |\n|---|---|---|---|---|---|");
  else puts("usage: lm_requests MODEL... [options]");
  for (int i = 0; i < n_paths; i++) measure(paths[i], &r);
  free(paths);
  return 0;
}
