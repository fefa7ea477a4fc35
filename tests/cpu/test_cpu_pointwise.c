/* The CPU element-wise kernels: the conformance cases of every op; random shapes, broadcasts and dtypes; regions
 * against the reference and, to the bit, against their nodes run one by one; and the vector functions against the C
 * library over all exponents. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "conform/values.h"
#include "cpu/pointwise.h"
#include "cpu_check.h"
#include "faults.h"
#include "ir/scalar.h"
#include "ir/scalar_table.h"
#include "random_graph.h"
#include "ref/eval.h"
#include "test.h"

/* ---- the cases of the op table ---- */

TEST(unary_cases) {
#define UNARY(name, types, traits, attrs, formula, doc) CHECK(cpu_check_cases(RLX_OP_##name, NULL));
#include "ir/unary.def"
#undef UNARY
}

TEST(binary_cases) {
#define BINARY(name, types, traits, float_formula, int_formula, doc) CHECK(cpu_check_cases(RLX_OP_##name, NULL));
#define COMPARE(name, operator, traits, doc) CHECK(cpu_check_cases(RLX_OP_##name, NULL));
#include "ir/binary.def"
#undef BINARY
#undef COMPARE
}

TEST(other_cases) {
  static const rlx_op ops[] = {RLX_OP_not,      RLX_OP_fma,        RLX_OP_where,  RLX_OP_clamp,       RLX_OP_cast,
                               RLX_OP_quantize, RLX_OP_dequantize, RLX_OP_region, RLX_OP_fused_swiglu};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) CHECK(cpu_check_cases(ops[i], NULL));
}

/* ---- accuracy ---- */

/* The error in ulp of r as an f32. Results close to 0 count as 0: silu, for example, is 0 once e^-x is infinite. */
static double ulps(float y, double r) {
  const double tiny = 1e-35;
  float rounded = (float)r;
  if (r != r) return y != y ? 0 : (double)INFINITY;
  if (isinf(rounded)) return y == rounded || fabsf(y) > 3.4e38f ? 0 : (double)INFINITY;
  if (fabs(r) < tiny && fabs((double)y) < tiny) return 0;
  return fabs((double)y - r) / ldexp(1, ilogb(fmax(fabs(r), tiny)) - 23);
}

enum { MANTISSAS = 37, N_POINTS = 2 * 256 * MANTISSAS };

/* Every exponent, including those of denormals, infinity and NaN, both signs, some mantissas. */
static void make_points(float *to) {
  uint64_t seed = 5;
  for (uint32_t i = 0; i < N_POINTS; i++) {
    uint32_t mantissa = i % MANTISSAS == 0   ? 0
                        : i % MANTISSAS == 1 ? 0x7fffff
                                             : (uint32_t)rlx_random_next(&seed) & 0x7fffff;
    uint32_t bits = (i / MANTISSAS % 256) << 23 | mantissa | (i / MANTISSAS / 256) << 31;
    memcpy(to + i, &bits, sizeof bits);
  }
}

/* The error bound of each function, in ulp. gelu computes its exponent less precisely (cpu/math.h), and gelu_approx has
 * the rounding of a cube in its argument. */
static double limit_of(rlx_op op) {
  switch (op) {
    case RLX_OP_gelu: return 64;
    case RLX_OP_gelu_approx: return 256;
    default: return 4;
  }
}

/* The formula of gelu_approx cancels on the left, even in f64; this equivalent one does not. */
static double exact_unary(rlx_op op, double x) {
  double inner = 1.59576912160573071176 * (x + 0.044715 * x * x * x);
  return op == RLX_OP_gelu_approx ? x / (1 + exp(-inner)) : rlx_scalar_get(op)->unary(x, 1.5, 0.25);
}

static double worst_unary(rlx_op op, cpu_isa isa, const float *x, size_t n, float *y, float *at) {
  const cpu_tile_args args = {.alpha = 1.5f, .beta = 0.25f};
  cpu_tile_floats(isa)->op[op](&args, y, x, NULL, NULL, n);
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    double e = ulps(y[i], exact_unary(op, (double)x[i]));
    if (e > worst) worst = e, *at = x[i];
  }
  return worst;
}

TEST(unary_functions_are_accurate_over_all_exponents) {
  static float x[N_POINTS], y[N_POINTS];
  make_points(x);
  for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
#define UNARY(name, types, traits, attrs, formula, doc)                                                \
  {                                                                                                    \
    float at = 0;                                                                                      \
    double worst = worst_unary(RLX_OP_##name, (cpu_isa)isa, x, N_POINTS, y, &at);                      \
    if (worst > limit_of(RLX_OP_##name))                                                               \
      FAIL("%s on %s is off by %g units at %a", #name, cpu_isa_name((cpu_isa)isa), worst, (double)at); \
  }
#include "ir/unary.def"
#undef UNARY
  }
}

/* A dense sample of the range where the functions vary. */
TEST(unary_functions_are_accurate_near_one) {
  static float x[N_POINTS], y[N_POINTS];
  for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
    for (int range = 0; range < 3; range++) {
      static const float width[] = {1.5f, 12, 120};
      for (int i = 0; i < N_POINTS; i++) x[i] = width[range] * (2 * (float)i / (N_POINTS - 1) - 1);
#define UNARY(name, types, traits, attrs, formula, doc)                                                            \
  {                                                                                                                \
    float at = 0;                                                                                                  \
    double worst = worst_unary(RLX_OP_##name, (cpu_isa)isa, x, N_POINTS, y, &at), limit = limit_of(RLX_OP_##name); \
    /* a sum that cancels, and angles near multiples of pi */                                                      \
    if (RLX_OP_##name == RLX_OP_hard_sigmoid || RLX_OP_##name == RLX_OP_tan) limit = 1e3;                          \
    if (worst > limit)                                                                                             \
      FAIL("%s on %s is off by %g units at %a", #name, cpu_isa_name((cpu_isa)isa), worst, (double)at);             \
  }
#include "ir/unary.def"
#undef UNARY
    }
  }
}

TEST(powers_and_angles_are_accurate) {
  static float x[N_POINTS], y[N_POINTS], to[N_POINTS];
  uint64_t seed = 11;
  for (int i = 0; i < N_POINTS; i++) {
    static const float special[] = {0,        -0.0f,     1,   -1,     2,       -3,      0.5f,
                                    INFINITY, -INFINITY, NAN, 1e-42f, FLT_MAX, 8388609, -7};
    int n = (int)(sizeof special / sizeof *special);
    x[i] = (float)exp(12 * rlx_random_unit(&seed) - 6) * (i % 3 ? 1 : -1);
    y[i] = (float)(20 * rlx_random_unit(&seed) - 10);
    if (i % 5 == 0) y[i] = rintf(y[i]);
    if (i < n * n) x[i] = special[i / n], y[i] = special[i % n];
  }
  for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
    for (int k = 0; k < 2; k++) {
      rlx_op op = k ? RLX_OP_atan2 : RLX_OP_pow;
      cpu_tile_floats((cpu_isa)isa)->op[op](NULL, to, x, y, NULL, N_POINTS);
      for (int i = 0; i < N_POINTS; i++) {
        double e = ulps(to[i], rlx_scalar_get(op)->binary((double)x[i], (double)y[i]));
        if (e > 4)
          FAIL("%s(%a, %a) is off by %g units on %s", k ? "atan2" : "pow", (double)x[i], (double)y[i], e,
               cpu_isa_name((cpu_isa)isa));
      }
    }
  }
}

/* ---- random shapes ---- */

/* A shape of up to 4 axes, and one that broadcasts to it. */
typedef struct shapes {
  char whole[64], part[64];
} shapes;

static void make_shapes(uint64_t *seed, shapes *s) {
  int rank = cpu_check_int(seed, 0, 4), from = cpu_check_int(seed, 0, rank), size[4];
  for (int i = 0; i < rank; i++) size[i] = cpu_check_int(seed, 1, cpu_check_int(seed, 0, 3) ? 9 : 300);
  if (rank == 4) size[0] = 2, size[1] = 3;
  char *w = s->whole, *p = s->part;
  for (int i = 0; i < rank; i++) {
    w += sprintf(w, "%s%d", i ? "," : "", size[i]);
    if (i >= from) p += sprintf(p, "%s%d", i > from ? "," : "", cpu_check_int(seed, 0, 1) ? size[i] : 1);
  }
  *w = *p = 0;
}

#define FLOATS_ "f32", "f32", "f16", "bf16"
#define INTS_ "i8", "u8", "i16", "i32", "u32", "i64"

static void write_binary(uint64_t *seed, cpu_check_line *l, const char *type, const char *op) {
  shapes s;
  make_shapes(seed, &s);
  bool swap = cpu_check_int(seed, 0, 1);
  cpu_check_print(&l->inputs, "a: %s[%s]; b: %s[%s]", type, swap ? s.part : s.whole, type, swap ? s.whole : s.part);
  cpu_check_print(&l->expr, "%s(%%a, %%b)", op);
}
static void random_add(uint64_t *seed, cpu_check_line *l) {
  write_binary(seed, l, CPU_CHECK_PICK(seed, FLOATS_, INTS_), "add");
}
static void random_max(uint64_t *seed, cpu_check_line *l) {
  write_binary(seed, l, CPU_CHECK_PICK(seed, FLOATS_, INTS_), "max");
}
static void random_shr(uint64_t *seed, cpu_check_line *l) { write_binary(seed, l, CPU_CHECK_PICK(seed, INTS_), "shr"); }
static void random_lt(uint64_t *seed, cpu_check_line *l) {
  write_binary(seed, l, CPU_CHECK_PICK(seed, FLOATS_, INTS_, "bool"), "lt");
}
static void random_xor(uint64_t *seed, cpu_check_line *l) { write_binary(seed, l, "bool", "xor"); }

static void random_where(uint64_t *seed, cpu_check_line *l) {
  const char *type = CPU_CHECK_PICK(seed, FLOATS_, INTS_, "bool");
  shapes s;
  make_shapes(seed, &s);
  int turn = cpu_check_int(seed, 0, 2);
  cpu_check_print(&l->inputs, "c: bool[%s]; t: %s[%s]; f: %s[%s]", turn == 0 ? s.whole : s.part, type,
                  turn == 1 ? s.whole : s.part, type, turn == 2 ? s.whole : s.part);
  cpu_check_print(&l->expr, "where(%%c, %%t, %%f)");
}

static void random_cast(uint64_t *seed, cpu_check_line *l) {
  shapes s;
  make_shapes(seed, &s);
  cpu_check_print(&l->inputs, "x: %s[%s]%s", CPU_CHECK_PICK(seed, FLOATS_, INTS_, "bool"), s.whole, "");
  cpu_check_print(&l->expr, "cast(%%x) {to=%s}", CPU_CHECK_PICK(seed, FLOATS_, INTS_, "bool"));
}

static void random_quantize(uint64_t *seed, cpu_check_line *l) {
  int n = cpu_check_int(seed, 1, 5), c = cpu_check_int(seed, 1, 9), w = cpu_check_int(seed, 1, 200);
  const char *to = CPU_CHECK_PICK(seed, "i8", "u8", "i16", "i32"), *type = CPU_CHECK_PICK(seed, "f32", "f16", "bf16");
  int axis = cpu_check_int(seed, 0, 2), size = axis == 0 ? n : axis == 1 ? c : w;
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d] range(-9,9); s: %s[%d] range(0.02,0.1); z: %s[%d] range(0,9)", type, n,
                  c, w, type, size, to, size);
  cpu_check_print(&l->expr, "quantize(%%x, %%s, %%z) {to=%s, axis=%d}", to, axis);
}

static void random_gelu(uint64_t *seed, cpu_check_line *l) { /* around the ends of tiles and vectors */
  cpu_check_print(&l->inputs, "x: %s[%d] range(-9,9)", CPU_CHECK_PICK(seed, "f32", "f16", "bf16"),
                  4096 * cpu_check_int(seed, 0, 9) + cpu_check_int(seed, 1, 40));
  cpu_check_print(&l->expr, "gelu(%%x)");
}

TEST(random_shapes_and_types) {
  CHECK(cpu_check_random(RLX_OP_add, 60, random_add, NULL));
  CHECK(cpu_check_random(RLX_OP_max, 30, random_max, NULL));
  CHECK(cpu_check_random(RLX_OP_shr, 30, random_shr, NULL));
  CHECK(cpu_check_random(RLX_OP_lt, 30, random_lt, NULL));
  CHECK(cpu_check_random(RLX_OP_xor, 15, random_xor, NULL));
  CHECK(cpu_check_random(RLX_OP_where, 40, random_where, NULL));
  CHECK(cpu_check_random(RLX_OP_cast, 60, random_cast, NULL));
  CHECK(cpu_check_random(RLX_OP_quantize, 30, random_quantize, NULL));
  CHECK(cpu_check_random(RLX_OP_gelu, 12, random_gelu, NULL));
}

TEST(blocks_decode) {
  CHECK(cpu_check_text(RLX_OP_cast, "x: q8_0[3,4096]", "cast(%x) {to=f32}", NULL));
  CHECK(cpu_check_text(RLX_OP_cast, "x: q4_k[7,1280]", "cast(%x) {to=f16}", NULL));
}

/* ---- regions ---- */

/* A region over three inputs that broadcast, of ops that are continuous and do not amplify errors. */
static void random_region(uint64_t *seed, cpu_check_line *l) {
  const char *type = CPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16");
  shapes s;
  make_shapes(seed, &s);
  cpu_check_print(&l->inputs, "a: %s[%s]; b: %s[%s]; c: %s[]", type, s.whole, type, s.part, type);
  char body[768], *at = body;
  at += sprintf(body, "%%v0 = input \"a\" : %s[%s]; %%v1 = input \"b\" : %s[%s]; %%v2 = input \"c\" : %s[]; ", type,
                s.whole, type, s.part, type);
  at += sprintf(at, "%%v3 = add(%%v0, %%v1); %%m = lt(%%v0, %%v1); ");
  int n = 3;
  for (int nodes = cpu_check_int(seed, 1, 12); nodes > 0; nodes--) {
    int x = cpu_check_int(seed, 0, n), y = cpu_check_int(seed, 0, n);
    if (cpu_check_int(seed, 0, 2) == 0)
      at += sprintf(at, "%%v%d = %s(%%v%d); ", ++n, CPU_CHECK_PICK(seed, "tanh", "neg", "abs", "sigmoid", "relu"), x);
    else if (cpu_check_int(seed, 0, 5) == 0) at += sprintf(at, "%%v%d = where(%%m, %%v%d, %%v%d); ", ++n, x, y);
    else at += sprintf(at, "%%v%d = %s(%%v%d, %%v%d); ", ++n, CPU_CHECK_PICK(seed, "max", "min", "add"), x, y);
  }
  sprintf(at, "%%y = add(%%v%d, %%v0); output \"y\" = %%y", n);
  cpu_check_print(&l->expr, "region(%%a, %%b, %%c) {body=graph { %s }}", body);
}

TEST(random_regions_against_the_reference) { CHECK(cpu_check_random(RLX_OP_region, 60, random_region, NULL)); }

/* Runs a node with its kernel on given inputs; false where it is not claimed. */
static bool run_native(const rlx_graph *g, rlx_node id, cpu_isa isa, const void *const *in, void *out) {
  const rlx_node_rec *n = rlx_graph_at(g, id);
  const cpu_kernel *k = cpu_kernel_get(n->op);
  rlx_claim claim = {.why = NULL};
  if (!k || !k->claim(&(rlx_claim_query){.graph = g, .node = id}, isa, &claim) || claim.work_bytes) return false;
  uint32_t layout[16] = {0};
  rlx_bump memory = {0};
  cpu_call c = {
    .graph = g, .node = n, .attrs = n->attrs, .isa = isa, .n_in = n->n_in, .in = in, .out = out, .layout = layout};
  bool ok = (!k->prepare || k->prepare(&c, &memory) == RLX_OK) && k->run(&c) == RLX_OK;
  rlx_bump_deinit(&memory);
  return ok;
}

static size_t bytes_of(const rlx_node_rec *n) { return rlx_dims_count(&n->type.shape) * rlx_dtype_size(n->type.dtype); }

/* Runs the body's nodes one by one, each result stored in its own dtype; the last value goes to out. */
static bool run_apart(const rlx_graph *body, cpu_isa isa, const void *const *in, void *out) {
  rlx_node end = rlx_graph_end(body);
  void **value = calloc((size_t)end, sizeof *value);
  bool ok = value != NULL;
  uint32_t input = 0;
  for (rlx_node id = 1; id < end && ok; id++) {
    const rlx_node_rec *n = rlx_graph_at(body, id);
    const void *x[3] = {NULL, NULL, NULL};
    value[id] = malloc(bytes_of(n) + 1);
    if (n->op == RLX_OP_input) memcpy(value[id], in[input++], bytes_of(n));
    else if (n->op == RLX_OP_constant) memcpy(value[id], RLX_ATTRS(constant, n)->data->data, bytes_of(n));
    else {
      for (uint32_t i = 0; i < n->n_in; i++) x[i] = value[n->in[i]];
      ok = run_native(body, id, isa, x, value[id]);
    }
  }
  rlx_node last = body->outputs.v[0].node;
  if (ok) memcpy(out, value[last], bytes_of(rlx_graph_at(body, last)));
  for (rlx_node id = 1; value && id < end; id++) free(value[id]);
  free(value);
  return ok;
}

typedef struct values {
  const rlx_graph *graph;
  void **v; /* by node */
} values;

static void keep_value(void *user, rlx_node node, const rlx_tensor *t) {
  values *k = user;
  free(k->v[node]); /* leaves are visited again */
  k->v[node] = malloc(t->bytes + 1);
  memcpy(k->v[node], t->data, t->bytes);
}

/* Returns the number of regions compared; SIZE_MAX on a difference. */
static size_t compare_regions(const values *k) {
  size_t n_compared = 0;
  for (rlx_node id = 1; id < rlx_graph_end(k->graph); id++) {
    const rlx_node_rec *n = rlx_graph_at(k->graph, id);
    if (n->op != RLX_OP_region || !k->v[id]) continue;
    const void *in[16];
    for (uint32_t i = 0; i < n->n_in && i < 16; i++) in[i] = k->v[n->in[i]];
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
      void *whole = malloc(bytes_of(n) + 1), *apart = malloc(bytes_of(n) + 1);
      bool both = run_native(k->graph, id, (cpu_isa)isa, in, whole) &&
                  run_apart(RLX_ATTRS(region, n)->body, (cpu_isa)isa, in, apart);
      bool same = !both || memcmp(whole, apart, bytes_of(n)) == 0;
      free(whole), free(apart);
      if (!same) return SIZE_MAX;
      n_compared += both;
    }
  }
  return n_compared;
}

static rlx_status check_fused(uint64_t seed, size_t *n_compared) {
  random_graph r;
  RLX_TRY(random_graph_make(seed, 60, &r));
  rlx_optimized *o = NULL;
  rlx_status s = rlx_optimize(r.graph, &(rlx_optimize_options){RLX_OPTIMIZE_OPTIONS_INIT, .passes = "fuse"}, &o);
  const rlx_graph *g = s ? r.graph : rlx_optimized_graph(o);
  rlx_tensor *leaves = NULL;
  if (!s) s = random_leaves(g, seed, &leaves);
  values k = {g, calloc(rlx_graph_end(g), sizeof(void *))};
  const rlx_tensor **by_node = calloc(rlx_graph_end(g), sizeof *by_node);
  rlx_tensor *outputs = calloc(g->outputs.n + 1, sizeof *outputs);
  for (rlx_node id = 1; !s && id < rlx_graph_end(g); id++)
    if (leaves[id].data) {
      by_node[id] = &leaves[id];
      keep_value(&k, id, &leaves[id]);
    }
  for (size_t i = 0; i < g->outputs.n && !s; i++)
    s = rlx_tensor_create(&rlx_graph_at(g, g->outputs.v[i].node)->type, &outputs[i]);
  if (!s) s = rlx_eval_graph(g, &(rlx_eval_context){.observe = keep_value, .observe_user = &k}, by_node, outputs, NULL);
  size_t n = s ? 0 : compare_regions(&k);
  if (n == SIZE_MAX)
    s = RLX_FAIL(RLX_INVALID, "a region of graph %llu differs from its nodes", (unsigned long long)seed);
  else *n_compared += n;
  for (size_t i = 0; i < g->outputs.n; i++) rlx_tensor_deinit(&outputs[i]);
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) free(k.v[id]);
  if (leaves) random_leaves_free(g, leaves);
  free(k.v), free(by_node), free(outputs);
  rlx_optimized_destroy(o);
  random_graph_deinit(&r);
  return s;
}

TEST(regions_have_the_bits_of_their_nodes) {
  size_t n_compared = 0;
  for (uint64_t seed = 1; seed <= (TEST_IS_SANITIZED ? 40 : 200); seed++) CHECK_OK(check_fused(seed, &n_compared));
  CHECK(n_compared > 30);
}

/* ---- no memory ---- */

static rlx_status prepare_only(void *user) {
  const rlx_graph *g = user;
  const rlx_node_rec *n = rlx_graph_at(g, g->outputs.v[0].node);
  cpu_call c = {.graph = g, .node = n, .attrs = n->attrs, .n_in = n->n_in};
  rlx_bump memory = {0};
  rlx_status s = cpu_kernel_get(n->op)->prepare(&c, &memory);
  rlx_bump_deinit(&memory);
  return s;
}

TEST(a_program_without_memory_fails) {
  rlx_case_built built;
  CHECK_OK(rlx_case_build(RLX_OP_region, &rlx_case_table_get(RLX_OP_region)->v[2], &built));
  rlx_status s = alloc_sweep(prepare_only, built.graph);
  rlx_case_deinit(&built);
  CHECK_OK(s);
}
