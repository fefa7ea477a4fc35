/* Size expressions as polynomials: interning, arithmetic, comparison with guards, evaluation. */
#include "ir/algebra.h"

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"

enum {
  MAX_TERMS = 6,
  MAX_ATOMS = 4,             /* of a product */
  MAX_EXPRESSIONS = 1 << 14, /* what would be beyond is unknown */
};

/* by * atoms[0] * atoms[1] ..: numbers of atoms from 1 on, largest first; 0: none. */
typedef struct term {
  int64_t by;
  uint32_t atoms[MAX_ATOMS];
} term;

/* Terms are sorted by their atoms and by != 0; unused ones are zero. No padding: compared by bytes. */
typedef struct polynomial {
  int64_t constant, n;
  term terms[MAX_TERMS];
} polynomial;

typedef struct atom {
  int64_t symbol;   /* a symbol's code; 0: a quotient */
  int64_t num, den; /* sizes: floor(num / den) */
} atom;

typedef struct guard {
  int64_t size; /* that is compared with 0 */
  bool is_equality, holds;
} guard;

struct rlx_algebra {
  RLX_ARRAY(atom) atoms;
  RLX_ARRAY(int64_t) samples; /* by atom */
  RLX_ARRAY(polynomial) expressions;
  RLX_ARRAY(guard) guards;
  RLX_ARRAY(uint32_t) constants; /* nodes whose elements are sizes, in order */
};

/* ---- the graph's ---- */

rlx_status rlx_graph_use_algebra(rlx_graph *g) {
  if (!g->algebra) g->algebra = rlx_new(rlx_algebra);
  return g->algebra ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "an algebra of sizes");
}

void rlx_algebra_destroy(rlx_algebra *a) {
  if (!a) return;
  rlx_array_deinit(&a->atoms);
  rlx_array_deinit(&a->samples);
  rlx_array_deinit(&a->expressions);
  rlx_array_deinit(&a->guards);
  rlx_array_deinit(&a->constants);
  rlx_mem_free(a);
}

bool rlx_graph_has_size(const rlx_graph *g, int64_t size) {
  if (!rlx_dim_is_symbol(size)) return false;
  uint32_t symbol = rlx_dim_symbol(size);
  if (symbol < RLX_FIRST_EXPRESSION) return symbol < g->symbols.n;
  return g->algebra && symbol - RLX_FIRST_EXPRESSION < g->algebra->expressions.n;
}

/* ---- polynomials ---- */

static int compare_atoms(const term *a, const term *b) {
  for (int i = 0; i < MAX_ATOMS; i++)
    if (a->atoms[i] != b->atoms[i]) return a->atoms[i] > b->atoms[i] ? -1 : 1;
  return 0;
}

/* Adds by * atoms. False: overflow, or too many terms. */
static bool add_term(polynomial *p, const term *t) {
  int64_t at = 0;
  if (!t->atoms[0]) return rlx_add_i64(p->constant, t->by, &p->constant);
  if (t->by == 0) return true;
  while (at < p->n && compare_atoms(&p->terms[at], t) < 0) at++;
  if (at < p->n && compare_atoms(&p->terms[at], t) == 0) {
    if (!rlx_add_i64(p->terms[at].by, t->by, &p->terms[at].by)) return false;
    if (p->terms[at].by) return true;
    p->n--;
    memmove(&p->terms[at], &p->terms[at + 1], (size_t)(p->n - at) * sizeof *t);
    memset(&p->terms[p->n], 0, sizeof *t);
    return true;
  }
  if (p->n == MAX_TERMS) return false;
  memmove(&p->terms[at + 1], &p->terms[at], (size_t)(p->n - at) * sizeof *t);
  p->terms[at] = *t;
  p->n++;
  return true;
}

/* p + by * q */
static bool add_scaled(polynomial *p, const polynomial *q, int64_t by) {
  int64_t c;
  if (!rlx_mul_i64(q->constant, by, &c) || !rlx_add_i64(p->constant, c, &p->constant)) return false;
  for (int64_t i = 0; i < q->n; i++) {
    term t = q->terms[i];
    if (!rlx_mul_i64(t.by, by, &t.by) || !add_term(p, &t)) return false;
  }
  return true;
}

static bool multiply_terms(const term *a, const term *b, term *out) {
  int n = 0;
  *out = (term){0};
  if (!rlx_mul_i64(a->by, b->by, &out->by)) return false;
  for (int i = 0, k = 0; (i < MAX_ATOMS && a->atoms[i]) || (k < MAX_ATOMS && b->atoms[k]);) {
    uint32_t x = i < MAX_ATOMS ? a->atoms[i] : 0, y = k < MAX_ATOMS ? b->atoms[k] : 0;
    if (n == MAX_ATOMS) return false;
    if (x >= y) out->atoms[n++] = x, i++;
    else out->atoms[n++] = y, k++;
  }
  return true;
}

static bool multiply(const polynomial *a, const polynomial *b, polynomial *out) {
  memset(out, 0, sizeof *out);
  if (!add_scaled(out, b, a->constant)) return false;
  for (int64_t i = 0; i < a->n; i++) {
    term t = a->terms[i];
    if (!rlx_mul_i64(t.by, b->constant, &t.by) || !add_term(out, &t)) return false;
    for (int64_t k = 0; k < b->n; k++)
      if (!multiply_terms(&a->terms[i], &b->terms[k], &t) || !add_term(out, &t)) return false;
  }
  return true;
}

/* a / b where b divides a for all values of the atoms. */
static bool divide_terms(const term *a, const term *b, term *out) {
  int n = 0, k = 0;
  *out = (term){.by = a->by / b->by};
  if (a->by % b->by) return false;
  for (int i = 0; i < MAX_ATOMS && a->atoms[i]; i++) {
    if (k < MAX_ATOMS && b->atoms[k] == a->atoms[i]) k++;
    else out->atoms[n++] = a->atoms[i];
  }
  return k == MAX_ATOMS || !b->atoms[k];
}

/* ---- atoms and codes ---- */

static bool read_size(rlx_algebra *a, int64_t size, polynomial *out) {
  memset(out, 0, sizeof *out);
  if (!rlx_dim_is_open(size)) return out->constant = size, true;
  if (size == RLX_DIM_UNKNOWN) return false;
  uint32_t symbol = rlx_dim_symbol(size);
  if (symbol >= RLX_FIRST_EXPRESSION + a->expressions.n) return false;
  if (symbol >= RLX_FIRST_EXPRESSION) return *out = a->expressions.v[symbol - RLX_FIRST_EXPRESSION], true;
  for (size_t i = 0; i < a->atoms.n; i++)
    if (a->atoms.v[i].symbol == size) return add_term(out, &(term){1, {(uint32_t)i + 1}});
  return false; /* without a sample */
}

/* The value for given values of atoms. */
static bool evaluate(const polynomial *p, const int64_t *atoms, int64_t *out) {
  *out = p->constant;
  for (int64_t i = 0; i < p->n; i++) {
    int64_t v = p->terms[i].by;
    for (int k = 0; k < MAX_ATOMS && p->terms[i].atoms[k]; k++)
      if (!rlx_mul_i64(v, atoms[p->terms[i].atoms[k] - 1], &v)) return false;
    if (!rlx_add_i64(*out, v, out)) return false;
  }
  return true;
}

static bool sample_of(const rlx_algebra *a, const polynomial *p, int64_t *out) {
  return evaluate(p, a->samples.v, out);
}

static bool add_atom(rlx_algebra *a, atom t, int64_t sample) {
  return rlx_array_reserve(&a->samples, 1) && rlx_array_push(&a->atoms, t) && rlx_array_push(&a->samples, sample);
}

static int64_t write_size(rlx_algebra *a, const polynomial *p) {
  if (p->n == 0) return rlx_dim_is_open(p->constant) ? RLX_DIM_UNKNOWN : p->constant;
  const atom *first = &a->atoms.v[p->terms[0].atoms[0] - 1];
  if (p->n == 1 && !p->constant && p->terms[0].by == 1 && !p->terms[0].atoms[1] && first->symbol) return first->symbol;
  for (size_t i = 0; i < a->expressions.n; i++)
    if (memcmp(&a->expressions.v[i], p, sizeof *p) == 0) return rlx_dim_from_symbol(RLX_FIRST_EXPRESSION + (uint32_t)i);
  if (a->expressions.n >= MAX_EXPRESSIONS || !rlx_array_push(&a->expressions, *p)) return RLX_DIM_UNKNOWN;
  return rlx_dim_from_symbol(RLX_FIRST_EXPRESSION + (uint32_t)a->expressions.n - 1);
}

int64_t rlx_graph_add_sample(rlx_graph *g, const char *name, int64_t sample) {
  int64_t symbol = rlx_graph_add_symbol(g, name);
  if (symbol == RLX_DIM_UNKNOWN) return symbol;
  if (!add_atom(g->algebra, (atom){.symbol = symbol}, sample)) {
    rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "symbol '%s'", name));
    return RLX_DIM_UNKNOWN;
  }
  return symbol;
}

/* ---- arithmetic ---- */

static bool read_both(const rlx_graph *g, int64_t a, int64_t b, polynomial *p, polynomial *q) {
  return g->algebra && read_size(g->algebra, a, p) && read_size(g->algebra, b, q);
}

static int64_t number(int64_t v) { return rlx_dim_is_open(v) ? RLX_DIM_UNKNOWN : v; }

static bool are_numbers(int64_t a, int64_t b) { return !rlx_dim_is_open(a) && !rlx_dim_is_open(b); }

int64_t rlx_size_add(const rlx_graph *g, int64_t a, int64_t b) {
  polynomial p, q;
  int64_t sum;
  if (are_numbers(a, b)) return rlx_add_i64(a, b, &sum) ? number(sum) : RLX_DIM_UNKNOWN;
  return read_both(g, a, b, &p, &q) && add_scaled(&p, &q, 1) ? write_size(g->algebra, &p) : RLX_DIM_UNKNOWN;
}

int64_t rlx_size_sub(const rlx_graph *g, int64_t a, int64_t b) {
  polynomial p, q;
  if (are_numbers(a, b)) return rlx_size_add(g, a, -b); /* no number is INT64_MIN */
  return read_both(g, a, b, &p, &q) && add_scaled(&p, &q, -1) ? write_size(g->algebra, &p) : RLX_DIM_UNKNOWN;
}

int64_t rlx_size_mul(const rlx_graph *g, int64_t a, int64_t b) {
  polynomial p, q, all;
  int64_t product;
  if (are_numbers(a, b)) return rlx_mul_i64(a, b, &product) ? number(product) : RLX_DIM_UNKNOWN;
  return read_both(g, a, b, &p, &q) && multiply(&p, &q, &all) ? write_size(g->algebra, &all) : RLX_DIM_UNKNOWN;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Takes the terms out of *a that b (a term: with a number, one without atoms) divides: their quotients go to *out. What
 * is left of the constant is 0 .. b-1 where b is a number. */
static bool divide_exactly(polynomial *a, const term *b, polynomial *out) {
  polynomial rest;
  memset(&rest, 0, sizeof rest);
  memset(out, 0, sizeof *out);
  for (int64_t i = 0; i < a->n; i++) {
    term t;
    bool divides = divide_terms(&a->terms[i], b, &t);
    if (!add_term(divides ? out : &rest, divides ? &t : &a->terms[i])) return false;
  }
  rest.constant = a->constant;
  if (!b->atoms[0]) {
    out->constant = floor_div(a->constant, b->by); /* every term of out has atoms here */
    rest.constant -= out->constant * b->by;
  }
  *a = rest;
  return true;
}

static int64_t add_quotient(rlx_algebra *a, int64_t num, int64_t den, const polynomial *more) {
  polynomial p = *more, n, d;
  int64_t x = 0, y = 0;
  size_t i = 0;
  if (num == RLX_DIM_UNKNOWN || den == RLX_DIM_UNKNOWN) return RLX_DIM_UNKNOWN;
  while (i < a->atoms.n && (a->atoms.v[i].symbol || a->atoms.v[i].num != num || a->atoms.v[i].den != den)) i++;
  if (i == a->atoms.n) {
    if (!read_size(a, num, &n) || !read_size(a, den, &d) || !sample_of(a, &n, &x) || !sample_of(a, &d, &y) || y < 1 ||
        !add_atom(a, (atom){.num = num, .den = den}, floor_div(x, y)))
      return RLX_DIM_UNKNOWN;
  }
  return add_term(&p, &(term){1, {(uint32_t)i + 1}}) ? write_size(a, &p) : RLX_DIM_UNKNOWN;
}

int64_t rlx_size_div(const rlx_graph *g, int64_t a, int64_t b) {
  polynomial p, q, exact;
  bool is_positive;
  memset(&exact, 0, sizeof exact);
  if (!rlx_size_less(g, 0, b, &is_positive) || !is_positive) return RLX_DIM_UNKNOWN;
  if (are_numbers(a, b)) return floor_div(a, b);
  if (!read_both(g, a, b, &p, &q)) return RLX_DIM_UNKNOWN;
  bool is_term = q.n == 0 || (q.n == 1 && !q.constant);
  const term by = q.n ? q.terms[0] : (term){.by = q.constant};
  if (is_term && !divide_exactly(&p, &by, &exact)) return RLX_DIM_UNKNOWN;
  if (is_term && p.n == 0 && p.constant == 0) return write_size(g->algebra, &exact);
  int64_t rest = write_size(g->algebra, &p);
  return p.n == 0 && q.n == 0 ? write_size(g->algebra, &exact) : add_quotient(g->algebra, rest, b, &exact);
}

/* ---- decisions ---- */

/* p > 0 or p == 0. */
static bool decide(rlx_algebra *a, const polynomial *p, bool is_equality, bool *holds) {
  int64_t v;
  if (!sample_of(a, p, &v)) return false;
  *holds = is_equality ? v == 0 : v > 0;
  if (p->n == 0) return true;
  guard wanted = {write_size(a, p), is_equality, *holds};
  if (wanted.size == RLX_DIM_UNKNOWN) return false;
  for (size_t i = 0; i < a->guards.n; i++)
    if (a->guards.v[i].size == wanted.size && a->guards.v[i].is_equality == is_equality) return true;
  return rlx_array_push(&a->guards, wanted);
}

bool rlx_size_less(const rlx_graph *g, int64_t a, int64_t b, bool *holds) {
  polynomial p, q;
  if (are_numbers(a, b)) return *holds = a < b, true;
  return read_both(g, a, b, &p, &q) && add_scaled(&q, &p, -1) && decide(g->algebra, &q, false, holds);
}

bool rlx_size_equal(const rlx_graph *g, int64_t a, int64_t b, bool *holds) {
  polynomial p, q;
  if (are_numbers(a, b)) return *holds = a == b, true;
  if (a == b && a != RLX_DIM_UNKNOWN) return *holds = true, true;
  return read_both(g, a, b, &p, &q) && add_scaled(&q, &p, -1) && decide(g->algebra, &q, true, holds);
}

/* ---- constants ---- */

rlx_node rlx_graph_add_sizes(rlx_graph *g, rlx_dims shape, const int64_t *v, size_t n) {
  rlx_node id = rlx_op_constant(g, RLX_I64, shape, v, n * sizeof *v);
  for (size_t i = 0; id && i < n; i++)
    if (rlx_dim_is_open(v[i]) && !rlx_graph_has_size(g, v[i]))
      return rlx_graph_set_error(g, RLX_FAIL(RLX_INVALID, "element %zu is no size of this graph", i));
  if (id && !rlx_array_push(&g->algebra->constants, (uint32_t)id))
    return rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "a constant"));
  return id;
}

bool rlx_graph_holds_sizes(const rlx_graph *g, rlx_node n) {
  if (!g->algebra) return false;
  size_t low = 0, high = g->algebra->constants.n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (g->algebra->constants.v[middle] < (uint32_t)n) low = middle + 1;
    else high = middle;
  }
  return low < g->algebra->constants.n && g->algebra->constants.v[low] == (uint32_t)n;
}

/* ---- evaluation ---- */

static bool value_of(const rlx_algebra *a, int64_t size, const int64_t *atoms, int64_t *out) {
  polynomial p;
  return read_size((rlx_algebra *)(uintptr_t)a, size, &p) && evaluate(&p, atoms, out); /* reading changes nothing */
}

/* An atom's parts are atoms before it. */
static bool evaluate_atoms(const rlx_algebra *a, const int64_t *sizes, int64_t *atoms) {
  for (size_t i = 0; i < a->atoms.n; i++) {
    const atom *t = &a->atoms.v[i];
    int64_t num, den;
    if (t->symbol) {
      atoms[i] = sizes[rlx_dim_symbol(t->symbol)];
      continue;
    }
    if (!value_of(a, t->num, atoms, &num) || !value_of(a, t->den, atoms, &den) || den < 1) return false;
    atoms[i] = floor_div(num, den);
  }
  return true;
}

static rlx_status evaluate_all(const rlx_algebra *a, const int64_t *sizes, int64_t *atoms, int64_t *values) {
  if (!evaluate_atoms(a, sizes, atoms)) return RLX_FAIL(RLX_INVALID, "a size that follows from others has no value");
  for (size_t i = 0; i < a->expressions.n; i++)
    if (!evaluate(&a->expressions.v[i], atoms, &values[i]))
      return RLX_FAIL(RLX_INVALID, "a size that follows from others is too large");
  for (size_t i = 0; i < a->guards.n; i++) {
    const guard *c = &a->guards.v[i];
    int64_t v = rlx_size_value(c->size, sizes, values);
    if ((c->is_equality ? v == 0 : v > 0) != c->holds)
      return RLX_FAIL(RLX_INVALID, "the graph was built for other relations of its sizes");
  }
  return RLX_OK;
}

rlx_status rlx_algebra_evaluate(const rlx_graph *g, const int64_t *sizes, int64_t **values) {
  const rlx_algebra *a = g->algebra;
  *values = NULL;
  if (!a) return RLX_OK;
  int64_t *atoms = rlx_mem_calloc(a->atoms.n + 1, sizeof *atoms), *v = rlx_mem_calloc(a->expressions.n + 1, sizeof *v);
  rlx_status s = atoms && v ? evaluate_all(a, sizes, atoms, v) : RLX_FAIL(RLX_NO_MEMORY, "binding");
  rlx_mem_free(atoms);
  if (s) rlx_mem_free(v);
  else *values = v;
  return s;
}

/* ---- text ---- */

size_t rlx_algebra_guard_count(const rlx_graph *g) { return g->algebra ? g->algebra->guards.n : 0; }

static void add_atom_text(const rlx_graph *g, uint32_t number, rlx_str *out) {
  const atom *t = &g->algebra->atoms.v[number - 1];
  if (t->symbol) {
    rlx_algebra_text(g, t->symbol, out);
    return;
  }
  for (int i = 0; i < 2; i++) {
    rlx_str_add(out, i ? "]/[" : "[");
    rlx_algebra_text(g, i ? t->den : t->num, out);
  }
  rlx_str_add_char(out, ']');
}

void rlx_algebra_text(const rlx_graph *g, int64_t size, rlx_str *out) {
  polynomial p;
  if (!rlx_dim_is_open(size)) rlx_str_add(out, "%" PRId64, size);
  else if (!rlx_graph_has_size(g, size)) rlx_str_add_char(out, '?');
  else if (rlx_dim_symbol(size) < RLX_FIRST_EXPRESSION) rlx_str_add(out, "%s", g->symbols.v[rlx_dim_symbol(size)]);
  else if (read_size(g->algebra, size, &p)) {
    for (int64_t i = 0; i < p.n; i++) {
      if (i) rlx_str_add(out, " + ");
      if (p.terms[i].by != 1) rlx_str_add(out, "%" PRId64 "*", p.terms[i].by);
      for (int k = 0; k < MAX_ATOMS && p.terms[i].atoms[k]; k++) {
        if (k) rlx_str_add_char(out, '*');
        add_atom_text(g, p.terms[i].atoms[k], out);
      }
    }
    if (p.constant) rlx_str_add(out, " + %" PRId64, p.constant);
  }
}
