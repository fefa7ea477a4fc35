/* Graphs: nodes are executed in a random order that the edges allow, so that a missing edge gives wrong results.
 *
 * A graph belongs to no context; what is instantiated from it belongs to the one that is current. An instantiation is a
 * copy. It lives until it is destroyed and its launches are done, and these are executed in the order of the calls,
 * whatever their streams are. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

typedef struct node {
  uint64_t id;            /* the handle: rising over all graphs */
  bool is_copy, is_early; /* early: it may begin before the nodes before it have ended */
  fake_launch launch;
  fake_copied copy;
  size_t *after, n_after; /* indices of nodes before this one */
} node;

typedef struct nodes {
  node *v;
  size_t n, n_allocated;
} nodes;

typedef struct fake_graph {
  CUgraph handle;
  nodes nodes;
} fake_graph;

struct fake_exec {
  fake_exec *next;
  CUgraphExec handle;
  fake_context *context;
  uint32_t refs;
  nodes nodes;
  fake_mark *last; /* launch; NULL: none */
};

static uint64_t next_id = 1;

static void nodes_free(nodes *all) {
  for (size_t i = 0; i < all->n; i++) free(all->v[i].after);
  free(all->v);
}

/* ---- graphs ---- */

CUresult fake_GraphCreate(CUgraph *out, unsigned flags) {
  fake_lock();
  *out = NULL;
  CUresult r = fake_ready();
  if (!r && flags) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "flags %u of a graph", flags);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (r) return fake_unlock(r);
  fake_graph *g = fake_new(sizeof *g);
  *out = g->handle = fake_handle_new(FAKE_GRAPH, g);
  return fake_unlock(r);
}

static CUresult find_graph(CUgraph handle, fake_graph **out) {
  CUresult r = fake_ready();
  *out = r ? NULL : fake_handle_find(FAKE_GRAPH, handle);
  if (!r && !*out) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a handle that is not of a graph");
  return r;
}

CUresult fake_GraphDestroy(CUgraph handle) {
  fake_lock();
  fake_graph *g = NULL;
  CUresult r = find_graph(handle, &g);
  if (r) return fake_unlock(r);
  nodes_free(&g->nodes);
  fake_handle_free(handle);
  free(g);
  return fake_unlock(r);
}

/* The index of the node with a handle, or the number of nodes. */
static size_t find_node(const nodes *all, CUgraphNode handle) {
  uint64_t id = (uintptr_t)handle;
  size_t lo = 0, hi = all->n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (all->v[mid].id < id) lo = mid + 1;
    else hi = mid;
  }
  return lo < all->n && all->v[lo].id == id ? lo : all->n;
}

static int compare(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* Adds a node, whose content is set by the caller; NULL and *r: a dependency is not a node of the graph, or it is named
 * twice. */
static node *add_node(fake_graph *g, const CUgraphNode *after, size_t n_after, CUresult *r) {
  nodes *all = &g->nodes;
  size_t *list = fake_new(n_after * sizeof *list);
  for (size_t i = 0; i < n_after && !*r; i++) {
    list[i] = find_node(all, after[i]);
    if (list[i] == all->n) *r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "dependency %zu is not a node of the graph", i);
  }
  if (!*r) qsort(list, n_after, sizeof *list, compare);
  for (size_t i = 1; i < n_after && !*r; i++)
    if (list[i] == list[i - 1]) *r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "node %zu is a dependency twice", list[i]);
  if (*r) {
    free(list);
    return NULL;
  }
  if (all->n == all->n_allocated) {
    all->n_allocated = all->n_allocated ? 2 * all->n_allocated : 64;
    node *more = realloc(all->v, all->n_allocated * sizeof *all->v);
    if (!more) abort();
    all->v = more;
  }
  node *added = &all->v[all->n++];
  *added = (node){.id = next_id++, .after = list, .n_after = n_after};
  return added;
}

CUresult fake_GraphAddKernelNode(CUgraphNode *out, CUgraph handle, const CUgraphNode *after, size_t n_after,
                                 const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  fake_graph *g = NULL;
  fake_launch launch;
  CUresult r = fake_current(&c);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r) r = find_graph(handle, &g);
  if (!r) r = fake_launch_read(c, params, &launch);
  node *added = r ? NULL : add_node(g, after, n_after, &r);
  if (added) {
    added->launch = launch;
    *out = (CUgraphNode)(uintptr_t)added->id;
  }
  return fake_unlock(r);
}

/* An edge of any kind is one that is waited for: kernels that may start early wait themselves, but for what they read
 * before that. */
FAKE_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                               const CUgraphEdgeData *data, size_t n);
FAKE_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                               const CUgraphEdgeData *data, size_t n) {
  fake_lock();
  fake_graph *g = NULL;
  CUresult r = find_graph(handle, &g);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  for (size_t i = 0; i < n && !r; i++) {
    const size_t a = find_node(&g->nodes, from[i]), b = find_node(&g->nodes, to[i]);
    const bool is_early = data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && data[i].to_port == 0 &&
                          data[i].from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    if (a >= b || b == g->nodes.n || !is_early || g->nodes.v[a].is_copy || g->nodes.v[b].is_copy) {
      r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "edge %zu: expected an early one between two kernels", i);
      break;
    }
    node *later = &g->nodes.v[b];
    size_t *list = realloc(later->after, (later->n_after + 1) * sizeof *list);
    if (!list) abort();
    list[later->n_after++] = a;
    later->after = list;
    later->is_early = true;
  }
  return fake_unlock(r);
}

CUresult fake_graph_add_launch(CUgraph handle, const fake_launch *l) {
  fake_graph *g = NULL;
  CUresult r = find_graph(handle, &g);
  node *added = r ? NULL : add_node(g, NULL, 0, &r);
  if (added) added->launch = *l;
  return r;
}

/* The backend's children have one node, which becomes a node of the graph itself. */
CUresult fake_GraphAddChildGraphNode(CUgraphNode *out, CUgraph handle, const CUgraphNode *after, size_t n_after,
                                     CUgraph child_handle) {
  fake_lock();
  *out = NULL;
  fake_graph *g = NULL, *child = NULL;
  CUresult r = find_graph(handle, &g);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r) r = find_graph(child_handle, &child);
  if (!r && child->nodes.n != 1)
    r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a child of %zu nodes: expected one", child->nodes.n);
  const fake_launch launch = r ? (fake_launch){0} : child->nodes.v[0].launch;
  node *added = r ? NULL : add_node(g, after, n_after, &r);
  if (added) {
    added->launch = launch;
    *out = (CUgraphNode)(uintptr_t)added->id;
  }
  return fake_unlock(r);
}

static CUresult read_copy(const fake_context *c, const CUDA_MEMCPY3D_v2 *p, fake_copied *out) {
  bool is_row = p->height == 1 && p->depth == 1 && p->width > 0 && !p->src_y && !p->src_z && !p->dst_y && !p->dst_z;
  if (!is_row)
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy of %zu x %zu x %zu: expected one row of bytes", p->width,
                       p->height, p->depth);
  if ((p->src_type != CU_MEMORYTYPE_DEVICE && p->src_type != CU_MEMORYTYPE_UNIFIED) ||
      (p->dst_type != CU_MEMORYTYPE_DEVICE && p->dst_type != CU_MEMORYTYPE_UNIFIED))
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy from memory of type %d to %d: expected device or unified",
                       p->src_type, p->dst_type);
  *out = (fake_copied){p->dst_device + p->dst_x, p->src_device + p->src_x, p->width, NULL};
  return fake_copy_check(c, out->dst, out->src, out->bytes);
}

CUresult fake_GraphAddMemcpyNode(CUgraphNode *out, CUgraph handle, const CUgraphNode *after, size_t n_after,
                                 const CUDA_MEMCPY3D_v2 *params, CUcontext context) {
  fake_lock();
  *out = NULL;
  fake_graph *g = NULL;
  fake_copied copy;
  CUresult r = fake_ready();
  fake_context *c = r ? NULL : fake_handle_find(FAKE_CONTEXT, context);
  if (!r) r = c ? c->lost : fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "a handle that is not of a context");
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r) r = find_graph(handle, &g);
  if (!r) r = read_copy(c, params, &copy);
  node *added = r ? NULL : add_node(g, after, n_after, &r);
  if (added) {
    added->is_copy = true;
    added->copy = copy;
    *out = (CUgraphNode)(uintptr_t)added->id;
  }
  return fake_unlock(r);
}

/* ---- instantiations ---- */

static CUresult check_nodes(const fake_context *c, const nodes *all) {
  for (size_t i = 0; i < all->n; i++)
    if (!all->v[i].is_copy && !all->v[i].launch.is_product && !fake_function_is_live(c, all->v[i].launch.function))
      return fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                         "node %zu: a function of another context or of a module that was unloaded", i);
  return CUDA_SUCCESS;
}

CUresult fake_GraphInstantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  fake_graph *g = NULL;
  CUresult r = fake_current(&c);
  if (!r && flags) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "flags %llu of an instantiation", flags);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r) r = find_graph(handle, &g);
  if (!r) r = check_nodes(c, &g->nodes);
  if (r) return fake_unlock(r);
  fake_exec *e = fake_new(sizeof *e);
  e->nodes = (nodes){fake_copy(g->nodes.v, g->nodes.n * sizeof *g->nodes.v), g->nodes.n, g->nodes.n};
  for (size_t i = 0; i < e->nodes.n; i++) {
    node *n = &e->nodes.v[i];
    n->after = fake_copy(n->after, n->n_after * sizeof *n->after);
  }
  e->refs = 1;
  e->context = c;
  e->next = c->execs;
  c->execs = e;
  *out = e->handle = fake_handle_new(FAKE_EXEC, e);
  return fake_unlock(r);
}

void fake_exec_unref(fake_exec *e) {
  if (--e->refs) return;
  fake_mark_unref(e->last);
  nodes_free(&e->nodes);
  free(e);
}

static void forget(fake_exec *e) {
  fake_exec **at = &e->context->execs;
  while (*at != e) at = &(*at)->next;
  *at = e->next;
  fake_handle_free(e->handle);
  fake_exec_unref(e);
}

void fake_execs_free(fake_context *c) {
  while (c->execs) forget(c->execs);
}

CUresult fake_GraphExecDestroy(CUgraphExec handle) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current_or_lost(&c);
  if (!c) return fake_unlock(r);
  fake_exec *e = fake_handle_find(FAKE_EXEC, handle);
  if (e && e->context == c) forget(e);
  else if (!r)
    r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a handle that is not of an instantiated graph of this context");
  return fake_unlock(r);
}

CUresult fake_GraphLaunch(CUgraphExec handle, CUstream stream) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  CUresult r = fake_submit(stream, &fake_count.launches, &c, &s);
  fake_exec *e = r ? NULL : fake_handle_find(FAKE_EXEC, handle);
  if (!r && (!e || e->context != c))
    r = fake_refuse(CUDA_ERROR_INVALID_HANDLE, "a handle that is not of an instantiated graph of this context");
  if (!r) r = check_nodes(c, &e->nodes);
  if (r) return fake_unlock(r);
  fake_count.graph_launches++;
  fake_op *op = fake_push(s, FAKE_OP_GRAPH);
  op->exec = e;
  e->refs++;
  op->lose = fake_loses_now();
  op->after = e->last;
  e->last = fake_mark_new(s);
  op->mark = fake_mark_ref(e->last);
  return fake_unlock(r);
}

/* ---- execution ---- */

static CUresult execute_node(fake_context *c, const node *n, char text[256]) {
  if (n->is_copy) return fake_execute_copy(c, &n->copy, text);
  fake_early_use(n->is_early);
  CUresult r = fake_execute_launch(c, &n->launch, text);
  fake_early_use(false);
  return r;
}

CUresult fake_execute_graph(fake_context *c, const fake_exec *e, char text[256]) {
  size_t n = e->nodes.n, n_ready = 0, n_edges = 0;
  const node *v = e->nodes.v;
  /* The edges by the node that they leave: those of node i are next[begin[i]] to next[begin[i + 1]]. */
  size_t *begin = fake_new((n + 2) * sizeof *begin), *waits = fake_new(n * sizeof *waits);
  size_t *ready = fake_new(n * sizeof *ready);
  for (size_t i = 0; i < n; i++) {
    if (v[i].is_early) fake_early_keep(c, &v[i].launch);
    waits[i] = v[i].n_after;
    if (!waits[i]) ready[n_ready++] = i;
    for (size_t k = 0; k < v[i].n_after; k++, n_edges++) begin[v[i].after[k] + 2]++;
  }
  size_t *next = fake_new(n_edges * sizeof *next);
  for (size_t i = 2; i < n + 2; i++) begin[i] += begin[i - 1];
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < v[i].n_after; k++) next[begin[v[i].after[k] + 1]++] = i;
  CUresult r = CUDA_SUCCESS;
  while (n_ready && !r) {
    size_t pick = fake_random((uint32_t)n_ready), i = ready[pick];
    ready[pick] = ready[--n_ready];
    r = execute_node(c, &v[i], text);
    for (size_t k = begin[i]; k < begin[i + 1]; k++)
      if (--waits[next[k]] == 0) ready[n_ready++] = next[k];
  }
  fake_early_free();
  free(begin);
  free(waits);
  free(ready);
  free(next);
  return r;
}
