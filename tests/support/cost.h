/* The cost of a call: CPU time, and peak memory beyond what was in use. For tests of files that are small on disk and
 * would be large in memory; with RLX_TEST_COSTS set each cost is printed. */
#ifndef RLX_TESTS_COST_H
#define RLX_TESTS_COST_H

#include <stdlib.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "test.h"

enum { MAX_MIB = 64 };

typedef struct cost {
  double seconds;
  size_t kib; /* peak memory beyond what was in use */
} cost;

static size_t status_kib(const char *key) {
  if (TEST_IS_WASM) return 0;
  char line[256];
  size_t kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, key, strlen(key)) == 0) kib = (size_t)strtoull(line + strlen(key), NULL, 10);
  if (f) fclose(f);
  return kib;
}

static double cost_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* excludes other processes */
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cost begin_cost(void) {
#ifdef __GLIBC__
  malloc_trim(0); /* return freed memory, which would otherwise hide what is allocated now */
#endif
  FILE *f = fopen("/proc/self/clear_refs", "w"); /* resets the peak */
  if (f) {
    fputs("5", f);
    fclose(f);
  }
  return (cost){cost_now(), status_kib("VmRSS:")};
}

static cost end_cost(cost begin) {
  size_t peak = status_kib("VmHWM:");
  return (cost){cost_now() - begin.seconds, peak > begin.kib ? peak - begin.kib : 0};
}

/* Checks the cost for a file of this size: at most MAX_MIB and `times` the file. */
static void check_cost(const char *name, size_t bytes, size_t times, const cost *c) {
  if (c->seconds > test_hang_seconds()) FAIL("%s: %.2f s", name, c->seconds);
  if (!TEST_IS_SANITIZED && c->kib > MAX_MIB * 1024 + times * bytes / 1024)
    FAIL("%s: %zu MiB beyond a file of %zu KiB", name, c->kib / 1024, bytes / 1024);
  if (getenv("RLX_TEST_COSTS"))
    printf("%s: %.3f s, %zu MiB, file %zu KiB\n", name, c->seconds, c->kib / 1024, bytes / 1024);
}

#endif
