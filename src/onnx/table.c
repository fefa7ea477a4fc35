/* The table of ONNX ops: found by domain, name and version. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/ops.h"

#define ROW(domain, name, since, until, min, max, fn) {domain, name, since, until, min, max, fn},
static const onnx_op_row rows[] = {
#include "onnx/ops.def"
};
#undef ROW

size_t onnx_op_rows(const onnx_op_row **out) {
  *out = rows;
  return sizeof rows / sizeof *rows;
}

/* The rows by name, so that a model of a hundred thousand nodes is looked through in no time. */
enum { N_ROWS = sizeof rows / sizeof *rows };
static const onnx_op_row *sorted[N_ROWS];
static pthread_once_t sorted_once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b) {
  return strcmp((*(const onnx_op_row *const *)a)->name, (*(const onnx_op_row *const *)b)->name);
}

static void sort_rows(void) {
  for (size_t i = 0; i < N_ROWS; i++) sorted[i] = &rows[i];
  qsort(sorted, N_ROWS, sizeof *sorted, by_name);
}

const onnx_op_row *onnx_op_find(const char *domain, const char *name, int64_t opset) {
  size_t low = 0, high = N_ROWS; /* the first row of this name is in low .. high */
  pthread_once(&sorted_once, sort_rows);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (strcmp(sorted[middle]->name, name) < 0) low = middle + 1;
    else high = middle;
  }
  for (; low < N_ROWS && strcmp(sorted[low]->name, name) == 0; low++) {
    const onnx_op_row *r = sorted[low];
    if (strcmp(r->domain, domain) == 0 && opset >= r->since && (!r->until || opset <= r->until)) return r;
  }
  return NULL;
}

rlx_status rlx_onnx_supported(const rlx_onnx *m) {
  enum { MOST_TOLD = 3000 };
  rlx_str text = {0};
  uint32_t n = 0;
  if (!m) return RLX_FAIL(RLX_INVALID, "rlx_onnx_supported: model is NULL");
  for (size_t i = 0; i < m->uses.n; i++) {
    const rlx_onnx_op_use *u = &m->uses.v[i];
    if (u->supported) continue;
    n++;
    if (text.n < MOST_TOLD)
      rlx_str_add(&text, "; %s (%s %lld), %u node%s: %s", u->op, *u->domain ? u->domain : "ai.onnx",
                  (long long)u->opset, (unsigned)u->count, u->count == 1 ? "" : "s",
                  u->opset ? "RLX does not have this op" : "its domain is not imported");
  }
  rlx_status s = n ? RLX_FAIL(RLX_UNSUPPORTED, "%u op%s that cannot be imported%s", (unsigned)n, n == 1 ? "" : "s",
                              text.v ? text.v : "")
                   : RLX_OK;
  rlx_str_deinit(&text);
  return s;
}
