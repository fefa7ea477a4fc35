/* New sizes of an ONNX model: what the first run at a size costs beside a run at a size that is known, and what memory it leaves behind.
 *
 *   onnx_sizes [-v] [-p] MODEL FROM STEP COUNT INPUT...     bench/onnx_sizes.py makes the models of docs/performance.md and calls this
 *
 * INPUT is NAME=KIND:SIZES, SIZES with N where the size goes (and -1, +1 .. added to it): x=f32:1,3,48,N. KIND: f32 (in -1 .. 1), i64
 * (0 .. 999), ones (i64), size (i64, all N). Each size is run once new, then three times again, of which the best counts; the line
 * sums up all sizes but the first, which also loads the weights. `sum` adds up the outputs' elements: equal before and after a change
 * means equal results. -v: a line per size. -p: one thread, and its
 * processor time instead of the clock's, for a machine with other work. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rlx/onnx.h"

enum { MAX_INPUTS = 8, MAX_COUNT = 1000, REPEATS = 3 };

static bool in_processor_time; /* of one thread, so that other work on the machine does not count */

static double now(void) {
  struct timespec t;
  clock_gettime(in_processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* A line of what Linux says about this process, in MiB: the heap's peak since the program began, not its parent's. */
static double memory_mib(const char *line) {
  char text[128];
  double kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(text, sizeof text, f))
    if (strncmp(text, line, strlen(line)) == 0) kib = strtod(text + strlen(line), NULL);
  if (f) fclose(f);
  return kib / 1024;
}

/* ---- inputs ---- */

typedef struct input {
  char name[64], kind[8];
  const char *sizes;
} input;

static int parse_input(const char *text, input *out) {
  int at = 0;
  if (sscanf(text, "%63[^=]=%7[^:]:%n", out->name, out->kind, &at) != 2 || !at) return 1;
  out->sizes = text + at;
  return 0;
}

static rlx_dims dims_for(const char *sizes, int64_t n) {
  rlx_dims d = {.n = 0};
  while (*sizes && d.n < RLX_MAX_RANK) {
    char *end;
    int64_t v = 0;
    if (*sizes == 'N') v = n, sizes++;
    v += strtoll(sizes, &end, 10);
    d.v[d.n++] = v;
    sizes = *end == ',' ? end + 1 : end;
  }
  return d;
}

/* The same numbers for the same size, every time. */
static int make_input(const input *in, int64_t size, rlx_named_tensor *out) {
  bool is_float = strcmp(in->kind, "f32") == 0;
  rlx_tensor t = {.dtype = is_float ? RLX_F32 : RLX_I64, .shape = dims_for(in->sizes, size)};
  size_t count = 1;
  for (int i = 0; i < t.shape.n; i++) count *= (size_t)t.shape.v[i];
  t.bytes = count * (is_float ? sizeof(float) : sizeof(int64_t));
  if (!(t.data = malloc(t.bytes + 1))) return 1;
  uint32_t r = 12345;
  for (size_t i = 0; i < count; i++) {
    r = r * 1664525u + 1013904223u;
    if (is_float) ((float *)t.data)[i] = (float)(r >> 8) / (float)(1 << 23) - 1;
    else if (strcmp(in->kind, "ones") == 0) ((int64_t *)t.data)[i] = 1;
    else if (strcmp(in->kind, "size") == 0) ((int64_t *)t.data)[i] = size;
    else ((int64_t *)t.data)[i] = (int64_t)((r >> 8) % 1000);
  }
  *out = (rlx_named_tensor){in->name, t};
  return 0;
}

static double sum_outputs(const rlx_onnx_runner *r, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    rlx_tensor t;
    const char *name;
    if (rlx_onnx_runner_output(r, i, &name, &t)) return NAN;
    for (size_t k = 0; t.dtype == RLX_F32 && k < t.bytes / sizeof(float); k++)
      sum += (double)((const float *)t.data)[k];
    for (size_t k = 0; t.dtype == RLX_I64 && k < t.bytes / sizeof(int64_t); k++)
      sum += (double)((const int64_t *)t.data)[k];
  }
  return sum;
}

/* ---- measuring ---- */

typedef struct measured {
  int64_t size;
  double first, run, sum;
} measured;

static int compare_first(const void *a, const void *b) {
  double x = ((const measured *)a)->first, y = ((const measured *)b)->first;
  return (x > y) - (x < y);
}

static int compare_run(const void *a, const void *b) {
  double x = ((const measured *)a)->run, y = ((const measured *)b)->run;
  return (x > y) - (x < y);
}

static rlx_status measure(rlx_onnx_runner *r, uint32_t n_outputs, const input *in, int n_in, measured *m) {
  rlx_named_tensor t[MAX_INPUTS] = {{0}};
  rlx_status s = RLX_OK;
  for (int i = 0; i < n_in && !s; i++)
    if (make_input(&in[i], m->size, &t[i])) s = RLX_NO_MEMORY;
  double begin = now();
  if (!s) s = rlx_onnx_run(r, t, (size_t)n_in);
  m->first = now() - begin;
  m->run = INFINITY;
  for (int i = 0; i < REPEATS && !s; i++) {
    begin = now();
    s = rlx_onnx_run(r, t, (size_t)n_in);
    m->run = fmin(m->run, now() - begin);
  }
  if (!s) m->sum = sum_outputs(r, n_outputs);
  for (int i = 0; i < n_in; i++) free(t[i].tensor.data);
  return s;
}

static void print_summary(measured *m, size_t n, uint64_t n_compiled) {
  double sum = 0;
  size_t within = 0;
  for (size_t i = 0; i < n; i++) {
    sum += m[i].sum;
    within += i > 0 && m[i].first <= 3 * m[i].run + 5;
  }
  printf("first size %.1f ms; ", m[0].first);
  if (n > 2) {
    qsort(m + 1, n - 1, sizeof *m, compare_first);
    printf("new size: median %.2f, longest %.2f ms; ", m[1 + (n - 1) / 2].first, m[n - 1].first);
    qsort(m + 1, n - 1, sizeof *m, compare_run);
    printf("run: median %.2f, longest %.2f ms; ", m[1 + (n - 1) / 2].run, m[n - 1].run);
  }
  printf("within 3 runs + 5 ms: %zu of %zu; peak %.0f, at the end %.0f MiB; %llu compiled; sum %.9g\n", within, n - 1,
         memory_mib("VmHWM:"), memory_mib("VmRSS:"), (unsigned long long)n_compiled, sum);
}

static rlx_status bench(rlx_onnx *model, int64_t from, int64_t step, size_t count, const input *in, int n_in,
                        bool verbose) {
  static measured m[MAX_COUNT];
  rlx_session *session = NULL;
  rlx_onnx_runner *r = NULL;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = getenv("RLX_DEVICE") ? getenv("RLX_DEVICE") : "cpu"};
  if (in_processor_time) desc.n_threads = 1;
  rlx_status s = rlx_session_create(&desc, &session);
  if (!s) s = rlx_onnx_runner_create(session, model, NULL, &r);
  for (size_t i = 0; i < count && !s; i++) {
    m[i].size = from + (int64_t)i * step;
    s = measure(r, rlx_onnx_output_count(model), in, n_in, &m[i]);
    if (verbose && !s)
      printf("%6lld: new %8.2f ms, again %8.2f ms; %.0f MiB\n", (long long)m[i].size, m[i].first, m[i].run,
             memory_mib("VmRSS:"));
  }
  if (!s && count) print_summary(m, count, rlx_onnx_runner_compile_count(r));
  rlx_onnx_runner_destroy(r);
  rlx_session_destroy(session);
  return s;
}

int main(int argc, char **argv) {
  bool verbose = false;
  for (; argc > 1 && argv[1][0] == '-'; argv++, argc--) {
    verbose |= strcmp(argv[1], "-v") == 0;
    in_processor_time |= strcmp(argv[1], "-p") == 0;
  }
  input in[MAX_INPUTS];
  int n_in = argc - 5;
  if (n_in < 1 || n_in > MAX_INPUTS) {
    fprintf(stderr, "usage: onnx_sizes [-v] [-p] MODEL FROM STEP COUNT NAME=KIND:SIZES...\n");
    return 2;
  }
  for (int i = 0; i < n_in; i++)
    if (parse_input(argv[5 + i], &in[i])) {
      fprintf(stderr, "onnx_sizes: expected NAME=KIND:SIZES, got '%s'\n", argv[5 + i]);
      return 2;
    }
  size_t count = (size_t)strtoull(argv[4], NULL, 10);
  if (count > MAX_COUNT) count = MAX_COUNT;
  rlx_onnx *model = NULL;
  rlx_status s = rlx_onnx_open(argv[1], NULL, &model);
  if (!s) s = bench(model, strtoll(argv[2], NULL, 10), strtoll(argv[3], NULL, 10), count, in, n_in, verbose);
  if (s) fprintf(stderr, "onnx_sizes: %s: %s\n", rlx_status_name(s), rlx_message());
  rlx_onnx_close(model);
  return s != RLX_OK;
}
