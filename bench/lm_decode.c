/* Generation as a share of what the memory gives.
 *
 *   lm_decode MODEL... [-t 1,2] [-n 128] [-r 5]
 *
 * A token of a model on the CPU is its weights read once, so the speed at which the same threads add up a plain buffer is the
 * ceiling. The two are measured in turns, and the medians compared. Counted are the bytes that a token must read: all weights as
 * they lie in memory (of a table of tokens that is not the output product too, one row), and on average half of the keys and
 * values. Models with experts read less than that and are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/thread.h"
#include "rlx/lm.h"

enum { READ_BYTES = 512 << 20, READ_TASKS = 256, MAX_ROUNDS = 101, MAX_THREADS = 64 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(rlx_status s, const char *what) {
  if (!s) return;
  fprintf(stderr, "lm_decode: %s: %s\n", what, rlx_message());
  exit(1);
}

/* ---- the ceiling ---- */

typedef struct reading {
  const unsigned char *bytes;
  uint64_t sum[READ_TASKS];
} reading;

static void read_task(void *user, size_t task, unsigned thread) {
  (void)thread;
  typedef uint64_t wide __attribute__((vector_size(64), aligned(64)));
  reading *r = user;
  const wide *v = (const wide *)(const void *)(r->bytes + task * (READ_BYTES / READ_TASKS));
  wide s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (size_t i = 0; i < READ_BYTES / READ_TASKS / sizeof(wide); i += 4)
    s0 += v[i], s1 += v[i + 1], s2 += v[i + 2], s3 += v[i + 3];
  s0 += s1 + s2 + s3;
  r->sum[task] = s0[0] + s0[1] + s0[2] + s0[3] + s0[4] + s0[5] + s0[6] + s0[7];
}

/* Bytes a second. */
static double read_once(const unsigned char *bytes, rlx_pool *pool) {
  reading r = {.bytes = bytes};
  uint64_t all = 0;
  double begin = seconds();
  rlx_pool_run(pool, READ_TASKS, read_task, &r);
  double taken = seconds() - begin;
  for (int i = 0; i < READ_TASKS; i++) all += r.sum[i];
  if (all == 1) printf(" "); /* the sums are used */
  return READ_BYTES / taken;
}

/* ---- the model ---- */

static bool take_id(void *user, int32_t id) {
  (void)user;
  (void)id;
  return true;
}

/* Tokens a second. */
static double generate_once(rlx_lm *lm, uint32_t n) {
  rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = n, .ignore_end = true};
  int32_t first = 1;
  need(rlx_lm_truncate(lm, 0, 0), "forgetting");
  double begin = seconds();
  need(rlx_lm_generate_ids(lm, &first, 1, &options, take_id, NULL, NULL), "generating");
  return n / (seconds() - begin);
}

static double bytes_of_a_token(const rlx_lm *lm, const rlx_lm_info *info, uint32_t n) {
  const rlx_file *f = rlx_lm_file(lm);
  const rlx_file_tensor *table = rlx_file_tensor_find(f, "token_embd.weight");
  bool is_tied = !rlx_file_tensor_find(f, "output.weight");
  double weights = (double)info->weight_bytes - (table && !is_tied ? (double)table->bytes : 0);
  return weights + (double)info->state_bytes * (0.5 * n / info->context);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_size);
  return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

typedef struct request {
  unsigned threads[MAX_THREADS];
  size_t n_threads;
  uint32_t tokens;
  int rounds;
} request;

static void measure(const char *path, unsigned threads, const request *r, const unsigned char *bytes) {
  double reads[MAX_ROUNDS], rates[MAX_ROUNDS];
  rlx_lm *lm;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  rlx_pool *pool;
  rlx_lm_desc desc = {RLX_LM_DESC_INIT,         .path = path,
                      .device = "cpu",          .n_threads = threads,
                      .context = r->tokens + 1, .cache_type = RLX_LM_CACHE_F16};
  need(rlx_lm_load(&desc, &lm), path);
  need(rlx_lm_describe(lm, &info), path);
  if (info.n_experts || info.is_encoder) {
    fprintf(stderr, "lm_decode: %s: not a model that reads all its weights for a token\n", path);
    exit(1);
  }
  need(rlx_pool_create(threads, &pool), "threads");
  (void)generate_once(lm, r->tokens); /* the first time is not like the others */
  for (int i = 0; i < r->rounds; i++) {
    reads[i] = read_once(bytes, pool);
    rates[i] = generate_once(lm, r->tokens);
  }
  double read = median(reads, r->rounds), rate = median(rates, r->rounds);
  double each = bytes_of_a_token(lm, &info, r->tokens);
  const char *name = strrchr(path, '/');
  printf("| %s | %u | %.1f | %.2f | %.1f | %.1f | %.0f %% |\n", name ? name + 1 : path, threads, read * 1e-9, rate,
         each * 1e-6, rate * each * 1e-9, 100 * rate * each / read);
  fflush(stdout);
  rlx_pool_destroy(pool);
  rlx_lm_destroy(lm);
}

static bool parse_threads(const char *text, request *r) {
  r->n_threads = 0;
  while (*text && r->n_threads < MAX_THREADS) {
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || n < 1 || n > 1024 || (*end && *end != ',')) return false;
    r->threads[r->n_threads++] = (unsigned)n;
    text = end + (*end == ',');
  }
  return r->n_threads > 0;
}

int main(int argc, char **argv) {
  request r = {.threads = {1, 2}, .n_threads = 2, .tokens = 128, .rounds = 5};
  int n_models = 0;
  if (argc == 1) return 0; /* `make bench` calls every program here */
  for (int i = 1; i < argc; i++) {
    bool ok = true, has_value = i + 1 < argc;
    if (strcmp(argv[i], "-t") == 0) ok = has_value && parse_threads(argv[++i], &r);
    else if (strcmp(argv[i], "-n") == 0) ok = has_value && (r.tokens = (uint32_t)strtoul(argv[++i], NULL, 10)) > 0;
    else if (strcmp(argv[i], "-r") == 0) ok = has_value && (r.rounds = atoi(argv[++i])) > 0 && r.rounds <= MAX_ROUNDS;
    else argv[1 + n_models++] = argv[i];
    if (!ok) n_models = 0, i = argc;
  }
  unsigned char *bytes = n_models ? rlx_mem_alloc_aligned(READ_BYTES, 64) : NULL;
  if (!bytes) {
    fprintf(stderr, "usage: lm_decode MODEL... [-t 1,2] [-n 128] [-r 5]\n");
    return 2;
  }
  memset(bytes, 1, READ_BYTES);
  printf(
    "| model | threads | plain read, GB/s | tokens/s | MB a token | GB/s | share |\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < n_models; i++)
    for (size_t t = 0; t < r.n_threads; t++) measure(argv[1 + i], r.threads[t], &r, bytes);
  rlx_mem_free(bytes);
  return 0;
}
