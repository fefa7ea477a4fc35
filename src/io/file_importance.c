/* Importance matrices: how large the inputs of each matrix are.
 *
 * An error in a weight changes a result by the error times the input that the weight meets. So the squared error of a
 * column of a matrix counts as often as the mean square of its inputs, which is measured on a text
 * (rlx_lm_measure). Sums and counts are kept, not means, so that measuring can go on with another text.
 *
 * Weights are made from the means: divided by their own mean, so that only proportions matter, and not below a small
 * part of it, because a column without inputs in this text may have some in another. */
#include "io/file_importance.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/str.h"

static const double min_weight = 1e-4;

rlx_status rlx_importance_create(rlx_importance **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_importance_create: out is NULL");
  *out = rlx_new(rlx_importance);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "an importance matrix");
}

static void free_entry(importance_entry *e) {
  rlx_mem_free(e->name);
  rlx_mem_free(e->sums);
  rlx_mem_free(e->counts);
}

void rlx_importance_destroy(rlx_importance *im) {
  if (!im) return;
  for (size_t i = 0; i < im->entries.n; i++) free_entry(&im->entries.v[i]);
  rlx_array_deinit(&im->entries);
  rlx_mem_free(im);
}

uint32_t rlx_importance_count(const rlx_importance *im) { return im ? (uint32_t)im->entries.n : 0; }

/* The place of a name among the entries. */
static size_t find_place(const rlx_importance *im, const char *name, bool *is_there) {
  size_t lo = 0, hi = im->entries.n;
  *is_there = false;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    int order = strcmp(im->entries.v[mid].name, name);
    if (order == 0) *is_there = true;
    if (order < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

const importance_entry *importance_find(const rlx_importance *im, const char *name) {
  bool is_there;
  size_t at = find_place(im, name, &is_there);
  return is_there ? &im->entries.v[at] : NULL;
}

static rlx_status insert(rlx_importance *im, size_t at, const char *name, size_t experts, size_t columns) {
  size_t n, bytes = strlen(name) + 1;
  if (im->entries.n >= IMPORTANCE_MAX_ENTRIES)
    return RLX_FAIL(RLX_LIMIT, "an importance matrix of more than %d tensors", IMPORTANCE_MAX_ENTRIES);
  importance_entry e = {.experts = experts, .columns = columns};
  if (!rlx_mul_size(experts, columns, &n)) return RLX_FAIL(RLX_NO_MEMORY, "the importance of '%s'", name);
  e.name = rlx_mem_alloc(bytes);
  e.sums = rlx_mem_calloc(n, sizeof *e.sums);
  e.counts = rlx_mem_calloc(experts, sizeof *e.counts);
  if (!e.name || !e.sums || !e.counts || !rlx_array_reserve(&im->entries, 1)) {
    free_entry(&e);
    return RLX_FAIL(RLX_NO_MEMORY, "the importance of '%s'", name);
  }
  memcpy(e.name, name, bytes);
  importance_entry *v = im->entries.v;
  memmove(v + at + 1, v + at, (im->entries.n - at) * sizeof *v);
  v[at] = e;
  im->entries.n++;
  return RLX_OK;
}

static rlx_status check_numbers(const char *name, const char *what, const float *v, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!(v[i] >= 0) || !isfinite(v[i]))
      return RLX_FAIL(RLX_INVALID, "the importance of '%s': expected %s of 0 or more, %s %zu is %g", name, what, what,
                      i, (double)v[i]);
  return RLX_OK;
}

rlx_status importance_add(rlx_importance *im, const char *name, size_t experts, size_t columns, const float *sums,
                          const float *counts) {
  bool is_there;
  size_t n_name = strlen(name), at = find_place(im, name, &is_there);
  if (n_name < 1 || n_name > IMPORTANCE_MAX_NAME || !rlx_text_is_utf8(name))
    return RLX_FAIL(RLX_INVALID, "the importance of a tensor whose name has %zu bytes: expected UTF-8 of 1 to %d",
                    n_name, IMPORTANCE_MAX_NAME);
  RLX_TRY(check_numbers(name, "counts", counts, experts));
  RLX_TRY(check_numbers(name, "sums", sums, experts * columns));
  if (!is_there) RLX_TRY(insert(im, at, name, experts, columns));
  importance_entry *e = &im->entries.v[at];
  if (e->experts != experts || e->columns != columns)
    return RLX_FAIL(RLX_INVALID, "the importance of '%s': expected [%zu, %zu] as before, got [%zu, %zu]", name,
                    e->experts, e->columns, experts, columns);
  for (size_t i = 0; i < experts * columns; i++) e->sums[i] += (double)sums[i];
  for (size_t i = 0; i < experts; i++) e->counts[i] += (double)counts[i];
  return RLX_OK;
}

/* ---- Weights ---- */

/* Of one expert; all 1 where it had no input. */
static void make_weights(const double *sums, double count, size_t n, float *out) {
  double all = 0;
  for (size_t i = 0; i < n; i++) all += sums[i];
  double per = count > 0 && all > 0 ? (double)n / all : 0;
  for (size_t i = 0; i < n; i++) out[i] = per > 0 ? (float)fmax(sums[i] * per, min_weight) : 1.0f;
}

rlx_status importance_weights(const rlx_importance *im, const rlx_file_tensor *t, size_t *experts, float **out) {
  const importance_entry *e = importance_find(im, t->name);
  *out = NULL;
  *experts = 1;
  if (!e || t->shape.n < 2) return RLX_OK;
  size_t columns = (size_t)t->shape.v[t->shape.n - 1], n = t->shape.n > 2 ? (size_t)t->shape.v[0] : 1;
  size_t have = e->experts * e->columns;
  /* A file of the older format has the experts' columns in one row. */
  bool is_split = e->experts > 1;
  if (have == columns) n = 1;
  else if (!columns || have % columns || have / columns != n || (is_split && e->experts != n))
    return RLX_FAIL(RLX_INVALID, "the importance of '%s' is of %zu columns, the tensor has %zu", t->name, have,
                    columns * n);
  float *w = rlx_mem_calloc(have, sizeof *w);
  if (!w) return RLX_FAIL(RLX_NO_MEMORY, "the weights of %zu columns", have);
  for (size_t i = 0; i < n; i++)
    make_weights(e->sums + i * columns, e->counts[is_split ? i : 0], columns, w + i * columns);
  *experts = n;
  *out = w;
  return RLX_OK;
}
