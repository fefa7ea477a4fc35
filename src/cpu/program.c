/* Programs of the CPU backend: planned steps are bound to kernels once and then run many times.
 *
 * Creation looks up each step's kernel, checks that the node was claimed, resolves its windows to pointers and calls
 * the kernel's `prepare`. A run is a loop of function calls and allocates nothing. What changes between runs (the draw
 * number, the thread pool) is written into each call, so a program runs in one thread at a time.
 *
 * Consecutive steps may run as one where their kernel reports that this is faster, such as the query, key and value
 * products of a layer: they share one quantised input and one barrier of the threads. The plan does not know about it.
 * So steps are joined only where no member writes what another member reads or writes, nor the first one's work memory.
 * A profile times each step by itself, so it joins none. */
#include "base/arith.h"
#include "base/budget.h"
#include "base/log.h"
#include "cpu/move.h"
#include "device/claims.h"

typedef struct cpu_step {
  cpu_call call;
  cpu_run_fn run; /* NULL: a copy, or nothing to do */
  rlx_node node;
  size_t copy_bytes;             /* from call.in[0] to call.out */
  const cpu_call *const *joined; /* its call and those of the n_joined - 1 steps after it, which run with it; or NULL */
  size_t n_joined;
} cpu_step;

struct rlx_program {
  rlx_bump memory;
  const rlx_graph *graph;
  cpu_step *steps;
  size_t n_steps;
};

/* Why no kernel's `claim` is called; NULL: it is. */
static const char *refusal(const cpu_kernel *k, const rlx_graph *g, const rlx_node_rec *n, const uint32_t *layout) {
  if (!k) return "the CPU has no kernel for this op";
  if (rlx_graph_computes_with(g, n, RLX_TYPES_MOVED)) return "no CPU kernel computes with u16, u64 or 8-bit floats";
  if (k->no_f64 && n->type.dtype == RLX_F64) return "f64 runs through the reference";
  for (uint32_t i = 0; layout && !k->takes_layouts && i < n->n_in; i++)
    if (layout[i] != CPU_LAYOUT_PLAIN) return "the CPU kernel reads row-major tensors only";
  return NULL;
}

rlx_status cpu_claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  const cpu_kernel *k = cpu_kernel_get(n->op);
  out->native = false;
  out->why = refusal(k, q->graph, n, q->layout);
  if (out->why) return RLX_OK;
  out->native = !k->claim || k->claim(q, ((const cpu_device *)d)->isa, out);
  if (out->native) out->why = NULL;
  else if (!out->why) out->why = "the CPU kernel does not take this case";
  return RLX_OK;
}

static rlx_status frame(const rlx_program *p, rlx_status s, rlx_node node) {
  return rlx_fail_frame(s, "node %u (%s)", (unsigned)node, rlx_op_table_get(rlx_graph_at(p->graph, node)->op)->name);
}

/* ---- creating ---- */

static rlx_status resolve(const rlx_bound *w, const char *what, uint32_t i, void **out) {
  *out = NULL;
  if (!w->block) return RLX_OK;
  if (!w->block->map || w->offset > w->block->bytes || w->bytes > w->block->bytes - w->offset)
    return RLX_FAIL(RLX_INVALID, "%s %u: %llu bytes at %llu are not inside a block of %llu", what, (unsigned)i,
                    (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned long long)w->block->bytes);
  *out = (unsigned char *)w->block->map + w->offset;
  return RLX_OK;
}

static rlx_status bind_windows(rlx_program *p, const rlx_bound_step *b, cpu_step *s) {
  if (b->n_out != 1 || !b->out[0].block)
    return RLX_FAIL(RLX_INVALID, "expected one window to write to, got %u", (unsigned)b->n_out);
  void **in = rlx_bump_array(&p->memory, void *, (size_t)b->n_in + 1);
  if (!in) return RLX_FAIL(RLX_NO_MEMORY, "%u windows", (unsigned)b->n_in);
  for (uint32_t i = 0; i < b->n_in; i++) RLX_TRY(resolve(&b->in[i], "input", i, &in[i]));
  s->call.n_in = b->n_in;
  s->call.in = (const void *const *)in;
  RLX_TRY(resolve(&b->out[0], "result", 0, &s->call.out));
  RLX_TRY(resolve(&b->work, "work memory", 0, &s->call.work));
  static _Alignas(64) char nothing[64]; /* a kernel that requested no work memory may still form a pointer */
  if (!s->call.work) s->call.work = nothing;
  return RLX_OK;
}

static rlx_status bind_copy(const rlx_bound_step *b, cpu_step *s) {
  if (b->n_in != 1 || !s->call.in[0] || b->in[0].bytes != b->out[0].bytes)
    return RLX_FAIL(RLX_INVALID, "a copy has one window in and one out, of equal bytes");
  s->copy_bytes = (size_t)b->in[0].bytes;
  return RLX_OK;
}

/* Windows must be as large as the values bound to them: kernels use the graph's shapes without further checks. */
static rlx_status check_sizes(const rlx_program *p, const rlx_bound_step *b, const cpu_step *s, const cpu_device *d) {
  const rlx_node_rec *n = s->call.node;
  if (b->n_in != n->n_in)
    return RLX_FAIL(RLX_INVALID, "expected %u inputs, got %u", (unsigned)n->n_in, (unsigned)b->n_in);
  for (uint32_t i = 0; i <= n->n_in; i++) {
    if (i < n->n_in && !n->in[i]) continue;
    const rlx_type *t = i < n->n_in ? &rlx_graph_at(p->graph, n->in[i])->type : &n->type;
    uint32_t layout = i < n->n_in && b->layout ? b->layout[i] : CPU_LAYOUT_PLAIN;
    const cpu_layout_family *family = cpu_layout_family_of(layout);
    size_t bytes = 0;
    if (!layout) RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &bytes));
    else if (family) bytes = (size_t)family->bytes(d->isa, layout, t);
    if (layout && !bytes && rlx_dims_count(&t->shape))
      return RLX_FAIL(RLX_INVALID, "input %u: layout %u is unknown", (unsigned)i, (unsigned)layout);
    const rlx_bound *w = i < n->n_in ? &b->in[i] : &b->out[0];
    if (!w->block || w->bytes < bytes)
      return RLX_FAIL(RLX_INVALID, "window %u: expected %zu bytes, got %llu", (unsigned)i, bytes,
                      (unsigned long long)(w->block ? w->bytes : 0));
  }
  return RLX_OK;
}

static rlx_status bind_node(rlx_program *p, const cpu_device *d, const rlx_program_desc *desc, const rlx_bound_step *b,
                            cpu_step *s) {
  const rlx_node_rec *n = rlx_graph_at(desc->graph, b->node);
  uint32_t *no_layout = b->layout ? NULL : rlx_bump_array(&p->memory, uint32_t, (size_t)n->n_in + 1);
  if (!b->layout && !no_layout) return RLX_FAIL(RLX_NO_MEMORY, "%u windows", (unsigned)n->n_in);
  s->call.graph = desc->graph;
  s->call.node = n;
  s->call.attrs = n->attrs;
  s->call.isa = d->isa;
  s->call.switches = desc->switches;
  s->call.layout = b->layout ? b->layout : no_layout;
  RLX_TRY(check_sizes(p, b, s, d));
  RLX_TRY(rlx_claim_check(b));
  if (rlx_dims_count(&n->type.shape) == 0) return RLX_OK; /* an empty result needs no kernel */
  const cpu_kernel *k = cpu_kernel_get(n->op);
  s->run = k->run;
  return k->prepare ? k->prepare(&s->call, &p->memory) : RLX_OK;
}

/* ---- joining steps ---- */

static bool overlap(const rlx_bound *a, const rlx_bound *b) {
  return a->block && a->block == b->block && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Whether a writes what b reads or writes. */
static bool conflicts(const rlx_bound_step *a, const rlx_bound_step *b) {
  for (uint32_t i = 0; i < b->n_in; i++)
    if (overlap(&a->out[0], &b->in[i])) return true;
  return overlap(&a->out[0], &b->out[0]);
}

/* Whether step n may run together with those from `first` on. */
static bool may_join(const rlx_program *p, const rlx_program_desc *desc, size_t first, size_t n) {
  const cpu_step *a = &p->steps[first], *b = &p->steps[n];
  const cpu_kernel *k = a->run ? cpu_kernel_get(a->call.node->op) : NULL;
  if (!k || !k->joins || !b->run || cpu_kernel_get(b->call.node->op) != k) return false;
  const rlx_bound_step *steps = desc->steps;
  for (size_t i = first; i < n; i++)
    if (conflicts(&steps[i], &steps[n]) || conflicts(&steps[n], &steps[i])) return false;
  return !overlap(&steps[n].out[0], &steps[first].work) && k->joins(&a->call, &b->call);
}

static rlx_status join_steps(rlx_program *p, const rlx_program_desc *desc) {
  for (size_t first = 0, n; first < p->n_steps; first += n) {
    cpu_step *s = &p->steps[first];
    for (n = 1; n < CPU_MAX_JOINED && first + n < p->n_steps && may_join(p, desc, first, first + n);) n++;
    if (n == 1 || overlap(&desc->steps[first].out[0], &desc->steps[first].work)) continue;
    const cpu_call **calls = rlx_bump_array(&p->memory, const cpu_call *, n);
    if (!calls) return RLX_FAIL(RLX_NO_MEMORY, "%zu joined steps", n);
    for (size_t i = 0; i < n; i++) calls[i] = &p->steps[first + i].call;
    s->joined = calls;
    s->n_joined = n;
  }
  return RLX_OK;
}

static rlx_status create_steps(rlx_program *p, const cpu_device *d, const rlx_program_desc *desc) {
  size_t bytes;
  if (!rlx_mul_size(desc->n_steps ? desc->n_steps : 1, sizeof *p->steps, &bytes) ||
      !(p->steps = rlx_bump_alloc(&p->memory, 1, bytes)))
    return RLX_FAIL(RLX_NO_MEMORY, "a program of %zu steps", desc->n_steps);
  for (size_t i = 0; i < desc->n_steps; i++) {
    const rlx_bound_step *b = &desc->steps[i];
    cpu_step *s = &p->steps[p->n_steps++];
    s->node = b->node;
    rlx_status status = bind_windows(p, b, s);
    if (!status) status = b->copy ? bind_copy(b, s) : bind_node(p, d, desc, b, s);
    if (status) return frame(p, status, b->node);
  }
  return join_steps(p, desc);
}

rlx_status cpu_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out) {
  *out = NULL;
  rlx_program *p = rlx_new(rlx_program);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a program");
  p->graph = desc->graph;
  rlx_status s = create_steps(p, (const cpu_device *)q->device, desc);
  if (s) {
    cpu_program_destroy(p);
    return s;
  }
  *out = p;
  return RLX_OK;
}

void cpu_program_destroy(rlx_program *p) {
  if (!p) return;
  rlx_bump_deinit(&p->memory);
  rlx_mem_free(p);
}

/* ---- running ---- */

static rlx_status run_step(cpu_step *s, const rlx_run_args *args) {
  if (s->run) {
    s->call.draw = args->draw;
    s->call.pool = args->pool;
    return s->run(&s->call);
  }
  if (s->copy_bytes) cpu_move_bytes(args->pool, s->call.in[0], s->call.out, s->copy_bytes);
  return RLX_OK;
}

/* The step and those it is joined with: s[0] .. s[n_joined - 1]. */
static rlx_status run_joined(cpu_step *s, const rlx_run_args *args) {
  for (size_t i = 0; i < s->n_joined; i++) {
    s[i].call.draw = args->draw;
    s[i].call.pool = args->pool;
  }
  return cpu_kernel_get(s->call.node->op)->run_joined(s->joined, s->n_joined);
}

static rlx_status run_steps(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args) {
  if (first > p->n_steps || n_steps > p->n_steps - first)
    return RLX_FAIL(RLX_INVALID, "%zu steps from %zu: the program has %zu", n_steps, first, p->n_steps);
  bool is_timed = args->begin_ns || args->end_ns;
  for (size_t i = 0, n; i < n_steps; i += n) {
    cpu_step *s = &p->steps[first + i];
    bool joins = s->joined && s->n_joined <= n_steps - i && !is_timed;
    n = joins ? s->n_joined : 1;
    if (rlx_stops(args->cancel, args->cancel_user))
      return frame(p, RLX_FAIL(RLX_CANCELLED, "stopped by the caller"), s->node);
    if (args->begin_ns) args->begin_ns[i] = rlx_now_ns();
    rlx_status status = joins ? run_joined(s, args) : run_step(s, args);
    if (!status && rlx_budget_is_stopped()) status = RLX_FAIL(RLX_CANCELLED, "stopped by the caller");
    if (status) return frame(p, status, s->node);
    if (args->end_ns) args->end_ns[i] = rlx_now_ns();
  }
  return RLX_OK;
}

rlx_status cpu_program_submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args) {
  cpu_set_may_stop(true);
  rlx_status s = run_steps(p, first, n_steps, args);
  cpu_set_may_stop(false);
  return s;
}
