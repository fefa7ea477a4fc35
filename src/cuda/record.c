/* Records a span of steps as CUDA graphs. A node depends only on the earlier nodes whose memory meets its own, so
 * independent branches of a program run side by side. A span of a run that can be stopped is cut into several graphs
 * where the work so far would keep the device busy for long. */
#include "base/mem.h"
#include "cuda/program.h"

/* Fewer steps than this are launched one by one: making a graph costs more than it saves. */
enum { MIN_GRAPH_NODES = 4 };

typedef struct tracked { /* an access that later nodes may have to wait for */
  gpu_access access;
  uint32_t node;
} tracked;

typedef struct recorder {
  rlx_program *p;
  CUgraph graph;
  RLX_ARRAY(CUgraphNode) nodes;
  RLX_ARRAY(tracked) tracked;
  RLX_ARRAY(uint32_t) after;       /* nodes that the next one waits for */
  RLX_ARRAY(CUgraphNode) handles;  /* the same as handles */
  RLX_ARRAY(uint32_t) after_first; /* by node, into after_all: what it waits for; one more at the end */
  RLX_ARRAY(uint32_t) after_all;
} recorder;

void cu_recording_destroy(rlx_program *p, cu_recording *r) {
  if (!r) return;
  for (size_t i = 0; i < r->parts.n; i++)
    if (r->parts.v[i].graph) p->device->f->GraphExecDestroy(r->parts.v[i].graph);
  rlx_array_deinit(&r->parts);
  rlx_mem_free(r);
}

/* ---- dependencies ---- */

static bool is_in(const uint32_t *v, size_t n, uint32_t x) {
  for (size_t i = 0; i < n; i++)
    if (v[i] == x) return true;
  return false;
}

/* Whether `node` waits for `earlier` directly. */
static bool waits_for(const recorder *r, uint32_t node, uint32_t earlier) {
  const uint32_t first = r->after_first.v[node], end = r->after_first.v[node + 1];
  return end > first && is_in(r->after_all.v + first, end - first, earlier);
}

/* The nodes that one with these accesses must wait for. */
static bool collect(recorder *r, const gpu_access *a, uint32_t n) {
  r->after.n = 0;
  for (size_t t = 0; t < r->tracked.n; t++)
    for (uint32_t k = 0; k < n; k++) {
      const uint32_t node = r->tracked.v[t].node;
      if (!gpu_access_meets(&r->tracked.v[t].access, &a[k]) || is_in(r->after.v, r->after.n, node)) continue;
      if (!rlx_array_push(&r->after, node)) return false;
    }
  /* A node that another one of them waits for is waited for already. */
  size_t kept = 0;
  for (size_t i = 0; i < r->after.n; i++) {
    bool is_implied = false;
    for (size_t k = 0; k < r->after.n && !is_implied; k++)
      is_implied = k != i && waits_for(r, r->after.v[k], r->after.v[i]);
    if (!is_implied) r->after.v[kept++] = r->after.v[i];
  }
  r->after.n = kept;
  return true;
}

/* Tracks the accesses of a new node. Those that a write covers are ordered through it from now on. */
static bool track(recorder *r, const gpu_access *a, uint32_t n) {
  const uint32_t node = (uint32_t)r->nodes.n;
  size_t kept = 0;
  for (size_t t = 0; t < r->tracked.n; t++) {
    const gpu_access *old = &r->tracked.v[t].access;
    bool is_covered = false;
    for (uint32_t k = 0; k < n && !is_covered; k++)
      is_covered = a[k].is_write && a[k].begin <= old->begin && a[k].end >= old->end;
    if (!is_covered) r->tracked.v[kept++] = r->tracked.v[t];
  }
  r->tracked.n = kept;
  if (!rlx_array_reserve(&r->tracked, n)) return false;
  for (uint32_t k = 0; k < n; k++) r->tracked.v[r->tracked.n++] = (tracked){a[k], node};
  for (size_t i = 0; i < r->after.n; i++)
    if (!rlx_array_push(&r->after_all, r->after.v[i])) return false;
  return rlx_array_push(&r->after_first, (uint32_t)r->after_all.n);
}

/* Finds what a node with these accesses waits for, and tracks them for later nodes. */
static rlx_status order(recorder *r, const gpu_access *a, uint32_t n) {
  bool ok = collect(r, a, n) && track(r, a, n) && rlx_array_reserve(&r->nodes, 1);
  r->handles.n = 0;
  for (size_t i = 0; i < r->after.n && ok; i++) ok = rlx_array_push(&r->handles, r->nodes.v[r->after.v[i]]);
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "cuda: a graph of %zu nodes", r->nodes.n);
}

/* ---- nodes ---- */

static rlx_status add_kernel(recorder *r, size_t i) {
  cu_device *d = r->p->device;
  const gpu_bound_dispatch *q = &r->p->body.dispatches.v[i];
  const cu_dispatch *made = &r->p->dispatches[i];
  cu_arguments arguments;
  cu_arguments_of(r->p, i, &arguments);
  RLX_TRY(order(r, made->accesses, made->n_accesses));
  const CUDA_KERNEL_NODE_PARAMS_v1 params = {.func = made->function,
                                             .grid_x = q->groups_x,
                                             .grid_y = q->groups_y,
                                             .grid_z = 1,
                                             .block_x = q->group_size,
                                             .block_y = 1,
                                             .block_z = 1,
                                             .params = arguments.v};
  CUresult s = d->f->GraphAddKernelNode(&r->nodes.v[r->nodes.n], r->graph, r->handles.v, r->handles.n, &params);
  if (s) return cu_fail(d, s, "kernel %s in a graph", q->kernel->name);
  r->nodes.n++;
  return RLX_OK;
}

static rlx_status add_copy(recorder *r, const gpu_step *step) {
  cu_device *d = r->p->device;
  const uint64_t from = cu_address(step->from.block) + step->from.offset,
                 to = cu_address(step->to.block) + step->to.offset;
  const gpu_access accesses[2] = {{NULL, from, from + step->copy_bytes, false},
                                  {NULL, to, to + step->copy_bytes, true}};
  RLX_TRY(order(r, accesses, 2));
  const CUDA_MEMCPY3D_v2 params = {.src_type = CU_MEMORYTYPE_DEVICE,
                                   .src_device = from,
                                   .src_pitch = step->copy_bytes,
                                   .src_height = 1,
                                   .dst_type = CU_MEMORYTYPE_DEVICE,
                                   .dst_device = to,
                                   .dst_pitch = step->copy_bytes,
                                   .dst_height = 1,
                                   .width = step->copy_bytes,
                                   .height = 1,
                                   .depth = 1};
  CUresult s =
    d->f->GraphAddMemcpyNode(&r->nodes.v[r->nodes.n], r->graph, r->handles.v, r->handles.n, &params, d->context);
  if (s) return cu_fail(d, s, "a copy of %llu bytes in a graph", (unsigned long long)step->copy_bytes);
  r->nodes.n++;
  return RLX_OK;
}

static rlx_status add_steps(recorder *r, size_t first, size_t last) {
  for (size_t i = first; i <= last; i++) {
    const gpu_step *step = &r->p->body.steps[i];
    rlx_status s = RLX_OK;
    for (size_t k = 0; k < step->n && !s; k++) s = add_kernel(r, step->first + k);
    if (!s && step->copy_bytes) s = add_copy(r, step);
    if (s) return gpu_program_frame(&r->p->body, s, i);
  }
  return RLX_OK;
}

static rlx_status make_graph(recorder *r, size_t first, size_t last, CUgraphExec *out) {
  cu_device *d = r->p->device;
  CUresult s = d->f->GraphCreate(&r->graph, 0);
  if (s) return cu_fail(d, s, "a graph");
  RLX_TRY(rlx_array_push(&r->after_first, 0) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "cuda: a graph"));
  RLX_TRY(add_steps(r, first, last));
  s = d->f->GraphInstantiate(out, r->graph, 0);
  return s ? cu_fail(d, s, "a graph of %zu nodes", r->nodes.n) : RLX_OK;
}

/* ---- parts ---- */

static size_t count_nodes(const gpu_program *p, size_t first, size_t last) {
  size_t n = 0;
  for (size_t i = first; i <= last; i++) n += p->steps[i].n + (p->steps[i].copy_bytes != 0);
  return n;
}

static rlx_status add_part(rlx_program *p, cu_recording *out, size_t first, size_t last) {
  cu_part part = {.first = first, .last = last};
  if (!rlx_array_reserve(&out->parts, 1)) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a list of graphs");
  if (count_nodes(&p->body, first, last) >= MIN_GRAPH_NODES) {
    recorder r = {.p = p};
    rlx_status s = make_graph(&r, first, last, &part.graph);
    if (r.graph) p->device->f->GraphDestroy(r.graph);
    rlx_array_deinit(&r.nodes);
    rlx_array_deinit(&r.tracked);
    rlx_array_deinit(&r.after);
    rlx_array_deinit(&r.handles);
    rlx_array_deinit(&r.after_first);
    rlx_array_deinit(&r.after_all);
    if (s) return s;
  }
  out->parts.v[out->parts.n++] = part;
  return RLX_OK;
}

static uint64_t step_cost(const gpu_program *p, const gpu_step *s) {
  uint64_t cost = s->copy_bytes;
  for (size_t k = 0; k < s->n; k++) cost += p->dispatches.v[s->first + k].cost;
  return cost;
}

static rlx_status record(rlx_program *p, cu_recording *out) {
  enum { WATCHED_PARTS = 4 };
  const uint64_t limit = out->manner == CU_WATCHED ? p->device->submit_cost / WATCHED_PARTS : UINT64_MAX;
  size_t first = out->first;
  uint64_t cost = 0;
  for (size_t i = out->first; i < out->first + out->n; i++) {
    const uint64_t more = step_cost(&p->body, &p->body.steps[i]);
    if (cost && (more > limit || cost > limit - more)) {
      RLX_TRY(add_part(p, out, first, i - 1));
      first = i;
      cost = 0;
    }
    cost += more;
  }
  return add_part(p, out, first, out->first + out->n - 1);
}

rlx_status cu_program_record(rlx_program *p, size_t first, size_t n, cu_manner manner, const cu_recording **out) {
  *out = NULL;
  for (cu_recording *r = p->recordings[first]; r && !*out; r = r->next)
    if (r->n == n && r->manner == manner) *out = r;
  if (*out) return RLX_OK;
  cu_recording *r = rlx_new(cu_recording);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a recording");
  *r = (cu_recording){.first = first, .n = n, .manner = manner};
  rlx_status s = record(p, r);
  if (s) {
    cu_recording_destroy(p, r);
    return s;
  }
  r->next = p->recordings[first];
  p->recordings[first] = r;
  *out = r;
  return RLX_OK;
}
