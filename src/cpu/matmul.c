/* The matmul-like ops, each as one or two products (matmul.h).
 *
 *     matmul, fused_matmul_bias_act   one product; where b has no batch axes, a's batch is folded into its rows
 *     dot_general                     the same, where a reshape alone makes it a matmul; otherwise a pass rewrites it
 *     fused_gate_up                   the gate's product, multiplied by the other one (`times`); with block types one
 *                                     after the other, through out
 *     lora_matmul                     first x a, as f32; then x w `plus` that times b
 *     grouped_matmul and its variant  the rows are sorted by expert; one product per expert that has rows
 *
 * describe() reads a node into products without pointers. The claim uses it to compute what they need; prepare then
 * adds the pointers. Only the pool is set per run. */
#include "cpu/matmul.h"

#include "base/arith.h"
#include "cpu/gemm.h"
#include "cpu/quant.h"
#include "ir/walk.h"

typedef enum matmul_kind { ONE, GATE_UP, LOW_RANK, EXPERTS } matmul_kind;

typedef struct matmul {
  matmul_kind kind;
  cpu_product main;  /* a b; the gate; x w; one expert */
  cpu_product other; /* the other product of the gate; (x a) b */
  cpu_product low;   /* x a */
  size_t n_looped;   /* products of a batch that are run one by one */
  double scale;      /* of the low-rank part */
  size_t n_experts;
  bool idx_is_i64;
  /* Offsets in the work memory; the main product's own work memory is at 0. */
  size_t low_at, other_work_at, rows_at, starts_at;
  /* of the call, for run */
  const void *idx;
} matmul;

static bool is_block(const cpu_product *p) { return rlx_dtype_is_block(p->shape.b_type); }

static bool product_claim(const cpu_product *p, cpu_product_claim *out) {
  *out = (cpu_product_claim){0};
  return is_block(p) ? cpu_quant_claim(&p->shape, out) : cpu_gemm_claim(&p->shape, out);
}
static void product_run(const cpu_product *p) {
  if (is_block(p)) cpu_quant_product(p);
  else cpu_gemm_product(p);
}
static uint64_t matrix_bytes(const cpu_product *p) {
  return is_block(p) ? cpu_quant_matrix_bytes(&p->shape) : cpu_gemm_matrix_bytes(&p->shape);
}

uint32_t cpu_product_layout(cpu_isa isa, const rlx_type *matrix) {
  bool floats = rlx_dtype_is_weight_float(matrix->dtype);
  if (matrix->shape.n != 2 || !(floats || rlx_dtype_is_block(matrix->dtype))) return CPU_LAYOUT_PLAIN;
  cpu_product p = {.shape = {.m = 1,
                             .n = (size_t)matrix->shape.v[0],
                             .k = (size_t)matrix->shape.v[1],
                             .n_batch = 1,
                             .a_type = RLX_F32,
                             .b_type = matrix->dtype,
                             .out_type = RLX_F32,
                             .trans_b = true,
                             .isa = isa}};
  cpu_product_claim claim;
  return product_claim(&p, &claim) ? claim.preferred : CPU_LAYOUT_PLAIN;
}

/* ---- reading a node ---- */

typedef struct source { /* a node, as claim and prepare see it */
  const rlx_graph *graph;
  const rlx_node_rec *node;
  const uint32_t *layout; /* NULL: not decided */
  cpu_isa isa;
  uint32_t switches;
} source;

static const rlx_type *type_of(const source *s, uint32_t i) { return &rlx_graph_at(s->graph, s->node->in[i])->type; }
static uint32_t layout_of(const source *s, uint32_t i) { return s->layout ? s->layout[i] : CPU_LAYOUT_PLAIN; }

/* Sets m, n and k of a [.., M, K] b [.., K, N] with a result of this shape; b is input b_in. */
static void set_shape(const source *s, const rlx_type *a, uint32_t b_in, bool trans_b, const rlx_dims *out,
                      cpu_product *p) {
  p->shape = (cpu_product_shape){.m = (size_t)out->v[out->n - 2],
                                 .n = (size_t)out->v[out->n - 1],
                                 .k = (size_t)a->shape.v[a->shape.n - 1],
                                 .n_batch = 1,
                                 .a_type = a->dtype,
                                 .b_type = type_of(s, b_in)->dtype,
                                 .out_type = a->dtype,
                                 .trans_b = trans_b,
                                 .b_layout = layout_of(s, b_in),
                                 .isa = s->isa,
                                 .exact = s->switches & RLX_SWITCH_EXACT};
  p->a_row = p->shape.k;
  p->out_row = p->shape.n;
}

/* Sets the batch axes. There are none where all matrices of a use the same b: they are folded into m. */
static void set_batch(const rlx_type *a, const rlx_type *b, const rlx_dims *out, cpu_product *p) {
  rlx_dims own_a = a->shape, own_b = b->shape, batch = *out;
  own_a.n -= 2;
  own_b.n -= 2;
  batch.n -= 2;
  size_t count = rlx_dims_count(&batch);
  if (rlx_dims_count(&own_b) == 1 && rlx_dims_count(&own_a) == count) {
    p->shape.m *= count;
    return;
  }
  p->shape.n_batch = count;
  p->batch = batch;
  rlx_broadcast_strides(&own_a, &batch, p->a_batch);
  rlx_broadcast_strides(&own_b, &batch, p->b_batch);
  for (int i = 0; i < batch.n; i++) p->a_batch[i] *= p->shape.m * p->shape.k;
}

/* A product of inputs a_in and b_in with a result of the node's shape. */
static void set_product(const source *s, uint32_t a_in, uint32_t b_in, bool trans_b, cpu_product *p) {
  set_shape(s, type_of(s, a_in), b_in, trans_b, &s->node->type.shape, p);
  set_batch(type_of(s, a_in), type_of(s, b_in), &s->node->type.shape, p);
}

/* Whether these axes are first, first + 1, .. */
static bool in_order(const rlx_dims *axes, int rank, int first) {
  for (int i = 0; i < axes->n; i++)
    if (rlx_axis_of(axes->v[i], rank) != first + i) return false;
  return true;
}

/* The number of elements of n axes from `first` on. */
static size_t count_axes(const rlx_dims *d, int first, int n) {
  rlx_dims part = {.n = n};
  for (int i = 0; i < n; i++) part.v[i] = d->v[first + i];
  return rlx_dims_count(&part);
}

static const char *describe_dot_general(const source *s, matmul *m) {
  const rlx_attrs_dot_general *attrs = s->node->attrs;
  const rlx_dims *a = &type_of(s, 0)->shape, *b = &type_of(s, 1)->shape;
  int n_batch = attrs->batch_a.n, n_sum = attrs->contract_a.n;
  bool trans_b = in_order(&attrs->contract_b, b->n, b->n - n_sum);
  if (!in_order(&attrs->batch_a, a->n, 0) || !in_order(&attrs->batch_b, b->n, 0) ||
      !in_order(&attrs->contract_a, a->n, a->n - n_sum) || !(trans_b || in_order(&attrs->contract_b, b->n, n_batch)))
    return "its axes need a transpose first";
  size_t batch = count_axes(a, 0, n_batch), k = count_axes(a, a->n - n_sum, n_sum);
  size_t rows = count_axes(a, n_batch, a->n - n_sum - n_batch);
  size_t columns = count_axes(b, trans_b ? n_batch : n_batch + n_sum, b->n - n_sum - n_batch);
  rlx_dims out = RLX_DIMS((int64_t)rows, (int64_t)columns);
  rlx_type flat = {.dtype = type_of(s, 0)->dtype, .shape = RLX_DIMS((int64_t)k)};
  set_shape(s, &flat, 1, trans_b, &out, &m->main);
  m->main.shape.n_batch = batch;
  m->main.batch = RLX_DIMS((int64_t)batch);
  m->main.a_batch[0] = rows * k;
  m->main.b_batch[0] = 1;
  return NULL;
}

static void describe_low_rank(const source *s, matmul *m) {
  const rlx_attrs_lora_matmul *attrs = s->node->attrs;
  const rlx_type *x = type_of(s, 0);
  rlx_type narrow = {.dtype = RLX_F32, .shape = x->shape};
  narrow.shape.v[narrow.shape.n - 1] = type_of(s, 2)->shape.v[1];
  m->kind = LOW_RANK;
  m->scale = attrs->scale;
  set_product(s, 0, 1, attrs->trans_b, &m->main);
  set_shape(s, x, 2, false, &narrow.shape, &m->low);
  m->low.shape.out_type = RLX_F32;
  set_shape(s, &narrow, 3, false, &s->node->type.shape, &m->other);
  m->low.shape.m = m->other.shape.m = m->main.shape.m; /* w, a and b have no batch */
  m->other.shape.out_type = x->dtype;
}

static const char *describe_experts(const source *s, bool trans_b, matmul *m) {
  const rlx_type *w = type_of(s, 1);
  m->kind = EXPERTS;
  set_shape(s, type_of(s, 0), 1, trans_b, &s->node->type.shape, &m->main);
  m->n_experts = (size_t)w->shape.v[0];
  m->idx_is_i64 = type_of(s, 2)->dtype == RLX_I64;
  return m->n_experts < UINT32_MAX && m->main.shape.m < UINT32_MAX ? NULL : "so many rows or experts";
}

/* NULL, or why the node is not supported. */
static const char *describe(const source *s, matmul *m) {
  const void *attrs = s->node->attrs;
  *m = (matmul){.kind = ONE, .n_looped = 1};
  switch (s->node->op) {
    case RLX_OP_matmul: set_product(s, 0, 1, ((const rlx_attrs_matmul *)attrs)->trans_b, &m->main); break;
    case RLX_OP_fused_matmul_bias_act:
      set_product(s, 0, 1, ((const rlx_attrs_fused_matmul_bias_act *)attrs)->trans_b, &m->main);
      m->main.act = ((const rlx_attrs_fused_matmul_bias_act *)attrs)->act;
      break;
    case RLX_OP_fused_gate_up:
      m->kind = GATE_UP;
      set_product(s, 0, 1, ((const rlx_attrs_fused_gate_up *)attrs)->trans_b, &m->main);
      set_product(s, 0, 2, ((const rlx_attrs_fused_gate_up *)attrs)->trans_b, &m->other);
      m->main.act = ((const rlx_attrs_fused_gate_up *)attrs)->act;
      break;
    case RLX_OP_lora_matmul: describe_low_rank(s, m); break;
    case RLX_OP_grouped_matmul: return describe_experts(s, ((const rlx_attrs_grouped_matmul *)attrs)->trans_b, m);
    case RLX_OP_dequant_grouped_matmul:
      return describe_experts(s, ((const rlx_attrs_dequant_grouped_matmul *)attrs)->trans_b, m);
    default: return describe_dot_general(s, m);
  }
  return NULL;
}

/* Batches of block-type matrices are run here, one product at a time. */
static void loop_batch(matmul *m) {
  if (!is_block(&m->main) && !(m->kind == GATE_UP && is_block(&m->other))) return;
  m->n_looped = m->main.shape.n_batch;
  m->main.shape.n_batch = m->other.shape.n_batch = 1;
}

/* ---- work memory ---- */

static bool reserve(size_t *end, uint64_t bytes, size_t *at) {
  *at = *end;
  return bytes <= SIZE_MAX / 2 && rlx_add_size(*end, (size_t)bytes, end) && rlx_pad_size(*end, 64, end);
}

/* Assigns offsets in the work memory from what the products need (0 where there is none). Products that run one after
 * the other share the memory at 0. */
static bool assign_work(matmul *m, uint64_t main, uint64_t other, uint64_t low, size_t *bytes) {
  size_t at, count;
  uint64_t shared = main > low ? main : low;
  if (m->kind == GATE_UP && other > shared) shared = other;
  *bytes = 0;
  if (!reserve(bytes, shared, &at)) return false;
  if (m->kind == LOW_RANK)
    return rlx_mul_size(m->low.shape.m, m->low.shape.n, &count) && count <= SIZE_MAX / 8 &&
           reserve(bytes, other, &m->other_work_at) && reserve(bytes, count * sizeof(float), &m->low_at);
  if (m->kind == EXPERTS)
    return reserve(bytes, m->main.shape.m * sizeof(uint32_t), &m->rows_at) &&
           reserve(bytes, (m->n_experts + 1) * sizeof(uint32_t), &m->starts_at);
  return true;
}

/* Claims all products of a described node; `preferred` has the layouts by input. */
static const char *claim_products(matmul *m, uint32_t *preferred, size_t *bytes) {
  cpu_product_claim main, other = {0}, low = {0};
  loop_batch(m);
  if (!product_claim(&m->main, &main)) return main.why;
  if ((m->kind == GATE_UP || m->kind == LOW_RANK) && !product_claim(&m->other, &other)) return other.why;
  if (m->kind == LOW_RANK && !product_claim(&m->low, &low)) return low.why;
  preferred[1] = main.preferred;
  if (m->kind == GATE_UP) preferred[2] = other.preferred;
  if (m->kind == LOW_RANK) preferred[2] = low.preferred, preferred[3] = other.preferred;
  return assign_work(m, main.work_bytes, other.work_bytes, low.work_bytes, bytes) ? NULL : "it needs too much memory";
}

/* Only layouts that this kernel prefers can be read. */
static bool reads_layouts(const source *s, const uint32_t *preferred) {
  for (uint32_t i = 0; s->layout && i < s->node->n_in; i++)
    if (s->layout[i] != CPU_LAYOUT_PLAIN && s->layout[i] != preferred[i]) return false;
  return true;
}

/* dot_general's b can have a layout only where it is a matrix, or a batch of matrices. */
static bool is_matrix(const source *s, const matmul *m) {
  const rlx_dims *b = &type_of(s, 1)->shape;
  const cpu_product_shape *p = &m->main.shape;
  return b->n >= 2 && (size_t)b->v[b->n - (p->trans_b ? 1 : 2)] == p->k &&
         (size_t)b->v[b->n - (p->trans_b ? 2 : 1)] == p->n;
}

static bool matmul_claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  source s = {q->graph, rlx_graph_at(q->graph, q->node), q->layout, isa, q->switches};
  matmul m;
  uint32_t preferred[RLX_OP_MAX_INPUTS] = {0};
  size_t bytes = 0;
  c->why = describe(&s, &m);
  if (!c->why) c->why = claim_products(&m, preferred, &bytes);
  if (c->why) return false;
  if (s.node->op == RLX_OP_dot_general && !is_matrix(&s, &m)) preferred[1] = 0;
  if (!reads_layouts(&s, preferred)) {
    c->why = "a weight in a layout of another op";
    return false;
  }
  for (uint32_t i = 0; i < RLX_OP_MAX_INPUTS; i++) c->layout[i] = preferred[i];
  c->work_bytes = bytes;
  return true;
}

/* ---- running ---- */

static rlx_status matmul_prepare(cpu_call *c, rlx_bump *memory) {
  source s = {c->graph, c->node, c->layout, c->isa, c->switches};
  matmul *m = rlx_bump_new(memory, matmul);
  if (!m) return RLX_FAIL(RLX_NO_MEMORY, "no memory to prepare a matrix product");
  uint32_t preferred[RLX_OP_MAX_INPUTS] = {0};
  size_t bytes;
  const char *why = describe(&s, m);
  if (!why) why = claim_products(m, preferred, &bytes);
  if (why) return RLX_FAIL(RLX_INVALID, "matrix product: %s", why);
  char *work = c->work;
  m->main.a = c->in[0];
  m->main.b = c->in[1];
  m->main.out = c->out;
  m->main.work = work;
  if (c->node->op == RLX_OP_fused_matmul_bias_act) m->main.bias = cpu_in(c, 2);
  if (m->kind == GATE_UP) {
    m->other.a = c->in[0];
    m->other.b = c->in[2];
    m->other.out = c->out;
    m->other.work = work;
  }
  if (m->kind == LOW_RANK) {
    m->low.a = c->in[0];
    m->low.b = c->in[2];
    m->low.out = work + m->low_at;
    m->low.work = work;
    m->other.a = m->low.out;
    m->other.b = c->in[3];
    m->other.out = c->out;
    m->other.work = work + m->other_work_at;
  }
  if (m->kind == EXPERTS) m->idx = c->in[2];
  c->prepared = m;
  return RLX_OK;
}

/* Product i of a batch, as a single product. */
static cpu_product product_at(const cpu_product *p, size_t i) {
  cpu_product one = *p;
  one.a = (const char *)p->a + cpu_batch_offset(p, p->a_batch, i) * rlx_dtype_size(p->shape.a_type);
  one.b = (const char *)p->b + cpu_batch_offset(p, p->b_batch, i) * (size_t)matrix_bytes(p);
  one.out = (char *)p->out + i * p->shape.m * p->out_row * rlx_dtype_size(p->shape.out_type);
  one.batch.n = 0;
  return one;
}

static void run_one(const matmul *m, rlx_pool *pool) {
  for (size_t i = 0; i < m->n_looped; i++) {
    cpu_product p = m->n_looped > 1 ? product_at(&m->main, i) : m->main;
    p.pool = pool;
    product_run(&p);
  }
}

static void run_gate_up(const matmul *m, rlx_pool *pool) {
  cpu_product gate = m->main, up = m->other;
  gate.pool = pool;
  if (!is_block(&gate) && !is_block(&up)) {
    gate.times = &up;
    product_run(&gate);
    return;
  }
  for (size_t i = 0; i < m->n_looped; i++) {
    if (m->n_looped > 1) gate = product_at(&m->main, i), up = product_at(&m->other, i);
    gate.pool = up.pool = pool;
    gate.store = CPU_STORE_MUL;
    if (is_block(&up) && is_block(&gate) && cpu_quant_joins(&up, &gate)) {
      up.then = &gate;
      product_run(&up);
      continue;
    }
    product_run(&up);
    product_run(&gate);
  }
}

static void run_low_rank(const matmul *m, rlx_pool *pool) {
  cpu_product low = m->low, main = m->main, other = m->other;
  low.pool = main.pool = other.pool = pool;
  product_run(&low);
  float *values = low.out;
  for (size_t i = 0; i < low.shape.m * low.shape.n; i++) values[i] = (float)(values[i] * m->scale);
  if (is_block(&main) || is_block(&other)) {
    product_run(&main);
    other.store = CPU_STORE_ADD;
    product_run(&other);
  } else {
    main.plus = &other;
    product_run(&main);
  }
}

static int64_t expert_of(const matmul *m, size_t i) {
  return m->idx_is_i64 ? ((const int64_t *)m->idx)[i] : ((const int32_t *)m->idx)[i];
}

/* Sorts the rows by expert (stable) and runs each expert on its rows. */
static rlx_status run_experts(const matmul *m, rlx_pool *pool) {
  uint32_t *rows = (uint32_t *)((char *)m->main.work + m->rows_at);
  uint32_t *starts = (uint32_t *)((char *)m->main.work + m->starts_at);
  for (size_t e = 0; e <= m->n_experts; e++) starts[e] = 0;
  for (size_t i = 0; i < m->main.shape.m; i++) {
    int64_t e = expert_of(m, i);
    if (e < 0 || e >= (int64_t)m->n_experts)
      return RLX_FAIL(RLX_INVALID, "idx[%zu] is expert %lld of %zu", i, (long long)e, m->n_experts);
    starts[e + 1]++;
  }
  for (size_t e = 0; e < m->n_experts; e++) starts[e + 1] += starts[e];
  for (size_t i = 0; i < m->main.shape.m; i++) rows[starts[expert_of(m, i)]++] = (uint32_t)i;
  size_t matrix = (size_t)matrix_bytes(&m->main);
  uint32_t begin = 0; /* starts[e] is now the end of e */
  for (size_t e = 0; e < m->n_experts; begin = starts[e], e++) {
    cpu_product p = m->main;
    p.shape.m = starts[e] - begin;
    p.rows = rows + begin;
    p.b = (const char *)p.b + e * matrix;
    p.pool = pool;
    if (p.shape.m > 0) product_run(&p);
  }
  return RLX_OK;
}

static rlx_status matmul_run(const cpu_call *c) {
  const matmul *m = c->prepared;
  switch (m->kind) {
    case ONE: run_one(m, c->pool); return RLX_OK;
    case GATE_UP: run_gate_up(m, c->pool); return RLX_OK;
    case LOW_RANK: run_low_rank(m, c->pool); return RLX_OK;
    case EXPERTS: return run_experts(m, c->pool);
  }
  return RLX_OK;
}

/* ---- joined nodes ---- */

static bool matmul_joins(const cpu_call *a, const cpu_call *b) {
  const matmul *m = a->prepared, *n = b->prepared;
  return m->kind == ONE && n->kind == ONE && m->n_looped == 1 && n->n_looped == 1 && is_block(&m->main) &&
         is_block(&n->main) && cpu_quant_joins(&m->main, &n->main);
}

static rlx_status matmul_run_joined(const cpu_call *const *calls, size_t n) {
  cpu_product products[CPU_MAX_JOINED];
  const cpu_product *list[CPU_MAX_JOINED];
  for (size_t i = 0; i < n; i++) {
    products[i] = ((const matmul *)calls[i]->prepared)->main;
    products[i].pool = calls[i]->pool;
    list[i] = &products[i];
  }
  cpu_quant_products(list, n);
  return RLX_OK;
}

const cpu_kernel cpu_matmul_kernel = {.claim = matmul_claim,
                                      .prepare = matmul_prepare,
                                      .run = matmul_run,
                                      .joins = matmul_joins,
                                      .run_joined = matmul_run_joined,
                                      .takes_layouts = true};
