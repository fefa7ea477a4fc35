/* See cpu_check.h. A case is built and evaluated by the reference with every value kept. Its nodes then go one by one
 * through claim, layouts, program and comparison. */
#include "cpu_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "cpu/cpu.h"
#include "ref/eval.h"
#include "test.h"

enum { GUARD = 64, N_POOLS = 3 };
static const unsigned pool_threads[N_POOLS] = {1, TEST_THREADS(2), TEST_THREADS(4)};

/* ---- state of the whole program ---- */

static rlx_pool *pools[N_POOLS]; /* the first stays NULL: only the caller's thread */
static rlx_device *devices[CPU_ISA_COUNT];

static void close_all(void) {
  for (int i = 0; i < N_POOLS; i++) rlx_pool_destroy(pools[i]);
  for (int i = 0; i < CPU_ISA_COUNT; i++)
    if (devices[i]) rlx_backend_cpu.close(devices[i]);
}

static rlx_status open_all(void) {
  static bool is_open;
  if (is_open) return RLX_OK;
  is_open = true;
  atexit(close_all);
  for (int i = 1; i < N_POOLS; i++) RLX_TRY(rlx_pool_create(pool_threads[i], &pools[i]));
  for (int i = 0; i <= (int)cpu_isa_best(); i++)
    RLX_TRY(rlx_backend_cpu.open(0, &(rlx_open_options){.variant = cpu_isa_name((cpu_isa)i)}, &devices[i]));
  return RLX_OK;
}

/* ---- a case with all its values ---- */

typedef struct run_case {
  rlx_case_built built;
  rlx_tensor *value; /* by node; data NULL: not needed by the result */
} run_case;

static void keep_value(void *user, rlx_node node, const rlx_tensor *value) {
  run_case *c = user;
  rlx_tensor *t = &c->value[node];
  *t = *value;
  t->data = malloc(value->bytes ? value->bytes : 1);
  if (t->data && value->bytes) memcpy(t->data, value->data, value->bytes);
}

static void run_case_deinit(run_case *c) {
  for (rlx_node id = 1; c->value && id < rlx_graph_end(c->built.graph); id++) free(c->value[id].data);
  free(c->value);
  rlx_case_deinit(&c->built);
}

static rlx_status evaluate(run_case *c) {
  const rlx_graph *g = c->built.graph;
  uint32_t end = rlx_graph_end(g);
  const rlx_tensor **leaves = calloc(end, sizeof *leaves);
  rlx_tensor *outputs = calloc(g->outputs.n, sizeof *outputs); /* none is requested: all values are kept */
  c->value = calloc(end, sizeof *c->value);
  for (size_t i = 0; i < c->built.n_values; i++) leaves[rlx_graph_leaf(g, c->built.names[i])] = &c->built.values[i];
  rlx_eval_context ctx = {.observe = keep_value, .observe_user = c, .draw = 7};
  rlx_status s = rlx_eval_graph(g, &ctx, leaves, outputs, NULL);
  free(leaves);
  free(outputs);
  return s;
}

/* ---- windows ---- */

/* Memory around a window: guards on both sides, the window `shift` bytes off the alignment. */
typedef struct window {
  unsigned char *memory, *at;
  size_t bytes, shift;
  rlx_block block;
  rlx_bound bound;
  unsigned char guard;
} window;

static rlx_status window_open(window *w, size_t bytes, size_t shift, unsigned char poison) {
  *w = (window){.bytes = bytes, .shift = shift, .guard = (unsigned char)~poison};
  void *memory = rlx_os_heap_alloc_aligned(GUARD + shift + bytes + GUARD, 256);
  if (!memory) return RLX_FAIL(RLX_NO_MEMORY, "a window");
  w->memory = memory;
  w->at = w->memory + GUARD + shift;
  memset(w->memory, w->guard, GUARD + shift);
  memset(w->at, poison, bytes);
  memset(w->at + bytes, w->guard, GUARD);
  w->block = (rlx_block){.bytes = bytes, .map = w->at};
  w->bound = (rlx_bound){.block = &w->block, .bytes = bytes};
  return RLX_OK;
}

/* A read-only window has no guard after it: its end is the end of the heap block, which ASan checks. */
static rlx_status window_open_input(window *w, const void *src, size_t bytes, size_t shift) {
  *w = (window){.bytes = bytes, .shift = shift};
  void *memory = rlx_os_heap_alloc_aligned(shift + bytes ? shift + bytes : 1, 256);
  if (!memory) return RLX_FAIL(RLX_NO_MEMORY, "a window");
  w->memory = memory;
  w->at = w->memory + shift;
  if (bytes) memcpy(w->at, src, bytes);
  w->block = (rlx_block){.bytes = bytes, .map = w->at};
  w->bound = (rlx_bound){.block = &w->block, .bytes = bytes};
  return RLX_OK;
}

static void window_close(window *w) { rlx_os_heap_free(w->memory); }

static bool window_guarded(const window *w) {
  for (size_t i = 0; i < GUARD + w->shift; i++)
    if (w->memory[i] != w->guard) return false;
  for (size_t i = 0; i < GUARD; i++)
    if (w->at[w->bytes + i] != w->guard) return false;
  return true;
}

/* Whether speed may be traded for accuracy. */
static bool is_conv(rlx_op op) { return op == RLX_OP_conv || op == RLX_OP_fused_conv_bias_act; }

/* ---- one node ---- */

typedef struct node_check {
  const run_case *c;
  rlx_node node;
  const rlx_node_rec *rec;
  cpu_isa isa;
  bool exact;
  const uint32_t *layout;
  rlx_claim claim;
  void **packed; /* by input: packed; NULL: as in the case */
  size_t *packed_bytes;
  rlx_tensor first; /* the first result, which all others must equal in bits */
  cpu_check_counts *counts;
  bool may_fail; /* it must fail at run time */
} node_check;

static uint32_t switches_of(const node_check *n) { return n->exact ? RLX_SWITCH_EXACT : RLX_SWITCH_FAST_CONV; }

typedef struct variant {
  int pool;
  bool shifted;
  int in_place; /* the input to overwrite; -1: none */
  unsigned char poison;
} variant;

static size_t n_allocations;
static bool count_allocation(void *user, size_t bytes) {
  (void)user, (void)bytes;
  n_allocations++;
  return true;
}

static size_t shift_of(rlx_dtype t, bool shifted) {
  if (!shifted) return 0;
  return rlx_dtype_is_block(t) ? rlx_dtype_describe(t)->block_bytes : rlx_dtype_size(t);
}

static rlx_status open_windows(const node_check *n, variant v, window *in, window *out, window *work) {
  for (uint32_t i = 0; i < n->rec->n_in; i++) {
    rlx_node source = n->rec->in[i];
    if (!source) continue;
    const rlx_tensor *t = &n->c->value[source];
    if (n->packed[i]) RLX_TRY(window_open_input(&in[i], n->packed[i], n->packed_bytes[i], 0));
    else RLX_TRY(window_open_input(&in[i], t->data, t->bytes, shift_of(t->dtype, v.shifted)));
  }
  const rlx_tensor *want = &n->c->value[n->node];
  RLX_TRY(window_open(out, want->bytes, shift_of(want->dtype, v.shifted), v.poison));
  return window_open(work, (size_t)n->claim.work_bytes, 0, (unsigned char)(v.poison ^ 0x55));
}

static bool has_blocks(const node_check *n) {
  for (uint32_t i = 0; i < n->rec->n_in; i++)
    if (n->rec->in[i] && rlx_dtype_is_block(n->c->value[n->rec->in[i]].dtype)) return true;
  return false;
}

static rlx_status compare(node_check *n, const window *out) {
  const rlx_tensor *want = &n->c->value[n->node];
  rlx_tensor y = *want;
  y.data = malloc(want->bytes ? want->bytes : 1); /* aligned, unlike the window */
  if (want->bytes) memcpy(y.data, out->at, want->bytes);
  double error = 0;
  const rlx_graph *g = n->c->built.graph;
  rlx_status s = rlx_compare(&y, want, rlx_tolerance_strict(g, n->node), &error);
  if (s && !n->exact && !is_conv(n->rec->op) && has_blocks(n))
    s = rlx_compare(&y, want, rlx_tolerance_rounded(g, n->node), &error), error = 0;
  if (error > n->counts->worst) n->counts->worst = error;
  if (!s && want->bytes && n->first.data && memcmp(n->first.data, y.data, want->bytes) != 0)
    s = RLX_FAIL(RLX_INVALID, "the bits differ from those with 1 thread, in memory of its own");
  if (!n->first.data) n->first = y;
  else free(y.data);
  return s;
}

static rlx_status check_after(node_check *n, variant v, const window *in, const window *out, const window *work) {
  if (v.in_place < 0 && !window_guarded(out)) return RLX_FAIL(RLX_INVALID, "wrote outside its result");
  if (!window_guarded(work)) return RLX_FAIL(RLX_INVALID, "wrote outside its work memory");
  for (uint32_t i = 0; i < n->rec->n_in; i++) {
    if (!n->rec->in[i] || (int)i == v.in_place) continue;
    const void *was = n->packed[i] ? n->packed[i] : n->c->value[n->rec->in[i]].data;
    if (in[i].bytes && memcmp(in[i].at, was, in[i].bytes) != 0)
      return RLX_FAIL(RLX_INVALID, "wrote to input %u", (unsigned)i);
  }
  return n->may_fail ? RLX_OK : compare(n, v.in_place < 0 ? out : &in[v.in_place]);
}

static rlx_status run_program(node_check *n, variant v, const rlx_bound_step *step) {
  rlx_program_desc desc = {.graph = n->c->built.graph, .steps = step, .n_steps = 1, .switches = switches_of(n)};
  rlx_program *p;
  RLX_TRY(rlx_backend_cpu.program_create(&(rlx_queue){devices[n->isa]}, &desc, &p));
  n_allocations = 0;
  rlx_mem_set_hook(count_allocation, NULL);
  rlx_status s = rlx_backend_cpu.submit(p, 0, 1, &(rlx_run_args){.draw = 7, .pool = pools[v.pool]});
  rlx_mem_set_hook(NULL, NULL);
  rlx_backend_cpu.program_destroy(p);
  n->counts->runs++;
  if (!s && n_allocations) s = RLX_FAIL(RLX_INVALID, "%zu allocations while running", n_allocations);
  return s;
}

static rlx_status run_windows(node_check *n, variant v, window *in, window *out, window *work) {
  RLX_TRY(open_windows(n, v, in, out, work));
  rlx_bound *bound = calloc((size_t)n->rec->n_in + 1, sizeof *bound);
  for (uint32_t i = 0; i < n->rec->n_in; i++) bound[i] = in[i].bound;
  rlx_bound_step step = {.node = n->node,
                         .n_in = n->rec->n_in,
                         .n_out = 1,
                         .in = bound,
                         .out = v.in_place < 0 ? &out->bound : &in[v.in_place].bound,
                         .layout = n->layout,
                         .claim = &n->claim,
                         .work = work->bound};
  rlx_status s = run_program(n, v, &step);
  free(bound);
  if (s && !n->may_fail) return s;
  rlx_status after = check_after(n, v, in, out, work);
  return after ? after : s;
}

static rlx_status run_variant(node_check *n, variant v) {
  window *in = calloc((size_t)n->rec->n_in + 1, sizeof *in), out = {0}, work = {0};
  rlx_status s = run_windows(n, v, in, &out, &work);
  for (uint32_t i = 0; i < n->rec->n_in; i++) window_close(&in[i]);
  window_close(&out);
  window_close(&work);
  free(in);
  if (!s) return s;
  return rlx_fail_frame(s, "%s, %u threads%s%s%s", cpu_isa_name(n->isa), pool_threads[v.pool],
                        n->exact ? ", exact" : "", v.shifted ? ", shifted" : "", v.in_place < 0 ? "" : ", in place");
}

/* All ways to run a node with given layouts. */
static rlx_status run_variants(node_check *n) {
  rlx_status s = RLX_OK;
  for (int pool = 0; pool < N_POOLS && !s; pool++)
    s = run_variant(n, (variant){pool, false, -1, (unsigned char)(0xcb + 31 * pool)});
  if (!s) s = run_variant(n, (variant){1, true, -1, 0xff});
  for (uint32_t i = 0; i < n->rec->n_in && i < 32 && !s; i++)
    if (n->claim.in_place >> i & 1) s = run_variant(n, (variant){(int)(i % N_POOLS), false, (int)i, 0});
  free(n->first.data);
  n->first.data = NULL;
  return s;
}

/* ---- layouts ---- */

static rlx_status pack(node_check *n, uint32_t i, uint32_t layout) {
  const rlx_tensor *t = &n->c->value[n->rec->in[i]];
  const rlx_type *type = &rlx_graph_at(n->c->built.graph, n->rec->in[i])->type;
  uint64_t bytes = rlx_backend_cpu.layout_bytes(devices[n->isa], layout, type);
  if (!bytes) return RLX_FAIL(RLX_INVALID, "prefers layout %#x of input %u, which is unknown", layout, (unsigned)i);
  n->packed_bytes[i] = (size_t)bytes;
  n->packed[i] = rlx_os_heap_alloc_aligned((size_t)bytes, 256);
  if (!n->packed[i]) return RLX_FAIL(RLX_NO_MEMORY, "a weight");
  memset(n->packed[i], 0xcb, (size_t)bytes);
  RLX_TRY(rlx_backend_cpu.repack(devices[n->isa], layout, type, true, t->data, n->packed[i], pools[1]));
  void *back = rlx_os_heap_alloc_aligned(t->bytes ? t->bytes : 1, 256);
  if (!back) return RLX_FAIL(RLX_NO_MEMORY, "a weight");
  rlx_status s = rlx_backend_cpu.repack(devices[n->isa], layout, type, false, n->packed[i], back, pools[1]);
  if (!s && t->bytes && memcmp(back, t->data, t->bytes) != 0)
    s = RLX_FAIL(RLX_INVALID, "input %u does not come back from layout %#x as it was", (unsigned)i, layout);
  rlx_os_heap_free(back);
  return s;
}

static bool is_weight(const node_check *n, uint32_t i) {
  rlx_op op = n->rec->in[i] ? rlx_graph_at(n->c->built.graph, n->rec->in[i])->op : RLX_OP_INVALID;
  return op == RLX_OP_param || op == RLX_OP_constant;
}

/* Packs the inputs with a preferred layout; false: there is none. */
static rlx_status pack_preferred(node_check *n, const rlx_claim *preferred, uint32_t *layout, bool *any) {
  *any = false;
  for (uint32_t i = 0; i < n->rec->n_in && i < RLX_OP_MAX_INPUTS; i++) {
    if (!preferred->layout[i] || !is_weight(n, i)) continue;
    layout[i] = preferred->layout[i];
    *any = true;
    RLX_TRY(pack(n, i, layout[i]));
  }
  return RLX_OK;
}

static rlx_status claim_now(node_check *n, const uint32_t *layout) {
  n->claim = (rlx_claim){0};
  n->layout = layout;
  rlx_claim_query q = {.graph = n->c->built.graph, .node = n->node, .layout = layout, .switches = switches_of(n)};
  return rlx_backend_cpu.claim(devices[n->isa], &q, &n->claim);
}

static rlx_status run_layouts(node_check *n, uint32_t *layout) {
  RLX_TRY(claim_now(n, NULL));
  rlx_claim preferred = n->claim;
  if (!n->claim.native) {
    n->counts->not_claimed++;
    return n->claim.why && *n->claim.why ? RLX_OK : RLX_FAIL(RLX_INVALID, "not claimed, and no word why");
  }
  n->counts->native++;
  RLX_TRY(claim_now(n, layout)); /* all plain */
  if (!n->claim.native) return RLX_FAIL(RLX_INVALID, "claimed, but not with weights as the graph has them");
  RLX_TRY(run_variants(n));
  bool any;
  RLX_TRY_AT(pack_preferred(n, &preferred, layout, &any), "%s", cpu_isa_name(n->isa));
  if (!any) return RLX_OK;
  RLX_TRY(claim_now(n, layout));
  if (!n->claim.native) return RLX_FAIL(RLX_INVALID, "claimed, but not in the preferred layout");
  RLX_TRY_AT(run_variants(n), "packed");
  return RLX_OK;
}

static rlx_status check_node(const run_case *c, rlx_node node, cpu_isa isa, bool exact, bool may_fail,
                             cpu_check_counts *counts) {
  node_check n = {.c = c,
                  .node = node,
                  .rec = rlx_graph_at(c->built.graph, node),
                  .isa = isa,
                  .exact = exact,
                  .may_fail = may_fail,
                  .counts = counts};
  size_t n_in = (size_t)n.rec->n_in + 1;
  uint32_t *layout = calloc(n_in, sizeof *layout);
  n.packed = calloc(n_in, sizeof *n.packed);
  n.packed_bytes = calloc(n_in, sizeof *n.packed_bytes);
  rlx_status s = run_layouts(&n, layout);
  for (size_t i = 0; i < n_in; i++) rlx_os_heap_free(n.packed[i]);
  free(n.first.data);
  free(n.packed);
  free(n.packed_bytes);
  free(layout);
  return s;
}

static rlx_status check_nodes(rlx_op op, const run_case *c, cpu_check_counts *counts) {
  const rlx_graph *g = c->built.graph;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *rec = rlx_graph_at(g, id);
    if (rec->op != op || !c->value[id].data) continue;
    node_check n = {.c = c, .rec = rec};
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++)
      for (int exact = has_blocks(&n) || is_conv(rec->op) ? 0 : 1; exact < 2; exact++)
        RLX_TRY(check_node(c, id, (cpu_isa)isa, exact == 1, false, counts));
  }
  return RLX_OK;
}

static rlx_status check_case(rlx_op op, const rlx_case *text, cpu_check_counts *counts) {
  RLX_TRY(open_all());
  run_case c = {0};
  RLX_TRY(rlx_case_build(op, text, &c.built));
  rlx_status s = evaluate(&c);
  if (!s) s = check_nodes(op, &c, counts);
  run_case_deinit(&c);
  return s;
}

/* ---- public ---- */

static bool report(rlx_status s, rlx_op op, const rlx_case *c) {
  if (s)
    printf("  %s/%s: \"%s\", \"%s\": %s\n", rlx_op_table_get(op)->name, c->name, c->inputs, c->expr, rlx_message());
  return s == RLX_OK;
}

static void add_counts(cpu_check_counts *to, const cpu_check_counts *more) {
  if (!to) return;
  to->native += more->native;
  to->not_claimed += more->not_claimed;
  to->runs += more->runs;
  to->worst = fmax(to->worst, more->worst);
}

static bool some_native(rlx_op op, const cpu_check_counts *mine, const cpu_check_counts *counts) {
  if (counts || mine->native) return true;
  printf("  %s: no node is native\n", rlx_op_table_get(op)->name);
  return false;
}

bool cpu_check_cases(rlx_op op, cpu_check_counts *counts) {
  const rlx_case_table *table = rlx_case_table_get(op);
  cpu_check_counts mine = {0};
  bool ok = true;
  for (size_t i = 0; i < table->n; i++) ok &= report(check_case(op, &table->v[i], &mine), op, &table->v[i]);
  add_counts(counts, &mine);
  return ok && some_native(op, &mine, counts);
}

bool cpu_check_text(rlx_op op, const char *inputs, const char *expr, cpu_check_counts *counts) {
  cpu_check_counts mine = {0};
  rlx_case c = {"text", inputs, expr};
  bool ok = report(check_case(op, &c, &mine), op, &c);
  add_counts(counts, &mine);
  if (ok && !counts && mine.not_claimed) {
    printf("  %s: not native: \"%s\", \"%s\"\n", rlx_op_table_get(op)->name, inputs, expr);
    return false;
  }
  return ok && some_native(op, &mine, counts);
}

bool cpu_check_random(rlx_op op, size_t n, cpu_check_write write, cpu_check_counts *counts) {
  cpu_check_counts mine = {0};
  bool ok = true;
  for (size_t i = 0; i < n; i++) {
    cpu_check_line *line = calloc(1, sizeof *line);
    uint64_t seed = rlx_hash_bytes(i + 1, rlx_op_table_get(op)->name, strlen(rlx_op_table_get(op)->name));
    char name[32];
    snprintf(name, sizeof name, "random %zu", i);
    write(&seed, line);
    rlx_case c = {name, line->inputs, line->expr};
    ok &= report(check_case(op, &c, &mine), op, &c);
    free(line);
  }
  add_counts(counts, &mine);
  return ok && some_native(op, &mine, counts);
}

int cpu_check_int(uint64_t *seed, int lo, int hi) {
  *seed = rlx_hash_bytes(*seed, "next", 4);
  return lo + (int)((*seed >> 20) % (uint64_t)(hi - lo + 1));
}

const char *cpu_check_pick(uint64_t *seed, const char *const *texts, size_t n) {
  return texts[cpu_check_int(seed, 0, (int)n - 1)];
}

void cpu_check_print(char (*to)[1024], const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(*to, sizeof *to, fmt, args);
  va_end(args);
}

/* The reference rejects such a case as well, so the node's inputs are evaluated without the node. */
static rlx_status check_failing(rlx_op op, const rlx_case *text, rlx_status code, const char *part) {
  RLX_TRY(open_all());
  run_case c = {0};
  RLX_TRY(rlx_case_build(op, text, &c.built));
  if (!evaluate(&c)) {
    run_case_deinit(&c);
    return RLX_FAIL(RLX_INVALID, "the reference does not fail");
  }
  rlx_status s = RLX_OK;
  cpu_check_counts counts = {0};
  for (rlx_node id = 1; id < rlx_graph_end(c.built.graph) && !s; id++) {
    const rlx_type *type = &rlx_graph_at(c.built.graph, id)->type;
    if (rlx_graph_at(c.built.graph, id)->op != op || c.value[id].data) continue;
    c.value[id] = (rlx_tensor){.dtype = type->dtype, .shape = type->shape};
    s = rlx_tensor_bytes(type->dtype, type->shape, &c.value[id].bytes);
    for (int isa = 0; isa <= (int)cpu_isa_best() && !s; isa++) {
      rlx_status found = check_node(&c, id, (cpu_isa)isa, true, true, &counts);
      if (found != code || !strstr(rlx_message(), part))
        s = RLX_FAIL(RLX_INVALID, "expected '%s' with <%s>, got '%s' (%s)", rlx_status_name(code), part,
                     rlx_status_name(found), found ? rlx_message() : "");
    }
  }
  if (!s && !counts.native) s = RLX_FAIL(RLX_INVALID, "no node is native");
  run_case_deinit(&c);
  return s;
}

bool cpu_check_fails(rlx_op op, const char *inputs, const char *expr, rlx_status code, const char *part) {
  rlx_case c = {"fails", inputs, expr};
  return report(check_failing(op, &c, code, part), op, &c);
}
