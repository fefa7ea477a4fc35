/* Ops that compare along an axis: argmax, argmin, top_k, sort, argsort.
 *
 * All but the first two are one stable sort of positions; the result holds the positions or the values there, all or
 * the first k. The order: numbers by value, -0 equal to 0, NaN above all; equal elements keep their order, in either
 * direction. argmax and argmin are one pass, in which NaN beats all. Values are copied as bytes. */
#include "ref/order.h"

static bool above(const rlx_ref_keys *k, size_t a, size_t b) {
  if (k->i) return k->i[a] > k->i[b];
  return k->f[a] != k->f[a] ? k->f[b] == k->f[b] : k->f[a] > k->f[b];
}

/* Merges [lo, mid) and [mid, hi); of equal elements the left one, which is the earlier, goes first. */
static void merge(rlx_ref_call *c, const rlx_ref_keys *key, bool descending, const size_t *from, size_t *to, size_t lo,
                  size_t mid, size_t hi) {
  size_t left = lo, right = mid;
  RLX_REF_EACH(c, i, hi - lo) {
    bool take_right =
      left >= mid ||
      (right < hi && (descending ? above(key, from[right], from[left]) : above(key, from[left], from[right])));
    to[lo + i] = take_right ? from[right++] : from[left++];
  }
}

/* Bottom-up. */
void rlx_ref_sort_positions(rlx_ref_call *c, const rlx_ref_keys *key, bool descending, size_t n, size_t **order,
                            size_t **spare) {
  RLX_REF_EACH(c, i, n) (*order)[i] = i;
  for (size_t width = 1; width<n; width = width> n / 2 ? n : 2 * width) {
    for (size_t lo = 0; lo < n && !c->stopped; lo += 2 * width) {
      size_t mid = n - lo > width ? lo + width : n, hi = n - mid > width ? mid + width : n;
      merge(c, key, descending, *order, *spare, lo, mid, hi);
    }
    size_t *sorted = *spare;
    *spare = *order;
    *order = sorted;
  }
}

typedef struct selection {
  int64_t axis;
  bool descending;
  bool positions; /* the result holds positions, else values */
} selection;

/* The first out->shape[axis] positions of each sorted line. */
static rlx_status select_sorted(rlx_ref_call *c, selection how) {
  const rlx_tensor *x = c->in[0];
  rlx_lines l = rlx_lines_of(&x->shape, how.axis), to = rlx_lines_of(&c->out->shape, how.axis);
  size_t size = rlx_dtype_size(x->dtype), *order, *spare;
  bool is_float = rlx_dtype_is_float(x->dtype);
  double *f;
  int64_t *ints;
  RLX_TRY(rlx_ref_scratch(c, l.n, sizeof *order, &order));
  RLX_TRY(rlx_ref_scratch(c, l.n, sizeof *spare, &spare));
  RLX_TRY(rlx_ref_scratch(c, is_float ? l.n : 0, sizeof *f, &f));
  RLX_TRY(rlx_ref_scratch(c, is_float ? 0 : l.n, sizeof *ints, &ints));
  rlx_ref_keys key = {is_float ? f : NULL, is_float ? NULL : ints};
  for (size_t line = 0; line < l.outer * l.inner && rlx_ref_continues(c, 1); line++) {
    size_t start = rlx_line_start(l, line), to_start = rlx_line_start(to, line);
    RLX_REF_EACH(c, k, l.n) {
      size_t at = start + k * l.inner;
      if (is_float) f[k] = rlx_load(x, at);
      else ints[k] = rlx_load_int(x, at);
    }
    rlx_ref_sort_positions(c, &key, how.descending, l.n, &order, &spare);
    RLX_REF_EACH(c, k, to.n) {
      size_t at = to_start + k * to.inner, from = start + order[k] * l.inner;
      if (how.positions) rlx_store_int(c->out, at, (int64_t)order[k]);
      else memcpy((char *)c->out->data + at * size, (const char *)x->data + from * size, size);
    }
  }
  return RLX_OK;
}

rlx_status rlx_ref_sort(rlx_ref_call *c) {
  const rlx_attrs_sort *a = c->attrs;
  return select_sorted(c, (selection){a->axis, a->descending, false});
}

rlx_status rlx_ref_argsort(rlx_ref_call *c) {
  const rlx_attrs_argsort *a = c->attrs;
  return select_sorted(c, (selection){a->axis, a->descending, true});
}

rlx_status rlx_ref_top_k_values(rlx_ref_call *c) {
  const rlx_attrs_top_k_values *a = c->attrs;
  return select_sorted(c, (selection){a->axis, a->largest, false});
}

rlx_status rlx_ref_top_k_indices(rlx_ref_call *c) {
  const rlx_attrs_top_k_indices *a = c->attrs;
  return select_sorted(c, (selection){a->axis, a->largest, true});
}

/* ---- argmax, argmin ---- */

/* Whether element a is better than the best so far, b. The first of equal values wins; NaN is better than any
 * number. */
static bool is_better(const rlx_tensor *x, size_t a, size_t b, bool largest) {
  if (!rlx_dtype_is_float(x->dtype)) {
    int64_t i = rlx_load_int(x, a), j = rlx_load_int(x, b);
    return largest ? i > j : i < j;
  }
  double f = rlx_load(x, a), g = rlx_load(x, b);
  return g == g && (f != f || (largest ? f > g : f < g));
}

static rlx_status first_extreme(rlx_ref_call *c, int64_t axis, bool largest) {
  rlx_lines l = rlx_lines_of(&c->in[0]->shape, axis);
  for (size_t line = 0; line < l.outer * l.inner && rlx_ref_continues(c, 1); line++) {
    size_t start = rlx_line_start(l, line), best = 0;
    RLX_REF_EACH(c, k, l.n) /* the first is not better than itself */
      if (is_better(c->in[0], start + k * l.inner, start + best * l.inner, largest)) best = k;
    rlx_store_int(c->out, line, (int64_t)best);
  }
  return RLX_OK;
}

rlx_status rlx_ref_argmax(rlx_ref_call *c) { return first_extreme(c, RLX_ATTRS(argmax, c)->axis, true); }
rlx_status rlx_ref_argmin(rlx_ref_call *c) { return first_extreme(c, RLX_ATTRS(argmin, c)->axis, false); }
