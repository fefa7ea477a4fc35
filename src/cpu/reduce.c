/* Reductions over any axes.
 *
 * After merging, the axes of the input alternate between kept and reduced. If the last one is reduced, each result is
 * folded from rows. If it is kept, a block of adjacent results is folded column by column. So memory is read
 * contiguously either way. The rows (or lines of columns) of one result are its units. With few results and much to
 * fold, the units are split into segments of fixed size, which are folded separately and combined in order. The split
 * depends on the shape alone, and so do the bits. */
#include "cpu/reduce.h"
#include "ir/element.h"
#include "ir/scalar.h"
#include "ir/walk.h"

enum {
  CHUNK = 2048,         /* elements loaded at a time, and the longest row summed in f32 */
  BLOCK = 1024,         /* columns of a task */
  MAX_SEGMENTS = 64,    /* of one result's units */
  SEGMENT_WORK = 32768, /* elements that are worth a segment */
  MANY_GROUPS = 16      /* enough work for threads without segments */
};

typedef struct axis_list {
  int n;
  size_t size[RLX_MAX_RANK], step[RLX_MAX_RANK]; /* strides in the input */
} axis_list;

/* The offset in the input of an index into a list of axes. */
static size_t offset_of(const axis_list *a, size_t index) {
  size_t at = 0;
  for (int i = a->n - 1; i >= 0; i--) at += index % a->size[i] * a->step[i], index /= a->size[i];
  return at;
}

typedef struct reduction {
  cpu_fold fold;
  bool mean, rows; /* rows: the last axis is reduced */
  rlx_dtype dtype;
  size_t element, n_out, per_out; /* per_out: elements folded into one result */
  axis_list kept, reduced;        /* without the last axis */
  size_t last;                    /* size of the last axis */
  size_t chunks, units;           /* chunks of a row; units of a result */
  size_t groups, blocks;          /* groups of results; blocks of columns per line */
  size_t segments, per_segment;   /* of units */
  cpu_acc start;
  cpu_fold_fn fn;
  cpu_tile_fn load; /* NULL: the memory has the form of a tile */
} reduction;

static const rlx_dims *axes_of(const rlx_node_rec *n) {
  return rlx_attr_named(rlx_op_table_get(n->op), n->attrs, "axes"); /* all reductions have this attribute */
}

static void split_axes(reduction *r, const rlx_dims *shape, const rlx_dims *axes) {
  cpu_axes a;
  cpu_axes_begin(&a, shape);
  cpu_axes_broadcast(&a, shape);
  rlx_reduced_strides(shape, axes, a.stride[a.n_operands++]);
  cpu_axes_collapse(&a);
  r->last = a.n ? a.size[a.n - 1] : 1;
  r->rows = a.n == 0 || a.stride[1][a.n - 1] == 0;
  for (int i = 0; i + 1 < a.n; i++) {
    axis_list *to = a.stride[1][i] == 0 ? &r->reduced : &r->kept;
    to->size[to->n] = a.size[i];
    to->step[to->n++] = a.stride[0][i];
  }
}

static size_t list_count(const axis_list *a) {
  size_t n = 1;
  for (int i = 0; i < a->n; i++) n *= a->size[i];
  return n;
}

static void set_segments(reduction *r) {
  size_t wanted = r->groups >= MANY_GROUPS ? 1 : r->n_out * r->per_out / SEGMENT_WORK / r->groups;
  r->segments = wanted < 1 ? 1 : wanted > MAX_SEGMENTS ? MAX_SEGMENTS : wanted;
  if (r->segments > r->units) r->segments = r->units;
  r->per_segment = (r->units - 1) / r->segments + 1;
  r->segments = (r->units - 1) / r->per_segment + 1;
}

/* The neutral element; for integers that of the dtype. */
static cpu_acc start_of(cpu_fold fold, rlx_dtype dtype) {
  static const double neutral[] = {
    [CPU_FOLD_SUM] = 0, [CPU_FOLD_PROD] = 1, [CPU_FOLD_MAX] = -RLX_INFINITY, [CPU_FOLD_MIN] = RLX_INFINITY};
  cpu_acc start = {.f = neutral[fold]};
  if (rlx_dtype_is_float(dtype)) return start;
  int64_t storage;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store_value(&one, 0, neutral[fold]);
  start.i = rlx_load_int(&one, 0);
  return start;
}

static void reduction_init(reduction *r, const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa) {
  static const cpu_fold folds[RLX_OP_COUNT] = {
    [RLX_OP_reduce_prod] = CPU_FOLD_PROD, [RLX_OP_reduce_max] = CPU_FOLD_MAX, [RLX_OP_reduce_min] = CPU_FOLD_MIN};
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type;
  size_t n_in = rlx_dims_count(&x->shape);
  *r = (reduction){.fold = folds[n->op],
                   .mean = n->op == RLX_OP_reduce_mean,
                   .dtype = x->dtype,
                   .element = rlx_dtype_size(x->dtype),
                   .n_out = rlx_dims_count(&n->type.shape)};
  r->start = start_of(r->fold, x->dtype);
  if (n_in == 0 || r->n_out == 0) return; /* no groups: only the neutral element is stored */
  r->per_out = n_in / r->n_out;
  split_axes(r, &x->shape, axes_of(n));
  r->chunks = r->rows ? (r->last - 1) / CHUNK + 1 : 1;
  r->units = list_count(&r->reduced) * r->chunks;
  r->blocks = r->rows ? 1 : (r->last - 1) / BLOCK + 1;
  r->groups = list_count(&r->kept) * r->blocks;
  set_segments(r);
  bool floats = cpu_form_of(x->dtype) == CPU_FLOATS;
  const cpu_fold_fns *fns = floats ? &cpu_folds(isa)->floats : &cpu_folds(isa)->ints;
  r->fn = r->rows ? fns->row[r->fold] : fns->columns[r->fold];
  if (x->dtype != RLX_F32 && x->dtype != RLX_I64) r->load = cpu_tile_move(isa)->load[x->dtype];
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  reduction r;
  reduction_init(&r, q->graph, n, isa);
  if (r.segments > 1) c->work_bytes = (uint64_t)r.segments * r.n_out * sizeof(cpu_acc);
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  reduction *r = rlx_bump_new(memory, reduction);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "a reduction");
  reduction_init(r, c->graph, c->node, c->isa);
  c->prepared = r;
  return RLX_OK;
}

/* ---- run ---- */

typedef struct reduce_run {
  const reduction *r;
  const cpu_call *call;
} reduce_run;

static void store_results(const reduce_run *run, size_t first, const cpu_acc *acc, size_t n) {
  rlx_tensor out = {.dtype = run->r->dtype, .data = run->call->out};
  for (size_t i = 0; i < n; i++) {
    if (!rlx_dtype_is_float(out.dtype)) rlx_store_int(&out, first + i, acc[i].i);
    else rlx_store(&out, first + i, run->r->mean ? acc[i].f / (double)run->r->per_out : acc[i].f);
  }
}

/* Folds units begin..end of a group of w results, which start at `base` of the input. */
static void fold_units(const reduce_run *run, size_t base, size_t w, size_t begin, size_t end, cpu_acc *acc) {
  const reduction *r = run->r;
  int64_t loaded[CHUNK];
  size_t done = 0;
  for (size_t u = begin; u < end && !cpu_stops_after(&done, CHUNK / 4); u++) {
    size_t chunk = u % r->chunks * CHUNK, at = base + offset_of(&r->reduced, u / r->chunks) + chunk, n = w;
    if (r->rows) n = r->last - chunk < CHUNK ? r->last - chunk : CHUNK;
    const void *x = (const char *)run->call->in[0] + at * r->element;
    if (r->load) r->load(NULL, loaded, x, NULL, NULL, n), x = loaded;
    r->fn(acc, x, n);
  }
}

static void fold_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const reduce_run *run = user;
  const reduction *r = run->r;
  for (size_t task = begin; task < end; task++) {
    size_t segment = task % r->segments, group = task / r->segments;
    size_t line = group / r->blocks, column = group % r->blocks * BLOCK;
    size_t w = r->rows ? 1 : r->last - column < BLOCK ? r->last - column : BLOCK;
    size_t first = r->rows ? group : line * r->last + column;
    cpu_acc acc[BLOCK];
    for (size_t i = 0; i < w; i++) acc[i] = r->start;
    size_t from = segment * r->per_segment, to = from + r->per_segment;
    fold_units(run, offset_of(&r->kept, line) + column, w, from, to < r->units ? to : r->units, acc);
    if (r->segments == 1) store_results(run, first, acc, w);
    else memcpy((cpu_acc *)run->call->work + segment * r->n_out + first, acc, w * sizeof *acc);
  }
}

/* Combines two partial results. */
static cpu_acc combine(const reduction *r, cpu_acc a, cpu_acc b) {
  static double (*const floats[])(double, double) = {rlx_scalar_add_f, rlx_scalar_mul_f, rlx_scalar_max_f,
                                                     rlx_scalar_min_f};
  static int64_t (*const ints[])(int64_t, int64_t, int) = {rlx_scalar_add_i, rlx_scalar_mul_i, rlx_scalar_max_i,
                                                           rlx_scalar_min_i};
  if (rlx_dtype_is_float(r->dtype)) a.f = floats[r->fold](a.f, b.f);
  else a.i = ints[r->fold](a.i, b.i, 64);
  return a;
}

static rlx_status run_reduce(const cpu_call *c) {
  const reduction *r = c->prepared;
  reduce_run run = {r, c};
  size_t tasks = r->groups * r->segments;
  if (tasks == 0)
    for (size_t i = 0; i < r->n_out; i++) store_results(&run, i, &r->start, 1);
  else
    cpu_parallel(c->pool, tasks, cpu_grain(tasks, 0.3 * (double)(r->n_out * r->per_out) / (double)tasks + 20),
                 fold_tasks, &run);
  const cpu_acc *parts = c->work;
  for (size_t i = 0; r->segments > 1 && i < r->n_out; i++) {
    cpu_acc acc = parts[i];
    for (size_t s = 1; s < r->segments; s++) acc = combine(r, acc, parts[s * r->n_out + i]);
    store_results(&run, i, &acc, 1);
  }
  return RLX_OK;
}

const cpu_kernel cpu_reduce_kernel = {.claim = claim, .prepare = prepare, .run = run_reduce, .no_f64 = true};
