/* The f32 matrix product against OpenBLAS, in one process and one run:  bench/matmul [seconds per row]
 *
 * For each shape and number of threads, OpenBLAS's sgemm (and for one row the better of its two sgemv), our product
 * with a packed weight, and our product with b as it comes ([K, N]) take turns, so that whatever else the machine does
 * hits all of them; each entry is the best of its rounds. Ratios are OpenBLAS's time over ours: above 1 we are faster.
 * Weights larger than the caches are read from memory, smaller ones from the cache: each takes at
 * least four runs at a time.
 *
 * OpenBLAS is loaded at run time (libopenblas.so.0); without it there is nothing to compare with, and the line says so.
 * */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cpu/gemm.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
typedef struct blas {
  void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                int ldb, float beta, float *c, int ldc);
  void (*sgemv)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                float beta, float *y, int incy);
  void (*set_threads)(int n);
  char *(*config)(void);
} blas;

/* A function pointer out of a library, without a cast that C forbids. */
static bool find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}
static bool blas_open(blas *out) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW);
  return library && find(library, "cblas_sgemm", &out->sgemm) && find(library, "cblas_sgemv", &out->sgemv) &&
         find(library, "openblas_set_num_threads", &out->set_threads) &&
         find(library, "openblas_get_config", &out->config);
}

/* One thread is timed by what it takes of its core, so that other programs do not count. */
static double now(unsigned n_threads) {
  struct timespec t;
  clock_gettime(n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { SGEMM, SGEMV, SGEMV_T, PACKED, PLAIN, N_RUNNERS };
typedef struct shape {
  size_t m, n, k;
} shape;
typedef struct operands {
  float *a, *b, *packed, *out[N_RUNNERS], *work;
  rlx_pool *pool;
  shape s;
} operands;

/* As a device's blocks are, for all runners alike: large ones on large pages. */
static float *floats(size_t n) {
  float *p = rlx_mem_alloc_aligned(n * sizeof(float), 4096);
  for (size_t i = 0; p && i < n; i++) p[i] = (float)((i * 2654435761u >> 8) % 1000) / 500 - 1;
  return p;
}

static void run_ours(const operands *o, bool packed) {
  cpu_product_shape s = {.m = o->s.m,
                         .n = o->s.n,
                         .k = o->s.k,
                         .n_batch = 1,
                         .a_type = RLX_F32,
                         .b_type = RLX_F32,
                         .out_type = RLX_F32,
                         .b_layout = packed ? CPU_LAYOUT_GEMM_KN : 0,
                         .isa = cpu_isa_best()};
  cpu_gemm_product(&(cpu_product){.shape = s,
                                  .a = o->a,
                                  .a_row = s.k,
                                  .b = packed ? o->packed : o->b,
                                  .out = o->out[packed ? PACKED : PLAIN],
                                  .out_row = s.n,
                                  .work = o->work,
                                  .pool = o->pool});
}

static void run(const blas *l, const operands *o, int runner) {
  int m = (int)o->s.m, n = (int)o->s.n, k = (int)o->s.k;
  switch (runner) {
    case SGEMM: l->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, o->a, k, o->b, n, 0, o->out[SGEMM], n); break;
    /* b read as [n, k]: another matrix unless it is square, but the same work */
    case SGEMV: l->sgemv(ROW_MAJOR, NO_TRANS, n, k, 1, o->b, k, o->a, 1, 0, o->out[SGEMV], 1); break;
    case SGEMV_T: l->sgemv(ROW_MAJOR, TRANS, k, n, 1, o->b, n, o->a, 1, 0, o->out[SGEMV_T], 1); break;
    default: run_ours(o, runner == PACKED);
  }
}

static double worst_difference(const operands *o, int runner) {
  double worst = 0;
  for (size_t i = 0; i < o->s.m * o->s.n; i++) {
    double d = fabs((double)o->out[runner][i] - (double)o->out[SGEMM][i]);
    if (!(d <= worst)) worst = d;
  }
  return worst / sqrt((double)o->s.k);
}

/* Times all runners in turn; prints a row. The lowest ratio is kept in *least. */
static void measure(const blas *l, operands *o, unsigned n_threads, double seconds, double *min) {
  double best[N_RUNNERS], flops = 2.0 * (double)o->s.m * (double)o->s.n * (double)o->s.k;
  for (int i = 0; i < N_RUNNERS; i++) best[i] = INFINITY;
  double begin = now(2);
  for (int round = 0; round < 2 || now(2) - begin < seconds; round++)
    for (int i = 0; i < N_RUNNERS; i++) {
      if (o->s.m > 1 && (i == SGEMV || i == SGEMV_T)) continue;
      /* OpenBLAS's threads keep their cores busy for some 25 ms after a run. */
      if (n_threads > 1) nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
      /* The first runs bring what is read into the cache, if it fits; and the system takes some milliseconds to give a
       * thread that it woke on a busy core a core of its own. */
      double call_begin = now(2);
      for (int turn = 0; turn < 4 || now(2) - call_begin < (n_threads > 1 ? 0.06 : 0.01); turn++) {
        double start = now(n_threads);
        run(l, o, i);
        best[i] = fmin(best[i], now(n_threads) - start);
      }
    }
  double theirs = best[SGEMM];
  if (best[SGEMV] < theirs) theirs = best[SGEMV];
  if (best[SGEMV_T] < theirs) theirs = best[SGEMV_T];
  double off = fmax(worst_difference(o, PACKED), worst_difference(o, PLAIN));
  printf("%5zu %5zu %5zu %7u %10.1f %10.1f %10.1f %8.2f %8.2f%s\n", o->s.m, o->s.n, o->s.k, n_threads,
         flops / theirs * 1e-9, flops / best[PACKED] * 1e-9, flops / best[PLAIN] * 1e-9, theirs / best[PACKED],
         theirs / best[PLAIN], off < 1e-5 ? "" : "  WRONG");
  fflush(stdout);
  *min = fmin(*min, theirs / best[PACKED]);
}

static bool open_operands(shape s, operands *o) {
  *o = (operands){.s = s};
  rlx_type type = {RLX_F32, RLX_DIMS((int64_t)s.k, (int64_t)s.n)};
  size_t bytes = (size_t)cpu_layout_gemm.bytes(cpu_isa_best(), CPU_LAYOUT_GEMM_KN, &type);
  cpu_product_shape p = {.m = s.m, .n = s.n, .k = s.k, .n_batch = 1, .isa = cpu_isa_best()};
  cpu_product_claim c = {0};
  if (!cpu_gemm_claim(&p, &c)) return false;
  o->a = floats(s.m * s.k);
  o->b = floats(s.k * s.n);
  o->packed = floats(bytes / sizeof(float));
  o->work = floats((size_t)c.work_bytes / sizeof(float));
  bool ok = o->a && o->b && o->packed && o->work;
  for (int i = 0; i < N_RUNNERS; i++) ok = (o->out[i] = floats(s.m * s.n)) && ok;
  return ok && cpu_layout_gemm.repack(cpu_isa_best(), CPU_LAYOUT_GEMM_KN, &type, true, o->b, o->packed, NULL) == RLX_OK;
}
static void close_operands(operands *o) {
  rlx_mem_free(o->a), rlx_mem_free(o->b), rlx_mem_free(o->packed), rlx_mem_free(o->work);
  for (int i = 0; i < N_RUNNERS; i++) rlx_mem_free(o->out[i]);
}

int main(int argc, char **argv) {
  static const shape shapes[] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {1, 1024, 1024},
                                 {1, 2048, 2048}, {1, 4096, 4096},    {8, 1024, 1024},    {8, 2048, 2048},
                                 {8, 4096, 4096}, {32, 1024, 1024},   {32, 2048, 2048},   {32, 4096, 4096},
                                 {1, 4096, 1024}, {8, 1024, 4096},    {32, 4096, 1024}};
  blas l;
  if (!blas_open(&l)) return printf("SKIP: no OpenBLAS here (libopenblas.so.0; Debian: libopenblas0-pthread)\n"), 0;
  printf("f32 [M, K] x [K, N] on %s, GFLOP/s, best of interleaved rounds; %s\n", cpu_isa_name(cpu_isa_best()),
         l.config());
  printf("%5s %5s %5s %7s %10s %10s %10s %8s %8s\n", "M", "N", "K", "threads", "OpenBLAS", "packed", "run-time b",
         "ratio", "ratio");
  double min = INFINITY;
  for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
    rlx_pool *pool = NULL;
    if (rlx_pool_create(n_threads, &pool) != RLX_OK) return printf("%s\n", rlx_message()), 1;
    l.set_threads((int)n_threads);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      operands o;
      if (!open_operands(shapes[i], &o)) return printf("no memory for the operands\n"), 1;
      o.pool = pool;
      measure(&l, &o, n_threads, argc > 1 ? atof(argv[1]) : 0.5, &min);
      close_operands(&o);
    }
    rlx_pool_destroy(pool);
  }
  printf("least ratio with packed weights: %.2f\n", min);
  return 0;
}
