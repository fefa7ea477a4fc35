/* Binds the dispatches of each step's claim to the windows of the step. */
#include "gpu/program.h"

rlx_block gpu_table_block, gpu_run_block;

/* ---- failures ---- */

rlx_status gpu_program_frame(const gpu_program *p, rlx_status s, size_t step) {
  return gpu_program_frame_span(p, s, step, step);
}

rlx_status gpu_program_frame_span(const gpu_program *p, rlx_status s, size_t first, size_t last) {
  rlx_node a = p->steps[first].node, b = p->steps[last].node;
  if (first == last) return rlx_fail_frame(s, "node %u (%s)", (unsigned)a, rlx_node_op(p->graph, a));
  return rlx_fail_frame(s, "nodes %u (%s) to %u (%s)", (unsigned)a, rlx_node_op(p->graph, a), (unsigned)b,
                        rlx_node_op(p->graph, b));
}

/* ---- steps ---- */

static rlx_status check_window(const rlx_bound *w, const char *what, uint32_t i) {
  if (!w->block || (w->offset <= w->block->bytes && w->bytes <= w->block->bytes - w->offset)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s %u: %llu bytes at %llu are not inside a block of %llu", what, (unsigned)i,
                  (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned long long)w->block->bytes);
}

static rlx_status check_windows(const rlx_bound_step *b) {
  if (b->n_out != 1 || (!b->out[0].block && b->out[0].bytes))
    return RLX_FAIL(RLX_INVALID, "expected one window to write to, got %u", (unsigned)b->n_out);
  for (uint32_t i = 0; i < b->n_in; i++) RLX_TRY(check_window(&b->in[i], "input", i));
  RLX_TRY(check_window(&b->out[0], "result", 0));
  return check_window(&b->work, "work memory", 0);
}

uint64_t gpu_copy_bytes(const rlx_bound *from, const rlx_bound *to) {
  const uint64_t whole = (to->bytes + 3) / 4 * 4;
  if (!to->bytes || from->offset % 4 || to->offset % 4 || whole > from->block->bytes - from->offset ||
      whole > to->block->bytes - to->offset)
    return to->bytes;
  return whole;
}

static rlx_status add_copy(const rlx_bound_step *b, gpu_step *s) {
  if (b->n_in != 1 || b->in[0].bytes != b->out[0].bytes || (b->in[0].bytes && (!b->in[0].block || !b->out[0].block)))
    return RLX_FAIL(RLX_INVALID, "a copy has one window in and one out, of equal bytes");
  s->copy_bytes = gpu_copy_bytes(&b->in[0], &b->out[0]);
  s->from = b->in[0];
  s->to = b->out[0];
  return RLX_OK;
}

/* Workgroups are counted along x and, if they exceed its limit, folded over y with few to spare. */
static void fold_groups(const gpu_caps *caps, uint32_t groups, gpu_bound_dispatch *out) {
  out->groups_y = gpu_ceil_div(groups, caps->max_groups_x);
  out->groups_x = gpu_ceil_div(groups, out->groups_y);
}

static rlx_status add_dispatch(gpu_program *p, const gpu_caps *caps, const rlx_bound_step *b, const gpu_dispatch *from,
                               const rlx_bound *table) {
  const rlx_bound run = {&gpu_run_block, 0, 16};
  const gpu_kernel *k = from->kernel;
  gpu_bound_dispatch to = {.kernel = k,
                           .group_size = from->group_size,
                           .dynamic_bytes = from->dynamic_bytes,
                           .reads_part = from->reads_part,
                           .cost = from->cost,
                           .step = p->n_steps};
  if (k->n_windows > GPU_MAX_WINDOWS || k->params_bytes > sizeof from->params)
    return RLX_FAIL(RLX_INVALID, "kernel %s has too many windows or parameters", k->name);
  fold_groups(caps, from->groups, &to);
  to.params = rlx_bump_copy(&p->memory, from->params, k->params_bytes, 1);
  to.constants = rlx_bump_copy(&p->memory, from->constants, k->n_constants, sizeof(uint32_t));
  if (!to.params || (!to.constants && k->n_constants)) return RLX_FAIL(RLX_NO_MEMORY, "a dispatch");
  for (uint32_t i = 0; i < k->n_windows; i++) {
    RLX_TRY_AT(gpu_bind(&from->windows[i], b, table, &run, &to.windows[i]), "kernel %s, window %u", k->name,
               (unsigned)i);
    if (to.windows[i].block == &gpu_run_block) p->reads_run_words = true;
  }
  if (gpu_is_idle(from, to.windows)) return RLX_OK;
  return rlx_array_push(&p->dispatches, to) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a list of dispatches");
}

static rlx_status add_node(gpu_program *p, const gpu_caps *caps, const rlx_bound_step *b) {
  const rlx_lowering *l;
  RLX_TRY(gpu_lowering_of(b, &l));
  const rlx_bound table = {&gpu_table_block, p->table.n * sizeof(uint32_t), l->table.n * sizeof(uint32_t)};
  if (!rlx_array_reserve(&p->table, l->table.n)) return RLX_FAIL(RLX_NO_MEMORY, "a table of %zu words", l->table.n);
  for (size_t i = 0; i < l->table.n; i++) p->table.v[p->table.n++] = l->table.v[i];
  for (size_t i = 0; i < l->dispatches.n; i++) RLX_TRY(add_dispatch(p, caps, b, &l->dispatches.v[i], &table));
  return RLX_OK;
}

rlx_status gpu_program_init(gpu_program *p, const gpu_caps *caps, const rlx_program_desc *desc) {
  p->graph = desc->graph;
  p->steps = rlx_bump_array(&p->memory, gpu_step, desc->n_steps + 1);
  if (!p->steps) return RLX_FAIL(RLX_NO_MEMORY, "a program of %zu steps", desc->n_steps);
  for (size_t i = 0; i < desc->n_steps; i++) {
    const rlx_bound_step *b = &desc->steps[i];
    gpu_step *s = &p->steps[i];
    *s = (gpu_step){.node = b->node, .first = p->dispatches.n};
    rlx_status status = check_windows(b);
    if (!status) status = b->copy ? add_copy(b, s) : add_node(p, caps, b);
    if (status) return gpu_program_frame(p, status, i);
    s->n = p->dispatches.n - s->first;
    p->n_steps++;
  }
  return RLX_OK;
}

/* ---- pipelines ---- */

rlx_status gpu_program_find_pipelines(gpu_program *p, gpu_pipelines *from) {
  const size_t n = p->dispatches.n;
  size_t failed = 0;
  p->requests = rlx_bump_array(&p->memory, gpu_pipeline_request, n + 1);
  if (!p->requests) return RLX_FAIL(RLX_NO_MEMORY, "%zu pipelines", n);
  for (size_t i = 0; i < n; i++) {
    const gpu_bound_dispatch *q = &p->dispatches.v[i];
    p->requests[i] =
      (gpu_pipeline_request){.kernel = q->kernel, .group_size = q->group_size, .constants = q->constants};
  }
  rlx_status s = gpu_pipelines_get(from, p->requests, n, &failed);
  if (s) return gpu_program_frame(p, s, p->dispatches.v[failed].step);
  p->pipelines = from;
  return RLX_OK;
}

void gpu_program_deinit(gpu_program *p) {
  for (size_t i = 0; p->pipelines && i < p->dispatches.n; i++) gpu_pipeline_release(p->pipelines, p->requests[i].made);
  rlx_array_deinit(&p->table);
  rlx_array_deinit(&p->dispatches);
  rlx_bump_deinit(&p->memory);
}
