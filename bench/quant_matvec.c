/* Products with block-type weights, measured.
 *
 * First table: one row of activations, y = W x, as gigabytes of weights a second, for one and two threads, and as a share
 * of the read ceiling: the speed at which the same threads add up a plain buffer of the same size, taken in turns with the
 * products in the same run. The weights are far larger than the last cache. Second table: many rows of activations against
 * a smaller weight, as GFLOP/s, beside the f32 product.
 *
 *   quant_matvec [seconds]     about how long to take (default 40)
 *
 * All is the best of many short rounds: other programs on the machine disturb single rounds, not the best. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cpu/quant.h"
#include "quant/blocks.h"
#include "quant/quant.h"

enum { K = 4096, WEIGHT_BYTES = 100 << 20, MAX_THREADS = 2, MAX_ROWS = 128, ROWS_N = 1024 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- memory ---- */

static uint8_t *aligned(void *p) { return (uint8_t *)(((uintptr_t)p + 63) & ~(uintptr_t)63); }

typedef struct buffers {
  uint8_t *weights; /* WEIGHT_BYTES, any bytes; scales that would be infinite do not slow anything down */
  float *a, *out;
  uint8_t *work;
  rlx_pool *pool[MAX_THREADS];
} buffers;

/* ---- the ceiling ---- */

typedef struct read_work {
  const uint8_t *bytes;
  uint64_t sum[64];
} read_work;

enum { READ_TASKS = 64 };

static void read_task(void *user, size_t task, unsigned thread) {
  (void)thread;
  typedef uint64_t wide __attribute__((vector_size(64), aligned(64)));
  read_work *w = user;
  const wide *v = (const wide *)(const void *)(w->bytes + task * (WEIGHT_BYTES / READ_TASKS));
  wide s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (size_t i = 0; i < WEIGHT_BYTES / READ_TASKS / sizeof(wide); i += 4)
    s0 += v[i], s1 += v[i + 1], s2 += v[i + 2], s3 += v[i + 3];
  s0 += s1 + s2 + s3;
  w->sum[task] = s0[0] + s0[1] + s0[2] + s0[3] + s0[4] + s0[5] + s0[6] + s0[7];
}

static double read_speed(const buffers *b, int threads) {
  read_work w = {.bytes = b->weights};
  double start = seconds();
  rlx_pool_run(b->pool[threads - 1], READ_TASKS, read_task, &w);
  double taken = seconds() - start;
  uint64_t all = 0;
  for (int i = 0; i < READ_TASKS; i++) all += w.sum[i];
  if (all == 1) printf(" "); /* the sums are used */
  return WEIGHT_BYTES * 1e-9 / taken;
}

/* ---- products ---- */

static cpu_product product_of(const buffers *b, rlx_dtype dtype, size_t m, size_t n, bool exact, int threads) {
  return (cpu_product){.shape = {.m = m,
                                 .n = n,
                                 .k = K,
                                 .a_type = RLX_F32,
                                 .b_type = dtype,
                                 .out_type = RLX_F32,
                                 .trans_b = true,
                                 .b_layout = CPU_LAYOUT_QUANT_ROWS,
                                 .isa = cpu_isa_best(),
                                 .exact = exact},
                       .a = b->a,
                       .a_row = K,
                       .b = b->weights,
                       .out = b->out,
                       .out_row = n,
                       .work = b->work,
                       .pool = b->pool[threads - 1]};
}

static double time_product(const cpu_product *p) {
  double start = seconds();
  cpu_quant_product(p);
  return seconds() - start;
}

static void raise_to(double *best, double x) {
  if (x > *best) *best = x;
}

enum { PLAIN_READ, ROUNDED, EXACT, KINDS };

/* One row of activations. */
static void measure_type(const buffers *b, rlx_dtype dtype, double budget) {
  const rlx_dtype_info *info = rlx_dtype_describe(dtype);
  size_t row_bytes = K / info->block_elements * info->block_bytes, n = WEIGHT_BYTES / row_bytes / 16 * 16;
  double best[MAX_THREADS][KINDS] = {{0}}, end = seconds() + budget;
  for (int round = 0; round < 3 || seconds() < end; round++)
    for (int t = 1; t <= MAX_THREADS; t++) {
      cpu_product rounded = product_of(b, dtype, 1, n, false, t), exact = product_of(b, dtype, 1, n, true, t);
      double gigabytes = (double)(n * row_bytes) * 1e-9;
      raise_to(&best[t - 1][PLAIN_READ], read_speed(b, t));
      raise_to(&best[t - 1][ROUNDED], gigabytes / time_product(&rounded));
      if (round % 2 == 0) raise_to(&best[t - 1][EXACT], gigabytes / time_product(&exact));
    }
  printf("| %-6s | %4.2f |", info->name, 8.0 * (double)info->block_bytes / (double)info->block_elements);
  for (int t = 0; t < MAX_THREADS; t++)
    printf(" %5.1f | %5.1f | %4.2f | %5.1f |", best[t][PLAIN_READ], best[t][ROUNDED],
           best[t][ROUNDED] / best[t][PLAIN_READ], best[t][EXACT]);
  printf("\n");
}

/* Many rows, two threads: GFLOP/s. */
static void measure_rows(const buffers *b, rlx_dtype dtype, double budget) {
  static const size_t rows[] = {1, 4, 8, 32, MAX_ROWS};
  enum { COUNT = sizeof rows / sizeof *rows };
  double best[2][COUNT] = {{0}}, end = seconds() + budget;
  for (int round = 0; round < 2 || seconds() < end; round++)
    for (size_t i = 0; i < COUNT; i++)
      for (int exact = 0; exact < 2; exact++) {
        cpu_product p = product_of(b, dtype, rows[i], ROWS_N, exact, MAX_THREADS);
        raise_to(&best[exact][i], 2e-9 * (double)rows[i] * ROWS_N * K / time_product(&p));
      }
  printf("| %-6s |", rlx_dtype_describe(dtype)->name);
  for (size_t i = 0; i < COUNT; i++) printf(" %6.0f |", best[0][i]);
  for (size_t i = 0; i < COUNT; i++) printf(" %6.0f |", best[1][i]);
  printf("\n");
}

static const rlx_dtype types[] = {
#define RLX_BLOCK_BLOCK(T, name) RLX_##T,
#define TYPE(T, number, name, class_, ...) RLX_BLOCK_##class_(T, name)
  RLX_TYPE_TABLE(TYPE)
#undef TYPE
};
enum { N_TYPES = sizeof types / sizeof *types };

static void run(const buffers *b, double budget) {
  printf("isa %s, K = %d, weights of %d MiB\n\n", cpu_isa_name(cpu_isa_best()), K, WEIGHT_BYTES >> 20);
  printf("One row of activations, GB/s of weights; 1 thread, then 2:\n");
  printf("| type   | bits |  read | round | rate | exact |  read | round | rate | exact |\n");
  printf("|--------|------|-------|-------|------|-------|-------|-------|------|-------|\n");
  for (size_t i = 0; i < N_TYPES; i++) measure_type(b, types[i], budget * 0.75 / N_TYPES);
  printf("\nMany rows, N = 1024, 2 threads, GFLOP/s; rounded, then exact:\n");
  printf("| type   |  M = 1 |      4 |      8 |     32 |    128 |      1 |      4 |      8 |     32 |    128 |\n");
  printf("|--------|--------|--------|--------|--------|--------|--------|--------|--------|--------|--------|\n");
  for (size_t i = 0; i < N_TYPES; i++) measure_rows(b, types[i], budget * 0.25 / N_TYPES);
}

int main(int argc, char **argv) {
  enum { MAX_OUT = WEIGHT_BYTES / (K / 256 * 54) + MAX_ROWS * ROWS_N }; /* 54: bytes of the shortest block */
  cpu_product_shape largest = {.m = MAX_ROWS, .n = 16, .k = K, .b_type = RLX_Q2_K, .trans_b = true};
  cpu_product_claim claim;
  if (!cpu_quant_claim(&largest, &claim)) return 1;
  buffers b = {0};
  void *weights = rlx_mem_alloc(WEIGHT_BYTES + 64), *work = rlx_mem_alloc(claim.work_bytes + 64);
  b.a = rlx_mem_alloc(sizeof(float) * MAX_ROWS * K);
  b.out = rlx_mem_alloc(sizeof(float) * MAX_OUT);
  if (!weights || !work || !b.a || !b.out) return 1;
  b.weights = aligned(weights);
  b.work = aligned(work);
  uint32_t seed = 1;
  for (size_t i = 0; i < WEIGHT_BYTES; i++) b.weights[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
  for (size_t i = 0; i < MAX_ROWS * K; i++)
    b.a[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
  for (unsigned t = 0; t < MAX_THREADS; t++)
    if (rlx_pool_create(t + 1, &b.pool[t]) != RLX_OK) return 1;
  run(&b, argc > 1 ? atof(argv[1]) : 40);
  for (int t = 0; t < MAX_THREADS; t++) rlx_pool_destroy(b.pool[t]);
  rlx_mem_free(weights), rlx_mem_free(work), rlx_mem_free(b.a), rlx_mem_free(b.out);
  return 0;
}
