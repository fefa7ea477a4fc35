/* Arithmetic on symbolic sizes: equal expressions have equal codes, comparisons record guards, and what is bound is what the
 * same arithmetic gives with numbers. */
#include "ir/algebra.h"

#include <stdlib.h>

#include "faults.h"
#include "test.h"

/* A graph with symbols N = 10 and M = 4. */
static rlx_graph *open_graph(int64_t *n, int64_t *m) {
  rlx_graph *g;
  if (rlx_graph_begin(&g)) return NULL;
  if (rlx_graph_use_algebra(g) == RLX_OK) {
    *n = rlx_graph_add_sample(g, "N", 10);
    *m = rlx_graph_add_sample(g, "M", 4);
    if (rlx_graph_status(g) == RLX_OK) return g;
  }
  rlx_graph_destroy(g);
  return NULL;
}

static bool text_is(const rlx_graph *g, int64_t size, const char *want) {
  rlx_str s = {0};
  rlx_algebra_text(g, size, &s);
  bool same = s.v && strcmp(s.v, want) == 0;
  if (!same) printf("expected '%s', got '%s'\n", want, s.v ? s.v : "");
  rlx_str_deinit(&s);
  return same;
}

TEST(equal_expressions_are_one_code) {
  int64_t n, m;
  rlx_graph *g = open_graph(&n, &m);
  CHECK(g);
  int64_t sum = rlx_size_add(g, n, m);
  CHECK(sum == rlx_size_add(g, m, n));
  CHECK(rlx_size_sub(g, sum, m) == n);
  CHECK(rlx_size_sub(g, sum, sum) == 0);
  CHECK(rlx_size_mul(g, sum, sum) ==
        rlx_size_add(g, rlx_size_mul(g, n, n),
                     rlx_size_add(g, rlx_size_mul(g, m, m), rlx_size_mul(g, rlx_size_mul(g, m, n), 2))));
  CHECK(rlx_size_div(g, rlx_size_mul(g, n, m), m) == n);
  CHECK(rlx_size_div(g, rlx_size_mul(g, 6, n), 3) == rlx_size_mul(g, n, 2));
  CHECK(rlx_size_div(g, rlx_size_add(g, rlx_size_mul(g, n, 4), 7), 4) == rlx_size_add(g, n, 1));
  CHECK(rlx_size_div(g, rlx_size_mul(g, rlx_size_mul(g, n, 2), m), rlx_size_mul(g, n, m)) == 2);
  CHECK(text_is(g, rlx_size_add(g, rlx_size_div(g, rlx_size_add(g, n, 3), 2), 1), "[N + 1]/[2] + 2"));
  CHECK(text_is(g, rlx_size_mul(g, n, 3), "3*N"));
  CHECK(text_is(g, RLX_DIM_UNKNOWN, "?"));
  CHECK(text_is(g, 5, "5"));
  rlx_graph_destroy(g);
}

TEST(what_has_no_size_is_unknown) {
  int64_t n, m;
  rlx_graph *g = open_graph(&n, &m), *plain;
  bool holds;
  CHECK(g);
  CHECK(rlx_size_add(g, n, RLX_DIM_UNKNOWN) == RLX_DIM_UNKNOWN);
  CHECK(rlx_size_mul(g, INT64_MAX, 2) == RLX_DIM_UNKNOWN);
  CHECK(rlx_size_mul(g, rlx_size_mul(g, n, INT64_MAX), 2) == RLX_DIM_UNKNOWN);
  CHECK(rlx_size_div(g, n, 0) == RLX_DIM_UNKNOWN);
  CHECK(rlx_size_div(g, n, rlx_size_sub(g, m, n)) == RLX_DIM_UNKNOWN);      /* not positive for the samples */
  CHECK(rlx_size_add(g, n, rlx_dim_from_symbol(77)) == RLX_DIM_UNKNOWN);    /* no symbol of this graph */
  CHECK(rlx_size_add(g, n, rlx_dim_from_symbol(99999)) == RLX_DIM_UNKNOWN); /* no expression */
  CHECK(!rlx_size_less(g, RLX_DIM_UNKNOWN, n, &holds));
  CHECK(!rlx_graph_has_size(g, rlx_dim_from_symbol(99999)));
  CHECK_OK(rlx_graph_begin(&plain));
  CHECK(rlx_size_add(plain, n, 1) == RLX_DIM_UNKNOWN && rlx_size_add(plain, 2, 1) == 3);
  CHECK(!rlx_size_equal(plain, n, 1, &holds) && rlx_size_equal(plain, 1, 1, &holds) && holds);
  rlx_graph_destroy(plain);
  rlx_graph_destroy(g);
}

TEST(products_beyond_four_atoms_are_unknown) {
  int64_t n, m, p;
  rlx_graph *g = open_graph(&n, &m);
  CHECK(g);
  p = rlx_size_mul(g, rlx_size_mul(g, n, m), rlx_size_mul(g, n, m));
  CHECK(p != RLX_DIM_UNKNOWN && rlx_size_mul(g, p, n) == RLX_DIM_UNKNOWN);
  for (int i = 1; i < 12; i++) p = rlx_size_add(g, p, rlx_size_div(g, n, 1 + i)); /* and beyond six terms */
  CHECK(p == RLX_DIM_UNKNOWN);
  rlx_graph_destroy(g);
}

/* A graph whose shapes are expressions, bound: shapes, attributes and constants are numbers. */
TEST(binding) {
  int64_t n, m, sizes[] = {7, 3};
  rlx_graph *g = open_graph(&n, &m), *bound;
  bool holds;
  CHECK(g);
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(n, m, 2));
  rlx_node joined = rlx_op_concat(g, (const rlx_node[]){x, x}, 2, 0);
  int64_t all = rlx_size_mul(g, rlx_size_mul(g, n, m), 4), half = rlx_size_div(g, n, 2);
  CHECK(rlx_node_shape(g, joined).v[0] == rlx_size_mul(g, n, 2));
  rlx_node flat = rlx_op_reshape(g, joined, RLX_DIMS(-1));
  CHECK(rlx_node_shape(g, flat).v[0] == all);
  CHECK(rlx_size_less(g, m, n, &holds) && holds);
  rlx_node sizes_node = rlx_graph_add_sizes(g, RLX_DIMS(3), (const int64_t[]){all, half, -5}, 3);
  rlx_graph_add_output(g, "y", rlx_op_narrow(g, flat, 0, half, all == 0 ? 0 : m));
  rlx_graph_add_output(g, "s", sizes_node);
  CHECK_OK(rlx_graph_finish(g));
  CHECK(rlx_graph_holds_sizes(g, sizes_node) && !rlx_graph_holds_sizes(g, flat));
  CHECK_OK(rlx_graph_bind_sizes(g, sizes, &bound));
  CHECK(rlx_node_shape(bound, flat).v[0] == 84);
  const rlx_attrs_slice *cut = RLX_ATTRS(slice, rlx_graph_at(bound, bound->outputs.v[0].node));
  CHECK(cut->start.v[0] == 3 && cut->stop.v[0] == 6);
  const rlx_blob *blob = RLX_ATTRS(constant, rlx_graph_at(bound, sizes_node))->data;
  CHECK(memcmp(blob->data, (const int64_t[]){84, 3, -5}, 24) == 0);
  rlx_graph_destroy(bound);
  sizes[1] = 8; /* not M < N */
  CHECK_FAILS(rlx_graph_bind_sizes(g, sizes, &bound), RLX_INVALID, "other relations");
  sizes[0] = INT64_MAX / 2, sizes[1] = 5;
  CHECK_FAILS(rlx_graph_bind_sizes(g, sizes, &bound), RLX_INVALID, "too large");
  rlx_graph_destroy(g);
}

TEST(broadcasting_decides) {
  int64_t n, m;
  rlx_graph *g = open_graph(&n, &m), *bound;
  CHECK(g);
  rlx_node a = rlx_op_input(g, "a", RLX_F32, RLX_DIMS(n, 1)), b = rlx_op_input(g, "b", RLX_F32, RLX_DIMS(m));
  rlx_node sum = rlx_op_add(g, a, b);
  CHECK(rlx_node_shape(g, sum).v[0] == n && rlx_node_shape(g, sum).v[1] == m);
  rlx_node c = rlx_op_input(g, "c", RLX_F32, RLX_DIMS(n)), d = rlx_op_input(g, "d", RLX_F32, RLX_DIMS(10));
  CHECK(rlx_node_shape(g, rlx_op_add(g, c, d)).v[0] == 10); /* N is 10: a guard */
  rlx_graph_add_output(g, "y", sum);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_graph_bind_sizes(g, (const int64_t[]){10, 3}, &bound));
  rlx_graph_destroy(bound);
  CHECK_FAILS(rlx_graph_bind_sizes(g, (const int64_t[]){9, 3}, &bound), RLX_INVALID, "other relations");
  rlx_graph_destroy(g);
}

/* ---- random arithmetic ---- */

static uint32_t state = 1;
static uint32_t random_below(uint32_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; }

typedef struct step {
  uint32_t op, a, b;
} step;

/* The steps with numbers; false where one has none, or overflows. */
static bool compute(const step *steps, int n, int64_t *v) {
  for (int i = 0; i < n; i++) {
    int64_t a = v[steps[i].a], b = v[steps[i].b];
    if (llabs(a) > 1000000 || llabs(b) > 1000000) return false;
    if (steps[i].op == 3 && b < 1) return false;
    v[6 + i] = steps[i].op == 0 ? a + b : steps[i].op == 1 ? a - b : steps[i].op == 2 ? a * b : a / b - (a % b < 0);
  }
  return true;
}

TEST(random_arithmetic) {
  enum { STEPS = 10, TRIES = 3000 };
  static int64_t (*const ops[])(const rlx_graph *, int64_t, int64_t) = {rlx_size_add, rlx_size_sub, rlx_size_mul,
                                                                        rlx_size_div};
  size_t n_checked = 0;
  for (int t = 0; t < TRIES; t++) {
    int64_t n, m;
    step steps[STEPS];
    rlx_graph *g = open_graph(&n, &m);
    CHECK(g);
    int64_t v[6 + STEPS] = {n, m, 1, 2, 3, 7}, *values;
    for (uint32_t i = 0; i < STEPS; i++) {
      steps[i] = (step){random_below(4), random_below(6 + i), random_below(6 + i)};
      v[6 + i] = ops[steps[i].op](g, v[steps[i].a], v[steps[i].b]);
    }
    for (int k = 0; k < 5; k++) {
      int64_t sizes[] = {random_below(40), random_below(40)}, want[6 + STEPS] = {sizes[0], sizes[1], 1, 2, 3, 7};
      if (rlx_algebra_evaluate(g, sizes, &values)) continue; /* a divisor that is not positive */
      bool has = compute(steps, STEPS, want);
      for (int i = 0; has && i < 6 + STEPS; i++) {
        if (v[i] == RLX_DIM_UNKNOWN) continue;
        CHECK(rlx_size_value(v[i], sizes, values) == want[i]);
        n_checked++;
      }
      rlx_mem_free(values);
    }
    rlx_graph_destroy(g);
  }
  CHECK(n_checked > 20000);
}

static rlx_status work(void *user) {
  int64_t n, m;
  rlx_graph *g = open_graph(&n, &m), *bound = NULL;
  (void)user;
  if (!g) return RLX_NO_MEMORY;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(n, m));
  x = rlx_op_concat(g, (const rlx_node[]){x, x}, 2, 0);
  rlx_graph_add_output(g, "y", rlx_op_reshape(g, x, RLX_DIMS(-1)));
  rlx_graph_add_output(g, "s", rlx_graph_add_sizes(g, RLX_DIMS(1), &n, 1));
  rlx_status s = rlx_graph_finish(g);
  if (!s) s = rlx_graph_bind_sizes(g, (const int64_t[]){2, 3}, &bound);
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
  return s == RLX_INVALID ? RLX_NO_MEMORY : s; /* a size that memory was short for is unknown */
}

TEST(memory_runs_out) { CHECK_OK(alloc_sweep(work, NULL)); }
