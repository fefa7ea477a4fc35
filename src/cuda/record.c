/* Records a span of steps as CUDA graphs. A node depends only on the earlier nodes whose memory meets its own, so
 * independent branches of a program run side by side. A span of a run that can be stopped is cut into several graphs
 * where the work so far would keep the device busy for long. */
#include "base/mem.h"
#include "cuda/order.h"
#include "cuda/program.h"

/* Fewer steps than this are launched one by one: making a graph costs more than it saves. */
enum { MIN_GRAPH_NODES = 4 };

typedef struct recorder {
  rlx_program *p;
  CUgraph graph;
  cu_order order;
  RLX_ARRAY(CUgraphNode) nodes;
  RLX_ARRAY(bool) is_kernel;      /* by node: one of ours */
  RLX_ARRAY(CUgraphNode) handles; /* of the nodes that the next one waits for */
  RLX_ARRAY(gpu_access) writes;   /* of all nodes */
  CUstream stream;                /* records what a library submits; created on first use */
} recorder;

void cu_recording_destroy(rlx_program *p, cu_recording *r) {
  if (!r) return;
  for (size_t i = 0; i < r->parts.n; i++)
    if (r->parts.v[i].graph) p->device->f->GraphExecDestroy(r->parts.v[i].graph);
  cu_walk_destroy(p, r->walk);
  rlx_array_deinit(&r->parts);
  rlx_mem_free(r);
}

/* ---- nodes ---- */

/* Finds what a node with these accesses waits for. */
static rlx_status order(recorder *r, const gpu_access *a, uint32_t n) {
  RLX_TRY(cu_order_add(&r->order, a, n));
  bool ok = rlx_array_reserve(&r->nodes, 1) && rlx_array_push(&r->is_kernel, false);
  r->handles.n = 0;
  for (size_t i = 0; i < r->order.after.n && ok; i++) ok = rlx_array_push(&r->handles, r->nodes.v[r->order.after.v[i]]);
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "cuda: a graph of %zu nodes", r->nodes.n);
}

/* What a library submits for a product, as a graph. */
static rlx_status capture(recorder *r, const cu_product *product, CUgraph *out) {
  cu_device *d = r->p->device;
  CUresult s = r->stream ? CUDA_SUCCESS : d->f->StreamCreate(&r->stream, CU_STREAM_NON_BLOCKING);
  if (!s) s = d->f->StreamBeginCapture(r->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (s) return cu_fail(d, s, "a stream that records");
  rlx_status status = cu_product_launch(d, product, r->stream);
  s = d->f->StreamEndCapture(r->stream, out);
  return status ? status : s ? cu_fail(d, s, "recording a product") : RLX_OK;
}

static rlx_status add_product(recorder *r, size_t i) {
  cu_device *d = r->p->device;
  const cu_dispatch *made = &r->p->dispatches[i];
  CUgraph child = NULL;
  RLX_TRY(order(r, made->accesses, made->n_accesses));
  rlx_status status = capture(r, made->product, &child);
  if (!status) {
    CUresult s = d->f->GraphAddChildGraphNode(&r->nodes.v[r->nodes.n], r->graph, r->handles.v, r->handles.n, child);
    if (s) status = cu_fail(d, s, "a product in a graph");
    else r->nodes.n++;
  }
  if (child) d->f->GraphDestroy(child);
  return status;
}

/* Whether a window that a kernel may read before it waits (EARLY) is written in this graph. */
static bool reads_early_what_changes(const recorder *r, size_t dispatch) {
  const cu_dispatch *made = &r->p->dispatches[dispatch];
  const gpu_bound_dispatch *q = &r->p->body.dispatches.v[dispatch];
  for (uint32_t w = 0; w < q->kernel->n_windows; w++) {
    if (!(q->kernel->early >> w & 1) || !q->windows[w].bytes) continue;
    const gpu_access early = {NULL, made->windows[w], made->windows[w] + q->windows[w].bytes, false};
    for (size_t i = 0; i < r->writes.n; i++)
      if (gpu_access_meets(&early, &r->writes.v[i])) return true;
  }
  return false;
}

/* Whether the next kernel may start while the last of the nodes that it depends on still runs, once the others have
 * ended; that one is moved to the end of the handles. Both wait for what is before them as the first thing they do
 * (K_ENTER), and a kernel ends only after its own wait, so what it depends on through others has ended too. */
static bool starts_early(recorder *r, size_t dispatch) {
  if (!r->p->device->overlaps || !r->handles.n) return false;
  size_t last = 0;
  for (size_t i = 1; i < r->handles.n; i++)
    if (r->order.after.v[i] > r->order.after.v[last]) last = i;
  if (!r->is_kernel.v[r->order.after.v[last]] || reads_early_what_changes(r, dispatch)) return false;
  const CUgraphNode node = r->handles.v[last];
  r->handles.v[last] = r->handles.v[r->handles.n - 1];
  r->handles.v[r->handles.n - 1] = node;
  return true;
}

static CUresult add_early_edge(recorder *r, const CUgraphNode *to) {
  const CUgraphEdgeData edge = {.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
                                .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC};
  return r->p->device->loader->graph_add_dependencies(r->graph, &r->handles.v[r->handles.n - 1], to, &edge, 1);
}

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
                                             .shared_bytes = q->dynamic_bytes,
                                             .params = arguments.v};
  const bool overlaps = starts_early(r, i);
  CUgraphNode *node = &r->nodes.v[r->nodes.n];
  CUresult s = d->f->GraphAddKernelNode(node, r->graph, r->handles.v, r->handles.n - (overlaps ? 1 : 0), &params);
  if (!s && overlaps) s = add_early_edge(r, node);
  if (s) return cu_fail(d, s, "kernel %s in a graph", q->kernel->name);
  r->is_kernel.v[r->nodes.n++] = true;
  return RLX_OK;
}

static uint64_t address(const rlx_bound *b) { return cu_address(b->block) + b->offset; }

static rlx_status add_copy(recorder *r, const gpu_step *step) {
  cu_device *d = r->p->device;
  const uint64_t from = address(&step->from), to = address(&step->to);
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
    for (size_t k = step->first; k < step->first + step->n && !s; k++)
      s = r->p->dispatches[k].product ? add_product(r, k) : add_kernel(r, k);
    if (!s && step->copy_bytes) s = add_copy(r, step);
    if (s) return gpu_program_frame(&r->p->body, s, i);
  }
  return RLX_OK;
}

static bool list_writes(recorder *r, size_t first, size_t last) {
  bool ok = true;
  for (size_t i = first; i <= last; i++) {
    const gpu_step *step = &r->p->body.steps[i];
    for (size_t k = step->first; k < step->first + step->n; k++)
      for (uint32_t a = 0; a < r->p->dispatches[k].n_accesses; a++)
        if (r->p->dispatches[k].accesses[a].is_write)
          ok = ok && rlx_array_push(&r->writes, r->p->dispatches[k].accesses[a]);
    const uint64_t to = step->copy_bytes ? address(&step->to) : 0;
    if (step->copy_bytes) ok = ok && rlx_array_push(&r->writes, ((gpu_access){NULL, to, to + step->copy_bytes, true}));
  }
  return ok;
}

static rlx_status make_graph(recorder *r, size_t first, size_t last, CUgraphExec *out) {
  cu_device *d = r->p->device;
  if (d->overlaps && !list_writes(r, first, last)) return RLX_FAIL(RLX_NO_MEMORY, "cuda: the writes of a graph");
  CUresult s = d->f->GraphCreate(&r->graph, 0);
  if (s) return cu_fail(d, s, "a graph");
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
    if (r.stream) p->device->f->StreamDestroy(r.stream);
    cu_order_deinit(&r.order);
    rlx_array_deinit(&r.nodes);
    rlx_array_deinit(&r.is_kernel);
    rlx_array_deinit(&r.handles);
    rlx_array_deinit(&r.writes);
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

rlx_status cu_program_record(rlx_program *p, size_t first, size_t n, cu_manner manner, cu_recording **out) {
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
