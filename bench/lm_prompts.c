/* Prompts of several sequences: packed into common programs, against one after the other.
 *
 *   lm_prompts MODEL... [-b 16] [-p 64] [-t 2] [-r 5] [--device cpu] [--mixed]
 *
 * Both ways end with the first token of every sequence, which one step draws for all of them, and both use one model. The
 * last column is one text as long as all prompts together: what their tokens cost where nothing is lost to cutting them up
 * (its attention sees more keys). The three are measured in turns, and the medians compared. With --mixed the prompts have
 * 1/8 to 15/8 of the length, in a fixed order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rlx/lm.h"

enum { MAX_ROUNDS = 101, MAX_PROMPTS = 256, MAX_TOKENS = 1 << 16, WAYS = 3 };

typedef struct request {
  uint32_t prompts, tokens, threads;
  int rounds;
  const char *device;
  bool is_mixed;
} request;

typedef struct work {
  rlx_lm *lm, *whole;
  rlx_lm_prompt prompt[MAX_PROMPTS], none[MAX_PROMPTS];
  int32_t *ids;
  size_t n_ids;
  uint32_t n;
} work;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(rlx_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "lm_prompts: %s: %s\n", what, rlx_message());
  exit(1);
}

static bool take_row(void *user, uint32_t sequence, int32_t id) {
  (void)user;
  (void)sequence;
  (void)id;
  return true;
}

static bool take_id(void *user, int32_t id) { return take_row(user, 0, id); }

static void draw(const work *w, const rlx_lm_prompt *prompts) {
  rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = 1, .ignore_end = true};
  need(rlx_lm_generate_batch(w->lm, prompts, w->n, &options, take_row, NULL, NULL), "the first tokens");
}

/* ---- the three ways ---- */

static void run_packed(const work *w) { draw(w, w->prompt); }

static void run_one_by_one(const work *w) {
  for (uint32_t i = 0; i < w->n; i++)
    need(rlx_lm_append(w->lm, i, w->prompt[i].ids, w->prompt[i].n, false, NULL), "a prompt");
  draw(w, w->none);
}

static void run_whole(const work *w) {
  rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = 1, .ignore_end = true};
  need(rlx_lm_generate_ids(w->whole, w->ids, w->n_ids, &options, take_id, NULL, NULL), "one text");
}

static double measure_once(const work *w, int way) {
  static void (*const ways[WAYS])(const work *) = {run_one_by_one, run_packed, run_whole};
  for (uint32_t i = 0; i < w->n; i++) need(rlx_lm_truncate(w->lm, i, 0), "forgetting");
  need(rlx_lm_truncate(w->whole, 0, 0), "forgetting");
  double begin = seconds();
  ways[way](w);
  return seconds() - begin;
}

/* ---- a model ---- */

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void set_prompts(work *w, const request *r, uint32_t n_vocabulary) {
  w->n = r->prompts;
  for (uint32_t i = 0; i < w->n; i++) {
    uint32_t length = r->is_mixed ? r->tokens * (1 + i * 11 % 15) / 8 : r->tokens;
    w->prompt[i] = (rlx_lm_prompt){w->ids + w->n_ids, length ? length : 1};
    w->n_ids += w->prompt[i].n;
  }
  for (size_t i = 0; i < w->n_ids; i++) w->ids[i] = (int32_t)((uint32_t)i * 7919u % n_vocabulary);
}

static void measure(const char *path, const request *r) {
  work w = {.ids = calloc((size_t)2 * r->prompts * r->tokens + r->prompts, sizeof *w.ids)};
  double taken[WAYS][MAX_ROUNDS];
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  rlx_lm_desc desc = {
    RLX_LM_DESC_INIT,         .path = path, .device = r->device, .n_threads = r->threads, .context = 2 * r->tokens + 8,
    .n_sequences = r->prompts};
  if (!w.ids) exit(1);
  need(rlx_lm_load(&desc, &w.lm), path);
  need(rlx_lm_describe(w.lm, &info), path);
  set_prompts(&w, r, info.n_vocabulary);
  desc.n_sequences = 1;
  desc.context = (uint32_t)w.n_ids + 8;
  need(rlx_lm_load(&desc, &w.whole), path);
  for (int i = -1; i < r->rounds; i++) /* the first time is not like the others */
    for (int way = 0; way < WAYS; way++) {
      double s = measure_once(&w, way);
      if (i >= 0) taken[way][i] = s;
    }
  for (int way = 0; way < WAYS; way++) qsort(taken[way], (size_t)r->rounds, sizeof taken[way][0], by_size);
  double one = taken[0][r->rounds / 2], packed = taken[1][r->rounds / 2], whole = taken[2][r->rounds / 2];
  const char *name = strrchr(path, '/');
  printf("| %s | %u x %u%s | %.1f | %.1f | %.2f | %.0f | %.1f |\n", name ? name + 1 : path, (unsigned)r->prompts,
         (unsigned)r->tokens, r->is_mixed ? ", mixed" : "", one * 1e3, packed * 1e3, one / packed,
         (double)w.n_ids / packed, whole * 1e3);
  fflush(stdout);
  rlx_lm_destroy(w.lm);
  rlx_lm_destroy(w.whole);
  free(w.ids);
}

int main(int argc, char **argv) {
  request r = {.prompts = 16, .tokens = 64, .threads = 0, .rounds = 5, .device = "cpu"};
  int n_models = 0;
  if (argc == 1) return 0; /* `make bench` calls every program here */
  for (int i = 1; i < argc; i++) {
    bool ok = true, has_value = i + 1 < argc;
    if (strcmp(argv[i], "--mixed") == 0) r.is_mixed = true;
    else if (strcmp(argv[i], "--device") == 0) ok = has_value && (r.device = argv[++i]);
    else if (strcmp(argv[i], "-b") == 0) ok = has_value && (r.prompts = (uint32_t)strtoul(argv[++i], NULL, 10)) > 1;
    else if (strcmp(argv[i], "-p") == 0) ok = has_value && (r.tokens = (uint32_t)strtoul(argv[++i], NULL, 10)) > 0;
    else if (strcmp(argv[i], "-t") == 0) ok = has_value && (r.threads = (uint32_t)strtoul(argv[++i], NULL, 10)) > 0;
    else if (strcmp(argv[i], "-r") == 0) ok = has_value && (r.rounds = atoi(argv[++i])) > 0 && r.rounds <= MAX_ROUNDS;
    else argv[1 + n_models++] = argv[i];
    if (!ok || r.prompts > MAX_PROMPTS || r.tokens > MAX_TOKENS) n_models = 0, i = argc;
  }
  if (!n_models) {
    fprintf(stderr, "usage: lm_prompts MODEL... [-b 16] [-p 64] [-t 2] [-r 5] [--device cpu] [--mixed]\n");
    return 2;
  }
  printf("| model | prompts | one by one, ms | packed, ms | ratio | tokens/s packed | as one text, ms |\n"
         "|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < n_models; i++) measure(argv[1 + i], &r);
  return 0;
}
